/* SPDX-License-Identifier: MIT */
/* Routers (RFC 4861 6, 8) and the addresses that are made from their prefixes (RFC 4862, RFC 7217). */
#include "link_test.h"

static struct tenon_ip nodes;

/* One interface whose link-local address is in use; solicitations are over. */
static void open_ready(struct hn *hn, const struct tenon_conf *conf)
{
    nodes = hn_ip("ff02::1");
    hn_open(hn, conf);
    hn_netif(hn, TENON_NETIF_NO_DAD);
    hn_run_ms(hn, 20000);
    hn_forget(hn);
}

static int route_of(const struct hn *hn, const char *dst, unsigned prefix, const char *gateway,
                    struct tenon_route_info *info)
{
    const struct tenon_ip ip = hn_ip(dst), by = gateway ? hn_ip(gateway) : tenon_ip_any();

    for (unsigned i = 0; tenon_route_get(hn->stack, i, info) == TENON_OK; i++) {
        if (tenon_ip_equal(&info->dst, &ip) && info->prefix == prefix && tenon_ip_equal(&info->gateway, &by))
            return 1;
    }
    return 0;
}

/* ---- solicitation ---------------------------------------------------------------------------- */

/* RFC 4861 6.3.7, with DAD before it: MLD report and NS from ::, then router solicitations. */
static void added_no_router(void)
{
    for (tenon_u32 seed = 1; seed < 12; seed++) {
        struct tenon_ip ours, group, all_routers = hn_ip("ff02::2"), reports = hn_ip("ff02::16");
        struct lt_icmp6 m;
        tenon_u32 start, ns_at, last = 0;
        tenon_u8 mac[6];
        unsigned n = 0;
        struct hn hn;

        hn_open_seed(&hn, NULL, seed);
        start = hn.now_us;
        hn_netif(&hn, 0);
        ours = lt_link_local(&hn, 1);
        group = lt_solicited(&ours);
        HN_EQUAL(ours.w[0], 0xFE800000);
        HN_EQUAL(ours.w[1], 0);
        HN_EQUAL(lt_address(&hn, 1, &ours), TENON_ADDR_TENTATIVE);
        hn_run_ms(&hn, 30000);
        HN_EQUAL(lt_address(&hn, 1, &ours), TENON_ADDR_PREFERRED);

        HN_CHECK(lt_next_icmp6(&hn, 0, &m));
        HN_EQUAL(m.p[0], 143);
        HN_CHECK(m.router_alert);
        HN_EQUAL(m.hop_limit, 1);
        HN_CHECK(tenon_ip_is_any(&m.src));
        HN_CHECK(tenon_ip_equal(&m.dst, &reports));
        HN_EQUAL(m.p[8], 4);
        HN_EQUAL(m.sent->at_us, start);
        {
            const struct tenon_ip record = hn_get_ip(m.p + 12);

            HN_CHECK(tenon_ip_equal(&record, &group));
        }

        hn.taken = 0;
        HN_CHECK(lt_next_icmp6(&hn, 135, &m));
        ns_at = m.sent->at_us;
        HN_CHECK(ns_at - start <= 1010000);
        HN_CHECK(tenon_ip_is_any(&m.src));
        HN_CHECK(tenon_ip_equal(&m.dst, &group));
        HN_EQUAL(m.hop_limit, 255);
        HN_EQUAL(m.len, 32);
        HN_EQUAL(m.p[24], 14);
        HN_CHECK(!lt_next_icmp6(&hn, 135, &m));

        hn.taken = 0;
        while (lt_next_icmp6(&hn, 133, &m)) {
            HN_CHECK(tenon_ip_equal(&m.src, &ours));
            HN_CHECK(tenon_ip_equal(&m.dst, &all_routers));
            HN_EQUAL(m.hop_limit, 255);
            HN_EQUAL(m.len, 16);
            HN_CHECK(memcmp(m.p + 10, hn_mac(mac, 0, 1), 6) == 0);
            if (n == 0)
                HN_CHECK(m.sent->at_us - ns_at >= 1000000 && m.sent->at_us - ns_at <= 2020000);
            else
                HN_CHECK(m.sent->at_us - last >= 4000000 && m.sent->at_us - last <= 4010000);
            last = m.sent->at_us;
            n++;
        }
        HN_EQUAL(n, 3);
        hn_close(&hn);
    }
}

/* A host that has asked for routers once. */
static void soliciting(struct hn *hn)
{
    struct lt_icmp6 m;

    hn_open(hn, NULL);
    hn_netif(hn, TENON_NETIF_NO_DAD);
    hn_run_ms(hn, 1100);
    HN_CHECK(lt_next_icmp6(hn, 133, &m));
}

static void soliciting_advertisement(void)
{
    struct lt_icmp6 m;
    struct lt_ra ra;
    struct hn hn;

    soliciting(&hn);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    hn_run_ms(&hn, 30000);
    HN_CHECK(!lt_next_icmp6(&hn, 133, &m));
    hn_close(&hn);
}

/* RFC 4861 6.3.7: only who is a default router has answered. */
static void soliciting_advertisement_of_no_router(void)
{
    struct lt_icmp6 m;
    struct lt_ra ra;
    struct hn hn;

    soliciting(&hn);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    hn_run_ms(&hn, 5000);
    HN_CHECK(lt_next_icmp6(&hn, 133, &m));
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    hn_run_ms(&hn, 30000);
    HN_CHECK(!lt_next_icmp6(&hn, 133, &m));
    hn_close(&hn);
}

/* RFC 4861 6.3.7: what comes unasked may be incomplete (6.2.3), so the question is put all the same, once. */
static void unsolicited_advertisement(void)
{
    struct lt_icmp6 m;
    struct lt_ra ra;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    hn_run_ms(&hn, 30000);
    HN_CHECK(lt_next_icmp6(&hn, 133, &m));
    HN_CHECK(!lt_next_icmp6(&hn, 133, &m));
    hn_close(&hn);
}

static void flags_no_ip6_no_ra(void)
{
    struct tenon_route_info route;
    struct tenon_addr_info addr;
    struct lt_icmp6 m;
    struct lt_ra ra;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_RA);
    hn_netif(&hn, TENON_NETIF_NO_IP6);
    hn_run_ms(&hn, 30000);
    HN_CHECK(!lt_next_icmp6(&hn, 133, &m));
    HN_CHECK(!lt_automatic(&hn, 2, 0xFE800000, &addr));
    lt_ra_begin(&ra, 32, 0, 1800, 5000, 5000);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0xC0, 86400, 14400);
    for (unsigned netif = 1; netif <= 2; netif++) {
        lt_ra_send(&hn, netif, 9, &ra);
        HN_EQUAL(tn_netif_at(hn.stack, netif)->hop_limit, 0);
        HN_CHECK(!lt_automatic(&hn, netif, 0x20010DB8, &addr));
    }
    HN_EQUAL(tenon_route_get(hn.stack, 0, &route), TENON_EINVAL);
    hn_close(&hn);
}

/* ---- duplicate address detection ------------------------------------------------------------- */

enum { BY_NS, BY_NS_WITH_NONCE, BY_OWN_NS, BY_NA, BY_NS_OF_USER };

/* RFC 4862 5.4.3, 5.4.4, RFC 7527: who else has it, and who is only ourselves in a mirror. */
static void tentative_heard(void)
{
    static const struct {
        const char *name;
        int how;
        unsigned duplicate;
    } rows[] = { { "solicitation", BY_NS, 1 },
                 { "solicitation_with_other_nonce", BY_NS_WITH_NONCE, 1 },
                 { "own_solicitation", BY_OWN_NS, 0 },
                 { "advertisement", BY_NA, 1 },
                 { "solicitation_of_user", BY_NS_OF_USER, 0 } };

    nodes = hn_ip("ff02::1");
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip ip = hn_ip("2001:db8::1"), group = lt_solicited(&ip), any = tenon_ip_any();
        const struct tenon_ip other = hn_ip("2001:db8::2");
        struct lt_icmp6 m;
        tenon_u8 p[40];
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        hn_netif(&hn, 0);
        hn_run_ms(&hn, 20000);
        hn_forget(&hn);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 64), TENON_OK);
        hn_run_ms(&hn, 1010);
        HN_CHECK(lt_next_icmp6(&hn, 135, &m));
        HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_TENTATIVE);
        (void)lt_nd_build(p, 135, 0, &ip, 0);
        memcpy(p + 24, m.p + 24, 8);
        if (rows[i].how == BY_NS_WITH_NONCE)
            p[31] ^= 1;
        switch (rows[i].how) {
        case BY_NS: lt_icmp6_from(&hn, 1, 1, &any, &group, 255, p, 24); break;
        case BY_NS_WITH_NONCE:
        case BY_OWN_NS: lt_icmp6_from(&hn, 1, 1, &any, &group, 255, p, 32); break;
        case BY_NA: lt_na(&hn, 1, &nodes, &ip, 0x20, 2); break;
        default: lt_icmp6_from(&hn, 1, 1, &other, &group, 255, p, lt_nd_build(p, 135, 0, &ip, 2)); break;
        }
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_DUPLICATE), rows[i].duplicate);
        HN_EQUAL(lt_address(&hn, 1, &ip), rows[i].duplicate ? TENON_ADDR_DUPLICATE : TENON_ADDR_TENTATIVE);
        hn_run_ms(&hn, 5000);
        HN_EQUAL(lt_address(&hn, 1, &ip), rows[i].duplicate ? TENON_ADDR_DUPLICATE : TENON_ADDR_PREFERRED);
        HN_EQUAL(tn_addr_is_ours(hn.stack, &ip, 1), !rows[i].duplicate);
        hn_close(&hn);
    }
}

/* RFC 7217 6: other identifiers are tried, three of them; then IPv6 ends on this link (RFC 4862 5.4.5). */
static void link_local_duplicates(void)
{
    struct tenon_ip seen[4];
    struct tenon_addr_info info;
    unsigned n = 0;
    struct hn hn;

    nodes = hn_ip("ff02::1");
    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    for (; n < 4; n++) {
        seen[n] = lt_link_local(&hn, 1);
        for (unsigned i = 0; i < n; i++)
            HN_CHECK(!tenon_ip_equal(&seen[i], &seen[n]));
        HN_EQUAL(tn_netif_at(hn.stack, 1)->ip6, 1);
        hn_run_ms(&hn, 300);
        lt_na(&hn, 1, &nodes, &seen[n], 0x20, 2);
    }
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_DUPLICATE), 4);
    HN_EQUAL(tn_netif_at(hn.stack, 1)->ip6, 0);
    HN_EQUAL(tenon_addr_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.state, TENON_ADDR_DUPLICATE);
    HN_EQUAL(tenon_addr_get(hn.stack, 1, &info), TENON_EINVAL);
    hn_forget(&hn);
    hn_run_ms(&hn, 30000);
    HN_EQUAL(hn.nsent, 0);
    hn_close(&hn);
}

static void preferred_advertisement_for_it(void)
{
    const struct tenon_ip other = hn_ip("fe80::2");
    struct tenon_ip ours;
    tenon_u8 p[32];
    struct hn hn;

    open_ready(&hn, NULL);
    ours = lt_link_local(&hn, 1);
    lt_icmp6_from(&hn, 1, 2, &other, &nodes, 255, p, lt_nd_build(p, 136, 0x20, &ours, 2));
    HN_EQUAL(lt_address(&hn, 1, &ours), TENON_ADDR_PREFERRED);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_DUPLICATE), 1);
    HN_EQUAL(lt_neighbours(&hn), 0);
    hn_close(&hn);
}

/* ---- advertisement --------------------------------------------------------------------------- */

static void idle_bad_advertisement(void)
{
    static const struct {
        const char *name, *src;
        unsigned hop_limit, code;
        size_t len;
        unsigned bad;
    } rows[] = { { "good", "fe80::9", 255, 0, 16, 0 },          { "source_global", "2001:db8::9", 255, 0, 16, 1 },
                 { "hop_limit_254", "fe80::9", 254, 0, 16, 1 }, { "code_1", "fe80::9", 255, 1, 16, 1 },
                 { "short_15", "fe80::9", 255, 0, 15, 1 },      { "short_8", "fe80::9", 255, 0, 8, 1 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_ip src = hn_ip(rows[i].src);
        struct tenon_route_info route;
        struct lt_ra ra;
        struct hn hn;

        hn_row = rows[i].name;
        open_ready(&hn, NULL);
        lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
        ra.p[1] = (tenon_u8)rows[i].code;
        lt_icmp6_from(&hn, 1, 9, &src, &nodes, rows[i].hop_limit, ra.p, rows[i].len);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), rows[i].bad);
        HN_EQUAL(route_of(&hn, "::", 0, "fe80::9", &route), !rows[i].bad);
        hn_close(&hn);
    }
}

static void idle_parameters(void)
{
    static const struct {
        const char *name;
        unsigned hop_limit;
        tenon_u32 reachable, retrans, mtu;
        unsigned want_hop_limit;
        tenon_u32 want_reachable, want_retrans;
        unsigned want_mtu;
    } rows[] = { { "all", 99, 5000, 2000, 1400, 99, 5000, 2000, 1400 },
                 { "unspecified", 0, 0, 0, 0, 0, 30000, 1000, 0 },
                 { "too_small", 3, 1, 1, 1279, 0, 30000, 100, 0 },
                 { "too_large", 255, 3600001, 0xFFFFFFFF, 1501, 255, 30000, 60000, 0 },
                 { "edges", 16, 3600000, 60000, 1280, 16, 3600000, 60000, 1280 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip("fe80::9");
        const struct tn_netif *netif;
        struct tn_path *path;
        struct lt_ra ra;
        struct hn hn;

        hn_row = rows[i].name;
        open_ready(&hn, NULL);
        lt_ra_begin(&ra, rows[i].hop_limit, 0, 0, rows[i].reachable, rows[i].retrans);
        lt_ra_mtu(&ra, rows[i].mtu);
        lt_ra_send(&hn, 1, 9, &ra);
        netif = tn_netif_at(hn.stack, 1);
        HN_EQUAL(netif->hop_limit, rows[i].want_hop_limit);
        HN_EQUAL(netif->reachable_ms, rows[i].want_reachable);
        HN_EQUAL(netif->retrans_ms, rows[i].want_retrans);
        HN_EQUAL(netif->ip6_mtu, rows[i].want_mtu);
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 1), TENON_OK);
        HN_EQUAL(tn_path_mtu(hn.stack, path), rows[i].want_mtu ? rows[i].want_mtu : 1500);
        tn_path_put(hn.stack, path);
        hn_close(&hn);
    }
}

static void idle_default_router(void)
{
    struct tenon_route_info route;
    const struct tenon_ip router = hn_ip("fe80::9");
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0x08, 100, 0, 0);    /* RFC 4191: high preference */
    lt_ra_slla(&ra, 9);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::9", &route));
    HN_CHECK(route.automatic);
    HN_EQUAL(route.metric, 1008);
    HN_EQUAL(lt_neighbour(&hn, 1, &router, NULL), TENON_NEIGHBOUR_STALE);
    lt_ra_begin(&ra, 64, 0x18, 100, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::9", &route));
    HN_EQUAL(route.metric, 1040);
    HN_EQUAL(tenon_route_get(hn.stack, 1, &route), TENON_EINVAL);
    hn_run_ms(&hn, 99000);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::9", &route));
    hn_run_ms(&hn, 3000);
    HN_CHECK(!route_of(&hn, "::", 0, "fe80::9", &route));
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::9", &route));
    lt_ra_begin(&ra, 64, 0x18, 0, 0, 0);    /* lifetime 0: no default router any more */
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(!route_of(&hn, "::", 0, "fe80::9", &route));
    hn_close(&hn);
}

/* RFC 4861 7.2.5: a router that says that it is none is none. */
static void router_advertises_itself_as_host(void)
{
    const struct tenon_ip router = hn_ip("fe80::9");
    struct tenon_route_info route;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_slla(&ra, 9);
    lt_ra_send(&hn, 1, 9, &ra);
    lt_na(&hn, 1, &nodes, &router, 0xA0, 9);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::9", &route));
    lt_na(&hn, 1, &nodes, &router, 0x20, 9);
    HN_CHECK(!route_of(&hn, "::", 0, "fe80::9", &route));
    hn_close(&hn);
}

/* RFC 4861 7.2.5: without the override flag, and with another link-layer address, an advertisement changes nothing but
 * that the known address is doubted; not even that its sender were no router. */
static void router_denied_by_another(void)
{
    const struct tenon_ip router = hn_ip("fe80::9");
    struct tenon_route_info route;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_slla(&ra, 9);
    lt_ra_send(&hn, 1, 9, &ra);
    lt_na(&hn, 1, &nodes, &router, 0, 3);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::9", &route));
    lt_na(&hn, 1, &nodes, &router, 0, 9);
    HN_CHECK(!route_of(&hn, "::", 0, "fe80::9", &route));
    hn_close(&hn);
}

/* RFC 4861 6.3.4: who is known already is a router from its first advertisement on, also if that does not bring its
 * link-layer address; so it can say later that it is one no more. */
static void known_host_becomes_router(void)
{
    const struct tenon_ip router = hn_ip("fe80::9");
    struct tenon_neighbour_info info;
    struct tenon_route_info route;
    struct tenon_ip ours;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    ours = lt_link_local(&hn, 1);
    lt_ns(&hn, 1, &router, &ours, &ours, 9);
    HN_EQUAL(tenon_neighbour_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.router, 0);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_EQUAL(tenon_neighbour_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.router, 1);
    lt_na(&hn, 1, &nodes, &router, 0x20, 9);
    HN_CHECK(!route_of(&hn, "::", 0, "fe80::9", &route));
    hn_close(&hn);
}

/* Two routers, one goes silent: the other is used (RFC 4861 6.3.6), and the first again when it is back. */
static void two_routers_one_silent(void)
{
    struct tenon_ip ours, first = hn_ip("fe80::8"), second = hn_ip("fe80::9");
    const struct tenon_ip to = hn_ip("2001:db8:9::1");
    struct tenon_udp *sock;
    struct tn_path *path;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    for (unsigned nn = 8; nn <= 9; nn++) {
        lt_ra_begin(&ra, 64, nn == 8 ? 0x08U : 0, 1800, 0, 0);
        lt_ra_slla(&ra, nn);
        lt_ra_prefix(&ra, "2001:db8::", 64, 0xC0, 86400, 14400);
        lt_ra_send(&hn, 1, nn, &ra);
    }
    sock = lt_udp_open(&hn);
    HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &first));
    for (unsigned i = 0; i < 20; i++) {
        (void)lt_udp_send(&hn, sock, "2001:db8:9::1", 0);
        hn_run_ms(&hn, 500);
    }
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &second));
    hn_forget(&hn);
    (void)lt_udp_send(&hn, sock, "2001:db8:9::1", 0);
    HN_CHECK(hn.nsent > 0 && hn.sent[hn.nsent - 1].bytes[5] == 9);
    ours = lt_link_local(&hn, 1);
    lt_ns(&hn, 1, &first, &ours, &ours, 8);
    lt_na(&hn, 1, &ours, &first, 0xE0, 8);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &first));
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* How many default routers there are. */
static unsigned default_routers(const struct hn *hn)
{
    struct tenon_route_info info;
    unsigned i, n = 0;

    for (i = 0; tenon_route_get(hn->stack, i, &info) == TENON_OK; i++)
        n += info.automatic && info.prefix == 0;
    return n;
}

/* As many as there is room for, and all go silent: whoever speaks then has the place of one of them, and not before. */
static void full_of_silent_routers(void)
{
    const struct tenon_ip to = hn_ip("2001:db8:9::1"), fifth = hn_ip("fe80::5");
    struct tenon_route_info info;
    struct tenon_udp *sock;
    struct tn_path *path;
    struct lt_ra ra;
    struct hn hn;
    unsigned nn, i;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0xC0, 86400, 14400);
    for (nn = 1; nn <= 5; nn++)
        lt_ra_send(&hn, 1, nn, &ra);
    HN_CHECK(!route_of(&hn, "::", 0, "fe80::5", &info) && default_routers(&hn) == 4);
    sock = lt_udp_open(&hn);
    for (i = 0; i < 100; i++) {
        (void)lt_udp_send(&hn, sock, "2001:db8:9::1", 0);
        hn_run_ms(&hn, 500);
    }
    HN_EQUAL(default_routers(&hn), 4);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_slla(&ra, 5);
    lt_ra_send(&hn, 1, 5, &ra);
    HN_CHECK(route_of(&hn, "::", 0, "fe80::5", &info) && default_routers(&hn) == 4);
    HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &fifth));
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* ---- prefixes -------------------------------------------------------------------------------- */

static void idle_prefix(void)
{
    static const struct {
        const char *name, *prefix;
        unsigned bits, flags;
        tenon_u32 valid, preferred;
        unsigned on_link, address;
    } rows[] = { { "both", "2001:db8:1::", 64, 0xC0, 7200, 3600, 1, 1 },
                 { "on_link", "2001:db8:1::", 64, 0x80, 7200, 3600, 1, 0 },
                 { "autonomous", "2001:db8:1::", 64, 0x40, 7200, 3600, 0, 1 },
                 { "neither", "2001:db8:1::", 64, 0x00, 7200, 3600, 0, 0 },
                 { "valid_0", "2001:db8:1::", 64, 0xC0, 0, 0, 0, 0 },
                 { "preferred_longer", "2001:db8:1::", 64, 0xC0, 3600, 7200, 0, 0 },
                 { "bits_63", "2001:db8:1::", 63, 0xC0, 7200, 3600, 1, 0 },
                 { "bits_129", "2001:db8:1::", 129, 0xC0, 7200, 3600, 0, 0 },
                 { "link_local", "fe80::", 64, 0xC0, 7200, 3600, 0, 0 },
                 { "multicast", "ff02::", 64, 0xC0, 7200, 3600, 0, 0 },
                 { "ip4", "::ffff:0:0", 64, 0xC0, 7200, 3600, 0, 0 },
                 { "for_ever", "2001:db8:1::", 64, 0xC0, 0xFFFFFFFF, 0xFFFFFFFF, 1, 1 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_route_info route;
        struct tenon_addr_info addr;
        struct lt_ra ra;
        struct hn hn;
        int found;

        hn_row = rows[i].name;
        open_ready(&hn, NULL);
        lt_ra_begin(&ra, 64, 0, 0, 0, 0);
        lt_ra_prefix(&ra, rows[i].prefix, rows[i].bits, rows[i].flags, rows[i].valid, rows[i].preferred);
        lt_ra_send(&hn, 1, 9, &ra);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), 0);
        HN_EQUAL(tenon_route_get(hn.stack, 0, &route) == TENON_OK, rows[i].on_link);
        if (rows[i].on_link)
            HN_CHECK(route.automatic && route.prefix == rows[i].bits && tenon_ip_is_any(&route.gateway));
        found = lt_automatic(&hn, 1, 0x20010DB8, &addr);
        HN_EQUAL(found, rows[i].address);
        if (found) {
            HN_EQUAL(addr.ip.w[1], 0x00010000);
            HN_EQUAL(addr.prefix, 64);
            HN_EQUAL(addr.valid_s, rows[i].valid);
            HN_EQUAL(addr.preferred_s, rows[i].preferred);
            HN_EQUAL(addr.state, TENON_ADDR_PREFERRED);
        }
        HN_EQUAL(tenon_addr_get(hn.stack, rows[i].address ? 2 : 1, &addr), TENON_EINVAL);
        hn_close(&hn);
    }
}

/* RFC 4862 5.5.3 e: the valid lifetime after a second advertisement. */
static void slaac_two_hours(void)
{
    static const struct {
        const char *name;
        tenon_u32 first, second, want;
    } rows[] = { { "longer", 10000, 20000, 20000 },     { "over_two_hours", 20000, 7201, 7201 },
                 { "longer_below", 3000, 4000, 4000 },  { "shorter_below", 7000, 100, 7000 },
                 { "to_nothing", 7000, 0, 7000 },       { "shorter_over", 20000, 100, 7200 },
                 { "over_to_nothing", 20000, 0, 7200 }, { "for_ever_to_nothing", 0xFFFFFFFF, 0, 7200 },
                 { "exactly", 20000, 7200, 7200 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_addr_info addr;
        struct lt_ra ra;
        struct hn hn;

        hn_row = rows[i].name;
        open_ready(&hn, NULL);
        lt_ra_begin(&ra, 64, 0, 0, 0, 0);
        lt_ra_prefix(&ra, "2001:db8::", 64, 0x40, rows[i].first, 60);
        lt_ra_send(&hn, 1, 9, &ra);
        lt_ra_begin(&ra, 64, 0, 0, 0, 0);
        lt_ra_prefix(&ra, "2001:db8::", 64, 0x40, rows[i].second, 0);
        lt_ra_send(&hn, 1, 9, &ra);
        if (HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr))) {
            HN_EQUAL(addr.valid_s, rows[i].want);
            HN_EQUAL(addr.preferred_s, 0);
            HN_EQUAL(addr.state, TENON_ADDR_DEPRECATED);
        }
        hn_close(&hn);
    }
}

/* RFC 4862 5.5.4 */
static void slaac_lifetimes_end(void)
{
    struct tenon_addr_info addr;
    struct tenon_route_info route;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0xC0, 100, 50);
    lt_ra_send(&hn, 1, 9, &ra);
    hn_run_ms(&hn, 49000);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr));
    HN_EQUAL(addr.state, TENON_ADDR_PREFERRED);
    hn_run_ms(&hn, 3000);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr));
    HN_EQUAL(addr.state, TENON_ADDR_DEPRECATED);
    HN_CHECK(tn_addr_is_ours(hn.stack, &addr.ip, 1));
    hn_run_ms(&hn, 47000);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr));
    HN_EQUAL(tenon_route_get(hn.stack, 0, &route), TENON_OK);
    hn_run_ms(&hn, 3000);
    HN_CHECK(!lt_automatic(&hn, 1, 0x20010DB8, &addr));
    HN_EQUAL(tenon_route_get(hn.stack, 0, &route), TENON_EINVAL);
    hn_close(&hn);
}

static void deprecated_advertised_again(void)
{
    struct tenon_addr_info addr;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0x40, 7200, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr));
    HN_EQUAL(addr.state, TENON_ADDR_DEPRECATED);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0x40, 7200, 100);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr));
    HN_EQUAL(addr.state, TENON_ADDR_PREFERRED);
    HN_EQUAL(addr.preferred_s, 100);
    hn_close(&hn);
}

/* Lifetimes of 60 days: longer than 32 bits of milliseconds. */
static void slaac_sixty_days(void)
{
    struct tenon_addr_info addr;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0x40, 60 * 86400, 55 * 86400);
    lt_ra_send(&hn, 1, 9, &ra);
    for (unsigned day = 0; day < 60; day++) {
        HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &addr));
        HN_EQUAL(addr.state, day <= 55 ? TENON_ADDR_PREFERRED : TENON_ADDR_DEPRECATED);
        HN_EQUAL(addr.valid_s, (60 - day) * 86400);
        hn_run_ms(&hn, 86400000);
    }
    hn_run_ms(&hn, 2000);
    HN_CHECK(!lt_automatic(&hn, 1, 0x20010DB8, &addr));
    hn_close(&hn);
}

/* RFC 7217: the same prefix gives the same identifier, another one another; not the Ethernet address. */
static void slaac_identifiers(void)
{
    struct tenon_addr_info first, second;
    struct tenon_ip ours;
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    ours = lt_link_local(&hn, 1);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0x40, 7200, 7200);
    lt_ra_prefix(&ra, "2001:db9::", 64, 0x40, 7200, 7200);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &first));
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB9, &second));
    HN_CHECK(first.ip.w[2] != second.ip.w[2] && first.ip.w[3] != second.ip.w[3] && first.ip.w[2] != ours.w[2]);
    HN_CHECK((first.ip.w[2] & 0xFF) != 0xFF || first.ip.w[3] >> 24 != 0xFE);
    HN_EQUAL(tenon_addr_remove(hn.stack, 1, &first.ip), TENON_OK);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_CHECK(lt_automatic(&hn, 1, 0x20010DB8, &second));
    HN_CHECK(tenon_ip_equal(&first.ip, &second.ip));
    hn_close(&hn);
}

/* ND-21: a flood of advertisements, forged routers and prefixes: all bounded, and what the owner set stays. */
static void flood(void)
{
    const struct tenon_ip ip = hn_ip("10.0.0.1"), net = hn_ip("192.168.0.0"), gateway = hn_ip("10.0.0.9");
    struct tenon_route_info route;
    struct tenon_addr_info addr;
    unsigned routes = 0, prefixes = 0, addresses = 0;
    struct hn hn;

    open_ready(&hn, NULL);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    for (unsigned i = 0; i < 500; i++) {
        struct lt_ra ra;
        char text[64];

        lt_ra_begin(&ra, 64, 0, 9000, 0, 0);
        lt_ra_slla(&ra, 1 + i % 200);
        for (unsigned j = 0; j < 40; j++) {
            snprintf(text, sizeof text, "2001:%x:%x::", 1 + i, 1 + j);
            lt_ra_prefix(&ra, text, 64, 0xC0, 9000, 9000);
        }
        {
            const struct tenon_ip src = tenon_ip6(0xFE800000U, 0, 0, 1 + i);

            lt_icmp6_from(&hn, 1, 1, &src, &nodes, 255, ra.p, ra.len);
        }
        hn_forget(&hn);
    }
    while (tenon_route_get(hn.stack, routes, &route) == TENON_OK) {
        prefixes += route.automatic && tenon_ip_is_any(&route.gateway) && !tenon_ip_is_v4(&route.dst);
        routes++;
    }
    while (tenon_addr_get(hn.stack, addresses, &addr) == TENON_OK)
        addresses++;
    HN_EQUAL(prefixes, 8);
    HN_EQUAL(routes, 1 + 8 + 4);
    HN_EQUAL(addresses, 1 + 1 + 4);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &net, 16, &gateway, 0), TENON_OK);
    HN_EQUAL(lt_neighbours(&hn), hn.conf.neighbours_max);
    hn_close(&hn);
}

/* ---- who listens ------------------------------------------------------------------------------ */

static struct {
    struct hn *hn;
    unsigned n, stop_at;
    tenon_u8 types[8];
    size_t bytes[8];
    struct tenon_ra_option last;
    tenon_u8 last_byte;
    struct tenon_ip router;
    int routed;                        /* whether the core knew the router by then */
} heard;

static void hear_option(void *app, const struct tenon_ra_option *option)
{
    struct tenon_route_info route;

    HN_CHECK(app == &heard && heard.n < TENON_ARRAY_LEN(heard.types));
    heard.types[heard.n] = option->bytes[0];
    heard.bytes[heard.n++] = option->n;
    heard.last = *option;
    heard.last_byte = option->bytes[option->n - 1];
    heard.router = *option->router;
    heard.routed = route_of(heard.hn, "::", 0, "fe80::9", &route);
    if (heard.n == heard.stop_at)
        tenon_ra_listen(heard.hn->stack, NULL, NULL);
}

static void listen_to_routers(struct hn *hn, unsigned stop_at)
{
    memset(&heard, 0, sizeof heard);
    heard.hn = hn;
    heard.stop_at = stop_at;
    tenon_ra_listen(hn->stack, hear_option, &heard);
}

/* A prefix, an MTU, and an option that the core does not know: 25 (RFC 8106 5.1) of 24 bytes. */
static void three_options(struct lt_ra *ra)
{
    lt_ra_begin(ra, 64, 0, 1800, 0, 0);
    lt_ra_prefix(ra, "2001:db8:1::", 64, 0xC0, 7200, 3600);
    lt_ra_mtu(ra, 1400);
    ra->p[ra->len] = 25;
    ra->p[ra->len + 1] = 3;
    ra->p[ra->len + 23] = 0x53;
    ra->len += 24;
}

static void listener_hears_options(void)
{
    const struct tenon_ip router = hn_ip("fe80::9");
    struct lt_ra ra;
    struct hn hn;

    open_ready(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    listen_to_routers(&hn, 0);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_send(&hn, 2, 9, &ra);
    HN_EQUAL(heard.n, 0);    /* it has none */
    three_options(&ra);
    hn.now_us += 7;
    lt_ra_send(&hn, 2, 9, &ra);
    HN_EQUAL(heard.n, 3);
    HN_CHECK(memcmp(heard.types, "\3\5\31", 3) == 0);
    HN_EQUAL(heard.bytes[0], 32);
    HN_EQUAL(heard.bytes[1], 8);
    HN_EQUAL(heard.bytes[2], 24);
    HN_EQUAL(heard.last_byte, 0x53);
    HN_EQUAL(heard.last.netif, 2);
    HN_EQUAL(heard.last.now_us, hn.now_us);
    HN_CHECK(tenon_ip_equal(&heard.router, &router));
    HN_CHECK(heard.routed);
    listen_to_routers(&hn, 2);    /* it ends in the second call */
    lt_ra_send(&hn, 1, 9, &ra);
    HN_EQUAL(heard.n, 2);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_EQUAL(heard.n, 2);
    hn_close(&hn);
}

/* What RFC 4861 6.1.2 refuses is not told, nor what comes where routers are not believed. */
static void listener_hears_no_bad_one(void)
{
    static const struct {
        const char *name, *src;
        unsigned flags, hop_limit, code, last_length, cut, told;
    } rows[] = { { "good", "fe80::9", 0, 255, 0, 3, 0, 3 },
                 { "no_ra", "fe80::9", TENON_NETIF_NO_RA, 255, 0, 3, 0, 0 },
                 { "no_ip6", "fe80::9", TENON_NETIF_NO_IP6, 255, 0, 3, 0, 0 },
                 { "source_global", "2001:db8::9", 0, 255, 0, 3, 0, 0 },
                 { "hop_limit_254", "fe80::9", 0, 254, 0, 3, 0, 0 },
                 { "code_1", "fe80::9", 0, 255, 1, 3, 0, 0 },
                 { "length_0", "fe80::9", 0, 255, 0, 0, 0, 0 },
                 { "beyond_the_end", "fe80::9", 0, 255, 0, 4, 0, 0 },
                 { "cut", "fe80::9", 0, 255, 0, 3, 1, 0 } };

    nodes = hn_ip("ff02::1");
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip src = hn_ip(rows[i].src);
        struct lt_ra ra;
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        hn_netif(&hn, TENON_NETIF_NO_DAD | rows[i].flags);
        listen_to_routers(&hn, 0);
        three_options(&ra);
        ra.p[1] = (tenon_u8)rows[i].code;
        ra.p[16 + 32 + 8 + 1] = (tenon_u8)rows[i].last_length;
        lt_icmp6_from(&hn, 1, 9, &src, &nodes, rows[i].hop_limit, ra.p, ra.len - rows[i].cut);
        HN_EQUAL(heard.n, rows[i].told);
        hn_close(&hn);
    }
}

/* ---- redirects ------------------------------------------------------------------------------- */

static void redirect_build(tenon_u8 p[48], const char *target, const char *dst, unsigned option_mac)
{
    const struct tenon_ip t = hn_ip(target), d = hn_ip(dst);

    memset(p, 0, 48);
    p[0] = 137;
    hn_put_ip(p + 8, &t);
    hn_put_ip(p + 24, &d);
    p[40] = 2;
    p[41] = 1;
    hn_mac(p + 42, 1, option_mac);
}

static void path_redirect(void)
{
    static const struct {
        const char *name, *src, *target, *dst;
        unsigned hop_limit;
        const char *next_hop;
        unsigned bad;
    } rows[] = {
        { "to_router", "fe80::9", "fe80::8", "2001:db8:9::1", 255, "fe80::8", 0 },
        { "to_neighbour", "fe80::9", "2001:db8:9::1", "2001:db8:9::1", 255, "2001:db8:9::1", 0 },
        { "hop_limit", "fe80::9", "fe80::8", "2001:db8:9::1", 254, "fe80::9", 1 },
        { "not_first_hop", "fe80::7", "fe80::8", "2001:db8:9::1", 255, "fe80::9", 1 },
        { "source_global", "2001:db8::9", "fe80::8", "2001:db8:9::1", 255, "fe80::9", 1 },
        { "target_global", "fe80::9", "2001:db8::8", "2001:db8:9::1", 255, "fe80::9", 1 },
        { "destination_multicast", "fe80::9", "fe80::8", "ff0e::1", 255, "fe80::9", 1 },
        { "destination_unused", "fe80::9", "fe80::8", "2001:db8:9::2", 255, "fe80::9", 1 },
        { "target_ip4", "fe80::9", "::ffff:10.0.0.1", "::ffff:10.0.0.1", 255, "fe80::9", 1 }
    };
    const struct tenon_ip to = hn_ip("2001:db8:9::1"), router = hn_ip("fe80::8");

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip src = hn_ip(rows[i].src), next_hop = hn_ip(rows[i].next_hop);
        struct tenon_ip ours;
        struct tn_path *path;
        struct lt_ra ra;
        tenon_u8 p[48];
        struct hn hn;

        hn_row = rows[i].name;
        open_ready(&hn, NULL);
        lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
        lt_ra_slla(&ra, 9);
        lt_ra_prefix(&ra, "2001:db8::", 64, 0xC0, 86400, 14400);
        lt_ra_send(&hn, 1, 9, &ra);
        ours = lt_link_local(&hn, 1);
        HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK);
        redirect_build(p, rows[i].target, rows[i].dst, 8);
        lt_icmp6_from(&hn, 1, 9, &src, &ours, rows[i].hop_limit, p, sizeof p);
        HN_CHECK(tenon_ip_equal(&path->next_hop, &next_hop));
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), rows[i].bad);
        if (i == 0)
            HN_EQUAL(lt_neighbour(&hn, 1, &router, NULL), TENON_NEIGHBOUR_STALE);
        lt_icmp6_from(&hn, 1, 9, &src, &ours, 255, p, 39);    /* too short */
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ND_BAD), rows[i].bad + 1);
        tn_path_put(hn.stack, path);
        hn_close(&hn);
    }
}

/* RFC 4861 7.2.5: a destination that was redirected to a router leaves it when that says it is none any more. */
static void redirected_router_is_none(void)
{
    const struct tenon_ip to = hn_ip("2001:db8:9::1"), first = hn_ip("fe80::9"), better = hn_ip("fe80::8");
    struct tn_path *path;
    struct tenon_ip ours;
    tenon_u8 p[48];
    struct lt_ra ra;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    hn_run_ms(&hn, 20000);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_slla(&ra, 9);
    lt_ra_prefix(&ra, "2001:db8::", 64, 0xC0, 86400, 14400);
    lt_ra_send(&hn, 1, 9, &ra);
    ours = lt_link_local(&hn, 1);
    HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK);
    memset(p, 0, sizeof p);
    p[0] = 137;
    hn_put_ip(p + 8, &better);
    hn_put_ip(p + 24, &to);
    p[40] = 2;
    p[41] = 1;
    hn_mac(p + 42, 1, 8);
    lt_icmp6_from(&hn, 1, 9, &first, &ours, 255, p, sizeof p);
    lt_na(&hn, 1, &ours, &better, 0xE0, 8);    /* solicited, from a router */
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &better));
    lt_na(&hn, 1, &ours, &better, 0x60, 8);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &first));
    tn_path_put(hn.stack, path);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "added_no_router", "ND-15 SLAAC-1 SLAAC-2 MLD-4", added_no_router },
    { "soliciting_advertisement", "ND-15", soliciting_advertisement },
    { "unsolicited_advertisement", "ND-15", unsolicited_advertisement },
    { "soliciting_advertisement_of_no_router", "ND-15", soliciting_advertisement_of_no_router },
    { "flags_no_ip6_no_ra", "ND-13 ND-21", flags_no_ip6_no_ra },
    { "tentative_heard", "SLAAC-3", tentative_heard },
    { "link_local_duplicates", "SLAAC-3 7217-1", link_local_duplicates },
    { "preferred_advertisement_for_it", "SLAAC-3", preferred_advertisement_for_it },
    { "idle_bad_advertisement", "ND-1 ND-5", idle_bad_advertisement },
    { "idle_parameters", "ND-13", idle_parameters },
    { "idle_default_router", "ND-13 ND-14", idle_default_router },
    { "router_advertises_itself_as_host", "ND-10", router_advertises_itself_as_host },
    { "router_denied_by_another", "ND-10", router_denied_by_another },
    { "known_host_becomes_router", "ND-13 ND-10", known_host_becomes_router },
    { "two_routers_one_silent", "ND-14 IP4-24", two_routers_one_silent },
    { "full_of_silent_routers", "ND-13 ND-14 ND-21", full_of_silent_routers },
    { "idle_prefix", "ND-13 ND-22 SLAAC-4", idle_prefix },
    { "slaac_two_hours", "SLAAC-4", slaac_two_hours },
    { "slaac_lifetimes_end", "SLAAC-5", slaac_lifetimes_end },
    { "deprecated_advertised_again", "SLAAC-4 SLAAC-5", deprecated_advertised_again },
    { "slaac_sixty_days", "SLAAC-5", slaac_sixty_days },
    { "slaac_identifiers", "7217-1", slaac_identifiers },
    { "flood", "ND-21 ND-19", flood },
    { "listener_hears_options", "ND-23", listener_hears_options },
    { "listener_hears_no_bad_one", "ND-2 ND-5 ND-21 ND-23", listener_hears_no_bad_one },
    { "path_redirect", "ND-6 ND-20", path_redirect },
    { "redirected_router_is_none", "ND-10", redirected_router_is_none },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
