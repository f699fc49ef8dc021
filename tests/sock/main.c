/* SPDX-License-Identifier: MIT */
/* tenon-sock-sim: see docs/simulator.md. */
#include "history.h"

#include "tests/seeds/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum count { OPENED, BYTES, SENT_BACK, FRAMES, CALLS, ERRORS };

static void run(uint64_t seed, int verbose, uint64_t counts[SEEDS_COUNTS])
{
    struct history *h = calloc(1, sizeof(*h));

    if (h == NULL)
        abort();
    h->verbose = verbose;
    plan_draw(&h->plan, seed);
    history_run(h);
    counts[OPENED] = h->opened;
    counts[BYTES] = h->bytes;
    counts[SENT_BACK] = h->sent_back;
    counts[FRAMES] = h->frames;
    counts[CALLS] = h->calls;
    counts[ERRORS] = h->errors;
    free(h);
}

static void print_plan(uint64_t seed)
{
    struct plan plan;

    memset(&plan, 0, sizeof(plan));
    plan_draw(&plan, seed);
    plan_print(&plan);
}

static void print_counts(const uint64_t counts[SEEDS_COUNTS])
{
    printf("%" PRIu64 " connections, %.1f MB, %.1f MB sent back, %" PRIu64 " frames sent, %" PRIu64 " calls, %" PRIu64
           " refused or wrong on purpose\n",
           counts[OPENED], (double)counts[BYTES] / 1e6, (double)counts[SENT_BACK] / 1e6, counts[FRAMES], counts[CALLS],
           counts[ERRORS]);
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
    static const struct seeds program = {
        .name = "tenon-sock-sim",
        .text = "Runs the calls for small machines (embedded/) against the core, over a wire with faults, short of "
                "memory.\n",
        .run = run,
        .print_plan = print_plan,
        .print_counts = print_counts
    };

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
    return seeds_main(&program, argc, argv);
}
