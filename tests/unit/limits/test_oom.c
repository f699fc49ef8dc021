/* SPDX-License-Identifier: MIT */
/* Every allocation fails in turn. A small history in which everything happens that allocates is run again
 * and again: the first time the first request fails, then the second, and so on, until a run has no request
 * left to fail; once with memory, once with packet buffers; once a single failure, once all from there on for
 * a while. Whatever failed: nothing crashes, nothing leaks, the connection is whole in the end if it was
 * made, and the instance works when there is memory again. */
#include "../unit.h"

#include "pair.h"

enum { BYTES = 60000, PORT = 80, NTH_MAX = 20000 };

struct end {
    struct pair *pair;
    unsigned index;
    struct tenon_tcp *conn;
    uint32_t sent, received;
    int opened, closed, wrong, why;
};

struct oom {
    struct pair pair;
    struct end end[2];
    struct tenon_udp *udp[2];
    struct tenon_echo *echo;
    struct tenon_tcp_listener *listener;
    unsigned dgrams, replies, refused;
};

static uint8_t byte_at(uint32_t i)
{
    return (uint8_t)(i * 2654435761U >> 24);
}

/* ---- TCP: bytes in both directions --------------------------------------------------------------- */

static void end_send(struct end *end)
{
    uint8_t bytes[700];
    tenon_i32 taken = 1;
    uint32_t i, n;

    while (end->conn && taken > 0 && end->sent < BYTES) {
        n = BYTES - end->sent < sizeof(bytes) ? BYTES - end->sent : sizeof(bytes);
        for (i = 0; i < n; i++)
            bytes[i] = byte_at(end->sent + i);
        taken = tenon_tcp_write(end->conn, bytes, n);
        if (taken > 0)
            end->sent += (uint32_t)taken;
        else if (taken < 0 && taken != TENON_ENOMEM)
            end->wrong++;
    }
    if (end->conn && end->sent == BYTES)
        tenon_tcp_finish(end->conn);
}

static void end_opened(struct tenon_tcp *conn, void *app)
{
    struct end *end = app;

    end->conn = conn;
    end->opened++;
    end_send(end);
}

static void end_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn;
    (void)bytes;
    end_send(app);
}

static void end_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct end *end = app;
    uint32_t k;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (k = 0; k < spans[i].len; k++)
            end->wrong += tenon_span_data(&spans[i])[k] != byte_at(end->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void end_finished(struct tenon_tcp *conn, void *app)
{
    struct end *end = app;

    (void)conn;
    end->wrong += end->received != BYTES;
}

static void end_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct end *end = app;

    (void)conn;
    end->conn = NULL;
    end->closed++;
    end->why = why;
}

static const struct tenon_tcp_events end_events = {
    NULL, end_opened, end_received, end_acked, end_finished, end_closed, NULL, NULL,
};

/* ---- datagrams and pings --------------------------------------------------------------------------- */

static void dgram_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                           const struct tenon_span *spans, unsigned n)
{
    (void)sock;
    (void)info;
    (void)spans;
    (void)n;
    ((struct oom *)app)->dgrams++;
}

static void echo_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                       const struct tenon_span *spans, unsigned n)
{
    (void)echo;
    (void)info;
    (void)spans;
    (void)n;
    ((struct oom *)app)->replies++;
}

static const struct tenon_udp_events dgram_events = {dgram_received, NULL};
static const struct tenon_echo_events echo_events = {echo_reply, NULL};

/* ---- the history ----------------------------------------------------------------------------------- */

static void note(struct oom *oom, int error)
{
    oom->refused += error != TENON_OK;
}

/* Everything is opened; what is refused is NULL and asked for again later. */
static void oom_open(struct oom *oom)
{
    struct tenon_addr at, to = pair_addr(1, 1, PORT);
    unsigned i;

    memset(&at, 0, sizeof(at));
    at.port = PORT;
    if (!oom->listener)
        note(oom, tenon_tcp_listen(oom->pair.stack[1], &oom->listener, &at, &end_events, &oom->end[1], 0));
    for (i = 0; i < 2; i++) {
        if (oom->udp[i])
            continue;
        note(oom, tenon_udp_open(oom->pair.stack[i], &oom->udp[i], &dgram_events, oom));
        if (oom->udp[i])
            note(oom, tenon_udp_bind(oom->udp[i], &at));
    }
    if (!oom->echo)
        note(oom, tenon_echo_open(oom->pair.stack[0], &oom->echo, &echo_events, oom));
    if (!oom->end[0].conn && !oom->end[0].closed && oom->listener) {
        note(oom, tenon_tcp_connect(oom->pair.stack[0], &oom->end[0].conn, NULL, &to, &end_events, &oom->end[0]));
        if (oom->end[0].conn)
            note(oom, tenon_tcp_set(oom->end[0].conn, TENON_TCP_NODELAY, 1));
    }
}

static void oom_chatter(struct oom *oom, int v6)
{
    static const uint8_t bytes[5000];
    struct tenon_addr to = pair_addr(1, v6, PORT);

    if (oom->udp[0])
        note(oom, tenon_udp_write(oom->udp[0], &to, bytes, 100));
    if (oom->udp[0])
        note(oom, tenon_udp_write(oom->udp[0], &to, bytes, sizeof(bytes)));    /* in fragments */
    if (oom->echo)
        note(oom, tenon_echo_send(oom->echo, &to, 1, bytes, 3000));
}

static void oom_body(struct oom *oom)
{
    unsigned i;

    for (i = 0; i < 30; i++) {
        oom_open(oom);
        if (i % 10 < 2)
            oom_chatter(oom, (int)(i & 1));
        pair_run(&oom->pair, 200000);
        end_send(&oom->end[0]);
        end_send(&oom->end[1]);
    }
}

static void line_faults(struct oom *oom)
{
    struct wire_line_conf line;
    unsigned i;

    memset(&line, 0, sizeof(line));
    line.delay_us = 1000;
    line.rate = 5000000;
    line.loss_ppm = 30000;       /* so that segments are queued out of order and sent again */
    line.reorder_ppm = 50000;
    line.reorder_us = 3000;
    for (i = 0; i < 2; i++)
        wire_line_set(oom->pair.end[i], WIRE_OUT, &line);
}

/* After all that the instances must work: what is not open is opened, and everything comes through. */
static void oom_check(struct oom *oom)
{
    const struct wire_line_conf good = { .delay_us = 1000 };
    const struct wire_fail never = { 0 };
    unsigned i, dgrams, replies;

    for (i = 0; i < 2; i++) {
        wire_host_fail(oom->pair.host[i], &never);
        wire_line_set(oom->pair.end[i], WIRE_OUT, &good);
    }
    for (i = 0; i < 60 && oom->end[0].closed + oom->end[1].closed < 2; i++) {
        oom_open(oom);
        pair_run(&oom->pair, 1000000);
        end_send(&oom->end[0]);
        end_send(&oom->end[1]);
    }
    CHECK_EQ_U(oom->end[0].closed, 1);
    CHECK_EQ_U(oom->end[1].closed, 1);
    CHECK_EQ_U(oom->end[0].received, BYTES);
    CHECK_EQ_U(oom->end[1].received, BYTES);
    /* Without memory for a TIME-WAIT record the last acknowledgement can be a reset; all bytes are there. */
    for (i = 0; i < 2; i++)
        CHECK(oom->end[i].why == TENON_OK || oom->end[i].why == TENON_ERESET);
    CHECK_EQ_U(oom->end[0].wrong + oom->end[1].wrong, 0);
    dgrams = oom->dgrams;
    replies = oom->replies;
    for (i = 0; i < 2; i++) {
        oom_chatter(oom, (int)i);
        pair_run(&oom->pair, 5000000);
        oom_chatter(oom, (int)i);
        pair_run(&oom->pair, 5000000);
    }
    CHECK(oom->dgrams >= dgrams + 4);
    CHECK(oom->replies >= replies + 2);
}

/* One run. @return requests of that kind that the host has made, and whether the chosen one came up */
static int oom_run(unsigned host, const struct wire_fail *fail)
{
    static struct oom oom;
    struct wire_host_stats stats;
    struct tenon_conf conf;
    uint64_t refused;

    memset(&oom, 0, sizeof(oom));
    tenon_conf_default(&conf);
    conf.tcp_snd_buf = 20000;
    conf.neighbours_max = 16;
    conf.paths_max = 16;
    if (!CHECK(pair_open(&oom.pair, &conf)))
        return 0;
    line_faults(&oom);
    wire_host_fail(oom.pair.host[host], fail);
    oom_body(&oom);
    wire_host_stats(oom.pair.host[host], &stats);
    refused = stats.mem_refused + stats.buf_refused;
    oom_check(&oom);
    if (oom.listener)
        tenon_tcp_listener_close(oom.listener);
    CHECK(pair_close(&oom.pair));
    return refused > 0;
}

static void oom_all(unsigned host, int bufs, int for_good)
{
    char row[60];
    unsigned nth, step = 1;

    for (nth = 1; nth < NTH_MAX; nth += step) {
        struct wire_fail fail;

        memset(&fail, 0, sizeof(fail));
        *(bufs ? &fail.buf_nth : &fail.mem_nth) = nth;
        fail.for_good = for_good;
        snprintf(row, sizeof(row), "host %u, request %u", host, nth);
        unit_row(row);
        if (!oom_run(host, &fail))
            break;    /* there are not so many requests */
        if (nth >= 200)
            step = nth / 50;    /* later ones come from the same places */
        if (unit.failed_checks > 0)
            break;
    }
    CHECK(nth > 10);
    CHECK(nth < NTH_MAX);
}

UNIT_TEST(each_memory_request_fails_once_client)
{
    oom_all(0, 0, 0);
}

UNIT_TEST(each_memory_request_fails_once_server)
{
    oom_all(1, 0, 0);
}

UNIT_TEST(each_buffer_request_fails_once_client)
{
    oom_all(0, 1, 0);
}

UNIT_TEST(each_buffer_request_fails_once_server)
{
    oom_all(1, 1, 0);
}

UNIT_TEST(memory_is_gone_from_request_n_on_client)
{
    oom_all(0, 0, 1);
}

UNIT_TEST(memory_is_gone_from_request_n_on_server)
{
    oom_all(1, 0, 1);
}

UNIT_TEST(buffers_are_gone_from_request_n_on_client)
{
    oom_all(0, 1, 1);
}

UNIT_TEST(buffers_are_gone_from_request_n_on_server)
{
    oom_all(1, 1, 1);
}

/* tenon_init() and the interfaces: refused, and nothing is left behind. */
UNIT_TEST(each_request_of_init_fails)
{
    struct tenon_conf conf;
    unsigned nth;

    tenon_conf_default(&conf);
    for (nth = 1; nth < 100; nth++) {
        struct wire_conf wire_conf = {.seed = 1};
        struct wire_host_conf host_conf = {.seed = 1, .poison = 1, .fail = {.mem_nth = nth}};
        struct wire_host_stats stats;
        struct wire_host *host;
        struct pair pair;

        memset(&pair, 0, sizeof(pair));
        wire_conf.memory = (struct wire_memory){ pair_get, pair_put, &pair };
        pair.wire = wire_open(&wire_conf);
        host = wire_host_open(pair.wire, &host_conf, &conf);
        if (host) {
            wire_host_stats(host, &stats);
            wire_host_close(host);
        }
        wire_close(pair.wire);
        CHECK_EQ_U(pair.mem_out, 0);
        if (host && stats.mem_refused == 0)
            break;
    }
    CHECK(nth > 1);
    CHECK(nth < 100);
}

int main(void)
{
    UNIT_RUN(each_request_of_init_fails);
    UNIT_RUN(each_memory_request_fails_once_client);
    UNIT_RUN(each_memory_request_fails_once_server);
    UNIT_RUN(each_buffer_request_fails_once_client);
    UNIT_RUN(each_buffer_request_fails_once_server);
    UNIT_RUN(memory_is_gone_from_request_n_on_client);
    UNIT_RUN(memory_is_gone_from_request_n_on_server);
    UNIT_RUN(buffers_are_gone_from_request_n_on_client);
    UNIT_RUN(buffers_are_gone_from_request_n_on_server);
    return unit_end();
}
