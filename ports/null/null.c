/* SPDX-License-Identifier: MIT */
/* A port without a device. docs/porting.md has this file in pieces, and says why each is as it is. */
#include "null.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../common/bufpool.h"

enum { NULL_MTU = 1500, NULL_ROOM = 64, NULL_POOL = 4 << 20, NULL_QUEUE = 128 };

struct null {
    struct port port;
    struct bufpool pool;
    unsigned first, waiting;
    struct tenon_span queue[NULL_QUEUE];    /* what comes back */
};

static struct null *null_of(struct port *port)
{
    return TENON_CONTAINER(port, struct null, port);
}

static int null_open(struct port *port, const struct port_conf *conf, char *error, size_t error_size)
{
    port->netif.mtu = (tenon_u16)(conf->mtu > 0 ? conf->mtu : NULL_MTU);
    port->netif.caps = TENON_CAP_NO_LINK;
    port->netif.gather_max = 1;
    port_bufpool_init(&null_of(port)->pool, port->netif.mtu + NULL_ROOM, conf->buffer_bytes_max);
    port->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return port->fd >= 0 ? 0 : port_explain(error, error_size, "cannot make a descriptor: %s", strerror(errno));
}

static void null_close(struct port *port)
{
    struct null *null = null_of(port);

    for (; null->waiting > 0; null->waiting--)
        tenon_buf_put(null->queue[null->first++ % NULL_QUEUE].buf);
    if (port->fd >= 0)
        close(port->fd);
    port_bufpool_fini(&null->pool);
}

static unsigned null_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    return port_bufpool_get_many(&null_of(host)->pool, bufs, n);
}

/* Who sent it is who gets it: the addresses, and the ports of TCP and UDP in what is no fragment. Checksums
 * are sums, and stay right. */
static void turn_round(tenon_u8 *to, const tenon_u8 *from, tenon_u32 n)
{
    const tenon_u32 address = from[0] >> 4 == 4 ? 4 : 16, at = from[0] >> 4 == 4 ? 12 : 8;
    const tenon_u32 ports = at + 2 * address, protocol = from[address == 4 ? 9 : 6];
    const int is_piece = address == 4 && ((from[6] & 0x3F) | from[7]) != 0;

    memcpy(to, from, n);
    memcpy(to + at, from + at + address, address);
    memcpy(to + at + address, from + at, address);
    if ((protocol == 6 || protocol == 17) && n >= ports + 4 && !is_piece) {
        memcpy(to + ports, from + ports + 2, 2);
        memcpy(to + ports + 2, from + ports, 2);
    }
}

static void reflect(struct null *null, const struct tenon_span *span)
{
    struct tenon_buf *buf = port_bufpool_get(&null->pool);

    null->port.stats.rx_no_buffer += buf == NULL;
    if (buf == NULL)
        return;
    turn_round(buf->data, tenon_span_data(span), span->len);
    null->queue[(null->first + null->waiting) % NULL_QUEUE] = (struct tenon_span){ buf, 0, span->len };
    if (null->waiting++ == 0)
        (void)eventfd_write(null->port.fd, 1);
}

static unsigned null_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct null *null = null_of(host);
    unsigned taken;

    (void)netif;
    for (taken = 0; taken < n && null->waiting < NULL_QUEUE; taken++) {
        port_sent(&null->port, &frames[taken], 1);
        reflect(null, &frames[taken].spans[0]);
    }
    null->port.stats.tx_busy += n - taken;
    return taken;
}

static int null_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct null *null = null_of(port);
    eventfd_t count;
    int n;

    for (n = 0; n < PORT_BURST && null->waiting > 0; n++) {
        struct tenon_span span = null->queue[null->first++ % NULL_QUEUE];
        const struct tenon_frame frame = { .spans = &span, .nspans = 1 };

        if (--null->waiting == 0)
            (void)eventfd_read(port->fd, &count);
        port_input(port, stack, netif, &frame, 1, now_us);
        tenon_buf_put(span.buf);
    }
    return n;
}

static const struct tenon_host null_host = { TENON_HOST_VERSION, port_mem_get, port_mem_put, null_buf_get,
                                             null_transmit, port_entropy };

static const struct port_setting null_settings[] = { { NULL, 0, NULL, NULL } };

const struct port_type null_port_type = {
    .kind = "null",
    .name = "NAME",
    .text = "no device but a mirror: every packet comes back, from whom it was sent to",
    .settings = null_settings,
    .queues_max = 1,
    .memory = NULL_POOL,
    .bytes = sizeof(struct null),
    .open = null_open,
    .close = null_close,
    .host = &null_host,
    .receive = null_receive,
};
