/* SPDX-License-Identifier: MIT */
/* The Ethernet controller of the Stellaris LM3S6965: one FIFO each way, which the processor moves: no DMA, so
 * each frame is copied once, by this file. A received frame follows its length, two bytes; so its IP header
 * lies on a word. */
#include "../common/cortex_m.h"
#include "../common/fifo.h"

enum {
    ENET_IACK = 0x40048000,
    ENET_IM = 0x40048004,
    ENET_RCTL = 0x40048008,
    ENET_TCTL = 0x4004800C,
    ENET_DATA = 0x40048010,
    ENET_IA0 = 0x40048014,
    ENET_IA1 = 0x40048018,
    ENET_MCTL = 0x40048020,
    ENET_MRXD = 0x40048030,
    ENET_NP = 0x40048034,
    ENET_TR = 0x40048038,
    SYSCTL_RCGC2 = 0x400FE108,
    USER_REG0 = 0x400FE1E0,
    USER_REG1 = 0x400FE1E4
};
enum { INT_RX = 1, INT_TXER = 2, INT_TXEMP = 4, INT_FOV = 8, INT_RXER = 16, INT_ALL = 0x7F };
enum { RCTL_RXEN = 1, RCTL_AMUL = 2, RCTL_BADCRC = 8, RCTL_RSTFIFO = 16 };
enum { TCTL_TXEN = 1, TCTL_PADEN = 2, TCTL_CRC = 4, TCTL_DUPLEX = 16 };
enum { MCTL_START = 1, MCTL_REGISTER_AT = 3 };
enum { IRQ_ETHERNET = 42 };
enum { LENGTH_BYTES = 2, FCS_BYTES = 4, ETH_BYTES = 14, FRAME_MAX = 1522 };
enum { RCGC2_ENET = 1 << 28 | 1 << 30 };

static struct {
    tenon_u8 tries;      /* so often no block was free for the frame that waits in the FIFO ... */
    tenon_u8 more;       /* frames wait because others have to be worked on first */
    tenon_u8 full;       /* a frame waits for the transmitter */
    tenon_u32 first;     /* ... whose first word this is */
} nic;

/* ---- interrupt ------------------------------------------------------------------------------------ */

void board_ethernet_interrupt(void)
{
    reg_write(ENET_IM, 0);
    board_counts.interrupts++;
    board_wake();
}

/* ---- receive -------------------------------------------------------------------------------------- */

static void restart_receiver(void)
{
    reg_write(ENET_RCTL, 0);
    reg_write(ENET_RCTL, RCTL_RSTFIFO);
    reg_write(ENET_RCTL, RCTL_RXEN | RCTL_AMUL | RCTL_BADCRC);
}

static int frames_wait(void)
{
    return (reg_read(ENET_NP) & 0x3F) > 0;
}

static void drop_rest(unsigned words)
{
    fifo_skip(ENET_DATA, words > 0 ? words - 1 : 0);
    board_counts.rx_dropped++;
}

/* The next frame of the FIFO, into a block. While there is none it stays where it is, but not for long: what is behind
 * it may be the acknowledgement for which those wait who have the blocks. @return 0: it waits */
static int receive_one(struct tenon_socks *socks)
{
    const tenon_u32 first = nic.tries > 0 ? nic.first : reg_read(ENET_DATA);
    const unsigned bytes = first & 0xFFFF, words = (bytes + 3) / 4;
    const unsigned around = LENGTH_BYTES + FCS_BYTES;
    const int is_good = bytes >= around + ETH_BYTES && bytes <= around + FRAME_MAX;
    struct tenon_buf *block = is_good ? tenon_sock_block_for(socks, words * 4) : NULL;

    nic.first = first;
    if (is_good && block == NULL && ++nic.tries < FIFO_TRIES)
        return 0;
    nic.tries = 0;
    if (block == NULL) {
        drop_rest(words);
    } else if (words * 4 > block->size) {    /* with its checksum: dropped and counted there */
        fifo_skip(ENET_DATA, words - 1);
        tenon_sock_input(socks, block, LENGTH_BYTES, words * 4, TENON_CSUM_NONE);
    } else {
        __builtin_memcpy(__builtin_assume_aligned(block->data, 4), &first, 4);
        fifo_get(ENET_DATA, block->data + 4, words - 1);
        tenon_sock_input(socks, block, LENGTH_BYTES, bytes - around, TENON_CSUM_NONE);
    }
    return 1;
}

/* At most TENON_SOCK_BURST frames: what has come with them is told before more are taken. */
static void ethernet_poll(void *device, struct tenon_socks *socks)
{
    const tenon_u32 status = reg_read(ENET_IACK);
    unsigned frames;

    (void)device;
    reg_write(ENET_IACK, status & (INT_RX | INT_FOV | INT_RXER | INT_TXEMP));
    if (status & INT_FOV) {
        board_counts.rx_dropped++;
        restart_receiver();
        nic.tries = 0;
    }
    for (frames = 0; frames < TENON_SOCK_BURST && frames_wait(); frames++)
        if (!receive_one(socks))
            break;
    nic.more = frames == TENON_SOCK_BURST && frames_wait();
    reg_write(ENET_IM, (nic.tries > 0 || nic.more ? 0 : INT_RX | INT_FOV) | (nic.full ? INT_TXEMP : 0));
}

/* ---- transmit -------------------------------------------------------------------------------------- */

/* The length in front counts the payload only. */
static void send_one(const struct tenon_frame *frame)
{
    struct fifo fifo;
    tenon_u32 bytes = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    fifo_begin(&fifo, ENET_DATA);
    fifo_byte(&fifo, (tenon_u8)(bytes - ETH_BYTES));
    fifo_byte(&fifo, (tenon_u8)((bytes - ETH_BYTES) >> 8));
    for (i = 0; i < frame->nspans; i++)
        fifo_put(&fifo, tenon_span_data(&frame->spans[i]), frame->spans[i].len);
    fifo_end(&fifo);
    reg_write(ENET_TR, 1);
}

static unsigned ethernet_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    (void)device;
    nic.full = 0;
    for (i = 0; i < n; i++) {
        if (reg_read(ENET_TR) & 1) {
            nic.full = 1;
            board_counts.tx_waits++;
            break;
        }
        send_one(&frames[i]);
    }
    if (nic.full)
        reg_set(ENET_IM, INT_TXEMP);
    return i;
}

/* ---- start ------------------------------------------------------------------------------------------ */

/* The maker keeps the Ethernet address in two registers of the flash, three bytes in each. */
static void read_address(tenon_u8 mac[6])
{
    const tenon_u32 low = reg_read(USER_REG0), high = reg_read(USER_REG1);
    unsigned i;

    for (i = 0; i < 3; i++) {
        mac[i] = (tenon_u8)(low >> 8 * i);
        mac[3 + i] = (tenon_u8)(high >> 8 * i);
    }
    reg_write(ENET_IA0, mac[0] | (tenon_u32)mac[1] << 8 | (tenon_u32)mac[2] << 16 | (tenon_u32)mac[3] << 24);
    reg_write(ENET_IA1, mac[4] | (tenon_u32)mac[5] << 8);
}

static int ethernet_entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    return board_entropy(bytes, n);
}

unsigned board_phy(unsigned which)
{
    reg_write(ENET_MCTL, which << MCTL_REGISTER_AT | MCTL_START);
    while (reg_read(ENET_MCTL) & MCTL_START)
        ;
    return reg_read(ENET_MRXD) & 0xFFFF;
}

void board_ethernet(struct tenon_sock_device *device)
{
    reg_set(SYSCTL_RCGC2, RCGC2_ENET);
    (void)reg_read(SYSCTL_RCGC2);    /* some clocks until it may be touched */
    reg_write(ENET_IM, 0);
    reg_write(ENET_IACK, INT_ALL);
    device->netif.mtu = 1500;
    read_address(device->netif.mac);
    device->flags = TENON_SOCK_NO_DMA | TENON_SOCK_LENGTHS;
    device->transmit = ethernet_transmit;
    device->poll = ethernet_poll;
    device->entropy = ethernet_entropy;
    reg_write(ENET_TCTL, TCTL_TXEN | TCTL_PADEN | TCTL_CRC | TCTL_DUPLEX);
    restart_receiver();
    reg_write(ENET_IM, INT_RX | INT_FOV);
    cortex_m_enable(IRQ_ETHERNET);
}

void board_ethernet_stop(void)
{
    reg_write(ENET_IM, 0);
    reg_write(ENET_RCTL, 0);
    reg_write(ENET_TCTL, 0);
}

tenon_u32 board_ethernet_wait(tenon_u32 us)
{
    if (nic.more)
        return 0;
    if (nic.full && us == 0)
        return 1000;
    return nic.tries > 0 && us > 1000 ? 1000 : us;
}
