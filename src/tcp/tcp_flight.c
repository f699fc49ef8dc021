/* SPDX-License-Identifier: MIT */
/* What was sent when: see tcp_flight.h. */
#include "tcp/tcp_internal.h"

enum { FLIGHT_AGAIN_MIN = 8, FLIGHT_RECORD_MAX = 65535 };

/* ---- the block ------------------------------------------------------------------------------------- */

static size_t flight_ring_bytes(tenon_u32 cap)
{
    return (size_t)cap * sizeof(struct tn_sent);
}

static void flight_release_ring(struct tenon *stack, struct tn_flight *flight)
{
    if (!TENON_WITH_RECOVERY)
        return;
    if (flight->ring != flight->few)
        tn_mem_put(stack, flight->ring, flight_ring_bytes(flight->cap));
    flight->ring = flight->few;
    flight->cap = TN_FLIGHT_FEW;
    flight->first = flight->last = flight->edge = 0;
}

static void flight_unrest(struct tenon *stack, struct tn_flight *flight)
{
    *flight->prev = flight->next;
    if (flight->next != NULL)
        flight->next->prev = flight->prev;
    else
        stack->tcp.rest_last = flight->prev;
    flight->prev = NULL;
    stack->tcp.nrest--;
}

/* Memory besides its own. */
static int flight_has_more(const struct tn_flight *flight)
{
    return flight->sendq.count != 0 || flight->sendq.ring != flight->few_pieces || flight->sack != NULL ||
           flight->ooo != NULL || tn_flight_has_grown(flight);
}

static void flight_give_back(struct tenon_tcp *conn)
{
    tn_sendq_free(conn);
    tn_sack_clear(conn);
    tn_ooo_free(conn);
    tn_flight_again_clear(conn);
    flight_release_ring(conn->stack, conn->flight);
}

TENON_INTERNAL void tn_flight_free(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    struct tenon *stack = conn->stack;

    if (!tn_tcp_has_block(conn))
        return;
    if (TENON_WITH_MANY && flight->prev != NULL)
        flight_unrest(stack, flight);
    if (TENON_SMALL || flight_has_more(flight))
        flight_give_back(conn);
    tn_tcp_cc_leave(conn);
    conn->flight = NULL;
    if (TENON_WITH_MANY)
        tn_spare_put(stack, &stack->tcp.spare_flights, flight, TN_FLIGHT_BYTES);
}

TENON_INTERNAL void tn_flight_begin(struct tenon_tcp *conn, tenon_u32 seq)
{
    struct tn_flight *flight = conn->flight;

    if (TENON_WITH_FLIGHT)
        flight->recover = flight->rtx_nxt = flight->lost_edge = seq;
    if (!TENON_WITH_RECOVERY)
        return;
    flight->ecn_recover = seq;
    flight->again_high = seq;
}

/* What only RACK-TLP and pacing ask for. */
static void flight_init_records(struct tn_flight *flight, tenon_u32 now_ms)
{
    if (!TENON_WITH_RECOVERY)
        return;
    flight->ring = flight->few;
    flight->cap = TN_FLIGHT_FEW;
    flight->told_ms = now_ms - 1;
    flight->reo_mult = 1;
    flight->tlp_sampled = 1;
}

TENON_INTERNAL void tn_flight_init(struct tenon_tcp *conn, struct tn_flight *flight)
{
    const size_t few = offsetof(struct tn_flight, few_pieces), more = offsetof(struct tn_flight, total_delivered);

    if (TENON_WITH_MANY && TENON_WITH_SPEED) {
        tn_clear(flight, few);
        tn_clear((tenon_u8 *)(void *)flight + more, sizeof(*flight) - more);
        flight->header.tcp_bytes = 0;
    }
    if (TENON_WITH_MANY)
        flight->conn = conn;
    flight_init_records(flight, conn->stack->now_ms);
    if (TENON_WITH_QUEUE) {
        flight->sendq.ring = flight->few_pieces;
        flight->sendq.cap = TN_SENDQ_FEW;
    }
    if (TENON_WITH_FLIGHT && TENON_WITH_MANY)
        flight->last_snd_ms = conn->progress_ms;
    if (TENON_WITH_ORPHANS)
        flight->stalled_ms = conn->progress_ms;
    if (TENON_WITH_RECOVERY)
        flight->min_rtt_ms = conn->progress_ms;
    flight->rto_us = TENON_WITH_MANY ? tn_tcp_rto_us(conn) : conn->stack->conf.tcp_rto_initial_us;
    if (TENON_WITH_MANY)    /* TN_TCP_F_RTX_ARMED: it was waited for this block */
        flight->rtx_when = flight->rto_when = conn->stack->wheel.now;
    conn->flight = flight;
    if (TENON_WITH_MANY)
        tn_flight_begin(conn, conn->snd_una);
    if (TENON_WITH_MANY && TENON_WITH_FLIGHT)
        flight->recover--;    /* as ISS after a handshake: it has no last episode (RFC 6582 3.2 step 1) */
    tn_tcp_cc_enter(conn);
}

TENON_INTERNAL struct tn_flight *tn_flight_get(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_MANY || flight != NULL) {
        if (TENON_WITH_MANY && flight->prev != NULL)
            flight_unrest(conn->stack, flight);
        return flight;
    }
    flight = (struct tn_flight *)tn_spare_get(conn->stack, &conn->stack->tcp.spare_flights, TN_FLIGHT_BYTES);
    if (flight != NULL)
        tn_flight_init(conn, flight);
    return flight;
}

TENON_INTERNAL void tn_flight_settle(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY || flight == NULL)
        return;
    tn_flight_again_clear(conn);
    flight_release_ring(conn->stack, flight);
    flight->rack_valid = 0;
}

/* Whether the connection can do without its block. Without an RTT sample the RTO may be one that only the block knows
 * (RFC 6298 5.7). */
static int flight_is_idle(const struct tenon_tcp *conn)
{
    const tenon_u32 busy = TN_TCP_F_RTX_ARMED | TN_TCP_F_PACE_ARMED | TN_TCP_F_ORPHAN;
    const struct tn_flight *flight = conn->flight;

    return conn->state > TENON_TCP_SYN_RECEIVED && !(conn->flags & busy) && conn->snd_una == conn->snd_nxt &&
           conn->recovery == TN_RECOVERY_NONE && !tn_tcp_has_new_data(conn) && !tn_ooo_has_news(conn) &&
           flight->rcv_held == 0 && (conn->srtt8 != 0 || flight->rto_us == conn->stack->conf.tcp_rto_initial_us);
}

/* The one that rests longest goes, if it really does nothing: what holds on to a block takes it from the list. */
static void flight_give_up_oldest(struct tenon *stack)
{
    const tenon_u32 of_block = TN_TCP_F_PACING | TN_TCP_F_URGENT_SND | TN_TCP_F_STALLED | TN_TCP_F_RTT_TIMING;
    struct tenon_tcp *conn = stack->tcp.rest_first->conn;

    TENON_ASSERT(flight_is_idle(conn));
    conn->flags &= ~of_block;
    tn_flight_free(conn);
}

TENON_INTERNAL void tn_flight_rest(struct tenon_tcp *conn)
{
    struct tn_tcp_state *tcp = &conn->stack->tcp;
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_MANY || flight == NULL || flight->prev != NULL || !flight_is_idle(conn))
        return;
    flight->next = NULL;
    flight->prev = tcp->rest_last;
    *tcp->rest_last = flight;
    tcp->rest_last = &flight->next;
    tcp->nrest++;
    if (tcp->nrest > conn->stack->conf.tcp_resting_max)
        flight_give_up_oldest(conn->stack);
}

/* ---- first transmissions ------------------------------------------------------------------------------ */

static int flight_grow(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 cap = 2 * flight->cap;
    struct tn_sent *ring = (struct tn_sent *)tn_mem_get(conn->stack, flight_ring_bytes(cap));
    tenon_u32 i;

    if (ring == NULL)
        return TENON_ENOMEM;
    for (i = flight->first; i != flight->last; i++)
        ring[i & (cap - 1)] = *tn_flight_at(flight, i);
    if (flight->ring != flight->few)
        tn_mem_put(conn->stack, flight->ring, flight_ring_bytes(flight->cap));
    flight->ring = ring;
    flight->cap = cap;
    return TENON_OK;
}

/* What leaves at the same instant is one record, as a frame that the card cuts would be; and so is what there is
 * no memory for: it then counts as sent later than it was, which is safe for what may be lost, and no round trip is
 * measured with it. */
static struct tn_sent *flight_record_to_extend(struct tenon_tcp *conn, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;
    struct tn_sent *last;
    tenon_u32 begin;

    if (flight->first == flight->last)
        return NULL;
    last = tn_flight_at(flight, flight->last - 1);
    begin = flight->last - flight->first > 1 ? tn_flight_at(flight, flight->last - 2)->end : conn->snd_una;
    if (last->sent_us == conn->stack->now_us && end - begin <= FLIGHT_RECORD_MAX)
        return last;
    if (flight->last - flight->first < flight->cap || flight_grow(conn) == TENON_OK)
        return NULL;
    flight->again_high = end;    /* nobody can say when what arrives of it left */
    tn_fast_end(conn);
    return last;
}

TENON_INTERNAL void tn_flight_sent(struct tenon_tcp *conn, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;
    struct tn_sent *record = TENON_WITH_RECOVERY ? flight_record_to_extend(conn, end) : NULL;

    if (!TENON_WITH_RECOVERY)
        return;
    if (record == NULL) {
        record = tn_flight_at(flight, flight->last++);
        record->size = 0;
    } else if (flight->edge == flight->last) {
        flight->edge--;    /* all of it was lost, and now has a part that is not */
    }
    record->end = end;
    record->size = (tenon_u16)tn_max(record->size, tn_min(end - conn->snd_nxt, conn->mss));
    record->sent_us = conn->stack->now_us;
    if (tn_rate_is_wanted(conn))
        tn_rate_sending(conn, record, end - conn->snd_nxt);
}

/* Number of the record that holds `seq`, by bisection. */
static tenon_u32 flight_find(const struct tn_flight *flight, tenon_u32 seq)
{
    tenon_u32 low = flight->first, n = flight->last - flight->first;

    while (n > 1) {
        const tenon_u32 half = n / 2;

        if (tn_seq_le(tn_flight_at(flight, low + half - 1)->end, seq))
            low += half, n -= half;
        else
            n = half;
    }
    return low;
}

/* ---- retransmissions -------------------------------------------------------------------------------------- */

static size_t flight_again_bytes(unsigned cap)
{
    return cap * sizeof(struct tn_again);
}

TENON_INTERNAL tenon_u32 tn_flight_again_bytes(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (TENON_WITH_RECOVERY)
        return flight->again_bytes;
    return flight->rtx_nxt - conn->snd_una - tn_sack_bytes_between(conn, conn->snd_una, flight->rtx_nxt);
}

static unsigned flight_again_places(const struct tn_flight *flight)
{
    return (unsigned)flight->again_cap + flight->again_gone;
}

static void flight_again_put(struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (flight->again != NULL)
        tn_mem_put(conn->stack, flight->again - flight->again_gone, flight_again_bytes(flight_again_places(flight)));
}

TENON_INTERNAL void tn_flight_again_clear(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return;
    if (flight == NULL)
        return;
    flight_again_put(conn);
    flight->again = NULL;
    flight->again_n = flight->again_cap = flight->again_gone = 0;
    flight->again_mixed = 0;
    flight->again_bytes = 0;
}

static void flight_again_move_down(struct tn_flight *flight)
{
    struct tn_again *first = flight->again - flight->again_gone;

    memmove(first, flight->again, flight_again_bytes(flight->again_n));
    flight->again = first;
    flight->again_cap = (tenon_u16)flight_again_places(flight);
    flight->again_gone = 0;
}

static int flight_again_grow(struct tenon_tcp *conn, unsigned places)
{
    struct tn_flight *flight = conn->flight;
    struct tn_again *again;

    if (places > TN_AGAIN_MOST)
        return 0;
    again = (struct tn_again *)tn_mem_get(conn->stack, flight_again_bytes(places));
    if (again == NULL)
        return 0;
    if (flight->again != NULL)
        memcpy(again, flight->again, flight_again_bytes(flight->again_n));
    flight_again_put(conn);
    flight->again = again;
    flight->again_cap = (tenon_u16)places;
    flight->again_gone = 0;
    return 1;
}

/* All are asked with each ACK whether they are lost, unless they are in order of time, too. */
static int flight_again_may_be_more(const struct tn_flight *flight, tenon_u32 from)
{
    return flight->again_n < TN_AGAIN_MAX ||
           (!flight->again_mixed && tn_seq_le(flight->again[flight->again_n - 1].sent.end, from));
}

TENON_INTERNAL int tn_flight_has_room(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY)
        return 1;
    if (!flight_again_may_be_more(flight, flight->rtx_nxt))
        return 0;
    /* One more than needed now: a SACK of its middle may cut one in two. */
    if (flight->again_n + 1U < flight->again_cap)
        return 1;
    if (flight->again_gone <= flight->again_cap &&
        flight_again_grow(conn, (unsigned)tn_max(2U * flight_again_places(flight), (tenon_u32)FLIGHT_AGAIN_MIN)))
        return 1;
    if (flight->again_gone == 0)
        return 0;
    flight_again_move_down(flight);
    return flight->again_n + 1U < flight->again_cap;
}

/* First of the retransmissions that ends behind `seq`. */
static unsigned flight_again_find(const struct tn_flight *flight, tenon_u32 seq)
{
    unsigned low = 0, high = TENON_WITH_RECOVERY ? flight->again_n : 0U;

    while (low < high) {
        const unsigned middle = low + (high - low) / 2;

        if (tn_seq_le(flight->again[middle].sent.end, seq))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void flight_again_insert(struct tn_flight *flight, unsigned at, const struct tn_again *again)
{
    memmove(&flight->again[at + 1], &flight->again[at], (flight->again_n - at) * sizeof(*again));
    flight->again[at] = *again;
    flight->again_n++;
}

static void flight_again_delete(struct tn_flight *flight, unsigned at)
{
    flight->again_n--;
    if (flight->again_n == 0)
        flight->again_mixed = 0;
    if (at == 0) {
        flight->again++;
        flight->again_gone++;
        flight->again_cap--;
        return;
    }
    memmove(&flight->again[at], &flight->again[at + 1], (flight->again_n - at) * sizeof(flight->again[0]));
}

TENON_INTERNAL void tn_flight_sent_again(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;
    const unsigned at = flight_again_find(flight, from);
    struct tn_again again;

    if (!TENON_WITH_RECOVERY)
        return;
    if (flight->again_n == flight->again_cap || !flight_again_may_be_more(flight, from))
        return;    /* no record: it still counts as lost, and if it gets lost again the RTO will tell */
    TENON_ASSERT(at == flight->again_n || tn_seq_le(end, flight->again[at].seq));
    again.seq = from;
    again.sent.end = end;
    again.sent.size = (tenon_u16)tn_min(end - from, conn->mss);
    again.sent.sent_us = conn->stack->now_us;
    if (tn_rate_is_wanted(conn))
        tn_rate_sending(conn, &again.sent, end - from);
    if (at != flight->again_n)
        flight->again_mixed = 1;
    flight_again_insert(flight, at, &again);
    flight->again_bytes += end - from;
}

TENON_INTERNAL tenon_u32 tn_flight_again_skip(const struct tenon_tcp *conn, tenon_u32 from, tenon_u32 *end)
{
    const struct tn_flight *flight = conn->flight;
    unsigned i;

    if (!TENON_WITH_RECOVERY)
        return from;
    for (i = flight_again_find(flight, from); i < flight->again_n; i++) {
        if (tn_seq_lt(from, flight->again[i].seq)) {
            *end = tn_seq_min(*end, flight->again[i].seq);
            return from;
        }
        from = flight->again[i].sent.end;
        if (tn_seq_ge(from, *end))
            return from;
    }
    return from;
}

TENON_INTERNAL int tn_flight_again_sent_us(const struct tenon_tcp *conn, tenon_u32 seq, tenon_u32 *sent_us)
{
    const struct tn_flight *flight = conn->flight;
    const unsigned at = flight_again_find(flight, seq);

    if (!TENON_WITH_RECOVERY)
        return 0;
    if (at == flight->again_n || tn_seq_lt(seq, flight->again[at].seq))
        return 0;
    *sent_us = flight->again[at].sent.sent_us;
    return 1;
}

TENON_INTERNAL tenon_u32 tn_flight_again_lost(struct tenon_tcp *conn, unsigned index)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 seq = flight->again[index].seq;
    const tenon_u32 bytes = flight->again[index].sent.end - seq;

    if (!TENON_WITH_RECOVERY)
        return 0;
    flight->again_bytes -= bytes;
    flight_again_delete(flight, index);
    if (tn_seq_ge(seq, conn->flight->lost_edge))
        return 0;    /* a probe of the tail: the tail itself is still in flight */
    conn->flight->rtx_nxt = tn_seq_min(conn->flight->rtx_nxt, seq);
    return bytes;
}

/* ---- arrival ------------------------------------------------------------------------------------------------ */

static void flight_arrived(struct tenon_tcp *conn, struct tn_ack *ack, const struct tn_sent *sent, int again)
{
    const tenon_u32 later = ack->has_newest ? ack->newest.sent_us : sent->sent_us;

    if (!ack->has_newest || tn_seq_gt(sent->sent_us, later) ||
        (sent->sent_us == later && tn_seq_gt(sent->end, ack->newest.end))) {
        ack->newest = *sent;
        ack->newest_again = (tenon_u8)again;
        ack->has_newest = 1;
    }
    tn_rack_delivered(conn, ack, sent, again);
}

/* [from, end) is not among the retransmissions in flight. It may still have been sent again, and that be taken for
 * lost: then nobody can say which of them has arrived. */
static void flight_arrived_once(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 from, tenon_u32 end)
{
    const struct tn_flight *flight = conn->flight;
    struct tn_sent sent = *tn_flight_at(flight, flight_find(flight, end - 1));
    const int probed = tn_seq_le(flight->tlp_from, from) && tn_seq_lt(from, flight->tlp_end);
    const int again = probed || tn_seq_lt(from, flight->again_high);

    sent.end = tn_seq_min(sent.end, end);
    if (!again) {
        tn_mtu_arrived(conn, tn_min(end - from, sent.size));
        if (!ack->has_original || tn_seq_gt(sent.sent_us, ack->original_us))
            ack->original_us = sent.sent_us;
        ack->has_original = 1;
        if (tn_seq_lt(from, ack->fack))
            ack->reordered = 1;
        if (tn_seq_lt(from, conn->flight->recover))
            ack->old_original = 1;
    }
    flight_arrived(conn, ack, &sent, again);
}

/* Cut [from, end), which it contains, out of a retransmission. */
static void flight_again_cut(struct tenon_tcp *conn, unsigned at, tenon_u32 from, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;
    struct tn_again *again = &flight->again[at];
    struct tn_again rest = *again;

    flight->again_bytes -= end - from;
    rest.seq = end;
    if (again->seq == from && again->sent.end == end) {
        flight_again_delete(flight, at);
    } else if (again->seq == from) {
        again->seq = end;
    } else {
        again->sent.end = from;
        if (rest.sent.end == end)
            return;
        if (flight->again_n < flight->again_cap && (flight->again_n < TN_AGAIN_MAX || !flight->again_mixed)) {
            flight_again_insert(flight, at + 1, &rest);
            return;
        }
        flight->again_bytes -= rest.sent.end - end;
        if (tn_seq_lt(end, conn->flight->lost_edge))
            conn->flight->rtx_nxt =
                tn_seq_min(conn->flight->rtx_nxt, end); /* forgotten: it will be sent once more */
    }
}

TENON_INTERNAL void tn_flight_delivered(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 from, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY) {
        if (!TENON_WITH_PATH_MTU)
            return;
        tn_mtu_arrived(conn, tn_min(end - from, tn_min(conn->mss, flight->mtu_sent)));
        return;
    }
    ack->delivered += end - from;
    while (tn_seq_lt(from, end)) {
        const unsigned at = flight_again_find(flight, from);
        struct tn_sent sent;
        tenon_u32 to = end;

        if (at == flight->again_n || tn_seq_ge(flight->again[at].seq, end)) {
            flight_arrived_once(conn, ack, from, end);
            return;
        }
        if (tn_seq_lt(from, flight->again[at].seq)) {
            to = flight->again[at].seq;
            flight_arrived_once(conn, ack, from, to);
        } else {
            sent = flight->again[at].sent;
            to = tn_seq_min(end, sent.end);
            sent.end = to;
            tn_mtu_arrived(conn, tn_min(to - from, sent.size));
            flight_again_cut(conn, at, from, to);
            flight_arrived(conn, ack, &sent, 1);
        }
        from = to;
    }
}

TENON_INTERNAL void tn_flight_advance(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    unsigned gone = 0;

    if (!TENON_WITH_RECOVERY || flight == NULL)
        return;
    while (flight->first != flight->last && tn_seq_le(tn_flight_at(flight, flight->first)->end, conn->snd_una))
        flight->first++;
    if (flight->edge - flight->first > flight->last - flight->first)
        flight->edge = flight->first;
    while (gone < flight->again_n && tn_seq_le(flight->again[gone].sent.end, conn->snd_una))
        gone++;    /* nothing is left of them: what had arrived was cut out */
    TENON_ASSERT(gone == 0);
    flight->again_high = tn_seq_max(flight->again_high, conn->snd_una);
}

/* ---- loss ------------------------------------------------------------------------------------------------------ */

TENON_INTERNAL tenon_u32 tn_flight_move_edge(struct tenon_tcp *conn, tenon_u32 to)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 sacked = tn_sack_bytes_between(conn, conn->flight->lost_edge, to);
    const tenon_u32 bytes = to - conn->flight->lost_edge - sacked;

    if (TENON_WITH_RECOVERY && tn_flight_sack(conn->flight) != NULL)
        conn->flight->sack->below += sacked;
    conn->flight->lost_edge = to;
    while (TENON_WITH_RECOVERY && flight->edge != flight->last &&
           tn_seq_le(tn_flight_at(flight, flight->edge)->end, to))
        flight->edge++;
    return bytes;
}

TENON_INTERNAL void tn_flight_reset_edge(struct tenon_tcp *conn)
{
    conn->flight->rtx_nxt = conn->flight->lost_edge = conn->snd_una;
    if (!TENON_WITH_RECOVERY)
        return;
    if (tn_flight_sack(conn->flight) != NULL)
        conn->flight->sack->below = 0;
    conn->flight->edge = conn->flight->first;
}

/* ---- check --------------------------------------------------------------------------------------------------- */

static const char *flight_check_again(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;
    tenon_u32 edge = conn->snd_una, bytes = 0;
    unsigned i;

    for (i = 0; i < flight->again_n; i++) {
        const struct tn_again *again = &flight->again[i];

        if (tn_seq_lt(again->seq, edge) || tn_seq_ge(again->seq, again->sent.end))
            return "the retransmissions are out of order";
        if (tn_sack_bytes_between(conn, again->seq, again->sent.end) != 0)
            return "what is SACKed counts as in flight again";
        if (!flight->again_mixed && i > 0 && tn_seq_lt(again->sent.sent_us, again[-1].sent.sent_us))
            return "the retransmissions are not in order of time";
        edge = again->sent.end;
        bytes += again->sent.end - again->seq;
    }
    if (flight->again_mixed && flight->again_n > TN_AGAIN_MAX)
        return "there are too many retransmissions to ask all of them";
    if (tn_seq_gt(edge, conn->snd_nxt))
        return "what was never sent was sent again";
    return bytes == flight->again_bytes ? NULL : "the sum of the retransmissions is wrong";
}

TENON_INTERNAL const char *tn_flight_check(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;
    tenon_u32 edge = conn->snd_una, i;

    if (flight == NULL)
        return conn->snd_una == conn->snd_nxt ? NULL : "something is in flight and nobody knows since when";
    if (TENON_WITH_MANY && flight->prev != NULL && !flight_is_idle(conn))
        return "a block rests that is needed";
    if (!TENON_WITH_RECOVERY)
        return NULL;
    for (i = flight->first; i != flight->last; i++) {
        if (tn_seq_ge(edge, tn_flight_at(flight, i)->end))
            return "the records of what was sent are out of order";
        if (i == flight->edge && tn_seq_lt(conn->flight->lost_edge, edge))
            return "the lost edge lies before its record";
        edge = tn_flight_at(flight, i)->end;
    }
    if (edge != conn->snd_nxt)
        return "the records of what was sent do not end at snd_nxt";
    return flight_check_again(conn);
}
