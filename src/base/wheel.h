/* SPDX-License-Identifier: MIT */
/* A hierarchical timer wheel: starting, stopping and firing cost O(1), idle timers cost nothing.
 * One tick is 128 us; six levels of 32 slots reach 2^30 ticks (38 hours). A timer never fires early. */
#ifndef TN_BASE_WHEEL_H
#define TN_BASE_WHEEL_H

#include <tenon/config.h>

TENON_BEGIN_DECLS

enum {
    TN_TICK_SHIFT = 7,
    TN_WHEEL_LEVELS = TENON_WITH_MANY ? 6 : 1,    /* 1: one list, in the order of ticks */
    TN_WHEEL_SLOTS = TENON_WITH_MANY ? 32 : 1
};

struct tn_timer {
    struct tn_timer *next, **prev;    /* prev is NULL while the timer does not run */
    tenon_u32 when;                   /* tick */
    tenon_u8 kind;                    /* whose it is: enum tn_timer_kind of core.h */
    tenon_u8 slot;                    /* level * TN_WHEEL_SLOTS + slot: kept by the wheel */
};

struct tn_wheel {
    tenon_u32 now;                            /* tick up to which everything has fired */
    tenon_u32 next;                           /* no timer is due before it; now: that is to be found out */
    tenon_u32 used[TN_WHEEL_LEVELS];          /* bit i: slot i holds a timer */
    struct tn_timer *slots[TN_WHEEL_LEVELS * TN_WHEEL_SLOTS];
};

TENON_INTERNAL void tn_wheel_init(struct tn_wheel *wheel);
/* (Re)start: fires at the first advance to `when` or later; a past `when` fires at the next advance. */
TENON_INTERNAL void tn_timer_start(struct tn_wheel *wheel, struct tn_timer *timer, tenon_u32 when);
TENON_INTERNAL void tn_timer_stop(struct tn_wheel *wheel, struct tn_timer *timer);
TENON_INLINE int tn_timer_runs(const struct tn_timer *timer)
{
    return timer->prev != NULL;
}
/* Move the clock to `now`, calling fire() for each timer that is due, in the order of their ticks. A timer
 * is stopped when fire() is called for it; fire() may start and stop any, and finds wheel->now at `now`: what
 * it starts at that tick or before it fires at the next advance. However far the clock jumps (less than 2^31
 * ticks: more would be a step back, which moves nothing), the cost is bounded by the timers that fire or come
 * closer plus levels * slots. */
TENON_INTERNAL void tn_wheel_advance(struct tn_wheel *wheel, tenon_u32 now,
                                     void (*fire)(void *ctx, struct tn_timer *timer), void *ctx);
/* Ticks from wheel->now until the next call of advance is worth while (0: at once). At or before the
 * next expiry, never after it. 0xFFFFFFFF: no timer runs. */
TENON_INTERNAL tenon_u32 tn_wheel_find_next(struct tn_wheel *wheel);
/* Found once, for as long as nothing changes it. */
TENON_INLINE tenon_u32 tn_wheel_next(struct tn_wheel *wheel)
{
    return TENON_WITH_MANY && wheel->next != wheel->now ? wheel->next - wheel->now : tn_wheel_find_next(wheel);
}

TENON_END_DECLS

#endif
