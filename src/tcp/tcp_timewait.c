/* SPDX-License-Identifier: MIT */
/* TIME-WAIT (RFC 9293 3.3.2, 3.6.1) in a small record of its own, so that the connection's memory is free
 * again; bounded, the oldest gives way. Without TENON_WITH_WAITS it is the connection itself that waits, of which the
 * application has heard the last. */
#include "tcp/tcp_internal.h"

static void timewait_unlink(struct tenon *stack, struct tn_time_wait *tw)
{
    *tw->prev = tw->next;
    if (tw->next != NULL)
        tw->next->prev = tw->prev;
    else
        stack->tcp.tw_last = tw->prev;
}

static void timewait_link(struct tenon *stack, struct tn_time_wait *tw)
{
    tw->next = NULL;
    tw->prev = stack->tcp.tw_last;
    *stack->tcp.tw_last = tw;
    stack->tcp.tw_last = &tw->next;
}

TENON_INTERNAL void tn_time_wait_end(struct tenon *stack, struct tn_time_wait *tw)
{
    timewait_unlink(stack, tw);
    tn_timer_stop(&stack->wheel, &tw->timer);
    tn_htab_remove(&stack->tcp.conns, &tw->ends.node);
    stack->tcp.ntime_waits--;
    tn_spare_put(stack, &stack->tcp.spare_waits, tw, sizeof(*tw));
}

TENON_INTERNAL void tn_time_wait_timer(struct tenon *stack, struct tn_timer *timer)
{
    tn_time_wait_end(stack, TENON_CONTAINER(timer, struct tn_time_wait, timer));
}

static void timewait_restart(struct tenon *stack, struct tn_time_wait *tw)
{
    tn_timer_start(&stack->wheel, &tw->timer, tn_tick_after_ms(stack, tw->wait_ms));
}

static tenon_u32 timewait_ms(const struct tenon_tcp *conn)
{
    return 2 * tn_tcp_opt(conn, TENON_TCP_MSL_MS);
}

/* ---- in the connection ---------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_wait_anew(struct tenon_tcp *conn)
{
    tn_tcp_arm_idle_ms(conn, timewait_ms(conn));
}

/* What it says from now on is the ACK of a FIN. */
static void timewait_stay(struct tenon_tcp *conn)
{
    const struct tenon_tcp_events *events = conn->events;

    tn_count(conn->stack, TENON_STAT_TCP_TIME_WAIT);
    tn_tcp_set_state(conn, TENON_TCP_TIME_WAIT);
    tn_tcp_orphan_leave(conn);
    tn_tcp_disarm_idle(conn);
    tn_tcp_wait_anew(conn);
    conn->events = NULL;
    if (events->closed != NULL)
        events->closed(conn, conn->app, TENON_OK);
}

/* How many wait. @return the oldest of them, or NULL */
static struct tenon_tcp *timewait_oldest(const struct tenon *stack, tenon_u32 *n)
{
    struct tenon_tcp *oldest = NULL;
    tenon_u32 i;

    *n = 0;
    for (i = 0; i < (TENON_WITH_MANY ? stack->tcp.conns.buckets : (tenon_u32)TN_HTAB_BASE); i++) {
        struct tn_hnode *node;

        for (node = tn_htab_bucket(&stack->tcp.conns, i); node != NULL; node = node->next) {
            struct tenon_tcp *conn = TENON_CONTAINER(node, struct tenon_tcp, ends.node);

            if (!tn_tcp_waits(conn))
                continue;
            *n += 1;
            if (oldest == NULL || tn_seq_lt(conn->idle_when, oldest->idle_when))
                oldest = conn;
        }
    }
    return oldest;
}

TENON_INTERNAL int tn_tcp_evict_waiting(struct tenon *stack)
{
    struct tenon_tcp *conn;
    tenon_u32 n;

    if (TENON_WITH_WAITS)
        return 0;
    conn = timewait_oldest(stack, &n);
    if (conn == NULL)
        return 0;
    tn_count(stack, TENON_STAT_TCP_TIME_WAIT_EVICTED);
    tn_tcp_end(conn, TN_TCP_QUIETLY);
    tn_tcp_reap(stack);
    return 1;
}

/* ---- in a record ----------------------------------------------------------------------------------------- */

/* Without memory for the record the connection ends at once: the peer's retransmitted FIN would then get a
 * reset, which does no harm to what was delivered. */
static void timewait_record(struct tenon_tcp *conn)
{
    struct tenon *stack = conn->stack;
    const tenon_u32 wait_ms = timewait_ms(conn);
    struct tn_time_wait *tw = NULL;

    if (wait_ms > 0 && stack->tcp.ntime_waits >= stack->conf.tcp_time_wait_max) {
        tn_count(stack, TENON_STAT_TCP_TIME_WAIT_EVICTED);
        tn_time_wait_end(stack, stack->tcp.tw_first);
    }
    if (wait_ms > 0)
        tw = (struct tn_time_wait *)tn_spare_get(stack, &stack->tcp.spare_waits, sizeof(*tw));
    tn_count(stack, TENON_STAT_TCP_TIME_WAIT);
    if (tw != NULL) {
        if (TENON_WITH_SPEED)
            tn_clear(tw, sizeof(*tw));
        tw->ends = conn->ends;
        tn_tcp_remote(conn, &tw->remote);
        tw->ends.is_time_wait = 1;
        tw->timer.kind = TN_TIMER_TIME_WAIT;
        tw->snd_nxt = conn->snd_nxt;
        tw->rcv_nxt = conn->rcv_nxt;
        if (TENON_WITH_SCALE) {
            tw->ts_recent = conn->ts_recent;
            tw->ts_offset = conn->ts_offset;
            tw->timestamps = (tenon_u8)tn_tcp_has_timestamps(conn);
        }
        if (TENON_WITH_RECOVERY)
            tw->sack = (tenon_u8)tn_tcp_has_sack(conn);
        tw->wait_ms = wait_ms;
        tw->window = (tenon_u16)tn_min((conn->rcv_adv - conn->rcv_nxt) >> tn_tcp_rcv_wscale(conn), 65535UL);
    }
    tn_tcp_set_state(conn, TENON_TCP_TIME_WAIT);
    /* The FIN that brought us here still wants its ACK. */
    if ((conn->flags & TN_TCP_F_ACK_NOW) && !tn_fast_control(conn, TN_TCP_ACK))
        tn_tcp_send_ack(conn);
    tn_fast_forget(conn);
    conn->state = TENON_TCP_CLOSED;
    if (tw != NULL) {
        tn_htab_replace(&stack->tcp.conns, &conn->ends.node, &tw->ends.node);
        timewait_link(stack, tw);
        timewait_restart(stack, tw);
        stack->tcp.ntime_waits++;
    } else {
        tn_htab_remove(&stack->tcp.conns, &conn->ends.node);
    }
    tn_tcp_end(conn, TENON_OK);
}

TENON_INTERNAL void tn_tcp_enter_time_wait(struct tenon_tcp *conn)
{
    if (TENON_WITH_WAITS)
        timewait_record(conn);
    else
        timewait_stay(conn);
}

static void timewait_local(const struct tn_time_wait *tw, struct tenon_addr *local)
{
    local->ip = tw->ends.local;
    local->port = (tenon_u16)(tw->ends.node.word >> 16);
    local->netif = tw->ends.local_netif;
}

/* What of the segment has come before is reported (RFC 2883 4): the peer learns that it has sent it in vain. */
static void timewait_add_dsack(const struct tn_time_wait *tw, struct tn_tcp_options *options, const struct tn_seg *seg)
{
    if (!TENON_WITH_RECOVERY || !tw->sack || seg->len == 0 || !tn_seq_lt(seg->seq, tw->rcv_nxt))
        return;
    options->nsacks = 1;
    options->sack_left[0] = seg->seq;
    options->sack_right[0] = tn_seq_min(seg->seq + seg->len, tw->rcv_nxt);
}

static void timewait_ack(struct tenon *stack, const struct tn_time_wait *tw, const struct tn_seg *seg)
{
    struct tenon_addr local;
    struct tn_tcp_options options;
    struct tn_bare bare;

    memset(&bare, 0, sizeof(bare));
    timewait_local(tw, &local);
    bare.local = &local;
    bare.remote = &tw->remote;
    bare.tcp.seq = tw->snd_nxt;
    bare.tcp.ack = tw->rcv_nxt;
    bare.tcp.wnd = tw->window;
    bare.tcp.flags = TN_TCP_ACK;
    if (TENON_WITH_SCALE || TENON_WITH_RECOVERY) {
        memset(&options, 0, sizeof(options));
        bare.options = &options;
    }
    if (TENON_WITH_SCALE && tw->timestamps) {
        options.has_timestamp = 1;
        options.ts_val = stack->now_ms + tw->ts_offset;
        options.ts_ecr = tw->ts_recent;
    }
    timewait_add_dsack(tw, &options, seg);
    tn_tcp_send_bare(stack, &bare);
}

/* RFC 6191 2: may this SYN begin a new connection between the same ends? What it says of the time counts if the new one
 * is to have timestamps. */
static int timewait_syn_is_new(const struct tn_time_wait *tw, const struct tenon_tcp_listener *listener,
                               const struct tn_seg *seg)
{
    const int seq_is_new = tn_seq_gt(seg->seq, tw->rcv_nxt);

    if (!TENON_WITH_SCALE || !seg->options.has_timestamp || !listener->opts->values[TENON_TCP_TIMESTAMPS])
        return seq_is_new;
    if (!tw->timestamps)
        return 1;
    if (tn_seq_gt(seg->options.ts_val, tw->ts_recent))
        return 1;
    return seg->options.ts_val == tw->ts_recent && seq_is_new;
}

TENON_INTERNAL int tn_time_wait_input(struct tenon *stack, struct tn_time_wait *tw, struct tn_seg *seg)
{
    if (seg->flags & TN_TCP_RST)
        return 1;    /* RFC 1337: TIME-WAIT is not to be assassinated */
    if ((seg->flags & (TN_TCP_SYN | TN_TCP_ACK)) == TN_TCP_SYN) {
        const struct tenon_tcp_listener *listener;
        struct tenon_addr local;

        timewait_local(tw, &local);
        listener = tn_tcp_find_listener(stack, &local, tn_pkt_is_foreign(seg->pkt));
        if (listener == NULL || !timewait_syn_is_new(tw, listener, seg))
            return 1;
        tn_count(stack, TENON_STAT_TCP_TIME_WAIT_REUSED);
        seg->reused = 1;
        seg->iss_min = tw->snd_nxt + 64001UL;    /* RFC 9293 3.6.1: larger than any number of the old one */
        tn_time_wait_end(stack, tw);
        return 0;
    }
    if (!(seg->flags & TN_TCP_ACK) && !(seg->flags & TN_TCP_FIN))
        return 1;
    if (TENON_WITH_SCALE && tw->timestamps && seg->options.has_timestamp &&
        tn_seq_lt(seg->options.ts_val, tw->ts_recent)) {
        tn_count(stack, TENON_STAT_TCP_PAWS);
        timewait_ack(stack, tw, seg);
        return 1;
    }
    if ((seg->flags & TN_TCP_FIN) && seg->seq + seg->len == tw->rcv_nxt) {
        /* RFC 9293 3.10.7.4: the FIN, repeated, is acknowledged and starts the wait anew. */
        timewait_restart(stack, tw);
        timewait_unlink(stack, tw);
        timewait_link(stack, tw);
        timewait_ack(stack, tw, seg);
        return 1;
    }
    if (seg->len > 0 || seg->seq != tw->rcv_nxt)
        timewait_ack(stack, tw, seg);
    return 1;
}

TENON_API tenon_u32 tenon_tcp_time_waits(const struct tenon *stack)
{
    tenon_u32 n = stack->tcp.ntime_waits;

    if (!TENON_WITH_WAITS)
        (void)timewait_oldest(stack, &n);
    return n;
}
