/* SPDX-License-Identifier: MIT */
/* Latency against offered load: requests have appointed times, at a constant rate, whether or not the ones before
 * have been answered; each goes to the next free connection. What is told is the time from the appointment to the
 * answer, with both ends and the wait for a free connection in it. */
#include "harness.h"

#include <stdlib.h>

enum { SAMPLES = 200000, WARM = 20000, FULL_MS = 100 };

static struct load {
    uint64_t due[SPEED_LOAD_CONNECTIONS_MAX];          /* when the request on a connection was to be sent */
    unsigned free[SPEED_LOAD_CONNECTIONS_MAX];        /* a ring: the one that has waited longest is next */
    unsigned first_free, nfree, connections;
    uint64_t *samples;
    unsigned answered;
    struct speed_count *count;
} load;

static void set_free(unsigned connection)
{
    if (load.nfree == load.connections) {    /* an answer that was not asked for */
        load.count->failed++;
        return;
    }
    load.free[(load.first_free + load.nfree++) % SPEED_LOAD_CONNECTIONS_MAX] = connection;
}

/* The clock is looked at each time: the highest load is one with these looks, as the loads that are a part of it. */
static void answered(unsigned connection)
{
    const uint64_t took = speed_ticks() - load.due[connection];

    if (load.answered >= WARM && load.answered < WARM + SAMPLES)
        load.samples[load.answered - WARM] = took;
    load.answered++;
    set_free(connection);
}

/* Send what is due; nothing is due before `from`. */
static unsigned offer(const struct speed_run *run, uint64_t from, double interval, unsigned sent)
{
    const uint64_t now = speed_ticks();

    while (load.nfree > 0 && (double)now >= (double)from + sent * interval) {
        const unsigned connection = load.free[load.first_free];

        load.first_free = (load.first_free + 1) % SPEED_LOAD_CONNECTIONS_MAX;
        load.nfree--;
        load.due[connection] = from + (uint64_t)(sent * interval);
        sent++;
        run->driver->request(connection);
    }
    return sent;
}

static void reset(const struct speed_run *run)
{
    unsigned i;

    load.answered = load.nfree = 0;
    for (i = 0; i < run->conf.connections; i++)
        set_free(i);
}

/* Ticks per answer when there is always a request waiting. In the end all is answered: a connection that is taken for
 * free meanwhile would have two requests on their way from then on. */
static double full_load(const struct speed_run *run, double per_ns)
{
    const uint64_t from = speed_ticks(), until = from + (uint64_t)(per_ns * 1e6 * FULL_MS);
    unsigned sent = 0;
    double each;

    reset(run);
    while (speed_ticks() < until) {
        sent = offer(run, from, 0, sent);
        run->driver->run(1);
    }
    each = (double)(speed_ticks() - from) / load.answered;
    while (load.nfree < run->conf.connections && !run->count.failed)
        run->driver->run(1);
    return each;
}

int speed_load(struct speed_run *run)
{
    const double per_ns = speed_ticks_begin();
    double interval, full;
    unsigned sent = 0;
    uint64_t from;

    if (!run->driver->request)
        return 1;
    load.samples = calloc(SAMPLES, sizeof *load.samples);
    if (!load.samples)
        return 1;
    load.connections = run->conf.connections;
    load.count = &run->count;
    speed_answered = answered;
    full_load(run, per_ns);
    full = full_load(run, per_ns);
    reset(run);
    /* The load is a part of a rate that is given, or of the highest one of this very stack. */
    interval = run->rate ? per_ns * 1e9 / run->rate : full * 100 / run->loads;
    from = speed_ticks();
    while (load.answered < WARM + SAMPLES && !run->count.failed) {
        sent = offer(run, from, interval, sent);
        run->driver->run(1);
    }
    speed_line_begin(run);
    if (!run->count.failed) {
        speed_line_number(run, "offered_per_s", per_ns * 1e9 / interval);
        speed_line_number(run, "most_per_s", per_ns * 1e9 / full);
        speed_line_percentiles(run, load.samples, SAMPLES, "request, median");
    }
    speed_line_end(run);
    free(load.samples);
    return run->count.failed != 0;
}
