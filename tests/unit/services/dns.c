/* SPDX-License-Identifier: MIT */
/* The stub resolver against servers that the test plays: good answers, and those of somebody who wants to be
 * believed. */
#include "bench.h"
#include "services/dns.h"

#define SERVER1 0xC0000235U    /* 192.0.2.53 */
#define SERVER2 0xC0000236U
enum { QUERIES = 4, ENTRIES = 2 };

struct ask {
    struct sv_dgram in;
    tenon_u8 bytes[512];
    tenon_u32 at_us;
};

/* An answer that is put together. */
struct reply {
    tenon_u8 bytes[1024];
    size_t n;
    struct sv_dgram dgram;
};

static struct {
    struct tenon_dns dns;
    struct tenon_dns_query queries[QUERIES];
    struct tenon_dns_entry entries[ENTRIES];
    struct ask asks[64];
    unsigned nasks, done;
    struct tenon_dns_answer answer;    /* the last one */
    char name[300];
    void (*answers)(const struct ask *ask);
    tenon_u8 room[TENON_DNS_ROOM_MIN + 86];
} t;

static unsigned mute_port;    /* what our TCP sends from there is lost */

/* ---- a server of TCP --------------------------------------------------------------------------------------------- */

/* What a server says to a question over TCP. */
struct talk {
    const char *name;
    enum talk_way { WHOLE,
                    BYTES,
                    CLOSES,
                    RESETS,
                    MUTE,
                    NO_LISTENER } way;
    unsigned answers;              /* addresses in the answer */
    int at;                        /* -1: nothing, else the byte of the message that is `is`; its length is at -3 */
    tenon_u8 is;
    int length;                    /* that is announced; -1: what it is */
    enum tenon_dns_status status;
    enum tenon_dns_stat stat;      /* that counts it once */
};

/* The host at SERVER1: an instance of its own, at the other end of a cable of frames. */
static struct {
    struct hn hn;
    unsigned netif;
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn;
    const struct talk *talk;
    tenon_u8 in[514], out[1024];
    size_t nin, nout, sent;
    unsigned opened, open, segments, resets;
} peer;

static enum tenon_verdict peer_incoming(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    (void)app;
    HN_EQUAL(peer.sent, peer.nout);    /* nobody is in the middle of an answer */
    peer.opened++;
    peer.open++;
    peer.nin = 0;
    return TENON_ACCEPT;
}

/* The question is whole: `answers` addresses for it, bent as is wanted. */
static void peer_answer(void)
{
    tenon_u8 *msg = peer.out + 2;
    size_t n = peer.nin - 2;

    HN_EQUAL(hn_get16(peer.in), n);
    memcpy(msg, peer.in + 2, n);
    hn_put16(msg + 2, 0x8180);
    hn_put16(msg + 6, peer.talk->answers);
    for (unsigned i = 0; i < peer.talk->answers; i++, n += 16) {
        memcpy(msg + n, "\300\14\0\1\0\1\0\0\1\54\0\4\313\0\161", 15);
        msg[n + 15] = (tenon_u8)i;
    }
    if (peer.talk->at >= 0)
        msg[peer.talk->at] = peer.talk->is;
    if (peer.talk->length > (int)n && peer.talk->length < 1000)
        n = (size_t)peer.talk->length;    /* what stands behind the records is not read */
    hn_put16(peer.out, peer.talk->length >= 0 ? (unsigned)peer.talk->length : (unsigned)n);
    peer.nout = n + 2;
    peer.sent = 0;
}

static void peer_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++) {
        HN_CHECK(peer.nin + spans[i].len <= sizeof peer.in);
        memcpy(peer.in + peer.nin, tenon_span_data(&spans[i]), spans[i].len);
        peer.nin += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
    if (peer.nin < 2 || peer.nin < 2U + hn_get16(peer.in) || peer.talk->way == MUTE)
        return;
    peer_answer();
    peer.conn = conn;
    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_NODELAY, 1), TENON_OK);
}

static void peer_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)app;
    if (peer.conn == conn)
        peer.conn = NULL;
    peer.open--;
    peer.resets += why == TENON_ERESET;
}

static const struct tenon_tcp_events peer_events = { peer_incoming, NULL, peer_received, NULL,
                                                     NULL,          peer_closed, NULL, NULL };

/* The next piece of the answer. Who ends early does so in the middle. */
static void peer_speak(void)
{
    const enum talk_way way = peer.talk->way;
    const size_t end = way == CLOSES || way == RESETS ? peer.nout / 2 : peer.nout;
    const size_t n = way == BYTES ? 1 : end;

    if (peer.conn == NULL)
        return;
    if (peer.sent < end) {
        HN_EQUAL(tenon_tcp_write(peer.conn, peer.out + peer.sent, (tenon_u32)n), n);
        peer.sent += n;
    } else if (way == CLOSES) {
        (void)tenon_tcp_finish(peer.conn);
    } else if (way == RESETS) {
        tenon_tcp_abort(peer.conn);
    }
}

static tenon_u32 peer_poll(tenon_u32 now_us)
{
    const struct hn_sent *sent;
    tenon_u32 wait;

    if (peer.talk == NULL)
        return TENON_SVC_WAIT_MAX_US;
    peer.hn.now_us = now_us;
    peer_speak();
    wait = tenon_poll(peer.hn.stack, now_us);
    while ((sent = hn_next(&peer.hn)) != NULL) {
        peer.segments += sent->len > 66;
        hn_inject(&sv.hn, sv.netif, sent->bytes, sent->len);
    }
    return peer.sent < peer.nout && wait > 100 ? 100 : wait;
}

static void peer_open(const struct talk *talk)
{
    const struct tenon_ip ip = tenon_ip4(SERVER1);
    struct tenon_netif_conf conf;
    struct tenon_addr at;

    memset(&peer, 0, sizeof peer);
    peer.talk = talk;
    hn_open_seed(&peer.hn, NULL, 2);
    memset(&conf, 0, sizeof conf);
    hn_mac(conf.mac, 1, SERVER1 & 0xFF);
    conf.mtu = 1500;
    conf.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6;
    peer.netif = (unsigned)tenon_netif_add(peer.hn.stack, &conf);
    HN_EQUAL(tenon_addr_add(peer.hn.stack, peer.netif, &ip, 24), TENON_OK);
    memset(&at, 0, sizeof at);
    at.ip = ip;
    at.port = 53;
    if (talk->way != NO_LISTENER)
        HN_EQUAL(tenon_tcp_listen(peer.hn.stack, &peer.listener, &at, &peer_events, NULL, 0), TENON_OK);
}

static void peer_end(void)
{
    hn_close(&peer.hn);
    memset(&peer, 0, sizeof peer);
}

/* ---- servers ----------------------------------------------------------------------------------------------------- */

static void heard(const struct hn_sent *sent)
{
    struct ask *ask = &t.asks[t.nasks % 64];

    sv_answer_arp(sent, SERVER1);
    sv_answer_arp(sent, SERVER2);
    if (mute_port != 0 && sent->bytes[23] == 6 && hn_get16(sent->bytes + 34) == mute_port)
        return;
    if (peer.talk != NULL && (hn_get16(sent->bytes + 12) == 0x0806 || sent->bytes[23] == 6))
        hn_inject(&peer.hn, peer.netif, sent->bytes, sent->len);
    if (!sv_read(&ask->in, sent) || ask->in.dport != 53)
        return;
    HN_CHECK(ask->in.n <= sizeof ask->bytes);
    memcpy(ask->bytes, ask->in.bytes, ask->in.n);
    ask->in.bytes = ask->bytes;
    ask->at_us = sv.hn.now_us;
    HN_EQUAL(hn_get16(ask->bytes + 2), 0x0100);    /* recursion is desired, and nothing else */
    HN_EQUAL(hn_get32(ask->bytes + 4), 0x00010000);
    HN_EQUAL(hn_get32(ask->bytes + 8), 0);
    t.nasks++;
    if (t.answers != NULL)
        t.answers(ask);
}

static void begin_reply(struct reply *reply, const struct ask *ask, unsigned flags)
{
    memset(reply, 0, sizeof *reply);
    memcpy(reply->bytes, ask->bytes, ask->in.n);
    reply->n = ask->in.n;
    hn_put16(reply->bytes + 2, 0x8180 | flags);
    reply->dgram.src = ask->in.dst;
    reply->dgram.dst = ask->in.src;
    reply->dgram.sport = 53;
    reply->dgram.dport = ask->in.sport;
}

/* A record, and one more of them in the header. name: as it stands in the message, `bytes` of it. */
static void add_record(struct reply *reply, const void *name, size_t bytes, unsigned type, tenon_u32 ttl)
{
    memcpy(reply->bytes + reply->n, name, bytes);
    reply->n += bytes;
    hn_put16(reply->bytes + reply->n, type);
    hn_put16(reply->bytes + reply->n + 2, 1);
    hn_put32(reply->bytes + reply->n + 4, ttl);
    reply->n += 10;
    hn_put16(reply->bytes + 6, hn_get16(reply->bytes + 6) + 1);
}

static void add_data(struct reply *reply, const void *data, size_t n)
{
    hn_put16(reply->bytes + reply->n - 2, (unsigned)n);
    memcpy(reply->bytes + reply->n, data, n);
    reply->n += n;
}

static void add_a(struct reply *reply, const void *name, size_t bytes, tenon_u32 ip, tenon_u32 ttl)
{
    tenon_u8 data[4];

    hn_put32(data, ip);
    add_record(reply, name, bytes, 1, ttl);
    add_data(reply, data, 4);
}

static void send_reply(struct reply *reply)
{
    reply->dgram.bytes = reply->bytes;
    reply->dgram.n = reply->n;
    sv_send(&reply->dgram);
}

static void answer_good(const struct ask *ask)
{
    struct reply reply;

    begin_reply(&reply, ask, 0);
    add_a(&reply, "\300\14", 2, 0xCB007101, 300);
    send_reply(&reply);
}

/* ---- the resolver ------------------------------------------------------------------------------------------------ */

static tenon_u32 poll_dns(tenon_u32 now_us)
{
    const tenon_u32 wait = tenon_dns_poll(&t.dns, now_us), other = peer_poll(now_us);

    return wait < other ? wait : other;
}

static void done(void *app, const char *name, const struct tenon_dns_answer *answer)
{
    HN_CHECK(app == &t);
    t.done++;
    t.answer = *answer;
    strcpy(t.name, name);
}

static const struct tenon_conf *stack_conf;    /* NULL: as it is */

static void open_conf(struct tenon_dns_conf conf)
{
    const struct tenon_addr servers[] = { { tenon_ip4(SERVER1), 0, 0 }, { tenon_ip4(SERVER2), 0, 0 } };
    const struct tenon_ip us = hn_ip("192.0.2.10");

    sv_open_conf(stack_conf, TENON_NETIF_NO_DAD);
    memset(&t, 0, sizeof t);
    sv.poll = poll_dns;
    sv.heard = heard;
    HN_EQUAL(tenon_addr_add(sv.hn.stack, sv.netif, &us, 24), TENON_OK);
    conf.queries = t.queries;
    conf.nqueries = QUERIES;
    conf.entries = t.entries;
    conf.nentries = ENTRIES;
    HN_EQUAL(tenon_dns_open(&t.dns, sv.hn.stack, &conf, sv.hn.now_us), TENON_OK);
    tenon_dns_servers(&t.dns, servers, 2);
    sv_run(5000);
}

static void open(void)
{
    const struct tenon_dns_conf conf = { NULL, 0, NULL, 0, 0, 0, 0, NULL, NULL, 0 };

    open_conf(conf);
}

static void end(void)
{
    tenon_dns_close(&t.dns);
    sv_close();
}

static void ask_type(const char *name, enum tenon_dns_type type)
{
    HN_EQUAL(tenon_dns_ask(&t.dns, name, type, done, &t), TENON_OK);
}

static void ask(const char *name)
{
    ask_type(name, TENON_DNS_A);
}

/* ---- the usual way ------------------------------------------------------------------------------- */

/* RFC 1035 4 */
static void ask_answer(void)
{
    static const tenon_u8 question[] = "\3www\7example\3com\0\0\1\0\1";

    open();
    t.answers = answer_good;
    ask("WWW.Example.com.");
    HN_EQUAL(t.done, 0);
    sv_run(1000);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.nasks, 1);
    HN_EQUAL(t.asks[0].in.dst, SERVER1);
    HN_EQUAL(t.asks[0].in.n, 11 + sizeof question);
    HN_CHECK(memcmp(t.asks[0].bytes + 12, question, sizeof question - 1) == 0);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_EQUAL(t.answer.n, 1);
    HN_EQUAL(t.answer.ips[0].w[3], 0xCB007101);
    HN_EQUAL(t.answer.ttl_s, 300);
    HN_CHECK(strcmp(t.name, "www.example.com") == 0);
    end();
}

static void answer_six(const struct ask *ask)
{
    struct reply reply;
    tenon_u8 data[16];

    begin_reply(&reply, ask, 0);
    for (unsigned i = 0; i < 12; i++) {
        hn_put32(data, 0x20010DB8);
        memset(data + 4, 0, 11);
        data[15] = (tenon_u8)i;
        add_record(&reply, "\300\14", 2, 28, 60 + i);
        add_data(&reply, data, 16);
    }
    send_reply(&reply);
}

/* More addresses than are kept; their least time counts. An address of the other kind is not one. RFC 3596 */
static void ask_many(void)
{
    open();
    t.answers = answer_six;
    ask_type("six.example", TENON_DNS_AAAA);
    sv_run(1000);
    HN_EQUAL(t.answer.n, TENON_DNS_ADDRESSES_MAX);
    HN_EQUAL(t.answer.ips[7].w[3], 7);
    HN_EQUAL(t.answer.ttl_s, 60);
    ask("six.example");
    sv_run(1000);
    HN_EQUAL(t.answer.status, TENON_DNS_NO_DATA);
    HN_EQUAL(t.nasks, 2);
    end();
}

static void answer_far(const struct ask *ask)
{
    struct reply reply;

    begin_reply(&reply, ask, 0);
    add_a(&reply, "\300\14", 2, 0xCB007101, 0x80000001);
    send_reply(&reply);
}

/* RFC 2181 8: a time with the highest bit set is none; one of more than a day is a day here. */
static void ask_far(void)
{
    open();
    t.answers = answer_far;
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_EQUAL(t.answer.ttl_s, 0);
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.nasks, 2);
    end();
}

/* Identifiers and ports differ, and use their whole width (RFC 5452 9.2). */
static void ask_is_random(void)
{
    unsigned ids = 0, ports = 0, low = 0;
    char name[32];

    open();
    for (unsigned i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "n%u.example", i);
        t.answers = answer_good;
        ask(name);
        sv_run(100);
    }
    HN_EQUAL(t.nasks, 40);
    for (unsigned i = 1; i < 40; i++) {
        ids += hn_get16(t.asks[i].bytes) >= 0x8000;
        ports += t.asks[i].in.sport >= 0x8000;
        low += t.asks[i].in.sport < 0xC000;
        HN_CHECK(t.asks[i].in.sport >= 1024);
        HN_CHECK(hn_get16(t.asks[i].bytes) != hn_get16(t.asks[i - 1].bytes));
        HN_CHECK(t.asks[i].in.sport != t.asks[i - 1].in.sport);
    }
    HN_CHECK(ids > 8 && ids < 31 && ports > 8 && ports < 31 && low > 15);
    end();
}

/* ---- the cache ----------------------------------------------------------------------------------- */

/* RFC 1035 7 */
static void cached(void)
{
    open();
    t.answers = answer_good;
    ask("a.example");
    sv_run(100);
    ask("A.Example");
    sv_run(100);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.nasks, 1);
    HN_EQUAL(t.answer.ips[0].w[3], 0xCB007101);
    HN_CHECK(t.answer.ttl_s >= 298 && t.answer.ttl_s <= 300);
    sv_run_s(301);
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.nasks, 2);
    ask("b.example");
    sv_run(100);
    ask("c.example");    /* the first of two goes */
    sv_run(100);
    HN_EQUAL(t.nasks, 4);
    ask("c.example");
    ask("b.example");
    sv_run(100);
    HN_EQUAL(t.nasks, 4);
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.nasks, 5);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_CACHED], 3);
    end();
}

/* A program that sleeps for as long as it was told, and asks when something wakes it: the resolver's clock is as old as
 * its last poll. RFC 1035 3.2.1 */
static void cached_asleep(void)
{
    tenon_u32 wait = 0;

    open();
    t.answers = answer_good;
    ask("a.example");
    sv_run_s(40);
    HN_EQUAL(t.done, 1);
    for (unsigned i = 0; i < 50 && wait < 400 * 1000000U; i++) {
        const tenon_u32 core = tenon_poll(sv.hn.stack, sv.hn.now_us), dns = tenon_dns_poll(&t.dns, sv.hn.now_us);

        wait = core < dns ? core : dns;
        if (wait < 400 * 1000000U)
            sv.hn.now_us += wait;
    }
    HN_CHECK(wait >= 400 * 1000000U);
    sv.hn.now_us += 400 * 1000000U;    /* the answer was good for 300 s */
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.nasks, 2);
    HN_EQUAL(t.answer.ttl_s, 300);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_CACHED], 0);
    end();
}

/* The same is asked for when its answer has come, and the poll has not: it is in the cache by then. */
static void cached_at_once(void)
{
    open();
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.nasks, 1);
    answer_good(&t.asks[0]);
    t.answers = answer_good;
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.nasks, 1);
    end();
}

/* What a server says of a name that has nothing, and for how many seconds that is kept. */
static const struct nothing {
    const char *name;
    unsigned rcode;          /* 0: the name has no such address; 3: there is no such name */
    tenon_u32 alias_ttl;     /* of an alias that leads to it; 0: there is none */
    const char *zone;        /* whose SOA comes; NULL: none comes */
    unsigned zone_bytes;
    tenon_u32 ttl, minimum;
    int bent;                /* bytes more or less in that record */
    tenon_u32 kept;
} nothings[] = {
    { "no name, time of the record", 3, 0, "\300\16", 2, 60, 300, 0, 60 },
    { "no name, time of the zone", 3, 0, "\300\16", 2, 300, 60, 0, 60 },
    { "no data", 0, 0, "\300\16", 2, 300, 60, 0, 60 },
    { "the name's own zone", 3, 0, "\1A\7EXAMPLE", 11, 60, 60, 0, 60 },
    { "the root", 3, 0, "", 1, 60, 60, 0, 60 },
    { "an alias", 3, 30, "\300\16", 2, 60, 60, 0, 30 },
    { "an alias without an address", 0, 90, "\300\16", 2, 60, 60, 0, 60 },
    { "a week", 3, 0, "\300\16", 2, 604800, 604800, 0, 10800 },
    { "no time", 3, 0, "\300\16", 2, 0x80000000, 60, 0, 0 },
    { "no zone", 3, 0, NULL, 0, 0, 0, 0, 0 },
    { "no zone, no data", 0, 0, NULL, 0, 0, 0, 0, 0 },
    { "another zone", 3, 0, "\1b\300\16", 4, 60, 60, 0, 0 },
    { "a zone below", 3, 0, "\1b\300\14", 4, 60, 60, 0, 0 },
    { "a byte too many", 3, 0, "\300\16", 2, 60, 60, 1, 0 },
    { "a byte too few", 3, 0, "\300\16", 2, 60, 60, -1, 0 },
};

static const struct nothing *nothing;

static void answer_nothing(const struct ask *ask)
{
    static const tenon_u8 names[] = "\300\14\2me\300\14";
    struct reply reply;
    tenon_u8 data[64];

    begin_reply(&reply, ask, nothing->rcode);
    if (nothing->alias_ttl != 0) {
        add_record(&reply, "\300\14", 2, 5, nothing->alias_ttl);
        add_data(&reply, "\1c\300\16", 4);
    }
    if (nothing->zone != NULL) {
        memset(data, 0xFF, sizeof data);
        memcpy(data, names, 7);
        hn_put32(data + 23, nothing->minimum);
        add_record(&reply, nothing->zone, nothing->zone_bytes, 6, nothing->ttl);
        add_data(&reply, data, (size_t)(27 + nothing->bent));
        hn_put16(reply.bytes + 6, hn_get16(reply.bytes + 6) - 1U);    /* it stands behind the answers */
        hn_put16(reply.bytes + 8, 1);
    }
    send_reply(&reply);
}

/* RFC 2308 2, 3 and 5 */
static void nothing_cached(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(nothings); i++) {
        const enum tenon_dns_status status = nothings[i].rcode ? TENON_DNS_NO_NAME : TENON_DNS_NO_DATA;
        const int kept = nothings[i].kept > 0;

        nothing = &nothings[i];
        hn_row = nothing->name;
        open();
        t.answers = answer_nothing;
        ask("a.example");
        sv_run(100);
        HN_EQUAL(t.answer.status, status);
        HN_EQUAL(t.answer.ttl_s, nothing->kept);
        ask("a.example");
        sv_run(100);
        HN_EQUAL(t.done, 2);
        HN_EQUAL(t.answer.status, status);
        HN_EQUAL(t.answer.n, 0);
        HN_EQUAL(t.nasks, kept ? 1 : 2);
        ask_type("a.example", TENON_DNS_AAAA);    /* no name has no addresses of any kind */
        sv_run(100);
        HN_EQUAL(t.answer.status, status);
        HN_EQUAL(t.nasks, kept ? nothing->rcode ? 1 : 2 : 3);
        sv_run_s(kept ? nothing->kept - 2 : 1);
        t.answers = answer_good;
        ask("a.example");
        sv_run(100);
        HN_EQUAL(t.answer.status, kept ? status : TENON_DNS_OK);
        sv_run_s(3);
        ask("a.example");
        sv_run(100);
        HN_EQUAL(t.answer.status, TENON_DNS_OK);
        HN_EQUAL(t.answer.n, 1);
        end();
    }
    hn_row = "";
}

/* The same question is on its way once (RFC 5452 5). */
static void same_question(void)
{
    open();
    for (unsigned i = 0; i < 3; i++)
        ask("a.example");
    ask_type("a.example", TENON_DNS_AAAA);
    HN_EQUAL(tenon_dns_ask(&t.dns, "b.example", TENON_DNS_A, done, &t), TENON_ELIMIT);
    sv_run(100);
    HN_EQUAL(t.nasks, 2);
    answer_good(&t.asks[0]);
    sv_run(100);
    HN_EQUAL(t.done, 3);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_SHARED], 2);
    tenon_dns_cancel(&t.dns, &t);
    sv_run_s(60);
    HN_EQUAL(t.done, 3);
    HN_EQUAL(t.nasks, 2);
    end();
}

/* Who has asked the same hears the end, too, however it comes: there is no server any more, or the one whose question
 * was on its way has been forgotten meanwhile. */
static void same_question_ends(void)
{
    const struct tenon_addr server = { tenon_ip4(SERVER1), 0, 0 };
    int other = 0;

    open();
    ask("a.example");
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_SHARED], 1);
    tenon_dns_servers(&t.dns, NULL, 0);
    sv_run(100);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.answer.status, TENON_DNS_NO_SERVER);

    tenon_dns_servers(&t.dns, &server, 1);
    HN_EQUAL(tenon_dns_ask(&t.dns, "b.example", TENON_DNS_A, done, &other), TENON_OK);
    ask("b.example");
    sv_run(100);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_SHARED], 2);
    tenon_dns_servers(&t.dns, &server, 1);
    tenon_dns_cancel(&t.dns, &other);
    t.answers = answer_good;
    sv_run(100);
    HN_EQUAL(t.done, 3);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    end();
}

/* ---- servers that do not answer, or cannot ------------------------------------------------------- */

/* RFC 1035 4.2.1 */
static void silence(void)
{
    static const unsigned gaps[] = { 2, 2, 4, 4, 8 };

    open();
    ask("a.example");
    sv_run_s(60);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_TIMEOUT);
    HN_EQUAL(t.nasks, 6);
    for (unsigned i = 0; i < 5; i++) {
        HN_EQUAL((t.asks[i + 1].at_us - t.asks[i].at_us) / 1000, gaps[i] * 1000);
        HN_EQUAL(t.asks[i].in.dst, i % 2 ? SERVER2 : SERVER1);
        HN_CHECK(t.asks[i].in.sport != t.asks[i + 1].in.sport);
    }
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_TIMEOUTS], 6);
    end();
}

static void answer_second(const struct ask *ask)
{
    if (ask->in.dst == SERVER2)
        answer_good(ask);
}

/* Who answered last is asked first. */
static void first_server_silent(void)
{
    open();
    t.answers = answer_second;
    ask("a.example");
    sv_run_s(3);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.nasks, 2);
    ask("b.example");
    sv_run(100);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.asks[2].in.dst, SERVER2);
    end();
}

static unsigned code;

static void answer_code(const struct ask *ask)
{
    struct reply reply;

    if (ask->in.dst == SERVER2 && code != 3) {
        answer_good(ask);
        return;
    }
    begin_reply(&reply, ask, code);
    send_reply(&reply);
}

static void answer_cut(const struct ask *ask)
{
    struct reply reply;

    begin_reply(&reply, ask, 0x0200);
    add_a(&reply, "\300\14", 2, 0xCB007101, 300);
    send_reply(&reply);
}

static void answer_first_cut(const struct ask *ask)
{
    if (ask->in.dst == SERVER1)
        answer_cut(ask);
    else
        answer_good(ask);
}

/* The next server may know; but that a name is not there is an answer. RFC 1035 4.1.1, RFC 2181 9 */
static void answers_no(void)
{
    open();
    t.answers = answer_code;
    for (code = 2; code <= 5; code++) {
        char name[] = "code2.example";

        name[4] = (char)('0' + code);
        t.dns.first = 0;
        ask(name);
        sv_run(500);
        HN_EQUAL(t.answer.status, code == 3 ? TENON_DNS_NO_NAME : TENON_DNS_OK);
    }
    HN_EQUAL(t.done, 4);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_REFUSED], 3);
    t.answers = answer_cut;
    ask("cut.example");
    sv_run(500);
    HN_EQUAL(t.done, 5);
    HN_EQUAL(t.answer.status, TENON_DNS_TRUNCATED);
    HN_EQUAL(t.answer.n, 0);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_TRUNCATED], 6);
    end();
}

static void answer_failed(const struct ask *ask)
{
    struct reply reply;

    if (ask->in.dst == SERVER2)
        return;
    begin_reply(&reply, ask, 2);
    send_reply(&reply);
}

/* One cannot say, the other one is silent, and is asked last: that is not "no server answers". It is with other
 * servers, of which none says anything. */
static void one_cannot_say(void)
{
    const struct tenon_addr other = { tenon_ip4(SERVER2), 0, 0 };

    open();
    t.answers = answer_failed;
    ask("a.example");
    sv_run_s(20);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.nasks, 6);
    HN_EQUAL(t.asks[5].in.dst, SERVER2);
    HN_EQUAL(t.answer.status, TENON_DNS_FAILED);
    ask("b.example");
    sv_run(100);
    tenon_dns_servers(&t.dns, &other, 1);
    sv_run_s(20);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.answer.status, TENON_DNS_TIMEOUT);
    end();
}

/* The interface has no address of IPv6 to ask the first one from: that costs no time. Where there is nobody else the
 * address may come: it is asked again, for as long as if the question were lost. */
static void no_way(void)
{
    const struct tenon_addr servers[] = { { hn_ip("2001:db8::53"), 0, 0 },
                                          { hn_ip("2001:db8::54"), 0, 0 },
                                          { tenon_ip4(SERVER1), 0, 0 } };

    open();
    t.answers = answer_good;
    tenon_dns_servers(&t.dns, servers, 3);
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_NOT_SENT], 2);
    tenon_dns_servers(&t.dns, servers, 2);
    ask("b.example");
    sv_run_s(13);
    HN_EQUAL(t.done, 1);
    sv_run_s(2);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.answer.status, TENON_DNS_TIMEOUT);
    HN_CHECK(t.dns.stats[TENON_DNS_STAT_NOT_SENT] < 2 + 2 * 4 * 15 + 40);
    end();
}

/* To the other one there is no way: nobody waits for that, in no round, nor at the end. */
static void no_way_to_one(void)
{
    struct tenon_addr servers[] = { { tenon_ip4(SERVER1), 0, 0 }, { hn_ip("2001:db8::53"), 0, 0 } };

    for (unsigned i = 0; i < 2; i++) {
        open();
        tenon_dns_servers(&t.dns, servers, 2);
        ask("a.example");
        sv_run_s(13);
        HN_EQUAL(t.done, 0);
        HN_EQUAL(t.nasks, 3);
        HN_EQUAL(t.asks[1].at_us - t.asks[0].at_us, 2000000);
        HN_EQUAL(t.asks[2].at_us - t.asks[1].at_us, 4000000);
        sv_run_s(2);
        HN_EQUAL(t.done, 1);
        HN_EQUAL(t.answer.status, TENON_DNS_TIMEOUT);
        HN_EQUAL(t.nasks, 3);
        servers[0] = servers[1];
        servers[1].ip = tenon_ip4(SERVER1);
        end();
    }
}

/* A route comes: the question leaves soon after that, and has all its rounds. */
static void way_comes(void)
{
    const struct tenon_ip all = tenon_ip4(0), router = tenon_ip4(SERVER2);
    const struct tenon_addr servers[] = { { tenon_ip4(0xC6336401U), 0, 0 }, { tenon_ip4(0xC6336402U), 0, 0 } };
    tenon_u32 came_us;

    open();
    tenon_dns_servers(&t.dns, servers, 2);
    ask("a.example");
    sv_run(1300);
    HN_EQUAL(t.nasks, 0);
    HN_EQUAL(tenon_route_add(sv.hn.stack, sv.netif, &all, 0, &router, 0), TENON_OK);
    came_us = sv.hn.now_us;
    sv_run(300);
    HN_EQUAL(t.nasks, 1);
    HN_EQUAL(t.asks[0].in.dst, 0xC6336401U);
    sv_run_s(30);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.nasks, 6);
    HN_EQUAL(t.asks[1].at_us - t.asks[0].at_us, 2000000);
    HN_CHECK(t.asks[5].at_us - came_us < 20300000);
    end();
}

static void answer_referral(const struct ask *ask)
{
    struct reply reply;

    if (ask->in.dst == SERVER2) {
        answer_good(ask);
        return;
    }
    begin_reply(&reply, ask, 0);
    hn_put16(reply.bytes + 2, 0x8100);    /* recursion is not available */
    add_record(&reply, "\300\16", 2, 2, 300);
    add_data(&reply, "\2ns\300\16", 5);
    hn_put16(reply.bytes + 6, 0);
    hn_put16(reply.bytes + 8, 1);    /* no answer, and the name of a server that may know */
    send_reply(&reply);
}

/* A server that does not ask for us has not said that there is nothing. RFC 2308 2.2 */
static void referral(void)
{
    open();
    t.answers = answer_referral;
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_EQUAL(t.nasks, 2);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_REFUSED], 1);
    end();
}

/* The answer has come, and before it is looked at there are no servers any more. */
static void no_server_any_more(void)
{
    open();
    ask("a.example");
    sv_run(100);
    answer_good(&t.asks[0]);
    tenon_dns_servers(&t.dns, NULL, 0);
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_NO_SERVER);
    HN_EQUAL(t.answer.n, 0);
    HN_EQUAL(t.answer.ttl_s, 0);
    end();
}

static void no_server(void)
{
    open();
    ask("a.example");
    sv_run(100);
    tenon_dns_servers(&t.dns, NULL, 0);
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_NO_SERVER);
    end();
}

/* ---- over TCP ------------------------------------------------------------------------------------ */

static void open_tcp(const struct talk *talk)
{
    const struct tenon_dns_conf conf = { NULL, 0, NULL, 0, 0, 1, 0, &tenon_dns_tcp, t.room, sizeof t.room };
    const struct tenon_addr server = { tenon_ip4(SERVER1), 0, 0 };

    open_conf(conf);
    tenon_dns_servers(&t.dns, &server, 1);
    peer_open(talk);
    t.answers = answer_cut;
}

static void end_tcp(void)
{
    end();
    peer_end();
}

#define ALL (-1)
#define NOT (-1)
static const struct talk talks[] = {
    { "whole", WHOLE, 30, NOT, 0, ALL, TENON_DNS_OK, TENON_DNS_STAT_OVER_TCP },
    { "byte by byte", BYTES, 30, NOT, 0, ALL, TENON_DNS_OK, TENON_DNS_STAT_OVER_TCP },
    { "as long as the room", WHOLE, 35, NOT, 0, 598, TENON_DNS_OK, TENON_DNS_STAT_OVER_TCP },
    { "longer by one", WHOLE, 35, NOT, 0, 599, TENON_DNS_TOO_LONG, TENON_DNS_STAT_TOO_LONG },
    { "65535 bytes", WHOLE, 30, NOT, 0, 65535, TENON_DNS_TOO_LONG, TENON_DNS_STAT_TOO_LONG },
    { "0 bytes", WHOLE, 30, NOT, 0, 0, TENON_DNS_FAILED, TENON_DNS_STAT_BAD_LENGTH },
    { "11 bytes", WHOLE, 30, NOT, 0, 11, TENON_DNS_FAILED, TENON_DNS_STAT_BAD_LENGTH },
    { "cut in a record", WHOLE, 30, NOT, 0, 505, TENON_DNS_FAILED, TENON_DNS_STAT_BAD_RECORD },
    { "a question", WHOLE, 30, 2, 1, ALL, TENON_DNS_FAILED, TENON_DNS_STAT_OTHER_ID },
    { "another question", WHOLE, 30, 13, 'b', ALL, TENON_DNS_FAILED, TENON_DNS_STAT_OTHER_QUESTION },
    { "not implemented", WHOLE, 0, 3, 0x84, ALL, TENON_DNS_FAILED, TENON_DNS_STAT_REFUSED },
    { "no such name", WHOLE, 0, 3, 0x83, ALL, TENON_DNS_NO_NAME, TENON_DNS_STAT_ANSWERED },
    { "refused", NO_LISTENER, 0, NOT, 0, ALL, TENON_DNS_NO_TCP, TENON_DNS_STAT_TCP_CLOSED },
    { "closed in the middle", CLOSES, 30, NOT, 0, ALL, TENON_DNS_NO_TCP, TENON_DNS_STAT_TCP_CLOSED },
    { "reset in the middle", RESETS, 30, NOT, 0, ALL, TENON_DNS_NO_TCP, TENON_DNS_STAT_TCP_CLOSED },
    { "silent", MUTE, 0, NOT, 0, ALL, TENON_DNS_TIMEOUT, TENON_DNS_STAT_TIMEOUTS },
};

/* What a server may do to somebody who asks again over TCP. RFC 7766 5 and 8, RFC 1035 4.2.2 */
static void over_tcp(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(talks); i++) {
        hn_row = talks[i].name;
        open_tcp(&talks[i]);
        ask("a.example");    /* a question of 27 bytes */
        sv_run(2100);
        HN_EQUAL(t.done, 1);
        HN_EQUAL(t.nasks, 1);
        HN_EQUAL(t.answer.status, talks[i].status);
        HN_EQUAL(t.answer.n, talks[i].status == TENON_DNS_OK ? TENON_DNS_ADDRESSES_MAX : 0);
        if (talks[i].status == TENON_DNS_OK)
            HN_EQUAL(t.answer.ips[7].w[3], 0xCB007107);
        HN_EQUAL(t.dns.stats[TENON_DNS_STAT_OVER_TCP], 1);
        HN_EQUAL(t.dns.stats[TENON_DNS_STAT_TRUNCATED], 1);
        HN_EQUAL(t.dns.stats[talks[i].stat], 1);
        HN_EQUAL(peer.opened, talks[i].way == NO_LISTENER ? 0 : 1);
        HN_CHECK(talks[i].way != BYTES || peer.segments > 500);
        sv_run(1000);
        HN_EQUAL(peer.open, 0);    /* and nothing of it is left at the server */
        end_tcp();
    }
    hn_row = "";
}

/* A cut answer over TCP too: there is no third way. */
static void cut_twice(void)
{
    static const struct talk cut = { "", WHOLE, 3, 2, 0x83, ALL, TENON_DNS_OK, TENON_DNS_STAT_SENT };

    open_tcp(&cut);
    ask("a.example");
    sv_run(1000);
    HN_EQUAL(t.answer.status, TENON_DNS_TRUNCATED);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_TRUNCATED], 2);
    HN_EQUAL(peer.opened, 1);
    end_tcp();
}

/* There is room for one: the others wait for it, also when it is forgotten, or the servers change. */
static void tcp_one_by_one(void)
{
    open_tcp(&talks[0]);
    ask("a.example");
    ask("b.example");
    ask("c.example");
    ask("b.example");
    sv_run(1000);
    HN_EQUAL(t.done, 4);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_OVER_TCP], 3);
    HN_EQUAL(peer.opened, 3);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_CHECK(strcmp(t.name, "b.example") != 0 || t.answer.n == TENON_DNS_ADDRESSES_MAX);
    end_tcp();
}

static void tcp_forgotten(void)
{
    const struct tenon_addr server = { tenon_ip4(SERVER1), 0, 0 };
    struct tenon_dns_answer *other = &t.answer;

    open_tcp(&talks[TENON_ARRAY_LEN(talks) - 1]);
    HN_EQUAL(tenon_dns_ask(&t.dns, "a.example", TENON_DNS_A, done, other), TENON_OK);
    sv_run(100);
    ask("b.example");
    sv_run(100);
    HN_EQUAL(peer.opened, 1);
    tenon_dns_cancel(&t.dns, other);
    sv_run(100);
    HN_EQUAL(peer.resets, 1);    /* at once: nobody reads it */
    HN_EQUAL(peer.opened, 2);
    peer.talk = &talks[0];
    tenon_dns_servers(&t.dns, &server, 1);
    sv_run(100);
    HN_EQUAL(peer.opened, 3);
    HN_EQUAL(peer.resets, 2);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    end_tcp();
}

/* ---- who forgets his questions while the core ends his connection to make room for ours ---- */

static unsigned owners_ends;

static void owner_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    (void)app;
    (void)why;
    owners_ends++;
    tenon_dns_cancel(&t.dns, &t);
}

static const struct tenon_tcp_events owner_events = { NULL, NULL, NULL, NULL, NULL, owner_closed, NULL, NULL };

/* He has closed a connection whose peer is silent: an orphan, that gives way where connections or orphans are few. */
static void forgets(unsigned conns, unsigned orphans, tenon_u32 wait_s)
{
    const struct tenon_addr to = { tenon_ip4(SERVER1), 53, 0 };
    struct tenon_tcp_info info;
    struct tenon_conf conf;
    struct tenon_tcp *conn;

    tenon_conf_default(&conf);
    conf.tcp_conns_max = conns;
    conf.tcp_orphans_max = orphans;
    stack_conf = &conf;
    open_tcp(&talks[0]);
    stack_conf = NULL;
    owners_ends = 0;
    HN_EQUAL(tenon_tcp_connect(sv.hn.stack, &conn, NULL, &to, &owner_events, NULL), TENON_OK);
    sv_run(100);
    tenon_tcp_status(conn, &info);
    mute_port = info.local.port;
    HN_EQUAL(tenon_tcp_write(conn, "hello", 5), 5);
    tenon_tcp_close(conn);
    sv_run_s(wait_s);
    HN_EQUAL(owners_ends, 0);
    ask("a.example");
    sv_run(1000);
    HN_EQUAL(owners_ends, 1);
    HN_EQUAL(t.done, 0);    /* as tenon_dns_cancel() says */
    mute_port = 0;
    ask("b.example");
    sv_run(1000);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    end_tcp();
}

static void tcp_forgotten_at_its_begin(void)
{
    forgets(1, 8, 140);
}

static void tcp_forgotten_at_its_end(void)
{
    forgets(8, 1, 1);
}

/* The second server has the answer that the first one cannot give over TCP. */
static void tcp_next_server(void)
{
    const struct tenon_addr servers[] = { { tenon_ip4(SERVER1), 0, 0 }, { tenon_ip4(SERVER2), 0, 0 } };

    open_tcp(&talks[12]);
    tenon_dns_servers(&t.dns, servers, 2);
    t.answers = answer_first_cut;
    ask("a.example");
    sv_run(1000);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_EQUAL(t.asks[1].in.dst, SERVER2);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_TCP_CLOSED], 1);
    end_tcp();
}

static void answer_cut_last(const struct ask *ask)
{
    answer_cut(ask);
    sv.hn.mem_fail = -1;
}

/* No connection can be made: that is tried again, and comes to its end. Others wait for their turn meanwhile. */
static void tcp_no_memory(void)
{
    for (unsigned i = 0; i < 2; i++) {
        open_tcp(&talks[0]);
        t.answers = answer_cut_last;
        ask("a.example");
        sv_run(1500);
        HN_EQUAL(t.done, 0);
        HN_EQUAL(t.nasks, 1);
        HN_CHECK(t.dns.stats[TENON_DNS_STAT_NOT_SENT] >= 6 && t.dns.stats[TENON_DNS_STAT_NOT_SENT] <= 11);
        if (i == 0)
            sv.hn.mem_fail = 0;
        sv_run(i == 0 ? 500 : 1000);
        HN_EQUAL(t.done, 1);
        HN_EQUAL(t.answer.status, i == 0 ? TENON_DNS_OK : TENON_DNS_TIMEOUT);
        HN_EQUAL(t.nasks, 1);
        end_tcp();
    }
}

static void tcp_room(void)
{
    struct tenon_dns_conf conf = { t.queries, QUERIES, NULL, 0, 0, 0, 0, &tenon_dns_tcp, NULL, 600 };

    sv_open(TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_dns_open(&t.dns, sv.hn.stack, &conf, sv.hn.now_us), TENON_EINVAL);
    conf.room = t.room;
    conf.room_bytes = TENON_DNS_ROOM_MIN - 1;
    HN_EQUAL(tenon_dns_open(&t.dns, sv.hn.stack, &conf, sv.hn.now_us), TENON_EINVAL);
    conf.room_bytes++;
    HN_EQUAL(tenon_dns_open(&t.dns, sv.hn.stack, &conf, sv.hn.now_us), TENON_OK);
    end();
}

/* ---- aliases ------------------------------------------------------------------------------------- */

/* a.example (at 12) is b.example is c.example; the records of the chain come in the wrong order. */
static void answer_chain(const struct ask *ask)
{
    struct reply reply;
    size_t b, c;

    begin_reply(&reply, ask, 0);
    add_record(&reply, "\1b\300\16", 4, 5, 50);
    b = reply.n - 14;
    add_data(&reply, "\1c\300\16", 4);
    c = reply.n - 4;
    add_a(&reply, "\1x\300\16", 4, 0x01010101, 1);    /* somebody else's */
    add_a(&reply, "\1C\300\16", 4, 0xCB007102, 70);
    add_record(&reply, "\300\14", 2, 5, 40);
    reply.bytes[reply.n] = (tenon_u8)(0xC0 | b >> 8);
    reply.bytes[reply.n + 1] = (tenon_u8)b;
    hn_put16(reply.bytes + reply.n - 2, 2);
    reply.n += 2;
    (void)c;
    send_reply(&reply);
}

static void answer_round(const struct ask *ask)
{
    struct reply reply;

    begin_reply(&reply, ask, 0);
    add_record(&reply, "\300\14", 2, 5, 50);
    add_data(&reply, "\1b\300\16", 4);
    add_record(&reply, "\1b\300\16", 4, 5, 50);
    add_data(&reply, "\300\14", 2);
    send_reply(&reply);
}

/* RFC 1034 3.6.2 */
static void aliases(void)
{
    open();
    t.answers = answer_chain;
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    HN_EQUAL(t.answer.n, 1);
    HN_EQUAL(t.answer.ips[0].w[3], 0xCB007102);
    HN_EQUAL(t.answer.ttl_s, 40);
    t.answers = answer_round;
    ask("d.example");
    sv_run(100);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.answer.status, TENON_DNS_NO_DATA);
    end();
}

/* ---- answers that are not good ------------------------------------------------------------------- */

/* What is written over a good answer to "a.example" (header 12, name 11, 4; record: pointer 27, type 29,
 * class 31, TTL 33, length 37, address 39, end 43), and what it is counted as. */
static const struct bad {
    const char *name;
    unsigned at, n;
    const char *bytes;
    unsigned len;    /* of the whole; 0: as it is */
    enum tenon_dns_stat stat;
} bads[] = {
    { "another id", 0, 0, NULL, 0, TENON_DNS_STAT_OTHER_ID },
    { "a question", 2, 1, "\1", 0, TENON_DNS_STAT_OTHER_ID },
    { "another opcode", 2, 1, "\211", 0, TENON_DNS_STAT_OTHER_ID },
    { "a piece of a header", 0, 0, NULL, 11, TENON_DNS_STAT_BAD_LENGTH },
    { "too long", 6, 2, "\0\0", 513, TENON_DNS_STAT_BAD_LENGTH },
    { "no question", 5, 1, "\0", 0, TENON_DNS_STAT_OTHER_QUESTION },
    { "two questions", 5, 1, "\2", 0, TENON_DNS_STAT_OTHER_QUESTION },
    { "another name", 13, 1, "b", 0, TENON_DNS_STAT_OTHER_QUESTION },
    { "capitals", 13, 1, "A", 0, TENON_DNS_STAT_OTHER_QUESTION },
    { "another type", 24, 1, "\34", 0, TENON_DNS_STAT_OTHER_QUESTION },
    { "another class", 26, 1, "\3", 0, TENON_DNS_STAT_OTHER_QUESTION },
    { "cut in the question", 0, 0, NULL, 26, TENON_DNS_STAT_OTHER_QUESTION },
    { "nothing behind it", 0, 0, NULL, 27, TENON_DNS_STAT_BAD_NAME },
    { "pointer to itself", 27, 2, "\300\33", 0, TENON_DNS_STAT_BAD_NAME },
    { "pointer ahead", 27, 2, "\300\40", 0, TENON_DNS_STAT_BAD_NAME },
    { "pointer past the end", 27, 2, "\377\377", 0, TENON_DNS_STAT_BAD_NAME },
    { "half a pointer", 0, 0, NULL, 28, TENON_DNS_STAT_BAD_NAME },
    { "label of 64", 27, 1, "\100", 0, TENON_DNS_STAT_BAD_NAME },
    { "label past the end", 27, 1, "\77", 0, TENON_DNS_STAT_BAD_NAME },
    { "cut in the record", 0, 0, NULL, 38, TENON_DNS_STAT_BAD_RECORD },
    { "cut in the address", 0, 0, NULL, 42, TENON_DNS_STAT_BAD_RECORD },
    { "address of 3 bytes", 38, 1, "\3", 0, TENON_DNS_STAT_BAD_RECORD },
    { "two records promised", 7, 1, "\2", 0, TENON_DNS_STAT_BAD_NAME },
    { "65535 records promised", 6, 2, "\377\377", 0, TENON_DNS_STAT_BAD_NAME },
    { "an alias of 4 bytes", 29, 2, "\0\5", 0, TENON_DNS_STAT_BAD_NAME },
};

static const struct bad *bad;

static void answer_bad(const struct ask *ask)
{
    struct reply reply;

    begin_reply(&reply, ask, 0);
    add_a(&reply, "\300\14", 2, 0xCB007101, 300);
    if (bad->bytes != NULL)
        memcpy(reply.bytes + bad->at, bad->bytes, bad->n);
    else if (bad->len == 0)
        reply.bytes[bad->at] ^= 1;
    if (bad->len != 0)
        reply.n = bad->len;
    send_reply(&reply);
    if (strcmp(bad->name, "too long") == 0)
        return;
    reply.dgram.sport = 54;    /* and from elsewhere: the core knows that socket hears its server only */
    send_reply(&reply);
    reply.dgram.sport = 53;
    reply.dgram.src = SERVER2 + 1;
    send_reply(&reply);
}

/* Each is as if nothing had come: the right answer is taken afterwards. RFC 5452 9.1 */
static void bad_answers(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(bads); i++) {
        bad = &bads[i];
        hn_row = bad->name;
        open();
        t.answers = answer_bad;
        ask("a.example");
        sv_run(100);
        HN_EQUAL(t.dns.stats[bad->stat], 1);
        HN_EQUAL(t.done, 0);
        answer_good(&t.asks[0]);
        sv_run(100);
        HN_EQUAL(t.done, 1);
        HN_EQUAL(t.answer.status, TENON_DNS_OK);
        HN_EQUAL(t.answer.ips[0].w[3], 0xCB007101);
        end();
    }
    hn_row = "";
}

/* A pointer in a name of many labels, so that together they are too long. */
static void answer_long(const struct ask *ask)
{
    struct reply reply;
    tenon_u8 name[256];
    size_t at = 0;

    begin_reply(&reply, ask, 0);
    while (at < 240) {
        name[at] = 59;
        memset(name + at + 1, 'a', 59);
        at += 60;
    }
    name[at++] = 0xC0;
    name[at++] = 12;
    add_a(&reply, name, at, 0xCB007101, 300);
    send_reply(&reply);
}

/* RFC 1035 2.3.4 */
static unsigned pointers;

/* The name of the record is a pointer to a pointer to a pointer ... to the name that was asked for. */
static void answer_pointers(const struct ask *ask)
{
    tenon_u8 chain[2 * 200], last[2];
    struct reply reply;
    size_t at;

    begin_reply(&reply, ask, 0);
    at = reply.n + 1 + 10;
    hn_put16(chain, 0xC00C);
    for (unsigned i = 1; i < pointers; i++)
        hn_put16(chain + (size_t)2 * i, 0xC000 | (unsigned)(at + (size_t)2 * (i - 1)));
    add_record(&reply, "", 1, 16, 300);
    add_data(&reply, chain, (size_t)2 * pointers);
    hn_put16(last, 0xC000 | (unsigned)(at + (size_t)2 * (pointers - 1)));
    add_a(&reply, last, 2, 0xCB007101, 300);
    send_reply(&reply);
}

/* They lead back, and to an end: but many records with such names are work for nothing. */
static void pointers_to_pointers(void)
{
    open();
    t.answers = answer_pointers;
    pointers = 120;
    ask("a.example");
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    pointers = 130;
    ask("b.example");
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_BAD_NAME], 1);
    end();
}

static void long_name(void)
{
    open();
    t.answers = answer_long;
    ask("a.example.with.more");
    sv_run(100);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_BAD_NAME], 1);
    HN_EQUAL(t.done, 0);
    end();
}

/* An answer to the first message, when the second is out already. RFC 5452 4.5 */
static void late_answer(void)
{
    open();
    ask("a.example");
    sv_run(2100);
    HN_EQUAL(t.nasks, 2);
    answer_good(&t.asks[0]);
    sv_run(100);
    HN_EQUAL(t.done, 0);
    HN_CHECK(hn_stat(&sv.hn, TENON_STAT_UDP_NO_PORT) >= 1);
    end();
}

/* Capitals by chance, which an answer must repeat. */
static void mixed_case(void)
{
    struct tenon_dns_conf conf = { NULL, 0, NULL, 0, 0, 0, 1, NULL, NULL, 0 };
    unsigned capitals = 0;

    open_conf(conf);
    ask("abcdefghijklmnopqrstuvwxyz.example");
    sv_run(100);
    for (unsigned i = 0; i < 26; i++)
        capitals += t.asks[0].bytes[13 + i] == 'A' + i;
    HN_CHECK(capitals > 4 && capitals < 22);
    for (unsigned i = 0; i < 26; i++)
        t.asks[0].bytes[13 + i] ^= 0x20;
    answer_good(&t.asks[0]);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_OTHER_QUESTION], 1);
    for (unsigned i = 0; i < 26; i++)
        t.asks[0].bytes[13 + i] ^= 0x20;
    answer_good(&t.asks[0]);
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_CHECK(strcmp(t.name, "abcdefghijklmnopqrstuvwxyz.example") == 0);
    end();
}

/* ---- the caller ---------------------------------------------------------------------------------- */

/* RFC 1123 2.1 */
static void names(void)
{
    static const char *const wrong[] = {
        "", ".", "..", "a..b", ".a", "-a", "a-", "a.-b", "a b", "a/b", "a\200", "caf\303\251", "1.2.3.4 ",
        "a123456789b123456789c123456789d123456789e123456789f123456789abcd.x",
    };
    char longest[260];

    open();
    t.answers = answer_good;
    for (unsigned i = 0; i < TENON_ARRAY_LEN(wrong); i++) {
        hn_row = wrong[i];
        HN_EQUAL(tenon_dns_ask(&t.dns, wrong[i], TENON_DNS_A, done, &t), TENON_EINVAL);
    }
    hn_row = "";
    for (unsigned i = 0; i < 254; i++)
        longest[i] = i % 2 ? '.' : 'a';
    longest[254] = 0;    /* 253 and a dot */
    ask(longest);
    sv_run(100);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.asks[0].in.n, 12 + 255 + 4);
    longest[253] = 'b';
    HN_EQUAL(tenon_dns_ask(&t.dns, longest, TENON_DNS_A, done, &t), TENON_EINVAL);
    ask("_sip._udp.a-b.9");
    sv_run(100);
    HN_EQUAL(t.done, 2);
    ask("192.0.2.77");
    sv_run(100);
    HN_EQUAL(t.answer.ips[0].w[3], 0xC000024D);
    ask("fe80::1");
    sv_run(100);
    HN_EQUAL(t.answer.status, TENON_DNS_NO_DATA);
    HN_EQUAL(t.nasks, 2);
    HN_EQUAL(tenon_dns_ask(&t.dns, "a", (enum tenon_dns_type)5, done, &t), TENON_EINVAL);
    HN_CHECK(strcmp(tenon_dns_status_text(TENON_DNS_NO_NAME), "no such name") == 0);
    HN_CHECK(tenon_dns_stat_name(TENON_DNS_STAT_COUNT) == NULL);
    end();
}

/* What cannot leave for want of memory leaves soon after there is some, to the same server; it is not tried
 * all the time, and no round is used up. */
static void no_memory(void)
{
    static const unsigned lacks_ms[] = { 5, 35, 500, 1900, 3700 };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(lacks_ms); i++) {
        const unsigned ms = lacks_ms[i];
        tenon_u32 began_us;

        open();
        began_us = sv.hn.now_us;
        sv.hn.mem_fail = -1;
        ask("a.example");
        sv_run(ms);
        HN_EQUAL(t.nasks, 0);
        HN_CHECK(t.dns.stats[TENON_DNS_STAT_NOT_SENT] <= 6 + ms / 250);
        sv.hn.mem_fail = 0;
        sv_run_s(28);
        HN_EQUAL(t.done, 0);
        sv_run_s(1);
        HN_EQUAL(t.done, 1);
        HN_EQUAL(t.nasks, 6);
        HN_CHECK(t.asks[0].at_us - began_us <= 2 * ms * 1000 + 10000);
        HN_CHECK(t.asks[0].at_us - began_us <= (ms + 250) * 1000);
        HN_EQUAL(t.asks[0].in.dst, SERVER1);
        HN_EQUAL(t.asks[1].in.dst, SERVER2);
        HN_EQUAL(t.asks[1].at_us - t.asks[0].at_us, 2000000);
        HN_EQUAL(t.asks[2].at_us - t.asks[0].at_us, 4000000);
        HN_EQUAL(t.asks[5].at_us - t.asks[0].at_us, 20000000);
        end();
    }
}

/* A question ends also if nothing leaves, or some of it: as late as if all of it were lost, and no more than twice as
 * late. Whoever wants to know the same waits with it. */
static void no_memory_for_good(void)
{
    open();
    sv.hn.mem_fail = -1;
    ask("a.example");
    ask("a.example");
    sv_run_s(27);
    HN_EQUAL(t.done, 0);
    HN_CHECK(t.dns.stats[TENON_DNS_STAT_NOT_SENT] < 4 * 27 + 20);
    HN_EQUAL(t.dns.stats[TENON_DNS_STAT_SHARED], 1);
    sv_run_s(3);
    HN_EQUAL(t.done, 2);
    HN_EQUAL(t.answer.status, TENON_DNS_TIMEOUT);
    HN_EQUAL(t.nasks, 0);
    ask("b.example");
    for (unsigned i = 0; i < 28 && t.done == 2; i++) {
        sv.hn.mem_fail = -1;
        sv_run(1900);
        sv.hn.mem_fail = 0;
        sv_run(100);
    }
    HN_EQUAL(t.done, 3);
    end();
}

/* All sockets are in use for a moment. */
static void no_socket(void)
{
    static const struct tenon_udp_events ignores = { NULL, NULL };
    struct tenon_udp *sock;
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.udp_sockets_max = 1;
    stack_conf = &conf;
    open();
    stack_conf = NULL;
    t.answers = answer_good;
    HN_EQUAL(tenon_udp_open(sv.hn.stack, &sock, &ignores, NULL), TENON_OK);
    ask("a.example");
    sv_run(300);
    HN_EQUAL(t.done, 0);
    tenon_udp_close(sock);
    sv_run(300);
    HN_EQUAL(t.done, 1);
    HN_EQUAL(t.answer.status, TENON_DNS_OK);
    end();
}

static const struct hn_test tests[] = {
    { "ask_answer", "", ask_answer },
    { "ask_many", "", ask_many },
    { "ask_far", "DNS-7", ask_far },
    { "ask_is_random", "DNS-2 CVE-2020-17470 CVE-2021-25677 CVE-2020-25926 CVE-2021-31228 CVE-2014-4883",
      ask_is_random },
    { "cached", "DNS-7", cached },
    { "cached_asleep", "DNS-7", cached_asleep },
    { "cached_at_once", "DNS-7", cached_at_once },
    { "nothing_cached", "DNS-7", nothing_cached },
    { "same_question", "DNS-2", same_question },
    { "same_question_ends", "", same_question_ends },
    { "silence", "DNS-2 DNS-6", silence },
    { "first_server_silent", "DNS-6", first_server_silent },
    { "answers_no", "DNS-3", answers_no },
    { "one_cannot_say", "DNS-3", one_cannot_say },
    { "no_way", "DNS-6", no_way },
    { "no_way_to_one", "DNS-6", no_way_to_one },
    { "way_comes", "DNS-6", way_comes },
    { "referral", "DNS-3", referral },
    { "no_server", "", no_server },
    { "no_server_any_more", "", no_server_any_more },
    { "over_tcp", "DNS-3 DNS-9", over_tcp },
    { "cut_twice", "DNS-3", cut_twice },
    { "tcp_one_by_one", "DNS-3", tcp_one_by_one },
    { "tcp_forgotten", "DNS-9", tcp_forgotten },
    { "tcp_forgotten_at_its_begin", "DNS-9", tcp_forgotten_at_its_begin },
    { "tcp_forgotten_at_its_end", "DNS-9", tcp_forgotten_at_its_end },
    { "tcp_next_server", "DNS-9", tcp_next_server },
    { "tcp_no_memory", "", tcp_no_memory },
    { "tcp_room", "", tcp_room },
    { "aliases", "DNS-7", aliases },
    { "bad_answers",
      "DNS-1 DNS-3 DNS-4 DNS-5 CVE-2020-11901 CVE-2020-17439 CVE-2020-17440 CVE-2020-24334 "
      "CVE-2020-24335 CVE-2020-24336 CVE-2020-24339 CVE-2020-25107 CVE-2020-25108 CVE-2020-25109 "
      "CVE-2020-25110 CVE-2020-15795 CVE-2020-27009 CVE-2020-27736 CVE-2020-27737 CVE-2020-27738 VUL-N-1 "
      "CVE-2020-25928 CVE-2020-25927 CVE-2020-25767 CVE-2018-16525 CVE-2018-16598",
      bad_answers },
    { "pointers_to_pointers", "DNS-4", pointers_to_pointers },
    { "long_name", "DNS-4 CVE-2020-24338 CVE-2020-25111 CVE-2016-20009", long_name },
    { "late_answer", "DNS-1 CVE-2020-17439 CVE-2018-16598", late_answer },
    { "mixed_case", "DNS-1", mixed_case },
    { "names", "DNS-8", names },
    { "no_memory", "DNS-6", no_memory },
    { "no_memory_for_good", "DNS-6", no_memory_for_good },
    { "no_socket", "DNS-6", no_socket },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
