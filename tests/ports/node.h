/* SPDX-License-Identifier: MIT */
/* Two sides of a cable, in one thread: instances on ports. A side has one instance for each queue; all of a side have
 * the same addresses. Each instance echoes TCP and UDP at port 7.
 *
 * What the exchanges (check.c) need to know of the ports is here. node.c has them on ports that somebody has written
 * down, in real time; node_ns3.cc on the devices of ns-3, in the simulator's. */
#ifndef TESTS_PORTS_NODE_H
#define TESTS_PORTS_NODE_H

#include <tenon/tenon.h>

#include "ports/common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { QUEUES_MAX = 8, ECHO_PORT = 7 };

struct node {
    struct side *side;
    unsigned number;
    struct tenon *stack;
    unsigned netif;
    struct tenon_tcp_listener *listener;
    struct tenon_udp *udp;
};

struct side {
    const char *name; /* as it was written */
    struct port_choice choice;
    unsigned queues, number;
    struct tenon_ip ip[2]; /* IPv4, IPv6 */
    struct node nodes[QUEUES_MAX];
};

struct check {
    struct side sides[2];
    int deaf; /* the number of a side that is not served; -1 */
};

/* What the instances are not told of their ports. */
struct without {
    tenon_u32 caps; /* enum tenon_cap */
    int gather;
};

extern struct without without;

/* ---- common.c: for both --------------------------------------------------------------------------------- */

/* Everything of a side but its nodes. @return 0; -1: it has said why */
int side_init(struct side *side, unsigned number, const char *port, unsigned queues,
              const struct port_type *const *types);

/* Leave out what the instance is not to be told. @return 0; -1: the port cannot do it in any case, which was said */
int node_without(const struct node *node, struct tenon_netif_conf *netif);

/* The node's echoes. @return 0; -1: it has said why */
int node_serve(struct node *node);

/* @return -1 */
int node_fail(const struct node *node, const char *what);

/* ---- node.c, or node_ns3.cc ------------------------------------------------------------------------------ */

/* @return 0; -1: it has said why */
int side_open(struct side *side, unsigned number, const char *port, unsigned queues);
void side_close(struct side *side);

void node_netif_conf(const struct node *node, struct tenon_netif_conf *conf);

/* Hand its port a frame, past the instance. @return 1: taken */
unsigned node_transmit(const struct node *node, const struct tenon_frame *frame);

/* Its instance, to say something to it that is not said in one of its events: its clock is right until the next round.
 * node_wake() tells that something was said. */
struct tenon *node_enter(const struct node *node);
void node_wake(const struct node *node);

/* Let it leave at once, if the port takes it. */
void node_poll(const struct node *node);

/* 1: somebody who is deaf does not hear, and the queues between the ports have an end. */
extern const int node_queues_end;

/* One round of everybody; sleeps a little when nobody had anything. */
void check_turn(struct check *check);

/* Take the link of both sides down and up again, with rounds of everybody meanwhile.
 * @param how  what the user has said about it
 * @return 0; -1: it could not be done */
int check_flap(struct check *check, const char *how);

unsigned long check_ms(void);

#ifdef __cplusplus
}
#endif

#endif
