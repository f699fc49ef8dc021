/* SPDX-License-Identifier: MIT */
/* The small machine begins anew: with the same limits, in the same arena, and nothing of what was there. Its
 * peers know of connections that it does not know of any more (RFC 9293 3.5.1). */
#include "history.h"

#include <string.h>

/* What the device holds lies in memory that nobody knows of any more. */
static void forget(struct history *h)
{
    h->device.count = h->device.nempty = h->device.nwaiting = 0;
    h->nblocks = h->nheaders = 0;
    h->taken_memory = NULL;
    memset(h->arena, (int)history_chance(h, 256), h->arena_bytes);
}

static void end_of_program(struct history *h)
{
    history_shortage_ends(h);
    device_stop(h);
    tenon_sock_stop(h->socks);
    check_stopped(h);
}

static void restart(struct history *h, const struct restart *r)
{
    unsigned i;

    history_note(h, "the small machine %s", r->power ? "is off" : "ends its instance");
    for (i = 0; i < TENON_ARRAY_LEN(h->end); i++)
        if (h->end[i].h != NULL)
            end_lost(h, &h->end[i]);
    if (r->power)
        forget(h);
    else
        end_of_program(h);
    end_free_rings(h);
    history_small_start(h);
    if (check_memory(h) != h->baseline)
        history_fail(h, "%zu bytes of memory are used at the beginning, %zu were before", check_memory(h), h->baseline);
    h->unplugged = h->nameless = 0;    /* if they are out, the next tick says so */
    h->polls_at_once = 0;
    peer_restart(h);
}

void restarts(struct history *h)
{
    const struct plan *plan = &h->plan;

    while (h->restarted < plan->nrestarts && history_now(h) >= plan->restart[h->restarted].at_us)
        restart(h, &plan->restart[h->restarted++]);
}
