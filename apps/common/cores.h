/* SPDX-License-Identifier: MIT */
/** @file
 *  A server on several cores (--cores N): N threads with an instance each, all with the same addresses, and as many
 *  queues of one port. They share nothing but the way in which frames, questions and the end go from one to another
 *  (models/mailbox.h, models/spread.h). */
#ifndef APPS_COMMON_CORES_H
#define APPS_COMMON_CORES_H

#include <argp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "app.h"
#include "models/mailbox.h"
#include "models/spread.h"

enum { CORES_MAX = 64 };

struct cores_options {
    unsigned count;
    int by_hash; /**< --steer software */
};

/** One of the threads. */
struct core {
    struct cores *all;
    unsigned number; /**< 0: the first, which has the signals, and says what is said once */
    struct model_mailbox box; /**< its owner is the thread's struct app */
    struct model_mail stop;
    atomic_int stop_posted;
    atomic_int entered; /**< it opens its mail */
    pthread_t thread; /**< of those but the first, once it runs */
    int runs, code;
};

struct cores {
    unsigned count;
    int (*run)(struct core *core, void *arg);
    void *arg;
    struct model_spread *spread; /**< NULL: there is one core */
    cpu_set_t processors; /**< that the program may use */
    atomic_int stopping, code; /**< the status of the first that has ended, if it is not core 0 */
    pthread_mutex_t lock;
    struct app_totals ended; /**< of cores that have ended */
    struct core core[CORES_MAX];
};

/** The child of a subcommand's options; its input is a struct cores_options, which begins as one core. */
extern const struct argp cores_argp;
#define CORES_CHILD \
    { \
        &cores_argp, 0, "Cores:", 5 \
    }

/** Call run(core, arg) in a thread for each core, on a processor of its own if there are as many: in this thread for
 *  core 0, and for each of the others when the one before has come as far as app_run(). It shall open an app with that
 *  core, run it, and close it.
 *  @return the status of the first that has ended by itself; if that is 0, of one that has failed as it ended */
int cores_run(const struct cores_options *options, int (*run)(struct core *core, void *arg), void *arg);

/* ---- for app.c; a core may be NULL, which is a program without threads --------------------------------- */

static inline unsigned cores_count(const struct core *core)
{
    return core != NULL ? core->all->count : 1;
}

static inline unsigned core_number(const struct core *core)
{
    return core != NULL ? core->number : 0;
}

/** Its app is complete: mail is opened, frames for others are handed to them. @return 0 or -1 */
int core_enter(struct core *core, struct app *app);

/** It runs: start the next. */
void core_started(struct core *core);

/** It ends: its counters are added to those of cores that have ended. Core 0 ends the others before, and has their
 *  counters in the end.
 *  @param app  of which app_count() has been called, and whose instance is still there */
void core_leave(struct core *core, struct app *app);

#endif
