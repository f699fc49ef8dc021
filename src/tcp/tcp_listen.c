/* SPDX-License-Identifier: MIT */
/* Passive open: listeners, and what a SYN does to them (RFC 9293 3.10.7.2). */
#include "tcp/tcp_internal.h"

enum { LISTEN_BACKLOG_DEFAULT = 128 };

/* An exact address wins over any, and both over a transparent listener on somebody else's address. */
TENON_INTERNAL TENON_ONCE_IF_SMALL struct tenon_tcp_listener *
tn_tcp_find_listener(struct tenon *stack, const struct tenon_addr *local, int foreign)
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

static int listen_is_taken(struct tenon *stack, const struct tenon_ip *ip, unsigned port)
{
    const struct tenon_tcp_listener *listener;

    for (listener = stack->tcp.listeners; listener != NULL; listener = listener->next)
        if (listener->local.port == port && tenon_ip_equal(&listener->local.ip, ip))
            return 1;
    return 0;
}

/* The port that is wanted; for 0 RFC 6056 3.3.1 over the whole range: begin anywhere, take the first that is free.
 * @return 0: it is taken, or all are */
static tenon_u16 listen_port(struct tenon *stack, const struct tenon_addr *at)
{
    const tenon_u32 low = 1024, last = 65535UL;
    tenon_u32 port = at->port, left = 1;

    if (port == 0) {
        left = last - low + 1;
        port = low + tn_random_below(&stack->random, left);
    }
    for (; left > 0; left--) {
        if (!listen_is_taken(stack, &at->ip, (unsigned)port))
            return (tenon_u16)port;
        port = port == last ? low : port + 1;
    }
    return 0;
}

TENON_API int tenon_tcp_listen(struct tenon *stack, struct tenon_tcp_listener **out, const struct tenon_addr *at,
                               const struct tenon_tcp_events *events, void *app, unsigned backlog)
{
    struct tenon_tcp_listener *listener;
    tenon_u16 port;

    if (!TENON_WITH_LISTEN)
        return TENON_EINVAL;
    if (events == NULL || tn_ip_is_multicast(&at->ip))
        return TENON_EINVAL;
    if (!tenon_ip_is_any(&at->ip) && !tn_addr_is_ours(stack, &at->ip, at->netif))
        return TENON_ENOADDR;
    port = listen_port(stack, at);
    if (port == 0)
        return TENON_EINUSE;
    listener = (struct tenon_tcp_listener *)tn_mem_get_clear(stack, sizeof(*listener));
    if (listener == NULL)
        return TENON_ENOMEM;
    listener->stack = stack;
    listener->local = *at;
    listener->local.port = port;
    listener->events = events;
    listener->app = app;
    listener->opts = stack->tcp.defaults;
    listener->opts->refs++;
    listener->backlog = backlog == 0 ? (tenon_u32)LISTEN_BACKLOG_DEFAULT : backlog;
    listener->half_last = &listener->half_first;
    listener->next = stack->tcp.listeners;
    stack->tcp.listeners = listener;
    *out = listener;
    return TENON_OK;
}

/* ---- the backlog: half-open connections, the oldest first ---------------------------------------------- */

/* Hosts of one IPv6 network (64 bits) are one source. */
static unsigned listen_share(struct tenon_tcp_listener *listener, const struct tenon_ip *source)
{
    const unsigned first = tenon_ip_is_v4(source) ? TENON_IP4_WORD : 0;
    const unsigned words = tenon_ip_is_v4(source) ? 1 : 2;

    if (!TENON_WITH_COOKIES)
        return 0;
    if (TENON_SMALL || !tenon_ip_equal(&listener->source, source)) {    /* who comes often is asked about once */
        const tenon_u32 hash = TENON_WITH_MANY
                                   ? tn_hash_words(&listener->stack->table_key, source->w + first, words)
                                   : source->w[first + words - 1U];

        if (TENON_SMALL)
            return (unsigned)(hash % TN_LISTEN_SHARES);
        listener->source = *source;
        listener->source_share = (tenon_u8)(hash % TN_LISTEN_SHARES);
    }
    return listener->source_share;
}

/* RES-1: one source may have half of the backlog. */
static int listen_is_full(const struct tenon_tcp_listener *listener, unsigned share)
{
    if (!TENON_WITH_COOKIES)
        return listener->half_open >= listener->backlog;
    return listener->half_open >= listener->backlog ||
           listener->shares[share] >= listener->backlog - listener->backlog / 2;
}

static void listen_enter_backlog(struct tenon_tcp *conn, unsigned share)
{
    struct tenon_tcp_listener *listener = conn->flight->listener;

    conn->flags |= TN_TCP_F_PASSIVE_COUNTED;
    conn->flight->queue_next = NULL;
    conn->flight->queue_prev = listener->half_last;
    *listener->half_last = conn;
    listener->half_last = &conn->flight->queue_next;
    listener->half_open++;
    if (!TENON_WITH_COOKIES)
        return;
    conn->flight->share = (tenon_u8)share;
    listener->shares[share]++;
}

TENON_INTERNAL void tn_tcp_leave_backlog(struct tenon_tcp *conn)
{
    struct tenon_tcp_listener *listener;

    if (!TENON_WITH_LISTEN)
        return;
    if (!tn_tcp_has_block(conn) || conn->flight->listener == NULL)
        return;    /* it has left, or was never in one */
    listener = conn->flight->listener;
    if (tn_fastopen_is_early(conn))
        tn_fastopen_leave(conn);
    conn->flight->listener = NULL;
    if (!(conn->flags & TN_TCP_F_PASSIVE_COUNTED))
        return;
    conn->flags &= ~(tenon_u32)TN_TCP_F_PASSIVE_COUNTED;
    *conn->flight->queue_prev = conn->flight->queue_next;
    if (conn->flight->queue_next != NULL)
        conn->flight->queue_next->flight->queue_prev = conn->flight->queue_prev;
    else
        listener->half_last = conn->flight->queue_prev;
    TENON_ASSERT(listener->half_open > 0);
    listener->half_open--;
    if (TENON_WITH_COOKIES)
        listener->shares[conn->flight->share]--;
}

/* RFC 4987 3.3: when more than half of the backlog is taken, two repetitions are enough. */
TENON_INTERNAL int tn_tcp_half_open_is_over(const struct tenon_tcp *conn)
{
    const struct tenon_tcp_listener *listener = conn->flight->listener;

    if (!TENON_WITH_LISTEN)
        return 0;
    return listener != NULL && conn->backoff >= 2 && listener->half_open > listener->backlog / 2;
}

/* The oldest that does not wait for the application. NULL: there is none */
static struct tenon_tcp *listen_oldest(const struct tenon_tcp_listener *listener)
{
    struct tenon_tcp *conn = listener->half_first;

    while (conn != NULL && tn_tcp_is_held(conn))
        conn = conn->flight->queue_next;
    return conn;
}

/* RFC 4987 3.4: the oldest gives way, if it has not answered so many repetitions of our SYN-ACK. Its peer hears
 * nothing: most probably it does not exist. @return 0: there is none */
static int listen_recycle(struct tenon_tcp_listener *listener, unsigned repetitions)
{
    struct tenon_tcp *conn = listen_oldest(listener);

    if (conn == NULL || conn->backoff < repetitions)
        return 0;
    tn_count(listener->stack, TENON_STAT_TCP_BACKLOG_RECYCLED);
    tn_tcp_end(conn, TENON_EABORTED);
    return 1;
}

/* Half-open connections have all places that there may be: the oldest of the listener that has most of them gives way,
 * if its peer has not answered for so long that our SYN-ACK was sent again. */
static void listen_make_way(struct tenon_tcp_listener *fullest)
{
    struct tenon_tcp_listener *listener = fullest->stack->tcp.listeners;

    for (; listener != NULL; listener = listener->next)
        if (listener->half_open > fullest->half_open)
            fullest = listener;
    (void)listen_recycle(fullest, 1);
}

/* The handler that hears of an end may end others. */
static void listen_reset_half_open(const struct tenon_tcp_listener *listener)
{
    while (listener->half_first != NULL) {
        struct tenon_tcp *conn = listener->half_first;

        tn_tcp_send_reset(conn);
        tn_tcp_end(conn, TENON_EABORTED);
    }
}

TENON_API void tenon_tcp_listener_close(struct tenon_tcp_listener *listener)
{
    struct tenon *stack = listener->stack;
    struct tenon_tcp_listener **link = &stack->tcp.listeners;

    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    listen_reset_half_open(listener);
    if (TENON_WITH_ROUTES && listener->opts->values[TENON_TCP_TRANSPARENT])
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
    conn->events = listener->events;
    conn->app = listener->app;
    conn->flight->listener = listener;
    if (tn_pkt_is_foreign(seg->pkt)) {
        conn->flags |= TN_TCP_F_FOREIGN;
        conn->stack->tcp.transparent++;
    }
}

/* RFC 9293 3.10.7.2, third: what follows from the SYN, and from the number with which we answer it. */
static void listen_receive_syn(struct tenon_tcp *conn, const struct tn_seg *seg, tenon_u32 iss)
{
    tn_tcp_offer(conn);
    conn->flight->irs = seg->seq;
    conn->rcv_nxt = seg->seq + 1;
    conn->rcv_adv = conn->rcv_nxt;
    conn->rcv_acked = conn->rcv_nxt;
    conn->flight->iss = iss;
    conn->snd_una = conn->flight->iss;
    conn->snd_nxt = conn->flight->iss + 1;
    conn->snd_end = conn->flight->iss + 1;
    if (TENON_WITH_COOKIES || TENON_WITH_RECOVERY)    /* else it begins with the end of the handshake */
        tn_flight_begin(conn, conn->snd_una);
    tn_tcp_read_syn_options(conn, seg);
    tn_ecn_take_syn(conn, seg);
    conn->snd_wnd = seg->wnd;    /* RFC 7323 2.2: never scaled in a SYN */
    conn->snd_wnd_max = seg->wnd;
    conn->snd_wl1 = seg->seq;
    tn_tcp_update_mss(conn);
}

static void listen_decide(struct tenon_tcp *conn, enum tenon_verdict verdict)
{
    switch (verdict) {
    case TENON_ACCEPT:
        if (TENON_WITH_HOLD)
            conn->flags &= ~(tenon_u32)TN_TCP_F_HELD;
        tn_tcp_make_ready(conn);
        break;
    case TENON_REFUSE:
        tn_tcp_send_reset(conn);
        tn_tcp_end(conn, TN_TCP_QUIETLY);
        break;
    case TENON_HOLD: conn->flags |= TN_TCP_F_HELD; break;
    case TENON_IGNORE:
    default: tn_tcp_end(conn, TN_TCP_QUIETLY); break;
    }
}

/* A connection in SYN-RECEIVED. @return NULL: none could be made */
static struct tenon_tcp *listen_new(struct tenon_tcp_listener *listener, const struct tn_seg *syn,
                                    const struct tn_seg_ends *ends)
{
    struct tenon *stack = listener->stack;
    struct tenon_tcp *conn = tn_tcp_new(stack, listener->opts);

    if (conn == NULL)
        return NULL;
    listen_fill(conn, listener, syn);
    if (tn_tcp_attach(conn, &ends->local, &ends->remote) != TENON_OK) {
        tn_tcp_end(conn, TN_TCP_QUIETLY);
        return NULL;
    }
    conn->ts_offset = ends->ts_offset;
    listen_receive_syn(conn, syn, ends->iss);
    tn_htab_insert(&stack->tcp.conns, &conn->ends.node, ends->hash);
    tn_fast_grow(stack);
    tn_fast_remember(conn);
    tn_tcp_set_state(conn, TENON_TCP_SYN_RECEIVED);
    listen_enter_backlog(conn, ends->share);
    return conn;
}

static enum tenon_verdict listen_ask(struct tenon_tcp *conn)
{
    const enum tenon_verdict verdict =
        conn->events->incoming == NULL ? TENON_ACCEPT : conn->events->incoming(conn, conn->app);

    return TENON_WITH_HOLD || verdict != TENON_HOLD ? verdict : TENON_REFUSE;
}

/* No connection can be made, and some are half-open: a cookie that comes back takes the place of an old one. Without
 * cookies there is a place when the SYN is repeated, if it is places that are missing. Who hears that another has
 * ended for it may close the listener. */
static void listen_answer_without(struct tenon_tcp_listener *listener, const struct tn_seg *seg)
{
    struct tenon *stack = listener->stack;

    if (TENON_WITH_COOKIES && stack->conf.tcp_syncookies == 1 && listener->half_open > 0 && !seg->reused)
        tn_cookie_answer(listener, seg);
    else if (stack->tcp.nconns >= stack->conf.tcp_conns_max && !tn_tcp_evict_orphan(stack) && TENON_WITH_MANY)
        listen_make_way(listener);
}

/* The ends are known. */
static void listen_open(struct tenon_tcp_listener *listener, const struct tn_seg *seg, struct tn_seg_ends *ends)
{
    enum tenon_verdict verdict;
    struct tenon_tcp *conn;

    ends->iss = tn_tcp_isn(listener->stack, &ends->local, &ends->remote, &ends->ts_offset);
    if (TENON_WITH_WAITS && seg->reused && tn_seq_lt(ends->iss, seg->iss_min))
        ends->iss = seg->iss_min;
    conn = listen_new(listener, seg, ends);
    if (conn == NULL) {
        listen_answer_without(listener, seg);
        return;
    }
    conn->flags |= TN_TCP_F_SYN_QUEUED;
    verdict = listen_ask(conn);
    if (conn->state == TENON_TCP_CLOSED)
        return;
    listen_decide(conn, verdict);
    if (TENON_WITH_COOKIES && verdict == TENON_ACCEPT && seg->options.has_fastopen)
        tn_fastopen_accept(conn, seg);
}

/* A SYN that ends a TIME-WAIT gets no cookie: its number could not be chosen. */
static void listen_syn(struct tenon_tcp_listener *listener, const struct tn_seg *seg, struct tn_seg_ends *ends)
{
    const unsigned share = listen_share(listener, &seg->pkt->src);
    const int full = listen_is_full(listener, share);
    struct tenon *stack = listener->stack;

    if (TENON_WITH_COOKIES && !seg->reused &&
        (stack->conf.tcp_syncookies == 2 || (full && stack->conf.tcp_syncookies == 1))) {
        tn_cookie_answer(listener, seg);
        return;
    }
    if (full && ((TENON_WITH_COOKIES && listener->half_open < listener->backlog) || !listen_recycle(listener, 0))) {
        tn_count(stack, TENON_STAT_TCP_BACKLOG_FULL);
        return;
    }
    ends->share = share;
    /* A handler that has heard of an end may have closed the listener. */
    if (!full || tn_tcp_find_listener(stack, &ends->local, tn_pkt_is_foreign(seg->pkt)) == listener)
        listen_open(listener, seg, ends);
}

/* ---- an ACK that brings a cookie ------------------------------------------------------------------------ */

/* The peer has got our SYN-ACK. A connection that is held says so by sending it again when it is accepted; the
 * peer's answer then ends the handshake. Such a connection has a place in the backlog, or ends: who wants to hold it
 * has to hear of that. */
static void listen_decide_cookie(struct tenon_tcp *conn, enum tenon_verdict verdict)
{
    struct tenon_tcp_listener *listener = conn->flight->listener;

    if (verdict == TENON_HOLD && listener->half_open > listener->backlog) {
        conn->flags |= TN_TCP_F_HELD;
        if (!listen_recycle(listener, 0)) {
            tn_count(conn->stack, TENON_STAT_TCP_BACKLOG_FULL);
            tn_tcp_end(conn, TENON_EABORTED);
        }
    }
    if (conn->state != TENON_TCP_CLOSED)
        listen_decide(conn, verdict);
}

/* While cookies are under way, a segment that brings none may be the second one of a connection whose first is late
 * or lost. A reset would end it; without one the first comes again, and brings the cookie. Who really has lost his
 * connection is told when the flood is over. One that brings a cookie when no connection can be made comes again,
 * too; so nobody goes for it whose answer may be on its way and would bring none.
 * @return 0: cookies are not under way */
static int listen_open_by_cookie(struct tenon_tcp_listener *listener, struct tn_seg *seg, struct tn_seg_ends *ends)
{
    struct tenon *stack = listener->stack;
    enum tenon_verdict verdict;
    struct tenon_tcp *conn;
    struct tn_seg syn;

    if (!TENON_WITH_COOKIES)
        return 0;
    if (!tn_cookie_check(listener, seg, &syn))
        return listener->cookies;
    ends->share = listen_share(listener, &seg->pkt->src);
    ends->iss = seg->ack - 1;
    ends->ts_offset = tn_tcp_ts_offset(stack, &ends->local, &ends->remote);
    conn = listen_new(listener, &syn, ends);
    if (conn == NULL && listen_recycle(listener, 1) &&
        tn_tcp_find_listener(stack, &ends->local, tn_pkt_is_foreign(seg->pkt)) == listener)
        conn = listen_new(listener, &syn, ends);
    if (conn == NULL)
        return 1;
    tn_count(conn->stack, TENON_STAT_TCP_COOKIE_GOOD);
    conn->rcv_adv = conn->rcv_nxt + tn_min(65535UL, tn_tcp_opt(conn, TENON_TCP_RCV_BUF));
    verdict = listen_ask(conn);
    if (conn->state != TENON_TCP_CLOSED)
        listen_decide_cookie(conn, verdict);
    if (conn->state != TENON_TCP_CLOSED && !tn_tcp_is_held(conn))
        tn_tcp_input_synchronized(conn, seg);
    return 1;
}

TENON_INTERNAL int tn_tcp_take_cookie(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    struct tn_seg syn;

    if (!TENON_WITH_COOKIES)
        return 0;
    if (conn->flight->listener == NULL || tn_fastopen_is_early(conn) || conn->opts != conn->flight->listener->opts ||
        conn->snd_end != conn->flight->iss + 1 || seg->seq != conn->rcv_nxt ||
        !tn_cookie_check(conn->flight->listener, seg, &syn))
        return 0;
    tn_count(conn->stack, TENON_STAT_TCP_COOKIE_GOOD);
    conn->ecn = 0;    /* a SYN that is repeated asks for less */
    conn->flight->header.tcp_bytes = 0;
    listen_receive_syn(conn, &syn, seg->ack - 1);
    conn->rcv_adv = conn->rcv_nxt + tn_min(65535UL, tn_tcp_opt(conn, TENON_TCP_RCV_BUF));
    return 1;
}

/* ---- from tcp_input.c ----------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_input_listen(struct tenon_tcp_listener *listener, struct tn_seg *seg,
                                        struct tn_seg_ends *ends)
{
    struct tenon *stack = listener->stack;

    if (!TENON_WITH_LISTEN)
        return;
    if (seg->flags & TN_TCP_RST)
        return;
    if ((seg->flags & (TN_TCP_SYN | TN_TCP_ACK)) == TN_TCP_ACK && listen_open_by_cookie(listener, seg, ends))
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
    listen_syn(listener, seg, ends);
}

TENON_API int tenon_tcp_decide(struct tenon_tcp *conn, enum tenon_verdict verdict)
{
    if (!TENON_WITH_LISTEN)
        return TENON_EINVAL;
    if (!tn_tcp_is_held(conn) || conn->state != TENON_TCP_SYN_RECEIVED || verdict == TENON_HOLD)
        return TENON_EINVAL;
    if (verdict == TENON_ACCEPT)
        conn->flags |= TN_TCP_F_SYN_QUEUED;
    listen_decide(conn, verdict);
    return TENON_OK;
}
