/* SPDX-License-Identifier: MIT */
/* One buffer of the application to a thousand connections at once, from one instance and from two in two threads:
 * nobody copies it, nobody even reads it, and it comes back once, after the last acknowledgement. */
#include "tcp/zerocopy.h"

#include "ports/common/sharedbuf.h"

#include <pthread.h>

enum { FAN_MANY = 1000, FAN_FEW = 10, FAN_SEGMENTS = 40 };
enum { MSS4 = 1448, MSS6 = 1428 };    /* of an MTU of 1500, with timestamps */

struct row {
    const char *name;
    struct zc_cable cable;
    unsigned connections;
    uint32_t bytes;
    unsigned write;            /* 1: by tenon_tcp_write() */
    unsigned copied;           /* 1: the witnesses have to see that all of it is copied */
    unsigned touched;          /* 1: ... that it is read */
};

struct fan;

/* One end of a connection. */
struct fan_end {
    struct fan *fan;
    struct tenon_tcp *conn;
    uint32_t acked, received;
    unsigned closed;
    int why;
};

struct fan {
    const struct row *row;
    struct zc_net net;
    struct tenon_buf *buf;
    struct fan_end sender[FAN_MANY], receiver[FAN_MANY];
    unsigned opened, accepted, unopened, unclosed;
    unsigned done;             /* senders to which everything is acknowledged */
    unsigned strangers;        /* received bytes that are not where they were sent from */
    atomic_uint *all_done;     /* the same of all instances that send the buffer */
    unsigned refused;
};

static void fan_opened(struct tenon_tcp *conn, void *app)
{
    struct fan_end *end = app;

    end->conn = conn;
    end->fan->opened++;
    end->fan->unopened--;
}

static void fan_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct fan_end *end = app;

    (void)conn;
    end->acked += bytes;
    if (end->acked < end->fan->row->bytes)
        return;
    end->fan->done++;
    (*end->fan->all_done)++;
}

/* A received byte is the sent byte itself. With a copying sender there is nothing to compare. */
static void fan_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct fan_end *end = app;

    for (unsigned i = 0; i < n; i++) {
        if (tenon_span_data(&spans[i]) != zc_bytes + end->received)
            end->fan->strangers += spans[i].len;
        end->received += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void fan_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct fan_end *end = app;

    (void)conn;
    end->closed++;
    end->why = why;
    end->fan->unclosed--;
}

static const struct tenon_tcp_events sender_events = { .opened = fan_opened, .acked = fan_acked, .closed = fan_closed };
static const struct tenon_tcp_events receiver_events = { .received = fan_received, .closed = fan_closed };

static void fan_accepted(struct tenon_tcp *conn, void *app)
{
    struct fan *fan = app;

    tenon_tcp_handler(conn, &receiver_events, &fan->receiver[fan->accepted++]);
}

static const struct tenon_tcp_events listener_events = { .opened = fan_accepted };

static struct fan *fan_open(const struct row *row, struct tenon_buf *buf, atomic_uint *all_done)
{
    struct fan *fan = calloc(1, sizeof *fan);
    const struct tenon_addr at = zc_addr(&row->cable, 1, ZC_PORT);
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    if (fan == NULL)
        abort();
    tenon_conf_default(&conf);
    fan->row = row;
    fan->buf = buf;
    fan->all_done = all_done;
    zc_net_open(&fan->net, 2, &conf);
    zc_cable_between(&fan->net, &row->cable, 0, 1);
    HN_EQUAL(tenon_tcp_listen(fan->net.stack[1], &listener, &at, &listener_events, fan, 4096), TENON_OK);
    fan->unopened = row->connections;
    fan->unclosed = 2 * row->connections;
    for (unsigned i = 0; i < row->connections; i++) {
        fan->sender[i].fan = fan->receiver[i].fan = fan;
        HN_EQUAL(tenon_tcp_connect(fan->net.stack[0], &fan->sender[i].conn, NULL, &at, &sender_events,
                                   &fan->sender[i]),
                 TENON_OK);
        /* Segments stay what they are: the last piece of another size may be small enough to be copied. */
        HN_EQUAL(tenon_tcp_set(fan->sender[i].conn, TENON_TCP_MTU_PROBING, 0), TENON_OK);
    }
    wire_wake(fan->net.host[0]);
    zc_net_run(&fan->net, &fan->unopened, 100000000);
    return fan;
}

/* All of it into all queues, before the first segment leaves. */
static void fan_send(struct fan *fan)
{
    const struct tenon_span span = { fan->buf, 0, fan->row->bytes };

    for (unsigned i = 0; i < fan->row->connections; i++) {
        struct tenon_tcp *conn = fan->sender[i].conn;

        if (fan->row->write)
            fan->refused += tenon_tcp_write(conn, fan->buf->data, span.len) != (tenon_i32)span.len;
        else
            fan->refused += tenon_tcp_send(conn, &span) != TENON_OK;
        fan->refused += tenon_tcp_finish(conn) != TENON_OK;
    }
    wire_wake(fan->net.host[0]);
}

static void fan_check(struct fan *fan)
{
    const struct row *row = fan->row;
    unsigned good = 0;

    HN_EQUAL(fan->opened, row->connections);
    HN_EQUAL(fan->accepted, row->connections);
    HN_EQUAL(fan->done, row->connections);
    HN_EQUAL(fan->refused, 0);
    HN_EQUAL(fan->unclosed, 0);
    for (unsigned i = 0; i < row->connections; i++)
        good += fan->sender[i].acked == row->bytes && fan->receiver[i].received == row->bytes &&
                fan->sender[i].why == TENON_OK && fan->receiver[i].why == TENON_OK &&
                fan->sender[i].closed == 1 && fan->receiver[i].closed == 1;
    HN_EQUAL(good, row->connections);
    if (row->cable.loss_ppm > 0)
        HN_CHECK(zc_stat(&fan->net, TENON_STAT_TCP_RETRANSMIT) > row->connections / 2);
    else
        HN_EQUAL(zc_stat(&fan->net, TENON_STAT_TCP_RETRANSMIT), 0);
}

static void fan_close(struct fan *fan)
{
    zc_net_fini(&fan->net);
    zc_net_close(&fan->net);
    free(fan);
}

static void fan_run(const struct row *row)
{
    const unsigned long whole = (unsigned long)row->connections * row->bytes;
    atomic_uint done = 0;
    struct zc_buf own;
    struct fan *fan;
    int seen;

    hn_row = row->name;
    zc_open(row->bytes);
    seen = zc_calls_are_seen();
    zc_buf_make(&own, 0, row->bytes);
    fan = fan_open(row, &own.buf, &done);
    zc_guard();
    fan_send(fan);
    HN_EQUAL(own.buf.refs, row->write ? 1 : 1 + row->connections);
    tenon_buf_put(&own.buf);
    HN_EQUAL(own.released, row->write ? 1 : 0);
    while (fan->unclosed > 0 && wire_step(fan->net.wire, wire_now(fan->net.wire) + 100000000))
        if (done < row->connections && !row->write)
            HN_EQUAL(own.released, 0);
    wire_run(fan->net.wire, wire_now(fan->net.wire) + 100000);
    HN_EQUAL(own.released, 1);
    fan_check(fan);
    HN_EQUAL(zc_copied, row->copied && seen ? whole : 0);
    HN_EQUAL(zc_stat(&fan->net, TENON_STAT_COPIED_BYTES), row->copied ? whole : 0);
    HN_EQUAL(zc_touched > 0, row->touched);
    HN_EQUAL(fan->strangers, row->copied ? whole : 0);
    fan_close(fan);
    zc_close();
}

static void fan_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fan_run(&rows[i]);
}

/* ---- one instance ------------------------------------------------------------------------------ */

enum { OFFLOADS = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 };

static void established_send_to_1000(void)
{
    static const struct row rows[] = {
        { "the port cuts, IPv4", { 1, 0, 1500, OFFLOADS, 0, 1000, 0, 0, 0 }, FAN_MANY, MSS4 * FAN_SEGMENTS, 0, 0, 0 },
        { "the port cuts, IPv6", { 1, 1, 1500, OFFLOADS, 0, 1000, 0, 0, 0 }, FAN_MANY, MSS6 * FAN_SEGMENTS, 0, 0, 0 },
        { "we cut, IPv4", { 1, 0, 1500, TENON_CAP_TX_CSUM, 0, 1000, 0, 0, 0 }, FAN_MANY, MSS4 * FAN_SEGMENTS, 0, 0, 0 },
        { "we cut, IPv6", { 1, 1, 1500, TENON_CAP_TX_CSUM, 0, 1000, 0, 0, 0 }, FAN_MANY, MSS6 * FAN_SEGMENTS, 0, 0, 0 },
        { "jumbo frames", { 1, 0, 9000, OFFLOADS, 1, 1000, 0, 0, 0 }, FAN_MANY, 8948 * 6, 0, 0, 0 },
    };

    fan_rows(rows, TENON_ARRAY_LEN(rows));
}

/* What is sent again is sent from where it lies. */
static void established_send_to_1000_loss(void)
{
    static const struct row rows[] = {
        { "the port cuts, IPv4",
          { 1, 0, 1500, OFFLOADS, 1, 1000, 30000, 0, 0 },
          FAN_MANY,
          MSS4 * FAN_SEGMENTS,
          0,
          0,
          0 },
        { "the port cuts, IPv6",
          { 1, 1, 1500, OFFLOADS, 1, 1000, 30000, 0, 0 },
          FAN_MANY,
          MSS6 * FAN_SEGMENTS,
          0,
          0,
          0 },
        { "we cut, IPv4",
          { 1, 0, 1500, TENON_CAP_TX_CSUM, 0, 1000, 30000, 0, 0 },
          FAN_MANY,
          MSS4 * FAN_SEGMENTS,
          0,
          0,
          0 },
        { "much of it",
          { 1, 0, 1500, OFFLOADS, 1, 1000, 200000, 0, 0 },
          FAN_FEW,
          MSS4 * FAN_SEGMENTS,
          0,
          0,
          0 },
    };

    fan_rows(rows, TENON_ARRAY_LEN(rows));
}

/* A sum has to read, but nobody copies for it. */
static void established_send_checksums_in_software(void)
{
    static const struct row rows[] = {
        { "", { 1, 0, 1500, 0, 0, 1000, 0, 0, 0 }, 100, MSS4 * FAN_SEGMENTS, 0, 0, 1 },
        { "loss", { 1, 1, 1500, 0, 0, 1000, 30000, 0, 0 }, 100, MSS6 * FAN_SEGMENTS, 0, 0, 1 },
    };

    fan_rows(rows, TENON_ARRAY_LEN(rows));
}

/* The witnesses see a copy where there has to be one: every byte of it, and no byte more. */
static void established_copies_are_seen(void)
{
    static const struct row rows[] = {
        { "by tenon_tcp_write()", { 1, 0, 1500, OFFLOADS, 1, 1000, 0, 0, 0 }, FAN_FEW, MSS4 * FAN_SEGMENTS, 1, 1, 1 },
        { "the port cannot gather", { 1, 0, 1500, OFFLOADS, 1, 1000, 0, 1, 0 }, FAN_FEW, MSS4 * FAN_SEGMENTS, 0, 1, 1 },
        { "a hundred bytes", { 1, 0, 1500, OFFLOADS, 1, 1000, 0, 0, 0 }, FAN_FEW, 100, 0, 1, 1 },
    };

    fan_rows(rows, TENON_ARRAY_LEN(rows));
}

/* ... also one that does not call memcpy(). */
static void reading_is_seen(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile tenon_u8 byte;

    zc_open(3 * page);
    zc_guard();
    byte = zc_bytes[2 * page + 7];
    HN_EQUAL(byte, zc_byte(2 * page + 7));
    HN_EQUAL(zc_touched, 1);
    byte = zc_bytes[0];
    HN_EQUAL(zc_touched, 2);
    HN_EQUAL(zc_copied, 0);
    zc_close();
}

/* ---- two instances in two threads -------------------------------------------------------------- */

struct giving_back {
    atomic_uint times;
    atomic_uint done;             /* senders of both instances that have all their acknowledgements */
    unsigned done_then;           /* ... when the bytes came back */
    struct sharedbuf *shared;
};

struct thread {
    const struct row *row;
    struct giving_back *back;
    struct tenon_buf *view;
    struct fan *fan;
};

static void give_back(void *arg, tenon_u8 *bytes)
{
    struct giving_back *back = arg;

    back->times += bytes == zc_bytes;
    back->done_then = back->done;
}

static void *thread_run(void *arg)
{
    struct thread *thread = arg;
    struct fan *fan = fan_open(thread->row, thread->view, &thread->back->done);

    thread->fan = fan;
    fan_send(fan);
    tenon_buf_put(thread->view);
    zc_net_run(&fan->net, &fan->unclosed, 1000000000);
    return NULL;
}

static void threads_run(const struct row *row)
{
    struct giving_back back = { 0, 0, 0, NULL };
    struct thread threads[2];
    pthread_t ids[2];

    hn_row = row->name;
    zc_open(row->bytes);
    zc_guard();
    back.shared = sharedbuf_new(zc_bytes, row->bytes, give_back, &back);
    for (unsigned i = 0; i < 2; i++)
        threads[i] = (struct thread){ row, &back, sharedbuf_view(back.shared), NULL };
    sharedbuf_put(back.shared);    /* only the connections hold it from here on */
    for (unsigned i = 0; i < 2; i++)
        if (pthread_create(&ids[i], NULL, thread_run, &threads[i]) != 0)
            abort();
    for (unsigned i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    HN_EQUAL(back.times, 1);
    HN_EQUAL(back.done, 2 * row->connections);
    /* The last reference goes before the event that tells of the last acknowledgement. */
    HN_CHECK(back.done_then + 1 >= 2 * row->connections);
    HN_EQUAL(zc_copied, 0);
    HN_EQUAL(zc_touched, 0);
    for (unsigned i = 0; i < 2; i++) {
        fan_check(threads[i].fan);
        HN_EQUAL(threads[i].fan->strangers, 0);
        HN_EQUAL(zc_stat(&threads[i].fan->net, TENON_STAT_COPIED_BYTES), 0);
        fan_close(threads[i].fan);
    }
    zc_close();
}

static void two_threads_send_to_1000_each(void)
{
    static const struct row rows[] = {
        { "", { 1, 0, 1500, OFFLOADS, 0, 1000, 0, 0, 0 }, FAN_MANY, MSS4 * FAN_SEGMENTS, 0, 0, 0 },
        { "loss", { 1, 1, 1500, OFFLOADS, 1, 1000, 30000, 0, 0 }, FAN_MANY, MSS6 * FAN_SEGMENTS, 0, 0, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++)
        threads_run(&rows[i]);
}

/* Somebody who keeps a reference of his own has the bytes for as long. */
static void shared_bytes_come_back_once(void)
{
    struct giving_back back = { 0, 0, 0, NULL };
    struct tenon_buf *views[3];

    zc_open(100);
    back.shared = sharedbuf_new(zc_bytes, 100, give_back, &back);
    for (unsigned i = 0; i < 3; i++) {
        views[i] = sharedbuf_view(back.shared);
        HN_CHECK(views[i]->data == zc_bytes && views[i]->size == 100 && views[i]->refs == 1);
    }
    sharedbuf_ref(back.shared);
    sharedbuf_put(back.shared);
    tenon_buf_ref(views[1]);
    for (unsigned i = 0; i < 3; i++)
        tenon_buf_put(views[i]);
    sharedbuf_put(back.shared);
    HN_EQUAL(back.times, 0);
    tenon_buf_put(views[1]);
    HN_EQUAL(back.times, 1);
    zc_close();
}

static const struct hn_test tests[] = {
    { "reading_is_seen", "", reading_is_seen },
    { "established_copies_are_seen", "", established_copies_are_seen },
    { "established_send_to_1000", "", established_send_to_1000 },
    { "established_send_to_1000_loss", "", established_send_to_1000_loss },
    { "established_send_checksums_in_software", "", established_send_checksums_in_software },
    { "shared_bytes_come_back_once", "", shared_bytes_come_back_once },
    { "two_threads_send_to_1000_each", "", two_threads_send_to_1000_each },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
