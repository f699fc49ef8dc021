/* SPDX-License-Identifier: MIT */
/* Rates: what was delivered how fast (draft-ietf-ccwg-bbr 4.1), and pacing (5.6.2 there, RFC 7661 4.4.2). */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

/* ---- samples ------------------------------------------------------------------------------------------------ */

TENON_INTERNAL void tn_rate_sending(struct tenon_tcp *conn, struct tn_sent *sent, tenon_u32 bytes)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 pipe = TENON_WITH_RECOVERY ? tn_tcp_in_flight(conn) : 0;

    if (!TENON_WITH_RECOVERY)
        return;
    if (pipe == 0)
        flight->first_sent_us = flight->delivered_us = conn->stack->now_us;
    sent->sent_us = conn->stack->now_us;
    sent->delivered = conn->flight->total_delivered;
    sent->delivered_us = flight->delivered_us;
    sent->first_sent_us = flight->first_sent_us;
    sent->in_flight = pipe + bytes;
    sent->lost = conn->flight->total_lost;
    sent->app_limited = flight->app_limited != 0;
}

/* What is in flight by now left while nobody looked: as if the path had stood still since. */
static void rate_begin_record(const struct tenon_tcp *conn, struct tn_sent *sent)
{
    sent->delivered = conn->flight->total_delivered;
    sent->delivered_us = sent->first_sent_us = sent->sent_us;
    sent->in_flight = tn_tcp_in_flight(conn);
    sent->lost = conn->flight->total_lost;
    sent->app_limited = 1;
}

TENON_INTERNAL void tn_rate_begin(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    tenon_u32 i;

    if (!TENON_WITH_RECOVERY)
        return;
    if (flight == NULL)
        return;
    for (i = flight->first; i != flight->last; i++)
        rate_begin_record(conn, tn_flight_at(flight, i));
    for (i = 0; i < flight->again_n; i++)
        rate_begin_record(conn, &flight->again[i].sent);
    flight->first_sent_us = flight->delivered_us = conn->stack->now_us;
    flight->app_limited = 0;
}

TENON_INTERNAL void tn_rate_sample(struct tenon_tcp *conn, const struct tn_ack *ack,
                                   struct tenon_rate_sample *sample)
{
    struct tn_flight *flight = conn->flight;
    const struct tn_sent *newest = &ack->newest;
    tenon_u32 interval;

    if (!TENON_WITH_RECOVERY)
        return;
    memset(sample, 0, sizeof(*sample));
    if (ack->delivered > 0)
        flight->delivered_us = conn->stack->now_us;
    if (flight->app_limited != 0 && tn_seq_gt(conn->flight->total_delivered, flight->app_limited))
        flight->app_limited = 0;
    if (!ack->has_newest)
        return;
    flight->first_sent_us = newest->sent_us;
    sample->prior_delivered = newest->delivered;
    sample->tx_in_flight = newest->in_flight;
    sample->lost = conn->flight->total_lost - newest->lost;
    sample->app_limited = newest->app_limited;
    sample->delivered = conn->flight->total_delivered - newest->delivered;
    interval = tn_max(newest->sent_us - newest->first_sent_us, flight->delivered_us - newest->delivered_us);
    /* Faster than the path can be: an ACK was held back, and the samples with it. */
    if (interval == 0 || interval < conn->min_rtt_us)
        return;
    sample->interval_us = interval;
    sample->rate = tn_cc_rate(sample->delivered, interval);
}

TENON_INTERNAL void tn_rate_check_app_limited(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 pipe = TENON_WITH_RECOVERY ? tn_tcp_in_flight(conn) : 0;

    if (!TENON_WITH_RECOVERY)
        return;
    if (flight == NULL || tn_tcp_has_new_data(conn) || pipe >= conn->cc.cwnd ||
        (conn->recovery != TN_RECOVERY_NONE && tn_seq_lt(conn->flight->rtx_nxt, conn->flight->lost_edge)))
        return;
    flight->app_limited = conn->flight->total_delivered + pipe;
    if (flight->app_limited == 0)
        flight->app_limited = 1;
}

/* ---- pacing --------------------------------------------------------------------------------------------------- */

/* pace_us is the time of the next packet but for pace_owed bytes, which have left since and are turned into time when
 * it matters: a division for many packets, not for each. */
enum {
    PACE_BURST_US = 1000,        /* a timer that comes late makes up for this much */
    PACE_OWED_US = 255,          /* what is owed takes so long at most */
    PACE_OWED_SHIFT = 8,         /* a rate is 16 bits more than bytes in a microsecond: half of them are kept */
    PACE_FIRST_SEGMENTS = 10     /* the initial window may leave at once */
};

static int pace_is_on(const struct tenon_tcp *conn)
{
    return conn->cc.pacing - 1 < 0xFFFFFFFEUL;    /* neither 0 nor all ones */
}

/* Twice the window per round trip while it doubles, so that pacing is not what holds it back; a fifth more than the
 * window in congestion avoidance. */
TENON_INTERNAL void tn_pace_update(struct tenon_tcp *conn)
{
    struct tenon_cc *cc = &conn->cc;
    tenon_u32 srtt = conn->srtt8 >> 3, window;

    if (!TENON_WITH_RECOVERY || (cc->ops->flags & TENON_CC_PACES))
        return;
    cc->pacing = 0;
    if (conn->flight != NULL)
        tn_pace_forget(conn->flight);
    if (!tn_tcp_opt(conn, TENON_TCP_PACING) || srtt == 0)
        return;
    /* SRTT remembers a full queue long after it has drained; the last packet's round trip does not. */
    if (conn->flight != NULL && conn->flight->rack_valid)
        srtt = tn_max(1, tn_min(srtt, conn->flight->rack_rtt_us));
    /* A clock that has jumped, or a path that stood still: at least a window for each RTO may leave. */
    if (conn->flight != NULL)
        srtt = tn_max(1, tn_min(srtt, conn->flight->rto_us));
    window = tn_max(cc->cwnd, tn_tcp_in_flight(conn));
    window += cc->cwnd < cc->ssthresh / 2 ? window : window / 5;
    cc->pacing = tn_cc_rate(window, srtt);
}

static void pace_settle(struct tenon_tcp *conn)
{
    if (conn->flight->pace_owed > 0 && conn->cc.pacing != 0)
        conn->flight->pace_us +=
            tn_min(tn_cc_share(&conn->flight->pace_carry, 65536UL, conn->flight->pace_owed, conn->cc.pacing),
                   0x3FFFFFFFUL);
    conn->flight->pace_owed = 0;
    tn_pace_forget(conn->flight);
}

/* Whether what is owed fits into the time by which pace_us lies behind. */
static int pace_is_far(const struct tenon_tcp *conn)
{
    const tenon_u32 behind = conn->stack->now_us - conn->flight->pace_us;

    if (tn_seq_lt(conn->stack->now_us, conn->flight->pace_us))
        return 0;
    return conn->flight->pace_owed <= ((conn->cc.pacing >> PACE_OWED_SHIFT) * tn_min(behind, PACE_OWED_US)) >>
           PACE_OWED_SHIFT;
}

TENON_INTERNAL int tn_pace_allows(struct tenon_tcp *conn)
{
    const tenon_u32 now = conn->stack->now_us;

    if (!TENON_WITH_RECOVERY)
        return 1;
    if (!(conn->flags & TN_TCP_F_PACING) || pace_is_far(conn))
        return 1;
    if (conn->stack->now_ms - conn->flight->last_snd_ms > TN_US_MEAN_MS)
        return 1;    /* after so much silence pace_us may seem to lie ahead */
    pace_settle(conn);
    if (tn_seq_le(conn->flight->pace_us, now))
        return 1;
    if (conn->mtu_acked == 0 && conn->flight->total_delivered == 0 &&
        conn->snd_nxt - conn->snd_una < (tenon_u32)PACE_FIRST_SEGMENTS * conn->mss)
        return 1;
    /* Pacing follows the window: who waits for it uses all of the window. */
    conn->flags |= TN_TCP_F_CWND_LIMITED;
    tn_tcp_arm_pace(conn, conn->flight->pace_us - now);
    return 0;
}

/* From now on, less the time by which a timer may have been late. */
static void pace_from(struct tenon_tcp *conn, tenon_u32 us)
{
    conn->flight->pace_us = us;
    conn->flight->pace_carry = 0;
    conn->flight->pace_owed = 0;
    tn_pace_forget(conn->flight);
}

/* So late that nobody makes up for all of it. */
static void pace_catch_up(struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;
    const tenon_u32 earliest = conn->stack->now_us - PACE_BURST_US;

    if (tn_seq_lt(flight->pace_us, flight->pace_owed > 0 ? earliest - PACE_OWED_US : earliest))
        pace_from(conn, earliest);
}

/* The first packet of all waits for nothing: tn_pace_sent() would begin with it, too. Where nothing is paced none
 * waits, and what they would owe is nobody's. @return 1: it may leave */
static int pace_begins(struct tenon_tcp *conn)
{
    if (TENON_SMALL)
        return 0;
    if (!pace_is_on(conn)) {
        conn->flight->pace_owed = 0;
        return 1;
    }
    conn->flags |= TN_TCP_F_PACING;
    pace_from(conn, conn->stack->now_us);
    return 1;
}

/* pace_is_far() and pace_catch_up(), with one look at the clock. What may be owed grows with the time by which pace_us
 * lies behind: until that moves, or the rate changes, it need not be reckoned again. */
TENON_APART int pace_lags(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now = conn->stack->now_us, behind = now - flight->pace_us, owed = flight->pace_owed;
    const tenon_u32 room = ((conn->cc.pacing >> PACE_OWED_SHIFT) * tn_min(behind, PACE_OWED_US)) >> PACE_OWED_SHIFT;

    if (!(conn->flags & TN_TCP_F_PACING))
        return pace_begins(conn);
    if (!pace_is_on(conn) || (behind & 0x80000000UL) || owed > room)
        return 0;
    if (!TENON_SMALL && !(conn->cc.ops->flags & TENON_CC_PACES))
        flight->pace_room = room;
    if (TENON_UNLIKELY(behind > PACE_BURST_US + PACE_OWED_US || (owed == 0 && behind > PACE_BURST_US)))
        pace_from(conn, now - PACE_BURST_US);
    return 1;
}

TENON_INTERNAL_HOT int tn_pace_lags(struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return 1;
    if (!TENON_SMALL && TENON_LIKELY(flight->pace_owed - 1 < flight->pace_room &&
                                     conn->stack->now_us - flight->pace_us <= PACE_BURST_US + PACE_OWED_US))
        return 1;
    return pace_lags(conn);
}

TENON_INTERNAL_HOT void tn_pace_owe(struct tenon_tcp *conn, tenon_u32 bytes)
{
    if (TENON_WITH_RECOVERY)
        conn->flight->pace_owed += bytes;
}

TENON_INTERNAL void tn_pace_sent(struct tenon_tcp *conn, tenon_u32 bytes)
{
    const tenon_u32 now = conn->stack->now_us;

    if (!TENON_WITH_RECOVERY)
        return;
    if (!pace_is_on(conn)) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_PACING;
        tn_pace_forget(conn->flight);
        return;
    }
    if (!(conn->flags & TN_TCP_F_PACING))
        pace_from(conn, now);
    else if (!pace_is_far(conn))
        pace_settle(conn);
    conn->flags |= TN_TCP_F_PACING;
    pace_catch_up(conn);
    if (tn_seq_gt(conn->flight->pace_us, now)) {
        conn->flight->pace_us = now;    /* what did not ask (timeouts, probes) leaves no debt but its own */
        tn_pace_forget(conn->flight);
    }
    conn->flight->pace_owed += bytes;
}

TENON_INTERNAL tenon_u32 tn_pace_quantum(const struct tenon_tcp *conn)
{
    if (!TENON_WITH_RECOVERY)
        return 0xFFFFFFFFUL;
    if (!pace_is_on(conn))
        return 0xFFFFFFFFUL;
    return tn_max(2UL * conn->mss, tn_cc_volume(conn->cc.pacing, PACE_BURST_US));
}
