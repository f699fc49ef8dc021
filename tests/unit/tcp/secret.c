/* SPDX-License-Identifier: MIT */
/* What peers get to see and nobody may predict: initial sequence numbers (RFC 6528), local ports (RFC 6056),
 * timestamp offsets (RFC 7323 5.4), and the limit of challenge ACKs (RFC 5961 7), which must tell nothing of
 * other connections. Statistics are over 20,000 tuples that differ in as little as one bit; the bounds are
 * more than five standard deviations away, and the entropy is the same in every run. */
#include "harness.h"

#include "base/bytes.h"
#include "tcp/tcp_internal.h"

enum { TUPLES = 20000, PORT_LOW = 1024, PORTS = 65536 - PORT_LOW };

/* ---- statistics -------------------------------------------------------------------------------- */

/* Words as a coin would throw them: every bit is set in half of them, bits are independent of their
 * neighbours, the top byte takes all values alike. */
static void looks_random(const tenon_u32 *words, unsigned n)
{
    const double sigma = 5.5 * 0.5;
    unsigned top[256] = { 0 };
    double chi = 0;

    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned ones = 0, same = 0;
        double off, off_same;

        for (unsigned i = 0; i < n; i++) {
            ones += words[i] >> bit & 1;
            same += (words[i] >> bit & 1) == (words[i] >> (bit + 1) % 32 & 1);
        }
        off = ones - n / 2.0;
        off_same = same - n / 2.0;
        HN_CHECK(off * off < sigma * sigma * n);
        HN_CHECK(off_same * off_same < sigma * sigma * n);
    }
    for (unsigned i = 0; i < n; i++)
        top[words[i] >> 24]++;
    for (unsigned i = 0; i < 256; i++) {
        const double off = top[i] - n / 256.0;

        chi += off * off / (n / 256.0);
    }
    HN_CHECK(chi > 150 && chi < 380);    /* 255 degrees of freedom: mean 255, standard deviation 22.6 */
}

static int by_value(const void *a, const void *b)
{
    const tenon_u32 x = *(const tenon_u32 *)a, y = *(const tenon_u32 *)b;

    return x < y ? -1 : x > y;
}

static unsigned repeated_values(const tenon_u32 *words, unsigned n)
{
    static tenon_u32 sorted[TUPLES];
    unsigned repeated = 0;

    memcpy(sorted, words, n * sizeof *words);
    qsort(sorted, n, sizeof *sorted, by_value);
    for (unsigned i = 1; i < n; i++)
        repeated += sorted[i] == sorted[i - 1];
    return repeated;
}

/* The i-th tuple: neighbours differ in the remote port, every 100th step in the remote address too. */
static void tuple(unsigned i, struct tenon_addr *local, struct tenon_addr *remote)
{
    memset(local, 0, sizeof *local);
    memset(remote, 0, sizeof *remote);
    local->ip = tenon_ip4_bytes(10, 0, 0, 1);
    local->port = 80;
    remote->ip = tenon_ip4(0x0A000100U + i / 100);
    remote->port = (tenon_u16)(1000 + i % 100);
}

/* The number alone. */
static tenon_u32 isn_of(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote)
{
    tenon_u32 ts_offset;

    return tn_tcp_isn(stack, local, remote, &ts_offset);
}

typedef tenon_u32 secret_fn(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote);

/* Values, and what a step to the next tuple changes: as a difference and bit by bit. */
static void unrelated_across_tuples(secret_fn *fn)
{
    static tenon_u32 words[TUPLES], steps[TUPLES], flips[TUPLES];
    struct hn hn;

    hn_open(&hn, NULL);
    for (unsigned i = 0; i < TUPLES; i++) {
        struct tenon_addr local, remote;

        tuple(i, &local, &remote);
        words[i] = fn(hn.stack, &local, &remote);
    }
    for (unsigned i = 0; i + 1 < TUPLES; i++) {
        steps[i] = words[i + 1] - words[i];
        flips[i] = words[i + 1] ^ words[i];
    }
    hn_row = "values";
    looks_random(words, TUPLES);
    HN_CHECK(repeated_values(words, TUPLES) <= 2);    /* 0.05 are to be expected */
    hn_row = "steps";
    looks_random(steps, TUPLES - 1);
    HN_CHECK(repeated_values(steps, TUPLES - 1) <= 2);
    hn_row = "flips";
    looks_random(flips, TUPLES - 1);
    hn_close(&hn);
}

/* The same tuples under another key. */
static void unrelated_across_instances(secret_fn *fn)
{
    static tenon_u32 differences[TUPLES];
    struct hn a, b;

    hn_open_seed(&a, NULL, 1);
    hn_open_seed(&b, NULL, 2);
    for (unsigned i = 0; i < TUPLES; i++) {
        struct tenon_addr local, remote;

        tuple(i, &local, &remote);
        differences[i] = fn(a.stack, &local, &remote) - fn(b.stack, &local, &remote);
    }
    looks_random(differences, TUPLES);
    HN_CHECK(repeated_values(differences, TUPLES) <= 2);
    hn_close(&a);
    hn_close(&b);
}

/* Each of the four parts of the tuple matters, and so does the order of the ends. */
static void every_part_counts(secret_fn *fn)
{
    static const char *const rows[] = { "local address", "local port", "remote address", "remote port", "exchanged" };
    struct tenon_addr local, remote;
    struct hn hn;
    tenon_u32 base;

    hn_open(&hn, NULL);
    tuple(0, &local, &remote);
    base = fn(hn.stack, &local, &remote);
    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_addr a = local, b = remote;

        hn_row = rows[i];
        a.ip.w[3] ^= i == 0;
        a.port = (tenon_u16)(a.port ^ (i == 1));
        b.ip.w[3] ^= i == 2;
        b.port = (tenon_u16)(b.port ^ (i == 3));
        HN_CHECK(base != (i == 4 ? fn(hn.stack, &b, &a) : fn(hn.stack, &a, &b)));
    }
    hn_row = "";
    HN_EQUAL(fn(hn.stack, &local, &remote), base);
    hn_close(&hn);
}

/* ---- initial sequence numbers ------------------------------------------------------------------ */

static void isn_tuples(void)
{
    unrelated_across_tuples(isn_of);
}

static void isn_instances(void)
{
    unrelated_across_instances(isn_of);
}

static void isn_parts(void)
{
    every_part_counts(isn_of);
}

/* One more every 4 us, also across the wrap of the microseconds (71 minutes) and all around the 32 bits. */
static void isn_clock(void)
{
    static const struct {
        const char *row;
        unsigned long long us;
    } rows[] = {
        { "at once", 0 },
        { "4 us", 4 },
        { "1 ms", 1000 },
        { "1 s", 1000000 },
        { "1 hour", 3600000000ULL },
        { "across the wrap of the clock", 4500000000ULL },
        { "3 hours", 10800000000ULL },
        { "once around", 4ULL << 32 },
    };
    struct tenon_addr local, remote;

    tuple(0, &local, &remote);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        unsigned long long left = rows[i].us;
        tenon_u32 before, ticks, want = (tenon_u32)(rows[i].us / 4);
        struct hn hn;

        hn_row = rows[i].row;
        hn_open(&hn, NULL);
        before = isn_of(hn.stack, &local, &remote);
        while (left > 0) {
            const tenon_u32 step = left < 600000000 ? (tenon_u32)left : 600000000U;

            hn.now_us += step;
            left -= step;
            (void)tenon_poll(hn.stack, hn.now_us);
        }
        ticks = isn_of(hn.stack, &local, &remote) - before;
        HN_CHECK(ticks - want + 1 <= 2);    /* one tick more or less */
        hn_close(&hn);
    }
}

/* The clock never goes back, microsecond by microsecond. */
static void isn_monotone(void)
{
    struct tenon_addr local, remote;
    struct hn hn;
    tenon_u32 last;

    hn_open(&hn, NULL);
    tuple(0, &local, &remote);
    last = isn_of(hn.stack, &local, &remote);
    for (unsigned i = 0; i < 5000 && hn_failures == 0; i++) {
        tenon_u32 now;

        hn.now_us++;
        (void)tenon_poll(hn.stack, hn.now_us);
        now = isn_of(hn.stack, &local, &remote);
        HN_CHECK(now - last <= 1);
        last = now;
    }
    hn_close(&hn);
}

/* ---- timestamp offsets ------------------------------------------------------------------------- */

static void timestamp_tuples(void)
{
    unrelated_across_tuples(tn_tcp_ts_offset);
}

static void timestamp_instances(void)
{
    unrelated_across_instances(tn_tcp_ts_offset);
}

static void timestamp_parts(void)
{
    every_part_counts(tn_tcp_ts_offset);
}

/* The two are kept apart: who sees the one knows nothing of the other. */
static void timestamp_and_isn(void)
{
    static tenon_u32 words[TUPLES];
    struct hn hn;

    hn_open(&hn, NULL);
    for (unsigned i = 0; i < TUPLES; i++) {
        struct tenon_addr local, remote;

        tuple(i, &local, &remote);
        words[i] = isn_of(hn.stack, &local, &remote) - tn_tcp_ts_offset(hn.stack, &local, &remote);
    }
    looks_random(words, TUPLES);
    HN_CHECK(repeated_values(words, TUPLES) <= 2);
    hn_close(&hn);
}

/* ---- a host with a neighbour that we play ------------------------------------------------------ */

static const tenon_u8 peer_mac[6] = { 2, 0, 0, 0, 1, 1 };
static const struct tenon_tcp_events no_events;

static unsigned host_open(struct hn *hn)
{
    const struct tenon_ip us = hn_ip("10.0.0.1"), gateway = hn_ip("10.0.0.2"), all = hn_ip("0.0.0.0");
    unsigned netif;

    hn_open(hn, NULL);
    netif = hn_netif(hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(hn->stack, netif, &us, 24), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(hn->stack, netif, &gateway, peer_mac), TENON_OK);
    HN_EQUAL(tenon_route_add(hn->stack, netif, &all, 0, &gateway, 0), TENON_OK);
    hn_run_ms(hn, 10);
    hn_forget(hn);
    return netif;
}

/* A segment from 10.0.0.2:sport to our port 80; no options. */
static void segment(struct hn *hn, unsigned netif, unsigned sport, unsigned flags, tenon_u32 seq, tenon_u32 ack)
{
    tenon_u8 tcp[20] = { 0 };
    struct hn_packet packet;

    hn_put16(tcp, sport);
    hn_put16(tcp + 2, 80);
    hn_put32(tcp + 4, seq);
    hn_put32(tcp + 8, ack);
    tcp[12] = 5 << 4;
    tcp[13] = (tenon_u8)flags;
    hn_put16(tcp + 14, 65535);
    memset(&packet, 0, sizeof packet);
    memcpy(packet.from, peer_mac, 6);
    packet.src = hn_ip("10.0.0.2");
    packet.dst = hn_ip("10.0.0.1");
    packet.proto = 6;
    packet.ttl = 64;
    packet.sum_at = 16;
    packet.payload = tcp;
    packet.len = 20;
    hn_packet(hn, netif, &packet);
}

/* The value of the timestamp option of a segment; 0: it has none. */
static tenon_u32 ts_value(const struct hn_sent *sent)
{
    const tenon_u8 *tcp = sent->bytes + 34, *end = tcp + (tcp[12] >> 4) * 4;

    for (const tenon_u8 *p = tcp + 20; p < end && *p != 0; p += *p == 1 ? 1 : p[1])
        if (*p == 8)
            return hn_get32(p + 2);
    return 0;
}

/* What a SYN of one tuple shows, again and again: ISN and timestamp go on with their clocks. */
static void syn_sent_same_tuple_later(void)
{
    const struct tenon_addr from = { hn_ip("10.0.0.1"), 5000, 0 }, to = { hn_ip("10.0.0.2"), 80, 0 };
    static const tenon_u32 pause_ms[] = { 0, 1, 10, 1000, 60000, 1000000 };
    tenon_u32 isn = 0, ts = 0, at_us = 0;
    struct hn hn;

    (void)host_open(&hn);
    for (size_t i = 0; i < TENON_ARRAY_LEN(pause_ms); i++) {
        const struct hn_sent *sent;
        struct tenon_tcp *conn;

        hn_run_ms(&hn, pause_ms[i]);
        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, &from, &to, &no_events, NULL), TENON_OK);
        (void)tenon_poll(hn.stack, hn.now_us);
        sent = hn_next(&hn);
        if (!HN_CHECK(sent != NULL && sent->len >= 66 && sent->bytes[47] == TN_TCP_SYN))
            return;
        if (i > 0) {
            HN_CHECK(hn_get32(sent->bytes + 38) - isn - (hn.now_us - at_us) / 4 + 1 <= 2);
            HN_CHECK(ts_value(sent) - ts - pause_ms[i] + 1 <= 2);
        }
        isn = hn_get32(sent->bytes + 38);
        ts = ts_value(sent);
        at_us = hn.now_us;
        tenon_tcp_abort(conn);
        hn_forget(&hn);
    }
    hn_close(&hn);
}

/* ---- local ports ------------------------------------------------------------------------------- */

static void port_of(const struct tenon_tcp *conn, tenon_u32 *port)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    *port = info.local.port;
}

/* First ports towards 20,000 servers: they come from the whole range, and alike from all of it. */
static void port_range(void)
{
    static unsigned top[64];
    tenon_u32 low = 65536, high = 0;
    double chi = 0;
    struct hn hn;

    memset(top, 0, sizeof top);
    (void)host_open(&hn);
    for (unsigned i = 0; i < TUPLES; i++) {
        const struct tenon_addr to = { tenon_ip4(0x0B000001U + i), 443, 0 };
        struct tenon_tcp *conn;
        tenon_u32 port;

        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &to, &no_events, NULL), TENON_OK);
        port_of(conn, &port);
        tenon_tcp_abort(conn);
        low = tn_min(low, port);
        high = tn_max(high, port);
        if (port >= PORT_LOW)
            top[(port - PORT_LOW) / (PORTS / 64)]++;
    }
    HN_CHECK(low >= PORT_LOW && low < PORT_LOW + 40);
    HN_CHECK(high > 65535 - 40);
    for (unsigned i = 0; i < 64; i++)
        chi += (top[i] - TUPLES / 64.0) * (top[i] - TUPLES / 64.0) / (TUPLES / 64.0);
    HN_CHECK(chi > 20 && chi < 130);    /* 63 degrees of freedom: mean 63, standard deviation 11.2 */
    hn_close(&hn);
}

/* One destination, again and again: no port is the last one plus a number that one could know. */
static void port_step(void)
{
    const struct tenon_addr to = { hn_ip("10.0.0.2"), 80, 0 };
    unsigned steps[9] = { 0 }, kinds = 0, most = 0;    /* RFC 6056 3.3.5: steps of 1 to 8 */
    tenon_u32 last = 0;
    struct hn hn;

    (void)host_open(&hn);
    for (unsigned i = 0; i < 8001; i++) {
        struct tenon_tcp *conn;
        tenon_u32 port, step;

        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &to, &no_events, NULL), TENON_OK);
        port_of(conn, &port);
        tenon_tcp_abort(conn);
        step = (port + PORTS - last) % PORTS;
        if (i > 0 && HN_CHECK(step > 0 && step < TENON_ARRAY_LEN(steps)))
            steps[step]++;
        last = port;
    }
    for (unsigned i = 0; i < TENON_ARRAY_LEN(steps); i++) {
        kinds += steps[i] > 0;
        most = steps[i] > most ? steps[i] : most;
    }
    HN_CHECK(kinds >= 8);
    HN_CHECK(most < 8000 / 8 + 200);    /* 1000 each, standard deviation 30 */
    hn_close(&hn);
}

/* Connections to one destination and to others in between: the others have counters of their own (RFC 6056 3.3.4),
 * so that nobody can count what we do elsewhere by what comes to him, and ports are used again as late as can be. */
static void port_counter_is_own(void)
{
    const struct tenon_addr mine = { hn_ip("10.0.0.2"), 80, 0 };
    unsigned steps[9] = { 0 }, disturbed = 0;
    tenon_u32 last = 0;
    struct hn hn;

    (void)host_open(&hn);
    for (unsigned round = 0; round < 500; round++) {
        struct tenon_tcp *conn;
        tenon_u32 port, step;

        for (unsigned i = 0; i < round % 20; i++) {
            const struct tenon_addr other = { tenon_ip4(0xC6336401U + i), 443, 0 };

            HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &other, &no_events, NULL), TENON_OK);
            tenon_tcp_abort(conn);
        }
        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &mine, &no_events, NULL), TENON_OK);
        port_of(conn, &port);
        tenon_tcp_abort(conn);
        step = (port + PORTS - last) % PORTS;
        last = port;
        if (round > 0 && step < TENON_ARRAY_LEN(steps))
            steps[step]++;
        else
            disturbed += round > 0;
    }
    HN_EQUAL(disturbed, 0);
    for (unsigned i = 1; i < TENON_ARRAY_LEN(steps); i++)
        HN_CHECK(steps[i] > 62 - 40 && steps[i] < 62 + 40);    /* 62 each, standard deviation 7 */
    hn_close(&hn);
}

/* Counters are many: two destinations in a thousand pairs share one, about. */
static void port_counters_are_shared_by_few(void)
{
    const unsigned pairs = 8000;
    unsigned shared = 0;
    struct hn hn;

    (void)host_open(&hn);
    for (unsigned i = 0; i < pairs; i++) {
        const struct tenon_addr a = { tenon_ip4(0xC6000000U + 2 * i), 443, 0 };
        const struct tenon_addr b = { tenon_ip4(0xC6000001U + 2 * i), 443, 0 };
        tenon_u32 first, second;
        struct tenon_tcp *conn;

        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &a, &no_events, NULL), TENON_OK);
        port_of(conn, &first);
        tenon_tcp_abort(conn);
        for (unsigned k = 0; k < 10; k++) {
            HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &b, &no_events, NULL), TENON_OK);
            tenon_tcp_abort(conn);
        }
        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &a, &no_events, NULL), TENON_OK);
        port_of(conn, &second);
        tenon_tcp_abort(conn);
        shared += (second + PORTS - first) % PORTS > 8;
    }
    HN_CHECK(shared <= 10);    /* 2 are to be expected */
    hn_close(&hn);
}

/* All ports of one destination in use: each once, none that a listener has, then TENON_EINUSE; others are not
 * concerned; and the first that is free again is found. */
static void port_exhaustion(void)
{
    static tenon_u8 used[65536];
    static struct tenon_tcp *conns[65536];
    const struct tenon_addr listen_at = { tenon_ip_any(), 50000, 0 };
    const struct tenon_addr to = { hn_ip("10.0.0.2"), 80, 0 }, other = { hn_ip("10.0.0.2"), 81, 0 };
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn;
    unsigned n = 0, twice = 0;
    tenon_u32 port;
    struct hn hn;
    int error;

    memset(used, 0, sizeof used);
    (void)host_open(&hn);
    HN_EQUAL(tenon_tcp_listen(hn.stack, &listener, &listen_at, &no_events, NULL, 0), TENON_OK);
    while ((error = tenon_tcp_connect(hn.stack, &conn, NULL, &to, &no_events, NULL)) == TENON_OK) {
        port_of(conn, &port);
        twice += used[port]++;
        conns[port] = conn;
        n++;
    }
    HN_EQUAL(error, TENON_EINUSE);
    HN_EQUAL(n, PORTS - 1);
    HN_EQUAL(twice, 0);
    HN_EQUAL(used[50000], 0);
    for (unsigned i = 0; i < PORT_LOW; i++)
        HN_EQUAL(used[i], 0);
    HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &other, &no_events, NULL), TENON_OK);
    for (unsigned i = 0; i < 10; i++) {
        const unsigned free_port = PORT_LOW + i * 7167;

        tenon_tcp_abort(conns[free_port]);
        HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &to, &no_events, NULL), TENON_OK);
        port_of(conn, &port);
        HN_EQUAL(port, free_port);
        conns[free_port] = conn;
    }
    for (port = 0; port < 65536; port++)
        if (used[port])
            tenon_tcp_abort(conns[port]);
    hn_close(&hn);
}

/* The search begins shortly before the last port and goes on from the first: all are looked at all the same. */
static void port_exhaustion_counter_wraps(void)
{
    const struct tenon_addr local = { hn_ip("10.0.0.1"), 0, 0 }, to = { hn_ip("10.0.0.2"), 80, 0 };
    static struct tenon_tcp *conns[65536];
    struct tenon_addr from = local;
    struct tenon_tcp *conn;
    tenon_u32 words[3], hash[2], port;
    struct hn hn;

    (void)host_open(&hn);
    for (unsigned i = PORT_LOW; i < 65536; i++) {
        from.port = (tenon_u16)i;
        HN_EQUAL(tenon_tcp_connect(hn.stack, &conns[i], &from, &to, &no_events, NULL), TENON_OK);
    }
    words[0] = local.ip.w[3];
    words[1] = to.ip.w[3];
    words[2] = to.port;
    tn_siphash_words(hash, &hn.stack->secret, words, 3, 3);
    for (unsigned i = 0; i < 8; i++) {
        const unsigned free_port = 65535 - i * 120;

        hn_row = i == 0 ? "last port" : "one of the last ports";
        tenon_tcp_abort(conns[free_port]);
        for (unsigned k = 0; k < hn.stack->conf.tcp_port_counters; k++)
            hn.stack->tcp.port_counters[k] = (tenon_u16)((2 * PORTS - hash[0] % PORTS - 2000) % PORTS);
        if (HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &to, &no_events, NULL), TENON_OK)) {
            port_of(conn, &port);
            HN_EQUAL(port, free_port);
            conns[free_port] = conn;
        } else {
            conns[free_port] = NULL;
        }
    }
    for (unsigned i = PORT_LOW; i < 65536; i++)
        if (conns[i] != NULL)
            tenon_tcp_abort(conns[i]);
    hn_close(&hn);
}

/* A TIME-WAIT record keeps its pair of ends (6056-4): nobody gets its port towards the same peer. */
static void time_wait_port(void)
{
    const struct tenon_addr listen_at = { tenon_ip_any(), 80, 0 }, peer = { hn_ip("10.0.0.2"), 4000, 0 };
    const struct tenon_addr from = { hn_ip("10.0.0.1"), 80, 0 };
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn = NULL;
    const struct hn_sent *sent;
    unsigned netif;
    tenon_u32 iss;
    struct hn hn;

    netif = host_open(&hn);
    HN_EQUAL(tenon_tcp_listen(hn.stack, &listener, &listen_at, &no_events, NULL, 0), TENON_OK);
    segment(&hn, netif, 4000, TN_TCP_SYN, 100, 0);
    sent = hn_next(&hn);
    if (!HN_CHECK(sent != NULL))
        return;
    iss = hn_get32(sent->bytes + 38);
    segment(&hn, netif, 4000, TN_TCP_ACK, 101, iss + 1);
    tenon_tcp_listener_close(listener);
    {
        struct tn_tcp_ends *ends = tn_tcp_find(hn.stack, &from, &peer);

        if (!HN_CHECK(ends != NULL))
            return;
        conn = tn_tcp_of(ends);
    }
    HN_EQUAL(tenon_tcp_finish(conn), TENON_OK);
    (void)tenon_poll(hn.stack, hn.now_us);
    segment(&hn, netif, 4000, TN_TCP_ACK | TN_TCP_FIN, 101, iss + 2);
    HN_EQUAL(tenon_tcp_time_waits(hn.stack), 1);
    HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, &from, &peer, &no_events, NULL), TENON_EINUSE);
    hn_run_ms(&hn, 61000);
    HN_EQUAL(tenon_tcp_time_waits(hn.stack), 0);
    HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, &from, &peer, &no_events, NULL), TENON_OK);
    hn_close(&hn);
}

/* ---- challenge ACKs ---------------------------------------------------------------------------- */

/* Spoofed SYNs into a connection. @return how many were answered */
static unsigned challenge(struct hn *hn, unsigned netif, unsigned sport, unsigned n)
{
    hn_forget(hn);
    for (unsigned i = 0; i < n; i++)
        segment(hn, netif, sport, TN_TCP_SYN, 500, 0);
    return hn->nsent;
}

static void handshake(struct hn *hn, unsigned netif, unsigned sport)
{
    const struct hn_sent *sent;

    hn_forget(hn);
    segment(hn, netif, sport, TN_TCP_SYN, 100, 0);
    sent = hn_next(hn);
    if (HN_CHECK(sent != NULL))
        segment(hn, netif, sport, TN_TCP_ACK, 101, hn_get32(sent->bytes + 38) + 1);
}

/* An attacker counts the challenge ACKs of his own connection: the count is the same whatever he, or somebody
 * else, has sent to the connection that he attacks (CVE-2016-5696). */
static void established_challenge_limit_is_own(void)
{
    static const unsigned at_the_victim[] = { 0, 1, 5, 10, 100, 1000 };
    const struct tenon_addr listen_at = { tenon_ip_any(), 80, 0 };

    for (size_t i = 0; i < TENON_ARRAY_LEN(at_the_victim); i++) {
        const unsigned n = at_the_victim[i];
        struct tenon_tcp_listener *listener;
        unsigned netif, answered;
        char row[40];
        struct hn hn;

        snprintf(row, sizeof row, "%u at the victim", n);
        hn_row = row;
        netif = host_open(&hn);
        HN_EQUAL(tenon_tcp_listen(hn.stack, &listener, &listen_at, &no_events, NULL, 0), TENON_OK);
        handshake(&hn, netif, 4000);
        handshake(&hn, netif, 4001);
        answered = challenge(&hn, netif, 4000, n);
        HN_EQUAL(answered, n < 10 ? n : 10);
        HN_EQUAL(challenge(&hn, netif, 4001, 100), 10);
        HN_EQUAL(challenge(&hn, netif, 4000, 100), 10 - answered);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_CHALLENGE_ACK), 20);
        hn_run_ms(&hn, 5001);    /* the interval is over, for each of them */
        HN_EQUAL(challenge(&hn, netif, 4000, 100), 10);
        HN_EQUAL(challenge(&hn, netif, 4001, 100), 10);
        hn_close(&hn);
        hn_row = "";
    }
}

static const struct hn_test tests[] = {
    { "isn_tuples",
      "6528-1 6528-4 9293-MUST-9 9293-SHLD-1 CVE-2001-0328 CVE-2020-27213 CVE-2020-27630 CVE-2020-27631 CVE-2020-27632 "
      "CVE-2020-27633 CVE-2020-27634 CVE-2020-27635 CVE-2020-27636 CVE-2020-28388 CVE-2020-35685",
      isn_tuples },
    { "isn_instances", "6528-2 9293-MUST-9", isn_instances },
    { "isn_parts", "6528-1 9293-SHLD-1", isn_parts },
    { "isn_clock", "9293-MUST-8 6528-1", isn_clock },
    { "isn_monotone", "9293-MUST-8 9293-SHLD-1", isn_monotone },
    { "timestamp_tuples", "7323-TS-5", timestamp_tuples },
    { "timestamp_instances", "7323-TS-5", timestamp_instances },
    { "timestamp_parts", "7323-TS-5", timestamp_parts },
    { "timestamp_and_isn", "7323-TS-5 SEC-3", timestamp_and_isn },
    { "syn_sent_same_tuple_later", "6528-1 9293-MUST-8 7323-TS-4 7323-TS-5", syn_sent_same_tuple_later },
    { "port_range", "6056-1 6056-2", port_range },
    { "port_step", "6056-2 6056-3", port_step },
    { "port_counter_is_own", "6056-2 6056-5 CVE-2022-1012", port_counter_is_own },
    { "port_counters_are_many", "6056-5 CVE-2022-1012", port_counters_are_shared_by_few },
    { "port_exhaustion", "6056-1 6056-4", port_exhaustion },
    { "port_exhaustion_counter_wraps", "6056-1", port_exhaustion_counter_wraps },
    { "time_wait_port", "6056-4", time_wait_port },
    { "established_challenge_limit_is_own", "5961-6", established_challenge_limit_is_own },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
