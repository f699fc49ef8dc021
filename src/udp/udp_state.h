/* SPDX-License-Identifier: MIT */
/* UDP: what the instance keeps, and what IP calls. */
#ifndef TN_UDP_UDP_STATE_H
#define TN_UDP_UDP_STATE_H

#include <tenon/udp.h>

#include "base/htab.h"

TENON_BEGIN_DECLS

struct tn_pkt;
struct tn_err;

struct tn_udp_state {
    struct tn_htab bound;              /* sockets by local port */
    struct tn_htab connected;          /* sockets by both ends */
    struct tenon_udp *unbound;         /* the others */
    tenon_u32 count;
    tenon_u32 serial;                  /* of the datagram that is being given to many */
};

/* pkt at the UDP header. */
TENON_INTERNAL void tn_udp_input(struct tenon *stack, struct tn_pkt *pkt);
TENON_INTERNAL void tn_udp_error(struct tenon *stack, const struct tn_err *err);
TENON_INTERNAL void tn_udp_init(struct tenon *stack);
TENON_INTERNAL void tn_udp_fini(struct tenon *stack);

TENON_END_DECLS

#endif
