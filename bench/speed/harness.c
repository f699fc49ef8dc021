/* SPDX-License-Identifier: MIT */
/* Clocks, segments, the command line, and the line of JSON that comes out. */
#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLICES = 50, SLICES_PER_SEGMENT = 100, SEGMENTS_MAX = 64, WORDS_MAX = 1024 };
enum { MTU_MIN = 68, MTU_MIN_IP6 = 1280, UDP_MESSAGE_MAX = 65507 };    /* RFC 791 3.2, RFC 8200 5 */

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
    const struct speed_count before = run->count;
    const uint64_t units = *unit, ns = speed_cpu_ns(), cycles = speed_cycles();
    struct speed_segment segment;

    speed_measured(run->driver, turns);
    segment.cycles = speed_cycles() - cycles;
    segment.ns = speed_cpu_ns() - ns;
    segment.units = *unit - units;
    segment.frames = (uint32_t)(run->count.frames - before.frames);    /* drivers count modulo 2^32 */
    segment.copied = (uint32_t)(run->count.copied - before.copied);
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
    struct speed_segment segments[SEGMENTS_MAX] = { { 0, 0, 0, 0, 0 } };
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
    speed_line_segments(run, segments, n, unit_name);
    if (run->count.frames && segments[0].units) {
        speed_line_number(run, "frames", (double)segments[0].frames / (double)segments[0].units);
        if (run->driver->tells_copies)
            speed_line_number(run, "copied", (double)segments[0].copied / (double)segments[0].units);
    }
    if (run->turns == 0 && speed_cycles() != 0 && !run->quiet)
        speed_line_number(run, "cycles", cycles_of(run, turns, unit));
    speed_line_end(run);
    return run->count.failed != 0 || segments[0].units == 0;
}

/* ---- output --------------------------------------------------------------------------------------- */

void speed_line_begin(const struct speed_run *run)
{
    if (!run->quiet)
        printf("{\"stack\": \"%s\", \"workload\": \"%s\", \"what\": \"%s\"", run->driver->name, run->workload->name,
               run->what);
}

void speed_line_segments(struct speed_run *run, const struct speed_segment *segments, unsigned n, const char *unit)
{
    unsigned i;

    run->unit = unit;
    run->ns = 0;
    if (!run->quiet)
        printf(", \"unit\": \"%s\", \"units\": %llu, \"segments\": [", unit,
               (unsigned long long)segments[n - 1].units);
    for (i = 0; i < n; i++) {
        const double ns = segments[i].units ? (double)segments[i].ns / (double)segments[i].units : 1e12;

        if (!run->quiet)
            printf("%s%.5g", i ? ", " : "", ns);
        if (i == 0 || ns < run->ns)
            run->ns = ns;
    }
    if (!run->quiet)
        printf("]");
    speed_line_number(run, "ns", run->ns);
}

void speed_line_cycles(const struct speed_run *run, const struct speed_segment *segments, unsigned n)
{
    double least = 0;
    unsigned i;

    if (speed_cycles() == 0 || run->turns != 0)
        return;
    for (i = 0; i < n; i++) {
        const double each = segments[i].units ? (double)segments[i].cycles / (double)segments[i].units : 0;

        if (each > 0 && (least == 0 || each < least))
            least = each;
    }
    if (least > 0)
        speed_line_number(run, "cycles", least);
}

void speed_line_number(const struct speed_run *run, const char *name, double value)
{
    if (!run->quiet)
        printf(", \"%s\": %.6g", name, value);
}

void speed_line_end(const struct speed_run *run)
{
    if (run->quiet)
        return;
    if (run->count.failed)
        printf(", \"failed\": \"%llu times something happened that should not\"",
               (unsigned long long)run->count.failed);
    printf("}\n");
    fflush(stdout);
}

int speed_open(struct speed_run *run)
{
    if (run->conf.ip6 && run->driver->ip6 != NULL)
        run->driver = run->driver->ip6;
    run->missing = run->driver->open(&run->conf, &run->count);
    if (!run->missing)
        return 0;
    speed_line_begin(run);
    if (!run->quiet)
        printf(", \"missing\": \"%s\"}\n", run->missing);
    return 1;
}

/* ---- command line --------------------------------------------------------------------------------- */

const struct speed_workload speed_workloads[] = {
    { "ping-pong", SPEED_PING, speed_pingpong, "a byte there and a byte back", 0 },
    { "bulk", SPEED_BULK, speed_bulk, "as much as goes, one way", 0 },
    { "connect", SPEED_CONNECT, speed_connect, "connect, a byte there and back, close", 0 },
    { "connect-time", SPEED_CONNECT, speed_connect_time, "how long that takes, one at a time", 0 },
    { "idle", SPEED_IDLE, speed_idle, "memory of open connections, and the time to open them", 1 },
    { "udp-ping", SPEED_UDP_PING, speed_udp_ping, "a datagram there and one back", 0 },
    { "udp-bulk", SPEED_UDP_BULK, speed_udp_bulk, "datagrams one way", 0 },
    { "load", SPEED_LOAD, speed_load, "latency of the ping-pong at a given load", 0 },
    { "cores", SPEED_PING, speed_cores, "ping-pong on several processors at once", 1 },
    { NULL, SPEED_PING, NULL, NULL, 0 },
};

struct setting {
    const char *name;
    unsigned *at;
    unsigned least, most;
};

static char wrong[WORDS_MAX];    /* the last words that were no good, and why */

__attribute__((format(printf, 1, 2))) static const char *say_wrong(const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vsnprintf(wrong, sizeof wrong, format, values);
    va_end(values);
    return wrong;
}

/* @return NULL, or what is wrong with it */
static const char *set_one(const struct setting *setting, const char *word, const char *value)
{
    unsigned long number;
    char *end;

    number = strtoul(value, &end, 10);    /* ULONG_MAX, if it is more than that; a sign is no digit */
    if (*value < '0' || *value > '9' || *end != 0)
        return say_wrong("\"%s\": %s is a number from %u to %u", word, setting->name, setting->least, setting->most);
    if (number < setting->least || number > setting->most)
        return say_wrong("\"%s\": %s is from %u to %u", word, setting->name, setting->least, setting->most);
    *setting->at = (unsigned)number;
    return NULL;
}

static const char *set_by_name(const struct setting *settings, size_t n, const char *word)
{
    const size_t length = strcspn(word, "=");
    size_t i, used;

    if (word[length] == 0)
        return say_wrong("\"%s\" is not of the form KEY=VALUE", word);
    for (i = 0; i < n; i++)
        if (strlen(settings[i].name) == length && strncmp(settings[i].name, word, length) == 0)
            return set_one(&settings[i], word, word + length + 1);
    say_wrong("\"%.100s\" is none of the settings:", word);
    for (i = 0; i < n; i++) {
        used = strlen(wrong);
        snprintf(wrong + used, sizeof wrong - used, " %s", settings[i].name);
    }
    return wrong;
}

/* What each by itself may be, and not both. */
static const char *settings_together(const struct speed_run *run)
{
    const struct speed_conf *conf = &run->conf;
    const enum speed_app app = run->workload->app;

    if (app == SPEED_LOAD && conf->connections > SPEED_LOAD_CONNECTIONS_MAX)
        return say_wrong("connections=%u: with \"load\" no more than %d", conf->connections,
                         SPEED_LOAD_CONNECTIONS_MAX);
    if (run->workload->measure == speed_connect_time && conf->connections > 1)
        return say_wrong("connections=%u: with \"connect-time\" there is one at a time", conf->connections);
    if ((app == SPEED_UDP_PING || app == SPEED_UDP_BULK) && conf->message > UDP_MESSAGE_MAX)
        return say_wrong("message=%u: a datagram has no more than %d", conf->message, UDP_MESSAGE_MAX);
    if (conf->ip6 && conf->mtu < MTU_MIN_IP6)
        return say_wrong("mtu=%u: over IPv6 no less than %d", conf->mtu, MTU_MIN_IP6);
    return NULL;
}

/* Defaults, then what the words say. @return NULL, or what is wrong with them */
static const char *settings_read(struct speed_run *run, int n, char *const *words)
{
    struct speed_conf *conf = &run->conf;
    unsigned csum = 2;
    const struct setting settings[] = {
        { "connections", &conf->connections, 1, 10000000 }, { "idle", &conf->idle, 0, 10000000 },
        { "message", &conf->message, 1, 1U << 30 }, { "mtu", &conf->mtu, MTU_MIN, 65535 },
        { "window", &conf->window, 512, 1U << 29 }, { "batch", &conf->batch, 1, SPEED_BATCH_MAX },
        { "tx_csum", &conf->tx_csum, 0, 1 }, { "rx_csum", &conf->rx_csum, 0, 1 }, { "csum", &csum, 0, 1 },
        { "tso", &conf->tso, 0, 1 }, { "lro", &conf->lro, 0, 1 }, { "copy", &conf->copy, 0, 1 },
        { "write", &conf->write, 0, 1 }, { "timestamps", &conf->timestamps, 0, 1 },
        { "pacing", &conf->pacing, 0, 1 }, { "small", &conf->small, 0, 65535 }, { "data", &conf->data, 0, 1U << 30 },
        { "own_sum", &conf->own_sum, 0, 1 }, { "segments", &run->segments, 1, SEGMENTS_MAX },
        { "segment_ms", &run->segment_ms, 1, 60000 }, { "turns", &run->turns, 1, 1000000000 },
        { "load", &run->loads, 1, 100 }, { "rate", &run->rate, 1000, 1000000000 },
        { "cores", &run->cores, 1, SPEED_CORES_MAX }, { "ip6", &conf->ip6, 0, 1 }, { "bbr", &conf->bbr, 0, 1 },
    };
    const char *bad;
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
    for (i = 0; i < n; i++) {
        bad = set_by_name(settings, sizeof settings / sizeof *settings, words[i]);
        if (bad)
            return bad;
    }
    if (csum != 2)
        conf->tx_csum = conf->rx_csum = csum;
    return settings_together(run);
}

static void usage(const struct speed_driver *const *drivers)
{
    const struct speed_workload *workload;

    fputs("Usage: WORKLOAD STACK [KEY=VALUE...]\n", stderr);
    for (workload = speed_workloads; workload->name; workload++)
        fprintf(stderr, "  %-12s %s\n", workload->name, workload->text);
    fputs("stacks:", stderr);
    for (; *drivers; drivers++)
        fprintf(stderr, " %s", (*drivers)->name);
    fputs("\n", stderr);
}

static void join(char *text, size_t size, int n, char *const *words)
{
    size_t used = 0;
    int i;

    text[0] = 0;
    for (i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "", words[i]);
}

const char *speed_prepare(struct speed_run *run, const char *workload, int n, char *const *words)
{
    static char what[WORDS_MAX];
    const struct speed_workload *found = speed_workloads;
    const char *bad;

    memset(run, 0, sizeof *run);
    while (found->name && strcmp(found->name, workload) != 0)
        found++;
    if (!found->name)
        return say_wrong("\"%.100s\" is no workload", workload);
    run->workload = found;
    bad = settings_read(run, n, words);
    run->conf.app = found->app;
    join(what, sizeof what, n, words);
    run->what = what;
    return bad;
}

int speed_do(struct speed_run *run)
{
    if (!run->workload)
        return 1;
    if (!run->workload->opens && speed_open(run) != 0)
        return 3;
    return run->workload->measure(run);
}

int speed_main(int argc, char **argv, const struct speed_driver *const *drivers)
{
    const struct speed_driver *driver = NULL;
    struct speed_run run;
    const char *bad;
    size_t i;

    for (i = 0; argc > 2 && drivers[i]; i++)
        if (strcmp(drivers[i]->name, argv[2]) == 0)
            driver = drivers[i];
    if (!driver) {
        usage(drivers);
        return 2;
    }
    bad = speed_prepare(&run, argv[1], argc - 3, argv + 3);
    if (bad) {
        fprintf(stderr, "%s\n", bad);
        return 2;
    }
    run.driver = driver;
    return speed_do(&run);
}
