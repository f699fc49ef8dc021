/* SPDX-License-Identifier: MIT */
/** @file
 *  DPDK: frames through any ethdev, a NIC of which the kernel knows nothing any more, or a device that DPDK makes. */
#ifndef TENON_PORTS_DPDK_DPDK_H
#define TENON_PORTS_DPDK_DPDK_H

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `dpdk:DEVICE`: a PCI address, or the name of a virtual device with its arguments, `dpdk:{net_tap0,iface=dt0}`, or of
 *  one that this process has already. The first port of a process starts DPDK (its EAL), unless the process has done
 *  so; it ends with the process. One port is one queue; the first of a device configures all queues. The functions
 *  open() and close() may be called in several threads at the same time. A port is opened and closed by the thread that
 *  uses it: DPDK's pools are fast only for threads that it knows. */
extern const struct port_type dpdk_port_type;

/** What only this kind knows. */
struct dpdk_port_info {
    unsigned device; /**< DPDK's number of it (port_id), for what is not done here: rte_flow, timestamps ... */
    unsigned queue;
    const char *driver; /**< "net_ring" */
    int huge; /**< packet memory lies in huge pages */
    int refers; /**< bytes in memory that is not DPDK's are sent from there, and not copied first */
    int completes_sums, cuts, gathers; /**< offloads that are in use: for what is sent ... */
    int knows_sums, joins, scatters; /**< ... and received */
    uint64_t tx_lying_frames; /**< sent as they lay */
    uint64_t tx_copied_frames, tx_copied_bytes; /**< of which something was copied first, and how much */
    uint64_t rx_copied_frames; /**< that came in memory of a pool which is not ours */
};

void dpdk_port_info(const struct port *port, struct dpdk_port_info *info);

/** Make two devices (net_ring) of this process that are joined: what is sent by a queue of one is received by the same
 *  queue of the other, without a copy. They live as long as the process, and are opened as `dpdk:net_ring_NAME`.
 *  @param names  up to 16 characters each
 *  @param eal    as the setting of that name; NULL: none
 *  @return 0; -1 */
int dpdk_pair(const char *const names[2], unsigned queues, const char *eal, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
