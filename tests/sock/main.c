/* SPDX-License-Identifier: MIT */
/* tenon-sock-sim: see docs/simulator.md. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { JOBS_MAX = 64, REAL_SECONDS_MAX = 120, FAILURES_MAX = 50 };

static const char usage[] =
    "usage: tenon-sock-sim [--seeds A..B] [-j N]\n"
    "       tenon-sock-sim --seed N [--verbose]\n"
    "\n"
    "Runs the calls for small machines (embedded/) against the core, over a wire with faults, short of memory.\n"
    "One seed is one history, the same on every machine. See docs/simulator.md.\n"
    "\n"
    "  --seeds A..B     run the histories A to B (default 1..200)\n"
    "  --seed N         run one history, and print its plan\n"
    "  -j N             run N histories at a time (default: one per processor)\n"
    "  --verbose        print what happens (with --seed)\n"
    "  --help           this text\n";

/* What the command line says. */
struct command {
    uint64_t first, last, one;    /* `one` 0: first to last */
    unsigned jobs;
    int verbose;
};

struct shared {
    pid_t parent;               /* whose workers end with it */
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

        if (seed > shared->last || getppid() != shared->parent)
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

struct failures {
    uint64_t seeds[FAILURES_MAX];
    unsigned n;
};

static void note_failure(struct failures *failures, struct shared *shared, unsigned i, int status)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
        printf("seed %" PRIu64 ": the process has ended: %s %d\n", shared->busy[i],
               WIFSIGNALED(status) ? "signal" : "exit", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (failures->n < FAILURES_MAX)
        failures->seeds[failures->n] = shared->busy[i];
    failures->n++;
    shared->busy[i] = 0;
}

static void show_progress(const struct shared *shared, uint64_t all, unsigned failed)
{
    static time_t shown;
    const time_t now = time(NULL);

    if (now == shown || !isatty(2))
        return;
    shown = now;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " histories, %u failed ", shared->passed + failed, all, failed);
}

/* Until all workers have ended; one that has failed is followed by another. */
static void run_workers(struct shared *shared, unsigned jobs, struct failures *failures)
{
    const uint64_t all = shared->last - shared->next + 1;
    const struct timespec nap = {0, 20000000};
    pid_t pid[JOBS_MAX], ended;
    unsigned i, alive = jobs;
    int status;

    for (i = 0; i < jobs; i++)
        pid[i] = start(shared, i);
    while (alive > 0) {
        ended = waitpid(-1, &status, WNOHANG);
        show_progress(shared, all, failures->n);
        if (ended <= 0) {
            nanosleep(&nap, NULL);
            continue;
        }
        for (i = 0; i < jobs && pid[i] != ended; i++)
            ;
        if (i == jobs)
            continue;
        if (shared->busy[i] == 0) {
            alive--;
            continue;
        }
        note_failure(failures, shared, i, status);
        pid[i] = start(shared, i);
    }
    if (isatty(2))
        fprintf(stderr, "\r%60s\r", "");
}

/* @return failures */
static unsigned run_seeds(struct shared *shared, unsigned jobs)
{
    struct failures failures = { .n = 0 };
    unsigned i;

    run_workers(shared, jobs, &failures);
    printf("%" PRIu64 " connections, %.1f MB, %.1f MB sent back, %" PRIu64 " frames sent, %" PRIu64 " calls, %" PRIu64
           " refused or wrong on purpose\n",
           shared->opened, (double)shared->bytes / 1e6, (double)shared->sent_back / 1e6, shared->frames, shared->calls,
           shared->errors);
    if (failures.n > 0)
        printf("failing seeds:");
    for (i = 0; i < failures.n && i < FAILURES_MAX; i++)
        printf(" %" PRIu64, failures.seeds[i]);
    printf("%s%" PRIu64 " passed, %u failed\n", failures.n > 0 ? "\n" : "", shared->passed, failures.n);
    return failures.n;
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

/* ---- the command line ------------------------------------------------------------------------------ */

static int bad_use(const char *what, const char *value)
{
    fprintf(stderr, "tenon-sock-sim: %s: %s\nTry tenon-sock-sim --help.\n", what, value);
    return -1;
}

/* @return where the number ends, or NULL: it is none from 1 */
static const char *number(const char *text, uint64_t *n)
{
    char *end;

    *n = strtoull(text, &end, 10);
    return end != text && *text >= '0' && *text <= '9' && *n > 0 ? end : NULL;
}

static int parse_seeds(struct command *command, const char *text)
{
    const char *at = number(text, &command->first);

    if (at != NULL && strncmp(at, "..", 2) == 0)
        at = number(at + 2, &command->last);
    else
        at = NULL;
    if (at == NULL || *at != '\0' || command->last < command->first)
        return bad_use("--seeds wants A..B with 1 <= A <= B, not", text);
    return 0;
}

static int parse_number(uint64_t *n, const char *what, const char *text)
{
    const char *end = number(text, n);

    return end != NULL && *end == '\0' ? 0 : bad_use(what, text);
}

static int parse_valued(struct command *command, const char *option, const char *value)
{
    uint64_t n;

    if (strcmp(option, "--seeds") == 0)
        return parse_seeds(command, value);
    if (strcmp(option, "--seed") == 0)
        return parse_number(&command->one, "--seed wants a number from 1, not", value);
    if (strcmp(option, "-j") != 0)
        return bad_use("unknown option", option);
    if (parse_number(&n, "-j wants a number from 1, not", value) != 0)
        return -1;
    command->jobs = n < JOBS_MAX ? (unsigned)n : (unsigned)JOBS_MAX;
    return 0;
}

/* @return 0: go on; 1: end well; -1: bad use */
static int parse(struct command *command, int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(argv[i], "--verbose") == 0)
            command->verbose = 1;
        else if (argv[i][0] != '-')
            return bad_use("what is this", argv[i]);
        else if (i + 1 == argc)
            return bad_use("unknown option, or one that wants a value", argv[i]);
        else if (parse_valued(command, argv[i], argv[i + 1]) != 0)
            return -1;
        else
            i++;
    }
    if (command->verbose && command->one == 0)
        return bad_use("goes with --seed only", "--verbose");
    return 0;
}

int main(int argc, char **argv)
{
    struct command command = { .first = 1, .last = 200 };
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct shared *shared;
    int result;

    command.jobs = cpus > 0 && cpus < JOBS_MAX ? (unsigned)cpus : 1;
    result = parse(&command, argc, argv);
    if (result != 0)
        return result < 0 ? 2 : 0;
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
    if (command.one > 0)
        return run_one(command.one, command.verbose);
    shared = shared_memory();
    shared->parent = getpid();
    shared->next = command.first;
    shared->last = command.last;
    return run_seeds(shared, command.jobs) > 0;
}
