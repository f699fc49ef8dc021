/* SPDX-License-Identifier: MIT */
/* tenon-sock-sim: see docs/simulator.md. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MAX = 64, REAL_SECONDS_MAX = 120, FAILURES_MAX = 50 };

static const char usage[] =
    "usage: tenon-sock-sim [--seeds A..B] [-j N]\n"
    "       tenon-sock-sim --seed N [--verbose]\n"
    "\n"
    "Runs the calls for small machines (embedded/) against the core, over a wire with faults, short of memory.\n"
    "One seed is one history, the same on every machine.\n";

struct shared {
    uint64_t next, last, passed, opened, bytes, sent_back, frames, calls, errors;
    uint64_t busy[JOBS_MAX];    /* the seed that a worker runs; 0: none */
};

static void add(uint64_t *to, uint64_t n)
{
    (void)__atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static struct history *run_seed(uint64_t seed, int verbose)
{
    struct history *h = calloc(1, sizeof(*h));

    if (h == NULL)
        abort();
    h->verbose = verbose;
    plan_draw(&h->plan, seed);
    if (verbose)
        plan_print(&h->plan);
    alarm(REAL_SECONDS_MAX);
    history_run(h);
    return h;
}

static void work(struct shared *shared, unsigned i)
{
    for (;;) {
        const uint64_t seed = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
        struct history *h;

        if (seed > shared->last)
            exit(0);
        shared->busy[i] = seed;
        h = run_seed(seed, 0);
        shared->busy[i] = 0;
        add(&shared->passed, 1);
        add(&shared->opened, h->opened);
        add(&shared->bytes, h->bytes);
        add(&shared->sent_back, h->sent_back);
        add(&shared->frames, h->frames);
        add(&shared->calls, h->calls);
        add(&shared->errors, h->errors);
        free(h);
    }
}

static pid_t start(struct shared *shared, unsigned i)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        work(shared, i);
    if (pid < 0) {
        perror("tenon-sock-sim: fork");
        exit(2);
    }
    return pid;
}

/* @return failures */
static unsigned run_seeds(struct shared *shared, unsigned jobs)
{
    pid_t pid[JOBS_MAX], ended;
    unsigned i, alive = jobs, failed = 0;
    uint64_t seeds[FAILURES_MAX];
    int status;

    for (i = 0; i < jobs; i++)
        pid[i] = start(shared, i);
    while (alive > 0 && (ended = wait(&status)) > 0) {
        for (i = 0; i < jobs && pid[i] != ended; i++)
            ;
        if (i == jobs)
            continue;
        if (shared->busy[i] == 0) {
            alive--;
            continue;
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
            printf("seed %" PRIu64 ": the process has ended: %s %d\n", shared->busy[i],
                   WIFSIGNALED(status) ? "signal" : "exit",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        if (failed < FAILURES_MAX)
            seeds[failed] = shared->busy[i];
        failed++;
        shared->busy[i] = 0;
        pid[i] = start(shared, i);
    }
    printf("%" PRIu64 " connections, %.1f MB, %.1f MB sent back, %" PRIu64 " frames sent, %" PRIu64 " calls, %" PRIu64
           " refused or wrong on purpose\n",
           shared->opened, (double)shared->bytes / 1e6, (double)shared->sent_back / 1e6, shared->frames, shared->calls,
           shared->errors);
    if (failed > 0)
        printf("failing seeds:");
    for (i = 0; i < failed && i < FAILURES_MAX; i++)
        printf(" %" PRIu64, seeds[i]);
    printf("%s%" PRIu64 " passed, %u failed\n", failed > 0 ? "\n" : "", shared->passed, failed);
    return failed;
}

static struct shared *shared_memory(void)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        perror("tenon-sock-sim: mmap");
        exit(2);
    }
    return shared;
}

static int run_one(uint64_t seed, int verbose)
{
    struct history *h;

    if (!verbose) {
        h = calloc(1, sizeof(*h));
        if (h == NULL)
            abort();
        plan_draw(&h->plan, seed);
        plan_print(&h->plan);
        free(h);
    }
    h = run_seed(seed, verbose);
    printf("%" PRIu64 " connections, %" PRIu64 " bytes, %" PRIu64 " frames\n1 passed, 0 failed\n", h->opened, h->bytes,
           h->frames);
    free(h);
    return 0;
}

/* A build without pieces would send crumbs: embedded/ says what it lacks, and does not start. @return 1: it does not */
static int is_refused(void)
{
    struct plan plan;
    struct tenon_socks *socks = NULL;
    tenon_u8 arena[64];
    const char *lacks;

    plan_draw(&plan, 1);
    lacks = tenon_sock_conf_check(&plan.conf);
    return lacks != NULL && strcmp(lacks, "TENON_WITH_PIECES") == 0 && tenon_sock_arena_bytes(&plan.conf) == 0 &&
           tenon_sock_start(&socks, arena, sizeof(arena), &plan.conf) == TENON_EINVAL;
}

static unsigned takes_all(void *device, const struct tenon_frame *frames, unsigned n)
{
    (void)device, (void)frames;
    return n;
}

static int guessed(void *device, void *bytes, size_t n)
{
    (void)device;
    memset(bytes, 0x5A, n);
    return 0;
}

/* A build that does not connect: whoever names a peer is refused, servers are made. @return 1: it is so */
static int only_serves(void)
{
    struct tenon_addr at = { .port = 80 };
    struct tenon_socks *socks = NULL;
    const int protocols[] = {TENON_SOCK_TCP, TENON_SOCK_UDP};
    struct plan plan;
    tenon_u8 *arena;
    int i, good = 0;

    plan_draw(&plan, 1);
    plan.conf.device.transmit = takes_all;
    plan.conf.device.entropy = guessed;
    plan.conf.device.poll = NULL;
    plan.conf.event = NULL;
    arena = malloc(tenon_sock_arena_bytes(&plan.conf));
    if (arena == NULL || tenon_sock_start(&socks, arena, tenon_sock_arena_bytes(&plan.conf), &plan.conf) != TENON_OK)
        return 0;
    for (i = 0; i < 2; i++) {
        at.ip = tenon_ip4_bytes(10, 0, 0, 9);
        good += tenon_sock_create(socks, NULL, &at, protocols[i], 0) == TENON_EINVAL;
        at.ip = tenon_ip_any();
        good += tenon_sock_create(socks, &at, NULL, protocols[i], 0) ==
                (protocols[i] == TENON_SOCK_TCP || TENON_WITH_UDP ? i + 1 : (int)TENON_EINVAL);
    }
    tenon_sock_stop(socks);
    free(arena);
    return good == 4;
}

int main(int argc, char **argv)
{
    struct shared *shared = shared_memory();
    uint64_t seed = 0;
    unsigned jobs = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    int i, verbose = 0;

    shared->next = 1;
    shared->last = 200;
    for (i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "--verbose") == 0)
            verbose = 1;
        else if (strcmp(argv[i], "--seed") == 0 && sscanf(value, "%" SCNu64, &seed) == 1 && seed > 0)
            i++;
        else if (strcmp(argv[i], "-j") == 0 && sscanf(value, "%u", &jobs) == 1 && jobs > 0)
            i++;
        else if (strcmp(argv[i], "--seeds") == 0 &&
                 sscanf(value, "%" SCNu64 "..%" SCNu64, &shared->next, &shared->last) == 2 && shared->next > 0 &&
                 shared->next <= shared->last)
            i++;
        else {
            fputs(usage, stderr);
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    if (!TENON_WITH_PIECES) {
        const int good = is_refused();

        printf("a build without pieces is %srefused\n", good ? "" : "NOT ");
        return !good;
    }
    if (!TENON_WITH_CONNECT) {
        const int good = only_serves();

        printf("a build that does not connect %s\n", good ? "serves" : "is WRONG");
        return !good;
    }
    if (seed > 0)
        return run_one(seed, verbose);
    return run_seeds(shared, jobs < JOBS_MAX ? jobs : JOBS_MAX) > 0;
}
