/* SPDX-License-Identifier: MIT */
/* A stack that threads push onto and one takes away whole. The first mail in an empty box wakes its owner. He
 * empties the descriptor before the box: a mail that comes in between wakes him once for nothing, and none is
 * overlooked. Who looks into the box without having been woken may find a mail whose poster is about to wake him: then
 * the descriptor has to be emptied once more, or it would be readable for ever. */
#include "mailbox.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int model_mailbox_open(struct model_mailbox *box)
{
    atomic_init(&box->last, NULL);
    box->late = 0;
    box->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return box->fd >= 0 ? 0 : -1;
}

static unsigned open_all(struct model_mailbox *box, void *owner)
{
    struct model_mail *mail = atomic_exchange_explicit(&box->last, NULL, memory_order_acquire), *first = NULL;
    unsigned n = 0;

    box->late += mail != NULL; /* one of its posters has woken us, or will */
    while (mail != NULL) {
        struct model_mail *earlier = mail->next;

        mail->next = first;
        first = mail;
        mail = earlier;
    }
    while (first != NULL) {
        struct model_mail *next = first->next;

        first->open(first, owner);
        first = next;
        n++;
    }
    return n;
}

void model_mailbox_close(struct model_mailbox *box)
{
    if (box->fd < 0)
        return;
    (void)open_all(box, NULL);
    close(box->fd);
    box->fd = -1;
}

void model_mailbox_post(struct model_mailbox *box, struct model_mail *mail)
{
    struct model_mail *last = atomic_load_explicit(&box->last, memory_order_relaxed);
    const uint64_t one = 1;

    do
        mail->next = last;
    while (!atomic_compare_exchange_weak_explicit(&box->last, &last, mail, memory_order_release,
                                                  memory_order_relaxed));
    if (last == NULL)
        (void)!write(box->fd, &one, sizeof one);
}

unsigned model_mailbox_take(struct model_mailbox *box, void *owner)
{
    uint64_t count;

    if (read(box->fd, &count, sizeof count) == (ssize_t)sizeof count)
        box->late -= (int)count;
    return open_all(box, owner);
}
