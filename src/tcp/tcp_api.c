/* SPDX-License-Identifier: MIT */
/* The user calls of RFC 9293 3.9.1: OPEN, SEND, RECEIVE (here: consumed), CLOSE, ABORT, STATUS. */
#include "tcp/tcp_fast.h"

/* ---- OPEN ------------------------------------------------------------------------------------------ */

/* RFC 9293 MUST-46: an address that no connection can have. */
static int api_peer_is_possible(const struct tenon *stack, const struct tenon_addr *to)
{
    return to->port != 0 && tn_ip_is_host(&to->ip) && !tn_addr_is_broadcast(stack, &to->ip);
}

/* Both ends of a connection that is opened: as they were given at first. */
struct api_ends {
    struct tenon_addr local, remote;
};

static void api_take_ends(struct api_ends *ends, const struct tenon_addr *from, const struct tenon_addr *to)
{
    if (from != NULL)
        ends->local = *from;
    else
        memset(&ends->local, 0, sizeof(ends->local));
    ends->remote = *to;
    ends->local.netif = 0;    /* the path's */
    if (!TENON_WITH_NETIFS || !tn_ip_is_link_local(&to->ip))
        ends->remote.netif = 0;
}

static void api_send_syn(struct tenon_tcp *conn, const struct api_ends *ends)
{
    struct tenon *stack = conn->stack;

    tn_tcp_offer(conn);
    conn->flight->iss = tn_tcp_isn(stack, &ends->local, &ends->remote, &conn->ts_offset);
    conn->snd_una = conn->flight->iss;
    conn->snd_nxt = conn->flight->iss + 1;
    conn->snd_end = conn->flight->iss + 1;
    tn_flight_begin(conn, conn->snd_una);
    conn->flags |= TN_TCP_F_ACTIVE | TN_TCP_F_SYN_QUEUED;
    tn_htab_insert(&stack->tcp.conns, &conn->ends.node, conn->ends.node.hash);
    tn_fast_grow(stack);
    tn_fast_remember(conn);
    tn_tcp_set_state(conn, TENON_TCP_SYN_SENT);
    tn_count(stack, TENON_STAT_TCP_ACTIVE_OPEN);
    tn_tcp_make_ready(conn);
}

/* Everything that can be said before anything is sent. */
static int api_choose_ends(struct tenon_tcp *conn, struct api_ends *ends)
{
    struct tenon_addr *const local = &ends->local, *const remote = &ends->remote;
    struct tenon *stack = conn->stack;
    const int error = tn_tcp_attach(conn, local, remote);

    if (error != TENON_OK)
        return error;
    if (tenon_ip_is_v4(&conn->ends.local) != tenon_ip_is_v4(&remote->ip))
        return TENON_EINVAL;
    if (TENON_WITH_HOMES && !tenon_ip_is_any(&local->ip) && !tn_tcp_is_foreign(conn) &&
        !tn_path_is_from(stack, conn->path, &local->ip))
        return TENON_ENOADDR;
    local->ip = conn->ends.local;
    local->netif = (tenon_u16)tn_tcp_local_netif(conn);
    if (local->port == remote->port && tenon_ip_equal(&local->ip, &remote->ip))
        return TENON_EINVAL;    /* 9293-SIMO-2: a connection to itself is refused */
    if (local->port != 0) {
        conn->ends.node.hash = tn_tcp_hash(stack, local, remote);
        return tn_tcp_find_hash(stack, local, remote, conn->ends.node.hash) == NULL ? TENON_OK : TENON_EINUSE;
    }
    if (!tn_tcp_choose_port(stack, local, remote, &conn->ends.node.hash))
        return TENON_EINUSE;
    conn->ends.node.word |= (tenon_u32)local->port << 16;
    return TENON_OK;
}

/* Undo tn_tcp_new() of a connection that nobody has seen. */
static int api_give_up(struct tenon_tcp *conn, int error)
{
    struct tenon *stack = conn->stack;

    tn_tcp_end(conn, TN_TCP_QUIETLY);
    tn_tcp_reap(stack);
    return error;
}

static int api_open(struct tenon *stack, struct tenon_tcp **out, struct api_ends *ends, int foreign)
{
    struct tenon_tcp *conn;
    int error;

    if (stack->tcp.nconns >= stack->conf.tcp_conns_max)
        (void)tn_tcp_evict_orphan(stack);
    conn = tn_tcp_new(stack, stack->tcp.defaults);
    if (conn == NULL)
        return stack->tcp.nconns >= stack->conf.tcp_conns_max ? TENON_ELIMIT : TENON_ENOMEM;
    if (foreign) {
        conn->flags |= TN_TCP_F_FOREIGN;
        stack->tcp.transparent++;
    }
    error = api_choose_ends(conn, ends);
    if (error != TENON_OK)
        return api_give_up(conn, error);
    api_send_syn(conn, ends);
    *out = conn;
    return TENON_OK;
}

TENON_API int tenon_tcp_connect(struct tenon *stack, struct tenon_tcp **out, const struct tenon_addr *from,
                                const struct tenon_addr *to, const struct tenon_tcp_events *events, void *app)
{
    struct api_ends ends;
    int error;

    if (!TENON_WITH_CONNECT || events == NULL || !api_peer_is_possible(stack, to))
        return TENON_EINVAL;
    if (from != NULL && !tenon_ip_is_any(&from->ip) && !tn_addr_is_ours(stack, &from->ip, from->netif))
        return TENON_ENOADDR;
    api_take_ends(&ends, from, to);
    error = api_open(stack, out, &ends, 0);
    if (error == TENON_OK)
        tenon_tcp_handler(*out, events, app);
    return error;
}

/* Packets from addresses that are not ours need routes. */
enum { API_CONNECTS_FOREIGN = TENON_WITH_CONNECT && TENON_WITH_ROUTES };

TENON_API int tenon_tcp_connect_foreign(struct tenon *stack, struct tenon_tcp **out, const struct tenon_addr *from,
                                        const struct tenon_addr *to, const struct tenon_tcp_events *events,
                                        void *app)
{
    struct api_ends ends;
    int error;

    if (!API_CONNECTS_FOREIGN || events == NULL || from == NULL || from->port == 0 ||
        !api_peer_is_possible(stack, to) || !tn_ip_is_host(&from->ip))
        return TENON_EINVAL;
    api_take_ends(&ends, from, to);
    error = api_open(stack, out, &ends, 1);
    if (error == TENON_OK)
        tenon_tcp_handler(*out, events, app);
    return error;
}

TENON_API void tenon_tcp_handler(struct tenon_tcp *conn, const struct tenon_tcp_events *events, void *app)
{
    conn->events = events;
    conn->app = app;
}

TENON_API void *tenon_tcp_app(const struct tenon_tcp *conn)
{
    return conn->app;
}

TENON_API struct tenon *tenon_tcp_stack(const struct tenon_tcp *conn)
{
    return conn->stack;
}

/* ---- SEND -------------------------------------------------------------------------------------------- */

TENON_HOT tenon_u32 api_queued(const struct tenon_tcp *conn)
{
    if (!TENON_SMALL && TENON_LIKELY(conn->state == TENON_TCP_ESTABLISHED && !(conn->flags & TN_TCP_F_FIN_QUEUED)))
        return conn->snd_end - conn->snd_una;
    if (conn->state != TENON_TCP_CLOSED && conn->state <= TENON_TCP_SYN_RECEIVED)
        return conn->snd_end - (conn->flight->iss + 1);
    return tn_seq_lt(conn->snd_una, conn->snd_end) ? conn->snd_end - conn->snd_una : 0;
}

/* Of a connection that takes data. */
TENON_HOT tenon_u32 api_room(const struct tenon_tcp *conn)
{
    const tenon_u32 limit = tn_tcp_opt(conn, TENON_TCP_SND_BUF), queued = api_queued(conn);

    return queued < limit ? limit - queued : 0;
}

TENON_API tenon_u32 tenon_tcp_room(const struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_CLOSED || (conn->flags & TN_TCP_F_FIN_QUEUED))
        return 0;
    if (!TENON_WITH_QUEUE && tn_tcp_has_block(conn) && conn->flight->sendq.count == TN_SENDQ_FEW)
        return 0;
    return api_room(conn);
}

TENON_HOT int api_may_send(const struct tenon_tcp *conn)
{
    if (!TENON_SMALL &&
        TENON_LIKELY(conn->state == TENON_TCP_ESTABLISHED && !(conn->flags & (TN_TCP_F_FIN_QUEUED | TN_TCP_F_HELD))))
        return TENON_OK;
    if (conn->state == TENON_TCP_CLOSED || (conn->flags & TN_TCP_F_FIN_QUEUED))
        return TENON_ECLOSED;
    return tn_tcp_is_held(conn) ? TENON_EINVAL : TENON_OK;
}

TENON_APART int api_send(struct tenon_tcp *conn, const struct tenon_span *span)
{
    int error = api_may_send(conn);

    if (error != TENON_OK || span->len == 0)
        return error;
    if (span->len > api_room(conn))
        return TENON_EAGAIN;
    error = tn_sendq_push(conn, span);
    if (error == TENON_OK)
        tn_tcp_make_ready(conn);
    return error;
}

/* Of a usual connection, which may send; nothing is queued, and the block is not at rest. */
TENON_HOT int api_is_first(const struct tenon_tcp *conn, const struct tenon_span *span)
{
    const struct tn_flight *flight = conn->flight;

    return flight != NULL && (flight->usual & TN_FAST_USUAL) && flight->sendq.count == 0 && flight->prev == NULL &&
           span->len - 1 < tn_tcp_opt(conn, TENON_TCP_SND_BUF);
}

/* Few bytes, of a connection that takes data, behind what waits in a buffer of ours. */
TENON_HOT int api_may_add(const struct tenon_tcp *conn, tenon_u32 n)
{
    const tenon_u32 queued = conn->snd_end - conn->snd_una;

    return conn->state == TENON_TCP_ESTABLISHED && (conn->flags & (TN_TCP_F_FIN_QUEUED | TN_TCP_F_HELD)) == 0 &&
           n - 1 < TN_SENDQ_FEW_BYTES && queued + n <= tn_tcp_opt(conn, TENON_TCP_SND_BUF);
}

TENON_API int tenon_tcp_send(struct tenon_tcp *conn, const struct tenon_span *span)
{
    if (TENON_SMALL)
        return api_send(conn, span);
    if (tn_sendq_is_open(conn)) {
        if (!api_may_add(conn, span->len) || !tn_sendq_join(conn, span))
            return api_send(conn, span);
    } else {
        if (!api_is_first(conn, span))
            return api_send(conn, span);
        tn_sendq_first(conn, span);
    }
    tn_tcp_make_ready(conn);
    return TENON_OK;
}

TENON_APART tenon_i32 api_write(struct tenon_tcp *conn, const tenon_u8 *bytes, tenon_u32 n)
{
    const int error = api_may_send(conn);
    tenon_u32 done;

    if (error != TENON_OK)
        return error;
    n = tn_min(n, api_room(conn));
    if (n == 0)
        return 0;
    done = tn_sendq_write(conn, bytes, n);
    if (done == 0)
        return TENON_ENOMEM;
    tn_tcp_make_ready(conn);
    return (tenon_i32)done;
}

TENON_API tenon_i32 tenon_tcp_write(struct tenon_tcp *conn, const void *bytes, tenon_u32 n)
{
    if (TENON_SMALL || !tn_sendq_is_open(conn) || !api_may_add(conn, n) ||
        !tn_sendq_add(conn, (const tenon_u8 *)bytes, n))
        return api_write(conn, (const tenon_u8 *)bytes, n);
    tn_tcp_make_ready(conn);
    return (tenon_i32)n;
}

TENON_API int tenon_tcp_urgent(struct tenon_tcp *conn)
{
    const int error = TENON_WITH_URGENT ? api_may_send(conn) : TENON_EINVAL;

    if (error != TENON_OK)
        return error;
    if (!tn_tcp_has_block(conn))
        return TENON_OK;    /* nothing is queued that it could point behind */
    tn_fast_end(conn);
    conn->flight->snd_up = conn->snd_end;
    conn->flags |= TN_TCP_F_URGENT_SND;
    tn_tcp_make_ready(conn);
    return TENON_OK;
}

/* ---- CLOSE --------------------------------------------------------------------------------------------- */

TENON_API int tenon_tcp_finish(struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_CLOSED || (conn->flags & TN_TCP_F_FIN_QUEUED))
        return TENON_ECLOSED;
    if (tn_tcp_is_calling(conn) && api_queued(conn) == 0) {
        tn_tcp_end(conn, TENON_OK);    /* RFC 9293 3.10.4: nothing was agreed on yet */
        return TENON_OK;
    }
    (void)tn_tcp_needs_block(conn);    /* if there is no memory for it, a timer tries again */
    tn_fast_change(conn);
    conn->flags |= TN_TCP_F_FIN_QUEUED;
    tn_tcp_make_ready(conn);
    return TENON_OK;
}

TENON_API void tenon_tcp_close(struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_CLOSED)
        return;
    if (conn->rcv_unconsumed > 0) {
        tenon_tcp_abort(conn);    /* RFC 9293 3.6.1 (SHLD-3): the peer must learn that data is lost */
        return;
    }
    tn_fast_change(conn);
    conn->flags |= TN_TCP_F_NO_READER;
    (void)tenon_tcp_finish(conn);
    if (conn->state == TENON_TCP_CLOSED)
        return;    /* it was in SYN-SENT */
    tn_tcp_arm_fin_wait(conn);
    tn_tcp_orphan_enter(conn);
}

TENON_API void tenon_tcp_abort(struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_CLOSED)
        return;
    /* RFC 9293 3.10.5: no reset from CLOSING and LAST-ACK, and none for a SYN that was never answered. */
    if (conn->state >= TENON_TCP_SYN_RECEIVED && conn->state <= TENON_TCP_CLOSE_WAIT)
        tn_tcp_send_reset(conn);
    tn_tcp_end(conn, TENON_EABORTED);
}

/* ---- RECEIVE --------------------------------------------------------------------------------------------- */

/* A window with room for so many is nothing that stops a peer soon. */
enum { API_AHEAD_SEGMENTS = 16 };

/* 9293-SWS-6: tell the peer when it may soon be stopped by what it knows of the window. Otherwise the next ACK will
 * say it. */
TENON_APART void api_tell_window(struct tenon_tcp *conn)
{
    tenon_u32 edge, left = conn->rcv_adv - conn->rcv_nxt, few;

    if (left & 0x80000000UL)
        left = 0;
    few = tn_min(tn_tcp_opt(conn, TENON_TCP_RCV_BUF) / 2, (tenon_u32)API_AHEAD_SEGMENTS * conn->mss);
    if (left >= few)
        return;
    edge = tn_tcp_rcv_edge(conn);
    if (edge == conn->rcv_adv)
        return;
    if (left < conn->mss || edge - conn->rcv_adv >= tn_min(few, 2UL * conn->mss))
        tn_tcp_ack_now(conn);
}

TENON_API void tenon_tcp_consumed(struct tenon_tcp *conn, tenon_u32 bytes)
{
    const tenon_u32 ahead = conn->rcv_adv - conn->rcv_nxt - (tenon_u32)API_AHEAD_SEGMENTS * conn->mss;

    if (conn->state == TENON_TCP_CLOSED)
        return;
    conn->rcv_unconsumed -= tn_min(bytes, conn->rcv_unconsumed);
    if (TENON_SMALL || ahead >= 0x40000000UL)    /* no window is larger (RFC 7323 2.3) */
        api_tell_window(conn);
}

/* Everything is acknowledged now. Where the end of the connection has waited for that, it comes; the peer may
 * repeat its FIN if this last ACK is lost, so that TIME-WAIT is where it ends. */
static void api_settle_held(struct tenon_tcp *conn)
{
    const int waits = conn->state == TENON_TCP_FIN_WAIT_2 || conn->state == TENON_TCP_CLOSING ||
                      conn->state == TENON_TCP_LAST_ACK;

    tn_tcp_ack_now(conn);
    if (waits && (conn->flags & TN_TCP_F_FIN_RCVD) && tn_tcp_fin_acked(conn) && !tn_tcp_holds(conn))
        tn_tcp_enter_time_wait(conn);
}

TENON_API void tenon_tcp_ack(struct tenon_tcp *conn, tenon_u32 bytes)
{
    if (conn->state == TENON_TCP_CLOSED || bytes == 0)
        return;
    if (tn_tcp_has_block(conn))
        conn->flight->rcv_held -= tn_min(bytes, conn->flight->rcv_held);
    api_settle_held(conn);
}

TENON_API int tenon_tcp_ack_fin(struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_CLOSED || !tn_tcp_fin_held(conn))
        return TENON_EINVAL;
    conn->flags &= ~(tenon_u32)TN_TCP_F_FIN_HELD;
    api_settle_held(conn);
    return TENON_OK;
}

/* ---- STATUS ------------------------------------------------------------------------------------------------ */

TENON_API enum tenon_tcp_state tenon_tcp_state(const struct tenon_tcp *conn)
{
    return (enum tenon_tcp_state)conn->state;
}

TENON_API unsigned tenon_tcp_mss(const struct tenon_tcp *conn)
{
    return conn->mss;
}

TENON_API const char *tenon_tcp_state_name(enum tenon_tcp_state state)
{
    static const char *const names[] = {"CLOSED",      "LISTEN",     "SYN-SENT",   "SYN-RECEIVED",
                                        "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT",
                                        "CLOSING",     "LAST-ACK",   "TIME-WAIT"};

    return (size_t)state < TENON_ARRAY_LEN(names) ? names[state] : "?";
}

static void api_status_counts(const struct tenon_tcp *conn, struct tenon_tcp_info *info)
{
    const struct tn_past *past = tn_past_of(conn);

    info->cwnd = TENON_WITH_FLIGHT ? conn->cc.cwnd : conn->mss;
    info->ssthresh = conn->cc.ssthresh;
    info->in_flight = conn->state > TENON_TCP_SYN_RECEIVED ? tn_tcp_in_flight(conn) : 0;
    info->snd_queued = api_queued(conn);
    if (tn_seq_lt(conn->snd_nxt, conn->snd_end))
        info->snd_unsent = conn->snd_end - conn->snd_nxt;
    info->snd_wnd = conn->snd_wnd;
    info->rcv_wnd = tn_seq_lt(conn->rcv_nxt, conn->rcv_adv) ? conn->rcv_adv - conn->rcv_nxt : 0;
    info->rcv_unconsumed = conn->rcv_unconsumed;
    info->rcv_ooo = tn_ooo_bytes(conn);
    if (past != NULL) {
        info->retransmits = past->retransmits;
        info->rtos = past->rtos;
    }
    info->since_rcv_ms = conn->stack->now_ms - conn->last_rcv_ms;
    info->since_text_ms = conn->stack->now_ms - conn->last_text_ms;
    info->since_acked_ms = conn->stack->now_ms - conn->progress_ms;
}

TENON_API void tenon_tcp_status(const struct tenon_tcp *conn, struct tenon_tcp_info *info)
{
    memset(info, 0, sizeof(*info));
    info->state = (enum tenon_tcp_state)conn->state;
    info->id = conn->ends.id;
    tn_tcp_local(conn, &info->local);
    tn_tcp_remote(conn, &info->remote);
    info->cc = tn_cc_ops(conn)->name;
    info->srtt_us = conn->srtt8 >> 3;
    info->rttvar_us = conn->rttvar4 >> 2;
    info->rto_us = tn_tcp_rto_us(conn);
    info->min_rtt_us = conn->min_rtt_us == 0xFFFFFFFFUL ? 0 : conn->min_rtt_us;
    info->mss = conn->mss;
    info->snd_wscale = conn->snd_wscale;
    info->rcv_wscale = conn->rcv_wscale;
    info->timestamps = (tenon_u8)tn_tcp_has_timestamps(conn);
    info->sack = (conn->flags & TN_TCP_F_SACK) != 0;
    info->in_recovery = conn->recovery == TN_RECOVERY_FAST;
    tn_why_status(conn, info);
    api_status_counts(conn, info);
}

/* What the table before has done to the window is not to be taken back by this one. An episode of losses that it began,
 * and answered with something else than ssthresh, gets one now: recovered() sets the window to it (RFC 5681 3.2). */
static void api_cc_takes_over(struct tenon_tcp *conn)
{
    tn_undo_forget(conn);
    if (conn->recovery == TN_RECOVERY_FAST && conn->cc.ssthresh == TN_CC_NO_SSTHRESH)
        conn->cc.ssthresh = tn_max(conn->flight->undo_cwnd / 2, 2UL * conn->mss);
}

TENON_API int tenon_tcp_set_cc(struct tenon_tcp *conn, const struct tenon_cc_ops *cc)
{
    struct tenon_cc_event event;
    const int error = tn_tcp_cc_change(conn, cc);

    /* Whoever sends by it already, before the end of the handshake too (Fast Open), begins anew with this one. */
    if (TENON_WITH_RECOVERY && error == TENON_OK && conn->state >= TENON_TCP_SYN_RECEIVED && conn->cc.cwnd != 0) {
        api_cc_takes_over(conn);
        tn_tcp_cc_event(conn, &event);
        cc->init(&conn->cc, &event);
    }
    tn_fast_end(conn);
    if (conn->state != TENON_TCP_CLOSED)
        tn_flight_rest(conn);
    return error;
}
