/* SPDX-License-Identifier: MIT */
/* A server that is a router of IPv6 too, by what it says of itself (RFC 4861 6.2): a network, and servers for names
 * (RFC 8106). It passes nothing on. */
#include "history.h"

#include "wire/checksum.h"

#include <string.h>

enum {
    ETH = 14,
    IP = 40,
    PSEUDO = 40,
    ADVERT = 134,
    PROTO_ICMP6 = 58,
    OPTION_MAC = 1,
    OPTION_PREFIX = 3,
    OPTION_NAMES = 25,
    ON_LINK_AND_OWN = 0xC0,    /* RFC 4861 4.6.2: the prefix is of this link, and for addresses of one's own */
    FRAME_MAX = ETH + IP + 160
};

struct advert {
    tenon_u8 bytes[FRAME_MAX];
    unsigned n;    /* of ICMPv6 */
};

static void put32(tenon_u8 *p, tenon_u32 v)
{
    unsigned i;

    for (i = 0; i < 4; i++)
        p[i] = (tenon_u8)(v >> (24 - 8 * i));
}

static void put_ip(tenon_u8 *p, const struct tenon_ip *ip)
{
    unsigned i;

    for (i = 0; i < 4; i++)
        put32(p + 4 * i, tenon_ip_word(ip, i));
}

static tenon_u8 *icmp_of(struct advert *a)
{
    return a->bytes + ETH + IP;
}

static tenon_u8 *option(struct advert *a, unsigned type, unsigned bytes)
{
    tenon_u8 *p = icmp_of(a) + a->n;

    p[0] = (tenon_u8)type;
    p[1] = (tenon_u8)(bytes / 8);
    a->n += bytes;
    return p;
}

/* RFC 8200 8.1 */
static void put_checksum(struct advert *a)
{
    tenon_u8 summed[PSEUDO + FRAME_MAX], *icmp = icmp_of(a);
    unsigned sum;

    memcpy(summed, a->bytes + ETH + 8, 32);
    put32(summed + 32, a->n);
    put32(summed + 36, PROTO_ICMP6);
    memcpy(summed + PSEUDO, icmp, a->n);
    sum = ~(unsigned)tn_csum_sum(summed, PSEUDO + a->n);
    icmp[2] = (tenon_u8)(sum >> 8);
    icmp[3] = (tenon_u8)sum;
}

static void begin(struct advert *a, const tenon_u8 *mac, const struct tenon_ip *from, unsigned router_s,
                  unsigned hop_limit)
{
    static const tenon_u8 all_mac[] = { 0x33, 0x33, 0, 0, 0, 1 };
    const struct tenon_ip all = tenon_ip6(0xFF020000UL, 0, 0, 1);
    tenon_u8 *ip = a->bytes + ETH, *icmp = icmp_of(a);

    memset(a, 0, sizeof(*a));
    memcpy(a->bytes, all_mac, 6);
    memcpy(a->bytes + 6, mac, 6);
    a->bytes[12] = 0x86;
    a->bytes[13] = 0xDD;
    ip[0] = 0x60;
    ip[6] = PROTO_ICMP6;
    ip[7] = (tenon_u8)hop_limit;
    put_ip(ip + 8, from);
    put_ip(ip + 24, &all);
    icmp[0] = ADVERT;
    icmp[4] = 64;
    icmp[6] = (tenon_u8)(router_s >> 8);
    icmp[7] = (tenon_u8)router_s;
    a->n = 16;
    memcpy(option(a, OPTION_MAC, 8) + 2, mac, 6);
}

static void add_prefix(const struct history *h, struct advert *a, uint32_t valid_s)
{
    const struct tenon_ip net = network6(h);
    tenon_u8 *p = option(a, OPTION_PREFIX, 32);

    p[2] = NETWORK6_BITS;
    p[3] = ON_LINK_AND_OWN;
    put32(p + 4, valid_s);
    put32(p + 8, valid_s / 2);
    put_ip(p + 16, &net);
}

static void add_names(struct advert *a, const struct tenon_ip *server, uint32_t lifetime_s)
{
    tenon_u8 *p = option(a, OPTION_NAMES, 24);

    put32(p + 4, lifetime_s);
    put_ip(p + 8, server);
}

/* @return how many bytes of the frame are there */
static unsigned end(struct advert *a)
{
    a->bytes[ETH + 4] = (tenon_u8)(a->n >> 8);
    a->bytes[ETH + 5] = (tenon_u8)a->n;
    put_checksum(a);
    return ETH + IP + a->n;
}

struct tenon_ip network6(const struct history *h)
{
    return tenon_ip6(0xFD000000UL, h->moved ? 2 : 1, 0, 0);
}

struct tenon_ip server_ip6(const struct history *h, unsigned index)
{
    return tenon_ip6(0xFD000000UL, h->moved ? 2 : 1, 0, 0x53 + index);
}

struct tenon_ip server_link_local(const struct server *s)
{
    struct tenon_addr_info info;
    unsigned i;

    for (i = 0; tenon_addr_get(s->stack, i, &info) == TENON_OK; i++)
        if (is_link_local6(&info.ip))
            return info.ip;
    history_fail(s->h, "server %u has no link-local address", s->index);
}

int is_link_local6(const struct tenon_ip *ip)
{
    return tenon_ip_word(ip, 0) >> 22 == 0x3FA;
}

/* Of what it has promised, the longest counts: what took it back may be lost. */
static void promise(struct server *s)
{
    const uint64_t until = history_now(s->h) + s->plan->names_s * (uint64_t)SECOND;

    if (until > s->names_until_us[s->h->moved])
        s->names_until_us[s->h->moved] = until;
}

static void advertise(struct server *s)
{
    const struct server_plan *plan = s->plan;
    const int back = history_happens(s->h, plan->take_back_ppm);
    const struct tenon_ip from = server_link_local(s), other = server_ip6(s->h, s->index);
    struct advert a;

    begin(&a, wire_end_conf(s->end)->netif.mac, &from, back ? 0 : plan->router_s, 255);
    add_prefix(s->h, &a, back ? 0 : plan->prefix_s);
    add_names(&a, plan->names_link_local ? &from : &other, back ? 0 : plan->names_s);
    if (!back)
        promise(s);
    emit_frame(s->host, 1, NULL, a.bytes, end(&a));
}

void advert_tick(struct server *s)
{
    if (s->plan->advert_s == 0 || server_is_silent(s) || history_now(s->h) < s->advert_us)
        return;
    s->advert_us = history_now(s->h) + s->plan->advert_s * (uint64_t)SECOND;
    advertise(s);
}

/* From behind a router, which has taken 1 from its hop limit (RFC 4861 6.1.2, 11.2): it makes him who sends it a
 * router, and a server for names. */
unsigned advert_forge(const struct history *h, tenon_u8 *bytes)
{
    const struct tenon_ip from = tenon_ip6(0xFE800000UL, 0, 0, 0x666), server = tenon_ip6(0x66660000UL, 0, 0, 6);
    struct advert a;

    begin(&a, wire_end_conf(h->server[0].end)->netif.mac, &from, 1800, 254);
    add_names(&a, &server, 1800);
    memcpy(bytes, a.bytes, end(&a));
    return ETH + IP + a.n;
}
