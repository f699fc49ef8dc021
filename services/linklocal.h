/* SPDX-License-Identifier: MIT */
/** @file
 *  An IPv4 address without any server: 169.254/16 (RFC 3927).
 *
 *  The core probes an address before it is used, announces it, defends it once and gives it up at the second conflict
 *  (RFC 3927 2.2 to 2.5, which RFC 5227 took over). What is here chooses the address, and another one when that is
 *  taken. */
#ifndef TENON_SERVICES_LINKLOCAL_H
#define TENON_SERVICES_LINKLOCAL_H

#include <tenon/stack.h>

TENON_BEGIN_DECLS

/** How far it is. */
enum tenon_linklocal_state {
    TENON_LINKLOCAL_OFF,        /**< not started, or stopped */
    TENON_LINKLOCAL_PROBING,    /**< the core finds out whether somebody has it */
    TENON_LINKLOCAL_USED        /**< it is ours */
};

/** The memory is the caller's, all zero before the first start. He may read what is in it. */
struct tenon_linklocal {
    struct tenon *stack;
    unsigned netif;
    enum tenon_linklocal_state state;
    struct tenon_ip ip;         /**< that which is probed or used */
    tenon_u32 tries;            /**< addresses that were tried since the start */
    tenon_u32 conflicts;        /**< that somebody else had, or took (RFC 3927 2.5) */
};

/** Begin. Which addresses are tried, and in which order, follows from the Ethernet address: a host gets the same one
 *  each time as long as nobody else has it (RFC 3927 2.1).
 *  @return TENON_OK, TENON_EINVAL (no such interface, one without a link layer, or started already), TENON_ELIMIT */
int tenon_linklocal_start(struct tenon_linklocal *ll, struct tenon *stack, unsigned netif);

/** Look at how the address fares; to be called after each tenon_poll().
 *  @return 1: `state` or `ip` has changed; then tenon_poll() wants to be called again, and says for how long to wait.
 *          0: what it has said is still right */
int tenon_linklocal_poll(struct tenon_linklocal *ll);

/** Take the address away. */
void tenon_linklocal_stop(struct tenon_linklocal *ll);

TENON_END_DECLS

#endif
