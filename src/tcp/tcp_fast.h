/* SPDX-License-Identifier: MIT */
/* What the files of the short way share: tcp_fast_look.c finds whose a frame is, tcp_fast.c takes what was expected,
 * tcp_fast_out.c sends. */
#ifndef TN_TCP_TCP_FAST_H
#define TN_TCP_TCP_FAST_H

#include "tcp/tcp_internal.h"

TENON_BEGIN_DECLS

/* Both versions of IP go the same way: IPv4 without options, IPv6 without extension headers. What looks into
 * headers is told which by a constant, and compiled once for each where it is to be quick. In both the
 * addresses stand right before the TCP header, the sender's first. */
TENON_INLINE tenon_u32 tn_fast_ip_bytes(int is_v4)
{
    return is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES;
}

/* tn_flight.usual, besides TN_FAST_PLAIN */
enum { TN_FAST_USUAL = 2 };

/* Nothing is lost, probed or marked of what it has in flight, nor has anything of it left more than once. Asked once:
 * whatever may change it says tn_fast_end(). */
TENON_INTERNAL int tn_fast_ask_plain(struct tenon_tcp *conn);
TENON_HOT int tn_fast_is_plain(struct tenon_tcp *conn)
{
    if (!TENON_SMALL && TENON_LIKELY(conn->flight != NULL && (conn->flight->usual & TN_FAST_PLAIN)))
        return 1;
    return tn_fast_ask_plain(conn);
}
TENON_INTERNAL int tn_fast_ask_usual(struct tenon_tcp *conn);
/* Besides, it is established, and nothing is reordered or over: its next segment can be predicted. */
TENON_HOT int tn_fast_is_usual(struct tenon_tcp *conn)
{
    if (TENON_LIKELY(conn->flight != NULL && (conn->flight->usual & TN_FAST_USUAL)))
        return 1;
    return (TENON_SMALL || conn->state == TENON_TCP_ESTABLISHED) && tn_fast_ask_usual(conn);
}

TENON_END_DECLS

#endif
