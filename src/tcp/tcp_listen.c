/* SPDX-License-Identifier: MIT */
/* Passive open: listeners, and what a SYN does to them (RFC 9293 3.10.7.2). */
#include "tcp/tcp_internal.h"

enum { LISTEN_BACKLOG_DEFAULT = 128 };

/* An exact address wins over any, and both over a transparent listener on somebody else's address. */
TENON_INTERNAL struct tenon_tcp_listener *tn_tcp_find_listener(struct tenon *stack, const struct tenon_addr *local,
                                                               int foreign)
{
    struct tenon_tcp_listener *listener, *any = NULL;

    for (listener = stack->tcp.listeners; listener != NULL; listener = listener->next) {
        if (listener->local.port != local->port)
            continue;
        if (foreign && !listener->opts->values[TENON_TCP_TRANSPARENT])
            continue;
        if (tenon_ip_equal(&listener->local.ip, &local->ip))
            return listener;
        if (tenon_ip_is_any(&listener->local.ip))
            any = listener;
    }
    return any;
}

static int listen_is_taken(struct tenon *stack, const struct tenon_addr *at)
{
    const struct tenon_tcp_listener *listener;

    for (listener = stack->tcp.listeners; listener != NULL; listener = listener->next)
        if (listener->local.port == at->port && tenon_ip_equal(&listener->local.ip, &at->ip))
            return 1;
    return 0;
}

/* RFC 6056 3.3.1 over the whole range: begin anywhere, take the first that is free. */
static tenon_u16 listen_choose_port(struct tenon *stack, const struct tenon_addr *at)
{
    const tenon_u32 low = 1024, span = 65536UL - low;
    const tenon_u32 start = tn_random_below(&stack->random, span);
    struct tenon_addr candidate = *at;
    tenon_u32 i;

    for (i = 0; i < span; i++) {
        candidate.port = (tenon_u16)(low + (start + i) % span);
        if (!listen_is_taken(stack, &candidate))
            return candidate.port;
    }
    return 0;
}

TENON_API int tenon_tcp_listen(struct tenon *stack, struct tenon_tcp_listener **out, const struct tenon_addr *at,
                               const struct tenon_tcp_events *events, void *app, unsigned backlog)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr local = *at;

    if (events == NULL || tn_ip_is_multicast(&at->ip))
        return TENON_EINVAL;
    if (!tenon_ip_is_any(&at->ip) && !tn_addr_is_ours(stack, &at->ip, at->netif))
        return TENON_ENOADDR;
    if (local.port == 0)
        local.port = listen_choose_port(stack, at);
    if (local.port == 0 || listen_is_taken(stack, &local))
        return TENON_EINUSE;
    listener = (struct tenon_tcp_listener *)tn_mem_get(stack, sizeof(*listener));
    if (listener == NULL)
        return TENON_ENOMEM;
    memset(listener, 0, sizeof(*listener));
    listener->stack = stack;
    listener->local = local;
    listener->events = events;
    listener->app = app;
    listener->opts = stack->tcp.defaults;
    listener->opts->refs++;
    listener->backlog = backlog == 0 ? (tenon_u32)LISTEN_BACKLOG_DEFAULT : backlog;
    listener->next = stack->tcp.listeners;
    stack->tcp.listeners = listener;
    *out = listener;
    return TENON_OK;
}

/* The first of the listener's connections in a chain of the table that is not established; NULL: none. */
static struct tenon_tcp *listen_half_open_in(struct tn_hnode *node, const struct tenon_tcp_listener *listener)
{
    for (; node != NULL; node = node->next) {
        struct tn_tcp_ends *ends = TENON_CONTAINER(node, struct tn_tcp_ends, node);
        struct tenon_tcp *conn = (struct tenon_tcp *)(void *)ends;

        if (!ends->is_time_wait && conn->listener == listener)
            return conn;
    }
    return NULL;
}

/* The handler that hears of an end may change the table: each chain is looked at anew until it has none. */
static void listen_reset_half_open(struct tenon *stack, const struct tenon_tcp_listener *listener)
{
    tenon_u32 i;

    for (i = 0; i < stack->tcp.conns.buckets && listener->half_open > 0; i++) {
        struct tenon_tcp *conn = listen_half_open_in(tn_htab_bucket(&stack->tcp.conns, i), listener);

        while (conn != NULL) {
            tn_tcp_send_reset(conn);
            tn_tcp_end(conn, TENON_EABORTED, 0);
            conn = listen_half_open_in(tn_htab_bucket(&stack->tcp.conns, i), listener);
        }
    }
}

TENON_API void tenon_tcp_listener_close(struct tenon_tcp_listener *listener)
{
    struct tenon *stack = listener->stack;
    struct tenon_tcp_listener **link = &stack->tcp.listeners;

    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    listen_reset_half_open(stack, listener);
    if (listener->opts->values[TENON_TCP_TRANSPARENT])
        stack->tcp.transparent--;
    tn_tcp_opts_put(stack, listener->opts);
    tn_mem_put(stack, listener, sizeof(*listener));
}

TENON_API void tenon_tcp_listener_local(const struct tenon_tcp_listener *listener, struct tenon_addr *local)
{
    *local = listener->local;
}

/* ---- a SYN -------------------------------------------------------------------------------------------- */

static void listen_fill(struct tenon_tcp *conn, struct tenon_tcp_listener *listener, const struct tn_seg *seg)
{
    const unsigned netif = seg->pkt->netif->index;

    conn->ends.local.ip = seg->pkt->dst;
    conn->ends.local.port = seg->dport;
    conn->ends.local.netif = (tenon_u16)netif;
    conn->ends.remote.ip = seg->pkt->src;
    conn->ends.remote.port = seg->sport;
    conn->ends.remote.netif = (tenon_u16)(tn_ip_is_link_local(&seg->pkt->src) ? netif : 0);
    conn->events = listener->events;
    conn->app = listener->app;
    conn->listener = listener;
    if (seg->pkt->foreign) {
        conn->flags |= TN_TCP_F_FOREIGN;
        conn->stack->tcp.transparent++;
    }
}

/* RFC 9293 3.10.7.2, third: LISTEN -> SYN-RECEIVED. */
static void listen_receive_syn(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tenon *stack = conn->stack;

    tn_tcp_offer(conn);
    conn->irs = seg->seq;
    conn->rcv_nxt = seg->seq + 1;
    conn->rcv_adv = conn->rcv_nxt;
    conn->rcv_acked = conn->rcv_nxt;
    conn->iss = tn_tcp_isn(stack, &conn->ends.local, &conn->ends.remote);
    if (seg->reused && tn_seq_lt(conn->iss, seg->iss_min))
        conn->iss = seg->iss_min;
    conn->snd_una = conn->iss;
    conn->snd_nxt = conn->iss + 1;
    conn->snd_end = conn->iss + 1;
    conn->rtx_nxt = conn->lost_edge = conn->snd_una;
    tn_tcp_read_syn_options(conn, seg);
    tn_ecn_take_syn(conn, seg);
    conn->snd_wnd = seg->wnd;    /* RFC 7323 2.2: never scaled in a SYN */
    conn->snd_wnd_max = seg->wnd;
    conn->snd_wl1 = seg->seq;
    conn->snd_wl2 = conn->iss;
    tn_tcp_update_mss(conn);
    tn_htab_insert(&stack->tcp.conns, &conn->ends.node, tn_tcp_hash(stack, &conn->ends.local, &conn->ends.remote));
    tn_tcp_set_state(conn, TENON_TCP_SYN_RECEIVED);
    conn->flags |= TN_TCP_F_SYN_QUEUED;
}

static void listen_decide(struct tenon_tcp *conn, enum tenon_verdict verdict)
{
    switch (verdict) {
    case TENON_ACCEPT:
        conn->flags &= ~(tenon_u32)TN_TCP_F_HELD;
        tn_tcp_make_ready(conn);
        break;
    case TENON_REFUSE:
        tn_tcp_send_reset(conn);
        tn_tcp_end(conn, TENON_EREFUSED, 1);
        break;
    case TENON_HOLD: conn->flags |= TN_TCP_F_HELD; break;
    case TENON_IGNORE:
    default: tn_tcp_end(conn, TENON_EREFUSED, 1); break;
    }
}

static void listen_open(struct tenon *stack, struct tenon_tcp_listener *listener, const struct tn_seg *seg)
{
    enum tenon_verdict verdict = TENON_ACCEPT;
    struct tenon_tcp *conn;

    if (listener->half_open >= listener->backlog) {
        tn_count(stack, TENON_STAT_TCP_BACKLOG_FULL);
        return;
    }
    conn = tn_tcp_new(stack, listener->opts);
    if (conn == NULL)
        return;
    listen_fill(conn, listener, seg);
    if (tn_tcp_attach(conn) != TENON_OK) {
        tn_tcp_end(conn, TENON_EUNREACH, 1);
        return;
    }
    listen_receive_syn(conn, seg);
    listener->half_open++;
    conn->flags |= TN_TCP_F_PASSIVE_COUNTED;
    if (conn->events->incoming != NULL)
        verdict = conn->events->incoming(conn, conn->app);
    if (conn->state != TENON_TCP_CLOSED)
        listen_decide(conn, verdict);
}

TENON_INTERNAL void tn_tcp_input_listen(struct tenon *stack, struct tenon_tcp_listener *listener, struct tn_seg *seg)
{
    if (seg->flags & TN_TCP_RST)
        return;
    if (seg->flags & TN_TCP_ACK) {
        tn_count(stack, TENON_STAT_TCP_NO_CONNECTION);
        tn_tcp_reset_reply(stack, seg);
        return;
    }
    if (!(seg->flags & TN_TCP_SYN) || (seg->flags & TN_TCP_FIN)) {
        tn_count(stack, TENON_STAT_TCP_NO_CONNECTION);
        return;
    }
    tn_count(stack, TENON_STAT_TCP_SYN_RCVD);
    listen_open(stack, listener, seg);
}

TENON_API int tenon_tcp_decide(struct tenon_tcp *conn, enum tenon_verdict verdict)
{
    if (!(conn->flags & TN_TCP_F_HELD) || conn->state != TENON_TCP_SYN_RECEIVED || verdict == TENON_HOLD)
        return TENON_EINVAL;
    listen_decide(conn, verdict);
    return TENON_OK;
}
