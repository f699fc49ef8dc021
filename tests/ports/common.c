/* SPDX-License-Identifier: MIT */
/* What a node is on any kind of port. */
#include "node.h"

#include <stdio.h>
#include <string.h>

struct without without;

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

int node_fail(const struct node *node, const char *what)
{
    fprintf(stderr, "tenon-port-check: %s, queue %u: %s\n", node->side->name, node->number, what);
    return -1;
}

int node_without(const struct node *node, struct tenon_netif_conf *netif)
{
    if ((netif->caps & without.caps) != without.caps)
        return node_fail(node, "it cannot do what is to be left out");
    netif->caps &= ~without.caps;
    if ((netif->caps & TENON_CAP_TX_CSUM) == 0)
        netif->caps &= TENON_CAP_NO_LINK; /* who cuts makes checksums */
    if (without.gather)
        netif->gather_max = 1;
    return 0;
}

int node_serve(struct node *node)
{
    const struct tenon_addr at = { .port = ECHO_PORT };

    if (tenon_tcp_listen(node->stack, &node->listener, &at, &echo_events, node, 1024) == TENON_OK &&
        tenon_udp_open(node->stack, &node->udp, &udp_events, node) == TENON_OK &&
        tenon_udp_bind(node->udp, &at) == TENON_OK)
        return 0;
    return node_fail(node, "no echo");
}

int side_init(struct side *side, unsigned number, const char *port, unsigned queues,
              const struct port_type *const *types)
{
    char error[600];

    memset(side, 0, sizeof *side);
    side->name = port;
    side->number = number;
    side->ip[0] = tenon_ip4_bytes(10, 77, 0, (tenon_u8)(number + 1));
    side->ip[1] = tenon_ip6(0xFD000077UL, 0, 0, number + 1);
    if (port_read(&side->choice, types, port, error, sizeof error) != 0) {
        fprintf(stderr, "tenon-port-check: %s\n", error);
        return -1;
    }
    side->queues = queues;
    for (unsigned i = 0; i < queues; i++) {
        side->nodes[i].side = side;
        side->nodes[i].number = i;
    }
    return 0;
}
