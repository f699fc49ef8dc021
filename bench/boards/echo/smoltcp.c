/* SPDX-License-Identifier: MIT */
/* Between smoltcp, in smoltcp/echo.rs, and the board's driver: one block, as what is received is copied out of it. */
#include "echo.h"

void smoltcp_start(const tenon_u8 *mac, unsigned long long seed);
tenon_u32 smoltcp_turn(void);

static struct tenon_sock_device device;
static tenon_u8 bytes[ECHO_BLOCK_BYTES] __attribute__((aligned(4)));
static struct tenon_buf block;
static size_t from, received;

static void keep(struct tenon_buf *buf)
{
    (void)buf;
}

struct tenon_buf *tenon_sock_block_for(struct tenon_socks *socks, unsigned n)
{
    (void)socks, (void)n;
    if (received > 0)
        return NULL;
    block.data = bytes;
    block.size = sizeof(bytes);
    block.refs = 1;
    block.release = keep;
    return &block;
}

void tenon_sock_input(struct tenon_socks *socks, struct tenon_buf *buf, unsigned off, unsigned n, enum tenon_csum csum)
{
    (void)socks, (void)buf, (void)csum;
    from = off;
    received = n;
}

/* Called by Rust. The frame that comes next, until glue_release(). @return NULL: there is none */
const tenon_u8 *glue_receive(size_t *n);
const tenon_u8 *glue_receive(size_t *n)
{
    if (received == 0)
        device.poll(NULL, NULL);
    *n = received;
    return received > 0 ? bytes + from : NULL;
}

void glue_release(void);
void glue_release(void)
{
    received = 0;
}

/* The device has all of the frame when this returns; or it was full, and the frame is lost. */
void glue_send(const tenon_u8 *frame_bytes, size_t n);
void glue_send(const tenon_u8 *frame_bytes, size_t n)
{
    struct tenon_buf buf = { (tenon_u8 *)(size_t)frame_bytes, (tenon_u32)n, 1, keep };
    struct tenon_span span = { &buf, 0, (tenon_u32)n };
    struct tenon_frame frame;

    __builtin_memset(&frame, 0, sizeof(frame));
    frame.spans = &span;
    frame.nspans = 1;
    (void)device.transmit(NULL, &frame, 1);
}

unsigned long long glue_now_us(void);
unsigned long long glue_now_us(void)
{
    static unsigned long long now_us;

    now_us += (tenon_u32)(board_now_us() - (tenon_u32)now_us);
    return now_us;
}

int echo_start(void)
{
    unsigned long long seed = 0;

    (void)board_entropy(&seed, sizeof(seed));
    board_ethernet(&device);
    smoltcp_start(device.netif.mac, seed);
    return 1;
}

tenon_u32 echo_turn(void)
{
    return smoltcp_turn();
}

void echo_facts(void)
{
    say_value("spare", 0);
    say_value("receiving", ECHO_BLOCK_BYTES + ECHO_CLIENTS * ECHO_WINDOW + 1472);
    say_value("sending", 1514 + ECHO_CLIENTS * ECHO_WINDOW + 1472);
}
