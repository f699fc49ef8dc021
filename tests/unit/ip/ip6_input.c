/* SPDX-License-Identifier: MIT */
/* IPv6 input: addresses, and chains of extension headers of every kind. */
#include "ip_bench.h"

enum { UDP = 17, HBH = 0, RH = 43, FH = 44, NONE = 59, DST = 60, NO_REPLY = -1 };

/* A header of a chain: its kind and its bytes from the second on (the first is filled in: the next kind). */
struct ext {
    int kind;
    unsigned n;               /* bytes; 0: end of the chain */
    tenon_u8 bytes[24];       /* bytes[0] is not used */
};

#define OPTIONS_EMPTY \
    { \
        0, 0, 1, 4, 0, 0, 0, 0 \
    }
#define FRAGMENT_ATOMIC \
    { \
        0, 0, 0, 0, 0, 0, 0, 9 \
    }

/* Put a packet to `dst` together: chain, then a UDP datagram of 16 bytes (or just its bytes, whatever `last`
 * says they are). @return its length */
static size_t chain(tenon_u8 *p, const struct tenon_ip *dst, const struct ext *ext, unsigned last)
{
    const struct ext *e;
    tenon_u8 *named = p + 6;
    size_t at = 40;

    for (e = ext; e->n != 0; e++) {
        memcpy(p + at, e->bytes, e->n);
        at += e->n;
    }
    at += ib_udp(p + at, &ib.peer6, dst, IB_PEER_PORT, IB_PORT, 16, 1);
    hn_ip_header(p, &ib.peer6, dst, 0, 64, at - 40);
    at = 40;
    for (e = ext; e->n != 0; e++) {
        *named = (tenon_u8)e->kind;
        named = p + at;
        at += e->n;
    }
    *named = (tenon_u8)last;
    return at + 24;
}

/* Check the one ICMPv6 error that was sent: type << 8 | code; NO_REPLY: none. */
static void replied(int what, tenon_u32 pointer)
{
    const tenon_u8 *p;
    size_t n;

    p = ib_sent(&n);
    if (what == NO_REPLY) {
        HN_CHECK(p == NULL);
        return;
    }
    if (!HN_CHECK(p != NULL))
        return;
    HN_CHECK(ib_sums_good(p, n));
    HN_EQUAL(p[6], 58);
    HN_EQUAL(p[40] << 8 | p[41], what);
    HN_EQUAL(hn_get32(p + 44), pointer);
    HN_CHECK(memcmp(p + 24, &p[48 + 8], 16) == 0);    /* to the source of what it quotes */
    HN_EQUAL(hn_left(&ib.hn), 0);
}

static void chains(void)
{
    static const struct {
        const char *name;
        struct ext ext[12];
        unsigned last;
        unsigned received;
        int reply;
        tenon_u32 pointer;
    } rows[] = {
        { "none", { { 0 } }, UDP, 1, NO_REPLY, 0 },
        { "hop-by-hop", { { HBH, 8, OPTIONS_EMPTY } }, UDP, 1, NO_REPLY, 0 },
        { "destination options", { { DST, 8, OPTIONS_EMPTY } }, UDP, 1, NO_REPLY, 0 },
        { "recommended order", { { HBH, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { RH, 8, { 0, 0, 4, 0 } },
                { FH, 8, FRAGMENT_ATOMIC }, { DST, 8, OPTIONS_EMPTY } }, UDP, 1, NO_REPLY, 0 },
        { "another order", { { FH, 8, FRAGMENT_ATOMIC }, { DST, 8, OPTIONS_EMPTY }, { RH, 8, { 0, 0, 4, 0 } },
                { DST, 8, OPTIONS_EMPTY } }, UDP, 1, NO_REPLY, 0 },
        { "eight", { { HBH, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY },
                { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY },
                { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY } }, UDP, 1, NO_REPLY, 0 },
        { "nine", { { HBH, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY },
                { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY },
                { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY } },
                UDP, 0, NO_REPLY, 0 },
        { "hop-by-hop second", { { DST, 8, OPTIONS_EMPTY }, { HBH, 8, OPTIONS_EMPTY } },
                UDP, 0, 0x401, 40 },
        { "hop-by-hop twice", { { HBH, 8, OPTIONS_EMPTY }, { HBH, 8, OPTIONS_EMPTY } },
                UDP, 0, 0x401, 40 },
        { "hop-by-hop behind an atomic fragment", { { FH, 8, FRAGMENT_ATOMIC }, { HBH, 8, OPTIONS_EMPTY } },
                UDP, 0, 0x401, 40 },
        { "unknown kind", { { 0 } }, 253, 0, 0x401, 6 },
        { "unknown kind behind options", { { DST, 8, OPTIONS_EMPTY } }, 253, 0, 0x401, 40 },
        { "ICMPv4", { { 0 } }, 1, 0, 0x401, 6 },
        { "IPv4 in IPv6", { { 0 } }, 4, 0, 0x401, 6 },
        { "IPv6 in IPv6", { { 0 } }, 41, 0, 0x401, 6 },
        { "ESP", { { 0 } }, 50, 0, 0x401, 6 },
        { "no next header", { { 0 } }, NONE, 0, NO_REPLY, 0 },
        { "no next header behind options", { { DST, 8, OPTIONS_EMPTY } }, NONE, 0, NO_REPLY, 0 },
        { "routing type 0, used up", { { RH, 24, { 0, 2, 0, 0 } } }, UDP, 1, NO_REPLY, 0 },
        { "routing type 0", { { RH, 24, { 0, 2, 0, 1 } } }, UDP, 0, 0x400, 42 },
        { "routing type 2", { { RH, 24, { 0, 2, 2, 1 } } }, UDP, 0, 0x400, 42 },
        { "routing type 4 behind options", { { DST, 8, OPTIONS_EMPTY }, { RH, 24, { 0, 2, 4, 1 } } },
                UDP, 0, 0x400, 50 },
        { "routing longer than the packet", { { RH, 8, { 0, 200, 0, 0 } } }, UDP, 0, NO_REPLY, 0 },
        { "options longer than the packet", { { DST, 8, { 0, 255, 1, 4 } } }, UDP, 0, NO_REPLY, 0 },
        { "option over the end", { { DST, 8, { 0, 0, 1, 5 } } }, UDP, 0, NO_REPLY, 0 },
        { "option with no length", { { DST, 8, { 0, 0, 1, 3, 0, 0, 0, 5 } } }, UDP, 0, NO_REPLY, 0 },
        { "fragment in fragment", { { FH, 8, FRAGMENT_ATOMIC }, { FH, 8, FRAGMENT_ATOMIC } }, UDP, 0, NO_REPLY, 0 },
        { "seven Pad1", { { DST, 16, { 0, 1, 0x1E, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x1E, 2, 0, 0 } } },
                UDP, 1, NO_REPLY, 0 },
        { "eight Pad1", { { DST, 16, { 0, 1, 0x1E, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1E, 2, 0, 0 } } },
                UDP, 0, NO_REPLY, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 p[400];
        size_t n;

        hn_row = rows[i].name;
        ib_open();
        n = chain(p, &ib.us6, rows[i].ext, rows[i].last);
        ib_inject(p, n);
        HN_EQUAL(ib.received, rows[i].received);
        replied(rows[i].reply, rows[i].pointer);
        ib_close();
    }
    hn_row = "";
}

/* RFC 8200 4.2: the two top bits of an option that one does not know, to us and to a group. */
static void option_actions(void)
{
    static const struct {
        tenon_u8 option;
        unsigned received;
        int to_us, to_group;
    } rows[] = {
        { 0x1E, 1, NO_REPLY, NO_REPLY },
        { 0x3E, 1, NO_REPLY, NO_REPLY },    /* may change on the way: that is all the same */
        { 0x5E, 0, NO_REPLY, NO_REPLY },
        { 0x9E, 0, 0x402, 0x402 },
        { 0xDE, 0, 0x402, NO_REPLY },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        for (int many = 0; many < 2; many++) {
            const struct ext ext[2] = { { DST, 8, { 0, 0, 1, 0, rows[i].option, 2, 0, 0 } }, { 0, 0, { 0 } } };
            const struct tenon_ip all = hn_ip("ff02::1");
            tenon_u8 p[200], mac[6];
            size_t n;

            ib_open();
            n = chain(p, many ? &all : &ib.us6, ext, UDP);
            hn_group_mac(mac, &all);
            ib_inject_to(many ? mac : NULL, p, n, 0);
            HN_EQUAL(ib.received, rows[i].received);
            replied(many ? rows[i].to_group : rows[i].to_us, 44);
            ib_close();
        }
    }
}

/* Padding of every length, and the limits of RFC 8504. */
static void padding(void)
{
    for (unsigned pad = 0; pad <= 18; pad++) {
        struct ext ext[2];
        tenon_u8 p[200];
        size_t n;

        memset(ext, 0, sizeof ext);
        ext[0].kind = DST;
        ext[0].n = 24;
        ext[0].bytes[1] = 2;
        ext[0].bytes[2] = 1;
        ext[0].bytes[3] = (tenon_u8)pad;
        ext[0].bytes[4 + pad] = 0x1E;
        ext[0].bytes[5 + pad] = (tenon_u8)(18 - pad);
        ib_open();
        n = chain(p, &ib.us6, ext, UDP);
        ib_inject(p, n);
        HN_EQUAL(ib.received, pad + 2 <= 7);
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
    for (unsigned options = 1; options <= 11; options++) {
        struct ext ext[2];
        tenon_u8 p[200];
        size_t n;

        memset(ext, 0, sizeof ext);
        ext[0].kind = DST;
        ext[0].n = 24;
        ext[0].bytes[1] = 2;
        for (unsigned i = 0; i < options; i++)
            ext[0].bytes[2 + 2 * i] = 0x1E;
        if (options < 11)
            ext[0].bytes[2 + 2 * options] = 0x1E, ext[0].bytes[3 + 2 * options] = (tenon_u8)(20 - 2 * options);
        ib_open();
        n = chain(p, &ib.us6, ext, UDP);
        ib_inject(p, n);
        HN_EQUAL(ib.received, options + 1 <= 8);
        ib_close();
    }
}

static void header_fields(void)
{
    static const struct {
        const char *name;
        unsigned at, bytes;
        tenon_u32 value;
        unsigned received;
        int stat;
    } rows[] = {
        { "good", 0, 0, 0, 1, TENON_STAT_UDP_RCVD },
        { "version 0", 0, 1, 0, 0, TENON_STAT_IP6_BAD_HEADER },
        { "version 5", 0, 1, 0x50, 0, TENON_STAT_IP6_BAD_HEADER },
        { "version 7", 0, 1, 0x70, 0, TENON_STAT_IP6_BAD_HEADER },
        { "payload 0", 4, 2, 0, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "payload less than UDP", 4, 2, 39, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "payload one more than received", 4, 2, 41, 0, TENON_STAT_IP6_BAD_HEADER },
        { "payload 65535", 4, 2, 65535, 0, TENON_STAT_IP6_BAD_HEADER },
        { "hop limit 0", 7, 1, 0, 1, TENON_STAT_UDP_RCVD },
        { "flow label", 1, 1, 0x0F, 1, TENON_STAT_UDP_RCVD },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 p[128];
        size_t n;
        tenon_u32 before;

        hn_row = rows[i].name;
        ib_open();
        before = ib_stat((enum tenon_stat)rows[i].stat);
        n = ib_udp_packet(p, 0, 32);
        if (rows[i].bytes == 1)
            p[rows[i].at] = (tenon_u8)rows[i].value;
        else if (rows[i].bytes == 2)
            hn_put16(p + rows[i].at, rows[i].value);
        ib.ethertype = 0x86DD;
        ib_inject(p, n);
        HN_EQUAL(ib.received, rows[i].received);
        HN_EQUAL(ib_stat((enum tenon_stat)rows[i].stat) - before, 1);
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
    hn_row = "";
}

static void addresses(void)
{
    static const struct {
        const char *src, *dst;
        unsigned received;
        int stat;
    } rows[] = {
        { "2001:db8::2", "2001:db8::1", 1, TENON_STAT_UDP_RCVD },
        { "fe80::2", "2001:db8::1", 1, TENON_STAT_UDP_RCVD },
        { "ff02::1", "2001:db8::1", 0, TENON_STAT_IP6_MARTIAN },
        { "::", "2001:db8::1", 0, TENON_STAT_IP6_MARTIAN },
        { "::1", "2001:db8::1", 0, TENON_STAT_IP6_MARTIAN },
        { "2001:db8::1", "2001:db8::1", 0, TENON_STAT_IP6_MARTIAN },
        { "2001:db8::2", "::1", 0, TENON_STAT_IP6_MARTIAN },
        { "2001:db8::2", "::", 0, TENON_STAT_IP6_MARTIAN },
        { "2001:db8::2", "2001:db8::3", 0, TENON_STAT_IP_NOT_OURS },
        { "2001:db8::2", "ff02::1", 1, TENON_STAT_UDP_RCVD },
        { "2001:db8::2", "ff02::1:ff00:1", 1, TENON_STAT_UDP_RCVD },
        { "2001:db8::2", "ff02::99", 0, TENON_STAT_IP_NOT_OURS },
        { "2001:db8::2", "ff05::1:3", 0, TENON_STAT_IP_NOT_OURS },
        { "2001:db8::2", "ff01::1", 0, TENON_STAT_IP6_MARTIAN },
        { "2001:db8::2", "ff10::7", 0, TENON_STAT_IP6_MARTIAN },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip src = hn_ip(rows[i].src), dst = hn_ip(rows[i].dst);
        tenon_u8 p[128];
        size_t n;

        hn_row = rows[i].src;
        ib_open();
        n = ib_udp(p + 40, &src, &dst, IB_PEER_PORT, IB_PORT, 8, 1);
        hn_ip_header(p, &src, &dst, 17, 64, n);
        ib_inject(p, 40 + n);
        HN_EQUAL(ib.received, rows[i].received);
        HN_EQUAL(ib_stat((enum tenon_stat)rows[i].stat), 1);
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
    hn_row = "";
}

/* ::ffff:a.b.c.d on the wire would pass for an IPv4 address further up. */
static void mapped_addresses(void)
{
    tenon_u8 p[128];
    size_t n;

    ib_open();
    n = ib_udp(p + 40, &ib.peer6, &ib.us6, IB_PEER_PORT, IB_PORT, 8, 1);
    hn_ip_header(p, &ib.peer6, &ib.us6, 17, 64, n);
    hn_put_ip(p + 8, &ib.peer4);
    ib_inject(p, 40 + n);
    hn_put_ip(p + 8, &ib.peer6);
    hn_put_ip(p + 24, &ib.us4);
    ib_inject(p, 40 + n);
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(ib_stat(TENON_STAT_IP6_MARTIAN), 2);
    ib_close();
}

static void every_truncation(void)
{
    static const struct ext ext[] = { { HBH, 8, OPTIONS_EMPTY }, { DST, 16, { 0, 1, 1, 4, 0, 0, 0, 0, 1, 6 } },
        { FH, 8, FRAGMENT_ATOMIC }, { RH, 8, { 0, 0, 4, 0 } }, { 0, 0, { 0 } } };
    tenon_u8 p[200];
    size_t len;

    ib_open();
    len = chain(p, &ib.us6, ext, UDP);
    for (size_t n = 1; n < len; n++) {
        tenon_u8 cut[200];

        ib_inject(p, n);
        memcpy(cut, p, len);
        if (n >= 40) {
            hn_put16(cut + 4, (unsigned)(n - 40));
            ib_inject(cut, n);
        }
    }
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(hn_left(&ib.hn), 0);
    ib_close();
}

/* Spans that end anywhere: inside the header, inside the chain, inside the payload. */
static void every_cut(void)
{
    static const struct ext ext[] = { { HBH, 8, OPTIONS_EMPTY }, { DST, 8, OPTIONS_EMPTY }, { FH, 8, FRAGMENT_ATOMIC },
        { RH, 8, { 0, 0, 4, 0 } }, { 0, 0, { 0 } } };
    tenon_u8 p[300];

    for (int plain = 0; plain < 2; plain++) {
        size_t n;
        unsigned want = 0;

        ib_open();
        n = plain ? ib_udp_packet(p, 0, 100) : chain(p, &ib.us6, ext, UDP);
        for (size_t cut = 14; cut < 14 + n; cut++) {
            ib_inject_to(NULL, p, n, cut);
            if (!HN_EQUAL(ib.received, ++want))
                break;
            HN_CHECK(memcmp(ib.bytes, p + n - ib.info.bytes, ib.info.bytes) == 0);
        }
        ib_close();
    }
}

/* Random chains of real kinds with random contents. */
static void fuzz_chains(void)
{
    static const tenon_u8 kinds[] = { 0, 6, 17, 43, 44, 50, 51, 58, 59, 60, 253 };
    tenon_u32 x = 3;

    ib_open();
    for (unsigned i = 0; i < 30000; i++) {
        tenon_u8 p[300];
        const size_t n = 40 + ib_random(&x) % 240;
        size_t at = 40;

        for (size_t k = 40; k < n; k++)
            p[k] = (tenon_u8)(ib_random(&x) & (i & 1 ? 0xFF : 0x03));
        hn_ip_header(p, &ib.peer6, &ib.us6, kinds[ib_random(&x) % sizeof kinds], 64, n - 40);
        while (at + 8 <= n) {
            p[at] = kinds[ib_random(&x) % sizeof kinds];
            p[at + 1] = (tenon_u8)(ib_random(&x) % 3);
            at += 8 * (1U + p[at + 1]);
        }
        ib_inject_to(NULL, p, n, i & 4 ? 14 + ib_random(&x) % n : 0);
        if (i % 512 == 0) {
            hn_run_ms(&ib.hn, 1000);
            hn_forget(&ib.hn);
        }
    }
    hn_run_ms(&ib.hn, 70000);
    ib_close();
}

static const struct hn_test tests[] = {
    { "ip6_chains",
      "IP6-3 IP6-4 IP6-5 IP6-8 IP6-15 IP6-18 VUL-F-5 CVE-2020-17444 CVE-2021-24086 "
      "CVE-2022-36053", chains },
    { "ip6_option_actions", "IP6-6 ICMP6-4", option_actions },
    { "ip6_padding", "IP6-7 IP6-19", padding },
    { "ip6_header_fields", "IP6-1 VUL-F-1 CVE-2020-11897 CVE-2020-17441", header_fields },
    { "ip6_addresses", "IP6-2", addresses },
    { "ip6_mapped_addresses", "IP6-2", mapped_addresses },
    { "ip6_every_truncation", "IP6-1 VUL-F-1 VUL-F-2 CVE-2020-11913 CVE-2020-25112", every_truncation },
    { "ip6_every_cut", "VUL-F-1", every_cut },
    { "ip6_fuzz_chains", "VUL-F-2 VUL-F-4 VUL-F-5 CVE-2020-13984", fuzz_chains },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
