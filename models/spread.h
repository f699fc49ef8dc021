/* SPDX-License-Identifier: MIT */
/** @file
 *  Several instances with the same addresses, each at a queue of the same port and in a thread of its own:
 *  what comes to one queue and concerns another instance goes there.
 *
 *  Segments and datagrams belong to the instance of the queue to which the NIC has brought them; or, with
 *  by_hash, to that which the hash of NICs says (tenon/flow.h), for interfaces that spread a connection's
 *  packets over queues as they like. Fragments go where their addresses lead, so that all of them meet. What
 *  answers a question that another instance may have asked goes to all: ARP replies, neighbour and router
 *  advertisements, redirects, ICMP errors. Questions stay where they came: one answer is enough.
 *
 *  What goes elsewhere is copied, counted, and waits in the other thread's mailbox; of more than
 *  MODEL_SPREAD_WAITING_MAX frames that wait there the rest is lost, as in a NIC whose ring is full.
 *
 *  For a model it is enough to say so in its struct model_conf. Who has a loop of his own joins, takes the mail of
 *  its box in that loop, and leaves. */
#ifndef TENON_MODELS_SPREAD_H
#define TENON_MODELS_SPREAD_H

#include <tenon/tenon.h>

#include "mailbox.h"

struct port;
/** Instances that share an interface: from model_spread_open() to model_spread_close(). */
struct model_spread;

/** Frames that may wait for one member; what comes then is lost, and counted. */
enum { MODEL_SPREAD_WAITING_MAX = 4096 };

/** A member's share, counted in its thread. */
struct model_spread_stats {
    unsigned long own; /**< frames that came to the right queue */
    unsigned long handed; /**< copies that went to others */
    unsigned long lost; /**< ... that did not: too many waited there, no memory, or nobody was there */
};

/** @param boxes    one for each member; kept
 *  @param members  1 and up; no more than 65535
 *  @param by_hash  1: the hash decides; 0: the queue
 *  @return NULL: out of memory */
struct model_spread *model_spread_open(struct model_mailbox *const *boxes, unsigned members, int by_hash);

/** After all boxes have been closed. */
void model_spread_close(struct model_spread *spread);

/** A member is there, in whose thread this is called (or before that runs): what its port receives passes
 * through here from now on.
 *  @param number  from 0
 *  @param port    for model_spread_leave(): until then it must stay open
 *  @param netif   of the instance, where the port's frames go in */
void model_spread_join(struct model_spread *spread, unsigned number, struct port *port, struct tenon *stack,
                       unsigned netif);

/** The clock of the member's instance, for what is handed to it, if that is not port_now_us(). After it has joined, and
 *  where that may be called. */
void model_spread_clock(struct model_spread *spread, unsigned number, tenon_u32 (*now_us)(void));

/** It is there no longer. In its thread, before its instance ends. */
void model_spread_leave(struct model_spread *spread, unsigned number);

/** The box of the member of that number, as it was given to model_spread_open(). */
struct model_mailbox *model_spread_box(const struct model_spread *spread, unsigned number);

/** The share of the member of that number; from any thread, while it is a member or after. */
void model_spread_stats(const struct model_spread *spread, unsigned number, struct model_spread_stats *stats);

#endif
