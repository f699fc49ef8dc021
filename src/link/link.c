/* SPDX-License-Identifier: MIT */
/* The beginning and the end of the link layer, its timers, and its clock of seconds. */
#include "link/link_internal.h"

enum { LINK_ALIGN = 16, LINK_SECONDS_START = 1000 };
/* Whose lifetimes are counted in seconds: addresses and routes that routers give, gateways that fail, conflicts, what
 * is known of paths, queriers of older versions. */
enum {
    LINK_COUNTS_SECONDS = TENON_WITH_ROUTES || TENON_WITH_CONFLICTS || TENON_WITH_PATH_MTU || TENON_WITH_MULTICAST
};
/* Something grows old: these, and neighbours. */
enum { LINK_AGES = LINK_COUNTS_SECONDS || TENON_WITH_ETHERNET };

/* ---- memory ---------------------------------------------------------------------------------- */

/* Bytes of an array. */
static tenon_u32 link_part(tenon_u32 n, size_t each)
{
    return (n * (tenon_u32)each + LINK_ALIGN - 1) / LINK_ALIGN * LINK_ALIGN;
}

/* Where the arrays lie in the block: 32 bits also where a size_t has 16. */
struct link_layout {
    tenon_u32 addresses, routes, groups, neighbours, asked, heads, total;
};

static void link_lay_out(struct link_layout *layout, const struct tenon_conf *conf)
{
    const unsigned routes = TENON_WITH_HOMES ? conf->routes_max : 1;
    const unsigned groups = TENON_WITH_MULTICAST ? conf->groups_max : 0;

    layout->addresses = link_part(tn_netifs_max(conf), sizeof(struct tn_netif));
    layout->routes = layout->addresses + link_part(tn_addrs_max(conf), sizeof(struct tn_address));
    layout->groups = layout->routes + link_part(routes, sizeof(struct tn_route));
    layout->neighbours = layout->groups + link_part(groups, sizeof(struct tn_group));
    layout->asked = layout->neighbours + link_part(tn_neighbours_max(conf), sizeof(struct tn_neighbour));
    layout->heads = layout->total = layout->asked;
    if (!TENON_WITH_MANY)
        return;
    layout->heads = layout->asked + link_part(conf->neighbour_asks_max, sizeof(struct tn_asked));
    layout->total = layout->heads + link_part(tn_neighbours_max(conf), sizeof(tenon_u16));
}

TENON_INTERNAL tenon_u32 tn_link_bytes(const struct tenon_conf *conf)
{
    struct link_layout layout;

    link_lay_out(&layout, conf);
    return layout.total;
}

static void *link_mem_get(void *ctx, size_t bytes)
{
    return tn_mem_get((struct tenon *)ctx, bytes);
}

static void link_mem_put(void *ctx, void *mem, size_t bytes)
{
    tn_mem_put((struct tenon *)ctx, mem, bytes);
}

TENON_INTERNAL void tn_link_init(struct tenon *stack, tenon_u8 *mem)
{
    struct tn_link *link = &stack->link;
    struct link_layout layout;

    link_lay_out(&layout, &stack->conf);
    link->netifs = (struct tn_netif *)(void *)mem;
    link->addresses = (struct tn_address *)(void *)(mem + layout.addresses);
    link->routes = (struct tn_route *)(void *)(mem + layout.routes);
    if (TENON_WITH_MULTICAST)
        link->groups = (struct tn_group *)(void *)(mem + layout.groups);
    if (TENON_WITH_ETHERNET)
        link->neighbours = (struct tn_neighbour *)(void *)(mem + layout.neighbours);
    if (TENON_WITH_MANY) {
        link->asked = (struct tn_asked *)(void *)(mem + layout.asked);
        link->neighbour_heads = (tenon_u16 *)(void *)(mem + layout.heads);
    }
    tn_neighbours_init(stack);
    if (TN_PATHS_KEPT) {
        tn_htab_init(&link->paths, link_mem_get, link_mem_put, stack);
        link->lru_last = &link->lru_first;
    }
    link->gen = 1;
    if (LINK_COUNTS_SECONDS)
        link->seconds = LINK_SECONDS_START;    /* not 0, which means "never"; and a lifetime of 0 ends one second ago */
    link->timer.timer.kind = TN_TIMER_LIFETIMES;
    tn_link_lifetimes(stack);
}

TENON_INTERNAL void tn_link_fini(struct tenon *stack)
{
    tn_neighbours_forget(stack, 0);
    tn_path_fini(stack);
}

/* ---- timers ---------------------------------------------------------------------------------- */

/* Others than that for lifetimes. */
enum { LINK_HAS_TIMERS = TENON_WATCHES_ADDRESSES || TENON_WITH_MULTICAST };

/* A call from outside of tenon_input() and tenon_poll() does not know the time: after a long sleep the delay would be
 * over before it has begun, and all hosts of a switch that comes up would speak at once (RFC 4862 5.4.2, RFC 5227
 * 2.1.1). It begins with the next poll. */
TENON_INTERNAL void tn_link_timer_start(struct tenon *stack, struct tn_alarm *timer, tenon_u32 ms)
{
    tenon_u32 tick = tn_tick_after_ms(stack, ms);

    if (LINK_HAS_TIMERS) {
        timer->wait_ms = 0;
        if (stack->depth == 0 && ms <= 0xFFFFU) {
            timer->wait_ms = (tenon_u16)ms;
            tick = stack->wheel.now;
        }
    }
    tn_timer_start(&stack->wheel, &timer->timer, tick);
}

TENON_INTERNAL void tn_link_timer_stop(struct tenon *stack, struct tn_alarm *timer)
{
    tn_timer_stop(&stack->wheel, &timer->timer);
}

TENON_INTERNAL void tn_link_timer(struct tenon *stack, struct tn_timer *timer)
{
    struct tn_alarm *own = TENON_CONTAINER(timer, struct tn_alarm, timer);

    TENON_ASSERT(timer->kind >= TN_TIMER_LIFETIMES && timer->kind <= TN_TIMER_GROUP);
    if (!LINK_HAS_TIMERS) {
        tn_link_lifetimes(stack);
        return;
    }
    if (own->wait_ms != 0) {
        tn_link_timer_start(stack, own, own->wait_ms);
        return;
    }
    switch (timer->kind) {
    case TN_TIMER_LIFETIMES: tn_link_lifetimes(stack); break;
    case TN_TIMER_SOLICIT: tn_router_timer(stack, TENON_CONTAINER(own, struct tn_netif, rs_timer)); break;
    case TN_TIMER_ADDRESS: tn_dad_timer(stack, TENON_CONTAINER(own, struct tn_address, timer)); break;
    default: tn_group_timer(stack, TENON_CONTAINER(own, struct tn_group, timer)); break;
    }
}

/* ---- the clock of seconds -------------------------------------------------------------------- */

/* The lifetimes' timer runs at least twice a day, so the difference never wraps. */
TENON_INTERNAL tenon_u32 tn_link_seconds(const struct tenon *stack)
{
    return stack->link.seconds + (stack->now_ms - stack->link.seconds_ms) / 1000;
}

TENON_INTERNAL tenon_u32 tn_link_deadline(const struct tenon *stack, tenon_u32 lifetime_s)
{
    const tenon_u32 now = tn_link_seconds(stack);

    if (lifetime_s > 0x3FFFFFFFUL)    /* 34 years: infinite ones are 0xFFFFFFFF, and these are not far from it */
        return 0;
    return lifetime_s == 0 ? now - 1 : now + lifetime_s;
}

TENON_INTERNAL int tn_link_is_over(const struct tenon *stack, tenon_u32 until_s)
{
    return until_s != 0 && tn_seq_gt(tn_link_seconds(stack), until_s);
}

TENON_INTERNAL tenon_u32 tn_link_remaining(const struct tenon *stack, tenon_u32 until_s)
{
    if (until_s == 0)
        return TN_FOREVER;
    return tn_link_is_over(stack, until_s) ? 0 : until_s - tn_link_seconds(stack);
}

/* Whether it is over; if not, what is left of it may be the least. The clock has just been set. */
static int link_has_ended(const struct tenon *stack, tenon_u32 until_s, tenon_u32 *least_s)
{
    if (tn_link_is_over(stack, until_s))
        return 1;
    *least_s = tn_min(*least_s, until_s - stack->link.seconds);    /* of for ever it is too much to matter */
    return 0;
}

/* Addresses: RFC 4862 5.5.4. What routers do not advertise (IPv6) lives for ever, as free slots do. */
static void link_age_addresses(struct tenon *stack, tenon_u32 *least_s)
{
    unsigned i;

    for (i = 0; TENON_WITH_IPV6 && i < tn_addrs_max(&stack->conf); i++) {
        struct tn_address *address = &stack->link.addresses[i];

        if (link_has_ended(stack, address->valid_until_s, least_s)) {
            tn_address_drop(stack, address);
        } else if (link_has_ended(stack, address->preferred_until_s, least_s) &&
                   address->state == TENON_ADDR_PREFERRED) {
            address->state = TENON_ADDR_DEPRECATED;
            tn_path_invalidate(stack);
        }
    }
}

/* The route to a network goes with the last address in it; one set by hand, or learnt before, stays. */
static void link_age_routes(struct tenon *stack, tenon_u32 *least_s)
{
    struct tn_route *const first = stack->link.routes, *route = first + stack->link.nroutes;

    while (TENON_WITH_HOMES && route > first) {
        route--;
        if (link_has_ended(stack, route->until_s, least_s) ||
            (route->origin == ROUTE_ADDRESS && !tn_address_brings(stack, route)))
            tn_route_delete(stack, route);
    }
}

TENON_INTERNAL void tn_link_lifetimes(struct tenon *stack)
{
    struct tn_link *link = &stack->link;
    const tenon_u32 passed = (stack->now_ms - link->seconds_ms) / 1000;
    tenon_u32 next = 43200UL;    /* half a day */

    if (LINK_COUNTS_SECONDS) {
        link->seconds += passed;
        link->seconds_ms += passed * 1000;
    }
    link_age_addresses(stack, &next);
    link_age_routes(stack, &next);
    tn_neighbours_age(stack);
    tn_asks_age(stack);
    if (LINK_AGES)
        tn_link_timer_start(stack, &link->timer, (next + 1) * 1000);
}
