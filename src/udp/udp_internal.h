/* SPDX-License-Identifier: MIT */
/* UDP sockets, as the files of src/udp see them.
 *
 *   unbound --bind--> bound --connect--> connected
 *   list             table by port      table by both ends
 *
 * A connected socket leaves its port to others: it is only found by both ends. */
#ifndef TN_UDP_INTERNAL_H
#define TN_UDP_INTERNAL_H

#include "core.h"

TENON_BEGIN_DECLS

enum tn_udp_where { TN_UDP_UNBOUND, TN_UDP_BOUND, TN_UDP_CONNECTED };

struct tenon_udp {
    struct tn_hnode node;                     /* of the table in which it is; */
    tenon_u8 where;
    tenon_u8 ttl, tos, multicast_ttl;
    tenon_u8 multicast_netif;
    tenon_u8 broadcast, dont_fragment, no_checksum;
    struct tenon_udp *next, **prev;           /* or of the list of unbound ones */
    struct tenon *stack;
    const struct tenon_udp_events *events;
    void *app;
    struct tenon_addr local;                  /* ip any: all of ours */
    struct tenon_addr remote;                 /* connected */
    struct tenon_addr asked;                  /* what it was bound to before it was connected */
    struct tn_path *path;                     /* connected */
    tenon_u32 source_gen;                     /* of the addresses with which source was found; 0: it was not */
    tenon_u32 heard;                          /* serial of the last datagram for many that it was given */
    const struct tenon_ip *source;            /* the address in our headers, our own; NULL: the path's source */
};

/* One datagram: what it says and where it goes. */
struct tn_udp_message {
    const struct tenon_addr *to;
    const struct tenon_ip *from;          /* NULL: the socket's own, or the path's */
    const struct tenon_span *spans;       /* the payload, in spans ... */
    unsigned nspans;
    const tenon_u8 *bytes;                /* ... or, if not NULL, in a row (no more than TN_JOINED_MAX) */
    tenon_u32 len;
};

TENON_INLINE int tn_udp_is_connected(const struct tenon_udp *sock)
{
    return TENON_WITH_CONNECT && sock->where == TN_UDP_CONNECTED;
}
TENON_INTERNAL tenon_u32 tn_udp_hash_port(const struct tenon *stack, unsigned port);
TENON_INTERNAL tenon_u32 tn_udp_hash_pair(const struct tenon *stack, const struct tenon_addr *local,
                                          const struct tenon_addr *remote);
/* Whether what arrives on this interface is for an end with this scope: link-local and group addresses
 * mean something on one interface only, if one is given. */
TENON_INTERNAL int tn_udp_scope_fits(const struct tenon_addr *end, unsigned netif);
/* The socket connected between these ends; NULL: none is. netif: where the datagram is. */
TENON_INTERNAL struct tenon_udp *tn_udp_find_connected(const struct tenon *stack, const struct tenon_addr *local,
                                                       const struct tenon_addr *remote, unsigned netif);
/* The socket bound to this address and port, or to the port alone; NULL: none is. */
TENON_INTERNAL struct tenon_udp *tn_udp_find_bound(const struct tenon *stack, const struct tenon_addr *local,
                                                   unsigned netif);
/* Whether the payload goes behind its header: few bytes, for which there may be no room, or what lies in a row. */
TENON_INLINE int tn_udp_is_joined(const struct tenon *stack, const struct tn_udp_message *message)
{
    return !TENON_WITH_PIECES || message->bytes != NULL || message->len <= stack->conf.udp_copy_max;
}
/* Payload to where its header ends. */
TENON_INTERNAL_HOT void tn_udp_copy(struct tenon *stack, tenon_u8 *to, const struct tn_udp_message *message);
/* Bind to any address and a free port. @return TENON_OK or TENON_EINUSE */
TENON_INTERNAL int tn_udp_autobind(struct tenon_udp *sock);
/* The interface on which somebody is looked for who is only on one; own: our end. 0: on any. */
TENON_INTERNAL unsigned tn_udp_scope(const struct tenon_udp *sock, const struct tenon_addr *own,
                                     const struct tenon_addr *to);

/* ---- the usual datagram: udp_fast.c ------------------------------------------------------------------------- */

/* What a socket was given, so that the next of the kind finds it faster: a datagram to one host, just looked up. */
TENON_INTERNAL void tn_udp_fast_remember(struct tenon *stack, struct tenon_udp *sock, const struct tn_pkt *pkt,
                                         const struct tenon_udp_info *info);
/* A socket comes to a place, or leaves one: what is remembered of whose a datagram is holds no more. */
TENON_INTERNAL void tn_udp_fast_change(struct tenon *stack);
/* Room for what is remembered, for as many sockets as there are. */
TENON_INTERNAL void tn_udp_fast_grow(struct tenon *stack);
TENON_INTERNAL void tn_udp_fast_fini(struct tenon *stack);
/* @return 1: this is not usual, and nothing has happened; else TENON_OK, or TENON_ENOMEM */
TENON_INTERNAL_HOT int tn_udp_fast_send(const struct tenon_udp *sock, const struct tn_udp_message *message);

TENON_END_DECLS

#endif
