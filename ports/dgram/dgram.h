/* SPDX-License-Identifier: MIT */
/** @file
 *  A cable between two processes, without any privilege: an Ethernet frame in each datagram, over UDP or
 * between two Unix sockets. QEMU's `-netdev dgram` and `-netdev socket,udp=` speak the same. */
#ifndef TENON_PORTS_DGRAM_DGRAM_H
#define TENON_PORTS_DGRAM_DGRAM_H

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `dgram:OWN,peer=OTHER`, both ADDRESS:PORT (UDP; [::1]:5001 for IPv6) or both paths, which have a `/` (Unix
 * sockets). The other end need not be there: what is sent to nobody is counted in tx_down.
 *
 *  The file of a Unix socket is removed when the port is closed. One that was left behind by a program that
 * was killed is replaced.
 *
 *  Settings:
 *  - peer=OTHER: where frames go and come from; has to be given
 *  - vnet=off|on: a virtio-net header before each frame, for frames whose checksum or segments nobody has
 * made yet. Both ends have to say the same; QEMU knows `off` only */
extern const struct port_type dgram_port_type;

#ifdef __cplusplus
}
#endif

#endif
