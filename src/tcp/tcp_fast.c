/* SPDX-License-Identifier: MIT */
/* The usual case in a straight line: header prediction, after Van Jacobson. A segment that is the next in order, on an
 * established connection, from a host that needs nothing repaired, is recognised by a few comparisons and
 * answered without asking every question of SEGMENT ARRIVES; data that is to be sent to such a host gets its headers
 * at once.
 *
 * Nothing happens here that the general path (tcp_input.c, tcp_ack.c, tcp_text.c, tcp_output.c) would not do. Whoever
 * finds something unusual returns before anything is changed, and leaves it to that. */
#include "tcp/tcp_fast.h"
#include "base/bytes.h"
#include "tcp/cc.h"
#include "wire/checksum.h"

enum { FAST_FAR_SHIFT = 28 };        /* a sixteenth of sequence space */

/* A segment that may be the one that was expected. */
struct fast_seg {
    const struct tenon_frame *frame;
    const tenon_u8 *tcp;
    tenon_u32 at, len;               /* payload: where it begins in the frame, and its bytes */
    tenon_u32 seq, ack, wnd;
    tenon_u32 ts_val;                /* only of a connection with timestamps */
};
/* ---- what has come ------------------------------------------------------------------------------------------ */

/* What a header of usual form says, it says always in the same place: words are compared with that as they
 * lie in the frame, under masks, and what differs is gathered in one word. is_v4 and has_timestamps are
 * constants.
 *
 * Up to the first two bytes of IP: to our Ethernet address, with this version, in IPv4 no options, and no
 * congestion met (ECT(1) has a bit of that, and is not looked at twice: nobody sends it who has not agreed on
 * more than we do). */
TENON_HOT tenon_u32 fast_differs_below(const struct tn_netif *netif, const tenon_u8 *ip, int is_v4)
{
    static const tenon_u8 wants[2][4] = { { 0x86, 0xDD, 0x60, 0 }, { 0x08, 0x00, 0x45, 0 } };
    static const tenon_u8 masks[2][4] = { { 0xFF, 0xFF, 0xF0, 0x10 }, { 0xFF, 0xFF, 0xFF, 0x01 } };
    const tenon_u8 *want = wants[is_v4], *mask = masks[is_v4], *mac = netif->conf.mac;

    if (TENON_UNLIKELY(netif->link_bytes == 0))
        return (get16raw(ip) ^ get16raw(want + 2)) & get16raw(mask + 2);
    return ((get32raw(ip - 2) ^ get32raw(want)) & get32raw(mask)) | (get32raw(ip - 14) ^ get32raw(mac)) |
           (get32raw(ip - 12) ^ get32raw(mac + 2));
}

/* IP goes on with TCP, and is no fragment. */
TENON_HOT tenon_u32 fast_differs_ip(const tenon_u8 *ip, int is_v4)
{
    static const tenon_u8 wants[2][4] = { { 0, 0, TN_PROTO_TCP, 0 }, { 0, 0, 0, TN_PROTO_TCP } };
    static const tenon_u8 masks[2][4] = { { 0, 0, 0xFF, 0 }, { 0x3F, 0xFF, 0, 0xFF } };

    return (get32raw(ip + (is_v4 ? 6 : 4)) ^ get32raw(wants[is_v4])) & get32raw(masks[is_v4]);
}

/* ACK and no other flag but PSH and FIN; timestamps alone, or no options, as was agreed on. */
TENON_HOT tenon_u32 fast_differs_tcp(const tenon_u8 *tcp, int has_timestamps)
{
    static const tenon_u8 wants[2][4] = { { TN_TCP_BYTES << 2, TN_TCP_ACK, 0, 0 },
                                          { (TN_TCP_BYTES + TN_TCP_TIMESTAMP_BYTES) << 2, TN_TCP_ACK, 0, 0 } };
    static const tenon_u8 mask[4] = { 0xFF, 0xFF ^ (TN_TCP_PSH | TN_TCP_FIN), 0, 0 };
    static const tenon_u8 timestamp[4] = { 1, 1, 8, TN_TCP_TIMESTAMP_BYTES - 2 };
    const tenon_u32 bits = (get32raw(tcp + 12) ^ get32raw(wants[has_timestamps])) & get32raw(mask);

    return has_timestamps ? bits | (get32raw(tcp + TN_TCP_BYTES) ^ get32raw(timestamp)) : bits;
}

/* All of that. A build that is to be small asks once, of whatever there is, and has the constants in its code
 * then: they are shorter than to look for them. */
TENON_HOT tenon_u32 fast_differs(const struct tn_netif *netif, const tenon_u8 *ip, int has_timestamps, int is_v4)
{
    const tenon_u8 *tcp = ip + tn_fast_ip_bytes(is_v4);
    tenon_u32 bits;

    if (!TENON_SMALL)
        return fast_differs_below(netif, ip, is_v4) | fast_differs_ip(ip, is_v4) |
               fast_differs_tcp(tcp, has_timestamps);
    if (is_v4)
        bits = fast_differs_below(netif, ip, 1) | fast_differs_ip(ip, 1);
    else
        bits = fast_differs_below(netif, ip, 0) | fast_differs_ip(ip, 0);
    return bits | (has_timestamps ? fast_differs_tcp(tcp, 1) : fast_differs_tcp(tcp, 0));
}

/* To us, and as long as it says, with all headers at hand and right; of TCP, of usual form, and with timestamps if they
 * were agreed on. The frame is long enough for both headers without options, of the connection's version of IP:
 * tn_fast_look() has seen to that. @return 0: something else */
TENON_HOT int fast_parse(struct fast_seg *seg, const struct tn_netif *netif, const struct tn_fast_rx *rx,
                         int has_timestamps, int is_v4)
{
    const tenon_u32 link = netif->link_bytes, first = rx->frame->spans->len - link;
    const tenon_u32 headers = tn_fast_ip_bytes(is_v4) + TN_TCP_BYTES + (has_timestamps ? TN_TCP_TIMESTAMP_BYTES : 0);
    const tenon_u8 *ip = tenon_span_data(rx->frame->spans) + link, *tcp = ip + tn_fast_ip_bytes(is_v4);
    const tenon_u32 total = is_v4 ? get16be(ip + 2) : (tenon_u32)TN_IP6_BYTES + get16be(ip + 4);

    if (first < headers)
        return 0;
    if (fast_differs(netif, ip, has_timestamps, is_v4) != 0)
        return 0;
    if (total < headers || total > rx->bytes - link - rx->merged || (is_v4 && !tn_csum_good20(ip)))
        return 0;
    seg->frame = rx->frame;
    seg->tcp = tcp;
    seg->at = link + headers;
    seg->len = rx->merged + total - headers;
    seg->seq = get32be(tcp + 4);
    seg->ack = get32be(tcp + 8);
    seg->wnd = get16be(tcp + 14);
    seg->ts_val = has_timestamps ? get32be(tcp + TN_TCP_BYTES + 4) : 0;
    return 1;
}

/* Each is compiled for itself, unless the build is to be small. */
TENON_HOT int fast_parse_one(struct fast_seg *seg, const struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    const struct tenon_tcp *conn = rx->conn;

    if (TENON_SMALL)
        return fast_parse(seg, netif, rx, (conn->flags & TN_TCP_F_TIMESTAMPS) != 0, tn_tcp_is_v4(conn));
    if (TENON_LIKELY(conn->flags & TN_TCP_F_TIMESTAMPS))
        return tn_tcp_is_v4(conn) ? fast_parse(seg, netif, rx, 1, 1) : fast_parse(seg, netif, rx, 1, 0);
    return tn_tcp_is_v4(conn) ? fast_parse(seg, netif, rx, 0, 1) : fast_parse(seg, netif, rx, 0, 0);
}

/* RFC 7323 5.3 */
static int fast_timestamp_is_new(const struct tenon_tcp *conn, const struct fast_seg *seg)
{
    return !(conn->flags & TN_TCP_F_TIMESTAMPS) || tn_seq_le(conn->ts_recent, seg->ts_val);
}

/* ---- whether it was expected ------------------------------------------------------------------------------------- */

/* Flags that say that something else is going on with what we send, or at all. */
static const tenon_u32 fast_not_sent = TN_TCP_F_HELD | TN_TCP_F_PERSIST | TN_TCP_F_PROBED | TN_TCP_F_URGENT_SND |
                                       TN_TCP_F_FORCE_RTX | TN_TCP_F_R1_TOLD | TN_TCP_F_SWS_OVERRIDE;
static const tenon_u32 fast_not = TN_TCP_F_FIN_QUEUED | TN_TCP_F_FIN_RCVD | TN_TCP_F_NO_READER;

/* Of what is in flight something has been sent more than once: nobody knows which of them arrives (Karn). */
static int fast_is_ambiguous(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (tn_seq_lt(conn->snd_una, flight->again_high))
        return 1;
    return flight->tlp_from != flight->tlp_end && flight->tlp_end - conn->snd_una - 1 < conn->snd_nxt - conn->snd_una;
}

/* Of what is in flight nothing is lost, probed, or marked. */
static int fast_sends_plainly(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if ((conn->flags & fast_not_sent) != 0 || conn->recovery != TN_RECOVERY_NONE || conn->backoff != 0 ||
        (TENON_SMALL && tn_rate_is_wanted(conn)) || conn->stack->conf.trace != NULL ||
        (conn->ecn & (TN_ECN_ECHO | TN_ECN_CWR)) != 0)
        return 0;
    if (flight == NULL)
        return conn->snd_una == conn->snd_nxt;
    return (flight->dupacks | flight->again_n | flight->tlp | flight->frto | flight->mtu_claim) == 0 &&
           flight->sack == NULL && flight->reo_wait_us == 0 && flight->probe_seq == flight->probe_end &&
           flight->lost_edge == conn->snd_una;
}

/* Nor is it known of anything to have left more than once. Asked once: whatever may change it says tn_fast_end(). */
TENON_ONCE TENON_INTERNAL int tn_fast_ask_plain(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (flight == NULL)
        return fast_sends_plainly(conn);
    if (!(flight->usual & TN_FAST_PLAIN) && fast_sends_plainly(conn) && !fast_is_ambiguous(conn))
        flight->usual |= TN_FAST_PLAIN;
    return (flight->usual & TN_FAST_PLAIN) != 0;
}

/* Nothing is reordered, or over; and what the application acknowledges can be counted. */
static int fast_is_open(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (conn->state != TENON_TCP_ESTABLISHED || (conn->flags & fast_not) != 0)
        return 0;
    return flight == NULL ? !tn_tcp_is_by_hand(conn) : flight->ooo == NULL && flight->dup_left == flight->dup_right;
}

/* Asked once: whatever may change the latter says at least tn_fast_change(). */
TENON_ONCE TENON_INTERNAL int tn_fast_ask_usual(struct tenon_tcp *conn)
{
    if (!fast_is_open(conn) || !tn_fast_is_plain(conn))
        return 0;
    if (conn->flight != NULL)
        conn->flight->usual |= TN_FAST_USUAL;
    return 1;
}

TENON_INTERNAL const char *tn_fast_check(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (flight == NULL || flight->usual == 0)
        return NULL;
    if (!fast_sends_plainly(conn) || fast_is_ambiguous(conn))
        return "it is taken for one that has sent nothing but new data, and has";
    if ((flight->usual & TN_FAST_USUAL) && !fast_is_open(conn))
        return "it is taken for a usual connection, and is none";
    return NULL;
}

/* The next in order, within the window, acknowledging what is in flight or nothing new. */
TENON_HOT int fast_is_predicted(struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const tenon_u32 room = conn->rcv_adv - conn->rcv_nxt, acked = seg->ack - conn->snd_una;

    if (seg->seq != conn->rcv_nxt || ((room - seg->len) & 0x80000000UL) || acked > conn->snd_nxt - conn->snd_una)
        return 0;
    if ((acked | seg->len) == 0)
        return 0;    /* a duplicate, an update of the window, or a keep-alive */
    if (!tn_fast_is_usual(conn))
        return 0;
    return !(seg->tcp[13] & TN_TCP_FIN) && fast_timestamp_is_new(conn, seg);
}

/* Both addresses. */
TENON_INLINE tenon_u32 fast_ends_bytes(int is_v4)
{
    return is_v4 ? 8 : 32;
}

/* The TCP header begins at `at`; so many bytes. */
TENON_APART int fast_sum_is_good(const struct tenon_tcp *conn, const struct tenon_frame *frame, tenon_u32 at,
                                 tenon_u32 bytes)
{
    const tenon_u32 ends = fast_ends_bytes(tn_tcp_is_v4(conn));    /* the addresses stand right before the TCP header */
    struct tn_csum csum;

    tn_csum_init_hook(&csum, conn->stack->conf.checksum);
    csum.sum = tn_csum_join(TN_PROTO_TCP, bytes);
    tn_csum_add_spans(&csum, frame->spans, at - ends, ends + bytes);
    return csum.sum == 0xFFFFUL;
}

TENON_HOT int fast_csum_good(const struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const struct tenon_frame *frame = seg->frame;
    tenon_u32 at;

    if (TENON_LIKELY(frame->csum != TENON_CSUM_NONE))
        return 1;
    at = (tenon_u32)(seg->tcp - tenon_span_data(frame->spans));
    return fast_sum_is_good(conn, frame, at, seg->at + seg->len - at);
}

/* ---- what it acknowledges -------------------------------------------------------------------------------------- */

/* What is acknowledged: [una, end), of `flight` bytes that were in flight. */
struct fast_ack {
    tenon_u32 una, end, flight;
    tenon_u32 rtt_us;                /* of the newest */
};

/* RFC 7661: a window that is not used up does not grow. In slow start half of it counts as used. */
static int fast_is_limited(const struct tenon_tcp *conn, tenon_u32 in_flight)
{
    return !(conn->flags & TN_TCP_F_CWND_LIMITED) &&
           (conn->cc.cwnd >= conn->cc.ssthresh || 2 * in_flight < conn->cc.cwnd);
}

/* For who asks how fast things arrive. That nothing is left to be sent is noticed when the connection has its turn. */
TENON_APART void fast_tell_rate(struct tenon_tcp *conn, struct tn_ack *ack, const struct tn_sent *newest)
{
    ack->has_newest = 1;
    ack->newest = *newest;
    tn_tcp_tell_rate(conn, ack);
    tn_cc_told(conn);
    tn_pace_update(conn);
    tn_tcp_make_ready(conn);
}

/* A pacing rate is made anew when the window has changed by a sixteenth, and once in a millisecond. */
static void fast_tell_now(struct tenon_tcp *conn, const struct fast_ack *acked, const struct tn_sent *newest)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now_ms = conn->stack->now_ms;
    struct tn_ack ack;

    ack.una = acked->una;
    ack.flight = acked->flight;
    ack.acked = ack.delivered = acked->end - acked->una;
    ack.lost = ack.ce = 0;
    ack.fresh_rtt_us = acked->rtt_us;
    tn_path_confirm(conn->stack, conn->path);
    if (tn_rate_is_fast(conn)) {
        fast_tell_rate(conn, &ack, newest);
        return;
    }
    tn_tcp_tell_acked(conn, &ack);
    conn->flags &= ~(tenon_u32)TN_TCP_F_CWND_LIMITED;
    if (flight->told_ms == now_ms && conn->cc.cwnd - flight->paced_cwnd + conn->cc.cwnd / 16 <= conn->cc.cwnd / 8)
        return;
    flight->told_ms = now_ms;
    flight->paced_cwnd = conn->cc.cwnd;
    tn_pace_update(conn);
}

/* A window that may not grow has little to learn from an ACK: the congestion control is told of those of a millisecond
 * together, so that its clock goes on. So is the neighbour; and that marks lag behind is seen then. Who asks for rates
 * was never told in this millisecond: tn_cc_told(). */
static int fast_tells_later(const struct tenon_tcp *conn, tenon_u32 in_flight)
{
    const struct tn_flight *flight = conn->flight;

    return flight->told_ms == conn->stack->now_ms && fast_is_limited(conn, in_flight) &&
           flight->untold >> FAST_FAR_SHIFT == 0;
}

/* The records of what is acknowledged go; all: nothing is left in flight. @return the last of them: the one that left
 * last */
TENON_HOT const struct tn_sent *fast_take_records(struct tn_flight *flight, tenon_u32 ack, int all)
{
    const struct tn_sent *record;

    if (!TENON_SMALL && all) {
        record = tn_flight_at(flight, flight->last - 1);
        flight->first = flight->last = flight->edge = 0;    /* so that few have to be near */
        return record;
    }
    for (;;) {
        record = tn_flight_at(flight, flight->first);
        if (tn_seq_gt(record->end, ack))
            break;
        flight->first++;
        if (record->end == ack || flight->first == flight->last)
            break;
    }
    if (flight->first == flight->last)
        flight->first = flight->last = 0;    /* so that few have to be near */
    flight->edge = flight->first;
    return record;
}

/* RFC 8985 6.2 step 2 */
TENON_APART void fast_take_rack(struct tenon_tcp *conn, tenon_u32 end, tenon_u32 sent_us)
{
    struct tn_flight *flight = conn->flight;

    if (flight->rack_valid && tn_seq_gt(flight->rack_sent_us, sent_us))
        return;
    flight->rack_valid = 1;
    flight->rack_sent_us = sent_us;
    flight->rack_end = end;
    flight->rack_rtt_us = conn->stack->now_us - sent_us;
}

TENON_APART void fast_take_size(struct tenon_tcp *conn, tenon_u32 size)
{
    if (conn->mtu_acked < size)
        conn->mtu_acked = (tenon_u16)size;
}

/* RFC 6298 2, RFC 8985 6.2 step 1: what the arrival of the newest says. */
TENON_HOT void fast_take_rtt(struct tenon_tcp *conn, struct fast_ack *acked, const struct tn_sent *newest)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now = conn->stack->now_us, sent_us = newest->sent_us;

    flight->tlp_sampled = 1;
    acked->rtt_us = tn_tcp_rtt_of(now - sent_us);
    if (conn->mtu_acked < newest->size)
        fast_take_size(conn, tn_min(acked->end - acked->una, newest->size));
    tn_tcp_take_min_rtt(conn, acked->rtt_us);
    if (!(conn->flags & TN_TCP_F_RTT_TIMING) || !tn_seq_gt(acked->end, flight->rtt_seq))
        return;
    conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
    tn_tcp_rtt_sample(conn, now - flight->rtt_start_us);
}

TENON_APART void fast_pull_marks(struct tn_flight *flight, tenon_u32 una)
{
    flight->recover = tn_seq_max(flight->recover, una);
    flight->ecn_recover = tn_seq_max(flight->ecn_recover, una);
    flight->again_high = tn_seq_max(flight->again_high, una);
    flight->tlp_from = flight->tlp_end = una;
}

/* The marks of recovery lie behind what is acknowledged. Two go along with it; the others, which say no more
 * than that they lie there, before they are so far behind that they would seem to lie ahead: twice as far as
 * this, and a window. */
static void fast_pull_far_marks(struct tn_flight *flight, tenon_u32 una)
{
    if (((una - flight->recover) | (una - flight->ecn_recover) | (una - flight->again_high)) >> FAST_FAR_SHIFT)
        fast_pull_marks(flight, una);
}

/* What the ACK says of time, of the network, and to the congestion control. */
TENON_HOT void fast_learn(struct tenon_tcp *conn, struct fast_ack *acked, const struct tn_sent *newest, int all)
{
    fast_take_rtt(conn, acked, newest);
    if (fast_tells_later(conn, acked->flight)) {
        conn->flight->untold += acked->end - acked->una;
        if (!all)
            fast_take_rack(conn, acked->end, newest->sent_us);
        return;
    }
    fast_take_rack(conn, acked->end, newest->sent_us);
    fast_pull_far_marks(conn->flight, acked->una);
    fast_tell_now(conn, acked, newest);
}

/* RFC 9293 3.10.7.4, fifth step, and what follows from it: up to `end`, and of that data up to `data_end`.
 * is_over: and our FIN. */
TENON_HOT void fast_take_ack(struct tenon_tcp *conn, tenon_u32 end, tenon_u32 data_end, int is_over)
{
    const int all = end == conn->snd_nxt;
    struct tn_flight *flight = conn->flight;
    const struct tn_sent *newest;
    struct fast_ack acked;

    acked.una = conn->snd_una;
    acked.end = end;
    acked.flight = conn->snd_nxt - acked.una;
    conn->snd_una = end;
    conn->progress_ms = conn->stack->now_ms;
    flight->total_delivered += end - acked.una;
    flight->rtx_nxt = flight->lost_edge = end;
    flight->reno_sacked = 0;
    newest = fast_take_records(flight, end, all);
    tn_sendq_pop(conn, data_end);
    if (is_over)    /* nothing will be sent: no window has to be computed, nor how long to wait */
        tn_path_confirm(conn->stack, conn->path);
    else
        fast_learn(conn, &acked, newest, all);
    conn->flags &= ~(tenon_u32)(TN_TCP_F_CWND_LIMITED | TN_TCP_F_RTX_ARMED | TN_TCP_F_PERSIST);
    if (all)
        flight->rack_valid = 0;    /* times mean something for half an hour only */
    else
        tn_tcp_arm_usual(conn, 1);
}

TENON_HOT void fast_acked(struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const tenon_u32 acked = seg->ack - conn->snd_una;

    fast_take_ack(conn, seg->ack, seg->ack, 0);
    if (conn->events->acked != NULL)
        conn->events->acked(conn, conn->app, acked);
}

/* Whether this acknowledges our FIN. */
static int fast_ends_fin(const struct tenon_tcp *conn, tenon_u32 ack)
{
    return (conn->flags & TN_TCP_F_FIN_QUEUED) && ack == conn->snd_end + 1;
}

TENON_INTERNAL int tn_fast_ack(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    if (!TN_FAST)
        return 0;
    if (conn->flight == NULL || seg->options.nsacks > 0 || (seg->flags & TN_TCP_ECE) || !fast_sends_plainly(conn))
        return 0;
    if (seg->ack == conn->snd_una)
        return conn->snd_una == conn->snd_nxt;    /* nothing is in flight that it could be about */
    if (tn_seq_gt(seg->ack, conn->snd_nxt) || fast_is_ambiguous(conn))
        return 0;
    fast_take_ack(conn, seg->ack, tn_seq_min(seg->ack, conn->snd_end), fast_ends_fin(conn, seg->ack));
    return 1;
}

/* ---- what it brings --------------------------------------------------------------------------------------------- */

/* The payload, where it is not a part of the only span. What has been put together has its headers in a span of their
 * own; so have frames of many ports. @return as tn_tcp_deliver() */
static int fast_deliver_many(struct tenon_tcp *conn, const struct fast_seg *seg, tenon_u32 merged)
{
    const struct tenon_frame *frame = seg->frame;
    const struct tenon_span *payload = frame->spans + 1;
    struct tenon_span spans[TN_RX_SPANS_MAX];
    unsigned n = frame->nspans - 1U;
    struct tn_gather to;

    if (merged == 0 && !(n == 1 && seg->at == frame->spans->len && payload->len == seg->len)) {
        tn_gather_init(&to, spans, TN_RX_SPANS_MAX);
        tn_spans_slice(&to, frame->spans, frame->nspans, seg->at, seg->len);
        payload = spans;
        n = to.n;
    }
    return tn_tcp_deliver(conn, payload, n, seg->len);
}

/* The same of a frame of one span. */
TENON_HOT int fast_deliver(struct tenon_tcp *conn, const struct tenon_frame *frame, tenon_u32 at, tenon_u32 len)
{
    struct tenon_span span;

    span.buf = frame->spans->buf;
    span.off = frame->spans->off + at;
    span.len = len;
    return tn_tcp_deliver(conn, &span, 1, len);
}

/* Something waits that is more than an acknowledgement. */
static int fast_has_news(const struct tenon_tcp *conn)
{
    return conn->snd_end != conn->snd_nxt || (!TENON_SMALL && (conn->flags & TN_TCP_F_FIN_QUEUED) != 0);
}

/* What the application has to answer leaves when its handler is over, if nothing more of the connection comes in this
 * burst, and takes the acknowledgement along. What does not leave waits as usual. @return 1: something has left */
static int fast_answer(struct tenon_tcp *conn)
{
    const tenon_u32 nxt = conn->snd_nxt;

    if (!(conn->flags & TN_TCP_F_READY))
        return 0;
    conn->flags &= ~(tenon_u32)TN_TCP_F_READY;
    if (conn->state == TENON_TCP_CLOSED || !fast_has_news(conn) || !tn_fast_output(conn))
        tn_tcp_make_ready(conn);
    return conn->snd_nxt != nxt;
}

/* is_last: nothing more of the connection comes in this burst, not even a FIN. @return 1: it was answered, and nothing
 * is left to be done */
TENON_HOT int fast_text(struct tenon_tcp *conn, const struct fast_seg *seg, tenon_u32 merged, int is_last)
{
    const struct tenon_frame *frame = seg->frame;
    const int serves = is_last && !(conn->flags & TN_TCP_F_READY);
    struct tenon *stack = conn->stack;
    int answered = 0;
    tenon_u32 one;

    if (serves)
        stack->tcp.serving = conn;
    if (TENON_LIKELY(frame->nspans == 1))
        (void)fast_deliver(conn, frame, seg->at, seg->len);
    else
        (void)fast_deliver_many(conn, seg, merged);
    if (serves) {
        stack->tcp.serving = NULL;
        answered = fast_answer(conn);
    }
    one = frame->seg_kind != TENON_SEG_NONE ? frame->seg_bytes : seg->len;
    if (answered)
        tn_tcp_note_size(conn, one);
    else if (conn->state != TENON_TCP_CLOSED)
        tn_tcp_acknowledge(conn, one);
    return answered;
}

/* The handlers may have done anything. */
static void fast_settle(struct tenon_tcp *conn)
{
    if (conn->snd_end != conn->snd_nxt || (conn->flags & TN_TCP_F_FIN_QUEUED))
        tn_tcp_make_ready(conn);
    else if (conn->snd_una == conn->snd_nxt && !(conn->flags & TN_TCP_F_READY))
        tn_flight_rest(conn);
}

/* RFC 7323 4.3: TS.Recent follows the segment that the next ACK answers. RFC 9293 3.10.7.4: an ACK without
 * text may have overtaken this segment, and then it knew the window better. */
static void fast_take_header(struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const tenon_u32 wnd = seg->wnd << conn->snd_wscale;

    conn->keepalives = 0;
    conn->last_rcv_ms = conn->stack->now_ms;
    if ((conn->flags & TN_TCP_F_TIMESTAMPS) && tn_seq_le(seg->seq, conn->rcv_acked))
        conn->ts_recent = seg->ts_val;
    if (seg->ack == conn->snd_una && tn_seq_gt(conn->snd_wl1, seg->seq))
        return;
    conn->snd_wnd = wnd;
    if (conn->snd_wnd_max < wnd)
        conn->snd_wnd_max = wnd;
    conn->snd_wl1 = seg->seq;
}

/* ---- what begins and ends a connection --------------------------------------------------------------- */

/* What the peer may send to a connection in this state; it acknowledges so much, and brings text, a FIN, or nothing.
 * What answers our SYN-ACK may have nothing to do with Fast Open, nor with a SYN of ours before that. */
static int fast_fits_state(const struct tenon_tcp *conn, tenon_u32 acked, int brings)
{
    switch (conn->state) {
    case TENON_TCP_SYN_RECEIVED:
        return !(conn->flags & (TN_TCP_F_ACTIVE | TN_TCP_F_FASTOPEN)) && conn->snd_nxt - conn->snd_una == 1 &&
               acked == 1;
    case TENON_TCP_ESTABLISHED:
    case TENON_TCP_FIN_WAIT_1: return 1;
    case TENON_TCP_FIN_WAIT_2: return !(conn->flags & TN_TCP_F_FIN_RCVD);
    case TENON_TCP_CLOSE_WAIT:
    case TENON_TCP_CLOSING:
    case TENON_TCP_LAST_ACK: return !brings;
    default: return 0;
    }
}

/* 1, or 0: FIN is the last bit of the flags. */
static tenon_u32 fast_fin_of(const struct fast_seg *seg)
{
    return seg->tcp[13] & (tenon_u32)TN_TCP_FIN;
}

/* The next in order and news, as what is predicted, but to a connection that opens or closes, or with a FIN. */
static int fast_is_next(struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const tenon_u32 room = conn->rcv_adv - conn->rcv_nxt, acked = seg->ack - conn->snd_una;
    const tenon_u32 len = seg->len + fast_fin_of(seg);

    if (seg->seq != conn->rcv_nxt || ((room - len) & 0x80000000UL) ||
        acked > conn->snd_nxt - conn->snd_una || (acked | len) == 0)
        return 0;
    if (conn->flight == NULL || conn->flight->ooo != NULL || !fast_fits_state(conn, acked, len > 0))
        return 0;
    return fast_timestamp_is_new(conn, seg) && tn_fast_is_plain(conn);
}

/* @return 0: the connection is gone */
static int fast_next_ack(struct tenon_tcp *conn, tenon_u32 ack)
{
    const tenon_u32 acked = ack - conn->snd_una;

    if (conn->state == TENON_TCP_SYN_RECEIVED) {
        conn->snd_una = conn->flight->rtx_nxt = conn->flight->lost_edge = ack;
        tn_tcp_handshake_over(conn, 0);
        return conn->state != TENON_TCP_CLOSED;
    }
    if (acked == 0)
        return 1;
    fast_take_ack(conn, ack, tn_seq_min(ack, conn->snd_end), fast_ends_fin(conn, ack));
    if (conn->snd_una == conn->snd_nxt && tn_flight_has_grown(conn->flight))
        tn_flight_settle(conn);    /* what that does besides, fast_take_ack() has done */
    if (conn->state != TENON_TCP_LAST_ACK || !tn_tcp_fin_acked(conn))
        tn_tcp_make_ready(conn);
    return tn_tcp_ack_over(conn, acked);
}

/* SEGMENT ARRIVES for synchronized states, where all of its questions have been answered. */
static void fast_take_next(struct tenon_tcp *conn, const struct fast_seg *seg, tenon_u32 merged)
{
    const tenon_u32 wnd = conn->snd_wnd;

    tn_count(conn->stack, TENON_STAT_TCP_RCVD);
    fast_take_header(conn, seg);
    if (conn->snd_wnd != wnd)
        tn_tcp_make_ready(conn);
    if (!fast_next_ack(conn, seg->ack))
        return;
    if (seg->len > 0)
        (void)fast_text(conn, seg, merged, 0);
    if (fast_fin_of(seg) && conn->state != TENON_TCP_CLOSED)
        tn_tcp_take_fin(conn);
}

/* ---- what was not expected ----------------------------------------------------------------------- */

/* The packet at its payload, as the layers would hand it to TCP, which have nothing to find out about it. */
static void fast_describe(struct tn_pkt *pkt, struct tn_netif *netif, const struct tn_fast_rx *rx, tenon_u32 link)
{
    const int is_v4 = tn_tcp_is_v4(rx->conn);
    const struct tenon_frame *frame = rx->frame;
    tenon_u8 *ip = tenon_span_data(frame->spans) + link;
    const tenon_u32 headers = tn_fast_ip_bytes(is_v4) + (tenon_u32)(ip[tn_fast_ip_bytes(is_v4) + 12] >> 4) * 4;

    tn_pkt_clear(pkt);
    pkt->spans = frame->spans;
    pkt->nspans = frame->nspans;
    pkt->off = link + headers;
    pkt->l3 = ip;
    pkt->l3_len = rx->merged + (is_v4 ? get16be(ip + 2) : (tenon_u32)TN_IP6_BYTES + get16be(ip + 4));
    pkt->len = pkt->l3_len - headers;
    pkt->head = ip + headers;
    pkt->head_len = tn_min(frame->spans->len - pkt->off, pkt->len);
    pkt->netif = netif;
    pkt->csum = TENON_CSUM_GOOD;
    pkt->seg_kind = frame->seg_kind;
    pkt->seg_bytes = frame->seg_bytes;
    pkt->flow_hash = frame->flow_hash;
    pkt->merged = rx->merged;
    pkt->conn = rx->conn;
    pkt->src = rx->conn->path->dst;
    pkt->dst = rx->conn->ends.local;
    pkt->proto = TN_PROTO_TCP;
    pkt->ttl = ip[is_v4 ? 8 : 7];
    pkt->tos = is_v4 ? ip[1] : (tenon_u8)(get16be(ip) >> 4 & 0xFF);
    pkt->is_v4 = (tenon_u8)is_v4;
    if (pkt->head_len == 0)
        tn_pkt_pull(pkt, 0);    /* it begins in the next span */
}

/* A segment of usual form that is something else than the next in order: it goes on where SEGMENT ARRIVES begins for
 * synchronized states. @return as tn_fast_input() */
TENON_APART int fast_hand_on(struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    const tenon_u32 link = netif->link_bytes;
    const tenon_u8 *tcp = tenon_span_data(rx->frame->spans) + link + tn_fast_ip_bytes(tn_tcp_is_v4(rx->conn));
    struct tn_pkt pkt;
    struct tn_seg seg;

    if (TENON_SMALL || tn_tcp_is_calling(rx->conn))
        return 0;
    tn_count(rx->conn->stack, TENON_STAT_TCP_RCVD);
    fast_describe(&pkt, netif, rx, link);
    tn_clear(&seg, sizeof(seg));
    seg.pkt = &pkt;
    seg.sport = get16be(tcp);
    seg.dport = get16be(tcp + 2);
    seg.seq = get32be(tcp + 4);
    seg.ack = get32be(tcp + 8);
    seg.flags = tcp[13];
    seg.wnd = get16be(tcp + 14);
    seg.len = pkt.len + (tenon_u32)(tcp[13] & TN_TCP_FIN);
    if (tcp[12] > TN_TCP_BYTES << 2) {    /* fast_differs_tcp() */
        seg.options.has_timestamp = 1;
        seg.options.ts_val = get32be(tcp + TN_TCP_BYTES + 4);
        seg.options.ts_ecr = get32be(tcp + TN_TCP_BYTES + 8);
    }
    tn_tcp_input_synchronized(rx->conn, &seg);
    return 1;
}

/* What was not predicted: its header is read once more, so that one that is predicted never has to be in
 * memory. Payload begins at `at` of the frame. @return as tn_fast_input() */
TENON_APART int fast_other(struct tn_netif *netif, const struct tn_fast_rx *rx, const tenon_u8 *tcp, tenon_u32 at,
                           tenon_u32 len)
{
    struct fast_seg seg;

    seg.frame = rx->frame;
    seg.tcp = tcp;
    seg.at = at;
    seg.len = len;
    seg.seq = get32be(tcp + 4);
    seg.ack = get32be(tcp + 8);
    seg.wnd = get16be(tcp + 14);
    seg.ts_val = tcp[12] > TN_TCP_BYTES << 2 ? get32be(tcp + TN_TCP_BYTES + 4) : 0;    /* fast_differs_tcp() */
    if (TENON_SMALL || !fast_is_next(rx->conn, &seg))
        return fast_hand_on(netif, rx);
    fast_take_next(rx->conn, &seg, rx->merged);
    return 1;
}

TENON_APART int fast_ask_heard(const struct tenon_tcp *conn, struct tn_flight *flight, const struct tn_netif *netif)
{
    if (!tn_fast_is_heard(conn, netif))
        return 0;
    if (!TENON_SMALL && flight != NULL) {
        flight->heard_gen = conn->stack->link.gen;
        flight->heard_netif = netif->index;
    }
    return 1;
}

/* Found out once for as long as nothing changes; that there is a block says that it is not closed. */
TENON_HOT int fast_is_heard(const struct tenon_tcp *conn, struct tn_flight *flight, const struct tn_netif *netif)
{
    if (TENON_LIKELY(!TENON_SMALL && flight != NULL && flight->heard_gen == conn->stack->link.gen &&
                     flight->heard_netif == netif->index))
        return 1;
    return fast_ask_heard(conn, flight, netif);
}

TENON_INTERNAL int tn_fast_input(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    struct tenon_tcp *conn = rx->conn;
    struct tn_flight *flight = conn->flight;
    struct fast_seg seg;

    if (!TN_FAST || TENON_UNLIKELY(stack->keeps != TENON_KEEP_ALL))    /* the short way keeps text */
        return 0;
    if (!fast_parse_one(&seg, netif, rx) || !fast_is_heard(conn, flight, netif) || !fast_csum_good(conn, &seg))
        return 0;
    if (!fast_is_predicted(conn, &seg))
        return fast_other(netif, rx, seg.tcp, seg.at, seg.len);
    tn_count(stack, TENON_STAT_TCP_RCVD);
    tn_count(stack, TENON_STAT_TCP_PREDICTED);
    fast_take_header(conn, &seg);
    if (seg.ack != conn->snd_una)
        fast_acked(conn, &seg);
    if (seg.len > 0 && conn->state != TENON_TCP_CLOSED && fast_text(conn, &seg, rx->merged, rx->is_last) &&
        !TENON_SMALL)
        return 1;
    if (conn->state != TENON_TCP_CLOSED)
        fast_settle(conn);
    return 1;
}
