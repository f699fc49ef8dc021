/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <stdlib.h>

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
    struct model_conf conf = { .kind = history->kind, .port = &world->port, .netif = 1, .slots = history->slots,
        .poll = history->poll, .spin_us = history->spin_us, .turn = app_turn_hook, .app = app, .stepped = stepped };
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
