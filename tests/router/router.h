/* SPDX-License-Identifier: MIT */
/* A router between two networks, for the simulators: it passes packets on (RFC 1812, RFC 8200), answers who asks where
 * it is, advertises itself (RFC 4861 6.2), sends redirects, goes dark, and is replaced by another one that has its
 * addresses but not its hardware. It tells nobody why it has dropped a packet. */
#ifndef TENON_TEST_ROUTER_H
#define TENON_TEST_ROUTER_H

#include "ports/wire/wire.h"

#include <tenon/tenon.h>

enum { ROUTER_ARMS = 2 };

/* What it says of itself over IPv6; all zero: what routers say that know nothing. */
struct router_advert {
    uint32_t every_us;           /* so often unless somebody asks; 0: only then */
    uint16_t lifetime_s;         /* 0: it is none by default */
    uint8_t hop_limit;
    uint8_t preference;          /* RFC 4191 2.1, two bits */
    uint16_t mtu;                /* 0: not a word */
    uint32_t reachable_ms, retrans_ms;
    uint32_t valid_s;            /* the prefix of the arm; 0: not a word. It is preferred for half of that time */
    uint8_t on_link, autonomous;
};

struct router_conf {
    uint64_t seed;
    unsigned number;                     /* tells routers of the same networks apart: 0 to 9 */
    unsigned hub[ROUTER_ARMS];           /* may be the same: two networks on one link */
    struct tenon_ip net[ROUTER_ARMS][2]; /* of IPv4, /24; of IPv6, /64. Any: none */
    unsigned redirects;                  /* one for so many packets; 0: none */
    unsigned others;                     /* the router to which they lead: its number + 1; 0: there is no other */
    struct router_advert advert;
};

struct router;

/* Two ends on the wire, of which each hears its hub. Open it after all other hosts. */
struct router *router_open(struct wire *wire, const struct router_conf *conf);

/* The wire does not run any more: it is closed next. */
void router_close(struct router *router);

/* It hears nothing, and says nothing. */
void router_dark(struct router *router, int dark);

/* There is another in its place. */
void router_replace(struct router *router);

/* Whether that is the hardware of one. */
int router_has(const uint8_t *mac);

/* Whether a frame that comes from there was damaged on its way to the router: for a fate that damages once only, as
 * the wire does. */
int router_passes_damage(const uint8_t *mac);

/* Its address on an arm: what hosts there have as their gateway. */
struct tenon_ip router_gateway(const struct router_conf *conf, unsigned arm, int v6);

#endif
