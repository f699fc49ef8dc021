/* SPDX-License-Identifier: MIT */
/* Addresses: which are ours, and what an address of somebody else's packet means to us. */
#include "base/bytes.h"
#include "link/link_internal.h"

/* ---- kinds of addresses ---------------------------------------------------------------------- */

TENON_INTERNAL int tn_ip_is_multicast(const struct tenon_ip *ip)
{
    if (!TENON_WITH_MULTICAST)    /* nothing is sent there, and nothing that comes from there is taken */
        return 0;
    if (TENON_WITH_IPV6 && ip->w[0] >= 0xFF000000UL)
        return 1;
    return TENON_WITH_IGMP && tenon_ip_is_v4(ip) && ip->w[TENON_IP4_WORD] >> 28 == 0xE;
}

TENON_INTERNAL int tn_ip_is_link_local(const struct tenon_ip *ip)
{
    if (tenon_ip_is_v4(ip))
        return ip->w[TENON_IP4_WORD] >> 16 == 0xA9FEUL;    /* 169.254/16 */
    return ip->w[0] >> 22 == 0x3FAUL;         /* fe80::/10 */
}

TENON_INTERNAL int tn_ip_is_on_link_only(const struct tenon_ip *ip)
{
    if (tenon_ip_is_v4(ip) && ip->w[TENON_IP4_WORD] == 0xFFFFFFFFUL)
        return 1;
    return tn_ip_is_multicast(ip) || tn_ip_is_link_local(ip);
}

TENON_INTERNAL int tn_ip_is_loopback(const struct tenon_ip *ip)
{
    if (tenon_ip_is_v4(ip))
        return ip->w[TENON_IP4_WORD] >> 24 == 127;
    return (ip->w[0] | tenon_ip_word(ip, 1) | tenon_ip_word(ip, 2)) == 0 && ip->w[TENON_IP4_WORD] == 1;
}

TENON_INTERNAL int tn_ip6_is_nobody(const struct tenon_ip *ip)
{
    return (ip->w[0] | tenon_ip_word(ip, 1) | tenon_ip_word(ip, 2)) == 0 && ip->w[TENON_IP4_WORD] <= 1;
}

TENON_INTERNAL int tn_ip_is_host(const struct tenon_ip *ip)
{
    if (tenon_ip_is_v4(ip))
        return ip->w[TENON_IP4_WORD] >> 24 != 0 && ip->w[TENON_IP4_WORD] >> 24 != 127 &&
               ip->w[TENON_IP4_WORD] >> 29 != 7;
    return !tn_ip6_is_nobody(ip) && !tn_ip_is_multicast(ip);
}

TENON_INTERNAL int tn_mac_is_host(const tenon_u8 *mac)
{
    return !(mac[0] & 1) && (get32raw(mac) | get16raw(mac + 4)) != 0;
}

TENON_INTERNAL TENON_ONCE_IF_SMALL void tn_solicited_node(struct tenon_ip *group, const struct tenon_ip *ip)
{
    *group = tenon_ip6(0xFF020000UL, 0, 1, 0xFF000000UL | (ip->w[TENON_IP4_WORD] & 0xFFFFFFUL));
}

/* ---- prefixes -------------------------------------------------------------------------------- */

/* Those of IPv4 are counted as if it had the words of IPv6. */
static tenon_u32 address_mask(unsigned bits, unsigned word)
{
    const tenon_u32 all = 0xFFFFFFFFUL;

    word += 4 - TENON_IP_WORDS;
    if (bits <= word * 32)
        return 0;
    bits -= word * 32;
    return bits >= 32 ? all : (tenon_u32)~(all >> bits);
}

TENON_INTERNAL int tn_ip_match(const struct tenon_ip *a, const struct tenon_ip *b, unsigned bits)
{
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++) {
        if ((a->w[i] ^ b->w[i]) & address_mask(bits, i))
            return 0;
    }
    return 1;
}

TENON_INTERNAL void tn_ip_network(struct tenon_ip *network, const struct tenon_ip *ip, unsigned bits)
{
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++)
        network->w[i] = ip->w[i] & address_mask(bits, i);
}

/* ---- whose is it ----------------------------------------------------------------------------- */

/* Those behind have never been in use. */
static unsigned address_end(const struct tenon *stack)
{
    return TENON_WITH_SPEED ? stack->link.addrs_end : tn_addrs_max(&stack->conf);
}

TENON_INTERNAL struct tn_address *tn_address_find(const struct tenon *stack, unsigned netif,
                                                  const struct tenon_ip *ip)
{
    struct tn_address *address = stack->link.addresses;
    struct tn_address *const end = address + address_end(stack);

    for (; address < end; address++) {
        if (address->ip.w[TENON_IP4_WORD] == ip->w[TENON_IP4_WORD] && address->netif != 0 &&
            (netif == 0 || tn_netif_is(address->netif, netif)) && tenon_ip_equal(&address->ip, ip))
            return address;
    }
    return NULL;
}

/* Weak end systems answer for all their addresses everywhere (RFC 1122 3.3.4.2), but for those that mean
 * something on one link only. */
static const struct tn_address *address_ours(const struct tenon *stack, const struct tenon_ip *ip, unsigned netif)
{
    const struct tn_address *address = stack->link.addresses;
    const struct tn_address *const end = address + address_end(stack);
    const struct tn_address *tentative = NULL;

    if (!TENON_WITH_NETIFS)
        return tn_address_find(stack, 0, ip);    /* nowhere else */
    for (; address < end; address++) {
        if (address->ip.w[TENON_IP4_WORD] != ip->w[TENON_IP4_WORD] || address->netif == 0 ||
            !tenon_ip_equal(&address->ip, ip))
            continue;
        if (netif != 0 && !tn_netif_is(address->netif, netif) && tn_ip_is_link_local(ip))
            continue;
        if (tn_address_usable(address))
            return address;
        tentative = address;
    }
    return tentative;
}

TENON_INTERNAL int tn_addr_is_ours(const struct tenon *stack, const struct tenon_ip *ip, unsigned netif)
{
    const struct tn_address *address = address_ours(stack, ip, netif);

    return address != NULL && tn_address_usable(address);
}

/* Of the IPv4 network of an address: {net, -1}, and {net, 0} as 4.2BSD had it (RFC 1122 3.3.6). One of one or two
 * addresses has none. */
static int address_is_edge(const struct tenon_ip *ip, const struct tenon_ip *own, unsigned bits)
{
    tenon_u32 host;

    if (bits > 126)
        return 0;
    host = 0xFFFFFFFFUL >> (bits - 96);
    return ip->w[TENON_IP4_WORD] == (own->w[TENON_IP4_WORD] | host) ||
           ip->w[TENON_IP4_WORD] == (own->w[TENON_IP4_WORD] & ~host);
}

static int address_is_broadcast(const struct tn_address *address, const struct tenon_ip *ip)
{
    return tn_address_usable(address) && tenon_ip_is_v4(&address->ip) &&
           address_is_edge(ip, &address->ip, address->bits);
}

/* netif 0: of any interface. */
static int address_broadcast_on(const struct tenon *stack, const struct tenon_ip *ip, unsigned netif)
{
    const struct tn_address *address = stack->link.addresses;
    const struct tn_address *const end = address + address_end(stack);

    if (!tenon_ip_is_v4(ip))
        return 0;
    if (ip->w[TENON_IP4_WORD] == 0xFFFFFFFFUL)
        return 1;
    for (; address < end; address++) {
        if ((netif == 0 || tn_netif_is(address->netif, netif)) && address_is_broadcast(address, ip))
            return 1;
    }
    return 0;
}

TENON_INTERNAL int tn_addr_is_broadcast(const struct tenon *stack, const struct tenon_ip *ip)
{
    return address_broadcast_on(stack, ip, 0);
}

TENON_INTERNAL enum tn_dst tn_addr_classify(const struct tenon *stack, const struct tn_netif *netif,
                                            const struct tenon_ip *ip)
{
    const struct tn_address *address;

    if (!tenon_ip_is_v4(ip) && !netif->ip6)    /* RFC 4862 5.4.5: nothing is received where there is no IPv6 */
        return TN_DST_OTHER;
    if (tn_ip_is_multicast(ip))
        return tn_group_is_joined(stack, netif->index, ip) ? TN_DST_MULTICAST : TN_DST_OTHER;
    address = address_ours(stack, ip, netif->index);
    if (address != NULL && address->state != TENON_ADDR_DUPLICATE)
        return address->state == TENON_ADDR_TENTATIVE ? TN_DST_TENTATIVE : TN_DST_OURS;
    if (tenon_ip_is_v4(ip) && (ip->w[TENON_IP4_WORD] == 0 || address_broadcast_on(stack, ip, netif->index)))
        return TN_DST_BROADCAST;
    return TN_DST_OTHER;
}

TENON_INTERNAL const struct tn_address *tn_address_link_local(const struct tenon *stack, unsigned netif)
{
    const struct tn_address *address = stack->link.addresses;
    const struct tn_address *const end = address + address_end(stack);

    for (; address < end; address++) {
        if (tn_address_usable(address) && tn_netif_is(address->netif, netif) && !tenon_ip_is_v4(&address->ip) &&
            tn_ip_is_link_local(&address->ip))
            return address;
    }
    return NULL;
}

/* ---- adding and removing --------------------------------------------------------------------- */

/* Join the solicited-node group, or leave it, where somebody may ask (RFC 4291 2.8). */
static int address_group(struct tenon *stack, const struct tn_address *address, int joined)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);
    struct tenon_ip group;

    if (tenon_ip_is_v4(&address->ip) || tn_netif_is_bare(netif))
        return TENON_OK;
    tn_solicited_node(&group, &address->ip);
    return joined ? tn_group_join(stack, netif, &group) : tn_group_leave(stack, netif, &group);
}

/* An IPv6 address that was made by itself says nothing of what is on the link (RFC 5942 4). */
static int address_has_route(const struct tn_address *address)
{
    if (address->bits == 128 || address->automatic)
        return 0;
    return tenon_ip_is_v4(&address->ip) || !tn_ip_is_link_local(&address->ip);
}

static int address_add_route(struct tenon *stack, const struct tn_address *address)
{
    struct tn_route route;
    int error;

    if (!TENON_WITH_HOMES || !address_has_route(address))
        return TENON_OK;
    tn_route_to(&route, address->netif, &address->ip, address->bits);
    route.origin = ROUTE_ADDRESS;
    error = tn_route_insert(stack, &route);
    return error == TENON_EINUSE ? TENON_OK : error;    /* another address has brought it */
}

TENON_INTERNAL int tn_address_brings(const struct tenon *stack, const struct tn_route *route)
{
    unsigned i;

    for (i = 0; i < tn_addrs_max(&stack->conf) && tenon_ip_is_any(&route->gateway); i++) {
        const struct tn_address *other = &stack->link.addresses[i];

        if (other->netif == route->netif && other->bits == route->bits && address_has_route(other) &&
            tn_ip_match(&other->ip, &route->dst, route->bits))
            return 1;
    }
    return 0;
}

/* The first that is free. */
static struct tn_address *address_slot(const struct tenon *stack)
{
    unsigned i;

    for (i = 0; i < tn_addrs_max(&stack->conf); i++) {
        if (stack->link.addresses[i].netif == 0)
            return &stack->link.addresses[i];
    }
    return NULL;
}

TENON_INTERNAL int tn_address_new(struct tenon *stack, const struct tn_address *wanted)
{
    struct tn_address *address;

    if (tn_address_find(stack, wanted->netif, &wanted->ip) != NULL)
        return TENON_EINUSE;
    address = address_slot(stack);
    if (address == NULL || address_group(stack, wanted, 1) != TENON_OK)
        return TENON_ELIMIT;
    if (address_add_route(stack, wanted) != TENON_OK) {
        (void)address_group(stack, wanted, 0);
        return TENON_ELIMIT;
    }
    memcpy(address, wanted, sizeof(*address));
    if (TENON_WITH_SPEED && address == stack->link.addresses + stack->link.addrs_end)
        stack->link.addrs_end++;
    if (TENON_WATCHES_ADDRESSES)
        address->timer.timer.kind = TN_TIMER_ADDRESS;
    tn_address_start(stack, address);
    return TENON_OK;
}

TENON_INTERNAL void tn_address_drop(struct tenon *stack, struct tn_address *address)
{
    tn_link_timer_stop(stack, &address->timer);
    (void)address_group(stack, address, 0);
    memset(address, 0, sizeof(*address));
    tn_path_invalidate(stack);
}

/* Whether somebody else may have it already. */
static int address_is_asked_for(const struct tn_address *address)
{
    return TENON_WITH_CONFLICTS || !tenon_ip_is_v4(&address->ip);
}

TENON_INTERNAL void tn_address_start(struct tenon *stack, struct tn_address *address)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);

    address->state = TENON_ADDR_TENTATIVE;
    if (!netif->up || (!tenon_ip_is_v4(&address->ip) && !netif->ip6))
        return;
    if (!address_is_asked_for(address) || (netif->conf.flags & TENON_NETIF_NO_DAD) ||
        tn_netif_is_bare(netif))
        tn_address_ready(stack, address);
    else
        tn_dad_start(stack, address);
}

TENON_INTERNAL void tn_address_ready(struct tenon *stack, struct tn_address *address)
{
    struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);

    address->state = TENON_ADDR_PREFERRED;
    if (TENON_WITH_IPV6 && tn_link_is_over(stack, address->preferred_until_s))
        address->state = TENON_ADDR_DEPRECATED;
    tn_path_invalidate(stack);
    if (!tenon_ip_is_v4(&address->ip)) {
        if (tn_ip_is_link_local(&address->ip))
            tn_router_solicit(stack, netif);
        return;
    }
    if (!tn_netif_is_bare(netif))
        tn_dad_announce(stack, address, netif->conf.flags & TENON_NETIF_NO_DAD ? 1 : 2);
}

/* Whether somebody may have this address in this network. */
static int address_is_possible(const struct tn_netif *netif, const struct tenon_ip *ip, unsigned bits)
{
    return tn_ip_is_host(ip) && (tenon_ip_is_v4(ip) ? !address_is_edge(ip, ip, bits) : netif->ip6);
}

TENON_API int tenon_addr_add(struct tenon *stack, unsigned index, const struct tenon_ip *ip, unsigned prefix)
{
    const struct tn_netif *netif = tn_netif_at(stack, index);
    const unsigned shift = tenon_ip_is_v4(ip) ? 96 : 0;
    struct tn_address wanted;

    if (netif == NULL || prefix > 128 - shift || !address_is_possible(netif, ip, prefix + shift))
        return TENON_EINVAL;
    memset(&wanted, 0, sizeof(wanted));
    wanted.ip = *ip;
    wanted.netif = netif->index;
    wanted.bits = (tenon_u8)(prefix + shift);
    return tn_address_new(stack, &wanted);
}

TENON_API int tenon_addr_remove(struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    struct tn_address *address = tn_netif_at(stack, netif) == NULL ? NULL : tn_address_find(stack, netif, ip);

    if (address == NULL)
        return TENON_ENOADDR;
    tn_address_drop(stack, address);
    tn_link_lifetimes(stack);
    return TENON_OK;
}

TENON_API int tenon_addr_get(const struct tenon *stack, unsigned index, struct tenon_addr_info *info)
{
    unsigned i;

    for (i = 0; i < tn_addrs_max(&stack->conf); i++) {
        const struct tn_address *address = &stack->link.addresses[i];

        if (address->netif == 0 || index-- > 0)
            continue;
        info->ip = address->ip;
        info->netif = address->netif;
        info->prefix = address->bits - (tenon_ip_is_v4(&address->ip) ? 96U : 0U);
        info->state = (enum tenon_addr_state)address->state;
        info->automatic = address->automatic;
        info->valid_s = TENON_WITH_IPV6 ? tn_link_remaining(stack, address->valid_until_s) : TN_FOREVER;
        info->preferred_s = TENON_WITH_IPV6 ? tn_link_remaining(stack, address->preferred_until_s) : TN_FOREVER;
        return TENON_OK;
    }
    return TENON_EINVAL;
}
