/* SPDX-License-Identifier: MIT */
/* The subject: lwIP's raw interface, with and without a copy by tcp_write(). */
#include "measure.h"
#include "ports/boards/common/text.h"

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/tcp.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

enum { NOTES = 8, SPANS = 4, WITHOUT_COPY = 0, WITH_COPY = 1 };

static struct netif netif;
static struct tcp_pcb *listener, *conn;
static struct pbuf *received;
static enum device kind;
static unsigned how;
static tenon_u8 bytes[TCP_MSS] __attribute__((aligned(4)));

u32_t sys_now(void)
{
    return now_us / 1000;
}

/* The same in each run, so that the counts are. */
u32_t lwip_random(void)
{
    static u32_t state = 1;

    state = state * 1103515245U + 12345U;
    return state;
}

/* ---- the device ------------------------------------------------------------------------------------- */

/* As in tenon.c: a device with DMA is given where the pieces are. */
static struct {
    struct {
        struct piece spans[SPANS];
        unsigned n;
        struct pbuf *p;
    } frames[NOTES];
    unsigned used;
} dma;

static err_t memory_output(struct netif *unused, struct pbuf *p)
{
    unsigned n = 0;

    (void)unused;
    if (dma.used == NOTES)
        return ERR_MEM;
    pbuf_ref(p);
    dma.frames[dma.used].p = p;
    for (; p != NULL && n < SPANS; p = p->next, n++) {
        dma.frames[dma.used].spans[n].data = p->payload;
        dma.frames[dma.used].spans[n].n = p->len;
    }
    dma.frames[dma.used++].n = n;
    return ERR_OK;
}

static void carry(void)
{
    unsigned i;

    for (i = 0; i < dma.used; i++) {
        dma.frames[i].spans[0].data += ETH_PAD_SIZE;
        dma.frames[i].spans[0].n -= ETH_PAD_SIZE;
        cable_to_peer(dma.frames[i].spans, dma.frames[i].n, kind == DEVICE_OFFLOAD);
    }
}

static void sent(void)
{
    unsigned i;

    for (i = 0; i < dma.used; i++)
        pbuf_free(dma.frames[i].p);
    dma.used = 0;
}

static err_t netif_start(struct netif *it)
{
    static const tenon_u8 mac[6] = {2, 0, 0, 0, 0, 1};

    it->linkoutput = memory_output;
    it->output = etharp_output;
    it->mtu = 1500;
    it->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    it->hwaddr_len = sizeof(mac);
    memcpy(it->hwaddr, mac, sizeof(mac));
    return ERR_OK;
}

/* ---- the end point ---------------------------------------------------------------------------------- */

static err_t have_received(void *self, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    (void)self, (void)pcb, (void)error;
    if (received != NULL && p != NULL)
        pbuf_cat(received, p);
    else
        received = p;
    return ERR_OK;
}

static err_t have_accepted(void *self, struct tcp_pcb *pcb, err_t error)
{
    (void)self, (void)error;
    conn = pcb;
    tcp_nagle_disable(pcb);
    tcp_recv(pcb, have_received);
    return ERR_OK;
}

int board_sums;

/* lwIP's sums are words in the order of the machine. */
unsigned short sum_by_board(const void *of, int n)
{
    return lwip_htons(board_sum(of, (size_t)n));
}

/* The header of IPv4 is summed by the processor, as in the core of Tenon. */
static int start(enum device device, unsigned way)
{
    const unsigned transport = NETIF_CHECKSUM_GEN_TCP | NETIF_CHECKSUM_GEN_UDP | NETIF_CHECKSUM_CHECK_TCP |
                               NETIF_CHECKSUM_CHECK_UDP;
    static int once;
    ip4_addr_t us, mask, none;
    struct tcp_pcb *pcb;

    kind = device;
    board_sums = device == DEVICE_SUMMED;
    how = way;
    conn = NULL;
    received = NULL;
    IP4_ADDR(&us, 10, 0, 0, 1);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&none, 0, 0, 0, 0);
    if (!once)
        lwip_init();
    if (!once && netif_add(&netif, &us, &mask, &none, NULL, netif_start, ethernet_input) == NULL)
        return 0;
    once = 1;
    netif_set_up(&netif);
    netif_set_default(&netif);
    NETIF_SET_CHECKSUM_CTRL(&netif, (u16_t)(device == DEVICE_OFFLOAD ? NETIF_CHECKSUM_ENABLE_ALL & ~transport
                                                                     : NETIF_CHECKSUM_ENABLE_ALL));
    pcb = tcp_new();
    if (pcb == NULL || tcp_bind(pcb, IP_ANY_TYPE, 7) != ERR_OK)
        return 0;
    listener = tcp_listen(pcb);
    if (listener == NULL)
        return 0;
    tcp_accept(listener, have_accepted);
    return 1;
}

static void stop(void)
{
    tcp_abort(conn);
    tcp_close(listener);
    carry();
    sent();
}

static int is_open(void)
{
    return conn != NULL;
}

static void turn(void)
{
    sys_check_timeouts();
}

/* ---- what is counted ---------------------------------------------------------------------------------- */

static int room(tenon_u8 **p)
{
    const int n = tcp_sndbuf(conn);

    *p = bytes;
    return n > (int)sizeof(bytes) ? (int)sizeof(bytes) : n;
}

static int send(tenon_u8 *p, unsigned n)
{
    const err_t error = tcp_write(conn, p, (u16_t)n, how == WITH_COPY ? TCP_WRITE_FLAG_COPY : 0);

    return tcp_output(conn) == ERR_OK && error == ERR_OK;
}

static void *place(const tenon_u8 *frame, unsigned n)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)(n + ETH_PAD_SIZE), PBUF_POOL);

    if (p != NULL)
        memcpy((tenon_u8 *)p->payload + ETH_PAD_SIZE, frame, n);
    return p;
}

static void arrive(void *where, unsigned n)
{
    (void)n;
    if (netif.input(where, &netif) != ERR_OK)
        pbuf_free(where);
}

static int read(tenon_u8 **p)
{
    if (received == NULL)
        return 0;
    *p = received->payload;
    return received->len;
}

static void read_done(tenon_u8 *p, unsigned n)
{
    struct pbuf *done = received;

    (void)p;
    received = done->next;
    if (received != NULL)
        pbuf_ref(received);
    pbuf_free(done);
    tcp_recved(conn, (u16_t)n);
}

static void say_fact(const char *name, size_t bytes_of)
{
    say("fact ");
    say(name);
    say("=");
    say_number((tenon_u32)bytes_of);
    say("\n");
}

static void facts(void)
{
    say_fact("tcp_pcb", sizeof(struct tcp_pcb));
    say_fact("tcp_seg", sizeof(struct tcp_seg));
    say_fact("pbuf", sizeof(struct pbuf));
}

static const char *const ways[] = {"no-copy", "copy"};
static const char *const devices[DEVICES] = {"offload", NULL, "checksums", "summed", NULL, NULL};
const struct subject subject = {"lwip", 2,    ways,  devices, start, stop, is_open, turn,      carry,
                                room,   send, sent,  place,   arrive, read, read_done, facts};
