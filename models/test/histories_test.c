/* SPDX-License-Identifier: MIT */
/* The same application in all models, step by step in one thread, in any order, with a clock of its own: many
 * connections of many sizes both ways, aborts at any time, rings that are much too small. Every byte is compared, and
 * all memory has to come back. And the single rules, one by one. */
#include <sched.h>
#include <stdlib.h>

#include "../spread.h"
#include "history.h"

static char error[300];

/* ---- with a clock of our own, one thread, and turns in any order --------------------------------------- */

static void step_all(struct world *world, struct app *app, struct model *model, unsigned long *random)
{
    unsigned idle = 0;

    while (app->closed < app->done_at && idle < 2000000) {
        int work = 0;

        /* Now and then one of them does nothing for a long time. */
        for (unsigned n = (unsigned)(unit_random(random) % 64 == 0 ? 40 : unit_random(random) % 3); n > 0; n--) {
            work |= model_step_stack(model);
            virtual_us += 20;
        }
        for (unsigned n = (unsigned)(unit_random(random) % 64 == 0 ? 40 : unit_random(random) % 3); n > 0; n--)
            work |= model_step(model);
        virtual_us += work ? 20 : 200;
        idle = work ? 0 : idle + 1;
    }
    /* The peer hears of the last ones too. */
    for (unsigned i = 0, after = 0; i < 2000 && after < 50; i++) {
        (void)model_step_stack(model);
        (void)model_step(model);
        virtual_us += 1000;
        after += world->ended == world->conf.conns && world->datagrams == world->conf.datagrams
                 && app->asked == app->conf.datagrams;
    }
}

static const struct history stepped[] = {
    { .name = "unified",
      .kind = MODEL_UNIFIED,
      .clients = 40,
      .leave_permille = 2,
      .world = { .conns = 60,
                 .datagrams = 400,
                 .total_max = 60000,
                 .abort_percent = 10,
                 .delay_us = 100,
                 .loss_ppm = 5000 } },
    { .name = "unified, slow",
      .kind = MODEL_UNIFIED,
      .clients = 20,
      .slow = 1,
      .world = { .conns = 40, .total_max = 100000, .abort_percent = 10, .delay_us = 100 } },
    { .name = "split",
      .kind = MODEL_SPLIT,
      .clients = 40,
      .leave_permille = 2,
      .world = { .conns = 60,
                 .datagrams = 400,
                 .total_max = 60000,
                 .abort_percent = 10,
                 .delay_us = 100,
                 .loss_ppm = 5000 } },
    { .name = "split, small rings",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 60,
      .leave_permille = 2,
      .world = { .conns = 100,
                 .datagrams = 600,
                 .total_max = 60000,
                 .abort_percent = 10,
                 .delay_us = 50,
                 .loss_ppm = 2000 } },
    { .name = "split, small rings, slow",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 60,
      .slow = 1,
      .world = { .conns = 100, .datagrams = 600, .total_max = 100000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, short connections",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 300,
      .leave_permille = 20,
      .world = { .conns = 600, .total_max = 300, .abort_percent = 20, .delay_us = 20, .loss_ppm = 2000 } },
    { .name = "split, large windows",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 20,
      .leave_permille = 1,
      .world = { .conns = 40, .total_max = 400000, .delay_us = 50, .loss_ppm = 2000, .rcv_buf = 262144 } },
    { .name = "merge, small rings",
      .kind = MODEL_MERGE,
      .slots = 64,
      .clients = 60,
      .leave_permille = 2,
      .world = { .conns = 100,
                 .datagrams = 600,
                 .total_max = 30000,
                 .abort_percent = 10,
                 .delay_us = 50,
                 .loss_ppm = 2000 } },
};

static void run_stepped(const struct history *given, unsigned long seed)
{
    struct history history = *given;
    unsigned long random = seed * 2654435761UL % 0xFFFFFFFFUL + 1;
    struct model *model;
    struct world world;
    struct app app;

    history.world.seed = seed;
    history.poll = 1;
    virtual_us = 0xFFF00000U;    /* it wraps on the way */
    model = history_begin(&world, &app, &history, 1);
    step_all(&world, &app, model, &random);
    CHECK_GOOD(history_judge(&world, &app, model, &history));
}

UNIT_TEST(stepped_histories)
{
    char row[80];

    for (unsigned i = 0; i < sizeof stepped / sizeof *stepped; i++)
        for (unsigned long seed = 1; seed <= 4; seed++) {
            snprintf(row, sizeof row, "%s, seed %lu", stepped[i].name, seed);
            unit_row(row);
            run_stepped(&stepped[i], seed);
        }
}

/* Both rings are full again and again, or the histories above show nothing. */
UNIT_TEST(small_rings_are_full_both_ways)
{
    const struct history history = { .kind = MODEL_SPLIT, .slots = 64, .clients = 60,
        .world = { .conns = 100, .total_max = 60000, .delay_us = 50, .seed = 11 } };
    unsigned long random = 5;
    struct model_stats stats;
    struct model *model;
    struct world world;
    struct app app;

    virtual_us = 0;
    model = history_begin(&world, &app, &history, 1);
    step_all(&world, &app, model, &random);
    model_stats(model, &stats);
    CHECK(stats.commands_full > 100);
    CHECK(stats.events_full > 100);
    CHECK(app.again > 100);
    CHECK_GOOD(history_judge(&world, &app, model, &history));
}

/* ---- single rules ---------------------------------------------------------------------------------------- */

struct one {
    struct model *model;
    struct model_tcp *tcp;
    int opened, closed, why, left;
    unsigned long received, wrong;
};

static void one_opened(struct model_tcp *tcp, void *arg)
{
    ((struct one *)arg)->opened++;
    CHECK(tcp == ((struct one *)arg)->tcp);
}

static void one_closed(struct model_tcp *tcp, void *arg, int why)
{
    struct one *one = arg;

    (void)tcp;
    one->closed++;
    one->why = why;
}

static void one_received(struct model_tcp *tcp, void *arg, const struct tenon_span *spans, unsigned n)
{
    struct one *one = arg;

    for (unsigned i = 0; i < n; i++) {
        one->wrong += world_compare(0, (tenon_u32)one->received, tenon_span_data(&spans[i]), spans[i].len);
        one->received += spans[i].len;
        model_tcp_consumed(tcp, spans[i].len);
    }
}

static const struct model_tcp_events one_events = { .opened = one_opened, .received = one_received,
    .closed = one_closed };

static void step_both(struct model *model, unsigned n)
{
    while (n-- > 0) {
        (void)model_step_stack(model);
        (void)model_step(model);
        virtual_us += 100;
    }
}

static struct model *open_with(struct world *world, struct one *one, struct model_conf *conf, uint64_t peer_lost)
{
    const struct world_conf world_conf = { .delay_us = 10, .total_max = 1, .rcv_buf = 8192, .peer_lost = peer_lost };

    memset(one, 0, sizeof *one);
    world_open(world, &world_conf, virtual_now());
    conf->port = &world->port;
    conf->stack = world->stack;
    conf->netif = 1;
    conf->stepped = 1;
    conf->now_us = virtual_now;
    conf->slots = 64;
    one->model = model_open(conf, error, sizeof error);
    return one->model;
}

static struct model *open_one_where(struct world *world, struct one *one, enum model_kind kind, uint64_t peer_lost)
{
    struct model_conf conf = { .kind = kind };

    return open_with(world, one, &conf, peer_lost);
}

static struct model *open_member(struct world *world, struct one *one, enum model_kind kind,
                                 struct model_spread *spread, unsigned member)
{
    struct model_conf conf = { .kind = kind, .spread = spread, .member = member };

    return open_with(world, one, &conf, 0);
}

static struct model *open_one(struct world *world, struct one *one, enum model_kind kind)
{
    return open_one_where(world, one, kind, 0);
}

static void close_one(struct world *world, struct one *one)
{
    model_close(one->model);
    world_close(world);
    CHECK_EQ_I(world->leaks, 0);
}

static void connect_one(struct one *one, tenon_u16 port)
{
    struct tenon_addr to = world_peer();

    to.port = port;
    CHECK_EQ_I(model_tcp_connect(one->model, &one->tcp, NULL, &to, &one_events, one), TENON_OK);
}

/* A reference keeps the handle, and nothing else, after the end. */
static void handle_outlives(enum model_kind kind)
{
    const struct tenon_span span = { NULL, 0, 1 };
    struct world world;
    struct one one;

    CHECK(open_one(&world, &one, kind) != NULL);
    connect_one(&one, WORLD_PEER_PORT);
    model_tcp_ref(one.tcp);
    step_both(one.model, 50);
    CHECK_EQ_I(one.opened, 1);
    model_tcp_abort(one.tcp);
    step_both(one.model, 5);
    CHECK_EQ_I(one.closed, 1);
    CHECK_EQ_I(one.why, TENON_EABORTED);
    CHECK_EQ_I(model_tcp_write(one.tcp, "x", 1), TENON_ECLOSED);
    CHECK_EQ_I(model_tcp_send(one.tcp, &span), TENON_ECLOSED);
    CHECK_EQ_I(model_tcp_finish(one.tcp), TENON_ECLOSED);
    CHECK_EQ_I(model_tcp_set(one.tcp, TENON_TCP_NODELAY, 1), TENON_ECLOSED);
    CHECK_EQ_U(model_tcp_room(one.tcp), 0);
    model_tcp_consumed(one.tcp, 1);
    model_tcp_close(one.tcp);
    model_tcp_abort(one.tcp);
    step_both(one.model, 5);
    CHECK_EQ_I(one.closed, 1);
    model_tcp_put(one.tcp);
    step_both(one.model, 5);
    close_one(&world, &one);
}

UNIT_TEST(handle_outlives_connection)
{
    handle_outlives(MODEL_UNIFIED);
    handle_outlives(MODEL_SPLIT);
}

/* Nobody listens there; and there is no way at all. */
UNIT_TEST(failed_connect_is_told)
{
    struct world world;
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        CHECK(open_one(&world, &one, (enum model_kind)kind) != NULL);
        connect_one(&one, 1234);
        step_both(one.model, 50);
        CHECK_EQ_I(one.closed, 1);
        CHECK_EQ_I(one.why, TENON_EREFUSED);
        CHECK_EQ_I(one.opened, 0);
        close_one(&world, &one);
    }
}

UNIT_TEST(unreachable_is_told)
{
    const struct tenon_addr to = { .ip = tenon_ip4_bytes(192, 0, 2, 1), .port = 7 };
    struct world world;
    struct one one;

    CHECK(open_one(&world, &one, MODEL_UNIFIED) != NULL);
    CHECK_EQ_I(model_tcp_connect(one.model, &one.tcp, NULL, &to, &one_events, &one), TENON_EUNREACH);
    CHECK_EQ_I(one.closed, 0);
    close_one(&world, &one);
    CHECK(open_one(&world, &one, MODEL_SPLIT) != NULL);
    CHECK_EQ_I(model_tcp_connect(one.model, &one.tcp, NULL, &to, &one_events, &one), TENON_OK);
    step_both(one.model, 3);
    CHECK_EQ_I(one.closed, 1);
    CHECK_EQ_I(one.why, TENON_EUNREACH);
    close_one(&world, &one);
}

/* What the application has said goes down; it sees nothing of what comes of that. */
static void end_unseen(struct one *one)
{
    struct model_stats stats;

    (void)model_step(one->model);
    for (unsigned i = 0; i < 50; i++) {
        (void)model_step_stack(one->model);
        virtual_us += 100;
    }
    model_stats(one->model, &stats);
    CHECK_EQ_U(stats.events, 1);    /* closed() is on its way */
    CHECK_EQ_I(one->closed, 0);
}

/* The stack has closed it, and does not yet know that the application has said more. */
UNIT_TEST(commands_about_what_has_ended_do_nothing)
{
    struct tenon_buf *buf = model_buf_new(100);
    const struct tenon_span span = { buf, 0, 100 };
    struct world world;
    struct one one;

    CHECK(open_one(&world, &one, MODEL_SPLIT) != NULL);
    connect_one(&one, 1234);
    end_unseen(&one);
    CHECK_EQ_I(model_tcp_send(one.tcp, &span), TENON_OK);
    CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern, 500), 500);
    CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern, 5000), 5000);
    CHECK_EQ_I(model_tcp_set(one.tcp, TENON_TCP_NODELAY, 1), TENON_OK);
    CHECK_EQ_I(model_tcp_finish(one.tcp), TENON_OK);
    model_buf_put(one.model, buf);
    CHECK_EQ_I(one.closed, 0);
    step_both(one.model, 5);
    CHECK_EQ_I(one.closed, 1);
    close_one(&world, &one);
}

/* A ring that the stack does not empty: all is refused or waits, and nothing of it is lost. */
UNIT_TEST(full_ring_refuses_and_tells_later)
{
    struct world world;
    struct one one;
    unsigned n = 0;

    CHECK(open_one(&world, &one, MODEL_SPLIT) != NULL);
    connect_one(&one, WORLD_PEER_PORT);
    step_both(one.model, 50);
    while (model_tcp_write(one.tcp, "x", 1) == 1)
        n++;
    CHECK_EQ_U(n, 64);
    model_tcp_consumed(one.tcp, 0);
    CHECK_EQ_I(model_tcp_finish(one.tcp), TENON_OK);    /* not refused */
    CHECK_EQ_I(model_tcp_write(one.tcp, "x", 1), TENON_ECLOSED);
    step_both(one.model, 100);
    CHECK_EQ_I(one.closed, 1);
    CHECK_EQ_I(one.why, TENON_OK);
    close_one(&world, &one);
}

static void late_acked(struct model_tcp *tcp, void *arg, tenon_u32 bytes)
{
    (void)tcp, (void)bytes;
    CHECK_EQ_I(((struct one *)arg)->closed, 0);
}

static const struct model_tcp_events late_events = { .acked = late_acked, .closed = one_closed };

/* Who was refused for a full ring is not told that there is room when the connection has ended meanwhile, and a
 * reference keeps the handle: closed() is the last event. */
UNIT_TEST(full_ring_and_the_end)
{
    struct world world;
    struct one one;

    CHECK(open_one(&world, &one, MODEL_SPLIT) != NULL);
    connect_one(&one, 1234);
    model_tcp_handler(one.tcp, &late_events, &one);
    model_tcp_ref(one.tcp);
    end_unseen(&one);
    while (model_tcp_write(one.tcp, "x", 1) == 1)
        ;
    step_both(one.model, 5);
    CHECK_EQ_I(one.closed, 1);
    model_tcp_put(one.tcp);
    close_one(&world, &one);
}

/* Before it is open nobody knows how large the core's queue is. What does not fit waits, and the FIN behind it. */
UNIT_TEST(deferred_is_sent_before_the_end)
{
    struct tenon_buf *buf = model_buf_new(20000);
    const struct tenon_span span = { buf, 0, 8000 };
    struct model_stats stats;
    struct world world;
    struct one one;

    CHECK(open_one(&world, &one, MODEL_SPLIT) != NULL);
    memcpy(buf->data, world_pattern + 40000, 8000);
    connect_one(&one, WORLD_PEER_PORT);
    CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern, 20000), 20000);
    CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern + 20000, 19500), 19500);
    CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern + 39500, 500), 500);
    CHECK_EQ_I(model_tcp_send(one.tcp, &span), TENON_OK);
    model_buf_put(one.model, buf);
    CHECK_EQ_I(model_tcp_finish(one.tcp), TENON_OK);
    step_both(one.model, 3000);
    CHECK_EQ_U(one.received, 48000);
    CHECK_EQ_U(one.wrong, 0);
    CHECK_EQ_I(one.closed, 1);
    CHECK_EQ_I(one.why, TENON_OK);
    model_stats(one.model, &stats);
    CHECK(stats.deferred >= 4);
    close_one(&world, &one);
}

/* What a function of model_call() finds. */
struct found {
    struct one *one;
    int finish;
    tenon_u32 unconsumed;
};

static void call_find(struct tenon *stack, void *arg)
{
    struct found *found = arg;
    struct tenon_tcp *core = model_tcp_core(found->one->tcp);
    struct tenon_tcp_info info;

    (void)stack;
    tenon_tcp_status(core, &info);
    found->unconsumed = info.rcv_unconsumed;
    found->finish = tenon_tcp_finish(core);
}

static void keeper_received(struct model_tcp *tcp, void *arg, const struct tenon_span *spans, unsigned n)
{
    (void)tcp;
    for (unsigned i = 0; i < n; i++)
        ((struct one *)arg)->received += spans[i].len;
}

static const struct model_tcp_events keeper_events = { .opened = one_opened, .received = keeper_received,
    .closed = one_closed };

/* What was said to a connection before, and has no command of its own, comes before the function; also when the ring
 * is full. */
UNIT_TEST(a_call_comes_after_what_was_said)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        for (int full = 0; full < 2; full++) {
            struct found found = { 0 };
            struct world world;
            struct one one;

            CHECK(open_one(&world, &one, (enum model_kind)kind) != NULL);
            connect_one(&one, WORLD_PEER_PORT);
            model_tcp_handler(one.tcp, &keeper_events, &one);
            step_both(one.model, 50);
            CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern, 100), 100);
            step_both(one.model, 1000);
            CHECK_EQ_U(one.received, 100);
            model_tcp_consumed(one.tcp, 100);
            for (int i = 0; full && i < 64; i++)
                (void)model_tcp_write(one.tcp, "x", 1);
            CHECK_EQ_I(model_tcp_finish(one.tcp), TENON_OK);
            found.one = &one;
            model_call(one.model, call_find, &found);
            CHECK_EQ_U(found.unconsumed, 0);
            CHECK_EQ_I(found.finish, TENON_ECLOSED);
            close_one(&world, &one);
        }
    }
}

static void again_closed(struct model_tcp *tcp, void *arg, int why);

static const struct model_tcp_events again_events = { .closed = again_closed };

static void again_closed(struct model_tcp *tcp, void *arg, int why)
{
    const struct tenon_addr to = world_peer(), at = { .port = 80 };
    struct model_listener *listener;
    struct one *one = arg;

    one_closed(tcp, arg, why);
    CHECK_EQ_I(model_tcp_connect(one->model, &one->tcp, NULL, &to, &again_events, arg), TENON_ECLOSED);
    CHECK_EQ_I(model_listen(one->model, &listener, &at, &again_events, arg, 0), TENON_ECLOSED);
}

/* As applications do that have lost their peer. */
UNIT_TEST(nothing_begins_at_the_end)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct world world;
        struct one one;

        CHECK(open_one(&world, &one, (enum model_kind)kind) != NULL);
        connect_one(&one, WORLD_PEER_PORT);
        model_tcp_handler(one.tcp, &again_events, &one);
        step_both(one.model, 50);
        close_one(&world, &one);
        CHECK_EQ_I(one.closed, 1);
        CHECK_EQ_I(one.why, TENON_EABORTED);
    }
}

static void leaver_received(struct model_tcp *tcp, void *arg, const struct tenon_span *spans, unsigned n)
{
    struct one *one = arg;

    CHECK_EQ_I(one->left, 0);
    one_received(tcp, arg, spans, n);
    one->left = 1;
    model_tcp_close(tcp);
}

static void leaver_acked(struct model_tcp *tcp, void *arg, tenon_u32 bytes)
{
    (void)tcp, (void)bytes;
    CHECK_EQ_I(((struct one *)arg)->left, 0);
}

static void leaver_finished(struct model_tcp *tcp, void *arg)
{
    (void)tcp;
    CHECK_EQ_I(((struct one *)arg)->left, 0);
}

static const struct model_tcp_events leaver_events = { .opened = one_opened, .received = leaver_received,
    .acked = leaver_acked, .finished = leaver_finished, .closed = one_closed };

static void connect_leaver(struct one *one)
{
    const struct tenon_addr to = world_peer();

    CHECK_EQ_I(model_tcp_connect(one->model, &one->tcp, NULL, &to, &leaver_events, one), TENON_OK);
    step_both(one->model, 50);
    CHECK_EQ_I(one->opened, 1);
}

/* Who closes in received() hears no text after that, also if there is some that came early. Of the peer's frames, the
 * first three are about its address and the connection; the next one, with the beginning of the text, is lost. */
UNIT_TEST(nothing_is_received_after_close)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct world world;
        struct one one;

        CHECK(open_one_where(&world, &one, (enum model_kind)kind, 1 << 3) != NULL);
        connect_leaver(&one);
        CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern, 4000), 4000);
        step_both(one.model, 10000);
        CHECK_EQ_U(one.wrong, 0);
        CHECK_EQ_I(one.left, 1);
        CHECK_EQ_I(one.closed, 1);
        if (kind == MODEL_UNIFIED) {
            CHECK_EQ_I(one.why, TENON_EABORTED);
            CHECK_EQ_U(one.received, 1448);
            CHECK_EQ_U(tenon_stat(world.stack, TENON_STAT_TCP_AFTER_CLOSE), 1);
        }
        close_one(&world, &one);
    }
}

/* What is acknowledged then, and that the peer has finished too, nobody hears. */
UNIT_TEST(nothing_but_the_end_is_told_after_close)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        for (tenon_i32 bytes = 0; bytes <= 100; bytes += 100) {
            struct world world;
            struct one one;

            CHECK(open_one(&world, &one, (enum model_kind)kind) != NULL);
            connect_leaver(&one);
            CHECK_EQ_I(model_tcp_write(one.tcp, world_pattern, (tenon_u32)bytes), bytes);
            model_tcp_close(one.tcp);
            one.left = 1;
            step_both(one.model, 10000);
            CHECK_EQ_I(one.closed, 1);
            CHECK_EQ_I(one.why, bytes > 0 ? TENON_EABORTED : TENON_OK);    /* the echo comes too late */
            close_one(&world, &one);
        }
    }
}

UNIT_TEST(options_that_are_none_are_told_or_counted)
{
    struct model_stats stats;
    struct world world;
    struct one one;

    for (int kind = MODEL_UNIFIED; kind <= MODEL_SPLIT; kind++) {
        CHECK(open_one(&world, &one, (enum model_kind)kind) != NULL);
        connect_one(&one, WORLD_PEER_PORT);
        step_both(one.model, 50);
        CHECK_EQ_I(model_tcp_set(one.tcp, TENON_TCP_OPTION_COUNT, 1), TENON_EINVAL);
        CHECK_EQ_I(model_tcp_set(one.tcp, TENON_TCP_ECN, 77), TENON_OK);
        CHECK_EQ_I(model_tcp_set(one.tcp, TENON_TCP_SND_BUF, 0), TENON_OK);
        step_both(one.model, 3);
        model_stats(one.model, &stats);
        CHECK_EQ_U(stats.refused, 2);
        CHECK_EQ_U(model_tcp_room(one.tcp), 8192);    /* what was refused is not reckoned with */
        close_one(&world, &one);
    }
}

/* What this one has got is an ARP reply, which goes to all. */
static void receive_a_reply(struct port *port)
{
    tenon_u8 bytes[42] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 9,
        10, 0, 0, 9, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1 };
    struct tenon_buf buf = { bytes, sizeof bytes, 1, NULL };
    const struct tenon_span span = { &buf, 0, sizeof bytes };
    const struct tenon_frame frame = { .spans = &span, .nspans = 1 };

    port->input(port->input_arg, &frame, 1, virtual_us);
}

/* What comes from another queue comes at the model's time, whatever the clock of the system says. */
static void handed_over(enum model_kind kind)
{
    struct model_mailbox box[2], *const boxes[2] = { &box[0], &box[1] };
    struct model_spread *spread = model_spread_open(boxes, 2, 0);
    struct tenon_tcp_info info;
    struct world worlds[2];
    struct one ones[2];

    for (unsigned i = 0; i < 2; i++) {
        CHECK_EQ_I(model_mailbox_open(&box[i]), 0);
        CHECK(open_member(&worlds[i], &ones[i], kind, spread, i) != NULL);
    }
    connect_one(&ones[0], WORLD_PEER_PORT);
    step_both(ones[0].model, 50);
    receive_a_reply(&worlds[1].port);
    step_both(ones[0].model, 2);
    CHECK_EQ_I(ones[0].opened, 1);
    tenon_tcp_status(model_tcp_core(ones[0].tcp), &info);
    CHECK(info.since_rcv_ms < 1000);
    for (unsigned i = 0; i < 2; i++)
        close_one(&worlds[i], &ones[i]);
    for (unsigned i = 0; i < 2; i++)
        model_mailbox_close(&box[i]);
    model_spread_close(spread);
}

UNIT_TEST(handed_over_at_the_time_of_the_model)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        virtual_us = port_now_us() - 1000000000;
        handed_over((enum model_kind)kind);
    }
}

UNIT_TEST(bad_configurations_are_explained)
{
    const struct world_conf world_conf = { .total_max = 1 };
    struct model_conf conf = { .kind = MODEL_SPLIT, .netif = 1 };
    struct world world;

    CHECK(model_open(&conf, error, sizeof error) == NULL);
    CHECK(strstr(error, "port") != NULL);
    world_open(&world, &world_conf, port_now_us());
    conf.port = &world.port;
    conf.stack = world.stack;
    conf.slots = 100;
    CHECK(model_open(&conf, error, sizeof error) == NULL);
    CHECK(strstr(error, "power of two") != NULL);
    conf.slots = 0;
    conf.pin = 1;
    conf.app_cpu = sched_getcpu(); /* one that this program may run on */
    conf.stack_cpu = 100000;
    CHECK(model_open(&conf, error, sizeof error) == NULL);
    CHECK(strstr(error, "processor 100000") != NULL);
    world_close(&world);
}

int main(void)
{
    UNIT_RUN(stepped_histories);
    UNIT_RUN(small_rings_are_full_both_ways);
    UNIT_RUN(handle_outlives_connection);
    UNIT_RUN(failed_connect_is_told);
    UNIT_RUN(unreachable_is_told);
    UNIT_RUN(commands_about_what_has_ended_do_nothing);
    UNIT_RUN(full_ring_refuses_and_tells_later);
    UNIT_RUN(full_ring_and_the_end);
    UNIT_RUN(deferred_is_sent_before_the_end);
    UNIT_RUN(a_call_comes_after_what_was_said);
    UNIT_RUN(nothing_begins_at_the_end);
    UNIT_RUN(nothing_is_received_after_close);
    UNIT_RUN(nothing_but_the_end_is_told_after_close);
    UNIT_RUN(options_that_are_none_are_told_or_counted);
    UNIT_RUN(handed_over_at_the_time_of_the_model);
    UNIT_RUN(bad_configurations_are_explained);
    return unit_end();
}
