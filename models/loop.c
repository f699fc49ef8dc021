/* SPDX-License-Identifier: MIT */
/* What a stack does in whatever thread it is: packets, timers, connections; and the loop of its own thread. */
#include "internal.h"

#include "../ports/common/port.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { FULL_WAIT_US = 1000, DEFER_WAIT_US = 1000, END_POLLS = 100, YIELD_TURNS = 64, GIVE_WAY_US = 1000,
       LOOK_US = 1000000, SILENT_MIN = 200, SILENT_MAX = 1500, PAUSE_US = 4    /* for each silent look */ };

int model_loop_poll(struct model *model, tenon_u32 now)
{
    struct stack_side *stack = &model->stack;
    tenon_u32 wait;

    if (!stack->woken && !model_is_due(now, stack->poll_at) && now - stack->polled_at < POLL_US)
        return 0;
    stack->woken = 0;
    stack->polled_at = now;
    wait = tenon_poll(model->conf.stack, now);
    stack->full = wait == 0;    /* the port takes nothing for now */
    stack->poll_at = now + (stack->full ? FULL_WAIT_US : wait);
    return 0;
}

/* What came to another queue, and is ours. */
static int take_mail(struct model *model)
{
    struct model_mailbox *box = model->box;

    if (box == NULL || !model_mailbox_waiting(box))
        return 0;
    return (int)model_mailbox_take(box, model);
}

int model_loop_receive(struct model *model, tenon_u32 now)
{
    const int mails = take_mail(model);
    const int found = port_receive(model->conf.port, model->conf.stack, model->conf.netif, now);
    const int n = found >= 0 ? found + mails : found;
    struct stack_side *stack = &model->stack;

    stack->silent = n > 0 ? 0 : stack->silent + (stack->silent < SILENT_MAX);
    if (n >= 0)
        return n;
    atomic_store(&model->gone, 1);
    model_bell_ring(&model->app_bell, 1);
    return 0;
}

/* A descriptor need not tell that its interface is gone, so that one looks now and then. A port without one is looked
 * at all the time, after many looks in vain with longer and longer pauses. */
tenon_u32 model_loop_wait_us(const struct model *model, tenon_u32 now)
{
    const struct stack_side *stack = &model->stack;
    const tenon_u32 wait = model_is_due(now, stack->poll_at) ? 0 : stack->poll_at - now;
    tenon_u32 most = LOOK_US;

    if (port_fd(model->conf.port) < 0)
        most = stack->silent < SILENT_MIN ? 0 : stack->silent * PAUSE_US;
    return wait < most ? wait : most;
}

void model_loop_link(struct model_tcp *tcp)
{
    struct stack_side *stack = &tcp->model->stack;

    tcp->prev = NULL;
    tcp->next = stack->all;
    if (stack->all != NULL)
        stack->all->prev = tcp;
    stack->all = tcp;
    stack->connections++;
}

void model_loop_free(struct model_tcp *tcp)
{
    struct stack_side *stack = &tcp->model->stack;

    if (tcp->prev != NULL)
        tcp->prev->next = tcp->next;
    else
        stack->all = tcp->next;
    if (tcp->next != NULL)
        tcp->next->prev = tcp->prev;
    stack->connections--;
    free(tcp->in.at);
    free(tcp->out.at);
    free(tcp);
}

void model_loop_poll_out(struct model *model)
{
    for (int i = 0; i < END_POLLS && tenon_poll(model->conf.stack, model_now_us(model)) == 0; i++)
        usleep(FULL_WAIT_US);
}

/* In MODEL_UNIFIED handlers run within tenon_tcp_abort(), and free what they are about, or others. */
void model_loop_abort_all(struct tenon *stack, void *arg)
{
    struct model *model = arg;
    struct model_tcp *tcp = model->stack.all;

    (void)stack;
    while (tcp != NULL) {
        if (tcp->core == NULL) {
            tcp = tcp->next;
            continue;
        }
        tenon_tcp_abort(tcp->core);
        tcp = model->direct ? model->stack.all : tcp->next;
    }
    model_loop_poll_out(model);
}

/* ---- the stack's own thread ------------------------------------------------------------------------- */

static void stack_sleep(struct model *model)
{
    struct stack_side *stack = &model->stack;
    tenon_u32 now, wait;
    int full;

    stack->woken = 1;    /* to know when it wants to be called again */
    if (model_stack_turn(model))
        return;
    full = stack->pends.first != NULL || stack->gones != NULL;    /* events wait for room: no packets until then */
    now = model_now_us(model);
    wait = model_loop_wait_us(model, now);
    if (stack->defers != NULL && wait > DEFER_WAIT_US)
        wait = DEFER_WAIT_US;
    model_bell_prepare(&model->stack_bell, full ? MODEL_ASLEEP_FOR_ROOM : MODEL_ASLEEP);
    if (model_ring_waiting_now(&model->commands) || (full && model_ring_room_now(&model->events, 1))) {
        model_bell_cancel(&model->stack_bell);
        return;
    }
    stack->stats.stack_slept++;
    if (full)
        model_bell_wait(&model->stack_bell, -1, 0, wait);
    else
        model_bell_wait(&model->stack_bell, port_fd(model->conf.port),
                        (short)(stack->full ? POLLIN | POLLOUT : POLLIN), wait);
}

/* MODEL_MERGE: as long as the application has events to work on, the processor is its. It rings when it gives their
 * slots back. */
static void stack_give_way(struct model *model)
{
    model_bell_prepare(&model->stack_bell, MODEL_ASLEEP_FOR_ROOM);
    if (model_ring_waiting_now(&model->commands) || !model_ring_untaken_now(&model->events)) {
        model_bell_cancel(&model->stack_bell);
        return;
    }
    model->stack.stats.stack_slept++;
    model_bell_wait(&model->stack_bell, -1, 0, GIVE_WAY_US);
}

/* Nothing to do. Who polls on a processor of its own does not give it away. */
static void stack_idle(struct model *model, unsigned idle)
{
    if (model->conf.poll && !model->conf.pin && idle % YIELD_TURNS == 0)
        sched_yield();
    else
        model_relax();
}

static void stack_loop(struct model *model)
{
    const int merge = model->conf.kind == MODEL_MERGE;
    tenon_u32 idle_since = model_now_us(model);
    unsigned idle = 0;

    while (!model->stack.ended) {
        const int work = model_stack_turn(model);

        if (merge && model_ring_untaken_now(&model->events))
            stack_give_way(model);
        if (work) {
            idle = 0;
            continue;
        }
        if (idle++ == 0)
            idle_since = model_now_us(model);
        if (!model->conf.poll && (merge || model_now_us(model) - idle_since >= model->conf.spin_us))
            stack_sleep(model);
        else
            stack_idle(model, idle);
    }
}

void *model_loop_stack_thread(void *model)
{
    model_pin_stack(model);
    stack_loop(model);
    return NULL;
}
