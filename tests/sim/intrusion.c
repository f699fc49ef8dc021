/* SPDX-License-Identifier: MIT */
/* Somebody else on the line: for a time, frames of his arrive at a host among those of others. */
#include "sim.h"

#include "core.h"
#include "tcp/tcp_internal.h"
#include "tests/intruder/intruder.h"

#include <stdlib.h>
#include <string.h>

static uint32_t chance(void *arg, uint32_t below)
{
    struct intrusion *in = arg;

    return (uint32_t)sim_hash(in->sim, 1100 + in->event, in->chance++) % below;
}

/* A side's connection, if there is one to harm. */
static const struct tenon_tcp *connection(const struct side *side)
{
    const struct tenon_tcp *conn = side != NULL ? side->conn : NULL;

    return conn != NULL && conn->state != TENON_TCP_CLOSED && conn->path != NULL ? conn : NULL;
}

/* A session that has a connection at this host; NULL: chance has it that none is meant. */
static const struct side *victim(struct intrusion *in, unsigned host)
{
    const struct side *side = in->sim->sides, *found = NULL;
    unsigned n = 0;

    if (chance(in, 3) == 0)
        return NULL;
    for (; side != NULL; side = side->next)
        if (side->host == host && connection(side) != NULL && side->session->side[side->which] == side &&
            chance(in, ++n) == 0)
            found = side;
    return found;
}

/* Another host. */
static unsigned any_friend(struct intrusion *in, unsigned host)
{
    const unsigned n = in->sim->plan->nhosts;

    return (host + 1 + chance(in, n - 1)) % n;
}

static void intrude(struct intrusion *in)
{
    const struct sim *sim = in->sim;
    const struct plan_event *event = &sim->plan->event[in->event];
    const struct side *side = victim(in, event->host);
    const unsigned client = side != NULL ? side->session->plan->client : 0;
    const unsigned friend_host = side == NULL                ? any_friend(in, event->host)
                                 : client == event->host ? side->session->plan->server
                                                         : client;
    const int v6 = side != NULL ? side->session->plan->v6 : sim->plan->v6 && (!sim->plan->v4 || chance(in, 2));
    struct tenon_addr ip, friend_ip;
    uint8_t frame[INTRUDER_FRAME_MAX];
    struct intruder who;
    unsigned n;

    if (friend_host >= sim->plan->nhosts)
        return;    /* nobody has that address */
    sim_address(sim, &ip, event->host, v6, 0);
    sim_address(sim, &friend_ip, friend_host, v6, 0);
    memset(&who, 0, sizeof(who));
    who.chance = chance;
    who.arg = in;
    who.link = SIM_LINK_BYTES;
    memcpy(who.mac, sim->plan->host[event->host].end.netif.mac, 6);
    memcpy(who.friend_mac, sim->plan->host[friend_host].end.netif.mac, 6);
    who.ip = ip.ip;
    who.friend_ip = friend_ip.ip;
    who.port = (uint16_t)(80 + event->port);
    n = intruder_frame(&who, side != NULL ? connection(side) : NULL,
                       side != NULL ? connection(side->session->side[!side->which]) : NULL, frame);
    if (wire_inject(sim->host[event->host].end, frame, n, 1) != 0)
        abort();
}

static void intrusion_goes_on(void *arg)
{
    struct intrusion *in = arg;
    struct sim *sim = in->sim;
    const struct plan_event *event = &sim->plan->event[in->event];

    if (sim->cleaning || sim_now(sim) >= event->at_us + event->lasts_us)
        return;
    intrude(in);
    if (wire_at(sim->wire, wire_now(sim->wire) + event->gap_us, intrusion_goes_on, in) != 0)
        abort();
}

void intrusion_begin(struct sim *sim, unsigned event)
{
    struct intrusion *in = &sim->intrusion[event];

    in->sim = sim;
    in->event = event;
    sim->intruded = 1;
    intrusion_goes_on(in);
}
