/* SPDX-License-Identifier: MIT */
/* Which of our addresses to send from: RFC 6724 5, for both IP versions. (Which of a host's to send to:
 * destination.c.) */
#include "link/link_internal.h"

/* RFC 6724 3.1, 3.2: scopes as in multicast addresses (RFC 7346 2). */
enum { SOURCE_LINK_LOCAL = 2, SOURCE_SITE_LOCAL = 5, SOURCE_GLOBAL = 14 };

TENON_INTERNAL unsigned tn_source_scope(const struct tenon_ip *ip)
{
    if (TENON_WITH_IPV6 && ip->w[0] >= 0xFF000000UL)
        return (unsigned)(ip->w[0] >> 16 & 0xF);
    if (TENON_WITH_IPV6 && ip->w[0] >= 0xFEC00000UL)    /* fec0::/10 */
        return SOURCE_SITE_LOCAL;
    return tn_ip_is_link_local(ip) || tn_ip_is_loopback(ip) ? SOURCE_LINK_LOCAL : SOURCE_GLOBAL;
}

/* The default policy table (RFC 6724 2.1): the rows that the first word decides. */
struct source_row {
    tenon_u32 prefix;
    tenon_u8 bits, label;
};

static const struct source_row source_rows[] = {
    { 0x20010000UL, 32, 5 },
    { 0x20020000UL, 16, 2 },
    { 0x3FFE0000UL, 16, 12 },
    { 0xFEC00000UL, 10, 11 },
    { 0xFC000000UL, 7, 13 }
};

/* The others: loopback, IPv4, what was IPv4 in IPv6, and all the rest. */
enum { SOURCE_LABEL_LOOPBACK = 0, SOURCE_LABEL_REST = 1, SOURCE_LABEL_COMPATIBLE = 3, SOURCE_LABEL_IP4 = 4 };

TENON_INTERNAL unsigned tn_source_label(const struct tenon_ip *ip)
{
    unsigned i;

    if (tenon_ip_is_v4(ip))
        return SOURCE_LABEL_IP4;
    if ((ip->w[0] | tenon_ip_word(ip, 1) | tenon_ip_word(ip, 2)) == 0)
        return tn_ip_is_loopback(ip) ? SOURCE_LABEL_LOOPBACK : SOURCE_LABEL_COMPATIBLE;
    for (i = 0; i < TENON_ARRAY_LEN(source_rows); i++) {
        if ((ip->w[0] ^ source_rows[i].prefix) >> (32 - source_rows[i].bits) == 0)
            return source_rows[i].label;
    }
    return SOURCE_LABEL_REST;
}

/* CommonPrefixLen(S, D) of RFC 6724 2.2: no longer than the prefix of S. */
TENON_INTERNAL unsigned tn_source_common(const struct tn_address *source, const struct tenon_ip *dst)
{
    unsigned bits = source->bits;

    while (!tn_ip_match(&source->ip, dst, bits))
        bits--;
    return bits;
}

struct source_query {
    const struct tenon_ip *dst;
    const struct tenon_ip *next_hop;
    unsigned netif;
    unsigned scope, label;              /* of dst */
};

/* Rule 5.5 asks for the prefix that the next hop advertises; ours come without that knowledge, so an address
 * in the next hop's own network counts. */
static int source_is_beside(const struct tn_address *address, const struct source_query *query)
{
    return tn_netif_is(address->netif, query->netif) && tn_ip_match(&address->ip, query->next_hop, address->bits);
}

/* Rule 2: the smallest scope that reaches, or else the largest. */
static unsigned source_reach(const struct tn_address *address, const struct source_query *query)
{
    const unsigned scope = tn_source_scope(&address->ip);

    return scope >= query->scope ? 63 - scope : scope;
}

/* By the rules of which each decides only where all before it do not: the first of them is the highest digit. */
static unsigned source_rank(const struct tn_address *address, const struct source_query *query)
{
    unsigned rank = (unsigned)tenon_ip_equal(&address->ip, query->dst);                /* rule 1 */

    rank = rank * 64 + source_reach(address, query);                                   /* rule 2 */
    rank = rank * 2 + (address->state == TENON_ADDR_PREFERRED);                        /* rule 3 */
    rank = rank * 2 + (unsigned)tn_netif_is(address->netif, query->netif);             /* rule 5 */
    rank = rank * 2 + (unsigned)source_is_beside(address, query);                      /* rule 5.5 */
    if (TENON_WITH_ROUTES)
        rank = rank * 2 + (tn_source_label(&address->ip) == query->label);             /* rule 6 */
    return rank;
}

/* A router does not pass on what comes from a link-local address (RFC 4291 2.5.6), and must not be sent that for it to
 * try (RFC 3927 2.7). */
static int source_stays_here(const struct tn_address *address, const struct tenon_ip *dst,
                             const struct tenon_ip *next_hop)
{
    return tn_ip_is_link_local(&address->ip) && !tenon_ip_equal(next_hop, dst);
}

/* RFC 6724 4: for multicast and link-local destinations (and 255.255.255.255) only what the interface has will
 * do; otherwise any interface's, where rule 5 prefers the right one. */
static int source_is_candidate(const struct tn_address *address, const struct source_query *query)
{
    if (!tn_address_usable(address) || tenon_ip_is_v4(&address->ip) != tenon_ip_is_v4(query->dst) ||
        source_stays_here(address, query->dst, query->next_hop))
        return 0;
    if (tn_netif_is(address->netif, query->netif))
        return 1;
    return !tn_ip_is_on_link_only(query->dst) && !tn_ip_is_link_local(&address->ip);
}

/* One interface with an address or two: which is in the network of the next hop, or else the first. */
static const struct tn_address *source_first(const struct tenon *stack, const struct tenon_ip *dst, unsigned netif,
                                             const struct tenon_ip *next_hop)
{
    const struct tn_address *address = stack->link.addresses, *best = NULL;
    const struct tn_address *const end = address + tn_addrs_max(&stack->conf);

    for (; address < end; address++) {
        if (!tn_address_usable(address) || !tn_netif_is(address->netif, netif))
            continue;
        if (TENON_WITH_HOMES && source_stays_here(address, dst, next_hop))
            continue;
        if (TENON_WITH_HOMES && tn_ip_match(&address->ip, next_hop, address->bits))
            return address;
        if (best == NULL)
            best = address;
    }
    return best;
}

TENON_INTERNAL const struct tn_address *tn_source_select(const struct tenon *stack, const struct tenon_ip *dst,
                                                         unsigned netif, const struct tenon_ip *next_hop)
{
    const struct tn_address *address = stack->link.addresses, *best = NULL;
    const struct tn_address *const end = address + tn_addrs_max(&stack->conf);
    struct source_query query;
    unsigned rank, most = 0;

    if (!TN_ROUTERS)
        return source_first(stack, dst, netif, next_hop);
    query.dst = dst;
    query.next_hop = next_hop;
    query.netif = netif;
    query.scope = tn_source_scope(dst);
    if (TENON_WITH_ROUTES)
        query.label = tn_source_label(dst);
    for (; address < end; address++) {
        if (!source_is_candidate(address, &query))
            continue;
        rank = source_rank(address, &query);
        TENON_ASSERT(rank > 0);    /* as no scope is: the first one is better than none */
        if (rank < most || (rank == most && tn_source_common(address, dst) <= tn_source_common(best, dst)))
            continue;    /* rule 8 */
        most = rank;
        best = address;
    }
    return best;
}
