/* SPDX-License-Identifier: MIT */
/* What has come goes back out of the block in which it came: as it is, or with an answer written over it. */
#include "embedded/sock_internal.h"
#include "embedded/world.h"

enum { PORT = 7,
       MTU_BYTES = 1460,
       FULL = MTU_BYTES - 12,    /* of a segment with timestamps */
       BULK = 100000,
       PACKETS = 4,
       RING = PACKETS * (MTU_BYTES + TENON_SOCK_PACKET_BYTES) };

/* A client on machine 0, with a ring; a server on machine 1, without. */
struct pair {
    struct world world;
    struct tenon_socks *socks;    /* of the server */
    int client, server;
    tenon_u32 sent, got;          /* by the client */
    tenon_u8 *p;                  /* what the server holds ... */
    int n;                        /* ... and how much of it; or what ask_rbuf() said */
};

/* To the witness the blocks of machine 1 are where payload may lie. */
static void pair_blocks(struct pair *pair)
{
    struct tenon_buf *block = tenon_sock_block(pair->socks);
    const size_t step = sizeof(struct sock_block) + 7 + block->size;

    pair->world.m[1].rings[3] = block->data;
    pair->world.m[1].ring_bytes[3] = (tenon_u32)((8 - 1) * step / 8 * 8 + block->size);
    tenon_buf_put(block);
}

static void pair_open(struct pair *pair, int v6, void (*adjust)(struct machine *machine, unsigned i))
{
    const struct tenon_addr at = world_addr(1, v6, PORT), any = { .port = PORT };

    memset(pair, 0, sizeof(*pair));
    if (!CHECK(world_open(&pair->world, adjust)))
        return;
    pair->socks = pair->world.m[1].socks;
    pair_blocks(pair);
    pair->server = tenon_sock_create(pair->socks, &any, NULL, TENON_SOCK_TCP, 0);
    pair->client = tenon_sock_create(pair->world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair->world.m[0].socks, pair->client, world_ring(&pair->world.m[0], 0, RING), RING),
               TENON_OK);
    world_run(&pair->world, 10000);
}

static void pair_close(struct pair *pair)
{
    pair->world.m[1].rings[3] = NULL;
    world_close(&pair->world);
    world_free_rings(&pair->world);
}

/* The client sends so many segments of so many bytes, each by itself. */
static void pair_send(struct pair *pair, unsigned segments, tenon_u32 bytes)
{
    for (; segments > 0; segments--) {
        world_send(&pair->world.m[0], pair->client, &pair->sent, pair->sent + bytes, bytes);
        world_run(&pair->world, 100000);
    }
}

/* All that has come goes back, until nothing more does. */
static void pair_echo(struct pair *pair)
{
    for (;;) {
        int error;

        if (pair->n <= 0)
            pair->n = tenon_sock_ask_rbuf(pair->socks, pair->server, &pair->p);
        if (pair->n <= 0)
            return;
        error = tenon_sock_send_back(pair->socks, pair->server, pair->p, (unsigned)pair->n, 0);
        if (error == TENON_EAGAIN || error == TENON_ENOMEM)
            return;
        if (!CHECK_EQ_I(error, TENON_OK))
            return;
        pair->n = 0;
    }
}

/* Both say that they have finished, and all is as it was. */
static void pair_end(struct pair *pair)
{
    CHECK_EQ_I(tenon_sock_send(pair->world.m[0].socks, pair->client, NULL, 0, TENON_SOCK_FIN), TENON_OK);
    world_run(&pair->world, 1000000);
    pair_echo(pair);
    CHECK_EQ_I(pair->n, TENON_ECLOSED);
    CHECK_EQ_I(tenon_sock_delete(pair->socks, pair->server, 0), TENON_OK);
    world_run(&pair->world, 3000000);
    CHECK_EQ_I(world_receive(&pair->world.m[0], pair->client, &pair->got), TENON_ECLOSED);
    CHECK_EQ_U(world_count(&pair->world.m[1]).blocks_free, 8);
    pair_close(pair);
}

static void echo_whole(int v6, uint32_t loss_ppm, unsigned most)
{
    const struct machine *machine;
    struct pair pair;
    unsigned i;

    pair_open(&pair, v6, NULL);
    machine = &pair.world.m[1];
    for (i = 0; i < 2; i++)
        world_faults(&pair.world.m[i], loss_ppm, loss_ppm);
    for (i = 0; i < 100000 && pair.got < BULK; i++) {
        world_send(&pair.world.m[0], pair.client, &pair.sent, BULK, most);
        world_run(&pair.world, 2000);
        pair_echo(&pair);
        (void)world_receive(&pair.world.m[0], pair.client, &pair.got);
    }
    CHECK_EQ_U(pair.got, BULK);
    for (i = 0; i < 2; i++)
        world_faults(&pair.world.m[i], 0, 0);
    if (most == MTU_BYTES)    /* but the octets of window probes */
        CHECK(world_count(machine).copied_bytes == 0 && world_copied(machine) <= (loss_ppm > 0 ? 10 : 0));
    CHECK_EQ_U(machine->frames_elsewhere, 0);
    CHECK(machine->frames_in_ring >= BULK / MTU_BYTES);
    CHECK_EQ_U(world_count(machine).sent_bytes, BULK);
    CHECK_EQ_U(world_count(machine).received_bytes, BULK);
    if (loss_ppm > 0)
        CHECK(tenon_stat(tenon_sock_stack(machine->socks), TENON_STAT_TCP_RETRANSMIT) > 0);
    pair_end(&pair);
}

UNIT_TEST(ip4_clean_nothing_is_copied)
{
    echo_whole(0, 0, MTU_BYTES);
}

UNIT_TEST(ip6_clean_nothing_is_copied)
{
    echo_whole(1, 0, MTU_BYTES);
}

UNIT_TEST(ip4_loss_and_reordering_nothing_is_copied)
{
    echo_whole(0, 30000, MTU_BYTES);
}

UNIT_TEST(ip6_loss_small_packets)
{
    echo_whole(1, 30000, 100);
}

/* A peer who does not read: it has a window full, and what else goes to it is held in as many blocks as our window lets
 * in, and no more. The window opens as it acknowledges, and not before. */
UNIT_TEST(peer_does_not_read_window_stays_shut)
{
    struct pair pair;
    unsigned i;

    pair_open(&pair, 0, NULL);
    for (i = 0; i < 50; i++) {
        world_send(&pair.world.m[0], pair.client, &pair.sent, BULK, MTU_BYTES);
        world_run(&pair.world, 100000);
        pair_echo(&pair);
    }
    CHECK_EQ_I(pair.n, 0);    /* all of it is sent back */
    CHECK(world_count(&pair.world.m[1]).received_bytes <= 4 * MTU_BYTES);
    CHECK(world_count(&pair.world.m[1]).blocks_free >= 8 - 3);
    for (i = 0; i < 1000 && pair.got < BULK; i++) {
        (void)world_receive(&pair.world.m[0], pair.client, &pair.got);
        world_send(&pair.world.m[0], pair.client, &pair.sent, BULK, MTU_BYTES);
        world_run(&pair.world, 20000);
        pair_echo(&pair);
    }
    CHECK_EQ_U(pair.got, BULK);
    pair_end(&pair);
}

/* The rest of a question is returned by itself, before or after its answer. */
UNIT_TEST(answer_shorter_than_question)
{
    struct pair pair;
    tenon_u8 *p;
    int i;

    pair_open(&pair, 0, NULL);
    for (i = 0; i < 2; i++) {
        pair_send(&pair, 1, 500);
        CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &p), 500);
        memset(p, 'a' + i, 10);
        CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 10, 0), TENON_OK);
        CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 10, 0), TENON_EINVAL);
        if (i == 1)
            world_run(&pair.world, 100000);
        CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.server, p + 10, 490), TENON_OK);
        world_run(&pair.world, 100000);
        CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 8);
        CHECK_EQ_I(tenon_sock_ask_rbuf(pair.world.m[0].socks, pair.client, &p), 10);
        CHECK_EQ_I(p[0], 'a' + i);
        CHECK_EQ_I(p[9], 'a' + i);
        CHECK_EQ_I(tenon_sock_read_done(pair.world.m[0].socks, pair.client, p, 10), TENON_OK);
    }
    pair_end(&pair);
}

/* What was sent back and is not acknowledged yet has been read: the end is no reset. */
UNIT_TEST(deleted_at_once_all_arrives)
{
    struct pair pair;
    const struct tenon *stack;

    pair_open(&pair, 0, NULL);
    stack = tenon_sock_stack(pair.socks);
    pair_send(&pair, 2, 1000);
    pair_echo(&pair);
    CHECK_EQ_I(tenon_sock_delete(pair.socks, pair.server, 0), TENON_OK);
    CHECK(world_count(&pair.world.m[1]).blocks_free < 8);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), TENON_ECLOSED);
    CHECK_EQ_U(pair.got, 2000);
    CHECK_EQ_U(tenon_stat(stack, TENON_STAT_TCP_RST_SENT), 0);
    CHECK_EQ_I(tenon_sock_delete(pair.world.m[0].socks, pair.client, 0), TENON_OK);
    world_run(&pair.world, 1000000);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 8);
    pair_close(&pair);
}

/* What was sent back earlier, and is acknowledged, has nothing to do with what came later and nobody has read. */
UNIT_TEST(deleted_unread_resets)
{
    struct pair pair;

    pair_open(&pair, 0, NULL);
    pair_send(&pair, 1, 500);
    pair_echo(&pair);
    world_run(&pair.world, 100000);
    pair_send(&pair, 1, 400);
    CHECK_EQ_I(tenon_sock_delete(pair.socks, pair.server, 0), TENON_OK);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), TENON_ERESET);
    CHECK_EQ_U(tenon_stat(tenon_sock_stack(pair.socks), TENON_STAT_TCP_RST_SENT), 1);
    CHECK_EQ_I(tenon_sock_delete(pair.world.m[0].socks, pair.client, 0), TENON_OK);
    world_run(&pair.world, 1000000);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 8);
    pair_close(&pair);
}

UNIT_TEST(with_the_last_a_fin)
{
    struct pair pair;
    tenon_u8 *p;

    pair_open(&pair, 0, NULL);
    pair_send(&pair, 1, 500);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &p), 500);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 499, TENON_SOCK_FIN), TENON_OK);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p + 499, 1, 0), TENON_ECLOSED);
    CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.server, p + 499, 1), TENON_OK);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), TENON_ECLOSED);
    CHECK_EQ_U(pair.got, 499);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 8);
    pair_close(&pair);
}

UNIT_TEST(misuse)
{
    struct pair pair;
    static tenon_u8 foreign[100];
    struct tenon_sock_info info;
    tenon_u8 *p;

    pair_open(&pair, 0, NULL);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, foreign, 1, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, NULL, 1, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, 0, foreign, 1, 0), TENON_EINVAL);
    pair_send(&pair, 2, 500);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &p), 500);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 0, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 501, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p + 1, 1, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server + 1, p, 500, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_status(pair.socks, pair.server, &info), TENON_OK);
    CHECK_EQ_U(info.unread, 1000);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 500, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 500, 0), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.server, p, 500), TENON_EINVAL);
    CHECK_EQ_I(tenon_sock_status(pair.socks, pair.server, &info), TENON_OK);
    CHECK_EQ_U(info.unread, 500);
    pair_echo(&pair);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), 0);
    CHECK_EQ_U(pair.got, 1000);
    pair_end(&pair);
}

static void little_to_send(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.stack.tcp_snd_buf = 1000;
}

/* No more may be unacknowledged: the piece stays handed out, and an event tells when there is room. */
UNIT_TEST(too_much_unacknowledged_tells_when_there_is_room)
{
    struct pair pair;
    struct machine *machine;
    struct wire_line_conf line;
    unsigned i;

    pair_open(&pair, 0, little_to_send);
    machine = &pair.world.m[1];
    pair_send(&pair, 3, 500);
    line = wire_end_conf(machine->end)->out;
    line.loss_ppm = 1000000;
    wire_line_set(machine->end, WIRE_OUT, &line);
    pair_echo(&pair);
    CHECK(pair.n > 0);
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, pair.p, (unsigned)pair.n, 0), TENON_EAGAIN);
    world_run(&pair.world, 100000);
    machine->events[(pair.server - 1) % 64] = 0;
    CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, pair.p, (unsigned)pair.n, 0), TENON_EAGAIN);
    line.loss_ppm = 0;
    wire_line_set(machine->end, WIRE_OUT, &line);
    world_run(&pair.world, 5000000);
    CHECK(machine->events[(pair.server - 1) % 64] & TENON_SOCK_WRITABLE);
    for (i = 0; i < 3; i++) {
        pair_echo(&pair);
        world_run(&pair.world, 100000);
    }
    CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), 0);
    CHECK_EQ_U(pair.got, 1500);
    pair_end(&pair);
}

/* Ring and blocks take turns: the peer gets all in the order of the calls. */
UNIT_TEST(beside_a_ring_in_order)
{
    struct pair pair;
    struct tenon_sock_info info;
    tenon_u8 *p, *to, all[2400] = { 0 };
    unsigned i, at = 0;
    int n;

    pair_open(&pair, 0, NULL);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.server, world_ring(&pair.world.m[1], 0, RING), RING), TENON_OK);
    pair_send(&pair, 3, 400);
    for (i = 0; i < 3; i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &p), 400);
        CHECK(tenon_sock_ask_sbuf(pair.socks, pair.server, &to) >= 400);
        memset(to, '0' + (int)i, 400);
        CHECK_EQ_I(tenon_sock_send(pair.socks, pair.server, to, 400, 0), TENON_OK);
        memset(p, 'a' + (int)i, 400);
        CHECK_EQ_I(tenon_sock_send_back(pair.socks, pair.server, p, 400, 0), TENON_OK);
    }
    world_run(&pair.world, 100000);
    while ((n = tenon_sock_ask_rbuf(pair.world.m[0].socks, pair.client, &p)) > 0) {
        if (CHECK(at + (unsigned)n <= sizeof(all)))
            memcpy(all + at, p, (size_t)n);
        at += (unsigned)n;
        CHECK_EQ_I(tenon_sock_read_done(pair.world.m[0].socks, pair.client, p, (unsigned)n), TENON_OK);
    }
    CHECK_EQ_U(at, sizeof(all));
    for (i = 0; i < sizeof(all); i += 400) {
        const int want = i / 400 % 2 == 0 ? '0' + (int)i / 800 : 'a' + (int)i / 800;

        CHECK_EQ_I(all[i], want);
        CHECK_EQ_I(all[i + 399], want);
    }
    world_run(&pair.world, 100000);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 8);
    CHECK_EQ_I(tenon_sock_status(pair.socks, pair.server, &info), TENON_OK);
    CHECK_EQ_U(info.packets, 0);
    pair_end(&pair);
}

/* What is held, and not sent back, stays out of the window, whatever of the ring is acknowledged. */
UNIT_TEST(beside_a_ring_what_is_held_is_not_told_of)
{
    struct pair pair;
    struct tenon_tcp_info info;
    tenon_u8 *p, *to;

    pair_open(&pair, 0, NULL);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.server, world_ring(&pair.world.m[1], 0, RING), RING), TENON_OK);
    pair_send(&pair, 1, 500);
    pair_echo(&pair);
    world_run(&pair.world, 100000);
    pair_send(&pair, 1, 1000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &p), 1000);
    CHECK(tenon_sock_ask_sbuf(pair.socks, pair.server, &to) >= 800);
    memset(to, 'r', 800);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.server, to, 800, 0), TENON_OK);
    world_run(&pair.world, 100000);
    tenon_tcp_status(tn_sock_find(pair.socks, pair.server)->conn, &info);
    CHECK_EQ_U(info.rcv_unconsumed, 1000);
    CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.server, p, 1000), TENON_OK);
    pair.got = pair.sent;
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.world.m[0].socks, pair.client, &p), 500);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.world.m[0].socks, pair.client, &p), 800);
    CHECK_EQ_I(p[0], 'r');
    pair_end(&pair);
}

/* What the server has sent and is not acknowledged, and what its window waits for. */
static void pair_waits(const struct pair *pair, tenon_u32 unacknowledged, tenon_u32 unconsumed)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(tn_sock_find(pair->socks, pair->server)->conn, &info);
    CHECK_EQ_U(info.snd_queued, unacknowledged);
    CHECK_EQ_U(info.rcv_unconsumed, unconsumed);
}

/* The server sends full packets out of its ring, or two pieces back, and is left alone for a millisecond. */
static void pair_answer(struct pair *pair, unsigned packets, tenon_u8 *const *pieces)
{
    tenon_u8 *to;
    unsigned i;

    for (i = 0; i < packets; i++) {
        CHECK_EQ_I(tenon_sock_ask_sbuf(pair->socks, pair->server, &to), FULL);
        memset(to, 'r', FULL);
        CHECK_EQ_I(tenon_sock_send(pair->socks, pair->server, to, FULL, 0), TENON_OK);
    }
    for (i = 0; pieces != NULL && i < 2; i++)
        CHECK_EQ_I(tenon_sock_send_back(pair->socks, pair->server, pieces[i], FULL, 0), TENON_OK);
    world_run(&pair->world, 1000);
}

/* The client reads two full pieces, of the ring's bytes or of its own. */
static void pair_hears(struct pair *pair, int of_ring)
{
    struct tenon_socks *socks = pair->world.m[0].socks;
    tenon_u8 *p = NULL;
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (!CHECK_EQ_I(tenon_sock_ask_rbuf(socks, pair->client, &p), FULL))
            return;
        CHECK_EQ_I(p[0] == 'r' && p[FULL - 1] == 'r', of_ring);
        CHECK_EQ_I(tenon_sock_read_done(socks, pair->client, p, FULL), TENON_OK);
    }
}

/* The ring's bytes and those sent back are acknowledged at different times: only the latter open the window. The client
 * acknowledges two full segments at once, and that takes 2 ms. */
static void beside_a_ring(int ring_first)
{
    struct pair pair;
    tenon_u8 *p[2];
    unsigned i;

    pair_open(&pair, 0, NULL);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.server, world_ring(&pair.world.m[1], 0, RING), RING), TENON_OK);
    pair_send(&pair, 2, FULL);
    for (i = 0; i < 2; i++)
        CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &p[i]), FULL);
    pair_answer(&pair, ring_first ? 2 : 0, ring_first ? NULL : p);
    pair_waits(&pair, 2 * FULL, 2 * FULL);
    pair_answer(&pair, ring_first ? 0 : 2, ring_first ? p : NULL);
    world_run(&pair.world, 500);
    pair_waits(&pair, 2 * FULL, ring_first ? 2 * FULL : 0);
    pair_hears(&pair, ring_first);
    world_run(&pair.world, 100000);
    pair_waits(&pair, 0, 0);
    pair_hears(&pair, !ring_first);
    pair.got = pair.sent;
    pair_end(&pair);
}

UNIT_TEST(behind_a_ring_the_window_waits_for_what_was_sent_back)
{
    beside_a_ring(1);
}

UNIT_TEST(before_a_ring_the_window_opens_by_what_was_sent_back)
{
    beside_a_ring(0);
}

static void copies(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.stack.tcp_copy_max = 256;
    else
        machine->conf.window = FULL;
}

/* What the core copies (conf.stack.tcp_copy_max) leaves the ring before it is acknowledged. The window does not open by
 * that: of what the program still reads nothing was sent back. */
UNIT_TEST(copied_out_of_a_ring_the_window_stays)
{
    struct pair pair;
    tenon_u8 *p;
    int n;

    pair_open(&pair, 0, copies);
    CHECK_EQ_I(tenon_sock_set_sbuf(pair.socks, pair.server, world_ring(&pair.world.m[1], 0, RING), RING), TENON_OK);
    pair_send(&pair, 1, 1000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &pair.p), 1000);
    n = tenon_sock_ask_sbuf(pair.socks, pair.server, &p);    /* fills the peer's window, and more waits for that */
    CHECK(n > 0);
    memset(p, 'r', (size_t)n);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.server, p, (unsigned)n, 0), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(pair.socks, pair.server, &p) >= 100);
    memset(p, 'r', 100);
    CHECK_EQ_I(tenon_sock_send(pair.socks, pair.server, p, 100, 0), TENON_OK);
    world_run(&pair.world, 100000);
    pair_waits(&pair, 100, 1000);
    CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.server, pair.p, 1000), TENON_OK);
    pair.got = pair.sent;
    pair_close(&pair);
}

static void contiguous(struct machine *machine, unsigned i)
{
    if (i == 1)
        machine->conf.device.flags |= TENON_SOCK_CONTIGUOUS;
}

/* A device that takes frames of one piece: the frame is put together elsewhere, and the copy counted. */
UNIT_TEST(frames_of_one_piece_are_put_together)
{
    struct pair pair;
    unsigned i;

    pair_open(&pair, 0, contiguous);
    for (i = 0; i < 20; i++) {
        pair_send(&pair, 1, 1000);
        pair_echo(&pair);
        world_run(&pair.world, 100000);
        CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), 0);
    }
    CHECK_EQ_U(pair.got, 20000);
    CHECK_EQ_U(world_count(&pair.world.m[1]).copied_bytes, 20000);
    pair_end(&pair);
}

/* A device of one piece that keeps the frames that it was given, until it is told that they have been sent. */
static struct tenon_buf *kept[4];
static unsigned nkept;
static int is_keeping;

static unsigned keeping_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    const unsigned taken = device_transmit(device, frames, n);
    unsigned i;

    for (i = 0; is_keeping && i < taken && CHECK(nkept < 4); i++) {
        kept[nkept] = frames[i].spans->buf;
        tenon_buf_ref(kept[nkept++]);
    }
    return taken;
}

static void keeping(struct machine *machine, unsigned i)
{
    contiguous(machine, i);
    if (i == 0)
        return;
    machine->conf.blocks = 6;
    machine->conf.device.transmit = keeping_transmit;
}

/* So many segments have come, and went back: as many blocks are held, and as many frames are with the device. */
static void keeping_open(struct pair *pair, void (*adjust)(struct machine *machine, unsigned i), unsigned segments)
{
    nkept = 0;
    is_keeping = 0;
    pair_open(pair, 0, adjust);
    pair_send(pair, segments, FULL);
    pair_echo(pair);
    is_keeping = 1;
    (void)tenon_sock_poll(pair->socks, (tenon_u32)wire_host_now(pair->world.m[1].host));
    is_keeping = 0;
    CHECK_EQ_U(nkept, segments);
    CHECK_EQ_U(world_count(&pair->world.m[1]).blocks_free, pair->world.m[1].conf.blocks - 2 * segments);
}

/* @return how many blocks a device gets to receive into; it gives them back */
static unsigned blocks_to_hear_with(struct tenon_socks *socks)
{
    struct tenon_buf *taken[8];
    unsigned n = 0, got;

    while (n < 8 && (taken[n] = tenon_sock_block(socks)) != NULL)
        n++;
    for (got = n; n > 0; n--)
        tenon_buf_put(taken[n - 1]);
    return got;
}

/* The block that is there to put frames together in comes back when the device has sent: none is kept in its place. */
UNIT_TEST(frames_of_one_piece_heard_while_some_are_sent)
{
    struct pair pair;

    if (!TENON_WITH_LINEAR)
        return;
    keeping_open(&pair, keeping, 2);
    CHECK_EQ_U(blocks_to_hear_with(pair.socks), 2);
    world_run(&pair.world, 100000);
    CHECK_EQ_I(world_receive(&pair.world.m[0], pair.client, &pair.got), 0);
    CHECK_EQ_U(pair.got, 2 * FULL);
    CHECK_EQ_U(blocks_to_hear_with(pair.socks), 4);    /* acknowledged; the device has two yet */
    tenon_buf_put(kept[0]);
    CHECK_EQ_U(blocks_to_hear_with(pair.socks), 5);
    tenon_buf_put(kept[1]);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 6);
    CHECK_EQ_U(blocks_to_hear_with(pair.socks), 5);    /* and one to send from */
    pair_close(&pair);
}

/* A device that is not done when all else has ended. */
UNIT_TEST(frames_of_one_piece_are_sent_after_the_stop)
{
    struct tenon_sock_counts counts;
    struct pair pair;
    unsigned i;

    if (!TENON_WITH_LINEAR)
        return;
    keeping_open(&pair, keeping, 2);
    for (i = 0; i < WORLD_SENDERS; i++)
        tenon_sock_stop(pair.world.m[i].socks);
    for (i = 0; i < WORLD_SENDERS; i++)
        wire_host_close(pair.world.m[i].host);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 4);
    while (nkept > 0)
        tenon_buf_put(kept[--nkept]);
    counts = world_count(&pair.world.m[1]);
    CHECK_EQ_U(counts.blocks_free, 6);
    CHECK_EQ_U(counts.memory_used, 0);
    for (i = 0; i < WORLD_SENDERS; i++)
        free(pair.world.m[i].arena);
    wire_close(pair.world.wire);
    pair.world.m[1].rings[3] = NULL;
    world_free_rings(&pair.world);
}

static void keeping_with_three(struct machine *machine, unsigned i)
{
    keeping(machine, i);
    if (i == 1)
        machine->conf.blocks = 3;
}

/* The fewest blocks that there have to be: one is held, one is with the device, and what comes meanwhile is heard with
 * the third: an acknowledgement, by which the first is free. */
UNIT_TEST(frames_of_one_piece_that_cross_are_heard)
{
    struct pair pair;
    unsigned full;

    if (!TENON_WITH_LINEAR)
        return;
    keeping_open(&pair, keeping_with_three, 1);
    full = pair.world.m[1].full;
    world_run(&pair.world, 100000);
    CHECK_EQ_U(pair.world.m[1].full, full);
    CHECK_EQ_U(world_count(&pair.world.m[1]).blocks_free, 2);
    pair_send(&pair, 1, 1000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(pair.socks, pair.server, &pair.p), 1000);
    CHECK_EQ_U(pair.world.m[1].full, full);
    CHECK_EQ_I(tenon_sock_read_done(pair.socks, pair.server, pair.p, 1000), TENON_OK);
    tenon_buf_put(kept[0]);
    CHECK_EQ_U(blocks_to_hear_with(pair.socks), 2);
    pair_close(&pair);
}

/* ---- UDP ---- */

/* Two clients: each gets its own answer, whoever was heard last. */
static void two_clients(int v6)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, v6, PORT), any = { .port = PORT };
    struct tenon_socks *socks;
    int client[2], server, i;
    tenon_u8 *p[2], *q;

    if (!CHECK(world_open(&world, NULL)))
        return;
    socks = world.m[1].socks;
    server = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    for (i = 0; i < 2; i++) {
        client[i] = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_UDP, 0);
        CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client[i], world_ring(&world.m[0], (unsigned)i, RING), RING),
                   TENON_OK);
        CHECK(tenon_sock_ask_sbuf(world.m[0].socks, client[i], &q) >= 1000);
        memset(q, 'a' + i, 1000);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client[i], q, 1000, 0), TENON_OK);
        world_run(&world, 100000);
    }
    for (i = 0; i < 2; i++)
        CHECK_EQ_I(tenon_sock_ask_rbuf(socks, server, &p[i]), 1000);
    CHECK_EQ_I(tenon_sock_send_back(socks, server, p[0], 1000, TENON_SOCK_FIN), TENON_EINVAL);
    for (i = 0; i < 2; i++) {
        p[i][999] = 'z';
        CHECK_EQ_I(tenon_sock_send_back(socks, server, p[i], 1000, 0), TENON_OK);
        CHECK_EQ_I(tenon_sock_read_done(socks, server, p[i], 1000), TENON_EINVAL);
        world_run(&world, 100000);
    }
    for (i = 0; i < 2; i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client[i], &q), 1000);
        CHECK_EQ_I(q[0], 'a' + i);
        CHECK_EQ_I(q[999], 'z');
        CHECK_EQ_I(tenon_sock_read_done(world.m[0].socks, client[i], q, 1000), TENON_OK);
        CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, client[i], &q), 0);
    }
    CHECK_EQ_U(world_copied(&world.m[1]), 0);
    CHECK_EQ_U(world_count(&world.m[1]).sent_bytes, 2000);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 8);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(ip4_datagrams_go_to_whom_they_came_from)
{
    two_clients(0);
}

UNIT_TEST(ip6_datagrams_go_to_whom_they_came_from)
{
    two_clients(1);
}

/* Whose peer is fixed has nobody else to send back to. */
UNIT_TEST(datagram_back_to_a_fixed_peer)
{
    const struct tenon_addr own = world_addr(1, 0, PORT), peer = world_addr(0, 0, PORT);
    struct world world;
    int one, other;
    tenon_u8 *p;

    if (!TENON_WITH_CONNECT || !CHECK(world_open(&world, NULL)))
        return;
    one = tenon_sock_create(world.m[0].socks, &peer, &own, TENON_SOCK_UDP, 0);
    other = tenon_sock_create(world.m[1].socks, &own, &peer, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, one, world_ring(&world.m[0], 0, RING), RING), TENON_OK);
    CHECK(tenon_sock_ask_sbuf(world.m[0].socks, one, &p) >= 1000);
    memset(p, 'a', 1000);
    CHECK_EQ_I(tenon_sock_send(world.m[0].socks, one, p, 1000, 0), TENON_OK);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[1].socks, other, &p), 1000);
    CHECK_EQ_I(tenon_sock_send_back(world.m[1].socks, other, p, 1000, 0), TENON_OK);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(world.m[0].socks, one, &p), 1000);
    CHECK_EQ_I(p[999], 'a');
    CHECK_EQ_I(tenon_sock_read_done(world.m[0].socks, one, p, 1000), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

/* Two clients have sent 1000 bytes each, of 'a' and of 'b', and the server holds both: p[0] and p[1]. */
struct two {
    struct world world;
    struct tenon_socks *socks, *theirs;    /* of the server, of the clients */
    int client[2], server;
    struct tenon_sock_info info[2];
    tenon_u8 *p[2];
};

static void two_open(struct two *two)
{
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    tenon_u8 *q;
    int i;

    if (!CHECK(world_open(&two->world, NULL)))
        return;
    two->socks = two->world.m[1].socks;
    two->theirs = two->world.m[0].socks;
    two->server = tenon_sock_create(two->socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(two->socks, two->server, world_ring(&two->world.m[1], 0, RING), RING), TENON_OK);
    for (i = 0; i < 2; i++) {
        two->client[i] = tenon_sock_create(two->theirs, NULL, NULL, TENON_SOCK_UDP, 0);
        CHECK_EQ_I(tenon_sock_set_sbuf(two->theirs, two->client[i],
                                       world_ring(&two->world.m[0], (unsigned)i, RING), RING),
                   TENON_OK);
        CHECK_EQ_I(tenon_sock_to(two->theirs, two->client[i], &at), TENON_OK);
        CHECK(tenon_sock_ask_sbuf(two->theirs, two->client[i], &q) >= 1000);
        memset(q, 'a' + i, 1000);
        CHECK_EQ_I(tenon_sock_send(two->theirs, two->client[i], q, 1000, 0), TENON_OK);
        world_run(&two->world, 100000);
        CHECK_EQ_I(tenon_sock_status(two->theirs, two->client[i], &two->info[i]), TENON_OK);
        CHECK_EQ_I(tenon_sock_ask_rbuf(two->socks, two->server, &two->p[i]), 1000);
    }
}

static void two_close(struct two *two)
{
    world_close(&two->world);
    world_free_rings(&two->world);
}

/* What goes back to the first does not change that the second was heard last: what was written for it is its own. */
UNIT_TEST(datagram_back_leaves_who_was_heard_last)
{
    struct two two;
    struct tenon_sock_info info;
    tenon_u8 *to = NULL, *q;

    two_open(&two);
    CHECK(tenon_sock_ask_sbuf(two.socks, two.server, &to) >= 500);
    memset(to, 'S', 500);
    CHECK_EQ_I(tenon_sock_send_back(two.socks, two.server, two.p[0], 1000, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_status(two.socks, two.server, &info), TENON_OK);
    CHECK_EQ_U(info.remote.port, two.info[1].local.port);
    CHECK_EQ_I(tenon_sock_send(two.socks, two.server, to, 500, 0), TENON_OK);
    world_run(&two.world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(two.theirs, two.client[0], &q), 1000);
    CHECK_EQ_I(q[0], 'a');
    CHECK_EQ_I(tenon_sock_ask_rbuf(two.theirs, two.client[0], &q), 0);
    CHECK_EQ_I(tenon_sock_ask_rbuf(two.theirs, two.client[1], &q), 500);
    CHECK_EQ_I(q[0], 'S');
    two_close(&two);
}

/* ... nor whom tenon_sock_to() has said. */
UNIT_TEST(datagram_back_leaves_whom_the_program_said)
{
    struct two two;
    struct tenon_sock_info info;

    two_open(&two);
    CHECK_EQ_I(tenon_sock_to(two.socks, two.server, &two.info[0].local), TENON_OK);
    CHECK_EQ_I(tenon_sock_send_back(two.socks, two.server, two.p[1], 1000, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_status(two.socks, two.server, &info), TENON_OK);
    CHECK_EQ_U(info.remote.port, two.info[0].local.port);
    two_close(&two);
}

static void many_pieces(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.headers = 32;
    machine->conf.blocks = 12;
    machine->conf.datagrams = 6;
}

static void pieces_heard(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    (void)sock;
    (void)spans;
    (void)n;
    *(unsigned *)app += (unsigned)info->bytes;
}

/* A datagram of 2000 bytes of each of two senders: two fragments, and the bytes that stand with their headers. The
 * server holds all three pieces of both; the first one is a copy of the core's. */
struct pieces {
    struct world world;
    struct tenon_socks *socks;
    struct tenon_udp *sender[2];
    unsigned heard[2];    /* bytes */
    int server;
    tenon_u8 *p[2][3];
    unsigned n[2][3];
};

static void pieces_open(struct pieces *pieces)
{
    static const struct tenon_udp_events events = { pieces_heard, NULL };
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    tenon_u8 bytes[2000];
    int i, k;

    memset(pieces, 0, sizeof(*pieces));
    memset(bytes, 'x', sizeof(bytes));
    if (!CHECK(world_open(&pieces->world, many_pieces)))
        return;
    pieces->socks = pieces->world.m[1].socks;
    pieces->server = tenon_sock_create(pieces->socks, &any, NULL, TENON_SOCK_UDP, 0);
    for (i = 0; i < 2; i++) {
        CHECK_EQ_I(tenon_udp_open(tenon_sock_stack(pieces->world.m[0].socks), &pieces->sender[i], &events,
                                  &pieces->heard[i]),
                   TENON_OK);
        CHECK_EQ_I(tenon_udp_write(pieces->sender[i], &at, bytes, sizeof(bytes)), TENON_OK);
        world_run(&pieces->world, 10000);
    }
    for (i = 0; i < 2; i++)
        for (k = 0; k < 3; k++) {
            pieces->n[i][k] = (unsigned)tenon_sock_ask_rbuf(pieces->socks, pieces->server, &pieces->p[i][k]);
            CHECK(pieces->n[i][k] > 0 && pieces->n[i][k] < 2000);
        }
}

/* One goes back, and is a datagram. @return what send_back() says */
static int pieces_back(struct pieces *pieces, int of, int which)
{
    const int error =
        tenon_sock_send_back(pieces->socks, pieces->server, pieces->p[of][which], pieces->n[of][which], 0);

    world_run(&pieces->world, 10000);
    return error;
}

static void pieces_close(struct pieces *pieces)
{
    int i;

    for (i = 0; i < 2; i++)
        tenon_udp_close(pieces->sender[i]);
    world_close(&pieces->world);
}

/* Each goes back to the one who has sent the datagram, in any order, and whoever was heard since. */
UNIT_TEST(pieces_of_datagrams_go_to_whom_they_came_from)
{
    struct pieces pieces;
    int k;

    pieces_open(&pieces);
    for (k = 0; k < 3; k++) {
        CHECK_EQ_I(pieces_back(&pieces, 0, k), TENON_OK);
        CHECK_EQ_I(pieces_back(&pieces, 1, 2 - k), k < 2 ? TENON_OK : TENON_EUNREACH);
    }
    CHECK_EQ_U(pieces.heard[0], 2000);
    CHECK_EQ_U(pieces.heard[1], 2000 - pieces.n[1][0]);
    pieces_close(&pieces);
}

/* What is left of a datagram when its blocks were returned is nobody's: it does not go to who comes next in
 * the list. */
UNIT_TEST(copied_piece_without_its_blocks_goes_to_nobody)
{
    struct pieces pieces;
    int k;

    pieces_open(&pieces);
    for (k = 1; k < 3; k++)
        CHECK_EQ_I(tenon_sock_read_done(pieces.socks, pieces.server, pieces.p[0][k], pieces.n[0][k]), TENON_OK);
    CHECK_EQ_I(pieces_back(&pieces, 0, 0), TENON_EUNREACH);
    CHECK_EQ_I(pieces_back(&pieces, 1, 0), TENON_OK);
    CHECK_EQ_U(pieces.heard[0], 0);
    CHECK_EQ_U(pieces.heard[1], pieces.n[1][0]);
    CHECK_EQ_I(tenon_sock_read_done(pieces.socks, pieces.server, pieces.p[0][0], pieces.n[0][0]), TENON_OK);
    pieces_close(&pieces);
}

/* RFC 768: port 0 is nobody who wants an answer. */
UNIT_TEST(datagram_of_port_0_cannot_be_answered)
{
    static const tenon_u8 frame[14 + 20 + 8 + 4] = {
        2, 0, 0, 0, 0, 2,      2, 0, 0, 0, 0, 1,    8, 0,
        0x45, 0, 0, 32,        0, 0, 0, 0,          64, 17, 0x66, 0xCB,    10, 0, 0, 1,    10, 0, 0, 2,
        0, 0, 0, PORT,         0, 12, 0, 0,         'w', 'h', 'o', '?'
    };
    const struct tenon_addr any = { .port = PORT };
    struct tenon_socks *socks;
    struct world world;
    tenon_u8 *p;
    int sk;

    if (!CHECK(world_open(&world, NULL)))
        return;
    socks = world.m[1].socks;
    sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(wire_inject(world.m[1].end, frame, sizeof(frame), 1), 0);
    world_run(&world, 1000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, sk, &p), 4);
    CHECK_EQ_I(tenon_sock_send_back(socks, sk, p, 4, 0), TENON_EUNREACH);
    CHECK_EQ_I(tenon_sock_read_done(socks, sk, p, 4), TENON_OK);
    world_close(&world);
}

int main(void)
{
    UNIT_RUN(ip4_clean_nothing_is_copied);
    UNIT_RUN(ip6_clean_nothing_is_copied);
    UNIT_RUN(ip4_loss_and_reordering_nothing_is_copied);
    UNIT_RUN(ip6_loss_small_packets);
    UNIT_RUN(peer_does_not_read_window_stays_shut);
    UNIT_RUN(answer_shorter_than_question);
    UNIT_RUN(deleted_at_once_all_arrives);
    UNIT_RUN(deleted_unread_resets);
    UNIT_RUN(with_the_last_a_fin);
    UNIT_RUN(misuse);
    UNIT_RUN(too_much_unacknowledged_tells_when_there_is_room);
    UNIT_RUN(beside_a_ring_in_order);
    UNIT_RUN(beside_a_ring_what_is_held_is_not_told_of);
    UNIT_RUN(behind_a_ring_the_window_waits_for_what_was_sent_back);
    UNIT_RUN(before_a_ring_the_window_opens_by_what_was_sent_back);
    UNIT_RUN(copied_out_of_a_ring_the_window_stays);
    UNIT_RUN(frames_of_one_piece_are_put_together);
    UNIT_RUN(frames_of_one_piece_heard_while_some_are_sent);
    UNIT_RUN(frames_of_one_piece_are_sent_after_the_stop);
    UNIT_RUN(frames_of_one_piece_that_cross_are_heard);
    UNIT_RUN(ip4_datagrams_go_to_whom_they_came_from);
    UNIT_RUN(ip6_datagrams_go_to_whom_they_came_from);
    UNIT_RUN(datagram_back_to_a_fixed_peer);
    UNIT_RUN(datagram_back_leaves_who_was_heard_last);
    UNIT_RUN(datagram_back_leaves_whom_the_program_said);
    UNIT_RUN(pieces_of_datagrams_go_to_whom_they_came_from);
    UNIT_RUN(copied_piece_without_its_blocks_goes_to_nobody);
    UNIT_RUN(datagram_of_port_0_cannot_be_answered);
    return unit_end();
}
