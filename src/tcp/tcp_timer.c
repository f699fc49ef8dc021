/* SPDX-License-Identifier: MIT */
/* The timers of a connection. It has four deadlines and one timer in the wheel, which runs for the earliest
 * of them; a deadline that moves to a later time does not touch the wheel.
 *
 *   rtx    armed while something is in flight: retransmission (RFC 6298), or before it a tail loss probe or the
 *          end of the reordering window (RFC 8985); never two of them. With TN_TCP_F_PERSIST, nothing is in
 *          flight and the window is closed or too small: probes (RFC 9293 3.8.6.1), or the override of
 *          silly-window avoidance (3.8.6.2.1)
 *   pace   pacing lets the next packet leave
 *   ack    the delayed acknowledgement (RFC 9293 3.8.6.3)
 *   idle   keep-alive (RFC 9293 3.8.4), or the end of FIN-WAIT-2 without a reader */
#include "tcp/tcp_internal.h"

static void timer_schedule(struct tenon_tcp *conn, tenon_u32 when)
{
    if (tn_timer_runs(&conn->timer) && tn_seq_le(conn->timer.when, when))
        return;
    tn_timer_start(&conn->stack->wheel, &conn->timer, when);
}

/* RFC 6298 5.5 */
static tenon_u32 timer_backed_off(const struct tenon_tcp *conn)
{
    const tenon_u32 max = conn->stack->conf.tcp_rto_max_us;
    tenon_u32 rto = tn_tcp_rto_us(conn);
    unsigned i;

    for (i = 0; i < conn->backoff && rto < max; i++)
        rto *= 2;
    return tn_min(rto, max);
}

/* Without a block there was no memory for one, and nothing but that is waited for: any time will do. */
static tenon_u32 timer_rtx_when(struct tenon_tcp *conn)
{
    tn_tcp_timer_know(conn);
    return tn_tcp_has_block(conn) ? conn->flight->rtx_when : conn->stack->wheel.now;
}

static void timer_set_rtx(struct tenon_tcp *conn, enum tn_rtx_timer kind, tenon_u32 when)
{
    conn->flight->rtx_timer = (tenon_u8)kind;
    conn->flight->rtx_when = when;
    timer_schedule(conn, when);
}

TENON_INTERNAL void tn_tcp_arm_rtx(struct tenon_tcp *conn)
{
    const tenon_u32 when = tn_tick_after_us(conn->stack, timer_backed_off(conn));
    struct tn_flight *flight = conn->flight;

    conn->flags |= TN_TCP_F_RTX_ARMED;
    if (tn_tcp_has_block(conn))
        flight->rtx_when = when;
    if (TENON_WITH_RECOVERY && flight != NULL) {    /* else there are no others */
        flight->rto_when = when;
        flight->rtx_timer = TN_RTX_RTO;
    }
    timer_schedule(conn, when);
}

/* A round trip was measured while the timer runs. Where a queue fills within one round trip and overflows,
 * the RTO is of before that, and over before the first retransmission could be acknowledged: the timer was to
 * expire after RTO, as it is known to be now (RFC 6298 5.3). The caller chooses the timer anew. */
TENON_INTERNAL void tn_tcp_stretch_rto(struct tenon_tcp *conn)
{
    const tenon_u32 since_ms = conn->stack->now_ms - conn->progress_ms;
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_RECOVERY || conn->backoff > 0 || since_ms >= flight->rto_us / 1000)
        return;
    tn_tcp_timer_know(conn);
    flight->rto_when =
        tn_seq_max(flight->rto_when, tn_tick_after_us(conn->stack, flight->rto_us - since_ms * 1000));
}

TENON_INTERNAL void tn_tcp_choose_timer(struct tenon_tcp *conn)
{
    enum tn_rtx_timer kind = TN_RTX_TLP;
    tenon_u32 us, when;

    if (!TENON_WITH_RECOVERY || !(conn->flags & TN_TCP_F_RTX_ARMED) || (conn->flags & TN_TCP_F_PERSIST) ||
        conn->flight == NULL)
        return;
    if (conn->state == TENON_TCP_SYN_RECEIVED)
        return;    /* Fast Open: the timer is the SYN-ACK's */
    tn_tcp_timer_know(conn);
    us = tn_tlp_timeout(conn);
    if (conn->flight->reo_wait_us != 0) {
        us = conn->flight->reo_wait_us;
        kind = TN_RTX_REORDER;
    }
    when = tn_tick_after_us(conn->stack, us);
    if (kind == TN_RTX_TLP)
        when = tn_seq_min(when, conn->flight->rto_when);    /* a probe goes before every first timeout (7.2) */
    if (us == 0 || tn_seq_lt(conn->flight->rto_when, when))
        timer_set_rtx(conn, TN_RTX_RTO, conn->flight->rto_when);
    else
        timer_set_rtx(conn, kind, when);
}

/* Of a segment that left at the tick `since`; rto_when is known. A probe goes before every first timeout (RFC 8985
 * 7.2). */
TENON_HOT void timer_set_usual(struct tenon_tcp *conn, tenon_u32 since)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 us = tn_tlp_usual_timeout(conn);

    flight->rtx_timer = (tenon_u8)(us != 0 ? TN_RTX_TLP : TN_RTX_RTO);
    flight->rtx_when = flight->rto_when;
    if (us != 0)
        flight->rtx_when = tn_seq_min(since + tn_ticks_of_us(us), flight->rto_when);
}

/* As tn_tcp_arm_rtx() and tn_tcp_choose_timer(), where nothing is lost and nothing was backed off. */
TENON_INTERNAL_HOT void tn_tcp_arm_usual(struct tenon_tcp *conn, int restart)
{
    const struct tenon *stack = conn->stack;
    struct tn_flight *flight = conn->flight;

    if (restart)
        flight->rto_when = tn_tick_after_us(stack, tn_min(flight->rto_us, stack->conf.tcp_rto_max_us));
    else
        tn_tcp_timer_know(conn);
    conn->flags |= TN_TCP_F_RTX_ARMED;
    timer_set_usual(conn, stack->now_tick);
    timer_schedule(conn, flight->rtx_when);
}

/* An answer comes before any of the deadlines, mostly: while the timer runs for an earlier time than they could be, it
 * is enough to know since when. */
TENON_INTERNAL_HOT void tn_tcp_arm_alone(struct tenon_tcp *conn)
{
    const struct tenon *stack = conn->stack;
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now = stack->now_tick;

    if (TENON_UNLIKELY((conn->flags & TN_TCP_F_RTX_ARMED) || !tn_timer_runs(&conn->timer) ||
                       tn_seq_lt(now + stack->tcp.rtx_least, conn->timer.when))) {
        tn_tcp_arm_usual(conn, !(conn->flags & TN_TCP_F_RTX_ARMED));    /* RFC 6298 5.1 */
        return;
    }
    conn->flags |= TN_TCP_F_RTX_ARMED;
    flight->rtx_timer = TN_RTX_LATER;
    flight->rtx_when = now;
}

/* Since then no round trip has been measured: what ends one ends the timer. */
TENON_INTERNAL void tn_tcp_timer_find(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 since = flight->rtx_when;

    flight->rto_when = since + tn_ticks_of_us(tn_min(flight->rto_us, conn->stack->conf.tcp_rto_max_us));
    timer_set_usual(conn, since);
}

TENON_INTERNAL void tn_tcp_arm_pace(struct tenon_tcp *conn, tenon_u32 us)
{
    conn->flags |= TN_TCP_F_PACE_ARMED;
    conn->flight->pace_when = tn_tick_after_us(conn->stack, us);
    timer_schedule(conn, conn->flight->pace_when);
}

TENON_INTERNAL void tn_tcp_disarm_rtx(struct tenon_tcp *conn)
{
    conn->flags &= ~(tenon_u32)(TN_TCP_F_RTX_ARMED | TN_TCP_F_PERSIST);
}

TENON_INTERNAL_HOT void tn_tcp_arm_delack(struct tenon_tcp *conn)
{
    if (conn->flags & TN_TCP_F_ACK_ARMED)
        return;
    conn->flags |= TN_TCP_F_ACK_ARMED;
    conn->ack_when = tn_tick_after_us(conn->stack, conn->stack->conf.tcp_delack_us);
    timer_schedule(conn, conn->ack_when);
}

TENON_INTERNAL void tn_tcp_disarm_delack(struct tenon_tcp *conn)
{
    conn->flags &= ~(tenon_u32)TN_TCP_F_ACK_ARMED;
}

/* Three days: what is further away would seem to have passed, since ticks go round in six. Keep-alives look
 * then how much is left; without them nothing waits so long. */
#define TIMER_FAR_MS 0x0FFFFFFFUL

TENON_INTERNAL void tn_tcp_arm_idle_ms(struct tenon_tcp *conn, tenon_u32 ms)
{
    conn->flags |= TN_TCP_F_IDLE_ARMED;
    conn->idle_when = tn_tick_after_ms(conn->stack, TENON_WITH_WATCH ? tn_min(ms, TIMER_FAR_MS) : ms);
    timer_schedule(conn, conn->idle_when);
}

enum { TIMER_FIN_WAIT_2_S = 60 };

TENON_INTERNAL void tn_tcp_arm_fin_wait(struct tenon_tcp *conn)
{
    if (!(conn->flags & TN_TCP_F_NO_READER))
        return;
    if (conn->state != TENON_TCP_FIN_WAIT_2 && !(TENON_WITH_HOLD && tn_tcp_holds(conn) && tn_tcp_fin_acked(conn)))
        return;
    if (TENON_WITH_WATCH)
        tn_tcp_disarm_idle(conn);    /* a peer that answers keep-alives would keep it for ever */
    tn_tcp_arm_idle_ms(conn, TIMER_FIN_WAIT_2_S * 1000UL);
}

TENON_INTERNAL void tn_tcp_disarm_idle(struct tenon_tcp *conn)
{
    conn->flags &= ~(tenon_u32)(TN_TCP_F_IDLE_ARMED | TN_TCP_F_KEEPALIVE);
}

TENON_INTERNAL void tn_tcp_arm_keepalive(struct tenon_tcp *conn)
{
    const tenon_u32 idle_s = tn_tcp_opt(conn, TENON_TCP_KEEPALIVE_IDLE_S);

    if (!TENON_WITH_WATCH || idle_s == 0)
        return;
    conn->flags |= TN_TCP_F_KEEPALIVE;
    tn_tcp_arm_idle_ms(conn, idle_s * 1000);
}

/* ---- retransmission ------------------------------------------------------------------------------------------ */

static void timer_give_up(struct tenon_tcp *conn)
{
    tn_count(conn->stack, TENON_STAT_TCP_TIMEOUT);
    tn_tcp_end(conn, TENON_ETIMEOUT);
}

/* RFC 9293 3.8.3: R2 is over, measured from the last progress. MUST-22, MUST-23: a SYN is repeated for three
 * minutes at least, unless the application says otherwise. A closed window is probed as long as the peer
 * answers (MUST-37), whether or not it was shrunk to nothing over data in flight; when it has opened again, what was in
 * flight has R2 from there on. Times may lie too far apart to be compared: what has passed since then is. */
TENON_ONCE_IF_SMALL static int timer_r2_is_over(struct tenon_tcp *conn)
{
    const struct tenon *stack = conn->stack;
    const tenon_u32 now_ms = stack->now_ms;
    tenon_u32 r2_ms = tn_tcp_opt(conn, TENON_TCP_R2_MS), for_ms = now_ms - conn->progress_ms;

    if (conn->state <= TENON_TCP_SYN_RECEIVED) {
        if (r2_ms == stack->tcp.defaults->values[TENON_TCP_R2_MS])
            r2_ms = 180000UL;
    } else {
        if (conn->snd_wnd == 0 || (conn->flags & (TN_TCP_F_PERSIST | TN_TCP_F_STALLED))) {
            for_ms = tn_min(for_ms, now_ms - conn->last_rcv_ms);
            if (!TENON_WITH_ORPHANS)
                conn->progress_ms = now_ms - for_ms;    /* else stalled_ms says it */
        }
        /* Silence before the first probe is no lack of answers, and without a block there was none. */
        if (TENON_WITH_ORPHANS)
            for_ms = tn_tcp_has_block(conn) ? tn_min(for_ms, now_ms - conn->flight->stalled_ms) : 0;
    }
    return r2_ms != 0 && for_ms >= r2_ms;
}

/* RFC 9293 3.8.3: at R1 the network layer is asked to look for another way, and the application is told
 * (SHLD-9). */
static void timer_r1(struct tenon_tcp *conn)
{
    if (conn->backoff < 3 || (conn->flags & TN_TCP_F_R1_TOLD))
        return;
    conn->flags |= TN_TCP_F_R1_TOLD;
    tn_path_doubt(conn->stack, conn->path);
    tn_tcp_soft_error(conn, TENON_ETIMEOUT);
}

static void timer_syn(struct tenon_tcp *conn)
{
    tn_fastopen_unanswered(conn);
    conn->flags |= TN_TCP_F_SYN_QUEUED;
    tn_count(conn->stack, TENON_STAT_TCP_RETRANSMIT);
    tn_past_retransmit(conn);
}

/* Nothing in flight: probe a closed window, or send a small segment after all. */
static void timer_persist(struct tenon_tcp *conn)
{
    if (conn->snd_wnd == 0) {
        tn_tcp_send_probe(conn);
    } else {
        conn->flags |= TN_TCP_F_SWS_OVERRIDE;
        conn->backoff--;    /* nobody was silent: a way is missing here, or a buffer, or a full segment */
    }
    if (conn->snd_una != conn->snd_nxt)
        conn->flags &= ~(tenon_u32)TN_TCP_F_PERSIST;    /* the probe was a FIN: from now on it is retransmitted */
}

static void timer_retransmit(struct tenon_tcp *conn)
{
    tn_mtu_timeout(conn);
    tn_tcp_recovery_on_rto(conn);
}

enum { TIMER_BACKOFF_MAX = 30 };

/* It has gone off for nothing but what it is there for. */
static void timer_expired(struct tenon_tcp *conn)
{
    const int opens = conn->state <= TENON_TCP_SYN_RECEIVED, persists = (conn->flags & TN_TCP_F_PERSIST) != 0;

    if (!opens && persists)
        tn_tcp_orphan_enter(conn);    /* if there was no memory for that before */
    if (conn->state == TENON_TCP_CLOSED || (!opens && persists && tn_tcp_stalled(conn)))
        return;
    if (timer_r2_is_over(conn) || (opens && tn_tcp_half_open_is_over(conn))) {
        timer_give_up(conn);
        return;
    }
    if (!opens && !persists && tn_tcp_stalled(conn))
        return;
    if (!opens && !persists)
        tn_tcp_trace(conn, TENON_TRACE_RTO, NULL, timer_backed_off(conn));
    conn->backoff = (tenon_u8)tn_min(conn->backoff + 1U, TIMER_BACKOFF_MAX);
    if (opens)
        timer_syn(conn);
    else if (persists)
        timer_persist(conn);
    else
        timer_retransmit(conn);
    tn_tcp_arm_rtx(conn);
    tn_tcp_make_ready(conn);
    if (opens || !persists)
        timer_r1(conn);
}

/* RFC 8985 7.3: after a probe, and where none can be sent, the RTO counts. */
static void timer_tlp(struct tenon_tcp *conn)
{
    if (tn_tlp_timeout(conn) != 0 && tn_tcp_send_tlp(conn))
        tn_tcp_arm_rtx(conn);
    else
        timer_set_rtx(conn, TN_RTX_RTO, conn->flight->rto_when);
}

static void timer_reorder(struct tenon_tcp *conn)
{
    tn_tcp_recovery_on_reorder_timer(conn);
    tn_tcp_choose_timer(conn);
    tn_tcp_make_ready(conn);
}

static void timer_rtx(struct tenon_tcp *conn)
{
    if (conn->state <= TENON_TCP_SYN_RECEIVED || (conn->flags & TN_TCP_F_PERSIST))
        timer_expired(conn);
    else if (conn->snd_una == conn->snd_nxt)
        tn_tcp_disarm_rtx(conn);
    else if (TENON_WITH_RECOVERY && conn->flight->rtx_timer == TN_RTX_TLP)
        timer_tlp(conn);
    else if (TENON_WITH_RECOVERY && conn->flight->rtx_timer == TN_RTX_REORDER)
        timer_reorder(conn);
    else
        timer_expired(conn);
}

/* ---- keep-alive ------------------------------------------------------------------------------------------------ */

/* MUST-26: only when nothing is outstanding and nothing was received in the interval. */
static void timer_keepalive(struct tenon_tcp *conn)
{
    const tenon_u32 idle_ms = tn_tcp_opt(conn, TENON_TCP_KEEPALIVE_IDLE_S) * 1000;
    const tenon_u32 interval_ms = tn_tcp_opt(conn, TENON_TCP_KEEPALIVE_INTERVAL_S) * 1000;
    const tenon_u32 quiet_ms = conn->stack->now_ms - conn->last_rcv_ms;
    const tenon_u32 due_ms = idle_ms + conn->keepalives * interval_ms;

    conn->flags |= TN_TCP_F_KEEPALIVE;
    if (conn->snd_una != conn->snd_nxt || quiet_ms + 1 < due_ms) {
        tn_tcp_arm_idle_ms(conn, quiet_ms < due_ms ? due_ms - quiet_ms : idle_ms);
        return;
    }
    if (conn->keepalives >= tn_tcp_opt(conn, TENON_TCP_KEEPALIVE_COUNT)) {
        tn_tcp_send_reset(conn);
        timer_give_up(conn);
        return;
    }
    conn->keepalives++;
    tn_tcp_send_keepalive(conn);
    tn_tcp_arm_idle_ms(conn, tn_min(idle_ms, interval_ms));
}

static void timer_idle(struct tenon_tcp *conn)
{
    const int keepalive = (conn->flags & TN_TCP_F_KEEPALIVE) != 0;

    tn_tcp_disarm_idle(conn);
    if (TENON_WITH_WATCH && keepalive)
        timer_keepalive(conn);
    else if (tn_tcp_waits(conn))
        tn_tcp_end(conn, TN_TCP_QUIETLY);
    else
        timer_give_up(conn);    /* tn_tcp_arm_fin_wait(); the peer will be told by a reset, should it still send */
}

/* ---- from the wheel ------------------------------------------------------------------------------ */

static int timer_is_due(const struct tenon_tcp *conn, enum tn_tcp_flag armed, tenon_u32 when, tenon_u32 now)
{
    return (conn->flags & (tenon_u32)armed) && tn_seq_le(when, now);
}

static void timer_restart(struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (tn_tcp_has_block(conn) && (conn->flags & TN_TCP_F_RTX_ARMED))
        timer_schedule(conn, timer_rtx_when(conn));
    if (TENON_WITH_RECOVERY && flight != NULL && (conn->flags & TN_TCP_F_PACE_ARMED))
        timer_schedule(conn, flight->pace_when);
    if (conn->flags & TN_TCP_F_ACK_ARMED)
        timer_schedule(conn, conn->ack_when);
    if (conn->flags & TN_TCP_F_IDLE_ARMED)
        timer_schedule(conn, conn->idle_when);
}

/* Apart, or small builds count from the timer, which lies behind most of what is asked for. */
TENON_ONCE_IF_SMALL static void timer_fired(struct tenon_tcp *conn)
{
    const tenon_u32 now = conn->stack->wheel.now;

    if (timer_is_due(conn, TN_TCP_F_ACK_ARMED, conn->ack_when, now)) {
        tn_tcp_disarm_delack(conn);
        tn_tcp_ack_now(conn);
    }
    if (TENON_WITH_RECOVERY && (conn->flags & TN_TCP_F_PACE_ARMED) &&
        timer_is_due(conn, TN_TCP_F_PACE_ARMED, conn->flight->pace_when, now)) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_PACE_ARMED;
        tn_tcp_make_ready(conn);
    }
    if (timer_is_due(conn, TN_TCP_F_RTX_ARMED, timer_rtx_when(conn), now)) {
        tn_fast_end(conn);
        timer_rtx(conn);
    }
    if (conn->state != TENON_TCP_CLOSED && timer_is_due(conn, TN_TCP_F_IDLE_ARMED, conn->idle_when, now))
        timer_idle(conn);
    if (conn->state != TENON_TCP_CLOSED)
        timer_restart(conn);
}

TENON_INTERNAL void tn_tcp_timer(struct tenon *stack, struct tn_timer *timer)
{
    (void)stack;
    timer_fired(TENON_CONTAINER(timer, struct tenon_tcp, timer));
}
