/* SPDX-License-Identifier: MIT */
/* TCP by the seven calls: both IP versions, several segments in flight, loss and reordering; nothing is copied. */
#include "embedded/world.h"

enum { PORT = 80, MTU_BYTES = 1460, BULK = 200000 };

/* A server on machine 1, a client on machine 0, each with a ring of `packets` full segments. */
static void stream_open(struct world *world, int v6, unsigned packets, int *client, int *server)
{
    const struct tenon_addr at = world_addr(1, v6, PORT), any = { .port = PORT };
    const tenon_u32 bytes = packets * (MTU_BYTES + TENON_SOCK_RECORD_BYTES);

    *server = tenon_sock_create(world->m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    *client = tenon_sock_create(world->m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK(*server > 0);
    CHECK(*client > 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(world->m[0].socks, *client, world_ring(&world->m[0], 0, bytes), bytes), TENON_OK);
    CHECK_EQ_I(tenon_sock_set_sbuf(world->m[1].socks, *server, world_ring(&world->m[1], 0, bytes), bytes), TENON_OK);
    world_run(world, 10000);
}

static enum tenon_sock_state state_of(const struct machine *machine, int sk)
{
    struct tenon_sock_info info;

    return tenon_sock_status(machine->socks, sk, &info) == TENON_OK ? info.state : TENON_SOCK_CLOSED;
}

/* Both directions at once, until all is there or the time is over. */
static void stream_exchange(struct world *world, int client, int server, tenon_u32 bytes, unsigned most)
{
    tenon_u32 sent[2] = {0, 0}, got[2] = {0, 0};
    unsigned rounds;

    for (rounds = 0; rounds < 200000 && (got[0] < bytes || got[1] < bytes); rounds++) {
        world_send(&world->m[0], client, &sent[0], bytes, most);
        world_send(&world->m[1], server, &sent[1], bytes, most);
        world_run(world, 2000);
        (void)world_receive(&world->m[0], client, &got[0]);
        (void)world_receive(&world->m[1], server, &got[1]);
    }
    CHECK_EQ_U(got[0], bytes);
    CHECK_EQ_U(got[1], bytes);
}

/* FINs both ways, then nothing is left. */
static void stream_end(struct world *world, int client, int server)
{
    tenon_u32 at = 0;

    CHECK_EQ_I(tenon_sock_send(world->m[0].socks, client, NULL, 0, TENON_SOCK_FIN), TENON_OK);
    world_run(world, 3000000);
    CHECK_EQ_I(state_of(&world->m[1], server), TENON_SOCK_ENDING);
    CHECK_EQ_I(world_receive(&world->m[1], server, &at), TENON_ECLOSED);
    CHECK_EQ_I(tenon_sock_send(world->m[1].socks, server, NULL, 0, TENON_SOCK_FIN), TENON_OK);
    world_run(world, 3000000);
    CHECK_EQ_I(state_of(&world->m[0], client), TENON_SOCK_CLOSED);
    CHECK(world->m[0].events[(client - 1) % 64] & TENON_SOCK_ENDED);
    CHECK_EQ_I(world_receive(&world->m[0], client, &at), TENON_ECLOSED);
    CHECK_EQ_I(tenon_sock_delete(world->m[0].socks, client, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_delete(world->m[1].socks, server, 0), TENON_OK);
}

static void stream_whole(int v6, uint32_t loss_ppm, unsigned most)
{
    struct world world;
    int client, server;
    unsigned i;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, v6, 4, &client, &server);
    CHECK_EQ_I(state_of(&world.m[0], client), TENON_SOCK_OPEN);
    CHECK_EQ_I(state_of(&world.m[1], server), TENON_SOCK_OPEN);
    for (i = 0; i < 2; i++)
        world_faults(&world.m[i], loss_ppm, loss_ppm);
    stream_exchange(&world, client, server, BULK, most);
    for (i = 0; i < 2; i++) {
        const struct tenon *stack = tenon_sock_stack(world.m[i].socks);

        world_faults(&world.m[i], 0, 0);
        CHECK_EQ_U(world_copied(&world.m[i]), 0);
        CHECK_EQ_U(world.m[i].frames_elsewhere, 0);
        CHECK(world.m[i].frames_in_ring >= BULK / MTU_BYTES);
        CHECK_EQ_U(world_count(&world.m[i]).sent_bytes, BULK);
        CHECK_EQ_U(world_count(&world.m[i]).received_bytes, BULK);
        if (loss_ppm > 0)
            CHECK(tenon_stat(stack, TENON_STAT_TCP_RETRANSMIT) > 0);
    }
    stream_end(&world, client, server);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(ip4_clean_nothing_is_copied)
{
    stream_whole(0, 0, MTU_BYTES);
}

UNIT_TEST(ip6_clean_nothing_is_copied)
{
    stream_whole(1, 0, MTU_BYTES);
}

UNIT_TEST(ip4_loss_and_reordering_nothing_is_copied)
{
    stream_whole(0, 30000, MTU_BYTES);
}

UNIT_TEST(ip6_loss_and_reordering_nothing_is_copied)
{
    stream_whole(1, 30000, MTU_BYTES);
}

/* Packets of 300 bytes: several of them in a segment are several spans, not a copy. */
UNIT_TEST(ip4_loss_small_packets_nothing_is_copied)
{
    stream_whole(0, 30000, 300);
}

/* On the way between them not every packet fits: segments become shorter, and where a link takes less than those,
 * routers cut them. What comes in fragments is read as anything else, and goes back to where it came from. */
UNIT_TEST(narrow_links_stream_comes_whole)
{
    static const struct {
        const char *name;
        int v6;
        unsigned mtu, loss_ppm, cut;
    } rows[] = { { "IPv4, shorter segments", 0, 1300, 0, 0 },
                 { "IPv6, shorter segments", 1, 1300, 30000, 0 },
                 { "IPv4, fragments", 0, 400, 0, 1 },
                 { "IPv4, small fragments, and some are lost", 0, 296, 30000, 1 } };
    unsigned r, i;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct world world;
        int client, server;

        unit_row(rows[r].name);
        if (!CHECK(world_open(&world, NULL)))
            return;
        stream_open(&world, rows[r].v6, 4, &client, &server);
        for (i = 0; i < 2; i++) {
            world_faults(&world.m[i], rows[r].loss_ppm, 0);
            world_narrow(&world.m[i], rows[r].mtu);
        }
        stream_exchange(&world, client, server, BULK / 4, MTU_BYTES);
        for (i = 0; i < 2; i++) {
            const struct tenon *stack = tenon_sock_stack(world.m[i].socks);

            world_faults(&world.m[i], 0, 0);
            CHECK(tenon_stat(stack, TENON_STAT_PMTU_LOWERED) > 0);
            CHECK_EQ_I(tenon_stat(stack, TENON_STAT_FRAG_OK) > 0, rows[r].cut);
            CHECK_EQ_U(tenon_stat(stack, TENON_STAT_FRAG_SENT), 0);
        }
        stream_end(&world, client, server);
        world_close(&world);
        world_free_rings(&world);
    }
    unit_row(NULL);
}

static void wide_window(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.window = 4 * MTU_BYTES;
}

static void wider_window(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.window = 8000;
}

/* The bytes that are sent again lie where the application has written them. */
UNIT_TEST(in_flight_lost_sent_again_from_the_ring)
{
    struct tenon_sock_info info;
    struct world world;
    struct wire_line_conf line;
    tenon_u8 *p[3], *q;
    tenon_u32 at = 0;
    int client, server, i, n = 0;

    if (!CHECK(world_open(&world, wide_window)))
        return;
    stream_open(&world, 0, 3, &client, &server);
    line = wire_end_conf(world.m[0].end)->out;
    line.loss_ppm = 1000000;
    wire_line_set(world.m[0].end, WIRE_OUT, &line);
    for (i = 0; i < 3; i++) {
        n = tenon_sock_ask_sbuf(world.m[0].socks, client, &p[i]);
        CHECK(n >= 1400);
        memset(p[i], 'a' + i, (size_t)n);
        CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, p[i], (unsigned)n, 0), TENON_OK);
    }
    CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, client, &q), 0);
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_U(info.packets, 3);
    CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, client, &q), 0);
    line.loss_ppm = 0;
    wire_line_set(world.m[0].end, WIRE_OUT, &line);
    world_run(&world, 20000000);
    CHECK(tenon_stat(tenon_sock_stack(world.m[0].socks), TENON_STAT_TCP_RETRANSMIT) >= 3);
    CHECK_EQ_I(tenon_sock_status(world.m[0].socks, client, &info), TENON_OK);
    CHECK_EQ_U(info.packets, 0);
    CHECK_EQ_U(info.ring_used, 0);
    while ((i = tenon_sock_ask_rbuf(world.m[1].socks, server, &q)) > 0) {
        CHECK_EQ_I(q[0], 'a' + (int)(at / (tenon_u32)n));
        CHECK_EQ_I(q[i - 1], q[0]);
        at += (tenon_u32)i;
        CHECK_EQ_I(tenon_sock_read_done(world.m[1].socks, server, q, (unsigned)i), TENON_OK);
        world_run(&world, 50000);
    }
    CHECK_EQ_U(at, 3U * (unsigned)n);
    CHECK_EQ_U(world_copied(&world.m[0]), 0);
    CHECK_EQ_U(world.m[0].frames_elsewhere, 0);
    world_close(&world);
    world_free_rings(&world);
}

/* Several pieces are held, and given back in another order, in parts too; the window follows. */
UNIT_TEST(received_returned_in_any_order)
{
    struct world world;
    struct tenon_socks *socks;
    struct tenon_sock_info info;
    tenon_u8 *p[4];
    tenon_u32 sent = 0;
    int client, server, n[4], i;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, 0, 4, &client, &server);
    socks = world.m[1].socks;
    for (i = 0; i < 4; i++) {
        world_send(&world.m[0], client, &sent, sent + 500, 500);
        world_run(&world, 100000);
    }
    for (i = 0; i < 4; i++)
        CHECK_EQ_I(n[i] = tenon_sock_ask_rbuf(socks, server, &p[i]), 500);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, server, &p[0] + 0), 0);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 4);
    CHECK_EQ_I(tenon_sock_read_done(socks, server, p[2], 500), TENON_OK);
    CHECK_EQ_I(tenon_sock_read_done(socks, server, p[3], 500), TENON_OK);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 6);
    CHECK_EQ_I(tenon_sock_read_done(socks, server, p[0], 100), TENON_OK);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 6);
    CHECK_EQ_I(tenon_sock_status(socks, server, &info), TENON_OK);
    CHECK_EQ_U(info.unread, 900);
    world_send(&world.m[0], client, &sent, sent + 500, 500);    /* behind what has been given back */
    world_run(&world, 100000);
    CHECK_EQ_I(tenon_sock_ask_rbuf(socks, server, &p[2]), 500);
    CHECK_EQ_U(p[2][0], world_byte(2000));
    CHECK_EQ_I(tenon_sock_read_done(socks, server, p[2], 500), TENON_OK);
    for (i = 0; i < 400; i++)
        CHECK_EQ_U(p[0][100 + i], world_byte(100U + (unsigned)i));
    CHECK_EQ_I(tenon_sock_read_done(socks, server, p[0] + 100, 400), TENON_OK);
    CHECK_EQ_I(tenon_sock_read_done(socks, server, p[1], 500), TENON_OK);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 8);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_low, 4);
    CHECK(world_count(&world.m[1]).headers_low < 4);
    world_close(&world);
    world_free_rings(&world);
}

static void widest_window(struct machine *machine, unsigned i)
{
    (void)i;
    machine->conf.window = 8 * MTU_BYTES;
}

/* The first of eight segments is lost: of the others, whether they come alone or together and are merged, as many are
 * kept as a quarter of the blocks holds, so that the device has blocks for what is sent again. */
static void first_lost(int apart)
{
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i;

    if (!CHECK(world_open(&world, widest_window)))
        return;
    stream_open(&world, 0, 8, &client, &server);
    world_faults(&world.m[0], 1000000, 0);
    world_send(&world.m[0], client, &sent, MTU_BYTES - 12, MTU_BYTES);
    world_run(&world, 100);
    world_faults(&world.m[0], 0, 0);
    for (i = 0; i < 7; i++) {
        world_send(&world.m[0], client, &sent, sent + MTU_BYTES - 12, MTU_BYTES);
        if (apart)
            world_run(&world, 200);
    }
    world_run(&world, 1000);
    CHECK_EQ_U(sent, 8 * (MTU_BYTES - 12));
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 6);
    CHECK(tenon_stat(tenon_sock_stack(world.m[1].socks), TENON_STAT_TCP_OOO_DROP) >= (apart ? 5U : 1U));
    for (i = 0; i < 100 && got < sent; i++) {
        world_run(&world, 100000);
        (void)world_receive(&world.m[1], server, &got);
    }
    CHECK_EQ_U(got, sent);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(first_lost_others_leave_blocks)
{
    first_lost(1);
    first_lost(0);
}

/* Few blocks are left, but what has come does not fit behind what came last: it stays where it is. */
UNIT_TEST(blocks_few_segments_too_large_to_join)
{
    enum { BYTES = 900, SEGMENTS = 7 };
    struct world world;
    struct tenon_socks *socks;
    tenon_u8 *p[SEGMENTS];
    tenon_u32 sent = 0;
    int client, server, i;

    if (!CHECK(world_open(&world, wider_window)))
        return;
    stream_open(&world, 0, 4, &client, &server);
    socks = world.m[1].socks;
    for (i = 0; i < SEGMENTS; i++) {
        world_send(&world.m[0], client, &sent, sent + BYTES, BYTES);
        world_run(&world, 100000);
    }
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 8 - SEGMENTS);
    for (i = 0; i < SEGMENTS; i++) {
        CHECK_EQ_I(tenon_sock_ask_rbuf(socks, server, &p[i]), BYTES);
        CHECK_EQ_U(p[i][BYTES - 1], world_byte((unsigned)i * BYTES + BYTES - 1));
    }
    CHECK_EQ_U(world_count(&world.m[1]).copied_bytes, 0);
    for (i = 0; i < SEGMENTS; i++)
        CHECK_EQ_I(tenon_sock_read_done(socks, server, p[i], BYTES), TENON_OK);
    CHECK_EQ_U(world_count(&world.m[1]).blocks_free, 8);
    world_close(&world);
    world_free_rings(&world);
}

/* A reader that does not read: its window closes, the writer's ring fills up, and it goes on when it reads again. */
UNIT_TEST(reader_slow_ring_full_goes_on)
{
    struct world world;
    tenon_u32 sent = 0, got = 0;
    tenon_u8 *p;
    int client, server, i;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, 0, 2, &client, &server);
    for (i = 0; i < 50; i++) {
        world_send(&world.m[0], client, &sent, 100000, MTU_BYTES);
        world_run(&world, 20000);
    }
    CHECK(sent >= 4 * 1400 && sent <= 6 * 1460);
    CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, client, &p), 0);
    CHECK(world_count(&world.m[0]).ring_full > 0);
    world_run(&world, 2000000);
    for (i = 0; i < 2000 && got < 100000; i++) {
        (void)world_receive(&world.m[1], server, &got);
        world_send(&world.m[0], client, &sent, 100000, MTU_BYTES);
        world_run(&world, 20000);
    }
    CHECK_EQ_U(got, 100000);
    world_close(&world);
    world_free_rings(&world);
}

/* Rings of any size, which begin anywhere, with packets of any length: all arrives as it was written, and nothing
 * beside the ring is touched. */
static void stream_ring_of(tenon_u32 bytes)
{
    enum { ALL = 30000, BESIDE = 64 };
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    unsigned long seed = bytes;
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i, room;
    tenon_u8 *ring, *p;

    if (!CHECK(world_open(&world, NULL)))
        return;
    server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, 0);
    client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    ring = world_ring(&world.m[0], 0, bytes + 2 * BESIDE);
    memset(ring, 0x5A, bytes + 2 * BESIDE);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, ring + BESIDE + bytes % 8, bytes - bytes % 8), TENON_OK);
    world_run(&world, 10000);
    world_faults(&world.m[0], 20000, 20000);
    for (i = 0; i < 5000 && got < ALL; i++) {
        const unsigned n = 1 + (unsigned)unit_random(&seed) % MTU_BYTES;

        room = tenon_sock_ask_sbuf(world.m[0].socks, client, &p);
        CHECK(room <= 0 || (size_t)p % 8 == 0);
        if (room > 0)
            world_send(&world.m[0], client, &sent, sent + (n < (unsigned)room ? n : (unsigned)room), MTU_BYTES);
        if (unit_random(&seed) % 2)
            world_run(&world, 2000);
        (void)world_receive(&world.m[1], server, &got);
    }
    CHECK(got >= ALL);
    for (i = 0; i < BESIDE; i++)
        CHECK(ring[i] == 0x5A && ring[BESIDE + bytes + (unsigned)i] == 0x5A);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(ring_of_any_size)
{
    tenon_u32 bytes;

    for (bytes = 500; bytes < 6000; bytes += 333)
        stream_ring_of(bytes);
}

/* A deleted descriptor's ring is in use until the peer has all of it. */
UNIT_TEST(deleted_in_flight_ring_comes_back_later)
{
    struct world world;
    const struct tenon_addr at = world_addr(1, 0, PORT);
    tenon_u32 sent = 0, got = 0;
    int client, server, other, i;
    void *ring;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, 0, 2, &client, &server);
    ring = (void *)(size_t)world.m[0].rings[0];
    world_send(&world.m[0], client, &sent, 2000, MTU_BYTES);
    CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, client, 0), TENON_OK);
    CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, client, 0), TENON_EINVAL);
    other = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, 0);
    CHECK(other > 0 && other != client);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, other, ring, world.m[0].ring_bytes[0]), TENON_EINUSE);
    world_run(&world, 100000);
    CHECK_EQ_U(world.m[0].events[(client - 1) % 64] & TENON_SOCK_GONE, TENON_SOCK_GONE);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, other, ring, world.m[0].ring_bytes[0]), TENON_OK);
    for (i = 0; i < 3; i++)    /* the descriptor is free again too */
        CHECK(tenon_sock_create(world.m[0].socks, NULL, NULL, TENON_SOCK_UDP, 0) > 0);
    CHECK_EQ_I(world_receive(&world.m[1], server, &got), TENON_ECLOSED);
    CHECK_EQ_U(got, 2000);
    world_close(&world);
    world_free_rings(&world);
}

/* A reset throws away what is in the ring: the event tells of it too, as the application cannot know how long the
 * device needs. */
UNIT_TEST(deleted_with_reset_ring_comes_back_with_event)
{
    struct world world;
    tenon_u32 sent = 0;
    int client, server, other;
    void *ring;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, 0, 2, &client, &server);
    ring = (void *)(size_t)world.m[0].rings[0];
    world_send(&world.m[0], client, &sent, 2000, MTU_BYTES);
    other = tenon_sock_create(world.m[0].socks, NULL, NULL, TENON_SOCK_UDP, 0);
    CHECK(other > 0);
    CHECK_EQ_I(tenon_sock_delete(world.m[0].socks, client, TENON_SOCK_ABORT), TENON_OK);
    CHECK_EQ_U(world.m[0].events[(client - 1) % 64] & TENON_SOCK_GONE, 0);
    world_run(&world, 1000);
    CHECK_EQ_U(world.m[0].events[(client - 1) % 64] & TENON_SOCK_GONE, TENON_SOCK_GONE);
    CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, other, ring, world.m[0].ring_bytes[0]), TENON_OK);
    world_close(&world);
    world_free_rings(&world);
}

static int answering;
static tenon_u32 answered;

static void answer_when_gone(struct machine *machine, int sk, unsigned events)
{
    (void)sk;
    if (events & TENON_SOCK_GONE)
        world_send(machine, answering, &answered, answered + 500, 500);
}

/* What an application sends in its events has left when tenon_sock_poll() returns. */
UNIT_TEST(sent_in_an_event_leaves_in_the_same_poll)
{
    const struct tenon_addr at = world_addr(1, 0, 9);
    struct machine *machine;
    struct world world;
    tenon_u32 sent = 0;
    unsigned before;
    int client, server;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, 0, 2, &client, &server);
    machine = &world.m[0];
    answered = 0;
    answering = tenon_sock_create(machine->socks, NULL, &at, TENON_SOCK_UDP, 0);
    CHECK_EQ_I(tenon_sock_set_sbuf(machine->socks, answering, world_ring(machine, 1, 2000), 2000), TENON_OK);
    machine->event = answer_when_gone;
    world_send(machine, client, &sent, 2000, MTU_BYTES);
    CHECK_EQ_I(tenon_sock_delete(machine->socks, client, TENON_SOCK_ABORT), TENON_OK);
    before = machine->frames_in_ring;
    (void)tenon_sock_poll(machine->socks, (tenon_u32)wire_now(world.wire));
    CHECK_EQ_U(answered, 500);
    CHECK_EQ_U(machine->frames_in_ring, before + 1);
    world_run(&world, 100000);
    world_close(&world);
    world_free_rings(&world);
}

/* Written slowly: a packet is asked for while others are in flight, at the beginning of the ring or behind
 * them, and sent when all of those have left. Whatever the size, each is freed in its turn. */
static void stream_slow_writer(unsigned most)
{
    struct world world;
    tenon_u32 sent = 0, got = 0;
    int client, server, i, n;
    tenon_u8 *p = NULL;

    if (!CHECK(world_open(&world, NULL)))
        return;
    stream_open(&world, 0, 2, &client, &server);
    for (i = 0; i < 40; i++) {
        n = tenon_sock_ask_sbuf(world.m[0].socks, client, &p);
        if (n > (int)most)
            n = (int)most;
        world_run(&world, 100000);
        if (n > 0)
            CHECK_EQ_I(tenon_sock_send(world.m[0].socks, client, memset(p, i, (size_t)n), (unsigned)n, 0), TENON_OK);
        sent += (tenon_u32)(n > 0 ? n : 0);
        while ((n = tenon_sock_ask_rbuf(world.m[1].socks, server, &p)) > 0) {
            got += (tenon_u32)n;
            CHECK_EQ_I(tenon_sock_read_done(world.m[1].socks, server, p, (unsigned)n), TENON_OK);
        }
    }
    world_run(&world, 100000);
    n = tenon_sock_ask_rbuf(world.m[1].socks, server, &p);
    CHECK_EQ_U(got + (tenon_u32)(n > 0 ? n : 0), sent);
    CHECK(sent >= 20 * most);
    world_close(&world);
    world_free_rings(&world);
}

UNIT_TEST(asked_early_sent_late_ring_goes_on)
{
    unsigned bytes;

    for (bytes = 100; bytes <= MTU_BYTES; bytes += 97)
        stream_slow_writer(bytes);
}

/* Who of the two goes without timestamps: the server, the client, nobody. */
UNIT_TEST(no_timestamps_segments_have_12_bytes_more)
{
    static const struct {
        const char *name;
        unsigned server, client;
        int segment;
    } rows[] = { { "server", TENON_SOCK_NO_TIMESTAMPS, 0, MTU_BYTES },
                 { "client", 0, TENON_SOCK_NO_TIMESTAMPS, MTU_BYTES },
                 { "nobody", 0, 0, MTU_BYTES - 12 } };
    const struct tenon_addr at = world_addr(1, 0, PORT), any = { .port = PORT };
    const tenon_u32 bytes = 2 * (MTU_BYTES + TENON_SOCK_RECORD_BYTES);
    unsigned i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world world;
        tenon_u32 sent = 0, got = 0;
        int client, server;
        tenon_u8 *p;

        unit_row(rows[i].name);
        if (!CHECK(world_open(&world, NULL)))
            return;
        server = tenon_sock_create(world.m[1].socks, &any, NULL, TENON_SOCK_TCP, rows[i].server);
        client = tenon_sock_create(world.m[0].socks, NULL, &at, TENON_SOCK_TCP, rows[i].client);
        CHECK_EQ_I(tenon_sock_set_sbuf(world.m[0].socks, client, world_ring(&world.m[0], 0, bytes), bytes), TENON_OK);
        world_run(&world, 10000);
        CHECK_EQ_I(tenon_sock_ask_sbuf(world.m[0].socks, client, &p), rows[i].segment);
        world_send(&world.m[0], client, &sent, MTU_BYTES - 12, MTU_BYTES);
        world_run(&world, 10000);
        (void)world_receive(&world.m[1], server, &got);
        CHECK_EQ_U(got, MTU_BYTES - 12);
        world_close(&world);
        world_free_rings(&world);
    }
    unit_row(NULL);
}

int main(void)
{
    UNIT_RUN(ip4_clean_nothing_is_copied);
    UNIT_RUN(ip6_clean_nothing_is_copied);
    UNIT_RUN(ip4_loss_and_reordering_nothing_is_copied);
    UNIT_RUN(ip6_loss_and_reordering_nothing_is_copied);
    UNIT_RUN(ip4_loss_small_packets_nothing_is_copied);
    UNIT_RUN(narrow_links_stream_comes_whole);
    UNIT_RUN(in_flight_lost_sent_again_from_the_ring);
    UNIT_RUN(received_returned_in_any_order);
    UNIT_RUN(first_lost_others_leave_blocks);
    UNIT_RUN(blocks_few_segments_too_large_to_join);
    UNIT_RUN(reader_slow_ring_full_goes_on);
    UNIT_RUN(ring_of_any_size);
    UNIT_RUN(deleted_in_flight_ring_comes_back_later);
    UNIT_RUN(deleted_with_reset_ring_comes_back_with_event);
    UNIT_RUN(sent_in_an_event_leaves_in_the_same_poll);
    UNIT_RUN(asked_early_sent_late_ring_goes_on);
    UNIT_RUN(no_timestamps_segments_have_12_bytes_more);
    return unit_end();
}
