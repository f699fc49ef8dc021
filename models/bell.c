/* SPDX-License-Identifier: MIT */
#include "bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int model_bell_open(struct model_bell *bell, int with_fd)
{
    atomic_init(&bell->sleep, MODEL_AWAKE);
    atomic_init(&bell->woken, 0);
    bell->box = -1;
    bell->fd = with_fd ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
    return with_fd && bell->fd < 0 ? -1 : 0;
}

void model_bell_close(struct model_bell *bell)
{
    if (bell->fd >= 0)
        close(bell->fd);
    bell->fd = -1;
}

static struct timespec timespec_of(uint32_t us)
{
    const struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };

    return time;
}

/* The kernel looks once more whether `sleep` still has the value that the last look was made with. */
static void futex_wait(struct model_bell *bell, uint32_t wait_us)
{
    const unsigned sleep = atomic_load_explicit(&bell->sleep, memory_order_relaxed);
    const struct timespec limit = timespec_of(wait_us);

    if (sleep != MODEL_AWAKE)
        (void)syscall(SYS_futex, &bell->sleep, FUTEX_WAIT_PRIVATE, sleep, &limit, NULL, 0);
}

int model_bell_read(struct model_bell *bell)
{
    uint64_t count;

    return read(bell->fd, &count, sizeof count) == (ssize_t)sizeof count;
}

void model_bell_wait(struct model_bell *bell, int fd, short events, uint32_t wait_us)
{
    struct pollfd ready[] = { { bell->fd, POLLIN, 0 }, { fd, events, 0 }, { bell->box, POLLIN, 0 } };
    const struct timespec limit = timespec_of(wait_us);

    if (bell->fd < 0)
        futex_wait(bell, wait_us);
    else if (ppoll(ready, events != 0 ? 3 : 1, &limit, NULL) > 0 && ready[0].revents != 0)
        (void)model_bell_read(bell);
    model_bell_cancel(bell);
}

void model_bell_wake(struct model_bell *bell)
{
    const uint64_t one = 1;
    const int before = errno;

    atomic_fetch_add_explicit(&bell->woken, 1, memory_order_relaxed);
    if (bell->fd >= 0)
        (void)!write(bell->fd, &one, sizeof one);
    else
        (void)syscall(SYS_futex, &bell->sleep, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    errno = before;
}
