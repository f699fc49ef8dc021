/* SPDX-License-Identifier: MIT */
/* ICMP of both versions: errors sent and received, echo, path MTU. */
#include "core.h"
#include "ip_bench.h"

static tenon_u8 packet[70000];

static const struct tenon_ip *us(int v4)
{
    return v4 ? &ib.us4 : &ib.us6;
}

static const struct tenon_ip *peer(int v4)
{
    return v4 ? &ib.peer4 : &ib.peer6;
}

static size_t ip_bytes(int v4)
{
    return v4 ? 20 : 40;
}

/* An ICMP message of n bytes that stands at packet + ip_bytes(): summed, wrapped, injected. */
static void message_to(int v4, const struct tenon_ip *dst, const tenon_u8 *mac, size_t n)
{
    const size_t ip = ip_bytes(v4);

    ib_icmp_sum(packet + ip, n, peer(v4), dst);
    hn_ip_header(packet, peer(v4), dst, v4 ? 1 : 58, 64, n);
    ib_inject_to(mac, packet, ip + n, 0);
}

static void message(int v4, size_t n)
{
    message_to(v4, us(v4), NULL, n);
}

/* ---- errors that we send ------------------------------------------------------------------------------- */

/* A datagram of n bytes to a closed port at `packet`. @return its length */
static size_t closed_port(int v4, size_t n)
{
    const size_t ip = ip_bytes(v4);
    const size_t len = ib_udp(packet + ip, peer(v4), us(v4), IB_PEER_PORT, 9, n, 1);

    hn_ip_header(packet, peer(v4), us(v4), 17, 64, len);
    return ip + len;
}

static void port_unreachable(void)
{
    static const size_t sizes[] = { 0, 1, 2, 100, 519, 520, 521, 600, 1183, 1184, 1185, 1400 };

    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            const size_t max = v4 ? 576 : 1280, ip = ip_bytes(v4);
            const tenon_u8 *p;
            size_t len, n;

            ib_open();
            len = closed_port(v4, sizes[i]);
            packet[1] = (tenon_u8)(v4 ? 0xB8 : 0x10);
            if (v4)
                ib_ip4_sum(packet);
            ib_inject(packet, len);
            p = ib_sent(&n);
            if (HN_CHECK(p != NULL)) {
                HN_CHECK(ib_sums_good(p, n));
                HN_EQUAL(n, ip + 8 + len < max ? ip + 8 + len : max);
                HN_EQUAL(p[ip] << 8 | p[ip + 1], v4 ? 0x303 : 0x104);
                HN_EQUAL(hn_get32(p + ip + 4), 0);
                HN_CHECK(memcmp(p + ip + 8, packet, n - ip - 8) == 0);
                HN_EQUAL(p[1] & 0xF0, 0);
                HN_CHECK(memcmp(p + (v4 ? 12 : 8), packet + (v4 ? 16 : 24), v4 ? 4 : 16) == 0);
                HN_CHECK(memcmp(p + (v4 ? 16 : 24), packet + (v4 ? 12 : 8), v4 ? 4 : 16) == 0);
            }
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_SENT), 1);
            HN_EQUAL(ib_stat(TENON_STAT_UDP_NO_PORT), 1);
            ib_close();
        }
    }
}

static void protocol_unreachable(void)
{
    const tenon_u8 *p;
    size_t n;

    ib_open();
    memset(packet + 20, 0xAB, 60);
    hn_ip_header(packet, &ib.peer4, &ib.us4, 200, 64, 60);
    ib_inject(packet, 80);
    p = ib_sent(&n);
    if (HN_CHECK(p != NULL)) {
        HN_CHECK(ib_sums_good(p, n));
        HN_EQUAL(n, 108);
        HN_EQUAL(p[20] << 8 | p[21], 0x302);
    }
    HN_EQUAL(ib_stat(TENON_STAT_IP_PROTO_UNKNOWN), 1);
    ib_close();
}

/* What no error may answer. */
static void no_error_about(void)
{
    const struct tenon_ip all6 = hn_ip("ff02::1"), bcast = hn_ip("192.0.2.255");
    tenon_u8 mac[6];
    size_t len;

    ib_open();
    /* Broadcast and multicast. */
    len = ib_udp(packet + 20, &ib.peer4, &bcast, IB_PEER_PORT, 9, 10, 1);
    hn_ip_header(packet, &ib.peer4, &bcast, 17, 64, len);
    ib_inject(packet, 20 + len);
    len = ib_udp(packet + 40, &ib.peer6, &all6, IB_PEER_PORT, 9, 10, 1);
    hn_ip_header(packet, &ib.peer6, &all6, 17, 64, len);
    hn_group_mac(mac, &all6);
    ib_inject_to(mac, packet, 40 + len, 0);
    HN_EQUAL(ib_stat(TENON_STAT_UDP_NO_PORT), 2);
    /* A fragment that is not the first. */
    hn_ip_header(packet, &ib.peer4, &ib.us4, 200, 64, 40);
    hn_put16(packet + 6, 5);
    ib_ip4_sum(packet);
    ib_inject(packet, 60);
    /* An IPv4 protocol in a frame for all. */
    memset(mac, 255, 6);
    hn_ip_header(packet, &ib.peer4, &bcast, 200, 64, 40);
    ib_inject_to(mac, packet, 60, 0);
    /* An ICMPv6 error in an extension header that is wrong. */
    hn_ip_header(packet, &ib.peer6, &ib.us6, 60, 64, 8 + 48);
    memset(packet + 40, 0, 56);
    packet[40] = 58;
    packet[42] = 0x9E;
    packet[43] = 2;
    packet[46] = 1;
    packet[48] = 1;
    ib_inject(packet, 96);
    HN_EQUAL(ib_stat(TENON_STAT_IP6_BAD_EXT), 1);
    HN_EQUAL(hn_left(&ib.hn), 0);
    /* The same about a question is answered. */
    packet[48] = 128;
    ib_inject(packet, 96);
    HN_EQUAL(hn_left(&ib.hn), 1);
    ib_close();
}

/* An ICMP error of which only the first fragment came: no word about it when its time is over. */
static void no_error_about_fragment_of_error(void)
{
    for (unsigned type = 0; type < 2; type++) {
        ib_open();
        memset(packet + 20, 0, 40);
        packet[20] = type ? 8 : 3;
        hn_ip_header(packet, &ib.peer4, &ib.us4, 1, 64, 40);
        hn_put16(packet + 6, 0x2000);
        ib_ip4_sum(packet);
        ib_inject(packet, 60);
        hn_run_ms(&ib.hn, 61000);
        HN_EQUAL(ib_stat(TENON_STAT_FRAG_TIMEOUT), 1);
        HN_EQUAL(hn_left(&ib.hn), type);
        ib_close();
    }
}

/* The same of IPv6, right behind the fragment header, and behind options that follow that. */
static void no_error_about_fragment_of_error6(void)
{
    for (unsigned i = 0; i < 4; i++) {
        const int behind_options = (i & 1) != 0, question = (i & 2) != 0;
        tenon_u8 *p = packet + 40;

        ib_open();
        memset(p, 0, 72);
        p[0] = behind_options ? 60 : 58;
        p[3] = 1;    /* more follow */
        p += 8;
        if (behind_options) {
            p[0] = 58;
            p[2] = 1;
            p[3] = 4;
            p += 8;
        }
        p[0] = question ? 128 : 1;
        hn_ip_header(packet, &ib.peer6, &ib.us6, 44, 64, 72);
        ib_inject(packet, 112);
        hn_run_ms(&ib.hn, 61000);
        HN_EQUAL(ib_stat(TENON_STAT_FRAG_TIMEOUT), 1);
        HN_EQUAL(hn_left(&ib.hn), question);
        ib_close();
    }
}

/* The burst, then the rate; what each costs is left to chance. */
static void error_rate(void)
{
    struct tenon_conf conf;
    unsigned sent;

    tenon_conf_default(&conf);
    conf.icmp_errors_burst = 40;
    conf.icmp_errors_per_s = 100;
    ib_open_conf(&conf, 0);
    for (unsigned i = 0; i < 400; i++)
        ib_inject(packet, closed_port(1, 10));
    sent = hn_left(&ib.hn);
    HN_CHECK(sent >= 30 && sent <= 52);
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_LIMITED), 400 - sent);
    hn_forget(&ib.hn);
    for (unsigned i = 0; i < 2000; i++) {
        ib_inject(packet, closed_port(0, 10));
        hn_run_ms(&ib.hn, 5);
    }
    /* 10 seconds */
    sent = hn_left(&ib.hn);
    HN_CHECK(sent >= 850 && sent <= 1150);
    ib_close();
}

/* The limit of one second is not the same each time: nothing can be concluded from it. */
static void error_rate_random(void)
{
    unsigned low = 1000, high = 0;

    ib_open();
    for (unsigned round = 0; round < 20; round++) {
        hn_run_ms(&ib.hn, 3000);
        hn_forget(&ib.hn);
        for (unsigned i = 0; i < 120; i++)
            ib_inject(packet, closed_port(1, 10));
        if (hn_left(&ib.hn) < low)
            low = hn_left(&ib.hn);
        if (hn_left(&ib.hn) > high)
            high = hn_left(&ib.hn);
    }
    HN_CHECK(low < high);
    HN_CHECK(low > 35 && high < 70);
    ib_close();
}

/* Of many hosts none gets too much, and together they get no more than the rate, however often they ask. */
static void error_rate_of_many(void)
{
    struct tenon_conf conf;
    tenon_u32 sent;

    tenon_conf_default(&conf);
    conf.icmp_errors_burst = 40;
    conf.icmp_errors_per_s = 100;
    ib_open_conf(&conf, 0);
    for (unsigned i = 0; i < 50000; i++) {
        const size_t len = closed_port(1, 10);

        packet[15] = (tenon_u8)(10 + i % 100);
        hn_put16(packet + 26, 0);
        ib_ip4_sum(packet);
        ib_inject(packet, len);
        if (i % 5 == 4)
            hn_run_ms(&ib.hn, 1);
    }
    /* 10 seconds, and what may come at once */
    sent = 50000 - ib_stat(TENON_STAT_ICMP_ERROR_LIMITED);
    HN_CHECK(sent >= 940 && sent <= 1060);
    ib_close();
}

/* Who asks all the time has no more than half of them: something is left for who asks now and then. */
static void error_rate_of_one(void)
{
    struct tenon_conf conf;
    unsigned answered = 0;

    tenon_conf_default(&conf);
    conf.icmp_errors_burst = 10;
    conf.icmp_errors_per_s = 100;
    ib_open_conf(&conf, 0);
    for (unsigned i = 0; i < 10000; i++) {
        const size_t len = closed_port(1, 10);

        for (unsigned k = 0; k < 5; k++)
            ib_inject(packet, len);
        if (i % 100 == 99) {
            const tenon_u32 before = ib_stat(TENON_STAT_ICMP_ERROR_SENT);

            ib_inject(packet, closed_port(0, 10));
            answered += ib_stat(TENON_STAT_ICMP_ERROR_SENT) - before;
        }
        hn_run_ms(&ib.hn, 1);
    }
    HN_CHECK(answered >= 40);
    HN_CHECK(ib_stat(TENON_STAT_ICMP_ERROR_SENT) <= 11 * 60 + answered);
    ib_close();
}

/* However few may come at once, the first one goes. */
static void error_rate_least(void)
{
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.icmp_errors_burst = conf.icmp_errors_per_s = 1;
    for (unsigned i = 0; i < 32; i++) {
        ib_open_conf(&conf, 0);
        for (unsigned k = 0; k < i; k++)
            (void)tenon_random(ib.hn.stack);
        ib_inject(packet, closed_port(1, 10));
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_SENT), 1);
        ib_inject(packet, closed_port(1, 10));
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_SENT), 1);
        ib_close();
    }
}

/* ---- echo ---------------------------------------------------------------------------------------------- */

/* An echo request of n bytes at packet + ip_bytes(). @return its length */
static size_t echo_request(int v4, size_t n)
{
    tenon_u8 *p = packet + ip_bytes(v4);

    p[0] = v4 ? 8 : 128;
    p[1] = 0;
    hn_put16(p + 4, 0x1234);
    hn_put16(p + 6, 0x0099);
    ib_fill(p + 8, n, 3);
    return 8 + n;
}

static void echo_answered(void)
{
    static const size_t sizes[] = { 0, 1, 2, 3, 56, 57, 127, 128, 129, 1000, 1432, 1452, 1472 };

    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            const size_t ip = ip_bytes(v4);
            const tenon_u8 *p;
            size_t len, n;

            if (!v4 && sizes[i] > 1452)
                continue;
            ib_open();
            len = echo_request(v4, sizes[i]);
            message(v4, len);
            p = ib_sent(&n);
            if (HN_CHECK(p != NULL)) {
                HN_CHECK(ib_sums_good(p, n));
                HN_EQUAL(n, ip + len);
                HN_EQUAL(p[ip], v4 ? 0 : 129);
                HN_CHECK(memcmp(p + ip + 4, packet + ip + 4, len - 4) == 0);
                HN_CHECK(memcmp(p + (v4 ? 12 : 8), packet + (v4 ? 16 : 24), v4 ? 4 : 16) == 0);
            }
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_ECHO_ANSWERED), 1);
            ib_close();
        }
    }
}

/* Large requests come in fragments, and so go the answers; put together they are what was sent. */
static void echo_fragmented(void)
{
    static tenon_u8 whole[70000], answer[70000];

    for (int v4 = 0; v4 < 2; v4++) {
        static const size_t sizes[] = { 1473, 1474, 9000, 65487, 65507, 65527 };

        for (size_t i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            const size_t ip = ip_bytes(v4), step = 1440;
            size_t len, got = 0, n;
            const tenon_u8 *p;

            if (v4 && sizes[i] > 65507)
                continue;
            ib_open();
            len = echo_request(v4, sizes[i]);
            ib_icmp_sum(packet + ip, len, peer(v4), us(v4));
            memcpy(whole, packet + ip, len);
            for (size_t off = 0; off < len; off += step) {
                const size_t piece = len - off < step ? len - off : step;
                const unsigned more = off + piece < len;

                if (v4) {
                    hn_ip_header(packet, peer(1), us(1), 1, 64, piece);
                    hn_put16(packet + 6, more << 13 | (unsigned)(off / 8));
                    ib_ip4_sum(packet);
                    memcpy(packet + 20, whole + off, piece);
                    ib_inject(packet, 20 + piece);
                } else {
                    hn_ip_header(packet, peer(0), us(0), 44, 64, piece + 8);
                    hn_put32(packet + 40, 58U << 24 | (tenon_u32)off | more);
                    hn_put32(packet + 44, 77);
                    memcpy(packet + 48, whole + off, piece);
                    ib_inject(packet, 48 + piece);
                }
            }
            while ((p = ib_sent(&n)) != NULL) {
                const size_t head = v4 ? 20 : 48;
                const size_t off = v4 ? (hn_get16(p + 6) & 0x1FFFU) * 8 : hn_get16(p + 42) & 0xFFF8U;

                HN_CHECK(n <= 1500);
                HN_CHECK(ib_sums_good(p, n));
                memcpy(answer + off, p + head, n - head);
                got += n - head;
            }
            HN_EQUAL(got, len);
            HN_EQUAL(answer[0], v4 ? 0 : 129);
            HN_CHECK(memcmp(answer + 4, whole + 4, len - 4) == 0);
            HN_EQUAL(hn_sum(v4 ? 0 : hn_pseudo(us(0), peer(0), 58, len), answer, len), 0xFFFF);
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_ECHO_ANSWERED), 1);
            ib_close();
        }
    }
}

static void echo_tos_reflected(void)
{
    const tenon_u8 *p;
    size_t n, len;

    ib_open();
    len = echo_request(1, 8);
    ib_icmp_sum(packet + 20, len, peer(1), us(1));
    hn_ip_header(packet, peer(1), us(1), 1, 64, len);
    packet[1] = 0xB8;
    ib_ip4_sum(packet);
    ib_inject(packet, 20 + len);
    p = ib_sent(&n);
    HN_CHECK(p != NULL && p[1] == 0xB8);
    ib_close();
}

static void echo_to_many(void)
{
    const struct tenon_ip all6 = hn_ip("ff02::1"), all4 = hn_ip("224.0.0.1");
    const tenon_u8 *p;
    tenon_u8 mac[6];
    size_t n;

    ib_open();
    message_to(1, &ib.bcast4, NULL, echo_request(1, 8));
    hn_group_mac(mac, &all4);
    message_to(1, &all4, mac, echo_request(1, 8));
    HN_EQUAL(hn_left(&ib.hn), 0);
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_IGNORED), 2);
    hn_group_mac(mac, &all6);
    message_to(0, &all6, mac, echo_request(0, 8));
    p = ib_sent(&n);
    if (HN_CHECK(p != NULL)) {
        const struct tenon_ip src = hn_get_ip(p + 8);

        HN_CHECK(ib_sums_good(p, n));
        HN_EQUAL(p[40], 129);
        HN_CHECK(tenon_ip_equal(&src, &ib.us6));
    }
    ib_close();
}

/* Echo replies have room of their own: a flood of requests is answered, but not without any bound. */
static void echo_flood(void)
{
    ib_open();
    for (unsigned i = 0; i < 3000; i++)
        message(1, echo_request(1, 56));
    HN_EQUAL(hn_left(&ib.hn), 3000);
    hn_forget(&ib.hn);
    for (unsigned i = 0; i < 3000; i++)
        message(1, echo_request(1, 56));
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_ECHO_ANSWERED), 3200);
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_LIMITED), 2800);
    /* And errors are not touched by it. */
    hn_forget(&ib.hn);
    ib_inject(packet, closed_port(1, 10));
    HN_EQUAL(hn_left(&ib.hn), 1);
    ib_close();
}

static unsigned replies, echo_errors;
static struct tenon_echo_info reply_info;
static tenon_u8 reply_bytes[70000];
static int echo_error_is, close_in_handler;

static void on_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    size_t at = 0;

    (void)app;
    replies++;
    reply_info = *info;
    for (unsigned i = 0; i < n; i++) {
        memcpy(reply_bytes + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    HN_EQUAL(at, info->bytes);
    if (close_in_handler)
        tenon_echo_close(echo);
}

static void on_error(struct tenon_echo *echo, void *app, const struct tenon_ip *from, tenon_u16 seq, int error)
{
    (void)echo;
    (void)app;
    (void)from;
    (void)seq;
    echo_errors++;
    echo_error_is = error;
}

static const struct tenon_echo_events echo_events = { on_reply, on_error };

/* Our own requests: sent whole or in fragments, their replies told. */
static void echo_own(void)
{
    static tenon_u8 bytes[70000];
    static const tenon_u32 sizes[] = { 0, 1, 56, 128, 129, 1472, 1473, 9000, 65507, 65527 };

    ib_fill(bytes, sizeof bytes, 9);
    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            static tenon_u8 whole[70000];
            struct tenon_echo *echo;
            struct tenon_addr to;
            const size_t ip = ip_bytes(v4);
            const tenon_u8 *p;
            size_t got = 0, n;

            if (v4 && sizes[i] > 65507)
                continue;
            ib_open();
            to = ib_at(*peer(v4), 0);
            replies = 0;
            HN_EQUAL(tenon_echo_open(ib.hn.stack, &echo, &echo_events, NULL), TENON_OK);
            HN_EQUAL(tenon_echo_send(echo, &to, 7, bytes, sizes[i]), TENON_OK);
            hn_run_ms(&ib.hn, 1);
            while ((p = ib_sent(&n)) != NULL) {
                const int cut = v4 ? (hn_get16(p + 6) & 0x3FFF) != 0 : p[6] == 44;
                const size_t head = !cut || v4 ? ip : 48;
                const size_t off = !cut ? 0 : v4 ? (hn_get16(p + 6) & 0x1FFFU) * 8 : hn_get16(p + 42) & 0xFFF8U;

                HN_CHECK(ib_sums_good(p, n));
                memcpy(whole + off, p + head, n - head);
                got += n - head;
            }
            HN_EQUAL(got, 8 + sizes[i]);
            HN_CHECK(memcmp(whole + 8, bytes, sizes[i]) == 0);
            if (sizes[i] <= 1452) {
                memcpy(packet + ip, whole, got);
                packet[ip] = v4 ? 0 : 129;
                message(v4, got);
                HN_EQUAL(replies, 1);
                HN_EQUAL(reply_info.seq, 7);
                HN_EQUAL(reply_info.bytes, sizes[i]);
                HN_EQUAL(reply_info.ttl, 64);
                HN_CHECK(tenon_ip_equal(&reply_info.from, peer(v4)));
                HN_CHECK(memcmp(reply_bytes, bytes, sizes[i]) == 0);
                packet[ip + 4] ^= 1;      /* another's */
                message(v4, got);
                HN_EQUAL(replies, 1);
            }
            tenon_echo_close(echo);
            ib_close();
        }
    }
}

static void echo_wrong_use(void)
{
    static tenon_u8 bytes[66000];
    struct tenon_addr to;
    struct tenon_echo *echo, *many[300];
    unsigned n = 0;

    ib_open();
    HN_EQUAL(tenon_echo_open(ib.hn.stack, &echo, &echo_events, NULL), TENON_OK);
    to = ib_at(tenon_ip_any(), 0);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, bytes, 8), TENON_EINVAL);
    to = ib_at(ib.peer4, 0);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, NULL, 8), TENON_EINVAL);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, bytes, 65508), TENON_EMSGSIZE);
    to = ib_at(ib.peer6, 0);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, bytes, 65528), TENON_EMSGSIZE);
    to = ib_at(hn_ip("203.0.113.1"), 0);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, bytes, 8), TENON_EUNREACH);
    HN_EQUAL(ib_stat(TENON_STAT_NO_ROUTE), 1);
    while (n < 300 && tenon_echo_open(ib.hn.stack, &many[n], &echo_events, NULL) == TENON_OK)
        n++;
    HN_EQUAL(n, 255);
    ib_close();
    /* Closing in the handler, and an instance that ends with some open. */
    ib_open();
    HN_EQUAL(tenon_echo_open(ib.hn.stack, &echo, &echo_events, NULL), TENON_OK);
    to = ib_at(ib.peer4, 0);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, bytes, 8), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    HN_EQUAL(hn_left(&ib.hn), 1);
    memcpy(packet + 20, ib.hn.sent[0].bytes + 34, 16);
    packet[20] = 0;
    close_in_handler = 1;
    replies = 0;
    message(1, 16);
    message(1, 16);
    close_in_handler = 0;
    HN_EQUAL(replies, 1);
    ib_close();
}

/* ---- messages that are bad, or ignored ----------------------------------------------------------------- */

static void bad_messages(void)
{
    ib_open();
    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t n = 0; n < 8; n++) {
            echo_request(v4, 0);
            message(v4, n);
        }
        message(v4, echo_request(v4, 20));
        hn_forget(&ib.hn);
        packet[ip_bytes(v4) + 10] ^= 1;
        ib_inject(packet, ip_bytes(v4) + 28);
    }
    HN_EQUAL(hn_left(&ib.hn), 0);
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_BAD), 2 * 9);
    ib_close();
}

/* RFC 4443 2.3: right but for the pseudo-header. */
static void checksum6_pseudo(void)
{
    size_t n;

    ib_open();
    n = echo_request(0, 16);
    ib_icmp_sum(packet + 40, n, &ib.peer6, &ib.peer6);
    hn_ip_header(packet, &ib.peer6, &ib.us6, 58, 64, n);
    ib_inject(packet, 40 + n);
    HN_EQUAL(hn_left(&ib.hn), 0);
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_BAD), 1);
    ib_close();
}

static void ignored_types(void)
{
    static const tenon_u8 types4[] = { 0, 1, 2, 4, 6, 7, 9, 10, 13, 14, 15, 16, 17, 18, 30, 31, 37, 39, 40, 255 };
    static const tenon_u8 types6[] = { 129, 138, 139, 141, 144, 200, 255 };

    ib_open();
    for (size_t i = 0; i < sizeof types4; i++) {
        memset(packet + 20, 0, 60);
        packet[20] = types4[i];
        message(1, 60);
    }
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_IGNORED), sizeof types4);
    for (size_t i = 0; i < sizeof types6; i++) {
        memset(packet + 40, 0, 60);
        packet[40] = types6[i];
        message(0, 60);
    }
    HN_EQUAL(ib_stat(TENON_STAT_ICMP_IGNORED), sizeof types4 + sizeof types6);
    HN_EQUAL(hn_left(&ib.hn), 0);
    ib_close();
}

/* RFC 6980: neighbour discovery with a fragment header is not heard, be it atomic. */
static void nd_in_fragment(void)
{
    tenon_u8 ns[32];

    for (int frag = 0; frag < 2; frag++) {
        const size_t head = frag ? 48 : 40;

        ib_open();
        memset(ns, 0, sizeof ns);
        ns[0] = 135;
        hn_put_ip(ns + 8, &ib.us6);
        ns[24] = 1, ns[25] = 1, ns[26] = 2, ns[30] = 1, ns[31] = 2;
        ib_icmp_sum(ns, 32, &ib.peer6, &ib.us6);
        hn_ip_header(packet, &ib.peer6, &ib.us6, frag ? 44 : 58, 255, head - 40 + 32);
        memset(packet + 40, 0, 8);
        packet[40] = 58;
        memcpy(packet + head, ns, 32);
        ib_inject(packet, head + 32);
        HN_EQUAL(hn_left(&ib.hn), frag ? 0 : 1);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_IGNORED), frag);
        ib_close();
    }
}

/* ---- errors that we receive ---------------------------------------------------------------------------- */

/* An error that quotes a datagram which our socket (port IB_PORT) has sent to the peer; `quoted` bytes of it.
 * @return its length */
static size_t error_message(int v4, unsigned type, unsigned code, tenon_u32 rest, size_t quoted)
{
    tenon_u8 *p = packet + ip_bytes(v4), *q = p + 8;
    const size_t ip = ip_bytes(v4);
    const size_t len = ib_udp(q + ip, us(v4), peer(v4), IB_PORT, IB_PEER_PORT, 600, 1);

    p[0] = (tenon_u8)type;
    p[1] = (tenon_u8)code;
    hn_put32(p + 4, rest);
    hn_ip_header(q, us(v4), peer(v4), 17, 60, len);
    return 8 + (quoted ? quoted : ip + 8);
}

static void errors_mapped(void)
{
    static const struct {
        int v4;
        unsigned type, code;
        int error;
    } rows[] = {
        { 1, 3, 0, TENON_EUNREACH }, { 1, 3, 1, TENON_EUNREACH }, { 1, 3, 2, TENON_EREFUSED },
        { 1, 3, 3, TENON_EREFUSED }, { 1, 3, 5, TENON_EUNREACH }, { 1, 3, 6, TENON_EUNREACH },
        { 1, 3, 7, TENON_EUNREACH }, { 1, 3, 8, TENON_EUNREACH }, { 1, 3, 9, TENON_EACCES },
        { 1, 3, 10, TENON_EACCES }, { 1, 3, 11, TENON_EUNREACH }, { 1, 3, 12, TENON_EUNREACH },
        { 1, 3, 13, TENON_EACCES }, { 1, 3, 14, TENON_EACCES }, { 1, 3, 15, TENON_EACCES },
        { 1, 3, 99, TENON_EUNREACH }, { 1, 11, 0, TENON_EUNREACH }, { 1, 11, 1, TENON_EUNREACH },
        { 1, 12, 0, TENON_EPROTO }, { 0, 1, 0, TENON_EUNREACH }, { 0, 1, 1, TENON_EACCES },
        { 0, 1, 2, TENON_EUNREACH }, { 0, 1, 3, TENON_EUNREACH }, { 0, 1, 4, TENON_EREFUSED },
        { 0, 1, 5, TENON_EACCES }, { 0, 1, 6, TENON_EACCES }, { 0, 1, 7, TENON_EUNREACH },
        { 0, 3, 0, TENON_EUNREACH }, { 0, 3, 1, TENON_EUNREACH }, { 0, 4, 0, TENON_EPROTO },
        { 0, 4, 1, TENON_EREFUSED }, { 0, 4, 2, TENON_EPROTO }, { 0, 4, 3, TENON_EPROTO },
        { 0, 99, 0, TENON_EPROTO },
    };

    for (int connected = 0; connected < 2; connected++) {
        for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
            ib_open();
            if (connected) {
                const struct tenon_addr to = ib_at(*peer(rows[i].v4), IB_PEER_PORT);

                HN_EQUAL(tenon_udp_connect(ib.sock, &to), TENON_OK);
            }
            message(rows[i].v4, error_message(rows[i].v4, rows[i].type, rows[i].code, 0, 0));
            HN_EQUAL(ib.errors, 1);
            HN_EQUAL(ib.error, rows[i].error);
            HN_CHECK(tenon_ip_equal(&ib.error_to.ip, peer(rows[i].v4)));
            HN_EQUAL(ib.error_to.port, IB_PEER_PORT);
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_RCVD), 1);
            ib_close();
        }
    }
}

/* Errors about something that we cannot have sent. */
static void errors_stray(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        const unsigned type = v4 ? 3 : 1, code = v4 ? 3 : 4;
        const size_t ip = ip_bytes(v4);
        tenon_u8 *q;
        size_t n;

        ib_open();
        q = packet + ip + 8;
        n = error_message(v4, type, code, 0, 0);
        hn_put16(q + ip, 1111);                              /* no socket has this port */
        message(v4, n);
        n = error_message(v4, type, code, 0, 0);
        q[v4 ? 15 : 23] ^= 0x40;                             /* not our address */
        message(v4, n);
        n = error_message(v4, type, code, 0, 0);
        q[v4 ? 9 : 6] = 132;                                 /* not a protocol of ours */
        message(v4, n);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_STRAY), 3);
        n = error_message(v4, type, code, 0, 0);
        q[0] = v4 ? 0x65 : 0x45;                             /* the other version */
        message(v4, n);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_BAD), 1);
        if (v4) {
            n = error_message(1, 3, 3, 0, 0);
            hn_put16(q + 6, 1);                              /* not its first fragment: whose it is stands in that */
            message(1, n);
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_STRAY), 4);
            n = error_message(1, 3, 3, 0, 0);
            q[0] = 0x44;
            message(1, n);
            n = error_message(1, 3, 3, 0, 0);
            q[0] = 0x4F;
            message(1, n);
            HN_EQUAL(ib_stat(TENON_STAT_ICMP_BAD), 3);
        }
        HN_EQUAL(ib.errors, 0);
        ib_close();
    }
}

/* A quote may end anywhere. */
static void quotes_truncated(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        ib_open();
        for (size_t quoted = 1; quoted < ip_bytes(v4) + 20; quoted++) {
            const unsigned before = ib.errors;

            message(v4, error_message(v4, v4 ? 3 : 1, v4 ? 3 : 4, 0, quoted));
            HN_EQUAL(ib.errors - before, quoted >= ip_bytes(v4) + 8);
        }
        ib_close();
    }
}

/* Extension headers in the quote: followed as far as they go. */
static void quote_with_extensions6(void)
{
    for (unsigned headers = 0; headers <= 10; headers++) {
        tenon_u8 *q = packet + 40 + 8;
        size_t at = 40;

        ib_open();
        memset(packet, 0, 400);
        hn_ip_header(q, &ib.us6, &ib.peer6, headers ? 60 : 17, 64, 8 * headers + 8);
        for (unsigned i = 0; i < headers; i++, at += 8)
            q[at] = i + 1 < headers ? 60 : 17, q[at + 2] = 1, q[at + 3] = 4;
        hn_put16(q + at, IB_PORT);
        hn_put16(q + at + 2, IB_PEER_PORT);
        packet[40] = 1;
        packet[41] = 4;
        message(0, 8 + at + 8);
        HN_EQUAL(ib.errors, headers <= 8);
        ib_close();
    }
}

/* What stands behind the header of a later fragment are bytes of the middle, whatever they look like. */
static void quote_of_later_fragment6(void)
{
    for (unsigned off = 0; off <= 16; off += 8) {
        tenon_u8 *q = packet + 40 + 8;

        ib_open();
        memset(packet, 0, 400);
        hn_ip_header(q, &ib.us6, &ib.peer6, 44, 64, 8 + 8);
        q[40] = 17;
        hn_put16(q + 42, off | 1);
        hn_put16(q + 48, IB_PORT);
        hn_put16(q + 50, IB_PEER_PORT);
        packet[40] = 1;
        packet[41] = 4;
        message(0, 8 + 48 + 8);
        HN_EQUAL(ib.errors, off == 0);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_STRAY), off != 0);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_BAD), 0);
        ib_close();
    }
}

static void fuzz_quotes(void)
{
    tenon_u32 x = 11;

    ib_open();
    for (unsigned i = 0; i < 20000; i++) {
        const int v4 = (int)(i & 1);
        static const unsigned types[2][4] = { { 1, 2, 3, 4 }, { 3, 5, 11, 12 } };
        size_t n = error_message(v4, types[v4][ib_random(&x) % 4], ib_random(&x) % 16, ib_random(&x), 0);
        const size_t ip = ip_bytes(v4);

        for (unsigned k = ib_random(&x) % 6; k > 0; k--)
            packet[ip + 8 + ib_random(&x) % (n - 8)] = (tenon_u8)ib_random(&x);
        n = 8 + ib_random(&x) % 200;
        message(v4, n);
        if (i % 256 == 0)
            hn_run_ms(&ib.hn, 100);
    }
    ib_close();
}

/* ---- path MTU ------------------------------------------------------------------------------------------ */

/* Size of the largest packet that a datagram of 1400 bytes leaves in now. */
static size_t largest_sent(int v4)
{
    static tenon_u8 bytes[1400];
    const struct tenon_addr to = ib_at(*peer(v4), IB_PEER_PORT);
    size_t largest = 0, n;

    hn_forget(&ib.hn);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, sizeof bytes), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    while (ib_sent(&n) != NULL) {
        if (n > largest)
            largest = n;
    }
    return largest;
}

/* The same; routers may not cut it. */
static size_t largest_whole(int v4)
{
    size_t largest;

    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
    largest = largest_sent(v4);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, 0), TENON_OK);
    return largest;
}

static void path_mtu(void)
{
    static const struct {
        int v4;
        tenon_u32 mtu;
        size_t largest;      /* packets afterwards are no larger */
        int lowered;
    } rows[] = {
        { 1, 1300, 1300, 1 }, { 1, 1427, 1427, 1 }, { 1, 1500, 1428, 0 }, { 1, 1501, 1428, 0 }, { 1, 9000, 1428, 0 },
        { 1, 40, 1428, 0 }, { 1, 67, 1428, 0 }, { 1, 576, 576, 1 }, { 1, 0, 508, 1 },
        { 0, 1400, 1400, 1 }, { 0, 1280, 1280, 1 }, { 0, 1279, 1448, 0 }, { 0, 0, 1448, 0 }, { 0, 1500, 1448, 0 },
        { 0, 0xFFFFFFFF, 1448, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const int v4 = rows[i].v4;
        size_t largest;

        ib_open();
        HN_EQUAL(largest_whole(v4), v4 ? 1428 : 1448);
        message(v4, error_message(v4, v4 ? 3 : 2, v4 ? 4 : 0, rows[i].mtu, 0));
        HN_EQUAL(ib_stat(TENON_STAT_PMTU_LOWERED), rows[i].lowered);
        HN_EQUAL(ib_stat(TENON_STAT_PMTU_IGNORED), !rows[i].lowered);
        largest = largest_sent(v4);
        if (v4 && rows[i].mtu == 0)
            HN_CHECK(largest <= 576);     /* next plateau, or the floor that is kept */
        else
            HN_CHECK(largest <= rows[i].largest && largest + 8 > rows[i].largest);
        ib_close();
    }
}

/* Nothing was sent from such a port: not believed. */
static void path_mtu_stray(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        size_t n;

        ib_open();
        (void)largest_whole(v4);
        n = error_message(v4, v4 ? 3 : 2, v4 ? 4 : 0, 1300, 0);
        hn_put16(packet + 2 * ip_bytes(v4) + 8, 1111);
        message(v4, n);
        HN_EQUAL(ib_stat(TENON_STAT_PMTU_LOWERED), 0);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_STRAY), 1);
        HN_EQUAL(largest_sent(v4), v4 ? 1428 : 1448);
        ib_close();
    }
}

/* RFC 8201 4, RFC 8899 4.6.1: the socket exists, but nothing that it sent can have been too large for what the report
 * says. Not believed, and nobody is told. */
static void path_mtu_impossible(void)
{
    static const struct {
        const char *name;
        int v4, dont_fragment;
        tenon_u32 sent;          /* payload that was sent before; 0: nothing was */
        tenon_u32 mtu;
        int believed;
    } rows[] = {
        { "nothing was sent there", 0, 1, 0, 1300, 0 },      { "nothing was sent there, IPv4", 1, 1, 0, 1300, 0 },
        { "only smaller ones", 0, 1, 1252, 1300, 0 },        { "only smaller ones, IPv4", 1, 1, 1272, 1300, 0 },
        { "one that is larger", 0, 1, 1253, 1300, 1 },       { "one that is larger, IPv4", 1, 1, 1273, 1300, 1 },
        { "routers could cut it, IPv4", 1, 0, 1400, 1300, 0 }, { "fragments of ours", 0, 0, 1600, 1300, 1 },
        { "cut by routers, too", 1, 0, 1600, 1300, 0 },      { "refused: too large to be sent", 1, 1, 1600, 1300, 0 },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        static tenon_u8 bytes[1600];
        const int v4 = rows[i].v4, told = rows[i].believed && rows[i].dont_fragment;
        struct tenon_addr to;
        tenon_u32 max;

        hn_row = rows[i].name;
        ib_open();
        to = ib_at(*peer(v4), IB_PEER_PORT);
        HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, (tenon_u32)rows[i].dont_fragment), TENON_OK);
        if (rows[i].sent > 0)
            (void)tenon_udp_write(ib.sock, &to, bytes, rows[i].sent);
        hn_run_ms(&ib.hn, 1);
        message(v4, error_message(v4, v4 ? 3 : 2, v4 ? 4 : 0, rows[i].mtu, 0));
        HN_EQUAL(ib_stat(TENON_STAT_PMTU_LOWERED), rows[i].believed);
        HN_EQUAL(ib_stat(TENON_STAT_PMTU_IGNORED), !rows[i].believed);
        HN_EQUAL(ib_stat(TENON_STAT_ICMP_ERROR_RCVD), rows[i].believed);
        HN_EQUAL(ib.errors, told);
        HN_EQUAL(ib.hn.stack->link.paths.count, rows[i].sent > 0);
        HN_EQUAL(tenon_udp_payload_max(ib.sock, &to, &max), TENON_OK);
        HN_EQUAL(max, (rows[i].believed ? rows[i].mtu : 1500) - (v4 ? 28 : 48));
        ib_close();
    }
    hn_row = "";
}

/* Two sockets send along the same path, and both of what they sent was too large. Each is told by its own report,
 * though the second says nothing new; a third one finds it out when it sends, or asks. Reports never raise it. */
static void path_mtu_told(void)
{
    static tenon_u8 bytes[1400];
    const struct tenon_addr to = ib_at(hn_ip("192.0.2.2"), IB_PEER_PORT);
    struct tenon_udp *third;
    tenon_u32 max;

    ib_open();
    third = ib_socket(ib.us4, 9);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
    HN_EQUAL(tenon_udp_set(third, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, sizeof bytes), TENON_OK);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, sizeof bytes), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    for (unsigned i = 1; i <= 2; i++) {
        message(1, error_message(1, 3, 4, 1300, 0));
        HN_EQUAL(ib.errors, i);
        HN_EQUAL(ib.error, TENON_EMSGSIZE);
        HN_CHECK(tenon_ip_equal(&ib.error_to.ip, &to.ip));
    }
    HN_EQUAL(ib_stat(TENON_STAT_PMTU_LOWERED), 1);
    HN_EQUAL(tenon_udp_payload_max(third, &to, &max), TENON_OK);
    HN_EQUAL(max, 1300 - 28);
    HN_EQUAL(tenon_udp_write(third, &to, bytes, max + 1), TENON_EMSGSIZE);
    HN_EQUAL(tenon_udp_write(third, &to, bytes, max), TENON_OK);
    message(1, error_message(1, 3, 4, 1390, 0));
    HN_EQUAL(tenon_udp_payload_max(third, &to, &max), TENON_OK);
    HN_EQUAL(max, 1300 - 28);
    hn_run_ms(&ib.hn, 11 * 60 * 1000);
    HN_EQUAL(tenon_udp_payload_max(third, &to, &max), TENON_OK);
    HN_EQUAL(max, 1500 - 28);
    tenon_udp_close(third);
    ib_close();
}

/* Connected or not, and where nothing can be sent. */
static void payload_max(void)
{
    struct tenon_addr to = ib_at(hn_ip("2001:db8::2"), IB_PEER_PORT);
    tenon_u32 max = 1;

    ib_open();
    HN_EQUAL(tenon_udp_payload_max(ib.sock, NULL, &max), TENON_EINVAL);
    HN_EQUAL(tenon_udp_payload_max(ib.sock, &to, &max), TENON_OK);
    HN_EQUAL(max, 1500 - 48);
    HN_EQUAL(tenon_udp_connect(ib.sock, &to), TENON_OK);
    max = 1;
    HN_EQUAL(tenon_udp_payload_max(ib.sock, NULL, &max), TENON_OK);
    HN_EQUAL(max, 1500 - 48);
    to.ip = hn_ip("203.0.113.1");
    HN_EQUAL(tenon_udp_payload_max(ib.sock, &to, &max), TENON_EUNREACH);
    to.port = 0;
    HN_EQUAL(tenon_udp_payload_max(ib.sock, &to, &max), TENON_EINVAL);
    HN_EQUAL(tenon_addr_remove(ib.hn.stack, 1, &ib.us6), TENON_OK);
    HN_EQUAL(tenon_udp_payload_max(ib.sock, NULL, &max), TENON_EUNREACH);
    HN_EQUAL(max, 1500 - 48);
    ib_close();
}

/* Who asked not to be fragmented hears of it, and gets an error when the datagram is too large. */
static void path_mtu_dont_fragment(void)
{
    static tenon_u8 bytes[1400];
    struct tenon_addr to;

    ib_open();
    to = ib_at(ib.peer4, IB_PEER_PORT);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, sizeof bytes), TENON_OK);
    message(1, error_message(1, 3, 4, 1300, 0));
    HN_EQUAL(ib.errors, 1);
    HN_EQUAL(ib.error, TENON_EMSGSIZE);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, sizeof bytes), TENON_EMSGSIZE);
    HN_EQUAL(tenon_udp_write(ib.sock, &to, bytes, 1300 - 28), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    HN_EQUAL(hn_left(&ib.hn), 2);
    ib_close();
}

/* A report about one of our echo requests counts as well; over IPv4 routers may cut them, so none is true. */
static void path_mtu_echo(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        const size_t ip = ip_bytes(v4);
        struct tenon_echo *echo;
        struct tenon_addr to;
        const tenon_u8 *p;
        size_t n;

        ib_open();
        echo_errors = 0;
        to = ib_at(*peer(v4), 0);
        HN_EQUAL(tenon_echo_open(ib.hn.stack, &echo, &echo_events, NULL), TENON_OK);
        HN_EQUAL(tenon_echo_send(echo, &to, 1, packet, 1400), TENON_OK);
        hn_run_ms(&ib.hn, 1);
        p = ib_sent(&n);
        if (HN_CHECK(p != NULL)) {
            (void)error_message(v4, v4 ? 3 : 2, v4 ? 4 : 0, 1300, 0);
            memcpy(packet + ip + 8, p, ip + 20);
            message(v4, 8 + ip + 20);
            HN_EQUAL(echo_errors, !v4);
            HN_EQUAL(ib_stat(TENON_STAT_PMTU_LOWERED), !v4);
            HN_EQUAL(ib_stat(TENON_STAT_PMTU_IGNORED), v4);
            HN_CHECK(v4 ? largest_sent(v4) == 1428 : largest_sent(v4) <= 1300);
        }
        if (!v4)
            HN_EQUAL(echo_error_is, TENON_EMSGSIZE);
        ib_close();
    }
}

/* RFC 1191 3: no larger size is tried before 5 minutes are over, and one is at last. */
static void path_mtu_ages(void)
{
    ib_open();
    HN_EQUAL(largest_whole(1), 1428);
    message(1, error_message(1, 3, 4, 1300, 0));
    HN_CHECK(largest_sent(1) <= 1300);
    hn_run_ms(&ib.hn, 5 * 60 * 1000 - 1000);
    HN_CHECK(largest_sent(1) <= 1300);
    hn_run_ms(&ib.hn, 10 * 60 * 1000);
    HN_EQUAL(largest_sent(1), 1428);
    ib_close();
}

/* ---- errors of our own --------------------------------------------------------------------------------- */

/* A neighbour that does not answer is an unreachable host. */
static void silent_neighbour(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        struct tenon_addr to;

        ib_open();
        to = ib_at(hn_ip(v4 ? "192.0.2.77" : "2001:db8::77"), IB_PEER_PORT);
        HN_EQUAL(tenon_udp_write(ib.sock, &to, "hello", 5), TENON_OK);
        hn_run_ms(&ib.hn, 10);
        HN_EQUAL(ib.errors, 0);
        hn_run_ms(&ib.hn, 5000);
        HN_EQUAL(ib.errors, 1);
        HN_EQUAL(ib.error, TENON_EUNREACH);
        HN_CHECK(tenon_ip_equal(&ib.error_to.ip, &to.ip));
        ib_close();
    }
}

static void silent_neighbour_echo(void)
{
    struct tenon_echo *echo;
    struct tenon_addr to;

    ib_open();
    echo_errors = 0;
    HN_EQUAL(tenon_echo_open(ib.hn.stack, &echo, &echo_events, NULL), TENON_OK);
    to = ib_at(hn_ip("192.0.2.77"), 0);
    HN_EQUAL(tenon_echo_send(echo, &to, 1, "hello", 5), TENON_OK);
    hn_run_ms(&ib.hn, 5000);
    HN_EQUAL(echo_errors, 1);
    HN_EQUAL(echo_error_is, TENON_EUNREACH);
    ib_close();
}

static const struct hn_test tests[] = {
    { "udp_closed_port_unreachable",
      "ICMP4-2 ICMP4-4 ICMP4-5 ICMP6-3 ICMP6-6 ICMP6-9 ICMP6-11 UDP-4 VUL-F-14 CVE-2018-4407 "
      "CVE-2020-22283", port_unreachable },
    { "ip4_unknown_protocol", "IP4-22 ICMP4-5", protocol_unreachable },
    { "icmp_no_error_about", "ICMP4-3 ICMP6-4 UDP-4", no_error_about },
    { "icmp_no_error_about_fragment_of_error", "ICMP4-3", no_error_about_fragment_of_error },
    { "icmp_no_error_about_fragment_of_error6", "ICMP6-4", no_error_about_fragment_of_error6 },
    { "icmp_error_rate", "ICMP4-13 ICMP6-5", error_rate },
    { "icmp_error_rate_random", "ICMP4-13 CVE-2020-25705", error_rate_random },
    { "icmp_error_rate_of_many", "ICMP4-13 ICMP6-5", error_rate_of_many },
    { "icmp_error_rate_of_one", "ICMP4-13 ICMP6-5", error_rate_of_one },
    { "icmp_error_rate_least", "ICMP4-13", error_rate_least },
    { "echo_answered", "ICMP4-9 ICMP6-8 CVE-2021-31344", echo_answered },
    { "echo_fragmented", "ICMP4-9 ICMP4-10 ICMP6-8 IP4-21", echo_fragmented },
    { "echo_tos_reflected", "ICMP4-4", echo_tos_reflected },
    { "echo_to_many", "ICMP4-9 ICMP6-8 CVE-1999-0513", echo_to_many },
    { "echo_flood", "ICMP4-13", echo_flood },
    { "echo_own", "ICMP4-10 ICMP6-8", echo_own },
    { "echo_wrong_use", "ICMP4-10", echo_wrong_use },
    { "icmp_bad_messages", "ICMP4-1 ICMP6-1 CVE-2020-17443 CVE-2020-35683 CVE-2018-16527", bad_messages },
    { "icmp6_checksum_pseudo", "ICMP6-1", checksum6_pseudo },
    { "icmp_ignored_types",
      "ICMP4-1 ICMP4-7 ICMP4-11 ICMP4-12 ICMP6-2 CVE-2020-11911 CVE-1999-0524", ignored_types },
    { "nd_in_fragment", "IP6-17", nd_in_fragment },
    { "icmp_errors_mapped", "ICMP4-5 ICMP4-8 ICMP6-2 ICMP6-6 ICMP6-11 UDP-5", errors_mapped },
    { "icmp_errors_stray", "ICMP4-14 ICMP6-10 8201-2", errors_stray },
    { "icmp_quotes_truncated", "ICMP4-14 ICMP6-10 CVE-2020-11910", quotes_truncated },
    { "icmp6_quote_with_extensions", "ICMP6-10", quote_with_extensions6 },
    { "icmp6_quote_of_later_fragment", "ICMP6-10", quote_of_later_fragment6 },
    { "icmp_fuzz_quotes", "ICMP4-14 ICMP4-15 ICMP6-10 VUL-F-14", fuzz_quotes },
    { "path_mtu_reports", "1191-2 1191-3 8201-1 5927-5 CVE-2004-1060", path_mtu },
    { "path_mtu_stray", "8201-2", path_mtu_stray },
    { "path_mtu_impossible", "8899-2 8201-2 UDP-9", path_mtu_impossible },
    { "path_mtu_told", "8899-2 UDP-9 1191-3", path_mtu_told },
    { "payload_max", "UDP-9", payload_max },
    { "path_mtu_dont_fragment", "UDP-9 6864-3", path_mtu_dont_fragment },
    { "path_mtu_echo", "1191-2", path_mtu_echo },
    { "path_mtu_ages", "1191-4 8201-3", path_mtu_ages },
    { "silent_neighbour", "ND-8 ARP-15", silent_neighbour },
    { "silent_neighbour_echo", "ARP-15", silent_neighbour_echo },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
