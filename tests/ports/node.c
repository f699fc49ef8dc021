/* SPDX-License-Identifier: MIT */
#include "node.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ports/common/built.h"
#include "ports/wire/wire.h"

enum { BURSTS_MAX = 8 };

tenon_u8 pattern[PATTERN];

unsigned long check_ms(void)
{
    return (unsigned long)(port_wall_ns() / 1000000);
}

/* ---- what every instance serves ------------------------------------------------------------------ */

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++) {
        if (tenon_tcp_send(conn, &spans[i]) != TENON_OK) {
            tenon_tcp_abort(conn);
            return;
        }
    }
}

static void echo_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)app;
    tenon_tcp_consumed(conn, bytes);
}

static void echo_finished(struct tenon_tcp *conn, void *app)
{
    (void)app;
    (void)tenon_tcp_finish(conn);
}

static const struct tenon_tcp_events echo_events = { .received = echo_received, .acked = echo_acked,
    .finished = echo_finished };

static void udp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    (void)app;
    (void)tenon_udp_send(sock, &info->from, spans, n);
}

static const struct tenon_udp_events udp_events = { udp_received, NULL };

/* ---- opening and closing -------------------------------------------------------------------------- */

static int node_fail(const struct node *node, const char *what)
{
    fprintf(stderr, "tenon-port-check: %s, queue %u: %s\n", node->side->name, node->number, what);
    return -1;
}

static int node_open_port(struct node *node)
{
    struct port_conf conf = node->side->choice.conf;
    char error[600] = "";

    if (node->side->queues > 1) {
        conf.queues = node->side->queues;
        conf.queue = node->number;
    }
    node->port = node->side->choice.type->open(&conf, error, sizeof error);
    return node->port != NULL ? 0 : node_fail(node, error);
}

static int node_open_stack(struct node *node)
{
    struct tenon_netif_conf netif;
    struct tenon_conf conf;
    int number;

    tenon_conf_default(&conf);
    if (node->side->queues > 1) {
        (void)tenon_flow_init(&node->flow, tenon_flow_key_microsoft, node->side->table, 128, node->number);
        conf.tcp_ports = &node->flow.filter;
    }
    conf.neighbour_queue_max = 64;
    conf.tcp_msl_ms = 100;
    node->mem = malloc(tenon_mem_size(&conf));
    node->stack = tenon_init(node->mem, &conf, node->port->type->host, node->port);
    if (node->stack == NULL)
        return node_fail(node, "tenon_init() refuses");
    port_netif_conf(node->port, &netif);
    netif.flags |= TENON_NETIF_NO_DAD | (netif.mtu < 1280 ? TENON_NETIF_NO_IP6 : 0);
    number = tenon_netif_add(node->stack, &netif);
    if (number < 0)
        return node_fail(node, tenon_error_text(number));
    node->netif = (unsigned)number;
    if (tenon_addr_add(node->stack, node->netif, &node->side->ip[0], 24) != TENON_OK ||
        (netif.mtu >= 1280 && tenon_addr_add(node->stack, node->netif, &node->side->ip[1], 64) != TENON_OK))
        return node_fail(node, "an address is refused");
    return 0;
}

static int node_serve(struct node *node)
{
    const struct tenon_addr at = { .port = ECHO_PORT };

    if (tenon_tcp_listen(node->stack, &node->listener, &at, &echo_events, node, 1024) == TENON_OK &&
        tenon_udp_open(node->stack, &node->udp, &udp_events, node) == TENON_OK &&
        tenon_udp_bind(node->udp, &at) == TENON_OK)
        return 0;
    return node_fail(node, "no echo");
}

/* All that programs have, and those that need both ends in one. */
static const struct port_type *const *all_types(void)
{
    static const struct port_type *types[32] = { &wire_port_type };

    for (unsigned i = 0; i < 30 && ports_built[i] != NULL; i++)
        types[i + 1] = ports_built[i];
    return types;
}

int side_open(struct side *side, unsigned number, const char *port, unsigned queues)
{
    struct model_mailbox *boxes[QUEUES_MAX];
    char error[600];

    memset(side, 0, sizeof *side);
    side->name = port;
    side->number = number;
    side->queues = queues;
    side->ip[0] = tenon_ip4_bytes(10, 77, 0, (tenon_u8)(number + 1));
    side->ip[1] = tenon_ip6(0xFD000077UL, 0, 0, number + 1);
    if (port_read(&side->choice, all_types(), port, error, sizeof error) != 0) {
        fprintf(stderr, "tenon-port-check: %s\n", error);
        return -1;
    }
    tenon_flow_spread(side->table, 128, queues);
    for (unsigned i = 0; i < queues; i++) {
        side->nodes[i].side = side;
        side->nodes[i].number = i;
        boxes[i] = &side->nodes[i].box;
        if (model_mailbox_open(boxes[i]) != 0 || node_open_port(&side->nodes[i]) != 0 ||
            node_open_stack(&side->nodes[i]) != 0 || node_serve(&side->nodes[i]) != 0)
            return -1;
    }
    side->spread = model_spread_open(boxes, queues, 1);
    for (unsigned i = 0; i < queues && queues > 1; i++)
        model_spread_join(side->spread, i, side->nodes[i].port, side->nodes[i].stack, side->nodes[i].netif);
    return 0;
}

static void node_close(struct node *node)
{
    if (node->stack != NULL)
        tenon_fini(node->stack);
    node->stack = NULL;
    free(node->mem);
    if (node->port != NULL)
        port_close(node->port);
    node->port = NULL;
}

void side_close(struct side *side)
{
    for (unsigned i = 0; i < side->queues && side->queues > 1; i++)
        model_spread_leave(side->spread, i);
    for (unsigned i = 0; i < side->queues; i++)
        model_mailbox_close(&side->nodes[i].box);
    for (unsigned i = 0; i < side->queues; i++)
        node_close(&side->nodes[i]);
    if (side->spread != NULL)
        model_spread_close(side->spread);
}

/* ---- going round ------------------------------------------------------------------------------------ */

static int node_turn(struct node *node, tenon_u32 *wait_us)
{
    int n = PORT_BURST, frames = 0;

    for (unsigned i = 0; i < BURSTS_MAX && n >= PORT_BURST; i++) {
        n = port_receive(node->port, node->stack, node->netif, port_now_us());
        if (n < 0) {
            node_fail(node, "the interface is gone");
            exit(1);
        }
        frames += n;
    }
    frames += (int)model_mailbox_take(&node->box, node);
    *wait_us = tenon_poll(node->stack, port_now_us());
    return frames;
}

/* Until a port has something, or the first of the deadlines. A port without a descriptor is looked at all the time. */
static void sleep_a_little(struct check *check, tenon_u32 wait_us)
{
    struct pollfd ready[2 * QUEUES_MAX];
    nfds_t n = 0;
    int polled = 0;

    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < check->sides[s].queues && (int)s != check->deaf; i++) {
            const int fd = port_fd(check->sides[s].nodes[i].port);

            ready[n++] = (struct pollfd){ fd, POLLIN, 0 };
            polled |= fd < 0;
        }
    }
    (void)poll(ready, n, polled ? 0 : wait_us < 1000 ? 1 : 5);
}

void check_turn(struct check *check)
{
    tenon_u32 wait_us, least_us = 1000000;
    int frames = 0;

    for (unsigned s = 0; s < 2; s++) {
        for (unsigned i = 0; i < check->sides[s].queues && (int)s != check->deaf; i++) {
            frames += node_turn(&check->sides[s].nodes[i], &wait_us);
            least_us = wait_us < least_us ? wait_us : least_us;
        }
    }
    if (frames == 0)
        sleep_a_little(check, least_us);
}

int check_until(struct check *check, const unsigned *done, unsigned want, unsigned limit_ms)
{
    const unsigned long began = check_ms();

    while (*done < want) {
        check_turn(check);
        if (check_ms() - began > limit_ms)
            return -1;
    }
    return 0;
}
