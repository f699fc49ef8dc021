/* SPDX-License-Identifier: MIT */
/* Servers for names, and search lists, from router advertisements (RFC 8106). */
#include "rdnss.h"

#include "internal.h"

enum { RDNSS_OPTION = 25, DNSSL_OPTION = 31, RDNSS_HEAD_BYTES = 8, RDNSS_ADDRESS_BYTES = 16, DNSSL_LABEL_MAX = 63 };

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
    const int low = TENON_WITH_IPV6 && ip->w[0] == 0 && ip->w[1] == 0 && ip->w[2] == 0;

    return ip->w[0] >> 24 != 0xFF && !(low && ip->w[TENON_IP4_WORD] <= 1) && !tenon_ip_is_v4(ip);
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

/* ---- the lists: RFC 8106 6.1 ---------------------------------------------------------------------------------- */

static tenon_u8 *rdnss_entry(const struct tenon_rdnss_list *list, unsigned i)
{
    return list->entries + (size_t)i * list->entry_bytes;
}

static struct tenon_rdnss_life *rdnss_life(const struct tenon_rdnss_list *list, unsigned i)
{
    return (struct tenon_rdnss_life *)(void *)rdnss_entry(list, i);
}

static tenon_u32 rdnss_seconds_left(const struct tenon_rdnss *rdnss, const struct tenon_rdnss_life *life)
{
    return life->for_ever ? TENON_RDNSS_FOR_EVER : tenon_svc_seconds_left(&rdnss->clock, &life->until);
}

/* @return its place, or list->n: it is not there */
static unsigned rdnss_find(const struct tenon_rdnss_list *list, const void *key)
{
    unsigned i = 0;

    while (i < list->n && memcmp(rdnss_entry(list, i) + list->key_at, key, (size_t)list->key_bytes) != 0)
        i++;
    return i;
}

static void rdnss_remove(struct tenon_rdnss *rdnss, struct tenon_rdnss_list *list, unsigned i,
                         enum tenon_rdnss_stat why)
{
    rdnss->stats[why]++;
    rdnss->news = 1;
    list->n--;
    memmove(rdnss_entry(list, i), rdnss_entry(list, i + 1), (size_t)(list->n - i) * list->entry_bytes);
}

static void rdnss_set_until(const struct tenon_rdnss *rdnss, struct tenon_rdnss_life *life, tenon_u32 lifetime_s)
{
    life->for_ever = lifetime_s == TENON_RDNSS_FOR_EVER;
    life->until = tenon_svc_later(rdnss->clock.now, lifetime_s, 0);
}

static void rdnss_insert(struct tenon_rdnss *rdnss, struct tenon_rdnss_list *list, unsigned at, const void *key,
                         tenon_u32 lifetime_s)
{
    rdnss->stats[TENON_RDNSS_STAT_LEARNT]++;
    rdnss->news = 1;
    memmove(rdnss_entry(list, at + 1), rdnss_entry(list, at), (size_t)(list->n - at) * list->entry_bytes);
    list->n++;
    rdnss_set_until(rdnss, rdnss_life(list, at), lifetime_s);
    memcpy(rdnss_entry(list, at) + list->key_at, key, (size_t)list->key_bytes);
}

/* RFC 8106 6.2 (d): the one that ends first gives way. If that would be the new one, it is left out: else the
 * servers of an advertisement that has more than we keep would push each other out again and again.
 * @return 0: there is no room */
static int rdnss_make_room(struct tenon_rdnss *rdnss, struct tenon_rdnss_list *list, tenon_u32 lifetime_s)
{
    tenon_u32 least = lifetime_s;
    unsigned i, victim = list->max;

    if (list->n < list->max)
        return 1;
    for (i = 0; i < list->n; i++) {
        const tenon_u32 left = rdnss_seconds_left(rdnss, rdnss_life(list, i));

        if (left >= least)
            continue;
        least = left;
        victim = i;
    }
    if (victim == list->max)
        return 0;
    rdnss_remove(rdnss, list, victim, TENON_RDNSS_STAT_DISPLACED);
    return 1;
}

/* Steps (b) to (d) of RFC 8106 6.2: new ones go to the front, in the option's order.
 * @param fresh  how many of this option stand there already; one more if this one is new */
static void rdnss_take(struct tenon_rdnss *rdnss, struct tenon_rdnss_list *list, const void *key, tenon_u32 lifetime_s,
                       unsigned *fresh)
{
    const unsigned i = rdnss_find(list, key);

    if (i < list->n && lifetime_s == 0) {
        rdnss_remove(rdnss, list, i, TENON_RDNSS_STAT_WITHDRAWN);
        return;
    }
    if (i < list->n) {
        rdnss_set_until(rdnss, rdnss_life(list, i), lifetime_s);
        rdnss->stats[TENON_RDNSS_STAT_RENEWED]++;
        return;
    }
    if (lifetime_s == 0)
        return;
    if (!rdnss_make_room(rdnss, list, lifetime_s)) {
        rdnss->stats[TENON_RDNSS_STAT_NO_ROOM]++;
        return;
    }
    rdnss_insert(rdnss, list, *fresh, key, lifetime_s);
    ++*fresh;
}

/* What was heard may be from a moment before the last poll. */
static void rdnss_move_clock(struct tenon_rdnss *rdnss, tenon_u32 now_us)
{
    if (now_us - rdnss->clock.last_us < 0x80000000UL)
        tenon_svc_clock_move(&rdnss->clock, now_us);
}

static void rdnss_expire(struct tenon_rdnss *rdnss, struct tenon_rdnss_list *list)
{
    unsigned i = 0;

    while (i < list->n) {
        const struct tenon_rdnss_life *const life = rdnss_life(list, i);

        if (!life->for_ever && tenon_svc_is_over(&rdnss->clock, &life->until))
            rdnss_remove(rdnss, list, i, TENON_RDNSS_STAT_EXPIRED);
        else
            i++;
    }
}

/* @return microseconds until one of them ends, at most `wait` */
static tenon_u32 rdnss_wait(const struct tenon_rdnss *rdnss, const struct tenon_rdnss_list *list, tenon_u32 wait)
{
    unsigned i;

    for (i = 0; i < list->n; i++) {
        const struct tenon_rdnss_life *const life = rdnss_life(list, i);

        if (!life->for_ever)
            wait = svc_min(wait, tenon_svc_wait(&rdnss->clock, &life->until));
    }
    return wait;
}

/* ---- names: RFC 1035 3.1, RFC 8106 5.2 ------------------------------------------------------------------------- */

static int rdnss_is_letter(tenon_u8 c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* The name at p, of which n bytes are there. `name` is all 0; where it is wrong it is left empty.
 * @return the bytes that it takes with its end; 0: it does not end, or is compressed */
static unsigned rdnss_name(char *name, const tenon_u8 *p, unsigned n)
{
    unsigned at = 0, good = 1, i;

    while (at < n && p[at] != 0) {
        const unsigned label = p[at];

        if (label > DNSSL_LABEL_MAX || label >= n - at)
            return 0;
        good = good && at + label <= TENON_DNS_NAME_MAX;
        if (good && at > 0)
            name[at - 1] = '.';
        for (i = 1; i <= label; i++) {
            good = good && rdnss_is_letter(p[at + i]);
            if (good)
                name[at + i - 1] = (char)(p[at + i] >= 'A' && p[at + i] <= 'Z' ? p[at + i] - 'A' + 'a' : p[at + i]);
        }
        at += 1 + label;
    }
    if (!good)
        name[0] = 0;
    return at < n ? at + 1 : 0;
}

/* ---- options -------------------------------------------------------------------------------------------------- */

/* RFC 8106 5.1 */
static tenon_u32 rdnss_lifetime(const tenon_u8 *option)
{
    const tenon_u32 lifetime_s = svc_get32(option + 4);

    return lifetime_s == TENON_RDNSS_FOR_EVER ? lifetime_s : svc_min(lifetime_s, RDNSS_LIFETIME_MAX_S);
}

/* RFC 8106 5.3.1 */
static void rdnss_servers(struct tenon_rdnss *rdnss, const struct tenon_ra_option *option)
{
    const tenon_u32 lifetime_s = rdnss_lifetime(option->bytes);
    unsigned i, fresh = 0;

    if (option->n < RDNSS_HEAD_BYTES + RDNSS_ADDRESS_BYTES ||
        (option->n - RDNSS_HEAD_BYTES) % RDNSS_ADDRESS_BYTES != 0) {
        rdnss->stats[TENON_RDNSS_STAT_BAD_LENGTH]++;
        return;
    }
    for (i = RDNSS_HEAD_BYTES; i < option->n; i += RDNSS_ADDRESS_BYTES) {
        const struct tenon_ip ip = rdnss_address(option->bytes + i);
        const struct tenon_addr at = rdnss_place(&ip, option->netif);

        if (rdnss_can_serve(&ip))
            rdnss_take(rdnss, &rdnss->servers, &at, lifetime_s, &fresh);
        else
            rdnss->stats[TENON_RDNSS_STAT_BAD_ADDRESS]++;
    }
}

/* All names of a list, to the zeros that fill it up. Without `take` nothing happens but looking.
 * @return 0: one does not end */
static int rdnss_names(struct tenon_rdnss *rdnss, const struct tenon_ra_option *option, int take)
{
    const tenon_u32 lifetime_s = rdnss_lifetime(option->bytes);
    unsigned at = RDNSS_HEAD_BYTES, n, fresh = 0;
    char name[TENON_DNS_NAME_MAX + 1];

    for (; at < option->n && option->bytes[at] != 0; at += n) {
        memset(name, 0, sizeof(name));
        n = rdnss_name(name, option->bytes + at, option->n - at);
        if (n == 0)
            return 0;
        if (take && name[0] != 0)
            rdnss_take(rdnss, &rdnss->domains, name, lifetime_s, &fresh);
        else if (take)
            rdnss->stats[TENON_RDNSS_STAT_BAD_NAME]++;
    }
    return 1;
}

/* RFC 8106 5.2, 5.3.1: eight bytes of names at least. Of a list with a name that does not end none is believed. */
static void rdnss_search_list(struct tenon_rdnss *rdnss, const struct tenon_ra_option *option)
{
    if (option->n <= RDNSS_HEAD_BYTES)
        rdnss->stats[TENON_RDNSS_STAT_BAD_LENGTH]++;
    else if (!rdnss_names(rdnss, option, 0))
        rdnss->stats[TENON_RDNSS_STAT_BAD_NAME]++;
    else
        (void)rdnss_names(rdnss, option, 1);
}

static void rdnss_heard(void *app, const struct tenon_ra_option *option)
{
    struct tenon_rdnss *rdnss = (struct tenon_rdnss *)app;
    const int is_list = option->bytes[0] == DNSSL_OPTION && rdnss->domains.max > 0;

    if (option->bytes[0] != RDNSS_OPTION && !is_list)
        return;
    rdnss_move_clock(rdnss, option->now_us);
    rdnss_expire(rdnss, &rdnss->servers);
    rdnss_expire(rdnss, &rdnss->domains);
    if (is_list)
        rdnss_search_list(rdnss, option);
    else
        rdnss_servers(rdnss, option);
}

/* ---- the interface of the service ----------------------------------------------------------------------------- */

static void rdnss_list(struct tenon_rdnss_list *list, void *entries, unsigned max, size_t entry_bytes, size_t key_bytes)
{
    list->entries = (tenon_u8 *)entries;
    list->n = 0;
    list->max = max;
    list->entry_bytes = (unsigned)entry_bytes;
    list->key_at = (unsigned)sizeof(struct tenon_rdnss_life);
    list->key_bytes = (unsigned)key_bytes;
}

int tenon_rdnss_start(struct tenon_rdnss *rdnss, struct tenon *stack,
                      void (*changed)(struct tenon_rdnss *rdnss, void *app), void *app, tenon_u32 now_us)
{
    if (rdnss->stack != NULL)
        return TENON_EINVAL;
    memset(rdnss, 0, sizeof(*rdnss));
    rdnss->stack = stack;
    rdnss->changed = changed;
    rdnss->app = app;
    rdnss_list(&rdnss->servers, rdnss->room, TENON_DNS_SERVERS_MAX, sizeof(rdnss->room[0]),
               sizeof(rdnss->room[0].at));
    tenon_svc_clock_start(&rdnss->clock, now_us);
    tenon_ra_listen(stack, rdnss_heard, rdnss);
    return TENON_OK;
}

tenon_u32 tenon_rdnss_poll(struct tenon_rdnss *rdnss, tenon_u32 now_us)
{
    int news;

    if (rdnss->stack == NULL)
        return TENON_SVC_WAIT_MAX_US;
    rdnss_move_clock(rdnss, now_us);
    rdnss_expire(rdnss, &rdnss->servers);
    rdnss_expire(rdnss, &rdnss->domains);
    news = rdnss->news;
    rdnss->news = 0;
    if (news && rdnss->changed != NULL)
        rdnss->changed(rdnss, rdnss->app);
    return rdnss_wait(rdnss, &rdnss->servers, rdnss_wait(rdnss, &rdnss->domains, TENON_SVC_WAIT_MAX_US));
}

unsigned tenon_rdnss_servers(const struct tenon_rdnss *rdnss, struct tenon_addr *servers,
                             const struct tenon_ip *others, unsigned n)
{
    const unsigned most = (unsigned)TENON_DNS_SERVERS_MAX - (rdnss->servers.n > 0 ? 1U : 0U);
    unsigned k = 0, i;

    for (; k < n && k < most; k++) {
        servers[k].ip = others[k];
        servers[k].port = servers[k].netif = 0;
    }
    for (i = 0; i < rdnss->servers.n && k < TENON_DNS_SERVERS_MAX; i++)
        servers[k++] = rdnss->room[i].at;
    return k;
}

void tenon_rdnss_domains(struct tenon_rdnss *rdnss, struct tenon_rdnss_domain *domains, unsigned max)
{
    rdnss_list(&rdnss->domains, domains, max, sizeof(*domains), sizeof(domains->name));
}

const char *tenon_rdnss_domain_name(const struct tenon_rdnss *rdnss, unsigned index)
{
    const struct tenon_rdnss_list *const list = &rdnss->domains;

    return index < list->n ? (const char *)rdnss_entry(list, index) + list->key_at : NULL;
}

tenon_u32 tenon_rdnss_left(const struct tenon_rdnss *rdnss, unsigned index)
{
    return index < rdnss->servers.n ? rdnss_seconds_left(rdnss, &rdnss->room[index].life) : 0;
}

void tenon_rdnss_stop(struct tenon_rdnss *rdnss)
{
    if (rdnss->stack == NULL)
        return;
    tenon_ra_listen(rdnss->stack, NULL, NULL);
    rdnss->stack = NULL;
    rdnss->servers.n = rdnss->domains.n = rdnss->domains.max = 0;
}

#define RDNSS_STAT_NAME(id, name, text) name,
const char *tenon_rdnss_stat_name(enum tenon_rdnss_stat stat)
{
    static const char *const names[] = { TENON_RDNSS_STATS(RDNSS_STAT_NAME) };

    return (unsigned)stat < TENON_ARRAY_LEN(names) ? names[(unsigned)stat] : NULL;
}
#undef RDNSS_STAT_NAME
