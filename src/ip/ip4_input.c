/* SPDX-License-Identifier: MIT */
/* IPv4 input (RFC 791, RFC 1122 3.2.1): what is not meant for us, or cannot be true, ends here. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum { IP4_OFFSET = 0x1FFF };
/* Errors, and fragments, ask where the header is. */
enum { IP4_IS_QUOTED = TENON_WITH_ICMP || TENON_WITH_FRAGMENTS };

/* A host that has no address yet speaks from 0.0.0.0: DHCP, and membership queries of snooping bridges. */
static int ip4_source_unspecified_ok(const struct tn_pkt *pkt)
{
    if (pkt->src.w[TENON_IP4_WORD] != 0 || pkt->dst_cast == TN_CAST_UNICAST)
        return 0;
    return (TENON_WITH_UDP && pkt->proto == TN_PROTO_UDP) || (TENON_WITH_IGMP && pkt->proto == TN_PROTO_IGMP);
}

/* @return whether the source address may stand there: that of a host (RFC 1122 3.2.1.3). Our own one must not: what
 * comes from the wire with it was made up (the LAND attack), and so a broadcast address of ours. */
static int ip4_source_good(struct tenon *stack, const struct tn_pkt *pkt)
{
    if (!tn_ip_is_host(&pkt->src))
        return ip4_source_unspecified_ok(pkt);
    return tn_ip_classify(stack, pkt->netif, &pkt->src) == TN_DST_OTHER;
}

/* Whether a packet to an address that is not ours is wanted: by a transparent listener, and with it the
 * ICMP errors about what its connections send. */
static int ip4_foreign(const struct tenon *stack, struct tn_pkt *pkt)
{
    if (!TENON_WITH_ROUTES || !tn_pkt_is_unicast(pkt) || !tn_ip_is_host(&pkt->dst))
        return 0;
    if (pkt->proto != TN_PROTO_TCP && pkt->proto != TN_PROTO_ICMP)
        return 0;
    if (!tn_tcp_wants_foreign(stack))
        return 0;
    pkt->foreign = 1;
    return 1;
}

/* @return 1 if the destination is us, in one way or another; else counted */
static int ip4_destination(struct tenon *stack, struct tn_pkt *pkt)
{
    const enum tn_dst what = tn_ip_classify(stack, pkt->netif, &pkt->dst);

    /* RFC 1122 3.3.6: a unicast packet in a broadcast frame is a mistake or an attack. */
    if (what == TN_DST_OURS && !tn_pkt_is_unicast(pkt)) {
        tn_count(stack, TENON_STAT_IP4_MARTIAN);
        return 0;
    }
    if (what <= TN_DST_BROADCAST) {
        pkt->dst_cast = (tenon_u8)what;
        return 1;
    }
    if (what == TN_DST_OTHER && ip4_foreign(stack, pkt))
        return 1;
    tn_count(stack, pkt->dst.w[TENON_IP4_WORD] >> 24 == 127 ? TENON_STAT_IP4_MARTIAN : TENON_STAT_IP_NOT_OURS);
    return 0;
}

static void ip4_fragment(struct tenon *stack, struct tn_pkt *pkt, const struct tn_ip4 *ip)
{
    struct tn_reass_done done;
    struct tn_frag frag;

    if (!TENON_WITH_FRAGMENTS) {
        tn_count(stack, TENON_STAT_FRAG_LIMIT);
        return;
    }
    frag.id = ip->id;
    frag.off = (tenon_u32)(ip->frag & IP4_OFFSET) * 8;
    frag.more = (ip->frag & TN_IP4_MF) != 0;
    frag.next = ip->proto;
    frag.nh_at = 9;
    if (!tn_reass_add(stack, pkt, &frag, &done))
        return;
    tn_ip_deliver(stack, pkt);
    tn_reass_release(stack, &done);
}

TENON_INTERNAL void tn_ip4_input(struct tenon *stack, struct tn_pkt *pkt)
{
    const tenon_u32 header = tn_max(TN_IP4_BYTES, (tn_pkt_byte(pkt, 0) & 0x0FU) * 4);
    struct tn_ip4 ip;
    tenon_u32 total;

    if (!TN_PULLS_ONCE && tn_pkt_pullup(stack, pkt, tn_min(pkt->len, header)) != TENON_OK)
        return;
    if (tn_ip4_parse(&ip, pkt->head, tn_pkt_head_len(pkt), pkt->len) != 0) {
        tn_count(stack, TENON_STAT_IP4_BAD_HEADER);
        return;
    }
    pkt->src = tenon_ip4(ip.src);
    pkt->dst = tenon_ip4(ip.dst);
    pkt->proto = ip.proto;
    pkt->ttl = ip.ttl;
    pkt->tos = ip.tos;
    if (TENON_WITH_IPV6)
        pkt->is_v4 = 1;
    if (!tn_ip4_csum_good(pkt->head, ip.header_bytes)) {
        tn_count(stack, TENON_STAT_IP4_BAD_CSUM);
        return;
    }
    if (ip.header_bytes > TN_IP4_BYTES && tn_ip4_options_check(pkt->head, ip.header_bytes) != 0) {
        tn_count(stack, TENON_STAT_IP4_BAD_OPTION);
        return;
    }
    total = ip.total + (TENON_WITH_SPEED ? pkt->merged : 0);
    tn_pkt_trim(pkt, total);
    if (IP4_IS_QUOTED) {
        pkt->l3 = pkt->head;
        pkt->l3_len = total;
    }
    if (!ip4_destination(stack, pkt))
        return;
    if (!ip4_source_good(stack, pkt)) {
        tn_count(stack, TENON_STAT_IP4_MARTIAN);
        return;
    }
    tn_pkt_pull(pkt, ip.header_bytes);
    if (ip.frag & (TN_IP4_MF | IP4_OFFSET))
        ip4_fragment(stack, pkt, &ip);
    else
        tn_ip_deliver(stack, pkt);
}

/* ---- for others ------------------------------------------------------------------------------------- */

TENON_INTERNAL int tn_ip4_is_other_host(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *src)
{
    return tn_ip_is_host(src) && tn_ip_classify(stack, netif, src) == TN_DST_OTHER;
}

TENON_INTERNAL int tn_ip4_is_for_us(struct tenon *stack, const struct tn_pkt *pkt)
{
    return pkt->dst.w[TENON_IP4_WORD] >> 24 != 127 && tn_ip_classify(stack, pkt->netif, &pkt->dst) == TN_DST_OURS &&
           tn_ip4_is_other_host(stack, pkt->netif, &pkt->src);
}
