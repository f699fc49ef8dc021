/* SPDX-License-Identifier: MIT */
/* The routers between the two networks (tests/router/): they go dark, come back, and are replaced. */
#include "sim.h"

#include <stdlib.h>

void ways_tell(struct sim *sim, unsigned host)
{
    const struct tenon_ip all[2] = { tenon_ip4(0), tenon_ip6(0, 0, 0, 0) };
    const struct sim_host *at = &sim->host[host];
    unsigned i, v6;

    for (i = 0; i < 2 * sim->plan->nways; i++) {
        const struct router_conf *conf = &sim->plan->way[i / 2].conf;
        struct tenon_ip gateway;

        v6 = i % 2;
        if (v6 ? !sim->plan->v6 : !sim->plan->v4)
            continue;
        gateway = router_gateway(conf, host % ROUTER_ARMS, (int)v6);
        if (tenon_route_add(at->stack, wire_end_netif(at->end), &all[v6], 0, &gateway, i / 2) != TENON_OK)
            sim_fail(sim, "open", "host %u gets no route", host);
    }
}

static void goes_dark(void *arg)
{
    const struct sim_way *way = arg;

    router_dark(way->router, 1);
}

static void comes_back(void *arg)
{
    const struct sim_way *way = arg;

    router_dark(way->router, 0);
}

static void is_replaced(void *arg)
{
    const struct sim_way *way = arg;

    if (!way->sim->cleaning)
        router_replace(way->router);
}

static void at(struct sim_way *way, uint64_t us, void (*fn)(void *arg))
{
    if (wire_at(way->sim->wire, way->sim->start + us, fn, way) != 0)
        abort();
}

void ways_open(struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nways; i++) {
        struct sim_way *way = &sim->way[i];

        way->sim = sim;
        way->plan = &sim->plan->way[i];
        way->router = router_open(sim->wire, &way->plan->conf);
        if (way->plan->dark_us > 0)
            at(way, way->plan->dark_at_us, goes_dark);
        if (way->plan->dark_us > 0 && !way->plan->for_good)
            at(way, way->plan->dark_at_us + way->plan->dark_us, comes_back);
        if (way->plan->replaced_at_us > 0)
            at(way, way->plan->replaced_at_us, is_replaced);
    }
}

/* Before the wire is closed. */
void ways_close(struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nways; i++)
        router_close(sim->way[i].router);
}
