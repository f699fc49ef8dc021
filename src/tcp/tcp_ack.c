/* SPDX-License-Identifier: MIT */
/* The fifth step of SEGMENT ARRIVES (RFC 9293 3.10.7.4): the acknowledgement, the window, SACK, RTT. */
#include "tcp/tcp_internal.h"

/* ---- RTT (RFC 6298 2, Jacobson's integer form) ---------------------------------------------------------- */

/* The shortest round trip that was seen, forgotten after five minutes: paths change (RFC 8985 6.2 step 1). */
TENON_INTERNAL void tn_tcp_take_min_rtt(struct tenon_tcp *conn, tenon_u32 rtt_us)
{
    if (rtt_us > conn->min_rtt_us && conn->stack->now_ms - conn->flight->min_rtt_ms < 300000UL)
        return;
    conn->min_rtt_us = rtt_us;
    conn->flight->min_rtt_ms = conn->stack->now_ms;
}

/* The floor of RFC 6298 2.4 is on the sum; half of it, and a quarter of SRTT, on the variance keep a path whose RTT
 * never changed from a timeout when its queue begins to grow. That half is more than G, a tick of the wheel. Most hosts
 * are so near that the floor is all. There has been a sample. */
static tenon_u32 ack_rto_us(const struct tenon_tcp *conn)
{
    const struct tenon_conf *conf = &conn->stack->conf;
    const tenon_u32 least = conf->tcp_rto_min_us, srtt = conn->srtt8 >> 3, variance = conn->rttvar4;

    if (srtt <= least / 2 && srtt + variance <= least)
        return least;
    return tn_min(srtt + tn_max(tn_max(least / 2, variance), srtt / 4), conf->tcp_rto_max_us);
}

TENON_INTERNAL tenon_u32 tn_tcp_rto_us(const struct tenon_tcp *conn)
{
    if (tn_tcp_has_block(conn))
        return conn->flight->rto_us;
    return conn->srtt8 == 0 ? conn->stack->conf.tcp_rto_initial_us : ack_rto_us(conn);
}

TENON_INTERNAL_HOT void tn_tcp_rtt_sample(struct tenon_tcp *conn, tenon_u32 rtt_us)
{
    const tenon_u32 most = 0x0FFFFFFFUL;

    if (TENON_UNLIKELY(rtt_us - 1 >= most))
        rtt_us = rtt_us == 0 ? 1 : most;
    if (TENON_WITH_RECOVERY && conn->min_rtt_us == 0xFFFFFFFFUL)
        tn_tcp_take_min_rtt(conn, rtt_us);
    if (conn->srtt8 == 0) {
        conn->srtt8 = rtt_us << 3;
        conn->rttvar4 = rtt_us << 1;
    } else {
        const tenon_u32 srtt = conn->srtt8 >> 3;
        const tenon_u32 off = srtt > rtt_us ? srtt - rtt_us : rtt_us - srtt;

        conn->rttvar4 = conn->rttvar4 - (conn->rttvar4 >> 2) + off;
        conn->srtt8 = conn->srtt8 - srtt + rtt_us;    /* from 8 on an eighth less and 1 more is 8 at least */
    }
    conn->flight->rto_us = ack_rto_us(conn);
}

/* RTT by timestamp, in its milliseconds; 0: none (7323-TS-7: a bound on nonsense). */
static tenon_u32 ack_timestamp_rtt(const struct tenon_tcp *conn, const struct tn_seg *seg)
{
    tenon_u32 ms;

    if (!tn_tcp_has_timestamps(conn) || !seg->options.has_timestamp || seg->options.ts_ecr == 0)
        return 0;
    ms = tn_tcp_ts_now(conn) - seg->options.ts_ecr;
    return ms <= conn->stack->conf.tcp_rto_max_us / 1000 ? tn_max(1000, ms * 1000) : 0;
}

/* RTT of the segment that is being timed, if that is acknowledged; 0: it is not, or there is none. */
static tenon_u32 ack_timed_rtt(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    if (!(conn->flags & TN_TCP_F_RTT_TIMING) || !tn_seq_gt(seg->ack, conn->flight->rtt_seq))
        return 0;
    conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
    return tn_max(1, conn->stack->now_us - conn->flight->rtt_start_us);
}

/* RTT of what was sent once only and has just arrived, or, of what is acknowledged, by timestamp (RFC 6298 3:
 * Karn); 0: of neither. What arrived together with a repetition may have arrived long before it, and its ACK
 * been lost. */
static tenon_u32 ack_untimed_rtt(const struct tenon_tcp *conn, const struct tn_ack *ack)
{
    if (TENON_WITH_RECOVERY && tn_tcp_hears_sack(conn) && ack->has_original && !ack->newest_again)
        return tn_max(1, conn->stack->now_us - ack->original_us);
    return ack->acked > 0 ? ack_timestamp_rtt(conn, ack->seg) : 0;
}

/* One sample per round trip: of the segment that is being timed. While something is missing that is none, or its ACK
 * waits for what is sent again: then it is of what arrives. */
static void ack_take_rtt(struct tenon_tcp *conn, struct tn_ack *ack)
{
    tenon_u32 rtt_us;

    if (TENON_WITH_RECOVERY && ack->has_newest && !ack->newest_again) {
        ack->fresh_rtt_us = tn_max(1, conn->stack->now_us - ack->newest.sent_us);
        tn_tcp_take_min_rtt(conn, ack->fresh_rtt_us);
        conn->flight->tlp_sampled = 1;
    }
    rtt_us = ack_timed_rtt(conn, ack->seg);
    if (rtt_us == 0 && (conn->recovery != TN_RECOVERY_NONE || ack->acked == 0))
        rtt_us = ack_untimed_rtt(conn, ack);
    if (rtt_us != 0)
        tn_tcp_rtt_sample(conn, rtt_us);
    if (ack->acked > 0 && (rtt_us != 0 || (TENON_WITH_RECOVERY && ack->fresh_rtt_us != 0)))
        conn->backoff = 0;    /* RFC 8961 4: not before there is a sample that cannot be mistaken */
    ack->rtt_us = rtt_us;
}

/* ---- window ------------------------------------------------------------------------------------------------ */

/* RFC 9293 3.10.7.4: only a segment that is newer than the one which set the window last may set it. One
 * that acknowledges more is newer, whatever its sequence number: a repaired hole comes with an old one. SND.WL2 is
 * not kept: nobody comes here who acknowledges less than snd_una, and no window was ever set by more than that. */
TENON_INTERNAL void tn_tcp_window_update(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 before = conn->snd_wnd;

    if (!tn_seq_lt(conn->snd_una, seg->ack) && !tn_seq_le(conn->snd_wl1, seg->seq))
        return;
    conn->snd_wnd = seg->wnd << tn_tcp_snd_wscale(conn);
    conn->snd_wl1 = seg->seq;
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

/* RFC 2883 4: the first block names something that has arrived twice: below the acknowledgement, or within the
 * second block. @return 1: it does */
static int ack_take_dsack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const struct tn_tcp_options *options = &ack->seg->options;
    const tenon_u32 left = options->sack_left[0], right = options->sack_right[0];
    const int below = tn_seq_le(right, ack->seg->ack);
    const int within = options->nsacks > 1 && tn_seq_ge(left, options->sack_left[1]) &&
                       tn_seq_le(right, options->sack_right[1]);

    if (!below && !within)
        return 0;
    if (!tn_seq_lt(left, right) || right - left > conn->snd_wnd_max ||
        !tn_seq_between(conn->snd_una - conn->snd_wnd_max, left, conn->snd_nxt)) {
        tn_count(conn->stack, TENON_STAT_TCP_SACK_BAD);
        return 1;
    }
    ack->has_dsack = 1;
    ack->dsack_left = left;
    ack->dsack_right = right;
    tn_trace_stretch(conn, TENON_TRACE_DSACK, left, right - left, 0);
    tn_count(conn->stack, TENON_STAT_TCP_DSACK);
    return 1;
}

static void ack_take_sack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const struct tn_seg *seg = ack->seg;
    unsigned i;

    if (!tn_tcp_hears_sack(conn) || seg->options.nsacks == 0)
        return;
    i = TENON_WITH_RECOVERY && ack_take_dsack(conn, ack) ? 1 : 0;
    if (ack->flight == 0)
        return;
    for (; i < seg->options.nsacks; i++) {
        const tenon_u32 left = seg->options.sack_left[i];
        const tenon_u32 right = seg->options.sack_right[i];

        if (tn_seq_le(right, seg->ack))
            continue;    /* overtaken by a newer ACK */
        /* SACK-8: only what lies between what was acknowledged and what was sent can be meant. */
        if (!tn_seq_lt(left, right) || tn_seq_lt(left, seg->ack) || tn_seq_gt(right, conn->snd_nxt)) {
            tn_count(conn->stack, TENON_STAT_TCP_SACK_BAD);
            continue;
        }
        tn_sack_add(conn, ack, left, right);
        tn_tcp_trace(conn, TENON_TRACE_SACKED, seg, i);
    }
}

/* ---- the acknowledgement -------------------------------------------------------------------------------------- */

/* RFC 5681 2, with the exception for SACK: then new SACK information is what counts, whatever else comes with it (RFC
 * 6675 2). */
TENON_ONCE_IF_SMALL static int ack_is_duplicate(const struct tenon_tcp *conn, const struct tn_ack *ack,
                                                tenon_u32 wnd_before)
{
    const struct tn_seg *seg = ack->seg;

    if (seg->ack != conn->snd_una || conn->snd_una == conn->snd_nxt)
        return 0;
    if (tn_tcp_hears_sack(conn))
        return ack->sacked > 0;
    return seg->len == 0 && conn->snd_wnd == wnd_before;
}

/* What was acknowledged and not SACKed before has arrived just now, as far as we know. */
static void ack_deliver(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const tenon_u32 to = tn_seq_min(ack->seg->ack, conn->snd_nxt);
    tenon_u32 from = conn->snd_una, end;

    while (tn_seq_lt(from, to)) {
        from = tn_sack_gap(conn, from, &end);
        if (tn_seq_ge(from, to))
            break;
        tn_flight_delivered(conn, ack, from, tn_seq_min(end, to));
        from = end;
    }
}

static void ack_advance(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 data_end = tn_seq_min(seg->ack, conn->snd_end);

    if (tn_seq_gt(seg->ack, conn->snd_nxt))
        conn->snd_nxt = seg->ack;    /* the octet of a window probe was taken after all */
    conn->flags &= ~(tenon_u32)(TN_TCP_F_PROBED | TN_TCP_F_R1_TOLD);
    /* Marks of long ago must not seem to lie ahead one day. */
    if (TENON_WITH_FLIGHT)
        flight->recover = tn_seq_max(flight->recover, conn->snd_una);
    if (TENON_WITH_RECOVERY)
        flight->ecn_recover = tn_seq_max(flight->ecn_recover, conn->snd_una);
    conn->snd_una = seg->ack;
    conn->progress_ms = conn->stack->now_ms;
    tn_sendq_pop(conn, data_end);
    tn_sack_advance(conn);
    if (TENON_WITH_FLIGHT) {
        flight->lost_edge = tn_seq_max(flight->lost_edge, conn->snd_una);
        flight->rtx_nxt = tn_seq_max(flight->rtx_nxt, conn->snd_una);
    }
    tn_flight_advance(conn);
    if (tn_tcp_is_urgent(conn) && tn_seq_ge(conn->snd_una, flight->snd_up))
        conn->flags &= ~(tenon_u32)TN_TCP_F_URGENT_SND;
    tn_path_confirm(conn->stack, conn->path);
}

/* Everything that follows from an acknowledgement: sequence numbers first, then loss and congestion, then timers.
 * RFC 6298 5.2, 5.3: new data acknowledged restarts the timer, all of it stops it. */
static void ack_process(struct tenon_tcp *conn, struct tn_ack *ack)
{
    if (ack->acked > 0)
        ack_advance(conn, ack->seg);
    ack_take_rtt(conn, ack);
    if (TENON_WITH_RECOVERY && tn_tcp_has_block(conn))
        conn->flight->total_delivered += ack->delivered;
    if (ack->acked > 0 && conn->snd_una == conn->snd_nxt)
        tn_tcp_disarm_rtx(conn);
    else if (ack->acked > 0)
        tn_tcp_arm_rtx(conn);
    else if (ack->rtt_us != 0)
        tn_tcp_stretch_rto(conn);
    if (tn_tcp_has_block(conn))
        tn_tcp_recovery_on_ack(conn, ack);
    if (ack->acked > 0)
        tn_trace_stretch(conn, TENON_TRACE_ACKED, ack->una, ack->acked, ack->rtt_us);
    if (conn->snd_una == conn->snd_nxt)
        tn_flight_settle(conn);
    else
        tn_tcp_choose_timer(conn);
    tn_tcp_make_ready(conn);    /* if only for what an episode that a D-SACK ends has kept waiting */
}

/* Without TENON_WITH_FLIGHT the segment that is in flight is acknowledged, or a part of it: as ack_process(), but that
 * there is no window of congestion, and no loss but those that the timer finds. */
static void ack_alone(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 una = conn->snd_una;
    tenon_u32 rtt_us;

    if (seg->ack == una)
        return;
    ack_advance(conn, seg);
    tn_tcp_make_ready(conn);
    rtt_us = ack_timed_rtt(conn, seg);
    if (rtt_us == 0 && conn->recovery != TN_RECOVERY_NONE)
        rtt_us = ack_timestamp_rtt(conn, seg);
    if (rtt_us != 0) {
        tn_tcp_rtt_sample(conn, rtt_us);
        conn->backoff = 0;
    }
    tn_trace_stretch(conn, TENON_TRACE_ACKED, una, seg->ack - una, rtt_us);
    if (conn->snd_una == conn->snd_nxt) {
        conn->recovery = TN_RECOVERY_NONE;
        conn->flags &= ~(tenon_u32)TN_TCP_F_FORCE_RTX;
        tn_tcp_disarm_rtx(conn);
        return;
    }
    if (conn->recovery != TN_RECOVERY_NONE)
        conn->flags |= TN_TCP_F_FORCE_RTX;    /* the rest */
    tn_tcp_arm_rtx(conn);
}

/* Our FIN is acknowledged: RFC 9293 3.10.7.4, the state's own words. @return 0: the connection is gone */
static int ack_of_fin(struct tenon_tcp *conn)
{
    switch (conn->state) {
    case TENON_TCP_FIN_WAIT_1:
        tn_tcp_set_state(conn, TENON_TCP_FIN_WAIT_2);
        tn_tcp_arm_fin_wait(conn);
        return 1;
    case TENON_TCP_CLOSING:
        if (tn_tcp_holds(conn)) {
            tn_tcp_arm_fin_wait(conn);
            return 1;    /* the application's acknowledgement goes on from here */
        }
        tn_tcp_enter_time_wait(conn);
        return 0;
    case TENON_TCP_LAST_ACK:
        if (tn_tcp_holds(conn)) {
            tn_tcp_arm_fin_wait(conn);
            return 1;    /* as CLOSING: the peer does not know yet that its FIN has come */
        }
        tn_tcp_end(conn, TENON_OK);
        return 0;
    default: return 1;
    }
}

/* A FIN that was acknowledged before is nothing that can be so again. */
TENON_INTERNAL int tn_tcp_ack_over(struct tenon_tcp *conn, tenon_u32 acked)
{
    const int fin_acked = tn_tcp_fin_acked(conn);
    const tenon_u32 data = acked - (tenon_u32)fin_acked;

    if (data > 0 && conn->events->acked != NULL)
        conn->events->acked(conn, conn->app, data);
    if (conn->state == TENON_TCP_CLOSED)
        return 0;
    return fin_acked ? ack_of_fin(conn) : 1;
}

/* RFC 5961 5.2: from one largest window before snd_una up to what was sent, and a probe's octet. */
static int ack_is_acceptable(const struct tenon_tcp *conn, tenon_u32 ack)
{
    const tenon_u32 newest = conn->snd_nxt + ((conn->flags & TN_TCP_F_PROBED) ? 1 : 0);

    return tn_seq_between(conn->snd_una - conn->snd_wnd_max, ack, newest);
}

/* Of what it does not acknowledge. */
static int ack_brings_news(const struct tenon_tcp *conn, const struct tn_ack *ack)
{
    if (!TENON_WITH_RECOVERY)
        return TENON_WITH_SACK && TENON_WITH_SCOREBOARD && ack->sacked > 0;
    return ack->delivered > 0 || ack->has_dsack || tn_tlp_is_out(conn->flight);
}

/* It says something of what is in flight, of its window, or of losses. */
TENON_ONCE_IF_SMALL static void ack_look(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 wnd_before)
{
    if (TENON_WITH_RECOVERY)
        ack->fack = tn_sack_highest(conn);
    if (ack->flight > 0)
        tn_undo_look(conn, ack);
    ack_take_sack(conn, ack);
    if ((TENON_WITH_RECOVERY || TENON_WITH_PATH_MTU) && ack->flight > 0)
        ack_deliver(conn, ack);
    ack->is_dup = (tenon_u8)ack_is_duplicate(conn, ack, wnd_before);
    tn_ecn_look(conn, ack);
    if (ack->acked > 0 || ack->is_dup || ack_brings_news(conn, ack))
        ack_process(conn, ack);
    tn_ecn_acked(conn, ack);
}

TENON_INTERNAL int tn_tcp_ack_input(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const tenon_u32 wnd_before = conn->snd_wnd, una = conn->snd_una;
    struct tn_ack ack;

    if (!ack_is_acceptable(conn, seg->ack)) {
        tn_count(conn->stack, TENON_STAT_TCP_BAD_ACK);
        tn_tcp_challenge_ack(conn);
        return 0;
    }
    tn_tcp_heard(conn, seg);
    if (tn_seq_lt(seg->ack, una))
        return 1;
    tn_tcp_window_update(conn, seg);
    if (!TENON_WITH_FLIGHT) {
        ack_alone(conn, seg);
        if (conn->snd_una == conn->snd_nxt)
            tn_flight_settle(conn);
    } else if (tn_fast_ack(conn, seg)) {
        if (conn->snd_una == conn->snd_nxt)
            tn_flight_settle(conn);
        if (seg->ack != una)
            tn_tcp_make_ready(conn);
    } else {
        if (TENON_WITH_RECOVERY || TENON_WITH_SCOREBOARD)
            memset(&ack, 0, sizeof(ack));    /* else nobody asks for more than this */
        ack.lost = 0;
        ack.seg = seg;
        ack.una = una;
        ack.flight = conn->snd_nxt - una;
        ack.acked = seg->ack - una;
        ack_look(conn, &ack, wnd_before);
    }
    return seg->ack == una || tn_tcp_ack_over(conn, seg->ack - una);
}
