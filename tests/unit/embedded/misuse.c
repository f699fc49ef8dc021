/* SPDX-License-Identifier: MIT */
/* Each misuse returns its error, and harms nothing: the connection beside it goes on. */
#include "embedded/sock_internal.h"
#include "embedded/world.h"

enum { PORT = 80, RING = 4000 };

static tenon_u8 aside[RING];

struct pair {
    struct world world;
    struct tenon_socks *socks;    /* of the client */
    int client, server;
    tenon_u32 sent, got;
};

static void pair_open_as(struct pair *pair, void (*adjust)(struct machine *machine, unsigned i))
{
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };

    memset(pair, 0, sizeof(*pair));
    if (!CHECK(world_open(&pair->world, adjust)))
        return;
    pair->socks = pair->world.m[0].socks;
    pair->server = tenon_sock_create(pair->world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    pair->client = tenon_sock_create(pair->socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&pair->world, 10000);
}

static void pair_open(struct pair *pair)
{
    pair_open_as(pair, NULL);
}

static void pair_ring(struct pair *pair)
{
    CHECK_EQ_I(tenon_sock_set_sbuf(pair->socks, pair->client, world_ring(&pair->world.m[0], 0, RING), RING), TENON_OK);
}

/* 10,000 bytes arrive as they were sent; then all memory comes back. */
static void pair_still_good(struct pair *pair)
{
    const tenon_u32 end = pair->sent + 10000;
    unsigned i;

    for (i = 0; i < 200 && pair->got < end; i++) {
        world_send(&pair->world.m[0], pair->client, &pair->sent, end, 1460);
        world_run(&pair->world, 10000);
        (void)world_receive(&pair->world.m[1], pair->server, &pair->got);
    }
    CHECK_EQ_U(pair->got, end);
    world_close(&pair->world);
    world_free_rings(&pair->world);
}

UNIT_TEST(read_done_twice)
{
    struct pair pair;
    struct tenon_socks *socks;
    tenon_u8 *p, *q;

    pair_open(&pair);
    pair_ring(&pair);
    socks = pair.world.m[1].socks;
    world_send(&pair.world.m[0], pair.client, &pair.sent, 500, 500);
    world_run(&pair.world, 100000);
    world_send(&pair.world.m[0], pair.client, &pair.sent, 1000, 500);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, pair.server, &p), 500);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, pair.server, &q), 500);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_OK);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, q, 501), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, q, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, q + 1, 499), TENON_EINVAL);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 7);
    CHECK_EQ_U(q[0], world_byte(500));
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, q, 500), TENON_OK);
    pair.got = 1000;
    pair_still_good(&pair);
}

/* Sends 500 bytes and takes them at the other end. @return where they lie */
static tenon_u8 *pair_piece(struct pair *pair)
{
    tenon_u8 *p = NULL;

    world_send(&pair->world.m[0], pair->client, &pair->sent, pair->sent + 500, 500);
    world_run(&pair->world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair->world.m[1].socks, pair->server, &p), 500);
    CHECK_EQ_U(p[0], world_byte(pair->got));
    pair->got += 500;
    return p;
}

/* Segments arrive after the block was returned, one of them is held: it lies elsewhere, and the second return finds
 * nothing, with any number of bytes. That goes on until all other blocks have been used. */
UNIT_TEST(read_done_twice_segments_between)
{
    struct pair pair;
    const struct machine *machine = &pair.world.m[1];
    struct tenon_socks *socks;
    tenon_u8 *p, *q;
    unsigned filled;

    pair_open(&pair);
    pair_ring(&pair);
    socks = machine->socks;
    p = pair_piece(&pair);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_OK);
    filled = machine->filled;
    while ((q = pair_piece(&pair)) != p && q != NULL) {
        CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_EINVAL);
        CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 1), TENON_EINVAL);
        CHECK_EQ_U(world_count(machine).blocks_free, 7);
        CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, q, 500), TENON_OK);
    }
    CHECK_EQ_U(machine->filled - filled, 8);    /* all have come round: what the header says nobody can tell apart */
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_OK);
    pair_still_good(&pair);
}

/* The rest of a piece has its own address: the beginning is not returned a second time, whatever comes in between. */
UNIT_TEST(read_done_part_twice_segments_between)
{
    struct pair pair;
    struct tenon_socks *socks;
    tenon_u8 *p, *q;

    pair_open(&pair);
    pair_ring(&pair);
    socks = pair.world.m[1].socks;
    p = pair_piece(&pair);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 100), TENON_OK);
    q = pair_piece(&pair);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 100), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 400), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p + 100, 401), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p + 100, 400), TENON_OK);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p + 100, 400), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, q, 500), TENON_OK);
    pair_still_good(&pair);
}

UNIT_TEST(read_done_not_handed_out_or_foreign)
{
    struct pair pair;
    struct tenon_socks *socks;
    tenon_u8 *p, *q;

    pair_open(&pair);
    pair_ring(&pair);
    socks = pair.world.m[1].socks;
    world_send(&pair.world.m[0], pair.client, &pair.sent, 500, 500);
    world_run(&pair.world, 100000);
    p = pair.world.m[1].written + 14 + 20 + 32;    /* Ethernet, IPv4, TCP with timestamps */
    CHECK_EQ_U(p[0], world_byte(0));
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, pair.server, &q), 500);
    CHECK(p == q);    /* read where the device has written it */
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, NULL, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, aside, 1), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.client, p, 500), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server + 1, p, 500), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_OK);
    pair.got = 500;
    pair_still_good(&pair);
}

UNIT_TEST(no_ring_and_ring_too_small)
{
    struct pair pair;
    tenon_u8 *p = aside;
    const tenon_u32 least = TENON_SOCK_RECORD_BYTES + 88;
    int n;

    pair_open(&pair);
    CHECK_EQ_I(tenon_sock_ask_sbuf(pair.socks, pair.client, &p), TENON_ENOMEM);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1, 0), TENON_ENOMEM);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, aside, least - 1), TENON_EMSGSIZE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, NULL, RING), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_ask_sbuf(pair.socks, pair.client, &p), TENON_ENOMEM);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, aside + 1, least), TENON_OK);
    n = tenon_sock_ask_sbuf(pair.socks, pair.client, &p);
    CHECK(n >= 80);
    CHECK(p > aside && p + n <= aside + 1 + least);
    CHECK_EQ_U((size_t)p % SOCK_ALIGN, 0);
    pair_ring(&pair);
    pair_still_good(&pair);
}

UNIT_TEST(send_not_what_was_asked_for)
{
    struct pair pair;
    tenon_u8 *p, *q;
    int n;

    pair_open(&pair);
    pair_ring(&pair);
    n = tenon_sock_ask_sbuf(pair.socks, pair.client, &p);
    CHECK(n > 1000);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, (unsigned)n + 1U, 0), TENON_EMSGSIZE);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p + 1, 1, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, aside, 1, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, NULL, 1, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 0, 0), TENON_EINVAL);
    p[0] = world_byte(0);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1, 0), TENON_EINVAL);
    CHECK(tenon_sock_ask_sbuf(pair.socks, pair.client, &q) > 0 && q != p);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, aside, RING), TENON_EINUSE);
    pair.sent = 1;
    pair_still_good(&pair);
}

UNIT_TEST(ring_in_the_arena)
{
    struct pair pair;
    const struct machine *machine = &pair.world.m[0];
    tenon_u8 *end;

    pair_open(&pair);
    end = (tenon_u8 *)pair.socks + pair.socks->arena_bytes;
    CHECK(end <= machine->arena + machine->arena_bytes && end + 16 > machine->arena + machine->arena_bytes);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, pair.socks, RING), TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, machine->arena + machine->arena_bytes / 2, RING),
               TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, end - 8, RING), TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, (tenon_u8 *)pair.socks + 8 - RING, RING), TENON_EINUSE);
    pair_ring(&pair);
    pair_still_good(&pair);
}

UNIT_TEST(ring_of_another_descriptor)
{
    struct pair pair;
    tenon_u8 *ring;
    int other;

    pair_open(&pair);
    pair_ring(&pair);
    ring = (tenon_u8 *)(size_t)pair.world.m[0].rings[0];
    other = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other, ring + RING - 8, RING), TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other, ring, RING), TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other, aside, RING), TENON_OK);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other, aside + 8, RING - 8), TENON_OK);
    pair_still_good(&pair);
}

/* Three rings of one array, side by side: nobody has a byte of another. */
UNIT_TEST(rings_beside_each_other)
{
    enum { PART = 1000 };
    struct pair pair;
    tenon_u8 *rings;
    int other[2];

    pair_open(&pair);
    rings = world_ring(&pair.world.m[0], 0, 3 * PART);
    other[0] = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
    other[1] = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, rings + PART, PART), TENON_OK);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other[0], rings, PART + 1), TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other[0], rings, PART), TENON_OK);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other[1], rings + 2 * PART - 8, PART), TENON_EINUSE);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, other[1], rings + 2 * PART, PART), TENON_OK);
    pair_still_good(&pair);
}

/* Another ring: what was asked for in the one before is void. */
UNIT_TEST(ring_changed_after_asking)
{
    const tenon_u32 least = TENON_SOCK_RECORD_BYTES + 88;
    struct pair pair;
    tenon_u8 *p;

    pair_open(&pair);
    pair_ring(&pair);
    CHECK(tenon_sock_ask_sbuf(pair.socks, pair.client, &p) > 1000);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, aside, least), TENON_OK);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1000, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, pair.socks->socks[0].ring.base + pair.socks->front, 1000, 0),
               TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.client, (void *)(size_t)pair.world.m[0].rings[0], RING), TENON_OK);
    pair_still_good(&pair);
}

UNIT_TEST(descriptor_none_or_old)
{
    struct pair pair;
    const int wrong[] = {0, -1, -32767, 5, 64, 65, 1000, 32767};
    struct tenon_sock_info info;
    tenon_u8 *p;
    unsigned i;
    int old;

    pair_open(&pair);
    pair_ring(&pair);
    for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, wrong[i], &p), TENON_EINVAL);
        CHECK_EQ_I(tenon_sock_ask_sbuf(pair.socks, wrong[i], &p), TENON_EINVAL);
        CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, wrong[i], aside, RING), TENON_EINVAL);
        CHECK_EQ_I(tenon_sock_send(pair.socks, wrong[i], aside, 1, 0), TENON_EINVAL);
        CHECK_EQ_I(tenon_sock_status(pair.socks, wrong[i], &info), TENON_EINVAL);
        CHECK_EQ_I(tenon_sock_delete(pair.socks, wrong[i], 0), TENON_EINVAL);
    }
    old = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_delete(pair.socks, old, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_delete(pair.socks, old, 0), TENON_EINVAL);
    CHECK(tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0) != old);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, old, &p), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_create(pair.socks, NULL, NULL, 99, 0), TENON_EINVAL);
    pair_still_good(&pair);
}

/* The place of a deleted descriptor has other numbers until all of them were used. */
UNIT_TEST(descriptor_old_is_nobody_for_long)
{
    struct pair pair;
    const unsigned long uses = SOCK_USES;
    unsigned long i, wrong = 0;
    int old, sk;
    tenon_u8 *p;

    pair_open(&pair);
    pair_ring(&pair);
    old = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_U(uses, INT_MAX / 64 > 0xFFFF ? 0x10000 : 511);
    for (i = 0, sk = old; i < uses; i++) {
        wrong += tenon_sock_delete(pair.socks, sk, 0) != TENON_OK;
        wrong += tenon_sock_ask_rbuf(pair.socks, old, &p) != TENON_EINVAL;
        sk = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
        wrong += sk <= 0 || (sk == old && i + 1 < uses);
    }
    CHECK_EQ_U(wrong, 0);
    CHECK_EQ_I(sk, old);
    pair_still_good(&pair);
}

/* What cannot be is refused by its own error, and leaves nothing behind. */
UNIT_TEST(create_each_error)
{
    const struct tenon_ip theirs = tenon_ip4(0x0A000009UL), far = tenon_ip4(0x0B000001UL), any = tenon_ip_any();
    const struct tenon_ip peer = world_ip(1, 0), group = tenon_ip4(0xE0000005UL);
    const int no_group = TENON_WITH_MULTICAST ? TENON_EINVAL : TENON_ENOADDR;
    struct pair pair;
    struct tenon_sock_info info;
    size_t used = 0;
    unsigned i;

    pair_open(&pair);
    pair_ring(&pair);
    CHECK_EQ_I(tenon_sock_status(pair.socks, pair.client, &info), TENON_OK);
    {
        const struct {
            const char *name;
            int protocol, error;
            struct tenon_addr local, remote;
        } rows[] = {
            {"protocol", 1, TENON_EINVAL, {any, 9, 0}, {any, 0, 0}},
            {"UDP, port taken", TENON_SOCK_UDP, TENON_EINUSE, {any, 7, 0}, {any, 0, 0}},
            {"UDP, address of another", TENON_SOCK_UDP, TENON_ENOADDR, {theirs, 9, 0}, {any, 0, 0}},
            {"UDP, no route", TENON_SOCK_UDP, TENON_EUNREACH, {any, 9, 0}, {far, 9, 0}},
            {"server, address of another", TENON_SOCK_TCP, TENON_ENOADDR, {theirs, 9, 0}, {any, 0, 0}},
            {"server of a group", TENON_SOCK_TCP, no_group, {group, 9, 0}, {any, 0, 0}},
            {"client, address of another", TENON_SOCK_TCP, TENON_ENOADDR, {theirs, 9, 0}, {peer, PORT, 0}},
            {"client, no route", TENON_SOCK_TCP, TENON_EUNREACH, {any, 0, 0}, {far, 9, 0}},
            {"client, the same again", TENON_SOCK_TCP, TENON_EINUSE, {any, info.local.port, 0}, {peer, PORT, 0}},
        };
        const struct tenon_addr seven = { .port = 7 };
        int place;

        CHECK(tenon_sock_create(pair.socks, &seven, NULL, TENON_SOCK_UDP, 0) > 0);
        place = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
        CHECK_EQ_I(tenon_sock_delete(pair.socks, place, 0), TENON_OK);
        for (i = 0; i < 2 * TENON_ARRAY_LEN(rows); i++) {    /* the first time some of it is kept for the next */
            const unsigned row = i % TENON_ARRAY_LEN(rows);

            unit_row(rows[row].name);
            if (i == TENON_ARRAY_LEN(rows))
                used = world_count(&pair.world.m[0]).memory_used;
            CHECK_EQ_I(tenon_sock_create(pair.socks, &rows[row].local, &rows[row].remote, rows[row].protocol, 0),
                       rows[row].error);
        }
        CHECK_EQ_U(world_count(&pair.world.m[0]).memory_used, used);
        for (i = 0; i < 40; i++)    /* no number of that place means anything */
            CHECK_EQ_I(tenon_sock_status(pair.socks, place + 64 * (int)i, &info), TENON_EINVAL);
    }
    unit_row(NULL);
    for (i = 0; i < 2; i++)
        CHECK(tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0) > 0);
    CHECK_EQ_I(tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0), TENON_ELIMIT);
    pair_still_good(&pair);
}

/* Nobody says where the answer is to be written: nothing is handed out. */
UNIT_TEST(asked_without_a_place_for_the_answer)
{
    struct pair pair;
    struct tenon_socks *socks;
    tenon_u8 *p;

    pair_open(&pair);
    pair_ring(&pair);
    socks = pair.world.m[1].socks;
    CHECK_EQ_I(tenon_sock_ask_sbuf(pair.socks, pair.client, NULL), TENON_EINVAL);
    world_send(&pair.world.m[0], pair.client, &pair.sent, 500, 500);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, pair.server, NULL), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, pair.server, &p), 500);
    CHECK_EQ_I(tenon_sock_read_done(socks, pair.server, p, 500), TENON_OK);
    pair.got = 500;
    pair_still_good(&pair);
}

/* FIN is TCP's, and a connection's. */
UNIT_TEST(finish_what_has_no_end)
{
    const struct tenon_addr to = world_addr(1, 0, 9);
    struct pair pair;
    tenon_u8 *p;
    int udp, server;

    pair_open(&pair);
    pair_ring(&pair);
    udp = tenon_sock_create(pair.socks, NULL, &to, TENON_SOCK_UDP, 0);
    server = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_TCP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, udp, aside, RING), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(pair.socks, udp, &p) > 0);
    CHECK_EQ_I(tenon_sock_send(pair.socks, udp, p, 1, TENON_SOCK_FIN), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, udp, NULL, 0, TENON_SOCK_FIN), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, server, NULL, 0, TENON_SOCK_FIN), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send(pair.socks, udp, p, 1, 0), TENON_OK);
    pair_still_good(&pair);
}

static void little_to_send(struct machine *machine, unsigned i)
{
    if (i == 0)
        machine->conf.stack.tcp_snd_buf = 2000;
}

/* The ring has room for more than may be unacknowledged: later the same bytes are taken. */
UNIT_TEST(send_more_than_may_be_unacknowledged)
{
    struct pair pair;
    tenon_u8 *p;
    unsigned i;
    int n;

    pair_open_as(&pair, little_to_send);
    pair_ring(&pair);
    world_send(&pair.world.m[0], pair.client, &pair.sent, 1000, 1000);
    n = tenon_sock_ask_sbuf(pair.socks, pair.client, &p);
    if (CHECK(n >= 1200)) {
        for (i = 0; i < 1200; i++)
            p[i] = world_byte(1000 + i);
        CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1200, 0), TENON_EAGAIN);
        CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1200, TENON_SOCK_FIN), TENON_EAGAIN);    /* nor that */
        world_run(&pair.world, 100000);
        CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1200, 0), TENON_OK);
    }
    world_run(&pair.world, 100000);
    (void)world_receive(&pair.world.m[1], pair.server, &pair.got);
    CHECK_EQ_U(pair.got, 2200);
    world_close(&pair.world);
    world_free_rings(&pair.world);
}

/* To all: only who says so when it is made. And a route that is gone when it is to be sent. */
UNIT_TEST(send_datagram_refused)
{
    const struct tenon_addr all = { tenon_ip4(0xFFFFFFFFUL), 9, 0 }, to = world_addr(1, 0, 9);
    const struct tenon_addr portless = world_addr(1, 0, 0);
    const struct tenon_ip ours = world_ip(0, 0);
    struct pair pair;
    struct tenon_sock_info info;
    tenon_u8 *p;
    int sk;

    pair_open(&pair);
    pair_ring(&pair);
    sk = tenon_sock_create(pair.socks, NULL, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, sk, aside, RING), TENON_OK);
    CHECK_EQ_I(tenon_sock_ask_sbuf(pair.socks, sk, &p), TENON_EUNREACH);
    CHECK_EQ_I(tenon_sock_to(pair.socks, sk, &portless), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_to(pair.socks, sk, &all), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(pair.socks, sk, &p) > 0);
    CHECK_EQ_I(tenon_sock_send(pair.socks, sk, p, 1, 0), TENON_EACCES);
    CHECK_EQ_I(tenon_sock_to(pair.socks, sk, &to), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(pair.socks, sk, &p) > 0);
    CHECK_EQ_I(tenon_addr_remove(tenon_sock_stack(pair.socks), 1, &ours), TENON_OK);
    CHECK_EQ_I(tenon_sock_send(pair.socks, sk, p, 1, 0), TENON_EUNREACH);
    CHECK_EQ_I(tenon_addr_add(tenon_sock_stack(pair.socks), 1, &ours, 24), TENON_OK);
    CHECK_EQ_I(tenon_sock_status(pair.socks, sk, &info), TENON_OK);
    CHECK_EQ_U(info.packets, 0);
    CHECK_EQ_I(tenon_sock_send(pair.socks, sk, p, 1, 0), TENON_OK);
    pair_still_good(&pair);
}

UNIT_TEST(finished_send_is_closed)
{
    struct pair pair;
    tenon_u8 *p;
    int n;

    pair_open(&pair);
    pair_ring(&pair);
    CHECK(tenon_sock_ask_sbuf(pair.socks, pair.client, &p) > 0);
    p[0] = world_byte(0);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, p, 1, TENON_SOCK_FIN), TENON_OK);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.client, NULL, 0, TENON_SOCK_FIN), TENON_ECLOSED);
    CHECK_EQ_I(tenon_sock_ask_sbuf(pair.socks, pair.client, &p), TENON_ECLOSED);
    world_run(&pair.world, 100000);
    n = world_receive(&pair.world.m[1], pair.server, &pair.got);
    CHECK_EQ_I(n, TENON_ECLOSED);
    CHECK_EQ_U(pair.got, 1);
    world_close(&pair.world);
    world_free_rings(&pair.world);
}

/* The peer resets: what it sent before can still be read, then the error comes. */
UNIT_TEST(peer_resets_error_after_data)
{
    struct pair pair;
    struct tenon_sock_info info;
    tenon_u8 *p;

    pair_open(&pair);
    pair_ring(&pair);
    world_send(&pair.world.m[0], pair.client, &pair.sent, 500, 500);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(tenon_sock_delete(pair.socks, pair.client, TENON_SOCK_ABORT), TENON_OK);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(tenon_sock_status(pair.world.m[1].socks, pair.server, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_CLOSED);
    CHECK_EQ_I(info.error, TENON_ERESET);
    CHECK_EQ_I(world_receive(&pair.world.m[1], pair.server, &pair.got), TENON_ERESET);
    CHECK_EQ_U(pair.got, 500);
    CHECK_EQ_I(tenon_sock_ask_sbuf(pair.world.m[1].socks, pair.server, &p), TENON_ECLOSED);
    CHECK_EQ_I(tenon_sock_send(pair.world.m[1].socks, pair.server, NULL, 0, TENON_SOCK_FIN), TENON_ECLOSED);
    world_close(&pair.world);
    world_free_rings(&pair.world);
}

/* Nobody listens there. */
UNIT_TEST(connect_refused)
{
    struct pair pair;
    struct tenon_addr at = world_addr(1, 0, PORT + 1);
    struct tenon_sock_info info;
    tenon_u8 *p;
    int sk;

    pair_open(&pair);
    pair_ring(&pair);
    sk = tenon_sock_create(pair.socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK(sk > 0);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, sk, &p), 0);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, sk, &p), TENON_EREFUSED);
    CHECK_EQ_I(tenon_sock_status(pair.socks, sk, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_CLOSED);
    CHECK_EQ_I(tenon_sock_delete(pair.socks, sk, 0), TENON_OK);
    pair_still_good(&pair);
}

static enum tenon_sock_state state_of_client(struct pair *pair, const struct tenon_addr *at)
{
    const int sk = tenon_sock_create(pair->socks, NULL, at, TENON_SOCK_TCP, 0);
    struct tenon_sock_info info;

    world_run(&pair->world, 100000);
    CHECK_EQ_I(tenon_sock_status(pair->socks, sk, &info), TENON_OK);
    CHECK_EQ_I(tenon_sock_delete(pair->socks, sk, 0), TENON_OK);
    return info.state;
}

/* A port that no descriptor has refuses clients; one that gets another at once has never been closed. */
UNIT_TEST(server_deleted_port_is_closed)
{
    struct pair pair;
    struct tenon_addr at = world_addr(1, 0, PORT + 1), any = { .port = PORT + 1 };
    struct tenon_socks *socks;
    int sk;

    pair_open(&pair);
    pair_ring(&pair);
    socks = pair.world.m[1].socks;
    sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    CHECK_EQ_I(tenon_sock_delete(socks, sk, 0), TENON_OK);
    sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    CHECK(sk > 0);
    CHECK_EQ_I(state_of_client(&pair, &at), TENON_SOCK_OPEN);
    CHECK_EQ_I(tenon_sock_delete(socks, sk, 0), TENON_OK);
    CHECK_EQ_I(state_of_client(&pair, &at), TENON_SOCK_CLOSED);
    pair_still_good(&pair);
}

/* A driver that says more than a block has. */
UNIT_TEST(driver_frame_past_the_block)
{
    struct pair pair;
    struct tenon_buf *block;

    pair_open(&pair);
    pair_ring(&pair);
    block = tenon_sock_block(pair.socks);
    tenon_sock_input(pair.socks, block, 0, (unsigned)block->size + 1U, TENON_CSUM_NONE);
    block = tenon_sock_block(pair.socks);
    tenon_sock_input(pair.socks, block, (unsigned)block->size + 1U, 1, TENON_CSUM_NONE);
    block = tenon_sock_block(pair.socks);
    tenon_sock_input(pair.socks, block, 0, 0, TENON_CSUM_NONE);
    CHECK_EQ_U(world_count(&pair.world.m[0]).blocks_free, 8);
    pair_still_good(&pair);
}

/* A frame of which no poll has heard yet when all ends. */
UNIT_TEST(stopped_with_a_frame_in_hand)
{
    struct pair pair;
    struct tenon_buf *block;

    pair_open(&pair);
    block = tenon_sock_block(pair.socks);
    tenon_sock_input(pair.socks, block, 0, 60, TENON_CSUM_NONE);
    CHECK_EQ_U(world_count(&pair.world.m[0]).blocks_free, 7);
    world_close(&pair.world);    /* and looks at what has come back */
}

/* A device that hears itself, and says so at once: so many frames. */
static unsigned heard_while_it_sends;

static unsigned transmit_and_hear(void *device, const struct tenon_frame *frames, unsigned n)
{
    struct machine *machine = device;
    unsigned i;

    for (i = 0; i < heard_while_it_sends; i++) {
        struct tenon_buf *block = tenon_sock_block(machine->socks);

        if (block != NULL)
            tenon_sock_input(machine->socks, block, 0, 60, TENON_CSUM_NONE);
    }
    return device_transmit(device, frames, n);
}

UNIT_TEST(driver_frames_while_it_sends)
{
    struct pair pair;

    pair_open(&pair);
    pair_ring(&pair);
    heard_while_it_sends = 1;
    pair.socks->device.transmit = transmit_and_hear;
    pair_still_good(&pair);
}

/* Not only while frames are looked at: a timer, or what was asked for before a poll, sends too. */
UNIT_TEST(driver_frames_while_a_poll_sends)
{
    struct pair pair;

    pair_open(&pair);
    pair_ring(&pair);
    heard_while_it_sends = TENON_SOCK_BURST;    /* as many as go up together */
    pair.socks->device.transmit = transmit_and_hear;
    world_send(&pair.world.m[0], pair.client, &pair.sent, 100, 100);
    (void)tenon_sock_poll(pair.socks, pair.socks->now_us);
    CHECK_EQ_U(world_count(&pair.world.m[0]).blocks_free, 8);
    CHECK_EQ_U(world_count(&pair.world.m[0]).no_block, TENON_SOCK_BURST);
    pair.socks->device.transmit = device_transmit;
    pair_still_good(&pair);
}

/* Before the first poll nobody knows what time it is: frames that come then are dropped, however many, or the
 * connection would be as old at that poll as the clock says. */
UNIT_TEST(driver_frames_before_the_first_poll)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    struct tenon_buf *block;
    struct tenon_socks *socks;
    struct world world;
    int client, i;

    if (!CHECK(world_open(&world, NULL)))
        return;
    socks = world.m[0].socks;
    client = tenon_sock_create(socks, NULL, &at, TENON_SOCK_TCP, 0);
    for (i = 0; i < 2 * TENON_SOCK_BURST; i++) {
        block = tenon_sock_block(socks);
        if (!CHECK(block != NULL))
            return;
        memset(block->data, 0, 60);
        tenon_sock_input(socks, block, 0, 60, TENON_CSUM_NONE);
    }
    CHECK_EQ_U(world_count(&world.m[0]).blocks_free, 8);
    CHECK_EQ_U(world_count(&world.m[0]).no_block, TENON_WITH_STATS ? 2 * TENON_SOCK_BURST : 0);
    for (i = 0; i < 2; i++)
        (void)tenon_sock_poll(socks, 3000000000UL);
    CHECK_EQ_I(tenon_sock_status(socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.error, TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPENING);
    world_close(&world);
}

static void poll_inside(struct machine *machine, int sk, unsigned events)
{
    (void)sk;
    (void)events;
    CHECK_EQ_U(tenon_sock_poll(machine->socks, 0), 0);
}

UNIT_TEST(poll_from_an_event)
{
    struct pair pair;

    pair_open(&pair);
    pair_ring(&pair);
    pair.world.m[0].event = pair.world.m[1].event = poll_inside;
    pair_still_good(&pair);
}

int main(void)
{
    UNIT_RUN(read_done_twice);
    UNIT_RUN(read_done_twice_segments_between);
    UNIT_RUN(read_done_part_twice_segments_between);
    UNIT_RUN(read_done_not_handed_out_or_foreign);
    UNIT_RUN(no_ring_and_ring_too_small);
    UNIT_RUN(send_not_what_was_asked_for);
    UNIT_RUN(ring_in_the_arena);
    UNIT_RUN(ring_of_another_descriptor);
    UNIT_RUN(rings_beside_each_other);
    UNIT_RUN(ring_changed_after_asking);
    UNIT_RUN(descriptor_none_or_old);
    UNIT_RUN(descriptor_old_is_nobody_for_long);
    UNIT_RUN(create_each_error);
    UNIT_RUN(asked_without_a_place_for_the_answer);
    UNIT_RUN(finish_what_has_no_end);
    UNIT_RUN(send_more_than_may_be_unacknowledged);
    UNIT_RUN(send_datagram_refused);
    UNIT_RUN(finished_send_is_closed);
    UNIT_RUN(peer_resets_error_after_data);
    UNIT_RUN(connect_refused);
    UNIT_RUN(server_deleted_port_is_closed);
    UNIT_RUN(driver_frame_past_the_block);
    UNIT_RUN(driver_frames_while_it_sends);
    UNIT_RUN(driver_frames_while_a_poll_sends);
    UNIT_RUN(driver_frames_before_the_first_poll);
    UNIT_RUN(stopped_with_a_frame_in_hand);
    UNIT_RUN(poll_from_an_event);
    return unit_end();
}
