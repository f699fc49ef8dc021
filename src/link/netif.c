/* SPDX-License-Identifier: MIT */
/* Interfaces: adding one, its link going up and down, its MTU. */
#include "link/link_internal.h"
#include "wire/wire.h"

enum { NETIF_MTU_MIN = 576, NETIF_MTU_MIN_IP6 = 1280 };
enum { NETIF_RETRANS_MS = 1000 };    /* RFC 4861 10 */

TENON_INTERNAL struct tn_netif *tn_netif_at(const struct tenon *stack, unsigned index)
{
    if (index == 0 || index > tn_netifs_max(&stack->conf) || stack->link.netifs[index - 1].index == 0)
        return NULL;
    return &stack->link.netifs[index - 1];
}

static int netif_may_ip6(const struct tn_netif *netif)
{
    return TENON_WITH_IPV6 && !(netif->conf.flags & TENON_NETIF_NO_IP6) && netif->conf.mtu >= NETIF_MTU_MIN_IP6;
}

/* What routers said is forgotten: the link may be another one now. */
static void netif_reset_nd(struct tn_netif *netif)
{
    if (TENON_WITH_IPV6) {
        netif->ip6 = (tenon_u8)netif_may_ip6(netif);
        netif->hop_limit = 0;
        netif->ip6_mtu = 0;
        netif->reachable_ms = TN_REACHABLE_MS;
    }
    if (TENON_WITH_ETHERNET || TENON_WITH_IPV6)
        netif->retrans_ms = NETIF_RETRANS_MS;
}

/* Begin with the addresses of one IP version as on a new link. Groups are reported when those that are to be probed
 * again are not spoken from any more (RFC 5227 2.1, RFC 4862 5.4): no query was heard in between. */
static void netif_start_addresses(struct tenon *stack, struct tn_netif *netif, int is_v4)
{
    int has_link_local = 0;
    unsigned i;

    for (i = 0; i < tn_addrs_max(&stack->conf); i++) {
        struct tn_address *address = &stack->link.addresses[i];

        if (address->netif == 0 || !tn_netif_is(address->netif, netif->index) ||
            tenon_ip_is_v4(&address->ip) != is_v4)
            continue;
        has_link_local |= tn_ip_is_link_local(&address->ip);
        tn_address_start(stack, address);
    }
    tn_groups_link(stack, netif, is_v4);
    if (TENON_WITH_IPV6 && !is_v4 && netif->ip6 && !has_link_local)
        (void)tn_slaac_link_local(stack, netif);    /* without room for it there is no IPv6: as before */
}

static void netif_stop(struct tenon *stack, struct tn_netif *netif)
{
    unsigned i;

    tn_link_timer_stop(stack, &netif->rs_timer);
    netif->rs_left = 0;
    for (i = 0; i < tn_addrs_max(&stack->conf); i++) {
        if (stack->link.addresses[i].netif == netif->index)
            tn_link_timer_stop(stack, &stack->link.addresses[i].timer);
    }
    tn_groups_link(stack, netif, 0);
    tn_groups_link(stack, netif, 1);
    tn_neighbours_forget(stack, netif->index);
    tn_path_invalidate(stack);
    tn_tx_forget(stack, netif);
}

/* Whether the port gathers as much as is sent, where nobody puts frames together for it. */
static int netif_gathers(const struct tenon *stack, const struct tenon_netif_conf *conf)
{
    return TENON_WITH_LINEAR || !TENON_WITH_PIECES || conf->gather_max == 0 || conf->gather_max >= stack->tx.gather;
}

static int netif_conf_is_good(const struct tenon_netif_conf *conf)
{
    const tenon_u32 cuts = TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO;
    const unsigned take = TENON_WITH_IPV6 && !(conf->flags & TENON_NETIF_NO_IP6) ? NETIF_MTU_MIN_IP6 : NETIF_MTU_MIN;

    if (conf->mru != 0 && conf->mru < take)
        return 0;    /* RFC 1122 3.3.2, RFC 8200 5: each host takes so much */
    if (conf->mtu < NETIF_MTU_MIN)
        return 0;
    if (TENON_WITH_SPEED && (conf->caps & cuts) && !(conf->caps & TENON_CAP_TX_CSUM))
        return 0;    /* each piece needs a checksum of its own */
    if (conf->caps & TENON_CAP_NO_LINK)
        return TENON_WITH_LINKS || !TENON_WITH_ETHERNET;
    return TENON_WITH_ETHERNET && tn_mac_is_host(conf->mac);
}

TENON_API int tenon_netif_add(struct tenon *stack, const struct tenon_netif_conf *conf)
{
    struct tn_netif *netif;
    unsigned i = 0;

    if (!netif_conf_is_good(conf) || !netif_gathers(stack, conf))
        return TENON_EINVAL;
    while (i < tn_netifs_max(&stack->conf) && stack->link.netifs[i].index != 0)
        i++;
    if (i == tn_netifs_max(&stack->conf))
        return TENON_ELIMIT;
    netif = &stack->link.netifs[i];
    netif->conf = *conf;
    if (TENON_WITH_SPEED)
        netif->link_bytes = (conf->caps & TENON_CAP_NO_LINK) ? 0 : TN_ETH_BYTES;
    netif->index = (tenon_u8)(i + 1);
    netif->up = 1;
    if (TENON_WITH_IPV6)
        netif->rs_timer.timer.kind = TN_TIMER_SOLICIT;
    netif_reset_nd(netif);
    tn_path_invalidate(stack);
    if (TENON_WITH_IPV6 && netif->ip6 && tn_slaac_link_local(stack, netif) != TENON_OK) {
        netif->index = netif->up = 0;
        return TENON_ELIMIT;
    }
    return (int)netif->index;
}

TENON_API int tenon_netif_link(struct tenon *stack, unsigned index, int up)
{
    struct tn_netif *netif = tn_netif_at(stack, index);

    if (netif == NULL)
        return TENON_EINVAL;
    if ((up != 0) == netif->up)
        return TENON_OK;
    netif->up = up != 0;
    if (!netif->up) {
        netif_stop(stack, netif);
        return TENON_OK;
    }
    netif->ups++;
    netif_reset_nd(netif);
    tn_path_invalidate(stack);
    netif_start_addresses(stack, netif, 1);
    if (TENON_WITH_IPV6)
        netif_start_addresses(stack, netif, 0);
    return TENON_OK;
}

TENON_API int tenon_netif_mtu(struct tenon *stack, unsigned index, tenon_u16 mtu)
{
    struct tn_netif *netif = tn_netif_at(stack, index);
    int had_ip6;

    if (netif == NULL || mtu < NETIF_MTU_MIN)
        return TENON_EINVAL;
    had_ip6 = netif_may_ip6(netif);
    netif->conf.mtu = mtu;
    if (netif->ip6_mtu > mtu)
        netif->ip6_mtu = 0;
    if (netif_may_ip6(netif) != had_ip6) {
        netif->ip6 = (tenon_u8)netif_may_ip6(netif);
        if (netif->ip6 && netif->up)
            netif_start_addresses(stack, netif, 0);
    }
    tn_path_invalidate(stack);
    return TENON_OK;
}

TENON_API int tenon_netif_get(const struct tenon *stack, unsigned index, struct tenon_netif_info *info)
{
    const struct tn_netif *netif;

    if (index == 0 || index > tn_netifs_max(&stack->conf) || stack->link.netifs[index - 1].index == 0)
        return TENON_EINVAL;
    netif = &stack->link.netifs[index - 1];
    info->conf = netif->conf;
    info->up = netif->up;
    info->ups = netif->ups;
    info->rx_frames = netif->rx_frames;
    info->rx_bytes = netif->rx_bytes;
    info->tx_frames = netif->tx_frames;
    info->tx_bytes = netif->tx_bytes;
    return TENON_OK;
}
