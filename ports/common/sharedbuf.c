/* SPDX-License-Identifier: MIT */
#include "sharedbuf.h"

#include <stdatomic.h>
#include <stdlib.h>

struct sharedbuf {
    atomic_uint refs;    /* views, and those who took one */
    tenon_u8 *bytes;
    tenon_u32 n;
    void (*release)(void *arg, tenon_u8 *bytes);
    void *arg;
};

struct view {
    struct tenon_buf buf;
    struct sharedbuf *shared;
};

struct sharedbuf *sharedbuf_new(tenon_u8 *bytes, tenon_u32 n, void (*release)(void *arg, tenon_u8 *bytes), void *arg)
{
    struct sharedbuf *shared = malloc(sizeof *shared);

    if (shared == NULL)
        return NULL;
    atomic_init(&shared->refs, 1);
    shared->bytes = bytes;
    shared->n = n;
    shared->release = release;
    shared->arg = arg;
    return shared;
}

void sharedbuf_ref(struct sharedbuf *shared)
{
    atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
}

/* What a thread has read of the bytes comes before it lets go, and the last one sees that all have: release and
 * acquire. */
void sharedbuf_put(struct sharedbuf *shared)
{
    if (atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) > 1)
        return;
    shared->release(shared->arg, shared->bytes);
    free(shared);
}

static void view_release(struct tenon_buf *buf)
{
    struct view *view = TENON_CONTAINER(buf, struct view, buf);
    struct sharedbuf *shared = view->shared;

    free(view);
    sharedbuf_put(shared);
}

struct tenon_buf *sharedbuf_view(struct sharedbuf *shared)
{
    struct view *view = malloc(sizeof *view);

    if (view == NULL)
        return NULL;
    view->buf.data = shared->bytes;
    view->buf.size = shared->n;
    view->buf.refs = 1;
    view->buf.release = view_release;
    view->shared = shared;
    sharedbuf_ref(shared);
    return &view->buf;
}
