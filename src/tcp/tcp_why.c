/* SPDX-License-Identifier: MIT */
/* Why a connection does not send, and for how long in total. Sending itself takes no time here: between two runs of
 * tn_tcp_output() a connection waits for exactly one thing, so that the totals add up to its life. A total that runs
 * is kept less the time at which it began to: nothing moves until the reason changes.
 *
 *   why_ms, why_us      of the reason that holds: total - time of its beginning; of the others: the total
 *
 * Time is now_ms and the microseconds since that moved; both parts carry, as the digits of one number. */
#include "tcp/tcp_internal.h"

enum { WHY_US_PER_MS = 1000 };

static unsigned why_part_us(const struct tenon *stack)
{
    return (unsigned)(stack->now_us - stack->ms_us);
}

/* Total + now, modulo 2^32 ms. */
static void why_add_now(const struct tenon *stack, tenon_u32 *ms, tenon_u16 *us)
{
    const unsigned sum = *us + why_part_us(stack);

    *ms += stack->now_ms + (sum >= WHY_US_PER_MS ? 1 : 0);
    *us = (tenon_u16)(sum >= WHY_US_PER_MS ? sum - WHY_US_PER_MS : sum);
}

static void why_start(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    const unsigned part = why_part_us(conn->stack);
    tenon_u16 *us = &conn->why_us[wait];

    conn->why = (tenon_u8)wait;
    conn->why_ms[wait] -= conn->stack->now_ms + (*us < part ? 1 : 0);
    *us = (tenon_u16)(*us < part ? *us + WHY_US_PER_MS - part : *us - part);
}

TENON_INTERNAL void tn_why_begin(struct tenon_tcp *conn)
{
    why_start(conn, TENON_TCP_WAIT_HANDSHAKE);
}

TENON_INTERNAL void tn_why_change(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    why_add_now(conn->stack, &conn->why_ms[conn->why], &conn->why_us[conn->why]);
    why_start(conn, wait);
    tn_tcp_trace(conn, TENON_TRACE_WAIT, NULL, (tenon_u32)wait);
}

/* Something is lost, and not on its way again. */
static int why_has_gap(const struct tenon_tcp *conn)
{
    return conn->recovery != TN_RECOVERY_NONE && conn->flight != NULL && conn->flight->frto != TN_FRTO_NEW &&
           tn_seq_lt(conn->rtx_nxt, conn->lost_edge);
}

/* Of a gap that could not be filled, the congestion window is the reason, but where the peer has shrunk its window or
 * there is no memory for a record. */
TENON_INTERNAL int tn_why_nothing_new(struct tenon_tcp *conn)
{
    enum tenon_tcp_wait wait = TENON_TCP_WAIT_DATA;

    if (TENON_UNLIKELY(why_has_gap(conn))) {
        wait = TENON_TCP_WAIT_CWND;
        if (conn->rtx_nxt != conn->snd_una &&
            !tn_seq_between(conn->snd_una, conn->rtx_nxt, conn->snd_una + conn->snd_wnd_max))
            wait = TENON_TCP_WAIT_WINDOW;
        else if (!tn_flight_has_room(conn))
            wait = TENON_TCP_WAIT_HOST;
    }
    return tn_why(conn, wait);
}

TENON_INTERNAL int tn_why_nothing_fits(struct tenon_tcp *conn, tenon_u32 unsent, tenon_u32 window,
                                       tenon_u32 cwnd_room)
{
    if (window > 0 && unsent <= tn_min(window, cwnd_room))
        return tn_why(conn, TENON_TCP_WAIT_NAGLE);
    return tn_why(conn, window <= cwnd_room ? TENON_TCP_WAIT_WINDOW : TENON_TCP_WAIT_CWND);
}

TENON_INTERNAL int tn_why_if_any(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    const int any = conn->state <= TENON_TCP_SYN_RECEIVED || tn_tcp_has_new_data(conn) || why_has_gap(conn);

    return tn_why(conn, any ? wait : TENON_TCP_WAIT_DATA);
}

/* ---- told to others -------------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_why_status(const struct tenon_tcp *conn, struct tenon_tcp_info *info)
{
    info->waits_for = (enum tenon_tcp_wait)conn->why;
    memcpy(info->waited_ms, conn->why_ms, sizeof(info->waited_ms));
    memcpy(info->waited_us, conn->why_us, sizeof(info->waited_us));
    why_add_now(conn->stack, &info->waited_ms[conn->why], &info->waited_us[conn->why]);
}

TENON_INTERNAL const char *tn_why_check(const struct tenon_tcp *conn)
{
    const int waits = conn->why != TENON_TCP_WAIT_DATA;
    unsigned i;

    if (conn->why >= TENON_TCP_WAIT_COUNT)
        return "it waits for something that does not exist";
    for (i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        if (conn->why_us[i] >= WHY_US_PER_MS)
            return "a total has too many microseconds";
    if ((conn->flags & TN_TCP_F_READY) || conn->state <= TENON_TCP_SYN_RECEIVED)
        return NULL;
    if (!waits && tn_tcp_has_new_data(conn))
        return "data waits, and nothing says why";
    if (waits && !tn_tcp_has_new_data(conn) && conn->recovery == TN_RECOVERY_NONE)
        return "there is nothing to send, and something says that it waits";
    return NULL;
}

TENON_API const char *tenon_tcp_wait_name(enum tenon_tcp_wait wait)
{
    static const char *const names[] = {"handshake", "data", "window", "cwnd", "pacing", "nagle", "port", "host"};

    return (size_t)wait < TENON_ARRAY_LEN(names) ? names[wait] : "?";
}
