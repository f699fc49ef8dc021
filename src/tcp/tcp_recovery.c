/* SPDX-License-Identifier: MIT */
/* What follows from a loss: RACK-TLP (RFC 8985) says with SACK what is lost, NewReno (RFC 6582) without; RFC 6298
 * for timeouts; PRR (RFC 9937) says how much may be sent meanwhile. It moves three marks: lost_edge (what lies below
 * it and is not SACKed is lost), rtx_nxt (from where that is sent again) and recover (the end of the episode).
 * tcp_output.c sends accordingly. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

enum { RECOVERY_DUP_THRESH = 3 };

/* ---- what congestion controls are told ----------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_cc_event_all(struct tenon_tcp *conn, struct tenon_cc_event *event)
{
    tn_clear(event, sizeof(*event));
    event->mss = conn->mss;
    event->in_flight = conn->snd_nxt - conn->snd_una;
    event->now_us = conn->stack->now_us;
    event->pipe = conn->state > TENON_TCP_SYN_RECEIVED ? tn_tcp_in_flight(conn) : 0;
    event->srtt_us = conn->srtt8 >> 3;
    event->min_rtt_us = conn->min_rtt_us;
    event->snd_una = conn->snd_una;
    event->snd_nxt = conn->snd_nxt;
    event->total_delivered = conn->flight->total_delivered;
    event->total_lost = conn->flight->total_lost;
    event->paced = conn->cc.pacing != 0;
    event->sack = (tenon_u8)tn_tcp_hears_sack(conn);
    if (tn_cc_ops(conn)->more_words > 0)
        event->random = tn_cc_chance(conn);
    event->app_limited = conn->flight->app_limited != 0;
    if (conn->recovery == TN_RECOVERY_FAST)
        event->in_recovery = 1;
    else if (conn->recovery == TN_RECOVERY_RTO)
        event->in_recovery = 2;
}

static void recovery_event(struct tenon_tcp *conn, const struct tn_ack *ack, struct tenon_cc_event *event)
{
    tn_tcp_cc_event(conn, event);
    event->acked = ack->acked;
    event->in_flight = ack->flight;
    if (!TENON_WITH_RECOVERY) {
        event->in_recovery = conn->recovery;
        return;
    }
    event->delivered = ack->delivered;
    event->lost = ack->lost;
    event->ce = ack->ce;
    event->rtt_us = ack->fresh_rtt_us;
    /* RFC 7661: a window that is not used does not grow. In slow start half of it counts as used. */
    event->limited = !(conn->flags & TN_TCP_F_CWND_LIMITED);
    if (conn->cc.cwnd < conn->cc.ssthresh && 2 * ack->flight >= conn->cc.cwnd)
        event->limited = 0;
}

TENON_INTERNAL void tn_tcp_lost(struct tenon_tcp *conn, const struct tn_sent *sent, tenon_u32 bytes)
{
    struct tenon_cc_event event;

    if (!TENON_WITH_RECOVERY)
        return;
    conn->flight->total_lost += bytes;
    if (tn_cc_ops(conn)->lost_bytes == NULL)
        return;
    tn_tcp_cc_event(conn, &event);
    event.lost = bytes;
    event.sample.tx_in_flight = sent->in_flight;
    event.sample.lost = conn->flight->total_lost - sent->lost;
    event.sample.prior_delivered = sent->delivered;
    event.sample.delivered = conn->flight->total_delivered - sent->delivered;
    event.sample.app_limited = sent->app_limited;
    tn_cc_ops(conn)->lost_bytes(&conn->cc, &event);
}

/* ---- a window that is not used (RFC 7661) ----------------------------------------------------------------------- */

static struct tn_cwv_now cwv_now(const struct tenon_tcp *conn)
{
    struct tn_cwv_now now;

    now.us = conn->stack->now_us;
    now.ms = conn->stack->now_ms;
    now.srtt_us = conn->srtt8 >> 3;
    return now;
}

/* A loss while the window is neither used up nor validated: it says nothing, what was in flight does (4.4.1).
 * @return the window is at most this */
static tenon_u32 cwv_lost(struct tenon_tcp *conn, tenon_u32 in_flight)
{
    const struct tn_cwv_now now = cwv_now(conn);

    if (!TENON_WITH_RECOVERY)
        return 0xFFFFFFFFUL;
    conn->flight->cwv.loss_flight = 0;
    if (conn->flags & TN_TCP_F_CWND_LIMITED)
        return 0xFFFFFFFFUL;
    return tn_cwv_lost(&conn->flight->cwv, conn->cc.cwnd, in_flight, &now);
}

static void cwv_limit(struct tenon_tcp *conn, tenon_u32 most)
{
    const tenon_u32 before = conn->cc.cwnd;

    if (!TENON_WITH_RECOVERY)
        return;
    if (tn_cc_ops(conn)->flags & TENON_CC_OWN_RECOVERY)
        return;
    conn->cc.cwnd = tn_min(before, tn_max(most, 2UL * conn->mss));
    if (conn->cc.cwnd < before)
        tn_trace_stretch(conn, TENON_TRACE_CWV, 0, before, TENON_TRACE_CWV_LIMITED);
}

/* @return 1: it was out of use for so long that less of it is left (4.4.3). Who measures the path keeps it whole
 * (draft-ietf-ccwg-bbr 5.4). */
static int cwv_age(struct tenon_tcp *conn)
{
    const struct tn_cwv_now now = cwv_now(conn);
    const tenon_u32 before = conn->cc.cwnd;

    if ((tn_cc_ops(conn)->flags & TENON_CC_OWN_RECOVERY) ||
        !tn_cwv_age(&conn->flight->cwv, &conn->cc, tn_cc_initial(conn->mss), &now))
        return 0;
    tn_trace_stretch(conn, TENON_TRACE_CWV, 0, before, TENON_TRACE_CWV_AGED);
    return 1;
}

/* With pacing the window outlives silence, for five minutes and longer (4.4.3). */
TENON_INTERNAL int tn_tcp_keeps_window(struct tenon_tcp *conn)
{
    if (!TENON_WITH_RECOVERY)
        return 0;
    if (!conn->flight->cwv.known || conn->cc.pacing == 0)
        return 0;
    if (!cwv_age(conn))
        tn_trace_stretch(conn, TENON_TRACE_CWV, 0, conn->cc.cwnd, TENON_TRACE_CWV_KEPT);
    return 1;
}

/* ---- PRR (RFC 9937 6) ------------------------------------------------------------------------------------------ */

static int prr_applies(const struct tenon_tcp *conn)
{
    if (!TENON_WITH_RECOVERY)
        return 0;
    return conn->recovery == TN_RECOVERY_FAST && !(tn_cc_ops(conn)->flags & TENON_CC_OWN_RECOVERY);
}

static void prr_begin(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 sacked = tn_flight_sack(conn->flight) == NULL ? 0 : conn->flight->sack->bytes;

    if (!TENON_WITH_RECOVERY)
        return;
    flight->prr_delivered = 0;
    flight->prr_out = 0;
    flight->recover_fs = tn_max(conn->snd_nxt - conn->snd_una - sacked + ack->delivered, conn->mss);
}

/* Bytes that may leave because of this ACK. */
static tenon_u32 prr_allowance(const struct tenon_tcp *conn, const struct tn_ack *ack, tenon_u32 pipe)
{
    const struct tn_flight *flight = conn->flight;
    tenon_u32 carry = flight->recover_fs - 1;    /* rounds up */
    tenon_u32 limit;

    if (pipe > conn->cc.ssthresh) {
        limit = tn_cc_share(&carry, conn->cc.ssthresh, flight->prr_delivered, flight->recover_fs);
        return limit > flight->prr_out ? limit - flight->prr_out : 0;
    }
    limit = ack->delivered;
    if (flight->prr_delivered > flight->prr_out)
        limit = tn_max(limit, flight->prr_delivered - flight->prr_out);
    if (ack->acked > 0 && ack->lost == 0)
        limit += conn->mss;    /* the ACK is safe: slow start towards ssthresh */
    return tn_min(conn->cc.ssthresh - pipe, limit);
}

static void prr_acked(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 pipe = tn_tcp_in_flight(conn);
    tenon_u32 send;

    if (ack->delivered == 0)
        return;
    flight->prr_delivered += ack->delivered;
    send = prr_allowance(conn, ack, pipe);
    if (send == 0 && flight->prr_out == 0)
        send = conn->mss;    /* the fast retransmission leaves in any case */
    conn->cc.cwnd = tn_max(pipe + send, conn->mss);
}

/* ---- beginning and end of an episode ------------------------------------------------------------- */

static void recovery_enter(struct tenon_tcp *conn, enum tn_recovery kind)
{
    conn->recovery = (tenon_u8)kind;
    conn->flight->recover = conn->snd_nxt;
    tn_mtu_probe_forget(conn);
    conn->flight->rtx_nxt = conn->snd_una;
    conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
    conn->flags |= TN_TCP_F_FORCE_RTX;
}

/* Nothing is lost, nothing is to be sent again. */
static void recovery_clear(struct tenon_tcp *conn)
{
    conn->recovery = TN_RECOVERY_NONE;
    tn_flight_reset_edge(conn);
    conn->flight->frto = TN_FRTO_NONE;
    conn->flight->reno_sacked = 0;
    conn->flight->dupacks = 0;
    conn->flags &= ~(tenon_u32)TN_TCP_F_FORCE_RTX;
    tn_tcp_trace(conn, TENON_TRACE_RECOVERY, NULL, TENON_TRACE_RECOVERY_LEFT);
}

/* The peer is told of every reduction, and one per window is enough (RFC 3168 6.1.2). */
static void recovery_reduced(struct tenon_tcp *conn)
{
    if (!TENON_WITH_RECOVERY)
        return;
    conn->flight->ecn_recover = conn->snd_nxt;
    if (tn_tcp_ecn(conn) & TN_ECN_ON)
        conn->ecn |= TN_ECN_CWR;
}

/* A mark of this window, or a lost tail, has had its answer: there is one for all that happens to a window of data (RFC
 * 3168 6.1.2). Who sets the window in recovery, or reckons with marks, knows by itself. */
static int recovery_is_answered(const struct tenon_tcp *conn)
{
    const unsigned knows = TENON_CC_OWN_RECOVERY | TENON_CC_DCTCP;

    return TENON_WITH_RECOVERY && tn_seq_lt(conn->snd_una, conn->flight->ecn_recover) &&
           conn->cc.ssthresh != TN_CC_NO_SSTHRESH && !(tn_cc_ops(conn)->flags & knows);
}

/* RFC 5681 3.2, RFC 6675 5, RFC 8985 6.2 step 5. */
static void recovery_enter_fast(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    const int answered = recovery_is_answered(conn);
    struct tenon_cc_event event;
    tenon_u32 most;

    tn_tcp_cc_event(conn, &event);
    if (conn->flight->dupacks > 0)
        event.in_flight = conn->flight->first_dup_nxt - conn->snd_una;    /* RFC 5681 3.2, step 2 */
    if (TENON_WITH_RECOVERY)
        event.lost = ack->lost;
    tn_undo_save(conn);
    recovery_enter(conn, TN_RECOVERY_FAST);
    prr_begin(conn, ack);
    recovery_reduced(conn);
    tn_tlp_forget(conn->flight);    /* one reduction for both */
    most = cwv_lost(conn, event.in_flight);
    if (answered)
        tn_undo_forget(conn);
    else
        tn_cc_ops(conn)->lost(&conn->cc, &event);
    cwv_limit(conn, most);
    tn_count(conn->stack, TENON_STAT_TCP_FAST_RETRANSMIT);
    tn_tcp_trace(conn, TENON_TRACE_RECOVERY, NULL, TENON_TRACE_RECOVERY_FAST);
}

/* What was sent in the episode and got lost as well is the next one's. */
static void recovery_leave(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tenon_cc_event event;
    const int was_fast = conn->recovery == TN_RECOVERY_FAST;
    const int more = tn_tcp_hears_sack(conn) && tn_seq_gt(conn->flight->lost_edge, conn->snd_una);

    if (more)
        conn->recovery = TN_RECOVERY_NONE;
    else
        recovery_clear(conn);
    tn_rack_recovered(conn->flight);
    if (was_fast) {
        tn_tcp_cc_event(conn, &event);
        tn_cc_ops(conn)->recovered(&conn->cc, &event);
        if (TENON_WITH_RECOVERY)
            cwv_limit(conn, tn_cwv_recovered(&conn->flight->cwv, conn->flight->undo_again));
    }
    if (more)
        recovery_enter_fast(conn, ack);
}

/* RFC 4821 7.6.2: the loss of a lone probe of the path MTU tells of its size. @return 1: that it was */
static int recovery_on_mtu_probe(struct tenon_tcp *conn)
{
    if (!tn_mtu_probe_is_lone(conn))
        return 0;
    tn_mtu_probe_judge(conn, 0);
    recovery_enter(conn, TN_RECOVERY_MTU);
    tn_undo_forget(conn);
    return 1;
}

/* Nothing reduces the window because the path MTU fell; what is lost besides does. */
static int recovery_is_free(const struct tenon_tcp *conn)
{
    return conn->recovery == TN_RECOVERY_NONE || conn->recovery == TN_RECOVERY_MTU;
}

/* ---- without SACK: NewReno (RFC 6582) ------------------------------------------------------------ */

/* Each duplicate ACK says that one segment has left the network: never more than there are, so that forged ones
 * gain nothing. */
static void reno_on_dupack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const tenon_u32 flight = conn->snd_nxt - conn->snd_una;
    const tenon_u32 most = flight > conn->mss ? flight - conn->mss : 0;
    const tenon_u32 before = conn->flight->reno_sacked;

    if (conn->recovery == TN_RECOVERY_RTO)
        return;
    conn->flight->reno_sacked = tn_min(before + conn->mss, most);
    if (TENON_WITH_RECOVERY && conn->flight->reno_sacked > before)
        ack->delivered = conn->flight->reno_sacked - before;
}

static void recovery_count_lost(struct tenon_tcp *conn, tenon_u32 bytes)
{
    if (TENON_WITH_RECOVERY)
        conn->flight->total_lost += bytes;
}

static void reno_lose_head(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const tenon_u32 head = conn->snd_una + tn_min(conn->mss, conn->snd_nxt - conn->snd_una);

    const tenon_u32 from = conn->flight->lost_edge;

    if (!tn_seq_lt(conn->flight->lost_edge, head))
        return;
    ack->lost = tn_flight_move_edge(conn, head);
    tn_trace_lost(conn, from, ack->lost, TENON_TRACE_RULE_DUPACKS);
    recovery_count_lost(conn, ack->lost);
}

/* RFC 6582 3.2: a partial ACK tells that the next segment is lost too. */
static void reno_on_partial_ack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const tenon_u32 left = ack->acked > conn->mss ? ack->acked - conn->mss : 0;

    if (conn->recovery != TN_RECOVERY_FAST)
        return;
    if (TENON_WITH_RECOVERY)
        ack->delivered -= tn_min(ack->delivered, tn_min(conn->flight->reno_sacked, left));
    conn->flight->reno_sacked -= tn_min(conn->flight->reno_sacked, left);
    tn_flight_again_clear(conn);
    conn->flight->rtx_nxt = conn->snd_una;
    conn->flags |= TN_TCP_F_FORCE_RTX;
    reno_lose_head(conn, ack);
}

/* RFC 6582 3.2 step 2: not before more is acknowledged than was sent before the end of the last episode. What a timeout
 * has repeated in vain makes duplicates of just that number. */
static void reno_on_ack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    if (ack->is_dup)
        reno_on_dupack(conn, ack);
    if (ack->acked > 0 && conn->recovery != TN_RECOVERY_NONE && tn_seq_lt(conn->snd_una, conn->flight->recover))
        reno_on_partial_ack(conn, ack);
    if (conn->recovery == TN_RECOVERY_NONE && conn->flight->dupacks >= RECOVERY_DUP_THRESH &&
        tn_seq_gt(conn->snd_una, conn->flight->recover))
        reno_lose_head(conn, ack);
}

/* ---- with SACK, without RACK-TLP: RFC 6675 --------------------------------------------------------- */

/* IsLost() of its section 4, of all numbers at once: what lies below three ranges that are SACKed, or below more than
 * two segments of them. */
static tenon_u32 sack_lost_below(const struct tenon_tcp *conn)
{
    const struct tn_sack *sack = tn_flight_sack(conn->flight);
    tenon_u32 bytes = 0;
    unsigned above = 0;

    while (sack != NULL && above < sack->n) {
        const struct tn_sack_range *range = &sack->ranges[sack->n - ++above];

        bytes += range->right - range->left;
        if (above >= RECOVERY_DUP_THRESH || bytes > (RECOVERY_DUP_THRESH - 1) * (tenon_u32)conn->mss)
            return range->left;
    }
    return conn->snd_una;
}

/* What a partial ACK leaves was sent before the head that it acknowledges was sent again, and has not arrived. What one
 * of all that was in flight then leaves has been sent since. */
static void sack_on_ack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const int recovers = conn->recovery != TN_RECOVERY_NONE;
    const int is_before = tn_seq_lt(conn->snd_una, conn->flight->recover);
    const tenon_u32 below = sack_lost_below(conn);

    if (!recovers && is_before)
        return;
    if (tn_seq_gt(below, conn->flight->lost_edge))
        ack->lost = tn_flight_move_edge(conn, below);
    else if (recovers ? is_before && ack->acked > 0 : conn->flight->dupacks >= RECOVERY_DUP_THRESH)
        reno_lose_head(conn, ack);
}

/* ---- an ACK -------------------------------------------------------------------------------------- */

static void recovery_count_dupacks(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    if (ack->acked > 0) {
        conn->flight->dupacks = 0;
        if (conn->recovery == TN_RECOVERY_NONE)
            conn->flight->reno_sacked = 0;
    } else if (ack->is_dup) {
        if (conn->flight->dupacks == 0)
            conn->flight->first_dup_nxt = conn->snd_nxt;
        if (conn->flight->dupacks < 255)
            conn->flight->dupacks++;
    }
}

static void recovery_find_lost(struct tenon_tcp *conn, struct tn_ack *ack)
{
    if (!tn_tcp_hears_sack(conn)) {
        reno_on_ack(conn, ack);
        return;
    }
    if (TENON_WITH_RECOVERY) {
        tn_rack_learn(conn, ack);
        conn->flight->rule = TENON_TRACE_RULE_RACK;
        ack->lost = tn_rack_detect(conn);
    } else {
        sack_on_ack(conn, ack);
    }
    if (ack->lost > 0 && recovery_on_mtu_probe(conn))
        ack->lost = 0;
}

/* A probe has repaired the loss at the tail of the flight (RFC 8985 7.4.2). */
static void recovery_on_tlp(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tenon_cc_event event;

    tn_undo_forget(conn);
    recovery_event(conn, ack, &event);
    tn_cc_ops(conn)->lost(&conn->cc, &event);
    tn_cc_ops(conn)->recovered(&conn->cc, &event);
    recovery_reduced(conn);
    tn_count(conn->stack, TENON_STAT_TCP_TLP_REPAIRED);
    tn_trace_stretch(conn, TENON_TRACE_TLP, conn->flight->tlp_from, conn->flight->tlp_end - conn->flight->tlp_from,
                     TENON_TRACE_TLP_REPAIRED);
}

/* What was acknowledged while the window was not used does not open it now that it is (tcp_fast.c keeps such ACKs
 * back). */
static void recovery_tell_untold(struct tenon_tcp *conn, const struct tenon_cc_event *now)
{
    struct tenon_cc_event event = *now;

    event.acked = conn->flight->untold;
    event.limited = 1;
    conn->flight->untold = 0;
    tn_cc_ops(conn)->acked(&conn->cc, &event);
}

TENON_INTERNAL void tn_tcp_tell_acked(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    const struct tn_cwv_now now = cwv_now(conn);
    struct tenon_cc_event event;
    int turned = 0;

    if (ack->acked == 0)
        return;
    /* RFC 3168 6.1.2: what met congestion opens no window; DCTCP counts it. */
    if (TENON_WITH_RECOVERY && ack->ce > 0 && !(tn_cc_ops(conn)->flags & TENON_CC_DCTCP))
        return;
    recovery_event(conn, ack, &event);
    if (TENON_WITH_RECOVERY && conn->recovery == TN_RECOVERY_NONE)
        turned = tn_cwv_acked(&conn->flight->cwv, ack->acked + conn->flight->untold, conn->cc.cwnd, &now);
    if (TN_FAST && !event.limited && conn->flight->untold > 0)
        recovery_tell_untold(conn, &event);
    if (TN_FAST) {
        event.acked += conn->flight->untold;
        conn->flight->untold = 0;
    }
    tn_cc_ops(conn)->acked(&conn->cc, &event);
    if (TENON_WITH_RECOVERY && turned)
        (void)cwv_age(conn);
}

/* Once for each ACK: draft-ietf-ccwg-bbr 5.2.3. */
static void recovery_tell_delivered(struct tenon_tcp *conn, const struct tn_ack *ack,
                                    const struct tenon_rate_sample *sample)
{
    struct tenon_cc_event event;

    if (tn_cc_ops(conn)->delivered == NULL || (ack->delivered == 0 && ack->lost == 0))
        return;
    recovery_event(conn, ack, &event);
    event.sample = *sample;
    tn_cc_ops(conn)->delivered(&conn->cc, &event);
}

TENON_INTERNAL void tn_tcp_tell_rate(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tenon_rate_sample sample;

    if (!TENON_WITH_RECOVERY)
        return;
    tn_rate_sample(conn, ack, &sample);
    tn_tcp_tell_acked(conn, ack);
    recovery_tell_delivered(conn, ack, &sample);
    conn->flags &= ~(tenon_u32)TN_TCP_F_CWND_LIMITED;
}

static void recovery_step(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    if (recovery_is_free(conn) && ack->lost > 0) {
        recovery_enter_fast(conn, ack);
        return;
    }
    if (conn->recovery == TN_RECOVERY_NONE) {
        if (tn_tlp_acked(conn, ack))
            recovery_on_tlp(conn, ack);
        else
            tn_tcp_tell_acked(conn, ack);
        return;
    }
    if (conn->recovery == TN_RECOVERY_RTO)
        tn_tcp_tell_acked(conn, ack);
    if (tn_seq_ge(conn->snd_una, conn->flight->recover) && ack->acked > 0)
        recovery_leave(conn, ack);
}

TENON_INTERNAL void tn_tcp_recovery_on_ack(struct tenon_tcp *conn, struct tn_ack *ack)
{
    const int measured = tn_rate_is_wanted(conn);
    const tenon_u32 alpha = TENON_WITH_RECOVERY ? conn->cc.words[TENON_CC_ALPHA_WORD] : 0;
    struct tenon_rate_sample sample;

    recovery_count_dupacks(conn, ack);
    tn_mtu_acked(conn, ack);
    recovery_find_lost(conn, ack);
    if (measured)
        tn_rate_sample(conn, ack, &sample);
    if (tn_undo_check(conn, ack)) {
        recovery_clear(conn);
        conn->flight->recover = conn->snd_una - 1;    /* RFC 5682 2.1 step 3b */
        conn->flight->rack_valid = 0;         /* the ACK that it was taken from answered an original */
    } else {
        recovery_step(conn, ack);
    }
    if (prr_applies(conn))
        prr_acked(conn, ack);
    if (measured)
        recovery_tell_delivered(conn, ack, &sample);
    if (TENON_WITH_RECOVERY && ack->acked > 0)
        conn->flags &= ~(tenon_u32)TN_TCP_F_CWND_LIMITED;
    tn_pace_update(conn);
    tn_trace_alpha(conn, alpha);
    tn_trace_phase(conn);
}

/* ---- timers -------------------------------------------------------------------------------------- */

/* The reordering window is over (RFC 8985 6.2 step 5). */
TENON_INTERNAL void tn_tcp_recovery_on_reorder_timer(struct tenon_tcp *conn)
{
    struct tn_ack ack;

    if (!TENON_WITH_RECOVERY)
        return;
    memset(&ack, 0, sizeof(ack));
    ack.flight = conn->snd_nxt - conn->snd_una;
    conn->flight->rule = TENON_TRACE_RULE_REORDER;
    ack.lost = tn_rack_detect(conn);
    if (ack.lost == 0 || recovery_on_mtu_probe(conn) || !recovery_is_free(conn))
        return;
    recovery_enter_fast(conn, &ack);
    if (prr_applies(conn))
        conn->cc.cwnd = tn_tcp_in_flight(conn) + conn->mss;
}

/* RFC 2018 8: what the peer has SACKed it may have thrown away since. Where it should have acknowledged that, it
 * has. */
TENON_INTERNAL int tn_tcp_peer_reneged(const struct tenon_tcp *conn)
{
    return tn_flight_sack(conn->flight) != NULL && conn->flight->sack->ranges[0].left == conn->snd_una;
}

static tenon_u32 recovery_lose_all(struct tenon_tcp *conn, enum tenon_trace_rule rule)
{
    tenon_u32 bytes;

    tn_sack_clear(conn);
    tn_flight_again_clear(conn);
    tn_flight_reset_edge(conn);
    bytes = tn_flight_move_edge(conn, conn->snd_nxt);
    tn_trace_lost(conn, conn->snd_una, bytes, rule);
    return bytes;
}

/* RFC 6298 5.4, RFC 5681 3.1, RFC 8985 6.3. */
TENON_INTERNAL void tn_tcp_recovery_on_rto(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;
    const int first = conn->recovery == TN_RECOVERY_NONE;

    if (!TENON_WITH_FLIGHT) {
        conn->recovery = TN_RECOVERY_RTO;
        conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
        conn->flags |= TN_TCP_F_FORCE_RTX;
        tn_past_rto(conn);
        tn_count(conn->stack, TENON_STAT_TCP_RTO);
        return;
    }
    tn_tcp_cc_event(conn, &event);
    event.repeated = conn->recovery == TN_RECOVERY_RTO && conn->flight->rto_una == conn->snd_una;
    conn->flight->rto_una = conn->snd_una;
    conn->flight->reno_sacked = 0;
    conn->flight->dupacks = 0;
    if (first)
        tn_undo_save(conn);
    else if (TENON_WITH_RECOVERY && conn->recovery == TN_RECOVERY_FAST)
        conn->flight->undo = 0;
    if (TENON_WITH_RECOVERY)
        conn->flight->frto = first ? TN_FRTO_SENT : TN_FRTO_NONE;
    if (TENON_WITH_RECOVERY && conn->stack->now_ms - conn->progress_ms > TN_US_MEAN_MS)
        conn->flight->rack_valid = 0;    /* what arrived before the outage would seem to have left after it */
    tn_tlp_forget(conn->flight);
    tn_cwv_init(&conn->flight->cwv);
    recovery_enter(conn, TN_RECOVERY_RTO);
    if (!TENON_WITH_RECOVERY || !tn_tcp_hears_sack(conn) || tn_tcp_peer_reneged(conn))
        recovery_count_lost(conn, recovery_lose_all(conn, TENON_TRACE_RULE_TIMEOUT));
    else
        (void)tn_rack_timeout(conn);
    conn->flight->rtx_nxt = conn->snd_una;
    if (TENON_WITH_RECOVERY) {
        event.lost = conn->flight->total_lost - event.total_lost;
        event.pipe = tn_tcp_in_flight(conn);
    }
    tn_cc_ops(conn)->rto(&conn->cc, &event);
    recovery_reduced(conn);
    tn_past_rto(conn);
    tn_pace_update(conn);
    tn_count(conn->stack, TENON_STAT_TCP_RTO);
    tn_tcp_trace(conn, TENON_TRACE_RECOVERY, NULL, TENON_TRACE_RECOVERY_TIMEOUT);
    tn_trace_phase(conn);
}

/* RFC 1191 6.5: what was too large is sent again at once; no congestion happened. */
TENON_INTERNAL void tn_tcp_recovery_on_mtu(struct tenon_tcp *conn)
{
    if (conn->snd_una == conn->snd_nxt || conn->recovery == TN_RECOVERY_FAST)
        return;
    recovery_enter(conn, conn->recovery == TN_RECOVERY_RTO ? TN_RECOVERY_RTO : TN_RECOVERY_MTU);
    tn_undo_forget(conn);    /* nothing is reduced now */
    (void)recovery_lose_all(conn, TENON_TRACE_RULE_MTU);
    conn->flight->rtx_nxt = conn->snd_una;
    tn_tcp_trace(conn, TENON_TRACE_RECOVERY, NULL, TENON_TRACE_RECOVERY_MTU);
}
