/* SPDX-License-Identifier: MIT */
/* CUBIC (RFC 9438), with HyStart++ (RFC 9406) in the first slow start.
 *
 * Windows are in bytes, time in ticks of 1024 us, so that a tick is a shift. With C = 0.4 segments/s^3 the curve is
 *
 *     W(t) = w_max + C (t - K)^3 = w_max +- n^3 * mss / 2328306436,    n = |t - K| in ticks
 *
 * because 0.4 * 0.001024^3 = 1 / 2328306436.5. The clock of an epoch is moved by the time between two ACKs and not
 * taken as a difference to its beginning: it neither wraps with now_us, nor runs while the window is not used. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

/* The words in congestion avoidance, and from the first loss on; before that they are those of cc_hystart.c. */
enum {
    CUBIC_W_MAX,         /* 0: there is none, because of a timeout or because nothing was lost yet */
    CUBIC_PRIOR,         /* cwnd at the last congestion event */
    CUBIC_K,             /* ticks from the begin of the epoch to w_max */
    CUBIC_T,             /* ticks of this epoch; CUBIC_NO_EPOCH: begins with the next ACK */
    CUBIC_LAST_US,       /* up to where CUBIC_T has counted */
    CUBIC_W_EST,         /* what Reno would have (RFC 9438 4.3) */
    CUBIC_CARRY,         /* rests of tn_cc_share() */
    CUBIC_EST_CARRY
};

enum { CUBIC_BETA = 700, CUBIC_CONVERGENCE = 850 };    /* thousandths */

#define CUBIC_NO_EPOCH 0xFFFFFFFFUL
#define CUBIC_T_MAX 0x3FFFFFFFUL

/* ---- the curve --------------------------------------------------------------------------------------------- */

/* n^3 * mss / 2328306436 bytes, 2^30 at most, for any n.
 * n < 2^16: n^2 fits; mul_high(n^2, n * 2^16) = n^3 / 2^16 < 2^32, one unit of which is 2^16 / 2328306436 of a
 * segment; times 2^16 / 2328306436 * 2^32 = 2 * 60446.3, of which 60446 * mss < 2^32 for every mss of 16 bits.
 * n < 2^18 (268 s, 7,000,000 segments): four times as coarse. Beyond: more than any window. */
static tenon_u32 cubic_curve(tenon_u32 n, tenon_u32 mss)
{
    const int shift = n >= 0x10000UL ? 6 : 0;
    const tenon_u32 most = 1UL << TN_CC_CWND_MAX_SHIFT;
    tenon_u32 half;

    if (n >= 0x40000UL)
        return most;
    if (shift)
        n >>= 2;
    half = tn_cc_mul_high(tn_cc_mul_high(n * n, n << 16), 60446UL * mss);
    return half >= most >> shift >> 1 ? most : half << shift << 1;
}

/* K: the ticks in which the curve moves by `bytes`. The root is looked for bit by bit with the curve itself, once
 * per epoch, so that the curve meets cwnd_epoch where the epoch begins, and no table is needed. */
static tenon_u32 cubic_root(tenon_u32 bytes, tenon_u32 mss)
{
    tenon_u32 n = 0, bit;

    for (bit = 0x20000UL; bit != 0; bit >>= 1)
        if (cubic_curve(n | bit, mss) < bytes)
            n |= bit;
    return n;
}

/* RFC 9438 4.2, figure 1. */
static tenon_u32 cubic_window(const struct tenon_cc *cc, tenon_u32 t, tenon_u32 mss)
{
    const tenon_u32 k = cc->words[CUBIC_K], w_max = cc->words[CUBIC_W_MAX];

    if (t < k)
        return w_max - tn_min(w_max, cubic_curve(k - t, mss));
    return tn_min(w_max + cubic_curve(t - k, mss), 1UL << TN_CC_CWND_MAX_SHIFT);
}

/* ---- congestion avoidance ------------------------------------------------------------------------------------ */

/* RFC 9438 4.2; 4.8 after a timeout and 4.10 after slow start without a loss: the plateau is where we are. */
static void cubic_begin(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (cc->words[CUBIC_W_MAX] == 0 && cc->words[CUBIC_PRIOR] == 0)
        cc->words[CUBIC_PRIOR] = cc->cwnd;
    cc->words[CUBIC_W_MAX] = tn_max(cc->words[CUBIC_W_MAX], cc->cwnd);
    cc->words[CUBIC_K] = cubic_root(cc->words[CUBIC_W_MAX] - cc->cwnd, event->mss);
    cc->words[CUBIC_T] = 0;
    cc->words[CUBIC_LAST_US] = event->now_us;
    cc->words[CUBIC_W_EST] = cc->cwnd;
    cc->words[CUBIC_CARRY] = 0;
    cc->words[CUBIC_EST_CARRY] = 0;
}

/* The clock of the epoch. While the window is in use, ACKs are hardly more than a round trip apart: a longer
 * silence was one of the application, and does not count (RFC 9438 4.2, last paragraphs). */
static void cubic_tick(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_u32 us = event->now_us - cc->words[CUBIC_LAST_US];

    if (event->srtt_us != 0)
        us = tn_min(us, 2 * tn_min(event->srtt_us, CUBIC_T_MAX));
    cc->words[CUBIC_T] = tn_min(cc->words[CUBIC_T] + (us >> 10), CUBIC_T_MAX);
    cc->words[CUBIC_LAST_US] = event->now_us - (us & 1023);
}

/* RFC 9438 4.3: alpha is 9/17, and 1 where the last episode began. cwnd * 17/9 must stay below 2^30: beyond 2^29 both
 * sides of the fraction are halved. */
static void cubic_reno(struct tenon_cc *cc, const struct tenon_cc_event *event, tenon_u32 acked)
{
    tenon_u32 *const est = &cc->words[CUBIC_W_EST];
    const int halve = cc->cwnd > 1UL << (TN_CC_CWND_MAX_SHIFT - 1);
    tenon_u32 per_mss = cc->cwnd >> halve;

    acked >>= halve;
    if (*est < cc->words[CUBIC_PRIOR])
        per_mss = per_mss / 9 * 17 + per_mss % 9 * 17 / 9;
    *est += tn_cc_share(&cc->words[CUBIC_EST_CARRY], event->mss, acked, per_mss);
    *est = tn_min(*est, 1UL << TN_CC_CWND_MAX_SHIFT);
}

/* RFC 9438 4.2 to 4.5. */
static void cubic_avoid(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 acked = tn_min(event->acked, cc->cwnd);
    const tenon_u32 ahead = tn_min(event->srtt_us, CUBIC_T_MAX) + 512;
    tenon_u32 target;

    cubic_tick(cc, event);
    cubic_reno(cc, event, acked);
    if (cubic_window(cc, cc->words[CUBIC_T], event->mss) < cc->words[CUBIC_W_EST]) {
        cc->cwnd = tn_max(cc->cwnd, cc->words[CUBIC_W_EST]);    /* an ACK never closes the window */
        cc->words[CUBIC_CARRY] = 0;
        return;
    }
    target = cubic_window(cc, cc->words[CUBIC_T] + (ahead >> 10), event->mss);
    target = tn_max(cc->cwnd, tn_min(target, cc->cwnd + cc->cwnd / 2));
    tn_cc_grow(cc, tn_cc_share(&cc->words[CUBIC_CARRY], target - cc->cwnd, acked, cc->cwnd));
}

/* No window and no epoch are known. */
static void cubic_forget(struct tenon_cc *cc)
{
    cc->words[CUBIC_W_MAX] = 0;
    cc->words[CUBIC_PRIOR] = 0;
    cc->words[CUBIC_T] = CUBIC_NO_EPOCH;
}

/* ---- events -------------------------------------------------------------------------------------------------- */

static void cubic_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.init(cc, event);
    if (cc->ssthresh == TN_CC_NO_SSTHRESH)
        tn_hystart_begin(cc);
    else
        cubic_forget(cc);
}

static void cubic_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (cc->ssthresh == TN_CC_NO_SSTHRESH) {
        if (tn_hystart_acked(cc, event))
            cubic_forget(cc);
    } else if (cc->cwnd < cc->ssthresh) {
        tenon_cc_newreno.acked(cc, event);
        cc->words[CUBIC_LAST_US] = event->now_us;
    } else if (cc->words[CUBIC_T] == CUBIC_NO_EPOCH) {
        cubic_begin(cc, event);
    } else if (event->limited) {
        cc->words[CUBIC_LAST_US] = event->now_us;
    } else {
        cubic_avoid(cc, event);
    }
}

/* RFC 9438 4.6. @return 0.7 of the flight, which may be less than ssthresh */
static tenon_u32 cubic_reduce(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 left = tn_cc_scale(tn_cc_flight(cc, event), CUBIC_BETA);

    if (cc->ssthresh == TN_CC_NO_SSTHRESH)
        cubic_forget(cc);
    cc->ssthresh = tn_max(left, 2UL * event->mss);
    cc->words[CUBIC_PRIOR] = cc->cwnd;
    cc->words[CUBIC_T] = CUBIC_NO_EPOCH;
    return left;
}

/* RFC 9438 4.7, fast convergence: a window that shrinks makes room for others. */
static tenon_u32 cubic_congested(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 left = cubic_reduce(cc, event);

    cc->words[CUBIC_W_MAX] =
        cc->cwnd < cc->words[CUBIC_W_MAX] ? tn_cc_scale(cc->cwnd, CUBIC_CONVERGENCE) : cc->cwnd;
    return left;
}

static void cubic_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cubic_congested(cc, event);
    cc->cwnd = cc->ssthresh;
}

/* RFC 9438 4.6: a mark reduces down to one segment; nothing is missing, and the next epoch begins at once. */
static void cubic_ecn(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->cwnd = tn_max(cubic_congested(cc, event), event->mss);
    cubic_begin(cc, event);
}

static void cubic_recovered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->cwnd = tn_max(cc->ssthresh, event->mss);
    cubic_begin(cc, event);
}

/* RFC 9438 4.8. */
static void cubic_rto(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    if (!event->repeated)
        cubic_reduce(cc, event);
    cc->words[CUBIC_W_MAX] = 0;
    cc->words[CUBIC_T] = CUBIC_NO_EPOCH;
    cc->cwnd = event->mss;
}

/* RFC 5681 4.1. Where the window became smaller, a new epoch leads from there back to w_max. */
static void cubic_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 before = cc->cwnd;

    tenon_cc_newreno.idle(cc, event);
    if (cc->ssthresh == TN_CC_NO_SSTHRESH)
        tn_hystart_begin(cc);
    else if (cc->cwnd < before)
        cc->words[CUBIC_T] = CUBIC_NO_EPOCH;
    else
        cc->words[CUBIC_LAST_US] = event->now_us;
}

static const char cubic_name[] = "cubic";

const struct tenon_cc_ops tenon_cc_cubic = {
    cubic_name, cubic_init, cubic_acked, cubic_lost, cubic_recovered, cubic_rto, cubic_idle, TENON_CC_HYSTART, 0, NULL,
    NULL, NULL, cubic_ecn, NULL,
};
