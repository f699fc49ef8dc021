/* SPDX-License-Identifier: MIT */
/* Numbers that follow from a seed, for plans of histories. */
#ifndef TENON_TEST_DICE_H
#define TENON_TEST_DICE_H

#include "ports/wire/wire.h"

struct dice {
    uint64_t seed, n;
};

/* 0 to below - 1 */
static inline uint32_t roll(struct dice *dice, uint32_t below)
{
    return (uint32_t)(wire_mix(dice->seed ^ wire_mix(++dice->n)) >> 16) % below;
}

/* One in so many. */
static inline int one_in(struct dice *dice, uint32_t n)
{
    return roll(dice, n) == 0;
}

static inline uint32_t between(struct dice *dice, uint32_t from, uint32_t to)
{
    return from + roll(dice, to - from + 1);
}

#endif
