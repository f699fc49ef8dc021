/* SPDX-License-Identifier: MIT */
/* How long one thing takes. The clock is the time stamp counter, where there is one, because a request takes less than
 * it takes to ask the system for the time. It stands still while another process has the processor: a pause of more
 * than PAUSE_US between two looks at it, where what is looked at takes a fraction of that, is left out. */
#include "harness.h"

#include <stdlib.h>
#include <time.h>

enum { CALIBRATION_NS = 20000000, PAUSE_US = 100 };

static struct {
    double per_ns;
    uint64_t last, paused, pause;    /* ticks: the last look; left out so far; what counts as a pause */
} ticks;

static uint64_t wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static uint64_t counter(void)
{
    const uint64_t cycles = speed_cycles();

    return cycles ? cycles : wall_ns();
}

double speed_ticks_begin(void)
{
    const uint64_t ns = wall_ns(), from = counter();
    uint64_t passed;

    do
        passed = wall_ns() - ns;
    while (passed < CALIBRATION_NS);
    ticks.per_ns = (double)(counter() - from) / (double)passed;
    ticks.pause = (uint64_t)(ticks.per_ns * 1000 * PAUSE_US);
    ticks.last = counter();
    return ticks.per_ns;
}

uint64_t speed_ticks(void)
{
    const uint64_t now = counter();

    if (now - ticks.last > ticks.pause)
        ticks.paused += now - ticks.last;
    ticks.last = now;
    return now - ticks.paused;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

void speed_line_percentiles(struct speed_run *run, uint64_t *samples, size_t n, const char *unit)
{
    const double shares[] = { 0.5, 0.9, 0.99, 0.999 };
    const char *const names[] = { "p50_ns", "p90_ns", "p99_ns", "p999_ns" };
    const size_t median = n / 2;
    size_t i;

    qsort(samples, n, sizeof *samples, compare);
    for (i = 0; i < sizeof shares / sizeof *shares; i++)
        speed_line_number(run, names[i], (double)samples[(size_t)(shares[i] * (double)n)] / ticks.per_ns);
    run->unit = unit;
    run->ns = (double)samples[median] / ticks.per_ns;
    speed_line_number(run, "ns", run->ns);
}
