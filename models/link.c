/* SPDX-License-Identifier: MIT */
/* Messages between the applications of several models. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { LINK_SLOTS = 1024 };

struct message {
    void (*fn)(struct model *to, const void *message);
    unsigned char bytes[MODEL_MESSAGE_MAX];
};

_Static_assert(sizeof(struct message) <= MODEL_SLOT_BYTES, "a message fits into a slot");

struct model_link *model_link_open(struct model *from, struct model *to, unsigned slots)
{
    struct model_link *link;

    if (from->app.nout == LINKS_MAX || to->app.nin == LINKS_MAX || (slots & (slots - 1)) != 0)
        return NULL;
    link = aligned_alloc(alignof(struct model_link), sizeof *link);
    if (link == NULL)
        return NULL;
    if (model_ring_open(&link->ring, slots > 0 ? slots : LINK_SLOTS, 1) != 0) {
        free(link);
        return NULL;
    }
    link->from = from;
    link->to = to;
    from->app.out[from->app.nout++] = link;
    to->app.in[to->app.nin++] = link;
    return link;
}

static void forget(struct model_link **links, unsigned *n, const struct model_link *link)
{
    for (unsigned i = 0; i < *n; i++)
        if (links[i] == link) {
            links[i] = links[--*n];
            return;
        }
}

void model_link_close(struct model_link *link)
{
    forget(link->from->app.out, &link->from->app.nout, link);
    forget(link->to->app.in, &link->to->app.nin, link);
    model_ring_close(&link->ring);
    free(link);
}

int model_hand(struct model_link *link, void (*fn)(struct model *to, const void *message), const void *message,
               unsigned bytes)
{
    struct message *slot;

    if (bytes > MODEL_MESSAGE_MAX)
        return TENON_EINVAL;
    if (!model_ring_room(&link->ring, 1))
        return TENON_EAGAIN;
    slot = model_ring_next(&link->ring);
    slot->fn = fn;
    if (bytes > 0)
        memcpy(slot->bytes, message, bytes);
    return TENON_OK;
}

void model_link_publish(struct model *model)
{
    for (unsigned i = 0; i < model->app.nout; i++) {
        struct model_link *link = model->app.out[i];

        if (model_ring_publish(&link->ring) > 0)
            model_bell_ring(&link->to->app_bell, 1);
    }
}

int model_link_inbox(struct model *model)
{
    int work = 0;

    for (unsigned i = 0; i < model->app.nin; i++) {
        struct model_ring *ring = &model->app.in[i]->ring;

        for (unsigned n = model_ring_waiting(ring); n > 0; n--) {
            const struct message *message = model_ring_take(ring);

            message->fn(model, message->bytes);
            model->app.stats.handed++;
            work = 1;
        }
        (void)model_ring_done(ring);
    }
    return work;
}

int model_link_waiting(const struct model *model)
{
    for (unsigned i = 0; i < model->app.nin; i++)
        if (model_ring_waiting_now(&model->app.in[i]->ring))
            return 1;
    return 0;
}
