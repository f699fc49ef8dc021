/* SPDX-License-Identifier: MIT */
/* The usual datagram in a straight line, as tcp_fast.c has it for segments: over IPv4, whole, between ends
 * that were found layer by layer not long ago, and short enough to be copied behind its headers.
 *
 * Nothing happens here that udp_input.c, udp_output.c and the layers below would not do. Whoever finds
 * something unusual returns before anything is changed, and leaves it to them. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "udp/udp_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum {
    DGRAM_SLOTS_MIN = 8,
    DGRAM_SLOT_SHIFT = 17    /* the upper half of a product is the better one */
};

#define DGRAM_SLOTS_MAX 32768UL

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

/* Nothing moves to the larger table: it fills up with who is heard of. Without memory the old one, or none, will do. */
TENON_INTERNAL void tn_udp_fast_grow(struct tenon *stack)
{
    struct tn_udp_state *udp = &stack->udp;
    const tenon_u32 slots = udp->recent == NULL ? (tenon_u32)DGRAM_SLOTS_MIN : 2 * (udp->recent_mask + 1);
    const size_t bytes = (size_t)slots * sizeof(udp->recent[0]);
    struct tn_udp_recent *table;

    if (slots > DGRAM_SLOTS_MAX || bytes / sizeof(udp->recent[0]) != slots ||
        (udp->recent != NULL && udp->count <= slots / 4))
        return;
    table = (struct tn_udp_recent *)tn_mem_get(stack, bytes);
    if (table == NULL)
        return;
    memset(table, 0, bytes);
    dgram_free(stack);
    udp->recent = table;
    udp->recent_mask = slots - 1;
}

TENON_INTERNAL void tn_udp_fast_fini(struct tenon *stack)
{
    dgram_free(stack);
    stack->udp.recent = NULL;
}

/* What a datagram is found by, and where. While no socket is connected, who sends it does not matter to whose
 * it is: `src` is then who was heard last. The slot is a guess, and not keyed: who makes ours miss on purpose
 * gains nothing but the keyed hash. NULL: nothing is remembered. */
static struct tn_udp_recent *dgram_slot(struct tenon *stack, struct tn_udp_recent *key)
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
        key->ports &= 0xFFFFUL;
    else
        mix = key->src ^ key->ports >> 16;
    key->change = udp->change;
    mix = (mix ^ key->ports) * 0x9E3779B1UL;
    return &udp->recent[mix >> DGRAM_SLOT_SHIFT & udp->recent_mask];
}

TENON_INTERNAL void tn_udp_fast_remember(struct tenon *stack, struct tenon_udp *sock, const struct tn_pkt *pkt,
                                         const struct tenon_udp_info *info)
{
    struct tn_udp_recent key, *slot;

    /* Of datagrams that were put together the first one's handler may have changed anything. */
    if (!tn_pkt_is_v4(pkt) || pkt->seg_kind != TENON_SEG_NONE)
        return;
    key.sock = sock;
    key.src = pkt->src.w[3];
    key.dst = pkt->dst.w[3];
    key.ports = (tenon_u32)info->from.port << 16 | info->to.port;
    key.netif = pkt->netif->index;
    slot = dgram_slot(stack, &key);
    if (slot != NULL)
        *slot = key;
}

/* ports: as they stand in the header. */
static struct tenon_udp *dgram_find(struct tenon *stack, const struct tn_pkt *pkt, tenon_u32 ports)
{
    struct tn_udp_recent key, *slot;

    key.src = pkt->src.w[3];
    key.dst = pkt->dst.w[3];
    key.ports = ports;
    slot = dgram_slot(stack, &key);
    if (slot == NULL || slot->change != key.change || slot->ports != key.ports || slot->dst != key.dst ||
        slot->netif != pkt->netif->index)
        return NULL;
    if (slot->src == key.src)
        return slot->sock;
    if (stack->udp.connected.count != 0 || !tn_ip4_is_other_host(stack, pkt->netif, &pkt->src))
        return NULL;
    slot->src = key.src;
    return slot->sock;
}

/* ---- what has come -------------------------------------------------------------------------------------------- */

/* RFC 1122 4.1.3.4: a checksum of 0 means none. */
static int dgram_csum_good(const struct tenon *stack, const struct tn_pkt *pkt, const tenon_u8 *ip, tenon_u32 total)
{
    struct tn_csum csum;

    if (pkt->csum != TENON_CSUM_NONE || get16be(ip + TN_IP4_BYTES + TN_UDP_CSUM_AT) == 0)
        return 1;
    tn_csum_init_hook(&csum, stack->conf.checksum);
    csum.sum = tn_csum_join(TN_PROTO_UDP, total - TN_IP4_BYTES);
    tn_csum_add(&csum, ip + 12, total - 12);    /* the addresses stand right before the header */
    return csum.sum == 0xFFFFUL;
}

static void dgram_give(struct tenon_udp *sock, const struct tn_pkt *pkt, const tenon_u8 *ip, tenon_u32 bytes)
{
    const struct tenon_span *span = pkt->spans;
    struct tenon_udp_info info;
    struct tenon_span payload;

    info.from.ip = pkt->src;
    info.from.port = get16be(ip + TN_IP4_BYTES);
    info.from.netif = pkt->netif->index;
    info.to.ip = pkt->dst;
    info.to.port = get16be(ip + TN_IP4_BYTES + 2);
    info.to.netif = pkt->netif->index;
    info.bytes = bytes;
    info.ttl = ip[8];
    info.tos = ip[1];
    payload.buf = span->buf;
    payload.off = (tenon_u32)(ip + TN_IP4_BYTES + TN_UDP_BYTES - span->buf->data);
    payload.len = bytes;
    sock->events->received(sock, sock->app, &info, &payload, bytes > 0);
}

TENON_INTERNAL int tn_udp_fast_input(struct tenon *stack, const struct tn_pkt *pkt, const tenon_u8 *ip,
                                     tenon_u32 total)
{
    struct tenon_udp *sock;

    if (pkt->nspans != 1 || pkt->seg_kind != TENON_SEG_NONE || total < TN_IP4_BYTES + TN_UDP_BYTES ||
        get16be(ip + TN_IP4_BYTES + 4) != total - TN_IP4_BYTES)
        return 0;
    sock = dgram_find(stack, pkt, get32be(ip + TN_IP4_BYTES));
    if (sock == NULL || !dgram_csum_good(stack, pkt, ip, total))
        return 0;
    tn_count(stack, TENON_STAT_UDP_RCVD);
    dgram_give(sock, pkt, ip, total - TN_IP4_BYTES - TN_UDP_BYTES);
    return 1;
}

/* ---- what leaves ---------------------------------------------------------------------------------------------- */

/* Along which way, and from which address. */
struct dgram_way {
    struct tn_path *path;
    const struct tn_netif *netif;
    const tenon_u8 *mac;              /* the neighbour's; NULL: there is no link header */
    tenon_u32 src;
};

/* @return 0: ask udp_source() */
static int dgram_source(const struct tenon_udp *sock, const struct tn_udp_message *message, struct dgram_way *way)
{
    const struct tenon_ip *from = message->from;

    if (from != NULL) {
        way->src = from->w[3];
        return tenon_ip_is_v4(from) && tn_ip_classify(sock->stack, way->netif, from) == TN_DST_OURS;
    }
    way->src = sock->source4 != 0 ? sock->source4 : way->path->src.w[3];
    return sock->source_gen == sock->stack->link.gen;
}

/* To one host, which is known, with nothing to be found out about the path. Who has no port yet has no source
 * either. */
static int dgram_find_way(const struct tenon_udp *sock, const struct tn_udp_message *message, struct dgram_way *way)
{
    const struct tenon_addr *to = message->to;

    way->path = sock->path;
    if (to != &sock->remote)
        way->path = tn_ip_scope(&to->ip, 1) == 0 ? tn_path_recent(sock->stack, &to->ip) : NULL;
    if (way->path == NULL || way->path->mtu != 0 || !tenon_ip_is_v4(&way->path->dst))
        return 0;
    way->netif = tn_link_ready(sock->stack, way->path, &way->mac);
    return way->netif != NULL && sock->where != TN_UDP_UNBOUND && dgram_source(sock, message, way);
}

static void dgram_ip4(const struct tenon_udp *sock, const struct dgram_way *way, tenon_u8 *p, tenon_u32 bytes)
{
    struct tenon *stack = sock->stack;
    struct tn_ip4 ip;

    ip.src = way->src;
    ip.dst = way->path->dst.w[3];
    ip.total = (tenon_u16)bytes;
    ip.id = 0;
    ip.frag = 0;
    if (sock->dont_fragment) {
        ip.frag = TN_IP4_DF;    /* RFC 6864 4.1: no identification */
        if (bytes > way->path->sent)
            way->path->sent = (tenon_u16)bytes;
    } else {
        ip.id = tn_ip4_udp_id(stack, way->path, way->src);
    }
    ip.header_bytes = TN_IP4_BYTES;
    ip.tos = sock->tos;
    ip.ttl = sock->ttl != 0 ? sock->ttl : stack->conf.hop_limit;
    ip.proto = TN_PROTO_UDP;
    (void)tn_ip4_build(p, &ip);
}

/* p: where it begins, right behind the IP header. */
static void dgram_udp(const struct tenon_udp *sock, const struct tn_udp_message *message, const struct dgram_way *way,
                      tenon_u8 *p)
{
    struct tn_udp header;

    header.sport = sock->local.port;
    header.dport = message->to->port;
    header.len = (tenon_u16)(TN_UDP_BYTES + message->len);
    header.csum = 0;
    if (!sock->no_checksum)
        header.csum = (tenon_u16)tn_csum_fold(tn_csum_ends4(way->src, way->path->dst.w[3]) + TN_PROTO_UDP + header.len);
    (void)tn_udp_build(p, &header);
    tn_udp_copy(sock->stack, p + TN_UDP_BYTES, message);
}

/* So few bytes are no more than any MTU (TN_PATH_MTU_MIN4). */
TENON_INTERNAL int tn_udp_fast_send(const struct tenon_udp *sock, const struct tn_udp_message *message)
{
    const tenon_u32 bytes = TN_IP4_BYTES + TN_UDP_BYTES + message->len;
    struct tenon *stack = sock->stack;
    struct tenon_buf *buf;
    struct dgram_way way;
    struct tn_short lay;
    tenon_u8 *l4;

    if (message->len > TN_UDP_JOINED_MAX || tn_tx_room(stack) == 0 || !dgram_find_way(sock, message, &way))
        return 1;
    buf = tn_buf_get(stack);
    if (buf == NULL)
        return TENON_ENOMEM;
    l4 = buf->data + TN_HEADROOM;
    lay.l4 = TN_IP4_BYTES;
    if (way.mac != NULL) {
        lay.l4 = TN_ETH_BYTES + TN_IP4_BYTES;
        (void)tn_eth_build(l4 - lay.l4, way.mac, way.netif->conf.mac, TN_ETHERTYPE_IP4);
    }
    dgram_ip4(sock, &way, l4 - TN_IP4_BYTES, bytes);
    dgram_udp(sock, message, &way, l4);
    lay.off = TN_HEADROOM - lay.l4;
    lay.len = lay.l4 + TN_UDP_BYTES + message->len;
    lay.headers = lay.l4 + TN_UDP_BYTES;
    lay.csum_offset = sock->no_checksum ? 0U : (unsigned)TN_UDP_CSUM_AT;
    tn_tx_short(stack, way.netif, buf, &lay);
    tn_count(stack, TENON_STAT_UDP_SENT);
    return TENON_OK;
}
