/* SPDX-License-Identifier: MIT */
/* UDP: request and response, and one way. */
#include "harness.h"

int speed_udp_ping(struct speed_run *run)
{
    run->driver->begin();
    return speed_measure(run, &run->count.rounds, "round trip");
}

int speed_udp_bulk(struct speed_run *run)
{
    run->driver->begin();
    return speed_measure(run, &run->count.messages, "datagram");
}
