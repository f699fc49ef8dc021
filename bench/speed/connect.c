/* SPDX-License-Identifier: MIT */
/* Connections that live for one byte in each direction. They are made in small groups; between two groups, outside of
 * what is measured, the clock jumps until TIME-WAIT is over, so that no stack's tables fill up. */
#include "harness.h"

#include <stdlib.h>

enum { GROUP = 64, GROUPS_WARM = 20, SEGMENTS = 64, WARM = 2000, TIMED = 20000 };

void speed_measured_connect(const struct speed_driver *driver);
__attribute__((noinline)) void speed_measured_connect(const struct speed_driver *driver)
{
    driver->connect(GROUP);
}

static void connect_group(struct speed_run *run, struct speed_segment *into)
{
    const uint64_t closed = run->count.closed, ns = speed_cpu_ns(), cycles = speed_cycles();

    speed_measured_connect(run->driver);
    into->cycles += speed_cycles() - cycles;
    into->ns += speed_cpu_ns() - ns;
    into->units += run->count.closed - closed;
    run->driver->rest();
}

/* Whether a segment is to have more; not after a failure, which may be for good. */
static int is_short(const struct speed_run *run, const struct speed_segment *segment)
{
    if (run->count.failed)
        return 0;
    return run->turns ? segment->units < run->turns : segment->ns < (uint64_t)run->segment_ms * 1000000;
}

int speed_connect(struct speed_run *run)
{
    struct speed_segment segments[SEGMENTS] = { { 0, 0, 0, 0, 0 } }, warm = { 0, 0, 0, 0, 0 };
    const unsigned n = run->turns ? 1 : run->segments < SEGMENTS ? run->segments : SEGMENTS;
    unsigned i;

    if (run->turns) {    /* instructions are counted: not those of warming up */
        run->driver->connect(GROUP);
        run->driver->rest();
    }
    for (i = 0; run->turns == 0 && i < GROUPS_WARM && !run->count.failed; i++)
        connect_group(run, &warm);
    for (i = 0; i < n; i++)
        do {
            connect_group(run, &segments[i]);
        } while (is_short(run, &segments[i]));
    speed_line_begin(run);
    speed_line_segments(run, segments, n, "connection");
    speed_line_cycles(run, segments, n);
    speed_line_end(run);
    return run->count.failed != 0 || segments[0].units == 0;
}

/* Each connection by the clock, from the call until the client is done with it. */
static void time_each(const struct speed_run *run, uint64_t *samples, unsigned n)
{
    unsigned i;

    for (i = 0; i < n && !run->count.failed; i++) {
        uint64_t from;

        if (i % GROUP == 0)
            run->driver->rest();
        from = speed_ticks();
        run->driver->connect(1);
        samples[i] = speed_ticks() - from;
    }
}

int speed_connect_time(struct speed_run *run)
{
    uint64_t *samples = calloc(TIMED, sizeof *samples);

    if (!samples)
        return 1;
    speed_ticks_begin();
    time_each(run, samples, WARM);
    time_each(run, samples, TIMED);
    speed_line_begin(run);
    if (!run->count.failed)
        speed_line_percentiles(run, samples, TIMED, "connection, median");
    speed_line_end(run);
    free(samples);
    return run->count.failed != 0;
}
