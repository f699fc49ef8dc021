/* SPDX-License-Identifier: MIT */
/* Latency against offered load: requests have appointed times, at a constant rate, whether or not the ones before
 * have been answered; each goes to the next free connection. What is told is the time from the appointment to the
 * answer, with both ends and the wait for a free connection in it. The clock is the time stamp counter, where there is
 * one, because a request takes less than it takes to ask the system for the time. It stands still while another
 * process has the processor: a pause of more than PAUSE_US between two looks at it, where a turn of the loop takes a
 * fraction of that, is left out. */
#include "harness.h"

#include <stdlib.h>
#include <time.h>

enum {
    SAMPLES = 200000,
    MIDDLE = SAMPLES / 2,
    WARM = 20000,
    CALIBRATION_NS = 20000000,
    FULL_MS = 100,
    PAUSE_US = 100
};

static struct load {
    uint64_t due[SPEED_LOAD_CONNECTIONS_MAX];          /* when the request on a connection was to be sent */
    unsigned free[SPEED_LOAD_CONNECTIONS_MAX];        /* a ring: the one that has waited longest is next */
    unsigned first_free, nfree;
    uint64_t *samples;
    unsigned answered;
    uint64_t last, paused, pause;    /* ticks: the last look at the clock; left out so far; what counts as a pause */
} load;

static uint64_t counter(void)
{
    const uint64_t cycles = speed_cycles();
    struct timespec t;

    if (cycles)
        return cycles;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static uint64_t ticks(void)
{
    const uint64_t now = counter();

    if (now - load.last > load.pause)
        load.paused += now - load.last;
    load.last = now;
    return now - load.paused;
}

static uint64_t wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static double ticks_per_ns(void)
{
    const uint64_t ns = wall_ns(), from = counter();
    uint64_t passed;

    do
        passed = wall_ns() - ns;
    while (passed < CALIBRATION_NS);
    return (double)(counter() - from) / (double)passed;
}

static void set_free(unsigned connection)
{
    load.free[(load.first_free + load.nfree++) % SPEED_LOAD_CONNECTIONS_MAX] = connection;
}

static void answered(unsigned connection)
{
    if (load.answered >= WARM && load.answered < WARM + SAMPLES)
        load.samples[load.answered - WARM] = ticks() - load.due[connection];
    load.answered++;
    set_free(connection);
}

/* Send what is due; nothing is due before `from`. */
static unsigned offer(const struct speed_run *run, uint64_t from, double interval, unsigned sent)
{
    const uint64_t now = ticks();

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

/* Ticks per answer when there is always a request waiting. */
static double full_load(const struct speed_run *run, double per_ns)
{
    const uint64_t from = ticks(), until = from + (uint64_t)(per_ns * 1e6 * FULL_MS);
    unsigned sent = 0;

    reset(run);
    while (ticks() < until) {
        sent = offer(run, from, 0, sent);
        run->driver->run(1);
    }
    return (double)(ticks() - from) / load.answered;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int speed_load(struct speed_run *run)
{
    const double per_ns = ticks_per_ns(), shares[] = { 0.5, 0.9, 0.99, 0.999 };
    const char *const names[] = { "p50_ns", "p90_ns", "p99_ns", "p999_ns" };
    double interval, full;
    unsigned sent = 0, i;
    uint64_t from;

    load.samples = calloc(SAMPLES, sizeof *load.samples);
    if (!load.samples || !run->driver->request)
        return 1;
    speed_answered = answered;
    load.pause = (uint64_t)(per_ns * 1000 * PAUSE_US);
    load.last = counter();
    full_load(run, per_ns);
    full = full_load(run, per_ns);
    while (load.nfree < run->conf.connections && !run->count.failed)
        run->driver->run(1);
    reset(run);
    /* The load is a part of a rate that is given, or of the highest one of this very stack. */
    interval = run->rate ? per_ns * 1e9 / run->rate : full * 100 / run->loads;
    from = ticks();
    while (load.answered < WARM + SAMPLES && !run->count.failed) {
        sent = offer(run, from, interval, sent);
        run->driver->run(1);
    }
    speed_line_begin(run);
    if (run->count.failed) {
        speed_line_end(run);
        return 1;
    }
    qsort(load.samples, SAMPLES, sizeof *load.samples, compare);
    speed_line_number(run, "offered_per_s", per_ns * 1e9 / interval);
    speed_line_number(run, "most_per_s", per_ns * 1e9 / full);
    for (i = 0; i < 4; i++)
        speed_line_number(run, names[i], (double)load.samples[(size_t)(shares[i] * SAMPLES)] / per_ns);
    run->unit = "request, median";
    run->ns = (double)load.samples[MIDDLE] / per_ns;
    speed_line_number(run, "ns", run->ns);
    speed_line_end(run);
    return 0;
}
