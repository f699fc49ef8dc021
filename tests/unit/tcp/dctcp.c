/* SPDX-License-Identifier: MIT */
/* DCTCP: the average against floating point, single events, and over a model of a path whose queue marks. */
#include "harness.h"

#include "tcp/path.h"
#include "tcp/words.h"

enum { MSS = 1460, ALPHA = 1, WINDOW_END = 2 };

struct hand {
    struct tenon_cc cc;
    struct tenon_cc_event event;
};

static const tenon_u32 one = 65536;

static void hand_open(struct hand *h, unsigned segments)
{
    memset(h, 0, sizeof *h);
    h->cc.ops = &tenon_cc_dctcp;
    words_own(&h->cc);
    h->cc.cwnd = segments * MSS;
    h->cc.ssthresh = h->cc.cwnd;
    h->event.mss = MSS;
    h->event.snd_una = 0xFFFFFFFF - 500 * MSS;
    h->event.snd_nxt = h->event.snd_una + segments * MSS;
    h->cc.ops->init(&h->cc, &h->event);
    HN_EQUAL(h->cc.words[ALPHA], one);
}

/* An ACK of so many bytes, some of them marked; as much as they were is sent again. */
static void hand_ack(struct hand *h, tenon_u32 acked, tenon_u32 marked)
{
    struct tenon_cc_event *e = &h->event;

    e->in_flight = e->snd_nxt - e->snd_una;
    e->acked = e->delivered = acked;
    e->ce = marked;
    e->snd_una += acked;
    if (e->in_recovery == 0)
        h->cc.ops->acked(&h->cc, e);
    h->cc.ops->delivered(&h->cc, e);
    e->snd_nxt += acked;
}

/* A window in `acks` ACKs, the first `marked` of which tell of congestion. */
static void hand_window(struct hand *h, unsigned acks, unsigned marked)
{
    unsigned i;

    for (i = 0; i < acks; i++)
        hand_ack(h, MSS, i < marked ? MSS : 0);
}

/* ---- the average (RFC 8257 3.3) ---------------------------------------------------------------------------------- */

static void alpha_follows_model(void)
{
    static const unsigned shares[] = {0, 1, 5, 10, 19, 20};
    unsigned i, n;

    for (i = 0; i < TENON_ARRAY_LEN(shares); i++) {
        struct hand h;
        double alpha = 1;

        hand_open(&h, 20);
        h.cc.words[WINDOW_END] -= MSS;    /* each window is 20 ACKs, the first too */
        for (n = 0; n < 200; n++) {
            h.cc.cwnd = 100 * MSS;
            hand_window(&h, 20, shares[i]);
            alpha = alpha * 15 / 16 + shares[i] / 20.0 / 16;
            if (!HN_CHECK(h.cc.words[ALPHA] / 65536.0 > alpha - 0.0006 && h.cc.words[ALPHA] / 65536.0 < alpha + 0.0003))
                break;
        }
        if (shares[i] == 0)
            HN_EQUAL(h.cc.words[ALPHA], 0);
        if (shares[i] == 20)
            HN_CHECK(h.cc.words[ALPHA] > one - 64);
    }
}

/* Whatever is said: from 0 to 1. */
static void alpha_stays_in_range(void)
{
    struct path random = { .random = 3 };
    struct hand h;
    unsigned i;

    hand_open(&h, 20);
    for (i = 0; i < 300000; i++) {
        const tenon_u32 acked = 1 + (path_random(&random) >> (3 + path_random(&random) % 29));

        h.event.snd_nxt = h.event.snd_una + acked + (path_random(&random) >> (3 + path_random(&random) % 29));
        hand_ack(&h, acked, path_random(&random) >> path_random(&random) % 32);
        if (!HN_CHECK(h.cc.words[ALPHA] <= one && h.cc.cwnd >= 2 * MSS && h.cc.cwnd <= 1U << 30))
            return;
    }
}

/* Three gigabytes without a cut: more than half of the circle of sequence numbers. */
static void alpha_after_three_gigabytes(void)
{
    struct hand h;
    tenon_u32 before;
    unsigned i;

    hand_open(&h, 20);
    for (i = 0; i < 3000; i++) {
        h.cc.cwnd = 1000 * MSS;
        hand_ack(&h, 1U << 20, 0);
    }
    HN_EQUAL(h.cc.words[ALPHA], 0);
    h.cc.words[ALPHA] = one;
    before = h.cc.cwnd;
    hand_ack(&h, MSS, MSS);
    HN_CHECK(h.cc.cwnd < before * 11 / 20);
}

/* ---- the window (RFC 8257 3.3, 3.5) -------------------------------------------------------------- */

static void mark_cuts_by_alpha(void)
{
    static const unsigned alphas[] = {0, 1, 16, 4096, 32768, 65536};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(alphas); i++) {
        struct hand h;

        hand_open(&h, 100);
        h.cc.words[ALPHA] = alphas[i];
        hand_ack(&h, MSS, MSS);
        HN_EQUAL(h.cc.cwnd, 100 * MSS - 100 * MSS * (unsigned long long)alphas[i] / 131072);
        HN_EQUAL(h.cc.ssthresh, h.cc.cwnd);
    }
}

static void mark_once_per_window(void)
{
    struct hand h;
    tenon_u32 after;

    hand_open(&h, 100);
    hand_ack(&h, MSS, MSS);
    HN_EQUAL(h.cc.cwnd, 50 * MSS);
    after = h.cc.cwnd;
    hand_window(&h, 98, 98);
    HN_EQUAL(h.cc.cwnd, after);     /* what was sent before the cut */
    hand_ack(&h, 2 * MSS, MSS);
    HN_CHECK(h.cc.cwnd < after && h.cc.cwnd >= after / 2);
}

static void mark_leaves_two_segments(void)
{
    struct hand h;

    hand_open(&h, 3);
    hand_ack(&h, MSS, MSS);
    HN_EQUAL(h.cc.cwnd, 2 * MSS);
}

/* RFC 3168 6.1.2: no growth with such an ACK, in slow start either; and the mark ends slow start. */
static void mark_no_growth(void)
{
    struct hand h;

    hand_open(&h, 10);
    h.cc.ssthresh = 0xFFFFFFFF;
    hand_ack(&h, MSS, 0);
    HN_EQUAL(h.cc.cwnd, 11 * MSS);
    h.cc.words[ALPHA] = 0;
    hand_ack(&h, MSS, MSS);
    HN_EQUAL(h.cc.cwnd, 11 * MSS);
    HN_EQUAL(h.cc.ssthresh, 11 * MSS);
}

static void loss_halves(void)
{
    struct hand h;

    hand_open(&h, 100);
    h.cc.words[ALPHA] = 0;
    h.event.in_flight = 100 * MSS;
    h.cc.ops->lost(&h.cc, &h.event);
    HN_EQUAL(h.cc.ssthresh, 50 * MSS);
    h.event.in_recovery = 1;
    h.cc.words[ALPHA] = one;
    hand_ack(&h, 10 * MSS, 10 * MSS);
    HN_EQUAL(h.cc.cwnd, 50 * MSS);
    hand_ack(&h, 89 * MSS, 10 * MSS);
    HN_EQUAL(h.cc.cwnd, 50 * MSS);          /* the same window still */
    hand_ack(&h, 2 * MSS, MSS);
    HN_EQUAL(h.cc.cwnd, 50 * MSS);          /* the next one, but the loss is still being repaired */
    h.event.in_recovery = 0;
    h.cc.ops->recovered(&h.cc, &h.event);
    hand_ack(&h, 2 * MSS, MSS);
    HN_CHECK(h.cc.cwnd < 27 * MSS);
}

static void loss_after_mark_nothing_more(void)
{
    struct hand h;

    hand_open(&h, 100);
    h.cc.words[ALPHA] = one / 4;
    hand_ack(&h, MSS, MSS);
    HN_EQUAL(h.cc.cwnd, 100 * MSS - 100 * MSS / 8);
    h.event.in_flight = 100 * MSS;
    h.cc.ops->lost(&h.cc, &h.event);
    HN_EQUAL(h.cc.ssthresh, 100 * MSS - 100 * MSS / 8);
    hand_window(&h, 101, 0);
    h.event.in_flight = h.cc.cwnd;
    h.cc.ops->lost(&h.cc, &h.event);
    HN_CHECK(h.cc.ssthresh < 46 * MSS);
}

static void loss_undone_marks_count(void)
{
    struct hand h;

    hand_open(&h, 100);
    h.event.in_flight = 100 * MSS;
    h.cc.ops->lost(&h.cc, &h.event);
    h.cc.cwnd = 100 * MSS;
    h.cc.ops->undo(&h.cc, &h.event);
    hand_ack(&h, MSS, MSS);
    HN_EQUAL(h.cc.cwnd, 50 * MSS);
}

static void timeout_one_segment(void)
{
    struct hand h;

    hand_open(&h, 100);
    h.event.in_flight = 100 * MSS;
    h.cc.ops->rto(&h.cc, &h.event);
    HN_EQUAL(h.cc.cwnd, MSS);
    HN_EQUAL(h.cc.ssthresh, 50 * MSS);
    hand_ack(&h, MSS, 0);
    HN_EQUAL(h.cc.cwnd, 2 * MSS);
}

/* ---- over a path --------------------------------------------------------------------------------- */

/* The queue stays at the threshold and the link full; Reno, whose answer is a half, does not keep it so. */
static void path_short_queue(void)
{
    static const struct {
        uint64_t mbit, rtt_us, mark;
    } rows[] = {{1000, 200, 20}, {1000, 1000, 20}, {10000, 100, 65}, {10000, 400, 100}};
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct path p = {.rate = rows[i].mbit * 125000, .rtt_us = rows[i].rtt_us};
        double percent;

        p.mark_bytes = rows[i].mark * MSS;
        p.no_timeouts = 1;
        path_begin(&p, &tenon_cc_dctcp);
        path_run(&p, 0.2);
        p.queue_top = 0;
        percent = path_percent(&p, 0.3);
        printf("     %lu Mbit/s, %lu us, mark at %lu: %.1f %%, queue up to %.0f segments, alpha %.3f\n",
               (unsigned long)rows[i].mbit, (unsigned long)rows[i].rtt_us, (unsigned long)rows[i].mark, percent,
               (double)p.queue_top / MSS, p.cc.words[ALPHA] / 65536.0);
        HN_CHECK(percent > 97);
        HN_CHECK(p.queue_top < (rows[i].mark + 12) * MSS);
        HN_CHECK(p.lost == 0);
        path_end(&p);
    }
}

static const struct hn_test tests[] = {
    { "alpha_follows_model", "DC-3 DC-8", alpha_follows_model },
    { "alpha_stays_in_range", "DC-7", alpha_stays_in_range },
    { "alpha_after_three_gigabytes", "DC-7", alpha_after_three_gigabytes },
    { "mark_cuts_by_alpha", "DC-4 DC-PIT", mark_cuts_by_alpha },
    { "mark_once_per_window", "DC-4 DC-5", mark_once_per_window },
    { "mark_leaves_two_segments", "DC-4", mark_leaves_two_segments },
    { "mark_no_growth", "DC-4 ECN-5", mark_no_growth },
    { "loss_halves", "DC-5", loss_halves },
    { "loss_after_mark_nothing_more", "DC-5", loss_after_mark_nothing_more },
    { "loss_undone_marks_count", "DC-5", loss_undone_marks_count },
    { "timeout_one_segment", "DC-5", timeout_one_segment },
    { "path_short_queue", "DC-3 DC-4", path_short_queue },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
