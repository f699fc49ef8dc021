/* SPDX-License-Identifier: MIT */
/* Packets as most are, of both versions: to our Ethernet address, from a host to us, whole, with nothing between the IP
 * header and the transport's. They go straight up, with every rule of the layers that are passed by; what is not like
 * that goes layer by layer, and nothing has happened to it. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

/* A header that is in order and says that this is all of the packet, of which there are so many bytes.
 * @return its bytes; 0: something else */
static tenon_u32 usual_total4(const tenon_u8 *p, tenon_u32 bytes)
{
    const tenon_u32 total = get16be(p + 2);

    if (p[0] != 0x45 || (get16be(p + 6) & 0x3FFF) != 0 || total < TN_IP4_BYTES || total > bytes)
        return 0;    /* options, a fragment, or a length that cannot be */
    return tn_csum_good20(p) ? total : 0;
}

/* ICMPv6 has rules of its own for who may send what. */
static tenon_u32 usual_total6(const tenon_u8 *p, tenon_u32 bytes)
{
    const tenon_u32 total = TN_IP6_BYTES + (tenon_u32)get16be(p + 4);

    return (p[6] == TN_PROTO_TCP || (TENON_WITH_UDP && p[6] == TN_PROTO_UDP)) && total <= bytes ? total : 0;
}

/* What the headers say. @return bytes of the packet; 0: it is not usual */
TENON_HOT tenon_u32 usual_read(struct tn_pkt *pkt, const tenon_u8 *p, tenon_u32 bytes, int is_v4)
{
    const tenon_u32 total = is_v4 ? usual_total4(p, bytes) : usual_total6(p, bytes);

    if (total == 0)
        return 0;
    pkt->is_v4 = (tenon_u8)is_v4;
    if (is_v4) {
        pkt->src = tenon_ip4(get32be(p + 12));
        pkt->dst = tenon_ip4(get32be(p + 16));
        pkt->proto = p[9];
        pkt->ttl = p[8];
        pkt->tos = p[1];
    } else {
        pkt->src = get_ip6(p + 8);
        pkt->dst = get_ip6(p + 24);
        pkt->proto = p[6];
        pkt->ttl = p[7];
        pkt->tos = (tenon_u8)(get16be(p) >> 4 & 0xFF);
    }
    return total;
}

/* Compiled once for each version. More than the headers of link and IPv4 are at hand.
 * @return 1: taken; 0: not usual; -1: pkt is at its transport's header, which is to be asked */
TENON_HOT int usual_input(struct tenon *stack, struct tn_pkt *pkt, struct tenon_tcp *conn, tenon_u32 link, int is_v4)
{
    const tenon_u32 header = is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES, headers = link + header;
    const struct tn_netif *netif = pkt->netif;
    tenon_u8 *p = pkt->head;
    tenon_u32 total;

    if (!is_v4 && pkt->head_len <= headers)
        return 0;
    if (link != 0 && (get16be(p + 12) != (is_v4 ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6) ||
                      memcmp(p, netif->conf.mac, 6) != 0))
        return 0;
    p += link;
    total = usual_read(pkt, p, pkt->len - link - pkt->merged, is_v4);
    if (total == 0)
        return 0;
    total += pkt->merged;
    if (conn != NULL && pkt->proto == TN_PROTO_TCP && tn_fast_is_heard(conn, netif))
        pkt->conn = conn;
    else if (!TENON_SMALL && pkt->proto == TN_PROTO_UDP && tn_udp_fast_input(stack, pkt, p, total, is_v4))
        return 1;
    else if (!(is_v4 ? tn_ip4_is_for_us(stack, pkt) : tn_ip6_is_for_us(stack, pkt)))
        return 0;
    pkt->l3 = p;
    pkt->l3_len = total;
    pkt->off = headers;
    pkt->len = total - header;
    pkt->head = p + header;
    pkt->head_len = tn_min(pkt->head_len - headers, pkt->len);
    return -1;
}

TENON_INTERNAL int tn_ip_usual(struct tenon *stack, struct tn_pkt *pkt, struct tenon_tcp *conn)
{
    const tenon_u32 link = pkt->netif->link_bytes;
    int taken;

    if (pkt->head_len <= link + TN_IP4_BYTES)
        return 0;
    if (TENON_WITH_IPV6 && !TENON_SMALL && pkt->head[link] >> 4 == 6)
        taken = usual_input(stack, pkt, conn, link, 0);
    else
        taken = usual_input(stack, pkt, conn, link, 1);
    if (taken >= 0)
        return taken;
    if (TENON_LIKELY(pkt->proto == TN_PROTO_TCP && pkt->head_len >= TN_TCP_BYTES &&
                     pkt->head_len >= (tenon_u32)(pkt->head[12] >> 4) * 4))
        tn_tcp_input(stack, pkt);
    else
        tn_ip_deliver(stack, pkt);
    return 1;
}
