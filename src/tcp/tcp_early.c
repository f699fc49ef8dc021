/* SPDX-License-Identifier: MIT */
/* Text that came too early, where TENON_WITH_RUNS is 0: one list in order of sequence, whose pieces stay as
 * they came. It is walked from its beginning for each segment, and its length is limited by the memory that
 * it holds. */
#include "tcp/tcp_internal.h"

/* What a piece costs: the buffer that it holds, however few bytes of it, and its own record (RES-3). */
static tenon_u32 early_cost(const struct tn_early *piece)
{
    return piece->span.buf->size + (tenon_u32)sizeof(*piece);
}

static tenon_u32 early_end(const struct tn_early *piece)
{
    return piece->seq + piece->span.len;
}

/* The first piece goes. Its buffer is the caller's. */
static struct tenon_span early_take(struct tenon_tcp *conn)
{
    struct tn_ooo *ooo = conn->flight->ooo;
    struct tn_early *piece = ooo->early;
    const struct tenon_span span = piece->span;

    ooo->early = piece->next;
    ooo->bytes -= early_cost(piece);
    conn->stack->tcp.ooo_bytes -= early_cost(piece);
    tn_mem_put(conn->stack, piece, sizeof(*piece));
    return span;
}

TENON_INTERNAL void tn_early_free(struct tenon_tcp *conn)
{
    while (conn->flight->ooo->early != NULL)
        tenon_buf_put(early_take(conn).buf);
}

/* A piece more, before *link. @return 0: no memory, or a limit: of the connection, or of all together (RES-3) */
static int early_hold(struct tenon_tcp *conn, struct tn_early **link, const struct tenon_span *span, tenon_u32 seq)
{
    const tenon_u32 cost = span->buf->size + (tenon_u32)sizeof(struct tn_early);
    struct tn_ooo *ooo = conn->flight->ooo;
    struct tenon *stack = conn->stack;
    struct tn_early *piece = NULL;

    if (ooo->bytes + cost <= stack->conf.tcp_ooo_bytes_max &&
        stack->tcp.ooo_bytes + cost <= stack->conf.tcp_ooo_total_max)
        piece = (struct tn_early *)tn_mem_get(stack, sizeof(*piece));
    if (piece == NULL)
        return 0;
    tenon_buf_ref(span->buf);
    piece->span = *span;
    piece->seq = seq;
    piece->next = *link;
    *link = piece;
    ooo->bytes += cost;
    stack->tcp.ooo_bytes += cost;
    return 1;
}

/* Where bytes are held already they stay (SEC-8: what arrived first wins). */
TENON_INTERNAL int tn_early_add(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tn_early **link = &conn->flight->ooo->early;
    const tenon_u32 end = seg->seq + seg->pkt->len;
    struct tenon_span spans[TN_RX_SPANS_MAX];
    tenon_u32 seq = seg->seq;

    conn->flight->ooo->newest_seq = seq;
    for (; tn_seq_lt(seq, end); link = &(*link)->next) {
        if (*link != NULL && tn_seq_le((*link)->seq, seq)) {
            seq = tn_seq_max(seq, early_end(*link));
            continue;
        }
        (void)tn_text_spans(seg, spans, seq, *link != NULL ? tn_seq_min((*link)->seq, end) : end);
        if (!early_hold(conn, link, spans, seq))
            return 0;
        seq = early_end(*link);
    }
    return 1;
}

TENON_INTERNAL int tn_early_deliver(struct tenon_tcp *conn)
{
    while (tn_ooo_of(conn) != NULL && conn->flight->ooo->early != NULL) {
        const tenon_u32 old = conn->rcv_nxt - conn->flight->ooo->early->seq;
        struct tenon_span span;
        int alive = 1;

        if (old & 0x80000000UL)
            return 1;
        span = early_take(conn);
        if (old < span.len) {
            span.off += old;
            span.len -= old;
            alive = tn_tcp_deliver(conn, &span, 1, span.len);
        }
        tenon_buf_put(span.buf);
        if (!alive)
            return 0;
    }
    return 1;
}

/* RFC 2018 4: what has come last is in the first block, however many there are. The last one has room for any other. */
TENON_INTERNAL unsigned tn_early_sack_blocks(const struct tn_ooo *ooo, struct tn_tcp_options *options, unsigned n)
{
    const struct tn_early *piece = ooo->early;
    const unsigned first = n;

    while (piece != NULL) {
        const tenon_u32 left = piece->seq;
        unsigned at = n < TN_SACK_BLOCKS_MAX ? n++ : (unsigned)TN_SACK_BLOCKS_MAX - 1;
        tenon_u32 right;

        do {
            right = early_end(piece);
            piece = piece->next;
        } while (piece != NULL && piece->seq == right);
        if (ooo->newest_seq - left < right - left) {
            options->sack_left[at] = options->sack_left[first];
            options->sack_right[at] = options->sack_right[first];
            at = first;
        }
        options->sack_left[at] = left;
        options->sack_right[at] = right;
    }
    return n;
}

TENON_INTERNAL tenon_u32 tn_early_bytes(const struct tn_ooo *ooo)
{
    const struct tn_early *piece;
    tenon_u32 bytes = 0;

    for (piece = ooo->early; piece != NULL; piece = piece->next)
        bytes += piece->span.len;
    return bytes;
}

TENON_INTERNAL const char *tn_early_check(const struct tenon_tcp *conn)
{
    const struct tn_ooo *ooo = conn->flight->ooo;
    tenon_u32 edge = conn->rcv_nxt + 1, bytes = 0;
    const struct tn_early *piece;

    for (piece = ooo->early; piece != NULL; piece = piece->next) {
        if (tn_seq_lt(piece->seq, edge) || piece->span.len == 0)
            return "the pieces that came early overlap";
        edge = early_end(piece);
        bytes += early_cost(piece);
    }
    if (bytes != ooo->bytes)
        return "the sum of what came early is wrong";
    return ooo->early != NULL ? NULL : "an empty out-of-order queue exists";
}
