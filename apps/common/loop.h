/* SPDX-License-Identifier: MIT */
/** @file
 *  A small event loop: file descriptors, timers, and the signals that end a program. */
#ifndef APPS_COMMON_LOOP_H
#define APPS_COMMON_LOOP_H

#include <poll.h>
#include <stdint.h>

enum { LOOP_FDS_MAX = 64 };

/** Called when `revents` (of poll()) came for a descriptor. */
typedef void loop_ready(void *arg, short revents);

/** A timer; the memory is the owner's. It may be set, set anew and stopped at any time. */
struct loop_timer {
    struct loop_timer *next;
    uint64_t at_us;
    void (*due)(void *arg);
    void *arg;
    int set;
};

struct loop {
    struct pollfd fds[LOOP_FDS_MAX];
    struct {
        loop_ready *ready;
        void *arg;
    } owners[LOOP_FDS_MAX];
    unsigned nfds;
    struct loop_timer *timers;
    void (*signalled)(void *arg, int signal);
    void *signalled_arg;
    int signal_fd;
};

/** From now on SIGINT, SIGTERM and SIGHUP (unless that is ignored) are delivered by `signalled`; SIGPIPE is ignored.
 *  @param signalled  NULL: another thread's loop has the signals
 *  @return 0, or -1 with errno */
int loop_open(struct loop *loop, void (*signalled)(void *arg, int signal), void *arg);
void loop_close(struct loop *loop);

/** Watch a descriptor. @return 0, or -1: too many */
int loop_add(struct loop *loop, int fd, short events, loop_ready *ready, void *arg);

/** What to watch it for from now on; 0: nothing, but it stays known. */
void loop_want(struct loop *loop, int fd, short events);
void loop_remove(struct loop *loop, int fd);

/** Set a timer. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t after_us);
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/** Wait until something happens, at most `limit_us` microseconds, and call whom it concerns. */
void loop_wait(struct loop *loop, uint64_t limit_us);

#endif
