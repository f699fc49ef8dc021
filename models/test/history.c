/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

tenon_u32 virtual_us;

tenon_u32 virtual_now(void)
{
    return virtual_us;
}

struct model *history_begin(struct world *world, struct app *app, const struct history *history, int stepped)
{
    const struct app_conf app_conf = { .clients = history->clients, .total_max = history->world.total_max,
        .leave_permille = history->leave_permille, .seed = history->world.seed, .slow = history->slow,
        .datagrams = history->world.datagrams };
    struct model_conf conf = { .kind = history->kind,
                               .port = &world->port,
                               .netif = 1,
                               .slots = history->slots,
                               .poll = history->poll,
                               .own_loop = history->own_loop,
                               .spin_us = history->spin_us,
                               .turn = app_turn_hook,
                               .app = app,
                               .stepped = stepped };
    struct model *model;
    char error[300] = "";

    if (stepped)
        conf.now_us = virtual_now;
    world_open(world, &history->world, stepped ? virtual_now() : port_now_us());
    app_open(app, &app_conf);
    app->done_at = history->world.conns + history->clients;
    conf.stack = world->stack;
    model = model_open(&conf, error, sizeof error);
    if (model == NULL) {
        fprintf(stderr, "%s\n", error);
        abort();
    }
    app_start(app, model, world);
    return model;
}

const char *history_rest(struct world *world, const struct app *app)
{
    world_close(world);
    if (app->wrong != 0)
        return "the application saw something that is wrong";
    if (world->wrong != 0)
        return "the peer got bytes that are wrong";
    return world->leaks != 0 ? "memory or buffers were not given back" : NULL;
}

/* Whatever was sent has come back, or has been counted as lost. Some of the others' were lost by the line. */
static int datagrams_good(const struct world *world, const struct app *app, const struct model_stats *stats)
{
    const unsigned long counted = stats->datagrams_lost + stats->datagrams_unsent + app->not_echoed;

    if (world->conf.datagrams == 0)
        return 1;
    if (world->datagrams != world->conf.datagrams || app->asked != world->conf.datagrams ||
        world->back == 0 || app->answers == 0)
        return 0;
    return world->conf.loss_ppm > 0 || world->back + counted >= world->datagrams;
}

const char *history_judge(struct world *world, struct app *app, struct model *model, const struct history *history)
{
    const char *rest;
    struct model_stats stats;

    model_stats(model, &stats);
    app_leave(app);
    model_close(model);
    app_end(app);
    rest = history_rest(world, app);
    if (rest != NULL)
        return rest;
    if (app->closed != app->done_at || app->opened != app->closed - app->clients_closed)
        return "not all connections have ended";
    if (app->clients_closed != history->clients || app->clients_good + app->clients_left < history->clients)
        return "a connection that the application opened is not complete";
    if (world->complete + app->left + world->aborting < history->world.conns)
        return "a connection that the peer opened is not complete";
    if (!datagrams_good(world, app, &stats))
        return "datagrams are neither there nor counted";
    return stats.connections != 0 ? "handles are left" : NULL;
}

/* ---- with threads, in real time ------------------------------------------------------------------------ */

const struct history threaded[THREADED] = {
    { .name = "unified, poll",
      .kind = MODEL_UNIFIED,
      .clients = 40,
      .leave_permille = 2,
      .poll = 1,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "unified, sleeping",
      .kind = MODEL_UNIFIED,
      .clients = 40,
      .leave_permille = 2,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50, .tick_us = 100 } },
    { .name = "split, poll",
      .kind = MODEL_SPLIT,
      .clients = 40,
      .leave_permille = 2,
      .poll = 1,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, poll, small rings",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 40,
      .poll = 1,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, poll, small rings, slow",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 40,
      .poll = 1,
      .slow = 1,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "split, sleeping",
      .kind = MODEL_SPLIT,
      .slots = 64,
      .clients = 40,
      .leave_permille = 2,
      .spin_us = 10,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50, .tick_us = 100 } },
    { .name = "merge, poll",
      .kind = MODEL_MERGE,
      .slots = 64,
      .clients = 40,
      .leave_permille = 2,
      .poll = 1,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50 } },
    { .name = "merge, sleeping",
      .kind = MODEL_MERGE,
      .clients = 40,
      .leave_permille = 2,
      .world = { .conns = 60, .total_max = 40000, .abort_percent = 10, .delay_us = 50, .tick_us = 100 } },
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

void history_run(const struct history *given, unsigned long seed, int (*loop)(struct model *model))
{
    struct history history = *given;
    struct model *model;
    struct world world;
    struct app app;

    history.world.seed = seed;
    history.world.datagrams = THREADED_DATAGRAMS;
    history.own_loop = loop != model_run;
    model = history_begin(&world, &app, &history, 0);
    CHECK_EQ_I(loop(model), 0);
    settle(&world, &app, model);
    CHECK_GOOD(history_judge(&world, &app, model, &history));
}

/* ---- idle servers ---------------------------------------------------------------------------------------- */

void idle_begin(struct idle *idle, struct model_conf *conf, unsigned tick_us)
{
    const struct world_conf world_conf = { .total_max = 1, .tick_us = tick_us };
    const struct app_conf app_conf = { .slow = 1 };
    char error[300] = "";

    world_open(&idle->world, &world_conf, port_now_us());
    app_open(&idle->app, &app_conf);
    conf->netif = 1;
    conf->app = &idle->app;
    conf->port = &idle->world.port;
    conf->stack = idle->world.stack;
    idle->app.model = model_open(conf, error, sizeof error);
    CHECK_EQ_S(error, "");
    app_start(&idle->app, idle->app.model, &idle->world);
}

void idle_end(struct idle *idle)
{
    model_close(idle->app.model);
    app_end(&idle->app);
    world_close(&idle->world);
    CHECK_EQ_I(idle->world.leaks, 0);
}

tenon_u32 idle_turn(void *arg, tenon_u32 now_us)
{
    struct app *app = arg;

    if ((tenon_i32)(now_us - app->done_at) >= 0)
        model_stop(app->model);
    return 100000;
}

uint64_t idle_cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void *idle_take_away(void *arg)
{
    struct idle *idle = arg;

    usleep(50000);
    atomic_store(&idle->world.gone, 1);
    sleep(5);
    model_stop(idle->app.model);
    return NULL;
}
