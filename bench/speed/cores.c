/* SPDX-License-Identifier: MIT */
/* Ping-pong on several processors: on each a process of its own with both instances and their wire, as they share
 * nothing. All measure at the same time, and go on working until the last one has measured. The line tells the CPU
 * time between two round trips of all together. */
#include "harness.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CORES_MAX = 256, SEGMENTS = 64, GO_ON_TURNS = 1000 };

struct shared {
    atomic_uint ready, done, failed;
    double rates[CORES_MAX][SEGMENTS];    /* round trips per ns */
};

static void pin(unsigned core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(core, &set);
    sched_setaffinity(0, sizeof set, &set);    /* where that is not allowed, the system chooses */
}

static void work(struct speed_run *run, struct shared *shared, unsigned core, unsigned segments)
{
    unsigned i;

    pin(core);
    if (speed_open(run) != 0) {
        shared->failed++;
        return;
    }
    run->driver->begin();
    speed_segment_turns(run, &run->count.rounds);
    shared->ready++;
    while (shared->ready < run->cores && !shared->failed)
        sched_yield();
    for (i = 0; i < segments; i++) {
        const struct speed_segment segment = speed_segment_measure(run, &run->count.rounds);

        shared->rates[core][i] = (double)segment.units / (double)segment.ns;
    }
    shared->done++;
    while (shared->done < run->cores && !shared->failed)
        run->driver->run(GO_ON_TURNS);
    if (run->count.failed)
        shared->failed++;
}

int speed_cores(struct speed_run *run)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const unsigned n = run->segments < SEGMENTS ? run->segments : SEGMENTS;
    struct speed_segment segments[SEGMENTS] = { { 0, 0, 0, 0, 0 } };
    unsigned i, core;

    if (shared == MAP_FAILED || run->cores == 0 || run->cores > CORES_MAX)
        return 1;
    for (core = 1; core < run->cores; core++) {
        const pid_t pid = fork();

        if (pid < 0) {
            shared->failed++;
            run->cores = core;    /* no more than these */
        }
        if (pid == 0) {
            work(run, shared, core, n);
            _exit(0);
        }
    }
    work(run, shared, 0, n);
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    run->count.failed = shared->failed;
    for (i = 0; i < n; i++) {
        double rate = 0;

        for (core = 0; core < run->cores; core++)
            rate += shared->rates[core][i];
        segments[i].units = 1000000;
        segments[i].ns = (uint64_t)(1000000 / rate);
    }
    speed_line_begin(run);
    speed_line_segments(run, segments, n, "round trip");
    speed_line_end(run);
    return run->count.failed != 0;
}
