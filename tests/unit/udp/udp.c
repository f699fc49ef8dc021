/* SPDX-License-Identifier: MIT */
/* UDP: whose a datagram is, what a socket may do, and what happens when handlers do it. */
#include "core.h"
#include "ip/ip_bench.h"

/* Sockets that say which of them was given something. */
struct ear {
    struct tenon_udp *sock;
    unsigned heard, errors;
    struct ear *closes;           /* closed by the handler; its own sock is set to NULL then */
    unsigned opens;               /* sockets that the handler still opens, on the same address and port */
    struct tenon_addr at;
    struct tenon_udp_info info;
};

static void ear_heard(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                      const struct tenon_span *spans, unsigned n);

static void ear_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    struct ear *ear = app;

    (void)to;
    (void)error;
    HN_CHECK(sock == ear->sock);
    ear->errors++;
    if (ear->closes != NULL && ear->closes->sock != NULL) {
        tenon_udp_close(ear->closes->sock);
        ear->closes->sock = NULL;
    }
}

static const struct tenon_udp_events ear_events = { ear_heard, ear_error };

static int ear_open(struct ear *ear, const char *ip, unsigned port)
{
    int error;

    memset(ear, 0, sizeof *ear);
    ear->at = ib_at(ip ? hn_ip(ip) : tenon_ip_any(), port);
    error = tenon_udp_open(ib.hn.stack, &ear->sock, &ear_events, ear);
    if (error == TENON_OK)
        error = tenon_udp_bind(ear->sock, &ear->at);
    return error;
}

static void ear_heard(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                      const struct tenon_span *spans, unsigned n)
{
    static struct ear more[64];
    static unsigned nmore;
    struct ear *ear = app;

    (void)spans;
    (void)n;
    HN_CHECK(sock == ear->sock);
    ear->heard++;
    ear->info = *info;
    if (ear->opens > 0) {
        struct ear *opened = &more[nmore++ % 64];
        const unsigned opens = --ear->opens;
        const struct tenon_addr at = ear->at;

        memset(opened, 0, sizeof *opened);
        opened->at = at;
        opened->opens = opens;
        HN_EQUAL(tenon_udp_open(ib.hn.stack, &opened->sock, &ear_events, opened), TENON_OK);
        HN_EQUAL(tenon_udp_bind(opened->sock, &at), TENON_OK);
    }
    if (ear->closes != NULL && ear->closes->sock != NULL) {
        struct ear *other = ear->closes;

        tenon_udp_close(other->sock);
        other->sock = NULL;
    }
}

/* A datagram from peer:sport to dst:dport. */
static void datagram_from(struct tenon_ip src, unsigned sport, struct tenon_ip dst, unsigned dport, size_t n)
{
    static tenon_u8 p[2000];
    const size_t ip = tenon_ip_is_v4(&dst) ? 20 : 40;
    const size_t len = ib_udp(p + ip, &src, &dst, sport, dport, n, 1);
    tenon_u8 mac[6];
    int group = ip == 20 ? dst.w[3] >> 28 == 14 : dst.w[0] >> 24 == 0xFF;

    hn_ip_header(p, &src, &dst, 17, 64, len);
    if (group)
        hn_group_mac(mac, &dst);
    ib_inject_to(group ? mac : NULL, p, ip + len, 0);
}

static void datagram(const char *src, unsigned sport, const char *dst, unsigned dport)
{
    datagram_from(hn_ip(src), sport, hn_ip(dst), dport, 10);
}

/* ---- whose --------------------------------------------------------------------------------------------- */

static void demux(void)
{
    enum { ANY, OURS, PAIR, OTHER_PAIR, EARS };
    static const struct {
        const char *src;
        unsigned sport;
        const char *dst;
        unsigned dport;
        int ear;                 /* who hears it; -1: nobody */
    } rows[] = {
        { "192.0.2.2", 4000, "192.0.2.1", 50, PAIR },
        { "192.0.2.2", 4001, "192.0.2.1", 50, OTHER_PAIR },
        { "192.0.2.2", 4002, "192.0.2.1", 50, OURS },
        { "192.0.2.3", 4000, "192.0.2.1", 50, OURS },
        { "2001:db8::2", 4000, "2001:db8::1", 50, ANY },
        { "192.0.2.2", 4000, "192.0.2.1", 51, -1 },
        { "192.0.2.2", 0, "192.0.2.1", 50, OURS },
        { "192.0.2.2", 4000, "192.0.2.1", 0, -1 },
    };
    struct tenon_addr to;

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct ear ears[EARS];

        ib_open();
        HN_EQUAL(ear_open(&ears[PAIR], "192.0.2.1", 50), TENON_OK);
        to = ib_at(ib.peer4, 4000);
        HN_EQUAL(tenon_udp_connect(ears[PAIR].sock, &to), TENON_OK);
        HN_EQUAL(ear_open(&ears[OTHER_PAIR], NULL, 50), TENON_OK);
        to = ib_at(ib.peer4, 4001);
        HN_EQUAL(tenon_udp_connect(ears[OTHER_PAIR].sock, &to), TENON_OK);
        HN_EQUAL(ear_open(&ears[ANY], NULL, 50), TENON_OK);
        HN_EQUAL(ear_open(&ears[OURS], "192.0.2.1", 50), TENON_OK);
        datagram(rows[i].src, rows[i].sport, rows[i].dst, rows[i].dport);
        for (int k = 0; k < EARS; k++)
            HN_EQUAL(ears[k].heard, k == rows[i].ear);
        HN_EQUAL(ib_stat(TENON_STAT_UDP_NO_PORT), rows[i].ear < 0);
        HN_EQUAL(hn_left(&ib.hn), rows[i].ear < 0 && rows[i].dport != 0);
        ib_close();
    }
}

/* Connected: only the peer's datagrams arrive; afterwards everybody's again. */
static void connect_and_back(void)
{
    struct ear ear;
    struct tenon_addr to, got;

    ib_open();
    HN_EQUAL(ear_open(&ear, NULL, 50), TENON_OK);
    to = ib_at(ib.peer4, 4000);
    HN_EQUAL(tenon_udp_connect(ear.sock, &to), TENON_OK);
    tenon_udp_local(ear.sock, &got);
    HN_CHECK(tenon_ip_equal(&got.ip, &ib.us4) && got.port == 50);
    tenon_udp_remote(ear.sock, &got);
    HN_CHECK(tenon_ip_equal(&got.ip, &ib.peer4) && got.port == 4000);
    datagram("192.0.2.2", 4000, "192.0.2.1", 50);
    datagram("192.0.2.2", 4001, "192.0.2.1", 50);
    HN_EQUAL(ear.heard, 1);
    /* To another peer, of the other version. */
    to = ib_at(ib.peer6, 4000);
    HN_EQUAL(tenon_udp_connect(ear.sock, &to), TENON_OK);
    datagram("2001:db8::2", 4000, "2001:db8::1", 50);
    datagram("192.0.2.2", 4000, "192.0.2.1", 50);
    HN_EQUAL(ear.heard, 2);
    HN_EQUAL(tenon_udp_connect(ear.sock, NULL), TENON_OK);
    tenon_udp_remote(ear.sock, &got);
    HN_CHECK(tenon_ip_is_any(&got.ip) && got.port == 0);
    datagram("192.0.2.2", 4001, "192.0.2.1", 50);
    HN_EQUAL(ear.heard, 3);
    HN_EQUAL(tenon_udp_write(ear.sock, NULL, "x", 1), TENON_EINVAL);
    ib_close();
}

static void binding(void)
{
    struct ear a, b;
    struct tenon_addr at;

    ib_open();
    HN_EQUAL(ear_open(&a, "192.0.2.1", 60), TENON_OK);
    HN_EQUAL(tenon_udp_bind(a.sock, &a.at), TENON_EINVAL);
    HN_EQUAL(ear_open(&b, "192.0.2.1", 60), TENON_EINUSE);
    at = ib_at(hn_ip("192.0.2.99"), 60);
    HN_EQUAL(tenon_udp_bind(b.sock, &at), TENON_ENOADDR);
    at = ib_at(hn_ip("0.0.0.0"), IB_PORT);
    HN_EQUAL(tenon_udp_bind(b.sock, &at), TENON_EINUSE);
    at = ib_at(hn_ip("0.0.0.0"), 60);
    HN_EQUAL(tenon_udp_bind(b.sock, &at), TENON_OK);
    tenon_udp_close(a.sock);
    HN_EQUAL(ear_open(&a, "192.0.2.1", 60), TENON_OK);
    /* The same two ends only once; and no way back to a port that another has taken. */
    at = ib_at(ib.peer4, 4000);
    HN_EQUAL(tenon_udp_connect(a.sock, &at), TENON_OK);
    HN_EQUAL(tenon_udp_connect(b.sock, &at), TENON_EINUSE);
    tenon_udp_close(b.sock);
    HN_EQUAL(ear_open(&b, "192.0.2.1", 60), TENON_OK);
    HN_EQUAL(tenon_udp_connect(a.sock, NULL), TENON_EINUSE);
    tenon_udp_close(b.sock);
    HN_EQUAL(tenon_udp_connect(a.sock, NULL), TENON_OK);
    /* Wrong targets. */
    at = ib_at(ib.peer6, 4000);
    HN_EQUAL(tenon_udp_connect(a.sock, &at), TENON_EINVAL);
    at = ib_at(ib.peer4, 0);
    HN_EQUAL(tenon_udp_connect(a.sock, &at), TENON_EINVAL);
    at = ib_at(tenon_ip_any(), 1);
    HN_EQUAL(tenon_udp_connect(a.sock, &at), TENON_EINVAL);
    at = ib_at(hn_ip("203.0.113.1"), 1);
    HN_EQUAL(tenon_udp_connect(a.sock, &at), TENON_EUNREACH);
    ib_close();
}

static int compare_ports(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* RFC 6056: ports that nobody guesses, none twice while it is in use, until all are. */
static void ports(void)
{
    enum { MANY = 4095 };
    static struct tenon_udp *socks[MANY];
    static int got[MANY];
    struct tenon_udp *sock;
    struct tenon_conf conf;
    unsigned near = 0;

    tenon_conf_default(&conf);
    conf.udp_sockets_max = MANY + 1;
    ib_open_conf(&conf, 0);
    for (unsigned i = 0; i < MANY; i++) {
        const struct tenon_addr any = ib_at(tenon_ip_any(), 0);
        struct tenon_addr local;

        HN_EQUAL(tenon_udp_open(ib.hn.stack, &socks[i], &ib_events, NULL), TENON_OK);
        HN_EQUAL(tenon_udp_bind(socks[i], &any), TENON_OK);
        tenon_udp_local(socks[i], &local);
        got[i] = local.port;
        HN_CHECK(local.port >= 0xC000);
        if (i > 0 && abs(got[i] - got[i - 1]) < 10)
            near++;
    }
    HN_CHECK(near < 40);
    qsort(got, MANY, sizeof got[0], compare_ports);
    for (unsigned i = 1; i < MANY; i++)
        HN_CHECK(got[i] != got[i - 1]);
    HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL), TENON_ELIMIT);
    ib_close();
}

static void ports_run_out(void)
{
    struct tenon_conf conf;
    const struct tenon_addr any = ib_at(tenon_ip_any(), 0);
    struct tenon_udp *sock;
    unsigned n = 0;

    tenon_conf_default(&conf);
    conf.udp_sockets_max = 20000;
    ib_open_conf(&conf, 0);
    for (;;) {
        HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL), TENON_OK);
        if (tenon_udp_bind(sock, &any) != TENON_OK)
            break;
        n++;
    }
    HN_EQUAL(n, 16384);
    HN_EQUAL(tenon_udp_bind(sock, &any), TENON_EINUSE);
    ib_close();
}

/* A port that is connected elsewhere, or to the same peer, is in use as well: who has none gets another. */
static void connected_ports(void)
{
    enum { MANY = 4095 };
    struct tenon_addr to;
    struct tenon_udp *sock;
    struct tenon_conf conf;
    unsigned refused = 0;

    tenon_conf_default(&conf);
    conf.udp_sockets_max = MANY + 1;
    ib_open_conf(&conf, 0);
    to = ib_at(ib.peer4, 53);
    for (unsigned i = 0; i < MANY; i++) {
        HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL), TENON_OK);
        refused += tenon_udp_connect(sock, &to) != TENON_OK;
    }
    HN_EQUAL(refused, 0);
    ib_close();
}

/* Nor does who has no peer get a port that is connected: it could send to the same peer, and the other one would be
 * given its answers. */
static void ports_of_connected(void)
{
    enum { CONNECTED = 3000, BOUND = 500 };
    static struct ear ears[BOUND];
    const struct tenon_addr any = ib_at(tenon_ip_any(), 0);
    static tenon_u8 taken[65536];
    struct tenon_addr to, at;
    struct tenon_udp *sock;

    memset(taken, 0, sizeof taken);
    ib_open();
    to = ib_at(ib.peer4, 53);
    for (unsigned i = 0; i < CONNECTED; i++) {
        HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL), TENON_OK);
        HN_EQUAL(tenon_udp_connect(sock, &to), TENON_OK);
        tenon_udp_local(sock, &at);
        taken[at.port] = 1;
    }
    for (unsigned i = 0; i < BOUND; i++) {
        memset(&ears[i], 0, sizeof ears[i]);
        HN_EQUAL(tenon_udp_open(ib.hn.stack, &ears[i].sock, &ear_events, &ears[i]), TENON_OK);
        if (i % 2 == 0)
            HN_EQUAL(tenon_udp_bind(ears[i].sock, &any), TENON_OK);
        HN_EQUAL(tenon_udp_write(ears[i].sock, &to, "x", 1), TENON_OK);
        (void)tenon_poll(ib.hn.stack, ib.hn.now_us);
        tenon_udp_local(ears[i].sock, &at);
        HN_EQUAL(taken[at.port], 0);
        datagram("192.0.2.2", 53, "192.0.2.1", at.port);
        HN_EQUAL(ears[i].heard, 1);
    }
    ib_close();
}

/* ---- to many ------------------------------------------------------------------------------------------- */

static void multicast(void)
{
    const struct tenon_ip group4 = hn_ip("239.1.2.3"), group6 = hn_ip("ff15::77");
    struct ear any, group, same, other, ours;

    ib_open();
    HN_EQUAL(ear_open(&any, NULL, 70), TENON_OK);
    HN_EQUAL(ear_open(&group, "239.1.2.3", 70), TENON_OK);
    HN_EQUAL(ear_open(&same, "239.1.2.3", 70), TENON_OK);
    HN_EQUAL(ear_open(&other, "239.9.9.9", 70), TENON_OK);
    HN_EQUAL(ear_open(&ours, "192.0.2.1", 70), TENON_OK);
    datagram("192.0.2.2", 4000, "239.1.2.3", 70);
    HN_EQUAL(any.heard + group.heard + same.heard, 0);    /* not joined */
    HN_EQUAL(ib_stat(TENON_STAT_IP_NOT_OURS), 1);
    HN_EQUAL(tenon_group_join(ib.hn.stack, ib.netif, &group4), TENON_OK);
    HN_EQUAL(tenon_group_join(ib.hn.stack, ib.netif, &group6), TENON_OK);
    hn_run_ms(&ib.hn, 20000);    /* reports */
    hn_forget(&ib.hn);
    datagram("192.0.2.2", 4000, "239.1.2.3", 70);
    HN_EQUAL(any.heard, 1);
    HN_EQUAL(group.heard, 1);
    HN_EQUAL(same.heard, 1);
    HN_EQUAL(other.heard + ours.heard, 0);
    HN_CHECK(tenon_ip_equal(&group.info.to.ip, &group4));
    datagram("2001:db8::2", 4000, "ff15::77", 70);
    HN_EQUAL(any.heard, 2);
    HN_EQUAL(group.heard, 1);
    datagram("192.0.2.2", 4000, "239.1.2.3", 71);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_NO_PORT), 1);
    HN_EQUAL(hn_left(&ib.hn), 0);
    HN_EQUAL(tenon_group_leave(ib.hn.stack, ib.netif, &group4), TENON_OK);
    datagram("192.0.2.2", 4000, "239.1.2.3", 70);
    HN_EQUAL(any.heard, 2);
    ib_close();
}

static void broadcast(void)
{
    struct ear any, all, ours;

    ib_open();
    HN_EQUAL(ear_open(&any, NULL, 70), TENON_OK);
    HN_EQUAL(ear_open(&all, "192.0.2.255", 70), TENON_OK);
    HN_EQUAL(ear_open(&ours, "192.0.2.1", 70), TENON_OK);
    datagram("192.0.2.2", 4000, "192.0.2.255", 70);
    HN_EQUAL(any.heard, 1);
    HN_EQUAL(all.heard, 1);
    HN_EQUAL(ours.heard, 0);
    datagram("192.0.2.2", 4000, "255.255.255.255", 70);
    HN_EQUAL(any.heard, 2);
    HN_EQUAL(all.heard, 1);
    ib_close();
}

static void send_to_many(void)
{
    struct tenon_addr to;
    const tenon_u8 *p;
    size_t n;

    ib_open();
    to = ib_at(ib.bcast4, 9);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_EACCES);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_BROADCAST, 1), TENON_OK);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_OK);
    to = ib_at(hn_ip("239.1.2.3"), 9);
    to.netif = (tenon_u16)ib.netif;
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_OK);
    to.netif = 0;
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_MULTICAST_NETIF, ib.netif), TENON_OK);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_MULTICAST_TTL, 5), TENON_OK);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "x", 1), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    p = ib_sent(&n);
    if (HN_CHECK(p != NULL)) {
        HN_EQUAL(p[8], 64);
        HN_EQUAL(p[-14], 0xFF);
    }
    p = ib_sent(&n);
    if (HN_CHECK(p != NULL)) {
        HN_EQUAL(p[8], 1);
        HN_EQUAL(hn_get32(p - 14), 0x01005E01);
    }
    p = ib_sent(&n);
    HN_CHECK(p != NULL && p[8] == 5);
    ib_close();
}

/* ---- handlers that close and open ---------------------------------------------------------------------- */

static void close_in_handler(void)
{
    struct ear a, b, c;
    const struct tenon_ip group = hn_ip("239.1.2.3");

    /* Itself. */
    ib_open();
    HN_EQUAL(ear_open(&a, NULL, 70), TENON_OK);
    a.closes = &a;
    datagram("192.0.2.2", 4000, "192.0.2.1", 70);
    datagram("192.0.2.2", 4000, "192.0.2.1", 70);
    HN_EQUAL(a.heard, 1);
    ib_close();

    /* In the middle of many: each closes the next one, or itself, in every order. */
    for (unsigned pattern = 0; pattern < 64; pattern++) {
        struct ear *ears[3] = { &a, &b, &c };

        ib_open();
        HN_EQUAL(tenon_group_join(ib.hn.stack, ib.netif, &group), TENON_OK);
        for (unsigned i = 0; i < 3; i++)
            HN_EQUAL(ear_open(ears[i], "239.1.2.3", 70), TENON_OK);
        for (unsigned i = 0; i < 3; i++) {
            const unsigned closes = pattern >> (2 * i) & 3;

            ears[i]->closes = closes < 3 ? ears[closes] : NULL;
        }
        datagram("192.0.2.2", 4000, "239.1.2.3", 70);
        for (unsigned i = 0; i < 3; i++)
            HN_CHECK(ears[i]->heard <= 1 && (ears[i]->heard == 1 || ears[i]->sock == NULL));
        ib_close();
    }

    /* New ones do not hear the datagram that made them be opened; the table grows meanwhile. */
    ib_open();
    HN_EQUAL(tenon_group_join(ib.hn.stack, ib.netif, &group), TENON_OK);
    HN_EQUAL(ear_open(&a, "239.1.2.3", 70), TENON_OK);
    a.opens = 3;
    datagram("192.0.2.2", 4000, "239.1.2.3", 70);
    HN_EQUAL(a.heard, 1);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_RCVD), 1);
    datagram("192.0.2.2", 4000, "239.1.2.3", 70);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_RCVD), 3);
    ib_close();
}

static void close_in_error(void)
{
    struct ear ear;
    struct tenon_addr to;

    ib_open();
    HN_EQUAL(ear_open(&ear, NULL, 70), TENON_OK);
    ear.closes = &ear;
    to = ib_at(hn_ip("192.0.2.77"), 1);
    for (unsigned i = 0; i < 10; i++)
        HN_CHECK(tenon_udp_write(ear.sock, &to, "x", 1) <= 0);
    hn_run_ms(&ib.hn, 6000);
    HN_EQUAL(ear.errors, 1);
    HN_CHECK(ear.sock == NULL);
    ib_close();
}

/* ---- sending ------------------------------------------------------------------------------------------- */

static void send_wrong(void)
{
    static tenon_u8 bytes[70000];
    struct tenon_udp *sock;
    struct tenon_addr to;
    struct tenon_span span;

    ib_open();
    HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL), TENON_OK);
    HN_EQUAL(tenon_udp_write(sock, NULL, bytes, 1), TENON_EINVAL);
    to = ib_at(ib.peer4, 0);
    HN_EQUAL(tenon_udp_write(sock, &to, bytes, 1), TENON_EINVAL);
    to = ib_at(tenon_ip_any(), 5);
    HN_EQUAL(tenon_udp_write(sock, &to, bytes, 1), TENON_EINVAL);
    to = ib_at(ib.peer4, 5);
    HN_EQUAL(tenon_udp_write(sock, &to, NULL, 1), TENON_EINVAL);
    HN_EQUAL(tenon_udp_write(sock, &to, bytes, 65508), TENON_EMSGSIZE);
    span.buf = hn_buf(&ib.hn, 65508);
    span.off = 0;
    span.len = 65508;
    HN_EQUAL(tenon_udp_send(sock, &to, &span, 1), TENON_EMSGSIZE);
    HN_EQUAL(span.buf->refs, 1);
    tenon_buf_put(span.buf);
    to = ib_at(ib.peer6, 5);
    HN_EQUAL(tenon_udp_write(sock, &to, bytes, 65528), TENON_EMSGSIZE);
    span.buf = hn_buf(&ib.hn, 65528);
    span.len = 65528;
    HN_EQUAL(tenon_udp_send(sock, &to, &span, 1), TENON_EMSGSIZE);
    HN_EQUAL(span.buf->refs, 1);
    tenon_buf_put(span.buf);
    to = ib_at(hn_ip("203.0.113.1"), 5);
    HN_EQUAL(tenon_udp_write(sock, &to, bytes, 1), TENON_EUNREACH);
    to = ib_at(ib.peer6, 5);
    HN_EQUAL(tenon_udp_send_from(sock, &ib.us4, &to, NULL, 0), TENON_EINVAL);
    HN_EQUAL(tenon_udp_send_from(sock, &ib.peer6, &to, NULL, 0), TENON_ENOADDR);
    HN_EQUAL(tenon_udp_send_from(sock, &ib.us6, &to, NULL, 0), TENON_OK);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_SENT), 1);
    ib_close();
}

/* Spans without bytes are none, whether they have a buffer or not: neither the port nor who keeps a datagram until its
 * neighbour is known is given one. */
static void send_empty_spans(void)
{
    struct tenon_addr near = ib_at(ib.peer4, 9), unknown = ib_at(hn_ip("192.0.2.77"), 9);
    struct tenon_span spans[2 + 65];
    tenon_u8 mac[6], us[6];

    ib_open();
    near.ip = ib.peer4;
    spans[0].buf = NULL;
    spans[0].off = spans[0].len = 0;
    for (unsigned i = 1; i < TENON_ARRAY_LEN(spans); i++) {
        spans[i].buf = hn_buf(&ib.hn, 150);
        spans[i].off = 0;
        spans[i].len = i != 2 ? 150 : 0;
    }
    HN_EQUAL(tenon_udp_send(ib.sock, &near, spans, 4), TENON_OK);
    HN_EQUAL(tenon_udp_send(ib.sock, &near, spans, 1), TENON_OK);
    HN_EQUAL(tenon_udp_send(ib.sock, &unknown, spans, 4), TENON_OK);
    HN_EQUAL(tenon_udp_send(ib.sock, &near, spans, TENON_ARRAY_LEN(spans)), TENON_ENOMEM);
    HN_EQUAL(spans[2].buf->refs, 1);
    hn_run_ms(&ib.hn, 1);
    hn_arp(&ib.hn, 1, hn_mac(us, 0, 1), 2, hn_mac(mac, 1, 77), unknown.ip.w[3], us, ib.us4.w[3]);
    HN_EQUAL(hn_left(&ib.hn), 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct hn_sent *sent = hn_next(&ib.hn);

        if (sent != NULL && hn_get16(sent->bytes + 12) == 0x0800) {
            HN_EQUAL(sent->frame.nspans, i == 1 ? 1 : 3);
            HN_CHECK(ib_sums_good(sent->bytes + 14, i == 1 ? 28 : 328));
        }
    }
    for (unsigned i = 1; i < TENON_ARRAY_LEN(spans); i++)
        tenon_buf_put(spans[i].buf);
    ib_close();
}

/* The answer comes from the address that was asked. */
static void send_from(void)
{
    const struct tenon_ip second = hn_ip("192.0.2.10");
    struct tenon_addr to;
    const tenon_u8 *p;
    size_t n;

    ib_open();
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &second, 24), TENON_OK);
    hn_run_ms(&ib.hn, 20000);
    hn_forget(&ib.hn);
    datagram("192.0.2.2", 4000, "192.0.2.10", IB_PORT);
    HN_CHECK(tenon_ip_equal(&ib.info.to.ip, &second));
    to = ib.info.from;
    HN_EQUAL(tenon_udp_send_from(ib.sock, &ib.info.to.ip, &to, NULL, 0), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    p = ib_sent(&n);
    HN_CHECK(p != NULL && hn_get32(p + 12) == second.w[3] && hn_get16(p + 22) == 4000);
    ib_close();
}

/* RFC 1122 3.2.1.3: the source is one of our addresses, also of a socket that is older than the change, however often
 * it tries. */
static void send_from_lost(void)
{
    static const struct {
        const char *name;
        int connected, to_peer;
    } rows[] = { { "bound", 0, 0 }, { "connected", 1, 0 }, { "connected, to its peer", 1, 1 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_ip other = hn_ip("192.0.2.7");
        struct tenon_addr to;
        struct ear ear;

        hn_row = rows[i].name;
        ib_open();
        to = ib_at(ib.peer4, 4000);
        HN_EQUAL(ear_open(&ear, rows[i].connected ? NULL : "192.0.2.1", 50), TENON_OK);
        if (rows[i].connected)
            HN_EQUAL(tenon_udp_connect(ear.sock, &to), TENON_OK);
        HN_EQUAL(tenon_udp_write(ear.sock, &to, "x", 1), TENON_OK);
        (void)tenon_poll(ib.hn.stack, ib.hn.now_us);
        HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &other, 24), TENON_OK);
        hn_run_ms(&ib.hn, 10000);
        HN_EQUAL(tenon_addr_remove(ib.hn.stack, ib.netif, &ib.us4), TENON_OK);
        hn_forget(&ib.hn);
        for (unsigned k = 0; k < 3; k++) {
            HN_EQUAL(tenon_udp_write(ear.sock, rows[i].to_peer ? NULL : &to, "x", 1), TENON_ENOADDR);
            (void)tenon_poll(ib.hn.stack, ib.hn.now_us);
            HN_EQUAL(hn_left(&ib.hn), 0);
        }
        ib_close();
    }
}

/* A network becomes a smaller one, and a peer its broadcast address: permission is asked for what it is now. */
static void peer_becomes_broadcast(void)
{
    const struct tenon_addr to = ib_at(hn_ip("192.0.2.127"), 4000);
    struct ear ear;

    ib_open();
    HN_EQUAL(ear_open(&ear, NULL, 50), TENON_OK);
    HN_EQUAL(tenon_udp_connect(ear.sock, &to), TENON_OK);
    HN_EQUAL(tenon_addr_remove(ib.hn.stack, ib.netif, &ib.us4), TENON_OK);
    HN_EQUAL(tenon_addr_add(ib.hn.stack, ib.netif, &ib.us4, 25), TENON_OK);
    hn_run_ms(&ib.hn, 10000);
    hn_forget(&ib.hn);
    HN_EQUAL(tenon_udp_write(ear.sock, NULL, "x", 1), TENON_EACCES);
    HN_EQUAL(tenon_udp_set(ear.sock, TENON_UDP_BROADCAST, 1), TENON_OK);
    HN_EQUAL(tenon_udp_write(ear.sock, NULL, "x", 1), TENON_OK);
    (void)tenon_poll(ib.hn.stack, ib.hn.now_us);
    HN_EQUAL(hn_left(&ib.hn), 1);
    ib_close();
}

static void options(void)
{
    static const struct {
        enum tenon_udp_option option;
        tenon_u32 value;
        int error;
    } rows[] = {
        { TENON_UDP_TTL, 0, TENON_EINVAL }, { TENON_UDP_TTL, 1, TENON_OK }, { TENON_UDP_TTL, 255, TENON_OK },
        { TENON_UDP_TTL, 256, TENON_EINVAL }, { TENON_UDP_TOS, 0, TENON_OK }, { TENON_UDP_TOS, 256, TENON_EINVAL },
        { TENON_UDP_BROADCAST, 1, TENON_OK }, { TENON_UDP_BROADCAST, 2, TENON_EINVAL },
        { TENON_UDP_MULTICAST_TTL, 0, TENON_EINVAL }, { TENON_UDP_MULTICAST_TTL, 255, TENON_OK },
        { TENON_UDP_MULTICAST_NETIF, 0, TENON_OK }, { TENON_UDP_MULTICAST_NETIF, 1, TENON_OK },
        { TENON_UDP_MULTICAST_NETIF, 2, TENON_EINVAL }, { TENON_UDP_MULTICAST_NETIF, 257, TENON_EINVAL },
        { TENON_UDP_DONT_FRAGMENT, 1, TENON_OK }, { TENON_UDP_DONT_FRAGMENT, 2, TENON_EINVAL },
        { TENON_UDP_NO_CHECKSUM, 1, TENON_OK }, { TENON_UDP_NO_CHECKSUM, 9, TENON_EINVAL },
        { (enum tenon_udp_option)99, 0, TENON_EINVAL },
    };

    ib_open();
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++)
        HN_EQUAL(tenon_udp_set(ib.sock, rows[i].option, rows[i].value), rows[i].error);
    ib_close();
}

/* ---- checksums ----------------------------------------------------------------------------------------- */

static void checksums_received(void)
{
    static const struct {
        int v4;
        int zero;            /* 1: the field is 0; 0: as is; -1: wrong */
        unsigned received;
    } rows[] = { { 1, 0, 1 }, { 1, 1, 1 }, { 1, -1, 0 }, { 0, 0, 1 }, { 0, 1, 0 }, { 0, -1, 0 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const size_t ip = rows[i].v4 ? 20 : 40;
        tenon_u8 p[128];
        size_t n;

        ib_open();
        n = ib_udp_packet(p, rows[i].v4, 9);
        if (rows[i].zero == 1)
            hn_put16(p + ip + 6, 0);
        if (rows[i].zero == -1)
            p[ip + 7] ^= 0x10;
        ib_inject(p, n);
        HN_EQUAL(ib.received, rows[i].received);
        HN_EQUAL(ib_stat(TENON_STAT_UDP_BAD_CSUM), !rows[i].received);
        HN_EQUAL(hn_left(&ib.hn), 0);
        ib_close();
    }
}

/* All words once behind `before` zeros: 0xFFFF is what both sums, 0 and 0xFFFF, come out as, and one word in
 * 65535 makes one of them. */
static void checksums_of_words(unsigned before)
{
    const struct tenon_addr to = ib_at(ib.peer4, 9);
    tenon_u8 bytes[200] = { 0 };
    const tenon_u8 *p;
    unsigned zero = 0;
    size_t n;

    for (unsigned i = 0; i < 65536; i++) {
        hn_put16(bytes + before, i);
        HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, before + 2), TENON_OK);
        if (i % 32 != 31)
            continue;
        hn_run_ms(&ib.hn, 1);
        while ((p = ib_sent(&n)) != NULL) {
            HN_CHECK(hn_get16(p + 26) != 0);
            zero += hn_get16(p + 26) == 0xFFFF;
        }
        hn_forget(&ib.hn);
    }
    HN_CHECK(zero >= 1 && zero <= 2);
}

/* A sum of 0 is sent as 0xFFFF; without checksum it is 0, over IPv4 only. */
static void checksums_sent(void)
{
    struct tenon_addr to;
    const tenon_u8 *p;
    size_t n;

    ib_open();
    checksums_of_words(0);
    checksums_of_words(140);    /* in a span of their own */
    to = ib_at(ib.peer4, 9);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_NO_CHECKSUM, 1), TENON_OK);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "xy", 2), TENON_OK);
    to = ib_at(ib.peer6, 9);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, "xy", 2), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    p = ib_sent(&n);
    HN_CHECK(p != NULL && hn_get16(p + 26) == 0);
    p = ib_sent(&n);
    HN_CHECK(p != NULL && hn_get16(p + 46) != 0 && ib_sums_good(p, n));
    ib_close();
}

/* ---- lengths ------------------------------------------------------------------------------------------- */

static void lengths(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        for (unsigned len = 0; len <= 48; len++) {
            const size_t ip = v4 ? 20 : 40;
            const struct tenon_ip *src = v4 ? &ib.peer4 : &ib.peer6, *dst = v4 ? &ib.us4 : &ib.us6;
            const int good = len >= 8 && len <= 40;
            tenon_u8 p[128];

            ib_open();
            ib_udp_packet(p, v4, 32);
            hn_put16(p + ip + 4, len);
            hn_put16(p + ip + 6, 0);
            if (good) {
                tenon_u32 sum = ~hn_sum(hn_pseudo(src, dst, 17, len), p + ip, len) & 0xFFFF;

                hn_put16(p + ip + 6, sum ? sum : 0xFFFF);
            }
            ib_inject(p, ip + 40);
            HN_EQUAL(ib.received, good);
            if (good)
                HN_EQUAL(ib.info.bytes, len - 8);
            else
                HN_EQUAL(ib_stat(TENON_STAT_UDP_BAD_LENGTH), 1);
            ib_close();
        }
    }
}

/* Datagrams that the port has put together come one by one (USO). */
static void segmented(void)
{
    static tenon_u8 p[20 + 8 + 1000];
    struct tenon_frame frame;
    struct tenon_span span;
    tenon_u8 us[6], peer[6];
    size_t n;

    ib_open();
    n = ib_udp_packet(p, 1, 1000);
    memset(&frame, 0, sizeof frame);
    span.buf = hn_buf(&ib.hn, 14 + n);
    span.off = 0;
    span.len = (tenon_u32)(14 + n);
    hn_eth(span.buf->data, hn_mac(us, 0, 1), hn_mac(peer, 1, 2), 0x0800);
    memcpy(span.buf->data + 14, p, n);
    frame.spans = &span;
    frame.nspans = 1;
    frame.csum = TENON_CSUM_GOOD;
    frame.seg_kind = TENON_SEG_UDP;
    frame.seg_bytes = 300;
    HN_EQUAL(tenon_input(ib.hn.stack, ib.netif, &frame, 1, ib.hn.now_us), TENON_OK);
    HN_EQUAL(ib.received, 4);
    HN_EQUAL(ib.info.bytes, 100);
    HN_CHECK(memcmp(ib.bytes, p + 28 + 900, 100) == 0);
    tenon_buf_put(span.buf);
    ib_close();
}

/* The application keeps a span: its bytes stay, without a copy. */
static struct tenon_span kept;

static void keep_it(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                    const struct tenon_span *spans, unsigned n)
{
    (void)sock;
    (void)app;
    (void)info;
    (void)n;
    kept = spans[0];
    tenon_buf_ref(kept.buf);
}

static void zero_copy(void)
{
    static const struct tenon_udp_events events = { keep_it, NULL };
    const struct tenon_addr at = ib_at(tenon_ip_any(), 80);
    struct tenon_addr to;
    struct tenon_udp *sock;
    tenon_u32 copied;

    ib_open();
    HN_EQUAL(tenon_udp_open(ib.hn.stack, &sock, &events, NULL), TENON_OK);
    HN_EQUAL(tenon_udp_bind(sock, &at), TENON_OK);
    copied = ib_stat(TENON_STAT_COPIED_BYTES);
    datagram_from(ib.peer4, 4000, ib.us4, 80, 1000);
    HN_EQUAL(kept.len, 1000);
    HN_EQUAL(kept.buf->refs, 1);
    /* And back, without a copy either. */
    to = ib_at(ib.peer4, 4000);
    HN_EQUAL(tenon_udp_send(sock, &to, &kept, 1), TENON_OK);
    HN_EQUAL(kept.buf->refs, 2);
    hn_run_ms(&ib.hn, 1);
    HN_EQUAL(kept.buf->refs, 1);
    HN_EQUAL(ib_stat(TENON_STAT_COPIED_BYTES), copied);
    HN_CHECK(hn_left(&ib.hn) == 1 && memcmp(ib.hn.sent[0].bytes + 42, tenon_span_data(&kept), 1000) == 0);
    tenon_buf_put(kept.buf);
    ib_close();
}

/* ---- link-local ---------------------------------------------------------------------------------------- */

static void link_local(void)
{
    struct tenon_addr to;
    struct ear ear;
    const tenon_u8 *p;
    size_t n;

    ib_open();
    HN_EQUAL(ear_open(&ear, NULL, 70), TENON_OK);
    to = ib_at(hn_ip("fe80::2"), 4000);
    to.netif = (tenon_u16)ib.netif;
    HN_EQUAL(tenon_udp_connect(ear.sock, &to), TENON_OK);
    HN_EQUAL(tenon_udp_write(ear.sock, NULL, "x", 1), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    p = ib_sent(&n);    /* the question for the neighbour */
    HN_CHECK(p != NULL && p[6] == 58 && p[40] == 135);
    {
        struct tenon_addr local;

        tenon_udp_local(ear.sock, &local);
        HN_EQUAL(local.ip.w[0], 0xFE800000);
        HN_EQUAL(local.netif, ib.netif);
        datagram_from(to.ip, 4000, local.ip, 70, 5);
        HN_EQUAL(ear.heard, 1);
    }
    ib_close();
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void no_memory(void)
{
    static tenon_u8 bytes[5000];

    for (long fail = 1; fail < 30; fail++) {
        for (int kind = 0; kind < 2; kind++) {
            struct tenon_udp *sock = NULL;
            struct tenon_addr to;
            int error;

            ib_open();
            while (ib.hn.stack->nbufs > 0)
                tenon_buf_put(ib.hn.stack->bufs[--ib.hn.stack->nbufs]);
            if (kind)
                ib.hn.buf_fail = ib.hn.buf_gets + fail;
            else
                ib.hn.mem_fail = ib.hn.mem_gets + fail;
            to = ib_at(ib.peer4, 9);
            error = tenon_udp_open(ib.hn.stack, &sock, &ib_events, NULL);
            HN_CHECK(error == TENON_OK || error == TENON_ENOMEM);
            if (error == TENON_OK) {
                error = tenon_udp_connect(sock, &to);
                HN_CHECK(error == TENON_OK || error == TENON_ENOMEM);
                error = tenon_udp_write(sock, &to, bytes, sizeof bytes);
                HN_CHECK(error == TENON_OK || error == TENON_ENOMEM);
                datagram("192.0.2.2", 4000, "192.0.2.1", 9);
                tenon_udp_close(sock);
            }
            ib.hn.buf_fail = ib.hn.mem_fail = 0;
            HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, sizeof bytes), TENON_OK);
            ib_close();
        }
    }
}

/* Who has no address yet speaks from 0.0.0.0, if he says so, to 255.255.255.255 of a link that he names, and to nobody
 * else. */
static void send_from_nobody(void)
{
    const struct tenon_ip nobody = tenon_ip4(0);
    struct tenon_addr all = ib_at(hn_ip("255.255.255.255"), 67), one = ib_at(ib.peer4, 67);
    struct tenon_echo_events echo_events = { NULL, NULL };
    struct tenon_span span = { NULL, 0, 4 };
    const struct hn_sent *sent;
    struct tenon_echo *echo;

    ib_open();
    one.ip = ib.peer4;
    span.buf = hn_buf(&ib.hn, 4);
    memcpy(span.buf->data, "here", 4);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_BROADCAST, 1), TENON_OK);
    HN_EQUAL(tenon_udp_send_from(ib.sock, &nobody, &one, &span, 1), TENON_EINVAL);
    all.netif = (tenon_u16)ib.netif;
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_BROADCAST, 0), TENON_OK);
    HN_EQUAL(tenon_udp_send_from(ib.sock, &nobody, &all, &span, 1), TENON_EACCES);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_BROADCAST, 1), TENON_OK);
    all.netif = 0;
    HN_EQUAL(tenon_addr_remove(ib.hn.stack, ib.netif, &ib.us4), TENON_OK);
    HN_EQUAL(tenon_udp_send_from(ib.sock, &nobody, &all, &span, 1), TENON_EUNREACH);    /* on which link? */
    all.netif = (tenon_u16)ib.netif;
    HN_EQUAL(tenon_udp_write(ib.sock, &all, "here", 4), TENON_EUNREACH);    /* it did not say so */
    HN_EQUAL(tenon_udp_connect(ib.sock, &all), TENON_EUNREACH);
    HN_EQUAL(tenon_echo_open(ib.hn.stack, &echo, &echo_events, NULL), TENON_OK);
    HN_EQUAL(tenon_echo_send(echo, &all, 1, "here", 4), TENON_EUNREACH);
    tenon_echo_close(echo);
    HN_EQUAL(hn_left(&ib.hn), 0);
    HN_EQUAL(tenon_udp_write_from(ib.sock, &ib.us4, &all, "here", 4), TENON_EUNREACH);    /* which is gone */
    HN_EQUAL(tenon_udp_write_from(ib.sock, &nobody, &all, "here", 4), TENON_OK);
    (void)tenon_poll(ib.hn.stack, ib.hn.now_us);
    sent = hn_next(&ib.hn);
    if (HN_CHECK(sent != NULL && sent->len == 14 + 28 + 4)) {
        HN_EQUAL(hn_get32(sent->bytes), 0xFFFFFFFFU);
        HN_EQUAL(hn_get32(sent->bytes + 14 + 12), 0);
        HN_EQUAL(hn_get32(sent->bytes + 14 + 16), 0xFFFFFFFFU);
        HN_EQUAL(hn_sum(hn_pseudo(&nobody, &all.ip, 17, 12), sent->bytes + 34, 12), 0xFFFF);
    }
    tenon_buf_put(span.buf);
    ib_close();
}

static const struct hn_test tests[] = {
    { "udp_demux", "UDP-10", demux },
    { "udp_connect_and_back", "UDP-5 UDP-10", connect_and_back },
    { "udp_binding", "UDP-6", binding },
    { "udp_ports", "VUL-F-11 CVE-2022-1012", ports },
    { "udp_ports_run_out", "VUL-F-13", ports_run_out },
    { "udp_connected_ports", "VUL-F-13", connected_ports },
    { "udp_ports_of_connected", "UDP-10 6056-6", ports_of_connected },
    { "udp_multicast", "IP4-5 UDP-4", multicast },
    { "udp_broadcast", "IP4-28 UDP-8", broadcast },
    { "udp_send_to_many", "UDP-8", send_to_many },
    { "udp_close_in_handler", "UDP-10", close_in_handler },
    { "udp_close_in_error", "UDP-5", close_in_error },
    { "udp_send_wrong", "UDP-9", send_wrong },
    { "udp_send_empty_spans", "", send_empty_spans },
    { "udp_send_from", "UDP-6 IP4-27", send_from },
    { "udp_send_from_nobody", "IP4-28 UDP-8", send_from_nobody },
    { "udp_send_from_lost", "IP4-27", send_from_lost },
    { "udp_peer_becomes_broadcast", "UDP-8", peer_becomes_broadcast },
    { "udp_options", "UDP-8", options },
    { "udp_checksums_received", "UDP-2 UDP-3", checksums_received },
    { "udp_checksums_sent", "UDP-2 UDP-3", checksums_sent },
    { "udp_lengths", "UDP-1 VUL-F-1 CVE-2021-31345", lengths },
    { "udp_segmented", "UDP-1", segmented },
    { "udp_zero_copy", "UDP-10", zero_copy },
    { "udp_link_local", "IP6-2", link_local },
    { "udp_no_memory", "VUL-F-13", no_memory },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
