/* SPDX-License-Identifier: MIT */
/* How often the link is asked for an address (RFC 1122 2.3.2.1, RFC 4861 7.2.2): also when the table of neighbours
 * is too small for what is sent to, so that entries are evicted and made anew all the time. */
#include "link_test.h"

enum { HOSTS_MAX = 600, SECONDS = 4 };

/* A link with hosts 10.0.1.0 and up, 2001:db8::1:0 and up. What was asked, and when. */
static struct {
    struct hn hn;
    int v4;
    tenon_u32 seed;
    tenon_u32 apart_us;                   /* requests for one address have to be so far apart */
    unsigned requests, datagrams;
    tenon_u32 asked_us[HOSTS_MAX];        /* the last time; only with asked */
    unsigned asked[HOSTS_MAX];
} net;

static struct tenon_ip host_ip(unsigned i)
{
    return net.v4 ? tenon_ip4(0x0A000100U + i) : tenon_ip6(0x20010DB8U, 0, 0, 0x10000U + i);
}

/* The number of the host that this frame asks for; -1: it is something else. */
static int request_for(const struct hn_sent *sent)
{
    const tenon_u8 *p = sent->bytes;

    if (net.v4)
        return hn_get16(p + 12) == 0x0806 && hn_get16(p + 20) == 1 ? (int)(hn_get32(p + 38) - 0x0A000100U) : -1;
    return hn_get16(p + 12) == 0x86DD && p[20] == 58 && p[54] == 135 ? (int)(hn_get32(p + 74) - 0x10000U) : -1;
}

static void answer(unsigned i)
{
    const struct tenon_ip us = hn_ip("2001:db8::1"), ip = host_ip(i);
    tenon_u8 ours[6], theirs[6];

    if (net.v4)
        hn_arp(&net.hn, 1, hn_mac(ours, 0, 1), 2, hn_mac(theirs, 1, 2), ip.w[3], ours, 0x0A000001U);
    else
        lt_na(&net.hn, 1, &us, &ip, 0x60, 2);
}

/* Look at what was sent, and answer if somebody is there. */
static void look(int answers)
{
    for (unsigned i = 0; i < net.hn.nsent; i++) {
        const int host = request_for(&net.hn.sent[i]);
        const tenon_u32 at_us = net.hn.sent[i].at_us;

        if (host < 0) {
            net.datagrams++;
            continue;
        }
        if (!HN_CHECK(host < HOSTS_MAX))
            continue;
        net.requests++;
        HN_CHECK(net.asked[host] == 0 || at_us - net.asked_us[host] >= net.apart_us);
        net.asked_us[host] = at_us;
        net.asked[host]++;
        if (answers)
            answer((unsigned)host);
    }
    hn_forget(&net.hn);
}

static void link_open(int v4, const struct tenon_conf *conf)
{
    memset(&net, 0, sizeof net);
    net.v4 = v4;
    net.seed = 1;
    net.apart_us = 1000000;
    if (v4)
        lt_open4(&net.hn, conf);
    else
        lt_open6(&net.hn, conf);
    if (v4) {
        const struct tenon_ip all = tenon_ip4(0x0A000000U);

        HN_EQUAL(tenon_route_add(net.hn.stack, 1, &all, 8, NULL, 0), TENON_OK);
    }
}

static void send_to(struct tenon_udp *sock, unsigned i)
{
    struct tenon_addr to;

    to.ip = host_ip(i);
    to.port = 9;
    to.netif = 0;
    (void)tenon_udp_write(sock, &to, "ping", 4);
    (void)tenon_poll(net.hn.stack, net.hn.now_us);
}

/* ---- more destinations than entries ------------------------------------------------------------------------ */

/* For four seconds a datagram every 200 us, each to one of so many hosts in turn, or to any. */
static void thrash(unsigned hosts, int in_turn, int answers)
{
    struct tenon_udp *sock = lt_udp_open(&net.hn);

    for (unsigned n = 0; n < SECONDS * 5000; n++) {
        net.seed = net.seed * 1103515245U + 12345U;
        send_to(sock, in_turn ? n % hosts : net.seed / 65536 % hosts);
        look(answers);
        hn_run(&net.hn, 200);
        look(answers);
    }
    tenon_udp_close(sock);
}

static void evicted_and_sent_to_again(void)
{
    static const struct {
        const char *name;
        unsigned neighbours_max, hosts;
        int in_turn, answers;
        unsigned datagrams;      /* so many have to arrive at least, of 20000 */
    } rows[] = {
        { "all answer, in turn", 16, 40, 1, 1, 4000 },    { "all answer, at random", 16, 40, 0, 1, 4000 },
        { "one more than fits, in turn", 16, 17, 1, 1, 16000 }, { "one more than fits", 16, 17, 0, 1, 16000 },
        { "twice as many", 256, 512, 0, 1, 5000 },        { "nobody answers, in turn", 16, 40, 1, 0, 0 },
        { "nobody answers", 256, 512, 0, 0, 0 },          { "a single entry", 1, 2, 1, 1, 8 },
        { "fewer than the table has", 256, 200, 0, 1, 20000 },
    };

    for (size_t i = 0; i < 2 * TENON_ARRAY_LEN(rows); i++) {
        const size_t row = i / 2;
        struct tenon_conf conf;

        hn_row = rows[row].name;
        tenon_conf_default(&conf);
        conf.neighbours_max = (tenon_u16)rows[row].neighbours_max;
        link_open(i % 2 == 0, &conf);
        thrash(rows[row].hosts, rows[row].in_turn, rows[row].answers);
        /* look() has looked at each request. Each host was asked for; and it was worth it. */
        for (unsigned host = 0; host < rows[row].hosts; host++)
            HN_CHECK(net.asked[host] >= 1 && net.asked[host] <= SECONDS);
        HN_CHECK(net.datagrams >= rows[row].datagrams);
        HN_CHECK((hn_stat(&net.hn, TENON_STAT_NEIGH_ASK_LIMITED) > 0) == (rows[row].hosts > rows[row].neighbours_max));
        hn_close(&net.hn);
    }
    hn_row = "";
}

/* ---- too many at once --------------------------------------------------------------------------------------- */

/* Eight places, and eight silent hosts take them: the next has to wait until they are over. Who has an entry with a
 * link-layer address is asked all the same. */
static void places_full(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        struct tenon_conf conf;
        struct tenon_udp *sock;
        struct tn_path *path;
        struct tenon_ip ip;

        tenon_conf_default(&conf);
        conf.neighbour_asks_max = 8;
        link_open(v4, &conf);
        sock = lt_udp_open(&net.hn);
        ip = host_ip(9);
        HN_EQUAL(tn_path_get(net.hn.stack, &path, &ip, 0), TENON_OK);
        send_to(sock, 9);
        look(1);
        hn_run_ms(&net.hn, 2000);
        for (unsigned i = 0; i < 9; i++)
            send_to(sock, i);
        look(0);
        HN_EQUAL(net.requests, 1 + 8);
        HN_EQUAL(net.asked[8], 0);
        HN_CHECK(hn_stat(&net.hn, TENON_STAT_NEIGH_ASK_LIMITED) > 0);
        tn_path_doubt(net.hn.stack, path);
        hn_run_ms(&net.hn, 1);
        look(1);
        HN_EQUAL(net.asked[9], 2);
        /* At the latest when the others are given up. */
        for (unsigned ms = 0; ms < 3100; ms += 10) {
            hn_run_ms(&net.hn, 10);
            look(0);
            HN_CHECK(net.requests <= 10 + ms / 1000 * 8 + 8);
        }
        HN_CHECK(net.asked[8] >= 1);
        net.datagrams = 0;
        answer(8);
        look(0);
        HN_EQUAL(net.datagrams, 1);
        tn_path_put(net.hn.stack, path);
        tenon_udp_close(sock);
        hn_close(&net.hn);
    }
}

/* Somebody makes us look for 2000 addresses a second where nobody is. What leaves is bounded, and who is there is
 * found all the same: by the second attempt or so, which it makes after 200 ms. */
static void scanned(void)
{
    enum { HONEST = 50, SCAN_PER_MS = 2 };
    unsigned tries = 0, found = 0, second = 0;
    struct tenon_udp *sock;
    struct tenon_addr to;

    link_open(1, NULL);
    sock = lt_udp_open(&net.hn);
    to.port = 9;
    to.netif = 0;
    for (unsigned ms = 0; ms < 15000; ms++) {
        for (unsigned i = 0; i < SCAN_PER_MS; i++) {
            to.ip = tenon_ip4(0x0A100000U + (ms * SCAN_PER_MS + i) % 60000);
            (void)tenon_udp_write(sock, &to, "scan", 4);
        }
        for (unsigned host = 0; ms % 200 == 0 && host < HONEST && host < ms / 200; host++) {
            if (net.asked[host] == 0) {
                tries++;
                send_to(sock, host);
            }
        }
        (void)tenon_poll(net.hn.stack, net.hn.now_us);
        for (unsigned i = 0; i < net.hn.nsent; i++) {
            const int host = request_for(&net.hn.sent[i]);

            second += host >= 0;
            if (host < 0 || host >= HONEST || net.asked[host]++ != 0)
                continue;
            found++;
            answer((unsigned)host);
        }
        hn_forget(&net.hn);
        hn_run_ms(&net.hn, 1);
        if (ms % 1000 == 999) {
            HN_CHECK(second <= 1024);
            second = 0;
        }
    }
    HN_EQUAL(found, HONEST);
    HN_CHECK(tries <= 3 * HONEST);
    tenon_udp_close(sock);
    hn_close(&net.hn);
}

static int state_of(unsigned i)
{
    const struct tenon_ip ip = host_ip(i);

    return lt_neighbour(&net.hn, 1, &ip, NULL);
}

/* Others have taken its entry, all at the same moment, and will at the next. It answers what it was asked, and is known
 * from then on. Who was not asked is not, nor who answers when nobody waits any more. */
static void answered_after_eviction(void)
{
    enum { ENTRIES = 16, EARLY = 0, LATE = 1, STRANGER = 100 };

    for (int v4 = 0; v4 < 2; v4++) {
        struct tenon_conf conf;
        struct tenon_udp *sock;

        tenon_conf_default(&conf);
        conf.neighbours_max = ENTRIES;
        link_open(v4, &conf);
        sock = lt_udp_open(&net.hn);
        for (unsigned i = 0; i < 2 * ENTRIES; i++)
            send_to(sock, i);
        look(0);
        HN_EQUAL(net.asked[EARLY], 1);
        HN_EQUAL(net.asked[LATE], 1);
        HN_EQUAL(state_of(EARLY), -1);
        answer(EARLY);
        answer(STRANGER);
        HN_EQUAL(state_of(EARLY), TENON_NEIGHBOUR_REACHABLE);
        HN_EQUAL(state_of(STRANGER), -1);
        send_to(sock, EARLY);
        look(0);
        HN_EQUAL(net.datagrams, 1);
        hn_run_ms(&net.hn, 1100);
        HN_EQUAL(state_of(LATE), -1);
        answer(LATE);
        HN_EQUAL(state_of(LATE), -1);
        tenon_udp_close(sock);
        hn_close(&net.hn);
    }
}

/* More is sent to addresses where nobody is than there are entries. That the first of two gateways does not answer is
 * found out all the same, and what goes by it takes the other way. */
static void gateway_silent_while_scanned(void)
{
    enum { ENTRIES = 16, OUTSIDE = 0x08080808 };
    const struct tenon_ip all = tenon_ip4(0), silent = tenon_ip4(0x0A0000FEU), other = tenon_ip4(0x0A0000FDU);
    const struct tenon_ip dst = tenon_ip4(OUTSIDE);
    struct tenon_addr to = { .port = 9 };
    struct tenon_udp *sock;
    struct tenon_conf conf;
    struct tn_path *path;

    tenon_conf_default(&conf);
    conf.neighbours_max = ENTRIES;
    link_open(1, &conf);
    sock = lt_udp_open(&net.hn);
    HN_EQUAL(tenon_route_add(net.hn.stack, 1, &all, 0, &silent, 1), TENON_OK);
    HN_EQUAL(tenon_route_add(net.hn.stack, 1, &all, 0, &other, 2), TENON_OK);
    HN_EQUAL(tn_path_get(net.hn.stack, &path, &dst, 0), TENON_OK);
    for (unsigned ms = 0; ms < 6000; ms++) {
        to.ip = ms % 100 == 0 ? dst : tenon_ip4(0x0A100000U + ms);
        (void)tenon_udp_write(sock, &to, "scan", 4);
        hn_forget(&net.hn);
        hn_run_ms(&net.hn, 1);
    }
    HN_EQUAL(tn_path_check(net.hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &other));
    tn_path_put(net.hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&net.hn);
}

/* Connections that make no progress have their neighbour asked whether it is there. It is, and they doubt again:
 * that is no reason to ask it more often. */
static void reachable_doubted_often(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        struct tenon_udp *sock;
        struct tn_path *path;
        struct tenon_ip ip;

        link_open(v4, NULL);
        sock = lt_udp_open(&net.hn);
        ip = host_ip(0);
        HN_EQUAL(tn_path_get(net.hn.stack, &path, &ip, 0), TENON_OK);
        for (unsigned n = 0; n < 100 * SECONDS; n++) {
            send_to(sock, 0);
            look(1);
            tn_path_doubt(net.hn.stack, path);
            hn_run_ms(&net.hn, 10);
            look(1);
        }
        HN_EQUAL(net.asked[0], SECONDS);
        HN_EQUAL(net.datagrams, 100 * SECONDS);
        tn_path_put(net.hn.stack, path);
        tenon_udp_close(sock);
        hn_close(&net.hn);
    }
}

static const struct hn_test tests[] = {
    { "evicted_and_sent_to_again", "ARP-5 ND-8", evicted_and_sent_to_again },
    { "answered_after_eviction", "ARP-8 ND-19", answered_after_eviction },
    { "places_full", "ARP-5 ND-8 ND-19", places_full },
    { "scanned", "ARP-5 ARP-8", scanned },
    { "gateway_silent_while_scanned", "IP4-24", gateway_silent_while_scanned },
    { "reachable_doubted_often", "ARP-5 ND-8", reachable_doubted_often },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
