/* SPDX-License-Identifier: MIT */
/* Header prediction (tcp_fast.c): what takes the short way, what must not, and that both ways lead to the same. */
#include "segment.h"

#include "link/link_internal.h"
#include "tcp/tcp_internal.h"

enum { PORT = 80, PEER_PORT = 4000, ISS = 1000, TS = 500000 };

/* A connection that a peer has opened, with timestamps, and what its application has seen. */
struct side {
    struct hn hn;
    struct tenon_tcp *conn;
    tenon_u32 seq, ack, ts, echo; /* the peer's next segment */
    unsigned received, acked, closed;
    unsigned unread;             /* of what was received, while lazy */
    int lazy;                    /* it reads later */
    unsigned answers;            /* bytes that it says to each piece of text */
    int refers;                  /* they stay where they are */
    int small;                   /* all that it says is */
    int plain;                   /* without timestamps */
    int full;                    /* with text its host runs out of buffers */
    enum { NEVER,
           WHEN_ACKED,
           WHEN_RECEIVED } closes;
};

static const tenon_u8 side_answer[5000];

static void side_answers(struct side *side, struct tenon_tcp *conn)
{
    struct tenon_span span = { .len = side->answers };

    if (!side->refers) {
        (void)tenon_tcp_write(conn, side_answer, side->answers);
        return;
    }
    span.buf = hn_buf(&side->hn, span.len);
    memset(span.buf->data, 0x5A, span.len);
    (void)tenon_tcp_send(conn, &span);
    tenon_buf_put(span.buf);
}

static void side_opened(struct tenon_tcp *conn, void *app)
{
    ((struct side *)app)->conn = conn;
}

static void side_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct side *side = app;

    for (unsigned i = 0; i < n; i++) {
        for (tenon_u32 k = 0; k < spans[i].len; k++)
            HN_EQUAL(tenon_span_data(&spans[i])[k], (side->received + k) & 0xFF);
        side->received += spans[i].len;
        if (side->lazy)
            side->unread += spans[i].len;
        else
            tenon_tcp_consumed(conn, spans[i].len);
    }
    if (side->answers > 0)
        side_answers(side, conn);
    if (side->full)
        tenon_keep(side->hn.stack, TENON_KEEP_NOTHING);
    if (side->closes == WHEN_RECEIVED)
        tenon_tcp_close(conn);
}

static void side_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    ((struct side *)app)->acked += bytes;
    if (((struct side *)app)->closes == WHEN_ACKED)
        tenon_tcp_close(conn);
}

static void side_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    (void)why;
    ((struct side *)app)->closed++;
    ((struct side *)app)->conn = NULL;
}

static const struct tenon_tcp_events side_events = {
    .opened = side_opened, .received = side_received, .acked = side_acked, .closed = side_closed
};

/* ---- frames by hand: every byte of them may be changed before it is summed, or after ---- */

enum { ETH = 14, IP = ETH };

/* Both versions of IP go the same way, and are tested in the same way, one after the other. */
static int is_v4 = 1;

#define IP_BYTES (is_v4 ? 20U : 40U)
#define TCP (IP + IP_BYTES)
#define DATA (TCP + 32)

static struct tenon_ip ip_of_peer(void)
{
    return hn_ip(is_v4 ? "198.51.100.7" : "2001:db8:7::7");
}

static struct tenon_ip ip_of_ours(void)
{
    return hn_ip(is_v4 ? "10.0.0.1" : "fd00::1");
}

struct frame {
    tenon_u8 bytes[2048];
    unsigned len;
};

static void frame_sum_tcp(struct frame *frame)
{
    const tenon_u8 *ip = frame->bytes + IP;
    const struct tenon_ip src = is_v4 ? tenon_ip4(hn_get32(ip + 12)) : hn_get_ip(ip + 8);
    const struct tenon_ip dst = is_v4 ? tenon_ip4(hn_get32(ip + 16)) : hn_get_ip(ip + 24);
    tenon_u8 *tcp = frame->bytes + TCP;
    const unsigned n = frame->len - TCP;

    hn_put16(tcp + 16, 0);
    hn_put16(tcp + 16, ~hn_sum(hn_pseudo(&src, &dst, 6, n), tcp, n) & 0xFFFF);
}

static void frame_sum_ip(struct frame *frame)
{
    if (!is_v4)
        return;
    hn_put16(frame->bytes + IP + 10, 0);
    hn_put16(frame->bytes + IP + 10, ~hn_sum(0, frame->bytes + IP, 20) & 0xFFFF);
}

/* The IP header says that these are all bytes of the frame. */
static void frame_set_length(struct frame *frame)
{
    if (is_v4)
        hn_put16(frame->bytes + IP + 2, frame->len - ETH);
    else
        hn_put16(frame->bytes + IP + 4, frame->len - TCP);
}

/* The network has marked it (RFC 3168 5). */
static void frame_mark(struct frame *frame)
{
    frame->bytes[IP + 1] |= is_v4 ? 3 : 0x30;
}

/* The peer's next segment with n bytes of data, unsummed. */
static void frame_next(struct frame *frame, const struct side *side, unsigned n)
{
    const struct tenon_ip peer = ip_of_peer(), ours = ip_of_ours();
    tenon_u8 *p = frame->bytes, mac[6], from[6];

    memset(frame, 0, sizeof *frame);
    hn_eth(p, hn_mac(mac, 0, 1), hn_mac(from, 1, 2), is_v4 ? 0x0800 : 0x86DD);
    frame->len = DATA + n;
    hn_ip_header(p + IP, &peer, &ours, 6, 64, 32 + n);
    hn_put16(p + TCP, PEER_PORT);
    hn_put16(p + TCP + 2, PORT);
    hn_put32(p + TCP + 4, side->seq);
    hn_put32(p + TCP + 8, side->ack);
    p[TCP + 12] = 0x80;
    p[TCP + 13] = SEG_ACK | SEG_PSH;
    hn_put16(p + TCP + 14, 30000);
    hn_put32(p + TCP + 20, 0x0101080A);
    hn_put32(p + TCP + 24, side->ts);
    hn_put32(p + TCP + 28, side->echo);
    for (unsigned i = 0; i < n; i++)
        p[DATA + i] = (tenon_u8)(side->seq - (ISS + 1) + i);
    if (side->plain) {
        memmove(p + TCP + 20, p + DATA, n);
        p[TCP + 12] = 0x50;
        frame->len -= 12;
        frame_set_length(frame);
    }
}

static void frame_sum(struct frame *frame)
{
    frame_sum_tcp(frame);
    frame_sum_ip(frame);
}

/* How many segments of the frame were predicted: 0 or 1. */
static unsigned predicted(struct side *side, unsigned netif, const struct frame *frame)
{
    const tenon_u32 before = hn_stat(&side->hn, TENON_STAT_TCP_PREDICTED);

    hn_inject(&side->hn, netif, frame->bytes, frame->len);
    return hn_stat(&side->hn, TENON_STAT_TCP_PREDICTED) - before;
}

/* The next segment, as it should be. */
static unsigned usual(struct side *side, unsigned n)
{
    struct frame frame;

    frame_next(&frame, side, n);
    frame_sum(&frame);
    side->seq += n;
    return predicted(side, 1, &frame);
}

enum { PLAIN = 1, WITH_ECN = 2, SMALL = 4, MEASURED = 8, RESTARTED = 16, WHOLE = 32 };

static void side_open_ip6(struct hn *hn)
{
    const struct tenon_ip ours = ip_of_ours(), router = hn_ip("fd00::2"), all = hn_ip("::");
    tenon_u8 mac[6];

    HN_EQUAL(tenon_addr_add(hn->stack, 1, &ours, 64), TENON_OK);
    HN_EQUAL(tenon_route_add(hn->stack, 1, &all, 0, &router, 0), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(hn->stack, 1, &router, hn_mac(mac, 1, 2)), TENON_OK);
    hn_run_ms(hn, 20000);    /* groups that were joined are reported */
    hn_forget(hn);
}

static void side_open_conf(struct side *side, const struct tenon_conf *conf, unsigned how)
{
    static const tenon_u8 offer[] = { 2, 4, 5, 180, 1, 3, 3, 0, 4, 2, 8, 10, 0, 7, 161, 32, 0, 0, 0, 0 };
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    struct seg seg;

    memset(side, 0, sizeof *side);
    seg_open(&side->hn, conf);
    if (!is_v4)
        side_open_ip6(&side->hn);
    if (how & WHOLE)
        side->hn.stack->link.netifs->conf.gather_max = 1;
    memset(&at, 0, sizeof at);
    at.port = PORT;
    HN_EQUAL(tenon_tcp_listen(side->hn.stack, &listener, &at, &side_events, side, 8), TENON_OK);
    memset(&seg, 0, sizeof seg);
    seg.src = ip_of_peer();
    seg.dst = ip_of_ours();
    seg.sport = PEER_PORT;
    seg.dport = PORT;
    seg.seq = ISS;
    seg.flags = SEG_SYN | (how & WITH_ECN ? SEG_ECE | SEG_CWR : 0);
    seg.wnd = 30000;
    seg.options = offer;
    seg.noptions = how & PLAIN ? 8 : sizeof offer;
    seg_inject(&side->hn, &seg);
    hn_run_ms(&side->hn, 1);
    HN_CHECK(seg_next(&side->hn, &seg) && seg.flags == (SEG_SYN | SEG_ACK));
    side->seq = ISS + 1;
    side->ack = seg.seq + 1;
    side->ts = TS;
    side->plain = how & PLAIN;
    HN_EQUAL(usual(side, 0), 0);    /* it completes the handshake: nothing usual */
    HN_CHECK(side->conn != NULL && side->conn->state == TENON_TCP_ESTABLISHED);
}

static void side_open(struct side *side)
{
    side_open_conf(side, NULL, 0);
}

/* ---- tests ---- */

/* Data, its acknowledgement, data again: all as expected. */
static void what_is_expected(void)
{
    static struct side side;
    static const tenon_u8 answer[100];

    side_open(&side);
    HN_EQUAL(usual(&side, 10), 1);
    HN_EQUAL(usual(&side, 1400), 1);
    HN_EQUAL(side.received, 1410);
    HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
    hn_run_ms(&side.hn, 1);
    side.ack += sizeof answer;
    HN_EQUAL(usual(&side, 0), 1);    /* acknowledges, and brings nothing */
    HN_EQUAL(side.acked, sizeof answer);
    HN_EQUAL(usual(&side, 0), 0);    /* that again is no news: a duplicate, or a keep-alive */
    HN_EQUAL(usual(&side, 5), 1);
    HN_EQUAL(side.received, 1415);
    HN_EQUAL(side.conn->rcv_nxt, side.seq);
    hn_close(&side.hn);
}

/* One thing is different about a segment of 10 bytes. The short way leaves it alone, and the general way does with it
 * what it always does: counts it, and takes its bytes or not. */
struct oddity {
    const char *what;
    enum { IN_FRAME,
           IN_IP,
           IN_TCP } from; /* where it is counted from ... */
    unsigned at;                 /* ... to the byte that is different */
    tenon_u8 value;
    enum { SUMMED,
           IP_SUMMED,
           RAW } sums; /* what is summed after the change */
    enum tenon_stat stat;        /* counts 1 more; TENON_STAT_COUNT: none */
    unsigned received;           /* of the 10 bytes */
};

static void is_odd(const struct oddity *row)
{
    static struct side side;
    struct frame frame;
    tenon_u32 before;

    hn_row = row->what;
    side_open(&side);
    HN_EQUAL(usual(&side, 20), 1);
    frame_next(&frame, &side, 10);
    frame_sum(&frame);
    frame.bytes[(row->from == IN_TCP ? TCP : row->from == IN_IP ? (unsigned)IP : 0) + row->at] = row->value;
    if (row->sums == SUMMED)
        frame_sum(&frame);
    else if (row->sums == IP_SUMMED)
        frame_sum_ip(&frame);
    before = row->stat == TENON_STAT_COUNT ? 0 : hn_stat(&side.hn, row->stat);
    HN_EQUAL(predicted(&side, 1, &frame), 0);
    if (row->stat != TENON_STAT_COUNT)
        HN_EQUAL(hn_stat(&side.hn, row->stat), before + 1);
    HN_EQUAL(side.received, 20 + row->received);
    hn_close(&side.hn);
    hn_row = "";
}

static void what_is_odd(void)
{
    static const struct oddity rows[] = {
        { "a hole before it", IN_TCP, 6, 5, SUMMED, TENON_STAT_TCP_OOO, 0 },
        { "an ACK of what was never sent", IN_TCP, 8, 0x7F, SUMMED, TENON_STAT_TCP_BAD_ACK, 0 },
        { "FIN", IN_TCP, 13, SEG_ACK | SEG_FIN, SUMMED, TENON_STAT_COUNT, 10 },
        { "URG", IN_TCP, 13, SEG_ACK | SEG_URG, SUMMED, TENON_STAT_COUNT, 10 },
        { "ECE", IN_TCP, 13, SEG_ACK | SEG_ECE, SUMMED, TENON_STAT_COUNT, 10 },
        { "no ACK", IN_TCP, 13, SEG_PSH, SUMMED, TENON_STAT_COUNT, 0 },
        { "SYN", IN_TCP, 13, SEG_ACK | SEG_SYN, SUMMED, TENON_STAT_TCP_CHALLENGE_ACK, 0 },
        { "an old timestamp", IN_TCP, 24, 0xFF, SUMMED, TENON_STAT_TCP_PAWS, 0 },
        { "another option in its place", IN_TCP, 22, 9, SUMMED, TENON_STAT_TCP_NO_TIMESTAMP, 0 },
        { "a wrong TCP checksum", IN_TCP, 32, 0x55, IP_SUMMED, TENON_STAT_TCP_BAD_CSUM, 0 },
        { "another host's frame", IN_FRAME, 5, 0x77, SUMMED, TENON_STAT_ETH_NOT_OURS, 0 },
        { "another vendor's frame", IN_FRAME, 1, 0x77, SUMMED, TENON_STAT_ETH_NOT_OURS, 0 },
        { "a header longer than it", IN_TCP, 12, 0xF0, SUMMED, TENON_STAT_TCP_BAD_HEADER, 0 },
    };
    static const struct oddity rows4[] = {
        { "a wrong IP checksum", IN_IP, 8, 63, RAW, TENON_STAT_IP4_BAD_CSUM, 0 },
        { "congestion met", IN_IP, 1, 3, SUMMED, TENON_STAT_COUNT, 10 },
        { "another protocol", IN_IP, 9, 17, SUMMED, TENON_STAT_COUNT, 0 },
        { "more fragments", IN_IP, 6, 0x20, SUMMED, TENON_STAT_COUNT, 0 },
        { "another version of IP", IN_IP, 0, 0x55, SUMMED, TENON_STAT_IP4_BAD_HEADER, 0 },
        { "longer than its frame", IN_IP, 2, 1, SUMMED, TENON_STAT_IP4_BAD_HEADER, 0 },
        { "that of IPv6", IN_IP, 0, 0x65, SUMMED, TENON_STAT_IP4_BAD_HEADER, 0 },
        { "an Ethertype of IPv6", IN_FRAME, 12, 0x86, SUMMED, TENON_STAT_ETH_UNKNOWN, 0 },
    };
    static const struct oddity rows6[] = {
        { "congestion met", IN_IP, 1, 0x30, SUMMED, TENON_STAT_COUNT, 10 },
        { "another protocol", IN_IP, 6, 17, SUMMED, TENON_STAT_UDP_BAD_LENGTH, 0 },
        { "a fragment", IN_IP, 6, 44, SUMMED, TENON_STAT_COUNT, 0 },
        { "an extension header", IN_IP, 6, 0, SUMMED, TENON_STAT_IP6_BAD_EXT, 0 },
        { "another version of IP", IN_IP, 0, 0x45, SUMMED, TENON_STAT_IP6_BAD_HEADER, 0 },
        { "longer than its frame", IN_IP, 4, 1, SUMMED, TENON_STAT_IP6_BAD_HEADER, 0 },
        { "from a group", IN_IP, 8, 0xFF, SUMMED, TENON_STAT_IP6_MARTIAN, 0 },
        { "from another host", IN_IP, 23, 0x55, SUMMED, TENON_STAT_TCP_NO_CONNECTION, 0 },
        { "from another network", IN_IP, 13, 0x55, SUMMED, TENON_STAT_TCP_NO_CONNECTION, 0 },
        { "to another network", IN_IP, 31, 0x55, SUMMED, TENON_STAT_IP_NOT_OURS, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++)
        is_odd(&rows[i]);
    for (size_t i = 0; is_v4 && i < TENON_ARRAY_LEN(rows4); i++)
        is_odd(&rows4[i]);
    for (size_t i = 0; !is_v4 && i < TENON_ARRAY_LEN(rows6); i++)
        is_odd(&rows6[i]);
}

/* Behind the window, what the general way does counts; within it up to its last byte, it is usual. */
static void window_edge(void)
{
    static struct side side;
    struct frame frame;
    tenon_u32 room;

    side_open(&side);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_RCV_BUF, 1000), TENON_OK);
    HN_EQUAL(usual(&side, 1), 1);
    room = side.conn->rcv_adv - side.conn->rcv_nxt;
    side.conn->rcv_adv = side.conn->rcv_nxt + 100;    /* as if only that had been offered */
    frame_next(&frame, &side, 101);
    frame_sum(&frame);
    HN_EQUAL(predicted(&side, 1, &frame), 0);
    HN_EQUAL(side.received, 101);    /* 1 and the 100 that fit */
    HN_CHECK(room > 100);
    side.seq += 100;
    side.conn->rcv_adv = side.conn->rcv_nxt + 50;
    HN_EQUAL(usual(&side, 50), 1);
    HN_EQUAL(side.received, 151);
    hn_close(&side.hn);
}

/* Where a connection may be heard is found out by the general way, anew when addresses change. */
static void address_is_gone(void)
{
    const struct tenon_ip me = ip_of_ours();
    static struct side side;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(tenon_addr_remove(side.hn.stack, 1, &me), TENON_OK);
    HN_EQUAL(usual(&side, 1), 0);
    HN_EQUAL(side.received, 1);
    HN_CHECK(hn_stat(&side.hn, TENON_STAT_IP_NOT_OURS) > 0);
    hn_close(&side.hn);
}

/* What may come over one interface is a stranger on another: there the peer's address is that of all hosts. */
static void other_interface(void)
{
    const struct tenon_ip broad = hn_ip("198.51.100.5");
    static struct side side;
    struct frame frame;
    tenon_u8 mac[6];
    unsigned netif;

    side_open(&side);
    netif = hn_netif(&side.hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(side.hn.stack, netif, &broad, 30), TENON_OK);
    HN_EQUAL(usual(&side, 1), 0);
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(side.received, 2);
    frame_next(&frame, &side, 1);
    memcpy(frame.bytes, hn_mac(mac, 0, netif), 6);
    frame_sum(&frame);
    HN_EQUAL(predicted(&side, netif, &frame), 0);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_IP4_MARTIAN), 1);
    HN_EQUAL(side.received, 2);
    hn_close(&side.hn);
}

/* The next segment as it comes where there is no link header, with a mark of congestion or without. */
static unsigned usual_bare(struct side *side, unsigned netif, int marked)
{
    struct frame frame;

    frame_next(&frame, side, 1);
    if (marked)
        frame_mark(&frame);
    frame_sum(&frame);
    side->seq++;
    frame.len -= ETH;
    memmove(frame.bytes, frame.bytes + ETH, frame.len);
    return predicted(side, netif, &frame);
}

static void without_link(void)
{
    struct tenon_netif_conf conf;
    static struct side side;
    int netif;

    side_open(&side);
    memset(&conf, 0, sizeof conf);
    conf.mtu = 1500;
    conf.caps = TENON_CAP_NO_LINK;
    netif = tenon_netif_add(side.hn.stack, &conf);
    HN_CHECK(netif > 1);
    HN_EQUAL(usual_bare(&side, (unsigned)netif, 0), 0);    /* it has not been heard there */
    HN_EQUAL(usual_bare(&side, (unsigned)netif, 0), 1);
    HN_EQUAL(usual_bare(&side, (unsigned)netif, 1), 0);
    HN_EQUAL(usual_bare(&side, (unsigned)netif, 0), 1);
    HN_EQUAL(side.received, 4);
    hn_close(&side.hn);
}

/* The same path, and another address of ours: that one was heard says nothing of the other, which is gone. Those of
 * IPv6 often have the same end. */
static void other_address_is_gone(void)
{
    const struct tenon_ip me = ip_of_ours(), peer = ip_of_peer(), second = hn_ip(is_v4 ? "10.0.0.77" : "fd00:1::1");
    static struct side side;
    struct frame frame;
    struct seg seg;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(tenon_addr_add(side.hn.stack, 1, &second, 24), TENON_OK);
    memset(&seg, 0, sizeof seg);
    seg.src = peer;
    seg.dst = second;
    seg.sport = PEER_PORT;
    seg.dport = PORT;
    seg.seq = 77;
    seg.flags = SEG_SYN;
    seg.wnd = 30000;
    hn_forget(&side.hn);
    seg_inject(&side.hn, &seg);
    hn_run_ms(&side.hn, 1);
    HN_CHECK(seg_next(&side.hn, &seg) && seg.flags == (SEG_SYN | SEG_ACK));
    HN_EQUAL(tenon_addr_remove(side.hn.stack, 1, &me), TENON_OK);
    seg.ack = seg.seq + 1;
    seg.seq = 78;
    seg.src = peer;
    seg.dst = second;
    seg.sport = PEER_PORT;
    seg.dport = PORT;
    seg.flags = SEG_ACK;
    seg.noptions = seg.len = 0;
    seg_inject(&side.hn, &seg);    /* the path is heard of again, by the second address */
    frame_next(&frame, &side, 1);
    frame_sum(&frame);
    HN_EQUAL(predicted(&side, 1, &frame), 0);
    HN_EQUAL(side.received, 1);
    hn_close(&side.hn);
}

static unsigned rates_told;

static void rates_delivered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;
    rates_told += event->sample.delivered > 0;
}

/* Who asks for rates in the middle gets them from the next ACK on, of that millisecond, too; and each segment that
 * leaves says what will be asked of it. */
static void rates_are_wanted(void)
{
    struct tenon_cc_ops ops = tenon_cc_newreno;
    static struct side side;

    side_open(&side);
    side.answers = 1;
    for (unsigned k = 0; k < 4; k++) {
        HN_EQUAL(usual(&side, 1), 1);
        side.ack += side.answers;
    }
    ops.delivered = rates_delivered;
    HN_EQUAL(tenon_tcp_set_cc(side.conn, &ops), TENON_OK);
    rates_told = 0;
    for (unsigned k = 0; k < 4; k++) {
        HN_EQUAL(usual(&side, 1), !TENON_SMALL);
        HN_EQUAL(rates_told, k + 1);
        hn_run_ms(&side.hn, k);
        HN_EQUAL(side.conn->flight->ring[side.conn->flight->first].delivered, side.conn->flight->total_delivered);
        side.ack += side.answers;
    }
    hn_close(&side.hn);
}

/* Two segments fill the window, and nothing is behind them: that, and not the path, is what limits the rate
 * once the first of them has arrived. */
static void rates_without_more_to_send(void)
{
    static const tenon_u8 answer[3000];
    struct tenon_cc_ops ops = tenon_cc_newreno;
    static struct side side;
    struct tenon_conf conf;
    tenon_u32 mss;

    ops.delivered = rates_delivered;
    tenon_conf_default(&conf);
    conf.tcp_cc = &ops;
    side_open_conf(&side, &conf, 0);
    mss = side.conn->mss;
    side.conn->cc.cwnd = 2 * mss;
    HN_EQUAL(tenon_tcp_write(side.conn, answer, 2 * mss), 2 * mss);
    hn_run_ms(&side.hn, 1);
    side.ack += mss;
    HN_EQUAL(usual(&side, 0), !TENON_SMALL);
    hn_run_ms(&side.hn, 0);
    HN_EQUAL(side.conn->snd_nxt - side.conn->snd_una, mss);
    HN_EQUAL(side.conn->flight->app_limited, side.conn->flight->total_delivered + mss);
    hn_close(&side.hn);
}

/* Who closes when told of an acknowledgement does not read what comes with it. */
static void closed_when_acknowledged(void)
{
    static const tenon_u8 answer[100];
    static struct side side;
    struct seg seg;

    side_open(&side);
    HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
    hn_run_ms(&side.hn, 1);
    hn_forget(&side.hn);
    side.ack += sizeof answer;
    side.closes = WHEN_ACKED;
    HN_EQUAL(usual(&side, 10), 1);
    HN_EQUAL(side.received, 0);
    HN_EQUAL(side.closed, 1);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_AFTER_CLOSE), 1);
    HN_CHECK(seg_next(&side.hn, &seg) && (seg.flags & SEG_RST));
    hn_close(&side.hn);
}

/* Nobody finds a connection that is gone. */
static void forgotten(void)
{
    static struct side side;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    tenon_tcp_abort(side.conn);
    hn_run_ms(&side.hn, 1);
    HN_EQUAL(side.closed, 1);
    for (unsigned i = 0; i < TN_TCP_RECENT; i++)
        HN_CHECK(side.hn.stack->tcp.recent[i] == NULL);
    hn_close(&side.hn);
}

/* What closes a connection comes to it by a short way, too: not where it may not be heard any more. */
static void address_is_gone_fin(void)
{
    const struct tenon_ip me = ip_of_ours();
    static struct side side;
    struct frame frame;

    for (unsigned gone = 0; gone < 2; gone++) {
        hn_row = gone ? "gone" : "there";
        side_open(&side);
        HN_EQUAL(usual(&side, 1), 1);
        if (gone)
            HN_EQUAL(tenon_addr_remove(side.hn.stack, 1, &me), TENON_OK);
        frame_next(&frame, &side, 0);
        frame.bytes[TCP + 13] = SEG_ACK | SEG_FIN;
        frame_sum(&frame);
        HN_EQUAL(predicted(&side, 1, &frame), 0);
        HN_EQUAL(side.conn->state == TENON_TCP_ESTABLISHED, gone);
        HN_EQUAL(hn_stat(&side.hn, TENON_STAT_IP_NOT_OURS), gone);
        hn_close(&side.hn);
    }
}

/* A FIN takes the headers that data has had, but for what was set since. */
static void option_changes_headers(void)
{
    static const tenon_u8 answer[10];
    static struct side side;
    const struct hn_sent *sent;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    hn_forget(&side.hn);
    HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
    (void)tenon_poll(side.hn.stack, side.hn.now_us);
    sent = hn_next(&side.hn);
    if (HN_CHECK(sent != NULL))
        HN_EQUAL(sent->bytes[IP + (is_v4 ? 8 : 7)], 64);
    side.ack += sizeof answer;
    HN_EQUAL(usual(&side, 0), 1);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_TTL, 33), TENON_OK);
    HN_EQUAL(tenon_tcp_finish(side.conn), TENON_OK);
    (void)tenon_poll(side.hn.stack, side.hn.now_us);
    sent = hn_next(&side.hn);
    if (HN_CHECK(sent != NULL)) {
        HN_EQUAL(sent->bytes[IP + (is_v4 ? 8 : 7)], 33);
        HN_EQUAL(sent->bytes[TCP + 13], SEG_ACK | SEG_FIN);
        HN_CHECK(!is_v4 || (hn_sum(0, sent->bytes + IP, 20) & 0xFFFF) == 0xFFFF);
    }
    hn_close(&side.hn);
}

/* The way moves to another interface, behind which the router has the same Ethernet address: segments come from the
 * address of that one. */
static void same_router_elsewhere(void)
{
    static const tenon_u8 answer[10];
    const struct tenon_ip peer = ip_of_peer(), router = hn_ip(is_v4 ? "10.9.0.2" : "fd09::2");
    const struct tenon_ip ours = hn_ip(is_v4 ? "10.9.0.1" : "fd09::1");
    static struct side side;
    const struct hn_sent *sent;
    tenon_u8 mac[6], first[6];
    unsigned netif;

    side_open(&side);
    hn_mac(first, 1, 2);
    netif = hn_netif(&side.hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(side.hn.stack, netif, &ours, is_v4 ? 24 : 64), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(side.hn.stack, netif, &router, first), TENON_OK);
    hn_run_ms(&side.hn, 20000);
    /* The first after silence, and after a change, goes the general way. */
    for (unsigned i = 0; i < 4; i++) {
        if (i == 2)
            HN_EQUAL(tenon_route_add(side.hn.stack, netif, &peer, is_v4 ? 32 : 128, &router, 0), TENON_OK);
        hn_forget(&side.hn);
        HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
        (void)tenon_poll(side.hn.stack, side.hn.now_us);
        sent = hn_next(&side.hn);
        if (HN_CHECK(sent != NULL)) {
            HN_EQUAL(sent->netif, i < 2 ? 1 : netif);
            HN_CHECK(memcmp(sent->bytes, first, 6) == 0);
            HN_CHECK(memcmp(sent->bytes + 6, hn_mac(mac, 0, sent->netif), 6) == 0);
        }
        if (i % 2 == 1)
            HN_EQUAL(side.conn->flight->header.changes, side.hn.stack->link.changes);
        side.ack += sizeof answer;
        (void)usual(&side, 0);
    }
    hn_close(&side.hn);
}

/* Of what has been sent. */
static unsigned segments_sent(struct side *side)
{
    const struct hn_sent *sent;
    unsigned n = 0;

    while ((sent = hn_next(&side->hn)) != NULL)
        n += sent->bytes[IP + (is_v4 ? 9 : 6)] == 6;
    return n;
}

/* RFC 5227 2.4, RFC 4862 5.5.4: the connection's own address is gone, another one leads to the peer as well. Nothing
 * leaves from the first any more, whether headers had been prepared or not; when it is back all goes on. */
static void address_lost(void)
{
    static const tenon_u8 answer[10];
    const struct tenon_ip me = ip_of_ours(), other = hn_ip(is_v4 ? "10.0.0.77" : "fd00::77");
    static struct side side;

    for (unsigned prepared = 0; prepared < 2; prepared++) {
        hn_row = prepared ? "prepared" : "not_prepared";
        side_open(&side);
        HN_EQUAL(tenon_addr_add(side.hn.stack, 1, &other, is_v4 ? 24 : 64), TENON_OK);
        hn_run_ms(&side.hn, 20000);
        for (unsigned i = 0; i < 2 * prepared; i++) {
            HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
            (void)tenon_poll(side.hn.stack, side.hn.now_us);
            side.ack += sizeof answer;
            (void)usual(&side, 0);
        }
        HN_EQUAL(tenon_addr_remove(side.hn.stack, 1, &me), TENON_OK);
        (void)tenon_poll(side.hn.stack, side.hn.now_us);
        hn_forget(&side.hn);
        HN_EQUAL(tn_path_check(side.hn.stack, side.conn->path), TENON_OK);    /* somebody else goes there, too */
        HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
        hn_run_ms(&side.hn, 5000);
        HN_EQUAL(segments_sent(&side), 0);
        HN_CHECK(hn_stat(&side.hn, TENON_STAT_NO_ROUTE) > 0);
        HN_EQUAL(tenon_addr_add(side.hn.stack, 1, &me, is_v4 ? 24 : 64), TENON_OK);
        hn_run_ms(&side.hn, 20000);
        HN_CHECK(segments_sent(&side) > 0);
        hn_close(&side.hn);
    }
    hn_row = "";
}

/* Who was used last is not forgotten first: the way of the last says so again in every millisecond. */
static void neighbour_is_used(void)
{
    static const tenon_u8 answer[10];
    static struct side side;

    side_open(&side);
    for (unsigned i = 0; i < 4; i++) {
        HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
        (void)tenon_poll(side.hn.stack, side.hn.now_us);
        HN_EQUAL(side.conn->path->neighbour->used_ms, side.hn.stack->now_ms);
        side.ack += sizeof answer;
        (void)usual(&side, 0);
        hn_run_ms(&side.hn, 5);
    }
    hn_close(&side.hn);
}

/* A frame whose TCP header is in a span of its own, or cut in the middle. */
static void cut_frames(void)
{
    static struct side side;
    struct frame frame;

    for (unsigned cut = 1; cut < DATA + 10; cut++) {
        side_open(&side);
        frame_next(&frame, &side, 10);
        frame_sum(&frame);
        hn_inject_cut(&side.hn, 1, frame.bytes, frame.len, cut);
        HN_EQUAL(side.received, 10);
        HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_PREDICTED), cut >= DATA);
        hn_close(&side.hn);
    }
}

/* Padding behind the packet belongs to the frame. */
static void padding(void)
{
    static struct side side;
    struct frame frame;

    side_open(&side);
    frame_next(&frame, &side, 3);
    frame_sum(&frame);
    frame.len += 20;
    HN_EQUAL(predicted(&side, 1, &frame), 1);
    HN_EQUAL(side.received, 3);
    hn_close(&side.hn);
}

/* Who has closed reads no more: data is answered with a reset, whichever way it came. */
static void closed_by_us(void)
{
    static struct side side;
    struct seg seg;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    tenon_tcp_close(side.conn);
    hn_run_ms(&side.hn, 1);
    hn_forget(&side.hn);
    HN_EQUAL(usual(&side, 1), 0);
    HN_EQUAL(side.closed, 1);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_AFTER_CLOSE), 1);
    HN_CHECK(seg_next(&side.hn, &seg) && (seg.flags & SEG_RST));
    hn_close(&side.hn);
}

/* Closed in the handler of the text before it: what had come early is not for anybody any more. */
static void closed_before_early_text(void)
{
    static struct side side;
    struct seg seg;

    side_open(&side);
    side.closes = WHEN_RECEIVED;
    side.seq += 100;
    HN_EQUAL(usual(&side, 200), 0);
    HN_EQUAL(side.received, 0);
    side.seq -= 300;
    HN_EQUAL(usual(&side, 100), 0);
    hn_run_ms(&side.hn, 1);
    HN_EQUAL(side.received, 100);
    HN_EQUAL(side.closed, 1);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_AFTER_CLOSE), 1);
    while (seg_next(&side.hn, &seg) && !(seg.flags & SEG_RST))
        ;
    HN_CHECK(seg.flags & SEG_RST);
    hn_close(&side.hn);
}

/* Two that do not go up together, in one call of tenon_input(). */
static void in_one_burst(struct side *side, const struct frame frames[2])
{
    struct tenon_frame burst[2];
    struct tenon_span spans[2];

    memset(burst, 0, sizeof burst);
    for (unsigned i = 0; i < 2; i++) {
        spans[i].buf = hn_buf(&side->hn, frames[i].len);
        spans[i].off = 0;
        spans[i].len = frames[i].len;
        memcpy(spans[i].buf->data, frames[i].bytes, frames[i].len);
        burst[i].spans = &spans[i];
        burst[i].nspans = 1;
    }
    HN_EQUAL(tenon_input(side->hn.stack, 1, burst, 2, side->hn.now_us), TENON_OK);
    for (unsigned i = 0; i < 2; i++)
        tenon_buf_put(spans[i].buf);
}

/* What a handler says of buffers holds for the next segment, though its way was chosen before. */
static void short_of_buffers_in_a_burst(void)
{
    static struct side side;
    struct frame frames[2];

    side_open(&side);
    side.full = 1;
    frame_next(&frames[0], &side, 10);
    side.seq += 10;
    frame_next(&frames[1], &side, 20);
    hn_put16(frames[1].bytes + TCP + 14, 20000);
    frame_sum(&frames[0]);
    frame_sum(&frames[1]);
    in_one_burst(&side, frames);
    HN_EQUAL(side.received, 10);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_RX_NOT_KEPT), 1);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_PREDICTED), 1);
    HN_EQUAL(side.conn->snd_wnd, 20000);
    hn_close(&side.hn);
}

/* The smallest buffer that a host may give, and the smallest MSS that a peer may ask for. */
static void small_buffers(void)
{
    static const tenon_u8 answer[120];
    static struct side side;
    unsigned sent = 0;
    struct seg seg;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_MSS_MAX, 100), TENON_OK);
    hn_forget(&side.hn);
    HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
    hn_run_ms(&side.hn, 1);
    while (seg_next(&side.hn, &seg)) {
        HN_CHECK(seg.len <= 88);    /* of 100, with timestamps */
        sent += seg.len;
    }
    HN_EQUAL(sent, sizeof answer);
    hn_close(&side.hn);
}

/* Each of these alone keeps a connection from the short way. Some never come alone today. */
static void what_is_plain(void)
{
    static const struct {
        const char *name;
        int of_flight;
        size_t at;
        unsigned bits;
    } rows[] = {
        { "state", 0, offsetof(struct tenon_tcp, state), 1 },
        { "recovery", 0, offsetof(struct tenon_tcp, recovery), 1 },
        { "backoff", 0, offsetof(struct tenon_tcp, backoff), 1 },
        { "ECE to be sent", 0, offsetof(struct tenon_tcp, ecn), TN_ECN_ECHO },
        { "CWR to be sent", 0, offsetof(struct tenon_tcp, ecn), TN_ECN_CWR },
        { "a hole", 1, offsetof(struct tn_flight, ooo), 1 },
        { "a scoreboard", 1, offsetof(struct tn_flight, sack), 1 },
        { "a duplicate", 1, offsetof(struct tn_flight, dup_left), 1 },
        { "duplicate ACKs", 1, offsetof(struct tn_flight, dupacks), 1 },
        { "retransmissions", 1, offsetof(struct tn_flight, again_n), 1 },
        { "a probe for a loss", 1, offsetof(struct tn_flight, tlp), 1 },
        { "F-RTO", 1, offsetof(struct tn_flight, frto), 1 },
        { "a path MTU in doubt", 1, offsetof(struct tn_flight, mtu_claim), 1 },
        { "a reordering window", 1, offsetof(struct tn_flight, reo_wait_us), 1 },
        { "a probe for the path MTU", 1, offsetof(struct tn_flight, probe_end), 1 },
        { "a loss", 1, offsetof(struct tn_flight, lost_edge), 1 },
    };
    static const tenon_u8 answer[100];
    static struct side side;

    side_open(&side);
    HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
    hn_run_ms(&side.hn, 1);
    HN_CHECK(side.conn->flight->usual != 0 && tn_fast_check(side.conn) == NULL);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 *p = rows[i].of_flight ? (tenon_u8 *)side.conn->flight : (tenon_u8 *)side.conn;

        hn_row = rows[i].name;
        p[rows[i].at] ^= (tenon_u8)rows[i].bits;
        HN_CHECK(tn_fast_check(side.conn) != NULL);
        p[rows[i].at] ^= (tenon_u8)rows[i].bits;
        HN_CHECK(tn_fast_check(side.conn) == NULL);
    }
    hn_row = "";
    hn_close(&side.hn);
}

/* RFC 6298 3: nobody knows which of two was answered, when all else is over. */
static void sent_twice(void)
{
    static const tenon_u8 answer[100];
    static struct side side;

    for (unsigned probe = 0; probe < 3; probe++) {
        struct tn_flight *flight;

        side_open(&side);
        HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
        hn_run_ms(&side.hn, 1);
        flight = side.conn->flight;
        if (probe)    /* all of it, or its end */
            flight->tlp_from = side.conn->snd_una + (probe == 2 ? 60 : 0), flight->tlp_end = side.conn->snd_nxt;
        else
            flight->again_high = side.conn->snd_nxt;
        tn_fast_end(side.conn);
        side.ack += 40;
        HN_EQUAL(usual(&side, 0), 0);
        side.ack += sizeof answer - 40;
        HN_EQUAL(usual(&side, 0), 0);
        HN_EQUAL(side.acked, sizeof answer);
        hn_close(&side.hn);
    }
}

/* ---- the same history, once by the short way and once by the general one ---- */

struct field {
    const char *name;
    size_t at, bytes;
};

#define CONN(field) #field, offsetof(struct tenon_tcp, field), sizeof((struct tenon_tcp *)0)->field
#define FLIGHT(field) #field, offsetof(struct tn_flight, field), sizeof((struct tn_flight *)0)->field

/* What a connection knows. The short way keeps to itself: headers, what the congestion control has not been told yet,
 * and from which window the pacing rate was made. */
static const struct field conn_fields[] = {
    { CONN(flags) },
    { CONN(state) },
    { CONN(recovery) },
    { CONN(ecn) },
    { CONN(why) },
    { CONN(backoff) },
    { CONN(keepalives) },
    { CONN(mss) },
    { CONN(rcv_mss) },
    { CONN(snd_una) },
    { CONN(snd_nxt) },
    { CONN(snd_end) },
    { CONN(snd_wnd) },
    { CONN(snd_wl1) },
    { CONN(snd_wnd_max) },
    { CONN(rcv_nxt) },
    { CONN(rcv_adv) },
    { CONN(rcv_acked) },
    { CONN(rcv_unconsumed) },
    { CONN(ts_recent) },
    { CONN(srtt8) },
    { CONN(rttvar4) },
    { CONN(min_rtt_us) },
    { CONN(cc.cwnd) },
    { CONN(cc.ssthresh) },
    { CONN(last_rcv_ms) },
    { CONN(last_text_ms) },
    { CONN(progress_ms) },
    { CONN(mtu_acked) },
    { CONN(path_mtu) },
};

static const struct field flight_fields[] = {
    { FLIGHT(rtx_nxt) },
    { FLIGHT(lost_edge) },
    { FLIGHT(reno_sacked) },
    { FLIGHT(rto_us) },
    { FLIGHT(total_delivered) },
    { FLIGHT(total_lost) },
    { FLIGHT(min_rtt_ms) },
    { FLIGHT(dupacks) },
    { FLIGHT(dup_left) },
    { FLIGHT(dup_right) },
    { FLIGHT(rcv_held) },
    { FLIGHT(again_n) },
    { FLIGHT(rack_valid) },
    { FLIGHT(reo_wait_us) },
    { FLIGHT(reordered) },
    { FLIGHT(tlp) },
    { FLIGHT(tlp_sampled) },
    { FLIGHT(undo) },
    { FLIGHT(frto) },
    { FLIGHT(mtu_sent) },
    { FLIGHT(mtu_claim) },
};

static void same_fields(const void *a, const void *b, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        hn_row = fields[i].name;
        HN_CHECK(memcmp((const char *)a + fields[i].at, (const char *)b + fields[i].at, fields[i].bytes) == 0);
    }
    hn_row = "";
}

/* Marks behind what is acknowledged say no more than that they lie there; the short way moves them now and then. */
static void same_mark(const char *name, const struct tenon_tcp *a, tenon_u32 x, tenon_u32 y)
{
    hn_row = name;
    HN_EQUAL(tn_seq_max(x, a->snd_una), tn_seq_max(y, a->snd_una));
    hn_row = "";
}

/* When the timer goes off, and what for, also if nobody has asked so far: and then nobody has, afterwards. */
static void same_timer(struct tenon_tcp *a, struct tenon_tcp *b)
{
    struct tn_flight *x = a->flight, *y = b->flight;
    const tenon_u32 when = x->rtx_when, rto_when = x->rto_when;
    const tenon_u8 kind = x->rtx_timer;

    if (!(a->flags & TN_TCP_F_RTX_ARMED))
        return;
    HN_CHECK(y->rtx_timer != TN_RTX_LATER);
    tn_tcp_timer_know(a);
    HN_EQUAL(x->rtx_timer, y->rtx_timer);
    HN_EQUAL(x->rtx_when, y->rtx_when);
    HN_EQUAL(x->rto_when, y->rto_when);
    HN_CHECK(tn_timer_runs(&a->timer) && tn_seq_le(a->timer.when, x->rtx_when));
    x->rtx_when = when;
    x->rto_when = rto_when;
    x->rtx_timer = kind;
}

/* Marks that mean something only while a flag is set, and the records of what is in flight. */
static void same_flight(struct tenon_tcp *a, struct tenon_tcp *b)
{
    const struct tn_flight *x = a->flight, *y = b->flight;

    same_timer(a, b);
    same_fields(x, y, flight_fields, TENON_ARRAY_LEN(flight_fields));
    same_mark("recover", a, x->recover, y->recover);
    same_mark("ecn_recover", a, x->ecn_recover, y->ecn_recover);
    same_mark("again_high", a, x->again_high, y->again_high);
    if (a->flags & TN_TCP_F_RTT_TIMING) {
        HN_EQUAL(x->rtt_seq, y->rtt_seq);
        HN_EQUAL(x->rtt_start_us, y->rtt_start_us);
    }
    if (x->rack_valid) {
        HN_EQUAL(x->rack_sent_us, y->rack_sent_us);
        HN_EQUAL(x->rack_end, y->rack_end);
        HN_EQUAL(x->rack_rtt_us, y->rack_rtt_us);
    }
    if (a->snd_una != a->snd_nxt)    /* else it may say when silence was noticed */
        HN_EQUAL(x->last_snd_ms, y->last_snd_ms);
    if (a->flags & TN_TCP_F_ACK_ARMED)
        HN_EQUAL(a->ack_when, b->ack_when);
    HN_EQUAL(x->last - x->first, y->last - y->first);
    for (tenon_u32 i = 0; i < x->last - x->first && x->last - x->first == y->last - y->first; i++) {
        const struct tn_sent *s = &x->ring[(x->first + i) & (x->cap - 1)], *t = &y->ring[(y->first + i) & (y->cap - 1)];

        HN_EQUAL(s->end, t->end);
        HN_EQUAL(s->sent_us, t->sent_us);
        HN_EQUAL(s->size, t->size);
    }
    if (x->untold == 0)
        HN_CHECK(memcmp(a->cc.words, b->cc.words, TENON_CC_WORDS * sizeof *a->cc.words) == 0);
}

/* What has left is the same, byte by byte. The peer learns how far we are. */
static void same_frames(struct side way[2], tenon_u32 *end)
{
    HN_EQUAL(hn_left(&way[0].hn), hn_left(&way[1].hn));
    while (hn_left(&way[0].hn) > 0 && hn_left(&way[1].hn) > 0) {
        const struct hn_sent *a = hn_next(&way[0].hn), *b = hn_next(&way[1].hn);
        const tenon_u8 *tcp = a->bytes + TCP;
        tenon_u32 to;

        HN_EQUAL(a->at_us, b->at_us);
        HN_CHECK(a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0);
        HN_EQUAL(a->frame.header_bytes, b->frame.header_bytes);
        HN_EQUAL(a->frame.csum, b->frame.csum);
        HN_EQUAL(a->frame.csum_start, b->frame.csum_start);
        HN_EQUAL(a->frame.csum_offset, b->frame.csum_offset);
        if (a->len < TCP + 20 || a->bytes[IP + (is_v4 ? 9 : 6)] != 6)
            continue;
        to = hn_get32(tcp + 4) + (is_v4 ? hn_get16(a->bytes + IP + 2) - 20U : hn_get16(a->bytes + IP + 4)) -
             (tenon_u32)(tcp[12] >> 4) * 4;
        to += (tcp[13] & (SEG_SYN | SEG_FIN)) != 0;
        if (*end == 0 || (tenon_i32)(to - *end) > 0)
            *end = to;
        if (tcp[12] == 0x80)
            way[0].echo = way[1].echo = hn_get32(tcp + 24);
    }
    hn_forget(&way[0].hn);
    hn_forget(&way[1].hn);
}

/* A congestion control that counts what it is told, and remembers of rates whether it has been the same. */
static struct {
    const struct tenon_cc *cc;
    tenon_u32 acked, samples, restarts, mix;
} same_told[2];

static void same_mix(tenon_u32 *mix, tenon_u32 value)
{
    *mix = (*mix ^ value) * 16777619U;
}

static void same_delivered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const struct tenon_rate_sample *sample = &event->sample;
    const tenon_u32 values[] = {
        event->acked,        event->in_flight,        event->delivered,     event->lost,
        event->rtt_us,       event->limited,          sample->rate,         sample->delivered,
        sample->interval_us, sample->prior_delivered, sample->tx_in_flight, sample->lost,
        sample->app_limited
    };

    for (unsigned i = 0; i < 2; i++) {
        if (same_told[i].cc != cc)
            continue;
        same_told[i].samples++;
        for (unsigned k = 0; k < TENON_ARRAY_LEN(values); k++)
            same_mix(&same_told[i].mix, values[k]);
    }
}

/* Sending begins, and nothing is in flight. */
static void same_restart(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    for (unsigned i = 0; i < 2; i++) {
        if (same_told[i].cc != cc)
            continue;
        same_told[i].restarts++;
        same_mix(&same_told[i].mix, event->now_us);
        HN_EQUAL(event->pipe, 0);
    }
}

static void same_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    for (unsigned i = 0; i < 2; i++)
        same_told[i].acked += same_told[i].cc == cc ? event->acked : 0;
    tenon_cc_newreno.acked(cc, event);
}

static void same_stats(struct side way[2])
{
    for (unsigned i = 0; i < TENON_STAT_COUNT; i++) {
        hn_row = tenon_stat_name((enum tenon_stat)i);
        if (i != TENON_STAT_TCP_PREDICTED)
            HN_EQUAL(hn_stat(&way[0].hn, (enum tenon_stat)i), hn_stat(&way[1].hn, (enum tenon_stat)i));
    }
    hn_row = "";
}

static void same_everything(struct side way[2])
{
    struct tenon_tcp *a = way[0].conn, *b = way[1].conn;
    struct tenon_tcp_info info[2];

    same_fields(a, b, conn_fields, TENON_ARRAY_LEN(conn_fields));
    HN_EQUAL(a->flight == NULL, b->flight == NULL);
    if (a->flight != NULL && b->flight != NULL)
        same_flight(a, b);
    HN_EQUAL(same_told[0].samples, same_told[1].samples);
    HN_EQUAL(same_told[0].restarts, same_told[1].restarts);
    HN_EQUAL(same_told[0].mix, same_told[1].mix);
    if (same_told[0].cc != NULL)
        HN_EQUAL(same_told[0].acked + (a->flight == NULL ? 0 : a->flight->untold), same_told[1].acked);
    tenon_tcp_status(a, &info[0]);
    tenon_tcp_status(b, &info[1]);
    for (unsigned i = 0; i < TENON_TCP_WAIT_COUNT; i++) {
        HN_EQUAL(info[0].waited_ms[i], info[1].waited_ms[i]);
        HN_EQUAL(info[0].waited_us[i], info[1].waited_us[i]);
    }
    same_stats(way);
    HN_EQUAL(way[0].received, way[1].received);
    HN_EQUAL(way[0].acked, way[1].acked);
}

static tenon_u32 same_roll(tenon_u32 *dice, tenon_u32 n)
{
    *dice = *dice * 1664525U + 1013904223U;
    return (*dice >> 16) % n;
}

/* A bare acknowledgement says that [left, right) has come, as far as it was sent. */
static void frame_sack(struct frame *frame, tenon_u32 left, tenon_u32 right, tenon_u32 end)
{
    tenon_u8 *p = frame->bytes + DATA;

    hn_put32(p, 0x0101050A);
    hn_put32(p + 4, left);
    hn_put32(p + 8, (tenon_i32)(right - end) > 0 ? end : right);
    frame->bytes[TCP + 12] = 0xB0;
    frame->len += 12;
    frame_set_length(frame);
}

static void same_trace(void *host, const struct tenon_trace_event *event)
{
    (void)host;
    (void)event;
}

/* Who is traced sends the general way always. So that it hears everything by the layers, too: as if something about
 * routes had changed since. */
static void same_inject(struct side *side, const struct frame *frame)
{
    struct tenon *stack = side->hn.stack;
    const struct tenon_ip peer = ip_of_peer();
    struct tn_path *path = tn_path_known(stack, &peer, 0);

    if (stack->conf.trace != NULL && path != NULL)
        path->heard_gen = stack->link.gen - 1;
    hn_inject(&side->hn, 1, frame->bytes, frame->len);
}

/* A segment of the peer, which acknowledges some of what it has seen. */
static void same_segment(struct side way[2], tenon_u32 *dice, unsigned n, tenon_u32 end)
{
    static const unsigned windows[] = { 30000, 30000, 30000, 20000, 65535, 3000 };
    const tenon_u32 part = same_roll(dice, 3), open = end - way[0].ack;
    const unsigned window = windows[same_roll(dice, TENON_ARRAY_LEN(windows))];
    const tenon_u32 odd = same_roll(dice, 40), ack = way[0].ack + (part == 0 ? 0 : part == 1 ? open / 2 : open);

    for (unsigned i = 0; i < 2; i++) {
        struct side *side = &way[i];
        struct frame frame;

        side->ack = ack;
        side->ts = TS + side->hn.now_us / 1000;
        side->seq = side->conn->rcv_nxt;
        if (odd == 0 && n > 0)
            side->seq += 700;    /* a hole */
        if (odd == 1)
            side->seq -= 1;      /* again */
        frame_next(&frame, side, n);
        hn_put16(frame.bytes + TCP + 14, window);
        if (odd == 2)
            frame_mark(&frame);
        if (odd == 3)
            frame.bytes[TCP + 13] |= SEG_URG;
        if (odd == 4)
            frame.bytes[TCP + 13] |= SEG_CWR;
        if (odd == 5 && part > 0)
            frame.bytes[TCP + 13] |= SEG_ECE;
        if (n == 0 && !side->plain && odd >= 30 && (tenon_i32)(end - ack) > 1448)
            frame_sack(&frame, ack + 1448, odd == 39 ? end : ack + 1448 + 1448 * (odd - 29), end);
        if (odd == 6 && !side->plain)
            hn_put32(frame.bytes + TCP + 28, side->echo - 40);    /* of the first of two that were the same */
        frame_sum(&frame);
        same_inject(side, &frame);
    }
}

/* The application writes, reads late, acknowledges by hand, changes its mind. */
static void same_wish(struct side *side, tenon_u32 what, tenon_u32 value)
{
    static const tenon_u8 bytes[20000];
    static const unsigned few[] = { 1, 2, 3 }, many[] = { 1, 100, 128, 129, 1448, 5000, 20000 };
    const unsigned *sizes = side->small ? few : many;
    const size_t nsizes = side->small ? TENON_ARRAY_LEN(few) : TENON_ARRAY_LEN(many);
    tenon_u8 mac[6];

    switch (what) {
    case 0: HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_NODELAY, value % 2), TENON_OK); break;
    case 1: HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_TOS, value % 2 ? 0x28 : 0), TENON_OK); break;
    case 2: HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_TTL, 60 + value % 5), TENON_OK); break;
    case 3: HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_CORK, value % 3 == 0), TENON_OK); break;
    case 4: HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_ACK_BY_HAND, value % 3 == 0), TENON_OK); break;
    case 5:
        if (side->conn->flight != NULL && side->conn->flight->rcv_held > 0)
            tenon_tcp_ack(side->conn, side->conn->flight->rcv_held - value % side->conn->flight->rcv_held);
        break;
    case 6:
        side->lazy = value % 2 == 0;
        tenon_tcp_consumed(side->conn, side->unread);
        side->unread = 0;
        break;
    case 7: {
        const struct tenon_ip router = hn_ip(is_v4 ? "10.0.0.2" : "fd00::2");

        HN_EQUAL(tenon_neighbour_set(side->hn.stack, 1, &router, hn_mac(mac, 1, 2 + value % 2)), TENON_OK);
        break;
    }
    case 8:
        side->answers =
            value % 2 == 0 ? 0 : tn_min(sizes[value / 2 % nsizes], sizeof side_answer);
        break;
    case 9: side->refers = value % 2 == 0; break;
    default: (void)tenon_tcp_write(side->conn, bytes, sizes[value % nsizes]); break;
    }
}

static void same_step(struct side way[2], tenon_u32 *dice, tenon_u32 end)
{
    static const unsigned sizes[] = { 1, 10, 500, 1400 };
    static const tenon_u32 times_us[] = { 10, 300, 1000, 2500, 7000, 45000, 300000 };
    const tenon_u32 what = same_roll(dice, 10), which = same_roll(dice, 16), value = same_roll(dice, 1000);

    if (what < 3) {
        same_segment(way, dice, sizes[value % TENON_ARRAY_LEN(sizes)], end);
    } else if (what < 5) {
        same_segment(way, dice, 0, end);
    } else if (what < 7) {
        same_wish(&way[0], which, value);
        same_wish(&way[1], which, value);
    }
    for (unsigned i = 0; i < 2; i++)
        hn_run(&way[i].hn, what < 7 ? value % 2 : times_us[value % TENON_ARRAY_LEN(times_us)]);
}

/* @return segments that have gone the short way */
static tenon_u32 same_history(tenon_u32 seed, unsigned how)
{
    static struct side way[2];
    struct tenon_cc_ops ops = tenon_cc_newreno;
    struct tenon_conf conf;
    tenon_u32 dice = seed, end, short_way;

    ops.acked = same_acked;
    ops.delivered = (how & MEASURED) ? same_delivered : NULL;
    ops.restart = (how & (MEASURED | RESTARTED)) ? same_restart : NULL;
    tenon_conf_default(&conf);
    conf.tcp_cc = &ops;
    for (unsigned i = 0; i < 2; i++) {
        conf.trace = i == 0 ? NULL : same_trace;
        side_open_conf(&way[i], &conf, how);
        way[i].small = (how & SMALL) != 0;
        HN_EQUAL(tenon_tcp_set(way[i].conn, TENON_TCP_PACING, (how & SMALL) != 0), TENON_OK);
        same_told[i].cc = &way[i].conn->cc;
        same_told[i].acked = same_told[i].samples = same_told[i].restarts = same_told[i].mix = 0;
    }
    end = way[0].ack;
    for (unsigned step = 0; step < 500 && hn_failures == 0 && way[0].conn != NULL && way[1].conn != NULL; step++) {
        same_step(way, &dice, end);
        same_frames(way, &end);
        HN_EQUAL(way[0].closed, way[1].closed);
        if (way[0].conn != NULL && way[1].conn != NULL)
            same_everything(way);
        if (hn_failures > 0)
            fprintf(stderr, "seed %u, how %u, step %u\n", (unsigned)seed, how, step);
    }
    short_way = hn_stat(&way[0].hn, TENON_STAT_TCP_PREDICTED);
    HN_EQUAL(hn_stat(&way[1].hn, TENON_STAT_TCP_PREDICTED), 0);
    hn_close(&way[0].hn);
    hn_close(&way[1].hn);
    return short_way;
}

static void both_ways(void)
{
    tenon_u32 short_way = 0;

    for (tenon_u32 seed = 1; seed <= 100 && hn_failures == 0; seed++)
        short_way += same_history(seed, seed % 4);
    HN_CHECK(short_way > 5000);
}

/* So small, and so few of them, that pacing never holds anything: its rate is not made at the same time on
 * both ways. */
static void both_ways_of_small(void)
{
    tenon_u32 short_way = 0;

    for (tenon_u32 seed = 1; seed <= 90 && hn_failures == 0; seed++)
        short_way += same_history(seed, SMALL | seed % 2);
    HN_CHECK(short_way > 5000);
}

/* For who asks for rates: no ACK is told later, and what each says of rates is the same. Paced, too: the rate is made
 * with each ACK on both ways. */
static void both_ways_measured(void)
{
    tenon_u32 short_way = 0;

    for (tenon_u32 seed = 1; seed <= 90 && hn_failures == 0; seed++)
        short_way += same_history(seed, MEASURED | (seed % 3 == 0 ? SMALL : seed % 4));
    HN_CHECK(TENON_SMALL || short_way > 5000);
    HN_CHECK(same_told[0].samples > 20 && same_told[0].restarts > 20);    /* in the last of them */
}

/* For who wants to hear of the first segment after silence alone, also if that is small. */
static void both_ways_restarted(void)
{
    for (tenon_u32 seed = 1; seed <= 30 && hn_failures == 0; seed++) {
        HN_CHECK(same_history(seed, RESTARTED | (seed % 3 == 0 ? SMALL : seed % 4)) > 0);
        HN_CHECK(same_told[0].restarts > 0);
    }
}

/* To a port that gathers nothing: what is sent is copied behind its headers, by whichever way. */
static void both_ways_whole(void)
{
    tenon_u32 short_way = 0;

    for (tenon_u32 seed = 1; seed <= 100 && hn_failures == 0; seed++)
        short_way += same_history(seed, WHOLE | (seed % 3 == 0 ? SMALL : seed % 4) | (seed % 5 == 0 ? MEASURED : 0U));
    HN_CHECK(short_way > 5000);
}

/* Full segments to such a port are copied once, and go the short way. */
static void whole_segments_are_copied_once(void)
{
    static const tenon_u8 text[4 * 1448];
    static struct side side;
    tenon_u32 copied, written;

    side_open_conf(&side, NULL, WHOLE);
    usual(&side, 0);
    hn_forget(&side.hn);
    copied = hn_stat(&side.hn, TENON_STAT_COPIED_BYTES);
    HN_EQUAL(tenon_tcp_write(side.conn, text, sizeof text), sizeof text);
    written = hn_stat(&side.hn, TENON_STAT_COPIED_BYTES) - copied;
    hn_run(&side.hn, 0);
    HN_EQUAL(hn_left(&side.hn), 4);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_COPIED_BYTES) - copied - written, sizeof text);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TX_LINEARISED), 4);
    for (unsigned i = 0; i < 4; i++)
        HN_EQUAL(hn_next(&side.hn)->frame.nspans, 1);
    hn_close(&side.hn);
}

/* Buffers with less room than a segment has: there are more segments, and they are smaller. */
static void whole_segments_find_room(void)
{
    static const tenon_u8 text[2000];
    static struct side side;
    tenon_u32 sent = 0;

    side_open_conf(&side, NULL, WHOLE);
    usual(&side, 0);
    hn_forget(&side.hn);
    while (side.hn.stack->nbufs > 0)
        tenon_buf_put(side.hn.stack->bufs[--side.hn.stack->nbufs]);
    side.hn.buf_bytes = 600;
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_NODELAY, 1), TENON_OK);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_PACING, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_write(side.conn, text, 1000), 1000);
    hn_run(&side.hn, 0);
    HN_EQUAL(tenon_tcp_write(side.conn, text, sizeof text), sizeof text);
    hn_run(&side.hn, 0);
    while (hn_left(&side.hn) > 0) {
        const struct hn_sent *frame = hn_next(&side.hn);

        HN_EQUAL(frame->frame.nspans, 1);
        HN_CHECK(frame->len <= 600 - TN_HEADROOM + DATA);
        sent += frame->len - DATA;
    }
    HN_EQUAL(sent, 1000 + sizeof text);
    hn_close(&side.hn);
}

/* ---- opening and closing: the same, once by the short way and once by the general one ---- */

/* What the peer says in its SYN, and whose side opens and closes. */
struct life {
    const char *what;
    tenon_u8 options[20];
    unsigned noptions, syn_flags;
    unsigned ecn;                /* TENON_TCP_ECN; 3: as it is */
    unsigned timestamps;         /* the peer's segments have them */
    unsigned wscale;             /* of ours counts */
};

#define LIFE_USUAL \
    { \
        2, 4, 5, 180, 4, 2, 8, 10, 0, 7, 161, 32, 0, 0, 0, 0, 1, 3, 3, 7 \
    }

static const struct life lives[] = {
    { "usual", LIFE_USUAL, 20, 0, 3, 1, 1 },
    { "in another order", { 2, 4, 5, 180, 1, 3, 3, 7, 4, 2, 8, 10, 0, 7, 161, 32 }, 20, 0, 3, 1, 1 },
    { "no timestamps", { 2, 4, 5, 180, 1, 1, 4, 2, 1, 3, 3, 7 }, 12, 0, 3, 0, 1 },
    { "no window scale", { 2, 4, 5, 180, 4, 2, 8, 10, 0, 7, 161, 32 }, 16, 0, 3, 1, 0 },
    { "no options", { 0 }, 0, 0, 3, 0, 0 },
    { "ECN", LIFE_USUAL, 20, SEG_ECE | SEG_CWR, 3, 1, 1 },
    { "ECN refused", LIFE_USUAL, 20, SEG_ECE | SEG_CWR, 0, 1, 1 },
    { "ECN asked for", LIFE_USUAL, 20, SEG_ECE, 1, 1, 1 },
};

static void life_segment(struct side *side, unsigned flags, unsigned n)
{
    struct frame frame;

    frame_next(&frame, side, n);
    frame.bytes[TCP + 13] = (tenon_u8)flags;
    frame_sum(&frame);
    side->seq += n + ((flags & SEG_FIN) != 0);
    same_inject(side, &frame);
}

/* The peer's SYN, or its answer to ours. */
static void life_syn(struct side *side, const struct life *life, unsigned flags)
{
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = ip_of_peer();
    seg.dst = ip_of_ours();
    seg.sport = PEER_PORT;
    seg.dport = PORT;
    seg.seq = ISS;
    seg.ack = side->ack;
    seg.flags = flags;
    seg.wnd = 30000;
    seg.options = life->options;
    seg.noptions = life->noptions;
    seg_inject(&side->hn, &seg);
    side->seq = ISS + 1;
    side->ts = TS;
    side->plain = !life->timestamps;
}

/* The peer has been heard of at our address: it has sent something that no connection has asked for. */
static void life_is_heard(struct side *side)
{
    struct tenon_tcp_info info;
    struct seg seg;

    tenon_tcp_status(side->conn, &info);
    memset(&seg, 0, sizeof seg);
    seg.src = ip_of_peer();
    seg.dst = ip_of_ours();
    seg.sport = PEER_PORT;
    seg.dport = info.local.port;
    seg.flags = SEG_ACK;
    seg_inject(&side->hn, &seg);
    hn_run_ms(&side->hn, 1);
}

static void life_begin(struct side *side, const struct life *life, int traced, int active)
{
    const struct tenon_addr at = { .port = PORT }, peer = { .ip = ip_of_peer(), .port = PEER_PORT };
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.trace = traced ? same_trace : NULL;
    memset(side, 0, sizeof *side);
    seg_open(&side->hn, &conf);
    if (!is_v4)
        side_open_ip6(&side->hn);
    /* The first packet to a destination finds its neighbour: the short way is for those behind it. */
    HN_EQUAL(tenon_tcp_connect(side->hn.stack, &side->conn, NULL, &peer, &side_events, side), TENON_OK);
    hn_run_ms(&side->hn, 1);
    life_is_heard(side);
    tenon_tcp_abort(side->conn);
    hn_run_ms(&side->hn, 1);
    hn_forget(&side->hn);
    side->closed = 0;
    if (active) {
        HN_EQUAL(tenon_tcp_connect(side->hn.stack, &side->conn, &at, &peer, &side_events, side), TENON_OK);
        if (life->ecn < 3)
            HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_ECN, life->ecn), TENON_OK);
        return;
    }
    HN_EQUAL(tenon_tcp_listen(side->hn.stack, &listener, &at, &side_events, side, 8), TENON_OK);
    if (life->ecn < 3)
        HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_ECN, life->ecn), TENON_OK);
}

/* One step of a life. @return 0: it is over */
static int life_step(struct side *side, const struct life *life, unsigned step, int active, int closes)
{
    static const tenon_u8 bytes[100];

    switch (step) {
    case 0:
        if (!active)
            life_syn(side, life, SEG_SYN | life->syn_flags);
        break;
    case 1:
        if (active)
            life_syn(side, life, SEG_SYN | SEG_ACK | (life->syn_flags & SEG_ECE));
        else
            life_segment(side, SEG_ACK | SEG_PSH, 8);    /* the ACK of the handshake is lost */
        break;
    case 2: HN_EQUAL(tenon_tcp_write(side->conn, bytes, 8), 8); break;
    case 3: life_segment(side, SEG_ACK | SEG_PSH, 5); break;
    case 4: HN_EQUAL(tenon_tcp_write(side->conn, bytes, sizeof bytes), sizeof bytes); break;
    case 5:
        if (closes)
            tenon_tcp_close(side->conn);
        else
            life_segment(side, SEG_ACK | SEG_FIN | SEG_PSH, 3);
        break;
    case 6: life_segment(side, SEG_ACK, 0); break;
    case 7:
        if (closes)
            life_segment(side, SEG_ACK | SEG_FIN, 0);
        break;
    default: return 0;
    }
    return 1;
}

static void one_life(const struct life *life, int active, int closes)
{
    static struct side way[2];
    tenon_u32 end = 0;

    for (unsigned i = 0; i < 2; i++)
        life_begin(&way[i], life, i == 1, active);
    for (unsigned step = 0; hn_failures == 0; step++) {
        for (unsigned i = 0; i < 2; i++) {
            way[i].ack = end;
            way[i].ts += 2;
            if (step == 0 && active)
                (void)tenon_poll(way[i].hn.stack, way[i].hn.now_us);
            if (!life_step(&way[i], life, step, active, closes))
                break;
            hn_run_ms(&way[i].hn, 2);
        }
        if (step == 8)
            break;
        same_frames(way, &end);
        HN_EQUAL(way[0].conn == NULL, way[1].conn == NULL);
        if (way[0].conn != NULL && way[1].conn != NULL && !tn_tcp_fin_acked(way[0].conn))
            same_everything(way);    /* nobody measures any more once the FIN is acknowledged */
        if (hn_failures > 0)
            fprintf(stderr, "%s, active %d, closes %d, step %u\n", life->what, active, closes, step);
    }
    for (unsigned i = 0; i < 2; i++) {
        HN_EQUAL(way[i].closed, 1);
        hn_close(&way[i].hn);
    }
}

static void both_ways_of_life(void)
{
    for (size_t i = 0; i < TENON_ARRAY_LEN(lives); i++)
        for (unsigned how = 0; how < 4 && hn_failures == 0; how++)
            one_life(&lives[i], how % 2 != 0, how / 2 != 0);
}

/* ---- many connections by one way: the next one finds the headers of the last, but for its ports ---- */

/* What is different about a connection, from what was so when the one before it was opened. */
struct sibling {
    const char *what;
    enum tenon_tcp_option option;    /* with another value than the others'; TENON_TCP_OPTION_COUNT: none */
    tenon_u32 value;
    unsigned ours, peer, router;     /* number of our address, of the peer's, and of the router's interface */
    int takes;                       /* headers are there that it can take: of one that shares its path */
};

static const struct sibling siblings[] = {
    { "nobody", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 0 },
    { "alone: it finds its neighbour", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 0 },
    { "the first of two", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 0 },
    { "like the last", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 1 },
    { "another class", TENON_TCP_TOS, 0x28, 1, 7, 2, 0 },
    { "the class of most", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 0 },
    { "and once more", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 1 },
    { "another limit of hops", TENON_TCP_TTL, 17, 1, 7, 2, 0 },
    { "the limit of most", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 0 },
    { "held together", TENON_TCP_CORK, 1, 1, 7, 2, 0 },
    { "another address of ours", TENON_TCP_OPTION_COUNT, 0, 3, 7, 2, 0 },
    { "that one again", TENON_TCP_OPTION_COUNT, 0, 3, 7, 2, 1 },
    { "our first address, and nothing else", TENON_TCP_OPTION_COUNT, 0, 1, 7, 2, 0 },
    { "and back", TENON_TCP_OPTION_COUNT, 0, 3, 7, 2, 0 },
    { "another host, alone", TENON_TCP_OPTION_COUNT, 0, 3, 8, 2, 0 },
    { "the first host: its headers are still there", TENON_TCP_OPTION_COUNT, 0, 3, 7, 2, 1 },
    { "another host, not alone", TENON_TCP_OPTION_COUNT, 0, 3, 8, 2, 0 },
    { "like that", TENON_TCP_OPTION_COUNT, 0, 3, 8, 2, 1 },
    { "another router", TENON_TCP_OPTION_COUNT, 0, 3, 8, 5, 0 },
    { "by that router, too", TENON_TCP_OPTION_COUNT, 0, 3, 8, 5, 1 },
    { "without timestamps", TENON_TCP_TIMESTAMPS, 0, 3, 8, 5, 0 },
    { "with them", TENON_TCP_OPTION_COUNT, 0, 3, 8, 5, 1 },
};

static struct tenon_ip sibling_ip(int ours, unsigned number)
{
    struct tenon_ip ip = ours ? ip_of_ours() : ip_of_peer();

    ip.w[3] = (ip.w[3] & ~(tenon_u32)0xFF) | number;
    return ip;
}

/* @return whether its SYN has left with headers that were there */
static int sibling_opens(struct side *side, const struct sibling *row, unsigned number)
{
    const struct tenon_addr at = { .ip = sibling_ip(1, row->ours), .port = (tenon_u16)(PORT + number) };
    const struct tenon_addr peer = { .ip = sibling_ip(0, row->peer), .port = PEER_PORT };
    const struct tenon_ip router = hn_ip(is_v4 ? "10.0.0.2" : "fd00::2");
    const struct tn_tcp_made *made = side->hn.stack->tcp.made;
    struct tn_header before;
    tenon_u8 mac[6];

    if (row->router != siblings[number - 1].router)
        HN_EQUAL(tenon_neighbour_set(side->hn.stack, 1, &router, hn_mac(mac, 1, row->router)), TENON_OK);
    HN_EQUAL(tenon_tcp_connect(side->hn.stack, &side->conn, &at, &peer, &side_events, side), TENON_OK);
    if (row->option != TENON_TCP_OPTION_COUNT)
        HN_EQUAL(tenon_tcp_set(side->conn, row->option, row->value), TENON_OK);
    if (made != NULL)
        before = made->header;
    hn_run_ms(&side->hn, 1);
    return made != NULL && made->path == side->conn->path && memcmp(&before, &made->header, sizeof before) == 0 &&
           side->conn->flight->header.tcp_bytes != 0;
}

/* The peer answers its SYN, and it says something: with the headers that its SYN has had. */
static void sibling_speaks(struct side *side, const struct sibling *row, unsigned number)
{
    static const tenon_u8 bytes[8];
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = sibling_ip(0, row->peer);
    seg.dst = sibling_ip(1, row->ours);
    seg.sport = PEER_PORT;
    seg.dport = (tenon_u16)(PORT + number);
    seg.seq = ISS;
    seg.ack = side->conn->flight->iss + 1;
    seg.flags = SEG_SYN | SEG_ACK;
    seg.wnd = 30000;
    seg.options = lives[0].options;
    seg.noptions = row->option == TENON_TCP_TIMESTAMPS ? 4 : lives[0].noptions;
    seg_inject(&side->hn, &seg);
    HN_EQUAL(tenon_tcp_write(side->conn, bytes, sizeof bytes), sizeof bytes);
    if (row->option == TENON_TCP_CORK)
        HN_EQUAL(tenon_tcp_set(side->conn, TENON_TCP_CORK, 0), TENON_OK);
    hn_run_ms(&side->hn, 1);
}

static void siblings_of(unsigned caps)
{
    static struct side way[2];
    struct tenon_conf conf;
    tenon_u32 end = 0;

    tenon_conf_default(&conf);
    for (unsigned i = 0; i < 2; i++) {
        const struct tenon_ip other = sibling_ip(1, 3);

        conf.trace = i == 0 ? NULL : same_trace;
        memset(&way[i], 0, sizeof way[i]);
        seg_open(&way[i].hn, &conf);
        if (!is_v4)
            side_open_ip6(&way[i].hn);
        HN_EQUAL(tenon_addr_add(way[i].hn.stack, 1, &other, is_v4 ? 24 : 64), TENON_OK);
        hn_run_ms(&way[i].hn, 20000);
        hn_forget(&way[i].hn);
        way[i].hn.stack->link.netifs->conf.caps |= caps;
    }
    for (unsigned k = 1; k < TENON_ARRAY_LEN(siblings) && hn_failures == 0; k++) {
        hn_row = siblings[k].what;
        HN_EQUAL(sibling_opens(&way[0], &siblings[k], k), !TENON_SMALL && siblings[k].takes);
        (void)sibling_opens(&way[1], &siblings[k], k);
        same_frames(way, &end);
        for (unsigned i = 0; i < 2; i++)
            sibling_speaks(&way[i], &siblings[k], k);
        same_frames(way, &end);
    }
    hn_row = "";
    for (unsigned i = 0; i < 2; i++)
        hn_close(&way[i].hn);
}

/* The first segment of a connection waits for nothing, and what follows is paced from then on. */
static void pacing_begins(void)
{
    static struct side side;

    side_open(&side);
    side.answers = 1;
    HN_EQUAL(side.conn->flags & TN_TCP_F_PACING, 0);
    HN_EQUAL(usual(&side, 1), 1);
    hn_run(&side.hn, 0);
    HN_CHECK(side.conn->snd_nxt != side.conn->snd_una);
    HN_CHECK((side.conn->flags & TN_TCP_F_PACING) != 0);
    HN_CHECK(side.hn.now_us - side.conn->flight->pace_us < 2 || TENON_SMALL);
    hn_close(&side.hn);
}

/* Two that share a path, of which the second asks for rates: its headers are not those of the first, since
 * what it sends alone says when it left. */
static void rates_beside_others(void)
{
    const struct sibling usual = siblings[3];
    struct tenon_cc_ops ops = tenon_cc_newreno;
    const struct tenon_addr peer = { .ip = sibling_ip(0, usual.peer), .port = PEER_PORT };
    static struct side side;
    unsigned number = 0;
    const struct tn_sent *sent;

    seg_open(&side.hn, NULL);
    while (number++ < 3) {
        (void)sibling_opens(&side, &usual, number);
        sibling_speaks(&side, &usual, number);
    }
    ops.delivered = rates_delivered;
    HN_EQUAL(tenon_tcp_connect(side.hn.stack, &side.conn, NULL, &peer, &side_events, &side), TENON_OK);
    HN_EQUAL(tenon_tcp_set_cc(side.conn, &ops), TENON_OK);
    hn_run_ms(&side.hn, 1);
    sibling_speaks(&side, &usual, (side.conn->ends.node.word >> 16) - PORT);
    sent = &side.conn->flight->ring[side.conn->flight->first];
    HN_EQUAL(sent->end, side.conn->snd_nxt);
    HN_EQUAL(sent->first_sent_us, sent->sent_us);
    HN_EQUAL(sent->in_flight, 8);
    hn_close(&side.hn);
}

static void headers_of_the_last(void)
{
    siblings_of(0);
    siblings_of(TENON_CAP_TX_CSUM);
}

/* ---- SYN and SYN-ACK as they should be, or with one bit that is different ---- */

enum { SYN_BYTES = 40, SYN_TEXT = 4 };

struct syn_oddity {
    unsigned at;                 /* byte of the frame ... */
    tenon_u8 bits;               /* ... in which these are others */
    int is_summed;               /* after that */
    unsigned padding, text;
};

/* The peer's, with the options that nearly everybody has. */
static void syn_frame(struct frame *frame, const struct side *side, const struct syn_oddity *odd, unsigned flags)
{
    frame_next(frame, side, SYN_BYTES - 32 + odd->text);
    frame->bytes[TCP + 12] = SYN_BYTES << 2;
    frame->bytes[TCP + 13] = (tenon_u8)flags;
    memcpy(frame->bytes + TCP + 20, lives[0].options, lives[0].noptions);
    frame_sum(frame);
    frame->bytes[odd->at] ^= odd->bits;
    if (odd->is_summed)
        frame_sum(frame);
    frame->len += odd->padding;
}

/* What an option is to one may be text to another: nobody reads it. */
static const struct tenon_tcp_events syn_events = { .opened = side_opened, .closed = side_closed };

/* Both begin where they began before. */
static void syn_begin(struct side way[2], int active, tenon_u32 *end)
{
    const struct tenon_addr at = { .port = PORT }, peer = { .ip = ip_of_peer(), .port = PEER_PORT };
    struct tenon_tcp_listener *listener;

    *end = 0;
    for (unsigned i = 0; i < 2; i++) {
        struct tenon *stack = way[i].hn.stack;

        if (active)
            HN_EQUAL(tenon_tcp_connect(stack, &way[i].conn, &at, &peer, &syn_events, &way[i]), TENON_OK);
        else
            HN_EQUAL(tenon_tcp_listen(stack, &listener, &at, &syn_events, &way[i], 8), TENON_OK);
        hn_run_ms(&way[i].hn, 1);
    }
    if (active)
        same_frames(way, end);
}

static void syn_end(struct side way[2], int active)
{
    for (unsigned i = 0; i < 2; i++) {
        if (active && way[i].conn != NULL)
            tenon_tcp_abort(way[i].conn);
        if (!active)
            tenon_tcp_listener_close(way[i].hn.stack->tcp.listeners);
        hn_run_ms(&way[i].hn, 1);
        hn_forget(&way[i].hn);
    }
}

static void one_syn(struct side way[2], const struct syn_oddity *odd, int active)
{
    tenon_u32 end;

    syn_begin(way, active, &end);
    for (unsigned i = 0; i < 2; i++) {
        struct frame frame;

        way[i].seq = ISS;
        way[i].ack = active ? end : 0;
        syn_frame(&frame, &way[i], odd, active ? SEG_SYN | SEG_ACK : SEG_SYN);
        hn_inject(&way[i].hn, 1, frame.bytes, frame.len);
        hn_run_ms(&way[i].hn, 1);
    }
    same_frames(way, &end);
    same_stats(way);
    HN_EQUAL(way[0].conn == NULL, way[1].conn == NULL);
    if (way[0].conn != NULL && way[1].conn != NULL)
        same_everything(way);
    if (hn_failures > 0)
        fprintf(stderr, "active %d, byte %u, bits %02X, summed %d\n", active, odd->at, odd->bits, odd->is_summed);
    syn_end(way, active);
}

static void every_syn(int active)
{
    static struct side way[2];
    struct syn_oddity odd = { 0, 0, 1, 0, 0 };

    same_told[0].cc = same_told[1].cc = NULL;
    for (unsigned i = 0; i < 2; i++) {
        life_begin(&way[i], &lives[0], i == 1, 0);
        tenon_tcp_listener_close(way[i].hn.stack->tcp.listeners);
    }
    one_syn(way, &odd, active);
    odd.padding = 2;
    one_syn(way, &odd, active);
    odd.padding = 0;
    odd.text = SYN_TEXT;
    one_syn(way, &odd, active);
    odd.text = 0;
    for (odd.at = 0; odd.at < TCP + SYN_BYTES && hn_failures == 0; odd.at++) {
        odd.bits = 0;
        one_syn(way, &odd, active);    /* so that all is as usual but for what follows */
        for (odd.bits = 1; odd.bits != 0 && hn_failures == 0; odd.bits = (tenon_u8)(odd.bits << 1))
            for (odd.is_summed = 0; odd.is_summed < 2; odd.is_summed++)
                one_syn(way, &odd, active);
    }
    for (unsigned i = 0; i < 2; i++)
        hn_close(&way[i].hn);
}

static void both_ways_of_syn(void)
{
    every_syn(0);
}

static void both_ways_of_syn_ack(void)
{
    every_syn(1);
}

/* A SYN to an address that was ours when the peer was heard of there. */
static void syn_to_what_is_gone(void)
{
    static struct side side;
    const struct syn_oddity none = { 0, 0, 1, 0, 0 };
    const struct tenon_ip ours = ip_of_ours();
    struct frame frame;

    life_begin(&side, &lives[0], 0, 0);
    side.seq = ISS;
    syn_frame(&frame, &side, &none, SEG_SYN);
    HN_EQUAL(tenon_addr_remove(side.hn.stack, 1, &ours), TENON_OK);
    hn_inject(&side.hn, 1, frame.bytes, frame.len);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_SYN_RCVD), 0);
    hn_close(&side.hn);
}

/* A SYN through another interface than the one on which the peer was heard of: where it is nobody's address. */
static void syn_elsewhere(void)
{
    const struct tenon_ip broad = hn_ip("198.51.100.5");
    static struct side side;
    const struct syn_oddity none = { 0, 0, 1, 0, 0 };
    struct frame frame;
    tenon_u8 mac[6];
    unsigned netif;

    life_begin(&side, &lives[0], 0, 0);
    netif = hn_netif(&side.hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(side.hn.stack, netif, &broad, 30), TENON_OK);
    for (unsigned i = 0; i < 2; i++) {
        side.seq = ISS;
        syn_frame(&frame, &side, &none, SEG_SYN);
        memcpy(frame.bytes, hn_mac(mac, 0, i == 0 ? 1 : netif), 6);
        hn_put16(frame.bytes + TCP, PEER_PORT + i);
        frame_sum(&frame);
        hn_inject(&side.hn, i == 0 ? 1 : netif, frame.bytes, frame.len);
        if (i > 0)
            break;
        hn_run_ms(&side.hn, 1);
        hn_inject(&side.hn, 1, frame.bytes, frame.len);    /* again, to what it has made: it is heard of */
        hn_run_ms(&side.hn, 1);
    }
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_SYN_RCVD), 1);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_IP4_MARTIAN), 1);
    hn_close(&side.hn);
}

/* A SYN, or the ACK of a handshake, to an address that is not ours. */
static void to_others(struct side *side, unsigned sport, unsigned flags)
{
    const struct syn_oddity none = { 0, 0, 1, 0, 0 };
    struct frame frame;

    if (flags & SEG_SYN)
        syn_frame(&frame, side, &none, flags);
    else
        frame_next(&frame, side, 0);
    hn_put32(frame.bytes + IP + 16, 0xCB007109);    /* 203.0.113.9 */
    hn_put16(frame.bytes + TCP, sport);
    frame_sum(&frame);
    hn_inject(&side->hn, 1, frame.bytes, frame.len);
    hn_run_ms(&side->hn, 1);
}

/* Who talks to an address that is not ours is a transparent listener's; once there is none any more, nobody's. */
static void syn_to_others(void)
{
    static struct side side;
    const struct tenon_addr at = { .port = PORT };
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conns[2] = { NULL, NULL };
    struct seg seg;

    life_begin(&side, &lives[0], 0, 0);
    HN_EQUAL(tenon_tcp_listener_set(side.hn.stack->tcp.listeners, TENON_TCP_TRANSPARENT, 1), TENON_OK);
    side.ts = TS + 1;
    for (unsigned i = 0; i < 2; i++) {
        side.seq = ISS;
        to_others(&side, PEER_PORT + i, SEG_SYN);
        HN_EQUAL(side.hn.stack->tcp.transparent, 2 + i);
        if (!HN_CHECK(seg_next(&side.hn, &seg)))
            return;
        side.seq++;
        side.ack = seg.seq + 1;
        to_others(&side, PEER_PORT + i, SEG_ACK);    /* now it is heard of there */
        conns[i] = side.conn;
    }
    tenon_tcp_listener_close(side.hn.stack->tcp.listeners);
    HN_EQUAL(tenon_tcp_listen(side.hn.stack, &listener, &at, &side_events, &side, 8), TENON_OK);
    for (unsigned i = 0; i < 2; i++)
        if (HN_CHECK(conns[i] != NULL))
            tenon_tcp_abort(conns[i]);
    hn_run_ms(&side.hn, 1);
    HN_EQUAL(side.hn.stack->tcp.transparent, 0);
    side.seq = ISS;
    to_others(&side, PEER_PORT + 2, SEG_SYN);
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_TCP_SYN_RCVD), 2);
    hn_close(&side.hn);
}

/* ---- what comes in every state of a connection, as it should or not quite ---- */

/* The next segment of the peer, or one that is like it but for one thing. */
static void end_segment(struct side way[2], tenon_u32 *dice, tenon_u32 end)
{
    static const tenon_u8 flags[] = { SEG_ACK, SEG_ACK | SEG_PSH, SEG_ACK | SEG_FIN, SEG_ACK | SEG_FIN | SEG_PSH };
    const unsigned n = same_roll(dice, 3), odd = same_roll(dice, 14), flag = flags[same_roll(dice, 4)];

    for (unsigned i = 0; i < 2; i++) {
        struct side *side = &way[i], like = { .seq = side->seq, .ack = end, .ts = ++side->ts, .echo = side->echo };
        struct frame frame;

        like.seq += odd == 0 ? 1 : odd == 1 ? 0xFFFFFFFFU : odd == 2 ? 0x10000000U : 0;
        like.ack += odd == 3 ? 1 : odd == 4 ? 0xFFFFFFFFU : 0;
        like.ts -= odd == 5 ? 1000 : 0;
        frame_next(&frame, &like, n);
        frame.bytes[TCP + 13] = (tenon_u8)flag;
        if (odd == 6)
            hn_put16(frame.bytes + TCP + 14, 20000);
        frame_sum(&frame);
        if (odd > 2 && odd != 3)
            side->seq += n + ((flag & SEG_FIN) != 0);
        same_inject(side, &frame);
    }
}

static void end_step(struct side way[2], tenon_u32 *dice, tenon_u32 end)
{
    static const tenon_u8 bytes[3];
    const unsigned what = same_roll(dice, 8), n = 1 + same_roll(dice, 3), ms = same_roll(dice, 3);

    if (what < 5)
        end_segment(way, dice, end);
    for (unsigned i = 0; i < 2; i++) {
        struct tenon_tcp *conn = way[i].conn;

        if (what == 5 && conn != NULL)
            (void)tenon_tcp_write(conn, bytes, n);
        else if (what == 6 && conn != NULL && n == 1)
            tenon_tcp_close(conn);
        else if (what == 6 && conn != NULL)
            (void)tenon_tcp_finish(conn);
        hn_run_ms(&way[i].hn, ms);
    }
}

static void one_end(tenon_u32 seed)
{
    static struct side way[2];
    tenon_u32 dice = seed, end = 0;

    same_told[0].cc = same_told[1].cc = NULL;    /* the connection's own */
    for (unsigned i = 0; i < 2; i++) {
        life_begin(&way[i], &lives[0], i == 1, 0);
        life_syn(&way[i], &lives[0], SEG_SYN);
        hn_run_ms(&way[i].hn, 2);
        way[i].closes = seed % 3;
    }
    same_frames(way, &end);
    for (unsigned step = 0; step < 30 && hn_failures == 0; step++) {
        end_step(way, &dice, end);
        same_frames(way, &end);
        HN_EQUAL(way[0].conn == NULL, way[1].conn == NULL);
        HN_EQUAL(way[0].closed, way[1].closed);
        same_stats(way);
        if (way[0].conn != NULL && way[1].conn != NULL && !tn_tcp_fin_acked(way[0].conn))
            same_everything(way);
        if (hn_failures > 0)
            fprintf(stderr, "seed %u, step %u\n", (unsigned)seed, step);
    }
    hn_close(&way[0].hn);
    hn_close(&way[1].hn);
}

static void both_ways_of_ends(void)
{
    for (tenon_u32 seed = 1; seed <= 100 && hn_failures == 0; seed++)
        one_end(seed);
}

/* Nothing is in flight, the round trip is known, and what may be owed; its timer runs. */
static void alone_open(struct side *side)
{
    side_open(side);
    side->answers = 1;
    side->refers = 1;
    for (unsigned k = 0; k < 5; k++) {
        HN_EQUAL(usual(side, 1), 1);
        hn_run(&side->hn, 50);
        side->ack += side->answers;
    }
}

/* One small segment leaves alone, if it may. */
static void alone(void)
{
    static const struct {
        const char *what;
        unsigned len, sent;
        tenon_u32 cwnd, wnd, mss;    /* 0: as they are */
        int cork, no_timer;
        tenon_u32 silent_ms;
    } rows[] = {
        { "usual", 10, 10, 0, 0, 0, 0, 0, 10 },
        { "window", 10, 0, 0, 9, 0, 0, 0, 10 },
        { "cwnd", 10, 0, 9, 0, 0, 0, 0, 10 },
        { "mss", 100, 100, 0, 0, 60, 0, 0, 10 },
        { "corked", 10, 0, 0, 0, 0, 1, 0, 10 },
        { "large", 300, 300, 0, 0, 0, 0, 0, 10 },
        { "no timer", 10, 10, 0, 0, 0, 0, 1, 10 },
        { "after silence", 10, 10, 0, 0, 0, 0, 0, 2000000 },
    };
    static struct side side;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_tcp *conn;
        unsigned sent = 0;

        hn_row = rows[i].what;
        alone_open(&side);
        conn = side.conn;
        side.answers = 0;
        HN_EQUAL(usual(&side, 1), 1);
        HN_CHECK(conn->snd_una == conn->snd_nxt && conn->flight != NULL);
        HN_CHECK(TENON_SMALL || conn->flight->pace_room > 10);
        hn_run_ms(&side.hn, rows[i].silent_ms);
        hn_forget(&side.hn);
        if (rows[i].cork)
            HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_CORK, 1), TENON_OK);
        if (rows[i].no_timer)
            tn_timer_stop(&conn->stack->wheel, &conn->timer);
        conn->cc.cwnd = rows[i].cwnd != 0 ? rows[i].cwnd : 100000;
        conn->snd_wnd = rows[i].wnd != 0 ? rows[i].wnd : conn->snd_wnd;
        conn->mss = rows[i].mss != 0 ? (tenon_u16)rows[i].mss : conn->mss;
        side.answers = rows[i].len;
        side_answers(&side, conn);
        hn_run_ms(&side.hn, 1);
        while (hn_left(&side.hn) > 0) {
            const struct hn_sent *frame = hn_next(&side.hn);

            HN_CHECK(frame->len - DATA <= conn->mss);
            sent += frame->len - DATA;
        }
        HN_EQUAL(sent, rows[i].sent);
        HN_EQUAL(conn->cc.cwnd < 100000, rows[i].cwnd != 0 || rows[i].silent_ms > 10);
        if (sent > 0)    /* it is repeated, or probed for, if nothing is heard of it */
            HN_CHECK((conn->flags & TN_TCP_F_RTX_ARMED) && tn_timer_runs(&conn->timer));
        if (sent == 10)
            HN_CHECK(conn->flight->pace_owed >= sent);
        hn_close(&side.hn);
    }
    hn_row = "";
}

/* What is sent while nothing is queued: no more than there is room for, and nothing behind a FIN. */
static void first_of_queue(void)
{
    struct tenon_span span = { .len = 1 };
    static struct side side;
    tenon_u32 end;

    side_open(&side);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_SND_BUF, 600), TENON_OK);
    side.answers = 1;
    side.refers = 1;
    for (unsigned k = 0; k < 3; k++) {
        HN_EQUAL(usual(&side, 1), 1);
        side.ack += side.answers;
    }
    end = side.conn->snd_end;
    side.answers = 601;
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(side.conn->snd_end, end);
    side.answers = 1;
    HN_EQUAL(usual(&side, 1), 1);
    side.ack += side.answers;
    side.answers = 600;
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(side.conn->snd_end, end + 601);
    side.ack += side.answers;
    side.answers = 0;
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(tenon_tcp_finish(side.conn), TENON_OK);
    hn_run_ms(&side.hn, 1);
    HN_EQUAL(side.conn->state, TENON_TCP_FIN_WAIT_1);
    span.buf = hn_buf(&side.hn, span.len);
    HN_EQUAL(tenon_tcp_send(side.conn, &span), TENON_ECLOSED);
    tenon_buf_put(span.buf);
    hn_close(&side.hn);
}

/* tenon_conf.tcp_copy_max: payload goes behind its headers up to there, and where the header's buffer has room. */
static void copied_or_referred(void)
{
    static const struct {
        unsigned copy_max, len, buf, spans;
    } rows[] = {
        { 1, 1, 2048, 1 }, { 1, 2, 2048, 2 }, { 256, 256, 2048, 1 }, { 256, 257, 2048, 2 }, { 1000, 1000, 2048, 1 },
        { 256, 152, 256, 1 }, { 256, 153, 256, 2 },    /* 104 bytes are headers, or free for them */
        { 2000, 1428, 2048, 1 }
    };
    static struct side side;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_span span = { .len = rows[i].len };
        const struct hn_sent *sent;
        struct tenon_conf conf;

        tenon_conf_default(&conf);
        conf.tcp_copy_max = (tenon_u16)rows[i].copy_max;
        side_open_conf(&side, &conf, 0);
        HN_EQUAL(usual(&side, 1), 1);
        hn_run_ms(&side.hn, 100);
        hn_forget(&side.hn);
        HN_CHECK(side.hn.stack->nbufs > 0);
        for (unsigned k = 0; k < side.hn.stack->nbufs; k++)
            side.hn.stack->bufs[k]->size = rows[i].buf;
        span.buf = hn_buf(&side.hn, span.len);
        memset(span.buf->data, 0x5A, span.len);
        HN_EQUAL(tenon_tcp_send(side.conn, &span), TENON_OK);
        hn_run_ms(&side.hn, 1);
        sent = hn_next(&side.hn);
        if (HN_CHECK(sent != NULL)) {
            HN_EQUAL(sent->frame.nspans, rows[i].spans);
            HN_EQUAL(sent->len, DATA + span.len);
            for (unsigned k = DATA; k < sent->len; k++)
                HN_EQUAL(sent->bytes[k], 0x5A);
        }
        HN_EQUAL(hn_stat(&side.hn, TENON_STAT_COPIED_BYTES), rows[i].spans == 1 ? span.len : 0);
        tenon_buf_put(span.buf);
        hn_close(&side.hn);
    }
}

/* The rules of the receive window one after the other: RFC 9293 3.8.6.2.2, SHLD-14, RFC 7323 2.4. *adv: the
 * edge that is announced then. */
static tenon_u32 field_by_rule(const struct tenon_tcp *conn, tenon_u32 ack, tenon_u32 *adv)
{
    const tenon_u32 buffer = conn->opts->values[TENON_TCP_RCV_BUF], unit = (tenon_u32)1 << conn->rcv_wscale;
    const tenon_u32 limit = buffer - (unit - 1);    /* what is rounded up stays within the buffer */
    const tenon_u32 space = limit > conn->rcv_unconsumed ? limit - conn->rcv_unconsumed : 0;
    const tenon_u32 step = tn_min(limit / 2, conn->mss);
    tenon_u32 edge = conn->rcv_nxt + space, field;
    int becomes_one;

    *adv = conn->rcv_adv;
    becomes_one = limit > conn->mss && space >= step && tn_seq_lt(conn->rcv_adv, conn->rcv_nxt + step);
    if (tn_seq_lt(edge, conn->rcv_adv) || (edge - conn->rcv_adv < step && !becomes_one))
        edge = conn->rcv_adv;    /* in large steps, or to a window of one, and never to the left */
    if (tn_seq_le(edge, ack))
        return 0;
    field = (edge - ack) / unit;
    if (tn_seq_lt(ack + field * unit, conn->rcv_adv) &&
        ack + (field + 1) * unit - conn->rcv_nxt + conn->rcv_unconsumed <= buffer)
        field++;    /* rounding would move it to the left */
    field = tn_min(field, 65535);
    *adv = tn_seq_max(*adv, ack + field * unit);
    return field;
}

/* The short way to the window says what the rules say, whatever has been announced, taken and left. */
static void window_field(void)
{
    static struct side side;
    struct tenon_tcp *conn, was;
    tenon_u32 buffer, i;

    side_open(&side);
    conn = side.conn;
    was = *conn;
    buffer = conn->opts->values[TENON_TCP_RCV_BUF];
    for (i = 0; i < 300000; i++) {
        const tenon_u32 scale = tn_random(&side.hn.stack->random) % 15;
        const tenon_u32 size =
            ((tenon_u32)2 << scale) + tn_random(&side.hn.stack->random) % (i % 3 == 0 ? 3000 : 5000000);
        const tenon_u32 near = i % 2 == 0 ? 4000 : size,
                        held = tn_random(&side.hn.stack->random) % (i % 5 == 0 ? 3000 : 1);
        tenon_u32 ack, wanted, adv;

        conn->opts->values[TENON_TCP_RCV_BUF] = size;
        conn->rcv_wscale = (tenon_u8)scale;
        conn->rcv_nxt = tn_random(&side.hn.stack->random);
        conn->rcv_unconsumed = tn_random(&side.hn.stack->random) % (size + 1);
        conn->rcv_adv =
            conn->rcv_nxt + size - conn->rcv_unconsumed + near / 8 - tn_random(&side.hn.stack->random) % near;
        /* The octet of a probe, or a FIN, is all that was ever taken behind the edge. */
        conn->rcv_adv = tn_seq_max(conn->rcv_adv, conn->rcv_nxt - 1);
        ack = conn->rcv_nxt - held;
        wanted = field_by_rule(conn, ack, &adv);
        HN_EQUAL(tn_tcp_window_field(conn, ack), wanted);
        HN_EQUAL(conn->rcv_adv, adv);
    }
    conn->opts->values[TENON_TCP_RCV_BUF] = buffer;
    *conn = was;
    hn_close(&side.hn);
}

/* The table of those that were heard of last grows with their number; without memory it stays, and nobody is lost. */
static void many_are_heard_of(void)
{
    static struct side side;
    struct tn_tcp_state *tcp;

    side_open(&side);
    tcp = &side.hn.stack->tcp;
    HN_EQUAL(tcp->recent_mask, TN_TCP_RECENT - 1);
    HN_EQUAL(usual(&side, 1), 1);
    tcp->nconns += 1000;
    side.hn.mem_fail = -1;
    tn_fast_grow(side.hn.stack);
    HN_EQUAL(tn_fast_bytes(side.hn.stack), 0);
    HN_EQUAL(usual(&side, 1), 1);
    side.hn.mem_fail = 0;
    tn_fast_grow(side.hn.stack);
    tn_fast_grow(side.hn.stack);
    HN_EQUAL(tcp->recent_mask, 4 * TN_TCP_RECENT - 1);
    HN_EQUAL(tn_fast_bytes(side.hn.stack), 4 * TN_TCP_RECENT * sizeof(struct tenon_tcp *));
    tcp->nconns -= 1000;
    tn_fast_grow(side.hn.stack);
    HN_EQUAL(tcp->recent_mask, 4 * TN_TCP_RECENT - 1);
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(usual(&side, 1), 1);
    tenon_tcp_abort(side.conn);
    HN_EQUAL(usual(&side, 1), 0);    /* and it is forgotten when it ends */
    hn_close(&side.hn);
}

/* A large table is cleared in steps; until it is, the old one serves. It may end in the middle. */
static void table_grows_in_steps(void)
{
    const size_t slot = sizeof(struct tenon_tcp *);
    static struct side side;
    struct tn_tcp_state *tcp;

    for (unsigned round = 0; round < 2 && hn_failures == 0; round++) {
        side_open(&side);
        tcp = &side.hn.stack->tcp;
        tcp->nconns += 1000;
        tn_fast_grow(side.hn.stack);
        tn_fast_grow(side.hn.stack);
        HN_EQUAL(tcp->recent_mask, 255);
        HN_EQUAL(usual(&side, 1), 1);
        tn_fast_grow(side.hn.stack);
        HN_EQUAL(tcp->recent_mask, 255);
        HN_EQUAL(tn_fast_bytes(side.hn.stack), (256 + 512) * slot);
        HN_EQUAL(usual(&side, 1), 1);
        if (round == 1) {
            tn_fast_grow(side.hn.stack);
            HN_EQUAL(tcp->recent_mask, 511);
            HN_EQUAL(tn_fast_bytes(side.hn.stack), 512 * slot);
            for (unsigned i = 0; i < 512; i++)
                HN_CHECK(tcp->recent[i] == NULL);
            HN_EQUAL(usual(&side, 1), 1);
        }
        tcp->nconns -= 1000;
        hn_close(&side.hn);
    }
}

/* Marks of recovery that lie behind are pulled along before they would seem to lie ahead: when the congestion
 * control is told of ACKs, which waits for no more bytes than they may lie behind. */
static void marks_far_behind(void)
{
    static const struct {
        tenon_u32 behind, untold;
        int pulled;
    } rows[] = {
        { 0x0FFFFFFFU, 0, 0 }, { 0x10000000U, 0, 1 }, { 0x10000000U, 0x0FFFFFFFU, 0 }, { 0x10000000U, 0x10000000U, 1 }
    };
    static const tenon_u8 answer[100];
    static struct side side;

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tn_flight *flight;
        tenon_u32 una, mark;

        side_open(&side);
        HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
        hn_run_ms(&side.hn, 1);
        flight = side.conn->flight;
        una = side.conn->snd_una;
        mark = una - rows[i].behind;
        flight->recover = flight->ecn_recover = flight->again_high = mark;
        flight->tlp_from = mark - 100, flight->tlp_end = mark;
        flight->untold = rows[i].untold;
        if (rows[i].untold > 0)
            flight->told_ms = side.hn.stack->now_ms;
        side.ack += sizeof answer;
        HN_EQUAL(usual(&side, 0), 1);
        HN_EQUAL(side.acked, sizeof answer);
        HN_EQUAL(flight->recover, rows[i].pulled ? una : mark);
        HN_EQUAL(flight->ecn_recover, rows[i].pulled ? una : mark);
        HN_EQUAL(flight->again_high, rows[i].pulled ? una : mark);
        HN_EQUAL(flight->tlp_end, rows[i].pulled ? una : mark);
        HN_EQUAL(flight->tlp_from, rows[i].pulled ? una : mark - 100);
        hn_close(&side.hn);
    }
}

/* What is more than a segment goes to a port that cuts it as what it is; whichever way it goes. */
static void segments(void)
{
    static const tenon_u8 answer[5000];
    static struct side side;
    const struct hn_sent *sent;
    struct tn_netif *netif;

    side_open(&side);
    netif = tn_netif_at(side.hn.stack, 1);
    netif->conf.caps |= TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6;
    HN_EQUAL(usual(&side, 1), 1);
    hn_forget(&side.hn);
    HN_EQUAL(tenon_tcp_write(side.conn, answer, sizeof answer), sizeof answer);
    (void)tenon_poll(side.hn.stack, side.hn.now_us);
    sent = hn_next(&side.hn);
    if (HN_CHECK(sent != NULL)) {
        HN_CHECK(sent->len > 2 * 1428);
        HN_EQUAL(sent->frame.seg_kind, is_v4 ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
        HN_EQUAL(sent->frame.seg_bytes, side.conn->mss);
        HN_EQUAL(sent->frame.header_bytes, DATA);
        HN_EQUAL(sent->frame.csum_start, TCP);
    }
    HN_CHECK(side.conn->flight->header.tcp_bytes != 0);
    hn_close(&side.hn);
}

/* ---- over IPv6 ---- */

static void over_ip6(void (*test)(void))
{
    is_v4 = 0;
    test();
    is_v4 = 1;
}

static void what_is_expected6(void)
{
    over_ip6(what_is_expected);
}

static void what_is_odd6(void)
{
    over_ip6(what_is_odd);
}

static void window_edge6(void)
{
    over_ip6(window_edge);
}

static void address_is_gone6(void)
{
    over_ip6(address_is_gone);
}

static void other_address_is_gone6(void)
{
    over_ip6(other_address_is_gone);
}

static void address_is_gone_fin6(void)
{
    over_ip6(address_is_gone_fin);
}

static void option_changes_headers6(void)
{
    over_ip6(option_changes_headers);
}

static void address_lost6(void)
{
    over_ip6(address_lost);
}

static void same_router_elsewhere6(void)
{
    over_ip6(same_router_elsewhere);
}

static void forgotten6(void)
{
    over_ip6(forgotten);
}

static void cut_frames6(void)
{
    over_ip6(cut_frames);
}

static void padding6(void)
{
    over_ip6(padding);
}

static void segments6(void)
{
    over_ip6(segments);
}

static void both_ways6(void)
{
    over_ip6(both_ways);
}

static void both_ways_whole6(void)
{
    over_ip6(both_ways_whole);
}

static void both_ways_of_small6(void)
{
    over_ip6(both_ways_of_small);
}

static void both_ways_of_life6(void)
{
    over_ip6(both_ways_of_life);
}

static void headers_of_the_last6(void)
{
    over_ip6(headers_of_the_last);
}

static void both_ways_of_syn6(void)
{
    over_ip6(both_ways_of_syn);
}

static void both_ways_of_syn_ack6(void)
{
    over_ip6(both_ways_of_syn_ack);
}

static void syn_to_what_is_gone6(void)
{
    over_ip6(syn_to_what_is_gone);
}

static void both_ways_of_ends6(void)
{
    over_ip6(both_ways_of_ends);
}

static void copied_or_referred6(void)
{
    over_ip6(copied_or_referred);
}

/* ::ffff:a.b.c.d may not be seen on the wire: it does not find a connection of IPv4, and is not remembered for one. */
static void mapped_addresses(void)
{
    static struct side side;
    struct frame frame;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    is_v4 = 0;
    frame_next(&frame, &side, 1);
    memset(frame.bytes + IP + 8, 0, 32);
    hn_put16(frame.bytes + IP + 18, 0xFFFF);
    hn_put32(frame.bytes + IP + 20, 0xC6336407);    /* 198.51.100.7 */
    hn_put16(frame.bytes + IP + 34, 0xFFFF);
    hn_put32(frame.bytes + IP + 36, 0x0A000001);
    frame_sum(&frame);
    HN_EQUAL(predicted(&side, 1, &frame), 0);
    is_v4 = 1;
    HN_EQUAL(hn_stat(&side.hn, TENON_STAT_IP6_MARTIAN), 1);
    HN_EQUAL(side.received, 1);
    tenon_tcp_abort(side.conn);
    hn_run_ms(&side.hn, 1);
    for (unsigned i = 0; i < TN_TCP_RECENT; i++)
        HN_CHECK(side.hn.stack->tcp.recent[i] == NULL);
    hn_close(&side.hn);
}

static const struct hn_test tests[] = {
    { "what_is_expected", "", what_is_expected },
    { "what_is_odd", "", what_is_odd },
    { "window_edge", "", window_edge },
    { "address_is_gone", "", address_is_gone },
    { "other_interface", "IP4-6", other_interface },
    { "without_link", "", without_link },
    { "other_address_is_gone", "IP4-5", other_address_is_gone },
    { "rates_are_wanted", "", rates_are_wanted },
    { "rates_without_more_to_send", "", rates_without_more_to_send },
    { "closed_when_acknowledged", "", closed_when_acknowledged },
    { "forgotten", "", forgotten },
    { "what_is_plain", "", what_is_plain },
    { "sent_twice", "RTO-6", sent_twice },
    { "address_is_gone_fin", "", address_is_gone_fin },
    { "option_changes_headers", "", option_changes_headers },
    { "same_router_elsewhere", "", same_router_elsewhere },
    { "address_lost", "ARP-12 ARP-13", address_lost },
    { "cut_frames", "", cut_frames },
    { "padding", "", padding },
    { "closed_by_us", "", closed_by_us },
    { "closed_before_early_text", "9293-HC-4", closed_before_early_text },
    { "short_of_buffers_in_a_burst", "RES-2", short_of_buffers_in_a_burst },
    { "small_buffers", "", small_buffers },
    { "neighbour_is_used", "", neighbour_is_used },
    { "both_ways", "", both_ways },
    { "both_ways_of_small", "", both_ways_of_small },
    { "both_ways_measured", "", both_ways_measured },
    { "both_ways_restarted", "", both_ways_restarted },
    { "both_ways_whole", "", both_ways_whole },
    { "whole_segments_are_copied_once", "", whole_segments_are_copied_once },
    { "whole_segments_find_room", "", whole_segments_find_room },
    { "both_ways_of_life", "", both_ways_of_life },
    { "headers_of_the_last", "", headers_of_the_last },
    { "rates_beside_others", "", rates_beside_others },
    { "pacing_begins", "", pacing_begins },
    { "headers_of_the_last6", "", headers_of_the_last6 },
    { "both_ways_of_syn", "", both_ways_of_syn },
    { "both_ways_of_syn_ack", "", both_ways_of_syn_ack },
    { "syn_to_what_is_gone", "IP4-5", syn_to_what_is_gone },
    { "syn_to_others", "IP4-5", syn_to_others },
    { "syn_elsewhere", "IP4-6", syn_elsewhere },
    { "both_ways_of_syn6", "", both_ways_of_syn6 },
    { "both_ways_of_syn_ack6", "", both_ways_of_syn_ack6 },
    { "syn_to_what_is_gone6", "IP4-5", syn_to_what_is_gone6 },
    { "both_ways_of_ends", "", both_ways_of_ends },
    { "alone", "", alone },
    { "first_of_queue", "", first_of_queue },
    { "copied_or_referred", "", copied_or_referred },
    { "window_field", "", window_field },
    { "many_are_heard_of", "", many_are_heard_of },
    { "table_grows_in_steps", "", table_grows_in_steps },
    { "marks_far_behind", "", marks_far_behind },
    { "segments", "", segments },
    { "what_is_expected6", "", what_is_expected6 },
    { "segments6", "", segments6 },
    { "what_is_odd6", "", what_is_odd6 },
    { "window_edge6", "", window_edge6 },
    { "address_is_gone6", "", address_is_gone6 },
    { "other_address_is_gone6", "", other_address_is_gone6 },
    { "address_is_gone_fin6", "", address_is_gone_fin6 },
    { "option_changes_headers6", "", option_changes_headers6 },
    { "same_router_elsewhere6", "", same_router_elsewhere6 },
    { "address_lost6", "SLAAC-5", address_lost6 },
    { "forgotten6", "", forgotten6 },
    { "cut_frames6", "", cut_frames6 },
    { "padding6", "", padding6 },
    { "both_ways6", "", both_ways6 },
    { "both_ways_whole6", "", both_ways_whole6 },
    { "both_ways_of_small6", "", both_ways_of_small6 },
    { "both_ways_of_life6", "", both_ways_of_life6 },
    { "both_ways_of_ends6", "", both_ways_of_ends6 },
    { "copied_or_referred6", "", copied_or_referred6 },
    { "mapped_addresses", "", mapped_addresses },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
