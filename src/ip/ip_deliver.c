/* SPDX-License-Identifier: MIT */
/* From IP to the transport: the same for both versions once the headers are behind us. */
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

TENON_INTERNAL enum tn_dst tn_ip_classify(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip)
{
    const tenon_u32 mix = ip->w[TENON_IP4_WORD] ^ (TENON_WITH_IPV6 ? ip->w[1] : 0);
    struct tn_ip_known *known = &stack->ip.known[(mix ^ mix >> 8) % TN_IP_KNOWN];

    if (!TENON_WITH_SPEED)
        return tn_addr_classify(stack, netif, ip);
    if (known->netif == netif->index && known->gen == stack->link.gen && tenon_ip_equal(&known->ip, ip))
        return (enum tn_dst)known->what;
    /* Groups are joined and left without that anything else changes. */
    if (tn_ip_is_multicast(ip))
        return tn_addr_classify(stack, netif, ip);
    known->ip = *ip;
    known->gen = stack->link.gen;
    known->netif = netif->index;
    known->what = (tenon_u8)tn_addr_classify(stack, netif, ip);
    return (enum tn_dst)known->what;
}

TENON_INTERNAL unsigned tn_l4_bytes_min(unsigned proto)
{
    switch (proto) {
    case TN_PROTO_TCP:
        return TN_TCP_BYTES;
    case TN_PROTO_UDP:
        return TN_UDP_BYTES;
    case TN_PROTO_ICMP:
    case TN_PROTO_ICMP6:
    case TN_PROTO_IGMP:
        return TN_ICMP_BYTES;
    default:
        return 0;
    }
}

TENON_INTERNAL unsigned tn_ip_scope(const struct tenon_ip *ip, unsigned netif)
{
    if (TENON_WITH_NETIFS && (tn_ip_is_link_local(ip) || tn_ip_is_multicast(ip) ||
                              (tenon_ip_is_v4(ip) && ip->w[TENON_IP4_WORD] == 0xFFFFFFFFUL)))
        return netif;
    return 0;
}

/* Bytes that have to be contiguous for the transport to read its header. */
static tenon_u32 deliver_head_bytes(const struct tn_pkt *pkt)
{
    if (pkt->proto == TN_PROTO_UDP)
        return TN_UDP_BYTES;
    if (pkt->proto != TN_PROTO_TCP)
        return TN_ICMP_PULL_BYTES;
    return tn_max(TN_TCP_BYTES, (tn_pkt_byte(pkt, 12) >> 4) * 4);
}

static void deliver_igmp(struct tenon *stack, struct tn_pkt *pkt)
{
    struct tn_csum csum;

    tn_csum_init(&csum);
    tn_csum_add_spans(&csum, pkt->spans, pkt->off, pkt->len);
    if (pkt->len < TN_ICMP_BYTES || csum.sum != 0xFFFFUL)
        tn_count(stack, TENON_STAT_IGMP_BAD);
    else
        tn_igmp_input(stack, pkt);
}

/* RFC 1122 3.2.2.1: a protocol that nobody speaks. IPv6 has told its sender already. */
static void deliver_unknown(struct tenon *stack, const struct tn_pkt *pkt)
{
    tn_count(stack, TENON_STAT_IP_PROTO_UNKNOWN);
    if (tn_pkt_is_v4(pkt))
        tn_icmp_error(stack, pkt, TN_WHY4_PROTOCOL, 0);
}

TENON_INTERNAL TENON_ONCE_IF_SMALL void tn_ip_deliver(struct tenon *stack, struct tn_pkt *pkt)
{
    if (!TN_PULLS_ONCE && tn_pkt_pullup(stack, pkt, tn_min(pkt->len, deliver_head_bytes(pkt))) != TENON_OK)
        return;
    switch (pkt->proto) {
    case TN_PROTO_TCP:
        tn_tcp_input(stack, pkt);
        return;
    case TN_PROTO_UDP:
        if (TENON_WITH_UDP) {
            tn_udp_input(stack, pkt);
            return;
        }
        break;
    case TN_PROTO_IGMP:
        if (TENON_WITH_IGMP && tn_pkt_is_v4(pkt)) {
            deliver_igmp(stack, pkt);
            return;
        }
        break;
    case TN_PROTO_ICMP:
    case TN_PROTO_ICMP6:
        if (tn_pkt_is_v4(pkt) == (pkt->proto == TN_PROTO_ICMP)) {
            tn_icmp_input(stack, pkt);
            return;
        }
        break;
    }
    deliver_unknown(stack, pkt);
}
