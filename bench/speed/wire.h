/* SPDX-License-Identifier: MIT */
/* The wire: per direction a ring of pointers to packets, with room for one of each connection, and packets that come
 * from a pool and go back to it. The description of a frame lies in the buffer of its headers, as in a packet of a
 * poll-mode driver. Nothing is copied and nothing is cleared. */
#ifndef TENON_BENCH_SPEED_WIRE_H
#define TENON_BENCH_SPEED_WIRE_H

#include <tenon/buf.h>

#include <stddef.h>
#include <stdint.h>

enum { SPEED_SPANS = 20, SPEED_RING = 131072 };

struct speed_pool;

struct speed_packet {
    struct tenon_buf buf;
    struct speed_packet *next;
    struct speed_pool *pool;
    struct tenon_frame frame;
    struct tenon_span spans[SPEED_SPANS];
    uint8_t bytes[];
};

/* Buffers of one size; the last one that came back is the first to go. */
struct speed_pool {
    struct speed_packet *free;
    struct speed_chunk *chunks;
    uint32_t buf_bytes;
};

struct speed_wire {
    struct speed_packet *ring[SPEED_RING];
    uint32_t head, tail;      /* written, read; modulo 2^32 */
    uint64_t passed;          /* frames that were read before head and tail began anew */
    uint8_t csum;             /* what the receiver's port says of checksums: enum tenon_csum */
    uint8_t whole;            /* speed_wire_send_cut() completes large frames only, and cuts none */
};

struct speed_packet *speed_pool_more(struct speed_pool *pool);
void speed_pool_end(struct speed_pool *pool);    /* all memory, whoever has it */

static inline struct speed_packet *speed_packet_get(struct speed_pool *pool)
{
    struct speed_packet *packet = pool->free;

    if (packet == NULL)
        return speed_pool_more(pool);
    pool->free = packet->next;
    packet->buf.refs = 1;
    return packet;
}

static inline uint32_t speed_wire_room(const struct speed_wire *wire)
{
    return SPEED_RING - (wire->head - wire->tail);
}

/* A packet, whose reference passes to the wire. There is room. */
static inline void speed_wire_put(struct speed_wire *wire, struct speed_packet *packet)
{
    wire->ring[wire->head++ % SPEED_RING] = packet;
}

/* An empty ring begins anew, so that few packets need few slots. */
static inline struct speed_packet *speed_wire_get(struct speed_wire *wire)
{
    struct speed_packet *packet = wire->ring[wire->tail++ % SPEED_RING];

    if (wire->tail == wire->head) {
        wire->passed += wire->tail;
        wire->tail = wire->head = 0;
    }
    return packet;
}

/* Frames that were written. */
static inline uint64_t speed_wire_frames(const struct speed_wire *wire)
{
    return wire->passed + wire->head;
}

static inline uint32_t speed_wire_waiting(const struct speed_wire *wire, uint32_t most)
{
    const uint32_t n = wire->head - wire->tail;

    return n < most ? n : most;
}

/* Frames as they came from the core: takes references. @return how many */
unsigned speed_wire_send(struct speed_wire *wire, const struct tenon_frame *frames, unsigned n);
/* The same, and sums are made and large frames are cut, as a NIC does it before a receiver that takes no large ones. */
unsigned speed_wire_send_cut(struct speed_wire *wire, struct speed_pool *pool, const struct tenon_frame *frames,
                             unsigned n);
/* Take frames: their packets are `packets`, to be given back by speed_wire_done(). @return how many */
unsigned speed_wire_take(struct speed_wire *wire, struct tenon_frame *frames, struct speed_packet **packets,
                         unsigned most);
void speed_wire_done(struct speed_packet **packets, unsigned n);

#endif
