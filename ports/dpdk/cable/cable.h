/* SPDX-License-Identifier: MIT */
/* A cable in memory, for benchmarks and tests. */
#ifndef TENON_PORTS_DPDK_CABLE_H
#define TENON_PORTS_DPDK_CABLE_H

#include <stddef.h>

/** Make two devices (net_ring) of this process that are joined: what is sent by a queue of one is received by the same
 *  queue of the other, without a copy. They live as long as the process, and are opened as `dpdk:net_ring_NAME`.
 *  @param names  up to 16 characters each
 *  @return 0; -1 */
int dpdk_cable(const char *const names[2], unsigned queues, char *error, size_t error_size);

#endif
