/* SPDX-License-Identifier: MIT */
/* Injected packets: a description into bytes. What may be wrong in a packet is wrong on purpose. */
#include "script.h"

#include <stdlib.h>
#include <string.h>

const uint8_t mac_me[6] = { 2, 0, 0, 0, 0, 1 };
const uint8_t mac_peer[6] = { 2, 0, 0, 0, 0, 2 };
const uint8_t mac_broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

uint32_t be16(const uint8_t *p)
{
    return (uint32_t)(p[0] << 8 | p[1]);
}

uint32_t be32(const uint8_t *p)
{
    return be16(p) << 16 | be16(p + 2);
}

void set_be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

void set_be32(uint8_t *p, uint32_t v)
{
    set_be16(p, v >> 16);
    set_be16(p + 2, v);
}

uint32_t sum_bytes(uint32_t sum, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return sum;
}

uint16_t sum_finish(uint32_t sum)
{
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

uint32_t sum_pseudo(const struct tenon_ip *src, const struct tenon_ip *dst, int proto, size_t bytes)
{
    const struct tenon_ip *ips[2] = { src, dst };
    uint32_t sum = (uint32_t)proto + (uint32_t)(bytes >> 16) + (uint32_t)(bytes & 0xffff);
    uint8_t b[4];

    for (int i = 0; i < 2; i++) {
        for (int j = tenon_ip_is_v4(ips[i]) ? TENON_IP4_WORD : 0; j < TENON_IP_WORDS; j++) {
            set_be32(b, ips[i]->w[j]);
            sum = sum_bytes(sum, b, 4);
        }
    }
    return sum;
}

/* Every byte depends on where it lies in the stream, also beyond 256 and 65536. */
uint8_t pattern_ours(uint32_t offset)
{
    return (uint8_t)(offset * 31 + (offset >> 8) * 17 + (offset >> 16) * 5 + 3);
}

uint8_t pattern_peers(uint32_t offset)
{
    return (uint8_t)(offset * 37 + (offset >> 8) * 11 + (offset >> 16) * 7 + 101);
}

/* ---- payload and TCP options ------------------------------------------------------------------------------- */

static size_t put_payload(const struct packet *p, int64_t piece, uint8_t *out)
{
    size_t n = p->has_len ? (size_t)(p->len / p->pieces) : 0;
    int64_t first = p->has_seq ? p->seq + ((p->flags & TCP_S) != 0) - 1 : 0;

    for (size_t i = 0; i < n; i++) {
        int64_t at = first + piece * (int64_t)n + (int64_t)i;

        if (p->style == PAYLOAD_FILL)
            out[i] = (uint8_t)p->fill;
        else if (p->style == PAYLOAD_TEXT || p->style == PAYLOAD_HEX)
            out[i] = p->bytes[i];
        else
            out[i] = pattern_peers((uint32_t)at);
    }
    return n;
}

static size_t put_option(const struct conn *c, const struct packet *p, const struct opt *o, uint8_t *out)
{
    switch (o->kind) {
    case OPT_EOL:
    case OPT_NOP:
        out[0] = (uint8_t)o->kind;
        return 1;
    case OPT_MSS:
        out[0] = OPT_MSS;
        out[1] = 4;
        set_be16(out + 2, (uint32_t)o->a);
        return 4;
    case OPT_WSCALE:
        out[0] = OPT_WSCALE;
        out[1] = 3;
        out[2] = (uint8_t)o->a;
        return 3;
    case OPT_SACKOK:
        out[0] = OPT_SACKOK;
        out[1] = 2;
        return 2;
    case OPT_TS:
        out[0] = OPT_TS;
        out[1] = 10;
        set_be32(out + 2, (uint32_t)o->a);
        /* the echo of our clock is relative to its first value; without ACK it means nothing */
        set_be32(out + 6, o->b_last ? c->ts_last :
                          o->b_raw || (p->flags & TCP_A) == 0 || !c->ts_known ? (uint32_t)o->b :
                                                                                (uint32_t)o->b + c->ts_base);
        return 10;
    case OPT_SACK:
        out[0] = OPT_SACK;
        out[1] = (uint8_t)(2 + 8 * o->nblocks);
        for (int i = 0; i < o->nblocks; i++) {
            set_be32(out + 2 + 8 * i, (uint32_t)o->left[i] + c->iss);
            set_be32(out + 6 + 8 * i, (uint32_t)o->right[i] + c->iss);
        }
        return out[1];
    case OPT_FASTOPEN: {
        const uint8_t *cookie = o->b_last ? c->world->fastopen : o->raw;
        int n = o->b_last ? c->world->nfastopen : o->nraw;

        out[0] = OPT_FASTOPEN;
        out[1] = (uint8_t)(2 + n);
        memcpy(out + 2, cookie, (size_t)n);
        return out[1];
    }
    default:
        memcpy(out, o->raw, (size_t)o->nraw);
        return (size_t)o->nraw;
    }
}

static size_t put_tcp(const struct conn *c, const struct packet *p, int64_t piece, uint8_t *out)
{
    size_t header = 20, n;
    bool last = piece == p->pieces - 1;
    int64_t seq = p->has_seq ? p->seq + piece * (p->len / p->pieces) : 0;
    int flags = last ? p->flags : p->flags & ~(TCP_F | TCP_P);

    memset(out, 0, 60);
    set_be16(out, (uint32_t)(p->sport != NONE ? p->sport : c->remote_port));
    set_be16(out + 2, (uint32_t)(p->dport != NONE ? p->dport : c->local_port));
    set_be32(out + 4, (uint32_t)seq + (p->absolute ? 0 : c->irs));
    if (p->ack != NONE)
        set_be32(out + 8, (uint32_t)p->ack + (c->iss_known && !p->absolute ? c->iss : 0));
    out[13] = (uint8_t)flags;
    set_be16(out + 14, (uint32_t)(p->win != NONE ? p->win : (flags & TCP_R) != 0 ? 0 : 65535));
    set_be16(out + 18, (uint32_t)(p->urg != NONE ? p->urg : 0));
    for (int i = 0; i < p->nopts && header < 56; i++)
        header += put_option(c, p, &p->opts[i], out + header);
    header = (header + 3) / 4 * 4;
    out[12] = (uint8_t)((p->doff != NONE ? (size_t)p->doff : header / 4) << 4);
    if (p->reserved != NONE)
        out[12] |= (uint8_t)(p->reserved & 15);
    n = put_payload(p, piece, out + header);
    return header + n;
}

static size_t put_udp(const struct conn *c, const struct packet *p, uint8_t *out)
{
    size_t n = put_payload(p, 0, out + 8);

    set_be16(out, (uint32_t)(p->sport != NONE ? p->sport : c->remote_port));
    set_be16(out + 2, (uint32_t)(p->dport != NONE ? p->dport : c->local_port));
    set_be16(out + 4, (uint32_t)(p->udp_len != NONE ? (size_t)p->udp_len : 8 + n));
    set_be16(out + 6, 0);
    return 8 + n;
}

/* ---- ICMP, ND -------------------------------------------------------------------------------------------------- */

static bool is_echo(const struct packet *p, int af)
{
    return af == 4 ? p->type == 8 || p->type == 0 : p->type == 128 || p->type == 129;
}

/* What an ICMP error quotes: the beginning of a packet that we sent. */
static size_t put_quote(struct world *w, const struct packet *p, uint8_t *out)
{
    size_t index = p->about > 0 ? (size_t)p->about - 1 : w->nsent + (size_t)p->about;
    const struct taken *t;
    size_t n, header = w->af == 4 ? 20 : 40;

    if (p->about == 0 || index >= w->nsent) {
        world_fail(w, "about %lld: only %zu packets have been sent", (long long)p->about, w->nsent);
        return 0;
    }
    t = w->sent[index];
    n = t->nbytes - t->ip_at;
    if (w->af == 4 && n > header + 8)
        n = header + 8;
    if (n > 1232)
        n = 1232;
    if (p->quote != NONE && header + (size_t)p->quote <= t->nbytes - t->ip_at)
        n = header + (size_t)p->quote;
    memcpy(out, t->bytes + t->ip_at, n);
    if (p->has_quote_seq && n >= header + 8)
        set_be32(out + header + 4, (uint32_t)p->quote_seq + w->at->conn->iss);
    return n;
}

/* A reply belongs to the request that we sent last. */
static int64_t last_echo_id(const struct world *w)
{
    for (size_t i = w->nsent; i > 0; i--)
        if (w->sent[i - 1]->packet.kind == PKT_ICMP && w->sent[i - 1]->packet.icmp_id != NONE)
            return w->sent[i - 1]->packet.icmp_id;
    return 1;
}

static size_t put_icmp(struct world *w, const struct packet *p, uint8_t *out)
{
    size_t n;

    memset(out, 0, 8);
    out[0] = (uint8_t)p->type;
    out[1] = (uint8_t)(p->code == NONE ? 0 : p->code);
    if (is_echo(p, w->af)) {
        set_be16(out + 4, (uint32_t)(p->icmp_id == NONE ? last_echo_id(w) : p->icmp_id));
        set_be16(out + 6, (uint32_t)(p->icmp_seq == NONE ? 1 : p->icmp_seq));
        return 8 + put_payload(p, 0, out + 8);
    }
    if (p->mtu != NONE && w->af == 4)
        set_be16(out + 6, (uint32_t)p->mtu);
    else if (p->mtu != NONE)
        set_be32(out + 4, (uint32_t)p->mtu);
    if (p->ptr != NONE && w->af == 4)
        out[4] = (uint8_t)p->ptr;
    else if (p->ptr != NONE)
        set_be32(out + 4, (uint32_t)p->ptr);
    if (p->has_about)
        return 8 + put_quote(w, p, out + 8);
    n = put_payload(p, 0, out + 8);
    return 8 + n;
}

static void put_ip(uint8_t *out, const struct tenon_ip *ip)
{
    for (int i = 0; i < TENON_IP_WORDS; i++)
        set_be32(out + 4 * i, ip->w[i]);
}

static size_t put_lladdr(const struct packet *p, int type, uint8_t *out)
{
    if (!p->has_lladdr)
        return 0;
    out[0] = (uint8_t)type;
    out[1] = 1;
    memcpy(out + 2, p->lladdr, 6);
    return 8;
}

static size_t put_ra(const struct packet *p, uint8_t *out)
{
    size_t n = 16;

    out[4] = 64;
    set_be16(out + 6, (uint32_t)(p->lifetime == NONE ? 1800 : p->lifetime));
    n += put_lladdr(p, 1, out + n);
    if (p->mtu != NONE) {
        out[n] = 5;
        out[n + 1] = 1;
        set_be32(out + n + 4, (uint32_t)p->mtu);
        n += 8;
    }
    if (p->has_target) {
        out[n] = 3;
        out[n + 1] = 4;
        out[n + 2] = (uint8_t)p->prefix_bits;
        out[n + 3] = 0xc0;    /* on-link, autonomous */
        set_be32(out + n + 4, (uint32_t)(p->valid == NONE ? 86400 : p->valid));
        set_be32(out + n + 8, (uint32_t)(p->preferred == NONE ? 14400 : p->preferred));
        put_ip(out + n + 16, &p->target);
        n += 32;
    }
    return n;
}

static size_t put_nd(const struct packet *p, uint8_t *out)
{
    memset(out, 0, 128);
    out[0] = (uint8_t)p->type;
    if (p->type == 133)
        return 8 + put_lladdr(p, 1, out + 8);
    if (p->type == 134)
        return put_ra(p, out);
    if (p->nd_flags != NONE)
        out[4] = (uint8_t)(p->nd_flags << 5);
    put_ip(out + 8, &p->target);
    return 24 + put_lladdr(p, p->type == 135 ? 1 : 2, out + 24);
}

static size_t put_arp(const struct script *s, const struct packet *p, uint8_t *out)
{
    static const uint8_t head[6] = { 0, 1, 8, 0, 6, 4 };
    const struct tenon_ip *sender = p->has_arp_sender ? &p->arp_sender : &s->peer;
    const struct tenon_ip *target = p->has_target ? &p->target : &s->me;

    memcpy(out, head, sizeof(head));
    set_be16(out + 6, (uint32_t)p->arp_op);
    memcpy(out + 8, p->arp_op == 2 && p->has_lladdr ? p->lladdr : p->has_eth_src ? p->eth_src : mac_peer, 6);
    set_be32(out + 14, sender->w[TENON_IP4_WORD]);
    memset(out + 18, 0, 6);
    if (p->arp_op == 2)
        memcpy(out + 18, mac_me, 6);
    set_be32(out + 24, target->w[TENON_IP4_WORD]);
    return 28;
}

/* ---- IP --------------------------------------------------------------------------------------------------------- */

struct ip_parts {
    struct tenon_ip src, dst;
    int proto;
    uint8_t payload[FRAME_MAX];
    size_t n;
};

static void fill_checksum(const struct packet *p, struct ip_parts *ip, int af)
{
    size_t at = ip->proto == 6 ? 16 : ip->proto == 17 ? 6 : 2;
    uint32_t sum = 0;
    uint16_t value;

    if (ip->proto != 6 && ip->proto != 17 && ip->proto != 1 && ip->proto != 58 && ip->proto != 2)
        return;
    if (ip->n < at + 2)
        return;
    set_be16(ip->payload + at, 0);
    if (ip->proto == 6 || ip->proto == 17 || af == 6)
        sum = sum_pseudo(&ip->src, &ip->dst, ip->proto, ip->n);
    value = sum_finish(sum_bytes(sum, ip->payload, ip->n));
    if (ip->proto == 17 && value == 0)
        value = 0xffff;
    if (p->bad_sum)
        value ^= 0x5555;
    if (p->zero_sum)
        value = 0;
    set_be16(ip->payload + at, value);
}

static size_t put_header4(const struct packet *p, const struct ip_parts *ip, size_t off, size_t len,
                          bool more, uint8_t *out)
{
    size_t header = 20 + ((size_t)p->ip_opts_bytes + 3) / 4 * 4;
    uint32_t sum;

    memset(out, 0, header);
    out[0] = (uint8_t)(0x40 | header / 4);
    out[1] = (uint8_t)(p->tos == NONE ? 0 : p->tos);
    set_be16(out + 2, (uint32_t)(header + len));
    set_be16(out + 4, (uint32_t)(p->ip_id == NONE ? 0x1234 : p->ip_id));
    set_be16(out + 6, (uint32_t)(off / 8) | (more ? 0x2000 : 0) | (p->df == 1 ? 0x4000 : 0));
    out[8] = (uint8_t)(p->ttl == NONE ? 64 : p->ttl);
    out[9] = (uint8_t)ip->proto;
    set_be32(out + 12, ip->src.w[TENON_IP4_WORD]);
    set_be32(out + 16, ip->dst.w[TENON_IP4_WORD]);
    memcpy(out + 20, p->ip_opts, (size_t)p->ip_opts_bytes);
    sum = sum_finish(sum_bytes(0, out, header));
    set_be16(out + 10, p->bad_ip_sum ? sum ^ 0x5555 : sum);
    memcpy(out + header, ip->payload + off, len);
    return header + len;
}

static size_t put_header6(const struct packet *p, const struct ip_parts *ip, size_t off, size_t len,
                          bool more, uint8_t *out)
{
    size_t n = 40;
    uint8_t *next = out + 6;

    memset(out, 0, 40);
    set_be32(out, 0x60000000U | (uint32_t)(p->tos == NONE ? 0 : p->tos) << 20);
    out[7] = (uint8_t)(p->ttl != NONE ? p->ttl : p->kind == PKT_ND ? 255 : 64);
    put_ip(out + 8, &ip->src);
    put_ip(out + 24, &ip->dst);
    for (int i = 0; i < p->nexts; i++) {
        size_t bytes = ((size_t)p->ext[i].n + 2 + 7) / 8 * 8;

        *next = (uint8_t)p->ext[i].proto;
        next = out + n;
        memset(out + n, 0, bytes);
        out[n + 1] = (uint8_t)(bytes / 8 - 1);
        memcpy(out + n + 2, p->ext[i].bytes, (size_t)p->ext[i].n);
        n += bytes;
    }
    if (p->frag_off != NONE) {
        *next = 44;
        next = out + n;
        memset(out + n, 0, 8);
        set_be16(out + n + 2, (uint32_t)(off & ~(size_t)7) | (more ? 1 : 0));
        set_be32(out + n + 4, (uint32_t)(p->ip_id == NONE ? 0x1234 : p->ip_id));
        n += 8;
    }
    *next = (uint8_t)ip->proto;
    memcpy(out + n, ip->payload + off, len);
    n += len;
    set_be16(out + 4, (uint32_t)(n - 40));
    return n;
}

static struct tenon_ip default_dst(const struct script *s, const struct packet *p)
{
    if (p->has_dst)
        return p->dst;
    if (p->kind == PKT_ND && p->type == 135)    /* solicited-node group */
        return tenon_ip6(0xff020000, 0, 1, 0xff000000 | (p->target.w[TENON_IP4_WORD] & 0xffffff));
    if (p->kind == PKT_ND && (p->type == 133 || p->type == 134))
        return tenon_ip6(0xff020000, 0, 0, p->type == 133 ? 2 : 1);
    return s->me;
}

static size_t put_l4(struct world *w, const struct conn *c, const struct packet *p, int64_t piece, struct ip_parts *ip)
{
    switch (p->kind) {
    case PKT_TCP:
        ip->proto = 6;
        return put_tcp(c, p, piece, ip->payload);
    case PKT_UDP:
        ip->proto = 17;
        return put_udp(c, p, ip->payload);
    case PKT_ICMP:
        ip->proto = w->af == 4 ? 1 : 58;
        return put_icmp(w, p, ip->payload);
    case PKT_ND:
        ip->proto = 58;
        return put_nd(p, ip->payload);
    default:
        ip->proto = p->kind == PKT_MLD ? 58 : 2;
        ip->payload[0] = (uint8_t)p->type;
        memset(ip->payload + 1, 0, 7);
        return 8;
    }
}

/* poke OFFSET VALUE: bytes of the IP header, whose checksum is made to fit again unless it shall not. */
static void poke_header(const struct packet *p, int af, size_t header, uint8_t *out)
{
    bool poked = false;

    for (int i = 0; i < p->npokes; i++) {
        if (p->poke_at[i] < (int64_t)header) {
            out[p->poke_at[i]] = (uint8_t)p->poke_value[i];
            poked = true;
        }
    }
    if (!poked || af == 6 || p->bad_ip_sum)
        return;
    set_be16(out + 10, 0);
    set_be16(out + 10, sum_finish(sum_bytes(0, out, header)));
}

static size_t put_ip_packet(struct world *w, const struct conn *c, const struct packet *p, int64_t piece, uint8_t *out)
{
    struct ip_parts *ip = calloc(1, sizeof(*ip));
    size_t off = 0, len, n, header = (size_t)(w->af == 4 ? 20 + (p->ip_opts_bytes + 3) / 4 * 4 : 40);
    bool more = false;

    if (ip == NULL)
        abort();
    ip->src = p->has_src ? p->src : w->script->peer;
    if (p->kind == PKT_ND && p->type == 134 && !p->has_src)
        ip->src = tenon_ip6(0xfe800000, 0, 0, 2);
    ip->dst = default_dst(w->script, p);
    ip->n = put_l4(w, c, p, piece, ip);
    if (p->ip_proto != NONE)
        ip->proto = (int)p->ip_proto;
    for (int i = 0; i < p->npokes; i++)
        if (p->poke_at[i] >= (int64_t)header && p->poke_at[i] < (int64_t)(header + ip->n))
            ip->payload[p->poke_at[i] - (int64_t)header] = (uint8_t)p->poke_value[i];
    fill_checksum(p, ip, w->af);
    len = ip->n;
    if (p->frag_off != NONE) {
        off = (size_t)p->frag_off;
        len = (size_t)p->frag_len;
        more = p->frag_more == NONE ? off + len < ip->n : p->frag_more == 1;
        if (off + len > FRAME_MAX)
            len = FRAME_MAX - off;
    }
    if (w->af == 4)
        n = put_header4(p, ip, off, len, more, out);
    else
        n = put_header6(p, ip, off, len, more, out);
    poke_header(p, w->af, header, out);
    free(ip);
    return n;
}

/* ---- frames -------------------------------------------------------------------------------------- */

static size_t put_ethernet(const struct world *w, const struct packet *p, const struct tenon_ip *dst, uint8_t *out)
{
    size_t n = 12;

    memcpy(out, mac_me, 6);
    if (p->kind == PKT_ARP && p->arp_op == 1)
        memcpy(out, mac_broadcast, 6);
    if (w->af == 6 && dst->w[0] >> 24 == 0xff) {
        out[0] = out[1] = 0x33;
        set_be32(out + 2, dst->w[TENON_IP4_WORD]);
    }
    if (w->af == 4 && dst->w[TENON_IP4_WORD] >> 28 == 14) {
        set_be32(out, 0x01005e00);
        set_be32(out + 2, 0x5e000000 | (dst->w[TENON_IP4_WORD] & 0x7fffff));
    }
    if (p->has_eth_dst)
        memcpy(out, p->eth_dst, 6);
    memcpy(out + 6, p->has_eth_src ? p->eth_src : mac_peer, 6);
    if (p->vlan != NONE) {
        set_be16(out + n, 0x8100);
        set_be16(out + n + 2, (uint32_t)p->vlan);
        n += 4;
    }
    set_be16(out + n, p->eth_type != NONE  ? (uint32_t)p->eth_type
                      : p->kind == PKT_ARP ? 0x0806
                      : w->af == 4         ? 0x0800
                                           : 0x86dd);
    return n + 2;
}

size_t build_frame(struct world *w, const struct conn *c, const struct packet *p, int64_t piece, uint8_t *frame)
{
    struct tenon_ip dst = default_dst(w->script, p);
    size_t n = 0;

    if (p->kind == PKT_RAW) {
        memcpy(frame, p->bytes, p->nbytes);
        return p->nbytes;
    }
    if ((w->script->netif.caps & TENON_CAP_NO_LINK) == 0)
        n = put_ethernet(w, p, &dst, frame);
    if (p->kind == PKT_ARP)
        n += put_arp(w->script, p, frame + n);
    else if (p->kind == PKT_IP) {
        memcpy(frame + n, p->bytes, p->nbytes);
        n += p->nbytes;
    } else
        n += put_ip_packet(w, c, p, piece, frame + n);
    if (p->pad != NONE) {
        memset(frame + n, 0xA5, (size_t)p->pad);
        n += (size_t)p->pad;
    }
    if (p->cut != NONE)
        n = n > (size_t)p->cut ? n - (size_t)p->cut : 0;
    return n;
}
