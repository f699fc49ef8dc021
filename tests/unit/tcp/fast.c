/* SPDX-License-Identifier: MIT */
/* Header prediction (tcp_fast.c): what takes the short way, what must not, and that both ways lead to the same. */
#include "segment.h"

#include "tcp/tcp_internal.h"

enum { PORT = 80, PEER_PORT = 4000, ISS = 1000, TS = 500000 };

/* A connection that a peer has opened, with timestamps, and what its application has seen. */
struct side {
    struct hn hn;
    struct tenon_tcp *conn;
    tenon_u32 seq, ack, ts;      /* the peer's next segment */
    unsigned received, acked, closed;
};

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
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void side_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn;
    ((struct side *)app)->acked += bytes;
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

enum { ETH = 14, IP = ETH, TCP = ETH + 20, DATA = TCP + 32 };

struct frame {
    tenon_u8 bytes[2048];
    unsigned len;
};

static void frame_sum_tcp(struct frame *frame, const struct tenon_ip *src, const struct tenon_ip *dst)
{
    tenon_u8 *tcp = frame->bytes + TCP;
    const unsigned n = frame->len - TCP;

    hn_put16(tcp + 16, 0);
    hn_put16(tcp + 16, ~hn_sum(hn_pseudo(src, dst, 6, n), tcp, n) & 0xFFFF);
}

static void frame_sum_ip(struct frame *frame)
{
    hn_put16(frame->bytes + IP + 10, 0);
    hn_put16(frame->bytes + IP + 10, ~hn_sum(0, frame->bytes + IP, 20) & 0xFFFF);
}

/* The peer's next segment with n bytes of data, unsummed. */
static void frame_next(struct frame *frame, const struct side *side, unsigned n)
{
    const struct tenon_ip peer = hn_ip("198.51.100.7"), me = hn_ip("10.0.0.1");
    tenon_u8 *p = frame->bytes, mac[6], from[6];

    memset(frame, 0, sizeof *frame);
    hn_eth(p, hn_mac(mac, 0, 1), hn_mac(from, 1, 2), 0x0800);
    frame->len = DATA + n;
    hn_ip_header(p + IP, &peer, &me, 6, 64, 32 + n);
    hn_put16(p + TCP, PEER_PORT);
    hn_put16(p + TCP + 2, PORT);
    hn_put32(p + TCP + 4, side->seq);
    hn_put32(p + TCP + 8, side->ack);
    p[TCP + 12] = 0x80;
    p[TCP + 13] = SEG_ACK | SEG_PSH;
    hn_put16(p + TCP + 14, 30000);
    hn_put32(p + TCP + 20, 0x0101080A);
    hn_put32(p + TCP + 24, side->ts);
    for (unsigned i = 0; i < n; i++)
        p[DATA + i] = (tenon_u8)(side->seq - (ISS + 1) + i);
}

static void frame_sum(struct frame *frame)
{
    const struct tenon_ip peer = hn_ip("198.51.100.7"), me = hn_ip("10.0.0.1");

    frame_sum_tcp(frame, &peer, &me);
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

static void side_open(struct side *side)
{
    static const tenon_u8 offer[] = { 2, 4, 5, 180, 4, 2, 8, 10, 0, 7, 161, 32, 0, 0, 0, 0, 1, 3, 3, 0 };
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    struct seg seg;

    memset(side, 0, sizeof *side);
    seg_open(&side->hn, NULL);
    memset(&at, 0, sizeof at);
    at.port = PORT;
    HN_EQUAL(tenon_tcp_listen(side->hn.stack, &listener, &at, &side_events, side, 8), TENON_OK);
    memset(&seg, 0, sizeof seg);
    seg.src = hn_ip("198.51.100.7");
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = PEER_PORT;
    seg.dport = PORT;
    seg.seq = ISS;
    seg.flags = SEG_SYN;
    seg.wnd = 30000;
    seg.options = offer;
    seg.noptions = sizeof offer;
    seg_inject(&side->hn, &seg);
    hn_run_ms(&side->hn, 1);
    HN_CHECK(seg_next(&side->hn, &seg) && seg.flags == (SEG_SYN | SEG_ACK));
    side->seq = ISS + 1;
    side->ack = seg.seq + 1;
    side->ts = TS;
    HN_EQUAL(usual(side, 0), 0);    /* it completes the handshake: nothing usual */
    HN_CHECK(side->conn != NULL && side->conn->state == TENON_TCP_ESTABLISHED);
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
    unsigned at;                 /* byte of the frame */
    tenon_u8 value;
    enum { SUMMED,
           IP_SUMMED,
           RAW } sums; /* what is summed after the change */
    enum tenon_stat stat;        /* counts 1 more; TENON_STAT_COUNT: none */
    unsigned received;           /* of the 10 bytes */
};

static void what_is_odd(void)
{
    static const struct oddity rows[] = {
        { "a hole before it", TCP + 6, 5, SUMMED, TENON_STAT_TCP_OOO, 0 },
        { "an ACK of what was never sent", TCP + 8, 0x7F, SUMMED, TENON_STAT_TCP_BAD_ACK, 0 },
        { "FIN", TCP + 13, SEG_ACK | SEG_FIN, SUMMED, TENON_STAT_COUNT, 10 },
        { "URG", TCP + 13, SEG_ACK | SEG_URG, SUMMED, TENON_STAT_COUNT, 10 },
        { "ECE", TCP + 13, SEG_ACK | 64, SUMMED, TENON_STAT_COUNT, 10 },
        { "no ACK", TCP + 13, SEG_PSH, SUMMED, TENON_STAT_COUNT, 0 },
        { "SYN", TCP + 13, SEG_ACK | SEG_SYN, SUMMED, TENON_STAT_TCP_CHALLENGE_ACK, 0 },
        { "an old timestamp", TCP + 24, 0xFF, SUMMED, TENON_STAT_TCP_PAWS, 0 },
        { "another option in its place", TCP + 22, 9, SUMMED, TENON_STAT_TCP_NO_TIMESTAMP, 0 },
        { "a wrong TCP checksum", DATA, 0x55, IP_SUMMED, TENON_STAT_TCP_BAD_CSUM, 0 },
        { "a wrong IP checksum", IP + 8, 63, RAW, TENON_STAT_IP4_BAD_CSUM, 0 },
        { "congestion met", IP + 1, 3, SUMMED, TENON_STAT_COUNT, 10 },
        { "more fragments", IP + 6, 0x20, SUMMED, TENON_STAT_COUNT, 0 },
        { "another host's frame", 5, 0x77, SUMMED, TENON_STAT_ETH_NOT_OURS, 0 },
        { "another version of IP", IP, 0x55, SUMMED, TENON_STAT_IP4_BAD_HEADER, 0 },
        { "longer than its frame", IP + 2, 1, SUMMED, TENON_STAT_IP4_BAD_HEADER, 0 },
    };
    static struct side side;

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct oddity *row = &rows[i];
        struct frame frame;
        tenon_u32 before;

        hn_row = row->what;
        side_open(&side);
        HN_EQUAL(usual(&side, 20), 1);
        frame_next(&frame, &side, 10);
        frame_sum(&frame);
        frame.bytes[row->at] = row->value;
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
    }
    hn_row = "";
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
    const struct tenon_ip me = hn_ip("10.0.0.1");
    static struct side side;

    side_open(&side);
    HN_EQUAL(usual(&side, 1), 1);
    HN_EQUAL(tenon_addr_remove(side.hn.stack, 1, &me), TENON_OK);
    HN_EQUAL(usual(&side, 1), 0);
    HN_EQUAL(side.received, 1);
    HN_CHECK(hn_stat(&side.hn, TENON_STAT_IP_NOT_OURS) > 0);
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

static const struct hn_test tests[] = {
    { "what_is_expected", "", what_is_expected },
    { "what_is_odd", "", what_is_odd },
    { "window_edge", "", window_edge },
    { "address_is_gone", "", address_is_gone },
    { "cut_frames", "", cut_frames },
    { "padding", "", padding },
    { "closed_by_us", "", closed_by_us },
    { "small_buffers", "", small_buffers },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
