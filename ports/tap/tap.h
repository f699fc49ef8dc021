/* SPDX-License-Identifier: MIT */
/** @file
 *  Linux TAP: an Ethernet cable between an instance of Tenon and the kernel of the same machine, with
 *  checksum and segmentation offload both ways through the virtio-net header. */
#ifndef TENON_PORTS_TAP_TAP_H
#define TENON_PORTS_TAP_TAP_H

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `tap:INTERFACE`. It is made when it does not exist and we may; it is neither brought up nor given an
 * address: that side is the kernel's and the administrator's. With `queues` of 2 and up it is a multi-queue
 * interface. `queue` is for messages only: the kernel numbers queues in the order in which they are opened.
 */
extern const struct port_type tap_port_type;

/** Let the kernel choose the queue of each frame as a NIC with receive-side scaling does, for all queues of
 * the interface until it is removed: TCP over IPv4 without options and over IPv6 without extension headers by
 * the hash of tenon/flow.h, all else to queue 0. With the same key and a table from tenon_flow_spread() an
 * instance can open connections whose answers come to its queue. Needs root (CAP_BPF and CAP_NET_ADMIN), and
 * Linux 4.16.
 *  @param port     any of the interface's queues
 *  @param key      TENON_FLOW_KEY_BYTES bytes; read during the call only
 *  @param entries  of the table; a power of 2
 *  @param queues   how many the interface has
 *  @return 0; -1: errno says why (EPERM: not permitted) */
int tap_steer(struct port *port, const tenon_u8 *key, unsigned entries, unsigned queues);

#ifdef __cplusplus
}
#endif

#endif
