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
 *  - fanout=hash|flow|cpu|queue|lb: what decides which member gets a frame */
extern const struct port_type packet_port_type;

/** With fanout=flow the members' frames are chosen as a NIC with receive-side scaling chooses queues: TCP over IPv4
 *  without options and over IPv6 without extension headers by the hash of tenon/flow.h, all else to the first. At first
 *  that is done with tenon_flow_key_microsoft and a table of 128 entries from tenon_flow_spread(); this gives all of
 *  them another key or table. An instance can then open connections whose answers come to its port, if members are
 *  opened in the order of their queues. Needs root (CAP_BPF and CAP_NET_ADMIN).
 *  @param port     any of the members
 *  @param key      TENON_FLOW_KEY_BYTES bytes; read during the call only
 *  @param entries  of the table; a power of 2
 *  @param queues   how many members there are
 *  @return 0; -1: errno says why (EPERM: not permitted) */
int packet_steer(struct port *port, const tenon_u8 *key, unsigned entries, unsigned queues);

#ifdef __cplusplus
}
#endif

#endif
