/* SPDX-License-Identifier: MIT */
/* A bounded pool of packet buffers: chunks from malloc(), a free list through them. The list is last
 * in, first out, so that the buffer handed out is the one most likely still in the cache. */
#include "bufpool.h"

#include <stdlib.h>

enum {
    CHUNK_BYTES = 256 * 1024, /* about what one malloc() brings */
    ALIGN = 64 /* data begins on a cache line */
};

/* One buffer; its bytes follow at BUF_HEAD. */
struct bufpool_buf {
    struct tenon_buf buf;
    struct bufpool *pool;
    struct bufpool_buf *next;
    int sends; /* it came from port_bufpool_get_many() */
};

struct bufpool_chunk {
    struct bufpool_chunk *next;
};

static size_t round_up(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void buf_release(struct tenon_buf *buf)
{
    struct bufpool_buf *b = TENON_CONTAINER(buf, struct bufpool_buf, buf);

    b->next = b->pool->free;
    b->pool->free = b;
    b->pool->in_use--;
    b->pool->sending -= b->sends != 0;
    b->sends = 0;
}

void port_bufpool_init(struct bufpool *pool, tenon_u32 buf_bytes, size_t bytes_max)
{
    size_t each = round_up(sizeof(struct bufpool_buf)) + round_up(buf_bytes);
    size_t per_chunk = CHUNK_BYTES / each;

    *pool = (struct bufpool){ .buf_bytes = buf_bytes };
    pool->chunk_bufs = per_chunk > 0 ? (unsigned)per_chunk : 1;
    pool->bufs_max = (unsigned)(bytes_max / each);
    if (pool->bufs_max < pool->chunk_bufs)
        pool->bufs_max = pool->chunk_bufs;
    pool->sending_max = pool->bufs_max - pool->bufs_max / 4;
}

void port_bufpool_fini(struct bufpool *pool)
{
    while (pool->chunks != NULL) {
        struct bufpool_chunk *chunk = pool->chunks;

        pool->chunks = chunk->next;
        free(chunk);
    }
    pool->free = NULL;
    pool->bufs = 0;
}

static void grow(struct bufpool *pool)
{
    size_t head = round_up(sizeof(struct bufpool_buf));
    size_t each = head + round_up(pool->buf_bytes);
    unsigned left = pool->bufs_max - pool->bufs;
    unsigned n = left < pool->chunk_bufs ? left : pool->chunk_bufs;
    struct bufpool_chunk *chunk;
    tenon_u8 *at;

    if (n == 0)
        return;
    chunk = aligned_alloc(ALIGN, round_up(sizeof *chunk) + n * each);
    if (chunk == NULL)
        return;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    at = (tenon_u8 *)chunk + round_up(sizeof *chunk);
    for (unsigned i = 0; i < n; i++, at += each) {
        struct bufpool_buf *b = (struct bufpool_buf *)(void *)at;

        b->buf.data = at + head;
        b->buf.size = pool->buf_bytes;
        b->buf.refs = 0;
        b->buf.release = buf_release;
        b->pool = pool;
        b->sends = 0;
        b->next = pool->free;
        pool->free = b;
    }
    pool->bufs += n;
}

struct tenon_buf *port_bufpool_get(struct bufpool *pool)
{
    struct bufpool_buf *b;

    if (pool->free == NULL)
        grow(pool);
    b = pool->free;
    if (b == NULL) {
        pool->failures++;
        return NULL;
    }
    pool->free = b->next;
    if (++pool->in_use > pool->in_use_peak)
        pool->in_use_peak = pool->in_use;
    b->buf.refs = 1;
    return &b->buf;
}

unsigned port_bufpool_get_many(struct bufpool *pool, struct tenon_buf **bufs, unsigned n)
{
    const unsigned may = pool->sending_max - pool->sending, most = n < may ? n : may;
    unsigned got = 0;

    while (got < most && (bufs[got] = port_bufpool_get(pool)) != NULL)
        TENON_CONTAINER(bufs[got++], struct bufpool_buf, buf)->sends = 1;
    pool->sending += got;
    pool->failures += most < n;
    return got;
}
