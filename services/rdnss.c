/* SPDX-License-Identifier: MIT */
/* Servers for names from router advertisements (RFC 8106). */
#include "rdnss.h"

#include "internal.h"

enum { RDNSS_OPTION = 25, RDNSS_HEAD_BYTES = 8, RDNSS_ADDRESS_BYTES = 16 };

/* What is longer would seem to be over already (clock.h); it is 68 years. */
#define RDNSS_LIFETIME_MAX_S 0x7FFFFFFFUL

/* ---- addresses ------------------------------------------------------------------------------------------------ */

static struct tenon_ip rdnss_address(const tenon_u8 *p)
{
    return tenon_ip6(svc_get32(p), svc_get32(p + 4), svc_get32(p + 8), svc_get32(p + 12));
}

/* Not: a group, ours alone, nobody's, or of IPv4, of which a router of IPv6 cannot speak so. */
static int rdnss_can_serve(const struct tenon_ip *ip)
{
    const int low = ip->w[0] == 0 && ip->w[1] == 0 && ip->w[2] == 0;

    return ip->w[0] >> 24 != 0xFF && !(low && ip->w[3] <= 1) && !tenon_ip_is_v4(ip);
}

/* RFC 8106 5.1: a link-local one is of the link that it was heard on. */
static struct tenon_addr rdnss_place(const struct tenon_ip *ip, unsigned netif)
{
    struct tenon_addr at;

    at.ip = *ip;
    at.port = 0;
    at.netif = (tenon_u16)((ip->w[0] & 0xFFC00000UL) == 0xFE800000UL ? netif : 0);
    return at;
}

/* ---- the list: RFC 8106 6.1 ----------------------------------------------------------------------------------- */

static tenon_u32 rdnss_seconds_left(const struct tenon_rdnss *rdnss, const struct tenon_rdnss_server *server)
{
    return server->for_ever ? TENON_RDNSS_FOR_EVER : tenon_svc_seconds_left(&rdnss->clock, &server->until);
}

/* @return its place, or rdnss->n: it is not there */
static unsigned rdnss_find(const struct tenon_rdnss *rdnss, const struct tenon_addr *at)
{
    unsigned i;

    for (i = 0; i < rdnss->n; i++) {
        const struct tenon_addr *other = &rdnss->servers[i].at;

        if (other->netif == at->netif && tenon_ip_equal(&other->ip, &at->ip))
            break;
    }
    return i;
}

static void rdnss_remove(struct tenon_rdnss *rdnss, unsigned i, enum tenon_rdnss_stat why)
{
    rdnss->stats[why]++;
    rdnss->news = 1;
    for (rdnss->n--; i < rdnss->n; i++)
        rdnss->servers[i] = rdnss->servers[i + 1];
}

static void rdnss_insert(struct tenon_rdnss *rdnss, unsigned at, const struct tenon_rdnss_server *server)
{
    unsigned i;

    rdnss->stats[TENON_RDNSS_STAT_LEARNT]++;
    rdnss->news = 1;
    for (i = rdnss->n++; i > at; i--)
        rdnss->servers[i] = rdnss->servers[i - 1];
    rdnss->servers[at] = *server;
}

static void rdnss_set_until(const struct tenon_rdnss *rdnss, struct tenon_rdnss_server *server, tenon_u32 lifetime_s)
{
    server->for_ever = lifetime_s == TENON_RDNSS_FOR_EVER;
    server->until = tenon_svc_later(rdnss->clock.now, lifetime_s, 0);
}

/* RFC 8106 6.2 (d): the one that ends first gives way. If that would be the new one, it is left out: else the
 * servers of an advertisement that has more than we keep would push each other out again and again.
 * @return 0: there is no room */
static int rdnss_make_room(struct tenon_rdnss *rdnss, tenon_u32 lifetime_s)
{
    tenon_u32 least = lifetime_s;
    unsigned i, victim = TENON_DNS_SERVERS_MAX;

    if (rdnss->n < TENON_DNS_SERVERS_MAX)
        return 1;
    for (i = 0; i < rdnss->n; i++) {
        const tenon_u32 left = rdnss_seconds_left(rdnss, &rdnss->servers[i]);

        if (left >= least)
            continue;
        least = left;
        victim = i;
    }
    if (victim == TENON_DNS_SERVERS_MAX)
        return 0;
    rdnss_remove(rdnss, victim, TENON_RDNSS_STAT_DISPLACED);
    return 1;
}

/* ---- options -------------------------------------------------------------------------------------------------- */

/* RFC 8106 5.1 */
static tenon_u32 rdnss_lifetime(const tenon_u8 *option)
{
    const tenon_u32 lifetime_s = svc_get32(option + 4);

    return lifetime_s == TENON_RDNSS_FOR_EVER ? lifetime_s : svc_min(lifetime_s, RDNSS_LIFETIME_MAX_S);
}

/* Steps (b) to (d) of RFC 8106 6.2: new ones go to the front, in the option's order.
 * @param fresh  how many of this option stand there already
 * @return how many now */
static unsigned rdnss_take(struct tenon_rdnss *rdnss, const struct tenon_addr *at, tenon_u32 lifetime_s, unsigned fresh)
{
    const unsigned i = rdnss_find(rdnss, at);
    struct tenon_rdnss_server server;

    if (i < rdnss->n && lifetime_s == 0) {
        rdnss_remove(rdnss, i, TENON_RDNSS_STAT_WITHDRAWN);
        return fresh;
    }
    if (i < rdnss->n) {
        rdnss_set_until(rdnss, &rdnss->servers[i], lifetime_s);
        rdnss->stats[TENON_RDNSS_STAT_RENEWED]++;
        return fresh;
    }
    if (lifetime_s == 0)
        return fresh;
    if (!rdnss_make_room(rdnss, lifetime_s)) {
        rdnss->stats[TENON_RDNSS_STAT_NO_ROOM]++;
        return fresh;
    }
    server.at = *at;
    rdnss_set_until(rdnss, &server, lifetime_s);
    rdnss_insert(rdnss, fresh, &server);
    return fresh + 1;
}

/* What was heard may be from a moment before the last poll. */
static void rdnss_move_clock(struct tenon_rdnss *rdnss, tenon_u32 now_us)
{
    if (now_us - rdnss->clock.last_us < 0x80000000UL)
        tenon_svc_clock_move(&rdnss->clock, now_us);
}

static void rdnss_expire(struct tenon_rdnss *rdnss)
{
    unsigned i = 0;

    while (i < rdnss->n) {
        if (!rdnss->servers[i].for_ever && tenon_svc_is_over(&rdnss->clock, &rdnss->servers[i].until))
            rdnss_remove(rdnss, i, TENON_RDNSS_STAT_EXPIRED);
        else
            i++;
    }
}

static void rdnss_heard(void *app, const struct tenon_ra_option *option)
{
    struct tenon_rdnss *rdnss = (struct tenon_rdnss *)app;
    tenon_u32 lifetime_s;
    unsigned i, fresh = 0;

    if (option->bytes[0] != RDNSS_OPTION)
        return;
    if (option->n < RDNSS_HEAD_BYTES + RDNSS_ADDRESS_BYTES ||
        (option->n - RDNSS_HEAD_BYTES) % RDNSS_ADDRESS_BYTES != 0) {    /* RFC 8106 5.3.1 */
        rdnss->stats[TENON_RDNSS_STAT_BAD_LENGTH]++;
        return;
    }
    rdnss_move_clock(rdnss, option->now_us);
    rdnss_expire(rdnss);
    lifetime_s = rdnss_lifetime(option->bytes);
    for (i = RDNSS_HEAD_BYTES; i < option->n; i += RDNSS_ADDRESS_BYTES) {
        const struct tenon_ip ip = rdnss_address(option->bytes + i);
        const struct tenon_addr at = rdnss_place(&ip, option->netif);

        if (rdnss_can_serve(&ip))
            fresh = rdnss_take(rdnss, &at, lifetime_s, fresh);
        else
            rdnss->stats[TENON_RDNSS_STAT_BAD_ADDRESS]++;
    }
}

/* ---- the interface of the service ----------------------------------------------------------------------------- */

int tenon_rdnss_start(struct tenon_rdnss *rdnss, struct tenon *stack,
                      void (*changed)(struct tenon_rdnss *rdnss, void *app), void *app, tenon_u32 now_us)
{
    if (rdnss->stack != NULL)
        return TENON_EINVAL;
    memset(rdnss, 0, sizeof(*rdnss));
    rdnss->stack = stack;
    rdnss->changed = changed;
    rdnss->app = app;
    tenon_svc_clock_start(&rdnss->clock, now_us);
    tenon_ra_listen(stack, rdnss_heard, rdnss);
    return TENON_OK;
}

tenon_u32 tenon_rdnss_poll(struct tenon_rdnss *rdnss, tenon_u32 now_us)
{
    tenon_u32 wait = TENON_SVC_WAIT_MAX_US;
    unsigned i;
    int news;

    if (rdnss->stack == NULL)
        return wait;
    rdnss_move_clock(rdnss, now_us);
    rdnss_expire(rdnss);
    news = rdnss->news;
    rdnss->news = 0;
    for (i = 0; i < rdnss->n; i++) {
        if (!rdnss->servers[i].for_ever)
            wait = svc_min(wait, tenon_svc_wait(&rdnss->clock, &rdnss->servers[i].until));
    }
    if (news && rdnss->changed != NULL)
        rdnss->changed(rdnss, rdnss->app);
    return wait;
}

unsigned tenon_rdnss_servers(const struct tenon_rdnss *rdnss, struct tenon_addr *servers,
                             const struct tenon_ip *others, unsigned n)
{
    const unsigned most = (unsigned)TENON_DNS_SERVERS_MAX - (rdnss->n > 0 ? 1U : 0U);
    unsigned k = 0, i;

    for (; k < n && k < most; k++) {
        servers[k].ip = others[k];
        servers[k].port = servers[k].netif = 0;
    }
    for (i = 0; i < rdnss->n && k < TENON_DNS_SERVERS_MAX; i++)
        servers[k++] = rdnss->servers[i].at;
    return k;
}

tenon_u32 tenon_rdnss_left(const struct tenon_rdnss *rdnss, unsigned index)
{
    return index < rdnss->n ? rdnss_seconds_left(rdnss, &rdnss->servers[index]) : 0;
}

void tenon_rdnss_stop(struct tenon_rdnss *rdnss)
{
    if (rdnss->stack == NULL)
        return;
    tenon_ra_listen(rdnss->stack, NULL, NULL);
    rdnss->stack = NULL;
    rdnss->n = 0;
}

#define RDNSS_STAT_NAME(id, name, text) name,
const char *tenon_rdnss_stat_name(enum tenon_rdnss_stat stat)
{
    static const char *const names[] = { TENON_RDNSS_STATS(RDNSS_STAT_NAME) };

    return (unsigned)stat < TENON_ARRAY_LEN(names) ? names[(unsigned)stat] : NULL;
}
#undef RDNSS_STAT_NAME
