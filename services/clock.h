/* SPDX-License-Identifier: MIT */
/** @file
 *  Time of the services: the microseconds that the core counts wrap after 71 minutes, a lease lasts for years. A clock
 *  adds up the differences; it must be moved every 30 minutes at least, as the core itself. */
#ifndef TENON_SERVICES_CLOCK_H
#define TENON_SERVICES_CLOCK_H

#include <tenon/types.h>

TENON_BEGIN_DECLS

/** The longest that a service waits for its next poll. */
#define TENON_SVC_WAIT_MAX_US ((tenon_u32)1800000000UL)
/** Microseconds of a second. */
#define TENON_SVC_SECOND_US ((tenon_u32)1000000UL)

/** A moment: seconds (modulo 2^32) and microseconds (below 1000000) since the clock was started. */
struct tenon_svc_time {
    tenon_u32 s, us;
};

/** A clock. */
struct tenon_svc_clock {
    struct tenon_svc_time now;
    tenon_u32 last_us;    /**< of the core, when it was moved last */
};

/** It begins with 0, now. */
TENON_INLINE void tenon_svc_clock_start(struct tenon_svc_clock *clock, tenon_u32 now_us)
{
    clock->now.s = clock->now.us = 0;
    clock->last_us = now_us;
}

/** It is later by what the 32-bit clock has gone on since the last call, less than 71 minutes ago. */
TENON_INLINE void tenon_svc_clock_move(struct tenon_svc_clock *clock, tenon_u32 now_us)
{
    const tenon_u32 passed = now_us - clock->last_us;

    clock->last_us = now_us;
    clock->now.s += passed / TENON_SVC_SECOND_US;
    clock->now.us += passed % TENON_SVC_SECOND_US;
    if (clock->now.us >= TENON_SVC_SECOND_US) {
        clock->now.us -= TENON_SVC_SECOND_US;
        clock->now.s++;
    }
}

/** So much later. */
TENON_INLINE struct tenon_svc_time tenon_svc_later(struct tenon_svc_time from, tenon_u32 s, tenon_u32 ms)
{
    from.s += s + ms / 1000;
    from.us += ms % 1000 * 1000;
    if (from.us >= TENON_SVC_SECOND_US) {
        from.us -= TENON_SVC_SECOND_US;
        from.s++;
    }
    return from;
}

/** 1: that moment has come. */
TENON_INLINE int tenon_svc_is_over(const struct tenon_svc_clock *clock, const struct tenon_svc_time *moment)
{
    const tenon_u32 ahead = moment->s - clock->now.s;

    if (ahead == 0)
        return clock->now.us >= moment->us;
    return ahead >= 0x80000000UL;
}

/** Whole seconds until a moment; 0: it has come. */
TENON_INLINE tenon_u32 tenon_svc_seconds_left(const struct tenon_svc_clock *clock, const struct tenon_svc_time *moment)
{
    if (tenon_svc_is_over(clock, moment))
        return 0;
    return moment->s - clock->now.s - (clock->now.us > moment->us);
}

/** Microseconds until a moment, at most TENON_SVC_WAIT_MAX_US; 0: it has come. */
TENON_INLINE tenon_u32 tenon_svc_wait(const struct tenon_svc_clock *clock, const struct tenon_svc_time *moment)
{
    if (tenon_svc_is_over(clock, moment))
        return 0;
    if (moment->s - clock->now.s >= TENON_SVC_WAIT_MAX_US / TENON_SVC_SECOND_US)
        return TENON_SVC_WAIT_MAX_US;
    return (moment->s - clock->now.s) * TENON_SVC_SECOND_US + moment->us - clock->now.us;
}

TENON_END_DECLS

#endif
