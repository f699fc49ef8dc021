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

/* The numbers of an event that is about a range and not about a segment. */
static void trace_range(const struct tenon_tcp *conn, struct tenon_trace_event *event, const struct tn_seg *seg)
{
    if (event->kind == TENON_TRACE_ACKED) {
        event->seq = conn->snd_una;
    } else if (event->kind == TENON_TRACE_SACKED) {
        const unsigned i = (unsigned)event->arg;

        event->seq = seg->options.sack_left[i];
        event->len = seg->options.sack_right[i] - seg->options.sack_left[i];
    }
}

TENON_INTERNAL void tn_tcp_trace_event(struct tenon_tcp *conn, enum tenon_trace_kind kind, const struct tn_seg *seg,
                                       tenon_u32 arg)
{
    struct tenon *stack = conn->stack;
    struct tenon_trace_event event;

    memset(&event, 0, sizeof(event));
    event.conn = conn->id;
    event.now_us = stack->now_us;
    event.kind = (tenon_u8)kind;
    event.state = conn->state;
    event.arg = arg;
    if (seg != NULL) {
        trace_segment(&event, seg);
        trace_range(conn, &event, seg);
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
    event.rto_us = conn->rto_us;
    event.mss = conn->mss;
    event.local = conn->ends.local;
    event.remote = conn->ends.remote;
    stack->conf.trace(stack->host, &event);
}

TENON_API const char *tenon_trace_name(enum tenon_trace_kind kind)
{
    static const char *const names[] = {"state", "sent",  "received", "acked", "sacked", "recovery",
                                        "rto",   "probe", "dropped",  "wait"};

    return (size_t)kind < TENON_ARRAY_LEN(names) ? names[kind] : NULL;
}
