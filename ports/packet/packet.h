/* SPDX-License-Identifier: MIT */
/** @file
 *  Linux packet sockets (AF_PACKET): an instance of Tenon on any Ethernet interface that the kernel has, with checksum
 *  and segmentation offload both ways through the virtio-net header. */
#ifndef TENON_PORTS_PACKET_PACKET_H
#define TENON_PORTS_PACKET_PACKET_H

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `packet:INTERFACE`. The interface exists, is Ethernet, and stays as it is: what is changed for our sake (another
 *  address that it listens to) the kernel undoes when the port is closed or the program ends.
 *
 *  With `queues` of 2 and up the ports of an interface, in one program or several, are a fanout group, which has to be
 *  complete before connections begin. The kernel numbers its members in the order in which they are opened; `queue` is
 *  for messages only. What concerns all of them (ARP, neighbour discovery, ICMP errors, group queries) comes to each.
 *
 *  Settings:
 *  - receive=read|ring: each frame by a system call of its own, at once; or from a ring in shared memory (TPACKET_V3),
 *    many for one system call, up to 2 ms late
 *  - mac=own|interface: the Ethernet address
 *  - fanout=hash|cpu|queue|lb: what decides which member gets a frame */
extern const struct port_type packet_port_type;

#ifdef __cplusplus
}
#endif

#endif
