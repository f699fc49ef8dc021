/* SPDX-License-Identifier: MIT */
/* Spans to a file descriptor. Our stdout is shared with other programs, so it is not made non-blocking:
 * a pipe or terminal is opened a second time, a socket is written with MSG_DONTWAIT, and where neither
 * can be had we write the little that poll() promises. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "text.h"

enum sink_kind { SINK_BLOCKING, SINK_FILE, SINK_NONBLOCKING, SINK_SOCKET };
enum { SINK_SPANS_MAX = 64 };

static void sink_flush(struct sink *sink);

static void sink_ready(void *arg, short revents)
{
    (void)revents;
    sink_flush(arg);
}

void sink_open(struct sink *sink, struct loop *loop, int fd, void (*took)(void *arg, uint32_t bytes), void *arg)
{
    char path[32];
    struct stat st;
    int again;

    memset(sink, 0, sizeof *sink);
    sink->loop = loop;
    sink->fd = fd;
    sink->took = took;
    sink->arg = arg;
    if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || isatty(fd))) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        again = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        sink->kind = again >= 0 ? SINK_NONBLOCKING : SINK_BLOCKING;
        sink->owned = again >= 0;
        if (again >= 0)
            sink->fd = again;
    } else if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode)) {
        sink->kind = SINK_SOCKET;
    } else {
        sink->kind = SINK_FILE;
    }
    loop_add(loop, sink->fd, 0, sink_ready, sink);
    loop_want(loop, sink->fd, 0);
}

static void drop(struct sink *sink, size_t bytes)
{
    while (bytes > 0) {
        struct tenon_span *span = &sink->queue[sink->head];

        if (bytes < span->len) {
            span->off += (tenon_u32)bytes;
            span->len -= (tenon_u32)bytes;
            return;
        }
        bytes -= span->len;
        tenon_buf_put(span->buf);
        sink->head = (sink->head + 1) % sink->cap;
        sink->count--;
    }
}

static uint32_t queued(const struct sink *sink)
{
    uint32_t bytes = 0;
    size_t i;

    for (i = 0; i < sink->count; i++)
        bytes += sink->queue[(sink->head + i) % sink->cap].len;
    return bytes;
}

static ssize_t write_some(struct sink *sink)
{
    struct iovec iov[SINK_SPANS_MAX];
    struct msghdr msg;
    size_t i, n = sink->count < SINK_SPANS_MAX ? sink->count : SINK_SPANS_MAX;

    for (i = 0; i < n; i++) {
        const struct tenon_span *span = &sink->queue[(sink->head + i) % sink->cap];

        iov[i].iov_base = tenon_span_data(span);
        iov[i].iov_len = span->len;
    }
    if (sink->kind == SINK_SOCKET) {
        memset(&msg, 0, sizeof msg);
        msg.msg_iov = iov;
        msg.msg_iovlen = n;
        return sendmsg(sink->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (sink->kind == SINK_BLOCKING)
        return write(sink->fd, iov[0].iov_base, iov[0].iov_len < PIPE_BUF ? iov[0].iov_len : PIPE_BUF);
    return writev(sink->fd, iov, (int)n);
}

static void fail(struct sink *sink, int error)
{
    uint32_t bytes = queued(sink);

    sink->error = error;
    drop(sink, bytes);
    loop_want(sink->loop, sink->fd, 0);
    sink->took(sink->arg, bytes);
}

static void sink_flush(struct sink *sink)
{
    uint32_t taken = 0;
    ssize_t n;

    while (sink->count > 0) {
        n = write_some(sink);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            fail(sink, errno);
            break;
        }
        drop(sink, (size_t)n);
        sink->written += (uint64_t)n;
        taken += (uint32_t)n;
        if (sink->kind == SINK_BLOCKING)
            break;
    }
    loop_want(sink->loop, sink->fd, sink->count > 0 ? POLLOUT : 0);
    if (taken > 0)
        sink->took(sink->arg, taken);
}

static void grow(struct sink *sink)
{
    size_t cap = sink->cap > 0 ? sink->cap * 2 : 64, i;
    struct tenon_span *queue = must_alloc(cap * sizeof *queue);

    for (i = 0; i < sink->count; i++)
        queue[i] = sink->queue[(sink->head + i) % sink->cap];
    free(sink->queue);
    sink->queue = queue;
    sink->head = 0;
    sink->cap = cap;
}

void sink_push(struct sink *sink, const struct tenon_span *spans, unsigned n)
{
    int waiting = sink->count > 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (spans[i].len == 0)
            continue;
        if (sink->count == sink->cap)
            grow(sink);
        tenon_buf_ref(spans[i].buf);
        sink->queue[(sink->head + sink->count) % sink->cap] = spans[i];
        sink->count++;
    }
    if (sink->error != 0)
        fail(sink, sink->error);
    else if (!waiting && sink->kind == SINK_BLOCKING)
        loop_want(sink->loop, sink->fd, POLLOUT);
    else if (!waiting)
        sink_flush(sink);
}

void sink_close(struct sink *sink)
{
    if (sink->loop == NULL)
        return;
    drop(sink, queued(sink));
    loop_remove(sink->loop, sink->fd);
    if (sink->owned)
        close(sink->fd);
    free(sink->queue);
    memset(sink, 0, sizeof *sink);
}
