/* SPDX-License-Identifier: MIT */
/* What the files of this port have in common. */
#ifndef TENON_PORTS_DPDK_INTERNAL_H
#define TENON_PORTS_DPDK_INTERNAL_H

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "dpdk.h"

#define DPDK_POOL "tenon" /* our pools are called so, with a number: "tenon+7" */

enum {
    DPDK_QUEUES_MAX = 64,
    DPDK_GATHER_MAX = 64, /* pieces of a frame that is sent */
    DPDK_PIECES_MAX = 128, /* of one that is received ... */
    DPDK_FRAME_MAX = 128 << 10, /* ... and its bytes */
    DPDK_MEMORY = 32 << 20
};

/* In the private area of each mbuf of our pools. There are two buffers, because in a net_ring the mbuf that we have
 * sent is the one that the other instance receives, while our count of references has still to go down. */
struct dpdk_private {
    _Alignas(RTE_CACHE_LINE_SIZE) struct tenon_buf tx;
    struct tenon_buf rx;
    unsigned *kept; /* of the port that received it, if somebody has kept it since */
    _Alignas(RTE_CACHE_LINE_SIZE) tenon_u8 bytes[]; /* the mbuf's */
};

/* What is to be known of a driver, because DPDK does not tell. */
enum dpdk_trait {
    DPDK_COPIES = 1, /* copies what is sent, at our addresses, before tx_burst() returns: any memory will do */
    DPDK_ANY_MTU = 2, /* carries frames of any size, whatever it says */
    DPDK_OWN_MAC = 4, /* its address is the kernel's at the other end, or none */
    DPDK_BAD_SUMS = 8, /* makes wrong ones of frames with a piece of odd length */
    DPDK_NO_WAKE = 16, /* its descriptor changes when somebody connects */
    DPDK_ONE_PIECE = 32, /* damages frames in several pieces, although it says that it takes them */
    DPDK_STAYS = 64, /* leaves behind something that DPDK's thread for interrupts looks at */
    DPDK_HOST = 128, /* the two ends of a vhost socket: see dpdk_memory_hold() */
    DPDK_GUEST = 256,
    DPDK_ENDS = DPDK_HOST | DPDK_GUEST
};

struct dpdk_device {
    uint16_t id, mtu, rx_descriptors;
    int offload; /* what was asked for */
    unsigned queues, traits;
    uint64_t ports; /* that are open: a bit for each queue */
    tenon_u32 room; /* for bytes of a frame in each mbuf */
    struct rte_eth_dev_info info;
    struct rte_eth_conf conf;
    size_t bytes; /* of both pools of a queue: */
    struct rte_mempool *rx[DPDK_QUEUES_MAX]; /* to receive into */
    struct rte_mempool *tx[DPDK_QUEUES_MAX]; /* for headers, copies, and mbufs that refer to other bytes */
    int made; /* by us */
    int interface; /* it uses one of the kernel's, info.if_index */
    atomic_int stopped, gone;
};

struct dpdk_port {
    struct port port;
    struct dpdk_device *device;
    struct rte_mempool *rx, *tx; /* its own of the device's */
    unsigned kept, kept_max; /* mbufs that were received and not given back; of more the device would miss some */
    int trusts; /* what was asked for */
    int registered; /* DPDK knows this thread by us */
    unsigned odd; /* of the frame that is being made: odd if a piece but the last has an odd length */
    tenon_u32 asked_us; /* whether the device is still there */
    struct rte_mbuf_ext_shared_info lent; /* the program's bytes, for a driver with DPDK_COPIES */
    struct dpdk_port_info info;
    struct tenon_frame rx_frames[PORT_BURST];
    struct tenon_span rx_spans[PORT_BURST * DPDK_PIECES_MAX];
};

extern const struct port_setting dpdk_settings[];

/* dpdk_eal.c; under the lock of port_open() */
extern unsigned dpdk_traits; /* of all devices that this process has had */
extern size_t dpdk_pages; /* huge ones, as the machine should have for the first port and DPDK itself */

/* dpdk_words.c; under the same lock */
void dpdk_listen(void); /* from here on, keep what DPDK says instead of printing it ... */
const char *dpdk_said(int status); /* ... until here. @return its first line, or what the status means; what to do */

/* dpdk_open.c */
int dpdk_open(struct port *port, const struct port_conf *conf, char *error, size_t size);
void dpdk_close(struct port *port);
int dpdk_is_down(const struct dpdk_device *device);
int dpdk_is_gone(struct dpdk_device *device);

/* dpdk_memory.c */
struct rte_mempool *dpdk_pool_get(size_t bytes, tenon_u32 room);
void dpdk_pool_put(struct rte_mempool *pool); /* under the lock of port_open() */
void dpdk_memory_hold(void);

#endif
