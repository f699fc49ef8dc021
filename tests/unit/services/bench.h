/* SPDX-License-Identifier: MIT */
/* What the tests of the services share: an instance on one interface whose clock runs with a service beside it, and
 * datagrams as other hosts send and receive them. */
#ifndef TENON_TEST_SERVICES_BENCH_H
#define TENON_TEST_SERVICES_BENCH_H

#include "core.h"
#include "harness.h"

struct sv {
    struct hn hn;
    unsigned netif;
    tenon_u32 (*poll)(tenon_u32 now_us);          /* of the service */
    void (*heard)(const struct hn_sent *sent);    /* somebody on the link hears a frame; may answer */
};

static struct sv sv;

/* A datagram of IPv4 in a frame that was sent. */
struct sv_dgram {
    tenon_u32 src, dst;
    unsigned sport, dport;
    const tenon_u8 *bytes;
    size_t n;
};

/* @return 0: it is something else, or wrong */
static inline int sv_read(struct sv_dgram *out, const struct hn_sent *sent)
{
    const tenon_u8 *ip = sent->bytes + 14, *udp = ip + 20;
    struct tenon_ip src, dst;

    if (sent->len < 42 || hn_get16(sent->bytes + 12) != 0x0800 || ip[0] != 0x45 || ip[9] != 17)
        return 0;
    out->src = hn_get32(ip + 12);
    out->dst = hn_get32(ip + 16);
    out->sport = hn_get16(udp);
    out->dport = hn_get16(udp + 2);
    out->n = hn_get16(udp + 4) - 8U;
    out->bytes = udp + 8;
    src = tenon_ip4(out->src);
    dst = tenon_ip4(out->dst);
    HN_EQUAL(hn_get16(ip + 2), 28 + out->n);
    HN_EQUAL(sent->len, 42 + out->n);
    HN_EQUAL(hn_sum(0, ip, 20), 0xFFFF);
    HN_EQUAL(hn_sum(hn_pseudo(&src, &dst, 17, 8 + out->n), udp, 8 + out->n), 0xFFFF);
    return 1;
}

/* From another host of the link, whose Ethernet address is 02:00:00:00:01:NN with the last byte of `src`. */
static inline void sv_send_on(unsigned netif, const struct sv_dgram *dgram)
{
    const size_t n = 8 + dgram->n;
    tenon_u8 *payload = malloc(n);
    struct hn_packet packet;

    if (payload == NULL)
        abort();
    hn_put16(payload, dgram->sport);
    hn_put16(payload + 2, dgram->dport);
    hn_put16(payload + 4, (unsigned)n);
    hn_put16(payload + 6, 0);
    if (dgram->n > 0)
        memcpy(payload + 8, dgram->bytes, dgram->n);
    memset(&packet, 0, sizeof packet);
    hn_mac(packet.from, 1, dgram->src & 0xFF);
    packet.src = tenon_ip4(dgram->src);
    packet.dst = tenon_ip4(dgram->dst);
    packet.proto = 17;
    packet.ttl = 64;
    packet.sum_at = 6;
    packet.payload = payload;
    packet.len = n;
    hn_packet(&sv.hn, netif, &packet);
    free(payload);
}

static inline void sv_send(const struct sv_dgram *dgram)
{
    sv_send_on(sv.netif, dgram);
}

/* An ARP request for an address of the link is answered. */
static inline void sv_answer_arp(const struct hn_sent *sent, tenon_u32 ip)
{
    tenon_u8 mac[6];

    if (hn_get16(sent->bytes + 12) == 0x0806 && hn_get16(sent->bytes + 20) == 1 && hn_get32(sent->bytes + 38) == ip)
        hn_arp(&sv.hn, sv.netif, sent->bytes + 6, 2, hn_mac(mac, 1, ip & 0xFF), ip, sent->bytes + 6,
               hn_get32(sent->bytes + 28));
}

/* What was sent is heard. @return whether something was */
static inline int sv_hear(void)
{
    const struct hn_sent *sent;
    int any = 0;

    while ((sent = hn_next(&sv.hn)) != NULL) {
        const struct hn_sent copy = *sent;    /* an answer may let the array grow */

        any = 1;
        if (sv.heard != NULL)
            sv.heard(&copy);
    }
    return any;
}

/* Let time pass as a program does it: the core, the service, and then the shorter of the two waits. */
static inline void sv_run_us(tenon_u32 us)
{
    const tenon_u32 end = sv.hn.now_us + us;
    unsigned idle = 0;

    for (;;) {
        tenon_u32 wait = tenon_poll(sv.hn.stack, sv.hn.now_us);
        const tenon_u32 service = sv.poll(sv.hn.now_us);
        const tenon_u32 left = end - sv.hn.now_us;

        if (service < wait)
            wait = service;
        if (sv_hear())
            continue;
        if (wait == 0 && ++idle < 1000)
            continue;
        HN_CHECK(idle < 1000);
        if (left == 0 || idle >= 1000)
            return;
        idle = 0;
        sv.hn.now_us += wait < left ? wait : left;
    }
}

static inline void sv_run(tenon_u32 ms)
{
    for (; ms > 1000000; ms -= 1000000)
        sv_run_us(1000000000U);
    sv_run_us(ms * 1000);
}

static inline void sv_run_s(tenon_u32 s)
{
    for (; s > 1000; s -= 1000)
        sv_run(1000000);
    sv_run(s * 1000);
}

static inline void sv_open_conf(const struct tenon_conf *conf, unsigned flags)
{
    memset(&sv, 0, sizeof sv);
    hn_open(&sv.hn, conf);
    sv.netif = hn_netif(&sv.hn, flags | TENON_NETIF_NO_IP6);
}

static inline void sv_open(unsigned flags)
{
    sv_open_conf(NULL, flags);
}

static inline void sv_close(void)
{
    hn_close(&sv.hn);
}

/* No buffers are left, nor those that the core has kept; with 0 there are some again. */
static inline void sv_lack_buffers(int lack)
{
    struct tenon *stack = sv.hn.stack;

    sv.hn.buf_fail = lack ? -1 : 0;
    while (lack && stack->nbufs > 0)
        tenon_buf_put(stack->bufs[--stack->nbufs]);
}

/* Our address with this text: its prefix, or -1: it is not there, or not in use. */
static inline int sv_has(const char *text)
{
    const struct tenon_ip ip = hn_ip(text);
    struct tenon_addr_info info;

    for (unsigned i = 0; tenon_addr_get(sv.hn.stack, i, &info) == TENON_OK; i++) {
        if (tenon_ip_equal(&info.ip, &ip))
            return info.state == TENON_ADDR_PREFERRED ? (int)info.prefix : -1;
    }
    return -1;
}

static inline unsigned sv_addresses(void)
{
    struct tenon_addr_info info;
    unsigned i = 0;

    while (tenon_addr_get(sv.hn.stack, i, &info) == TENON_OK)
        i++;
    return i;
}

/* The default route's gateway; 0: there is none. */
static inline tenon_u32 sv_gateway(void)
{
    struct tenon_route_info info;

    for (unsigned i = 0; tenon_route_get(sv.hn.stack, i, &info) == TENON_OK; i++) {
        if (info.prefix == 0)
            return info.gateway.w[3];
    }
    return 0;
}

#endif
