/* SPDX-License-Identifier: MIT */
/* Interfaces: what can be added, links that go down and up again. */
#include "link_test.h"

static void add_wrong(void)
{
    static const struct {
        const char *name;
        tenon_u8 mac0;
        tenon_u16 mtu;
        tenon_u32 caps;
        int want;
    } rows[] = {
        { "good", 2, 1500, 0, 1 },
        { "group_mac", 3, 1500, 0, TENON_EINVAL },
        { "no_mac", 0, 1500, 0, TENON_EINVAL },
        { "no_mac_needed", 0, 1500, TENON_CAP_NO_LINK, 1 },
        { "mtu_575", 2, 575, 0, TENON_EINVAL },
        { "mtu_576", 2, 576, 0, 1 },
        { "mtu_65535", 2, 65535, 0, 1 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_netif_conf conf;
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        memset(&conf, 0, sizeof conf);
        conf.mac[0] = rows[i].mac0;
        conf.mtu = rows[i].mtu;
        conf.caps = rows[i].caps;
        HN_EQUAL(tenon_netif_add(hn.stack, &conf), rows[i].want);
        hn_close(&hn);
    }
}

/* What every host has to take: 576 bytes of IPv4 (RFC 1122 3.3.2), 1280 of IPv6 (RFC 8200 5). */
static void add_mru(void)
{
    static const struct {
        const char *name;
        tenon_u16 mru, flags;
        int want;
    } rows[] = {
        { "not_said", 0, 0, 1 },
        { "575", 575, TENON_NETIF_NO_IP6, TENON_EINVAL },
        { "576", 576, TENON_NETIF_NO_IP6, 1 },
        { "576_with_ipv6", 576, 0, TENON_WITH_IPV6 ? TENON_EINVAL : 1 },
        { "1279_with_ipv6", 1279, 0, TENON_WITH_IPV6 ? TENON_EINVAL : 1 },
        { "1280_with_ipv6", 1280, 0, 1 },
        { "more_than_the_mtu", 65535, 0, 1 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_netif_info info;
        struct tenon_netif_conf conf;
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        memset(&conf, 0, sizeof conf);
        conf.mac[0] = 2;
        conf.mtu = 1500;
        conf.mru = rows[i].mru;
        conf.flags = rows[i].flags;
        HN_EQUAL(tenon_netif_add(hn.stack, &conf), rows[i].want);
        if (rows[i].want == 1) {
            HN_EQUAL(tenon_netif_get(hn.stack, 1, &info), TENON_OK);
            HN_EQUAL(info.conf.mru, rows[i].mru);
        }
        hn_close(&hn);
    }
}

static void add_too_many(void)
{
    struct tenon_netif_conf conf;
    struct hn hn;

    hn_open(&hn, NULL);
    for (unsigned i = 1; i <= hn.conf.netifs_max; i++)
        HN_EQUAL(hn_netif(&hn, 0), i);
    memset(&conf, 0, sizeof conf);
    conf.mac[0] = 2;
    conf.mtu = 1500;
    HN_EQUAL(tenon_netif_add(hn.stack, &conf), TENON_ELIMIT);
    hn_close(&hn);
}

/* Without room for the link-local address nothing is left of the interface. */
static void add_no_address_slot(void)
{
    struct tenon_netif_info info;
    struct tenon_netif_conf netif;
    struct tenon_conf conf;
    struct tenon_ip ip = hn_ip("10.0.0.1");
    struct hn hn;

    tenon_conf_default(&conf);
    conf.addrs_max = 1;
    hn_open(&hn, &conf);
    HN_EQUAL(hn_netif(&hn, TENON_NETIF_NO_IP6), 1);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    memset(&netif, 0, sizeof netif);
    netif.mac[0] = 2;
    netif.mtu = 1500;
    HN_EQUAL(tenon_netif_add(hn.stack, &netif), TENON_ELIMIT);
    HN_EQUAL(tenon_netif_get(hn.stack, 2, &info), TENON_EINVAL);
    netif.flags = TENON_NETIF_NO_IP6;
    HN_EQUAL(tenon_netif_add(hn.stack, &netif), 2);
    hn_close(&hn);
}

static void calls_wrong_netif(void)
{
    static const tenon_u8 mac[6] = { 2, 0, 0, 0, 1, 1 };
    struct tenon_ip ip = hn_ip("10.0.0.1"), net = hn_ip("10.0.0.0"), group = hn_ip("224.0.0.5");
    struct tenon_netif_info info;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    for (unsigned netif = 0; netif < 300; netif += netif == 0 ? 2 : 97) {
        HN_EQUAL(tenon_netif_link(hn.stack, netif, 0), TENON_EINVAL);
        HN_EQUAL(tenon_netif_mtu(hn.stack, netif, 1500), TENON_EINVAL);
        HN_EQUAL(tenon_netif_get(hn.stack, netif, &info), TENON_EINVAL);
        HN_EQUAL(tenon_addr_add(hn.stack, netif, &ip, 24), TENON_EINVAL);
        HN_EQUAL(tenon_addr_remove(hn.stack, netif, &ip), TENON_ENOADDR);
        HN_EQUAL(tenon_route_add(hn.stack, netif, &net, 24, NULL, 0), TENON_EINVAL);
        HN_EQUAL(tenon_route_remove(hn.stack, netif, &net, 24, NULL), TENON_EUNREACH);
        HN_EQUAL(tenon_neighbour_set(hn.stack, netif, &ip, mac), TENON_EINVAL);
        HN_EQUAL(tenon_group_join(hn.stack, netif, &group), TENON_EINVAL);
        HN_EQUAL(tenon_group_leave(hn.stack, netif, &group), TENON_EINVAL);
    }
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 575), TENON_EINVAL);
    hn_close(&hn);
}

static void link_is(struct hn *hn, int up, unsigned ups)
{
    struct tenon_netif_info info;

    HN_EQUAL(tenon_netif_get(hn->stack, 1, &info), TENON_OK);
    HN_EQUAL(info.up, up);
    HN_EQUAL(info.ups, ups);
}

/* Down: silence, and neighbours are forgotten but for those set by hand. Up: probed again. */
static void up_down_up(void)
{
    static const tenon_u8 mac[6] = { 2, 0, 0, 0, 1, 9 };
    struct tenon_ip ip = hn_ip("10.0.0.1"), set = hn_ip("10.0.0.9");
    struct tenon_neighbour_info info;
    tenon_u8 peer[6];
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(lt_address_text(&hn, 1, "10.0.0.1"), TENON_ADDR_PREFERRED);
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &set, mac), TENON_OK);
    hn_arp(&hn, 1, NULL, 1, hn_mac(peer, 1, 2), 0x0A000002, NULL, 0x0A000001);
    HN_EQUAL(tenon_neighbour_get(hn.stack, 1, &info), TENON_OK);

    HN_EQUAL(tenon_netif_link(hn.stack, 1, 1), TENON_OK);
    link_is(&hn, 1, 0);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    link_is(&hn, 0, 0);
    HN_EQUAL(tenon_neighbour_get(hn.stack, 1, &info), TENON_EINVAL);
    HN_EQUAL(tenon_neighbour_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.state, TENON_NEIGHBOUR_PERMANENT);
    hn_forget(&hn);
    hn_arp(&hn, 1, NULL, 1, hn_mac(peer, 1, 2), 0x0A000002, NULL, 0x0A000001);
    hn_run_ms(&hn, 60000);
    HN_EQUAL(hn.nsent, 0);

    HN_EQUAL(tenon_netif_link(hn.stack, 1, 1), TENON_OK);
    link_is(&hn, 1, 1);
    HN_EQUAL(lt_address_text(&hn, 1, "10.0.0.1"), TENON_ADDR_TENTATIVE);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(lt_address_text(&hn, 1, "10.0.0.1"), TENON_ADDR_PREFERRED);
    HN_CHECK(hn.nsent > 5);
    hn_close(&hn);
}

/* Below 1280 there is no IPv6 (RFC 8200 5); it comes back with the MTU. */
static void mtu_below_1280(void)
{
    struct tenon_addr_info info;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(tn_netif_at(hn.stack, 1)->ip6, 1);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 1279), TENON_OK);
    HN_EQUAL(tn_netif_at(hn.stack, 1)->ip6, 0);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 1280), TENON_OK);
    HN_EQUAL(tn_netif_at(hn.stack, 1)->ip6, 1);
    HN_EQUAL(tenon_addr_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.state, TENON_ADDR_TENTATIVE);
    hn_run_ms(&hn, 5000);
    HN_EQUAL(tenon_addr_get(hn.stack, 0, &info), TENON_OK);
    HN_EQUAL(info.state, TENON_ADDR_PREFERRED);
    HN_EQUAL(tenon_addr_get(hn.stack, 1, &info), TENON_EINVAL);
    hn_close(&hn);
}

/* Who came back with the MTU has not heard a query in between: it says again what it listens to, before it asks for
 * its addresses (RFC 3810 6.1, RFC 4862 5.4.2), or no switch would bring the answers. */
static void mtu_back_reports_groups(void)
{
    const struct tenon_ip group = hn_ip("ff05::5");
    struct tenon_ip ours, listened[2];
    unsigned reports = 0;
    struct lt_icmp6 m;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 20000);
    ours = lt_link_local(&hn, 1);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 1279), TENON_OK);
    hn_run_ms(&hn, 300000);
    hn_forget(&hn);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 1500), TENON_OK);
    hn_run_ms(&hn, 5000);
    listened[0] = lt_solicited(&ours);
    listened[1] = group;
    while (lt_next_icmp6(&hn, 0, &m) && m.p[0] != 135) {
        const struct tenon_ip record = hn_get_ip(m.p + 12);

        HN_EQUAL(m.p[0], 143);
        for (unsigned i = 0; i < 2; i++)
            reports |= (unsigned)tenon_ip_equal(&record, &listened[i]) << i;
    }
    HN_EQUAL(reports, 3);
    hn_close(&hn);
}

/* Where there is no IPv6, none is heard (RFC 4862 5.4.5): neither by all nodes, nor by an address that is another
 * interface's or was added by hand. */
static void no_ip6_datagram(void)
{
    static const struct {
        const char *name, *dst;
        unsigned netif, mtu;
        tenon_u32 heard;
    } rows[] = { { "ours", "2001:db8::1", 1, 1500, 1 },      { "all_nodes", "ff02::1", 1, 1500, 1 },
                 { "ours_without", "2001:db8::1", 2, 1500, 0 }, { "all_nodes_without", "ff02::1", 2, 1500, 0 },
                 { "ours_small_mtu", "2001:db8::1", 1, 1279, 0 }, { "all_nodes_small_mtu", "ff02::1", 1, 1279, 0 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        static const tenon_u8 datagram[12] = { 0x10, 0, 0, 9, 0, 12, 0, 0, 'p', 'i', 'n', 'g' };
        const struct tenon_addr at = { tenon_ip_any(), 9, 0 };
        const struct tenon_ip ip = hn_ip("2001:db8::1");
        struct tenon_udp *sock;
        struct hn_packet packet;
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
        hn_netif(&hn, TENON_NETIF_NO_IP6);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 64), TENON_OK);
        sock = lt_udp_open(&hn);
        HN_EQUAL(tenon_udp_bind(sock, &at), TENON_OK);
        hn_run_ms(&hn, 5000);
        memset(&packet, 0, sizeof packet);
        hn_mac(packet.from, 1, 2);
        packet.src = hn_ip("2001:db8::2");
        packet.dst = hn_ip(rows[i].dst);
        packet.proto = 17;
        packet.ttl = 64;
        packet.sum_at = 6;
        packet.payload = datagram;
        packet.len = sizeof datagram;
        hn_packet(&hn, 1, &packet);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_UDP_RCVD), 1);
        HN_EQUAL(tenon_netif_mtu(hn.stack, 1, (tenon_u16)rows[i].mtu), TENON_OK);
        hn_packet(&hn, rows[i].netif, &packet);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_UDP_RCVD), 1 + rows[i].heard);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_IP_NOT_OURS), 1 - rows[i].heard);
        tenon_udp_close(sock);
        hn_close(&hn);
    }
}

/* A life in which everything happens once. */
static void live(struct hn *hn)
{
    static const char *const groups[] = { "224.0.1.5", "ff05::5" };
    const struct tenon_ip v4 = hn_ip("10.0.0.1"), v6 = hn_ip("2001:db8::1"), peer6 = hn_ip("2001:db8::2");
    tenon_u8 ours[6], peer[6];
    struct tenon_udp *sock = NULL;
    struct tenon_addr to;
    struct lt_ra ra;

    hn_netif(hn, 0);
    (void)tenon_addr_add(hn->stack, 1, &v4, 24);
    (void)tenon_addr_add(hn->stack, 1, &v6, 64);
    for (unsigned i = 0; i < 2; i++) {
        const struct tenon_ip group = hn_ip(groups[i]);

        (void)tenon_group_join(hn->stack, 1, &group);
    }
    hn_run_ms(hn, 10000);
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    lt_ra_slla(&ra, 9);
    lt_ra_prefix(&ra, "2001:db8:5::", 64, 0xC0, 7200, 3600);
    lt_ra_send(hn, 1, 9, &ra);
    hn_run_ms(hn, 3000);
    hn_arp(hn, 1, NULL, 1, hn_mac(peer, 1, 2), 0x0A000002, NULL, 0x0A000001);
    lt_ns(hn, 1, &peer6, &v6, &v6, 2);
    if (tenon_udp_open(hn->stack, &sock, &lt_udp_events, NULL) == TENON_OK) {
        static const char *const all[] = { "10.0.0.2", "10.0.0.3", "2001:db8::3",
                                           "2001:db8::2", "2001:db9::1", "ff05::5" };

        for (unsigned i = 0; i < 12; i++) {
            to.ip = hn_ip(all[i % 6]);
            to.port = 9;
            to.netif = 1;
            (void)tenon_udp_write(sock, &to, "some bytes", 10);
        }
    }
    hn_run_ms(hn, 500);
    hn_arp(hn, 1, hn_mac(ours, 0, 1), 2, hn_mac(peer, 1, 3), 0x0A000003, ours, 0x0A000001);
    hn_run_ms(hn, 10000);
    if (sock != NULL)
        tenon_udp_close(sock);
}

/* The n-th piece of memory and the n-th buffer are not to be had, for every n; then it is all there again, and
 * the instance works. */
static void every_allocation_fails(void)
{
    long most = 1;

    for (long n = 0; n <= most; n++) {
        tenon_u8 peer[6];
        struct hn hn;

        hn_open(&hn, NULL);
        hn.mem_fail = n;
        hn.buf_fail = n;
        live(&hn);
        if (n == 0)
            most = (hn.mem_gets > hn.buf_gets ? hn.mem_gets : hn.buf_gets) + 1;
        hn.mem_fail = hn.buf_fail = 0;
        hn_forget(&hn);
        HN_EQUAL(lt_address_text(&hn, 1, "10.0.0.1"), TENON_ADDR_PREFERRED);
        hn_arp(&hn, 1, NULL, 1, hn_mac(peer, 1, 7), 0x0A000007, NULL, 0x0A000001);
        HN_EQUAL(hn.nsent, 1);
        hn_close(&hn);
    }
    HN_CHECK(most > 20);
}

/* The port takes nothing, or one frame at a time: what does not fit is dropped and counted, nothing is lost. Where no
 * probe leaves no address is used: there is room for few frames, or what is left to be sent would fit. */
static void port_is_full(void)
{
    for (unsigned take = 0; take <= 1; take++) {
        struct tenon_conf conf;
        struct hn hn;

        tenon_conf_default(&conf);
        conf.tx_burst_max = 4;
        hn_open(&hn, &conf);
        hn.tx_take = take;
        live(&hn);
        HN_EQUAL(hn.nsent == 0, take == 0);
        if (take == 0) {
            HN_CHECK(hn_stat(&hn, TENON_STAT_TX_FULL) > 0);
            HN_CHECK(hn_stat(&hn, TENON_STAT_TX_BUSY) > 0);
        }
        hn_close(&hn);
    }
}

/* RFC 5227 2.1, RFC 4862 5.4: what is reported when the link is up again comes from no address that is being probed
 * again. */
static void up_reports_groups(void)
{
    const struct tenon_ip ip = hn_ip("10.0.0.1"), group = hn_ip("239.1.2.3");
    const struct hn_sent *sent;
    unsigned n4 = 0, n6 = 0;
    struct tenon_ip ours;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, 0);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 20000);
    ours = lt_link_local(&hn, 1);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    hn_run_ms(&hn, 5000);
    hn_forget(&hn);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 1), TENON_OK);
    (void)tenon_poll(hn.stack, hn.now_us);
    HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_TENTATIVE);
    HN_EQUAL(lt_address(&hn, 1, &ours), TENON_ADDR_TENTATIVE);
    while ((sent = lt_next_ip(&hn)) != NULL) {
        const int is_v4 = sent->bytes[14] >> 4 == 4;
        const struct tenon_ip src = is_v4 ? tenon_ip4(hn_get32(sent->bytes + 26)) : hn_get_ip(sent->bytes + 22);

        n4 += (unsigned)is_v4;
        n6 += (unsigned)!is_v4;
        HN_EQUAL(src.w[3], 0);
    }
    HN_EQUAL(n4, 1);
    HN_EQUAL(n6, 1);
    hn_close(&hn);
}

/* RFC 4862 5.4.5: where IPv6 has ended nothing more is asked, neither for an address that was being probed nor for a
 * neighbour. The address is probed when there is IPv6 again. */
static void mtu_below_1280_while_asking(void)
{
    const struct tenon_ip ip = hn_ip("2001:db8::7");
    struct tenon_udp *sock;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_RA);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 64), TENON_OK);
    sock = lt_udp_open(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "fe80::5", 1), TENON_OK);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 576), TENON_OK);
    hn_forget(&hn);
    hn_run_ms(&hn, 30000);
    HN_EQUAL(hn.nsent, 0);
    HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_TENTATIVE);
    HN_EQUAL(tenon_netif_mtu(hn.stack, 1, 1500), TENON_OK);
    hn_run_ms(&hn, 30000);
    HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_PREFERRED);
    tenon_udp_close(sock);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "add_wrong", "IP4-34", add_wrong },
    { "add_mru", "9293-MUST-67", add_mru },
    { "add_too_many", "IP4-34", add_too_many },
    { "add_no_address_slot", "VUL-F-13", add_no_address_slot },
    { "calls_wrong_netif", "IP4-26", calls_wrong_netif },
    { "up_down_up", "ARP-13", up_down_up },
    { "mtu_below_1280", "IP6-14", mtu_below_1280 },
    { "mtu_back_reports_groups", "IP6-14", mtu_back_reports_groups },
    { "no_ip6_datagram", "IP6-14 SLAAC-3", no_ip6_datagram },
    { "every_allocation_fails", "VUL-F-13", every_allocation_fails },
    { "port_is_full", "VUL-F-13", port_is_full },
    { "up_reports_groups", "ARP-13 SLAAC-2 MLD-1", up_reports_groups },
    { "mtu_below_1280_while_asking", "IP6-14 SLAAC-3", mtu_below_1280_while_asking },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
