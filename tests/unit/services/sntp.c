/* SPDX-License-Identifier: MIT */
/* The SNTP client against a server that the test plays. */
#include "bench.h"
#include "services/sntp.h"

#define SERVER 0xC000027BU       /* 192.0.2.123 */
#define TO_1970 2208988800U

static struct {
    struct tenon_sntp sntp;
    tenon_u8 asks[32][48];
    struct sv_dgram in;
    tenon_u32 at_us[32];
    unsigned nasks, changes;
    void (*bend)(tenon_u8 *bytes);
    int silent;
    tenon_u32 there_us, busy_us;    /* the way of the request, and what the server takes; there is no way back */
    tenon_u32 ntp_s, ntp_fraction;  /* when the server receives */
    unsigned len, sport;
} t;

static void send_answer(unsigned i)
{
    struct sv_dgram out = { SERVER, t.in.src, t.sport, t.in.sport, NULL, t.len };
    tenon_u8 bytes[80] = { 0x24, 2 };

    memcpy(bytes + 24, t.asks[i] + 40, 8);
    hn_put32(bytes + 32, t.ntp_s);
    hn_put32(bytes + 36, t.ntp_fraction);
    hn_put32(bytes + 40, t.ntp_s + t.busy_us / 1000000);
    hn_put32(bytes + 44, t.ntp_fraction + (tenon_u32)(t.busy_us % 1000000 * 4294.967296));
    if (t.bend != NULL)
        t.bend(bytes);
    out.bytes = bytes;
    sv_send(&out);
}

static void heard(const struct hn_sent *sent)
{
    static const tenon_u8 zeros[39];

    sv_answer_arp(sent, SERVER);
    if (!sv_read(&t.in, sent) || t.in.dport != 123)
        return;
    HN_EQUAL(t.in.n, 48);
    HN_EQUAL(t.in.bytes[0], 0x23);
    HN_CHECK(memcmp(t.in.bytes + 1, zeros, 39) == 0);
    memcpy(t.asks[t.nasks % 32], t.in.bytes, 48);
    t.at_us[t.nasks++ % 32] = sv.hn.now_us;
    if (t.silent)
        return;
    sv.hn.now_us += t.there_us + t.busy_us;
    send_answer((t.nasks - 1) % 32);
}

static tenon_u32 poll_sntp(tenon_u32 now_us)
{
    return tenon_sntp_poll(&t.sntp, now_us);
}

static void changed(struct tenon_sntp *sntp, void *app)
{
    HN_CHECK(sntp == &t.sntp && app == &t);
    t.changes++;
}

static void open(void)
{
    const struct tenon_ip us = hn_ip("192.0.2.10");
    const struct tenon_sntp_conf conf = { tenon_ip4(SERVER), 0, 0, 0, changed, &t };

    sv_open(TENON_NETIF_NO_DAD);
    memset(&t, 0, sizeof t);
    sv.poll = poll_sntp;
    sv.heard = heard;
    t.ntp_s = TO_1970 + 1000000000U;
    t.len = 48;
    t.sport = 123;
    HN_EQUAL(tenon_addr_add(sv.hn.stack, sv.netif, &us, 24), TENON_OK);
    HN_EQUAL(tenon_sntp_start(&t.sntp, sv.hn.stack, &conf, sv.hn.now_us), TENON_OK);
}

static void end(void)
{
    tenon_sntp_stop(&t.sntp);
    sv_close();
}

/* Seconds and microseconds of now. */
static void now_is(tenon_u32 s, tenon_u32 us)
{
    struct tenon_sntp_time now = { 0, 0 };

    HN_EQUAL(tenon_sntp_now(&t.sntp, &now, sv.hn.now_us), 1);
    HN_EQUAL(now.s, s);
    HN_EQUAL(now.us, us);
}

/* RFC 4330 5: half of the way there and back is added; half of the 40 ms there are too much here, where the way back
 * takes no time. */
static void ask_answer(void)
{
    open();
    t.there_us = 40000;
    t.busy_us = 1375000;
    t.ntp_fraction = 0x80000000U;
    sv_run(3000);
    HN_EQUAL(t.changes, 1);
    HN_EQUAL(t.sntp.delay_us, 40000);
    HN_EQUAL(t.sntp.stratum, 2);
    now_is(1000000003, 480000);
    sv_run_s(1000);
    now_is(1000001003, 480000);
    HN_EQUAL(t.nasks, 1);
    t.there_us = t.busy_us = 0;
    t.ntp_s += 1024;
    sv_run_s(30);
    HN_EQUAL(t.nasks, 2);
    HN_CHECK(memcmp(t.asks[0] + 40, t.asks[1] + 40, 8) != 0);
    end();
}

static unsigned restarts;

static void restart(struct tenon_sntp *sntp, void *app)
{
    const struct tenon_sntp_conf conf = { tenon_ip4(SERVER), 0, 0, 0, restart, &t };

    (void)app;
    if (restarts++ > 0)
        return;
    tenon_sntp_stop(sntp);
    HN_EQUAL(tenon_sntp_start(sntp, sv.hn.stack, &conf, sv.hn.now_us), TENON_OK);
}

/* Who begins anew when he is told has a request sent at once. */
static void begun_anew_when_told(void)
{
    const struct tenon_sntp_conf conf = { tenon_ip4(SERVER), 0, 0, 0, restart, &t };

    open();
    tenon_sntp_stop(&t.sntp);
    restarts = 0;
    HN_EQUAL(tenon_sntp_start(&t.sntp, sv.hn.stack, &conf, sv.hn.now_us), TENON_OK);
    sv_run_s(2);
    HN_EQUAL(t.nasks, 2);
    HN_EQUAL(restarts, 2);
    HN_EQUAL(t.sntp.stats[TENON_SNTP_STAT_TIMEOUTS], 0);
    end();
}

/* Fractions of 32 bits without integers of 64; 2036 and 2106. RFC 4330 3 */
static void numbers(void)
{
    static const struct {
        tenon_u32 ntp, fraction, s, us;
    } rows[] = {
        { TO_1970, 0, 0, 0 },
        { TO_1970 + 1, 0x80000000U, 1, 500000 },
        { TO_1970 + 1, 0xFFFFFFFFU, 1, 999999 },
        { TO_1970 + 1, 4295, 1, 1 },
        { TO_1970 + 1, 4294, 1, 0 },
        { TO_1970 + 1, 0x12345678, 1, 71111 },
        { 0xFFFFFFFFU, 0, 2085978495U, 0 },    /* 2036-02-07 06:28:15 */
        { 0, 0x40000000, 2085978496U, 250000 },
        { TO_1970 - 1, 0, 0xFFFFFFFFU, 0 },    /* 2106-02-07 06:28:15 */
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        open();
        t.ntp_s = rows[i].ntp;
        t.ntp_fraction = rows[i].fraction;
        sv_run(0);
        now_is(rows[i].s, rows[i].us);
        end();
    }
}

/* ---- answers that are not good ---------------------------------------------------------------------------------- */

static const struct bad {
    const char *name;
    unsigned at, n;
    const char *bytes;
    unsigned len;    /* 0: 48 */
    enum tenon_sntp_stat stat;
} bads[] = {
    { "short", 0, 0, "", 47, TENON_SNTP_STAT_BAD_LENGTH },
    { "long", 0, 0, "", 69, TENON_SNTP_STAT_BAD_LENGTH },
    { "a request", 0, 1, "\43", 0, TENON_SNTP_STAT_BAD_MODE },
    { "broadcast", 0, 1, "\45", 0, TENON_SNTP_STAT_BAD_MODE },
    { "version 2", 0, 1, "\24", 0, TENON_SNTP_STAT_BAD_MODE },
    { "version 5", 0, 1, "\54", 0, TENON_SNTP_STAT_BAD_MODE },
    { "another origin", 24, 8, "\1\2\3\4\5\6\7\10", 0, TENON_SNTP_STAT_OTHER_ORIGIN },
    { "no origin", 28, 4, "\0\0\0\0", 0, TENON_SNTP_STAT_OTHER_ORIGIN },
    { "alarm", 0, 1, "\344", 0, TENON_SNTP_STAT_UNSYNCHRONIZED },
    { "stratum 16", 1, 1, "\20", 0, TENON_SNTP_STAT_UNSYNCHRONIZED },
    { "sent at no time", 40, 8, "\0\0\0\0\0\0\0\0", 0, TENON_SNTP_STAT_UNSYNCHRONIZED },
    { "sent before it came", 32, 4, "\377\0\0\0", 0, TENON_SNTP_STAT_BAD_TIME },
    { "kept too long", 44, 4, "\377\0\0\0", 0, TENON_SNTP_STAT_BAD_TIME },
    { "kiss", 1, 1, "\0", 0, TENON_SNTP_STAT_KISSED },
};

static const struct bad *bad;

static void bend_bad(tenon_u8 *bytes)
{
    memcpy(bytes + bad->at, bad->bytes, bad->n);
}

/* RFC 4330 5 */
static void bad_answers(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(bads); i++) {
        struct tenon_sntp_time now;

        bad = &bads[i];
        hn_row = bad->name;
        open();
        t.bend = bend_bad;
        t.len = bad->len != 0 ? bad->len : 48;
        sv_run(100);
        HN_EQUAL(t.sntp.stats[bad->stat], 1);
        HN_EQUAL(t.changes, 0);
        HN_EQUAL(tenon_sntp_now(&t.sntp, &now, sv.hn.now_us), 0);
        t.bend = NULL;
        t.len = 48;
        sv_run_s(21);
        HN_EQUAL(t.changes, 1);
        HN_CHECK(t.at_us[1] - t.at_us[0] >= 15000000);
        end();
    }
    hn_row = "";
}

/* From another port, after its time, and twice: no second time. RFC 4330 5 */
static void answers_unasked(void)
{
    open();
    t.silent = 1;
    sv_run(100);
    t.sport = 124;
    send_answer(0);
    sv_run(10);
    HN_EQUAL(t.changes, 0);
    t.sport = 123;
    send_answer(0);
    send_answer(0);
    sv_run(10);
    HN_EQUAL(t.changes, 1);
    send_answer(0);
    sv_run(10);
    HN_EQUAL(t.changes, 1);
    HN_EQUAL(t.sntp.stats[TENON_SNTP_STAT_ANSWERED], 1);
    end();
}

static void slow_answer(void)
{
    open();
    t.there_us = 1000001;
    sv_run(3000);
    HN_EQUAL(t.changes, 0);
    HN_EQUAL(t.sntp.stats[TENON_SNTP_STAT_BAD_TIME], 1);
    end();
}

/* RFC 4330 10: 20, 35, 65 seconds and so on; never below 15. */
static void silence(void)
{
    static const unsigned gaps[] = { 20, 35, 65, 125, 245, 485, 965, 1925, 1925 };

    open();
    t.silent = 1;
    sv_run_s(6000);
    for (unsigned i = 0; i < 9; i++)
        HN_EQUAL((t.at_us[i + 1] - t.at_us[i]) / 1000000, gaps[i]);
    HN_EQUAL(t.sntp.stats[TENON_SNTP_STAT_TIMEOUTS], t.nasks - (t.sntp.state == TENON_SNTP_ASKED));
    end();
}

/* What cannot leave is asked soon after it can, and does not make the next requests rarer. */
static void no_memory(void)
{
    tenon_u32 began_us;

    open();
    t.silent = 1;
    began_us = sv.hn.now_us;
    sv.hn.mem_fail = -1;
    sv_run(300);
    HN_CHECK(t.sntp.stats[TENON_SNTP_STAT_NOT_SENT] <= 6);
    sv.hn.mem_fail = 0;
    sv_run_s(100);
    HN_CHECK(t.at_us[0] - began_us <= 600000);
    HN_EQUAL((t.at_us[1] - t.at_us[0]) / 1000000, 20);
    HN_EQUAL((t.at_us[2] - t.at_us[1]) / 1000000, 35);
    end();
}

static void no_way_yet(void)
{
    const struct tenon_ip us = hn_ip("192.0.2.10");
    tenon_u32 came_us;

    open();
    HN_EQUAL(tenon_addr_remove(sv.hn.stack, sv.netif, &us), TENON_OK);
    sv_run_s(600);
    HN_EQUAL(t.nasks, 0);
    HN_CHECK(t.sntp.stats[TENON_SNTP_STAT_NOT_SENT] < 60);
    HN_EQUAL(tenon_addr_add(sv.hn.stack, sv.netif, &us, 24), TENON_OK);
    came_us = sv.hn.now_us;
    sv_run_s(16);
    HN_EQUAL(t.nasks, 1);
    HN_CHECK(t.at_us[0] - came_us <= 15000000);
    HN_EQUAL(t.changes, 1);
    end();
}

static const char *kiss;

static void bend_kiss(tenon_u8 *bytes)
{
    bytes[1] = 0;
    memcpy(bytes + 12, kiss, 4);
}

/* RFC 4330 8, RFC 5905 7.4 */
static void kissed(void)
{
    open();
    t.bend = bend_kiss;
    kiss = "RATE";
    sv_run_s(3000);
    HN_EQUAL(t.nasks, 2);    /* after 2048 s, then 4096 */
    kiss = "DENY";
    sv_run_s(4000);
    HN_EQUAL(t.nasks, 3);
    HN_EQUAL(t.sntp.state, TENON_SNTP_STOPPED);
    sv_run_s(300000);
    HN_EQUAL(t.nasks, 3);
    HN_EQUAL(t.sntp.stats[TENON_SNTP_STAT_KISSED], 3);
    end();
}

static void start_wrong(void)
{
    struct tenon_sntp_conf conf = { tenon_ip4(SERVER), 14, 0, 0, NULL, NULL };
    struct tenon_sntp_time now;

    open();
    HN_EQUAL(tenon_sntp_start(&t.sntp, sv.hn.stack, &conf, 0), TENON_EINVAL);
    tenon_sntp_stop(&t.sntp);
    HN_EQUAL(tenon_sntp_start(&t.sntp, sv.hn.stack, &conf, 0), TENON_EINVAL);
    conf.interval_s = 15;
    conf.timeout_ms = 999;
    HN_EQUAL(tenon_sntp_start(&t.sntp, sv.hn.stack, &conf, 0), TENON_EINVAL);
    conf.timeout_ms = 0;
    conf.server = tenon_ip_any();
    HN_EQUAL(tenon_sntp_start(&t.sntp, sv.hn.stack, &conf, 0), TENON_EINVAL);
    HN_EQUAL(tenon_sntp_now(&t.sntp, &now, 0), 0);
    HN_CHECK(strcmp(tenon_sntp_stat_name(TENON_SNTP_STAT_KISSED), "kissed") == 0);
    HN_CHECK(tenon_sntp_stat_name(TENON_SNTP_STAT_COUNT) == NULL);
    end();
}

static const struct hn_test tests[] = {
    { "ask_answer", "", ask_answer },
    { "begun_anew_when_told", "", begun_anew_when_told },
    { "numbers", "", numbers },
    { "bad_answers", "", bad_answers },
    { "answers_unasked", "", answers_unasked },
    { "slow_answer", "", slow_answer },
    { "silence", "", silence },
    { "no_memory", "", no_memory },
    { "no_way_yet", "", no_way_yet },
    { "kissed", "", kissed },
    { "start_wrong", "", start_wrong },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
