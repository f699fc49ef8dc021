/* SPDX-License-Identifier: MIT */
/* Counters and their names. */
#include "core.h"

/* The names one after the other, each with its 0: a linker leaves all of them out where nobody asks for one, and there
 * is no table of pointers to them. */
#define TENON_STATS_ROOM(id, name, text) char id[sizeof(name)];
#define TENON_STATS_NAME(id, name, text) name,
struct stats_names {
    TENON_STATS(TENON_STATS_ROOM)
};
static const struct stats_names stats_names = { TENON_STATS(TENON_STATS_NAME) };
#undef TENON_STATS_NAME
#undef TENON_STATS_ROOM

static int stats_known(enum tenon_stat stat)
{
    return (unsigned)stat < (unsigned)TENON_STAT_COUNT;
}

TENON_API tenon_u32 tenon_stat(const struct tenon *stack, enum tenon_stat stat)
{
    if (!TENON_WITH_STATS)
        return 0;
    return stats_known(stat) ? stack->stats[stat] : 0;
}

TENON_API const char *tenon_stat_name(enum tenon_stat stat)
{
    const char *name = (const char *)&stats_names;
    unsigned i;

    if (!stats_known(stat))
        return NULL;
    for (i = 0; i < (unsigned)stat; i++)
        while (*name++ != 0)
            continue;
    return name;
}
