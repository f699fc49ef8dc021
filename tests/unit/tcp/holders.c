/* SPDX-License-Identifier: MIT */
/* Peers that make us hold memory: closed windows (sockstress), closed windows after our close (netkill), segments
 * of one byte with holes between them, a reader of one byte a minute. What is held stays within the configured
 * limits, an honest client is served all the while, and in the end everything comes back. */
#include "segment.h"
#include "tcp/tcp_internal.h"

enum { ATTACKERS = 1000, ANSWER = 3000, PORT_FIRST = 2000 };

/* ---- the server: answers whatever is said with ANSWER bytes, and closes ----------------------------------- */

static int server_closes;
static int
    server_fills; /* it writes until no buffer is left; its host has no more than those that were fetched */

static void answer_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    static const tenon_u8 bytes[ANSWER];

    (void)app;
    for (unsigned i = 0; i < n; i++)
        tenon_tcp_consumed(conn, spans[i].len);
    (void)tenon_tcp_write(conn, bytes, sizeof bytes);
    while (server_fills && tenon_tcp_write(conn, bytes, sizeof bytes) > 0)
        ;
    if (server_closes)
        tenon_tcp_close(conn);
}

static const struct tenon_tcp_events answer_events = { .received = answer_received };

static void serve(struct hn *hn, const struct tenon_conf *conf)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;

    seg_open(hn, conf);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, &answer_events, NULL, 128), TENON_OK);
}

/* ---- peers, told apart by their port ------------------------------------------------------------------------ */

struct peer {
    tenon_u32 snd_nxt, rcv_nxt;
    unsigned wnd, heard, resets;
};

static struct peer peers[ATTACKERS + 1];    /* the last one is honest */

static void peer_say(struct hn *hn, unsigned i, unsigned flags, tenon_u32 ahead, unsigned len)
{
    static const tenon_u8 bytes[1000];
    static const tenon_u8 options[] = { 2, 4, 0x05, 0xB4, 4, 2, 1, 1 };
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = tenon_ip4(0xC6336400U + i % 250);
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = PORT_FIRST + i;
    seg.dport = 80;
    seg.seq = peers[i].snd_nxt + ahead;
    seg.ack = peers[i].rcv_nxt;
    seg.flags = flags;
    seg.wnd = peers[i].wnd;
    seg.options = options;
    seg.noptions = flags & SEG_SYN ? sizeof options : 0;
    seg.payload = bytes;
    seg.len = len;
    seg_inject(hn, &seg);
}

/* Take what was sent; what is in order and in the window is acknowledged, and the rest too, with the old number. */
static void peers_hear(struct hn *hn)
{
    struct seg seg;

    while (seg_next(hn, &seg)) {
        const unsigned i = seg.dport - PORT_FIRST;
        struct peer *peer = &peers[i];

        if (i > ATTACKERS)
            continue;
        peer->resets += (seg.flags & SEG_RST) != 0;
        if (seg.flags & SEG_SYN) {
            peer->rcv_nxt = seg.seq + 1;
            continue;
        }
        if (seg.len == 0 && !(seg.flags & SEG_FIN))
            continue;
        if (seg.seq == peer->rcv_nxt && seg.len <= peer->wnd) {
            peer->rcv_nxt += seg.len + (seg.flags & SEG_FIN);
            peer->heard += seg.len;
        }
        peer_say(hn, i, SEG_ACK, 0, 0);
    }
    hn_forget(hn);
}

static void peer_connect(struct hn *hn, unsigned i, unsigned wnd)
{
    memset(&peers[i], 0, sizeof peers[i]);
    peers[i].snd_nxt = 1000 * i;
    peers[i].wnd = 65535;
    peer_say(hn, i, SEG_SYN, 0, 0);
    peers[i].snd_nxt++;
    peers_hear(hn);
    peers[i].wnd = wnd;
    peer_say(hn, i, SEG_ACK, 0, 0);
}

static void peer_ask(struct hn *hn, unsigned i)
{
    peer_say(hn, i, SEG_ACK | SEG_PSH, 0, 10);
    peers[i].snd_nxt += 10;
    peers_hear(hn);
}

/* The honest client opens, asks, gets its answer at once, and goes. */
static void honest_is_served(struct hn *hn)
{
    const unsigned i = ATTACKERS;

    peer_connect(hn, i, 65535);
    peer_ask(hn, i);
    peers_hear(hn);
    HN_EQUAL(peers[i].heard, ANSWER);
    peer_say(hn, i, SEG_RST, 0, 0);
    hn_forget(hn);
}

/* Memory and buffers. */
static long held(const struct hn *hn)
{
    return hn->bytes + hn->bufs * (long)(HN_BUF_BYTES + sizeof(struct hn_buf));
}

static void run_seconds(struct hn *hn, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        hn_run_ms(hn, 1000);
        peers_hear(hn);
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------- */

/* RES-6: 1000 peers let us close on a window of zero, and answer every probe. */
static void closed_window_of_orphans(void)
{
    struct tenon_conf conf;
    long most = 0, idle;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.tcp_orphans_max = 50;
    conf.tcp_orphan_ms = 60000;
    conf.tcp_rto_max_us = 2000000;
    server_closes = 1;
    serve(&hn, &conf);
    idle = held(&hn);
    for (unsigned i = 0; i < ATTACKERS; i++) {
        peer_connect(&hn, i, 0);
        peer_ask(&hn, i);
        most = held(&hn) > most ? held(&hn) : most;
        if (i % 100 == 0)
            honest_is_served(&hn);
    }
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_ORPHAN_EVICTED), ATTACKERS - 50);
    HN_CHECK(most - idle < 52 * 10000L + 250 * 400L);    /* 51 connections with two buffers, 250 paths */
    HN_EQUAL(peers[0].resets, 1);
    run_seconds(&hn, 55);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_STALLED), 0);
    honest_is_served(&hn);
    run_seconds(&hn, 10);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_STALLED), 49);    /* one has given way to the honest one */
    HN_EQUAL(peers[ATTACKERS - 1].resets, 1);
    hn_close(&hn);
}

/* RES-5: the connections are still the application's; it has said how long it wants to wait. */
static void closed_window_with_patience(void)
{
    struct tenon_conf conf;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.tcp_rto_max_us = 2000000;
    conf.tcp_conns_max = ATTACKERS / 2;
    server_closes = 0;
    seg_open(&hn, &conf);
    {
        struct tenon_tcp_listener *listener;
        struct tenon_addr at;

        memset(&at, 0, sizeof at);
        at.port = 80;
        HN_EQUAL(tenon_tcp_listen(hn.stack, &listener, &at, &answer_events, NULL, 128), TENON_OK);
        HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_PERSIST_MS, 30000), TENON_OK);
    }
    for (unsigned i = 0; i < ATTACKERS; i++) {
        peer_connect(&hn, i, 0);
        peer_ask(&hn, i);
    }
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_ESTABLISHED), ATTACKERS / 2);
    HN_CHECK(hn_stat(&hn, TENON_STAT_TCP_LIMIT) >= ATTACKERS / 2);
    run_seconds(&hn, 29);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_STALLED), 0);
    run_seconds(&hn, 5);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_STALLED), ATTACKERS / 2);
    server_closes = 1;
    honest_is_served(&hn);
    hn_close(&hn);
}

/* SegmentSmack: every second byte of the window, one by one, on 20 connections. */
static void holes_between_single_bytes(void)
{
    const unsigned attackers = 20, bytes = 2000;
    /* Each costs its frame, which is an Ethernet frame of one byte of text, and its record. */
    const long pieces = 1000000L / (14 + 20 + 20 + 1 + (long)sizeof(struct tn_ooo_piece));
    struct tenon_conf conf;
    long idle, most = 0;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.tcp_ooo_bytes_max = 60000;
    conf.tcp_ooo_total_max = 1000000;
    conf.tcp_ooo_ranges_max = 32;
    server_closes = 1;
    serve(&hn, &conf);
    for (unsigned i = 0; i < attackers; i++)
        peer_connect(&hn, i, 65535);
    hn_forget(&hn);
    idle = held(&hn);
    for (unsigned i = 0; i < attackers; i++)
        for (unsigned k = 0; k < bytes; k++) {
            peer_say(&hn, i, SEG_ACK, 1 + 2 * (k * 37 % bytes), 1);
            hn_forget(&hn);
            most = held(&hn) > most ? held(&hn) : most;
        }
    HN_CHECK(hn_stat(&hn, TENON_STAT_TCP_OOO_DROP) > attackers * (bytes - 33));
    HN_CHECK(most - idle < 1000000L + (long)attackers * 33L * (HN_BUF_BYTES + 100));
    /* Others send them in one row, which is one run: the memory of the pieces is what ends it. */
    for (unsigned i = attackers; i < 2 * attackers; i++) {
        peer_connect(&hn, i, 65535);
        for (unsigned k = 0; k < bytes; k++) {
            peer_say(&hn, i, SEG_ACK, 1 + k, 1);
            hn_forget(&hn);
        }
    }
    HN_CHECK(hn.bufs >= pieces);
    HN_CHECK(hn.bufs < pieces + 10);    /* some wait for what is sent */
    HN_CHECK(hn.mems >= pieces);
    /* Runs; and of each connection itself, its block, its path, its queue, and what it has been through. */
    HN_CHECK(hn.mems < pieces + (long)attackers * (32 + 2 * 5));
    honest_is_served(&hn);
    hn_close(&hn);
}

/* Low and slow: a reader of one byte a minute, who does take it. What he costs is his send buffer. */
static void byte_a_minute(void)
{
    struct tenon_conf conf;
    long idle;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.tcp_snd_buf = 4096;
    conf.tcp_rto_max_us = 5000000;
    server_closes = 0;
    serve(&hn, &conf);
    idle = held(&hn);
    peer_connect(&hn, 0, 0);
    peer_ask(&hn, 0);
    peer_ask(&hn, 0);
    for (unsigned minute = 0; minute < 60; minute++) {
        peers[0].wnd = 1;
        peer_say(&hn, 0, SEG_ACK, 0, 0);
        run_seconds(&hn, 6);
        peers[0].wnd = 0;
        peer_say(&hn, 0, SEG_ACK, 0, 0);
        run_seconds(&hn, 54);
        HN_CHECK(held(&hn) - idle < 4096 + 6 * (HN_BUF_BYTES + 100) + 2000);
    }
    HN_CHECK(peers[0].heard >= 50 && peers[0].heard < 400);    /* one in each second in which there is a window */
    HN_EQUAL(peers[0].resets, 0);
    server_closes = 1;
    honest_is_served(&hn);
    hn_close(&hn);
}

/* However much is queued, there are buffers for headers: without them the peer would not hear that its window
 * is closed to us, nor would we hear that it has opened. */
static void full_queue_leaves_headers(void)
{
    struct hn hn;

    server_closes = 0;
    server_fills = 1;
    serve(&hn, NULL);
    peer_connect(&hn, 0, 0);
    while (hn.stack->nbufs < TN_BUF_CACHE)
        hn.stack->bufs[hn.stack->nbufs++] = hn_buf(&hn, HN_BUF_BYTES);
    hn.buf_fail = -1;
    peer_ask(&hn, 0);
    HN_CHECK(hn_stat(&hn, TENON_STAT_NO_BUFFER) > 0);
    for (unsigned i = 0; i < TN_BUF_JOINS; i++) {    /* and for fragments: what the peer says may come in these */
        struct tenon_buf *buf = tn_buf_get_to_keep(hn.stack);

        HN_CHECK(buf != NULL);
        tenon_buf_put(buf);
    }
    HN_CHECK(tn_buf_get_to_keep(hn.stack) == NULL);
    peer_say(&hn, 0, SEG_ACK | SEG_PSH, 0, 10);
    hn_run_ms(&hn, 100);
    HN_CHECK(hn_left(&hn) > 0);    /* an acknowledgement */
    peers[0].snd_nxt += 10;
    peers[0].wnd = 65535;
    peers_hear(&hn);
    peer_say(&hn, 0, SEG_ACK, 0, 0);
    run_seconds(&hn, 1);
    HN_CHECK(peers[0].heard > 0);
    hn_close(&hn);
    server_fills = 0;
}

static const struct hn_test tests[] = {
    { "closed_window_of_orphans", "RES-6 RES-2 6429-2 CVE-2009-1926 CVE-2008-4609", closed_window_of_orphans },
    { "closed_window_with_patience", "RES-5 RES-2 6429-2 CVE-2008-4609", closed_window_with_patience },
    { "holes_between_single_bytes", "RES-3 RES-2 CVE-2018-5390 CVE-2018-6922 VUL-F-12", holes_between_single_bytes },
    { "byte_a_minute", "RES-5 VUL-F-13", byte_a_minute },
    { "full_queue_leaves_headers", "RES-2", full_queue_leaves_headers },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
