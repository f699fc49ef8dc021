/* SPDX-License-Identifier: MIT */
/** @file
 *  How much a connection has carried. The pointer that a program of this folder hands to the stack as
 *  `app`, for listeners and connections alike, points to a struct that begins with a struct flow: so the
 *  snapshot (snapshot.h) can tell the bytes of any connection. */
#ifndef APPS_COMMON_FLOW_H
#define APPS_COMMON_FLOW_H

#include <stdint.h>

#include <tenon/buf.h>

struct flow {
    uint64_t rx_bytes;    /**< received */
    uint64_t tx_bytes;    /**< acknowledged by the peer */
    uint64_t last_us;     /**< when either moved */
};

/** The time of the present turn of this thread's loop (app.c sets it), so that counting costs no system call. */
extern _Thread_local uint64_t flow_now_us;

static inline void flow_received(struct flow *flow, uint64_t bytes)
{
    flow->rx_bytes += bytes;
    flow->last_us = flow_now_us;
}

static inline void flow_acked(struct flow *flow, uint64_t bytes)
{
    flow->tx_bytes += bytes;
    flow->last_us = flow_now_us;
}

/** Bytes of all spans together. */
static inline uint32_t spans_bytes(const struct tenon_span *spans, unsigned n)
{
    uint32_t bytes = 0;
    unsigned i;

    for (i = 0; i < n; i++)
        bytes += spans[i].len;
    return bytes;
}

#endif
