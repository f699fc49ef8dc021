/* SPDX-License-Identifier: MIT */
/* The notation of packets into struct packet. */
#include "script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const struct icmp_name icmp_names[] = {
    { "echo", NULL, 8, 0, 128, 0 },
    { "echo-reply", NULL, 0, 0, 129, 0 },
    { "unreach", "net", 3, 0, 1, 0 },
    { "unreach", "host", 3, 1, 1, 3 },
    { "unreach", "proto", 3, 2, -1, -1 },
    { "unreach", "port", 3, 3, 1, 4 },
    { "unreach", "srcroute", 3, 5, -1, -1 },
    { "unreach", "admin", 3, 13, 1, 1 },
    { "too-big", NULL, 3, 4, 2, 0 },
    { "source-quench", NULL, 4, 0, -1, -1 },
    { "redirect", NULL, 5, 1, -1, -1 },
    { "time-exceeded", "ttl", 11, 0, 3, 0 },
    { "time-exceeded", "reass", 11, 1, 3, 1 },
    { "param", "field", 12, 0, 4, 0 },
    { "param", "header", -1, -1, 4, 1 },
    { "param", "option", -1, -1, 4, 2 },
    { "param", "chain", -1, -1, 4, 3 },
};
const int nicmp_names = sizeof(icmp_names) / sizeof(icmp_names[0]);

void packet_clear(struct packet *p, enum pkt_kind kind)
{
    memset(p, 0, sizeof(*p));
    p->kind = kind;
    p->eth_type = p->vlan = p->pad = p->cut = NONE;
    p->ttl = p->tos = p->ip_id = p->df = p->ip_proto = NONE;
    p->frag_off = p->frag_len = p->frag_more = NONE;
    p->sport = p->dport = NONE;
    p->ack = p->win = p->urg = p->reserved = p->doff = p->udp_len = NONE;
    p->type = p->code = p->mtu = p->ptr = p->icmp_id = p->icmp_seq = p->quote = NONE;
    p->arp_op = p->nd_flags = p->lifetime = p->valid = p->preferred = p->prefix_bits = NONE;
    p->fill = NONE;
    p->pieces = 1;
}

/* ---- TCP options: <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7,sack 1:2 3:4,raw fd 04 00 01,eol,...> -- */

/* Words within < > end at a comma too. */
static void option_word(struct lexer *lx, const char *what)
{
    size_t n = 0;

    while (*lx->p == ' ')
        lx->p++;
    lx->word_col = (int)(lx->p - lx->text);
    while (*lx->p != '\0' && strchr(" ,>", *lx->p) == NULL && n + 1 < sizeof(lx->word))
        lx->word[n++] = *lx->p++;
    lx->word[n] = '\0';
    if (n == 0)
        lex_fail(lx, lx->word_col, "%s should be here", what);
}

static int64_t option_number(struct lexer *lx, bool *any)
{
    option_word(lx, "a number");
    *any = strcmp(lx->word, "*") == 0;
    return *any ? 0 : lex_number_of(lx, lx->word, "the option's value");
}

static bool option_more(struct lexer *lx)
{
    while (*lx->p == ' ')
        lx->p++;
    return *lx->p != '\0' && *lx->p != ',' && *lx->p != '>';
}

static void option_sack(struct lexer *lx, struct opt *o)
{
    while (option_more(lx)) {
        char *end;

        option_word(lx, "a block");
        if (o->nblocks == 4)
            lex_fail(lx, lx->word_col, "more than four blocks");
        o->left[o->nblocks] = strtoll(lx->word, &end, 10);
        if (*end != ':')
            lex_fail(lx, lx->word_col, "\"%s\" is not a block like 1001:2001", lx->word);
        o->right[o->nblocks++] = lex_number_of(lx, end + 1, "the block's end");
    }
}

static void option_ts(struct lexer *lx, struct opt *o)
{
    option_word(lx, "\"val\"");
    if (strcmp(lx->word, "val") != 0)
        lex_fail(lx, lx->word_col, "\"val\" should be here: <TS val 100 ecr 0>");
    o->a = option_number(lx, &o->a_any);
    option_word(lx, "\"ecr\"");
    if (strcmp(lx->word, "ecr") != 0)
        lex_fail(lx, lx->word_col, "\"ecr\" should be here: <TS val 100 ecr 0>");
    option_word(lx, "a number");
    if (strcmp(lx->word, "last") == 0)
        o->b_last = true;
    else if (strcmp(lx->word, "*") == 0)
        o->b_any = true;
    else if (strcmp(lx->word, "raw") == 0) {
        o->b_raw = true;
        o->b = option_number(lx, &o->b_any);
    } else
        o->b = lex_number_of(lx, lx->word, "the option's value");
}

static void option_raw(struct lexer *lx, struct opt *o)
{
    while (option_more(lx)) {
        option_word(lx, "a byte");
        if (o->nraw == (int)sizeof(o->raw))
            lex_fail(lx, lx->word_col, "more than 40 bytes");
        o->raw[o->nraw++] = (uint8_t)strtoul(lx->word, NULL, 16);
    }
}

/* fo, fo 0102030405060708, fo last, fo * */
static void option_fastopen(struct lexer *lx, struct opt *o)
{
    if (!option_more(lx))
        return;
    option_word(lx, "a cookie");
    o->a_any = strcmp(lx->word, "*") == 0;
    o->b_last = strcmp(lx->word, "last") == 0;
    if (o->a_any || o->b_last)
        return;
    for (const char *p = lx->word; *p != '\0'; p += 2) {
        char byte[3] = { p[0], p[1], '\0' };

        if (!isxdigit((unsigned char)p[0]) || !isxdigit((unsigned char)p[1]) || o->nraw == 16)
            lex_fail(lx, lx->word_col, "a cookie is up to 16 bytes like 0102030405060708, \"last\" or \"*\"");
        o->raw[o->nraw++] = (uint8_t)strtoul(byte, NULL, 16);
    }
}

static void parse_option(struct lexer *lx, struct packet *p)
{
    struct opt o;

    memset(&o, 0, sizeof(o));
    option_word(lx, "an option");
    if (strcmp(lx->word, "...") == 0) {
        p->more_opts = true;
        return;
    }
    if (strcmp(lx->word, "mss") == 0) {
        o.kind = OPT_MSS;
        o.a = option_number(lx, &o.a_any);
    } else if (strcmp(lx->word, "wscale") == 0) {
        o.kind = OPT_WSCALE;
        o.a = option_number(lx, &o.a_any);
    } else if (strcmp(lx->word, "sackOK") == 0) {
        o.kind = OPT_SACKOK;
    } else if (strcmp(lx->word, "sack") == 0) {
        o.kind = OPT_SACK;
        option_sack(lx, &o);
    } else if (strcmp(lx->word, "TS") == 0) {
        o.kind = OPT_TS;
        option_ts(lx, &o);
    } else if (strcmp(lx->word, "fo") == 0) {
        o.kind = OPT_FASTOPEN;
        option_fastopen(lx, &o);
    } else if (strcmp(lx->word, "nop") == 0) {
        o.kind = OPT_NOP;
    } else if (strcmp(lx->word, "eol") == 0) {
        o.kind = OPT_EOL;
    } else if (strcmp(lx->word, "raw") == 0) {
        o.kind = OPT_RAW;
        option_raw(lx, &o);
    } else
        lex_fail(lx, lx->word_col,
                 "unknown option \"%s\"; known are mss, wscale, sackOK, sack, TS, fo, nop, eol, raw, ...",
                 lx->word);
    if (p->nopts == OPTS_MAX)
        lex_fail(lx, lx->word_col, "too many options");
    p->opts[p->nopts++] = o;
}

static void parse_options(struct lexer *lx, struct packet *p)
{
    p->has_opts = true;
    while (!lex_char(lx, '>')) {
        parse_option(lx, p);
        while (*lx->p == ' ')
            lx->p++;
        if (*lx->p != ',' && *lx->p != '>')
            lex_fail(lx, (int)(lx->p - lx->text), "\",\" or \">\" should be here");
        if (*lx->p == ',')
            lx->p++;
    }
}

/* ---- payload and sequence numbers ------------------------------------------------------------------------ */

/* (1000) or (10x100) */
static void parse_length(struct lexer *lx, struct packet *p)
{
    char *end;
    int64_t n = strtoll(lx->p, &end, 10);

    if (*end == 'x') {
        p->pieces = n;
        n = strtoll(end + 1, &end, 10) * p->pieces;
    }
    if (end == lx->p || *end != ')' || n < 0 || p->pieces < 1 || p->pieces > 1000)
        lex_fail(lx, (int)(lx->p - lx->text), "a length like (1000) or (10x1000) should be here");
    lx->p = end + 1;
    p->len = n;
    p->has_len = true;
}

/* 1:1001(1000) */
static void parse_seq(struct lexer *lx, struct packet *p)
{
    int col = (int)(lx->p - lx->text);
    char *end;

    p->seq = strtoll(lx->p, &end, 10);
    if (*end != ':')
        lex_fail(lx, col, "sequence numbers like 1:1001(1000) should be here");
    lx->p = end + 1;
    p->end = strtoll(lx->p, &end, 10);
    if (end == lx->p || *end != '(')
        lex_fail(lx, (int)(lx->p - lx->text), "sequence numbers like 1:1001(1000) should be here");
    lx->p = end + 1;
    parse_length(lx, p);
    p->has_seq = true;
    if (p->end - p->seq != p->len)
        lex_fail(lx, col, "from %lld to %lld is %lld bytes, not %lld", (long long)p->seq, (long long)p->end,
                 (long long)(p->end - p->seq), (long long)p->len);
}

static void parse_text(struct lexer *lx, struct packet *p)
{
    const char *end = strchr(lx->p, '"');

    if (end == NULL)
        lex_fail(lx, (int)(lx->p - lx->text), "the closing quotation mark is missing");
    p->style = PAYLOAD_TEXT;
    p->nbytes = (size_t)(end - lx->p);
    p->bytes = memcpy(arena_get(lx->arena, p->nbytes + 1), lx->p, p->nbytes);
    p->len = (int64_t)p->nbytes;
    p->has_len = true;
    lx->p = end + 1;
}

static void parse_bytes(struct lexer *lx, struct packet *p, int max)
{
    uint8_t *bytes = arena_get(lx->arena, (size_t)max);

    p->style = PAYLOAD_HEX;
    p->nbytes = (size_t)lex_hex(lx, bytes, max);
    p->bytes = bytes;
    p->len = (int64_t)p->nbytes;
    p->has_len = true;
}

static void parse_ports(struct lexer *lx, struct packet *p)
{
    const char *word = lex_word(lx, "ports like 5000>80");
    char *end;

    p->sport = strtoll(word, &end, 10);
    if (*end != '>')
        lex_fail(lx, lx->word_col, "\"%s\" is not a pair of ports like 5000>80", word);
    p->dport = strtoll(end + 1, &end, 10);
    if (*end != '\0' || p->sport < 0 || p->sport > 65535 || p->dport < 0 || p->dport > 65535)
        lex_fail(lx, lx->word_col, "\"%s\" is not a pair of ports like 5000>80", word);
}

/* ---- what may follow, in any order ------------------------------------------------------------------------ */

static void parse_ext(struct lexer *lx, struct packet *p, int proto)
{
    if (p->nexts == 4)
        lex_fail(lx, lx->word_col, "more than four extension headers");
    p->ext[p->nexts].proto = proto;
    p->ext[p->nexts].n = lex_hex(lx, p->ext[p->nexts].bytes, 62);
    p->nexts++;
}

static bool parse_ip_field(struct lexer *lx, struct script *s, struct packet *p, const char *word)
{
    if (strcmp(word, "ttl") == 0)
        p->ttl = lex_number(lx, "the TTL");
    else if (strcmp(word, "tos") == 0)
        p->tos = lex_number(lx, "the type of service");
    else if (strcmp(word, "ipid") == 0)
        p->ip_id = lex_number(lx, "the identification");
    else if (strcmp(word, "df") == 0)
        p->df = 1;
    else if (strcmp(word, "nodf") == 0)
        p->df = 0;
    else if (strcmp(word, "proto") == 0)
        p->ip_proto = lex_number(lx, "the protocol");
    else if (strcmp(word, "from") == 0) {
        p->src = lex_address(lx, s);
        p->has_src = true;
    } else if (strcmp(word, "to") == 0) {
        p->dst = lex_address(lx, s);
        p->has_dst = true;
    } else if (strcmp(word, "badipsum") == 0)
        p->bad_ip_sum = true;
    else if (strcmp(word, "ipopt") == 0)
        p->ip_opts_bytes = lex_hex(lx, p->ip_opts, 40);
    else if (strcmp(word, "hbh") == 0)
        parse_ext(lx, p, 0);
    else if (strcmp(word, "routing") == 0)
        parse_ext(lx, p, 43);
    else if (strcmp(word, "dstopt") == 0)
        parse_ext(lx, p, 60);
    else if (strcmp(word, "frag") == 0) {
        p->frag_off = lex_number(lx, "the fragment's offset");
        p->frag_len = lex_number(lx, "the fragment's length");
    } else if (strcmp(word, "poke") == 0) {
        if (p->npokes == POKES_MAX)
            lex_fail(lx, lx->word_col, "more than %d bytes poked", POKES_MAX);
        p->poke_at[p->npokes] = lex_number(lx, "an offset in the IP packet");
        p->poke_value[p->npokes++] = lex_number(lx, "a byte");
    } else if (strcmp(word, "mf") == 0)
        p->frag_more = 1;
    else if (strcmp(word, "nomf") == 0)
        p->frag_more = 0;
    else
        return false;
    return true;
}

static bool parse_link_field(struct lexer *lx, struct script *s, struct packet *p, const char *word)
{
    if (strcmp(word, "ethsrc") == 0) {
        lex_mac(lx, p->eth_src);
        p->has_eth_src = true;
    } else if (strcmp(word, "ethdst") == 0) {
        lex_mac(lx, p->eth_dst);
        p->has_eth_dst = true;
    } else if (strcmp(word, "ethtype") == 0)
        p->eth_type = lex_number(lx, "the ethertype");
    else if (strcmp(word, "vlan") == 0)
        p->vlan = lex_number(lx, "the VLAN tag");
    else if (strcmp(word, "pad") == 0)
        p->pad = lex_number(lx, "the number of bytes");
    else if (strcmp(word, "cut") == 0) {
        p->cut = lex_number(lx, "the number of bytes");
        return true;
    } else
        return false;
    s->needs_link = true;
    return true;
}

static bool parse_transport_field(struct lexer *lx, struct packet *p, const char *word)
{
    if (strcmp(word, "ack") == 0)
        p->ack = lex_number(lx, "the acknowledgement number");
    else if (strcmp(word, "win") == 0)
        p->win = lex_number(lx, "the window");
    else if (strcmp(word, "urg") == 0)
        p->urg = lex_number(lx, "the urgent pointer");
    else if (strcmp(word, "reserved") == 0)
        p->reserved = lex_number(lx, "the reserved bits");
    else if (strcmp(word, "doff") == 0)
        p->doff = lex_number(lx, "the data offset");
    else if (strcmp(word, "len") == 0)
        p->udp_len = lex_number(lx, "the length field");
    else if (strcmp(word, "badsum") == 0)
        p->bad_sum = true;
    else if (strcmp(word, "nosum") == 0)
        p->zero_sum = true;
    else if (strcmp(word, "absolute") == 0)
        p->absolute = true;
    else if (strcmp(word, "ports") == 0)
        parse_ports(lx, p);
    else if (strcmp(word, "fill") == 0) {
        p->style = PAYLOAD_FILL;
        p->fill = (int)lex_number(lx, "a byte");
    } else
        return false;
    return true;
}

static bool parse_icmp_field(struct lexer *lx, struct packet *p, const char *word)
{
    if (strcmp(word, "about") == 0) {
        p->about = lex_number(lx, "the number of a packet");
        p->has_about = true;
    } else if (strcmp(word, "mtu") == 0)
        p->mtu = lex_number(lx, "the MTU");
    else if (strcmp(word, "ptr") == 0)
        p->ptr = lex_number(lx, "the pointer");
    else if (strcmp(word, "id") == 0)
        p->icmp_id = lex_number(lx, "the identifier");
    else if (strcmp(word, "seq") == 0)
        p->icmp_seq = lex_number(lx, "the sequence number");
    else if (strcmp(word, "quote") == 0)
        p->quote = lex_number(lx, "the number of bytes");
    else if (strcmp(word, "tcpseq") == 0) {
        p->quote_seq = lex_number(lx, "the sequence number");
        p->has_quote_seq = true;
    } else
        return false;
    return true;
}

static bool parse_nd_field(struct lexer *lx, struct script *s, struct packet *p, const char *word)
{
    if (strcmp(word, "slla") == 0 || strcmp(word, "tlla") == 0 || strcmp(word, "lladdr") == 0) {
        lex_mac(lx, p->lladdr);
        p->has_lladdr = true;
    } else if (strcmp(word, "router") == 0)
        p->nd_flags = (p->nd_flags == NONE ? 0 : p->nd_flags) | 4;
    else if (strcmp(word, "solicited") == 0)
        p->nd_flags = (p->nd_flags == NONE ? 0 : p->nd_flags) | 2;
    else if (strcmp(word, "override") == 0)
        p->nd_flags = (p->nd_flags == NONE ? 0 : p->nd_flags) | 1;
    else if (strcmp(word, "noflags") == 0)
        p->nd_flags = 0;
    else if (strcmp(word, "lifetime") == 0)
        p->lifetime = lex_number(lx, "the router lifetime");
    else if (strcmp(word, "valid") == 0)
        p->valid = lex_number(lx, "the valid lifetime");
    else if (strcmp(word, "preferred") == 0)
        p->preferred = lex_number(lx, "the preferred lifetime");
    else if (strcmp(word, "prefix") == 0) {
        p->target = lex_address(lx, s);
        p->has_target = true;
        p->prefix_bits = lex_number(lx, "the length of the prefix");
    } else if (strcmp(word, "mtu") == 0)
        p->mtu = lex_number(lx, "the MTU");
    else
        return false;
    return true;
}

void parse_packet_fields(struct lexer *lx, struct script *s, struct packet *p, bool expected)
{
    (void)expected;
    while (!lex_end(lx)) {
        const char *word;

        if (lex_char(lx, '<')) {
            parse_options(lx, p);
            continue;
        }
        if (lex_char(lx, '(')) {
            parse_length(lx, p);
            continue;
        }
        if (lex_char(lx, '"')) {
            parse_text(lx, p);
            continue;
        }
        if (*lx->p == '[') {
            parse_bytes(lx, p, 2000);
            continue;
        }
        word = lex_word(lx, "a field");
        if (parse_ip_field(lx, s, p, word) || parse_link_field(lx, s, p, word))
            continue;
        if (p->kind == PKT_ND ? parse_nd_field(lx, s, p, word) :
            p->kind == PKT_ICMP ? parse_icmp_field(lx, p, word) :
                                  parse_transport_field(lx, p, word))
            continue;
        if (strcmp(word, "badsum") == 0)
            p->bad_sum = true;
        else
            lex_fail(lx, lx->word_col, "this kind of packet has no field \"%s\"", word);
    }
}

/* ---- kinds -------------------------------------------------------------------------------------------------- */

static void parse_icmp(struct lexer *lx, struct script *s, struct packet *p)
{
    const char *word = lex_word(lx, "the type");
    bool six = s->af == 6;

    packet_clear(p, PKT_ICMP);
    if (strcmp(word, "type") == 0) {
        p->type = lex_number(lx, "the type");
        if (lex_take(lx, "code"))
            p->code = lex_number(lx, "the code");
        return;
    }
    for (int i = 0; i < nicmp_names; i++) {
        const struct icmp_name *n = &icmp_names[i];

        if (strcmp(word, n->first) != 0 || (n->second != NULL && !lex_take(lx, n->second)))
            continue;
        p->type = six ? n->type6 : n->type4;
        p->code = six ? n->code6 : n->code4;
        if (p->type < 0)
            lex_fail(lx, lx->word_col, "ICMP for IPv%d has no such message", s->af);
        return;
    }
    lex_fail(lx, lx->word_col, "\"%s\" is not a kind of ICMP message known here; \"type N code N\" goes always", word);
}

static void parse_arp(struct lexer *lx, struct script *s, struct packet *p)
{
    packet_clear(p, PKT_ARP);
    s->needs_link = s->only4 = true;
    if (lex_take(lx, "who-has")) {
        p->arp_op = 1;
        p->target = lex_address(lx, s);
        p->has_target = true;
        if (lex_take(lx, "tell")) {
            p->arp_sender = lex_address(lx, s);
            p->has_arp_sender = true;
        }
    } else if (lex_take(lx, "reply")) {
        p->arp_op = 2;
        p->arp_sender = lex_address(lx, s);
        p->has_arp_sender = true;
        if (lex_take(lx, "is-at")) {
            lex_mac(lx, p->lladdr);
            p->has_lladdr = true;
        }
        if (lex_take(lx, "tell")) {
            p->target = lex_address(lx, s);
            p->has_target = true;
        }
    } else
        lex_fail(lx, (int)(lx->p - lx->text), "\"who-has A tell B\" or \"reply A is-at MAC\" should be here");
}

static bool parse_nd(struct lexer *lx, struct script *s, struct packet *p, const char *word)
{
    static const char *const names[] = { "rs", "ra", "ns", "na" };

    for (int i = 0; i < 4; i++) {
        if (strcmp(word, names[i]) != 0)
            continue;
        packet_clear(p, PKT_ND);
        p->type = 133 + i;
        p->code = 0;
        if (i >= 2) {
            p->target = lex_address(lx, s);
            p->has_target = true;
        }
        s->needs_link = s->only6 = true;
        return true;
    }
    return false;
}

static bool parse_flags(const char *word, int *flags)
{
    static const char letters[] = "FSRP.UEW";

    *flags = 0;
    if (strcmp(word, "-") == 0)
        return true;
    for (; *word != '\0'; word++) {
        const char *at = strchr(letters, *word);

        if (at == NULL)
            return false;
        *flags |= 1 << (at - letters);
    }
    return true;
}

static void parse_tcp(struct lexer *lx, struct packet *p, int flags)
{
    packet_clear(p, PKT_TCP);
    p->flags = flags;
    if (!lex_end(lx) && (isdigit((unsigned char)*lx->p) || *lx->p == '-'))
        parse_seq(lx, p);
}

void parse_packet(struct lexer *lx, struct script *s, struct packet *p, bool expected)
{
    const char *word = lex_word(lx, "a packet");
    int flags;

    if (strcmp(word, "udp") == 0) {
        packet_clear(p, PKT_UDP);
        if (!lex_end(lx) && isdigit((unsigned char)*lx->p))
            parse_ports(lx, p);
    } else if (strcmp(word, "icmp") == 0)
        parse_icmp(lx, s, p);
    else if (strcmp(word, "arp") == 0)
        parse_arp(lx, s, p);
    else if (strcmp(word, "raw") == 0 || strcmp(word, "ip") == 0) {
        packet_clear(p, word[0] == 'r' ? PKT_RAW : PKT_IP);
        if (p->kind == PKT_RAW)
            s->needs_link = true;
        parse_bytes(lx, p, 2000);
    } else if (strcmp(word, "mld") == 0 || strcmp(word, "igmp") == 0) {
        packet_clear(p, word[0] == 'm' ? PKT_MLD : PKT_IGMP);
        p->type = lex_number(lx, "the type");
    } else if (strcmp(word, "frag") == 0) {
        packet_clear(p, PKT_FRAG);
        p->frag_off = lex_number(lx, "the fragment's offset");
        p->frag_len = lex_number(lx, "the fragment's length");
    } else if (parse_flags(word, &flags))
        parse_tcp(lx, p, flags);
    else if (!parse_nd(lx, s, p, word))
        lex_fail(lx, lx->word_col, "\"%s\" is neither TCP flags (S F R P . U E W or -) nor udp, icmp, arp, rs, ra, ns, "
                                   "na, frag, raw, ip",
                 word);
    if (expected && p->kind != PKT_TCP && p->kind != PKT_UDP && p->kind != PKT_ICMP)
        s->watch[p->kind] = true;
    parse_packet_fields(lx, s, p, expected);
}
