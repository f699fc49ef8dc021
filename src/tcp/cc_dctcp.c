/* SPDX-License-Identifier: MIT */
/* Data Center TCP (RFC 8257), the sender: how much of a window met congestion decides how much of it goes. The window
 * grows as Reno's; words[0] is NewReno's. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

enum {
    DCTCP_ALPHA = TENON_CC_ALPHA_WORD,    /* share of marked bytes, averaged: DCTCP_ONE is all */
    DCTCP_WINDOW_END,    /* when this is acknowledged, the share is computed */
    DCTCP_ACKED,         /* since the last time */
    DCTCP_MARKED,
    DCTCP_CUT_END        /* the window has been cut for what was sent before this */
};

#define DCTCP_ONE 65536UL
enum { DCTCP_SHIFT_G = 4 };    /* g is 1/16 */

static void dctcp_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.init(cc, event);
    cc->words[DCTCP_ALPHA] = DCTCP_ONE;    /* RFC 8257 3.3: careful at first */
    cc->words[DCTCP_WINDOW_END] = event->snd_nxt;
    cc->words[DCTCP_ACKED] = 0;
    cc->words[DCTCP_MARKED] = 0;
    cc->words[DCTCP_CUT_END] = event->snd_una;
}

/* RFC 3168 6.1.2: an ACK that tells of congestion opens nothing. */
static void dctcp_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (event->ce == 0)
        tenon_cc_newreno.acked(cc, event);
}

/* RFC 8257 3.3, steps 1 to 8. 4.2: where the average gets too small for the shift, it is nothing. */
static void dctcp_observe(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_u32 *const words = cc->words;

    words[DCTCP_ACKED] += event->acked;
    words[DCTCP_MARKED] += tn_min(event->ce, event->acked);
    if (!tn_seq_gt(event->snd_una, words[DCTCP_WINDOW_END]))
        return;
    if (words[DCTCP_ALPHA] < 1UL << DCTCP_SHIFT_G)
        words[DCTCP_ALPHA] = 0;
    words[DCTCP_ALPHA] -= words[DCTCP_ALPHA] >> DCTCP_SHIFT_G;
    words[DCTCP_ALPHA] += tn_cc_rate(words[DCTCP_MARKED], words[DCTCP_ACKED]) >> DCTCP_SHIFT_G;
    words[DCTCP_ALPHA] = tn_min(words[DCTCP_ALPHA], DCTCP_ONE);
    words[DCTCP_WINDOW_END] = event->snd_nxt;
    words[DCTCP_ACKED] = 0;
    words[DCTCP_MARKED] = 0;
}

/* One answer per window, to whatever it is (RFC 8257 3.5). */
static int dctcp_is_cut(const struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    return tn_seq_lt(event->snd_una, cc->words[DCTCP_CUT_END]);
}

/* RFC 8257 3.3, step 9: cwnd (1 - alpha / 2). */
static void dctcp_cut(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 less = tn_cc_mul_high(cc->cwnd, cc->words[DCTCP_ALPHA] << 15);

    cc->cwnd = tn_max(cc->cwnd - less, 2UL * event->mss);
    cc->ssthresh = cc->cwnd;
    cc->words[0] = 0;
    cc->words[DCTCP_CUT_END] = event->snd_nxt;
}

/* Bytes are counted in all phases; in recovery the window is what the loss left of it. */
static void dctcp_delivered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (event->acked == 0)
        return;
    dctcp_observe(cc, event);
    if (dctcp_is_cut(cc, event))
        return;
    cc->words[DCTCP_CUT_END] = event->snd_una;    /* it moves along, so that it is never half a circle behind */
    if (event->ce > 0 && event->in_recovery == 0)
        dctcp_cut(cc, event);
}

/* RFC 8257 3.5: loss as in RFC 5681, but not on top of a cut. */
static void dctcp_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (dctcp_is_cut(cc, event))
        cc->ssthresh = tn_max(tn_min(cc->ssthresh, cc->cwnd), 2UL * event->mss);
    else
        tenon_cc_newreno.lost(cc, event);
    cc->cwnd = cc->ssthresh;
    cc->words[DCTCP_CUT_END] = event->snd_nxt;
}

static void dctcp_recovered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.recovered(cc, event);
}

static void dctcp_rto(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.rto(cc, event);
    cc->words[DCTCP_CUT_END] = event->snd_nxt;
}

static void dctcp_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.idle(cc, event);
}

/* What was no loss was no answer either: marks in the same window count again. */
static void dctcp_undo(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->words[DCTCP_CUT_END] = event->snd_una;
}

static const char dctcp_name[] = "dctcp";

const struct tenon_cc_ops tenon_cc_dctcp = {
    dctcp_name,
    dctcp_init,
    dctcp_acked,
    dctcp_lost,
    dctcp_recovered,
    dctcp_rto,
    dctcp_idle,
    TENON_CC_DCTCP,
    0,
    dctcp_delivered,
    NULL,
    NULL,
    NULL,
    dctcp_undo,
};
