/* SPDX-License-Identifier: MIT */
/** @file
 *  ICMP echo for applications (RFC 792, RFC 4443 4). Everything else of ICMP is the core's own work. */
#ifndef TENON_ICMP_H
#define TENON_ICMP_H

#include <tenon/stack.h>

TENON_BEGIN_DECLS

/** Sends echo requests and hears the replies. From tenon_echo_open() until tenon_echo_close(). */
struct tenon_echo;

/** What is known of a reply. */
struct tenon_echo_info {
    struct tenon_ip from;    /**< who answered */
    tenon_u16 seq;           /**< sequence number of the request */
    tenon_u8 ttl;
    tenon_u32 bytes;         /**< echoed payload */
};

/** Handlers. `app` is the pointer given to tenon_echo_open(). */
struct tenon_echo_events {
    /** A reply to one of our requests; spans hold the payload, valid during the call. */
    void (*reply)(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                  const struct tenon_span *spans, unsigned n);
    /** An ICMP error about request `seq`, reported by `from`. May be NULL. */
    void (*error)(struct tenon_echo *echo, void *app, const struct tenon_ip *from, tenon_u16 seq, int error);
};

/** @param events  kept: must outlive the object
 *  @return TENON_OK, TENON_ENOMEM, TENON_ELIMIT; TENON_EINVAL in a build without TENON_WITH_PING */
TENON_API int tenon_echo_open(struct tenon *stack, struct tenon_echo **out, const struct tenon_echo_events *events,
                              void *app);
TENON_API void tenon_echo_close(struct tenon_echo *echo);

/** Send an echo request with `n` bytes copied from `bytes`; it is fragmented if it must be.
 *  @param to  with netif set for a link-local address
 *  @return TENON_OK, TENON_EINVAL, TENON_EMSGSIZE, TENON_EUNREACH, TENON_ENOMEM, TENON_EAGAIN */
TENON_API int tenon_echo_send(struct tenon_echo *echo, const struct tenon_addr *to, tenon_u16 seq, const void *bytes,
                              tenon_u32 n);

TENON_END_DECLS

#endif
