/* SPDX-License-Identifier: MIT */
/* The arena and its limits; devices that cannot gather, or have no DMA; the original names. */
#include "embedded/world.h"

#include "embedded/sock_internal.h"
#include "embedded/tenon_sock_names.h"

struct tenon_socks *tenon_sock_only;

enum { PORT = 80, FULL = 1460, LINK_BYTES = TENON_WITH_LINKS ? 18 : 14 };

#define BLOCK_TOO_SMALL (TENON_WITH_LINKS ? "block_bytes: mtu + 18" : "block_bytes: mtu + 14")

/* ---- the arena ---- */

/* A field of two bytes, and what it is set to. */
struct field {
    const char *name;
    size_t at;
    unsigned value;
};

#define SOCK_FIELD(name) offsetof(struct tenon_sock_conf, name)
#define NETIF_FIELD(name) \
    (SOCK_FIELD(device) + offsetof(struct tenon_sock_device, netif) + offsetof(struct tenon_netif_conf, name))

static tenon_u16 *field_of(struct tenon_sock_conf *conf, const struct field *field)
{
    return (tenon_u16 *)(void *)((char *)conf + field->at);
}

UNIT_TEST(arena_too_small_or_conf_wrong)
{
    static const struct field rows[] = { { "socks", SOCK_FIELD(socks), 65 },
                                         { "ports", SOCK_FIELD(ports), 5 },
                                         { "blocks", SOCK_FIELD(blocks), 1 },
                                         { "blocks", SOCK_FIELD(blocks), 4097 },
                                         { BLOCK_TOO_SMALL, SOCK_FIELD(block_bytes), 512 },
                                         { BLOCK_TOO_SMALL, SOCK_FIELD(block_bytes), 1500 + LINK_BYTES - 1 },
                                         { "block_bytes", SOCK_FIELD(block_bytes), 32001 },
                                         { "device.netif.mtu", NETIF_FIELD(mtu), 575 },
                                         { "device.netif.mtu", NETIF_FIELD(mtu), 9001 },
                                         { "device.netif.mru", NETIF_FIELD(mru),
                                           TENON_WITH_IPV6 ? 1279 : 575 },
                                         { "headers", SOCK_FIELD(headers), 2 },
                                         { "headers", SOCK_FIELD(headers), 4097 },
                                         { "packets", SOCK_FIELD(packets), 33 },
                                         { "window", SOCK_FIELD(window), 511 },
                                         { "tcp_mss_min",
                                           SOCK_FIELD(stack) + offsetof(struct tenon_conf, tcp_mss_min), 9 } };
    struct machine machine;
    struct tenon_socks *socks = NULL;
    tenon_u8 *arena;
    size_t bytes;
    unsigned i;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    bytes = tenon_sock_arena_bytes(&machine.conf);
    arena = malloc(bytes);
    memset(arena, 0x5A, bytes);
    CHECK(bytes > 8 * 1518);
    CHECK_EQ_I(tenon_sock_start(&socks, arena, bytes - 1, &machine.conf), TENON_ENOMEM);
    CHECK_EQ_I(tenon_sock_start(&socks, NULL, bytes, &machine.conf), TENON_EINVAL);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tenon_sock_conf conf = machine.conf;

        unit_row(rows[i].name);
        *field_of(&conf, &rows[i]) = (tenon_u16)rows[i].value;
        CHECK_EQ_S(tenon_sock_conf_check(&conf), rows[i].name);
        CHECK_EQ_U(tenon_sock_arena_bytes(&conf), 0);
        CHECK_EQ_I(tenon_sock_start(&socks, arena, bytes, &conf), TENON_EINVAL);
    }
    unit_row(NULL);
    machine.conf.blocks = 2;
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
    machine.conf.device.flags = TENON_SOCK_CONTIGUOUS;
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), "blocks");
    machine.conf.blocks = 3;
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
    machine.conf.device.flags = TENON_SOCK_LENGTHS;
    machine.conf.blocks = 1;
    machine.conf.headers = 3;
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), "headers");
    machine.conf.headers = 4;
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
    machine.conf.device.flags |= TENON_SOCK_CONTIGUOUS;
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), "blocks");
    machine.conf.blocks = 3;
    machine.conf.headers = 0;
    machine.conf.device.transmit = NULL;
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), "device");
    machine.conf.device.transmit = device_transmit;
    machine.conf.device.entropy = NULL;
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), "device");
    for (i = 0; i < bytes; i++)
        if (!CHECK_EQ_U(arena[i], 0x5A))
            break;
    CHECK(socks == NULL);
    free(arena);
}

/* The largest and the smallest that tenon_sock.h names are taken. */
UNIT_TEST(conf_at_its_limits)
{
    static const struct field rows[] = { { "socks", SOCK_FIELD(socks), 1 },
                 { "socks", SOCK_FIELD(socks), 64 },
                 { "ports", SOCK_FIELD(ports), 4 },
                 { "blocks", SOCK_FIELD(blocks), 2 },
                 { "blocks", SOCK_FIELD(blocks), 4096 },
                 { "block_bytes", SOCK_FIELD(block_bytes), 32000 },
                 { "headers", SOCK_FIELD(headers), 3 },
                 { "headers", SOCK_FIELD(headers), 4096 },
                 { "packets", SOCK_FIELD(packets), 32 },
                 { "window", SOCK_FIELD(window), 512 },
                 { "mtu", NETIF_FIELD(mtu), 576 },
                 { "mtu", NETIF_FIELD(mtu), 9000 },
                 { "mru", NETIF_FIELD(mru), TENON_WITH_IPV6 ? 1280 : 576 } };
    struct machine machine;
    unsigned i;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tenon_sock_conf conf = machine.conf;

        unit_row(rows[i].name);
        *field_of(&conf, &rows[i]) = (tenon_u16)rows[i].value;
        CHECK_EQ_S(tenon_sock_conf_check(&conf), NULL);
        CHECK(tenon_sock_arena_bytes(&conf) > 0);
    }
    unit_row(NULL);
}

/* What the program leaves open is as tenon_sock.h says: the same arena as when it says so. */
UNIT_TEST(conf_left_open)
{
    static const struct field rows[] = { { "socks", SOCK_FIELD(socks), 4 },
                 { "ports", SOCK_FIELD(ports), 4 },
                 { "conns", SOCK_FIELD(conns), 6 },
                 { "blocks", SOCK_FIELD(blocks), 8 },
                 { "block_bytes", SOCK_FIELD(block_bytes), 1518 },
                 { "headers", SOCK_FIELD(headers), 16 },
                 { "packets", SOCK_FIELD(packets), 8 } };
    struct machine machine;
    unsigned i;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tenon_sock_conf conf = machine.conf;
        tenon_u16 *field = field_of(&conf, &rows[i]);

        unit_row(rows[i].name);
        *field = (tenon_u16)rows[i].value;
        CHECK_EQ_U(tenon_sock_arena_bytes(&conf), tenon_sock_arena_bytes(&machine.conf));
        *field = (tenon_u16)(rows[i].value + 64U);
        if (tenon_sock_conf_check(&conf) == NULL)
            CHECK(tenon_sock_arena_bytes(&conf) > tenon_sock_arena_bytes(&machine.conf));
    }
    unit_row(NULL);
}

/* docs/guide/embedded.md: the arena of its worked example, whose numbers stand there for builds that leave
 * nothing out. */
UNIT_TEST(arena_of_the_guide)
{
    const size_t arena = sizeof(void *) == 8 ? 44400 : 37600;
    struct machine machine;
    size_t bytes;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    bytes = tenon_sock_arena_bytes(&machine.conf);
    CHECK(bytes > 0 && bytes <= arena);
}

/* The least block that is taken has room for a frame of the MTU, tag included: segments of that size arrive. */
static void least_blocks(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.block_bytes = (tenon_u16)(1500 + LINK_BYTES + WORLD_RX_OFF);
}

UNIT_TEST(block_of_one_frame_takes_full_segments)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 4 * (FULL + TENON_SOCK_PACKET_BYTES);
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i;

    if (!CHECK(world_open(&world, least_blocks)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    for (i = 0; i < 100 && got < 20000; i++) {
        world_send(&world.m[0], client, &sent, 20000, FULL);
        world_run(&world, 10000);
        (void)world_receive(&world.m[1], server, &got);
    }
    CHECK_EQ_U(got, 20000);
    CHECK_EQ_U(tenon_stat(tenon_sock_stack(world.m[0].socks), TENON_STAT_TCP_RETRANSMIT), 0);
    world_close(&world);
    world_free_rings(&world);
}

/* ---- blocks for smaller packets than the link has ---- */

enum { SMALL4 = 576, SMALL6 = 1280 };

static unsigned small_packet;    /* the largest that machine 0 takes */

/* Machine 0 sends what the link has, and takes less; it has blocks for just that. Machine 1 could take all. */
static void small_blocks(struct machine *machine, unsigned i)
{
    struct tenon_sock_conf *conf = &machine->conf;

    if (i == 1)
        return;
    conf->device.netif.mru = (tenon_u16)small_packet;
    if (small_packet < SMALL6)
        conf->device.netif.flags |= TENON_NETIF_NO_IP6;
    conf->block_bytes = (tenon_u16)(small_packet + LINK_BYTES + WORLD_RX_OFF);
}

UNIT_TEST(blocks_for_small_packets_are_as_small)
{
    struct machine machine;
    size_t large;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    large = tenon_sock_arena_bytes(&machine.conf);
    small_packet = SMALL4;
    small_blocks(&machine, 0);
    machine.conf.block_bytes = (tenon_u16)(SMALL4 + LINK_BYTES - 1);
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf),
               TENON_WITH_LINKS ? "block_bytes: mru + 18" : "block_bytes: mru + 14");
    machine.conf.block_bytes++;
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
    machine.conf.block_bytes = 0;
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
    CHECK(tenon_sock_arena_bytes(&machine.conf) + 8 * (1500 - SMALL4) - 64 < large);
    machine.conf.device.netif.mru = SMALL4 - 1;
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), "device.netif.mru");
    /* The frames that a device of one piece sends are put together in blocks. */
    machine.conf.device.netif.mru = SMALL4;
    machine.conf.device.flags = TENON_SOCK_CONTIGUOUS;
    machine.conf.block_bytes = (tenon_u16)(1500 + LINK_BYTES - 1);
    CHECK_EQ_S(tenon_sock_conf_check(&machine.conf), BLOCK_TOO_SMALL);
    machine.conf.block_bytes++;
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
    /* More than the link has is what it has. */
    machine.conf.device.flags = 0;
    machine.conf.device.netif.mru = 9000;
    machine.conf.block_bytes = (tenon_u16)(1500 + LINK_BYTES);
    CHECK(tenon_sock_conf_check(&machine.conf) == NULL);
}

/* Full segments out, those that fit into the blocks in, both at the same time, with loss. */
static void small_blocks_stream(unsigned packet, int v6)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, v6, PORT);
    const tenon_u32 bytes = 4 * (FULL + TENON_SOCK_RECORD_BYTES);
    struct world world;
    tenon_u32 sent[2] = { 0, 0 }, got[2] = { 0, 0 };
    struct tenon_sock_info info;
    int sk[2];
    unsigned i;

    small_packet = packet;
    if (!CHECK(world_open(&world, small_blocks)))
        return;
    sk[1] = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    sk[0] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    for (i = 0; i < 2; i++)
        CHECK_EQ_I(tenon_sock_set_sbuf(world.m[i].socks, sk[i], world_ring(&world.m[i], 0, bytes), bytes), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[0], &info), TENON_OK);
    CHECK_EQ_U(info.segment, v6 ? 1440 : 1460);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, sk[1], &info), TENON_OK);
    CHECK_EQ_U(info.segment, packet - (v6 ? 60 : 40));
    for (i = 0; i < 2; i++)
        world_faults(&world.m[i], 20000, 20000);
    for (i = 0; i < 20000 && (got[0] < 100000 || got[1] < 100000); i++) {
        world_send(&world.m[0], sk[0], &sent[0], 100000, FULL);
        world_send(&world.m[1], sk[1], &sent[1], 100000, FULL);
        world_run(&world, 5000);
        (void)world_receive(&world.m[0], sk[0], &got[0]);
        (void)world_receive(&world.m[1], sk[1], &got[1]);
    }
    CHECK_EQ_U(got[0], 100000);
    CHECK_EQ_U(got[1], 100000);
    CHECK_EQ_U(world.m[0].longest, packet + 14);
    CHECK_EQ_U(world.m[1].longest, 1514);
    CHECK_EQ_U(world_count(&world.m[0]).too_long, 0);
    CHECK_EQ_U(world_copied(&world.m[0]), 0);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(blocks_for_small_packets_send_full_segments)
{
    small_blocks_stream(SMALL4, 0);
    small_blocks_stream(SMALL6, 0);
    if (TENON_WITH_IPV6)
        small_blocks_stream(SMALL6, 1);
}

/* Who does not know of it, as UDP does not, sends more: that is dropped and counted, and what lies beside it stays. */
UNIT_TEST(frame_longer_than_its_block_is_dropped)
{
    const struct tenon_addr at = world_addr(0, 0, PORT), any = { .port = PORT };
    const unsigned fits = SMALL4 - 28;
    struct world world;
    struct tenon_sock_counts counts;
    int client, server;
    tenon_u8 *p, *held, *q;
    unsigned i;

    small_packet = SMALL4;
    if (!TENON_WITH_UDP || !CHECK(world_open(&world, small_blocks)))
        return;
    server = tenon_sock_create(world.m[0].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[1].socks, NULL, &at, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[1].socks, client, world_ring(&world.m[1], 0, 4000), 4000), TENON_OK);
    for (i = 0; i < 4; i++) {
        const unsigned n = i == 0 || i == 3 ? fits : i == 1 ? fits + 1 + 8 : 1472;

        CHECK(tenon_sock_ask_sbuf(world.m[1].socks, client, &p) >= (int)n);
        memset(p, (int)('a' + i), n);
        CHECK_EQ_I(tenon_sock_send(world.m[1].socks, client, p, n, 0), TENON_OK);
        world_run(&world, 10000);
        if (i == 0)
            CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, server, &held), (int)fits);
    }
    counts = world_count(&world.m[0]);
    CHECK_EQ_U(counts.too_long, 2);
    CHECK_EQ_U(counts.no_block, 0);
    CHECK_EQ_U(counts.blocks_free, 6);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, server, &q), (int)fits);
    CHECK_EQ_U(q[0], 'd');
    for (i = 0; i < fits; i++)
        if (!CHECK_EQ_U(held[i], 'a'))
            break;
    CHECK_EQ_I(tenon_sock_read_done(world.m[0].socks, server, held, fits), TENON_OK);
    CHECK_EQ_I(tenon_sock_read_done(world.m[0].socks, server, q, fits), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

/* Limits that add up to more than any arena are refused by name, however they would wrap; with nothing written. */
UNIT_TEST(arena_sums_do_not_wrap)
{
    static const struct {
        size_t memory;
        tenon_u32 paths, waits;
    } rows[] = { { (size_t)0 - 16384, 0, 0 },
                 { (size_t)0 - 1, 0, 0 },
                 { 0x7FFFFFFFUL, 0, 0 },
                 { 0, 0xFFFFFFFFUL, 0 },
                 { 0, 0x80000000UL / 24, 0 },
                 { 0, 0, 0xFFFFFFFFUL },
                 { 0, 0xFFFFFF00UL, 0xFFFFFF00UL } };
    struct machine machine;
    struct tenon_socks *socks = NULL;
    tenon_u8 arena[1024];
    unsigned i;

    memset(&machine, 0, sizeof(machine));
    memset(arena, 0x5A, sizeof(arena));
    machine_conf(&machine, 0);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct tenon_sock_conf conf = machine.conf;

        conf.memory = rows[i].memory;
        conf.stack.paths_max = rows[i].paths;
        conf.stack.tcp_time_wait_max = rows[i].waits;
        CHECK_EQ_S(tenon_sock_conf_check(&conf), "memory");
        CHECK_EQ_U(tenon_sock_arena_bytes(&conf), 0);
        CHECK_EQ_I(tenon_sock_start(&socks, arena, sizeof(arena), &conf), TENON_EINVAL);
    }
    machine.conf.memory = 0x70000000UL;
    CHECK(tenon_sock_arena_bytes(&machine.conf) > 0x70000000UL);
    CHECK_EQ_I(tenon_sock_start(&socks, arena, sizeof(arena), &machine.conf), TENON_ENOMEM);
    for (i = 0; i < sizeof(arena); i++)
        if (!CHECK_EQ_U(arena[i], 0x5A))
            break;
    CHECK(socks == NULL);
}

static int sure_entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    memset(bytes, 7, n);
    return 0;
}

/* An arena of exactly that size, at every alignment, is not left. */
UNIT_TEST(arena_at_every_alignment)
{
    struct machine machine;
    struct tenon_socks *socks;
    const struct tenon_addr any = { .port = PORT };
    tenon_u8 *arena;
    size_t bytes;
    unsigned shift, i;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    machine.conf.device.entropy = sure_entropy;
    bytes = tenon_sock_arena_bytes(&machine.conf);
    for (shift = 0; shift < 16; shift++) {
        arena = malloc(bytes + 32);
        memset(arena, 0x5A, bytes + 32);
        CHECK_EQ_I(tenon_sock_start(&socks, arena + 8 + shift, bytes, &machine.conf), TENON_OK);
        CHECK_EQ_U((size_t)tenon_sock_stack(socks) % 16, 0);
        CHECK(tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
        for (i = 0; i < 8; i++) {
            struct tenon_buf *block = tenon_sock_block(socks);

            if (CHECK(block != NULL))
                memset(block->data, 1, block->size);
        }
        CHECK(tenon_sock_block(socks) == NULL);
        CHECK_EQ_U(arena[7 + shift], 0x5A);
        CHECK_EQ_U(arena[8 + shift + bytes], 0x5A);
        free(arena);
    }
}

/* Pieces come back in every order of three: what is left is one gap again. */
UNIT_TEST(memory_comes_back_in_one_piece)
{
    static const unsigned orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
                                           { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
    static const size_t sizes[3] = { 1, 100, 333 };
    static struct sock_gap room[64];
    static struct tenon_socks socks;
    struct tenon_sock_counts counts;
    size_t all;
    void *piece[3];
    unsigned i, k;

    for (i = 0; i < 6; i++) {
        memset(&socks, 0, sizeof(socks));
        room[0].next = NULL;
        room[0].bytes = sizeof(room);
        socks.memory.before.next = room;
        socks.memory.bytes = sizeof(room);
        for (k = 0, all = 0; k < 3; k++) {
            all += (sizes[k] + sizeof(struct sock_gap) - 1) / sizeof(struct sock_gap) * sizeof(struct sock_gap);
            piece[k] = tn_sock_memory_get(&socks, sizes[k]);
            if (CHECK(piece[k] != NULL))
                memset(piece[k], 0x5A, sizes[k]);
        }
        CHECK(tn_sock_memory_get(&socks, sizeof(room)) == NULL);
        CHECK(tn_sock_memory_get(&socks, (size_t)0 - 1) == NULL);
        for (k = 0; k < 3; k++)
            tn_sock_memory_put(&socks, piece[orders[i][k]], sizes[orders[i][k]]);
        tenon_sock_count(&socks, &counts);
        CHECK_EQ_U(counts.memory_used, 0);
        CHECK_EQ_U(counts.memory_top, all);
        CHECK_EQ_U(counts.memory_bytes, sizeof(room));
        CHECK(socks.memory.before.next == room && room[0].next == NULL && room[0].bytes == sizeof(room));
        CHECK(tn_sock_memory_get(&socks, sizeof(room)) == room);
        CHECK(socks.memory.before.next == NULL);
    }
}

/* An odd number of bytes: what is left behind the last piece is room for a gap, or nothing. */
static void odd_memory(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.memory = 20001;
}

UNIT_TEST(memory_of_odd_size)
{
    struct sock_gap *gap;
    struct world world;

    if (!CHECK(world_open(&world, odd_memory)))
        return;
    CHECK(world_count(&world.m[0]).memory_bytes >= 20001);
    for (gap = world.m[0].socks->memory.before.next; gap->next != NULL; gap = gap->next)
        ;
    CHECK_EQ_U(gap->bytes % sizeof(struct sock_gap), 0);
    CHECK((tenon_u8 *)gap + gap->bytes <= world.m[0].arena + world.m[0].arena_bytes);
    world_close(&world);
}

/* A ring that is nearly full says nothing rather than that there is room for a crumb. */
UNIT_TEST(ring_nearly_full_no_crumbs)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = FULL + 100 + 2 * TENON_SOCK_RECORD_BYTES;
    struct world world;
    tenon_u32 sent = 0;
    tenon_u8 *p;
    int client;

    if (!CHECK(world_open(&world, NULL)))
        return;
    CHECK(tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    world_send(&world.m[0], client, &sent, 1400, 1400);
    CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, client, &p), 0);
    world_run(&world, 100000);
    CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) >= 1400);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(descriptors_all_taken)
{
    struct world world;
    int sk[5], i;

    if (!CHECK(world_open(&world, NULL)))
        return;
    for (i = 0; i < 5; i++)
        sk[i] = tenon_sock_create(world.m[0].socks, NULL, NULL, i % 2 ? TENON_SOCK_UDP : TENON_SOCK_TCP, 0);
    for (i = 0; i < 4; i++)
        CHECK(sk[i] > 0);
    CHECK_EQ_I(sk[4], TENON_ELIMIT);
    CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, sk[2], 0), TENON_OK);
    CHECK(tenon_sock_create(world.m[0].socks, NULL, NULL, TENON_SOCK_UDP, 0) > 0);
    world_close(&world);
}

static void one_port(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.ports = 1;
}

/* conf.ports counts addresses, not descriptors, and one that nobody has any more makes room at once. */
UNIT_TEST(ports_all_taken)
{
    const struct tenon_addr at = { .port = PORT }, other = { .port = PORT + 1 }, own = world_addr(0, 0, PORT);
    struct world world;
    struct tenon_socks *socks;
    int sk[2];

    if (!CHECK(world_open(&world, one_port)))
        return;
    CHECK(world.m[0].arena_bytes < world.m[1].arena_bytes - 3 * tenon_mem_bytes(TENON_MEM_LISTENER) +
                                       3 * tenon_mem_bytes(TENON_MEM_UDP));
    socks = world.m[0].socks;
    sk[0] = tenon_sock_create(socks, &at, NULL, TENON_SOCK_TCP, 0);
    sk[1] = tenon_sock_create(socks, &at, NULL, TENON_SOCK_TCP, 0);
    CHECK(sk[0] > 0 && sk[1] > 0);
    CHECK_EQ_I(tenon_sock_create(socks, &other, NULL, TENON_SOCK_TCP, 0), TENON_ELIMIT);
    CHECK_EQ_I(tenon_sock_create(socks, &own, NULL, TENON_SOCK_TCP, 0), TENON_ELIMIT);
    CHECK_EQ_I(tenon_sock_delete(socks, sk[0], 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_create(socks, &other, NULL, TENON_SOCK_TCP, 0), TENON_ELIMIT);
    CHECK_EQ_I(tenon_sock_delete(socks, sk[1], 0), TENON_OK);
    CHECK(tenon_sock_create(socks, &other, NULL, TENON_SOCK_TCP, 0) > 0);
    CHECK_EQ_I(tenon_sock_create(socks, &at, NULL, TENON_SOCK_TCP, 0), TENON_ELIMIT);
    world_close(&world);
}

/* One more of a limit, and the arena has room for what that one needs. */
UNIT_TEST(arena_grows_with_each_limit)
{
    const size_t conn =
        tenon_mem_bytes(TENON_MEM_CONN) + tenon_mem_bytes(TENON_MEM_BLOCK) + tenon_mem_bytes(TENON_MEM_PATH);
    struct machine machine;
    struct tenon_sock_conf *conf = &machine.conf;
    size_t before, bytes;

    memset(&machine, 0, sizeof(machine));
    machine_conf(&machine, 0);
    conf->ports = 1;
    conf->conns = 4;
    conf->stack.udp_sockets_max = conf->stack.tcp_time_wait_max = 1;
    conf->stack.paths_max = 4;
    before = tenon_sock_arena_bytes(conf);
    conf->conns += 2;
    bytes = tenon_sock_arena_bytes(conf);
    CHECK(bytes > before + 2 * conn + 300);    /* and records, for one of them */
    before = bytes;
    conf->ports++;
    bytes = tenon_sock_arena_bytes(conf);
    CHECK(bytes >= before + sizeof(struct sock_port) + tenon_mem_bytes(TENON_MEM_LISTENER));
    before = bytes;
    conf->stack.udp_sockets_max++;
    bytes = tenon_sock_arena_bytes(conf);
    CHECK(bytes >= before + tenon_mem_bytes(TENON_MEM_UDP));
    before = bytes;
    conf->stack.udp_sockets_max++;    /* two are ports, and two are left */
    CHECK_EQ_U(tenon_sock_arena_bytes(conf), before);
    conf->stack.udp_sockets_max = 4 + 2;    /* the program has two besides its descriptors */
    bytes = tenon_sock_arena_bytes(conf);
    CHECK(bytes >= before + 2 * tenon_mem_bytes(TENON_MEM_UDP));
    before = bytes;
    conf->stack.paths_max = conf->conns + 1U;    /* so many there are in any case */
    CHECK_EQ_U(tenon_sock_arena_bytes(conf), before);
    conf->stack.paths_max++;
    bytes = tenon_sock_arena_bytes(conf);
    CHECK(bytes >= before + tenon_mem_bytes(TENON_MEM_PATH));
    before = bytes;
    conf->stack.tcp_time_wait_max++;
    CHECK(tenon_sock_arena_bytes(conf) >= before + tenon_mem_bytes(TENON_MEM_TIME_WAIT));
}

/* All descriptors as servers of a port each, as sockets of UDP with and without a peer, and as clients with and
 * without timestamps: there is memory for each (world_close() looks at NO_MEMORY). */
UNIT_TEST(descriptors_all_of_a_kind_memory_is_enough)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    unsigned kind, i;

    for (kind = 0; kind < 4; kind++) {
        struct world world;

        if (!CHECK(world_open(&world, NULL)))
            return;
        for (i = 0; i < 4; i++) {
            const struct tenon_addr local = { .port = (tenon_u16)(PORT + i) };

            CHECK(tenon_sock_create(world.m[0].socks, kind == 3 ? NULL : &local, kind % 2 ? &at : NULL,
                                    kind < 2 ? TENON_SOCK_UDP : TENON_SOCK_TCP,
                                    kind >= 2 && i % 2 ? TENON_SOCK_NO_TIMESTAMPS : 0) > 0);
        }
        world_run(&world, 100000);
        world_close(&world);
    }
}

/* No room for a connection: the call says so, and all goes on. */
static void little_memory(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.memory = 1024;
}

UNIT_TEST(memory_too_small_call_says_so)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT);

    if (!CHECK(world_open(&world, little_memory)))
        return;
    CHECK_EQ_I(tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0), TENON_ENOMEM);
    CHECK(tenon_stat(tenon_sock_stack(world.m[0].socks), TENON_STAT_NO_MEMORY) > 0);
    CHECK(tenon_sock_create(world.m[0].socks, NULL, NULL, TENON_SOCK_UDP, 0) > 0);
    tenon_sock_stop(world.m[0].socks);
    tenon_sock_stop(world.m[1].socks);
    CHECK_EQ_U(world_count(&world.m[0]).memory_used, 0);
    wire_host_close(world.m[0].host);
    wire_host_close(world.m[1].host);
    free(world.m[0].arena);
    free(world.m[1].arena);
    wire_close(world.wire);
}

/* Whom the program has chosen decides how fast is sent. */
static void other_cc(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.stack.tcp_cc = &tenon_cc_cubic;
}

UNIT_TEST(congestion_control_of_the_program)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    struct world world;
    struct tenon_tcp_info info;
    int sk;

    if (!CHECK(world_open(&world, other_cc)))
        return;
    sk = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    if (CHECK(tn_sock_find(world.m[0].socks, sk) != NULL)) {
        tenon_tcp_status(tn_sock_find(world.m[0].socks, sk)->conn, &info);
        CHECK_EQ_S(info.cc, "cubic");
    }
    world_close(&world);
}

/* ---- the end ---- */

static unsigned transmits;
static int is_busy;

static unsigned counted_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    transmits++;
    return is_busy ? 0 : device_transmit(device, frames, n);
}

static void count_transmits(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.device.transmit = counted_transmit;
}

/* As many frames wait as go down together, and one more is made, a reset: the device, which has ended, is not asked. */
UNIT_TEST(stop_sends_nothing)
{
    const struct tenon_addr at = world_addr(1, 0, PORT), server = { .port = PORT };
    struct world world;
    tenon_u8 *p;
    int udp;

    if (!CHECK(world_open(&world, count_transmits)))
        return;
    CHECK(tenon_sock_create(world.m[1].socks, &server, NULL, TENON_SOCK_TCP, 0) > 0);
    CHECK(tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0) > 0);
    udp = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, udp, world_ring(&world.m[0], 0, 20000), 20000), TENON_OK);
    world_run(&world, 100000);
    is_busy = 1;
    while (tenon_sock_ask_sbuf(world.m[0].socks, udp, &p) > 0 &&
           tenon_sock_send(world.m[0].socks, udp, p, 1, 0) == TENON_OK)
        ;
    is_busy = 0;
    transmits = 0;
    world_close(&world);
    CHECK_EQ_U(transmits, 0);
    world_free_rings(&world);
}

/* ---- all limits at once ---- */

static void four_connections(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.blocks = 24;
}

/* Four connections at a time in both directions through faults, twenty generations of them: the memory that was
 * reckoned with is enough (world_close() looks at NO_MEMORY), and all of it comes back. */
UNIT_TEST(four_connections_with_faults_memory_is_enough)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 4 * (FULL + TENON_SOCK_PACKET_BYTES);
    struct world world;
    unsigned generation, i, k, rounds, good = 0;
    void *rings[2][4];

    if (!CHECK(world_open(&world, four_connections)))
        return;
    for (i = 0; i < 4; i++)
        for (k = 0; k < 2; k++)
            rings[k][i] = world_ring(&world.m[k], i, bytes);
    for (generation = 0; generation < 20; generation++) {
        int sk[2][4];
        tenon_u32 sent[2][4], got[2][4];

        memset(sent, 0, sizeof(sent));
        memset(got, 0, sizeof(got));
        world_faults(&world.m[0], 0, 0);
        world_faults(&world.m[1], 0, 0);
        for (i = 0; i < 4; i++) {
            sk[1][i] = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
            CHECK(sk[1][i] > 0);
        }
        for (i = 0; i < 4; i++) {
            struct tenon_sock_info info;

            sk[0][i] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
            world_run(&world, 20000);
            CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[0][i], &info), TENON_OK);
            CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
            for (k = 0; k < 2; k++)
                CHECK_EQ_I(tenon_sock_set_sbuf(world.m[k].socks, sk[k][i], rings[k][i], bytes), TENON_OK);
        }
        world_faults(&world.m[0], 30000, 30000);
        world_faults(&world.m[1], 30000, 30000);
        for (rounds = 0; rounds < 3000; rounds++) {
            for (i = 0; i < 4; i++)
                for (k = 0; k < 2; k++) {
                    world_send(&world.m[k], sk[k][i], &sent[k][i], 30000, FULL);
                    (void)world_receive(&world.m[k], sk[k][i], &got[k][i]);
                }
            world_run(&world, 5000);
        }
        for (i = 0; i < 4; i++)
            for (k = 0; k < 2; k++)
                good += got[k][i] == 30000;
        for (i = 0; i < 4; i++)
            for (k = 0; k < 2; k++)
                CHECK_EQ_I(tenon_sock_delete(world.m[k].socks, sk[k][i], 0), TENON_OK);
        world_run(&world, 2000000);
    }
    CHECK_EQ_U(good, 20 * 8);
    for (k = 0; k < 2; k++) {
        const struct tenon_sock_counts counts = world_count(&world.m[k]);

        CHECK_EQ_U(world.m[k].frames_elsewhere, 0);
        printf("memory %lu of %lu, fewest blocks %u of 24, headers %u of 8, blocks short %lu times, copied %lu\n",
               (unsigned long)counts.memory_top, (unsigned long)counts.memory_bytes, counts.blocks_low,
               counts.headers_low, (unsigned long)counts.no_block, world_copied(&world.m[k]));
    }
    world_close(&world);
    world_free_rings(&world);
}

static void many_packets(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.packets = 32;
}

/* Four rings with as many packets as they may have, all of them lost; then the descriptors are deleted, and all of it
 * arrives nevertheless. */
UNIT_TEST(four_rings_full_deleted_all_arrives)
{
    enum { PACKETS = 32 };
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = PACKETS * (FULL + TENON_SOCK_RECORD_BYTES);
    struct tenon_sock_info info;
    struct world world;
    int sk[2][4], i;
    unsigned k;

    if (!CHECK(world_open(&world, many_packets)))
        return;
    for (i = 0; i < 4; i++)
        sk[1][i] = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    for (i = 0; i < 4; i++) {
        sk[0][i] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
        world_run(&world, 20000);
        CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, sk[0][i], world_ring(&world.m[0], (unsigned)i, bytes), bytes),
                   TENON_OK);
    }
    world_faults(&world.m[0], 1000000, 0);
    for (i = 0; i < 4; i++) {
        tenon_u32 sent = 0;
        tenon_u8 *p;

        for (k = 0; k < PACKETS; k++)
            world_send(&world.m[0], sk[0][i], &sent, sent + 10, 10);
        CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, sk[0][i], &p), 0);
        CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[0][i], &info), TENON_OK);
        CHECK_EQ_U(info.packets, PACKETS);
    }
    world_run(&world, 3000000);
    for (i = 0; i < 4; i++)
        CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, sk[0][i], 0), TENON_OK);
    world_faults(&world.m[0], 0, 0);
    world_run(&world, 30000000);
    for (i = 0; i < 4; i++) {
        tenon_u32 got = 0;

        CHECK_EQ_I(world_receive(&world.m[1], sk[1][i], &got), TENON_ECLOSED);
        CHECK_EQ_U(got, 10 * PACKETS);
    }
    world_close(&world);
    world_free_rings(&world);
}

/* More clients than descriptors: those that find none are not answered, and get in when one is free again. */
UNIT_TEST(clients_too_many_wait)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    struct world world;
    struct tenon_sock_info info;
    int sk[2], server;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    sk[0] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 100000);
    sk[1] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 500000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[0], &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[1], &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPENING);
    CHECK_EQ_I(tenon_sock_delete(world.m[1].socks, server, 0), TENON_OK);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    world_run(&world, 3000000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[1], &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    CHECK_EQ_U(info.local.port, PORT);
    world_close(&world);
}

/* Two come at the same moment. @return 1: one gets the descriptor that waits, and the other no answer, not a reset */
static int come_together(struct world *world, int sk[2])
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    struct tenon_sock_info info[2];
    unsigned i;

    for (i = 0; i < 2; i++)
        sk[i] = tenon_sock_create(world->m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(world, 500000);
    for (i = 0; i < 2; i++)
        CHECK_EQ_I(tenon_sock_status(world->m[0].socks, sk[i], &info[i]), TENON_OK);
    return info[0].state == TENON_SOCK_OPEN && info[1].state == TENON_SOCK_OPENING;
}

static void together_none_is_reset(void (*adjust)(struct machine *machine, unsigned i))
{
    const struct tenon_addr any = { .port = PORT };
    struct tenon_sock_info info;
    struct world world;
    int sk[2], server;

    if (!CHECK(world_open(&world, adjust)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    CHECK(come_together(&world, sk));
    CHECK_EQ_I(tenon_sock_delete(world.m[1].socks, server, 0), TENON_OK);
    CHECK(tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
    world_run(&world, 3000000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk[1], &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
}

static void with_cookies(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.stack.tcp_syncookies = 1;
}

UNIT_TEST(clients_together_none_is_reset)
{
    together_none_is_reset(NULL);
    together_none_is_reset(with_cookies);
}

/* A SYN from 10.0.0.9, which is nobody. */
static void knock_and_run(struct machine *machine, unsigned port)
{
    static const tenon_u8 syn[54] = {
        2, 0,  0,    0,    0, 2, 2, 0, 0, 0, 0,    9,    8, 0, 0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0x66, 0xC5, 10,
        0, 0,  9,    10,   0, 0, 2, 4, 0, PORT >> 8, PORT & 0xFF, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0
    };
    struct tenon_buf *block = tenon_sock_block(machine->socks);

    if (!CHECK(block != NULL))
        return;
    memcpy(block->data, syn, sizeof(syn));
    block->data[35] = (tenon_u8)port;
    tenon_sock_input(machine->socks, block, 0, sizeof(syn), TENON_CSUM_GOOD);
}

/* Who never answers keeps the only descriptor for a second, although his handshake is tried for three minutes. */
UNIT_TEST(client_who_is_nobody_keeps_others_out_for_a_second)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    struct world world;
    int client;

    if (!CHECK(world_open(&world, NULL)))
        return;
    CHECK(tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
    world_run(&world, 1000);
    knock_and_run(&world.m[1], 1);
    world_run(&world, 1000);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 500000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPENING);
    world_run(&world, 3000000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
}

/* 20 of them. @return how many cookies they were answered with */
static tenon_u32 crowd_of_nobody(struct world *world, unsigned port)
{
    struct tenon *stack = tenon_sock_stack(world->m[1].socks);
    const tenon_u32 before = tenon_stat(stack, TENON_STAT_TCP_COOKIE_SENT);
    unsigned i;

    for (i = 0; i < 20; i++) {
        knock_and_run(&world->m[1], port + i);
        world_run(world, 1000);
    }
    return tenon_stat(stack, TENON_STAT_TCP_COOKIE_SENT) - before;
}

/* Cookies are sent when many are in their handshake, which they may be for a minute after a promise was not kept. Who
 * comes meanwhile is served, and ends nothing of that; then one is promised again, so that nobody who comes together
 * with others is reset. */
UNIT_TEST(clients_who_are_nobody_get_cookies)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    struct world world;
    int server, client;

    if (!CHECK(world_open(&world, with_cookies)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    world_run(&world, 1000);
    knock_and_run(&world.m[1], 1);
    world_run(&world, 1200000);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 500000);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, client, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_delete(world.m[1].socks, server, 0), TENON_OK);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_U(crowd_of_nobody(&world, 101) > 0, TENON_WITH_COOKIES);
    world_run(&world, 240000000);
    CHECK_EQ_U(crowd_of_nobody(&world, 1), 0);
    CHECK_EQ_I(tenon_sock_delete(world.m[1].socks, server, 0), TENON_OK);
    world_close(&world);
}

static void one_descriptor(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.socks = machine->conf.ports = 1;
}

/* After a promise that was not kept, made at a port that is not there any more, or 71.6 minutes ago (the
 * microseconds of 32 bits), the only descriptor is for the first who comes. */
static void promise_is_old(int other_port, uint64_t us)
{
    struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    struct world world;
    int client, server;

    if (!CHECK(world_open(&world, one_descriptor)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    world_run(&world, 1000);
    knock_and_run(&world.m[1], 1);
    world_run(&world, 1000);
    if (other_port) {
        CHECK_EQ_I(tenon_sock_delete(world.m[1].socks, server, 0), TENON_OK);
        world_run(&world, 1000);
        any.port = at.port = PORT + 1;
        CHECK(tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
    }
    world_run(&world, us);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 500000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
}

UNIT_TEST(promise_of_a_port_that_is_gone)
{
    promise_is_old(1, 1000);
}

UNIT_TEST(promise_of_71_minutes_ago)
{
    if (TENON_WITH_COOKIES)
        promise_is_old(0, 0x100000000ULL);
}

static unsigned burst_sent;

static unsigned burst_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    burst_sent += n;
    return device_transmit(device, frames, n);
}

static void burst_counted(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.device.transmit = burst_transmit;
}

/* Who has 10.0.0.2? */
static void burst_ask(struct machine *machine)
{
    static const tenon_u8 request[42] = {
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1,
        2,    0,    0,    0,    0,    9,    10, 0, 0, 9, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2
    };
    struct tenon_buf *block = tenon_sock_block(machine->socks);

    if (!CHECK(block != NULL))
        return;
    memcpy(block->data, request, sizeof(request));
    tenon_sock_input(machine->socks, block, 0, sizeof(request), TENON_CSUM_NONE);
}

/* What a driver may hand over at a time is looked at together: nothing of it is answered before all of it is there,
 * and so nobody can have answered to that. */
UNIT_TEST(burst_is_answered_together)
{
    struct world world;
    unsigned i;

    if (!CHECK(world_open(&world, burst_counted)))
        return;
    world_run(&world, 10000);
    burst_sent = 0;
    for (i = 0; i < TENON_SOCK_BURST; i++) {
        CHECK_EQ_U(burst_sent, 0);
        burst_ask(&world.m[1]);
    }
    world_run(&world, 10000);
    CHECK_EQ_U(burst_sent, TENON_SOCK_BURST);
    world_close(&world);
}

/* A device that is done with a frame at once. */
static unsigned quick_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    (void)device;
    (void)frames;
    return n;
}

static void quick_device(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.device.transmit = quick_transmit;
}

static void quick_send(struct machine *machine, int sk, unsigned events)
{
    tenon_u8 *p;

    CHECK_EQ_U(events, TENON_SOCK_WRITABLE);
    CHECK(tenon_sock_ask_sbuf(machine->socks, sk, &p) > 0);
    p[0] = 0;
    CHECK_EQ_I(tenon_sock_send(machine->socks, sk, p, 1, 0), TENON_OK);
}

/* What happens to what an event has sent, in the same poll, is told at once: the next poll must not wait. */
UNIT_TEST(event_after_the_events_is_not_waited_for)
{
    struct tenon_addr at = world_addr(1, 0, PORT);
    struct world world;
    struct machine *machine = &world.m[0];
    unsigned i;
    int sk;

    if (!CHECK(world_open(&world, quick_device)))
        return;
    at.ip = tenon_ip4(0xFFFFFFFFUL);
    sk = tenon_sock_create(machine->socks, NULL, &at, TENON_SOCK_UDP, TENON_SOCK_BROADCAST);
    CHECK_EQ_I(tenon_sock_set_sbuf(machine->socks, sk, world_ring(machine, 0, 1000), 1000), TENON_OK);
    (void)tenon_sock_poll(machine->socks, 1000000);
    quick_send(machine, sk, TENON_SOCK_WRITABLE);
    machine->event = quick_send;
    for (i = 0; i < 3; i++) {
        machine->events[(sk - 1) % 64] = 0;
        CHECK_EQ_U(tenon_sock_poll(machine->socks, 1000000), 0);
        CHECK_EQ_U(machine->events[(sk - 1) % 64], TENON_SOCK_WRITABLE);
    }
    machine->event = NULL;
    CHECK(tenon_sock_poll(machine->socks, 1000000) > 0);
    world_close(&world);
    world_free_rings(&world);
}

static void hand_over_once(struct machine *machine, int sk, unsigned events)
{
    struct tenon_buf *block = tenon_sock_block(machine->socks);

    (void)sk;
    (void)events;
    machine->event = NULL;
    if (!CHECK(block != NULL))
        return;
    memset(block->data, 0, 60);
    tenon_sock_input(machine->socks, block, 0, 60, TENON_CSUM_NONE);
}

/* An event may call everything but the poll: a frame that it hands over is looked at in the next one, which is due. */
UNIT_TEST(frame_of_an_event_is_not_waited_for)
{
    struct tenon_addr at = world_addr(1, 0, PORT);
    struct world world;
    struct machine *machine = &world.m[0];
    int sk;

    if (!CHECK(world_open(&world, quick_device)))
        return;
    at.ip = tenon_ip4(0xFFFFFFFFUL);
    sk = tenon_sock_create(machine->socks, NULL, &at, TENON_SOCK_UDP, TENON_SOCK_BROADCAST);
    CHECK_EQ_I(tenon_sock_set_sbuf(machine->socks, sk, world_ring(machine, 0, 1000), 1000), TENON_OK);
    (void)tenon_sock_poll(machine->socks, 1000000);
    quick_send(machine, sk, TENON_SOCK_WRITABLE);
    machine->event = hand_over_once;
    CHECK_EQ_U(tenon_sock_poll(machine->socks, 1000000), 0);
    CHECK(machine->event == NULL);
    CHECK(tenon_sock_poll(machine->socks, 1000000) > 0);
    world_close(&world);
    world_free_rings(&world);
}

/* Segments of a few bytes that nobody reads: their blocks are shared when they become few, so that a peer cannot hold
 * them all. */
UNIT_TEST(tiny_segments_do_not_hold_all_blocks)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 8 * (100 + TENON_SOCK_PACKET_BYTES);
    struct world world;
    struct tenon_sock_info info;
    tenon_u32 sent = 0, got = 0;
    int client, server, i, n[16], held = 0;
    tenon_u8 *p[16];

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    for (i = 0; i < 60; i++) {
        world_send(&world.m[0], client, &sent, sent + 20, 20);
        world_run(&world, 100000);
        /* All held by the application: what comes later lies behind it, in a piece of its own. */
        while (i == 30 && held < 16 && (n[held] = tenon_sock_ask_rbuf(world.m[1].socks, server, &p[held])) > 0)
            held++;
    }
    CHECK(held > 1 && held < 16);
    CHECK_EQ_U(sent, 1200);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
    CHECK_EQ_U(info.unread, 1200);
    CHECK_EQ_U(world.m[1].full, 0);
    CHECK(world_count(&world.m[1]).blocks_free >= 2);
    CHECK(world_count(&world.m[1]).copied_bytes > 900);
    for (i = 0; i < held; i++) {
        CHECK_EQ_U(p[i][0], world_byte(got));
        CHECK_EQ_U(p[i][n[i] - 1], world_byte(got + (unsigned)n[i] - 1));
        got += (tenon_u32)n[i];
    }
    CHECK_EQ_U(got, 620);
    while (held-- > 0)
        CHECK_EQ_I(tenon_sock_read_done(world.m[1].socks, server, p[held], (unsigned)n[held]), TENON_OK);
    (void)world_receive(&world.m[1], server, &got);
    CHECK_EQ_U(got, 1200);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 8);
    world_close(&world);
    world_free_rings(&world);
}

/* The application asks for each of them and gives none back: there are not more records of pieces than there can be
 * pieces, and what finds no place is not acknowledged and comes again. */
UNIT_TEST(tiny_segments_all_held_connection_lives)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 8 * (100 + TENON_SOCK_PACKET_BYTES);
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i, n[64], held = 0;
    tenon_u8 *p[64];

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    for (i = 0; i < 60; i++) {
        world_send(&world.m[0], client, &sent, sent + 20, 20);
        world_run(&world, 100000);
        while (held < 64 && (n[held] = tenon_sock_ask_rbuf(world.m[1].socks, server, &p[held])) > 0)
            held++;
        CHECK(held == 64 || n[held] == 0);
    }
    CHECK(held > 8);
    for (i = 0; i < held; i++) {
        CHECK_EQ_U(p[i][0], world_byte(got));
        got += (tenon_u32)n[i];
    }
    while (held-- > 0)
        CHECK_EQ_I(tenon_sock_read_done(world.m[1].socks, server, p[held], (unsigned)n[held]), TENON_OK);
    for (i = 0; i < 100 && got < sent; i++) {
        world_run(&world, 500000);
        (void)world_receive(&world.m[1], server, &got);
    }
    CHECK_EQ_U(got, sent);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 8);
    world_close(&world);
    world_free_rings(&world);
}

/* There are as many records as pieces can be. Should it be otherwise, the connection ends: no stream has a hole. */
UNIT_TEST(no_record_for_a_piece_connection_ends)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 2 * (FULL + TENON_SOCK_PACKET_BYTES);
    struct sock_piece *pieces;
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    pieces = world.m[1].socks->free_pieces;
    world.m[1].socks->free_pieces = NULL;
    world_send(&world.m[0], client, &sent, 500, 500);
    world_run(&world, 100000);
    world.m[1].socks->free_pieces = pieces;
    CHECK(world_receive(&world.m[1], server, &got) < 0);
    CHECK_EQ_U(got, 0);
    CHECK_EQ_I(world_receive(&world.m[0], client, &got), TENON_ERESET);
    world_close(&world);
    world_free_rings(&world);
}

/* A block to which somebody else refers is not written to, however few there are. */
UNIT_TEST(tiny_segments_block_of_another_is_not_shared)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 8 * (100 + TENON_SOCK_PACKET_BYTES);
    struct tenon_buf *block = NULL;
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    for (i = 0; i < 12; i++) {
        world_send(&world.m[0], client, &sent, sent + 20, 20);
        world_run(&world, 100000);
        if (i == 4) {
            block = world.m[1].block;
            tenon_buf_ref(block);
            memset(world.m[1].written + 14 + 20 + 32 + 20, 0x5A, 200);
        }
    }
    CHECK_EQ_U(world_count(&world.m[1]).copied_bytes, 6 * 20);
    for (i = 0; i < 200; i++)
        CHECK_EQ_U(block->data[WORLD_RX_OFF + 14 + 20 + 32 + 20 + i], 0x5A);
    (void)world_receive(&world.m[1], server, &got);
    CHECK_EQ_U(got, 240);
    tenon_buf_put(block);
    world_close(&world);
    world_free_rings(&world);
}

/* ---- all blocks are wanted ---- */

enum { ECHOES = 4, ECHO_BYTES = 30000 };

static void many_blocks(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 0;
}

/* Four clients send to an echo and read nothing, until it has no room to send and holds all that it may. That is as
 * much as it has blocks; but who then reads has to be heard, or both would wait for ever. */
static void echo_to_who_does_not_read(void (*adjust)(struct machine *machine, unsigned i))
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(0, 0, PORT);
    const tenon_u32 bytes = 2 * (FULL + TENON_SOCK_PACKET_BYTES);
    tenon_u32 sent[ECHOES] = { 0 }, got[ECHOES] = { 0 };
    int server[ECHOES], client[ECHOES], left[ECHOES] = { 0 };
    tenon_u8 *lies[ECHOES];
    struct world world;
    unsigned i, turn;

    if (!CHECK(world_open(&world, adjust)))
        return;
    for (i = 0; i < ECHOES; i++)
        server[i] = tenon_sock_create(world.m[0].socks, &any, NULL, TENON_SOCK_TCP, 0);
    for (i = 0; i < ECHOES; i++) {
        client[i] = tenon_sock_create(world.m[1].socks, NULL, &at, TENON_SOCK_TCP, 0);
        world_run(&world, 20000);
        CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, server[i], world_ring(&world.m[0], i, bytes), bytes),
                   TENON_OK);
        CHECK_EQ_I(tenon_sock_set_sbuf(world.m[1].socks, client[i], world_ring(&world.m[1], i, bytes), bytes),
                   TENON_OK);
    }
    for (turn = 0; turn < 6000; turn++) {
        for (i = 0; i < ECHOES; i++) {
            world_send(&world.m[1], client[i], &sent[i], ECHO_BYTES, FULL);
            world_echo(&world.m[0], server[i], &lies[i], &left[i]);
            if (turn > 1000)
                (void)world_receive(&world.m[1], client[i], &got[i]);
        }
        world_run(&world, 10000);
    }
    for (i = 0; i < ECHOES; i++)
        CHECK_EQ_U(got[i], ECHO_BYTES);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(blocks_all_wanted_acknowledgements_are_heard)
{
    echo_to_who_does_not_read(many_blocks);
}

static void many_blocks_contiguous(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 0;
    machine->conf.device.flags = TENON_WITH_LINEAR ? TENON_SOCK_CONTIGUOUS : 0;
}

/* A segment of a part of a packet is put together in a block: there must be one for that, too. */
UNIT_TEST(blocks_all_wanted_one_to_send_from)
{
    echo_to_who_does_not_read(many_blocks_contiguous);
}

static void two_blocks(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 2;
}

/* One to read from, one to hear with: the least that there can be serves four clients. */
UNIT_TEST(blocks_two_are_enough)
{
    echo_to_who_does_not_read(two_blocks);
}

static void hand_over_request(struct machine *machine, struct tenon_buf *block)
{
    memset(block->data, 0, 60);
    memset(block->data, 0xFF, 6);
    block->data[12] = 0x88;    /* of a protocol that nobody here speaks */
    tenon_sock_input(machine->socks, block, 0, 60, TENON_CSUM_NONE);
}

/* A device that receives into blocks that it has asked for: it gives up one that is filled, and asks for others. */
static struct tenon_buf *held_by_device[4];
static unsigned ndevice;

static void give_up_one(void *device, struct tenon_socks *socks)
{
    struct machine *machine = device;

    if (machine->filled > 0) {
        machine->filled--;
        hand_over_request(machine, held_by_device[--ndevice]);
    }
    while (ndevice < 4 && (held_by_device[ndevice] = tenon_sock_block(socks)) != NULL)
        ndevice++;
}

static void asks_for_four(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 2;
    machine->conf.device.poll = i == 1 ? NULL : give_up_one;
}

static void asks_for_four_contiguous(struct machine *machine, unsigned i)
{
    asks_for_four(machine, i);
    machine->conf.blocks = i == 1 ? 64 : 3;
    machine->conf.device.flags = i == 1 ? 0 : TENON_SOCK_CONTIGUOUS;
}

static void empty_device_is_filled(void (*adjust)(struct machine *machine, unsigned i))
{
    struct world world;
    struct machine *machine = &world.m[0];
    tenon_u32 now_us;

    ndevice = 0;
    if (!CHECK(world_open(&world, adjust)))
        return;
    now_us = (tenon_u32)wire_now(world.wire);
    (void)tenon_sock_poll(machine->socks, now_us);
    CHECK_EQ_U(ndevice, 2);
    CHECK(tenon_sock_poll(machine->socks, now_us) > 0);    /* it has all that there are */
    machine->filled = 1;
    CHECK_EQ_U(tenon_sock_poll(machine->socks, now_us), 0);
    CHECK_EQ_U(ndevice, 1);
    CHECK(tenon_sock_poll(machine->socks, now_us) > 0);
    CHECK_EQ_U(ndevice, 2);
    while (ndevice > 0)
        tenon_buf_put(held_by_device[--ndevice]);
    ndevice = 4;
    CHECK(tenon_sock_poll(machine->socks, now_us) > 0);    /* they are free, and it wants none */
    world_close(&world);
}

/* What it has handed over is free when the poll has looked at it: it wants to be called again then, or the device would
 * have nothing to receive into until something else happens. */
UNIT_TEST(device_without_a_block_is_asked_again)
{
    empty_device_is_filled(asks_for_four);
}

UNIT_TEST(contiguous_device_without_a_block_is_asked_again)
{
    if (TENON_WITH_LINEAR)
        empty_device_is_filled(asks_for_four_contiguous);
}

/* ---- a device that knows how long a frame is ---- */

static void one_block(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 1;
    machine->conf.headers = i == 1 ? 0 : 4;
    machine->conf.device.flags = i == 1 ? 0 : TENON_SOCK_LENGTHS;
}

/* It hears in a buffer for headers that there is room to send: one block serves four clients. */
UNIT_TEST(lengths_one_block_is_enough)
{
    echo_to_who_does_not_read(one_block);
}

static void one_block_contiguous(struct machine *machine, unsigned i)
{
    one_block(machine, i);
    if (i == 0 && TENON_WITH_LINEAR) {
        machine->conf.blocks = 2;
        machine->conf.device.flags |= TENON_SOCK_CONTIGUOUS;
    }
}

UNIT_TEST(lengths_one_block_and_one_to_send_from)
{
    echo_to_who_does_not_read(one_block_contiguous);
}

/* Long frames come in blocks, short ones too as long as there are any; then in buffers for headers, as many
 * as there are. What came before is looked at when all are gone, which gives them back. */
UNIT_TEST(lengths_short_frames_without_a_block)
{
    struct world world;
    struct tenon_buf *taken[8];
    struct machine *machine = &world.m[0];
    unsigned i, n;

    if (!CHECK(world_open(&world, one_block)))
        return;
    world_run(&world, 1000);
    taken[0] = tenon_sock_block_for(machine->socks, 60);
    CHECK(taken[0] != NULL && taken[0]->size > 1500);
    CHECK(tenon_sock_block_for(machine->socks, (unsigned)TENON_BUF_BYTES_MIN + 1U) == NULL);
    for (n = 1; n < 8; n++) {
        taken[n] = tenon_sock_block_for(machine->socks, (unsigned)TENON_BUF_BYTES_MIN);
        if (taken[n] == NULL)
            break;
        CHECK_EQ_U(taken[n]->size, TENON_BUF_BYTES_MIN);
    }
    CHECK(n > 1);
    CHECK_EQ_U(world_count(machine).headers_free, 0);
    CHECK_EQ_U(world_count(machine).no_block, TENON_WITH_STATS ? 2 : 0);
    for (i = 0; i < n; i++)
        hand_over_request(machine, taken[i]);
    CHECK_EQ_U(world_count(machine).headers_free, 0);
    taken[0] = tenon_sock_block_for(machine->socks, 9000);
    CHECK(taken[0] != NULL && taken[0]->size < 9000);
    CHECK(world_count(machine).headers_free >= n - 1);
    tenon_sock_input(machine->socks, taken[0], 0, 9000, TENON_CSUM_NONE);
    CHECK_EQ_U(world_count(machine).too_long, TENON_WITH_STATS ? 1 : 0);
    world_close(&world);
}

/* The core has to leave one of them for that. */
UNIT_TEST(lengths_a_header_is_left_to_hear_with)
{
    struct world world;
    struct tenon_buf *block, *header, *headers[8];
    unsigned n;

    if (!CHECK(world_open(&world, one_block)))
        return;
    block = tenon_sock_block_for(world.m[0].socks, 1500);
    n = tn_sock_headers_get(world.m[0].socks, headers, 8);
    CHECK_EQ_U(world_count(&world.m[0]).headers_free, 1);
    CHECK(block != NULL && tenon_sock_block_for(world.m[0].socks, 1500) == NULL);
    header = tenon_sock_block_for(world.m[0].socks, 60);
    CHECK(header != NULL);
    tenon_buf_put(header);
    tenon_buf_put(block);
    while (n > 0)
        tenon_buf_put(headers[--n]);
    world_close(&world);
}

static void one_block_wide(struct machine *machine, unsigned i)
{
    one_block(machine, i);
    machine->conf.window = 3 * FULL;
}

/* A client of machine 1 with a ring for four segments, at a server of machine 0. @return 0: there is no world */
static int open_stream(struct world *world, void (*adjust)(struct machine *machine, unsigned i), int *server,
                       int *client)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(0, 0, PORT);
    const tenon_u32 bytes = 4 * (FULL + TENON_SOCK_PACKET_BYTES);
    void *ring;

    if (!CHECK(world_open(world, adjust)))
        return 0;
    *server = tenon_sock_create(world->m[0].socks, &any, NULL, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    *client = tenon_sock_create(world->m[1].socks, NULL, &at, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    world_run(world, 10000);
    ring = world_ring(&world->m[1], 0, bytes);
    return CHECK_EQ_I(tenon_sock_set_sbuf(world->m[1].socks, *client, ring, bytes), TENON_OK);
}

/* All of what was sent arrives, now that somebody reads. */
static void close_stream(struct world *world, int server, tenon_u32 sent)
{
    tenon_u32 got = 0;
    unsigned i;

    for (i = 0; i < 100 && got < sent; i++) {
        (void)world_receive(&world->m[0], server, &got);
        world_run(world, 100000);
    }
    CHECK_EQ_U(got, sent);
    world_close(world);
    world_free_rings(world);
}

/* Text that finds no block but one for headers is heard and not kept, whether it comes with what has taken
 * the last block or later: the core sends out of these. */
UNIT_TEST(lengths_text_without_a_block_is_not_kept)
{
    struct tenon_sock_info info;
    struct world world;
    tenon_u32 sent = 0;
    int client, server, i;

    if (!open_stream(&world, one_block_wide, &server, &client))
        return;
    world_send(&world.m[1], client, &sent, FULL, FULL);
    for (i = 0; i < 2; i++) {
        world_send(&world.m[1], client, &sent, sent + 20, 20);
        world_run(&world, 100000);
        CHECK_EQ_I(tenon_sock_status(world.m[0].socks, server, &info), TENON_OK);
        CHECK_EQ_U(info.unread, FULL);
        CHECK_EQ_U(world_count(&world.m[0]).blocks_free, 0);
        CHECK(tenon_stat(tenon_sock_stack(world.m[0].socks), TENON_STAT_RX_NOT_KEPT) > (tenon_u32)i ||
              !TENON_WITH_STATS);
    }
    close_stream(&world, server, sent);
}

static void two_blocks_wide(struct machine *machine, unsigned i)
{
    one_block_wide(machine, i);
    machine->conf.blocks = i == 1 ? 64 : 2;
}

/* ... nor with a frame that has left its block before. */
UNIT_TEST(lengths_text_behind_text_is_not_kept)
{
    struct tenon_sock_info info;
    struct world world;
    tenon_u32 sent = 0;
    int client, server;

    if (!open_stream(&world, two_blocks_wide, &server, &client))
        return;
    world_send(&world.m[1], client, &sent, FULL, FULL);
    world_send(&world.m[1], client, &sent, FULL + 20, 20);
    world_run(&world, 500);    /* they are on their way ... */
    hand_over_request(&world.m[0], tenon_sock_block_for(world.m[0].socks, 60));
    wire_run(world.wire, wire_now(world.wire) + 1000);    /* ... and come behind this */
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, server, &info), TENON_OK);
    CHECK_EQ_U(info.unread, FULL);
    CHECK_EQ_U(world_count(&world.m[0]).blocks_free, 1);
    close_stream(&world, server, sent);
}

static void many_lent(struct machine *machine, unsigned i)
{
    one_block(machine, i);
    machine->conf.headers = 20;
}

/* There is room for as many frames as may come together, whatever they lie in. */
UNIT_TEST(lengths_a_burst_of_short_frames)
{
    struct world world;
    struct tenon_buf *block;
    unsigned i;

    if (!CHECK(world_open(&world, many_lent)))
        return;
    world_run(&world, 1000);
    CHECK((tenon_u8 *)world.m[0].socks->rx_spans - (tenon_u8 *)world.m[0].socks->rx_frames >=
          (long)(TENON_SOCK_BURST * sizeof(struct tenon_frame)));
    for (i = 0; i < 3 * TENON_SOCK_BURST; i++) {
        block = tenon_sock_block_for(world.m[0].socks, 60);
        if (CHECK(block != NULL))
            hand_over_request(&world.m[0], block);
    }
    world_run(&world, 10000);
    world_close(&world);
}

static void four_blocks(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 4 : 0;
    machine->conf.window = 4 * FULL;
}

/* Two segments come at once, and of the two blocks that are left one may be kept. */
UNIT_TEST(blocks_all_wanted_by_one_burst)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 4 * (FULL + TENON_SOCK_PACKET_BYTES);
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i;

    if (!CHECK(world_open(&world, four_blocks)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    for (i = 1; i <= 2; i++) {
        world_send(&world.m[0], client, &sent, 2 * FULL * (tenon_u32)i, FULL);
        world_run(&world, 100000);
        CHECK_EQ_U(world_count(&world.m[1]).blocks_free, i == 1 ? 2 : 1);
    }
    for (i = 0; i < 100 && got < sent; i++) {
        (void)world_receive(&world.m[1], server, &got);
        world_run(&world, 100000);
    }
    CHECK_EQ_U(got, 4 * FULL);
    world_close(&world);
    world_free_rings(&world);
}

/* ---- neighbours that are not there, or not yet ---- */

/* Machine 1 gets an echo request of 600 bytes from 10.0.0.`from`. */
static void inject_ping(struct world *world, unsigned from)
{
    enum { BYTES = 600, ALL = 20 + 8 + BYTES };
    static const tenon_u8 head[] = {
        2, 0, 0, 0, 0, 2,                 2, 0, 0, 0, 0, 9,    8, 0,
        0x45, 0, ALL >> 8, ALL & 255,     0, 0, 0, 0,          64, 1, 0, 0,    10, 0, 0, 0,    10, 0, 0, 2,
        8, 0, 0xF7, 0xFF
    };
    tenon_u8 frame[14 + ALL] = { 0 };
    unsigned sum = 0, i;

    memcpy(frame, head, sizeof(head));
    frame[14 + 15] = (tenon_u8)from;
    for (i = 14; i < 34; i += 2)
        sum += (unsigned)frame[i] << 8 | frame[i + 1];
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    frame[14 + 10] = (tenon_u8)(sum >> 8);
    frame[14 + 11] = (tenon_u8)sum;
    CHECK_EQ_I(wire_inject(world->m[1].end, frame, sizeof(frame), 1), 0);
    world_run(world, 1000);
}

static void two_blocks_here(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 2 : 0;
}

/* Two requests of a neighbour that is there come before it is asked for. The second lies in the last block, and is
 * lost, as datagrams may be: its answer does not wait there for the neighbour, or the neighbour's own could not be
 * heard. */
UNIT_TEST(pings_of_a_neighbour_leave_the_last_block)
{
    struct tenon_netif_info before, after;
    struct world world;

    if (!CHECK(world_open(&world, two_blocks_here)))
        return;
    world_run(&world, 3000000);
    CHECK_EQ_I(tenon_netif_get(tenon_sock_stack(world.m[0].socks), 1, &before), TENON_OK);
    inject_ping(&world, 1);
    inject_ping(&world, 1);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 1);
    world_run(&world, 100000);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 2);
    CHECK_EQ_I(tenon_netif_get(tenon_sock_stack(world.m[0].socks), 1, &after), TENON_OK);
    CHECK_EQ_U(after.rx_frames - before.rx_frames, 2);    /* who is 10.0.0.1?, and one answer */
    world_close(&world);
}

/* Who is not there does not have the last block for three seconds, each time that somebody asks in its name. */
UNIT_TEST(pings_of_who_is_not_there_leave_the_last_block)
{
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    struct tenon_sock_info info;
    struct world world;
    unsigned i;
    int client;

    if (!CHECK(world_open(&world, NULL)))
        return;
    CHECK(tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
    for (i = 0; i < 8; i++)
        inject_ping(&world, 100 + i / 2);
    CHECK(world_count(&world.m[1]).blocks_free > 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
}

/* Buffers for headers as few as there may be. */
static void least_headers(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.headers = 3;
}

/* Machine 0 sends two datagrams each to `n` who are not there, and has one buffer for headers left. */
static void send_to_nobody(struct world *world, unsigned n)
{
    struct tenon_socks *socks = world->m[0].socks;
    struct tenon_addr nobody;
    tenon_u8 *p;
    unsigned i;
    int sk = 0;

    world_run(world, 3000000);
    for (i = 0; i < 2 * n; i++) {
        nobody = world_addr(76 + i / 2, 0, PORT);
        if (i % 2 == 0) {
            sk = tenon_sock_create(socks, NULL, &nobody, TENON_SOCK_UDP, 0);
            CHECK_EQ_I(tenon_sock_set_sbuf(socks, sk, world_ring(&world->m[0], i / 2, 2000), 2000), TENON_OK);
        }
        CHECK(tenon_sock_ask_sbuf(socks, sk, &p) >= 200);
        CHECK_EQ_I(tenon_sock_send(socks, sk, p, 200, 0), i < 2 ? TENON_OK : TENON_ENOMEM);
        world_run(world, 1000);
    }
}

/* Whose datagrams wait does not keep others from being asked for. */
UNIT_TEST(who_is_not_there_leaves_a_header_to_ask_others)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    struct tenon_socks *socks;
    struct world world;
    int client;

    if (!CHECK(world_open(&world, least_headers)))
        return;
    socks = world.m[0].socks;
    CHECK(tenon_sock_create(world.m[1].socks, &at, NULL, TENON_SOCK_TCP, 0) > 0);
    send_to_nobody(&world, 1);
    client = tenon_sock_create(socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 1500000);    /* the first SYN is lost, the question is not */
    CHECK_EQ_I(tenon_sock_status(socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
    world_free_rings(&world);
}

/* Two who are not there do not make us mute: who is there is answered. */
UNIT_TEST(two_who_are_not_there_leave_a_header_to_answer_others)
{
    const struct tenon_addr at = world_addr(0, 0, PORT);
    struct tenon_sock_info info;
    struct world world;
    int client;

    if (!CHECK(world_open(&world, least_headers)))
        return;
    CHECK(tenon_sock_create(world.m[0].socks, &at, NULL, TENON_SOCK_TCP, 0) > 0);
    send_to_nobody(&world, 2);
    client = tenon_sock_create(world.m[1].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
    world_free_rings(&world);
}

/* ---- devices ---- */

static void contiguous_device(struct machine *machine, unsigned i)
{
    machine->conf.device.flags = i == 0 ? TENON_SOCK_CONTIGUOUS : TENON_SOCK_NO_DMA;
}

/* Machine 0 has a DMA that takes frames of one piece. Packets of full segments leave as they lie in the ring,
 * headers in front of them; also when they are sent again. */
static void contiguous_stream(uint32_t loss_ppm, unsigned most, int copies)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 6 * (FULL + TENON_SOCK_PACKET_BYTES);
    struct world world;
    struct tenon_sock_counts counts;
    tenon_u32 sent = 0, got = 0;
    int client, server, i;

    if (!CHECK(world_open(&world, contiguous_device)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    world_faults(&world.m[0], loss_ppm, loss_ppm);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    for (i = 0; i < 20000 && got < 100000; i++) {
        world_send(&world.m[0], client, &sent, 100000, most);
        world_run(&world, 5000);
        (void)world_receive(&world.m[1], server, &got);
    }
    CHECK_EQ_U(got, 100000);
    counts = world_count(&world.m[0]);
    CHECK_EQ_U(world.m[0].frames_elsewhere, 0);
    CHECK_EQ_U(world.m[0].frames_in_ring, world.m[0].frames_of_one);
    CHECK(counts.header_bytes >= 54UL * world.m[0].frames_of_one);
    CHECK(copies || counts.copied_bytes == 0);
    CHECK(!copies || counts.copied_bytes > 0);
    CHECK(world.m[0].frames_of_one > 60 || copies);
    CHECK_EQ_U(tenon_stat(tenon_sock_stack(world.m[0].socks), TENON_STAT_COPIED_BYTES), 0);
    counts = world_count(&world.m[1]);
    CHECK(counts.device_bytes > 100000);
    CHECK_EQ_U(world_copied(&world.m[1]), 0);
    world_close(&world);
    world_free_rings(&world);
}

/* Its ring has to have more room: for headers in front of the bytes. */
UNIT_TEST(contiguous_device_ring_too_small)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    const tenon_u32 least = TENON_SOCK_PACKET_BYTES + 88;
    struct world world;
    tenon_u8 *ring, *p;
    int sk, n;

    if (!CHECK(world_open(&world, contiguous_device)))
        return;
    sk = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    ring = world_ring(&world.m[0], 0, least);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, sk, ring, least - 1), TENON_EMSGSIZE);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, sk, ring, least), TENON_OK);
    n = tenon_sock_ask_sbuf(world.m[0].socks, sk, &p);
    CHECK(n >= 80 && p >= ring + TENON_SOCK_ROOM && p + n <= ring + least);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(contiguous_device_frames_lie_in_the_ring)
{
    contiguous_stream(0, FULL, 0);
}

UNIT_TEST(contiguous_device_loss_frames_lie_in_the_ring)
{
    contiguous_stream(50000, FULL, 0);
}

/* Small packets that leave together have to be put together. */
UNIT_TEST(contiguous_device_small_packets_are_counted)
{
    contiguous_stream(0, 200, 1);
}

/* All blocks are in use: what has to be put together leaves from the one that is kept for that. */
UNIT_TEST(contiguous_device_no_block_left_sends_on)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const tenon_u32 bytes = 6 * (FULL + TENON_SOCK_PACKET_BYTES);
    struct tenon_buf *taken[8];
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, n = 0;

    if (!CHECK(world_open(&world, contiguous_device)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
    while (n < 8 && (taken[n] = tenon_sock_block(world.m[0].socks)) != NULL)
        n++;
    CHECK_EQ_I(n, 7);
    world_send(&world.m[0], client, &sent, 600, 200);
    world_run(&world, 10000);
    (void)world_receive(&world.m[1], server, &got);
    CHECK_EQ_U(got, 600);
    CHECK(world_count(&world.m[0]).copied_bytes > 0);
    CHECK(tenon_sock_poll(world.m[0].socks, (tenon_u32)wire_host_now(world.m[0].host)) > 0);
    while (n > 0)
        tenon_buf_put(taken[--n]);
    world_close(&world);
    world_free_rings(&world);
}

/* A ring for one packet of m bytes takes one, wherever it lies. */
static void ring_takes_one(void (*adjust)(struct machine *machine, unsigned i), unsigned per_packet)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    static tenon_u8 memory[8 + 512];
    struct tenon_socks *socks;
    struct world world;
    unsigned m, skip;
    tenon_u8 *p;
    int sk;

    if (!CHECK(world_open(&world, adjust)))
        return;
    socks = world.m[0].socks;
    for (skip = 0; skip < 8; skip++)
        for (m = 88; m < 120; m++) {
            sk = tenon_sock_create(socks, NULL, &at, TENON_SOCK_UDP, 0);
            CHECK_EQ_I(tenon_sock_set_sbuf(socks, sk, memory + skip, m + per_packet), TENON_OK);
            CHECK(tenon_sock_ask_sbuf(socks, sk, &p) >= (int)m);
            CHECK_EQ_I(tenon_sock_delete(socks, sk, 0), TENON_OK);
        }
    world_close(&world);
}

UNIT_TEST(ring_for_one_packet_at_every_alignment)
{
    ring_takes_one(NULL, TENON_SOCK_RECORD_BYTES);
    ring_takes_one(contiguous_device, TENON_SOCK_PACKET_BYTES);
}

static void device_that_cuts(struct machine *machine, unsigned i)
{
    if (i == 0) {
        contiguous_device(machine, i);
        machine->conf.device.netif.caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4;
    } else {
        machine->conf.window = 8000;
        machine->conf.blocks = 16;
    }
}

/* No block could hold more than a packet: such a device is not asked to cut, and nothing is lost. */
UNIT_TEST(contiguous_device_is_not_asked_to_cut)
{
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    struct tenon_tcp_info info;
    tenon_u32 sent = 0, got = 0;
    struct world world;
    int client, server, i;

    if (!CHECK(world_open(&world, device_that_cuts)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, 12000), 12000), TENON_OK);
    world_run(&world, 10000);
    for (i = 0; i < 200 && got < 100000; i++) {
        world_send(&world.m[0], client, &sent, 100000, 1460);
        world_run(&world, 10000);
        (void)world_receive(&world.m[1], server, &got);
    }
    CHECK_EQ_U(got, 100000);
    tenon_tcp_status(tn_sock_find(world.m[0].socks, client)->conn, &info);
    CHECK_EQ_U(info.retransmits, 0);
    world_close(&world);
    world_free_rings(&world);
}

/* ---- the original names ---- */

UNIT_TEST(names_of_the_seven)
{
    struct world world;
    const struct tenon_ip there = world_ip(1, 0);
    const struct tenon_addr any = { .port = PORT };
    tenon_u32 got = 0;
    int sk, server, n;
    tenon_u8 *p;
    void *ring;

    if (!CHECK(world_open(&world, NULL)))
        return;
    tenon_sock_only = world.m[0].socks;
    ring = world_ring(&world.m[0], 0, 4000);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    sk = cre_sock(NULL, 0, &there, PORT, TENON_SOCK_TCP, 0);
    world_run(&world, 10000);
    CHECK_EQ_I(set_sbuf(sk, ring, 4000), TENON_OK);
    CHECK(ask_sbuf(sk, &p) > 100);
    for (n = 0; n < 100; n++)
        p[n] = world_byte((tenon_u32)n);
    CHECK_EQ_I(send(sk, p, 100, 0), TENON_OK);
    world_run(&world, 10000);
    (void)world_receive(&world.m[1], server, &got);
    CHECK_EQ_U(got, 100);
    CHECK_EQ_I(ask_rbuf(sk, &p), 0);
    CHECK_EQ_I(read_done(sk, p, 1), TENON_EINVAL);
    CHECK_EQ_I(del_sock(sk), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

/* The names with any of what they may be asked for: a server, with its own address or none, over both IP versions. */
static void names_server(const struct tenon_ip *own, int v6)
{
    const struct tenon_addr at = world_addr(0, v6, PORT);
    struct world world;
    tenon_u32 got = 0, sent = 0;
    int sk, client, n;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    tenon_sock_only = world.m[0].socks;
    sk = cre_sock(own, PORT, NULL, 0, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    CHECK(sk > 0);
    CHECK_EQ_I(set_sbuf(sk, world_ring(&world.m[0], 0, 4000), 4000), TENON_OK);
    CHECK_EQ_I(ask_sbuf(sk, &p), 0);
    client = tenon_sock_create(world.m[1].socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[1].socks, client, world_ring(&world.m[1], 0, 4000), 4000), TENON_OK);
    world_run(&world, 100000);
    world_send(&world.m[1], client, &sent, 300, 300);
    world_run(&world, 100000);
    n = ask_rbuf(sk, &p);
    CHECK_EQ_I(n, 300);
    CHECK_EQ_U(p[299], world_byte(299));
    CHECK_EQ_I(read_done(sk, p, 300), TENON_OK);
    CHECK(ask_sbuf(sk, &p) >= 300);
    for (n = 0; n < 300; n++)
        p[n] = world_byte((tenon_u32)n);
    CHECK_EQ_I(send(sk, p, 300, TENON_SOCK_FIN), TENON_OK);
    world_run(&world, 100000);
    CHECK_EQ_I(world_receive(&world.m[1], client, &got), TENON_ECLOSED);
    CHECK_EQ_U(got, 300);
    CHECK_EQ_I(del_sock(sk), TENON_OK);
    CHECK_EQ_I(del_sock(sk), TENON_EINVAL);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(names_of_a_server)
{
    int v6;

    for (v6 = 0; v6 <= TENON_WITH_IPV6; v6++) {
        const struct tenon_ip own = world_ip(0, v6);

        names_server(NULL, v6);
        names_server(&own, v6);
    }
}

/* UDP: one that asks, with a fixed peer, and one that answers whoever asks. */
static void names_datagrams(int v6)
{
    const struct tenon_ip own = world_ip(0, v6), there = world_ip(1, v6);
    const struct tenon_addr seven = { .port = 7 }, to = world_addr(0, v6, 8);
    struct world world;
    int asks, answers, echo, other;
    tenon_u8 *p, *q;

    if (!CHECK(world_open(&world, NULL)))
        return;
    tenon_sock_only = world.m[0].socks;
    echo = tenon_sock_create(world.m[1].socks, &seven, NULL, TENON_SOCK_UDP, 0);
    other = tenon_sock_create(world.m[1].socks, NULL, &to, TENON_SOCK_UDP, 0);
    asks = cre_sock(NULL, 0, &there, 7, TENON_SOCK_UDP, 0);
    answers = cre_sock(&own, 8, NULL, 0, TENON_SOCK_UDP, 0);
    CHECK(asks > 0 && answers > 0);
    CHECK_EQ_I(cre_sock(NULL, 8, NULL, 0, 99, 0), TENON_EINVAL);
    CHECK_EQ_I(set_sbuf(asks, world_ring(&world.m[0], 0, 2000), 2000), TENON_OK);
    CHECK_EQ_I(set_sbuf(answers, world_ring(&world.m[0], 1, 2000), 2000), TENON_OK);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[1].socks, other, world_ring(&world.m[1], 0, 2000), 2000), TENON_OK);
    CHECK(ask_sbuf(asks, &p) > 4);
    CHECK_EQ_I(ask_sbuf(answers, &q), TENON_EUNREACH);    /* nobody has asked */
    p[0] = 1;
    CHECK_EQ_I(send(asks, p, 1, 0), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(world.m[1].socks, other, &q) > 4);
    q[0] = 2;
    CHECK_EQ_I(tenon_sock_send(world.m[1].socks, other, q, 1, 0), TENON_OK);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, echo, &q), 1);
    CHECK_EQ_U(q[0], 1);
    CHECK_EQ_I(ask_rbuf(answers, &p), 1);
    CHECK_EQ_U(p[0], 2);
    CHECK_EQ_I(read_done(answers, p, 1), TENON_OK);
    CHECK(ask_sbuf(answers, &p) > 4);
    p[0] = 3;
    CHECK_EQ_I(send(answers, p, 1, 0), TENON_OK);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, other, &q), 1);
    CHECK_EQ_U(q[0], 3);
    CHECK_EQ_I(del_sock(asks), TENON_OK);
    CHECK_EQ_I(del_sock(answers), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(names_of_datagrams)
{
    int v6;

    for (v6 = 0; v6 <= TENON_WITH_IPV6; v6++)
        names_datagrams(v6);
}

/* A link-local address has no place for its interface in the names: there is only one. */
UNIT_TEST(names_of_a_link_local_address)
{
    const struct tenon_addr any = { .port = PORT };
    struct tenon_addr_info there;
    struct tenon_sock_info info;
    struct world world;
    unsigned i;
    int sk;

    if (!TENON_WITH_IPV6 || !CHECK(world_open(&world, NULL)))
        return;
    tenon_sock_only = world.m[0].socks;
    CHECK(tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0) > 0);
    world_run(&world, 100000);
    for (i = 0; tenon_addr_get(tenon_sock_stack(world.m[1].socks), i, &there) == TENON_OK; i++)
        if (there.ip.w[0] == 0xFE800000UL)
            break;
    sk = cre_sock(NULL, 0, &there.ip, PORT, TENON_SOCK_TCP, 0);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, sk, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    world_close(&world);
}

int main(void)
{
    UNIT_RUN(arena_too_small_or_conf_wrong);
    UNIT_RUN(conf_at_its_limits);
    UNIT_RUN(conf_left_open);
    UNIT_RUN(arena_of_the_guide);
    UNIT_RUN(block_of_one_frame_takes_full_segments);
    UNIT_RUN(blocks_for_small_packets_are_as_small);
    UNIT_RUN(blocks_for_small_packets_send_full_segments);
    UNIT_RUN(frame_longer_than_its_block_is_dropped);
    UNIT_RUN(arena_sums_do_not_wrap);
    UNIT_RUN(arena_at_every_alignment);
    UNIT_RUN(memory_comes_back_in_one_piece);
    UNIT_RUN(memory_of_odd_size);
    UNIT_RUN(ring_nearly_full_no_crumbs);
    UNIT_RUN(descriptors_all_taken);
    UNIT_RUN(ports_all_taken);
    UNIT_RUN(arena_grows_with_each_limit);
    UNIT_RUN(descriptors_all_of_a_kind_memory_is_enough);
    UNIT_RUN(memory_too_small_call_says_so);
    UNIT_RUN(congestion_control_of_the_program);
    UNIT_RUN(stop_sends_nothing);
    UNIT_RUN(four_connections_with_faults_memory_is_enough);
    UNIT_RUN(four_rings_full_deleted_all_arrives);
    UNIT_RUN(clients_too_many_wait);
    UNIT_RUN(clients_together_none_is_reset);
    UNIT_RUN(client_who_is_nobody_keeps_others_out_for_a_second);
    UNIT_RUN(clients_who_are_nobody_get_cookies);
    UNIT_RUN(promise_of_a_port_that_is_gone);
    UNIT_RUN(promise_of_71_minutes_ago);
    UNIT_RUN(burst_is_answered_together);
    UNIT_RUN(event_after_the_events_is_not_waited_for);
    UNIT_RUN(frame_of_an_event_is_not_waited_for);
    UNIT_RUN(tiny_segments_do_not_hold_all_blocks);
    UNIT_RUN(tiny_segments_all_held_connection_lives);
    UNIT_RUN(no_record_for_a_piece_connection_ends);
    UNIT_RUN(tiny_segments_block_of_another_is_not_shared);
    UNIT_RUN(blocks_all_wanted_acknowledgements_are_heard);
    UNIT_RUN(blocks_all_wanted_one_to_send_from);
    UNIT_RUN(blocks_all_wanted_by_one_burst);
    UNIT_RUN(blocks_two_are_enough);
    UNIT_RUN(device_without_a_block_is_asked_again);
    UNIT_RUN(contiguous_device_without_a_block_is_asked_again);
    UNIT_RUN(lengths_one_block_is_enough);
    UNIT_RUN(lengths_one_block_and_one_to_send_from);
    UNIT_RUN(lengths_short_frames_without_a_block);
    UNIT_RUN(lengths_a_header_is_left_to_hear_with);
    UNIT_RUN(lengths_text_without_a_block_is_not_kept);
    UNIT_RUN(lengths_text_behind_text_is_not_kept);
    UNIT_RUN(lengths_a_burst_of_short_frames);
    UNIT_RUN(pings_of_a_neighbour_leave_the_last_block);
    UNIT_RUN(pings_of_who_is_not_there_leave_the_last_block);
    UNIT_RUN(who_is_not_there_leaves_a_header_to_ask_others);
    UNIT_RUN(two_who_are_not_there_leave_a_header_to_answer_others);
    UNIT_RUN(contiguous_device_ring_too_small);
    UNIT_RUN(contiguous_device_frames_lie_in_the_ring);
    UNIT_RUN(contiguous_device_loss_frames_lie_in_the_ring);
    UNIT_RUN(contiguous_device_small_packets_are_counted);
    UNIT_RUN(contiguous_device_no_block_left_sends_on);
    UNIT_RUN(ring_for_one_packet_at_every_alignment);
    UNIT_RUN(contiguous_device_is_not_asked_to_cut);
    UNIT_RUN(names_of_the_seven);
    UNIT_RUN(names_of_a_server);
    UNIT_RUN(names_of_datagrams);
    UNIT_RUN(names_of_a_link_local_address);
    return unit_end();
}
