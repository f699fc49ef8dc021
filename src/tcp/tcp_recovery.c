/* SPDX-License-Identifier: MIT */
/* What is lost, and what follows from it: NewReno (RFC 6582) without SACK, RFC 6675 with it, RFC 6298 for
 * timeouts. It moves three marks only: lost_edge (below it, what is not SACKed is lost), rtx_nxt (what has
 * been retransmitted of that) and recover (the end of the episode). tcp_output.c sends accordingly. */
#include "tcp/tcp_internal.h"

enum { RECOVERY_DUP_THRESH = 3 };

TENON_INTERNAL void tn_tcp_cc_event(const struct tenon_tcp *conn, struct tenon_cc_event *event)
{
    memset(event, 0, sizeof(*event));
    event->now_us = conn->stack->now_us;
    event->in_flight = conn->snd_nxt - conn->snd_una;
    event->srtt_us = conn->srtt8 >> 3;
    event->mss = conn->mss;
}

static void recovery_enter(struct tenon_tcp *conn, enum tn_recovery kind)
{
    conn->recovery = (tenon_u8)kind;
    conn->recover = conn->snd_nxt;
    conn->rtx_nxt = conn->snd_una;
    conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
    tn_tcp_trace(conn, TENON_TRACE_RECOVERY, NULL, 1);
}

static void recovery_leave(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;
    const enum tn_recovery kind = (enum tn_recovery)conn->recovery;

    conn->recovery = TN_RECOVERY_NONE;
    conn->rtx_nxt = conn->lost_edge = conn->snd_una;
    conn->reno_sacked = 0;
    conn->dupacks = 0;
    conn->flags &= ~(tenon_u32)TN_TCP_F_FORCE_RTX;
    if (kind == TN_RECOVERY_FAST) {
        tn_tcp_cc_event(conn, &event);
        conn->cc.ops->recovered(&conn->cc, &event);
    }
    tn_tcp_trace(conn, TENON_TRACE_RECOVERY, NULL, 0);
}

/* The head of the queue is lost at least. */
static tenon_u32 recovery_head_end(const struct tenon_tcp *conn)
{
    return conn->snd_una + tn_min(conn->mss, conn->snd_nxt - conn->snd_una);
}

static void recovery_find_lost(struct tenon_tcp *conn)
{
    if (conn->flags & TN_TCP_F_SACK)
        conn->lost_edge = tn_seq_max(conn->lost_edge, tn_sack_lost_edge(conn));
    if (conn->recovery == TN_RECOVERY_FAST)
        conn->lost_edge = tn_seq_max(conn->lost_edge, recovery_head_end(conn));
}

/* Third duplicate ACK, or SACKs that say as much (RFC 5681 3.2, RFC 6675 5). RFC 6582 3.2 step 1: not
 * before everything sent before the last episode is acknowledged. */
static void recovery_enter_fast(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;

    tn_tcp_cc_event(conn, &event);
    if (conn->dupacks > 0)
        event.in_flight = conn->first_dup_nxt - conn->snd_una;    /* RFC 5681 3.2, step 2 */
    recovery_enter(conn, TN_RECOVERY_FAST);
    recovery_find_lost(conn);
    conn->flags |= TN_TCP_F_FORCE_RTX;
    conn->cc.ops->lost(&conn->cc, &event);
    tn_count(conn->stack, TENON_STAT_TCP_FAST_RETRANSMIT);
}

static int recovery_is_due(const struct tenon_tcp *conn)
{
    if (tn_seq_lt(conn->snd_una, conn->recover))
        return 0;
    if (conn->dupacks >= RECOVERY_DUP_THRESH)
        return 1;
    return conn->sack != NULL && tn_seq_gt(tn_sack_lost_edge(conn), conn->snd_una);
}

static void recovery_on_dupack(struct tenon_tcp *conn)
{
    if (conn->dupacks == 0)
        conn->first_dup_nxt = conn->snd_nxt;
    if (conn->dupacks < 255)
        conn->dupacks++;
    /* Without SACK each duplicate ACK says that one segment has left the network: never more than there
     * are, so that forged ones gain nothing. */
    if (!(conn->flags & TN_TCP_F_SACK) && conn->recovery != TN_RECOVERY_RTO) {
        const tenon_u32 flight = conn->snd_nxt - conn->snd_una;
        const tenon_u32 most = flight > conn->mss ? flight - conn->mss : 0;

        conn->reno_sacked = tn_min(conn->reno_sacked + conn->mss, most);
    }
    if (conn->recovery == TN_RECOVERY_NONE && recovery_is_due(conn))
        recovery_enter_fast(conn);
    else if (conn->recovery != TN_RECOVERY_NONE)
        recovery_find_lost(conn);
}

/* RFC 6582 3.2: a partial ACK tells that the next segment is lost too. */
static void recovery_on_partial_ack(struct tenon_tcp *conn, tenon_u32 acked)
{
    conn->rtx_nxt = tn_seq_max(conn->rtx_nxt, conn->snd_una);
    if (conn->recovery == TN_RECOVERY_FAST && !(conn->flags & TN_TCP_F_SACK)) {
        const tenon_u32 left = acked > conn->mss ? acked - conn->mss : 0;

        conn->reno_sacked -= tn_min(conn->reno_sacked, left);
        conn->rtx_nxt = conn->snd_una;
        conn->flags |= TN_TCP_F_FORCE_RTX;
    }
    recovery_find_lost(conn);
}

static void recovery_cc_acked(struct tenon_tcp *conn, tenon_u32 acked, tenon_u32 flight_before, tenon_u32 rtt_us)
{
    struct tenon_cc_event event;

    tn_tcp_cc_event(conn, &event);
    event.acked = acked;
    event.in_flight = flight_before;
    event.rtt_us = rtt_us;
    /* RFC 7661: a window that is not used does not grow. In slow start half of it counts as used. */
    event.limited = !(conn->flags & TN_TCP_F_CWND_LIMITED);
    if (conn->cc.cwnd < conn->cc.ssthresh && 2 * flight_before >= conn->cc.cwnd)
        event.limited = 0;
    conn->flags &= ~(tenon_u32)TN_TCP_F_CWND_LIMITED;
    conn->cc.ops->acked(&conn->cc, &event);
}

TENON_INTERNAL void tn_tcp_recovery_on_ack(struct tenon_tcp *conn, tenon_u32 acked, tenon_u32 flight_before,
                                           int is_dup, tenon_u32 rtt_us)
{
    if (acked == 0) {
        if (is_dup)
            recovery_on_dupack(conn);
        return;
    }
    tn_sack_advance(conn);
    if (conn->recovery == TN_RECOVERY_NONE) {
        conn->dupacks = 0;
        conn->reno_sacked = 0;
        conn->rtx_nxt = conn->lost_edge = conn->snd_una;
        recovery_cc_acked(conn, acked, flight_before, rtt_us);
        if (conn->sack != NULL && recovery_is_due(conn))
            recovery_enter_fast(conn);
        return;
    }
    if (tn_seq_ge(conn->snd_una, conn->recover)) {
        if (conn->recovery == TN_RECOVERY_RTO)
            recovery_cc_acked(conn, acked, flight_before, rtt_us);
        recovery_leave(conn);
        return;
    }
    if (conn->recovery == TN_RECOVERY_RTO)
        recovery_cc_acked(conn, acked, flight_before, rtt_us);
    conn->lost_edge = tn_seq_max(conn->lost_edge, conn->snd_una);
    recovery_on_partial_ack(conn, acked);
}

/* RFC 6298 5.4, RFC 5681 3.1, RFC 2018 8: what was SACKed may have been thrown away since. */
TENON_INTERNAL void tn_tcp_recovery_on_rto(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;

    tn_tcp_cc_event(conn, &event);
    event.repeated = conn->recovery == TN_RECOVERY_RTO && conn->rto_una == conn->snd_una;
    conn->rto_una = conn->snd_una;
    tn_sack_clear(conn);
    conn->reno_sacked = 0;
    conn->dupacks = 0;
    recovery_enter(conn, TN_RECOVERY_RTO);
    conn->lost_edge = conn->snd_nxt;
    conn->flags |= TN_TCP_F_FORCE_RTX;
    conn->cc.ops->rto(&conn->cc, &event);
    conn->rtos++;
    tn_count(conn->stack, TENON_STAT_TCP_RTO);
}

/* RFC 1191 6.5: what was too large is sent again at once; no congestion happened. */
TENON_INTERNAL void tn_tcp_recovery_on_mtu(struct tenon_tcp *conn)
{
    if (conn->snd_una == conn->snd_nxt || conn->recovery != TN_RECOVERY_NONE)
        return;
    recovery_enter(conn, TN_RECOVERY_MTU);
    conn->lost_edge = conn->snd_nxt;
    conn->flags |= TN_TCP_F_FORCE_RTX;
}
