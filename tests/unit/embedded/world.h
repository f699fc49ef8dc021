/* SPDX-License-Identifier: MIT */
/* Two machines on a wire, each with an arena and a device that works as hardware with DMA does: received frames are
 * written into blocks of the stack, sent frames are read from where they lie, later, when they are on the line.
 *
 * The wire's tap looks at where the bytes of every frame lie that machine 0 sends: in a ring of it, or elsewhere. */
#ifndef TENON_TESTS_EMBEDDED_WORLD_H
#define TENON_TESTS_EMBEDDED_WORLD_H

#include "embedded/tenon_sock.h"
#include "ports/wire/wire.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { WORLD_SENDERS = 2, WORLD_RINGS = 4, WORLD_RX_OFF = 2 };

struct machine {
    struct world *world;
    struct tenon_socks *socks;
    struct wire_host *host;
    struct wire_end *end;
    struct tenon_sock_conf conf;
    tenon_u8 *arena;
    size_t arena_bytes;
    const tenon_u8 *rings[WORLD_RINGS];    /* where payload may lie when it is sent */
    tenon_u32 ring_bytes[WORLD_RINGS];
    unsigned frames_in_ring;               /* sent frames that have payload in a ring ... */
    unsigned frames_elsewhere;             /* ... and a span that is neither that nor the headers */
    unsigned frames_of_one;                /* ... and that are of one piece, headers included */
    unsigned frames_of_many;               /* ... and that are of more than two */
    unsigned events[64];                   /* of each descriptor, or-ed; by index */
    tenon_u8 *written;                     /* where the last IPv4 frame with payload lies */
    struct tenon_buf *block;               /* ... and the block of it */
    unsigned filled;                       /* blocks with frames in them */
    unsigned full;                         /* frames for which no block was free */
    unsigned longest;                      /* bytes of the longest frame that came */
    void (*event)(struct machine *machine, int sk, unsigned events);
    void (*turn)(struct machine *machine);    /* what the program does before each poll; or NULL */
};

struct world {
    struct wire *wire;
    struct machine m[WORLD_SENDERS];
};

static void *world_get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void world_put(void *arg, void *mem, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(mem);
}

/* ---- the device ---- */

static unsigned device_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    struct machine *machine = device;

    return wire_host_ops()->transmit(machine->host, 1, frames, n);
}

static int device_entropy(void *device, void *bytes, size_t n)
{
    struct machine *machine = device;

    return wire_host_ops()->entropy(machine->host, bytes, n);
}

/* A device that knows lengths asks for a block of that. */
static struct tenon_buf *guest_block(struct machine *machine, const struct tenon_frame *frame)
{
    unsigned bytes = WORLD_RX_OFF, k;

    if (!(machine->conf.device.flags & TENON_SOCK_LENGTHS))
        return tenon_sock_block(machine->socks);
    for (k = 0; k < frame->nspans; k++)
        bytes += frame->spans[k].len;
    return tenon_sock_block_for(machine->socks, bytes);
}

/* What DMA does: the frame is written into a block, as far as it has room, and its length told. */
static void guest_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct machine *machine = guest;
    unsigned i, k;

    (void)netif;
    (void)now_us;
    for (i = 0; i < n; i++) {
        struct tenon_buf *block = guest_block(machine, &frames[i]);
        unsigned len = 0;

        if (block == NULL) {
            machine->full++;
            continue;
        }
        machine->filled++;
        for (k = 0; k < frames[i].nspans; k++) {
            if (WORLD_RX_OFF + len + frames[i].spans[k].len <= block->size)
                memcpy(block->data + WORLD_RX_OFF + len, tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len);
            len += frames[i].spans[k].len;
        }
        if (len > machine->longest)
            machine->longest = len;
        if (len > 66 && block->data[WORLD_RX_OFF + 12] == 8 && block->data[WORLD_RX_OFF + 13] == 0) {
            machine->block = block;
            machine->written = block->data + WORLD_RX_OFF;
        }
        tenon_sock_input(machine->socks, block, WORLD_RX_OFF, len,
                         frames[i].csum == TENON_CSUM_PARTIAL ? TENON_CSUM_GOOD : frames[i].csum);
    }
}

static tenon_u32 guest_poll(void *guest, tenon_u32 now_us)
{
    struct machine *machine = guest;

    if (machine->turn != NULL)
        machine->turn(machine);
    return tenon_sock_poll(machine->socks, now_us);
}

static void machine_event(void *app, int sk, unsigned events)
{
    struct machine *machine = app;

    machine->events[(sk - 1) % 64] |= events;
    if (machine->event != NULL)
        machine->event(machine, sk, events);
}

/* ---- witnesses ---- */

static int in_ring(const struct machine *machine, const struct tenon_span *span)
{
    unsigned i;

    for (i = 0; i < WORLD_RINGS; i++)
        if (machine->rings[i] != NULL && tenon_span_data(span) >= machine->rings[i] &&
            tenon_span_data(span) + span->len <= machine->rings[i] + machine->ring_bytes[i])
            return 1;
    return 0;
}

static void world_tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    struct world *world = arg;
    unsigned i, k, inside;

    if (place != WIRE_SENT)
        return;
    for (i = 0; i < WORLD_SENDERS; i++) {
        struct machine *machine = &world->m[i];

        if (machine->end != end)
            continue;
        for (k = 0, inside = 0; k < frame->nspans; k++)
            inside += (unsigned)in_ring(machine, &frame->spans[k]);
        machine->frames_in_ring += inside > 0;
        machine->frames_of_one += inside == 1 && frame->nspans == 1;
        machine->frames_of_many += inside > 1;
        machine->frames_elsewhere += frame->nspans > 1 && inside + 1 != frame->nspans;
    }
}

/* ---- making it ---- */

UNIT_INLINE struct tenon_ip world_ip(unsigned i, int v6)
{
    return v6 ? tenon_ip6(0xFD000000UL, 0, 0, i + 1) : tenon_ip4(0x0A000001U + i);
}

UNIT_INLINE struct tenon_addr world_addr(unsigned i, int v6, unsigned port)
{
    struct tenon_addr addr;

    memset(&addr, 0, sizeof(addr));
    addr.ip = world_ip(i, v6);
    addr.port = (tenon_u16)port;
    return addr;
}

static void machine_conf(struct machine *machine, unsigned i)
{
    struct tenon_sock_device *device = &machine->conf.device;

    memset(&machine->conf, 0, sizeof(machine->conf));
    device->netif.mac[0] = 2;
    device->netif.mac[5] = (tenon_u8)(i + 1);
    device->netif.mtu = 1500;
    device->netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    device->device = machine;
    device->transmit = device_transmit;
    device->entropy = device_entropy;
    machine->conf.event = machine_event;
    machine->conf.app = machine;
}

static int machine_start(struct world *world, unsigned i)
{
    const struct wire_guest guest = {guest_input, guest_poll, &world->m[i]};
    struct wire_host_conf host_conf = {.seed = i + 1, .poison = 1};
    struct wire_end_conf end_conf;
    struct machine *machine = &world->m[i];
    int v6;

    machine->world = world;
    machine->host = wire_host_open_guest(world->wire, &host_conf, &guest);
    machine->arena_bytes = tenon_sock_arena_bytes(&machine->conf);
    machine->arena = malloc(machine->arena_bytes);
    if (machine->host == NULL || machine->arena == NULL)
        return 0;
    memset(machine->arena, 0xA5, machine->arena_bytes);
    if (tenon_sock_start(&machine->socks, machine->arena, machine->arena_bytes, &machine->conf) != TENON_OK)
        return 0;
    memset(&end_conf, 0, sizeof(end_conf));
    end_conf.netif = machine->conf.device.netif;
    end_conf.out.delay_us = 1000;
    end_conf.cut = 1;
    machine->end = wire_end_open_at(machine->host, &end_conf, 1);
    for (v6 = 0; v6 <= TENON_WITH_IPV6; v6++) {
        const struct tenon_ip ip = world_ip(i, v6);

        if (v6 && (machine->conf.device.netif.flags & TENON_NETIF_NO_IP6))
            break;
        if (tenon_addr_add(tenon_sock_stack(machine->socks), 1, &ip, v6 ? 64 : 24) != TENON_OK)
            return 0;
    }
    return machine->end != NULL;
}

/* adjust: changes what machine_conf() has said; or NULL */
UNIT_INLINE int world_open(struct world *world, void (*adjust)(struct machine *machine, unsigned i))
{
    struct wire_conf wire_conf = {.memory = {world_get, world_put, NULL}, .seed = 1, .start_us = 1000000,
                                  .tap = world_tap, .tap_arg = world};
    unsigned i;

    memset(world, 0, sizeof(*world));
    world->wire = wire_open(&wire_conf);
    for (i = 0; i < WORLD_SENDERS; i++) {
        machine_conf(&world->m[i], i);
        if (adjust != NULL)
            adjust(&world->m[i], i);
        if (!machine_start(world, i))
            return 0;
    }
    return 1;
}

UNIT_INLINE void world_run(struct world *world, uint64_t us)
{
    wire_wake(world->m[0].host);
    wire_wake(world->m[1].host);
    wire_run(world->wire, wire_now(world->wire) + us);
}

/* Loss, reordering and duplicates on the line out of a machine. */
UNIT_INLINE void world_faults(struct machine *machine, uint32_t loss_ppm, uint32_t other_ppm)
{
    struct wire_line_conf line = wire_end_conf(machine->end)->out;

    line.loss_ppm = loss_ppm;
    line.reorder_ppm = other_ppm;
    line.reorder_us = 5000;
    line.duplicate_ppm = other_ppm;
    wire_line_set(machine->end, WIRE_OUT, &line);
}

UNIT_INLINE struct tenon_sock_counts world_count(const struct machine *machine)
{
    struct tenon_sock_counts counts;

    tenon_sock_count(machine->socks, &counts);
    return counts;
}

/* The line to a machine takes packets of so many bytes only. */
UNIT_INLINE void world_narrow(struct machine *machine, unsigned mtu)
{
    struct wire_line_conf line = wire_end_conf(machine->end)->in;

    line.mtu = (tenon_u16)mtu;
    wire_line_set(machine->end, WIRE_IN, &line);
}

/* What the two layers have copied of payload. */
UNIT_INLINE unsigned long world_copied(const struct machine *machine)
{
    return (unsigned long)tenon_stat(tenon_sock_stack(machine->socks), TENON_STAT_COPIED_BYTES) +
           world_count(machine).copied_bytes;
}

/* All must come back: memory, blocks, buffers. */
UNIT_INLINE void world_close(struct world *world)
{
    unsigned i;

    for (i = 0; i < WORLD_SENDERS; i++)
        tenon_sock_stop(world->m[i].socks);
    for (i = 0; i < WORLD_SENDERS; i++)
        wire_host_close(world->m[i].host);
    for (i = 0; i < WORLD_SENDERS; i++) {
        const struct machine *machine = &world->m[i];
        const struct tenon_sock_counts counts = world_count(machine);

        CHECK_EQ_U(counts.memory_used, 0);
        CHECK_EQ_U(counts.blocks_free, machine->conf.blocks != 0 ? machine->conf.blocks : 8);
        CHECK_EQ_U(counts.headers_free, machine->conf.headers != 0 ? machine->conf.headers : TENON_WITH_SPEED ? 16 : 8);
        CHECK_EQ_U(tenon_stat(tenon_sock_stack(machine->socks), TENON_STAT_NO_MEMORY), 0);
        free(world->m[i].arena);
    }
    wire_close(world->wire);
}

/* ---- applications ---- */

UNIT_INLINE tenon_u8 world_byte(tenon_u32 i)
{
    return (tenon_u8)(i * 2654435761UL >> 13);
}

/* A ring of a machine: known to its witness. */
UNIT_INLINE void *world_ring(struct machine *machine, unsigned which, tenon_u32 bytes)
{
    tenon_u8 *ring = malloc(bytes);

    machine->rings[which] = ring;
    machine->ring_bytes[which] = bytes;
    return ring;
}

UNIT_INLINE void world_free_rings(struct world *world)
{
    unsigned i, k;

    for (i = 0; i < WORLD_SENDERS; i++)
        for (k = 0; k < WORLD_RINGS; k++) {
            free((void *)(size_t)world->m[i].rings[k]);
            world->m[i].rings[k] = NULL;
        }
}

/* Send as many of the bytes [*at, end) as the ring takes. */
UNIT_INLINE void world_send(struct machine *machine, int sk, tenon_u32 *at, tenon_u32 end, unsigned most)
{
    tenon_u8 *p;
    int room, i;

    while (*at < end && (room = tenon_sock_ask_sbuf(machine->socks, sk, &p)) > 0) {
        if ((unsigned)room > most)
            room = (int)most;
        if ((tenon_u32)room > end - *at)
            room = (int)(end - *at);
        for (i = 0; i < room; i++)
            p[i] = world_byte(*at + (tenon_u32)i);
        if (!CHECK_EQ_I(tenon_sock_send(machine->socks, sk, p, (unsigned)room, 0), TENON_OK))
            return;
        *at += (tenon_u32)room;
    }
}

/* Read what there is, compare it, give it back. @return what ask_rbuf() said last */
UNIT_INLINE int world_receive(struct machine *machine, int sk, tenon_u32 *at)
{
    tenon_u8 *p;
    int n, i, wrong = 0;

    while ((n = tenon_sock_ask_rbuf(machine->socks, sk, &p)) > 0) {
        CHECK(p >= machine->arena && p + n <= machine->arena + machine->arena_bytes);
        for (i = 0; i < n; i++)
            wrong += p[i] != world_byte(*at + (tenon_u32)i);
        *at += (tenon_u32)n;
        CHECK_EQ_I(tenon_sock_read_done(machine->socks, sk, p, (unsigned)n), TENON_OK);
    }
    CHECK_EQ_I(wrong, 0);
    return n;
}

/* Send back what has come; what the ring has no room for stays where it is. */
UNIT_INLINE void world_echo(struct machine *machine, int sk, tenon_u8 **at, int *left)
{
    tenon_u8 *to;
    int n;

    for (;;) {
        if (*left <= 0)
            *left = tenon_sock_ask_rbuf(machine->socks, sk, at);
        n = *left > 0 ? tenon_sock_ask_sbuf(machine->socks, sk, &to) : 0;
        if (n <= 0)
            return;
        n = n < *left ? n : *left;
        memcpy(to, *at, (size_t)n);
        CHECK_EQ_I(tenon_sock_send(machine->socks, sk, to, (unsigned)n, 0), TENON_OK);
        CHECK_EQ_I(tenon_sock_read_done(machine->socks, sk, *at, (unsigned)n), TENON_OK);
        *at += n;
        *left -= n;
    }
}

#endif
