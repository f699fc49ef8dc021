/* SPDX-License-Identifier: MIT */
/* Why a connection does not send, and for how long in total. Sending itself takes no time here: between two runs of
 * tn_tcp_output() a connection waits for exactly one thing, so that the totals add up to its life. A total that runs
 * is kept less the time at which it began to: nothing moves until the reason changes.
 *
 *   why_ms, why_us      of the reason that holds: total - time of its beginning; of the others: the total
 *
 * Time is now_ms and the microseconds since that moved; both parts carry, as the digits of one number.
 *
 * Most connections only ever wait for the end of the handshake and then for data. Of these it is enough to know when
 * they began and how long the handshake took (union tn_life); the totals are made when there is a third reason. Where
 * there is no memory for them, the time counts as that for data. */
#include "tcp/tcp_internal.h"

enum { WHY_US_PER_MS = 1000 };

#define WHY_BRIEF_MS 4000000UL             /* a longer handshake is no brief one */
#define WHY_STILL_OPENING 0xFFFFFFFFUL     /* tn_life.brief.handshake_us: it goes on */

/* An instant, or a time that has passed. */
struct why_time {
    tenon_u32 ms;
    tenon_u16 us;
};

static struct why_time why_now(const struct tenon *stack)
{
    struct why_time now;

    now.ms = stack->now_ms;
    now.us = (tenon_u16)(stack->now_us - stack->ms_us);
    return now;
}

/* Both modulo 2^32 ms. */
static void why_add(tenon_u32 *ms, tenon_u16 *us, const struct why_time *time)
{
    const unsigned sum = (unsigned)*us + time->us;

    *ms += time->ms + (sum >= WHY_US_PER_MS ? 1 : 0);
    *us = (tenon_u16)(sum >= WHY_US_PER_MS ? sum - WHY_US_PER_MS : sum);
}

static void why_subtract(tenon_u32 *ms, tenon_u16 *us, const struct why_time *time)
{
    const int borrows = *us < time->us;

    *ms -= time->ms + (borrows ? 1 : 0);
    *us = (tenon_u16)(borrows ? *us + WHY_US_PER_MS - time->us : *us - time->us);
}

/* ---- in brief ----------------------------------------------------------------------------------------------- */

static struct why_time why_life(const struct tenon_tcp *conn)
{
    struct why_time life = why_now(conn->stack), begin;

    begin.ms = conn->life.brief.begin_ms;
    begin.us = conn->begin_us;
    why_subtract(&life.ms, &life.us, &begin);
    return life;
}

static struct why_time why_handshake(const struct tenon_tcp *conn)
{
    const tenon_u32 us = conn->life.brief.handshake_us;
    struct why_time time;

    if (us == WHY_STILL_OPENING)
        return why_life(conn);
    time.ms = us / WHY_US_PER_MS;
    time.us = (tenon_u16)(us % WHY_US_PER_MS);
    return time;
}

/* Both totals up to now. */
static void why_write_out(const struct tenon_tcp *conn, tenon_u32 *ms, tenon_u16 *us)
{
    const struct why_time life = why_life(conn), handshake = why_handshake(conn);

    ms[TENON_TCP_WAIT_HANDSHAKE] = handshake.ms;
    us[TENON_TCP_WAIT_HANDSHAKE] = handshake.us;
    ms[TENON_TCP_WAIT_DATA] = life.ms;
    us[TENON_TCP_WAIT_DATA] = life.us;
    why_subtract(&ms[TENON_TCP_WAIT_DATA], &us[TENON_TCP_WAIT_DATA], &handshake);
}

/* If that was the handshake, it is over. @return 0: there is more to tell than that it was, and what came then */
static int why_brief_change(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    const struct why_time life = why_life(conn);

    if (conn->life.brief.handshake_us != WHY_STILL_OPENING)
        return 0;
    if (life.ms >= WHY_BRIEF_MS && tn_past_get(conn) != NULL)
        return 0;
    conn->life.brief.handshake_us = tn_min(life.ms, WHY_BRIEF_MS) * WHY_US_PER_MS + life.us;
    return wait == TENON_TCP_WAIT_DATA;
}

/* ---- in full ------------------------------------------------------------------------------------------------ */

static void why_start(struct tenon_tcp *conn, struct tn_past *past, enum tenon_tcp_wait wait)
{
    const struct why_time now = why_now(conn->stack);

    conn->why = (tenon_u8)wait;
    why_subtract(&past->why_ms[wait], &past->why_us[wait], &now);
}

static void why_stop(const struct tenon_tcp *conn, tenon_u32 *ms, tenon_u16 *us)
{
    const struct why_time now = why_now(conn->stack);

    why_add(&ms[conn->why], &us[conn->why], &now);
}

TENON_INTERNAL struct tn_past *tn_past_get(struct tenon_tcp *conn)
{
    struct tn_past *past = tn_past_of(conn);

    if (past != NULL)
        return past;
    past = (struct tn_past *)tn_mem_get_clear(conn->stack, sizeof(*past));
    if (past == NULL)
        return NULL;
    tn_told_begin(&past->told, conn->stack->now_ms);
    why_write_out(conn, past->why_ms, past->why_us);
    conn->life.past = past;
    conn->begin_us = TN_LIFE_HAS_PAST;
    why_start(conn, past, (enum tenon_tcp_wait)conn->why);
    return past;
}

TENON_INTERNAL void tn_past_free(struct tenon_tcp *conn)
{
    struct tn_past *past = tn_past_of(conn);

    if (past == NULL)
        return;
    conn->begin_us = 0;
    tn_mem_put(conn->stack, past, sizeof(*past));
}

TENON_INTERNAL void tn_past_retransmit(struct tenon_tcp *conn)
{
    struct tn_past *past = TENON_WITH_STATS ? tn_past_get(conn) : NULL;

    if (past != NULL)
        past->retransmits++;
}

TENON_INTERNAL void tn_past_rto(struct tenon_tcp *conn)
{
    struct tn_past *past = TENON_WITH_STATS ? tn_past_get(conn) : NULL;

    if (past != NULL)
        past->rtos++;
}

TENON_INTERNAL void tn_why_begin(struct tenon_tcp *conn)
{
    const struct why_time now = why_now(conn->stack);

    if (!TENON_WITH_STATS) {
        tn_told_begin(&conn->life.told, conn->stack->now_ms);
        return;
    }
    conn->life.brief.begin_ms = now.ms;
    conn->life.brief.handshake_us = WHY_STILL_OPENING;
    conn->begin_us = now.us;
    conn->why = TENON_TCP_WAIT_HANDSHAKE;
}

TENON_INTERNAL void tn_why_change(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    struct tn_past *past = tn_past_of(conn);

    if (past == NULL && !why_brief_change(conn, wait))
        past = tn_past_get(conn);
    if (past != NULL) {
        why_stop(conn, past->why_ms, past->why_us);
        why_start(conn, past, wait);
    }
    conn->why = (tenon_u8)wait;
    tn_tcp_trace(conn, TENON_TRACE_WAIT, NULL, (tenon_u32)wait);
}

/* Something is lost, and not on its way again. */
static int why_has_gap(const struct tenon_tcp *conn)
{
    if (!TENON_WITH_FLIGHT)
        return (conn->flags & TN_TCP_F_FORCE_RTX) != 0;
    return conn->recovery != TN_RECOVERY_NONE && conn->flight != NULL && conn->flight->frto != TN_FRTO_NEW &&
           tn_seq_lt(conn->flight->rtx_nxt, conn->flight->lost_edge);
}

/* Of a gap that could not be filled, the congestion window is the reason, but where the peer has shrunk its window or
 * there is no memory for a record. */
TENON_INTERNAL int tn_why_nothing_new(struct tenon_tcp *conn)
{
    enum tenon_tcp_wait wait = TENON_TCP_WAIT_DATA;

    if (!TENON_WITH_STATS)
        return 0;
    if (TENON_UNLIKELY(why_has_gap(conn))) {
        wait = TENON_TCP_WAIT_CWND;
        if (TENON_WITH_FLIGHT && conn->flight->rtx_nxt != conn->snd_una &&
            !tn_seq_between(conn->snd_una, conn->flight->rtx_nxt, conn->snd_una + conn->snd_wnd_max))
            wait = TENON_TCP_WAIT_WINDOW;
        else if (!tn_flight_has_room(conn))
            wait = TENON_TCP_WAIT_HOST;
    }
    return tn_why(conn, wait);
}

TENON_INTERNAL int tn_why_nothing_fits(struct tenon_tcp *conn, tenon_u32 unsent, tenon_u32 window,
                                       tenon_u32 cwnd_room)
{
    if (!TENON_WITH_STATS)
        return 0;
    if (window > 0 && unsent <= tn_min(window, cwnd_room))
        return tn_why(conn, TENON_TCP_WAIT_NAGLE);
    return tn_why(conn, window <= cwnd_room ? TENON_TCP_WAIT_WINDOW : TENON_TCP_WAIT_CWND);
}

TENON_INTERNAL int tn_why_if_any(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    const int any = conn->state <= TENON_TCP_SYN_RECEIVED || tn_tcp_has_new_data(conn) || why_has_gap(conn);

    if (!TENON_WITH_STATS)
        return 0;
    return tn_why(conn, any ? wait : TENON_TCP_WAIT_DATA);
}

/* ---- told to others -------------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_why_status(const struct tenon_tcp *conn, struct tenon_tcp_info *info)
{
    const struct tn_past *past = tn_past_of(conn);

    if (!TENON_WITH_STATS)
        return;
    info->waits_for = (enum tenon_tcp_wait)conn->why;
    if (past == NULL) {
        why_write_out(conn, info->waited_ms, info->waited_us);
        return;
    }
    memcpy(info->waited_ms, past->why_ms, sizeof(info->waited_ms));
    memcpy(info->waited_us, past->why_us, sizeof(info->waited_us));
    why_stop(conn, info->waited_ms, info->waited_us);
}

TENON_INTERNAL const char *tn_why_check(const struct tenon_tcp *conn)
{
    const struct tn_past *past = tn_past_of(conn);
    const int waits = conn->why != TENON_TCP_WAIT_DATA;
    unsigned i;

    if (!TENON_WITH_STATS)
        return NULL;
    if (conn->why >= TENON_TCP_WAIT_COUNT)
        return "it waits for something that does not exist";
    for (i = 0; past != NULL && i < TENON_TCP_WAIT_COUNT; i++)
        if (past->why_us[i] >= WHY_US_PER_MS)
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
