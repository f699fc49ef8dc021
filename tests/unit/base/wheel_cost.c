/* SPDX-License-Identifier: MIT */
/* What a timer costs does not depend on how many others run (RES-11): a thousand times as many may cost a few times as
 * much, because they do not fit into the caches, and not a thousand times. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wheel.h"
#include "unit.h"

enum { FEW = 200, MANY = 200000, ROUNDS = 400000, SLOWER_MAX = 60 };

static void fire(void *ctx, struct tn_timer *timer)
{
    (void)ctx;
    (void)timer;
}

static struct tn_timer *crowd(struct tn_wheel *wheel, unsigned n)
{
    struct tn_timer *timers = calloc(n + 1U, sizeof *timers);

    if (timers == NULL)
        abort();
    tn_wheel_init(wheel);
    for (unsigned i = 0; i < n; i++)
        tn_timer_start(wheel, &timers[i], 20000000UL + i % 7);
    return timers;
}

static double seconds_since(clock_t began)
{
    return (double)(clock() - began) / CLOCKS_PER_SEC;
}

/* Starting and stopping one timer, over and over, beside n others in the same slots. */
static double cost_of_restart(unsigned n)
{
    struct tn_wheel wheel;
    struct tn_timer *timers = crowd(&wheel, n);
    const clock_t began = clock();

    for (unsigned i = 0; i < ROUNDS; i++) {
        tn_timer_start(&wheel, &timers[n], 20000000UL + i % 7);
        tn_timer_stop(&wheel, &timers[n]);
    }
    free(timers);
    return seconds_since(began);
}

/* Time that passes while n timers wait. */
static double cost_of_waiting(unsigned n)
{
    struct tn_wheel wheel;
    struct tn_timer *timers = crowd(&wheel, n);
    const clock_t began = clock();

    for (tenon_u32 now = 0; now < ROUNDS; now++)
        tn_wheel_advance(&wheel, now, fire, NULL);
    free(timers);
    return seconds_since(began);
}

/* covers: RES-11 */
UNIT_TEST(restart_beside_many)
{
    CHECK(cost_of_restart(MANY) < SLOWER_MAX * (cost_of_restart(FEW) + 0.001));
}

UNIT_TEST(wait_of_many)
{
    CHECK(cost_of_waiting(MANY) < SLOWER_MAX * (cost_of_waiting(FEW) + 0.001));
}

int main(void)
{
    UNIT_RUN(restart_beside_many);
    UNIT_RUN(wait_of_many);
    return unit_end();
}
