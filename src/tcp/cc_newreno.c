/* SPDX-License-Identifier: MIT */
/* RFC 5681 and RFC 6582: slow start, congestion avoidance, and halving on loss. The words:
 * [0] bytes acknowledged since the last step of congestion avoidance. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

/* RFC 6928 2: ten segments; RFC 5681 3.1 after the SYN was lost more than once: one. */
static void newreno_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 mss = event->mss;

    cc->words[0] = 0;
    if (cc->cwnd != 0)
        return;    /* it takes over from another table: the window stays */
    cc->ssthresh = TN_CC_NO_SSTHRESH;
    cc->cwnd = event->repeated ? mss : tn_cc_initial(mss);
}

/* RFC 5681 3.1, by bytes: slow start as RFC 3465, congestion avoidance by one segment per window. */
static void newreno_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (TENON_WITH_RECOVERY && event->limited)
        return;
    if (cc->cwnd < cc->ssthresh) {
        tn_cc_grow(cc, tn_cc_slow_start(event));
        return;
    }
    cc->words[0] += event->acked;
    if (cc->words[0] >= cc->cwnd) {
        cc->words[0] -= cc->cwnd;
        tn_cc_grow(cc, event->mss);
    }
}

/* RFC 5681 equation 4. */
static tenon_u32 newreno_half(const struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    return tn_max(tn_cc_flight(cc, event) / 2, 2UL * event->mss);
}

static void newreno_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->ssthresh = newreno_half(cc, event);
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
        cc->ssthresh = newreno_half(cc, event);
    cc->cwnd = event->mss;
    cc->words[0] = 0;
}

/* RFC 5681 4.1: restart with the restart window after an idle RTO. */
static void newreno_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 mss = event->mss;

    cc->cwnd = tn_min(cc->cwnd, tn_cc_initial(mss));
}

/* RFC 3168 6.1.2: half, as for a loss, but nothing is missing, and it goes down to one segment. */
static void newreno_ecn(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 half = tn_cc_flight(cc, event) / 2;

    newreno_lost(cc, event);
    cc->cwnd = tn_max(half, event->mss);
}

static const char newreno_name[] = "newreno";

const struct tenon_cc_ops tenon_cc_newreno = {
    newreno_name,
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
    newreno_ecn,
    NULL,
};
