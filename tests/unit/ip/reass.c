/* SPDX-License-Identifier: MIT */
/* Reassembly of both IP versions: all orders, all the published ways to break it, all its limits. */
#include "core.h"
#include "ip_bench.h"

enum { BODY_MAX = 66000 };

/* A datagram to be cut: its transport bytes. */
static tenon_u8 body[BODY_MAX];
static size_t body_bytes;

static void body_make(int v4, size_t payload)
{
    const struct tenon_ip *src = v4 ? &ib.peer4 : &ib.peer6, *dst = v4 ? &ib.us4 : &ib.us6;

    body_bytes = ib_udp(body, src, dst, IB_PEER_PORT, IB_PORT, payload, 5);
}

/* Send bytes [off, off + len) of the body as a fragment. */
static void fragment_tos(int v4, size_t off, size_t len, int more, unsigned id, unsigned tos)
{
    tenon_u8 *p = malloc(48 + len + 1);
    const struct tenon_ip *src = v4 ? &ib.peer4 : &ib.peer6, *dst = v4 ? &ib.us4 : &ib.us6;

    if (p == NULL)
        abort();
    if (v4) {
        hn_ip_header(p, src, dst, 17, 64, len);
        hn_put16(p + 4, id);
        hn_put16(p + 6, (more ? 0x2000U : 0U) | (unsigned)(off / 8));
        p[1] = (tenon_u8)tos;
        ib_ip4_sum(p);
        memcpy(p + 20, body + off, len);
        ib_inject(p, 20 + len);
    } else {
        hn_ip_header(p, src, dst, 44, 64, len + 8);
        hn_put32(p, 0x60000000U | tos << 20);
        hn_put32(p + 40, 17U << 24 | (tenon_u32)off | (more ? 1U : 0U));
        hn_put32(p + 44, id);
        memcpy(p + 48, body + off, len);
        ib_inject(p, 48 + len);
    }
    free(p);
}

static void fragment(int v4, size_t off, size_t len, int more, unsigned id)
{
    fragment_tos(v4, off, len, more, id, 0);
}

/* That the whole arrived once, and unhurt. */
static void arrived(unsigned times)
{
    if (!HN_EQUAL(ib.received, times) || times == 0)
        return;
    HN_EQUAL(ib.info.bytes, body_bytes - 8);
    HN_CHECK(memcmp(ib.bytes, body + 8, body_bytes - 8) == 0);
}

/* The next permutation of v[0 .. n) in order. */
static int permute(unsigned *v, unsigned n)
{
    unsigned i = n - 1, j = n - 1, t;

    while (i > 0 && v[i - 1] >= v[i])
        i--;
    if (i == 0)
        return 0;
    while (v[j] <= v[i - 1])
        j--;
    t = v[i - 1], v[i - 1] = v[j], v[j] = t;
    for (j = n - 1; i < j; i++, j--)
        t = v[i], v[i] = v[j], v[j] = t;
    return 1;
}

static void all_orders(int v4)
{
    for (unsigned pieces = 2; pieces <= 5; pieces++) {
        unsigned order[5] = { 0, 1, 2, 3, 4 }, id = 1;

        ib_open();
        body_make(v4, pieces * 24 - 8 - 3);
        do {
            const unsigned before = ib.received;

            for (unsigned i = 0; i < pieces; i++) {
                const size_t off = order[i] * 24U;
                const int more = order[i] + 1 < pieces;

                HN_EQUAL(ib.received, before);
                fragment(v4, off, more ? 24 : body_bytes - off, more, id);
            }
            arrived(before + 1);
            id++;
        } while (permute(order, pieces));
        HN_EQUAL(ib_stat(TENON_STAT_FRAG_OK), id - 1);
        HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 0);
        ib_close();
    }
}

static void orders4(void)
{
    all_orders(1);
}

static void orders6(void)
{
    all_orders(0);
}

/* Sequences of fragments that must not make a datagram, in the words of those who found them. off, len in
 * units of 8 bytes but for the last piece. */
struct step {
    int off, len, more;
};

static void attacks(void)
{
    static const struct {
        const char *name;
        struct step steps[8];
        unsigned received;
    } rows[] = {
        { "whole in two", { { 0, 5, 1 }, { 5, 5, 0 } }, 1 },
        { "exact duplicate", { { 0, 5, 1 }, { 0, 5, 1 }, { 5, 5, 0 } }, 1 },
        { "duplicate of the last", { { 5, 5, 0 }, { 5, 5, 0 }, { 0, 5, 1 } }, 1 },
        { "teardrop: inside", { { 0, 5, 1 }, { 2, 1, 0 } }, 0 },
        { "teardrop, then the rest", { { 0, 5, 1 }, { 2, 1, 1 }, { 5, 5, 0 } }, 0 },
        { "overlap left", { { 4, 6, 0 }, { 0, 5, 1 } }, 0 },
        { "overlap right", { { 0, 5, 1 }, { 4, 6, 0 } }, 0 },
        { "covers", { { 3, 2, 1 }, { 0, 9, 1 }, { 9, 1, 0 } }, 0 },
        { "same start, longer", { { 0, 4, 1 }, { 0, 5, 1 }, { 5, 5, 0 } }, 0 },
        { "same start, shorter", { { 0, 5, 1 }, { 0, 4, 1 }, { 5, 5, 0 } }, 0 },
        { "bonk: past the end", { { 0, 5, 1 }, { 5, 5, 0 }, { 11, 1, 0 } }, 1 },
        { "last twice, shorter", { { 8, 2, 0 }, { 5, 2, 0 }, { 0, 5, 1 } }, 0 },
        { "last twice, longer", { { 5, 2, 0 }, { 7, 3, 0 }, { 0, 5, 1 } }, 0 },
        { "more after the end", { { 5, 5, 0 }, { 10, 1, 1 }, { 0, 5, 1 } }, 0 },
        { "end before what is there", { { 5, 5, 1 }, { 0, 5, 0 } }, 0 },
        { "same piece, no more", { { 5, 5, 1 }, { 5, 5, 0 }, { 0, 5, 1 } }, 0 },
        { "gap", { { 0, 4, 1 }, { 5, 5, 0 } }, 0 },
        { "rose: first and last only", { { 0, 1, 1 }, { 9, 1, 0 } }, 0 },
        { "jolt: last only", { { 9, 1, 0 } }, 0 },
        { "nestea", { { 0, 2, 1 }, { 1, 1, 0 }, { 0, 10, 1 } }, 0 },
        { "syndrop", { { 0, 4, 1 }, { 3, 2, 1 }, { 5, 5, 0 } }, 0 },
        { "overlap, then all of it again", { { 0, 5, 1 }, { 4, 6, 0 }, { 0, 5, 1 }, { 5, 5, 0 } }, 0 },
    };

    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
            hn_row = rows[i].name;
            ib_open();
            body_make(v4, 72);
            for (const struct step *s = rows[i].steps; s->len != 0; s++)
                fragment(v4, (size_t)s->off * 8, (size_t)s->len * 8, s->more, 77);
            if (rows[i].received)
                arrived(1);
            else
                HN_EQUAL(ib.received, 0);
            hn_run_ms(&ib.hn, 61000);
            HN_EQUAL(ib.received, rows[i].received);
            ib_close();
        }
    }
    hn_row = "";
}

/* Fragments that are wrong in themselves. */
static void malformed(void)
{
    ib_open();
    body_make(1, 72);
    fragment(1, 0, 7, 1, 1);           /* not a multiple of 8, and smaller than a UDP header */
    fragment(1, 0, 12, 1, 2);
    fragment(1, 8, 0, 1, 3);           /* nothing in it */
    fragment(1, 8, 0, 0, 4);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 4);
    /* "Ping of death": the end is past 65535. */
    fragment(1, 65528, 80, 0, 5);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 5);
    /* It takes what is there already with it. */
    fragment(1, 0, 40, 1, 6);
    fragment(1, 65528, 40, 0, 6);
    fragment(1, 40, 40, 0, 6);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 7);
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(hn_left(&ib.hn), 0);
    ib_close();
}

/* RFC 1858: a TCP header in two pieces, or flags behind a harmless first piece. */
static void tiny_tcp(void)
{
    tenon_u8 p[64];

    ib_open();
    memset(p, 0, sizeof p);
    hn_ip_header(p, &ib.peer4, &ib.us4, 6, 64, 16);
    hn_put16(p + 6, 0x2000);
    ib_ip4_sum(p);
    ib_inject(p, 36);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 1);
    hn_ip_header(p, &ib.peer4, &ib.us4, 6, 64, 24);
    hn_put16(p + 6, 1);
    ib_ip4_sum(p);
    ib_inject(p, 44);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 2);
    ib_close();
}

/* What IPv6 says to the sender about a bad fragment. */
static void param_of(tenon_u8 type, tenon_u8 code, tenon_u32 pointer)
{
    const tenon_u8 *p;
    size_t n;

    p = ib_sent(&n);
    if (!HN_CHECK(p != NULL))
        return;
    HN_CHECK(ib_sums_good(p, n));
    HN_EQUAL(p[6], 58);
    HN_EQUAL(p[40], type);
    HN_EQUAL(p[41], code);
    HN_EQUAL(hn_get32(p + 44), pointer);
}

static void malformed6(void)
{
    ib_open();
    body_make(0, 72);
    fragment(0, 0, 12, 1, 1);
    param_of(4, 0, 4);
    fragment(0, 65528, 8, 0, 2);
    param_of(4, 0, 42);
    fragment(0, 0, 0, 1, 3);    /* no transport header: RFC 7112 */
    param_of(4, 3, 0);
    body_bytes = 0;
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 3);
    ib_close();
}

/* RFC 7112: the chain of headers goes over the end of the first fragment. */
static void first_without_header6(void)
{
    tenon_u8 p[40 + 8 + 16];

    ib_open();
    memset(p, 0, sizeof p);
    hn_ip_header(p, &ib.peer6, &ib.us6, 44, 64, 24);
    p[40] = 60;
    p[43] = 1;
    p[48] = 17;
    p[49] = 1;                 /* destination options of 16 bytes: UDP is in the next fragment */
    p[50] = 1, p[51] = 4;
    p[56] = 1, p[57] = 6;
    ib_inject(p, sizeof p);
    param_of(4, 3, 0);
    /* Half of a UDP header is not enough either. */
    p[40] = 17;
    hn_put16(p + 4, 16 - 8 + 8);
    ib_inject(p, 40 + 16);
    HN_EQUAL(hn_left(&ib.hn), 0);
    ib_close();
}

/* RFC 6946: alone, whatever is waiting with the same id. */
static void atomic6(void)
{
    ib_open();
    body_make(0, 72);
    fragment(0, 0, 40, 1, 9);
    fragment(0, 0, body_bytes, 0, 9);
    arrived(1);
    fragment(0, 40, 40, 0, 9);
    arrived(2);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 0);
    ib_close();
}

/* RFC 8200 4.5: only the first fragment says what follows. */
static void next_header_of_first6(void)
{
    tenon_u8 p[48 + 40];

    ib_open();
    body_make(0, 72);
    hn_ip_header(p, &ib.peer6, &ib.us6, 44, 64, 48);
    hn_put32(p + 40, 6U << 24 | 40U);    /* TCP, it says */
    hn_put32(p + 44, 3);
    memcpy(p + 48, body + 40, 40);
    ib_inject(p, sizeof p);
    fragment(0, 0, 40, 1, 3);
    arrived(1);
    ib_close();
}

/* IPv4 tells datagrams apart by protocol as well, IPv6 by id alone. */
static void keys4(void)
{
    tenon_u8 p[60];

    ib_open();
    body_make(1, 72);
    hn_ip_header(p, &ib.peer4, &ib.us4, 132, 64, 40);
    hn_put16(p + 4, 5);
    hn_put16(p + 6, 5);
    ib_ip4_sum(p);
    ib_inject(p, 60);
    fragment(1, 0, 40, 1, 5);
    fragment(1, 40, 40, 0, 6);
    HN_EQUAL(ib.received, 0);
    fragment(1, 40, 40, 0, 5);
    arrived(1);
    ib_close();
}

/* The largest datagrams there are. */
static void largest(void)
{
    struct tenon_conf conf;

    for (int v4 = 0; v4 < 2; v4++) {
        const size_t payload = v4 ? 65507 : 65527;

        tenon_conf_default(&conf);
        ib_open_conf(&conf, 0);
        body_make(v4, payload);
        for (size_t off = 0; off < body_bytes; off += 1440) {
            const size_t len = body_bytes - off < 1440 ? body_bytes - off : 1440;

            fragment(v4, off, len, off + len < body_bytes, 1);
        }
        arrived(1);
        ib_close();
    }
}

/* The first fragment, with 8 bytes of options behind its IP header. */
static void first_with_options(int v4, size_t len, unsigned id)
{
    static tenon_u8 p[2000];
    const size_t ip = v4 ? 28 : 56;

    memset(p, 0, ip);
    hn_ip_header(p, v4 ? &ib.peer4 : &ib.peer6, v4 ? &ib.us4 : &ib.us6, v4 ? 17 : 60, 64, len + (v4 ? 8 : 16));
    if (v4) {
        p[0] = 0x47;
        memset(p + 20, 1, 8);
        hn_put16(p + 4, id);
        hn_put16(p + 6, 0x2000);
        ib_ip4_sum(p);
    } else {
        p[40] = 44;
        p[42] = 1;
        p[43] = 4;
        hn_put32(p + 48, 17U << 24 | 1U);
        hn_put32(p + 52, id);
    }
    memcpy(p + ip, body, len);
    ib_inject(p, ip + len);
}

/* RFC 8200 4.5: the headers of the first fragment are those of the whole, whose length has 16 bits. No fragment is
 * too long by what is in itself. */
static void largest_by_first(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t over = 0; over < 2; over++) {
            const size_t payload = (v4 ? 65507U : 65527U) - 8 + over;

            ib_open();
            body_make(v4, payload);
            for (size_t off = 1440; off < body_bytes; off += 1440) {
                const size_t len = body_bytes - off < 1440 ? body_bytes - off : 1440;

                fragment(v4, off, len, off + len < body_bytes, 1);
            }
            HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), 0);
            first_with_options(v4, 1440, 1);
            HN_EQUAL(ib_stat(TENON_STAT_FRAG_BAD), over);
            arrived(over ? 0 : 1);
            ib_close();
        }
    }
}

/* More spans than a packet can have: they are copied together. */
static void many_spans(void)
{
    ib_open();
    body_make(1, 64 * 40 - 8);
    for (size_t i = 64; i-- > 0;) {
        tenon_u8 p[60];

        hn_ip_header(p, &ib.peer4, &ib.us4, 17, 64, 40);
        hn_put16(p + 6, (i < 63 ? 0x2000U : 0U) | (unsigned)(i * 5));
        ib_ip4_sum(p);
        memcpy(p + 20, body + i * 40, 40);
        ib_inject_to(NULL, p, 60, 14 + 20 + 16);
    }
    arrived(1);
    ib_close();
}

/* One piece more than the limit: given up. */
static void too_many_pieces(void)
{
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.reass_pieces_max = 3;
    ib_open_conf(&conf, 0);
    body_make(1, 72);
    for (size_t i = 0; i < 5; i++)
        fragment(1, i * 16, 16, i < 4, 1);
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_LIMIT), 1);
    for (size_t i = 0; i < 2; i++)
        fragment(1, i * 40, 40, i < 1, 2);
    arrived(1);
    ib_close();
}

/* RFC 1122 3.3.2: the timeout runs from the first piece, and its sender is told if that was the beginning. */
static void timeout(int v4, int first)
{
    const tenon_u8 *p;
    size_t n;

    ib_open();
    body_make(v4, 72);
    fragment(v4, first ? 0 : 40, 40, first, 4);
    hn_run_ms(&ib.hn, 59900);
    fragment(v4, 24 + (first ? 40 : 0), 16, 1, 4);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_TIMEOUT), 0);
    hn_run_ms(&ib.hn, 200);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_TIMEOUT), 1);
    p = ib_sent(&n);
    HN_EQUAL(p != NULL, first);
    if (p != NULL) {
        const size_t ip = v4 ? 20 : 40;

        HN_CHECK(ib_sums_good(p, n));
        HN_EQUAL(p[ip], v4 ? 11 : 3);
        HN_EQUAL(p[ip + 1], 1);
        HN_EQUAL(hn_get32(p + ip + 4), 0);
        /* The first fragment as it came. */
        HN_EQUAL(n, ip + 8 + (v4 ? 20U : 48U) + 40);
        HN_CHECK(memcmp(p + n - 40, body, 40) == 0);
        if (v4)
            HN_EQUAL(hn_get16(p + ip + 8 + 6), 0x2000);
        else
            HN_EQUAL(p[ip + 8 + 6], 44);
    }
    fragment(v4, 40, 40, 0, 4);
    HN_EQUAL(ib.received, 0);
    ib_close();
}

static void timeouts(void)
{
    for (int i = 0; i < 4; i++)
        timeout(i & 1, i >> 1);
}

/* No more datagrams than there is room for: the oldest goes, and no sender gets more than half. */
static void datagram_limit(void)
{
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.reass_datagrams_max = 8;
    ib_open_conf(&conf, 0);
    body_make(1, 72);
    for (unsigned id = 1; id <= 5; id++)
        fragment(1, 0, 40, 1, id);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_LIMIT), 1);
    fragment(1, 40, 40, 0, 1);      /* gone: begins anew, and pushes out 2 */
    HN_EQUAL(ib.received, 0);
    fragment(1, 40, 40, 0, 3);
    fragment(1, 40, 40, 0, 4);
    fragment(1, 40, 40, 0, 5);
    arrived(3);
    ib_close();
}

static void datagram_limit_all(void)
{
    struct tenon_conf conf;
    const struct tenon_ip peer = ib.peer4;

    tenon_conf_default(&conf);
    conf.reass_datagrams_max = 4;
    ib_open_conf(&conf, 0);
    for (unsigned i = 0; i < 50; i++) {
        ib.peer4 = tenon_ip4(0xC0000210 + i);
        body_make(1, 72);
        fragment(1, 0, 40, 1, 1);
    }
    HN_CHECK(ib_stat(TENON_STAT_FRAG_LIMIT) >= 46);
    body_make(1, 72);
    fragment(1, 40, 40, 0, 1);
    arrived(1);
    ib.peer4 = peer;
    ib_close();
}

/* Packet memory is charged by what the buffers hold, and never passes the limit. */
static void byte_limit(void)
{
    struct tenon_conf conf;
    long before;

    tenon_conf_default(&conf);
    conf.reass_bytes_max = 8192;
    ib_open_conf(&conf, 0);
    body_make(1, 20000);
    before = ib.hn.bufs;
    for (unsigned id = 1; id <= 30; id++) {
        fragment(1, 0, 1480, 1, id);
        HN_CHECK(ib.hn.bufs - before <= 8192 / 1480 + 16);
    }
    HN_CHECK(ib_stat(TENON_STAT_FRAG_LIMIT) >= 24);
    /* A datagram that alone is too large never arrives; a small one does afterwards. */
    for (size_t off = 0; off < body_bytes; off += 1480)
        fragment(1, off, body_bytes - off < 1480 ? body_bytes - off : 1480, off + 1480 < body_bytes, 99);
    HN_EQUAL(ib.received, 0);
    body_make(1, 72);
    fragment(1, 0, 40, 1, 100);
    fragment(1, 40, 40, 0, 100);
    arrived(1);
    ib_close();
}

/* A fragment in a buffer that is too large to be kept for it: what is kept is copied. */
static void fragment_in_large(size_t off, size_t len, unsigned id)
{
    struct tenon_frame frame;
    struct tenon_span span;
    tenon_u8 us[6], peer[6];
    tenon_u8 *p;

    memset(&frame, 0, sizeof frame);
    span.buf = hn_buf(&ib.hn, 70000);
    span.off = 0;
    span.len = (tenon_u32)(14 + 20 + len);
    frame.spans = &span;
    frame.nspans = 1;
    p = span.buf->data;
    hn_eth(p, hn_mac(us, 0, 1), hn_mac(peer, 1, 2), 0x0800);
    hn_ip_header(p + 14, &ib.peer4, &ib.us4, 17, 64, len);
    hn_put16(p + 14 + 4, id);
    hn_put16(p + 14 + 6, (off + len < body_bytes ? 0x2000U : 0) | (unsigned)(off / 8));
    ib_ip4_sum(p + 14);
    memcpy(p + 34, body + off, len);
    HN_EQUAL(tenon_input(ib.hn.stack, ib.netif, &frame, 1, ib.hn.now_us), TENON_OK);
    HN_EQUAL(span.buf->refs, 1);
    tenon_buf_put(span.buf);
}

/* A port with huge receive buffers: a few fragments do not use up the limit. */
static void large_buffers(void)
{
    ib_open();
    body_make(1, 9000);
    for (size_t off = 0; off < body_bytes; off += 1480)
        fragment_in_large(off, body_bytes - off < 1480 ? body_bytes - off : 1480, 0);
    arrived(1);
    HN_EQUAL(ib_stat(TENON_STAT_FRAG_LIMIT), 0);
    ib_close();
}

/* What is copied may stay with an application, or out of order: it leaves buffers for headers alone, without which
 * nothing would leave any more. */
static void buffers_for_headers(void)
{
    struct tenon_conf conf;
    struct tenon_ip peer;

    tenon_conf_default(&conf);
    conf.reass_datagrams_max = 64;
    ib_open_conf(&conf, 0);
    peer = ib.peer4;
    body_make(1, 72);
    fragment_in_large(0, 40, 1);
    HN_CHECK(ib.hn.stack->nbufs > TN_BUF_RESERVE);
    ib.hn.buf_fail = -1;
    while (ib.hn.stack->nbufs > TN_BUF_RESERVE) {
        ib.peer4.w[TENON_IP4_WORD]++;
        fragment_in_large(0, 40, 1);
    }
    ib.peer4.w[TENON_IP4_WORD]++;
    fragment_in_large(0, 40, 1);
    HN_EQUAL(ib.hn.stack->nbufs, TN_BUF_RESERVE);
    HN_EQUAL(ib_stat(TENON_STAT_NO_BUFFER), 1);
    ib.peer4 = peer;
    fragment_in_large(40, 40, 1);    /* it is put together in one more */
    HN_EQUAL(ib.received, 0);
    HN_CHECK(ib.hn.stack->nbufs >= TN_BUF_RESERVE);
    ib.hn.buf_fail = 0;
    fragment_in_large(0, 40, 2);
    fragment_in_large(40, 40, 2);
    arrived(1);
    ib_close();
}

/* RFC 3168 5.3: the ECN field of the whole, from those of two fragments. 4: no datagram. */
static void ecn(void)
{
    static const tenon_u8 want[4][4] = {
        { 0, 0, 0, 4 },
        { 1, 1, 1, 3 },
        { 2, 2, 2, 3 },
        { 4, 3, 3, 3 },
    };

    for (int v4 = 0; v4 < 2; v4++) {
        for (unsigned a = 0; a < 4; a++) {
            for (unsigned b = 0; b < 4; b++) {
                ib_open();
                body_make(v4, 72);
                fragment_tos(v4, 0, 40, 1, 1, 0xB8 | a);
                fragment_tos(v4, 40, 40, 0, 1, 0xB8 | b);
                if (want[a][b] == 4) {
                    HN_EQUAL(ib.received, 0);
                } else {
                    arrived(1);
                    HN_EQUAL(ib.info.tos, 0xB8 | want[a][b]);
                }
                ib_close();
            }
        }
    }
}

/* A port cannot have verified the checksum of what was in pieces. */
static void checksum_of_whole(void)
{
    ib_open();
    body_make(1, 72);
    body[60] ^= 1;
    fragment(1, 0, 40, 1, 1);
    fragment(1, 40, 40, 0, 1);
    HN_EQUAL(ib.received, 0);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_BAD_CSUM), 1);
    ib_close();
}

/* Every allocation fails in turn: nothing leaks, and the next datagram arrives. */
static void no_memory(void)
{
    for (long fail = 1; fail < 12; fail++) {
        for (int kind = 0; kind < 2; kind++) {
            ib_open();
            body_make(1, 72);
            while (ib.hn.stack->nbufs > 0)
                tenon_buf_put(ib.hn.stack->bufs[--ib.hn.stack->nbufs]);
            if (kind)
                ib.hn.buf_fail = ib.hn.buf_gets + fail;
            else
                ib.hn.mem_fail = ib.hn.mem_gets + fail;
            fragment(1, 40, 40, 0, 1);
            fragment(1, 0, 40, 1, 1);
            ib.hn.buf_fail = ib.hn.mem_fail = 0;
            ib.received = 0;
            fragment(1, 40, 40, 0, 2);
            fragment(1, 0, 40, 1, 2);
            arrived(1);
            ib_close();
        }
    }
}

/* Random fragments of random datagrams: what arrives, arrives unhurt. Limits hold; all comes back. */
static void fuzz(void)
{
    tenon_u32 x = 7;

    for (int v4 = 0; v4 < 2; v4++) {
        ib_open();
        body_make(v4, 400);
        for (unsigned i = 0; i < 30000; i++) {
            const int odd = ib_random(&x) % 40 == 0;
            const size_t off = odd ? ib_random(&x) % 51 * 8 : ib_random(&x) % 9 * 48;
            const unsigned before = ib.received;
            size_t len = odd ? (1 + ib_random(&x) % 12) * 8 : 48;
            int more = off + len < body_bytes;

            if (off + len > body_bytes)
                len = body_bytes - off;
            if (odd && (x & 1))
                more = !more;
            if (more)
                len &= ~(size_t)7;
            fragment(v4, off, len, more, ib_random(&x) % 4 + i / 150 * 40);
            if (ib.received != before)
                arrived(before + 1);
            if (ib_random(&x) % 100 == 0)
                hn_run_ms(&ib.hn, ib_random(&x) % 5000);
        }
        HN_CHECK(ib.received > 50);
        HN_CHECK(ib_stat(TENON_STAT_FRAG_BAD) > 50);
        HN_CHECK(ib_stat(TENON_STAT_FRAG_LIMIT) > 0);
        hn_run_ms(&ib.hn, 61000);
        HN_EQUAL(ib.hn.stack->ip.reass_bytes, 0);
        HN_EQUAL(ib.hn.stack->ip.reass_oldest, 0);
        ib_close();
    }
}

static const struct hn_test tests[] = {
    { "ip4_fragments_all_orders", "IP4-10 IP4-8 VUL-F-7", orders4 },
    { "ip6_fragments_all_orders", "IP4-10 IP6-14 VUL-F-7", orders6 },
    { "reass_attacks", "IP4-13 IP4-16 IP6-11 VUL-F-7 CVE-1999-0015", attacks },
    { "ip4_fragments_malformed", "IP4-12 IP4-15 VUL-F-6 CVE-1999-0128 CVE-2020-17438", malformed },
    { "ip4_fragments_tiny_tcp", "IP4-11", tiny_tcp },
    { "ip6_fragments_malformed", "IP6-9", malformed6 },
    { "ip6_first_without_header", "IP6-12", first_without_header6 },
    { "ip6_atomic", "IP6-13", atomic6 },
    { "ip6_next_header_of_first", "IP6-21", next_header_of_first6 },
    { "ip4_reass_keys", "IP4-10", keys4 },
    { "reass_largest", "IP4-8 IP6-14 UDP-12", largest },
    { "reass_largest_by_first", "IP4-12 IP6-9", largest_by_first },
    { "reass_many_spans", "IP4-8", many_spans },
    { "reass_too_many_pieces", "IP4-14", too_many_pieces },
    { "reass_timeouts", "IP4-9 IP6-10", timeouts },
    { "reass_datagram_limit", "IP4-14 IP6-22", datagram_limit },
    { "reass_datagram_limit_all", "IP4-14 IP6-22", datagram_limit_all },
    { "reass_byte_limit", "IP4-14 VUL-F-13 CVE-2018-5391", byte_limit },
    { "reass_large_buffers", "IP4-14", large_buffers },
    { "reass_buffers_for_headers", "IP4-14", buffers_for_headers },
    { "reass_ecn", "IP4-17 ECN-8", ecn },
    { "reass_checksum", "UDP-2", checksum_of_whole },
    { "reass_no_memory", "VUL-F-13", no_memory },
    { "reass_fuzz", "IP4-14 VUL-F-7 VUL-F-12", fuzz },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
