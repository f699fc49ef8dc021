/* SPDX-License-Identifier: MIT */
/* RACK-TLP (RFC 8985). What was sent before something that has arrived, and has not arrived itself within the
 * reordering window, is lost; and when nothing arrives any more, a probe brings an ACK that tells. */
#include "tcp/tcp_internal.h"

enum {
    RACK_DUP_THRESH = 3,
    RACK_REO_MULT_MAX = 255,
    RACK_REO_PERSIST = 16,
    RACK_PTO_FIRST_US = 1000000L    /* without an RTT sample (7.2) */
};

/* ---- what arrives (6.2 steps 1 to 3) --------------------------------------------------------------------- */

TENON_INTERNAL tenon_u32 tn_tcp_ts_at(const struct tenon_tcp *conn, tenon_u32 us)
{
    const struct tenon *stack = conn->stack;
    const tenon_u32 ago = stack->now_us - us, part = stack->now_us - stack->ms_us;

    return tn_tcp_ts_now(conn) - (ago > part ? (ago - part + 999) / 1000 : 0);
}

/* 6.2 step 2: the ACK may be for an earlier transmission of the same. The timestamp tells only of what moves snd_una
 * (RFC 7323 4.3); of what is SACKed, a round trip that is clearly too short does. */
static int rack_is_for_earlier(const struct tenon_tcp *conn, const struct tn_ack *ack, const struct tn_sent *sent)
{
    const struct tn_tcp_options *options = &ack->seg->options;
    const tenon_u32 rtt_us = conn->stack->now_us - sent->sent_us;

    if (ack->acked > 0 && (conn->flags & TN_TCP_F_TIMESTAMPS) && options->has_timestamp)
        return tn_seq_lt(options->ts_ecr, tn_tcp_ts_at(conn, sent->sent_us));
    return rtt_us < conn->min_rtt_us - conn->min_rtt_us / 16;
}

TENON_INTERNAL void tn_rack_delivered(struct tenon_tcp *conn, const struct tn_ack *ack, const struct tn_sent *sent,
                                      int again)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return;
    if (again && rack_is_for_earlier(conn, ack, sent))
        return;
    if (flight->rack_valid && (tn_seq_lt(sent->sent_us, flight->rack_sent_us) ||
                               (sent->sent_us == flight->rack_sent_us && tn_seq_le(sent->end, flight->rack_end))))
        return;
    flight->rack_valid = 1;
    flight->rack_sent_us = sent->sent_us;
    flight->rack_end = sent->end;
    flight->rack_rtt_us = conn->stack->now_us - sent->sent_us;
}

/* 6.2 step 4: a D-SACK, or a timestamp, says that we were too quick; once per round trip the window becomes wider. */
TENON_INTERNAL void tn_rack_widen(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return;
    flight->reordered = 1;
    /* The end of the round lies in the flight; one of long ago may seem to lie ahead. */
    if (flight->dsack_round_runs && flight->dsack_round - conn->snd_una - 1 < conn->snd_nxt - conn->snd_una)
        return;
    flight->dsack_round_runs = 1;
    flight->dsack_round = conn->snd_nxt;
    flight->reo_persist = RACK_REO_PERSIST;
    if (flight->reo_mult < RACK_REO_MULT_MAX)
        flight->reo_mult++;
}

TENON_INTERNAL void tn_rack_learn(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return;
    if (ack->reordered)
        flight->reordered = 1;
    if (ack->has_dsack)
        tn_rack_widen(conn);
}

TENON_INTERNAL void tn_rack_recovered(struct tn_flight *flight)
{
    if (!TENON_WITH_RECOVERY)
        return;
    if (flight->reo_persist > 0 && --flight->reo_persist == 0)
        flight->reo_mult = 1;
}

/* ---- loss (6.2 step 5) ---------------------------------------------------------------------------------------- */

/* Segments that the peer has SACKed, at least this many. */
static int rack_many_are_sacked(const struct tenon_tcp *conn)
{
    const struct tn_sack *sack = tn_flight_sack(conn->flight);

    return sack != NULL && (sack->n >= RACK_DUP_THRESH || sack->bytes > (RACK_DUP_THRESH - 1) * (tenon_u32)conn->mss);
}

static tenon_u32 rack_window(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;
    const tenon_u32 quarter = conn->min_rtt_us / 4;

    if (!flight->reordered && (conn->recovery != TN_RECOVERY_NONE || rack_many_are_sacked(conn)))
        return 0;
    if (conn->min_rtt_us == 0xFFFFFFFFUL)
        return 0;
    return tn_min(flight->reo_mult * quarter, conn->srtt8 >> 3);
}

static int rack_left_before(const struct tn_flight *flight, tenon_u32 sent_us, tenon_u32 end)
{
    if (sent_us != flight->rack_sent_us)
        return tn_seq_lt(sent_us, flight->rack_sent_us);
    return tn_seq_lt(end, flight->rack_end);
}

/* Time that is left until something sent then is overdue; 0: it is. */
static tenon_u32 rack_left_us(const struct tenon_tcp *conn, tenon_u32 sent_us, tenon_u32 window)
{
    const tenon_u32 age = conn->stack->now_us - sent_us, due = conn->flight->rack_rtt_us + window;

    return age < due ? due - age : 0;
}

static void rack_wait(struct tn_flight *flight, tenon_u32 us)
{
    if (flight->reo_wait_us == 0 || us < flight->reo_wait_us)
        flight->reo_wait_us = us;
}

/* Everything up to `to`, in the record of lost_edge, is lost as far as it is not SACKed. */
static tenon_u32 rack_lose_first(struct tenon_tcp *conn, tenon_u32 to)
{
    const struct tn_sent sent = *tn_flight_at(conn->flight, conn->flight->edge);
    const tenon_u32 from = conn->flight->lost_edge;
    const tenon_u32 bytes = tn_flight_move_edge(conn, to);

    if (bytes > 0 && tn_mtu_probe_is_lone(conn)) {
        tn_trace_lost(conn, from, bytes, TENON_TRACE_RULE_MTU);
        return bytes;
    }
    tn_trace_lost(conn, from, bytes, (enum tenon_trace_rule)conn->flight->rule);
    if (bytes > 0)
        tn_tcp_lost(conn, &sent, bytes);
    return bytes;
}

static tenon_u32 rack_lose_again(struct tenon_tcp *conn, unsigned index)
{
    const struct tn_sent sent = conn->flight->again[index].sent;
    const tenon_u32 from = conn->flight->again[index].seq;
    const tenon_u32 bytes = tn_flight_again_lost(conn, index);

    tn_trace_stretch(conn, TENON_TRACE_LOST, from, bytes, conn->flight->rule);
    if (bytes > 0)
        tn_tcp_lost(conn, &sent, bytes);
    return bytes;
}

/* First transmissions: they are in order of time, so that the first which is not lost ends the search. */
static tenon_u32 rack_detect_first(struct tenon_tcp *conn, tenon_u32 window)
{
    struct tn_flight *flight = conn->flight;
    tenon_u32 lost = 0;

    while (flight->edge != flight->last) {
        const struct tn_sent *sent = tn_flight_at(flight, flight->edge);
        const int tie = sent->sent_us == flight->rack_sent_us;
        tenon_u32 left;

        if (!rack_left_before(flight, sent->sent_us, conn->flight->lost_edge))
            break;
        left = rack_left_us(conn, sent->sent_us, window);
        if (left > 0) {
            rack_wait(flight, left);
            break;
        }
        lost += rack_lose_first(conn, tie ? tn_seq_min(sent->end, flight->rack_end) : sent->end);
    }
    return lost;
}

/* Retransmissions can be lost like everything else (9.1). If they are in order of time, too, the first which
 * is not lost ends the search. */
static tenon_u32 rack_detect_again(struct tenon_tcp *conn, tenon_u32 window)
{
    struct tn_flight *flight = conn->flight;
    tenon_u32 lost = 0;
    unsigned i = 0;

    while (i < flight->again_n) {
        const struct tn_sent *sent = &flight->again[i].sent;
        tenon_u32 left;

        if (rack_left_before(flight, sent->sent_us, sent->end)) {
            left = rack_left_us(conn, sent->sent_us, window);
            if (left == 0) {
                lost += rack_lose_again(conn, i);
                continue;
            }
            rack_wait(flight, left);
        }
        if (!flight->again_mixed)
            break;
        i++;
    }
    return lost;
}

TENON_INTERNAL tenon_u32 tn_rack_detect(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    tenon_u32 window, lost;

    if (!TENON_WITH_RECOVERY)
        return 0;
    flight->reo_wait_us = 0;
    if (!flight->rack_valid || !tn_tcp_hears_sack(conn))
        return 0;
    /* SACKed, and not acknowledged: the peer reneges or lies, and the RTO will tell. The walk below would begin anew
     * with every ACK. */
    if (conn->recovery == TN_RECOVERY_NONE && tn_tcp_peer_reneged(conn))
        return 0;
    window = rack_window(conn);
    lost = rack_detect_first(conn, window);
    if (flight->again_n > 0)
        lost += rack_detect_again(conn, window);
    if (lost == 0 && conn->recovery == TN_RECOVERY_NONE)
        tn_flight_reset_edge(conn);    /* the edge has passed what is SACKed only */
    return lost;
}

/* 6.3: the first segment is lost, and what has been on its way for longer than a round trip and the window. */
TENON_INTERNAL tenon_u32 tn_rack_timeout(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now = conn->stack->now_us;
    const tenon_u32 head = conn->snd_una + tn_min(conn->mss, conn->snd_nxt - conn->snd_una);
    const tenon_u32 due = flight->rack_valid ? flight->rack_rtt_us + rack_window(conn) : conn->srtt8 >> 3;
    tenon_u32 lost = 0;
    unsigned i = 0;

    if (!TENON_WITH_RECOVERY)
        return 0;
    flight->rule = TENON_TRACE_RULE_TIMEOUT;
    while (flight->edge != flight->last && now - tn_flight_at(flight, flight->edge)->sent_us >= due)
        lost += rack_lose_first(conn, tn_flight_at(flight, flight->edge)->end);
    if (tn_seq_lt(conn->flight->lost_edge, head))
        lost += rack_lose_first(conn, head);
    while (i < flight->again_n) {
        if (flight->again[i].seq == conn->snd_una || now - flight->again[i].sent.sent_us >= due)
            lost += rack_lose_again(conn, i);
        else
            i++;
    }
    return lost;
}

/* ---- tail loss probes (7) --------------------------------------------------------------------------------------- */

TENON_INTERNAL tenon_u32 tn_tlp_timeout(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY || flight == NULL || !tn_tcp_hears_sack(conn) || conn->recovery != TN_RECOVERY_NONE ||
        tn_flight_sack(conn->flight) != NULL)
        return 0;
    if (conn->snd_una == conn->snd_nxt || conn->backoff > 0 || flight->tlp != TN_TLP_NONE)
        return 0;
    return tn_tlp_usual_timeout(conn);
}

TENON_INTERNAL tenon_u32 tn_tlp_usual_timeout(const struct tenon_tcp *conn)
{
    tenon_u32 pto = conn->srtt8 >> 2;

    if (!TENON_WITH_RECOVERY)
        return 0;
    if (!tn_tcp_hears_sack(conn) || !conn->flight->tlp_sampled)
        return 0;
    if (pto == 0)
        return RACK_PTO_FIRST_US;
    /* A single segment may wait for the peer's delayed ACK. */
    if (conn->snd_nxt - conn->snd_una <= conn->mss)
        pto += conn->stack->conf.tcp_peer_delack_us;
    return tn_max(pto, conn->stack->conf.tcp_rto_min_us / 20);    /* a peer on the same link has to be scheduled */
}

/* 7.4.2. A probe that repeated the tail and was needed has repaired a loss that nobody else will see: the
 * window has to be reduced all the same. */
TENON_INTERNAL int tn_tlp_acked(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 seg_ack = ack->seg->ack;
    int repaired = 0;

    if (!TENON_WITH_RECOVERY)
        return 0;
    if (flight->tlp == TN_TLP_NONE || tn_seq_lt(seg_ack, flight->tlp_end))
        return 0;
    if (flight->tlp == TN_TLP_AGAIN) {
        const int dsack = ack->has_dsack && ack->dsack_right == flight->tlp_end;
        const int pure_dup = ack->acked == 0 && ack->seg->options.nsacks == 0 && ack->seg->len == 0;

        repaired = !dsack && tn_seq_gt(seg_ack, flight->tlp_end);
        if (!dsack && !repaired && !pure_dup)
            return 0;    /* the next ACK will tell */
    }
    flight->tlp = TN_TLP_NONE;
    return repaired;
}
