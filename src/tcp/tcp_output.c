/* SPDX-License-Identifier: MIT */
/* What leaves, and when. Decisions first (output_next), then one function that builds whatever was decided.
 * Everything goes through here but answers without a connection (tcp_reset.c). */
#include "base/bytes.h"
#include "tcp/tcp_internal.h"

enum { OUTPUT_SPANS = TENON_WITH_QUEUE ? 32 : TN_SENDQ_FEW };
/* Segments that are no SYN may have some. */
enum { OUTPUT_HAS_OPTIONS = TENON_WITH_SCALE || TENON_WITH_SACK };

/* One segment that is to be sent. */
struct output_plan {
    tenon_u32 seq, len;    /* payload */
    tenon_u8 flags;
    tenon_u8 is_rtx;
    tenon_u8 ect;          /* new data: the network may mark it (RFC 3168 6.1.4, 6.1.5, 6.1.6: nothing else) */
    tenon_u8 probe;        /* one segment, larger than usual (RFC 4821 7.4) */
};

static int output_probes(const struct output_plan *plan)
{
    return TENON_WITH_PROBES && plan->probe;
}

/* ---- the receive window --------------------------------------------------------------------------------- */

/* The buffer, less what rounding up to a unit of the scale may add: whoever queues what he receives, and has as much
 * room for it, never gets more than fits. (The buffer has two units at least: tenon_tcp_set().) */
static tenon_u32 output_rcv_limit(const struct tenon_tcp *conn)
{
    return tn_tcp_opt(conn, TENON_TCP_RCV_BUF) + 1 - ((tenon_u32)1 << tn_tcp_rcv_wscale(conn));
}

/* RFC 9293 3.8.6.2.2: the right edge moves in large steps, and never to the left. Where there is room for
 * several segments a window that is less than a step becomes one in smaller ones, too: the peer waits until
 * it is (3.8.6.2.1), and what he sends then is no small segment. */
TENON_INTERNAL_HOT tenon_u32 tn_tcp_rcv_edge(const struct tenon_tcp *conn)
{
    const tenon_u32 limit = output_rcv_limit(conn), held = conn->rcv_unconsumed;
    const tenon_u32 window = limit > held ? limit - held : 0, edge = conn->rcv_nxt + window;
    const tenon_u32 step = tn_min(limit / 2, tn_max(conn->mss, 1));
    const tenon_u32 gain = edge - conn->rcv_adv;
    const int becomes_one = limit > conn->mss && window >= step && window - gain < step;

    return gain & 0x80000000UL || (gain < step && !becomes_one) ? conn->rcv_adv : edge;
}

static tenon_u32 output_ack_seq(const struct tenon_tcp *conn)
{
    return conn->rcv_nxt - tn_tcp_rcv_held(conn) - (tn_tcp_fin_held(conn) ? 1 : 0);
}

/* A window that goes up by less than one unit of its scale each time would creep past the buffer. */
static int output_may_round_up(const struct tenon_tcp *conn, tenon_u32 edge)
{
    return edge - conn->rcv_nxt + conn->rcv_unconsumed <= tn_tcp_opt(conn, TENON_TCP_RCV_BUF);
}

/* The window field; rcv_adv becomes the edge that it announces. A rounding that would move the edge to the
 * left goes up instead where it may (RFC 7323 2.4, RFC 9293 SHLD-14); data up to the old edge is taken in
 * any case. */
TENON_INTERNAL tenon_u16 tn_tcp_window_scaled(struct tenon_tcp *conn, tenon_u32 ack, unsigned scale)
{
    const tenon_u32 edge = tn_tcp_rcv_edge(conn);
    tenon_u32 field;

    if (tn_seq_le(edge, ack))
        return 0;
    field = (edge - ack) >> scale;
    if ((TENON_SMALL || scale > 0) && tn_seq_lt(ack + (field << scale), conn->rcv_adv) &&
        output_may_round_up(conn, ack + ((field + 1) << scale)))
        field++;
    field = tn_min(field, 65535UL);
    conn->rcv_adv = tn_seq_max(conn->rcv_adv, ack + (field << scale));
    return (tenon_u16)field;
}

/* Mostly the edge stays: it would move by less than a step, and not to the left. Then rounding may go up,
 * since the edge that there is lies within the limit (output_rcv_limit()). */
TENON_INTERNAL_HOT tenon_u16 tn_tcp_window_field(struct tenon_tcp *conn, tenon_u32 ack)
{
    const tenon_u32 adv = conn->rcv_adv, limit = output_rcv_limit(conn);
    const unsigned scale = tn_tcp_rcv_wscale(conn);
    const tenon_u32 left = adv - conn->rcv_nxt, gain = limit - conn->rcv_unconsumed - left;
    const tenon_u32 window = adv - ack, field = (window + ((tenon_u32)1 << scale) - 1) >> scale;

    if (TENON_SMALL ||
        TENON_UNLIKELY(gain >= conn->mss || gain >= limit / 2 || left < conn->mss || window > 65535UL << scale))
        return tn_tcp_window_scaled(conn, ack, scale);
    conn->rcv_adv = ack + (field << scale);
    return (tenon_u16)field;
}

/* ---- building ---------------------------------------------------------------------------------------------- */

/* All but the SYN that opens actively. */
static int output_acks(unsigned flags)
{
    return !TENON_WITH_CONNECT || (flags & TN_TCP_ACK) != 0;
}

static void output_syn_options(struct tenon_tcp *conn, struct tn_tcp_options *options)
{
    options->has_mss = 1;
    options->mss = tn_tcp_offered_mss(conn);
    options->has_sack_permitted = (tenon_u8)tn_tcp_has_sack(conn);
    options->has_wscale = TENON_WITH_SCALE && (conn->flags & TN_TCP_F_WSCALE) != 0;
    options->wscale = (tenon_u8)tn_tcp_rcv_wscale(conn);
    options->nsacks = 0;
    options->has_fastopen = options->fastopen_bytes = 0;
    tn_fastopen_options(conn, options);
}

/* Of all other segments; the timestamp apart. */
static void output_usual_options(struct tenon_tcp *conn, struct tn_tcp_options *options)
{
    options->has_mss = options->has_sack_permitted = options->has_wscale = options->has_fastopen = 0;
    options->nsacks = (tenon_u8)tn_ooo_sack_blocks(conn, options);
}

/* RFC 7323 appendix A: nothing but timestamps. */
static unsigned output_timestamp(const struct tenon_tcp *conn, tenon_u8 *p, unsigned flags)
{
    const tenon_u32 now = tn_tcp_ts_now(conn), echo = output_acks(flags) ? conn->ts_recent : 0;

    if (!tn_tcp_has_timestamps(conn))
        return 0;
    put32be(p, TN_TCP_TIMESTAMP_ALONE);
    put32be(p + 4, now);
    put32be(p + 8, echo);
    return TN_TCP_TIMESTAMP_BYTES;
}

/* Options at p. @return their bytes */
static unsigned output_options(struct tenon_tcp *conn, tenon_u8 *p, unsigned flags)
{
    struct tn_tcp_options options;

    if (!OUTPUT_HAS_OPTIONS) {
        put32be(p, TN_TCP_MSS_ALONE | tn_tcp_offered_mss(conn));
        return (flags & TN_TCP_SYN) ? TN_TCP_MSS_BYTES : 0;
    }
    if (TENON_WITH_SPEED && !(flags & TN_TCP_SYN) && !tn_ooo_has_news(conn))
        return output_timestamp(conn, p, flags);
    if (flags & TN_TCP_SYN)
        output_syn_options(conn, &options);
    else
        output_usual_options(conn, &options);
    options.has_timestamp = (tenon_u8)tn_tcp_has_timestamps(conn);
    options.ts_val = tn_tcp_ts_now(conn);
    options.ts_ecr = output_acks(flags) ? conn->ts_recent : 0;
    return tn_tcp_options_build(p, &options);
}

/* The header into out, which has just been made. */
static void output_header(struct tenon_tcp *conn, struct tn_out *out, tenon_u32 seq, unsigned flags)
{
    const unsigned scale = (flags & TN_TCP_SYN) ? 0 : tn_tcp_rcv_wscale(conn);
    struct tn_tcp tcp;

    tcp.ports = conn->ends.node.word;
    tcp.seq = seq;
    tcp.ack = 0;
    tcp.urgent = 0;
    if (output_acks(flags)) {
        tcp.ack = output_ack_seq(conn);
        tcp.wnd = tn_tcp_window_scaled(conn, tcp.ack, scale);
        conn->rcv_acked = tcp.ack;
    } else {
        tcp.wnd = (tenon_u16)tn_min(tn_tcp_opt(conn, TENON_TCP_RCV_BUF), 65535UL);
    }
    tcp.header_bytes =
        (tenon_u8)(TN_TCP_BYTES + output_options(conn, out->hdr->data + out->off + TN_TCP_BYTES, flags));
    /* RFC 9293 3.8.5: the pointer is an offset from this segment, up to 65535 ahead. */
    if (tn_tcp_is_urgent(conn) && tn_seq_lt(seq, conn->flight->snd_up) && !(flags & (TN_TCP_SYN | TN_TCP_RST))) {
        flags |= TN_TCP_URG;
        tcp.urgent = (tenon_u16)tn_min(conn->flight->snd_up - seq, 65535UL);
    }
    flags |= (flags & TN_TCP_SYN) ? tn_ecn_syn_flags(conn, flags) : tn_ecn_flags(conn, flags);
    tcp.flags = (tenon_u8)flags;
    tn_tcp_seal(out, &tcp, &conn->ends.local);
    out->ttl = (tenon_u8)tn_tcp_opt(conn, TENON_TCP_TTL);
    out->tos = (tenon_u8)tn_tcp_opt(conn, TENON_TCP_TOS);
}

/* An ACK has gone out, in whatever segment. */
static void output_acked(struct tenon_tcp *conn)
{
    conn->flags &= ~(tenon_u32)TN_TCP_F_ACK_NOW;
    tn_tcp_disarm_delack(conn);
}

static int output_hand_down(struct tenon_tcp *conn, struct tn_out *out)
{
    struct tenon *stack = conn->stack;
    const int error = tn_ip_output(stack, conn->path, out);

    tn_count(stack, TENON_STAT_TCP_SENT);
    return error;
}

/* A segment without payload. @return TENON_OK, TENON_ENOMEM (no buffer), or an error of tn_ip_output() */
static int output_bare(struct tenon_tcp *conn, tenon_u32 seq, unsigned flags)
{
    struct tn_out out;
    int error;

    if (seq == conn->snd_nxt && tn_fast_control(conn, flags))
        return TENON_OK;
    if (tn_out_new(conn->stack, &out) != TENON_OK)
        return TENON_ENOMEM;
    output_header(conn, &out, seq, flags);
    if (TENON_WITH_STATS && conn->stack->conf.trace != NULL) {
        struct tn_seg seg;

        memset(&seg, 0, sizeof(seg));
        seg.seq = seq;
        seg.ack = output_acks(flags) ? output_ack_seq(conn) : 0;
        seg.flags = (tenon_u8)flags;
        seg.len = (tenon_u32)((flags & TN_TCP_SYN) != 0) + (tenon_u32)((flags & TN_TCP_FIN) != 0);
        tn_tcp_trace(conn, TENON_TRACE_SENT, &seg, (flags & TN_TCP_SYN) != 0 && conn->backoff > 0);
    }
    error = output_hand_down(conn, &out);
    if (output_acks(flags))
        output_acked(conn);
    return error;
}

/* An ACK for which there is no buffer is tried again soon; what matters more has its own timer. */
static void output_control(struct tenon_tcp *conn, tenon_u32 seq, unsigned flags)
{
    if (output_bare(conn, seq, flags) == TENON_ENOMEM && conn->state > TENON_TCP_SYN_RECEIVED)
        tn_tcp_arm_delack(conn);
}

/* Payload whose pieces are too many to gather: copied into buffers of ours, which the spans own. */
static void output_copy(struct tenon_tcp *conn, struct tn_gather *to, tenon_u32 seq, tenon_u32 len)
{
    while (to->n < to->max && to->bytes < len) {
        struct tenon_span *span = &to->spans[to->n];

        span->buf = tn_buf_get(conn->stack);
        if (span->buf == NULL)
            return;
        span->off = 0;
        span->len = tn_min(span->buf->size, len - to->bytes);
        tn_sendq_copy(conn, span->buf->data, seq + to->bytes, span->len);
        to->bytes += span->len;
        to->n++;
    }
}

/* What options (SACK blocks) take more than usual. */
static tenon_u32 output_more_options(const struct tenon_tcp *conn, const struct tn_out *out)
{
    const tenon_u32 usual = TN_TCP_BYTES + (tn_tcp_has_timestamps(conn) ? 12U : 0U);

    return OUTPUT_HAS_OPTIONS ? out->l4_bytes - usual : 0;
}

/* Payload of one segment now. */
static tenon_u32 output_seg_bytes(const struct tenon_tcp *conn, const struct tn_out *out)
{
    return conn->mss - tn_min(output_more_options(conn, out), (tenon_u32)conn->mss - 1);
}

/* Small payload goes behind the header; where there are no pieces, all of it does, and has room there. */
static int output_inline(struct tenon_tcp *conn, struct tn_out *out, const struct output_plan *plan,
                         tenon_u32 seg_bytes)
{
    if (TENON_WITH_PIECES && (plan->len > tn_min(conn->stack->conf.tcp_copy_max, seg_bytes) ||
                              out->off + out->len + plan->len > out->hdr->size))
        return 0;
    tn_sendq_copy(conn, out->hdr->data + out->off + out->len, plan->seq, plan->len);
    out->len += plan->len;
    return 1;
}

TENON_INTERNAL unsigned tn_tcp_gather_max(const struct tenon_tcp *conn, const struct tn_netif *netif)
{
    unsigned limit = (unsigned)tn_min(conn->stack->tx.gather, OUTPUT_SPANS);

    if (TENON_WITH_LINEAR && netif->conf.gather_max != 0)
        limit = (unsigned)tn_min(limit, netif->conf.gather_max);
    /* A port that gathers one span only gets everything copied into the header's buffer, by tn_tx(). */
    return limit > 1 ? limit - 1 : OUTPUT_SPANS - 1;
}

/* More than one segment: cut by the port, or by tn_tx() in software. */
static void output_segmentation(const struct tenon_tcp *conn, struct tn_out *out, tenon_u32 seg_bytes)
{
    if (!TENON_WITH_SPEED || out->payload <= seg_bytes)
        return;
    out->seg_kind = (tenon_u8)(tn_tcp_is_v4(conn) ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
    out->seg_bytes = (tenon_u16)seg_bytes;
}

/* How much of the plan one frame can carry, when all of it cannot: whole segments if there is one. */
static tenon_u32 output_cut(tenon_u32 got, tenon_u32 want, tenon_u32 seg_bytes)
{
    if (!TENON_WITH_SPEED || got == want || got < seg_bytes)
        return got;
    TENON_ASSERT(seg_bytes > 0);
    return got - got % seg_bytes;
}

/* Payload where it lies, or copied if it lies in too many pieces. @return as output_payload() */
static int output_gather(struct tenon_tcp *conn, struct output_plan *plan, struct tn_gather *to, tenon_u32 seg_bytes)
{
    int copied = 0;

    tn_sendq_slice(conn, to, plan->seq, plan->len);
    if (TENON_WITH_QUEUE && to->bytes < tn_min(plan->len, seg_bytes)) {
        tn_gather_init(to, to->spans, to->max);
        output_copy(conn, to, plan->seq, tn_min(plan->len, seg_bytes));
        copied = 1;
    }
    plan->len = output_cut(to->bytes, plan->len, seg_bytes);
    if (TENON_WITH_SPEED && plan->len < to->bytes && !copied) {
        tn_gather_init(to, to->spans, to->max);
        tn_sendq_slice(conn, to, plan->seq, plan->len);
    }
    return copied;
}

/* Put the payload into `out`; `to` collects its spans. Sets plan->len to what went in.
 * @return 1: the spans own their buffers (copies) */
static int output_payload(struct tenon_tcp *conn, struct tn_out *out, struct output_plan *plan, struct tn_gather *to,
                          const struct tn_netif *netif)
{
    const tenon_u32 seg_bytes = output_probes(plan) ? plan->len : output_seg_bytes(conn, out);
    int copied;

    if (plan->len > seg_bytes && (!TENON_WITH_SPEED || plan->len <= conn->mss))
        plan->len = seg_bytes;    /* what is more than a full segment is cut into such */
    /* The port takes frames of one span: all must fit behind the header. */
    if (!TENON_WITH_PIECES || (TENON_WITH_LINEAR && netif->conf.gather_max == 1))
        plan->len = output_cut(tn_min(plan->len, out->hdr->size - out->off - out->len), plan->len, seg_bytes);
    if ((TENON_WITH_QUEUE || !TENON_WITH_PIECES) && output_inline(conn, out, plan, seg_bytes))
        return 0;
    copied = output_gather(conn, plan, to, seg_bytes);
    out->spans = to->spans;
    out->nspans = to->n;
    out->payload = plan->len;
    output_segmentation(conn, out, seg_bytes);
    return copied;
}

static void output_trace_sent(struct tenon_tcp *conn, const struct output_plan *plan, unsigned flags)
{
    struct tn_seg seg;

    if (!TENON_WITH_STATS || conn->stack->conf.trace == NULL)
        return;
    memset(&seg, 0, sizeof(seg));
    seg.seq = plan->seq - (tenon_u32)((flags & TN_TCP_SYN) != 0);
    seg.ack = output_ack_seq(conn);
    seg.flags = (tenon_u8)flags;
    seg.len = plan->len + (tenon_u32)((flags & TN_TCP_SYN) != 0) + (tenon_u32)((flags & TN_TCP_FIN) != 0);
    tn_tcp_trace(conn, TENON_TRACE_SENT, &seg, plan->is_rtx);
}

/* Send a data segment. @return sequence numbers that it took; 0: it could not be sent */
static tenon_u32 output_data(struct tenon_tcp *conn, struct output_plan *plan)
{
    const unsigned at_the_end = TN_TCP_FIN | TN_TCP_PSH;
    const struct tn_netif *netif = tn_netif_of(&conn->stack->link, conn->path->netif);
    const tenon_u32 wanted = plan->len;
    struct tenon_span spans[OUTPUT_SPANS];
    struct tn_gather to;
    unsigned flags = plan->flags & ~at_the_end;
    struct tn_out out;
    tenon_u8 *l4;
    int error, copied = 0;

    if (tn_out_new(conn->stack, &out) != TENON_OK)
        return 0;
    output_header(conn, &out, TENON_WITH_COOKIES && (flags & TN_TCP_SYN) ? conn->flight->iss : plan->seq, flags);
    tn_gather_init(&to, spans, tn_tcp_gather_max(conn, netif));
    if (plan->len > 0)
        copied = output_payload(conn, &out, plan, &to, netif);
    if (TENON_WITH_QUEUE && plan->len == 0 && wanted > 0) {    /* else nothing has to be copied elsewhere */
        tenon_buf_put(out.hdr);
        return 0;
    }
    if (plan->len == wanted)
        flags = plan->flags;
    l4 = out.hdr->data + out.l4_off;
    l4[13] |= (tenon_u8)flags;
    output_trace_sent(conn, plan, flags);
    if (plan->ect && plan->len > 0 && (tn_tcp_ecn(conn) & (TN_ECN_ON | TN_ECN_MUTE)) == TN_ECN_ON) {
        out.tos |= TN_ECT_0;
        if (conn->ecn & TN_ECN_CWR)
            l4[13] |= TN_TCP_CWR;
    }
    if (output_probes(plan))
        out.probe = 1;
    error = output_hand_down(conn, &out);
    if (copied)
        tn_spans_put(spans, to.n);
    if (error != TENON_OK)
        return 0;    /* nothing has left: it is not in flight, and will be tried again */
    output_acked(conn);
    tn_mtu_sent(conn, output_probes(plan) ? plan->len : tn_min(plan->len + output_more_options(conn, &out), conn->mss));
    if (TENON_WITH_FLIGHT)
        conn->flight->last_snd_ms = conn->stack->now_ms;
    return plan->len + (tenon_u32)((flags & TN_TCP_FIN) != 0);
}

/* ---- what is in the network ------------------------------------------------------------------------------- */

/* RFC 6675 4, SetPipe: what is neither lost nor SACKed, and what was sent again; less what duplicate ACKs vouch
 * for. */
TENON_INTERNAL tenon_u32 tn_tcp_in_flight(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;
    tenon_u32 pipe;

    if (!tn_tcp_has_block(conn))
        return 0;
    if (!TENON_WITH_FLIGHT)
        return conn->snd_nxt - conn->snd_una;
    pipe = conn->snd_nxt - flight->lost_edge + tn_flight_again_bytes(conn);
    if (!TENON_WITH_RECOVERY)
        pipe -= tn_sack_bytes_between(conn, flight->lost_edge, conn->snd_nxt);
    else if (tn_flight_sack(conn->flight) != NULL)
        pipe -= flight->sack->bytes - flight->sack->below;
    return pipe - tn_min(pipe, flight->reno_sacked);
}

/* ---- what may be sent: retransmissions ------------------------------------------------------------------------ */

static tenon_u32 output_cwnd_room(const struct tenon_tcp *conn)
{
    const tenon_u32 pipe = tn_tcp_in_flight(conn);
    tenon_u32 cwnd = conn->cc.cwnd;

    if (!TENON_WITH_FLIGHT)
        return conn->mss;    /* one segment at a time: output_plan_next() waits for its ACK */
    /* RFC 5682 2.1 step 2b: two new segments, though the ACK may open the window for more. Old ones are all lost. */
    if (tn_tcp_has_block(conn) && tn_tcp_tries_new(conn) && !tn_tcp_hears_sack(conn))
        cwnd = tn_min(cwnd, 2UL * conn->mss);
    return cwnd > pipe ? cwnd - pipe : 0;
}

/* Where unsent data begins, FIN not counted. */
TENON_ONCE_IF_SMALL static tenon_u32 output_unsent(const struct tenon_tcp *conn)
{
    return tn_seq_lt(conn->snd_nxt, conn->snd_end) ? conn->snd_end - conn->snd_nxt : 0;
}

TENON_INTERNAL tenon_u32 tn_tcp_frame_limit(const struct tenon_tcp *conn, const struct tn_netif *netif)
{
    const int is_v4 = tn_tcp_is_v4(conn);
    const tenon_u32 most = tn_tx_segment_bytes_max(netif, 128);
    const unsigned cap = is_v4 ? TENON_CAP_TSO4 : TENON_CAP_TSO6;
    tenon_u32 segments = tn_min(most, tn_pace_quantum(conn)) / conn->mss;

    if (!TENON_WITH_SPEED)
        return conn->mss;
    /* Cut in software, a frame becomes as many as it has segments: they must fit into the burst. */
    if (!(netif->conf.caps & cap))
        segments = tn_min(segments, tn_tx_room(conn->stack));
    /* The urgent pointer is an offset, CWR and a duplicate are told once: a frame that is cut would repeat them. */
    if (tn_tcp_is_urgent(conn) || (conn->ecn & TN_ECN_CWR) ||
        conn->flight->dup_left != conn->flight->dup_right)
        segments = 1;
    return tn_max(segments, 1) * conn->mss;
}

static tenon_u32 output_frame_limit(const struct tenon_tcp *conn)
{
    return tn_tcp_frame_limit(conn, tn_netif_at(conn->stack, conn->path->netif));
}

/* What is lost and not on its way again, from the lowest number up (RFC 6675 4, NextSeg rule 1).
 * @return 1 and [from, end): the gap to fill */
static int output_find_gap(struct tenon_tcp *conn, tenon_u32 *from, tenon_u32 *end)
{
    tenon_u32 at = conn->flight->rtx_nxt;

    if (conn->recovery == TN_RECOVERY_NONE || tn_tcp_tries_new(conn))
        return 0;
    for (;;) {
        *from = tn_sack_gap(conn, at, end);
        if (tn_seq_ge(*from, conn->flight->lost_edge)) {
            conn->flight->rtx_nxt = conn->flight->lost_edge;
            return 0;
        }
        *end = tn_seq_min(*end, conn->flight->lost_edge);
        at = tn_flight_again_skip(conn, *from, end);
        if (at == *from)
            break;
    }
    conn->flight->rtx_nxt = *from;
    return tn_flight_has_room(conn) || *from == conn->snd_una;    /* what waits may hold the memory that is missing */
}

/* What is left beside full segments. Without TENON_WITH_SPEED nobody asks about more than one. */
static tenon_u32 output_part(const struct tenon_tcp *conn, tenon_u32 len)
{
    if (!TENON_WITH_SPEED)
        return len < conn->mss ? len : 0;
    return len % conn->mss;
}

/* Without TENON_WITH_FLIGHT: what is in flight once more, or as much of it as fits into a segment now. */
static int output_plan_again(const struct tenon_tcp *conn, struct output_plan *plan)
{
    const tenon_u32 end = tn_seq_min(conn->snd_nxt, conn->snd_end);
    const tenon_u32 data = tn_seq_lt(conn->snd_una, end) ? end - conn->snd_una : 0;

    if (!(conn->flags & TN_TCP_F_FORCE_RTX))
        return 0;
    plan->is_rtx = 1;
    plan->ect = 0;
    plan->probe = 0;
    plan->seq = conn->snd_una;
    plan->len = tn_min(data, conn->mss);
    plan->flags = TN_TCP_ACK | TN_TCP_PSH;
    if (tn_tcp_fin_sent(conn) && plan->len == data)
        plan->flags |= TN_TCP_FIN;
    return 1;
}

/* What was sent may be sent again if it fits the window, and its first segment in any case (RFC 7323 2.4,
 * RFC 9293 3.8.6). */
TENON_ONCE_IF_SMALL static int output_plan_rtx(struct tenon_tcp *conn, struct output_plan *plan, tenon_u32 cwnd_room)
{
    tenon_u32 from, end, room = tn_min(cwnd_room, output_frame_limit(conn));

    if (!TENON_WITH_FLIGHT)
        return output_plan_again(conn, plan);
    if (!output_find_gap(conn, &from, &end))
        return 0;
    if (from != conn->snd_una && !tn_seq_between(conn->snd_una, from, conn->snd_una + conn->snd_wnd_max))
        return 0;
    if (conn->flags & TN_TCP_F_FORCE_RTX)
        room = tn_max(room, conn->mss);
    plan->is_rtx = 1;
    plan->ect = 0;
    plan->probe = 0;
    plan->seq = from;
    plan->flags = TN_TCP_ACK;
    plan->len = tn_seq_lt(from, conn->snd_end) ? tn_seq_min(end, conn->snd_end) - from : 0;
    if (plan->len > conn->mss && room < plan->len)
        plan->len = room - output_part(conn, room);
    if (plan->len > room)
        return 0;
    if (plan->len == 0 && tn_seq_lt(from, conn->snd_end))
        return 0;
    if (tn_tcp_fin_sent(conn) && from + plan->len == conn->snd_end && tn_seq_gt(end, conn->snd_end))
        plan->flags |= TN_TCP_FIN;
    if (from + plan->len == conn->snd_end && plan->len > 0)
        plan->flags |= TN_TCP_PSH;
    return 1;
}

/* ---- what may be sent: new data -------------------------------------------------------------------------------- */

/* The usable window (RFC 9293 3.8.6.2.1): never negative, also after the peer has shrunk its window. */
static tenon_u32 output_usable_window(const struct tenon_tcp *conn)
{
    const tenon_u32 edge = conn->snd_una + conn->snd_wnd;

    return tn_seq_lt(conn->snd_nxt, edge) ? edge - conn->snd_nxt : 0;
}

/* A segment that is not full: RFC 9293 3.8.6.2.1 rules 2 to 4, with Nagle (3.7.4).
 * is_last: it takes all that is queued; with_fin: and our FIN. */
static int output_small_is_allowed(const struct tenon_tcp *conn, tenon_u32 len, int is_last, int with_fin)
{
    const int early = TENON_WITH_COOKIES && tn_tcp_is_answering(conn);    /* our SYN is in flight, too */
    const int idle = conn->snd_nxt == conn->snd_una + (tenon_u32)early;
    const int nagle_lets = !TENON_WITH_FLIGHT || idle || tn_tcp_opt(conn, TENON_TCP_NODELAY);

    if (conn->flags & TN_TCP_F_SWS_OVERRIDE)
        return 1;
    if (with_fin)
        return 1;    /* nothing more will come that could be waited for (9293-NAG-3) */
    if (tn_tcp_opt(conn, TENON_TCP_CORK))
        return 0;
    if (is_last)
        return nagle_lets;
    return len >= conn->snd_wnd_max / 2 && nagle_lets;
}

static int output_fin_waits(const struct tenon_tcp *conn)
{
    return (conn->flags & TN_TCP_F_FIN_QUEUED) && !tn_tcp_fin_sent(conn);
}

/* New data, or the FIN. @return 0: nothing may be sent */
static int output_plan_new(struct tenon_tcp *conn, struct output_plan *plan, tenon_u32 cwnd_room)
{
    const tenon_u32 unsent = output_unsent(conn);
    const tenon_u32 window = output_usable_window(conn);
    const int fin_waits = output_fin_waits(conn) && (!TENON_WITH_COOKIES || conn->state > TENON_TCP_SYN_RECEIVED);
    tenon_u32 len = tn_min(tn_min(unsent, window), tn_min(cwnd_room, output_frame_limit(conn)));
    unsigned flags = TN_TCP_ACK;
    tenon_u32 part;

    if (unsent == 0 && !fin_waits) {
        (void)tn_why_nothing_new(conn);
        return 0;
    }
    if (TENON_WITH_FLIGHT && cwnd_room < tn_min(unsent, conn->mss)) {
        if (TENON_WITH_RECOVERY)
            conn->flags |= TN_TCP_F_CWND_LIMITED;
        if (conn->snd_nxt != conn->snd_una) {
            (void)tn_why_nothing_fits(conn, unsent, window, cwnd_room);
            return 0;
        }
    }
    if (len == unsent && len > 0)
        flags |= TN_TCP_PSH;    /* MUST-61 */
    if (len == unsent && fin_waits && window > len)
        flags |= TN_TCP_FIN;
    part = output_part(conn, len);
    if (part != 0 && !output_small_is_allowed(conn, part, len == unsent, (flags & TN_TCP_FIN) != 0)) {
        len -= part;
        flags = TN_TCP_ACK;
    }
    if (len == 0 && !(flags & TN_TCP_FIN)) {
        (void)tn_why_nothing_fits(conn, unsent, window, cwnd_room);
        return 0;
    }
    plan->is_rtx = 0;
    plan->ect = 1;
    plan->probe = 0;
    plan->seq = conn->snd_nxt;
    plan->len = len;
    plan->flags = (tenon_u8)flags;
    return 1;
}

/* A larger segment, to see whether it passes: only where the window lets it go, and enough behind it (RFC 4821 7.4).
 * Room for it may have to gather. @return 1: this one; 0: a usual one; -1: none until there is room */
static int output_plan_probe(struct tenon_tcp *conn, struct output_plan *plan)
{
    const tenon_u32 bytes = tn_mtu_probe_bytes(conn), needs = tn_mtu_probe_needs(conn, bytes);

    if (bytes == 0 || output_unsent(conn) < needs || output_usable_window(conn) < needs ||
        conn->cc.cwnd < needs + conn->mss)
        return 0;
    if (output_cwnd_room(conn) < bytes) {
        conn->flags |= TN_TCP_F_CWND_LIMITED;
        (void)tn_why(conn, TENON_TCP_WAIT_CWND);
        return -1;
    }
    plan->is_rtx = 0;
    plan->ect = 1;
    plan->probe = 1;
    plan->seq = conn->snd_nxt;
    plan->len = bytes;
    plan->flags = TN_TCP_ACK;
    return 1;
}

/* @return 0: there is nothing to be sent */
static int output_plan_next(struct tenon_tcp *conn, struct output_plan *plan)
{
    const tenon_u32 cwnd_room = output_cwnd_room(conn);
    int probe;

    if (output_plan_rtx(conn, plan, cwnd_room))
        return 1;
    if (!TENON_WITH_FLIGHT && conn->snd_una != conn->snd_nxt)
        return tn_why_if_any(conn, TENON_TCP_WAIT_CWND);
    probe = output_plan_probe(conn, plan);
    return probe == 0 ? output_plan_new(conn, plan, cwnd_room) : probe > 0;
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

/* It counts for pacing and PRR. */
static void output_left(struct tenon_tcp *conn, tenon_u32 bytes)
{
    if (!TENON_WITH_RECOVERY)
        return;
    tn_pace_sent(conn, bytes);
    conn->flight->prr_out += bytes;
}

static void output_sent_rtx(struct tenon_tcp *conn, const struct output_plan *plan, tenon_u32 taken)
{
    struct tn_flight *flight = conn->flight;

    tn_flight_sent_again(conn, plan->seq, plan->seq + taken);
    tn_undo_sent_again(conn, plan->seq, plan->seq + taken);
    output_left(conn, taken);
    if (TENON_WITH_FLIGHT)
        flight->rtx_nxt = plan->seq + taken;
    if (TENON_WITH_RECOVERY)
        flight->again_high = tn_seq_max(flight->again_high, flight->rtx_nxt);
    conn->flags &= ~(tenon_u32)(TN_TCP_F_FORCE_RTX | TN_TCP_F_RTT_TIMING);    /* Karn */
    tn_past_retransmit(conn);
    tn_count(conn->stack, TENON_STAT_TCP_RETRANSMIT);
    if (plan->seq == conn->snd_una)
        tn_tcp_arm_rtx(conn);
    tn_tcp_choose_timer(conn);
}

/* The states that our FIN leads to. */
static void output_sent_fin(struct tenon_tcp *conn)
{
    if (conn->state == TENON_TCP_ESTABLISHED)
        tn_tcp_set_state(conn, TENON_TCP_FIN_WAIT_1);
    else if (conn->state == TENON_TCP_CLOSE_WAIT)
        tn_tcp_set_state(conn, TENON_TCP_LAST_ACK);
}

static void output_sent_new(struct tenon_tcp *conn, const struct output_plan *plan, tenon_u32 taken)
{
    if (conn->snd_una == conn->snd_nxt)
        conn->progress_ms = conn->stack->now_ms;
    tn_flight_sent(conn, plan->seq + taken);
    if (output_probes(plan) && taken > conn->mss)
        tn_mtu_probe_sent(conn, plan->seq, plan->seq + taken);
    output_left(conn, taken);
    if (TENON_WITH_RECOVERY)
        conn->ecn &= (tenon_u8)~TN_ECN_CWR;
    /* Before the handshake is over only a SYN is timed. */
    if (!(conn->flags & TN_TCP_F_RTT_TIMING) && (!TENON_WITH_COOKIES || conn->state > TENON_TCP_SYN_RECEIVED)) {
        conn->flags |= TN_TCP_F_RTT_TIMING;
        conn->flight->rtt_seq = plan->seq;
        conn->flight->rtt_start_us = conn->stack->now_us;
    }
    conn->snd_nxt = plan->seq + taken;
    conn->flags &= ~(tenon_u32)(TN_TCP_F_SWS_OVERRIDE | TN_TCP_F_PROBED);
    if (tn_tcp_fin_sent(conn))
        output_sent_fin(conn);
    if (conn->flags & TN_TCP_F_PERSIST)
        tn_tcp_disarm_rtx(conn);
    if (!(conn->flags & TN_TCP_F_RTX_ARMED))
        tn_tcp_arm_rtx(conn);    /* RFC 6298 5.1 */
    if (conn->flight->rtx_timer != TN_RTX_REORDER)
        tn_tcp_choose_timer(conn);
}

TENON_INTERNAL void tn_tcp_restart(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;

    tn_tcp_cc_event(conn, &event);
    tn_cc_ops(conn)->restart(&conn->cc, &event);
}

/* @return 1: a segment was sent; 0: there is none to be sent, or no memory for it */
static int output_one(struct tenon_tcp *conn)
{
    struct output_plan plan;
    tenon_u32 taken;

    if (!tn_tcp_has_block(conn) && !tn_tcp_has_new_data(conn))
        return tn_why(conn, TENON_TCP_WAIT_DATA);
    if (!tn_tcp_has_block(conn) && !tn_tcp_needs_block(conn))
        return tn_why(conn, TENON_TCP_WAIT_HOST);
    if (!output_plan_next(conn, &plan))
        return 0;
    if (!(plan.is_rtx && (conn->flags & TN_TCP_F_FORCE_RTX)) && !tn_pace_allows(conn))
        return tn_why(conn, TENON_TCP_WAIT_PACING);
    (void)tn_tcp_needs_block(conn);    /* it rests no more */
    if (tn_tcp_restarts(conn))
        tn_tcp_restart(conn);
    taken = output_data(conn, &plan);
    if (taken == 0)
        return tn_why(conn, TENON_TCP_WAIT_HOST);
    if (plan.is_rtx)
        output_sent_rtx(conn, &plan, taken);
    else
        output_sent_new(conn, &plan, taken);
    return 1;
}

/* Only the FIN is left: no window but the peer's holds it back. @return 1: it has left */
static int output_fin(struct tenon_tcp *conn)
{
    struct output_plan plan;

    if (!(conn->flags & TN_TCP_F_FIN_QUEUED) || conn->snd_nxt != conn->snd_end || !tn_tcp_has_block(conn) ||
        conn->recovery != TN_RECOVERY_NONE || output_usable_window(conn) == 0)
        return 0;
    if (tn_tx_room(conn->stack) == 0 || !tn_pace_allows(conn))
        return 0;
    (void)tn_tcp_needs_block(conn);    /* it rests no more */
    if (tn_tcp_restarts(conn))
        tn_tcp_restart(conn);
    plan.probe = 0;
    plan.seq = conn->snd_nxt;
    if (output_bare(conn, plan.seq, TN_TCP_FIN | TN_TCP_ACK) != TENON_OK)
        return 0;
    conn->flight->last_snd_ms = conn->stack->now_ms;
    output_sent_new(conn, &plan, 1);
    (void)tn_why_nothing_new(conn);
    return 1;
}

/* RFC 5681 4.1: after an RTO of silence the window says nothing of the network any more, unless pacing keeps its use
 * from being a burst (RFC 7661 4.4). */
static void output_check_idle(struct tenon_tcp *conn)
{
    struct tenon_cc_event event;

    if (!TENON_WITH_FLIGHT || conn->snd_una != conn->snd_nxt || output_unsent(conn) == 0)
        return;
    if (conn->stack->now_ms - conn->flight->last_snd_ms <= conn->flight->rto_us / 1000)
        return;
    if (TENON_WITH_RECOVERY && conn->stack->now_ms - conn->flight->last_snd_ms > TN_US_MEAN_MS) {
        conn->flags &= ~(tenon_u32)TN_TCP_F_PACING;
        tn_pace_forget(conn->flight);
    }
    tn_tcp_trace(conn, TENON_TRACE_IDLE, NULL, conn->stack->now_ms - conn->flight->last_snd_ms);
    conn->flight->last_snd_ms = conn->stack->now_ms;
    if (tn_tcp_keeps_window(conn))
        return;
    tn_tcp_cc_event(conn, &event);
    tn_cc_ops(conn)->idle(&conn->cc, &event);
}

/* Nothing is in flight and something waits: the window is closed, or too small, or memory is short. */
static void output_arm_persist(struct tenon_tcp *conn)
{
    if (conn->snd_una != conn->snd_nxt || (conn->flags & (TN_TCP_F_RTX_ARMED | TN_TCP_F_PACE_ARMED)))
        return;
    if (!tn_tcp_has_new_data(conn))
        return;
    conn->flags |= TN_TCP_F_PERSIST;
    if (!TENON_WITH_ORPHANS)
        conn->progress_ms = conn->stack->now_ms;    /* silence before is no lack of answers; else stalled_ms says so */
    tn_tcp_arm_rtx(conn);
}

/* RFC 7413 4.2.1: the SYN with as much data as the option's cookie allows. @return 0: it has not left */
static int output_fastopen_syn(struct tenon_tcp *conn, tenon_u32 most)
{
    struct output_plan plan;

    if (!TENON_WITH_COOKIES)
        return 0;
    memset(&plan, 0, sizeof(plan));
    plan.seq = conn->flight->iss + 1;
    plan.len = tn_min(output_unsent(conn), most);
    plan.flags = TN_TCP_SYN;
    if (plan.len == 0 || output_data(conn, &plan) == 0)
        return 0;
    conn->snd_nxt = plan.seq + plan.len;
    tn_count(conn->stack, TENON_STAT_TCP_FASTOPEN_SENT);
    tn_trace_stretch(conn, TENON_TRACE_FASTOPEN, plan.seq, plan.len, TENON_TRACE_FASTOPEN_SENT);
    return 1;
}

static void output_syn(struct tenon_tcp *conn)
{
    const int answers = !TENON_WITH_CONNECT || tn_tcp_is_answering(conn);
    const unsigned flags = answers ? TN_TCP_SYN | TN_TCP_ACK : TN_TCP_SYN;
    tenon_u32 fast = 0;

    conn->flags &= ~(tenon_u32)(TN_TCP_F_SYN_QUEUED | TN_TCP_F_RTT_TIMING);    /* Karn, whatever it is repeated for */
    if (conn->backoff == 0 && !(conn->flags & TN_TCP_F_RTX_ARMED)) {
        conn->flags |= TN_TCP_F_RTT_TIMING;
        conn->flight->rtt_start_us = conn->stack->now_us;
        conn->progress_ms = conn->stack->now_ms;
        if (tn_tcp_is_calling(conn))
            fast = tn_fastopen_begin(conn);
    }
    if ((fast == 0 || !output_fastopen_syn(conn, fast)) && !tn_fast_syn(conn, flags))
        output_control(conn, conn->flight->iss, flags);
    if (!(conn->flags & TN_TCP_F_RTX_ARMED))
        tn_tcp_arm_rtx(conn);
}

/* Without a way to the peer nothing is built; the timers go on, and try again. */
static int output_has_way(struct tenon_tcp *conn)
{
    if (tn_path_check(conn->stack, conn->path) == TENON_OK)
        return 1;
    tn_count(conn->stack, TENON_STAT_NO_ROUTE);
    return 0;
}

/* RFC 7413 4.2.2: data behind the first SYN-ACK, before it is acknowledged. @return as tn_tcp_output() */
static int output_early(struct tenon_tcp *conn)
{
    if (!tn_fastopen_is_early(conn) || conn->backoff > 0)
        return 1;
    while (tn_tx_room(conn->stack) > 0 && output_one(conn))
        continue;
    return tn_tx_room(conn->stack) > 0;
}

/* Before both SYNs are acknowledged. @return as tn_tcp_output() */
static int output_handshake(struct tenon_tcp *conn)
{
    (void)tn_why(conn, TENON_TCP_WAIT_HANDSHAKE);
    if (tn_tcp_is_held(conn))
        return 1;    /* nothing is said before the application has decided */
    if (conn->flags & TN_TCP_F_SYN_QUEUED)
        output_syn(conn);
    else if (tn_tcp_is_answering(conn) && (conn->flags & TN_TCP_F_ACK_NOW))
        tn_tcp_send_ack(conn);
    return output_early(conn);
}

/* What was a window of one segment, after a timeout, is one of the new size. */
static void output_follow_mtu(struct tenon_tcp *conn)
{
    const tenon_u32 one = conn->mss;

    tn_tcp_update_mss(conn);
    if (TENON_WITH_FLIGHT && conn->cc.cwnd <= one)
        conn->cc.cwnd = conn->mss;
}

/* @return as tn_tcp_output() */
TENON_APART int output_general(struct tenon_tcp *conn)
{
    const int opens = conn->state <= TENON_TCP_SYN_RECEIVED;

    tn_fast_end(conn);
    if (!output_has_way(conn)) {
        (void)tn_why_if_any(conn, TENON_TCP_WAIT_HOST);
        if (!opens)
            output_arm_persist(conn);
        else if (!(conn->flags & TN_TCP_F_RTX_ARMED))
            tn_tcp_arm_rtx(conn);
        return 1;
    }
    if (opens)
        return output_handshake(conn);
    if (tn_path_mtu(conn->stack, conn->path) != conn->path_mtu)
        output_follow_mtu(conn);
    output_check_idle(conn);
    if (TENON_SMALL || !TENON_WITH_FLIGHT || !output_fin(conn))
        while (tn_tx_room(conn->stack) > 0 && output_one(conn))
            continue;
    tn_rate_check_app_limited(conn);
    output_arm_persist(conn);
    if (tn_tx_room(conn->stack) == 0)
        return tn_why_if_any(conn, TENON_TCP_WAIT_PORT);
    if (conn->flags & TN_TCP_F_ACK_NOW)
        tn_tcp_send_ack(conn);
    return 1;
}

TENON_INTERNAL int tn_tcp_output(struct tenon_tcp *conn)
{
    return (conn->state > TENON_TCP_SYN_RECEIVED && tn_fast_output(conn)) || output_general(conn);
}

/* ---- probes and resets --------------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_send_probe(struct tenon_tcp *conn)
{
    struct output_plan plan;

    plan.is_rtx = 0;
    plan.ect = 0;
    plan.probe = 0;
    plan.seq = conn->snd_nxt;
    plan.len = tn_min(output_unsent(conn), 1);
    plan.flags = TN_TCP_ACK;
    if (plan.len == 0)
        plan.flags |= TN_TCP_FIN;
    if (!output_has_way(conn) || !tn_tcp_needs_block(conn) || output_data(conn, &plan) == 0)
        return;
    if (TENON_WITH_RECOVERY)
        tn_pace_sent(conn, 1);    /* its clock comes round in an hour, and a window may be closed for longer */
    tn_count(conn->stack, TENON_STAT_TCP_PROBE);
    tn_tcp_trace(conn, TENON_TRACE_PROBE, NULL, 0);
    if (plan.len == 0) {
        tn_flight_sent(conn, conn->snd_nxt + 1);
        conn->snd_nxt++;    /* the FIN is sent, whatever the window: it is repeated by the timer */
        output_sent_fin(conn);
        (void)tn_why(conn, TENON_TCP_WAIT_DATA);
        return;
    }
    conn->flags |= TN_TCP_F_PROBED;
}

TENON_INTERNAL int tn_tcp_has_new_data(const struct tenon_tcp *conn)
{
    return output_unsent(conn) > 0 || output_fin_waits(conn);
}

TENON_INTERNAL int tn_tcp_may_send_new(const struct tenon_tcp *conn)
{
    return output_unsent(conn) > 0 && output_usable_window(conn) > 0;
}

/* The last segment once more, with the FIN if that was sent. */
static void output_plan_tail(const struct tenon_tcp *conn, struct output_plan *plan)
{
    const tenon_u32 end = tn_seq_min(conn->snd_nxt, conn->snd_end);
    const tenon_u32 data = tn_seq_lt(conn->snd_una, end) ? end - conn->snd_una : 0;

    plan->is_rtx = 1;
    plan->ect = 0;
    plan->probe = 0;
    plan->len = tn_min(data, conn->mss);
    plan->seq = end - plan->len;
    plan->flags = TN_TCP_ACK;
    if (plan->len > 0)
        plan->flags |= TN_TCP_PSH;
    if (tn_tcp_fin_sent(conn))
        plan->flags |= TN_TCP_FIN;
}

TENON_INTERNAL int tn_tcp_send_tlp(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    struct output_plan plan;
    tenon_u32 taken;

    if (!output_has_way(conn))
        return 0;
    plan.is_rtx = 0;
    plan.ect = 1;
    plan.probe = 0;
    plan.seq = conn->snd_nxt;
    plan.len = tn_min(tn_min(output_unsent(conn), conn->mss), output_usable_window(conn));
    plan.flags = TN_TCP_ACK | TN_TCP_PSH;
    if (plan.len == 0) {
        output_plan_tail(conn, &plan);
        if (flight->again_n > 0 || !tn_flight_has_room(conn))
            return 0;
    }
    taken = output_data(conn, &plan);
    if (taken == 0)
        return 0;
    flight->tlp_sampled = 0;
    tn_count(conn->stack, TENON_STAT_TCP_TLP);
    if (plan.is_rtx) {
        tn_flight_sent_again(conn, plan.seq, plan.seq + taken);
        conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
        tn_past_retransmit(conn);
        tn_count(conn->stack, TENON_STAT_TCP_RETRANSMIT);
    } else {
        output_sent_new(conn, &plan, taken);
        (void)tn_why_if_any(conn, (enum tenon_tcp_wait)conn->why);
    }
    flight->tlp = (tenon_u8)(plan.is_rtx ? TN_TLP_AGAIN : TN_TLP_NEW);
    flight->tlp_end = conn->snd_nxt;
    flight->tlp_from = plan.is_rtx ? plan.seq : flight->tlp_end;
    tn_trace_stretch(conn, TENON_TRACE_TLP, plan.seq, taken, plan.is_rtx ? TENON_TRACE_TLP_AGAIN : TENON_TRACE_TLP_NEW);
    return 1;
}

/* RFC 9293 3.8.4 (SHLD-12). */
TENON_INTERNAL void tn_tcp_send_keepalive(struct tenon_tcp *conn)
{
    tn_count(conn->stack, TENON_STAT_TCP_KEEPALIVE);
    tn_tcp_trace(conn, TENON_TRACE_PROBE, NULL, 1);
    output_control(conn, conn->snd_nxt - 1, TN_TCP_ACK);
}

TENON_INTERNAL void tn_tcp_send_ack(struct tenon_tcp *conn)
{
    output_control(conn, conn->snd_nxt, TN_TCP_ACK);
}

TENON_INTERNAL void tn_tcp_send_reset(struct tenon_tcp *conn)
{
    tn_count(conn->stack, TENON_STAT_TCP_RST_SENT);
    output_control(conn, conn->snd_nxt, TN_TCP_RST | TN_TCP_ACK);
}
