/* SPDX-License-Identifier: MIT */
/** @file
 *  The host interface: all that the core asks of the program or system that it lives in. */
#ifndef TENON_HOST_H
#define TENON_HOST_H

#include <tenon/buf.h>

TENON_BEGIN_DECLS

/** The version of struct tenon_host that this header describes. */
enum { TENON_HOST_VERSION = 1 };

/** Bytes that a buffer from buf_get() must have at least: the headers of the longest packet that the core makes, or
 *  brings together to read them. A build for IPv4 alone, without groups and fragments, has shorter ones. Larger
 *  buffers are used to the full: a host that wants full-sized segments written by tenon_tcp_write() gives MTU + 64 or
 *  more. */
enum { TENON_BUF_BYTES_MIN = TENON_WITH_IPV6 || TENON_WITH_MULTICAST || TENON_WITH_FRAGMENTS ? 256 : 168 };

/** Five functions. `host` is the pointer given to tenon_init(), untouched. None may call back into
 *  the instance. They are called from within tenon_ calls only, in the caller's thread. */
struct tenon_host {
    tenon_u32 version;    /**< TENON_HOST_VERSION */

    /** Memory for connections and tables, aligned for any type; never called per packet.
     *  @return NULL when there is no more: the core refuses what needed it and counts that */
    void *(*mem_get)(void *host, size_t bytes);

    /** Takes back what mem_get() gave, with the size that was asked for. */
    void (*mem_put)(void *host, void *mem, size_t bytes);

    /** Get packet buffers for headers and copied data, each with refs == 1 and at least
     *  TENON_BUF_BYTES_MIN bytes.
     *  @return how many it got, 0 to n */
    unsigned (*buf_get)(void *host, struct tenon_buf **bufs, unsigned n);

    /** Send frames through interface `netif`, in order. A port that needs the bytes after this call
     *  takes references on the buffers. The arrays are the core's and are reused after the call.
     *  @return how many it took, counted from the first; the core keeps the others and offers them
     *          again at its next call */
    unsigned (*transmit)(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n);

    /** Fill `bytes` with n random bytes that nobody can guess. Called by tenon_init() only.
     *  @return 0, or non-zero when there is no randomness: tenon_init() then fails */
    int (*entropy)(void *host, void *bytes, size_t n);
};

/** What an interface can do by itself. What it cannot, the core does in software. */
enum tenon_cap {
    TENON_CAP_TX_CSUM = 1,     /**< completes TCP and UDP checksums (TENON_CSUM_PARTIAL) */
    TENON_CAP_TSO4 = 2,        /**< cuts TENON_SEG_TCP4; needs TX_CSUM */
    TENON_CAP_TSO6 = 4,        /**< cuts TENON_SEG_TCP6; needs TX_CSUM */
    TENON_CAP_USO = 8,         /**< cuts TENON_SEG_UDP; needs TX_CSUM */
    TENON_CAP_NO_LINK = 16     /**< frames are bare IP packets: no Ethernet header, no neighbours */
};

/** An interface, described when it is added. */
struct tenon_netif_conf {
    tenon_u8 mac[6];             /**< our Ethernet address */
    tenon_u16 mtu;               /**< bytes of an IP packet; 576 to 65535, 1280 and up for IPv6 */
    tenon_u32 caps;              /**< enum tenon_cap, or-ed */
    tenon_u32 tso_bytes_max;     /**< largest frame for TSO and USO, with headers; 0: 65535. Too small for two segments:
                                      none are joined */
    tenon_u16 gather_max;        /**< spans per frame; 1: the port cannot gather. 0: the core's own limit */
    tenon_u16 flags;             /**< enum tenon_netif_flag, or-ed */
    tenon_u16 mru;               /**< bytes of the largest IP packet that is taken, for a host whose memory for received
                                      frames is smaller than the MTU: TCP's peers are told of it by the MSS option
                                      (RFC 9293 3.7.1), all others send up to the MTU, and what is larger the port
                                      drops. What is sent does not depend on it. 576 at least (RFC 1122 3.3.2), and 1280
                                      unless TENON_NETIF_NO_IP6 is set (RFC 8200 5); 0, or more than the MTU: that */
};

/** What an interface is to do without. */
enum tenon_netif_flag {
    TENON_NETIF_NO_IP6 = 1,      /**< no IPv6 on this interface: no link-local address, no ND */
    TENON_NETIF_NO_RA = 2,       /**< no router solicitation; router advertisements are ignored */
    TENON_NETIF_NO_DAD = 4,      /**< addresses are used at once, without probing for duplicates */
    TENON_NETIF_NO_GRO = 8       /**< every frame goes up alone: TCP segments that continue each other in one call of
                                      tenon_input() are not handed up together */
};

TENON_END_DECLS

#endif
