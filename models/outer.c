/* SPDX-License-Identifier: MIT */
/* A loop of the application's own, with other things in it: what it waits for, and what it calls before. The bell is
 * rung for it as for a thread that sleeps in model_bell_wait(), with the same order of looks on both sides. */
#include "internal.h"

#include "../ports/common/port.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { TURNS = 32 };

_Static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT, "both have the same words");

static int watch(const struct model *model, int operation, int fd, short events)
{
    struct epoll_event event = { .events = (uint32_t)events };

    return epoll_ctl(model->outer.fd, operation, fd, &event);
}

/* In MODEL_UNIFIED the loop waits for the port as well, and for what comes to it from other queues. */
int model_outer_open(struct model *model)
{
    const int port = model->direct ? port_fd(model->conf.port) : -1, box = model->app_bell.box;
    struct outer *outer = &model->outer;

    if (!model->conf.own_loop)
        return 0;
    outer->own = port >= 0 || box >= 0;
    outer->fd = outer->own ? epoll_create1(EPOLL_CLOEXEC) : model->app_bell.fd;
    if (!outer->own)
        return 0;
    outer->events = POLLIN;
    if (outer->fd < 0 || watch(model, EPOLL_CTL_ADD, model->app_bell.fd, POLLIN) != 0)
        return -1;
    if (box >= 0 && watch(model, EPOLL_CTL_ADD, box, POLLIN) != 0)
        return -1;
    return port >= 0 ? watch(model, EPOLL_CTL_ADD, port, outer->events) : 0;
}

void model_outer_close(struct model *model)
{
    if (model->outer.own && model->outer.fd >= 0)
        close(model->outer.fd);
    model->outer.fd = -1;
}

int model_fd(const struct model *model)
{
    return model->outer.fd;
}

/* The loop has waited. Who rings says so first, and writes then, perhaps only after this has looked in vain: it looks
 * again the next time. */
static void wake(struct model *model)
{
    struct outer *outer = &model->outer;

    outer->unread |= outer->resting && atomic_load(&model->app_bell.sleep) == MODEL_AWAKE;
    outer->resting = 0;
    model_bell_cancel(&model->app_bell);
    if (outer->unread && model_bell_read(&model->app_bell))
        outer->unread = 0;
}

static void rest_on(struct model *model, const struct rest *rest)
{
    struct outer *outer = &model->outer;

    outer->resting = 1;
    model->app.stats.app_slept++;
    if (rest->fd < 0 || rest->events == outer->events)
        return;
    if (watch(model, EPOLL_CTL_MOD, rest->fd, rest->events) == 0)
        outer->events = rest->events;
}

int model_rest(struct model *model, tenon_u32 *wait_us)
{
    struct rest rest;
    unsigned turns;
    int work = 1;

    *wait_us = 0;
    wake(model);
    for (turns = 0; turns < TURNS && work; turns++) {
        if (atomic_exchange(&model->stop, 0))
            return 1;
        work = model_step(model);
    }
    if (atomic_load(&model->gone))
        return -1;
    if (work || (model->direct && model->conf.poll) || !model_prepare(model, &rest))
        return 0;
    *wait_us = rest.wait_us;
    rest_on(model, &rest);
    return 0;
}
