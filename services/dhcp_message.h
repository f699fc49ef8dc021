/* SPDX-License-Identifier: MIT */
/* DHCP messages: bytes to structs and back (RFC 2131 2, RFC 2132). For dhcp.c and the tests. */
#ifndef TENON_SERVICES_DHCP_MESSAGE_H
#define TENON_SERVICES_DHCP_MESSAGE_H

#include "dhcp.h"

TENON_BEGIN_DECLS

enum { DHCP_SERVER_PORT = 67, DHCP_CLIENT_PORT = 68 };
/* RFC 2131 2, option 57: a message of 576 bytes must be accepted, and we ask for no longer one; here all of them may be
 * payload. A BOOTP message has 300 at least (RFC 1542 2.1). */
enum { DHCP_BYTES_MAX = 576, DHCP_BYTES_MIN = 300 };

/* RFC 2132 9.6 */
enum dhcp_type {
    DHCP_DISCOVER = 1,
    DHCP_OFFER,
    DHCP_REQUEST,
    DHCP_DECLINE,
    DHCP_ACK,
    DHCP_NAK,
    DHCP_RELEASE
};

/* What we say. */
struct dhcp_call {
    enum dhcp_type type;
    tenon_u32 xid;
    tenon_u16 secs;
    tenon_u32 ciaddr;                /* 0: we cannot be reached by it yet, and want to hear by broadcast */
    tenon_u32 wanted, server;        /* options 50 and 54; 0: none */
    const tenon_u8 *mac;
    const tenon_u8 *client_id;       /* NULL: 1 and mac */
    unsigned client_id_bytes;
    const char *hostname;            /* or NULL */
};

/* What a server says. */
struct dhcp_reply {
    unsigned type;                   /* enum dhcp_type, or something else */
    tenon_u32 xid;
    tenon_u32 yiaddr, mask;          /* mask: 0 if there is none */
    int has_lease, has_client_id;
    const tenon_u8 *client_id;       /* in the message */
    unsigned client_id_bytes;
    const tenon_u8 *chaddr;
    struct tenon_dhcp_offer offer;   /* lists, times, MTU, server; t1_s and t2_s 0 if there are none */
};

/* Write a message. @return its length, DHCP_BYTES_MIN to DHCP_BYTES_MAX */
unsigned tenon_dhcp_build(tenon_u8 bytes[DHCP_BYTES_MAX], const struct dhcp_call *call);

/* Read one. @return 0, or the counter of what is wrong (none of those that we need is 0) */
enum tenon_dhcp_stat tenon_dhcp_parse(struct dhcp_reply *reply, const tenon_u8 *bytes, tenon_u32 n);

TENON_END_DECLS

#endif
