/* SPDX-License-Identifier: MIT */
/* MODEL_UNIFIED: the core's events are the application's, but for the handle; and nothing but closed() comes after
 * close() or abort(). Text does not in any case: what the core has for a connection that was closed, even if it came
 * early and could be delivered just then, it answers with a reset (RFC 9293 3.6.1). What else it tells until closed(),
 * that ends here. */
#include "internal.h"

static void direct_opened(struct tenon_tcp *core, void *app)
{
    struct model_tcp *tcp = app;

    (void)core;
    if (tcp->events->opened != NULL && !tcp->leaving)
        tcp->events->opened(tcp, tcp->app);
}

static void direct_incoming(struct tenon_tcp *core, void *app)
{
    struct model_tcp *tcp = model_tcp_accept(app, core, &model_direct_events);

    if (tcp != NULL)
        direct_opened(core, tcp);
}

static void direct_received(struct tenon_tcp *core, void *app, const struct tenon_span *spans, unsigned n)
{
    struct model_tcp *tcp = app;

    if (tcp->events->received != NULL) {
        tcp->events->received(tcp, tcp->app, spans, n);
        return;
    }
    for (unsigned i = 0; i < n; i++)
        tenon_tcp_consumed(core, spans[i].len);
}

static void direct_acked(struct tenon_tcp *core, void *app, tenon_u32 bytes)
{
    struct model_tcp *tcp = app;

    (void)core;
    if (tcp->events->acked != NULL && !tcp->leaving)
        tcp->events->acked(tcp, tcp->app, bytes);
}

static void direct_finished(struct tenon_tcp *core, void *app)
{
    struct model_tcp *tcp = app;

    if (tcp->leaving)
        return;
    if (tcp->events->finished != NULL)
        tcp->events->finished(tcp, tcp->app);
    else
        (void)tenon_tcp_finish(core);
}

static void direct_closed(struct tenon_tcp *core, void *app, int why)
{
    struct model_tcp *tcp = app;

    (void)core;
    tcp->core = NULL;
    model_app_closed(tcp, why);
}

const struct tenon_tcp_events model_direct_events = { .opened = direct_opened, .received = direct_received,
    .acked = direct_acked, .finished = direct_finished, .closed = direct_closed };
const struct tenon_tcp_events model_direct_listener_events = { .opened = direct_incoming };

/* What is said outside of the core's events leaves with tenon_poll(), what is said in them at the end of
 * tenon_input(). */
int model_direct_turn(struct model *model)
{
    const tenon_u32 now = model_now_us(model);
    int work = model_app_extras(model, now);

    model_link_publish(model);
    work |= model_loop_poll(model, now);
    if (model_loop_receive(model, now) > 0) {
        work = 1;
        model->stack.woken = 0;
        model_link_publish(model);
    }
    return work;
}
