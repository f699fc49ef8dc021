/* SPDX-License-Identifier: MIT */
/* Sockets in all models, one rule after the other, step by step in one thread. (Many datagrams beside connections, with
 * rings that are too small, and with threads: histories_test.c, threads_test.c.) */
#include <stdlib.h>
#include <string.h>

#include "history.h"

enum { SLOTS = 64, HEARD_MAX = 20000 };

static char error[300];

/* A socket of the application's, and what it has heard last. */
struct one {
    struct world world;
    struct model *model;
    struct model_udp *udp;
    unsigned heard, spans, errors, closed, close_at;    /* close_at: in the handler, after so many; 0: never */
    tenon_u32 total;    /* bytes of all that was heard */
    int error;
    struct tenon_udp_info info;
    struct tenon_addr failed;
    tenon_u8 bytes[HEARD_MAX];
};

static void one_received(struct model_udp *udp, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    struct one *one = app;
    tenon_u32 at = 0;

    CHECK(udp == one->udp);
    CHECK_EQ_U(one->closed, 0);
    one->heard++;
    one->info = *info;
    one->spans = n;
    for (unsigned i = 0; i < n; i++) {
        memcpy(one->bytes + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    CHECK_EQ_U(at, info->bytes);
    one->total += at;
    if (one->heard != one->close_at)
        return;
    one->closed = 1;
    model_udp_close(udp);
}

static void one_error(struct model_udp *udp, void *app, const struct tenon_addr *to, int why)
{
    struct one *one = app;

    CHECK(udp == one->udp);
    CHECK_EQ_U(one->closed, 0);
    one->errors++;
    one->error = why;
    one->failed = *to;
}

static const struct model_udp_events one_events = { .received = one_received, .error = one_error };
static const struct model_udp_events deaf_events = { .received = NULL };

static void step_stack(struct one *one, unsigned n)
{
    while (n-- > 0) {
        (void)model_step_stack(one->model);
        virtual_us += 100;
    }
}

static void step_both(struct one *one, unsigned n)
{
    while (n-- > 0) {
        (void)model_step_stack(one->model);
        (void)model_step(one->model);
        virtual_us += 100;
    }
}

/* The peer knows where we are, and we where it is. */
static void meet(struct one *one)
{
    const struct tenon_addr to = world_peer();

    CHECK_EQ_I(model_udp_write(one->udp, &to, "hello", 5), TENON_OK);
    step_both(one, 20);
    CHECK_EQ_U(one->heard, 1);
    one->heard = one->total = 0;
}

static void open_one_hearing(struct one *one, int kind, const struct model_udp_events *events)
{
    const struct world_conf world_conf = { .delay_us = 10, .total_max = 1 };
    const struct tenon_addr at = { .port = WORLD_PORT };
    struct model_conf conf = { .kind = (enum model_kind)kind, .port = &one->world.port, .netif = 1, .stepped = 1,
        .now_us = virtual_now, .slots = SLOTS };

    memset(one, 0, sizeof *one);
    world_open(&one->world, &world_conf, virtual_now());
    conf.stack = one->world.stack;
    one->model = model_open(&conf, error, sizeof error);
    CHECK(one->model != NULL);
    CHECK_EQ_I(model_udp_open(one->model, &one->udp, &at, events, one), TENON_OK);
}

static void open_one(struct one *one, int kind)
{
    open_one_hearing(one, kind, &one_events);
    meet(one);
}

static void close_one(struct one *one)
{
    model_close(one->model);
    world_close(&one->world);
    CHECK_EQ_I(one->world.leaks, 0);
}

static struct model_stats stats_of(struct one *one)
{
    struct model_stats stats;

    model_stats(one->model, &stats);
    return stats;
}

/* The peer says n datagrams of so many bytes, of which the first is their number. */
static void peer_says(struct one *one, unsigned n, tenon_u32 bytes)
{
    const struct tenon_addr to = { .ip = tenon_ip4_bytes(10, 0, 0, 1), .port = WORLD_PORT };
    struct world *world = &one->world;
    tenon_u8 text[HEARD_MAX];

    memcpy(text, world_pattern, bytes);
    for (unsigned i = 0; i < n; i++) {
        text[0] = (tenon_u8)i;
        CHECK_EQ_I(tenon_udp_write(world->answerer, &to, text, bytes), TENON_OK);
        (void)tenon_poll(wire_host_stack(world->peer), (tenon_u32)wire_host_now(world->peer));
    }
    wire_wake(world->peer);
}

/* ---- there and back ---------------------------------------------------------------------------------- */

/* Echoed whole, with what is known of it. */
static void check_echo(struct one *one, const void *bytes, tenon_u32 n)
{
    const struct tenon_addr peer = world_peer();

    step_both(one, 20);
    CHECK_EQ_U(one->heard, 1);
    CHECK_EQ_U(one->errors, 0);
    CHECK_EQ_U(one->info.bytes, n);
    CHECK_EQ_MEM(one->bytes, bytes, n);
    CHECK(tenon_ip_equal(&one->info.from.ip, &peer.ip));
    CHECK_EQ_U(one->info.from.port, WORLD_PEER_PORT);
    CHECK_EQ_U(one->info.from.netif, 1);
    CHECK_EQ_U(one->info.to.port, WORLD_PORT);
    one->heard = 0;
}

/* In the ring, and at its edges; by reference; in fragments, few and many. */
static const tenon_u32 sizes[] = { 0, 1, 63, 64, 65, 128, 1472, 1473, 1535, 1536, 1537, 3000, 4440, 4441, 18000 };

UNIT_TEST(copies_come_back)
{
    const struct tenon_addr to = world_peer();
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            CHECK_EQ_I(model_udp_write(one.udp, &to, world_pattern + i, sizes[i]), TENON_OK);
            check_echo(&one, world_pattern + i, sizes[i]);
            CHECK(kind == MODEL_UNIFIED || one.spans <= 3);
        }
        CHECK_EQ_U(stats_of(&one).datagrams_lost + stats_of(&one).datagrams_unsent, 0);
        close_one(&one);
    }
}

/* Gathered from 0 to 6 spans: more than 4 are joined. */
UNIT_TEST(spans_come_back)
{
    const struct tenon_addr to = world_peer();
    struct tenon_span spans[6];
    struct tenon_buf *buf;
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        for (unsigned n = 0; n <= 6; n++) {
            buf = model_buf_new(6000);
            memcpy(buf->data, world_pattern, 6000);
            for (unsigned i = 0; i < n; i++) {
                spans[i].buf = buf;
                spans[i].off = 7 + 300 * i;
                spans[i].len = 300;
            }
            CHECK_EQ_I(model_udp_send(one.udp, &to, spans, n), TENON_OK);
            model_buf_put(one.model, buf);
            check_echo(&one, world_pattern + 7, 300 * n);
        }
        close_one(&one);
    }
}

/* What is joined takes no more of the ring than what is not: nothing of it is where the next command is. */
UNIT_TEST(many_spans_stay_in_their_slots)
{
    const struct tenon_addr to = world_peer();
    struct tenon_buf *buf = model_buf_new(1500);
    struct tenon_span spans[9];
    struct one one;

    for (unsigned i = 0; i < 9; i++) {
        spans[i].buf = buf;
        spans[i].off = 0;
        spans[i].len = 100;
    }
    open_one(&one, MODEL_SPLIT);
    for (unsigned n = 1; n <= 9; n++)
        CHECK_EQ_I(model_udp_send(one.udp, &to, spans, n), TENON_OK);
    step_both(&one, 20);
    CHECK_EQ_U(one.heard, 9);
    CHECK_EQ_U(one.total, 4500);
    CHECK_EQ_U(buf->refs, 1);
    close_one(&one);
    tenon_buf_put(buf);
}

/* Kept, with a reference, until later. */
static struct tenon_span kept;

static void keep_received(struct model_udp *udp, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    (void)info;
    CHECK_EQ_U(n, 1);
    model_buf_ref(model_udp_model(udp), spans[0].buf);
    kept = spans[0];
    ((struct one *)app)->heard++;
}

UNIT_TEST(what_is_kept_stays)
{
    static const struct model_udp_events keep_events = { .received = keep_received };
    const struct tenon_addr to = world_peer();
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one_hearing(&one, kind, &keep_events);
        CHECK_EQ_I(model_udp_write(one.udp, &to, world_pattern, 777), TENON_OK);
        step_both(&one, 200);
        CHECK_EQ_U(one.heard, 1);
        CHECK_EQ_U(kept.len, 777);
        CHECK_EQ_MEM(tenon_span_data(&kept), world_pattern, 777);
        model_udp_close(one.udp);
        model_buf_put(one.model, kept.buf);
        close_one(&one);
    }
}

UNIT_TEST(who_does_not_listen_leaks_nothing)
{
    const struct tenon_addr to = world_peer();
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one_hearing(&one, kind, &deaf_events);
        CHECK_EQ_I(model_udp_write(one.udp, &to, world_pattern, 777), TENON_OK);
        step_both(&one, 20);
        CHECK_EQ_U(one.world.answered, 1);
        close_one(&one);
    }
}

/* ---- addresses --------------------------------------------------------------------------------------- */

UNIT_TEST(open_says_what_is_wrong)
{
    const struct tenon_addr taken = { .port = WORLD_PORT };
    const struct tenon_addr foreign = { .ip = tenon_ip4_bytes(192, 0, 2, 1), .port = 5 };
    struct tenon_addr local;
    struct model_udp *udp;
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_udp_open(one.model, &udp, &taken, &one_events, &one), TENON_EINUSE);
        for (unsigned i = 0; i < 5000; i++)    /* more than there may be sockets: nothing is left behind */
            CHECK_EQ_I(model_udp_open(one.model, &udp, &foreign, &one_events, &one), TENON_ENOADDR);
        CHECK_EQ_I(model_udp_open(one.model, &udp, NULL, &one_events, &one), TENON_OK);
        model_udp_local(udp, &local);
        CHECK(local.port >= 0xC000);
        CHECK_EQ_I(model_udp_set(udp, TENON_UDP_TTL, 300), TENON_EINVAL);
        CHECK_EQ_I(model_udp_set(udp, TENON_UDP_TTL, 3), TENON_OK);
        model_udp_local(one.udp, &local);
        CHECK_EQ_U(local.port, WORLD_PORT);
        model_udp_close(one.udp);
        CHECK_EQ_I(model_udp_open(one.model, &one.udp, &taken, &one_events, &one), TENON_OK);    /* in order */
        close_one(&one);
    }
}

/* Without an address to whom it is connected; and others are not heard. */
UNIT_TEST(connected_hears_its_peer)
{
    const struct tenon_addr nobody = { .ip = tenon_ip4_bytes(10, 0, 0, 2), .port = 99 };
    const struct tenon_addr peer = world_peer(), nowhere = { .ip = tenon_ip4_bytes(192, 0, 2, 1), .port = 5 };
    const struct tenon_ip mine = tenon_ip4_bytes(10, 0, 0, 1);
    struct tenon_addr local;
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_udp_connect(one.udp, &nowhere), TENON_EUNREACH);
        CHECK_EQ_I(model_udp_connect(one.udp, &peer), TENON_OK);
        model_udp_local(one.udp, &local);
        CHECK(tenon_ip_equal(&local.ip, &mine));
        CHECK_EQ_I(model_udp_write(one.udp, NULL, "x", 1), TENON_OK);
        check_echo(&one, "x", 1);
        CHECK_EQ_I(model_udp_write_from(one.udp, &mine, NULL, "y", 1), TENON_OK);
        check_echo(&one, "y", 1);
        CHECK_EQ_I(model_udp_connect(one.udp, &nobody), TENON_OK);
        peer_says(&one, 1, 10);
        step_both(&one, 20);
        CHECK_EQ_U(one.heard, 0);
        CHECK_EQ_I(model_udp_connect(one.udp, NULL), TENON_OK);
        peer_says(&one, 1, 10);
        step_both(&one, 20);
        CHECK_EQ_U(one.heard, 1);
        close_one(&one);
    }
}

static void call_add(struct tenon *stack, void *arg)
{
    CHECK_EQ_I(tenon_addr_add(stack, 1, arg, 24), TENON_OK);
}

/* A second address of ours: it comes from there, not from the first. */
UNIT_TEST(sent_from_the_address_that_is_given)
{
    const struct tenon_addr to = world_peer();
    struct tenon_ip second = tenon_ip4_bytes(10, 0, 0, 77);
    struct tenon_span span = { NULL, 0, 4 };
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        model_call(one.model, call_add, &second);
        span.buf = model_buf_new(4);
        memcpy(span.buf->data, "abcd", 4);
        CHECK_EQ_I(model_udp_send_from(one.udp, &second, &to, &span, 1), TENON_OK);
        model_buf_put(one.model, span.buf);
        check_echo(&one, "abcd", 4);
        CHECK(tenon_ip_equal(&one.info.to.ip, &second));
        close_one(&one);
    }
}

/* ---- errors ------------------------------------------------------------------------------------------ */

struct failing {
    const char *name;
    tenon_u32 ip4;      /* 0: no address at all */
    tenon_u32 bytes;
    int error;
};

static const struct failing failing[] = {
    { "no way there", 0xC0000201, 10, TENON_EUNREACH },
    { "a broadcast", 0x0A0000FF, 10, TENON_EACCES },
    { "too large for a packet", 0x0A000002, 1473, TENON_EMSGSIZE },
    { "too large for IPv4", 0x0A000002, 65508, TENON_EMSGSIZE },
    { "to nobody", 0, 10, TENON_EINVAL },
};

/* Returned where the core is asked at once, else told. */
static void check_failing(struct one *one, int kind, const struct failing *row)
{
    const struct tenon_addr to = { .ip = tenon_ip4(row->ip4), .port = 5 };
    const int said = model_udp_write(one->udp, row->ip4 != 0 ? &to : NULL, world_pattern, row->bytes);

    unit_row(row->name);
    CHECK_EQ_I(said, kind == MODEL_UNIFIED ? row->error : TENON_OK);
    step_both(one, 5);
    CHECK_EQ_U(one->errors, kind != MODEL_UNIFIED);
    if (kind == MODEL_UNIFIED)
        return;
    CHECK_EQ_I(one->error, row->error);
    CHECK_EQ_U(one->failed.port, row->ip4 != 0 ? 5 : 0);
    one->errors = 0;
}

UNIT_TEST(what_cannot_be_sent_is_told)
{
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_udp_set(one.udp, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
        for (unsigned i = 0; i < sizeof failing / sizeof *failing; i++)
            check_failing(&one, kind, &failing[i]);
        CHECK_EQ_U(stats_of(&one).datagrams_unsent, 0);
        close_one(&one);
    }
}

/* More than any datagram has: without asking the stack, by copy or by reference, in one span or many. */
UNIT_TEST(too_much_for_a_datagram_is_refused)
{
    const struct tenon_addr to = world_peer();
    struct tenon_buf *buf = model_buf_new(65528);
    const struct tenon_span whole = { buf, 0, 65528 }, parts[2] = { { buf, 0, 65527 }, { buf, 65527, 1 } };
    const struct tenon_span wraps[2] = { { buf, 0, 10 }, { buf, 0, 0xFFFFFFFF } };
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_udp_write(one.udp, &to, buf->data, 65528), TENON_EMSGSIZE);
        CHECK_EQ_I(model_udp_send(one.udp, &to, &whole, 1), TENON_EMSGSIZE);
        CHECK_EQ_I(model_udp_send(one.udp, &to, wraps, 2), TENON_EMSGSIZE);
        CHECK_EQ_I(model_udp_send(one.udp, &to, parts, 2), TENON_EMSGSIZE);
        step_both(&one, 5);
        CHECK_EQ_U(one.errors, 0);
        CHECK_EQ_U(buf->refs, 1);
        close_one(&one);
    }
    tenon_buf_put(buf);
}

/* ICMP: nobody has the port (RFC 1122 4.1.3.3). */
UNIT_TEST(what_routers_and_peers_report_is_told)
{
    const struct tenon_addr to = { .ip = tenon_ip4_bytes(10, 0, 0, 2), .port = 4242 };
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
        step_both(&one, 20);
        CHECK_EQ_U(one.errors, 1);
        CHECK_EQ_I(one.error, TENON_EREFUSED);
        CHECK_EQ_U(one.failed.port, 4242);
        close_one(&one);
    }
}

/* ---- full ---------------------------------------------------------------------------------------------- */

/* The application does not look: as many as fit, in order, and the others are counted. */
UNIT_TEST(full_ring_loses_and_counts)
{
    struct one one;

    for (int kind = MODEL_SPLIT; kind <= MODEL_MERGE; kind++) {
        for (tenon_u32 bytes = 10; bytes <= 6010; bytes += 6000) {    /* what is lost has not been joined in vain */
            open_one(&one, kind);
            peer_says(&one, 40, bytes);
            step_stack(&one, 20);
            CHECK_EQ_U(one.heard, 0);
            CHECK_EQ_U(stats_of(&one).datagrams_lost, 40 - SLOTS / 2);
            step_both(&one, 5);
            CHECK_EQ_U(one.heard, SLOTS / 2);
            CHECK_EQ_U(one.bytes[0], SLOTS / 2 - 1);
            CHECK_EQ_U(stats_of(&one).events_full, 0);
            peer_says(&one, 1, bytes);
            step_both(&one, 20);
            CHECK_EQ_U(one.heard, SLOTS / 2 + 1);
            close_one(&one);
        }
    }
}

/* One slot is not enough for a datagram, and enough for an error. */
UNIT_TEST(half_of_an_event_is_never_told)
{
    const struct tenon_addr to = { .ip = tenon_ip4_bytes(192, 0, 2, 1), .port = 5 };
    struct one one;

    open_one(&one, MODEL_SPLIT);
    CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
    (void)stats_of(&one);
    peer_says(&one, SLOTS / 2, 10);
    step_stack(&one, 10);
    CHECK_EQ_U(stats_of(&one).datagrams_lost, 1);
    CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
    CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
    CHECK_EQ_U(stats_of(&one).datagrams_lost, 2);
    step_both(&one, 10);
    CHECK_EQ_U(one.heard, SLOTS / 2 - 1);
    CHECK_EQ_U(one.errors, 2);
    close_one(&one);
}

/* The stack does not look. Two slots each: a command, and what is sent. */
UNIT_TEST(full_ring_refuses)
{
    const struct tenon_addr to = world_peer();
    struct tenon_span five[5];
    struct one one;
    unsigned n = 0;

    open_one(&one, MODEL_SPLIT);
    while (model_udp_write(one.udp, &to, "x", 1) == TENON_OK)
        n++;
    CHECK_EQ_U(n, SLOTS / 2);
    for (unsigned i = 0; i < 5; i++) {
        five[i].buf = i == 0 ? model_buf_new(10) : five[0].buf;
        five[i].off = i;
        five[i].len = 1;
    }
    CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_EAGAIN);
    CHECK_EQ_I(model_udp_write(one.udp, &to, world_pattern, 5000), TENON_EAGAIN);
    CHECK_EQ_I(model_udp_send(one.udp, &to, five, 1), TENON_EAGAIN);
    CHECK_EQ_I(model_udp_send(one.udp, &to, five, 5), TENON_EAGAIN);
    CHECK_EQ_U(five[0].buf->refs, 1);
    tenon_buf_put(five[0].buf);
    (void)model_step(one.model);
    step_stack(&one, 1);
    CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
    step_both(&one, 20);
    CHECK_EQ_U(one.world.answered, 1 + SLOTS / 2 + 1);    /* the first is that of meet() */
    close_one(&one);
}

/* More than the core keeps for one call of transmit(), without a turn between: all of them go out. When the port takes
 * no more, what is left is counted. */
UNIT_TEST(full_burst_is_sent_or_counted)
{
    const struct wire_line_conf blocked = { .rate = 1, .queue_frames = 1, .queue_refuses = 1 };
    const struct tenon_addr to = world_peer();
    struct one one;

    for (int refuses = 0; refuses < 2; refuses++) {
        open_one(&one, MODEL_SPLIT);
        if (refuses)
            wire_line_set(one.world.end, WIRE_OUT, &blocked);
        for (unsigned round = 0; round < 4; round++) {
            for (unsigned n = 0; n < SLOTS / 2; n++)
                CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
            (void)stats_of(&one);    /* the stack works on them, and nothing else */
        }
        if (refuses)
            CHECK(stats_of(&one).datagrams_unsent > 2 * SLOTS / 2);
        else
            CHECK_EQ_U(stats_of(&one).datagrams_unsent, 0);
        close_one(&one);
    }
}

/* ---- the end ------------------------------------------------------------------------------------------- */

/* With datagrams and errors in the ring that nobody has looked at. What was sent before it goes out. */
UNIT_TEST(nothing_is_told_after_close)
{
    const struct tenon_addr to = world_peer(), nowhere = { .ip = tenon_ip4_bytes(192, 0, 2, 1), .port = 5 };
    struct one one;

    for (int kind = MODEL_SPLIT; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_udp_write(one.udp, &nowhere, "x", 1), TENON_OK);
        (void)stats_of(&one);
        peer_says(&one, 10, 6000);
        step_stack(&one, 20);
        CHECK_EQ_I(model_udp_write(one.udp, &to, "x", 1), TENON_OK);
        one.closed = 1;
        model_udp_close(one.udp);
        peer_says(&one, 10, 6000);
        step_both(&one, 20);
        CHECK_EQ_U(one.heard + one.errors, 0);
        CHECK_EQ_U(one.world.answered, 2);
        close_one(&one);
    }
}

UNIT_TEST(close_in_the_handler_is_the_end)
{
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        one.close_at = 3;
        peer_says(&one, 10, 6000);
        step_both(&one, 20);
        CHECK_EQ_U(one.heard, 3);
        close_one(&one);
    }
}

/* Many sockets end while the ring is full of datagrams: that they have ended is told when there is room. */
UNIT_TEST(end_waits_for_room)
{
    struct model_udp *udps[10];
    struct one one;

    open_one(&one, MODEL_SPLIT);
    for (unsigned i = 0; i < 10; i++)
        CHECK_EQ_I(model_udp_open(one.model, &udps[i], NULL, &one_events, &one), TENON_OK);
    peer_says(&one, 40, 10);
    step_stack(&one, 10);
    for (unsigned i = 0; i < 10; i++)
        model_udp_close(udps[(i * 3 + 5) % 10]);
    (void)stats_of(&one);    /* publishes them */
    step_stack(&one, 10);
    CHECK_EQ_U(stats_of(&one).events, 2 + SLOTS);
    step_both(&one, 10);
    CHECK_EQ_U(stats_of(&one).events, 2 + SLOTS + 10);
    CHECK_EQ_U(one.heard, SLOTS / 2);
    close_one(&one);
}

/* A connection's closed() may still say something when the model is closed; and it goes out. */
static void last_words(struct model_tcp *tcp, void *app, int why)
{
    const struct tenon_addr to = world_peer();
    struct one *one = app;

    (void)tcp;
    (void)why;
    CHECK_EQ_I(model_udp_write(one->udp, &to, "end", 3), TENON_OK);
    one->errors++;
}

/* The port is free. */
static void check_closed(struct tenon *stack)
{
    static const struct tenon_udp_events none = { .received = NULL };
    const struct tenon_addr at = { .port = WORLD_PORT };
    struct tenon_udp *udp;

    CHECK_EQ_I(tenon_udp_open(stack, &udp, &none, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_bind(udp, &at), TENON_OK);
    tenon_udp_close(udp);
}

UNIT_TEST(last_words_go_out)
{
    static const struct model_tcp_events tcp_events = { .closed = last_words };
    const struct tenon_addr to = world_peer();
    struct model_tcp *tcp;
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        open_one(&one, kind);
        CHECK_EQ_I(model_tcp_connect(one.model, &tcp, NULL, &to, &tcp_events, &one), TENON_OK);
        step_both(&one, 20);
        model_close(one.model);
        CHECK_EQ_U(one.errors, 1);
        check_closed(one.world.stack);
        world_close(&one.world);
        CHECK_EQ_U(one.world.answered, 2);
        CHECK_EQ_I(one.world.leaks, 0);
    }
}

int main(void)
{
    UNIT_RUN(copies_come_back);
    UNIT_RUN(spans_come_back);
    UNIT_RUN(many_spans_stay_in_their_slots);
    UNIT_RUN(what_is_kept_stays);
    UNIT_RUN(who_does_not_listen_leaks_nothing);
    UNIT_RUN(open_says_what_is_wrong);
    UNIT_RUN(connected_hears_its_peer);
    UNIT_RUN(sent_from_the_address_that_is_given);
    UNIT_RUN(what_cannot_be_sent_is_told);
    UNIT_RUN(too_much_for_a_datagram_is_refused);
    UNIT_RUN(what_routers_and_peers_report_is_told);
    UNIT_RUN(full_ring_loses_and_counts);
    UNIT_RUN(half_of_an_event_is_never_told);
    UNIT_RUN(full_ring_refuses);
    UNIT_RUN(full_burst_is_sent_or_counted);
    UNIT_RUN(nothing_is_told_after_close);
    UNIT_RUN(close_in_the_handler_is_the_end);
    UNIT_RUN(end_waits_for_room);
    UNIT_RUN(last_words_go_out);
    return unit_end();
}
