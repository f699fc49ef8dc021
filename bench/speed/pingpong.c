/* SPDX-License-Identifier: MIT */
/* Ping-pong: every connection has one message under way, in one direction or the other. */
#include "harness.h"

int speed_pingpong(struct speed_run *run)
{
    run->driver->begin();
    return speed_measure(run, &run->count.rounds, "round trip");
}
