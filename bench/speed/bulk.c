/* SPDX-License-Identifier: MIT */
/* Bulk: every connection's send queue is kept full. */
#include "harness.h"

int speed_bulk(struct speed_run *run)
{
    run->driver->begin();
    return speed_measure(run, &run->count.bytes, "byte");
}
