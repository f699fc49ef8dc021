/* SPDX-License-Identifier: MIT */
/* BBR: the arithmetic against floating point, single events by hand, and the example cases of the draft's appendix over
 * a model of a path. */
#include "harness.h"

#include "limits/pair.h"
#include "tcp/cc.h"
#include "tcp/cc_bbr.h"
#include "tcp/path.h"
#include "tcp/transfer.h"

enum { MSS = 1460 };

/* ---- arithmetic ------------------------------------------------------------------------------------------------ */

static tenon_u32 saturated(long double x)
{
    return x >= 4294967295.0L ? 0xFFFFFFFFU : (tenon_u32)x;
}

static void arithmetic_golden(void)
{
    static const tenon_u32 edges[] = {0, 1, 2, 3, 999, 1000, 1001, 65535, 65536, 65537, 1000000, 0x7FFFFFFF, 0x80000000,
                                      0xFFFFFFFE, 0xFFFFFFFF};
    static const tenon_u32 gains[] = {1, 150, 500, 700, 900, 990, 1000, 1250, 2000, 2250, 2770};
    struct path random = {.random = 1};
    unsigned i;

    for (i = 0; i < 200000; i++) {
        const unsigned n = TENON_ARRAY_LEN(edges);
        const tenon_u32 a = i < n * n ? edges[i / n] : path_random(&random) >> path_random(&random) % 32;
        const tenon_u32 b = i < n * n ? edges[i % n] : path_random(&random) >> path_random(&random) % 32;
        const tenon_u32 gain = gains[i % TENON_ARRAY_LEN(gains)], us = b == 0 ? 1 : b > 0x7FFFFFFF ? 0x7FFFFFFF : b;

        if (!HN_EQUAL(tn_cc_mul_high(a, b), (uint64_t)a * b >> 32)
            || !HN_EQUAL(tn_cc_volume(a, b), saturated((long double)((uint64_t)a * b >> 16)))
            || !HN_EQUAL(tn_cc_scale(a, gain), saturated((long double)((uint64_t)a * gain / 1000)))
            || !HN_EQUAL(tn_cc_rate(a, b), saturated((long double)(((uint64_t)a << 16) / us))))
            return;
    }
}

/* ---- by hand --------------------------------------------------------------------------------------------------- */

static const char *const state_names[] = {"Startup", "Drain", "DOWN", "CRUISE", "REFILL", "UP", "ProbeRTT", "none"};

struct hand {
    struct tenon_cc cc;
    tenon_u32 words[TENON_CC_WORDS + 128];
    struct tn_bbr *b;
    struct tenon_cc_event event;
};

static const tenon_rate ten_mbit = 81920;    /* 1,250,000 bytes/s */

static void hand_open(struct hand *h, tenon_u32 srtt_us)
{
    memset(h, 0, sizeof *h);
    h->cc.ops = &tenon_cc_bbr;
    h->cc.words = h->words;
    h->b = (struct tn_bbr *)(h->words + TENON_CC_WORDS);
    h->event.mss = MSS;
    h->event.now_us = 0xFFFFFFFF - 100000;
    h->event.srtt_us = srtt_us;
    h->event.sack = 1;
    h->event.total_delivered = 0xFFFFFFFF - 30000;
    h->cc.ops->init(&h->cc, &h->event);
    HN_CHECK(sizeof(struct tn_bbr) <= sizeof(tenon_u32) * tenon_cc_bbr.more_words);
}

/* An ACK for one segment, `us` after the last, with a rate sample. `left`: bytes delivered since the segment left. */
static void hand_ack(struct hand *h, tenon_u32 us, tenon_rate rate, tenon_u32 left)
{
    struct tenon_cc_event *e = &h->event;

    e->now_us += us;
    e->delivered = e->acked = MSS;
    e->total_delivered += MSS;
    e->sample.rate = rate;
    e->sample.interval_us = 50000;
    e->sample.delivered = left;
    e->sample.prior_delivered = e->total_delivered - left;
    h->cc.ops->delivered(&h->cc, e);
}

/* A round: everything that left before it is delivered. */
static void hand_round(struct hand *h, tenon_rate rate, unsigned segments)
{
    const tenon_u32 begin = h->event.total_delivered;
    unsigned i;

    for (i = 0; i < segments; i++) {
        const tenon_u32 left = (tenon_u32)(i + 1 == segments ? segments * MSS : segments * MSS + MSS);

        h->event.total_delivered = begin + i * MSS;
        hand_ack(h, 50000 / segments, rate, left);
    }
}

static void hand_to(struct hand *h, enum tn_bbr_state state)
{
    unsigned i;

    hand_open(h, 50000);
    h->event.pipe = 200000;
    for (i = 0; i < 10 && h->b->state == TN_BBR_STARTUP; i++)
        hand_round(h, ten_mbit, 40);
    h->event.pipe = state == TN_BBR_DRAIN || state == TN_BBR_DOWN ? 100000 : 50000;
    for (i = 0; i < 100 && h->b->state != state; i++)
        hand_round(h, ten_mbit, 40);
    HN_EQUAL(h->b->state, state);
}

static void init_pacing(void)
{
    struct hand h;

    hand_open(&h, 50000);
    HN_EQUAL(h.cc.cwnd, 14600);
    HN_EQUAL(h.b->state, TN_BBR_STARTUP);
    HN_EQUAL(h.b->min_rtt_us, 50000);
    HN_EQUAL(h.b->inflight_longterm, TN_BBR_INFINITE);
    HN_EQUAL(h.b->inflight_shortterm, TN_BBR_INFINITE);
    HN_EQUAL(h.cc.pacing, (unsigned)(14600 * 65536ULL / 50000) * 2770ULL / 1000);
    hand_open(&h, 0);
    HN_EQUAL(h.b->min_rtt_us, TN_BBR_INFINITE);
    HN_EQUAL(h.cc.pacing, (unsigned)(14600 * 65536ULL / 1000) * 2770ULL / 1000);
    h.event.srtt_us = h.event.rtt_us = 100000;
    hand_ack(&h, 100000, 0, 0);
    HN_EQUAL(h.cc.pacing, (unsigned)(14600 * 65536ULL / 100000) * 2770ULL / 1000);
}

/* Taken over from another control: its window stays. */
static void init_takes_over(void)
{
    struct hand h;

    hand_open(&h, 50000);
    h.cc.cwnd = 100 * MSS;
    h.cc.ops->init(&h.cc, &h.event);
    HN_EQUAL(h.cc.cwnd, 100 * MSS);
    HN_EQUAL(h.cc.pacing, (unsigned)(100 * MSS * 65536ULL / 50000) * 2770ULL / 1000);
}

/* 5.6.2: until the pipe is full once, a lower rate is no reason to send slower. */
static void startup_pacing_only_grows(void)
{
    struct hand h;
    tenon_rate before;

    hand_open(&h, 50000);
    hand_ack(&h, 50000, ten_mbit, 2 * MSS);
    HN_EQUAL(h.cc.pacing, ten_mbit * 2770ULL / 1000 * 990 / 1000);
    before = h.cc.pacing;
    h.b->max_bw[0] = ten_mbit / 4;
    hand_ack(&h, 1000, ten_mbit / 4, 2 * MSS);
    HN_EQUAL(h.cc.pacing, before);
}

/* BBR-16, BBR-17, BBR-18: in each state from the same model. BDP 62500; 3 quanta of 2 segments each. */
static void states_gains(void)
{
    static const struct {
        unsigned state, pacing, cwnd;
    } rows[] = {{TN_BBR_DRAIN, 500, 125000}, {TN_BBR_DOWN, 900, 125000}, {TN_BBR_CRUISE, 1000, 125000},
                {TN_BBR_REFILL, 1000, 125000}, {TN_BBR_UP, 1250, 140625 + 2 * MSS}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct hand h;

        hn_row = state_names[rows[i].state];
        hand_to(&h, rows[i].state);
        memset(h.b->extra, 0, sizeof h.b->extra);
        h.b->extra_others = 0;
        h.b->extra_delivered = 0;
        h.b->extra_start_us = h.event.now_us - 1000000;
        h.b->bw_probe_wait_us = 0x7FFFFFFF;
        h.b->rounds_since_probe_up = 0;
        h.b->probe_rtt_cwnd = 0;
        h.event.pipe = 100000;
        if (rows[i].state == TN_BBR_CRUISE || rows[i].state == TN_BBR_REFILL)
            h.event.pipe = 50000;
        hand_ack(&h, 1000, ten_mbit, 100 * MSS);
        if (!HN_EQUAL(h.b->state, rows[i].state))
            continue;
        HN_EQUAL(h.cc.pacing, ten_mbit * (unsigned long long)rows[i].pacing / 1000 * 990 / 1000);
        HN_EQUAL(h.cc.cwnd, rows[i].cwnd + MSS);    /* and the segment of this ACK, as an excess */
    }
    hn_row = "";
}

/* BBR-11: a stretch of 10 segments is lost; before it 2 % of what was in flight had room for one of them. */
static void loss_prefix(void)
{
    static const struct {
        const char *row;
        tenon_u32 in_flight, lost_before, stretch, longterm;
    } rows[] = {
        { "from none", 1000 * MSS, 0, 30 * MSS, 970 * MSS + 970 * MSS / 49 },
        { "from half", 1000 * MSS, 10 * MSS, 30 * MSS, 970 * MSS + (970 - 500) * MSS / 49 },
        { "from all", 1000 * MSS, 25 * MSS, 30 * MSS, 970 * MSS },
        { "no more than 30 % less than the target", 30 * MSS, 0, 10 * MSS, 62500 / 10 * 7 },
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct hand h;

        hn_row = rows[i].row;
        hand_to(&h, TN_BBR_UP);
        h.event.lost = rows[i].stretch;
        h.event.sample.tx_in_flight = rows[i].in_flight;
        h.event.sample.lost = rows[i].lost_before + rows[i].stretch;
        h.cc.ops->lost_bytes(&h.cc, &h.event);
        HN_EQUAL(h.b->state, TN_BBR_DOWN);
        HN_EQUAL(h.b->inflight_longterm, rows[i].longterm);
        HN_EQUAL(h.b->undo_state, TN_BBR_UP);
        h.event.sample.tx_in_flight = 10 * MSS;
        h.cc.ops->lost_bytes(&h.cc, &h.event);
        HN_EQUAL(h.b->inflight_longterm, rows[i].longterm);    /* one answer per probe */
    }
    hn_row = "";
}

/* A loss rate of 2 %, and two segments; but these are no more than 4 % (in a small window any loss is too much), and
 * nothing is forgiven where the queue is longer than half of the pipe. */
static void loss_threshold(void)
{
    static const struct {
        unsigned in_flight, lost, srtt_us, too_high;
    } rows[] = {
        {1000, 22, 50000, 0}, {1000, 23, 50000, 1}, {50, 3, 50000, 0},  {50, 4, 50000, 1},    {34, 2, 50000, 0},
        {33, 2, 50000, 1},    {17, 1, 50000, 0},    {16, 1, 50000, 1},  {4, 1, 50000, 1},     {50, 3, 75000, 0},
        {50, 1, 75001, 0},    {50, 2, 75001, 1},    {49, 1, 75001, 1},  {1000, 20, 75001, 0}, {1000, 21, 75001, 1},
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct hand h;
        char row[64];

        snprintf(row, sizeof row, "%u of %u, %u us", rows[i].lost, rows[i].in_flight, rows[i].srtt_us);
        hn_row = row;
        hand_to(&h, TN_BBR_UP);
        h.event.lost = MSS;
        h.event.srtt_us = rows[i].srtt_us;
        h.event.sample.tx_in_flight = rows[i].in_flight * MSS;
        h.event.sample.lost = rows[i].lost * MSS;
        h.cc.ops->lost_bytes(&h.cc, &h.event);
        HN_EQUAL(h.b->state == TN_BBR_DOWN, rows[i].too_high);
    }
    hn_row = "";
}

/* `segments` are marked lost, of so many that were in flight when the last of them left. */
static void hand_lose(struct hand *h, unsigned segments, unsigned in_flight)
{
    h->event.lost = h->event.sample.lost = (tenon_u32)(segments * MSS);
    h->event.sample.tx_in_flight = (tenon_u32)(in_flight * MSS);
    h->cc.ops->lost_bytes(&h->cc, &h->event);
    h->event.lost = h->event.sample.lost = 0;
}

/* Without SACK one loss stands for all of its round trip: BBR-7, BBR-11. Only the ACK tells of it. */
static void no_sack_any_loss(void)
{
    struct hand h;

    hand_to(&h, TN_BBR_UP);
    h.event.sack = 0;
    h.event.lost = h.event.sample.lost = MSS;
    h.event.sample.tx_in_flight = 60 * MSS;
    hand_ack(&h, 1000, ten_mbit, 100 * MSS);
    HN_EQUAL(h.b->inflight_longterm, 60 * MSS);
    HN_CHECK(h.b->state == TN_BBR_DOWN || h.b->state == TN_BBR_CRUISE);

    hand_open(&h, 50000);
    hand_round(&h, ten_mbit / 4, 20);
    h.event.sack = 0;
    h.event.lost = h.event.sample.lost = MSS;
    h.event.in_recovery = 1;
    h.cc.ops->lost(&h.cc, &h.event);
    hand_ack(&h, 1000, ten_mbit / 4, 100 * MSS);
    h.event.lost = 0;
    HN_EQUAL(h.b->state, TN_BBR_STARTUP);
    hand_round(&h, ten_mbit / 3, 20);
    hand_round(&h, ten_mbit / 2, 20);
    HN_CHECK(h.b->full_bw_reached && h.b->inflight_longterm < TN_BBR_INFINITE);
}

/* BBR-12: cut to what was delivered in the round of the losses, to 0.7 at most, and forgotten with REFILL. */
static void cruise_loss_short_term(void)
{
    const tenon_rate less = ten_mbit / 10 * 9;
    struct hand h;
    tenon_u32 window;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    h.b->rounds_since_probe_up = 0;
    hand_round(&h, ten_mbit, 40);
    window = h.cc.cwnd;
    h.event.in_recovery = 1;
    hand_lose(&h, 10, 60);
    HN_EQUAL(h.b->bw_shortterm, TN_BBR_INFINITE);
    hand_round(&h, less, 40);
    HN_EQUAL(h.b->bw_shortterm, ten_mbit);    /* the round began with a sample of before */
    HN_EQUAL(h.b->inflight_shortterm, window * 700ULL / 1000);
    window = h.b->inflight_shortterm;
    HN_EQUAL(h.cc.cwnd, window);
    hand_lose(&h, 10, 60);
    hand_round(&h, less, 40);
    HN_EQUAL(h.b->bw_shortterm, less);
    HN_EQUAL(h.b->bw, less);
    HN_EQUAL(h.b->inflight_shortterm, window * 700ULL / 1000 > 41 * MSS ? window * 700ULL / 1000 : 41 * MSS);
    hand_lose(&h, 10, 60);
    hand_round(&h, ten_mbit / 10, 40);
    hand_lose(&h, 10, 60);
    hand_round(&h, ten_mbit / 10, 40);
    HN_EQUAL(h.b->bw_shortterm, less * 700ULL / 1000);    /* not faster than CUBIC */
    HN_EQUAL(h.b->inflight_shortterm, 41 * MSS);
    h.b->bw_probe_wait_us = 0;
    hand_round(&h, ten_mbit, 40);
    HN_CHECK(h.b->state == TN_BBR_REFILL || h.b->state == TN_BBR_UP);
    HN_EQUAL(h.b->bw_shortterm, TN_BBR_INFINITE);
    HN_EQUAL(h.b->inflight_shortterm, TN_BBR_INFINITE);
    HN_EQUAL(h.b->bw, ten_mbit);
}

/* As few losses as a probe bears change nothing, in however many rounds. */
static void cruise_few_losses_borne(void)
{
    struct hand h;
    unsigned i;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    for (i = 0; i < 100; i++) {
        h.b->rounds_since_probe_up = 0;
        if (i % 2)
            hand_lose(&h, 1, 40);    /* 1.25 % */
        hand_round(&h, ten_mbit / 100 * 98, 40);
    }
    HN_EQUAL(h.b->bw_shortterm, TN_BBR_INFINITE);
    for (i = 0; i < 20; i++) {
        h.b->rounds_since_probe_up = 0;
        hand_lose(&h, 2, 40);        /* 5 % */
        hand_round(&h, ten_mbit / 100 * 95, 40);
    }
    HN_CHECK(h.b->bw_shortterm < ten_mbit);
}

/* ... but where the queue is longer than half of the pipe a single one does, as the draft has it. */
static void cruise_loss_long_queue(void)
{
    static const tenon_u32 srtt_us[] = {75000, 75001};
    unsigned i;

    for (i = 0; i < 2; i++) {
        struct hand h;

        hand_to(&h, TN_BBR_CRUISE);
        h.b->bw_probe_wait_us = 0x7FFFFFFF;
        h.event.srtt_us = srtt_us[i];
        hand_lose(&h, 1, 200);
        hand_round(&h, ten_mbit / 100 * 98, 40);
        hand_round(&h, ten_mbit / 100 * 98, 40);
        HN_EQUAL(h.b->bw_shortterm < TN_BBR_INFINITE, i);
    }
}

/* BBR-13: the largest of this cycle and the last. A cycle ends a round after UP. */
static void max_bw_two_cycles(void)
{
    const tenon_rate later = ten_mbit / 2;
    struct hand h;
    tenon_u32 stamp;
    unsigned i;

    hand_to(&h, TN_BBR_CRUISE);
    stamp = h.b->cycle_stamp_us;
    for (i = 0; i < 200 && h.b->cycle_stamp_us == stamp; i++) {
        hand_round(&h, later, 20);
        HN_EQUAL(h.b->bw, ten_mbit);
    }
    HN_CHECK(i < 200);
    hand_round(&h, later, 20);
    HN_EQUAL(h.b->bw, later);
}

/* BBR-9: by the clock, or after as many rounds as Reno would need, 63 at most. */
static void cruise_probe_wait(void)
{
    struct hand h;

    hand_to(&h, TN_BBR_DOWN);
    HN_CHECK(h.b->bw_probe_wait_us >= 2000000 && h.b->bw_probe_wait_us < 3000000 && h.b->rounds_since_probe_up <= 1);
    hand_to(&h, TN_BBR_CRUISE);
    h.b->rounds_since_probe_up = 0;
    h.event.now_us = h.b->cycle_stamp_us + h.b->bw_probe_wait_us - 2000;
    hand_ack(&h, 1000, ten_mbit, 2 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_CRUISE);
    hand_ack(&h, 1001, ten_mbit, 2 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_REFILL);

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    h.b->rounds_since_probe_up = 62500 / MSS - 1;
    hand_ack(&h, 1000, ten_mbit, 100 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_CRUISE);
    h.b->rounds_since_probe_up = 62500 / MSS;
    hand_ack(&h, 1000, ten_mbit, 100 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_REFILL);

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    h.b->max_bw[0] = 100 * ten_mbit;
    h.b->bw = 100 * ten_mbit;
    h.cc.cwnd = 10000000;
    h.b->rounds_since_probe_up = 62;
    hand_ack(&h, 1000, ten_mbit, 100 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_CRUISE);
    h.cc.cwnd = 10000000;
    h.b->rounds_since_probe_up = 63;
    hand_ack(&h, 1000, ten_mbit, 100 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_REFILL);
}

/* The random number spreads the time between 2 and 3 s. */
static void down_wait_is_random(void)
{
    static const tenon_u32 random[] = {0, 0x80000001, 0xFFFFFFFE};
    static const tenon_u32 wait[] = {2000000, 2500000, 2999999};
    unsigned i;

    for (i = 0; i < 3; i++) {
        struct hand h;

        hand_to(&h, TN_BBR_DRAIN);
        h.event.pipe = 0;
        h.event.random = random[i];
        hand_ack(&h, 1000, ten_mbit, 100 * MSS);
        HN_EQUAL(h.b->state, TN_BBR_CRUISE);    /* through DOWN */
        HN_EQUAL(h.b->bw_probe_wait_us, wait[i]);
        HN_EQUAL(h.b->rounds_since_probe_up, random[i] & 1);
    }
}

/* BBR-10: 1, 2, 4, ... segments per round, while the window is used up to the bound. */
static void up_longterm_slope(void)
{
    struct hand h;
    unsigned i, added = 0;
    tenon_u32 before;

    hand_to(&h, TN_BBR_UP);
    h.b->inflight_longterm = 60 * MSS;
    h.b->probe_up_rounds = 0;
    h.b->probe_up_acked_per_inc = 60 * MSS;
    h.event.pipe = 30 * MSS;
    before = h.b->inflight_longterm;
    hand_round(&h, ten_mbit, 40);
    HN_EQUAL(h.b->inflight_longterm, before);    /* not used */
    h.b->probe_up_rounds = 0;
    for (i = 0; i < 5; i++) {
        before = h.b->inflight_longterm;
        h.event.pipe = h.b->inflight_longterm;
        h.event.sample.tx_in_flight = 0;
        hand_round(&h, ten_mbit * (i + 2), before / MSS);
        HN_EQUAL(h.b->state, TN_BBR_UP);
        added = (h.b->inflight_longterm - before) / MSS;
        HN_CHECK(added + 2 >= 1U << i >> 1 && added <= (2U << i) + 1);
    }
    HN_CHECK(added >= 8);
}

/* 5.3.4.3 */
static void min_rtt_filter(void)
{
    struct hand h;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    h.event.rtt_us = 60000;
    hand_ack(&h, 1000, ten_mbit, 2 * MSS);
    HN_EQUAL(h.b->min_rtt_us, 50000);
    h.event.rtt_us = 40000;
    hand_ack(&h, 1000, ten_mbit, 2 * MSS);
    HN_EQUAL(h.b->min_rtt_us, 40000);
    h.event.rtt_us = 90000;
    hand_ack(&h, 10000000, ten_mbit, 2 * MSS);
    HN_EQUAL(h.b->min_rtt_us, 40000);
    HN_EQUAL(h.b->state, TN_BBR_CRUISE);
    hand_ack(&h, 1, ten_mbit, 2 * MSS);
    HN_EQUAL(h.b->min_rtt_us, 90000);
    HN_EQUAL(h.b->state, TN_BBR_PROBE_RTT);
    HN_EQUAL(h.b->probe_rtt_cwnd, 25000);    /* half of 40 ms, not of 90 */
    HN_EQUAL(h.cc.cwnd, 25000);
}

/* BBR-15: what comes beyond the rate since the episode began; 10 rounds. */
static void cruise_extra_acked(void)
{
    struct hand h;
    unsigned i;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    memset(h.b->extra, 0, sizeof h.b->extra);
    h.b->extra_others = 0;
    h.b->extra_start_us = h.event.now_us - 1000000;
    h.b->extra_delivered = 0;
    for (i = 0; i < 20; i++)
        hand_ack(&h, i ? 0 : 10000, ten_mbit, MSS + MSS);    /* a lump of 20 */
    HN_EQUAL(h.b->extra[h.b->round_count % TN_BBR_EXTRA_ROUNDS], 20 * MSS);
    for (i = 0; i < 24; i++) {
        h.b->rounds_since_probe_up = 0;
        hand_round(&h, ten_mbit, 40);
        if (i < 9)
            HN_CHECK(h.b->extra_others >= 20 * MSS);
    }
    HN_CHECK(h.b->extra_others <= 4 * MSS);
}

/* BBR-19 */
static void cruise_timeout(void)
{
    struct hand h;
    tenon_u32 before;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->bw_probe_wait_us = 0x7FFFFFFF;
    hand_round(&h, ten_mbit, 40);
    before = h.cc.cwnd;
    HN_CHECK(before > 20 * MSS);
    h.event.pipe = 0;
    h.cc.ops->rto(&h.cc, &h.event);
    HN_EQUAL(h.cc.cwnd, MSS);
    h.event.in_recovery = 2;
    hand_ack(&h, 50000, ten_mbit / 40, MSS);
    HN_EQUAL(h.cc.cwnd, 4 * MSS);
    hand_ack(&h, 1000, ten_mbit / 40, MSS);
    HN_EQUAL(h.cc.cwnd, 5 * MSS);
    h.event.in_recovery = 0;
    hand_ack(&h, 1000, ten_mbit, MSS);
    HN_CHECK(h.cc.cwnd >= before && h.cc.cwnd <= before + MSS);
    before = h.cc.cwnd;
    h.event.in_recovery = 1;
    h.cc.ops->lost(&h.cc, &h.event);
    HN_EQUAL(h.cc.cwnd, before);
    h.cc.cwnd = 7 * MSS;
    h.cc.ops->recovered(&h.cc, &h.event);
    HN_EQUAL(h.cc.cwnd, before);
}

/* BBR-21: at the rate of the path, whatever the state; not where it is a retransmission after a timeout. */
static void restart_paces_at_bw(void)
{
    static const enum tn_bbr_state states[] = {TN_BBR_DOWN, TN_BBR_CRUISE, TN_BBR_REFILL, TN_BBR_UP};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(states); i++) {
        struct hand h;
        tenon_u32 cwnd;

        hand_to(&h, states[i]);
        cwnd = h.cc.cwnd;
        h.cc.pacing = 1;
        h.event.in_recovery = 2;
        h.cc.ops->restart(&h.cc, &h.event);
        HN_EQUAL(h.cc.pacing, 1);
        h.event.in_recovery = 0;
        h.cc.ops->restart(&h.cc, &h.event);
        HN_EQUAL(h.cc.pacing, ten_mbit * 990ULL / 1000);
        HN_EQUAL(h.cc.cwnd, cwnd);
        HN_EQUAL(h.b->idle_restart, 1);
        HN_EQUAL(h.b->extra_start_us, h.event.now_us);
    }
}

/* BBR-21: a silence in ProbeRTT that is long enough ends it, however long; the clock comes round in 71 minutes. */
static void probe_rtt_restart(void)
{
    static const tenon_u32 silences[] = {200001, 60000000, 2147483648U, 3000000000U, 4290000000U};
    unsigned i, j;

    for (i = 0; i < TENON_ARRAY_LEN(silences); i++) {
        struct hand h;

        hand_to(&h, TN_BBR_CRUISE);
        h.event.now_us += 10000000;
        h.event.pipe = MSS;
        h.event.rtt_us = 50000;
        for (j = 0; j < 3 && !h.b->probe_rtt_waits; j++)
            hand_ack(&h, 1000, ten_mbit, MSS);
        HN_EQUAL(h.b->state, TN_BBR_PROBE_RTT);
        HN_EQUAL(h.b->probe_rtt_waits, 1);
        h.event.pipe = 0;
        h.event.now_us += 200000;
        h.cc.ops->restart(&h.cc, &h.event);
        HN_EQUAL(h.b->state, TN_BBR_PROBE_RTT);
        h.event.now_us += silences[i] - 200000;
        h.cc.ops->restart(&h.cc, &h.event);
        HN_EQUAL(h.b->state, TN_BBR_CRUISE);
    }
}

/* The pacing rate is no less than the smallest window in a second, or in a round trip that is longer, whatever was
 * measured. */
static void pacing_least(void)
{
    struct hand h;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->max_bw[0] = h.b->max_bw[1] = 0;
    hand_ack(&h, 50000, 0, MSS);
    HN_EQUAL(h.b->bw, 0);
    HN_EQUAL(h.cc.pacing, 4 * MSS * 65536ULL / 1000000);
    h.event.srtt_us = 3000000;
    hand_ack(&h, 50000, 0, MSS);
    HN_EQUAL(h.cc.pacing, 4 * MSS * 65536ULL / 3000000);
    h.cc.ops->restart(&h.cc, &h.event);
    HN_EQUAL(h.cc.pacing, 4 * MSS * 65536ULL / 3000000);
    h.event.srtt_us = 50000;
    hand_ack(&h, 50000, ten_mbit, MSS);
    HN_EQUAL(h.cc.pacing, ten_mbit * 990ULL / 1000);
}

/* RFC 3168 6.1.2 */
static void probe_marked(void)
{
    struct hand h;
    tenon_u32 bdp = 62500;

    hand_to(&h, TN_BBR_UP);
    h.event.pipe = 70000;
    h.cc.ops->ecn(&h.cc, &h.event);
    HN_EQUAL(h.b->state, TN_BBR_DOWN);
    HN_EQUAL(h.b->inflight_longterm, 70000);
    hand_open(&h, 50000);
    hand_ack(&h, 50000, ten_mbit, 2 * MSS);
    h.cc.ops->ecn(&h.cc, &h.event);
    HN_EQUAL(h.b->state, TN_BBR_DRAIN);
    HN_EQUAL(h.b->inflight_longterm, bdp);
}

/* BBR-6: 25 % in a round is growth, less is not. */
static void startup_growth(void)
{
    static const unsigned percent[] = {124, 126};
    unsigned i, n;

    for (i = 0; i < 2; i++) {
        tenon_rate rate = ten_mbit / 100;
        struct hand h;

        hand_open(&h, 50000);
        h.event.pipe = 1000000;
        for (n = 0; n < 8; n++, rate = rate * percent[i] / 100)
            hand_round(&h, rate, 10);
        HN_EQUAL(h.b->full_bw_reached, 0);    /* 1.24 twice is more than 1.25 */
        for (n = 0; n < 5; n++, rate = i ? rate * 126 / 100 : rate * 106 / 100)
            hand_round(&h, rate, 10);
        HN_EQUAL(h.b->full_bw_reached, !i);
    }
}

/* BBR-7: losses outside of fast recovery are no reason to leave. */
static void startup_loss_without_recovery(void)
{
    struct hand h;
    unsigned i;

    hand_open(&h, 50000);
    hand_round(&h, ten_mbit / 4, 20);
    for (i = 0; i < 7; i++)
        hand_lose(&h, 2, 30);
    h.event.sample.lost = 14 * MSS;
    h.event.sample.tx_in_flight = 30 * MSS;
    hand_round(&h, ten_mbit / 3, 20);
    hand_round(&h, ten_mbit / 2, 20);
    HN_EQUAL(h.b->state, TN_BBR_STARTUP);
}

/* Table of 5.6.1: the bound, and 15 % less of it in CRUISE. */
static void states_bounds(void)
{
    static const unsigned rows[][2] = {{TN_BBR_DOWN, 80}, {TN_BBR_CRUISE, 68}, {TN_BBR_REFILL, 80}, {TN_BBR_UP, 80}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct hand h;

        hn_row = state_names[rows[i][0]];
        hand_to(&h, rows[i][0]);
        h.b->bw_probe_wait_us = 0x7FFFFFFF;
        h.b->rounds_since_probe_up = 0;
        h.b->inflight_longterm = 80 * MSS;
        h.event.pipe = rows[i][0] == TN_BBR_DOWN ? 100000 : 50000;
        h.event.sample.tx_in_flight = 50000;
        hand_ack(&h, 1000, ten_mbit, 100 * MSS);
        HN_EQUAL(h.b->state, rows[i][0]);
        HN_EQUAL(h.cc.cwnd, rows[i][1] * MSS);
    }
    hn_row = "";
}

/* BBR-13: what the application limits does not count, unless it is more than what is known. */
static void max_bw_app_limited(void)
{
    struct hand h;

    hand_to(&h, TN_BBR_CRUISE);
    h.b->max_bw[0] = 0;
    h.b->max_bw[1] = ten_mbit;
    h.event.sample.app_limited = 1;
    hand_ack(&h, 1000, ten_mbit / 2, 100 * MSS);
    HN_EQUAL(h.b->max_bw[0], 0);
    hand_ack(&h, 1000, ten_mbit * 2, 100 * MSS);
    HN_EQUAL(h.b->max_bw[0], ten_mbit * 2);
    h.event.sample.app_limited = 0;
    h.b->max_bw[0] = 0;
    hand_ack(&h, 1000, ten_mbit / 2, 100 * MSS);
    HN_EQUAL(h.b->max_bw[0], ten_mbit / 2);
}

/* Anything may be said, in any order: the numbers stay where they belong. */
static void any_state_nonsense(void)
{
    struct path random = { .random = 7 };
    unsigned seed, i;

    for (seed = 0; seed < 200; seed++) {
        struct hand h;
        struct tenon_cc_event *e = &h.event;

        hand_open(&h, path_random(&random) % 3 ? path_random(&random) >> path_random(&random) % 32 : 0);
        for (i = 0; i < 2000; i++) {
            e->now_us += path_random(&random) >> (8 + path_random(&random) % 24);
            e->delivered = e->acked = path_random(&random) >> (2 + path_random(&random) % 30);
            e->total_delivered += e->delivered;
            e->lost = path_random(&random) >> (2 + path_random(&random) % 30);
            e->pipe = path_random(&random) >> (2 + path_random(&random) % 30);
            e->rtt_us = path_random(&random) >> path_random(&random) % 32;
            e->random = path_random(&random);
            e->in_recovery = (tenon_u8)(path_random(&random) % 8 < 6 ? 0 : path_random(&random) % 3);
            e->mss = (tenon_u16)(path_random(&random) % 4 ? MSS : 1 + path_random(&random) % 65535);
            e->sample.rate = path_random(&random) >> path_random(&random) % 32;
            e->sample.delivered = path_random(&random) >> path_random(&random) % 32;
            e->sample.prior_delivered = e->total_delivered - e->sample.delivered;
            e->sample.tx_in_flight = path_random(&random) >> path_random(&random) % 32;
            e->sample.lost = path_random(&random) >> path_random(&random) % 32;
            e->sample.app_limited = path_random(&random) % 2;
            switch (path_random(&random) % 16) {
            case 0: h.cc.ops->lost_bytes(&h.cc, e); break;
            case 1: h.cc.ops->lost(&h.cc, e); break;
            case 2: h.cc.ops->recovered(&h.cc, e); break;
            case 3: h.cc.ops->rto(&h.cc, e); break;
            case 4: h.cc.ops->restart(&h.cc, e); break;
            case 5: h.cc.ops->undo(&h.cc, e); break;
            case 6: h.cc.ops->ecn(&h.cc, e); break;
            default:
                h.cc.ops->delivered(&h.cc, e);
                HN_CHECK(h.cc.cwnd >= e->mss);
            }
            HN_CHECK(h.cc.cwnd <= 1U << 30 && h.cc.cwnd > 0 && h.cc.pacing > 0);
            if (!HN_CHECK(h.b->state <= TN_BBR_PROBE_RTT))
                return;
            h.event.mss = MSS;
        }
    }
}

/* ---- over a path ------------------------------------------------------------------------------------------------- */

static struct {
    enum tn_bbr_state state, wanted;
    double at_s;    /* when it was entered */
} seen;

static const struct tn_bbr *bbr(const struct path *p)
{
    return (const struct tn_bbr *)(p->words + TENON_CC_WORDS);
}

static tenon_rate max_bw(const struct path *p)
{
    return bbr(p)->max_bw[0] > bbr(p)->max_bw[1] ? bbr(p)->max_bw[0] : bbr(p)->max_bw[1];
}

static double mbit(tenon_rate rate)
{
    return rate * 8 / 65536.0;
}

static void look(struct path *p)
{
    if (bbr(p)->state == seen.state)
        return;
    seen.state = bbr(p)->state;
    seen.at_s = (double)p->now_us / 1e6;
    p->stop = seen.state == seen.wanted;
}

/* Run until the state is entered. @return 1, or 0: it was not, in so many seconds */
static int until(struct path *p, enum tn_bbr_state state, double seconds)
{
    seen.wanted = state;
    seen.state = bbr(p)->state;
    path_run(p, seconds);
    seen.wanted = TN_BBR_NO_STATE;
    hn_row = state_names[state];
    HN_CHECK(p->stop);
    hn_row = "";
    return p->stop;
}

static void open_10_mbit(struct path *p)
{
    memset(p, 0, sizeof *p);
    p->rate = 1250000;
    p->rtt_us = 50000;
    p->look = look;
    seen.wanted = TN_BBR_NO_STATE;
    path_begin(p, &tenon_cc_bbr);
}

static const uint64_t bdp = 62500;

static void startup_plateau(void)
{
    struct path p;

    open_10_mbit(&p);
    if (until(&p, TN_BBR_DRAIN, 5)) {
        HN_CHECK(mbit(max_bw(&p)) > 9.8 && mbit(max_bw(&p)) < 10.2);
        HN_CHECK(bbr(&p)->full_bw_now && bbr(&p)->full_bw_reached);
        HN_EQUAL(bbr(&p)->full_bw_count, 3);
        HN_CHECK(p.now_us < 15 * p.rtt_us);
        HN_EQUAL(p.lost, 0);
    }
    path_end(&p);
}

static void startup_loss_app_limited(void)
{
    struct path p;

    open_10_mbit(&p);
    p.app_rate = 1000000;
    path_run(&p, 1);
    HN_EQUAL(bbr(&p)->state, TN_BBR_STARTUP);
    p.loss = 0.4;
    if (until(&p, TN_BBR_CRUISE, 3)) {    /* through Drain, with the same ACK */
        HN_CHECK(bbr(&p)->full_bw_now && bbr(&p)->full_bw_reached);
        HN_CHECK(bbr(&p)->inflight_longterm >= 20000 && bbr(&p)->inflight_longterm < TN_BBR_INFINITE);
    }
    path_end(&p);
}

/* The draft wants 3 rounds of a plateau, of what is not limited by the application. */
static void probing_app_limited_stays(void)
{
    struct path p;

    open_10_mbit(&p);
    p.app_rate = 500000;
    path_run(&p, 8);
    HN_EQUAL(bbr(&p)->state, TN_BBR_STARTUP);
    p.app_rate = 0;
    until(&p, TN_BBR_UP, 10);
    p.app_rate = 500000;
    path_run(&p, 5);
    HN_EQUAL(bbr(&p)->state, TN_BBR_UP);
    path_end(&p);
}

static void drain_inflight(void)
{
    struct path p;

    open_10_mbit(&p);
    if (until(&p, TN_BBR_DRAIN, 5)) {
        const uint64_t begin = p.now_us;

        HN_EQUAL(p.cc.pacing, (tenon_u32)(bbr(&p)->bw / 1000.0 * 500) / 1000.0 * 990);
        HN_CHECK(p.pipe > bdp * 3 / 2);
        until(&p, TN_BBR_CRUISE, 1);    /* through DOWN, with the same ACK */
        HN_CHECK(p.now_us - begin < 3 * p.rtt_us);
        HN_CHECK(p.pipe <= bdp + 2 * MSS && p.pipe > bdp / 2);
    }
    path_end(&p);
}

static void drain_time(void)
{
    struct path p;

    open_10_mbit(&p);
    if (until(&p, TN_BBR_DRAIN, 5)) {
        const tenon_u32 round = bbr(&p)->round_count;

        p.rate /= 4;    /* the queue cannot go away: 0.5 is more */
        until(&p, TN_BBR_DOWN, 5);
        HN_EQUAL(bbr(&p)->round_count, round + 4);
        HN_CHECK(p.pipe > bdp + 2 * MSS);
    }
    path_end(&p);
}

static void up_plateau(void)
{
    struct path p;

    open_10_mbit(&p);
    if (until(&p, TN_BBR_UP, 10)) {
        const uint64_t begin = p.now_us;

        until(&p, TN_BBR_DOWN, 2);
        HN_CHECK(bbr(&p)->full_bw_now);
        HN_EQUAL(bbr(&p)->full_bw_count, 3);
        HN_CHECK(p.now_us - begin >= 3 * p.rtt_us);
        HN_EQUAL(bbr(&p)->inflight_longterm, TN_BBR_INFINITE);
    }
    path_end(&p);
}

/* The bound is raised no further than the draft says: app-limited samples leave it alone. */
static void up_loss_app_limited(void)
{
    struct path p;

    open_10_mbit(&p);
    if (until(&p, TN_BBR_UP, 10)) {
        p.app_rate = 900000;
        path_run(&p, 1);
        HN_EQUAL(bbr(&p)->state, TN_BBR_UP);
        p.loss = 0.3;
        until(&p, TN_BBR_CRUISE, 1);    /* through DOWN */
        HN_EQUAL(bbr(&p)->inflight_longterm, TN_BBR_INFINITE);
        HN_CHECK(bbr(&p)->prev_probe_too_high);
    }
    path_end(&p);
}

/* The queue holds a fifth of a BDP: the probe overflows it. */
static void up_loss_sets_longterm(void)
{
    struct path p;

    open_10_mbit(&p);
    p.queue_bytes = bdp / 5;
    until(&p, TN_BBR_UP, 10);
    if (until(&p, TN_BBR_DOWN, 2)) {
        HN_CHECK(bbr(&p)->prev_probe_too_high);
        HN_CHECK(bbr(&p)->inflight_longterm >= bdp * 7 / 10 && bbr(&p)->inflight_longterm <= bdp * 13 / 10);
        HN_CHECK(p.cc.cwnd <= bbr(&p)->inflight_longterm);
        until(&p, TN_BBR_CRUISE, 2);
        HN_CHECK(p.pipe <= bbr(&p)->inflight_longterm * 0.85 + MSS);
        HN_CHECK(p.cc.cwnd <= bbr(&p)->inflight_longterm * 0.85 + MSS);
    }
    path_end(&p);
}

/* After a probe that was too much the next one turns back at the bound, and one that bore it stays. */
static void up_precautionary(void)
{
    struct path p;

    open_10_mbit(&p);
    p.queue_bytes = bdp / 5;
    until(&p, TN_BBR_UP, 10);
    until(&p, TN_BBR_DOWN, 2);
    HN_CHECK(bbr(&p)->prev_probe_too_high);
    p.queue_bytes = 10 * bdp;
    until(&p, TN_BBR_UP, 10);
    if (until(&p, TN_BBR_DOWN, 2)) {
        const uint64_t begin = p.now_us;

        HN_CHECK(bbr(&p)->prev_probe_precautionary);
        HN_CHECK(p.pipe + 2 * MSS >= bbr(&p)->inflight_longterm);
        until(&p, TN_BBR_REFILL, 1);
        HN_CHECK(p.now_us - begin < 3 * p.rtt_us);    /* not the two seconds of CRUISE */
    }
    path_end(&p);
}

static void down_inflight(void)
{
    struct path p;

    open_10_mbit(&p);
    until(&p, TN_BBR_UP, 10);
    if (until(&p, TN_BBR_DOWN, 2)) {
        HN_EQUAL(p.cc.pacing, (tenon_u32)(bbr(&p)->bw / 1000.0 * 900) / 1000.0 * 990);
        HN_CHECK(p.pipe > bdp * 5 / 4);
        until(&p, TN_BBR_CRUISE, 2);
        HN_CHECK(p.pipe <= bdp + 2 * MSS);
    }
    path_end(&p);
}

static void down_time(void)
{
    struct path p;

    open_10_mbit(&p);
    until(&p, TN_BBR_UP, 10);
    if (until(&p, TN_BBR_DOWN, 2)) {
        const double begin = (double)p.now_us / 1e6;

        p.rate = p.rate * 85 / 100;
        until(&p, TN_BBR_REFILL, 4);
        HN_CHECK((double)p.now_us / 1e6 - begin >= 1.5 && seen.state == TN_BBR_REFILL);
        HN_CHECK(p.pipe > bdp * 5 / 4);
    }
    path_end(&p);
}

/* A standing queue of another sender: the samples at the end of the 10 s hold it. */
static void probe_rtt_enter_exit(void)
{
    struct path p;

    open_10_mbit(&p);
    until(&p, TN_BBR_CRUISE, 5);
    p.rtt_us = 80000;
    if (until(&p, TN_BBR_PROBE_RTT, 12)) {
        const uint64_t begin = p.now_us;
        const tenon_u32 target = bbr(&p)->probe_rtt_cwnd;

        HN_CHECK(target >= bdp * 45 / 100 && target <= bdp * 55 / 100);
        HN_CHECK(bbr(&p)->min_rtt_us >= 80000);
        HN_EQUAL(p.cc.cwnd, target);
        path_run(&p, 0.25);
        HN_EQUAL(bbr(&p)->state, TN_BBR_PROBE_RTT);
        HN_EQUAL(bbr(&p)->probe_rtt_cwnd, target);
        HN_CHECK(p.pipe <= target);
        until(&p, TN_BBR_CRUISE, 1);
        HN_CHECK(p.now_us - begin >= 200000 && p.now_us - begin < 600000);
        HN_CHECK(p.cc.cwnd > bdp);
        HN_CHECK(mbit(max_bw(&p)) > 9.5);    /* what was slow in ProbeRTT says nothing */
    }
    path_end(&p);
}

static void probe_rtt_skipped_after_idle(void)
{
    struct path p;
    tenon_u32 cwnd;

    open_10_mbit(&p);
    until(&p, TN_BBR_CRUISE, 5);
    path_run(&p, 1);
    p.app_silent = 1;
    path_run(&p, 11);
    HN_EQUAL(p.pipe, 0);
    cwnd = p.cc.cwnd;
    p.app_silent = 0;
    path_run(&p, 0.001);
    HN_CHECK(bbr(&p)->idle_restart);
    HN_EQUAL(p.cc.cwnd, cwnd);
    HN_EQUAL(p.cc.pacing, (tenon_u32)(bbr(&p)->bw / 1000.0 * 990));
    seen.wanted = TN_BBR_PROBE_RTT;
    path_run(&p, 5);
    HN_CHECK(!p.stop);
    HN_CHECK(!bbr(&p)->idle_restart);
    HN_CHECK(p.now_us - ((tenon_u32)(p.event.now_us - bbr(&p)->min_rtt_stamp_us)) > 12000000);
    path_end(&p);
}

static void probe_rtt_in_startup(void)
{
    struct path p;

    open_10_mbit(&p);
    p.app_rate = 250000;
    path_run(&p, 9);
    HN_EQUAL(bbr(&p)->state, TN_BBR_STARTUP);
    until(&p, TN_BBR_PROBE_RTT, 5);
    until(&p, TN_BBR_STARTUP, 1);
    p.app_rate = 0;
    until(&p, TN_BBR_DRAIN, 3);
    HN_CHECK(mbit(max_bw(&p)) > 9.8);
    path_end(&p);
}

/* ACKs in lumps of 25 ms: half a round trip. */
static void lumps_startup_and_cruise(void)
{
    struct path p;

    open_10_mbit(&p);
    p.lump_us = 25000;
    until(&p, TN_BBR_DRAIN, 5);
    HN_CHECK(mbit(max_bw(&p)) > 9.5 && mbit(max_bw(&p)) < 10.6);
    HN_CHECK(p.cc.cwnd > 2 * bdp);
    until(&p, TN_BBR_CRUISE, 5);
    HN_CHECK(path_percent(&p, 15) > 95);
    HN_CHECK(bbr(&p)->extra_others > 15000 && bbr(&p)->extra_others < 60000);
    path_end(&p);
}

/* 64 kbit/s, 20 ms: a ninth of a segment. */
static void small_bdp(void)
{
    struct path p = {.rate = 8000, .rtt_us = 20000, .look = look};

    path_begin(&p, &tenon_cc_bbr);
    until(&p, TN_BBR_CRUISE, 60);
    HN_CHECK(path_percent(&p, 60) > 97);
    HN_CHECK(p.cc.cwnd >= 4 * MSS && p.cc.cwnd <= 20 * MSS);
    HN_CHECK(mbit(bbr(&p)->bw) > 0.0625 && mbit(bbr(&p)->bw) < 0.072);
    path_end(&p);
}

static void ten_times_faster(void)
{
    struct path p;
    unsigned rounds;

    open_10_mbit(&p);
    p.queue_bytes = bdp;
    until(&p, TN_BBR_CRUISE, 5);
    path_run(&p, 4);
    p.rate *= 10;
    p.queue_bytes *= 10;
    until(&p, TN_BBR_UP, 10);
    rounds = bbr(&p)->round_count;
    while (mbit(max_bw(&p)) < 95 && p.now_us < 60000000)
        path_run(&p, 0.01);
    printf("     10 to 100 Mbit/s: %u rounds of probing, after %.1f s\n", bbr(&p)->round_count - rounds,
           (double)p.now_us / 1e6);
    HN_CHECK(p.now_us < 30000000);
    HN_CHECK(path_percent(&p, 20) > 94);
    path_end(&p);
}

static void ten_times_slower(void)
{
    struct path p;
    uint64_t begin;

    open_10_mbit(&p);
    p.rate = 12500000;
    p.queue_bytes = 2 * bdp;
    path_run(&p, 4);
    HN_CHECK(mbit(bbr(&p)->bw) > 90);
    until(&p, TN_BBR_CRUISE, 5);
    p.rate /= 10;
    begin = p.now_us;
    while (mbit(bbr(&p)->bw) > 15 && p.now_us < begin + 10000000)
        path_run(&p, 0.01);
    HN_CHECK(p.now_us - begin < 2000000);    /* the short-term model */
    while (mbit(max_bw(&p)) > 10.5 && p.now_us < begin + 60000000)
        path_run(&p, 0.01);
    printf("     100 to 10 Mbit/s: max_bw follows after %.1f s\n", (double)(p.now_us - begin) / 1e6);
    HN_CHECK(p.now_us - begin < 12000000);
    HN_CHECK(path_percent(&p, 20) > 90);
    path_end(&p);
}

/* 10 Mbit/s after 250 kB, on a line of 100 Mbit/s. */
static void policer(void)
{
    struct path p;
    uint64_t lost, sent, received;

    open_10_mbit(&p);
    p.rate = 12500000;
    p.policer = 1250000;
    p.burst = 250000;
    path_run(&p, 20);
    lost = p.lost;
    sent = p.sent;
    received = p.received;
    path_run(&p, 40);
    printf("     policer: %.1f %% of its rate, %.1f %% lost\n", (double)(p.received - received) * 100 / 40 / 1250000,
           (double)(p.lost - lost) * 100 / (double)(p.sent - sent));
    HN_CHECK(p.received - received > 40 * 1250000ULL * 80 / 100);
    HN_CHECK((p.lost - lost) * 100 < (p.sent - sent) * 10);
    path_end(&p);
}

/* Many packets late by a fifth of a round trip in UP: losses that were none. */
static void up_spurious_recovery(void)
{
    struct path p;
    unsigned i;

    open_10_mbit(&p);
    until(&p, TN_BBR_UP, 10);
    p.late = 0.4;
    p.late_us = 20000;
    if (until(&p, TN_BBR_DOWN, 2)) {
        HN_EQUAL(bbr(&p)->undo_state, TN_BBR_UP);
        HN_CHECK(bbr(&p)->inflight_longterm < TN_BBR_INFINITE);
        p.late = 0;
        for (i = 0; i < 1000 && p.undone == 0; i++)
            path_run(&p, 0.001);
        HN_EQUAL(p.undone, 1);
        HN_CHECK(bbr(&p)->state == TN_BBR_REFILL || bbr(&p)->state == TN_BBR_UP);
        HN_EQUAL(bbr(&p)->inflight_longterm, TN_BBR_INFINITE);
        HN_EQUAL(bbr(&p)->inflight_shortterm, TN_BBR_INFINITE);
        HN_EQUAL(bbr(&p)->bw_shortterm, TN_BBR_INFINITE);
        until(&p, TN_BBR_UP, 1);
    }
    path_end(&p);
}

/* The whole flight is late by more than a timeout. */
static void cruise_spurious_timeout(void)
{
    struct path p;
    unsigned i;

    open_10_mbit(&p);
    until(&p, TN_BBR_UP, 10);
    p.late = 1;
    p.late_us = 400000;
    path_run(&p, 0.1);
    p.late = 0;
    for (i = 0; i < 1000 && p.timeouts == 0; i++)
        path_run(&p, 0.001);
    HN_EQUAL(p.timeouts, 1);
    HN_EQUAL(p.cc.cwnd, MSS);
    for (i = 0; i < 1000 && p.undone == 0; i++)
        path_run(&p, 0.001);
    HN_EQUAL(p.undone, 1);
    HN_CHECK(p.cc.cwnd > bdp);
    HN_EQUAL(bbr(&p)->bw_shortterm, TN_BBR_INFINITE);
    HN_EQUAL(bbr(&p)->inflight_longterm, TN_BBR_INFINITE);
    HN_CHECK(path_percent(&p, 10) > 95);
    path_end(&p);
}

static void startup_spurious_recovery(void)
{
    struct hand h;

    hand_open(&h, 50000);
    h.event.pipe = 40000;
    hand_round(&h, ten_mbit / 4, 20);
    h.event.in_recovery = 1;
    h.event.lost = 2 * MSS;
    h.event.sample.tx_in_flight = 30 * MSS;
    h.event.sample.lost = 14 * MSS;
    for (unsigned i = 0; i < 7; i++)
        h.cc.ops->lost_bytes(&h.cc, &h.event);
    h.cc.ops->lost(&h.cc, &h.event);
    hand_round(&h, ten_mbit / 4, 20);
    hand_round(&h, ten_mbit / 4, 20);
    HN_EQUAL(h.b->state, TN_BBR_DRAIN);
    HN_CHECK(h.b->full_bw_reached && h.b->inflight_longterm != TN_BBR_INFINITE);
    HN_EQUAL(h.b->undo_state, TN_BBR_STARTUP);
    h.cc.cwnd = 10 * MSS;
    h.cc.ops->undo(&h.cc, &h.event);
    HN_EQUAL(h.cc.cwnd, h.b->prior_cwnd);
    HN_CHECK(h.cc.cwnd > 20 * MSS);
    HN_EQUAL(h.b->state, TN_BBR_STARTUP);
    HN_CHECK(!h.b->full_bw_reached && !h.b->full_bw_now);
    HN_EQUAL(h.b->inflight_longterm, TN_BBR_INFINITE);
}

static void refill_app_limited(void)
{
    struct path p;

    open_10_mbit(&p);
    if (until(&p, TN_BBR_REFILL, 10)) {
        const tenon_rate before = max_bw(&p);

        p.app_rate = 200000;
        until(&p, TN_BBR_UP, 1);
        path_run(&p, 0.5);
        HN_EQUAL(max_bw(&p), before);
        HN_EQUAL(bbr(&p)->state, TN_BBR_UP);
        p.app_rate = 0;
        HN_CHECK(path_percent(&p, 10) > 95);
    }
    path_end(&p);
}

/* Mbit/s, ms, queue in BDP, loss in percent; what must be reached after 20 round trips, in percent. ProbeRTT takes half
 * of 200 ms and a round trip out of 10 s: the longer the round trip, the more. */
static void link_use(void)
{
    static const struct {
        double mbit, ms, queue, loss, least;
    } rows[] = {
        {10, 50, 1, 0, 97}, {10, 50, 4, 0, 97}, {10, 50, 0.1, 0, 95}, {10, 50, 1, 0.1, 97}, {10, 50, 1, 1, 95},
        {10, 50, 0.1, 1, 92}, {10, 50, 1, 2, 90}, {1, 10, 4, 0, 97}, {1, 100, 1, 0, 97}, {1, 600, 1, 0, 94},
        {100, 1, 1, 0, 97}, {100, 10, 1, 0, 97}, {100, 100, 1, 0, 97}, {100, 100, 0.1, 0, 93}, {100, 100, 1, 1, 95},
        {100, 600, 1, 0, 94}, {1000, 0.1, 4, 0, 97}, {1000, 10, 1, 0, 97},
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct path p = { .rate = (uint64_t)(rows[i].mbit * 125000), .rtt_us = (uint64_t)(rows[i].ms * 1000) };
        char row[160];
        double percent;

        p.queue_bytes = (uint64_t)(rows[i].queue * (double)p.rate * (double)p.rtt_us / 1e6);
        p.loss = rows[i].loss / 100;
        path_begin(&p, &tenon_cc_bbr);
        path_run(&p, 20 * rows[i].ms / 1000);
        percent = path_percent(&p, rows[i].mbit >= 1000 ? 2 : 30);
        snprintf(row, sizeof row, "%g Mbit/s, %g ms, queue %g, loss %g %%: %.1f %%", rows[i].mbit, rows[i].ms,
                 rows[i].queue, rows[i].loss, percent);
        printf("     %s, lost %.2f %%\n", row, (double)p.lost * 100 / (double)p.sent);
        hn_row = row;
        HN_CHECK(percent >= rows[i].least);
        HN_CHECK(p.timeouts == 0);
        path_end(&p);
    }
    hn_row = "";
}

/* A path with room for eight frames and a BDP below four: each probe overflows it. What that costs. */
static void small_pipe_losses(void)
{
    static const struct {
        double mbit, ms, most;
    } rows[] = {{1, 1, 4}, {1, 10, 2.3}, {10, 3, 1.2}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct path p = { .rate = (uint64_t)(rows[i].mbit * 125000), .rtt_us = (uint64_t)(rows[i].ms * 1000) };
        char row[80];
        double lost;

        p.queue_bytes = 8 * 1500;
        path_begin(&p, &tenon_cc_bbr);
        path_run(&p, 60);
        lost = (double)p.lost * 100 / (double)p.sent;
        snprintf(row, sizeof row, "%g Mbit/s, %g ms, queue of 8: lost %.2f %%", rows[i].mbit, rows[i].ms, lost);
        printf("     %s\n", row);
        hn_row = row;
        HN_CHECK(lost <= rows[i].most);
        HN_CHECK(path_percent(&p, 60) > 97);
        path_end(&p);
    }
    hn_row = "";
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

/* Real connections: 1448 bytes of 1514 on the line are payload. */
static void transfer_link_use(void)
{
    static const struct {
        struct transfer_line line;
        unsigned seconds, least;    /* percent of the payload that the line could carry, from the SYN on */
    } rows[] = {
        {{.rate = 1250000, .one_way_us = 25000, .queue_bytes = 62500}, 20, 97},
        {{.rate = 1250000, .one_way_us = 25000, .queue_bytes = 250000}, 20, 97},
        {{.rate = 1250000, .one_way_us = 25000, .queue_bytes = 62500, .loss_ppm = 10000}, 20, 94},
        {{.rate = 12500000, .one_way_us = 5000, .queue_bytes = 125000}, 5, 96},
    };
    struct transfer t;
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct transfer_line *line = &rows[i].line;
        double percent;
        char row[160];

        transfer_run(&t, &tenon_cc_bbr, line, 0xFFFFFFFF, rows[i].seconds);
        percent = t.received * 100.0 / ((double)line->rate * rows[i].seconds * 1448 / 1514);
        snprintf(row, sizeof row, "%lu bytes/s, %u us, queue %u, loss %u ppm: %.1f %%", (unsigned long)line->rate,
                 2 * line->one_way_us, line->queue_bytes, line->loss_ppm, percent);
        printf("     %s\n", row);
        hn_row = row;
        HN_CHECK(!t.wrong && !t.closed && t.clean);
        HN_CHECK(percent >= rows[i].least);
    }
    hn_row = "";
}

static void write_and_run(struct transfer *t, struct tenon_tcp *conn, uint32_t bytes, uint32_t us)
{
    for (; bytes > 0; bytes--) {
        const uint8_t byte = transfer_byte(t->sent++);

        HN_EQUAL(tenon_tcp_write(conn, &byte, 1), 1);
    }
    pair_run(&t->pair, us);
}

/* Somebody types, a byte per round trip, and one of them is marked; then there are 60 kB to send. */
static void transfer_after_typing(void)
{
    static const struct tenon_tcp_events silent, takes = {.received = transfer_received};
    struct wire_line_conf out = {.rate = 20000, .delay_us = 50000}, back = {.delay_us = 50000};
    const struct tenon_addr here = pair_addr(1, 0, 7);
    struct tenon_tcp_listener *listener;
    struct tenon_tcp_info info;
    struct tenon_conf conf;
    struct tenon_tcp *conn;
    struct transfer t;
    unsigned i;

    memset(&t, 0, sizeof t);
    tenon_conf_default(&conf);
    conf.tcp_cc = &tenon_cc_bbr;
    HN_CHECK(pair_open(&t.pair, &conf));
    wire_line_set(t.pair.end[0], WIRE_OUT, &out);
    wire_line_set(t.pair.end[1], WIRE_OUT, &back);
    HN_EQUAL(tenon_tcp_listen(t.pair.stack[1], &listener, &here, &takes, &t, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_connect(t.pair.stack[0], &conn, NULL, &here, &silent, &t), TENON_OK);
    tenon_tcp_set(conn, TENON_TCP_ECN, 1);
    tenon_tcp_set(conn, TENON_TCP_NODELAY, 1);
    pair_run(&t.pair, 300000);
    for (i = 0; i < 30; i++)
        write_and_run(&t, conn, 1, 150000);
    out.mark_bytes = 1;    /* what waits for another */
    wire_line_set(t.pair.end[0], WIRE_OUT, &out);
    for (i = 0; i < 5; i++)
        write_and_run(&t, conn, 1, 1000);
    pair_run(&t.pair, 200000);
    HN_EQUAL(tenon_stat(t.pair.stack[0], TENON_STAT_TCP_ECE_REDUCED), 1);
    out.mark_bytes = 0;
    out.rate = 1250000;
    wire_line_set(t.pair.end[0], WIRE_OUT, &out);
    write_and_run(&t, conn, 1, 150000);
    write_and_run(&t, conn, 60000, 4000000);
    tenon_tcp_status(conn, &info);
    HN_EQUAL(info.snd_queued, 0);
    HN_EQUAL(t.received, t.sent);
    HN_EQUAL(t.wrong, 0);
    tenon_tcp_abort(conn);
    HN_CHECK(pair_close(&t.pair));
}

static const struct hn_test tests[] = {
    { "arithmetic_golden", "BBR-INT BBR-16", arithmetic_golden },
    { "init_pacing", "BBR-4", init_pacing },
    { "init_takes_over", "BBR-4", init_takes_over },
    { "startup_pacing_only_grows", "BBR-16", startup_pacing_only_grows },
    { "states_gains", "BBR-16 BBR-17 BBR-18", states_gains },
    { "loss_prefix", "BBR-11", loss_prefix },
    { "loss_threshold", "BBR-11", loss_threshold },
    { "no_sack_any_loss", "BBR-7 BBR-11", no_sack_any_loss },
    { "cruise_loss_short_term", "BBR-12", cruise_loss_short_term },
    { "cruise_few_losses_borne", "BBR-12", cruise_few_losses_borne },
    { "cruise_loss_long_queue", "BBR-12", cruise_loss_long_queue },
    { "max_bw_two_cycles", "BBR-13", max_bw_two_cycles },
    { "cruise_probe_wait", "BBR-9", cruise_probe_wait },
    { "down_wait_is_random", "BBR-9", down_wait_is_random },
    { "up_longterm_slope", "BBR-10", up_longterm_slope },
    { "min_rtt_filter", "BBR-14 BBR-22", min_rtt_filter },
    { "cruise_extra_acked", "BBR-15", cruise_extra_acked },
    { "cruise_timeout", "BBR-19", cruise_timeout },
    { "restart_paces_at_bw", "BBR-21", restart_paces_at_bw },
    { "probe_marked", "ECN-5", probe_marked },
    { "startup_growth", "BBR-6", startup_growth },
    { "startup_loss_without_recovery", "BBR-7", startup_loss_without_recovery },
    { "states_bounds", "BBR-18", states_bounds },
    { "max_bw_app_limited", "BBR-3 BBR-13", max_bw_app_limited },
    { "any_state_nonsense", "CC-GEN-2 CC-GEN-6 BBR-INT", any_state_nonsense },
    { "startup_plateau", "BBR-5 BBR-6 BBR-PIT", startup_plateau },
    { "startup_loss_app_limited", "BBR-7 BBR-PIT", startup_loss_app_limited },
    { "probing_app_limited_stays", "BBR-6 BBR-PIT", probing_app_limited_stays },
    { "drain_inflight", "BBR-8 BBR-PIT", drain_inflight },
    { "drain_time", "BBR-8 BBR-PIT", drain_time },
    { "up_plateau", "BBR-9 BBR-PIT", up_plateau },
    { "up_loss_app_limited", "BBR-9 BBR-11 BBR-PIT", up_loss_app_limited },
    { "up_loss_sets_longterm", "BBR-9 BBR-11 BBR-PIT", up_loss_sets_longterm },
    { "up_precautionary", "BBR-9", up_precautionary },
    { "down_inflight", "BBR-9 BBR-PIT", down_inflight },
    { "down_time", "BBR-9 BBR-PIT", down_time },
    { "probe_rtt_enter_exit", "BBR-14 BBR-PIT", probe_rtt_enter_exit },
    { "probe_rtt_skipped_after_idle", "BBR-14 BBR-21 BBR-PIT", probe_rtt_skipped_after_idle },
    { "probe_rtt_in_startup", "BBR-14 BBR-PIT", probe_rtt_in_startup },
    { "probe_rtt_restart", "BBR-21", probe_rtt_restart },
    { "pacing_least", "BBR-16", pacing_least },
    { "transfer_after_typing", "BBR-16", transfer_after_typing },
    { "lumps_startup_and_cruise", "BBR-15 BBR-PIT", lumps_startup_and_cruise },
    { "small_bdp", "BBR-18 BBR-PIT", small_bdp },
    { "ten_times_faster", "BBR-10 BBR-PIT", ten_times_faster },
    { "ten_times_slower", "BBR-12 BBR-13 BBR-PIT", ten_times_slower },
    { "policer", "BBR-12 BBR-PIT", policer },
    { "up_spurious_recovery", "BBR-20 BBR-PIT", up_spurious_recovery },
    { "cruise_spurious_timeout", "BBR-19 BBR-20 BBR-PIT", cruise_spurious_timeout },
    { "startup_spurious_recovery", "BBR-7 BBR-20", startup_spurious_recovery },
    { "refill_app_limited", "BBR-9 BBR-PIT", refill_app_limited },
    { "link_use", "CC-X-4 CC-X-5 BBR-PIT", link_use },
    { "small_pipe_losses", "BBR-11 BBR-PIT", small_pipe_losses },
    { "transfer_link_use", "CC-X-4 CC-X-5", transfer_link_use },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
