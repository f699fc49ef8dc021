/* SPDX-License-Identifier: MIT */
/* The timer wheel against a model that looks at every timer. */
#include "unit.h"
#include "base/seq.h"
#include "base/wheel.h"

enum { TIMERS = 200 };

enum timer_expect {
    STOPPED,
    RUNNING,
    LATE       /* started during an advance at a tick that had passed: fires at the next one, not now */
};

static struct world {
    struct tn_wheel wheel;
    struct tn_timer timers[TIMERS];
    enum timer_expect expect[TIMERS];
    tenon_u32 now;              /* what advance was called with */
    int in_advance;
    unsigned fired;
    tenon_u32 last_when;        /* of the last one that fired and was not late */
    unsigned long seed;
    unsigned chaos;             /* what fire() does to others, per cent */
} w;

static void world_init(unsigned long seed, unsigned chaos, tenon_u32 now)
{
    memset(&w, 0, sizeof(w));
    w.seed = seed;
    w.chaos = chaos;
    tn_wheel_init(&w.wheel);
    w.wheel.now = w.wheel.next = w.now = now;
}

/* Distances of all sizes: how many bits first, then the bits; now and then the past. */
static tenon_u32 any_distance(void)
{
    const unsigned bits = (unsigned)(unit_random(&w.seed) % 32);    /* at most 31 */
    const tenon_u32 distance = (tenon_u32)(unit_random(&w.seed) & (((tenon_u32)1 << bits) - 1));

    return unit_random(&w.seed) % 16 == 0 ? (tenon_u32)0 - distance % 100000UL : distance;
}

static void start(unsigned i, tenon_u32 when)
{
    tn_timer_start(&w.wheel, &w.timers[i], when);
    w.expect[i] = w.in_advance && tn_seq_le(when, w.now) ? LATE : RUNNING;
}

static void stop(unsigned i)
{
    tn_timer_stop(&w.wheel, &w.timers[i]);
    w.expect[i] = STOPPED;
}

static void fire(void *ctx, struct tn_timer *timer)
{
    const unsigned i = (unsigned)(timer - w.timers);

    CHECK(ctx == &w);
    CHECK(w.in_advance);
    CHECK(!tn_timer_runs(timer));
    CHECK_EQ_U(w.expect[i], RUNNING);
    CHECK(tn_seq_le(timer->when, w.now));    /* never early */
    CHECK_EQ_U(w.wheel.now, w.now);
    w.expect[i] = STOPPED;
    w.fired++;
    while (unit_random(&w.seed) % 100 < w.chaos) {
        const unsigned other = (unsigned)(unit_random(&w.seed) % TIMERS);

        if (unit_random(&w.seed) % 2 == 0)
            stop(other);
        else
            start(other, w.now + any_distance());
    }
}

static void advance(tenon_u32 now)
{
    unsigned i;

    for (i = 0; i < TIMERS; i++) {
        if (w.expect[i] == LATE)
            w.expect[i] = RUNNING;
    }
    w.now = now;
    w.in_advance = 1;
    tn_wheel_advance(&w.wheel, now, fire, &w);
    w.in_advance = 0;
    CHECK_EQ_U(w.wheel.now, now);
    for (i = 0; i < TIMERS; i++) {
        CHECK_EQ_I(tn_timer_runs(&w.timers[i]), w.expect[i] != STOPPED);
        if (w.expect[i] == RUNNING)
            CHECK(tn_seq_gt(w.timers[i].when, now));    /* nobody was forgotten */
    }
}

/* Ticks to the next expiry, by looking at all. */
static tenon_u32 model_next(void)
{
    tenon_u32 least = 0xFFFFFFFFUL;
    unsigned i;

    for (i = 0; i < TIMERS; i++) {
        if (w.expect[i] == STOPPED)
            continue;
        least = tn_min(least, tn_seq_le(w.timers[i].when, w.now) ? 0 : w.timers[i].when - w.now);
    }
    return least;
}

static void check_next(void)
{
    const tenon_u32 expiry = model_next(), next = tn_wheel_next(&w.wheel);

    CHECK(next <= expiry);
    CHECK((next == 0xFFFFFFFFUL) == (expiry == 0xFFFFFFFFUL));
    CHECK((next == 0) == (expiry == 0));
}

static void run_random(unsigned long seed, unsigned chaos, unsigned steps, unsigned step_bits_max)
{
    unsigned step;
    unsigned long turns = 0;    /* 2^16 ticks that have passed */

    world_init(seed, chaos, (tenon_u32)(seed * 0x9E3779B9UL & 0xFFFFFFFFUL));
    for (step = 0; step < steps; step++) {
        const unsigned bits = (unsigned)(unit_random(&w.seed) % (step_bits_max + 1));
        const tenon_u32 jump = (tenon_u32)(unit_random(&w.seed) & (((tenon_u32)1 << bits) - 1));
        const unsigned i = (unsigned)(unit_random(&w.seed) % TIMERS);

        if (unit_random(&w.seed) % 4 == 0)
            stop(i);
        else
            start(i, w.now + any_distance());
        check_next();
        if (unit_random(&w.seed) % 3 == 0) {
            advance(w.now + jump);
            turns += jump >> 16;
            check_next();
        }
    }
    CHECK(w.fired > steps / 20);
    if (step_bits_max >= 30)
        CHECK(turns > 0x20000UL);    /* the clock went round more than twice */
}

UNIT_TEST(random_small_steps)
{
    run_random(1, 0, 20000, 6);
}

UNIT_TEST(random_steps_of_every_size)
{
    run_random(2, 0, 20000, 31);
}

UNIT_TEST(random_steps_fire_starts_and_stops_others)
{
    run_random(3, 60, 20000, 31);
    run_random(4, 60, 20000, 12);
}

/* Every tick is visited: each timer fires exactly at its own. */
static void fire_exactly(void *ctx, struct tn_timer *timer)
{
    CHECK_EQ_U(timer->when, *(const tenon_u32 *)ctx);
    w.fired++;
}

UNIT_TEST(every_tick_visited_fires_on_the_tick)
{
    static const tenon_u32 starts[] = { 0, 1, 31, 0xFFFFFFFFUL - 500, 0x3FFFFFF0UL, 0x7FFFFFF0UL };
    tenon_u32 now;
    unsigned s, i;

    for (s = 0; s < TENON_ARRAY_LEN(starts); s++) {
        world_init(9, 0, starts[s]);
        for (i = 0; i < TIMERS; i++)
            tn_timer_start(&w.wheel, &w.timers[i], starts[s] + 1 + (tenon_u32)(unit_random(&w.seed) % 3000));
        for (now = starts[s]; now != starts[s] + 3001; now++)
            tn_wheel_advance(&w.wheel, now, fire_exactly, &now);
        CHECK_EQ_U(w.fired, TIMERS);
    }
}

/* A sleeper that follows tn_wheel_next() exactly wakes on the tick, and not much more often than needed. */
UNIT_TEST(next_followed_fires_on_the_tick)
{
    static const tenon_u32 distances[] = {
        1, 31, 32, 33, 1023, 1024, 1025, 32767, 32768UL, 1048575UL, 1048576UL, 33554431UL, 33554432UL,
        0x3DFFFFFFUL, 0x3E000000UL, 0x3E000001UL, 0x3FFFFFFFUL, 0x40000000UL, 0x7FFFFFFFUL
    };
    static const tenon_u32 starts[] = { 0, 7, 0x1FFFFFFUL, 0x3FFFFFFFUL, 0xFFFFFFF0UL };
    unsigned s, d, wakes;

    for (s = 0; s < TENON_ARRAY_LEN(starts); s++) {
        for (d = 0; d < TENON_ARRAY_LEN(distances); d++) {
            tenon_u32 now = starts[s];

            world_init(1, 0, now);
            tn_timer_start(&w.wheel, &w.timers[0], now + distances[d]);
            for (wakes = 0; wakes < 10 && w.fired == 0; wakes++) {
                now += tn_wheel_next(&w.wheel);
                tn_wheel_advance(&w.wheel, now, fire_exactly, &now);
            }
            CHECK_EQ_U(w.fired, 1);
            CHECK(wakes <= 3);
            CHECK_EQ_U(tn_wheel_next(&w.wheel), 0xFFFFFFFFUL);
        }
    }
}

UNIT_TEST(next_many_in_one_slot_is_never_late)
{
    unsigned i, wakes = 0;
    tenon_u32 now = 100;

    world_init(1, 0, now);
    for (i = 0; i < TIMERS; i++)
        tn_timer_start(&w.wheel, &w.timers[i], 5000000UL + TIMERS - i);
    while (w.fired < TIMERS && wakes < 3 * TIMERS) {
        now += tn_wheel_next(&w.wheel);
        tn_wheel_advance(&w.wheel, now, fire_exactly, &now);
        wakes++;
    }
    CHECK_EQ_U(w.fired, TIMERS);
    CHECK(wakes < TIMERS + 20);
}

UNIT_TEST(past_start_fires_at_next_advance)
{
    world_init(1, 0, 1000);
    start(0, 1000);
    start(1, 0);
    start(2, (tenon_u32)1000 - 0x7FFFFFFF);
    CHECK_EQ_U(tn_wheel_next(&w.wheel), 0);
    advance(1000);
    CHECK_EQ_U(w.fired, 3);
    CHECK_EQ_U(tn_wheel_next(&w.wheel), 0xFFFFFFFFUL);
}

UNIT_TEST(clock_going_back_fires_only_what_is_due)
{
    tenon_u32 now = 1000;

    world_init(1, 0, now);
    tn_timer_start(&w.wheel, &w.timers[0], 1000);
    tn_timer_start(&w.wheel, &w.timers[1], 1001);
    tn_wheel_advance(&w.wheel, 900, fire_exactly, &now);
    CHECK_EQ_U(w.fired, 1);
    CHECK_EQ_U(w.wheel.now, 1000);
    CHECK(tn_timer_runs(&w.timers[1]));
}

UNIT_TEST(restart_moves_and_stop_twice_is_harmless)
{
    world_init(1, 0, 50);
    stop(0);
    start(0, 60);
    start(0, 5000);
    start(1, 60);
    stop(1);
    stop(1);
    advance(100);
    CHECK_EQ_U(w.fired, 0);
    CHECK_EQ_U(tn_wheel_next(&w.wheel), 4900);
    advance(5000);
    CHECK_EQ_U(w.fired, 1);
}

/* The first of a batch stops the second, and restarts the third for later. */
static void fire_first_of_batch(void *ctx, struct tn_timer *timer)
{
    (void)ctx;
    w.fired++;
    if (timer != &w.timers[0])
        return;
    tn_timer_stop(&w.wheel, &w.timers[1]);
    tn_timer_start(&w.wheel, &w.timers[2], 500);
    tn_timer_start(&w.wheel, &w.timers[0], 1);
}

UNIT_TEST(fire_stops_others_of_its_batch)
{
    world_init(1, 0, 0);
    tn_timer_start(&w.wheel, &w.timers[0], 10);
    tn_timer_start(&w.wheel, &w.timers[1], 20);
    tn_timer_start(&w.wheel, &w.timers[2], 30);
    tn_wheel_advance(&w.wheel, 100, fire_first_of_batch, NULL);
    CHECK_EQ_U(w.fired, 1);
    CHECK(tn_timer_runs(&w.timers[0]));
    CHECK(!tn_timer_runs(&w.timers[1]));
    CHECK(tn_timer_runs(&w.timers[2]));
    CHECK_EQ_U(tn_wheel_next(&w.wheel), 0);
    tn_timer_stop(&w.wheel, &w.timers[0]);
    CHECK_EQ_U(tn_wheel_next(&w.wheel), 400);
}

/* In order of their ticks, also when the clock jumps over all of them. */
static void fire_in_order(void *ctx, struct tn_timer *timer)
{
    (void)ctx;
    CHECK(w.fired == 0 || tn_seq_le(w.last_when, timer->when));
    w.last_when = timer->when;
    w.fired++;
}

UNIT_TEST(jump_fires_in_order)
{
    unsigned i;

    world_init(77, 0, 0xF0000000UL);
    for (i = 0; i < TIMERS; i++)
        tn_timer_start(&w.wheel, &w.timers[i], w.now + 1 + (tenon_u32)(unit_random(&w.seed) >> (2 + i % 20)));
    tn_wheel_advance(&w.wheel, w.now + 0x7FFFFFFFUL, fire_in_order, NULL);
    CHECK_EQ_U(w.fired, TIMERS);
}

int main(void)
{
    UNIT_RUN(random_small_steps);
    UNIT_RUN(random_steps_of_every_size);
    UNIT_RUN(random_steps_fire_starts_and_stops_others);
    UNIT_RUN(every_tick_visited_fires_on_the_tick);
    UNIT_RUN(next_followed_fires_on_the_tick);
    UNIT_RUN(next_many_in_one_slot_is_never_late);
    UNIT_RUN(past_start_fires_at_next_advance);
    UNIT_RUN(clock_going_back_fires_only_what_is_due);
    UNIT_RUN(restart_moves_and_stop_twice_is_harmless);
    UNIT_RUN(fire_stops_others_of_its_batch);
    UNIT_RUN(jump_fires_in_order);
    return unit_end();
}
