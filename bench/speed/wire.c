/* SPDX-License-Identifier: MIT */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

enum { POOL_CHUNK = 64, LINE = 64 };

/* A piece of memory of the pool; packets follow on the next line. */
struct speed_chunk {
    struct speed_chunk *next;
};

static void packet_release(struct tenon_buf *buf)
{
    struct speed_packet *packet = TENON_CONTAINER(buf, struct speed_packet, buf);

    packet->next = packet->pool->free;
    packet->pool->free = packet;
}

/* The pool is empty: make some more, each on cache lines of its own. */
struct speed_packet *speed_pool_more(struct speed_pool *pool)
{
    const size_t size = (sizeof(struct speed_packet) + pool->buf_bytes + LINE - 1) / LINE * LINE;
    uint8_t *mem = aligned_alloc(LINE, size * POOL_CHUNK + LINE);
    struct speed_chunk *chunk = (struct speed_chunk *)(void *)mem;
    unsigned i;

    if (mem == NULL)
        return NULL;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    mem += LINE;
    for (i = 0; i < POOL_CHUNK; i++) {
        struct speed_packet *packet = (struct speed_packet *)(void *)(mem + i * size);

        packet->buf.data = packet->bytes;
        packet->buf.size = pool->buf_bytes;
        packet->buf.refs = 0;
        packet->buf.release = packet_release;
        packet->pool = pool;
        packet_release(&packet->buf);
    }
    return speed_packet_get(pool);
}

void speed_pool_end(struct speed_pool *pool)
{
    while (pool->chunks != NULL) {
        struct speed_chunk *chunk = pool->chunks;

        pool->chunks = chunk->next;
        free(chunk);
    }
    pool->free = NULL;
}

unsigned speed_wire_send(struct speed_wire *wire, const struct tenon_frame *frames, unsigned n)
{
    const uint32_t room = speed_wire_room(wire);
    unsigned i, j;

    if (n > room)
        n = room;
    for (i = 0; i < n; i++) {
        const struct tenon_frame *frame = &frames[i];
        struct speed_packet *packet = TENON_CONTAINER(frame->spans[0].buf, struct speed_packet, buf);

        packet->frame = *frame;
        packet->frame.spans = packet->spans;
        for (j = 0; j < frame->nspans; j++) {
            packet->spans[j] = frame->spans[j];
            tenon_buf_ref(frame->spans[j].buf);
        }
        speed_wire_put(wire, packet);
    }
    return n;
}

unsigned speed_wire_take(struct speed_wire *wire, struct tenon_frame *frames, struct speed_packet **packets,
                         unsigned most)
{
    const unsigned n = speed_wire_waiting(wire, most);
    unsigned i;

    for (i = 0; i < n; i++) {
        packets[i] = speed_wire_get(wire);
        frames[i] = packets[i]->frame;
        frames[i].csum = wire->csum;
    }
    return n;
}

void speed_wire_done(struct speed_packet **packets, unsigned n)
{
    unsigned i, j;

    for (i = 0; i < n; i++)    /* the packet itself is the first span's */
        for (j = packets[i]->frame.nspans; j-- > 0;)
            tenon_buf_put(packets[i]->spans[j].buf);
}

/* ---- cutting, as a NIC with TSO does it ------------------------------------------------------------ */

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static void put16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v);
}

static uint32_t fold(uint32_t sum)
{
    sum = (sum >> 16) + (sum & 0xFFFF);
    return (sum >> 16) + (sum & 0xFFFF);
}

static uint32_t sum_of(const uint8_t *p, size_t n)
{
    uint32_t sum = 0;

    for (; n > 1; n -= 2, p += 2)
        sum += get16(p);
    return fold(sum + (n ? (uint32_t)p[0] << 8 : 0));
}

enum { ETH = 14, IP4 = 20, IP6 = 40 };

/* The headers of the piece at `off`, without options and extension headers. The payload of this benchmark is all zeros
 * where a receiver sums it, so that the sum of the headers is the sum of it all. */
static void piece_headers(uint8_t *head, const struct tenon_frame *whole, uint32_t off, uint32_t bytes, int last)
{
    uint8_t *ip = head + ETH, *tcp = head + whole->csum_start;
    const uint32_t l4 = whole->header_bytes - whole->csum_start;
    const uint32_t seq = get16(tcp + 4) << 16 | get16(tcp + 6), ends = whole->csum_start == ETH + IP6 ? 32 : 8;

    if (whole->csum_start == ETH + IP6) {
        put16(ip + 4, l4 + bytes);
    } else {
        put16(ip + 2, IP4 + l4 + bytes);
        put16(ip + 4, get16(ip + 4) + off / whole->seg_bytes);
        put16(ip + 10, 0);
        put16(ip + 10, ~sum_of(ip, IP4) & 0xFFFF);
    }
    put32(tcp + 4, seq + off);
    if (!last)
        tcp[13] &= (uint8_t)~9U;    /* FIN and PSH are for the last */
    put16(tcp + 16, 0);
    put16(tcp + 16, ~fold(sum_of(tcp - ends, ends) + 6 + l4 + bytes + sum_of(tcp, l4)) & 0xFFFF);
}

/* Payload [off, off + bytes) of a frame, as spans of the packet. */
static void piece_spans(struct speed_packet *packet, const struct tenon_frame *whole, uint32_t off, uint32_t bytes)
{
    uint32_t start = 0;
    unsigned i, n = 1;

    for (i = 0; i < whole->nspans; i++) {
        struct tenon_span span = whole->spans[i];
        uint32_t from, to;

        if (i == 0) {
            span.off += whole->header_bytes;
            span.len -= whole->header_bytes;
        }
        from = off > start ? off - start : 0;
        to = off + bytes < start + span.len ? off + bytes - start : span.len;
        if (off + bytes > start && from < to) {
            packet->spans[n].buf = span.buf;
            packet->spans[n].off = span.off + from;
            packet->spans[n++].len = to - from;
            tenon_buf_ref(span.buf);
        }
        start += span.len;
    }
    packet->frame.nspans = (tenon_u16)n;
}

static struct speed_packet *piece_of(struct speed_pool *pool, const struct tenon_frame *whole, uint32_t off,
                                     uint32_t bytes, int last)
{
    struct speed_packet *packet = speed_packet_get(pool);

    if (packet == NULL)
        abort();
    memcpy(packet->bytes, tenon_span_data(&whole->spans[0]), whole->header_bytes);
    piece_headers(packet->bytes, whole, off, bytes, last);
    packet->frame = *whole;
    packet->frame.spans = packet->spans;
    if (off > 0 || !last) {    /* one of several: a segment as any other */
        packet->frame.seg_kind = TENON_SEG_NONE;
        packet->frame.seg_bytes = 0;
    }
    packet->spans[0].buf = &packet->buf;
    packet->spans[0].off = 0;
    packet->spans[0].len = whole->header_bytes;
    piece_spans(packet, whole, off, bytes);
    return packet;
}

/* Complete the checksum of a frame of zeros, or of one without payload. */
static void complete(const struct tenon_frame *frame)
{
    uint8_t *tcp = tenon_span_data(&frame->spans[0]) + frame->csum_start;
    const uint32_t l4 = frame->spans[0].len - frame->csum_start;

    if (frame->csum == TENON_CSUM_PARTIAL)
        put16(tcp + frame->csum_offset, ~sum_of(tcp, l4) & 0xFFFF);
}

unsigned speed_wire_send_cut(struct speed_wire *wire, struct speed_pool *pool, const struct tenon_frame *frames,
                             unsigned n)
{
    unsigned i, j;

    for (i = 0; i < n; i++) {
        const struct tenon_frame *frame = &frames[i];
        uint32_t payload = 0, off, bytes;

        if (speed_wire_room(wire) < 64)
            return i;
        if (frame->seg_kind == TENON_SEG_NONE) {
            complete(frame);
            speed_wire_send(wire, frame, 1);
            continue;
        }
        for (j = 0; j < frame->nspans; j++)
            payload += frame->spans[j].len;
        payload -= frame->header_bytes;
        for (off = 0; off < payload; off += bytes) {
            bytes = payload - off;
            if (!wire->whole && bytes > frame->seg_bytes)
                bytes = frame->seg_bytes;
            speed_wire_put(wire, piece_of(pool, frame, off, bytes, off + bytes == payload));
        }
    }
    return n;
}
