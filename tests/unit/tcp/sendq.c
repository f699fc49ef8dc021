/* SPDX-License-Identifier: MIT */
/* Copies and spans of the application in one send queue. */
#include "segment.h"
#include "core.h"

enum { ISS = 7000, PIECE = 600, SPARE = 300 };

static struct tenon_tcp *server;

static void opened(struct tenon_tcp *conn, void *app)
{
    (void)app;
    server = conn;
}

static void peer_says(struct hn *hn, unsigned flags, tenon_u32 seq, tenon_u32 ack)
{
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = hn_ip("198.51.100.7");
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = 4000;
    seg.dport = 80;
    seg.seq = seq;
    seg.ack = ack;
    seg.flags = flags;
    seg.wnd = 30000;
    seg_inject(hn, &seg);
    hn_run_ms(hn, 1);
}

static void open_server(struct hn *hn)
{
    static const struct tenon_tcp_events events = { .opened = opened };
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    struct seg seg;

    seg_open(hn, NULL);
    memset(&at, 0, sizeof at);
    at.port = 80;
    server = NULL;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, &events, NULL, 8), TENON_OK);
    peer_says(hn, SEG_SYN, ISS, 0);
    HN_CHECK(seg_next(hn, &seg));
    peer_says(hn, SEG_ACK, ISS + 1, seg.seq + 1);
    HN_CHECK(server != NULL);
    hn_forget(hn);
}

/* Written, given, written: what is written fills up buffers of the core, and none of the application,
 * whatever room it has. */
static void written_behind_a_span(void)
{
    tenon_u8 bytes[PIECE], got[4 * PIECE];
    struct tenon_span span;
    struct hn hn;
    struct seg seg;
    unsigned n = 0;

    open_server(&hn);
    span.buf = hn_buf(&hn, PIECE + SPARE);
    span.off = 0;
    span.len = PIECE;
    memset(span.buf->data, 2, PIECE);
    memset(span.buf->data + PIECE, 0xEE, SPARE);
    memset(bytes, 1, sizeof bytes);
    HN_EQUAL(tenon_tcp_write(server, bytes, PIECE), PIECE);
    HN_EQUAL(tenon_tcp_send(server, &span), TENON_OK);
    memset(bytes, 3, sizeof bytes);
    HN_EQUAL(tenon_tcp_write(server, bytes, PIECE), PIECE);
    memset(bytes, 4, sizeof bytes);
    HN_EQUAL(tenon_tcp_write(server, bytes, PIECE), PIECE);
    for (unsigned i = 0; i < SPARE; i++)
        HN_EQUAL(span.buf->data[PIECE + i], 0xEE);
    hn_run_ms(&hn, 1);
    while (seg_next(&hn, &seg)) {
        HN_CHECK(n + seg.len <= sizeof got);
        memcpy(got + n, seg.payload, seg.len);
        n += seg.len;
    }
    HN_EQUAL(n, sizeof got);
    for (unsigned i = 0; i < n; i++)
        HN_EQUAL(got[i], 1 + i / PIECE);
    tenon_buf_put(span.buf);
    hn_close(&hn);
}

/* As many as the connection takes, over more than one buffer, in pieces of all small sizes; then it is full,
 * and then it is closed. */
static void small_writes(void)
{
    enum { ROOM = 3001, LONGEST = 66 };
    static tenon_u8 bytes[ROOM + LONGEST], got[ROOM];
    unsigned n = 0, len = 1;
    struct hn hn;
    struct seg seg;

    open_server(&hn);
    HN_EQUAL(tenon_tcp_set(server, TENON_TCP_SND_BUF, ROOM), TENON_OK);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (tenon_u8)(i * 7 + i / 251);
    for (; n < ROOM; len = len % LONGEST + 1) {
        const unsigned fits = ROOM - n < len ? ROOM - n : len;

        HN_EQUAL(tenon_tcp_room(server), ROOM - n);
        HN_EQUAL(tenon_tcp_write(server, bytes + n, len), fits);
        n += fits;
    }
    HN_EQUAL(tenon_tcp_write(server, bytes, 1), 0);
    HN_EQUAL(tenon_tcp_set(server, TENON_TCP_SND_BUF, ROOM + 10), TENON_OK);
    HN_EQUAL(tenon_tcp_write(server, bytes, 0), 0);
    HN_EQUAL(tenon_tcp_finish(server), TENON_OK);
    HN_EQUAL(tenon_tcp_write(server, bytes, 1), TENON_ECLOSED);
    hn_run_ms(&hn, 1);
    for (n = 0; seg_next(&hn, &seg); n += seg.len) {
        HN_CHECK(n + seg.len <= ROOM);
        memcpy(got + n, seg.payload, seg.len);
    }
    HN_EQUAL(n, ROOM);
    HN_CHECK(memcmp(got, bytes, ROOM) == 0);
    hn_close(&hn);
}

/* A queue of single bytes has an end before its memory has. */
static void many_pieces(void)
{
    enum { PIECES_MAX = 16384 };
    struct tenon_span span;
    unsigned n = 0;
    struct hn hn;

    open_server(&hn);
    hn.stack->conf.tcp_copy_max = 1;    /* nothing is put together */
    span.buf = hn_buf(&hn, 1);
    span.off = 0;
    span.len = 1;
    while (n <= PIECES_MAX && tenon_tcp_send(server, &span) == TENON_OK)
        n++;
    HN_EQUAL(n, PIECES_MAX);
    HN_EQUAL(tenon_tcp_send(server, &span), TENON_EAGAIN);
    tenon_buf_put(span.buf);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "written_behind_a_span", "RES-2", written_behind_a_span },
    { "small_writes", "RES-2", small_writes },
    { "many_pieces", "RES-2", many_pieces },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
