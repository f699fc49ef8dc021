/* SPDX-License-Identifier: MIT */
/* Whose a frame may be, found out before it is looked at: for a burst at once, by a table of the connections
 * that were heard of last. A guess that costs a few comparisons; who is not found here is looked up layer by
 * layer. */
#include "base/bytes.h"
#include "tcp/tcp_fast.h"

enum {
    FAST_LINE = 64,                  /* of a cache */
    FAST_NEAR = 512,                 /* slots; what fewer connections than a quarter of them need stays in the caches */
    FAST_WARM_US = 64,               /* what was used so long ago is in the caches still */
    FAST_CLEAR = 256,                /* slots of a new table that are cleared at a time */
    FAST_RECENT_SHIFT = 17           /* the upper half of a product is the better one */
};

#define FAST_RECENT_MAX 32768UL      /* slots; what a cache has room for */

/* ---- whose it is ---------------------------------------------------------------------------------------------- */

/* What is no IPv6; whether it is IPv4 turns out later. */
TENON_INLINE int fast_says_v4(const tenon_u8 *ip)
{
    return !TENON_WITH_IPV6 || ip[0] >> 4 != 6;
}

TENON_INLINE int fast_is_ip6(const struct tenon_ip *ip, const tenon_u8 *p)
{
    return ((ip->w[0] ^ get32be(p)) | (tenon_ip_word(ip, 1) ^ get32be(p + 4)) |
            (tenon_ip_word(ip, 2) ^ get32be(p + 8)) | (ip->w[TENON_IP4_WORD] ^ get32be(p + 12))) == 0;
}

/* The addresses and ports in the headers. */
TENON_HOT int fast_is_between(const struct tenon_tcp *conn, const tenon_u8 *ip, int is_v4)
{
    const tenon_u32 ports = get32be(ip + tn_fast_ip_bytes(is_v4));

    if (conn->ends.node.word != (ports << 16 | ports >> 16) || conn->ends.is_v4 != is_v4)
        return 0;
    if (is_v4)
        return conn->ends.local.w[TENON_IP4_WORD] == get32be(ip + 16) &&
               conn->path->dst.w[TENON_IP4_WORD] == get32be(ip + 12);
    return fast_is_ip6(&conn->ends.local, ip + 24) && fast_is_ip6(&conn->path->dst, ip + 8);
}

/* Of its multiples all bits that are taken, be they few or many, keep ports that follow each other apart: at both ends,
 * in one of which they are in the upper half too. */
#define FAST_SPREAD 0x76DB24BDUL

/* A guess, and not keyed: who makes ours miss on purpose gains nothing but the keyed hash. */
static struct tenon_tcp **fast_slot(const struct tenon *stack, tenon_u32 remote, tenon_u32 ports)
{
    const tenon_u32 mix = (remote ^ ports ^ ports >> 16) * FAST_SPREAD;

    return &stack->tcp.recent[mix >> FAST_RECENT_SHIFT & stack->tcp.recent_mask];
}

/* Of an IPv6 address: the host, and the network that it is in. */
TENON_HOT struct tenon_tcp **fast_slot_of_packet(const struct tenon *stack, const tenon_u8 *ip, int is_v4)
{
    const tenon_u32 remote = is_v4 ? get32be(ip + 12) : get32be(ip + 20) ^ get32be(ip + 12);

    return fast_slot(stack, remote, get32be(ip + tn_fast_ip_bytes(is_v4)));
}

static struct tenon_tcp **fast_slot_of(const struct tenon_tcp *conn)
{
    const struct tenon_ip *remote = tn_tcp_remote_ip(conn);
    const tenon_u32 mix = remote->w[TENON_IP4_WORD] ^ (TENON_WITH_IPV6 ? remote->w[1] : 0);
    const tenon_u32 ports = conn->ends.node.word;

    return fast_slot(conn->stack, mix, ports << 16 | ports >> 16);
}

TENON_INTERNAL void tn_fast_forget(struct tenon_tcp *conn)
{
    struct tenon_tcp **slot = fast_slot_of(conn);

    if (!TN_FAST)
        return;
    if (*slot == conn)
        *slot = NULL;
}

TENON_INTERNAL void tn_fast_remember(struct tenon_tcp *conn)
{
    if (TN_FAST)
        *fast_slot_of(conn) = conn;
}

/* That these ends may talk to each other here was found out layer by layer. */
TENON_INTERNAL int tn_fast_is_heard(const struct tenon_tcp *conn, const struct tn_netif *netif)
{
    const struct tn_path *path = conn->path;

    if (!TN_FAST)
        return 0;
    return conn->state != TENON_TCP_CLOSED && path->heard_gen == conn->stack->link.gen &&
           path->heard_netif == netif->index &&
           path->heard_local.w[TENON_IP4_WORD] == conn->ends.local.w[TENON_IP4_WORD] &&
           (tn_tcp_is_v4(conn) || tenon_ip_equal(&path->heard_local, &conn->ends.local));
}

static size_t fast_recent_bytes(tenon_u32 mask)
{
    return ((size_t)mask + 1) * sizeof(struct tenon_tcp *);
}

static tenon_u32 fast_coming_mask(const struct tn_tcp_state *tcp)
{
    return 2 * tcp->recent_mask + 1;
}

TENON_INTERNAL size_t tn_fast_bytes(const struct tenon *stack)
{
    const struct tn_tcp_state *tcp = &stack->tcp;

    if (!TN_FAST)
        return 0;
    return (tcp->recent == tcp->recent_few ? 0 : fast_recent_bytes(tcp->recent_mask)) +
           (tcp->coming == NULL ? 0 : fast_recent_bytes(fast_coming_mask(tcp)));
}

static void fast_free_recent(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;

    if (tcp->recent != tcp->recent_few)
        tn_mem_put(stack, tcp->recent, fast_recent_bytes(tcp->recent_mask));
}

static void fast_free_tables(struct tenon *stack)
{
    if (stack->tcp.coming != NULL)
        tn_mem_put(stack, stack->tcp.coming, fast_recent_bytes(fast_coming_mask(&stack->tcp)));
    fast_free_recent(stack);
}

TENON_INTERNAL void tn_fast_fini(struct tenon *stack)
{
    if (!TN_FAST)
        return;
    if (tn_fast_bytes(stack) > 0)
        fast_free_tables(stack);
    if (stack->tcp.made != NULL)
        tn_mem_put(stack, stack->tcp.made, sizeof(*stack->tcp.made));
}

TENON_INTERNAL void tn_fast_init(struct tenon *stack)
{
    if (!TN_FAST)
        return;
    stack->tcp.recent = stack->tcp.recent_few;
    stack->tcp.recent_mask = TN_TCP_RECENT - 1;
    if (TENON_SMALL)
        return;
    stack->tcp.made = (struct tn_tcp_made *)tn_mem_get(stack, sizeof(*stack->tcp.made));
    if (stack->tcp.made != NULL)
        stack->tcp.made->path = NULL;
}

/* A larger table begins. Without memory the old one will do. @return 0: none */
static int fast_begin_growing(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;
    const tenon_u32 mask = fast_coming_mask(tcp);

    if (tcp->nconns <= tcp->recent_mask / 4 || mask >= FAST_RECENT_MAX)
        return 0;
    tcp->coming = (struct tenon_tcp **)tn_mem_get(stack, fast_recent_bytes(mask));
    tcp->coming_clear = 0;
    return tcp->coming != NULL;
}

/* With each connection that opens some slots of the larger table are cleared, so that none of them waits for all. Long
 * before it would be too small it takes over, and nothing moves to it: it fills up with who is heard of. */
TENON_INTERNAL void tn_fast_grow(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;
    const tenon_u32 slots = fast_coming_mask(tcp) + 1;
    tenon_u32 some;

    if (!TN_FAST || (tcp->coming == NULL && !fast_begin_growing(stack)))
        return;
    some = tn_min(slots - tcp->coming_clear, FAST_CLEAR);
    memset(tcp->coming + tcp->coming_clear, 0, some * sizeof(*tcp->coming));
    tcp->coming_clear += some;
    if (tcp->coming_clear < slots)
        return;
    fast_free_recent(stack);
    tcp->recent = tcp->coming;
    tcp->recent_mask = slots - 1;
    tcp->coming = NULL;
}

/* Of TCP without any flag but ACK and PSH. */
static struct tenon_tcp *fast_find_keyed(struct tenon *stack, const tenon_u8 *ip, int is_v4)
{
    const tenon_u8 *tcp = ip + tn_fast_ip_bytes(is_v4);
    struct tenon_addr local, remote;
    struct tn_tcp_ends *ends;

    if ((is_v4 ? ip[0] != 0x45 || ip[9] != TN_PROTO_TCP : ip[6] != TN_PROTO_TCP) ||
        (tcp[13] & ~(unsigned)TN_TCP_PSH) != TN_TCP_ACK)
        return NULL;
    local.ip = is_v4 ? tenon_ip4(get32be(ip + 16)) : get_ip6(ip + 24);
    local.port = get16be(tcp + 2);
    local.netif = 0;
    remote.ip = is_v4 ? tenon_ip4(get32be(ip + 12)) : get_ip6(ip + 8);
    remote.port = get16be(tcp);
    remote.netif = 0;
    ends = tn_tcp_find(stack, &local, &remote);
    /* An IPv4 address as IPv6 writes it may not be seen on the wire, and finds no connection of IPv4. */
    if (ends == NULL || ends->is_time_wait || ends->is_v4 != is_v4)
        return NULL;
    return tn_tcp_of(ends);
}

TENON_HOT struct tenon_tcp *fast_find(struct tenon *stack, const tenon_u8 *ip, int is_v4)
{
    struct tenon_tcp **slot = fast_slot_of_packet(stack, ip, is_v4);
    struct tenon_tcp *conn = *slot;

    if (TENON_LIKELY(conn != NULL && fast_is_between(conn, ip, is_v4)))
        return conn;
    conn = fast_find_keyed(stack, ip, is_v4);
    if (conn != NULL)
        *slot = conn;
    return conn;
}

/* What a segment asks of its connection, and of its block. */
static void fast_fetch(const struct tenon_tcp *conn)
{
    TENON_PREFETCH(&conn->ends);
    TENON_PREFETCH(&conn->stack);
    TENON_PREFETCH(&conn->events);
    TENON_PREFETCH(&conn->timer);
    TENON_PREFETCH(&conn->path_mtu);
}

static void fast_fetch_block(const struct tn_flight *flight)
{
    const tenon_u8 *const hot = &flight->rtx_timer, *const more = (const tenon_u8 *)&flight->header;

    TENON_PREFETCH(hot);
    TENON_PREFETCH(hot + FAST_LINE);
    TENON_PREFETCH(more);
    TENON_PREFETCH(more + FAST_LINE);
    TENON_PREFETCH(more + (size_t)2 * FAST_LINE);
    TENON_PREFETCH(&flight->total_delivered);
    TENON_PREFETCH(&flight->first);
}

/* Addresses and ports: segments of one connection often come one after the other. */
TENON_HOT int fast_same_ends(const tenon_u8 *ip, const tenon_u8 *before, int is_v4)
{
    const tenon_u32 at = tn_fast_ip_bytes(is_v4);

    if (get32raw(ip + at) != get32raw(before + at))
        return 0;
    if (is_v4)
        return get32raw(ip + 12) == get32raw(before + 12) && get32raw(ip + 16) == get32raw(before + 16);
    return (differ8raw(ip + 8, before + 8) | differ8raw(ip + 16, before + 16) | differ8raw(ip + 24, before + 24) |
            differ8raw(ip + 32, before + 32)) == 0;
}

/* The IP header of a frame that is long enough to be one of ours, or NULL. */
TENON_INLINE const tenon_u8 *fast_ip_of(const struct tenon_frame *frame, tenon_u32 link)
{
    const struct tenon_span *span = frame->spans;
    const tenon_u8 *ip;

    if (frame->nspans == 0 || span->len < link + TN_IP4_BYTES + TN_TCP_BYTES)
        return NULL;
    ip = tenon_span_data(span) + link;
    return ip[0] >> 4 == 6 && span->len < link + TN_IP6_BYTES + TN_TCP_BYTES ? NULL : ip;
}

/* Before they are asked for. */
static void fast_send_for(struct tenon *stack, const struct tenon_frame *frames, struct tenon_tcp **conns, unsigned n,
                          tenon_u32 link)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        const tenon_u8 *ip = fast_ip_of(&frames[i], link);

        conns[i] = NULL;
        if (ip != NULL)
            conns[i] = fast_says_v4(ip) ? *fast_slot_of_packet(stack, ip, 1) : *fast_slot_of_packet(stack, ip, 0);
        if (conns[i] == NULL)
            continue;
        fast_fetch(conns[i]);
        TENON_PREFETCH(ip - link);
        TENON_PREFETCH(ip + tn_fast_ip_bytes(fast_says_v4(ip)) + TN_TCP_BYTES);
    }
}

/* `before` is the frame before it, of the connection conns[-1]; NULL: of the other version of IP, or nothing. */
TENON_HOT struct tenon_tcp *fast_look(struct tenon *stack, const tenon_u8 *ip, const tenon_u8 *before,
                                      struct tenon_tcp *const *conns, int is_v4)
{
    if (before != NULL && fast_same_ends(ip, before, is_v4))
        return conns[-1];
    return fast_find(stack, ip, is_v4);
}

/* Each frame for itself: what a build that is to be small does, and all do where there is but one. */
static void fast_look_singly(struct tenon *stack, const struct tenon_frame *frames, struct tenon_tcp **conns,
                             unsigned n, tenon_u32 link)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        const tenon_u8 *ip = fast_ip_of(&frames[i], link);

        conns[i] = ip != NULL ? fast_find(stack, ip, fast_says_v4(ip)) : NULL;
    }
}

/* Whether the connection of this frame has sent something so lately that nothing has to be sent for. */
static int fast_is_warm(struct tenon *stack, const struct tenon_frame *frame, tenon_u32 link)
{
    const tenon_u8 *ip = fast_ip_of(frame, link);
    const struct tenon_tcp *conn;

    if (ip == NULL)
        return 0;
    conn = fast_says_v4(ip) ? *fast_slot_of_packet(stack, ip, 1) : *fast_slot_of_packet(stack, ip, 0);
    return conn != NULL && conn->flight != NULL && stack->now_us - conn->flight->rtt_start_us < FAST_WARM_US;
}

/* There are many connections, and not only a few of them work: so say the first and the last of the burst. */
static int fast_is_far(struct tenon *stack, const struct tenon_frame *frames, unsigned n, tenon_u32 link)
{
    return n > 1 && stack->tcp.recent_mask >= FAST_NEAR &&
           !(fast_is_warm(stack, frames, link) && fast_is_warm(stack, frames + n - 1, link));
}

/* Where nothing is near it is looked up in steps, each of which needs memory that the one before it has sent for. */
TENON_INTERNAL void tn_fast_look(struct tenon *stack, const struct tn_netif *netif, const struct tenon_frame *frames,
                                 struct tenon_tcp **conns, unsigned n)
{
    const tenon_u32 link = netif->link_bytes;
    const int is_far = !TENON_SMALL && fast_is_far(stack, frames, n, link);
    const tenon_u8 *before4 = NULL, *before6 = NULL;
    unsigned i;

    if (!TN_FAST) {
        memset(conns, 0, n * sizeof(*conns));
        return;
    }
    if (TENON_SMALL || n == 1) {
        fast_look_singly(stack, frames, conns, n, link);
        return;
    }
    if (is_far)
        fast_send_for(stack, frames, conns, n, link);
    for (i = 0; i < n; i++) {
        const tenon_u8 *ip = fast_ip_of(&frames[i], link);

        conns[i] = NULL;
        if (ip != NULL && !fast_says_v4(ip)) {
            conns[i] = fast_look(stack, ip, before6, &conns[i], 0);
            before6 = ip;
            before4 = NULL;
        } else {
            if (ip != NULL)
                conns[i] = fast_look(stack, ip, before4, &conns[i], 1);
            before4 = ip;
            before6 = NULL;
        }
        if (is_far && conns[i] != NULL && conns[i]->flight != NULL)
            fast_fetch_block(conns[i]->flight);
    }
}
