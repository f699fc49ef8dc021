/* SPDX-License-Identifier: MIT */
/* UDP input: whose a datagram is, and what an ICMP error about one means (RFC 768, RFC 1122 4.1.3). */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "udp/udp_internal.h"
#include "wire/wire.h"

/* A datagram on its way to its sockets. */
struct udp_arrival {
    const struct tn_pkt *pkt;
    struct tenon_udp_info info;
    tenon_u32 off;                /* of its payload, from the first byte of pkt->spans[0] */
};

static void udp_give(struct tenon *stack, struct tenon_udp *sock, const struct udp_arrival *in)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    struct tn_gather to;

    tn_gather_init(&to, spans, TN_RX_SPANS_MAX);
    tn_spans_slice(&to, in->pkt->spans, in->pkt->nspans, in->off, in->info.bytes);
    if (to.bytes != in->info.bytes) {
        tn_count(stack, TENON_STAT_NO_BUFFER);
        return;
    }
    tn_count(stack, TENON_STAT_UDP_RCVD);
    sock->events->received(sock, sock->app, &in->info, spans, to.n);
}

/* RFC 8085 5: most specific first. */
static struct tenon_udp *udp_find(const struct tenon *stack, const struct udp_arrival *in)
{
    const struct tenon_udp_info *info = &in->info;
    struct tenon_udp *sock = tn_udp_find_connected(stack, &info->to, &info->from, info->from.netif);

    return sock != NULL ? sock : tn_udp_find_bound(stack, &info->to, info->to.netif);
}

/* A bound socket that hears this group or broadcast address and has not been given this datagram yet. */
static struct tenon_udp *udp_find_next(const struct tenon *stack, const struct udp_arrival *in)
{
    const struct tenon_addr *to = &in->info.to;
    const tenon_u32 hash = tn_udp_hash_port(stack, to->port);
    struct tn_hnode *node = tn_htab_chain(&stack->udp.bound, hash);

    for (; node != NULL; node = node->next) {
        struct tenon_udp *sock = TENON_CONTAINER(node, struct tenon_udp, node);

        if (tn_hnode_has(node, hash) && sock->where == TN_UDP_BOUND && sock->local.port == to->port &&
            sock->heard != stack->udp.serial &&
            (tenon_ip_is_any(&sock->local.ip) || tenon_ip_equal(&sock->local.ip, &to->ip)) &&
            tn_udp_scope_fits(&sock->local, to->netif))
            return sock;
    }
    return NULL;
}

/* To all who hear it. A handler may open and close any of them: the search begins anew after each. */
static void udp_give_many(struct tenon *stack, const struct udp_arrival *in)
{
    const struct tenon_udp_info *info = &in->info;
    struct tenon_udp *sock = tn_udp_find_connected(stack, &info->to, &info->from, info->from.netif);
    int heard = 0;

    stack->udp.serial++;
    if (sock == NULL)
        sock = udp_find_next(stack, in);
    while (sock != NULL) {
        heard = 1;
        sock->heard = stack->udp.serial;
        udp_give(stack, sock, in);
        sock = udp_find_next(stack, in);
    }
    if (!heard)
        tn_count(stack, TENON_STAT_UDP_NO_PORT);
}

/* @return 0: nobody has this port */
static int udp_give_one(struct tenon *stack, const struct udp_arrival *in)
{
    struct tenon_udp *sock = udp_find(stack, in);

    if (!TENON_SMALL && sock != NULL)
        tn_udp_fast_remember(stack, sock, in->pkt, &in->info);
    if (sock != NULL)
        udp_give(stack, sock, in);
    return sock != NULL;
}

static void udp_arrive(struct tenon *stack, struct tn_pkt *pkt, const struct tn_udp *header)
{
    const tenon_u32 total = (tenon_u32)header->len - TN_UDP_BYTES;
    struct udp_arrival in;
    tenon_u32 at = 0, step = total;

    in.pkt = pkt;
    in.info.from.ip = pkt->src;
    in.info.from.port = header->sport;
    in.info.to.ip = pkt->dst;
    in.info.to.port = header->dport;
    in.info.from.netif = in.info.to.netif = pkt->netif->index;
    in.info.ttl = pkt->ttl;
    in.info.tos = pkt->tos;
    /* Datagrams that the port has put together: each is one of its own. */
    if (TENON_WITH_SPEED && pkt->seg_kind == TENON_SEG_UDP && pkt->seg_bytes != 0)
        step = pkt->seg_bytes;
    do {
        in.off = pkt->off + TN_UDP_BYTES + at;
        in.info.bytes = tn_min(step, total - at);
        if (pkt->dst_cast != TN_CAST_UNICAST)
            udp_give_many(stack, &in);
        else if (!udp_give_one(stack, &in)) {
            tn_count(stack, TENON_STAT_UDP_NO_PORT);
            tn_icmp_error(stack, pkt, tn_pkt_is_v4(pkt) ? TN_WHY4_PORT : TN_WHY6_PORT, 0);
            return;
        }
        at += in.info.bytes;
    } while (TENON_WITH_SPEED && at < total);
    /* Who has heard it may have had no buffer to keep it in: a fragment a minute is not to keep the next away, too. */
    if (TENON_WITH_FRAGMENTS && stack->keeps == TENON_KEEP_NOTHING)
        tn_reass_give_way(stack);
}

/* RFC 1122 4.1.3.4: over IPv4 a checksum of 0 means none; RFC 8200 8.1: over IPv6 there must be one. */
static int udp_csum_good(const struct tenon *stack, const struct tn_pkt *pkt, const struct tn_udp *header)
{
    if (header->csum == 0)
        return tn_pkt_is_v4(pkt);
    return tn_pkt_csum_good(stack, pkt);
}

TENON_INTERNAL void tn_udp_input(struct tenon *stack, struct tn_pkt *pkt)
{
    struct tn_udp header;

    if (tn_udp_parse(&header, pkt->head, tn_pkt_head_len(pkt), pkt->len) != 0) {
        tn_count(stack, TENON_STAT_UDP_BAD_LENGTH);
        return;
    }
    /* Bytes behind the datagram belong to nobody; for an error about it they are not there either. */
    pkt->l3_len -= pkt->len - header.len;
    tn_pkt_trim(pkt, header.len);
    if (!udp_csum_good(stack, pkt, &header)) {
        tn_count(stack, TENON_STAT_UDP_BAD_CSUM);
        return;
    }
    if (header.dport == 0) {
        tn_count(stack, TENON_STAT_UDP_NO_PORT);
        return;
    }
    udp_arrive(stack, pkt, &header);
}

/* RFC 1122 4.1.3.3: errors are the application's business. "Too big" changes the path MTU first, and is
 * told to who asked not to be fragmented. */
TENON_INTERNAL void tn_udp_error(struct tenon *stack, const struct tn_err *err)
{
    const struct tenon_addr *local = &err->local, *remote = &err->remote;
    struct tenon_udp *sock;

    if (!TENON_WITH_UDP)
        return;
    sock = tn_udp_find_connected(stack, local, remote, local->netif);
    if (sock == NULL)
        sock = tn_udp_find_bound(stack, local, local->netif);
    if (sock == NULL) {
        tn_count(stack, TENON_STAT_ICMP_ERROR_STRAY);
        return;
    }
    if (tn_err_is_too_big(err) && !tn_pmtu_report(stack, err))
        return;
    tn_count(stack, TENON_STAT_ICMP_ERROR_RCVD);
    if (tn_err_is_too_big(err) && !sock->dont_fragment)
        return;
    if (sock->events->error != NULL)
        sock->events->error(sock, sock->app, remote, err->error);
}
