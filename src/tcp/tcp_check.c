/* SPDX-License-Identifier: MIT */
/* All invariants of a connection in one place. */
#include "tcp/tcp_internal.h"

static const char *check_send_side(const struct tenon_tcp *conn)
{
    const tenon_u32 end = conn->snd_end + ((conn->flags & TN_TCP_F_FIN_QUEUED) ? 1 : 0);

    if (tn_seq_gt(conn->snd_una, conn->snd_nxt))
        return "snd_una is behind snd_nxt";
    if (tn_seq_gt(conn->snd_nxt, end))
        return "snd_nxt is behind everything that was queued";
    if (!TENON_WITH_FLIGHT)
        return conn->snd_nxt - conn->snd_una > conn->peer_mss + 1UL ? "more than a segment is in flight" : NULL;
    if (conn->flight == NULL)
        return conn->cc.cwnd == 0 ? "the congestion window is zero" : NULL;
    if (!tn_seq_between(conn->snd_una, conn->flight->lost_edge, conn->snd_nxt))
        return "the lost edge does not lie in the flight";
    if (conn->recovery == TN_RECOVERY_NONE && conn->flight->lost_edge != conn->snd_una)
        return "something is lost and nobody recovers it";
    if (conn->recovery != TN_RECOVERY_NONE && !tn_seq_between(conn->snd_una, conn->flight->rtx_nxt, conn->snd_nxt))
        return "what is sent again does not lie in the flight";
    if (conn->cc.cwnd == 0)
        return "the congestion window is zero";
    return NULL;
}

/* Whoever has anything to do has a block; but there may have been no memory for that of a FIN. */
static const char *check_without_block(const struct tenon_tcp *conn)
{
    if (conn->state <= TENON_TCP_SYN_RECEIVED)
        return "a handshake has no block";
    if (conn->recovery != TN_RECOVERY_NONE || (conn->flags & (TN_TCP_F_PACE_ARMED | TN_TCP_F_ORPHAN)))
        return "a connection that works has no block";
    if (conn->cc.words != NULL && tn_cc_ops(conn)->more_words == 0)
        return "a congestion control has words that are others'";
    return tn_seq_lt(conn->snd_una, conn->snd_end) ? "something is queued and there is no queue" : NULL;
}

/* What is outstanding or waits must have a timer, or nothing would ever move it. */
static const char *check_timers(const struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_SYN_RECEIVED && (conn->flags & TN_TCP_F_HELD))
        return NULL;
    if (conn->snd_una != conn->snd_nxt && !(conn->flags & (TN_TCP_F_RTX_ARMED | TN_TCP_F_READY)))
        return "data is in flight and no timer runs";
    if ((conn->flags & (TN_TCP_F_RTX_ARMED | TN_TCP_F_ACK_ARMED | TN_TCP_F_IDLE_ARMED)) &&
        !tn_timer_runs(&conn->timer))
        return "a deadline is set and the timer does not run";
    return NULL;
}

static const char *check_receive_side(const struct tenon_tcp *conn)
{
    if (tn_tcp_rcv_held(conn) > conn->rcv_unconsumed && !tn_tcp_opt(conn, TENON_TCP_ACK_BY_HAND))
        return "bytes are held back that nobody held";
    if ((conn->flags & TN_TCP_F_FIN_HELD) && !(conn->flags & TN_TCP_F_FIN_RCVD))
        return "a FIN is held that never came";
    return tn_ooo_check(conn);
}

TENON_API const char *tenon_tcp_check(const struct tenon_tcp *conn)
{
    const char *wrong;

    if (!TENON_CHECK_INVARIANTS || conn->state == TENON_TCP_CLOSED)
        return NULL;
    if (conn->state == TENON_TCP_LISTEN || conn->state > TENON_TCP_TIME_WAIT)
        return "the state is impossible";
    wrong = conn->flight == NULL ? check_without_block(conn) : tn_sendq_check(conn);
    if (wrong == NULL)
        wrong = check_timers(conn);
    if (wrong == NULL)
        wrong = tn_why_check(conn);
    if (wrong != NULL || conn->state <= TENON_TCP_SYN_RECEIVED)
        return wrong;
    wrong = check_send_side(conn);
    if (wrong == NULL)
        wrong = tn_sack_check(conn);
    if (wrong == NULL)
        wrong = tn_flight_check(conn);
    if (wrong == NULL)
        wrong = check_receive_side(conn);
    if (wrong == NULL)
        wrong = tn_fast_check(conn);
    return wrong;
}

static void check_one(struct tenon_tcp *conn, void *arg)
{
    (void)arg;
    (void)conn;    /* in a build without assertions */
    TENON_ASSERT(tenon_tcp_check(conn) == NULL);
}

TENON_INTERNAL void tn_tcp_check_all(struct tenon *stack)
{
    tenon_tcp_each(stack, check_one, NULL);
}
