/* SPDX-License-Identifier: MIT */
/** @file
 *  Buffers for the frames of one burst, for ports whose interface hands over up to 64 KB in one frame.
 *
 *  Most frames are small, and a buffer may be kept for long: an application that holds a segment of one byte must not
 *  pin 64 KB. So the first bytes of a frame go into a small buffer, what does not fit there into a large one. A frame
 *  of ordinary size occupies a small buffer, a super-frame both. Headers lie in the first span always.
 *
 *  Who keeps what was received leaves some of the small buffers to those who send, and one that nobody may keep: in
 *  that comes the acknowledgement which lets the others go (docs/decisions/0009-the-last-buffer-is-nobodys.md). */
#ifndef TENON_PORTS_COMMON_RXSLOTS_H
#define TENON_PORTS_COMMON_RXSLOTS_H

#include <sys/uio.h>

#include "bufpool.h"
#include "port.h"
#include "vnet.h"

enum { RXSLOTS_LARGE = 65536 };

struct rxslots {
    struct bufpool small, large;
    struct tenon_buf *first[PORT_BURST], *rest[PORT_BURST]; /**< NULL: to be filled */
    struct tenon_buf *last; /**< small, for when there is no other; NULL: it is the first frame's, or not here yet */
    unsigned for_sending; /**< small ones that are not for receiving */
    struct tenon_span spans[PORT_BURST][2];
    struct tenon_frame frames[PORT_BURST];
};

/** @param bytes_max  limit of packet memory, for each of both sizes */
void port_rxslots_init(struct rxslots *slots, unsigned mtu, size_t bytes_max);

/** Nobody may keep a buffer. */
void port_rxslots_fini(struct rxslots *slots);

/** Where frame `i` can be received into: as many pieces as there are buffers for.
 *  @param with_large  0: it is no larger than the MTU and its link header
 *  @return how many of `iov` are filled, 0 to 2 */
unsigned port_rxslots_iov(struct rxslots *slots, unsigned i, int with_large, struct iovec iov[2]);

/** Whether to receive a frame `i` in this burst. Not if there is no buffer for it: then it waits where it is, and is
 *  the first one of the next. */
int port_rxslots_has(struct rxslots *slots, unsigned i);

/** Copy frame `i`, as far as there are buffers for it. One that is larger than can be is left alone. */
void port_rxslots_copy(struct rxslots *slots, unsigned i, const tenon_u8 *bytes, size_t n);

/** Frame `i` has n bytes: make slots->frames[i] of it.
 *  @param header  the virtio-net header that came with it
 *  @return 0; -1: it is lost, because there was no buffer, or it or its header makes no sense. Counted in `stats` */
int port_rxslots_finish(struct rxslots *slots, unsigned i, size_t n, const tenon_u8 header[VNET_BYTES],
                        struct port_stats *stats);

/** Give the first n frames to the instance, by port_input(). Whoever keeps a buffer of them keeps it; the
 *  others serve again. */
void port_rxslots_input(struct rxslots *slots, struct port *port, unsigned n, struct tenon *stack, unsigned netif,
                        tenon_u32 now_us);

/** What is known of packet memory. */
void port_rxslots_stats(const struct rxslots *slots, struct port_stats *stats);

#endif
