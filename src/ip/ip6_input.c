/* SPDX-License-Identifier: MIT */
/* IPv6 input (RFC 8200): addresses, then the chain of extension headers down to the transport. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/wire.h"

/* The walk along the chain. pkt is at the present header, whose kind is pkt->proto. */
struct ip6_walk {
    tenon_u32 nh_at;      /* from pkt->l3: where the kind of the present header is named */
    unsigned headers;     /* passed so far */
    tenon_u8 odd;         /* 1: a source that only neighbour discovery may have */
};

static void ip6_chain(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk);

/* On the wire neither ::1 nor ::ffff:a.b.c.d may be seen; the second would pass for IPv4 further up. And :: only as the
 * source of who has no address yet. */
static int ip6_not_for_wire(const struct tenon_ip *ip)
{
    return tn_ip6_is_nobody(ip) || tenon_ip_is_v4(ip) || tn_ip_is_not_for_wire(ip);
}

/* What the sender is allowed to be. :: and a tentative address belong to duplicate address detection:
 * walk->odd then. */
static int ip6_source_good(struct tenon *stack, const struct tn_pkt *pkt, struct ip6_walk *walk)
{
    if (tenon_ip_is_any(&pkt->src)) {
        walk->odd = 1;
        return 1;
    }
    if (tn_ip_is_multicast(&pkt->src) || ip6_not_for_wire(&pkt->src))
        return 0;
    switch (tn_ip_classify(stack, pkt->netif, &pkt->src)) {
    case TN_DST_OTHER:
        return 1;
    case TN_DST_TENTATIVE:
        walk->odd = 1;
        return 1;
    default:
        return 0;
    }
}

/* @return 1 if the destination is us; else counted */
static int ip6_destination(struct tenon *stack, struct tn_pkt *pkt)
{
    switch (tn_ip_classify(stack, pkt->netif, &pkt->dst)) {
    case TN_DST_OURS:
        return 1;
    case TN_DST_MULTICAST:
    case TN_DST_BROADCAST:
        pkt->dst_cast = TN_CAST_MULTICAST;
        return 1;
    case TN_DST_OTHER:
        if (!pkt->netif->ip6 || !tn_pkt_is_unicast(pkt) || tn_ip_is_multicast(&pkt->dst) ||
            !tn_tcp_wants_foreign(stack))
            break;
        pkt->foreign = 1;
        return 1;
    case TN_DST_TENTATIVE:
        break;
    }
    tn_count(stack, TENON_STAT_IP_NOT_OURS);
    return 0;
}

static void ip6_bad_ext(struct tenon *stack)
{
    tn_count(stack, TENON_STAT_IP6_BAD_EXT);
}

/* Leave an extension header of this many bytes behind. */
static void ip6_pass(struct tn_pkt *pkt, struct ip6_walk *walk, tenon_u32 bytes)
{
    walk->nh_at = pkt->l3_len - pkt->len;
    pkt->proto = pkt->head[0];
    tn_pkt_pull(pkt, bytes);
}

/* Bytes of the extension header at pkt, from its length field; 0: it does not lie within what is there. */
static tenon_u32 ip6_ext_bytes(const struct tn_pkt *pkt)
{
    tenon_u32 bytes;

    if (tn_pkt_head_len(pkt) < 8)
        return 0;
    bytes = ((tenon_u32)pkt->head[1] + 1) * 8;
    return bytes <= tn_pkt_head_len(pkt) ? bytes : 0;
}

/* Hop-by-hop or destination options. @return 1 to go on */
static int ip6_options(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk)
{
    tenon_u32 where = 0;
    const enum tn_opt6_verdict verdict = tn_opt6_check(pkt->head, tn_pkt_head_len(pkt), &where);

    if (verdict == TN_OPT6_OK) {
        ip6_pass(pkt, walk, ((tenon_u32)pkt->head[1] + 1) * 8);
        return 1;
    }
    ip6_bad_ext(stack);
    where += pkt->l3_len - pkt->len;
    if (verdict == TN_OPT6_ERROR ||
        (verdict == TN_OPT6_ERROR_UNICAST && tn_pkt_is_unicast(pkt) && pkt->dst_cast == TN_CAST_UNICAST))
        tn_icmp_error(stack, pkt, TN_WHY6_OPTION, where);
    return 0;
}

/* RFC 8200 4.4: no kind is known here, type 0 (RFC 5095) included. One that is used up is passed by. */
static int ip6_routing(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk)
{
    const tenon_u32 bytes = ip6_ext_bytes(pkt);

    if (bytes != 0 && pkt->head[3] == 0) {
        ip6_pass(pkt, walk, bytes);
        return 1;
    }
    ip6_bad_ext(stack);
    if (bytes != 0)
        tn_icmp_error(stack, pkt, TN_WHY6_FIELD, pkt->l3_len - pkt->len + 2);
    return 0;
}

/* RFC 7112 5: the first fragment holds all headers, the transport's included. The sender is told. */
static int ip6_first_fragment_good(struct tenon *stack, const struct tn_pkt *pkt, unsigned next)
{
    struct tn_l4 l4;

    if (tn_ip6_find_l4_from(&l4, pkt->head, tn_pkt_head_len(pkt), next) == 0
        && tn_l4_bytes_min(l4.proto) <= tn_pkt_head_len(pkt) - l4.off)
        return 1;
    tn_count(stack, TENON_STAT_FRAG_BAD);
    if (tn_pkt_head_len(pkt) == pkt->len)
        tn_icmp_error(stack, pkt, TN_WHY6_CHAIN, 0);
    return 0;
}

/* A fragment of a larger packet. */
static void ip6_reassemble(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk, const struct tn_frag *frag)
{
    struct tn_reass_done done;

    if (frag->off == 0 && !ip6_first_fragment_good(stack, pkt, frag->next))
        return;
    if (!tn_reass_add(stack, pkt, frag, &done))
        return;
    walk->nh_at = done.nh_at;
    walk->headers++;
    ip6_chain(stack, pkt, walk);
    tn_reass_release(stack, &done);
}

/* RFC 8200 4.5. @return 1 to go on: an atomic fragment, which is alone (RFC 6946) */
static int ip6_fragment(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk)
{
    struct tn_frag6 header;
    struct tn_frag frag;
    const tenon_u32 at = pkt->l3_len - pkt->len, behind = pkt->len - TN_FRAG6_BYTES;

    /* One fragment header per packet: fragments within fragments are only sent to break things. */
    if (pkt->fragmented || tn_frag6_parse(&header, pkt->head, tn_pkt_head_len(pkt)) != 0) {
        ip6_bad_ext(stack);
        return 0;
    }
    pkt->fragmented = 1;
    if (header.off == 0 && !header.more) {
        ip6_pass(pkt, walk, TN_FRAG6_BYTES);
        return 1;
    }
    if (!TENON_WITH_FRAGMENTS) {
        tn_count(stack, TENON_STAT_FRAG_LIMIT);
        return 0;
    }
    if (header.more && (behind & 7) != 0) {
        tn_count(stack, TENON_STAT_FRAG_BAD);
        tn_icmp_error(stack, pkt, TN_WHY6_FIELD, 4);
        return 0;
    }
    if (at - TN_IP6_BYTES + header.off + behind > 65535UL) {
        tn_count(stack, TENON_STAT_FRAG_BAD);
        tn_icmp_error(stack, pkt, TN_WHY6_FIELD, at + 2);
        return 0;
    }
    frag.nh_at = walk->nh_at;
    frag.id = header.id;
    frag.off = header.off;
    frag.more = header.more;
    frag.next = header.next;
    ip6_pass(pkt, walk, TN_FRAG6_BYTES);
    ip6_reassemble(stack, pkt, walk, &frag);
    return 0;
}

/* The end of the chain. */
static void ip6_upper(struct tenon *stack, struct tn_pkt *pkt, const struct ip6_walk *walk)
{
    if (pkt->proto == TN_PROTO_NONE)
        return;
    if (pkt->foreign && pkt->proto != TN_PROTO_TCP && pkt->proto != TN_PROTO_ICMP6) {
        tn_count(stack, TENON_STAT_IP_NOT_OURS);
        return;
    }
    if (pkt->proto == TN_PROTO_ICMP6) {
        tn_ip_deliver(stack, pkt);
        return;
    }
    /* As in IPv4: no transport hears what came to one of us in a frame for many. */
    if (walk->odd || (!tn_pkt_is_unicast(pkt) && pkt->dst_cast == TN_CAST_UNICAST)) {
        tn_count(stack, TENON_STAT_IP6_MARTIAN);
        return;
    }
    if (pkt->proto == TN_PROTO_TCP || (TENON_WITH_UDP && pkt->proto == TN_PROTO_UDP)) {
        tn_ip_deliver(stack, pkt);
        return;
    }
    tn_count(stack, TENON_STAT_IP_PROTO_UNKNOWN);
    tn_icmp_error(stack, pkt, TN_WHY6_NEXT, walk->nh_at);
}

/* One extension header. @return 1 to go on, 0: dropped, or handed on */
static int ip6_step(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk)
{
    switch (pkt->proto) {
    case TN_PROTO_HOPOPT:
        if (walk->headers == 0)
            return ip6_options(stack, pkt, walk);
        /* RFC 8200 4: anywhere else it is a header that we do not know. */
        ip6_bad_ext(stack);
        tn_icmp_error(stack, pkt, TN_WHY6_NEXT, walk->nh_at);
        return 0;
    case TN_PROTO_DSTOPTS:
        return ip6_options(stack, pkt, walk);
    case TN_PROTO_ROUTING:
        return ip6_routing(stack, pkt, walk);
    case TN_PROTO_FRAGMENT:
        return ip6_fragment(stack, pkt, walk);
    default:
        ip6_upper(stack, pkt, walk);
        return 0;
    }
}

static void ip6_chain(struct tenon *stack, struct tn_pkt *pkt, struct ip6_walk *walk)
{
    while (ip6_step(stack, pkt, walk)) {
        if (++walk->headers > TN_IP6_HEADERS_MAX) {
            ip6_bad_ext(stack);
            return;
        }
    }
}

static int ip6_has_extensions(unsigned next)
{
    return next != TN_PROTO_TCP && next != TN_PROTO_UDP && next != TN_PROTO_ICMP6;
}

/* The header is brought together, and as much of the rest as can be had where it may be headers. */
TENON_INTERNAL void tn_ip6_input(struct tenon *stack, struct tn_pkt *pkt)
{
    const int all = ip6_has_extensions(tn_pkt_byte(pkt, 6));
    const tenon_u32 headers = all ? (tenon_u32)TN_IP_PULL_BYTES : (tenon_u32)TN_IP6_BYTES;
    struct ip6_walk walk;
    struct tn_ip6 ip;
    tenon_u32 total;

    if (tn_pkt_pullup(stack, pkt, tn_min(pkt->len, headers)) != TENON_OK)
        return;
    if (tn_ip6_parse(&ip, pkt->head, tn_pkt_head_len(pkt), pkt->len) != 0) {
        tn_count(stack, TENON_STAT_IP6_BAD_HEADER);
        return;
    }
    total = TN_IP6_BYTES + ip.payload + (TENON_WITH_SPEED ? pkt->merged : 0);
    tn_pkt_trim(pkt, total);
    read_ip6(&pkt->src, pkt->head + 8);
    read_ip6(&pkt->dst, pkt->head + 24);
    pkt->proto = ip.next;
    pkt->ttl = ip.hop_limit;
    pkt->tos = ip.tos;
    pkt->l3 = pkt->head;
    pkt->l3_len = total;
    walk.nh_at = 6;
    walk.headers = 0;
    walk.odd = 0;
    if (ip6_not_for_wire(&pkt->dst) || !ip6_source_good(stack, pkt, &walk)) {
        tn_count(stack, TENON_STAT_IP6_MARTIAN);
        return;
    }
    if (!ip6_destination(stack, pkt))
        return;
    tn_pkt_pull(pkt, TN_IP6_BYTES);
    ip6_chain(stack, pkt, &walk);
}

TENON_INTERNAL int tn_ip6_is_other_host(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *src)
{
    return !tn_ip_is_multicast(src) && !ip6_not_for_wire(src) &&
           tn_ip_classify(stack, netif, src) == TN_DST_OTHER;
}

TENON_INTERNAL int tn_ip6_is_for_us(struct tenon *stack, const struct tn_pkt *pkt)
{
    return !ip6_not_for_wire(&pkt->dst) && tn_ip_classify(stack, pkt->netif, &pkt->dst) == TN_DST_OURS &&
           tn_ip6_is_other_host(stack, pkt->netif, &pkt->src);
}
