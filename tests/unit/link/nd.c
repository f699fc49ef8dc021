/* SPDX-License-Identifier: MIT */
/* Neighbour discovery (RFC 4861): validation, solicitations, the table of 7.2.5, reachability. */
#include "link_test.h"

static struct tenon_ip us, peer, nodes, group_of_us, any;

static void open_ready(struct hn *hn)
{
    lt_open6(hn, NULL);
    us = hn_ip("2001:db8::1");
    peer = hn_ip("2001:db8::2");
    nodes = hn_ip("ff02::1");
    group_of_us = lt_solicited(&us);
    any = tenon_ip_any();
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Solicitations that are wrong in one thing each; the first row shows that nothing else is. */
static void idle_bad_solicitation(void)
{
    static const struct {
        const char *name;
        const char *src, *dst, *target;
        unsigned hop_limit, code, option_mac;
        size_t len;                    /* 0: as built */
        unsigned answers, bad;
    } rows[] = {
        { "good", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 255, 0, 2, 0, 1, 0 },
        { "good_unicast", "2001:db8::2", "2001:db8::1", "2001:db8::1", 255, 0, 0, 0, 1, 0 },
        { "good_unspecified", "::", "ff02::1:ff00:1", "2001:db8::1", 255, 0, 0, 0, 1, 0 },
        { "hop_limit_254", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 254, 0, 2, 0, 0, 1 },
        { "hop_limit_0", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 0, 0, 2, 0, 0, 1 },
        { "code_1", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 255, 1, 2, 0, 0, 1 },
        { "short_23", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 255, 0, 0, 23, 0, 1 },
        { "option_cut", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 255, 0, 2, 31, 0, 1 },
        { "option_head_cut", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::1", 255, 0, 2, 25, 0, 1 },
        { "target_multicast", "2001:db8::2", "ff02::1:ff00:1", "ff02::1", 255, 0, 2, 0, 0, 1 },
        { "target_ip4", "2001:db8::2", "ff02::1:ff00:1", "::ffff:10.0.0.1", 255, 0, 2, 0, 0, 1 },
        { "target_nobody", "2001:db8::2", "ff02::1:ff00:1", "::", 255, 0, 2, 0, 0, 1 },
        { "target_other", "2001:db8::2", "ff02::1:ff00:1", "2001:db8::9", 255, 0, 2, 0, 0, 0 },
        { "unspecified_with_option", "::", "ff02::1:ff00:1", "2001:db8::1", 255, 0, 2, 0, 0, 1 },
        { "unspecified_to_unicast", "::", "2001:db8::1", "2001:db8::1", 255, 0, 0, 0, 0, 1 },
        { "unspecified_to_all_nodes", "::", "ff02::1", "2001:db8::1", 255, 0, 0, 0, 0, 1 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_ip src = hn_ip(rows[i].src), dst = hn_ip(rows[i].dst), target = hn_ip(rows[i].target);
        struct lt_icmp6 answer;
        tenon_u8 p[32];
        size_t len;
        unsigned n = 0;
        struct hn hn;

        hn_row = rows[i].name;
        open_ready(&hn);
        HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &peer, (const tenon_u8 *)"\2\0\0\0\1\2"), TENON_OK);
        len = lt_nd_build(p, 135, 0, &target, rows[i].option_mac);
        p[1] = (tenon_u8)rows[i].code;
        lt_icmp6_from(&hn, 1, 2, &src, &dst, rows[i].hop_limit, p, rows[i].len ? rows[i].len : len);
        while (lt_next_icmp6(&hn, 136, &answer))
            n++;
        HN_EQUAL(n, rows[i].answers);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), rows[i].bad);
        hn_close(&hn);
    }
}

/* Options: length 0 (CVE-2021-21279), past the end, link-layer addresses that are none. */
static void idle_bad_option(void)
{
    static const struct {
        const char *name;
        tenon_u8 option[16];
        size_t len;
        unsigned bad;
    } rows[] = {
        { "length_0", { 1, 0, 2, 0, 0, 0, 1, 2 }, 8, 1 },
        { "length_2_of_1", { 1, 2, 2, 0, 0, 0, 1, 2 }, 8, 1 },
        { "length_255", { 253, 255, 0, 0, 0, 0, 0, 0 }, 8, 1 },
        { "length_0_after_good", { 1, 1, 2, 0, 0, 0, 1, 2, 14, 0, 0, 0, 0, 0, 0, 0 }, 16, 1 },
        { "unknown", { 253, 1, 0, 0, 0, 0, 0, 0 }, 8, 0 },
        { "mac_group", { 1, 1, 3, 0, 0, 0, 1, 2 }, 8, 1 },
        { "mac_zero", { 1, 1, 0, 0, 0, 0, 0, 0 }, 8, 1 },
        { "mac_of_14_bytes", { 1, 2, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0 }, 16, 0 },
        { "trailing_4", { 253, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0 }, 12, 1 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct lt_icmp6 answer;
        tenon_u8 p[48];
        struct hn hn;

        hn_row = rows[i].name;
        open_ready(&hn);
        (void)lt_nd_build(p, 135, 0, &us, 0);
        memcpy(p + 24, rows[i].option, rows[i].len);
        lt_icmp6_from(&hn, 1, 2, &peer, &group_of_us, 255, p, 24 + rows[i].len);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), rows[i].bad);
        /* Without a link-layer address the answer waits for a solicitation of ours. */
        HN_EQUAL(lt_next_icmp6(&hn, 0, &answer), !rows[i].bad);
        HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), rows[i].bad ? -1 : TENON_NEIGHBOUR_INCOMPLETE);
        hn_close(&hn);
    }
}

/* Whatever comes: no crash, no endless loop. Deterministic noise, in one span and in two. */
static void idle_noise(void)
{
    tenon_u32 x = 7;
    struct hn hn;

    open_ready(&hn);
    for (unsigned i = 0; i < 20000; i++) {
        tenon_u8 p[96], frame[200];
        struct hn_packet packet;
        size_t len;

        for (size_t j = 0; j < sizeof p; j++) {
            x = x * 1664525U + 1013904223U;
            p[j] = (tenon_u8)(x >> 24 & (j & 1 ? 0x03 : 0xFF));
        }
        p[0] = (tenon_u8)(130 + x % 14);
        p[1] = 0;
        if (x & 0x100)
            hn_put_ip(p + 8, &us);
        memset(&packet, 0, sizeof packet);
        hn_mac(packet.from, 1, 2);
        packet.src = x & 0x200 ? peer : hn_ip("fe80::2");
        packet.dst = x & 0x400 ? us : nodes;
        packet.proto = 58;
        packet.ttl = 255;
        packet.sum_at = 2;
        packet.payload = p;
        packet.len = x % 97;
        if (packet.len < 4)
            packet.sum_at = 0;
        len = hn_build(frame, 1, &packet);
        hn_inject_cut(&hn, 1, frame, len, x & 0x800 ? 54 + (x >> 12) % 97 : 0);
        hn_run_ms(&hn, 10);
        hn_forget(&hn);
    }
    HN_CHECK(hn_stat(&hn, TENON_STAT_ND_BAD) > 1000);
    HN_CHECK(lt_neighbours(&hn) <= hn.conf.neighbours_max);
    hn_close(&hn);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void solicitation_for_us(void)
{
    struct lt_icmp6 na;
    tenon_u8 mac[6];
    struct hn hn;

    open_ready(&hn);
    lt_ns(&hn, 1, &peer, &group_of_us, &us, 2);
    if (HN_CHECK(lt_next_icmp6(&hn, 136, &na))) {
        HN_EQUAL(na.hop_limit, 255);
        HN_CHECK(tenon_ip_equal(&na.src, &us));
        HN_CHECK(tenon_ip_equal(&na.dst, &peer));
        HN_CHECK(memcmp(na.mac, hn_mac(mac, 1, 2), 6) == 0);
        HN_EQUAL(na.p[1], 0);
        HN_EQUAL(hn_get32(na.p + 4), 0x60000000);
        HN_EQUAL(hn_get16(na.p + 24), 0x0201);
        HN_CHECK(memcmp(na.p + 26, hn_mac(mac, 0, 1), 6) == 0);
        HN_EQUAL(na.len, 32);
    }
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_DELAY);
    hn_close(&hn);
}

static void solicitation_from_unspecified(void)
{
    struct lt_icmp6 na;
    struct hn hn;

    open_ready(&hn);
    lt_ns(&hn, 1, &any, &group_of_us, &us, 0);
    if (HN_CHECK(lt_next_icmp6(&hn, 136, &na))) {
        HN_CHECK(tenon_ip_equal(&na.dst, &nodes));
        HN_EQUAL(hn_get32(na.mac), 0x33330000);
        HN_EQUAL(hn_get32(na.p + 4), 0x20000000);
    }
    HN_EQUAL(lt_neighbours(&hn), 0);
    hn_close(&hn);
}

/* RFC 4861 7.2.3: what is learnt of the asking node. */
static void known_solicitation(void)
{
    tenon_u8 mac[6], want[6];
    struct hn hn;

    open_ready(&hn);
    lt_ns(&hn, 1, &peer, &group_of_us, &us, 2);
    lt_na(&hn, 1, &us, &peer, 0x60, 2);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, mac), TENON_NEIGHBOUR_REACHABLE);
    lt_ns(&hn, 1, &peer, &group_of_us, &us, 2);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, mac), TENON_NEIGHBOUR_REACHABLE);
    hn_forget(&hn);
    lt_ns(&hn, 1, &peer, &us, &us, 3);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, mac), TENON_NEIGHBOUR_DELAY);
    HN_CHECK(memcmp(mac, hn_mac(want, 1, 3), 6) == 0);
    hn_close(&hn);
}

/* ---- resolution ------------------------------------------------------------------------------ */

static void incomplete_silence(void)
{
    struct tenon_udp *sock;
    struct lt_icmp6 ns;
    const struct tenon_ip group = hn_ip("ff02::1:ff00:2");
    tenon_u32 last = 0;
    unsigned n = 0;
    tenon_u8 mac[6];
    struct hn hn;

    open_ready(&hn);
    sock = lt_udp_open(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "2001:db8::2", 0), TENON_OK);
    hn_run_ms(&hn, 2900);
    HN_EQUAL(lt_udp_events_seen.errors, 0);
    hn_run_ms(&hn, 200);
    HN_EQUAL(lt_udp_events_seen.errors, 1);
    HN_EQUAL(lt_udp_events_seen.error, TENON_EUNREACH);
    while (lt_next_icmp6(&hn, 135, &ns)) {
        HN_CHECK(tenon_ip_equal(&ns.dst, &group));
        HN_CHECK(tenon_ip_equal(&ns.src, &us));
        HN_EQUAL(hn_get32(ns.mac), 0x3333FF00);
        HN_EQUAL(ns.hop_limit, 255);
        HN_EQUAL(ns.len, 32);
        HN_EQUAL(hn_get16(ns.p + 24), 0x0101);
        HN_CHECK(memcmp(ns.p + 26, hn_mac(mac, 0, 1), 6) == 0);
        HN_CHECK(n == 0 || ns.sent->at_us - last >= 1000000);
        last = ns.sent->at_us;
        n++;
    }
    HN_EQUAL(n, 3);
    HN_EQUAL(lt_udp_send(&hn, sock, "2001:db8::2", 0), TENON_EUNREACH);
    hn_run_ms(&hn, 1100);
    HN_EQUAL(lt_neighbours(&hn), 0);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Bring the entry of `peer`, with Ethernet address ...:01:02, into a state. */
static struct tenon_udp *bring(struct hn *hn, int state)
{
    struct tenon_udp *sock;

    open_ready(hn);
    sock = lt_udp_open(hn);
    (void)lt_udp_send(hn, sock, "2001:db8::2", 0);
    if (state != TENON_NEIGHBOUR_INCOMPLETE)
        lt_na(hn, 1, &us, &peer, 0x60, 2);
    if (state == TENON_NEIGHBOUR_STALE || state == TENON_NEIGHBOUR_DELAY || state == TENON_NEIGHBOUR_PROBE)
        hn_run_ms(hn, 46000);
    if (state == TENON_NEIGHBOUR_DELAY || state == TENON_NEIGHBOUR_PROBE)
        (void)lt_udp_send(hn, sock, "2001:db8::2", 0);
    if (state == TENON_NEIGHBOUR_PROBE)
        hn_run_ms(hn, 5100);
    HN_EQUAL(lt_neighbour(hn, 1, &peer, NULL), state);
    hn_forget(hn);
    return sock;
}

/* The whole table of RFC 4861 7.2.5: five states, S, O, and the link-layer address the same, another, or absent. */
static void every_state_advertisement(void)
{
    enum { SAME = 2, OTHER = 3, ABSENT = 0 };
    static const int states[] = { TENON_NEIGHBOUR_INCOMPLETE, TENON_NEIGHBOUR_REACHABLE, TENON_NEIGHBOUR_STALE,
                                  TENON_NEIGHBOUR_DELAY, TENON_NEIGHBOUR_PROBE };
    static const unsigned addresses[] = { SAME, OTHER, ABSENT };
    char row[64];

    for (unsigned i = 0; i < 5 * 3 * 4; i++) {
        const int before = states[i % 5];
        const unsigned address = addresses[i / 5 % 3], flags = (i / 15) << 5;    /* O 0x20, S 0x40 */
        const int solicited = (flags & 0x40) != 0, override = (flags & 0x20) != 0;
        int want = before, changed = 0;
        tenon_u8 got[6], mac[6];
        struct tenon_udp *sock;
        struct hn hn;

        snprintf(row, sizeof row, "state %d S %d O %d address %u", before, solicited, override, address);
        hn_row = row;
        sock = bring(&hn, before);
        lt_na(&hn, 1, solicited ? &us : &nodes, &peer, flags, address);
        if (before == TENON_NEIGHBOUR_INCOMPLETE) {
            if (address != ABSENT) {
                want = solicited ? TENON_NEIGHBOUR_REACHABLE : TENON_NEIGHBOUR_DELAY;    /* STALE, and a packet waits */
                changed = address == OTHER;
            }
            HN_EQUAL(lt_count_udp(&hn), address != ABSENT);
        } else if (!override && address == OTHER) {
            want = before == TENON_NEIGHBOUR_REACHABLE ? TENON_NEIGHBOUR_STALE : before;
        } else {
            changed = address == OTHER;
            if (solicited)
                want = TENON_NEIGHBOUR_REACHABLE;
            else if (changed)
                want = TENON_NEIGHBOUR_STALE;
        }
        HN_EQUAL(lt_neighbour(&hn, 1, &peer, got), want);
        if (want != TENON_NEIGHBOUR_INCOMPLETE)
            HN_CHECK(memcmp(got, hn_mac(mac, 1, changed ? OTHER : SAME), 6) == 0);
        tenon_udp_close(sock);
        hn_close(&hn);
    }
}

static void unknown_advertisement(void)
{
    struct hn hn;

    open_ready(&hn);
    lt_na(&hn, 1, &us, &peer, 0x60, 2);
    lt_na(&hn, 1, &nodes, &peer, 0x20, 2);
    HN_EQUAL(lt_neighbours(&hn), 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), 0);
    hn_close(&hn);
}

/* RFC 4861 7.1.2 */
static void incomplete_bad_advertisement(void)
{
    struct tenon_ip target;
    struct tenon_udp *sock;
    struct hn hn;

    sock = bring(&hn, TENON_NEIGHBOUR_INCOMPLETE);
    lt_na(&hn, 1, &nodes, &peer, 0x60, 2);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), 1);
    target = hn_ip("ff02::5");
    {
        tenon_u8 p[32];

        lt_icmp6_from(&hn, 1, 2, &peer, &us, 255, p, lt_nd_build(p, 136, 0x60, &target, 2));
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), 2);
        target = hn_ip("::ffff:10.0.0.9");
        lt_icmp6_from(&hn, 1, 2, &peer, &us, 255, p, lt_nd_build(p, 136, 0x60, &target, 2));
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), 3);
    }
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_INCOMPLETE);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* RFC 4861 7.3.3: three unicast probes, then it is forgotten. */
static void probe_silence(void)
{
    struct tenon_udp *sock;
    struct lt_icmp6 ns;
    tenon_u8 mac[6];
    unsigned n = 0;
    struct hn hn;

    sock = bring(&hn, TENON_NEIGHBOUR_DELAY);
    hn_run_ms(&hn, 4900);
    HN_EQUAL(hn.nsent, 0);
    hn_run_ms(&hn, 3050);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_PROBE);
    hn_run_ms(&hn, 200);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), -1);
    while (lt_next_icmp6(&hn, 135, &ns)) {
        HN_CHECK(tenon_ip_equal(&ns.dst, &peer));
        HN_CHECK(memcmp(ns.mac, hn_mac(mac, 1, 2), 6) == 0);
        n++;
    }
    HN_EQUAL(n, 3);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_FAILED), 1);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Advice of upper layers (RFC 4861 7.3.1): as long as it comes there is no probe. */
static void reachable_confirmed(void)
{
    struct tenon_udp *sock;
    struct tn_path *path;
    struct hn hn;

    sock = bring(&hn, TENON_NEIGHBOUR_REACHABLE);
    HN_EQUAL(tn_path_get(hn.stack, &path, &peer, 0), TENON_OK);
    for (unsigned i = 0; i < 600; i++) {
        (void)lt_udp_send(&hn, sock, "2001:db8::2", 0);
        tn_path_confirm(hn.stack, path);
        hn_run_ms(&hn, 1000);
    }
    HN_EQUAL(hn.nsent, 600);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_REACHABLE);
    tn_path_doubt(hn.stack, path);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_PROBE);
    tn_path_confirm(hn.stack, path);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_REACHABLE);
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Somebody makes us look for the whole network (RFC 6583): who is in use stays. */
static void scan_flood(void)
{
    struct tenon_conf conf;
    struct tenon_udp *sock;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.neighbours_max = 64;
    conf.paths_max = 128;
    lt_open6(&hn, &conf);
    us = hn_ip("2001:db8::1");
    sock = lt_udp_open(&hn);
    for (unsigned i = 0; i < 20; i++) {
        struct tenon_ip ip = tenon_ip6(0x20010DB8U, 0, 0, 0x100 + i);
        char text[TENON_IP_TEXT_MAX];

        tenon_ip_format(text, &ip);
        (void)lt_udp_send(&hn, sock, text, 0);
        lt_na(&hn, 1, &us, &ip, 0x60, 2);
        HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    }
    for (unsigned i = 0; i < 5000; i++) {
        struct tenon_addr to;

        to.ip = tenon_ip6(0x20010DB8U, 0, 0, 0x10000 + i);
        to.port = 9;
        to.netif = 0;
        (void)tenon_udp_write(sock, &to, "scan", 4);
        if (i % 16 == 0)
            hn_run_ms(&hn, 1);
        HN_CHECK(hn.stack->link.nincomplete <= 32);
        HN_CHECK(hn.stack->link.paths.count <= 128);
    }
    for (unsigned i = 0; i < 20; i++) {
        struct tenon_ip ip = tenon_ip6(0x20010DB8U, 0, 0, 0x100 + i);

        HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    }
    HN_CHECK(hn_stat(&hn, TENON_STAT_NEIGH_FULL) > 4000);
    hn_forget(&hn);
    hn_run_ms(&hn, 10000);
    HN_EQUAL(lt_neighbours(&hn), 20);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Solicitations from a thousand forged sources: the table stays within its bound, and who is reachable in it. */
static void source_flood(void)
{
    struct tenon_conf conf;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.neighbours_max = 32;
    lt_open6(&hn, &conf);
    us = hn_ip("2001:db8::1");
    peer = hn_ip("2001:db8::2");
    group_of_us = lt_solicited(&us);
    lt_ns(&hn, 1, &peer, &group_of_us, &us, 2);
    lt_na(&hn, 1, &us, &peer, 0x60, 2);
    for (unsigned i = 0; i < 1000; i++) {
        const struct tenon_ip src = tenon_ip6(0x20010DB8U, 0, 0, 0x10000 + i);

        lt_ns(&hn, 1, &src, &group_of_us, &us, 3);
        hn_forget(&hn);
    }
    HN_EQUAL(lt_neighbours(&hn), 32);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_REACHABLE);
    hn_close(&hn);
}

static void permanent_everything(void)
{
    tenon_u8 mac[6], got[6];
    struct tenon_conf conf;
    struct tenon_udp *sock;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.neighbours_max = 2;
    lt_open6(&hn, &conf);
    us = hn_ip("2001:db8::1");
    peer = hn_ip("2001:db8::2");
    group_of_us = lt_solicited(&us);
    sock = lt_udp_open(&hn);
    (void)lt_udp_send(&hn, sock, "2001:db8::2", 0);
    hn_forget(&hn);
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &peer, hn_mac(mac, 1, 7)), TENON_OK);
    hn_run_ms(&hn, 1);
    HN_EQUAL(lt_count_udp(&hn), 1);
    lt_na(&hn, 1, &us, &peer, 0x60, 2);
    lt_ns(&hn, 1, &peer, &group_of_us, &us, 3);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, got), TENON_NEIGHBOUR_PERMANENT);
    HN_CHECK(memcmp(got, mac, 6) == 0);
    peer = hn_ip("2001:db8::3");
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &peer, hn_mac(mac, 1, 8)), TENON_OK);
    peer = hn_ip("2001:db8::4");
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &peer, hn_mac(mac, 1, 9)), TENON_ELIMIT);
    HN_EQUAL(lt_udp_send(&hn, sock, "2001:db8::4", 0), TENON_ENOMEM);
    peer = hn_ip("ff02::4");
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &peer, mac), TENON_EINVAL);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* RFC 4861 7.3.3: five seconds pass before a neighbour is probed that was not heard of for a while, also when the first
 * datagram comes from outside of tenon_poll(), after a sleep of a minute. */
static void stale_sent_to_after_sleep(void)
{
    const struct hn_sent *sent;
    struct tenon_udp *sock;
    struct lt_icmp6 m;
    tenon_u32 from;
    struct hn hn;

    open_ready(&hn);
    sock = lt_udp_open(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "2001:db8::2", 0), TENON_OK);
    lt_na(&hn, 1, &us, &peer, 0x60, 2);
    hn_run_ms(&hn, 60000);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_STALE);
    HN_CHECK(tenon_poll(hn.stack, hn.now_us) > 60000000);
    from = hn.now_us += 60000000;
    hn_forget(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "2001:db8::2", 0), TENON_OK);
    HN_EQUAL(lt_neighbour(&hn, 1, &peer, NULL), TENON_NEIGHBOUR_DELAY);
    sent = lt_next_ip(&hn);
    HN_CHECK(sent != NULL && sent->at_us == from);
    hn_run_ms(&hn, 20000);
    HN_CHECK(lt_next_icmp6(&hn, 135, &m));
    HN_CHECK(m.sent->at_us - from >= 5000000 && m.sent->at_us - from < 5010000);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* RFC 4862 5.4.5: when there is no IPv6 any more, since the link-local address was somebody else's each time, another
 * address that was being probed is not probed on. */
static void link_local_duplicate_while_probing(void)
{
    const struct tenon_ip other = hn_ip("2001:db8::7");
    struct tenon_ip seen;
    struct hn hn;

    nodes = hn_ip("ff02::1");
    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    for (unsigned i = 0; i < 4; i++) {
        seen = lt_link_local(&hn, 1);
        hn_run_ms(&hn, 300);
        if (i == 3)
            HN_EQUAL(tenon_addr_add(hn.stack, 1, &other, 64), TENON_OK);
        lt_na(&hn, 1, &nodes, &seen, 0x20, 2);
    }
    HN_EQUAL(lt_address(&hn, 1, &seen), TENON_ADDR_DUPLICATE);
    hn_forget(&hn);
    hn_run_ms(&hn, 30000);
    HN_EQUAL(hn.nsent, 0);
    HN_EQUAL(lt_address(&hn, 1, &other), TENON_ADDR_TENTATIVE);
    hn_close(&hn);
}

/* RFC 4862 5.5.4: a datagram that waits for its neighbour does not leave from an address that was lost meanwhile. */
static void incomplete_source_lost(void)
{
    struct tenon_udp *sock;
    struct tenon_ip ours;
    struct hn hn;

    for (int lost = 0; lost < 2; lost++) {
        open_ready(&hn);
        ours = lt_link_local(&hn, 1);
        sock = lt_udp_open(&hn);
        HN_EQUAL(lt_udp_send(&hn, sock, "2001:db8::2", 0), TENON_OK);
        if (lost)
            HN_EQUAL(tenon_addr_remove(hn.stack, 1, &us), TENON_OK);
        hn_forget(&hn);
        lt_na(&hn, 1, &ours, &peer, 0x60, 2);
        (void)tenon_poll(hn.stack, hn.now_us);
        HN_EQUAL(lt_count_udp(&hn), !lost);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_QUEUE_DROP), lost);
        tenon_udp_close(sock);
        hn_close(&hn);
    }
}

static const struct hn_test tests[] = {
    { "idle_bad_solicitation", "ND-1 ND-3 ND-9", idle_bad_solicitation },
    { "idle_bad_option", "ND-1 ND-2 CVE-2021-21279 CVE-2022-35926", idle_bad_option },
    { "idle_noise", "ND-2 VUL-F-4", idle_noise },
    { "solicitation_for_us", "ND-9", solicitation_for_us },
    { "solicitation_from_unspecified", "ND-9", solicitation_from_unspecified },
    { "known_solicitation", "ND-7 ND-9", known_solicitation },
    { "incomplete_silence", "ND-8 ARP-15", incomplete_silence },
    { "every_state_advertisement", "ND-7 ND-10", every_state_advertisement },
    { "unknown_advertisement", "ND-10", unknown_advertisement },
    { "incomplete_bad_advertisement", "ND-4", incomplete_bad_advertisement },
    { "probe_silence", "ND-11", probe_silence },
    { "reachable_confirmed", "ND-12", reachable_confirmed },
    { "scan_flood", "ND-19 ARP-8 VUL-F-12", scan_flood },
    { "source_flood", "ND-19", source_flood },
    { "permanent_everything", "ND-7 ND-19", permanent_everything },
    { "stale_sent_to_after_sleep", "ND-11", stale_sent_to_after_sleep },
    { "link_local_duplicate_while_probing", "SLAAC-3", link_local_duplicate_while_probing },
    { "incomplete_source_lost", "SLAAC-5 ND-8", incomplete_source_lost },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
