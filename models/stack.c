/* SPDX-License-Identifier: MIT */
/* The stack's side of MODEL_SPLIT and MODEL_MERGE: commands are worked on, events are told.
 *
 * This side never waits for the other: commands are always taken, and an event for which the ring has no room waits
 * in its connection, where there is a bit for each kind that comes once, a sum for acknowledgements, and a list of
 * spans. As long as one waits, the port is not asked for packets. So the list is as long as one call of tenon_input()
 * can make it; and the application, which may wait for room to say something, never does so for ever.
 *
 * Datagrams do not wait: udp.c. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { SPANS_MIN = 16 };

/* ---- lists ------------------------------------------------------------------------------------------ */

/* The span, with a reference that is the caller's to give. @return 0; -1: no memory */
static int spans_add(struct spans *spans, const struct tenon_span *span)
{
    if (spans->n == spans->cap && spans->first > 0) {
        spans->n -= spans->first;
        memmove(spans->at, spans->at + spans->first, spans->n * sizeof *spans->at);
        spans->first = 0;
    } else if (spans->n == spans->cap) {
        const unsigned cap = spans->cap > 0 ? 2 * spans->cap : SPANS_MIN;
        struct tenon_span *at = realloc(spans->at, cap * sizeof *at);

        if (at == NULL)
            return -1;
        spans->at = at;
        spans->cap = cap;
    }
    spans->at[spans->n++] = *span;
    return 0;
}

static void spans_drop(struct spans *spans)
{
    while (spans->first < spans->n)
        tenon_buf_put(spans->at[spans->first++].buf);
    spans->first = spans->n = 0;
}

static void pends(struct model_tcp *tcp)
{
    struct tcp_list *list = &tcp->model->stack.pends;

    if (tcp->pends)
        return;
    tcp->pends = 1;
    tcp->next_pends = NULL;
    if (list->first == NULL)
        list->first = tcp;
    else
        *list->last = tcp;
    list->last = &tcp->next_pends;
    tcp->model->stack.stats.events_full++;
}

/* There was no memory for what has to wait. */
static void give_up(struct model_tcp *tcp)
{
    if (tcp->core == NULL)
        return;
    tcp->why = TENON_ENOMEM;
    tenon_tcp_abort(tcp->core);
}

/* ---- up --------------------------------------------------------------------------------------------- */

/* @return NULL: it has to wait */
static struct event *event_next(struct model_tcp *tcp, enum event_kind kind)
{
    struct model_ring *ring = &tcp->model->events;
    struct event *event;

    if (!model_ring_room(ring, 1))
        return NULL;
    event = model_ring_next(ring);
    event->tcp = tcp;
    event->kind = (uint8_t)kind;
    event->n = 0;
    event->acked = tcp->acked;
    tcp->acked = 0;
    tcp->model->stack.stats.events++;
    return event;
}

/* One that comes once. @return 0: it has to wait */
static int tell_once(struct model_tcp *tcp, enum event_kind kind)
{
    struct event *event = event_next(tcp, kind);

    if (event == NULL)
        return 0;
    if (kind == EVENT_OPENED)
        event->snd_buf = tcp->core != NULL ? tenon_tcp_get(tcp->core, TENON_TCP_SND_BUF) : 0;
    if (kind == EVENT_CLOSED)
        event->why = tcp->why;
    return 1;
}

static void tell(struct model_tcp *tcp, enum event_kind kind, enum untold untold)
{
    if (!tcp->pends && tell_once(tcp, kind))
        return;
    tcp->untold |= (uint8_t)untold;
    pends(tcp);
}

/* Spans of which each has got a reference. @return how many */
static unsigned tell_spans(struct model_tcp *tcp, const struct tenon_span *spans, unsigned n)
{
    unsigned done = 0;

    while (done < n) {
        const unsigned some = n - done < SPANS_PER_EVENT ? n - done : SPANS_PER_EVENT;
        struct event *event = event_next(tcp, EVENT_RECEIVED);

        if (event == NULL)
            break;
        memcpy(event->spans, spans + done, some * sizeof *spans);
        event->n = (uint8_t)some;
        done += some;
    }
    return done;
}

static void core_opened(struct tenon_tcp *core, void *app)
{
    (void)core;
    tell(app, EVENT_OPENED, UNTOLD_OPENED);
}

static void core_incoming(struct tenon_tcp *core, void *app)
{
    struct model_tcp *tcp = model_tcp_accept(app, core, &model_stack_events);

    if (tcp != NULL)
        core_opened(core, tcp);
}

static void core_received(struct tenon_tcp *core, void *app, const struct tenon_span *spans, unsigned n)
{
    struct model_tcp *tcp = app;
    unsigned i, told;

    (void)core;
    for (i = 0; i < n; i++)
        tenon_buf_ref(spans[i].buf);
    told = tcp->pends ? 0 : tell_spans(tcp, spans, n);
    if (told == n)
        return;
    pends(tcp);
    for (i = told; i < n && spans_add(&tcp->in, &spans[i]) == 0; i++)
        ;
    if (i == n)
        return;
    for (; i < n; i++)
        tenon_buf_put(spans[i].buf);
    give_up(tcp);
}

/* Told with whatever is told next of this connection, at the end of the turn at the latest. */
static void core_acked(struct tenon_tcp *core, void *app, tenon_u32 bytes)
{
    struct model_tcp *tcp = app;
    struct stack_side *stack = &tcp->model->stack;

    (void)core;
    tcp->acked += bytes;
    if (tcp->acks)
        return;
    tcp->acks = 1;
    tcp->next_acks = stack->acks;
    stack->acks = tcp;
}

static void core_finished(struct tenon_tcp *core, void *app)
{
    (void)core;
    tell(app, EVENT_FINISHED, UNTOLD_FINISHED);
}

static void core_closed(struct tenon_tcp *core, void *app, int why)
{
    struct model_tcp *tcp = app;

    (void)core;
    tcp->core = NULL;
    if (tcp->why == TENON_OK)
        tcp->why = why;
    spans_drop(&tcp->out);
    tell(tcp, EVENT_CLOSED, UNTOLD_CLOSED);
}

const struct tenon_tcp_events model_stack_events = { .opened = core_opened,
                                                     .received = core_received,
                                                     .acked = core_acked,
                                                     .finished = core_finished,
                                                     .closed = core_closed };
const struct tenon_tcp_events model_stack_listener_events = { .opened = core_incoming };

static int told_once(struct model_tcp *tcp, enum event_kind kind, enum untold untold)
{
    if ((tcp->untold & untold) == 0)
        return 1;
    if (!tell_once(tcp, kind))
        return 0;
    tcp->untold &= (uint8_t)~untold;
    return 1;
}

/* All that waits in a connection, in the order of a connection's life. @return 0: there is no room for all of it */
static int tell_pending(struct model_tcp *tcp)
{
    if (!told_once(tcp, EVENT_OPENED, UNTOLD_OPENED))
        return 0;
    tcp->in.first += tell_spans(tcp, tcp->in.at + tcp->in.first, tcp->in.n - tcp->in.first);
    if (tcp->in.first < tcp->in.n)
        return 0;
    tcp->in.first = tcp->in.n = 0;
    if (!told_once(tcp, EVENT_FINISHED, UNTOLD_FINISHED))
        return 0;
    if (tcp->acked > 0 && (tcp->untold & UNTOLD_CLOSED) == 0 && event_next(tcp, EVENT_ACKED) == NULL)
        return 0;
    return told_once(tcp, EVENT_CLOSED, UNTOLD_CLOSED);
}

static void flush_pending(struct tcp_list *list)
{
    while (list->first != NULL) {
        struct model_tcp *tcp = list->first;

        if (!tell_pending(tcp))
            return;
        list->first = tcp->next_pends;
        tcp->pends = 0;
    }
}

static void flush_acks(struct stack_side *stack)
{
    while (stack->acks != NULL) {
        struct model_tcp *tcp = stack->acks;

        stack->acks = tcp->next_acks;
        tcp->acks = 0;
        if (tcp->acked > 0 && !tcp->pends && event_next(tcp, EVENT_ACKED) == NULL)
            pends(tcp);
    }
}

/* Nothing is published before all acknowledgements are told: when the application knows that a connection has ended,
 * it is in none of these lists. */
int model_stack_flush(struct model *model)
{
    flush_pending(&model->stack.pends);
    flush_acks(&model->stack);
    model_udp_flush(model);
    if (model_ring_publish(&model->events) == 0)
        return 0;
    model->stack.stats.event_batches++;
    model_bell_ring(&model->app_bell, 1);
    return 1;
}

/* ---- down ------------------------------------------------------------------------------------------- */

/* The core does not take it now. A reference on the buffer comes with it. */
static void defer(struct model_tcp *tcp, const struct tenon_span *span)
{
    struct stack_side *stack = &tcp->model->stack;

    stack->stats.deferred++;
    if (spans_add(&tcp->out, span) != 0) {
        tenon_buf_put(span->buf);
        give_up(tcp);
        return;
    }
    if (tcp->defers)
        return;
    tcp->defers = 1;
    tcp->next_defers = stack->defers;
    stack->defers = tcp;
}

/* It may have ended after the list was last looked through. */
static void undefer(struct model_tcp *tcp)
{
    struct model_tcp **link = &tcp->model->stack.defers;

    if (!tcp->defers)
        return;
    while (*link != tcp)
        link = &(*link)->next_defers;
    *link = tcp->next_defers;
    tcp->defers = 0;
}

static int cannot_now(int error)
{
    return error == TENON_EAGAIN || error == TENON_ENOMEM;
}

static void command_send(struct model_tcp *tcp, const struct tenon_span *span, int give)
{
    if (tcp->core != NULL && (tcp->defers || cannot_now(tenon_tcp_send(tcp->core, span)))) {
        if (!give)
            tenon_buf_ref(span->buf);
        defer(tcp, span);
        return;
    }
    if (give)
        tenon_buf_put(span->buf);
}

/* What the core has no room for is copied once more. */
static void defer_bytes(struct model_tcp *tcp, const tenon_u8 *bytes, tenon_u32 n)
{
    struct tenon_span span = { model_buf_new(n), 0, n };

    if (span.buf == NULL) {
        give_up(tcp);
        return;
    }
    memcpy(span.buf->data, bytes, n);
    defer(tcp, &span);
}

static void command_write(struct model_tcp *tcp, const tenon_u8 *bytes, tenon_u32 n)
{
    tenon_i32 taken = 0;

    if (tcp->core == NULL)
        return;
    if (!tcp->defers)
        taken = tenon_tcp_write(tcp->core, bytes, n);
    if (taken == TENON_ENOMEM)
        taken = 0;
    if (taken >= 0 && (tenon_u32)taken < n)
        defer_bytes(tcp, bytes + taken, n - (tenon_u32)taken);
}

/* The bytes begin in the command, and go on in the slots behind it. */
static void command_write_slots(struct model *model, const struct command *command)
{
    tenon_u8 bytes[WRITE_MAX];
    tenon_u32 at = BYTES_PER_COMMAND;

    if (command->n <= BYTES_PER_COMMAND) {
        command_write(command->tcp, command->bytes, command->n);
        return;
    }
    memcpy(bytes, command->bytes, BYTES_PER_COMMAND);
    for (; at < command->n; at += MODEL_SLOT_BYTES) {
        const tenon_u32 some = command->n - at < MODEL_SLOT_BYTES ? command->n - at : MODEL_SLOT_BYTES;

        memcpy(bytes + at, model_ring_take(&model->commands), some);
    }
    command_write(command->tcp, bytes, command->n);
}

static void command_connect(struct model *model, const struct command *command)
{
    struct model_tcp *tcp = command->tcp;
    int error;

    model_loop_link(tcp);
    error = tenon_tcp_connect(model->conf.stack, &tcp->core, &command->ends.from, &command->ends.to,
                              &model_stack_events, tcp);
    if (error == TENON_OK)
        return;
    tcp->core = NULL;
    tcp->why = error;
    tell(tcp, EVENT_CLOSED, UNTOLD_CLOSED);
}

static void command_set(struct model *model, const struct command *command)
{
    struct tenon_tcp *core = command->tcp->core;

    if (core != NULL
        && tenon_tcp_set(core, (enum tenon_tcp_option)command->option.name, command->option.value) != TENON_OK)
        model->stack.stats.refused++;
}

/* What comes behind: the end of sending waits for what is deferred. */
static void command_flags(struct model_tcp *tcp, unsigned flags)
{
    if (flags & FLAG_FREE) {
        undefer(tcp);
        spans_drop(&tcp->in);
        model_loop_free(tcp);
        return;
    }
    if (tcp->defers && (flags & FLAG_ABORT) == 0) {
        tcp->held |= (uint8_t)flags;
        return;
    }
    if (tcp->core != NULL && (flags & FLAG_FINISH))
        (void)tenon_tcp_finish(tcp->core);
    if (tcp->core != NULL && (flags & FLAG_ABORT))
        tenon_tcp_abort(tcp->core);
    else if (tcp->core != NULL && (flags & FLAG_CLOSE))
        tenon_tcp_close(tcp->core);
}

static void command_of_tcp(struct model *model, const struct command *command)
{
    struct model_tcp *tcp = command->tcp;

    if (command->kind == COMMAND_CONNECT)
        command_connect(model, command);
    if (command->consumed > 0 && tcp->core != NULL)
        tenon_tcp_consumed(tcp->core, command->consumed);
    if (command->kind == COMMAND_SEND || command->kind == COMMAND_GIVE)
        command_send(tcp, &command->span, command->kind == COMMAND_GIVE);
    else if (command->kind == COMMAND_WRITE)
        command_write_slots(model, command);
    else if (command->kind == COMMAND_SET)
        command_set(model, command);
    if (command->flags != 0)
        command_flags(tcp, command->flags);
}

static void command_do(struct model *model, const struct command *command)
{
    switch (command->kind) {
    case COMMAND_PUT:
        for (unsigned i = 0; i < command->n; i++)
            tenon_buf_put(command->bufs[i]);
        break;
    case COMMAND_REF:
        tenon_buf_ref(command->bufs[0]);
        break;
    case COMMAND_CALL:
        command->call.fn(model->conf.stack, command->call.arg);
        atomic_store_explicit(command->call.done, 1, memory_order_release);
        break;
    case COMMAND_UDP_SEND:
    case COMMAND_UDP_WRITE:
    case COMMAND_UDP_CLOSE:
        model_udp_command(model, command);
        break;
    case COMMAND_END:
        model->stack.ended = 1;
        break;
    default:
        command_of_tcp(model, command);
    }
}

int model_stack_commands(struct model *model)
{
    struct stack_side *stack = &model->stack;
    unsigned n = 0;

    while (n < COMMANDS_PER_TURN && model_ring_waiting(&model->commands) > 0) {
        command_do(model, model_ring_take(&model->commands));
        n++;
    }
    if (n == 0)
        return 0;
    stack->woken = 1;
    (void)model_ring_done(&model->commands);
    model_bell_ring(&model->app_bell, 0);
    return 1;
}

/* As much of it as there is room for. @return 0: not all of it */
static int retry_span(struct tenon_tcp *core, struct tenon_span *span)
{
    const tenon_u32 room = tenon_tcp_room(core);
    struct tenon_span piece = *span;

    if (span->len == 0)
        return 1;
    if (piece.len > room)
        piece.len = room;
    if (piece.len == 0 || cannot_now(tenon_tcp_send(core, &piece)))
        return 0;
    span->off += piece.len;
    span->len -= piece.len;
    return span->len == 0;
}

/* Try again what the core had no room for. */
static void retry_one(struct model_tcp *tcp)
{
    const uint8_t held = tcp->held;

    while (tcp->core != NULL && tcp->out.first < tcp->out.n) {
        struct tenon_span *span = &tcp->out.at[tcp->out.first];

        if (!retry_span(tcp->core, span))
            return;
        tenon_buf_put(span->buf);
        tcp->out.first++;
    }
    tcp->out.first = tcp->out.n = 0;
    tcp->defers = 0;
    tcp->held = 0;
    command_flags(tcp, held);
    tcp->model->stack.woken = 1;
}

static void retry_deferred(struct stack_side *stack)
{
    struct model_tcp **link = &stack->defers;

    while (*link != NULL) {
        struct model_tcp *tcp = *link;

        retry_one(tcp);
        if (tcp->defers)
            link = &tcp->next_defers;
        else
            *link = tcp->next_defers;
    }
}

int model_stack_turn(struct model *model)
{
    struct stack_side *stack = &model->stack;
    const tenon_u32 now = model_now_us(model);
    int work = model_stack_commands(model);

    flush_pending(&stack->pends);
    if (stack->pends.first == NULL && model_loop_receive(model, now) > 0) {
        stack->woken = 0;    /* tenon_input() has sent what was ready */
        work = 1;
    }
    (void)model_loop_poll(model, now);
    if (stack->defers != NULL)
        retry_deferred(stack);
    return model_stack_flush(model) | work;
}
