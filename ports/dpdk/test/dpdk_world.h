/* SPDX-License-Identifier: MIT */
/* For the tests of this folder: two instances, each at a port, in one thread or two; one echoes what the
 * other sends. */
#ifndef TENON_PORTS_DPDK_TEST_WORLD_H
#define TENON_PORTS_DPDK_TEST_WORLD_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../tests/unit/unit.h"
#include "../dpdk.h"

enum { ECHO = 7, KEPT_MAX = 20000, SLOW_US = 20000000 };

struct side {
    struct port *port;
    struct tenon *stack;
    void *mem;
    unsigned netif;
    /* TCP */
    struct tenon_buf *source;
    uint32_t total, sent, received;
    unsigned wrong;
    int by_write, closed, why, opened;
    /* UDP */
    struct tenon_udp *sock;
    unsigned datagrams;
    const tenon_u8 *last; /* where the bytes of the last datagram lie */
    int keeps, echoes;
    unsigned nkept;
    struct tenon_span kept[KEPT_MAX];
};

static char error[600];
static struct side sides[2];

/* Settings as they are written down, behind the name. */
static struct port *open_port(const char *name, const char *settings)
{
    static const struct port_type *const types[] = { &dpdk_port_type, NULL };
    struct port_choice choice;
    char written[300];

    error[0] = 0;
    snprintf(written, sizeof written, "dpdk:%s%s%s", name, settings[0] != 0 ? "," : "", settings);
    if (port_read(&choice, types, written, error, sizeof error) != 0)
        return NULL;
    return port_open(&dpdk_port_type, &choice.conf, error, sizeof error);
}

UNIT_INLINE struct tenon_addr address_of(const struct side *side, int v6)
{
    const unsigned number = (unsigned)(side - sides) + 1;
    struct tenon_addr addr = { .port = ECHO };

    addr.ip = v6 ? tenon_ip6(0xfd000077UL, 0, 0, number) : tenon_ip4(0x0A4D0000UL + number);
    return addr;
}

static int open_side(struct side *side, struct port *port)
{
    const struct tenon_addr v4 = address_of(side, 0), v6 = address_of(side, 1);
    struct tenon_netif_conf netif;
    struct tenon_conf conf;

    memset(side, 0, sizeof *side);
    side->port = port;
    if (!CHECK(port != NULL)) {
        printf("%s\n", error);
        return 0;
    }
    tenon_conf_default(&conf);
    side->mem = malloc(tenon_mem_size(&conf));
    side->stack = tenon_init(side->mem, &conf, dpdk_port_type.host, port);
    port_netif_conf(port, &netif);
    netif.flags = (tenon_u16)(TENON_NETIF_NO_DAD | (netif.mtu < 1280 ? TENON_NETIF_NO_IP6 : 0));
    side->netif = (unsigned)tenon_netif_add(side->stack, &netif);
    CHECK_EQ_I(tenon_addr_add(side->stack, side->netif, &v4.ip, 24), TENON_OK);
    if (netif.mtu >= 1280)
        CHECK_EQ_I(tenon_addr_add(side->stack, side->netif, &v6.ip, 64), TENON_OK);
    return 1;
}

UNIT_INLINE void give_up_kept(struct side *side)
{
    while (side->nkept > 0)
        tenon_buf_put(side->kept[--side->nkept].buf);
}

static void close_side(struct side *side)
{
    if (side->stack == NULL)
        return;
    give_up_kept(side);
    tenon_fini(side->stack);
    port_close(side->port);
    free(side->mem);
    side->stack = NULL;
}

static void turn(struct side *side)
{
    while (port_receive(side->port, side->stack, side->netif, port_now_us()) >= PORT_BURST)
        ;
    (void)tenon_poll(side->stack, port_now_us());
}

/* Both, until they had time for what is under way. */
UNIT_INLINE void settle(unsigned turns)
{
    while (turns-- > 0) {
        turn(&sides[0]);
        turn(&sides[1]);
    }
}

/* ---- memory of the program's own ------------------------------------------------------------------------------- */

static unsigned released;

static void own_release(struct tenon_buf *buf)
{
    (void)buf;
    released++;
}

static tenon_u8 byte_at(uint32_t i)
{
    return (tenon_u8)(i * 2654435761U >> 24);
}

/* One buffer over all that is to be sent; its owner frees the bytes. */
UNIT_INLINE struct tenon_buf make_source(uint32_t n)
{
    struct tenon_buf buf = { malloc(n), n, 1, own_release };

    for (uint32_t i = 0; i < n; i++)
        buf.data[i] = byte_at(i);
    return buf;
}

/* ---- an echo over TCP -------------------------------------------------------------------------------------------- */

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ_I(tenon_tcp_send(conn, &spans[i]), TENON_OK);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static const struct tenon_tcp_events echo_events = { .received = echo_received };

static void client_send(struct tenon_tcp *conn, struct side *side)
{
    enum { PIECE = 65536, UNDER_WAY = 512 << 10 };
    tenon_i32 taken = 1;

    while (taken > 0 && side->sent < side->total && side->sent - side->received < UNDER_WAY) {
        struct tenon_span span = { side->source, side->sent, side->total - side->sent };

        if (span.len > PIECE)
            span.len = PIECE;
        taken = side->by_write ? tenon_tcp_write(conn, tenon_span_data(&span), span.len)
                : tenon_tcp_room(conn) >= span.len && tenon_tcp_send(conn, &span) == TENON_OK ? (tenon_i32)span.len
                                                                                              : 0;
        if (taken > 0)
            side->sent += (uint32_t)taken;
    }
    if (side->sent == side->total)
        tenon_tcp_finish(conn);
}

static void client_opened(struct tenon_tcp *conn, void *app)
{
    ((struct side *)app)->opened++;
    client_send(conn, app);
}

static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)bytes;
    client_send(conn, app);
}

static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct side *side = app;

    for (unsigned i = 0; i < n; i++) {
        const tenon_u8 *bytes = tenon_span_data(&spans[i]);

        for (uint32_t k = 0; k < spans[i].len; k++)
            side->wrong += bytes[k] != byte_at(side->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
    client_send(conn, side);
}

static void client_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct side *side = app;

    (void)conn;
    side->closed = 1;
    side->why = why;
}

static const struct tenon_tcp_events client_events = {
    .opened = client_opened, .acked = client_acked, .received = client_received, .closed = client_closed,
};

static int start_echo(struct side *server, int v6)
{
    struct tenon_tcp_listener *listener;
    const struct tenon_addr at = { .port = ECHO };

    (void)v6;
    return CHECK_EQ_I(tenon_tcp_listen(server->stack, &listener, &at, &echo_events, server, 16), TENON_OK);
}

static int start_client(struct side *client, const struct side *server, int v6, struct tenon_buf *source)
{
    const struct tenon_addr to = address_of(server, v6);
    struct tenon_tcp *conn;

    client->source = source;
    client->total = source->size;
    client->sent = client->received = 0;
    client->wrong = 0;
    client->closed = 0;
    return CHECK_EQ_I(tenon_tcp_connect(client->stack, &conn, NULL, &to, &client_events, client), TENON_OK);
}

/* All of it there and back. */
UNIT_INLINE void transfer(int v6, int by_write, uint32_t n)
{
    struct tenon_buf source = make_source(n);
    const tenon_u32 began = port_now_us();

    sides[0].by_write = by_write;
    if (start_client(&sides[0], &sides[1], v6, &source))
        while (!sides[0].closed && port_now_us() - began < SLOW_US)
            settle(1);
    CHECK(sides[0].closed);
    CHECK_EQ_I(sides[0].why, TENON_OK);
    CHECK_EQ_U(sides[0].received, n);
    CHECK_EQ_U(sides[0].wrong, 0);
    settle(3);
    CHECK_EQ_U(source.refs, 1); /* nobody has forgotten one */
    free(source.data);
}

/* ---- datagrams ----------------------------------------------------------------------------------- */

UNIT_INLINE void got_datagram(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                              const struct tenon_span *spans, unsigned n)
{
    struct side *side = app;
    uint32_t at = 0;

    side->datagrams++;
    side->last = tenon_span_data(&spans[0]);
    for (unsigned i = 0; i < n; i++) {
        for (tenon_u32 k = 0; k < spans[i].len; k++)
            side->wrong += tenon_span_data(&spans[i])[k] != byte_at(at++);
        if (!side->keeps || side->nkept == KEPT_MAX)
            continue;
        tenon_buf_ref(spans[i].buf);
        side->kept[side->nkept++] = spans[i];
    }
    if (side->echoes)
        (void)tenon_udp_send(sock, &info->from, spans, n);
}

static const struct tenon_udp_events udp_events = { .received = got_datagram };

UNIT_INLINE void open_sock(struct side *side)
{
    const struct tenon_addr at = { .port = ECHO };

    CHECK_EQ_I(tenon_udp_open(side->stack, &side->sock, &udp_events, side), TENON_OK);
    CHECK_EQ_I(tenon_udp_bind(side->sock, &at), TENON_OK);
}

#endif
