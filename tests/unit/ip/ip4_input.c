/* SPDX-License-Identifier: MIT */
/* IPv4 input: which packets reach their transport, which do not, and what is said and counted then. */
#include "ip_bench.h"

static const tenon_u8 mac_all[6] = { 255, 255, 255, 255, 255, 255 };

/* What is done to a good UDP packet before it is given to the instance. */
struct row {
    const char *name;
    unsigned at, bytes;           /* header field that is changed: offset, 1, 2 or 4 bytes; 0 bytes: none */
    tenon_u32 value;
    int sum;                      /* 1: the header checksum is made right afterwards */
    unsigned received;
    int stat;                     /* counter that must have gone up by one; -1: none */
};

static void change(tenon_u8 *p, const struct row *row)
{
    if (row->bytes == 1)
        p[row->at] = (tenon_u8)row->value;
    else if (row->bytes == 2)
        hn_put16(p + row->at, row->value);
    else if (row->bytes == 4)
        hn_put32(p + row->at, row->value);
    if (row->sum)
        ib_ip4_sum(p);
}

static void header_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tenon_u8 p[128];
        size_t len;
        tenon_u32 before;

        hn_row = rows[i].name;
        ib_open();
        before = rows[i].stat >= 0 ? ib_stat((enum tenon_stat)rows[i].stat) : 0;
        len = ib_udp_packet(p, 1, 32);
        change(p, &rows[i]);
        ib.ethertype = 0x0800;
        ib_inject(p, len);
        HN_EQUAL(ib.received, rows[i].received);
        if (rows[i].stat >= 0)
            HN_EQUAL(ib_stat((enum tenon_stat)rows[i].stat) - before, 1);
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
    hn_row = "";
}

static void header_fields(void)
{
    static const struct row rows[] = {
        { "good", 0, 0, 0, 0, 1, TENON_STAT_UDP_RCVD },
        { "version 0", 0, 1, 0x05, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "version 5", 0, 1, 0x55, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "version 6 in an IPv4 frame", 0, 1, 0x65, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "version 15", 0, 1, 0xF5, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "ihl 0", 0, 1, 0x40, 0, 0, TENON_STAT_IP4_BAD_HEADER },
        { "ihl 4", 0, 1, 0x44, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "ihl 15 reaches into data", 0, 1, 0x4F, 1, 0, -1 },
        { "total 0", 2, 2, 0, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "total 19", 2, 2, 19, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "total is the header", 2, 2, 20, 1, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "total one less than UDP says", 2, 2, 59, 1, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "total one more than received", 2, 2, 61, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "total 65535", 2, 2, 65535, 1, 0, TENON_STAT_IP4_BAD_HEADER },
        { "checksum wrong", 10, 2, 0x1234, 0, 0, TENON_STAT_IP4_BAD_CSUM },
        { "ttl 0 is for us all the same", 8, 1, 0, 1, 1, TENON_STAT_UDP_RCVD },
        { "ttl 1", 8, 1, 1, 1, 1, TENON_STAT_UDP_RCVD },
        { "tos", 1, 1, 0xB9, 1, 1, TENON_STAT_UDP_RCVD },
        { "reserved flag", 6, 2, 0x8000, 1, 1, TENON_STAT_UDP_RCVD },
        { "df", 6, 2, 0x4000, 1, 1, TENON_STAT_UDP_RCVD },
    };

    header_rows(rows, TENON_ARRAY_LEN(rows));
}

static void sources(void)
{
    static const struct row rows[] = {
        { "0.0.0.0", 12, 4, 0, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "0.1.2.3", 12, 4, 0x00010203, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "127.0.0.1", 12, 4, 0x7F000001, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "224.0.0.1", 12, 4, 0xE0000001, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "239.255.255.255", 12, 4, 0xEFFFFFFF, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "240.0.0.1", 12, 4, 0xF0000001, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "255.255.255.255", 12, 4, 0xFFFFFFFF, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "our broadcast", 12, 4, 0xC00002FF, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "our network", 12, 4, 0xC0000200, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "ourselves (land)", 12, 4, 0xC0000201, 1, 0, TENON_STAT_IP4_MARTIAN },
    };

    header_rows(rows, TENON_ARRAY_LEN(rows));
}

static void destinations(void)
{
    static const struct row rows[] = {
        { "somebody else", 16, 4, 0xC0000203, 1, 0, TENON_STAT_IP_NOT_OURS },
        { "127.0.0.1", 16, 4, 0x7F000001, 1, 0, TENON_STAT_IP4_MARTIAN },
        { "a group that nobody joined", 16, 4, 0xE1010101, 1, 0, TENON_STAT_IP_NOT_OURS },
        { "class E", 16, 4, 0xF0000001, 1, 0, TENON_STAT_IP_NOT_OURS },
    };

    header_rows(rows, TENON_ARRAY_LEN(rows));
}

/* IP destination and kind of frame: who hears it. */
static void cast_table(void)
{
    static const struct {
        const char *name, *dst;
        int all;             /* in a broadcast frame */
        unsigned received;
    } rows[] = {
        { "unicast in unicast", "192.0.2.1", 0, 1 },
        { "unicast in broadcast", "192.0.2.1", 1, 0 },
        { "limited broadcast", "255.255.255.255", 1, 1 },
        { "subnet broadcast", "192.0.2.255", 1, 1 },
        { "subnet broadcast, old form", "192.0.2.0", 1, 1 },
        { "0.0.0.0", "0.0.0.0", 1, 1 },
        { "broadcast in unicast", "192.0.2.255", 0, 1 },
        { "broadcast of another net", "198.51.100.255", 1, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i].dst);
        tenon_u8 p[128];
        size_t len;

        hn_row = rows[i].name;
        ib_open();
        len = ib_udp(p + 20, &ib.peer4, &dst, IB_PEER_PORT, IB_PORT, 10, 1);
        hn_ip_header(p, &ib.peer4, &dst, 17, 64, len);
        ib_inject_to(rows[i].all ? mac_all : NULL, p, 20 + len, 0);
        HN_EQUAL(ib.received, rows[i].received);
        if (rows[i].received)
            HN_CHECK(tenon_ip_equal(&ib.info.to.ip, &dst));
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
    hn_row = "";
}

/* A DHCP client has no address: its broadcasts are heard, but never a unicast. */
static void source_unspecified_broadcast(void)
{
    const struct tenon_ip none = tenon_ip4(0);
    const struct tenon_ip all = tenon_ip4(0xFFFFFFFF);
    tenon_u8 p[128];
    size_t len;

    ib_open();
    len = ib_udp(p + 20, &none, &all, 68, IB_PORT, 10, 1);
    hn_ip_header(p, &none, &all, 17, 64, len);
    ib_inject_to(mac_all, p, 20 + len, 0);
    HN_EQUAL(ib.received, 1);
    ib_close();
}

static void options(void)
{
    static const struct {
        const char *name;
        tenon_u8 bytes[12];
        unsigned n;
        unsigned received;
    } rows[] = {
        { "none", { 0 }, 0, 1 },
        { "nop nop nop end", { 1, 1, 1, 0 }, 4, 1 },
        { "unknown", { 0x5E, 4, 9, 9 }, 4, 1 },
        { "record route", { 7, 7, 4, 0, 0, 0, 0, 0 }, 8, 1 },
        { "router alert", { 148, 4, 0, 0 }, 4, 1 },
        { "garbage after the end", { 0, 131, 255, 255 }, 4, 1 },
        { "loose source route", { 131, 7, 4, 1, 2, 3, 4, 0 }, 8, 0 },
        { "strict source route", { 137, 7, 4, 1, 2, 3, 4, 0 }, 8, 0 },
        { "source route with pointer 0", { 131, 7, 0, 1, 2, 3, 4, 0 }, 8, 0 },
        { "length 0", { 7, 0, 0, 0 }, 4, 0 },
        { "length 1", { 7, 1, 0, 0 }, 4, 0 },
        { "length over the end", { 7, 9, 4, 0, 0, 0, 0, 0 }, 8, 0 },
        { "length 255", { 7, 255, 4, 0 }, 4, 0 },
        { "kind without length", { 1, 1, 1, 7 }, 4, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const size_t ip = 20 + rows[i].n;
        tenon_u8 p[128];
        size_t len;

        hn_row = rows[i].name;
        ib_open();
        len = ib_udp(p + ip, &ib.peer4, &ib.us4, IB_PEER_PORT, IB_PORT, 20, 3);
        hn_ip_header(p, &ib.peer4, &ib.us4, 17, 64, len + rows[i].n);
        memcpy(p + 20, rows[i].bytes, rows[i].n);
        p[0] = (tenon_u8)(0x40 | ip / 4);
        ib_ip4_sum(p);
        ib_inject(p, ip + len);
        HN_EQUAL(ib.received, rows[i].received);
        HN_EQUAL(ib_stat(TENON_STAT_IP4_BAD_OPTION), !rows[i].received);
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
    hn_row = "";
}

/* Bytes behind the total length are the link's. */
static void padding_trimmed(void)
{
    tenon_u8 p[128];
    size_t len;

    ib_open();
    memset(p, 0xEE, sizeof p);
    len = ib_udp_packet(p, 1, 3);
    ib_inject(p, len + 15);
    HN_EQUAL(ib.received, 1);
    HN_EQUAL(ib.info.bytes, 3);
    ib_close();
}

/* Every prefix of a good packet: nothing is read that is not there (the sanitizer sees it), nothing arrives. */
static void every_truncation(void)
{
    tenon_u8 p[128];
    size_t len;

    ib_open();
    len = ib_udp_packet(p, 1, 32);
    for (size_t n = 1; n < len; n++)
        ib_inject(p, n);
    HN_EQUAL(ib.received, 0);
    for (size_t n = 20; n < len; n++) {
        tenon_u8 cut[128];

        memcpy(cut, p, len);
        hn_put16(cut + 2, (unsigned)n);
        ib_ip4_sum(cut);
        ib_inject(cut, n);
    }
    HN_EQUAL(ib.received, 0);
    ib_inject(p, len);
    HN_EQUAL(ib.received, 1);
    ib_close();
}

/* A frame may be cut into spans anywhere in its packet. */
static void every_cut(void)
{
    tenon_u8 p[256];
    size_t len;
    unsigned want = 0;

    ib_open();
    len = ib_udp_packet(p, 1, 100);
    for (size_t cut = 14; cut < 14 + len; cut++) {
        ib.info.bytes = 0;
        ib_inject_to(NULL, p, len, cut);
        want++;
        if (!HN_EQUAL(ib.received, want))
            break;
        HN_EQUAL(ib.info.bytes, 100);
        for (size_t i = 0; i < 100; i++)
            HN_EQUAL(ib.bytes[i], p[28 + i]);
    }
    ib_close();
}

/* Delivered with its DSCP, ECN and TTL. */
static void metadata(void)
{
    tenon_u8 p[128];
    size_t len;

    ib_open();
    len = ib_udp_packet(p, 1, 8);
    p[1] = 0xB9;
    p[8] = 17;
    ib_ip4_sum(p);
    ib_inject(p, len);
    HN_EQUAL(ib.received, 1);
    HN_EQUAL(ib.info.tos, 0xB9);
    HN_EQUAL(ib.info.ttl, 17);
    HN_EQUAL(ib.info.from.port, IB_PEER_PORT);
    HN_EQUAL(ib.info.to.port, IB_PORT);
    HN_EQUAL(ib.info.from.netif, ib.netif);
    HN_CHECK(tenon_ip_equal(&ib.info.from.ip, &ib.peer4));
    HN_CHECK(tenon_ip_equal(&ib.info.to.ip, &ib.us4));
    ib_close();
}

/* Weak end systems: an address of ours is ours on every interface. */
static void other_interface(void)
{
    const struct tenon_ip second = hn_ip("198.51.100.1");
    tenon_u8 p[128];
    size_t len;
    unsigned netif;

    ib_open();
    netif = hn_netif(&ib.hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, netif, &second, 24), TENON_OK);
    len = ib_udp(p + 20, &ib.peer4, &second, IB_PEER_PORT, IB_PORT, 10, 1);
    hn_ip_header(p, &ib.peer4, &second, 17, 64, len);
    ib_inject(p, 20 + len);
    HN_EQUAL(ib.received, 1);
    HN_EQUAL(ib.info.to.netif, ib.netif);
    ib_close();
}

/* A host does not forward, and does not answer for others. */
static void no_forwarding(void)
{
    const struct tenon_ip far = hn_ip("203.0.113.9");
    tenon_u8 p[128];
    size_t len;

    ib_open();
    len = ib_udp(p + 20, &ib.peer4, &far, IB_PEER_PORT, IB_PORT, 10, 1);
    hn_ip_header(p, &ib.peer4, &far, 17, 64, len);
    ib_inject(p, 20 + len);
    hn_run_ms(&ib.hn, 10);
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(hn_left(&ib.hn), 0);
    HN_EQUAL(ib_stat(TENON_STAT_IP_NOT_OURS), 1);
    ib_close();
}

/* What is known of an address is forgotten when it changes. */
static void addresses_change(void)
{
    const struct tenon_ip second = hn_ip("192.0.2.77");
    tenon_u8 p[128];
    size_t len;

    ib_open();
    len = ib_udp(p + 20, &ib.peer4, &second, IB_PEER_PORT, IB_PORT, 10, 1);
    hn_ip_header(p, &ib.peer4, &second, 17, 64, len);
    for (unsigned i = 0; i < 3; i++) {
        ib_inject(p, 20 + len);
        HN_EQUAL(ib.received, i);
        HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &second, 24), TENON_OK);
        hn_run_ms(&ib.hn, 20000);
        ib_inject(p, 20 + len);
        HN_EQUAL(ib.received, i + 1);
        HN_EQUAL(tenon_addr_remove(ib.hn.stack, ib.netif, &second), TENON_OK);
    }
    /* A peer's address that becomes ours. */
    ib_inject(p, ib_udp_packet(p, 1, 8));
    HN_EQUAL(ib.received, 4);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &ib.peer4, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    ib_inject(p, ib_udp_packet(p, 1, 8));
    HN_EQUAL(ib.received, 4);
    HN_EQUAL(ib_stat(TENON_STAT_IP4_MARTIAN), 1);
    ib_close();
}

/* A transparent listener gets TCP to addresses that are not ours; nobody else gets anything. */
static void foreign(void)
{
    static const struct tenon_tcp_events events;
    const struct tenon_addr at = ib_at(tenon_ip_any(), 80);
    struct tenon_tcp_listener *listener;

    for (int v4 = 0; v4 < 2; v4++) {
        const struct tenon_ip far = hn_ip(v4 ? "203.0.113.9" : "2001:db8:9::9");
        const struct tenon_ip *peer = v4 ? &ib.peer4 : &ib.peer6;
        const size_t ip = v4 ? 20 : 40;
        tenon_u8 p[128];
        size_t len;

        for (int on = 0; on < 2; on++) {
            ib_open();
            HN_EQUAL(tenon_tcp_listen(ib.hn.stack, &listener, &at, &events, NULL, 0), TENON_OK);
            if (on)
                HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_TRANSPARENT, 1), TENON_OK);
            memset(p, 0, sizeof p);
            hn_put16(p + ip, 4000);
            hn_put16(p + ip + 2, 80);
            p[ip + 12] = 0x50;
            p[ip + 13] = 0x02;
            hn_put16(p + ip + 14, 8000);
            hn_put16(p + ip + 16, ~hn_sum(hn_pseudo(peer, &far, 6, 20), p + ip, 20) & 0xFFFF);
            hn_ip_header(p, peer, &far, 6, 64, 20);
            ib_inject(p, ip + 20);
            HN_EQUAL(ib_stat(TENON_STAT_TCP_RCVD), on);
            HN_EQUAL(hn_left(&ib.hn), on);
            len = ib_udp(p + ip, peer, &far, IB_PEER_PORT, IB_PORT, 10, 1);
            hn_ip_header(p, peer, &far, 17, 64, len);
            ib_inject(p, ip + len);
            HN_EQUAL(ib.received, 0);
            memset(p + ip, 0, 16);
            p[ip] = v4 ? 8 : 128;
            ib_icmp_sum(p + ip, 16, peer, &far);
            hn_ip_header(p, peer, &far, v4 ? 1 : 58, 64, 16);
            ib_inject(p, ip + 16);
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_ECHO_ANSWERED), 0);
            HN_EQUAL(ib_stat(TENON_STAT_IP_NOT_OURS), on ? 1 : 3);
            HN_EQUAL(hn_left(&ib.hn), on);
            ib_close();
        }
    }
}

/* Random headers in front of random bytes, checksum right: nothing breaks. */
static void fuzz_headers(void)
{
    tenon_u32 x = 1;

    ib_open();
    for (unsigned i = 0; i < 20000; i++) {
        tenon_u8 p[200];
        const size_t n = 20 + ib_random(&x) % 180;

        for (size_t k = 0; k < n; k++)
            p[k] = (tenon_u8)ib_random(&x);
        p[0] = (tenon_u8)(0x40 | (i & 7 ? 5 + ib_random(&x) % 11 : ib_random(&x) % 16));
        if (i & 3)
            hn_put16(p + 2, (unsigned)n);
        hn_put32(p + 12, ib.peer4.w[3]);
        hn_put32(p + 16, ib.us4.w[3]);
        if (i & 1)
            hn_put16(p + 6, 0);
        if ((p[0] & 15U) * 4U <= n)
            ib_ip4_sum(p);
        ib_inject(p, n);
        if (i % 512 == 0)
            hn_forget(&ib.hn);
    }
    hn_run_ms(&ib.hn, 70000);
    ib_close();
}

static const struct hn_test tests[] = {
    { "ip4_header_fields",
      "IP4-1 IP4-2 IP4-3 IP4-4 IP4-18 VUL-F-1 VUL-F-2 CVE-2018-16601 CVE-2020-11909", header_fields },
    { "ip4_sources", "IP4-6 UDP-7 CVE-1999-0016", sources },
    { "ip4_destinations", "IP4-5 IP4-7", destinations },
    { "ip4_cast_table", "IP4-28 IP4-29 IP4-33", cast_table },
    { "ip4_source_unspecified_broadcast", "IP4-6", source_unspecified_broadcast },
    { "ip4_options", "IP4-19 UDP-11 VUL-F-3 CVE-2019-12256 CVE-2021-24074", options },
    { "ip4_padding_trimmed", "IP4-4 IP4-30", padding_trimmed },
    { "ip4_every_truncation", "IP4-3 IP4-4 VUL-F-1", every_truncation },
    { "ip4_every_cut", "VUL-F-1", every_cut },
    { "ip4_metadata", "IP4-20 UDP-6", metadata },
    { "ip4_other_interface", "IP4-26", other_interface },
    { "ip4_no_forwarding", "IP4-31 IP4-5", no_forwarding },
    { "ip4_addresses_change", "IP4-5 IP4-6", addresses_change },
    { "ip_foreign", "IP4-5", foreign },
    { "ip4_fuzz_headers", "VUL-F-1 VUL-F-2 VUL-F-3", fuzz_headers },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
