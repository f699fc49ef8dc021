/* SPDX-License-Identifier: MIT */
/* Few blocks for many connections: windows promise what there is, so that nobody is kept from being heard. */
#include "embedded/world.h"

#include "embedded/sock_internal.h"

enum { PORT = 80,
       FULL = 1448,
       CLIENTS = 4,
       ALL = 14 * FULL,
       TURNS = 3000,
       RING = 2 * (FULL + TENON_SOCK_PACKET_BYTES) };

/* Clients on machine 1, and what serves them on machine 0. */
struct party {
    struct world world;
    int server[CLIENTS], client[CLIENTS];
    tenon_u32 sent[CLIENTS], got[CLIENTS];
    tenon_u8 *lies[CLIENTS];    /* what the echo has read and not sent */
    int left[CLIENTS];
};

static void meet(struct party *party, unsigned i)
{
    const struct tenon_addr at = world_addr(0, 0, PORT);
    struct machine *machine = party->world.m;

    party->client[i] = tenon_sock_create(machine[1].socks, NULL, &at, TENON_SOCK_TCP, 0);
    world_run(&party->world, 20000);
    CHECK_EQ_I(tenon_sock_set_sbuf(machine[0].socks, party->server[i], world_ring(&machine[0], i, RING), RING),
               TENON_OK);
    CHECK_EQ_I(tenon_sock_set_sbuf(machine[1].socks, party->client[i], world_ring(&machine[1], i, RING), RING),
               TENON_OK);
}

static int party_open(struct party *party, void (*adjust)(struct machine *machine, unsigned i))
{
    const struct tenon_addr any = { .port = PORT };
    unsigned i;

    memset(party, 0, sizeof(*party));
    if (!CHECK(world_open(&party->world, adjust)))
        return 0;
    for (i = 0; i < CLIENTS; i++)
        party->server[i] = tenon_sock_create(party->world.m[0].socks, &any, NULL, TENON_SOCK_TCP, 0);
    return 1;
}

static void party_close(struct party *party)
{
    world_close(&party->world);
    world_free_rings(&party->world);
}

/* 1: all who read have got all. */
static int is_done(const struct party *party, unsigned deaf, unsigned clients)
{
    unsigned i;

    for (i = deaf; i < clients && party->got[i] == ALL; i++)
        ;
    return i == clients && deaf < clients;
}

/* All send to the echo, `most` bytes a segment; the first `deaf` of them read nothing. */
static void talk(struct party *party, unsigned deaf, unsigned clients, unsigned most, unsigned turns)
{
    struct machine *machine = party->world.m;
    unsigned turn, i;

    for (turn = 0; turn < turns && !is_done(party, deaf, clients); turn++) {
        for (i = 0; i < clients; i++) {
            world_send(&machine[1], party->client[i], &party->sent[i], ALL, most);
            world_echo(&machine[0], party->server[i], &party->lies[i], &party->left[i]);
            if (i >= deaf)
                (void)world_receive(&machine[1], party->client[i], &party->got[i]);
        }
        world_run(&party->world, 2000);
    }
}

/* Three send and read nothing, until nothing moves any more; then a fourth is served. */
static void three_are_deaf(void (*adjust)(struct machine *machine, unsigned i), unsigned most)
{
    struct party party;
    unsigned i;

    if (!party_open(&party, adjust))
        return;
    for (i = 0; i < CLIENTS - 1; i++)
        meet(&party, i);
    talk(&party, CLIENTS - 1, CLIENTS - 1, most, TURNS);
    for (i = 0; i < CLIENTS - 1; i++)
        CHECK(party.sent[i] < ALL);
    meet(&party, CLIENTS - 1);
    talk(&party, CLIENTS - 1, CLIENTS, most, TURNS);
    CHECK_EQ_U(party.got[CLIENTS - 1], ALL);
    talk(&party, 0, CLIENTS, most, TURNS);
    party_close(&party);
}

static void four_blocks(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 5;    /* one is to hear with */
}

UNIT_TEST(deaf_clients_keep_nobody_out)
{
    three_are_deaf(four_blocks, FULL);
}

UNIT_TEST(deaf_clients_with_small_segments_keep_nobody_out)
{
    three_are_deaf(four_blocks, 146);
}

static void four_blocks_of_known_lengths(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 4;
    machine->conf.headers = i == 1 ? 0 : 17;
    machine->conf.device.flags = i == 1 ? 0 : TENON_SOCK_LENGTHS;
}

UNIT_TEST(deaf_clients_keep_nobody_out_where_lengths_are_known)
{
    three_are_deaf(four_blocks_of_known_lengths, FULL);
}

static void four_blocks_contiguous(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 6;    /* and one to send from */
    machine->conf.device.flags = TENON_WITH_LINEAR ? TENON_SOCK_CONTIGUOUS : 0;
}

UNIT_TEST(deaf_clients_keep_nobody_out_where_frames_are_of_one_piece)
{
    three_are_deaf(four_blocks_contiguous, FULL);
}

/* What its peer may send. */
static tenon_u32 window_of(const struct party *party, unsigned i)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(tn_sock_find(party->world.m[1].socks, party->client[i])->conn, &info);
    return info.snd_wnd;
}

static void five_blocks(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 6;
}

/* A party of four, each of whom has got all. */
static int party_of_four(struct party *party)
{
    unsigned i;

    if (!party_open(party, five_blocks))
        return 0;
    for (i = 0; i < CLIENTS; i++) {
        meet(party, i);
        CHECK_EQ_U(window_of(party, i), 2 * FULL);
    }
    talk(party, 0, CLIENTS, FULL, TURNS);
    return 1;
}

/* The first two go on, and have all of their windows then. */
static void two_go_on(struct party *party)
{
    unsigned i;

    for (i = 0; i < 2; i++)
        party->sent[i] = party->got[i] = 0;
    talk(party, 0, 2, FULL, TURNS);
    for (i = 0; i < 2; i++)
        CHECK_EQ_U(window_of(party, i), 2 * FULL);
    party_close(party);
}

/* One block is nobody's, so one of four may have two. When a client has gone, and nobody else can come in his
 * place, his is there for another. */
UNIT_TEST(window_takes_what_nobody_is_promised)
{
    struct party party;
    tenon_u32 said = 100;
    unsigned i, large = 0;

    if (!party_of_four(&party))
        return;
    for (i = 0; i < CLIENTS; i++) {
        CHECK_EQ_U(party.got[i], ALL);
        large += window_of(&party, i) == 2 * FULL;
        CHECK(window_of(&party, i) == FULL || window_of(&party, i) == 2 * FULL);
    }
    CHECK_EQ_U(large, 1);
    for (i = 2; i < CLIENTS; i++) {
        const struct sock *sock = tn_sock_find(party.world.m[0].socks, party.server[i]);

        world_send(&party.world.m[0], party.server[i], &said, 100 * i, 100);
        CHECK_EQ_I(tenon_sock_delete(party.world.m[0].socks, party.server[i], 0), TENON_OK);
        CHECK_EQ_U(sock->ring.packets, 1);    /* it stays until that is acknowledged */
        CHECK_EQ_U(sock->promised, 0);
    }
    two_go_on(&party);
}

/* So it is with what a client had who is reset, before the program deletes his end point. */
UNIT_TEST(window_takes_what_the_dead_were_promised)
{
    struct party party;
    unsigned i;

    if (!party_of_four(&party))
        return;
    for (i = 2; i < CLIENTS; i++)
        CHECK_EQ_I(tenon_sock_delete(party.world.m[1].socks, party.client[i], TENON_SOCK_ABORT), TENON_OK);
    two_go_on(&party);
}

static void short_packets(struct machine *machine, unsigned i)
{
    machine->conf.blocks = i == 1 ? 64 : 5;
    machine->conf.device.netif.mru = i == 1 ? 0 : 1280;
    machine->conf.window = i == 1 ? 0 : 3000;
}

/* A block that is shorter than a packet of ours holds less than what a window opens by: nothing is withheld. */
UNIT_TEST(short_packets_have_their_windows)
{
    struct party party;
    unsigned i;

    if (!party_open(&party, short_packets))
        return;
    for (i = 0; i < CLIENTS; i++)
        meet(&party, i);
    talk(&party, 0, CLIENTS, FULL, TURNS);
    for (i = 0; i < CLIENTS; i++) {
        CHECK_EQ_U(party.got[i], ALL);
        CHECK_EQ_U(tn_sock_find(party.world.m[0].socks, party.server[i])->withheld, 0);
    }
    party_close(&party);
}

/* Requests of less than a segment: the window never is too small for the next for longer than its answer takes. */
UNIT_TEST(small_requests_do_not_wait)
{
    struct party party;
    unsigned i, turn;

    if (!party_open(&party, four_blocks))
        return;
    for (i = 0; i < CLIENTS; i++)
        meet(&party, i);
    talk(&party, 0, CLIENTS, FULL, TURNS);
    for (turn = 0; turn < 20; turn++) {
        const tenon_u32 end = party.got[0] + 1000;

        world_send(&party.world.m[1], party.client[0], &party.sent[0], end, FULL);
        world_run(&party.world, 2000);
        world_echo(&party.world.m[0], party.server[0], &party.lies[0], &party.left[0]);
        world_run(&party.world, 2000);
        (void)world_receive(&party.world.m[1], party.client[0], &party.got[0]);
        CHECK_EQ_U(party.got[0], end);
    }
    party_close(&party);
}

static void large_window(struct machine *machine, unsigned i)
{
    machine->conf.window = i == 1 ? 0 : 65535;
}

/* It is deleted with text that has been read and by which the window has not opened: that is no reason for a reset. */
UNIT_TEST(deleted_with_a_window_that_is_not_open)
{
    struct party party;
    unsigned i;

    if (!party_open(&party, large_window))
        return;
    for (i = 0; i < CLIENTS; i++)
        meet(&party, i);
    talk(&party, 0, CLIENTS, FULL, TURNS);
    for (i = 0; i < CLIENTS; i++) {
        CHECK(tn_sock_find(party.world.m[0].socks, party.server[i])->withheld > 0);
        CHECK_EQ_I(tenon_sock_delete(party.world.m[0].socks, party.server[i], 0), TENON_OK);
    }
    world_run(&party.world, 100000);
    for (i = 0; i < CLIENTS; i++)
        CHECK_EQ_I(world_receive(&party.world.m[1], party.client[i], &party.got[i]), TENON_ECLOSED);
    party_close(&party);
}

int main(void)
{
    UNIT_RUN(deaf_clients_keep_nobody_out);
    UNIT_RUN(deaf_clients_with_small_segments_keep_nobody_out);
    UNIT_RUN(deaf_clients_keep_nobody_out_where_lengths_are_known);
    UNIT_RUN(deaf_clients_keep_nobody_out_where_frames_are_of_one_piece);
    UNIT_RUN(window_takes_what_nobody_is_promised);
    UNIT_RUN(window_takes_what_the_dead_were_promised);
    UNIT_RUN(short_packets_have_their_windows);
    UNIT_RUN(small_requests_do_not_wait);
    UNIT_RUN(deleted_with_a_window_that_is_not_open);
    return unit_end();
}
