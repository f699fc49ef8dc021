/* SPDX-License-Identifier: MIT */
/** @file
 *  Servers for names that IPv6 routers tell of (RFC 8106), for the resolver of `dns.h`: where there is no
 *  DHCP, nobody else says whom to ask. Beside them search lists, for programs that complete names; `dns.h` asks for
 *  those that are whole. Hears the router advertisements of all interfaces of an instance
 *  (tenon_ra_listen()), and keeps each server for as long as it was promised, also when the link is down.
 *
 *  Anybody on the link can send an advertisement; what that can do to a resolver is what a false DHCP server
 *  can. Driven as all services: tenon_rdnss_poll() after each tenon_poll(). */
#ifndef TENON_SERVICES_RDNSS_H
#define TENON_SERVICES_RDNSS_H

#include "dns.h"

TENON_BEGIN_DECLS

/** Of a server without an end. */
#define TENON_RDNSS_FOR_EVER ((tenon_u32)0xFFFFFFFFUL)

/** What is counted: X(NAME, "name", "what it counts") */
#define TENON_RDNSS_STATS(X) \
    X(LEARNT, "learnt", "servers and domains that routers have told of for the first time, or again after their end") \
    X(RENEWED, "renewed", "those told of again before their end") \
    X(WITHDRAWN, "withdrawn", "those that a router took back: a lifetime of 0") \
    X(EXPIRED, "expired", "those whose time was over") \
    X(DISPLACED, "displaced", "those that made room for one that lasts longer") \
    X(NO_ROOM, "no_room", "those left out, because all that are kept last as long") \
    X(BAD_LENGTH, "bad_length", "options whose length is none of theirs") \
    X(BAD_ADDRESS, "bad_address", "servers with an address that no server can have") \
    X(BAD_NAME, "bad_name", "domains with a name that none can have, and search lists with one that does not end")

#define TENON_RDNSS_STATS_ENUM(id, name, text) TENON_RDNSS_STAT_##id,
enum tenon_rdnss_stat { TENON_RDNSS_STATS(TENON_RDNSS_STATS_ENUM) TENON_RDNSS_STAT_COUNT };
#undef TENON_RDNSS_STATS_ENUM

/** How long something is kept. */
struct tenon_rdnss_life {
    struct tenon_svc_time until;
    tenon_u8 for_ever;
};

/** A server. */
struct tenon_rdnss_server {
    struct tenon_rdnss_life life;
    struct tenon_addr at;            /**< link-local: with its interface; port 0: the usual one */
};

/** A domain of a search list; an array of them is the caller's. */
struct tenon_rdnss_domain {
    struct tenon_rdnss_life life;
    char name[TENON_DNS_NAME_MAX + 1];    /**< in lower case, without a dot at its end; all bytes behind it are 0 */
};

/** Servers or domains: each is a struct tenon_rdnss_life, and what it is known by. */
struct tenon_rdnss_list {
    tenon_u8 *entries;                     /* in the order in which to use them */
    unsigned n, max;
    unsigned entry_bytes, key_at, key_bytes;
};

/** What is known. The memory is the caller's, all zero before the first start. He may read `stats`. */
struct tenon_rdnss {
    tenon_u32 stats[TENON_RDNSS_STAT_COUNT];

    struct tenon *stack;                   /* NULL: stopped */
    struct tenon_svc_clock clock;
    void (*changed)(struct tenon_rdnss *rdnss, void *app);
    void *app;
    struct tenon_rdnss_server room[TENON_DNS_SERVERS_MAX];
    struct tenon_rdnss_list servers, domains;
    tenon_u8 news;
};

/** Begin to listen: the instance's one tenon_ra_listen() is this service's until tenon_rdnss_stop(). Begin
 * before routers are solicited, which is some time after tenon_netif_add(): later ones may be minutes away.
 *  @param changed  called from tenon_rdnss_poll() when there are other servers or domains than before; NULL:
 *                  nobody wants to know
 *  @return TENON_OK, or TENON_EINVAL: it runs already */
int tenon_rdnss_start(struct tenon_rdnss *rdnss, struct tenon *stack,
                      void (*changed)(struct tenon_rdnss *rdnss, void *app), void *app, tenon_u32 now_us);

/** Forget those whose time is over.
 *  @return microseconds until it wants to be called again, at most 30 minutes; earlier after each tenon_poll() */
tenon_u32 tenon_rdnss_poll(struct tenon_rdnss *rdnss, tenon_u32 now_us);

/** Whom to ask, as tenon_dns_servers() takes them: those of DHCP first, then those of routers (RFC 8106 5.3.1). Where
 *  DHCP's alone are TENON_DNS_SERVERS_MAX or more, the last place is for a router's.
 *  @param servers  room for TENON_DNS_SERVERS_MAX
 *  @param others   the addresses that DHCP has told of, n of them (`lease.dns`, `lease.ndns`); NULL with n 0: none
 *  @return how many are in `servers` */
unsigned tenon_rdnss_servers(const struct tenon_rdnss *rdnss, struct tenon_addr *servers,
                             const struct tenon_ip *others, unsigned n);

/** Keep search lists, too (RFC 8106 5.2), from now on.
 *  @param domains  room for `max` of them, kept until tenon_rdnss_stop(); NULL with 0: no more */
void tenon_rdnss_domains(struct tenon_rdnss *rdnss, struct tenon_rdnss_domain *domains, unsigned max);

/** The index-th domain to look a short name up in ("example.com"); NULL: there are not so many. Anybody on the link
 * can have said it: a name with dots should be asked for as it is first (RFC 1535). */
const char *tenon_rdnss_domain_name(const struct tenon_rdnss *rdnss, unsigned index);

/** Seconds that the index-th server is kept for from the last poll on; TENON_RDNSS_FOR_EVER; 0: there are not
 * so many. */
tenon_u32 tenon_rdnss_left(const struct tenon_rdnss *rdnss, unsigned index);

/** Listen no more, forget all servers and domains. */
void tenon_rdnss_stop(struct tenon_rdnss *rdnss);

/** The name of a counter; NULL for a number that is none. */
const char *tenon_rdnss_stat_name(enum tenon_rdnss_stat stat);

TENON_END_DECLS

#endif
