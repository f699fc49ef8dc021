/* SPDX-License-Identifier: MIT */
/* The usual datagram in a straight line, as tcp_fast.c has it for segments: whole, between ends that were found
 * layer by layer not long ago. Both versions of IP go the same way, which is compiled once for each.
 *
 * Nothing happens here that udp_input.c, udp_output.c and the layers below would not do. Whoever finds
 * something unusual returns before anything is changed, and leaves it to them. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "udp/udp_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum { DGRAM_SLOTS_MIN = 8, DGRAM_CLEAR = 64 };    /* slots that a new table has; that are cleared at a time */

#define DGRAM_SLOTS_MAX 32768UL

/* ---- the headers of both versions ----------------------------------------------------------------------------- */

TENON_INLINE tenon_u32 dgram_ip_bytes(int is_v4)
{
    return is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES;
}

/* Both addresses, which stand right before the header of UDP. */
TENON_INLINE tenon_u32 dgram_ends_bytes(int is_v4)
{
    return is_v4 ? 8 : 32;
}

TENON_INLINE int dgram_same(const struct tenon_ip *a, const struct tenon_ip *b, int is_v4)
{
    return is_v4 ? a->w[TENON_IP4_WORD] == b->w[TENON_IP4_WORD] : tenon_ip_equal(a, b);
}

/* ---- whose it is ---------------------------------------------------------------------------------------------- */

static size_t dgram_table_bytes(const struct tn_udp_state *udp)
{
    return udp->recent == NULL ? 0 : ((size_t)udp->recent_mask + 1) * sizeof(udp->recent[0]);
}

TENON_INTERNAL void tn_udp_fast_change(struct tenon *stack)
{
    struct tn_udp_state *udp = &stack->udp;

    udp->change++;
    if (udp->change == 0 && udp->recent != NULL)    /* what is as old as the counter must not come back */
        memset(udp->recent, 0, dgram_table_bytes(udp));
}

static void dgram_free(struct tenon *stack)
{
    struct tn_udp_state *udp = &stack->udp;

    if (udp->recent != NULL)
        tn_mem_put(stack, udp->recent, dgram_table_bytes(udp));
}

static tenon_u32 dgram_coming_slots(const struct tn_udp_state *udp)
{
    return udp->recent == NULL ? (tenon_u32)DGRAM_SLOTS_MIN : 2 * (udp->recent_mask + 1);
}

/* A larger table begins. Without memory the old one, or none, will do. @return 0: none */
static int dgram_begin_growing(struct tenon *stack)
{
    struct tn_udp_state *udp = &stack->udp;
    const tenon_u32 slots = dgram_coming_slots(udp);
    const size_t bytes = (size_t)slots * sizeof(udp->recent[0]);

    if (slots > DGRAM_SLOTS_MAX || bytes / sizeof(udp->recent[0]) != slots ||
        (udp->recent != NULL && udp->count <= slots / 4))
        return 0;
    udp->coming = (struct tn_udp_recent *)tn_mem_get(stack, bytes);
    udp->coming_clear = 0;
    return udp->coming != NULL;
}

/* As tn_fast_grow(): with each socket some slots are cleared, and nothing moves to the larger table. */
TENON_INTERNAL void tn_udp_fast_grow(struct tenon *stack)
{
    struct tn_udp_state *udp = &stack->udp;
    const tenon_u32 slots = dgram_coming_slots(udp);
    tenon_u32 some;

    if (udp->coming == NULL && !dgram_begin_growing(stack))
        return;
    some = tn_min(slots - udp->coming_clear, DGRAM_CLEAR);
    memset(udp->coming + udp->coming_clear, 0, some * sizeof(*udp->coming));
    udp->coming_clear += some;
    if (udp->coming_clear < slots)
        return;
    dgram_free(stack);
    udp->recent = udp->coming;
    udp->recent_mask = slots - 1;
    udp->coming = NULL;
}

TENON_INTERNAL void tn_udp_fast_fini(struct tenon *stack)
{
    struct tn_udp_state *udp = &stack->udp;

    if (udp->coming != NULL)
        tn_mem_put(stack, udp->coming, (size_t)dgram_coming_slots(udp) * sizeof(udp->recent[0]));
    dgram_free(stack);
    udp->recent = udp->coming = NULL;
}

/* Where a datagram is remembered, and with which ports. While no socket is connected, who sends it does not matter
 * to whose it is: `src` is then who was heard last. The slot is a guess, and not keyed: who makes ours miss on
 * purpose gains nothing but the keyed hash. NULL: nothing is remembered. */
TENON_HOT struct tn_udp_recent *dgram_slot(struct tenon *stack, const struct tn_pkt *pkt, tenon_u32 *ports,
                                           int is_v4)
{
    struct tn_udp_state *udp = &stack->udp;
    tenon_u32 mix = 0;

    if (udp->recent == NULL)
        return NULL;
    if (TENON_UNLIKELY(udp->link_gen != stack->link.gen)) {
        udp->link_gen = stack->link.gen;
        tn_udp_fast_change(stack);
    }
    if (udp->connected.count == 0)
        *ports &= 0xFFFFUL;
    else
        mix = pkt->src.w[TENON_IP4_WORD] ^ (is_v4 || !TENON_WITH_IPV6 ? 0 : pkt->src.w[1]) ^ *ports >> 16;
    mix = (mix ^ *ports) * 0x9E3779B1UL;
    /* The upper bits of this product keep ports that follow each other apart: 2^32 times the golden ratio. */
    return &udp->recent[(mix >> 16) * (udp->recent_mask + 1) >> 16];
}

TENON_INTERNAL void tn_udp_fast_remember(struct tenon *stack, struct tenon_udp *sock, const struct tn_pkt *pkt,
                                         const struct tenon_udp_info *info)
{
    const int is_v4 = tn_pkt_is_v4(pkt);
    tenon_u32 ports = (tenon_u32)info->from.port << 16 | info->to.port;
    struct tn_udp_recent *slot;

    /* Of datagrams that were put together the first one's handler may have changed anything. */
    if (pkt->seg_kind != TENON_SEG_NONE)
        return;
    slot = dgram_slot(stack, pkt, &ports, is_v4);
    if (slot == NULL)
        return;
    slot->sock = sock;
    slot->change = stack->udp.change;
    slot->ports = ports;
    slot->src = pkt->src;
    slot->dst = pkt->dst;
    slot->netif = pkt->netif->index;
    slot->is_v4 = (tenon_u8)is_v4;
}

TENON_HOT int dgram_is_other_host(struct tenon *stack, const struct tn_pkt *pkt, int is_v4)
{
    return is_v4 ? tn_ip4_is_other_host(stack, pkt->netif, &pkt->src) :
                   tn_ip6_is_other_host(stack, pkt->netif, &pkt->src);
}

/* ports: as they stand in the header. */
TENON_HOT struct tenon_udp *dgram_find(struct tenon *stack, const struct tn_pkt *pkt, tenon_u32 ports, int is_v4)
{
    struct tn_udp_recent *slot = dgram_slot(stack, pkt, &ports, is_v4);

    if (slot == NULL || slot->change != stack->udp.change || slot->ports != ports || slot->is_v4 != is_v4 ||
        !dgram_same(&slot->dst, &pkt->dst, is_v4) || slot->netif != pkt->netif->index)
        return NULL;
    if (dgram_same(&slot->src, &pkt->src, is_v4))
        return slot->sock;
    if (stack->udp.connected.count != 0 || !dgram_is_other_host(stack, pkt, is_v4))
        return NULL;
    slot->src = pkt->src;
    return slot->sock;
}

/* ---- what has come -------------------------------------------------------------------------------------------- */

/* One of `bytes` of payload, which begins at `off`, from the first byte of the frame on; its header is at udp. */
struct dgram_in {
    const tenon_u8 *udp;
    tenon_u32 off, bytes;
};

/* RFC 1122 4.1.3.4: over IPv4 a checksum of 0 means none; RFC 8200 8.1: over IPv6 there must be one. */
TENON_HOT int dgram_csum_good(const struct tenon *stack, const struct tn_pkt *pkt, const struct dgram_in *in,
                              int is_v4)
{
    const tenon_u32 ends = dgram_ends_bytes(is_v4), len = TN_UDP_BYTES + in->bytes;
    struct tn_csum csum;

    if (get16be(in->udp + TN_UDP_CSUM_AT) == 0)
        return is_v4;
    if (pkt->csum != TENON_CSUM_NONE)
        return 1;
    tn_csum_init_hook(&csum, stack->conf.checksum);
    csum.sum = tn_csum_join(TN_PROTO_UDP, len);
    if (in->off + in->bytes <= pkt->spans->len)
        tn_csum_add(&csum, in->udp - ends, ends + len);
    else
        tn_csum_add_spans(&csum, pkt->spans, in->off - TN_UDP_BYTES - ends, ends + len);
    return csum.sum == 0xFFFFUL;
}

TENON_HOT void dgram_give(struct tenon *stack, struct tenon_udp *sock, const struct tn_pkt *pkt,
                          const struct dgram_in *in, const struct tn_gather *payload)
{
    struct tenon_udp_info info;

    info.from.ip = pkt->src;
    info.from.port = get16be(in->udp);
    info.from.netif = pkt->netif->index;
    info.to.ip = pkt->dst;
    info.to.port = get16be(in->udp + 2);
    info.to.netif = pkt->netif->index;
    info.bytes = in->bytes;
    info.ttl = pkt->ttl;
    info.tos = pkt->tos;
    tn_count(stack, TENON_STAT_UDP_RCVD);
    sock->events->received(sock, sock->app, &info, payload->spans, payload->n);
}

/* Payload that is cut. @return 0: into too many pieces */
TENON_APART int dgram_give_pieces(struct tenon *stack, struct tenon_udp *sock, const struct tn_pkt *pkt,
                                  const struct dgram_in *in)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    struct tn_gather payload;

    tn_gather_init(&payload, spans, TN_RX_SPANS_MAX);
    tn_spans_slice(&payload, pkt->spans, pkt->nspans, in->off, in->bytes);
    if (payload.bytes != in->bytes)
        return 0;
    dgram_give(stack, sock, pkt, in, &payload);
    return 1;
}

/* Mostly it is one piece: all that follows the headers, or another span. @return 0: nothing has happened */
TENON_HOT int dgram_give_payload(struct tenon *stack, struct tenon_udp *sock, const struct tn_pkt *pkt,
                                 const struct dgram_in *in)
{
    const struct tenon_span *span = pkt->spans;
    struct tn_gather payload;
    struct tenon_span piece;

    tn_gather_init(&payload, &piece, 1);
    payload.n = in->bytes > 0;
    if (in->off + in->bytes <= span->len) {
        piece.off = span->off + in->off;
    } else if (in->off == span->len && span[1].len >= in->bytes) {
        span++;
        piece.off = span->off;
    } else {
        return dgram_give_pieces(stack, sock, pkt, in);
    }
    piece.buf = span->buf;
    piece.len = in->bytes;
    dgram_give(stack, sock, pkt, in, &payload);
    return 1;
}

TENON_HOT int dgram_input(struct tenon *stack, const struct tn_pkt *pkt, const tenon_u8 *ip, tenon_u32 total,
                          int is_v4)
{
    const tenon_u32 header = dgram_ip_bytes(is_v4);
    struct tenon_udp *sock;
    struct dgram_in in;

    in.udp = ip + header;
    in.off = (tenon_u32)(in.udp - pkt->head) + TN_UDP_BYTES;
    if (pkt->seg_kind != TENON_SEG_NONE || total < header + TN_UDP_BYTES || in.off > pkt->head_len ||
        get16be(in.udp + 4) != total - header || stack->keeps == TENON_KEEP_NOTHING)
        return 0;
    in.bytes = total - header - TN_UDP_BYTES;
    sock = dgram_find(stack, pkt, get32be(in.udp), is_v4);
    if (sock == NULL || !dgram_csum_good(stack, pkt, &in, is_v4))
        return 0;
    return dgram_give_payload(stack, sock, pkt, &in);
}

TENON_INTERNAL int tn_udp_fast_input(struct tenon *stack, const struct tn_pkt *pkt, const tenon_u8 *ip,
                                     tenon_u32 total, int is_v4)
{
    return is_v4 ? dgram_input(stack, pkt, ip, total, 1) : dgram_input(stack, pkt, ip, total, 0);
}

/* ---- what leaves ---------------------------------------------------------------------------------------------- */

/* Along which way, and from which address. */
struct dgram_way {
    struct tn_path *path;
    const struct tn_netif *netif;
    const tenon_u8 *mac;              /* the neighbour's; NULL: there is no link header */
    const struct tenon_ip *src;
    int copies;                       /* payload lies behind the headers */
};

/* @return 0: ask udp_source() */
TENON_HOT int dgram_source(const struct tenon_udp *sock, const struct tn_udp_message *message,
                           struct dgram_way *way, int is_v4)
{
    const struct tenon_ip *from = message->from;

    way->src = from;
    if (from != NULL)
        return tenon_ip_is_v4(from) == is_v4 && tn_path_is_from(sock->stack, way->path, from);
    way->src = sock->source != NULL ? sock->source : &way->path->src;
    return sock->source_gen == sock->stack->link.gen && tenon_ip_is_v4(way->src) == is_v4;
}

/* Few bytes; and all that goes to a port that gathers nothing. */
TENON_INLINE int dgram_is_copied(const struct tenon *stack, const struct tn_udp_message *message,
                                 const struct tn_netif *netif)
{
    return tn_udp_is_joined(stack, message) || netif->conf.gather_max == 1;
}

/* What is copied and small is no more than any MTU (TN_PATH_MTU_MIN4). More is to fit, and what is not copied the port
 * has to gather; for one that gathers nothing all is copied. */
TENON_HOT int dgram_goes(const struct tenon *stack, const struct tn_udp_message *message, struct dgram_way *way,
                         int is_v4)
{
    const tenon_u32 bytes = dgram_ip_bytes(is_v4) + TN_UDP_BYTES + message->len;

    way->copies = dgram_is_copied(stack, message, way->netif);
    if (way->copies && message->len <= TN_JOINED_MAX)
        return 1;
    if (!TENON_WITH_PATH_MTU && !is_v4 && bytes > TN_PATH_MTU_MIN6)
        return 0;
    return bytes <= tn_netif_mtu(way->netif, &way->path->dst) &&
           (way->copies || message->nspans < tn_tx_gather_max(stack, way->netif));
}

/* To one host, which is known, with nothing to be found out about the path. Who has no port yet has no source
 * either. */
TENON_HOT int dgram_find_way(const struct tenon_udp *sock, const struct tn_udp_message *message,
                             struct dgram_way *way, int is_v4)
{
    const struct tenon_addr *to = message->to;

    way->path = sock->path;
    if (to != &sock->remote)
        way->path = tn_ip_scope(&to->ip, 1) == 0 ? tn_path_recent(sock->stack, &to->ip) : NULL;
    if (way->path == NULL || way->path->mtu != 0)
        return 0;
    way->netif = tn_link_ready(sock->stack, way->path, &way->mac);
    return way->netif != NULL && sock->where != TN_UDP_UNBOUND && dgram_source(sock, message, way, is_v4) &&
           dgram_goes(sock->stack, message, way, is_v4);
}

/* So that reports of a smaller MTU can be compared with it: as output_note_bytes() has it. */
TENON_HOT void dgram_note_bytes(struct tn_path *path, tenon_u32 bytes)
{
    if (TENON_WITH_PATH_MTU && bytes > path->sent)
        path->sent = (tenon_u16)bytes;
}

TENON_HOT void dgram_ip4(const struct tenon_udp *sock, const struct dgram_way *way, tenon_u8 *p, tenon_u32 bytes)
{
    struct tenon *stack = sock->stack;
    struct tn_ip4 ip;

    ip.src = way->src->w[TENON_IP4_WORD];
    ip.dst = way->path->dst.w[TENON_IP4_WORD];
    ip.total = (tenon_u16)bytes;
    ip.id = 0;
    ip.frag = 0;
    if (sock->dont_fragment) {
        ip.frag = TN_IP4_DF;    /* RFC 6864 4.1: no identification */
        dgram_note_bytes(way->path, bytes);
    } else {
        ip.id = tn_ip4_udp_id(stack, way->path, way->src->w[TENON_IP4_WORD]);
    }
    ip.header_bytes = TN_IP4_BYTES;
    ip.tos = sock->tos;
    ip.ttl = sock->ttl != 0 ? sock->ttl : stack->conf.hop_limit;
    ip.proto = TN_PROTO_UDP;
    (void)tn_ip4_build(p, &ip);
}

TENON_HOT void dgram_ip6(const struct tenon_udp *sock, const struct dgram_way *way, tenon_u8 *p, tenon_u32 bytes,
                         tenon_u32 ports)
{
    const struct tenon *stack = sock->stack;
    const unsigned limit = way->netif->hop_limit != 0 ? way->netif->hop_limit : stack->conf.hop_limit;

    dgram_note_bytes(way->path, bytes);
    put32be(p, 6UL << 28 | (tenon_u32)sock->tos << 20 | tn_ip6_udp_flow(stack, way->path, way->src, ports));
    put16be(p + 4, bytes - TN_IP6_BYTES);
    p[6] = TN_PROTO_UDP;
    p[7] = (tenon_u8)(sock->ttl != 0 ? sock->ttl : limit);
    put_ip6(p + 8, way->src);
    put_ip6(p + 24, &way->path->dst);
}

/* Whether it has a checksum, which IPv6 does not let be left out (RFC 8200 8.1). */
TENON_HOT int dgram_has_csum(const struct tenon_udp *sock, int is_v4)
{
    return !is_v4 || !sock->no_checksum;
}

TENON_HOT tenon_u16 dgram_pseudo(const struct dgram_way *way, tenon_u32 len, int is_v4)
{
    const struct tenon_ip *dst = &way->path->dst;

    if (is_v4)
        return (tenon_u16)tn_csum_fold(tn_csum_ends4(way->src->w[TENON_IP4_WORD], dst->w[TENON_IP4_WORD]) +
                                       TN_PROTO_UDP + len);
    return tn_csum_pseudo(way->src, dst, TN_PROTO_UDP, len);
}

/* The headers of IP and UDP; the second begins at p. */
TENON_HOT void dgram_headers(const struct tenon_udp *sock, const struct tn_udp_message *message,
                             const struct dgram_way *way, tenon_u8 *p, int is_v4)
{
    struct tn_udp header;

    header.sport = sock->local.port;
    header.dport = message->to->port;
    header.len = (tenon_u16)(TN_UDP_BYTES + message->len);
    header.csum = 0;
    if (dgram_has_csum(sock, is_v4))
        header.csum = dgram_pseudo(way, header.len, is_v4);
    if (is_v4)
        dgram_ip4(sock, way, p - TN_IP4_BYTES, (tenon_u32)TN_IP4_BYTES + header.len);
    else
        dgram_ip6(sock, way, p - TN_IP6_BYTES, (tenon_u32)TN_IP6_BYTES + header.len,
                  (tenon_u32)header.sport << 16 | header.dport);
    (void)tn_udp_build(p, &header);
}

/* Payload of few bytes is copied behind the headers ... */
TENON_HOT void dgram_put_copied(struct tenon *stack, const struct tn_udp_message *message,
                                const struct tn_netif *netif, struct tenon_buf *buf, struct tn_short *lay)
{
    tn_udp_copy(stack, buf->data + lay->off + lay->len, message);
    lay->len += message->len;
    tn_tx_short(stack, netif, buf, lay);
}

/* ... and more stays where it is. */
TENON_HOT void dgram_put_spans(struct tenon *stack, const struct tn_udp_message *message,
                               const struct tn_netif *netif, struct tenon_buf *buf, struct tn_long *lay)
{
    lay->spans = message->spans;
    lay->nspans = message->nspans;
    lay->payload = message->len;
    tn_tx_long(stack, netif, buf, lay);
}

TENON_HOT int dgram_send(const struct tenon_udp *sock, const struct tn_udp_message *message, int is_v4)
{
    struct tenon *stack = sock->stack;
    struct tenon_buf *buf;
    struct dgram_way way;
    struct tn_short *head;
    struct tn_long lay;
    tenon_u8 *l4;

    if (tn_tx_room(stack) == 0 || !dgram_find_way(sock, message, &way, is_v4))
        return 1;
    buf = tn_buf_get(stack);
    if (buf == NULL)
        return TENON_ENOMEM;
    if (way.copies && TENON_UNLIKELY(buf->size < TN_HEADROOM + TN_UDP_BYTES + message->len)) {
        tenon_buf_put(buf);
        return 1;
    }
    l4 = buf->data + TN_HEADROOM;
    head = &lay.head;
    head->l4 = dgram_ip_bytes(is_v4);
    if (way.mac != NULL) {
        head->l4 += TN_ETH_BYTES;
        (void)tn_eth_build(l4 - head->l4, way.mac, way.netif->conf.mac, is_v4 ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6);
    }
    dgram_headers(sock, message, &way, l4, is_v4);
    head->off = TN_HEADROOM - head->l4;
    head->len = head->headers = head->l4 + TN_UDP_BYTES;
    head->csum_offset = dgram_has_csum(sock, is_v4) ? (unsigned)TN_UDP_CSUM_AT : 0U;
    if (TENON_UNLIKELY(way.copies && !tn_udp_is_joined(stack, message)))
        tn_count(stack, TENON_STAT_TX_LINEARISED);
    if (way.copies)
        dgram_put_copied(stack, message, way.netif, buf, head);
    else
        dgram_put_spans(stack, message, way.netif, buf, &lay);
    tn_count(stack, TENON_STAT_UDP_SENT);
    return TENON_OK;
}

TENON_INTERNAL_HOT int tn_udp_fast_send(const struct tenon_udp *sock, const struct tn_udp_message *message)
{
    return tenon_ip_is_v4(&message->to->ip) ? dgram_send(sock, message, 1) : dgram_send(sock, message, 0);
}
