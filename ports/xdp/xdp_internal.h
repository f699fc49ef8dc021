/* SPDX-License-Identifier: MIT */
/* What the files of this port have in common. */
#ifndef TENON_PORTS_XDP_INTERNAL_H
#define TENON_PORTS_XDP_INTERNAL_H

#include "../common/interface.h"
#include "../common/netdev.h"
#include "xdp.h"
#include "xdp_uapi.h"

enum {
    XDP_HEADROOM = 256, /* the kernel leaves it free before a received frame (XDP_PACKET_HEADROOM) */
    XDP_TX_ROOM = 64, /* we leave it free before a buffer, for struct xsk_tx_words: a cache line */
    XDP_LINK_BYTES = 14 + 8, /* Ethernet, with two tags */
    XDP_CHUNK_MAX = 4096, /* a page */
    XDP_GATHER_MAX = 16, /* pieces of a frame that is sent: the kernel makes a socket buffer of them, with 17 */
    XDP_RX_SPANS = 256,
    XDP_QUEUES_MAX = 256,
    XDP_LAST = 64,
    XDP_MEMORY = 32 << 20
};

/* One piece of the UMEM: `buf` describes all of it but XDP_TX_ROOM. It is in one of these states:
 *
 *     free (in the port's list)                        refs 0
 *     in the fill ring, or with the kernel to fill     refs 0, received
 *     with the instance and who keeps its spans        refs 1 and up; received: a frame came in it
 *     in the transmit ring                             one reference more for each descriptor */
struct xdp_chunk {
    struct tenon_buf buf;
    struct xdp_port *home; /* to whom it goes back; NULL: that one is closed */
    struct xdp_chunk *next; /* in the list of free ones */
    int received;
};

struct xdp_umem {
    tenon_u8 *bytes;
    struct xdp_chunk *chunks;
    unsigned nchunks, chunk_bytes;
    unsigned ports_max; /* each has an equal part */
    unsigned ports_joined; /* ever */
    unsigned ports; /* that have it now */
    int fd; /* of the socket that has registered it; -1: not yet, or closed */
    struct xdp_port_info info; /* the first one's; the others are alike */
};

/* A ring in memory that is shared with the kernel. One side produces entries, the other consumes them. `ours` is our
 * index, which the kernel sees after xdp_ring_publish(); `theirs` is the kernel's as seen last. */
struct xdp_ring {
    tenon_u32 *producer, *consumer, *flags;
    void *entries, *map;
    size_t map_bytes;
    tenon_u32 mask, ours, theirs;
};

enum { RING_FILL, RING_DONE, RING_RX, RING_TX, RINGS };

struct xdp_port {
    struct port port;
    struct interface interface;
    char driver[32];
    struct port_netdev can;
    unsigned pieces_max; /* of a frame that is sent */
    struct xdp_program *program;
    struct xdp_umem *umem;
    struct xdp_port_info info;
    int groups; /* a packet socket that lets frames to groups pass */
    unsigned queue, queues_wanted, queues; /* queues: of the interface; 0: it does not say */
    int trusts, hints, gone, down;
    tenon_u32 looked_us; /* when, whether it is gone */
    struct xdp_ring ring[RINGS];
    struct xdp_chunk *chunks, *free; /* those whose home this is */
    unsigned nchunks, rx_out, rx_out_max; /* rx_out: in the fill ring, or received and not back yet ... */
    unsigned kept; /* ... and of these, received */
    unsigned few, last; /* see port_keeps(): of those that the kernel has */
    struct tenon_span rx_spans[XDP_RX_SPANS];
    struct tenon_frame rx_frames[PORT_BURST];
};

extern const struct port_setting xdp_settings[];

/* xdp_open.c */
int xdp_open(struct port *port, const struct port_conf *conf, char *error, size_t error_size);
void xdp_close(struct port *port);

/* xdp_words.c: what to tell people */
enum xdp_step { XDP_STEP_ATTACH, XDP_STEP_SOCKET, XDP_STEP_MEMORY, XDP_STEP_BIND, XDP_STEP_STEER };

const char *xdp_reason(enum xdp_step step, enum xdp_mode mode, int why);
int xdp_advice(const struct port *port, char *text, size_t size);

/* xdp_program.c, under the lock of port_open() */
struct xdp_program *xdp_program_get(const struct interface *interface, unsigned attach);
int xdp_program_steer(const struct xdp_program *program, unsigned queue, int fd);
void xdp_program_put(struct xdp_program *program);

/* xdp_umem.c; get and put under the lock of port_open() */
struct xdp_umem *xdp_umem_get(unsigned ports, unsigned chunk_bytes, unsigned nchunks);
void xdp_umem_join(struct xdp_port *port);
void xdp_umem_put(struct xdp_port *port);
void xdp_refill(struct xdp_port *port);

/* Where a descriptor's address lies, and back. */
static inline struct xdp_chunk *xdp_chunk_at(const struct xdp_umem *umem, uint64_t address)
{
    return &umem->chunks[address / umem->chunk_bytes];
}

static inline uint64_t xdp_address(const struct xdp_umem *umem, const tenon_u8 *byte)
{
    return (uint64_t)(byte - umem->bytes);
}

static inline void xdp_ring_publish(const struct xdp_ring *ring, tenon_u32 *index)
{
    __atomic_store_n(index, ring->ours, __ATOMIC_RELEASE);
}

/* How many entries we may write. The kernel's index is looked at only if there seem to be fewer than `want`. */
static inline tenon_u32 xdp_ring_room(struct xdp_ring *ring, tenon_u32 want)
{
    if (ring->mask + 1 - (ring->ours - ring->theirs) < want)
        ring->theirs = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
    return ring->mask + 1 - (ring->ours - ring->theirs);
}

/* How many entries we may read. */
static inline tenon_u32 xdp_ring_ready(const struct xdp_ring *ring)
{
    return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - ring->ours;
}

static inline int xdp_ring_sleeps(const struct xdp_ring *ring)
{
    return (__atomic_load_n(ring->flags, __ATOMIC_RELAXED) & XDP_RING_NEED_WAKEUP) != 0;
}

#endif
