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
    uint16_t device; /**< DPDK's number of it (port_id), for what is not done here: rte_flow, timestamps ... */
    uint16_t queue;
    const char *driver; /**< "net_ring" */
    uint64_t tx_offloads, rx_offloads; /**< those in use: RTE_ETH_TX_OFFLOAD_..., RTE_ETH_RX_OFFLOAD_... */
    uint64_t tx_copied_bytes; /**< that lay in memory which is not DPDK's */
    uint64_t rx_copied_frames; /**< that came in memory of a pool which is not ours */
};

/** What the device can do, and what the port made of it. */
void dpdk_port_info(const struct port *port, struct dpdk_port_info *info);

/** Start DPDK as the first port does it, for a program that makes devices by functions of DPDK's before it
 * opens ports.
 *  @param device  the name of one on the PCI bus, which DPDK looks for then, with or without arguments; any
 *                 other text: none
 *  @param words  as the setting `eal=`; NULL: ours
 *  @param bytes  of packet memory that there will be; decides whether huge pages are enough, and how much is taken
 *  @return 0; -1 */
int dpdk_start(const char *device, const char *words, size_t bytes, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
