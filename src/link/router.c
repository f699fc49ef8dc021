/* SPDX-License-Identifier: MIT */
/* What IPv6 routers tell hosts: advertisements (RFC 4861 6.3, with the preference of RFC 4191) and redirects
 * (8.3); and asking for the former. */
#include "base/bytes.h"
#include "link/link_internal.h"
#include "wire/wire.h"

/* RFC 4861 10 */
enum { ROUTER_SOLICITATIONS = 3, ROUTER_DELAY_MS = 1000, ROUTER_INTERVAL_MS = 4000 };
enum { ROUTER_PREFIX_BYTES = 32, ROUTER_PREFIXES_MAX = 8 };    /* the option; how many are read of one message */
enum { ROUTER_FLAG_ON_LINK = 0x80, ROUTER_FLAG_AUTONOMOUS = 0x40 };
enum { ROUTER_METRIC = 1024, ROUTER_METRIC_STEP = 16 };

/* Bounds on what an advertisement may set: each can be used to cut hosts off (RFC 3756 4.2.7). The RFC knows
 * only the upper bound of the reachable time. */
enum { ROUTER_HOP_LIMIT_MIN = 16, ROUTER_MTU_MIN = 1280 };
#define ROUTER_REACHABLE_MIN_MS 1000UL
#define ROUTER_REACHABLE_MAX_MS 3600000UL
#define ROUTER_RETRANS_MIN_MS 100UL
#define ROUTER_RETRANS_MAX_MS 60000UL

/* ---- solicitation ---------------------------------------------------------------------------- */

TENON_INTERNAL void tn_router_solicit(struct tenon *stack, struct tn_netif *netif)
{
    if (netif->conf.flags & TENON_NETIF_NO_RA)
        return;
    netif->rs_left = ROUTER_SOLICITATIONS;
    tn_link_timer_start(stack, &netif->rs_timer, tn_link_jitter(stack, ROUTER_DELAY_MS));
}

/* RFC 4861 6.3.7 */
TENON_INTERNAL void tn_router_timer(struct tenon *stack, struct tn_netif *netif)
{
    const struct tn_address *address = tn_address_link_local(stack, netif->index);

    if (netif->rs_left == 0 || !netif->ip6 || address == NULL)
        return;
    netif->rs_left--;
    tn_nd_router_solicit(stack, netif, &address->ip);
    if (netif->rs_left > 0)
        tn_link_timer_start(stack, &netif->rs_timer, ROUTER_INTERVAL_MS);
}

/* ---- advertisement --------------------------------------------------------------------------- */

static void router_take_parameters(struct tenon *stack, struct tn_netif *netif, const struct nd_message *message)
{
    const tenon_u32 reachable = get32be(message->p + 8), retrans = get32be(message->p + 12);

    if (message->p[4] >= ROUTER_HOP_LIMIT_MIN && message->p[4] != netif->hop_limit) {
        netif->hop_limit = message->p[4];
        tn_path_invalidate(stack);    /* it stands in headers that are prepared: tcp_fast_out.c */
    }
    if (reachable >= ROUTER_REACHABLE_MIN_MS && reachable <= ROUTER_REACHABLE_MAX_MS)
        netif->reachable_ms = reachable;
    if (retrans != 0)
        netif->retrans_ms = tn_min(tn_max(retrans, ROUTER_RETRANS_MIN_MS), ROUTER_RETRANS_MAX_MS);
}

static void router_take_mtu(struct tenon *stack, struct tn_netif *netif, const struct nd_message *message)
{
    tenon_u32 mtu;

    if (message->kept[ND_OPTION_MTU] == NULL)
        return;
    mtu = get32be(message->kept[ND_OPTION_MTU] + 2);
    if (mtu < ROUTER_MTU_MIN || mtu > netif->conf.mtu || mtu == netif->ip6_mtu)
        return;
    netif->ip6_mtu = (tenon_u16)mtu;
    tn_path_invalidate(stack);
}

/* RFC 4191 2.1: 01 high, 11 low, 00 medium; 10 is reserved and means medium. */
static tenon_u32 router_metric(unsigned flags)
{
    switch (flags >> 3 & 3) {
    case 1: return ROUTER_METRIC - ROUTER_METRIC_STEP;
    case 3: return ROUTER_METRIC + ROUTER_METRIC_STEP;
    default: return ROUTER_METRIC;
    }
}

static void router_take_default(struct tenon *stack, const struct nd_message *message)
{
    struct tn_route route;

    memset(&route, 0, sizeof(route));
    route.gateway = message->pkt->src;
    route.netif = message->netif->index;
    route.metric = router_metric(message->p[5]);
    tn_route_advertised(stack, &route, get16be(message->p + 6));
}

static void router_take_on_link(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip,
                                unsigned bits, tenon_u32 valid_s)
{
    struct tn_route route;

    tn_route_to(&route, netif->index, ip, bits);
    route.metric = ROUTER_METRIC;
    tn_route_advertised(stack, &route, valid_s);
}

/* RFC 4861 6.3.4, RFC 4862 5.5.3: on-link and autonomous are two questions. */
static void router_take_prefix(struct tenon *stack, const struct tn_netif *netif, const tenon_u8 *p)
{
    const tenon_u32 valid_s = get32be(p + 4), preferred_s = get32be(p + 8);
    const unsigned bits = p[2];
    struct tenon_ip ip;

    read_ip6(&ip, p + 16);
    if (bits > 128 || preferred_s > valid_s || tn_ip_is_link_local(&ip) || tn_ip_is_multicast(&ip) ||
        tenon_ip_is_v4(&ip))
        return;
    if (p[3] & ROUTER_FLAG_ON_LINK)
        router_take_on_link(stack, netif, &ip, bits, valid_s);
    if ((p[3] & ROUTER_FLAG_AUTONOMOUS) && bits == TN_SLAAC_BITS)
        tn_slaac_prefix(stack, netif, &ip, valid_s, preferred_s);
}

/* Not 0, and all there: nd.c has been through them. */
static unsigned router_option_bytes(const tenon_u8 *option)
{
    return option[1] * 8U;
}

static void router_take_prefixes(struct tenon *stack, const struct nd_message *message)
{
    tenon_u32 at = message->options;
    unsigned n = 0;

    while (at < message->len && n < ROUTER_PREFIXES_MAX) {
        const tenon_u8 *option = message->p + at;
        const unsigned bytes = router_option_bytes(option);

        if (option[0] == ND_OPTION_PREFIX && bytes == ROUTER_PREFIX_BYTES) {
            router_take_prefix(stack, message->netif, option);
            n++;
        }
        at += bytes;
    }
}

/* To who listens, who may change that in each call. */
static void router_tell(struct tenon *stack, const struct nd_message *message)
{
    struct tn_link *link = &stack->link;
    struct tenon_ra_option option;
    tenon_u32 at;

    option.netif = message->netif->index;
    option.router = &message->pkt->src;
    option.now_us = stack->now_us;
    for (at = message->options; at < message->len && link->ra_heard != NULL; at += option.n) {
        option.bytes = message->p + at;
        option.n = router_option_bytes(option.bytes);
        link->ra_heard(link->ra_app, &option);
    }
}

TENON_API void tenon_ra_listen(struct tenon *stack, tenon_ra_heard *heard, void *app)
{
    stack->link.ra_heard = heard;
    stack->link.ra_app = app;
}

/* RFC 4861 6.3.7: a router that is none by default does not end the search for one that is; and what one says before it
 * was asked may be incomplete. */
static void router_answered(struct tn_netif *netif)
{
    netif->rs_left = netif->rs_left == ROUTER_SOLICITATIONS;
}

TENON_INTERNAL int tn_router_advert(struct tenon *stack, const struct nd_message *message)
{
    struct tn_netif *netif = message->netif;
    const struct tenon_ip *src = &message->pkt->src;
    struct tn_neighbour *neighbour;

    if (!tn_ip_is_link_local(src))    /* RFC 4861 6.1.2 */
        return -1;
    if (netif->conf.flags & TENON_NETIF_NO_RA)
        return 0;
    if (get16be(message->p + 6) != 0)
        router_answered(netif);
    router_take_parameters(stack, netif, message);
    router_take_mtu(stack, netif, message);
    neighbour = tn_neighbour_learn(stack, netif->index, src,
                                   tn_netif_is_bare(netif) ? NULL : message->kept[ND_OPTION_SLLA]);
    if (neighbour != NULL)
        neighbour->router = 1;    /* RFC 4861 6.3.4 */
    router_take_default(stack, message);
    router_take_prefixes(stack, message);
    tn_link_lifetimes(stack);
    router_tell(stack, message);
    return 0;
}

/* ---- redirect -------------------------------------------------------------------------------- */

/* RFC 4861 8.1: from the first hop that we use, to itself (a neighbour after all) or to another router. Nothing of
 * IPv4, and no group, has a first hop with such an address. */
TENON_INTERNAL int tn_router_redirect(struct tenon *stack, const struct nd_message *message)
{
    const struct tenon_ip *src = &message->pkt->src, *target = &message->target;
    struct tn_neighbour *neighbour;
    struct tenon_ip dst;
    int to_itself;

    read_ip6(&dst, message->p + 24);
    to_itself = tenon_ip_equal(target, &dst);
    if (!tn_ip_is_link_local(src) || (!to_itself && !tn_ip_is_link_local(target)))
        return -1;
    if (tn_address_find(stack, 0, target) != NULL)
        return 0;
    if (!tn_path_redirect(stack, message->netif, &dst, src, target))
        return -1;
    neighbour = tn_neighbour_learn(stack, message->netif->index, target, message->kept[ND_OPTION_TLLA]);
    if (neighbour != NULL && !to_itself)
        neighbour->router = 1;    /* RFC 4861 8.3 */
    return 0;
}
