/* SPDX-License-Identifier: MIT */
/* The simulator (docs/simulator.md), driven by an input instead of a seed: its bytes decide on the plan, and what is
 * left of them on the fate of each frame and of each request for memory. All checks are the simulator's. */
#include "fuzz.h"

#include "tests/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A history must be short enough for many of them: in the same time, six sessions cover more than twelve. */
enum { SESSIONS_MAX = 6, BYTES_MAX = 30000 };

int fuzz_verbose;    /* world.c, which has it for the others, is not part of this target */

/* main.c and shrink.c of the simulator stay away. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct plan_mods mods;
    static struct sim_log log;
    struct plan_bytes given = { data, size };
    struct sim_options options;
    struct plan *plan = malloc(sizeof(*plan));

    if (!plan)
        abort();
    memset(&mods, 0, sizeof(mods));
    memset(&options, 0, sizeof(options));
    mods.bytes_max = BYTES_MAX;
    options.given = &given;
    options.dies = 1;
    options.verbose = fuzz_verbose;
    plan_draw_given(plan, 1 + plan_byte(&given), &given);
    if (plan->nsessions > SESSIONS_MAX)
        plan->nsessions = SESSIONS_MAX;
    plan_apply(plan, &mods);
    if (fuzz_verbose)
        plan_print(plan);
    (void)sim_run(plan, &mods, &options, &log);
    free(plan);
    return 0;
}
