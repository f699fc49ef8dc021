/* SPDX-License-Identifier: MIT */
/* AF_XDP port: frames through four rings that are shared with the kernel.
 *
 *                          fill: chunks to put frames into          done: chunks whose bytes have left
 *      xdp_umem.c  ------------------------------->  kernel  ------------------------------------>  here
 *      here        <-------------------------------  kernel  <------------------------------------  here
 *                          rx: frames that have arrived             tx: frames to be sent
 *
 * Nothing is copied here, but for payload that a program keeps in memory of its own: the interface reaches only the
 * memory that it has been told of, so such a frame is copied into it, and counted. */
#include "xdp_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>


/* The kernel sends 32 descriptors at a time. poll() does not tell when an interface goes: receive() looks as often. */
enum { KICKS_MAX = 64, GONE_EVERY_US = 500000 };

static struct xdp_port *xdp_of(struct port *port)
{
    return TENON_CONTAINER(port, struct xdp_port, port);
}

static void put_spans(const struct tenon_span *spans, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        tenon_buf_put(spans[i].buf);
}

/* ---- sending --------------------------------------------------------------------------------------------- */

/* Take back what has been sent. */
static void reap(struct xdp_port *port)
{
    struct xdp_ring *done = &port->ring[RING_DONE];
    const uint64_t *entries = done->entries;
    tenon_u32 n = xdp_ring_ready(done);

    if (n == 0)
        return;
    while (n-- > 0)
        tenon_buf_put(&xdp_chunk_at(port->umem, entries[done->ours++ & done->mask])->buf);
    xdp_ring_publish(done, done->consumer);
}

/* Make the kernel send what is in the ring, if it does not by itself. What it cannot send now it sends when it is asked
 * again: poll() asks too. */
static void kick(struct xdp_port *port)
{
    const struct xdp_ring *tx = &port->ring[RING_TX];

    for (int i = 0; i < KICKS_MAX; i++) {
        port->down = 0;
        if (!xdp_ring_sleeps(tx) || __atomic_load_n(tx->consumer, __ATOMIC_ACQUIRE) == tx->ours ||
            sendto(port->port.fd, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
            return;
        port->down = errno == ENETDOWN || errno == ENXIO;
        if (errno != EAGAIN && errno != EBUSY && errno != ENOBUFS && errno != EINTR)
            return;
    }
}

/* Whether all of it lies in the memory that the interface knows. What stands before the header, metadata, has to be
 * ours alone. */
static int lies_well(const struct xdp_port *port, const struct tenon_frame *frame)
{
    const struct xdp_umem *umem = port->umem;
    const struct tenon_buf *first = &umem->chunks[0].buf, *last = &umem->chunks[umem->nchunks - 1].buf;

    if (frame->nspans > port->pieces_max || frame->spans[0].buf->refs != 1)
        return 0;
    for (unsigned i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        if ((uintptr_t)span->buf < (uintptr_t)first || (uintptr_t)span->buf > (uintptr_t)last || span->len == 0)
            return 0;
    }
    return 1;
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct xdp_port *port = xdp_of(host);
    unsigned got;

    if (port->free == NULL)
        reap(port);
    for (got = 0; got < n && port->free != NULL; got++) {
        bufs[got] = &port->free->buf;
        bufs[got]->refs = 1;
        port->free = port->free->next;
    }
    port->port.stats.buf_failures += got < n;
    return got;
}

/* @param[out] copies  XDP_GATHER_MAX spans with a reference each
 * @return how many; 0: there is no memory */
static unsigned copy_frame(struct xdp_port *port, struct tenon_span *copies, const struct tenon_frame *frame)
{
    const tenon_u32 each = port->umem->chunk_bytes - XDP_TX_ROOM;
    struct tenon_span *to = NULL;
    unsigned n = 0;

    for (unsigned i = 0; i < frame->nspans; i++) {
        const struct tenon_span *from = &frame->spans[i];

        for (tenon_u32 here, at = 0; at < from->len; at += here) {
            if (to == NULL || to->len == each) {
                to = &copies[n];
                to->off = to->len = 0;
                if (host_buf_get(port, &to->buf, 1) == 0) {
                    put_spans(copies, n);
                    return 0;
                }
                n++;
            }
            here = from->len - at < each - to->len ? from->len - at : each - to->len;
            memcpy(tenon_span_data(to) + to->len, tenon_span_data(from) + at, here);
            to->len += here;
        }
    }
    return n;
}

/* Descriptors into the ring, which takes a reference for each. There is room. */
static void put_descs(struct xdp_port *port, const struct tenon_frame *frame, const struct tenon_span *spans,
                      unsigned n)
{
    const struct xsk_tx_words metadata = { XSK_TXMD_CHECKSUM, frame->csum_start, frame->csum_offset, 0, 0 };
    struct xdp_ring *tx = &port->ring[RING_TX];
    tenon_u32 options = 0;

    if (port->info.completes_sums && frame->csum == TENON_CSUM_PARTIAL) {
        memcpy(tenon_span_data(&spans[0]) - sizeof metadata, &metadata, sizeof metadata);
        options = XSK_TX_METADATA;
    }
    for (unsigned i = 0; i < n; i++, options = 0) {
        struct xdp_desc *desc = (struct xdp_desc *)tx->entries + (tx->ours++ & tx->mask);

        desc->addr = xdp_address(port->umem, tenon_span_data(&spans[i]));
        desc->len = spans[i].len;
        desc->options = i + 1 < n ? options | XSK_PKT_CONTD : options;
        tenon_buf_ref(spans[i].buf);
    }
}

/* @return 0: taken, or lost for good; -1: there is no room now */
static int send_frame(struct xdp_port *port, const struct tenon_frame *frame)
{
    const uint64_t bytes = port_bytes(frame, 1);
    const tenon_u32 each = port->umem->chunk_bytes - XDP_TX_ROOM;
    struct tenon_span copies[XDP_GATHER_MAX];
    unsigned n = 0;

    if (bytes == 0 || bytes > each * port->pieces_max) {
        port->port.stats.tx_errors++;
        return 0;
    }
    if (xdp_ring_room(&port->ring[RING_TX], XDP_GATHER_MAX) < XDP_GATHER_MAX)
        return -1;
    if (lies_well(port, frame)) {
        put_descs(port, frame, frame->spans, frame->nspans);
        port->info.tx_lying_frames++;
    } else {
        n = copy_frame(port, copies, frame);
        if (n == 0)
            return -1;
        put_descs(port, frame, copies, n);
        put_spans(copies, n);
        port->info.tx_copied_frames++;
        port->info.tx_copied_bytes += bytes;
    }
    port_sent(&port->port, frame, 1);
    return 0;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct xdp_port *port = xdp_of(host);
    unsigned taken = 0;

    (void)netif;
    if (port->down)
        kick(port); /* it may be up again; what it was given last is still in the ring */
    if (port->down) {
        port->port.stats.tx_down += n;
        return n;
    }
    reap(port);
    while (taken < n && send_frame(port, &frames[taken]) == 0)
        taken++;
    port->port.stats.tx_busy += n - taken;
    xdp_ring_publish(&port->ring[RING_TX], port->ring[RING_TX].producer);
    kick(port);
    reap(port);
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------------------- */

/* Larger than the MTU: the kernel has joined what were several packets. For TCP that is no harm, but of what
 * were several datagrams nobody can say where each of them ended. */
static int is_joined_wrongly(const struct xdp_port *port, const struct tenon_frame *frame)
{
    const tenon_u8 *data = tenon_span_data(&frame->spans[0]);

    if (frame->nspans == 1 || port_bytes(frame, 1) <= port->interface.mtu + XDP_LINK_BYTES)
        return 0;
    return !((data[12] == 0x08 && data[23] == 6) || (data[12] == 0x86 && data[20] == 6));
}

/* Frames from the ring to rx_frames[], but for those that nobody can use. One of which a part is still missing stays.
 * @param[out] nspans  all that were taken
 * @return how many frames */
static unsigned collect(struct xdp_port *port, unsigned *nspans)
{
    struct xdp_ring *rx = &port->ring[RING_RX];
    const tenon_u32 ready = xdp_ring_ready(rx);
    unsigned n = 0, begin = 0;

    for (unsigned i = 0; i < ready && i < XDP_RX_SPANS && n < PORT_BURST; i++) {
        const struct xdp_desc *desc = (const struct xdp_desc *)rx->entries + ((rx->ours + i) & rx->mask);
        struct tenon_buf *buf = &xdp_chunk_at(port->umem, desc->addr)->buf;
        struct tenon_frame *frame = &port->rx_frames[n];

        port->rx_spans[i] = (struct tenon_span){ buf, (tenon_u32)(desc->addr - xdp_address(port->umem, buf->data)),
                                                 desc->len };
        buf->refs = 1;
        if ((desc->options & XSK_PKT_CONTD) != 0)
            continue;
        *frame = (struct tenon_frame){ .spans = port->rx_spans + begin, .nspans = (tenon_u16)(i + 1 - begin) };
        frame->csum = port->trusts ? TENON_CSUM_GOOD : TENON_CSUM_NONE;
        begin = i + 1;
        if (is_joined_wrongly(port, frame)) {
            port->port.stats.rx_bad++;
            continue;
        }
        n++;
    }
    rx->ours += begin;
    port->kept += begin;
    xdp_ring_publish(rx, rx->consumer);
    *nspans = begin;
    return n;
}

static int xdp_receive(struct port *base, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct xdp_port *port = xdp_of(base);
    unsigned n, nspans;
    int error = 0;
    socklen_t size = sizeof error;

    reap(port);
    kick(port);
    n = collect(port, &nspans);
    xdp_refill(port);
    if (xdp_ring_sleeps(&port->ring[RING_FILL]))
        (void)recvfrom(port->port.fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
    port->port.stats.rx_empty += n == 0;
    base->keeps = port_keeps(port->rx_out - port->kept, port->few, port->last);
    if (n > 0)
        port_input(base, stack, netif, port->rx_frames, n, now_us);
    if (now_us - port->looked_us >= GONE_EVERY_US) {
        port->looked_us = now_us;
        port->gone |= getsockopt(port->port.fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0;
    }
    put_spans(port->rx_spans, nspans);
    return port->gone ? -1 : (int)n;
}

/* ---- the kind -------------------------------------------------------------------------------------------- */

static void xdp_stats(struct port *base, struct port_stats *stats)
{
    const struct xdp_port *port = xdp_of(base);
    struct xdp_statistics kernels = { 0 };
    socklen_t size = sizeof kernels;

    (void)getsockopt(port->port.fd, SOL_XDP, XDP_STATISTICS, &kernels, &size);
    stats->buf_bytes = (uint64_t)port->nchunks * port->umem->chunk_bytes;
    stats->rx_no_buffer += kernels.rx_fill_ring_empty_descs;
    stats->rx_missed += kernels.rx_ring_full;
    if (kernels.rx_dropped > kernels.rx_fill_ring_empty_descs) /* where it copies, those are among these */
        stats->rx_bad += kernels.rx_dropped - kernels.rx_fill_ring_empty_descs;
    stats->tx_errors += kernels.tx_invalid_descs;
}

void xdp_port_info(const struct port *port, struct xdp_port_info *info)
{
    *info = ((const struct xdp_port *)(const void *)port)->info;
}

static const struct tenon_host xdp_host = {
    TENON_HOST_VERSION, port_mem_get, port_mem_put, host_buf_get, host_transmit, port_entropy,
};

const struct port_type xdp_port_type = {
    "xdp",
    "INTERFACE",
    "AF_XDP: a queue of a network interface, past the kernel's stack",
    xdp_settings,
    XDP_QUEUES_MAX,
    XDP_MEMORY,
    sizeof(struct xdp_port),
    xdp_open,
    xdp_close,
    &xdp_host,
    xdp_receive,
    xdp_stats,
    xdp_advice,
};
