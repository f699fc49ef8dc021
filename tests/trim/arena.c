/* SPDX-License-Identifier: MIT */
/* What one connection takes of a small machine in all, of the calls of embedded/: a server in an arena with
 * the least of everything of which there is a choice, and a ring of two full segments. It receives 100,000
 * bytes and sends as many at the same time, over a wire that loses and overtakes, first with the memory that
 * is reckoned from the limits, then with what it has used of it then: that has to be enough. tools/footprint
 * builds it with 32-bit pointers.
 *
 *     arena    MTU, MRU, the arena's bytes as reckoned, its bytes with the memory that is used, the ring's; a
 *     line for each pair */
#include "embedded/sock_internal.h"
#include "embedded/world.h"

enum { PORT = 80, BYTES = 100000, TURNS = 4000 };

static unsigned mtu, mru;
static size_t memory;

/* The least that tenon_sock_conf_check() takes, and a machine that has everything. */
static void adjust(struct machine *machine, unsigned i)
{
    struct tenon_sock_conf *conf = &machine->conf;
    struct tenon_conf *stack = &conf->stack;

    conf->device.netif.mtu = (tenon_u16)mtu;
    if (i == 1)
        return;
    conf->device.netif.mru = (tenon_u16)mru;
    conf->socks = conf->conns = 1;
    conf->device.flags = TENON_SOCK_LENGTHS;
    conf->blocks = 1;
    conf->headers = 4;
    conf->packets = 2;
    conf->memory = memory;
    stack->tx_burst_max = 2;
    stack->paths_max = stack->neighbours_max = stack->routes_max = stack->addrs_max = 2;
    stack->groups_max = 4;
    stack->tcp_time_wait_max = 1;
}

static tenon_u32 ring_bytes(void)
{
    return 2 * (mtu - 40U + (tenon_u32)TENON_SOCK_RECORD_BYTES);
}

/* @return whether all has arrived; `most` is what was used of conf.memory */
static int exchange(struct world *world, size_t *most)
{
    const struct tenon_addr at = world_addr(0, 0, PORT), any = { .port = PORT };
    struct machine *small = &world->m[0], *large = &world->m[1];
    tenon_u32 sent[2] = { 0, 0 }, got[2] = { 0, 0 };
    int sk[2];
    unsigned i;

    sk[0] = tenon_sock_create(small->socks, &any, NULL, TENON_SOCK_TCP, 0);
    sk[1] = tenon_sock_create(large->socks, NULL, &at, TENON_SOCK_TCP, 0);
    for (i = 0; i < 2; i++)
        CHECK_EQ_I(tenon_sock_set_sbuf(world->m[i].socks, sk[i], world_ring(&world->m[i], 0, ring_bytes()),
                                       ring_bytes()),
                   TENON_OK);
    world_faults(small, 10000, 20000);
    world_faults(large, 10000, 20000);
    for (i = 0; i < TURNS && (got[0] < BYTES || got[1] < BYTES); i++) {
        world_send(small, sk[0], &sent[0], BYTES, 9000);
        world_send(large, sk[1], &sent[1], BYTES, 9000);
        world_run(world, 20000);
        (void)world_receive(small, sk[0], &got[0]);
        (void)world_receive(large, sk[1], &got[1]);
    }
    CHECK_EQ_U(got[0], BYTES);
    CHECK_EQ_U(got[1], BYTES);
    *most = world_count(small).memory_top;
    return got[0] == BYTES && got[1] == BYTES;
}

/* @return bytes of the arena; 0: it was not enough */
static size_t measure(size_t *most)
{
    struct world world;
    size_t bytes = 0;

    if (CHECK(world_open(&world, adjust))) {
        bytes = exchange(&world, most) ? world.m[0].arena_bytes : 0;
        world_close(&world);
    }
    world_free_rings(&world);
    return unit.failed_checks == 0 ? bytes : 0;
}

int main(void)
{
    static const unsigned rows[][2] = { { 1500, 1500 }, { 1500, 576 }, { 576, 576 } };
    unsigned i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t reckoned, used;

        mtu = rows[i][0];
        mru = rows[i][1];
        memory = 0;
        reckoned = measure(&memory);
        used = measure(&memory);
        if (reckoned == 0 || used == 0)
            return 1;
        printf("%u %u %lu %lu %lu\n", mtu, mru, (unsigned long)reckoned, (unsigned long)used,
               (unsigned long)ring_bytes());
    }
    return 0;
}
