/* SPDX-License-Identifier: MIT */
/** @file
 *  The only file with conditional compilation: what the compiler is, which integer types it has,
 *  and the switches that a build may set. Everything else is chosen by values at run time. */
#ifndef TENON_CONFIG_H
#define TENON_CONFIG_H

#include <limits.h>
#include <stddef.h>

/* ---- switches that a build may set with -D ----------------------------------------------- */

/** 0: invariants are not checked. 1 (default): each is one compare and branch.
 *  2: the walking checkers (tenon_tcp_check() after every input and poll) run as well. */
#if !defined(TENON_ASSERT_LEVEL)
#define TENON_ASSERT_LEVEL 1
#endif

/** 1 when the whole core is one translation unit (src/tenon_all.c): internal functions are static. */
#if !defined(TENON_UNITY)
#define TENON_UNITY 0
#endif

/** Put before every public function; a shared library sets its visibility here. */
#if !defined(TENON_API)
#if defined(__GNUC__)
#define TENON_API __attribute__((visibility("default")))
#else
#define TENON_API
#endif
#endif

/* ---- what a small build may do without ----------------------------------------------------- */

/* Each is 1, or 0 if a build says so: all of the core, and whoever includes its headers, with the same. Code
 * that hangs on one alone is dropped by the compiler where the core is one unit (src/tenon_all.c). Without
 * IPv6 struct tenon_ip is one word; no other type changes, no function vanishes. What of struct tenon_conf is
 * only about what a build is without may stay 0 in tenon_conf_default(). docs/guide/small.md has the sizes.
 */

/** IPv6, ICMPv6, neighbour discovery, address autoconfiguration, MLD. 0: IPv4 only; an address that is none of IPv4
 *  must not be given to any function. */
#if !defined(TENON_WITH_IPV6)
#define TENON_WITH_IPV6 1
#endif

/** UDP. 0: tenon_udp_open() returns TENON_EINVAL; a datagram gets "protocol unreachable". */
#if !defined(TENON_WITH_UDP)
#define TENON_WITH_UDP 1
#endif

/** Passive opens of TCP. 0: tenon_tcp_listen() returns TENON_EINVAL, whoever connects to us gets a reset. */
#if !defined(TENON_WITH_LISTEN)
#define TENON_WITH_LISTEN 1
#endif

/** Active opens of TCP, and UDP sockets with a peer. 0, for servers: tenon_tcp_connect() and tenon_udp_connect() return
 *  TENON_EINVAL. Datagrams still go to whom they are addressed. */
#if !defined(TENON_WITH_CONNECT)
#define TENON_WITH_CONNECT 1
#endif

/** Fragments of IP. 0: what we send is never cut (TENON_EMSGSIZE), and fragments that come are dropped and counted,
 *  against RFC 1122 3.3.2 (MUST reassemble) and RFC 8200 4.5. TCP does not need them. A datagram that is written has to
 *  find room in 16 packet buffers of the host then. */
#if !defined(TENON_WITH_FRAGMENTS)
#define TENON_WITH_FRAGMENTS 1
#endif

/** Groups, and multicast packets in either direction. IPv6 and IGMP need it. */
#if !defined(TENON_WITH_MULTICAST)
#define TENON_WITH_MULTICAST 1
#endif

/** Groups of IPv4, and IGMP. 0: level 0 of RFC 1112, no multicast packet of IPv4 goes or is taken, and
 *  tenon_group_join() refuses its groups (TENON_EINVAL); those of IPv6 are as ever. */
#if !defined(TENON_WITH_IGMP)
#define TENON_WITH_IGMP 1
#endif

/** Path MTU discovery: reports of routers (RFC 1191, RFC 8201, RFC 5927). PROBES need it. 0: routers of IPv4 may cut
 *  the packets of TCP (RFC 791), and over IPv6 goes none of more than 1280 bytes (RFC 8200 5). */
#if !defined(TENON_WITH_PATH_MTU)
#define TENON_WITH_PATH_MTU 1
#endif

/** Path MTU discovery of TCP where routers do not report: black holes are noticed, larger segments are tried (RFC
 *  4821). 0: TENON_TCP_MTU_PROBING does nothing, and a connection whose full segments vanish ends by its timeouts. */
#if !defined(TENON_WITH_PROBES)
#define TENON_WITH_PROBES 1
#endif

/** SYN cookies (RFC 4987) and TCP Fast Open (RFC 7413). 0: a full backlog recycles its oldest entry, in a flood that
 *  keeps others out, as a single source may; TENON_TCP_FASTOPEN does nothing. */
#if !defined(TENON_WITH_COOKIES)
#define TENON_WITH_COOKIES 1
#endif

/** Loss recovery and congestion control as they are done today: RACK-TLP (RFC 8985), PRR (RFC 9937), undoing of
 *  mistakes (RFC 4015, 5682), D-SACK, pacing, window validation (RFC 7661), ECN (RFC 3168), CUBIC, BBR, DCTCP and
 *  HighSpeed TCP. 0: NewReno (RFC 5681, RFC 6582), with SACK as in RFC 6675; a timeout forgets what was SACKed; other
 *  congestion controls are refused (TENON_EINVAL). */
#if !defined(TENON_WITH_RECOVERY)
#define TENON_WITH_RECOVERY 1
#endif

/** More than one segment of a connection on its way at a time. 0: the next one leaves when the one before it is
 *  acknowledged, which no congestion control could object to, and which needs none; what is lost is found by the timer
 *  alone (RFC 6298). One segment in a round trip is slow, and slower with a peer that waits for a second one before it
 *  acknowledges (RFC 9293 3.8.6.3: up to half a second). tenon_tcp_info.cwnd is the segment size. RECOVERY, SCOREBOARD
 *  and PATH_MTU need it. */
#if !defined(TENON_WITH_FLIGHT)
#define TENON_WITH_FLIGHT 1
#endif

/** Selective acknowledgements (RFC 2018), and memory for what arrives early. 0: a segment out of order is dropped (RFC
 *  9293 3.10.7.4 lets us), and has to be sent again. */
#if !defined(TENON_WITH_SACK)
#define TENON_WITH_SACK 1
#endif

/** What the peer says by selective acknowledgements (RFC 2018 5, RFC 6675). 0: it is not looked at, and losses are
 *  repaired as without SACK, one in a round trip (RFC 6582); the peer hears of what has arrived early all the same. */
#if !defined(TENON_WITH_SCOREBOARD)
#define TENON_WITH_SCOREBOARD 1
#endif

/** Short ways for what is usual, merging of received frames, segmentation in software and by the port,
 * caches. 0: the same protocol, with fewer segments for each call of a function, and frames that are given to
 * the port one by one; a port puts none together either. Of TCP's short ways it needs RECOVERY. */
#if !defined(TENON_WITH_SPEED)
#define TENON_WITH_SPEED 1
#endif

/** Counters, the event trace, and how long a connection waits for what. 0: tenon_stat() is 0, as the counters of an
 *  interface (tenon_netif_get()) are, no event is traced, and tenon_tcp_info does not say what is waited for;
 *  tenon_conf_check() says that a field is bad, but not which; tenon_panic() gets the line of the broken invariant, but
 *  not the file. */
#if !defined(TENON_WITH_STATS)
#define TENON_WITH_STATS 1
#endif

/** Tables and timers for many: what is looked up by a hash, the wheel of timers, and errors counted by
 * destination. 0: lists in their place, which are shorter and as quick for a handful of connections, sockets
 * and neighbours; local ports are chosen at random (RFC 6056 3.3.1), no connection gives its block back
 * before it ends, tcp_ports (tenon_conf) is not asked, TENON_KEEP_FIRST is as TENON_KEEP_NOTHING, what is not
 * to be guessed is Chaskey-12 of the ends in place of SipHash-2-4, and those with the same options share them
 * only while these are the defaults, or their listener's. Who was asked for keeps its place among the
 * neighbours for a second, and no more than half of the places are of those who have not answered: where
 * another would be needed, nothing is sent (TENON_ENOMEM). */
#if !defined(TENON_WITH_MANY)
#define TENON_WITH_MANY 1
#endif

/** Choosing among several ways out: gateways that stand in for one another, redirects over IPv4 (RFC 1122 3.3.1.2 asks
 *  for both), and the source address by all rules of RFC 6724; and transparent connections. 0: the route with the
 *  longest prefix, and of several the first; the source is our first address in the network of the next hop, else our
 *  first; and 255.255.255.255 is on the first interface that has an address. Where IPv6 is there are several routers,
 *  and its own redirects (RFC 4861), without it, too: then gateways stand in for one another in any case, and of RFC
 *  6724 only the rule of labels is left out. */
#if !defined(TENON_WITH_ROUTES)
#define TENON_WITH_ROUTES 1
#endif

/** More than one address and router. 0: there is one of each, and those beyond them are refused (TENON_ELIMIT),
 *  whatever addrs_max and routes_max say. Nobody looks for a way: what is in the network of the address is on the link,
 *  all else goes to the router, and tenon_route_add() takes no route but a default one with a gateway (TENON_EINVAL).
 *  ROUTES and NETIFS need it. */
#if !defined(TENON_WITH_HOMES)
#define TENON_WITH_HOMES 1
#endif

/** More than one interface. 0: there is one, and others are refused (TENON_ELIMIT), whatever netifs_max says. The
 *  interface that stands in a tenon_addr is not looked at, but where a datagram is sent without an address. */
#if !defined(TENON_WITH_NETIFS)
#define TENON_WITH_NETIFS 1
#endif

/** Detection of address conflicts (RFC 5227). 0: an address of IPv4 is used at once, and announced once; nobody asks
 *  whether another host has it; none may be of 169.254/16 (RFC 3927 2.2.1). IPv6 does not do without. */
#if !defined(TENON_WITH_CONFLICTS)
#define TENON_WITH_CONFLICTS 1
#endif

/** Keep-alives (RFC 9293 3.8.4), which an application has to ask for. 0: the options for them do nothing. */
#if !defined(TENON_WITH_WATCH)
#define TENON_WITH_WATCH 1
#endif

/** Limits for connections that stand still: how long a peer may keep its window closed (RFC 6429), and how many
 *  connections may be left that the application has closed. 0: whoever keeps its window closed and answers probes is
 *  waited for until the application aborts, or for ever. */
#if !defined(TENON_WITH_ORPHANS)
#define TENON_WITH_ORPHANS 1
#endif

/** ICMP errors about what others have sent. 0: who sends to a port or a protocol that nobody has, or a fragment whose
 *  rest never comes, is not told (RFC 1122 3.2.2.1, 3.3.2, RFC 4443 2.4). Echo requests of others are answered, however
 *  many they are, and errors about our packets are heard, all the same. */
#if !defined(TENON_WITH_ICMP)
#define TENON_WITH_ICMP 1
#endif

/** ICMP errors about what we have sent, and that a neighbour does not answer. 0: against RFC 1122 4.2.3.9
 * (MUST) neither is heard: who connects to a port that is refused by ICMP, or to a host that is not there,
 * waits for the timeout. With PATH_MTU reports of what was too large are heard all the same. */
#if !defined(TENON_WITH_ERRORS)
#define TENON_WITH_ERRORS 1
#endif

/** Echo requests of our own. 0: tenon_echo_open() returns TENON_EINVAL. */
#if !defined(TENON_WITH_PING)
#define TENON_WITH_PING 1
#endif

/** Looking over the configuration, and the values of options. 0: tenon_conf_check() returns NULL whatever it is given,
 *  an instance begins with values that cannot work, and tenon_tcp_set() takes them (also, against MUST-48, the ECN
 *  bits in TENON_TCP_TOS): for a program that never changes them once it has been tried with a build that looks. */
#if !defined(TENON_WITH_CHECKS)
#define TENON_WITH_CHECKS 1
#endif

/** Timestamps and window scaling (RFC 7323), for what is fast or far away: RFC 9293 asks for neither. 0: they are not
 *  offered and not taken, whatever TENON_TCP_TIMESTAMPS and TENON_TCP_WINDOW_SCALING say; windows end at 65,535 bytes,
 *  and old duplicates are told by their sequence numbers alone. */
#if !defined(TENON_WITH_SCALE)
#define TENON_WITH_SCALE 1
#endif

/** Urgent data (RFC 9293 3.8.5), which RFC 6093 tells new applications not to use. 0: against MUST-30 the urgent
 *  pointer of others is not looked at, its data comes as all data does, and tenon_tcp_urgent() returns TENON_EINVAL. */
#if !defined(TENON_WITH_URGENT)
#define TENON_WITH_URGENT 1
#endif

/** Applications that keep peers waiting: TENON_TCP_ACK_BY_HAND, TENON_TCP_HOLD_FIN, TENON_HOLD. 0: the options can
 *  not be set (TENON_EINVAL), and TENON_HOLD refuses as TENON_REFUSE does. */
#if !defined(TENON_WITH_HOLD)
#define TENON_WITH_HOLD 1
#endif

/** Two active opens that cross and become one connection (RFC 9293 3.5, MUST-10), as hosts behind address translators
 *  try it. 0: a SYN that is no answer to ours is dropped, as if it had been lost on its way. */
#if !defined(TENON_WITH_CROSSING)
#define TENON_WITH_CROSSING 1
#endif

/** Records for what is in TIME-WAIT. 0: the connection itself waits, unseen (tenon_tcp_each()), and counts for
 *  tcp_conns_max; the one that has waited longest makes room for another. A SYN that would begin a new connection is
 *  answered by an ACK (RFC 9293 MAY-2 lets us): the peer's reset ends the old one, against what RFC 1337 advises, and
 *  its next SYN begins the new one. tcp_time_wait_max means nothing. */
#if !defined(TENON_WITH_WAITS)
#define TENON_WITH_WAITS 1
#endif

/** Memory for what arrives early that is quick to search however much there is. 0: one list of segments; of a FIN that
 *  is early nothing is kept, the selective acknowledgements after the first are in no order (against a SHOULD of RFC
 *  2018 4), tcp_ooo_ranges_max and tcp_ooo_total_max mean nothing. */
#if !defined(TENON_WITH_RUNS)
#define TENON_WITH_RUNS 1
#endif

/** A send queue that grows, and small payload that is put behind the headers. 0: a connection has eight
 * pieces of what waits to be sent or acknowledged, each a span of tenon_tcp_send() or a buffer that
 * tenon_tcp_write() has filled; where they are taken, the former returns TENON_EAGAIN, the latter
 * TENON_ENOMEM, until some is acknowledged. A segment has as many of them as the port gathers at once, if
 * that is less than what fits into it. */
#if !defined(TENON_WITH_QUEUE)
#define TENON_WITH_QUEUE 1
#endif

/** Frames in several pieces, on their way in and out. 0: a frame that is given to tenon_input() is one span,
 * or it is dropped, and what is sent goes behind its headers, as over an interface that gathers
 * one span only: it is copied, and no longer than a packet buffer has room. For drivers that have frames in
 * one piece anyway; their buffers are as large as the largest frame. SPLIT needs it. */
#if !defined(TENON_WITH_PIECES)
#define TENON_WITH_PIECES 1
#endif

/** Frames that come in several pieces. 0: a frame that is given to tenon_input() is one span, or it is dropped; what
 *  leaves may have several. Functions that put received pieces together take less of the stack, too: 64 spans each,
 *  16 in builds without FRAGMENTS and SPEED.
 *  FRAGMENTS and SPEED need it, and it needs PIECES. */
#if !defined(TENON_WITH_SPLIT)
#define TENON_WITH_SPLIT 1
#endif

/** Frames that are put together for a port that gathers less than a packet has: gather_max of an interface, and
 * TENON_SOCK_CONTIGUOUS of embedded/. 0: each port gathers what tx_gather_max says. tenon_netif_add() refuses a
 * gather_max that is less, tenon_sock_start() that flag (TENON_EINVAL), and a packet of more pieces is not sent
 * (TENON_EMSGSIZE). Without PIECES nothing is gathered in any case. */
#if !defined(TENON_WITH_LINEAR)
#define TENON_WITH_LINEAR 1
#endif

/** Ethernet: its header, ARP, and what is known of neighbours. 0: all interfaces are without a link header,
 * as SLIP (RFC 1055), PPP and tunnels are: tenon_netif_add() refuses others (TENON_EINVAL). Who is at the
 * other end is not asked for, and no neighbour can be set. Without HOMES all that is sent goes over the one
 * link, and tenon_route_add() returns TENON_EINVAL: there is no router to be named. */
#if !defined(TENON_WITH_ETHERNET)
#define TENON_WITH_ETHERNET 1
#endif

/** Links that are not plain Ethernet II: tags of 802.1Q, the encapsulation of RFC 1042 (which RFC 1122 2.3.3
 * says a host SHOULD receive), and beside Ethernet interfaces without a link header. 0: frames with either are dropped,
 * and tenon_netif_add() refuses TENON_CAP_NO_LINK (TENON_EINVAL), unless there is no ETHERNET. */
#if !defined(TENON_WITH_LINKS)
#define TENON_WITH_LINKS 1
#endif

#if !TENON_WITH_LISTEN && !TENON_WITH_CONNECT
#error "Without LISTEN and CONNECT there are no connections."
#endif

#if TENON_WITH_CROSSING && !TENON_WITH_CONNECT
#error "Opens that cross need CONNECT."
#endif

#if (TENON_WITH_RECOVERY || TENON_WITH_SCOREBOARD || TENON_WITH_PATH_MTU) && !TENON_WITH_FLIGHT
#error "Recovery, the scoreboard and path MTU discovery need a flight: there is nothing to recover in one segment."
#endif

#if TENON_WITH_PROBES && !TENON_WITH_PATH_MTU
#error "Probes need path MTU discovery: it is what they do where nobody reports."
#endif

#if (TENON_WITH_FRAGMENTS || TENON_WITH_SPEED) && !TENON_WITH_SPLIT
#error "Fragments and short ways need frames that come split: they put them together."
#endif

#if TENON_WITH_SPLIT && !TENON_WITH_PIECES
#error "Frames that come split need pieces."
#endif

#if TENON_WITH_IPV6 && !TENON_WITH_HOMES
#error "IPv6 needs homes: it has several addresses, and routers that come and go."
#endif

#if TENON_WITH_ROUTES && !TENON_WITH_HOMES
#error "Routes need homes: there is nothing to choose from."
#endif

#if TENON_WITH_NETIFS && !TENON_WITH_HOMES
#error "Several interfaces need homes: each has an address of its own."
#endif

#if TENON_WITH_IPV6 && !TENON_WITH_MULTICAST
#error "IPv6 needs multicast: neighbours are found by it."
#endif

#if TENON_WITH_IGMP && !TENON_WITH_MULTICAST
#error "IGMP needs multicast: it tells of groups."
#endif

/* ---- integers: exactly 8, 16 and 32 bits, found by <limits.h> alone ----------------------- */

#if CHAR_BIT != 8
#error "Tenon needs 8-bit bytes."
#endif
/** 8 bits. */
typedef unsigned char tenon_u8;

#if USHRT_MAX != 0xFFFF
#error "Tenon needs a 16-bit unsigned short."
#endif
/** 16 bits. */
typedef unsigned short tenon_u16;

/** 32 bits. */
#if UINT_MAX == 0xFFFFFFFF
typedef unsigned int tenon_u32;
typedef int tenon_i32;
#elif ULONG_MAX == 0xFFFFFFFF
typedef unsigned long tenon_u32;
typedef long tenon_i32;
#else
#error "Tenon needs a 32-bit unsigned int or unsigned long."
#endif

/* ---- what C89 cannot say ------------------------------------------------------------------ */

#if defined(__cplusplus)
#define TENON_BEGIN_DECLS extern "C" {
#define TENON_END_DECLS }
#define TENON_INLINE static inline
#elif defined(__GNUC__)
#define TENON_BEGIN_DECLS
#define TENON_END_DECLS
#define TENON_INLINE static __inline__ __attribute__((unused))
#elif defined(_MSC_VER)
#define TENON_BEGIN_DECLS
#define TENON_END_DECLS
#define TENON_INLINE static __inline
#else
#define TENON_BEGIN_DECLS
#define TENON_END_DECLS
#define TENON_INLINE static
#endif

/** A function of the core that other files of the core call: never part of the library's face. */
#if TENON_UNITY
#define TENON_INTERNAL static
#elif defined(__GNUC__)
#define TENON_INTERNAL extern __attribute__((visibility("hidden")))
#else
#define TENON_INTERNAL extern
#endif

/** A few lines on the way of every segment, which are worth a copy of their own in each of the two or three functions
 *  that call them: unless the build is to be small, or has no optimisation at all. TENON_HOT is for functions of one
 *  file, TENON_INTERNAL_HOT for those of others. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TENON_HOT static __inline__ __attribute__((always_inline, unused))
#else
#define TENON_HOT TENON_INLINE
#endif
/** What is not usual, of one file: it stands apart, so that what is usual need not save registers for it. */
#if defined(__GNUC__) && !defined(__OPTIMIZE_SIZE__)
#define TENON_APART static __attribute__((noinline))
#else
#define TENON_APART static
#endif
/** What several call, and what is longer than the call: compilers that are to be short still make copies of it. */
#if defined(__GNUC__)
#define TENON_ONCE __attribute__((noinline))
#else
#define TENON_ONCE
#endif
/** The same only where the build is to be small: on the way of every segment calls cost more than copies. Also for what
 *  one alone calls, and what would take the registers of that, and lie on the stack while all goes on from there. */
#if defined(__GNUC__) && defined(__OPTIMIZE_SIZE__)
#define TENON_ONCE_IF_SMALL __attribute__((noinline))
#else
#define TENON_ONCE_IF_SMALL
#endif
/** 1: the build is to be small, and goes without short cuts that save nothing but time. */
#if defined(__OPTIMIZE_SIZE__) || !TENON_WITH_SPEED
#define TENON_SMALL 1
#else
#define TENON_SMALL 0
#endif
/** 1: a new address is watched before it is used, or after. */
#if TENON_WITH_CONFLICTS || TENON_WITH_IPV6
#define TENON_WATCHES_ADDRESSES 1
#else
#define TENON_WATCHES_ADDRESSES 0
#endif
#if TENON_UNITY
#define TENON_INTERNAL_HOT TENON_HOT
#else
#define TENON_INTERNAL_HOT TENON_INTERNAL
#endif

#if defined(__GNUC__)
#define TENON_NORETURN __attribute__((noreturn))
#define TENON_LIKELY(x) __builtin_expect(!!(x), 1)
#define TENON_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define TENON_NORETURN
#define TENON_LIKELY(x) (x)
#define TENON_UNLIKELY(x) (x)
#endif

/** Memory that will be read soon. A hint: nothing happens where there is none, or no such compiler. */
#if defined(__GNUC__)
#define TENON_PREFETCH(address) __builtin_prefetch(address)
#else
#define TENON_PREFETCH(address) ((void)(address))
#endif

/** Number of the highest bit that is set in x, which is not 0, where processors find it at once. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && UINT_MAX == 0xFFFFFFFF
#define TENON_HIGHEST_BIT(x) (31U - (unsigned)__builtin_clz((unsigned)(x)))
#define TENON_FINDS_BITS 1
#else
#define TENON_HIGHEST_BIT(x) 0U
#define TENON_FINDS_BITS 0
#endif

/** memcpy() of a small constant number of bytes: loads and stores, also where there is no C library to know of. */
#if defined(__GNUC__)
#define TENON_COPY(to, from, n) ((void)__builtin_memcpy(to, from, n))
#else
#define TENON_COPY(to, from, n) ((void)memcpy(to, from, n))
#endif

/** Numbers in network byte order, and of the other, at any alignment. A compiler that is left to find out by itself
 *  that four bytes are one word may put two neighbours together first, and shift each of their bytes about; or take so
 *  many steps for too many to be repeated, and make a function of them. */
#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TENON_BE16(value) __builtin_bswap16(value)
#define TENON_BE32(value) __builtin_bswap32(value)
#define TENON_GET32LE(value, from) TENON_COPY(&(value), from, 4)
#elif defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TENON_BE16(value) (value)
#define TENON_BE32(value) (value)
#endif
#if defined(TENON_BE32)
#define TENON_PUT16BE(to, value) \
    do { \
        const tenon_u16 tenon_swapped = TENON_BE16((tenon_u16)(value)); \
        TENON_COPY(to, &tenon_swapped, 2); \
    } while (0)
#define TENON_PUT32BE(to, value) \
    do { \
        const tenon_u32 tenon_swapped = TENON_BE32((tenon_u32)(value)); \
        TENON_COPY(to, &tenon_swapped, 4); \
    } while (0)
#define TENON_GET32BE(value, from) \
    do { \
        tenon_u32 tenon_read; \
        TENON_COPY(&tenon_read, from, 4); \
        (value) = TENON_BE32(tenon_read); \
    } while (0)
#else
#define TENON_PUT16BE(to, value) \
    do { \
        (to)[0] = (tenon_u8)((value) >> 8 & 0xFF); \
        (to)[1] = (tenon_u8)((value) & 0xFF); \
    } while (0)
#define TENON_PUT32BE(to, value) \
    do { \
        (to)[0] = (tenon_u8)((value) >> 24); \
        (to)[1] = (tenon_u8)((value) >> 16 & 0xFF); \
        (to)[2] = (tenon_u8)((value) >> 8 & 0xFF); \
        (to)[3] = (tenon_u8)((value) & 0xFF); \
    } while (0)
#define TENON_GET32BE(value, from) \
    ((value) = (tenon_u32)(from)[0] << 24 | (tenon_u32)(from)[1] << 16 | (tenon_u32)(from)[2] << 8 | (from)[3])
#endif
/* On big-endian machines from bytes: what a compiler calls to swap them may be made for another processor of the
 * family, as libgcc's function for the 68020 is, which a ColdFire cannot run. */
#if !defined(TENON_GET32LE)
#define TENON_GET32LE(value, from) \
    ((value) = (tenon_u32)(from)[3] << 24 | (tenon_u32)(from)[2] << 16 | (tenon_u32)(from)[1] << 8 | (from)[0])
#endif

/** Bytes that a checksum sums at one go: a loop so short that compilers make a row of vector instructions of it. */
#if defined(__AVX512BW__)
#define TENON_SUM_BYTES 1024
#else
#define TENON_SUM_BYTES 256
#endif

#define TENON_ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/** The struct of which `member` is at address `ptr`. */
#define TENON_CONTAINER(ptr, type, member) \
    ((type *)(void *)((tenon_u8 *)(void *)(ptr) - offsetof(type, member)))

TENON_BEGIN_DECLS

/** Called when an invariant of the core is broken: a bug in Tenon or memory overwritten by its host,
 *  never a consequence of what a peer sent. It must not return. The library brings one that stops
 *  in an endless loop (src/base/panic.c); a program may define its own.
 *  @param file  source file of the check (static string), "" without TENON_WITH_STATS
 *  @param line  its line */
TENON_NORETURN void tenon_panic(const char *file, unsigned line);

TENON_END_DECLS

#if TENON_WITH_STATS
#define TENON_PANIC() tenon_panic(__FILE__, __LINE__)
#else
#define TENON_PANIC() tenon_panic_at(__LINE__)
/** One place for the name that is not said, where there are many that could say it. */
#if defined(__GNUC__)
static __attribute__((noinline, noreturn, unused)) void tenon_panic_at(unsigned line)
#else
TENON_INLINE void tenon_panic_at(unsigned line)
#endif
{
    tenon_panic("", line);
}
#endif

/** States what must be true. Has no side effect and is never reached by input. */
#if TENON_ASSERT_LEVEL > 0
#define TENON_ASSERT(what) \
    do { \
        if (TENON_UNLIKELY(!(what))) \
            TENON_PANIC(); \
    } while (0)
#else
#define TENON_ASSERT(what) ((void)0)
#endif

/** Whether the walking checkers run; a constant, so that the compiler drops what is not wanted. */
enum { TENON_CHECK_INVARIANTS = TENON_ASSERT_LEVEL > 1 };

#endif
