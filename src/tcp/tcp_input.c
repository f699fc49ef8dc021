/* SPDX-License-Identifier: MIT */
/* SEGMENT ARRIVES (RFC 9293 3.10.7), its checks in its order. */
#include "tcp/tcp_internal.h"

/* ---- answers that are limited ------------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_ack_now(struct tenon_tcp *conn)
{
    conn->flags |= TN_TCP_F_ACK_NOW;
    tn_tcp_make_ready(conn);
}

/* RFC 5961 7: ten in five seconds, counted per connection: a limit shared by connections could be read by
 * somebody with a connection of his own (CVE-2016-5696). Each takes half a second of those that have passed since
 * challenge_ms, of which five count. */
TENON_INTERNAL void tn_tcp_challenge_ack(struct tenon_tcp *conn)
{
    struct tn_told *told = tn_told_get(conn);
    struct tenon *stack = conn->stack;

    if (told != NULL && stack->now_ms - told->challenge_ms > TN_CHALLENGE_MS)
        tn_told_begin(told, stack->now_ms);
    if (told == NULL || stack->now_ms - told->challenge_ms < TN_CHALLENGE_MS / 10) {
        tn_count(stack, TENON_STAT_TCP_CHALLENGE_LIMITED);
        return;
    }
    told->challenge_ms += TN_CHALLENGE_MS / 10;
    tn_count(stack, TENON_STAT_TCP_CHALLENGE_ACK);
    tn_tcp_ack_now(conn);
}

static void input_drop(struct tenon_tcp *conn, const struct tn_seg *seg, enum tenon_stat stat)
{
    tn_count(conn->stack, stat);
    tn_tcp_trace(conn, TENON_TRACE_DROPPED, seg, (tenon_u32)stat);
}

/* ---- options of a SYN ------------------------------------------------------------------------------------ */

/* RFC 9293 3.7.1 (MUST-15), RFC 7323 2.2 and 3.2, RFC 2018 2. What we did not offer is not agreed on. */
TENON_INTERNAL void tn_tcp_read_syn_options(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const struct tn_tcp_options *options = &seg->options;
    const int is_v4 = tn_tcp_is_v4(conn);
    tenon_u32 flags = conn->flags;

    conn->peer_mss = (tenon_u16)(is_v4 ? 536 : 1220);
    if (options->has_mss)
        conn->peer_mss = (tenon_u16)tn_max(options->mss, conn->stack->conf.tcp_mss_min);
    if (!options->has_sack_permitted)
        flags &= ~(tenon_u32)TN_TCP_F_SACK;
    if (!options->has_timestamp)
        flags &= ~(tenon_u32)TN_TCP_F_TIMESTAMPS;
    if (!options->has_wscale)
        flags &= ~(tenon_u32)TN_TCP_F_WSCALE;
    conn->flags = flags;
    if (!TENON_WITH_SCALE)
        return;
    if (TN_FAST && !options->has_timestamp)
        conn->flight->header.tcp_bytes = 0;    /* tn_fast_syn() has made room for them */
    if (flags & TN_TCP_F_TIMESTAMPS)
        conn->ts_recent = options->ts_val;
    if (flags & TN_TCP_F_WSCALE) {
        conn->snd_wscale = (tenon_u8)tn_min(options->wscale, 14);    /* RFC 7323 2.3 */
        return;
    }
    conn->snd_wscale = 0;
    conn->rcv_wscale = 0;
}

/* ---- SYN-SENT (RFC 9293 3.10.7.3) --------------------------------------------------------------------------- */

/* The state of reception begins with the peer's SYN. */
static void input_take_syn(struct tenon_tcp *conn, struct tn_seg *seg)
{
    conn->flight->irs = seg->seq;
    conn->rcv_nxt = seg->seq + 1;
    conn->rcv_adv = conn->rcv_nxt + tn_min(65535UL, tn_tcp_opt(conn, TENON_TCP_RCV_BUF));
    conn->rcv_acked = conn->rcv_nxt;
    tn_tcp_read_syn_options(conn, seg);
    tn_ecn_take_syn(conn, seg);
    conn->snd_wnd = seg->wnd;    /* RFC 7323 2.2: never scaled in a SYN */
    conn->snd_wnd_max = seg->wnd;
    conn->snd_wl1 = seg->seq;
    /* The SYN is done with; what follows begins one later. */
    seg->seq++;
    seg->len--;
    seg->flags = (tenon_u8)(seg->flags & ~TN_TCP_SYN);
}

/* An active open is acknowledged. Data of our SYN that the peer has taken is done with; the rest is new data again
 * (RFC 7413 4.2.2). @return bytes that it has taken */
static tenon_u32 input_syn_acked(struct tenon_tcp *conn, tenon_u32 ack)
{
    const tenon_u32 data = TENON_WITH_COOKIES ? ack - (conn->flight->iss + 1) : 0;

    conn->snd_una = conn->snd_nxt = ack;
    tn_flight_begin(conn, ack);
    if (data > 0)
        tn_sendq_pop(conn, ack);
    return data;
}

/* The SYN of a passive open is acknowledged; data may have followed it (RFC 7413 4.2.2). */
static void input_syn_taken(struct tenon_tcp *conn)
{
    conn->snd_una = conn->flight->iss + 1;
    if (TENON_WITH_FLIGHT)
        conn->flight->rtx_nxt = conn->flight->lost_edge = conn->snd_una;
}

TENON_INTERNAL void tn_tcp_handshake_over(struct tenon_tcp *conn, tenon_u32 data_acked)
{
    if (conn->backoff == 0 && (conn->flags & TN_TCP_F_RTT_TIMING))
        tn_tcp_rtt_sample(conn, conn->stack->now_us - conn->flight->rtt_start_us);
    conn->flags &= ~(tenon_u32)(TN_TCP_F_SYN_QUEUED | TN_TCP_F_GIVE_COOKIE | TN_TCP_F_RTT_TIMING);
    tn_tcp_established(conn);
    if (TENON_WITH_COOKIES && conn->state != TENON_TCP_CLOSED && data_acked > 0 && conn->events->acked != NULL)
        conn->events->acked(conn, conn->app, data_acked);
}

static void input_syn_ack(struct tenon_tcp *conn, struct tn_seg *seg)
{
    tenon_u32 data;

    input_take_syn(conn, seg);
    tn_fastopen_answered(conn, seg);
    data = input_syn_acked(conn, seg->ack);
    conn->flags |= TN_TCP_F_ACK_NOW;
    tn_tcp_handshake_over(conn, data);
    if (conn->state != TENON_TCP_CLOSED && seg->len > 0)
        tn_tcp_text_input(conn, seg);
}

/* In SYN-SENT and SYN-RECEIVED: our SYN, and of what was sent with it or behind it as much as the peer likes. */
static int input_acks_syn(const struct tenon_tcp *conn, tenon_u32 ack)
{
    return TENON_WITH_COOKIES ? tn_seq_between(conn->flight->iss + 1, ack, conn->snd_nxt) : ack == conn->snd_nxt;
}

/* Both sides have sent a SYN (RFC 9293 3.5, figure 7). */
static void input_simultaneous_syn(struct tenon_tcp *conn, struct tn_seg *seg)
{
    input_take_syn(conn, seg);
    tn_tcp_update_mss(conn);
    tn_tcp_set_state(conn, TENON_TCP_SYN_RECEIVED);
    conn->flags |= TN_TCP_F_SYN_QUEUED;
    tn_tcp_make_ready(conn);
}

static void input_syn_sent(struct tenon_tcp *conn, struct tn_seg *seg)
{
    if ((seg->flags & TN_TCP_ACK) && !input_acks_syn(conn, seg->ack)) {
        input_drop(conn, seg, TENON_STAT_TCP_BAD_ACK);
        tn_tcp_reset_reply(conn->stack, seg);
        return;
    }
    if (seg->flags & TN_TCP_RST) {
        if (!(seg->flags & TN_TCP_ACK))
            return;
        tn_count(conn->stack, TENON_STAT_TCP_RST_RCVD);
        tn_tcp_end(conn, TENON_EREFUSED);
        return;
    }
    if (!(seg->flags & TN_TCP_SYN))
        return;
    conn->last_rcv_ms = conn->stack->now_ms;
    tn_tcp_trace(conn, TENON_TRACE_RECEIVED, seg, 0);
    if (seg->flags & TN_TCP_ACK)
        input_syn_ack(conn, seg);
    else if (TENON_WITH_CROSSING)
        input_simultaneous_syn(conn, seg);
}

/* ---- synchronized states (RFC 9293 3.10.7.4) ------------------------------------------------------------------ */

/* RFC 9293 3.5.2: a reset takes its number from the ACK field of what it answers. While something is held that lies
 * below rcv_nxt, and nothing but this one number counts there (RFC 5961 3.2): see input_reset(). */
static int input_resets_held(const struct tenon_tcp *conn, const struct tn_seg *seg)
{
    return (seg->flags & TN_TCP_RST) && seg->seq == conn->rcv_acked;
}

/* Table 6, measured from rcv_nxt:
 *
 *        rcv_nxt                 rcv_adv
 *   --------|======= window ========|---------->
 *
 * A closed window still admits the next segment in order: its ACK, URG and RST count ("special allowance",
 * MUST-66), its text is trimmed to nothing.
 *
 * Who has filled our window acknowledges from its right edge, which by the table lies outside. If we did not hear that
 * while something of the text is missing, and the peer waited for what we cannot know either, neither would ever hear
 * the other again (decision 0007). */
static int input_in_window(const struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 window = tn_seq_lt(conn->rcv_nxt, conn->rcv_adv) ? conn->rcv_adv - conn->rcv_nxt : 0;
    const tenon_u32 first = seg->seq - conn->rcv_nxt;
    const tenon_u32 last = first + seg->len - 1;    /* meaningful only if len > 0 */

    if (first == 0 || (TENON_WITH_HOLD && input_resets_held(conn, seg)))
        return 1;
    if (window == 0)
        return 0;
    if (first == window && seg->len == 0)
        return (seg->flags & (TN_TCP_SYN | TN_TCP_RST)) == 0;
    return first < window || (seg->len > 0 && last < window);
}

/* What was overtaken by the retransmission of something before it carries an older timestamp and is no duplicate of
 * long ago: in this time no connection of less than 340 Gbit/s comes round (decision 0007). */
enum { INPUT_PAWS_SLACK_MS = 100 };

/* RFC 7323 5.5: after 24 days of silence the comparison means nothing. */
static int input_remembers(const struct tenon_tcp *conn)
{
    return conn->stack->now_ms - conn->last_rcv_ms < 24UL * 86400UL * 1000UL;
}

/* RFC 7323 5.3 R1. @return 1: the segment is too old */
static int input_is_old(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 behind = conn->ts_recent - seg->options.ts_val;

    if (!tn_tcp_has_timestamps(conn) || (seg->flags & TN_TCP_RST) || !seg->options.has_timestamp)
        return 0;
    if (!tn_seq_lt(seg->options.ts_val, conn->ts_recent))
        return 0;
    if (behind <= INPUT_PAWS_SLACK_MS && seg->len > 0 && tn_seq_ge(seg->seq, conn->rcv_nxt))
        return 0;
    return input_remembers(conn);
}

/* RFC 7323 4.3: TS.Recent follows the segment that the next ACK answers. */
static void input_take_timestamp(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    if (!tn_tcp_has_timestamps(conn) || !seg->options.has_timestamp || tn_seq_gt(seg->seq, conn->rcv_acked))
        return;
    if (tn_seq_lt(seg->options.ts_val, conn->ts_recent) && input_remembers(conn))
        return;
    conn->ts_recent = seg->options.ts_val;
}

TENON_INTERNAL void tn_tcp_heard(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    input_take_timestamp(conn, seg);
    conn->last_rcv_ms = conn->stack->now_ms;
    if (TENON_WITH_WATCH)
        conn->keepalives = 0;
}

/* Text that we have acknowledged, not longer ago than the peer can have had in flight: our ACK was lost. */
static int input_is_repetition(const struct tenon_tcp *conn, const struct tn_seg *seg)
{
    return seg->len > 0 && !(seg->flags & TN_TCP_SYN) &&
           conn->rcv_nxt - (seg->seq + seg->len) <= tn_tcp_opt(conn, TENON_TCP_RCV_BUF);
}

/* An unacceptable segment is answered with an ACK, unless it is a reset. But for repetitions the answer is
 * limited, so that two stacks cannot keep each other busy, and guesses cost no answers (RFC 5961 7, 9293-PIT-4). */
static void input_answer_unacceptable(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    if (seg->flags & TN_TCP_RST)
        return;
    if (!input_is_repetition(conn, seg)) {
        tn_tcp_challenge_ack(conn);
        return;
    }
    if (tn_tcp_waits(conn))
        tn_tcp_wait_anew(conn);    /* RFC 9293 3.10.7.4: the peer's FIN once more */
    tn_tcp_note_dup(conn, seg->seq, tn_seq_min(seg->seq + seg->len, conn->rcv_nxt));
    tn_tcp_ack_now(conn);
}

/* First: sequence number, and before it the timestamp. @return 1: acceptable */
TENON_ONCE_IF_SMALL static int input_check_sequence(struct tenon_tcp *conn, struct tn_seg *seg)
{
    if (input_is_old(conn, seg)) {
        input_drop(conn, seg, TENON_STAT_TCP_PAWS);
        input_answer_unacceptable(conn, seg);
        return 0;
    }
    if (!input_in_window(conn, seg)) {
        const int is_dup = seg->len > 0 && tn_seq_le(seg->seq + seg->len, conn->rcv_nxt);

        input_drop(conn, seg, is_dup ? TENON_STAT_TCP_DUP_DATA : TENON_STAT_TCP_OUT_OF_WINDOW);
        input_answer_unacceptable(conn, seg);
        return 0;
    }
    /* RFC 7323 3.2: once negotiated, the option is in every segment but RST. */
    if (tn_tcp_has_timestamps(conn) && !seg->options.has_timestamp && !(seg->flags & TN_TCP_RST)) {
        input_drop(conn, seg, TENON_STAT_TCP_NO_TIMESTAMP);
        return 0;
    }
    return 1;
}

/* Second: RST. Only an exact hit closes (RFC 5961 3.2); with acknowledgement by hand the peer may know an
 * older rcv_nxt. */
static void input_reset(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    int why = TENON_ERESET;

    if (seg->seq != conn->rcv_nxt && seg->seq != conn->rcv_acked) {
        tn_tcp_challenge_ack(conn);
        return;
    }
    tn_count(conn->stack, TENON_STAT_TCP_RST_RCVD);
    if (TENON_WITH_COOKIES && tn_tcp_is_answering(conn))
        tn_fastopen_reset(conn);
    /* MUST-11: an active open is refused; a passive one is over, and its listener goes on. */
    if (tn_tcp_is_answering(conn) && tn_tcp_has_crossed(conn))
        why = TENON_EREFUSED;
    /* Everything was said, and taken: the peer only was quicker to forget (EV-2). */
    if ((conn->state == TENON_TCP_CLOSING || conn->state == TENON_TCP_LAST_ACK) &&
        tn_seq_ge(conn->snd_una, conn->snd_end))
        why = TENON_OK;
    tn_tcp_end(conn, why);
}

/* It points no further than what was told before. That lies within reach of the window, or is gone by long since, and
 * may seem to lie anywhere. */
static int input_urgent_is_told(const struct tenon_tcp *conn, const struct tn_told *told, tenon_u32 up)
{
    return (conn->flags & TN_TCP_F_URGENT_RCV) && tn_seq_between(up, told->rcv_up, conn->rcv_adv + 65535UL);
}

/* Sixth: URG (RFC 9293 3.8.5, RFC 6093): the pointer is news, nothing is done to the data. */
static void input_urgent(struct tenon_tcp *conn, const struct tn_seg *seg)
{
    const tenon_u32 up = seg->seq + seg->urgent;
    struct tn_told *told;

    if (!TENON_WITH_URGENT || !(seg->flags & TN_TCP_URG) || (conn->flags & TN_TCP_F_FIN_RCVD))
        return;
    if (!tn_seq_gt(up, conn->rcv_nxt))
        return;
    told = tn_told_get(conn);
    if (input_urgent_is_told(conn, told, up))
        return;
    if (told != NULL) {
        told->rcv_up = up;
        conn->flags |= TN_TCP_F_URGENT_RCV;
    }
    if (conn->events->urgent != NULL)
        conn->events->urgent(conn, conn->app, up - conn->rcv_nxt);
}

/* ACK in SYN-RECEIVED: the handshake is complete, or the ACK is not ours. @return 1: go on */
static int input_complete_handshake(struct tenon_tcp *conn, struct tn_seg *seg)
{
    tenon_u32 data = 0;

    /* Nothing is said before the application has decided, whether it is the SYN-ACK or a cookie that is answered. */
    if (tn_tcp_is_held(conn)) {
        input_drop(conn, seg, TENON_STAT_TCP_HELD_DROP);
        return 0;
    }
    if (!input_acks_syn(conn, seg->ack) && !tn_tcp_take_cookie(conn, seg)) {
        input_drop(conn, seg, TENON_STAT_TCP_BAD_ACK);
        tn_tcp_reset_reply(conn->stack, seg);
        return 0;
    }
    if (tn_tcp_has_crossed(conn))
        data = input_syn_acked(conn, seg->ack);
    else
        input_syn_taken(conn);
    tn_tcp_handshake_over(conn, data);    /* the window comes with what else the ACK says */
    if (TENON_WITH_COOKIES && conn->state != TENON_TCP_CLOSED && conn->snd_nxt != conn->snd_una) {
        tn_tcp_arm_rtx(conn);    /* Fast Open: data has followed the SYN-ACK */
        tn_tcp_choose_timer(conn);
    }
    return conn->state != TENON_TCP_CLOSED;
}

/* A SYN in SYN-RECEIVED that is the one we know: its answer was lost, or (simultaneous open) it now carries
 * the ACK that we wait for. @return 1: the segment is done with */
static int input_repeated_syn(struct tenon_tcp *conn, struct tn_seg *seg)
{
    if (!tn_tcp_is_answering(conn) || (seg->flags & (TN_TCP_SYN | TN_TCP_RST)) != TN_TCP_SYN ||
        seg->seq != conn->flight->irs)
        return 0;
    if (TENON_WITH_CROSSING && (seg->flags & TN_TCP_ACK) && input_acks_syn(conn, seg->ack)) {
        seg->flags = (tenon_u8)(seg->flags & ~TN_TCP_SYN);
        seg->seq++;
        seg->len--;
        seg->wnd >>= tn_tcp_snd_wscale(conn);    /* RFC 7323 2.2: not scaled in a SYN; what follows scales it */
        conn->flags |= TN_TCP_F_ACK_NOW;
        return 0;
    }
    if (TENON_WITH_RECOVERY && !(seg->flags & TN_TCP_ECE))
        conn->ecn |= TN_ECN_MUTE;
    if (!tn_tcp_is_held(conn)) {
        conn->flags |= TN_TCP_F_SYN_QUEUED;
        tn_tcp_make_ready(conn);
    }
    return 1;
}

TENON_INTERNAL void tn_tcp_input_synchronized(struct tenon_tcp *conn, struct tn_seg *seg)
{
    tn_fast_end(conn);
    if (input_repeated_syn(conn, seg))
        return;
    if (!input_check_sequence(conn, seg))
        return;
    if (seg->flags & TN_TCP_RST) {
        input_reset(conn, seg);
        return;
    }
    /* Third, security: absent by design. Fourth: SYN (RFC 5961 4.2). */
    if (seg->flags & TN_TCP_SYN) {
        tn_tcp_challenge_ack(conn);
        return;
    }
    /* Fifth: ACK. */
    if (!(seg->flags & TN_TCP_ACK))
        return;
    if (tn_tcp_is_answering(conn) && !input_complete_handshake(conn, seg))
        return;
    if (!tn_tcp_ack_input(conn, seg))
        return;
    tn_tcp_trace(conn, TENON_TRACE_RECEIVED, seg, 0);
    tn_ecn_received(conn, seg);
    input_urgent(conn, seg);
    if (conn->state != TENON_TCP_CLOSED && seg->len > 0)
        tn_tcp_text_input(conn, seg);
}

/* ---- from IP ----------------------------------------------------------------------------------------------------- */

static void input_no_connection(struct tenon *stack, struct tn_seg *seg, struct tn_seg_ends *ends)
{
    struct tenon_tcp_listener *listener =
        TENON_WITH_LISTEN ? tn_tcp_find_listener(stack, &ends->local, tn_pkt_is_foreign(seg->pkt)) : NULL;

    if (listener != NULL) {
        tn_tcp_input_listen(listener, seg, ends);
        return;
    }
    if (tn_pkt_is_foreign(seg->pkt)) {
        tn_count(stack, TENON_STAT_IP_NOT_OURS);
        return;
    }
    tn_count(stack, TENON_STAT_TCP_NO_CONNECTION);
    tn_tcp_reset_reply(stack, seg);
}

/* A segment of a connection. */
TENON_ONCE_IF_SMALL static void input_conn(struct tenon *stack, struct tenon_tcp *conn, struct tn_seg *seg)
{
    if (TENON_WITH_SPEED) {
        conn->path->heard_gen = stack->link.gen;
        conn->path->heard_netif = seg->pkt->netif->index;
        conn->path->heard_local = conn->ends.local;
    }
    if (tn_tcp_is_calling(conn))
        input_syn_sent(conn, seg);
    else
        tn_tcp_input_synchronized(conn, seg);
}

/* By both ends. */
TENON_APART void input_look_up(struct tenon *stack, struct tn_seg *seg)
{
    struct tn_seg_ends both;
    struct tn_tcp_ends *ends;
    struct tenon_tcp *conn;

    tn_tcp_ends_of(seg, &both.local, &both.remote);
    both.hash = tn_tcp_hash(stack, &both.local, &both.remote);
    ends = tn_tcp_find_hash(stack, &both.local, &both.remote, both.hash);
    if (ends != NULL && tn_tcp_is_record(ends)) {
        if (tn_time_wait_input(stack, TENON_CONTAINER(ends, struct tn_time_wait, ends), seg))
            return;
        ends = NULL;
    }
    if (ends == NULL) {
        input_no_connection(stack, seg, &both);
        return;
    }
    conn = tn_tcp_of(ends);
    tn_fast_remember(conn);
    input_conn(stack, conn, seg);
}

TENON_INTERNAL void tn_tcp_demux(struct tenon *stack, struct tn_seg *seg)
{
    if (TENON_WITH_SPEED && seg->pkt->conn != NULL)
        input_conn(stack, seg->pkt->conn, seg);
    else
        input_look_up(stack, seg);
}

/* Header, checksum, options: bytes become a tn_seg. @return 0: dropped */
static int input_parse(struct tenon *stack, struct tn_pkt *pkt, struct tn_seg *seg)
{
    struct tn_tcp tcp;

    if (tn_tcp_parse(&tcp, pkt->head, tn_pkt_head_len(pkt), pkt->len) != 0) {
        tn_count(stack, TENON_STAT_TCP_BAD_HEADER);
        return 0;
    }
    if (!tn_pkt_csum_good(stack, pkt)) {
        tn_count(stack, TENON_STAT_TCP_BAD_CSUM);
        return 0;
    }
    seg->pkt = pkt;
    seg->seq = tcp.seq;
    seg->ack = tcp.ack;
    seg->wnd = tcp.wnd;
    seg->sport = (tenon_u16)(tcp.ports >> 16);
    seg->dport = (tenon_u16)(tcp.ports & 0xFFFFUL);
    seg->urgent = tcp.urgent;
    seg->flags = tcp.flags;
    seg->reused = 0;
    if (!TENON_SMALL && tcp.header_bytes == TN_TCP_BYTES)
        memset(&seg->options, 0, sizeof(seg->options));
    else if (tn_tcp_options_parse(&seg->options, pkt->head, tcp.header_bytes) != 0)
        tn_count(stack, TENON_STAT_TCP_BAD_OPTION);
    tn_pkt_pull(pkt, tcp.header_bytes);
    seg->len = pkt->len;
    if (tcp.flags & TN_TCP_SYN)
        seg->len++;
    if (tcp.flags & TN_TCP_FIN)
        seg->len++;
    return 1;
}

/* 0: of what IPv4 takes as ours the source has been looked at (ip4_source_good()). */
enum { INPUT_LOOKS_AT_SOURCE = TENON_WITH_IPV6 || TENON_WITH_ROUTES };

/* RFC 9293 MUST-57, MUST-63 */
static int input_is_between_hosts(const struct tn_pkt *pkt)
{
    if (pkt->dst_cast != TN_CAST_UNICAST)
        return 0;
    if (!INPUT_LOOKS_AT_SOURCE)
        return 1;
    return tn_ip_is_host(&pkt->src) && !tenon_ip_equal(&pkt->src, &pkt->dst);
}

TENON_INTERNAL void tn_tcp_input(struct tenon *stack, struct tn_pkt *pkt)
{
    struct tn_seg seg;

    tn_count(stack, TENON_STAT_TCP_RCVD);
    if ((!TENON_WITH_SPEED || pkt->conn == NULL) && !input_is_between_hosts(pkt)) {
        tn_count(stack, TENON_STAT_TCP_MARTIAN);
        return;
    }
    if (input_parse(stack, pkt, &seg))
        tn_tcp_demux(stack, &seg);
}

TENON_INTERNAL int tn_tcp_wants_foreign(const struct tenon *stack)
{
    return stack->tcp.transparent != 0;
}
