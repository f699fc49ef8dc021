/* SPDX-License-Identifier: MIT */
/* HighSpeed TCP, against the formulas of RFC 3649 in floating point. */
#include "harness.h"

#include "limits/pair.h"
#include "tcp/transfer.h"
#include "tcp/words.h"

enum { MSS = 1000 };

static struct tenon_cc with_window(unsigned segments, unsigned ssthresh_segments)
{
    struct tenon_cc cc;
    struct tenon_cc_event event;

    memset(&cc, 0, sizeof cc);
    words_own(&cc);
    memset(&event, 0, sizeof event);
    event.mss = MSS;
    cc.ops = &tenon_cc_highspeed;
    cc.cwnd = segments * MSS;
    cc.ssthresh = ssthresh_segments * MSS;
    cc.ops->init(&cc, &event);
    return cc;
}

static void ack(struct tenon_cc *cc, tenon_u32 bytes)
{
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.acked = bytes;
    event.in_flight = cc->cwnd;
    cc->ops->acked(cc, &event);
}

/* How many segments a whole window of ACKs adds. */
static double increase(unsigned segments)
{
    struct tenon_cc cc = with_window(segments, 2);

    ack(&cc, cc.cwnd);
    return (double)(cc.cwnd - segments * MSS) / MSS;
}

static double decrease(unsigned segments)
{
    struct tenon_cc cc = with_window(segments, 2);
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.in_flight = cc.cwnd;
    cc.ops->lost(&cc, &event);
    HN_EQUAL(cc.cwnd, cc.ssthresh);
    return 1 - (double)cc.cwnd / MSS / segments;
}

/* ---- the formulas -------------------------------------------------------------------------------------------- */

static double logarithm(double x)
{
    double sum = 0, term;
    int halves = 0, i;

    for (; x > 1.5; halves++)
        x /= 2;
    term = (x - 1) / (x + 1);
    x = term * term;
    for (i = 1; i < 60; i += 2, term *= x)
        sum += term / i;
    return 2 * sum + halves * 0.69314718055994531;
}

static double exponential(double x)
{
    double sum = 1, term = 1;
    int i;

    for (i = 1; i < 100; i++)
        sum += term *= x / i;
    return sum;
}

/* RFC 3649 5. */
static double b_of(double w)
{
    return (0.1 - 0.5) * (logarithm(w) - logarithm(38)) / (logarithm(83000) - logarithm(38)) + 0.5;
}

static double a_of(double w)
{
    const double p = 0.078 / exponential(1.2 * logarithm(w));

    return w * w * p * 2 * b_of(w) / (2 - b_of(w));
}

static void avoidance_ack_as_formula(void)
{
    double before = 1;
    unsigned w;

    for (w = 39; w < 100000; w += 1 + w / 97) {
        const double a = increase(w), want = a_of(w) < 1 ? 1 : a_of(w);

        HN_CHECK(a >= before - 1e-3 && a <= want * 1.01 && a > want - 1.01);    /* the whole number below */
        before = a;
    }
}

/* The windows at which a(w) steps up, as in appendix B. */
static void avoidance_ack_steps(void)
{
    static const unsigned rows[][2] = {{2, 1}, {37, 1}, {38, 1}, {39, 1}, {117, 1}, {118, 2}, {220, 2}, {221, 3},
                                       {850, 6}, {851, 7}, {9346, 28}, {83000, 70}, {84035, 71}, {94716, 72},
                                       {94717, 73}, {1000000, 73}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++)
        HN_EQUAL(increase(rows[i][0]) * 1000 + 0.5, rows[i][1] * 1000);
}

static void avoidance_loss_as_formula(void)
{
    unsigned w;

    for (w = 38; w < 100000; w += 1 + w / 97) {
        const double b = decrease(w), want = b_of(w);

        HN_CHECK(b > want - 0.005 && b < want + (w < 118 ? 0.07 : 0.04));    /* that of the row's beginning */
    }
    HN_CHECK(decrease(37) == 0.5 && decrease(38) == 0.5 && decrease(10) == 0.5);
    HN_CHECK(decrease(84035) > 0.09 && decrease(84035) < 0.11);
}

static void avoidance_loss_leaves_two_segments(void)
{
    struct tenon_cc cc = with_window(3, 3);
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.in_flight = cc.cwnd;
    cc.ops->lost(&cc, &event);
    HN_EQUAL(cc.cwnd, 2 * MSS);
    cc.ops->recovered(&cc, &event);
    HN_EQUAL(cc.cwnd, 2 * MSS);
}

/* RFC 3168 6.1.2: as for a loss, but down to one segment. */
static void avoidance_marked(void)
{
    struct tenon_cc cc = with_window(10000, 2);
    struct tenon_cc_event event;
    unsigned i;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.in_flight = cc.cwnd;
    cc.ops->ecn(&cc, &event);
    HN_EQUAL(cc.cwnd, (tenon_u32)((1 - decrease(10000)) * 10000 * MSS + 0.5));
    HN_EQUAL(cc.cwnd, cc.ssthresh);
    for (i = 0; i < 100; i++) {
        event.in_flight = cc.cwnd;
        cc.ops->ecn(&cc, &event);
    }
    HN_EQUAL(cc.cwnd, MSS);
    HN_EQUAL(cc.ssthresh, 2 * MSS);
}

static void avoidance_tiny_acks_as_one(void)
{
    struct tenon_cc one = with_window(5000, 2), many = one;
    unsigned i;

    words_own(&many);
    ack(&one, MSS);
    for (i = 0; i < MSS; i++)
        ack(&many, 1);
    HN_CHECK(many.cwnd <= one.cwnd && many.cwnd + 1 >= one.cwnd && one.cwnd > 5000 * MSS);
}

static void avoidance_limited_no_growth(void)
{
    struct tenon_cc cc = with_window(500, 2);
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.acked = cc.cwnd;
    event.limited = 1;
    cc.ops->acked(&cc, &event);
    HN_EQUAL(cc.cwnd, 500 * MSS);
}

static void avoidance_timeout_as_reno(void)
{
    struct tenon_cc cc = with_window(1000, 2);
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.in_flight = cc.cwnd;
    cc.ops->rto(&cc, &event);
    HN_EQUAL(cc.cwnd, MSS);
    HN_EQUAL(cc.ssthresh, 500 * MSS);
}

/* A round of ACKs, one for each segment. @return by how many segments the window has grown */
static unsigned start_round(struct tenon_cc *cc, tenon_u32 rtt_us)
{
    const tenon_u32 begin = cc->cwnd;
    tenon_u32 left = begin / MSS;
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = MSS;
    event.acked = MSS;
    event.rtt_us = rtt_us;
    for (; left > 0; left--) {
        event.in_flight = cc->cwnd;    /* each ACK lets new ones leave */
        cc->ops->acked(cc, &event);
    }
    return (cc->cwnd - begin) / MSS;
}

static void slow_start_ends_by_delay(void)
{
    struct tenon_cc cc;
    struct tenon_cc_event event;
    unsigned round;

    memset(&cc, 0, sizeof cc);
    words_own(&cc);
    memset(&event, 0, sizeof event);
    event.mss = MSS;
    cc.ops = &tenon_cc_highspeed;
    cc.ops->init(&cc, &event);
    HN_EQUAL(cc.ssthresh, 0xFFFFFFFFU);
    for (round = 0; round < 8; round++)    /* it doubles beyond 100 segments, too */
        HN_EQUAL(start_round(&cc, 40000), (unsigned)10 << round);
    start_round(&cc, 60000);
    for (round = 0; round < 8 && cc.ssthresh == 0xFFFFFFFFU; round++)
        HN_CHECK(start_round(&cc, 60000) <= cc.cwnd / MSS / 4);
    HN_CHECK(cc.ssthresh < 0xFFFFFFFFU && cc.ssthresh <= cc.cwnd);
    HN_CHECK(cc.words[0] < cc.cwnd);    /* a rest */
    HN_CHECK(start_round(&cc, 60000) < 80);    /* a(w), which is 70 or so there */
}

/* With a threshold that is known, it is that of all. */
static void slow_start_to_the_threshold(void)
{
    struct tenon_cc cc = with_window(200, 1000);

    HN_EQUAL(start_round(&cc, 40000), 200);
    HN_EQUAL(start_round(&cc, 80000), 400);
}

static void transfer_queue_of_one_bdp(void)
{
    const struct transfer_line line = {.rate = 1250000, .one_way_us = 25000, .queue_bytes = 62500};
    struct transfer t;

    transfer_run(&t, &tenon_cc_highspeed, &line, 8000000, 60);
    HN_CHECK(t.closed && t.why == TENON_OK && t.received == 8000000 && !t.wrong && t.clean);
    printf("     highspeed, 10 Mbit/s, 50 ms: 8 MB in %.2f s\n", t.seconds);
    HN_CHECK(t.seconds < 10);
}

static const struct hn_test tests[] = {
    { "avoidance_ack_as_formula", "HS-1 HS-4 HS-5 HS-6", avoidance_ack_as_formula },
    { "avoidance_ack_steps", "HS-2 HS-6", avoidance_ack_steps },
    { "avoidance_loss_as_formula", "HS-2 HS-3 HS-5", avoidance_loss_as_formula },
    { "avoidance_loss_leaves_two_segments", "HS-5", avoidance_loss_leaves_two_segments },
    { "avoidance_marked", "HS-5 ECN-5", avoidance_marked },
    { "avoidance_tiny_acks_as_one", "HS-8", avoidance_tiny_acks_as_one },
    { "avoidance_limited_no_growth", "HS-8", avoidance_limited_no_growth },
    { "avoidance_timeout_as_reno", "HS-5", avoidance_timeout_as_reno },
    { "slow_start_ends_by_delay", "HY-4 HY-5", slow_start_ends_by_delay },
    { "slow_start_to_the_threshold", "HY-7", slow_start_to_the_threshold },
    { "transfer_queue_of_one_bdp", "HS-5", transfer_queue_of_one_bdp },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
