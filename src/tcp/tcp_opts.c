/* SPDX-License-Identifier: MIT */
/* Options of connections and listeners. They lie in blocks that are shared, and copied when somebody who
 * shares one changes a value: a million connections with the same options have one block. The two copies that were
 * made last are known, so that those who all make the same changes, one by one, share what comes of it too. */
#include "tcp/tcp_internal.h"

TENON_INTERNAL struct tn_tcp_opts *tn_tcp_opts_new(struct tenon *stack)
{
    struct tn_tcp_opts *opts = (struct tn_tcp_opts *)tn_mem_get_clear(stack, sizeof(*opts));

    if (opts == NULL)
        return NULL;
    opts->refs = 1;
    if (TENON_WITH_WATCH) {
        opts->values[TENON_TCP_KEEPALIVE_INTERVAL_S] = 75;
        opts->values[TENON_TCP_KEEPALIVE_COUNT] = 9;
    }
    if (TENON_WITH_RECOVERY) {
        opts->values[TENON_TCP_ECN] = 2;
        opts->values[TENON_TCP_PACING] = 1;
    }
    if (TENON_WITH_PATH_MTU)
        opts->values[TENON_TCP_MTU_PROBING] = 1;
    if (TENON_WITH_SCALE) {
        opts->values[TENON_TCP_TIMESTAMPS] = 1;
        opts->values[TENON_TCP_WINDOW_SCALING] = 1;
    }
    if (TENON_WITH_SACK)
        opts->values[TENON_TCP_SACK] = 1;
    opts->values[TENON_TCP_R2_MS] = 800000UL;    /* RFC 9293 SHLD-11 asks for 100 s and more */
    opts->values[TENON_TCP_RCV_BUF] = stack->conf.tcp_rcv_buf;
    opts->values[TENON_TCP_SND_BUF] = stack->conf.tcp_snd_buf;
    opts->values[TENON_TCP_MSL_MS] = stack->conf.tcp_msl_ms;
    return opts;
}

TENON_INTERNAL void tn_tcp_opts_put(struct tenon *stack, struct tn_tcp_opts *opts)
{
    TENON_ASSERT(opts->refs > 0);
    if (--opts->refs != 0)
        return;
    if (TENON_WITH_MANY && stack->tcp.opts_last[0] == opts)
        stack->tcp.opts_last[0] = NULL;
    if (TENON_WITH_MANY && stack->tcp.opts_last[1] == opts)
        stack->tcp.opts_last[1] = NULL;
    tn_mem_put(stack, opts, sizeof(*opts));
}

/* Something that this build does not have. */
static int opts_is_lacking(enum tenon_tcp_option option)
{
    if (option == TENON_TCP_TRANSPARENT)
        return !TENON_WITH_ROUTES;
    return !TENON_WITH_HOLD && (option == TENON_TCP_ACK_BY_HAND || option == TENON_TCP_HOLD_FIN);
}

static int opts_value_is_possible(enum tenon_tcp_option option, tenon_u32 value)
{
    if (opts_is_lacking(option) && value != 0)
        return 0;
    if (!TENON_WITH_CHECKS)
        return option < TENON_TCP_OPTION_COUNT;
    switch (option) {
    case TENON_TCP_NODELAY:
    case TENON_TCP_CORK:
    case TENON_TCP_NO_DELAYED_ACK:
    case TENON_TCP_TIMESTAMPS:
    case TENON_TCP_SACK:
    case TENON_TCP_ACK_BY_HAND:
    case TENON_TCP_HOLD_FIN:
    case TENON_TCP_TRANSPARENT:
    case TENON_TCP_PACING:
    case TENON_TCP_FASTOPEN:
    case TENON_TCP_WINDOW_SCALING: return value <= 1;
    case TENON_TCP_MTU_PROBING:
    case TENON_TCP_ECN: return value <= 2;
    /* The idle time and 255 intervals are less than 2^32 ms. */
    case TENON_TCP_KEEPALIVE_INTERVAL_S: return value >= 1 && value <= 10000;
    case TENON_TCP_KEEPALIVE_IDLE_S: return value <= 1000000UL;
    case TENON_TCP_KEEPALIVE_COUNT: return value >= 1 && value <= 255;
    case TENON_TCP_PERSIST_MS:
    case TENON_TCP_R2_MS: return value <= 0x3FFFFFFFUL;
    case TENON_TCP_RCV_BUF:
    case TENON_TCP_SND_BUF: return value >= 512 && value <= 0x3FFFC000UL;
    case TENON_TCP_MSS_MAX: return value == 0 || (value >= 88 && value <= 65495UL);
    case TENON_TCP_TTL: return value >= 1 && value <= 255;
    case TENON_TCP_TOS: return value <= 255 && (value & 3) == 0;
    case TENON_TCP_MSL_MS: return value <= 600000UL;
    default: return 0;
    }
}

static void opts_replace(struct tenon *stack, struct tn_tcp_opts **opts, struct tn_tcp_opts *by)
{
    tn_tcp_opts_put(stack, *opts);
    *opts = by;
}

/* Whether `other` is `opts` with that value. */
static int opts_differ_so(const struct tn_tcp_opts *opts, const struct tn_tcp_opts *other,
                          enum tenon_tcp_option option, tenon_u32 value)
{
    unsigned i;

    if (other == NULL || other->values[option] != value)
        return 0;
    for (i = 0; i < TENON_TCP_OPTION_COUNT; i++)
        if (i != (unsigned)option && other->values[i] != opts->values[i])
            return 0;
    return 1;
}

/* @return 1: somebody has made the same changes, and his block has replaced *opts */
static int opts_share(struct tenon *stack, struct tn_tcp_opts **opts, enum tenon_tcp_option option, tenon_u32 value)
{
    unsigned i;

    for (i = 0; TENON_WITH_MANY && i < TENON_ARRAY_LEN(stack->tcp.opts_last); i++) {
        struct tn_tcp_opts *last = stack->tcp.opts_last[i];

        if (!opts_differ_so(*opts, last, option, value))
            continue;
        last->refs++;
        opts_replace(stack, opts, last);
        return 1;
    }
    return 0;
}

/* A block of one's own to write into: *opts if nobody shares it, else a copy that replaces it. */
static int opts_own(struct tenon *stack, struct tn_tcp_opts **opts)
{
    struct tn_tcp_opts *copy;

    if ((*opts)->refs == 1)
        return TENON_OK;
    copy = (struct tn_tcp_opts *)tn_mem_get(stack, sizeof(*copy));
    if (copy == NULL)
        return TENON_ENOMEM;
    *copy = **opts;
    copy->refs = 1;
    if (TENON_WITH_MANY && stack->tcp.opts_last[0] != NULL)
        stack->tcp.opts_last[1] = stack->tcp.opts_last[0];
    if (TENON_WITH_MANY)
        stack->tcp.opts_last[0] = copy;
    opts_replace(stack, opts, copy);
    return TENON_OK;
}

static int opts_set(struct tenon *stack, struct tn_tcp_opts **opts, enum tenon_tcp_option option, tenon_u32 value)
{
    int error;

    if (!opts_value_is_possible(option, value))
        return TENON_EINVAL;
    if ((*opts)->values[option] == value)
        return TENON_OK;
    if (opts_share(stack, opts, option, value))
        return TENON_OK;
    error = opts_own(stack, opts);
    if (error != TENON_OK)
        return error;
    (*opts)->values[option] = value;
    return TENON_OK;
}

/* Our SYN has not left yet. */
static int opts_syn_waits(const struct tenon_tcp *conn)
{
    return tn_tcp_is_calling(conn) && (conn->flags & TN_TCP_F_SYN_QUEUED) && conn->backoff == 0;
}

/* What was settled by the handshake cannot be changed after it. */
static int opts_is_settled(const struct tenon_tcp *conn, enum tenon_tcp_option option)
{
    const int syn_held = conn->state == TENON_TCP_SYN_RECEIVED && (conn->flags & TN_TCP_F_SYN_QUEUED);

    if (option == TENON_TCP_TRANSPARENT)
        return 1;
    if (option != TENON_TCP_TIMESTAMPS && option != TENON_TCP_SACK && option != TENON_TCP_ECN &&
        option != TENON_TCP_WINDOW_SCALING && option != TENON_TCP_FASTOPEN)
        return 0;
    return !opts_syn_waits(conn) && !syn_held;
}

/* Before the SYN has left, an option that it carries can still be withdrawn. */
static void opts_withdraw(struct tenon_tcp *conn)
{
    if (!tn_tcp_opt(conn, TENON_TCP_TIMESTAMPS))
        conn->flags &= ~(tenon_u32)TN_TCP_F_TIMESTAMPS;
    if (!tn_tcp_opt(conn, TENON_TCP_SACK))
        conn->flags &= ~(tenon_u32)TN_TCP_F_SACK;
    if (TENON_WITH_RECOVERY && !tn_tcp_opt(conn, TENON_TCP_ECN))
        conn->ecn &= (tenon_u8)~TN_ECN_ON;
    if (!tn_tcp_opt(conn, TENON_TCP_WINDOW_SCALING)) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_WSCALE;
        conn->rcv_wscale = 0;
        conn->snd_wscale = 0;
    }
    if (opts_syn_waits(conn) && (conn->flags & TN_TCP_F_WSCALE))
        conn->rcv_wscale = tn_tcp_wscale_for(tn_tcp_opt(conn, TENON_TCP_RCV_BUF));
}

/* Keep-alives begin with the end of the handshake, and give way to what else the idle timer is for. */
static void opts_watch_anew(struct tenon_tcp *conn)
{
    if (conn->flags & TN_TCP_F_KEEPALIVE)
        tn_tcp_disarm_idle(conn);
    if (conn->state >= TENON_TCP_ESTABLISHED && !(conn->flags & TN_TCP_F_IDLE_ARMED))
        tn_tcp_arm_keepalive(conn);
}

TENON_API int tenon_tcp_set(struct tenon_tcp *conn, enum tenon_tcp_option option, tenon_u32 value)
{
    int error;

    if (conn->state == TENON_TCP_CLOSED || opts_is_settled(conn, option) || !opts_value_is_possible(option, value))
        return TENON_EINVAL;
    /* Less than two units of the scale that was said would be a window that is closed for ever. */
    if (option == TENON_TCP_RCV_BUF && !opts_syn_waits(conn))
        value = tn_max(value, (tenon_u32)2 << conn->rcv_wscale);
    error = opts_set(conn->stack, &conn->opts, option, value);
    if (error != TENON_OK)
        return error;
    tn_fast_end(conn);
    if (TENON_WITH_RECOVERY && conn->flight != NULL) {
        conn->flight->header.tcp_bytes = 0;
        conn->flight->told_ms = conn->stack->now_ms - 1;    /* the next ACK makes the pacing rate anew */
    }
    opts_withdraw(conn);
    if (option == TENON_TCP_KEEPALIVE_IDLE_S)
        opts_watch_anew(conn);
    if ((option == TENON_TCP_MSS_MAX || option == TENON_TCP_TIMESTAMPS) && conn->peer_mss != 0)
        tn_tcp_update_mss(conn);
    tn_tcp_make_ready(conn);
    if (TENON_WITH_SPEED && option == TENON_TCP_RCV_BUF)    /* else a closed window opens with the peer's next probe */
        tenon_tcp_consumed(conn, 0);
    /* Nobody is left to release what is held: the peer would repeat it for ever. */
    if (option == TENON_TCP_ACK_BY_HAND && value == 0 && tn_tcp_rcv_held(conn) > 0)
        tenon_tcp_ack(conn, tn_tcp_rcv_held(conn));
    if (option == TENON_TCP_HOLD_FIN && value == 0 && (conn->flags & TN_TCP_F_FIN_HELD))
        (void)tenon_tcp_ack_fin(conn);
    return TENON_OK;
}

TENON_API int tenon_tcp_listener_set(struct tenon_tcp_listener *listener, enum tenon_tcp_option option,
                                     tenon_u32 value)
{
    const tenon_u32 before = listener->opts->values[TENON_TCP_TRANSPARENT];
    const int error = opts_set(listener->stack, &listener->opts, option, value);

    if (TENON_WITH_ROUTES && error == TENON_OK && option == TENON_TCP_TRANSPARENT)
        listener->stack->tcp.transparent += value - before;
    return error;
}

TENON_INTERNAL tenon_u32 tn_tcp_ttl(const struct tenon_tcp *conn)
{
    const struct tn_netif *netif;

    if (tn_tcp_opt(conn, TENON_TCP_TTL) != 0)
        return tn_tcp_opt(conn, TENON_TCP_TTL);
    netif = tn_tcp_is_v4(conn) ? NULL : tn_netif_at(conn->stack, conn->path->netif);
    return netif != NULL && netif->hop_limit != 0 ? netif->hop_limit : conn->stack->conf.hop_limit;
}

TENON_API tenon_u32 tenon_tcp_get(const struct tenon_tcp *conn, enum tenon_tcp_option option)
{
    if (conn->opts == NULL || (unsigned)option >= (unsigned)TENON_TCP_OPTION_COUNT)
        return 0;
    return option == TENON_TCP_TTL ? tn_tcp_ttl(conn) : conn->opts->values[option];
}
