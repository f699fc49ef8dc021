/* SPDX-License-Identifier: MIT */
/* The same application in all models, with real threads and clocks, polling and sleeping. Meant to be run with
 * ThreadSanitizer too. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "history.h"

static char error[300];

/* ---- with threads, in real time ------------------------------------------------------------------------ */

static const struct history threaded[] = {
    { .name = "unified, poll",
      .kind = MODEL_UNIFIED,
      .clients = 40,
      .leave_permille = 2,
      .poll = 1,
      .world = { .conns = 60, .datagrams = 400, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "unified, sleeping",
      .kind = MODEL_UNIFIED,
      .clients = 40,
      .leave_permille = 2,
      .world = { .conns = 60,
                 .datagrams = 400,
                 .total_max = 40000,
                 .abort_percent = 10,
                 .delay_us = 50,
                 .tick_us = 100 } },
    { .name = "split, poll",
      .kind = MODEL_SPLIT,
      .clients = 40,
      .leave_permille = 2,
      .poll = 1,
      .world = { .conns = 60, .datagrams = 400, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, poll, small rings",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 40,
      .poll = 1,
      .world = { .conns = 60, .datagrams = 400, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, poll, small rings, slow",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 40,
      .poll = 1,
      .slow = 1,
      .world = { .conns = 60, .datagrams = 400, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, sleeping",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 40,
      .leave_permille = 2,
      .spin_us = 10,
      .world = { .conns = 60,
                 .datagrams = 400,
                 .total_max = 40000,
                 .abort_percent = 10,
                 .delay_us = 50,
                 .tick_us = 100 } },
    { .name = "merge, poll",
      .kind = MODEL_MERGE,
      .slots = 64,
      .clients = 40,
      .leave_permille = 2,
      .poll = 1,
      .world = { .conns = 60, .datagrams = 400, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "merge, sleeping",
      .kind = MODEL_MERGE,
      .clients = 40,
      .leave_permille = 2,
      .world = { .conns = 60,
                 .datagrams = 400,
                 .total_max = 40000,
                 .abort_percent = 10,
                 .delay_us = 50,
                 .tick_us = 100 } },
};

struct settled_call {
    struct world *world;
    int settled;
};

static void call_settled(struct tenon *stack, void *arg)
{
    struct settled_call *call = arg;

    (void)stack;
    call->settled =
        call->world->ended == call->world->conf.conns && call->world->datagrams == call->world->conf.datagrams;
}

/* The peer hears of the last ones too. */
static void settle(struct world *world, const struct app *app, struct model *model)
{
    struct settled_call call = { world, 0 };

    for (unsigned i = 0, after = 0; i < 2000 && after < 20; i++) {
        (void)model_step(model);
        usleep(1000);
        model_call(model, call_settled, &call);
        after += call.settled && app->asked == app->conf.datagrams;
    }
}

static void run_threads(const struct history *given, unsigned long seed)
{
    struct history history = *given;
    struct model *model;
    struct world world;
    struct app app;

    history.world.seed = seed;
    model = history_begin(&world, &app, &history, 0);
    CHECK_EQ_I(model_run(model), 0);
    settle(&world, &app, model);
    CHECK_GOOD(history_judge(&world, &app, model, &history));
}

UNIT_TEST(threads)
{
    for (unsigned i = 0; i < sizeof threaded / sizeof *threaded; i++) {
        unit_row(threaded[i].name);
        run_threads(&threaded[i], i + 1);
    }
}

/* ---- the end in the middle ------------------------------------------------------------------------------ */

static void end_in_the_middle(const struct history *history, unsigned turns)
{
    struct model *model;
    struct world world;
    struct app app;

    model = history_begin(&world, &app, history, 0);
    for (unsigned i = 0; i < turns; i++)
        (void)model_step(model);
    app_leave(&app);
    model_close(model);
    app_end(&app);
    CHECK_EQ_U(app.closed, app.opened + app.begun);
    CHECK(app.echoes == NULL);
    CHECK_GOOD(history_rest(&world, &app));
}

UNIT_TEST(end_with_everything_under_way)
{
    for (unsigned i = 0; i < sizeof threaded / sizeof *threaded; i++)
        for (unsigned turns = 0; turns < 20000; turns = turns * 8 + 1) {
            unit_row(threaded[i].name);
            end_in_the_middle(&threaded[i], turns);
        }
}

/* ---- sleeping --------------------------------------------------------------------------------------------- */

static uint64_t cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static tenon_u32 stop_after(void *arg, tenon_u32 now_us)
{
    struct app *app = arg;

    if (app->conf.slow && (tenon_i32)(now_us - app->done_at) >= 0)
        model_stop(app->model);
    return app->conf.slow ? 100000 : 1000;
}

/* A server with open connections on which nothing happens. */
static void idle_begin(struct world *world, struct app *app, struct model_conf *conf, unsigned tick_us)
{
    const struct world_conf world_conf = { .total_max = 1, .tick_us = tick_us };
    const struct app_conf app_conf = { .slow = 1 };

    world_open(world, &world_conf, port_now_us());
    app_open(app, &app_conf);
    conf->netif = 1;
    conf->app = app;
    conf->port = &world->port;
    conf->stack = world->stack;
    app->model = model_open(conf, error, sizeof error);
    app_start(app, app->model, world);
}

static void idle_end(struct world *world, struct app *app)
{
    model_close(app->model);
    app_end(app);
    world_close(world);
    CHECK_EQ_I(world->leaks, 0);
}

/* On a port that has nothing to tell, and on one that cannot tell anything and is looked at. */
UNIT_TEST(idle_servers_sleep)
{
    static const unsigned ticks_us[] = { 30000000, 0 }, most_us[] = { 10000, 300000 };

    for (unsigned i = 0; i < 2 * (MODEL_MERGE + 1); i++) {
        struct model_conf conf = { .kind = (enum model_kind)(i / 2), .turn = stop_after };
        struct world world;
        struct app app;
        uint64_t before;

        idle_begin(&world, &app, &conf, ticks_us[i % 2]);
        before = cpu_us();
        app.done_at = port_now_us() + 1000000;
        CHECK_EQ_I(model_run(app.model), 0);
        before = cpu_us() - before;
        printf("idle for a second, model %u, %s descriptor: %lu us of CPU time\n", i / 2, i % 2 ? "no" : "with a",
               (unsigned long)before);
        CHECK(before < most_us[i % 2]);
        idle_end(&world, &app);
    }
}

struct taken {
    struct world *world;
    struct model *model;
};

/* Takes the interface away, and ends who does not find out; who does cancels it. */
static void *take_away(void *arg)
{
    const struct taken *taken = arg;

    usleep(50000);
    atomic_store(&taken->world->gone, 1);
    sleep(5);
    model_stop(taken->model);
    return NULL;
}

/* The interface goes, and the descriptor does not tell: who sleeps looks once in a while. */
UNIT_TEST(a_sleeper_finds_the_interface_gone)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct model_conf conf = { .kind = (enum model_kind)kind };
        struct taken taken = { NULL, NULL };
        struct world world;
        struct app app;
        pthread_t thread;

        idle_begin(&world, &app, &conf, 30000000);
        taken.world = &world;
        taken.model = app.model;
        CHECK_EQ_I(pthread_create(&thread, NULL, take_away, &taken), 0);
        CHECK_EQ_I(model_run(app.model), -1);
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, NULL);
        idle_end(&world, &app);
    }
}

int main(void)
{
    UNIT_RUN(threads);
    UNIT_RUN(end_with_everything_under_way);
    UNIT_RUN(idle_servers_sleep);
    UNIT_RUN(a_sleeper_finds_the_interface_gone);
    return unit_end();
}
