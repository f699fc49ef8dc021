/* SPDX-License-Identifier: MIT */
/* The application's side of MODEL_SPLIT and MODEL_MERGE: events are handed to handlers, commands are written. */
#include "internal.h"

#include <sched.h>
#include <string.h>

enum { PUBLISH = 32, YIELD_WAITS = 32 };

/* ---- down ------------------------------------------------------------------------------------------- */

struct command *model_app_command(struct model *model, uint32_t slots)
{
    struct command *command;

    if (!model_ring_room(&model->commands, slots)) {
        model->app.stats.commands_full++;
        return NULL;
    }
    command = model_ring_next(&model->commands);
    command->flags = 0;
    command->n = 0;
    command->consumed = 0;
    model->app.open = NULL;
    model->app.stats.commands += slots;
    return command;
}

/* The stack takes commands whatever happens, so this ends. */
void model_app_wait(struct model *model)
{
    static _Thread_local unsigned waits;

    if (model->alone)
        (void)model_stack_commands(model);
    else if (model->conf.kind == MODEL_MERGE || ++waits % YIELD_WAITS == 0)
        sched_yield();
    else
        model_relax();
}

struct command *model_app_must(struct model *model)
{
    struct command *command = model_app_command(model, 1);

    while (command == NULL) {
        model_app_send(model, 0);
        model_app_wait(model);
        if (model_ring_room(&model->commands, 1))
            command = model_app_command(model, 1);
    }
    return command;
}

void model_app_send(struct model *model, int gave_back)
{
    const uint32_t n = model_ring_publish(&model->commands);

    model->app.open = NULL;
    if (n > 0)
        model->app.stats.command_batches++;
    if (n > 0 || gave_back)
        model_bell_ring(&model->stack_bell, n > 0);
}

static void dirty(struct model_tcp *tcp)
{
    struct app_side *app = &tcp->model->app;

    if (tcp->dirty)
        return;
    tcp->dirty = 1;
    tcp->next_dirty = app->dirty;
    app->dirty = tcp;
}

/* With the last command, if that is about this connection and not published yet; else at the end of the turn. */
void model_app_say(struct model_tcp *tcp, tenon_u32 consumed, unsigned flags)
{
    struct command *open = tcp->model->app.open;

    if (open != NULL && open->tcp == tcp && !tcp->dirty && (flags & FLAG_FREE) == 0) {
        open->consumed += consumed;
        open->flags |= (uint8_t)flags;
        return;
    }
    tcp->consumed += consumed;
    tcp->flags |= (uint8_t)flags;
    dirty(tcp);
}

/* @return 0: the ring is full */
static int say_dirty(struct model *model)
{
    struct app_side *app = &model->app;

    while (app->dirty != NULL) {
        struct model_tcp *tcp = app->dirty;
        struct command *command = NULL;

        if (tcp->consumed > 0 || tcp->flags != 0) {
            command = model_app_command(model, 1);
            if (command == NULL)
                return 0;
            command->tcp = tcp;
            command->kind = COMMAND_STATE;
            command->consumed = tcp->consumed;
            command->flags = tcp->flags;
        }
        app->dirty = tcp->next_dirty;
        tcp->dirty = 0;
        tcp->consumed = 0;
        tcp->flags = 0;
    }
    return 1;
}

void model_app_say_all(struct model *model)
{
    while (!say_dirty(model)) {
        model_app_send(model, 0);
        model_app_wait(model);
    }
}

/* @return 0: the ring is full */
static int say_puts(struct model *model)
{
    struct app_side *app = &model->app;

    while (app->nputs > 0) {
        const unsigned n = app->nputs < BUFS_PER_COMMAND ? app->nputs : BUFS_PER_COMMAND;
        struct command *command = model_app_command(model, 1);

        if (command == NULL)
            return 0;
        app->nputs -= n;
        command->tcp = NULL;
        command->kind = COMMAND_PUT;
        command->n = (uint16_t)n;
        memcpy(command->bufs, app->puts + app->nputs, n * sizeof *command->bufs);
    }
    return 1;
}

void model_buf_ref(struct model *model, struct tenon_buf *buf)
{
    struct command *command;

    if (model->direct) {
        tenon_buf_ref(buf);
        return;
    }
    command = model_app_must(model);
    command->tcp = NULL;
    command->kind = COMMAND_REF;
    command->bufs[0] = buf;
}

/* Later is always right. */
void model_buf_put(struct model *model, struct tenon_buf *buf)
{
    struct app_side *app = &model->app;

    if (model->direct) {
        tenon_buf_put(buf);
        return;
    }
    while (app->nputs == PUTS_MAX && !say_puts(model)) {
        model_app_send(model, 0);
        model_app_wait(model);
    }
    app->puts[app->nputs++] = buf;
}

/* ---- what waits for room ----------------------------------------------------------------------------- */

void model_app_wants(struct model_tcp *tcp)
{
    struct tcp_list *list = &tcp->model->app.wants;

    if (tcp->wants)
        return;
    tcp->wants = 1;
    tcp->next_wants = NULL;
    if (list->first == NULL)
        list->first = tcp;
    else
        *list->last = tcp;
    list->last = &tcp->next_wants;
}

static void wants_no_more(struct model_tcp *tcp)
{
    struct tcp_list *list = &tcp->model->app.wants;
    struct model_tcp **link = &list->first;

    if (!tcp->wants)
        return;
    while (*link != tcp)
        link = &(*link)->next_wants;
    *link = tcp->next_wants;
    if (list->last == &tcp->next_wants)
        list->last = link;
    tcp->wants = 0;
}

/* Each once; who does not get what it wants is at the end of the list again. */
static int serve_wants(struct model *model)
{
    struct tcp_list *list = &model->app.wants;
    struct model_tcp **last = list->last;
    int over = list->first == NULL, work = 0;

    while (!over && list->first != NULL && model_ring_room(&model->commands, 1)) {
        struct model_tcp *tcp = list->first;

        over = last == &tcp->next_wants;
        wants_no_more(tcp);
        if (!tcp->leaving && tcp->events->acked != NULL)
            tcp->events->acked(tcp, tcp->app, 0);
        work = 1;
    }
    return work;
}

int model_app_blocked(const struct model *model)
{
    return model->app.wants.first != NULL || model->app.dirty != NULL || model->app.nputs > 0;
}

/* ---- up --------------------------------------------------------------------------------------------- */

void model_tcp_ref(struct model_tcp *tcp)
{
    tcp->refs++;
}

void model_tcp_put(struct model_tcp *tcp)
{
    if (--tcp->refs > 0)
        return;
    if (tcp->model->direct) {
        model_loop_free(tcp);
        return;
    }
    model_app_say(tcp, 0, FLAG_FREE);
}

void model_app_closed(struct model_tcp *tcp, int why)
{
    tcp->closed = 1;
    wants_no_more(tcp);
    if (tcp->events->closed != NULL)
        tcp->events->closed(tcp, tcp->app, why);
    model_tcp_put(tcp);
}

static void on_received(struct model_tcp *tcp, const struct event *event)
{
    struct model *model = tcp->model;

    if (!tcp->leaving && tcp->events->received != NULL)
        tcp->events->received(tcp, tcp->app, event->spans, event->n);
    else
        for (unsigned i = 0; i < event->n; i++)
            model_tcp_consumed(tcp, event->spans[i].len);
    for (unsigned i = 0; i < event->n; i++)
        model_buf_put(model, event->spans[i].buf);
}

static void on_acked(struct model_tcp *tcp, tenon_u32 bytes)
{
    tcp->queued -= bytes < tcp->queued ? bytes : tcp->queued;
    if (!tcp->leaving && tcp->events->acked != NULL)
        tcp->events->acked(tcp, tcp->app, bytes);
}

static void dispatch_tcp(const struct event *event)
{
    struct model_tcp *tcp = event->tcp;

    if (event->acked > 0)
        on_acked(tcp, event->acked);
    switch (event->kind) {
    case EVENT_OPENED:
        tcp->snd_buf = event->snd_buf;
        if (!tcp->leaving && tcp->events->opened != NULL)
            tcp->events->opened(tcp, tcp->app);
        break;
    case EVENT_RECEIVED:
        on_received(tcp, event);
        break;
    case EVENT_FINISHED:
        if (!tcp->leaving && tcp->events->finished != NULL)
            tcp->events->finished(tcp, tcp->app);
        else if (!tcp->leaving)
            (void)model_tcp_finish(tcp);
        break;
    case EVENT_CLOSED:
        model_app_closed(tcp, event->why);
        break;
    default:
        break;
    }
}

/* @return slots that it took */
static unsigned dispatch(struct model *model, const struct event *event)
{
    if (event->kind >= EVENT_UDP)
        return model_udp_event(model, event);
    dispatch_tcp(event);
    return 1;
}

/* As long as there is room for what is to be given back: a full ring stops this side. */
static int take_events(struct model *model)
{
    struct app_side *app = &model->app;
    unsigned n = model_ring_waiting(&model->events), taken = 0;

    while (taken < n && (app->nputs + SPANS_PER_EVENT <= PUTS_MAX || say_puts(model))) {
        taken += dispatch(model, model_ring_take(&model->events));
        if (model_ring_unpublished(&model->commands) >= PUBLISH)
            model_app_send(model, 0);
    }
    return taken > 0;
}

int model_app_extras(struct model *model, tenon_u32 now)
{
    struct app_side *app = &model->app;
    int work = 0;

    if (app->nin > 0)
        work = model_link_inbox(model);
    if (model->conf.turn == NULL)
        return work;
    app->turn_wait = model->conf.turn(model->conf.app, now);
    app->turn_at = now + app->turn_wait;
    return work;
}

int model_app_turn(struct model *model)
{
    int work = take_events(model), gave_back;

    work |= model_app_extras(model, model->conf.turn != NULL ? model_now_us(model) : 0);
    work |= serve_wants(model);
    if (say_dirty(model))
        (void)say_puts(model);
    gave_back = model_ring_done(&model->events) > 0;
    model_app_send(model, gave_back);
    model_link_publish(model);
    return work;
}
