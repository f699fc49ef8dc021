/* SPDX-License-Identifier: MIT */
/* Neighbour discovery (RFC 4861): solicitations and advertisements of neighbours; what routers say is in
 * router.c. Every message is checked as a whole before a byte of it is believed. */
#include "base/bytes.h"
#include "link/link_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum { ND_FLAG_ROUTER = 0x80, ND_FLAG_SOLICITED = 0x40, ND_FLAG_OVERRIDE = 0x20 };
enum { ND_NS_BYTES = 24, ND_RA_BYTES = 16, ND_RS_BYTES = 8, ND_REDIRECT_BYTES = 40 };

/* ---- output ---------------------------------------------------------------------------------- */

/* An option of 8 bytes (RFC 4861 4.6.1, RFC 3971 5.3.2). */
static void nd_add_option(struct tn_out *out, unsigned type, const tenon_u8 *six)
{
    tenon_u8 *p = out->hdr->data + out->off + out->len;

    p[0] = (tenon_u8)type;
    p[1] = 1;
    memcpy(p + 2, six, 6);
    out->len += 8;
}

static void nd_add_mac(const struct tn_netif *netif, struct tn_out *out, unsigned type)
{
    if (!tn_netif_is_bare(netif))
        nd_add_option(out, type, netif->conf.mac);
}

/* RFC 4861 7.2.2: to the group of the one who is looked for, 7.3.3: to itself when it is known. */
TENON_INTERNAL void tn_nd_solicit(struct tenon *stack, struct tn_neighbour *neighbour, const struct tenon_ip *src)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, neighbour->netif);
    struct tn_out out;

    if (!netif->ip6)
        return;    /* RFC 4862 5.4.5: nothing is sent where there is no IPv6 */
    if (tn_link_icmp6(stack, &out, TN_ICMP6_NS, &neighbour->ip) == NULL)
        return;
    nd_add_mac(netif, &out, ND_OPTION_SLLA);
    out.src = *src;
    out.dst = neighbour->ip;
    if (neighbour->state == TENON_NEIGHBOUR_INCOMPLETE)
        tn_solicited_node(&out.dst, &neighbour->ip);
    (void)tn_link_message(stack, netif, &out);
}

/* RFC 7527 4.1: six bytes that tell our own solicitation, come back in a loop, from another node's. The last two follow
 * from the others. */
static unsigned nd_nonce_end(const struct tn_address *address)
{
    return (unsigned)(address->nonce >> 16 ^ 0x5A5AUL);
}

/* RFC 4862 5.4.2 */
TENON_INTERNAL int tn_nd_probe(struct tenon *stack, const struct tn_netif *netif, const struct tn_address *address)
{
    struct tn_out out;
    tenon_u8 nonce[6];

    if (tn_link_icmp6(stack, &out, TN_ICMP6_NS, &address->ip) == NULL)
        return -1;
    put32be(nonce, address->nonce);
    put16be(nonce + 4, nd_nonce_end(address));
    nd_add_option(&out, ND_OPTION_NONCE, nonce);
    tn_solicited_node(&out.dst, &address->ip);
    return tn_link_message(stack, netif, &out);
}

TENON_INTERNAL void tn_nd_router_solicit(struct tenon *stack, const struct tn_netif *netif,
                                         const struct tenon_ip *src)
{
    struct tn_out out;

    if (tn_link_icmp6(stack, &out, TN_ICMP6_RS, NULL) == NULL)
        return;
    nd_add_mac(netif, &out, ND_OPTION_SLLA);
    out.src = *src;
    out.dst = tenon_ip6(0xFF020000UL, 0, 0, 2);
    (void)tn_link_message(stack, netif, &out);
}

/* RFC 4861 7.2.4 */
static void nd_advertise(struct tenon *stack, const struct nd_message *message, const struct tn_address *address,
                         int solicited)
{
    struct tn_out out;
    tenon_u8 *p = tn_link_icmp6(stack, &out, TN_ICMP6_NA, &address->ip);

    if (p == NULL)
        return;
    p[4] = ND_FLAG_OVERRIDE;
    if (solicited)
        p[4] |= ND_FLAG_SOLICITED;
    nd_add_mac(message->netif, &out, ND_OPTION_TLLA);
    out.src = address->ip;
    out.dst = solicited ? message->pkt->src : tenon_ip6(0xFF020000UL, 0, 0, 1);
    (void)tn_link_message(stack, message->netif, &out);
}

/* ---- options --------------------------------------------------------------------------------- */

/* The first of each type counts. A link-layer address of another length than Ethernet's is none. */
static int nd_take_option(struct nd_message *message, unsigned type, unsigned bytes, const tenon_u8 *p)
{
    if (type >= ND_KEPT || message->kept[type] != NULL || bytes != 8)
        return 0;
    if ((type == ND_OPTION_SLLA || type == ND_OPTION_TLLA) && !tn_mac_is_host(p + 2))
        return -1;
    message->kept[type] = p + 2;
    return 0;
}

/* Each step is 8 bytes or more: it ends. */
static int nd_options(struct nd_message *message)
{
    tenon_u32 at = message->options;

    while (at < message->len) {
        tenon_u8 type;
        const unsigned bytes = tn_nd_option(&type, message->p + at, message->len - at);

        if (bytes == 0 || nd_take_option(message, type, bytes, message->p + at) != 0)
            return -1;
        at += bytes;
    }
    return 0;
}

/* ---- neighbour solicitations ----------------------------------------------------------------- */

/* RFC 4861 7.1.1: from somebody who has no address yet. */
static int nd_probe_is_bad(const struct nd_message *message)
{
    struct tenon_ip group;

    tn_solicited_node(&group, &message->pkt->dst);
    return message->kept[ND_OPTION_SLLA] != NULL || !tenon_ip_equal(&message->pkt->dst, &group);
}

static int nd_is_our_nonce(const struct nd_message *message, const struct tn_address *address)
{
    const tenon_u8 *nonce = message->kept[ND_OPTION_NONCE];

    return nonce != NULL && get32be(nonce) == address->nonce && get16be(nonce + 4) == nd_nonce_end(address);
}

/* RFC 4861 7.2.3, RFC 4862 5.4.3 @return 0, or -1: bad */
static int nd_solicitation(struct tenon *stack, const struct nd_message *message)
{
    const struct tenon_ip *src = &message->pkt->src;
    const int is_probe = tenon_ip_is_any(src);
    struct tn_address *address;

    if (is_probe && nd_probe_is_bad(message))
        return -1;
    address = tn_address_find(stack, message->netif->index, &message->target);
    if (address == NULL)
        return 0;
    if (!tn_address_usable(address)) {
        if (is_probe && !nd_is_our_nonce(message, address))
            tn_dad_conflict6(stack, address);
        return 0;
    }
    if (!is_probe)
        (void)tn_neighbour_learn(stack, message->netif->index, src, message->kept[ND_OPTION_SLLA]);
    nd_advertise(stack, message, address, !is_probe);
    return 0;
}

/* ---- neighbour advertisements ---------------------------------------------------------------- */

/* RFC 4861 7.2.5. mac: its link-layer address from now on: what it says, or else what is known, if it is. */
static void nd_advertised_by(struct tenon *stack, struct tn_neighbour *neighbour, const tenon_u8 *mac, unsigned flags)
{
    const int same = memcmp(mac, neighbour->mac, 6) == 0, was_router = neighbour->router;

    if (!same && !(flags & ND_FLAG_OVERRIDE) && neighbour->state != TENON_NEIGHBOUR_INCOMPLETE) {
        if (neighbour->state == TENON_NEIGHBOUR_REACHABLE)
            neighbour->state = TENON_NEIGHBOUR_STALE;
        tn_link_changed(stack);
        return;    /* nothing else of it may be believed */
    }
    neighbour->router = (flags & ND_FLAG_ROUTER) != 0;
    if (flags & ND_FLAG_SOLICITED)
        tn_neighbour_resolve(stack, neighbour, mac, TENON_NEIGHBOUR_REACHABLE);
    else if (!same)
        tn_neighbour_resolve(stack, neighbour, mac, TENON_NEIGHBOUR_STALE);
    if (was_router && !neighbour->router)
        tn_route_gateway_gone(stack, neighbour->netif, &neighbour->ip);
}

static void nd_advertised(struct tenon *stack, const struct nd_message *message)
{
    struct tn_neighbour *neighbour = tn_neighbour_find(stack, message->netif->index, &message->target);
    const tenon_u8 *mac = message->kept[ND_OPTION_TLLA];
    const unsigned flags = message->p[4];

    if (TENON_WITH_MANY && neighbour == NULL && mac != NULL && (flags & ND_FLAG_SOLICITED))
        neighbour = tn_neighbour_asked(stack, message->netif->index, &message->target);
    if (neighbour == NULL || neighbour->state == TENON_NEIGHBOUR_PERMANENT)
        return;
    if (mac == NULL && neighbour->state != TENON_NEIGHBOUR_INCOMPLETE)
        mac = neighbour->mac;
    if (mac != NULL)
        nd_advertised_by(stack, neighbour, mac, flags);
}

/* RFC 4861 7.1.2, 7.2.5; RFC 4862 5.4.4 @return 0, or -1: bad */
static int nd_advertisement(struct tenon *stack, const struct nd_message *message)
{
    struct tn_address *address;

    if (tn_ip_is_multicast(&message->pkt->dst) && (message->p[4] & ND_FLAG_SOLICITED))
        return -1;
    address = tn_address_find(stack, message->netif->index, &message->target);
    if (address != NULL && address->state != TENON_ADDR_DUPLICATE)
        tn_dad_conflict6(stack, address);
    else
        nd_advertised(stack, message);
    return 0;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Fixed part of a message; 0: of no interest to a host (router solicitations). */
static unsigned nd_fixed_bytes(const struct tn_netif *netif, unsigned type)
{
    static const tenon_u8 bytes[] = { 0, ND_RA_BYTES, ND_NS_BYTES, ND_NS_BYTES, ND_REDIRECT_BYTES };

    return tn_netif_is_bare(netif) && type != TN_ICMP6_RA ? 0U : bytes[type - TN_ICMP6_RS];
}

static int nd_dispatch(struct tenon *stack, struct nd_message *message)
{
    if (message->pkt->ttl != TN_ND_HOP_LIMIT || message->p[1] != 0 || message->len < message->options ||
        nd_options(message) != 0)
        return -1;
    if (message->p[0] == TN_ICMP6_RA)
        return tn_router_advert(stack, message);
    read_ip6(&message->target, message->p + ND_RS_BYTES);
    /* RFC 4861 7.1.1, 7.1.2, 8.1. In place of an IPv6 address an IPv4 one could pass for an address of ours, and :: for
     * that of a place in which there is no neighbour. */
    if (!tn_ip_is_host(&message->target) || tenon_ip_is_v4(&message->target))
        return -1;
    switch (message->p[0]) {
    case TN_ICMP6_NS: return nd_solicitation(stack, message);
    case TN_ICMP6_NA: return nd_advertisement(stack, message);
    default: return tn_router_redirect(stack, message);
    }
}

TENON_INTERNAL void tn_nd_input(struct tenon *stack, struct tn_pkt *pkt)
{
    struct nd_message message;

    if (!pkt->netif->ip6)
        return;
    memset(&message, 0, sizeof(message));
    message.netif = pkt->netif;
    message.pkt = pkt;
    message.p = pkt->head;
    message.len = pkt->len;
    message.options = nd_fixed_bytes(pkt->netif, pkt->head[0]);
    if (message.options != 0 && nd_dispatch(stack, &message) != 0)
        tn_count(stack, TENON_STAT_ND_BAD);
}
