/* SPDX-License-Identifier: MIT */
/* TCP Fast Open (RFC 7413): data in the SYN, for those who have shown with a cookie that they are where they say.
 *
 * Server: a cookie is a keyed hash of the client's address. The key changes every twelve hours, and the one before is
 * accepted too. Data that comes with a good cookie is delivered at once, by the same events as ever, and the answer
 * follows the SYN-ACK without waiting for the client's ACK; the connection stays in SYN-RECEIVED, and in its
 * listener's backlog, until that comes.
 *
 * Client: the cookie of each server is kept, by both addresses (4.1.3: a server's cookie is for one of our addresses),
 * with its MSS; so is, for a while, that a server or the path does not want Fast Open. How much data the SYN has
 * carried is snd_nxt; the SYN-ACK says how much of it was taken. */
#include "base/bytes.h"
#include "tcp/tcp_internal.h"

enum { FASTOPEN_COOKIE_BYTES = 8 };      /* of those that we make */
enum { FASTOPEN_UNANSWERED_MAX = 2 };    /* one after the other: a bad path loses one, a middlebox all */

#define FASTOPEN_PERIOD_MS 43200000UL
#define FASTOPEN_REFUSED_MS 600000UL    /* how long a server is not asked again */
#define FASTOPEN_MINUTE_MS 60000UL

/* What is known of a server. */
struct fastopen_peer {
    struct tenon_ip local, remote;
    tenon_u32 used_ms, refused_ms;
    tenon_u16 netif;             /* of a link-local address */
    tenon_u16 mss;
    tenon_u8 refused;            /* since refused_ms */
    tenon_u8 unanswered;         /* SYNs, one after the other */
    tenon_u8 bytes;              /* of the cookie; 0: none is known */
    tenon_u8 cookie[TN_FASTOPEN_COOKIE_MAX];
};

struct tn_fastopen {
    struct tn_key128 keys[2];    /* of this period, of the one before */
    tenon_u32 period, period_ms;
    unsigned npeers;
    struct fastopen_peer peers[1];    /* [conf.tcp_fastopen_cache_max] */
};

TENON_INTERNAL size_t tn_fastopen_bytes(const struct tenon *stack)
{
    return sizeof(struct tn_fastopen) + (stack->conf.tcp_fastopen_cache_max - 1U) * sizeof(struct fastopen_peer);
}

static void fastopen_make_keys(struct tenon *stack, struct tn_fastopen *fast)
{
    tn_tcp_fastopen_key(&fast->keys[0], stack, fast->period);
    tn_tcp_fastopen_key(&fast->keys[1], stack, fast->period - 1);
}

/* What the instance remembers, made at the first call. @return NULL: no memory */
static struct tn_fastopen *fastopen_get(struct tenon *stack)
{
    struct tn_fastopen *fast = stack->tcp.fastopen;

    if (fast != NULL)
        return fast;
    fast = (struct tn_fastopen *)tn_mem_get_clear(stack, tn_fastopen_bytes(stack));
    if (fast == NULL)
        return NULL;
    fast->period_ms = stack->now_ms;
    fastopen_make_keys(stack, fast);
    stack->tcp.fastopen = fast;
    return fast;
}

TENON_INTERNAL void tn_fastopen_fini(struct tenon *stack)
{
    if (!TENON_WITH_COOKIES)
        return;
    if (stack->tcp.fastopen != NULL)
        tn_mem_put(stack, stack->tcp.fastopen, tn_fastopen_bytes(stack));
    stack->tcp.fastopen = NULL;
}

/* ---- the server: cookies ------------------------------------------------------------------------------- */

static void fastopen_rotate(struct tenon *stack, struct tn_fastopen *fast)
{
    const tenon_u32 periods = (tenon_u32)((stack->now_ms - fast->period_ms) / FASTOPEN_PERIOD_MS);

    if (periods == 0)
        return;
    fast->period += periods;
    fast->period_ms += (tenon_u32)(periods * FASTOPEN_PERIOD_MS);
    fastopen_make_keys(stack, fast);
}

static void fastopen_make_cookie(tenon_u8 *cookie, const struct tn_key128 *key, const struct tenon_ip *client)
{
    tenon_u8 bytes[16];
    tenon_u32 hash[2];

    put_ip6(bytes, client);
    tn_siphash(hash, key, bytes, sizeof(bytes));
    put32be(cookie, hash[0]);
    put32be(cookie + 4, hash[1]);
}

/* Takes the same time wherever they differ. */
static int fastopen_same(const tenon_u8 *a, const tenon_u8 *b)
{
    unsigned differs = 0, i;

    for (i = 0; i < FASTOPEN_COOKIE_BYTES; i++)
        differs |= (unsigned)(a[i] ^ b[i]);
    return differs == 0;
}

TENON_INTERNAL int tn_fastopen_cookie_is_good(struct tenon *stack, const struct tenon_ip *client,
                                              const struct tn_tcp_options *options)
{
    struct tn_fastopen *fast = fastopen_get(stack);
    tenon_u8 cookie[FASTOPEN_COOKIE_BYTES];
    unsigned i;

    if (fast == NULL || options->fastopen_bytes != FASTOPEN_COOKIE_BYTES)
        return 0;
    fastopen_rotate(stack, fast);
    for (i = 0; i < TENON_ARRAY_LEN(fast->keys); i++) {
        fastopen_make_cookie(cookie, &fast->keys[i], client);
        if (fastopen_same(cookie, options->fastopen))
            return 1;
    }
    return 0;
}

static void fastopen_give_cookie(struct tenon_tcp *conn, struct tn_tcp_options *options)
{
    struct tenon *stack = conn->stack;
    struct tn_fastopen *fast = fastopen_get(stack);

    if (fast == NULL)
        return;
    fastopen_rotate(stack, fast);
    options->has_fastopen = 1;
    options->fastopen_bytes = FASTOPEN_COOKIE_BYTES;
    fastopen_make_cookie(options->fastopen, &fast->keys[0], tn_tcp_remote_ip(conn));
    tn_count(stack, TENON_STAT_TCP_FASTOPEN_COOKIE_SENT);
}

/* ---- the server: PendingFastOpenRequests (4.2, 5.1) ------------------------------------------------------ */

static void fastopen_pass_minutes(struct tenon_tcp_listener *listener)
{
    const tenon_u32 passed = listener->stack->now_ms - listener->fast_minute_ms;

    if (passed < FASTOPEN_MINUTE_MS)
        return;
    listener->fast_resets[1] = passed < 2 * FASTOPEN_MINUTE_MS ? listener->fast_resets[0] : 0;
    listener->fast_resets[0] = 0;
    listener->fast_minute_ms = listener->stack->now_ms;
}

static int fastopen_is_full(struct tenon_tcp_listener *listener)
{
    fastopen_pass_minutes(listener);
    return listener->fast_pending + listener->fast_resets[0] + listener->fast_resets[1] >=
           listener->stack->conf.tcp_fastopen_pending_max;
}

TENON_INTERNAL void tn_fastopen_leave(const struct tenon_tcp *conn)
{
    if (!TENON_WITH_COOKIES)
        return;
    TENON_ASSERT(conn->flight->listener->fast_pending > 0);
    conn->flight->listener->fast_pending--;
}

/* 5.1: whoever has a cookie of his own network can send SYNs in the names of others there, whose resets would make
 * room for more. They go on counting for one to two minutes. */
TENON_INTERNAL void tn_fastopen_reset(const struct tenon_tcp *conn)
{
    if (!TENON_WITH_COOKIES)
        return;
    if (!tn_fastopen_is_early(conn) || conn->flight->listener == NULL)
        return;
    fastopen_pass_minutes(conn->flight->listener);
    conn->flight->listener->fast_resets[0]++;
}

/* ---- the server: a SYN (4.2.2) ------------------------------------------------------------------------------ */

static void fastopen_deliver(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tn_seg text = *seg;

    conn->flight->listener->fast_pending++;
    conn->flags |= TN_TCP_F_FASTOPEN;
    tn_flight_begin(conn, conn->flight->iss + 1);    /* the SYN takes no place in the congestion window, ... */
    if (TENON_WITH_FLIGHT && !TENON_WITH_RECOVERY)
        conn->flight->rtx_nxt = conn->snd_una;       /* ... nor was it sent again: tn_flight_again_bytes() */
    conn->rcv_adv = conn->rcv_nxt + tn_min(65535UL, tn_tcp_opt(conn, TENON_TCP_RCV_BUF));
    tn_count(conn->stack, TENON_STAT_TCP_FASTOPEN_DELIVERED);
    tn_trace_stretch(conn, TENON_TRACE_FASTOPEN, seg->seq + 1, seg->pkt->len, TENON_TRACE_FASTOPEN_DELIVERED);
    tn_tcp_begin_sending(conn);
    if (conn->events->opened != NULL)
        conn->events->opened(conn, conn->app);
    if (conn->state == TENON_TCP_CLOSED || tn_tcp_opt(conn, TENON_TCP_ACK_BY_HAND))
        return;
    text.seq++;
    text.len--;
    text.flags = (tenon_u8)(text.flags & ~TN_TCP_SYN);
    tn_tcp_text_input(conn, &text);
}

static void fastopen_not_taken(struct tenon_tcp *conn, const struct tn_seg *seg, enum tenon_stat stat,
                               enum tenon_trace_fastopen why)
{
    tn_count(conn->stack, stat);
    tn_trace_stretch(conn, TENON_TRACE_FASTOPEN, seg->seq + 1, seg->pkt->len, (tenon_u32)why);
}

TENON_INTERNAL void tn_fastopen_accept(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tenon *stack = conn->stack;

    if (!TENON_WITH_COOKIES)
        return;
    if (!tn_tcp_opt(conn, TENON_TCP_FASTOPEN))
        return;
    if (!tn_fastopen_cookie_is_good(stack, tn_tcp_remote_ip(conn), &seg->options)) {
        if (seg->options.fastopen_bytes > 0)
            fastopen_not_taken(conn, seg, TENON_STAT_TCP_FASTOPEN_COOKIE_BAD, TENON_TRACE_FASTOPEN_BAD_COOKIE);
        conn->flags |= TN_TCP_F_GIVE_COOKIE;
        return;
    }
    /* The client sends again what the SYN-ACK does not acknowledge, which must not wait for the application then. */
    if (seg->pkt->len == 0 || tn_tcp_opt(conn, TENON_TCP_ACK_BY_HAND))
        return;
    if (tn_cookie_is_expected(conn->flight->listener) || fastopen_is_full(conn->flight->listener)) {
        fastopen_not_taken(conn, seg, TENON_STAT_TCP_FASTOPEN_LIMIT, TENON_TRACE_FASTOPEN_LIMIT);
        return;
    }
    fastopen_deliver(conn, seg);
}

/* ---- the client: what is known of servers (4.1.3) ------------------------------------------------------------- */

static struct fastopen_peer *fastopen_find(const struct tenon_tcp *conn)
{
    struct tn_fastopen *fast = conn->stack->tcp.fastopen;
    unsigned i;

    for (i = 0; fast != NULL && i < fast->npeers; i++) {
        struct fastopen_peer *peer = &fast->peers[i];

        if (tenon_ip_equal(&peer->remote, tn_tcp_remote_ip(conn)) &&
            tenon_ip_equal(&peer->local, &conn->ends.local) && peer->netif == conn->path->scope)
            return peer;
    }
    return NULL;
}

/* A free place, or that of the peer that was not used for the longest time. */
static struct fastopen_peer *fastopen_place(struct tenon *stack, struct tn_fastopen *fast)
{
    struct fastopen_peer *oldest = &fast->peers[0];
    unsigned i;

    if (fast->npeers < stack->conf.tcp_fastopen_cache_max)
        return &fast->peers[fast->npeers++];
    for (i = 1; i < fast->npeers; i++)
        if (stack->now_ms - fast->peers[i].used_ms > stack->now_ms - oldest->used_ms)
            oldest = &fast->peers[i];
    return oldest;
}

/* The record of the peer, made if there is none. @return NULL: no memory */
static struct fastopen_peer *fastopen_record(const struct tenon_tcp *conn)
{
    struct tn_fastopen *fast = fastopen_get(conn->stack);
    struct fastopen_peer *peer = fastopen_find(conn);

    if (fast == NULL)
        return NULL;
    if (peer == NULL) {
        peer = fastopen_place(conn->stack, fast);
        memset(peer, 0, sizeof(*peer));
        peer->local = conn->ends.local;
        peer->remote = *tn_tcp_remote_ip(conn);
        peer->netif = conn->path->scope;
    }
    peer->used_ms = conn->stack->now_ms;
    return peer;
}

static int fastopen_is_refused(const struct tenon *stack, struct fastopen_peer *peer)
{
    if (peer->refused && stack->now_ms - peer->refused_ms >= FASTOPEN_REFUSED_MS)
        peer->refused = 0;
    return peer->refused;
}

static void fastopen_allow(struct fastopen_peer *peer)
{
    peer->refused = 0;
    peer->unanswered = 0;
}

/* Our SYN has not got what it hoped for. @return the record of the server; NULL: no memory */
static struct fastopen_peer *fastopen_failed(struct tenon_tcp *conn)
{
    tn_count(conn->stack, TENON_STAT_TCP_FASTOPEN_FAILED);
    tn_tcp_trace(conn, TENON_TRACE_FASTOPEN, NULL, TENON_TRACE_FASTOPEN_FAILED);
    return fastopen_record(conn);
}

static void fastopen_refuse(const struct tenon *stack, struct fastopen_peer *peer)
{
    peer->unanswered = 0;
    peer->refused = 1;
    peer->refused_ms = stack->now_ms;
}

/* ---- the client: a handshake ---------------------------------------------------------------------------------- */

TENON_INTERNAL tenon_u32 tn_fastopen_begin(struct tenon_tcp *conn)
{
    struct fastopen_peer *peer;

    if (!TENON_WITH_COOKIES)
        return 0;
    if (!tn_tcp_opt(conn, TENON_TCP_FASTOPEN))
        return 0;
    peer = fastopen_find(conn);
    if (peer != NULL && fastopen_is_refused(conn->stack, peer))
        return 0;
    conn->flags |= TN_TCP_F_FASTOPEN;
    if (peer == NULL || peer->bytes == 0) {
        tn_count(conn->stack, TENON_STAT_TCP_FASTOPEN_ASKED);
        tn_tcp_trace(conn, TENON_TRACE_FASTOPEN, NULL, TENON_TRACE_FASTOPEN_ASKED);
        return 0;
    }
    peer->used_ms = conn->stack->now_ms;
    conn->peer_mss = peer->mss;
    tn_tcp_update_mss(conn);
    return conn->mss;
}

TENON_INTERNAL void tn_fastopen_options(struct tenon_tcp *conn, struct tn_tcp_options *options)
{
    const struct fastopen_peer *peer;

    if (!TENON_WITH_COOKIES)
        return;
    if (conn->state == TENON_TCP_SYN_RECEIVED && (conn->flags & TN_TCP_F_GIVE_COOKIE)) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_GIVE_COOKIE;    /* 4.2.2: once, not in a repetition */
        fastopen_give_cookie(conn, options);
    }
    if (!tn_tcp_is_calling(conn) || !(conn->flags & TN_TCP_F_FASTOPEN))
        return;
    options->has_fastopen = 1;
    peer = fastopen_find(conn);
    if (peer == NULL)
        return;
    options->fastopen_bytes = peer->bytes;
    memcpy(options->fastopen, peer->cookie, peer->bytes);
}

static void fastopen_learn(struct tenon_tcp *conn, const struct tn_tcp_options *options)
{
    struct fastopen_peer *peer = fastopen_record(conn);

    if (peer == NULL)
        return;
    fastopen_allow(peer);
    peer->mss = conn->peer_mss;
    peer->bytes = options->fastopen_bytes;
    memcpy(peer->cookie, options->fastopen, peer->bytes);
}

/* A server that has taken no data, and gives no new cookie either, is asked for one the next time. */
TENON_INTERNAL void tn_fastopen_answered(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const int with_data = conn->snd_nxt != conn->flight->iss + 1, taken = seg->ack != conn->flight->iss + 1;
    const int asked = (conn->flags & TN_TCP_F_FASTOPEN) != 0;
    const int given = seg->options.has_fastopen && seg->options.fastopen_bytes > 0;
    struct fastopen_peer *peer = TENON_WITH_COOKIES ? fastopen_find(conn) : NULL;

    if (!TENON_WITH_COOKIES)
        return;
    conn->flags &= ~(tenon_u32)TN_TCP_F_FASTOPEN;
    if (taken) {
        tn_count(conn->stack, TENON_STAT_TCP_FASTOPEN_TAKEN);
        tn_trace_stretch(conn, TENON_TRACE_FASTOPEN, conn->flight->iss + 1, seg->ack - conn->flight->iss - 1,
                         TENON_TRACE_FASTOPEN_TAKEN);
        if (peer != NULL)
            fastopen_allow(peer);
    }
    if (!asked)
        return;
    if (with_data && !taken) {
        tn_count(conn->stack, TENON_STAT_TCP_FASTOPEN_FAILED);
        tn_trace_stretch(conn, TENON_TRACE_FASTOPEN, conn->flight->iss + 1, conn->snd_nxt - conn->flight->iss - 1,
                         TENON_TRACE_FASTOPEN_REFUSED);
        if (peer != NULL)
            peer->bytes = 0;
    } else if (!given && (peer == NULL || peer->bytes == 0)) {
        peer = fastopen_failed(conn);
        if (peer != NULL)
            fastopen_refuse(conn->stack, peer);
    }
    if (given)
        fastopen_learn(conn, &seg->options);
}

TENON_INTERNAL void tn_fastopen_unanswered(struct tenon_tcp *conn)
{
    struct fastopen_peer *peer;

    if (!TENON_WITH_COOKIES)
        return;
    if (!tn_tcp_is_calling(conn) || !(conn->flags & TN_TCP_F_FASTOPEN))
        return;
    conn->flags &= ~(tenon_u32)TN_TCP_F_FASTOPEN;
    peer = fastopen_failed(conn);
    if (peer != NULL && ++peer->unanswered >= FASTOPEN_UNANSWERED_MAX)
        fastopen_refuse(conn->stack, peer);
}
