/* SPDX-License-Identifier: MIT */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

int model_ring_open(struct model_ring *ring, uint32_t slots, int sleepers)
{
    memset(ring, 0, sizeof *ring);
    atomic_init(&ring->published, 0);
    atomic_init(&ring->given, 0);
    ring->slots = aligned_alloc(MODEL_SLOT_BYTES, (size_t)slots * sizeof *ring->slots);
    if (ring->slots == NULL)
        return -1;
    memset(ring->slots, 0, (size_t)slots * sizeof *ring->slots);    /* its pages are there when they are needed */
    ring->mask = slots - 1;
    ring->sleepers = sleepers;
    return 0;
}

void model_ring_close(struct model_ring *ring)
{
    free(ring->slots);
    ring->slots = NULL;
}
