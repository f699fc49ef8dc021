/* SPDX-License-Identifier: MIT */
/* Connections that are open and do nothing: the time to open one, with both ends in it, and the memory of one end. */
#include "harness.h"

int speed_idle(struct speed_run *run)
{
    const uint64_t resident = speed_resident(), ns = speed_cpu_ns(), cycles = speed_cycles();
    struct speed_segment segment;
    double ends;

    run->conf.idle = run->conf.connections;
    run->conf.connections = 0;
    if (speed_open(run) != 0)
        return 3;
    segment.cycles = speed_cycles() - cycles;
    segment.ns = speed_cpu_ns() - ns;
    segment.units = run->count.opened;
    ends = 2.0 * (double)run->count.opened;
    speed_line_begin(run);
    speed_line_segments(run, &segment, 1, "connection");
    speed_line_cycles(run, &segment, 1);
    if (run->count.memory)
        speed_line_number(run, "bytes", (double)run->count.memory / ends);
    speed_line_number(run, "resident_bytes", (double)(speed_resident() - resident) / ends);
    speed_line_end(run);
    return run->count.failed != 0 || run->count.opened != run->conf.idle;
}
