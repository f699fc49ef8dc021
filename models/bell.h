/* SPDX-License-Identifier: MIT */
/** @file
 *  Sleeping until the other thread has something, and waking it: without a system call when it is awake.
 *
 *  The sleeper says that it will sleep, looks once more whether there is really nothing, and sleeps. The other thread
 *  writes, then looks whether somebody sleeps. Both do so in the one order of sequentially consistent operations,
 *  so that at least one of them sees the other; that is why rings with sleepers are opened as such. */
#ifndef TENON_MODELS_BELL_H
#define TENON_MODELS_BELL_H

#include <stdatomic.h>
#include <stdint.h>

/** What a thread does at the moment. */
enum model_sleep {
    MODEL_AWAKE,
    MODEL_ASLEEP,             /**< until there is something to read */
    MODEL_ASLEEP_FOR_ROOM     /**< ... or room to write */
};

struct model_bell {
    atomic_uint sleep; /**< enum model_sleep */
    int fd; /**< an eventfd, for who waits for a port as well; -1: a futex */
    int box; /**< a descriptor that is waited for beside a port's, for reading; -1: none */
    atomic_ulong woken; /**< system calls that were made to wake */
};

/** @param with_fd  1: model_bell_wait() shall wait for a descriptor as well
 *  @return 0, or -1 with errno */
int model_bell_open(struct model_bell *bell, int with_fd);
void model_bell_close(struct model_bell *bell);

/** To be called before the last look. */
static inline void model_bell_prepare(struct model_bell *bell, enum model_sleep sleep)
{
    atomic_store_explicit(&bell->sleep, (unsigned)sleep, memory_order_seq_cst);
}

/** The last look has found something. */
static inline void model_bell_cancel(struct model_bell *bell)
{
    atomic_store_explicit(&bell->sleep, MODEL_AWAKE, memory_order_relaxed);
}

/** Sleep, after model_bell_prepare(), until somebody rings, the time is over, or the descriptor is ready; sometimes
 *  for no reason.
 *  @param fd       -1: none
 *  @param events   of poll(); 0: neither `fd` nor the box
 *  @param wait_us  at most so long */
void model_bell_wait(struct model_bell *bell, int fd, short events, uint32_t wait_us);

/** For who waits for the descriptor in another way: it is not readable any more, until somebody rings again.
 *  @return 1: somebody had rung */
int model_bell_read(struct model_bell *bell);

/** The system call. Async-signal-safe. */
void model_bell_wake(struct model_bell *bell);

/** Something was written for who has this bell (after it was published), or (only) room was made. */
static inline void model_bell_ring(struct model_bell *bell, int written)
{
    const unsigned sleep = atomic_load_explicit(&bell->sleep, memory_order_seq_cst);

    if (sleep == MODEL_AWAKE || (sleep == MODEL_ASLEEP && !written))
        return;
    if (atomic_exchange_explicit(&bell->sleep, MODEL_AWAKE, memory_order_seq_cst) != MODEL_AWAKE)
        model_bell_wake(bell);
}

#endif
