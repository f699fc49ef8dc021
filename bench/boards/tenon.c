/* SPDX-License-Identifier: MIT */
/* The subject: the calls for small machines. */
#include "measure.h"
#include "ports/boards/common/text.h"

enum { ARENA_BYTES = BOARD_BLOCKS * (BOARD_BLOCK_BYTES + 128) + 12000,
       RING_BYTES = 3400,
       NOTES = 8,
       SPANS = 4 };

static tenon_u8 arena[ARENA_BYTES], ring[RING_BYTES];
static struct tenon_socks *socks;
static struct tenon_sock_device own;
static enum device kind;
static int sk;
static size_t memory_idle, memory_open;

/* ---- the device ------------------------------------------------------------------------------------- */

/* What a device with DMA is given: where the pieces are. Their buffers stay until it has sent. */
static struct {
    struct {
        struct tenon_span spans[SPANS];
        unsigned n;
        int checksum;
    } frames[NOTES];
    unsigned used;
} dma;

static void put_on_cable(const struct tenon_span *spans, unsigned n, int checksum)
{
    struct piece pieces[SPANS];
    unsigned i;

    for (i = 0; i < n; i++) {
        pieces[i].data = tenon_span_data(&spans[i]);
        pieces[i].n = spans[i].len;
    }
    cable_to_peer(pieces, n, checksum);
}

static unsigned memory_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i, j;

    (void)device;
    for (i = 0; i < n && dma.used < NOTES; i++, dma.used++) {
        dma.frames[dma.used].n = frames[i].nspans;
        dma.frames[dma.used].checksum = frames[i].csum == TENON_CSUM_PARTIAL;
        for (j = 0; j < frames[i].nspans; j++) {
            dma.frames[dma.used].spans[j] = frames[i].spans[j];
            tenon_buf_ref(frames[i].spans[j].buf);
        }
    }
    return i;
}

/* The board's own: its driver has what it needs when this returns, or refers to it itself. */
static unsigned own_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    const unsigned taken = own.transmit(device, frames, n);
    unsigned i;

    count_hold();
    for (i = 0; i < taken; i++)
        put_on_cable(frames[i].spans, frames[i].nspans, 0);
    count_resume();
    return taken;
}

static void carry(void)
{
    unsigned i;

    for (i = 0; i < dma.used; i++)
        put_on_cable(dma.frames[i].spans, dma.frames[i].n, dma.frames[i].checksum);
}

static void sent(void)
{
    unsigned i, j;

    for (i = 0; i < dma.used; i++)
        for (j = 0; j < dma.frames[i].n; j++)
            tenon_buf_put(dma.frames[i].spans[j].buf);
    dma.used = 0;
}

/* The same in each run, so that the counts are. */
static int entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    __builtin_memset(bytes, 0xC3, n);
    return 0;
}

static int through_driver(void)
{
    return kind == DEVICE_OWN || kind == DEVICE_DRIVER;
}

static void make_device(struct tenon_sock_device *device)
{
    static const tenon_u8 mac[6] = {2, 0, 0, 0, 0, 1};

    __builtin_memset(device, 0, sizeof(*device));
    if (through_driver()) {
        board_ethernet(&own);
        *device = own;
        device->transmit = kind == DEVICE_OWN ? own_transmit : memory_transmit;
    } else {
        device->netif.mtu = 1500;
        device->netif.caps = kind == DEVICE_CHECKSUMS || kind == DEVICE_SUMMED ? 0 : TENON_CAP_TX_CSUM;
        device->flags = kind == DEVICE_CONTIGUOUS ? TENON_SOCK_CONTIGUOUS : 0;
        device->transmit = memory_transmit;
    }
    device->entropy = entropy;
    device->netif.flags = TENON_NETIF_NO_DAD;
    __builtin_memcpy(device->netif.mac, mac, 6);
}

/* ---- the end point ---------------------------------------------------------------------------------- */

static size_t memory_used(void)
{
    struct tenon_sock_counts counts;

    tenon_sock_count(socks, &counts);
    return counts.memory_used;
}

static int start(enum device device, unsigned way)
{
    const struct tenon_ip us = tenon_ip4_bytes(10, 0, 0, 1);
    struct tenon_sock_conf conf;
    struct tenon_addr at;

    (void)way;
    kind = device;
    __builtin_memset(&conf, 0, sizeof(conf));
    conf.socks = conf.conns = 1;
    conf.blocks = BOARD_BLOCKS;
    conf.block_bytes = BOARD_BLOCK_BYTES;
    conf.headers = 4;
    conf.packets = 2;
    conf.stack.paths_max = 2;
    conf.stack.neighbours_max = conf.stack.routes_max = conf.stack.addrs_max = 2;
    conf.stack.groups_max = conf.stack.tx_burst_max = 4;
    conf.stack.tcp_time_wait_max = 1;
    conf.stack.checksum = kind == DEVICE_SUMMED || through_driver() ? board_sum : NULL;    /* as apps/ have it */
    make_device(&conf.device);
    if (tenon_sock_start(&socks, arena, sizeof(arena), &conf) != TENON_OK)
        return 0;
    if (tenon_addr_add(tenon_sock_stack(socks), 1, &us, 24) != TENON_OK)
        return 0;
    __builtin_memset(&at, 0, sizeof(at));
    at.port = 7;
    sk = tenon_sock_create(socks, &at, NULL, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);
    memory_idle = memory_used();
    return sk > 0 && tenon_sock_set_sbuf(socks, sk, ring, sizeof(ring)) == TENON_OK;
}

static void stop(void)
{
    memory_open = memory_used();
    carry();
    sent();
    if (through_driver())
        board_ethernet_stop();
    tenon_sock_stop(socks);
    carry();
    sent();
}

static int is_open(void)
{
    struct tenon_sock_info info;

    return tenon_sock_status(socks, sk, &info) == TENON_OK && info.state == TENON_SOCK_OPEN;
}

static void turn(void)
{
    (void)tenon_sock_poll(socks, now_us);
}

/* ---- what is counted ---------------------------------------------------------------------------------- */

static int room(tenon_u8 **p)
{
    return tenon_sock_ask_sbuf(socks, sk, p);
}

static int send(tenon_u8 *p, unsigned n)
{
    const int error = tenon_sock_send(socks, sk, p, n, 0);

    (void)tenon_sock_poll(socks, now_us);
    return error == TENON_OK;
}

static void keep(struct tenon_buf *buf)
{
    (void)buf;
}

/* A frame of the peer leaves by the board's device. @return when it has come back, and waits there */
static void *place_in_device(const tenon_u8 *bytes, unsigned n)
{
    static struct tenon_buf buf;
    const tenon_u32 before = board_counts.interrupts;
    struct tenon_frame frame;
    struct tenon_span span;

    buf.data = (tenon_u8 *)(size_t)bytes;
    buf.size = n;
    buf.refs = 1;
    buf.release = keep;
    span.buf = &buf;
    span.off = 0;
    span.len = n;
    __builtin_memset(&frame, 0, sizeof(frame));
    frame.spans = &span;
    frame.nspans = 1;
    if (own.transmit(NULL, &frame, 1) != 1)
        return NULL;
    while (*(const volatile tenon_u32 *)&board_counts.interrupts == before)
        ;
    return &buf;
}

static void *place(const tenon_u8 *frame, unsigned n)
{
    struct tenon_buf *block;

    if (kind == DEVICE_DRIVER)
        return place_in_device(frame, n);
    block = tenon_sock_block(socks);
    if (block != NULL)
        __builtin_memcpy(block->data + 2, frame, n);
    return block;
}

static void arrive(void *where, unsigned n)
{
    const int offload = kind == DEVICE_OFFLOAD || kind == DEVICE_CONTIGUOUS;

    if (kind != DEVICE_DRIVER)
        tenon_sock_input(socks, where, 2, n, offload ? TENON_CSUM_GOOD : TENON_CSUM_NONE);
    (void)tenon_sock_poll(socks, now_us);
}

static int read(tenon_u8 **p)
{
    return tenon_sock_ask_rbuf(socks, sk, p);
}

static void read_done(tenon_u8 *p, unsigned n)
{
    (void)tenon_sock_read_done(socks, sk, p, n);
}

static void facts(void)
{
    say("fact memory_idle=");
    say_number((tenon_u32)memory_idle);
    say("\nfact memory_open=");
    say_number((tenon_u32)memory_open);
    say("\n");
}

static const char *const ways[] = { "ring" };
/* measure-driver is this program with another cable in QEMU. */
static const char *const devices[DEVICES] = {MEASURE_DRIVER ? NULL : "offload",
                                             MEASURE_DRIVER || !TENON_WITH_LINEAR ? NULL : "contiguous",
                                             MEASURE_DRIVER ? NULL : "checksums", MEASURE_DRIVER ? NULL : "summed",
                                             MEASURE_DRIVER ? NULL : "own",
                                             MEASURE_DRIVER ? "driver" : NULL};
const struct subject subject = {"tenon", 1,    ways,  devices, start, stop, is_open, turn,      carry,
                                room,    send, sent,  place,   arrive, read, read_done, facts};
