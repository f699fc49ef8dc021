/* SPDX-License-Identifier: MIT */
/* Routes: an array in the order in which they are tried, longest prefix first, then lowest metric. There are
 * few, and paths remember what was found. */
#include "link/link_internal.h"

enum { ROUTE_ROUTERS_MAX = 4, ROUTE_PREFIXES_MAX = 8 };    /* advertised, on one interface */
/* 0: there is one way, to whoever is at the other end of the link. */
enum { ROUTE_HAS_ROUTERS = TENON_WITH_ETHERNET || TENON_WITH_HOMES };
/* How long a gateway that did not answer stands behind others; and how much longer one that has not since it was tried
 * again: a packet that goes out once a minute or less, a keep-alive, say, would find nobody but it each time. */
enum { ROUTE_RETRY_S = 60, ROUTE_RETRY_MORE_S = 540 };

static int route_same_key(const struct tn_route *a, const struct tn_route *b)
{
    return tn_netif_is(a->netif, b->netif) && a->bits == b->bits && tenon_ip_equal(&a->dst, &b->dst) &&
           tenon_ip_equal(&a->gateway, &b->gateway);
}

TENON_INTERNAL void tn_route_to(struct tn_route *route, unsigned netif, const struct tenon_ip *ip, unsigned bits)
{
    memset(route, 0, sizeof(*route));
    route->netif = (tenon_u8)netif;
    tn_ip_network(&route->dst, ip, bits);
    route->bits = (tenon_u8)bits;
}

TENON_INTERNAL struct tn_route *tn_route_same(const struct tenon *stack, const struct tn_route *route)
{
    struct tn_route *known = stack->link.routes;
    struct tn_route *const end = known + stack->link.nroutes;

    for (; known < end; known++) {
        if (route_same_key(known, route))
            return known;
    }
    return NULL;
}

/* For good. */
static void route_take_out(struct tenon *stack, struct tn_route *gone)
{
    struct tn_link *link = &stack->link;

    link->nroutes--;
    memmove(gone, gone + 1, (size_t)(link->routes + link->nroutes - gone) * sizeof(*gone));
    tn_path_invalidate(stack);
}

TENON_INTERNAL int tn_route_insert(struct tenon *stack, const struct tn_route *route)
{
    struct tn_link *link = &stack->link;
    struct tn_route *at = link->routes, *end;
    struct tn_route *same = TENON_WITH_HOMES ? tn_route_same(stack, route) : NULL;

    if (!TENON_WITH_HOMES && link->nroutes != 0)
        return tenon_ip_equal(&at->gateway, &route->gateway) ? TENON_EINUSE : TENON_ELIMIT;
    if (same != NULL && (route->origin != ROUTE_MANUAL || same->origin == ROUTE_MANUAL))
        return TENON_EINUSE;
    if (same != NULL)
        route_take_out(stack, same);
    if (TENON_WITH_HOMES && link->nroutes == stack->conf.routes_max)
        return TENON_ELIMIT;
    end = at + link->nroutes;
    while (TENON_WITH_HOMES && at < end &&
           (at->bits > route->bits || (at->bits == route->bits && at->metric <= route->metric)))
        at++;
    if (TENON_WITH_HOMES)
        memmove(at + 1, at, (size_t)(end - at) * sizeof(*at));
    memcpy(at, route, sizeof(*at));
    link->nroutes++;
    tn_path_invalidate(stack);
    return TENON_OK;
}

/* Where it stood in the place of that of an address, it becomes that again. */
TENON_INTERNAL void tn_route_delete(struct tenon *stack, struct tn_route *gone)
{
    if (!TENON_WITH_HOMES || gone->origin == ROUTE_ADDRESS || !tn_address_brings(stack, gone)) {
        route_take_out(stack, gone);
        return;
    }
    gone->origin = ROUTE_ADDRESS;
    gone->until_s = 0;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static int route_leads_to(const struct tenon *stack, const struct tn_route *route, const struct tenon_ip *dst)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, route->netif);

    if (!netif->up || !tn_ip_match(dst, &route->dst, route->bits))
        return 0;
    return tenon_ip_is_v4(dst) ? route->bits >= 96 : netif->ip6;    /* IPv6's to everywhere is not IPv4's */
}

/* A gateway that did not answer lately (RFC 1122 3.3.1.4), not one to which nothing was sent. */
static int route_is_suspect(const struct tenon *stack, const struct tn_route *route)
{
    return route->failed_s != 0 && tn_seq_lt(tn_link_seconds(stack), route->failed_s + ROUTE_RETRY_S);
}

static int route_gateway_is_known(const struct tenon *stack, const struct tn_route *route)
{
    const struct tn_neighbour *neighbour = tn_neighbour_find(stack, route->netif, &route->gateway);

    return neighbour != NULL && neighbour->state != TENON_NEIGHBOUR_INCOMPLETE;
}

/* Of two routes to the same prefix, whether b (further back) is better than a: RFC 4861 6.3.6, and the same
 * for IPv4 (RFC 1122 3.3.1.2). */
static int route_is_better(const struct tenon *stack, const struct tn_route *b, const struct tn_route *a)
{
    const int suspect_a = route_is_suspect(stack, a), suspect_b = route_is_suspect(stack, b);

    if (suspect_a != suspect_b)
        return suspect_a;
    if (suspect_a)
        return tn_seq_lt(b->failed_s, a->failed_s);    /* all are: one after the other */
    if (a->metric != b->metric || tenon_ip_is_any(&a->gateway) || tenon_ip_is_any(&b->gateway))
        return 0;
    return !route_gateway_is_known(stack, a) && route_gateway_is_known(stack, b);
}

TENON_INTERNAL const struct tn_route *tn_route_find(const struct tenon *stack, const struct tenon_ip *dst,
                                                    unsigned scope)
{
    const struct tn_route *route = stack->link.routes;
    const struct tn_route *const end = route + stack->link.nroutes;
    const struct tn_route *best = NULL;

    for (; route < end; route++) {
        if (best != NULL && route->bits != best->bits)
            break;
        if ((scope != 0 && !tn_netif_is(route->netif, scope)) || !route_leads_to(stack, route, dst))
            continue;
        if (best == NULL || (TN_ROUTERS && route_is_better(stack, route, best)))
            best = route;
    }
    return best;
}

/* What is in the network of the address is on the link, and all else behind the router. */
static unsigned route_hop_home(const struct tenon *stack, const struct tenon_ip **next_hop, const struct tenon_ip *dst)
{
    const struct tn_link *link = &stack->link;

    if (!TENON_WITH_ETHERNET || !link->netifs->up)
        return link->netifs->up;
    if (tn_ip_match(&link->addresses->ip, dst, link->addresses->bits))
        return 1;
    if (link->nroutes != 0)
        *next_hop = &link->routes->gateway;
    return link->nroutes;
}

TENON_INTERNAL unsigned tn_route_hop(const struct tenon *stack, const struct tenon_ip **next_hop,
                                     const struct tenon_ip *dst, unsigned scope)
{
    const struct tn_route *route;

    if (!TENON_WITH_HOMES)
        return route_hop_home(stack, next_hop, dst);
    route = tn_route_find(stack, dst, scope);
    if (route == NULL)
        return 0;
    if (!tenon_ip_is_any(&route->gateway))
        *next_hop = &route->gateway;
    return route->netif;
}

TENON_INTERNAL int tn_route_is_on_link(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    const struct tn_route *route;

    if (!tenon_ip_is_v4(ip) && tn_ip_is_link_local(ip))
        return 1;
    route = tn_route_find(stack, ip, netif);
    return route != NULL && tenon_ip_is_any(&route->gateway);
}

/* ---- gateways -------------------------------------------------------------------------------- */

static int route_goes_by(const struct tn_route *route, unsigned netif, const struct tenon_ip *gateway)
{
    return tn_netif_is(route->netif, netif) && tenon_ip_equal(&route->gateway, gateway);
}

/* Paths that were redirected to it are found anew too (RFC 4861 7.3.3), whether it stands in a route or not. Which
 * they are nobody has written down: all are. */
TENON_INTERNAL void tn_route_gateway_failed(struct tenon *stack, unsigned netif, const struct tenon_ip *gateway)
{
    struct tn_link *link = &stack->link;
    unsigned i, used = link->redirected;

    if (!TN_ROUTERS)
        return;
    link->redirected = 0;
    for (i = 0; i < link->nroutes; i++) {
        if (!route_goes_by(&link->routes[i], netif, gateway))
            continue;
        link->routes[i].failed_s = tn_link_seconds(stack) + (link->routes[i].failed_s != 0 ? ROUTE_RETRY_MORE_S : 0);
        used = 1;
    }
    if (used)
        tn_path_invalidate(stack);
}

TENON_INTERNAL int tn_route_has_gateway(const struct tenon *stack, unsigned netif, const struct tenon_ip *gateway)
{
    unsigned i;

    for (i = 0; i < stack->link.nroutes; i++) {
        if (route_goes_by(&stack->link.routes[i], netif, gateway))
            return 1;
    }
    return 0;
}

TENON_INTERNAL int tn_route_gateway_is_suspect(const struct tenon *stack, unsigned netif,
                                               const struct tenon_ip *gateway)
{
    const struct tn_route *route = stack->link.routes;
    const struct tn_route *const end = route + stack->link.nroutes;

    for (; route < end; route++) {
        if (route_is_suspect(stack, route) && route_goes_by(route, netif, gateway))
            return 1;
    }
    return 0;
}

TENON_INTERNAL void tn_route_gateway_works(struct tenon *stack, unsigned netif, const struct tenon_ip *gateway)
{
    unsigned i;

    if (!TN_ROUTERS)
        return;
    for (i = 0; i < stack->link.nroutes; i++) {
        if (stack->link.routes[i].failed_s == 0 || !route_goes_by(&stack->link.routes[i], netif, gateway))
            continue;
        stack->link.routes[i].failed_s = 0;
        tn_path_invalidate(stack);
    }
}

TENON_INTERNAL void tn_route_gateway_gone(struct tenon *stack, unsigned netif, const struct tenon_ip *gateway)
{
    struct tn_route *const first = stack->link.routes, *route = first + stack->link.nroutes;

    tn_path_invalidate(stack);    /* RFC 4861 7.2.5: paths that were redirected to it stand in no route */
    while (route > first) {
        route--;
        if (route->origin == ROUTE_ROUTER && route_goes_by(route, netif, gateway))
            tn_route_delete(stack, route);
    }
}

/* How many routes of this kind (by a gateway, or on the link) routers have given to this interface, and to
 * all together. */
static void route_count(const struct tenon *stack, const struct tn_route *like, unsigned *here, unsigned *all)
{
    unsigned i;

    *here = *all = 0;
    for (i = 0; i < stack->link.nroutes; i++) {
        const struct tn_route *route = &stack->link.routes[i];

        if (route->origin != ROUTE_ROUTER)
            continue;
        ++*all;
        if (tn_netif_is(route->netif, like->netif) &&
            tenon_ip_is_any(&route->gateway) == tenon_ip_is_any(&like->gateway))
            ++*here;
    }
}

/* One that does not answer gives way to a router that speaks: what it has promised may last for hours, and all that
 * there is room for may have gone dark together. RFC 4861 6.3.4 leaves it to the host which ones it keeps. @return 1:
 * there was one */
static int route_gives_way(struct tenon *stack, const struct tn_route *to)
{
    struct tn_route *route = stack->link.routes + stack->link.nroutes;

    if (!TN_ROUTERS || tenon_ip_is_any(&to->gateway))
        return 0;
    while (route-- > stack->link.routes) {
        if (route->origin == ROUTE_ROUTER && tn_netif_is(route->netif, to->netif) && route_is_suspect(stack, route)) {
            tn_route_delete(stack, route);
            return 1;
        }
    }
    return 0;
}

/* Routers may fill half of the table, and no interface more than its share: the rest is the owner's. */
TENON_INTERNAL void tn_route_advertised(struct tenon *stack, struct tn_route *route, tenon_u32 lifetime_s)
{
    struct tn_route *known = tn_route_same(stack, route);
    unsigned here, all;

    if (known != NULL) {
        if (known->origin == ROUTE_MANUAL || (known->origin == ROUTE_ADDRESS && lifetime_s == 0))
            return;
        if (lifetime_s > 0 && (known->metric == route->metric || tenon_ip_is_any(&known->gateway))) {
            known->origin = ROUTE_ROUTER;    /* in the place of the address's, until that has ended */
            known->until_s = tn_link_deadline(stack, lifetime_s);
            return;
        }
        route->failed_s = known->failed_s;
        tn_route_delete(stack, known);
    }
    if (lifetime_s == 0)
        return;
    route_count(stack, route, &here, &all);
    if ((all >= stack->conf.routes_max / 2U ||
         here >= (tenon_ip_is_any(&route->gateway) ? ROUTE_PREFIXES_MAX : ROUTE_ROUTERS_MAX)) &&
        !route_gives_way(stack, route))
        return;
    route->origin = ROUTE_ROUTER;
    route->until_s = tn_link_deadline(stack, lifetime_s);
    (void)tn_route_insert(stack, route);
}

/* ---- the interface --------------------------------------------------------------------------- */

/* @return 0 if there can be no such route: without homes none but a default one that has a gateway */
static int route_fill(struct tn_route *route, unsigned netif, const struct tenon_ip *dst, unsigned prefix,
                      const struct tenon_ip *gateway)
{
    const unsigned shift = tenon_ip_is_v4(dst) ? 96 : 0;

    if (prefix > 128 - shift || (!TENON_WITH_HOMES && (prefix != 0 || gateway == NULL)))
        return 0;
    tn_route_to(route, netif, dst, prefix + shift);
    if (!tenon_ip_equal(&route->dst, dst))
        return 0;
    if (gateway == NULL || tenon_ip_is_any(gateway))
        return 1;
    route->gateway = *gateway;
    return tn_ip_is_host(gateway) && tenon_ip_is_v4(gateway) == tenon_ip_is_v4(dst);
}

TENON_API int tenon_route_add(struct tenon *stack, unsigned netif, const struct tenon_ip *dst, unsigned prefix,
                              const struct tenon_ip *gateway, unsigned metric)
{
    struct tn_route route;

    if (!ROUTE_HAS_ROUTERS)
        return TENON_EINVAL;
    if (tn_netif_at(stack, netif) == NULL || !route_fill(&route, netif, dst, prefix, gateway))
        return TENON_EINVAL;
    if (gateway != NULL && tn_address_find(stack, 0, gateway) != NULL)
        return TENON_EINVAL;    /* we ourselves are no gateway for us */
    route.metric = metric;
    return tn_route_insert(stack, &route);
}

TENON_API int tenon_route_remove(struct tenon *stack, unsigned netif, const struct tenon_ip *dst, unsigned prefix,
                                 const struct tenon_ip *gateway)
{
    struct tn_route route, *same;

    if (tn_netif_at(stack, netif) == NULL || !route_fill(&route, netif, dst, prefix, gateway))
        return TENON_EUNREACH;
    same = tn_route_same(stack, &route);
    if (same == NULL)
        return TENON_EUNREACH;
    tn_route_delete(stack, same);
    return TENON_OK;
}

TENON_API int tenon_route_get(const struct tenon *stack, unsigned index, struct tenon_route_info *info)
{
    const struct tn_route *route;

    if (index >= stack->link.nroutes)
        return TENON_EINVAL;
    route = &stack->link.routes[index];
    info->dst = route->dst;
    info->gateway = route->gateway;
    info->prefix = route->bits - (tenon_ip_is_v4(&route->dst) ? 96U : 0U);
    info->netif = route->netif;
    info->metric = (unsigned)route->metric;
    info->automatic = route->origin != ROUTE_MANUAL;
    return TENON_OK;
}
