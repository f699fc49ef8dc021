/* SPDX-License-Identifier: MIT */
/* An event loop over ppoll(). A program of this folder has a handful of descriptors (the TAP queue,
 * stdin, stdout, the snapshot socket), however many connections it serves: those live in the stack. */
#include "loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static void signal_ready(void *arg, short revents)
{
    struct loop *loop = arg;
    struct signalfd_siginfo info;

    (void)revents;
    if (read(loop->signal_fd, &info, sizeof info) == (ssize_t)sizeof info)
        loop->signalled(loop->signalled_arg, (int)info.ssi_signo);
}

/* The signals that end a program. One that is blocked is never ignored: a program that shall outlive its
 * terminal (nohup) must not block that. */
static void ending(sigset_t *signals)
{
    struct sigaction hangup;

    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    if (sigaction(SIGHUP, NULL, &hangup) != 0 || hangup.sa_handler != SIG_IGN)
        sigaddset(signals, SIGHUP);
}

int loop_open(struct loop *loop, void (*signalled)(void *arg, int signal), void *arg)
{
    sigset_t signals;

    memset(loop, 0, sizeof *loop);
    loop->signalled = signalled;
    loop->signalled_arg = arg;
    if (signalled == NULL)
        return 0;
    signal(SIGPIPE, SIG_IGN);
    ending(&signals);
    if (sigprocmask(SIG_BLOCK, &signals, NULL) != 0)
        return -1;
    loop->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (loop->signal_fd < 0)
        return -1;
    return loop_add(loop, loop->signal_fd, POLLIN, signal_ready, loop);
}

void loop_close(struct loop *loop)
{
    sigset_t signals;

    if (loop->signal_fd <= 0)
        return;
    close(loop->signal_fd);
    loop->signal_fd = 0;
    ending(&signals);
    sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

int loop_add(struct loop *loop, int fd, short events, loop_ready *ready, void *arg)
{
    unsigned i = loop->nfds;

    if (i == LOOP_FDS_MAX)
        return -1;
    loop->fds[i].fd = fd;
    loop->fds[i].events = events;
    loop->fds[i].revents = 0;
    loop->owners[i].ready = ready;
    loop->owners[i].arg = arg;
    loop->nfds++;
    return 0;
}

static int find(const struct loop *loop, int fd)
{
    unsigned i;

    for (i = 0; i < loop->nfds; i++) {
        if (loop->fds[i].fd == fd || loop->fds[i].fd == ~fd)
            return (int)i;
    }
    return -1;
}

/* poll() reports POLLHUP and POLLERR even for events = 0; a negative number makes it look away. */
void loop_want(struct loop *loop, int fd, short events)
{
    int i = find(loop, fd);

    if (i < 0)
        return;
    loop->fds[i].fd = events != 0 ? fd : ~fd;
    loop->fds[i].events = events;
}

void loop_remove(struct loop *loop, int fd)
{
    int i = find(loop, fd);

    if (i < 0)
        return;
    loop->nfds--;
    loop->fds[i] = loop->fds[loop->nfds];
    loop->owners[i] = loop->owners[loop->nfds];
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
    struct loop_timer **at;

    if (!timer->set)
        return;
    for (at = &loop->timers; *at != timer; at = &(*at)->next)
        ;
    *at = timer->next;
    timer->set = 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, uint64_t after_us)
{
    struct loop_timer **at = &loop->timers;

    loop_timer_stop(loop, timer);
    timer->at_us = clock_us() + after_us;
    while (*at != NULL && (*at)->at_us <= timer->at_us)
        at = &(*at)->next;
    timer->next = *at;
    *at = timer;
    timer->set = 1;
}

static void run_timers(struct loop *loop)
{
    uint64_t now = clock_us();

    while (loop->timers != NULL && loop->timers->at_us <= now) {
        struct loop_timer *timer = loop->timers;

        loop_timer_stop(loop, timer);
        timer->due(timer->arg);
    }
}

/* From the last to the first: a handler may remove its own descriptor (the last one takes its place)
 * and may add some. */
static void run_ready(struct loop *loop)
{
    unsigned i;

    for (i = loop->nfds; i-- > 0;) {
        short revents = i < loop->nfds ? loop->fds[i].revents : 0;

        if (revents == 0)
            continue;
        loop->fds[i].revents = 0;
        loop->owners[i].ready(loop->owners[i].arg, revents);
    }
}

void loop_wait(struct loop *loop, uint64_t limit_us)
{
    struct timespec limit;
    uint64_t now;

    if (loop->timers != NULL) {
        now = clock_us();
        if (loop->timers->at_us <= now)
            limit_us = 0;
        else if (loop->timers->at_us - now < limit_us)
            limit_us = loop->timers->at_us - now;
    }
    limit.tv_sec = (time_t)(limit_us / 1000000);
    limit.tv_nsec = (long)(limit_us % 1000000) * 1000;
    if (ppoll(loop->fds, loop->nfds, &limit, NULL) > 0)
        run_ready(loop);
    run_timers(loop);
}
