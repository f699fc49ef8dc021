/* SPDX-License-Identifier: MIT */
/* A history of the test application and its peer, and the judgement of it; and servers on which nothing happens. */
#ifndef TENON_MODELS_TEST_HISTORY_H
#define TENON_MODELS_TEST_HISTORY_H

#include "../../tests/unit/unit.h"
#include "app.h"

struct history {
    const char *name;
    enum model_kind kind;
    unsigned slots;
    int slow;
    struct world_conf world;
    unsigned clients, leave_permille;
    int poll, own_loop;
    unsigned spin_us;
};

/* For those that are stepped. */
extern tenon_u32 virtual_us;
tenon_u32 virtual_now(void);

struct model *history_begin(struct world *world, struct app *app, const struct history *history, int stepped);

/* Ends it. Whatever was not left in the middle is complete.
 * @return NULL, or what is wrong */
const char *history_judge(struct world *world, struct app *app, struct model *model, const struct history *history);

/* What no history may leave behind. @return NULL, or what is wrong */
const char *history_rest(struct world *world, const struct app *app);

/* Those with threads, in real time. */
enum { THREADED = 8, THREADED_DATAGRAMS = 400 };
extern const struct history threaded[THREADED];

/* One of them from its beginning to its judgement, in this loop, which has to return 0. */
void history_run(const struct history *history, unsigned long seed, int (*loop)(struct model *model));

/* A server with open connections on which nothing happens, on a port that is ready every tick_us; 0: that has no
 * descriptor. */
struct idle {
    struct world world;
    struct app app;
};

void idle_begin(struct idle *idle, struct model_conf *conf, unsigned tick_us);
void idle_end(struct idle *idle);
tenon_u32 idle_turn(void *app, tenon_u32 now_us);    /* for model_conf.turn: stops when app.done_at has come */
uint64_t idle_cpu_us(void);      /* of this process */

/* A thread that takes the interface away, and ends who does not find out; who does cancels it. */
void *idle_take_away(void *idle);

#define CHECK_GOOD(call) CHECK_EQ_S((call), NULL)

#endif
