/* SPDX-License-Identifier: MIT */
/* Path MTU without reports (RFC 4821): transfers over a line that drops what is larger than its limit and says nothing.
 * They must come through after a few timeouts, find the limit, and not be held back by the search for it. */
#include "harness.h"

#include "limits/pair.h"

enum { CLOSE = 8 };    /* bytes that the search leaves open */

/* Both ends of a transfer, and the line between them. */
struct hole {
    struct pair pair;
    int v6;
    uint32_t limit;              /* bytes of the largest packet that passes; 0: all */
    uint32_t limit_from;         /* ... from this byte of the stream on */
    uint32_t dropped, largest;   /* packets that were too large; the largest that passed */
    uint32_t bytes, sent, received;
    int wrong, closed;
    struct tenon_tcp *conn;
    struct tenon_tcp_info info;  /* of the sender, when the last byte had been received */
    double seconds;
};

static uint8_t hole_byte(uint32_t i)
{
    return (uint8_t)(i * 2654435761U >> 24);
}

static void hole_send(struct tenon_tcp *conn, void *app)
{
    struct hole *hole = app;

    while (hole->sent < hole->bytes) {
        uint8_t bytes[4096];
        const uint32_t left = hole->bytes - hole->sent;
        const uint32_t n = left < sizeof bytes ? left : (uint32_t)sizeof bytes;
        tenon_i32 taken;

        for (uint32_t i = 0; i < n; i++)
            bytes[i] = hole_byte(hole->sent + i);
        taken = tenon_tcp_write(conn, bytes, n);
        if (taken <= 0)
            return;
        hole->sent += (uint32_t)taken;
    }
}

static void hole_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)bytes;
    hole_send(conn, app);
}

static void hole_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    (void)why;
    ((struct hole *)app)->closed = 1;
}

static void hole_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct hole *hole = app;

    for (unsigned i = 0; i < n; i++) {
        for (uint32_t k = 0; k < spans[i].len; k++)
            hole->wrong += tenon_span_data(&spans[i])[k] != hole_byte(hole->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void hole_fate(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                      const struct tenon_frame *frame, struct wire_fate *fate)
{
    const uint8_t *ip = tenon_span_data(&frame->spans[0]) + 14;    /* the headers are all that is shown */
    struct hole *hole = arg;
    uint32_t bytes = 0;

    (void)end;
    (void)direction;
    (void)nth;
    if (ip[0] >> 4 == 4)
        bytes = (uint32_t)ip[2] << 8 | ip[3];
    else if (ip[0] >> 4 == 6)
        bytes = ((uint32_t)ip[4] << 8 | ip[5]) + 40;
    if (hole->limit != 0 && bytes > hole->limit && hole->received >= hole->limit_from) {
        fate->drop = 1;
        hole->dropped++;
    } else if (bytes > hole->largest) {
        hole->largest = bytes;
    }
}

/* Two hosts, 1 MB/s and 20 ms apart. */
static void hole_open(struct hole *hole, tenon_u32 probing)
{
    static const struct tenon_tcp_events sends = { .opened = hole_send, .acked = hole_acked, .closed = hole_closed };
    static const struct tenon_tcp_events takes = { .received = hole_received };
    const struct tenon_addr here = pair_addr(1, hole->v6, 7);
    struct wire_line_conf out = { .rate = 1000000, .delay_us = 10000, .queue_bytes = 40000, .fate = hole_fate,
                                  .fate_arg = hole };
    struct wire_line_conf back = { .delay_us = 10000 };
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    if (!pair_open(&hole->pair, &conf))
        abort();
    wire_line_set(hole->pair.end[0], WIRE_OUT, &out);
    wire_line_set(hole->pair.end[1], WIRE_OUT, &back);
    if (tenon_tcp_listen(hole->pair.stack[1], &listener, &here, &takes, hole, 0) != TENON_OK ||
        tenon_tcp_connect(hole->pair.stack[0], &hole->conn, NULL, &here, &sends, hole) != TENON_OK ||
        tenon_tcp_set(hole->conn, TENON_TCP_MTU_PROBING, probing) != TENON_OK)
        abort();
}

/* Until so many bytes more have arrived, or the time is up. */
static void hole_run(struct hole *hole, uint32_t bytes, double seconds)
{
    const uint64_t begin = wire_now(hole->pair.wire);

    hole->bytes += bytes;
    hole->dropped = hole->largest = 0;
    if (hole->sent > 0)
        hole_send(hole->conn, hole);
    while (hole->received < hole->bytes && (double)(wire_now(hole->pair.wire) - begin) < seconds * 1e6)
        pair_run(&hole->pair, 1000);
    hole->seconds = (double)(wire_now(hole->pair.wire) - begin) / 1e6;
    tenon_tcp_status(hole->conn, &hole->info);
}

static unsigned hole_stat(const struct hole *hole, enum tenon_stat stat)
{
    return (unsigned)tenon_stat(hole->pair.stack[0], stat);
}

static void hole_close(struct hole *hole)
{
    HN_EQUAL(hole->wrong, 0);
    HN_CHECK(pair_close(&hole->pair));
}

/* The limit of each row is found, from the beginning or when the path changes in the midst of a transfer; after that
 * nothing is too large any more. */
static void black_hole_is_found(void)
{
    static const struct {
        const char *name;
        int v6;
        uint32_t limit, from;
        unsigned rtos;           /* no more than these */
    } rows[] = {
        { "IPv4, 1400", 0, 1400, 0, 3 },      { "IPv4, 1300, later", 0, 1300, 300000, 3 },
        { "IPv4, 1080", 0, 1080, 0, 3 },      { "IPv4, 600", 0, 600, 0, 5 },
        { "IPv4, 900, later", 0, 900, 300000, 5 }, { "IPv6, 1400", 1, 1400, 0, 3 },
        { "IPv6, 1280", 1, 1280, 0, 3 },      { "IPv6, 1450, later", 1, 1450, 300000, 3 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct hole hole = { .v6 = rows[i].v6, .limit = rows[i].limit, .limit_from = rows[i].from };

        hn_row = rows[i].name;
        hole_open(&hole, 1);
        hole_run(&hole, 2000000, 60);
        printf("     %s: %.2f s, %u timeouts, %u probes, %u lost, segments of %u\n", rows[i].name, hole.seconds,
               (unsigned)hole.info.rtos, hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE),
               hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE_LOST), hole.info.mss);
        HN_EQUAL(hole.received, 2000000);
        HN_CHECK(hole.info.rtos <= rows[i].rtos);
        HN_CHECK(hole_stat(&hole, TENON_STAT_TCP_BLACK_HOLE) >= 1);
        hole_run(&hole, 1000000, 60);
        HN_EQUAL(hole.received, 3000000);
        HN_CHECK(hole.seconds < 1.2);
        HN_EQUAL(hole.dropped, 0);
        HN_CHECK(hole.largest <= rows[i].limit);
        HN_CHECK(hole.largest + CLOSE > rows[i].limit);
        hole_close(&hole);
    }
}

/* The same path stops a connection that may not look for itself: it is the probing that brings the others through. */
static void black_hole_without_probing(void)
{
    struct hole hole = { .limit = 1400 };

    hole_open(&hole, 0);
    hole_run(&hole, 100000, 30);
    HN_EQUAL(hole.received, 0);
    HN_EQUAL(hole_stat(&hole, TENON_STAT_TCP_BLACK_HOLE), 0);
    hole_close(&hole);
}

/* An outage looks like a black hole. The first probe is of the size that was in use, and puts it right. */
static void outage_is_put_right(void)
{
    struct hole hole = { .limit = 100, .limit_from = 200000 };

    hole_open(&hole, 1);
    hole_run(&hole, 2000000, 5);
    HN_CHECK(hole.received < 2000000);
    HN_CHECK(hole_stat(&hole, TENON_STAT_TCP_BLACK_HOLE) >= 1);
    hole.limit = 0;
    hole_run(&hole, 0, 60);
    HN_EQUAL(hole.received, 2000000);
    HN_EQUAL(hole.largest, 1500);
    HN_EQUAL(hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE), 1);
    HN_EQUAL(hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE_PASSED), 1);
    hole_close(&hole);
}

/* With mtu_probing 2 no timeout is needed at all. */
static void probing_always(void)
{
    for (int v6 = 0; v6 < 2; v6++) {
        struct hole hole = { .v6 = v6, .limit = 1400 };

        hn_row = v6 ? "IPv6" : "IPv4";
        hole_open(&hole, 2);
        hole_run(&hole, 2000000, 60);
        HN_EQUAL(hole.received, 2000000);
        HN_EQUAL(hole.info.rtos, 0);
        HN_EQUAL(hole.dropped, hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE_LOST));
        HN_CHECK(hole.largest + CLOSE > 1400);
        hole_close(&hole);
    }
}

/* What was found is kept for ten minutes, then larger packets are tried; a wider path is found by that. */
static void found_is_tried_again(void)
{
    struct hole hole = { .limit = 1400 };
    unsigned probes;

    hole_open(&hole, 1);
    hole_run(&hole, 2000000, 60);
    HN_CHECK(hole.largest + CLOSE > 1400 && hole.largest <= 1400);
    probes = hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE);
    hole.limit = 0;
    pair_run(&hole.pair, 500000000);
    hole_run(&hole, 100000, 60);
    HN_EQUAL(hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE), probes);
    HN_CHECK(hole.largest <= 1400);
    pair_run(&hole.pair, 110000000);
    hole_run(&hole, 100000, 60);
    HN_EQUAL(hole_stat(&hole, TENON_STAT_TCP_MTU_PROBE), probes + 1);
    HN_EQUAL(hole.largest, 1500);
    HN_EQUAL(hole.received, 2200000);
    hole_close(&hole);
}

static const struct hn_test tests[] = {
    { "black_hole_is_found", "4821-1 4821-2 4821-4", black_hole_is_found },
    { "black_hole_without_probing", "4821-4", black_hole_without_probing },
    { "outage_is_put_right", "4821-4", outage_is_put_right },
    { "probing_always", "4821-2 4821-3", probing_always },
    { "found_is_tried_again", "4821-5 1191-4 8201-3", found_is_tried_again },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
