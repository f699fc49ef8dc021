/* SPDX-License-Identifier: MIT */
/* Buffers of a burst, when whoever receives keeps all that he gets: what is left for sending, and to hear with. */
#include "../../../tests/unit/unit.h"
#include "../rxslots.h"

enum { MANY = 2048, FRAME = 60 };

struct world {
    struct rxslots slots;
    struct port port;
    struct tenon_buf *kept[MANY];
    unsigned nkept, heard;
    int keeps;
};

static struct world world;

/* As an instance does that has been told by tenon_keep() what it may, with a connection for each frame. */
static void hear(void *arg, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct world *w = arg;

    (void)now_us;
    w->heard += n;
    for (unsigned i = 0; i < n && w->keeps && w->port.keeps != TENON_KEEP_NOTHING; i++) {
        tenon_buf_ref(frames[i].spans[0].buf);
        w->kept[w->nkept++] = frames[i].spans[0].buf;
    }
}

static void begin(unsigned mtu)
{
    memset(&world, 0, sizeof world);
    port_rxslots_init(&world.slots, mtu, 1 << 20);
    world.port.input = hear;
    world.port.input_arg = &world;
}

static void let_go(void)
{
    while (world.nkept > 0)
        tenon_buf_put(world.kept[--world.nkept]);
}

/* A burst out of a queue in which so many wait, as ports do it. @return how many it took */
static unsigned burst(unsigned waiting)
{
    const tenon_u8 header[VNET_BYTES] = { 0 };
    struct iovec iov[2];
    unsigned n;

    for (n = 0; n < waiting && n < PORT_BURST && port_rxslots_has(&world.slots, n); n++) {
        CHECK(port_rxslots_iov(&world.slots, n, 0, iov) >= 1);
        CHECK_EQ_I(port_rxslots_finish(&world.slots, n, FRAME, header, &world.port.stats), 0);
    }
    port_rxslots_input(&world.slots, &world.port, n, NULL, 0, 0);
    return n;
}

static void keep_all_there_is(void)
{
    world.keeps = 1;
    do
        CHECK(burst(PORT_BURST) > 0);
    while (world.port.keeps != TENON_KEEP_NOTHING && world.nkept < MANY - PORT_BURST);
    CHECK(world.port.keeps == TENON_KEEP_NOTHING);
}

UNIT_TEST(who_keeps_all_is_still_heard)
{
    unsigned before;

    begin(1500);
    keep_all_there_is();
    CHECK(world.nkept > 300);
    for (unsigned i = 0; i < 100; i++) {
        before = world.heard;
        CHECK(burst(1) == 1);
        CHECK_EQ_U(world.heard, before + 1);
        CHECK(world.port.keeps == TENON_KEEP_NOTHING);
    }
    CHECK_EQ_U(world.port.stats.rx_no_buffer, 0);
    let_go();
    CHECK_EQ_U(burst(PORT_BURST), PORT_BURST);
    CHECK(world.port.keeps != TENON_KEEP_NOTHING);
    CHECK_EQ_U(world.nkept, PORT_BURST);
    let_go();
    port_rxslots_fini(&world.slots);
}

/* What there is no buffer for waits where it is, and nothing is lost. */
UNIT_TEST(a_burst_is_as_long_as_there_are_buffers)
{
    begin(1500);
    keep_all_there_is();
    while (burst(PORT_BURST) > 1)
        CHECK(world.port.keeps == TENON_KEEP_NOTHING);
    CHECK_EQ_U(burst(PORT_BURST), 1);
    CHECK_EQ_U(world.port.stats.rx_no_buffer, 0);
    let_go();
    CHECK_EQ_U(burst(PORT_BURST), PORT_BURST);
    let_go();
    port_rxslots_fini(&world.slots);
}

UNIT_TEST(who_keeps_all_leaves_some_to_send)
{
    static struct tenon_buf *bufs[MANY];
    unsigned n;

    begin(1500);
    keep_all_there_is();
    n = port_bufpool_get_many(&world.slots.small, bufs, MANY);
    CHECK_EQ_U(n, PORT_BURST);
    CHECK_EQ_U(burst(1), 1); /* and the other way round */
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    let_go();
    port_rxslots_fini(&world.slots);
}

/* Before the last one a quarter: there the instance keeps what comes to connections that hold nothing. */
UNIT_TEST(few_are_left_for_who_holds_nothing)
{
    unsigned most;

    begin(1500);
    most = world.slots.small.bufs_max;
    world.keeps = 1;
    do
        CHECK_EQ_U(burst(PORT_BURST), PORT_BURST);
    while (world.port.keeps == TENON_KEEP_ALL && world.nkept < MANY - PORT_BURST);
    CHECK(world.port.keeps == TENON_KEEP_FIRST);
    CHECK(world.nkept > most / 2 && world.nkept < most - most / 8);
    let_go();
    CHECK_EQ_U(burst(1), 1);
    CHECK(world.port.keeps == TENON_KEEP_ALL);
    let_go();
    port_rxslots_fini(&world.slots);
}

/* Those who send have all that they may, and those who receive the rest. */
UNIT_TEST(who_sends_all_leaves_some_to_receive)
{
    static struct tenon_buf *bufs[MANY];
    unsigned n;

    begin(1500);
    world.keeps = 1;
    CHECK_EQ_U(burst(PORT_BURST), PORT_BURST);
    n = port_bufpool_get_many(&world.slots.small, bufs, MANY);
    CHECK(n > 300);
    CHECK_EQ_U(burst(PORT_BURST), PORT_BURST);
    CHECK(world.port.keeps == TENON_KEEP_FIRST);
    keep_all_there_is();
    CHECK_EQ_U(world.nkept + n + PORT_BURST + 1, world.slots.small.bufs_max); /* one hears */
    while (burst(PORT_BURST) > 1)
        CHECK(world.port.keeps == TENON_KEEP_NOTHING);
    CHECK_EQ_U(burst(PORT_BURST), 1);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    let_go();
    port_rxslots_fini(&world.slots);
}

/* Buffers that long bursts have left serve short ones, and nothing of them is idle while frames are lost. */
UNIT_TEST(a_long_burst_leaves_buffers_to_short_ones)
{
    static struct tenon_buf *bufs[MANY];
    unsigned n;

    begin(1500);
    CHECK_EQ_U(burst(PORT_BURST), PORT_BURST); /* nobody keeps them */
    for (n = 0; n < MANY && port_bufpool_left(&world.slots.small) > PORT_BURST; n++)
        bufs[n] = port_bufpool_get(&world.slots.small);
    world.keeps = 1;
    for (unsigned i = 0; i < PORT_BURST; i++) {
        CHECK_EQ_U(burst(1), 1);
        CHECK(world.port.keeps == TENON_KEEP_FIRST);
    }
    CHECK_EQ_U(world.nkept, PORT_BURST);
    CHECK_EQ_U(burst(1), 1);
    CHECK(world.port.keeps == TENON_KEEP_NOTHING);
    CHECK_EQ_U(world.nkept, PORT_BURST);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    let_go();
    port_rxslots_fini(&world.slots);
}

/* Where buffers are so large that there are few: a quarter of them to send. */
UNIT_TEST(few_buffers_are_shared)
{
    static struct tenon_buf *bufs[MANY];
    unsigned n, most;

    begin(65535);
    most = world.slots.small.bufs_max;
    CHECK(most >= 8 && most < PORT_BURST);
    keep_all_there_is();
    n = port_bufpool_get_many(&world.slots.small, bufs, MANY);
    CHECK_EQ_U(n, most / 4);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    let_go();
    CHECK(burst(PORT_BURST) >= most / 2);
    CHECK(world.port.keeps != TENON_KEEP_NOTHING);
    let_go();
    port_rxslots_fini(&world.slots);
}

int main(void)
{
    UNIT_RUN(who_keeps_all_is_still_heard);
    UNIT_RUN(a_burst_is_as_long_as_there_are_buffers);
    UNIT_RUN(who_keeps_all_leaves_some_to_send);
    UNIT_RUN(few_are_left_for_who_holds_nothing);
    UNIT_RUN(who_sends_all_leaves_some_to_receive);
    UNIT_RUN(a_long_burst_leaves_buffers_to_short_ones);
    UNIT_RUN(few_buffers_are_shared);
    return unit_end();
}
