/* SPDX-License-Identifier: MIT */
/* Source address selection: the examples of RFC 6724 10.1 and those that several interfaces bring. (The
 * examples of mobile IPv6 and of temporary addresses speak of addresses that we do not have.) */
#include "link/link_internal.h"
#include "link_test.h"

struct candidate {
    const char *ip;
    unsigned prefix, netif, deprecated;
};

static const struct {
    const char *name, *dst;
    unsigned netif;                  /* outgoing interface */
    const char *want;                /* NULL: none */
    struct candidate has[4];
} rows[] = {
    { "appropriate_scope", "2001:db8:1::1", 1, "2001:db8:3::1",
      { { "2001:db8:3::1", 64, 1, 0 }, { "fe80::1", 64, 1, 0 } } },
    { "appropriate_scope_multicast", "ff05::1", 1, "2001:db8:3::1",
      { { "2001:db8:3::1", 64, 1, 0 }, { "fe80::1", 64, 1, 0 } } },
    { "same_address", "2001:db8:1::1", 1, "2001:db8:1::1",
      { { "2001:db8:1::1", 64, 1, 1 }, { "2001:db8:2::1", 64, 1, 0 } } },
    { "appropriate_scope_link_local", "fe80::1", 1, "fe80::2",
      { { "fe80::2", 64, 1, 1 }, { "2001:db8:1::1", 64, 1, 0 } } },
    { "longest_prefix", "2001:db8:1::1", 1, "2001:db8:1::2",
      { { "2001:db8:1::2", 64, 1, 0 }, { "2001:db8:3::2", 64, 1, 0 } } },
    { "matching_label", "2002:c633:6401::1", 1, "2002:c633:6401::d5e3:7953:13eb:22e8",
      { { "2002:c633:6401::d5e3:7953:13eb:22e8", 64, 1, 0 }, { "2001:db8:1::2", 64, 1, 0 } } },
    { "matching_label_unique_local", "fd00:1::1", 1, "fd00:2::1",
      { { "2001:db8:1::2", 64, 1, 0 }, { "fd00:2::1", 64, 1, 0 } } },
    { "matching_label_teredo", "2001:0:1::1", 1, "2001:0:2::1",
      { { "2001:db8:1::2", 64, 1, 0 }, { "2001:0:2::1", 64, 1, 0 } } },
    { "matching_label_default", "2001:db8::1", 1, "2003::1",
      { { "2001:0:db8::1", 64, 1, 0 }, { "2003::1", 64, 1, 0 } } },
    { "matching_label_6bone", "3ffe:1::1", 1, "3ffe:2::1",
      { { "3fff::1", 64, 1, 0 }, { "3ffe:2::1", 64, 1, 0 } } },
    { "not_deprecated", "2001:db8:1::1", 1, "2001:db8:2::1",
      { { "2001:db8:1::2", 64, 1, 1 }, { "2001:db8:2::1", 64, 1, 0 } } },
    { "outgoing_interface", "2001:db8:1::1", 2, "2001:db8:2::1",
      { { "2001:db8:1::2", 64, 1, 0 }, { "2001:db8:2::1", 64, 2, 0 } } },
    { "scope_before_interface", "2001:db8:1::1", 2, "2001:db8:1::2",
      { { "2001:db8:1::2", 64, 1, 0 }, { "fe80::2", 64, 2, 0 } } },
    { "link_local_of_other_interface", "fe80::9", 2, NULL, { { "fe80::2", 64, 1, 0 }, { "2001:db8::1", 64, 1, 0 } } },
    { "multicast_other_interface", "ff0e::9", 2, NULL, { { "2001:db8::1", 64, 1, 0 } } },
    { "no_address", "2001:db8::1", 1, NULL, { { "10.0.0.1", 24, 1, 0 } } },
    { "ip4_longest_prefix", "10.2.3.4", 1, "10.2.0.1",
      { { "192.168.0.1", 24, 1, 0 }, { "10.2.0.1", 16, 1, 0 }, { "10.1.0.1", 16, 1, 0 } } },
    { "ip4_outgoing_interface", "10.2.3.4", 2, "192.168.0.1",
      { { "10.2.0.1", 16, 1, 0 }, { "192.168.0.1", 24, 2, 0 } } },
    { "ip4_unnumbered", "10.2.3.4", 2, "10.1.0.1", { { "10.1.0.1", 16, 1, 0 } } },
    { "ip4_global_before_link_local", "8.8.8.8", 1, "10.1.0.1",
      { { "169.254.1.1", 16, 1, 0 }, { "10.1.0.1", 16, 1, 0 } } },
    { "ip4_link_local", "169.254.9.9", 1, "169.254.1.1",
      { { "10.1.0.1", 16, 1, 0 }, { "169.254.1.1", 16, 1, 0 } } },
    { "ip4_no_address", "10.2.3.4", 1, NULL, { { "2001:db8::1", 64, 1, 0 } } }
};

/* Both orders of the candidates, so that the first is not right by chance. */
static void examples(void)
{
    for (size_t i = 0; i < 2 * TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip dst = hn_ip(rows[i / 2].dst);
        const struct tn_address *got;
        unsigned n = 0;
        struct hn hn;

        hn_row = rows[i / 2].name;
        hn_open(&hn, NULL);
        for (unsigned netif = 1; netif <= 2; netif++) {
            struct tenon_ip ours;

            hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
            ours = lt_link_local(&hn, netif);
            HN_EQUAL(tenon_addr_remove(hn.stack, netif, &ours), TENON_OK);
        }
        while (n < 4 && rows[i / 2].has[n].ip != NULL)
            n++;
        for (unsigned j = 0; j < n; j++) {
            const struct candidate *has = &rows[i / 2].has[i & 1 ? n - 1 - j : j];
            const struct tenon_ip ip = hn_ip(has->ip);

            HN_EQUAL(tenon_addr_add(hn.stack, has->netif, &ip, has->prefix), TENON_OK);
            if (has->deprecated)
                tn_address_find(hn.stack, has->netif, &ip)->state = TENON_ADDR_DEPRECATED;
        }
        got = tn_source_select(hn.stack, &dst, rows[i / 2].netif, &dst);
        HN_EQUAL(got != NULL, rows[i / 2].want != NULL);
        if (got != NULL && rows[i / 2].want != NULL) {
            const struct tenon_ip want = hn_ip(rows[i / 2].want);
            char text[TENON_IP_TEXT_MAX];

            tenon_ip_format(text, &got->ip);
            if (!HN_CHECK(tenon_ip_equal(&got->ip, &want)))
                fprintf(stderr, "    chose %s\n", text);
        }
        hn_close(&hn);
    }
}

/* Bits behind the prefix do not count, if a router is asked: who is in the network himself comes first. */
static void prefix_no_longer_than_own(void)
{
    const struct tenon_ip dst = hn_ip("2001:db8:1:1::1"), router = hn_ip("fe80::9");
    const struct tenon_ip wide = hn_ip("2001:db8:1:1::2"), narrow = hn_ip("2001:db8:1:2::2");
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &wide, 48), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &narrow, 64), TENON_OK);
    HN_CHECK(tn_source_select(hn.stack, &dst, 1, &router) == tn_address_find(hn.stack, 1, &narrow));
    HN_CHECK(tn_source_select(hn.stack, &dst, 1, &dst) == tn_address_find(hn.stack, 1, &wide));
    hn_close(&hn);
}

/* An address that may not be used is none, however well it fits. */
static void tentative_and_duplicate(void)
{
    const struct tenon_ip ip = hn_ip("10.0.0.1"), dst = hn_ip("10.0.0.2");
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    HN_CHECK(tn_source_select(hn.stack, &dst, 1, &dst) == NULL);
    tn_address_find(hn.stack, 1, &ip)->state = TENON_ADDR_DUPLICATE;
    HN_CHECK(tn_source_select(hn.stack, &dst, 1, &dst) == NULL);
    tn_address_find(hn.stack, 1, &ip)->state = TENON_ADDR_PREFERRED;
    HN_CHECK(tn_source_select(hn.stack, &dst, 1, &dst) != NULL);
    hn_close(&hn);
}

/* What no router would pass on is not sent to one; to neighbours outside of our networks it is. */
static void link_local_stays_here(void)
{
    static const struct {
        const char *dst;
        unsigned prefix;
        const char *gateway, *want;    /* source; NULL: there is none */
    } ways[] = { { "2001:db8::", 32, "fe80::9", NULL },
                 { "2001:db8:5::", 48, NULL, "link-local" },
                 { "10.0.0.0", 8, "169.254.1.9", NULL },
                 { "10.9.0.0", 16, NULL, "169.254.1.1" } };
    const struct tenon_ip ip4 = hn_ip("169.254.1.1"), more4 = hn_ip("10.1.0.1"), more6 = hn_ip("2001:db8:1::1");
    struct tenon_ip dst, gateway, want;
    struct tn_path *path;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip4, 16), TENON_OK);
    for (size_t i = 0; i < TENON_ARRAY_LEN(ways); i++) {
        hn_row = ways[i].dst;
        dst = hn_ip(ways[i].dst);
        gateway = hn_ip(ways[i].gateway != NULL ? ways[i].gateway : "::");
        HN_EQUAL(tenon_route_add(hn.stack, 1, &dst, ways[i].prefix, &gateway, 0), TENON_OK);
        dst.w[3] += 77;
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), ways[i].want != NULL ? TENON_OK : TENON_EUNREACH);
        if (ways[i].want == NULL)
            continue;
        want = tenon_ip_is_v4(&dst) ? ip4 : lt_link_local(&hn, 1);
        HN_CHECK(tenon_ip_equal(&path->src, &want));
        tn_path_put(hn.stack, path);
    }
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &more4, 32), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &more6, 128), TENON_OK);
    for (size_t i = 0; i < TENON_ARRAY_LEN(ways); i++) {
        hn_row = ways[i].dst;
        dst = hn_ip(ways[i].dst);
        dst.w[3] += 77;
        HN_EQUAL(tn_path_get(hn.stack, &path, &dst, 0), TENON_OK);
        HN_CHECK(tenon_ip_equal(&path->src, tenon_ip_is_v4(&dst) ? &more4 : &more6));
        tn_path_put(hn.stack, path);
    }
    hn_close(&hn);
}

/* RFC 3927 2.6.2: to link-local addresses directly, whatever address one has; a route to one of them is somebody's
 * will. */
static void to_link_local(void)
{
    const struct tenon_ip us = hn_ip("192.0.2.10"), router = hn_ip("192.0.2.1"), all = tenon_ip4(0);
    const struct tenon_ip peer = hn_ip("169.254.7.7"), service = hn_ip("169.254.169.254");
    struct tn_path *path;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &us, 24), TENON_OK);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &all, 0, &router, 0), TENON_OK);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &service, 32, &router, 0), TENON_OK);
    HN_EQUAL(tn_path_get(hn.stack, &path, &peer, 0), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &peer) && tenon_ip_equal(&path->src, &us));
    tn_path_put(hn.stack, path);
    HN_EQUAL(tn_path_get(hn.stack, &path, &service, 0), TENON_OK);
    HN_CHECK(tenon_ip_equal(&path->next_hop, &router) && tenon_ip_equal(&path->src, &us));
    tn_path_put(hn.stack, path);
    hn_close(&hn);
}

/* ---- from addresses that are lost ------------------------------------------------------------- */

/* Packets of TCP that have left from an address. */
static unsigned tcp_sent_from(struct hn *hn, const struct tenon_ip *ip)
{
    const struct hn_sent *sent;
    unsigned n = 0;

    while ((sent = lt_next_ip(hn)) != NULL) {
        const tenon_u8 *p = sent->bytes + 14;
        const int is_v4 = p[0] >> 4 == 4;
        const struct tenon_ip src = is_v4 ? tenon_ip4(hn_get32(p + 12)) : hn_get_ip(p + 8);

        n += p[is_v4 ? 9 : 6] == 6 && tenon_ip_equal(&src, ip);
    }
    return n;
}

/* From this address to one whose link-layer address is known, and about that of its router. */
static void begin_connection(struct hn *hn, const struct tenon_ip *ours, const char *peer, const char *next_hop)
{
    static const struct tenon_tcp_events events;
    const struct tenon_ip hop = hn_ip(next_hop);
    struct tenon_addr from, to;
    struct tenon_tcp *conn;
    tenon_u8 mac[6];

    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    from.ip = *ours;
    to.ip = hn_ip(peer);
    to.port = 80;
    HN_EQUAL(tenon_neighbour_set(hn->stack, 1, &hop, hn_mac(mac, 1, 9)), TENON_OK);
    HN_EQUAL(tenon_tcp_connect(hn->stack, &conn, &from, &to, &events, NULL), TENON_OK);
    hn_run_ms(hn, 10);
    HN_EQUAL(tcp_sent_from(hn, ours), 1);
}

static void open_with_two(struct hn *hn, unsigned seed, const struct tenon_ip *a)
{
    const struct tenon_ip b = hn_ip("10.0.0.2");

    hn_open_seed(hn, NULL, seed);
    hn_netif(hn, TENON_NETIF_NO_IP6);
    HN_EQUAL(tenon_addr_add(hn->stack, 1, a, 24), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn->stack, 1, &b, 24), TENON_OK);
    hn_run_ms(hn, 20000);
    begin_connection(hn, a, "10.0.0.9", "10.0.0.9");
}

/* RFC 5227 2.4 b: a connection does not go on from an address that was given up, though there is another one. */
static void given_up_is_silent(void)
{
    const struct tenon_ip a = hn_ip("10.0.0.1");
    tenon_u8 other[6];
    struct hn hn;

    open_with_two(&hn, 1, &a);
    for (unsigned i = 0; i < 2; i++)
        hn_arp(&hn, 1, NULL, 1, hn_mac(other, 1, 66), a.w[3], NULL, a.w[3]);
    HN_EQUAL(lt_address(&hn, 1, &a), TENON_ADDR_DUPLICATE);
    hn_forget(&hn);
    hn_run_ms(&hn, 60000);
    HN_EQUAL(tcp_sent_from(&hn, &a), 0);
    hn_close(&hn);
}

/* RFC 5227 2.1: nor, after the link was down, while its address is probed and the other one is ready. */
static void tentative_is_silent(void)
{
    const struct tenon_ip a = hn_ip("10.0.0.1");

    for (unsigned seed = 1; seed < 20; seed++) {
        struct hn hn;

        open_with_two(&hn, seed, &a);
        hn_run_ms(&hn, 1000);
        HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
        HN_EQUAL(tenon_netif_link(hn.stack, 1, 1), TENON_OK);
        hn_forget(&hn);
        while (lt_address(&hn, 1, &a) == TENON_ADDR_TENTATIVE) {
            HN_EQUAL(tcp_sent_from(&hn, &a), 0);
            hn_run_ms(&hn, 10);
        }
        hn_run_ms(&hn, 60000);
        HN_CHECK(tcp_sent_from(&hn, &a) > 0);
        hn_close(&hn);
    }
}

/* RFC 4862 5.5.4: nor when its valid lifetime has ended. */
static void expired_is_silent(void)
{
    struct tenon_addr_info info;
    struct lt_ra ra;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    hn_run_ms(&hn, 20000);
    lt_ra_begin(&ra, 64, 0, 9000, 0, 0);
    lt_ra_prefix(&ra, "2001:db8:1::", 64, 0xC0, 10, 10);
    lt_ra_prefix(&ra, "2001:db8:2::", 64, 0xC0, 9000, 9000);
    lt_ra_send(&hn, 1, 9, &ra);
    HN_EQUAL(tenon_addr_get(hn.stack, 1, &info), TENON_OK);
    HN_EQUAL(info.ip.w[1], 0x00010000);
    begin_connection(&hn, &info.ip, "2001:db8:9::1", "fe80::9");
    hn_run_ms(&hn, 13000);
    HN_EQUAL(lt_address(&hn, 1, &info.ip), -1);
    hn_forget(&hn);
    hn_run_ms(&hn, 60000);
    HN_EQUAL(tcp_sent_from(&hn, &info.ip), 0);
    hn_close(&hn);
}

/* ---- from link-local addresses ----------------------------------------------------------------- */

/* RFC 3927 2.7: who is bound to one sends nothing to a router. */
static void link_local_bound_to_router(void)
{
    static const struct tenon_tcp_events events;
    const struct tenon_addr far = { hn_ip("8.8.8.8"), 80, 0 };
    const struct tenon_ip gateway = hn_ip("10.0.0.254"), all = tenon_ip4(0);
    struct tenon_tcp *conn;
    struct tenon_udp *sock;
    struct tenon_addr at;
    tenon_u8 mac[6];
    struct hn hn;

    lt_open4(&hn, NULL);
    HN_EQUAL(tenon_route_add(hn.stack, 1, &all, 0, &gateway, 0), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &gateway, hn_mac(mac, 1, 9)), TENON_OK);
    memset(&at, 0, sizeof at);
    at.ip = hn_ip("169.254.7.7");
    at.port = 7;
    at.netif = 1;
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &at.ip, 16), TENON_OK);
    sock = lt_udp_open(&hn);
    HN_EQUAL(tenon_udp_bind(sock, &at), TENON_OK);
    for (unsigned i = 0; i < 2; i++) {
        hn_forget(&hn);
        HN_EQUAL(lt_udp_send(&hn, sock, "8.8.8.8", 0), TENON_ENOADDR);
        HN_EQUAL(lt_count_udp(&hn), 0);
        HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.254", 0), TENON_OK);    /* as a neighbour it is one */
        HN_EQUAL(lt_count_udp(&hn), 1);
    }
    HN_EQUAL(tenon_tcp_connect(hn.stack, &conn, &at, &far, &events, NULL), TENON_ENOADDR);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* RFC 4291 2.5.6: nor does it speak on another link, where the address means somebody else, or nobody. */
static void link_local_bound_to_group(void)
{
    const struct hn_sent *sent;
    struct tenon_udp *sock;
    struct tenon_addr at;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    hn_run_ms(&hn, 20000);
    memset(&at, 0, sizeof at);
    at.ip = lt_link_local(&hn, 2);
    at.port = 7;
    at.netif = 2;
    sock = lt_udp_open(&hn);
    HN_EQUAL(tenon_udp_bind(sock, &at), TENON_OK);
    hn_forget(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "ff02::77", 0), TENON_OK);
    sent = lt_next_ip(&hn);
    HN_CHECK(sent != NULL && sent->netif == 2);
    HN_CHECK(lt_next_ip(&hn) == NULL);
    HN_EQUAL(lt_udp_send(&hn, sock, "ff02::77", 1), TENON_ENOADDR);
    HN_CHECK(lt_next_ip(&hn) == NULL);
    at.ip = hn_ip("ff02::77");    /* nor when that is its peer */
    at.netif = 0;
    HN_EQUAL(tenon_udp_connect(sock, &at), TENON_OK);
    HN_EQUAL(tenon_udp_write(sock, NULL, "x", 1), TENON_OK);
    (void)tenon_poll(hn.stack, hn.now_us);
    sent = lt_next_ip(&hn);
    HN_CHECK(sent != NULL && sent->netif == 2);
    tenon_udp_close(sock);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "examples", "6724-1 6724-3 IP4-27", examples },
    { "prefix_no_longer_than_own", "6724-1", prefix_no_longer_than_own },
    { "tentative_and_duplicate", "6724-3 ARP-13", tentative_and_duplicate },
    { "link_local_stays_here", "3927-1", link_local_stays_here },
    { "to_link_local", "3927-3", to_link_local },
    { "given_up_is_silent", "ARP-12", given_up_is_silent },
    { "tentative_is_silent", "ARP-13", tentative_is_silent },
    { "expired_is_silent", "SLAAC-5", expired_is_silent },
    { "link_local_bound_to_router", "3927-1", link_local_bound_to_router },
    { "link_local_bound_to_group", "3927-1", link_local_bound_to_group },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
