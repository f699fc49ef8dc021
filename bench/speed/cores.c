/* SPDX-License-Identifier: MIT */
/* Ping-pong on several processors: on each a process of its own with both instances and their wire, as they share
 * nothing. First one measures while the others sleep, then all at the same time, and they go on working until the last
 * one has measured. The line tells the CPU time between two round trips of all together, and their efficiency: how
 * much of N times what one did alone they do together. */
#include "harness.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEGMENTS = 64, GO_ON_TURNS = 1000 };

struct shared {
    atomic_uint ready, alone, begun, done, failed;
    double alone_rates[SEGMENTS];         /* round trips per ns */
    double rates[SPEED_CORES_MAX][SEGMENTS];
};

/* To the n-th of the processors that we may have; where that is not allowed, the system chooses. */
static void pin(const cpu_set_t *allowed, unsigned n)
{
    cpu_set_t set;
    size_t i;

    CPU_ZERO(&set);
    for (i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, allowed) && n-- == 0)
            CPU_SET(i, &set);
    if (CPU_COUNT(&set) == 1)
        sched_setaffinity(0, sizeof set, &set);
}

/* How others have ended, if they have; 0: wait for all of them. */
static void reap(struct shared *shared, int how)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, how)) > 0 || (pid < 0 && errno == EINTR)) {
        if (pid > 0 && status != 0)
            shared->failed++;
    }
}

/* Whether to go on waiting until `count` is n. Who was ended from outside says nothing: his parent hears of it. */
static int is_awaited(struct shared *shared, const atomic_uint *count, unsigned n)
{
    reap(shared, WNOHANG);
    return *count < n && !shared->failed;
}

static void await(struct shared *shared, const atomic_uint *count, unsigned n)
{
    while (is_awaited(shared, count, n))
        usleep(100);
}

static void measure(struct speed_run *run, double *rates, unsigned segments)
{
    unsigned i;

    for (i = 0; i < segments; i++) {
        const struct speed_segment segment = speed_segment_measure(run, &run->count.rounds);

        rates[i] = (double)segment.units / (double)segment.ns;
    }
}

static void work(struct speed_run *run, struct shared *shared, unsigned core, unsigned segments)
{
    if (speed_open(run) != 0) {
        shared->failed++;
        return;
    }
    run->driver->begin();
    speed_segment_turns(run, &run->count.rounds);
    shared->ready++;
    if (core == 0) {
        await(shared, &shared->ready, run->cores);
        measure(run, shared->alone_rates, segments);
        shared->alone = 1;
    }
    await(shared, &shared->alone, 1);
    shared->begun++;
    while (is_awaited(shared, &shared->begun, run->cores))
        run->driver->run(GO_ON_TURNS);
    measure(run, shared->rates[core], segments);
    shared->done++;
    while (is_awaited(shared, &shared->done, run->cores))
        run->driver->run(GO_ON_TURNS);
    if (run->count.failed)
        shared->failed++;
}

static double best(const double *rates, unsigned n)
{
    double most = 0;
    unsigned i;

    for (i = 0; i < n; i++)
        most = rates[i] > most ? rates[i] : most;
    return most;
}

/* The line. CPU time tells nothing of processes that take turns on a processor: then there is no efficiency. */
static void tell(struct speed_run *run, const struct shared *shared, unsigned n, unsigned processors)
{
    struct speed_segment segments[SEGMENTS] = { { 0, 0, 0, 0, 0 } };
    double together[SEGMENTS];
    unsigned i, core;

    for (i = 0; i < n; i++) {
        together[i] = 0;
        for (core = 0; core < run->cores; core++)
            together[i] += shared->rates[core][i];
        if (together[i] <= 0)    /* nothing went */
            continue;
        segments[i].units = 1000000;
        segments[i].ns = (uint64_t)(1000000 / together[i]);
    }
    speed_line_begin(run);
    speed_line_segments(run, segments, n, "round trip");
    if (run->cores <= processors && !run->count.failed) {
        run->efficiency = best(together, n) / (run->cores * best(shared->alone_rates, n));
        speed_line_number(run, "efficiency", run->efficiency);
    }
    speed_line_end(run);
}

int speed_cores(struct speed_run *run)
{
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const unsigned n = run->segments < SEGMENTS ? run->segments : SEGMENTS;
    cpu_set_t allowed;
    unsigned core;

    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (shared == MAP_FAILED)
        return 1;
    for (core = 1; core < run->cores; core++) {
        const pid_t pid = fork();

        if (pid < 0) {
            shared->failed++;
            run->cores = core;    /* no more than these */
        }
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);    /* nobody else would end it */
            pin(&allowed, core);
            work(run, shared, core, n);
            _exit(0);
        }
    }
    pin(&allowed, 0);
    work(run, shared, 0, n);
    reap(shared, 0);
    sched_setaffinity(0, sizeof allowed, &allowed);
    run->count.failed = shared->failed;
    tell(run, shared, n, (unsigned)CPU_COUNT(&allowed));
    munmap(shared, sizeof *shared);
    return run->count.failed != 0;
}
