/* SPDX-License-Identifier: MIT */
/* The link layer and what decides where packets go: interfaces, addresses, routes, the destination cache
 * ("paths", RFC 4861 5.1), neighbours (ARP, ND), router discovery, groups (IGMP, MLD).
 * What other layers may call is in the first part; the state of the layer itself is in the second. */
#ifndef TN_LINK_LINK_H
#define TN_LINK_LINK_H

#include <tenon/stack.h>

#include "base/htab.h"
#include "base/wheel.h"

TENON_BEGIN_DECLS

struct tn_pkt;
struct tn_out;
struct tn_neighbour;
struct tn_asked;

/* A timer of this layer, but for those of neighbours. */
struct tn_alarm {
    struct tn_timer timer;
    tenon_u16 wait_ms;               /* from the next call of tenon_poll() on; 0: it is running */
};

/* ---- for other layers ------------------------------------------------------------------------ */

/* RFC 4861 10; for as long without IPv6, where no router says something else. */
enum { TN_REACHABLE_MS = 30000 };

/* An interface. */
struct tn_netif {
    struct tenon_netif_conf conf;
    tenon_u8 index;                  /* 1 and up; 0: the slot is free */
    tenon_u8 up;
    tenon_u8 ip6;                    /* 1: IPv6 runs here (allowed, MTU >= 1280, link-local address not duplicate) */
    tenon_u8 hop_limit;              /* for IPv6, from router advertisements; 0: the instance's */
    tenon_u16 ip6_mtu;               /* from router advertisements; 0: conf.mtu */
    tenon_u8 link_bytes;             /* before the IP header, for short ways (TENON_WITH_SPEED) */
    tenon_u32 reachable_ms;          /* BaseReachableTime (RFC 4861 6.3.2) */
    tenon_u32 retrans_ms;            /* RetransTimer */
    tenon_u32 rx_frames, rx_bytes, tx_frames, tx_bytes;
    /* router discovery, groups: the link layer's own */
    struct tn_alarm rs_timer;
    tenon_u8 rs_left;                /* router solicitations that may still be sent */
    tenon_u8 conflicts;              /* IPv4 addresses that probing found taken (RFC 5227 2.1.1) */
    tenon_u16 ups;                   /* times that the link came up again */
    tenon_u32 conflict_s;            /* ... and when it was last so */
    tenon_u32 igmp_v1_until_s;       /* an older querier is there until then (RFC 3376 7.2.1); 0: none was */
    tenon_u32 igmp_v2_until_s;
    tenon_u32 mld_v1_until_s;        /* RFC 3810 8.2.1 */
};

/* How many there may be of interfaces and of addresses. */
TENON_INLINE unsigned tn_netifs_max(const struct tenon_conf *conf)
{
    return TENON_WITH_NETIFS ? conf->netifs_max : 1U;
}
TENON_INLINE unsigned tn_addrs_max(const struct tenon_conf *conf)
{
    return TENON_WITH_HOMES ? conf->addrs_max : 1U;
}

/* Without Ethernet nobody asks for neighbours. */
TENON_INLINE unsigned tn_neighbours_max(const struct tenon_conf *conf)
{
    return TENON_WITH_ETHERNET ? conf->neighbours_max : 0U;
}

/* Frames are bare IP packets. */
TENON_INLINE int tn_netif_is_bare(const struct tn_netif *netif)
{
    return !TENON_WITH_ETHERNET || (TENON_WITH_LINKS && (netif->conf.caps & TENON_CAP_NO_LINK));
}
/* Of an interface that there is. */
TENON_INLINE unsigned tn_netif_number(const struct tn_netif *netif)
{
    return TENON_WITH_NETIFS ? netif->index : 1U;
}
TENON_INTERNAL struct tn_netif *tn_netif_at(const struct tenon *stack, unsigned index);    /* NULL: there is none */
/* Bytes of the largest packet to this address that it takes. */
TENON_INLINE tenon_u32 tn_netif_mtu(const struct tn_netif *netif, const struct tenon_ip *dst)
{
    return netif->ip6_mtu != 0 && !tenon_ip_is_v4(dst) ? netif->ip6_mtu : netif->conf.mtu;
}

enum { TN_PATH_KNOWN = TENON_SMALL || !TENON_WITH_IPV6 ? 1 : 4 };

/* A destination: RFC 4861's destination cache entry, for both IP versions. Shared by all who send there;
 * counted; unused ones are kept for their path MTU as long as there are not more than paths_max in all, and
 * evicted oldest first. */
struct tn_path {
    /* What every packet asks for, in one line of 64 bytes: TCP compares dst, too (tn_tcp_find()). */
    struct tenon_ip dst;
    struct tn_hnode node;
    tenon_u8 netif;
    tenon_u8 cast;                   /* enum tn_cast */
    tenon_u8 search;                 /* enum tn_path_search */
    tenon_u8 search_failed;          /* 1: something did not pass; 0: begin with mtu_high itself */
    tenon_u8 scope;                  /* interface that the caller asked for; part of the key; 0: none */
    tenon_u8 heard_netif;            /* where TCP's general way has heard from there last: see heard_gen */
    tenon_u16 sent;                  /* largest packet but TCP's that was sent this way and that no router may cut */
    tenon_u16 mtu;                   /* lowered path MTU, search_low of RFC 4821; 0: the interface's */
    tenon_u16 mtu_high;              /* search_high: what is larger is not tried */
    tenon_u32 mtu_until_s;           /* when a lowered path MTU is forgotten (seconds of the link layer) */
    struct tn_neighbour *neighbour;  /* valid only if its serial is neighbour_serial; NULL: to be found */
    tenon_u32 neighbour_serial;
    tenon_u32 gen;                   /* of the routing state that it was made from */

    struct tenon_ip src;             /* source address chosen for it (RFC 6724) */
    struct tenon_ip next_hop;
    tenon_u32 refs;
    tenon_u32 udp_src;               /* for which there is udp_known: the IPv4 address, or the number of the routing
                                      * state with that `src` of IPv6; 0: there is none */
    /* What identifications of UDP from there are counted from; where there are not many, of all protocols and
     * addresses. IPv6: the hash that flow labels of UDP are, up to the ports. */
    tenon_u32 udp_known[TN_PATH_KNOWN];

    /* From here on: what small builds have not (TN_PATH_BYTES). */
    struct tn_path *lru_next, **lru_prev;    /* TN_PATHS_KEPT: only while refs == 0 */
    tenon_u32 heard_gen;             /* when it was heard_netif, as the number of the routing state, ... */
    struct tenon_ip heard_local;     /* ... and at which address of ours (tcp_fast.c) */
};

/* 1: there may be several routers, and one that does not answer has another in its place (RFC 1122 3.3.1, RFC 4861
 * 7.3.3). */
enum { TN_ROUTERS = TENON_WITH_ROUTES || TENON_WITH_IPV6 };

/* 1: the link layer has timers: lifetimes, addresses that are watched, groups, routers that are asked for. */
enum {
    TN_LINK_HAS_TIMERS = TENON_WITH_ETHERNET || TENON_WITH_ROUTES || TENON_WITH_CONFLICTS || TENON_WITH_PATH_MTU ||
                         TENON_WITH_MULTICAST
};

/* 1: paths that nobody uses are kept, for what they are known to let pass, for where they were redirected to, or since
 * finding the way is work. 0: a path lives as long as somebody uses it. */
enum { TN_PATHS_KEPT = TENON_WITH_MANY || TENON_WITH_PATH_MTU || TENON_WITH_ROUTES || TENON_WITH_IPV6 };
enum {
    TN_PATH_BYTES = TENON_WITH_SPEED ? sizeof(struct tn_path)
                    : TN_PATHS_KEPT  ? offsetof(struct tn_path, heard_gen)
                                     : offsetof(struct tn_path, lru_next)
};

/* No path MTU is smaller: docs/decisions/0007; RFC 8200 5. */
enum { TN_PATH_MTU_MIN4 = 552, TN_PATH_MTU_MIN6 = 1280 };

/* RFC 4821 7.1: do we look for the path MTU ourselves? */
enum tn_path_search {
    TN_PATH_SEARCH_NONE,             /* no: reports tell it */
    TN_PATH_SEARCH_ON,
    TN_PATH_SEARCH_DONE              /* found; again when mtu_until_s is over */
};

/* Find or make the path to dst. scope: interface number or 0. The path is referenced.
 * @return TENON_OK, TENON_EUNREACH (no route, or no source address), TENON_EINVAL (an address to which
 *         nothing can be sent), TENON_ENOMEM */
TENON_INTERNAL int tn_path_get(struct tenon *stack, struct tn_path **path, const struct tenon_ip *dst,
                               unsigned scope);
/* The same, but only if it is there already, and not referenced; NULL: it is not, or leads nowhere any more. */
TENON_INTERNAL struct tn_path *tn_path_known(struct tenon *stack, const struct tenon_ip *dst, unsigned scope);
/* The same without a scope, if it is among the last that were asked for: not referenced, but used. Whether it
 * still leads there says tn_link_ready(). NULL: it is not. */
TENON_INTERNAL struct tn_path *tn_path_recent(struct tenon *stack, const struct tenon_ip *dst);
/* Whether it is among the last that were asked for, and from there something has come through this interface to this
 * address of ours (heard_gen), since addresses and routes have changed last. */
TENON_INTERNAL int tn_path_is_heard(struct tenon *stack, const struct tenon_ip *dst, const struct tenon_ip *local,
                                    unsigned netif);
TENON_INTERNAL void tn_path_put(struct tenon *stack, struct tn_path *path);
/* After addresses, routes or links have changed: look again. Cheap when nothing has.
 * @return TENON_OK or TENON_EUNREACH */
TENON_INTERNAL_HOT int tn_path_check(struct tenon *stack, struct tn_path *path);
/* Whether an address may speak along a path that leads somewhere: it is ours, and reaches so far. Who has one address
 * has it there. */
TENON_INTERNAL int tn_path_bears(const struct tenon *stack, const struct tn_path *path, const struct tenon_ip *src);
TENON_INLINE int tn_path_is_from(const struct tenon *stack, const struct tn_path *path, const struct tenon_ip *src)
{
    return TENON_WITH_HOMES ? tn_path_bears(stack, path, src) : tenon_ip_equal(src, &path->src);
}
/* The interface of a path that needs nothing to be found out or begun: the neighbour is known, and not stale; *mac is
 * its address (NULL: there is no link header). Counts as use of it. @return NULL: ask tn_link_output() */
TENON_INTERNAL const struct tn_netif *tn_link_ready(struct tenon *stack, struct tn_path *path, const tenon_u8 **mac);
/* Bytes of the largest IP packet that may take this path, as far as is known. */
TENON_INTERNAL tenon_u32 tn_path_mtu(struct tenon *stack, struct tn_path *path);
/* A router says that packets larger than mtu do not pass (already validated by the transport or by
 * ip/icmp). Never raises; RFC 1191 3, RFC 8201 4. @return 1 if the path MTU became smaller */
TENON_INTERNAL int tn_path_lower_mtu(struct tenon *stack, struct tn_path *path, tenon_u32 mtu);
/* Nothing large arrives, and nobody reports it: go down to mtu, and search from there upwards (RFC 4821 7.7).
 * @return 1 if the path MTU became smaller */
TENON_INTERNAL int tn_path_suspect(struct tenon *stack, struct tn_path *path, tenon_u32 mtu);
/* Bytes of the packet that is to be tried next; 0: none. */
TENON_INTERNAL tenon_u32 tn_path_probe_bytes(struct tenon *stack, struct tn_path *path);
/* A packet of so many bytes has passed, or has not. */
TENON_INTERNAL void tn_path_probed(struct tenon *stack, struct tn_path *path, tenon_u32 bytes, int passed);
/* A router's report about such a packet: mtu is the most to try. */
TENON_INTERNAL void tn_path_probe_limit(struct tenon *stack, struct tn_path *path, tenon_u32 mtu);
/* Upper layers' advice about the next hop: it works (RFC 4861 7.3.1), or may be dead (RFC 1122 3.3.1.4). */
TENON_INTERNAL void tn_path_confirm(struct tenon *stack, struct tn_path *path);
TENON_INTERNAL void tn_path_doubt(struct tenon *stack, struct tn_path *path);

/* Send an IP packet (out->off at its IP header) along a path: resolve the neighbour, prepend the link
 * header, tn_tx(). While the neighbour is being resolved the packet waits in its queue (references are
 * taken, bounded). Takes out->hdr.
 * @return TENON_OK, TENON_EUNREACH (link down), TENON_EAGAIN, TENON_ENOMEM */
TENON_INTERNAL int tn_link_output(struct tenon *stack, struct tn_path *path, struct tn_out *out);

/* Whether an address is ours: usable for existing traffic (preferred or deprecated), on any interface
 * (weak end system model, RFC 1122 3.3.4.2), except link-local ones, which must be on `netif` (0: any). */
TENON_INTERNAL int tn_addr_is_ours(const struct tenon *stack, const struct tenon_ip *ip, unsigned netif);
/* What a received destination address is to this interface. The first three as enum tn_cast has them. */
enum tn_dst { TN_DST_OURS, TN_DST_MULTICAST, TN_DST_BROADCAST, TN_DST_OTHER, TN_DST_TENTATIVE };
TENON_INTERNAL enum tn_dst tn_addr_classify(const struct tenon *stack, const struct tn_netif *netif,
                                            const struct tenon_ip *ip);
/* Whether a unicast IPv4/IPv6 address is a broadcast address of one of our subnets (or 255.255.255.255). */
TENON_INTERNAL int tn_addr_is_broadcast(const struct tenon *stack, const struct tenon_ip *ip);
TENON_INTERNAL int tn_ip_is_multicast(const struct tenon_ip *ip);
TENON_INTERNAL int tn_ip_is_link_local(const struct tenon_ip *ip);
/* No router has to do with it: a group, 255.255.255.255, or a link-local address (RFC 3927 2.6.2, RFC 4291 2.5.6). */
TENON_INTERNAL int tn_ip_is_on_link_only(const struct tenon_ip *ip);
TENON_INTERNAL int tn_ip_is_loopback(const struct tenon_ip *ip);
/* :: or ::1. */
TENON_INTERNAL int tn_ip6_is_nobody(const struct tenon_ip *ip);
/* A group of the interface itself, or of the reserved scope 0: no such packet is on the wire (RFC 4291 2.7). */
TENON_INLINE int tn_ip_is_not_for_wire(const struct tenon_ip *ip)
{
    return TENON_WITH_IPV6 && (ip->w[0] & 0xFF0E0000UL) == 0xFF000000UL;
}
/* May stand in a packet as somebody's own address: not any, multicast, 255.255.255.255, 127/8, class E, ::1. */
TENON_INTERNAL int tn_ip_is_host(const struct tenon_ip *ip);

/* Input. arp: pkt at the ARP message. nd: ICMPv6 types 133..137, pkt at the ICMPv6 header, all of it
 * contiguous, checksum verified, not reassembled from fragments. igmp, mld: pkt at the message, checksum verified; mld:
 * all of it contiguous, and the source is no IPv4 address. */
TENON_INTERNAL void tn_arp_input(struct tenon *stack, struct tn_pkt *pkt);
TENON_INTERNAL void tn_nd_input(struct tenon *stack, struct tn_pkt *pkt);
TENON_INTERNAL void tn_igmp_input(struct tenon *stack, struct tn_pkt *pkt);
TENON_INTERNAL void tn_mld_input(struct tenon *stack, struct tn_pkt *pkt);
/* An ICMPv4 redirect, validated as far as ICMP can: use gateway for dst (RFC 1122 3.2.2.2: only from the
 * present first hop `from`, and to a gateway on the link). */
TENON_INTERNAL void tn_link_redirect4(struct tenon *stack, struct tn_netif *netif, const struct tenon_ip *from,
                                      const struct tenon_ip *dst, const struct tenon_ip *gateway);

TENON_INTERNAL void tn_neighbour_timer(struct tenon *stack, struct tn_timer *timer);
TENON_INTERNAL void tn_link_timer(struct tenon *stack, struct tn_timer *timer);

/* Bytes of the instance's block that this layer needs, and its begin and end. */
TENON_INTERNAL tenon_u32 tn_link_bytes(const struct tenon_conf *conf);
TENON_INTERNAL void tn_link_init(struct tenon *stack, tenon_u8 *mem);
TENON_INTERNAL void tn_link_fini(struct tenon *stack);

/* ---- the layer's own state ------------------------------------------------------------------- */

struct tn_address;
struct tn_route;
struct tn_group;

/* Paths that are found by a guess. */
enum { TN_PATHS_RECENT = TENON_WITH_SPEED ? 16 : 1 };

/* As in struct tenon what is asked for most often comes first. */
struct tn_link {
    struct tn_netif *netifs;             /* [tn_netifs_max()] */
    tenon_u32 gen;                       /* counts changes of addresses, routes and links */
    struct tn_address *addresses;        /* [tn_addrs_max()] */
    struct tn_route *routes;             /* [conf.routes_max], the first nroutes in use, best first; without
                                          * TENON_WITH_HOMES none is that of the address */
    struct tn_group *groups;             /* [conf.groups_max] */
    struct tn_neighbour *neighbours;     /* [conf.neighbours_max] */
    tenon_u16 nroutes;
    tenon_u16 addrs_end;                 /* so many of the addresses have ever been in use */
    tenon_u16 nincomplete;               /* neighbours that are being resolved, or just failed to be */
    tenon_u16 redirected;                /* 1: a path was, since somebody has failed to answer */
    tenon_u16 neighbour_free;            /* first of the unused ones + 1 */
    tenon_u16 neighbour_cursor;          /* where the search for one to evict goes on */
    tenon_u32 neighbour_serial;
    tenon_u32 changes;                   /* ... what gen counts, and of neighbours and paths: tn_link_changed() */
    struct tn_alarm timer;               /* lifetimes of addresses and routes; ticks at least twice a day */
    tenon_u32 seconds, seconds_ms;       /* a clock that does not wrap, and now_ms up to which it has counted */
    struct tn_htab paths;
    struct tn_path *lru_first, **lru_last;
    struct tn_path *path_recent[TN_PATHS_RECENT];    /* that tn_path_get() has found last; NULL: none, or it is gone */
    tenon_ra_heard *ra_heard;            /* who hears options of router advertisements; NULL: nobody */
    void *ra_app;
    tenon_u16 *neighbour_heads;          /* [conf.neighbours_max] hash chains: number of a neighbour + 1 */
    struct tn_asked *asked;              /* [conf.neighbour_asks_max] who was asked for not long ago */
};

/* The interface of this number, which there is. */
TENON_INLINE struct tn_netif *tn_netif_of(const struct tn_link *link, unsigned number)
{
    TENON_ASSERT(!TENON_WITH_NETIFS || number > 0);
    return &link->netifs[TENON_WITH_NETIFS ? number - 1 : 0];
}

TENON_END_DECLS

#endif
