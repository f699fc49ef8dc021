/* SPDX-License-Identifier: MIT */
/* Counters and their names. */
#include "core.h"

#define TENON_STATS_NAME(id, name, text) name,
static const char *const stats_names[TENON_STAT_COUNT] = { TENON_STATS(TENON_STATS_NAME) };
#undef TENON_STATS_NAME

static int stats_known(enum tenon_stat stat)
{
    return (unsigned)stat < (unsigned)TENON_STAT_COUNT;
}

TENON_API tenon_u32 tenon_stat(const struct tenon *stack, enum tenon_stat stat)
{
    return stats_known(stat) ? stack->stats[stat] : 0;
}

TENON_API const char *tenon_stat_name(enum tenon_stat stat)
{
    return stats_known(stat) ? stats_names[stat] : NULL;
}
