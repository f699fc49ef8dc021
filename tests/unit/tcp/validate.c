/* SPDX-License-Identifier: MIT */
/* Congestion window validation (RFC 7661), in virtual time. */
#include "harness.h"

#include "tcp/cc_validate.h"

enum { MSS = 1000 };

static const tenon_u32 none = 0xFFFFFFFFU;

struct bench {
    struct tn_cwv cwv;
    unsigned cwnd;                       /* segments */
    struct tn_cwv_now now;
};

static void bench_open(struct bench *b, tenon_u32 srtt_us)
{
    memset(b, 0, sizeof *b);
    b->now.us = 0xFFFFFFFF - 2000000;    /* both clocks wrap soon */
    b->now.ms = 0xFFFFFFFF - 3000;
    b->now.srtt_us = srtt_us;
    b->cwnd = 1000000;
    tn_cwv_init(&b->cwv);
}

static void pass(struct bench *b, tenon_u32 ms)
{
    b->now.us += ms * 1000;
    b->now.ms += ms;
}

/* A burst of so many segments is acknowledged, two by two, within a millisecond or two. */
static void burst(struct bench *b, unsigned segments)
{
    for (; segments > 1; segments -= 2) {
        b->now.us += 20;
        tn_cwv_acked(&b->cwv, 2 * MSS, b->cwnd * MSS, &b->now);
    }
    if (segments)
        tn_cwv_acked(&b->cwv, MSS, b->cwnd * MSS, &b->now);
}

static int valid(struct bench *b, unsigned segments)
{
    return tn_cwv_is_validated(&b->cwv, segments * MSS, &b->now);
}

/* 4.1: nothing is known, everything may grow; 4.3: half of the window has to be used. */
static void phase_by_use(void)
{
    struct bench b;

    bench_open(&b, 100000);
    HN_CHECK(valid(&b, 1000000));
    burst(&b, 10);
    HN_CHECK(valid(&b, 20));
    HN_CHECK(!valid(&b, 21) && !valid(&b, 1000));
    pass(&b, 100);
    burst(&b, 12);
    HN_CHECK(valid(&b, 24) && !valid(&b, 25));
}

/* A window that is full all the time: each ACK finds it validated, in slow start too. */
static void full_window_stays_valid(void)
{
    struct bench b;
    unsigned cwnd = 10, round, i;

    bench_open(&b, 100000);
    for (round = 0; round < 12; round++) {
        const unsigned flight = cwnd;

        for (i = 0; i < flight; i += 2) {
            b.now.us += 100000 * 2 / flight;
            b.now.ms = 0xFFFFFFFF - 3000 + (tenon_u32)(b.now.us - (0xFFFFFFFF - 2000000)) / 1000;
            tn_cwv_acked(&b.cwv, 2 * MSS, cwnd * MSS, &b.now);
            if (round > 0 && !HN_CHECK(valid(&b, cwnd)))
                return;
            cwnd += 2;
        }
    }
    HN_EQUAL(cwnd, 10U << 12);
}

/* 4.2: a sample counts for three round trips or a second, whichever is longer, and for a third more at most. */
static void samples_expire(void)
{
    static const struct {
        tenon_u32 srtt_us, kept_ms, gone_ms;
    } rows[] = {{100000, 999, 1340}, {1000, 999, 1340}, {500000, 1499, 2010}, {2000000, 5999, 8010}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct bench b;

        bench_open(&b, rows[i].srtt_us);
        burst(&b, 10);
        pass(&b, rows[i].kept_ms);
        HN_CHECK(valid(&b, 20));
        bench_open(&b, rows[i].srtt_us);
        burst(&b, 10);
        pass(&b, rows[i].gone_ms);
        HN_CHECK(!valid(&b, 20) && !valid(&b, 2) && valid(&b, 0));
    }
}

/* What is acknowledged over two round trips is not one sample. */
static void sample_is_one_round_trip(void)
{
    struct bench b;
    unsigned i;

    bench_open(&b, 100000);
    for (i = 0; i < 50; i++) {
        tn_cwv_acked(&b.cwv, MSS, b.cwnd * MSS, &b.now);
        pass(&b, 10);    /* ten segments per round trip */
    }
    HN_CHECK(valid(&b, 20) && !valid(&b, 23));
}

/* 4.4.3: after five minutes half of the window, and again after five more; not below the initial one. */
static void phase_ends_after_five_minutes(void)
{
    struct tenon_cc cc;
    struct bench b;

    bench_open(&b, 100000);
    memset(&cc, 0, sizeof cc);
    cc.cwnd = 100 * MSS;
    cc.ssthresh = 20 * MSS;
    burst(&b, 10);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 0);
    pass(&b, 299999);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 0);
    HN_EQUAL(cc.cwnd, 100 * MSS);    /* RFC 2861 would have halved it for each timeout of silence */
    pass(&b, 1);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 1);
    HN_EQUAL(cc.cwnd, 50 * MSS);
    HN_EQUAL(cc.ssthresh, 75 * MSS);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 0);
    pass(&b, 600000);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 1);
    HN_EQUAL(cc.cwnd, 50 * MSS / 4);
    HN_EQUAL(cc.ssthresh, 75 * MSS);
    pass(&b, 3600000);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 1);
    HN_EQUAL(cc.cwnd, 10 * MSS);
    pass(&b, 3600000);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 0);
}

/* Use in between begins the five minutes anew: when its sample, a second and a third old, counts no more, whenever
 * somebody asks. */
static void phase_ends_with_use(void)
{
    struct tenon_cc cc;
    struct bench b;

    bench_open(&b, 100000);
    memset(&cc, 0, sizeof cc);
    cc.cwnd = 100 * MSS;
    burst(&b, 10);
    HN_CHECK(!valid(&b, 100));
    pass(&b, 200000);
    burst(&b, 60);
    HN_CHECK(valid(&b, 100));
    pass(&b, 200000);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 0);
    pass(&b, 101331);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 0);
    pass(&b, 1);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 1);
    burst(&b, 60);
    HN_CHECK(valid(&b, 100));
    pass(&b, 301332);
    HN_EQUAL(tn_cwv_age(&b.cwv, &cc, 10 * MSS, &b.now), 1);
    HN_EQUAL(cc.cwnd, 25 * MSS);
}

/* 4.4.1 */
static void loss_from_what_was_used(void)
{
    static const struct {
        unsigned acked, flight, resent;    /* segments */
        tenon_u32 during, after;
    } rows[] = {{20, 10, 4, 10 * MSS, 8 * MSS}, {20, 30, 4, 15 * MSS, 13 * MSS}, {20, 10, 50, 10 * MSS, 0},
                {1, 1, 0, MSS / 2, MSS / 2}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct bench b;

        bench_open(&b, 100000);
        burst(&b, rows[i].acked);
        HN_EQUAL(tn_cwv_lost(&b.cwv, 100 * MSS, rows[i].flight * MSS, &b.now), rows[i].during);
        HN_EQUAL(tn_cwv_recovered(&b.cwv, rows[i].resent * MSS), rows[i].after);
        HN_CHECK(valid(&b, 1000));    /* undefined again */
    }
}

static void loss_of_a_used_window(void)
{
    struct bench b;

    bench_open(&b, 100000);
    burst(&b, 60);
    HN_EQUAL(tn_cwv_lost(&b.cwv, 100 * MSS, 100 * MSS, &b.now), none);
    HN_EQUAL(tn_cwv_recovered(&b.cwv, 5 * MSS), none);
    bench_open(&b, 100000);
    HN_EQUAL(tn_cwv_lost(&b.cwv, 100 * MSS, 10 * MSS, &b.now), none);
    HN_CHECK(valid(&b, 1000));
}

/* Ten segments per round trip and no more: a window of three times that is the most that comes of it. */
static void limited_window_stops(void)
{
    struct bench b;
    unsigned round, i;

    bench_open(&b, 100000);
    b.cwnd = 10;
    for (round = 0; round < 50; round++) {
        for (i = 0; i < 10; i += 2) {
            tn_cwv_acked(&b.cwv, 2 * MSS, b.cwnd * MSS, &b.now);
            if (valid(&b, b.cwnd))
                b.cwnd += 2;
            b.now.us += 20;
        }
        b.now.us += 100000 - 100;
        b.now.ms += 100;
    }
    HN_CHECK(b.cwnd >= 20 && b.cwnd <= 32);
}

static const struct hn_test tests[] = {
    { "phase_by_use", "CWV-1 CWV-2", phase_by_use },
    { "full_window_stays_valid", "CWV-2", full_window_stays_valid },
    { "limited_window_stops", "CWV-2 CC-GEN-3", limited_window_stops },
    { "samples_expire", "CWV-1", samples_expire },
    { "sample_is_one_round_trip", "CWV-1", sample_is_one_round_trip },
    { "phase_ends_after_five_minutes", "CWV-4", phase_ends_after_five_minutes },
    { "phase_ends_with_use", "CWV-2 CWV-4", phase_ends_with_use },
    { "loss_from_what_was_used", "CWV-3", loss_from_what_was_used },
    { "loss_of_a_used_window", "CWV-3", loss_of_a_used_window },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
