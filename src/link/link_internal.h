/* SPDX-License-Identifier: MIT */
/* Between the files of src/link: addresses, routes, groups, neighbours, and who does what to them. */
#ifndef TN_LINK_LINK_INTERNAL_H
#define TN_LINK_LINK_INTERNAL_H

#include "core.h"

TENON_BEGIN_DECLS

/* ---- time ----------------------------------------------------------------------------------------- */

/* Lifetimes are kept in seconds: milliseconds of 32 bits wrap within 50 days, prefixes may live longer. */
#define TN_FOREVER 0xFFFFFFFFUL

TENON_INTERNAL tenon_u32 tn_link_seconds(const struct tenon *stack);
/* The end of a lifetime that begins now; of 0 seconds: it is over. That of one for ever is 0, as it is where none was
 * given. */
TENON_INTERNAL tenon_u32 tn_link_deadline(const struct tenon *stack, tenon_u32 lifetime_s);
/* What is left of it; TN_FOREVER stays that. Over: 0, and tn_link_is_over() is 1. */
TENON_INTERNAL tenon_u32 tn_link_remaining(const struct tenon *stack, tenon_u32 until_s);
TENON_INTERNAL int tn_link_is_over(const struct tenon *stack, tenon_u32 until_s);
TENON_INTERNAL void tn_link_timer_start(struct tenon *stack, struct tn_alarm *timer, tenon_u32 ms);
TENON_INTERNAL void tn_link_timer_stop(struct tenon *stack, struct tn_alarm *timer);
/* End what is over, and find out when to look again. After every change of a lifetime, and when an address has gone. */
TENON_INTERNAL void tn_link_lifetimes(struct tenon *stack);

/* ---- prefixes: IPv4 ones are 96 bits longer here, as their addresses are --------------------- */

TENON_INTERNAL int tn_ip_match(const struct tenon_ip *a, const struct tenon_ip *b, unsigned bits);
TENON_INTERNAL void tn_ip_network(struct tenon_ip *network, const struct tenon_ip *ip, unsigned bits);
TENON_INTERNAL int tn_mac_is_host(const tenon_u8 *mac);    /* neither a group nor all zeros */

struct tn_neighbour;

/* Whether something is on this interface. */
TENON_INLINE int tn_netif_is(unsigned number, unsigned netif)
{
    return !TENON_WITH_NETIFS || number == netif;
}

/* ---- addresses: address.c, source.c, destination.c, dad.c, slaac.c ------------------------------------------ */

/* What the timer of an IPv4 address runs for. That of IPv6: duplicates are looked for (RFC 4862 5.4). */
enum address_phase {
    ADDRESS_PROBE,      /* ARP probes are being sent (RFC 5227 2.1.1) */
    ADDRESS_WAIT,       /* the last one may still be answered */
    ADDRESS_ANNOUNCE    /* in use; announcements are left to be sent */
};

struct tn_address {
    struct tenon_ip ip;
    tenon_u8 netif;               /* 0: the slot is free */
    tenon_u8 bits;                /* prefix */
    tenon_u8 state;               /* enum tenon_addr_state */
    tenon_u8 automatic;           /* made here: link-local or SLAAC */
    tenon_u8 phase;               /* enum address_phase */
    tenon_u8 left;                /* packets left to be sent in this phase */
    tenon_u8 dad_counter;         /* RFC 7217: how many duplicates this one replaces */
    struct tn_alarm timer;
    tenon_u32 valid_until_s, preferred_until_s;
    tenon_u32 nonce;              /* of our solicitations while detecting duplicates (RFC 7527) */
    tenon_u32 conflict_s;         /* when somebody else was heard to use it last; 0: never */
};

/* A free slot is all 0, and so TENTATIVE. */
TENON_INLINE int tn_address_usable(const struct tn_address *address)
{
    const unsigned state = address->state;

    return state == TENON_ADDR_PREFERRED || state == TENON_ADDR_DEPRECATED;
}

/* The address on this interface (0: on any), in whatever state, or NULL. */
TENON_INTERNAL struct tn_address *tn_address_find(const struct tenon *stack, unsigned netif,
                                                  const struct tenon_ip *ip);
/* Make an address as it is wanted, and start it. Its timer does not run.
 * @return TENON_OK, TENON_EINUSE, TENON_ELIMIT */
TENON_INTERNAL int tn_address_new(struct tenon *stack, const struct tn_address *wanted);
/* Its route goes with the next tn_link_lifetimes(). */
TENON_INTERNAL void tn_address_drop(struct tenon *stack, struct tn_address *address);
/* Probe it, or use it at once if nothing is to be probed. */
TENON_INTERNAL void tn_address_start(struct tenon *stack, struct tn_address *address);
/* From now on it is ours. */
TENON_INTERNAL void tn_address_ready(struct tenon *stack, struct tn_address *address);
/* The IPv6 link-local address of an interface, if it may be used: else NULL. */
TENON_INTERNAL const struct tn_address *tn_address_link_local(const struct tenon *stack, unsigned netif);

/* Which address to send from over an interface (RFC 6724 5); next_hop: dst itself, where that is on the link. NULL:
 * none will do. */
TENON_INTERNAL const struct tn_address *tn_source_select(const struct tenon *stack, const struct tenon_ip *dst,
                                                         unsigned netif, const struct tenon_ip *next_hop);
/* Scope (RFC 6724 3.1, 3.2), and label by the default policy table (2.1). */
TENON_INTERNAL unsigned tn_source_scope(const struct tenon_ip *ip);
TENON_INTERNAL unsigned tn_source_label(const struct tenon_ip *ip);
/* CommonPrefixLen(S, D) of RFC 6724 2.2: no longer than the prefix of S. */
TENON_INTERNAL unsigned tn_source_common(const struct tn_address *source, const struct tenon_ip *dst);
TENON_INTERNAL void tn_dad_start(struct tenon *stack, struct tn_address *address);
TENON_INTERNAL void tn_dad_timer(struct tenon *stack, struct tn_address *address);
/* Announce an IPv4 address that is in use from now on, `times` times. */
TENON_INTERNAL void tn_dad_announce(struct tenon *stack, struct tn_address *address, unsigned times);
/* Somebody else uses it. */
TENON_INTERNAL void tn_dad_conflict4(struct tenon *stack, struct tn_address *address);
TENON_INTERNAL void tn_dad_conflict6(struct tenon *stack, struct tn_address *address);

/* Make an automatic address on this interface: that of the prefix of wanted->ip, with the lifetimes of `wanted`.
 * @return as tn_address_new() */
TENON_INTERNAL int tn_slaac_new(struct tenon *stack, const struct tn_netif *netif, struct tn_address *wanted);
TENON_INTERNAL int tn_slaac_link_local(struct tenon *stack, const struct tn_netif *netif);
/* A prefix for autoconfiguration was advertised (RFC 4862 5.5.3), of so many bits: 128 less the identifier (RFC 4291
 * 2.5.1). */
enum { TN_SLAAC_BITS = 64 };
TENON_INTERNAL void tn_slaac_prefix(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip,
                                    tenon_u32 valid_s, tenon_u32 preferred_s);

/* ---- routes: route.c ------------------------------------------------------------------------- */

/* What is set by hand takes the place of what was learnt: it does not end with what a router promised. */
enum route_origin { ROUTE_MANUAL, ROUTE_ADDRESS, ROUTE_ROUTER };

struct tn_route {
    struct tenon_ip gateway;       /* any: the destinations are on the link */
    tenon_u8 netif;
    tenon_u8 bits;
    tenon_u8 origin;               /* enum route_origin */
    struct tenon_ip dst;
    tenon_u32 metric;
    tenon_u32 until_s;             /* the end of what the router promised; 0: for ever */
    tenon_u32 failed_s;            /* when the gateway did not answer; 0: nothing is known against it */
};

/* A route to a network on the link, for ever: that of the first `bits` of an address. */
TENON_INTERNAL void tn_route_to(struct tn_route *route, unsigned netif, const struct tenon_ip *ip, unsigned bits);
/* Add it in its place; what was learnt gives way to what is set by hand. @return TENON_OK, TENON_EINUSE,
 * TENON_ELIMIT */
TENON_INTERNAL int tn_route_insert(struct tenon *stack, const struct tn_route *route);
/* Whether an address brings this route. */
TENON_INTERNAL int tn_address_brings(const struct tenon *stack, const struct tn_route *route);
TENON_INTERNAL void tn_route_delete(struct tenon *stack, struct tn_route *gone);
/* The one with the same interface, destination and gateway, or NULL. */
TENON_INTERNAL struct tn_route *tn_route_same(const struct tenon *stack, const struct tn_route *route);
/* By which gateway to dst; scope: only through this interface, or 0. @return the interface, or 0: there is no way.
 * Then, and where dst is on the link, *next_hop stays as it is */
TENON_INTERNAL unsigned tn_route_hop(const struct tenon *stack, const struct tenon_ip **next_hop,
                                     const struct tenon_ip *dst, unsigned scope);
/* The way to dst; scope: only through this interface, or 0. NULL: there is none. With TENON_WITH_HOMES. */
TENON_INTERNAL const struct tn_route *tn_route_find(const struct tenon *stack, const struct tenon_ip *dst,
                                                    unsigned scope);
TENON_INTERNAL int tn_route_is_on_link(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip);
/* What was heard of a neighbour that may be a gateway: it does not answer, it does, it routes no more. */
TENON_INTERNAL void tn_route_gateway_failed(struct tenon *stack, unsigned netif, const struct tenon_ip *gateway);
TENON_INTERNAL void tn_route_gateway_works(struct tenon *stack, unsigned netif, const struct tenon_ip *gateway);
TENON_INTERNAL void tn_route_gateway_gone(struct tenon *stack, unsigned netif, const struct tenon_ip *gateway);
/* 1: there is a route by it ... */
TENON_INTERNAL int tn_route_has_gateway(const struct tenon *stack, unsigned netif, const struct tenon_ip *gateway);
/* ... and it did not answer within the last minute. */
TENON_INTERNAL int tn_route_gateway_is_suspect(const struct tenon *stack, unsigned netif,
                                               const struct tenon_ip *gateway);
/* A router advertises a route (default or on-link prefix) for so many seconds; 0: no more. Its origin and its
 * end are written there. */
TENON_INTERNAL void tn_route_advertised(struct tenon *stack, struct tn_route *route, tenon_u32 lifetime_s);

/* ---- paths: path.c --------------------------------------------------------------------------- */

/* The next hop to any destination, groups and link-local ones included: dst itself, or a gateway, which holds until
 * routes change. @return as tn_route_hop() */
TENON_INTERNAL unsigned tn_path_hop(const struct tenon *stack, const struct tenon_ip **next_hop,
                                    const struct tenon_ip *dst, unsigned scope);
/* Everything that was decided from addresses, routes and links has to be decided again. */
TENON_INTERNAL void tn_path_invalidate(struct tenon *stack);
/* What tn_link_ready() or tn_path_mtu() have said of a path may be wrong from now on, for another reason than time. */
TENON_INLINE void tn_link_changed(struct tenon *stack)
{
    if (!TN_FAST)
        return;    /* nobody asks */
    stack->link.changes++;
    stack->tcp.way.path = NULL;
}
/* A redirect, valid so far: packets to dst that went to `from` go to next_hop. @return 0: none went there */
TENON_INTERNAL int tn_path_redirect(struct tenon *stack, struct tn_netif *netif, const struct tenon_ip *dst,
                                    const struct tenon_ip *from, const struct tenon_ip *next_hop);
TENON_INTERNAL void tn_path_fini(struct tenon *stack);

/* ---- neighbours: neighbour.c ----------------------------------------------------------------- */

struct link_queued;

struct tn_neighbour {
    struct tn_timer timer;
    tenon_u8 state;               /* enum tenon_neighbour_state */
    tenon_u8 netif;               /* 0: the slot is free */
    tenon_u8 solicits;            /* sent in this state */
    tenon_u8 failed;              /* 1: INCOMPLETE, and given up for a while */
    tenon_u8 router;
    tenon_u8 mac[6];              /* INCOMPLETE: all 0, which nobody has */
    tenon_u16 next;               /* number + 1 of the next in the hash chain, or of the next unused one */
    tenon_u16 queued;
    struct link_queued *queue_first;
    tenon_u32 asked_until;        /* tick; without TENON_WITH_MANY: see ask.c */
    struct tenon_ip ip;
    tenon_u32 serial;             /* of this use of the slot; with TENON_WITH_MANY */
    tenon_u32 confirmed_ms;       /* when it was last known to be reachable */
    tenon_u32 reachable_ms;       /* for how long that is believed (RFC 4861 6.3.2: randomised) */
    tenon_u32 used_ms;            /* when it was last sent to */
};

/* An address that was asked for, by its hash; until then it is not asked for again. */
struct tn_asked {
    tenon_u32 tag;
    tenon_u32 until_tick;
};

TENON_INTERNAL void tn_neighbours_init(struct tenon *stack);
TENON_INTERNAL tenon_u32 tn_neighbour_hash(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip);
/* May this neighbour be asked for now? Then it is remembered that it was, until *tick.
 * @return 1: now; 0: at *tick, which is written */
TENON_INTERNAL int tn_ask(struct tenon *stack, struct tn_neighbour *neighbour, tenon_u32 *tick);
/* Whether it is remembered by the neighbour itself, which has to stay so long. */
TENON_INTERNAL int tn_ask_holds(const struct tenon *stack, const struct tn_neighbour *neighbour);
/* With TENON_WITH_MANY: whether it was asked for not longer ago than until it may be asked for again. */
TENON_INTERNAL int tn_ask_remembers(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip);
TENON_INTERNAL void tn_asks_age(struct tenon *stack);
TENON_INTERNAL struct tn_neighbour *tn_neighbour_find(const struct tenon *stack, unsigned netif,
                                                      const struct tenon_ip *ip);
/* Find or make it: a new one is INCOMPLETE, and nothing has been done for it. NULL: no room. */
TENON_INTERNAL struct tn_neighbour *tn_neighbour_need(struct tenon *stack, unsigned netif, const struct tenon_ip *ip);
/* With TENON_WITH_MANY: the one that an answer comes from, made anew if it was evicted since it was asked for. Where
 * somebody makes us send to ever others, nobody who answers would be found otherwise. NULL: it was not asked for, or
 * there is no room. */
TENON_INTERNAL struct tn_neighbour *tn_neighbour_asked(struct tenon *stack, unsigned netif, const struct tenon_ip *ip);
/* Send to it, or let the packet wait. Takes out->hdr. */
TENON_INTERNAL int tn_neighbour_send(struct tenon *stack, struct tn_neighbour *neighbour, struct tn_out *out);
/* Its link address is known: `state` follows, waiting packets leave. */
TENON_INTERNAL void tn_neighbour_resolve(struct tenon *stack, struct tn_neighbour *neighbour, const tenon_u8 *mac,
                                         enum tenon_neighbour_state state);
/* It told its link-layer address by itself (source link-layer option, ARP request): made if it was not there. mac NULL:
 * it did not, and is only found. NULL: it is not there. */
TENON_INTERNAL struct tn_neighbour *tn_neighbour_learn(struct tenon *stack, unsigned netif, const struct tenon_ip *ip,
                                                       const tenon_u8 *mac);
TENON_INTERNAL void tn_neighbour_confirm(struct tenon *stack, struct tn_neighbour *neighbour);
TENON_INTERNAL void tn_neighbour_doubt(struct tenon *stack, struct tn_neighbour *neighbour);
/* Forget what is known over this interface but for what was set by hand; 0: forget everything. */
TENON_INTERNAL void tn_neighbours_forget(struct tenon *stack, unsigned netif);
/* Whether an entry has been unconfirmed for too long to be called reachable. */
TENON_INTERNAL int tn_neighbour_expired(const struct tenon *stack, const struct tn_neighbour *neighbour);
TENON_INTERNAL void tn_neighbours_age(struct tenon *stack);

/* ---- output: link_output.c, arp.c, nd.c ------------------------------------------------------ */

/* Prepend the Ethernet header and send; mac NULL: to everybody. Takes out->hdr. */
TENON_INTERNAL int tn_link_frame(struct tenon *stack, const struct tn_netif *netif, const tenon_u8 *mac,
                                 struct tn_out *out);
enum { TN_ND_HOP_LIMIT = 255 };
/* Begin an ICMPv6 message: eight bytes, all 0 but the type, and the address that it is about (may be NULL). Of IP's
 * header there is what all of neighbour discovery has in common; source and destination are 0. @return the message, or
 * NULL: there is no memory */
TENON_INTERNAL tenon_u8 *tn_link_icmp6(struct tenon *stack, struct tn_out *out, unsigned type,
                                       const struct tenon_ip *about);
/* Send a message of this layer's own protocols, to a group, or to a neighbour. No route is looked for and no source
 * chosen: that stands in out. The checksum, at byte 2, is made. Takes out->hdr. @return as tn_ip_output() */
TENON_INTERNAL int tn_link_message(struct tenon *stack, const struct tn_netif *netif, struct tn_out *out);

/* Ask for it, from an address of ours. */
TENON_INTERNAL void tn_arp_solicit(struct tenon *stack, const struct tn_neighbour *neighbour,
                                   const struct tenon_ip *src);
/* A probe (RFC 5227 1.1), or an announcement: the same with ourselves as the sender.
 * @return 0; else nobody is asked: there is no memory, or the port takes nothing */
TENON_INTERNAL int tn_arp_probe(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip);
TENON_INTERNAL void tn_arp_announce(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip);

TENON_INTERNAL void tn_nd_solicit(struct tenon *stack, struct tn_neighbour *neighbour, const struct tenon_ip *src);
/* @return as tn_arp_probe() */
TENON_INTERNAL int tn_nd_probe(struct tenon *stack, const struct tn_netif *netif, const struct tn_address *address);

/* ---- router discovery: router.c -------------------------------------------------------------- */

enum { ND_OPTION_SLLA = 1, ND_OPTION_TLLA = 2, ND_OPTION_PREFIX = 3, ND_OPTION_MTU = 5, ND_OPTION_NONCE = 14, ND_KEPT };

/* A neighbour discovery message that has passed the checks which all have in common. */
struct nd_message {
    struct tn_netif *netif;
    const struct tn_pkt *pkt;
    const tenon_u8 *p;                /* from the ICMPv6 header on ... */
    tenon_u32 len;
    tenon_u32 options;                /* ... where the options begin */
    struct tenon_ip target;           /* where there is one; not in advertisements of routers */
    const tenon_u8 *kept[ND_KEPT];    /* behind type and length of the first option of each type, or NULL */
};
TENON_INTERNAL int tn_router_advert(struct tenon *stack, const struct nd_message *message);      /* 0, -1: bad */
TENON_INTERNAL int tn_router_redirect(struct tenon *stack, const struct nd_message *message);    /* 0, -1: bad */
/* Begin to look for routers. */
TENON_INTERNAL void tn_router_solicit(struct tenon *stack, struct tn_netif *netif);
TENON_INTERNAL void tn_router_timer(struct tenon *stack, struct tn_netif *netif);
/* Send a router solicitation: nd.c. */
TENON_INTERNAL void tn_nd_router_solicit(struct tenon *stack, const struct tn_netif *netif,
                                         const struct tenon_ip *src);

/* ---- groups: group.c, igmp.c, mld.c ---------------------------------------------------------- */

struct tn_group {
    struct tn_alarm timer;         /* runs until it is reported: a change again, or to who has asked */
    tenon_u16 users;               /* 0: being left */
    tenon_u8 netif;                /* 0: the slot is free */
    tenon_u8 changes;              /* so many times a change is still to be reported */
    struct tenon_ip ip;
};

/* What is reported: a current state, or a change; by the types of records, MODE_IS_EXCLUDE, CHANGE_TO_INCLUDE and
 * CHANGE_TO_EXCLUDE (RFC 3376 4.2.12, RFC 3810 5.2.12). */
enum group_report { GROUP_CURRENT = 2, GROUP_LEAVE = 3, GROUP_JOIN = 4 };

TENON_INTERNAL int tn_group_is_joined(const struct tenon *stack, unsigned netif, const struct tenon_ip *group);
/* As tenon_group_join() and tenon_group_leave(), of groups that there can be, but for that of all nodes. */
TENON_INTERNAL int tn_group_join(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip);
TENON_INTERNAL int tn_group_leave(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip);
TENON_INTERNAL void tn_group_timer(struct tenon *stack, struct tn_group *group);
/* The link has come up, or there is an address to report from: report all groups of an IP version. Gone down: keep
 * still. */
TENON_INTERNAL void tn_groups_link(struct tenon *stack, const struct tn_netif *netif, int is_v4);
/* A query: about one group, or all of a version (group any or 0.0.0.0), to be answered within max_ms. */
TENON_INTERNAL void tn_groups_queried(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *group,
                                      tenon_u32 max_ms);
/* Another member has said already that the group has one (older versions only: RFC 2236 6, RFC 2710 5). */
TENON_INTERNAL void tn_group_suppress(struct tenon *stack, const struct tn_netif *netif,
                                      const struct tenon_ip *group);
TENON_INTERNAL void tn_igmp_report(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *group,
                                   enum group_report what);
/* old: a querier speaks version 1. */
TENON_INTERNAL void tn_mld_report(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *group,
                                  enum group_report what, int old);
TENON_INTERNAL int tn_igmp_is_old(const struct tenon *stack, const struct tn_netif *netif);
TENON_INTERNAL int tn_mld_is_old(const struct tenon *stack, const struct tn_netif *netif);

/* The solicited-node group of an IPv6 address (RFC 4291 2.7.1). */
TENON_INTERNAL void tn_solicited_node(struct tenon_ip *group, const struct tenon_ip *ip);

/* A random delay of 0 .. ms. */
TENON_INLINE tenon_u32 tn_link_jitter(struct tenon *stack, tenon_u32 ms)
{
    return tn_random_below(&stack->random, ms + 1);
}

TENON_END_DECLS

#endif
