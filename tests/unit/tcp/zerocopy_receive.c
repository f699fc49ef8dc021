/* SPDX-License-Identifier: MIT */
/* Received spans that the application keeps: they are the very buffers in which the frames came, they stay until they
 * are given back, whatever happens to their connection and even to the instance, and the stack goes on meanwhile. */
#include "tcp/zerocopy.h"

enum { KEEP_SEGMENTS = 2000, KEEP_SPANS_MAX = 20000, KEEP_HOURS = 3 };
enum { MSS4 = 1448, MSS6 = 1428 };
enum { OFFLOADS = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 };

struct row {
    const char *name;
    struct zc_cable cable;
    uint32_t bytes;
};

struct kept {
    struct tenon_span span;
    uint32_t at;               /* where in the stream */
};

struct keep {
    const struct row *row;
    struct zc_net net;
    struct zc_buf own;
    struct kept *kept;
    unsigned nkept;
    uint32_t received;
    unsigned strangers;        /* spans that are in no buffer of a received frame */
    unsigned unclosed;
    unsigned keeps;            /* 1: the next connection's data is kept */
    void (*rx_release)(struct tenon_buf *buf);    /* what the port's buffers of received frames have */
};

static struct keep *keep_now;    /* for the wire's tap */

static void tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    (void)arg;
    if (place == WIRE_RECEIVED && wire_end_host(end) == keep_now->net.host[1])
        keep_now->rx_release = frame->spans[0].buf->release;
}

static void keep_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct keep *keep = app;

    for (unsigned i = 0; i < n; i++) {
        keep->strangers += spans[i].buf->release != keep->rx_release;
        if (keep->keeps && keep->nkept < KEEP_SPANS_MAX) {
            tenon_buf_ref(spans[i].buf);
            keep->kept[keep->nkept++] = (struct kept){ spans[i], keep->received };
        }
        keep->received += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void keep_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct keep *keep = app;

    (void)conn;
    HN_EQUAL(why, TENON_OK);
    keep->unclosed--;
}

static void keep_opened(struct tenon_tcp *conn, void *app)
{
    struct keep *keep = app;
    const struct tenon_span span = { &keep->own.buf, 0, keep->row->bytes };

    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_MTU_PROBING, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_send(conn, &span), TENON_OK);
    HN_EQUAL(tenon_tcp_finish(conn), TENON_OK);
}

static const struct tenon_tcp_events sender_events = { .opened = keep_opened, .closed = keep_closed };
static const struct tenon_tcp_events receiver_events = { .received = keep_received, .closed = keep_closed };

/* A whole connection: open, all bytes, close. */
static void keep_transfer(struct keep *keep, int keeps)
{
    const struct tenon_addr to = zc_addr(&keep->row->cable, 1, ZC_PORT);
    struct tenon_tcp *conn;

    keep->keeps = (unsigned)keeps;
    keep->received = 0;
    keep->unclosed = 2;
    HN_EQUAL(tenon_tcp_connect(keep->net.stack[0], &conn, NULL, &to, &sender_events, keep), TENON_OK);
    wire_wake(keep->net.host[0]);
    zc_net_run(&keep->net, &keep->unclosed, 600000000);
    HN_EQUAL(keep->unclosed, 0);
    HN_EQUAL(keep->received, keep->row->bytes);
}

static void keep_open(struct keep *keep, const struct row *row)
{
    const struct tenon_addr at = zc_addr(&row->cable, 1, ZC_PORT);
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    memset(keep, 0, sizeof *keep);
    keep->row = row;
    keep->kept = calloc(KEEP_SPANS_MAX, sizeof *keep->kept);
    keep_now = keep;
    tenon_conf_default(&conf);
    conf.tcp_snd_buf = 16 << 20;
    conf.tcp_rcv_buf = 128 << 10;    /* much less than what is kept */
    zc_net_open_tap(&keep->net, 2, &conf, tap);
    zc_cable_between(&keep->net, &row->cable, 0, 1);
    HN_EQUAL(tenon_tcp_listen(keep->net.stack[1], &listener, &at, &receiver_events, keep, 0), TENON_OK);
}

/* What is kept is still what it was. */
static void keep_look(const struct keep *keep)
{
    uint32_t at = 0;
    unsigned wrong = 0;

    for (unsigned i = 0; i < keep->nkept; i++) {
        const struct kept *kept = &keep->kept[i];

        wrong += kept->at != at || kept->span.buf->refs != 1;
        for (uint32_t k = 0; k < kept->span.len; k++)
            wrong += tenon_span_data(&kept->span)[k] != zc_byte(at + k);
        at += kept->span.len;
    }
    HN_EQUAL(wrong, 0);
    HN_EQUAL(at, keep->row->bytes);
}

static void keep_run(const struct row *row)
{
    struct wire_host_stats stats;
    struct keep keep;
    unsigned held;

    hn_row = row->name;
    zc_open(row->bytes);
    keep_open(&keep, row);
    zc_buf_make(&keep.own, 0, row->bytes);
    if (!row->cable.copy)
        zc_guard();
    keep_transfer(&keep, 1);
    keep_transfer(&keep, 0);
    for (unsigned i = 0; i < KEEP_HOURS; i++)
        wire_run(keep.net.wire, wire_now(keep.net.wire) + 3600000000U);
    keep_transfer(&keep, 0);
    HN_EQUAL(keep.strangers, 0);
    HN_EQUAL(zc_stat(&keep.net, TENON_STAT_COPIED_BYTES), 0);
    if (!row->cable.copy) {
        HN_EQUAL(zc_copied, 0);
        HN_EQUAL(zc_touched, 0);
    }
    if (row->cable.loss_ppm > 0)
        HN_CHECK(zc_stat(&keep.net, TENON_STAT_TCP_RETRANSMIT) > 0);
    zc_net_fini(&keep.net);
    wire_host_stats(keep.net.host[1], &stats);
    held = stats.rx_bufs;
    HN_CHECK(held > 0 && held <= keep.nkept);
    HN_EQUAL(stats.bufs + stats.mem_blocks, 0);
    keep_look(&keep);
    for (unsigned i = 0; i < keep.nkept; i++)
        tenon_buf_put(keep.kept[i].span.buf);
    tenon_buf_put(&keep.own.buf);
    HN_EQUAL(keep.own.released, 1);
    zc_net_close(&keep.net);
    free(keep.kept);
    zc_close();
}

static void established_spans_are_kept(void)
{
    static const struct row rows[] = {
        { "segments", { 1, 0, 1500, TENON_CAP_TX_CSUM, 0, 500, 0, 0, 0 }, MSS4 * KEEP_SEGMENTS },
        { "segments, IPv6", { 1, 1, 1500, TENON_CAP_TX_CSUM, 0, 500, 0, 0, 0 }, MSS6 * KEEP_SEGMENTS },
        { "LRO", { 1, 0, 1500, OFFLOADS, 0, 500, 0, 0, 0 }, MSS4 * KEEP_SEGMENTS },
        { "loss: some wait out of order", { 1, 0, 1500, OFFLOADS, 1, 500, 20000, 0, 0 }, MSS4 * KEEP_SEGMENTS },
        { "into buffers of the port", { 1, 0, 1500, TENON_CAP_TX_CSUM, 0, 500, 0, 0, 1 }, MSS4 * KEEP_SEGMENTS },
        { "into buffers of the port, loss", { 1, 1, 1500, OFFLOADS, 1, 500, 20000, 0, 1 }, MSS6 * KEEP_SEGMENTS },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++)
        keep_run(&rows[i]);
}

static const struct hn_test tests[] = {
    { "established_spans_are_kept", "", established_spans_are_kept },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
