/* SPDX-License-Identifier: MIT */
/* For a driver whose device reads and writes pbufs by itself: each of them has a record while it does. */
#include "lwip_device.h"

#include <string.h>

enum { SPANS = 4, SENDING = 32, RECORDS = ECHO_BLOCKS + SENDING };

static struct record {
    struct tenon_buf buf;
    struct pbuf *p;    /* NULL: not in use */
} records[RECORDS];

static void record_put(struct tenon_buf *buf)
{
    struct record *record = (struct record *)(void *)buf;    /* its first member */

    pbuf_free(record->p);
    record->p = NULL;
}

/* @return NULL: all are in use */
static struct tenon_buf *record_of(struct pbuf *p)
{
    unsigned i;

    for (i = 0; i < RECORDS; i++) {
        struct record *record = &records[i];

        if (record->p != NULL)
            continue;
        record->p = p;
        record->buf.data = p->payload;
        record->buf.size = p->len;
        record->buf.refs = 1;
        record->buf.release = record_put;
        return &record->buf;
    }
    return NULL;
}

struct tenon_buf *tenon_sock_block(struct tenon_socks *socks)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, PBUF_POOL_BUFSIZE, PBUF_POOL);

    (void)socks;
    return p != NULL ? record_of(p) : NULL;
}

void tenon_sock_input(struct tenon_socks *socks, struct tenon_buf *buf, unsigned off, unsigned n, enum tenon_csum csum)
{
    struct pbuf *p = ((struct record *)(void *)buf)->p;

    (void)socks, (void)csum;
    pbuf_ref(p);
    tenon_buf_put(buf);
    pbuf_remove_header(p, off);
    pbuf_realloc(p, (u16_t)n);
    if (echo_netif.input(p, &echo_netif) != ERR_OK)
        pbuf_free(p);
}

/* The driver has taken its own references of what it still needs when it returns. */
static err_t transmit(struct pbuf *p)
{
    struct tenon_span spans[SPANS];
    struct tenon_frame frame;
    unsigned n, i, taken = 0;

    for (n = 0; p != NULL && n < SPANS; p = p->next, n++) {
        spans[n].buf = record_of(p);
        if (spans[n].buf == NULL)
            break;
        pbuf_ref(p);
        spans[n].off = 0;
        spans[n].len = p->len;
    }
    memset(&frame, 0, sizeof(frame));
    frame.spans = spans;
    frame.nspans = (tenon_u8)n;
    if (p == NULL)
        taken = echo_device.transmit(NULL, &frame, 1);
    for (i = 0; i < n; i++)
        tenon_buf_put(spans[i].buf);
    return taken == 1 ? ERR_OK : ERR_MEM;
}

/* What a socket sends lies in the program's buffer, which is used again before the device has read it. */
err_t echo_output(struct netif *unused, struct pbuf *p)
{
    struct pbuf *copy;
    err_t error;

    (void)unused;
    if (!LWIP_SOCKET || p->next == NULL || !PBUF_NEEDS_COPY(p->next))
        return transmit(p);
    copy = pbuf_clone(PBUF_RAW, PBUF_RAM, p);
    if (copy == NULL)
        return ERR_MEM;
    error = transmit(copy);
    pbuf_free(copy);
    return error;
}
