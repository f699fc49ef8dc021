/* SPDX-License-Identifier: MIT */
/* The send ring: the application's memory, managed here. A packet is a record, for a device that takes frames of one
 * piece room for headers, and its bytes:
 *
 *      | record | ......room | bytes of the application | pad | record | ......room | ...
 *      tail              headers^
 *
 * It lies there until nobody refers to it any more: the core gives up its reference when the peer has acknowledged the
 * bytes, the device when it has sent them. Then the ring is free up to there, first in, first out. */
#include "embedded/sock_internal.h"

static struct sock_packet *ring_packet(tenon_u8 *at)
{
    return (struct sock_packet *)(void *)at;
}

/* Bytes that a packet can have whose record is at `at`, before `limit`, which is not before that. */
static tenon_u32 ring_room(const tenon_u8 *at, const tenon_u8 *limit, tenon_u32 front)
{
    const tenon_u32 bytes = (tenon_u32)(size_t)(limit - at);

    return bytes > front ? bytes - front : 0;
}

/* Bytes of a packet before those of the application: without LINEAR a number that is known. */
static tenon_u32 ring_front(const struct tenon_socks *socks)
{
    return TENON_WITH_LINEAR ? socks->front : tn_sock_ring_front(0);
}

/* Where the packet behind this one is, if it is not the last. */
static tenon_u8 *ring_next(const struct sock_ring *ring, tenon_u8 *at)
{
    const struct sock_packet *packet = ring_packet(at);

    at += tn_sock_align(ring_front(packet->sock->socks) + packet->buf.size);
    return at == ring->end ? ring->base : at;
}

/* How many bytes of a packet are not acknowledged. */
static tenon_u32 ring_unacked(const struct sock_ring *ring, const struct sock_packet *packet)
{
    const tenon_u32 size = packet->buf.size, n = packet->at + size - ring->una;

    if (n >= 0x80000000UL)    /* it ends before that */
        return 0;
    return n < size ? n : size;
}

/* Of small packets the core may make copies (conf.stack.tcp_copy_max): they leave the ring before they are
 * acknowledged, and count as acknowledged no faster than the peer says. */
enum { RING_COPIES = TENON_WITH_QUEUE || TENON_WITH_SPEED };

/* Bytes that were sent back lie between those of the ring: of the latter those on their way are counted anew, and the
 * rest is acknowledged, as all is that has left the ring. */
static tenon_u32 ring_own(struct sock_ring *ring, tenon_u32 bytes)
{
    const tenon_u32 before = ring->flight;
    tenon_u8 *at = ring->tail;
    unsigned i;

    ring->una += bytes;
    ring->flight = 0;
    for (i = ring->packets; i > 0; i--) {
        ring->flight += ring_unacked(ring, ring_packet(at));
        at = ring_next(ring, at);
    }
    if (RING_COPIES && ring->flight + bytes < before)
        ring->flight = before - bytes;
    return before - ring->flight;
}

/* ---- leaving the ring --------------------------------------------------------------------------- */

/* Nobody needs this packet any more. Those behind it may have been done with before. */
static void ring_release(struct tenon_buf *buf)
{
    struct sock *sock = TENON_CONTAINER(buf, struct sock_packet, buf)->sock;
    struct sock_ring *ring = &sock->ring;

    while (ring->packets > 0 && ring_packet(ring->tail)->buf.refs == 0) {
        ring->packets--;
        ring->tail = ring_next(ring, ring->tail);
        if (ring->tail == ring->base)
            ring->end = ring->limit;
    }
    if (sock->use == SOCK_USED)
        tn_sock_note(sock, TENON_SOCK_WRITABLE);
    else if (ring->packets == 0)
        tn_sock_note(sock, TENON_SOCK_GONE);
}

/* The device has done with the frame that lies in the ring. */
static void ring_release_wire(struct tenon_buf *buf)
{
    tenon_buf_put(&TENON_CONTAINER(buf, struct sock_linear, wire)->packet.buf);
}

TENON_INTERNAL struct sock_linear *tn_sock_packet_of(struct tenon_buf *buf)
{
    return buf->release == ring_release ? TENON_CONTAINER(buf, struct sock_linear, packet.buf) : NULL;
}

/* ---- the ring's memory -------------------------------------------------------------------------- */

static int ring_overlaps(const tenon_u8 *other, const tenon_u8 *other_limit, const tenon_u8 *base, tenon_u32 bytes)
{
    return other < base + bytes && base < other_limit;
}

/* The arena has that memory, or another end point. A ring that is none ends where nothing begins before, at NULL. */
static int ring_is_in_use(const struct tenon_socks *socks, const struct sock *sock, const tenon_u8 *base,
                          tenon_u32 bytes)
{
    const struct sock *other = socks->socks;
    unsigned n;

    if (ring_overlaps((const tenon_u8 *)socks, (const tenon_u8 *)socks + socks->arena_bytes, base, bytes))
        return 1;
    for (n = socks->nsocks; n > 0; n--, other++)
        if (other != sock && ring_overlaps(other->ring.base, other->ring.limit, base, bytes))
            return 1;
    return 0;
}

TENON_API int tenon_sock_set_sbuf(struct tenon_socks *socks, int sk, void *ring, tenon_u32 bytes)
{
    struct sock *sock = tn_sock_find(socks, sk);
    tenon_u8 *base = (tenon_u8 *)ring;
    const tenon_u32 skip = (tenon_u32)((SOCK_ALIGN - (size_t)base % SOCK_ALIGN) % SOCK_ALIGN);
    tenon_u32 flight;
    const int in_place = (socks->device.flags & TENON_SOCK_CONTIGUOUS) != 0;
    const int least = in_place ? (int)TENON_SOCK_PACKET_BYTES : (int)TENON_SOCK_RECORD_BYTES;

    if (sock == NULL || base == NULL)
        return TENON_EINVAL;
    if (bytes < (tenon_u32)least + SOCK_PAYLOAD_MIN)
        return TENON_EMSGSIZE;
    if (sock->ring.packets > 0 || ring_is_in_use(socks, sock, base, bytes))
        return TENON_EINUSE;
    flight = RING_COPIES ? sock->ring.flight : 0;
    memset(&sock->ring, 0, sizeof(sock->ring));
    if (RING_COPIES)
        sock->ring.flight = flight;
    sock->ring.base = base + skip;
    sock->ring.limit = sock->ring.base + (bytes - skip) / SOCK_ALIGN * SOCK_ALIGN;
    sock->ring.own = ring_own;
    return TENON_OK;
}

/* ---- where the next packet goes ----------------------------------------------------------------- */

/* Behind the last packet, or at the beginning when there is too little left for a full one, and more there. */
static void ring_find(struct sock_ring *ring, tenon_u32 front, tenon_u32 segment)
{
    tenon_u32 room, first;

    if (ring->packets == 0) {
        ring->head = ring->base;
        ring->tail = ring->limit;
    }
    ring->asked_at = ring->head;
    if (ring->head <= ring->tail) {
        room = ring_room(ring->head, ring->tail, front);
    } else {
        room = ring_room(ring->head, ring->limit, front);
        first = ring_room(ring->base, ring->tail, front);
        if (room < segment && room < first) {
            room = first;
            ring->asked_at = ring->base;
        }
    }
    if (room > segment)
        room = segment;
    if (ring->packets > 0 && room < segment / 4)
        room = 0;
    ring->asked = (tenon_u16)room;
}

/* What a full packet can have now. @return TENON_OK, or why there is none */
static int ring_segment(struct sock *sock)
{
    tenon_u32 bytes = 0;
    int error;

    if (sock->udp == NULL) {
        sock->segment = (tenon_u16)tenon_tcp_mss(sock->conn);
        return TENON_OK;
    }
    error = tenon_udp_payload_max(sock->udp, tn_sock_is_fixed(sock) ? NULL : &sock->peer.addr, &bytes);
    if (error != TENON_OK)
        return error == TENON_EINVAL ? TENON_EUNREACH : error;
    sock->segment = (tenon_u16)bytes;    /* less than the MTU, which is 9000 at most */
    return TENON_OK;
}

TENON_API int tenon_sock_ask_sbuf(struct tenon_socks *socks, int sk, tenon_u8 **p)
{
    struct sock *sock = tn_sock_find(socks, sk);
    int error = p != NULL ? tn_sock_may_send(sock, 0) : TENON_EINVAL;

    if (error != TENON_OK)
        return error;
    if (sock->ring.base == NULL)
        return TENON_ENOMEM;
    sock->ring.asked = 0;
    if (sock->state < TENON_SOCK_OPEN)
        return 0;
    error = ring_segment(sock);
    if (error != TENON_OK)
        return error;
    if (sock->ring.packets < socks->packets_max)
        ring_find(&sock->ring, ring_front(socks), sock->segment);
    if (sock->ring.asked == 0) {
        sock_count(&socks->counts.ring_full, 1);
        return 0;
    }
    *p = sock->ring.asked_at + ring_front(socks);
    return (int)sock->ring.asked;
}

/* ---- sending ------------------------------------------------------------------------------------ */

/* The same bytes with room for headers. */
static void ring_make_wire(struct sock_linear *linear)
{
    linear->wire.data = linear->packet.buf.data - TENON_SOCK_ROOM;
    linear->wire.size = linear->packet.buf.size + (tenon_u32)TENON_SOCK_ROOM;
    linear->wire.refs = 0;
    linear->wire.release = ring_release_wire;
}

/* The record of what was asked for. Nobody knows of it until it is sent. */
static struct sock_packet *ring_make(struct sock *sock, unsigned n)
{
    struct sock_packet *packet = ring_packet(sock->ring.asked_at);
    const struct tenon_socks *socks = sock->socks;

    packet->buf.data = (tenon_u8 *)packet + ring_front(socks);
    packet->buf.size = n;
    packet->buf.refs = 1;
    packet->buf.release = ring_release;
    packet->sock = sock;
    if (TENON_WITH_LINEAR && (socks->device.flags & TENON_SOCK_CONTIGUOUS))
        ring_make_wire(TENON_CONTAINER(packet, struct sock_linear, packet));
    return packet;
}

/* The core has it: it belongs to the ring. */
static void ring_commit(struct sock *sock, struct sock_packet *packet)
{
    struct sock_ring *ring = &sock->ring;

    packet->at = ring->una + ring->flight + sock->back;
    ring->flight += packet->buf.size;
    if (ring->packets == 0) {    /* since it was asked for all others have left: wherever it lies, it is the first */
        ring->tail = ring->asked_at;
        ring->end = ring->limit;
    } else if (ring->asked_at != ring->head) {
        ring->end = ring->head;    /* the packets go on at the beginning */
    }
    ring->head = ring->asked_at + tn_sock_align(ring_front(sock->socks) + packet->buf.size);
    ring->packets++;
    ring->asked = 0;
    tenon_buf_put(&packet->buf);
}

static int ring_send(struct sock *sock, unsigned n)
{
    struct sock_packet *packet = ring_make(sock, n);
    struct tenon_span span;
    int error;

    span.buf = &packet->buf;
    span.off = 0;
    span.len = n;
    error = tn_sock_send_span(sock, &sock->peer, &span);
    if (error == TENON_OK)
        ring_commit(sock, packet);
    return error;
}

TENON_API int tenon_sock_send(struct tenon_socks *socks, int sk, const tenon_u8 *p, unsigned n, unsigned options)
{
    struct sock *sock = tn_sock_find(socks, sk);
    const int fin = (options & TENON_SOCK_FIN) != 0;
    int error = tn_sock_may_send(sock, options);

    if (error != TENON_OK)
        return error;
    if (n == 0)
        return p == NULL && fin ? tn_sock_finish(sock) : TENON_EINVAL;
    if (sock->ring.base == NULL)
        return TENON_ENOMEM;
    if (sock->ring.asked == 0 || p != sock->ring.asked_at + ring_front(socks))
        return TENON_EINVAL;
    if (n > sock->ring.asked)
        return TENON_EMSGSIZE;
    error = ring_send(sock, n);
    return error == TENON_OK && fin ? tn_sock_finish(sock) : error;
}
