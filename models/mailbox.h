/* SPDX-License-Identifier: MIT */
/** @file
 *  Work for another thread, from any number of others: for what happens now and then. (For what happens all
 *  the time there is the ring.)
 *
 *  A mail is any struct that begins with a struct model_mail. Who posts it gives it away; in the thread of
 *  the box it is opened, in the order in which each thread has posted, and belongs to what opens it. */
#ifndef TENON_MODELS_MAILBOX_H
#define TENON_MODELS_MAILBOX_H

#include <stdatomic.h>
#include <stddef.h>

/** The first member of a mail. The box has it from model_mailbox_post() until open() is called. */
struct model_mail {
    struct model_mail *next;

    /** What is to be done.
     *  @param owner  as given to model_mailbox_take(); NULL: nobody takes mail any more, free it */
    void (*open)(struct model_mail *mail, void *owner);
};

/** What any thread can give a thread to do, while that one sleeps on a descriptor. */
struct model_mailbox {
    struct model_mail *_Atomic last; /**< the latest first */
    int fd; /**< for poll(): readable when there is mail */
    int late; /**< the owner's: mail that he had found before its poster made `fd` readable, which he will do yet */
};

/** @return 0, or -1 with errno */
int model_mailbox_open(struct model_mailbox *box);

/** What is left in it is opened for nobody. All threads that could post must have ended. */
void model_mailbox_close(struct model_mailbox *box);

/** Post a mail. From any thread; a system call only if the box was empty. */
void model_mailbox_post(struct model_mailbox *box, struct model_mail *mail);

/** Would model_mailbox_take() find anything? For an owner who looks often, without a system call. */
static inline int model_mailbox_waiting(struct model_mailbox *box)
{
    return box->late != 0 || atomic_load_explicit(&box->last, memory_order_relaxed) != NULL;
}

/** Open all that is there.
 *  @param owner  for model_mail.open(); not NULL
 *  @return how many */
unsigned model_mailbox_take(struct model_mailbox *box, void *owner);

#endif
