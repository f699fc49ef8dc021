/* SPDX-License-Identifier: MIT */
/* Paths: where packets to a destination go, from which address, how large they may be. The destination
 * cache of RFC 4861 5.1 and of RFC 1122 3.3.1.3, one for both IP versions. */
#include "link/link_internal.h"

enum { PATH_MTU_AGE_S = 600 };              /* RFC 1191 6.3, RFC 8201 5.3 */
enum { PATH_LINK_LOCAL_BITS = 96 + 16 };    /* 169.254/16 */
enum { PATH_MTU_CLOSE = 8 };                /* a search ends where it could gain less (RFC 4821 7.3) */
/* Whether it is to one, to a group or to all: which Ethernet asks, and UDP. */
enum { PATH_HAS_CAST = TENON_WITH_ETHERNET || TENON_WITH_UDP };

TENON_INTERNAL void tn_path_invalidate(struct tenon *stack)
{
    stack->link.gen++;
    tn_link_changed(stack);
}

/* ---- where to -------------------------------------------------------------------------------- */

static int path_netif_serves(const struct tn_netif *netif, const struct tenon_ip *dst)
{
    return (!TENON_WITH_NETIFS || netif->index != 0) && netif->up && (netif->ip6 || tenon_ip_is_v4(dst));
}

/* Groups, 255.255.255.255, and link-local destinations are on every link. Without a scope: by a route if one
 * covers them, else the first interface that can send there. */
static unsigned path_any_link(const struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    const struct tn_route *route;
    unsigned i;

    if (!TENON_WITH_NETIFS)
        return (unsigned)path_netif_serves(stack->link.netifs, dst);
    if (scope != 0)
        return path_netif_serves(tn_netif_of(&stack->link, scope), dst) ? scope : 0;
    route = TENON_WITH_ROUTES ? tn_route_find(stack, dst, 0) : NULL;
    if (route != NULL && tn_source_select(stack, dst, route->netif, dst) != NULL)
        return route->netif;
    for (i = 0; i < tn_netifs_max(&stack->conf); i++) {
        const struct tn_netif *netif = &stack->link.netifs[i];

        if (path_netif_serves(netif, dst) && tn_source_select(stack, dst, netif->index, dst) != NULL)
            return netif->index;
    }
    return 0;
}

/* A route to part of 169.254/16 is somebody's will (a service of a cloud that a gateway has, say); the default one is
 * not (RFC 3927 2.6.2). */
static int path_is_everywhere(const struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    const struct tn_route *route;

    if (!tn_ip_is_on_link_only(dst))
        return 0;
    if (!TENON_WITH_HOMES || !tenon_ip_is_v4(dst) || !tn_ip_is_link_local(dst))
        return 1;
    route = tn_route_find(stack, dst, scope);
    return route == NULL || route->bits <= PATH_LINK_LOCAL_BITS;
}

static enum tn_cast path_cast(const struct tenon *stack, const struct tenon_ip *dst)
{
    if (tn_ip_is_multicast(dst))
        return TN_CAST_MULTICAST;
    return tn_addr_is_broadcast(stack, dst) ? TN_CAST_BROADCAST : TN_CAST_UNICAST;
}

TENON_INTERNAL unsigned tn_path_hop(const struct tenon *stack, const struct tenon_ip **next_hop,
                                    const struct tenon_ip *dst, unsigned scope)
{
    *next_hop = dst;
    if (path_is_everywhere(stack, dst, scope))
        return path_any_link(stack, dst, scope);
    return tn_route_hop(stack, next_hop, dst, scope);
}

/* We have no loopback interface. */
static int path_is_inside(const struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    return tn_ip_is_loopback(dst) || tn_ip_is_not_for_wire(dst) || tn_addr_is_ours(stack, dst, scope);
}

static void path_forget_mtu(struct tn_path *path)
{
    path->mtu = 0;
    path->search = TN_PATH_SEARCH_NONE;
    path->sent = 0;
}

/* Where it leads now. A lowered MTU belongs to the way that was taken when it was reported. */
static void path_resolve(const struct tenon *stack, struct tn_path *path)
{
    const struct tn_address *source = NULL;
    const struct tenon_ip *next_hop;
    unsigned netif = 0;

    path->gen = stack->link.gen;
    if (!path_is_inside(stack, &path->dst, path->scope))
        netif = tn_path_hop(stack, &next_hop, &path->dst, path->scope);
    if (netif != 0)
        source = tn_source_select(stack, &path->dst, netif, next_hop);
    if (source == NULL) {
        path->netif = 0;    /* nowhere, until something changes again */
        return;
    }
    if ((TENON_WITH_MANY || TENON_WITH_PATH_MTU) &&
        (path->netif != netif || !tenon_ip_equal(&path->next_hop, next_hop))) {
        path->neighbour = NULL;
        path_forget_mtu(path);
    }
    path->src = source->ip;
    path->next_hop = *next_hop;
    path->netif = (tenon_u8)netif;
    if (PATH_HAS_CAST)
        path->cast = (tenon_u8)path_cast(stack, next_hop);    /* a gateway is a host */
}

TENON_INTERNAL_HOT int tn_path_check(struct tenon *stack, struct tn_path *path)
{
    if (TENON_UNLIKELY(path->gen != stack->link.gen))
        path_resolve(stack, path);
    return path->netif != 0 ? TENON_OK : TENON_EUNREACH;
}

/* Not tentative, given up or gone (RFC 4862 5.4, 5.5.4, RFC 5227 2.1, 2.4); from a link-local address not to a router
 * (RFC 3927 2.7), and not over another link. */
TENON_INTERNAL int tn_path_bears(const struct tenon *stack, const struct tn_path *path, const struct tenon_ip *src)
{
    if (tenon_ip_equal(src, &path->src))
        return 1;
    if (tn_ip_is_link_local(src) && !tenon_ip_equal(&path->next_hop, &path->dst))
        return 0;
    return tn_addr_is_ours(stack, src, path->netif);
}

/* ---- the cache ------------------------------------------------------------------------------- */

static tenon_u32 path_hash(const struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    tenon_u32 words[TENON_IP_WORDS + 1];
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++)
        words[i] = dst->w[i];
    words[TENON_IP_WORDS] = scope;
    return tn_hash_place(&stack->table_key, words, TENON_IP_WORDS + 1);
}

/* Not keyed: who shares a slot on purpose costs us the keyed hash. */
static struct tn_path **path_slot(struct tenon *stack, const struct tenon_ip *dst)
{
    const tenon_u32 mix = dst->w[TENON_IP4_WORD] ^ dst->w[TENON_IP4_WORD] >> 8;

    return &stack->link.path_recent[mix % TN_PATHS_RECENT];
}

/* Who is asked for is mostly one of those who were asked for last. */
static struct tn_path *path_recall(struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    struct tn_path *path = *path_slot(stack, dst);

    return TENON_WITH_SPEED && path != NULL && path->scope == scope && tenon_ip_equal(&path->dst, dst) ? path : NULL;
}

static struct tn_path *path_find(const struct tenon *stack, const struct tenon_ip *dst, unsigned scope,
                                 tenon_u32 hash)
{
    struct tn_hnode *node = tn_htab_chain(&stack->link.paths, hash);

    for (; node != NULL; node = node->next) {
        struct tn_path *path = TENON_CONTAINER(node, struct tn_path, node);

        if (tn_hnode_has(node, hash) && path->scope == scope && tenon_ip_equal(&path->dst, dst))
            return path;
    }
    return NULL;
}

static void path_lru_remove(struct tn_link *link, struct tn_path *path)
{
    *path->lru_prev = path->lru_next;
    if (path->lru_next != NULL)
        path->lru_next->lru_prev = path->lru_prev;
    else
        link->lru_last = path->lru_prev;
}

static void path_lru_append(struct tn_link *link, struct tn_path *path)
{
    path->lru_next = NULL;
    path->lru_prev = link->lru_last;
    *link->lru_last = path;
    link->lru_last = &path->lru_next;
}

static void path_free(struct tenon *stack, struct tn_path *path)
{
    TENON_ASSERT(!TN_PATHS_KEPT || path->refs == 0);
    tn_link_changed(stack);
    if (!TN_PATHS_KEPT) {
        tn_mem_put(stack, path, TN_PATH_BYTES);
        return;
    }
    if (TENON_WITH_SPEED && *path_slot(stack, &path->dst) == path)
        *path_slot(stack, &path->dst) = NULL;
    path_lru_remove(&stack->link, path);
    tn_htab_remove(&stack->link.paths, &path->node);
    tn_mem_put(stack, path, TN_PATH_BYTES);
}

/* The path enters the cache unused, and nothing is known of it yet. It takes the place of another that nobody uses;
 * those in use are as many as their users may be. @return NULL: no memory */
static struct tn_path *path_new(struct tenon *stack, const struct tenon_ip *dst, unsigned scope, tenon_u32 hash)
{
    struct tn_link *link = &stack->link;
    struct tn_path *path;

    if (TN_PATHS_KEPT && link->paths.count >= stack->conf.paths_max && link->lru_first != NULL)
        path_free(stack, link->lru_first);
    path = (struct tn_path *)tn_mem_get_clear(stack, TN_PATH_BYTES);
    if (path == NULL)
        return NULL;
    path->dst = *dst;
    if (TENON_WITH_NETIFS)
        path->scope = (tenon_u8)scope;
    path->gen = link->gen - 1;
    if (!TENON_WITH_MANY)
        path->udp_known[0] = tn_random(&stack->random);    /* RFC 7739 5.1 */
    if (TN_PATHS_KEPT) {
        tn_htab_insert(&link->paths, &path->node, hash);
        path_lru_append(link, path);
    }
    return path;
}

/* Others than TCP and echo replies, which have looked at the address. */
enum { PATH_IS_ASKED = TENON_WITH_UDP || TENON_WITH_PING || TENON_WITH_ICMP };

static int path_is_possible(const struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    if (TENON_WITH_NETIFS && scope != 0 && tn_netif_at(stack, scope) == NULL)
        return 0;
    if (!PATH_IS_ASKED)
        return 1;
    return tn_ip_is_on_link_only(dst) || tn_ip_is_loopback(dst) || tn_ip_is_host(dst);
}

/* Found or made. That it leads nowhere is remembered, too: it has taken the place of another. @return as
 * tn_path_get() */
static int path_look_up(struct tenon *stack, struct tn_path **out, const struct tenon_ip *dst, unsigned scope)
{
    struct tn_path *path;
    tenon_u32 hash;
    int error;

    if (!path_is_possible(stack, dst, scope))
        return TENON_EINVAL;
    hash = path_hash(stack, dst, scope);
    path = TN_PATHS_KEPT ? path_find(stack, dst, scope, hash) : NULL;
    if (path == NULL)
        path = path_new(stack, dst, scope, hash);
    if (path == NULL)
        return TENON_ENOMEM;
    error = tn_path_check(stack, path);
    if (!TN_PATHS_KEPT && error != TENON_OK)
        path_free(stack, path);
    *out = path;
    return error;
}

static int path_get(struct tenon *stack, struct tn_path **out, struct tn_path *path, int error)
{
    if (error != TENON_OK)
        return error;
    if (TN_PATHS_KEPT && path->refs == 0)
        path_lru_remove(&stack->link, path);
    path->refs++;
    *out = path;
    return TENON_OK;
}

/* It is not among the last that were asked for, or something has changed. */
TENON_APART int path_get_anew(struct tenon *stack, struct tn_path **out, const struct tenon_ip *dst, unsigned scope)
{
    struct tn_path *path = path_recall(stack, dst, scope);
    int error;

    if (path != NULL)
        return path_get(stack, out, path, tn_path_check(stack, path));
    error = path_look_up(stack, &path, dst, scope);
    if (TENON_WITH_SPEED && error == TENON_OK)
        *path_slot(stack, dst) = path;
    return path_get(stack, out, path, error);
}

TENON_INTERNAL int tn_path_get(struct tenon *stack, struct tn_path **out, const struct tenon_ip *dst, unsigned scope)
{
    struct tn_path *path;

    if (!TENON_WITH_NETIFS)
        scope = 0;    /* whatever the caller has of it: a destination has one path */
    path = path_recall(stack, dst, scope);
    if (TENON_SMALL || path == NULL || path->gen != stack->link.gen || path->netif == 0 || path->refs == 0)
        return path_get_anew(stack, out, dst, scope);
    path->refs++;
    *out = path;
    return TENON_OK;
}

TENON_INTERNAL struct tn_path *tn_path_known(struct tenon *stack, const struct tenon_ip *dst, unsigned scope)
{
    struct tn_path *path = path_find(stack, dst, scope, path_hash(stack, dst, scope));

    return path != NULL && tn_path_check(stack, path) == TENON_OK ? path : NULL;
}

/* Used, as tn_path_put() would have it. */
TENON_INTERNAL struct tn_path *tn_path_recent(struct tenon *stack, const struct tenon_ip *dst)
{
    struct tn_link *link = &stack->link;
    struct tn_path *path = path_recall(stack, dst, 0);

    if (TN_PATHS_KEPT && path != NULL && path->refs == 0 && path->lru_next != NULL) {
        path_lru_remove(link, path);
        path_lru_append(link, path);
    }
    return path;
}

TENON_INTERNAL int tn_path_is_heard(struct tenon *stack, const struct tenon_ip *dst, const struct tenon_ip *local,
                                    unsigned netif)
{
    const struct tn_path *path = path_recall(stack, dst, 0);

    return path != NULL && path->heard_gen == stack->link.gen && path->heard_netif == netif &&
           tenon_ip_equal(&path->heard_local, local);
}

/* There may be more than are remembered: as long as all were in use. Where there are not many, as many are kept. */
static void path_keep(struct tenon *stack, struct tn_path *path)
{
    path_lru_append(&stack->link, path);
    if (TENON_WITH_MANY && stack->link.paths.count > stack->conf.paths_max)
        path_free(stack, stack->link.lru_first);
}

TENON_INTERNAL void tn_path_put(struct tenon *stack, struct tn_path *path)
{
    TENON_ASSERT(path->refs > 0);
    if ((TN_PATHS_KEPT || TENON_WITH_UDP) && --path->refs > 0)    /* else each has one user */
        return;
    if (TN_PATHS_KEPT)
        path_keep(stack, path);
    else
        path_free(stack, path);
}

/* All users have given their paths back by now. */
TENON_INTERNAL void tn_path_fini(struct tenon *stack)
{
    while (TN_PATHS_KEPT && stack->link.lru_first != NULL)
        path_free(stack, stack->link.lru_first);
    if (TN_PATHS_KEPT)
        tn_htab_fini(&stack->link.paths);
}

/* ---- path MTU -------------------------------------------------------------------------------- */

static tenon_u32 path_link_mtu(struct tenon *stack, const struct tn_path *path)
{
    if (TENON_WITH_NETIFS && path->netif == 0)
        return tenon_ip_is_v4(&path->dst) ? TN_PATH_MTU_MIN4 : TN_PATH_MTU_MIN6;    /* no way there: anything */
    return tn_netif_mtu(tn_netif_of(&stack->link, path->netif), &path->dst);
}

static void path_search(struct tenon *stack, struct tn_path *path, tenon_u32 high)
{
    tn_link_changed(stack);
    path->search = TN_PATH_SEARCH_ON;
    path->search_failed = 0;
    path->mtu_high = (tenon_u16)high;
    path->mtu_until_s = tn_link_deadline(stack, PATH_MTU_AGE_S);
}

/* What a router has reported is forgotten. What was found by search, because nobody reports, is not: it would be
 * found the hard way again. Larger packets are tried (RFC 4821 7.8); it is forgotten when nobody does. */
static void path_age_mtu(struct tenon *stack, struct tn_path *path, tenon_u32 link)
{
    if (path->mtu == 0 || !tn_link_is_over(stack, path->mtu_until_s))
        return;
    if (TENON_WITH_PROBES && path->search == TN_PATH_SEARCH_DONE && path->mtu < link)
        path_search(stack, path, link);
    else
        path_forget_mtu(path);
}

TENON_INTERNAL tenon_u32 tn_path_mtu(struct tenon *stack, struct tn_path *path)
{
    const tenon_u32 link = path_link_mtu(stack, path);

    if (!TENON_WITH_PATH_MTU)    /* RFC 8200 5: then what every link of IPv6 takes */
        return tenon_ip_is_v4(&path->dst) ? link : tn_min(link, TN_PATH_MTU_MIN6);
    path_age_mtu(stack, path, link);
    return path->mtu != 0 && path->mtu < link ? path->mtu : link;
}

/* RFC 8201 4: less than 1280 is no report of an IPv6 router's. For IPv4 RFC 1191 3 would go down to 68, to the
 * joy of those who forge reports (RFC 5927 7); links that small are not met any more. */
TENON_INTERNAL int tn_path_lower_mtu(struct tenon *stack, struct tn_path *path, tenon_u32 mtu)
{
    if (mtu < (tenon_ip_is_v4(&path->dst) ? 68 : TN_PATH_MTU_MIN6))
        return 0;
    if (tenon_ip_is_v4(&path->dst))
        mtu = tn_max(mtu, TN_PATH_MTU_MIN4);
    if (mtu >= tn_path_mtu(stack, path))
        return 0;
    tn_link_changed(stack);
    path->mtu = (tenon_u16)mtu;
    path->mtu_until_s = tn_link_deadline(stack, PATH_MTU_AGE_S);
    if (TENON_WITH_PROBES && path->search == TN_PATH_SEARCH_ON)
        path->search = TN_PATH_SEARCH_DONE;    /* not before ten minutes (RFC 8201 4) */
    return 1;
}

/* ---- search for the path MTU (RFC 4821 7) ------------------------------------------------------ */

/* An outage of some seconds looks like a black hole: the search begins with the size that was in use, so that one
 * probe puts things right. */
TENON_INTERNAL int tn_path_suspect(struct tenon *stack, struct tn_path *path, tenon_u32 mtu)
{
    const tenon_u32 now = tn_path_mtu(stack, path);
    const tenon_u32 high = path->search == TN_PATH_SEARCH_ON ? path->mtu_high : now;

    mtu = tn_max(mtu, tenon_ip_is_v4(&path->dst) ? TN_PATH_MTU_MIN4 : TN_PATH_MTU_MIN6);
    if (!tn_path_lower_mtu(stack, path, mtu))
        return 0;
    path_search(stack, path, high);
    return 1;
}

TENON_INTERNAL tenon_u32 tn_path_probe_bytes(struct tenon *stack, struct tn_path *path)
{
    const tenon_u32 low = tn_path_mtu(stack, path);
    const tenon_u32 high = tn_min(path->mtu_high, path_link_mtu(stack, path));

    if (path->search != TN_PATH_SEARCH_ON || high < low + PATH_MTU_CLOSE)
        return 0;
    return path->search_failed ? low + (high - low + 1) / 2 : high;
}

static void path_search_goes_on(struct tenon *stack, struct tn_path *path)
{
    path->mtu_until_s = tn_link_deadline(stack, PATH_MTU_AGE_S);
    if (path->mtu_high < path->mtu + PATH_MTU_CLOSE)
        path->search = TN_PATH_SEARCH_DONE;
}

/* Several connections may search at the same time: each says what it has seen. */
TENON_INTERNAL void tn_path_probed(struct tenon *stack, struct tn_path *path, tenon_u32 bytes, int passed)
{
    if (path->search != TN_PATH_SEARCH_ON || bytes <= tn_path_mtu(stack, path))
        return;
    if (passed) {
        path->mtu = (tenon_u16)bytes;
    } else if (bytes <= path->mtu_high) {
        path->mtu_high = (tenon_u16)(bytes - 1);
        path->search_failed = 1;
    }
    path_search_goes_on(stack, path);
}

TENON_INTERNAL void tn_path_probe_limit(struct tenon *stack, struct tn_path *path, tenon_u32 mtu)
{
    if (path->search != TN_PATH_SEARCH_ON || mtu < tn_path_mtu(stack, path) || mtu >= path->mtu_high)
        return;
    path->mtu_high = (tenon_u16)mtu;
    path->search_failed = 0;
    path_search_goes_on(stack, path);
}

/* ---- advice about the next hop --------------------------------------------------------------- */

static struct tn_neighbour *path_neighbour(const struct tenon *stack, const struct tn_path *path)
{
    if (!TENON_WITH_MANY)
        return tn_neighbour_find(stack, path->netif, &path->next_hop);
    if (path->neighbour == NULL || path->neighbour->serial != path->neighbour_serial)
        return NULL;
    return path->neighbour;
}

TENON_INTERNAL void tn_path_confirm(struct tenon *stack, struct tn_path *path)
{
    struct tn_neighbour *neighbour = path_neighbour(stack, path);

    if (neighbour != NULL)
        tn_neighbour_confirm(stack, neighbour);
}

TENON_INTERNAL void tn_path_doubt(struct tenon *stack, struct tn_path *path)
{
    struct tn_neighbour *neighbour = path_neighbour(stack, path);

    if (neighbour != NULL)
        tn_neighbour_doubt(stack, neighbour);
}

/* ---- redirects ------------------------------------------------------------------------------- */

static int path_goes_by(struct tenon *stack, struct tn_path *path, const struct tn_netif *netif,
                        const struct tenon_ip *first_hop)
{
    return path != NULL && tn_path_check(stack, path) == TENON_OK && path->netif == netif->index &&
           tenon_ip_equal(&path->next_hop, first_hop);
}

/* A destination has up to two paths over an interface: the one that asked for it, and the one that did not. Where
 * there is one interface nobody asks. */
enum { PATH_WAYS = TENON_WITH_NETIFS ? 2 : 1 };

static unsigned path_way_scope(const struct tn_netif *netif, unsigned way)
{
    return way == 0 ? 0U : netif->index;
}

static struct tn_path *path_over(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *dst,
                                 const struct tenon_ip *first_hop, unsigned scope)
{
    struct tn_path *path = path_find(stack, dst, scope, path_hash(stack, dst, scope));

    return path_goes_by(stack, path, netif, first_hop) ? path : NULL;
}

/* It holds until the next change of routes, or somebody fails to answer; the router will send another one
 * then. To a gateway that did not answer lately it does not lead (RFC 1122 3.3.1.4): who says so does not
 * know yet, and would say it again and again. */
TENON_INTERNAL int tn_path_redirect(struct tenon *stack, struct tn_netif *netif, const struct tenon_ip *dst,
                                    const struct tenon_ip *from, const struct tenon_ip *next_hop)
{
    unsigned way;
    int used = 0;

    for (way = 0; way < PATH_WAYS; way++) {
        struct tn_path *path = path_over(stack, netif, dst, from, path_way_scope(netif, way));

        if (path == NULL)
            continue;
        used = 1;
        if (tn_route_gateway_is_suspect(stack, netif->index, next_hop))
            break;
        tn_link_changed(stack);
        path->next_hop = *next_hop;
        path->neighbour = NULL;
        path_forget_mtu(path);
        stack->link.redirected = 1;
    }
    return used;
}

TENON_INTERNAL void tn_link_redirect4(struct tenon *stack, struct tn_netif *netif, const struct tenon_ip *from,
                                      const struct tenon_ip *dst, const struct tenon_ip *gateway)
{
    if (!TENON_WITH_ROUTES || !tn_ip_is_host(gateway) || tn_address_find(stack, 0, gateway) != NULL ||
        tn_addr_is_broadcast(stack, gateway) || !tn_route_is_on_link(stack, netif->index, gateway))
        return;
    (void)tn_path_redirect(stack, netif, dst, from, gateway);
}
