/* SPDX-License-Identifier: MIT */
#include "seeds.h"

#include "range.h"

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
    "usage: %s [--seeds A..B] [-j N]\n"
    "       %s --seed N [--verbose]\n"
    "\n"
    "%s"
    "One seed is one history, the same on every machine. See docs/simulator.md.\n"
    "\n"
    "  --seeds A..B     run the histories A to B (default 1..200)\n"
    "  --seed N         run one history, and print its plan\n"
    "  -j N             run N histories at a time (default: one per processor)\n"
    "  --verbose        print what happens (with --seed)\n"
    "  --help           this text\n";

/* What the command line says. */
struct command {
    const struct seeds *program;
    uint64_t first, last, one;    /* `one` 0: first to last */
    unsigned jobs;
    int verbose;
};

struct shared {
    pid_t parent;                 /* whose workers end with it */
    uint64_t next, last, passed;
    uint64_t counts[SEEDS_COUNTS];
    uint64_t busy[JOBS_MAX];      /* the seed that a worker runs; 0: none */
};

/* ---- many histories --------------------------------------------------------------------------------- */

static void work(const struct seeds *program, struct shared *shared, unsigned i)
{
    for (;;) {
        const uint64_t seed = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);
        uint64_t counts[SEEDS_COUNTS] = { 0 };
        unsigned k;

        if (seed > shared->last || getppid() != shared->parent)
            exit(0);
        shared->busy[i] = seed;
        alarm(REAL_SECONDS_MAX);
        program->run(seed, 0, counts);
        shared->busy[i] = 0;
        (void)__atomic_fetch_add(&shared->passed, 1, __ATOMIC_RELAXED);
        for (k = 0; k < SEEDS_COUNTS; k++)
            (void)__atomic_fetch_add(&shared->counts[k], counts[k], __ATOMIC_RELAXED);
    }
}

static pid_t start(const struct seeds *program, struct shared *shared, unsigned i)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0)
        work(program, shared, i);
    if (pid < 0) {
        fprintf(stderr, "%s: ", program->name);
        perror("fork");
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
    if (!WIFEXITED(status) || WEXITSTATUS(status) != SEEDS_EXIT_FAILED)
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
static void run_workers(const struct command *command, struct shared *shared, struct failures *failures)
{
    const uint64_t all = shared->last - shared->next + 1;
    const struct timespec nap = {0, 20000000};
    pid_t pid[JOBS_MAX], ended;
    unsigned i, alive = command->jobs;
    int status;

    for (i = 0; i < command->jobs; i++)
        pid[i] = start(command->program, shared, i);
    while (alive > 0) {
        ended = waitpid(-1, &status, WNOHANG);
        show_progress(shared, all, failures->n);
        if (ended <= 0) {
            nanosleep(&nap, NULL);
            continue;
        }
        for (i = 0; i < command->jobs && pid[i] != ended; i++)
            ;
        if (i == command->jobs)
            continue;
        if (shared->busy[i] == 0) {
            alive--;
            continue;
        }
        note_failure(failures, shared, i, status);
        pid[i] = start(command->program, shared, i);
    }
    if (isatty(2))
        fprintf(stderr, "\r%60s\r", "");
}

static struct shared *shared_memory(const struct command *command)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED) {
        fprintf(stderr, "%s: ", command->program->name);
        perror("mmap");
        exit(2);
    }
    shared->parent = getpid();
    shared->next = command->first;
    shared->last = command->last;
    return shared;
}

static int run_many(const struct command *command)
{
    struct shared *shared = shared_memory(command);
    struct failures failures = { .n = 0 };
    unsigned i;

    run_workers(command, shared, &failures);
    command->program->print_counts(shared->counts);
    if (failures.n > 0)
        printf("failing seeds:");
    for (i = 0; i < failures.n && i < FAILURES_MAX; i++)
        printf(" %" PRIu64, failures.seeds[i]);
    printf("%s%" PRIu64 " passed, %u failed\n", failures.n > 0 ? "\n" : "", shared->passed, failures.n);
    return failures.n > 0;
}

static int run_one(const struct command *command)
{
    uint64_t counts[SEEDS_COUNTS] = { 0 };

    command->program->print_plan(command->one);
    alarm(REAL_SECONDS_MAX);
    command->program->run(command->one, command->verbose, counts);
    command->program->print_counts(counts);
    printf("1 passed, 0 failed\n");
    return 0;
}

/* ---- the command line ------------------------------------------------------------------------------ */

static int bad_use(const struct command *command, const char *what, const char *value)
{
    fprintf(stderr, "%s: %s: %s\nTry %s --help.\n", command->program->name, what, value, command->program->name);
    return -1;
}

static int parse_seeds(struct command *command, const char *text)
{
    if (!range_read(text, &command->first, &command->last))
        return bad_use(command, "--seeds wants A..B with 1 <= A <= B, not", text);
    return 0;
}

static int parse_number(const struct command *command, uint64_t *n, const char *what, const char *text)
{
    const char *end = range_number(text, n);

    return end != NULL && *end == '\0' ? 0 : bad_use(command, what, text);
}

static int parse_valued(struct command *command, const char *option, const char *value)
{
    uint64_t n;

    if (strcmp(option, "--seeds") == 0)
        return parse_seeds(command, value);
    if (strcmp(option, "--seed") == 0)
        return parse_number(command, &command->one, "--seed wants a number from 1, not", value);
    if (strcmp(option, "-j") != 0)
        return bad_use(command, "unknown option", option);
    if (parse_number(command, &n, "-j wants a number from 1, not", value) != 0)
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
            printf(usage, command->program->name, command->program->name, command->program->text);
            return 1;
        }
        if (strcmp(argv[i], "--verbose") == 0)
            command->verbose = 1;
        else if (argv[i][0] != '-')
            return bad_use(command, "what is this", argv[i]);
        else if (i + 1 == argc)
            return bad_use(command, "unknown option, or one that wants a value", argv[i]);
        else if (parse_valued(command, argv[i], argv[i + 1]) != 0)
            return -1;
        else
            i++;
    }
    if (command->verbose && command->one == 0)
        return bad_use(command, "goes with --seed only", "--verbose");
    return 0;
}

int seeds_main(const struct seeds *program, int argc, char **argv)
{
    struct command command = { .program = program, .first = 1, .last = 200 };
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int result;

    command.jobs = cpus > 0 && cpus < JOBS_MAX ? (unsigned)cpus : 1;
    result = parse(&command, argc, argv);
    if (result != 0)
        return result < 0 ? 2 : 0;
    return command.one > 0 ? run_one(&command) : run_many(&command);
}
