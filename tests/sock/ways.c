/* SPDX-License-Identifier: MIT */
/* The routers between the two machines (tests/router/): they go dark, come back, and are replaced. */
#include "history.h"

void ways_open(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nways; i++)
        h->router[i] = router_open(h->wire, &h->plan.way[i].conf);
}

void ways_add(struct history *h, unsigned machine)
{
    const struct tenon_ip all = h->plan.v6 ? tenon_ip6(0, 0, 0, 0) : tenon_ip4(0);
    unsigned i;

    for (i = 0; i < h->plan.nways && !h->plan.told; i++) {
        const struct tenon_ip gateway = router_gateway(&h->plan.way[i].conf, machine, h->plan.v6);
        const int result =
            tenon_route_add(machine == 0 ? tenon_sock_stack(h->socks) : h->peer, 1, &all, 0, &gateway, i);

        if (result != TENON_OK)
            history_fail(h, "machine %u gets no route: %s", machine, tenon_error_text(result));
    }
}

static int is_dark(const struct history *h, const struct way *way)
{
    const uint64_t now = history_now(h);

    if (now < way->dark_from_us || way->dark_from_us == way->dark_to_us)
        return 0;
    return way->for_good || (now < way->dark_to_us && !h->healed);
}

void ways(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nways; i++) {
        const struct way *way = &h->plan.way[i];

        router_dark(h->router[i], is_dark(h, way));
        if (way->replaced_us == 0 || (h->replaced & 1U << i) || history_now(h) < way->replaced_us)
            continue;
        history_note(h, "router %u is another one", i);
        h->replaced |= 1U << i;
        router_replace(h->router[i]);
    }
}

/* Before the wire is closed. */
void ways_close(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nways; i++)
        router_close(h->router[i]);
}
