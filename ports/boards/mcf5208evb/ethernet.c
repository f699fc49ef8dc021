/* SPDX-License-Identifier: MIT */
/* The Fast Ethernet Controller (FEC) of the ColdFire: rings of descriptors, DMA. Received frames are put into
 * the blocks of the stack, which are given to the device; sent payload is fetched from where it lies in the
 * send rings. It wants to receive to multiples of 16 and to send from multiples of 4: headers, which end on a
 * word, are moved to a place of their own, and so is payload that begins elsewhere (the rest of a packet that
 * was acknowledged in part). Both are counted. */
#include "../common/board.h"
#include "../common/reg.h"
#include "coldfire.h"

static const tenon_u32 EIR = 0xFC030004U, EIMR = 0xFC030008U, RDAR = 0xFC030010U, TDAR = 0xFC030014U,
                       ECR = 0xFC030024U, MMFR = 0xFC030040U, MSCR = 0xFC030044U, RCR = 0xFC030084U, TCR = 0xFC0300C4U,
                       PALR = 0xFC0300E4U, PAUR = 0xFC0300E8U, IAUR = 0xFC030118U, IALR = 0xFC03011CU,
                       GAUR = 0xFC030120U, GALR = 0xFC030124U, TFWR = 0xFC030144U, ERDSR = 0xFC030180U,
                       ETDSR = 0xFC030184U, EMRBR = 0xFC030188U;
static const tenon_u32 INT_TX_FRAME = 0x08000000U, INT_RX_FRAME = 0x02000000U, INT_MII = 0x00800000U;
static const tenon_u32 MII_READ = 0x60020000U, MII_PHY1 = 0x00800000U;
enum { MII_REGISTER_AT = 18 };
enum { ECR_RESET = 1, ECR_ENABLE = 2, RCR_MII = 4, TCR_FULL_DUPLEX = 4, TFWR_WHOLE = 3, MII_2_5_MHZ = 17 << 1 };
enum { BD_MINE = 0x8000, BD_WRAP = 0x2000, BD_LAST = 0x0800, BD_CRC = 0x0400, BD_BAD = 0x0037 };
enum { RX_BDS = 32, TX_BDS = 32, RX_UNIT = 16, TX_PLACE = 1536, FCS_BYTES = 4, FRAME_MAX = 1522 };
enum { SOURCE_TX_FRAME = 36, SOURCE_RX_FRAME = 40 };

struct descriptor {
    volatile tenon_u16 flags;    /* BD_MINE: the device's */
    volatile tenon_u16 length;
    tenon_u8 *volatile data;
};

static struct descriptor rx[RX_BDS] __attribute__((aligned(16))), tx[TX_BDS] __attribute__((aligned(16)));
static struct tenon_buf *rx_blocks[RX_BDS];    /* NULL: the descriptor has none */
static struct tenon_buf *tx_bufs[TX_BDS];      /* with a reference of ours until it is sent */
static tenon_u8 tx_places[TX_BDS][TX_PLACE] __attribute__((aligned(16)));

static struct {
    unsigned rx_next;            /* the descriptor that is filled next */
    unsigned tx_next, tx_used;
    unsigned rx_empty;           /* so many before it have no block, or got one back out of turn */
    tenon_u8 starved, more, full, started, stopped;
    tenon_u8 cut;                /* of a frame that is longer than a block the rest comes next */
} nic;

__attribute__((interrupt)) void board_ethernet_interrupt(void)
{
    reg_write(EIMR, 0);
    board_counts.interrupts++;
    board_wake();
}

/* ---- receive -------------------------------------------------------------------------------------- */

static tenon_u8 *receive_place(const struct tenon_buf *block)
{
    return block->data + (RX_UNIT - (size_t)block->data % RX_UNIT) % RX_UNIT;
}

/* What the device may write into a block, wherever it begins. */
static tenon_u32 receive_bytes(const struct tenon_buf *block)
{
    return (block->size - (RX_UNIT - 1)) / RX_UNIT * RX_UNIT;
}

/* The device may fill this block. */
static void give(unsigned at, struct tenon_buf *block)
{
    rx_blocks[at] = block;
    rx[at].data = receive_place(block);
    rx[at].length = 0;
    rx[at].flags = (tenon_u16)(BD_MINE | (at == RX_BDS - 1 ? BD_WRAP : 0));
}

/* A frame has come: up with it, and its descriptor has no block until there is one: what lies in the others,
 * and what they take meanwhile, does not wait for that. A frame that is longer than a block fills several, of
 * which the first is given up as one that is too long. */
static void receive_one(struct tenon_socks *socks, unsigned at)
{
    struct tenon_buf *block = rx_blocks[at];
    const unsigned flags = rx[at].flags, off = (unsigned)(receive_place(block) - block->data);
    const unsigned bytes = flags & BD_LAST ? rx[at].length : block->size + 1U + FCS_BYTES;

    if (nic.cut || ((flags & BD_LAST) && ((flags & BD_BAD) || bytes <= FCS_BYTES))) {
        board_counts.rx_dropped += !nic.cut;
        nic.cut = nic.cut && !(flags & BD_LAST);
        give(at, block);
        return;
    }
    nic.cut = !(flags & BD_LAST);
    rx_blocks[at] = NULL;
    tenon_sock_input(socks, block, off, bytes - FCS_BYTES, TENON_CSUM_NONE);
}

/* Blocks for descriptors that have none, in the order in which the device comes to them. */
static void fill(struct tenon_socks *socks)
{
    for (; nic.rx_empty > 0; nic.rx_empty--) {
        const unsigned at = (nic.rx_next + RX_BDS - nic.rx_empty) % RX_BDS;
        struct tenon_buf *block = rx_blocks[at] == NULL ? tenon_sock_block(socks) : NULL;

        if (rx_blocks[at] != NULL)
            continue;
        if (block == NULL)
            return;
        reg_write(EMRBR, receive_bytes(block));
        give(at, block);
    }
}

static int is_filled(unsigned at)
{
    return rx_blocks[at] != NULL && !(rx[at].flags & BD_MINE);
}

static void reclaim(void);

/* At most TENON_SOCK_BURST frames: what has come with them is told before more are taken. */
static void ethernet_poll(void *device, struct tenon_socks *socks)
{
    unsigned frames;

    (void)device;
    if (!nic.started) {
        nic.started = 1;
        nic.rx_empty = RX_BDS;
        coldfire_enable(SOURCE_RX_FRAME, 4);
        coldfire_enable(SOURCE_TX_FRAME, 4);
    }
    reg_write(EIR, INT_RX_FRAME | INT_TX_FRAME);
    reclaim();
    fill(socks);
    for (frames = 0; frames < TENON_SOCK_BURST && is_filled(nic.rx_next); frames++) {
        receive_one(socks, nic.rx_next);
        nic.rx_next = (nic.rx_next + 1) % RX_BDS;
        nic.rx_empty++;
    }
    fill(socks);
    nic.starved = nic.rx_empty > 0;
    nic.more = frames == TENON_SOCK_BURST;
    reg_write(RDAR, 0x01000000U);
    reg_write(EIMR, (nic.more ? 0 : INT_RX_FRAME) | (nic.full ? INT_TX_FRAME : 0));
}

/* ---- transmit -------------------------------------------------------------------------------------- */

/* What has been sent is not ours any more. */
static void reclaim(void)
{
    while (nic.tx_used > 0) {
        const unsigned at = (nic.tx_next + TX_BDS - nic.tx_used) % TX_BDS;

        if (tx[at].flags & BD_MINE)
            return;
        if (tx_bufs[at] != NULL)
            tenon_buf_put(tx_bufs[at]);
        tx_bufs[at] = NULL;
        nic.tx_used--;
    }
}

/* A span where it lies, or moved to a place that the device can read from. */
static void put_span(unsigned at, const struct tenon_span *span)
{
    tenon_u8 *bytes = tenon_span_data(span);

    tx_bufs[at] = NULL;
    if (((size_t)bytes & 3) != 0) {
        __builtin_memcpy(tx_places[at], bytes, span->len);
        board_counts.moved_bytes += span->len;
        bytes = tx_places[at];
    } else {
        tenon_buf_ref(span->buf);
        tx_bufs[at] = span->buf;
    }
    tx[at].data = bytes;
    tx[at].length = (tenon_u16)span->len;
}

/* All descriptors but the first belong to the device before the first does. */
static void send_one(const struct tenon_frame *frame)
{
    unsigned i;

    for (i = frame->nspans; i-- > 0;) {
        const unsigned at = (nic.tx_next + i) % TX_BDS;

        put_span(at, &frame->spans[i]);
        tx[at].flags = (tenon_u16)(BD_MINE | BD_CRC | (i + 1U == frame->nspans ? BD_LAST : 0) |
                                   (at == TX_BDS - 1 ? BD_WRAP : 0));
    }
    nic.tx_next = (nic.tx_next + frame->nspans) % TX_BDS;
    nic.tx_used += frame->nspans;
    reg_write(TDAR, 0x01000000U);
}

static unsigned ethernet_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    (void)device;
    if (nic.stopped)
        return n;
    reclaim();
    nic.full = 0;
    for (i = 0; i < n && !nic.full; i++) {
        if (nic.tx_used + frames[i].nspans > TX_BDS) {
            nic.full = 1;
            board_counts.tx_waits++;
            reg_set(EIMR, INT_TX_FRAME);
            break;
        }
        send_one(&frames[i]);
    }
    return i;
}

/* ---- start ------------------------------------------------------------------------------------------ */

static int ethernet_entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    return board_entropy(bytes, n);
}

/* What the monitor of the board has put there; a local one if it has not. */
static void read_address(tenon_u8 mac[6])
{
    const tenon_u32 first = reg_read(PALR) != 0 ? reg_read(PALR) : 0x02000000U;
    const tenon_u32 rest = first != 0x02000000U ? reg_read(PAUR) : 0x00010000U;
    unsigned i;

    for (i = 0; i < 6; i++)
        mac[i] = (tenon_u8)(i < 4 ? first >> (24 - 8 * i) : rest >> (24 - 8 * (i - 4)));
}

/* After a reset, which takes the address away, too. */
static void start_controller(const tenon_u8 mac[6])
{
    reg_write(EIMR, 0);
    reg_write(EIR, 0xFFFFFFFFU);
    reg_write(PALR, (tenon_u32)mac[0] << 24 | (tenon_u32)mac[1] << 16 | (tenon_u32)mac[2] << 8 | mac[3]);
    reg_write(PAUR, (tenon_u32)mac[4] << 24 | (tenon_u32)mac[5] << 16 | 0x8808);
    reg_write(IAUR, 0);
    reg_write(IALR, 0);
    reg_write(GAUR, 0xFFFFFFFFU);    /* all multicast */
    reg_write(GALR, 0xFFFFFFFFU);
    reg_write(RCR, (tenon_u32)(FRAME_MAX + FCS_BYTES) << 16 | RCR_MII);
    reg_write(TCR, TCR_FULL_DUPLEX);
    reg_write(TFWR, TFWR_WHOLE);
    reg_write(MSCR, MII_2_5_MHZ);
    reg_write(ERDSR, (tenon_u32)(size_t)rx);
    reg_write(ETDSR, (tenon_u32)(size_t)tx);
    tx[TX_BDS - 1].flags = BD_WRAP;
    reg_write(ECR, ECR_ENABLE);
}

unsigned board_phy(unsigned which)
{
    reg_write(EIR, INT_MII);
    reg_write(MMFR, MII_READ | MII_PHY1 | which << MII_REGISTER_AT);
    while (!(reg_read(EIR) & INT_MII))
        ;
    return reg_read(MMFR) & 0xFFFF;
}

void board_ethernet(struct tenon_sock_device *device)
{
    device->netif.mtu = 1500;
    read_address(device->netif.mac);
    device->flags = 0;
    device->transmit = ethernet_transmit;
    device->poll = ethernet_poll;
    device->entropy = ethernet_entropy;
    reg_write(ECR, ECR_RESET);
    while (reg_read(ECR) & ECR_RESET)
        ;
    start_controller(device->netif.mac);
}

/* What is sent afterwards goes nowhere. */
void board_ethernet_stop(void)
{
    unsigned i;

    reg_write(EIMR, 0);
    reg_write(ECR, 0);
    for (i = 0; i < TX_BDS; i++)
        tx[i].flags = 0;
    reclaim();
    nic.stopped = 1;
    for (i = 0; i < RX_BDS; i++) {
        if (rx_blocks[i] != NULL)
            tenon_buf_put(rx_blocks[i]);
        rx_blocks[i] = NULL;
    }
}

tenon_u32 board_ethernet_wait(tenon_u32 us)
{
    if (nic.more)
        return 0;
    if (nic.full && us == 0)
        return 1000;
    return nic.starved && us > 1000 ? 1000 : us;
}
