/* SPDX-License-Identifier: MIT */
/* Wrong use of the interface returns its documented error: header by header, function by function. */
#include "../unit.h"

#include "pair.h"

static const struct tenon_tcp_events no_events;

static void conf_small(struct tenon_conf *conf)
{
    tenon_conf_default(conf);
    conf->netifs_max = 1;
    conf->addrs_max = 5;
    conf->routes_max = 6;
    conf->groups_max = 6;
    conf->neighbours_max = 4;
    conf->udp_sockets_max = 2;
    conf->tcp_conns_max = 3;
}

/* ---- types.h, stats.h, trace.h ------------------------------------------------------------------- */

UNIT_TEST(error_text_for_every_number)
{
    int i, k;

    for (i = TENON_OK; i >= TENON_EACCES; i--) {
        CHECK(tenon_error_text(i) != NULL && tenon_error_text(i)[0] != 0);
        for (k = TENON_OK; k > i; k--)
            CHECK(strcmp(tenon_error_text(i), tenon_error_text(k)) != 0);
    }
    CHECK(tenon_error_text(TENON_EACCES - 1) != NULL);
    CHECK(tenon_error_text(1) != NULL);
    CHECK(tenon_error_text(-32768) != NULL);
}

UNIT_TEST(ip_parse_refuses)
{
    static const char *const bad[] = {"", ".", "1.2.3", "1.2.3.", "1.2.3.256", "01.2.3.4", "1..2.3", ":", ":::", "1:2",
                                      "1:2:3:4:5:6:7", "::1::", "12345::", "g::", "fe80::1%eth0x", "x"};
    struct tenon_ip ip = tenon_ip6(1, 2, 3, 4), before = ip;
    size_t i;

    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const int n = tenon_ip_parse(&ip, bad[i]);

        unit_row(bad[i]);
        CHECK(n == TENON_EINVAL || n < (int)strlen(bad[i]));
        if (n == TENON_EINVAL)
            CHECK_EQ_MEM(&ip, &before, sizeof(ip));
        ip = before;
    }
}

UNIT_TEST(names_of_numbers_that_are_none)
{
    CHECK(tenon_stat_name(TENON_STAT_COUNT) == NULL);
    CHECK(tenon_stat_name((enum tenon_stat)-1) == NULL);
    CHECK(tenon_stat_name((enum tenon_stat)0) != NULL);
    CHECK(tenon_trace_name((enum tenon_trace_kind)99) == NULL);
    CHECK(tenon_trace_name((enum tenon_trace_kind)-1) == NULL);
    CHECK(tenon_trace_name(TENON_TRACE_SENT) != NULL);
    CHECK_EQ_S(tenon_tcp_state_name((enum tenon_tcp_state)99), "?");
    CHECK_EQ_S(tenon_tcp_state_name((enum tenon_tcp_state)-1), "?");
    CHECK_EQ_S(tenon_tcp_state_name(TENON_TCP_ESTABLISHED), "ESTABLISHED");
    CHECK(tenon_cc_find("no such thing") == NULL);
    CHECK(tenon_cc_find("newreno") == &tenon_cc_newreno);
}

/* ---- stack.h: making an instance ----------------------------------------------------------------- */

static int no_entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    (void)bytes;
    (void)n;
    return -1;
}

/* covers: RES-13 */
UNIT_TEST(init_refuses)
{
    struct tenon_host ops = *wire_host_ops();
    struct tenon_conf conf;
    struct pair pair;
    void *mem;

    tenon_conf_default(&conf);
    CHECK(tenon_conf_check(&conf) == NULL);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    mem = malloc(tenon_mem_size(&conf));
    ops.version = TENON_HOST_VERSION + 1;
    CHECK(tenon_init(mem, &conf, &ops, pair.host[0]) == NULL);
    ops = *wire_host_ops();
    ops.entropy = no_entropy;
    CHECK(tenon_init(mem, &conf, &ops, pair.host[0]) == NULL);
    conf.tcp_delack_us = 500000;
    CHECK_EQ_S(tenon_conf_check(&conf), "tcp_delack_us");
    CHECK_EQ_U(tenon_mem_size(&conf), 0);
    CHECK(tenon_init(mem, &conf, wire_host_ops(), pair.host[0]) == NULL);
    free(mem);
    CHECK(pair_close(&pair));
}

/* covers: 7323-WS-10 9293-MUST-40 9293-PIT-6 */
UNIT_TEST(conf_check_names_the_field)
{
    struct tenon_conf conf;

#define ROW(field, value) \
    tenon_conf_default(&conf); \
    conf.field = value; \
    unit_row(#field); \
    CHECK_EQ_S(tenon_conf_check(&conf), #field)
    ROW(neighbour_asks_max, 7);
    ROW(neighbour_asks_max, 16385);
    ROW(tcp_rcv_buf, 10);
    ROW(tcp_rcv_buf, 0x40000000);
    ROW(tcp_snd_buf, 10);
    ROW(tcp_mss_min, 10);
    ROW(tcp_rto_initial_us, 100000000);
    ROW(tcp_rto_min_us, 10);
    ROW(tcp_delack_us, 500000);
    ROW(tcp_syncookies, 3);
    ROW(tcp_port_counters, 16385);
    ROW(tcp_fastopen_cache_max, 1025);
    ROW(tcp_orphan_ms, 0x40000000);
    ROW(tcp_ooo_bytes_max, 0x80000000U);
    ROW(tcp_ooo_total_max, 0x80000000U);
#undef ROW
    memset(&conf, 0, sizeof(conf));    /* all 0: all defaults */
    CHECK(tenon_conf_check(&conf) == NULL);
    CHECK(tenon_mem_size(&conf) > 0);
}

UNIT_TEST(input_of_an_unknown_interface)
{
    struct tenon_conf conf;
    struct pair pair;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_input(pair.stack[0], 0, NULL, 0, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_input(pair.stack[0], 2, NULL, 0, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_input(pair.stack[0], 99999, NULL, 0, 0), TENON_EINVAL);
    CHECK(tenon_host_of(pair.stack[0]) == pair.host[0]);
    CHECK(pair_close(&pair));
}

/* ---- stack.h: interfaces ------------------------------------------------------------------------- */

UNIT_TEST(netif_refuses)
{
    struct tenon_netif_conf netif;
    struct tenon_netif_info info;
    struct tenon_conf conf;
    struct pair pair;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    memset(&netif, 0, sizeof(netif));
    netif.mac[0] = 2;
    netif.mtu = 1500;
    CHECK_EQ_I(tenon_netif_add(pair.stack[0], &netif), TENON_ELIMIT);    /* netifs_max is 1 */
    CHECK_EQ_I(tenon_netif_link(pair.stack[0], 0, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_netif_link(pair.stack[0], 2, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_netif_mtu(pair.stack[0], 2, 1500), TENON_EINVAL);
    CHECK_EQ_I(tenon_netif_mtu(pair.stack[0], 1, 10), TENON_EINVAL);
    CHECK_EQ_I(tenon_netif_mtu(pair.stack[0], 1, 1400), TENON_OK);
    CHECK_EQ_I(tenon_netif_get(pair.stack[0], 0, &info), TENON_EINVAL);
    CHECK_EQ_I(tenon_netif_get(pair.stack[0], 2, &info), TENON_EINVAL);
    CHECK_EQ_I(tenon_netif_get(pair.stack[0], 1, &info), TENON_OK);
    CHECK(pair_close(&pair));
}

UNIT_TEST(netif_add_of_impossible_values)
{
    struct tenon_netif_conf good, netif;
    struct tenon_conf conf;
    struct pair pair;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    memset(&good, 0, sizeof(good));
    good.mac[0] = 2;
    good.mtu = 1500;
    netif = good;
    netif.mtu = 575;
    CHECK_EQ_I(tenon_netif_add(pair.stack[0], &netif), TENON_EINVAL);
    netif = good;
    netif.mac[0] = 3;    /* a group address cannot be ours */
    CHECK_EQ_I(tenon_netif_add(pair.stack[0], &netif), TENON_EINVAL);
    netif = good;
    netif.caps = TENON_CAP_TSO4;    /* needs TX_CSUM */
    CHECK_EQ_I(tenon_netif_add(pair.stack[0], &netif), TENON_EINVAL);
    netif = good;
    CHECK_EQ_I(tenon_netif_add(pair.stack[0], &netif), 2);
    CHECK(pair_close(&pair));
}

/* ---- stack.h: addresses, routes, neighbours ------------------------------------------------------ */

UNIT_TEST(addr_refuses)
{
    const struct tenon_ip any = tenon_ip_any(), group = tenon_ip4_bytes(224, 0, 0, 5);
    const struct tenon_ip limited = tenon_ip4_bytes(255, 255, 255, 255), other = tenon_ip4_bytes(10, 9, 9, 9);
    const struct tenon_ip group6 = tenon_ip6(0xFF020000UL, 0, 0, 5);
    struct tenon_addr_info info;
    struct tenon_conf conf;
    struct tenon_ip ip;
    struct pair pair;
    unsigned i;
    int error = TENON_OK;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    ip = pair_ip(0, 0);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &ip, 24), TENON_EINUSE);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 2, &other, 24), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 0, &other, 24), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &other, 33), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &any, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &group, 24), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &group6, 64), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &limited, 24), TENON_EINVAL);
    ip = tenon_ip6(0xFD000000UL, 0, 0, 99);
    CHECK_EQ_I(tenon_addr_add(pair.stack[0], 1, &ip, 129), TENON_EINVAL);
    CHECK_EQ_I(tenon_addr_remove(pair.stack[0], 1, &other), TENON_ENOADDR);
    ip = pair_ip(0, 0);
    CHECK_EQ_I(tenon_addr_remove(pair.stack[0], 2, &ip), TENON_ENOADDR);
    for (i = 0; i < 20 && error == TENON_OK; i++) {
        ip = tenon_ip4(0x0A010001U + i * 0x10000U);
        error = tenon_addr_add(pair.stack[0], 1, &ip, 24);
    }
    CHECK_EQ_I(error, TENON_ELIMIT);
    for (i = 0; tenon_addr_get(pair.stack[0], i, &info) == TENON_OK; i++)
        CHECK(i < 5);
    CHECK_EQ_U(i, 5);
    CHECK_EQ_I(tenon_addr_get(pair.stack[0], 4000000000U, &info), TENON_EINVAL);
    CHECK(pair_close(&pair));
}

UNIT_TEST(route_refuses)
{
    const struct tenon_ip net = tenon_ip4_bytes(192, 168, 0, 0), gateway = tenon_ip4_bytes(10, 0, 0, 77);
    const struct tenon_ip dirty = tenon_ip4_bytes(192, 168, 0, 1), gateway6 = tenon_ip6(0xFD000000UL, 0, 0, 77);
    struct tenon_route_info info;
    struct tenon_conf conf;
    struct tenon_ip dst;
    struct pair pair;
    unsigned i;
    int error = TENON_OK;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_route_add(pair.stack[0], 1, &net, 16, &gateway, 0), TENON_OK);
    CHECK_EQ_I(tenon_route_add(pair.stack[0], 1, &net, 16, &gateway, 0), TENON_EINUSE);
    CHECK_EQ_I(tenon_route_add(pair.stack[0], 2, &net, 16, &gateway, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_route_add(pair.stack[0], 1, &net, 33, &gateway, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_route_add(pair.stack[0], 1, &dirty, 16, &gateway, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_route_add(pair.stack[0], 1, &net, 17, &gateway6, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_route_remove(pair.stack[0], 1, &net, 18, &gateway), TENON_EUNREACH);
    CHECK_EQ_I(tenon_route_remove(pair.stack[0], 1, &net, 16, NULL), TENON_EUNREACH);
    CHECK_EQ_I(tenon_route_remove(pair.stack[0], 1, &net, 16, &gateway), TENON_OK);
    CHECK_EQ_I(tenon_route_remove(pair.stack[0], 1, &net, 16, &gateway), TENON_EUNREACH);
    for (i = 0; i < 20 && error == TENON_OK; i++) {
        dst = tenon_ip4(0xC0A80000U + i * 256);
        error = tenon_route_add(pair.stack[0], 1, &dst, 24, &gateway, 0);
    }
    CHECK_EQ_I(error, TENON_ELIMIT);
    for (i = 0; tenon_route_get(pair.stack[0], i, &info) == TENON_OK; i++)
        CHECK(i < 6);
    CHECK_EQ_U(i, 6);
    CHECK(pair_close(&pair));
}

UNIT_TEST(neighbour_refuses)
{
    static const tenon_u8 mac[6] = {2, 0, 0, 0, 0, 9}, group_mac[6] = {1, 0, 0x5E, 0, 0, 1};
    const struct tenon_ip group = tenon_ip4_bytes(224, 0, 0, 5), any = tenon_ip_any();
    struct tenon_neighbour_info info;
    struct tenon_conf conf;
    struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 50);
    struct pair pair;
    unsigned i;
    int error = TENON_OK;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_neighbour_set(pair.stack[0], 2, &ip, mac), TENON_EINVAL);
    CHECK_EQ_I(tenon_neighbour_set(pair.stack[0], 1, &group, mac), TENON_EINVAL);
    CHECK_EQ_I(tenon_neighbour_set(pair.stack[0], 1, &any, mac), TENON_EINVAL);
    CHECK_EQ_I(tenon_neighbour_set(pair.stack[0], 1, &ip, group_mac), TENON_EINVAL);
    for (i = 0; i < 20 && error == TENON_OK; i++) {
        ip = tenon_ip4(0x0A000032U + i);
        error = tenon_neighbour_set(pair.stack[0], 1, &ip, mac);
    }
    CHECK_EQ_I(error, TENON_ELIMIT);
    for (i = 0; tenon_neighbour_get(pair.stack[0], i, &info) == TENON_OK; i++)
        CHECK_EQ_I(info.state, TENON_NEIGHBOUR_PERMANENT);
    CHECK_EQ_U(i, 4);
    CHECK(pair_close(&pair));
}

/* ---- tcp.h --------------------------------------------------------------------------------------- */

UNIT_TEST(tcp_listen_refuses)
{
    struct tenon_tcp_listener *listener, *second;
    struct tenon_addr at, got;
    struct tenon_conf conf;
    struct pair pair;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    at = pair_addr(0, 0, 80);
    CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &listener, &at, NULL, NULL, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &listener, &at, &no_events, NULL, 0), TENON_OK);
    CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &second, &at, &no_events, NULL, 0), TENON_EINUSE);
    at = pair_addr(9, 0, 81);
    CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &second, &at, &no_events, NULL, 0), TENON_ENOADDR);
    at.ip = tenon_ip4_bytes(224, 0, 0, 5);
    CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &second, &at, &no_events, NULL, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_listener_set(listener, TENON_TCP_OPTION_COUNT, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_listener_set(listener, TENON_TCP_TTL, 256), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_listener_set(listener, TENON_TCP_NODELAY, 1), TENON_OK);
    at.ip = tenon_ip_any();
    at.port = 0;
    CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &second, &at, &no_events, NULL, 0), TENON_OK);
    tenon_tcp_listener_local(second, &got);
    CHECK(got.port != 0);
    tenon_tcp_listener_close(second);
    tenon_tcp_listener_close(listener);
    CHECK(pair_close(&pair));
}

/* Port 0 asks for any that is free, from 1024 on: who comes to one that is taken takes the next, behind the last the
 * first. Here the last 536 are taken, so one in a hundred and twenty comes round. */
UNIT_TEST(tcp_listen_chooses_ports)
{
    enum { LAST = 536, CHOSEN = 2000 };
    static tenon_u8 taken[65536L];
    struct tenon_tcp_listener *listener;
    struct tenon_addr at, got;
    struct tenon_conf conf;
    struct pair pair;
    unsigned i, lowest = 65535;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    memset(taken, 0, sizeof(taken));
    at = pair_addr(0, 0, 0);
    for (i = 0; i < LAST + CHOSEN; i++) {
        at.port = (tenon_u16)(i < LAST ? 65535U - i : 0U);
        if (!CHECK_EQ_I(tenon_tcp_listen(pair.stack[0], &listener, &at, &no_events, NULL, 0), TENON_OK))
            break;
        tenon_tcp_listener_local(listener, &got);
        CHECK(got.port >= 1024 && !taken[got.port]);
        taken[got.port] = 1;
        lowest = got.port < lowest ? got.port : lowest;
    }
    CHECK_EQ_U(lowest, 1024);
    CHECK(pair_close(&pair));
}

UNIT_TEST(tcp_connect_refuses)
{
    struct tenon_addr from, to;
    struct tenon_conf conf;
    struct tenon_tcp *conn;
    struct pair pair;
    unsigned i;
    int error = TENON_OK;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    to = pair_addr(1, 0, 80);
    from = pair_addr(9, 0, 5000);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, &from, &to, &no_events, NULL), TENON_ENOADDR);
    from = pair_addr(0, 0, 5000);
    to.port = 0;
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, &from, &to, &no_events, NULL), TENON_EINVAL);
    to.port = 80;
    to.ip = tenon_ip4_bytes(224, 0, 0, 5);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, NULL, &to, &no_events, NULL), TENON_EINVAL);
    to.ip = tenon_ip4_bytes(10, 0, 0, 255);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, NULL, &to, &no_events, NULL), TENON_EINVAL);
    to.ip = tenon_ip_any();
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, NULL, &to, &no_events, NULL), TENON_EINVAL);
    to.ip = tenon_ip4_bytes(8, 8, 8, 8);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, NULL, &to, &no_events, NULL), TENON_EUNREACH);
    to = pair_addr(1, 1, 80);    /* IPv6 from an IPv4 address */
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, &from, &to, &no_events, NULL), TENON_EINVAL);
    to = pair_addr(1, 0, 80);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, &from, &to, NULL, NULL), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, &from, &to, &no_events, NULL), TENON_OK);
    CHECK_EQ_I(tenon_tcp_connect(pair.stack[0], &conn, &from, &to, &no_events, NULL), TENON_EINUSE);
    from.port = 0;
    CHECK_EQ_I(tenon_tcp_connect_foreign(pair.stack[0], &conn, &from, &to, &no_events, NULL), TENON_EINVAL);
    for (i = 0; i < 10 && error == TENON_OK; i++)
        error = tenon_tcp_connect(pair.stack[0], &conn, NULL, &to, &no_events, NULL);
    CHECK_EQ_I(error, TENON_ELIMIT);
    CHECK_EQ_U(i, 3);    /* three in all */
    CHECK_EQ_U(tenon_stat(pair.stack[0], TENON_STAT_TCP_LIMIT), 1);
    CHECK(pair_close(&pair));
}

struct server {
    struct tenon_tcp *conn;
    enum tenon_verdict verdict;
    int opened, closed;
};

static enum tenon_verdict server_incoming(struct tenon_tcp *conn, void *app)
{
    struct server *server = app;

    server->conn = conn;
    return server->verdict;
}

static void server_opened(struct tenon_tcp *conn, void *app)
{
    struct server *server = app;

    server->conn = conn;
    server->opened++;
}

static void server_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)conn;
    (void)app;
    (void)spans;
    (void)n;
}

static void server_finished(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    (void)app;
}

static void server_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct server *server = app;

    (void)conn;
    (void)why;
    server->closed++;
    server->conn = NULL;
}

static const struct tenon_tcp_events server_events = {
    server_incoming, server_opened, server_received, NULL, server_finished, server_closed, NULL, NULL,
};

static int connect_pair(struct pair *pair, struct server *server, struct server *client)
{
    struct tenon_addr at = { .port = 80 }, to = pair_addr(1, 0, 80);
    struct tenon_tcp_listener *listener;

    memset(client, 0, sizeof(*client));
    if (tenon_tcp_listen(pair->stack[1], &listener, &at, &server_events, server, 0) != TENON_OK
        || tenon_tcp_connect(pair->stack[0], &client->conn, NULL, &to, &server_events, client) != TENON_OK)
        return 0;
    pair_run(pair, 100000);
    return 1;
}

UNIT_TEST(tcp_held_connection_refuses)
{
    struct server server = { .verdict = TENON_HOLD }, client;
    struct tenon_conf conf;
    struct tenon_buf *buf;
    struct tenon_span span;
    struct pair pair;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)) || !CHECK(connect_pair(&pair, &server, &client)))
        return;
    if (!CHECK(server.conn != NULL))
        return;
    wire_host_ops()->buf_get(pair.host[1], &buf, 1);
    span = (struct tenon_span){ buf, 0, 10 };
    CHECK_EQ_I(tenon_tcp_send(server.conn, &span), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_write(server.conn, "x", 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_decide(server.conn, TENON_HOLD), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_decide(client.conn, TENON_ACCEPT), TENON_EINVAL);
    CHECK_EQ_I(tenon_tcp_decide(server.conn, TENON_ACCEPT), TENON_OK);
    CHECK_EQ_I(tenon_tcp_decide(server.conn, TENON_ACCEPT), TENON_EINVAL);
    pair_run(&pair, 100000);
    CHECK_EQ_I(server.opened + client.opened, 2);
    CHECK_EQ_I(tenon_tcp_decide(server.conn, TENON_REFUSE), TENON_EINVAL);
    CHECK_EQ_U(buf->refs, 1);
    tenon_buf_put(buf);
    CHECK(pair_close(&pair));
    CHECK_EQ_I(server.closed + client.closed, 2);
}

UNIT_TEST(tcp_send_refuses)
{
    struct server server = { .verdict = TENON_ACCEPT }, client;
    struct tenon_conf conf;
    struct tenon_buf *buf;
    struct tenon_span span;
    struct pair pair;
    char bytes[2000];
    unsigned i;
    int error = TENON_OK;

    tenon_conf_default(&conf);
    conf.tcp_snd_buf = 4000;
    conf.tcp_rcv_buf = 1000;
    memset(bytes, 0, sizeof(bytes));
    if (!CHECK(pair_open(&pair, &conf)) || !CHECK(connect_pair(&pair, &server, &client)))
        return;
    CHECK_EQ_I(tenon_tcp_ack_fin(client.conn), TENON_EINVAL);    /* none is held */
    wire_host_ops()->buf_get(pair.host[0], &buf, 1);
    span = (struct tenon_span){ buf, 0, 1000 };
    for (i = 0; i < 20 && error == TENON_OK; i++)
        error = tenon_tcp_send(client.conn, &span);
    CHECK_EQ_I(error, TENON_EAGAIN);
    CHECK_EQ_U(i, 5);
    CHECK_EQ_U(buf->refs, 5);    /* the fifth was not taken */
    CHECK_EQ_U(tenon_tcp_room(client.conn), 0);
    CHECK_EQ_I(tenon_tcp_write(client.conn, bytes, sizeof(bytes)), 0);
    CHECK_EQ_I(tenon_tcp_finish(client.conn), TENON_OK);
    CHECK_EQ_I(tenon_tcp_finish(client.conn), TENON_ECLOSED);
    CHECK_EQ_I(tenon_tcp_send(client.conn, &span), TENON_ECLOSED);
    CHECK_EQ_I(tenon_tcp_write(client.conn, bytes, 1), TENON_ECLOSED);
    CHECK_EQ_I(tenon_tcp_urgent(client.conn), TENON_ECLOSED);
    tenon_buf_put(buf);
    CHECK(pair_close(&pair));
}

UNIT_TEST(tcp_consuming_too_much_is_harmless)
{
    struct server server = { .verdict = TENON_ACCEPT }, client;
    struct tenon_tcp_info info;
    struct tenon_conf conf;
    struct pair pair;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)) || !CHECK(connect_pair(&pair, &server, &client)))
        return;
    CHECK_EQ_I(tenon_tcp_write(client.conn, "0123456789", 10), 10);
    pair_run(&pair, 1000000);
    tenon_tcp_status(server.conn, &info);
    CHECK_EQ_U(info.rcv_unconsumed, 10);
    tenon_tcp_consumed(server.conn, 0xFFFFFFFFUL);
    tenon_tcp_ack(server.conn, 0xFFFFFFFFUL);
    tenon_tcp_status(server.conn, &info);
    CHECK_EQ_U(info.rcv_unconsumed, 0);
    CHECK(tenon_tcp_check(server.conn) == NULL);
    tenon_tcp_abort(server.conn);
    CHECK_EQ_I(server.closed, 1);
    pair_run(&pair, 1000000);
    CHECK_EQ_I(client.closed, 1);
    CHECK(pair_close(&pair));
}

struct option_row {
    const char *name;
    enum tenon_tcp_option option;
    tenon_u32 value;
    int error;
};

UNIT_TEST(tcp_set_refuses)
{
    static const struct option_row rows[] = {
        { "no such option", TENON_TCP_OPTION_COUNT, 1, TENON_EINVAL },
        { "negative option", (enum tenon_tcp_option) - 1, 1, TENON_EINVAL },
        { "ttl 0", TENON_TCP_TTL, 0, TENON_EINVAL },
        { "ttl 256", TENON_TCP_TTL, 256, TENON_EINVAL },
        { "ttl 255", TENON_TCP_TTL, 255, TENON_OK },
        { "tos 256", TENON_TCP_TOS, 256, TENON_EINVAL },
        { "nodelay 2", TENON_TCP_NODELAY, 2, TENON_EINVAL },
        { "nodelay 1", TENON_TCP_NODELAY, 1, TENON_OK },
        { "rcv_buf 2^31", TENON_TCP_RCV_BUF, 0x80000000UL, TENON_EINVAL },
        { "snd_buf 2^31", TENON_TCP_SND_BUF, 0x80000000UL, TENON_EINVAL },
        { "mss 70000", TENON_TCP_MSS_MAX, 70000, TENON_EINVAL },
        { "keepalive", TENON_TCP_KEEPALIVE_IDLE_S, 60, TENON_OK },
        { "r2 never", TENON_TCP_R2_MS, 0, TENON_OK },
    };
    struct server server = { .verdict = TENON_ACCEPT }, client;
    struct tenon_conf conf;
    struct pair pair;
    size_t i;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)) || !CHECK(connect_pair(&pair, &server, &client)))
        return;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unit_row(rows[i].name);
        CHECK_EQ_I(tenon_tcp_set(client.conn, rows[i].option, rows[i].value), rows[i].error);
        if (rows[i].error == TENON_OK)
            CHECK_EQ_U(tenon_tcp_get(client.conn, rows[i].option), rows[i].value);
    }
    unit_row(NULL);
    CHECK_EQ_U(tenon_tcp_get(client.conn, TENON_TCP_OPTION_COUNT), 0);
    CHECK_EQ_I(tenon_tcp_set_cc(client.conn, tenon_cc_find("newreno")), TENON_OK);
    CHECK(tenon_tcp_stack(client.conn) == pair.stack[0]);
    CHECK(tenon_tcp_app(client.conn) == &client);
    CHECK(pair_close(&pair));
}

/* ---- udp.h --------------------------------------------------------------------------------------- */

static void dgram_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                           const struct tenon_span *spans, unsigned n)
{
    (void)sock;
    (void)app;
    (void)info;
    (void)spans;
    (void)n;
}

static const struct tenon_udp_events dgram_events = {dgram_received, NULL};

UNIT_TEST(udp_open_and_bind_refuse)
{
    struct tenon_udp *first, *second, *third;
    struct tenon_addr at;
    struct tenon_conf conf;
    struct pair pair;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_udp_open(pair.stack[0], &first, &dgram_events, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_open(pair.stack[0], &second, &dgram_events, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_open(pair.stack[0], &third, &dgram_events, NULL), TENON_ELIMIT);
    at = pair_addr(9, 0, 53);
    CHECK_EQ_I(tenon_udp_bind(first, &at), TENON_ENOADDR);
    at = pair_addr(0, 0, 53);
    CHECK_EQ_I(tenon_udp_bind(first, &at), TENON_OK);
    CHECK_EQ_I(tenon_udp_bind(first, &at), TENON_EINVAL);
    CHECK_EQ_I(tenon_udp_bind(second, &at), TENON_EINUSE);
    at.port = 0;
    CHECK_EQ_I(tenon_udp_bind(second, &at), TENON_OK);
    tenon_udp_local(second, &at);
    CHECK(at.port != 0);
    tenon_udp_remote(second, &at);
    CHECK(tenon_ip_is_any(&at.ip) && at.port == 0);
    tenon_udp_close(first);
    tenon_udp_close(second);
    CHECK(pair_close(&pair));
}

UNIT_TEST(udp_send_refuses)
{
    const struct wire_line_conf slow = {.rate = 10000, .queue_frames = 2, .queue_refuses = 1};
    static char bytes[70000];
    struct tenon_udp *sock;
    struct tenon_addr to;
    struct tenon_conf conf;
    struct pair pair;
    unsigned i;
    int error = TENON_OK;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_udp_open(pair.stack[0], &sock, &dgram_events, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_write(sock, NULL, bytes, 10), TENON_EINVAL);    /* not connected */
    to = pair_addr(1, 0, 0);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 10), TENON_EINVAL);     /* port 0 */
    CHECK_EQ_I(tenon_udp_connect(sock, &to), TENON_EINVAL);
    to = pair_addr(1, 0, 53);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 65508), TENON_EMSGSIZE);
    to.ip = tenon_ip4_bytes(8, 8, 8, 8);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 10), TENON_EUNREACH);
    CHECK_EQ_I(tenon_udp_connect(sock, &to), TENON_EUNREACH);
    to.ip = tenon_ip4_bytes(10, 0, 0, 255);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 10), TENON_EACCES);
    to.ip = tenon_ip4_bytes(255, 255, 255, 255);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 10), TENON_EACCES);
    CHECK_EQ_I(tenon_udp_set(sock, TENON_UDP_BROADCAST, 1), TENON_OK);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 10), TENON_OK);
    CHECK_EQ_I(tenon_udp_set(sock, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
    to = pair_addr(1, 0, 53);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 1473), TENON_EMSGSIZE);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 1472), TENON_OK);
    pair_run(&pair, 100000);    /* the neighbour answers */
    wire_line_set(pair.end[0], WIRE_OUT, &slow);
    for (i = 0; i < 1000 && error == TENON_OK; i++)
        error = tenon_udp_write(sock, &to, bytes, 10);
    CHECK_EQ_I(error, TENON_EAGAIN);    /* the port takes no more, and the burst is full */
    pair_run(&pair, 10000000);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 10), TENON_OK);
    to = pair_addr(1, 1, 53);
    CHECK_EQ_I(tenon_udp_set(sock, TENON_UDP_DONT_FRAGMENT, 0), TENON_OK);
    CHECK_EQ_I(tenon_udp_write(sock, &to, bytes, 65528), TENON_EMSGSIZE);
    tenon_udp_close(sock);
    CHECK(pair_close(&pair));
}

UNIT_TEST(udp_options_and_groups_refuse)
{
    const struct tenon_ip no_group = tenon_ip4_bytes(10, 0, 0, 9), group = tenon_ip4_bytes(239, 1, 1, 1);
    struct tenon_udp *sock;
    struct tenon_conf conf;
    struct tenon_ip ip;
    struct pair pair;
    unsigned i;
    int error = TENON_OK;

    conf_small(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_udp_open(pair.stack[0], &sock, &dgram_events, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_set(sock, (enum tenon_udp_option)99, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_udp_set(sock, (enum tenon_udp_option)-1, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_udp_set(sock, TENON_UDP_TTL, 256), TENON_EINVAL);
    CHECK_EQ_I(tenon_udp_set(sock, TENON_UDP_MULTICAST_NETIF, 77), TENON_EINVAL);
    CHECK_EQ_I(tenon_group_join(pair.stack[0], 1, &no_group), TENON_EINVAL);
    CHECK_EQ_I(tenon_group_join(pair.stack[0], 9, &group), TENON_EINVAL);
    CHECK_EQ_I(tenon_group_leave(pair.stack[0], 1, &group), TENON_ENOADDR);
    CHECK_EQ_I(tenon_group_join(pair.stack[0], 1, &group), TENON_OK);
    CHECK_EQ_I(tenon_group_join(pair.stack[0], 1, &group), TENON_OK);
    CHECK_EQ_I(tenon_group_leave(pair.stack[0], 1, &group), TENON_OK);
    CHECK_EQ_I(tenon_group_leave(pair.stack[0], 1, &group), TENON_OK);
    CHECK_EQ_I(tenon_group_leave(pair.stack[0], 1, &group), TENON_ENOADDR);
    for (i = 0; i < 20 && error == TENON_OK; i++) {
        ip = tenon_ip4(0xEF020000U + i);
        error = tenon_group_join(pair.stack[0], 1, &ip);
    }
    CHECK_EQ_I(error, TENON_ELIMIT);
    tenon_udp_close(sock);
    CHECK(pair_close(&pair));
}

/* ---- icmp.h -------------------------------------------------------------------------------------- */

static void echo_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                       const struct tenon_span *spans, unsigned n)
{
    (void)echo;
    (void)app;
    (void)info;
    (void)spans;
    (void)n;
}

static const struct tenon_echo_events echo_events = {echo_reply, NULL};

UNIT_TEST(echo_refuses)
{
    static char bytes[70000];
    struct tenon_echo *echo;
    struct tenon_addr to;
    struct tenon_conf conf;
    struct pair pair;

    tenon_conf_default(&conf);
    if (!CHECK(pair_open(&pair, &conf)))
        return;
    CHECK_EQ_I(tenon_echo_open(pair.stack[0], &echo, &echo_events, NULL), TENON_OK);
    to = pair_addr(1, 0, 0);
    CHECK_EQ_I(tenon_echo_send(echo, &to, 1, bytes, 65508), TENON_EMSGSIZE);
    to.ip = tenon_ip4_bytes(8, 8, 8, 8);
    CHECK_EQ_I(tenon_echo_send(echo, &to, 1, bytes, 10), TENON_EUNREACH);
    to.ip = tenon_ip_any();
    CHECK_EQ_I(tenon_echo_send(echo, &to, 1, bytes, 10), TENON_EINVAL);
    to = pair_addr(1, 1, 0);
    CHECK_EQ_I(tenon_echo_send(echo, &to, 1, bytes, 70000), TENON_EMSGSIZE);
    CHECK_EQ_I(tenon_echo_send(echo, &to, 1, bytes, 0), TENON_OK);
    tenon_echo_close(echo);
    CHECK(pair_close(&pair));
}

int main(void)
{
    UNIT_RUN(error_text_for_every_number);
    UNIT_RUN(ip_parse_refuses);
    UNIT_RUN(names_of_numbers_that_are_none);
    UNIT_RUN(init_refuses);
    UNIT_RUN(conf_check_names_the_field);
    UNIT_RUN(input_of_an_unknown_interface);
    UNIT_RUN(netif_refuses);
    UNIT_RUN(netif_add_of_impossible_values);
    UNIT_RUN(addr_refuses);
    UNIT_RUN(route_refuses);
    UNIT_RUN(neighbour_refuses);
    UNIT_RUN(tcp_listen_refuses);
    UNIT_RUN(tcp_listen_chooses_ports);
    UNIT_RUN(tcp_connect_refuses);
    UNIT_RUN(tcp_held_connection_refuses);
    UNIT_RUN(tcp_send_refuses);
    UNIT_RUN(tcp_consuming_too_much_is_harmless);
    UNIT_RUN(tcp_set_refuses);
    UNIT_RUN(udp_open_and_bind_refuse);
    UNIT_RUN(udp_send_refuses);
    UNIT_RUN(udp_options_and_groups_refuse);
    UNIT_RUN(echo_refuses);
    return unit_end();
}
