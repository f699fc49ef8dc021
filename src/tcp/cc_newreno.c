/* SPDX-License-Identifier: MIT */
/* RFC 5681 and RFC 6582: slow start, congestion avoidance, and halving on loss. The words:
 * [0] bytes acknowledged since the last step of congestion avoidance. */
#include "tcp/tcp_internal.h"

/* RFC 6928 2: ten segments; RFC 5681 3.1 after the SYN was lost more than once: one. */
static void newreno_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 mss = event->mss;

    cc->words[0] = 0;
    if (cc->cwnd != 0)
        return;    /* it takes over from another table: the window stays */
    cc->ssthresh = 0xFFFFFFFFUL;
    cc->cwnd = event->repeated ? mss : tn_min(10 * mss, tn_max(2 * mss, 14600));
}

enum { NEWRENO_CWND_MAX_SHIFT = 30 };

static void newreno_grow(struct tenon_cc *cc, tenon_u32 bytes)
{
    cc->cwnd = tn_min(cc->cwnd + bytes, 1UL << NEWRENO_CWND_MAX_SHIFT);
}

/* Slow start by what was acknowledged (RFC 3465 with L = 2: one ACK moves it by two segments at most, so
 * that splitting ACKs gains nothing), congestion avoidance by one segment per window (RFC 5681 3.1). */
static void newreno_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (event->limited)
        return;
    if (cc->cwnd < cc->ssthresh) {
        newreno_grow(cc, tn_min(event->acked, 2UL * event->mss));
        return;
    }
    cc->words[0] += event->acked;
    if (cc->words[0] >= cc->cwnd) {
        cc->words[0] -= cc->cwnd;
        newreno_grow(cc, event->mss);
    }
}

/* RFC 5681 equation 4. */
static tenon_u32 newreno_half(const struct tenon_cc_event *event)
{
    return tn_max(event->in_flight / 2, 2UL * event->mss);
}

static void newreno_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->ssthresh = newreno_half(event);
    cc->cwnd = cc->ssthresh;
    cc->words[0] = 0;
}

/* RFC 6582 3.2, step 3, second choice; RFC 6675 5: the window is what the loss left of it. */
static void newreno_recovered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->cwnd = tn_max(cc->ssthresh, event->mss);
}

static void newreno_rto(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (!event->repeated)
        cc->ssthresh = newreno_half(event);
    cc->cwnd = event->mss;
    cc->words[0] = 0;
}

/* RFC 5681 4.1: restart with the restart window after an idle RTO. */
static void newreno_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 mss = event->mss;

    cc->cwnd = tn_min(cc->cwnd, tn_min(10 * mss, tn_max(2 * mss, 14600)));
}

const struct tenon_cc_ops tenon_cc_newreno = {
    "newreno",
    newreno_init,
    newreno_acked,
    newreno_lost,
    newreno_recovered,
    newreno_rto,
    newreno_idle,
    0,
    0,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};
