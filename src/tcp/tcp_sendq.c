/* SPDX-License-Identifier: MIT */
/* The send queue: spans in order of sequence, from snd_una to snd_end. Nothing is copied here but what
 * tenon_tcp_write() brings, and that into buffers which are filled up before another is taken. */
#include "tcp/tcp_internal.h"

enum { SENDQ_CAP_MAX = 16384 };

/* Without TENON_WITH_QUEUE there are few pieces, and the first is always the first of them. */
static struct tn_sendq_piece *sendq_at(struct tn_sendq *queue, unsigned i)
{
    if (!TENON_WITH_QUEUE)
        return &TENON_CONTAINER(queue, struct tn_flight, sendq)->few_pieces[i];
    return &queue->ring[(queue->head + i) & (queue->cap - 1U)];
}

/* The first of them. */
TENON_INLINE struct tn_sendq_piece *sendq_first(struct tn_sendq *queue)
{
    return TENON_WITH_QUEUE ? &queue->ring[queue->head] : sendq_at(queue, 0);
}

static size_t sendq_ring_bytes(unsigned cap)
{
    return (size_t)cap * sizeof(struct tn_sendq_piece);
}

static void sendq_release_ring(struct tenon_tcp *conn)
{
    struct tn_sendq *queue = &conn->flight->sendq;

    if (!TENON_WITH_QUEUE)
        return;
    if (queue->ring != conn->flight->few_pieces)
        tn_mem_put(conn->stack, queue->ring, sendq_ring_bytes(queue->cap));
    queue->ring = conn->flight->few_pieces;
    queue->cap = TN_SENDQ_FEW;
    queue->head = 0;
}

TENON_APART int sendq_grow(struct tenon_tcp *conn)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    const unsigned cap = 2U * queue->cap;
    struct tn_sendq_piece *ring;
    unsigned i;

    if (!TENON_WITH_QUEUE || cap > SENDQ_CAP_MAX)
        return TENON_EAGAIN;
    ring = (struct tn_sendq_piece *)tn_mem_get(conn->stack, sendq_ring_bytes(cap));
    if (ring == NULL)
        return TENON_ENOMEM;
    for (i = 0; i < queue->count; i++)
        ring[i] = *sendq_at(queue, i);
    sendq_release_ring(conn);
    queue->ring = ring;
    queue->cap = (tenon_u16)cap;
    return TENON_OK;
}

/* A new last piece, taking over one reference on its buffer. */
TENON_HOT int sendq_append(struct tenon_tcp *conn, const struct tenon_span *span)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    struct tn_sendq_piece *piece;
    int error;

    if (queue->count == (TENON_WITH_QUEUE ? queue->cap : (unsigned)TN_SENDQ_FEW)) {
        error = sendq_grow(conn);
        if (error != TENON_OK)
            return error;
    }
    piece = sendq_at(queue, queue->count);
    piece->buf = span->buf;
    piece->off = span->off;
    piece->len = span->len;
    piece->seq = conn->snd_end;
    queue->count++;
    conn->snd_end += span->len;
    return TENON_OK;
}

/* TN_SENDQ_FEW_BYTES at most, without a loop: the first and the last of them, which overlap. */
TENON_HOT void sendq_copy_few(tenon_u8 *to, const tenon_u8 *from, tenon_u32 n)
{
    if (n < 4) {
        to[n - 1] = from[n - 1];
        to[n >> 1] = from[n >> 1];
        to[0] = from[0];
    } else if (n > 32) {
        TENON_COPY(to, from, 32);
        TENON_COPY(to + n - 32, from + n - 32, 32);
    } else if (n > 16) {
        TENON_COPY(to, from, 16);
        TENON_COPY(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        TENON_COPY(to + n - 8, from + n - 8, 8);
        TENON_COPY(to, from, 8);
    } else {
        TENON_COPY(to + n - 4, from + n - 4, 4);
        TENON_COPY(to, from, 4);
    }
}

TENON_HOT void sendq_copy(tenon_u8 *to, const tenon_u8 *from, tenon_u32 n)
{
    if (TENON_SMALL || n > TN_SENDQ_FEW_BYTES)
        memcpy(to, from, n);
    else
        sendq_copy_few(to, from, n);
}

/* A small span behind others that wait will leave together with them, and joined they are one piece to remember, to
 * gather and to release. A span that will leave alone is copied once at most, behind its headers. */
TENON_HOT int sendq_may_join(const struct tenon_tcp *conn, const struct tenon_span *span)
{
    return TENON_WITH_SPEED && span->len < conn->stack->conf.tcp_copy_max && conn->snd_end != conn->snd_nxt;
}

/* The last piece, if its buffer is ours and has room for n bytes more; else NULL. */
TENON_HOT struct tn_sendq_piece *sendq_open_tail(struct tn_sendq *queue, tenon_u32 n)
{
    struct tn_sendq_piece *tail = sendq_at(queue, queue->count - 1U);

    return queue->tail_open && tail->buf->size - tail->off - tail->len >= n ? tail : NULL;
}

/* So many bytes more are in the last piece. */
TENON_HOT void sendq_joined(struct tenon_tcp *conn, struct tn_sendq_piece *tail, tenon_u32 n)
{
    tail->len += n;
    conn->snd_end += n;
    tn_count_n(conn->stack, TENON_STAT_COPIED_BYTES, n);
}

TENON_INTERNAL_HOT int tn_sendq_is_open(const struct tenon_tcp *conn)
{
    return tn_tcp_has_block(conn) && conn->flight->sendq.tail_open;
}

/* Without a call of another function, for which registers would have to be saved. */
TENON_INTERNAL_HOT int tn_sendq_add(struct tenon_tcp *conn, const tenon_u8 *bytes, tenon_u32 n)
{
    struct tn_sendq_piece *tail = sendq_open_tail(&conn->flight->sendq, n);

    if (tail == NULL)
        return 0;
    sendq_copy_few(tail->buf->data + tail->off + tail->len, bytes, n);
    sendq_joined(conn, tail, n);
    return 1;
}

TENON_INTERNAL_HOT int tn_sendq_join(struct tenon_tcp *conn, const struct tenon_span *span)
{
    return sendq_may_join(conn, span) && tn_sendq_add(conn, tenon_span_data(span), span->len);
}

/* Into the last buffer or a fresh one, which is filled up later. @return 0: there is none */
TENON_APART int sendq_join_any(struct tenon_tcp *conn, const struct tenon_span *span)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    struct tn_sendq_piece *tail = sendq_open_tail(queue, span->len);
    struct tenon_span copy;

    if (tail != NULL) {
        memcpy(tail->buf->data + tail->off + tail->len, tenon_span_data(span), span->len);
        sendq_joined(conn, tail, span->len);
        return 1;
    }
    copy.buf = tn_buf_get_to_send(conn->stack);
    if (copy.buf == NULL)
        return 0;
    copy.off = 0;
    copy.len = span->len;
    if (copy.buf->size < copy.len || sendq_append(conn, &copy) != TENON_OK) {
        tenon_buf_put(copy.buf);
        return 0;
    }
    memcpy(copy.buf->data, tenon_span_data(span), copy.len);
    queue->tail_open = 1;
    tn_count_n(conn->stack, TENON_STAT_COPIED_BYTES, copy.len);
    return 1;
}

TENON_INTERNAL int tn_sendq_push(struct tenon_tcp *conn, const struct tenon_span *span)
{
    int error;

    if (!tn_tcp_needs_block(conn))
        return TENON_ENOMEM;
    if (sendq_may_join(conn, span) && sendq_join_any(conn, span))
        return TENON_OK;
    error = sendq_append(conn, span);
    if (error != TENON_OK) {
        tn_flight_rest(conn);
        return error;
    }
    tenon_buf_ref(span->buf);
    conn->flight->sendq.tail_open = 0;
    return TENON_OK;
}

TENON_INTERNAL_HOT void tn_sendq_first(struct tenon_tcp *conn, const struct tenon_span *span)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    struct tn_sendq_piece *piece;

    tenon_buf_ref(span->buf);
    queue->head = 0;    /* so that few have to be near */
    piece = sendq_first(queue);
    piece->buf = span->buf;
    piece->off = span->off;
    piece->len = span->len;
    piece->seq = conn->snd_end;
    queue->count = 1;
    queue->tail_open = 0;
    conn->snd_end += span->len;
}

/* Fill up the last buffer, which is ours. @return bytes taken */
static tenon_u32 sendq_fill_tail(struct tenon_tcp *conn, const tenon_u8 *bytes, tenon_u32 n)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    struct tn_sendq_piece *piece;
    tenon_u32 room;

    if (queue->count == 0 || !queue->tail_open)
        return 0;
    piece = sendq_at(queue, queue->count - 1U);
    room = tn_min(n, piece->buf->size - piece->off - piece->len);
    memcpy(piece->buf->data + piece->off + piece->len, bytes, room);
    piece->len += room;
    conn->snd_end += room;
    return room;
}

/* A fresh buffer, to be filled up. @return 0: there is none */
static int sendq_new_tail(struct tenon_tcp *conn)
{
    struct tenon_span span;

    span.buf = tn_buf_get_to_send(conn->stack);
    if (span.buf == NULL)
        return 0;
    span.off = span.len = 0;
    if (sendq_append(conn, &span) != TENON_OK) {
        tenon_buf_put(span.buf);
        return 0;
    }
    conn->flight->sendq.tail_open = 1;
    return 1;
}

TENON_INTERNAL tenon_u32 tn_sendq_write(struct tenon_tcp *conn, const tenon_u8 *bytes, tenon_u32 n)
{
    tenon_u32 done = 0;

    if (!tn_tcp_needs_block(conn))
        return 0;
    do
        done += sendq_fill_tail(conn, bytes + done, n - done);
    while (done < n && sendq_new_tail(conn));
    tn_count_n(conn->stack, TENON_STAT_COPIED_BYTES, done);
    if (done == 0)
        tn_flight_rest(conn);
    return done;
}

/* The first piece is done with. */
static void sendq_drop_first(struct tn_sendq *queue)
{
    queue->count--;
    if (TENON_WITH_QUEUE)
        queue->head = (tenon_u16)((queue->head + 1U) & (queue->cap - 1U));
    else
        memmove(sendq_at(queue, 0), sendq_at(queue, 1), queue->count * sizeof(struct tn_sendq_piece));
}

static void sendq_pop_many(struct tenon_tcp *conn, tenon_u32 seq)
{
    struct tn_sendq *queue = &conn->flight->sendq;

    while (queue->count > 0) {
        struct tn_sendq_piece *piece = sendq_at(queue, 0);
        const tenon_u32 gone = seq - piece->seq;

        if (tn_seq_le(seq, piece->seq))
            return;
        if (gone < piece->len) {
            piece->off += gone;
            piece->len -= gone;
            piece->seq = seq;
            return;
        }
        tenon_buf_put(piece->buf);
        sendq_drop_first(queue);
    }
    queue->tail_open = 0;
    if (TENON_WITH_QUEUE && queue->cap > TN_SENDQ_FEW)
        sendq_release_ring(conn);    /* what a burst needed is not kept */
}

/* Mostly the one piece that is there. */
TENON_INTERNAL_HOT void tn_sendq_pop(struct tenon_tcp *conn, tenon_u32 seq)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    const struct tn_sendq_piece *piece = sendq_at(queue, 0);

    if (TENON_SMALL || queue->count != 1 || (TENON_WITH_QUEUE && queue->cap != TN_SENDQ_FEW) ||
        piece->seq + piece->len != seq) {
        sendq_pop_many(conn, seq);
        return;
    }
    queue->tail_open = 0;
    queue->head = 0;    /* so that few have to be near */
    queue->count = 0;
    tenon_buf_put(piece->buf);
}

/* Index of the piece that holds `seq`, by bisection; of few, one before it. */
static unsigned sendq_find(struct tn_sendq *queue, tenon_u32 seq)
{
    unsigned low = 0, high = queue->count;

    if (!TENON_WITH_QUEUE)
        return 0;
    while (high - low > 1) {
        const unsigned middle = low + (high - low) / 2;

        if (tn_seq_le(sendq_at(queue, middle)->seq, seq))
            low = middle;
        else
            high = middle;
    }
    return low;
}

TENON_INTERNAL void tn_sendq_slice(const struct tenon_tcp *conn, struct tn_gather *to, tenon_u32 seq, tenon_u32 len)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    unsigned i;

    for (i = sendq_find(queue, seq); to->n < to->max && len > 0; i++) {
        const struct tn_sendq_piece *piece = sendq_at(queue, i);
        struct tenon_span *span = &to->spans[to->n];
        const tenon_u32 skip = seq - piece->seq;

        TENON_ASSERT(i < queue->count);
        if (!TENON_WITH_QUEUE && skip >= piece->len)
            continue;
        TENON_ASSERT(skip < piece->len);
        span->buf = piece->buf;
        span->off = piece->off + skip;
        span->len = tn_min(piece->len - skip, len);
        seq += span->len;
        len -= span->len;
        to->bytes += span->len;
        to->n++;
    }
}

static void sendq_copy_many(const struct tenon_tcp *conn, tenon_u8 *bytes, tenon_u32 seq, tenon_u32 len)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    unsigned i;

    for (i = sendq_find(queue, seq); len > 0; i++) {
        const struct tn_sendq_piece *piece = sendq_at(queue, i);
        const tenon_u32 skip = seq - piece->seq, n = tn_min(piece->len - skip, len);

        if (!TENON_WITH_QUEUE && skip >= piece->len)
            continue;
        memcpy(bytes, piece->buf->data + piece->off + skip, n);
        bytes += n;
        seq += n;
        len -= n;
    }
}

/* Mostly a part of the last piece. */
TENON_INTERNAL_HOT void tn_sendq_copy(const struct tenon_tcp *conn, tenon_u8 *bytes, tenon_u32 seq, tenon_u32 len)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    const struct tn_sendq_piece *last;
    tenon_u32 skip;

    if (len == 0)
        return;
    tn_count_n(conn->stack, TENON_STAT_COPIED_BYTES, len);
    last = sendq_at(queue, queue->count - 1U);
    skip = seq - last->seq;
    if (TENON_SMALL || tn_seq_lt(seq, last->seq) || len > last->len - skip)
        sendq_copy_many(conn, bytes, seq, len);
    else
        sendq_copy(bytes, last->buf->data + last->off + skip, len);
}

/* Mostly one piece. */
TENON_INTERNAL_HOT void tn_sendq_copy_all(const struct tenon_tcp *conn, tenon_u8 *bytes, tenon_u32 len)
{
    const struct tn_sendq_piece *first = sendq_first(&conn->flight->sendq);

    tn_count_n(conn->stack, TENON_STAT_COPIED_BYTES, len);
    if (first->len == len)
        sendq_copy(bytes, first->buf->data + first->off, len);
    else
        sendq_copy_many(conn, bytes, first->seq, len);
}

TENON_INTERNAL void tn_sendq_free(struct tenon_tcp *conn)
{
    struct tn_sendq *queue = &conn->flight->sendq;
    unsigned i;

    for (i = 0; i < queue->count; i++)
        tenon_buf_put(sendq_at(queue, i)->buf);
    sendq_release_ring(conn);
}

TENON_INTERNAL const char *tn_sendq_check(const struct tenon_tcp *conn)
{
    const tenon_u32 begin =
        conn->state <= TENON_TCP_SYN_RECEIVED ? tn_seq_max(conn->snd_una, conn->flight->iss + 1) : conn->snd_una;
    struct tn_sendq *queue = &conn->flight->sendq;
    tenon_u32 seq = conn->snd_end;
    unsigned i;

    for (i = queue->count; i > 0; i--) {
        const struct tn_sendq_piece *piece = sendq_at(queue, i - 1);

        if (piece->len == 0)
            return "a piece of the send queue is empty";
        if (piece->off + piece->len > piece->buf->size)
            return "a piece of the send queue reaches past its buffer";
        seq -= piece->len;
        if (piece->seq != seq)
            return "the send queue has a gap";
    }
    if (queue->count > 0 && seq != begin)
        return "the send queue does not begin at snd_una";
    return NULL;
}
