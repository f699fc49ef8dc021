/* SPDX-License-Identifier: MIT */
/* Clocks, segments, the command line, and the line of JSON that comes out. */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLICES = 50, SLICES_PER_SEGMENT = 100, SEGMENTS_MAX = 64, WORDS_MAX = 1024 };

void (*speed_answered)(unsigned connection);

/* ---- clocks --------------------------------------------------------------------------------------- */

uint64_t speed_cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

uint64_t speed_cycles(void)
{
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#else
    return 0;
#endif
}

uint64_t speed_resident(void)
{
    unsigned long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file)
        return 0;
    if (fscanf(file, "%lu %lu", &size, &resident) != 2)
        resident = 0;
    fclose(file);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- segments ------------------------------------------------------------------------------------- */

/* All that is measured happens in here: instructions are counted between its beginning and its end. */
__attribute__((noinline)) void speed_measured(const struct speed_driver *driver, unsigned long turns);
void speed_measured(const struct speed_driver *driver, unsigned long turns)
{
    driver->run(turns);
}

static struct speed_segment segment_of(const struct speed_run *run, unsigned long turns, const uint64_t *unit)
{
    const uint64_t units = *unit, ns = speed_cpu_ns(), cycles = speed_cycles();
    struct speed_segment segment;

    speed_measured(run->driver, turns);
    segment.cycles = speed_cycles() - cycles;
    segment.ns = speed_cpu_ns() - ns;
    segment.units = *unit - units;
    return segment;
}

/* How many turns take a segment's time: by doubling, which warms the caches too. */
static unsigned long turns_for(const struct speed_run *run, const uint64_t *unit)
{
    const uint64_t wanted = (uint64_t)run->segment_ms * 1000000;
    unsigned long turns = 64;

    for (;;) {
        const struct speed_segment segment = segment_of(run, turns, unit);

        if (segment.ns * 2 >= wanted)
            return (unsigned long)((double)turns * (double)wanted / (double)segment.ns) + 1;
        turns *= 2;
    }
}

void speed_segment_turns(struct speed_run *run, const uint64_t *unit)
{
    run->segment_turns = turns_for(run, unit);
}

struct speed_segment speed_segment_measure(const struct speed_run *run, const uint64_t *unit)
{
    return segment_of(run, run->segment_turns, unit);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Counted over slices that are so short that most of them are not interrupted: the lower decile. */
static double cycles_of(const struct speed_run *run, unsigned long turns, const uint64_t *unit)
{
    double slices[SLICES];
    unsigned i, n = 0;

    turns = turns / SLICES_PER_SEGMENT + 1;
    for (i = 0; i < SLICES; i++) {
        const struct speed_segment slice = segment_of(run, turns, unit);

        if (slice.units)
            slices[n++] = (double)slice.cycles / (double)slice.units;
    }
    qsort(slices, n, sizeof slices[0], compare_doubles);
    return n ? slices[n / 10] : 0;
}

int speed_measure(struct speed_run *run, const uint64_t *unit, const char *unit_name)
{
    struct speed_segment segments[SEGMENTS_MAX];
    unsigned n = run->segments < SEGMENTS_MAX ? run->segments : SEGMENTS_MAX, i;
    unsigned long turns = run->turns;

    if (turns == 0) {
        turns = turns_for(run, unit);
    } else {
        run->driver->run(turns / 2 + 1);    /* warming up is not counted */
        n = 1;
    }
    for (i = 0; i < n; i++)
        segments[i] = segment_of(run, turns, unit);
    speed_line_begin(run);
    speed_line_segments(segments, n, unit_name);
    if (run->turns == 0 && speed_cycles() != 0)
        printf(", \"cycles\": %.5g", cycles_of(run, turns, unit));
    speed_line_end(run);
    return run->count.failed != 0 || segments[0].units == 0;
}

/* ---- output --------------------------------------------------------------------------------------- */

void speed_line_begin(const struct speed_run *run)
{
    printf("{\"stack\": \"%s\", \"workload\": \"%s\", \"what\": \"%s\"", run->driver->name, run->workload, run->what);
}

void speed_line_segments(const struct speed_segment *segments, unsigned n, const char *unit_name)
{
    double best = 0;
    unsigned i;

    printf(", \"unit\": \"%s\", \"units\": %llu, \"segments\": [", unit_name,
           (unsigned long long)segments[n - 1].units);
    for (i = 0; i < n; i++) {
        const double units = segments[i].units ? (double)segments[i].units : 1e-9;
        const double ns = (double)segments[i].ns / units;

        printf("%s%.5g", i ? ", " : "", ns);
        if (i == 0 || ns < best)
            best = ns;
    }
    printf("], \"ns\": %.5g", best);
}

void speed_line_end(const struct speed_run *run)
{
    if (run->count.failed)
        printf(", \"failed\": \"%llu times something happened that should not\"",
               (unsigned long long)run->count.failed);
    printf("}\n");
    fflush(stdout);
}

int speed_open(struct speed_run *run)
{
    const char *why = run->driver->open(&run->conf, &run->count);

    if (!why)
        return 0;
    speed_line_begin(run);
    printf(", \"missing\": \"%s\"}\n", why);
    return 1;
}

/* ---- command line --------------------------------------------------------------------------------- */

struct workload {
    const char *name;
    enum speed_app app;
    int (*measure)(struct speed_run *run);
    const char *text;
    int opens;    /* the connections by itself */
};

static const struct workload workloads[] = {
    { "ping-pong", SPEED_PING, speed_pingpong, "a byte there and a byte back", 0 },
    { "bulk", SPEED_BULK, speed_bulk, "as much as goes, one way", 0 },
    { "connect", SPEED_CONNECT, speed_connect, "connect, a byte there and back, close", 0 },
    { "idle", SPEED_IDLE, speed_idle, "memory of open connections, and the time to open them", 1 },
    { "udp-ping", SPEED_UDP_PING, speed_udp_ping, "a datagram there and one back", 0 },
    { "udp-bulk", SPEED_UDP_BULK, speed_udp_bulk, "datagrams one way", 0 },
    { "load", SPEED_LOAD, speed_load, "latency of the ping-pong at a given load", 0 },
    { "cores", SPEED_PING, speed_cores, "ping-pong on several processors at once", 1 },
};

struct setting {
    const char *name;
    unsigned *at;
};

static int set_one(const struct setting *settings, size_t n, const char *word)
{
    const char *value = strchr(word, '=');
    char *end;
    size_t i;

    for (i = 0; value && i < n; i++) {
        if (strlen(settings[i].name) != (size_t)(value - word)
            || strncmp(settings[i].name, word, (size_t)(value - word)) != 0)
            continue;
        *settings[i].at = (unsigned)strtoul(value + 1, &end, 10);
        return *end == 0 && end != value + 1 ? 0 : -1;
    }
    return -1;
}

/* Defaults, then what the words say. @return the bad word, or NULL */
static const char *settings_read(struct speed_run *run, int n, char **words)
{
    struct speed_conf *conf = &run->conf;
    unsigned csum = 2, turns = 0;
    const struct setting settings[] = {
        { "connections", &conf->connections }, { "idle", &conf->idle }, { "message", &conf->message },
        { "mtu", &conf->mtu }, { "window", &conf->window }, { "batch", &conf->batch }, { "tx_csum", &conf->tx_csum },
        { "rx_csum", &conf->rx_csum }, { "csum", &csum }, { "tso", &conf->tso }, { "lro", &conf->lro },
        { "copy", &conf->copy }, { "write", &conf->write }, { "timestamps", &conf->timestamps },
        { "pacing", &conf->pacing }, { "data", &conf->data }, { "segments", &run->segments },
        { "segment_ms", &run->segment_ms }, { "turns", &turns }, { "load", &run->loads },
        { "rate", &run->rate }, { "cores", &run->cores },
    };
    int i;

    conf->connections = 1;
    conf->message = 1;
    conf->mtu = 1500;
    conf->batch = 32;
    conf->tx_csum = conf->rx_csum = conf->timestamps = conf->pacing = 1;
    run->segments = 3;
    run->segment_ms = 30;
    run->loads = 50;
    run->cores = 1;
    for (i = 0; i < n; i++)
        if (set_one(settings, sizeof settings / sizeof *settings, words[i]) != 0)
            return words[i];
    if (csum != 2)
        conf->tx_csum = conf->rx_csum = csum;
    run->turns = turns;
    if (conf->connections == 0 || conf->message == 0 || conf->batch == 0 || run->segments == 0)
        return "0";
    return NULL;
}

static void usage(const struct speed_driver *const *drivers)
{
    size_t i;

    fputs("Usage: WORKLOAD STACK [KEY=VALUE...]\n", stderr);
    for (i = 0; i < sizeof workloads / sizeof *workloads; i++)
        fprintf(stderr, "  %-10s %s\n", workloads[i].name, workloads[i].text);
    fputs("stacks:", stderr);
    for (; *drivers; drivers++)
        fprintf(stderr, " %s", (*drivers)->name);
    fputs("\n", stderr);
}

static void join(char *text, size_t size, int n, char **words)
{
    size_t used = 0;
    int i;

    text[0] = 0;
    for (i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", words[i]);
}

int speed_main(int argc, char **argv, const struct speed_driver *const *drivers)
{
    static char what[WORDS_MAX];
    const struct workload *workload = NULL;
    struct speed_run run;
    const char *bad;
    size_t i;

    memset(&run, 0, sizeof run);
    for (i = 0; argc > 2 && i < sizeof workloads / sizeof *workloads; i++)
        if (strcmp(workloads[i].name, argv[1]) == 0)
            workload = &workloads[i];
    for (i = 0; argc > 2 && drivers[i]; i++)
        if (strcmp(drivers[i]->name, argv[2]) == 0)
            run.driver = drivers[i];
    if (!workload || !run.driver) {
        usage(drivers);
        return 2;
    }
    bad = settings_read(&run, argc - 3, argv + 3);
    if (bad) {
        fprintf(stderr, "what is \"%s\"?\n", bad);
        return 2;
    }
    run.workload = workload->name;
    run.conf.app = workload->app;
    join(what, sizeof what, argc - 3, argv + 3);
    run.what = what;
    if (!workload->opens && speed_open(&run) != 0)
        return 3;
    return workload->measure(&run);
}
