/* SPDX-License-Identifier: MIT */
/* How often the link is asked for one address (RFC 1122 2.3.2.1, RFC 4861 7.2.2). The neighbour knows, but it may
 * have been evicted since it was asked for, and made anew; so who was asked for is remembered here, longer than the
 * entry, in a table of fixed size. Each address has a few places, found by its keyed hash. Where all of them are
 * taken by others that were asked for just now, nobody new is asked for: so there are never more requests at a
 * time than places, whatever destinations somebody makes us send to.
 *
 * Where there are not many, the neighbour's entry is the only place: it is not evicted so long. */
#include "link/link_internal.h"

enum { ASK_PLACES = 8 };

TENON_INTERNAL int tn_ask_holds(const struct tenon *stack, const struct tn_neighbour *neighbour)
{
    return tn_seq_lt(stack->now_tick, neighbour->asked_until);
}

static int ask_itself(const struct tenon *stack, struct tn_neighbour *neighbour, tenon_u32 *tick)
{
    const int now = !tn_ask_holds(stack, neighbour);

    if (now)
        neighbour->asked_until = *tick;
    *tick = neighbour->asked_until;
    return now;
}

static int ask_places(struct tenon *stack, const struct tn_neighbour *neighbour, tenon_u32 *tick)
{
    const tenon_u32 tag = tn_neighbour_hash(stack, neighbour->netif, &neighbour->ip);
    const unsigned max = stack->conf.neighbour_asks_max;
    struct tn_asked *place = NULL;
    unsigned at = (unsigned)(tag % max), i;

    for (i = 0; i < ASK_PLACES; i++) {
        struct tn_asked *asked = &stack->link.asked[at];

        if (asked->tag == tag && tn_seq_lt(stack->now_tick, asked->until_tick)) {
            *tick = asked->until_tick;
            return 0;
        }
        if (place == NULL || tn_seq_lt(asked->until_tick, place->until_tick))
            place = asked;
        at = (at + 1) % max;
    }
    /* Whose link-layer address is known is asked itself, to see whether it is still there. It has its entry, and
     * would lose it if it were not asked. */
    if (neighbour->state == TENON_NEIGHBOUR_INCOMPLETE && tn_seq_lt(stack->now_tick, place->until_tick)) {
        *tick = place->until_tick;
        return 0;
    }
    place->tag = tag;
    place->until_tick = *tick;
    return 1;
}

TENON_INTERNAL int tn_ask_remembers(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    const tenon_u32 tag = tn_neighbour_hash(stack, netif, ip);
    const unsigned max = stack->conf.neighbour_asks_max;
    unsigned i;

    for (i = 0; i < ASK_PLACES; i++) {
        const struct tn_asked *asked = &stack->link.asked[(tag + i) % max];

        if (asked->tag == tag && tn_seq_lt(stack->now_tick, asked->until_tick))
            return 1;
    }
    return 0;
}

TENON_INTERNAL int tn_ask(struct tenon *stack, struct tn_neighbour *neighbour, tenon_u32 *tick)
{
    return TENON_WITH_MANY ? ask_places(stack, neighbour, tick) : ask_itself(stack, neighbour, tick);
}

/* What is over stays over, also when the clock of ticks has gone round. */
TENON_INTERNAL void tn_asks_age(struct tenon *stack)
{
    unsigned i;

    for (i = 0; TENON_WITH_MANY && i < stack->conf.neighbour_asks_max; i++) {
        struct tn_asked *asked = &stack->link.asked[i];

        if (!tn_seq_lt(stack->now_tick, asked->until_tick))
            asked->until_tick = stack->now_tick;
    }
}
