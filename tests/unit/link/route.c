/* SPDX-License-Identifier: MIT */
/* Routes and paths: where a packet goes, and what is remembered of it. */
#include "link_test.h"

/* ---- the interface --------------------------------------------------------------------------- */

static void add_impossible(void)
{
    static const struct {
        const char *dst;
        unsigned prefix;
        const char *gateway;
        int want;
    } rows[] = {
        { "10.0.0.0", 8, NULL, TENON_OK },           { "10.0.0.1", 8, NULL, TENON_EINVAL },
        { "10.0.0.0", 33, NULL, TENON_EINVAL },      { "0.0.0.0", 0, "10.0.0.9", TENON_OK },
        { "0.0.0.0", 0, "fe80::1", TENON_EINVAL },   { "::", 0, "10.0.0.9", TENON_EINVAL },
        { "::", 0, "fe80::1", TENON_OK },            { "::", 129, "fe80::1", TENON_EINVAL },
        { "2001:db8::", 32, NULL, TENON_OK },        { "2001:db8::1", 127, NULL, TENON_EINVAL },
        { "0.0.0.0", 0, "224.0.0.1", TENON_EINVAL }, { "0.0.0.0", 0, "255.255.255.255", TENON_EINVAL },
        { "0.0.0.0", 0, "10.0.0.1", TENON_EINVAL },  { "10.0.0.9", 32, "10.0.0.8", TENON_OK }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i].dst), gateway = hn_ip(rows[i].gateway ? rows[i].gateway : "::");
        const struct tenon_ip *by = rows[i].gateway ? &gateway : NULL;
        struct hn hn;

        hn_row = rows[i].dst;
        lt_open4(&hn, NULL);
        HN_EQUAL(tenon_route_add(hn.stack, 1, &dst, rows[i].prefix, by, 0), rows[i].want);
        if (rows[i].want == TENON_OK) {
            HN_EQUAL(tenon_route_add(hn.stack, 1, &dst, rows[i].prefix, by, 7), TENON_EINUSE);
            HN_EQUAL(tenon_route_remove(hn.stack, 1, &dst, rows[i].prefix, by), TENON_OK);
        }
        HN_EQUAL(tenon_route_remove(hn.stack, 1, &dst, rows[i].prefix, by), TENON_EUNREACH);
        hn_close(&hn);
    }
}

static void add_too_many(void)
{
    struct tenon_conf conf;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.routes_max = 8;
    lt_open4(&hn, &conf);
    for (tenon_u32 i = 0; i < 8; i++) {
        const struct tenon_ip dst = tenon_ip4(0x0B000000U + (i << 8)), ip = tenon_ip4(0x0C000001U);

        HN_EQUAL(tenon_route_add(hn.stack, 1, &dst, 24, NULL, 0), i < 7 ? TENON_OK : TENON_ELIMIT);
        if (i == 7)    /* an address that brings a route has no room either, and leaves nothing behind */
            HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_ELIMIT);
    }
    HN_EQUAL(lt_address_text(&hn, 1, "12.0.0.1"), -1);
    hn_close(&hn);
}

/* The route to a prefix comes with its first address and goes with its last. */
static void address_routes(void)
{
    const struct tenon_ip a = hn_ip("10.1.0.1"), b = hn_ip("10.1.0.2"), alone = hn_ip("10.2.0.1");
    struct tenon_route_info info;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &a, 24), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &b, 24), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &alone, 32), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.prefix, 24);
    HN_CHECK(info.automatic && tenon_ip_is_any(&info.gateway));
    HN_EQUAL(tenon_route_get(hn.stack, 1, &info), TENON_EINVAL);
    HN_EQUAL(tenon_addr_remove(hn.stack, 1, &a), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(tenon_addr_remove(hn.stack, 1, &b), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_EINVAL);
    hn_close(&hn);
}

/* ---- looking up ------------------------------------------------------------------------------ */

/* 1: 10.0.0.1/24 and 2001:db8::1/64; 2: 10.2.0.1/16, default by 10.2.0.9; 3: down. */
static void open_three(struct hn *hn)
{
    static const struct {
        unsigned netif, prefix;
        const char *ip;
    } addresses[] = { { 1, 24, "10.0.0.1" }, { 1, 64, "2001:db8::1" }, { 2, 16, "10.2.0.1" }, { 3, 24, "10.3.0.1" } };
    static const struct {
        unsigned netif, prefix, metric;
        const char *dst, *gateway;
    } routes[] = { { 2, 0, 10, "0.0.0.0", "10.2.0.9" }, { 1, 0, 20, "0.0.0.0", "10.0.0.9" },
                   { 3, 8, 0, "11.0.0.0", "10.3.0.9" }, { 1, 16, 0, "10.9.0.0", "10.0.0.8" },
                   { 1, 24, 0, "10.9.9.0", NULL },      { 1, 0, 0, "::", "fe80::9" } };

    hn_open(hn, NULL);
    for (unsigned i = 0; i < 3; i++)
        hn_netif(hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    for (size_t i = 0; i < TENON_ARRAY_LEN(addresses); i++) {
        const struct tenon_ip ip = hn_ip(addresses[i].ip);

        HN_EQUAL(tenon_addr_add(hn->stack, addresses[i].netif, &ip, addresses[i].prefix), TENON_OK);
    }
    for (size_t i = 0; i < TENON_ARRAY_LEN(routes); i++) {
        const struct tenon_ip dst = hn_ip(routes[i].dst), by = hn_ip(routes[i].gateway ? routes[i].gateway : "::");

        HN_EQUAL(tenon_route_add(hn->stack, routes[i].netif, &dst, routes[i].prefix, routes[i].gateway ? &by : NULL,
                                 routes[i].metric),
                 TENON_OK);
    }
    HN_EQUAL(tenon_netif_link(hn->stack, 3, 0), TENON_OK);
}

static void path_table(void)
{
    static const struct {
        const char *dst;
        unsigned scope;
        int want;
        unsigned netif;
        const char *next_hop, *src;
        enum tn_cast cast;
    } rows[] = {
        { "10.0.0.5", 0, TENON_OK, 1, "10.0.0.5", "10.0.0.1", TN_CAST_UNICAST },
        { "10.2.7.5", 0, TENON_OK, 2, "10.2.7.5", "10.2.0.1", TN_CAST_UNICAST },
        { "8.8.8.8", 0, TENON_OK, 2, "10.2.0.9", "10.2.0.1", TN_CAST_UNICAST },       /* lower metric */
        { "8.8.8.8", 1, TENON_OK, 1, "10.0.0.9", "10.0.0.1", TN_CAST_UNICAST },
        { "8.8.8.8", 3, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },
        { "11.1.1.1", 0, TENON_OK, 2, "10.2.0.9", "10.2.0.1", TN_CAST_UNICAST },      /* 11/8 is down */
        { "10.9.1.1", 0, TENON_OK, 1, "10.0.0.8", "10.0.0.1", TN_CAST_UNICAST },
        { "10.9.9.1", 0, TENON_OK, 1, "10.9.9.1", "10.0.0.1", TN_CAST_UNICAST },      /* longest prefix */
        { "10.0.0.255", 0, TENON_OK, 1, "10.0.0.255", "10.0.0.1", TN_CAST_BROADCAST },
        { "255.255.255.255", 0, TENON_OK, 2, "255.255.255.255", "10.2.0.1", TN_CAST_BROADCAST },
        { "255.255.255.255", 1, TENON_OK, 1, "255.255.255.255", "10.0.0.1", TN_CAST_BROADCAST },
        { "224.0.0.251", 1, TENON_OK, 1, "224.0.0.251", "10.0.0.1", TN_CAST_MULTICAST },
        { "224.0.0.251", 0, TENON_OK, 2, "224.0.0.251", "10.2.0.1", TN_CAST_MULTICAST },    /* the default route's */
        { "224.0.0.251", 3, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },
        { "10.0.0.1", 0, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },            /* ourselves */
        { "127.0.0.1", 0, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },
        { "::1", 0, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },
        { "0.0.0.0", 0, TENON_EINVAL, 0, NULL, NULL, TN_CAST_UNICAST },
        { "::", 0, TENON_EINVAL, 0, NULL, NULL, TN_CAST_UNICAST },
        { "240.0.0.1", 0, TENON_EINVAL, 0, NULL, NULL, TN_CAST_UNICAST },
        { "10.0.0.5", 9, TENON_EINVAL, 0, NULL, NULL, TN_CAST_UNICAST },
        { "2001:db8::5", 0, TENON_OK, 1, "2001:db8::5", "2001:db8::1", TN_CAST_UNICAST },
        { "2001:db9::5", 0, TENON_OK, 1, "fe80::9", "2001:db8::1", TN_CAST_UNICAST },
        { "2001:db9::5", 2, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },
        { "fe80::5", 2, TENON_OK, 2, "fe80::5", NULL, TN_CAST_UNICAST },
        { "ff02::5", 2, TENON_OK, 2, "ff02::5", NULL, TN_CAST_MULTICAST },
        { "ff01::5", 2, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST },    /* not for the wire: RFC 4291 2.7 */
        { "ff10::5", 2, TENON_EUNREACH, 0, NULL, NULL, TN_CAST_UNICAST }
    };
    struct hn hn;

    open_three(&hn);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i].dst);
        struct tn_path *path = NULL;

        hn_row = rows[i].dst;
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, rows[i].scope), rows[i].want);
        if (rows[i].want != TENON_OK || path == NULL)
            continue;
        HN_EQUAL(path->netif, rows[i].netif);
        HN_EQUAL(path->cast, rows[i].cast);
        if (rows[i].next_hop != NULL) {
            const struct tenon_ip next_hop = hn_ip(rows[i].next_hop);

            HN_CHECK(tenon_ip_equal(&path->next_hop, &next_hop));
        }
        if (rows[i].src != NULL) {
            const struct tenon_ip src = hn_ip(rows[i].src);

            HN_CHECK(tenon_ip_equal(&path->src, &src));
        } else {
            HN_CHECK(tn_ip_is_link_local(&path->src));
        }
        tn_path_put(hn.stack, path);
    }
    hn_row = "";
    hn_close(&hn);
}

static void path_follows_changes(void)
{
    const struct tenon_ip dst = hn_ip("8.8.8.8"), net = hn_ip("8.0.0.0"), by = hn_ip("10.0.0.7");
    struct tn_path *path;
    struct hn hn;

    open_three(&hn);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    HN_EQUAL(path->netif, 2);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &net, 8, &by, 0), TENON_OK);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_EQUAL(path->netif, 1);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &by));
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_EQUAL(path->netif, 2);
    HN_EQUAL(tenon_netif_link(hn.stack, 2, 0), TENON_OK);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_EUNREACH);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_EUNREACH);
    HN_EQUAL(tenon_netif_link(hn.stack, 2, 1), TENON_OK);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    tn_path_put(hn.stack, path);
    hn_close(&hn);
}

/* Two gateways with metrics: when the better one is silent, the other is used (RFC 1122 3.3.1.4, 3.3.1.5). */
static void gateway_silent(void)
{
    const struct tenon_ip dst = hn_ip("8.8.8.8"), second = hn_ip("10.0.0.9");
    struct tenon_udp *sock;
    struct tn_path *path;
    struct hn hn;

    open_three(&hn);
    sock = lt_udp_open(&hn);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    (void)lt_udp_send(&hn, sock, "8.8.8.8", 0);
    hn_run_ms(&hn, 3100);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &second));
    hn_forget(&hn);
    hn_run_ms(&hn, 60000);
    HN_EQUAL(hn.nsent, 0);    /* nobody is pinged (RFC 1122 3.3.1.4) */
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* The way to a destination off the link: by the first of two gateways, if it answers. */
static struct tn_path *by_two_gateways(struct hn *hn, const struct tenon_ip *dst, const struct tenon_ip *first,
                                       const struct tenon_ip *second)
{
    const struct tenon_ip any4 = tenon_ip4(0);
    struct tn_path *path = NULL;

    HN_EQUAL(tenon_route_add(hn->stack, 1, &any4, 0, first, 1), TENON_OK);
    HN_EQUAL(tenon_route_add(hn->stack, 1, &any4, 0, second, 2), TENON_OK);
    HN_EQUAL(tn_path_get(hn->stack, &path, dst, 0), TENON_OK);
    return path;
}

/* Whether the way to 8.8.8.8 leads by this gateway, when one has to look again. */
static int goes_by(struct hn *hn, struct tn_path *path, const struct tenon_ip *gateway)
{
    static tenon_u16 mtu = 1400;

    HN_EQUAL(tenon_netif_mtu(hn->stack, 1, ++mtu), TENON_OK);
    HN_EQUAL(tn_path_check(hn->stack, path), TENON_OK);
    return tenon_ip_equal(&path->next_hop, gateway);
}

/* What goes out each 75 seconds, as keep-alives do: a gateway that has not answered again, when it was tried after a
 * minute, is not tried for ten. */
static void gateway_silent_for_long(void)
{
    const struct tenon_ip dst = hn_ip("8.8.8.8"), a = hn_ip("10.0.0.8"), b = hn_ip("10.0.0.9");
    struct tenon_udp *sock;
    struct tn_path *path;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    path = by_two_gateways(&hn, &dst, &a, &b);
    for (unsigned i = 0; i < 2; i++) {
        HN_CHECK(goes_by(&hn, path, &a));
        (void)lt_udp_send(&hn, sock, "8.8.8.8", 0);
        hn_run_ms(&hn, 3100);
        HN_CHECK(goes_by(&hn, path, &b));
        hn_run_ms(&hn, 72000);
    }
    HN_CHECK(goes_by(&hn, path, &b));
    hn_run_ms(&hn, 540000);
    HN_CHECK(goes_by(&hn, path, &a));
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Who has not answered is not taken because another gateway still believes in it; a minute later it is tried again. Who
 * does not answer then is left, although no route names it (RFC 4861 7.3.3). */
static void redirect_to_silent(void)
{
    const struct tenon_ip dst = hn_ip("8.8.8.8");
    const struct tenon_ip a = hn_ip("10.0.0.8"), b = hn_ip("10.0.0.9"), c = hn_ip("10.0.0.7");
    struct tenon_udp *sock;
    struct tn_path *path;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    path = by_two_gateways(&hn, &dst, &a, &b);
    (void)lt_udp_send(&hn, sock, "8.8.8.8", 0);
    hn_run_ms(&hn, 3100);
    tn_link_redirect4(hn.stack, tn_netif_at(hn.stack, 1), &b, &dst, &a);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &b));
    tn_link_redirect4(hn.stack, tn_netif_at(hn.stack, 1), &b, &dst, &c);    /* of him nothing is known */
    HN_CHECK(tenon_ip_equal(&path->next_hop, &c));
    (void)lt_udp_send(&hn, sock, "8.8.8.8", 0);
    hn_run_ms(&hn, 3100);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &b));
    hn_run_ms(&hn, 60000);
    tn_link_redirect4(hn.stack, tn_netif_at(hn.stack, 1), &b, &dst, &a);
    HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &a));
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Two gateways of the same metric: who is known to be there first (RFC 4861 6.3.6); when none answers, one after
 * the other. */
static void gateways_equal(void)
{
    const struct tenon_ip any4 = tenon_ip4(0), dst = hn_ip("8.8.8.8"), a = hn_ip("10.0.0.8"), b = hn_ip("10.0.0.9");
    struct tenon_udp *sock;
    struct tn_path *path;
    tenon_u8 peer[6];
    unsigned changes = 0;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &any4, 0, &a, 5), TENON_OK);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &any4, 0, &b, 5), TENON_OK);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &a));
    hn_arp(&hn, 1, NULL, 1, hn_mac(peer, 1, 9), b.w[3], NULL, 0x0A000001);
    tn_path_put(hn.stack, path);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 1499), TENON_OK);    /* something changes: look again */
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &b));
    for (unsigned i = 0; i < 60; i++) {
        const struct tenon_ip before = path->next_hop;

        (void)lt_udp_send(&hn, sock, "8.8.8.8", 0);
        hn_run_ms(&hn, 500);
        HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
        changes += !tenon_ip_equal(&before, &path->next_hop);
    }
    HN_CHECK(changes >= 3 && changes <= 10);
    tn_path_put(hn.stack, path);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* What the owner sets takes the place of what was learnt, and stays when the router takes its word back. */
static void learnt_set_by_hand(void)
{
    const struct tenon_ip any6 = tenon_ip_any(), router = hn_ip("fe80::9");
    struct tenon_route_info info;
    struct lt_ra ra;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    hn_run_ms(&hn, 5000);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_OK);
    HN_CHECK(info.automatic);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &any6, 0, &router, 3), TENON_OK);
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_OK);
    HN_CHECK(!info.automatic);
    HN_EQUAL(info.metric, 3);
    HN_EQUAL(tenon_route_get(hn.stack, 1, &info), TENON_EINVAL);
    hn_close(&hn);
}

/* Destinations that are on every link, without a scope and without a route. */
static void path_without_route(void)
{
    static const char *const rows[] = { "ff02::5", "fe80::5", "224.0.0.5", "255.255.255.255" };
    const struct tenon_ip ip = hn_ip("10.0.0.1");
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6);    /* without an address: not that one */
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn.stack, 2, &ip, 32), TENON_OK);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i]);
        struct tn_path *path;

        hn_row = rows[i];
        if (HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK)) {
            HN_EQUAL(path->netif, 2);
            tn_path_put(hn.stack, path);
        }
    }
    hn_row = "";
    HN_EQUAL(tenon_netif_link(hn.stack, 2, 0), TENON_OK);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i]);
        struct tn_path *path;

        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_EUNREACH);
    }
    hn_close(&hn);
}

/* RFC 1122 3.2.2.2 */
static void path_redirect4(void)
{
    static const struct {
        const char *name, *from, *dst, *gateway, *want;
    } rows[] = { { "good", "10.0.0.8", "10.9.1.1", "10.0.0.7", "10.0.0.7" },
                 { "not_first_hop", "10.0.0.6", "10.9.1.1", "10.0.0.7", "10.0.0.8" },
                 { "gateway_not_on_link", "10.0.0.8", "10.9.1.1", "10.7.0.7", "10.0.0.8" },
                 { "gateway_is_us", "10.0.0.8", "10.9.1.1", "10.0.0.1", "10.0.0.8" },
                 { "gateway_broadcast", "10.0.0.8", "10.9.1.1", "10.0.0.255", "10.0.0.8" },
                 { "gateway_multicast", "10.0.0.8", "10.9.1.1", "224.0.0.1", "10.0.0.8" },
                 { "other_destination", "10.0.0.8", "10.9.1.2", "10.0.0.7", "10.0.0.8" } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip("10.9.1.1"), about = hn_ip(rows[i].dst), from = hn_ip(rows[i].from);
        const struct tenon_ip gateway = hn_ip(rows[i].gateway), want = hn_ip(rows[i].want);
        struct tn_path *path;
        struct hn hn;

        hn_row = rows[i].name;
        open_three(&hn);
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
        tn_link_redirect4(hn.stack, tn_netif_at(hn.stack, 1), &from, &about, &gateway);
        HN_EQUAL(tn_path_check(hn.stack, path), TENON_OK);
        HN_CHECK(tenon_ip_equal(&path->next_hop, &want));
        tn_path_put(hn.stack, path);
        hn_close(&hn);
    }
}

/* ---- path MTU -------------------------------------------------------------------------------- */

static void path_lower_mtu(void)
{
    static const struct {
        const char *dst;
        tenon_u32 mtu, want;
        int lowered;
    } rows[] = { { "8.8.8.8", 1400, 1400, 1 },     { "8.8.8.8", 1500, 1500, 0 },     { "8.8.8.8", 9000, 1500, 0 },
                 { "8.8.8.8", 552, 552, 1 },       { "8.8.8.8", 68, 552, 1 },        { "8.8.8.8", 67, 1500, 0 },
                 { "8.8.8.8", 0, 1500, 0 },        { "2001:db9::1", 1280, 1280, 1 }, { "2001:db9::1", 1279, 1500, 0 },
                 { "2001:db9::1", 0, 1500, 0 },    { "2001:db9::1", 1499, 1499, 1 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i].dst);
        struct tn_path *path;
        struct hn hn;

        hn_row = rows[i].dst;
        open_three(&hn);
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
        HN_EQUAL(tn_path_mtu(hn.stack, path), 1500);
        HN_EQUAL(tn_path_lower_mtu(hn.stack, path, rows[i].mtu), rows[i].lowered);
        HN_EQUAL(tn_path_mtu(hn.stack, path), rows[i].want);
        HN_EQUAL(tn_path_lower_mtu(hn.stack, path, rows[i].want), 0);
        HN_EQUAL(tn_path_lower_mtu(hn.stack, path, 1500), 0);    /* never raises */
        HN_EQUAL(tn_path_mtu(hn.stack, path), rows[i].want);
        /* It is remembered without a user, and forgotten after ten minutes (RFC 1191 6.3). */
        tn_path_put(hn.stack, path);
        hn_run_ms(&hn, 595000);
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
        HN_EQUAL(tn_path_mtu(hn.stack, path), rows[i].want);
        hn_run_ms(&hn, 7000);
        HN_EQUAL(tn_path_mtu(hn.stack, path), 1500);
        tn_path_put(hn.stack, path);
        hn_close(&hn);
    }
}

/* ---- the cache ------------------------------------------------------------------------------- */

static void paths_many(void)
{
    enum { MAX = 16 };
    struct tn_path *held[MAX], *path, *again;
    struct tenon_conf conf;
    struct tenon_ip dst;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.paths_max = MAX;
    lt_open4(&hn, &conf);
    for (tenon_u32 i = 0; i < 200; i++) {
        dst = tenon_ip4(0x0A000002U + i);
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
        tn_path_put(hn.stack, path);
        HN_CHECK(hn.stack->link.paths.count <= MAX);
    }
    HN_EQUAL(hn.stack->link.paths.count, MAX);
    for (tenon_u32 i = 0; i < MAX; i++) {
        dst = tenon_ip4(0x0A000010U + i);
        HN_EQUAL(tn_path_get(hn.stack, &held[i], &dst, 0), TENON_OK);
    }
    dst = tenon_ip4(0x0A000090U);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);    /* all are in use: one more than are remembered */
    HN_EQUAL(hn.stack->link.paths.count, MAX + 1);
    tn_path_put(hn.stack, path);
    HN_EQUAL(hn.stack->link.paths.count, MAX);
    dst = tenon_ip4(0x0A000010U);
    HN_EQUAL(tn_path_get(hn.stack, &again, &dst, 0), TENON_OK);
    HN_CHECK(again == held[0]);
    tn_path_put(hn.stack, again);
    tn_path_put(hn.stack, held[3]);
    dst = tenon_ip4(0x0A000090U);
    HN_EQUAL(tn_path_get(hn.stack, &held[3], &dst, 0), TENON_OK);
    for (unsigned i = 0; i < MAX; i++)
        tn_path_put(hn.stack, held[i]);
    hn_close(&hn);
}

/* The one unused for longest goes first. */
static void paths_evicted_in_order(void)
{
    struct tn_path *path;
    struct tenon_conf conf;
    struct tenon_ip dst;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.paths_max = 3;
    lt_open4(&hn, &conf);
    for (tenon_u32 i = 2; i < 5; i++) {
        dst = tenon_ip4(0x0A000000U + i);
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
        HN_EQUAL(tn_path_lower_mtu(hn.stack, path, 1000), 1);
        tn_path_put(hn.stack, path);
    }
    dst = tenon_ip4(0x0A000002U);    /* used again: 3 is the oldest now */
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    tn_path_put(hn.stack, path);
    dst = tenon_ip4(0x0A000009U);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    tn_path_put(hn.stack, path);
    dst = tenon_ip4(0x0A000002U);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    HN_EQUAL(tn_path_mtu(hn.stack, path), 1000);
    tn_path_put(hn.stack, path);
    dst = tenon_ip4(0x0A000003U);
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    HN_EQUAL(tn_path_mtu(hn.stack, path), 1500);
    tn_path_put(hn.stack, path);
    hn_close(&hn);
}

static void path_no_memory(void)
{
    const struct tenon_ip dst = hn_ip("10.0.0.2");
    struct tn_path *path;
    struct hn hn;

    lt_open4(&hn, NULL);
    hn.mem_fail = -1;
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_ENOMEM);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NO_MEMORY), 1);
    hn.mem_fail = 0;
    HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
    tn_path_put(hn.stack, path);
    hn_close(&hn);
}

/* Frames for groups and broadcasts (RFC 1112 6.4, RFC 2464 7), and bare IP packets without a link. */
static void output_link_addresses(void)
{
    struct tenon_netif_conf bare;
    struct tenon_ip ip = hn_ip("10.5.0.1");
    struct tenon_udp *sock;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    HN_EQUAL(tenon_udp_set(sock, TENON_UDP_BROADCAST, 1), TENON_OK);
    HN_EQUAL(lt_udp_send(&hn, sock, "239.255.129.7", 1), TENON_OK);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.255", 0), TENON_OK);
    HN_EQUAL(hn.nsent, 2);
    HN_CHECK(memcmp(hn.sent[0].bytes, "\x01\x00\x5e\x7f\x81\x07", 6) == 0);
    HN_CHECK(lt_is_broadcast(hn.sent[1].bytes));
    memset(&bare, 0, sizeof bare);
    bare.mtu = 1500;
    bare.caps = TENON_CAP_NO_LINK;
    HN_EQUAL(tenon_netif_add(hn.stack, &bare), 2);
    HN_EQUAL(tenon_addr_add(hn.stack, 2, &ip, 24), TENON_OK);
    hn_forget(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.5.0.2", 0), TENON_OK);
    if (HN_CHECK(hn.nsent >= 1)) {
        HN_EQUAL(hn.sent[hn.nsent - 1].bytes[0], 0x45);
        HN_EQUAL(hn.sent[hn.nsent - 1].len, 32);
        HN_EQUAL(hn.sent[hn.nsent - 1].netif, 2);
    }
    HN_EQUAL(lt_neighbours(&hn), 0);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* A router promises a network for 100 seconds, and an address is added in it, in either order. */
static void learn_and_add(struct hn *hn, int router_first, const struct tenon_ip *ip, struct lt_ra *ra)
{
    hn_row = router_first ? "router_first" : "address_first";
    hn_open(hn, NULL);
    hn_netif(hn, TENON_NETIF_NO_DAD);
    hn_run_ms(hn, 20000);
    if (!router_first)
        HN_EQUAL(tenon_addr_add(hn->stack, 1, ip, 64), TENON_OK);
    lt_ra_begin(ra, 64, 0, 0, 0, 0);
    lt_ra_prefix(ra, "2001:db8:1::", 64, 0x80, 100, 100);
    lt_ra_send(hn, 1, 9, ra);
    if (router_first)
        HN_EQUAL(tenon_addr_add(hn->stack, 1, ip, 64), TENON_OK);
}

/* An address brings the route to its network, for as long as it is there: what a router promises of that network does
 * not end it, whichever of the two came first. */
static void learnt_address_by_hand(void)
{
    const struct tenon_ip ip = hn_ip("2001:db8:1::5"), to = hn_ip("2001:db8:1::9");

    for (int router_first = 0; router_first < 2; router_first++) {
        struct tn_path *path;
        struct lt_ra ra;
        struct hn hn;

        learn_and_add(&hn, router_first, &ip, &ra);
        hn_run_ms(&hn, 102000);
        if (HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK))
            tn_path_put(hn.stack, path);
        HN_EQUAL(tenon_addr_remove(hn.stack, 1, &ip), TENON_OK);
        HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_EUNREACH);
        hn_close(&hn);
    }
    hn_row = "";
}

/* ... nor does its end take away what the router has promised. */
static void learnt_outlives_address(void)
{
    const struct tenon_ip ip = hn_ip("2001:db8:1::5"), to = hn_ip("2001:db8:1::9");

    for (int router_first = 0; router_first < 2; router_first++) {
        struct tn_path *path;
        struct lt_ra ra;
        struct hn hn;

        learn_and_add(&hn, router_first, &ip, &ra);
        hn_run_ms(&hn, 10000);
        if (!router_first)
            lt_ra_send(&hn, 1, 9, &ra);
        HN_EQUAL(tenon_addr_remove(hn.stack, 1, &ip), TENON_OK);
        if (HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK))
            tn_path_put(hn.stack, path);
        hn_run_ms(&hn, 88000);
        if (HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_OK))
            tn_path_put(hn.stack, path);
        hn_run_ms(&hn, 16000);
        HN_EQUAL(tn_path_get(hn.stack, &path, &to, 0), TENON_EUNREACH);
        hn_close(&hn);
    }
    hn_row = "";
}

/* An address has its route again when one that the owner has put in its place is taken away; the automatic one can be
 * taken away, too, and does not come back with another one. */
static void address_route_by_hand(void)
{
    const struct tenon_ip ip = hn_ip("10.1.0.1"), net = hn_ip("10.1.0.0"), other = hn_ip("10.2.0.0");
    struct tenon_route_info info;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &net, 24, NULL, 7), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.metric, 7);
    HN_EQUAL(tenon_route_remove(hn.stack, 1, &net, 24, NULL), TENON_OK);
    if (HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_OK))
        HN_CHECK(info.automatic);
    HN_EQUAL(tenon_route_get(hn.stack, 1, &info), TENON_EINVAL);
    HN_EQUAL(tenon_route_remove(hn.stack, 1, &net, 24, NULL), TENON_OK);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &other, 24, NULL, 0), TENON_OK);
    HN_EQUAL(tenon_route_remove(hn.stack, 1, &other, 24, NULL), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &info), TENON_EINVAL);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "add_impossible", "IP4-23", add_impossible },
    { "add_too_many", "IP4-32 VUL-F-13", add_too_many },
    { "address_routes", "IP4-23 IP4-32", address_routes },
    { "path_table", "IP6-2 IP4-7 IP4-23 IP4-24 IP4-27 IP4-28 IP4-32 6724-3", path_table },
    { "path_follows_changes", "IP4-24", path_follows_changes },
    { "gateway_silent_for_long", "IP4-24", gateway_silent_for_long },
    { "gateway_silent", "IP4-24 IP4-25", gateway_silent },
    { "gateways_equal", "ND-14 IP4-24", gateways_equal },
    { "learnt_set_by_hand", "IP4-32 ND-13", learnt_set_by_hand },
    { "path_without_route", "6724-3 IP4-32", path_without_route },
    { "path_redirect4", "ICMP4-6 IP4-24", path_redirect4 },
    { "redirect_to_silent", "IP4-24", redirect_to_silent },
    { "path_lower_mtu", "1191-3 1191-4 1191-6 8201-1 8201-3 5927-5 CVE-2004-1060", path_lower_mtu },
    { "paths_many", "1191-6 8201-4", paths_many },
    { "paths_evicted_in_order", "1191-6", paths_evicted_in_order },
    { "path_no_memory", "VUL-F-13", path_no_memory },
    { "output_link_addresses", "IP4-23", output_link_addresses },
    { "learnt_address_by_hand", "IP4-32 ND-13", learnt_address_by_hand },
    { "learnt_outlives_address", "IP4-32 ND-13", learnt_outlives_address },
    { "address_route_by_hand", "IP4-23 IP4-32", address_route_by_hand },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
