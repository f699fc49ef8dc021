/* SPDX-License-Identifier: MIT */
/* Packets on their way to the link: find the neighbour, put the Ethernet header on. */
#include "base/bytes.h"
#include "link/link_internal.h"
#include "wire/wire.h"

enum { LINK_ICMP6_BYTES = 8 };    /* with the four behind type, code and checksum */

/* A packet says itself what it is: it begins with the version of IP, or with ARP's hardware type, which is 1. */
static unsigned link_output_ethertype(const tenon_u8 *p)
{
    if (p[0] == 0)
        return TN_ETHERTYPE_ARP;
    return !TENON_WITH_IPV6 || p[0] >> 4 == 4 ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6;
}

TENON_INTERNAL int tn_link_frame(struct tenon *stack, const struct tn_netif *netif, const tenon_u8 *mac,
                                 struct tn_out *out)
{
    static const tenon_u8 everybody[6] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    tenon_u8 *p;

    TENON_ASSERT(out->off >= TN_ETH_BYTES);
    out->off -= TN_ETH_BYTES;
    out->len += TN_ETH_BYTES;
    p = out->hdr->data + out->off;
    (void)tn_eth_build(p, mac != NULL ? mac : everybody, netif->conf.mac, link_output_ethertype(p + TN_ETH_BYTES));
    out->netif = netif->index;
    return tn_tx(stack, out);
}

/* RFC 1112 6.4, RFC 2464 7 */
static void link_output_group_mac(tenon_u8 *mac, const struct tenon_ip *ip)
{
    if (tenon_ip_is_v4(ip)) {
        put32be(mac + 2, 0x5E000000UL | (ip->w[TENON_IP4_WORD] & 0x7FFFFFUL));
        put16be(mac, 0x0100);
        return;
    }
    put16be(mac, 0x3333);
    put32be(mac + 2, ip->w[TENON_IP4_WORD]);
}

static int link_output_to_many(struct tenon *stack, const struct tn_netif *netif, const struct tn_path *path,
                               struct tn_out *out)
{
    const tenon_u8 *to = NULL;
    tenon_u8 mac[6];

    if (TENON_WITH_MULTICAST && path->cast == TN_CAST_MULTICAST) {
        link_output_group_mac(mac, &path->next_hop);
        to = mac;
    }
    return tn_link_frame(stack, netif, to, out);
}

static int link_output_drop(struct tn_out *out, int error)
{
    tenon_buf_put(out->hdr);
    return error;
}

TENON_INTERNAL int tn_link_output(struct tenon *stack, struct tn_path *path, struct tn_out *out)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, path->netif);
    struct tn_neighbour *neighbour = path->neighbour;

    if (tn_netif_is_bare(netif)) {
        out->netif = path->netif;
        return tn_tx(stack, out);
    }
    if (!netif->up)
        return link_output_drop(out, TENON_EUNREACH);
    if (path->cast != TN_CAST_UNICAST)
        return link_output_to_many(stack, netif, path, out);
    if (!TENON_WITH_MANY || neighbour == NULL || neighbour->serial != path->neighbour_serial) {
        neighbour = tn_neighbour_need(stack, path->netif, &path->next_hop);
        if (neighbour == NULL)
            return link_output_drop(out, TENON_ENOMEM);
        if (TENON_WITH_MANY) {
            path->neighbour = neighbour;
            path->neighbour_serial = neighbour->serial;
        }
    }
    return tn_neighbour_send(stack, neighbour, out);
}

TENON_INTERNAL const struct tn_netif *tn_link_ready(struct tenon *stack, struct tn_path *path, const tenon_u8 **mac)
{
    struct tn_neighbour *neighbour = path->neighbour;
    const struct tn_netif *netif;

    if (path->gen != stack->link.gen || path->netif == 0 || path->cast != TN_CAST_UNICAST)
        return NULL;
    netif = tn_netif_of(&stack->link, path->netif);
    if (!netif->up)
        return NULL;
    *mac = NULL;
    if (tn_netif_is_bare(netif))
        return netif;
    if (!TENON_WITH_MANY)
        neighbour = tn_neighbour_find(stack, path->netif, &path->next_hop);
    if (neighbour == NULL || neighbour->serial != path->neighbour_serial || tn_neighbour_expired(stack, neighbour))
        return NULL;
    if (neighbour->state == TENON_NEIGHBOUR_INCOMPLETE || neighbour->state == TENON_NEIGHBOUR_STALE)
        return NULL;
    neighbour->used_ms = stack->now_ms;
    *mac = neighbour->mac;
    return netif;
}

TENON_INTERNAL tenon_u8 *tn_link_icmp6(struct tenon *stack, struct tn_out *out, unsigned type,
                                       const struct tenon_ip *about)
{
    tenon_u8 *p;

    if (tn_out_new(stack, out) != TENON_OK)
        return NULL;
    p = out->hdr->data + out->off;
    memset(p, 0, LINK_ICMP6_BYTES);
    p[0] = (tenon_u8)type;
    out->len = LINK_ICMP6_BYTES;
    out->proto = TN_PROTO_ICMP6;
    out->ttl = TN_ND_HOP_LIMIT;
    out->df = 1;    /* RFC 6980 5 */
    if (about != NULL) {
        put_ip6(p + LINK_ICMP6_BYTES, about);
        out->len += 16;
    }
    return p;
}

/* A path that was not looked for: for this packet alone. */
TENON_INTERNAL int tn_link_message(struct tenon *stack, const struct tn_netif *netif, struct tn_out *out)
{
    struct tn_path path;

    out->l4_bytes = (tenon_u16)out->len;
    out->csum_offset = 2;
    memset(&path, 0, sizeof(path));
    path.dst = out->dst;
    path.src = out->src;
    path.next_hop = out->dst;
    path.gen = stack->link.gen;
    path.netif = netif->index;
    path.cast = TN_CAST_UNICAST;
    if (TENON_WITH_IGMP && !TENON_WITH_MANY)
        path.udp_known[0] = tn_random(&stack->random);
    if (tn_ip_is_multicast(&out->dst))
        path.cast = TN_CAST_MULTICAST;
    return tn_ip_output(stack, &path, out);
}
