/* SPDX-License-Identifier: MIT */
/* The bench of the IP and UDP tests: one interface, one address of each version, a peer of each, and a UDP
 * socket on port 7 that remembers what it was given. */
#ifndef TENON_TEST_IP_BENCH_H
#define TENON_TEST_IP_BENCH_H

#include "harness.h"

enum { IB_PORT = 7, IB_PEER_PORT = 4000, IB_BYTES_MAX = 65536 };

struct ib {
    struct hn hn;
    unsigned netif;
    struct tenon_ip us4, us6, peer4, peer6, bcast4;
    struct tenon_udp *sock;
    unsigned received, errors;
    struct tenon_udp_info info;      /* of the last datagram */
    tenon_u8 bytes[IB_BYTES_MAX];    /* its payload */
    int error;                       /* the last error, and about what */
    struct tenon_addr error_to;
    unsigned ethertype;              /* of injected frames; 0: as the packet's version says */
};

static struct ib ib;

static inline void ib_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                               const struct tenon_span *spans, unsigned n)
{
    tenon_u32 at = 0;

    (void)sock;
    (void)app;
    ib.received++;
    ib.info = *info;
    for (unsigned i = 0; i < n; i++) {
        memcpy(ib.bytes + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    HN_EQUAL(at, info->bytes);
}

static inline void ib_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock;
    (void)app;
    ib.errors++;
    ib.error = error;
    ib.error_to = *to;
}

static const struct tenon_udp_events ib_events = { ib_received, ib_error };

static inline struct tenon_addr ib_at(struct tenon_ip ip, unsigned port)
{
    struct tenon_addr at = { ip, (tenon_u16)port, 0 };

    return at;
}

static inline struct tenon_udp *ib_socket(struct tenon_ip ip, unsigned port)
{
    const struct tenon_addr at = ib_at(ip, port);
    struct tenon_udp *sock = NULL;

    HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL), TENON_OK);
    HN_EQUAL(tenon_udp_bind(sock, &at), TENON_OK);
    return sock;
}

static inline void ib_open_conf(const struct tenon_conf *conf, tenon_u32 caps)
{
    struct tenon_netif_conf netif;
    tenon_u8 mac[6];

    memset(&ib, 0, sizeof ib);
    hn_open(&ib.hn, conf);
    memset(&netif, 0, sizeof netif);
    hn_mac(netif.mac, 0, 1);
    netif.mtu = 1500;
    netif.caps = caps;
    netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    ib.netif = (unsigned)tenon_netif_add(ib.hn.stack, &netif);
    HN_EQUAL(ib.netif, 1);
    ib.us4 = hn_ip("192.0.2.1");
    ib.us6 = hn_ip("2001:db8::1");
    ib.peer4 = hn_ip("192.0.2.2");
    ib.peer6 = hn_ip("2001:db8::2");
    ib.bcast4 = hn_ip("192.0.2.255");
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &ib.us4, 24), TENON_OK);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &ib.us6, 64), TENON_OK);
    hn_mac(mac, 1, 2);
    HN_EQUAL(tenon_neighbour_set(ib.hn.stack, ib.netif, &ib.peer4, mac), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(ib.hn.stack, ib.netif, &ib.peer6, mac), TENON_OK);
    ib.sock = ib_socket(tenon_ip_any(), IB_PORT);
    hn_run_ms(&ib.hn, 20000);    /* announcements, membership reports */
    hn_forget(&ib.hn);
}

static inline void ib_open(void)
{
    ib_open_conf(NULL, 0);
}

static inline void ib_close(void)
{
    hn_close(&ib.hn);
}

static inline tenon_u32 ib_stat(enum tenon_stat stat)
{
    return hn_stat(&ib.hn, stat);
}

/* ---- packets ------------------------------------------------------------------------------------------- */

static inline void ib_fill(tenon_u8 *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (tenon_u8)(seed + i * 7 + i / 251);
}

/* An UDP datagram of n bytes of ib_fill(seed) at p, with its checksum. @return its length */
static inline size_t ib_udp(tenon_u8 *p, const struct tenon_ip *src, const struct tenon_ip *dst, unsigned sport,
                            unsigned dport, size_t n, unsigned seed)
{
    tenon_u32 sum;

    hn_put16(p, sport);
    hn_put16(p + 2, dport);
    hn_put16(p + 4, (unsigned)(8 + n));
    hn_put16(p + 6, 0);
    ib_fill(p + 8, n, seed);
    sum = ~hn_sum(hn_pseudo(src, dst, 17, 8 + n), p, 8 + n) & 0xFFFF;
    hn_put16(p + 6, sum ? sum : 0xFFFF);
    return 8 + n;
}

/* Put the checksum of an ICMP message right. */
static inline void ib_icmp_sum(tenon_u8 *p, size_t n, const struct tenon_ip *src, const struct tenon_ip *dst)
{
    tenon_u32 sum = tenon_ip_is_v4(dst) ? 0 : hn_pseudo(src, dst, 58, n);

    hn_put16(p + 2, 0);
    hn_put16(p + 2, ~hn_sum(sum, p, n) & 0xFFFF);
}

/* The checksum of an IPv4 header, made right after it was changed. */
static inline void ib_ip4_sum(tenon_u8 *p)
{
    const size_t n = (p[0] & 15U) * 4U;

    hn_put16(p + 10, 0);
    hn_put16(p + 10, ~hn_sum(0, p, n) & 0xFFFF);
}

/* Give the instance an IP packet in an Ethernet frame to `to` (NULL: us). */
static inline void ib_inject_to(const tenon_u8 *to, const tenon_u8 *packet, size_t n, size_t cut)
{
    tenon_u8 *frame = malloc(14 + n + 1);
    tenon_u8 us[6], peer[6];

    if (frame == NULL)
        abort();
    hn_mac(us, 0, 1);
    hn_mac(peer, 1, 2);
    hn_eth(frame, to ? to : us, peer, ib.ethertype ? ib.ethertype : packet[0] >> 4 == 6 ? 0x86DD : 0x0800);
    memcpy(frame + 14, packet, n);
    hn_inject_cut(&ib.hn, ib.netif, frame, 14 + n, cut);
    free(frame);
}

static inline void ib_inject(const tenon_u8 *packet, size_t n)
{
    ib_inject_to(NULL, packet, n, 0);
}

/* A whole UDP packet from the peer to us, at p. @return its length */
static inline size_t ib_udp_packet(tenon_u8 *p, int v4, size_t n)
{
    const struct tenon_ip *src = v4 ? &ib.peer4 : &ib.peer6, *dst = v4 ? &ib.us4 : &ib.us6;
    const size_t ip = v4 ? 20 : 40;
    const size_t len = ib_udp(p + ip, src, dst, IB_PEER_PORT, IB_PORT, n, 1);

    hn_ip_header(p, src, dst, 17, 64, len);
    return ip + len;
}

/* What was sent: an IP packet, without its Ethernet header; NULL: nothing. *n: its length. */
static inline const tenon_u8 *ib_sent(size_t *n)
{
    const struct hn_sent *sent = hn_next(&ib.hn);

    *n = 0;
    if (sent == NULL)
        return NULL;
    HN_CHECK(sent->len >= 14 + 20);
    *n = sent->len - 14;
    return sent->bytes + 14;
}

/* Whether header and, if it is no fragment, transport checksum of a sent packet are right. */
static inline int ib_sums_good(const tenon_u8 *p, size_t n)
{
    struct tenon_ip src, dst;
    unsigned proto;
    size_t ip;

    if (p[0] >> 4 == 4) {
        ip = (p[0] & 15U) * 4U;
        if (hn_sum(0, p, ip) != 0xFFFF || hn_get16(p + 2) != n)
            return 0;
        if (hn_get16(p + 6) & 0x3FFF)
            return 1;
        src = tenon_ip4(hn_get32(p + 12));
        dst = tenon_ip4(hn_get32(p + 16));
        proto = p[9];
        if (proto == 1 || proto == 2)
            return hn_sum(0, p + ip, n - ip) == 0xFFFF;
        return hn_sum(hn_pseudo(&src, &dst, proto, n - ip), p + ip, n - ip) == 0xFFFF;
    }
    ip = 40;
    if (hn_get16(p + 4) != n - 40)
        return 0;
    if (p[6] == 44)
        return 1;
    src = hn_get_ip(p + 8);
    dst = hn_get_ip(p + 24);
    return hn_sum(hn_pseudo(&src, &dst, p[6], n - ip), p + ip, n - ip) == 0xFFFF;
}

/* A cheap generator for fuzzing. */
static inline tenon_u32 ib_random(tenon_u32 *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

#endif
