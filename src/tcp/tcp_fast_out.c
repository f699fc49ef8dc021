/* SPDX-License-Identifier: MIT */
/* The usual case of sending: new data of a connection of which nothing is lost, probed or over (tcp_fast.c)
 * gets headers that were made once, and goes down at once; so do its SYN, its FIN, and acknowledgements
 * without data. Whoever finds something unusual returns before anything is changed, and leaves it to
 * tcp_output.c. */
#include "base/bytes.h"
#include "tcp/cc.h"
#include "tcp/tcp_fast.h"
#include "wire/checksum.h"

enum { FAST_SPANS = 32 };

#define FAST_NO_LEN 0xFFFFFFFFUL     /* tn_header.len: no segment has so many bytes */

/* ---- what leaves ------------------------------------------------------------------------------------------------ */

/* A port that gathers nothing: each frame is one piece, and payload is copied behind the headers. */
TENON_INLINE int fast_is_whole(const struct tn_netif *netif)
{
    return netif->conf.gather_max == 1;
}

/* By a path on which nothing has to be found out: no neighbour, no MTU. */
TENON_APART int fast_find_way(struct tenon *stack, struct tn_tcp_way *way, struct tn_path *path)
{
    way->path = NULL;
    if ((path->mtu | path->search) != 0)
        return 0;
    if (!TENON_WITH_PATH_MTU && tenon_ip_is_v4(&path->dst))    /* routers may cut it, and ask for a number (RFC 6864) */
        return 0;
    way->netif = tn_link_ready(stack, path, &way->mac);
    if (way->netif == NULL || (TENON_SMALL && fast_is_whole(way->netif)))
        return 0;
    way->path = path;
    way->changes = stack->link.changes;
    way->mtu = (tenon_u16)tn_netif_mtu(way->netif, &path->dst);
    return 1;
}

/* While connections send one after the other, mostly nothing happens to the ways that they take: one that was good for
 * the last is good for the next. */
TENON_HOT const struct tn_tcp_way *fast_way_there(const struct tenon_tcp *conn)
{
    struct tenon *stack = conn->stack;
    struct tn_tcp_way *way = &stack->tcp.way;

    if (TENON_LIKELY(way->path == conn->path))
        return way;
    return fast_find_way(stack, way, conn->path) ? way : NULL;
}

/* The same for segments that may be full. */
static const struct tn_tcp_way *fast_way(const struct tenon_tcp *conn)
{
    const struct tn_tcp_way *way = fast_way_there(conn);

    return way != NULL && way->mtu == conn->path_mtu ? way : NULL;
}

/* Whether the window says something of the network still (RFC 5681 4.1); the general path knows what to do if not. */
static int fast_is_awake(const struct tenon_tcp *conn)
{
    const tenon_u32 quiet_ms = conn->stack->now_ms - conn->flight->last_snd_ms;

    return quiet_ms == 0 || conn->snd_una != conn->snd_nxt ||
           (quiet_ms < 1000000UL && quiet_ms * 1000 <= conn->flight->rto_us);
}

/* Whether a last piece that is small may leave (RFC 9293 3.7.4): the part of output_small_is_allowed() that
 * is usual. */
static int fast_small_may_leave(const struct tenon_tcp *conn, tenon_u32 in_flight)
{
    return !tn_tcp_opt(conn, TENON_TCP_CORK) && (in_flight == 0 || tn_tcp_opt(conn, TENON_TCP_NODELAY));
}

/* How much a frame may carry. A port that gathers nothing has all of it in one buffer. */
static tenon_u32 fast_frame_limit(const struct tenon_tcp *conn, const struct tn_netif *netif)
{
    const tenon_u32 limit = tn_tcp_frame_limit(conn, netif), headers = TN_HEADROOM + conn->flight->header.tcp_bytes;
    const struct tenon_buf *buf;

    if (TENON_LIKELY(TENON_SMALL || !fast_is_whole(netif)))
        return limit;
    buf = tn_buf_next(conn->stack);
    return buf == NULL || buf->size < headers ? conn->mss : tn_min(limit, buf->size - headers);
}

/* How much new data may leave in the next frame; 0: none, or it is not this simple. */
static tenon_u32 fast_bytes(const struct tenon_tcp *conn, const struct tn_netif *netif)
{
    const tenon_u32 unsent = conn->snd_end - conn->snd_nxt;
    const tenon_u32 in_flight = conn->snd_nxt - conn->snd_una;
    const tenon_u32 most = tn_min(conn->snd_wnd, conn->cc.cwnd);
    tenon_u32 len = conn->mss;

    if (in_flight >= most || !fast_is_awake(conn))
        return 0;
    if (!TENON_SMALL && unsent <= tn_min(len, most - in_flight) && fast_small_may_leave(conn, in_flight))
        return unsent;
    if (unsent > len)
        len = fast_frame_limit(conn, netif);
    len = tn_min(tn_min(unsent, most - in_flight), len);
    if (len == unsent && (len == conn->mss || fast_small_may_leave(conn, in_flight)))
        return len;
    return len - len % conn->mss;
}

/* ---- headers, made once and then filled in --------------------------------------------------------------------- */

enum { FAST_IP_AT = TN_ETH_BYTES };

/* What depends on the payload: most segments have as much of it as the one before them. p: the headers of a segment
 * that are a copy. Both are written, since what has just been written byte by byte is slow to copy. */
static void fast_set_length(struct tn_header *header, tenon_u8 *p, tenon_u32 len)
{
    const tenon_u32 l4 = header->tcp_bytes + len, ip_rest = header->ip_rest;
    const unsigned tos = len > 0 ? header->tos_data : header->tos, ip_bytes = header->ip_bytes;
    const tenon_u32 tcp_sum = tn_csum_join(header->tcp_sum, (l4 >> 16) + (l4 & 0xFFFF));
    tenon_u8 *kept = header->bytes + FAST_IP_AT;
    tenon_u32 sum;

    header->len = len;
    p += FAST_IP_AT;
    put16be(kept + ip_bytes + 16, tcp_sum);
    put16be(p + ip_bytes + 16, tcp_sum);
    if (!TENON_WITH_IPV6 || ip_bytes == TN_IP4_BYTES) {
        sum = (tenon_u32)0xFFFF ^ tn_csum_fold(ip_rest + tos + TN_IP4_BYTES + l4);
        put32be(kept, 0x45UL << 24 | (tenon_u32)tos << 16 | (TN_IP4_BYTES + l4));
        put32be(p, 0x45UL << 24 | (tenon_u32)tos << 16 | (TN_IP4_BYTES + l4));
        put16be(kept + 10, sum);
        put16be(p + 10, sum);
    } else {
        put32be(kept, ip_rest | (tenon_u32)tos << 20);
        put32be(p, ip_rest | (tenon_u32)tos << 20);
        put16be(kept + 4, l4);
        put16be(p + 4, l4);
    }
}

/* The IP header at p, but for what fast_set_length() knows. */
static void fast_prepare_ip4(const struct tenon_tcp *conn, struct tn_header *header, tenon_u8 *p)
{
    const tenon_u32 ttl_proto = tn_tcp_ttl(conn) << 8 | TN_PROTO_TCP;
    const tenon_u32 local = conn->ends.local.w[TENON_IP4_WORD], remote = tn_tcp_remote_ip(conn)->w[TENON_IP4_WORD];

    header->ip_bytes = TN_IP4_BYTES;
    header->tcp_sum = tn_csum_fold(tn_csum_ends4(local, remote) + TN_PROTO_TCP);
    header->ip_rest = (tenon_u32)0x4500 + TN_IP4_DF + ttl_proto + tn_csum_ends4(local, remote);
    put16be(p + 6, TN_IP4_DF);    /* RFC 6864 4.1: no identification */
    put16be(p + 8, ttl_proto);
    put32be(p + 12, local);
    put32be(p + 16, remote);
}

static void fast_prepare_ip6(const struct tenon_tcp *conn, struct tn_header *header, tenon_u8 *p)
{
    const struct tenon_ip *local = &conn->ends.local, *remote = tn_tcp_remote_ip(conn);

    header->ip_bytes = TN_IP6_BYTES;
    header->tcp_sum = tn_csum_pseudo(local, remote, TN_PROTO_TCP, 0);
    header->ip_rest = 6UL << 28 | tn_ip6_flow(conn->stack, local, remote, TN_PROTO_TCP, conn->ends.node.word);
    p[6] = TN_PROTO_TCP;
    p[7] = (tenon_u8)tn_tcp_ttl(conn);
    put_ip6(p + 8, local);
    put_ip6(p + 24, remote);
}

/* The congestion control wants to know more of what leaves than how much it is. */
static int fast_is_watched(const struct tenon_tcp *conn)
{
    return tn_rate_is_fast(conn) || tn_cc_ops(conn)->restart != NULL;
}

/* Below how many bytes a segment that is alone leaves without more being asked: fast_send_alone(). */
static tenon_u32 fast_small(const struct tenon_tcp *conn)
{
    return tn_tcp_opt(conn, TENON_TCP_CORK) || fast_is_watched(conn) ? 0 : conn->stack->conf.tcp_copy_max;
}

/* What the port is told, and what is asked before a small segment leaves. */
static void fast_prepare_frame(const struct tenon_tcp *conn, const struct tn_tcp_way *way, struct tn_header *header)
{
    const tenon_u32 l4 = (way->mac != NULL ? TN_ETH_BYTES : 0) + (tenon_u32)header->ip_bytes;
    struct tenon_frame *frame = &header->like.frame;

    frame->nspans = 1;
    frame->header_bytes = (tenon_u16)(l4 + header->tcp_bytes);
    header->sums = !(way->netif->conf.caps & TENON_CAP_TX_CSUM);
    if (!header->sums) {
        frame->csum = TENON_CSUM_PARTIAL;
        frame->csum_start = (tenon_u16)l4;
        frame->csum_offset = 16;
    }
    header->like.off = (tenon_u8)(TN_HEADROOM - l4);
    header->like.netif = way->netif->index;
    header->small = (tenon_u16)fast_small(conn);
}

/* Everything that does not change from segment to segment. */
TENON_APART void fast_prepare(struct tenon_tcp *conn, const struct tn_tcp_way *way)
{
    const unsigned ect = (conn->ecn & (TN_ECN_ON | TN_ECN_MUTE)) == TN_ECN_ON ? (unsigned)TN_ECT_0 : 0U;
    const tenon_u32 tos = tn_tcp_opt(conn, TENON_TCP_TOS);
    struct tn_header *header = &conn->flight->header;
    tenon_u8 *p = header->bytes;

    tn_clear(header, sizeof(*header));
    if (way->mac != NULL)
        (void)tn_eth_build(p, way->mac, way->netif->conf.mac,
                           tn_tcp_is_v4(conn) ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6);
    p += FAST_IP_AT;
    if (tn_tcp_is_v4(conn))
        fast_prepare_ip4(conn, header, p);
    else
        fast_prepare_ip6(conn, header, p);
    header->tos = (tenon_u8)tos;
    header->tos_data = (tenon_u8)(tos | ect);
    p += header->ip_bytes;
    put32be(p, conn->ends.node.word);
    header->tcp_bytes = TN_TCP_BYTES;
    if (conn->flags & TN_TCP_F_TIMESTAMPS) {
        header->tcp_bytes = TN_TCP_BYTES + TN_TCP_TIMESTAMP_BYTES;
        put32be(p + TN_TCP_BYTES, TN_TCP_TIMESTAMP_ALONE);
    }
    p[12] = (tenon_u8)(header->tcp_bytes << 2);
    if (!TENON_SMALL)
        fast_prepare_frame(conn, way, header);
    header->changes = way->changes;
    header->len = FAST_NO_LEN;
}

enum { FAST_HEADER_BYTES = sizeof(((struct tn_header *)NULL)->bytes) };
enum { FAST_COPY_STEP = FAST_HEADER_BYTES < 64 ? FAST_HEADER_BYTES : 64 };

/* In two steps: of one, compilers like to make an instruction that repeats a load and a store, as with tn_clear(). In a
 * build that is to be small they may be two calls, and without options, over IPv4, the first is enough. */
TENON_HOT void fast_copy_header(tenon_u8 *p, const struct tn_header *header)
{
    TENON_COPY(p, header->bytes, FAST_COPY_STEP);
    if (TENON_SMALL && FAST_IP_AT + header->ip_bytes + header->tcp_bytes <= FAST_COPY_STEP)
        return;
    TENON_COPY(p + FAST_COPY_STEP, header->bytes + FAST_COPY_STEP, FAST_HEADER_BYTES - FAST_COPY_STEP);
}

/* The headers of a segment of `len` bytes from `seq` on, around where its TCP header begins. What they say is looked up
 * first: bytes that are written could be anything, as far as a compiler knows. */
TENON_HOT void fast_fill(struct tenon_tcp *conn, tenon_u8 *tcp, tenon_u32 seq, tenon_u32 len, unsigned flags)
{
    struct tn_header *header = &conn->flight->header;
    const tenon_u32 ack = conn->rcv_nxt - conn->flight->rcv_held;
    const tenon_u32 window = tn_tcp_window_field(conn, ack);
    const tenon_u32 ts_now = tn_tcp_ts_now(conn), ts_echo = conn->ts_recent;
    tenon_u8 *p = tcp - header->ip_bytes - FAST_IP_AT;

    conn->rcv_acked = ack;
    fast_copy_header(p, header);
    if (header->len != len)
        fast_set_length(header, p, len);
    put32be(tcp + 4, seq);
    put32be(tcp + 8, ack);
    tcp[13] = (tenon_u8)flags;
    put16be(tcp + 14, window);
    if (header->tcp_bytes > TN_TCP_BYTES) {
        put32be(tcp + 24, ts_now);
        put32be(tcp + 28, ts_echo);
    }
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* PSH goes with the last of what is there (RFC 9293 3.9.1). */
TENON_HOT unsigned fast_push(const struct tenon_tcp *conn, tenon_u32 len)
{
    return len > 0 && conn->snd_nxt + len == conn->snd_end ? (unsigned)TN_TCP_PSH : 0U;
}

/* An acknowledgement goes along. */
static void fast_leaves(struct tenon_tcp *conn)
{
    conn->flags &= ~(tenon_u32)(TN_TCP_F_ACK_NOW | TN_TCP_F_ACK_ARMED);
    tn_count(conn->stack, TENON_STAT_TCP_SENT);
}

/* Payload by reference. @return spans; 0: it does not go into one frame */
static unsigned fast_gather(const struct tenon_tcp *conn, const struct tn_netif *netif, struct tenon_span *spans,
                            tenon_u32 len)
{
    struct tn_gather to;

    tn_gather_init(&to, spans, (unsigned)tn_min(FAST_SPANS, tn_tcp_gather_max(conn, netif)));
    tn_sendq_slice(conn, &to, conn->snd_nxt, len);
    return to.bytes == len ? to.n : 0;
}

/* The general way down from the link on. */
static int fast_hand_down(struct tenon_tcp *conn, const struct tn_tcp_way *way, struct tn_out *out)
{
    out->l4_bytes = conn->flight->header.tcp_bytes;
    out->csum_offset = 16;
    out->src = conn->ends.local;
    out->dst = conn->path->dst;
    out->proto = TN_PROTO_TCP;
    out->netif = way->netif->index;
    out->seg_kind = (tenon_u8)(tn_tcp_is_v4(conn) ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
    out->seg_bytes = conn->mss;
    return tn_tx(conn->stack, out) == TENON_OK;
}

/* More than one segment, which the port cuts, or tn_tx() does. @return 0: nothing has left */
TENON_APART int fast_send_many(struct tenon_tcp *conn, const struct tn_tcp_way *way, tenon_u32 len)
{
    const struct tn_header *header = &conn->flight->header;
    const tenon_u32 l4 = (way->mac != NULL ? TN_ETH_BYTES : 0) + (tenon_u32)header->ip_bytes;
    struct tenon_span spans[FAST_SPANS];
    struct tn_out out;

    if (tn_out_new(conn->stack, &out) != TENON_OK)
        return 0;
    out.off = TN_HEADROOM - l4;
    out.len = l4 + header->tcp_bytes;
    out.spans = spans;
    out.payload = len;
    out.nspans = fast_gather(conn, way->netif, spans, len);
    if (out.nspans == 0) {
        tenon_buf_put(out.hdr);
        return 0;
    }
    fast_fill(conn, out.hdr->data + TN_HEADROOM, conn->snd_nxt, len, TN_TCP_ACK | fast_push(conn, len));
    if (!fast_hand_down(conn, way, &out))
        return 0;
    fast_leaves(conn);
    return 1;
}

/* Where the headers lie in their buffer, and what is said of them; `len` bytes of payload lie behind them. */
TENON_HOT void fast_lay(const struct tenon_tcp *conn, const struct tn_tcp_way *way, struct tn_short *lay,
                        tenon_u32 tcp_bytes, tenon_u32 len)
{
    lay->l4 = (way->mac != NULL ? TN_ETH_BYTES : 0) + (tenon_u32)conn->flight->header.ip_bytes;
    lay->off = TN_HEADROOM - lay->l4;
    lay->headers = lay->l4 + tcp_bytes;
    lay->len = lay->headers + len;
    lay->csum_offset = 16;
}

/* A segment with `len` bytes of payload, which goes into the burst as it is: there is room. @return 0: it has not
 * left */
static int fast_send_long(struct tenon_tcp *conn, const struct tn_tcp_way *way, tenon_u32 len)
{
    struct tenon *stack = conn->stack;
    struct tenon_span *spans = tn_tx_payload(stack);
    struct tenon_buf *buf;
    struct tn_long lay;

    if (len > conn->mss)
        return fast_send_many(conn, way, len);
    lay.nspans = fast_gather(conn, way->netif, spans, len);
    buf = lay.nspans > 0 ? tn_buf_get(stack) : NULL;
    if (buf == NULL)
        return 0;
    lay.spans = spans;
    lay.payload = len;
    fast_fill(conn, buf->data + TN_HEADROOM, conn->snd_nxt, len, TN_TCP_ACK | fast_push(conn, len));
    fast_lay(conn, way, &lay.head, conn->flight->header.tcp_bytes, 0);
    tn_tx_long(stack, way->netif, buf, &lay);
    fast_leaves(conn);
    return 1;
}

/* A finished segment in one piece goes into the burst. */
TENON_HOT void fast_put(const struct tenon_tcp *conn, const struct tn_tcp_way *way, struct tenon_buf *buf,
                        tenon_u32 tcp_bytes, tenon_u32 len)
{
    struct tn_short lay;

    fast_lay(conn, way, &lay, tcp_bytes, len);
    tn_tx_short(conn->stack, way->netif, buf, &lay);
}

/* The same of one that is like others, and has so many bytes more: the port is told what was put together with their
 * headers. */
TENON_HOT void fast_put_like(struct tenon *stack, const struct tn_header *header, const struct tn_like *like,
                             struct tenon_buf *buf, tenon_u32 more)
{
    tenon_u8 *tcp = buf->data + TN_HEADROOM;

    tn_tx_like(stack, like, buf, more);
    if (TENON_LIKELY(!header->sums))
        return;
    put16be(tcp + 16, 0xFFFFUL ^ tn_csum_sum(tcp, like->off + like->frame.header_bytes + more - TN_HEADROOM));
    tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
}

/* A segment of so few bytes that they are copied behind its headers; 0 for a bare acknowledgement. There is room in
 * the burst. @return 0: no buffer */
TENON_HOT int fast_send_short(struct tenon_tcp *conn, const struct tn_tcp_way *way, tenon_u32 len, unsigned flags)
{
    const tenon_u32 tcp_bytes = conn->flight->header.tcp_bytes;
    struct tenon_buf *buf = tn_buf_get(conn->stack);
    tenon_u8 *tcp;

    if (buf == NULL)
        return 0;
    if (buf->size < TN_HEADROOM + tcp_bytes + len) {
        tenon_buf_put(buf);
        return fast_is_whole(way->netif) ? 0 : fast_send_long(conn, way, len);
    }
    tcp = buf->data + TN_HEADROOM;
    fast_fill(conn, tcp, conn->snd_nxt, len, flags | fast_push(conn, len));
    tn_sendq_copy(conn, tcp + tcp_bytes, conn->snd_nxt, len);
    if (TENON_SMALL)
        fast_put(conn, way, buf, tcp_bytes, len);
    else
        fast_put_like(conn->stack, &conn->flight->header, &conn->flight->header.like, buf, len);
    fast_leaves(conn);
    return 1;
}

/* A segment for a port that gathers nothing. @return 0: no buffer, or it does not fit into one */
static int fast_send_whole(struct tenon_tcp *conn, tenon_u32 len)
{
    const struct tn_header *header = &conn->flight->header;
    const tenon_u32 bytes = header->tcp_bytes + len;
    struct tenon *stack = conn->stack;
    struct tenon_buf *buf = tn_buf_next(stack);
    struct tn_csum csum;
    tenon_u8 *tcp;

    if (buf == NULL || buf->size < TN_HEADROOM + bytes)
        return 0;
    stack->nbufs--;
    tcp = buf->data + TN_HEADROOM;
    fast_fill(conn, tcp, conn->snd_nxt, len, TN_TCP_ACK | fast_push(conn, len));
    tn_sendq_copy(conn, tcp + header->tcp_bytes, conn->snd_nxt, len);
    tn_count(stack, TENON_STAT_TX_LINEARISED);
    tn_tx_like(stack, &header->like, buf, len);
    if (header->sums) {
        tn_csum_init_hook(&csum, stack->conf.checksum);
        tn_csum_add(&csum, tcp, bytes);
        put16be(tcp + 16, 0xFFFFUL ^ csum.sum);
        tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
    }
    fast_leaves(conn);
    return 1;
}

TENON_HOT int fast_send(struct tenon_tcp *conn, const struct tn_tcp_way *way, tenon_u32 len)
{
    if (len <= tn_min(conn->stack->conf.tcp_copy_max, conn->mss))
        return fast_send_short(conn, way, len, TN_TCP_ACK);
    if (TENON_UNLIKELY(!TENON_SMALL && fast_is_whole(way->netif)))
        return fast_send_whole(conn, len);
    return fast_send_long(conn, way, len);
}

/* The first of a flight has a record of its own; where nobody asks what it says of rates it says nothing. */
TENON_HOT void fast_record(struct tenon_tcp *conn, tenon_u32 end, tenon_u32 size)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 last = flight->last;
    struct tn_sent *record;

    if (TENON_SMALL || flight->first != last || tn_rate_is_fast(conn)) {
        tn_flight_sent(conn, end);
        return;
    }
    record = tn_flight_at(flight, last);
    flight->last = last + 1;
    record->end = end;
    record->sent_us = conn->stack->now_us;
    record->size = (tenon_u16)size;
}

/* What tcp_output.c does after a data segment, or a FIN, has left. */
TENON_HOT void fast_sent(struct tenon_tcp *conn, tenon_u32 len)
{
    const tenon_u32 now_us = conn->stack->now_us, now_ms = conn->stack->now_ms;
    const tenon_u32 nxt = conn->snd_nxt, flags = conn->flags, size = tn_min(len, conn->mss);
    struct tn_flight *flight = conn->flight;

    if (conn->snd_una == nxt)
        conn->progress_ms = now_ms;
    if (!(flags & TN_TCP_F_RTT_TIMING)) {
        flight->rtt_seq = nxt;
        flight->rtt_start_us = now_us;
    }
    conn->flags = flags | TN_TCP_F_RTT_TIMING;
    flight->last_snd_ms = now_ms;
    fast_record(conn, nxt + len, size);
    conn->snd_nxt = nxt + len;
}

/* The same of the only thing that is in flight. */
TENON_HOT void fast_sent_alone(struct tenon_tcp *conn, tenon_u32 len)
{
    const tenon_u32 now_us = conn->stack->now_us, nxt = conn->snd_nxt, flags = conn->flags;
    struct tn_flight *flight = conn->flight;
    struct tn_sent *record = flight->ring;

    conn->progress_ms = flight->last_snd_ms = conn->stack->now_ms;
    if (!(flags & TN_TCP_F_RTT_TIMING)) {
        flight->rtt_seq = nxt;
        flight->rtt_start_us = now_us;
    }
    conn->flags = flags | TN_TCP_F_RTT_TIMING;
    flight->first = flight->edge = 0;
    flight->last = 1;
    record->end = nxt + len;
    record->sent_us = now_us;
    record->size = (tenon_u16)len;
    conn->snd_nxt = nxt + len;
}

/* For who asks whether a segment was too large (RFC 5927 7.2). */
TENON_HOT void fast_sized(struct tenon_tcp *conn, tenon_u32 size)
{
    if (conn->flight->mtu_sent < size)
        conn->flight->mtu_sent = (tenon_u16)size;
}

/* One segment of new data, if windows and pacing let it go. @return 0: it has not left */
static int fast_send_new(struct tenon_tcp *conn, const struct tn_tcp_way *way)
{
    const tenon_u32 len = fast_bytes(conn, way->netif), size = tn_min(len, conn->mss);
    int lags;

    if (len == 0 || (len > conn->mss && fast_is_whole(way->netif)))
        return 0;
    lags = tn_pace_lags(conn);
    if (!lags && !tn_pace_allows(conn))
        return 0;
    if (tn_tcp_restarts(conn))
        tn_tcp_restart(conn);
    if (!fast_send(conn, way, len))
        return 0;
    if (lags)
        tn_pace_owe(conn, len);
    else
        tn_pace_sent(conn, len);
    fast_sized(conn, size);
    fast_sent(conn, len);
    return 1;
}

/* How many of the bytes that wait may leave at once as one small segment, if nothing is in flight: all of them or
 * none, 0. */
TENON_HOT tenon_u32 fast_alone_bytes(const struct tenon_tcp *conn)
{
    const tenon_u32 len = conn->snd_end - conn->snd_nxt;

    if (len - 1 >= conn->flight->header.small || conn->snd_una != conn->snd_nxt || len > conn->mss ||
        len > conn->snd_wnd || len > conn->cc.cwnd || !fast_is_awake(conn))
        return 0;
    return len;
}

/* What a handler answers to a request that acknowledges the answer before: nothing is in flight, and one small segment
 * waits for nothing. As fast_send_new(), without what could be otherwise. @return 0: nothing has happened */
TENON_HOT int fast_send_alone(struct tenon_tcp *conn)
{
    const struct tn_header *header = &conn->flight->header;
    const tenon_u32 tcp_bytes = header->tcp_bytes, len = fast_alone_bytes(conn), seq = conn->snd_nxt;
    struct tenon *stack = conn->stack;
    struct tenon_buf *buf;
    tenon_u8 *tcp;

    if (len == 0 || tn_tx_room(stack) == 0 || !tn_pace_lags(conn))
        return 0;
    buf = tn_buf_next(stack);
    if (buf == NULL || buf->size < TN_HEADROOM + tcp_bytes + len)
        return 0;
    tcp = buf->data + TN_HEADROOM;
    stack->nbufs--;
    tn_tx_like(stack, &header->like, buf, len);
    fast_leaves(conn);
    tn_pace_owe(conn, len);
    fast_sized(conn, len);
    fast_sent_alone(conn, len);
    tn_tcp_arm_alone(conn);
    fast_fill(conn, tcp, seq, len, TN_TCP_ACK | TN_TCP_PSH);
    tn_sendq_copy_all(conn, tcp + tcp_bytes, len);
    if (header->sums) {
        put16be(tcp + 16, 0xFFFFUL ^ tn_csum_sum(tcp, tcp_bytes + len));
        tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
    }
    return 1;
}

/* Who only acknowledges does not need the block in which the headers are; who has it uses them, until something
 * about routes and interfaces changes: through another one to the same router they come from another address. */
TENON_HOT int fast_is_prepared(struct tenon_tcp *conn, const struct tn_tcp_way *way)
{
    if (conn->flight == NULL && conn->snd_end == conn->snd_nxt)
        return 0;
    if (tn_flight_get(conn) == NULL)
        return 0;
    if (conn->flight->header.tcp_bytes != 0 && conn->flight->header.changes == way->changes)
        return 1;
    if (!tn_tcp_is_foreign(conn) && !tn_path_is_from(conn->stack, conn->path, &conn->ends.local))
        return 0;    /* tn_ip_output() refuses it */
    fast_prepare(conn, way);
    return 1;
}

/* ---- ACK and FIN alone, and SYN ---------------------------------------------------------------------------------- */

/* The headers that data has had serve for what has none, too. */
TENON_INTERNAL int tn_fast_control(struct tenon_tcp *conn, unsigned flags)
{
    const struct tn_flight *flight = conn->flight;
    struct tenon *stack = conn->stack;
    const struct tn_tcp_way *way;

    if (!TN_FAST)
        return 0;
    if (TENON_UNLIKELY(flight == NULL || flight->header.tcp_bytes == 0 ||
                       (flags & ~(unsigned)TN_TCP_FIN) != TN_TCP_ACK ||
                       (conn->flags & (TN_TCP_F_URGENT_SND | TN_TCP_F_FIN_HELD)) != 0 ||
                       (conn->ecn & TN_ECN_ECHO) != 0))
        return 0;
    if (TENON_UNLIKELY(tn_ooo_has_news(conn) || stack->conf.trace != NULL || tn_tx_room(stack) == 0))
        return 0;
    way = fast_way(conn);
    if (TENON_UNLIKELY(way == NULL || !fast_is_prepared(conn, way)))
        return 0;
    return fast_send_short(conn, way, 0, flags);
}

/* Nothing is left but our FIN, and whether a window lets it go. @return 1: it has left */
TENON_APART int fast_fin(struct tenon_tcp *conn)
{
    const tenon_u32 window = conn->snd_una + conn->snd_wnd - conn->snd_nxt;
    int lags;

    if (TENON_SMALL || !(conn->flags & TN_TCP_F_FIN_QUEUED) || conn->snd_nxt != conn->snd_end || conn->flight == NULL ||
        (conn->state != TENON_TCP_ESTABLISHED && conn->state != TENON_TCP_CLOSE_WAIT) || window - 1 >= 0x7FFFFFFFUL)
        return 0;
    if (!tn_fast_is_plain(conn) || fast_is_watched(conn))
        return 0;
    lags = tn_pace_lags(conn);
    if ((!lags && !tn_pace_allows(conn)) || !tn_fast_control(conn, TN_TCP_FIN | TN_TCP_ACK))
        return 0;
    if (lags)
        tn_pace_owe(conn, 1);
    else
        tn_pace_sent(conn, 1);
    fast_sent(conn, 1);
    tn_tcp_set_state(conn, conn->state == TENON_TCP_ESTABLISHED ? TENON_TCP_FIN_WAIT_1 : TENON_TCP_LAST_ACK);
    tn_tcp_arm_usual(conn, !(conn->flags & TN_TCP_F_RTX_ARMED));    /* RFC 6298 5.1 */
    (void)tn_why(conn, TENON_TCP_WAIT_DATA);
    return 1;
}

enum { FAST_SYN_BYTES = TN_TCP_BYTES + TN_TCP_SYN_OPTIONS_BYTES,
       FAST_SYN_MORE = TN_TCP_SYN_OPTIONS_BYTES - TN_TCP_TIMESTAMP_BYTES };    /* options than data has */

/* What is not the same in every SYN of a connection's kind. */
static void fast_fill_syn(struct tenon_tcp *conn, tenon_u8 *tcp, unsigned flags)
{
    const tenon_u32 ack = (flags & TN_TCP_ACK) ? conn->rcv_nxt : 0;
    struct tn_tcp_options options;
    tenon_u32 window;

    options.mss = tn_tcp_offered_mss(conn);
    options.ts_val = tn_tcp_ts_now(conn);
    options.ts_ecr = (flags & TN_TCP_ACK) ? conn->ts_recent : 0;
    options.wscale = conn->rcv_wscale;
    if (flags & TN_TCP_ACK) {
        window = tn_tcp_window_scaled(conn, ack, 0);
        conn->rcv_acked = ack;
    } else {
        window = tn_min(tn_tcp_opt(conn, TENON_TCP_RCV_BUF), 65535UL);
    }
    put32be(tcp + 4, conn->flight->iss);
    put32be(tcp + 8, ack);
    put32be(tcp + 12, (tenon_u32)FAST_SYN_BYTES / 4 << 28 | (tenon_u32)flags << 16 | window);
    tn_tcp_syn_options_build(tcp + TN_TCP_BYTES, &options);
}

/* The headers that were made for the last who has opened a connection, if they can be this one's, but for its ports.
 * @return NULL: they cannot */
static const struct tn_tcp_made *fast_made(const struct tenon_tcp *conn, const struct tn_tcp_way *way)
{
    const struct tn_tcp_made *made = conn->stack->tcp.made;

    if (made == NULL || made->path != conn->path || made->header.changes != way->changes || conn->flight == NULL)
        return NULL;
    if (made->header.tos != tn_tcp_opt(conn, TENON_TCP_TOS) || made->ttl != tn_tcp_ttl(conn) ||
        made->header.small != fast_small(conn))
        return NULL;
    return tenon_ip_equal(&made->local, &conn->ends.local) ? made : NULL;
}

/* Both a segment's headers, and those that the connection keeps. p: where they begin. What is written here is not
 * copied at once. */
TENON_HOT void fast_take_made(struct tenon_tcp *conn, const struct tn_tcp_made *made, tenon_u8 *p)
{
    struct tn_header *header = &conn->flight->header;
    const tenon_u32 ports = conn->ends.node.word, ip_bytes = made->header.ip_bytes;
    tenon_u8 *kept = header->bytes;

    TENON_COPY(header, &made->header, offsetof(struct tn_header, bytes));
    fast_copy_header(kept, &made->header);
    fast_copy_header(p, &made->header);
    put32be(kept + FAST_IP_AT + ip_bytes, ports);
    put32be(p + FAST_IP_AT + ip_bytes, ports);
    if (!TENON_WITH_IPV6 || ip_bytes == TN_IP4_BYTES)
        return;
    header->ip_rest = 6UL << 28 | tn_ip6_flow_end(made->flow, ports);
    put32be(kept + FAST_IP_AT, header->ip_rest | (tenon_u32)header->tos << 20);
    put32be(p + FAST_IP_AT, header->ip_rest | (tenon_u32)header->tos << 20);
}

/* For the next who goes the same way, if there is one now who does. */
static void fast_keep_made(const struct tenon_tcp *conn)
{
    const struct tn_header *header = &conn->flight->header;
    struct tn_tcp_made *made = conn->stack->tcp.made;

    if (made == NULL || conn->path->refs < 2)
        return;
    made->path = conn->path;
    made->local = conn->ends.local;
    made->ttl = tn_tcp_ttl(conn);
    if (!tn_tcp_is_v4(conn))
        tn_ip6_flow_begin(made->flow, conn->stack, &made->local, tn_tcp_remote_ip(conn), TN_PROTO_TCP);
    made->header = *header;
    made->syn = header->like;
    made->syn.frame.header_bytes = (tenon_u16)(header->like.frame.header_bytes + FAST_SYN_MORE);
}

/* The headers of data, which are made here. */
TENON_APART void fast_make_syn(struct tenon_tcp *conn, tenon_u8 *p)
{
    struct tn_header *header = &conn->flight->header;

    fast_copy_header(p, header);
    fast_set_length(header, p, FAST_SYN_MORE);
    fast_keep_made(conn);
}

/* Nothing but the options that nearly everybody offers and accepts. What is offered to the peer and not agreed on
 * means other headers for data: tn_tcp_read_syn_options(). */
static int fast_syn_is_usual(struct tenon_tcp *conn, unsigned flags)
{
    const tenon_u32 usual = TN_TCP_F_TIMESTAMPS | TN_TCP_F_SACK | TN_TCP_F_WSCALE;
    const struct tenon *stack = conn->stack;

    return !TENON_SMALL && (flags & TN_TCP_SYN) &&
           (conn->flags & (usual | TN_TCP_F_FASTOPEN | TN_TCP_F_GIVE_COOKIE)) == usual &&
           stack->conf.trace == NULL && tn_tx_room(stack) > 0 && tn_ecn_syn_flags(conn, flags) == 0;
}

TENON_INTERNAL int tn_fast_syn(struct tenon_tcp *conn, unsigned flags)
{
    const struct tn_tcp_made *made;
    const struct tn_tcp_way *way;
    struct tenon_buf *buf;
    tenon_u8 *tcp;

    if (!TN_FAST || !fast_syn_is_usual(conn, flags))
        return 0;
    way = fast_way_there(conn);
    if (way == NULL)
        return 0;
    made = fast_made(conn, way);
    if (made == NULL && !fast_is_prepared(conn, way))
        return 0;
    buf = tn_buf_get(conn->stack);
    if (buf == NULL)
        return 0;
    if (buf->size < TN_HEADROOM + FAST_SYN_BYTES) {
        tenon_buf_put(buf);
        return 0;
    }
    tcp = buf->data + TN_HEADROOM;
    if (made != NULL)
        fast_take_made(conn, made, tcp - made->header.ip_bytes - FAST_IP_AT);
    else
        fast_make_syn(conn, tcp - conn->flight->header.ip_bytes - FAST_IP_AT);
    fast_fill_syn(conn, tcp, flags);
    if (made != NULL)
        fast_put_like(conn->stack, &made->header, &made->syn, buf, 0);
    else
        fast_put(conn, way, buf, FAST_SYN_BYTES, 0);
    if (flags & TN_TCP_ACK)
        fast_leaves(conn);
    else
        tn_count(conn->stack, TENON_STAT_TCP_SENT);
    return 1;
}

/* ---- all that waits ---------------------------------------------------------------------------------------------- */

/* Segments, as many as may leave, and an acknowledgement that has nothing to go along with. @return as
 * tn_fast_output() */
TENON_APART int fast_send_all(struct tenon_tcp *conn, const struct tn_tcp_way *way)
{
    const tenon_u32 nxt = conn->snd_nxt;

    while (conn->snd_end != conn->snd_nxt && tn_tx_room(conn->stack) > 0 && fast_send_new(conn, way))
        continue;
    if (TENON_LIKELY(conn->snd_nxt != nxt))
        tn_tcp_arm_usual(conn, !(conn->flags & TN_TCP_F_RTX_ARMED));    /* RFC 6298 5.1 */
    if (conn->snd_end != conn->snd_nxt)
        return 0;
    if (tn_rate_is_fast(conn))
        tn_rate_check_app_limited(conn);
    if ((conn->flags & TN_TCP_F_ACK_NOW) &&
        (tn_tx_room(conn->stack) == 0 || !fast_send_short(conn, way, 0, TN_TCP_ACK)))
        return 0;
    (void)tn_why(conn, TENON_TCP_WAIT_DATA);
    return 1;
}

TENON_INTERNAL int tn_fast_output(struct tenon_tcp *conn)
{
    const struct tn_tcp_way *way;

    if (!TN_FAST)
        return 0;
    if (!tn_fast_is_usual(conn))
        return fast_fin(conn);
    way = fast_way(conn);
    if (way == NULL || !fast_is_prepared(conn, way))
        return 0;
    if (TENON_SMALL || !fast_send_alone(conn))
        return fast_send_all(conn, way);
    (void)tn_why(conn, TENON_TCP_WAIT_DATA);
    return 1;
}
