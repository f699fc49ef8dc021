/* SPDX-License-Identifier: MIT */
#include "rxslots.h"

#include <string.h>

enum {
    SMALL_MIN = 2048,
    HEADROOM = 128 /* link header with tags, and what tenon_tcp_write() wants beside the MTU */
};

void port_rxslots_init(struct rxslots *slots, unsigned mtu, size_t bytes_max)
{
    const unsigned small = mtu + HEADROOM;

    memset(slots, 0, sizeof *slots);
    port_bufpool_init(&slots->small, small < SMALL_MIN ? SMALL_MIN : small, bytes_max);
    port_bufpool_init(&slots->large, RXSLOTS_LARGE, bytes_max);
    slots->for_sending = slots->small.bufs_max / 4 < PORT_BURST ? slots->small.bufs_max / 4 : PORT_BURST;
}

void port_rxslots_fini(struct rxslots *slots)
{
    port_bufpool_fini(&slots->small);
    port_bufpool_fini(&slots->large);
}

static struct tenon_buf *get_small(struct rxslots *slots)
{
    return port_bufpool_left(&slots->small) > slots->for_sending ? port_bufpool_get(&slots->small) : NULL;
}

/* Those behind frame `i` were for longer bursts: when there is no other, one serves here. */
static struct tenon_buf *get_idle(struct rxslots *slots, unsigned i)
{
    struct tenon_buf *buf = NULL;

    for (unsigned k = PORT_BURST - 1; k > i && buf == NULL; k--) {
        buf = slots->first[k];
        slots->first[k] = NULL;
    }
    return buf;
}

/* See to it that frame `i` has buffers for n bytes; a pool that is exhausted leaves NULL. */
static void fill_slot(struct rxslots *slots, unsigned i, size_t n)
{
    if (slots->last == NULL && i == 0)
        slots->last = get_small(slots);
    if (slots->first[i] == NULL)
        slots->first[i] = get_small(slots);
    if (slots->first[i] == NULL)
        slots->first[i] = get_idle(slots, i);
    if (slots->first[i] == NULL && i == 0) {
        slots->first[0] = slots->last;
        slots->last = NULL;
    }
    if (slots->rest[i] == NULL && n > slots->small.buf_bytes)
        slots->rest[i] = port_bufpool_get(&slots->large);
}

unsigned port_rxslots_iov(struct rxslots *slots, unsigned i, int with_large, struct iovec iov[2])
{
    const struct tenon_buf *first, *rest;

    fill_slot(slots, i, with_large ? SIZE_MAX : 0);
    first = slots->first[i];
    rest = slots->rest[i];
    if (first == NULL)
        return 0;
    iov[0] = (struct iovec){ first->data, first->size };
    if (rest == NULL)
        return 1;
    iov[1] = (struct iovec){ rest->data, rest->size };
    return 2;
}

int port_rxslots_has(struct rxslots *slots, unsigned i)
{
    fill_slot(slots, i, 0);
    return i == 0 || slots->first[i] != NULL;
}

void port_rxslots_copy(struct rxslots *slots, unsigned i, const tenon_u8 *bytes, size_t n)
{
    const size_t most = slots->small.buf_bytes, first = n < most ? n : most;

    if (n - first > RXSLOTS_LARGE)
        return;
    fill_slot(slots, i, n);
    if (slots->first[i] != NULL)
        memcpy(slots->first[i]->data, bytes, first);
    if (slots->rest[i] != NULL)
        memcpy(slots->rest[i]->data, bytes + first, n - first);
}

int port_rxslots_finish(struct rxslots *slots, unsigned i, size_t n, const tenon_u8 header[VNET_BYTES],
                        struct port_stats *stats)
{
    struct tenon_buf *first = slots->first[i], *rest = slots->rest[i];
    struct tenon_span *spans = slots->spans[i];
    const size_t most = slots->small.buf_bytes;

    if (n > most + RXSLOTS_LARGE) {
        stats->rx_bad++;
        return -1;
    }
    if (first == NULL || (n > most && rest == NULL)) {
        stats->rx_no_buffer++;
        return -1;
    }
    slots->frames[i] = (struct tenon_frame){ .spans = spans, .nspans = n > most ? 2 : 1 };
    spans[0] = (struct tenon_span){ first, 0, (tenon_u32)(n > most ? most : n) };
    spans[1] = (struct tenon_span){ rest, 0, (tenon_u32)(n > most ? n - most : 0) };
    if (port_vnet_read(header, &slots->frames[i]) != 0) {
        stats->rx_bad++;
        return -1;
    }
    return 0;
}

static void recycle(struct tenon_buf **slot)
{
    if (*slot == NULL || (*slot)->refs == 1)
        return;
    tenon_buf_put(*slot);
    *slot = NULL;
}

void port_rxslots_input(struct rxslots *slots, struct port *port, unsigned n, struct tenon *stack, unsigned netif,
                        tenon_u32 now_us)
{
    port->keeps = port_keeps(port_bufpool_left(&slots->small), slots->small.bufs_max / 4, 0);
    if (slots->last == NULL)
        port->keeps = TENON_KEEP_NOTHING;
    port_input(port, stack, netif, slots->frames, n, now_us);
    for (unsigned i = 0; i < n; i++) {
        recycle(&slots->first[i]);
        recycle(&slots->rest[i]);
    }
}

void port_rxslots_stats(const struct rxslots *slots, struct port_stats *stats)
{
    stats->buf_failures = slots->small.failures + slots->large.failures;
    stats->buf_bytes = (uint64_t)slots->small.bufs * slots->small.buf_bytes;
    stats->buf_bytes += (uint64_t)slots->large.bufs * slots->large.buf_bytes;
}
