/* SPDX-License-Identifier: MIT */
/* Handlers that hear of the end of a connection and end something else: what was going on goes on without it. And what
 * nobody who was not asked hears of. */
#include "segment.h"
#include "tcp/tcp_internal.h"

/* ---- the server ---------------------------------------------------------------------------------------- */

static struct tenon_tcp_listener *listener;
static struct tenon_tcp *newest;
static struct tenon_tcp *held[2];
static int closes_at_once, closes_listener, ends_newest;
static unsigned closed, opened, soft_errors, urgent;

static enum tenon_verdict server_incoming(struct tenon_tcp *conn, void *app)
{
    (void)app;
    newest = conn;
    if (closes_at_once)
        tenon_tcp_close(conn);
    return TENON_ACCEPT;
}

static void server_opened(struct tenon_tcp *conn, void *app)
{
    (void)app;
    newest = conn;
    opened++;
}

static void server_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)app;
    (void)why;
    closed++;
    if (closes_listener) {
        closes_listener = 0;
        tenon_tcp_listener_close(listener);
        listener = NULL;
    }
    if (ends_newest && conn != newest) {
        ends_newest = 0;
        tenon_tcp_abort(newest);
    }
}

/* Of two connections each lets go of the other's FIN. */
static void pair_finished(struct tenon_tcp *conn, void *app)
{
    (void)app;
    held[held[0] != NULL] = conn;
    HN_EQUAL(tenon_tcp_finish(conn), TENON_OK);
}

static void pair_closed(struct tenon_tcp *conn, void *app, int why)
{
    const unsigned i = held[1] == conn;

    (void)app;
    (void)why;
    closed++;
    held[i] = NULL;
    if (held[!i] != NULL)
        HN_EQUAL(tenon_tcp_ack_fin(held[!i]), TENON_OK);
}

static void server_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    (void)conn;
    (void)app;
    (void)error;
    soft_errors++;
}

static void server_urgent(struct tenon_tcp *conn, void *app, tenon_u32 ahead)
{
    (void)conn;
    (void)app;
    (void)ahead;
    urgent++;
}

static const struct tenon_tcp_events asked = { .incoming = server_incoming,
                                               .opened = server_opened,
                                               .closed = server_closed };
static const struct tenon_tcp_events not_asked = { .opened = server_opened,
                                                   .closed = server_closed,
                                                   .urgent = server_urgent,
                                                   .soft_error = server_soft_error };

static const struct tenon_tcp_events pair = { .finished = pair_finished, .closed = pair_closed };

static void serve(struct hn *hn, const struct tenon_conf *conf, const struct tenon_tcp_events *events)
{
    struct tenon_addr at;

    closes_at_once = closes_listener = ends_newest = 0;
    closed = opened = soft_errors = urgent = 0;
    held[0] = held[1] = NULL;
    seg_open(hn, conf);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, events, NULL, 8), TENON_OK);
}

/* ---- its peers, told apart by their port ------------------------------------------------------------------ */

static void say(struct hn *hn, unsigned port, tenon_u32 seq, tenon_u32 ack, unsigned flags, unsigned point)
{
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = hn_ip("10.0.0.2");
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = port;
    seg.dport = 80;
    seg.seq = seq;
    seg.ack = ack;
    seg.flags = flags;
    seg.wnd = 65535;
    seg.urgent = point;
    seg_inject(hn, &seg);
}

/* The number of our SYN-ACK to that port, which is the last that was sent. */
static tenon_u32 answer(struct hn *hn, unsigned port)
{
    tenon_u32 iss = 0;
    struct seg seg;

    while (seg_next(hn, &seg))
        if (seg.dport == port && (seg.flags & SEG_SYN))
            iss = seg.seq;
    return iss;
}

static tenon_u32 syn(struct hn *hn, unsigned port)
{
    say(hn, port, 100, 0, SEG_SYN, 0);
    return answer(hn, port);
}

/* ---- tests ------------------------------------------------------------------------------------------------- */

/* The only connection that there may be gives way to a cookie, and who hears of that closes the listener. */
static void listener_ends_with_the_recycled(void)
{
    struct tenon_conf conf;
    struct hn hn;
    tenon_u32 iss;

    tenon_conf_default(&conf);
    conf.tcp_conns_max = 1;
    serve(&hn, &conf, &asked);
    (void)syn(&hn, 5001);
    iss = syn(&hn, 5002);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_COOKIE_SENT), 1);
    hn_run_ms(&hn, 1100);    /* the first has let our SYN-ACK be sent again */
    closes_listener = 1;
    say(&hn, 5002, 101, iss + 1, SEG_ACK, 0);
    HN_EQUAL(closed, 1);
    HN_EQUAL(opened, 0);
    HN_CHECK(listener == NULL);
    hn_close(&hn);
}

/* One that was closed before it is established becomes an orphan then. Another gives way, and who hears of that ends
 * the first. */
static void orphan_ends_with_the_evicted(void)
{
    struct tenon_conf conf;
    struct hn hn;
    tenon_u32 iss;

    tenon_conf_default(&conf);
    conf.tcp_orphans_max = 1;
    serve(&hn, &conf, &asked);
    closes_at_once = 1;
    iss = syn(&hn, 5001);
    say(&hn, 5001, 101, iss + 1, SEG_ACK, 0);
    HN_EQUAL(closed, 0);
    iss = syn(&hn, 5002);
    ends_newest = 1;
    say(&hn, 5002, 101, iss + 1, SEG_ACK, 0);
    HN_EQUAL(closed, 2);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_ORPHAN_EVICTED), 1);
    hn_close(&hn);
}

/* A connection whose peer is gone makes room for the one that there may be. Who hears of that closes the listener. */
static void listener_ends_with_the_orphan(void)
{
    struct tenon_conf conf;
    struct hn hn;
    tenon_u32 iss;

    tenon_conf_default(&conf);
    conf.tcp_conns_max = 1;
    conf.tcp_syncookies = 0;
    serve(&hn, &conf, &asked);
    iss = syn(&hn, 5001);
    say(&hn, 5001, 101, iss + 1, SEG_ACK, 0);
    HN_EQUAL(opened, 1);
    tenon_tcp_close(newest);
    hn_run_ms(&hn, 99000);
    (void)syn(&hn, 5002);
    HN_EQUAL(closed, 0);
    hn_run_ms(&hn, 10000);
    closes_listener = 1;
    (void)syn(&hn, 5002);
    HN_EQUAL(closed, 1);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_ORPHAN_EVICTED), 1);
    HN_CHECK(listener == NULL);
    hn_close(&hn);
}

/* At the end of the instance the end of one connection makes a TIME-WAIT of the other. */
static void time_wait_at_the_end(void)
{
    struct hn hn;

    serve(&hn, NULL, &pair);
    HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_HOLD_FIN, 1), TENON_OK);
    for (unsigned port = 5001; port <= 5002; port++) {
        const tenon_u32 iss = syn(&hn, port);

        say(&hn, port, 101, iss + 1, SEG_ACK, 0);
        say(&hn, port, 101, iss + 1, SEG_ACK | SEG_FIN, 0);
        say(&hn, port, 102, iss + 2, SEG_ACK, 0);
    }
    HN_CHECK(held[0] != NULL && held[1] != NULL);
    HN_EQUAL(closed, 0);
    hn_close(&hn);
    HN_EQUAL(closed, 2);
}

/* An application that does not ask for requests has not heard of the connection that a router complains of. */
static void soft_error_of_the_unknown(void)
{
    tenon_u8 bytes[8 + 28] = { 3, 1 };
    struct hn_packet packet;
    struct hn hn;

    serve(&hn, NULL, &not_asked);
    (void)syn(&hn, 5001);
    memcpy(bytes + 8, hn.sent[hn.nsent - 1].bytes + 14, 28);
    hn_put16(bytes + 2, ~hn_sum(0, bytes, sizeof bytes) & 0xFFFF);
    memset(&packet, 0, sizeof packet);
    hn_mac(packet.from, 1, 2);
    packet.src = hn_ip("10.0.0.2");
    packet.dst = hn_ip("10.0.0.1");
    packet.proto = 1;
    packet.ttl = 64;
    packet.payload = bytes;
    packet.len = sizeof bytes;
    hn_packet(&hn, 1, &packet);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ICMP_ERROR_RCVD), 1);
    HN_EQUAL(soft_errors, 0);
    hn_close(&hn);
}

/* Urgent data, and more after 3 GB without any. */
static void urgent_after_long(void)
{
    const tenon_u32 far = 0xC0000000U;
    struct hn hn;
    tenon_u32 iss;

    serve(&hn, NULL, &not_asked);
    iss = syn(&hn, 5001);
    say(&hn, 5001, 101, iss + 1, SEG_ACK, 0);
    say(&hn, 5001, 101, iss + 1, SEG_ACK | SEG_URG, 5);
    say(&hn, 5001, 101, iss + 1, SEG_ACK | SEG_URG, 4);
    HN_EQUAL(urgent, 1);
    newest->rcv_nxt += far;    /* as if all of that had come */
    newest->rcv_adv += far;
    newest->rcv_acked += far;
    newest->snd_wl1 += far;
    say(&hn, 5001, 101 + far, iss + 1, SEG_ACK | SEG_URG, 5);
    HN_EQUAL(urgent, 2);
    say(&hn, 5001, 101 + far, iss + 1, SEG_ACK | SEG_URG, 5);
    HN_EQUAL(urgent, 2);
    say(&hn, 5001, 101 + far, iss + 1, SEG_ACK | SEG_URG, 6);
    HN_EQUAL(urgent, 3);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "listener_ends_with_the_recycled", "4987-2", listener_ends_with_the_recycled },
    { "listener_ends_with_the_orphan", "RES-6", listener_ends_with_the_orphan },
    { "orphan_ends_with_the_evicted", "RES-6", orphan_ends_with_the_evicted },
    { "time_wait_at_the_end", "RES-7", time_wait_at_the_end },
    { "soft_error_of_the_unknown", "9293-ICMP-1", soft_error_of_the_unknown },
    { "urgent_after_long", "9293-URG-1", urgent_after_long },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
