/* SPDX-License-Identifier: MIT */
/* Connections: how they begin, where they are found, how they end. */
#include "tcp/tcp_internal.h"

/* ---- the table ------------------------------------------------------------------------------------ */

static tenon_u32 conn_ports(const struct tenon_addr *local, const struct tenon_addr *remote)
{
    return (tenon_u32)local->port << 16 | remote->port;
}

TENON_INTERNAL tenon_u32 tn_tcp_hash(const struct tenon *stack, const struct tenon_addr *local,
                                     const struct tenon_addr *remote)
{
    const tenon_u32 ports = conn_ports(local, remote);
    tenon_u32 words[9];
    unsigned i;

    if (tenon_ip_is_v4(&local->ip)) {
        words[0] = local->ip.w[TENON_IP4_WORD];
        words[1] = remote->ip.w[TENON_IP4_WORD];
        words[2] = ports;
        return tn_hash_place(&stack->table_key, words, 3);
    }
    for (i = 0; i < 4; i++) {
        words[i] = local->ip.w[i];
        words[4 + i] = remote->ip.w[i];
    }
    words[8] = ports;
    return tn_hash_place(&stack->table_key, words, 9);
}

static const struct tenon_ip *conn_remote_ip(struct tn_tcp_ends *ends)
{
    if (tn_tcp_is_record(ends))
        return &TENON_CONTAINER(ends, struct tn_time_wait, ends)->remote.ip;
    return tn_tcp_remote_ip(tn_tcp_of(ends));
}

TENON_INTERNAL struct tn_tcp_ends *tn_tcp_find_hash(struct tenon *stack, const struct tenon_addr *local,
                                                    const struct tenon_addr *remote, tenon_u32 hash)
{
    const tenon_u32 ports = conn_ports(local, remote);
    struct tn_hnode *node;

    for (node = tn_htab_chain(&stack->tcp.conns, hash); node != NULL; node = node->next) {
        struct tn_tcp_ends *ends = TENON_CONTAINER(node, struct tn_tcp_ends, node);

        if ((!TENON_WITH_MANY || node->hash == hash) && node->word == ports &&
            tenon_ip_equal(&ends->local, &local->ip) && tenon_ip_equal(conn_remote_ip(ends), &remote->ip))
            return ends;
    }
    return NULL;
}

TENON_INTERNAL struct tn_tcp_ends *tn_tcp_find(struct tenon *stack, const struct tenon_addr *local,
                                               const struct tenon_addr *remote)
{
    return tn_tcp_find_hash(stack, local, remote, tn_tcp_hash(stack, local, remote));
}

TENON_INTERNAL_HOT void tn_tcp_make_ready(struct tenon_tcp *conn)
{
    struct tn_tcp_state *tcp = &conn->stack->tcp;

    if (conn->flags & TN_TCP_F_READY)
        return;
    conn->flags |= TN_TCP_F_READY;
    if (TN_FAST && tcp->serving == conn)
        return;
    conn->next = NULL;
    *tcp->ready_last = conn;
    tcp->ready_last = &conn->next;
}

/* ---- memory that comes and goes with every connection ------------------------------------------------ */

TENON_INTERNAL void *tn_spare_get(struct tenon *stack, struct tn_spare *spare, size_t bytes)
{
    struct tn_spare_piece *piece = spare->first;

    if (!TENON_WITH_SPEED)
        return tn_mem_get_clear(stack, bytes);
    if (piece == NULL)
        return tn_mem_get(stack, bytes);
    spare->first = piece->next;
    spare->n--;
    return piece;
}

TENON_INTERNAL void tn_spare_put(struct tenon *stack, struct tn_spare *spare, void *mem, size_t bytes)
{
    struct tn_spare_piece *piece = (struct tn_spare_piece *)mem;

    if (!TENON_WITH_SPEED || spare->n >= stack->conf.tcp_resting_max) {
        tn_mem_put(stack, mem, bytes);
        return;
    }
    piece->next = spare->first;
    spare->first = piece;
    spare->n++;
}

static void conn_free_spares(struct tenon *stack, struct tn_spare *spare, size_t bytes)
{
    while (spare->n > 0)
        tn_mem_put(stack, tn_spare_get(stack, spare, bytes), bytes);
}

/* ---- beginning -------------------------------------------------------------------------------------- */

/* With its block, in which the handshake is. @return NULL: no memory, or over the limit */
static struct tenon_tcp *conn_make(struct tenon *stack)
{
    struct tenon_tcp *conn = NULL;

    if (stack->tcp.nconns < stack->conf.tcp_conns_max)
        conn = (struct tenon_tcp *)tn_spare_get(stack, &stack->tcp.spare_conns, TN_TCP_CONN_BYTES);
    if (conn == NULL)
        return NULL;
    if (TENON_WITH_SPEED)
        tn_clear(conn, TN_TCP_CONN_BYTES);
    conn->stack = stack;
    if (TENON_WITH_RECOVERY)    /* else nobody asks: tn_cc_ops() */
        conn->cc.ops = tn_cc_is_simple(stack->conf.tcp_cc) ? stack->conf.tcp_cc : &tenon_cc_newreno;
    conn->progress_ms = stack->now_ms;
    if (!TENON_WITH_MANY) {
        tn_flight_init(conn, &TENON_CONTAINER(conn, struct tn_tcp_whole, conn)->flight);
        return conn;
    }
    if (tn_flight_get(conn) != NULL)
        return conn;
    tn_spare_put(stack, &stack->tcp.spare_conns, conn, TN_TCP_CONN_BYTES);
    return NULL;
}

TENON_INTERNAL struct tenon_tcp *tn_tcp_new(struct tenon *stack, struct tn_tcp_opts *opts)
{
    struct tenon_tcp *conn = conn_make(stack);

    if (conn == NULL && tn_tcp_evict_waiting(stack))
        conn = conn_make(stack);
    if (conn == NULL) {
        tn_count(stack, TENON_STAT_TCP_LIMIT);
        return NULL;
    }
    conn->opts = opts;
    opts->refs++;
    conn->ends.id = stack->tcp.next_id++;
    conn->timer.kind = TN_TIMER_TCP;
    tn_why_begin(conn);
    if (!(TENON_WITH_RECOVERY && conn->cc.ops == stack->conf.tcp_cc) &&
        tn_tcp_cc_change(conn, stack->conf.tcp_cc) != TENON_OK)
        tn_count(stack, TENON_STAT_TCP_CC_FALLBACK);
    if (TENON_WITH_FLIGHT)
        conn->cc.ssthresh = TN_CC_NO_SSTHRESH;
    if (TENON_WITH_RECOVERY)
        conn->min_rtt_us = 0xFFFFFFFFUL;
    conn->last_rcv_ms = stack->now_ms;
    conn->last_text_ms = stack->now_ms;
    stack->tcp.nconns++;
    return conn;
}

TENON_INTERNAL int tn_tcp_attach(struct tenon_tcp *conn, const struct tenon_addr *local,
                                 const struct tenon_addr *remote)
{
    struct tenon *stack = conn->stack;
    struct tn_tcp_ends *ends = &conn->ends;
    const int error = tn_path_get(stack, &conn->path, &remote->ip, remote->netif);

    if (error != TENON_OK) {
        tn_count(stack, TENON_STAT_NO_ROUTE);
        return error;
    }
    ends->local = TENON_WITH_CONNECT && tenon_ip_is_any(&local->ip) ? conn->path->src : local->ip;
    if (TENON_WITH_NETIFS)
        ends->local_netif = (tenon_u8)(local->netif != 0 ? local->netif : conn->path->netif);
    if (TENON_WITH_IPV6)
        ends->is_v4 = (tenon_u8)tenon_ip_is_v4(&ends->local);
    ends->node.word = conn_ports(local, remote);
    return TENON_OK;
}

TENON_INTERNAL void tn_tcp_local(const struct tenon_tcp *conn, struct tenon_addr *local)
{
    local->ip = conn->ends.local;
    local->port = tn_tcp_local_port(conn);
    local->netif = (tenon_u16)tn_tcp_local_netif(conn);
}

TENON_INTERNAL void tn_tcp_remote(const struct tenon_tcp *conn, struct tenon_addr *remote)
{
    remote->ip = *tn_tcp_remote_ip(conn);
    remote->port = tn_tcp_remote_port(conn);
    remote->netif = conn->path->scope;
}

TENON_INTERNAL tenon_u8 tn_tcp_wscale_for(tenon_u32 rcv_buf)
{
    tenon_u8 shift = 0;

    while (shift < 14 && 65535UL << shift < rcv_buf)
        shift++;
    return shift;
}

TENON_INTERNAL void tn_tcp_offer(struct tenon_tcp *conn)
{
    tenon_u32 flags = conn->flags;

    if (TENON_WITH_SCALE && tn_tcp_opt(conn, TENON_TCP_TIMESTAMPS))
        flags |= TN_TCP_F_TIMESTAMPS;
    if (TENON_WITH_SACK && tn_tcp_opt(conn, TENON_TCP_SACK))
        flags |= TN_TCP_F_SACK;
    if (TENON_WITH_SCALE && tn_tcp_opt(conn, TENON_TCP_WINDOW_SCALING)) {
        flags |= TN_TCP_F_WSCALE;
        conn->rcv_wscale = tn_tcp_wscale_for(tn_tcp_opt(conn, TENON_TCP_RCV_BUF));
    }
    conn->flags = flags;
}

/* IP header + TCP header without options. */
static tenon_u32 conn_header_bytes(int is_v4)
{
    return (tenon_u32)(is_v4 ? 20 : 40) + TN_TCP_BYTES;
}

/* RFC 9293 3.7.1 (MUST-67): what fits our interface, whatever path the packets come on, and what it takes: MMS_R.
 * Options are not subtracted (RFC 6691 2). */
TENON_INTERNAL tenon_u16 tn_tcp_mss_for(const struct tn_netif *netif, int is_v4, tenon_u32 limit)
{
    tenon_u32 packet = netif->conf.mtu, mss;

    if (!is_v4 && netif->ip6_mtu != 0)
        packet = netif->ip6_mtu;
    if (netif->conf.mru != 0)
        packet = tn_min(packet, netif->conf.mru);
    mss = packet - conn_header_bytes(is_v4);
    if (limit != 0)
        mss = tn_min(mss, limit);
    return (tenon_u16)mss;
}

TENON_INTERNAL tenon_u16 tn_tcp_offered_mss(const struct tenon_tcp *conn)
{
    return tn_tcp_mss_for(tn_netif_of(&conn->stack->link, conn->path->netif), tn_tcp_is_v4(conn),
                          tn_tcp_opt(conn, TENON_TCP_MSS_MAX));
}

/* RFC 9293 3.7.1 (MUST-16): Eff.snd.MSS, with the timestamp option subtracted. */
TENON_INTERNAL void tn_tcp_update_mss(struct tenon_tcp *conn)
{
    const tenon_u32 limit = tn_tcp_opt(conn, TENON_TCP_MSS_MAX);
    const tenon_u32 options = tn_tcp_has_timestamps(conn) ? 12 : 0;
    const tenon_u32 mtu = tn_path_mtu(conn->stack, conn->path);
    const int is_v4 = tn_tcp_is_v4(conn);
    tenon_u32 mss = tn_min(conn->peer_mss, mtu - conn_header_bytes(is_v4));

    if (limit != 0)
        mss = tn_min(mss, limit);
    tn_tcp_timer_know(conn);    /* what is in flight may be more than one segment from now on */
    conn->mss = (tenon_u16)(mss - options);
    /* RFC 5681 3.1: no window is less than a segment. Before the handshake is over there is none. */
    if (TENON_WITH_FLIGHT && conn->cc.cwnd != 0)
        conn->cc.cwnd = tn_max(conn->cc.cwnd, conn->mss);
    if (conn->path_mtu != mtu)
        tn_tcp_trace(conn, TENON_TRACE_MTU, NULL, mtu);
    conn->path_mtu = (tenon_u16)mtu;
}

TENON_INTERNAL void tn_tcp_set_state(struct tenon_tcp *conn, enum tenon_tcp_state state)
{
    const tenon_u8 before = conn->state;

    tn_fast_change(conn);
    conn->state = (tenon_u8)state;
    tn_tcp_trace(conn, TENON_TRACE_STATE, NULL, before);
}

TENON_INTERNAL void tn_tcp_begin_sending(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;

    tn_mtu_open(conn);
    /* Who has answered a SYN knows it already, unless the path has changed. */
    if (TENON_SMALL || !tn_tcp_is_answering(conn) || tn_path_mtu(conn->stack, conn->path) != conn->path_mtu)
        tn_tcp_update_mss(conn);
    if (!TENON_WITH_FLIGHT)
        return;
    tn_tcp_cc_event(conn, &event);
    event.repeated = (tenon_u8)(conn->backoff > 1);    /* RFC 6928 2: more than one lost SYN */
    tn_cc_ops(conn)->init(&conn->cc, &event);
    if (!TENON_WITH_RECOVERY)
        return;
    tn_pace_update(conn);
    tn_cc_told(conn);    /* so far it knows everything */
    conn->flight->paced_cwnd = conn->cc.cwnd;
}

TENON_INTERNAL void tn_tcp_established(struct tenon_tcp *conn)
{
    const int was_early = tn_fastopen_is_early(conn);

    tn_tcp_leave_backlog(conn);
    tn_tcp_orphan_enter(conn);
    if (TENON_WITH_ORPHANS && conn->state == TENON_TCP_CLOSED)
        return;    /* who has heard of the end of another orphan has ended this one too */
    tn_tcp_disarm_rtx(conn);
    if (!was_early)
        tn_tcp_begin_sending(conn);
    if (conn->backoff > 0 && conn->srtt8 == 0)
        conn->flight->rto_us = tn_max(conn->flight->rto_us, 3000000UL);    /* RFC 6298 5.7 */
    conn->backoff = 0;
    conn->progress_ms = conn->stack->now_ms;
    if (TENON_WITH_FLIGHT)
        conn->flight->recover = conn->flight->iss;
    tn_count(conn->stack, TENON_STAT_TCP_ESTABLISHED);
    tn_tcp_set_state(conn, TENON_TCP_ESTABLISHED);
    tn_tcp_arm_keepalive(conn);
    tn_tcp_make_ready(conn);
    if (!was_early && conn->events->opened != NULL)
        conn->events->opened(conn, conn->app);
}

/* ---- ending -------------------------------------------------------------------------------------------- */

static void conn_release(struct tenon_tcp *conn)
{
    struct tenon *stack = conn->stack;

    tn_flight_free(conn);
    tn_tcp_cc_free(conn);
    tn_past_free(conn);
    if (conn->path != NULL)
        tn_path_put(stack, conn->path);
    conn->path = NULL;
    tn_tcp_opts_put(stack, conn->opts);
    conn->opts = NULL;
}

/* The struct stays until no handler can hold it any more: tn_tcp_reap(). */
static void conn_bury(struct tenon_tcp *conn)
{
    if (conn->flags & TN_TCP_F_READY)
        return;    /* tn_tcp_run() takes it from the ready list */
    conn->next = conn->stack->tcp.dead;
    conn->stack->tcp.dead = conn;
}

static int conn_in_table(const struct tenon_tcp *conn)
{
    return conn->state != TENON_TCP_CLOSED;
}

TENON_INTERNAL int tn_tcp_app_knows(const struct tenon_tcp *conn)
{
    const struct tenon_tcp_listener *listener =
        TENON_WITH_LISTEN && tn_tcp_has_block(conn) ? conn->flight->listener : NULL;

    return listener == NULL || listener->events->incoming != NULL || tn_fastopen_is_early(conn);
}

TENON_INTERNAL void tn_tcp_soft_error(struct tenon_tcp *conn, int error)
{
    if (tn_tcp_app_knows(conn) && conn->events->soft_error != NULL)
        conn->events->soft_error(conn, conn->app, error);
}

/* That somebody was heard of at an address which is not ours says nothing of it any more. */
static void conn_leave_foreign(struct tenon_tcp *conn)
{
    conn->stack->tcp.transparent--;
    if (TENON_WITH_SPEED && conn->path != NULL)
        conn->path->heard_netif = 0;
}

TENON_INTERNAL void tn_tcp_end(struct tenon_tcp *conn, int why)
{
    struct tenon *stack = conn->stack;
    const int tell = why != TN_TCP_QUIETLY && tn_tcp_app_knows(conn);

    if (conn_in_table(conn)) {
        tn_fast_forget(conn);
        tn_htab_remove(&stack->tcp.conns, &conn->ends.node);
    }
    tn_timer_stop(&stack->wheel, &conn->timer);
    tn_tcp_leave_backlog(conn);
    tn_tcp_orphan_leave(conn);
    if (tn_tcp_is_foreign(conn))
        conn_leave_foreign(conn);
    if (conn->state != TENON_TCP_CLOSED)
        tn_tcp_set_state(conn, TENON_TCP_CLOSED);
    tn_count(stack, TENON_STAT_TCP_CLOSED);
    if (tell && conn->events != NULL && conn->events->closed != NULL)
        conn->events->closed(conn, conn->app, why);
    conn_release(conn);
    conn_bury(conn);
    stack->tcp.nconns--;
}

TENON_ONCE_IF_SMALL TENON_INTERNAL void tn_tcp_reap(struct tenon *stack)
{
    if (stack->depth != 0)
        return;
    while (stack->tcp.dead != NULL) {
        struct tenon_tcp *conn = stack->tcp.dead;

        stack->tcp.dead = conn->next;
        tn_spare_put(stack, &stack->tcp.spare_conns, conn, TN_TCP_CONN_BYTES);
    }
}

/* ---- running ---------------------------------------------------------------------------------------------- */

static struct tenon_tcp *conn_next_ready(struct tn_tcp_state *tcp)
{
    struct tenon_tcp *conn = tcp->ready_first;

    tcp->ready_first = conn->next;
    if (tcp->ready_first == NULL)
        tcp->ready_last = &tcp->ready_first;
    conn->flags &= ~(tenon_u32)TN_TCP_F_READY;
    return conn;
}

TENON_INTERNAL void tn_tcp_run(struct tenon *stack)
{
    while (stack->tcp.ready_first != NULL) {
        struct tenon_tcp *conn;

        if (tn_tx_room(stack) == 0) {
            tn_tx_flush(stack);
            if (tn_tx_room(stack) == 0)
                return;
        }
        conn = conn_next_ready(&stack->tcp);
        if (conn->state == TENON_TCP_CLOSED)
            conn_bury(conn);
        else if (!tn_tcp_output(conn))
            tn_tcp_make_ready(conn);
        else if (conn->snd_una == conn->snd_nxt)
            tn_flight_rest(conn);
    }
}

static size_t conn_port_counters_bytes(const struct tenon *stack)
{
    return stack->conf.tcp_port_counters * sizeof(tenon_u16);
}

/* @return 0: no memory */
static int conn_init_port_counters(struct tenon *stack)
{
    const size_t bytes = conn_port_counters_bytes(stack);

    stack->tcp.port_counters = (tenon_u16 *)tn_mem_get_clear(stack, bytes);
    return stack->tcp.port_counters != NULL;
}

TENON_INTERNAL int tn_tcp_init(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;

    tn_htab_init(&tcp->conns, stack->ops->mem_get, stack->ops->mem_put, stack->host);
    tcp->ready_last = &tcp->ready_first;
    if (TENON_WITH_WAITS)
        tcp->tw_last = &tcp->tw_first;
    if (TENON_WITH_ORPHANS)
        tcp->orphan_last = &tcp->orphan_first;
    if (TENON_WITH_MANY)
        tcp->rest_last = &tcp->rest_first;
    tcp->rst_tokens = stack->conf.tcp_rsts_per_s;
    if (TN_FAST && !TENON_SMALL)    /* without an RTT sample it is longer than any delayed ACK may be */
        tcp->rtx_least = tn_ticks_of_us(tn_min(tn_min(stack->conf.tcp_rto_min_us, stack->conf.tcp_rto_initial_us),
                                               stack->conf.tcp_peer_delack_us));
    tcp->defaults = tn_tcp_opts_new(stack);
    if (tcp->defaults == NULL)
        return TENON_ENOMEM;
    if (TENON_WITH_MANY && !conn_init_port_counters(stack)) {
        tn_tcp_opts_put(stack, tcp->defaults);
        return TENON_ENOMEM;
    }
    tn_fast_init(stack);
    return TENON_OK;
}

/* Every connection in the table, and every record of TIME-WAIT: a handler that hears of the end of one may end others,
 * which leave records behind. It opens none any more: the limit is 0 by now. */
static void conn_end_all(struct tenon *stack)
{
    tenon_u32 i;

    for (i = 0; i < stack->tcp.conns.buckets; i++) {
        struct tn_hnode *node;

        while ((node = tn_htab_bucket(&stack->tcp.conns, i)) != NULL) {
            struct tn_tcp_ends *ends = TENON_CONTAINER(node, struct tn_tcp_ends, node);

            if (tn_tcp_is_record(ends))
                tn_time_wait_end(stack, TENON_CONTAINER(ends, struct tn_time_wait, ends));
            else
                tn_tcp_end(tn_tcp_of(ends), TENON_EABORTED);
        }
    }
}

TENON_INTERNAL void tn_tcp_fini(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;

    stack->conf.tcp_conns_max = 0;
    conn_end_all(stack);
    while (tcp->ready_first != NULL)
        conn_bury(conn_next_ready(tcp));
    while (tcp->listeners != NULL)
        tenon_tcp_listener_close(tcp->listeners);
    tn_tcp_reap(stack);
    tn_fast_fini(stack);
    tn_fastopen_fini(stack);
    conn_free_spares(stack, &tcp->spare_flights, TN_FLIGHT_BYTES);
    conn_free_spares(stack, &tcp->spare_conns, TN_TCP_CONN_BYTES);
    conn_free_spares(stack, &tcp->spare_waits, sizeof(struct tn_time_wait));
    tn_tcp_opts_put(stack, tcp->defaults);
    if (TENON_WITH_MANY)
        tn_mem_put(stack, tcp->port_counters, conn_port_counters_bytes(stack));
    tn_htab_fini(&tcp->conns);
}

TENON_API void tenon_tcp_each(struct tenon *stack, void (*each)(struct tenon_tcp *conn, void *arg), void *arg)
{
    tenon_u32 i;

    for (i = 0; i < stack->tcp.conns.buckets; i++) {
        struct tn_hnode *node;

        for (node = tn_htab_bucket(&stack->tcp.conns, i); node != NULL; node = node->next) {
            struct tn_tcp_ends *ends = TENON_CONTAINER(node, struct tn_tcp_ends, node);

            if (!tn_tcp_is_record(ends) && !tn_tcp_waits(tn_tcp_of(ends)))
                each(tn_tcp_of(ends), arg);
        }
    }
}
