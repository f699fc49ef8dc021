/* SPDX-License-Identifier: MIT */
/* tenon-sim: runs histories, each from a seed; see docs/simulator.md. */
#include "sim.h"

#include "tests/seeds/range.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MAX = 64, REAL_SECONDS_MAX = 60, FAILURES_PRINTED = 50 };

static const char usage[] =
    "usage: tenon-sim [options]\n"
    "\n"
    "Runs instances of Tenon over an imagined network. One seed is one history: the same seed gives the\n"
    "same history on every machine. See docs/simulator.md.\n"
    "\n"
    "  --seeds A..B     run the histories A to B (default 1..200)\n"
    "  --seed N         run one history, and print its plan if it fails\n"
    "  -j N             run N histories at a time (default: one per processor)\n"
    "  --verbose        print every frame and every event (with --seed or --replay)\n"
    "  --without KIND   without a kind of trouble: loss, jump, memory, hold ... (--help-kinds lists them)\n"
    "  --plan           print the plan (with --seed or --replay), do not run it\n"
    "  --shrink N       find a short history that fails as seed N does, and print it\n"
    "  --save FILE      with --shrink: write the short history to a file\n"
    "  --replay FILE    run a history from such a file\n"
    "  --bug NAME       put in a bug: skip-byte, bad-payload, keep-buffer, deaf, no-consume\n"
    "  --selftest       put in each bug, and see that it is found and shrunk\n"
    "  --stop           stop at the first failure\n"
    "  --help           this text\n";

static const char *const bug_names[BUG_COUNT] = {"none", "skip-byte", "bad-payload", "keep-buffer", "deaf",
                                                 "no-consume"};

/* What the command line says. */
struct command {
    uint64_t first, last, shrink;
    unsigned jobs;
    const char *save, *replay;
    int one, plan, selftest, stop;
    struct sim_options options;
};

/* What the workers share with their parent. */
struct worker {
    struct sim_log log;
    uint64_t busy_seed;      /* the history that runs; 0: none */
};

struct shared {
    pid_t parent;            /* whose workers end with it */
    uint64_t next, last;     /* seeds still to be run */
    uint64_t passed, frames, bytes, opened, virtual_us, steps;
    int stop;
    struct worker worker[WORKERS_MAX];
};

static void *shared_memory(size_t bytes)
{
    void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (mem == MAP_FAILED) {
        perror("tenon-sim: mmap");
        exit(2);
    }
    return mem;
}

/* ---- one history in a process of its own ----------------------------------------------------- */

static void log_death(struct sim_log *log, int status)
{
    log->failed = 1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(log->kind, sizeof(log->kind), "real time");
    else if (WIFSIGNALED(status))
        snprintf(log->kind, sizeof(log->kind), "signal %d", WTERMSIG(status));
    else
        snprintf(log->kind, sizeof(log->kind), "exit %d", WEXITSTATUS(status));
    snprintf(log->text, sizeof(log->text), "the process has ended: %s", log->kind);
}

int isolated_run(const struct plan *plan, const struct plan_mods *mods, const struct sim_options *options,
                 struct sim_log *log)
{
    int status;
    pid_t pid;

    log->failed = 0;
    log->nfates = 0;
    fflush(stdout);
    pid = fork();
    if (pid < 0) {
        perror("tenon-sim: fork");
        exit(2);
    }
    if (pid == 0) {
        alarm(REAL_SECONDS_MAX);
        sim_run(plan, mods, options, log);
        fflush(stdout);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        log_death(log, status);
    return log->failed;
}

/* ---- many histories -------------------------------------------------------------------------- */

static void work(struct shared *shared, struct worker *worker, const struct sim_options *options,
                 const struct plan_mods *mods)
{
    struct plan *plan = malloc(sizeof(*plan));

    if (!plan)
        _exit(2);
    for (;;) {
        const uint64_t seed = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED);

        if (seed > shared->last || shared->stop || getppid() != shared->parent)
            break;
        worker->busy_seed = seed;
        alarm(REAL_SECONDS_MAX);
        plan_draw(plan, seed);
        plan_apply(plan, mods);
        if (sim_run(plan, mods, options, &worker->log))
            _exit(3);    /* memory of a history that failed is lost: start afresh */
        worker->busy_seed = 0;
        __atomic_fetch_add(&shared->passed, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared->frames, worker->log.frames, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared->bytes, worker->log.bytes, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared->opened, worker->log.opened, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared->virtual_us, worker->log.virtual_us, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared->steps, worker->log.steps, __ATOMIC_RELAXED);
    }
    _exit(0);
}

static pid_t start_worker(struct shared *shared, unsigned i, const struct sim_options *options,
                          const struct plan_mods *mods)
{
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid < 0) {
        perror("tenon-sim: fork");
        exit(2);
    }
    if (pid == 0)
        work(shared, &shared->worker[i], options, mods);
    return pid;
}

struct progress {
    uint64_t first, last, failed;
    uint64_t *seeds;            /* that failed; FAILURES_PRINTED of them */
    time_t printed;
};

static void show_progress(struct progress *progress, const struct shared *shared)
{
    const time_t now = time(NULL);

    if (now == progress->printed || !isatty(2))
        return;
    progress->printed = now;
    fprintf(stderr, "\r%" PRIu64 " of %" PRIu64 " histories, %" PRIu64 " failed ", shared->passed + progress->failed,
            progress->last - progress->first + 1, progress->failed);
}

static void record_failure(struct progress *progress, struct worker *worker, int status)
{
    struct sim_log *log = &worker->log;

    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
        log_death(log, status);
    if (progress->failed < FAILURES_PRINTED) {
        progress->seeds[progress->failed] = worker->busy_seed;
        printf("seed %" PRIu64 " at %.6f s: %s: %s\n", worker->busy_seed, (double)log->at_us / 1e6, log->kind,
               log->text);
        fflush(stdout);
    }
    progress->failed++;
    worker->busy_seed = 0;
}

static void run_workers(struct shared *shared, const struct command *command, const struct plan_mods *mods,
                        struct progress *progress)
{
    const unsigned n = command->jobs;
    pid_t pid[WORKERS_MAX];
    unsigned i, alive = n;

    for (i = 0; i < n; i++)
        pid[i] = start_worker(shared, i, &command->options, mods);
    while (alive > 0) {
        int status;
        const struct timespec nap = {0, 50000000};
        const pid_t ended = waitpid(-1, &status, WNOHANG);

        show_progress(progress, shared);
        if (ended <= 0) {
            nanosleep(&nap, NULL);
            continue;
        }
        for (i = 0; i < n && pid[i] != ended; i++)
            ;
        if (i == n)
            continue;
        if (shared->worker[i].busy_seed == 0) {
            alive--;
            continue;
        }
        record_failure(progress, &shared->worker[i], status);
        if (command->stop)
            shared->stop = 1;
        pid[i] = start_worker(shared, i, &command->options, mods);
    }
}

static int run_seeds(const struct command *command, const struct plan_mods *mods)
{
    const uint64_t first = command->first, last = command->last;
    struct shared *shared = shared_memory(sizeof(*shared));
    uint64_t seeds[FAILURES_PRINTED];
    struct progress progress = {first, last, 0, seeds, 0};
    struct timespec begin, end;
    double seconds;
    unsigned i;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    shared->parent = getpid();
    shared->next = first;
    shared->last = last;
    run_workers(shared, command, mods, &progress);
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    if (isatty(2))
        fprintf(stderr, "\r%60s\r", "");
    printf("%" PRIu64 " connections, %.1f MB, %" PRIu64 " frames, %" PRIu64
           " steps, %.1f h of virtual time in %.1f s\n",
           shared->opened / 2, (double)shared->bytes / 1e6, shared->frames, shared->steps,
           (double)shared->virtual_us / 3.6e9, seconds);
    if (progress.failed > 0) {
        printf("failing seeds:");
        for (i = 0; i < progress.failed && i < FAILURES_PRINTED; i++)
            printf(" %" PRIu64, seeds[i]);
        printf("%s\nlook closer: tenon-sim --shrink %" PRIu64 "\n", progress.failed > FAILURES_PRINTED ? " ..." : "",
               seeds[0]);
    }
    printf("%" PRIu64 " passed, %" PRIu64 " failed\n", shared->passed, progress.failed);
    return progress.failed > 0;
}

/* ---- one history ----------------------------------------------------------------------------- */

static int run_one(uint64_t seed, const struct plan_mods *mods, const struct sim_options *options, int only_plan)
{
    struct sim_log *log = shared_memory(sizeof(*log));
    struct plan *plan = malloc(sizeof(*plan));
    int failed;

    if (!plan)
        return 2;
    plan_draw(plan, seed);
    plan_apply(plan, mods);
    if (only_plan || options->verbose)
        plan_print(plan);
    if (only_plan) {
        free(plan);
        return 0;
    }
    failed = isolated_run(plan, mods, options, log);
    if (failed && !options->verbose)
        plan_print(plan);
    if (failed)
        printf("seed %" PRIu64 " at %.6f s: %s: %s\n", seed, (double)log->at_us / 1e6, log->kind, log->text);
    else
        printf("%" PRIu64 " frames, %" PRIu64 " connections opened, %" PRIu64 " bytes, %.3f s of virtual time, %" PRIu64
               " steps\n",
               log->frames, log->opened / 2, log->bytes, (double)log->virtual_us / 1e6, log->steps);
    printf("%d passed, %d failed\n", !failed, failed);
    free(plan);
    return failed;
}

static void print_short(uint64_t seed, const struct plan_mods *mods, const struct sim_options *options)
{
    struct sim_options verbose = *options;
    unsigned i;

    printf("\nThe short history:\n");
    printf("without:");
    for (i = 0; i < CLASS_COUNT; i++)
        if (mods->class_off[i])
            printf(" %s", plan_class_name(i));
    printf("\n");
    for (i = 0; i < mods->nfates; i++)
        sim_print_fate(mods->fate[i]);
    verbose.verbose = 1;
    run_one(seed, mods, &verbose, 0);
}

static int run_shrink(uint64_t seed, struct plan_mods *mods, const struct sim_options *options, const char *save)
{
    struct sim_log *log = shared_memory(sizeof(*log));

    if (!shrink(seed, options, mods, log)) {
        printf("seed %" PRIu64 " does not fail\n1 passed, 0 failed\n", seed);
        return 0;
    }
    if (save && plan_mods_write(mods, seed, save) != 0) {
        fprintf(stderr, "tenon-sim: cannot write %s: %s\n", save, strerror(errno));
        return 2;
    }
    print_short(seed, mods, options);
    return 1;
}

/* ---- the simulator itself -------------------------------------------------------------------- */

enum { SELFTEST_SEEDS = 60 };

/* The first seed in which a bug is found is shrunk: one or two sessions must be enough to show it. */
static int selftest_bug(enum sim_bug bug)
{
    const struct sim_options with = {.bug = bug}, without = {.bug = BUG_NONE};
    static const struct plan_mods none;
    struct sim_log *log = shared_memory(sizeof(*log));
    struct plan_mods *mods = calloc(1, sizeof(*mods));
    struct plan *plan = malloc(sizeof(*plan));
    unsigned sessions;
    uint64_t seed;
    int good = 0;

    if (!mods || !plan)
        return 0;
    for (seed = 1; seed <= SELFTEST_SEEDS; seed++) {
        plan_draw(plan, seed);
        if (!isolated_run(plan, &none, &without, log) && isolated_run(plan, &none, &with, log))
            break;
    }
    if (seed > SELFTEST_SEEDS) {
        printf("%s: not found in %d seeds\n", bug_names[bug], (int)SELFTEST_SEEDS);
    } else {
        shrink(seed, &with, mods, log);
        sessions = shrink_sessions_left(seed, mods);
        good = log->failed && sessions <= 2;
        printf("%s: found with seed %" PRIu64 " (%s: %s), shrunk to %u sessions and %u single faults%s\n",
               bug_names[bug], seed, log->kind, log->text, sessions, mods->nfates, good ? "" : ": too many");
    }
    free(mods);
    free(plan);
    return good;
}

static int selftest(void)
{
    unsigned bug, good = 0;

    for (bug = BUG_NONE + 1; bug < BUG_COUNT; bug++)
        good += (unsigned)selftest_bug((enum sim_bug)bug);
    printf("%u passed, %u failed\n", good, BUG_COUNT - 1 - good);
    return good != BUG_COUNT - 1;
}

/* ---- the command line ------------------------------------------------------------------------ */

static int bad_use(const char *what, const char *value)
{
    fprintf(stderr, "tenon-sim: %s%s%s\nTry tenon-sim --help.\n", what, value ? ": " : "", value ? value : "");
    return -1;
}

static int parse_seeds(struct command *command, const char *text)
{
    if (!range_read(text, &command->first, &command->last))
        return bad_use("--seeds wants A..B with 1 <= A <= B, not", text);
    return 0;
}

static int parse_number(uint64_t *value, const char *option, const char *text)
{
    const char *end = range_number(text, value);

    if (end == NULL || *end != '\0')
        return bad_use(option, text);
    return 0;
}

static int parse_bug(struct command *command, const char *name)
{
    unsigned i;

    for (i = 0; i < BUG_COUNT; i++) {
        if (strcmp(name, bug_names[i]) == 0) {
            command->options.bug = (enum sim_bug)i;
            return 0;
        }
    }
    return bad_use("no such bug", name);
}

static int parse_class(struct plan_mods *mods, const char *name)
{
    unsigned i;

    for (i = 0; i < CLASS_COUNT; i++) {
        if (strcmp(name, plan_class_name(i)) == 0) {
            mods->class_off[i] = 1;
            return 0;
        }
    }
    return bad_use("no such kind of trouble", name);
}

/* Options with a value. */
static int parse_valued(struct command *command, struct plan_mods *mods, const char *option, const char *value)
{
    uint64_t n = 0;

    if (strcmp(option, "--seeds") == 0)
        return parse_seeds(command, value);
    if (strcmp(option, "--seed") == 0) {
        command->one = 1;
        return parse_number(&command->first, "--seed wants a number from 1, not", value);
    }
    if (strcmp(option, "--shrink") == 0)
        return parse_number(&command->shrink, "--shrink wants a seed, not", value);
    if (strcmp(option, "-j") == 0) {
        if (parse_number(&n, "-j wants a number, not", value) != 0)
            return -1;
        command->jobs = n > WORKERS_MAX ? (unsigned)WORKERS_MAX : (unsigned)n;
        return 0;
    }
    if (strcmp(option, "--without") == 0)
        return parse_class(mods, value);
    if (strcmp(option, "--bug") == 0)
        return parse_bug(command, value);
    if (strcmp(option, "--save") == 0)
        command->save = value;
    else if (strcmp(option, "--replay") == 0)
        command->replay = value;
    else
        return bad_use("unknown option", option);
    return 0;
}

static void print_kinds(void)
{
    unsigned i;

    for (i = 0; i < CLASS_COUNT; i++)
        puts(plan_class_name(i));
}

/* @return 0: go on; 1: end well; -1: bad use */
static int parse(struct command *command, struct plan_mods *mods, int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 1;
        }
        if (strcmp(argv[i], "--help-kinds") == 0) {
            print_kinds();
            return 1;
        }
        if (strcmp(argv[i], "--verbose") == 0)
            command->options.verbose = 1;
        else if (strcmp(argv[i], "--plan") == 0)
            command->plan = 1;
        else if (strcmp(argv[i], "--selftest") == 0)
            command->selftest = 1;
        else if (strcmp(argv[i], "--stop") == 0)
            command->stop = 1;
        else if (argv[i][0] != '-')
            return bad_use("what is this", argv[i]);
        else if (i + 1 == argc)
            return bad_use("unknown option, or one that wants a value", argv[i]);
        else if (parse_valued(command, mods, argv[i], argv[i + 1]) != 0)
            return -1;
        else
            i++;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct command command = {.first = 1, .last = 200};
    static struct plan_mods mods;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    int result;

    command.jobs = cpus > 0 && cpus < WORKERS_MAX ? (unsigned)cpus : 1;
    result = parse(&command, &mods, argc, argv);
    if (result != 0)
        return result < 0 ? 2 : 0;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (command.replay && plan_mods_read(&mods, &command.first, command.replay) != 0) {
        fprintf(stderr, "tenon-sim: %s cannot be read\n", command.replay);
        return 2;
    }
    if (command.selftest)
        result = selftest();
    else if (command.shrink)
        result = run_shrink(command.shrink, &mods, &command.options, command.save);
    else if (command.one || command.replay || command.plan)
        result = run_one(command.first, &mods, &command.options, command.plan);
    else
        result = run_seeds(&command, &mods);
    return result;
}
