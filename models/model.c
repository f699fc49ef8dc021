/* SPDX-License-Identifier: MIT */
/* Models begin, run and end. */
#include "internal.h"

#include "../ports/common/port.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 4096, YIELD_TURNS = 64 };

tenon_u32 model_now_us(const struct model *model)
{
    return model->conf.now_us();
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static int check_cpu(int cpu, char *error, size_t size)
{
    cpu_set_t allowed;

    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && cpu >= 0 && cpu < CPU_SETSIZE &&
        CPU_ISSET((unsigned)cpu, &allowed))
        return 0;
    port_explain(error, size, "cannot run on processor %d: there is none of that number for this program", cpu);
    return -1;
}

static int check_conf(const struct model_conf *conf, char *error, size_t size)
{
    if (conf->port == NULL || conf->stack == NULL) {
        port_explain(error, size, "a model needs a port and an instance on it");
        return -1;
    }
    if ((unsigned)conf->kind > MODEL_MERGE) {
        port_explain(error, size, "there is no model %u", (unsigned)conf->kind);
        return -1;
    }
    if (conf->spread != NULL && model_spread_box(conf->spread, conf->member) == NULL) {
        port_explain(error, size, "the spread has no member %u", conf->member);
        return -1;
    }
    if (conf->slots < MODEL_SLOTS_MIN || conf->slots > MODEL_SLOTS_MAX || (conf->slots & (conf->slots - 1)) != 0) {
        port_explain(error, size, "rings have a power of two of slots, %d to %d, not %u", MODEL_SLOTS_MIN,
                     MODEL_SLOTS_MAX, conf->slots);
        return -1;
    }
    if (conf->pin && (check_cpu(conf->app_cpu, error, size) != 0
                      || (conf->kind == MODEL_SPLIT && check_cpu(conf->stack_cpu, error, size) != 0)))
        return -1;
    return 0;
}

/* The calling thread. When it is not allowed any more, the system chooses. */
static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

void model_pin_stack(const struct model *model)
{
    if (model->conf.pin)
        pin(model->conf.kind == MODEL_MERGE ? model->conf.app_cpu : model->conf.stack_cpu);
}

static int open_rings(struct model *model)
{
    const struct model_conf *conf = &model->conf;

    const int sleepers = !conf->poll || conf->own_loop || conf->kind == MODEL_MERGE;

    if (model->direct)
        return 0;
    if (model_ring_open(&model->commands, conf->slots, sleepers) != 0)
        return -1;
    return model_ring_open(&model->events, conf->slots, sleepers);
}

/* What the thread of the stack sleeps on besides. */
static int open_box(struct model *model)
{
    if (model->conf.spread != NULL) {
        model->box = model_spread_box(model->conf.spread, model->conf.member);
        (model->direct ? &model->app_bell : &model->stack_bell)->box = model->box->fd;
    }
    return model_outer_open(model);
}

static void free_model(struct model *model)
{
    model_ring_close(&model->commands);
    model_ring_close(&model->events);
    model_outer_close(model);
    model_bell_close(&model->app_bell);
    model_bell_close(&model->stack_bell);
    free(model);
}

static struct model *new_model(const struct model_conf *conf)
{
    struct model *model = aligned_alloc(alignof(struct model), sizeof *model);

    if (model == NULL)
        return NULL;
    memset(model, 0, sizeof *model);
    model->conf = *conf;
    model->direct = conf->kind == MODEL_UNIFIED;
    model->alone = conf->stepped;
    model->stack.poll_at = model->stack.polled_at = model_now_us(model);
    model->stack.woken = 1;
    model->app_bell.fd = model->stack_bell.fd = model->outer.fd = -1;
    return model;
}

/* Before its thread runs, or after. */
static void spread_join(struct model *model)
{
    const struct model_conf *conf = &model->conf;

    if (conf->spread == NULL)
        return;
    model_spread_join(conf->spread, conf->member, conf->port, conf->stack, conf->netif);
    model_spread_clock(conf->spread, conf->member, conf->now_us);
}

static void spread_leave(struct model *model)
{
    if (model->conf.spread != NULL)
        model_spread_leave(model->conf.spread, model->conf.member);
}

static int start(struct model *model, char *error, size_t size)
{
    int failed;

    spread_join(model);
    if (model->direct || model->conf.stepped)
        return 0;
    failed = pthread_create(&model->thread, NULL, model_loop_stack_thread, model);
    if (failed == 0)
        return 0;
    spread_leave(model);
    return port_explain(error, size, "cannot start a thread: %s", strerror(failed));
}

struct model *model_open(const struct model_conf *conf, char *error, size_t error_size)
{
    struct model_conf whole = *conf;
    struct model *model;

    if (whole.slots == 0)
        whole.slots = SLOTS;
    if (whole.now_us == NULL)
        whole.now_us = port_now_us;
    if (check_conf(&whole, error, error_size) != 0)
        return NULL;
    model = new_model(&whole);
    if (model == NULL || open_rings(model) != 0 ||
        model_bell_open(&model->app_bell, model->direct || whole.own_loop) != 0 ||
        model_bell_open(&model->stack_bell, !whole.poll) != 0 || open_box(model) != 0) {
        port_explain(error, error_size, "cannot make the rings: %s", strerror(errno));
        if (model != NULL)
            free_model(model);
        return NULL;
    }
    if (start(model, error, error_size) == 0)
        return model;
    free_model(model);
    return NULL;
}

/* ---- running ---------------------------------------------------------------------------------------- */

void model_call(struct model *model, void (*fn)(struct tenon *stack, void *arg), void *arg)
{
    struct command *command;
    atomic_int done = 0;

    if (model->direct) {
        model->stack.woken = 1;
        fn(model->conf.stack, arg);
        return;
    }
    model_app_say_all(model);
    command = model_app_must(model);
    command->tcp = NULL;
    command->kind = COMMAND_CALL;
    command->call.fn = fn;
    command->call.arg = arg;
    command->call.done = &done;
    model_app_send(model, 0);
    while (!atomic_load_explicit(&done, memory_order_acquire))
        model_app_wait(model);
}

int model_step(struct model *model)
{
    return model->direct ? model_direct_turn(model) : model_app_turn(model);
}

int model_step_stack(struct model *model)
{
    return model->direct ? 0 : model_stack_turn(model);
}

void model_stop(struct model *model)
{
    atomic_store(&model->stop, 1);
    model_bell_ring(&model->app_bell, 1);
}

/* Something has happened since the last turn. */
static int app_has(struct model *model)
{
    if (atomic_load(&model->stop) || atomic_load(&model->gone) || model_link_waiting(model))
        return 1;
    if (model->direct)
        return 0;
    return model_ring_waiting_now(&model->events) ||
           (model_app_blocked(model) && model_ring_room_now(&model->commands, 1));
}

static tenon_u32 app_wait_us(const struct model *model)
{
    const tenon_u32 now = model_now_us(model);
    tenon_u32 wait = WAIT_US_MAX, stack_wait;

    if (model->conf.turn != NULL)
        wait = model_is_due(now, model->app.turn_at) ? 0 : model->app.turn_at - now;
    if (!model->direct)
        return wait;
    stack_wait = model_loop_wait_us(model, now);
    return stack_wait < wait ? stack_wait : wait;
}

int model_prepare(struct model *model, struct rest *rest)
{
    const int blocked = !model->direct && model_app_blocked(model);

    rest->fd = -1;
    rest->events = 0;
    if (model->direct) {
        model->stack.woken = 1;    /* to know when the instance wants to be called again */
        if (model_direct_turn(model))
            return 0;
        rest->fd = port_fd(model->conf.port);
        rest->events = (short)(model->stack.full ? POLLIN | POLLOUT : POLLIN);
    }
    rest->wait_us = app_wait_us(model);
    model_bell_prepare(&model->app_bell, blocked ? MODEL_ASLEEP_FOR_ROOM : MODEL_ASLEEP);
    if (!app_has(model))
        return 1;
    model_bell_cancel(&model->app_bell);
    return 0;
}

static void app_sleep(struct model *model)
{
    struct rest rest;

    if (!model_prepare(model, &rest))
        return;
    model->app.stats.app_slept++;
    model_bell_wait(&model->app_bell, rest.fd, rest.events, rest.wait_us);
}

int model_run(struct model *model)
{
    const struct model_conf *conf = &model->conf;
    tenon_u32 idle_since = 0;
    unsigned idle = 0;

    if (conf->pin)
        pin(conf->app_cpu);
    while (!atomic_load_explicit(&model->stop, memory_order_relaxed)) {
        if (model_step(model)) {
            idle = 0;
            continue;
        }
        if (atomic_load_explicit(&model->gone, memory_order_relaxed))
            return -1;
        if (idle++ == 0)
            idle_since = model_now_us(model);
        if (conf->kind == MODEL_MERGE || (!conf->poll && model_now_us(model) - idle_since >= conf->spin_us))
            app_sleep(model);
        else if (!conf->pin && idle % YIELD_TURNS == 0)
            sched_yield();
        else
            model_relax();
    }
    atomic_store(&model->stop, 0);
    return 0;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

static void end_thread(struct model *model)
{
    if (model->direct || model->alone)
        return;
    model_app_must(model)->kind = COMMAND_END;
    model_app_send(model, 0);
    pthread_join(model->thread, NULL);
    model->alone = 1;
}

/* What is still under way, both ways: there is one thread now. */
static void drain(struct model *model)
{
    int work = 1;

    model->conf.turn = NULL;
    while (!model->direct && work) {
        work = model_app_turn(model);
        work |= model_stack_commands(model);
        work |= model_stack_flush(model);
    }
}

void model_close(struct model *model)
{
    model->ending = 1;
    while (model->listeners != NULL)
        model_listener_close(model->listeners);
    model_call(model, model_loop_abort_all, model);
    end_thread(model);
    spread_leave(model);
    drain(model);
    while (model->udps != NULL)    /* as the last: closed() may have said something by them */
        model_udp_close(model->udps);
    drain(model);
    model_loop_poll_out(model);
    while (model->stack.all != NULL)    /* handles that the application still has references on */
        model_loop_free(model->stack.all);
    free_model(model);
}

/* ---- counters --------------------------------------------------------------------------------------- */

struct stats_call {
    struct model *model;
    struct stack_side copy;
};

static void call_stats(struct tenon *stack, void *arg)
{
    struct stats_call *call = arg;

    (void)stack;
    call->copy = call->model->stack;
}

void model_stats(struct model *model, struct model_stats *stats)
{
    struct stats_call call = { .model = model };

    model_call(model, call_stats, &call);
    *stats = model->app.stats;
    stats->events = call.copy.stats.events;
    stats->event_batches = call.copy.stats.event_batches;
    stats->stack_slept = call.copy.stats.stack_slept;
    stats->events_full = call.copy.stats.events_full;
    stats->deferred = call.copy.stats.deferred;
    stats->refused = call.copy.stats.refused;
    stats->connections = call.copy.connections;
    stats->datagrams_lost = call.copy.stats.datagrams_lost;
    stats->datagrams_unsent = call.copy.stats.datagrams_unsent;
    stats->app_woken = atomic_load_explicit(&model->app_bell.woken, memory_order_relaxed);
    stats->stack_woken = atomic_load_explicit(&model->stack_bell.woken, memory_order_relaxed);
}
