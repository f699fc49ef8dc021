/* SPDX-License-Identifier: MIT */
/* Reductions that were mistakes, and how they are taken back: by timestamps (Eifel, RFC 3522), by D-SACK (RFC 3708),
 * after timeouts by F-RTO (RFC 5682); the response is RFC 4015's, to the state before and never above it. */
#include "tcp/tcp_internal.h"

TENON_INTERNAL void tn_undo_save(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return;
    flight->undo = 1;
    flight->undo_una = flight->undo_end = conn->snd_una;
    flight->undo_dsack = conn->snd_una - 1;
    flight->undo_again = flight->again_bytes;    /* a probe may be on its way, and come back as D-SACK */
    flight->undo_cwnd = conn->cc.cwnd;
    flight->undo_ssthresh = conn->cc.ssthresh;
    memcpy(flight->undo_words, conn->cc.words, sizeof(flight->undo_words));
}

TENON_INTERNAL void tn_undo_sent_again(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return;
    flight->undo_again += end - from;
    flight->undo_end = tn_seq_max(flight->undo_end, end);
}

/* The reduction stays, whatever the next ACKs say. */
TENON_INTERNAL void tn_undo_forget(struct tenon_tcp *conn)
{
    if (!TENON_WITH_RECOVERY)
        return;
    conn->flight->undo = 0;
    conn->flight->frto = TN_FRTO_NONE;
}

/* What was sent again has not been lost after all. Marks of the same window, which it had answered, count again (RFC
 * 3168 6.1.2). */
static void undo_take_back(struct tenon_tcp *conn, enum tenon_trace_evidence evidence)
{
    struct tn_flight *flight = conn->flight;
    struct tenon_cc_event event;

    tn_undo_forget(conn);
    flight->ecn_recover = conn->snd_una;
    conn->cc.cwnd = tn_max(conn->cc.cwnd, flight->undo_cwnd);
    conn->cc.ssthresh = flight->undo_ssthresh;
    memcpy(conn->cc.words, flight->undo_words, sizeof(flight->undo_words));
    if (tn_cc_ops(conn)->undo != NULL) {
        tn_tcp_cc_event(conn, &event);
        tn_cc_ops(conn)->undo(&conn->cc, &event);
    }
    tn_count(conn->stack, TENON_STAT_TCP_UNDO);
    tn_tcp_trace(conn, TENON_TRACE_UNDO, NULL, (tenon_u32)evidence);
}

/* RFC 3522 3.2: the ACK of something that was sent again echoes a timestamp from before that: it answers the
 * original. The timestamp is that of what moved snd_una (RFC 7323 4.3), so that the head of the queue decides. What is
 * sent again outside of an episode is a probe of the tail, which says nothing of the last one. */
TENON_INTERNAL void tn_undo_look(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const struct tn_tcp_options *options = &ack->seg->options;
    tenon_u32 sent_us;

    if (!TENON_WITH_RECOVERY)
        return;
    if (conn->recovery == TN_RECOVERY_NONE)
        return;
    if (ack->acked == 0 || !conn->flight->undo || !(conn->flags & TN_TCP_F_TIMESTAMPS) || !options->has_timestamp ||
        options->ts_ecr == 0)
        return;
    if (tn_flight_again_sent_us(conn, conn->snd_una, &sent_us))
        ack->is_original = (tenon_u8)tn_seq_lt(options->ts_ecr, tn_tcp_ts_at(conn, sent_us));
}

/* RFC 3708: everything that was sent again since has arrived twice. */
static int undo_by_dsack(const struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 bytes = ack->dsack_right - ack->dsack_left;

    if (!ack->has_dsack || flight->undo_again == 0 || tn_seq_lt(ack->dsack_left, flight->undo_una) ||
        ack->dsack_left == flight->undo_dsack)
        return 0;
    if (tn_seq_ge(ack->dsack_left, flight->tlp_from) && tn_seq_le(ack->dsack_right, flight->tlp_end))
        return 0;    /* a probe's, which was sent to be answered */
    if (tn_seq_gt(ack->dsack_right, flight->undo_end))
        return 0;    /* it left once, whenever that was: the network has doubled it */
    flight->undo_dsack = ack->dsack_left;    /* told twice, it still is one */
    flight->undo_again -= tn_min(bytes, flight->undo_again);
    return flight->undo_again == 0;
}

/* RFC 5682 2.1 step 3a: a duplicate ACK, the timeout was right. Three segments let the next repetition leave. */
static void undo_frto_refuted(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;

    if (flight->frto == TN_FRTO_NEW && ack->acked == 0)
        conn->cc.cwnd = tn_max(conn->cc.cwnd, tn_min(3UL * conn->mss, conn->cc.ssthresh));
    flight->frto = TN_FRTO_NONE;
}

/* RFC 5682 3.1, with SACK: the repeated head has been acknowledged, and then something arrives that left
 * once, before the timeout. Without SACK (2.1): two ACKs in a row go forward although only the head was
 * repeated. */
static int undo_by_frto(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;
    const int sack = tn_tcp_hears_sack(conn);

    if (flight->frto == TN_FRTO_NONE || (ack->acked == 0 && ack->sacked == 0 && !ack->is_dup))
        return 0;
    if (sack && ack->old_original && tn_seq_gt(ack->una, flight->undo_una))
        return 1;
    if (!sack && flight->frto == TN_FRTO_NEW && ack->acked > 0)
        return 1;
    if (flight->frto == TN_FRTO_SENT && ack->acked > 0 && tn_seq_lt(conn->snd_una, conn->flight->recover) &&
        tn_tcp_may_send_new(conn)) {
        flight->frto = TN_FRTO_NEW;    /* step 2b: up to two new segments now, whatever Nagle says */
        conn->flags |= TN_TCP_F_SWS_OVERRIDE;
    } else if (ack->acked > 0 || ack->is_dup) {
        undo_frto_refuted(conn, ack);
    }
    return 0;
}

/* RFC 4015 3 step 6: there was congestion, as the ACK itself says. DCTCP reckons with marks all the time. */
static int undo_is_denied(const struct tenon_tcp *conn, const struct tn_ack *ack)
{
    return ack->has_ece && !(tn_cc_ops(conn)->flags & TENON_CC_DCTCP);
}

TENON_INTERNAL int tn_undo_check(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    enum tenon_trace_evidence evidence = TENON_TRACE_EVIDENCE_TIMESTAMP;

    if (!TENON_WITH_RECOVERY)
        return 0;
    if (!conn->flight->undo)
        return 0;
    if (undo_is_denied(conn, ack)) {
        tn_undo_forget(conn);
        return 0;
    }
    if (ack->is_original)
        tn_rack_widen(conn);
    else if (undo_by_dsack(conn, ack))
        evidence = TENON_TRACE_EVIDENCE_DSACK;
    else if (undo_by_frto(conn, ack))
        evidence = TENON_TRACE_EVIDENCE_FRTO;
    else
        return 0;
    undo_take_back(conn, evidence);
    return 1;
}
