/* SPDX-License-Identifier: MIT */
/* A relay that does not touch a byte: what one connection has received the other one sends, span by span, and what the
 * other side has acknowledged is consumed here, so that a slow reader slows down the writer beyond the relay. FIN and
 * reset are passed on. The far end gets the sender's own memory: after two hops a byte has the address that it had.
 *
 *     client ---hub 1--- relay ---hub 2--- server
 *
 * tests/unit/tcp/proxy.c has the other relay: transparent, with acknowledgements from end to end. */
#include "tcp/zerocopy.h"

enum { CLIENT, RELAY, SERVER };
enum {
    SMALL = 128,
    SMALL_FRAME = 256
}; /* payload that the core copies behind its header; frames that the wire copies */
enum { OFFLOADS = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 };
enum { MSS4 = 1448, MSS6 = 1428, MSS46 = 516936 /* a multiple of both */ };

enum aborts { NOBODY, THE_CLIENT, THE_SERVER };

struct row {
    const char *name;
    struct zc_cable cable[2];
    uint32_t up, down;         /* bytes of client and server */
    uint32_t buf;              /* tcp_rcv_buf of all, and tcp_snd_buf of the relay; 0: default */
    uint32_t slow;             /* bytes that the server consumes every 10 ms; 0: all, at once */
    unsigned half_close;       /* 1: the server begins when the client has finished */
    enum aborts aborts;        /* who resets ... */
    uint32_t abort_at;         /* ... when he has received so many bytes */
    unsigned small;            /* 1: there may be small segments, such as probes of a closed window */
};

struct world;

struct end {
    struct world *world;
    struct tenon_tcp *conn;
    enum aborts me;
    uint32_t to_send, received, expected_at;    /* what it receives begins there in the payload */
    uint32_t unconsumed;
    unsigned finished, closed;
    int why;
    struct zc_buf own;
};

struct half {
    struct world *world;
    struct half *other;
    struct tenon_tcp *conn;
    uint32_t received, acked;
    uint32_t held_top;         /* most bytes that were received and not acknowledged by the other side */
    unsigned opened, finishes; /* its FIN waits until it is open: CLOSE in SYN-SENT ends it (RFC 9293 3.10.4) */
    unsigned closed, refused;
    int why;
};

struct world {
    const struct row *row;
    struct zc_net net;
    struct end client, server;
    struct half half[2];       /* towards the client, towards the server */
    unsigned unclosed;
    unsigned strangers;        /* bytes that are not where they were sent from */
    unsigned long small_bytes, small_frame_bytes;    /* payload of small segments, and of small frames, on all lines */
};

/* ---- client and server ------------------------------------------------------------------------- */

static void end_send(struct end *end)
{
    const struct tenon_span span = { &end->own.buf, 0, end->to_send };

    if (end->to_send > 0)
        HN_EQUAL(tenon_tcp_send(end->conn, &span), TENON_OK);
    HN_EQUAL(tenon_tcp_finish(end->conn), TENON_OK);
}

static void end_opened(struct tenon_tcp *conn, void *app)
{
    struct end *end = app;

    end->conn = conn;
    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_SND_BUF, 1 << 24), TENON_OK);
    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_MTU_PROBING, 0), TENON_OK);
    if (end->me == THE_CLIENT || !end->world->row->half_close)
        end_send(end);
}

static void end_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct end *end = app;
    const struct row *row = end->world->row;

    for (unsigned i = 0; i < n; i++) {
        /* A small one comes in a copy of its frame. */
        if (tenon_span_data(&spans[i]) != zc_bytes + end->expected_at + end->received &&
            !(row->small && spans[i].len < SMALL_FRAME))
            end->world->strangers += spans[i].len;
        end->received += spans[i].len;
        end->unconsumed += spans[i].len;
    }
    if (end->me == THE_CLIENT || row->slow == 0) {
        tenon_tcp_consumed(conn, end->unconsumed);
        end->unconsumed = 0;
    }
    if (row->aborts == end->me && end->received >= row->abort_at)
        tenon_tcp_abort(conn);
}

static void end_finished(struct tenon_tcp *conn, void *app)
{
    struct end *end = app;

    (void)conn;
    end->finished++;
    if (end->me == THE_SERVER && end->world->row->half_close)
        end_send(end);
}

static void end_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct end *end = app;

    (void)conn;
    end->conn = NULL;
    end->closed++;
    end->why = why;
    end->world->unclosed--;
}

static const struct tenon_tcp_events end_events = { .opened = end_opened, .received = end_received,
    .finished = end_finished, .closed = end_closed };

/* The slow server reads a little, again and again. */
static void server_reads(void *arg)
{
    struct world *world = arg;
    struct end *end = &world->server;
    const uint32_t n = end->unconsumed < world->row->slow ? end->unconsumed : world->row->slow;

    if (end->conn != NULL && n > 0) {
        end->unconsumed -= n;
        tenon_tcp_consumed(end->conn, n);
        wire_wake(world->net.host[SERVER]);
    }
    if (world->unclosed > 0)
        HN_EQUAL(wire_at(world->net.wire, wire_now(world->net.wire) + 10000, server_reads, world), 0);
}

/* ---- the relay --------------------------------------------------------------------------------- */

static void half_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct half *half = app;
    struct half *other = half->other;

    (void)conn;
    for (unsigned i = 0; i < n; i++) {
        half->received += spans[i].len;
        if (other->conn != NULL && tenon_tcp_send(other->conn, &spans[i]) != TENON_OK)
            half->refused++;
    }
    if (half->received - other->acked > half->held_top)
        half->held_top = half->received - other->acked;
}

static void half_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct half *half = app;

    (void)conn;
    half->acked += bytes;
    if (half->other->conn != NULL)
        tenon_tcp_consumed(half->other->conn, bytes);
}

static void half_finish(struct half *half)
{
    if (half->conn != NULL && half->opened && half->finishes)
        HN_EQUAL(tenon_tcp_finish(half->conn), TENON_OK);
}

static void half_opened(struct tenon_tcp *conn, void *app)
{
    struct half *half = app;

    (void)conn;
    half->opened = 1;
    half_finish(half);
}

static void half_finished(struct tenon_tcp *conn, void *app)
{
    struct half *half = app;

    (void)conn;
    half->other->finishes = 1;
    half_finish(half->other);
}

static void half_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct half *half = app;

    (void)conn;
    half->conn = NULL;
    half->closed++;
    half->why = why;
    half->world->unclosed--;
    if (why != TENON_OK && half->other->conn != NULL)
        tenon_tcp_abort(half->other->conn);
}

static void relay_opened(struct tenon_tcp *conn, void *app);

static const struct tenon_tcp_events relay_events = { .opened = relay_opened, .closed = half_closed };
static const struct tenon_tcp_events half_events = { .opened = half_opened, .received = half_received,
    .acked = half_acked, .finished = half_finished, .closed = half_closed };

/* A client has come: what it sends can be queued for the server at once, before that has answered. */
static void relay_opened(struct tenon_tcp *conn, void *app)
{
    struct world *world = app;
    const struct tenon_addr to = zc_addr(&world->row->cable[1], SERVER, ZC_PORT);
    struct half *near = &world->half[0], *far = &world->half[1];

    near->conn = conn;
    near->opened = 1;
    tenon_tcp_handler(conn, &half_events, near);
    HN_EQUAL(tenon_tcp_connect(world->net.stack[RELAY], &far->conn, NULL, &to, &half_events, far), TENON_OK);
    HN_EQUAL(tenon_tcp_set(near->conn, TENON_TCP_MTU_PROBING, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_set(far->conn, TENON_TCP_MTU_PROBING, 0), TENON_OK);
    /* Where segments are put together anew, what is left over waits for more to come. */
    HN_EQUAL(tenon_tcp_set(near->conn, TENON_TCP_CORK, 1), TENON_OK);
    HN_EQUAL(tenon_tcp_set(far->conn, TENON_TCP_CORK, 1), TENON_OK);
}

/* ---- the world --------------------------------------------------------------------------------- */

static void tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    struct world *world = TENON_CONTAINER(arg, struct world, net);
    uint32_t all = 0, bytes;

    (void)end;
    if (place != WIRE_SENT)
        return;
    for (unsigned i = 0; i < frame->nspans; i++)
        all += frame->spans[i].len;
    bytes = all - frame->header_bytes;
    if (bytes <= SMALL)
        world->small_bytes += bytes;
    if (all <= SMALL_FRAME)
        world->small_frame_bytes += bytes;
}

static void end_make(struct world *world, struct end *end, enum aborts me)
{
    const struct row *row = world->row;
    const uint32_t n = me == THE_CLIENT ? row->up : row->down;

    end->world = world;
    end->me = me;
    end->to_send = n;
    end->expected_at = me == THE_CLIENT ? row->up : 0;
    zc_buf_make(&end->own, me == THE_CLIENT ? 0 : row->up, n);
}

static void world_open(struct world *world, const struct row *row)
{
    const struct tenon_addr at = zc_addr(&row->cable[0], RELAY, ZC_PORT);
    const struct tenon_addr server = zc_addr(&row->cable[1], SERVER, ZC_PORT);
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    memset(world, 0, sizeof *world);
    world->row = row;
    world->unclosed = 4;
    tenon_conf_default(&conf);
    if (row->buf != 0)
        conf.tcp_rcv_buf = conf.tcp_snd_buf = row->buf;
    zc_net_open_tap(&world->net, 3, &conf, tap);
    zc_cable_between(&world->net, &row->cable[0], CLIENT, RELAY);
    zc_cable_between(&world->net, &row->cable[1], RELAY, SERVER);
    end_make(world, &world->client, THE_CLIENT);
    end_make(world, &world->server, THE_SERVER);
    for (unsigned i = 0; i < 2; i++) {
        world->half[i].world = world;
        world->half[i].other = &world->half[1 - i];
    }
    HN_EQUAL(tenon_tcp_listen(world->net.stack[RELAY], &listener, &at, &relay_events, world, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_listen(world->net.stack[SERVER], &listener, &server, &end_events, &world->server, 0),
             TENON_OK);
    HN_EQUAL(tenon_tcp_connect(world->net.stack[CLIENT], &world->client.conn, NULL, &at, &end_events,
                               &world->client),
             TENON_OK);
    wire_wake(world->net.host[CLIENT]);
}

static void check_copies(struct world *world)
{
    HN_EQUAL(world->strangers, 0);
    HN_EQUAL(world->half[0].refused + world->half[1].refused, 0);
    HN_CHECK(zc_stat(&world->net, TENON_STAT_COPIED_BYTES) <= world->small_bytes);
    if (world->row->small) {
        HN_CHECK(zc_copied <= world->small_bytes + world->small_frame_bytes);
        return;
    }
    HN_EQUAL(world->small_bytes + world->small_frame_bytes, 0);
    HN_EQUAL(zc_copied, 0);
    HN_EQUAL(zc_touched, 0);
}

static void check_whole(struct world *world)
{
    const struct row *row = world->row;

    HN_EQUAL(world->server.received, row->up);
    HN_EQUAL(world->client.received, row->down);
    HN_EQUAL(world->half[1].acked, row->up);
    HN_EQUAL(world->half[0].acked, row->down);
    HN_EQUAL(world->client.finished, 1);
    HN_EQUAL(world->server.finished, 1);
    HN_EQUAL(world->client.why, TENON_OK);
    HN_EQUAL(world->server.why, TENON_OK);
    HN_EQUAL(world->half[0].why, TENON_OK);
    HN_EQUAL(world->half[1].why, TENON_OK);
    if (row->cable[0].loss_ppm > 0)
        HN_CHECK(zc_stat(&world->net, TENON_STAT_TCP_RETRANSMIT) > 0);
}

static void check_reset(struct world *world)
{
    const int client = world->row->aborts == THE_CLIENT;

    HN_EQUAL(client ? world->client.why : world->server.why, TENON_EABORTED);
    HN_EQUAL(client ? world->server.why : world->client.why, TENON_ERESET);
    HN_EQUAL(world->half[client ? 0 : 1].why, TENON_ERESET);
    HN_EQUAL(world->half[client ? 1 : 0].why, TENON_EABORTED);
}

/* How much the relay holds is what it lets the writer send: its receive window. */
static void check_back_pressure(const struct world *world)
{
    HN_CHECK(world->half[0].held_top > world->row->buf / 2);
    HN_CHECK(world->half[0].held_top <= world->row->buf);
}

static void world_close(struct world *world)
{
    struct wire_host_stats stats;

    wire_host_stats(world->net.host[RELAY], &stats);
    HN_EQUAL(stats.rx_bufs, 0);
    zc_net_fini(&world->net);
    zc_net_close(&world->net);
    tenon_buf_put(&world->client.own.buf);
    tenon_buf_put(&world->server.own.buf);
    HN_EQUAL(world->client.own.released, 1);
    HN_EQUAL(world->server.own.released, 1);
}

static void relay_run(const struct row *row)
{
    struct world world;

    hn_row = row->name;
    zc_open(row->up + row->down);
    world_open(&world, row);
    zc_guard();
    if (row->slow > 0)
        server_reads(&world);
    zc_net_run(&world.net, &world.unclosed, 600000000);
    HN_EQUAL(world.unclosed, 0);
    HN_EQUAL(world.client.closed + world.server.closed + world.half[0].closed + world.half[1].closed, 4);
    check_copies(&world);
    if (row->aborts == NOBODY)
        check_whole(&world);
    else
        check_reset(&world);
    if (row->slow > 0)
        check_back_pressure(&world);
    world_close(&world);
    zc_close();
}

static void relay_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        relay_run(&rows[i]);
}

/* ---- tests ------------------------------------------------------------------------------------- */

#define CABLE4(hub, caps, cut, loss) \
    { \
        hub, 0, 1500, caps, cut, 1000, loss, 0, 0 \
    }
#define CABLE6(hub, caps, cut, loss) \
    { \
        hub, 1, 1500, caps, cut, 1000, loss, 0, 0 \
    }

static void established_bytes_both_ways(void)
{
    static const struct row rows[] = {
        { .name = "segments",
          .cable = { CABLE4(1, TENON_CAP_TX_CSUM, 0, 0), CABLE4(2, TENON_CAP_TX_CSUM, 0, 0) },
          .up = MSS4 * 500,
          .down = MSS4 * 300 },
        { .name = "IPv6",
          .cable = { CABLE6(1, TENON_CAP_TX_CSUM, 0, 0), CABLE6(2, TENON_CAP_TX_CSUM, 0, 0) },
          .up = MSS6 * 500,
          .down = MSS6 * 300 },
        { .name = "large frames",
          .cable = { CABLE4(1, OFFLOADS, 0, 0), CABLE4(2, OFFLOADS, 0, 0) },
          .up = MSS4 * 700,
          .down = MSS4 * 700 },
        { .name = "the port cuts",
          .cable = { CABLE4(1, OFFLOADS, 1, 0), CABLE4(2, OFFLOADS, 1, 0) },
          .up = MSS4 * 500,
          .down = MSS4 * 500 },
        { .name = "from IPv4 to IPv6",
          .cable = { CABLE4(1, OFFLOADS, 1, 0), CABLE6(2, OFFLOADS, 1, 0) },
          .up = MSS46,
          .down = MSS46 },
        { .name = "loss",
          .cable = { CABLE4(1, OFFLOADS, 1, 20000), CABLE4(2, OFFLOADS, 1, 20000) },
          .up = MSS4 * 300 },
        { .name = "loss, IPv6",
          .cable = { CABLE6(1, TENON_CAP_TX_CSUM, 0, 20000), CABLE6(2, TENON_CAP_TX_CSUM, 0, 20000) },
          .down = MSS6 * 300 },
        /* With text in both directions SACK blocks take room of it: segments are cut elsewhere. */
        { .name = "loss both ways",
          .cable = { CABLE4(1, OFFLOADS, 1, 20000), CABLE4(2, TENON_CAP_TX_CSUM, 0, 20000) },
          .up = MSS4 * 300,
          .down = MSS4 * 300,
          .small = 1 },
        { .name = "nothing", .cable = { CABLE4(1, OFFLOADS, 0, 0), CABLE4(2, OFFLOADS, 0, 0) } },
        { .name = "odd sizes",
          .cable = { CABLE4(1, OFFLOADS, 0, 0), CABLE6(2, OFFLOADS, 0, 10000) },
          .up = 1234567,
          .down = 7654,
          .small = 1 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

/* The server reads 1 MB/s of what could come much faster, through windows of 64 KB. */
static void established_slow_reader_slows_the_writer(void)
{
    static const struct row rows[] = {
        { .name = "",
          .cable = { CABLE4(1, OFFLOADS, 0, 0), CABLE4(2, OFFLOADS, 0, 0) },
          .up = MSS4 * 700,
          .down = MSS4 * 100,
          .buf = 65536 * 2,
          .slow = 10000,
          .small = 1 },
        { .name = "loss",
          .cable = { CABLE6(1, OFFLOADS, 1, 10000), CABLE4(2, OFFLOADS, 1, 10000) },
          .up = MSS4 * 700,
          .buf = 65536 * 2,
          .slow = 10000,
          .small = 1 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

static void close_wait_half_close(void)
{
    static const struct row rows[] = {
        { .name = "answer after the question",
          .cable = { CABLE4(1, OFFLOADS, 0, 0), CABLE4(2, OFFLOADS, 0, 0) },
          .up = MSS4 * 10,
          .down = MSS4 * 300,
          .half_close = 1 },
        { .name = "loss",
          .cable = { CABLE6(1, OFFLOADS, 1, 20000), CABLE6(2, OFFLOADS, 1, 20000) },
          .up = MSS6 * 100,
          .down = MSS6 * 100,
          .half_close = 1 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

static void established_reset_passed_on(void)
{
    static const struct row rows[] = {
        { .name = "by the server",
          .cable = { CABLE4(1, OFFLOADS, 0, 0), CABLE4(2, OFFLOADS, 0, 0) },
          .up = MSS4 * 500,
          .down = MSS4 * 500,
          .aborts = THE_SERVER,
          .abort_at = MSS4 * 100 },
        { .name = "by the client",
          .cable = { CABLE6(1, OFFLOADS, 1, 0), CABLE6(2, OFFLOADS, 1, 0) },
          .up = MSS6 * 500,
          .down = MSS6 * 500,
          .aborts = THE_CLIENT,
          .abort_at = MSS6 * 100 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

static const struct hn_test tests[] = {
    { "established_bytes_both_ways", "RLY-1 RLY-8 RLY-11", established_bytes_both_ways },
    { "established_slow_reader_slows_the_writer", "RLY-8", established_slow_reader_slows_the_writer },
    { "close_wait_half_close", "RLY-2 RLY-3", close_wait_half_close },
    { "established_reset_passed_on", "RLY-4 RLY-5", established_reset_passed_on },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
