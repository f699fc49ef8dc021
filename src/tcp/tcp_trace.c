/* SPDX-License-Identifier: MIT */
/* The event trace. */
#include "tcp/tcp_internal.h"

static void trace_segment(struct tenon_trace_event *event, const struct tn_seg *seg)
{
    event->seq = seg->seq;
    event->ack = seg->ack;
    event->len = seg->len;
    event->flags = seg->flags;
}

/* The numbers of an event that is about a SACK block and not about its segment. */
static void trace_block(struct tenon_trace_event *event, const struct tn_seg *seg)
{
    const unsigned i = (unsigned)event->arg;

    if (event->kind != TENON_TRACE_SACKED)
        return;
    event->seq = seg->options.sack_left[i];
    event->len = seg->options.sack_right[i] - seg->options.sack_left[i];
}

TENON_INTERNAL void tn_tcp_trace_event(struct tenon_tcp *conn, enum tenon_trace_kind kind, const struct tn_seg *seg,
                                       tenon_u32 arg)
{
    struct tenon *stack = conn->stack;
    struct tenon_trace_event event;

    if (!TENON_WITH_STATS)
        return;
    memset(&event, 0, sizeof(event));
    event.conn = conn->ends.id;
    event.now_us = stack->now_us;
    event.kind = (tenon_u8)kind;
    event.state = conn->state;
    event.arg = arg;
    if (seg != NULL) {
        trace_segment(&event, seg);
        trace_block(&event, seg);
    }
    event.snd_una = conn->snd_una;
    event.snd_nxt = conn->snd_nxt;
    event.snd_wnd = conn->snd_wnd;
    event.rcv_nxt = conn->rcv_nxt;
    event.rcv_wnd = tn_seq_lt(conn->rcv_nxt, conn->rcv_adv) ? conn->rcv_adv - conn->rcv_nxt : 0;
    event.cwnd = conn->cc.cwnd;
    event.ssthresh = conn->cc.ssthresh;
    event.in_flight = conn->state > TENON_TCP_SYN_RECEIVED ? tn_tcp_in_flight(conn) : 0;
    event.srtt_us = conn->srtt8 >> 3;
    event.rto_us = tn_tcp_rto_us(conn);
    event.mss = conn->mss;
    tn_tcp_local(conn, &event.local);
    tn_tcp_remote(conn, &event.remote);
    stack->conf.trace(stack->host, &event);
}

TENON_INTERNAL void tn_trace_stretch_event(struct tenon_tcp *conn, enum tenon_trace_kind kind,
                                           const tenon_u32 stretch[2], tenon_u32 bytes, tenon_u32 arg)
{
    struct tn_seg seg;

    if (!TENON_WITH_STATS)
        return;
    memset(&seg, 0, sizeof(seg));
    seg.seq = stretch[0];
    seg.ack = stretch[1];
    seg.len = bytes;
    tn_tcp_trace_event(conn, kind, &seg, arg);
}

static enum tenon_trace_phase trace_phase(const struct tenon_tcp *conn)
{
    const struct tenon_cc *cc = &conn->cc;

    if (cc->ops->flags & TENON_CC_OWN_RECOVERY)
        return (enum tenon_trace_phase)cc->words[TENON_CC_PHASE_WORD];
    if (conn->recovery == TN_RECOVERY_FAST)
        return TENON_TRACE_PHASE_RECOVERY;
    if (cc->cwnd >= cc->ssthresh)
        return TENON_TRACE_PHASE_AVOIDANCE;
    if ((cc->ops->flags & TENON_CC_HYSTART) && cc->ssthresh == TN_CC_NO_SSTHRESH)
        return (enum tenon_trace_phase)cc->words[TENON_CC_PHASE_WORD];
    return TENON_TRACE_PHASE_SLOW_START;
}

TENON_INTERNAL void tn_trace_phase_event(struct tenon_tcp *conn)
{
    const enum tenon_trace_phase phase = trace_phase(conn);

    if (!TENON_WITH_STATS)
        return;
    if (conn->flight->phase == (tenon_u8)phase)
        return;
    conn->flight->phase = (tenon_u8)phase;
    tn_tcp_trace_event(conn, TENON_TRACE_PHASE, NULL, (tenon_u32)phase);
}

/* ---- names --------------------------------------------------------------------------------------- */

TENON_API const char *tenon_trace_arg_name(enum tenon_trace_kind kind, tenon_u32 arg)
{
    static const char *const recoveries[] = {"left", "fast", "timeout", "mtu"};
    static const char *const rules[] = {"rack", "reorder", "dupacks", "timeout", "mtu"};
    static const char *const probes[] = {"new", "again", "repaired"};
    static const char *const evidence[] = {"timestamp", "dsack", "frto"};
    static const char *const phases[] = { "none",         "slow_start", "avoidance",  "recovery",
                                          "startup",      "drain",      "probe_down", "probe_cruise",
                                          "probe_refill", "probe_up",   "probe_rtt",  "conservative" };
    static const char *const validations[] = {"kept", "aged", "limited"};
    static const char *const searches[] = {"sent", "passed", "lost", "undecided", "black_hole"};
    static const char *const opens[] = {"asked",  "sent",      "taken",      "refused",
                                        "failed", "delivered", "bad_cookie", "limit"};

    switch (kind) {
    case TENON_TRACE_STATE: return arg <= TENON_TCP_TIME_WAIT ? tenon_tcp_state_name((enum tenon_tcp_state)arg) : NULL;
    case TENON_TRACE_WAIT: return arg < TENON_TCP_WAIT_COUNT ? tenon_tcp_wait_name((enum tenon_tcp_wait)arg) : NULL;
    case TENON_TRACE_RECOVERY: return arg < TENON_ARRAY_LEN(recoveries) ? recoveries[arg] : NULL;
    case TENON_TRACE_LOST: return arg < TENON_ARRAY_LEN(rules) ? rules[arg] : NULL;
    case TENON_TRACE_TLP: return arg < TENON_ARRAY_LEN(probes) ? probes[arg] : NULL;
    case TENON_TRACE_UNDO: return arg < TENON_ARRAY_LEN(evidence) ? evidence[arg] : NULL;
    case TENON_TRACE_PHASE: return arg < TENON_ARRAY_LEN(phases) ? phases[arg] : NULL;
    case TENON_TRACE_CWV: return arg < TENON_ARRAY_LEN(validations) ? validations[arg] : NULL;
    case TENON_TRACE_SEARCH: return arg < TENON_ARRAY_LEN(searches) ? searches[arg] : NULL;
    case TENON_TRACE_FASTOPEN: return arg < TENON_ARRAY_LEN(opens) ? opens[arg] : NULL;
    default: return NULL;
    }
}

TENON_API const char *tenon_trace_name(enum tenon_trace_kind kind)
{
    static const char *const names[] = {"state", "sent",  "received", "acked", "sacked", "recovery",
                                        "rto",   "probe", "dropped",  "wait",  "lost",   "tlp",
                                        "dsack", "undo",  "ecn",      "idle",  "mtu",    "phase",
                                        "alpha", "cwv",   "search",   "fastopen"};

    return (size_t)kind < TENON_ARRAY_LEN(names) ? names[kind] : NULL;
}
