/* SPDX-License-Identifier: MIT */
/* Threads start one after the other, each when the one before runs: what is wrong is said once, by the first
 * that cannot be opened. Whoever ends, for whatever reason, ends all. */
#include "cores.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "text.h"

/* ---- ending together -------------------------------------------------------------------------------- */

static void stop_opened(struct model_mail *mail, void *owner)
{
    struct core *core = TENON_CONTAINER(mail, struct core, stop);

    if (owner != NULL)
        app_stop(owner, atomic_load(&core->all->code));
}

static void stop_all(struct cores *all, int code)
{
    if (!atomic_exchange(&all->stopping, 1))
        atomic_store(&all->code, code);
    for (unsigned i = 0; i < all->count; i++) {
        if (!atomic_exchange(&all->core[i].stop_posted, 1))
            model_mailbox_post(&all->core[i].box, &all->core[i].stop);
    }
}

/* Each thread starts the next one: only when it has ended is it known whether there is a next. */
static void end_others(struct cores *all, struct app *app)
{
    stop_all(all, 0);
    for (unsigned i = 1; i < all->count && all->core[i].runs; i++)
        pthread_join(all->core[i].thread, NULL);
    for (unsigned i = 1; i < all->count; i++)
        model_mailbox_close(&all->core[i].box);
    model_mailbox_take(&all->core[0].box, app);
}

void core_leave(struct core *core, struct app *app)
{
    if (cores_count(core) == 1)
        return;
    if (core->number == 0) {
        end_others(core->all, app);
        app_totals_add(&app->totals, &core->all->ended);
    } else {
        pthread_mutex_lock(&core->all->lock);
        app_totals_add(&core->all->ended, &app->totals);
        pthread_mutex_unlock(&core->all->lock);
    }
    model_spread_leave(core->all->spread, core->number);
}

/* ---- beginning -------------------------------------------------------------------------------------- */

/* To the processor of this rank, if there is one for each. */
static void pin(const struct core *core)
{
    const cpu_set_t *all = &core->all->processors;
    unsigned rank = core->number;
    cpu_set_t one;
    size_t cpu;

    if ((unsigned)CPU_COUNT(all) < core->all->count)
        return;
    for (cpu = 0; !CPU_ISSET(cpu, all) || rank-- > 0; cpu++)
        ;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *core_main(void *arg)
{
    struct core *core = arg;

    pin(core);
    core->code = core->all->run(core, core->all->arg);
    stop_all(core->all, core->code);
    return NULL;
}

void core_started(struct core *core)
{
    struct core *next = core + 1;
    int error;

    if (core_number(core) + 1 >= cores_count(core) || atomic_load(&core->all->stopping))
        return;
    error = pthread_create(&next->thread, NULL, core_main, next);
    next->runs = error == 0;
    if (error == 0)
        return;
    log_error("cannot start the thread of core %u: %s", next->number, strerror(error));
    stop_all(core->all, 1);
}

static void box_ready(void *arg, short revents)
{
    struct app *app = arg;

    (void)revents;
    model_mailbox_take(&app->core->box, app);
}

int core_enter(struct core *core, struct app *app)
{
    if (cores_count(core) == 1)
        return 0;
    if (loop_add(&app->loop, core->box.fd, POLLIN, box_ready, app) != 0)
        return -1;
    model_spread_join(core->all->spread, core->number, app->port, app->stack, app->netif);
    atomic_store(&core->entered, 1);
    return 0;
}

static int open_all(struct cores *all, int by_hash)
{
    struct model_mailbox *boxes[CORES_MAX];

    for (unsigned i = 0; i < all->count; i++) {
        all->core[i].all = all;
        all->core[i].number = i;
        all->core[i].stop.open = stop_opened;
        boxes[i] = &all->core[i].box;
        if (model_mailbox_open(boxes[i]) != 0) {
            log_error("cannot start %u cores: %s", all->count, strerror(errno));
            return -1;
        }
    }
    if (all->count == 1)
        return 0;
    all->spread = model_spread_open(boxes, all->count, by_hash);
    if (all->spread == NULL)
        log_error("out of memory");
    return all->spread != NULL ? 0 : -1;
}

int cores_run(const struct cores_options *options, int (*run)(struct core *core, void *arg), void *arg)
{
    struct cores *all = must_alloc(sizeof *all);
    int code = 1;

    memset(all, 0, sizeof *all);
    all->count = options->count;
    all->run = run;
    all->arg = arg;
    for (unsigned i = 0; i < CORES_MAX; i++)
        all->core[i].box.fd = -1;
    (void)sched_getaffinity(0, sizeof all->processors, &all->processors);
    pthread_mutex_init(&all->lock, NULL);
    if (open_all(all, options->by_hash) == 0) {
        if (all->count > 1)
            pin(&all->core[0]);
        code = run(&all->core[0], arg);
        code = atomic_load(&all->code) != 0 ? atomic_load(&all->code) : code;
        for (unsigned i = 1; i < all->count && code == 0; i++)
            code = all->core[i].code;
    }
    for (unsigned i = 0; i < all->count; i++)
        model_mailbox_close(&all->core[i].box);
    if (all->spread != NULL)
        model_spread_close(all->spread);
    pthread_mutex_destroy(&all->lock);
    free(all);
    return code;
}

/* ---- what is asked for on the command line --------------------------------------------------------- */

enum { KEY_CORES = 0x300, KEY_STEER };

static const struct argp_option cores_option_list[] = {
    { "cores", KEY_CORES, "N", 0, "Run on N cores, each with a queue of the port; default 1", 0 },
    { "steer", KEY_STEER, "nic|software", 0,
      "Which core gets a packet: that of its queue (the default); or by its hash, for interfaces that spread a "
      "connection over queues",
      0 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static error_t parse_cores(int key, char *value, struct argp_state *state)
{
    struct cores_options *options = state->input;

    switch (key) {
    case KEY_CORES:
        options->count = (unsigned)options_number(state, "--cores", value, 1, CORES_MAX);
        return 0;
    case KEY_STEER:
        options->by_hash = strcmp(value, "software") == 0;
        if (!options->by_hash && strcmp(value, "nic") != 0)
            options_bad_value(state, "--steer", value, "is neither nic nor software");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp cores_argp = { cores_option_list, parse_cores, NULL, NULL, NULL, NULL, NULL };
