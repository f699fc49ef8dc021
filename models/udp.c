/* SPDX-License-Identifier: MIT */
/* UDP sockets in all models: what the application says, what the stack does with it, and what comes up.
 *
 * A datagram is two slots of the ring either way, or a few more with its bytes in them. One for which there is no room
 * is dropped and counted, as a socket's buffer does it (RFC 768, RFC 8085 3.1): nothing waits, so that nothing of it
 * stands in the way of connections. Only EVENT_UDP_GONE must not be lost: it waits in a list of the stack's. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { DATAGRAM_MAX = 65527 };    /* bytes, over IPv6 (RFC 768: a length of 16 bits, with the header) */

/* What is to be sent. spans NULL: the bytes. */
struct datagram {
    const struct tenon_ip *from;
    const struct tenon_addr *to;
    const struct tenon_span *spans;
    const void *bytes;
    tenon_u32 n;    /* spans, or bytes */
};

/* ---- in either thread ------------------------------------------------------------------------------- */

static int core_send(struct model_udp *udp, const struct datagram *datagram)
{
    if (datagram->spans == NULL)
        return tenon_udp_write_from(udp->core, datagram->from, datagram->to, datagram->bytes, datagram->n);
    return tenon_udp_send_from(udp->core, datagram->from, datagram->to, datagram->spans, (unsigned)datagram->n);
}

/* @return how many in all; more than DATAGRAM_MAX: too many */
static tenon_u32 bytes_of(const struct tenon_span *spans, unsigned n)
{
    tenon_u32 bytes = 0;

    for (unsigned i = 0; i < n && bytes <= DATAGRAM_MAX; i++)
        bytes = spans[i].len <= DATAGRAM_MAX ? bytes + spans[i].len : DATAGRAM_MAX + 1;
    return bytes;
}

/* A copy of them in one piece, with a reference that is the caller's. @return 0; -1: no memory */
static int join(struct tenon_span *out, const struct tenon_span *spans, unsigned n)
{
    const tenon_u32 bytes = bytes_of(spans, n);
    const struct tenon_span whole = { model_buf_new(bytes), 0, bytes };
    tenon_u32 at = 0;

    if (whole.buf == NULL)
        return -1;
    for (unsigned i = 0; i < n; i++) {
        memcpy(whole.buf->data + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    *out = whole;
    return 0;
}

/* ---- the application's: open, set, close ------------------------------------------------------------ */

struct udp_call {
    struct model_udp *udp;
    const struct tenon_addr *addr;
    enum tenon_udp_option option;
    tenon_u32 value;
    int error;
};

static const struct tenon_udp_events direct_udp_events, stack_udp_events;

static void call_open(struct tenon *stack, void *arg)
{
    struct udp_call *call = arg;
    struct model_udp *udp = call->udp;

    call->error = tenon_udp_open(stack, &udp->core, udp->model->direct ? &direct_udp_events : &stack_udp_events, udp);
    if (call->error != TENON_OK)
        return;
    call->error = tenon_udp_bind(udp->core, call->addr);
    if (call->error != TENON_OK)
        tenon_udp_close(udp->core);
    else
        tenon_udp_local(udp->core, &udp->local);
}

static void udp_link(struct model_udp *udp)
{
    struct model *model = udp->model;

    udp->next = model->udps;
    if (udp->next != NULL)
        udp->next->prev = udp;
    model->udps = udp;
}

static void udp_unlink(struct model_udp *udp)
{
    if (udp->prev != NULL)
        udp->prev->next = udp->next;
    else
        udp->model->udps = udp->next;
    if (udp->next != NULL)
        udp->next->prev = udp->prev;
}

int model_udp_open(struct model *model, struct model_udp **out, const struct tenon_addr *at,
                   const struct model_udp_events *events, void *app)
{
    const struct tenon_addr any = { .port = 0 };
    struct model_udp *udp = aligned_alloc(alignof(struct model_udp), sizeof *udp);
    struct udp_call call = { .udp = udp, .addr = at != NULL ? at : &any };

    if (udp == NULL)
        return TENON_ENOMEM;
    memset(udp, 0, sizeof *udp);
    udp->model = model;
    udp->events = events;
    udp->app = app;
    model_call(model, call_open, &call);
    if (call.error != TENON_OK) {
        free(udp);
        return call.error;
    }
    udp_link(udp);
    *out = udp;
    return TENON_OK;
}

static void call_connect(struct tenon *stack, void *arg)
{
    struct udp_call *call = arg;

    (void)stack;
    call->error = tenon_udp_connect(call->udp->core, call->addr);
    tenon_udp_local(call->udp->core, &call->udp->local);
}

int model_udp_connect(struct model_udp *udp, const struct tenon_addr *to)
{
    struct udp_call call = { .udp = udp, .addr = to };

    model_call(udp->model, call_connect, &call);
    return call.error;
}

static void call_set(struct tenon *stack, void *arg)
{
    struct udp_call *call = arg;

    (void)stack;
    call->error = tenon_udp_set(call->udp->core, call->option, call->value);
}

int model_udp_set(struct model_udp *udp, enum tenon_udp_option option, tenon_u32 value)
{
    struct udp_call call = { .udp = udp, .option = option, .value = value };

    model_call(udp->model, call_set, &call);
    return call.error;
}

void model_udp_local(const struct model_udp *udp, struct tenon_addr *local)
{
    *local = udp->local;
}

struct model *model_udp_model(const struct model_udp *udp)
{
    return udp->model;
}

struct tenon_udp *model_udp_core(const struct model_udp *udp)
{
    return udp->core;
}

void model_udp_close(struct model_udp *udp)
{
    struct command *command;

    udp_unlink(udp);
    if (udp->model->direct) {
        tenon_udp_close(udp->core);
        free(udp);
        return;
    }
    udp->leaving = 1;
    command = model_app_must(udp->model);
    command->udp = udp;
    command->kind = COMMAND_UDP_CLOSE;
}

/* ---- the application's: sending --------------------------------------------------------------------- */

/* @return NULL: the ring is full */
static struct command *command_of(struct model_udp *udp, const struct datagram *datagram, uint32_t slots_behind)
{
    struct command *command = model_app_command(udp->model, 1 + slots_behind);

    if (command == NULL)
        return NULL;
    command->udp = udp;
    command->n = (uint16_t)datagram->n;
    if (datagram->from != NULL) {
        command->flags |= UDP_FROM;
        command->ends.from.ip = *datagram->from;
    }
    if (datagram->to != NULL) {
        command->flags |= UDP_TO;
        command->ends.to = *datagram->to;
    }
    return command;
}

static int say_spans(struct model_udp *udp, const struct datagram *datagram, unsigned flags)
{
    struct command *command = command_of(udp, datagram, 1);

    if (command == NULL)
        return TENON_EAGAIN;
    command->kind = COMMAND_UDP_SEND;
    command->flags |= (uint8_t)flags;
    memcpy(model_ring_next(&udp->model->commands), datagram->spans, datagram->n * sizeof *datagram->spans);
    return TENON_OK;
}

static int say_bytes(struct model_udp *udp, const struct datagram *datagram)
{
    const tenon_u32 n = datagram->n;
    struct command *command = command_of(udp, datagram, (n + MODEL_SLOT_BYTES - 1) / MODEL_SLOT_BYTES);
    const tenon_u8 *bytes = datagram->bytes;

    if (command == NULL)
        return TENON_EAGAIN;
    command->kind = COMMAND_UDP_WRITE;
    for (tenon_u32 at = 0; at < n; at += MODEL_SLOT_BYTES)
        memcpy(model_ring_next(&udp->model->commands), bytes + at,
               n - at < MODEL_SLOT_BYTES ? n - at : MODEL_SLOT_BYTES);
    return TENON_OK;
}

/* What does not fit as it is: in one piece, which goes with its reference. */
static int say_joined(struct model_udp *udp, const struct datagram *datagram, const struct tenon_span *spans,
                      unsigned n)
{
    struct tenon_span whole;
    struct datagram joined = *datagram;
    int error;

    if (join(&whole, spans, n) != 0)
        return TENON_ENOMEM;
    joined.spans = &whole;
    joined.n = 1;
    error = say_spans(udp, &joined, UDP_GIVE);
    if (error != TENON_OK)
        tenon_buf_put(whole.buf);
    return error;
}

int model_udp_send_from(struct model_udp *udp, const struct tenon_ip *from, const struct tenon_addr *to,
                        const struct tenon_span *spans, unsigned n)
{
    const struct datagram datagram = { from, to, spans, NULL, n };

    if (n == 0)
        return model_udp_write_from(udp, from, to, NULL, 0);
    if (bytes_of(spans, n) > DATAGRAM_MAX)
        return TENON_EMSGSIZE;
    if (udp->model->direct) {
        udp->model->stack.woken = 1;
        return core_send(udp, &datagram);
    }
    return n > SPANS_PER_SLOT ? say_joined(udp, &datagram, spans, n) : say_spans(udp, &datagram, 0);
}

int model_udp_send(struct model_udp *udp, const struct tenon_addr *to, const struct tenon_span *spans, unsigned n)
{
    return model_udp_send_from(udp, NULL, to, spans, n);
}

int model_udp_write_from(struct model_udp *udp, const struct tenon_ip *from, const struct tenon_addr *to,
                         const void *bytes, tenon_u32 n)
{
    const struct datagram datagram = { from, to, NULL, bytes, n };
    struct tenon_buf buf = { .data = (tenon_u8 *)(uintptr_t)bytes, .size = n, .refs = 1 };
    const struct tenon_span span = { &buf, 0, n };

    if (n > DATAGRAM_MAX)
        return TENON_EMSGSIZE;
    if (udp->model->direct) {
        udp->model->stack.woken = 1;
        return core_send(udp, &datagram);
    }
    return n > DATAGRAM_WRITE_MAX ? say_joined(udp, &datagram, &span, 1) : say_bytes(udp, &datagram);
}

int model_udp_write(struct model_udp *udp, const struct tenon_addr *to, const void *bytes, tenon_u32 n)
{
    return model_udp_write_from(udp, NULL, to, bytes, n);
}

/* ---- the application's: what has come up ------------------------------------------------------------ */

static void on_datagram(struct model_udp *udp, const struct event *event, const struct tenon_udp_info *info)
{
    struct model *model = udp->model;

    if (!udp->leaving && udp->events->received != NULL)
        udp->events->received(udp, udp->app, info, event->spans, event->n);
    for (unsigned i = 0; i < event->n; i++)
        model_buf_put(model, event->spans[i].buf);
}

uint32_t model_udp_event(struct model *model, const struct event *event)
{
    struct model_udp *udp = event->udp;

    if (event->kind == EVENT_UDP) {
        on_datagram(udp, event, model_ring_take(&model->events));
        return 2;
    }
    if (event->kind == EVENT_UDP_GONE)
        free(udp);
    else if (!udp->leaving && udp->events->error != NULL)
        udp->events->error(udp, udp->app, &event->failed.to, event->failed.error);
    return 1;
}

/* ---- the stack's: up -------------------------------------------------------------------------------- */

/* @return NULL: there is no room for so many slots */
static struct event *event_next(struct model_udp *udp, enum event_kind kind, uint32_t slots)
{
    struct model_ring *ring = &udp->model->events;
    struct event *event;

    if (!model_ring_room(ring, slots))
        return NULL;
    event = model_ring_next(ring);
    event->udp = udp;
    event->kind = (uint8_t)kind;
    event->n = 0;
    event->acked = 0;
    udp->model->stack.stats.events += slots;
    return event;
}

/* Room for the datagram's two slots comes first: nothing is joined in vain. */
static void stack_received(struct tenon_udp *core, void *app, const struct tenon_udp_info *info,
                           const struct tenon_span *spans, unsigned n)
{
    struct model_udp *udp = app;
    struct model *model = udp->model;
    struct tenon_span whole;
    struct event *event;

    (void)core;
    if (!model_ring_room(&model->events, 2) || (n > SPANS_PER_EVENT && join(&whole, spans, n) != 0)) {
        model->stack.stats.datagrams_lost++;
        return;
    }
    event = event_next(udp, EVENT_UDP, 2);
    event->n = (uint8_t)(n > SPANS_PER_EVENT ? 1 : n);
    for (unsigned i = 0; i < n && n <= SPANS_PER_EVENT; i++)
        tenon_buf_ref(spans[i].buf);
    memcpy(event->spans, n > SPANS_PER_EVENT ? &whole : spans, event->n * sizeof *spans);
    memcpy(model_ring_next(&model->events), info, sizeof *info);
}

static void stack_error(struct tenon_udp *core, void *app, const struct tenon_addr *to, int error)
{
    struct model_udp *udp = app;
    struct event *event = event_next(udp, EVENT_UDP_ERROR, 1);

    (void)core;
    if (event == NULL) {
        udp->model->stack.stats.datagrams_lost++;
        return;
    }
    event->failed.to = *to;
    event->failed.error = error;
}

static const struct tenon_udp_events stack_udp_events = { .received = stack_received, .error = stack_error };

/* Before anything is published. When the application hears that a socket has ended, nothing of it is under way. */
void model_udp_flush(struct model *model)
{
    struct stack_side *stack = &model->stack;

    while (stack->gones != NULL && model_ring_room(&model->events, 1)) {
        struct model_udp *udp = stack->gones;

        stack->gones = udp->next_gone;
        (void)event_next(udp, EVENT_UDP_GONE, 1);
    }
}

/* ---- the stack's: down ------------------------------------------------------------------------------ */

/* The core sends what makes its burst full. It has no room only when the port takes nothing. */
static void send_one(struct model_udp *udp, const struct datagram *datagram)
{
    const int error = core_send(udp, datagram);
    struct tenon_addr to;

    if (error == TENON_OK)
        return;
    if (error == TENON_EAGAIN || error == TENON_ENOMEM) {
        udp->model->stack.stats.datagrams_unsent++;
        return;
    }
    tenon_udp_remote(udp->core, &to);
    stack_error(udp->core, udp, datagram->to != NULL ? datagram->to : &to, error);
}

static struct datagram datagram_of(const struct command *command)
{
    const struct datagram datagram = { .from = command->flags & UDP_FROM ? &command->ends.from.ip : NULL,
        .to = command->flags & UDP_TO ? &command->ends.to : NULL, .n = command->n };

    return datagram;
}

static void command_udp_send(struct model *model, const struct command *command)
{
    struct datagram datagram = datagram_of(command);

    datagram.spans = model_ring_take(&model->commands);
    send_one(command->udp, &datagram);
    if (command->flags & UDP_GIVE)
        tenon_buf_put(datagram.spans[0].buf);
}

static void command_udp_write(struct model *model, const struct command *command)
{
    struct datagram datagram = datagram_of(command);
    tenon_u8 bytes[DATAGRAM_WRITE_MAX];

    for (tenon_u32 at = 0; at < datagram.n; at += MODEL_SLOT_BYTES)
        memcpy(bytes + at, model_ring_take(&model->commands), MODEL_SLOT_BYTES);
    datagram.bytes = bytes;
    send_one(command->udp, &datagram);
}

void model_udp_command(struct model *model, const struct command *command)
{
    struct model_udp *udp = command->udp;

    if (command->kind == COMMAND_UDP_SEND)
        command_udp_send(model, command);
    else if (command->kind == COMMAND_UDP_WRITE)
        command_udp_write(model, command);
    else {
        tenon_udp_close(udp->core);
        udp->next_gone = model->stack.gones;
        model->stack.gones = udp;
    }
}

/* ---- MODEL_UNIFIED ---------------------------------------------------------------------------------- */

static void direct_received(struct tenon_udp *core, void *app, const struct tenon_udp_info *info,
                            const struct tenon_span *spans, unsigned n)
{
    struct model_udp *udp = app;

    (void)core;
    if (udp->events->received != NULL)
        udp->events->received(udp, udp->app, info, spans, n);
}

static void direct_error(struct tenon_udp *core, void *app, const struct tenon_addr *to, int error)
{
    struct model_udp *udp = app;

    (void)core;
    if (udp->events->error != NULL)
        udp->events->error(udp, udp->app, to, error);
}

static const struct tenon_udp_events direct_udp_events = { .received = direct_received, .error = direct_error };
