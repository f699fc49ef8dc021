/* SPDX-License-Identifier: MIT */
/* The usual case in a straight line: header prediction, after Van Jacobson. A segment that is the next in order, on an
 * established connection, from a host that needs nothing repaired, is recognised by a few comparisons and
 * answered without asking every question of SEGMENT ARRIVES; data that is to be sent to such a host gets its headers
 * at once.
 *
 * Nothing happens here that the general path (tcp_input.c, tcp_ack.c, tcp_text.c, tcp_output.c) would not do. Whoever
 * finds something unusual returns before anything is changed, and leaves it to that. */
#include "base/bytes.h"
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"
#include "wire/checksum.h"

enum {
    FAST_SPANS = 32,
    FAST_LINE = 64,                  /* of a cache */
    FAST_FAR_SHIFT = 28,             /* a sixteenth of sequence space */
    FAST_NEAR = 512,                 /* slots; what fewer connections than a quarter of them need stays in the caches */
    FAST_RECENT_SHIFT = 17           /* the upper half of a product is the better one */
};

#define FAST_RECENT_MAX 32768UL      /* slots; what a cache has room for */

#define FAST_NO_LEN 0xFFFFFFFFUL     /* tn_header.len: no segment has so many bytes */

/* tn_flight.usual, besides TN_FAST_PLAIN */
enum { FAST_USUAL = 2 };

/* A segment that may be the one that was expected. */
struct fast_seg {
    const struct tenon_frame *frame;
    const tenon_u8 *tcp;
    tenon_u32 at, len;               /* payload: where it begins in the frame, and its bytes */
    tenon_u32 seq, ack, wnd;
    tenon_u32 ts_val;                /* only of a connection with timestamps */
};

/* ---- whose it is ---------------------------------------------------------------------------------------------- */

/* Both versions of IP go the same way: IPv4 without options, IPv6 without extension headers. What looks into
 * headers is told which by a constant, and compiled once for each where it is to be quick. In both the
 * addresses stand right before the TCP header, the sender's first. */
TENON_INLINE tenon_u32 fast_ip_bytes(int is_v4)
{
    return is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES;
}

/* What is no IPv6; whether it is IPv4 turns out later. */
TENON_INLINE int fast_says_v4(const tenon_u8 *ip)
{
    return !TENON_WITH_IPV6 || ip[0] >> 4 != 6;
}

/* Both addresses. */
TENON_INLINE tenon_u32 fast_ends_bytes(int is_v4)
{
    return is_v4 ? 8 : 32;
}

TENON_INLINE int fast_is_ip6(const struct tenon_ip *ip, const tenon_u8 *p)
{
    return ((ip->w[0] ^ get32be(p)) | (ip->w[1] ^ get32be(p + 4)) | (ip->w[2] ^ get32be(p + 8)) |
            (ip->w[3] ^ get32be(p + 12))) == 0;
}

/* The addresses and ports in the headers. */
TENON_HOT int fast_is_between(const struct tenon_tcp *conn, const tenon_u8 *ip, int is_v4)
{
    const tenon_u32 ports = get32be(ip + fast_ip_bytes(is_v4));

    if (conn->ends.node.word != (ports << 16 | ports >> 16) || conn->ends.is_v4 != is_v4)
        return 0;
    if (is_v4)
        return conn->ends.local.w[3] == get32be(ip + 16) && conn->path->dst.w[3] == get32be(ip + 12);
    return fast_is_ip6(&conn->ends.local, ip + 24) && fast_is_ip6(&conn->path->dst, ip + 8);
}

/* A guess, and not keyed: who makes ours miss on purpose gains nothing but the keyed hash. */
static struct tenon_tcp **fast_slot(const struct tenon *stack, tenon_u32 remote, tenon_u32 ports)
{
    const tenon_u32 mix = (remote ^ ports ^ ports >> 16) * 0x9E3779B1UL;

    return &stack->tcp.recent[mix >> FAST_RECENT_SHIFT & stack->tcp.recent_mask];
}

/* Of an IPv6 address: the host, and the network that it is in. */
TENON_HOT struct tenon_tcp **fast_slot_of_packet(const struct tenon *stack, const tenon_u8 *ip, int is_v4)
{
    const tenon_u32 remote = is_v4 ? get32be(ip + 12) : get32be(ip + 20) ^ get32be(ip + 12);

    return fast_slot(stack, remote, get32be(ip + fast_ip_bytes(is_v4)));
}

static struct tenon_tcp **fast_slot_of(const struct tenon_tcp *conn)
{
    const struct tenon_ip *remote = tn_tcp_remote_ip(conn);
    const tenon_u32 ports = conn->ends.node.word;

    return fast_slot(conn->stack, remote->w[3] ^ remote->w[1], ports << 16 | ports >> 16);
}

TENON_INTERNAL void tn_fast_forget(struct tenon_tcp *conn)
{
    struct tenon_tcp **slot = fast_slot_of(conn);

    if (!TN_FAST)
        return;
    if (*slot == conn)
        *slot = NULL;
}

TENON_INTERNAL void tn_fast_remember(struct tenon_tcp *conn)
{
    if (TN_FAST)
        *fast_slot_of(conn) = conn;
}

/* That these ends may talk to each other here was found out layer by layer. */
TENON_INTERNAL int tn_fast_is_heard(const struct tenon_tcp *conn, const struct tn_netif *netif)
{
    const struct tn_path *path = conn->path;

    if (!TN_FAST)
        return 0;
    return conn->state != TENON_TCP_CLOSED && path->heard_gen == conn->stack->link.gen &&
           path->heard_netif == netif->index && path->heard_local.w[3] == conn->ends.local.w[3] &&
           (tn_tcp_is_v4(conn) || tenon_ip_equal(&path->heard_local, &conn->ends.local));
}

static size_t fast_recent_bytes(tenon_u32 mask)
{
    return ((size_t)mask + 1) * sizeof(struct tenon_tcp *);
}

TENON_INTERNAL size_t tn_fast_bytes(const struct tenon *stack)
{
    if (!TN_FAST)
        return 0;
    return stack->tcp.recent == stack->tcp.recent_few ? 0 : fast_recent_bytes(stack->tcp.recent_mask);
}

static void fast_free_recent(struct tenon *stack)
{
    const size_t bytes = tn_fast_bytes(stack);

    if (bytes > 0)
        tn_mem_put(stack, stack->tcp.recent, bytes);
}

TENON_INTERNAL void tn_fast_fini(struct tenon *stack)
{
    if (!TN_FAST)
        return;
    fast_free_recent(stack);
    tn_fast_init(stack);
}

TENON_INTERNAL void tn_fast_init(struct tenon *stack)
{
    if (!TN_FAST)
        return;
    stack->tcp.recent = stack->tcp.recent_few;
    stack->tcp.recent_mask = TN_TCP_RECENT - 1;
}

/* Nothing moves to the larger table: it fills up with who is heard of. Without memory the old one will do. */
TENON_INTERNAL void tn_fast_grow(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;
    const tenon_u32 mask = 2 * tcp->recent_mask + 1;
    struct tenon_tcp **table;

    if (!TN_FAST)
        return;
    if (tcp->nconns <= tcp->recent_mask / 4 || mask >= FAST_RECENT_MAX)
        return;
    table = (struct tenon_tcp **)tn_mem_get(stack, fast_recent_bytes(mask));
    if (table == NULL)
        return;
    memset(table, 0, fast_recent_bytes(mask));
    fast_free_recent(stack);
    tcp->recent = table;
    tcp->recent_mask = mask;
}

/* Of TCP without any flag but ACK and PSH. */
static struct tenon_tcp *fast_find_keyed(struct tenon *stack, const tenon_u8 *ip, int is_v4)
{
    const tenon_u8 *tcp = ip + fast_ip_bytes(is_v4);
    struct tenon_addr local, remote;
    struct tn_tcp_ends *ends;

    if ((is_v4 ? ip[0] != 0x45 || ip[9] != TN_PROTO_TCP : ip[6] != TN_PROTO_TCP) ||
        (tcp[13] & ~(unsigned)TN_TCP_PSH) != TN_TCP_ACK)
        return NULL;
    local.ip = is_v4 ? tenon_ip4(get32be(ip + 16)) : get_ip6(ip + 24);
    local.port = get16be(tcp + 2);
    local.netif = 0;
    remote.ip = is_v4 ? tenon_ip4(get32be(ip + 12)) : get_ip6(ip + 8);
    remote.port = get16be(tcp);
    remote.netif = 0;
    ends = tn_tcp_find(stack, &local, &remote);
    /* An IPv4 address as IPv6 writes it may not be seen on the wire, and finds no connection of IPv4. */
    if (ends == NULL || ends->is_time_wait || ends->is_v4 != is_v4)
        return NULL;
    return tn_tcp_of(ends);
}

TENON_HOT struct tenon_tcp *fast_find(struct tenon *stack, const tenon_u8 *ip, int is_v4)
{
    struct tenon_tcp **slot = fast_slot_of_packet(stack, ip, is_v4);
    struct tenon_tcp *conn = *slot;

    if (TENON_LIKELY(conn != NULL && fast_is_between(conn, ip, is_v4)))
        return conn;
    conn = fast_find_keyed(stack, ip, is_v4);
    if (conn != NULL)
        *slot = conn;
    return conn;
}

/* What a segment asks of its connection, and of its block. */
static void fast_fetch(const struct tenon_tcp *conn)
{
    TENON_PREFETCH(&conn->ends);
    TENON_PREFETCH(&conn->stack);
    TENON_PREFETCH(&conn->events);
    TENON_PREFETCH(&conn->timer);
    TENON_PREFETCH(&conn->path_mtu);
}

static void fast_fetch_block(const struct tn_flight *flight)
{
    const tenon_u8 *const hot = (const tenon_u8 *)&flight->prev;

    TENON_PREFETCH(hot);
    TENON_PREFETCH(hot + FAST_LINE);
    TENON_PREFETCH(hot + (size_t)2 * FAST_LINE);
    TENON_PREFETCH(hot + (size_t)3 * FAST_LINE);
    TENON_PREFETCH(hot + (size_t)4 * FAST_LINE);
    TENON_PREFETCH(&flight->few[1]);
    TENON_PREFETCH(&flight->few_pieces[0]);
}

/* Addresses and ports: segments of one connection often come one after the other. */
TENON_HOT int fast_same_ends(const tenon_u8 *ip, const tenon_u8 *before, int is_v4)
{
    const tenon_u32 at = fast_ip_bytes(is_v4);

    if (get32raw(ip + at) != get32raw(before + at))
        return 0;
    if (is_v4)
        return get32raw(ip + 12) == get32raw(before + 12) && get32raw(ip + 16) == get32raw(before + 16);
    return (differ8raw(ip + 8, before + 8) | differ8raw(ip + 16, before + 16) | differ8raw(ip + 24, before + 24) |
            differ8raw(ip + 32, before + 32)) == 0;
}

/* The IP header of a frame that is long enough to be one of ours, or NULL. */
TENON_INLINE const tenon_u8 *fast_ip_of(const struct tenon_frame *frame, tenon_u32 link)
{
    const struct tenon_span *span = frame->spans;
    const tenon_u8 *ip;

    if (frame->nspans == 0 || span->len < link + TN_IP4_BYTES + TN_TCP_BYTES)
        return NULL;
    ip = tenon_span_data(span) + link;
    return ip[0] >> 4 == 6 && span->len < link + TN_IP6_BYTES + TN_TCP_BYTES ? NULL : ip;
}

/* Before they are asked for. */
static void fast_send_for(struct tenon *stack, const struct tenon_frame *frames, struct tenon_tcp **conns, unsigned n,
                          tenon_u32 link)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        const tenon_u8 *ip = fast_ip_of(&frames[i], link);

        conns[i] = NULL;
        if (ip != NULL)
            conns[i] = fast_says_v4(ip) ? *fast_slot_of_packet(stack, ip, 1) : *fast_slot_of_packet(stack, ip, 0);
        if (conns[i] == NULL)
            continue;
        fast_fetch(conns[i]);
        TENON_PREFETCH(ip - link);
        TENON_PREFETCH(ip + fast_ip_bytes(fast_says_v4(ip)) + TN_TCP_BYTES);
    }
}

/* `before` is the frame before it, of the connection conns[-1]; NULL: of the other version of IP, or nothing. */
TENON_HOT struct tenon_tcp *fast_look(struct tenon *stack, const tenon_u8 *ip, const tenon_u8 *before,
                                      struct tenon_tcp *const *conns, int is_v4)
{
    if (!TENON_SMALL && before != NULL && fast_same_ends(ip, before, is_v4))
        return conns[-1];
    return fast_find(stack, ip, is_v4);
}

/* With many connections nothing is near: then it is looked up in steps, each of which needs memory that the one before
 * it has sent for. */
TENON_INTERNAL void tn_fast_look(struct tenon *stack, const struct tn_netif *netif, const struct tenon_frame *frames,
                                 struct tenon_tcp **conns, unsigned n)
{
    const tenon_u32 link = (netif->conf.caps & TENON_CAP_NO_LINK) ? 0 : TN_ETH_BYTES;
    const int is_far = !TENON_SMALL && n > 1 && stack->tcp.recent_mask >= FAST_NEAR;
    const tenon_u8 *before4 = NULL, *before6 = NULL;
    unsigned i;

    if (!TN_FAST) {
        memset(conns, 0, n * sizeof(*conns));
        return;
    }
    if (is_far)
        fast_send_for(stack, frames, conns, n, link);
    for (i = 0; i < n; i++) {
        const tenon_u8 *ip = fast_ip_of(&frames[i], link);

        conns[i] = NULL;
        if (ip != NULL && !fast_says_v4(ip)) {
            conns[i] = fast_look(stack, ip, before6, &conns[i], 0);
            before6 = ip;
            before4 = NULL;
        } else {
            if (ip != NULL)
                conns[i] = fast_look(stack, ip, before4, &conns[i], 1);
            before4 = ip;
            before6 = NULL;
        }
        if (is_far && conns[i] != NULL && conns[i]->flight != NULL)
            fast_fetch_block(conns[i]->flight);
    }
}

/* ---- what has come ------------------------------------------------------------------------------------------ */

/* IPv4 without options, or IPv6 without extension headers: in one piece, carrying TCP, nothing marked by the network.
 * @return bytes of the packet, as it says; 0: it is something else */
TENON_INLINE tenon_u32 fast_total4(const tenon_u8 *ip)
{
    const tenon_u32 first = get32be(ip);

    if (first >> 24 != 0x45 || (first & 0x30000UL) == 0x30000UL || (get32be(ip + 6) & 0x3FFF00FFUL) != TN_PROTO_TCP)
        return 0;
    return tn_csum_sum20(ip) == 0xFFFFU ? first & 0xFFFFUL : 0;
}

TENON_INLINE tenon_u32 fast_total6(const tenon_u8 *ip)
{
    const tenon_u32 first = get32be(ip), second = get32be(ip + 4);

    if (first >> 28 != 6 || (first & 0x300000UL) == 0x300000UL || (second >> 8 & 0xFF) != TN_PROTO_TCP)
        return 0;
    return TN_IP6_BYTES + (second >> 16);
}

/* To our Ethernet address, and as long as it says, with all headers at hand; TCP with ACK and no other flag
 * but PSH and FIN, and with timestamps alone or no options, as was agreed on. The frame is long enough for
 * both headers without options, of the connection's version of IP: tn_fast_look() has seen to that. @return
 * 0: something else */
TENON_HOT int fast_parse(struct fast_seg *seg, const struct tn_netif *netif, const struct tn_fast_rx *rx, int is_v4)
{
    const tenon_u32 link = (netif->conf.caps & TENON_CAP_NO_LINK) ? 0 : TN_ETH_BYTES;
    const tenon_u8 *p = tenon_span_data(rx->frame->spans), *ip = p + link, *tcp = ip + fast_ip_bytes(is_v4);
    const tenon_u32 word = get32be(tcp + 12);    /* data offset, flags, window */
    const tenon_u32 headers = (word >> 28 << 2) + fast_ip_bytes(is_v4), least = fast_ip_bytes(is_v4) + TN_TCP_BYTES;
    tenon_u32 total;

    if ((word & (0x0FFF0000UL & ~((tenon_u32)(TN_TCP_PSH | TN_TCP_FIN) << 16))) != (tenon_u32)TN_TCP_ACK << 16)
        return 0;
    if (rx->conn->flags & TN_TCP_F_TIMESTAMPS) {
        if (headers != least + TN_TCP_TIMESTAMP_BYTES)
            return 0;
    } else if (headers != least) {
        return 0;
    }
    if (link != 0 && (get16be(p + 12) != (is_v4 ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6) ||
                      memcmp(p, netif->conf.mac, 6) != 0))
        return 0;
    total = is_v4 ? fast_total4(ip) : fast_total6(ip);
    if (total < headers || total > rx->bytes - link - rx->merged || rx->frame->spans->len < link + headers)
        return 0;
    seg->frame = rx->frame;
    seg->tcp = tcp;
    seg->ts_val = 0;
    seg->seq = get32be(tcp + 4);
    seg->ack = get32be(tcp + 8);
    seg->wnd = word & 0xFFFFUL;
    seg->at = link + headers;
    seg->len = rx->merged + total - headers;
    return 1;
}

/* Timestamps are there if they were agreed on; one that was not is none (fast_parse()). */
static int fast_has_timestamp(const struct tenon_tcp *conn, struct fast_seg *seg)
{
    if (!(conn->flags & TN_TCP_F_TIMESTAMPS))
        return 1;
    seg->ts_val = get32be(seg->tcp + TN_TCP_BYTES + 4);
    return get32be(seg->tcp + TN_TCP_BYTES) == TN_TCP_TIMESTAMP_ALONE;
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

/* Of what is in flight nothing is lost, probed, or marked; and the congestion control wants to hear of ACKs only. */
static int fast_sends_plainly(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if ((conn->flags & fast_not_sent) != 0 || conn->recovery != TN_RECOVERY_NONE || conn->backoff != 0 ||
        tn_rate_is_wanted(conn) || conn->stack->conf.trace != NULL || (conn->ecn & (TN_ECN_ECHO | TN_ECN_CWR)) != 0)
        return 0;
    if (flight == NULL)
        return conn->snd_una == conn->snd_nxt;
    return (flight->dupacks | flight->again_n | flight->tlp | flight->frto | flight->mtu_claim) == 0 &&
           flight->sack == NULL && flight->reo_wait_us == 0 && flight->probe_seq == flight->probe_end &&
           flight->lost_edge == conn->snd_una;
}

/* Nor is it known of anything to have left more than once. Asked once: whatever may change it says tn_fast_end(). */
TENON_APART int fast_is_plain(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (flight == NULL)
        return fast_sends_plainly(conn);
    if (!(flight->usual & TN_FAST_PLAIN) && fast_sends_plainly(conn) && !fast_is_ambiguous(conn))
        flight->usual |= TN_FAST_PLAIN;
    return (flight->usual & TN_FAST_PLAIN) != 0;
}

/* Nothing is reordered, or over. */
TENON_APART int fast_is_open(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (conn->state != TENON_TCP_ESTABLISHED || (conn->flags & fast_not) != 0)
        return 0;
    return flight == NULL || (flight->ooo == NULL && flight->dup_left == flight->dup_right);
}

/* Both, asked once: whatever may change the latter says at least tn_fast_change(). */
TENON_HOT int fast_is_usual(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (flight == NULL)
        return fast_is_open(conn) && fast_is_plain(conn);
    if (TENON_LIKELY(flight->usual & FAST_USUAL))
        return 1;
    if (!fast_is_open(conn) || !fast_is_plain(conn))
        return 0;
    flight->usual |= FAST_USUAL;
    return 1;
}

TENON_INTERNAL const char *tn_fast_check(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    if (flight == NULL || flight->usual == 0)
        return NULL;
    if (!fast_sends_plainly(conn) || fast_is_ambiguous(conn))
        return "it is taken for one that has sent nothing but new data, and has";
    if ((flight->usual & FAST_USUAL) && !fast_is_open(conn))
        return "it is taken for a usual connection, and is none";
    return NULL;
}

/* The next in order, within the window, acknowledging what is in flight or nothing new. */
static int fast_is_predicted(struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const tenon_u32 room = conn->rcv_adv - conn->rcv_nxt, acked = seg->ack - conn->snd_una;

    if (seg->seq != conn->rcv_nxt || ((room - seg->len) & 0x80000000UL) || acked > conn->snd_nxt - conn->snd_una)
        return 0;
    if ((acked | seg->len) == 0)
        return 0;    /* a duplicate, an update of the window, or a keep-alive */
    return !(seg->tcp[13] & TN_TCP_FIN) && fast_is_usual(conn) && fast_timestamp_is_new(conn, seg);
}

TENON_HOT int fast_csum_good(const struct tenon_tcp *conn, const struct fast_seg *seg)
{
    const tenon_u32 ends = fast_ends_bytes(tn_tcp_is_v4(conn));    /* the addresses stand right before the TCP header */
    const struct tenon_frame *frame = seg->frame;
    const tenon_u32 at = (tenon_u32)(seg->tcp - tenon_span_data(frame->spans));
    const tenon_u32 bytes = seg->at + seg->len - at;
    struct tn_csum csum;

    if (frame->csum != TENON_CSUM_NONE)
        return 1;
    tn_csum_init_hook(&csum, conn->stack->conf.checksum);
    csum.sum = tn_csum_join(TN_PROTO_TCP, bytes);
    tn_csum_add_spans(&csum, frame->spans, at - ends, ends + bytes);
    return csum.sum == 0xFFFFUL;
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

/* A pacing rate is made anew when the window has changed by a sixteenth, and once in a millisecond. */
static void fast_tell_now(struct tenon_tcp *conn, tenon_u32 una, tenon_u32 in_flight, tenon_u32 rtt_us)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now_ms = conn->stack->now_ms;
    struct tn_ack ack;

    ack.una = una;
    ack.flight = in_flight;
    ack.acked = ack.delivered = conn->snd_una - una;
    ack.lost = ack.ce = 0;
    ack.fresh_rtt_us = rtt_us;
    tn_path_confirm(conn->stack, conn->path);
    tn_tcp_tell_acked(conn, &ack);
    conn->flags &= ~(tenon_u32)TN_TCP_F_CWND_LIMITED;
    if (flight->told_ms == now_ms && conn->cc.cwnd - flight->paced_cwnd + conn->cc.cwnd / 16 <= conn->cc.cwnd / 8)
        return;
    flight->told_ms = now_ms;
    flight->paced_cwnd = conn->cc.cwnd;
    tn_pace_update(conn);
}

/* A window that may not grow has little to learn from an ACK: the congestion control is told of those of a millisecond
 * together, so that its clock goes on. So is the neighbour; and that marks lag behind is seen then. */
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
static void fast_take_rack(struct tenon_tcp *conn, tenon_u32 end, tenon_u32 sent_us)
{
    struct tn_flight *flight = conn->flight;

    if (flight->rack_valid && tn_seq_gt(flight->rack_sent_us, sent_us))
        return;
    flight->rack_valid = 1;
    flight->rack_sent_us = sent_us;
    flight->rack_end = end;
    flight->rack_rtt_us = conn->stack->now_us - sent_us;
}

/* RFC 6298 2, RFC 8985 6.2 step 1: what the arrival of the newest says. */
TENON_HOT void fast_take_rtt(struct tenon_tcp *conn, struct fast_ack *acked, const struct tn_sent *newest)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 now = conn->stack->now_us, sent_us = newest->sent_us;
    const tenon_u32 size = tn_min(acked->end - acked->una, newest->size);

    flight->tlp_sampled = 1;
    acked->rtt_us = tn_max(1, now - sent_us);
    if (conn->mtu_acked < size)
        conn->mtu_acked = (tenon_u16)size;
    tn_tcp_take_min_rtt(conn, acked->rtt_us);
    if (!(conn->flags & TN_TCP_F_RTT_TIMING) || !tn_seq_gt(acked->end, flight->rtt_seq))
        return;
    conn->flags &= ~(tenon_u32)TN_TCP_F_RTT_TIMING;
    tn_tcp_rtt_sample(conn, now - flight->rtt_start_us);
}

static void fast_pull_marks(struct tn_flight *flight, tenon_u32 una)
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
    const int later = fast_tells_later(conn, acked->flight);

    fast_take_rtt(conn, acked, newest);
    if (!all || !later)
        fast_take_rack(conn, acked->end, newest->sent_us);
    if (later) {
        conn->flight->untold += acked->end - acked->una;
        return;
    }
    fast_pull_far_marks(conn->flight, acked->una);
    fast_tell_now(conn, acked->una, acked->flight, acked->rtt_us);
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

/* What the application has to answer leaves when its handler is over, if nothing more of the connection comes in this
 * burst, and takes the acknowledgement along. What does not leave waits as usual. @return 1: something has left */
static int fast_answer(struct tenon_tcp *conn)
{
    const tenon_u32 nxt = conn->snd_nxt;

    if (!(conn->flags & TN_TCP_F_READY))
        return 0;
    conn->flags &= ~(tenon_u32)TN_TCP_F_READY;
    if (conn->state == TENON_TCP_CLOSED || conn->snd_end == nxt || !tn_fast_output(conn))
        tn_tcp_make_ready(conn);
    return conn->snd_nxt != nxt;
}

/* is_last: nothing more of the connection comes in this burst, not even a FIN. */
TENON_HOT void fast_text(struct tenon_tcp *conn, const struct fast_seg *seg, tenon_u32 merged, int is_last)
{
    const struct tenon_frame *frame = seg->frame;
    const tenon_u32 one = frame->seg_kind != TENON_SEG_NONE ? frame->seg_bytes : seg->len;
    const int serves = is_last && !(conn->flags & TN_TCP_F_READY);
    struct tenon *stack = conn->stack;
    int alive, answered = 0;

    if (serves)
        stack->tcp.serving = conn;
    if (TENON_LIKELY(frame->nspans == 1))
        alive = fast_deliver(conn, frame, seg->at, seg->len);
    else
        alive = fast_deliver_many(conn, seg, merged);
    if (serves) {
        stack->tcp.serving = NULL;
        answered = fast_answer(conn);
    }
    if (answered)
        tn_tcp_note_size(conn, one);
    else if (alive)
        tn_tcp_acknowledge(conn, one);
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
    return fast_timestamp_is_new(conn, seg) && fast_is_plain(conn);
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
    if (conn->snd_una == conn->snd_nxt)
        tn_flight_settle(conn);
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
        fast_text(conn, seg, merged, 0);
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
    const tenon_u32 headers = fast_ip_bytes(is_v4) + (tenon_u32)(ip[fast_ip_bytes(is_v4) + 12] >> 4) * 4;

    tn_clear(pkt, sizeof(*pkt));
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
    const tenon_u32 link = (netif->conf.caps & TENON_CAP_NO_LINK) ? 0 : TN_ETH_BYTES;
    const tenon_u8 *tcp = tenon_span_data(rx->frame->spans) + link + fast_ip_bytes(tn_tcp_is_v4(rx->conn));
    struct tn_pkt pkt;
    struct tn_seg seg;

    if (TENON_SMALL || rx->conn->state == TENON_TCP_SYN_SENT)
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
    if (tcp[12] > TN_TCP_BYTES << 2) {    /* fast_has_timestamp() */
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
    seg.ts_val = tcp[12] > TN_TCP_BYTES << 2 ? get32be(tcp + TN_TCP_BYTES + 4) : 0;    /* fast_has_timestamp() */
    if (TENON_SMALL || !fast_is_next(rx->conn, &seg))
        return fast_hand_on(netif, rx);
    fast_take_next(rx->conn, &seg, rx->merged);
    return 1;
}

TENON_INTERNAL int tn_fast_input(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    struct tenon_tcp *conn = rx->conn;
    struct fast_seg seg;

    if (!TN_FAST)
        return 0;
    if (rx->frame->nspans > TN_RX_SPANS_MAX && rx->merged == 0)
        return 0;
    if (!(tn_tcp_is_v4(conn) ? fast_parse(&seg, netif, rx, 1) : fast_parse(&seg, netif, rx, 0)))
        return 0;
    if (!tn_fast_is_heard(conn, netif) || !fast_has_timestamp(conn, &seg) || !fast_csum_good(conn, &seg))
        return 0;
    if (!fast_is_predicted(conn, &seg))
        return fast_other(netif, rx, seg.tcp, seg.at, seg.len);
    tn_count(stack, TENON_STAT_TCP_RCVD);
    tn_count(stack, TENON_STAT_TCP_PREDICTED);
    fast_take_header(conn, &seg);
    if (seg.ack != conn->snd_una)
        fast_acked(conn, &seg);
    if (seg.len > 0 && conn->state != TENON_TCP_CLOSED)
        fast_text(conn, &seg, rx->merged, rx->is_last);
    if (conn->state != TENON_TCP_CLOSED)
        fast_settle(conn);
    return 1;
}

/* ---- what leaves ------------------------------------------------------------------------------------------------ */

/* By a path on which nothing has to be found out: no neighbour, no MTU. */
TENON_APART int fast_find_way(struct tenon *stack, struct tn_tcp_way *way, struct tn_path *path)
{
    way->path = NULL;
    if ((path->mtu | path->search) != 0)
        return 0;
    way->netif = tn_link_ready(stack, path, &way->mac);
    if (way->netif == NULL || way->netif->conf.gather_max == 1)
        return 0;
    way->path = path;
    way->changes = stack->link.changes;
    way->ms = stack->now_ms;
    way->mtu = (tenon_u16)tn_netif_mtu(way->netif, &path->dst);
    return 1;
}

/* While connections send one after the other, mostly nothing happens to the ways that they take: one that was good for
 * the last is good for the next. */
TENON_HOT const struct tn_tcp_way *fast_way_there(const struct tenon_tcp *conn)
{
    struct tenon *stack = conn->stack;
    struct tn_tcp_way *way = &stack->tcp.way;

    if (TENON_LIKELY(way->path == conn->path && way->changes == stack->link.changes && way->ms == stack->now_ms))
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
        len = tn_tcp_frame_limit(conn, netif);
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
    const tenon_u32 l4 = header->tcp_bytes + len;
    const unsigned tos = len > 0 ? header->tos_data : header->tos;
    const tenon_u32 tcp_sum = tn_csum_fold(header->tcp_sum + (l4 >> 16) + (l4 & 0xFFFF));
    const int is_v4 = !TENON_WITH_IPV6 || header->ip_bytes == TN_IP4_BYTES;
    tenon_u32 first = header->ip_rest | (tenon_u32)tos << 20, second = l4;    /* IPv6: length */
    tenon_u8 *ip = header->bytes + FAST_IP_AT;
    unsigned i;

    header->len = len;
    if (is_v4) {
        first = 0x45UL << 24 | (tenon_u32)tos << 16 | (TN_IP4_BYTES + l4);
        second = (tenon_u32)0xFFFF ^ tn_csum_fold(header->ip_rest + tos + TN_IP4_BYTES + l4);    /* its checksum */
    }
    for (i = 0; i < 2; i++, ip = p + FAST_IP_AT) {
        put32be(ip, first);
        put16be(ip + (is_v4 ? 10 : 4), second);
        put16be(ip + header->ip_bytes + 16, tcp_sum);
    }
}

/* The IP header at p, but for what fast_set_length() knows. */
static void fast_prepare_ip4(const struct tenon_tcp *conn, struct tn_header *header, tenon_u8 *p)
{
    const tenon_u32 ttl_proto = tn_tcp_ttl(conn) << 8 | TN_PROTO_TCP;
    const tenon_u32 local = conn->ends.local.w[3], remote = tn_tcp_remote_ip(conn)->w[3];

    header->ip_bytes = TN_IP4_BYTES;
    header->tcp_sum = tn_csum_ends4(local, remote) + TN_PROTO_TCP;
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
    header->changes = way->changes;
    header->len = FAST_NO_LEN;
}

/* The headers of a segment of `len` bytes, around where its TCP header begins. What they say is looked up first:
 * bytes that are written could be anything, as far as a compiler knows. */
TENON_HOT void fast_fill(struct tenon_tcp *conn, tenon_u8 *tcp, tenon_u32 len, unsigned flags)
{
    struct tn_header *header = &conn->flight->header;
    const tenon_u32 seq = conn->snd_nxt, ack = conn->rcv_nxt - conn->flight->rcv_held;
    const tenon_u32 window = tn_tcp_window_field(conn, ack);
    const tenon_u32 ts_now = tn_tcp_ts_now(conn), ts_echo = conn->ts_recent;
    const unsigned push = len > 0 && seq + len == conn->snd_end ? (unsigned)TN_TCP_PSH : 0U;
    tenon_u8 *p = tcp - header->ip_bytes - FAST_IP_AT;

    conn->rcv_acked = ack;
    TENON_COPY(p, header->bytes, sizeof(header->bytes));
    if (header->len != len)
        fast_set_length(header, p, len);
    put32be(tcp + 4, seq);
    put32be(tcp + 8, ack);
    tcp[13] = (tenon_u8)(flags | push);
    put16be(tcp + 14, window);
    if (header->tcp_bytes > TN_TCP_BYTES) {
        put32be(tcp + 24, ts_now);
        put32be(tcp + 28, ts_echo);
    }
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

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
    out->csum = 1;
    out->csum_offset = 16;
    out->src = conn->ends.local;
    out->dst = conn->path->dst;
    out->proto = TN_PROTO_TCP;
    out->netif = way->netif->index;
    if (out->payload > conn->mss) {
        out->seg_kind = (tenon_u8)(tn_tcp_is_v4(conn) ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
        out->seg_bytes = conn->mss;
    }
    return tn_tx(conn->stack, out) == TENON_OK;
}

/* A segment with `len` bytes of payload. @return 0: it has not left */
static int fast_send_long(struct tenon_tcp *conn, const struct tn_tcp_way *way, tenon_u32 len)
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
    fast_fill(conn, out.hdr->data + TN_HEADROOM, len, TN_TCP_ACK);
    fast_leaves(conn);
    return fast_hand_down(conn, way, &out);
}

/* A finished segment in one piece goes into the burst. */
TENON_HOT void fast_put(const struct tenon_tcp *conn, const struct tn_tcp_way *way, struct tenon_buf *buf,
                        tenon_u32 tcp_bytes, tenon_u32 len)
{
    struct tn_short lay;

    lay.l4 = (way->mac != NULL ? TN_ETH_BYTES : 0) + (tenon_u32)conn->flight->header.ip_bytes;
    lay.off = TN_HEADROOM - lay.l4;
    lay.headers = lay.l4 + tcp_bytes;
    lay.len = lay.headers + len;
    lay.csum_offset = 16;
    tn_tx_short(conn->stack, way->netif, buf, &lay);
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
        return fast_send_long(conn, way, len);
    }
    tcp = buf->data + TN_HEADROOM;
    fast_fill(conn, tcp, len, flags);
    tn_sendq_copy(conn, tcp + tcp_bytes, conn->snd_nxt, len);
    fast_put(conn, way, buf, tcp_bytes, len);
    fast_leaves(conn);
    return 1;
}

TENON_HOT int fast_send(struct tenon_tcp *conn, const struct tn_tcp_way *way, tenon_u32 len)
{
    if (len <= tn_min(conn->stack->conf.tcp_copy_max, conn->mss))
        return fast_send_short(conn, way, len, TN_TCP_ACK);
    return fast_send_long(conn, way, len);
}

/* The first of a flight has a record of its own; what it says of rates nobody asks for (fast_is_plain()). */
TENON_HOT void fast_record(struct tenon_tcp *conn, tenon_u32 end, tenon_u32 size)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 last = flight->last;
    struct tn_sent *record;

    if (TENON_SMALL || flight->first != last) {
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

/* One segment of new data, if windows and pacing let it go. @return 0: it has not left */
static int fast_send_new(struct tenon_tcp *conn, const struct tn_tcp_way *way)
{
    const tenon_u32 len = fast_bytes(conn, way->netif), size = tn_min(len, conn->mss);
    const int lags = tn_pace_lags(conn);

    if (len == 0 || (!lags && !tn_pace_allows(conn)) || !fast_send(conn, way, len))
        return 0;
    if (lags)
        tn_pace_owe(conn, len);
    else
        tn_pace_sent(conn, len);
    if (conn->flight->mtu_sent < size)
        conn->flight->mtu_sent = (tenon_u16)size;
    fast_sent(conn, len);
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
    if (conn->flight->header.tcp_bytes == 0 || conn->flight->header.changes != way->changes)
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
    if (flight == NULL || flight->header.tcp_bytes == 0 || (flags & ~(unsigned)TN_TCP_FIN) != TN_TCP_ACK ||
        (conn->flags & (TN_TCP_F_URGENT_SND | TN_TCP_F_FIN_HELD)) != 0 || (conn->ecn & TN_ECN_ECHO) != 0)
        return 0;
    if (tn_ooo_has_news(conn) || stack->conf.trace != NULL || tn_tx_room(stack) == 0)
        return 0;
    way = fast_way(conn);
    return way != NULL && fast_is_prepared(conn, way) && fast_send_short(conn, way, 0, flags);
}

/* Nothing is left but our FIN, and whether a window lets it go. @return 1: it has left */
TENON_APART int fast_fin(struct tenon_tcp *conn)
{
    const tenon_u32 window = conn->snd_una + conn->snd_wnd - conn->snd_nxt;

    if (TENON_SMALL || !(conn->flags & TN_TCP_F_FIN_QUEUED) || conn->snd_nxt != conn->snd_end || conn->flight == NULL ||
        (conn->state != TENON_TCP_ESTABLISHED && conn->state != TENON_TCP_CLOSE_WAIT) || window - 1 >= 0x7FFFFFFFUL)
        return 0;
    if (!fast_is_plain(conn) || !tn_pace_allows(conn) || !tn_fast_control(conn, TN_TCP_FIN | TN_TCP_ACK))
        return 0;
    tn_pace_sent(conn, 1);
    fast_sent(conn, 1);
    tn_tcp_set_state(conn, conn->state == TENON_TCP_ESTABLISHED ? TENON_TCP_FIN_WAIT_1 : TENON_TCP_LAST_ACK);
    tn_tcp_arm_usual(conn, !(conn->flags & TN_TCP_F_RTX_ARMED));    /* RFC 6298 5.1 */
    (void)tn_why(conn, TENON_TCP_WAIT_DATA);
    return 1;
}

/* The headers of data, which are made here, with the options of a SYN in place of timestamps alone. */
static void fast_fill_syn(struct tenon_tcp *conn, tenon_u8 *tcp, unsigned flags)
{
    struct tn_header *header = &conn->flight->header;
    const tenon_u32 words = (TN_TCP_BYTES + TN_TCP_SYN_OPTIONS_BYTES) / 4;
    const tenon_u32 ack = (flags & TN_TCP_ACK) ? conn->rcv_nxt : 0;
    tenon_u32 window = tn_min(tn_tcp_opt(conn, TENON_TCP_RCV_BUF), 65535UL);
    tenon_u8 *p = tcp - header->ip_bytes - FAST_IP_AT;
    struct tn_tcp_options options;

    options.mss = tn_tcp_offered_mss(conn);
    options.ts_val = tn_tcp_ts_now(conn);
    options.ts_ecr = (flags & TN_TCP_ACK) ? conn->ts_recent : 0;
    options.wscale = conn->rcv_wscale;
    if (flags & TN_TCP_ACK) {
        window = tn_tcp_window_scaled(conn, ack, 0);
        conn->rcv_acked = ack;
    }
    TENON_COPY(p, header->bytes, sizeof(header->bytes));
    fast_set_length(header, p, TN_TCP_SYN_OPTIONS_BYTES - TN_TCP_TIMESTAMP_BYTES);
    put32be(tcp + 4, conn->flight->iss);
    put32be(tcp + 8, ack);
    put32be(tcp + 12, words << 28 | (tenon_u32)flags << 16 | window);
    tn_tcp_syn_options_build(tcp + TN_TCP_BYTES, &options);
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
    const tenon_u32 tcp_bytes = TN_TCP_BYTES + TN_TCP_SYN_OPTIONS_BYTES;
    const struct tn_tcp_way *way;
    struct tenon_buf *buf;

    if (!fast_syn_is_usual(conn, flags))
        return 0;
    way = fast_way_there(conn);
    if (way == NULL || !fast_is_prepared(conn, way))
        return 0;
    buf = tn_buf_get(conn->stack);
    if (buf == NULL)
        return 0;
    if (buf->size < TN_HEADROOM + tcp_bytes) {
        tenon_buf_put(buf);
        return 0;
    }
    fast_fill_syn(conn, buf->data + TN_HEADROOM, flags);
    fast_put(conn, way, buf, tcp_bytes, 0);
    if (flags & TN_TCP_ACK)
        fast_leaves(conn);
    else
        tn_count(conn->stack, TENON_STAT_TCP_SENT);
    return 1;
}

/* ---- all that waits ---------------------------------------------------------------------------------------------- */

TENON_INTERNAL int tn_fast_output(struct tenon_tcp *conn)
{
    const tenon_u32 nxt = conn->snd_nxt;
    const struct tn_tcp_way *way;

    if (!TN_FAST)
        return 0;
    if (!fast_is_usual(conn))
        return fast_fin(conn);
    way = fast_way(conn);
    if (way == NULL || !fast_is_prepared(conn, way))
        return 0;
    while (conn->snd_end != conn->snd_nxt && tn_tx_room(conn->stack) > 0 && fast_send_new(conn, way))
        continue;
    if (TENON_LIKELY(conn->snd_nxt != nxt))
        tn_tcp_arm_usual(conn, !(conn->flags & TN_TCP_F_RTX_ARMED));    /* RFC 6298 5.1 */
    if (conn->snd_end != conn->snd_nxt)
        return 0;
    if ((conn->flags & TN_TCP_F_ACK_NOW) &&
        (tn_tx_room(conn->stack) == 0 || !fast_send_short(conn, way, 0, TN_TCP_ACK)))
        return 0;
    (void)tn_why(conn, TENON_TCP_WAIT_DATA);
    return 1;
}
