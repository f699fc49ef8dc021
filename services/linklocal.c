/* SPDX-License-Identifier: MIT */
/* IPv4 link-local addresses (RFC 3927). */
#include "linklocal.h"

#include "internal.h"

/* RFC 3927 2.1: the first and the last 256 addresses are not for us. */
#define LINKLOCAL_FIRST 0xA9FE0100UL
#define LINKLOCAL_COUNT 0xFE00UL
enum { LINKLOCAL_BITS = 16 };

/* The same for a host each time, another one for each try: FNV-1a of the Ethernet address and the number. */
static struct tenon_ip linklocal_candidate(const tenon_u8 *mac, tenon_u32 number)
{
    tenon_u32 hash = 0x811C9DC5UL;
    unsigned i;

    for (i = 0; i < 10; i++) {
        const tenon_u32 byte = i < 6 ? mac[i] : number >> (i - 6) * 8 & 0xFF;

        hash = ((hash ^ byte) * 0x01000193UL) & 0xFFFFFFFFUL;
    }
    hash ^= hash >> 15;
    return tenon_ip4(LINKLOCAL_FIRST + hash % LINKLOCAL_COUNT);
}

static int linklocal_try(struct tenon_linklocal *ll)
{
    struct tenon_netif_info info;
    int error = tenon_netif_get(ll->stack, ll->netif, &info);

    if (error != TENON_OK || (info.conf.caps & TENON_CAP_NO_LINK))
        return TENON_EINVAL;
    ll->ip = linklocal_candidate(info.conf.mac, ll->tries++);
    error = tenon_addr_add(ll->stack, ll->netif, &ll->ip, LINKLOCAL_BITS);
    ll->state = error == TENON_OK ? TENON_LINKLOCAL_PROBING : TENON_LINKLOCAL_OFF;
    return error;
}

int tenon_linklocal_start(struct tenon_linklocal *ll, struct tenon *stack, unsigned netif)
{
    int error;

    if (ll->state != TENON_LINKLOCAL_OFF)
        return TENON_EINVAL;
    ll->stack = stack;
    ll->netif = netif;
    ll->tries = 0;
    do {
        error = linklocal_try(ll);
    } while (error == TENON_EINUSE);    /* the caller has given us that one himself */
    return error;
}

/* RFC 3927 2.2.1: after ten conflicts no more than one try a minute. The core counts them, and sees to that. */
static void linklocal_next(struct tenon_linklocal *ll)
{
    ll->conflicts++;
    tenon_linklocal_stop(ll);
    while (linklocal_try(ll) == TENON_EINUSE)
        continue;
}

int tenon_linklocal_poll(struct tenon_linklocal *ll)
{
    const enum tenon_linklocal_state before = ll->state;
    const struct tenon_ip ip = ll->ip;
    struct tenon_addr_info info;

    if (ll->state == TENON_LINKLOCAL_OFF)
        return 0;
    if (!svc_address(ll->stack, ll->netif, &ll->ip, &info))
        ll->state = TENON_LINKLOCAL_OFF;    /* somebody has taken it away */
    else if (info.state == TENON_ADDR_DUPLICATE)
        linklocal_next(ll);
    else
        ll->state = info.state == TENON_ADDR_TENTATIVE ? TENON_LINKLOCAL_PROBING : TENON_LINKLOCAL_USED;
    return ll->state != before || !tenon_ip_equal(&ll->ip, &ip);
}

void tenon_linklocal_stop(struct tenon_linklocal *ll)
{
    if (ll->state != TENON_LINKLOCAL_OFF)
        (void)tenon_addr_remove(ll->stack, ll->netif, &ll->ip);
    ll->state = TENON_LINKLOCAL_OFF;
}
