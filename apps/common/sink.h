/* SPDX-License-Identifier: MIT */
/** @file
 *  Received bytes on their way to a file descriptor, without a copy and without blocking: what a slow
 *  reader does not take is kept as spans, and the owner tells the stack of consumed bytes only when
 *  they were taken. So a slow reader closes the peer's window. */
#ifndef APPS_COMMON_SINK_H
#define APPS_COMMON_SINK_H

#include <stdint.h>

#include <tenon/buf.h>

#include "loop.h"

struct sink {
    struct loop *loop;
    int fd;
    int owned;                       /**< fd was opened here */
    int kind;
    struct tenon_span *queue;        /**< a ring */
    size_t head, count, cap;
    uint64_t written;
    int error;                       /**< errno of the write that failed; 0: none. Nothing is written after it */
    /** `bytes` were taken. Called also for those that are thrown away after an error. */
    void (*took)(void *arg, uint32_t bytes);
    void *arg;
};

/** @param fd  a file, pipe, terminal or socket; stays the caller's */
void sink_open(struct sink *sink, struct loop *loop, int fd, void (*took)(void *arg, uint32_t bytes), void *arg);

/** Write the spans, or keep references to them and write them when it is possible. */
void sink_push(struct sink *sink, const struct tenon_span *spans, unsigned n);

static inline int sink_empty(const struct sink *sink)
{
    return sink->count == 0;
}

void sink_close(struct sink *sink);

#endif
