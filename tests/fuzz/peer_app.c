/* SPDX-License-Identifier: MIT */
/* The application above the instance: it keeps accounts and looks at every byte. */
#include "peer.h"

#include <string.h>

/* ---- the two streams ------------------------------------------------------------------------- */

static uint8_t app_byte(uint32_t off)
{
    return (uint8_t)(off * 31U + (off >> 8) * 7U + (off >> 16) + 3U);
}

static uint8_t peer_byte(uint32_t off)
{
    return (uint8_t)(off * 29U + (off >> 8) * 11U + (off >> 16) + 5U);
}

/* The beginning of a stream, worked out once for all inputs: comparing it is most of a target's work otherwise. */
struct stream {
    uint8_t (*byte)(uint32_t off);
    uint8_t ready, bytes[STREAM_MAX];
};

static struct stream app_stream = { app_byte, 0, { 0 } }, peer_stream = { peer_byte, 0, { 0 } };

/* Bytes off..off+n, or NULL if they do not lie in the beginning. */
static const uint8_t *stream_at(struct stream *stream, uint32_t off, uint32_t n)
{
    uint32_t i;

    if (!stream->ready)
        for (i = 0; i < STREAM_MAX; i++)
            stream->bytes[i] = stream->byte(i);
    stream->ready = 1;
    return off < STREAM_MAX && n <= STREAM_MAX - off ? stream->bytes + off : NULL;
}

static void stream_copy(struct stream *stream, uint8_t *to, uint32_t off, uint32_t n)
{
    const uint8_t *from = stream_at(stream, off, n);
    uint32_t i;

    if (from)
        memcpy(to, from, n);
    for (i = 0; !from && i < n; i++)
        to[i] = stream->byte(off + i);
}

void app_bytes(uint8_t *to, uint32_t off, uint32_t n)
{
    stream_copy(&app_stream, to, off, n);
}

void peer_bytes(uint8_t *to, uint32_t off, uint32_t n)
{
    stream_copy(&peer_stream, to, off, n);
}

static void stream_compare(struct stream *stream, const uint8_t *bytes, uint32_t off, uint32_t n)
{
    const uint8_t *truth = stream_at(stream, off, n);
    uint32_t i;

    if (truth && memcmp(truth, bytes, n) == 0)
        return;
    for (i = 0; i < n; i++)
        if (bytes[i] != stream->byte(off + i))
            fuzz_fail("byte %u of the stream is %u and was sent or written as %u", off + i, bytes[i],
                      stream->byte(off + i));
}

void app_compare(const uint8_t *bytes, uint32_t off, uint32_t n)
{
    stream_compare(&app_stream, bytes, off, n);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void act_in_handler(struct peer *p)
{
    const unsigned act = p->handler_act;

    p->handler_act = 0;
    if (act > 0 && p->conn)
        app_act(p, act);
}

static void must_live(const struct peer *p, const char *event)
{
    if (p->closed)
        fuzz_fail("%s() after closed()", event);
}

static enum tenon_verdict on_incoming(struct tenon_tcp *conn, void *app)
{
    struct peer *p = app;

    if (p->had_conn)
        return TENON_REFUSE;
    p->had_conn = 1;
    p->conn = conn;
    return p->hold ? TENON_HOLD : TENON_ACCEPT;
}

static void on_opened(struct tenon_tcp *conn, void *app)
{
    struct peer *p = app;

    must_live(p, "opened");
    if (p->opened || conn != p->conn)
        fuzz_fail("opened() twice, or for another connection");
    p->opened = 1;
    act_in_handler(p);
}

static void on_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct peer *p = app;
    const uint32_t before = p->received;
    unsigned i;

    (void)conn;
    must_live(p, "received");
    if (p->peer_finished)
        fuzz_fail("data after finished()");
    for (i = 0; i < n; i++) {
        stream_compare(&peer_stream, tenon_span_data(&spans[i]), p->received, spans[i].len);
        p->received += spans[i].len;
    }
    if (p->received == before)
        fuzz_fail("received() of nothing");
    if (p->received > p->sent)
        fuzz_fail("%u bytes received and %u sent", p->received, p->sent);
    if (!p->lazy)
        app_consume(p, p->received - before);
    act_in_handler(p);
}

static void on_acked(struct tenon_tcp *conn, void *app, uint32_t bytes)
{
    struct peer *p = app;
    uint32_t said;

    (void)conn;
    must_live(p, "acked");
    p->acked += bytes;
    if (p->acked > p->written)
        fuzz_fail("%u bytes acknowledged of %u written", p->acked, p->written);
    /* What the instance has sent and nobody has seen can be guessed. */
    said = p->unseen ? p->said : p->claimed;
    if (p->acked > said)
        fuzz_fail("%u bytes acknowledged, and the peer has said %u", p->acked, said);
    act_in_handler(p);
}

static void on_finished(struct tenon_tcp *conn, void *app)
{
    struct peer *p = app;

    (void)conn;
    must_live(p, "finished");
    if (p->peer_finished)
        fuzz_fail("finished() twice");
    if (!p->chaos && (!p->fin_sent || p->received != p->fin_at))
        fuzz_fail("finished() at %u; the FIN stands at %u", p->received, p->fin_at);
    p->peer_finished = 1;
    act_in_handler(p);
}

static void on_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct peer *p = app;

    must_live(p, "closed");
    if (conn != p->conn)
        fuzz_fail("closed() for another connection");
    if (why == TENON_OK && !p->chaos && p->acked != p->written)
        fuzz_fail("closed() says OK, and %u of %u bytes are acknowledged", p->acked, p->written);
    p->closed = 1;
    p->why = why;
    p->conn = NULL;
}

static void on_urgent(struct tenon_tcp *conn, void *app, uint32_t ahead)
{
    (void)conn;
    must_live(app, "urgent");
    if (ahead > (1UL << 30) + 65536)    /* the pointer of a segment anywhere in the largest window */
        fuzz_fail("urgent data %u bytes ahead", ahead);
}

static void on_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    (void)conn;
    (void)error;
    must_live(app, "soft_error");
}

const struct tenon_tcp_events peer_events = {
    on_incoming, on_opened, on_received, on_acked, on_finished, on_closed, on_urgent, on_soft_error,
};

/* ---- calls ----------------------------------------------------------------------------------- */

/* As much as there is room for in the model's book of what has arrived. */
static uint32_t may_write(const struct peer *p, uint32_t n)
{
    const uint32_t room = STREAM_MAX - 8 - p->written;

    return n < room ? n : room;
}

void app_write(struct peer *p, uint32_t n)
{
    static uint8_t bytes[STREAM_MAX];
    tenon_i32 taken;

    n = may_write(p, n);
    if (!p->conn || n == 0)
        return;
    app_bytes(bytes, p->written, n);
    taken = tenon_tcp_write(p->conn, bytes, n);
    if (taken > (tenon_i32)n)
        fuzz_fail("tenon_tcp_write() took %d of %u bytes", (int)taken, n);
    if (taken > 0 && (p->finished || p->closing))
        fuzz_fail("tenon_tcp_write() took bytes after the end");
    if (taken > 0)
        p->written += (uint32_t)taken;
}

void app_send(struct peer *p, uint32_t n)
{
    struct tenon_span span;

    n = may_write(p, n);
    if (!p->conn || n == 0)
        return;
    span.buf = fuzz_buf(&p->w, n);
    span.off = 0;
    span.len = n;
    app_bytes(span.buf->data, p->written, n);
    if (tenon_tcp_send(p->conn, &span) == TENON_OK) {
        if (p->finished || p->closing)
            fuzz_fail("tenon_tcp_send() took bytes after the end");
        p->written += n;
    }
    tenon_buf_put(span.buf);
}

void app_consume(struct peer *p, uint32_t n)
{
    if (n > p->received - p->consumed)
        n = p->received - p->consumed;
    if (!p->conn || n == 0)
        return;
    p->consumed += n;
    tenon_tcp_consumed(p->conn, n);
}

static void app_end(struct peer *p, unsigned act)
{
    if (act == 1) {
        p->finished |= tenon_tcp_finish(p->conn) == TENON_OK;
    } else if (act == 2) {
        p->closing = 1;
        tenon_tcp_close(p->conn);
    } else {
        tenon_tcp_abort(p->conn);
        if (!p->closed || p->why != TENON_EABORTED)
            fuzz_fail("tenon_tcp_abort() has not called closed()");
    }
}

/* What an event may do, too: 1 to 9. */
void app_act(struct peer *p, unsigned act)
{
    if (!p->conn)
        return;
    switch (act % 10) {
    case 1:
    case 2:
    case 3: app_end(p, act % 10); break;
    case 4: app_write(p, 700); break;
    case 5: app_send(p, 3000); break;
    case 6: app_consume(p, 100000); break;
    case 7: (void)tenon_tcp_set(p->conn, TENON_TCP_RCV_BUF, 3000); break;
    case 8: (void)tenon_tcp_urgent(p->conn); break;
    case 9: app_write(p, 20000); break;
    default: break;
    }
}

/* The core's accounts and ours. */
void app_check(struct peer *p)
{
    struct tenon_tcp_info info;

    if (!p->conn)
        return;
    tenon_tcp_status(p->conn, &info);
    if (info.rcv_unconsumed != p->received - p->consumed)
        fuzz_fail("rcv_unconsumed is %u; received %u, consumed %u", info.rcv_unconsumed, p->received, p->consumed);
    if (info.snd_queued < p->written - p->acked || info.snd_queued > p->written - p->acked + 2)
        fuzz_fail("snd_queued is %u; written %u, acknowledged %u", info.snd_queued, p->written, p->acked);
    if (info.snd_unsent > info.snd_queued)
        fuzz_fail("%u unsent of %u queued", info.snd_unsent, info.snd_queued);
    if (p->opened && (info.cwnd == 0 || info.mss == 0))
        fuzz_fail("cwnd %u, mss %u", info.cwnd, info.mss);
}
