/* SPDX-License-Identifier: MIT */
/* What an application says to connections: in MODEL_UNIFIED to the core, else to the ring. */
#include "internal.h"

#include "../ports/common/port.h"

#include <stdlib.h>
#include <string.h>

enum { SND_BUF_UNKNOWN = 65536,    /* until the connection is open */
       SND_BUF_MIN = 512, SND_BUF_MAX = 0x3FFFC000 };    /* others the core refuses */

/* In either thread. The application's fields are handed over with the first event. */
struct model_tcp *model_tcp_new(struct model *model, const struct model_tcp_events *events, void *app)
{
    struct model_tcp *tcp = aligned_alloc(alignof(struct model_tcp), sizeof *tcp);

    if (tcp == NULL)
        return NULL;
    memset(tcp, 0, sizeof *tcp);
    tcp->model = model;
    tcp->events = events;
    tcp->app = app;
    tcp->snd_buf = SND_BUF_UNKNOWN;
    tcp->refs = 1;
    return tcp;
}

struct model_tcp *model_tcp_accept(struct model_listener *listener, struct tenon_tcp *core,
                                   const struct tenon_tcp_events *events)
{
    struct model_tcp *tcp = model_tcp_new(listener->model, listener->events, listener->app);

    if (tcp == NULL) {
        tenon_tcp_abort(core);
        return NULL;
    }
    tcp->core = core;
    model_loop_link(tcp);
    tenon_tcp_handler(core, events, tcp);
    return tcp;
}

void model_tcp_handler(struct model_tcp *tcp, const struct model_tcp_events *events, void *app)
{
    tcp->events = events;
    tcp->app = app;
}

void *model_tcp_app(const struct model_tcp *tcp)
{
    return tcp->app;
}

struct model *model_tcp_model(const struct model_tcp *tcp)
{
    return tcp->model;
}

struct tenon_tcp *model_tcp_core(const struct model_tcp *tcp)
{
    return tcp->core;
}

static int is_over(const struct model_tcp *tcp)
{
    return tcp->finishing || tcp->leaving || tcp->closed;
}

/* ---- opening ---------------------------------------------------------------------------------------- */

static int connect_direct(struct model *model, struct model_tcp *tcp, const struct tenon_addr *from,
                          const struct tenon_addr *to)
{
    const int error = tenon_tcp_connect(model->conf.stack, &tcp->core, from, to, &model_direct_events, tcp);

    if (error != TENON_OK) {
        free(tcp);
        return error;
    }
    model->stack.woken = 1;
    model_loop_link(tcp);
    return TENON_OK;
}

static int connect_by_ring(struct model *model, struct model_tcp *tcp, const struct tenon_addr *from,
                           const struct tenon_addr *to)
{
    const struct tenon_addr any = { .port = 0 };
    struct command *command = model_app_command(model, 1);

    if (command == NULL) {
        free(tcp);
        return TENON_EAGAIN;
    }
    command->tcp = tcp;
    command->kind = COMMAND_CONNECT;
    command->ends.from = from != NULL ? *from : any;
    command->ends.to = *to;
    model->app.open = command;
    return TENON_OK;
}

int model_tcp_connect(struct model *model, struct model_tcp **out, const struct tenon_addr *from,
                      const struct tenon_addr *to, const struct model_tcp_events *events, void *app)
{
    struct model_tcp *tcp;
    int error;

    if (model->ending)
        return TENON_ECLOSED;
    tcp = model_tcp_new(model, events, app);
    if (tcp == NULL)
        return TENON_ENOMEM;
    error = model->direct ? connect_direct(model, tcp, from, to) : connect_by_ring(model, tcp, from, to);
    if (error == TENON_OK)
        *out = tcp;
    return error;
}

struct listen_call {
    struct model_listener *listener;
    const struct tenon_addr *at;
    unsigned backlog;
    int error;
};

static void call_listen(struct tenon *stack, void *arg)
{
    struct listen_call *call = arg;
    struct model_listener *listener = call->listener;
    const struct tenon_tcp_events *events =
        listener->model->direct ? &model_direct_listener_events : &model_stack_listener_events;

    call->error = tenon_tcp_listen(stack, &listener->core, call->at, events, listener, call->backlog);
    if (call->error == TENON_OK)
        tenon_tcp_listener_local(listener->core, &listener->local);
}

int model_listen(struct model *model, struct model_listener **out, const struct tenon_addr *at,
                 const struct model_tcp_events *events, void *app, unsigned backlog)
{
    struct listen_call call = { NULL, at, backlog, TENON_ENOMEM };
    struct model_listener *listener;

    if (model->ending)
        return TENON_ECLOSED;
    listener = call.listener = calloc(1, sizeof *listener);
    if (listener == NULL)
        return TENON_ENOMEM;
    listener->model = model;
    listener->events = events;
    listener->app = app;
    model_call(model, call_listen, &call);
    if (call.error != TENON_OK) {
        free(listener);
        return call.error;
    }
    listener->next = model->listeners;
    model->listeners = listener;
    *out = listener;
    return TENON_OK;
}

void model_listener_local(const struct model_listener *listener, struct tenon_addr *local)
{
    *local = listener->local;
}

static void call_listener_close(struct tenon *stack, void *arg)
{
    (void)stack;
    tenon_tcp_listener_close(((struct model_listener *)arg)->core);
}

void model_listener_close(struct model_listener *listener)
{
    struct model_listener **link = &listener->model->listeners;

    model_call(listener->model, call_listener_close, listener);
    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    free(listener);
}

/* ---- sending ---------------------------------------------------------------------------------------- */

tenon_u32 model_tcp_room(const struct model_tcp *tcp)
{
    if (tcp->model->direct)
        return tcp->core != NULL ? tenon_tcp_room(tcp->core) : 0;
    return is_over(tcp) || tcp->queued > tcp->snd_buf ? 0 : tcp->snd_buf - tcp->queued;
}

/* @return NULL: the ring is full, and the connection will be told when it is not */
static struct command *command_of(struct model_tcp *tcp, enum command_kind kind, uint32_t slots)
{
    struct command *command = model_app_command(tcp->model, slots);

    if (command == NULL) {
        model_app_wants(tcp);
        return NULL;
    }
    command->tcp = tcp;
    command->kind = (uint8_t)kind;
    tcp->model->app.open = command;
    return command;
}

int model_tcp_send(struct model_tcp *tcp, const struct tenon_span *span)
{
    struct command *command;

    if (tcp->model->direct) {
        tcp->model->stack.woken = 1;
        return tcp->core != NULL ? tenon_tcp_send(tcp->core, span) : TENON_ECLOSED;
    }
    if (is_over(tcp))
        return TENON_ECLOSED;
    if (span->len > model_tcp_room(tcp))
        return TENON_EAGAIN;
    command = command_of(tcp, COMMAND_SEND, 1);
    if (command == NULL)
        return TENON_EAGAIN;
    command->span = *span;
    tcp->queued += span->len;
    return TENON_OK;
}

static void buf_free(struct tenon_buf *buf)
{
    free(buf);
}

struct tenon_buf *model_buf_new(tenon_u32 bytes)
{
    struct tenon_buf *buf = malloc(sizeof *buf + bytes);

    if (buf == NULL)
        return NULL;
    buf->data = (tenon_u8 *)(buf + 1);
    buf->size = bytes;
    buf->refs = 1;
    buf->release = buf_free;
    return buf;
}

/* More than a few slots hold: by reference. */
static tenon_i32 write_large(struct model_tcp *tcp, const void *bytes, tenon_u32 n)
{
    struct tenon_span span = { model_buf_new(n), 0, n };
    struct command *command;

    if (span.buf == NULL)
        return TENON_ENOMEM;
    command = command_of(tcp, COMMAND_GIVE, 1);
    if (command == NULL) {
        free(span.buf);
        return 0;
    }
    memcpy(span.buf->data, bytes, n);
    command->span = span;
    tcp->queued += n;
    return (tenon_i32)n;
}

/* Into the command, and as many slots behind it as it takes. */
static tenon_i32 write_small(struct model_tcp *tcp, const tenon_u8 *bytes, tenon_u32 n)
{
    const tenon_u32 more =
        n > BYTES_PER_COMMAND ? (n - BYTES_PER_COMMAND + MODEL_SLOT_BYTES - 1) / MODEL_SLOT_BYTES : 0;
    const tenon_u32 first = n < BYTES_PER_COMMAND ? n : BYTES_PER_COMMAND;
    struct command *command = command_of(tcp, COMMAND_WRITE, 1 + more);

    if (command == NULL)
        return 0;
    command->n = (uint16_t)n;
    memcpy(command->bytes, bytes, first);
    for (tenon_u32 at = first; at < n; at += MODEL_SLOT_BYTES)
        memcpy(model_ring_next(&tcp->model->commands), bytes + at,
               n - at < MODEL_SLOT_BYTES ? n - at : MODEL_SLOT_BYTES);
    tcp->queued += n;
    return (tenon_i32)n;
}

tenon_i32 model_tcp_write(struct model_tcp *tcp, const void *bytes, tenon_u32 n)
{
    const tenon_u32 room = model_tcp_room(tcp);

    if (tcp->model->direct) {
        tcp->model->stack.woken = 1;
        return tcp->core != NULL ? tenon_tcp_write(tcp->core, bytes, n) : TENON_ECLOSED;
    }
    if (is_over(tcp))
        return TENON_ECLOSED;
    if (n > room)
        n = room;
    if (n == 0)
        return 0;
    return n > WRITE_MAX ? write_large(tcp, bytes, n) : write_small(tcp, bytes, n);
}

/* ---- the rest --------------------------------------------------------------------------------------- */

void model_tcp_consumed(struct model_tcp *tcp, tenon_u32 bytes)
{
    if (!tcp->model->direct) {
        if (!tcp->closed)
            model_app_say(tcp, bytes, 0);
        return;
    }
    tcp->model->stack.woken = 1;
    if (tcp->core != NULL)
        tenon_tcp_consumed(tcp->core, bytes);
}

int model_tcp_finish(struct model_tcp *tcp)
{
    if (tcp->model->direct) {
        tcp->model->stack.woken = 1;
        return tcp->core != NULL ? tenon_tcp_finish(tcp->core) : TENON_ECLOSED;
    }
    if (is_over(tcp))
        return TENON_ECLOSED;
    tcp->finishing = 1;
    model_app_say(tcp, 0, FLAG_FINISH);
    return TENON_OK;
}

static void leave(struct model_tcp *tcp, enum command_flag flag)
{
    if (tcp->closed)
        return;
    tcp->leaving = 1;
    model_app_say(tcp, 0, flag);
}

void model_tcp_close(struct model_tcp *tcp)
{
    if (!tcp->model->direct) {
        leave(tcp, FLAG_CLOSE);
        return;
    }
    tcp->model->stack.woken = 1;
    tcp->leaving = 1;
    if (tcp->core != NULL)
        tenon_tcp_close(tcp->core);
}

void model_tcp_abort(struct model_tcp *tcp)
{
    if (!tcp->model->direct) {
        leave(tcp, FLAG_ABORT);
        return;
    }
    tcp->model->stack.woken = 1;
    tcp->leaving = 1;
    if (tcp->core != NULL)
        tenon_tcp_abort(tcp->core);
}

int model_tcp_set(struct model_tcp *tcp, enum tenon_tcp_option option, tenon_u32 value)
{
    struct command *command;

    if ((unsigned)option >= TENON_TCP_OPTION_COUNT)
        return TENON_EINVAL;
    if (tcp->closed)
        return TENON_ECLOSED;
    if (tcp->model->direct) {
        tcp->model->stack.stats.refused += tenon_tcp_set(tcp->core, option, value) != TENON_OK;
        return TENON_OK;
    }
    command = model_app_must(tcp->model);
    command->tcp = tcp;
    command->kind = COMMAND_SET;
    command->option.name = option;
    command->option.value = value;
    if (option == TENON_TCP_SND_BUF && value >= SND_BUF_MIN && value <= SND_BUF_MAX)
        tcp->snd_buf = value;
    return TENON_OK;
}
