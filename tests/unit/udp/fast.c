/* SPDX-License-Identifier: MIT */
/* The short way of usual datagrams (udp_fast.c): what takes it, what must not, and that both ways lead to the same. */
#include "core.h"
#include "ip/ip_bench.h"
#include "link/link_internal.h"
#include "udp/udp_internal.h"

/* ---- one instance -------------------------------------------------------------------------------------------- */

/* Two interfaces: on the second we are 198.51.100.1, and 198.51.100.2 is a neighbour. */
static void two_open(tenon_u32 caps)
{
    const struct tenon_ip us = hn_ip("198.51.100.1"), peer = hn_ip("198.51.100.2");
    struct tenon_netif_conf conf;
    tenon_u8 mac[6];

    ib_open_conf(NULL, caps);
    memset(&conf, 0, sizeof conf);
    hn_mac(conf.mac, 0, 2);
    conf.mtu = 1500;
    conf.caps = caps;
    conf.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | TENON_NETIF_NO_IP6;
    HN_EQUAL(tenon_netif_add(ib.hn.stack, &conf), 2);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, 2, &us, 24), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(ib.hn.stack, 2, &peer, hn_mac(mac, 1, 9)), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    hn_forget(&ib.hn);
}

/* A datagram as it comes in; what a test wants to be odd it changes before fast_in(). */
struct fast_dgram {
    tenon_u8 bytes[14 + 40 + 8 + 1000];    /* the frame */
    size_t len, cut, cut2;
    size_t l4;                             /* where the header of UDP is */
    unsigned netif;
    struct tenon_frame frame;
};

static void fast_make(struct fast_dgram *in, const char *src, unsigned sport, const char *dst, unsigned dport, size_t n)
{
    const struct tenon_ip from = hn_ip(src), to = hn_ip(dst);
    const int is_v4 = tenon_ip_is_v4(&to);
    tenon_u8 us[6], peer[6];
    size_t len;

    memset(in, 0, sizeof *in);
    in->netif = ib.netif;
    in->l4 = is_v4 ? 34 : 54;
    len = ib_udp(in->bytes + in->l4, &from, &to, sport, dport, n, 3);
    hn_ip_header(in->bytes + 14, &from, &to, 17, 64, len);
    hn_eth(in->bytes, hn_mac(us, 0, in->netif), hn_mac(peer, 1, 2), is_v4 ? 0x0800 : 0x86DD);
    in->len = in->l4 + len;
}

static void fast_put(struct hn *hn, const struct fast_dgram *in)
{
    const size_t first = in->cut > 0 ? in->cut : in->len, second = in->cut2 > 0 ? in->cut2 : in->len;
    const size_t at[4] = { 0, first, second, in->len };
    struct tenon_frame frame = in->frame;
    struct tenon_span spans[3];

    frame.spans = spans;
    frame.nspans = (tenon_u16)(1 + (in->cut > 0) + (in->cut2 > 0));
    for (unsigned i = 0; i < frame.nspans; i++) {
        spans[i].len = (tenon_u32)(at[i + 1] - at[i]);
        spans[i].off = 0;
        spans[i].buf = hn_buf(hn, spans[i].len);
        memcpy(spans[i].buf->data, in->bytes + at[i], spans[i].len);
    }
    HN_EQUAL(tenon_input(hn->stack, in->netif, &frame, 1, hn->now_us), TENON_OK);
    for (unsigned i = 0; i < frame.nspans; i++)
        tenon_buf_put(spans[i].buf);
}

/* @return whether it went the short way: the general one asks what its addresses are, and remembers the answers */
static int fast_in(const struct fast_dgram *in)
{
    const struct tn_ip *const ip = &ib.hn.stack->ip;
    unsigned asked = 0;

    memset(ib.hn.stack->ip.known, 0, sizeof ip->known);
    fast_put(&ib.hn, in);
    for (unsigned i = 0; i < TN_IP_KNOWN; i++)
        asked += ip->known[i].netif != 0;
    return asked == 0;
}

static int fast_from(const char *src, unsigned sport, const char *dst, unsigned dport)
{
    struct fast_dgram in;

    fast_make(&in, src, sport, dst, dport, 10);
    return fast_in(&in);
}

/* A socket that counts, and does something. */
enum ear_does { EAR_NOTHING, EAR_CLOSES, EAR_ANSWERS, EAR_REMOVES };
struct fast_ear {
    struct tenon_udp *sock;
    unsigned heard, first;    /* the first byte of the last */
    enum ear_does does;
    struct fast_ear *whom;    /* it closes */
    struct tenon_udp_info info;
};

static unsigned fast_pieces = 1;    /* of what is heard */

static void fast_heard(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                       const struct tenon_span *spans, unsigned n)
{
    struct fast_ear *ear = app;

    HN_EQUAL(n, info->bytes > 0 ? fast_pieces : 0);
    for (tenon_u32 i = 0; n > 0 && i < spans->len; i++)
        HN_EQUAL(tenon_span_data(spans)[i], (tenon_u8)(tenon_span_data(spans)[0] + i * 7));
    for (unsigned i = 1; i < n; i++)
        HN_EQUAL(tenon_span_data(&spans[i])[0],
                 (tenon_u8)(tenon_span_data(&spans[i - 1])[0] + spans[i - 1].len * 7));
    if (n > 0)
        ear->first = tenon_span_data(spans)[0];
    ear->heard++;
    ear->info = *info;
    if (ear->does == EAR_CLOSES && ear->whom->sock != NULL) {
        tenon_udp_close(ear->whom->sock);
        ear->whom->sock = NULL;
    }
    if (ear->does == EAR_REMOVES)
        (void)tenon_addr_remove(ib.hn.stack, ib.netif, &info->to.ip);
    if (ear->does == EAR_ANSWERS)
        HN_EQUAL(tenon_udp_write(sock, &info->from, "answer", 6), TENON_OK);
}

static const struct tenon_udp_events fast_events = { fast_heard, NULL };

static void fast_open(struct fast_ear *ear, const char *ip, unsigned port)
{
    const struct tenon_addr at = ib_at(ip != NULL ? hn_ip(ip) : tenon_ip_any(), port);

    memset(ear, 0, sizeof *ear);
    HN_EQUAL(tenon_udp_open(ib.hn.stack, &ear->sock, &fast_events, ear), TENON_OK);
    HN_EQUAL(tenon_udp_bind(ear->sock, &at), TENON_OK);
}

static void fast_connect(const struct fast_ear *ear, const char *ip, unsigned port)
{
    const struct tenon_addr to = ib_at(hn_ip(ip), port);

    HN_EQUAL(tenon_udp_connect(ear->sock, &to), TENON_OK);
}

/* ---- what comes ---------------------------------------------------------------------------------------------- */

/* The second of a kind: from whomever, while nobody is connected. */
static void second_is_short(void)
{
    struct fast_ear ear, pair;

    ib_open();
    fast_open(&ear, NULL, 50);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 1);
    HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 50), 1);
    HN_EQUAL(ear.info.from.port, 4001);
    HN_EQUAL(fast_from("203.0.113.9", 77, "192.0.2.1", 50), 0);    /* who that is has to be found out */
    HN_EQUAL(ear.heard, 4);
    HN_EQUAL(fast_from("203.0.113.9", 77, "192.0.2.1", 50), 1);
    HN_EQUAL(ear.info.from.ip.w[3], hn_ip("203.0.113.9").w[3]);
    /* Once somebody is, it is between two ends. */
    fast_open(&pair, NULL, 51);
    fast_connect(&pair, "192.0.2.2", 4000);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 51), 0);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 51), 1);
    HN_EQUAL(pair.heard, 2);
    HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 51), 0);
    HN_EQUAL(pair.heard, 2);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 1);
    HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 50), 0);
    HN_EQUAL(ear.heard, 8);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_RCVD), 10);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_NO_PORT), 1);
    ib_close();
}

static void odd_ip_sum(struct fast_dgram *in)
{
    ib_ip4_sum(in->bytes + 14);
}

static void odd_tos_ttl(struct fast_dgram *in)
{
    in->bytes[15] = 0xB7;
    in->bytes[22] = 3;
    odd_ip_sum(in);
}

static void odd_df(struct fast_dgram *in)
{
    in->bytes[20] = 0x40;
    odd_ip_sum(in);
}

static void odd_padded(struct fast_dgram *in)
{
    in->len += 18;
}
static void odd_no_csum(struct fast_dgram *in)
{
    hn_put16(in->bytes + in->l4 + 6, 0);
}

static void odd_empty(struct fast_dgram *in)
{
    fast_make(in, "192.0.2.2", 4000, "192.0.2.1", 50, 0);
}

static void odd_known_good(struct fast_dgram *in)
{
    in->bytes[in->l4 + 7] ^= 1;
    in->frame.csum = TENON_CSUM_GOOD;
}

static void odd_csum(struct fast_dgram *in)
{
    in->bytes[in->l4 + 7] ^= 1;
}
static void odd_byte(struct fast_dgram *in)
{
    in->bytes[in->l4 + 10] ^= 1;
}
static void odd_header(struct fast_dgram *in)
{
    in->bytes[22] ^= 1;
}
static void odd_mac(struct fast_dgram *in)
{
    in->bytes[5] ^= 4;
}
static void odd_all(struct fast_dgram *in)
{
    memset(in->bytes, 0xFF, 6);
}
static void odd_cut(struct fast_dgram *in)
{
    in->cut = in->l4 + 8;
}

static void odd_cut_padded(struct fast_dgram *in)
{
    in->cut = in->l4 + 8;
    in->len += 18;
}

static void odd_cut_broken(struct fast_dgram *in)
{
    in->cut = in->l4 + 8;
    in->bytes[in->l4 + 10] ^= 1;
}

/* Of both pieces the handler sees only that they are there: their bytes do not lie in a row. */
static void odd_cut_inside(struct fast_dgram *in)
{
    in->cut = in->l4 + 17;
    fast_pieces = 2;
}

static void odd_cut_twice(struct fast_dgram *in)
{
    in->cut = in->l4 + 8;
    in->cut2 = in->l4 + 13;
    fast_pieces = 2;
}

static void odd_cut_header(struct fast_dgram *in)
{
    in->cut = in->l4 + 7;
}

static void odd_fragment(struct fast_dgram *in)
{
    in->bytes[20] = 0x20;
    odd_ip_sum(in);
}

static void odd_options(struct fast_dgram *in)
{
    memmove(in->bytes + 38, in->bytes + 34, in->len - 34);
    memset(in->bytes + 34, 1, 4);
    in->bytes[14] = 0x46;
    in->len += 4;
    hn_put16(in->bytes + 16, (unsigned)in->len - 14);
    odd_ip_sum(in);
}

/* Bytes behind the datagram, within the packet. */
static void odd_short(struct fast_dgram *in)
{
    in->len += 4;
    hn_put16(in->bytes + 16, (unsigned)in->len - 14);
    odd_ip_sum(in);
}

static void odd_long(struct fast_dgram *in)
{
    hn_put16(in->bytes + 38, 19);
    hn_put16(in->bytes + 40, 0);
}

/* Not even a header. */
static void odd_tiny(struct fast_dgram *in)
{
    in->len = 34 + 6;
    hn_put16(in->bytes + 16, 26);
    hn_put16(in->bytes + 38, 6);
    in->frame.csum = TENON_CSUM_GOOD;
    odd_ip_sum(in);
    in->len += 20;    /* padding */
}

static void odd_together(struct fast_dgram *in)
{
    in->frame.seg_kind = TENON_SEG_UDP;
    in->frame.seg_bytes = 5;
}

static void odd_interface(struct fast_dgram *in)
{
    tenon_u8 mac[6];

    in->netif = 2;
    memcpy(in->bytes, hn_mac(mac, 0, 2), 6);
}

static void odd_us(struct fast_dgram *in)
{
    fast_make(in, "192.0.2.1", 4000, "192.0.2.1", 50, 10);
}

static void odd_everybody(struct fast_dgram *in)
{
    fast_make(in, "192.0.2.255", 4000, "192.0.2.1", 50, 10);
}

static void odd_loopback(struct fast_dgram *in)
{
    fast_make(in, "127.0.0.1", 4000, "192.0.2.1", 50, 10);
}

static void odd_group(struct fast_dgram *in)
{
    fast_make(in, "239.0.0.1", 4000, "192.0.2.1", 50, 10);
}

static void odd_nobody(struct fast_dgram *in)
{
    fast_make(in, "0.0.0.0", 4000, "192.0.2.1", 50, 10);
}

static void odd_other(struct fast_dgram *in)
{
    fast_make(in, "192.0.2.2", 4000, "192.0.2.77", 50, 10);
}

static void odd_port(struct fast_dgram *in)
{
    fast_make(in, "192.0.2.2", 4000, "192.0.2.1", 2168, 10);
}

struct odd_row {
    const char *name;
    void (*change)(struct fast_dgram *in);
    int is_short;        /* whether it goes the short way, if anybody hears it; -1: either */
    unsigned heard;
    int counts;          /* enum tenon_stat that says why; -1: none */
};

static void odd_heard(const struct fast_ear *ear, const struct fast_dgram *in)
{
    const int is_v4 = in->bytes[14] >> 4 == 4;
    const tenon_u8 *src = in->bytes + (is_v4 ? 26 : 34);    /* its last four bytes */

    HN_EQUAL(ear->first, 3);
    HN_EQUAL(ear->info.ttl, in->bytes[is_v4 ? 22 : 21]);
    HN_EQUAL(ear->info.tos, is_v4 ? in->bytes[15] : (hn_get16(in->bytes + 14) >> 4 & 0xFF));
    HN_EQUAL(ear->info.from.netif, in->netif);
    HN_EQUAL(ear->info.to.netif, in->netif);
    for (unsigned i = 0; i < (is_v4 ? 1U : 4U); i++)
        HN_EQUAL(ear->info.from.ip.w[3 - i], hn_get32(src - 4 * i));
}

/* Twice the usual datagram, then one that is not, or is all the same; and again the usual one.
 * pairs: while another socket is connected, so that both ends count */
static void odd_check(const struct odd_row *row, const char *src, const char *dst, int pairs)
{
    struct fast_ear ear, pair;
    struct fast_dgram in;
    tenon_u32 before = 0;
    int is_short;

    hn_row = row->name;
    two_open(0);
    fast_open(&ear, NULL, 50);
    if (pairs) {
        fast_open(&pair, NULL, 99);
        fast_connect(&pair, "192.0.2.2", 1);
    }
    HN_EQUAL(fast_from(src, 4000, dst, 50), 0);
    HN_EQUAL(fast_from(src, 4000, dst, 50), 1);
    HN_EQUAL(ear.heard, 2);
    if (row->counts >= 0)
        before = ib_stat((enum tenon_stat)row->counts);
    fast_make(&in, src, 4000, dst, 50, 10);
    row->change(&in);
    is_short = fast_in(&in);
    if (row->is_short >= 0 && row->heard > 0)
        HN_EQUAL(is_short, row->is_short);
    HN_EQUAL(ear.heard, 2 + row->heard);
    if (row->counts >= 0)
        HN_EQUAL(ib_stat((enum tenon_stat)row->counts), before + 1);
    if (row->heard == 1)
        odd_heard(&ear, &in);
    fast_pieces = 1;
    (void)fast_from(src, 4000, dst, 50);
    HN_EQUAL(ear.heard, 3 + row->heard);
    ib_close();
    hn_row = "";
}

static void what_is_odd(void)
{
    static const struct odd_row rows[] = {
        { "tos and ttl", odd_tos_ttl, 1, 1, -1 },
        { "may not be fragmented", odd_df, 1, 1, -1 },
        { "a padded frame", odd_padded, 1, 1, -1 },
        { "no checksum", odd_no_csum, 1, 1, -1 },
        { "empty", odd_empty, 1, 1, -1 },
        { "the port has summed", odd_known_good, 1, 1, -1 },
        { "a wrong checksum", odd_csum, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "a broken byte", odd_byte, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "a wrong checksum of the header", odd_header, -1, 0, TENON_STAT_IP4_BAD_CSUM },
        { "somebody else's frame", odd_mac, -1, 0, TENON_STAT_ETH_NOT_OURS },
        { "a frame for all", odd_all, 0, 0, TENON_STAT_IP4_MARTIAN },
        { "two spans", odd_cut, 1, 1, -1 },
        { "two spans and padding", odd_cut_padded, 1, 1, -1 },
        { "two spans, one of them broken", odd_cut_broken, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "cut payload", odd_cut_inside, 1, 1, -1 },
        { "three spans", odd_cut_twice, 1, 1, -1 },
        { "a cut header", odd_cut_header, 0, 1, -1 },
        { "a fragment", odd_fragment, 0, 0, -1 },
        { "options", odd_options, 0, 1, -1 },
        { "shorter than its packet", odd_short, 0, 1, -1 },
        { "longer than its packet", odd_long, 0, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "no header", odd_tiny, 0, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "put together", odd_together, 0, 2, -1 },
        { "the other interface", odd_interface, 0, 1, -1 },
        { "from us", odd_us, 0, 0, TENON_STAT_IP4_MARTIAN },
        { "from everybody", odd_everybody, 0, 0, TENON_STAT_IP4_MARTIAN },
        { "from the loopback", odd_loopback, 0, 0, TENON_STAT_IP4_MARTIAN },
        { "from a group", odd_group, 0, 0, TENON_STAT_IP4_MARTIAN },
        { "from nobody", odd_nobody, 0, 0, TENON_STAT_IP4_MARTIAN },
        { "to another host", odd_other, 0, 0, TENON_STAT_IP_NOT_OURS },
        { "to a port that shares the slot", odd_port, 0, 0, TENON_STAT_UDP_NO_PORT },
    };

    for (unsigned i = 0; i < 2 * TENON_ARRAY_LEN(rows); i++)
        odd_check(&rows[i / 2], "192.0.2.2", "192.0.2.1", i % 2 != 0);
}

static void odd6_tos_ttl(struct fast_dgram *in)
{
    in->bytes[14] = 0x6B;
    in->bytes[15] = 0x70;
    in->bytes[21] = 3;
}

static void odd6_empty(struct fast_dgram *in)
{
    fast_make(in, "2001:db8::2", 4000, "2001:db8::1", 50, 0);
}

/* A destination options header, which is ignored. */
static void odd6_extension(struct fast_dgram *in)
{
    static const tenon_u8 options[8] = { 17, 0, 1, 4, 0, 0, 0, 0 };

    memmove(in->bytes + 62, in->bytes + 54, in->len - 54);
    memcpy(in->bytes + 54, options, 8);
    in->bytes[20] = 60;
    in->len += 8;
    hn_put16(in->bytes + 18, (unsigned)in->len - 54);
}

static void odd6_short(struct fast_dgram *in)
{
    in->len += 4;
    hn_put16(in->bytes + 18, (unsigned)in->len - 54);
}

static void odd6_tiny(struct fast_dgram *in)
{
    in->len = 54 + 6;
    hn_put16(in->bytes + 18, 6);
    hn_put16(in->bytes + 58, 6);
    in->frame.csum = TENON_CSUM_GOOD;
    in->len += 20;    /* padding */
}

static void odd6_no_csum_good(struct fast_dgram *in)
{
    odd_no_csum(in);
    in->frame.csum = TENON_CSUM_GOOD;
}

static void odd6_us(struct fast_dgram *in)
{
    fast_make(in, "2001:db8::1", 4000, "2001:db8::1", 50, 10);
}

static void odd6_group(struct fast_dgram *in)
{
    fast_make(in, "ff05::1:3", 4000, "2001:db8::1", 50, 10);
}

static void odd6_loopback(struct fast_dgram *in)
{
    fast_make(in, "::1", 4000, "2001:db8::1", 50, 10);
}

static void odd6_other(struct fast_dgram *in)
{
    fast_make(in, "2001:db8::2", 4000, "2001:db8:0:1::1", 50, 10);
}

static void odd6_network(struct fast_dgram *in)
{
    fast_make(in, "2001:db8:0:1::2", 4000, "2001:db8::1", 50, 10);
}

static void odd6_port(struct fast_dgram *in)
{
    fast_make(in, "2001:db8::2", 4000, "2001:db8::1", 2168, 10);
}

/* The same over IPv6. */
static void what_is_odd6(void)
{
    static const struct odd_row rows[] = {
        { "traffic class and hop limit", odd6_tos_ttl, 1, 1, -1 },
        { "a padded frame", odd_padded, 1, 1, -1 },
        { "empty", odd6_empty, 1, 1, -1 },
        { "the port has summed", odd_known_good, 1, 1, -1 },
        { "two spans", odd_cut, 1, 1, -1 },
        { "two spans, one of them broken", odd_cut_broken, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "cut payload", odd_cut_inside, 1, 1, -1 },
        { "a cut header", odd_cut_header, 0, 1, -1 },
        { "no checksum", odd_no_csum, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "no checksum, of which the port says that it is right", odd6_no_csum_good, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "a wrong checksum", odd_csum, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "a broken byte", odd_byte, 0, 0, TENON_STAT_UDP_BAD_CSUM },
        { "an extension header", odd6_extension, 0, 1, -1 },
        { "shorter than its packet", odd6_short, 0, 1, -1 },
        { "no header", odd6_tiny, 0, 0, TENON_STAT_UDP_BAD_LENGTH },
        { "put together", odd_together, 0, 2, -1 },
        { "from us", odd6_us, 0, 0, TENON_STAT_IP6_MARTIAN },
        { "from a group", odd6_group, 0, 0, TENON_STAT_IP6_MARTIAN },
        { "from the loopback", odd6_loopback, 0, 0, TENON_STAT_IP6_MARTIAN },
        { "to another host", odd6_other, 0, 0, TENON_STAT_IP_NOT_OURS },
        { "from another network", odd6_network, -1, 1, -1 },
        { "to a port that shares the slot", odd6_port, 0, 0, TENON_STAT_UDP_NO_PORT },
    };

    for (unsigned i = 0; i < 2 * TENON_ARRAY_LEN(rows); i++)
        odd_check(&rows[i / 2], "2001:db8::2", "2001:db8::1", i % 2 != 0);
}

/* ---- what is forgotten --------------------------------------------------------------------------------------- */

/* Closed, by itself or by another, before or in its handler: the next datagram finds who is there. */
static void closed_is_forgotten(void)
{
    struct fast_ear ear, any;

    for (unsigned by_itself = 0; by_itself < 2; by_itself++) {
        ib_open();
        fast_open(&any, NULL, 50);
        fast_open(&ear, "192.0.2.1", 50);
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 1);
        HN_EQUAL(ear.heard, 2);
        if (by_itself) {
            ear.does = EAR_CLOSES;
            ear.whom = &ear;
            HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 1);
        } else {
            tenon_udp_close(ear.sock);
        }
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
        HN_EQUAL(any.heard, 1);
        tenon_udp_close(any.sock);
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
        HN_EQUAL(ib_stat(TENON_STAT_UDP_NO_PORT), 1);
        ib_close();
    }
}

/* Who is more specific comes later. */
static void bound_anew(void)
{
    struct fast_ear any, ours, pair;

    ib_open();
    fast_open(&any, NULL, 50);
    fast_open(&pair, NULL, 0);
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), i == 1);
    fast_open(&ours, "192.0.2.1", 50);
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), i == 1);
    HN_EQUAL(any.heard, 2);
    HN_EQUAL(ours.heard, 2);
    fast_connect(&ours, "192.0.2.2", 4001);
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), i == 1);
    HN_EQUAL(any.heard, 4);
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 50), i == 1);
    HN_EQUAL(ours.heard, 4);
    /* From that port of others, whatever slots they share. */
    for (unsigned i = 3; i < 60; i++) {
        char text[20];

        snprintf(text, sizeof text, "192.0.2.%u", i);
        HN_EQUAL(fast_from(text, 4001, "192.0.2.1", 50), 0);
        HN_EQUAL(any.heard, 2 + i);
        (void)fast_from("192.0.2.2", 4001, "192.0.2.1", 50);
        HN_EQUAL(ours.heard, 2 + i);
    }
    ours.heard = any.heard = 4;
    /* To another peer, and to none. */
    fast_connect(&ours, "192.0.2.3", 4001);
    HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 50), 0);
    HN_EQUAL(any.heard, 5);
    HN_EQUAL(tenon_udp_connect(ours.sock, NULL), TENON_OK);
    HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 50), 0);
    HN_EQUAL(fast_from("192.0.2.2", 4001, "192.0.2.1", 50), 1);
    HN_EQUAL(ours.heard, 6);
    HN_EQUAL(pair.heard, 0);
    ib_close();
}

/* An address that is gone is not ours, though the socket is still there. */
static void address_is_gone(void)
{
    const struct tenon_ip second = hn_ip("192.0.2.10"), third = hn_ip("192.0.2.12");
    struct fast_ear ear, here;

    ib_open();
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &second, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    fast_open(&ear, NULL, 50);
    fast_open(&here, "192.0.2.10", 51);
    for (unsigned i = 0; i < 2; i++) {
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.10", 50), i == 1);
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.10", 51), i == 1);
    }
    HN_EQUAL(tenon_addr_remove(ib.hn.stack, ib.netif, &second), TENON_OK);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.10", 50), 0);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.10", 51), 0);
    HN_EQUAL(ear.heard, 2);
    HN_EQUAL(here.heard, 2);
    HN_EQUAL(ib_stat(TENON_STAT_IP_NOT_OURS), 2);
    /* And who was a host may be one of us now. */
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(fast_from("192.0.2.12", 4000, "192.0.2.1", 50), i == 1);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &third, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    HN_EQUAL(fast_from("192.0.2.12", 4000, "192.0.2.1", 50), 0);
    HN_EQUAL(ear.heard, 4);
    HN_EQUAL(ib_stat(TENON_STAT_IP4_MARTIAN), 1);
    ib_close();
}

/* Datagrams that were put together, of which the first one's handler takes their address away. */
static void gone_between(void)
{
    const struct tenon_ip second = hn_ip("192.0.2.10");
    struct fast_dgram in;
    struct fast_ear ear;

    ib_open();
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &second, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    fast_open(&ear, NULL, 50);
    ear.does = EAR_REMOVES;
    fast_make(&in, "192.0.2.2", 4000, "192.0.2.10", 50, 10);
    odd_together(&in);
    HN_EQUAL(fast_in(&in), 0);
    HN_EQUAL(ear.heard, 2);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.10", 50), 0);
    HN_EQUAL(ear.heard, 2);
    HN_EQUAL(ib_stat(TENON_STAT_IP_NOT_OURS), 1);
    ib_close();
}

/* An address of IPv6 that ends like one of IPv4 is another. */
static void other_version(void)
{
    const struct tenon_ip ours = hn_ip("2001:db8::198.51.100.99"), peer = hn_ip("2001:db8::192.0.2.2");
    struct fast_ear ear;
    tenon_u8 p[100];
    size_t n;

    ib_open();
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &ours, 64), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    fast_open(&ear, NULL, 50);
    for (unsigned i = 1; i <= 2; i++) {
        n = ib_udp(p + 40, &peer, &ours, 4000, 50, 10, 3);
        hn_ip_header(p, &peer, &ours, 17, 64, n);
        ib_inject(p, 40 + n);
        HN_EQUAL(ear.heard, i);
    }
    HN_EQUAL(fast_from("192.0.2.2", 4000, "198.51.100.99", 50), 0);
    HN_EQUAL(ear.heard, 2);
    HN_EQUAL(ib_stat(TENON_STAT_IP_NOT_OURS), 1);
    ib_close();
}

/* Link-local ends mean something on one interface only. */
static void two_interfaces(void)
{
    const struct tenon_ip local = hn_ip("169.254.1.1");
    struct fast_ear ears[2];
    struct fast_dgram in;

    two_open(0);
    for (unsigned i = 0; i < 2; i++) {
        struct tenon_addr at = ib_at(local, 50);

        HN_EQUAL(tenon_addr_add(ib.hn.stack, i + 1, &local, 16), TENON_OK);
        hn_run_ms(&ib.hn, 20000);
        memset(&ears[i], 0, sizeof ears[i]);
        at.netif = (tenon_u16)(i + 1);
        HN_EQUAL(tenon_udp_open(ib.hn.stack, &ears[i].sock, &fast_events, &ears[i]), TENON_OK);
        HN_EQUAL(tenon_udp_bind(ears[i].sock, &at), TENON_OK);
    }
    for (unsigned i = 0; i < 6; i++) {
        fast_make(&in, "169.254.1.2", 4000, "169.254.1.1", 50, 10);
        if (i % 4 >= 2)
            odd_interface(&in);
        HN_EQUAL(fast_in(&in), i == 1 || i == 3 || i == 5);
        HN_EQUAL(ears[0].heard, i < 2 ? i + 1 : i < 4 ? 2 : i - 1);
        HN_EQUAL(ears[1].heard, i < 2 ? 0 : i < 4 ? i - 1 : 2);
    }
    ib_close();
}

/* The table grows with the sockets; without memory for it there is no short way, and nothing else is different. */
static void tables(void)
{
    enum { MANY = 100 };
    static struct fast_ear ears[MANY];
    unsigned steps = 0;

    ib_open();
    for (unsigned i = 0; i < MANY; i++) {
        fast_open(&ears[i], NULL, 1000 + i);
        steps += ib.hn.stack->udp.coming != NULL;
        fast_connect(&ears[i], "192.0.2.2", 4000);
    }
    HN_EQUAL(ib.hn.stack->udp.recent_mask, 255);
    HN_EQUAL(steps, 1 + 3);    /* with which a table was not done yet: of 128 slots, and of 256 */
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < MANY; i++)
            (void)fast_from("192.0.2.2", 4000, "192.0.2.1", 1000 + i);
    for (unsigned i = 0; i < MANY; i++)
        HN_EQUAL(ears[i].heard, 3);
    ib_close();

    ib_open();
    tn_udp_fini(ib.hn.stack);
    HN_CHECK(ib.hn.stack->udp.recent == NULL);
    ib.hn.mem_fail = ib.hn.mem_gets + 2;    /* the socket, and then the table */
    fast_open(&ears[0], NULL, 50);
    HN_CHECK(ib.hn.stack->udp.recent == NULL);
    for (unsigned i = 0; i < 3; i++)
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
    HN_EQUAL(ears[0].heard, 3);
    ib.hn.mem_fail = 0;
    fast_open(&ears[1], NULL, 51);
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), i == 1);
    ib_close();
}

/* What was found out as many changes ago as the counter counts is not taken for new. */
static void counter_wraps(void)
{
    struct fast_ear ear, ours;

    ib_open();
    fast_open(&ear, NULL, 50);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
    ib.hn.stack->udp.recent[0].change = ib.hn.stack->udp.change;
    for (tenon_u32 i = 0; i <= ib.hn.stack->udp.recent_mask; i++)
        ib.hn.stack->udp.recent[i].change = 0;    /* as if it were long ago */
    ib.hn.stack->udp.change = 0xFFFFFFFFU;
    fast_open(&ours, "192.0.2.1", 50);
    HN_EQUAL(ib.hn.stack->udp.change, 0);
    HN_EQUAL(fast_from("192.0.2.2", 4000, "192.0.2.1", 50), 0);
    HN_EQUAL(ours.heard, 1);
    ib_close();
}

/* ---- what leaves --------------------------------------------------------------------------------------------- */

/* The only frame that has left. NULL: it is not so */
static const tenon_u8 *fast_out(struct hn_sent *sent)
{
    const struct hn_sent *next;

    hn_run_ms(&ib.hn, 0);
    next = hn_next(&ib.hn);
    if (!HN_CHECK(next != NULL) || !HN_EQUAL(hn_left(&ib.hn), 0))
        return NULL;
    *sent = *next;
    return sent->bytes;
}

/* Send, and look at what has left. A source that nobody but the short way believes tells which way it was. */
static int fast_sent(struct tenon_udp *sock, const struct tenon_addr *to, const void *bytes, tenon_u32 n,
                     struct hn_sent *sent)
{
    const int is_v4 = to == NULL || tenon_ip_is_v4(&to->ip);
    const struct tenon_ip odd = hn_ip(is_v4 ? "10.9.9.9" : "2001:db8:9::9"), *const source = sock->source;
    const tenon_u8 *p;

    sock->source = &odd;
    HN_EQUAL(tenon_udp_write(sock, to, bytes, n), TENON_OK);
    p = fast_out(sent);
    if (p == NULL)
        return -1;
    if (sent->frame.csum == TENON_CSUM_NONE && (!is_v4 || hn_get16(p + 40) != 0))
        HN_CHECK(ib_sums_good(p + 14, sent->len - 14));
    if (hn_get32(p + (is_v4 ? 26 : 34)) != odd.w[3])
        return 0;
    sock->source = source;
    return 1;
}

static void second_leaves_short(void)
{
    static const tenon_u8 bytes[1500] = { 1, 2, 3 };

    for (unsigned how = 0; how < 8; how++) {
        const int is_v4 = how < 4;
        const tenon_u32 headers = is_v4 ? 28 : 48, most = 1500 - headers;
        const tenon_u32 sizes[] = { 0, 1, 2, 127, 128, 129, 1000, most - 1, most };
        const struct tenon_addr to = ib_at(hn_ip(is_v4 ? "192.0.2.2" : "2001:db8::2"), 4000);
        const tenon_u32 caps = how & 1 ? TENON_CAP_TX_CSUM : 0;
        struct fast_ear ear;
        struct hn_sent sent;
        unsigned id = 0;

        two_open(caps);
        fast_open(&ear, how & 2 ? NULL : is_v4 ? "192.0.2.1" : "2001:db8::1", 50);
        HN_EQUAL(fast_sent(ear.sock, &to, bytes, 10, &sent), 0);
        HN_EQUAL(fast_sent(ear.sock, &to, bytes, 10, &sent), 1);
        id = hn_get16(sent.bytes + 18);
        for (unsigned i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            const tenon_u32 copied = ib_stat(TENON_STAT_COPIED_BYTES);

            HN_EQUAL(fast_sent(ear.sock, &to, bytes, sizes[i], &sent), 1);
            HN_EQUAL(sent.len, 14 + headers + sizes[i]);
            if (is_v4)
                HN_EQUAL(hn_get16(sent.bytes + 18), (id + i + 1) & 0xFFFF);
            HN_EQUAL(sent.frame.nspans, sizes[i] <= 128 ? 1 : 2);
            HN_EQUAL(ib_stat(TENON_STAT_COPIED_BYTES) - copied, sizes[i]);
            HN_EQUAL(sent.frame.csum, caps ? TENON_CSUM_PARTIAL : TENON_CSUM_NONE);
        }
        HN_EQUAL(ib_stat(TENON_STAT_UDP_SENT), 2 + TENON_ARRAY_LEN(sizes));
        HN_EQUAL(tenon_udp_set(ear.sock, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
        HN_EQUAL(tenon_udp_write(ear.sock, &to, bytes, most), TENON_OK);
        HN_EQUAL(tenon_udp_write(ear.sock, &to, bytes, most + 1), TENON_EMSGSIZE);
        ib_close();
    }
}

/* tenon_conf.udp_copy_max: up to there a datagram goes behind its headers, if their buffer has room; the general way,
 * as with the first to somebody, and the short one. */
static void copied_or_referred(void)
{
    static const struct {
        unsigned most, len, buf, spans;
    } rows[] = {
        { 0, 128, 2048, 1 }, { 0, 129, 2048, 2 }, { 1, 1, 2048, 1 },     { 1, 2, 2048, 2 },       { 1, 128, 2048, 2 },
        { 700, 700, 2048, 1 }, { 700, 701, 2048, 2 }, { 700, 600, 512, 2 }, { 1400, 1400, 2048, 1 },
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_addr to = ib_at(hn_ip("192.0.2.2"), 4000);
        struct fast_ear ear;

        hn_row = "udp_copy_max";
        two_open(0);
        if (rows[i].most != 0)
            ib.hn.stack->conf.udp_copy_max = (tenon_u16)rows[i].most;
        fast_open(&ear, NULL, 50);
        while (ib.hn.stack->nbufs > 0)
            tenon_buf_put(ib.hn.stack->bufs[--ib.hn.stack->nbufs]);
        ib.hn.buf_bytes = rows[i].buf;
        for (unsigned way = 0; way < 2; way++) {
            const tenon_u32 copied = ib_stat(TENON_STAT_COPIED_BYTES);
            struct tenon_span span = { hn_buf(&ib.hn, 1500), 0, rows[i].len };
            struct hn_sent sent;

            memset(span.buf->data, 7, 1500);
            HN_EQUAL(tenon_udp_send(ear.sock, &to, &span, 1), TENON_OK);
            tenon_buf_put(span.buf);
            HN_CHECK(fast_out(&sent) != NULL);
            HN_EQUAL(sent.len, 14 + 28 + rows[i].len);
            HN_EQUAL(sent.bytes[sent.len - 1], 7);
            HN_EQUAL(sent.frame.nspans, rows[i].spans);
            HN_EQUAL(ib_stat(TENON_STAT_COPIED_BYTES) - copied, rows[i].spans == 1 ? rows[i].len : 0);
        }
        ib_close();
        hn_row = "";
    }
}

/* Answers from a handler, to whoever asks. */
static void answers(void)
{
    struct fast_ear ear;
    struct hn_sent sent;

    ib_open();
    fast_open(&ear, NULL, 50);
    ear.does = EAR_ANSWERS;
    for (unsigned i = 0; i < 10; i++) {
        const tenon_u8 *p;

        HN_EQUAL(fast_from("192.0.2.2", 4000 + i, "192.0.2.1", 50), i > 0);
        p = fast_out(&sent);
        if (p == NULL)
            break;
        HN_EQUAL(hn_get16(p + 36), 4000 + i);
        HN_EQUAL(hn_get32(p + 30), hn_ip("192.0.2.2").w[3]);
        HN_CHECK(ib_sums_good(p + 14, sent.len - 14));
    }
    HN_EQUAL(ear.heard, 10);
    ib_close();
}

/* What an address, a route, a neighbour and a link do between two datagrams. */
static void ways_change(void)
{
    const struct tenon_ip far = hn_ip("203.0.113.0"), gate1 = hn_ip("192.0.2.2"), gate2 = hn_ip("198.51.100.2");
    const struct tenon_addr to = ib_at(hn_ip("203.0.113.9"), 4000);
    struct fast_ear ear;
    struct hn_sent sent;
    tenon_u8 mac[6];

    two_open(0);
    fast_open(&ear, NULL, 50);
    HN_EQUAL(tenon_route_add(ib.hn.stack, 1, &far, 24, &gate1, 10), TENON_OK);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 0);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    HN_EQUAL(sent.netif, 1);
    /* A better route: another interface, source, and neighbour. */
    HN_EQUAL(tenon_route_add(ib.hn.stack, 2, &far, 24, &gate2, 5), TENON_OK);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 0);
    HN_EQUAL(sent.netif, 2);
    HN_EQUAL(hn_get32(sent.bytes + 26), hn_ip("198.51.100.1").w[3]);
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    HN_CHECK(fast_out(&sent) != NULL);
    HN_EQUAL(sent.netif, 2);
    HN_EQUAL(hn_get32(sent.bytes + 26), hn_ip("198.51.100.1").w[3]);
    HN_CHECK(memcmp(sent.bytes, hn_mac(mac, 1, 9), 6) == 0);
    HN_CHECK(memcmp(sent.bytes + 6, hn_mac(mac, 0, 2), 6) == 0);
    /* The neighbour's address. */
    HN_EQUAL(tenon_neighbour_set(ib.hn.stack, 2, &gate2, hn_mac(mac, 1, 11)), TENON_OK);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    HN_CHECK(memcmp(sent.bytes, hn_mac(mac, 1, 11), 6) == 0);
    /* The link. */
    HN_EQUAL(tenon_netif_link(ib.hn.stack, 2, 0), TENON_OK);
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    HN_CHECK(fast_out(&sent) != NULL);
    HN_EQUAL(sent.netif, 1);
    HN_EQUAL(tenon_netif_link(ib.hn.stack, 1, 0), TENON_OK);
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_EUNREACH);
    ib_close();
}

/* A neighbour that is to be asked again is; while it is asked, datagrams leave as before. */
static void neighbour_ages(void)
{
    const struct tenon_addr to = ib_at(hn_ip("192.0.2.40"), 4000);
    const struct hn_sent *next;
    struct fast_ear ear;
    struct hn_sent sent;
    tenon_u8 mac[6], us[6];
    unsigned asked = 0;

    ib_open();
    fast_open(&ear, NULL, 50);
    hn_mac(mac, 1, 40);
    hn_mac(us, 0, 1);
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    hn_arp(&ib.hn, 1, us, 2, mac, to.ip.w[3], us, ib.us4.w[3]);
    hn_forget(&ib.hn);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    hn_run_ms(&ib.hn, 100000);
    hn_forget(&ib.hn);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 0);    /* stale: from now on the neighbour is watched */
    ear.sock->source_gen = 0;
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    HN_CHECK(fast_out(&sent) != NULL);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    hn_run_ms(&ib.hn, 5500);
    while ((next = hn_next(&ib.hn)) != NULL)
        asked += hn_get16(next->bytes + 12) == 0x0806;
    HN_EQUAL(asked, 1);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    HN_CHECK(memcmp(sent.bytes, mac, 6) == 0);
    hn_run_ms(&ib.hn, 5500);                                   /* no answer */
    hn_forget(&ib.hn);
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    HN_CHECK(fast_out(&sent) != NULL && hn_get16(sent.bytes + 12) == 0x0806);
    /* It is there again; then it says that it has another address, which is asked for, too. */
    hn_arp(&ib.hn, 1, us, 2, mac, to.ip.w[3], us, ib.us4.w[3]);
    hn_forget(&ib.hn);
    ear.sock->source_gen = 0;
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    HN_CHECK(fast_out(&sent) != NULL);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    hn_arp(&ib.hn, 1, NULL, 1, hn_mac(mac, 1, 41), to.ip.w[3], NULL, ib.us4.w[3]);
    hn_forget(&ib.hn);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 0);
    HN_CHECK(memcmp(sent.bytes, mac, 6) == 0);
    hn_run_ms(&ib.hn, 5500);
    for (asked = 0; (next = hn_next(&ib.hn)) != NULL;)
        asked += hn_get16(next->bytes + 12) == 0x0806;
    HN_EQUAL(asked, 1);
    ib_close();
}

/* Whose address it carries: what the socket is bound to, what the path says, what the caller says. */
static void sources(void)
{
    const struct tenon_ip second = hn_ip("192.0.2.127"), wide = hn_ip("192.0.2.100");
    const struct tenon_addr to = ib_at(hn_ip("192.0.2.2"), 4000), to6 = ib_at(hn_ip("2001:db8::2"), 4000);
    struct fast_ear ear, any;
    struct hn_sent sent;

    ib_open();
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &second, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    hn_forget(&ib.hn);
    fast_open(&ear, "192.0.2.127", 50);
    fast_open(&any, NULL, 51);
    for (unsigned i = 0; i < 3; i++) {
        HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
        HN_CHECK(fast_out(&sent) != NULL);
        HN_EQUAL(hn_get32(sent.bytes + 26), second.w[3]);
        HN_EQUAL(tenon_udp_write(any.sock, &to, "x", 1), TENON_OK);
        HN_CHECK(fast_out(&sent) != NULL);
        HN_EQUAL(hn_get32(sent.bytes + 26), ib.us4.w[3]);
        HN_EQUAL(tenon_udp_send_from(any.sock, &second, &to, NULL, 0), TENON_OK);
        HN_CHECK(fast_out(&sent) != NULL);
        HN_EQUAL(hn_get32(sent.bytes + 26), second.w[3]);
        HN_EQUAL(tenon_udp_send_from(any.sock, &ib.peer4, &to, NULL, 0), TENON_ENOADDR);
        HN_EQUAL(tenon_udp_send_from(any.sock, &ib.us6, &to, NULL, 0), TENON_EINVAL);
        HN_EQUAL(tenon_udp_write(any.sock, &to6, "x", 1), TENON_OK);    /* the path is known */
        HN_CHECK(fast_out(&sent) != NULL);
        HN_EQUAL(tenon_udp_write(ear.sock, &to6, "x", 1), TENON_EINVAL);
    }
    /* It becomes a broadcast address of ours: nobody speaks from it any more. */
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &wide, 25), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    hn_forget(&ib.hn);
    for (unsigned i = 0; i < 3; i++) {
        HN_EQUAL(tenon_udp_write(any.sock, &to, "x", 1), TENON_OK);    /* the path is known again */
        HN_CHECK(fast_out(&sent) != NULL);
        HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
        HN_CHECK(fast_out(&sent) != NULL);
        HN_CHECK(hn_get32(sent.bytes + 26) != second.w[3]);
    }
    ib_close();
}

/* Where a socket is bound to another place its datagrams come from there. */
static void source_follows(void)
{
    const struct tenon_addr to = ib_at(hn_ip("192.0.2.2"), 4000);
    const struct tenon_ip second = hn_ip("192.0.2.10");
    struct fast_ear ear;
    struct hn_sent sent;

    ib_open();
    fast_open(&ear, NULL, 50);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &second, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    hn_forget(&ib.hn);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 0);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 1);
    fast_connect(&ear, "192.0.2.2", 4000);
    HN_EQUAL(fast_sent(ear.sock, NULL, "x", 1, &sent), 0);
    HN_EQUAL(fast_sent(ear.sock, NULL, "x", 1, &sent), 1);
    HN_EQUAL(tenon_udp_connect(ear.sock, NULL), TENON_OK);
    HN_EQUAL(fast_sent(ear.sock, &to, "x", 1, &sent), 0);
    /* Without a port nothing leaves from port 0. */
    HN_EQUAL(tenon_udp_open(ib.hn.stack, &ear.sock, &fast_events, &ear), TENON_OK);
    ear.sock->source_gen = ib.hn.stack->link.gen;
    HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
    HN_CHECK(fast_out(&sent) != NULL);
    HN_CHECK(hn_get16(sent.bytes + 34) >= 0xC000);
    ib_close();
}

/* Several hosts in turn: each has a slot of its own, or shares one. */
static void several_hosts(void)
{
    struct tenon_ip peers[20];
    struct hn_sent sent;
    tenon_u8 mac[6];

    ib_open();
    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 20; i++) {
            struct tenon_addr to;
            int is_short;

            peers[i] = tenon_ip4(hn_ip("192.0.2.50").w[3] + i);
            to = ib_at(peers[i], 4000);
            if (round == 0)
                HN_EQUAL(tenon_neighbour_set(ib.hn.stack, 1, &peers[i], hn_mac(mac, 1, 50 + i)), TENON_OK);
            is_short = fast_sent(ib.sock, &to, "x", 1, &sent);
            if (i >= 4 && i < 16)    /* the others share slots */
                HN_EQUAL(is_short, round > 0);
            HN_EQUAL(sent.bytes[5], 50 + i);
            HN_EQUAL(hn_get32(sent.bytes + 30), peers[i].w[3]);
        }
    ib_close();
}

/* Whether all paths that are found by a guess are still there. */
static int paths_are_there(struct tenon *stack)
{
    for (unsigned i = 0; i < TN_PATHS_RECENT; i++) {
        const struct tn_path *path = stack->link.path_recent[i];
        unsigned found = path == NULL;

        if (path != NULL && (path->dst.w[3] ^ path->dst.w[3] >> 8) % TN_PATHS_RECENT != i)
            return 0;    /* the memory is another's by now */
        for (tenon_u32 k = 0; k < stack->link.paths.buckets; k++)
            for (struct tn_hnode *node = tn_htab_bucket(&stack->link.paths, k); node != NULL; node = node->next)
                found += TENON_CONTAINER(node, struct tn_path, node) == path;
        if (found != 1)
            return 0;
    }
    return 1;
}

/* Paths are evicted while sockets send along them; what is sent to last is evicted last. */
static void paths_evicted(void)
{
    struct tenon_conf conf;
    struct tn_path *path, *other;
    struct hn_sent sent;
    struct tenon_ip peers[8];
    tenon_u8 mac[6];

    tenon_conf_default(&conf);
    conf.paths_max = 4;
    ib_open_conf(&conf, 0);
    for (unsigned i = 0; i < 8; i++) {
        peers[i] = tenon_ip4(hn_ip("192.0.2.50").w[3] + i);
        HN_EQUAL(tenon_neighbour_set(ib.hn.stack, 1, &peers[i], hn_mac(mac, 1, 50 + i)), TENON_OK);
    }
    for (unsigned i = 0; i < 400; i++) {
        const unsigned k = i * i / 7 % 8;
        const struct tenon_addr to = ib_at(peers[k], 4000);

        HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_OK);
        HN_CHECK(fast_out(&sent) != NULL);
        HN_CHECK(paths_are_there(ib.hn.stack));
        HN_EQUAL(sent.bytes[5], 50 + k);
        HN_EQUAL(hn_get32(sent.bytes + 30), peers[k].w[3]);
    }
    /* The one that is sent to is not the last of those that nobody has: another was given back after it. */
    HN_EQUAL(tn_path_get(ib.hn.stack, &other, &peers[1], 0), TENON_OK);
    HN_EQUAL(tn_path_get(ib.hn.stack, &path, &peers[0], 0), TENON_OK);
    tn_path_put(ib.hn.stack, path);
    tn_path_put(ib.hn.stack, other);
    HN_CHECK(path->lru_next == other);
    HN_CHECK(tn_path_recent(ib.hn.stack, &peers[0]) == path);
    HN_CHECK(path->lru_next == NULL && other->lru_next == path);
    HN_CHECK(tn_path_recent(ib.hn.stack, &ib.us4) == NULL);
    ib_close();
}

/* The same link-local address on two links is two hosts. */
static void scopes(void)
{
    struct tenon_addr to = ib_at(hn_ip("169.254.1.2"), 4000);
    const struct tenon_ip local = hn_ip("169.254.1.1");
    struct hn_sent sent;
    tenon_u8 mac[6];

    two_open(0);
    for (unsigned i = 1; i <= 2; i++) {
        HN_EQUAL(tenon_addr_add(ib.hn.stack, i, &local, 16), TENON_OK);
        HN_EQUAL(tenon_neighbour_set(ib.hn.stack, i, &to.ip, hn_mac(mac, 1, 70 + i)), TENON_OK);
    }
    hn_run_ms(&ib.hn, 20000);
    hn_forget(&ib.hn);
    for (unsigned i = 0; i < 6; i++) {
        to.netif = (tenon_u16)(i % 2 + 1);
        HN_EQUAL(fast_sent(ib.sock, &to, "x", 1, &sent), 0);
        HN_EQUAL(sent.netif, to.netif);
        HN_EQUAL(sent.bytes[5], 70 + to.netif);
    }
    ib_close();
}

/* No buffer: one refusal, counted once. A full burst is handed over first. */
static void nothing_left(void)
{
    const struct tenon_addr to = ib_at(hn_ip("192.0.2.2"), 4000);
    struct hn_sent sent;
    tenon_u32 none;

    ib_open();
    HN_EQUAL(fast_sent(ib.sock, &to, "x", 1, &sent), 0);
    HN_EQUAL(fast_sent(ib.sock, &to, "x", 1, &sent), 1);
    while (ib.hn.stack->nbufs > 0)
        tenon_buf_put(ib.hn.stack->bufs[--ib.hn.stack->nbufs]);
    ib.hn.buf_fail = -1;
    none = ib_stat(TENON_STAT_NO_BUFFER);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_ENOMEM);
    HN_EQUAL(ib_stat(TENON_STAT_NO_BUFFER), none + 1);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_SENT), 2);
    ib.hn.buf_fail = 0;
    for (unsigned i = 0; i < 3U * ib.hn.stack->tx.max; i++)
        HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    HN_EQUAL(hn_left(&ib.hn), 3U * ib.hn.stack->tx.max);
    HN_EQUAL(ib_stat(TENON_STAT_TX_FULL), 0);
    ib_close();
}

/* ---- both ways ----------------------------------------------------------------------------------------------- */

enum { SIDE_SOCKS = 6, SIDE_NETIFS = 2 };

/* One of two instances to which the same happens. */
struct side {
    struct hn hn;
    struct tenon_udp *socks[SIDE_SOCKS];    /* NULL: closed */
    unsigned plans[SIDE_SOCKS];             /* what its handler does next time */
    unsigned heard, errors, results;        /* datagrams, errors, and a sum of everything that was seen */
    unsigned usual;                         /* datagrams that left the short way, as far as can be seen from outside */
    tenon_u32 again;                        /* the dice of the last datagram */
    int is_slow;                            /* the short way is forgotten before each step */
};

static struct side *side_now;

static const char *const side_hosts[] = { "192.0.2.2", "192.0.2.3", "198.51.100.2", "203.0.113.9", "192.0.2.255",
    "169.254.1.2", "239.1.2.3", "192.0.2.200", "2001:db8::2", "2001:db8::3", "2001:db8:5::9", "fe80::2", "ff05::1:3",
    "2001:db8::200" };
static const char *const side_ours[] = { "192.0.2.1", "192.0.2.10", "198.51.100.1", "169.254.1.1", "239.1.2.3",
    "192.0.2.255", "192.0.2.77", "2001:db8::1", "2001:db8::10", "2001:db8:2::1", "fe80::1", "ff05::1:3",
    "2001:db8::77" };
/* The first of IPv6. */
enum { SIDE_HOST6 = 8, SIDE_OURS6 = 7 };

static void side_note(struct side *side, unsigned what)
{
    side->results = side->results * 16777619U ^ what;
}

/* What would make the next datagram short is not there. */
static void side_forget(struct side *side)
{
    struct tn_htab *const paths = &side->hn.stack->link.paths;

    if (!side->is_slow)
        return;
    tn_udp_fast_change(side->hn.stack);
    for (unsigned i = 0; i < SIDE_SOCKS; i++)
        if (side->socks[i] != NULL)
            side->socks[i]->source_gen = 0;
    for (tenon_u32 i = 0; i < paths->buckets; i++)
        for (struct tn_hnode *node = tn_htab_bucket(paths, i); node != NULL; node = node->next)
            TENON_CONTAINER(node, struct tn_path, node)->neighbour = NULL;
    for (tenon_u32 i = 0; i < paths->buckets; i++)
        for (struct tn_hnode *node = tn_htab_bucket(paths, i); node != NULL; node = node->next)
            TENON_CONTAINER(node, struct tn_path, node)->udp_src = 0;
}

static void side_send(struct side *side, unsigned sock, const struct tenon_addr *to, unsigned n, unsigned how)
{
    static const tenon_u8 bytes[2000] = { 9, 8, 7 };
    const struct tenon_ip from = hn_ip(side_ours[how / 4 % TENON_ARRAY_LEN(side_ours)]);
    struct tenon_span spans[2];
    int error;

    if (side->socks[sock] == NULL)
        return;
    side_forget(side);
    side->usual += n <= 1400 && side->socks[sock]->source_gen == side->hn.stack->link.gen;
    if (how % 4 < 2) {
        error = tenon_udp_write(side->socks[sock], to, bytes, n);
    } else {
        for (unsigned i = 0; i < 2; i++) {
            spans[i].buf = hn_buf(&side->hn, 1000);
            memset(spans[i].buf->data, (int)(how + i), 1000);
            spans[i].off = i;
            spans[i].len = i == 0 ? n / 2 : n - n / 2;
        }
        error = tenon_udp_send_from(side->socks[sock], how % 4 == 2 ? NULL : &from, to, spans, 2);
        tenon_buf_put(spans[0].buf);
        tenon_buf_put(spans[1].buf);
    }
    side_note(side, (unsigned)error);
}

static void side_open(struct side *side, unsigned sock);

static void side_close(struct side *side, unsigned sock)
{
    if (side->socks[sock] != NULL)
        tenon_udp_close(side->socks[sock]);
    side->socks[sock] = NULL;
}

static void side_heard(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                       const struct tenon_span *spans, unsigned n)
{
    struct tenon_udp **const slot = app;
    struct side *side = side_now;
    const unsigned i = (unsigned)(slot - side->socks), plan = side->plans[i];

    HN_CHECK(*slot == sock);
    side->heard++;
    side_note(side, i);
    side_note(side, info->from.ip.w[3] ^ info->from.ip.w[0]);
    side_note(side, info->to.ip.w[3] ^ info->to.ip.w[0]);
    side_note(side, (unsigned)info->from.port << 16 | info->to.port);
    side_note(side, (unsigned)info->from.netif << 8 | info->to.netif);
    side_note(side, info->bytes << 16 | (unsigned)info->ttl << 8 | info->tos);
    for (unsigned k = 0; k < n; k++)
        for (tenon_u32 at = 0; at < spans[k].len; at++)
            side_note(side, tenon_span_data(&spans[k])[at]);
    side->plans[i] = plan % 16 < 8 ? plan : plan / 16;
    switch (plan % 16) {
    case 0: case 1: case 2: case 3: side_send(side, i, &info->from, plan / 16 * 47 % 1600, plan / 16); break;
    case 8: side_close(side, i); break;
    case 9: side_close(side, (i + 1) % SIDE_SOCKS); break;
    case 10: side_open(side, (i + 1) % SIDE_SOCKS); break;
    case 11: side_note(side, (unsigned)tenon_udp_connect(sock, &info->from)); break;
    case 12: side_note(side, (unsigned)tenon_udp_connect(sock, NULL)); break;
    default: break;
    }
}

static void side_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock;
    (void)app;
    side_now->errors++;
    side_note(side_now, to->ip.w[3] ^ (unsigned)error);
}

static const struct tenon_udp_events side_events = { side_heard, side_error };

static void side_open(struct side *side, unsigned sock)
{
    if (side->socks[sock] == NULL)
        HN_EQUAL(tenon_udp_open(side->hn.stack, &side->socks[sock], &side_events, &side->socks[sock]), TENON_OK);
}

static void side_begin(struct side *side, unsigned how)
{
    static const struct {
        unsigned netif;
        const char *ip;
        unsigned prefix;
    } ours[] = {
        { 1, "192.0.2.1", 24 }, { 2, "198.51.100.1", 24 }, { 1, "169.254.1.1", 16 }, { 1, "2001:db8::1", 64 },
        { 2, "2001:db8:2::1", 64 }, { 1, "fe80::1", 64 }
    };
    static const struct {
        unsigned netif;
        const char *ip;
    } known[] = {
        { 1, "192.0.2.2" }, { 2, "198.51.100.2" }, { 1, "2001:db8::2" }, { 1, "2001:db8::3" }, { 2, "2001:db8:2::2" },
        { 1, "fe80::2" }
    };
    struct tenon_conf conf;
    tenon_u8 mac[6];

    tenon_conf_default(&conf);
    conf.paths_max = how & 2 ? 3 : 64;
    conf.tx_burst_max = how & 4 ? 4 : 64;
    conf.udp_copy_max = how % 3 == 0 ? 0 : how % 3 == 1 ? 1 : 700;
    memset(side, 0, sizeof *side);
    hn_open(&side->hn, &conf);
    side_now = side;
    for (unsigned i = 1; i <= SIDE_NETIFS; i++) {
        struct tenon_netif_conf netif;

        memset(&netif, 0, sizeof netif);
        hn_mac(netif.mac, 0, i);
        netif.mtu = 1500;
        netif.gather_max = (tenon_u16)(how & 8 ? 2 : how & 16 ? 1 : 0);
        netif.caps = how & 1 ? TENON_CAP_TX_CSUM : 0;
        netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
        HN_EQUAL(tenon_netif_add(side->hn.stack, &netif), i);
    }
    for (unsigned i = 0; i < TENON_ARRAY_LEN(ours); i++) {
        const struct tenon_ip ip = hn_ip(ours[i].ip);

        HN_EQUAL(tenon_addr_add(side->hn.stack, ours[i].netif, &ip, ours[i].prefix), TENON_OK);
    }
    for (unsigned i = 0; i < TENON_ARRAY_LEN(known); i++) {
        const struct tenon_ip ip = hn_ip(known[i].ip);

        HN_EQUAL(tenon_neighbour_set(side->hn.stack, known[i].netif, &ip, hn_mac(mac, 1, i)), TENON_OK);
    }
    for (unsigned i = 0; i < SIDE_SOCKS; i++) {
        const struct tenon_addr at = ib_at(tenon_ip_any(), 50 + i / 2);

        side_open(side, i);
        (void)tenon_udp_bind(side->socks[i], &at);
    }
    hn_run_ms(&side->hn, 20000);
}

static tenon_u32 side_roll(tenon_u32 *dice, tenon_u32 n)
{
    *dice = *dice * 1664525U + 1013904223U;
    return (*dice >> 16) % n;
}

static void side_roll_tos_ttl(struct fast_dgram *in, tenon_u32 *dice)
{
    const unsigned tos = side_roll(dice, 2) * 0x2E, ttl = 60 + side_roll(dice, 4);

    if (in->l4 == 34) {
        in->bytes[15] = (tenon_u8)tos;
        in->bytes[22] = (tenon_u8)ttl;
        ib_ip4_sum(in->bytes + 14);
    } else {
        hn_put16(in->bytes + 14, 0x6000 | tos << 4);
        in->bytes[21] = (tenon_u8)ttl;
    }
}

/* A random datagram, mostly of the usual kind. @return whether the short way took it */
static int side_datagram(struct side *side, tenon_u32 dice)
{
    static const unsigned sizes[] = { 10, 10, 10, 1, 0, 1000 };
    const tenon_u32 dice0 = dice;
    const unsigned odd = side_roll(&dice, 40), host = side_roll(&dice, 6), who = side_roll(&dice, 40);
    const int is_v4 = side_roll(&dice, 2) == 0;
    const unsigned hosts = is_v4 ? SIDE_HOST6 : TENON_ARRAY_LEN(side_hosts) - SIDE_HOST6;
    const unsigned ours = is_v4 ? SIDE_OURS6 : TENON_ARRAY_LEN(side_ours) - SIDE_OURS6;
    const char *const src = side_hosts[(is_v4 ? 0 : SIDE_HOST6) + (who < hosts ? who : 0)];
    const char *const dst = side_ours[(is_v4 ? 0 : SIDE_OURS6) + (host > 0 ? 0 : side_roll(&dice, ours))];
    const struct tn_ip *const ip = &side->hn.stack->ip;
    struct fast_dgram in;
    unsigned asked = 0;
    const unsigned heard = side->heard;
    tenon_u8 mac[6];

    if (odd > 15)
        return side->again != 0 ? side_datagram(side, side->again) : 0;
    side->again = dice0;
    fast_make(&in, src, 4000 + side_roll(&dice, 2), dst, 50 + side_roll(&dice, 10) / 3,
              sizes[side_roll(&dice, TENON_ARRAY_LEN(sizes))]);
    in.netif = side_roll(&dice, 12) == 0 ? 2 : 1;
    memcpy(in.bytes, hn_mac(mac, 0, in.netif), 6);
    side_roll_tos_ttl(&in, &dice);
    if (odd == 0)
        in.cut = 20 + side_roll(&dice, 60);
    if (odd == 1)
        odd_no_csum(&in);
    if (odd == 2)
        odd_csum(&in);
    if (odd > 7)
        in.cut = side_roll(&dice, 2) * (in.l4 + 8);
    if (in.cut >= in.len)
        in.cut = 0;
    if (odd == 3)
        in.frame.csum = TENON_CSUM_GOOD;
    if (odd == 4)
        in.len += 7;
    side_forget(side);
    memset(side->hn.stack->ip.known, 0, sizeof ip->known);
    fast_put(&side->hn, &in);
    for (unsigned i = 0; i < TN_IP_KNOWN; i++)
        asked += ip->known[i].netif != 0;
    return asked == 0 && side->heard > heard;
}

static struct tenon_addr side_to(tenon_u32 *dice)
{
    const unsigned which = side_roll(dice, 4);
    const unsigned host = which < 2 ? which * SIDE_HOST6 : side_roll(dice, TENON_ARRAY_LEN(side_hosts));
    struct tenon_addr to = ib_at(hn_ip(side_hosts[host]), 4000 + side_roll(dice, 2));

    to.netif = (tenon_u16)side_roll(dice, 3);
    return to;
}

/* Sockets come and go. */
static void side_socket(struct side *side, tenon_u32 dice)
{
    static const enum tenon_udp_option options[] = { TENON_UDP_TTL, TENON_UDP_TOS, TENON_UDP_DONT_FRAGMENT,
        TENON_UDP_NO_CHECKSUM, TENON_UDP_BROADCAST, TENON_UDP_MULTICAST_NETIF };
    const unsigned sock = side_roll(&dice, SIDE_SOCKS), what = side_roll(&dice, 12), value = side_roll(&dice, 500);
    const struct tenon_addr to = side_to(&dice);
    struct tenon_addr at = ib_at(tenon_ip_any(), 50 + value % 3);

    if (value % 2)
        at.ip = hn_ip(side_ours[value / 2 % TENON_ARRAY_LEN(side_ours)]);
    if (what == 0)
        side_close(side, sock);
    side_open(side, sock);
    switch (what) {
    case 1: case 2: side_note(side, (unsigned)tenon_udp_bind(side->socks[sock], &at)); break;
    case 3: case 4: side_note(side, (unsigned)tenon_udp_connect(side->socks[sock], &to)); break;
    case 5: case 6: case 7: side_note(side, (unsigned)tenon_udp_connect(side->socks[sock], NULL)); break;
    case 8: side->plans[sock] = value; break;
    default:
        side_note(side, (unsigned)tenon_udp_set(side->socks[sock], options[value % TENON_ARRAY_LEN(options)],
                                                value / TENON_ARRAY_LEN(options) % 3));
    }
}

/* The network changes. */
static void side_network(struct side *side, tenon_u32 dice)
{
    const unsigned what = side_roll(&dice, 12), value = side_roll(&dice, 100);
    const int is_v4 = value % 7 < 4;
    const unsigned far_bits = is_v4 ? 24 : 64;
    const struct tenon_ip second = hn_ip(is_v4 ? "192.0.2.10" : "2001:db8::10");
    const struct tenon_ip far = hn_ip(is_v4 ? "203.0.113.0" : "2001:db8:5::");
    const struct tenon_ip group = hn_ip(is_v4 ? "239.1.2.3" : "ff05::1:3");
    const struct tenon_ip gates[2] = { hn_ip(is_v4 ? "192.0.2.2" : "2001:db8::2"),
                                       hn_ip(is_v4 ? "198.51.100.2" : "2001:db8:2::2") };
    struct tenon *stack = side->hn.stack;
    const unsigned netif = 1 + value % 2;
    tenon_u8 mac[6];

    switch (what) {
    case 0: side_note(side, (unsigned)tenon_addr_add(stack, 1, &second, !is_v4 ? 64 : value < 30 ? 29 : 24)); break;
    case 1: side_note(side, (unsigned)tenon_addr_remove(stack, 1, &second)); break;
    case 2: case 3:
        side_note(side, (unsigned)tenon_route_add(stack, netif, &far, far_bits, &gates[value % 2], value / 2));
        break;
    case 4: side_note(side, (unsigned)tenon_route_remove(stack, netif, &far, far_bits, &gates[value % 2])); break;
    case 5:
        side_note(side,
                  (unsigned)tenon_neighbour_set(stack, netif, &gates[value % 2], hn_mac(mac, 1, value)));
        break;
    case 6: side_note(side, (unsigned)tenon_group_join(stack, netif, &group)); break;
    case 7: side_note(side, (unsigned)tenon_group_leave(stack, netif, &group)); break;
    case 8: (void)tenon_netif_link(stack, netif, value % 4 != 0); break;
    case 9: side->hn.tx_take = value % 3 == 0 ? 1 : 0xFFFF; break;
    case 10: side->hn.buf_fail = value % 4 == 0 ? side->hn.buf_gets + 1 : 0; break;
    default: (void)tenon_netif_link(stack, 1, 1); break;
    }
}

/* Who is asked for answers. */
static void side_answer(struct side *side)
{
    for (unsigned i = side->hn.taken; i < side->hn.nsent; i++) {
        const tenon_u8 *p = side->hn.sent[i].bytes;
        const tenon_u32 asked = side->hn.sent[i].len >= 42 ? hn_get32(p + 38) : 0;
        tenon_u8 mac[6], us[6];

        if (hn_get16(p + 12) == 0x0806 && (asked == hn_ip("192.0.2.3").w[3] || asked == hn_ip("169.254.1.2").w[3])) {
            hn_mac(us, 0, side->hn.sent[i].netif);
            hn_arp(&side->hn, side->hn.sent[i].netif, us, 2, hn_mac(mac, 1, asked & 0xFF), asked, us, hn_get32(p + 28));
        }
    }
}

static int side_step(struct side *side, tenon_u32 dice)
{
    static const tenon_u32 times_ms[] = { 0, 0, 0, 0, 1, 1, 900, 6000, 40000 };
    static const unsigned sizes[] = { 0, 1, 2, 20, 127, 128, 129, 200, 1000, 1400, 1451, 1452, 1453, 1472, 1473,
                                      1500 };
    const unsigned what = side_roll(&dice, 64), sock = side_roll(&dice, SIDE_SOCKS);
    const unsigned n = side_roll(&dice, TENON_ARRAY_LEN(sizes));
    const unsigned how = side_roll(&dice, 400), when = side_roll(&dice, TENON_ARRAY_LEN(times_ms));
    const struct tenon_addr to = side_to(&dice);
    int is_short = 0;

    side_now = side;
    if (what < 30)
        is_short = side_datagram(side, dice);
    else if (what < 56)
        side_send(side, sock, side->socks[sock] != NULL && side->socks[sock]->where == TN_UDP_CONNECTED && how % 8 ?
                  NULL : &to, sizes[n], how);
    else if (what < 62)
        side_socket(side, dice);
    else
        side_network(side, dice);
    hn_run_ms(&side->hn, times_ms[when]);
    side_answer(side);
    return is_short;
}

static void same_frames(struct side sides[2])
{
    const struct hn_sent *a, *b;

    while ((a = hn_next(&sides[0].hn)) != NULL && (b = hn_next(&sides[1].hn)) != NULL) {
        HN_EQUAL(a->netif, b->netif);
        HN_EQUAL(a->at_us, b->at_us);
        HN_EQUAL(a->frame.nspans, b->frame.nspans);
        HN_EQUAL(a->frame.csum, b->frame.csum);
        HN_EQUAL(a->frame.csum_start, b->frame.csum_start);
        HN_EQUAL(a->frame.csum_offset, b->frame.csum_offset);
        HN_EQUAL(a->frame.header_bytes, b->frame.header_bytes);
        HN_EQUAL(a->frame.seg_kind, b->frame.seg_kind);
        if (HN_EQUAL(a->len, b->len))
            HN_CHECK(memcmp(a->bytes, b->bytes, a->len) == 0);
    }
    HN_EQUAL(sides[0].hn.nsent, sides[1].hn.nsent);
    hn_forget(&sides[0].hn);
    hn_forget(&sides[1].hn);
}

/* The paths that nobody has, in the order in which they would be evicted. */
static void same_paths(struct side sides[2])
{
    const struct tn_path *a = sides[0].hn.stack->link.lru_first, *b = sides[1].hn.stack->link.lru_first;

    for (; a != NULL && b != NULL; a = a->lru_next, b = b->lru_next) {
        HN_CHECK(tenon_ip_equal(&a->dst, &b->dst));
        HN_EQUAL(a->sent, b->sent);
        HN_EQUAL(a->netif, b->netif);
    }
    HN_CHECK(a == NULL && b == NULL);
}

static void same_everything(struct side sides[2])
{
    same_paths(sides);
    for (unsigned i = 0; i < TENON_STAT_COUNT; i++)
        if (!HN_EQUAL(hn_stat(&sides[0].hn, (enum tenon_stat)i), hn_stat(&sides[1].hn, (enum tenon_stat)i)))
            fprintf(stderr, "%s\n", tenon_stat_name((enum tenon_stat)i));
    HN_EQUAL(sides[0].heard, sides[1].heard);
    HN_EQUAL(sides[0].errors, sides[1].errors);
    HN_EQUAL(sides[0].results, sides[1].results);
    HN_EQUAL(sides[0].hn.buf_gets, sides[1].hn.buf_gets);
    HN_EQUAL(sides[0].hn.mem_gets, sides[1].hn.mem_gets);
    HN_EQUAL(sides[0].hn.bytes, sides[1].hn.bytes);
}

/* @return datagrams that came and that left the short way, whichever are fewer */
static unsigned same_history(unsigned seed)
{
    static struct side sides[2];
    tenon_u32 dice = seed * 2654435761U;
    unsigned short_way = 0, usual;

    for (unsigned i = 0; i < 2; i++) {
        side_begin(&sides[i], seed % 32);
        sides[i].is_slow = i == 1;
    }
    for (unsigned step = 0; step < 1000 && hn_failures == 0; step++) {
        (void)side_roll(&dice, 1);
        short_way += (unsigned)side_step(&sides[0], dice);
        HN_EQUAL(side_step(&sides[1], dice), 0);
        same_frames(sides);
        same_everything(sides);
        if (hn_failures > 0)
            fprintf(stderr, "seed %u, step %u\n", seed, step);
    }
    usual = sides[0].usual;
    HN_EQUAL(sides[1].usual, 0);
    for (unsigned i = 0; i < 2; i++) {
        side_now = &sides[i];
        hn_close(&sides[i].hn);
    }
    return tn_min(short_way, usual);
}

static void both_ways(void)
{
    unsigned short_way = 0;

    for (unsigned seed = 1; seed <= 192 && hn_failures == 0; seed++)
        short_way += same_history(seed);
    HN_CHECK(short_way > 8000);
}

static const struct hn_test tests[] = {
    { "second_is_short", "UDP-10", second_is_short },
    { "what_is_odd", "UDP-1 UDP-2 IP4-5 IP4-6", what_is_odd },
    { "what_is_odd6", "UDP-1 UDP-3 IP6-1", what_is_odd6 },
    { "closed_is_forgotten", "UDP-10", closed_is_forgotten },
    { "bound_anew", "UDP-10", bound_anew },
    { "address_is_gone", "IP4-5 IP4-6", address_is_gone },
    { "gone_between", "IP4-5", gone_between },
    { "other_version", "IP4-5", other_version },
    { "two_interfaces", "UDP-10", two_interfaces },
    { "tables", "VUL-F-13", tables },
    { "counter_wraps", "", counter_wraps },
    { "second_leaves_short", "UDP-2 UDP-3", second_leaves_short },
    { "copied_or_referred", "", copied_or_referred },
    { "answers", "UDP-6", answers },
    { "ways_change", "IP4-7", ways_change },
    { "neighbour_ages", "", neighbour_ages },
    { "sources", "UDP-6", sources },
    { "source_follows", "UDP-6", source_follows },
    { "several_hosts", "IP4-32", several_hosts },
    { "scopes", "IP4-32", scopes },
    { "paths_evicted", "", paths_evicted },
    { "nothing_left", "VUL-F-13", nothing_left },
    { "both_ways", "", both_ways },
};

int main(int argc, char **argv)
{
    if (TENON_SMALL)
        return puts("0 passed, 0 failed: a build for size has no short way") < 0;
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
