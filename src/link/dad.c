/* SPDX-License-Identifier: MIT */
/* Is an address free, and what if it is not: address conflict detection for IPv4 (RFC 5227) and duplicate
 * address detection for IPv6 (RFC 4862 5.4, RFC 7527). One timer per address walks through the phases:
 *
 *   IPv4   PROBE (3 probes, 1..2 s apart) - WAIT (2 s) - in use: ANNOUNCE (2, 2 s apart)
 *   IPv6   dad_transmits solicitations, RetransTimer apart - in use */
#include "link/link_internal.h"

/* RFC 5227 1.1 */
enum {
    DAD_PROBE_WAIT_MS = 1000,
    DAD_PROBES = 3,
    DAD_PROBE_MIN_MS = 1000,
    DAD_PROBE_SPREAD_MS = 1000,
    DAD_ANNOUNCE_WAIT_MS = 2000,
    DAD_ANNOUNCE_INTERVAL_MS = 2000,
    DAD_MAX_CONFLICTS = 10,
    DAD_RATE_LIMIT_S = 60,
    DAD_DEFEND_S = 10
};

enum { DAD_DELAY_MS = 1000 };                           /* RFC 4862 5.4.2 */
enum { DAD_IDGEN_RETRIES = 3 };                         /* RFC 7217 7 */

/* RFC 5227 2.1.1: after many conflicts, try no faster than once a minute. */
static tenon_u32 dad_penalty_ms(const struct tenon *stack, const struct tn_netif *netif)
{
    const tenon_u32 since = tn_link_seconds(stack) - netif->conflict_s;

    if (netif->conflicts < DAD_MAX_CONFLICTS || since >= DAD_RATE_LIMIT_S)
        return 0;
    return (DAD_RATE_LIMIT_S - since) * 1000;
}

TENON_INTERNAL void tn_dad_start(struct tenon *stack, struct tn_address *address)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);

    if (tenon_ip_is_v4(&address->ip)) {
        address->phase = ADDRESS_PROBE;
        address->left = DAD_PROBES;
        tn_link_timer_start(stack, &address->timer,
                            dad_penalty_ms(stack, netif) + tn_link_jitter(stack, DAD_PROBE_WAIT_MS));
        return;
    }
    address->left = stack->conf.dad_transmits;
    address->nonce = tn_random(&stack->random);
    tn_link_timer_start(stack, &address->timer, tn_link_jitter(stack, DAD_DELAY_MS));
}

static void dad_announce_next(struct tenon *stack, struct tn_address *address)
{
    tn_arp_announce(stack, tn_netif_of(&stack->link, address->netif), &address->ip);
    address->left--;
    if (address->left > 0)
        tn_link_timer_start(stack, &address->timer, DAD_ANNOUNCE_INTERVAL_MS);
}

TENON_INTERNAL void tn_dad_announce(struct tenon *stack, struct tn_address *address, unsigned times)
{
    if (!TENON_WITH_CONFLICTS) {
        tn_arp_announce(stack, tn_netif_of(&stack->link, address->netif), &address->ip);
        return;
    }
    address->phase = ADDRESS_ANNOUNCE;
    address->left = (tenon_u8)times;
    dad_announce_next(stack, address);
}

/* The probe is the last of the frames that wait for the port. */
static void dad_probed(struct tenon *stack, struct tn_address *address)
{
    address->left--;
    stack->tx.asks = stack->tx.n;
}

static void dad_probe_next(struct tenon *stack, struct tn_address *address)
{
    tenon_u32 ms = DAD_ANNOUNCE_WAIT_MS;

    if (tn_arp_probe(stack, tn_netif_of(&stack->link, address->netif), &address->ip) == 0)
        dad_probed(stack, address);    /* else once more: nobody was asked */
    if (address->left > 0)
        ms = DAD_PROBE_MIN_MS + tn_link_jitter(stack, DAD_PROBE_SPREAD_MS);
    else
        address->phase = ADDRESS_WAIT;
    tn_link_timer_start(stack, &address->timer, ms);
}

static void dad_solicit_next(struct tenon *stack, struct tn_address *address)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);

    if (!netif->ip6)
        return;    /* until there is IPv6 here again: netif_start_addresses() */
    if (address->left == 0) {
        tn_address_ready(stack, address);
        if (tn_ip_is_link_local(&address->ip))
            tn_groups_link(stack, netif, 0);    /* RFC 3590 4: no router has heard what came from :: */
        return;
    }
    if (tn_nd_probe(stack, netif, address) == 0)
        dad_probed(stack, address);    /* else once more: nobody was asked */
    tn_link_timer_start(stack, &address->timer, netif->retrans_ms);
}

/* The port has not taken the last probe, of whatever address: who was not asked cannot have answered. It is asked once
 * more when that has left. */
static int dad_is_held(struct tenon *stack, struct tn_address *address)
{
    if (stack->tx.asks == 0 || (TENON_WITH_CONFLICTS && address->phase == ADDRESS_ANNOUNCE))
        return 0;
    if (TENON_WITH_CONFLICTS && address->phase == ADDRESS_WAIT)
        address->phase = ADDRESS_PROBE;
    if (address->left == 0)
        address->left = 1;
    tn_link_timer_start(stack, &address->timer, DAD_PROBE_MIN_MS);
    return 1;
}

/* The phases of IPv4. */
static void dad_next4(struct tenon *stack, struct tn_address *address)
{
    switch (address->phase) {
    case ADDRESS_PROBE: dad_probe_next(stack, address); break;
    case ADDRESS_WAIT: tn_address_ready(stack, address); break;
    default: dad_announce_next(stack, address); break;
    }
}

TENON_INTERNAL void tn_dad_timer(struct tenon *stack, struct tn_address *address)
{
    if (!TENON_WATCHES_ADDRESSES || dad_is_held(stack, address))
        return;
    if (TENON_WITH_CONFLICTS && tenon_ip_is_v4(&address->ip))
        dad_next4(stack, address);
    else
        dad_solicit_next(stack, address);
}

static void dad_give_up(struct tenon *stack, struct tn_address *address)
{
    tn_link_timer_stop(stack, &address->timer);
    address->state = TENON_ADDR_DUPLICATE;
    tn_path_invalidate(stack);
}

/* RFC 5227 2.4: an address in use is defended if the last conflict was more than ten seconds ago (b). At the second
 * one within that time it is given up, unless it was configured to be used without question: then nothing is said (c).
 * Of whole seconds, ten can be nine and a little. */
static void dad_defend(struct tenon *stack, struct tn_address *address)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);
    const tenon_u32 now = tn_link_seconds(stack), last = address->conflict_s;

    address->conflict_s = now;
    if (last == 0 || now - last > DAD_DEFEND_S)
        tn_arp_announce(stack, netif, &address->ip);
    else if (!(netif->conf.flags & TENON_NETIF_NO_DAD))
        dad_give_up(stack, address);
}

TENON_INTERNAL void tn_dad_conflict4(struct tenon *stack, struct tn_address *address)
{
    struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);

    if (address->state == TENON_ADDR_DUPLICATE)
        return;
    tn_count(stack, TENON_STAT_ARP_CONFLICT);
    if (address->state != TENON_ADDR_TENTATIVE) {
        dad_defend(stack, address);
        return;
    }
    netif->conflict_s = tn_link_seconds(stack);
    if (netif->conflicts < DAD_MAX_CONFLICTS)
        netif->conflicts++;
    dad_give_up(stack, address);
}

/* Try another interface identifier (RFC 7217 6), after the delay with which every address starts. */
static void dad_try_another(struct tenon *stack, const struct tn_netif *netif, struct tn_address *address)
{
    struct tn_address next;

    memcpy(&next, address, sizeof(next));
    next.dad_counter++;
    tn_address_drop(stack, address);
    (void)tn_slaac_new(stack, netif, &next);    /* or there is an address less, and no duplicate left */
}

/* Only while it is tentative; afterwards RFC 4862 5.4.4 leaves it to the one who comes second. */
TENON_INTERNAL void tn_dad_conflict6(struct tenon *stack, struct tn_address *address)
{
    struct tn_netif *netif = tn_netif_of(&stack->link, address->netif);

    if (address->state == TENON_ADDR_DUPLICATE)
        return;
    tn_count(stack, TENON_STAT_ND_DUPLICATE);
    if (address->state != TENON_ADDR_TENTATIVE)
        return;
    dad_give_up(stack, address);
    if (!address->automatic)
        return;
    if (address->dad_counter < DAD_IDGEN_RETRIES)
        dad_try_another(stack, netif, address);
    else if (tn_ip_is_link_local(&address->ip))
        netif->ip6 = 0;    /* RFC 4862 5.4.5: without a link-local address there is no IPv6 on this link */
}
