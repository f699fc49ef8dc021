/* SPDX-License-Identifier: MIT */
/* The small machine's device, as hardware with DMA is: to send it keeps references to what lies in memory, and reads
 * it later; what has changed there in between would be a frame that nobody has made. To receive it writes frames into
 * blocks, its own or such as it takes when a frame comes. */
#include "history.h"

#include "tests/seeds/emit.h"

#include <stdlib.h>
#include <string.h>

enum { RX_OFF = 2 };

/* ---- sending --------------------------------------------------------------------------------------- */

static uint32_t bytes_sum(const tenon_u8 *bytes, uint32_t n)
{
    uint32_t sum = n, i;

    for (i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * 16777619U;
    return sum;
}

/* Onto the wire. */
static void device_emit(struct history *h, const struct tenon_frame *frame, const tenon_u8 *bytes, uint32_t n)
{
    if (h->unplugged)
        return;
    emit_frame(h->small_host, 1, frame, bytes, n);
    h->frames++;
}

static void device_sent(void *arg);

static void device_sends(struct history *h)
{
    const uint64_t now = wire_now(h->wire), sent = now + h->plan.tx_us;

    h->device.sending = 1;
    if (wire_at(h->wire, sent < h->device.stuck_until ? h->device.stuck_until : sent, device_sent, h) != 0)
        abort();
}

static void device_sent(void *arg)
{
    struct history *h = arg;
    struct device *device = &h->device;
    struct slot *slot = &device->slot[device->first];
    tenon_u8 bytes[EMIT_BYTES_MAX];
    uint32_t n;
    unsigned i;

    device->sending = 0;
    if (device->count == 0)
        return;    /* it was stopped */
    n = emit_copy(&slot->frame, bytes);
    if (bytes_sum(bytes, n) != slot->sum)
        history_fail(h, "a frame of %u bytes was changed while the device had it", n);
    device_emit(h, &slot->frame, bytes, n);
    for (i = 0; i < slot->frame.nspans; i++)
        tenon_buf_put(slot->spans[i].buf);
    device->first = (device->first + 1) % SLOTS_MAX;
    device->count--;
    if (device->count > 0)
        device_sends(h);
    wire_wake(h->small_host);
}

static void check_frame(struct history *h, const struct tenon_frame *frame)
{
    uint32_t n = 0;
    unsigned i;

    if (frame->nspans == 0 || frame->nspans > SPANS_MAX)
        history_fail(h, "a frame of %u pieces", frame->nspans);
    if ((h->plan.conf.device.flags & TENON_SOCK_CONTIGUOUS) && frame->nspans != 1)
        history_fail(h, "a frame of %u pieces for a device that takes one", frame->nspans);
    for (i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        if (span->buf->refs == 0 || span->len == 0 || span->off > span->buf->size ||
            span->len > span->buf->size - span->off)
            history_fail(h, "a sent frame lies outside of its buffer");
        n += span->len;
    }
    if (n > h->plan.conf.device.netif.mtu + 14U)
        history_fail(h, "a frame of %u bytes is sent", n);
    if (frame->csum == TENON_CSUM_PARTIAL && !h->plan.csum)
        history_fail(h, "a checksum is left to a device that makes none");
}

static void device_take(struct history *h, const struct tenon_frame *frame)
{
    struct device *device = &h->device;
    struct slot *slot = &device->slot[(device->first + device->count) % SLOTS_MAX];
    tenon_u8 bytes[EMIT_BYTES_MAX];
    unsigned i;

    slot->frame = *frame;
    memcpy(slot->spans, frame->spans, frame->nspans * sizeof(slot->spans[0]));
    slot->frame.spans = slot->spans;
    slot->sum = bytes_sum(bytes, emit_copy(frame, bytes));
    for (i = 0; i < frame->nspans; i++)
        tenon_buf_ref(slot->spans[i].buf);
    device->count++;
    if (!device->sending)
        device_sends(h);
}

unsigned device_transmit(void *arg, const struct tenon_frame *frames, unsigned n)
{
    struct history *h = arg;
    tenon_u8 bytes[EMIT_BYTES_MAX];
    unsigned i;

    if (h->unplugged)
        history_fail(h, "a frame is sent while the link is down");
    for (i = 0; i < n; i++) {
        check_frame(h, &frames[i]);
        if (h->plan.conf.device.flags & TENON_SOCK_NO_DMA) {
            device_emit(h, &frames[i], bytes, emit_copy(&frames[i], bytes));
            continue;
        }
        if (h->device.count == h->plan.slots) {
            h->device.full = 1;
            break;
        }
        device_take(h, &frames[i]);
    }
    return i;
}

/* A frame that the device has lies in a ring, with its headers in front: of that packet there is no other now. */
static int sends_out_of_a_ring(const struct history *h)
{
    const struct device *device = &h->device;
    unsigned i;

    for (i = 0; i < device->count; i++) {
        const tenon_u8 *bytes = device->slot[(device->first + i) % SLOTS_MAX].spans[0].buf->data;

        if (bytes < h->arena || bytes >= h->arena + h->arena_bytes)
            return 1;
    }
    return 0;
}

int device_is_awaited(const struct history *h)
{
    const int copies = (h->plan.conf.device.flags & TENON_SOCK_CONTIGUOUS) != 0;
    struct tenon_sock_counts counts;

    if (h->device.full || !copies || h->device.count == 0)
        return h->device.full;
    tenon_sock_count(h->socks, &counts);
    return counts.blocks_free == 0 || sends_out_of_a_ring(h);
}

/* ---- receiving ------------------------------------------------------------------------------------- */

void device_refill(struct history *h)
{
    struct device *device = &h->device;

    while (device->nempty < h->plan.rx_blocks && !h->ending) {
        struct tenon_buf *block = tenon_sock_block(h->socks);

        if (block == NULL)
            return;
        device->empty[device->nempty++] = block;
    }
}

static struct tenon_buf *device_block(struct history *h, const struct tenon_frame *frame)
{
    struct device *device = &h->device;
    unsigned bytes = RX_OFF, i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    if (h->plan.conf.device.flags & TENON_SOCK_LENGTHS)
        return tenon_sock_block_for(h->socks, bytes);
    if (h->plan.rx_blocks == 0)
        return tenon_sock_block(h->socks);
    return device->nempty > 0 ? device->empty[--device->nempty] : NULL;
}

static void device_write(struct history *h, const struct tenon_frame *frame, struct tenon_buf *block)
{
    struct device *device = &h->device;
    const unsigned i = device->nwaiting;
    unsigned k;

    device->waiting[i].block = block;
    device->waiting[i].off = RX_OFF;
    device->waiting[i].n = 0;
    device->waiting[i].csum = frame->csum == TENON_CSUM_GOOD ? TENON_CSUM_GOOD : TENON_CSUM_NONE;
    for (k = 0; k < frame->nspans; k++) {
        const struct tenon_span *span = &frame->spans[k];

        if (RX_OFF + device->waiting[i].n + span->len <= block->size)
            memcpy(block->data + RX_OFF + device->waiting[i].n, tenon_span_data(span), span->len);
        device->waiting[i].n += span->len;
    }
    device->nwaiting++;
}

static void device_hand_over(struct history *h)
{
    struct device *device = &h->device;
    unsigned i;

    for (i = 0; i < device->nwaiting; i++)
        tenon_sock_input(h->socks, device->waiting[i].block, device->waiting[i].off, device->waiting[i].n,
                         device->waiting[i].csum);
    device->nwaiting = 0;
}

void device_receive(struct history *h, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        const int hears = !h->unplugged && !h->ending && h->device.nwaiting < WAITING_MAX;
        struct tenon_buf *block = hears ? device_block(h, &frames[i]) : NULL;

        if (block == NULL)
            h->device.dropped++;
        else
            device_write(h, &frames[i], block);
    }
    if (!h->plan.later)    /* the program does it before it polls */
        device_hand_over(h);
}

void device_poll(void *arg, struct tenon_socks *socks)
{
    struct history *h = arg;

    (void)socks;
    device_hand_over(h);
    device_refill(h);
}

int device_entropy(void *arg, void *bytes, size_t n)
{
    struct history *h = arg;

    return wire_host_ops()->entropy(h->small_host, bytes, n);
}

int device_is_idle(const struct history *h)
{
    return h->device.count == 0 && h->device.nwaiting == 0;
}

/* All references go back. */
void device_stop(struct history *h)
{
    struct device *device = &h->device;
    unsigned i;

    for (; device->count > 0; device->count--) {
        const struct slot *slot = &device->slot[device->first];

        for (i = 0; i < slot->frame.nspans; i++)
            tenon_buf_put(slot->spans[i].buf);
        device->first = (device->first + 1) % SLOTS_MAX;
    }
    for (i = 0; i < device->nempty; i++)
        tenon_buf_put(device->empty[i]);
    for (i = 0; i < device->nwaiting; i++)
        tenon_buf_put(device->waiting[i].block);
    device->nempty = device->nwaiting = 0;
}
