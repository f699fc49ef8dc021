/* SPDX-License-Identifier: MIT */
/** @file
 *  Errors and addresses: what every other header of Tenon speaks of. */
#ifndef TENON_TYPES_H
#define TENON_TYPES_H

#include <tenon/config.h>

TENON_BEGIN_DECLS

/** What a call may return besides success. Every function lists those that it can return. */
enum tenon_error {
    TENON_OK = 0,
    TENON_EINVAL = -1,       /**< an argument is wrong, or the call is wrong in this state */
    TENON_ENOMEM = -2,       /**< the host gave no memory or no packet buffer */
    TENON_EAGAIN = -3,       /**< a queue is full: try again when something has left it */
    TENON_ECLOSED = -4,      /**< the connection or its sending side is closed already */
    TENON_EINUSE = -5,       /**< the address and port are taken */
    TENON_ENOADDR = -6,      /**< the local address is not ours */
    TENON_EUNREACH = -7,     /**< no route, no neighbour, or an ICMP unreachable */
    TENON_EREFUSED = -8,     /**< the peer refused the connection */
    TENON_ERESET = -9,       /**< the peer reset the connection */
    TENON_ETIMEOUT = -10,    /**< the peer did not answer in time (R2, RFC 9293 3.8.3) */
    TENON_EMSGSIZE = -11,    /**< the datagram does not fit */
    TENON_EABORTED = -12,    /**< this side aborted the connection */
    TENON_ELIMIT = -13,      /**< a configured limit is reached */
    TENON_EPROTO = -14,      /**< the peer broke the protocol, or an ICMP parameter problem */
    TENON_EACCES = -15       /**< not permitted: broadcast without the option, ICMP "prohibited" */
};

/** A short English sentence for an error.
 *  @return a static string, also for numbers that are no error of Tenon */
TENON_API const char *tenon_error_text(int error);

/** Words of an address: four, or in a build without IPv6 one. The last is the number of an IPv4 address. */
enum { TENON_IP_WORDS = TENON_WITH_IPV6 ? 4 : 1, TENON_IP4_WORD = TENON_IP_WORDS - 1 };

/** An IP address, host byte order, w[0] most significant. IPv4 a.b.c.d is ::ffff:a.b.c.d
 *  (RFC 4291 2.5.5.2); all words 0 is "any". */
struct tenon_ip {
    tenon_u32 w[TENON_IP_WORDS];
};

/** @return word i of an IPv6 address, 0 to 3, w[0] first; in a build without IPv6 there is one, whatever i is */
TENON_INLINE tenon_u32 tenon_ip_word(const struct tenon_ip *ip, unsigned i)
{
    return ip->w[TENON_WITH_IPV6 ? i : 0];
}

/** One end of a connection or datagram. */
struct tenon_addr {
    struct tenon_ip ip;
    tenon_u16 port;    /**< host byte order */
    tenon_u16 netif;   /**< scope of a link-local or multicast address; 0: not given */
};

/** The address that stands for any. */
TENON_INLINE struct tenon_ip tenon_ip_any(void)
{
    struct tenon_ip ip;

    ip.w[TENON_IP4_WORD] = 0;
    if (TENON_WITH_IPV6)
        ip.w[0] = ip.w[1] = ip.w[2] = 0;
    return ip;
}

/** IPv4 a.b.c.d as one 32-bit number (a most significant) -> address. */
TENON_INLINE struct tenon_ip tenon_ip4(tenon_u32 addr)
{
    struct tenon_ip ip;

    ip.w[TENON_IP4_WORD] = addr;
    if (TENON_WITH_IPV6) {
        ip.w[0] = ip.w[1] = 0;
        ip.w[2] = 0xFFFFUL;
    }
    return ip;
}

/** IPv4 a.b.c.d by its four numbers -> address. */
TENON_INLINE struct tenon_ip tenon_ip4_bytes(unsigned a, unsigned b, unsigned c, unsigned d)
{
    return tenon_ip4((tenon_u32)a << 24 | (tenon_u32)b << 16 | (tenon_u32)c << 8 | (tenon_u32)d);
}

/** IPv6 by its four words, the most significant first -> address; without IPv6 of no use. */
TENON_INLINE struct tenon_ip tenon_ip6(tenon_u32 w0, tenon_u32 w1, tenon_u32 w2, tenon_u32 w3)
{
    struct tenon_ip ip;

    ip.w[TENON_IP4_WORD] = w3;
    if (TENON_WITH_IPV6) {
        ip.w[0] = w0;
        ip.w[1] = w1;
        ip.w[2] = w2;
    }
    return ip;
}

/** 1: it is "any". */
TENON_INLINE int tenon_ip_is_any(const struct tenon_ip *ip)
{
    return ((TENON_WITH_IPV6 ? ip->w[0] | ip->w[1] | ip->w[2] : 0) | ip->w[TENON_IP4_WORD]) == 0;
}

/** 1: it is an IPv4 address. "Any" is none. */
TENON_INLINE int tenon_ip_is_v4(const struct tenon_ip *ip)
{
    return !TENON_WITH_IPV6 || ((ip->w[0] | ip->w[1]) == 0 && ip->w[2] == 0xFFFFUL);
}

/** 1: they are the same. */
TENON_INLINE int tenon_ip_equal(const struct tenon_ip *a, const struct tenon_ip *b)
{
    if (!TENON_WITH_IPV6)
        return a->w[TENON_IP4_WORD] == b->w[TENON_IP4_WORD];
    return ((a->w[0] ^ b->w[0]) | (a->w[1] ^ b->w[1]) | (a->w[2] ^ b->w[2]) |
            (a->w[TENON_IP4_WORD] ^ b->w[TENON_IP4_WORD])) == 0;
}

/** Room for the longest text that tenon_ip_format() writes, with its terminating 0. */
enum { TENON_IP_TEXT_MAX = 46 };

/** Read an address: dotted decimal (RFC 6943 3.1.1 strict form: four numbers, no octal) or, in a build
 *  with IPv6, its text (RFC 4291 2.2).
 *  @param[out] ip  untouched on error
 *  @param text     0-terminated
 *  @return characters read (a caller that wants the whole text compares), or TENON_EINVAL */
TENON_API int tenon_ip_parse(struct tenon_ip *ip, const char *text);

/** Write an address as text; IPv6 by RFC 5952.
 *  @param[out] text  at least TENON_IP_TEXT_MAX characters
 *  @return the length, without the terminating 0 */
TENON_API int tenon_ip_format(char *text, const struct tenon_ip *ip);

TENON_END_DECLS

#endif
