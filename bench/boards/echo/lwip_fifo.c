/* SPDX-License-Identifier: MIT */
/* For a driver that moves all bytes itself. */
#include "lwip_device.h"

#include <string.h>

enum { SPANS = 4 };

/* The driver fills one block at a time. */
static struct tenon_buf block;
static struct pbuf *filled;

static void block_put(struct tenon_buf *buf)
{
    (void)buf;
    pbuf_free(filled);
}

struct tenon_buf *tenon_sock_block_for(struct tenon_socks *socks, unsigned bytes)
{
    (void)socks, (void)bytes;
    filled = pbuf_alloc(PBUF_RAW, PBUF_POOL_BUFSIZE, PBUF_POOL);
    if (filled == NULL)
        return NULL;
    block.data = filled->payload;
    block.size = filled->len;
    block.refs = 1;
    block.release = block_put;
    return &block;
}

void tenon_sock_input(struct tenon_socks *socks, struct tenon_buf *buf, unsigned off, unsigned n, enum tenon_csum csum)
{
    (void)socks, (void)buf, (void)csum;
    pbuf_realloc(filled, (u16_t)(off + n));
    if (echo_netif.input(filled, &echo_netif) != ERR_OK)
        pbuf_free(filled);
}

/* The driver has moved all bytes into its device when it returns. */
err_t echo_output(struct netif *unused, struct pbuf *p)
{
    struct tenon_buf bufs[SPANS];
    struct tenon_span spans[SPANS];
    struct tenon_frame frame;
    u32_t skip = ETH_PAD_SIZE;
    u8_t n;

    (void)unused;
    for (n = 0; p != NULL && n < SPANS; p = p->next, n++, skip = 0) {
        bufs[n].data = p->payload;
        spans[n].buf = &bufs[n];
        spans[n].off = skip;
        spans[n].len = p->len - skip;
    }
    memset(&frame, 0, sizeof(frame));
    frame.spans = spans;
    frame.nspans = n;
    return echo_device.transmit(NULL, &frame, 1) == 1 ? ERR_OK : ERR_MEM;
}
