/* SPDX-License-Identifier: MIT */
/** @file
 *  An instance of the stack: making one, feeding it, its interfaces, addresses, routes, neighbours.
 *
 *  Threads: an instance is used by one thread at a time. Instances share nothing.
 *  Time: `now_us` is a counter of microseconds that may wrap; only differences count. It must not go
 *  backwards, and the instance must be called at least every 30 minutes (tenon_poll() says when). */
#ifndef TENON_STACK_H
#define TENON_STACK_H

#include <tenon/host.h>
#include <tenon/stats.h>

TENON_BEGIN_DECLS

/** An instance: a stack with its interfaces, addresses, connections. From tenon_init() until tenon_fini(). */
struct tenon;
struct tenon_cc_ops;
struct tenon_trace_event;

/** Says which local port may be chosen for a connection, for a program that has reasons for some. */
struct tenon_port_filter {
    /** Called within tenon_tcp_connect() with port 0, once per port that is looked at, at most for all of
     * them; must not call into the instance.
     *  @param filter  this struct; what it needs to know the program puts behind it
     *  @param local   our end, with the port in question
     *  @return non-zero: it may. When none may, tenon_tcp_connect() returns TENON_EINUSE */
    int (*fits)(const struct tenon_port_filter *filter, const struct tenon_addr *local,
                const struct tenon_addr *remote);
};

/** How an instance is made. Start from tenon_conf_default() and change what you need; a 0 in a field
 *  that says "0: default" takes the default. All limits are hard: what would pass one is refused or
 *  dropped, and counted. */
struct tenon_conf {
    tenon_u16 netifs_max;              /**< interfaces; 0: default 4 */
    tenon_u16 addrs_max;               /**< addresses on all interfaces together; 0: default 16 */
    tenon_u16 routes_max;              /**< routes; 0: default 32 */
    tenon_u16 groups_max;              /**< multicast groups joined; 0: default 32 */
    tenon_u16 tx_burst_max;            /**< frames kept for one call of transmit(); 0: default 32 */
    tenon_u16 tx_gather_max;           /**< spans of one frame at most; 0: default 20 */
    tenon_u16 neighbours_max;          /**< ARP and ND entries; 0: default 256 */
    tenon_u16 neighbour_queue_max;     /**< packets that wait for one neighbour; 0: default 16 */
    tenon_u16 neighbour_asks_max;      /**< addresses that may be asked for within a second (of IPv6: within
                                            RetransTimer), each once, 8 bytes each; 8 to 16384; 0: default
                                            four times neighbours_max, within these bounds */
    tenon_u32 paths_max;               /**< destination cache (RFC 4861 5.1) with path MTU: hosts that are remembered.
                                            Those of connections and of UDP sockets count, and may be more; 0:
                                            default 4096 */
    tenon_u32 reass_bytes_max;         /**< packet memory held by reassembly; 0: default 262144 */
    tenon_u16 reass_datagrams_max;     /**< datagrams in reassembly; 0: default 64 */
    tenon_u16 reass_pieces_max;        /**< fragments per datagram; 0: default 64 */
    tenon_u32 reass_timeout_ms;        /**< RFC 1122 3.3.2, RFC 8200 4.5; 0: default 60000 */
    tenon_u16 icmp_errors_per_s;       /**< ICMP errors sent: the long-run rate; echo replies have 64 times
                                            as much; 0: default 1000 */
    tenon_u16 icmp_errors_burst;       /**< ... and how many at once; 0: default 50 */
    tenon_u8 hop_limit;                /**< TTL and hop limit of what we send; 0: default 64 */
    tenon_u8 dad_transmits;            /**< DupAddrDetectTransmits (RFC 4862 5.1); 0: default 1 */

    tenon_u32 udp_sockets_max;         /**< 0: default 4096 */

    tenon_u32 tcp_conns_max;           /**< connections in all states but TIME-WAIT; 0: default 1048576 */
    tenon_u32 tcp_time_wait_max;       /**< TIME-WAIT records; 0: default 16384 */
    tenon_u32 tcp_rcv_buf;             /**< bytes received and not yet consumed, per connection: the largest
                                            window, less up to one unit of the window scale (64 KB and less:
                                            exact; above, its 32768th part); 0: default 1048576 */
    tenon_u32 tcp_snd_buf;             /**< bytes queued or in flight, per connection; 0: default 1048576 */
    tenon_u32 tcp_ooo_bytes_max;       /**< packet memory held out of order, per connection, with the records
                                            of its pieces; 0: default twice tcp_rcv_buf */
    tenon_u32 tcp_ooo_total_max;       /**< the same of all connections together; 0: default 67108864 */
    tenon_u16 tcp_ooo_ranges_max;      /**< separate pieces of sequence space held out of order; 0: default 256 */
    tenon_u16 tcp_mss_min;             /**< smallest segment size that a peer can make us use; 0: default 88 */
    tenon_u16 tcp_copy_max;            /**< bytes that are cheaper to copy than to refer to: payload of a segment that
                                            goes behind its headers, where their buffer has room; and spans of fewer
                                            that wait for each other are joined. 1: hardly any; 0: default 256 */
    tenon_u16 udp_copy_max;            /**< the same of a datagram: so many bytes go behind its headers, where they
                                            have room. 1: hardly any; 0: default 128 */
    tenon_u32 tcp_rto_initial_us;      /**< RFC 6298 2.1; 0: default 1000000 */
    tenon_u32 tcp_rto_min_us;          /**< lower bound of the RTO; RFC 6298 2.4 says 1 s, as deployed stacks
                                            do we say less; 0: default 200000 */
    tenon_u32 tcp_rto_max_us;          /**< upper bound of the RTO, RFC 6298 2.5; 0: default 60000000 */
    tenon_u32 tcp_peer_delack_us;      /**< how long a peer is believed to delay an ACK (RFC 8985 7.2); one that
                                            delays it longer gets a probe too many; 0: default 40000 */
    tenon_u32 tcp_delack_us;           /**< delayed ACK (RFC 9293 3.8.6.3: below 500000); 0: default 40000 */
    tenon_u32 tcp_msl_ms;              /**< half of the TIME-WAIT (RFC 9293 3.4.2 says 2 minutes); 0: default 30000 */
    tenon_u32 tcp_rsts_per_s;          /**< resets for segments of no connection; 0: default 1000 */
    tenon_u32 tcp_orphans_max;         /**< connections that are closed by the application and have still something
                                            to send, or to hear; 0: default 4096. Where tcp_conns_max are too few, those
                                            of them whose peer has not been heard of for 100 seconds make room */
    tenon_u32 tcp_orphan_ms;           /**< how long the peer of such a one may keep its window closed; 0: default
                                            120000 */
    tenon_u32 tcp_resting_max;         /**< idle connections that keep what they work with (some 800 bytes each on
                                            64-bit machines); of more, those that rest longest give it back, and as many
                                            such pieces are kept for the next that work, and as many that closed
                                            connections leave behind (280 bytes) and ended TIME-WAITs (160), for the
                                            next of their kind. With it goes what was learnt
                                            about reordering and congestion, but for the window. Nothing is taken
                                            in advance; 0: default 1024 */
    tenon_u32 tcp_fastopen_pending_max;    /**< Fast Open (RFC 7413), of each listener: connections whose SYN's data was
                                            delivered and whose handshake is not over; more are opened the usual
                                            way; 0: default 32 */
    tenon_u16 tcp_fastopen_cache_max;  /**< peers whose Fast Open cookie is remembered, 64 bytes each, taken when
                                            Fast Open is used first; at most 1024; 0: default 32 */
    tenon_u16 tcp_port_counters;       /**< counters for the choice of local ports (RFC 6056 3.3.4), two bytes
                                            each, which destinations share; 0: default 4096 */
    tenon_u8 tcp_syncookies;           /**< SYN cookies (RFC 4987 3.6): 0 never; 1 when a backlog is full, or half-open
                                            connections are all that there may be (what tenon_conf_default() says); 2
                                            always */
    /** Sums bytes for checksums of TCP, UDP and ICMP that no port makes or looks at: for who has something faster than
     *  portable C, or wants to count. NULL: Tenon does. Short pieces it sums itself in any case.
     *  @param bytes  at any address; n of them, 64 and more, odd or even
     *  @return their one's complement sum (RFC 1071) as 16-bit words in network order, not complemented; an odd
     *          byte at the end is the upper half of a word. 0 for nothing but zeros, else 1 to 0xFFFF */
    tenon_u16 (*checksum)(const tenon_u8 *bytes, size_t n);
    const struct tenon_cc_ops *tcp_cc; /**< congestion control of new connections; NULL: tenon_cc_cubic */

    const struct tenon_port_filter *tcp_ports;    /**< which local ports tenon_tcp_connect() may choose; kept: must
                                            outlive the instance. NULL: any. tenon/flow.h makes one that knows the
                                            queues of a NIC */

    /** Told of every event of every connection (tenon/trace.h); NULL: no trace. `event` is valid
     *  during the call; `trace` must not call into the instance. */
    void (*trace)(void *host, const struct tenon_trace_event *event);
};

/** Fill in all defaults.
 *  @param[out] conf  written whole */
TENON_API void tenon_conf_default(struct tenon_conf *conf);

/** Look for values that cannot work.
 *  @return NULL when all is well, else the name of the first bad field (a static string) */
TENON_API const char *tenon_conf_check(const struct tenon_conf *conf);

/** Bytes of memory that tenon_init() needs for this configuration.
 *  @return 0 if tenon_conf_check() would complain, or a size_t of 16 bits is too small for them: then tenon_init() is
 *          not to be called */
TENON_API size_t tenon_mem_size(const struct tenon_conf *conf);

/** What an instance asks mem_get() for: each of them as often as the limits of its configuration allow. */
enum tenon_mem_kind {
    TENON_MEM_CONN,         /**< a connection of TCP */
    TENON_MEM_BLOCK,        /**< ... and what it has while it works; more only when much is in flight, or lost.
                                 0: it is a part of the connection */
    TENON_MEM_OPTIONS,      /**< ... and options that others have not */
    TENON_MEM_TIME_WAIT,    /**< a record of TIME-WAIT; 0: the connection itself waits */
    TENON_MEM_LISTENER,
    TENON_MEM_UDP,          /**< a socket of UDP */
    TENON_MEM_PATH          /**< a destination */
};

/** Bytes that it asks for at once, for who has a heap made to measure: they depend on what the build is without
 *  (TENON_WITH_...), and not on the configuration. */
TENON_API size_t tenon_mem_bytes(enum tenon_mem_kind kind);

/** Make an instance. What it needs later (connections, tables that grow) comes from ops->mem_get().
 *  @param mem   tenon_mem_size(conf) bytes aligned for any type; the instance lives in it until
 *               tenon_fini(), after which the memory is the caller's again
 *  @param conf  read during the call only
 *  @param ops   kept: must outlive the instance
 *  @param host  handed to every function of ops, never looked at
 *  @return the instance, or NULL: bad configuration, wrong ops->version, or no entropy */
TENON_API struct tenon *tenon_init(void *mem, const struct tenon_conf *conf, const struct tenon_host *ops,
                                   void *host);

/** End an instance: connections are aborted without a word to their peers (call tenon_tcp_abort()
 *  and tenon_poll() before if they should hear of it), every buffer and every piece of memory goes
 *  back. The events closed() are called, with TENON_EABORTED. Not to be called from a handler. */
TENON_API void tenon_fini(struct tenon *stack);

/** Take received frames. Calls the handlers of connections and sockets, and ops->transmit() for the
 *  answers. The frames and their spans stay the caller's; buffers that the core or the application
 *  keep have got references.
 *  @param netif   the number that tenon_netif_add() returned
 *  @param frames  n frames; with Ethernet the first byte is that of the destination address. The
 *                 core may write into their headers (not into payload)
 *  @return TENON_OK, or TENON_EINVAL for an unknown interface. Bad packets are no error: they are
 *          dropped and counted */
TENON_API int tenon_input(struct tenon *stack, unsigned netif, const struct tenon_frame *frames, unsigned n,
                          tenon_u32 now_us);

/** What is kept of what comes. */
enum tenon_kept {
    TENON_KEEP_ALL,     /**< as at the start */
    TENON_KEEP_FIRST,   /**< of each connection the next text, if its application has consumed all before
                             (tenon_tcp_consumed()), and either all that it has sent was acknowledged, or it has
                             neither kept a buffer of the text that it got last nor answered it at once; nothing
                             else. Without TENON_WITH_MANY: nothing */
    TENON_KEEP_NOTHING  /**< no text of TCP, wherever it belongs in its stream, no fragment of IP, and no echo request
                             or packet with an error until it is known where the one lives who gets the answer */
};

/** What is not kept is dropped as if it had been lost on its way (TENON_STAT_RX_NOT_KEPT), and comes again.
 *  The acknowledgements, windows and errors that come with it or alone are heard as always
 *  (RFC 9293 3.10.7.4), and datagrams of UDP are handed to their sockets. Text held out of order is given up
 *  where it stands in the way (RFC 2018 8); a datagram of which fragments are missing makes room for text in
 *  order, or a whole one, that comes next.
 *
 *  For a host whose packet buffers are about to run out. If a reader waits until the peer has made room, and
 *  holds all buffers meanwhile, there would be none in which the peer could say so: TENON_KEEP_NOTHING for the
 *  last ones. And if few connections hold most of them, the others would get nothing more: TENON_KEEP_FIRST
 *  before that. */
TENON_API void tenon_keep(struct tenon *stack, enum tenon_kept keep);

/** Run what is due: timers, and the sending that calls since the last poll have asked for. A program
 *  calls it when the time that it returned has passed, and after it has called functions of the
 *  interface outside of a handler.
 *  @return microseconds until it wants to be called again, at most 30 minutes. 0: the port was full;
 *          call again when it can take frames */
TENON_API tenon_u32 tenon_poll(struct tenon *stack, tenon_u32 now_us);

/** A random number, made of the entropy that tenon_init() got: who has seen many of them cannot guess the next. For
 *  identifiers and delays of protocols above (RFC 4086, RFC 5452 9.2).
 *  @return all 32 bits are random */
TENON_API tenon_u32 tenon_random(struct tenon *stack);

/** The pointer given to tenon_init(). */
TENON_API void *tenon_host_of(const struct tenon *stack);

/* ---- interfaces ------------------------------------------------------------------------------ */

/** Add an interface. With IPv6 allowed it makes its link-local address (RFC 7217 4, RFC 4862 5.3),
 *  probes it for duplicates, and solicits routers.
 *  @return its number, 1 and up; TENON_EINVAL for impossible values; TENON_ELIMIT */
TENON_API int tenon_netif_add(struct tenon *stack, const struct tenon_netif_conf *conf);

/** The link went up (non-zero) or down. Down: nothing is sent, not even what the port has refused until now
 *  (`tx_down` counts it), and neighbours are forgotten. Up: as when
 *  added. An interface starts up.
 *  @return TENON_OK or TENON_EINVAL */
TENON_API int tenon_netif_link(struct tenon *stack, unsigned netif, int up);

/** Change the MTU; what is taken of larger packets (mru) stays. @return TENON_OK or TENON_EINVAL */
TENON_API int tenon_netif_mtu(struct tenon *stack, unsigned netif, tenon_u16 mtu);

/** How an interface stands. */
struct tenon_netif_info {
    struct tenon_netif_conf conf;
    int up;
    tenon_u16 ups;                                         /**< times that the link came up again, modulo 2^16: so
                                                                who looks now and then sees that it was away */
    tenon_u32 rx_frames, rx_bytes, tx_frames, tx_bytes;    /**< modulo 2^32 */
};

/** @return TENON_OK or TENON_EINVAL (no such interface: ends a loop that counts from 1) */
TENON_API int tenon_netif_get(const struct tenon *stack, unsigned netif, struct tenon_netif_info *info);

/* ---- addresses ------------------------------------------------------------------------------- */

/** What an address may be used for (RFC 4862 5.5.4). */
enum tenon_addr_state {
    TENON_ADDR_TENTATIVE,     /**< being probed for duplicates: not used yet */
    TENON_ADDR_PREFERRED,
    TENON_ADDR_DEPRECATED,    /**< its preferred lifetime is over: for what exists already */
    TENON_ADDR_DUPLICATE      /**< somebody else has it: not used */
};

/** Give an interface an address, and with it a route to its prefix. IPv4: announced by gratuitous
 *  ARP after a probe (RFC 5227), IPv6: after duplicate address detection (RFC 4862 5.4). Probing is
 *  skipped with TENON_NETIF_NO_DAD.
 *  @param prefix  bits: 0 to 32 for IPv4, 0 to 128 for IPv6
 *  @return TENON_OK, TENON_EINVAL, TENON_EINUSE (it is there already), TENON_ELIMIT */
TENON_API int tenon_addr_add(struct tenon *stack, unsigned netif, const struct tenon_ip *ip, unsigned prefix);

/** Take an address away. Connections that use it are silent from now on, and time out: see TENON_TCP_R2_MS.
 *  @return TENON_OK or TENON_ENOADDR */
TENON_API int tenon_addr_remove(struct tenon *stack, unsigned netif, const struct tenon_ip *ip);

/** An address of ours. */
struct tenon_addr_info {
    struct tenon_ip ip;
    unsigned netif;
    unsigned prefix;
    enum tenon_addr_state state;
    int automatic;                  /**< made by SLAAC or as the link-local address */
    tenon_u32 valid_s;              /**< lifetimes that are left; 0xFFFFFFFF: for ever */
    tenon_u32 preferred_s;
};

/** The index-th address. @return TENON_OK, or TENON_EINVAL when there are not so many */
TENON_API int tenon_addr_get(const struct tenon *stack, unsigned index, struct tenon_addr_info *info);

/** Sort the addresses of a host by which to try first (RFC 6724 6): by what our addresses and routes are now. Those
 *  between which nothing decides stay in their order, which is the name server's. In a build without ROUTES only those
 *  that can be reached are told from those that cannot.
 *  @param ips  n of them, of both IP versions; the caller's, changed in place
 *  @return how many of them have a route and an address of ours to send from: they come first */
TENON_API unsigned tenon_addr_sort(const struct tenon *stack, struct tenon_ip *ips, unsigned n);

/* ---- routes ---------------------------------------------------------------------------------- */

/** Add a route; the longest prefix wins, then the lower metric.
 *  @param dst      network; bits beyond prefix must be 0
 *  @param prefix   bits: 0 to 32 for IPv4 (dst tells which), 0 to 128 for IPv6
 *  @param gateway  next hop, or NULL: the destinations are on the link
 *  @return TENON_OK, TENON_EINVAL, TENON_EINUSE (the same route is there), TENON_ELIMIT */
TENON_API int tenon_route_add(struct tenon *stack, unsigned netif, const struct tenon_ip *dst, unsigned prefix,
                              const struct tenon_ip *gateway, unsigned metric);

/** Remove the route with these values. One that stood in the place of what an address of ours brings becomes that.
 *  @return TENON_OK or TENON_EUNREACH (there is none) */
TENON_API int tenon_route_remove(struct tenon *stack, unsigned netif, const struct tenon_ip *dst, unsigned prefix,
                                 const struct tenon_ip *gateway);

/** A route. */
struct tenon_route_info {
    struct tenon_ip dst, gateway;    /**< gateway: any when the destinations are on the link */
    unsigned prefix, netif, metric;
    int automatic;                   /**< from an address or a router advertisement */
};

/** The index-th route. @return TENON_OK, or TENON_EINVAL when there are not so many */
TENON_API int tenon_route_get(const struct tenon *stack, unsigned index, struct tenon_route_info *info);

/* ---- what routers say ------------------------------------------------------------------------- */

/** An option of a router advertisement (RFC 4861 4.6). */
struct tenon_ra_option {
    const tenon_u8 *bytes;           /**< n of them, 8 and more: type, n / 8, and what the type has */
    unsigned n;
    unsigned netif;                  /**< on which it came */
    const struct tenon_ip *router;   /**< who says it: a link-local address */
    tenon_u32 now_us;                /**< of the tenon_input() that this is within */
};

/** Called within tenon_input() for each option of an advertisement that is valid (RFC 4861 6.1.2), in their order, when
 *  the core has taken what it wants of it: types that the core knows, too. Not on interfaces with TENON_NETIF_NO_RA.
 *  May call anything but tenon_input(), tenon_poll() and tenon_fini().
 *  @param option  valid during the call, with what it points to. Only that it is whole has been checked, and anybody on
 *                 the link can send it */
typedef void tenon_ra_heard(void *app, const struct tenon_ra_option *option);

/** Hear what routers say that is of no use to the core itself, such as servers for names (RFC 8106, services/rdnss.h).
 *  There is one listener: the next one takes its place. Never called in a build without IPV6.
 *  @param heard  NULL: nobody listens any more, from within a call too */
TENON_API void tenon_ra_listen(struct tenon *stack, tenon_ra_heard *heard, void *app);

/* ---- neighbours ------------------------------------------------------------------------------ */

/** States of RFC 4861 7.3.2; ARP entries use the same. */
enum tenon_neighbour_state {
    TENON_NEIGHBOUR_INCOMPLETE,
    TENON_NEIGHBOUR_REACHABLE,
    TENON_NEIGHBOUR_STALE,
    TENON_NEIGHBOUR_DELAY,
    TENON_NEIGHBOUR_PROBE,
    TENON_NEIGHBOUR_PERMANENT
};

/** What is known of a neighbour. */
struct tenon_neighbour_info {
    struct tenon_ip ip;
    tenon_u8 mac[6];
    unsigned netif;
    enum tenon_neighbour_state state;
    int router;
};

/** Set a neighbour for good. @return TENON_OK, TENON_EINVAL, TENON_ELIMIT */
TENON_API int tenon_neighbour_set(struct tenon *stack, unsigned netif, const struct tenon_ip *ip,
                                  const tenon_u8 mac[6]);

/** The index-th neighbour. @return TENON_OK, or TENON_EINVAL when there are not so many */
TENON_API int tenon_neighbour_get(const struct tenon *stack, unsigned index, struct tenon_neighbour_info *info);

TENON_END_DECLS

#endif
