/* SPDX-License-Identifier: MIT */
/* Seventh and eighth step of SEGMENT ARRIVES: segment text and FIN. Text in order goes to the application in
 * the buffers in which it came; text that is early waits in runs, each a list of spans. Finding the run is one
 * step where it grew last; it never costs more than there are runs, and their number is limited: no stream of
 * tiny segments makes it slow. */
#include "tcp/tcp_internal.h"

enum { OOO_HINTS = 4 };    /* where retransmissions arrive, where new text does, and what lay between */

TENON_INTERNAL unsigned tn_text_spans(const struct tn_seg *seg, struct tenon_span *spans, tenon_u32 from, tenon_u32 end)
{
    const struct tn_pkt *pkt = seg->pkt;
    struct tn_gather to;

    tn_gather_init(&to, spans, TN_RX_SPANS_MAX);
    tn_spans_slice(&to, pkt->spans, pkt->nspans, pkt->off + (from - seg->seq), end - from);
    return to.n;
}

/* ---- out of order ---------------------------------------------------------------------------------------- */

/* What a piece costs: the buffer that it holds, however few bytes of it, and its own record (RES-3). */
static tenon_u32 ooo_cost(const struct tenon_span *span)
{
    return span->buf->size + (tenon_u32)sizeof(struct tn_ooo_piece);
}

static void ooo_account(struct tenon_tcp *conn, const struct tenon_span *span)
{
    conn->flight->ooo->bytes += ooo_cost(span);
    conn->stack->tcp.ooo_bytes += ooo_cost(span);
}

/* Within the limits of the connection, and of all together. */
static int ooo_may_hold(const struct tenon_tcp *conn, const struct tenon_span *span)
{
    const struct tenon *stack = conn->stack;
    const tenon_u32 cost = ooo_cost(span);

    return conn->flight->ooo->bytes + cost <= stack->conf.tcp_ooo_bytes_max &&
           stack->tcp.ooo_bytes + cost <= stack->conf.tcp_ooo_total_max;
}

static void ooo_free_pieces(struct tenon_tcp *conn, struct tn_ooo_piece *piece)
{
    while (piece != NULL) {
        struct tn_ooo_piece *next = piece->next;
        const tenon_u32 cost = ooo_cost(&piece->span);

        conn->flight->ooo->bytes -= cost;
        conn->stack->tcp.ooo_bytes -= cost;
        tenon_buf_put(piece->span.buf);
        tn_mem_put(conn->stack, piece, sizeof(*piece));
        piece = next;
    }
}

/* ---- runs by age ---- */

static void ooo_age_in(struct tn_ooo *ooo, struct tn_ooo_range *range)
{
    range->older = ooo->newest;
    ooo->newest = range;
}

/* What grows has mostly grown not long ago. */
static void ooo_age_out(struct tn_ooo *ooo, const struct tn_ooo_range *range)
{
    struct tn_ooo_range **link = &ooo->newest;

    while (*link != range) {
        TENON_ASSERT(*link != NULL);    /* it is in the list */
        link = &(*link)->older;
    }
    *link = range->older;
}

static void ooo_grown(struct tn_ooo *ooo, struct tn_ooo_range *range)
{
    if (ooo->newest == range)
        return;
    ooo_age_out(ooo, range);
    ooo_age_in(ooo, range);
}

/* The last run that begins at `seq` or before. It is looked for from the best of the runs that grew last.
 * @return NULL: all are behind it */
static struct tn_ooo_range *ooo_before(const struct tn_ooo *ooo, tenon_u32 seq)
{
    struct tn_ooo_range *best = NULL, *range = ooo->newest;
    unsigned i;

    for (i = 0; TENON_WITH_SPEED && i < OOO_HINTS && range != NULL; i++, range = range->older)
        if (tn_seq_le(range->seq, seq) && (best == NULL || tn_seq_gt(range->seq, best->seq)))
            best = range;
    range = best != NULL ? best->next : ooo->ranges;
    for (; range != NULL && tn_seq_le(range->seq, seq); range = range->next)
        best = range;
    return best;
}

/* ---- runs ---- */

static void ooo_free_range(struct tenon_tcp *conn, struct tn_ooo_range *range)
{
    ooo_free_pieces(conn, range->first);
    ooo_age_out(conn->flight->ooo, range);
    tn_mem_put(conn->stack, range, sizeof(*range));
    conn->flight->ooo->nranges--;
}

TENON_INTERNAL void tn_ooo_free(struct tenon_tcp *conn)
{
    struct tn_ooo *ooo = tn_ooo_of(conn);

    if (ooo == NULL)
        return;
    if (!TENON_WITH_RUNS)
        tn_early_free(conn);
    while (TENON_WITH_RUNS && ooo->ranges != NULL) {
        struct tn_ooo_range *range = ooo->ranges;

        ooo->ranges = range->next;
        ooo_free_range(conn, range);
    }
    conn->flight->ooo = NULL;
    tn_mem_put(conn->stack, ooo, sizeof(*ooo));
}

static int ooo_is_empty(const struct tn_ooo *ooo)
{
    return TENON_WITH_RUNS ? ooo->ranges == NULL && !ooo->has_fin : ooo->early == NULL;
}

static int ooo_exists(struct tenon_tcp *conn)
{
    struct tn_flight *flight;

    if (!TENON_WITH_SACK || !tn_tcp_needs_block(conn))
        return 0;
    flight = conn->flight;
    if (flight->ooo != NULL)
        return 1;
    flight->ooo = (struct tn_ooo *)tn_mem_get_clear(conn->stack, sizeof(*flight->ooo));
    return flight->ooo != NULL;
}

/* Text of a segment, as far as the list says, as pieces of it; of several that were merged as many as there is memory
 * for, within the limits: the list ends there. @return 0: not one */
static int ooo_make_pieces(struct tenon_tcp *conn, const struct tn_seg *seg, struct tn_ooo_range *list)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    const unsigned n = tn_text_spans(seg, spans, list->seq, list->end);
    unsigned i;

    list->first = list->last = NULL;
    list->end = list->seq;
    for (i = 0; i < n; i++) {
        struct tn_ooo_piece *piece = NULL;

        if (ooo_may_hold(conn, &spans[i]))
            piece = (struct tn_ooo_piece *)tn_mem_get(conn->stack, sizeof(*piece));
        if (piece == NULL)
            break;
        tenon_buf_ref(spans[i].buf);
        ooo_account(conn, &spans[i]);
        piece->span = spans[i];
        piece->next = NULL;
        if (list->last != NULL)
            list->last->next = piece;
        else
            list->first = piece;
        list->last = piece;
        list->end += piece->span.len;
    }
    return list->first != NULL;
}

static void ooo_append(struct tn_ooo_range *range, struct tn_ooo_range *more)
{
    if (range->last != NULL)
        range->last->next = more->first;
    else
        range->first = more->first;
    if (more->last != NULL)
        range->last = more->last;
    range->end = more->end;
}

/* Runs that have come to touch become one. */
static void ooo_join(struct tenon_tcp *conn, struct tn_ooo_range *range)
{
    struct tn_ooo_range *next = range->next;

    while (next != NULL && next->seq == range->end) {
        range->next = next->next;
        ooo_append(range, next);
        next->first = NULL;
        ooo_free_range(conn, next);
        next = range->next;
    }
}

/* A run of its own, behind the run `before` (NULL: the first). */
static int ooo_insert_range(struct tenon_tcp *conn, struct tn_ooo_range *before, const struct tn_ooo_range *list)
{
    struct tn_ooo *ooo = conn->flight->ooo;
    struct tn_ooo_range **link = before != NULL ? &before->next : &ooo->ranges;
    struct tn_ooo_range *range = NULL;

    if (ooo->nranges < conn->stack->conf.tcp_ooo_ranges_max)
        range = (struct tn_ooo_range *)tn_mem_get(conn->stack, sizeof(*range));
    if (range == NULL) {
        ooo_free_pieces(conn, list->first);
        return 0;
    }
    *range = *list;
    range->next = *link;
    *link = range;
    ooo->nranges++;
    ooo_age_in(ooo, range);
    ooo_join(conn, range);
    return 1;
}

/* Text of the segment from `seq` up to the next run, or to its end, where nothing is held yet. It continues the
 * run `before`, or is one of its own behind it. @return 0: no memory, or a limit */
static int ooo_fill(struct tenon_tcp *conn, const struct tn_seg *seg, struct tn_ooo_range *before, tenon_u32 *seq)
{
    struct tn_ooo *ooo = conn->flight->ooo;
    const struct tn_ooo_range *next = before != NULL ? before->next : ooo->ranges;
    const tenon_u32 end = seg->seq + seg->pkt->len;
    struct tn_ooo_range list;

    list.seq = *seq;
    list.end = next != NULL && tn_seq_lt(next->seq, end) ? next->seq : end;
    if (!ooo_make_pieces(conn, seg, &list))
        return 0;
    *seq = list.end;
    if (before == NULL || before->end != list.seq)
        return ooo_insert_range(conn, before, &list);
    ooo_append(before, &list);
    ooo_join(conn, before);
    return 1;
}

/* Text of the segment, already trimmed to the window, begins behind rcv_nxt. Where bytes are held already they
 * stay (SEC-8: what arrived first wins); only the gaps between them are filled. */
static int ooo_insert(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 end = seg->seq + seg->pkt->len;
    struct tn_ooo *ooo = conn->flight->ooo;
    tenon_u32 seq = seg->seq;
    int fresh = 0;

    if (!TENON_WITH_RUNS)
        return tn_early_add(conn, seg);
    while (tn_seq_lt(seq, end)) {
        struct tn_ooo_range *before = ooo_before(ooo, seq);

        if (before != NULL && tn_seq_le(seq, before->end))
            ooo_grown(ooo, before);
        if (before != NULL && tn_seq_lt(seq, before->end)) {
            tn_tcp_note_dup(conn, seq, tn_seq_min(before->end, end));
            seq = before->end;
            continue;
        }
        if (!ooo_fill(conn, seg, before, &seq))
            return 0;
        fresh = 1;
    }
    if (!fresh)
        tn_count(conn->stack, TENON_STAT_TCP_DUP_DATA);
    return 1;
}

/* ---- SACK ------------------------------------------------------------------------------------------------ */

/* Several at once are told as one if they touch; of others only the first is told (RFC 2883 4: one block). */
TENON_INTERNAL void tn_tcp_note_dup(struct tenon_tcp *conn, tenon_u32 left, tenon_u32 right)
{
    struct tn_flight *flight;

    if (!TENON_WITH_RECOVERY)
        return;
    if (!tn_tcp_has_sack(conn) || !tn_seq_lt(left, right))
        return;
    flight = tn_flight_get(conn);
    if (flight == NULL)
        return;    /* it need not be told */
    if (flight->dup_left == flight->dup_right) {
        flight->dup_left = left;
        flight->dup_right = right;
    } else if (tn_seq_le(left, flight->dup_right) && tn_seq_le(flight->dup_left, right)) {
        flight->dup_left = tn_seq_min(flight->dup_left, left);
        flight->dup_right = tn_seq_max(flight->dup_right, right);
    }
}

/* The first block: what lies below the acknowledgement, or in a run, which then is the second. What has been delivered
 * and is not acknowledged (by the application's wish) cannot be told: it would be taken for a SACK. */
static unsigned ooo_dup_block(struct tenon_tcp *conn, struct tn_tcp_options *options)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 left = flight->dup_left;
    tenon_u32 right = flight->dup_right;
    struct tn_ooo_range *run = TENON_WITH_RUNS && flight->ooo != NULL ? ooo_before(flight->ooo, left) : NULL;

    if (!TENON_WITH_RECOVERY)
        return 0;
    flight->dup_left = flight->dup_right = 0;    /* at most once per duplicate */
    if (run != NULL && tn_seq_lt(left, run->end))
        ooo_grown(flight->ooo, run);
    else
        right = tn_seq_min(right, conn->rcv_acked);
    if (!tn_seq_lt(left, right))
        return 0;
    options->sack_left[0] = left;
    options->sack_right[0] = right;
    return 1;
}

TENON_INTERNAL unsigned tn_ooo_sack_blocks(struct tenon_tcp *conn, struct tn_tcp_options *options)
{
    const struct tn_ooo_range *range;
    unsigned n = 0;

    if (!TENON_WITH_SACK)
        return 0;
    if (!tn_tcp_has_sack(conn) || !tn_tcp_has_block(conn))
        return 0;
    if (TENON_WITH_RECOVERY && conn->flight->dup_left != conn->flight->dup_right)
        n = ooo_dup_block(conn, options);
    if (conn->flight->ooo == NULL)
        return n;
    if (!TENON_WITH_RUNS)
        return tn_early_sack_blocks(conn->flight->ooo, options, n);
    /* RFC 2018 4: the run that grew last comes first, then the others by age. */
    for (range = conn->flight->ooo->newest; range != NULL && n < TN_SACK_BLOCKS_MAX; range = range->older) {
        options->sack_left[n] = range->seq;
        options->sack_right[n] = range->end;
        n++;
    }
    return n;
}

TENON_INTERNAL tenon_u32 tn_ooo_bytes(const struct tenon_tcp *conn)
{
    const struct tn_ooo_range *range = tn_ooo_of(conn) != NULL ? conn->flight->ooo->ranges : NULL;
    tenon_u32 bytes = 0;

    if (!TENON_WITH_RUNS)
        return tn_ooo_of(conn) != NULL ? tn_early_bytes(conn->flight->ooo) : 0;
    for (; range != NULL; range = range->next)
        bytes += range->end - range->seq;
    return bytes;
}

TENON_INTERNAL const char *tn_ooo_check(const struct tenon_tcp *conn)
{
    const struct tn_ooo *ooo = tn_ooo_of(conn);
    const struct tn_ooo_range *range;
    tenon_u32 edge = conn->rcv_nxt, bytes = 0;
    unsigned n = 0;

    if (ooo == NULL)
        return NULL;
    if (!TENON_WITH_RUNS)
        return tn_early_check(conn);
    for (range = ooo->ranges; range != NULL; range = range->next) {
        const struct tn_ooo_piece *piece;
        tenon_u32 len = 0;

        if (tn_seq_le(range->seq, edge) || tn_seq_ge(range->seq, range->end))
            return "the out-of-order runs overlap";
        for (piece = range->first; piece != NULL; piece = piece->next) {
            len += piece->span.len;
            bytes += ooo_cost(&piece->span);
        }
        if (len != range->end - range->seq)
            return "an out-of-order run has not the bytes that it says";
        edge = range->end;
        n++;
    }
    if (ooo->has_fin && tn_seq_gt(edge, ooo->fin_seq))
        return "text is held behind the FIN that waits";
    if (n != ooo->nranges || bytes != ooo->bytes)
        return "the sums of the out-of-order queue are wrong";
    for (range = ooo->newest; range != NULL && n > 0; range = range->older)
        n--;
    if (n != 0 || range != NULL)
        return "not every out-of-order run is in the list by age";
    n = ooo->nranges;
    return n > 0 || ooo->has_fin ? NULL : "an empty out-of-order queue exists";
}

/* ---- in order ----------------------------------------------------------------------------------------------- */

TENON_INTERNAL_HOT int tn_tcp_deliver(struct tenon_tcp *conn, const struct tenon_span *spans, unsigned n,
                                      tenon_u32 bytes)
{
    /* Its application may have closed it in the handler of the text before this. */
    if (TENON_UNLIKELY(conn->flags & TN_TCP_F_NO_READER)) {
        tn_tcp_nobody_reads(conn);
        return 0;
    }
    conn->rcv_nxt += bytes;
    conn->last_text_ms = conn->stack->now_ms;
    if (conn->events->received == NULL)
        return 1;
    conn->rcv_unconsumed += bytes;
    if (tn_tcp_is_by_hand(conn) && tn_tcp_needs_block(conn))
        conn->flight->rcv_held += bytes;
    conn->events->received(conn, conn->app, spans, n);
    return conn->state != TENON_TCP_CLOSED;
}

/* The first piece of the first run, which is the next in order. Its buffer is ours until the handler has seen it. */
static int text_deliver_piece(struct tenon_tcp *conn)
{
    struct tn_ooo *ooo = conn->flight->ooo;
    struct tn_ooo_range *range = ooo->ranges;
    struct tn_ooo_piece *piece = range->first;
    const struct tenon_span span = piece->span;
    int alive;

    tenon_buf_ref(span.buf);
    range->first = piece->next;
    range->seq += span.len;
    piece->next = NULL;
    ooo_free_pieces(conn, piece);
    if (range->first == NULL) {
        ooo->ranges = range->next;
        ooo_free_range(conn, range);
    }
    alive = tn_tcp_deliver(conn, &span, 1, span.len);
    tenon_buf_put(span.buf);
    return alive;
}

/* The hole is filled: what waited behind it comes now. @return 0: the connection is gone */
static int text_deliver_ooo(struct tenon_tcp *conn)
{
    const struct tn_ooo *ooo;

    if (!TENON_WITH_RUNS)
        return tn_early_deliver(conn);
    while ((ooo = tn_ooo_of(conn)) != NULL && ooo->ranges != NULL && tn_seq_le(ooo->ranges->seq, conn->rcv_nxt)) {
        TENON_ASSERT(ooo->ranges->seq == conn->rcv_nxt);    /* nothing was delivered past the first run */
        if (!text_deliver_piece(conn))
            return 0;
    }
    return 1;
}

/* ---- FIN ------------------------------------------------------------------------------------------------------ */

/* Eighth: the peer has finished, and everything before it is here. */
TENON_INTERNAL void tn_tcp_take_fin(struct tenon_tcp *conn)
{
    conn->rcv_nxt++;
    conn->flags |= TN_TCP_F_FIN_RCVD | TN_TCP_F_ACK_NOW;
    if (TENON_WITH_HOLD && tn_tcp_opt(conn, TENON_TCP_HOLD_FIN))
        conn->flags |= TN_TCP_F_FIN_HELD;
    if (tn_ooo_of(conn) != NULL)
        tn_ooo_free(conn);
    tn_tcp_make_ready(conn);
    if (tn_fastopen_is_early(conn))
        return;
    if (conn->state == TENON_TCP_ESTABLISHED)
        tn_tcp_set_state(conn, TENON_TCP_CLOSE_WAIT);
    else if (conn->state == TENON_TCP_FIN_WAIT_1)
        tn_tcp_set_state(conn, TENON_TCP_CLOSING);
    if (conn->events->finished != NULL)
        conn->events->finished(conn, conn->app);
    else if (conn->state == TENON_TCP_CLOSE_WAIT)
        (void)tenon_tcp_finish(conn);
    if (conn->state == TENON_TCP_FIN_WAIT_2 && !tn_tcp_holds(conn))
        tn_tcp_enter_time_wait(conn);
}

/* ---- the seventh step ---------------------------------------------------------------------------- */

/* What lies there or behind is not taken: the right edge of the window, or a FIN that has come (in the window), behind
 * which no text exists. */
static tenon_u32 text_edge(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const struct tn_ooo *ooo = TENON_WITH_RUNS ? tn_ooo_of(conn) : NULL;

    if (ooo == NULL || !ooo->has_fin)
        return conn->rcv_adv;
    if (tn_seq_gt(seg->seq + seg->pkt->len, ooo->fin_seq))
        tn_count(conn->stack, TENON_STAT_TCP_AFTER_FIN);
    return ooo->fin_seq;
}

/* Cut off what we have already and what lies outside of the window (RFC 9293 3.10.7.4; A.2), FIN included.
 * @return whether the segment's FIN is in the window, and news */
static int text_trim(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const tenon_u32 edge = text_edge(conn, seg);
    const int fin = (seg->flags & TN_TCP_FIN) != 0;
    tenon_u32 room;

    if (tn_seq_lt(seg->seq, conn->rcv_nxt)) {
        const tenon_u32 old = tn_min(conn->rcv_nxt - seg->seq, seg->pkt->len);

        tn_tcp_note_dup(conn, seg->seq, seg->seq + old);
        tn_pkt_pull(seg->pkt, old);
        seg->seq += old;
        tn_tcp_ack_now(conn);    /* part of it was a repetition: our ACK may have been lost */
    }
    room = tn_seq_lt(seg->seq, edge) ? edge - seg->seq : 0;
    if (seg->pkt->len + (tenon_u32)fin <= room)
        return fin;    /* it takes a number too (9293-SEQ-8) */
    tn_pkt_trim(seg->pkt, room);
    tn_tcp_ack_now(conn);
    return 0;
}

/* No full-sized segment is smaller than the default MSS (RFC 9293 3.7.1) less timestamps. */
enum { TEXT_FULL_MIN = 536 - 12 };

/* RFC 9293 3.8.6.3 (SHLD-18, SHLD-19): every second full-sized segment at once, else after a while. */
TENON_INTERNAL_HOT void tn_tcp_acknowledge(struct tenon_tcp *conn, tenon_u32 one)
{
    const tenon_u32 unacked = conn->rcv_nxt - conn->rcv_acked;

    tn_tcp_note_size(conn, one);
    if (tn_tcp_is_by_hand(conn))
        return;
    if (unacked >= 2UL * tn_max(conn->rcv_mss, TEXT_FULL_MIN) || tn_tcp_opt(conn, TENON_TCP_NO_DELAYED_ACK))
        tn_tcp_ack_now(conn);
    else
        tn_tcp_arm_delack(conn);
}

/* All of it, where nothing waits. @return 0: the connection is gone */
static int text_deliver_all(struct tenon_tcp *conn, struct tn_seg *seg)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    const tenon_u32 bytes = seg->pkt->len;

    if (!tn_tcp_deliver(conn, spans, tn_pkt_spans(seg->pkt, spans, TN_RX_SPANS_MAX), bytes))
        return 0;
    tn_pkt_pull(seg->pkt, bytes);
    seg->seq += bytes;
    return 1;
}

/* Up to the first run that waits, which then comes before what the segment says of the same bytes (SEC-8).
 * @return 0: the connection is gone */
static int text_deliver_part(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const struct tn_ooo *ooo = tn_ooo_of(conn);
    struct tenon_span spans[TN_RX_SPANS_MAX];
    tenon_u32 end = seg->seq + seg->pkt->len, known;

    if (TENON_WITH_RUNS && ooo != NULL && ooo->ranges != NULL)
        end = tn_seq_min(end, ooo->ranges->seq);
    if (!TENON_WITH_RUNS && ooo != NULL && ooo->early != NULL)
        end = tn_seq_min(end, ooo->early->seq);
    if (!tn_tcp_deliver(conn, spans, tn_text_spans(seg, spans, seg->seq, end), end - seg->seq) ||
        !text_deliver_ooo(conn))
        return 0;
    known = tn_min(conn->rcv_nxt - seg->seq, seg->pkt->len);
    tn_tcp_note_dup(conn, end, seg->seq + known);
    tn_pkt_pull(seg->pkt, known);
    seg->seq += known;
    return 1;
}

static void text_in_order(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const int filled_hole = tn_ooo_of(conn) != NULL;
    const tenon_u32 bytes = seg->pkt->len;

    if ((!TENON_SMALL || !TENON_WITH_SACK) && !filled_hole && !text_deliver_all(conn, seg))
        return;
    while (TENON_WITH_SACK && seg->pkt->len > 0)
        if (!text_deliver_part(conn, seg))
            return;
    tn_tcp_acknowledge(conn, TENON_WITH_SPEED && seg->pkt->seg_bytes != 0 ? seg->pkt->seg_bytes : bytes);
    if (filled_hole)
        tn_tcp_ack_now(conn);    /* RFC 5681 4.2 */
}

/* What has come in fragments lies in buffers of ours, and what it waits for may come so, too: that has to find some. */
enum { TEXT_FRAGMENTS_BUFS = 4 };

static int text_may_wait(const struct tenon_tcp *conn, const struct tn_seg *seg)
{
    if (!TENON_WITH_FRAGMENTS || !seg->pkt->fragmented)
        return 1;
    return !TENON_SMALL && tn_buf_may_keep(conn->stack, TEXT_FRAGMENTS_BUFS);
}

static void text_early(struct tenon_tcp *conn, struct tn_seg *seg)
{
    tn_count(conn->stack, TENON_STAT_TCP_OOO);
    if (!text_may_wait(conn, seg) || !ooo_exists(conn) || !ooo_insert(conn, seg))
        tn_count(conn->stack, TENON_STAT_TCP_OOO_DROP);
    tn_tcp_ack_now(conn);    /* RFC 5681 4.2 (MAY-13): a duplicate ACK at once */
}

static int ooo_reaches_beyond(const struct tn_ooo *ooo, tenon_u32 seq)
{
    const struct tn_ooo_range *range = ooo->ranges;

    while (range != NULL && tn_seq_le(range->end, seq))
        range = range->next;
    return range != NULL;
}

/* The first FIN that we hear of is the peer's last word (9293-SEQ-10), unless text behind it was there before (SEC-8):
 * delivering that would go past the FIN, which then cut off all that follows and never came. */
static void text_note_fin(struct tenon_tcp *conn, tenon_u32 fin_seq)
{
    struct tn_ooo *ooo = TENON_WITH_RUNS && ooo_exists(conn) ? conn->flight->ooo : NULL;

    if (ooo != NULL && ooo_reaches_beyond(ooo, fin_seq)) {
        tn_count(conn->stack, TENON_STAT_TCP_AFTER_FIN);
    } else if (ooo != NULL && !ooo->has_fin) {
        ooo->has_fin = 1;
        ooo->fin_seq = fin_seq;
    }
    tn_tcp_ack_now(conn);    /* RFC 5681 4.2, as often as it comes: the peer may be probing with it (RFC 8985 7.3) */
}

/* tenon_tcp_close() was called and the peer still sends: it must learn that nobody reads (9293-HC-4). */
TENON_INTERNAL void tn_tcp_nobody_reads(struct tenon_tcp *conn)
{
    tn_count(conn->stack, TENON_STAT_TCP_AFTER_CLOSE);
    tn_tcp_send_reset(conn);
    tn_tcp_end(conn, TENON_EABORTED);
}

/* The host has no buffer to spare (tenon_keep()): it is as if this text had been lost. Nor can what waits for it wait
 * any longer: of all that is held out of order that is what keeps buffers until this text has come (RFC 2018 8). And
 * who sends a fragment a minute is not to keep all text away: it makes room for what comes next. */
static void text_let_go(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    tn_count(conn->stack, TENON_STAT_RX_NOT_KEPT);
    if (seg->seq == conn->rcv_nxt) {
        tn_ooo_free(conn);
        if (TENON_WITH_FRAGMENTS)
            tn_reass_give_way(conn->stack);
    }
    tn_tcp_ack_now(conn);
}

/* TENON_KEEP_FIRST: who holds nothing gets something, whatever others hold. What it has read may wait in its
 * send queue, in the same buffers or in others, and that is not seen there; but who lets go of what it gets
 * is known by that. Or two hosts waited for each other, both sending, if others at either hold what the other
 * sends them. */
static int text_is_first(const struct tenon_tcp *conn, const struct tn_seg *seg)
{
    return TENON_WITH_MANY && conn->stack->keeps == TENON_KEEP_FIRST && seg->seq == conn->rcv_nxt &&
           conn->rcv_unconsumed == 0 && (tn_seq_ge(conn->snd_una, conn->snd_end) || !conn->flight->holds);
}

static tenon_u32 text_owners(const struct tn_pkt *pkt)
{
    tenon_u32 owners = 0;
    unsigned i;

    for (i = 0; i < pkt->nspans; i++)
        owners += pkt->spans[i].buf->refs;
    return owners;
}

/* And see whether the application holds it, or an answer to it. */
static void text_first(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const tenon_u32 owners = text_owners(seg->pkt), end = conn->snd_end;

    text_in_order(conn, seg);
    if (conn->state != TENON_TCP_CLOSED && tn_tcp_has_block(conn))
        conn->flight->holds = text_owners(seg->pkt) > owners || conn->snd_end != end;
}

TENON_INTERNAL void tn_tcp_text_input(struct tenon_tcp *conn, struct tn_seg *seg)
{
    const struct tn_ooo *ooo;
    tenon_u32 fin_seq;
    int fin;

    if (conn->state != TENON_TCP_ESTABLISHED && conn->state != TENON_TCP_FIN_WAIT_1 &&
        (conn->state != TENON_TCP_FIN_WAIT_2 || (conn->flags & TN_TCP_F_FIN_RCVD)) && !tn_fastopen_is_early(conn)) {
        tn_tcp_ack_now(conn);    /* the peer has finished before: a repetition, or nonsense */
        return;
    }
    fin = text_trim(conn, seg);
    fin_seq = seg->seq + seg->pkt->len;
    if (seg->pkt->len > 0) {
        if (conn->flags & TN_TCP_F_NO_READER) {
            tn_tcp_nobody_reads(conn);
            return;
        }
        if (conn->stack->keeps != TENON_KEEP_ALL && !text_is_first(conn, seg)) {
            text_let_go(conn, seg);
            return;
        }
        if (!tn_tcp_has_block(conn) && tn_tcp_is_by_hand(conn) && !tn_tcp_needs_block(conn)) {
            tn_count(conn->stack, TENON_STAT_TCP_OOO_DROP);
            return;    /* it could not be held: the peer sends it again */
        }
        if (TENON_WITH_MANY && conn->stack->keeps != TENON_KEEP_ALL)
            text_first(conn, seg);
        else if (seg->seq == conn->rcv_nxt)
            text_in_order(conn, seg);
        else
            text_early(conn, seg);
        if (conn->state == TENON_TCP_CLOSED)
            return;
    }
    if (fin && tn_seq_gt(fin_seq, conn->rcv_nxt))
        text_note_fin(conn, fin_seq);
    ooo = tn_ooo_of(conn);
    if ((fin && fin_seq == conn->rcv_nxt) ||
        (TENON_WITH_RUNS && ooo != NULL && ooo->has_fin && ooo->fin_seq == conn->rcv_nxt))
        tn_tcp_take_fin(conn);
    else if (ooo != NULL && ooo_is_empty(ooo))
        tn_ooo_free(conn);    /* nothing waits any more */
}
