/* SPDX-License-Identifier: MIT */
/* LAN9118: FIFOs of several frames, which the processor moves: no DMA, so each frame is copied once, by this file. The
 * device puts two bytes before each received frame, so that its IP header lies on a word. */
#include "../common/cortex_m.h"
#include "../common/fifo.h"

enum {
    RX_DATA = 0x40200000,
    TX_DATA = 0x40200020,
    RX_STATUS = 0x40200040,
    TX_STATUS = 0x40200048,
    IRQ_CFG = 0x40200054,
    INT_STS = 0x40200058,
    INT_EN = 0x4020005C,
    BYTE_TEST = 0x40200064,
    FIFO_INT = 0x40200068,
    RX_CFG = 0x4020006C,
    TX_CFG = 0x40200070,
    HW_CFG = 0x40200074,
    RX_FIFO_INF = 0x4020007C,
    TX_FIFO_INF = 0x40200080,
    RX_DROP = 0x402000A0,
    MAC_CMD = 0x402000A4,
    MAC_DATA = 0x402000A8,
    E2P_CMD = 0x402000B0
};
enum { INT_RSFL = 1 << 3, INT_TDFA = 1 << 9, IRQ_PUSH_PULL = 1, IRQ_HIGH = 1 << 4, IRQ_ENABLE = 1 << 8 };
enum { HW_RESET = 1, HW_MUST_BE_ONE = 1 << 20, HW_TX_5KB = 5 << 16, TX_ON = 2, TX_ROOM_LEVEL = 25 };
enum { MAC_CR = 1, MAC_ADDRH = 2, MAC_ADDRL = 3, MAC_MII_ACC = 6, MAC_MII_DATA = 7, MAC_VLAN1 = 9 };
enum { CR_RXEN = 1 << 2, CR_TXEN = 1 << 3, CR_MCPAS = 1 << 19, CR_FDPX = 1 << 20 };
enum { MII_BUSY = 1, MII_WRITE = 2, MII_REGISTER_AT = 6, MII_PHY1 = 1 << 11, PHY_NEGOTIATE = 0x1200 };
enum { TX_FIRST = 1 << 13, TX_LAST = 1 << 12, TX_BEGIN_AT = 16, TX_COMMANDS = 8, RX_ERROR = 1 << 15 };
enum { IRQ_ETHERNET = 13 };
enum { PAD_BYTES = 2, FCS_BYTES = 4, ETH_BYTES = 14, FRAME_MAX = 1522 };
static const tenon_u32 MAC_BUSY = 0x80000000U, MAC_READ = 0x40000000U, E2P_BUSY = 0x80000000U;

static struct {
    tenon_u8 tries;      /* so often no block was free for the frame that waits in the FIFO ... */
    tenon_u8 more;       /* frames wait because others have to be worked on first */
    tenon_u8 full;       /* a frame waits for room in the transmit FIFO */
    tenon_u32 status;    /* ... whose status this is */
} nic;

static void mac_write(unsigned which, tenon_u32 value)
{
    reg_write(MAC_DATA, value);
    reg_write(MAC_CMD, MAC_BUSY | which);
    while (reg_read(MAC_CMD) & MAC_BUSY)
        ;
}

static tenon_u32 mac_read(unsigned which)
{
    reg_write(MAC_CMD, MAC_BUSY | MAC_READ | which);
    while (reg_read(MAC_CMD) & MAC_BUSY)
        ;
    return reg_read(MAC_DATA);
}

void board_ethernet_interrupt(void)
{
    reg_write(INT_EN, 0);
    board_counts.interrupts++;
    board_wake();
}

/* ---- receive -------------------------------------------------------------------------------------- */

static int frames_wait(void)
{
    return (reg_read(RX_FIFO_INF) & 0x00FF0000) != 0;
}

/* The next frame of the FIFO, into a block. While there is none it stays where it is, but not for long: what is behind
 * it may be the acknowledgement for which those wait who have the blocks. @return 0: it waits */
static int receive_one(struct tenon_socks *socks)
{
    const tenon_u32 status = nic.tries > 0 ? nic.status : reg_read(RX_STATUS);
    const unsigned bytes = status >> 16 & 0x3FFF, words = (bytes + PAD_BYTES + 3) / 4;
    const int is_good = !(status & RX_ERROR) && bytes >= FCS_BYTES + ETH_BYTES && bytes <= FCS_BYTES + FRAME_MAX;
    struct tenon_buf *block = is_good ? tenon_sock_block_for(socks, words * 4) : NULL;

    nic.status = status;
    if (is_good && block == NULL && ++nic.tries < FIFO_TRIES)
        return 0;
    nic.tries = 0;
    if (block == NULL) {
        fifo_skip(RX_DATA, words);
        board_counts.rx_dropped++;
    } else if (words * 4 > block->size) {    /* with its checksum: dropped and counted there */
        fifo_skip(RX_DATA, words);
        tenon_sock_input(socks, block, PAD_BYTES, words * 4, TENON_CSUM_NONE);
    } else {
        fifo_get(RX_DATA, block->data, words);
        tenon_sock_input(socks, block, PAD_BYTES, bytes - FCS_BYTES, TENON_CSUM_NONE);
    }
    return 1;
}

/* At most TENON_SOCK_BURST frames: what has come with them is told before more are taken. */
static void ethernet_poll(void *device, struct tenon_socks *socks)
{
    unsigned frames;

    (void)device;
    reg_write(INT_STS, INT_RSFL | INT_TDFA);
    board_counts.rx_dropped += reg_read(RX_DROP);
    for (frames = 0; frames < TENON_SOCK_BURST && (nic.tries > 0 || frames_wait()); frames++)
        if (!receive_one(socks))
            break;
    nic.more = frames == TENON_SOCK_BURST && frames_wait();
    reg_write(INT_EN, (nic.tries > 0 || nic.more ? 0 : INT_RSFL) | (nic.full ? INT_TDFA : 0));
}

/* ---- transmit -------------------------------------------------------------------------------------- */

static tenon_u32 frame_bytes(const struct tenon_frame *frame)
{
    tenon_u32 bytes = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    return bytes;
}

/* The device leaves out the first two bytes: behind them the payload, as the core lays out a frame, lies on a word. */
static void send_one(const struct tenon_frame *frame, tenon_u32 bytes)
{
    struct fifo fifo;
    unsigned i;

    reg_write(TX_DATA, TX_FIRST | TX_LAST | PAD_BYTES << TX_BEGIN_AT | bytes);
    reg_write(TX_DATA, bytes << 16 | bytes);
    fifo_begin(&fifo, TX_DATA);
    fifo_byte(&fifo, 0);
    fifo_byte(&fifo, 0);
    for (i = 0; i < frame->nspans; i++)
        fifo_put(&fifo, tenon_span_data(&frame->spans[i]), frame->spans[i].len);
    fifo_end(&fifo);
}

static unsigned ethernet_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    (void)device;
    while ((reg_read(TX_FIFO_INF) & 0x00FF0000) != 0)
        (void)reg_read(TX_STATUS);    /* nobody asks how earlier frames have fared */
    nic.full = 0;
    for (i = 0; i < n; i++) {
        const tenon_u32 bytes = frame_bytes(&frames[i]);

        if ((reg_read(TX_FIFO_INF) & 0xFFFF) < TX_COMMANDS + PAD_BYTES + bytes + 4) {
            nic.full = 1;
            board_counts.tx_waits++;
            reg_set(INT_EN, INT_TDFA);
            break;
        }
        send_one(&frames[i], bytes);
    }
    return i;
}

/* ---- start ------------------------------------------------------------------------------------------ */

static int ethernet_entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    return board_entropy(bytes, n);
}

/* After a reset the device has the address that its EEPROM says. */
static void read_address(tenon_u8 mac[6])
{
    const tenon_u32 low = mac_read(MAC_ADDRL), high = mac_read(MAC_ADDRH);
    unsigned i;

    for (i = 0; i < 6; i++)
        mac[i] = (tenon_u8)(i < 4 ? low >> 8 * i : high >> 8 * (i - 4));
}

unsigned board_phy(unsigned which)
{
    mac_write(MAC_MII_ACC, MII_PHY1 | which << MII_REGISTER_AT | MII_BUSY);
    while (mac_read(MAC_MII_ACC) & MII_BUSY)
        ;
    return mac_read(MAC_MII_DATA) & 0xFFFF;
}

void board_ethernet(struct tenon_sock_device *device)
{
    (void)reg_read(BYTE_TEST);    /* the first read wakes it */
    reg_write(HW_CFG, HW_RESET);
    while (reg_read(HW_CFG) & HW_RESET)
        ;
    while (reg_read(E2P_CMD) & E2P_BUSY)    /* it loads its address */
        ;
    reg_write(HW_CFG, HW_MUST_BE_ONE | HW_TX_5KB);
    reg_write(INT_EN, 0);
    reg_write(INT_STS, 0xFFFFFFFFU);
    reg_write(IRQ_CFG, IRQ_ENABLE | IRQ_HIGH | IRQ_PUSH_PULL);
    reg_write(FIFO_INT, (tenon_u32)TX_ROOM_LEVEL << 24);
    reg_write(RX_CFG, PAD_BYTES << 8);
    reg_write(TX_CFG, TX_ON);
    mac_write(MAC_MII_DATA, PHY_NEGOTIATE);
    mac_write(MAC_MII_ACC, MII_PHY1 | MII_WRITE | MII_BUSY);
    mac_write(MAC_VLAN1, 0x8100);    /* else a frame of 1522 bytes would be too long: one with a tag is not */
    device->netif.mtu = 1500;
    read_address(device->netif.mac);
    device->flags = TENON_SOCK_NO_DMA | TENON_SOCK_LENGTHS;
    device->transmit = ethernet_transmit;
    device->poll = ethernet_poll;
    device->entropy = ethernet_entropy;
    mac_write(MAC_CR, CR_FDPX | CR_MCPAS | CR_TXEN | CR_RXEN);
    reg_write(INT_EN, INT_RSFL);
    cortex_m_enable(IRQ_ETHERNET);
}

void board_ethernet_stop(void)
{
    reg_write(INT_EN, 0);
    mac_write(MAC_CR, 0);
}

tenon_u32 board_ethernet_wait(tenon_u32 us)
{
    if (nic.more)
        return 0;
    if (nic.full && us == 0)
        return 1000;
    return nic.tries > 0 && us > 1000 ? 1000 : us;
}
