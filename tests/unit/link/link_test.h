/* SPDX-License-Identifier: MIT */
/* What the tests of the link layer share: messages of its protocols, made and read. */
#ifndef TENON_TEST_LINK_H
#define TENON_TEST_LINK_H

#include "core.h"
#include "harness.h"

/* ---- the instance's tables ------------------------------------------------------------------------ */

/* State of an address, or -1: it is not there. */
static inline int lt_address(const struct hn *hn, unsigned netif, const struct tenon_ip *ip)
{
    struct tenon_addr_info info;

    for (unsigned i = 0; tenon_addr_get(hn->stack, i, &info) == TENON_OK; i++) {
        if (info.netif == netif && tenon_ip_equal(&info.ip, ip))
            return (int)info.state;
    }
    return -1;
}

static inline int lt_address_text(const struct hn *hn, unsigned netif, const char *text)
{
    const struct tenon_ip ip = hn_ip(text);

    return lt_address(hn, netif, &ip);
}

/* The first address of an interface that begins with this word and these bits. */
static inline int lt_automatic(const struct hn *hn, unsigned netif, tenon_u32 w0, struct tenon_addr_info *info)
{
    for (unsigned i = 0; tenon_addr_get(hn->stack, i, info) == TENON_OK; i++) {
        if (info->netif == netif && info->ip.w[0] == w0 && info->automatic)
            return 1;
    }
    return 0;
}

/* Its link-local address. */
static inline struct tenon_ip lt_link_local(const struct hn *hn, unsigned netif)
{
    struct tenon_addr_info info;
    const int found = lt_automatic(hn, netif, 0xFE800000U, &info);

    HN_CHECK(found);
    return found ? info.ip : tenon_ip_any();
}

/* State of a neighbour, or -1: it is not there. mac may be NULL. */
static inline int lt_neighbour(const struct hn *hn, unsigned netif, const struct tenon_ip *ip, tenon_u8 *mac)
{
    struct tenon_neighbour_info info;

    for (unsigned i = 0; tenon_neighbour_get(hn->stack, i, &info) == TENON_OK; i++) {
        if (info.netif != netif || !tenon_ip_equal(&info.ip, ip))
            continue;
        if (mac != NULL)
            memcpy(mac, info.mac, 6);
        return (int)info.state;
    }
    return -1;
}

static inline int lt_neighbour_text(const struct hn *hn, unsigned netif, const char *text)
{
    const struct tenon_ip ip = hn_ip(text);

    return lt_neighbour(hn, netif, &ip, NULL);
}

static inline unsigned lt_neighbours(const struct hn *hn)
{
    struct tenon_neighbour_info info;
    unsigned n = 0;

    while (tenon_neighbour_get(hn->stack, n, &info) == TENON_OK)
        n++;
    return n;
}

/* ---- interfaces that are ready --------------------------------------------------------------- */

/* One interface, IPv4 only, 10.0.0.1/24 in use at once; its announcement is forgotten. */
static inline void lt_open4(struct hn *hn, const struct tenon_conf *conf)
{
    const struct tenon_ip ip = hn_ip("10.0.0.1");

    hn_open(hn, conf);
    hn_netif(hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(hn->stack, 1, &ip, 24), TENON_OK);
    hn_run_ms(hn, 5000);
    hn_forget(hn);
}

/* One interface, link-local address and 2001:db8::1/64 in use at once, no routers. */
static inline void lt_open6(struct hn *hn, const struct tenon_conf *conf)
{
    const struct tenon_ip ip = hn_ip("2001:db8::1");

    hn_open(hn, conf);
    hn_netif(hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn->stack, 1, &ip, 64), TENON_OK);
    hn_run_ms(hn, 20000);
    hn_forget(hn);
}

/* ---- UDP, to make the instance send ---------------------------------------------------------- */

static struct {
    unsigned errors;
    int error;
    struct tenon_addr to;
} lt_udp_events_seen;

static inline void lt_udp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                                   const struct tenon_span *spans, unsigned n)
{
    (void)sock, (void)app, (void)info, (void)spans, (void)n;
}

static inline void lt_udp_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock, (void)app;
    lt_udp_events_seen.errors++;
    lt_udp_events_seen.error = error;
    lt_udp_events_seen.to = *to;
}

static const struct tenon_udp_events lt_udp_events = { lt_udp_received, lt_udp_error };

static inline struct tenon_udp *lt_udp_open(struct hn *hn)
{
    struct tenon_udp *sock = NULL;

    memset(&lt_udp_events_seen, 0, sizeof lt_udp_events_seen);
    HN_EQUAL(tenon_udp_open(hn->stack, &sock, &lt_udp_events, NULL), TENON_OK);
    return sock;
}

/* One datagram of 4 bytes, to port 9. */
static inline int lt_udp_send(struct hn *hn, struct tenon_udp *sock, const char *to, unsigned netif)
{
    struct tenon_addr addr;
    int error;

    addr.ip = hn_ip(to);
    addr.port = 9;
    addr.netif = (tenon_u16)netif;
    error = tenon_udp_write(sock, &addr, "ping", 4);
    (void)tenon_poll(hn->stack, hn->now_us);
    return error;
}

/* ---- ARP ------------------------------------------------------------------------------------- */

struct lt_arp {
    tenon_u32 at_us;
    const tenon_u8 *to;                            /* Ethernet destination */
    unsigned op;
    const tenon_u8 *sender_mac, *target_mac;
    tenon_u32 sender, target;
};

/* The next ARP frame that was sent, others are skipped. @return 0: there is none */
static inline int lt_next_arp(struct hn *hn, struct lt_arp *arp)
{
    const struct hn_sent *sent;

    while ((sent = hn_next(hn)) != NULL) {
        if (hn_get16(sent->bytes + 12) != 0x0806)
            continue;
        HN_CHECK(sent->len >= 42);
        HN_EQUAL(hn_get16(sent->bytes + 14), 1);
        HN_EQUAL(hn_get16(sent->bytes + 16), 0x0800);
        HN_EQUAL(hn_get16(sent->bytes + 18), 0x0604);
        arp->at_us = sent->at_us;
        arp->to = sent->bytes;
        arp->op = hn_get16(sent->bytes + 20);
        arp->sender_mac = sent->bytes + 22;
        arp->sender = hn_get32(sent->bytes + 28);
        arp->target_mac = sent->bytes + 32;
        arp->target = hn_get32(sent->bytes + 38);
        return 1;
    }
    return 0;
}

static inline int lt_is_broadcast(const tenon_u8 *mac)
{
    static const tenon_u8 all[6] = { 255, 255, 255, 255, 255, 255 };

    return memcmp(mac, all, 6) == 0;
}

/* The next IP packet that was sent, others are skipped; NULL: there is none. */
static inline const struct hn_sent *lt_next_ip(struct hn *hn)
{
    const struct hn_sent *sent;

    while ((sent = hn_next(hn)) != NULL) {
        const unsigned type = hn_get16(sent->bytes + 12);

        if (type == 0x0800 || type == 0x86DD)
            return sent;
    }
    return NULL;
}

static inline unsigned lt_count_udp(struct hn *hn)
{
    unsigned n = 0;

    for (unsigned i = 0; i < hn->nsent; i++) {
        const tenon_u8 *p = hn->sent[i].bytes;
        const unsigned type = hn_get16(p + 12);

        n += (type == 0x0800 && p[23] == 17) || (type == 0x86DD && p[20] == 17);
    }
    return n;
}

/* ---- ICMPv6 ---------------------------------------------------------------------------------- */

/* A message that was sent. */
struct lt_icmp6 {
    const struct hn_sent *sent;
    const tenon_u8 *mac;              /* Ethernet destination */
    struct tenon_ip src, dst;
    unsigned hop_limit, router_alert;
    const tenon_u8 *p;                /* from its type on */
    size_t len;
};

/* The next ICMPv6 message that was sent (type 0: any); its checksum is verified. @return 0: there is none */
static inline int lt_next_icmp6(struct hn *hn, unsigned type, struct lt_icmp6 *out)
{
    const struct hn_sent *sent;

    while ((sent = hn_next(hn)) != NULL) {
        const tenon_u8 *ip = sent->bytes + 14;
        unsigned at = 40;

        if (hn_get16(sent->bytes + 12) != 0x86DD)
            continue;
        out->router_alert = ip[6] == 0;
        if (ip[6] == 0) {
            HN_EQUAL(hn_get32(ip + 40), 0x3A000502U);
            HN_EQUAL(hn_get32(ip + 44), 0x00000100U);
            at = 48;
        } else if (ip[6] != 58) {
            continue;
        }
        if (type != 0 && ip[at] != type)
            continue;
        out->sent = sent;
        out->mac = sent->bytes;
        out->hop_limit = ip[7];
        out->src = hn_get_ip(ip + 8);
        out->dst = hn_get_ip(ip + 24);
        out->p = ip + at;
        out->len = 40 + hn_get16(ip + 4) - at;
        HN_EQUAL(sent->len, 14 + 40 + hn_get16(ip + 4));
        HN_EQUAL(hn_sum(hn_pseudo(&out->src, &out->dst, 58, out->len), out->p, out->len), 0xFFFF);
        return 1;
    }
    return 0;
}

/* Give an ICMPv6 message to the instance; its checksum is made here. from: number of the sender's Ethernet address. */
static inline void lt_icmp6_from(struct hn *hn, unsigned netif, unsigned from, const struct tenon_ip *src,
                                 const struct tenon_ip *dst, unsigned hop_limit, const tenon_u8 *p, size_t len)
{
    struct hn_packet packet;

    memset(&packet, 0, sizeof packet);
    hn_mac(packet.from, 1, from);
    packet.src = *src;
    packet.dst = *dst;
    packet.proto = 58;
    packet.ttl = hop_limit;
    packet.sum_at = 2;
    packet.payload = p;
    packet.len = len;
    hn_packet(hn, netif, &packet);
}

static inline struct tenon_ip lt_solicited(const struct tenon_ip *ip)
{
    return tenon_ip6(0xFF020000U, 0, 1, 0xFF000000U | (ip->w[3] & 0xFFFFFFU));
}

/* NS or NA: flags as in the message (R 0x80, S 0x40, O 0x20), an option of link-layer address 02:00:00:00:01:option_mac
 * (0: no option). */
static inline size_t lt_nd_build(tenon_u8 *p, unsigned type, unsigned flags, const struct tenon_ip *target,
                                 unsigned option_mac)
{
    memset(p, 0, 32);
    p[0] = (tenon_u8)type;
    p[4] = (tenon_u8)flags;
    hn_put_ip(p + 8, target);
    if (option_mac == 0)
        return 24;
    p[24] = type == 135 ? 1 : 2;
    p[25] = 1;
    hn_mac(p + 26, 1, option_mac);
    return 32;
}

static inline void lt_ns(struct hn *hn, unsigned netif, const struct tenon_ip *src, const struct tenon_ip *dst,
                         const struct tenon_ip *target, unsigned option_mac)
{
    tenon_u8 p[32];

    lt_icmp6_from(hn, netif, 1, src, dst, 255, p, lt_nd_build(p, 135, 0, target, option_mac));
}

static inline void lt_na(struct hn *hn, unsigned netif, const struct tenon_ip *dst, const struct tenon_ip *target,
                         unsigned flags, unsigned option_mac)
{
    tenon_u8 p[32];

    lt_icmp6_from(hn, netif, 1, target, dst, 255, p, lt_nd_build(p, 136, flags, target, option_mac));
}

/* A router advertisement that grows. */
struct lt_ra {
    tenon_u8 p[2048];
    size_t len;
};

static inline void lt_ra_begin(struct lt_ra *ra, unsigned hop_limit, unsigned flags, unsigned lifetime_s,
                               tenon_u32 reachable_ms, tenon_u32 retrans_ms)
{
    memset(ra, 0, sizeof *ra);
    ra->p[0] = 134;
    ra->p[4] = (tenon_u8)hop_limit;
    ra->p[5] = (tenon_u8)flags;
    hn_put16(ra->p + 6, lifetime_s);
    hn_put32(ra->p + 8, reachable_ms);
    hn_put32(ra->p + 12, retrans_ms);
    ra->len = 16;
}

static inline void lt_ra_slla(struct lt_ra *ra, unsigned nn)
{
    ra->p[ra->len] = 1;
    ra->p[ra->len + 1] = 1;
    hn_mac(ra->p + ra->len + 2, 1, nn);
    ra->len += 8;
}

static inline void lt_ra_mtu(struct lt_ra *ra, tenon_u32 mtu)
{
    ra->p[ra->len] = 5;
    ra->p[ra->len + 1] = 1;
    hn_put32(ra->p + ra->len + 4, mtu);
    ra->len += 8;
}

/* flags: L 0x80, A 0x40 */
static inline void lt_ra_prefix(struct lt_ra *ra, const char *prefix, unsigned bits, unsigned flags, tenon_u32 valid_s,
                                tenon_u32 preferred_s)
{
    const struct tenon_ip ip = hn_ip(prefix);
    tenon_u8 *p = ra->p + ra->len;

    p[0] = 3;
    p[1] = 4;
    p[2] = (tenon_u8)bits;
    p[3] = (tenon_u8)flags;
    hn_put32(p + 4, valid_s);
    hn_put32(p + 8, preferred_s);
    hn_put_ip(p + 16, &ip);
    ra->len += 32;
}

/* From fe80::<nn>, Ethernet address 02:00:00:00:01:nn. */
static inline void lt_ra_send(struct hn *hn, unsigned netif, unsigned nn, const struct lt_ra *ra)
{
    const struct tenon_ip src = tenon_ip6(0xFE800000U, 0, 0, nn), dst = hn_ip("ff02::1");

    lt_icmp6_from(hn, netif, nn, &src, &dst, 255, ra->p, ra->len);
}

#endif
