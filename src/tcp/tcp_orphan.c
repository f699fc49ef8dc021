/* SPDX-License-Identifier: MIT */
/* Connections that hold memory because their peer does not take what it is sent. An orphan was closed by the
 * application and still has something to say; nobody but us can end it (CVE-2008-4609, CVE-2009-1926). Orphans
 * are limited in number, the oldest gives way, and in the time that they may stand still. */
#include "tcp/tcp_internal.h"

static void orphan_unlink(struct tenon_tcp *conn)
{
    struct tn_tcp_state *tcp = &conn->stack->tcp;

    *conn->flight->queue_prev = conn->flight->queue_next;
    if (conn->flight->queue_next != NULL)
        conn->flight->queue_next->flight->queue_prev = conn->flight->queue_prev;
    else
        tcp->orphan_last = conn->flight->queue_prev;
    tcp->norphans--;
}

TENON_INTERNAL void tn_tcp_orphan_leave(struct tenon_tcp *conn)
{
    if (!TENON_WITH_ORPHANS || !(conn->flags & TN_TCP_F_ORPHAN))
        return;
    conn->flags &= ~(tenon_u32)TN_TCP_F_ORPHAN;
    orphan_unlink(conn);
}

/* Nobody waits for it: the peer is told, and the application, if it still listens to its events. */
static void orphan_end(struct tenon_tcp *conn, enum tenon_stat stat)
{
    tn_count(conn->stack, stat);
    if (conn->state >= TENON_TCP_SYN_RECEIVED)
        tn_tcp_send_reset(conn);
    tn_tcp_end(conn, TENON_ETIMEOUT);
}

TENON_INTERNAL void tn_tcp_orphan_enter(struct tenon_tcp *conn)
{
    struct tenon *stack = conn->stack;
    struct tn_tcp_state *tcp = &stack->tcp;

    if (!TENON_WITH_ORPHANS)
        return;
    /* One that is half-open is in its listener's queue; it comes here when it is established. */
    if (!(conn->flags & TN_TCP_F_NO_READER) || (conn->flags & (TN_TCP_F_ORPHAN | TN_TCP_F_PASSIVE_COUNTED)))
        return;
    if (!tn_tcp_needs_block(conn))
        return;    /* the place in the queue is there; what has a FIN to send comes again */
    conn->flags |= TN_TCP_F_ORPHAN;
    conn->flight->queue_next = NULL;
    conn->flight->queue_prev = tcp->orphan_last;
    *tcp->orphan_last = conn;
    tcp->orphan_last = &conn->flight->queue_next;
    tcp->norphans++;
    if (tcp->norphans > stack->conf.tcp_orphans_max)
        orphan_end(tcp->orphan_first, TENON_STAT_TCP_ORPHAN_EVICTED);
}

enum { ORPHAN_LOOKS = 8 };
#define ORPHAN_SILENCE_MS 100000UL    /* what RFC 9293 3.8.3 asks of R2 at least */

/* What has been sent is not answered, and nothing else was heard. */
static int orphan_is_alone(const struct tenon_tcp *conn)
{
    return (conn->flags & TN_TCP_F_R1_TOLD) && conn->stack->now_ms - conn->last_rcv_ms >= ORPHAN_SILENCE_MS;
}

/* Only those that are the oldest are looked at: who sends SYNs is not to cost more than that. */
TENON_INTERNAL int tn_tcp_evict_orphan(struct tenon *stack)
{
    struct tenon_tcp *conn = TENON_WITH_ORPHANS ? stack->tcp.orphan_first : NULL;
    unsigned looks;

    for (looks = 0; conn != NULL && looks < ORPHAN_LOOKS; looks++, conn = conn->flight->queue_next) {
        if (!orphan_is_alone(conn))
            continue;
        orphan_end(conn, TENON_STAT_TCP_ORPHAN_EVICTED);
        tn_tcp_reap(stack);
        return 1;
    }
    return 0;
}

/* ---- standing still ------------------------------------------------------------------------------------ */

/* RFC 6429 4: a closed window is no reason to end a connection, having no memory for others is. */
static tenon_u32 orphan_patience_ms(const struct tenon_tcp *conn)
{
    const tenon_u32 wish = tn_tcp_opt(conn, TENON_TCP_PERSIST_MS);

    if (!(conn->flags & TN_TCP_F_NO_READER))
        return wish;
    return wish == 0 ? conn->stack->conf.tcp_orphan_ms : tn_min(wish, conn->stack->conf.tcp_orphan_ms);
}

TENON_INTERNAL int tn_tcp_stalled(struct tenon_tcp *conn)
{
    const tenon_u32 patience_ms = orphan_patience_ms(conn), now_ms = conn->stack->now_ms;
    /* Nobody waits for what has no way, link or buffer to leave by: that has R2. */
    const int orphan_waits = (conn->flags & TN_TCP_F_NO_READER) != 0 && (conn->flags & TN_TCP_F_PERSIST) != 0;
    const int waits = conn->snd_wnd == 0 || orphan_waits;
    tenon_u32 for_ms;

    if (!TENON_WITH_ORPHANS || !tn_tcp_has_block(conn))
        return 0;
    if (conn->snd_wnd != 0 && !(conn->flags & (TN_TCP_F_STALLED | TN_TCP_F_PERSIST)))
        return 0;    /* since when it does not stand still is known: R2 counts from there */
    for_ms = now_ms - conn->flight->stalled_ms;
    /* Something was taken since then: it stands still anew, and what was before does not count. */
    if (!waits || !(conn->flags & TN_TCP_F_STALLED) || now_ms - conn->progress_ms <= for_ms) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_STALLED;
        if (waits)
            conn->flags |= TN_TCP_F_STALLED;
        conn->flight->stalled_ms = now_ms;
        return 0;
    }
    if (conn->snd_wnd != 0 || patience_ms == 0 || for_ms < patience_ms)
        return 0;
    orphan_end(conn, TENON_STAT_TCP_STALLED);
    return 1;
}
