/* SPDX-License-Identifier: MIT */
/* Between the core and the device: blocks that come in, frames that go out. */
#include "embedded/sock_internal.h"

/* ---- received ----------------------------------------------------------------------------------- */

static struct tenon_buf *rx_block(struct tenon_socks *socks)
{
    return tn_sock_has_block(socks) ? tn_sock_pool_get(&socks->blocks) : NULL;
}

TENON_API struct tenon_buf *tenon_sock_block(struct tenon_socks *socks)
{
    struct tenon_buf *block = rx_block(socks);

    if (block == NULL)
        sock_count(&socks->counts.no_block, 1);
    return block;
}

/* A block, or for a short frame a buffer for headers. */
static struct tenon_buf *rx_block_or_less(struct tenon_socks *socks, unsigned bytes)
{
    struct tenon_buf *block = rx_block(socks);

    if (block == NULL && bytes <= SOCK_HEADER_BYTES)
        block = tn_sock_pool_get(&socks->headers);
    return block;
}

/* What came before in this turn is looked at now if that makes room. */
TENON_API struct tenon_buf *tenon_sock_block_for(struct tenon_socks *socks, unsigned bytes)
{
    struct tenon_buf *block = rx_block_or_less(socks, bytes);

    if (block == NULL && !socks->sending) {
        tn_sock_rx_flush(socks);
        block = rx_block_or_less(socks, bytes);
    }
    if (block == NULL)
        sock_count(&socks->counts.no_block, 1);
    return block;
}

/* In a buffer for headers, of which one is there so that something is heard: nothing of it is kept. */
static int rx_is_lent(const struct tenon_socks *socks, const struct tenon_frame *frame)
{
    return TENON_CONTAINER(frame->spans->buf, struct sock_unit, buf)->pool != &socks->blocks;
}

/* Frames go up together, so that several segments get one answer, as long as there is a block besides for whoever is to
 * be heard after them; when blocks are short each is looked at by itself, and what comes in the last one is not kept:
 * who waits for room to send before he gives back what he has read could not hear else that there is room. */
TENON_INTERNAL void tn_sock_rx_flush(struct tenon_socks *socks)
{
    const struct tenon_frame *frame = socks->rx_frames;
    unsigned left = socks->nrx, n;

    while (left > 0) {
        const int spare = tn_sock_blocks_spare(socks), enough = spare >= (int)left;

        n = 1;
        socks->keeps = spare > 0 && !rx_is_lent(socks, frame);
        if (socks->keeps && enough && !(TENON_WITH_FRAGMENTS && socks->singly))
            while (n < left && !rx_is_lent(socks, frame + n))
                n++;
        if (TENON_WITH_FRAGMENTS)
            socks->looked = n == 1 ? frame->spans->buf : NULL;
        tenon_keep(socks->stack, socks->keeps ? TENON_KEEP_ALL : TENON_KEEP_NOTHING);
        (void)tenon_input(socks->stack, 1, frame, n, socks->now_us);
        for (; n > 0; n--, left--, frame++)
            tn_sock_looked_at(frame->spans->buf);
    }
    socks->nrx = 0;
    if (TENON_WITH_FRAGMENTS)
        socks->looked = NULL;
}

TENON_API void tenon_sock_input(struct tenon_socks *socks, struct tenon_buf *block, unsigned off, unsigned n,
                                enum tenon_csum csum)
{
    struct tenon_frame *frame = &socks->rx_frames[socks->nrx];
    struct tenon_span *span = &socks->rx_spans[socks->nrx];

    if (n == 0 || off > block->size || n > block->size - off) {
        sock_count(&socks->counts.too_long, n != 0);
        tenon_buf_put(block);
        return;
    }
    if (socks->sending || socks->running == SOCK_STARTED) {
        sock_count(&socks->counts.no_block, 1);
        tenon_buf_put(block);
        return;
    }
    if (socks->device.flags & TENON_SOCK_NO_DMA)
        sock_count(&socks->counts.device_bytes, n);
    span->buf = block;
    span->off = off;
    span->len = n;
    frame->spans = span;    /* all else of it stays 0 */
    frame->nspans = 1;
    frame->csum = (tenon_u8)csum;
    socks->nrx++;
    if (socks->nrx == TENON_SOCK_BURST)
        tn_sock_rx_flush(socks);
}

/* ---- sent --------------------------------------------------------------------------------------- */

static tenon_u32 device_frame_bytes(const struct tenon_frame *frame)
{
    tenon_u32 bytes = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    return bytes;
}

/* One frame of one span. @return 1: the device took it */
static unsigned device_send_one(struct tenon_socks *socks, const struct tenon_frame *frame, struct tenon_buf *buf,
                                tenon_u32 off)
{
    struct tenon_frame one = *frame;
    struct tenon_span span;

    span.buf = buf;
    span.off = off;
    span.len = device_frame_bytes(frame);
    one.spans = &span;
    one.nspans = 1;
    return socks->device.transmit(socks->device.device, &one, 1);
}

/* The packet of the ring that this frame is, with all its bytes still in their place and room in front; or NULL. */
static struct sock_linear *device_packet(const struct tenon_frame *frame)
{
    struct sock_linear *packet = frame->nspans == 2 ? tn_sock_packet_of(frame->spans[1].buf) : NULL;

    if (packet == NULL || frame->spans[1].off != 0 || frame->spans[0].len > TENON_SOCK_ROOM)
        return NULL;
    return packet;
}

/* The headers go into the room in front of the bytes: the frame lies in the ring as it goes onto the wire. While an
 * earlier frame of this packet is still with the device nothing may be written there. */
static unsigned device_send_in_place(struct tenon_socks *socks, const struct tenon_frame *frame,
                                     struct sock_linear *linear)
{
    struct tenon_buf *bytes = &linear->packet.buf;
    const tenon_u32 headers = frame->spans[0].len;
    unsigned taken;

    if (linear->wire.refs > 0)
        return 0;
    memcpy(bytes->data - headers, tenon_span_data(&frame->spans[0]), (size_t)headers);
    tenon_buf_ref(bytes);
    linear->wire.refs = 1;
    taken = device_send_one(socks, frame, &linear->wire, TENON_SOCK_ROOM - headers);
    if (taken > 0)
        sock_count(&socks->counts.header_bytes, headers);
    tenon_buf_put(&linear->wire);
    return taken;
}

/* The device has sent a frame that was put together. */
static void device_release_copy(struct tenon_buf *buf)
{
    TENON_CONTAINER(TENON_CONTAINER(buf, struct sock_unit, buf)->pool, struct tenon_socks, blocks)->copies--;
    buf->release = tn_sock_pool_put;
    tn_sock_pool_put(buf);
}

/* A frame of several packets, or of a part of one, is put together in a receive block. */
static unsigned device_send_copied(struct tenon_socks *socks, const struct tenon_frame *frame)
{
    const tenon_u32 bytes = device_frame_bytes(frame);
    struct tenon_buf *block = tn_sock_pool_get(&socks->blocks);
    tenon_u32 at = 0;
    unsigned i, taken;

    if (block == NULL)
        return 0;
    if (bytes > block->size) {
        tenon_buf_put(block);
        return 1;    /* larger than the MTU: nobody could have taken it */
    }
    for (i = 0; i < frame->nspans; i++) {
        memcpy(block->data + at, tenon_span_data(&frame->spans[i]), (size_t)frame->spans[i].len);
        at += frame->spans[i].len;
    }
    socks->copies++;
    block->release = device_release_copy;
    taken = device_send_one(socks, frame, block, 0);
    if (taken > 0)
        sock_count(&socks->counts.copied_bytes, bytes - frame->spans[0].len);
    tenon_buf_put(block);
    return taken;
}

static unsigned device_send_contiguous(struct tenon_socks *socks, const struct tenon_frame *frame)
{
    struct sock_linear *packet;

    if (frame->nspans == 1)
        return socks->device.transmit(socks->device.device, frame, 1);
    packet = device_packet(frame);
    return packet != NULL ? device_send_in_place(socks, frame, packet) : device_send_copied(socks, frame);
}

TENON_INTERNAL unsigned tn_sock_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct tenon_socks *socks = (struct tenon_socks *)host;
    unsigned taken = 0, i;

    (void)netif;
    socks->sending = 1;
    if (!tn_sock_is_contiguous(socks))
        taken = socks->device.transmit(socks->device.device, frames, n);
    else
        while (taken < n && device_send_contiguous(socks, &frames[taken]) > 0)
            taken++;
    socks->sending = 0;
    for (i = 0; TENON_WITH_STATS && i < taken && (socks->device.flags & TENON_SOCK_NO_DMA) != 0; i++)
        socks->counts.device_bytes += device_frame_bytes(&frames[i]);
    return taken;
}

/* ---- poll --------------------------------------------------------------------------------------- */

/* Tell the application what has happened since the last time. */
static void device_tell(struct tenon_socks *socks)
{
    struct sock *sock = socks->socks;
    unsigned n, events;
    int sk;

    socks->news = 0;
    for (n = socks->nsocks; n > 0; n--, sock++) {
        events = sock->events;
        if (events == 0)
            continue;
        sk = sock->number;
        sock->events = 0;
        if (events & TENON_SOCK_GONE)
            tn_sock_release(sock);
        if (socks->event != NULL)
            socks->event(socks->app, sk, events);
    }
}

TENON_API tenon_u32 tenon_sock_poll(struct tenon_socks *socks, tenon_u32 now_us)
{
    tenon_u32 wait;
    int had_block;

    if (socks->running == SOCK_POLLING)
        return 0;
    socks->running = SOCK_POLLING;
    if (TENON_WITH_COOKIES && now_us < socks->now_us)
        tn_sock_forget_promises(socks);
    socks->now_us = now_us;
    if (socks->device.poll != NULL)
        socks->device.poll(socks->device.device, socks);
    had_block = tn_sock_has_block(socks);
    tn_sock_close_ports(socks);
    tn_sock_rx_flush(socks);
    wait = tenon_poll(socks->stack, now_us);
    if (socks->news) {
        device_tell(socks);    /* then what it has asked for in its events; who asks in turns is to do so now */
        wait = socks->event != NULL ? tenon_poll(socks->stack, now_us) : 0;
    }
    socks->running = SOCK_POLLED;
    /* The device may have found no block, and has nothing to receive into until it is asked again. */
    return socks->news || socks->nrx > 0 || (!had_block && tn_sock_has_block(socks)) ? 0 : wait;
}
