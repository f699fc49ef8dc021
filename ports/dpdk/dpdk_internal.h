/* SPDX-License-Identifier: MIT */
/* What the files of this port have in common. */
#ifndef TENON_PORTS_DPDK_INTERNAL_H
#define TENON_PORTS_DPDK_INTERNAL_H

#include <stdatomic.h>

#include <rte_epoll.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "dpdk.h"

enum {
    DPDK_QUEUES_MAX = 64,
    DPDK_GATHER_MAX = 64, /* pieces of a frame that is sent */
    DPDK_RX_SPANS = 1280, /* PORT_BURST frames of 40 pieces */
    DPDK_LINK_BYTES = 14 + 4, /* Ethernet, with a tag */
    DPDK_READY = 64,
    DPDK_EVENTS = 4
};

/* In the private area of each mbuf of our pools. There are two, because in a net_ring the mbuf that we have
 * sent is the one that the other instance receives, while our count of references has still to go down. */
struct dpdk_private {
    _Alignas(RTE_CACHE_LINE_SIZE) struct tenon_buf tx;
    struct tenon_buf rx;
    struct dpdk_memory *home; /* of tx */
};

/* Bytes of the program's own that are being sent: one reference of their buffer, until DPDK lets go of them, in
 * whatever thread. */
struct dpdk_hold {
    struct rte_mbuf_ext_shared_info shared;
    struct dpdk_memory *home;
    struct tenon_buf *buf; /* NULL: nothing is held */
    struct dpdk_hold *next;
};

/* Of one queue. It outlives the port if somebody still has a piece of it: the other end of a ring. */
struct dpdk_memory {
    struct dpdk_memory *next; /* in the list of those that wait for that */
    struct rte_mempool *rx, *tx; /* mbufs with room: to receive into; for headers and copies */
    struct rte_mempool *shells; /* mbufs without: they describe bytes that lie elsewhere */
    struct rte_mbuf *ready[DPDK_READY]; /* of tx, without an owner */
    unsigned nready;
    struct dpdk_hold *holds, *free;
    _Atomic(struct dpdk_hold *) returned;
    unsigned nholds;
    size_t bytes;
};

/* What is to be known of a driver, because DPDK does not tell. */
enum dpdk_trait {
    DPDK_REFERS = 1, /* reads with the processor, at our addresses: any memory is as good as DPDK's */
    DPDK_ANY_MTU = 2, /* carries frames of any size, whatever it says */
    DPDK_OWN_MAC = 4, /* its address is the kernel's at the other end, or none */
    DPDK_NO_TSO = 8, /* refuses segments as large as the MTU allows */
    DPDK_NO_WAKE = 16, /* its descriptor changes when somebody connects */
    DPDK_ONE_PIECE = 32 /* damages frames in several pieces, although it says that it takes them */
};

struct dpdk_device {
    struct dpdk_device *next;
    char name[RTE_ETH_NAME_MAX_LEN];
    uint16_t id;
    int made; /* by us */
    int offload; /* what was asked for */
    unsigned mtu, queues, ports, traits;
    uint64_t rx_on, tx_on; /* RTE_ETH_RX_OFFLOAD_..., TX */
    struct rte_eth_dev_info info;
    tenon_u8 mac[6];
    tenon_u32 room; /* for bytes of a frame in each mbuf */
    struct dpdk_memory *memory[DPDK_QUEUES_MAX];
    struct dpdk_port *port[DPDK_QUEUES_MAX];
    atomic_int gone;
};

struct dpdk_port {
    struct port port;
    struct dpdk_device *device;
    struct dpdk_memory *memory;
    uint16_t queue;
    int trusts, tso_forced, busy;
    int epoll; /* readable when frames have come or `more` is; -1: the device cannot tell */
    int more; /* an eventfd: the last look did not see all */
    struct rte_epoll_event more_event;
    struct dpdk_port_info info;
    struct pcap_writer *pcap;
    unsigned pcap_interface;
    struct port_stats stats;
    tenon_u8 headers[PORT_BURST]; /* of the frames that are being sent: begins with an mbuf of Tenon's */
    unsigned nspans, nframes;
    struct tenon_span rx_spans[DPDK_RX_SPANS];
    struct tenon_frame rx_frames[PORT_BURST];
};

extern const struct port_setting dpdk_settings[];

/* dpdk_eal.c; under the lock of dpdk_open() */
enum { DPDK_SAID_MAX = 160 };

int dpdk_start(const char *device, const char *words, size_t bytes, char *error, size_t error_size);
int dpdk_huge(void); /* whether memory lies in huge pages */
void dpdk_listen(void); /* from here on, keep what DPDK says instead of printing it ... */
const char *dpdk_said(void); /* ... until here. @return the first line of it */
void dpdk_errand(void (*run)(void *arg), void *arg); /* in the thread that serves DPDK's interrupts, and wait for it */
void dpdk_thread_begin(void); /* of a port: DPDK gets to know this thread */
void dpdk_thread_end(void);

/* dpdk_open.c */
struct port *dpdk_open(const struct port_conf *conf, char *error, size_t error_size);
void dpdk_close(struct port *port);

/* dpdk_memory.c */
struct dpdk_memory *dpdk_memory_get(tenon_u32 room, size_t bytes);
void dpdk_memory_put(struct dpdk_memory *memory); /* under the lock of dpdk_open() */
void dpdk_memory_end(struct dpdk_memory *memory); /* the port is closed: nothing is held any more */
void dpdk_memory_reap(struct dpdk_memory *memory);
unsigned dpdk_memory_bufs(struct dpdk_memory *memory, struct tenon_buf **bufs, unsigned n);
struct rte_mbuf *dpdk_refer(struct dpdk_memory *memory, const struct tenon_span *span);

void dpdk_tx_release(struct tenon_buf *buf);
void dpdk_rx_release(struct tenon_buf *buf);
void dpdk_handed_release(struct tenon_buf *buf);

/* NULL: its bytes are not DPDK's. */
static inline struct rte_mbuf *dpdk_mbuf_of(const struct tenon_buf *buf)
{
    const size_t at = buf->release == dpdk_tx_release   ? offsetof(struct dpdk_private, tx)
                      : buf->release == dpdk_rx_release ? offsetof(struct dpdk_private, rx)
                                                        : SIZE_MAX;

    return at == SIZE_MAX ? NULL : (struct rte_mbuf *)((uintptr_t)buf - at - sizeof(struct rte_mbuf));
}

/* It is ours, nobody else has it, and the device has not got it either: its mbuf may describe this piece. */
static inline int dpdk_is_header(const struct tenon_span *span)
{
    return span->buf->release == dpdk_tx_release && span->buf->refs == 1 &&
           rte_mbuf_refcnt_read(dpdk_mbuf_of(span->buf)) == 1;
}

/* The device has the mbuf of a header now. The caller of transmit() gives up its reference, the last one, when that
 * returns, and before it gets another buffer. */
static inline void dpdk_hand_over(struct tenon_buf *buf)
{
    buf->release = dpdk_handed_release;
}

/* One piece of a received frame, with one reference. */
static inline struct tenon_buf *dpdk_received(struct rte_mbuf *mbuf)
{
    struct dpdk_private *priv = rte_mbuf_to_priv(mbuf);

    priv->rx = (struct tenon_buf){ mbuf->buf_addr, mbuf->buf_len, 1, dpdk_rx_release };
    return &priv->rx;
}

#endif
