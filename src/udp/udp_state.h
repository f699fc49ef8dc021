/* SPDX-License-Identifier: MIT */
/* UDP: what the instance keeps, and what IP calls. */
#ifndef TN_UDP_UDP_STATE_H
#define TN_UDP_UDP_STATE_H

#include <tenon/udp.h>

#include "base/htab.h"

TENON_BEGIN_DECLS

struct tn_pkt;
struct tn_err;

/* Datagrams between these ends were for this socket. It is only looked at while `change` is that of the instance:
 * until then it is there. */
struct tn_udp_recent {
    struct tenon_udp *sock;
    tenon_u32 change;                  /* when that was found out, as the number of the change before it */
    tenon_u32 ports;                   /* as they stand in the header; the first is 0 while no socket is connected */
    struct tenon_ip src, dst;
    tenon_u8 netif, is_v4;
};

struct tn_udp_state {
    struct tn_htab bound;              /* sockets by local port */
    struct tn_htab connected;          /* sockets by both ends */
    struct tenon_udp *unbound;         /* the others */
    struct tn_udp_recent *recent;      /* whose datagrams came last: a shorter way than the tables; or NULL */
    tenon_u32 recent_mask;             /* its slots, a power of two, less one */
    struct tn_udp_recent *coming;      /* the larger one that follows, while its slots are cleared; or NULL */
    tenon_u32 coming_clear;            /* so many of them are */
    tenon_u32 change;                  /* counts what changes whose a datagram is: sockets, and by link_gen the rest */
    tenon_u32 link_gen;                /* of the addresses and routes that were seen last */
    tenon_u32 count;
    tenon_u32 serial;                  /* of the datagram that is being given to many */
};

/* pkt at the UDP header. */
TENON_INTERNAL void tn_udp_input(struct tenon *stack, struct tn_pkt *pkt);
/* One that is like the last of its kind: for us alone, whole, `total` bytes at ip of IPv4 without options, or of IPv6
 * without extension headers. pkt: as it is for tn_ip_usual(). @return 1: it was taken; 0: nothing has happened */
TENON_INTERNAL int tn_udp_fast_input(struct tenon *stack, const struct tn_pkt *pkt, const tenon_u8 *ip,
                                     tenon_u32 total, int is_v4);
TENON_INTERNAL void tn_udp_error(struct tenon *stack, const struct tn_err *err);
TENON_INTERNAL void tn_udp_init(struct tenon *stack);
TENON_INTERNAL void tn_udp_fini(struct tenon *stack);

TENON_END_DECLS

#endif
