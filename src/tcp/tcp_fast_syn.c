/* SPDX-License-Identifier: MIT */
/* SYN and SYN-ACK as nearly everybody sends them: MSS, SACK permitted, timestamps and window scale in their
 * usual order, no other flag, and no data, from a host that has been heard of at this address of ours. What
 * the layers would ask one after the other is found out at one look; it goes on where TCP asks whose it is.
 * Anything else returns before something has happened. */
#include "base/bytes.h"
#include "tcp/tcp_fast.h"
#include "wire/checksum.h"

enum {
    SYN_TCP_BYTES = TN_TCP_BYTES + TN_TCP_SYN_OPTIONS_BYTES,
    SYN_LEAST = TN_IP4_BYTES + SYN_TCP_BYTES,    /* of a packet */
    SYN_MOST = TN_IP6_BYTES + SYN_TCP_BYTES
};

/* A whole packet with nothing but the TCP header, and nothing marked by the network. */
TENON_INLINE int syn_is_alone4(const tenon_u8 *ip)
{
    return (get32be(ip) & 0xFF03FFFFUL) == (0x45000000UL | (TN_IP4_BYTES + SYN_TCP_BYTES)) &&
           (get32be(ip + 6) & 0x3FFF00FFUL) == TN_PROTO_TCP && tn_csum_good20(ip);
}

TENON_INLINE int syn_is_alone6(const tenon_u8 *ip)
{
    return (get32be(ip) & 0xF0300000UL) == 0x60000000UL &&
           get32be(ip + 4) >> 8 == (SYN_TCP_BYTES << 8 | (unsigned)TN_PROTO_TCP);
}

/* A SYN of a host from which there has been something before, as tn_fast_is_heard() has it. A transparent
 * listener has questions of its own. */
static int syn_is_heard(struct tenon *stack, const struct tn_pkt *pkt)
{
    return stack->tcp.transparent == 0 && tn_path_is_heard(stack, &pkt->src, &pkt->dst, pkt->netif->index);
}

TENON_INLINE void syn_describe(struct tn_pkt *pkt, tenon_u8 *ip, int is_v4)
{
    const tenon_u32 header = tn_fast_ip_bytes(is_v4);

    pkt->l3 = ip;
    pkt->l3_len = header + SYN_TCP_BYTES;
    pkt->head = ip + header;
    pkt->head_len = pkt->len = SYN_TCP_BYTES;
    pkt->is_v4 = (tenon_u8)is_v4;
    pkt->proto = TN_PROTO_TCP;
    if (is_v4) {
        pkt->src = tenon_ip4(get32be(ip + 12));
        pkt->dst = tenon_ip4(get32be(ip + 16));
        pkt->ttl = ip[8];
        pkt->tos = ip[1];
    } else {
        pkt->src = get_ip6(ip + 8);
        pkt->dst = get_ip6(ip + 24);
        pkt->ttl = ip[7];
        pkt->tos = (tenon_u8)(get16be(ip) >> 4 & 0xFF);
    }
}

/* pkt is at the TCP header, which is all of it. @return 0: it has other options */
static int syn_read(struct tn_seg *seg, struct tn_pkt *pkt)
{
    const tenon_u8 *tcp = pkt->head;

    tn_clear(&seg->options, sizeof(seg->options));
    if (!tn_tcp_syn_options_parse(&seg->options, tcp + TN_TCP_BYTES))
        return 0;
    seg->pkt = pkt;
    seg->seq = get32be(tcp + 4);
    seg->ack = get32be(tcp + 8);
    seg->len = 1;
    seg->wnd = get16be(tcp + 14);
    seg->sport = get16be(tcp);
    seg->dport = get16be(tcp + 2);
    seg->urgent = get16be(tcp + 18);
    seg->flags = tcp[13];
    seg->reused = 0;
    pkt->off += SYN_TCP_BYTES;
    pkt->head += SYN_TCP_BYTES;
    pkt->head_len = pkt->len = 0;
    return 1;
}

TENON_HOT int syn_input(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx, tenon_u32 link,
                        int is_v4)
{
    tenon_u8 *p = tenon_span_data(rx->frame->spans), *ip = p + link;
    struct tn_pkt pkt;
    struct tn_seg seg;

    if (!(is_v4 ? syn_is_alone4(ip) : syn_is_alone6(ip)))
        return 0;
    if (link != 0 && (get16be(p + 12) != (is_v4 ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6) ||
                      memcmp(p, netif->conf.mac, 6) != 0))
        return 0;
    tn_pkt_clear(&pkt);
    pkt.netif = netif;
    pkt.spans = rx->frame->spans;
    pkt.nspans = rx->frame->nspans;
    pkt.off = link + tn_fast_ip_bytes(is_v4);
    pkt.flow_hash = rx->frame->flow_hash;
    pkt.csum = rx->frame->csum;
    pkt.conn = rx->conn;
    syn_describe(&pkt, ip, is_v4);
    if (!(rx->conn != NULL ? tn_fast_is_heard(rx->conn, netif) : syn_is_heard(stack, &pkt)) ||
        !tn_pkt_csum_good(stack, &pkt) || !syn_read(&seg, &pkt))
        return 0;
    tn_count(stack, TENON_STAT_TCP_RCVD);
    tn_tcp_demux(stack, &seg);
    return 1;
}

TENON_APART int syn_look(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    const tenon_u32 link = netif->link_bytes;
    const tenon_u8 *ip = tenon_span_data(rx->frame->spans) + link;
    const int is_v4 = !TENON_WITH_IPV6 || ip[0] >> 4 != 6;
    const tenon_u8 *tcp = ip + tn_fast_ip_bytes(is_v4);

    if (rx->frame->spans->len < link + tn_fast_ip_bytes(is_v4) + SYN_TCP_BYTES || stack->conf.trace != NULL ||
        (get16be(tcp + 12) & ~(unsigned)TN_TCP_ACK) != (SYN_TCP_BYTES << 10 | (unsigned)TN_TCP_SYN))
        return 0;
    return is_v4 ? syn_input(stack, netif, rx, link, 1) : syn_input(stack, netif, rx, link, 0);
}

/* Everything comes by here that is not a usual segment, datagrams too: mostly its length says that it is no SYN. */
TENON_INTERNAL_HOT int tn_fast_syn_input(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    const tenon_u32 link = netif->link_bytes;
    const tenon_u32 len = rx->frame->spans->len;

    if (!TN_FAST || TENON_SMALL || len - link - SYN_LEAST > (tenon_u32)(SYN_MOST - SYN_LEAST))
        return 0;
    return syn_look(stack, netif, rx);
}
