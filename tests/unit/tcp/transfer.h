/* SPDX-License-Identifier: MIT */
/* One transfer between two instances over a line, in virtual time, for tests of congestion controls. */
#ifndef TENON_TESTS_TCP_TRANSFER_H
#define TENON_TESTS_TCP_TRANSFER_H

#include "limits/pair.h"

/* What lies between sender and receiver; the way back is as long and has no faults. */
struct transfer_line {
    uint64_t rate;          /* bytes per second */
    uint32_t one_way_us, queue_bytes, loss_ppm;
};

struct transfer {
    struct pair pair;
    uint32_t bytes, sent, received;
    int wrong, closed, why, clean;
    double seconds;         /* until it was closed, or the time was up */
};

static uint8_t transfer_byte(uint32_t i)
{
    return (uint8_t)(i * 2654435761U >> 24);
}

static void transfer_send(struct tenon_tcp *conn, void *app)
{
    struct transfer *t = app;
    uint8_t bytes[4096];
    uint32_t i, n;
    tenon_i32 taken;

    while (t->sent < t->bytes) {
        n = t->bytes - t->sent < sizeof(bytes) ? t->bytes - t->sent : (uint32_t)sizeof(bytes);
        for (i = 0; i < n; i++)
            bytes[i] = transfer_byte(t->sent + i);
        taken = tenon_tcp_write(conn, bytes, n);
        if (taken <= 0)
            return;
        t->sent += (uint32_t)taken;
    }
    tenon_tcp_finish(conn);
}

static void transfer_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)bytes;
    transfer_send(conn, app);
}

static void transfer_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct transfer *t = app;

    (void)conn;
    t->closed = 1;
    t->why = why;
}

static void transfer_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct transfer *t = app;
    uint32_t k;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (k = 0; k < spans[i].len; k++)
            t->wrong += tenon_span_data(&spans[i])[k] != transfer_byte(t->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

/* Send `bytes` with this congestion control for at most so many virtual seconds. */
static inline void transfer_run(struct transfer *t, const struct tenon_cc_ops *cc, const struct transfer_line *line,
                                uint32_t bytes, unsigned seconds)
{
    static const struct tenon_tcp_events sends = {
        .opened = transfer_send, .acked = transfer_acked, .closed = transfer_closed};
    static const struct tenon_tcp_events takes = {.received = transfer_received};
    const struct tenon_addr here = pair_addr(1, 0, 7);
    struct wire_line_conf out = {
        .rate = line->rate, .delay_us = line->one_way_us, .queue_bytes = line->queue_bytes, .loss_ppm = line->loss_ppm};
    struct wire_line_conf back = {.delay_us = line->one_way_us};
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn;
    struct tenon_conf conf;
    uint64_t begin;

    memset(t, 0, sizeof(*t));
    tenon_conf_default(&conf);
    conf.tcp_cc = cc;
    conf.tcp_snd_buf = conf.tcp_rcv_buf = 4U << 20;
    if (!pair_open(&t->pair, &conf))
        abort();
    t->bytes = bytes;
    begin = wire_now(t->pair.wire);
    wire_line_set(t->pair.end[0], WIRE_OUT, &out);
    wire_line_set(t->pair.end[1], WIRE_OUT, &back);
    if (tenon_tcp_listen(t->pair.stack[1], &listener, &here, &takes, t, 0) != TENON_OK
        || tenon_tcp_connect(t->pair.stack[0], &conn, NULL, &here, &sends, t) != TENON_OK)
        abort();
    while (!t->closed && wire_now(t->pair.wire) - begin < seconds * 1000000ULL)
        pair_run(&t->pair, 10000);
    t->seconds = (double)(wire_now(t->pair.wire) - begin) / 1e6;
    seconds = (unsigned)t->closed;
    t->clean = pair_close(&t->pair);
    t->closed = (int)seconds;    /* the end of an instance closes its connections, too */
}

#endif
