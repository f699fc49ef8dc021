/* SPDX-License-Identifier: MIT */
/* The mirror: what comes back of what an instance sends, and what happens when much waits. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "../../../tests/unit/unit.h"
#include "../null.h"

static struct port *port;
static struct tenon *stack;
static void *mem;
static char heard[64];
static unsigned nheard, ncame;

static void open_both(unsigned mtu, unsigned memory)
{
    const struct port_conf conf = { .name = "x", .mtu = mtu, .buffer_bytes_max = memory };
    struct tenon_netif_conf netif;
    struct tenon_conf stack_conf;
    struct tenon_ip ip4 = tenon_ip4_bytes(10, 0, 0, 2), ip6 = tenon_ip6(0xFD000000UL, 0, 0, 2);
    char error[300] = "";

    port = port_open(&null_port_type, &conf, error, sizeof error);
    CHECK_EQ_S(error, "");
    tenon_conf_default(&stack_conf);
    mem = malloc(tenon_mem_size(&stack_conf));
    stack = tenon_init(mem, &stack_conf, null_port_type.host, port);
    port_netif_conf(port, &netif);
    netif.flags = TENON_NETIF_NO_DAD;
    CHECK_EQ_I(tenon_netif_add(stack, &netif), 1);
    CHECK_EQ_I(tenon_addr_add(stack, 1, &ip4, 24), TENON_OK);
    CHECK_EQ_I(tenon_addr_add(stack, 1, &ip6, 64), TENON_OK);
    memset(heard, 0, sizeof heard);
    nheard = ncame = 0;
}

static void close_both(void)
{
    tenon_fini(stack);
    free(mem);
    port_close(port);
}

static void turns(unsigned n)
{
    for (; n > 0; n--) {
        (void)tenon_poll(stack, port_now_us());
        (void)port_receive(port, stack, 1, port_now_us());
    }
}

static int is_ready(void)
{
    struct pollfd ready = { port_fd(port), POLLIN, 0 };

    return poll(&ready, 1, 0) == 1;
}

static void datagram(struct tenon_udp *udp, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    const struct tenon_addr *there = app;

    (void)udp;
    ncame++;
    CHECK_EQ_U(info->from.port, there->port);
    CHECK(memcmp(&info->from.ip, &there->ip, sizeof there->ip) == 0);
    if (n == 1 && spans[0].len < sizeof heard)
        memcpy(heard, tenon_span_data(&spans[0]), spans[0].len);
}

static void datagrams_come_back(struct tenon_addr there)
{
    static const struct tenon_udp_events events = { .received = datagram };
    struct tenon_udp *udp;

    open_both(0, 0);
    turns(3);    /* what an instance says when it begins */
    CHECK_EQ_I(tenon_udp_open(stack, &udp, &events, &there), TENON_OK);
    CHECK(!is_ready());
    CHECK_EQ_I(tenon_udp_write(udp, &there, "said", 5), TENON_OK);
    turns(1);
    CHECK_EQ_S(heard, "said");
    CHECK_EQ_U(ncame, 1);
    CHECK(!is_ready());
    close_both();
}

UNIT_TEST(datagrams_come_back_from_whom_they_were_sent_to)
{
    datagrams_come_back((struct tenon_addr){ .ip = tenon_ip4_bytes(10, 0, 0, 9), .port = 7 });
    datagrams_come_back((struct tenon_addr){ .ip = tenon_ip6(0xFD000000UL, 0, 0, 9), .port = 7 });
}

static void opened(struct tenon_tcp *conn, void *app)
{
    (void)app;
    CHECK_EQ_I(tenon_tcp_write(conn, "to myself", 10), 10);
}

static void received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++) {
        if (spans[i].len <= sizeof heard - nheard)
            memcpy(heard + nheard, tenon_span_data(&spans[i]), spans[i].len);
        nheard += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

/* RFC 9293 3.5: both sides open at the same time. */
UNIT_TEST(a_connection_meets_itself)
{
    static const struct tenon_tcp_events events = { .opened = opened, .received = received };
    const struct tenon_addr there = { .ip = tenon_ip4_bytes(10, 0, 0, 9), .port = 7 };
    struct tenon_tcp *conn;

    open_both(0, 0);
    CHECK_EQ_I(tenon_tcp_connect(stack, &conn, NULL, &there, &events, NULL), TENON_OK);
    turns(20);
    CHECK_EQ_U(nheard, 10);
    CHECK_EQ_S(heard, "to myself");
    tenon_tcp_abort(conn);
    close_both();
}

/* Nobody receives: it takes what it has room for, and what waits is given back at the end. */
UNIT_TEST(a_full_queue_takes_no_more)
{
    static const struct tenon_udp_events events = { .received = datagram };
    struct tenon_addr there = { .ip = tenon_ip4_bytes(10, 0, 0, 9), .port = 7 };
    struct port_stats stats;
    struct tenon_udp *udp;
    unsigned sent = 0;

    open_both(0, 0);
    CHECK_EQ_I(tenon_udp_open(stack, &udp, &events, &there), TENON_OK);
    while (sent < 1000 && tenon_udp_write(udp, &there, "said", 5) == TENON_OK)
        sent++;
    CHECK(sent >= 128 && sent < 300);
    CHECK(is_ready());
    CHECK_EQ_U(tenon_poll(stack, port_now_us()), 0);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_frames, 128);
    CHECK(stats.tx_busy > 0);
    turns(1);
    port_stats(port, &stats);
    CHECK(stats.rx_frames > 0 && stats.tx_frames > 128);
    close_both();
}

int main(void)
{
    UNIT_RUN(datagrams_come_back_from_whom_they_were_sent_to);
    UNIT_RUN(a_connection_meets_itself);
    UNIT_RUN(a_full_queue_takes_no_more);
    return unit_end();
}
