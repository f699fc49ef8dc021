/* SPDX-License-Identifier: MIT */
/** @file
 *  A DHCPv4 client (RFC 2131, RFC 2132) for one interface, with a fallback for networks without a server: an address
 *  that was configured, or one of IPv4 link-local (RFC 3927). It goes on asking meanwhile, and comes back when a server
 *  appears.
 *
 *  It has no timer and no thread: call tenon_dhcp_poll() after each tenon_poll() (and that after tenon_input(), as
 *  always), and both again when the shorter of their two waiting times has passed. What it learns it gives to the core
 *  itself: address, default route, MTU. Servers for names it only reports.
 *
 *  An instance has one client: replies come to port 68, which one socket can have. */
#ifndef TENON_SERVICES_DHCP_H
#define TENON_SERVICES_DHCP_H

#include <tenon/udp.h>

#include "clock.h"
#include "linklocal.h"

TENON_BEGIN_DECLS

/** Addresses that are kept of a list in an option; more are not looked at. */
enum { TENON_DHCP_LIST_MAX = 3 };
/** Bytes of a client identifier (RFC 2132 9.14), and characters of a host name (RFC 1123 2.1). */
enum { TENON_DHCP_CLIENT_ID_MAX = 32, TENON_DHCP_HOSTNAME_MAX = 63 };

/** The states of RFC 2131 figure 5; and those in which nobody asks. */
enum tenon_dhcp_state {
    TENON_DHCP_STOPPED,       /**< not started */
    TENON_DHCP_DOWN,          /**< the link is down */
    TENON_DHCP_INIT,          /**< about to look for a server: a random delay, or the ten seconds after a decline */
    TENON_DHCP_SELECTING,     /**< DHCPDISCOVER is out */
    TENON_DHCP_REQUESTING,    /**< DHCPREQUEST for an offer is out */
    TENON_DHCP_REBOOTING,     /**< DHCPREQUEST for an address that we had is out (RFC 2131 3.2) */
    TENON_DHCP_CHECKING,      /**< we may have it; the core probes whether somebody else does (RFC 5227 2.1) */
    TENON_DHCP_BOUND,
    TENON_DHCP_RENEWING,      /**< T1 is over: DHCPREQUEST to our server is out */
    TENON_DHCP_REBINDING      /**< T2 is over: DHCPREQUEST to any server is out */
};

/** Where the address that the interface has comes from. */
enum tenon_dhcp_source {
    TENON_DHCP_NONE,
    TENON_DHCP_LEASE,
    TENON_DHCP_STATIC,        /**< fallback: tenon_dhcp_conf.address */
    TENON_DHCP_LINK_LOCAL     /**< fallback: RFC 3927 */
};

/** What the client counts: X(NAME, "name", "what it counts"). Every reply that is not used is one of them. */
#define TENON_DHCP_STATS(X) \
    X(SENT, "sent", "messages sent") \
    X(NOT_SENT, "not_sent", "attempts to send one that the core refused, or had no buffer for; tried again") \
    X(OFFERS, "offers", "offers taken") \
    X(ACKS, "acks", "acknowledgements taken") \
    X(NAKS, "naks", "refusals taken") \
    X(DECLINED, "declined", "addresses given back because somebody else has them") \
    X(EXPIRED, "expired", "leases that came to their end") \
    X(FALLBACKS, "fallbacks", "times without a server for so long that the fallback was used") \
    X(NO_ROOM, "no_room", "addresses or routes that the core had no room for") \
    X(OTHER_SOURCE, "other_source", "datagrams from another interface, or another port than 67") \
    X(BAD_LENGTH, "bad_length", "replies shorter than a BOOTP header, or longer than we have asked for") \
    X(BAD_HEADER, "bad_header", "not a reply, another kind of hardware, or without the magic cookie") \
    X(BAD_OPTION, "bad_option", "options that reach past the end, or have a wrong length") \
    X(OTHER_XID, "other_xid", "replies to another transaction") \
    X(OTHER_CLIENT, "other_client", "replies to another Ethernet address or client identifier (RFC 6842)") \
    X(UNEXPECTED, "unexpected", "replies of a type that this state does not wait for, or the second of its kind") \
    X(OTHER_SERVER, "other_server", "replies without a server identifier, or from another server than the chosen") \
    X(BAD_ADDRESS, "bad_address", "replies with an address or mask that no host can have, or with another address") \
    X(BAD_LEASE, "bad_lease", "replies without a lease time, or with one below 10 seconds")

#define TENON_DHCP_STATS_ENUM(id, name, text) TENON_DHCP_STAT_##id,
enum tenon_dhcp_stat { TENON_DHCP_STATS(TENON_DHCP_STATS_ENUM) TENON_DHCP_STAT_COUNT };
#undef TENON_DHCP_STATS_ENUM

/** What a server said, in a reply that has passed all checks. */
struct tenon_dhcp_offer {
    struct tenon_ip ip;              /**< for us */
    struct tenon_ip server;          /**< its identifier, to which DHCPREQUEST goes when renewing */
    unsigned prefix;                 /**< bits of the mask; by the class of the address if there was none */
    unsigned nrouters, ndns, nntp;
    struct tenon_ip routers[TENON_DHCP_LIST_MAX];    /**< the first one becomes the default route */
    struct tenon_ip dns[TENON_DHCP_LIST_MAX];
    struct tenon_ip ntp[TENON_DHCP_LIST_MAX];
    tenon_u32 lease_s;               /**< 0xFFFFFFFF: for ever */
    tenon_u32 t1_s, t2_s;            /**< when to renew and to rebind, after the request */
    tenon_u16 mtu;                   /**< 0: not said */
};

struct tenon_dhcp;

/** How a client behaves. Start from tenon_dhcp_conf_default(). */
struct tenon_dhcp_conf {
    unsigned netif;                  /**< the interface; with a link layer */
    const char *hostname;            /**< 0-terminated, at most TENON_DHCP_HOSTNAME_MAX; kept; NULL: not told */
    const tenon_u8 *client_id;       /**< type and identifier; kept; NULL: 1 and the Ethernet address */
    unsigned client_id_bytes;        /**< 2 to TENON_DHCP_CLIENT_ID_MAX */
    struct tenon_ip wanted;          /**< an address that we had before a restart (RFC 2131 3.2); any: none */
    tenon_u32 delay_ms;              /**< the first message goes out after a random part of it (RFC 2131 4.4.1);
                                          default 1000 */
    tenon_u32 retry_ms;              /**< between the first two messages; doubles each time (RFC 2131 4.1);
                                          default 4000 */
    tenon_u32 retry_max_ms;          /**< ... up to this; default 64000 */
    unsigned metric;                 /**< of the default route */
    enum tenon_dhcp_source fallback; /**< NONE, STATIC or LINK_LOCAL; default LINK_LOCAL */
    tenon_u32 fallback_ms;           /**< so long is looked for a server before; default 15000 */
    struct tenon_ip address;         /**< for STATIC */
    unsigned prefix;
    struct tenon_ip router;          /**< for STATIC; any: none */
    /** The address is another one, from somewhere else, or gone (`source`); or a lease was renewed. May be NULL; called
     *  within tenon_dhcp_poll() and tenon_dhcp_stop() only. It may call anything but these two. */
    void (*changed)(struct tenon_dhcp *dhcp, void *app);
    void *app;
};

/** A client. The memory is the caller's, all zero before the first start, and has to stay where it is until
 *  tenon_dhcp_stop(). He may read the fields of the first part. */
struct tenon_dhcp {
    enum tenon_dhcp_state state;
    enum tenon_dhcp_source source;
    struct tenon_dhcp_offer lease;   /**< with TENON_DHCP_LEASE, or in state CHECKING */
    struct tenon_dhcp_conf conf;
    tenon_u32 stats[TENON_DHCP_STAT_COUNT];

    /* its own */
    struct tenon *stack;
    struct tenon_udp *sock;
    struct tenon_svc_clock clock;
    struct tenon_svc_time began;     /* looking for a server: field secs, and the fallback */
    struct tenon_svc_time asked;     /* when the request went out that is answered: the lease counts from there */
    struct tenon_svc_time due;       /* the next step of this state */
    struct tenon_svc_time t1, t2, expiry;
    struct tenon_dhcp_offer reply;   /* came in, and waits for tenon_dhcp_poll() */
    struct tenon_linklocal ll;
    tenon_u32 xid;
    tenon_u32 held_ms;               /* so long a message could not leave */
    tenon_u16 secs;                  /* field secs of the last message that looked for a server */
    tenon_u16 own_mtu;               /* of the interface before a server said another one */
    tenon_u16 ups;                   /* times that its link came up, as of the last poll */
    tenon_u8 mac[6];
    tenon_u8 sends;                  /* messages in this state */
    tenon_u8 unsent;                 /* the last one could not leave */
    tenon_u8 replied;                /* type of `reply`; 0: none */
    tenon_u8 leased;                 /* `lease` holds, and its address is on the interface */
    tenon_u8 fallen;                 /* the fallback is begun with */
    tenon_u8 refused;                /* times in a row that a server or the core did not let us */
    tenon_u8 news;                   /* changed() is to be called */
    tenon_u8 touched;                /* the core has something to do */
    tenon_u8 routed;                 /* there is a default route of ours, by `gateway` */
    struct tenon_ip gateway;
};

/** Fill in the defaults.
 *  @param[out] conf  written whole */
void tenon_dhcp_conf_default(struct tenon_dhcp_conf *conf, unsigned netif);

/** Begin. The first message goes out at a later tenon_dhcp_poll().
 *  @param conf  copied; what it points to is kept
 *  @return TENON_OK, TENON_EINVAL (a bad value, no such interface, one without a link layer, started already),
 *          TENON_EINUSE (somebody has port 68), TENON_ENOMEM, TENON_ELIMIT */
int tenon_dhcp_start(struct tenon_dhcp *dhcp, struct tenon *stack, const struct tenon_dhcp_conf *conf,
                     tenon_u32 now_us);

/** Do what is due, and tenon_poll() when there is something for the core to do. Not to be called from a handler.
 *  @return microseconds until it wants to be called again, at most 30 minutes; earlier after each tenon_poll() */
tenon_u32 tenon_dhcp_poll(struct tenon_dhcp *dhcp, tenon_u32 now_us);

/** End: a lease is given back to its server (DHCPRELEASE, RFC 2131 4.4.6; goes out with the next tenon_poll()), the
 *  address, the route and the MTU go. A server whose Ethernet address the core has not resolved before does not hear of
 *  it: nobody waits for that. Nothing happens to a client that is stopped. */
void tenon_dhcp_stop(struct tenon_dhcp *dhcp, tenon_u32 now_us);

/** Seconds until the lease ends; 0xFFFFFFFF: never; 0: there is none. As of the last poll. */
tenon_u32 tenon_dhcp_lease_left(const struct tenon_dhcp *dhcp);

/** Name of a state in lower case ("bound"); of a counter (NULL for a number that is none). */
const char *tenon_dhcp_state_name(enum tenon_dhcp_state state);
const char *tenon_dhcp_stat_name(enum tenon_dhcp_stat stat);

TENON_END_DECLS

#endif
