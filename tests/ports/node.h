/* SPDX-License-Identifier: MIT */
/* Two sides of a cable, in one thread: instances on ports that somebody has written down. A side has one
 * instance for each queue; all of a side have the same addresses, and hand each other what they should have
 * got. Each instance echoes TCP and UDP at port 7. */
#ifndef TESTS_PORTS_NODE_H
#define TESTS_PORTS_NODE_H

#include <tenon/flow.h>
#include <tenon/tenon.h>

#include "models/spread.h"
#include "ports/common/port.h"

enum { QUEUES_MAX = 8, ECHO_PORT = 7, PATTERN = 1 << 20 };

struct node {
    struct side *side;
    unsigned number;
    struct port *port;
    struct model_mailbox box;
    struct tenon_flow flow;
    struct tenon *stack;
    void *mem;
    unsigned netif;
    struct tenon_tcp_listener *listener;
    struct tenon_udp *udp;
};

struct side {
    const char *name; /* as it was written */
    struct port_choice choice;
    unsigned queues, number;
    struct tenon_ip ip[2]; /* IPv4, IPv6 */
    struct model_spread *spread;
    tenon_u16 table[128];
    struct node nodes[QUEUES_MAX];
};

struct check {
    struct side sides[2];
    int deaf; /* the number of a side that is not served; -1 */
};

/* Byte i of all that is sent: pattern[i % PATTERN]. */
extern tenon_u8 pattern[PATTERN];

/* @return 0; -1: it has said why */
int side_open(struct side *side, unsigned number, const char *port, unsigned queues);
void side_close(struct side *side);

/* One round of everybody; sleeps a little when nobody had anything. */
void check_turn(struct check *check);

/* Rounds until *done is at least `want`. @return 0; -1: it took too long */
int check_until(struct check *check, const unsigned *done, unsigned want, unsigned limit_ms);

unsigned long check_ms(void);

#endif
