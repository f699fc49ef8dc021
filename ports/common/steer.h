/* SPDX-License-Identifier: MIT */
/** @file
 *  Which queue a frame comes to, by the same hash as a NIC has (tenon/flow.h): a program for the kernel's eBPF machine,
 *  which a TAP interface or a group of packet sockets runs for each frame. */
#ifndef TENON_PORTS_COMMON_STEER_H
#define TENON_PORTS_COMMON_STEER_H

#include <tenon/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Make the program, which returns the queue's number: TCP over IPv4 without options and over IPv6 without extension
 *  headers by the hash and a table from tenon_flow_spread(), all else 0. Needs root (CAP_BPF and CAP_NET_ADMIN).
 *  @param key      TENON_FLOW_KEY_BYTES bytes; read during the call only
 *  @param entries  of the table; a power of 2
 *  @param queues   how many there are
 *  @return its descriptor, the caller's to close; -1: errno says why (EPERM: not permitted) */
int steer_program(const tenon_u8 *key, unsigned entries, unsigned queues);

#ifdef __cplusplus
}
#endif

#endif
