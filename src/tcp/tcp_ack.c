/* SPDX-License-Identifier: MIT */
/* The fifth step of SEGMENT ARRIVES (RFC 9293 3.10.7.4): the acknowledgement, the window, SACK, RTT. */
#include "tcp/tcp_internal.h"

/* ---- RTT (RFC 6298 2, Jacobson's integer form) ---------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_rtt_sample(struct tenon_tcp *conn, tenon_u32 rtt_us)
{
    const struct tenon_conf *conf = &conn->stack->conf;
    tenon_u32 variance;

    rtt_us = tn_max(1, tn_min(rtt_us, 0x0FFFFFFFUL));
    conn->min_rtt_us = tn_min(conn->min_rtt_us, rtt_us);
    if (conn->srtt8 == 0) {
        conn->srtt8 = rtt_us << 3;
        conn->rttvar4 = rtt_us << 1;
    } else {
        const tenon_u32 srtt = conn->srtt8 >> 3;
        const tenon_u32 off = srtt > rtt_us ? srtt - rtt_us : rtt_us - srtt;

        conn->rttvar4 = conn->rttvar4 - (conn->rttvar4 >> 2) + off;
        conn->srtt8 = tn_max(8, conn->srtt8 - srtt + rtt_us);
    }
    /* G is a tick of the wheel; the floor is on the sum, as RFC 6298 2.4 has it. */
    variance = tn_max(1UL << TN_TICK_SHIFT, conn->rttvar4);
    conn->rto_us = tn_min(tn_max((conn->srtt8 >> 3) + variance, conf->tcp_rto_min_us), conf->tcp_rto_max_us);
}

/* The timed segment is acknowledged, or a timestamp tells (RFC 6298 3: Karn). @return the sample, or 0 */
static tenon_u32 ack_take_rtt(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    tenon_u32 rtt_us = 0;

    if ((conn->flags & TN_TCP_F_RTT_TIMING) && tn_seq_gt(seg->ack, conn->rtt_seq)) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
        rtt_us = tn_max(1, conn->stack->now_us - conn->rtt_start_us);
    } else if (conn->recovery != TN_RECOVERY_NONE && (conn->flags & TN_TCP_F_TIMESTAMPS) &&
               seg->options.has_timestamp && seg->options.ts_ecr != 0) {
        const tenon_u32 ms = tn_tcp_ts_now(conn) - seg->options.ts_ecr;

        if (ms <= conn->stack->conf.tcp_rto_max_us / 1000)    /* 7323-TS-7: a bound on nonsense */
            rtt_us = tn_max(1000, ms * 1000);
    }
    if (rtt_us != 0)
        tn_tcp_rtt_sample(conn, rtt_us);
    return rtt_us;
}

/* ---- window ------------------------------------------------------------------------------------------------ */

/* RFC 9293 3.10.7.4: only a segment that is newer than the one which set the window last may set it. One
 * that acknowledges more is newer, whatever its sequence number: a repaired hole comes with an old one. */
TENON_INTERNAL void tn_tcp_window_update(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 before = conn->snd_wnd;

    if (!tn_seq_lt(conn->snd_una, seg->ack) && !tn_seq_lt(conn->snd_wl1, seg->seq) &&
        !(conn->snd_wl1 == seg->seq && tn_seq_le(conn->snd_wl2, seg->ack)))
        return;
    conn->snd_wnd = seg->wnd << conn->snd_wscale;
    conn->snd_wl1 = seg->seq;
    conn->snd_wl2 = seg->ack;
    conn->snd_wnd_max = tn_max(conn->snd_wnd_max, conn->snd_wnd);
    if (conn->snd_wnd == before)
        return;
    if (conn->snd_wnd > before && (conn->flags & TN_TCP_F_PERSIST)) {
        conn->backoff = 0;
        tn_tcp_disarm_rtx(conn);
    }
    tn_tcp_make_ready(conn);
}

/* ---- SACK ---------------------------------------------------------------------------------------------------- */

/* @return bytes newly SACKed */
static tenon_u32 ack_take_sack(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    tenon_u32 fresh = 0;
    unsigned i;

    if (!(conn->flags & TN_TCP_F_SACK))
        return 0;
    for (i = 0; i < seg->options.nsacks; i++) {
        const tenon_u32 left = seg->options.sack_left[i];
        const tenon_u32 right = seg->options.sack_right[i];

        if (tn_seq_le(right, seg->ack))
            continue;    /* D-SACK (RFC 2883): a duplicate, nothing that is missing */
        /* SACK-8: only what lies between what was acknowledged and what was sent can be meant. */
        if (!tn_seq_lt(left, right) || tn_seq_lt(left, seg->ack) || tn_seq_gt(right, conn->snd_nxt)) {
            tn_count(conn->stack, TENON_STAT_TCP_SACK_BAD);
            continue;
        }
        fresh += tn_sack_add(conn, left, right);
        tn_tcp_trace(conn, TENON_TRACE_SACKED, seg, i);
    }
    return fresh;
}

/* ---- the acknowledgement -------------------------------------------------------------------------------------- */

/* RFC 5681 2, with the exception for SACK: then new SACK information is what counts. */
static int ack_is_duplicate(const struct tenon_tcp *conn, const struct tn_seg *seg, tenon_u32 wnd_before,
                            tenon_u32 newly_sacked)
{
    if (seg->ack != conn->snd_una || conn->snd_una == conn->snd_nxt || seg->len != 0)
        return 0;
    if (conn->flags & TN_TCP_F_SACK)
        return newly_sacked > 0;
    return conn->snd_wnd == wnd_before;
}

static void ack_advance(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tenon *stack = conn->stack;
    const tenon_u32 data_end = tn_seq_min(seg->ack, conn->snd_end);

    if (tn_seq_gt(seg->ack, conn->snd_nxt))
        conn->snd_nxt = seg->ack;    /* the octet of a window probe was taken after all */
    conn->flags &= ~(tenon_u32)(TN_TCP_F_PROBED | TN_TCP_F_R1_TOLD);
    conn->snd_una = seg->ack;
    conn->progress_ms = stack->now_ms;
    tn_sendq_pop(conn, data_end);
    if ((conn->flags & TN_TCP_F_URGENT_SND) && tn_seq_ge(conn->snd_una, conn->snd_up))
        conn->flags &= ~(tenon_u32)TN_TCP_F_URGENT_SND;
    tn_path_confirm(stack, conn->path);
    /* RFC 6298 5.2, 5.3 */
    if (conn->snd_una == conn->snd_nxt)
        tn_tcp_disarm_rtx(conn);
    else
        tn_tcp_arm_rtx(conn);
    tn_tcp_make_ready(conn);
}

/* New data is acknowledged: sequence numbers first, then what follows from them, then the application. */
static int ack_new(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const tenon_u32 acked = seg->ack - conn->snd_una;
    const tenon_u32 flight_before = conn->snd_nxt - conn->snd_una;
    const int fin_was_acked = tn_tcp_fin_acked(conn);
    tenon_u32 rtt_us, data;

    rtt_us = ack_take_rtt(conn, seg);
    if (rtt_us != 0)
        conn->backoff = 0;    /* RFC 8961 4: not before there is a sample that cannot be mistaken */
    ack_advance(conn, seg);
    tn_tcp_recovery_on_ack(conn, acked, flight_before, 0, rtt_us);
    tn_tcp_trace(conn, TENON_TRACE_ACKED, seg, rtt_us);
    data = acked - (tenon_u32)(!fin_was_acked && tn_tcp_fin_acked(conn));
    if (data > 0 && conn->events->acked != NULL)
        conn->events->acked(conn, conn->app, data);
    return conn->state != TENON_TCP_CLOSED;
}

/* Our FIN is acknowledged: RFC 9293 3.10.7.4, the state's own words. @return 0: the connection is gone */
static int ack_of_fin(struct tenon_tcp *conn)
{
    switch (conn->state) {
    case TENON_TCP_FIN_WAIT_1:
        tn_tcp_set_state(conn, TENON_TCP_FIN_WAIT_2);
        if (conn->flags & TN_TCP_F_NO_READER)
            tn_tcp_arm_idle_ms(conn, 60000UL);
        return 1;
    case TENON_TCP_CLOSING:
        if (tn_tcp_holds(conn))
            return 1;    /* the application's acknowledgement goes on from here */
        tn_tcp_enter_time_wait(conn);
        return 0;
    case TENON_TCP_LAST_ACK:
        if (tn_tcp_holds(conn))
            return 1;    /* as CLOSING: the peer does not know yet that its FIN has come */
        tn_tcp_end(conn, TENON_OK, 0);
        return 0;
    default: return 1;
    }
}

/* RFC 5961 5.2: from one largest window before snd_una up to what was sent, and a probe's octet. */
static int ack_is_acceptable(const struct tenon_tcp *conn, tenon_u32 ack)
{
    const tenon_u32 newest = conn->snd_nxt + ((conn->flags & TN_TCP_F_PROBED) ? 1 : 0);

    return tn_seq_between(conn->snd_una - conn->snd_wnd_max, ack, newest);
}

TENON_INTERNAL int tn_tcp_ack_input(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const tenon_u32 wnd_before = conn->snd_wnd;
    tenon_u32 newly_sacked;

    if (!ack_is_acceptable(conn, seg->ack)) {
        tn_count(conn->stack, TENON_STAT_TCP_BAD_ACK);
        tn_tcp_challenge_ack(conn);
        return 0;
    }
    if (tn_seq_ge(seg->ack, conn->snd_una))
        tn_tcp_window_update(conn, seg);
    newly_sacked = tn_seq_ge(seg->ack, conn->snd_una) ? ack_take_sack(conn, seg) : 0;
    if (newly_sacked > 0)
        tn_tcp_make_ready(conn);
    if (tn_seq_gt(seg->ack, conn->snd_una)) {
        if (!ack_new(conn, seg))
            return 0;
        return tn_tcp_fin_acked(conn) ? ack_of_fin(conn) : 1;
    }
    if (ack_is_duplicate(conn, seg, wnd_before, newly_sacked)) {
        tn_tcp_recovery_on_ack(conn, 0, conn->snd_nxt - conn->snd_una, 1, 0);
        tn_tcp_make_ready(conn);
    }
    return 1;
}
