/* SPDX-License-Identifier: MIT */
/* Whether a sent packet is the one that the script expects. What the script does not mention is not
 * compared; payload always is. */
#include "script.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct verdict {
    char *why;
    size_t size;
    bool good;
};

static void differs(struct verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void differs(struct verdict *v, const char *format, ...)
{
    va_list args;

    if (!v->good)
        return;
    v->good = false;
    va_start(args, format);
    vsnprintf(v->why, v->size, format, args);
    va_end(args);
}

static void want(struct verdict *v, const char *what, int64_t expected, int64_t got)
{
    if (expected != NONE && expected != got)
        differs(v, "%s is %lld, not %lld", what, (long long)got, (long long)expected);
}

static void want_ip(struct verdict *v, const char *what, const struct tenon_ip *expected, const struct tenon_ip *got)
{
    char a[64], b[64];

    if (tenon_ip_equal(expected, got))
        return;
    format_ip(a, sizeof(a), expected);
    format_ip(b, sizeof(b), got);
    differs(v, "%s is %s, not %s", what, b, a);
}

static void want_mac(struct verdict *v, const char *what, const uint8_t *expected, const uint8_t *got)
{
    if (memcmp(expected, got, 6) != 0)
        differs(v, "%s is %02x:%02x:%02x:%02x:%02x:%02x", what, got[0], got[1], got[2], got[3], got[4], got[5]);
}

/* ---- TCP options ---------------------------------------------------------------------------------------------- */

static bool significant(const struct opt *o)
{
    return o->kind != OPT_NOP && o->kind != OPT_EOL;
}

static bool same_option(const struct conn *c, const struct opt *e, const struct opt *g)
{
    if (e->kind != g->kind)
        return false;
    switch (e->kind) {
    case OPT_MSS:
    case OPT_WSCALE:
        return e->a_any || e->a == g->a;
    case OPT_TS:
        /* our clock may have ticked once more or less than the script thinks */
        return (e->a_any || llabs((long long)(int32_t)((uint32_t)g->a - c->ts_base) - (long long)e->a) <= 1) &&
               (e->b_any || (uint32_t)e->b == (uint32_t)g->b);
    case OPT_SACK:
        for (int i = 0; i < e->nblocks && e->nblocks == g->nblocks; i++)
            if ((uint32_t)e->left[i] + c->irs != (uint32_t)g->left[i] ||
                (uint32_t)e->right[i] + c->irs != (uint32_t)g->right[i])
                return false;
        return e->nblocks == g->nblocks;
    case OPT_FASTOPEN:
        if (e->a_any)
            return g->nraw > 0;
        return e->nraw == g->nraw && memcmp(e->raw, g->raw, (size_t)e->nraw) == 0;
    case OPT_RAW:
        return e->nraw == g->nraw && memcmp(e->raw, g->raw, (size_t)e->nraw) == 0;
    default:
        return true;
    }
}

static void match_options(struct verdict *v, const struct conn *c, const struct packet *e, const struct packet *g)
{
    bool used[OPTS_MAX] = { false };

    if (!e->has_opts)
        return;
    for (int i = 0; i < e->nopts; i++) {
        bool found = !significant(&e->opts[i]);

        for (int j = 0; j < g->nopts && !found; j++) {
            if (!used[j] && same_option(c, &e->opts[i], &g->opts[j]))
                found = used[j] = true;
        }
        if (!found)
            differs(v, "the %s option of the script is missing or has another value",
                    i == 0   ? "first"
                    : i == 1 ? "second"
                    : i == 2 ? "third"
                             : "last");
    }
    for (int j = 0; j < g->nopts && !e->more_opts; j++)
        if (significant(&g->opts[j]) && !used[j])
            differs(v, "there is an option that the script does not mention (number %d)", j + 1);
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

void learn_numbers(struct conn *c, const struct packet *g)
{
    if ((g->flags & TCP_S) != 0 && !c->iss_known) {
        c->iss = (uint32_t)g->seq;
        c->iss_known = true;
    }
    for (int i = 0; i < g->nopts; i++) {
        if (g->opts[i].kind == OPT_FASTOPEN && g->opts[i].nraw > 0) {
            c->world->nfastopen = g->opts[i].nraw;
            memcpy(c->world->fastopen, g->opts[i].raw, sizeof(c->world->fastopen));
        }
        if (g->opts[i].kind != OPT_TS)
            continue;
        if (!c->ts_known && (g->flags & TCP_R) == 0)
            c->ts_base = (uint32_t)g->opts[i].a;
        c->ts_known = true;
        c->ts_last = (uint32_t)g->opts[i].a;
    }
}

static void match_pattern(struct verdict *v, const struct packet *g, uint32_t first)
{
    for (size_t i = 0; i < g->nbytes; i++)
        if (g->bytes[i] != pattern_ours(first + (uint32_t)i))
            differs(v, "byte %zu of the payload is %02x, but %02x was written", i, g->bytes[i],
                    pattern_ours(first + (uint32_t)i));
}

static void match_tcp(struct verdict *v, struct conn *c, const struct packet *e, int64_t piece, const struct packet *g)
{
    int flags = piece == e->pieces - 1 ? e->flags : e->flags & ~(TCP_F | TCP_P);
    int64_t step = e->has_len ? e->len / e->pieces : 0;
    uint32_t base;

    want(v, "the source port", e->sport != NONE ? e->sport : c->local_port, g->sport);
    want(v, "the destination port", e->dport != NONE ? e->dport : c->remote_port, g->dport);
    if (flags != g->flags) {
        differs(v, "the flags differ");
        return;
    }
    learn_numbers(c, g);
    base = c->iss_known && !e->absolute ? c->iss : 0;
    if (e->has_seq)
        want(v, "the sequence number", e->seq + piece * step, (int32_t)((uint32_t)g->seq - base));
    if (e->has_len)
        want(v, "the length", step, g->len);
    if (e->ack != NONE)
        want(v, "the acknowledgement number", e->ack, (int32_t)((uint32_t)g->ack - (e->absolute ? 0 : c->irs)));
    want(v, "the window", e->win, g->win);
    want(v, "the urgent pointer", e->urg, g->urg);
    match_options(v, c, e, g);
    match_pattern(v, g, (uint32_t)g->seq - base + ((g->flags & TCP_S) != 0) - 1);
}

static void match_bytes(struct verdict *v, const struct packet *e, const struct packet *g, uint8_t (*pattern)(uint32_t))
{
    if (e->has_len)
        want(v, "the length", e->len, g->len);
    for (size_t i = 0; i < g->nbytes && v->good; i++) {
        uint8_t byte = e->style == PAYLOAD_TEXT || e->style == PAYLOAD_HEX ? (i < e->nbytes ? e->bytes[i] : 0) :
                       e->style == PAYLOAD_FILL ? (uint8_t)e->fill : pattern((uint32_t)i);

        if (e->has_len && g->bytes[i] != byte)
            differs(v, "byte %zu of the payload is %02x, not %02x", i, g->bytes[i], byte);
    }
}

static void match_udp(struct verdict *v, const struct conn *c, const struct packet *e, const struct packet *g)
{
    want(v, "the source port", e->sport != NONE ? e->sport : c->local_port, g->sport);
    want(v, "the destination port", e->dport, g->dport);
    if (e->zero_sum != g->zero_sum)
        differs(v, g->zero_sum ? "there is no checksum" : "there is a checksum");
    match_bytes(v, e, g, pattern_ours);
}

/* The quotation in an error: the packet that the script injected. The core may have written into the
 * headers of a received frame; what a router on the way may change is not compared. */
static void match_quote(struct verdict *v, const struct world *w, const struct packet *e, const struct packet *g)
{
    size_t index = e->about > 0 ? (size_t)e->about - 1 : w->ninjected + (size_t)e->about;
    size_t header = w->af == 4 ? 20 : 40;
    const struct taken *t;

    if (e->about == 0 || index >= w->ninjected) {
        differs(v, "only %zu packets have been injected", w->ninjected);
        return;
    }
    t = w->injected[index];
    if (g->nbytes < header + 8)
        differs(v, "the error quotes only %zu bytes", g->nbytes);
    else if (t->nbytes - t->ip_at < g->nbytes)
        differs(v, "the error quotes more than the packet had");
    else if (memcmp(g->bytes, t->bytes + t->ip_at, g->nbytes) != 0)
        differs(v, "the error quotes another packet");
    if (w->af == 6 && g->nbytes < t->nbytes - t->ip_at && g->nbytes < 1280 - 48)
        differs(v, "the error quotes less than fits in 1280 bytes (RFC 4443 2.4 (c))");
}

static void match_icmp(struct verdict *v, const struct world *w, const struct packet *e, const struct packet *g)
{
    bool reply = g->type == (w->af == 4 ? 0 : 129);

    want(v, "the type", e->type, g->type);
    want(v, "the code", e->code, g->code);
    want(v, "the identifier", e->icmp_id, g->icmp_id);
    want(v, "the sequence number", e->icmp_seq, g->icmp_seq);
    want(v, "the MTU", e->mtu, g->mtu);
    want(v, "the pointer", e->ptr, g->ptr);
    if (e->has_about)
        match_quote(v, w, e, g);
    else
        match_bytes(v, e, g, reply ? pattern_peers : pattern_ours);
}

static void match_arp(struct verdict *v, const struct packet *e, const struct packet *g)
{
    want(v, "the operation", e->arp_op, g->arp_op);
    if (e->has_arp_sender)
        want_ip(v, "the sender", &e->arp_sender, &g->arp_sender);
    if (e->has_target)
        want_ip(v, "the target", &e->target, &g->target);
}

static void match_ip(struct verdict *v, const struct world *w, const struct packet *e, const struct packet *g)
{
    bool any = e->kind == PKT_ND || e->kind == PKT_MLD || e->kind == PKT_IGMP || e->kind == PKT_ARP;

    if (e->kind == PKT_ARP)
        return;
    want(v, "the TTL", e->ttl, g->ttl);
    want(v, "the type of service", e->tos, g->tos);
    want(v, "the identification", e->ip_id, g->ip_id);
    if (w->af == 4)
        want(v, "the flag DF", e->df, g->df);
    if (e->has_src || !any)
        want_ip(v, "the source", e->has_src ? &e->src : &w->script->me, &g->src);
    if (e->has_dst || !any)
        want_ip(v, "the destination", e->has_dst ? &e->dst : &w->script->peer, &g->dst);
}

bool match_packet(struct world *w, const struct stmt *st, int64_t piece, const struct taken *got, char *why,
                  size_t size)
{
    const struct packet *e = st->packet, *g = &got->packet;
    struct verdict v = { why, size, true };

    if (e->kind != g->kind) {
        differs(&v, "it is another kind of packet");
        return false;
    }
    match_ip(&v, w, e, g);
    if (e->has_eth_dst && g->has_eth_dst)
        want_mac(&v, "the frame's destination", e->eth_dst, g->eth_dst);
    if (e->has_lladdr)
        want_mac(&v, "the link-layer address", e->lladdr, g->lladdr);
    switch (e->kind) {
    case PKT_TCP:
        match_tcp(&v, st->conn, e, piece, g);
        break;
    case PKT_UDP:
        match_udp(&v, st->conn, e, g);
        break;
    case PKT_ICMP:
        match_icmp(&v, w, e, g);
        break;
    case PKT_ARP:
        match_arp(&v, e, g);
        break;
    case PKT_ND:
        want(&v, "the type", e->type, g->type);
        want(&v, "the flags", e->nd_flags, g->nd_flags);
        if (e->has_target)
            want_ip(&v, "the target", &e->target, &g->target);
        break;
    case PKT_FRAG:
        want(&v, "the fragment's offset", e->frag_off, g->frag_off);
        want(&v, "the fragment's length", e->frag_len, g->frag_len);
        want(&v, "more fragments", e->frag_more, g->frag_more);
        break;
    default:
        want(&v, "the type", e->type, g->type);
    }
    return v.good;
}
