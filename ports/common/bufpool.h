/* SPDX-License-Identifier: MIT */
/** @file
 *  A bounded pool of packet buffers of one size, for ports that have malloc().
 *
 *  Buffers are made in chunks as they are needed and kept for reuse; nothing is given back to the
 *  system before port_bufpool_fini(). One pool, one thread, as everything of an instance.
 *
 *  What is queued for sending stays there until the peer has acknowledged it. So that nobody is deaf meanwhile, those
 *  who send get no more than three quarters. */
#ifndef TENON_PORTS_COMMON_BUFPOOL_H
#define TENON_PORTS_COMMON_BUFPOOL_H

#include <stdint.h>

#include <tenon/buf.h>

struct bufpool_chunk;
struct bufpool_buf;

/** The fields may be read, for statistics. */
struct bufpool {
    struct bufpool_buf *free;
    struct bufpool_chunk *chunks;
    tenon_u32 buf_bytes; /**< size of each buffer */
    unsigned chunk_bufs; /**< buffers per chunk */
    unsigned bufs; /**< made so far */
    unsigned bufs_max; /**< the limit; never passed */
    unsigned in_use; /**< with an owner now */
    unsigned in_use_peak; /**< the most at any time */
    unsigned sending, sending_max; /**< of those in use: from port_bufpool_get_many() */
    uint64_t failures; /**< times there was none: the limit was reached, or malloc() failed */
};

/** Makes no buffer yet.
 *  @param buf_bytes  size of each
 *  @param bytes_max  limit of all together; at least one chunk is allowed */
void port_bufpool_init(struct bufpool *pool, tenon_u32 buf_bytes, size_t bytes_max);

/** Frees all memory. Whoever has a buffer must have given it back: end the instance first. */
void port_bufpool_fini(struct bufpool *pool);

/** To receive into. @return a buffer with refs == 1, or NULL: counted as a failure */
struct tenon_buf *port_bufpool_get(struct bufpool *pool);

/** How many there may still be, if malloc() has them. */
static inline unsigned port_bufpool_left(const struct bufpool *pool)
{
    return pool->bufs_max - pool->in_use;
}

/** To send from: for tenon_host.buf_get(). @return how many it got, 0 to n; fewer than n: counted as a failure */
unsigned port_bufpool_get_many(struct bufpool *pool, struct tenon_buf **bufs, unsigned n);

#endif
