/* SPDX-License-Identifier: MIT */
/* Attackers who see nothing of what we send. A million forged SYNs per second of virtual time: honest clients
 * connect as before, and memory stays what it was. A million guesses against a connection: RST, SYN, ACK, data,
 * FIN, ICMP errors with random numbers: it neither ends nor slows down, and every byte is right. */
#include "core.h"
#include "segment.h"

/* ---- chance ---------------------------------------------------------------------------------------- */

static tenon_u32 chance;

static tenon_u32 rnd(void)
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance;
}

/* Somebody on the other side of the router. */
static struct tenon_ip forged_source(void)
{
    return tenon_ip4(0x64000000U | (rnd() & 0x3FFFFFU));
}

/* ---- the server: echoes ----------------------------------------------------------------------------- */

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++) {
        HN_EQUAL(tenon_tcp_send(conn, &spans[i]), TENON_OK);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static const struct tenon_tcp_events echo_events = { .received = echo_received };

static void serve(struct hn *hn, const struct tenon_conf *conf, unsigned backlog)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;

    seg_open(hn, conf);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, &echo_events, NULL, backlog), TENON_OK);
}

/* ---- honest clients ---------------------------------------------------------------------------------- */

enum { CLIENTS = 100, CLIENT_EVERY_MS = 2, RTT_MS = 40, QUESTION = 20 };

/* One at each port from 10000 on. It comes every CLIENT_EVERY_MS, asks, and resets when it has its answer. */
struct client {
    tenon_u32 iss, snd_nxt, rcv_nxt;
    unsigned syn_ms, answer_ms;      /* when our SYN-ACK came, and the answer; 0: not yet */
    unsigned refused;
};

struct crowd {
    struct client clients[CLIENTS];
    unsigned now_ms, answered;
};

static void client_say(struct hn *hn, const struct client *client, unsigned i, unsigned flags)
{
    static const tenon_u8 question[QUESTION] = "what time is it, pl";
    static const tenon_u8 options[] = { 2, 4, 0x05, 0xB4 };
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = tenon_ip4(0xC6336400U + i % 200);
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = 10000 + i;
    seg.dport = 80;
    seg.seq = client->snd_nxt;
    seg.ack = client->rcv_nxt;
    seg.flags = flags;
    seg.wnd = 65535;
    if (flags & SEG_SYN) {
        seg.options = options;
        seg.noptions = sizeof options;
    }
    if (flags & SEG_PSH) {
        seg.payload = question;
        seg.len = QUESTION;
    }
    seg_inject(hn, &seg);
}

/* What the clients do in this millisecond. */
static void crowd_act(struct crowd *crowd, struct hn *hn)
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        struct client *client = &crowd->clients[i];

        if (crowd->now_ms == 1 + i * CLIENT_EVERY_MS) {
            client->iss = rnd();
            client->snd_nxt = client->iss;
            client_say(hn, client, i, SEG_SYN);
            client->snd_nxt++;
        } else if (client->syn_ms != 0 && crowd->now_ms == client->syn_ms + RTT_MS) {
            client_say(hn, client, i, SEG_ACK);
            client_say(hn, client, i, SEG_ACK | SEG_PSH);
            client->snd_nxt += QUESTION;
        } else if (client->answer_ms != 0 && crowd->now_ms == client->answer_ms + RTT_MS) {
            client_say(hn, client, i, SEG_ACK);
            client_say(hn, client, i, SEG_RST);
        }
    }
}

static void crowd_hear(struct crowd *crowd, struct hn *hn)
{
    struct seg seg;

    while (seg_next(hn, &seg)) {
        struct client *client;

        if (seg.dst.w[3] >> 8 != 0xC63364 || seg.dport < 10000 || seg.dport >= 10000 + CLIENTS)
            continue;
        client = &crowd->clients[seg.dport - 10000];
        client->refused += (seg.flags & SEG_RST) != 0;
        if ((seg.flags & SEG_SYN) && seg.ack == client->snd_nxt && client->syn_ms == 0) {
            client->syn_ms = crowd->now_ms;
            client->rcv_nxt = seg.seq + 1;
        }
        if (seg.len == QUESTION && client->answer_ms == 0) {
            client->answer_ms = crowd->now_ms;
            client->rcv_nxt += seg.len;
            crowd->answered++;
        }
    }
    hn_forget(hn);
}

/* ---- the flood ------------------------------------------------------------------------------------------ */

struct flood_result {
    unsigned answered, refused;
    unsigned waited_ms;          /* from SYN to answer, all clients together */
    long early_bytes, late_bytes, late_bufs;    /* highest, in the first and in the second half */
};

static void flood_syns(struct hn *hn, unsigned n)
{
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.dst = hn_ip("10.0.0.1");
    seg.dport = 80;
    seg.flags = SEG_SYN;
    seg.wnd = 65535;
    while (n-- > 0) {
        seg.src = forged_source();
        seg.sport = 1024 + (rnd() & 0x7FFF);
        seg.seq = rnd();
        seg_inject(hn, &seg);
    }
}

/* 320 milliseconds with so many forged SYNs in each. */
static struct flood_result flood(const struct tenon_conf *conf, unsigned syns_per_ms)
{
    const unsigned length = CLIENTS * CLIENT_EVERY_MS + 3 * RTT_MS;
    static struct crowd crowd;
    struct flood_result result;
    struct hn hn;

    memset(&crowd, 0, sizeof crowd);
    memset(&result, 0, sizeof result);
    chance = 88172645U;
    serve(&hn, conf, 128);
    for (crowd.now_ms = 1; crowd.now_ms < length; crowd.now_ms++) {
        flood_syns(&hn, syns_per_ms);
        crowd_act(&crowd, &hn);
        crowd_hear(&crowd, &hn);
        if (crowd.now_ms < length / 2)
            result.early_bytes = hn.bytes > result.early_bytes ? hn.bytes : result.early_bytes;
        else
            result.late_bytes = hn.bytes > result.late_bytes ? hn.bytes : result.late_bytes;
        result.late_bufs = hn.bufs > result.late_bufs ? hn.bufs : result.late_bufs;
        hn_run_ms(&hn, 1);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        result.refused += crowd.clients[i].refused;
        result.waited_ms += crowd.clients[i].answer_ms - (1 + i * CLIENT_EVERY_MS);
    }
    result.answered = crowd.answered;
    printf("  %u SYNs per ms: %u clients of %u were served, on average in %u ms; %ld bytes of memory, %ld buffers\n",
           syns_per_ms, result.answered, (unsigned)CLIENTS, result.waited_ms / CLIENTS, result.late_bytes,
           result.late_bufs);
    hn_close(&hn);
    return result;
}

static void listening_million_syns_per_second(void)
{
    struct flood_result calm = flood(NULL, 0), storm = flood(NULL, 1000);

    HN_EQUAL(calm.answered, CLIENTS);
    HN_EQUAL(storm.answered, CLIENTS);
    HN_EQUAL(storm.refused, 0);
    HN_EQUAL(storm.waited_ms, calm.waited_ms);
    HN_CHECK(storm.late_bytes <= storm.early_bytes);
    HN_CHECK(storm.late_bytes < 2000000L);    /* 128 half-open ones, 4096 paths */
    HN_CHECK(storm.late_bufs < 200);
}

/* Without cookies the queue of 128 turns over in RTT_MS only below 3200 SYNs per second. */
static void listening_three_thousand_without_cookies(void)
{
    struct tenon_conf conf;
    struct flood_result result;

    tenon_conf_default(&conf);
    conf.tcp_syncookies = 0;
    result = flood(&conf, 2);
    HN_EQUAL(result.answered, CLIENTS);
    HN_EQUAL(result.refused, 0);
}

/* One source, whatever it does, leaves the others their half of the backlog. */
static void listening_flood_of_one_source(void)
{
    struct tenon_conf conf;
    struct seg seg, in;
    unsigned answered = 0;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.tcp_syncookies = 0;
    serve(&hn, &conf, 64);
    memset(&seg, 0, sizeof seg);
    seg.src = hn_ip("100.64.0.1");
    seg.dst = hn_ip("10.0.0.1");
    seg.dport = 80;
    seg.flags = SEG_SYN;
    for (unsigned i = 0; i < 10000; i++) {
        seg.sport = 1024 + i;
        seg_inject(&hn, &seg);
    }
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_BACKLOG_RECYCLED), 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_BACKLOG_FULL), 10000 - 32);
    hn_forget(&hn);
    for (unsigned i = 0; i < 16; i++) {
        seg.src = tenon_ip4(0x64400100U + i * 4099);
        seg_inject(&hn, &seg);
    }
    while (seg_next(&hn, &in))
        answered += in.dst.w[3] != 0x64400001U;
    HN_CHECK(answered >= 14);    /* one of 32 is where the attacker is, by the hash */
    hn_close(&hn);
}

/* ---- what half-open connections hold --------------------------------------------------------------------- */

enum { FEW_PATHS = 32, FEW_CONNS = 4 };

static void say(struct hn *hn, unsigned host, unsigned port, unsigned flags, tenon_u32 seq, tenon_u32 ack)
{
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = tenon_ip4(0x64400000U + host);
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = 2000;
    seg.dport = port;
    seg.seq = seq;
    seg.ack = ack;
    seg.flags = flags;
    seg.wnd = 65535;
    seg_inject(hn, &seg);
}

static void syn_from(struct hn *hn, unsigned host, unsigned port)
{
    say(hn, host, port, SEG_SYN, 1000, 0);
}

static void count_open(struct tenon_tcp *conn, void *arg)
{
    *(unsigned *)arg += tenon_tcp_state(conn) == TENON_TCP_ESTABLISHED;
}

/* @return the flags of what this host is answered; 0: nothing */
static unsigned answer_to(struct hn *hn, unsigned host)
{
    struct seg seg;
    unsigned flags = 0;

    while (seg_next(hn, &seg))
        if (seg.dst.w[TENON_IP4_WORD] == 0x64400000U + host)
            flags = seg.flags;
    return flags;
}

static void listen_at(struct hn *hn, unsigned port)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;

    memset(&at, 0, sizeof at);
    at.port = (tenon_u16)port;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, &echo_events, NULL, 0), TENON_OK);
}

/* More hosts than are remembered, all half-open: one who asks at another port, and one who only is to be told that
 * nobody is at his, are answered all the same. When it is over no more are remembered than may be. */
static void listening_flood_leaves_paths(void)
{
    struct tenon_conf conf;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.paths_max = FEW_PATHS;
    serve(&hn, &conf, 0);
    listen_at(&hn, 81);
    for (unsigned i = 1; i <= 4 * FEW_PATHS; i++) {
        syn_from(&hn, i, 80);
        HN_EQUAL(answer_to(&hn, i), SEG_SYN | SEG_ACK);
    }
    syn_from(&hn, 1001, 81);
    HN_EQUAL(answer_to(&hn, 1001), SEG_SYN | SEG_ACK);
    syn_from(&hn, 1002, 9);
    HN_EQUAL(answer_to(&hn, 1002), SEG_RST | SEG_ACK);
    HN_EQUAL(hn.stack->link.paths.count, 4 * FEW_PATHS + 1);
    for (unsigned i = 1; i <= 4 * FEW_PATHS; i++)
        say(&hn, i, 80, SEG_RST, 1001, 0);
    HN_EQUAL(hn.stack->link.paths.count, FEW_PATHS);
    hn_close(&hn);
}

/* Who is connected is not refused by what is remembered. */
static void listening_more_hosts_than_paths(void)
{
    enum { HOSTS = 10 * FEW_PATHS };
    struct tenon_conf conf;
    unsigned open = 0;
    struct seg seg;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.paths_max = FEW_PATHS;
    serve(&hn, &conf, 0);
    for (unsigned i = 1; i <= HOSTS; i++) {
        syn_from(&hn, i, 80);
        if (!HN_CHECK(seg_next(&hn, &seg)))
            break;
        say(&hn, i, 80, SEG_ACK, seg.ack, seg.seq + 1);
        hn_forget(&hn);
    }
    tenon_tcp_each(hn.stack, count_open, &open);
    HN_EQUAL(open, HOSTS);
    hn_close(&hn);
}

/* All connections that there may be are half-open, fewer than the backlog: as long as they can be honest ones they
 * stay; once they have not answered for a second the oldest makes room for who comes again, at whichever port. */
static void half_open_have_all_places(const struct tenon_tcp_events *events)
{
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;
    struct tenon_addr at;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.tcp_syncookies = 0;
    conf.tcp_conns_max = FEW_CONNS;
    seg_open(&hn, &conf);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(hn.stack, &listener, &at, events, NULL, 0), TENON_OK);
    listen_at(&hn, 81);
    for (unsigned i = 1; i <= FEW_CONNS; i++)
        syn_from(&hn, i, 80);
    HN_EQUAL(answer_to(&hn, FEW_CONNS), SEG_SYN | SEG_ACK);
    syn_from(&hn, 1001, 81);
    HN_EQUAL(answer_to(&hn, 1001), 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_BACKLOG_RECYCLED), 0);
    hn_run_ms(&hn, 1100);
    syn_from(&hn, 1001, 81);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_BACKLOG_RECYCLED), 1);
    hn_run_ms(&hn, 1000);
    syn_from(&hn, 1001, 81);
    HN_EQUAL(answer_to(&hn, 1001), SEG_SYN | SEG_ACK);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_BACKLOG_RECYCLED), 1);
    hn_close(&hn);
}

/* One waits for its application. */
static enum tenon_verdict hold_first(struct tenon_tcp *conn, void *app)
{
    struct tenon_tcp_info info;

    (void)app;
    tenon_tcp_status(conn, &info);
    return info.remote.ip.w[TENON_IP4_WORD] == 0x64400001U ? TENON_HOLD : TENON_ACCEPT;
}

static void listening_half_open_have_all_places(void)
{
    static const struct tenon_tcp_events holding = { .incoming = hold_first };

    half_open_have_all_places(&echo_events);
    half_open_have_all_places(&holding);
}

/* ---- guesses ------------------------------------------------------------------------------------------- */

enum { GUESSES = 1000000, GUESSES_PER_ROUND = 1000, WORD = 100 };

/* The honest end of the connection that is attacked. */
struct talker {
    struct hn hn;
    tenon_u32 snd_nxt, rcv_nxt;
    unsigned heard, wrong, resets, answers;
    int soft_errors, closed;
};

static struct talker talker;

static tenon_u8 talk_byte(tenon_u32 i)
{
    return (tenon_u8)(i * 2654435761U >> 24);
}

static void talk(unsigned flags, unsigned len)
{
    static const tenon_u8 options[] = { 2, 4, 0x05, 0xB4 };
    tenon_u8 bytes[WORD];
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = hn_ip("198.51.100.7");
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = 4000;
    seg.dport = 80;
    seg.seq = talker.snd_nxt;
    seg.ack = talker.rcv_nxt;
    seg.flags = flags;
    seg.wnd = 65535;
    for (unsigned i = 0; i < len; i++)
        bytes[i] = talk_byte(talker.snd_nxt + i);
    seg.payload = bytes;
    seg.len = len;
    seg.options = options;
    seg.noptions = flags & SEG_SYN ? sizeof options : 0;
    seg_inject(&talker.hn, &seg);
    talker.snd_nxt += len + ((flags & SEG_SYN) != 0);
}

static void listen_to(void)
{
    struct seg seg;

    while (seg_next(&talker.hn, &seg)) {
        talker.resets += (seg.flags & SEG_RST) != 0;
        talker.answers++;
        if (seg.flags & SEG_SYN)
            talker.rcv_nxt = seg.seq + 1;
        if (seg.len == 0 || seg.seq != talker.rcv_nxt)
            continue;
        for (unsigned i = 0; i < seg.len; i++)
            talker.wrong += seg.payload[i] != talk_byte(talker.snd_nxt - WORD + i);
        talker.rcv_nxt += seg.len;
        talker.heard += seg.len;
    }
    hn_forget(&talker.hn);
}

static void guess_segment(void)
{
    static const unsigned flags[] = { SEG_RST, SEG_RST | SEG_ACK, SEG_SYN, SEG_SYN | SEG_ACK, SEG_ACK,
                                      SEG_ACK | SEG_PSH, SEG_ACK | SEG_FIN, SEG_ACK | SEG_URG };
    static const tenon_u8 lie[WORD] = "lies";
    struct seg seg;

    memset(&seg, 0, sizeof seg);
    seg.src = hn_ip("198.51.100.7");
    seg.dst = hn_ip("10.0.0.1");
    seg.sport = 4000;
    seg.dport = 80;
    seg.seq = rnd();
    seg.ack = rnd();
    seg.flags = flags[rnd() % TENON_ARRAY_LEN(flags)];
    seg.wnd = rnd() & 0xFFFF;
    seg.urgent = rnd() & 0xFFFF;
    seg.payload = lie;
    seg.len = seg.flags & (SEG_PSH | SEG_URG) ? WORD : 0;
    seg_inject(&talker.hn, &seg);
}

/* An error about a segment of ours that was never sent. */
static void guess_icmp(void)
{
    static const tenon_u8 kinds[][2] = { { 3, 0 }, { 3, 1 }, { 3, 2 },  { 3, 3 },
                                         { 3, 4 }, { 4, 0 }, { 11, 0 }, { 12, 0 } };
    const struct tenon_ip me = hn_ip("10.0.0.1"), peer = hn_ip("198.51.100.7");
    const tenon_u8 *kind = kinds[rnd() % TENON_ARRAY_LEN(kinds)];
    struct hn_packet packet;
    tenon_u8 bytes[36];

    memset(&packet, 0, sizeof packet);
    memset(bytes, 0, sizeof bytes);
    bytes[0] = kind[0];
    bytes[1] = kind[1];
    hn_put16(bytes + 6, 552 + rnd() % 800);
    hn_ip_header(bytes + 8, &me, &peer, 6, 60, 20);
    hn_put16(bytes + 28, 80);
    hn_put16(bytes + 30, 4000);
    hn_put32(bytes + 32, rnd());
    hn_put16(bytes + 2, ~hn_sum(0, bytes, sizeof bytes) & 0xFFFF);
    hn_mac(packet.from, 1, 2);
    packet.src = hn_ip("192.0.2.200");
    packet.dst = me;
    packet.proto = 1;
    packet.ttl = 64;
    packet.payload = bytes;
    packet.len = sizeof bytes;
    hn_packet(&talker.hn, 1, &packet);
}

static void talk_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    (void)app;
    (void)why;
    talker.closed++;
}

static void talk_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    (void)conn;
    (void)app;
    (void)error;
    talker.soft_errors++;
}

static void talk_status(struct tenon_tcp *conn, void *arg)
{
    tenon_tcp_status(conn, arg);
}

static void talking_million_guesses(void)
{
    static const struct tenon_tcp_events events = {
        .received = echo_received, .closed = talk_closed, .soft_error = talk_soft_error };
    struct tenon_tcp_listener *listener;
    struct tenon_tcp_info info;
    struct tenon_addr at;

    memset(&talker, 0, sizeof talker);
    memset(&at, 0, sizeof at);
    at.port = 80;
    chance = 521288629U;
    seg_open(&talker.hn, NULL);
    HN_EQUAL(tenon_tcp_listen(talker.hn.stack, &listener, &at, &events, NULL, 1), TENON_OK);
    talker.snd_nxt = 1000000;
    talk(SEG_SYN, 0);
    listen_to();
    for (unsigned round = 0; round < GUESSES / GUESSES_PER_ROUND; round++) {
        for (unsigned i = 0; i < GUESSES_PER_ROUND; i++) {
            if (i % 8 == 0)
                guess_icmp();
            else
                guess_segment();
        }
        talk(SEG_ACK | SEG_PSH, WORD);
        listen_to();
        HN_EQUAL(talker.heard, (round + 1) * WORD);    /* answered at once */
        hn_run_ms(&talker.hn, 10);
    }
    HN_EQUAL(talker.wrong, 0);
    HN_EQUAL(talker.resets, 0);
    HN_EQUAL(talker.closed, 0);
    HN_EQUAL(talker.soft_errors, 0);
    memset(&info, 0, sizeof info);
    tenon_tcp_each(talker.hn.stack, talk_status, &info);
    HN_EQUAL(info.state, TENON_TCP_ESTABLISHED);
    HN_EQUAL(info.mss, 1460);
    HN_EQUAL(info.retransmits, 0);
    HN_EQUAL(hn_stat(&talker.hn, TENON_STAT_PMTU_LOWERED), 0);
    HN_CHECK(hn_stat(&talker.hn, TENON_STAT_TCP_CHALLENGE_ACK) <= 30);    /* ten in five seconds */
    HN_CHECK(talker.answers <= GUESSES / GUESSES_PER_ROUND + 200);         /* few guesses look like repetitions */
    printf("  %u guesses: %u bytes echoed in time; %u segments sent, %u of them challenge ACKs\n", (unsigned)GUESSES,
           talker.heard, talker.answers, (unsigned)hn_stat(&talker.hn, TENON_STAT_TCP_CHALLENGE_ACK));
    hn_close(&talker.hn);
}

static const struct hn_test tests[] = {
    { "listening_million_syns_per_second", "4987-1 4987-2 4987-12 RES-1 RES-2 CVE-1999-0116 VUL-F-13",
      listening_million_syns_per_second },
    { "listening_three_thousand_without_cookies", "4987-13 CVE-1999-0116", listening_three_thousand_without_cookies },
    { "listening_flood_of_one_source", "RES-1", listening_flood_of_one_source },
    { "listening_flood_leaves_paths", "RES-2", listening_flood_leaves_paths },
    { "listening_more_hosts_than_paths", "RES-2", listening_more_hosts_than_paths },
    { "listening_half_open_have_all_places", "RES-2 4987-13", listening_half_open_have_all_places },
    { "talking_million_guesses", "5961-1 5961-2 5961-3 5961-5 5961-9 5927-1 CVE-2004-0230 CVE-2004-0790 CVE-2004-0791",
      talking_million_guesses },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
