/* SPDX-License-Identifier: MIT */
/** @file
 *  Linux TAP: an Ethernet cable between an instance of Tenon and the kernel of the same machine, with
 *  checksum and segmentation offload both ways through the virtio-net header.
 *
 *  One port is one queue of one TAP interface and serves one instance; like the instance it belongs
 *  to one thread. */
#ifndef TENON_PORTS_TAP_TAP_H
#define TENON_PORTS_TAP_TAP_H

#include <stddef.h>
#include <stdint.h>

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tap_port;
struct pcap_writer;

/** What to open. A field that is 0 takes its default. */
struct tap_conf {
    const char *name; /**< interface; it is made when it does not exist and we may */
    int queues; /**< 2 and up: a multi-queue interface with so many; 0 or 1: a plain one */
    int queue; /**< which of them this port is, from 0: for messages only, the kernel
                                    numbers queues in the order in which they are opened */
    int offload; /**< 1: checksums, TSO and USO both ways; 0: the kernel sends and gets
                                    plain packets */
    unsigned mtu; /**< bytes; 0: the interface's */
    size_t buffer_bytes_max; /**< limit of each of the two pools of packet memory; 0: 256 MB */
};

/** Counted since tap_open(). */
struct tap_stats {
    uint64_t rx_frames, rx_bytes; /**< given to the core */
    uint64_t rx_empty; /**< reads that found nothing (EAGAIN) */
    uint64_t rx_no_buffer; /**< frames lost because a pool had reached its limit */
    uint64_t rx_bad; /**< frames with a virtio-net header that makes no sense */
    uint64_t rx_errors; /**< reads that failed */
    uint64_t tx_frames, tx_bytes; /**< taken by the kernel */
    uint64_t tx_busy; /**< writes refused for now (EAGAIN): the core offers them again */
    uint64_t tx_down; /**< frames lost because the interface is down (EIO) */
    uint64_t tx_errors; /**< frames lost for another reason */
    uint64_t buf_failures; /**< times a pool had no buffer */
    uint64_t buf_bytes; /**< memory in both pools */
};

/** Open a TAP interface, or one queue of it. It is neither brought up nor given an address: that side
 *  is the kernel's and the administrator's.
 *  @param[out] error  what went wrong and what to do about it, in one line; untouched on success
 *  @return NULL on failure */
struct tap_port *tap_open(const struct tap_conf *conf, char *error, size_t error_size);

/** Close it and free all memory. The instance must have been ended (tenon_fini()), and nobody may
 *  keep a buffer of the port. */
void tap_close(struct tap_port *port);

/** The functions for tenon_init(); its `host` is the struct tap_port. They serve every `netif`
 *  alike: an instance with several ports puts a table of its own before theirs. */
const struct tenon_host *tap_host_ops(void);

/** What tenon_netif_add() wants to know: address, MTU, offloads.
 *
 *  The Ethernet address is derived from the kernel's own for this interface, so that it differs from
 *  it, is the same for all queues, and stays while the interface exists: neighbours need not learn it
 *  again when the program restarts. */
void tap_netif_conf(const struct tap_port *port, struct tenon_netif_conf *out);

/** For poll(): readable when tap_receive() has something to do, writable when a transmit that was
 *  refused may be tried again. */
int tap_fd(const struct tap_port *port);

/** Give the instance what has arrived, at most 32 frames: when it returns 32 there may be more.
 *  @return number of frames; -1: the interface is gone */
int tap_receive(struct tap_port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us);

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
int tap_steer(struct tap_port *port, const tenon_u8 *key, unsigned entries, unsigned queues);

/** Write all frames, both directions, to a capture as well, as an interface of its own in that file.
 *  @param writer  stays the caller's; NULL: stop */
void tap_attach(struct tap_port *port, struct pcap_writer *writer);

void tap_stats(const struct tap_port *port, struct tap_stats *stats);

/** The clock for tenon_input() and tenon_poll(): CLOCK_MONOTONIC in microseconds, modulo 2^32. */
tenon_u32 tap_now_us(void);

#ifdef __cplusplus
}
#endif

#endif
