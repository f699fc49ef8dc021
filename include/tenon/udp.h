/* SPDX-License-Identifier: MIT */
/** @file
 *  UDP (RFC 768, RFC 1122 4.1, RFC 8200 8.1) without copies. */
#ifndef TENON_UDP_H
#define TENON_UDP_H

#include <tenon/stack.h>

TENON_BEGIN_DECLS

/** A UDP socket. From tenon_udp_open() until tenon_udp_close(). */
struct tenon_udp;

/** What is known of a received datagram. */
struct tenon_udp_info {
    struct tenon_addr from;     /**< sender; netif is where it came in */
    struct tenon_addr to;       /**< the destination: an address of ours, a group, or a broadcast */
    tenon_u32 bytes;            /**< payload, all spans together */
    tenon_u8 ttl;               /**< TTL or hop limit */
    tenon_u8 tos;               /**< TOS or traffic class: DSCP and ECN */
};

/** Handlers. `app` is the pointer given to tenon_udp_open(). They may call anything in Tenon's interface but
 *  tenon_input(), tenon_poll() and tenon_fini(): tenon_udp_close() on their own socket, too. */
struct tenon_udp_events {
    /** A datagram. The spans are read in place during the call; who keeps one takes a reference on
     *  its buffer. */
    void (*received)(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n);
    /** An ICMP error about a datagram that this socket sent to `to` (RFC 1122 4.1.3.3), or a neighbour
     *  that did not answer. `error` is an enum tenon_error. May be NULL. */
    void (*error)(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error);
};

/** @param events  kept: must outlive the socket
 *  @return TENON_OK, TENON_ENOMEM, TENON_ELIMIT */
TENON_API int tenon_udp_open(struct tenon *stack, struct tenon_udp **out, const struct tenon_udp_events *events,
                             void *app);

/** Close; no event comes after it. */
TENON_API void tenon_udp_close(struct tenon_udp *sock);

/** Receive what is sent to this address and port; any address: both IP versions. Port 0: a free one is
 *  chosen at random (RFC 6056 3.3.2). A group address must be joined as well to be heard.
 *  @return TENON_OK, TENON_EINVAL (bound already), TENON_ENOADDR, TENON_EINUSE */
TENON_API int tenon_udp_bind(struct tenon_udp *sock, const struct tenon_addr *at);

/** Fix the peer: only its datagrams arrive, tenon_udp_send() without `to` goes there, ICMP errors are
 *  reported. Binds if that was not done. NULL: no peer any more.
 *  @return TENON_OK, TENON_EINVAL, TENON_EUNREACH, TENON_EINUSE, TENON_ENOMEM */
TENON_API int tenon_udp_connect(struct tenon_udp *sock, const struct tenon_addr *to);

/** Send one datagram, gathered from n spans, without a copy; references are taken where the bytes are
 *  needed longer than the call. Goes out with the next tenon_poll(), or at the end of tenon_input().
 *  @param to     NULL on a connected socket
 *  @param spans  some may be empty, with or without a buffer, if there are 64 others at most (16 without FRAGMENTS);
 *                without SPEED none may
 *  @return TENON_OK, TENON_EINVAL, TENON_EMSGSIZE (over 65507 bytes, over IPv6 65527; or over the path MTU
 *          with TENON_UDP_DONT_FRAGMENT), TENON_EUNREACH, TENON_ENOADDR (the socket's own address is not ours any
 *          more, or a link-local one, and the way leads to a router or over another link), TENON_EACCES (broadcast
 *          without the option), TENON_ENOMEM, TENON_EAGAIN (the burst is full, or no port is free for a socket that is
 *          not bound) */
TENON_API int tenon_udp_send(struct tenon_udp *sock, const struct tenon_addr *to, const struct tenon_span *spans,
                             unsigned n);

/** As tenon_udp_send(), from a given local address: to answer from the address that was asked.
 *  @param from  a local address that reaches so far (else TENON_ENOADDR). 0.0.0.0 for who has none yet, to
 *               255.255.255.255 only, whose `netif` then says which way (RFC 1122 3.2.1.3 a, RFC 2131 4.1) */
TENON_API int tenon_udp_send_from(struct tenon_udp *sock, const struct tenon_ip *from, const struct tenon_addr *to,
                                  const struct tenon_span *spans, unsigned n);

/** As tenon_udp_send(), copying n bytes into packet buffers of the host. */
TENON_API int tenon_udp_write(struct tenon_udp *sock, const struct tenon_addr *to, const void *bytes, tenon_u32 n);

/** As tenon_udp_write(), from a given local address as tenon_udp_send_from() takes it. */
TENON_API int tenon_udp_write_from(struct tenon_udp *sock, const struct tenon_ip *from, const struct tenon_addr *to,
                                   const void *bytes, tenon_u32 n);

/** Bytes of the largest datagram that goes there in one packet, as far as is known now: the path MTU less the headers
 *  (RFC 1122 3.4, RFC 8085 3.2). It falls when a router reports that a packet of ours was too large. The socket that
 *  sent it is told so by error(), with TENON_EMSGSIZE, if it has TENON_UDP_DONT_FRAGMENT; others on the same path find
 *  it out here, or when they send. It rises again ten minutes later.
 *  @param to          NULL on a connected socket
 *  @param[out] bytes  written with TENON_OK
 *  @return TENON_OK, TENON_EINVAL, TENON_EUNREACH, TENON_ENOMEM */
TENON_API int tenon_udp_payload_max(struct tenon_udp *sock, const struct tenon_addr *to, tenon_u32 *bytes);

/** Options of a socket. */
enum tenon_udp_option {
    TENON_UDP_TTL,               /**< TTL or hop limit of unicast; default: the instance's */
    TENON_UDP_TOS,               /**< TOS or traffic class */
    TENON_UDP_BROADCAST,         /**< 1: may send to broadcast addresses (RFC 1122 4.1.4) */
    TENON_UDP_MULTICAST_TTL,     /**< default 1 */
    TENON_UDP_MULTICAST_NETIF,   /**< interface for groups; 0: by route */
    TENON_UDP_DONT_FRAGMENT,     /**< 1: never fragment; too large is TENON_EMSGSIZE */
    TENON_UDP_NO_CHECKSUM        /**< 1: over IPv4, send without checksum (RFC 1122 4.1.3.4) */
};

/** @return TENON_OK or TENON_EINVAL */
TENON_API int tenon_udp_set(struct tenon_udp *sock, enum tenon_udp_option option, tenon_u32 value);

/** Join or leave a multicast group on an interface (RFC 1112, IGMP RFC 3376, MLD RFC 3810). Joins are
 *  counted: a group is left when all who joined it have left it.
 *  @return TENON_OK, TENON_EINVAL (no group), TENON_ELIMIT; leave: TENON_ENOADDR (not joined) */
TENON_API int tenon_group_join(struct tenon *stack, unsigned netif, const struct tenon_ip *group);
TENON_API int tenon_group_leave(struct tenon *stack, unsigned netif, const struct tenon_ip *group);

/** The socket's own address, and its peer's (any and 0 where there is none). */
TENON_API void tenon_udp_local(const struct tenon_udp *sock, struct tenon_addr *local);
TENON_API void tenon_udp_remote(const struct tenon_udp *sock, struct tenon_addr *remote);

TENON_END_DECLS

#endif
