/* SPDX-License-Identifier: MIT */
/* A history: the two machines, time, and what goes wrong. */
#include "history.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_US = 5000, AT_ONCE_MAX = 30000, AFTER_HEAL_S = 900, SHORT_SEGMENT = 300 };
/* What was not put together is given up, an error is sent about that, and may come in fragments itself. */
enum { QUIET_S = 2 * 60 + 15 };

static struct history *running;

/* ---- what is said ----------------------------------------------------------------------------------- */

void history_fail(struct history *h, const char *format, ...)
{
    va_list args;

    printf("seed %" PRIu64 " at %.6f s: ", h->plan.seed, h->wire != NULL ? (double)history_now(h) / 1e6 : 0.0);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    if (getenv("TENON_SOCK_SIM_ABORT") != NULL)
        abort();    /* for a debugger, or a sanitizer's trace */
    _Exit(3);
}

void history_note(const struct history *h, const char *format, ...)
{
    va_list args;

    if (!h->verbose)
        return;
    printf("%12.6f ", (double)history_now(h) / 1e6);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

/* The core's own checks. */
void tenon_panic(const char *file, unsigned line)
{
    if (running == NULL)
        abort();
    history_fail(running, "TENON_ASSERT in %s line %u", file, line);
}

/* ---- small things ----------------------------------------------------------------------------------- */

uint64_t history_now(const struct history *h)
{
    return wire_now(h->wire) - h->start;
}

uint32_t history_chance(struct history *h, uint32_t below)
{
    return (uint32_t)(wire_mix(h->plan.seed ^ wire_mix(++h->chance + (UINT64_C(1) << 40))) >> 20) % below;
}

/* How long until somebody asks again who got no answer. Not always as long: where frames find room only while no other
 * waits, an acknowledgement that came with each question would never be heard. And longer when all is well: questions
 * that have no end keep a machine with one block from most of what else comes. */
uint64_t history_pause(struct history *h)
{
    return (15000 + history_chance(h, 20000)) * (h->healed ? 8U : 1U);
}

struct tenon_addr history_addr(const struct history *h, unsigned machine, unsigned port)
{
    const unsigned net = h->plan.nways > 0 ? machine : 0;
    struct tenon_addr addr;

    memset(&addr, 0, sizeof(addr));
    addr.ip = h->plan.v6 ? tenon_ip6(0xFD000000UL, net, 0, machine + 1)
                         : tenon_ip4((tenon_u32)(0x0A000001UL + 256 * net + machine));
    addr.port = (tenon_u16)port;
    return addr;
}

static tenon_u8 stream_byte(const struct session *s, unsigned from, uint64_t at)
{
    const uint64_t key = (s->h->plan.seed * 64 + s->index) * 2 + from;

    return (tenon_u8)(wire_mix(key ^ wire_mix(at / 8)) >> at % 8 * 8);
}

void history_fill(tenon_u8 *to, const struct session *s, unsigned from, uint64_t at, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        to[i] = stream_byte(s, from, at + i);
}

int history_matches(const tenon_u8 *bytes, const struct session *s, unsigned from, uint64_t at, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++)
        if (bytes[i] != stream_byte(s, from, at + i))
            return 0;
    return 1;
}

static void *world_get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void world_put(void *arg, void *mem, size_t bytes)
{
    (void)arg, (void)bytes;
    free(mem);
}

/* ---- the small machine ------------------------------------------------------------------------------- */

static void guest_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    (void)netif, (void)now_us;
    device_receive(guest, frames, n);
}

static tenon_u32 guest_poll(void *guest, tenon_u32 now_us)
{
    struct history *h = guest;
    tenon_u32 wait;
    int awaited;

    if (h->socks == NULL)
        return SECOND;
    h->device.full = 0;
    if (!h->ending)
        (void)end_run(h);
    wait = tenon_sock_poll(h->socks, now_us);
    awaited = wait == 0 && device_is_awaited(h);
    h->polls_at_once = wait == 0 && !awaited ? h->polls_at_once + 1 : 0;
    if (h->polls_at_once > AT_ONCE_MAX)
        history_fail(h, "tenon_sock_poll() has said \"at once\" %u times", (unsigned)AT_ONCE_MAX);
    return awaited ? SECOND : wait;
}

static void spare_fragments(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                            const struct tenon_frame *frame, struct wire_fate *fate)
{
    const struct history *h = arg;
    const unsigned link = h->plan.conf.device.netif.caps & TENON_CAP_NO_LINK ? 0 : 14;

    (void)end, (void)direction, (void)nth;
    if (fate->flips > 0 && wire_damage_can_hide(frame, link))
        fate->flips = 0;
}

static void add_address(struct history *h, unsigned machine)
{
    const struct tenon_addr addr = history_addr(h, machine, 0);

    if (tenon_addr_add(machine == 0 ? tenon_sock_stack(h->socks) : h->peer, 1, &addr.ip, h->plan.v6 ? 64 : 24) !=
        TENON_OK)
        history_fail(h, "machine %u gets no address", machine);
}

void history_small_start(struct history *h)
{
    const int result = tenon_sock_start(&h->socks, h->arena, h->arena_bytes, &h->plan.conf);

    if (result != TENON_OK)
        history_fail(h, "start: %s", tenon_error_text(result));
    add_address(h, 0);
    ways_add(h, 0);
}

static void small_open(struct history *h)
{
    const struct wire_guest guest = { guest_input, guest_poll, h };
    const struct wire_host_conf host_conf = { .seed = h->plan.seed, .clock_us = h->plan.clock_us };
    struct tenon_sock_conf *conf = &h->plan.conf;
    struct wire_end_conf end;
    tenon_u8 *mem;

    memset(&end, 0, sizeof(end));
    h->small_host = wire_host_open_guest(h->wire, &host_conf, &guest);
    conf->device.device = h;
    conf->device.transmit = device_transmit;
    conf->device.poll = device_poll;
    conf->device.entropy = device_entropy;
    conf->event = end_event;
    conf->app = h;
    end.netif = conf->device.netif;
    end.out = h->plan.out;
    end.in = h->plan.in;
    end.out.blackouts = end.in.blackouts = h->plan.blackout;
    end.out.nblackouts = end.in.nblackouts = h->plan.nblackouts;
    end.out.fate = end.in.fate = spare_fragments;
    end.out.fate_arg = end.in.fate_arg = h;
    end.trust = h->plan.trust;
    end.complete_checksums = h->plan.nways > 0;    /* routers pass on what they got */
    end.pad = 1;
    h->small_end = wire_end_open_at(h->small_host, &end, 1);
    h->arena_bytes = tenon_sock_arena_bytes(conf);
    mem = malloc(h->arena_bytes + 2 * GUARD + h->plan.arena_shift);
    if (h->small_end == NULL || h->arena_bytes == 0 || mem == NULL)
        history_fail(h, "no small machine: %s", tenon_sock_conf_check(conf));
    memset(mem, 0xA7, h->arena_bytes + 2 * GUARD + h->plan.arena_shift);
    h->arena = mem + GUARD + h->plan.arena_shift;
    history_small_start(h);
}

/* ---- the other machine ------------------------------------------------------------------------------- */

static int peer_alloc_fails(void *arg, struct wire_host *host, enum wire_alloc kind, uint64_t nth, int fails)
{
    struct history *h = arg;

    (void)host, (void)kind, (void)nth;
    if (h->wire == NULL || history_now(h) >= h->peer_ppm_until)
        return fails;
    return history_chance(h, SECOND) < h->peer_ppm;
}

static void peer_open(struct history *h)
{
    const struct wire_host_conf host_conf = { .seed = h->plan.seed + 1, .clock_us = h->plan.clock_us,
                                              .fail = { .decide = peer_alloc_fails, .arg = h } };
    struct wire_end_conf end;

    memset(&end, 0, sizeof(end));
    h->peer_host = wire_host_open(h->wire, &host_conf, &h->plan.peer);
    if (h->peer_host == NULL)
        abort();
    h->peer = wire_host_stack(h->peer_host);
    end.netif = h->plan.conf.device.netif;
    end.netif.mac[5] = 2;
    end.netif.mru = 0;
    end.netif.flags |= TENON_NETIF_NO_DAD;    /* it listens from the beginning */
    end.netif.caps &= TENON_CAP_NO_LINK;
    end.copy = 1;
    end.complete_checksums = h->plan.nways > 0;
    end.hub = h->plan.nways > 0 ? h->plan.way[0].conf.hub[1] : 0;
    h->peer_end = wire_end_open(h->peer_host, &end);
    if (h->peer_end == NULL)
        abort();
}

/* ---- what goes wrong -------------------------------------------------------------------------------- */

static void shortage_begins(struct history *h, const struct shortage *s)
{
    struct sock_memory *memory = &h->socks->memory;
    const size_t want = (memory->bytes - memory->used) / 256 * s->memory;
    struct tenon_buf *block;

    history_note(h, "short of %u blocks, %u headers, %zu bytes", s->blocks, s->headers, want);
    while (h->nblocks < s->blocks && (block = tenon_sock_block(h->socks)) != NULL)
        h->taken_blocks[h->nblocks++] = block;
    h->nheaders += tn_sock_headers_get(h->socks, h->taken_headers + h->nheaders,
                                       s->headers > h->nheaders ? s->headers - h->nheaders : 0);
    if (h->taken_memory == NULL && want > 0) {
        h->taken_memory = tn_sock_memory_get(h->socks, want);
        h->taken_bytes = want;
    }
    if (s->peer_ppm > 0) {
        h->peer_ppm = s->peer_ppm;
        h->peer_ppm_until = s->to_us;
    }
}

void history_shortage_ends(struct history *h)
{
    while (h->nblocks > 0)
        tenon_buf_put(h->taken_blocks[--h->nblocks]);
    while (h->nheaders > 0)
        tenon_buf_put(h->taken_headers[--h->nheaders]);
    if (h->taken_memory != NULL)
        tn_sock_memory_put(h->socks, h->taken_memory, h->taken_bytes);
    h->taken_memory = NULL;
}

static void shortages(struct history *h)
{
    const uint64_t now = history_now(h);
    unsigned i;

    for (i = 0; i < h->plan.nshortages; i++) {
        const struct shortage *s = &h->plan.shortage[i];

        if (now >= s->to_us && now < s->to_us + TICK_US)
            history_shortage_ends(h);
        if (now >= s->from_us && now < s->from_us + TICK_US)
            shortage_begins(h, s);
    }
}

/* A line takes less from now on. */
static void narrows(struct history *h)
{
    const struct wire_end_conf *end = wire_end_conf(h->small_end);
    const uint64_t now = history_now(h);
    unsigned d;

    for (d = 0; d < 2; d++) {
        const struct narrow *narrow = &h->plan.narrow[d];
        struct wire_line_conf line = d == WIRE_OUT ? end->out : end->in;

        if (narrow->mtu == 0 || now < narrow->at_us || now >= narrow->at_us + TICK_US)
            continue;
        history_note(h, "packets %s of %u bytes at most", d == WIRE_OUT ? "out" : "in", narrow->mtu);
        line.mtu = narrow->mtu;
        line.mtu_silent = narrow->silent;
        wire_line_set(h->small_end, (enum wire_direction)d, &line);
    }
}

static int is_out(const struct history *h, int address)
{
    const uint64_t now = history_now(h);
    unsigned i;

    for (i = 0; i < h->plan.noutages; i++)
        if (h->plan.outage[i].address == address && now >= h->plan.outage[i].from_us && now < h->plan.outage[i].to_us)
            return 1;
    return 0;
}

static void outages(struct history *h)
{
    const struct tenon_addr addr = history_addr(h, 0, 0);
    struct tenon *stack = tenon_sock_stack(h->socks);
    int result = TENON_OK;

    if (is_out(h, 0) != h->unplugged) {
        h->unplugged = !h->unplugged;
        history_note(h, "the link is %s", h->unplugged ? "down" : "up");
        result = tenon_netif_link(stack, 1, !h->unplugged);
    }
    if (result == TENON_OK && is_out(h, 1) != h->nameless) {
        h->nameless = !h->nameless;
        history_note(h, "the address is %s", h->nameless ? "taken away" : "back");
        result = h->nameless ? tenon_addr_remove(stack, 1, &addr.ip)
                             : tenon_addr_add(stack, 1, &addr.ip, h->plan.v6 ? 64 : 24);
    }
    if (result != TENON_OK)
        history_fail(h, "an outage: %s", tenon_error_text(result));
}

static void stalls(struct history *h)
{
    const uint64_t now = history_now(h);
    unsigned i;

    for (i = 0; i < h->plan.nstalls; i++) {
        const struct stall *s = &h->plan.stall[i];

        if (now < s->at_us || now >= s->at_us + TICK_US)
            continue;
        history_note(h, "something stands still for %u us", s->us);
        if (s->kind == STALL_PROGRAM)
            wire_host_pause(h->small_host, s->us);
        else if (s->kind == STALL_CLOCK)
            wire_host_jump(h->small_host, s->us);
        else
            h->device.stuck_until = wire_now(h->wire) + s->us;
    }
}

/* From now on nothing is lost, nothing is short, and who sends what is too long is told. */
static void heal(struct history *h)
{
    struct wire_line_conf line;
    unsigned d;

    history_note(h, "the network is well");
    h->healed = 1;
    history_shortage_ends(h);
    for (d = 0; d < 2; d++) {
        line = d == WIRE_OUT ? h->plan.out : h->plan.in;    /* without what was dark */
        line.mtu = h->plan.narrow[d].mtu;
        line.loss_ppm = line.duplicate_ppm = line.corrupt_ppm = line.reorder_ppm = 0;
        line.jitter_us = 0;
        line.queue_frames = 0;
        wire_line_set(h->small_end, (enum wire_direction)d, &line);
    }
}

/* ---- time ------------------------------------------------------------------------------------------- */

static void tick(void *arg)
{
    struct history *h = arg;

    if (h->ending)
        return;
    if (!h->healed) {
        shortages(h);
        narrows(h);
        outages(h);
        stalls(h);
        intrusions(h);
        restarts(h);
    }
    ways(h);
    if (!h->healed && history_now(h) >= h->plan.heal_us)
        heal(h);
    peer_run(h);
    check_step(h);
    wire_wake(h->peer_host);
    wire_wake(h->small_host);
    if (wire_at(h->wire, wire_now(h->wire) + TICK_US, tick, h) != 0)
        abort();
}

static int is_done(const struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        const struct session *s = &h->session[i];

        if (!s->small_done || (!s->peer_closed && s->peer_opened) || (s->strict && !s->peer_closed))
            return 0;
    }
    return h->healed;
}

/* Where a ring has room for one packet each waits for the acknowledgement of the one before, which may be delayed.
 * Where there is one block, and a part of it is given back, the window opens for what finds it still held: it comes
 * again when the longest timer has run out, behind a question of ARP that takes the block, and once more. */
static uint64_t patience_us(const struct history *h)
{
    const struct plan *plan = &h->plan;
    const int one_block = plan->conf.blocks == tn_sock_blocks_least(plan->conf.device.flags);
    uint64_t us = AFTER_HEAL_S * (uint64_t)SECOND;
    unsigned i;

    for (i = 0; i < plan->nsessions; i++) {
        const struct session_plan *s = &plan->session[i];

        if (s->kind >= UDP_SERVER)
            continue;
        us += (uint64_t)(s->bytes[0] / s->most) * plan->peer.tcp_delack_us;
        if (one_block && s->parts)
            us += (uint64_t)(s->bytes[1] / SHORT_SEGMENT) * 2 * plan->peer.tcp_rto_max_us;
    }
    return us;
}

static void stalled(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        const struct session *s = &h->session[i];

        if (s->small_done && s->peer_closed)
            continue;
        printf("  session %u: descriptor %d, sent %llu, got %llu of %llu, holds %u; the other sent %llu, got %llu, "
               "opened %u, finished %u, closed %u\n", i, s->end != NULL ? s->end->sk : 0,
               (unsigned long long)s->sent, (unsigned long long)s->got, (unsigned long long)s->handed, s->nheld,
               (unsigned long long)s->peer_sent, (unsigned long long)s->peer_got, s->peer_opened, s->peer_finished,
               s->peer_closed);
    }
    history_fail(h, "%u s after the last fault there are sessions that have not ended",
                 (unsigned)(patience_us(h) / SECOND));
}

static void run_sessions(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        struct session *s = &h->session[i];

        s->h = h;
        s->index = i;
        s->plan = &h->plan.session[i];
        s->strict = s->plan->finish < FINISHES_IN_ORDER && !s->plan->peer_aborts;
    }
    end_start(h);
    peer_start(h);
    tick(h);
    while (!is_done(h)) {
        wire_run(h->wire, wire_now(h->wire) + SECOND);
        if (history_now(h) > h->plan.heal_us + patience_us(h))
            stalled(h);
    }
}

static void check_bytes(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        const struct session *s = &h->session[i];

        if (!s->strict || s->plan->kind >= UDP_SERVER)
            continue;
        if (s->handed != s->plan->bytes[1] || s->peer_got != s->plan->bytes[0])
            history_fail(h, "session %u: %llu of %u bytes have arrived here, %llu of %u there", i,
                         (unsigned long long)s->handed, s->plan->bytes[1], (unsigned long long)s->peer_got,
                         s->plan->bytes[0]);
        if (s->got != s->handed && !s->failed)    /* after a reset it need not give back what it holds */
            history_fail(h, "session %u: %llu of %llu bytes were given back", i, (unsigned long long)s->got,
                         (unsigned long long)s->handed);
    }
}

static void end(struct history *h)
{
    end_delete_all(h);
    peer_stop(h);
    wire_wake(h->small_host);
    wire_wake(h->peer_host);
    wire_run(h->wire, wire_now(h->wire) + QUIET_S * (uint64_t)SECOND);
    h->ending = 1;
    wire_run(h->wire, wire_now(h->wire) + SECOND);
    check_quiet(h);
    device_stop(h);
    tenon_sock_stop(h->socks);
    check_stopped(h);
    h->socks = NULL;
    wire_host_close(h->small_host);
    wire_host_close(h->peer_host);
    ways_close(h);
    wire_close(h->wire);
    h->wire = NULL;
    free(h->arena - GUARD - h->plan.arena_shift);
}

void history_run(struct history *h)
{
    const struct wire_conf conf = { .memory = { world_get, world_put, NULL }, .seed = h->plan.seed,
                                    .start_us = 1000000 };
    unsigned i;

    running = h;
    h->wire = wire_open(&conf);
    if (h->wire == NULL)
        abort();
    h->start = wire_now(h->wire);
    small_open(h);
    peer_open(h);
    add_address(h, 1);
    ways_add(h, 1);
    ways_open(h);
    h->baseline = check_memory(h);
    run_sessions(h);
    check_bytes(h);
    end(h);
    running = NULL;
    for (i = 0; i < TENON_ARRAY_LEN(h->end); i++)
        free(h->end[i].ring);
}
