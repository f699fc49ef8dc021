/* SPDX-License-Identifier: MIT */
/* The application of the tests: it echoes what is sent to it, and opens connections to an echo, on any model, by the
 * same code. */
#ifndef TENON_MODELS_TEST_APP_H
#define TENON_MODELS_TEST_APP_H

#include "../model.h"
#include "world.h"

struct app_conf {
    unsigned clients;         /* connections to the peer's echo */
    tenon_u32 total_max;      /* each sends up to so many bytes */
    unsigned leave_permille;  /* of events after which a connection is aborted or closed in the middle */
    unsigned long seed;
    int slow;                 /* 1: nothing is sent in received(), but in the turn: everything is kept */
    unsigned datagrams;       /* that are sent to the peer's echo; and the peer's are echoed */
};

struct app {
    struct app_conf conf;
    struct model *model;
    struct model_listener *listener;
    struct tenon_buf *pattern;
    struct echo *echoes;      /* that are open */
    unsigned begun, opened, closed, left, clients_closed, clients_good, clients_left;
    unsigned long wrong, again, random, echoed;
    struct model_udp *answerer, *asker;
    struct kept *kept, **last_kept;        /* datagrams that are echoed in the turn */
    unsigned asked, answers, echoes_sent, not_echoed;    /* not_echoed: the ring was full */
    unsigned done_at;         /* stop when so many connections have ended */
};

void app_open(struct app *app, const struct app_conf *conf);
void app_start(struct app *app, struct model *model, struct world *world);    /* listens */
void app_leave(struct app *app);     /* before model_close(): what it keeps of datagrams is given back */
void app_end(struct app *app);
tenon_u32 app_turn_hook(void *app, tenon_u32 now_us);      /* for model_conf.turn */

#endif
