/* SPDX-License-Identifier: MIT */
/* Congestion control: what a table of functions is told and may decide, on a real connection whose peer we
 * play; and the numbers of NewReno (RFC 5681, RFC 6582, RFC 6928, RFC 3465), called directly. */
#include "harness.h"
#include "tcp/words.h"

enum { MSS = 1000, FIN = 1, SYN = 2, ACK = 16 };

/* ---- NewReno by vectors ------------------------------------------------------------------------ */

static const tenon_u32 unset = 0xFFFFFFFFU;

static struct tenon_cc_event event_of(unsigned mss, tenon_u32 acked, tenon_u32 in_flight)
{
    struct tenon_cc_event event;

    memset(&event, 0, sizeof event);
    event.mss = (tenon_u16)mss;
    event.acked = acked;
    event.in_flight = in_flight;
    return event;
}

static struct tenon_cc reno(tenon_u32 cwnd, tenon_u32 ssthresh)
{
    struct tenon_cc cc;

    memset(&cc, 0, sizeof cc);
    words_own(&cc);
    cc.ops = &tenon_cc_newreno;
    cc.cwnd = cwnd;
    cc.ssthresh = ssthresh;
    return cc;
}

static void newreno_initial_window(void)
{
    static const struct {
        unsigned mss, repeated;
        tenon_u32 cwnd;
    } rows[] = {
        { 536, 0, 5360 }, { 1460, 0, 14600 }, { 1461, 0, 14600 }, { 9000, 0, 18000 }, { 7300, 0, 14600 },
        { 7301, 0, 14602 }, { 88, 0, 880 }, { 65495, 0, 130990 }, { 536, 1, 536 }, { 1460, 1, 1460 }, { 9000, 1, 9000 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_cc_event event = event_of(rows[i].mss, 0, 0);
        struct tenon_cc cc = reno(0, 0);

        event.repeated = (tenon_u8)rows[i].repeated;
        tenon_cc_newreno.init(&cc, &event);
        HN_EQUAL(cc.cwnd, rows[i].cwnd);
        HN_EQUAL(cc.ssthresh, unset);
    }
}

static void newreno_takes_over(void)
{
    struct tenon_cc_event event = event_of(MSS, 0, 0);
    struct tenon_cc cc = reno(77000, 50000);

    cc.words[0] = 123456;    /* another's */
    tenon_cc_newreno.init(&cc, &event);
    HN_EQUAL(cc.cwnd, 77000);
    HN_EQUAL(cc.ssthresh, 50000);
    event.acked = MSS;
    tenon_cc_newreno.acked(&cc, &event);
    HN_EQUAL(cc.cwnd, 77000);    /* what the other has counted means nothing here */
}

static void newreno_slow_start(void)
{
    static const struct {
        tenon_u32 acked, limited, grows;
    } rows[] = { { 1, 0, 1 }, { 500, 0, 500 }, { MSS, 0, MSS }, { 2 * MSS, 0, 2 * MSS }, { 3 * MSS, 0, 2 * MSS },
                 { 40 * MSS, 0, 2 * MSS }, { MSS, 1, 0 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_cc_event event = event_of(MSS, rows[i].acked, 10 * MSS);
        struct tenon_cc cc = reno(10 * MSS, unset);

        event.limited = (tenon_u8)rows[i].limited;
        tenon_cc_newreno.acked(&cc, &event);
        HN_EQUAL(cc.cwnd, 10 * MSS + rows[i].grows);
        HN_EQUAL(cc.ssthresh, unset);
    }
}

/* RFC 3465: eight segments where pacing takes the burst out of it. */
static void newreno_slow_start_paced(void)
{
    struct tenon_cc_event event = event_of(MSS, 5 * MSS, 10 * MSS);
    struct tenon_cc cc = reno(10 * MSS, unset);

    event.paced = 1;
    tenon_cc_newreno.acked(&cc, &event);
    HN_EQUAL(cc.cwnd, 15 * MSS);
    event.acked = 40 * MSS;
    tenon_cc_newreno.acked(&cc, &event);
    HN_EQUAL(cc.cwnd, 23 * MSS);
}

/* RFC 3168 6.1.2: half, down to one segment; ssthresh stays at two. */
static void newreno_marked(void)
{
    static const struct {
        tenon_u32 cwnd, flight, after, ssthresh;
    } rows[] = { { 20 * MSS, 20 * MSS, 10 * MSS, 10 * MSS }, { 20 * MSS, 10 * MSS, 5 * MSS, 5 * MSS },
                 { 3 * MSS, 3 * MSS, 3 * MSS / 2, 2 * MSS }, { MSS, MSS, MSS, 2 * MSS } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_cc_event event = event_of(MSS, MSS, rows[i].flight);
        struct tenon_cc cc = reno(rows[i].cwnd, unset);

        tenon_cc_newreno.ecn(&cc, &event);
        HN_EQUAL(cc.cwnd, rows[i].after);
        HN_EQUAL(cc.ssthresh, rows[i].ssthresh);
    }
}

/* `total` bytes acknowledged in pieces. @return the window after it */
static tenon_u32 acknowledge(struct tenon_cc *cc, tenon_u32 total, tenon_u32 piece, int limited)
{
    for (; total > 0; total -= piece) {
        struct tenon_cc_event event;

        piece = piece < total ? piece : total;
        event = event_of(MSS, piece, cc->cwnd);
        event.limited = (tenon_u8)limited;
        cc->ops->acked(cc, &event);
    }
    return cc->cwnd;
}

static void newreno_avoidance_one_per_window(void)
{
    static const tenon_u32 pieces[] = { 1, 10, 333, MSS, 2 * MSS };

    for (size_t i = 0; i < TENON_ARRAY_LEN(pieces); i++) {
        struct tenon_cc cc = reno(10 * MSS, 10 * MSS);

        HN_EQUAL(acknowledge(&cc, 10 * MSS - pieces[i], pieces[i], 0), 10 * MSS);
        HN_EQUAL(acknowledge(&cc, pieces[i], pieces[i], 0), 11 * MSS);
        HN_EQUAL(acknowledge(&cc, 11 * MSS, pieces[i], 0), 12 * MSS);
    }
    for (tenon_u32 acked = MSS; acked <= 100 * MSS; acked *= 10) {
        struct tenon_cc cc = reno(10 * MSS, 10 * MSS);

        HN_CHECK(acknowledge(&cc, acked, acked, 0) <= 11 * MSS);    /* one step per ACK, however much it says */
    }
    {
        struct tenon_cc cc = reno(10 * MSS, 10 * MSS);

        HN_EQUAL(acknowledge(&cc, 100 * MSS, MSS, 1), 10 * MSS);    /* RFC 7661: what is not used does not grow */
    }
}

/* A peer that acknowledges every byte by itself gets no more than an honest one. */
static void newreno_ack_division(void)
{
    static const tenon_u32 thresholds[] = { 0xFFFFFFFFU, 20 * MSS, 5 * MSS };

    for (size_t i = 0; i < TENON_ARRAY_LEN(thresholds); i++) {
        struct tenon_cc honest = reno(10 * MSS, thresholds[i]), greedy = honest;

        words_own(&greedy);
        HN_CHECK(acknowledge(&greedy, 100 * MSS, 1, 0) <= acknowledge(&honest, 100 * MSS, MSS, 0));
    }
}

static void newreno_loss(void)
{
    static const struct {
        const char *row;
        tenon_u32 cwnd, flight, ssthresh;
    } rows[] = {
        { "half of the flight", 20 * MSS, 20 * MSS, 10 * MSS },
        { "of the flight, not of the window", 100 * MSS, 10 * MSS, 5 * MSS },
        { "odd", 20 * MSS, 9001, 4500 },
        { "at least two segments", 20 * MSS, 3 * MSS, 2 * MSS },
        { "nothing in flight", 20 * MSS, 0, 2 * MSS },
        { "what has arrived is in the flight still", 20 * MSS, 35 * MSS, 10 * MSS },
        { "very much in flight", 0x40000000U, 0x7FFFFFFEU, 0x20000000U },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_cc_event event = event_of(MSS, 0, rows[i].flight);
        struct tenon_cc cc = reno(rows[i].cwnd, unset);

        hn_row = rows[i].row;
        tenon_cc_newreno.lost(&cc, &event);
        HN_EQUAL(cc.ssthresh, rows[i].ssthresh);
        HN_EQUAL(cc.cwnd, rows[i].ssthresh);
        tenon_cc_newreno.recovered(&cc, &event);
        HN_EQUAL(cc.cwnd, rows[i].ssthresh);
        cc = reno(rows[i].cwnd, unset);
        tenon_cc_newreno.rto(&cc, &event);
        HN_EQUAL(cc.ssthresh, rows[i].ssthresh);
        HN_EQUAL(cc.cwnd, MSS);
        event.repeated = 1;
        event.in_flight = MSS;
        tenon_cc_newreno.rto(&cc, &event);
        HN_EQUAL(cc.ssthresh, rows[i].ssthresh);    /* RFC 5681 3.1: the second expiry changes nothing */
        HN_EQUAL(cc.cwnd, MSS);
    }
}

static void newreno_idle(void)
{
    static const struct {
        unsigned mss;
        tenon_u32 cwnd, after;
    } rows[] = { { 1460, 100000, 14600 }, { 1460, 14600, 14600 }, { 1460, 5000, 5000 }, { 536, 100000, 5360 },
                 { 9000, 100000, 18000 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_cc_event event = event_of(rows[i].mss, 0, 0);
        struct tenon_cc cc = reno(rows[i].cwnd, 30000);

        tenon_cc_newreno.idle(&cc, &event);
        HN_EQUAL(cc.cwnd, rows[i].after);
        HN_EQUAL(cc.ssthresh, 30000);
    }
}

/* The window stops long before it could wrap. */
static void newreno_largest_window(void)
{
    struct tenon_cc cc = reno(0x3FFFFF00U, unset);

    for (unsigned i = 0; i < 1000; i++)
        (void)acknowledge(&cc, 2 * MSS, 2 * MSS, 0);
    HN_CHECK(cc.cwnd >= 0x3FFFFF00U && cc.cwnd <= 0x40000000U);
}

static void find_by_name(void)
{
    HN_CHECK(tenon_cc_find("newreno") == &tenon_cc_newreno);
    HN_CHECK(tenon_cc_find("bbr") == &tenon_cc_bbr && tenon_cc_find("dctcp") == &tenon_cc_dctcp);
    HN_CHECK(tenon_cc_find("newren") == NULL && tenon_cc_find("newrenos") == NULL && tenon_cc_find("") == NULL);
}

/* ---- a table of our own ------------------------------------------------------------------------ */

enum call { NONE, INIT, ACKED, LOST, RECOVERED, RTO, IDLE };

static struct {
    unsigned n[IDLE + 1];
    enum call last;
    struct tenon_cc_event event;    /* the last */
    tenon_u32 cwnd, cwnd_seen;      /* the window that init() sets; the one that was there */
} told;

static void note(enum call call, struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    told.n[call]++;
    told.last = call;
    told.event = *event;
    told.cwnd_seen = cc->cwnd;
    if (call == INIT && told.cwnd != 0)
        cc->cwnd = told.cwnd;
}

static void note_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    note(INIT, cc, event);
}

static void note_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    note(ACKED, cc, event);
}

static void note_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    note(LOST, cc, event);
}

static void note_recovered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    note(RECOVERED, cc, event);
}

static void note_rto(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    note(RTO, cc, event);
}

static void note_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    note(IDLE, cc, event);
}

static const struct tenon_cc_ops noting = { "noting", note_init, note_acked, note_lost, note_recovered, note_rto,
                                            note_idle, TENON_CC_OWN_RECOVERY, 0, NULL, NULL, NULL, NULL, NULL };

/* ---- a connection ------------------------------------------------------------------------------ */

static const tenon_u8 peer_mac[6] = { 2, 0, 0, 0, 1, 1 };

struct peer {
    struct hn hn;
    unsigned netif;
    tenon_u32 seq, iss;    /* our next number; theirs */
    struct tenon_tcp *conn;
    unsigned segments;     /* data segments since the last look */
};

static void peer_opened(struct tenon_tcp *conn, void *app)
{
    ((struct peer *)app)->conn = conn;
}

static void peer_finished(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    (void)app;
}

static const struct tenon_tcp_events peer_events = { .opened = peer_opened, .finished = peer_finished };

/* ack: bytes of theirs, counted from 0 */
static void peer_says(struct peer *p, unsigned flags, tenon_u32 ack)
{
    static const tenon_u8 mss_option[4] = { 2, 4, MSS >> 8, MSS & 255 };
    const unsigned options = flags & SYN ? 4 : 0;
    tenon_u8 tcp[24] = { 0 };
    struct hn_packet packet;

    hn_put16(tcp, 4000);
    hn_put16(tcp + 2, 80);
    hn_put32(tcp + 4, p->seq);
    hn_put32(tcp + 8, flags & ACK ? p->iss + 1 + ack : 0);
    tcp[12] = (tenon_u8)((20 + options) << 2);
    tcp[13] = (tenon_u8)flags;
    hn_put16(tcp + 14, 65000);
    memcpy(tcp + 20, mss_option, options);
    memset(&packet, 0, sizeof packet);
    memcpy(packet.from, peer_mac, 6);
    packet.src = hn_ip("10.0.0.2");
    packet.dst = hn_ip("10.0.0.1");
    packet.proto = 6;
    packet.ttl = 64;
    packet.sum_at = 16;
    packet.payload = tcp;
    packet.len = 20 + options;
    p->seq += (flags & (SYN | FIN)) != 0;
    hn_packet(&p->hn, p->netif, &packet);
}

static unsigned peer_hears(struct peer *p)
{
    const struct hn_sent *sent;
    unsigned n = 0;

    while ((sent = hn_next(&p->hn)) != NULL)
        n += hn_get16(sent->bytes + 16) > 40;
    hn_forget(&p->hn);
    return n;
}

/* Established, 20 ms after the SYN-ACK. */
static void peer_open(struct peer *p, const struct tenon_cc_ops *cc, tenon_u32 cwnd)
{
    const struct tenon_ip us = hn_ip("10.0.0.1"), them = hn_ip("10.0.0.2");
    const struct tenon_addr at = { us, 80, 0 };
    struct tenon_tcp_listener *listener;
    const struct hn_sent *sent;
    struct tenon_conf conf;

    memset(p, 0, sizeof *p);
    memset(&told, 0, sizeof told);
    told.cwnd = cwnd;
    tenon_conf_default(&conf);
    conf.tcp_cc = cc;
    hn_open(&p->hn, &conf);
    p->netif = hn_netif(&p->hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(p->hn.stack, p->netif, &us, 24), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(p->hn.stack, p->netif, &them, peer_mac), TENON_OK);
    HN_EQUAL(tenon_tcp_listen(p->hn.stack, &listener, &at, &peer_events, p, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_PACING, 0), TENON_OK);
    hn_run_ms(&p->hn, 10);
    hn_forget(&p->hn);
    p->seq = 100;
    peer_says(p, SYN, 0);
    sent = hn_next(&p->hn);
    if (!HN_CHECK(sent != NULL && sent->len >= 54))
        abort();
    p->iss = hn_get32(sent->bytes + 38);
    hn_run_ms(&p->hn, 20);
    peer_says(p, ACK, 0);
    if (!HN_CHECK(p->conn != NULL))
        abort();
    hn_forget(&p->hn);
}

static void peer_writes(struct peer *p, tenon_u32 n)
{
    static const tenon_u8 bytes[64000];

    HN_EQUAL(tenon_tcp_write(p->conn, bytes, n), (tenon_i32)n);
    (void)tenon_poll(p->hn.stack, p->hn.now_us);
}

static tenon_u32 srtt(const struct peer *p)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(p->conn, &info);
    return info.srtt_us;
}

/* ---- events ------------------------------------------------------------------------------------ */

static void established_init(void)
{
    struct peer p;

    peer_open(&p, &noting, 10 * MSS);
    HN_EQUAL(told.n[INIT], 1);
    HN_EQUAL(told.event.mss, MSS);
    HN_EQUAL(told.event.acked, 0);
    HN_EQUAL(told.event.in_flight, 0);
    HN_EQUAL(told.event.repeated, 0);
    HN_EQUAL(told.event.now_us, p.hn.now_us);
    HN_EQUAL(told.event.srtt_us, 20000);
    hn_close(&p.hn);
}

static void established_acked(void)
{
    struct peer p;

    peer_open(&p, &noting, 10 * MSS);
    peer_writes(&p, 3000);
    hn_run_ms(&p.hn, 50);
    peer_says(&p, ACK, 1000);
    HN_EQUAL(told.n[ACKED], 1);
    HN_EQUAL(told.event.acked, 1000);
    HN_EQUAL(told.event.in_flight, 3000);    /* before the event */
    HN_EQUAL(told.event.rtt_us, 50000);
    HN_EQUAL(told.event.srtt_us, srtt(&p));
    HN_EQUAL(told.event.mss, MSS);
    HN_EQUAL(told.event.now_us, p.hn.now_us);
    HN_EQUAL(told.event.limited, 1);    /* 3 of 10 segments */
    hn_run_ms(&p.hn, 1);
    peer_says(&p, ACK, 3000);
    HN_EQUAL(told.n[ACKED], 2);
    HN_EQUAL(told.event.acked, 2000);
    HN_EQUAL(told.event.in_flight, 2000);
    HN_EQUAL(told.event.rtt_us, 51000);    /* every ACK of something that was sent once tells */
    peer_says(&p, ACK, 3000);
    HN_EQUAL(told.n[ACKED], 2);    /* nothing new, no event */
    peer_writes(&p, 15000);
    HN_EQUAL(peer_hears(&p), 3 + 10);    /* the window, no more */
    peer_says(&p, ACK, 4000);
    HN_EQUAL(told.event.limited, 0);
    HN_EQUAL(told.event.in_flight, 10000);
    HN_EQUAL(told.n[INIT] + told.n[ACKED], 4);
    HN_EQUAL(told.n[LOST] + told.n[RTO] + told.n[RECOVERED] + told.n[IDLE], 0);
    hn_close(&p.hn);
}

/* RFC 3042: what the first duplicates let out is not part of the flight that is halved (RFC 5681 3.2). */
static void established_lost_and_recovered(void)
{
    struct tenon_tcp_info info;
    struct peer p;

    peer_open(&p, &noting, 10 * MSS);
    peer_writes(&p, 30000);
    HN_EQUAL(peer_hears(&p), 10);
    for (unsigned i = 0; i < 2; i++)
        peer_says(&p, ACK, 0);
    HN_EQUAL(told.n[LOST], 0);
    peer_says(&p, ACK, 0);
    HN_EQUAL(told.n[LOST], 1);
    HN_EQUAL(told.event.in_flight, 10000);
    HN_EQUAL(told.event.mss, MSS);
    for (unsigned i = 0; i < 5; i++)
        peer_says(&p, ACK, 0);
    HN_EQUAL(told.n[LOST], 1);    /* once per episode */
    peer_says(&p, ACK, 2000);     /* partial */
    HN_EQUAL(told.n[ACKED], 0);
    HN_EQUAL(told.n[RECOVERED], 0);
    tenon_tcp_status(p.conn, &info);
    peer_says(&p, ACK, 30000 - info.snd_unsent);    /* all that was sent */
    HN_EQUAL(told.n[RECOVERED], 1);
    HN_EQUAL(told.n[ACKED], 0);
    HN_EQUAL(told.n[RTO], 0);
    HN_EQUAL(told.n[INIT], 1);
    hn_close(&p.hn);
}

static void established_rto(void)
{
    struct peer p;

    peer_open(&p, &noting, 10 * MSS);
    peer_writes(&p, 10000);
    hn_run_ms(&p.hn, 300);    /* RTO 200 ms */
    HN_EQUAL(told.n[RTO], 1);
    HN_EQUAL(told.event.in_flight, 10000);
    HN_EQUAL(told.event.repeated, 0);
    hn_run_ms(&p.hn, 400);
    HN_EQUAL(told.n[RTO], 2);
    HN_EQUAL(told.event.repeated, 1);
    peer_says(&p, ACK, 10000);
    HN_EQUAL(told.n[ACKED], 1);
    HN_EQUAL(told.n[RECOVERED], 0);    /* it was no fast recovery */
    peer_writes(&p, 1000);
    hn_run_ms(&p.hn, 3000);
    HN_CHECK(told.n[RTO] >= 3);
    hn_close(&p.hn);
}

/* RFC 5681 3.1: ssthresh is set when a segment times out that was not resent by the timer before. After an ACK
 * of new data it is another segment that times out. */
static void established_rto_of_another_segment(void)
{
    struct peer p;

    peer_open(&p, &noting, 10 * MSS);
    peer_writes(&p, 10000);
    hn_run_ms(&p.hn, 300);
    HN_EQUAL(told.n[RTO], 1);
    peer_says(&p, ACK, 3000);
    HN_EQUAL(told.n[ACKED], 1);
    while (told.n[RTO] == 1 && p.hn.now_us < 20000000)
        hn_run_ms(&p.hn, 50);
    HN_EQUAL(told.n[RTO], 2);
    HN_EQUAL(told.event.in_flight, 7000);
    HN_EQUAL(told.event.repeated, 0);
    hn_close(&p.hn);
}

static void established_idle(void)
{
    struct peer p;

    peer_open(&p, &noting, 10 * MSS);
    peer_writes(&p, 1000);
    peer_says(&p, ACK, 1000);
    hn_run_ms(&p.hn, 100);
    peer_writes(&p, 1000);
    HN_EQUAL(told.n[IDLE], 0);    /* less than an RTO */
    peer_says(&p, ACK, 2000);
    hn_run_ms(&p.hn, 5000);
    HN_EQUAL(told.n[IDLE], 0);    /* not before something is sent */
    peer_writes(&p, 1000);
    HN_EQUAL(told.n[IDLE], 1);
    HN_EQUAL(told.event.in_flight, 0);
    peer_writes(&p, 1000);
    HN_EQUAL(told.n[IDLE], 1);
    hn_close(&p.hn);
}

/* The table decides, nobody else: a window that it does not move stays through everything. */
static void established_window_is_the_tables(void)
{
    static const tenon_u32 windows[] = { 1, 2, 5, 40 };

    for (size_t i = 0; i < TENON_ARRAY_LEN(windows); i++) {
        struct tenon_tcp_info info;
        struct peer p;

        peer_open(&p, &noting, windows[i] * MSS);
        peer_writes(&p, 60000);
        HN_EQUAL(peer_hears(&p), windows[i]);
        peer_says(&p, ACK, MSS);
        HN_EQUAL(peer_hears(&p), 1);
        for (unsigned k = 0; k < 4; k++)
            peer_says(&p, ACK, MSS);
        hn_run_ms(&p.hn, 2000);
        HN_CHECK(told.n[RTO] > 0);
        tenon_tcp_status(p.conn, &info);
        HN_EQUAL(info.cwnd, windows[i] * MSS);
        HN_EQUAL(info.ssthresh, unset);
        HN_CHECK(info.cc == noting.name);
        hn_close(&p.hn);
    }
}

/* ---- a change of table ------------------------------------------------------------------------- */

static void any_state_set_cc(void)
{
    enum { IN_ESTABLISHED, IN_FLIGHT, IN_RECOVERY, IN_RTO,
           IN_CLOSE_WAIT, IN_FIN_WAIT_1, IN_FIN_WAIT_2, IN_LAST_ACK, N };
    static const char *const names[N] = { "ESTABLISHED", "data in flight", "fast recovery", "after a timeout",
                                          "CLOSE-WAIT", "FIN-WAIT-1", "FIN-WAIT-2", "LAST-ACK" };

    for (unsigned i = 0; i < N; i++) {
        struct tenon_tcp_info info;
        struct peer p;

        hn_row = names[i];
        peer_open(&p, &tenon_cc_newreno, 0);
        if (i == IN_FLIGHT || i == IN_RECOVERY || i == IN_RTO)
            peer_writes(&p, 10000);
        for (unsigned k = 0; k < 3 && i == IN_RECOVERY; k++)
            peer_says(&p, ACK, 0);
        if (i == IN_RTO)
            hn_run_ms(&p.hn, 300);
        if (i == IN_CLOSE_WAIT || i == IN_LAST_ACK)
            peer_says(&p, ACK | FIN, 0);
        if (i == IN_FIN_WAIT_1 || i == IN_FIN_WAIT_2 || i == IN_LAST_ACK)
            HN_EQUAL(tenon_tcp_finish(p.conn), TENON_OK);
        (void)tenon_poll(p.hn.stack, p.hn.now_us);
        if (i == IN_FIN_WAIT_2)
            peer_says(&p, ACK, 1);
        tenon_tcp_status(p.conn, &info);
        HN_EQUAL(tenon_tcp_set_cc(p.conn, &noting), TENON_OK);
        HN_EQUAL(told.n[INIT], 1);
        HN_EQUAL(told.cwnd_seen, info.cwnd);    /* the new one finds the window of the old one */
        HN_EQUAL(told.event.mss, MSS);
        HN_EQUAL(told.event.in_flight, i == IN_FLIGHT || i == IN_RECOVERY || i == IN_RTO ? 10000 :
                                       i == IN_FIN_WAIT_1 || i == IN_LAST_ACK ? 1 : 0);
        tenon_tcp_status(p.conn, &info);
        HN_CHECK(info.cc == noting.name);
        if (i == IN_FLIGHT || i == IN_RECOVERY || i == IN_RTO)
            peer_says(&p, ACK, 10000);
        HN_EQUAL(told.n[RECOVERED], i == IN_RECOVERY);
        HN_EQUAL(told.n[ACKED], i == IN_FLIGHT || i == IN_RTO);
        if (i != IN_LAST_ACK)
            HN_EQUAL(tenon_tcp_set_cc(p.conn, &tenon_cc_newreno), TENON_OK);
        hn_close(&p.hn);
    }
}

/* A table whose window is not ruled by ssthresh has begun an episode, another one ends it. */
static void any_table_in_recovery(void)
{
    static const char *const names[] = { "newreno", "cubic", "highspeed", "bbr", "dctcp" };
    enum { N = TENON_ARRAY_LEN(names) };

    for (unsigned i = 0; i < N * N; i++) {
        struct tenon_tcp_info before, after;
        struct peer p;

        hn_row = names[i / N];
        peer_open(&p, tenon_cc_find(names[i / N]), 0);
        peer_writes(&p, 10000);
        tenon_tcp_status(p.conn, &before);
        for (unsigned k = 0; k < 3; k++)
            peer_says(&p, ACK, 0);
        HN_EQUAL(tenon_tcp_set_cc(p.conn, tenon_cc_find(names[i % N])), TENON_OK);
        peer_says(&p, ACK, 10000);
        tenon_tcp_status(p.conn, &after);
        HN_CHECK(after.cwnd >= 2 * MSS && after.cwnd <= 3 * before.cwnd);
        hn_close(&p.hn);
    }
}

/* Before there is anything to control: init() comes when the connection is established, once. */
static void syn_sent_set_cc(void)
{
    const struct tenon_addr from = { hn_ip("10.0.0.1"), 80, 0 }, to = { hn_ip("10.0.0.2"), 4000, 0 };
    struct tenon_tcp *conn;
    struct peer p;

    peer_open(&p, &tenon_cc_newreno, 0);
    tenon_tcp_abort(p.conn);
    hn_run_ms(&p.hn, 1);
    hn_forget(&p.hn);
    HN_EQUAL(tenon_tcp_connect(p.hn.stack, &conn, &from, &to, &peer_events, &p), TENON_OK);
    HN_EQUAL(tenon_tcp_set_cc(conn, &noting), TENON_OK);
    HN_EQUAL(told.n[INIT], 0);
    told.cwnd = 4 * MSS;
    (void)tenon_poll(p.hn.stack, p.hn.now_us);
    p.iss = hn_get32(hn_next(&p.hn)->bytes + 38);
    p.seq = 7000;
    peer_says(&p, SYN | ACK, 0);
    HN_EQUAL(tenon_tcp_state(conn), TENON_TCP_ESTABLISHED);
    HN_EQUAL(tenon_tcp_mss(conn), MSS);
    HN_EQUAL(told.n[INIT], 1);
    HN_EQUAL(told.event.mss, MSS);
    HN_EQUAL(told.cwnd_seen, 0);    /* not set by anybody yet */
    hn_close(&p.hn);
}

static const struct hn_test tests[] = {
    { "newreno_initial_window", "IW10-1 IW10-2 RENO-1 RENO-3", newreno_initial_window },
    { "newreno_takes_over", "CC-GEN-5", newreno_takes_over },
    { "newreno_slow_start", "RENO-4 CC-GEN-3", newreno_slow_start },
    { "newreno_slow_start_paced", "RENO-4", newreno_slow_start_paced },
    { "newreno_marked", "ECN-5", newreno_marked },
    { "newreno_avoidance_one_per_window", "OV-RENO RENO-5 RENO-6 CC-GEN-3", newreno_avoidance_one_per_window },
    { "newreno_ack_division", "RENO-4 OV-RENO", newreno_ack_division },
    { "newreno_loss", "RENO-8 RENO-9 RENO-10 NR-3", newreno_loss },
    { "newreno_idle", "RENO-12 IW10-3", newreno_idle },
    { "newreno_largest_window", "CC-GEN-2", newreno_largest_window },
    { "find_by_name", "CC-GEN-5", find_by_name },
    { "established_init", "CC-GEN-5", established_init },
    { "established_acked", "CC-GEN-3 CC-GEN-5", established_acked },
    { "established_lost_and_recovered", "CC-GEN-5 RENO-10 NR-2", established_lost_and_recovered },
    { "established_rto", "CC-GEN-5 RENO-9", established_rto },
    { "established_rto_of_another_segment", "RENO-8", established_rto_of_another_segment },
    { "established_idle", "CC-GEN-5 RENO-12", established_idle },
    { "established_window_is_the_tables", "CC-GEN-1 CC-GEN-5", established_window_is_the_tables },
    { "any_state_set_cc", "CC-GEN-5", any_state_set_cc },
    { "any_table_in_recovery", "CC-GEN-5", any_table_in_recovery },
    { "syn_sent_set_cc", "CC-GEN-5", syn_sent_set_cc },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
