/* SPDX-License-Identifier: MIT */
/* Work handed between models: each has an instance, a port and a peer of its own, and lets the others answer what comes
 * to its connections. Meant to be run with ThreadSanitizer too. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../tests/unit/unit.h"
#include "ports/common/port.h"
#include "../model.h"
#include "world.h"

enum { PIECE = 32, MODELS = 3 };

/* ---- single rules -------------------------------------------------------------------------------------- */

static tenon_u32 virtual_us;

static tenon_u32 virtual_now(void)
{
    return virtual_us;
}

struct pair {
    struct world worlds[2];
    struct model *models[2];
    struct model_link *link;
};

static unsigned long got[1000], ngot;
static struct model *got_by;

static void take_number(struct model *to, const void *message)
{
    got_by = to;
    if (ngot < 1000)
        memcpy(&got[ngot++], message, sizeof got[0]);
}

static void open_pair(struct pair *pair, unsigned slots)
{
    const struct world_conf world_conf = { .total_max = 1 };

    for (unsigned i = 0; i < 2; i++) {
        struct model_conf conf = { .kind = i == 0 ? MODEL_UNIFIED : MODEL_SPLIT, .netif = 1, .stepped = 1,
            .now_us = virtual_now };

        world_open(&pair->worlds[i], &world_conf, virtual_now());
        conf.port = &pair->worlds[i].port;
        conf.stack = pair->worlds[i].stack;
        pair->models[i] = model_open(&conf, NULL, 0);
        if (!CHECK(pair->models[i] != NULL))
            abort();
    }
    pair->link = model_link_open(pair->models[0], pair->models[1], slots);
    ngot = 0;
}

static void close_pair(struct pair *pair)
{
    model_link_close(pair->link);
    for (unsigned i = 0; i < 2; i++) {
        model_close(pair->models[i]);
        world_close(&pair->worlds[i]);
        CHECK_EQ_I(pair->worlds[i].leaks, 0);
    }
}

UNIT_TEST(messages_come_in_order_and_with_the_next_turn)
{
    struct pair pair;
    unsigned long i;

    open_pair(&pair, 0);
    for (i = 0; i < 5; i++)
        CHECK_EQ_I(model_hand(pair.link, take_number, &i, sizeof i), TENON_OK);
    (void)model_step(pair.models[1]);
    CHECK_EQ_U(ngot, 0);    /* the one that hands has not ended its turn */
    (void)model_step(pair.models[0]);
    (void)model_step(pair.models[1]);
    CHECK_EQ_U(ngot, 5);
    CHECK(got_by == pair.models[1]);
    for (i = 0; i < 5; i++)
        CHECK_EQ_U(got[i], i);
    close_pair(&pair);
}

UNIT_TEST(full_link_refuses)
{
    struct pair pair;
    unsigned long i = 0;

    CHECK_EQ_I(model_hand(NULL, take_number, &i, MODEL_MESSAGE_MAX + 1), TENON_EINVAL);
    open_pair(&pair, 4);
    for (i = 0; i < 4; i++)
        CHECK_EQ_I(model_hand(pair.link, take_number, &i, sizeof i), TENON_OK);
    CHECK_EQ_I(model_hand(pair.link, take_number, &i, sizeof i), TENON_EAGAIN);
    (void)model_step(pair.models[0]);
    (void)model_step(pair.models[1]);
    CHECK_EQ_I(model_hand(pair.link, take_number, &i, sizeof i), TENON_OK);
    (void)model_step(pair.models[0]);
    (void)model_step(pair.models[1]);
    CHECK_EQ_U(ngot, 5);
    close_pair(&pair);
}

/* ---- several that work for each other ------------------------------------------------------------------- */

/* A piece of what came, on its way to the one that works on it and back. `tcp` is a name there, no more. */
struct work {
    struct model_link *back;
    struct model_tcp *tcp;
    unsigned char n;
    unsigned char bytes[PIECE];
};

_Static_assert(sizeof(struct work) <= MODEL_MESSAGE_MAX, "it is one message");

struct node {
    struct world world;
    struct model *model;
    struct model_link *to[MODELS];
    struct model_listener *listener;
    unsigned number, next, ended;
    unsigned long out, back, late, wrong;
    int done;
};

/* A connection. Its text goes one piece at a time, so that the answers come in order. */
struct task {
    struct node *node;
    struct model_tcp *tcp;
    unsigned char *text;
    unsigned first, n;
    int out, finished;
    struct work ready;    /* come back, and not sent completely */
};

static struct node nodes[MODELS];
static atomic_uint nodes_done;

static void task_go(struct task *task);

static void work_done(struct model *to, const void *message)
{
    const struct work *work = message;
    struct task *task = model_tcp_app(work->tcp);
    struct node *node = NULL;

    for (unsigned i = 0; i < MODELS; i++)
        if (nodes[i].model == to)
            node = &nodes[i];
    if (task == NULL) {
        node->late++;    /* the connection has ended meanwhile; its handle has not */
    } else {
        node->back++;
        node->wrong += task->node != node;
        task->ready = *work;
        task->out = 0;
        task_go(task);
    }
    model_tcp_put(work->tcp);
}

/* In the thread of another. */
static void do_work(struct model *to, const void *message)
{
    struct work work = *(const struct work *)message;

    (void)to;
    for (unsigned i = 0; i < work.n; i++)
        work.bytes[i] = (unsigned char)~work.bytes[i];
    if (model_hand(work.back, work_done, &work, sizeof work) != TENON_OK)
        abort();    /* a link has room for as many as are under way */
}

static void hand_piece(struct task *task)
{
    struct node *node = task->node;
    struct node *other = &nodes[(node->number + 1 + node->next++ % (MODELS - 1)) % MODELS];
    struct work work = { .back = other->to[node->number], .tcp = task->tcp };

    work.n = (unsigned char)(task->n - task->first < PIECE ? task->n - task->first : PIECE);
    for (unsigned i = 0; i < work.n; i++)
        work.bytes[i] = (unsigned char)~task->text[task->first + i];
    if (model_hand(node->to[other->number], do_work, &work, sizeof work) != TENON_OK)
        abort();
    task->first += work.n;
    task->out = 1;
    node->out++;
    model_tcp_ref(task->tcp);
}

static void task_go(struct task *task)
{
    struct work *ready = &task->ready;
    tenon_i32 taken;

    if (ready->n > 0) {
        taken = model_tcp_write(task->tcp, ready->bytes, ready->n);
        if (taken <= 0)
            return;
        model_tcp_consumed(task->tcp, (tenon_u32)taken);
        ready->n = (unsigned char)(ready->n - taken);
        memmove(ready->bytes, ready->bytes + taken, ready->n);
    }
    if (ready->n > 0 || task->out)
        return;
    if (task->first < task->n)
        hand_piece(task);
    else if (task->finished)
        (void)model_tcp_finish(task->tcp);
}

static void node_received(struct model_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    struct task *task = app;

    (void)tcp;
    for (unsigned i = 0; i < n; i++) {
        task->text = realloc(task->text, task->n + spans[i].len);
        if (task->text == NULL)
            abort();
        memcpy(task->text + task->n, tenon_span_data(&spans[i]), spans[i].len);
        task->n += spans[i].len;
    }
    task_go(task);
}

static void node_acked(struct model_tcp *tcp, void *app, tenon_u32 bytes)
{
    (void)tcp;
    (void)bytes;
    task_go(app);
}

static void node_finished(struct model_tcp *tcp, void *app)
{
    (void)tcp;
    ((struct task *)app)->finished = 1;
    task_go(app);
}

static void node_closed(struct model_tcp *tcp, void *app, int why)
{
    struct task *task = app;

    (void)why;
    task->node->ended++;
    model_tcp_handler(tcp, NULL, NULL);
    free(task->text);
    free(task);
}

static const struct model_tcp_events node_events = { .received = node_received, .acked = node_acked,
    .finished = node_finished, .closed = node_closed };

static void node_opened(struct model_tcp *tcp, void *app)
{
    struct task *task = calloc(1, sizeof *task);

    if (task == NULL)
        abort();
    task->node = app;
    task->tcp = tcp;
    model_tcp_handler(tcp, &node_events, task);
}

static const struct model_tcp_events node_listener_events = { .opened = node_opened };

/* Who has done with his own goes on for the others. */
static tenon_u32 node_turn(void *app, tenon_u32 now_us)
{
    struct node *node = app;

    (void)now_us;
    if (!node->done && node->ended == node->world.conf.conns) {
        node->done = 1;
        atomic_fetch_add(&nodes_done, 1);
    }
    if (atomic_load(&nodes_done) == MODELS)
        model_stop(node->model);
    return 1000;
}

static void *node_run(void *arg)
{
    struct node *node = arg;

    return model_run(node->model) == 0 ? NULL : node;
}

static void node_open(struct node *node, enum model_kind kind, const struct world_conf *world_conf)
{
    const struct tenon_addr at = { .port = WORLD_PORT };
    struct model_conf conf = { .kind = kind, .netif = 1, .turn = node_turn, .app = node, .poll = !world_conf->tick_us };

    world_open(&node->world, world_conf, port_now_us());
    conf.port = &node->world.port;
    conf.stack = node->world.stack;
    node->model = model_open(&conf, NULL, 0);
    if (!CHECK(node->model != NULL)
        || model_listen(node->model, &node->listener, &at, &node_listener_events, node, 1024) != TENON_OK)
        abort();
    atomic_store(&node->world.go, 1);
}

static void run_nodes(const enum model_kind kinds[MODELS], const struct world_conf *world_conf)
{
    unsigned long out = 0, back = 0, late = 0;
    pthread_t threads[MODELS];
    void *result;

    memset(nodes, 0, sizeof nodes);
    nodes_done = 0;
    for (unsigned i = 0; i < MODELS; i++) {
        nodes[i].number = i;
        node_open(&nodes[i], kinds[i], world_conf);
    }
    for (unsigned i = 0; i < MODELS; i++)
        for (unsigned j = 0; j < MODELS; j++)
            nodes[i].to[j] = i != j ? model_link_open(nodes[i].model, nodes[j].model, 0) : NULL;
    for (unsigned i = 0; i < MODELS; i++)
        CHECK_EQ_I(pthread_create(&threads[i], NULL, node_run, &nodes[i]), 0);
    for (unsigned i = 0; i < MODELS; i++) {
        pthread_join(threads[i], &result);
        CHECK(result == NULL);
    }
    for (unsigned i = 0; i < MODELS * MODELS; i++)
        if (nodes[i / MODELS].to[i % MODELS] != NULL)
            model_link_close(nodes[i / MODELS].to[i % MODELS]);
    for (unsigned i = 0; i < MODELS; i++) {
        struct node *node = &nodes[i];

        model_close(node->model);
        world_close(&node->world);
        CHECK_EQ_U(node->world.wrong + node->wrong, 0);
        CHECK_EQ_U(node->ended, world_conf->conns);
        CHECK_EQ_I(node->world.leaks, 0);
        out += node->out;
        back += node->back;
        late += node->late;
    }
    CHECK(out > world_conf->conns * MODELS);
    CHECK(back + late <= out);
    CHECK(world_conf->abort_percent > 0 || back == out);
}

UNIT_TEST(work_goes_to_others_and_comes_back)
{
    const struct world_conf calm = { .conns = 30, .total_max = 3000, .delay_us = 50, .seed = 1 };
    const struct world_conf rough = { .conns = 60, .total_max = 3000, .abort_percent = 50, .delay_us = 50, .seed = 2,
        .tick_us = 100 };
    const enum model_kind unified[MODELS] = { MODEL_UNIFIED, MODEL_UNIFIED, MODEL_UNIFIED };
    const enum model_kind mixed[MODELS] = { MODEL_UNIFIED, MODEL_SPLIT, MODEL_MERGE };

    run_nodes(unified, &calm);
    run_nodes(unified, &rough);
    run_nodes(mixed, &rough);
}

int main(void)
{
    UNIT_RUN(messages_come_in_order_and_with_the_next_turn);
    UNIT_RUN(full_link_refuses);
    UNIT_RUN(work_goes_to_others_and_comes_back);
    return unit_end();
}
