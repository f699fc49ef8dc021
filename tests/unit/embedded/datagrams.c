/* SPDX-License-Identifier: MIT */
/* UDP by the seven calls. */
#include "embedded/world.h"

enum { PORT = 53, BYTES = 1000, ROUNDS = 200 };

static void set_ring(struct machine *machine, unsigned which, int sk, tenon_u32 bytes)
{
    CHECK_EQ_I(tenon_sock_set_sbuf(machine->socks, sk, world_ring(machine, which, bytes), bytes), TENON_OK);
}

/* A datagram back to whom the last one was of. @return 1: there was one */
static int answer(struct machine *machine, int sk)
{
    tenon_u8 *p, *to;
    const int n = tenon_sock_ask_rbuf(machine->socks, sk, &p);
    int i;

    if (n <= 0)
        return 0;
    if (CHECK(tenon_sock_ask_sbuf(machine->socks, sk, &to) >= n)) {
        for (i = 0; i < n; i++)
            to[i] = p[n - 1 - i];
        CHECK_EQ_I(tenon_sock_send(machine->socks, sk, to, (unsigned)n, 0), TENON_OK);
    }
    CHECK_EQ_I(tenon_sock_read_done(machine->socks, sk, p, (unsigned)n), TENON_OK);
    return 1;
}

/* A client asks a server, again and again; with loss some questions stay without an answer. */
static void ask_and_answer(int v6, uint32_t loss_ppm)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, v6, PORT), any = { .port = PORT };
    struct tenon_sock_info info;
    int client, server, i, n, k, wrong = 0, answers = 0;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 4000);
    set_ring(&world.m[1], 0, server, 4000);
    CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[1].socks, server, &p), TENON_EUNREACH);
    world_faults(&world.m[0], loss_ppm, loss_ppm);
    world_faults(&world.m[1], loss_ppm, 0);
    for (i = 0; i < ROUNDS; i++) {
        CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, client, &p), v6 ? 1452 : 1472);
        for (k = 0; k < BYTES; k++)
            p[k] = world_byte((tenon_u32)(i * BYTES + k));
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, BYTES, 0), TENON_OK);
        world_run(&world, 5000);
        while (answer(&world.m[1], server))
            ;
        world_run(&world, 10000);
        while ((n = tenon_sock_ask_rbuf(world.m[0].socks, client, &p)) > 0) {
            CHECK_EQ_I(n, BYTES);
            for (k = 0; k < BYTES && loss_ppm == 0; k++)
                wrong += p[k] != world_byte((tenon_u32)(i * BYTES + BYTES - 1 - k));
            CHECK_EQ_I(tenon_sock_read_done(world.m[0].socks, client, p, (unsigned)n), TENON_OK);
            answers++;
        }
    }
    CHECK_EQ_I(wrong, 0);
    CHECK(loss_ppm > 0 ? answers > ROUNDS / 2 : answers == ROUNDS);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
    CHECK(tenon_ip_equal(&info.remote.ip, &(struct tenon_ip){ { 0 } }) == 0);
    for (i = 0; i < 2; i++) {
        CHECK_EQ_U(world_copied(&world.m[i]), 0);
        CHECK_EQ_U(world.m[i].frames_elsewhere, 0);
        CHECK(world.m[i].frames_in_ring >= (unsigned)answers);
    }
    CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, client, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_delete(world.m[1].socks, server, 0), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(ip4_clean_all_answered)
{
    ask_and_answer(0, 0);
}

UNIT_TEST(ip6_clean_all_answered)
{
    ask_and_answer(1, 0);
}

UNIT_TEST(ip4_loss_others_answered)
{
    ask_and_answer(0, 100000);
}

/* What nobody reads is limited, counted, and leaves blocks for the others. */
UNIT_TEST(unread_too_many_dropped)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    int client, server, i;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 4000);
    for (i = 0; i < 20; i++) {
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
        memset(p, i, 200);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, 200, 0), TENON_OK);
        world_run(&world, 10000);
    }
    CHECK(server > 0);
    CHECK_EQ_U(world_count(&world.m[1]).datagrams_full, 18);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 6);
    CHECK_EQ_U(world.m[1].full, 0);
    world_close(&world);
    world_free_rings(&world);
}

static void all_blocks(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.datagrams = 8;
}

/* Few blocks are left: bytes of a stream are put together then, datagrams stay what they are. The last block
 * is nobody's: with it others are heard. */
UNIT_TEST(unread_many_stay_apart)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    struct tenon_sock_info info;
    int client, server, i;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, all_blocks)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 4000);
    for (i = 0; i < 8; i++) {
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
        memset(p, i, 100 + (size_t)i);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, 100U + (unsigned)i, 0), TENON_OK);
        world_run(&world, 10000);
    }
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 1);
    CHECK_EQ_U(world_count(&world.m[1]).datagrams_full, 1);
    CHECK_EQ_U(world.m[1].events[(server - 1) % 64] & TENON_SOCK_RECEIVED, TENON_SOCK_RECEIVED);
    for (i = 0; i < 7; i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 100 + i);
        CHECK_EQ_I(p[99 + i], i);
        CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
        CHECK_EQ_I(info.more, 0);
    }
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 0);
    world_close(&world);
    world_free_rings(&world);
}

static void three_blocks(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.blocks = 3;
}

/* A quarter of three blocks is one: not none. */
UNIT_TEST(fewest_blocks_one_datagram)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    int client, server;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, three_blocks)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 4000);
    CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
    CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, 200, 0), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 200);
    world_close(&world);
    world_free_rings(&world);
}

/* Two clients: the answer goes to the one whose datagram was read last, or to whom the program says. */
UNIT_TEST(two_senders_answer_to_the_last_read)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    struct tenon_sock_info info[2], info_server;
    int client[2], server, i;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    set_ring(&world.m[1], 0, server, 4000);
    for (i = 0; i < 2; i++) {
        client[i] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
        set_ring(&world.m[0], (unsigned)i, client[i], 2000);
        CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client[i], &info[i]), TENON_OK);
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client[i], &p) > 0);
        memset(p, 'a' + i, 200);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client[i], p, 200, 0), TENON_OK);
    }
    world_run(&world, 10000);
    for (i = 0; i < 2; i++) {
        CHECK(answer(&world.m[1], server));
        CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info_server), TENON_OK);
        CHECK_EQ_U(info_server.remote.port, info[i].local.port);
    }
    CHECK_EQ_I(tenon_sock_to(world.m[1].socks, server, &info[0].local), TENON_OK);
    CHECK_EQ_I(tenon_sock_to(world.m[0].socks, client[0], &info[0].local), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info_server), TENON_OK);
    CHECK_EQ_U(info_server.remote.port, info[0].local.port);
    world_run(&world, 10000);
    for (i = 0; i < 2; i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client[i], &p), 200);
        CHECK_EQ_I(p[0], 'a' + i);
    }
    world_close(&world);
    world_free_rings(&world);
}

/* Between asking for room and sending, a datagram of another machine is read: how much fits depends on where the answer
 * goes, and the room is void. */
static void room_is_void(int same_host)
{
    struct world world;
    struct tenon_addr from = world_addr(9, 0, 0);
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    const struct tenon_ip both = world_ip(9, 0);
    int client[2], server, i;
    tenon_u8 *p, *to = NULL;

    if (!CHECK(world_open(&world, NULL)))
        return;
    CHECK_EQ_I(tenon_addr_add(tenon_sock_stack(world.m[0].socks), 1, &both, 24), TENON_OK);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    set_ring(&world.m[1], 0, server, 4000);
    for (i = 0; i < 2; i++) {
        client[i] = tenon_sock_create(world.m[0].socks, i == 0 || same_host ? NULL : &from, &at, TENON_SOCK_UDP, 0);
        set_ring(&world.m[0], (unsigned)i, client[i], 2000);
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client[i], &p) > 0);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client[i], p, 200, 0), TENON_OK);
        world_run(&world, 10000);
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 200);
        if (i == 0)
            CHECK(tenon_sock_ask_sbuf(world.m[1].socks, server, &to) >= 200);
    }
    CHECK_EQ_I(tenon_sock_send(world.m[1].socks, server, to, 200, 0), TENON_EINVAL);
    CHECK(tenon_sock_ask_sbuf(world.m[1].socks, server, &to) >= 200);
    CHECK_EQ_I(tenon_sock_send(world.m[1].socks, server, to, 200, 0), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client[1], &p), 200);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client[0], &p), 0);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(another_sender_read_room_is_void)
{
    room_is_void(0);
}

/* ... even if it is on the same host. */
UNIT_TEST(another_port_read_room_is_void)
{
    room_is_void(1);
}

/* What was asked by broadcast is answered from an address of ours. */
UNIT_TEST(asked_by_broadcast_answers_from_its_own)
{
    struct world world;
    const struct tenon_addr all = { tenon_ip4(0xFFFFFFFFUL), PORT, 0 }, any = { .port = PORT };
    struct tenon_sock_info info;
    int client, server;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, NULL, TENON_SOCK_UDP, TENON_SOCK_BROADCAST);
    set_ring(&world.m[0], 0, client, 2000);
    set_ring(&world.m[1], 0, server, 2000);
    CHECK_EQ_I(tenon_sock_to(world.m[0].socks, client, &all), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
    CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, 200, 0), TENON_OK);
    world_run(&world, 10000);
    CHECK(answer(&world.m[1], server));
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client, &p), 200);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_U(info.remote.ip.w[TENON_IP4_WORD], 0x0A000002U);
    world_close(&world);
    world_free_rings(&world);
}

/* A machine of two addresses answers from the one that was asked: the client hears nobody else. */
UNIT_TEST(second_address_asked_answers_from_it)
{
    struct world world;
    struct tenon_addr at = world_addr(9, 0, PORT);
    const struct tenon_addr any = { .port = PORT };
    int client, server;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    CHECK_EQ_I(tenon_addr_add(tenon_sock_stack(world.m[1].socks), 1, &at.ip, 24), TENON_OK);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 2000);
    set_ring(&world.m[1], 0, server, 2000);
    CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
    memset(p, 1, 200);
    CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, 200, 0), TENON_OK);
    world_run(&world, 10000);
    CHECK(answer(&world.m[1], server));
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client, &p), 200);
    world_close(&world);
    world_free_rings(&world);
}

static void many_headers(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.headers = 32;
}

static unsigned sender_port(const struct tenon_udp *sender)
{
    struct tenon_addr local;

    tenon_udp_local(sender, &local);
    return local.port;
}

/* A datagram that came in fragments lies in several blocks: piece after piece. */
UNIT_TEST(fragments_come_as_pieces)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    const struct tenon_udp_events none = { NULL, NULL };
    struct tenon_sock_info info;
    struct tenon_udp *sender;
    tenon_u8 bytes[2000], *p;
    int server, i, n, pieces = 0, at_byte = 0;

    if (!CHECK(world_open(&world, many_headers)))
        return;
    for (i = 0; i < 2000; i++)
        bytes[i] = world_byte((tenon_u32)i);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_udp_open(tenon_sock_stack(world.m[0].socks), &sender, &none, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_write(sender, &at, bytes, 2000), TENON_OK);
    world_run(&world, 10000);
    while ((n = tenon_sock_ask_rbuf(world.m[1].socks, server, &p)) > 0) {
        CHECK_EQ_MEM(p, bytes + at_byte, (size_t)n);
        at_byte += n;
        pieces++;
        CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
        CHECK_EQ_I(info.more, at_byte < 2000);
        CHECK_EQ_I(tenon_sock_read_done(world.m[1].socks, server, p, (unsigned)n), TENON_OK);
    }
    CHECK_EQ_I(at_byte, 2000);
    CHECK_EQ_I(pieces, 3);    /* the core keeps what stands with the headers for itself */
    CHECK_EQ_U(info.remote.port, sender_port(sender));
    tenon_udp_close(sender);
    world_close(&world);
}

/* Fragments that routers have made are so small that the core copies them: they are read from one block, and
 * it is known who has sent them. Those held do not count as blocks. */
UNIT_TEST(small_fragments_come_as_one_piece)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    const struct tenon_udp_events none = { NULL, NULL };
    static const unsigned bytes_of[] = { 450, 450, 600 };
    struct tenon_sock_info info;
    struct tenon_udp *sender;
    tenon_u8 bytes[600], *p;
    unsigned i, k;
    int server;

    if (!CHECK(world_open(&world, NULL)))
        return;
    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = world_byte(i);
    world_narrow(&world.m[1], 296);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_udp_open(tenon_sock_stack(world.m[0].socks), &sender, &none, NULL), TENON_OK);
    for (i = 0; i < 3; i++) {
        CHECK_EQ_I(tenon_udp_write(sender, &at, bytes, bytes_of[i]), TENON_OK);
        world_run(&world, 10000);
    }
    CHECK_EQ_U(world_count(&world.m[1]).datagrams_full, 1);    /* of two blocks */
    for (i = 0; i < 2; i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), (int)bytes_of[i]);
        for (k = 0; k < bytes_of[i]; k++)
            CHECK_EQ_U(p[k], bytes[k]);
        CHECK_EQ_I(tenon_sock_status(world.m[1].socks, server, &info), TENON_OK);
        CHECK_EQ_I(info.more, 0);
        CHECK_EQ_U(info.remote.port, sender_port(sender));
        CHECK_EQ_I(tenon_sock_read_done(world.m[1].socks, server, p, bytes_of[i]), TENON_OK);
    }
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 0);
    tenon_udp_close(sender);
    world_close(&world);
}

/* Machine 1 has so many blocks, and frames of one piece. */
static void blocks_of_one_piece(struct machine *machine, unsigned i, unsigned blocks)
{
    machine->conf.blocks = (tenon_u16)(i == 1 ? blocks : 0);
    machine->conf.datagrams = i == 1 ? 1 : 0;
    machine->conf.device.flags = TENON_WITH_LINEAR ? TENON_SOCK_CONTIGUOUS : 0;
}

/* So many blocks of machine 1 wait in the device. Of eight datagrams in small fragments, one after the other, so many
 * are lost, all others are read, and while one lies in its block so many others are free. */
static void hear_small_fragments(struct world *world, unsigned waiting, unsigned lost, unsigned free)
{
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    const struct tenon_udp_events none = { NULL, NULL };
    struct tenon_buf *blocks[4];
    struct tenon_udp *sender;
    tenon_u8 bytes[450], *p;
    unsigned i;
    int server;

    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = world_byte(i);
    world_narrow(&world->m[1], 296);
    for (i = 0; i < waiting; i++) {
        blocks[i] = tenon_sock_block(world->m[1].socks);
        CHECK(blocks[i] != NULL);
    }
    server = tenon_sock_create(world->m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_udp_open(tenon_sock_stack(world->m[0].socks), &sender, &none, NULL), TENON_OK);
    for (i = 0; i < 8; i++) {
        CHECK_EQ_I(tenon_udp_write(sender, &at, bytes, sizeof(bytes)), TENON_OK);
        world_run(world, 10000);
        if (i < lost)
            continue;
        CHECK_EQ_U(world_count(&world->m[1]).blocks_free, free);
        if (!CHECK_EQ_I(tenon_sock_ask_rbuf(world->m[1].socks, server, &p), (int)sizeof(bytes)))
            break;
        CHECK_EQ_MEM(p, bytes, sizeof(bytes));
        CHECK_EQ_I(tenon_sock_read_done(world->m[1].socks, server, p, sizeof(bytes)), TENON_OK);
    }
    CHECK_EQ_U(world_count(&world->m[1]).datagrams_full, lost);
    for (i = 0; i < waiting; i++)
        tenon_buf_put(blocks[i]);
    tenon_udp_close(sender);
}

static void four_blocks_of_one_piece(struct machine *machine, unsigned i)
{
    blocks_of_one_piece(machine, i, 4);
}

static void four_blocks_two_datagrams(struct machine *machine, unsigned i)
{
    blocks_of_one_piece(machine, i, 4);
    machine->conf.datagrams = 2;
}

static void five_blocks(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.blocks = 5;
    machine->conf.datagrams = 2;
}

/* One block waits in the device, two have the fragments, which are copied out of them, and the fourth is nobody's: the
 * datagram is put into that one, for the two come back. */
UNIT_TEST(small_fragments_take_the_last_block)
{
    struct world world;

    if (!CHECK(world_open(&world, four_blocks_of_one_piece)))
        return;
    hear_small_fragments(&world, 1, 0, 2);
    world_close(&world);
}

/* Three blocks wait in the device, and two have the fragments: there is none for the datagram. From then on fragments
 * are looked at each by itself, and it is put together where the last of them came. */
UNIT_TEST(small_fragments_without_a_free_block_lose_one_datagram)
{
    struct world world;

    if (!CHECK(world_open(&world, five_blocks)))
        return;
    hear_small_fragments(&world, 3, 1, 1);
    world_close(&world);
}

/* A router has cut it in the middle: each half takes a block, although a quarter of all is only one. */
UNIT_TEST(two_halves_come_with_few_blocks)
{
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    const struct tenon_udp_events none = { NULL, NULL };
    struct tenon_udp *sender;
    struct world world;
    tenon_u8 bytes[1400];
    tenon_u32 got = 0;
    unsigned i;
    int server;

    if (!CHECK(world_open(&world, five_blocks)))
        return;
    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = world_byte(i);
    world_narrow(&world.m[1], 780);
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_udp_open(tenon_sock_stack(world.m[0].socks), &sender, &none, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_write(sender, &at, bytes, sizeof(bytes)), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_I(world_receive(&world.m[1], server, &got), 0);
    CHECK_EQ_U(got, sizeof(bytes));
    tenon_udp_close(sender);
    world_close(&world);
}

/* Bytes [off, off + n) of a datagram of `all` bytes for 10.0.0.`to`, or, if that is 0, for 0.0.0.0; header included,
 * without a checksum. */
static void inject_fragment_to(struct world *world, unsigned to, unsigned id, unsigned off, unsigned n, unsigned all)
{
    tenon_u8 frame[14 + 20 + 400], *ip = frame + 14, *udp = ip + 20;
    unsigned sum = 0, i;

    memset(frame, 0, sizeof(frame));
    frame[0] = frame[6] = 2;
    frame[5] = 2;
    if (to == 255 || to == 0)
        memset(frame, 0xFF, 6);
    frame[11] = 9;
    frame[12] = 8;
    ip[0] = 0x45;
    ip[2] = (tenon_u8)((20 + n) >> 8);
    ip[3] = (tenon_u8)(20 + n);
    ip[5] = (tenon_u8)id;
    ip[6] = (tenon_u8)((off + n < all ? 0x20U : 0) | off >> 11);
    ip[7] = (tenon_u8)(off >> 3);
    ip[8] = 64;
    ip[9] = 17;
    ip[12] = 10;
    ip[16] = to != 0 ? 10 : 0;
    ip[15] = 9;
    ip[19] = (tenon_u8)to;
    for (i = 0; i < 20; i += 2)
        sum += (unsigned)ip[i] << 8 | ip[i + 1];
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    ip[10] = (tenon_u8)(sum >> 8);
    ip[11] = (tenon_u8)sum;
    if (off == 0) {
        udp[1] = 99;
        udp[3] = PORT;
        udp[4] = (tenon_u8)(all >> 8);
        udp[5] = (tenon_u8)all;
    }
    CHECK_EQ_I(wire_inject(world->m[1].end, frame, 14 + 20 + n, 1), 0);
    world_run(world, 1000);
}

static void inject_fragment(struct world *world, unsigned id, unsigned off, unsigned n, unsigned all)
{
    inject_fragment_to(world, 2, id, off, n, all);
}

/* RFC 1122 3.3.6: so is what was sent to 0.0.0.0, as hosts did once in place of a broadcast. */
UNIT_TEST(asked_by_0_0_0_0_answers_from_its_own)
{
    const struct tenon_addr any = { .port = PORT };
    struct world world;
    tenon_u8 *p;
    int server;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    set_ring(&world.m[1], 0, server, 2000);
    inject_fragment_to(&world, 0, 1, 0, 100, 100);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 92);
    CHECK_EQ_I(tenon_sock_send_back(world.m[1].socks, server, p, 92, 0), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(world.m[1].socks, server, &p) > 0);
    CHECK_EQ_I(tenon_sock_send(world.m[1].socks, server, p, 10, 0), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

static void least_blocks_of_one_piece(struct machine *machine, unsigned i)
{
    blocks_of_one_piece(machine, i, 3);
}

/* A broadcast in two small fragments that two hear, each by itself. *p: where each reads it, or NULL.
 * @return how many do */
static unsigned hear_broadcast(struct world *world, tenon_u8 *p[2])
{
    struct tenon_addr any = { .port = PORT }, all = world_addr(254, 0, PORT);
    struct tenon_socks *socks = world->m[1].socks;
    unsigned n = 0, i;
    int sk[2];

    sk[0] = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    sk[1] = tenon_sock_create(socks, &all, NULL, TENON_SOCK_UDP, 0);
    CHECK(sk[0] > 0 && sk[1] > 0);
    inject_fragment_to(world, 255, 1, 0, 200, 240);
    inject_fragment_to(world, 255, 1, 200, 40, 240);
    CHECK_EQ_U(tenon_stat(tenon_sock_stack(socks), TENON_STAT_UDP_RCVD), 2);
    for (i = 0; i < 2; i++)
        n += tenon_sock_ask_rbuf(socks, sk[i], &p[i]) == 232;
    CHECK_EQ_U(world_count(&world->m[1]).datagrams_full, 2 - n);
    return n;
}

/* One block may be kept, the others are to hear with and to send from. */
UNIT_TEST(small_fragments_that_two_hear_leave_the_last_blocks)
{
    const unsigned kept = TENON_WITH_LINEAR ? 1 : 2;
    struct world world;
    tenon_u8 *p[2];

    if (!CHECK(world_open(&world, least_blocks_of_one_piece)))
        return;
    CHECK_EQ_U(hear_broadcast(&world, p), kept);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 3 - kept);
    world_close(&world);
}

/* What one of them writes where he has read the other does not see. */
UNIT_TEST(small_fragments_that_two_hear_lie_in_two_blocks)
{
    struct world world;
    tenon_u8 *p[2];

    if (!CHECK(world_open(&world, five_blocks)))
        return;
    CHECK_EQ_U(hear_broadcast(&world, p), 2);
    CHECK(p[0] != p[1]);
    CHECK_EQ_MEM(p[0], p[1], 232);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 3);
    world_close(&world);
}

/* Two blocks wait in the device, two have the fragments, of which the first hearer gets the last one's. The other block
 * is to send from: the second's datagram is lost, and the first's answer leaves. */
UNIT_TEST(small_fragments_that_two_hear_leave_one_to_send_from)
{
    static const tenon_u8 mac[6] = { 2, 0, 0, 0, 0, 9 };
    const struct tenon_ip nine = tenon_ip4(0x0A000009UL);
    struct tenon_buf *waiting[2];
    struct tenon_socks *socks;
    struct world world;
    tenon_u32 before;
    unsigned i, n = 0;
    tenon_u8 *p[2];

    if (!CHECK(world_open(&world, four_blocks_two_datagrams)))
        return;
    socks = world.m[1].socks;
    CHECK_EQ_I(tenon_neighbour_set(tenon_sock_stack(socks), 1, &nine, mac), TENON_OK);
    world_run(&world, 3000000);
    for (i = 0; i < 2; i++) {
        waiting[i] = tenon_sock_block(socks);
        CHECK(waiting[i] != NULL);
    }
    CHECK(hear_broadcast(&world, p) > 0);
    CHECK(world_count(&world.m[1]).blocks_free > 0);
    before = (tenon_u32)tenon_stat(tenon_sock_stack(socks), TENON_STAT_TX_FRAMES);
    for (i = 1; i <= 2; i++)
        n += tenon_sock_send_back(socks, (int)i, p[i - 1], 232, 0) == TENON_OK;
    world_run(&world, 10000);
    CHECK(n > 0);
    CHECK_EQ_U(tenon_stat(tenon_sock_stack(socks), TENON_STAT_TX_FRAMES) - before, n);
    for (i = 0; i < 2; i++)
        tenon_buf_put(waiting[i]);
    world_close(&world);
}

enum { HEARERS = 6 };

static void many_hear(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.socks = HEARERS + 2;
    machine->conf.datagrams = 6;
}

/* There are two records for each block. Of more who hear the same datagram the others lose it, which is counted, and
 * the records of what else comes are there: a connection would have to end itself without. */
UNIT_TEST(datagrams_that_many_hear_leave_records_for_streams)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    struct tenon_addr group;
    struct tenon_socks *socks;
    tenon_u32 sent = 0, got = 0;
    int client, server, sender, i, sk[HEARERS];
    struct world world;
    tenon_u8 *p;

    if (!TENON_WITH_MULTICAST || !CHECK(world_open(&world, many_hear)))
        return;
    socks = world.m[1].socks;
    memset(&group, 0, sizeof(group));
    group.ip = tenon_ip4(0xEF010203UL);
    group.port = 99;
    CHECK_EQ_I(tenon_group_join(tenon_sock_stack(socks), 1, &group.ip), TENON_OK);
    server = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    for (i = 0; i < HEARERS; i++) {
        sk[i] = tenon_sock_create(socks, &group, NULL, TENON_SOCK_UDP, 0);
        if (!CHECK(sk[i] > 0))
            return;
    }
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    sender = tenon_sock_create(world.m[0].socks, NULL, NULL, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 4000);
    set_ring(&world.m[0], 1, sender, 4000);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_to(world.m[0].socks, sender, &group), TENON_OK);
    for (i = 0; i < 6; i++) {
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, sender, &p) >= 200);
        memset(p, 'g', 200);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, sender, p, 200, 0), TENON_OK);
        world_run(&world, 10000);
    }
    CHECK_EQ_U(world_count(&world.m[1]).datagrams_full, TENON_WITH_STATS ? 6 * (HEARERS - 2) : 0);
    for (i = 0; i < HEARERS; i++) {
        CHECK_EQ_I(tenon_sock_status(socks, sk[i], &info), TENON_OK);
        CHECK(info.unread == 0 || info.unread == 6 * 200);
    }
    world_send(&world.m[0], client, &sent, 500, 500);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_status(socks, server, &info), TENON_OK);
    CHECK_EQ_I(info.state, TENON_SOCK_OPEN);
    (void)world_receive(&world.m[1], server, &got);
    CHECK_EQ_U(got, 500);
    world_close(&world);
    world_free_rings(&world);
}

static void many_datagrams(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.headers = 20;
    machine->conf.blocks = 12;
    machine->conf.datagrams = 12;
}

/* A sender who cuts so that as much as can be is copied, in as many pieces: there is an end of records for those. None
 * is taken from what lies in blocks, and nothing of a datagram that is too much is kept. */
UNIT_TEST(crumbs_of_fragments_leave_records)
{
    enum { ALL = 424, CRUMBS = 4, TAKEN = 20 / CRUMBS };    /* the head of each datagram, and three of 8 bytes */
    const struct tenon_addr any = { .port = PORT };
    struct world world;
    unsigned id, pieces;
    tenon_u8 *p;
    int server;

    if (!CHECK(world_open(&world, many_datagrams)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    for (id = 1; id <= TAKEN + 1; id++) {
        inject_fragment(&world, id, 416, 8, ALL);
        inject_fragment(&world, id, 408, 8, ALL);
        inject_fragment(&world, id, 400, 8, ALL);
        inject_fragment(&world, id, 0, 400, ALL);
        CHECK_EQ_U(tenon_stat(tenon_sock_stack(world.m[1].socks), TENON_STAT_FRAG_OK), id);
        CHECK_EQ_U(world_count(&world.m[1]).datagrams_full, id > TAKEN);
    }
    for (pieces = 0; tenon_sock_ask_rbuf(world.m[1].socks, server, &p) > 0; pieces++)
        ;
    CHECK_EQ_U(pieces, TAKEN * (CRUMBS + 1));
    world_close(&world);
}

/* A crumb whose head and block were returned is nobody's, not that of the datagram before. */
UNIT_TEST(crumb_without_its_block_goes_to_nobody)
{
    enum { ALL = 424, CRUMBS = 4 };
    const struct tenon_addr any = { .port = PORT };
    tenon_u8 *p[2 * (CRUMBS + 1)];
    int n[2 * (CRUMBS + 1)], server, i;
    struct tenon_socks *socks;
    struct world world;
    unsigned id;

    if (!CHECK(world_open(&world, many_datagrams)))
        return;
    socks = world.m[1].socks;
    server = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    for (id = 1; id <= 2; id++) {
        inject_fragment(&world, id, 416, 8, ALL);
        inject_fragment(&world, id, 408, 8, ALL);
        inject_fragment(&world, id, 400, 8, ALL);
        inject_fragment(&world, id, 0, 400, ALL);
    }
    for (i = 0; i < 2 * (CRUMBS + 1); i++) {
        n[i] = tenon_sock_ask_rbuf(socks, server, &p[i]);
        if (!CHECK(n[i] > 0))
            return;
    }
    for (i = CRUMBS + 1; i < CRUMBS + 3; i++)
        CHECK_EQ_I(tenon_sock_read_done(socks, server, p[i], (unsigned)n[i]), TENON_OK);
    CHECK_EQ_I(tenon_sock_send_back(socks, server, p[i], (unsigned)n[i], 0), TENON_EUNREACH);
    CHECK_EQ_I(tenon_sock_send_back(socks, server, p[2], (unsigned)n[2], 0), TENON_OK);
    world_close(&world);
}

/* They are so small that one may hold a fragment, and one of 400 bytes fills more than a quarter, and stays in it. */
static void two_blocks(struct machine *machine, unsigned i)
{
    machine->conf.device.netif.mtu = 576;
    machine->conf.device.netif.flags |= TENON_NETIF_NO_IP6;
    if (i == 1)
        machine->conf.blocks = 2;
}

/* One of two blocks holds a fragment whose rest does not come. A datagram for which there is none then is lost, and the
 * next one has it. */
UNIT_TEST(lone_fragment_makes_room_for_a_datagram)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    const struct tenon_udp_events none = { NULL, NULL };
    struct tenon_udp *sender;
    struct world world;
    tenon_u8 *p;
    int server;

    if (!CHECK(world_open(&world, two_blocks)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_udp_open(tenon_sock_stack(world.m[0].socks), &sender, &none, NULL), TENON_OK);
    inject_fragment(&world, 1, 0, 400, 1000);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 1);
    CHECK_EQ_I(tenon_udp_write(sender, &at, "first", 5), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 0);
    CHECK_EQ_U(world_count(&world.m[1]).datagrams_full, 1);
    CHECK_EQ_I(tenon_udp_write(sender, &at, "second", 6), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, server, &p), 6);
    CHECK_EQ_U(tenon_stat(tenon_sock_stack(world.m[1].socks), TENON_STAT_FRAG_LIMIT), 1);
    tenon_udp_close(sender);
    world_close(&world);
}

/* And text of TCP has it when it comes again, however often somebody sends a fragment. */
UNIT_TEST(lone_fragments_do_not_keep_text_away)
{
    const struct tenon_addr any = { .port = PORT }, at = world_addr(1, 0, PORT);
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, round;

    if (!CHECK(world_open(&world, two_blocks)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, 4000), 4000), TENON_OK);
    world_run(&world, 10000);
    for (round = 1; round <= 3; round++) {
        inject_fragment(&world, (unsigned)round, 0, 400, 1000);
        CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 1);
        world_send(&world.m[0], client, &sent, 100U * (unsigned)round, 100);
        world_run(&world, 2000000);
        (void)world_receive(&world.m[1], server, &got);
        CHECK_EQ_U(got, 100 * round);
    }
    world_close(&world);
    world_free_rings(&world);
}

/* Nobody is at that port: the ICMP error comes back. */
UNIT_TEST(no_port_error_is_told)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT);
    struct tenon_sock_info info;
    int client;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 2000);
    CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
    CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, 200, 0), TENON_OK);
    world_run(&world, 10000);
    CHECK_EQ_U(world.m[0].events[(client - 1) % 64] & TENON_SOCK_ERROR, TENON_SOCK_ERROR);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_I(info.error, TENON_EREFUSED);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client, &p), 0);    /* it may pass: nothing has ended */
    world_close(&world);
    world_free_rings(&world);
}

static int asked;

static void answer_all(struct machine *machine)
{
    while (asked > 0 && answer(machine, asked))
        ;
}

static void without_events(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.event = NULL;
}

/* A program that asks in turns, and sleeps for as long as tenon_sock_poll() says: what that has brought is not left
 * until something else comes. */
UNIT_TEST(asked_in_turns_what_came_is_not_slept_over)
{
    const struct tenon_addr at = world_addr(1, 0, PORT);
    struct world world;
    int client, i;
    tenon_u8 *p;

    if (!CHECK(world_open(&world, without_events)))
        return;
    asked = tenon_sock_create(world.m[1].socks, &at, NULL, TENON_SOCK_UDP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
    set_ring(&world.m[0], 0, client, 4000);
    set_ring(&world.m[1], 0, asked, 4000);
    world.m[1].turn = answer_all;
    for (i = 0; i < 3; i++) {
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client, &p) > 0);
        memset(p, i, BYTES);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p, BYTES, 0), TENON_OK);
        world_run(&world, i == 0 ? 6000 : 3000);    /* there and back takes 2 ms, and ARP as many */
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client, &p), BYTES);
        CHECK_EQ_I(tenon_sock_read_done(world.m[0].socks, client, p, BYTES), TENON_OK);
    }
    CHECK_EQ_U(tenon_sock_poll(world.m[1].socks, (tenon_u32)wire_now(world.wire)), 0);    /* the ring is free */
    CHECK(tenon_sock_poll(world.m[1].socks, (tenon_u32)wire_now(world.wire)) > 0);         /* said once */
    world_close(&world);
    world_free_rings(&world);
}

int main(void)
{
    UNIT_RUN(ip4_clean_all_answered);
    UNIT_RUN(ip6_clean_all_answered);
    UNIT_RUN(ip4_loss_others_answered);
    UNIT_RUN(unread_too_many_dropped);
    UNIT_RUN(unread_many_stay_apart);
    UNIT_RUN(fewest_blocks_one_datagram);
    UNIT_RUN(two_senders_answer_to_the_last_read);
    UNIT_RUN(another_sender_read_room_is_void);
    UNIT_RUN(another_port_read_room_is_void);
    UNIT_RUN(asked_by_broadcast_answers_from_its_own);
    UNIT_RUN(asked_by_0_0_0_0_answers_from_its_own);
    UNIT_RUN(second_address_asked_answers_from_it);
    UNIT_RUN(fragments_come_as_pieces);
    UNIT_RUN(small_fragments_come_as_one_piece);
    UNIT_RUN(small_fragments_take_the_last_block);
    UNIT_RUN(small_fragments_without_a_free_block_lose_one_datagram);
    UNIT_RUN(small_fragments_that_two_hear_leave_the_last_blocks);
    UNIT_RUN(small_fragments_that_two_hear_lie_in_two_blocks);
    UNIT_RUN(two_halves_come_with_few_blocks);
    UNIT_RUN(small_fragments_that_two_hear_leave_one_to_send_from);
    UNIT_RUN(datagrams_that_many_hear_leave_records_for_streams);
    UNIT_RUN(crumbs_of_fragments_leave_records);
    UNIT_RUN(crumb_without_its_block_goes_to_nobody);
    UNIT_RUN(lone_fragment_makes_room_for_a_datagram);
    UNIT_RUN(lone_fragments_do_not_keep_text_away);
    UNIT_RUN(no_port_error_is_told);
    UNIT_RUN(asked_in_turns_what_came_is_not_slept_over);
    return unit_end();
}
