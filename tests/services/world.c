/* SPDX-License-Identifier: MIT */
/* A history: machines, servers, time, and what must hold. */
#include "history.h"

#include "tests/seeds/emit.h"
#include "tests/seeds/seeds.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_US = 100000, AFTER_HEAL_S = 3 * 3600, QUIET_S = 60 };

/* ---- what is said ----------------------------------------------------------------------------------- */

void history_fail(const struct history *h, const char *format, ...)
{
    va_list args;

    printf("seed %" PRIu64 " at %.6f s: ", h->plan.seed, h->wire != NULL ? (double)history_now(h) / 1e6 : 0.0);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    if (getenv("TENON_SERVICE_SIM_ABORT") != NULL)
        abort();    /* for a debugger, or a sanitizer's trace */
    _Exit(SEEDS_EXIT_FAILED);
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

uint64_t history_now(const struct history *h)
{
    return wire_now(h->wire) - h->start;
}

uint32_t history_chance(struct history *h, uint32_t below)
{
    return (uint32_t)(wire_mix(h->plan.seed ^ wire_mix(++h->chance + (UINT64_C(1) << 40))) >> 20) % below;
}

int history_happens(struct history *h, uint32_t ppm)
{
    return !h->healed && history_chance(h, SECOND) < ppm;
}

int is_within(const struct span_us *spans, unsigned n, uint64_t now)
{
    unsigned i;

    for (i = 0; i < n; i++)
        if (now >= spans[i].from_us && now < spans[i].to_us)
            return 1;
    return 0;
}

tenon_u32 history_net(const struct history *h)
{
    return h->moved ? 0xC6336400UL : 0xC0000200UL;    /* RFC 5737 */
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

/* ---- somebody who has an address of the pool --------------------------------------------------------- */

static void squatter_open(struct history *h)
{
    const struct wire_host_conf host_conf = { .seed = h->plan.seed + 9, .clock_us = 1000 };
    const struct tenon_ip ip = tenon_ip4((tenon_u32)(history_net(h) + 10));
    struct tenon_conf conf;
    struct wire_end_conf end;

    if (!h->plan.squatted)
        return;
    tenon_conf_default(&conf);
    memset(&end, 0, sizeof(end));
    end.netif.mac[0] = 2;
    end.netif.mac[5] = 0x20;
    end.netif.mtu = 1500;
    end.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6;
    end.copy = end.complete_checksums = 1;
    h->squatter = wire_host_open(h->wire, &host_conf, &conf);
    if (h->squatter == NULL || wire_end_open(h->squatter, &end) == NULL ||
        tenon_addr_add(wire_host_stack(h->squatter), 1, &ip, 24) != TENON_OK)
        history_fail(h, "nobody has an address of the pool");
}

/* Who did not hear of him when the address was probed, on a line that loses, would later. */
static void squatter_leaves(struct history *h)
{
    if (h->squatter != NULL)
        wire_host_close(h->squatter);
    h->squatter = NULL;
}

/* ---- time ------------------------------------------------------------------------------------------- */

static void move(struct history *h)
{
    unsigned i;

    history_note(h, "another network");
    h->moved = 1;
    for (i = 0; i < h->plan.nservers; i++)
        server_move(&h->server[i]);
}

static void heal(struct history *h)
{
    unsigned i;

    history_note(h, "all is well");
    h->healed = 1;
    squatter_leaves(h);
    for (i = 0; i < h->plan.nmachines; i++)
        machine_heal(&h->machine[i]);
    for (i = 0; i < h->plan.nservers; i++)
        dhcp_server_heal(&h->server[i]);
}

static void tick(void *arg)
{
    struct history *h = arg;
    unsigned i;

    if (h->ending)
        return;
    if (h->plan.moved_us > 0 && !h->moved && history_now(h) >= h->plan.moved_us)
        move(h);
    if (!h->healed && history_now(h) >= h->plan.heal_us && (h->moved || h->plan.moved_us == 0))
        heal(h);
    for (i = 0; i < h->plan.nservers; i++)
        server_tick(&h->server[i]);
    for (i = 0; i < h->plan.nmachines; i++)
        machine_tick(&h->machine[i]);
    if (wire_at(h->wire, wire_now(h->wire) + TICK_US, tick, h) != 0)
        abort();
}

static int all_content(const struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nmachines; i++)
        if (!program_is_content(&h->machine[i]))
            return 0;
    return h->healed;
}

static void check_unique(const struct history *h)
{
    if (h->plan.nmachines == 2 && tenon_ip_equal(&h->machine[0].ip, &h->machine[1].ip))
        history_fail(h, "both machines have the same address");
}

static void run(struct history *h)
{
    const uint64_t end = h->plan.heal_us + AFTER_HEAL_S * (uint64_t)SECOND;
    unsigned i;

    tick(h);
    while (!all_content(h)) {
        wire_run(h->wire, wire_now(h->wire) + SECOND);
        if (history_now(h) <= end)
            continue;
        for (i = 0; i < h->plan.nmachines; i++)
            program_describe(&h->machine[i]);
        history_fail(h, "%u s after the last fault somebody lacks something", (unsigned)AFTER_HEAL_S);
    }
    check_unique(h);
    for (i = 0; i < h->plan.nmachines; i++)
        program_check_end(&h->machine[i]);
}

static void tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    static const char *const places[] = { "sent", "travels", "received", "lost" };
    tenon_u8 bytes[EMIT_BYTES_MAX];
    uint32_t n = emit_copy(frame, bytes), i;
    (void)end;
    printf("%12.6f %s", (double)history_now(arg) / 1e6, places[place]);
    for (i = 0; i < n && i < 90; i++)
        printf(" %02x", bytes[i]);
    printf("\n");
}

void history_run(struct history *h)
{
    const struct wire_conf conf = { .memory = { world_get, world_put, NULL }, .seed = h->plan.seed,
                                    .start_us = 1000000, .tap = h->verbose ? tap : NULL, .tap_arg = h };
    unsigned i;

    h->wire = wire_open(&conf);
    if (h->wire == NULL)
        abort();
    h->start = wire_now(h->wire);
    for (i = 0; i < h->plan.nservers; i++)
        server_open(h, i);
    squatter_open(h);
    for (i = 0; i < h->plan.nmachines; i++)
        machine_open(h, i);
    run(h);
    h->ending = 1;
    for (i = 0; i < h->plan.nmachines; i++)
        machine_stop(&h->machine[i]);
    wire_run(h->wire, wire_now(h->wire) + QUIET_S * (uint64_t)SECOND);
    for (i = 0; i < h->plan.nmachines; i++)
        machine_close(&h->machine[i]);
    for (i = 0; i < h->plan.nservers; i++)
        server_close(&h->server[i]);
    wire_close(h->wire);
    h->wire = NULL;
}
