/* SPDX-License-Identifier: MIT */
/* The DHCP client against a server that the test plays: what it says and when, what it makes of good answers, and
 * that bad ones change nothing but a counter. */
#include "bench.h"
#include "services/dhcp.h"

enum { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE };
#define SERVER 0xC0000201U     /* 192.0.2.1 */
#define OTHER 0xC0000203U      /* 192.0.2.3, another server */
#define OURS 0xC000020AU       /* 192.0.2.10 */
#define ALL 0xFFFFFFFFU

/* What was heard from the client. */
struct call {
    unsigned type, secs, flags;
    tenon_u32 src, dst, xid, ciaddr, wanted, server;
    unsigned long long at_us;
    tenon_u8 client_id[64];
    unsigned client_id_bytes;
    char hostname[70];
    unsigned max_bytes;
};

/* A server's reply, which a test can bend before it is sent. */
struct answer {
    tenon_u8 bytes[1500];
    size_t n;
    struct sv_dgram dgram;
    unsigned netif;
};

static struct {
    struct tenon_dhcp dhcp;
    struct tenon_dhcp_conf conf;
    struct call calls[64];
    unsigned ncalls, changes;
    unsigned long long began_us;
    int silent[8];                              /* by type: not answered */
    int naks;                                   /* requests are refused */
    int conflict;                               /* somebody has the address that we probe */
    tenon_u32 server, yiaddr, mask, lease, t1, t2, mtu;
    tenon_u32 router, dns[4];
    unsigned ndns;
    void (*bend)(struct answer *answer, unsigned type);
} t;

/* ---- the server ---------------------------------------------------------------------------------------- */

static unsigned long long passed_us;    /* the clock of the bench wraps */
static tenon_u32 passed_last;

static unsigned long long test_us(void)
{
    passed_us += (tenon_u32)(sv.hn.now_us - passed_last);
    passed_last = sv.hn.now_us;
    return passed_us;
}

static void read_call(struct call *call, const struct sv_dgram *in)
{
    const tenon_u8 *p = in->bytes + 240, *const end = in->bytes + in->n;

    memset(call, 0, sizeof *call);
    call->at_us = test_us();
    call->src = in->src;
    call->dst = in->dst;
    HN_EQUAL(in->sport, 68);
    HN_CHECK(in->n >= 300 && in->n <= 548);
    HN_EQUAL(hn_get32(in->bytes), 0x01010600);
    HN_EQUAL(hn_get32(in->bytes + 236), 0x63825363);
    HN_EQUAL(hn_get32(in->bytes + 28), 0x02000000);
    HN_EQUAL(hn_get32(in->bytes + 16), 0);
    call->xid = hn_get32(in->bytes + 4);
    call->secs = hn_get16(in->bytes + 8);
    call->flags = hn_get16(in->bytes + 10);
    call->ciaddr = hn_get32(in->bytes + 12);
    while (p < end && *p != 255) {
        const tenon_u8 *value = p + 2;

        if (!HN_CHECK(p[0] != 0 && value + p[1] <= end))
            return;
        switch (p[0]) {
        case 53: call->type = value[0]; break;
        case 50: call->wanted = hn_get32(value); break;
        case 54: call->server = hn_get32(value); break;
        case 57: call->max_bytes = hn_get16(value); break;
        case 12: memcpy(call->hostname, value, p[1]); break;
        case 61:
            memcpy(call->client_id, value, p[1]);
            call->client_id_bytes = p[1];
            break;
        default: HN_EQUAL(p[0], 55);
        }
        p = value + p[1];
    }
    HN_CHECK(p < end);
}

static void add(struct answer *answer, unsigned option, const void *value, unsigned n)
{
    answer->bytes[answer->n] = (tenon_u8)option;
    answer->bytes[answer->n + 1] = (tenon_u8)n;
    memcpy(answer->bytes + answer->n + 2, value, n);
    answer->n += 2 + n;
}

static void add32(struct answer *answer, unsigned option, tenon_u32 value)
{
    tenon_u8 bytes[4];

    hn_put32(bytes, value);
    if (value != 0)
        add(answer, option, bytes, 4);
}

static void make_answer(struct answer *answer, const struct call *call, unsigned type)
{
    const tenon_u8 kind = (tenon_u8)type;
    tenon_u8 mac[6], value[16];

    memset(answer, 0, sizeof *answer);
    hn_put32(answer->bytes, 0x02010600);
    hn_put32(answer->bytes + 4, call->xid);
    hn_put32(answer->bytes + 12, call->ciaddr);
    hn_put32(answer->bytes + 16, type == NAK ? 0 : t.yiaddr);
    memcpy(answer->bytes + 28, hn_mac(mac, 0, 1), 6);
    hn_put32(answer->bytes + 236, 0x63825363);
    answer->n = 240;
    add(answer, 53, &kind, 1);
    add32(answer, 54, t.server);
    if (type != NAK) {
        add32(answer, 1, t.mask);
        add32(answer, 3, t.router);
        add32(answer, 51, t.lease);
        add32(answer, 58, t.t1);
        add32(answer, 59, t.t2);
        for (unsigned i = 0; i < t.ndns; i++)
            hn_put32(value + 4 * i, t.dns[i]);
        if (t.ndns > 0)
            add(answer, 6, value, 4 * t.ndns);
        hn_put16(value, t.mtu);
        if (t.mtu > 0)
            add(answer, 26, value, 2);
    }
    answer->netif = sv.netif;
    answer->dgram.src = t.server;
    answer->dgram.dst = call->ciaddr != 0 ? call->ciaddr : ALL;
    answer->dgram.sport = 67;
    answer->dgram.dport = 68;
}

static void send_answer(const struct call *call, unsigned type)
{
    struct answer answer;

    make_answer(&answer, call, type);
    if (t.bend != NULL)
        t.bend(&answer, type);
    answer.bytes[answer.n++] = 255;
    answer.dgram.bytes = answer.bytes;
    answer.dgram.n = answer.n;
    sv_send_on(answer.netif, &answer.dgram);
}

static void heard(const struct hn_sent *sent)
{
    struct sv_dgram in;
    struct call *call = &t.calls[t.ncalls % 64];
    tenon_u8 mac[6];

    sv_answer_arp(sent, SERVER);
    if (hn_get16(sent->bytes + 12) == 0x0806 && t.conflict && hn_get32(sent->bytes + 28) == 0)
        hn_arp(&sv.hn, sv.netif, NULL, 2, hn_mac(mac, 1, 66), hn_get32(sent->bytes + 38), sent->bytes + 6, 0);
    if (!sv_read(&in, sent) || in.dport != 67)
        return;
    read_call(call, &in);
    t.ncalls++;
    HN_CHECK(call->type != DISCOVER || call->wanted == 0);    /* none that was refused or is over */
    if (call->type == DISCOVER && !t.silent[DISCOVER])
        send_answer(call, OFFER);
    if (call->type == REQUEST && !t.silent[REQUEST])
        send_answer(call, t.naks ? NAK : ACK);
}

/* ---- the client ---------------------------------------------------------------------------------------- */

static void changed(struct tenon_dhcp *dhcp, void *app)
{
    HN_CHECK(dhcp == &t.dhcp && app == &t);
    t.changes++;
}

static tenon_u32 poll_dhcp(tenon_u32 now_us)
{
    (void)test_us();
    return tenon_dhcp_poll(&t.dhcp, now_us);
}

/* The instance and the server; the client begins with begin(). */
static void open_flags(unsigned flags)
{
    sv_open(flags);
    sv.poll = poll_dhcp;
    sv.heard = heard;
    memset(&t, 0, sizeof t);
    passed_us = 0;
    passed_last = sv.hn.now_us;
    t.server = SERVER;
    t.yiaddr = OURS;
    t.mask = 0xFFFFFF00;
    t.router = SERVER;
    t.lease = 86400;
    t.dns[0] = 0xC0000235;
    t.ndns = 1;
    tenon_dhcp_conf_default(&t.conf, sv.netif);
    t.conf.changed = changed;
    t.conf.app = &t;
    hn_run_ms(&sv.hn, 100);
    hn_forget(&sv.hn);
}

static void begin(void)
{
    HN_EQUAL(tenon_dhcp_start(&t.dhcp, sv.hn.stack, &t.conf, sv.hn.now_us), TENON_OK);
    t.began_us = test_us();
}

static void open_begin(void)
{
    open_flags(0);
    begin();
}

static void end(void)
{
    tenon_dhcp_stop(&t.dhcp, sv.hn.now_us);
    HN_EQUAL(sv_gateway(), 0);
    sv_close();
}

static const struct call *call_at(unsigned i)
{
    static const struct call none;

    return HN_CHECK(i < t.ncalls && t.ncalls - i <= 64) ? &t.calls[i % 64] : &none;
}

static unsigned mtu(void)
{
    struct tenon_netif_info info;

    HN_EQUAL(tenon_netif_get(sv.hn.stack, sv.netif, &info), TENON_OK);
    return info.conf.mtu;
}

static const char *state(void)
{
    return tenon_dhcp_state_name(t.dhcp.state);
}

#define STATE_IS(name) HN_CHECK(strcmp(state(), name) == 0 || !fprintf(stderr, "state is %s\n", state()))

/* ---- the usual way ------------------------------------------------------------------------------------- */

/* RFC 2131 3.1 */
static void init_server_answers(void)
{
    const struct call *discover, *request;

    open_flags(0);
    t.mtu = 1400;
    t.conf.hostname = "board-7";
    begin();
    sv_run(1200);
    STATE_IS("checking");
    HN_EQUAL(t.changes, 0);
    HN_EQUAL(sv_has("192.0.2.10"), -1);    /* it is probed first: RFC 5227 2.1 */
    sv_run(10000);
    STATE_IS("bound");
    HN_EQUAL(t.changes, 1);
    HN_EQUAL(t.ncalls, 2);
    discover = call_at(0);
    HN_EQUAL(discover->type, DISCOVER);
    HN_EQUAL(discover->src, 0);
    HN_EQUAL(discover->dst, ALL);
    HN_EQUAL(discover->flags, 0x8000);
    HN_EQUAL(discover->ciaddr, 0);
    HN_EQUAL(discover->client_id_bytes, 7);
    HN_EQUAL(discover->client_id[0], 1);
    HN_EQUAL(hn_get32(discover->client_id + 1), 0x02000000);
    HN_EQUAL(discover->max_bytes, 576);
    HN_CHECK(strcmp(discover->hostname, "board-7") == 0);
    request = call_at(1);
    HN_EQUAL(request->type, REQUEST);
    HN_EQUAL(request->src, 0);
    HN_EQUAL(request->dst, ALL);
    HN_EQUAL(request->xid, discover->xid);
    HN_EQUAL(request->wanted, OURS);
    HN_EQUAL(request->server, SERVER);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    HN_EQUAL(sv_gateway(), SERVER);
    HN_EQUAL(mtu(), 1400);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LEASE);
    HN_EQUAL(t.dhcp.lease.ndns, 1);
    HN_EQUAL(t.dhcp.lease.dns[0].w[3], 0xC0000235);
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) <= 86400 && tenon_dhcp_lease_left(&t.dhcp) > 86370);
    end();
}

/* RFC 2131 4.4.6 */
static void bound_stop(void)
{
    const struct tenon_ip server = tenon_ip4(SERVER);
    const struct call *release;
    tenon_u8 mac[6];

    open_flags(TENON_NETIF_NO_DAD);
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(tenon_neighbour_set(sv.hn.stack, sv.netif, &server, hn_mac(mac, 1, 1)), TENON_OK);
    tenon_dhcp_stop(&t.dhcp, sv.hn.now_us);
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    HN_EQUAL(sv_addresses(), 0);
    HN_EQUAL(sv_gateway(), 0);
    sv_run(1000);
    release = call_at(2);
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(release->type, RELEASE);
    HN_EQUAL(release->ciaddr, OURS);
    HN_EQUAL(release->server, SERVER);
    HN_EQUAL(release->src, OURS);
    HN_EQUAL(release->dst, SERVER);
    begin();    /* and once more */
    sv_run(3000);
    STATE_IS("bound");
    end();
}

/* RFC 2131 4.1: 4, 8, 16, 32, 64, 64 seconds, each one more or less; not all the same. */
static void selecting_silence(void)
{
    static const int want[] = { 4, 8, 16, 32, 64, 64 };
    int exact = 0;

    open_flags(0);
    t.silent[DISCOVER] = 1;
    t.conf.fallback = TENON_DHCP_NONE;
    begin();
    sv_run_s(200);
    HN_CHECK(call_at(0)->at_us - t.began_us <= 1000000);
    for (unsigned i = 0; i < 6; i++) {
        const long long gap = (long long)(call_at(i + 1)->at_us - call_at(i)->at_us);

        HN_CHECK(gap >= (want[i] - 1) * 1000000LL && gap <= (want[i] + 1) * 1000000LL);
        exact += gap == want[i] * 1000000LL;
        HN_EQUAL(call_at(i + 1)->type, DISCOVER);
        HN_CHECK(call_at(i + 1)->secs >= (unsigned)((1 << (i < 5 ? i : 5)) * 2));
    }
    HN_CHECK(exact < 6);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    HN_EQUAL(sv_addresses(), 0);
    end();
}

/* Nobody answers for a day: the waits stay what they are at most, and so do the seconds. */
static void selecting_silence_long(void)
{
    open_flags(0);
    t.silent[DISCOVER] = 1;
    t.conf.fallback = TENON_DHCP_NONE;
    begin();
    sv_run_s(275 * 64);
    HN_CHECK(t.ncalls > 257 && t.ncalls < 257 + 60);
    for (unsigned i = 1; i < 60; i++)
        HN_CHECK(call_at(t.ncalls - i)->at_us - call_at(t.ncalls - i - 1)->at_us >= 63 * 1000000ULL);
    sv_run_s(70000);
    HN_EQUAL(call_at(t.ncalls - 1)->secs, 0xFFFF);
    end();
}

/* Half as much and half as many more, where that is less than a second. */
static void selecting_silence_short(void)
{
    open_flags(0);
    t.silent[DISCOVER] = 1;
    t.conf.fallback = TENON_DHCP_NONE;
    t.conf.retry_ms = 200;
    t.conf.retry_max_ms = 300;
    begin();
    sv_run_s(15);
    HN_CHECK(t.ncalls > 30 && t.ncalls < 64);
    for (unsigned i = 1; i < t.ncalls; i++) {
        const unsigned long long gap = call_at(i)->at_us - call_at(i - 1)->at_us;

        HN_CHECK(gap >= (i == 1 ? 100000 : 150000) && gap <= (i == 1 ? 300000 : 450000));
    }
    end();
}

/* Nothing is ours, and nobody has to hear of that. */
static void selecting_stop(void)
{
    unsigned before;

    open_flags(0);
    t.silent[DISCOVER] = 1;
    begin();
    sv_run(2000);
    before = t.ncalls;
    tenon_dhcp_stop(&t.dhcp, sv.hn.now_us);
    sv_run(1000);
    HN_EQUAL(t.ncalls, before);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NOT_SENT], 0);
    HN_EQUAL(t.changes, 0);
    end();
}

static void nobody_to_tell(void)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.conf.changed = NULL;
    begin();
    sv_run(2000);
    STATE_IS("bound");
    end();
}

/* A lease counts from when it was asked for, however late the answer is (RFC 2131 4.4.1). */
static void requesting_answer_late(void)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.silent[REQUEST] = 1;
    t.conf.delay_ms = 0;
    t.lease = 1000;
    t.t1 = 500;
    t.t2 = 800;
    begin();
    sv_run(2900);
    HN_EQUAL(t.ncalls, 2);
    send_answer(call_at(1), ACK);
    sv_run(10);
    STATE_IS("bound");
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) <= 998);
    t.silent[REQUEST] = 0;
    sv_run_s(510);
    HN_CHECK(call_at(2)->at_us - call_at(1)->at_us <= 501 * 1000000ULL);
    end();
}

/* Which of several requests for an offer is acknowledged nobody can tell: the first may be. RFC 2131 4.4.1 */
static void requesting_answer_to_first(void)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.silent[REQUEST] = 1;
    t.conf.delay_ms = 0;
    t.lease = 1000;
    begin();
    sv_run_s(6);
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(call_at(1)->xid, call_at(2)->xid);
    send_answer(call_at(2), ACK);
    sv_run(10);
    STATE_IS("bound");
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) <= 994);
    end();
}

/* ---- routers ------------------------------------------------------------------------------------------- */

static unsigned default_routes(struct tenon_route_info *last)
{
    struct tenon_route_info info;
    unsigned n = 0;

    for (unsigned i = 0; tenon_route_get(sv.hn.stack, i, &info) == TENON_OK; i++) {
        if (info.prefix != 0)
            continue;
        *last = info;
        n++;
    }
    return n;
}

static void router_metric(void)
{
    struct tenon_route_info route;

    open_flags(TENON_NETIF_NO_DAD);
    t.conf.metric = 7;
    begin();
    sv_run(2000);
    HN_EQUAL(default_routes(&route), 1);
    HN_EQUAL(route.metric, 7);
    end();
    open_flags(TENON_NETIF_NO_DAD);
    t.router = 0;
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(default_routes(&route), 0);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NO_ROOM], 0);
    end();
}

/* The program has that route already: it is the program's, and stays. */
static void router_of_the_program(void)
{
    const struct tenon_ip all = tenon_ip4(0), server = tenon_ip4(SERVER);

    open_flags(TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_route_add(sv.hn.stack, sv.netif, &all, 0, &server, 0), TENON_OK);
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NO_ROOM], 0);
    tenon_dhcp_stop(&t.dhcp, sv.hn.now_us);
    HN_EQUAL(sv_gateway(), SERVER);
    sv_close();
}

/* No room for a route: the next answer is another try. */
static void router_no_room(void)
{
    const struct tenon_ip gateway = tenon_ip4(SERVER);
    struct tenon_ip net = tenon_ip4(0x0A000000);
    unsigned n = 0;

    open_flags(TENON_NETIF_NO_DAD);
    t.lease = 1000;
    t.t1 = 500;
    t.t2 = 800;
    while (n < 1000 && tenon_route_add(sv.hn.stack, sv.netif, &net, 24, &gateway, 0) == TENON_OK) {
        net.w[3] += 256;
        n++;
    }
    net.w[3] -= 256;    /* one for the link of the address */
    HN_EQUAL(tenon_route_remove(sv.hn.stack, sv.netif, &net, 24, &gateway), TENON_OK);
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(sv_gateway(), 0);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NO_ROOM], 1);
    net.w[3] -= 256;
    HN_EQUAL(tenon_route_remove(sv.hn.stack, sv.netif, &net, 24, &gateway), TENON_OK);
    sv_run_s(510);
    HN_EQUAL(sv_gateway(), SERVER);
    end();
}

/* ---- the fallback -------------------------------------------------------------------------------------- */

static void silence_link_local(void)
{
    struct tenon_ip ip;

    open_flags(0);
    t.silent[DISCOVER] = 1;
    begin();
    sv_run(14900);
    HN_EQUAL(sv_addresses(), 0);
    sv_run(12000);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LINK_LOCAL);
    HN_EQUAL(t.changes, 1);
    ip = t.dhcp.ll.ip;
    HN_EQUAL(ip.w[3] >> 16, 0xA9FE);
    HN_CHECK((ip.w[3] >> 8 & 0xFF) != 0 && (ip.w[3] >> 8 & 0xFF) != 0xFF);    /* RFC 3927 2.1 */
    sv_run_s(60);
    HN_EQUAL(call_at(t.ncalls - 1)->src, 0);    /* it asks on, and not from there (RFC 2131 4.1) */
    t.silent[DISCOVER] = 0;
    sv_run_s(80);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LEASE);
    HN_EQUAL(sv_addresses(), 1);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_FALLBACKS], 1);
    end();
}

/* RFC 2131 4.4.5 */
static void silence_static(void)
{
    open_flags(0);
    t.silent[DISCOVER] = 1;
    t.conf.fallback = TENON_DHCP_STATIC;
    t.conf.fallback_ms = 5000;
    t.conf.address = hn_ip("192.0.2.10");    /* the server will give the same */
    t.conf.prefix = 25;
    t.conf.router = hn_ip("192.0.2.100");
    begin();
    sv_run(5500);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_FALLBACKS], 1);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);    /* it is probed first */
    sv_run(9500);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_STATIC);
    HN_EQUAL(sv_has("192.0.2.10"), 25);
    HN_EQUAL(sv_gateway(), 0xC0000264);
    t.silent[DISCOVER] = 0;
    sv_run_s(80);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LEASE);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    HN_EQUAL(sv_gateway(), SERVER);
    t.silent[DISCOVER] = t.silent[REQUEST] = 1;
    sv_run_s(86400 + 30);    /* the server is gone for good: the fallback comes back */
    HN_EQUAL(t.dhcp.source, TENON_DHCP_STATIC);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_EXPIRED], 1);
    HN_EQUAL(sv_has("192.0.2.10"), 25);
    HN_EQUAL(sv_gateway(), 0xC0000264);
    end();
}

static void static_open(const char *address)
{
    open_flags(0);
    t.silent[DISCOVER] = 1;
    t.conf.fallback = TENON_DHCP_STATIC;
    t.conf.fallback_ms = 5000;
    t.conf.address = hn_ip(address);
    t.conf.prefix = 25;
    t.conf.router = hn_ip("192.0.2.100");
    begin();
}

/* Where there is room for one address alone, that of the fallback gives way, and comes back if it has to. */
static void static_room_for_one(void)
{
    struct tenon_ip other;
    tenon_u32 n = 0;

    static_open("192.0.2.20");
    sv_run_s(15);
    do {
        other = tenon_ip4(0x0A000001U + n++);
    } while (tenon_addr_add(sv.hn.stack, sv.netif, &other, 32) == TENON_OK);
    t.silent[DISCOVER] = 0;
    t.lease = 100;
    sv_run_s(65);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LEASE);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NO_ROOM], 0);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    HN_EQUAL(sv_has("192.0.2.20"), -1);
    t.silent[DISCOVER] = t.silent[REQUEST] = 1;
    sv_run_s(130);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_STATIC);
    HN_EQUAL(sv_has("192.0.2.20"), 25);
    end();
}

/* While what the server has given is probed, the other address is in use. */
static void static_until_bound(void)
{
    static_open("192.0.2.20");
    sv_run_s(15);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_STATIC);
    t.silent[DISCOVER] = 0;
    for (unsigned i = 0; i < 800 && strcmp(state(), "checking") != 0; i++)
        sv_run(100);
    STATE_IS("checking");
    HN_EQUAL(t.dhcp.source, TENON_DHCP_STATIC);
    HN_EQUAL(sv_has("192.0.2.20"), 25);
    sv_run_s(10);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LEASE);
    HN_EQUAL(sv_has("192.0.2.20"), -1);
    end();
}

static void static_stop(void)
{
    static_open("192.0.2.20");
    sv_run_s(15);
    HN_EQUAL(t.changes, 1);
    tenon_dhcp_stop(&t.dhcp, sv.hn.now_us);
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    HN_EQUAL(sv_addresses(), 0);
    end();
}

/* Without a link nobody can answer: the time until the fallback begins with the link. */
static void static_link_down(void)
{
    static_open("192.0.2.20");
    sv_run_s(1);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    sv_run_s(100);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_FALLBACKS], 0);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);
    sv_run_s(4);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_FALLBACKS], 0);
    sv_run_s(2);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_FALLBACKS], 1);
    end();
}

/* The request has the time of the discover, so that relays pass it on to the same servers. RFC 2131 3.1 (3) */
static void requesting_secs(void)
{
    open_flags(0);
    t.silent[REQUEST] = 1;
    t.conf.fallback = TENON_DHCP_NONE;
    begin();
    sv_run_s(40);
    HN_EQUAL(call_at(1)->type, REQUEST);
    HN_EQUAL(call_at(3)->type, REQUEST);
    for (unsigned i = 1; i < t.ncalls && call_at(i)->type == REQUEST; i++)
        HN_EQUAL(call_at(i)->secs, call_at(0)->secs);
    end();
}

/* ---- renewing ------------------------------------------------------------------------------------------ */

static void bound_open(tenon_u32 lease, tenon_u32 t1, tenon_u32 t2)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.lease = lease;
    t.t1 = t1;
    t.t2 = t2;
    t.mtu = 1400;
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(t.ncalls, 2);
}

/* At T1, from our address to our server, without options 50 and 54 (RFC 2131 table 5). */
static void bound_t1(void)
{
    const struct call *renew;

    bound_open(10000, 0, 0);
    sv_run_s(6000);
    renew = call_at(2);
    HN_EQUAL(renew->type, REQUEST);
    HN_CHECK(renew->at_us - call_at(1)->at_us <= 5000 * 1000000ULL);
    HN_CHECK(renew->at_us - call_at(1)->at_us >= 4840 * 1000000ULL);
    HN_EQUAL(renew->src, OURS);
    HN_EQUAL(renew->dst, SERVER);
    HN_EQUAL(renew->ciaddr, OURS);
    HN_EQUAL(renew->flags, 0);
    HN_EQUAL(renew->wanted, 0);
    HN_EQUAL(renew->server, 0);
    HN_CHECK(renew->xid != call_at(1)->xid);
    STATE_IS("bound");
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(t.changes, 2);
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) > 8800);
    sv_run_s(30000);
    HN_CHECK(t.ncalls >= 8 && t.ncalls <= 10);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    end();
}

/* From T2 on any server may say yes; between two messages half of what is left passes, and a minute at least.
 * RFC 2131 4.4.5 */
static void renewing_silence(void)
{
    bound_open(10000, 5000, 8000);
    t.silent[REQUEST] = 1;
    sv_run_s(8100);
    STATE_IS("rebinding");
    for (unsigned i = 3; i < t.ncalls; i++) {
        const unsigned long long gap = call_at(i)->at_us - call_at(i - 1)->at_us;
        const int rebinds = call_at(i)->dst == ALL;

        HN_CHECK(gap >= 60 * 1000000ULL || rebinds);
        HN_EQUAL(call_at(i)->src, OURS);
        HN_EQUAL(call_at(i)->ciaddr, OURS);
        HN_EQUAL(rebinds, i == t.ncalls - 1);
    }
    HN_CHECK(call_at(3)->at_us - call_at(2)->at_us <= 1501 * 1000000ULL);
    HN_CHECK(t.ncalls >= 8 && t.ncalls <= 10);    /* 1500, 750, 375, 187, 94, 60 seconds, T2 */
    t.silent[REQUEST] = 0;
    t.server = OTHER;
    t.router = OTHER;
    t.mtu = 1300;
    sv_run_s(1000);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.lease.server.w[3], OTHER);
    HN_EQUAL(sv_gateway(), OTHER);
    HN_EQUAL(mtu(), 1300);
    end();
}

/* Each has an xid of its own: the lease counts from the one that is acknowledged. RFC 2131 4.1, 4.4.1 */
static void renewing_answers_late(void)
{
    bound_open(1000, 100, 800);
    t.silent[REQUEST] = 1;
    sv_run_s(500);
    HN_EQUAL(t.ncalls, 4);
    send_answer(call_at(2), ACK);
    sv_run(10);
    STATE_IS("renewing");
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_OTHER_XID], 1);
    send_answer(call_at(3), ACK);
    sv_run(10);
    STATE_IS("bound");
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) <= 1000 - (test_us() - call_at(3)->at_us) / 1000000);
    end();
}

/* T2 is less than a minute away: then others are asked, not a minute later. */
static void renewing_close_to_t2(void)
{
    bound_open(1000, 500, 530);
    t.silent[REQUEST] = 1;
    sv_run_s(540);
    HN_EQUAL(call_at(2)->dst, SERVER);
    HN_EQUAL(call_at(3)->dst, ALL);
    HN_CHECK(call_at(3)->at_us - call_at(2)->at_us <= 31 * 1000000ULL);
    end();
}

/* Until T2 our server alone says yes. */
static void renewing_another_server(void)
{
    bound_open(1000, 500, 800);
    t.server = OTHER;
    sv_run_s(510);
    STATE_IS("renewing");
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_OTHER_SERVER], 1);
    sv_run_s(300);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.lease.server.w[3], OTHER);
    end();
}

/* RFC 2131 4.4.5 */
static void rebinding_silence(void)
{
    bound_open(1000, 500, 800);
    t.silent[REQUEST] = t.silent[DISCOVER] = 1;
    t.conf.fallback = TENON_DHCP_NONE;
    sv_run_s(997);
    STATE_IS("rebinding");
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    sv_run_s(4);
    HN_EQUAL(sv_addresses(), 0);
    HN_EQUAL(sv_gateway(), 0);
    HN_EQUAL(mtu(), 1500);
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    HN_EQUAL(tenon_dhcp_lease_left(&t.dhcp), 0);
    HN_EQUAL(call_at(t.ncalls - 1)->type, DISCOVER);
    HN_EQUAL(call_at(t.ncalls - 1)->src, 0);
    t.silent[REQUEST] = t.silent[DISCOVER] = 0;
    sv_run_s(10);
    STATE_IS("bound");
    end();
}

/* RFC 2131 4.4.5 */
static void renewing_nak(void)
{
    bound_open(1000, 500, 800);
    t.naks = 1;
    t.silent[DISCOVER] = 1;
    sv_run_s(510);
    HN_EQUAL(sv_addresses(), 0);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NAKS], 1);
    STATE_IS("selecting");
    end();
}

/* Another mask makes another address of it. */
static void renewing_other_mask(void)
{
    bound_open(1000, 500, 800);
    t.mask = 0xFFFF0000;
    sv_run_s(510);
    STATE_IS("bound");
    HN_EQUAL(sv_has("192.0.2.10"), 16);
    HN_EQUAL(sv_gateway(), SERVER);
    HN_EQUAL(mtu(), 1400);
    end();
}

/* ---- refusals ------------------------------------------------------------------------------------------ */

/* An offer that is refused each time is asked for ever more slowly. RFC 2131 3.1.4 */
static void requesting_naks(void)
{
    open_flags(0);
    t.naks = 1;
    t.conf.fallback = TENON_DHCP_NONE;
    t.conf.delay_ms = 0;
    begin();
    sv_run_s(600);
    HN_CHECK(call_at(2)->at_us - call_at(1)->at_us < 100000);    /* the first time at once */
    HN_CHECK(t.ncalls >= 2 * 8 && t.ncalls <= 2 * 20);
    HN_CHECK(call_at(t.ncalls - 2)->at_us - call_at(t.ncalls - 3)->at_us > 60 * 1000000ULL);
    t.naks = 0;
    sv_run_s(100);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.refused, 0);
    end();
}

/* RFC 2131 3.1.5 */
static void requesting_silence(void)
{
    unsigned requests = 0;

    open_flags(0);
    t.silent[REQUEST] = 1;
    t.lease = 0xFFFFFFFF;
    t.conf.fallback = TENON_DHCP_NONE;
    begin();
    sv_run_s(2);
    HN_EQUAL(tenon_dhcp_lease_left(&t.dhcp), 0);    /* offered for ever, but not given */
    sv_run_s(68);
    for (unsigned i = 1; i < t.ncalls; i++) {
        if (call_at(i)->type != REQUEST)
            break;
        requests++;
        HN_EQUAL(call_at(i)->xid, call_at(0)->xid);
    }
    HN_EQUAL(requests, 4);
    HN_EQUAL(call_at(5)->type, DISCOVER);
    HN_CHECK(call_at(5)->xid != call_at(0)->xid);
    end();
}

/* ---- conflicts ----------------------------------------------------------------------------------------- */

/* RFC 2131 3.1.5: decline, and ten seconds of silence. RFC 5227 2.1 */
static void checking_conflict(void)
{
    open_begin();
    t.conflict = 1;
    sv_run_s(5);
    STATE_IS("init");
    HN_EQUAL(sv_addresses(), 0);
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(call_at(2)->type, DECLINE);
    HN_EQUAL(call_at(2)->wanted, OURS);
    HN_EQUAL(call_at(2)->server, SERVER);
    HN_EQUAL(call_at(2)->ciaddr, 0);
    HN_EQUAL(call_at(2)->src, 0);
    HN_EQUAL(call_at(2)->dst, ALL);
    HN_EQUAL(call_at(2)->secs, 0);
    HN_EQUAL(t.changes, 0);
    t.conflict = 0;
    t.yiaddr = OURS + 1;
    sv_run_s(30);
    HN_CHECK(call_at(3)->at_us - call_at(2)->at_us >= 10 * 1000000ULL);
    STATE_IS("bound");
    HN_EQUAL(sv_has("192.0.2.11"), 24);
    end();
}

/* RFC 5227 2.4: the second conflict within ten seconds is one too many. */
static void bound_conflict(void)
{
    tenon_u8 mac[6];

    open_begin();
    sv_run_s(20);
    STATE_IS("bound");
    hn_arp(&sv.hn, sv.netif, NULL, 1, hn_mac(mac, 1, 66), OURS, NULL, OURS);
    sv_run(100);
    STATE_IS("bound");
    t.silent[DISCOVER] = 1;
    hn_arp(&sv.hn, sv.netif, NULL, 1, hn_mac(mac, 1, 66), OURS, NULL, OURS);
    sv_run(100);
    STATE_IS("init");
    HN_EQUAL(sv_addresses(), 0);
    HN_EQUAL(sv_gateway(), 0);
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(call_at(2)->type, DECLINE);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_DECLINED], 1);
    end();
}

/* Addresses that somebody has each time do not keep the fallback away. */
static void conflicts_fall_back(void)
{
    open_begin();
    t.conflict = 1;
    sv_run_s(20);
    t.conflict = 0;
    t.silent[DISCOVER] = 1;
    sv_run_s(90);    /* ten conflicts: one address a minute */
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LINK_LOCAL);
    end();
}

static void address_removed(void)
{
    const struct tenon_ip ip = tenon_ip4(OURS);

    bound_open(1000, 500, 800);
    HN_EQUAL(tenon_addr_remove(sv.hn.stack, sv.netif, &ip), TENON_OK);
    sv_run_s(5);
    STATE_IS("bound");    /* again */
    HN_EQUAL(t.changes, 3);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    end();
}

/* ---- an address that we had ---------------------------------------------------------------------------- */

static void wanted_open(void)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.conf.wanted = tenon_ip4(OURS);
}

/* RFC 2131 3.2, 4.4.2 */
static void reboot_ack(void)
{
    wanted_open();
    t.server = OTHER;
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(t.ncalls, 1);
    HN_EQUAL(call_at(0)->type, REQUEST);
    HN_EQUAL(call_at(0)->wanted, OURS);
    HN_EQUAL(call_at(0)->server, 0);
    HN_EQUAL(call_at(0)->ciaddr, 0);
    HN_EQUAL(call_at(0)->src, 0);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    end();
}

/* RFC 2131 3.2 */
static void reboot_nak(void)
{
    wanted_open();
    t.naks = 1;
    begin();
    sv_run(1000);
    t.naks = 0;
    t.yiaddr = OURS + 1;
    sv_run(3000);
    STATE_IS("bound");
    HN_EQUAL(sv_has("192.0.2.11"), 24);
    end();
}

/* RFC 2131 3.2 */
static void reboot_silence(void)
{
    wanted_open();
    t.silent[REQUEST] = 1;
    begin();
    sv_run_s(14);
    HN_EQUAL(call_at(1)->type, REQUEST);
    HN_EQUAL(call_at(2)->type, DISCOVER);
    end();
}

static void link_goes(int s)
{
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    sv_run_s((tenon_u32)s);
    STATE_IS("down");
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);
}

/* The time is of looking for the network again, not of the days before (RFC 2131 2): relays may take long ones for a
 * server that is down. */
static void link_down_secs(void)
{
    bound_open(1000000, 500000, 800000);
    sv_run_s(200000);
    link_goes(10);
    sv_run(100);
    HN_EQUAL(call_at(2)->type, REQUEST);
    HN_EQUAL(call_at(2)->wanted, OURS);
    HN_CHECK(call_at(2)->secs <= 1);
    end();
}

/* A link that comes up later than the program is no reason to ask for another address. */
static void reboot_link_late(void)
{
    wanted_open();
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    begin();
    sv_run_s(20);
    STATE_IS("down");
    HN_EQUAL(t.ncalls, 0);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(t.ncalls, 1);
    HN_EQUAL(call_at(0)->type, REQUEST);
    HN_EQUAL(call_at(0)->wanted, OURS);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    end();
}

/* RFC 2131 3.7: the same network? */
static void bound_link_down_up(void)
{
    bound_open(1000, 500, 800);
    link_goes(10);
    sv_run(100);
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(call_at(2)->wanted, OURS);
    HN_EQUAL(call_at(2)->src, 0);
    STATE_IS("bound");
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    t.naks = 1;
    t.silent[DISCOVER] = 1;
    link_goes(1);
    sv_run_s(1);
    HN_EQUAL(sv_addresses(), 0);
    end();
}

/* Nobody knows whether it is the same network: the lease is used (RFC 2131 3.2.4), and asked for until
 * somebody does. */
static void reboot_link_silence(void)
{
    bound_open(100000, 50000, 80000);
    t.silent[REQUEST] = 1;
    link_goes(10);
    sv_run_s(200);
    STATE_IS("rebooting");
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    HN_EQUAL(sv_gateway(), SERVER);
    HN_EQUAL(t.changes, 1);
    HN_CHECK(t.ncalls >= 7 && t.ncalls <= 9);    /* after 4, 8, 16, 32, 64, 64 seconds */
    for (unsigned i = 2; i < t.ncalls; i++) {
        HN_EQUAL(call_at(i)->src, 0);
        HN_EQUAL(call_at(i)->wanted, OURS);
        HN_CHECK(call_at(i)->xid != call_at(i - 1)->xid);
    }
    t.silent[REQUEST] = 0;
    sv_run_s(66);
    STATE_IS("bound");
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) > 99900);
    t.silent[REQUEST] = t.silent[DISCOVER] = t.naks = 1;
    link_goes(10);
    sv_run_s(200);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    t.silent[REQUEST] = 0;
    sv_run_s(66);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NAKS], 1);
    HN_EQUAL(sv_has("192.0.2.10"), -1);
    end();
}

/* The link goes while the address is probed: it is probed again, and used when nobody says anything. */
static void checking_link_down_up(void)
{
    open_flags(0);
    t.conf.fallback = TENON_DHCP_NONE;
    t.conf.retry_ms = 200;
    begin();
    while (t.dhcp.state != TENON_DHCP_CHECKING && t.ncalls < 3)
        sv_run(10);
    t.silent[REQUEST] = t.silent[DISCOVER] = 1;
    link_goes(1);
    sv_run_s(3);
    STATE_IS("rebooting");
    HN_CHECK(t.ncalls >= 5);
    HN_EQUAL(t.changes, 0);
    sv_run_s(30);
    STATE_IS("rebooting");
    HN_EQUAL(t.dhcp.source, TENON_DHCP_LEASE);
    HN_EQUAL(t.changes, 1);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    t.naks = 1;
    t.silent[REQUEST] = 0;
    sv_run_s(66);
    HN_EQUAL(sv_has("192.0.2.10"), -1);
    HN_EQUAL(t.changes, 2);
    end();
}

/* RFC 2131 3.7, 4.4.2: the link was away between two polls. Once is once, and who looked for a server begins anew. */
static void link_bounces(void)
{
    bound_open(1000, 500, 800);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);
    t.silent[REQUEST] = 1;
    sv_run(100);
    STATE_IS("rebooting");
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(call_at(2)->wanted, OURS);
    HN_EQUAL(call_at(2)->src, 0);
    t.silent[REQUEST] = 0;
    sv_run_s(30);
    STATE_IS("bound");
    HN_EQUAL(t.ncalls, 4);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);    /* it is up: nothing has happened */
    sv_run_s(10);
    HN_EQUAL(t.ncalls, 4);
    end();
    open_flags(0);
    t.silent[DISCOVER] = 1;
    begin();
    sv_run_s(17);
    HN_EQUAL(t.ncalls, 3);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);
    sv_run_s(2);
    HN_EQUAL(t.ncalls, 4);
    HN_CHECK(call_at(3)->secs <= 1);
    end();
}

/* RFC 2131 4.4.5 */
static void down_lease_over(void)
{
    bound_open(1000, 500, 800);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    sv_run_s(1001);
    STATE_IS("down");
    HN_EQUAL(sv_addresses(), 0);
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 1), TENON_OK);
    sv_run_s(3);
    STATE_IS("bound");
    end();
}

/* What happens to the address meanwhile changes nothing of that there is no link; who stops says nothing. */
static void down_removed_stop(void)
{
    const struct tenon_ip ip = tenon_ip4(OURS);
    tenon_u32 sent;

    bound_open(1000, 500, 800);
    sent = t.dhcp.stats[TENON_DHCP_STAT_SENT];
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    sv_run_s(1);
    tenon_dhcp_stop(&t.dhcp, sv.hn.now_us);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_SENT], sent);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_NOT_SENT], 0);
    end();
    bound_open(1000, 500, 800);
    HN_EQUAL(tenon_netif_link(sv.hn.stack, sv.netif, 0), TENON_OK);
    sv_run_s(1);
    HN_EQUAL(tenon_addr_remove(sv.hn.stack, sv.netif, &ip), TENON_OK);
    sv_run_s(5);
    STATE_IS("down");
    HN_EQUAL(t.dhcp.source, TENON_DHCP_NONE);
    end();
}

/* ---- answers that are not good ------------------------------------------------------------------------- */

/* What bend() does to each answer, and what it is counted as. The bytes are those of make_answer(): options from 240
 * on, 53 first (3 bytes), then 54 (6 bytes). */
static const struct bad {
    const char *name;
    unsigned type;                  /* of the answers that are bent */
    int at;                         /* from here on stand the n bytes ...; -1: they are options behind all others */
    unsigned n;
    const char *bytes;
    enum tenon_dhcp_stat stat;
} bads[] = {
    { "a request", OFFER, 0, 1, "\1", TENON_DHCP_STAT_BAD_HEADER },
    { "token ring", OFFER, 1, 1, "\6", TENON_DHCP_STAT_BAD_HEADER },
    { "long hardware address", OFFER, 2, 1, "\20", TENON_DHCP_STAT_BAD_HEADER },
    { "no cookie", OFFER, 236, 1, "\0", TENON_DHCP_STAT_BAD_HEADER },
    { "another xid", OFFER, 7, 1, "\0", TENON_DHCP_STAT_OTHER_XID },
    { "another host", OFFER, 33, 1, "\2", TENON_DHCP_STAT_OTHER_CLIENT },
    { "no type", OFFER, 240, 1, "\202", TENON_DHCP_STAT_UNEXPECTED },
    { "type 0", OFFER, 242, 1, "\0", TENON_DHCP_STAT_UNEXPECTED },
    { "an ack", OFFER, 242, 1, "\5", TENON_DHCP_STAT_UNEXPECTED },
    { "a nak", OFFER, 242, 1, "\6", TENON_DHCP_STAT_UNEXPECTED },
    { "an offer", ACK, 242, 1, "\2", TENON_DHCP_STAT_UNEXPECTED },
    { "type of two bytes", OFFER, -1, 4, "\65\2\2\2", TENON_DHCP_STAT_BAD_OPTION },
    { "no server", OFFER, 243, 1, "\202", TENON_DHCP_STAT_OTHER_SERVER },
    { "server 0.0.0.0", OFFER, 245, 4, "\0\0\0\0", TENON_DHCP_STAT_OTHER_SERVER },
    { "server 255.255.255.255", OFFER, 245, 4, "\377\377\377\377", TENON_DHCP_STAT_OTHER_SERVER },
    { "server of five bytes", OFFER, -1, 7, "\66\5\1\1\1\1\1", TENON_DHCP_STAT_BAD_OPTION },
    { "another server", ACK, 248, 1, "\3", TENON_DHCP_STAT_OTHER_SERVER },
    { "past the end", OFFER, -1, 2, "\2\377", TENON_DHCP_STAT_BAD_OPTION },
    { "address 0.0.0.0", OFFER, 16, 4, "\0\0\0\0", TENON_DHCP_STAT_BAD_ADDRESS },
    { "address 127.0.0.1", OFFER, 16, 4, "\177\0\0\1", TENON_DHCP_STAT_BAD_ADDRESS },
    { "a group", OFFER, 16, 4, "\340\0\0\1", TENON_DHCP_STAT_BAD_ADDRESS },
    { "broadcast", OFFER, 16, 4, "\300\0\2\377", TENON_DHCP_STAT_BAD_ADDRESS },
    { "the network itself", OFFER, 16, 4, "\300\0\2\0", TENON_DHCP_STAT_BAD_ADDRESS },
    { "a mask with a hole", OFFER, -1, 6, "\1\4\377\377\0\1", TENON_DHCP_STAT_BAD_ADDRESS },
    { "a mask of three bytes", OFFER, -1, 5, "\1\3\377\377\377", TENON_DHCP_STAT_BAD_OPTION },
    { "another address", ACK, 16, 4, "\300\0\2\77", TENON_DHCP_STAT_BAD_ADDRESS },
    { "lease of 0", OFFER, -1, 6, "\63\4\0\0\0\0", TENON_DHCP_STAT_BAD_LEASE },
    { "lease of 9 s", ACK, -1, 6, "\63\4\0\0\0\11", TENON_DHCP_STAT_BAD_LEASE },
    { "routers of 6 bytes", OFFER, -1, 8, "\3\6\1\2\3\4\5\6", TENON_DHCP_STAT_BAD_OPTION },
    { "no servers for names", OFFER, -1, 2, "\6\0", TENON_DHCP_STAT_BAD_OPTION },
    { "another client id", OFFER, -1, 9, "\75\7\1\2\0\0\0\0\2", TENON_DHCP_STAT_OTHER_CLIENT },
    { "a client id of another kind", OFFER, -1, 9, "\75\7\6\2\0\0\0\0\1", TENON_DHCP_STAT_OTHER_CLIENT },
    { "a longer client id", OFFER, -1, 10, "\75\10\1\2\0\0\0\0\1\1", TENON_DHCP_STAT_OTHER_CLIENT },
    { "an empty client id", OFFER, -1, 2, "\75\0", TENON_DHCP_STAT_OTHER_CLIENT },
    { "overload of 0 bytes", OFFER, -1, 2, "\64\0", TENON_DHCP_STAT_BAD_OPTION },
    { "overload with rubbish", OFFER, -1, 3, "\64\1\1", TENON_DHCP_STAT_BAD_OPTION },
};

static const struct bad *bad;

static void bend_bad(struct answer *answer, unsigned type)
{
    if (type != bad->type)
        return;
    memset(answer->bytes + 108, 7, 128);    /* as a file that is none: option 7 of 7 bytes, to its end and past it */
    memcpy(answer->bytes + (bad->at < 0 ? answer->n : (size_t)bad->at), bad->bytes, bad->n);
    if (bad->at < 0)
        answer->n += bad->n;
    if (bad->bytes[0] == 2 && bad->n == 2)
        answer->bytes[answer->n - 1] = 255;
}

/* Each is counted as what it is, and all of it is as if nothing had come. RFC 2131 4.4.1, RFC 6842 3 */
static void bad_answers(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(bads); i++) {
        bad = &bads[i];
        hn_row = bad->name;
        open_flags(TENON_NETIF_NO_DAD);
        t.bend = bend_bad;
        begin();
        sv_run(2000);
        HN_EQUAL(t.dhcp.stats[bad->stat], 1);
        HN_CHECK(strcmp(state(), bad->type == OFFER ? "selecting" : "requesting") == 0);
        HN_EQUAL(sv_addresses(), 0);
        t.bend = NULL;
        sv_run_s(6);
        STATE_IS("bound");
        end();
    }
    hn_row = "";
}

static void send_again(const struct call *call, unsigned type)
{
    send_answer(call, type);
    sv_run(10);
}

static void bend_length(struct answer *answer, unsigned type)
{
    (void)type;
    if (answer->n < 400)
        answer->n = 238;    /* with the last option 239 */
}

static void bend_long(struct answer *answer, unsigned type)
{
    (void)type;
    answer->n = 577;
}

static void bend_port(struct answer *answer, unsigned type)
{
    (void)type;
    answer->dgram.sport = 1067;
}

static void bend_netif(struct answer *answer, unsigned type)
{
    (void)type;
    answer->netif = 2;
}

/* Too short and too long, from elsewhere, at a time when nobody waits, twice. RFC 2131 4.4.1 */
static void answers_unasked(void)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.silent[DISCOVER] = t.silent[REQUEST] = 1;
    HN_EQUAL(hn_netif(&sv.hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6), 2);
    begin();
    sv_run(1100);
    t.bend = bend_length;
    send_again(call_at(0), OFFER);
    t.bend = bend_long;
    send_again(call_at(0), OFFER);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_BAD_LENGTH], 2);
    t.bend = bend_port;
    send_again(call_at(0), OFFER);
    t.bend = bend_netif;
    send_again(call_at(0), OFFER);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_OTHER_SOURCE], 2);
    t.bend = NULL;
    STATE_IS("selecting");
    send_answer(call_at(0), OFFER);
    send_again(call_at(0), OFFER);    /* both before the client looks */
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_OFFERS], 1);
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_UNEXPECTED], 1);
    send_again(call_at(1), ACK);
    STATE_IS("bound");
    send_again(call_at(1), ACK);
    send_again(call_at(1), NAK);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_UNEXPECTED], 3);
    end();
}

/* ---- times that a server may say ----------------------------------------------------------------------- */

/* RFC 2131 4.4.5 */
static void lease_times(void)
{
    static const struct {
        const char *name;
        tenon_u32 lease, t1, t2, min1, max1, min2, max2;
    } rows[] = {
        { "all said", 1000, 100, 200, 100, 100, 200, 200 },
        { "none said", 6400, 0, 0, 3100, 3200, 5400, 5600 },
        { "T1 after T2", 6400, 4000, 3000, 3100, 3200, 5400, 5600 },
        { "T1 is T2", 6400, 4000, 4000, 3100, 3200, 5400, 5600 },
        { "T2 is the end", 6400, 3000, 6400, 3100, 3200, 5400, 5600 },
        { "T2 missing", 6400, 3000, 0, 3000, 3000, 5400, 5600 },
        { "T1 missing", 6400, 0, 5000, 3100, 3200, 5000, 5000 },
        { "T2 missing, T1 after its default", 6400, 6000, 0, 3100, 3200, 5400, 5600 },
        { "T1 missing, T2 before its default", 6400, 0, 3000, 3100, 3200, 5400, 5600 },
        { "T1 of a second", 6400, 1, 4000, 3100, 3200, 5400, 5600 },
        { "the shortest", 10, 0, 0, 5, 5, 8, 8 },
        { "68 years", 0x80000000U, 0, 0, 0x1E000000, 0x20000000, 0x36000000, 0x38000000 },
        { "for ever", 0xFFFFFFFFU, 0, 0, 0x1E000000, 0x20000000, 0x36000000, 0x38000000 },
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i].name;
        bound_open(rows[i].lease, rows[i].t1, rows[i].t2);
        HN_CHECK(t.dhcp.lease.t1_s >= rows[i].min1 && t.dhcp.lease.t1_s <= rows[i].max1);
        HN_CHECK(t.dhcp.lease.t2_s >= rows[i].min2 && t.dhcp.lease.t2_s <= rows[i].max2);
        if (rows[i].lease == 0xFFFFFFFFU)
            HN_EQUAL(tenon_dhcp_lease_left(&t.dhcp), 0xFFFFFFFFU);
        sv_run_s(3600);
        if (rows[i].lease >= 0x80000000U)
            HN_EQUAL(t.ncalls, 2);
        else
            HN_CHECK(t.ncalls > 2 && t.ncalls <= 2 + 3600 / 5);
        STATE_IS("bound");
        end();
    }
    hn_row = "";
}

/* ---- options ------------------------------------------------------------------------------------------- */

/* Options in `file` and `sname` (RFC 2132 9.3), a list in two options (RFC 3396), our identifier (RFC 6842),
 * padding. */
static void bend_odd(struct answer *answer, unsigned type)
{
    static const tenon_u8 file[] = { 0, 0, 42, 4, 192, 0, 2, 99, 255 };
    static const tenon_u8 sname[] = { 6, 8, 192, 0, 2, 54, 192, 0, 2, 55 };
    static const tenon_u8 id[] = { 1, 2, 0, 0, 0, 0, 1 };
    static const tenon_u8 routers[] = { 127, 0, 0, 1, 192, 0, 2, 7 };
    const tenon_u8 both = 3;

    (void)type;
    memcpy(answer->bytes + 108, file, sizeof file);
    memcpy(answer->bytes + 44, sname, sizeof sname);
    add(answer, 52, &both, 1);
    add(answer, 61, id, 7);
    add(answer, 3, routers, 8);
    add(answer, 6, "\300\0\2\70", 4);
    add(answer, 250, "what is this", 12);
    answer->bytes[answer->n++] = 0;
}

/* RFC 2132 9.3, RFC 3396, RFC 6842 */
static void odd_options(void)
{
    open_flags(TENON_NETIF_NO_DAD);
    t.bend = bend_odd;
    t.mask = 0;
    t.mtu = 1501;
    begin();
    sv_run(2000);
    STATE_IS("bound");
    HN_EQUAL(t.dhcp.lease.prefix, 24);    /* class C */
    HN_EQUAL(t.dhcp.lease.ndns, 3);
    HN_EQUAL(t.dhcp.lease.dns[1].w[3], 0xC0000238);
    HN_EQUAL(t.dhcp.lease.dns[2].w[3], 0xC0000236);
    HN_EQUAL(t.dhcp.lease.nntp, 1);
    HN_EQUAL(t.dhcp.lease.ntp[0].w[3], 0xC0000263);
    HN_EQUAL(t.dhcp.lease.nrouters, 2);
    HN_EQUAL(t.dhcp.lease.routers[1].w[3], 0xC0000207);
    HN_EQUAL(mtu(), 1500);    /* not more than it was */
    end();
}

/* RFC 2132 9.14 */
static void client_id(void)
{
    static const tenon_u8 id[] = { 0, 'b', 'o', 'a', 'r', 'd' };

    open_flags(TENON_NETIF_NO_DAD);
    t.conf.client_id = id;
    t.conf.client_id_bytes = sizeof id;
    begin();
    sv_run(2000);
    HN_EQUAL(call_at(1)->client_id_bytes, 6);
    HN_CHECK(memcmp(call_at(1)->client_id, id, 6) == 0);
    end();
}

static const struct said_id {
    const char *name;
    const char *bytes;
    unsigned n;
    int ours;
} said_ids[] = {
    { "ours", "\1board", 6, 1 },
    { "another", "\1boarx", 6, 0 },
    { "its beginning", "\1bo", 3, 0 },
    { "longer", "\1board\0", 7, 0 },
};

static const struct said_id *said_id;

static void bend_id(struct answer *answer, unsigned type)
{
    (void)type;
    add(answer, 61, said_id->bytes, said_id->n);
}

/* RFC 6842 3 */
static void client_id_of_another(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(said_ids); i++) {
        said_id = &said_ids[i];
        hn_row = said_id->name;
        open_flags(TENON_NETIF_NO_DAD);
        t.bend = bend_id;
        t.conf.client_id = (const tenon_u8 *)"\1board";
        t.conf.client_id_bytes = 6;
        begin();
        sv_run(2000);
        HN_CHECK(strcmp(state(), said_id->ours ? "bound" : "selecting") == 0);
        HN_EQUAL(t.dhcp.stats[TENON_DHCP_STAT_OTHER_CLIENT], said_id->ours ? 0 : 1);
        end();
    }
    hn_row = "";
}

/* Without a mask by class (RFC 791 3.2); two addresses of a link of two are both hosts (RFC 3021). */
static void masks(void)
{
    static const struct {
        const char *name;
        tenon_u32 yiaddr, mask;
        unsigned prefix;
    } rows[] = {
        { "class A", 0x0A00000A, 0, 8 },
        { "the last of class A", 0x7EFFFFFE, 0, 8 },
        { "the first of class B", 0x80000001, 0, 16 },
        { "the last of class B", 0xBFFFFFFE, 0, 16 },
        { "the first of class C", 0xC0000001, 0, 24 },
        { "one of two", 0xC000020A, 0xFFFFFFFE, 31 },
        { "the other", 0xC000020B, 0xFFFFFFFE, 31 },
        { "one alone", 0xC000020B, 0xFFFFFFFF, 32 },
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i].name;
        open_flags(TENON_NETIF_NO_DAD);
        t.yiaddr = rows[i].yiaddr;
        t.mask = rows[i].mask;
        t.router = 0;
        begin();
        sv_run(2000);
        STATE_IS("bound");
        HN_EQUAL(t.dhcp.lease.prefix, rows[i].prefix);
        end();
    }
    hn_row = "";
}

/* ---- the caller, the core ------------------------------------------------------------------------------ */

static void wrong_conf(struct tenon_dhcp_conf conf)
{
    HN_EQUAL(tenon_dhcp_start(&t.dhcp, sv.hn.stack, &conf, sv.hn.now_us), TENON_EINVAL);
}

static void start_wrong(void)
{
    const struct tenon_addr at = { tenon_ip_any(), 68, 0 };
    static const struct tenon_udp_events none = { NULL, NULL };
    const struct tenon_netif_conf bare = { .mtu = 1500, .caps = TENON_CAP_NO_LINK };
    struct tenon_dhcp_conf conf;
    struct tenon_udp *sock;

    open_flags(0);
    conf = t.conf, conf.netif = 2, wrong_conf(conf);
    conf = t.conf, conf.hostname = "a123456789b123456789c123456789d123456789e123456789f123456789g123", wrong_conf(conf);
    conf = t.conf, conf.retry_ms = 1, wrong_conf(conf);
    conf = t.conf, conf.retry_max_ms = 1000, wrong_conf(conf);
    conf = t.conf, conf.client_id = (const tenon_u8 *)"x", conf.client_id_bytes = 1, wrong_conf(conf);
    conf = t.conf, conf.client_id = (const tenon_u8 *)"x", conf.client_id_bytes = 33, wrong_conf(conf);
    conf = t.conf, conf.retry_max_ms = 0x1000000, wrong_conf(conf);
    conf = t.conf, conf.delay_ms = 0x1000000, wrong_conf(conf);
    conf = t.conf, conf.wanted = hn_ip("fe80::1"), wrong_conf(conf);
    conf = t.conf, conf.wanted = hn_ip("224.0.0.1"), wrong_conf(conf);
    conf = t.conf, conf.fallback = TENON_DHCP_STATIC, wrong_conf(conf);
    conf.address = hn_ip("192.0.2.20"), conf.prefix = 33, wrong_conf(conf);
    conf = t.conf, conf.fallback = TENON_DHCP_LEASE, wrong_conf(conf);
    HN_EQUAL(tenon_udp_open(sv.hn.stack, &sock, &none, NULL), TENON_OK);
    HN_EQUAL(tenon_udp_bind(sock, &at), TENON_OK);
    for (unsigned i = 0; i < 5000; i++)    /* nothing is left behind: there are not so many sockets */
        HN_EQUAL(tenon_dhcp_start(&t.dhcp, sv.hn.stack, &t.conf, sv.hn.now_us), TENON_EINUSE);
    tenon_udp_close(sock);
    HN_EQUAL(tenon_netif_add(sv.hn.stack, &bare), 2);
    conf = t.conf, conf.netif = 2, wrong_conf(conf);    /* nobody there has an address of Ethernet */
    HN_EQUAL(tenon_dhcp_poll(&t.dhcp, sv.hn.now_us), TENON_SVC_WAIT_MAX_US);
    begin();
    wrong_conf(t.conf);    /* started already */
    end();
}

/* Without buffers nothing is sent, and it is tried again; without room for an address it is asked for later. */
static void no_memory(void)
{
    const struct tenon_ip ip = hn_ip("198.51.100.1");
    struct tenon_ip more = ip;

    open_flags(TENON_NETIF_NO_DAD);
    sv.hn.buf_fail = -1;
    begin();
    sv_run(1100);
    HN_EQUAL(t.ncalls, 0);
    HN_CHECK(t.dhcp.stats[TENON_DHCP_STAT_NOT_SENT] >= 1 && t.dhcp.stats[TENON_DHCP_STAT_NOT_SENT] <= 8);
    sv.hn.buf_fail = 0;
    for (unsigned i = 0; i < 16; i++, more.w[3]++)
        HN_EQUAL(tenon_addr_add(sv.hn.stack, sv.netif, &more, 24), TENON_OK);
    sv_run_s(20);
    HN_CHECK(t.dhcp.stats[TENON_DHCP_STAT_NO_ROOM] >= 3);
    HN_EQUAL(sv_has("192.0.2.10"), -1);
    HN_EQUAL(tenon_addr_remove(sv.hn.stack, sv.netif, &ip), TENON_OK);
    sv_run_s(40);
    HN_EQUAL(sv_has("192.0.2.10"), 24);
    end();
}

static void lack_after_offer(struct answer *answer, unsigned type)
{
    (void)answer;
    sv_lack_buffers(type == OFFER);
}

/* The request for an offer cannot leave: no server is silent for that, and it is not tried all the time. */
static void requesting_no_buffer(void)
{
    unsigned long long again_us;

    open_flags(TENON_NETIF_NO_DAD);
    t.bend = lack_after_offer;
    t.silent[REQUEST] = 1;
    begin();
    sv_run_s(30);
    STATE_IS("requesting");
    HN_EQUAL(t.ncalls, 1);
    HN_CHECK(t.dhcp.stats[TENON_DHCP_STAT_NOT_SENT] > 20 && t.dhcp.stats[TENON_DHCP_STAT_NOT_SENT] < 40);
    sv_lack_buffers(0);
    again_us = test_us();
    sv_run_s(50);
    HN_EQUAL(t.ncalls, 5);
    HN_CHECK(call_at(1)->at_us - again_us <= 1000000);
    for (unsigned i = 2; i < 5; i++) {
        const unsigned long long gap = call_at(i)->at_us - call_at(i - 1)->at_us;

        HN_EQUAL(call_at(i)->type, REQUEST);
        HN_CHECK(gap >= ((2U << (i - 1)) - 1) * 1000000ULL && gap <= ((2U << (i - 1)) + 1) * 1000000ULL);
    }
    t.silent[REQUEST] = 0;
    t.bend = NULL;
    sv_run_s(40);
    STATE_IS("bound");
    end();
}

/* A lease is renewed soon after there are buffers, not a minute later or at half of what is left. */
static void renewing_no_buffer(void)
{
    bound_open(1000, 500, 800);
    sv_run_s(490);
    sv_lack_buffers(1);
    sv_run_s(20);
    STATE_IS("renewing");
    HN_EQUAL(t.ncalls, 2);
    sv_lack_buffers(0);
    sv_run(1100);
    STATE_IS("bound");
    HN_EQUAL(t.ncalls, 3);
    HN_CHECK(tenon_dhcp_lease_left(&t.dhcp) >= 998);
    end();
}

static void names(void)
{
    HN_CHECK(strcmp(tenon_dhcp_state_name(TENON_DHCP_REBINDING), "rebinding") == 0);
    HN_CHECK(strcmp(tenon_dhcp_state_name((enum tenon_dhcp_state)99), "?") == 0);
    HN_CHECK(strcmp(tenon_dhcp_stat_name(TENON_DHCP_STAT_BAD_LEASE), "bad_lease") == 0);
    HN_CHECK(tenon_dhcp_stat_name(TENON_DHCP_STAT_COUNT) == NULL);
}

static const struct hn_test tests[] = {
    { "init_server_answers", "DHCP-1 DHCP-4 DHCP-6 DHCP-11", init_server_answers },
    { "bound_stop", "DHCP-4", bound_stop },
    { "selecting_silence", "DHCP-3", selecting_silence },
    { "selecting_silence_long", "DHCP-3", selecting_silence_long },
    { "selecting_silence_short", "DHCP-3", selecting_silence_short },
    { "selecting_stop", "", selecting_stop },
    { "requesting_secs", "DHCP-4", requesting_secs },
    { "link_down_secs", "DHCP-4", link_down_secs },
    { "nobody_to_tell", "", nobody_to_tell },
    { "requesting_answer_late", "DHCP-5", requesting_answer_late },
    { "requesting_answer_to_first", "DHCP-5", requesting_answer_to_first },
    { "router_metric", "", router_metric },
    { "router_of_the_program", "", router_of_the_program },
    { "router_no_room", "", router_no_room },
    { "silence_link_local", "DHCP-11", silence_link_local },
    { "silence_static", "", silence_static },
    { "static_room_for_one", "", static_room_for_one },
    { "static_until_bound", "", static_until_bound },
    { "static_stop", "", static_stop },
    { "static_link_down", "", static_link_down },
    { "bound_t1", "DHCP-4 DHCP-5", bound_t1 },
    { "renewing_silence", "DHCP-5", renewing_silence },
    { "renewing_answers_late", "DHCP-5", renewing_answers_late },
    { "renewing_close_to_t2", "DHCP-5", renewing_close_to_t2 },
    { "renewing_another_server", "DHCP-2", renewing_another_server },
    { "rebinding_silence", "DHCP-5", rebinding_silence },
    { "renewing_nak", "DHCP-7", renewing_nak },
    { "renewing_other_mask", "", renewing_other_mask },
    { "requesting_naks", "DHCP-7", requesting_naks },
    { "requesting_silence", "DHCP-2 DHCP-4", requesting_silence },
    { "checking_conflict", "DHCP-6", checking_conflict },
    { "bound_conflict", "DHCP-6", bound_conflict },
    { "conflicts_fall_back", "", conflicts_fall_back },
    { "address_removed", "", address_removed },
    { "reboot_ack", "DHCP-4", reboot_ack },
    { "reboot_nak", "DHCP-7", reboot_nak },
    { "reboot_link_late", "", reboot_link_late },
    { "reboot_silence", "DHCP-4", reboot_silence },
    { "bound_link_down_up", "DHCP-4", bound_link_down_up },
    { "reboot_link_silence", "DHCP-4", reboot_link_silence },
    { "checking_link_down_up", "DHCP-6", checking_link_down_up },
    { "link_bounces", "DHCP-4", link_bounces },
    { "down_lease_over", "DHCP-5", down_lease_over },
    { "down_removed_stop", "", down_removed_stop },
    { "bad_answers", "DHCP-1 DHCP-2 DHCP-8 DHCP-9 DHCP-10 CVE-2020-11903 CVE-2020-11908 CVE-2019-12257 "
      "CVE-2019-12264 CVE-2018-16602 CVE-2021-31881", bad_answers },
    { "answers_unasked", "DHCP-2 DHCP-11", answers_unasked },
    { "lease_times", "DHCP-5", lease_times },
    { "odd_options", "DHCP-8 DHCP-9", odd_options },
    { "client_id", "", client_id },
    { "client_id_of_another", "DHCP-2", client_id_of_another },
    { "masks", "DHCP-10", masks },
    { "start_wrong", "", start_wrong },
    { "no_memory", "", no_memory },
    { "requesting_no_buffer", "DHCP-3", requesting_no_buffer },
    { "renewing_no_buffer", "DHCP-5", renewing_no_buffer },
    { "names", "", names },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
