/* SPDX-License-Identifier: MIT */
/* The clock of an instance: microseconds that go round become ticks that do not, however long nothing is due. */
#include "core.h"
#include "harness.h"

enum { HOURS = 5, SECOND_US = 1000000 };

#define LONGEST_US 1800000000UL    /* tenon_poll() asks to be called that often */

/* Where the clock should stand so many microseconds after the first poll, which hn_open() has made. */
static tenon_u32 ticks_after(unsigned long long us)
{
    return (tenon_u32)(us >> TN_TICK_SHIFT);
}

/* The wheel is not turned for each poll that finds nothing due; after two seconds it is. */
static void nothing_due_wheel_stands(void)
{
    static struct hn hn;
    tenon_u32 stands;

    hn_open(&hn, NULL);
    stands = hn.stack->wheel.now;
    for (unsigned k = 1; k <= 20; k++) {
        hn.now_us += SECOND_US / 10;
        HN_EQUAL(tenon_poll(hn.stack, hn.now_us), LONGEST_US);
        HN_EQUAL(hn.stack->now_tick, ticks_after(k * (SECOND_US / 10ULL)));
        HN_EQUAL(hn.stack->wheel.now, TENON_WITH_MANY ? stands : hn.stack->now_tick);
    }
    hn.now_us += SECOND_US;
    (void)tenon_poll(hn.stack, hn.now_us);
    HN_EQUAL(hn.stack->wheel.now, hn.stack->now_tick);
    HN_EQUAL(hn.stack->wheel.now, ticks_after(3ULL * SECOND_US));
    hn_close(&hn);
}

/* Microseconds go round every 71 minutes, on the way from one poll to the next as well. */
static void nothing_due_for_hours(void)
{
    static const tenon_u32 steps[] = { LONGEST_US, 60 * SECOND_US, SECOND_US, 4200UL * SECOND_US };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(steps); i++) {
        static struct hn hn;
        unsigned long long us = 0;

        hn_open(&hn, NULL);
        while (us < HOURS * 3600ULL * SECOND_US && hn_failures == 0) {
            us += steps[i];
            hn.now_us += steps[i];
            HN_EQUAL(tenon_poll(hn.stack, hn.now_us), LONGEST_US);
            HN_EQUAL(hn.stack->now_tick, ticks_after(us));
            HN_EQUAL(hn.stack->now_ms, (tenon_u32)(us / 1000));
        }
        hn_close(&hn);
    }
}

/* How long poll asks to be left alone is reckoned from now, also where the wheel has stood for a second and more. */
static void wheel_stands_timer_is_waited_for(void)
{
    static const tenon_u32 ahead[] = { 1, 2, 1000, (LONGEST_US >> TN_TICK_SHIFT) - 5000, LONGEST_US >> TN_TICK_SHIFT,
                                       (LONGEST_US >> TN_TICK_SHIFT) + 5000 };
    const tenon_u32 elapsed_us = 3 * SECOND_US / 2 + 77, in_tick_us = elapsed_us % (1UL << TN_TICK_SHIFT);

    for (unsigned i = 0; i < TENON_ARRAY_LEN(ahead); i++) {
        static struct tn_timer timer;
        static struct hn hn;
        tenon_u32 wait_us;

        hn_open(&hn, NULL);
        hn.now_us += elapsed_us;
        (void)tenon_poll(hn.stack, hn.now_us);
        memset(&timer, 0, sizeof timer);
        tn_timer_start(&hn.stack->wheel, &timer, hn.stack->now_tick + ahead[i]);
        wait_us = (ahead[i] << TN_TICK_SHIFT) - in_tick_us;
        HN_EQUAL(tenon_poll(hn.stack, hn.now_us), wait_us < LONGEST_US ? wait_us : LONGEST_US);
        tn_timer_stop(&hn.stack->wheel, &timer);
        hn_close(&hn);
    }
}

static const struct hn_test tests[] = {
    { "wheel_stands_timer_is_waited_for", "", wheel_stands_timer_is_waited_for },
    { "nothing_due_wheel_stands", "", nothing_due_wheel_stands },
    { "nothing_due_for_hours", "", nothing_due_for_hours },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
