/* SPDX-License-Identifier: MIT */
/* TCP Fast Open (RFC 7413): what a cookie is worth to somebody who has none, how long it lives, and that what a client
 * remembers is bounded. */
#include "segment.h"

#include "tcp/tcp_internal.h"

enum { HOUR_MS = 3600000 };

static const struct tenon_tcp_events no_events;

/* ---- the server -------------------------------------------------------------------------------------------- */

static void listen_fast(struct hn *hn)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;

    seg_open(hn, NULL);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, &no_events, NULL, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_FASTOPEN, 1), TENON_OK);
}

/* The cookie that a client gets, asked for in a SYN; what a SYN with it would have. */
static void get_cookie(struct hn *hn, struct tenon_ip client, unsigned port, struct tn_tcp_options *options)
{
    static const tenon_u8 ask[] = { 1, 1, 34, 2 };
    const tenon_u8 *cookie;
    struct seg out, in;

    memset(&out, 0, sizeof out);
    out.src = client;
    out.dst = hn_ip("10.0.0.1");
    out.sport = port;
    out.dport = 80;
    out.seq = 1000;
    out.wnd = 65535;
    out.flags = SEG_SYN;
    out.options = ask;
    out.noptions = sizeof ask;
    seg_inject(hn, &out);
    memset(options, 0, sizeof *options);
    HN_CHECK(seg_next(hn, &in) && in.flags == (SEG_SYN | SEG_ACK));
    cookie = seg_option(&in, 34);
    HN_CHECK(cookie != NULL && cookie[-1] == 10);
    if (cookie == NULL)
        return;
    options->has_fastopen = 1;
    options->fastopen_bytes = 8;
    memcpy(options->fastopen, cookie, 8);
    out.flags = SEG_RST;
    out.seq++;
    out.noptions = 0;
    seg_inject(hn, &out);
}

static void cookie_known_values(void)
{
    static const struct {
        const char *client;
        tenon_u32 hours, high, low;
    } rows[] = {
        { "198.51.100.7", 0, 0x64B0D27DU, 0x0A3336A3U },
        { "198.51.100.8", 0, 0xDEDE9C76U, 0x77ECAB6EU },
        { "198.51.100.7", 13, 0x63E770C2U, 0xA435F7FEU },
        { "198.51.100.7", 960, 0x05B24EA2U, 0xD4E52593U },
    };
    struct tn_tcp_options options;
    struct hn hn;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        listen_fast(&hn);
        get_cookie(&hn, hn_ip("198.51.100.9"), 4000, &options);    /* the first period begins */
        hn_run_ms(&hn, rows[i].hours * HOUR_MS);
        get_cookie(&hn, hn_ip(rows[i].client), 5000, &options);
        HN_EQUAL(hn_get32(options.fastopen), rows[i].high);
        HN_EQUAL(hn_get32(options.fastopen + 4), rows[i].low);
        hn_close(&hn);
    }
}

static void cookie_of_another_client(void)
{
    const struct tenon_ip client = hn_ip("198.51.100.7"), other = hn_ip("198.51.100.8");
    struct tn_tcp_options options, wrong;
    struct hn hn;

    listen_fast(&hn);
    get_cookie(&hn, client, 5000, &options);
    HN_CHECK(tn_fastopen_cookie_is_good(hn.stack, &client, &options));
    HN_CHECK(!tn_fastopen_cookie_is_good(hn.stack, &other, &options));
    for (unsigned bit = 0; bit < 64; bit++) {
        wrong = options;
        wrong.fastopen[bit / 8] ^= (tenon_u8)(1 << bit % 8);
        HN_CHECK(!tn_fastopen_cookie_is_good(hn.stack, &client, &wrong));
    }
    for (unsigned bytes = 4; bytes <= 16; bytes += 2) {
        wrong = options;
        wrong.fastopen_bytes = (tenon_u8)bytes;
        HN_EQUAL(tn_fastopen_cookie_is_good(hn.stack, &client, &wrong), bytes == 8);
    }
    hn_close(&hn);
}

/* Nothing that one client gets tells what another would get: among 4096 neighbours all halves differ as those of
 * random numbers do. */
static void cookie_tells_nothing(void)
{
    static tenon_u32 halves[2][4096];
    unsigned same = 0, ones = 0;
    struct tn_tcp_options options;
    struct hn hn;

    listen_fast(&hn);
    for (unsigned i = 0; i < 4096; i++) {
        get_cookie(&hn, tenon_ip4_bytes(198, 51, (tenon_u8)(100 + i / 256), (tenon_u8)i), 5000, &options);
        hn_forget(&hn);
        for (unsigned half = 0; half < 2; half++) {
            halves[half][i] = hn_get32(options.fastopen + 4 * half);
            for (unsigned bit = 0; bit < 32; bit++)
                ones += halves[half][i] >> bit & 1;
        }
    }
    for (unsigned i = 0; i < 4096; i++)
        for (unsigned j = 0; j < i; j++)
            same += (halves[0][i] == halves[0][j] ? 1U : 0U) + (halves[1][i] == halves[1][j] ? 1U : 0U);
    HN_CHECK(same <= 2);                           /* 0.004 are to be expected */
    HN_CHECK(ones > 129500 && ones < 132644);      /* 131072, give or take six times 256 */
    hn_close(&hn);
}

static void cookie_lives_a_day_at_most(void)
{
    static const struct {
        unsigned at_h;    /* of the first period, when the cookie was given */
        unsigned good_h;
    } rows[] = { { 0, 23 }, { 11, 12 } };
    const struct tenon_ip client = hn_ip("198.51.100.7");
    struct tn_tcp_options options, later;
    struct hn hn;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        listen_fast(&hn);
        get_cookie(&hn, hn_ip("198.51.100.9"), 4000, &options);
        hn_run_ms(&hn, rows[i].at_h * HOUR_MS + 1000);
        get_cookie(&hn, client, 5000, &options);
        hn_run_ms(&hn, rows[i].good_h * HOUR_MS - 2000);
        HN_CHECK(tn_fastopen_cookie_is_good(hn.stack, &client, &options));
        get_cookie(&hn, client, 5001, &later);
        HN_CHECK(memcmp(later.fastopen, options.fastopen, 8) != 0);    /* the key is another one by now */
        hn_run_ms(&hn, HOUR_MS + 2000);
        HN_CHECK(!tn_fastopen_cookie_is_good(hn.stack, &client, &options));
        HN_CHECK(tn_fastopen_cookie_is_good(hn.stack, &client, &later));
        hn_run_ms(&hn, 24 * HOUR_MS);    /* nobody has looked for longer than a cookie lives */
        HN_CHECK(!tn_fastopen_cookie_is_good(hn.stack, &client, &later));
        hn_close(&hn);
    }
}

/* ---- the client -------------------------------------------------------------------------------------------- */

/* Connect to a server. @return bytes of the cookie that its SYN brings; -1: there is no option. The server answers and
 * gives a cookie */
static int connect_fast(struct hn *hn, unsigned server)
{
    static const tenon_u8 give[] = { 2, 4, 2, 88, 1, 1, 34, 10, 1, 2, 3, 4, 5, 6, 7, 8 };
    struct tenon_tcp *conn;
    struct tenon_addr to;
    struct seg out, in;
    const tenon_u8 *option;
    int bytes;

    memset(&to, 0, sizeof to);
    to.ip = tenon_ip4_bytes(198, 51, (tenon_u8)(server / 256), (tenon_u8)server);
    to.port = 80;
    HN_EQUAL(tenon_tcp_connect(hn->stack, &conn, NULL, &to, &no_events, NULL), TENON_OK);
    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_FASTOPEN, 1), TENON_OK);
    hn_run_ms(hn, 1);
    HN_CHECK(seg_next(hn, &in) && in.flags == SEG_SYN);
    option = seg_option(&in, 34);
    bytes = option == NULL ? -1 : option[-1] - 2;    /* the frame is gone with hn_forget() */
    memset(&out, 0, sizeof out);
    out.src = to.ip;
    out.dst = hn_ip("10.0.0.1");
    out.sport = 80;
    out.dport = in.sport;
    out.ack = in.seq + 1;
    out.wnd = 65535;
    out.flags = SEG_SYN | SEG_ACK;
    out.options = give;
    out.noptions = sizeof give;
    seg_inject(hn, &out);
    tenon_tcp_abort(conn);
    hn_run_ms(hn, 1);
    hn_forget(hn);
    return bytes;
}

static void cache_is_bounded(void)
{
    struct tenon_conf conf;
    struct hn hn;
    long bytes;

    tenon_conf_default(&conf);
    conf.paths_max = 4;
    conf.tcp_fastopen_cache_max = 3;
    seg_open(&hn, &conf);
    for (unsigned server = 1; server <= 3; server++)
        HN_EQUAL(connect_fast(&hn, server), 0);
    bytes = hn.bytes;
    HN_EQUAL(connect_fast(&hn, 1), 8);
    HN_EQUAL(connect_fast(&hn, 4), 0);    /* in the place of 2, which was not used for the longest time */
    HN_EQUAL(connect_fast(&hn, 1), 8);
    HN_EQUAL(connect_fast(&hn, 3), 8);
    HN_EQUAL(connect_fast(&hn, 4), 8);
    HN_EQUAL(connect_fast(&hn, 2), 0);
    for (unsigned server = 10; server < 2000; server++)
        HN_EQUAL(connect_fast(&hn, server), 0);
    HN_CHECK(hn.bytes <= bytes + 1024);    /* that is paths */
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_FASTOPEN_FAILED), 0);
    hn_close(&hn);
}

/* Who does not use it pays nothing for it. */
static void cache_taken_when_used(void)
{
    struct tenon_conf conf;
    struct tenon_tcp *conn;
    struct tenon_addr to;
    struct hn hn;

    tenon_conf_default(&conf);
    seg_open(&hn, &conf);
    memset(&to, 0, sizeof to);
    to.ip = hn_ip("198.51.100.7");
    to.port = 80;
    HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, NULL, &to, &no_events, NULL), TENON_OK);
    hn_run_ms(&hn, 1);
    HN_CHECK(hn.stack->tcp.fastopen == NULL);
    hn_forget(&hn);
    HN_EQUAL(connect_fast(&hn, 1), 0);
    HN_CHECK(hn.stack->tcp.fastopen != NULL);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "cookie_known_values", "TFO-3", cookie_known_values },
    { "cookie_of_another_client", "TFO-3", cookie_of_another_client },
    { "cookie_tells_nothing", "TFO-3", cookie_tells_nothing },
    { "cookie_lives_a_day_at_most", "TFO-3", cookie_lives_a_day_at_most },
    { "cache_is_bounded", "TFO-4", cache_is_bounded },
    { "cache_taken_when_used", "TFO-1 TFO-4", cache_taken_when_used },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
