/* SPDX-License-Identifier: MIT */
/* A small machine: its arena, its device, and what goes wrong with it. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RX_OFF = 2, AT_ONCE_MAX = 5000, TICK_US = 100000 };

static uint64_t machine_now(const struct machine *m)
{
    return history_now(m->h);
}

/* ---- the device ------------------------------------------------------------------------------------- */

static unsigned transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    struct machine *m = device;
    tenon_u8 bytes[EMIT_BYTES_MAX];
    unsigned i;

    for (i = 0; i < n; i++) {
        emit_frame(m->host, 1, &frames[i], bytes, emit_copy(&frames[i], bytes));
        m->h->frames++;
    }
    return n;
}

static int entropy(void *device, void *bytes, size_t n)
{
    struct machine *m = device;

    return wire_host_ops()->entropy(m->host, bytes, n);
}

/* Frames wait in the device until there are blocks for them. */
static void device_poll(void *device, struct tenon_socks *socks)
{
    struct machine *m = device;
    struct tenon_buf *block;
    unsigned i = 0;

    for (; i < m->nwaiting && i < TENON_SOCK_BURST && (block = tenon_sock_block(socks)) != NULL; i++) {
        if (RX_OFF + m->waiting[i].n <= block->size)
            memcpy(block->data + RX_OFF, m->waiting[i].bytes, m->waiting[i].n);
        tenon_sock_input(socks, block, RX_OFF, m->waiting[i].n, TENON_CSUM_NONE);
    }
    m->more = i == TENON_SOCK_BURST;
    m->nwaiting -= i;
    memmove(m->waiting, m->waiting + i, m->nwaiting * sizeof(m->waiting[0]));
}

static void guest_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct machine *m = guest;
    unsigned i;

    (void)netif, (void)now_us;
    for (i = 0; i < n && m->nwaiting < WAITING_MAX && !m->unplugged; i++) {
        m->waiting[m->nwaiting].n = emit_copy(&frames[i], m->waiting[m->nwaiting].bytes);
        m->nwaiting++;
    }
}

/* As a program for a board does it: the core, then the services, and sleep until the first of them wants something. */
static tenon_u32 guest_poll(void *guest, tenon_u32 now_us)
{
    struct machine *m = guest;
    tenon_u32 wait, turn;

    if (m->socks == NULL)
        return SECOND;
    wait = tenon_sock_poll(m->socks, now_us);
    if (m->more)
        wait = 0;
    if (m->h->ending)
        return wait > SECOND ? (tenon_u32)SECOND : wait;
    turn = program_turn(m, now_us);
    wait = turn < wait ? turn : wait;
    m->polls_at_once = wait == 0 ? m->polls_at_once + 1 : 0;
    if (m->polls_at_once > AT_ONCE_MAX)
        history_fail(m->h, "machine %u has wanted to be called at once %u times", m->index, (unsigned)AT_ONCE_MAX);
    return wait;
}

/* ---- start and end ------------------------------------------------------------------------------------ */

static void spare_hidden(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                         const struct tenon_frame *frame, struct wire_fate *fate)
{
    const struct machine *m = arg;

    (void)end, (void)direction, (void)nth;
    if (fate->flips > 0 && wire_damage_can_hide(frame, 14))
        fate->flips = 0;
    if (is_within(m->plan->dark, m->plan->ndarks, machine_now(m)) || m->unplugged)
        fate->drop = 1;
}

static void start(struct machine *m)
{
    const int result = tenon_sock_start(&m->socks, m->arena, m->arena_bytes, &m->plan->conf);

    if (result != TENON_OK)
        history_fail(m->h, "machine %u does not start: %s", m->index, tenon_error_text(result));
    m->polls_at_once = 0;
    program_start(m);
}

void machine_open(struct history *h, unsigned index)
{
    struct machine *m = &h->machine[index];
    struct machine_plan *plan = &h->plan.machine[index];
    const struct wire_guest guest = { guest_input, guest_poll, m };
    const struct wire_host_conf host_conf = { .seed = h->plan.seed * 8 + index, .clock_us = plan->clock_us };
    struct wire_end_conf end;

    m->h = h;
    m->plan = plan;
    m->index = index;
    m->host = wire_host_open_guest(h->wire, &host_conf, &guest);
    plan->conf.device.device = m;
    plan->conf.device.transmit = transmit;
    plan->conf.device.poll = device_poll;
    plan->conf.device.entropy = entropy;
    memset(&end, 0, sizeof(end));
    end.netif = plan->conf.device.netif;
    end.out = plan->out;
    end.in = plan->in;
    end.out.fate = end.in.fate = spare_hidden;
    end.out.fate_arg = end.in.fate_arg = m;
    end.pad = 1;
    m->end = wire_end_open_at(m->host, &end, 1);
    m->arena_bytes = tenon_sock_arena_bytes(&plan->conf);
    m->arena = malloc(m->arena_bytes);
    if (m->end == NULL || m->arena_bytes == 0 || m->arena == NULL)
        history_fail(h, "no machine %u: %s", index, tenon_sock_conf_check(&plan->conf));
    memset(m->arena, 0xA7, m->arena_bytes);
    start(m);
}

/* ---- what goes wrong ---------------------------------------------------------------------------------- */

static void shortage_begins(struct machine *m, const struct shortage *s)
{
    struct tenon_sock_counts counts;
    struct tenon_buf *block;

    tenon_sock_count(m->socks, &counts);
    while (m->nblocks < s->blocks && (block = tenon_sock_block(m->socks)) != NULL)
        m->taken_blocks[m->nblocks++] = block;
    m->nheaders += tn_sock_headers_get(m->socks, m->taken_headers + m->nheaders,
                                       s->headers > m->nheaders ? s->headers - m->nheaders : 0);
    m->taken_bytes = (counts.memory_bytes - counts.memory_used) / 256 * s->memory;
    if (m->taken_memory == NULL && m->taken_bytes > 0)
        m->taken_memory = tn_sock_memory_get(m->socks, m->taken_bytes);
    history_note(m->h, "machine %u is short of %u blocks, %u headers, %zu bytes", m->index, m->nblocks, m->nheaders,
                 m->taken_bytes);
}

static void shortage_ends(struct machine *m)
{
    while (m->nblocks > 0)
        tenon_buf_put(m->taken_blocks[--m->nblocks]);
    while (m->nheaders > 0)
        tenon_buf_put(m->taken_headers[--m->nheaders]);
    if (m->taken_memory != NULL)
        tn_sock_memory_put(m->socks, m->taken_memory, m->taken_bytes);
    m->taken_memory = NULL;
}

static void shortages(struct machine *m)
{
    const struct shortage *now = NULL;
    unsigned i;

    for (i = 0; i < m->plan->nshortages; i++)
        if (is_within(&m->plan->shortage[i].when, 1, machine_now(m)))
            now = &m->plan->shortage[i];
    if (now == m->lacking)
        return;
    shortage_ends(m);
    m->lacking = now;
    if (now != NULL)
        shortage_begins(m, now);
}

static int is_moving(const struct machine *m)
{
    const uint64_t at = m->h->plan.moved_us, now = machine_now(m);

    return at > 0 && now + 2 * SECOND >= at && now < at + 2 * SECOND;
}

static void cable(struct machine *m)
{
    const int out = is_moving(m) || is_within(m->plan->unplugged, m->plan->nunplugged, machine_now(m));

    if (out == m->unplugged)
        return;
    m->unplugged = out;
    m->was_out |= out;
    history_note(m->h, "machine %u is %s", m->index, out ? "unplugged" : "plugged in");
}

static void stalls(struct machine *m)
{
    unsigned i;

    for (i = 0; i < m->plan->nstalls; i++) {
        const struct stall *s = &m->plan->stall[i];

        if (machine_now(m) < s->at_us || machine_now(m) >= s->at_us + TICK_US)
            continue;
        history_note(m->h, "machine %u stands still for %u us", m->index, s->us);
        wire_host_pause(m->host, s->us);
    }
}

static void check_came_back(const struct machine *m)
{
    struct tenon_sock_counts counts;

    tenon_sock_count(m->socks, &counts);
    if (counts.memory_used != 0 || counts.blocks_free != m->plan->conf.blocks ||
        counts.headers_free != m->plan->conf.headers)
        history_fail(m->h, "machine %u has ended, and %zu bytes of memory, %d blocks and %d headers did not come back",
                     m->index, counts.memory_used, m->plan->conf.blocks - counts.blocks_free,
                     m->plan->conf.headers - counts.headers_free);
}

static void restart(struct machine *m, const struct restart *r)
{
    history_note(m->h, "machine %u %s", m->index, r->power ? "is off for a moment" : "restarts");
    m->nwaiting = 0;
    if (r->power) {
        m->nblocks = m->nheaders = 0;
        m->taken_memory = NULL;
        m->lacking = NULL;
        memset(m->arena, (int)history_chance(m->h, 256), m->arena_bytes);
    } else {
        machine_stop(m);
        tenon_sock_stop(m->socks);
        check_came_back(m);
    }
    program_lost(m);
    if (!r->remembers)
        m->remembered = tenon_ip_any();
    start(m);
}

void machine_tick(struct machine *m)
{
    const struct machine_plan *plan = m->plan;
    unsigned i;

    for (i = 0; i < m->h->plan.forged; i++)
        forge(m);
    if (!m->h->healed) {
        shortages(m);
        cable(m);
        stalls(m);
        if (m->restarted < plan->nrestarts && machine_now(m) >= plan->restart[m->restarted].at_us)
            restart(m, &plan->restart[m->restarted++]);
    }
    wire_wake(m->host);
}

void machine_heal(struct machine *m)
{
    struct machine_plan *plan = &m->h->plan.machine[m->index];
    struct wire_line_conf line;
    unsigned d;

    shortage_ends(m);
    plan->nunplugged = plan->ndarks = 0;
    if (is_moving(m))
        m->h->plan.moved_us = 1;    /* it was */
    cable(m);
    for (d = 0; d < 2; d++) {
        line = d == WIRE_OUT ? wire_end_conf(m->end)->out : wire_end_conf(m->end)->in;
        line.loss_ppm = line.duplicate_ppm = line.corrupt_ppm = line.reorder_ppm = 0;
        wire_line_set(m->end, (enum wire_direction)d, &line);
    }
}

void machine_stop(struct machine *m)
{
    shortage_ends(m);
    program_stop(m, (tenon_u32)wire_host_now(m->host));
    (void)tenon_sock_poll(m->socks, (tenon_u32)wire_host_now(m->host));
}

void machine_close(struct machine *m)
{
    tenon_sock_stop(m->socks);
    check_came_back(m);
    m->socks = NULL;
    wire_host_close(m->host);
    free(m->arena);
}
