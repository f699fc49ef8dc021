/* SPDX-License-Identifier: MIT */
/* TCP segments by hand, for tests that play a peer or an attacker: built and read without the core's codecs. */
#ifndef TENON_TESTS_TCP_SEGMENT_H
#define TENON_TESTS_TCP_SEGMENT_H

#include "harness.h"

enum { SEG_FIN = 1, SEG_SYN = 2, SEG_RST = 4, SEG_PSH = 8, SEG_ACK = 16, SEG_URG = 32, SEG_ECE = 64, SEG_CWR = 128 };

struct seg {
    struct tenon_ip src, dst;
    unsigned sport, dport;
    tenon_u32 seq, ack;
    unsigned flags, wnd, urgent;
    const tenon_u8 *options;     /* a multiple of 4 */
    unsigned noptions;
    const tenon_u8 *payload;
    unsigned len;
};

/* Give it to the instance, over interface 1, from the neighbour 02:00:00:00:01:02. */
static inline void seg_inject(struct hn *hn, const struct seg *seg)
{
    tenon_u8 bytes[2048];
    struct hn_packet packet;

    memset(&packet, 0, sizeof packet);
    memset(bytes, 0, 20);
    hn_put16(bytes, seg->sport);
    hn_put16(bytes + 2, seg->dport);
    hn_put32(bytes + 4, seg->seq);
    hn_put32(bytes + 8, seg->ack);
    bytes[12] = (tenon_u8)((20 + seg->noptions) << 2);
    bytes[13] = (tenon_u8)seg->flags;
    hn_put16(bytes + 14, seg->wnd);
    hn_put16(bytes + 18, seg->urgent);
    if (seg->noptions > 0)
        memcpy(bytes + 20, seg->options, seg->noptions);
    if (seg->len > 0)
        memcpy(bytes + 20 + seg->noptions, seg->payload, seg->len);
    hn_mac(packet.from, 1, 2);
    packet.src = seg->src;
    packet.dst = seg->dst;
    packet.proto = 6;
    packet.ttl = 64;
    packet.sum_at = 16;
    packet.payload = bytes;
    packet.len = 20 + seg->noptions + seg->len;
    hn_packet(hn, 1, &packet);
}

/* The next TCP segment that was sent; what is in other frames is skipped. options and payload point into the
 * frame. @return 0: there is none */
static inline int seg_next(struct hn *hn, struct seg *seg)
{
    const struct hn_sent *sent;

    while ((sent = hn_next(hn)) != NULL) {
        const tenon_u8 *ip = sent->bytes + 14, *tcp;
        const int v4 = hn_get16(sent->bytes + 12) == 0x0800;

        memset(seg, 0, sizeof *seg);
        if ((!v4 && hn_get16(sent->bytes + 12) != 0x86DD) || (v4 ? ip[9] : ip[6]) != 6)
            continue;
        tcp = ip + (v4 ? 20 : 40);
        seg->src = v4 ? tenon_ip4(hn_get32(ip + 12)) : hn_get_ip(ip + 8);
        seg->dst = v4 ? tenon_ip4(hn_get32(ip + 16)) : hn_get_ip(ip + 24);
        seg->sport = hn_get16(tcp);
        seg->dport = hn_get16(tcp + 2);
        seg->seq = hn_get32(tcp + 4);
        seg->ack = hn_get32(tcp + 8);
        seg->flags = tcp[13] & 63;
        seg->wnd = hn_get16(tcp + 14);
        seg->options = tcp + 20;
        seg->noptions = (unsigned)(tcp[12] >> 4) * 4 - 20;
        seg->payload = tcp + 20 + seg->noptions;
        seg->len = (v4 ? hn_get16(ip + 2) - 20U : hn_get16(ip + 4)) - 20 - seg->noptions;
        return 1;
    }
    return 0;
}

/* The data of an option in a segment that was sent; NULL: it is not there. */
static inline const tenon_u8 *seg_option(const struct seg *seg, unsigned kind)
{
    for (unsigned at = 0; at < seg->noptions && seg->options[at] != 0;) {
        if (seg->options[at] == kind)
            return seg->options + at + 2;
        at += seg->options[at] == 1 ? 1 : seg->options[at + 1];
    }
    return NULL;
}

/* An instance with 10.0.0.1/8 (and fd00::1/64) on an Ethernet; every host of the world is 10.0.0.2's neighbour. */
static inline void seg_open(struct hn *hn, const struct tenon_conf *conf)
{
    const struct tenon_ip me4 = hn_ip("10.0.0.1"), router = hn_ip("10.0.0.2"), all = hn_ip("0.0.0.0");
    tenon_u8 mac[6];

    hn_open(hn, conf);
    HN_EQUAL(hn_netif(hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA), 1);
    HN_EQUAL(tenon_addr_add(hn->stack, 1, &me4, 24), TENON_OK);
    HN_EQUAL(tenon_route_add(hn->stack, 1, &all, 0, &router, 0), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(hn->stack, 1, &router, hn_mac(mac, 1, 2)), TENON_OK);
    hn_run_ms(hn, 3000);
    hn_forget(hn);
}

#endif
