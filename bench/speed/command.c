/* SPDX-License-Identifier: MIT */
/* The subcommand of the program tenon: how fast this build is, beside a floor that no stack gets below. */
#include "harness.h"
#include "ports.h"

#include <argp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

int cmd_bench(int argc, char **argv);    /* as apps/cli/cli.h says */

extern const struct speed_driver speed_tenon, speed_floor;

enum { WORDS_MAX = 32, GOOD = 0, FAILED = 1, USAGE = 2 };

struct arguments {
    char *words[WORDS_MAX];
    int nwords;
    const char *ports[2];
    int nports;
    int json, list;
};

static const struct argp_option options[] = {
    { "json", 'j', NULL, 0, "print lines of JSON", 0 },
    { "list", 'l', NULL, 0, "name the workloads and end", 0 },
    { "port", 'p', "KIND:NAME", 0, "on ports instead of the wire: twice, the server's end first; or a kind that makes "
                                   "a cable by itself (dpdk: two net_ring)",
      0 },
    { NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *arguments = state->input;

    switch (key) {
    case 'j': arguments->json = 1; return 0;
    case 'l': arguments->list = 1; return 0;
    case 'p':
        if (arguments->nports == 2)
            argp_error(state, "a cable has two ends");
        arguments->ports[arguments->nports++] = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (arguments->nwords == WORDS_MAX)
            argp_error(state, "too many settings");
        arguments->words[arguments->nwords++] = arg;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "[WORKLOAD [KEY=VALUE...]]",
    "Measure how fast this build of Tenon is: two instances in one thread, on a wire in memory."
    "\vWithout a workload: some that matter. docs/guide/bench.md explains the settings.\n"
    "Examples:\n"
    "  tenon bench\n"
    "  tenon bench ping-pong connections=32 csum=0\n"
    "  tenon bench bulk message=65536 mtu=9000\n"
    "  tenon bench ping-pong connections=32 csum=0 --port dpdk",
    NULL,
    NULL,
    NULL
};

/* ---- the end by a signal ---------------------------------------------------------------------------- */

/* Ports leave things behind if they are not closed: sockets, programs in the kernel. So a signal is noted, and what is
 * measured ends before its next turns, wherever it is. */
static volatile sig_atomic_t signalled;
static const struct speed_driver *measured;
static jmp_buf ended;

static void note_signal(int number)
{
    signalled = number;
}

static void run_or_end(unsigned long turns)
{
    if (signalled)
        longjmp(ended, 1);
    measured->run(turns);
}

/* The second signal is not noted any more. */
static void note_signals(void)
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = note_signal;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void end_by_signal(void)
{
    if (signalled == 0)
        return;
    signal(signalled, SIG_DFL);
    raise(signalled);
}

/* ---- what is measured ------------------------------------------------------------------------------- */

static void print_value(const struct speed_run *run)
{
    if (strcmp(run->unit, "byte") == 0)
        printf(" %8.2f Gbit/s", 8 / run->ns);
    else
        printf(" %8.1f ns", run->ns);
    if (run->efficiency > 0)
        printf(", %.0f %% of %u times one", 100 * run->efficiency, run->cores);
}

/* One workload for one stack. @return its time for each unit; 0: it has no such workload, negative: it failed; then
 * `why` is the reason, if it is known */
static double bench_one(const struct arguments *arguments, const struct speed_driver *driver, int n, char *const *words,
                        const char **why)
{
    struct speed_driver endable = *driver;    /* its turns; with one for IPv6 of its own there are no ports */
    struct speed_run run;
    int status;

    *why = "something went wrong";
    speed_prepare(&run, words[0], n - 1, words + 1);
    measured = driver;
    endable.run = run_or_end;
    run.driver = &endable;
    run.quiet = !arguments->json;
    if (setjmp(ended) != 0) {
        driver->close();
        return -1;
    }
    status = speed_do(&run);
    driver->close();
    if (run.missing)
        *why = run.missing;
    if (status == 3)
        return 0;
    if (status != 0)
        return -1;
    if (!arguments->json)
        print_value(&run);
    return run.ns;
}

static void print_words(int n, char *const *words)
{
    int i, width = 0;

    for (i = 0; i < n; i++)
        width += printf("%s%s", i ? " " : "", words[i]);
    printf("%*s", width < 44 ? 44 - width : 1, "");
    fflush(stdout);
}

/* Without Tenon's number there is none beside which another would say something. */
static int say_failed(const struct arguments *arguments, const char *why)
{
    if (!arguments->json)
        printf("%s\n", why);
    return FAILED;
}

/* On the ports; and what it takes on the wire, for comparison. */
static int bench_ports(const struct arguments *arguments, int n, char *const *words)
{
    char error[600];
    const char *why, *ignored;
    double own, wire;

    if (speed_ports_open(arguments->ports, error, sizeof error) != 0) {
        fprintf(stderr, "tenon bench: %s\n", error);
        return FAILED;
    }
    own = bench_one(arguments, &speed_tenon, n, words, &why);
    speed_ports_close();
    if (own <= 0)
        return say_failed(arguments, why);
    wire = bench_one(arguments, &speed_tenon, n, words, &ignored);
    if (!arguments->json && wire > 0)
        printf("  on the wire; the ports take %.2f times as long", own / wire);
    if (!arguments->json)
        printf("\n");
    return wire > 0 ? GOOD : FAILED;
}

static int bench_floor(const struct arguments *arguments, int n, char *const *words)
{
    const char *why, *ignored;
    double own, floor;

    own = bench_one(arguments, &speed_tenon, n, words, &why);
    if (own <= 0)
        return say_failed(arguments, why);
    floor = bench_one(arguments, &speed_floor, n, words, &ignored);
    if (!arguments->json && floor > 0)
        printf("  floor; Tenon takes %.1f times as long", own / floor);
    if (!arguments->json)
        printf("\n");
    return floor >= 0 ? GOOD : FAILED;
}

static int bench_both(const struct arguments *arguments, int n, char *const *words)
{
    struct speed_run run;
    const char *bad = speed_prepare(&run, words[0], n - 1, words + 1);
    char error[600];

    if (bad) {
        fprintf(stderr, "tenon bench: %s; \"tenon bench --list\" names the workloads\n", bad);
        return USAGE;
    }
    if (arguments->nports > 0 && speed_ports_check(arguments->ports, error, sizeof error) != 0) {
        fprintf(stderr, "tenon bench: --port: %s\n", error);
        return USAGE;
    }
    if (!arguments->json)
        print_words(n, words);
    return (arguments->nports > 0 ? bench_ports : bench_floor)(arguments, n, words);
}

static int bench_some(const struct arguments *arguments)
{
    static char ping[] = "ping-pong", bulk[] = "bulk", open_close[] = "connect", udp[] = "udp-ping";
    static char many[] = "connections=32", sums[] = "csum=0", large[] = "message=16384", small[] = "message=64";
    static char window[] = "window=65536";
    char *const all[][4] = { { ping, many, NULL, NULL }, { ping, many, sums, NULL }, { bulk, large, window, NULL },
        { bulk, large, window, sums }, { bulk, small, window, NULL }, { open_close, many, NULL, NULL },
        { udp, many, NULL, NULL } };
    size_t i;
    int n, status = GOOD;

    for (i = 0; i < sizeof all / sizeof *all && status == GOOD; i++) {
        for (n = 0; n < 4 && all[i][n]; n++)
            ;
        status = bench_both(arguments, n, all[i]);
    }
    return status;
}

int cmd_bench(int argc, char **argv)
{
    const struct speed_workload *workload;
    struct arguments arguments;
    int status;

    memset(&arguments, 0, sizeof arguments);
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (arguments.list) {
        for (workload = speed_workloads; workload->name; workload++)
            printf("%-12s %s\n", workload->name, workload->text);
        return GOOD;
    }
    if (arguments.nports > 0)
        note_signals();
    status = arguments.nwords ? bench_both(&arguments, arguments.nwords, arguments.words) : bench_some(&arguments);
    end_by_signal();
    return status;
}
