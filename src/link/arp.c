/* SPDX-License-Identifier: MIT */
/* ARP (RFC 826), with the care of RFC 1122 2.3.2 and RFC 5227. */
#include "link/link_internal.h"
#include "wire/wire.h"

/* ---- output ---------------------------------------------------------------------------------- */

/* RFC 3927 2.5: what has a link-local sender goes to everybody, replies too, so that who has the same address hears of
 * it. Who detects no conflicts has none. */
static int arp_is_for_all(const struct tn_arp *arp)
{
    return TENON_WITH_CONFLICTS && arp->sender_ip >> 16 == 0xA9FEUL;
}

/* To the target; whose address is not known, NULL, is looked for among all. @return 0; else it has not left */
static int arp_send(struct tenon *stack, const struct tn_netif *netif, struct tn_arp *arp)
{
    static const tenon_u8 nobody[6] = { 0, 0, 0, 0, 0, 0 };
    const tenon_u8 *to = arp_is_for_all(arp) ? NULL : arp->target_mac;
    struct tn_out out;

    if (!netif->up || tn_out_new(stack, &out) != TENON_OK)
        return -1;
    if (arp->target_mac == NULL)
        arp->target_mac = nobody;
    arp->sender_mac = netif->conf.mac;
    out.len = tn_arp_build(out.hdr->data + out.off, arp);
    out.l4_bytes = (tenon_u16)out.len;
    return tn_link_frame(stack, netif, to, &out);
}

/* mac: of whom the request goes to; NULL: to everybody. */
static int arp_request(struct tenon *stack, const struct tn_netif *netif, tenon_u32 sender, tenon_u32 target,
                       const tenon_u8 *mac)
{
    struct tn_arp arp;

    arp.op = TN_ARP_REQUEST;
    arp.sender_ip = sender;
    arp.target_ip = target;
    arp.target_mac = mac;
    return arp_send(stack, netif, &arp);
}

/* Broadcast to find it, unicast to see whether it is still there (RFC 1122 2.3.2.1). */
TENON_INTERNAL void tn_arp_solicit(struct tenon *stack, const struct tn_neighbour *neighbour,
                                   const struct tenon_ip *src)
{
    const tenon_u8 *mac = neighbour->state == TENON_NEIGHBOUR_INCOMPLETE ? NULL : neighbour->mac;

    (void)arp_request(stack, tn_netif_of(&stack->link, neighbour->netif), src->w[TENON_IP4_WORD],
                      neighbour->ip.w[TENON_IP4_WORD], mac);
}

TENON_INTERNAL int tn_arp_probe(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip)
{
    return arp_request(stack, netif, 0, ip->w[TENON_IP4_WORD], NULL);
}

TENON_INTERNAL void tn_arp_announce(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip)
{
    (void)arp_request(stack, netif, ip->w[TENON_IP4_WORD], ip->w[TENON_IP4_WORD], NULL);
}

static void arp_reply(struct tenon *stack, const struct tn_netif *netif, const struct tn_arp *request)
{
    struct tn_arp arp;

    arp.op = TN_ARP_REPLY;
    arp.sender_ip = request->target_ip;
    arp.target_ip = request->sender_ip;
    arp.target_mac = request->sender_mac;
    (void)arp_send(stack, netif, &arp);
}

/* ---- input ----------------------------------------------------------------------------------- */

static int arp_sender_is_possible(const struct tenon *stack, const struct tn_arp *arp)
{
    const struct tenon_ip sender = tenon_ip4(arp->sender_ip);

    if (!tn_mac_is_host(arp->sender_mac))
        return 0;
    if (arp->sender_ip == 0)
        return arp->op == TN_ARP_REQUEST;    /* a probe */
    return tn_ip_is_host(&sender) && !tn_addr_is_broadcast(stack, &sender);
}

/* Somebody else claims an address of ours, or probes for one for which we probe too (RFC 5227 2.1.1).
 * @return 1: nothing else is to be believed of this message */
static int arp_conflict(struct tenon *stack, struct tn_netif *netif, const struct tn_arp *arp)
{
    const struct tenon_ip ip = tenon_ip4(arp->sender_ip != 0 ? arp->sender_ip : arp->target_ip);
    struct tn_address *address = tn_address_find(stack, netif->index, &ip);

    if (address == NULL || address->state == TENON_ADDR_DUPLICATE)
        return 0;
    if (arp->sender_ip == 0 && address->state != TENON_ADDR_TENTATIVE)
        return 0;
    tn_dad_conflict4(stack, address);
    return 1;
}

/* RFC 826: whoever speaks of itself is believed, if we know it already. An answer to a question of ours
 * also shows that it is there. */
static void arp_update(struct tenon *stack, struct tn_neighbour *neighbour, const struct tn_arp *arp, int answer)
{
    const int same = memcmp(neighbour->mac, arp->sender_mac, 6) == 0;
    const int asked = neighbour->state == TENON_NEIGHBOUR_INCOMPLETE || neighbour->state == TENON_NEIGHBOUR_PROBE;

    if (neighbour->state == TENON_NEIGHBOUR_PERMANENT)
        return;
    if (answer && (asked || same))
        tn_neighbour_resolve(stack, neighbour, arp->sender_mac, TENON_NEIGHBOUR_REACHABLE);
    else if (!same)
        tn_neighbour_resolve(stack, neighbour, arp->sender_mac, TENON_NEIGHBOUR_STALE);
}

/* To a question of ours, perhaps. */
TENON_INLINE int arp_is_answer(const struct tn_pkt *pkt, const struct tn_arp *arp, int for_us)
{
    return for_us && arp->op == TN_ARP_REPLY && (pkt->cast == TN_CAST_UNICAST || arp_is_for_all(arp));
}

static void arp_input(struct tenon *stack, struct tn_pkt *pkt, const struct tn_arp *arp)
{
    const struct tenon_ip sender = tenon_ip4(arp->sender_ip), target = tenon_ip4(arp->target_ip);
    const struct tn_address *ours = tn_address_find(stack, pkt->netif->index, &target);
    struct tn_neighbour *neighbour = NULL;
    int for_us, asks_us;

    if (TENON_WITH_CONFLICTS && arp_conflict(stack, pkt->netif, arp))
        return;
    for_us = ours != NULL && tn_address_usable(ours);
    asks_us = for_us && arp->op == TN_ARP_REQUEST;
    /* RFC 826 would learn from replies too; only those who ask us are worth an entry. */
    if (arp->sender_ip != 0)
        neighbour = asks_us ? tn_neighbour_need(stack, pkt->netif->index, &sender)
                            : tn_neighbour_find(stack, pkt->netif->index, &sender);
    if (TENON_WITH_MANY && neighbour == NULL && arp_is_answer(pkt, arp, for_us))
        neighbour = tn_neighbour_asked(stack, pkt->netif->index, &sender);
    if (neighbour != NULL)
        arp_update(stack, neighbour, arp, arp_is_answer(pkt, arp, for_us));
    if (asks_us)
        arp_reply(stack, pkt->netif, arp);
}

TENON_INTERNAL void tn_arp_input(struct tenon *stack, struct tn_pkt *pkt)
{
    tenon_u8 bytes[TN_ARP_BYTES];
    struct tn_arp arp;

    if (pkt->len < TN_ARP_BYTES) {
        tn_count(stack, TENON_STAT_ARP_BAD);
        return;
    }
    if (TENON_WITH_SPLIT)
        tn_spans_copy(bytes, pkt->spans, pkt->off, TN_ARP_BYTES);
    if (tn_arp_parse(&arp, TENON_WITH_SPLIT ? bytes : pkt->head, TN_ARP_BYTES) != 0 ||
        !arp_sender_is_possible(stack, &arp)) {
        tn_count(stack, TENON_STAT_ARP_BAD);
        return;
    }
    if (memcmp(arp.sender_mac, pkt->netif->conf.mac, 6) == 0)
        return;    /* our own, come back */
    arp_input(stack, pkt, &arp);
}
