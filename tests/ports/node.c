/* SPDX-License-Identifier: MIT */
/* Nodes on ports that somebody has written down, in real time. The instances of a side with several queues hand each
 * other what they should have got. */
#include "node.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tenon/flow.h>

#include "bench/speed/ports.h"
#include "models/spread.h"
#include "ports/common/built.h"
#include "ports/wire/wire.h"

enum { BURSTS_MAX = 8 };

/* What a node has besides, and a side. */
struct node_port {
    struct port *port;
    struct model_mailbox box;
    struct tenon_flow flow;
    void *mem;
};

static struct side_ports {
    struct model_spread *spread;
    tenon_u16 table[128];
    struct node_port nodes[QUEUES_MAX];
} sides[2];

const int node_queues_end = 1;

static struct node_port *port_of(const struct node *node)
{
    return &sides[node->side->number].nodes[node->number];
}

unsigned long check_ms(void)
{
    return (unsigned long)(port_wall_ns() / 1000000);
}

/* ---- opening and closing -------------------------------------------------------------------------- */

static int node_open_port(struct node *node)
{
    struct node_port *own = port_of(node);
    struct port_conf conf = node->side->choice.conf;
    char error[600] = "";

    if (node->side->queues > 1) {
        conf.queues = node->side->queues;
        conf.queue = node->number;
    }
    own->port = port_open(node->side->choice.type, &conf, error, sizeof error);
    return own->port != NULL ? 0 : node_fail(node, error);
}

static int node_open_stack(struct node *node)
{
    struct node_port *own = port_of(node);
    struct tenon_netif_conf netif;
    struct tenon_conf conf;
    int number;

    tenon_conf_default(&conf);
    if (node->side->queues > 1) {
        (void)tenon_flow_init(&own->flow, tenon_flow_key_microsoft, sides[node->side->number].table, 128,
                              node->number);
        conf.tcp_ports = &own->flow.filter;
    }
    conf.neighbour_queue_max = 64;
    conf.tcp_msl_ms = 100;
    own->mem = malloc(tenon_mem_size(&conf));
    node->stack = tenon_init(own->mem, &conf, own->port->type->host, own->port);
    if (node->stack == NULL)
        return node_fail(node, "tenon_init() refuses");
    port_netif_conf(own->port, &netif);
    if (node_without(node, &netif) != 0)
        return -1;
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

/* All that programs have, and those that need both ends in one. */
static const struct port_type *const *all_types(void)
{
    static const struct port_type *types[32] = { &wire_port_type };

    for (unsigned i = 0; i < 30 && ports_built[i] != NULL; i++)
        types[i + 1] = ports_built[i];
    return types;
}

/* A kind without a name, and settings: one that makes cables by itself. Both ends are made when the first is asked for.
 * @return how the end is written; NULL: it has said why */
static const char *end_of_cable(const char *port, unsigned number, unsigned queues)
{
    static const char *const names[] = { "check0", "check1" };
    const struct speed_cable *cable = speed_cables;
    char error[600] = "no kind of port that makes a cable by itself";
    const size_t n = strcspn(port, ",");
    static char written[2][200];

    while (cable->kind != NULL && (strlen(cable->kind) != n || memcmp(cable->kind, port, n) != 0))
        cable++;
    if (cable->kind == NULL || (written[0][0] == 0 && cable->make(names, queues, error, sizeof error) != 0)) {
        fprintf(stderr, "tenon-port-check: %s: %s\n", port, error);
        return NULL;
    }
    snprintf(written[number], sizeof written[number], "%s:%s%s%s", cable->kind, cable->prefix, names[number],
             port + n);
    return written[number];
}

int side_open(struct side *side, unsigned number, const char *port, unsigned queues)
{
    struct side_ports *own = &sides[number];
    struct model_mailbox *boxes[QUEUES_MAX];

    memset(own, 0, sizeof *own);
    if (strchr(port, ':') == NULL)
        port = end_of_cable(port, number, queues);
    if (port == NULL || side_init(side, number, port, queues, all_types()) != 0)
        return -1;
    tenon_flow_spread(own->table, 128, queues);
    for (unsigned i = 0; i < queues; i++) {
        boxes[i] = &own->nodes[i].box;
        if (model_mailbox_open(boxes[i]) != 0 || node_open_port(&side->nodes[i]) != 0 ||
            node_open_stack(&side->nodes[i]) != 0 || node_serve(&side->nodes[i]) != 0)
            return -1;
    }
    own->spread = model_spread_open(boxes, queues, 1);
    for (unsigned i = 0; i < queues && queues > 1; i++)
        model_spread_join(own->spread, i, own->nodes[i].port, side->nodes[i].stack, side->nodes[i].netif);
    return 0;
}

static void node_close(struct node *node)
{
    struct node_port *own = port_of(node);

    if (node->stack != NULL)
        tenon_fini(node->stack);
    node->stack = NULL;
    free(own->mem);
    own->mem = NULL;
    if (own->port != NULL)
        port_close(own->port);
    own->port = NULL;
}

void side_close(struct side *side)
{
    struct side_ports *own = &sides[side->number];

    for (unsigned i = 0; i < side->queues && own->spread != NULL && side->queues > 1; i++)
        model_spread_leave(own->spread, i);
    for (unsigned i = 0; i < side->queues; i++)
        model_mailbox_close(&own->nodes[i].box);
    for (unsigned i = 0; i < side->queues; i++)
        node_close(&side->nodes[i]);
    if (own->spread != NULL)
        model_spread_close(own->spread);
    own->spread = NULL;
}

/* ---- going round ------------------------------------------------------------------------------------ */

void node_netif_conf(const struct node *node, struct tenon_netif_conf *conf)
{
    port_netif_conf(port_of(node)->port, conf);
}

unsigned node_transmit(const struct node *node, const struct tenon_frame *frame)
{
    struct port *port = port_of(node)->port;

    return port->type->host->transmit(port, node->netif, frame, 1);
}

/* All instances are polled in every round. */
struct tenon *node_enter(const struct node *node)
{
    return node->stack;
}

void node_wake(const struct node *node)
{
    (void)node;
}

void node_poll(const struct node *node)
{
    (void)tenon_poll(node->stack, port_now_us());
}

static int node_turn(struct node *node, tenon_u32 *wait_us)
{
    struct node_port *own = port_of(node);
    int n = PORT_BURST, frames = 0;

    for (unsigned i = 0; i < BURSTS_MAX && n >= PORT_BURST; i++) {
        n = port_receive(own->port, node->stack, node->netif, port_now_us());
        if (n < 0) {
            node_fail(node, "the interface is gone");
            exit(1);
        }
        frames += n;
    }
    frames += (int)model_mailbox_take(&own->box, node);
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
            const int fd = port_fd(port_of(&check->sides[s].nodes[i])->port);

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

int check_flap(struct check *check, const char *how)
{
    const pid_t child = fork();
    int status = -1, ended = 0;

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", how, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && !ended) {
        check_turn(check);
        ended = waitpid(child, &status, WNOHANG) == child;
    }
    return status == 0 ? 0 : -1;
}
