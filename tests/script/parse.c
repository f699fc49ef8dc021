/* SPDX-License-Identifier: MIT */
/* A script into statements. */
#include "script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const event_names[] = { "incoming", "opened", "received", "acked", "finished", "closed", "urgent",
                                    "soft-error", "udp", "udp-error", "echo", "echo-error", NULL };
const char *const call_names[] = {
    "connect", "connect-foreign", "write", "send", "finish", "close", "abort", "consumed", "ack", "ack-fin", "decide",
    "set", "urgent", "listener-close", "listener-set", "cc", "udp-open", "udp-bind", "udp-connect", "udp-write",
    "udp-set", "udp-close", "echo-open", "echo-send", "echo-close", "join", "leave", NULL,
};
const char *const error_names[] = { "OK", "EINVAL", "ENOMEM", "EAGAIN", "ECLOSED", "EINUSE", "ENOADDR", "EUNREACH",
                                    "EREFUSED", "ERESET", "ETIMEOUT", "EMSGSIZE", "EABORTED", "ELIMIT", "EPROTO",
                                    "EACCES", NULL };
const char *const verdict_names[] = { "accept", "refuse", "hold", "ignore", NULL };
const char *const option_names[] = { "nodelay", "cork", "no_delayed_ack", "ack_by_hand", "hold_fin", "transparent",
                                     "keepalive_idle_s", "keepalive_interval_s", "keepalive_count", "r2_ms", "rcv_buf",
                                     "snd_buf", "mss_max", "ttl", "tos", "timestamps", "sack", "window_scaling",
                                     "ecn", "pacing", "msl_ms", "persist_ms", "mtu_probing", "fastopen", NULL };
const char *const udp_option_names[] = { "ttl", "tos", "broadcast", "multicast_ttl", "multicast_netif", "dont_fragment",
                                         "no_checksum", NULL };
const char *const state_names[] = { "CLOSED", "LISTEN", "SYN-SENT", "SYN-RECEIVED", "ESTABLISHED", "FIN-WAIT-1",
                                    "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING", "LAST-ACK", "TIME-WAIT", NULL };
const char *const compare_names[] = { "==", "!=", "<", "<=", ">", ">=", NULL };
_Static_assert(sizeof(option_names) / sizeof(option_names[0]) == TENON_TCP_OPTION_COUNT + 1, "option_names");
static const char *const watch_names[] = { "tcp", "udp", "icmp", "arp", "nd", "mld", "igmp", "frag", NULL };

#define INFO(name) #name, offsetof(struct tenon_tcp_info, name), sizeof(((struct tenon_tcp_info *)0)->name)
const struct field info_fields[] = {
    { INFO(srtt_us) }, { INFO(rttvar_us) }, { INFO(rto_us) }, { INFO(min_rtt_us) }, { INFO(cwnd) },
    { INFO(ssthresh) }, { INFO(in_flight) }, { INFO(snd_queued) }, { INFO(snd_unsent) }, { INFO(snd_wnd) },
    { INFO(rcv_wnd) }, { INFO(rcv_unconsumed) }, { INFO(rcv_ooo) }, { INFO(retransmits) }, { INFO(rtos) },
    { INFO(mss) }, { INFO(snd_wscale) }, { INFO(rcv_wscale) }, { INFO(timestamps) }, { INFO(sack) },
    { INFO(in_recovery) }, { INFO(since_rcv_ms) }, { INFO(since_text_ms) }, { INFO(since_acked_ms) },
    { NULL, 0, 0 },
};
#define CONF(name) #name, offsetof(struct tenon_conf, name), sizeof(((struct tenon_conf *)0)->name)
const struct field conf_fields[] = {
    { CONF(neighbours_max) }, { CONF(neighbour_queue_max) }, { CONF(neighbour_asks_max) }, { CONF(paths_max) },
    { CONF(reass_bytes_max) }, { CONF(reass_datagrams_max) }, { CONF(reass_pieces_max) }, { CONF(reass_timeout_ms) },
    { CONF(icmp_errors_per_s) }, { CONF(icmp_errors_burst) }, { CONF(hop_limit) }, { CONF(dad_transmits) },
    { CONF(udp_sockets_max) }, { CONF(tcp_conns_max) }, { CONF(tcp_time_wait_max) }, { CONF(tcp_rcv_buf) },
    { CONF(tcp_snd_buf) }, { CONF(tcp_ooo_bytes_max) }, { CONF(tcp_ooo_ranges_max) }, { CONF(tcp_mss_min) },
    { CONF(tcp_syncookies) }, { CONF(tcp_rto_initial_us) }, { CONF(tcp_rto_min_us) }, { CONF(tcp_rto_max_us) },
    { CONF(tcp_delack_us) }, { CONF(tcp_msl_ms) }, { CONF(tcp_rsts_per_s) }, { CONF(tx_burst_max) },
    { CONF(tcp_orphans_max) }, { CONF(tcp_orphan_ms) }, { CONF(tcp_ooo_total_max) },
    { CONF(tx_gather_max) }, { CONF(tcp_fastopen_pending_max) }, { CONF(tcp_fastopen_cache_max) },
    { CONF(tcp_resting_max) },
    { NULL, 0, 0 },
};

int64_t field_get(const struct field *field, const void *base)
{
    const uint8_t *p = (const uint8_t *)base + field->offset;
    uint32_t v32;
    uint16_t v16;

    if (field->size == 1)
        return *p;
    if (field->size == 2) {
        memcpy(&v16, p, 2);
        return v16;
    }
    memcpy(&v32, p, 4);
    return v32;
}

void field_set(const struct field *field, void *base, int64_t value)
{
    uint8_t *p = (uint8_t *)base + field->offset;
    uint32_t v32 = (uint32_t)value;
    uint16_t v16 = (uint16_t)value;

    if (field->size == 1)
        *p = (uint8_t)value;
    else if (field->size == 2)
        memcpy(p, &v16, 2);
    else
        memcpy(p, &v32, 4);
}

static int pick_field(struct lexer *lx, const char *what, const struct field *fields)
{
    const char *names[64];
    int n = 0;

    while (fields[n].name != NULL) {
        names[n] = fields[n].name;
        n++;
    }
    names[n] = NULL;
    return lex_pick(lx, what, names);
}

struct conn *script_conn(struct script *s, const char *tag)
{
    struct conn *c;

    for (int i = 0; i < s->nconns; i++)
        if (strcmp(s->conns[i].tag, tag) == 0)
            return &s->conns[i];
    if (s->nconns == CONNS_MAX)
        return NULL;
    c = &s->conns[s->nconns];
    snprintf(c->tag, sizeof(c->tag), "%s", tag);
    c->local_port = 80;
    c->remote_port = 5000 + s->nconns;
    c->irs = 0x10000000U + 0x01000000U * (unsigned)s->nconns;
    s->nconns++;
    return c;
}

/* ---- directives: lines without a time ------------------------------------------------------------------ */

/* name=value name=value ... */
static void split_assignment(struct lexer *lx, char *name, size_t size, const char **value)
{
    const char *word = lex_word(lx, "name=value");
    const char *equals = strchr(word, '=');

    if (equals == NULL || (size_t)(equals - word) >= size)
        lex_fail(lx, lx->word_col, "\"%s\" is not name=value", word);
    memcpy(name, word, (size_t)(equals - word));
    name[equals - word] = '\0';
    *value = equals + 1;
}

static void parse_config(struct lexer *lx, struct script *s)
{
    while (!lex_end(lx)) {
        char name[64];
        const char *value;
        int i;

        split_assignment(lx, name, sizeof(name), &value);
        for (i = 0; conf_fields[i].name != NULL; i++)
            if (strcmp(conf_fields[i].name, name) == 0)
                break;
        if (conf_fields[i].name == NULL)
            lex_fail(lx, lx->word_col, "struct tenon_conf has no field \"%s\" that a script can set", name);
        field_set(&conf_fields[i], &s->conf, lex_number_of(lx, value, "the field's value"));
    }
}

static uint32_t parse_caps(struct lexer *lx, const char *value)
{
    static const struct {
        const char *name;
        uint32_t bit;
    } caps[] = { { "tx_csum", TENON_CAP_TX_CSUM }, { "tso4", TENON_CAP_TSO4 | TENON_CAP_TX_CSUM },
                 { "tso6", TENON_CAP_TSO6 | TENON_CAP_TX_CSUM }, { "uso", TENON_CAP_USO | TENON_CAP_TX_CSUM },
                 { "no_link", TENON_CAP_NO_LINK }, { "none", 0 } };
    char text[128], *save = NULL;
    uint32_t bits = 0;

    snprintf(text, sizeof(text), "%s", value);
    for (char *word = strtok_r(text, ",+", &save); word != NULL; word = strtok_r(NULL, ",+", &save)) {
        size_t i = 0;

        while (i < sizeof(caps) / sizeof(caps[0]) && strcmp(caps[i].name, word) != 0)
            i++;
        if (i == sizeof(caps) / sizeof(caps[0]))
            lex_fail(lx, lx->word_col, "unknown capability \"%s\" (tx_csum, tso4, tso6, uso, no_link, none)", word);
        bits |= caps[i].bit;
    }
    return bits;
}

static void parse_netif(struct lexer *lx, struct script *s)
{
    while (!lex_end(lx)) {
        char name[64];
        const char *value;

        split_assignment(lx, name, sizeof(name), &value);
        if (strcmp(name, "caps") == 0) {
            s->netif.caps = parse_caps(lx, value);
            s->has_caps = true;
        } else if (strcmp(name, "mtu") == 0)
            s->netif.mtu = (tenon_u16)lex_number_of(lx, value, "the MTU");
        else if (strcmp(name, "mru") == 0)
            s->netif.mru = (tenon_u16)lex_number_of(lx, value, "the largest packet that is taken");
        else if (strcmp(name, "gather") == 0) {
            s->netif.gather_max = (tenon_u16)lex_number_of(lx, value, "the number of spans");
            s->has_caps = true;
        } else if (strcmp(name, "tso_max") == 0)
            s->netif.tso_bytes_max = (tenon_u32)lex_number_of(lx, value, "the number of bytes");
        else if (strcmp(name, "dad") == 0) {
            s->netif.flags &= (tenon_u16)~TENON_NETIF_NO_DAD;
            if (strcmp(value, "off") == 0)
                s->netif.flags |= TENON_NETIF_NO_DAD;
        } else if (strcmp(name, "ra") == 0) {
            s->netif.flags &= (tenon_u16)~TENON_NETIF_NO_RA;
            if (strcmp(value, "off") == 0)
                s->netif.flags |= TENON_NETIF_NO_RA;
        } else
            lex_fail(lx, lx->word_col,
                     "an interface has no setting \"%s\" (caps, mtu, mru, gather, tso_max, dad, ra)", name);
    }
}

/* conn TAG PEER>OUR [isn N] */
static void parse_conn(struct lexer *lx, struct script *s)
{
    struct conn *c = script_conn(s, lex_word(lx, "a tag"));

    if (c == NULL)
        lex_fail(lx, lx->word_col, "more than %d connections", CONNS_MAX);
    c->defined = true;
    while (!lex_end(lx)) {
        if (lex_take(lx, "isn"))
            c->irs = (uint32_t)lex_number(lx, "the peer's initial sequence number");
        else {
            const char *word = lex_word(lx, "ports like 5000>80");
            char *end;

            c->remote_port = strtoll(word, &end, 10);
            if (*end != '>')
                lex_fail(lx, lx->word_col, "\"%s\" is not a pair of ports like 5000>80 (the peer's first)", word);
            c->local_port = lex_number_of(lx, end + 1, "our port");
        }
    }
}

/* address A/N, route P/N [via G] */
static void parse_extra(struct lexer *lx, struct script *s, bool is_route)
{
    char *slash;
    int i = s->nextras;

    if (i == (int)(sizeof(s->extra) / sizeof(s->extra[0])))
        lex_fail(lx, lx->word_col, "too many addresses and routes");
    lex_word(lx, "an address with the length of its prefix");
    slash = strchr(lx->word, '/');
    if (slash == NULL)
        lex_fail(lx, lx->word_col, "\"%s\" is not like 10.0.0.1/8", lx->word);
    *slash = '\0';
    if (!lex_ip(lx, lx->word, &s->extra[i].ip, 0))
        lex_fail(lx, lx->word_col, "\"%s\" is not an address", lx->word);
    s->extra[i].prefix = (unsigned)lex_number_of(lx, slash + 1, "the length of the prefix");
    s->extra[i].is_route = is_route;
    if (lex_take(lx, "via")) {
        s->extra[i].gateway = lex_address(lx, s);
        s->extra[i].has_gateway = true;
    }
    s->nextras++;
}

static bool parse_switch(struct script *s, const char *word)
{
    if (strcmp(word, "ipv4") == 0)
        s->only4 = true;
    else if (strcmp(word, "ipv6") == 0)
        s->only6 = true;
    else if (strcmp(word, "manual-consume") == 0)
        s->manual_consume = true;
    else if (strcmp(word, "keep-text") == 0)
        s->keep_text = true;
    else if (strcmp(word, "answer-text") == 0)
        s->answers = true;
    else if (strcmp(word, "pacing") == 0)
        s->pacing = true;
    else if (strcmp(word, "ethernet") == 0)
        s->needs_link = true;
    else if (strcmp(word, "no-neighbour") == 0)
        s->no_neighbour = true;
    else
        return false;
    return true;
}

static void parse_directive(struct lexer *lx, struct script *s)
{
    const char *word = lex_word(lx, "a directive");

    if (parse_switch(s, word)) {
        lex_need_end(lx);
        return;
    }
    if (strcmp(word, "config") == 0)
        parse_config(lx, s);
    else if (strcmp(word, "netif") == 0)
        parse_netif(lx, s);
    else if (strcmp(word, "isn") == 0)
        s->conns[0].irs = (uint32_t)lex_number(lx, "the peer's initial sequence number");
    else if (strcmp(word, "tolerance") == 0)
        s->tolerance = lex_seconds(lx, "a time");
    else if (strcmp(word, "clock") == 0)
        s->clock = (uint32_t)lex_number(lx, "the clock's first value");
    else if (strcmp(word, "abort-received") == 0)
        s->abort_received = (uint32_t)lex_number(lx, "how many bytes it wants");
    else if (strcmp(word, "conn") == 0)
        parse_conn(lx, s);
    else if (strcmp(word, "address") == 0)
        parse_extra(lx, s, false);
    else if (strcmp(word, "route") == 0)
        parse_extra(lx, s, true);
    else if (strcmp(word, "watch") == 0) {
        while (!lex_end(lx))
            s->watch[lex_pick(lx, "a kind of packet", watch_names)] = true;
    } else
        lex_fail(lx, lx->word_col,
                 "\"%s\" is neither a time (0.1, +0.1, *, &) nor a directive (ipv4, ipv6, config, "
                 "netif, isn, conn, tolerance, clock, manual-consume, abort-received, pacing, no-neighbour, ethernet, "
                 "address, route, watch)",
                 word);
    lex_need_end(lx);
}

/* ---- statements ------------------------------------------------------------------------------------------- */

static void parse_listen(struct lexer *lx, struct script *s, struct stmt *st)
{
    st->kind = ST_LISTEN;
    st->arg[0] = lex_number(lx, "a port");
    while (!lex_end(lx)) {
        if (lex_take(lx, "backlog"))
            st->arg[1] = lex_number(lx, "the backlog");
        else if (lex_take(lx, "verdict"))
            st->arg[2] = lex_pick(lx, "a verdict", verdict_names);
        else if (lex_take(lx, "at")) {
            st->ip = lex_address(lx, s);
            st->has_ip = true;
        } else if (lex_take(lx, "=")) {
            st->result = -lex_pick(lx, "an error", error_names);
            st->has_result = true;
        } else
            lex_fail(lx, (int)(lx->p - lx->text),
                     "\"backlog N\", \"verdict V\", \"at ADDRESS\" or \"= ERROR\" should be here");
    }
}

/* Arguments of calls: n a number, v a verdict, o an option of TCP, u of UDP, a an address, c a congestion
 * control, p a port with an optional address ("at A"), f "from PORT", q "fast N" (one more than N). Capital
 * letters: may be missing. */
static const char *const call_args[] = { "pFQ", "pF", "n", "n", "", "", "", "n", "n", "", "v", "on", "", "", "on", "c",
                                         "", "P", "p", "np", "un", "", "", "nn", "", "a", "a" };

static void parse_call_arg(struct lexer *lx, struct script *s, struct stmt *st, char kind)
{
    int64_t *arg = &st->arg[st->narg++];

    switch (tolower((unsigned char)kind)) {
    case 'n':
        *arg = lex_number(lx, "a number");
        break;
    case 'v':
        *arg = lex_pick(lx, "a verdict", verdict_names);
        break;
    case 'o':
        *arg = lex_pick(lx, "an option", option_names);
        break;
    case 'u':
        *arg = lex_pick(lx, "an option", udp_option_names);
        break;
    case 'a':
        st->ip = lex_address(lx, s);
        st->has_ip = true;
        break;
    case 'c':
        st->name = arena_text(&s->arena, lex_word(lx, "a congestion control"));
        break;
    case 'f':
        *arg = lex_take(lx, "from") ? lex_number(lx, "a port") : 0;
        break;
    case 'q':
        *arg = lex_take(lx, "fast") ? 1 + lex_number(lx, "how many bytes are written before the SYN leaves") : 0;
        break;
    default:
        *arg = NONE;
        if (kind == 'P' && (lex_end(lx) || lex_peek(lx, "=")))
            return;
        *arg = lex_number(lx, "a port");
        if (lex_take(lx, "at")) {
            st->ip = lex_address(lx, s);
            st->has_ip = true;
        }
    }
}

static void parse_call(struct lexer *lx, struct script *s, struct stmt *st)
{
    st->kind = ST_CALL;
    st->verb = lex_pick(lx, "a call", call_names);
    for (const char *kind = call_args[st->verb]; *kind != '\0'; kind++)
        parse_call_arg(lx, s, st, *kind);
    if (lex_take(lx, "=")) {
        const char *word = lex_word(lx, "a result");

        st->has_result = true;
        st->result = 1;
        for (int i = 0; error_names[i] != NULL; i++)
            if (strcmp(error_names[i], word) == 0)
                st->result = -i;
        if (st->result == 1)
            st->result = lex_number_of(lx, word, "a result (an error's name or a number)");
    }
}

static void parse_event(struct lexer *lx, struct stmt *st)
{
    st->kind = ST_EVENT;
    st->verb = lex_pick(lx, "an event", event_names);
    switch (st->verb) {
    case EV_RECEIVED:
    case EV_ACKED:
    case EV_URGENT:
    case EV_UDP:
        st->arg[0] = lex_number(lx, "the number of bytes");
        break;
    case EV_ECHO:
        st->arg[0] = lex_number(lx, "the sequence number");
        st->arg[1] = lex_number(lx, "the number of bytes");
        break;
    case EV_ECHO_ERROR:
        st->arg[0] = lex_number(lx, "the sequence number");
        st->arg[1] = -lex_pick(lx, "an error", error_names);
        break;
    case EV_CLOSED:
    case EV_SOFT_ERROR:
    case EV_UDP_ERROR:
        st->arg[0] = -lex_pick(lx, "an error", error_names);
        break;
    default:
        break;
    }
}

/* [OP] VALUE, where no OP is == */
static void parse_compare(struct lexer *lx, struct stmt *st)
{
    const char *word = lex_word(lx, "a comparison or a value");

    st->compare = CMP_EQ;
    for (int i = 0; compare_names[i] != NULL; i++) {
        if (strcmp(compare_names[i], word) == 0) {
            st->compare = (enum compare)i;
            word = lex_word(lx, "a value");
            break;
        }
    }
    st->arg[0] = lex_number_of(lx, word, "a value");
}

static void parse_stat(struct lexer *lx, struct stmt *st)
{
    const char *word = lex_word(lx, "a counter");

    st->kind = ST_STAT;
    for (st->verb = 0; st->verb < TENON_STAT_COUNT; st->verb++)
        if (strcmp(tenon_stat_name((enum tenon_stat)st->verb), word) == 0)
            break;
    if (st->verb == TENON_STAT_COUNT)
        lex_fail(lx, lx->word_col, "there is no counter \"%s\" (include/tenon/stats.h lists them)", word);
    parse_compare(lx, st);
}

static void parse_host(struct lexer *lx, struct stmt *st)
{
    static const char *const verbs[] = { "mem-fail", "buf-fail", "busy", "free", "short", "supplied", "low", NULL };

    st->kind = ST_HOST;
    st->verb = lex_pick(lx, "what the host does", verbs);
    if (st->verb < 2)
        st->arg[0] = lex_number(lx, "how many times");
}

static void parse_iss_after(struct lexer *lx, struct script *s, struct stmt *st)
{
    st->kind = ST_ISS_AFTER;
    if (!lex_take(lx, "after") || !lex_char(lx, '@'))
        lex_fail(lx, (int)(lx->p - lx->text), "\"after @TAG NUMBER\" should be here");
    st->other = script_conn(s, lex_word(lx, "a tag"));
    st->arg[0] = lex_number(lx, "a sequence number");
}

static struct packet *new_packet(struct script *s)
{
    return arena_get(&s->arena, sizeof(struct packet));
}

static void parse_open(struct lexer *lx, struct script *s, struct stmt *st, bool active)
{
    st->kind = ST_OPEN;
    st->verb = active;
    st->packet = new_packet(s);
    packet_clear(st->packet, PKT_TCP);
    if (lex_take(lx, "rtt"))
        st->arg[0] = lex_seconds(lx, "a time");
    parse_packet_fields(lx, s, st->packet, false);
}

static bool parse_statement_2(struct lexer *lx, struct script *s, struct stmt *st, const char *word)
{
    static const char *const up_down[] = { "down", "up", NULL };

    if (strcmp(word, "state") == 0) {
        st->kind = ST_STATE;
        st->verb = lex_pick(lx, "a state", state_names);
    } else if (strcmp(word, "time-waits") == 0) {
        st->kind = ST_TIME_WAITS;
        parse_compare(lx, st);
    } else if (strcmp(word, "iss") == 0)
        parse_iss_after(lx, s, st);
    else if (strcmp(word, "passive") == 0 || strcmp(word, "active") == 0)
        parse_open(lx, s, st, word[0] == 'a');
    else if (strcmp(word, "host") == 0)
        parse_host(lx, st);
    else if (strcmp(word, "link") == 0) {
        st->kind = ST_LINK;
        st->verb = lex_pick(lx, "a direction", up_down);
    } else if (strcmp(word, "mtu") == 0) {
        st->kind = ST_MTU;
        st->arg[0] = lex_number(lx, "the MTU");
    } else if (strcmp(word, "neighbour") == 0) {
        st->kind = ST_NEIGHBOUR;
        st->ip = lex_address(lx, s);
    } else
        return false;
    return true;
}

static void parse_statement(struct lexer *lx, struct script *s, struct stmt *st)
{
    const char *word = lex_word(lx, "a statement");

    if (strcmp(word, "<") == 0 || strcmp(word, ">") == 0) {
        st->kind = word[0] == '<' ? ST_INJECT : ST_EXPECT;
        st->packet = new_packet(s);
        parse_packet(lx, s, st->packet, st->kind == ST_EXPECT);
    } else if (strcmp(word, "nothing") == 0) {
        st->kind = ST_NOTHING;
        st->arg[0] = lex_end(lx) ? 0 : lex_seconds(lx, "how long");
    } else if (strcmp(word, "anything") == 0) {
        st->kind = ST_ANYTHING;
        st->arg[0] = lex_end(lx) ? 0 : lex_seconds(lx, "how long");
    } else if (strcmp(word, "listen") == 0)
        parse_listen(lx, s, st);
    else if (strcmp(word, "call") == 0)
        parse_call(lx, s, st);
    else if (strcmp(word, "event") == 0)
        parse_event(lx, st);
    else if (strcmp(word, "no-event") == 0) {
        st->kind = ST_NO_EVENT;
        st->verb = lex_pick(lx, "an event", event_names);
    } else if (strcmp(word, "info") == 0) {
        st->kind = ST_INFO;
        st->verb = pick_field(lx, "a field of struct tenon_tcp_info", info_fields);
        parse_compare(lx, st);
    } else if (strcmp(word, "stat") == 0)
        parse_stat(lx, st);
    else if (!parse_statement_2(lx, s, st, word))
        lex_fail(
            lx, lx->word_col,
            "\"%s\" is no statement; known are <, >, nothing, anything, listen, passive, active, call, event, "
            "no-event, info, stat, state, time-waits, iss, host, link, mtu, neighbour",
            word);
    lex_need_end(lx);
}

static bool is_time(const char *p)
{
    return isdigit((unsigned char)*p) || ((*p == '+' || *p == '-') && isdigit((unsigned char)p[1])) ||
           ((*p == '*' || *p == '&') && isspace((unsigned char)p[1]));
}

static void parse_when(struct lexer *lx, struct script *s, struct stmt *st)
{
    if (lex_take(lx, "*"))
        st->when = WHEN_ANY;
    else if (lex_take(lx, "&")) {
        st->when = WHEN_BURST;
        if (s->last == NULL || s->last->kind != ST_INJECT)
            lex_fail(lx, lx->word_col, "\"&\" adds to the burst of the line before, which must inject a packet");
    } else {
        st->when = *lx->p == '+' ? WHEN_AFTER : WHEN_AT;
        st->time = lex_seconds(lx, "a time");
        if (st->time < 0)
            lex_fail(lx, lx->word_col, "a time cannot be negative");
    }
}

static void parse_line(struct lexer *lx, struct script *s)
{
    struct stmt *st;

    if (lex_end(lx))
        return;
    if (!is_time(lx->p)) {
        parse_directive(lx, s);
        return;
    }
    st = arena_get(&s->arena, sizeof(*st));
    st->line = lx->line;
    st->conn = &s->conns[0];
    parse_when(lx, s, st);
    if (lex_char(lx, '@')) {
        st->conn = script_conn(s, lex_word(lx, "a tag"));
        if (st->conn == NULL || !st->conn->defined)
            lex_fail(lx, lx->word_col, "the connection @%s has not been named by \"conn %s PEER>OUR\"",
                     lx->word, lx->word);
    }
    parse_statement(lx, s, st);
    if ((st->when == WHEN_ANY && st->kind != ST_EXPECT && st->kind != ST_EVENT) ||
        (st->when == WHEN_BURST && st->kind != ST_INJECT))
        lex_fail(lx, 0, "this kind of statement needs a time");
    if (s->last != NULL)
        s->last->next = st;
    else
        s->first = st;
    s->last = st;
}

/* {a|b}: a for IPv4, b for IPv6. */
static void choose_version(char *out, size_t size, const char *in, int af)
{
    size_t n = 0;

    while (*in != '\0' && n + 1 < size) {
        const char *bar = *in == '{' ? strchr(in, '|') : NULL;
        const char *close = bar != NULL ? strchr(bar, '}') : NULL;

        if (close == NULL) {
            out[n++] = *in++;
            continue;
        }
        for (const char *p = af == 4 ? in + 1 : bar + 1; p < (af == 4 ? bar : close) && n + 1 < size; p++)
            out[n++] = *p;
        in = close + 1;
    }
    out[n] = '\0';
}

static void script_defaults(struct script *s, const char *file, int af)
{
    memset(s, 0, sizeof(*s));
    s->file = file;
    s->af = af;
    s->tolerance = 1000;
    s->clock = 0xFFFFFFFFU - 300000;    /* the 32-bit clock wraps soon after the start */
    s->me = af == 4 ? tenon_ip4_bytes(192, 0, 2, 1) : tenon_ip6(0x20010db8, 0, 0, 1);
    s->peer = af == 4 ? tenon_ip4_bytes(192, 0, 2, 2) : tenon_ip6(0x20010db8, 0, 0, 2);
    tenon_conf_default(&s->conf);
    s->conf.tcp_cc = &tenon_cc_newreno;    /* what it does can be counted on fingers */
    memcpy(s->netif.mac, mac_me, 6);
    s->netif.mtu = 1500;
    s->netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    if (af == 4)
        s->netif.flags |= TENON_NETIF_NO_IP6;
    script_conn(s, "")->defined = true;
}

bool script_read(struct script *s, const char *file, int af)
{
    char raw[4096], line[4096];
    struct lexer lx;
    jmp_buf fail;
    FILE *f = fopen(file, "r");

    script_defaults(s, file, af);
    if (f == NULL) {
        printf("%s: cannot be opened\n", file);
        return false;
    }
    memset(&lx, 0, sizeof(lx));
    lx.file = file;
    lx.fail = &fail;
    lx.arena = &s->arena;
    if (setjmp(fail) != 0) {
        fclose(f);
        script_free(s);
        return false;
    }
    while (fgets(raw, sizeof(raw), f) != NULL) {
        raw[strcspn(raw, "\n")] = '\0';
        choose_version(line, sizeof(line), raw, af);
        lx.line++;
        lx.text = lx.p = line;
        if (lx.line < (int)(sizeof(s->lines) / sizeof(s->lines[0])))
            s->lines[lx.line] = arena_text(&s->arena, line);
        s->nlines = lx.line;
        parse_line(&lx, s);
    }
    fclose(f);
    return true;
}

void script_free(struct script *s)
{
    arena_free(&s->arena);
}

bool script_covers(const char *file, void (*each)(void *arg, const char *id), void *arg)
{
    char line[4096];
    FILE *f = fopen(file, "r");

    if (f == NULL)
        return false;
    while (fgets(line, sizeof(line), f) != NULL) {
        char *save = NULL, *p = line + strspn(line, "# \t");

        if (line[0] != '#' || strncmp(p, "covers:", 7) != 0)
            continue;
        for (p = strtok_r(p + 7, " ,\t\r\n", &save); p != NULL; p = strtok_r(NULL, " ,\t\r\n", &save))
            each(arg, p);
    }
    fclose(f);
    return true;
}
