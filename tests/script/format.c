/* SPDX-License-Identifier: MIT */
/* Packets as scripts write them. */
#include "script.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <string.h>

struct text {
    char *p;
    size_t size, n;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    if (t->n + 1 >= t->size)
        return;
    va_start(args, format);
    n = vsnprintf(t->p + t->n, t->size - t->n, format, args);
    va_end(args);
    if (n > 0)
        t->n = t->n + (size_t)n < t->size ? t->n + (size_t)n : t->size - 1;
}

void format_time(char *text, size_t size, int64_t us)
{
    snprintf(text, size, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
}

void format_ip(char *text, size_t size, const struct tenon_ip *ip)
{
    uint8_t b[16];

    for (int i = 0; i < TENON_IP_WORDS; i++)
        set_be32(b + 4 * (i + 4 - TENON_IP_WORDS), ip->w[i]);
    if (tenon_ip_is_v4(ip))
        inet_ntop(AF_INET, b + 12, text, (socklen_t)size);
    else
        inet_ntop(AF_INET6, b, text, (socklen_t)size);
}

static void put_address(struct text *t, const char *word, const struct tenon_ip *ip)
{
    char text[64];

    format_ip(text, sizeof(text), ip);
    put(t, " %s %s", word, text);
}

static void put_mac(struct text *t, const char *word, const uint8_t *m)
{
    put(t, " %s %02x:%02x:%02x:%02x:%02x:%02x", word, m[0], m[1], m[2], m[3], m[4], m[5]);
}

/* A sequence number relative to an initial one: near it, so that it may be negative. */
static long long relative(int64_t seq, uint32_t base)
{
    return (int32_t)((uint32_t)seq - base);
}

static void put_option(struct text *t, const struct opt *o, uint32_t base, const struct conn *c, bool sent)
{
    switch (o->kind) {
    case OPT_EOL:
        put(t, "eol");
        break;
    case OPT_NOP:
        put(t, "nop");
        break;
    case OPT_MSS:
        put(t, "mss %lld", (long long)o->a);
        break;
    case OPT_WSCALE:
        put(t, "wscale %lld", (long long)o->a);
        break;
    case OPT_SACKOK:
        put(t, "sackOK");
        break;
    case OPT_SACK:
        put(t, "sack");
        for (int i = 0; i < o->nblocks; i++)
            put(t, " %lld:%lld", relative(o->left[i], base), relative(o->right[i], base));
        break;
    case OPT_TS:
        put(t, "TS val %lld ecr %lld", sent && c != NULL && c->ts_known ? relative(o->a, c->ts_base) : (long long)o->a,
            !sent && c != NULL && c->ts_known ? relative(o->b, c->ts_base) : (long long)o->b);
        break;
    case OPT_FASTOPEN:
        put(t, "fo");
        for (int i = 0; i < o->nraw; i++)
            put(t, i == 0 ? " %02x" : "%02x", o->raw[i]);
        break;
    default:
        put(t, "raw");
        for (int i = 0; i < o->nraw; i++)
            put(t, " %02x", o->raw[i]);
    }
}

static void put_flags(struct text *t, int flags)
{
    static const char letters[] = "FSRP.UEW";
    static const int order[] = { TCP_S, TCP_F, TCP_R, TCP_P, TCP_U, TCP_A, TCP_E, TCP_W };
    char text[16];
    int n = 0;

    for (int i = 0; i < 8; i++)
        for (int bit = 0; bit < 8; bit++)
            if (order[i] == 1 << bit && (flags & order[i]) != 0)
                text[n++] = letters[bit];
    if (n == 0)
        text[n++] = '-';
    text[n] = '\0';
    put(t, "%s", text);
}

static void put_tcp(struct text *t, const struct packet *p, const struct conn *c, bool sent)
{
    uint32_t base = 0, other = 0;
    long long seq;

    if (c != NULL) {
        base = sent ? (c->iss_known ? c->iss : 0) : c->irs;
        other = sent ? c->irs : (c->iss_known ? c->iss : 0);
    }
    put_flags(t, p->flags);
    seq = relative(p->seq, base);
    put(t, " %lld:%lld(%lld)", seq, seq + (long long)p->len, (long long)p->len);
    if ((p->flags & TCP_A) != 0)
        put(t, " ack %lld", relative(p->ack, other));
    put(t, " win %lld", (long long)p->win);
    if ((p->flags & TCP_U) != 0 || p->urg > 0)
        put(t, " urg %lld", (long long)p->urg);
    if (p->nopts > 0) {
        put(t, " <");
        for (int i = 0; i < p->nopts; i++) {
            put(t, "%s", i > 0 ? "," : "");
            put_option(t, &p->opts[i], other, c, sent);
        }
        put(t, ">");
    }
    if (c == NULL || p->sport != (sent ? c->local_port : c->remote_port) ||
        p->dport != (sent ? c->remote_port : c->local_port))
        put(t, " ports %lld>%lld", (long long)p->sport, (long long)p->dport);
    if (c != NULL && sent && !c->iss_known)
        put(t, " (our sequence numbers are absolute: no SYN has been expected yet)");
}

static void put_icmp(struct text *t, const struct packet *p, int af)
{
    const struct icmp_name *n = NULL;

    for (int i = 0; i < nicmp_names && n == NULL; i++)
        if ((af == 4 ? icmp_names[i].type4 : icmp_names[i].type6) == p->type &&
            (af == 4 ? icmp_names[i].code4 : icmp_names[i].code6) == p->code)
            n = &icmp_names[i];
    if (n == NULL)
        put(t, "icmp type %lld code %lld", (long long)p->type, (long long)p->code);
    else
        put(t, "icmp %s%s%s", n->first, n->second != NULL ? " " : "", n->second != NULL ? n->second : "");
    if (p->icmp_id != NONE)
        put(t, " id %lld seq %lld", (long long)p->icmp_id, (long long)p->icmp_seq);
    put(t, " (%lld)", (long long)p->len);
}

static void put_nd(struct text *t, const struct packet *p)
{
    static const char *const names[] = { "rs", "ra", "ns", "na" };

    put(t, "%s", names[p->type - 133]);
    if (p->has_target)
        put_address(t, "", &p->target);
    if (p->nd_flags > 0)
        put(t, "%s%s%s", (p->nd_flags & 4) != 0 ? " router" : "", (p->nd_flags & 2) != 0 ? " solicited" : "",
            (p->nd_flags & 1) != 0 ? " override" : "");
    if (p->has_lladdr)
        put_mac(t, "lladdr", p->lladdr);
    put_address(t, "from", &p->src);
    put_address(t, "to", &p->dst);
}

static void put_arp(struct text *t, const struct packet *p)
{
    put(t, "arp");
    if (p->arp_op == 1) {
        put_address(t, "who-has", &p->target);
        put_address(t, "tell", &p->arp_sender);
    } else {
        put_address(t, "reply", &p->arp_sender);
        put_mac(t, "is-at", p->lladdr);
    }
}

void format_packet(char *text, size_t size, const struct packet *p, const struct conn *c, int af, bool sent)
{
    struct text t = { text, size, 0 };

    text[0] = '\0';
    switch (p->kind) {
    case PKT_TCP:
        put_tcp(&t, p, c, sent);
        break;
    case PKT_UDP:
        put(&t, "udp %lld>%lld (%lld)", (long long)p->sport, (long long)p->dport, (long long)p->len);
        break;
    case PKT_ICMP:
        put_icmp(&t, p, af);
        break;
    case PKT_ARP:
        put_arp(&t, p);
        break;
    case PKT_ND:
        put_nd(&t, p);
        break;
    case PKT_FRAG:
        put(&t, "frag %lld %lld%s", (long long)p->frag_off, (long long)p->frag_len,
            p->frag_more == 1 ? " mf" : " nomf");
        break;
    case PKT_MLD:
    case PKT_IGMP:
        put(&t, "%s %lld", p->kind == PKT_MLD ? "mld" : "igmp", (long long)p->type);
        put_address(&t, "to", &p->dst);
        break;
    default:
        put(&t, "IP protocol %lld", (long long)p->ip_proto);
    }
}
