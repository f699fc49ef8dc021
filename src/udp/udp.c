/* SPDX-License-Identifier: MIT */
/* UDP sockets: opening, binding, connecting, closing, options (RFC 768, RFC 1122 4.1). */
#include "ip/ip_internal.h"
#include "udp/udp_internal.h"

enum { UDP_PORTS = 0x4000, UDP_PORT_TRIES = 64 };    /* dynamic ports: 0xC000 to 0xFFFF (RFC 6335 6) */

/* ---- tables -------------------------------------------------------------------------------------------- */

static struct tenon_udp *udp_of(struct tn_hnode *node)
{
    return TENON_CONTAINER(node, struct tenon_udp, node);
}

TENON_INTERNAL tenon_u32 tn_udp_hash_port(const struct tenon *stack, unsigned port)
{
    tenon_u32 words[1];

    words[0] = port;
    return tn_hash_place(&stack->table_key, words, 1);
}

TENON_INTERNAL tenon_u32 tn_udp_hash_pair(const struct tenon *stack, const struct tenon_addr *local,
                                          const struct tenon_addr *remote)
{
    tenon_u32 words[2 * TENON_IP_WORDS + 1];
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++) {
        words[i] = local->ip.w[i];
        words[TENON_IP_WORDS + i] = remote->ip.w[i];
    }
    words[2 * TENON_IP_WORDS] = (tenon_u32)local->port << 16 | remote->port;
    return tn_hash_place(&stack->table_key, words, 2 * TENON_IP_WORDS + 1);
}

TENON_INTERNAL int tn_udp_scope_fits(const struct tenon_addr *end, unsigned netif)
{
    if (!TENON_WITH_NETIFS || end->netif == 0 || end->netif == netif)
        return 1;
    return !tn_ip_is_link_local(&end->ip) && !tn_ip_is_multicast(&end->ip);
}

TENON_INTERNAL struct tenon_udp *tn_udp_find_connected(const struct tenon *stack, const struct tenon_addr *local,
                                                       const struct tenon_addr *remote, unsigned netif)
{
    tenon_u32 hash;
    struct tn_hnode *node;

    if (!TENON_WITH_CONNECT || (TENON_WITH_MANY && stack->udp.connected.count == 0))
        return NULL;
    hash = tn_udp_hash_pair(stack, local, remote);
    for (node = tn_htab_chain(TENON_WITH_MANY ? &stack->udp.connected : &stack->udp.bound, hash);
         node != NULL; node = node->next) {
        struct tenon_udp *sock = udp_of(node);

        if (tn_hnode_has(node, hash) && sock->local.port == local->port && sock->remote.port == remote->port &&
            tenon_ip_equal(&sock->local.ip, &local->ip) && tenon_ip_equal(&sock->remote.ip, &remote->ip) &&
            tn_udp_scope_fits(&sock->local, netif) && tn_udp_scope_fits(&sock->remote, netif))
            return sock;
    }
    return NULL;
}

TENON_INTERNAL struct tenon_udp *tn_udp_find_bound(const struct tenon *stack, const struct tenon_addr *local,
                                                   unsigned netif)
{
    const tenon_u32 hash = tn_udp_hash_port(stack, local->port);
    struct tn_hnode *node = tn_htab_chain(&stack->udp.bound, hash);
    struct tenon_udp *any = NULL;

    for (; node != NULL; node = node->next) {
        struct tenon_udp *sock = udp_of(node);

        if (!tn_hnode_has(node, hash) || sock->where != TN_UDP_BOUND || sock->local.port != local->port ||
            !tn_udp_scope_fits(&sock->local, netif))
            continue;
        if (tenon_ip_equal(&sock->local.ip, &local->ip))
            return sock;
        if (tenon_ip_is_any(&sock->local.ip))
            any = sock;
    }
    return any;
}

/* ---- where a socket is --------------------------------------------------------------------------------- */

/* Where there are not many, all of them are in the list of udp.bound, and `where` tells the rest. */

static void udp_detach(struct tenon_udp *sock)
{
    struct tn_udp_state *udp = &sock->stack->udp;

    sock->source_gen = 0;
    if (!TENON_SMALL)
        tn_udp_fast_change(sock->stack);
    if (!TENON_WITH_MANY) {
        if (!TENON_SMALL && tn_udp_is_connected(sock))
            udp->connected.count--;
        return;
    }
    if (sock->where == TN_UDP_BOUND)
        tn_htab_remove(&udp->bound, &sock->node);
    else if (tn_udp_is_connected(sock))
        tn_htab_remove(&udp->connected, &sock->node);
    else {
        *sock->prev = sock->next;
        if (sock->next != NULL)
            sock->next->prev = sock->prev;
    }
}

static void udp_attach_unbound(struct tenon_udp *sock)
{
    struct tn_udp_state *udp = &sock->stack->udp;

    sock->where = TN_UDP_UNBOUND;
    if (!TENON_WITH_MANY) {
        tn_htab_insert(&udp->bound, &sock->node, 0);
        return;
    }
    sock->next = udp->unbound;
    sock->prev = &udp->unbound;
    if (sock->next != NULL)
        sock->next->prev = &sock->next;
    udp->unbound = sock;
}

static void udp_attach_bound(struct tenon_udp *sock)
{
    struct tenon *stack = sock->stack;

    sock->where = TN_UDP_BOUND;
    if (TENON_WITH_MANY)
        tn_htab_insert(&stack->udp.bound, &sock->node, tn_udp_hash_port(stack, sock->local.port));
    if (!TENON_SMALL)
        tn_udp_fast_grow(stack);
}

static void udp_attach_connected(struct tenon_udp *sock)
{
    struct tenon *stack = sock->stack;

    sock->where = TN_UDP_CONNECTED;
    if (TENON_WITH_MANY)
        tn_htab_insert(&stack->udp.connected, &sock->node, tn_udp_hash_pair(stack, &sock->local, &sock->remote));
    else if (!TENON_SMALL)
        stack->udp.connected.count++;    /* udp_fast.c asks whether there are any */
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

TENON_API int tenon_udp_open(struct tenon *stack, struct tenon_udp **out, const struct tenon_udp_events *events,
                             void *app)
{
    struct tenon_udp *sock;

    if (!TENON_WITH_UDP)
        return TENON_EINVAL;
    if (stack->udp.count >= stack->conf.udp_sockets_max)
        return TENON_ELIMIT;
    sock = (struct tenon_udp *)tn_mem_get_clear(stack, sizeof(*sock));
    if (sock == NULL)
        return TENON_ENOMEM;
    sock->stack = stack;
    sock->events = events;
    sock->app = app;
    sock->multicast_ttl = 1;
    sock->heard = stack->udp.serial;
    udp_attach_unbound(sock);
    stack->udp.count++;
    *out = sock;
    return TENON_OK;
}

TENON_API void tenon_udp_close(struct tenon_udp *sock)
{
    struct tenon *stack = sock->stack;

    udp_detach(sock);
    if (!TENON_WITH_MANY)
        tn_htab_remove(&stack->udp.bound, &sock->node);
    if (TENON_WITH_CONNECT && sock->path != NULL)
        tn_path_put(stack, sock->path);
    stack->udp.count--;
    tn_mem_put(stack, sock, sizeof(*sock));
}

/* ---- binding ------------------------------------------------------------------------------------------- */

/* Whether a socket is bound to just this address and port. One to a group shares it: all of them hear. */
static int udp_taken(const struct tenon *stack, const struct tenon_addr *at)
{
    const tenon_u32 hash = tn_udp_hash_port(stack, at->port);
    struct tn_hnode *node = tn_htab_chain(&stack->udp.bound, hash);

    if (tn_ip_is_multicast(&at->ip))
        return 0;
    for (; node != NULL; node = node->next) {
        const struct tenon_udp *sock = udp_of(node);

        if (tn_hnode_has(node, hash) && sock->where == TN_UDP_BOUND && sock->local.port == at->port &&
            tenon_ip_equal(&sock->local.ip, &at->ip) &&
            (at->netif == 0 || tn_udp_scope_fits(&sock->local, at->netif)))
            return 1;
    }
    return 0;
}

static int udp_port_used(const struct tenon *stack, unsigned port)
{
    const tenon_u32 hash = tn_udp_hash_port(stack, port);
    struct tn_hnode *node = tn_htab_chain(&stack->udp.bound, hash);

    for (; node != NULL; node = node->next) {
        if (tn_hnode_has(node, hash) && udp_of(node)->local.port == port)
            return 1;
    }
    return 0;
}

/* Two ends between which there is to be a connection; the port of the local one is looked for. */
struct udp_pair {
    struct tenon_addr local;
    const struct tenon_addr *remote;
    unsigned netif;
};

/* Who is connected is not found by the port alone; where there are not many, all sockets are. */
static int udp_pair_used(const struct tenon *stack, struct udp_pair *pair, unsigned port)
{
    if (!TENON_WITH_MANY || pair == NULL)
        return 0;
    pair->local.port = (tenon_u16)port;
    return tn_udp_find_connected(stack, &pair->local, pair->remote, pair->netif) != NULL;
}

/* Whether a connected socket has this port: who got it as well, and sends to the same peer, would not hear the answer.
 * Nothing is found by it, so that all of them are looked at; with so many that it would not help much, none is. */
static int udp_port_connected(const struct tenon *stack, unsigned port)
{
    const struct tn_htab *table = &stack->udp.connected;
    struct tn_hnode *node;
    tenon_u32 i;

    if (!TENON_WITH_CONNECT)
        return 0;
    if (!TENON_WITH_MANY || table->count == 0 || table->count > UDP_PORTS / 2)
        return 0;
    for (i = 0; i < table->buckets; i++)
        for (node = tn_htab_bucket(table, i); node != NULL; node = node->next)
            if (udp_of(node)->local.port == port)
                return 1;
    return 0;
}

/* RFC 6056 3.3.2: a random port until a free one is found; when nearly all are taken, the next free one.
 * @param pair  NULL: to whom is not known yet
 * @return 0: there is none */
static tenon_u16 udp_free_port(struct tenon *stack, struct udp_pair *pair)
{
    tenon_u32 start = 0, i, port;

    for (i = 0; i < UDP_PORT_TRIES + (tenon_u32)UDP_PORTS; i++) {
        if (i <= (TENON_WITH_MANY ? UDP_PORT_TRIES : 0))
            start = tn_random_below(&stack->random, UDP_PORTS);
        else
            start = (start + 1) % UDP_PORTS;
        port = 0xC000UL + start;
        if (!udp_port_used(stack, (unsigned)port) && !udp_pair_used(stack, pair, (unsigned)port) &&
            (pair != NULL || i > UDP_PORT_TRIES || !udp_port_connected(stack, (unsigned)port)))
            return (tenon_u16)port;
    }
    return 0;
}

/* May a socket be bound to this address? Ours, a group, or a broadcast address. */
static int udp_address_good(const struct tenon *stack, const struct tenon_addr *at)
{
    if (tenon_ip_is_any(&at->ip) || tn_ip_is_multicast(&at->ip))
        return 1;
    return tn_addr_is_ours(stack, &at->ip, at->netif) || tn_addr_is_broadcast(stack, &at->ip);
}

/* 0.0.0.0 means no more than "any". */
static int udp_is_any4(const struct tenon_ip *ip)
{
    return TENON_WITH_IPV6 && tenon_ip_is_v4(ip) && ip->w[TENON_IP4_WORD] == 0;
}

TENON_API int tenon_udp_bind(struct tenon_udp *sock, const struct tenon_addr *at)
{
    struct tenon_addr local = *at;

    if (udp_is_any4(&local.ip))
        local.ip = tenon_ip_any();
    if (sock->where != TN_UDP_UNBOUND)
        return TENON_EINVAL;
    if (!udp_address_good(sock->stack, &local))
        return TENON_ENOADDR;
    if (local.port == 0)
        local.port = udp_free_port(sock->stack, NULL);
    if (local.port == 0 || udp_taken(sock->stack, &local))
        return TENON_EINUSE;
    udp_detach(sock);
    sock->local = local;
    if (TENON_WITH_CONNECT)
        sock->asked = local;    /* for who has a peer no more */
    udp_attach_bound(sock);
    return TENON_OK;
}

TENON_INTERNAL int tn_udp_autobind(struct tenon_udp *sock)
{
    struct tenon_addr any;

    any.ip = tenon_ip_any();
    any.port = 0;
    any.netif = 0;
    return tenon_udp_bind(sock, &any);
}

/* ---- connecting ---------------------------------------------------------------------------------------- */

static int udp_disconnect(struct tenon_udp *sock)
{
    if (sock->where != TN_UDP_CONNECTED)
        return TENON_OK;
    if (udp_taken(sock->stack, &sock->asked))
        return TENON_EINUSE;
    udp_detach(sock);
    tn_path_put(sock->stack, sock->path);
    sock->path = NULL;
    sock->local = sock->asked;
    memset(&sock->remote, 0, sizeof(sock->remote));
    udp_attach_bound(sock);
    return TENON_OK;
}

/* Our end of a connection along a path: as asked for, or what the path says. */
static struct tenon_addr udp_local_for(const struct tenon_udp *sock, const struct tn_path *path)
{
    struct tenon_addr local = sock->asked;

    if (tenon_ip_is_any(&local.ip))
        local.ip = path->src;
    if (tn_ip_is_link_local(&local.ip))
        local.netif = path->netif;
    return local;
}

/* Bind to a port from which nobody is connected to that peer. */
static int udp_bind_for(struct tenon_udp *sock, const struct tenon_addr *to, const struct tn_path *path)
{
    struct tenon_addr any;
    struct udp_pair pair;

    pair.local = udp_local_for(sock, path);
    pair.remote = to;
    pair.netif = path->netif;
    any.ip = tenon_ip_any();
    any.port = udp_free_port(sock->stack, &pair);
    any.netif = 0;
    return any.port != 0 ? tenon_udp_bind(sock, &any) : (int)TENON_EINUSE;
}

static int udp_connect_from(struct tenon_udp *sock, const struct tenon_addr *to, struct tn_path *path)
{
    const struct tenon_addr local = udp_local_for(sock, path);
    const struct tenon_udp *other = tn_udp_find_connected(sock->stack, &local, to, path->netif);

    if (other != NULL && other != sock)
        return TENON_EINUSE;
    udp_detach(sock);
    if (sock->path != NULL)
        tn_path_put(sock->stack, sock->path);
    sock->path = path;
    sock->local = local;
    sock->remote = *to;
    if (tn_ip_is_link_local(&to->ip))
        sock->remote.netif = path->netif;
    udp_attach_connected(sock);
    return TENON_OK;
}

static int udp_connect_on(struct tenon_udp *sock, const struct tenon_addr *to, struct tn_path *path)
{
    if (sock->where == TN_UDP_UNBOUND && udp_bind_for(sock, to, path) != TENON_OK)
        return TENON_EINUSE;
    return udp_connect_from(sock, to, path);
}

TENON_API int tenon_udp_connect(struct tenon_udp *sock, const struct tenon_addr *to)
{
    struct tn_path *path;
    int error;

    if (!TENON_WITH_CONNECT)
        return TENON_EINVAL;
    if (to == NULL)
        return udp_disconnect(sock);
    if (tenon_ip_is_any(&to->ip) || to->port == 0)
        return TENON_EINVAL;
    if (!tenon_ip_is_any(&sock->asked.ip) && tenon_ip_is_v4(&sock->asked.ip) != tenon_ip_is_v4(&to->ip))
        return TENON_EINVAL;
    error = tn_path_get(sock->stack, &path, &to->ip, tn_udp_scope(sock, &sock->asked, to));
    if (error != TENON_OK)
        return error;
    error = udp_connect_on(sock, to, path);
    if (error != TENON_OK)
        tn_path_put(sock->stack, path);
    return error;
}

/* ---- options and questions ----------------------------------------------------------------------------- */

/* Of each option, in their order: where it lies, a byte, and what it can be. */
static const struct udp_option {
    tenon_u8 offset, least, most;
} udp_options[] = {
    { offsetof(struct tenon_udp, ttl), 1, 255 },
    { offsetof(struct tenon_udp, tos), 0, 255 },
    { offsetof(struct tenon_udp, broadcast), 0, 1 },
    { offsetof(struct tenon_udp, multicast_ttl), 1, 255 },
    { offsetof(struct tenon_udp, multicast_netif), 0, 255 },
    { offsetof(struct tenon_udp, dont_fragment), 0, 1 },
    { offsetof(struct tenon_udp, no_checksum), 0, 1 },
};

TENON_API int tenon_udp_set(struct tenon_udp *sock, enum tenon_udp_option option, tenon_u32 value)
{
    const struct udp_option *known;

    if ((unsigned)option >= TENON_ARRAY_LEN(udp_options))
        return TENON_EINVAL;
    known = &udp_options[option];
    if (value < known->least || value > known->most)
        return TENON_EINVAL;
    if (option == TENON_UDP_MULTICAST_NETIF && value != 0 && tn_netif_at(sock->stack, (unsigned)value) == NULL)
        return TENON_EINVAL;
    *((tenon_u8 *)sock + known->offset) = (tenon_u8)value;
    return TENON_OK;
}

TENON_API void tenon_udp_local(const struct tenon_udp *sock, struct tenon_addr *local)
{
    *local = sock->local;
}

TENON_API void tenon_udp_remote(const struct tenon_udp *sock, struct tenon_addr *remote)
{
    *remote = sock->remote;
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

static void *udp_table_get(void *ctx, size_t bytes)
{
    return tn_mem_get((struct tenon *)ctx, bytes);
}

static void udp_table_put(void *ctx, void *mem, size_t bytes)
{
    tn_mem_put((struct tenon *)ctx, mem, bytes);
}

TENON_INTERNAL void tn_udp_init(struct tenon *stack)
{
    if (!TENON_WITH_UDP)
        return;
    tn_htab_init(&stack->udp.bound, udp_table_get, udp_table_put, stack);
    if (TENON_WITH_MANY)
        tn_htab_init(&stack->udp.connected, udp_table_get, udp_table_put, stack);
}

static void udp_close_table(struct tn_htab *table)
{
    tenon_u32 i;

    for (i = 0; i < table->buckets; i++) {
        struct tn_hnode *node;

        while ((node = tn_htab_bucket(table, i)) != NULL)
            tenon_udp_close(udp_of(node));
    }
    tn_htab_fini(table);
}

TENON_INTERNAL void tn_udp_fini(struct tenon *stack)
{
    if (!TENON_WITH_UDP)
        return;
    udp_close_table(&stack->udp.bound);
    if (TENON_WITH_MANY)
        udp_close_table(&stack->udp.connected);
    while (stack->udp.unbound != NULL)
        tenon_udp_close(stack->udp.unbound);
    if (!TENON_SMALL)
        tn_udp_fast_fini(stack);
}
