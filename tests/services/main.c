/* SPDX-License-Identifier: MIT */
/* tenon-service-sim: see docs/simulator.md. */
#include "history.h"

#include "tests/seeds/seeds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum count { LEASES, NAMES_TOLD, TIMES_TOLD, FILES_TOLD, FRAMES, BENT, FORGED };

static void run(uint64_t seed, int verbose, uint64_t counts[SEEDS_COUNTS])
{
    struct history *h = calloc(1, sizeof(*h));

    if (h == NULL)
        abort();
    h->verbose = verbose;
    plan_draw(&h->plan, seed);
    history_run(h);
    counts[LEASES] = h->leases;
    counts[NAMES_TOLD] = h->names;
    counts[TIMES_TOLD] = h->times;
    counts[FILES_TOLD] = h->files;
    counts[FRAMES] = h->frames;
    counts[BENT] = h->bent;
    counts[FORGED] = h->forged;
    free(h);
}

static void print_plan(uint64_t seed)
{
    struct plan plan;

    plan_draw(&plan, seed);
    plan_print(&plan);
}

static void print_counts(const uint64_t counts[SEEDS_COUNTS])
{
    printf("%" PRIu64 " leases, %" PRIu64 " names, %" PRIu64 " times and %" PRIu64 " files told, %" PRIu64
           " frames sent, %" PRIu64 " answers wrong, %" PRIu64 " forged\n",
           counts[LEASES], counts[NAMES_TOLD], counts[TIMES_TOLD], counts[FILES_TOLD], counts[FRAMES], counts[BENT],
           counts[FORGED]);
}

int main(int argc, char **argv)
{
    static const struct seeds program = {
        .name = "tenon-service-sim",
        .text =
            "Runs the services (services/) on small machines, with servers that are silent, forget, refuse and err, "
            "over\na wire with faults.\n",
        .run = run,
        .print_plan = print_plan,
        .print_counts = print_counts
    };

    return seeds_main(&program, argc, argv);
}
