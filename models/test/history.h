/* SPDX-License-Identifier: MIT */
/* A history of the test application and its peer, and the judgement of it. */
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
    int poll;
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

#define CHECK_GOOD(call) CHECK_EQ_S((call), NULL)

#endif
