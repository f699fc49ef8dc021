/* SPDX-License-Identifier: MIT */
/* The timer wheel. A tick has six digits of five bits (and two bits above them). A timer lies on the level of
 * the highest digit in which its tick differs from now, in the slot which that digit names: level 0 holds the
 * rest of the current 32 ticks, level 1 the rest of the current 1024, and so on. On the top level the slots
 * are a circle. So everything on a level comes before everything on the levels above it, and on each level
 * the slots after now's digit come in order: what is next is the lowest bit of the lowest level in use.
 *
 * When now reaches the first tick of a slot of a level above 0, its timers go down to lower levels, until
 * they are on level 0, where reaching the slot means that they are due. A timer whose tick has passed already
 * lies in the slot of level 0 that now points to. */
#include "base/wheel.h"
#include "base/bits.h"
#include "base/seq.h"

enum {
    WHEEL_BITS = 5,
    WHEEL_TOP = TN_WHEEL_LEVELS - 1,
    WHEEL_LOOK_MAX = 16    /* timers that tn_wheel_next() looks at */
};

/* 31 slots of the top level: a timer further away waits there and is placed anew when its slot comes. */
static const tenon_u32 wheel_reach = 31UL << (WHEEL_TOP * WHEEL_BITS);

/* A slot in use, and how many ticks from now its first tick is. */
struct wheel_slot {
    unsigned level, number;
    tenon_u32 ahead;
};

TENON_INTERNAL void tn_wheel_init(struct tn_wheel *wheel)
{
    unsigned i;

    wheel->now = wheel->next = 0;
    for (i = 0; i < TN_WHEEL_LEVELS; i++)
        wheel->used[i] = 0;
    for (i = 0; i < TN_WHEEL_LEVELS * TN_WHEEL_SLOTS; i++)
        wheel->slots[i] = NULL;
}

static void wheel_link(struct tn_timer **head, struct tn_timer *timer)
{
    timer->next = *head;
    timer->prev = head;
    if (timer->next != NULL)
        timer->next->prev = &timer->next;
    *head = timer;
}

static void wheel_unlink(struct tn_timer *timer)
{
    *timer->prev = timer->next;
    if (timer->next != NULL)
        timer->next->prev = timer->prev;
    timer->next = NULL;
    timer->prev = NULL;
}

/* Where there are not many, all of them are one list: behind those that are not later. */
static void wheel_line_up(struct tn_wheel *wheel, struct tn_timer *timer)
{
    struct tn_timer **at = &wheel->slots[0];

    while (*at != NULL && tn_seq_le((*at)->when, timer->when))
        at = &(*at)->next;
    wheel_link(at, timer);
}

/* Of a timer whose tick differs from now in these bits: each level has five of them. */
static unsigned wheel_level(tenon_u32 differs)
{
    unsigned level = 0;

    if (TENON_FINDS_BITS)
        return (unsigned)tn_min(TENON_HIGHEST_BIT(differs | 1) * 13 >> 6, WHEEL_TOP);    /* a fifth, below 64 */
    for (differs >>= WHEEL_BITS; differs != 0 && level + 1 < TN_WHEEL_LEVELS; differs >>= WHEEL_BITS)
        level++;
    return level;
}

/* Put a timer that runs nowhere where its tick belongs. */
static void wheel_place(struct tn_wheel *wheel, struct tn_timer *timer)
{
    const tenon_u32 now = wheel->now;
    tenon_u32 at = timer->when;
    unsigned level, number;

    if (tn_seq_lt(at, now))
        at = now;
    else if (at - now > wheel_reach)
        at = now + wheel_reach;
    level = wheel_level(at ^ now);
    number = (unsigned)(at >> level * WHEEL_BITS & (TN_WHEEL_SLOTS - 1));
    timer->slot = (tenon_u8)(level * TN_WHEEL_SLOTS + number);
    wheel_link(&wheel->slots[timer->slot], timer);
    wheel->used[level] |= (tenon_u32)1 << number;
}

TENON_INTERNAL void tn_timer_start(struct tn_wheel *wheel, struct tn_timer *timer, tenon_u32 when)
{
    tn_timer_stop(wheel, timer);
    timer->when = when;
    if (!TENON_WITH_MANY) {
        wheel_line_up(wheel, timer);
        return;
    }
    wheel_place(wheel, timer);
    if (tn_seq_lt(when, wheel->next))
        wheel->next = tn_seq_max(when, wheel->now);
}

TENON_INTERNAL void tn_timer_stop(struct tn_wheel *wheel, struct tn_timer *timer)
{
    const unsigned slot = timer->slot;

    if (!tn_timer_runs(timer))
        return;
    wheel_unlink(timer);    /* also from the list of those that are due: then the slot tells nothing new */
    if (!TENON_WITH_MANY)
        return;
    if (wheel->slots[slot] == NULL)
        wheel->used[slot / TN_WHEEL_SLOTS] &= ~((tenon_u32)1 << slot % TN_WHEEL_SLOTS);
    if (tn_seq_le(timer->when, wheel->next))
        wheel->next = wheel->now;
}

/* The slot that comes first. @return 0 if no timer runs */
static int wheel_first(const struct tn_wheel *wheel, struct wheel_slot *first)
{
    unsigned level = 0, shift, digit, ahead;
    tenon_u32 used;

    while (level < TN_WHEEL_LEVELS && wheel->used[level] == 0)
        level++;
    if (level == TN_WHEEL_LEVELS)
        return 0;
    shift = level * WHEEL_BITS;
    digit = (unsigned)(wheel->now >> shift & (TN_WHEEL_SLOTS - 1));
    used = wheel->used[level];
    if (digit > 0)    /* turn the circle: bit 0 is now's own slot */
        used = used >> digit | used << (TN_WHEEL_SLOTS - digit);
    ahead = tn_bit_lowest(used);
    TENON_ASSERT(level == 0 || ahead > 0);
    first->level = level;
    first->number = (digit + ahead) % TN_WHEEL_SLOTS;
    first->ahead = (((wheel->now >> shift) + ahead) << shift) - wheel->now;
    return 1;
}

/* Empty a slot: its timers go to the end of the list of those that are due, or down to their next level. */
static struct tn_timer **wheel_empty(struct tn_wheel *wheel, const struct wheel_slot *slot, struct tn_timer **due)
{
    struct tn_timer **const head = &wheel->slots[slot->level * TN_WHEEL_SLOTS + slot->number];

    wheel->used[slot->level] &= ~((tenon_u32)1 << slot->number);
    while (*head != NULL) {
        struct tn_timer *const timer = *head;

        wheel_unlink(timer);
        if (slot->level > 0) {
            wheel_place(wheel, timer);
            continue;
        }
        wheel_link(due, timer);
        due = &timer->next;
    }
    return due;
}

/* Those of the line that are due go to `due`. */
static void wheel_cut_line(struct tn_wheel *wheel, tenon_u32 now, struct tn_timer **due)
{
    struct tn_timer *timer;

    for (timer = wheel->slots[0]; timer != NULL && tn_seq_le(timer->when, now); timer = wheel->slots[0]) {
        wheel_unlink(timer);
        wheel_link(due, timer);
        due = &timer->next;
    }
}

/* First everything that is due is collected, then it is fired, with the clock at `now` already. So a timer
 * that fire() starts at a tick that is not in the future waits for the next call: no call goes on for ever. */
TENON_INTERNAL void tn_wheel_advance(struct tn_wheel *wheel, tenon_u32 now,
                                     void (*fire)(void *ctx, struct tn_timer *timer), void *ctx)
{
    struct tn_timer *due = NULL;
    struct tn_timer **end = &due;
    struct wheel_slot slot;

    if (tn_seq_lt(now, wheel->now))
        now = wheel->now;
    if (!TENON_WITH_MANY)
        wheel_cut_line(wheel, now, &due);
    else if (tn_seq_le(wheel->next, now))
        wheel->next = now;
    while (TENON_WITH_MANY && wheel_first(wheel, &slot) && slot.ahead <= now - wheel->now) {
        wheel->now += slot.ahead;
        end = wheel_empty(wheel, &slot, end);
    }
    wheel->now = now;
    while (due != NULL) {
        struct tn_timer *const timer = due;

        wheel_unlink(timer);
        fire(ctx, timer);
    }
}

/* The next to expire is in the first slot. A few timers are looked at one by one; where there are more, the
 * slot's first tick will do: there they come down a level, and the next answer is closer. */
static tenon_u32 wheel_look(const struct tn_wheel *wheel)
{
    const struct tn_timer *timer;
    struct wheel_slot slot;
    tenon_u32 least;
    unsigned looked;

    if (!wheel_first(wheel, &slot))
        return 0xFFFFFFFFUL;
    if (slot.level == 0)
        return slot.ahead;
    least = slot.ahead + ((tenon_u32)1 << slot.level * WHEEL_BITS);
    timer = wheel->slots[slot.level * TN_WHEEL_SLOTS + slot.number];
    for (looked = 0; timer != NULL; looked++, timer = timer->next) {
        if (looked == WHEEL_LOOK_MAX)
            return slot.ahead;
        least = tn_min(least, timer->when - wheel->now);
    }
    return least;
}

TENON_INTERNAL tenon_u32 tn_wheel_find_next(struct tn_wheel *wheel)
{
    tenon_u32 ahead;

    if (TENON_WITH_MANY) {
        ahead = wheel_look(wheel);
        if (ahead < 0x80000000UL)
            wheel->next = wheel->now + ahead;
        return ahead;
    }
    if (wheel->slots[0] == NULL)
        return 0xFFFFFFFFUL;
    return tn_seq_lt(wheel->slots[0]->when, wheel->now) ? 0 : wheel->slots[0]->when - wheel->now;
}
