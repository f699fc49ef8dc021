/* SPDX-License-Identifier: MIT */
/* Rates and pacing (tcp_rate.c): the arithmetic against 64 bits, pacing over a million packets, samples against values
 * worked out by hand. A rate is bytes in 65536 us. */
#include "harness.h"

#include "tcp/cc.h"
#include "limits/pair.h"
#include "tcp/tcp_internal.h"

typedef unsigned long long u64;

enum { MSS = 1000 };

static const tenon_u32 edges[] = {
    0, 1, 2, 3, 7, 100, 999, 1000, 1460, 32767, 32768, 65535, 65536, 65537, 131071, 131072, 1000000, 16777215,
    16777216, 100000000, 1073741823, 1073741824, 2147483647, 2147483648U, 4000000000U, 4294967294U, 4294967295U,
};

/* ---- arithmetic -------------------------------------------------------------------------------------- */

static void check_rate_of(tenon_u32 bytes, tenon_u32 us)
{
    const u64 want = (u64)bytes * 65536 / (us == 0 ? 1 : us > 0x80000000U ? 0x80000000U : us);
    const tenon_u32 got = tn_cc_rate(bytes, us);

    /* Beyond half of the range it may say that it is all of it. */
    if (got == 0xFFFFFFFFU && want > 0x7FFFFFFF)
        return;
    /* After more than a quarter of the clock's range it may be wrong by one. */
    if (us >> 30 != 0 && got + 1 >= want && got <= want + 1)
        return;
    if (!HN_EQUAL(got, want))
        fprintf(stderr, "%lu bytes in %lu us\n", (unsigned long)bytes, (unsigned long)us);
}

static void check_rate_bytes(tenon_u32 rate, tenon_u32 us)
{
    const u64 want = (u64)rate * us >> 16;

    if (!HN_EQUAL(tn_cc_volume(rate, us), want < 0xFFFFFFFF ? want : 0xFFFFFFFF))
        fprintf(stderr, "rate %lu for %lu us\n", (unsigned long)rate, (unsigned long)us);
}

static void rate_edges(void)
{
    for (size_t i = 0; i < TENON_ARRAY_LEN(edges); i++)
        for (size_t k = 0; k < TENON_ARRAY_LEN(edges); k++) {
            check_rate_of(edges[i], edges[k]);
            check_rate_bytes(edges[i], edges[k]);
        }
}

/* Numbers of all sizes, the same in every run. */
static tenon_u32 any_number(tenon_u32 *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> (*state >> 8) % 32;
}

static void rate_random(void)
{
    tenon_u32 state = 1;

    for (unsigned i = 0; i < 200000 && hn_failures < 10; i++) {
        const tenon_u32 a = any_number(&state);
        const tenon_u32 b = any_number(&state);

        check_rate_of(a, b);
        check_rate_bytes(a, b);
    }
}

/* ---- pacing --------------------------------------------------------------------------------------------- */

struct bench {
    struct hn hn;
    struct tenon_tcp conn;
};

/* It asks for rates, and has no words besides the block's. */
static void measures_nothing(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;
    (void)event;
}

static const struct tenon_cc_ops measures = {
    .name = "measures", .init = measures_nothing, .delivered = measures_nothing
};

static void bench_open(struct bench *b)
{
    struct tenon_tcp *conn = &b->conn;

    memset(b, 0, sizeof *b);
    hn_open(&b->hn, NULL);
    conn->stack = b->hn.stack;
    conn->mss = MSS;
    conn->state = TENON_TCP_ESTABLISHED;
    conn->cc.ops = &measures;
    conn->cc.cwnd = 1000000;
    conn->cc.ssthresh = 0xFFFFFFFFU;
    conn->opts = tn_tcp_opts_new(conn->stack);
    conn->snd_una = conn->snd_nxt = conn->snd_end = 0xFFFFFFF1U;
    conn->min_rtt_us = 0xFFFFFFFFU;
    HN_CHECK(conn->opts != NULL && tn_flight_get(conn) != NULL);
}

/* When the next packet may leave. */
static tenon_u32 bench_next_us(struct bench *b)
{
    (void)tn_pace_allows(&b->conn);    /* what is owed becomes time */
    return b->conn.flight->pace_us;
}

static void bench_close(struct bench *b)
{
    tn_timer_stop(&b->conn.stack->wheel, &b->conn.timer);
    tn_flight_free(&b->conn);
    tn_tcp_opts_put(b->conn.stack, b->conn.opts);
    hn_close(&b->hn);
}

/* Every packet leaves exactly when it may: after a million of them the time is right to the microsecond. */
static void pacing_no_drift(void)
{
    static const tenon_u32 rates[] = { 65, 997, 65536, 1234567, 8192000, 99999989, 2000000011U, 4000000007U };
    static struct bench b;

    for (size_t i = 0; i < TENON_ARRAY_LEN(rates); i++) {
        const unsigned packets = rates[i] < 1000 ? 1000 : 1000000;    /* more would pass half of the clock */
        struct tenon_tcp *conn = &b.conn;
        u64 elapsed = 0, bytes = 0;

        bench_open(&b);
        conn->cc.pacing = rates[i];
        conn->snd_nxt = conn->snd_una + 1000000;
        for (unsigned n = 0; n < packets; n++) {
            const tenon_u32 size = 1 + n * 7919 % 1500, before = conn->stack->now_us;

            HN_CHECK(tn_pace_allows(conn));
            tn_pace_sent(conn, size);
            bytes += size;
            elapsed += bench_next_us(&b) - before;
            conn->stack->now_us = conn->flight->pace_us;
        }
        HN_CHECK(elapsed <= bytes * 65536 / rates[i]);
        HN_CHECK(bytes * 65536 / rates[i] - elapsed <= 1);
        conn->stack->now_us = b.hn.now_us;
        bench_close(&b);
    }
}

/* A timer that comes late makes up for a millisecond, however late it is. */
static void pacing_late_timer(void)
{
    static const tenon_u32 late_us[] = { 0, 10, 400, 999, 1000, 1001, 50000, 10000000, 2000000000 };
    static struct bench b;

    for (size_t i = 0; i < TENON_ARRAY_LEN(late_us); i++) {
        struct tenon_tcp *conn = &b.conn;
        const tenon_u32 credit = tn_min(late_us[i], 1000);
        unsigned sent = 0;

        bench_open(&b);
        conn->cc.pacing = tn_cc_rate(MSS, 100);    /* a packet every 100 us */
        conn->snd_nxt = conn->snd_una + 1000000;
        tn_pace_sent(conn, MSS);
        conn->stack->now_us = bench_next_us(&b) + late_us[i];
        while (tn_pace_allows(conn) && sent < 1000) {
            tn_pace_sent(conn, MSS);
            sent++;
        }
        HN_EQUAL(sent, 1 + credit / 100);
        HN_CHECK(conn->flags & TN_TCP_F_PACE_ARMED);
        conn->stack->now_us = b.hn.now_us;
        bench_close(&b);
    }
}

/* The initial window is not paced; behind it everything is. */
static void pacing_first_window(void)
{
    static struct bench b;
    struct tenon_tcp *conn = &b.conn;
    unsigned sent = 0;

    bench_open(&b);
    conn->cc.pacing = tn_cc_rate(MSS, 1000000);
    for (; tn_pace_allows(conn) && sent < 100; sent++) {
        tn_pace_sent(conn, MSS);
        conn->snd_nxt += MSS;
    }
    HN_EQUAL(sent, 10);
    bench_close(&b);
}

/* What may be owed is reckoned once, for the rate and the time of the next packet that there were. */
static void pacing_owes_by_the_rate(void)
{
    static struct bench b;
    struct tenon_tcp *conn = &b.conn;

    for (unsigned how = 0; how < 6; how++) {
        bench_open(&b);
        conn->cc.ops = &tenon_cc_newreno;
        conn->stack->now_us = 5000000;
        conn->cc.pacing = 10 << 16;    /* 10 bytes in a microsecond: 2,550 may be owed */
        tn_pace_sent(conn, 100);
        conn->stack->now_us += 300;
        HN_CHECK(tn_pace_lags(conn));
        tn_pace_owe(conn, 100);
        HN_CHECK(tn_pace_lags(conn) && (TENON_SMALL || conn->flight->pace_room > 2000));
        conn->flight->pace_owed = 2000;
        HN_CHECK(tn_pace_lags(conn));
        if (how == 0)
            tn_pace_update(conn);    /* nothing is known of the round trip */
        if (how == 1)
            HN_EQUAL(tn_tcp_cc_change(conn, &tenon_cc_cubic), TENON_OK);
        if (how == 2)
            conn->stack->now_us = conn->flight->pace_us - 1;
        if (how == 3) {
            conn->cc.pacing = 0;
            tn_pace_sent(conn, 0);
            conn->cc.pacing = 1 << 16;
            conn->flags |= TN_TCP_F_PACING;
        }
        if (how == 4) {
            conn->flight->pace_owed = 3000;
            (void)tn_pace_allows(conn);    /* what is owed becomes time */
            conn->flight->pace_owed = 2000;
        }
        if (how == 5)
            conn->flight->pace_owed = TENON_SMALL ? 1000000UL : conn->flight->pace_room + 1;
        HN_CHECK(!tn_pace_lags(conn));
        bench_close(&b);
    }
}

static void pacing_rates(void)
{
    static struct bench b;
    struct tenon_tcp *conn = &b.conn;

    bench_open(&b);
    tn_pace_update(conn);
    HN_EQUAL(conn->cc.pacing, 0);    /* nothing is known of the round trip */
    HN_EQUAL(tn_pace_quantum(conn), 0xFFFFFFFFU);
    conn->srtt8 = 8 * 100000;
    conn->cc.cwnd = 50000;
    conn->cc.ssthresh = 0xFFFFFFFFU;
    tn_pace_update(conn);
    HN_EQUAL(conn->cc.pacing, 100000ULL * 65536 / 100000);    /* twice, in slow start */
    conn->cc.ssthresh = 50000;
    tn_pace_update(conn);
    HN_EQUAL(conn->cc.pacing, 60000ULL * 65536 / 100000);     /* a fifth more, in congestion avoidance */
    HN_EQUAL(tn_pace_quantum(conn), 2 * MSS);
    conn->cc.cwnd = 50000000;
    tn_pace_update(conn);
    HN_EQUAL(tn_pace_quantum(conn), tn_cc_volume(conn->cc.pacing, 1000));
    HN_CHECK(tn_pace_quantum(conn) > 590000 && tn_pace_quantum(conn) <= 600000);
    /* PACE-6: the smallest window still leaves once per round trip. */
    conn->cc.cwnd = MSS;
    conn->cc.ssthresh = 2 * MSS;
    tn_pace_update(conn);
    HN_CHECK(tn_cc_volume(conn->cc.pacing, 100000) >= MSS);
    /* A window per RTO, however long a round trip seemed to take. */
    conn->cc.cwnd = conn->cc.ssthresh = 50000;
    conn->srtt8 = 8 * 50000000;
    conn->flight->rto_us = 2000000;
    tn_pace_update(conn);
    HN_EQUAL(conn->cc.pacing, 60000ULL * 65536 / 2000000);
    conn->opts->values[TENON_TCP_PACING] = 0;
    tn_pace_update(conn);
    HN_EQUAL(conn->cc.pacing, 0);
    bench_close(&b);
}

/* ---- samples -------------------------------------------------------------------------------------------- */

static tenon_u32 sample_t0;

static void sample_at(struct bench *b, tenon_u32 ms)
{
    b->conn.stack->now_us = sample_t0 + ms * 1000;
}

static void sample_send(struct bench *b, tenon_u32 n)
{
    struct tenon_tcp *conn = &b->conn;

    for (; n > 0; n--) {
        tn_flight_sent(conn, conn->snd_nxt + MSS);
        conn->snd_nxt += MSS;
        conn->snd_end = conn->snd_nxt;
        conn->stack->now_us++;    /* a record of its own for each */
    }
}

/* So many more are acknowledged. */
static struct tenon_rate_sample sample_ack(struct bench *b, tenon_u32 n)
{
    struct tenon_tcp *conn = &b->conn;
    struct tenon_rate_sample sample;
    struct tn_seg seg;
    struct tn_ack ack;

    memset(&seg, 0, sizeof seg);
    memset(&ack, 0, sizeof ack);
    ack.seg = &seg;
    ack.una = ack.fack = conn->snd_una;
    tn_flight_delivered(conn, &ack, conn->snd_una, conn->snd_una + n * MSS);
    conn->flight->total_delivered += ack.delivered;
    conn->snd_una += n * MSS;
    conn->flight->lost_edge = conn->flight->rtx_nxt = conn->snd_una;
    tn_flight_advance(conn);
    tn_rate_sample(conn, &ack, &sample);
    return sample;
}

/* draft-ietf-ccwg-bbr 4.1.1.2: the longer of the two, sending and acknowledging, counts. */
static void sample_by_hand(void)
{
    static struct bench b;
    struct tenon_rate_sample s;

    bench_open(&b);
    sample_t0 = b.conn.stack->now_us = 0xFFFFFF00U;    /* the clock wraps meanwhile */
    b.conn.flight->total_delivered = 0xFFFFF000U;              /* and so does what was delivered */
    sample_send(&b, 1);
    sample_at(&b, 10);
    sample_send(&b, 1);
    sample_at(&b, 100);
    b.conn.min_rtt_us = 100000;
    s = sample_ack(&b, 1);
    HN_EQUAL(s.interval_us, 100000);
    HN_EQUAL(s.delivered, 1000);
    HN_EQUAL(s.prior_delivered, 0xFFFFF000U);
    HN_EQUAL(s.rate, 1000ULL * 65536 / 100000);
    HN_EQUAL(s.tx_in_flight, 1000);
    sample_at(&b, 110);
    s = sample_ack(&b, 1);
    HN_EQUAL(s.interval_us, 110000);
    HN_EQUAL(s.delivered, 2000);
    HN_EQUAL(s.rate, 2000ULL * 65536 / 110000);
    HN_EQUAL(s.tx_in_flight, 2000);

    /* After silence time begins anew. Ten packets; they come back in two bunches. */
    sample_at(&b, 5000);
    sample_send(&b, 10);
    sample_at(&b, 5100);
    s = sample_ack(&b, 5);
    HN_EQUAL(s.delivered, 5000);
    HN_EQUAL(s.interval_us, 100000);
    sample_send(&b, 1);    /* at 5100 ms, with 5000 delivered since */
    sample_at(&b, 5150);
    s = sample_ack(&b, 5);
    HN_EQUAL(s.delivered, 10000);
    HN_EQUAL(s.interval_us, 150000);
    HN_EQUAL(s.rate, 10000ULL * 65536 / 150000);
    sample_at(&b, 5200);
    s = sample_ack(&b, 1);
    HN_EQUAL(s.delivered, 6000);
    HN_EQUAL(s.interval_us, 100000);
    HN_EQUAL(s.tx_in_flight, 6000);

    /* ACKs that come closer together than what they acknowledge has left: sending counts. */
    sample_at(&b, 6000);
    sample_send(&b, 1);
    sample_at(&b, 6040);
    sample_send(&b, 1);
    sample_at(&b, 6050);
    b.conn.min_rtt_us = 20000;
    (void)sample_ack(&b, 1);
    sample_at(&b, 6100);
    sample_send(&b, 1);    /* the last that was acknowledged left 100 ms ago, and its ACK came 50 ms ago */
    sample_at(&b, 6120);
    s = sample_ack(&b, 2);
    HN_EQUAL(s.delivered, 2000);
    HN_EQUAL(s.interval_us, 100000);
    bench_close(&b);
}

/* ACKs that were held back and come at once: faster than the path can be, no rate. */
static void sample_too_fast(void)
{
    static struct bench b;
    struct tenon_rate_sample s;

    bench_open(&b);
    sample_t0 = b.conn.stack->now_us;
    sample_send(&b, 10);
    sample_at(&b, 100);
    b.conn.min_rtt_us = 100000;
    s = sample_ack(&b, 5);
    HN_CHECK(s.rate > 0);
    sample_send(&b, 1);
    sample_at(&b, 150);
    s = sample_ack(&b, 6);
    HN_EQUAL(s.delivered, 6000);
    HN_EQUAL(s.interval_us, 0);
    HN_EQUAL(s.rate, 0);
    bench_close(&b);
}

/* BBR-3: what leaves while the application has no more says nothing about the path, until what was in flight then has
 * arrived. */
static void sample_app_limited(void)
{
    static struct bench b;
    struct tenon_rate_sample s;

    bench_open(&b);
    sample_t0 = b.conn.stack->now_us;
    sample_send(&b, 4);
    tn_rate_check_app_limited(&b.conn);
    sample_at(&b, 50);
    sample_send(&b, 1);
    sample_at(&b, 100);
    b.conn.min_rtt_us = 50000;
    s = sample_ack(&b, 4);
    HN_EQUAL(s.app_limited, 0);
    sample_send(&b, 1);    /* exactly what was in flight has arrived: not yet beyond it */
    sample_at(&b, 150);
    s = sample_ack(&b, 1);
    HN_EQUAL(s.app_limited, 1);
    sample_send(&b, 1);
    sample_at(&b, 200);
    s = sample_ack(&b, 1);
    HN_EQUAL(s.app_limited, 1);
    sample_at(&b, 250);
    s = sample_ack(&b, 1);
    HN_EQUAL(s.app_limited, 0);
    /* A full window is the network's limit, not the application's. */
    sample_send(&b, 4);
    b.conn.cc.cwnd = 4 * MSS;
    tn_rate_check_app_limited(&b.conn);
    HN_EQUAL(b.conn.flight->app_limited, 0);
    b.conn.cc.cwnd = 5 * MSS;
    b.conn.snd_end += 1;    /* something waits */
    tn_rate_check_app_limited(&b.conn);
    HN_EQUAL(b.conn.flight->app_limited, 0);
    b.conn.snd_end -= 1;
    tn_rate_check_app_limited(&b.conn);
    HN_EQUAL(b.conn.flight->app_limited, b.conn.flight->total_delivered + 4 * MSS);
    bench_close(&b);
}

/* ---- a closed window ---------------------------------------------------------------------------------- */

struct reader {
    struct tenon_tcp *conn;
    tenon_u32 held, read;
    int reads;
};

static void reader_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct reader *r = app;
    unsigned i;

    r->conn = conn;
    for (i = 0; i < n; i++)
        r->held += spans[i].len;
    if (r->reads)
        tenon_tcp_consumed(conn, r->held);
    r->read += r->reads ? r->held : 0;
    r->held = r->reads ? 0 : r->held;
}

/* The window stays closed while the clock of pacing comes halfway round: when it opens, what waits leaves at once. */
static void pacing_after_closed_window(void)
{
    static const struct tenon_tcp_events silent, takes = { .received = reader_received };
    static const unsigned minutes[] = { 10, 30, 40, 60, 70, 75 };
    static const struct tenon_cc_ops *const controls[] = { &tenon_cc_cubic, &tenon_cc_bbr };
    static const tenon_u8 bytes[200000];
    const struct wire_line_conf line = { .delay_us = 10000 };
    const struct tenon_addr here = pair_addr(1, 0, 7);
    unsigned i;

    for (i = 0; i < 2 * TENON_ARRAY_LEN(minutes); i++) {
        struct reader r = { .read = 0 };
        struct tenon_tcp_listener *listener;
        struct tenon_conf conf;
        struct tenon_tcp *conn;
        struct pair pair = { .wire = NULL };
        tenon_u32 written;

        tenon_conf_default(&conf);
        conf.tcp_cc = controls[i % 2];
        conf.tcp_snd_buf = sizeof bytes;
        conf.tcp_rcv_buf = 65535;
        HN_CHECK(pair_open(&pair, &conf));
        wire_line_set(pair.end[0], WIRE_OUT, &line);
        wire_line_set(pair.end[1], WIRE_OUT, &line);
        HN_EQUAL(tenon_tcp_listen(pair.stack[1], &listener, &here, &takes, &r, 0), TENON_OK);
        HN_EQUAL(tenon_tcp_connect(pair.stack[0], &conn, NULL, &here, &silent, &r), TENON_OK);
        pair_run(&pair, 100000);
        written = (tenon_u32)tenon_tcp_write(conn, bytes, sizeof bytes);
        HN_CHECK(written > 100000);
        pair_run(&pair, (uint64_t)minutes[i / 2] * 60000000);
        HN_EQUAL(conn->snd_wnd, 0);
        r.reads = 1;
        r.read = r.held;
        tenon_tcp_consumed(r.conn, r.held);
        r.held = 0;
        pair_run(&pair, 2000000);
        HN_EQUAL(r.read, written);
        tenon_tcp_abort(conn);
        HN_CHECK(pair_close(&pair));
    }
}

static const struct hn_test tests[] = {
    { "rate_edges", "CC-GEN-6 PACE-2", rate_edges },
    { "rate_random", "PACE-2", rate_random },
    { "pacing_no_drift", "PACE-2", pacing_no_drift },
    { "pacing_late_timer", "PACE-3 PACE-4", pacing_late_timer },
    { "pacing_first_window", "PACE-1", pacing_first_window },
    { "pacing_owes_by_the_rate", "PACE-2", pacing_owes_by_the_rate },
    { "pacing_rates", "PACE-1 PACE-3 PACE-6", pacing_rates },
    { "pacing_after_closed_window", "PACE-6", pacing_after_closed_window },
    { "sample_by_hand", "BBR-1 BBR-2 CC-X-7", sample_by_hand },
    { "sample_too_fast", "BBR-1", sample_too_fast },
    { "sample_app_limited", "BBR-3", sample_app_limited },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
