/* SPDX-License-Identifier: MIT */
/* Explicit congestion notification: RFC 3168, and its exact form for DCTCP (RFC 8257 3). */
#include "tcp/tcp_internal.h"

/* TENON_TCP_ECN */
enum ecn_wish { ECN_OFF, ECN_ASK, ECN_ACCEPT };

/* ---- the handshake (RFC 3168 6.1.1) -------------------------------------------------------------------- */

/* A SYN that is repeated does not ask any more: somebody on the way may have thrown it away for that (6.1.1.1). */
TENON_INTERNAL unsigned tn_ecn_syn_flags(struct tenon_tcp *conn, unsigned flags)
{
    if (!TENON_WITH_RECOVERY)
        return 0;
    if (flags & TN_TCP_ACK)
        return (conn->ecn & TN_ECN_ON) ? (unsigned)TN_TCP_ECE : 0U;
    if (tn_tcp_opt(conn, TENON_TCP_ECN) != ECN_ASK || conn->backoff > 0) {
        conn->ecn |= TN_ECN_MUTE;
        return 0;
    }
    conn->ecn = TN_ECN_ASKED;
    return TN_TCP_ECE | TN_TCP_CWR;
}

TENON_INTERNAL int tn_ecn_accepts(const struct tn_tcp_opts *opts, unsigned flags)
{
    const unsigned both = TN_TCP_ECE | TN_TCP_CWR;

    if (!TENON_WITH_RECOVERY)
        return 0;
    return (flags & both) == both && opts->values[TENON_TCP_ECN] != ECN_OFF;
}

TENON_INTERNAL void tn_ecn_take_syn(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const unsigned both = TN_TCP_ECE | TN_TCP_CWR;

    if (!TENON_WITH_RECOVERY)
        return;
    if (seg->flags & TN_TCP_ACK) {
        if ((conn->ecn & TN_ECN_ASKED) && (seg->flags & both) == TN_TCP_ECE)
            conn->ecn |= TN_ECN_ON;
    } else if (tn_ecn_accepts(conn->opts, seg->flags)) {
        conn->ecn |= TN_ECN_ON;
    }
    conn->flight->ecn_recover = conn->flight->iss;
}

/* ---- the receiver (6.1.3; RFC 8257 3.2) ------------------------------------------------------------------- */

/* The echo of DCTCP says of every byte whether it met congestion: a change is told before it happens. */
static void ecn_received_exactly(struct tenon_tcp *conn, int ce)
{
    if (ce == ((conn->ecn & TN_ECN_ECHO) != 0))
        return;
    if (conn->flags & (TN_TCP_F_ACK_ARMED | TN_TCP_F_ACK_NOW))
        tn_tcp_send_ack(conn);
    conn->ecn ^= TN_ECN_ECHO;
    tn_tcp_ack_now(conn);
}

TENON_INTERNAL void tn_ecn_received(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const int ce = (seg->pkt->tos & 3) == TN_ECN_CE;

    if (!TENON_WITH_RECOVERY)
        return;
    if (!(conn->ecn & TN_ECN_ON) || seg->len == 0)
        return;
    if (ce)
        tn_count(conn->stack, TENON_STAT_TCP_CE_RCVD);
    if (tn_cc_ops(conn)->flags & TENON_CC_DCTCP) {
        ecn_received_exactly(conn, ce);
        return;
    }
    if (seg->flags & TN_TCP_CWR)
        conn->ecn &= (tenon_u8)~TN_ECN_ECHO;
    if (ce)
        conn->ecn |= TN_ECN_ECHO;
}

/* ---- the sender (6.1.2) -------------------------------------------------------------------------------------- */

static void ecn_reduce(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    const struct tenon_cc_ops *ops = tn_cc_ops(conn);
    const tenon_u32 before = conn->cc.cwnd;
    struct tenon_cc_event event;

    tn_undo_forget(conn);
    tn_tcp_cc_event(conn, &event);
    event.in_flight = ack->flight;
    event.acked = ack->acked;
    if (ops->ecn != NULL) {
        ops->ecn(&conn->cc, &event);
    } else {
        ops->lost(&conn->cc, &event);
        ops->recovered(&conn->cc, &event);
    }
    tn_count(conn->stack, TENON_STAT_TCP_ECE_REDUCED);
    tn_tcp_trace(conn, TENON_TRACE_ECN, NULL, before);
}

TENON_INTERNAL void tn_ecn_look(struct tenon_tcp *conn, struct tn_ack *ack)
{
    if (!TENON_WITH_RECOVERY)
        return;
    if (!(conn->ecn & TN_ECN_ON) || !(ack->seg->flags & TN_TCP_ECE) || (ack->seg->flags & TN_TCP_SYN))
        return;
    ack->has_ece = 1;
    ack->ce = ack->acked;
}

/* One reduction per window, whatever it is for: a loss that the same ACK tells of comes first. */
TENON_INTERNAL void tn_ecn_acked(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    if (!TENON_WITH_RECOVERY)
        return;
    if (!ack->has_ece)
        return;
    if (tn_cc_ops(conn)->flags & TENON_CC_DCTCP) {
        conn->ecn |= TN_ECN_CWR;
        return;
    }
    if (conn->flight == NULL)
        return;    /* nothing has left that could have met congestion */
    /* The smallest window cannot be halved: one segment per RTO then. */
    if (conn->cc.cwnd <= conn->mss) {
        conn->flags |= TN_TCP_F_PACING;
        conn->flight->pace_us = conn->stack->now_us + conn->flight->rto_us;
        conn->flight->pace_owed = 0;
        tn_pace_forget(conn->flight);
    }
    if (ack->flight == 0 || !tn_seq_gt(ack->seg->ack, conn->flight->ecn_recover))
        return;
    conn->flight->ecn_recover = conn->snd_nxt;
    conn->ecn |= TN_ECN_CWR;
    if (conn->recovery == TN_RECOVERY_NONE || conn->recovery == TN_RECOVERY_MTU)
        ecn_reduce(conn, ack);
}

TENON_INTERNAL unsigned tn_ecn_flags(const struct tenon_tcp *conn, unsigned flags)
{
    const unsigned on = TN_ECN_ON | TN_ECN_ECHO;

    if (!TENON_WITH_RECOVERY)
        return 0;
    return (conn->ecn & on) == on && !(flags & TN_TCP_RST) ? (unsigned)TN_TCP_ECE : 0U;
}
