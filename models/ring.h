/* SPDX-License-Identifier: MIT */
/** @file
 *  A ring between two threads: one writes, one reads, nobody waits and nobody locks.
 *
 *  What is exchanged are slots of one cache line. The writer fills as many as it likes and publishes them
 *  together, by one store; the reader takes all that it finds and gives the slots back together, by one
 *  store. Each side remembers what it last saw of the other's position and looks again only when that is not
 *  enough: the line of the other is touched once per batch.
 *
 *      writer:  while (there is something && model_ring_room(ring, 1))
 *                   fill(model_ring_next(ring));
 *               model_ring_publish(ring);
 *      reader:  for (n = model_ring_waiting(ring); n > 0; n--)
 *                   use(model_ring_take(ring));
 *               model_ring_done(ring);
 */
#ifndef TENON_MODELS_RING_H
#define TENON_MODELS_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_SLOT_BYTES = 64 };

struct model_slot {
    alignas(MODEL_SLOT_BYTES) unsigned char bytes[MODEL_SLOT_BYTES];
};

/** Positions count slots modulo 2^32. */
struct model_ring {
    struct model_slot *slots;
    uint32_t mask;
    int sleepers; /**< 1: one of the sides may sleep, see model_ring_open() */

    alignas(MODEL_SLOT_BYTES) atomic_uint published; /* the writer's */
    uint32_t head;         /* filled, published or not */
    uint32_t seen_given;   /* what the writer last saw of `given` */

    alignas(MODEL_SLOT_BYTES) atomic_uint given; /* the reader's: slots that may be filled again */
    uint32_t tail;           /* taken, given back or not */
    uint32_t seen_published; /* what the reader last saw of `published` */
};

/** @param slots     a power of two, 2 to 2^30
 *  @param sleepers  1: model_ring_publish() and model_ring_done() are ordered before whatever their thread looks at
 *                   next, as struct model_bell needs it. 0: they are not, which costs less
 *  @return 0; -1: no memory */
int model_ring_open(struct model_ring *ring, uint32_t slots, int sleepers);
void model_ring_close(struct model_ring *ring);

/* ---- the writer's --------------------------------------------------------------------------------- */

/** Is there room for n slots more? n at most the number of slots. */
static inline int model_ring_room(struct model_ring *ring, uint32_t n)
{
    if (ring->mask + 1 - (ring->head - ring->seen_given) >= n)
        return 1;
    ring->seen_given = atomic_load_explicit(&ring->given, memory_order_acquire);
    return ring->mask + 1 - (ring->head - ring->seen_given) >= n;
}

/** The next slot to be filled. There is room. */
static inline void *model_ring_next(struct model_ring *ring)
{
    return ring->slots[ring->head++ & ring->mask].bytes;
}

/** Slots that are filled and not published. */
static inline uint32_t model_ring_unpublished(struct model_ring *ring)
{
    return ring->head - atomic_load_explicit(&ring->published, memory_order_relaxed);
}

/** The reader may see what was filled. @return how many slots that were */
static inline uint32_t model_ring_publish(struct model_ring *ring)
{
    const uint32_t n = model_ring_unpublished(ring);

    if (n == 0)
        return 0;
    if (ring->sleepers)
        atomic_store_explicit(&ring->published, ring->head, memory_order_seq_cst);
    else
        atomic_store_explicit(&ring->published, ring->head, memory_order_release);
    return n;
}

/** model_ring_room() for who is about to sleep. */
static inline int model_ring_room_now(const struct model_ring *ring, uint32_t n)
{
    return ring->mask + 1 - (ring->head - atomic_load_explicit(&ring->given, memory_order_seq_cst)) >= n;
}

/** Is there something published that has not been given back? For the writer. */
static inline int model_ring_untaken_now(const struct model_ring *ring)
{
    return ring->head != atomic_load_explicit(&ring->given, memory_order_seq_cst);
}

/* ---- the reader's --------------------------------------------------------------------------------- */

/** How many slots can be taken. */
static inline uint32_t model_ring_waiting(struct model_ring *ring)
{
    if (ring->seen_published == ring->tail)
        ring->seen_published = atomic_load_explicit(&ring->published, memory_order_acquire);
    return ring->seen_published - ring->tail;
}

/** The next one. There is one. */
static inline void *model_ring_take(struct model_ring *ring)
{
    return ring->slots[ring->tail++ & ring->mask].bytes;
}

/** Give back what was taken. @return how many slots that were */
static inline uint32_t model_ring_done(struct model_ring *ring)
{
    const uint32_t n = ring->tail - atomic_load_explicit(&ring->given, memory_order_relaxed);

    if (n == 0)
        return 0;
    if (ring->sleepers)
        atomic_store_explicit(&ring->given, ring->tail, memory_order_seq_cst);
    else
        atomic_store_explicit(&ring->given, ring->tail, memory_order_release);
    return n;
}

/** model_ring_waiting() for who is about to sleep. */
static inline int model_ring_waiting_now(const struct model_ring *ring)
{
    return atomic_load_explicit(&ring->published, memory_order_seq_cst) != ring->tail;
}

#endif
