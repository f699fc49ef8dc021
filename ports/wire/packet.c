/* SPDX-License-Identifier: MIT */
/* Packets on the wire: made of a sent frame without copying its payload, cut into segments as a NIC
 * does it, completed with checksums, damaged. */
#include "wire_internal.h"

#include <string.h>

unsigned wire_be16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

void wire_put_be16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put_be32(uint8_t *p, uint32_t v)
{
    wire_put_be16(p, v >> 16);
    wire_put_be16(p + 2, v);
}

/* ---- the Internet checksum, RFC 1071 --------------------------------------------------------- */

uint32_t wire_fold(uint64_t sum)
{
    while (sum > 0xFFFF)
        sum = (sum >> 16) + (sum & 0xFFFF);
    return (uint32_t)sum;
}

/* Sum of big-endian 16-bit words. Written for bytes at any address; a last odd byte counts as the high
 * half of a word. */
uint32_t wire_sum(const uint8_t *p, size_t n)
{
    uint64_t sum = 0;

    for (; n >= 8; n -= 8, p += 8)
        sum += (uint64_t)be32(p) + be32(p + 4);
    for (; n >= 2; n -= 2, p += 2)
        sum += wire_be16(p);
    if (n)
        sum += (uint32_t)p[0] << 8;
    return wire_fold(sum);
}

/* Add a piece that begins at an even or odd distance from the start of the summed bytes. */
static uint32_t sum_add(uint32_t sum, uint32_t piece, size_t distance)
{
    if (distance & 1)
        piece = (piece & 0xFF) << 8 | piece >> 8;
    return wire_fold((uint64_t)sum + piece);
}

static uint32_t packet_sum(const struct wire_packet *packet, uint32_t from)
{
    uint32_t sum = wire_sum(packet->head + from, packet->head_bytes - from);
    size_t distance = packet->head_bytes - from;
    unsigned i;

    for (i = 0; i < packet->nspans; i++) {
        const struct tenon_span *span = &packet->spans[i];

        sum = sum_add(sum, wire_sum(tenon_span_data(span), span->len), distance);
        distance += span->len;
    }
    return sum;
}

/* A PARTIAL checksum becomes a whole one. UDP writes 0 as 0xFFFF (RFC 768); for TCP both are the same. */
void wire_packet_complete(struct wire_packet *packet)
{
    uint32_t sum;

    if (packet->csum != TENON_CSUM_PARTIAL)
        return;
    sum = ~packet_sum(packet, packet->csum_start) & 0xFFFF;
    wire_put_be16(packet->head + packet->csum_start + packet->csum_offset, sum ? sum : 0xFFFF);
    packet->csum = TENON_CSUM_NONE;
}

/* ---- making ---------------------------------------------------------------------------------- */

static struct wire_packet *packet_new(struct wire *wire, uint32_t head_bytes, unsigned nspans)
{
    const size_t block = sizeof(struct wire_packet) + nspans * sizeof(struct tenon_span) + head_bytes;
    struct wire_packet *packet = wire_mem_get(wire, block);

    if (!packet)
        return NULL;
    memset(packet, 0, sizeof(*packet));
    packet->wire = wire;
    packet->block = block;
    packet->refs = 1;
    packet->head_bytes = head_bytes;
    packet->spans = (struct tenon_span *)(void *)(packet + 1);
    packet->head = (uint8_t *)(packet->spans + nspans);
    return packet;
}

void wire_packet_put(struct wire_packet *packet)
{
    unsigned i;

    if (--packet->refs > 0)
        return;
    for (i = 0; i < packet->nspans; i++)
        tenon_buf_put(packet->spans[i].buf);
    wire_mem_put(packet->wire, packet, packet->block);
}

static void packet_share(struct wire_packet *packet, struct tenon_buf *buf, uint32_t off, uint32_t len)
{
    struct tenon_span *span;

    if (len == 0)
        return;
    span = &packet->spans[packet->nspans++];
    tenon_buf_ref(buf);
    span->buf = buf;
    span->off = off;
    span->len = len;
}

/* What a receiver keeps (text out of order, an echo) is missing in its sender's pool, and may be just what the sender
 * needs to go on: nobody shares the last quarter of a pool. */
static int pool_is_low(const struct wire_host *host)
{
    return host->conf.bufs_max && host->stats.bufs > host->conf.bufs_max - host->conf.bufs_max / 4;
}

struct wire_packet *wire_packet_make(struct wire_end *from, const struct tenon_frame *frame)
{
    struct wire_packet *packet;
    uint32_t total = 0, head, copied = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        total += frame->spans[i].len;
    head = frame->header_bytes;
    if (head == 0 || head > total || (total <= WIRE_SMALL_FRAME && frame->seg_kind == TENON_SEG_NONE))
        head = total;    /* what is to be cut keeps its payload apart */
    packet = packet_new(from->host->wire, head, frame->nspans);
    if (!packet)
        return NULL;
    for (i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];
        const uint32_t take = span->len < head - copied ? span->len : head - copied;

        if (take > 0)
            memcpy(packet->head + copied, tenon_span_data(span), take);
        copied += take;
        packet_share(packet, span->buf, span->off + take, span->len - take);
    }
    packet->from = from;
    packet->unshared = (uint8_t)pool_is_low(from->host);
    packet->bytes = total;
    packet->csum = frame->csum;
    packet->seg_kind = frame->seg_kind;
    packet->seg_bytes = frame->seg_bytes;
    packet->csum_start = frame->csum_start;
    packet->csum_offset = frame->csum_offset;
    packet->header_bytes = frame->header_bytes;
    return packet;
}

/* A packet of n bytes that are still to be written. */
struct wire_packet *wire_packet_room(struct wire *wire, uint32_t n)
{
    struct wire_packet *packet = packet_new(wire, n, 0);

    if (packet)
        packet->bytes = n;
    return packet;
}

struct wire_packet *wire_packet_bytes(struct wire *wire, const void *bytes, uint32_t n)
{
    struct wire_packet *packet = wire_packet_room(wire, n);

    if (packet && n > 0)
        memcpy(packet->head, bytes, n);
    return packet;
}

/* Copy n bytes from offset `off` of the packet. */
void wire_packet_copy(const struct wire_packet *packet, uint32_t off, uint8_t *to, uint32_t n)
{
    uint32_t start = packet->head_bytes;
    unsigned i;

    if (off < packet->head_bytes) {
        const uint32_t take = n < packet->head_bytes - off ? n : packet->head_bytes - off;

        memcpy(to, packet->head + off, take);
        to += take;
        off += take;
        n -= take;
    }
    for (i = 0; i < packet->nspans && n > 0; i++) {
        const struct tenon_span *span = &packet->spans[i];

        if (off < start + span->len) {
            const uint32_t left = start + span->len - off;
            const uint32_t take = n < left ? n : left;

            memcpy(to, tenon_span_data(span) + (off - start), take);
            to += take;
            off += take;
            n -= take;
        }
        start += span->len;
    }
}

/* Whether a length that is wrong leaves out of the checksum, or takes into it, just what it counts for in it itself. */
static int length_cancels(const uint8_t *from, uint32_t n, unsigned was, unsigned is, unsigned counts)
{
    const unsigned low = was < is ? was : is, high = was < is ? is : was;

    return low < high && high <= n &&
           sum_add(wire_fold((uint64_t)counts * (high - low)), wire_sum(from + low, high - low), low) == 0xFFFF;
}

enum { IP6_BYTES = 40, UDP_BYTES = 8, PROTO_UDP = 17, HEADERS_MAX = 60 + UDP_BYTES };

/* Whether no receiver can find the damage to a packet of n bytes whose headers were others. One inverted bit changes
 * every sum over the same bytes, but a length says which bytes: of 65535 wrong ones one fits. The length of IPv6 counts
 * once, in the pseudo-header (RFC 8200 8.1); that of UDP twice (RFC 768); what a first fragment has to do with the
 * others is not known here. The length of IPv4 has a checksum of its own. */
static int damage_hides(const uint8_t *was, const uint8_t *ip, uint32_t n)
{
    const int v6 = was[0] >> 4 == 6;
    const uint32_t header = v6 ? IP6_BYTES : (was[0] & 0x0FU) * 4;
    unsigned was_udp, is_udp;

    if (n < header + UDP_BYTES)
        return 0;
    if (v6 && length_cancels(ip + header, n - header, wire_be16(was + 4), wire_be16(ip + 4), 1))
        return 1;
    if (was[v6 ? 6 : 9] != PROTO_UDP)
        return 0;
    was_udp = wire_be16(was + header + 4);
    is_udp = wire_be16(ip + header + 4);
    if (!v6 && (was[6] & 0x20))
        return was_udp != is_udp;
    return length_cancels(ip + header, n - header, was_udp, is_udp, 2);
}

/* A copy with inverted bits. Its checksum is made whole before, as it would be on a real line: whoever
 * takes the packet can find the damage.
 * @return NULL: no memory, or nobody could find it */
struct wire_packet *wire_packet_damaged(struct wire_packet *packet, const struct wire_fate *fate, uint32_t link)
{
    struct wire_packet *copy = packet_new(packet->wire, packet->bytes, 0);
    uint8_t was[HEADERS_MAX] = { 0 };
    uint32_t bits, at;
    unsigned i;

    if (!copy)
        return NULL;
    wire_packet_copy(packet, 0, copy->head, packet->bytes);
    copy->from = packet->from;
    copy->bytes = packet->bytes;
    copy->csum = packet->csum;
    copy->seg_kind = packet->seg_kind;
    copy->seg_bytes = packet->seg_bytes;
    copy->csum_start = packet->csum_start;
    copy->csum_offset = packet->csum_offset;
    copy->header_bytes = packet->header_bytes;
    copy->damaged = 1;
    wire_packet_complete(copy);
    if (link >= copy->bytes)
        return copy;
    bits = (copy->bytes - link) * 8;
    memcpy(was, copy->head + link, bits / 8 < sizeof(was) ? bits / 8 : sizeof(was));
    for (i = 0; i < fate->flips; i++) {
        at = (fate->flip_at % bits + (i * UINT32_C(8191)) % bits) % bits;
        copy->head[link + at / 8] ^= (uint8_t)(0x80 >> at % 8);
    }
    if (damage_hides(was, copy->head + link, bits / 8)) {
        wire_packet_put(copy);
        return NULL;
    }
    return copy;
}

int wire_damage_can_hide(const struct tenon_frame *frame, unsigned link)
{
    const tenon_u8 *ip = tenon_span_data(&frame->spans[0]) + link;
    const tenon_u32 n = frame->spans[0].len;

    if (n < link + 20 || (link > 0 && ip[-2] == 0x08 && ip[-1] == 0x06))
        return 1;
    if (ip[0] >> 4 == 6)
        return n >= link + 40 && ip[6] == 44;
    return (ip[6] & 0x1F) != 0 || ip[7] != 0;
}

/* ---- marking --------------------------------------------------------------------------------- */

/* Congestion experienced, for a packet whose sender knows ECN (RFC 3168 5). @return 1, or 0: it does not, or it has
 * the mark already */
int wire_packet_mark(struct wire_packet *packet)
{
    uint8_t *ip = packet->head + wire_packet_link(packet);
    unsigned word;

    if (wire_packet_link(packet) + 20 > packet->head_bytes)
        return 0;
    word = wire_be16(ip);
    if (ip[0] >> 4 == 6 && (word & 0x30) != 0 && (word & 0x30) != 0x30) {
        wire_put_be16(ip, word | 0x30);
        return 1;
    }
    if (ip[0] >> 4 != 4 || (word & 3) == 0 || (word & 3) == 3)
        return 0;
    wire_put_be16(ip, word | 3);
    wire_put_be16(ip + 10, ~wire_fold((~wire_be16(ip + 10) & 0xFFFFU) + (~word & 0xFFFFU) + (word | 3)) &
                               0xFFFF); /* RFC 1624 */
    return 1;
}

/* ---- cutting --------------------------------------------------------------------------------- */

/* Bytes before the IP header. */
uint32_t wire_packet_link(const struct wire_packet *packet)
{
    uint32_t off = 12;

    if (packet->from && (packet->from->conf.netif.caps & TENON_CAP_NO_LINK))
        return 0;
    while (off + 2 <= packet->head_bytes
           && (wire_be16(packet->head + off) == 0x8100 || wire_be16(packet->head + off) == 0x88A8))
        off += 4;
    return off + 2;
}

/* Piece number i of a packet, payload bytes [off, off + len). */
static struct wire_packet *cut_piece(const struct wire_packet *whole, uint32_t off, uint32_t len)
{
    struct wire_packet *piece = packet_new(whole->wire, whole->header_bytes, whole->nspans + 1);
    uint32_t start = 0;
    unsigned i;

    if (!piece)
        return NULL;
    memcpy(piece->head, whole->head, whole->header_bytes);
    for (i = 0; i < whole->nspans; i++) {
        const struct tenon_span *span = &whole->spans[i];
        const uint32_t from = off > start ? off - start : 0;
        const uint32_t to = off + len < start + span->len ? off + len - start : span->len;

        if (off + len > start && from < to)
            packet_share(piece, span->buf, span->off + from, to - from);
        start += span->len;
    }
    piece->from = whole->from;
    piece->unshared = whole->unshared;
    piece->bytes = whole->header_bytes + len;
    piece->csum = TENON_CSUM_PARTIAL;
    piece->csum_start = whole->csum_start;
    piece->csum_offset = whole->csum_offset;
    piece->header_bytes = whole->header_bytes;
    return piece;
}

/* The IP header of a piece: its length, and for IPv4 its number and checksum. */
static void cut_ip(struct wire_packet *piece, uint32_t link, unsigned i)
{
    uint8_t *ip = piece->head + link;
    uint32_t header;

    if (ip[0] >> 4 == 6) {
        wire_put_be16(ip + 4, piece->bytes - link - 40);
        return;
    }
    header = (ip[0] & 0x0FU) * 4;
    wire_put_be16(ip + 2, piece->bytes - link);
    wire_put_be16(ip + 4, wire_be16(ip + 4) + i);
    wire_put_be16(ip + 10, 0);
    wire_put_be16(ip + 10, ~wire_sum(ip, header) & 0xFFFF);
}

/* The transport header of a piece. The field for the checksum holds the sum of the pseudo-header with
 * the length of the whole; exchanging the length is all there is to do. */
static void cut_transport(struct wire_packet *piece, const struct wire_packet *whole, uint32_t off, int last)
{
    uint8_t *transport = piece->head + piece->csum_start;
    uint8_t *field = transport + piece->csum_offset;
    const uint32_t old = whole->bytes - whole->csum_start, now = piece->bytes - piece->csum_start;

    wire_put_be16(field, wire_fold((uint64_t)wire_be16(field) + (~wire_fold(old) & 0xFFFF) + wire_fold(now)));
    if (whole->seg_kind == TENON_SEG_UDP) {
        wire_put_be16(transport + 4, now);
        return;
    }
    put_be32(transport + 4, be32(transport + 4) + off);
    if (!last)
        transport[13] &= (uint8_t)~0x09U;    /* FIN and PSH are for the last piece */
    if (off > 0)
        transport[13] &= (uint8_t)~0x80U;    /* CWR is for the first (RFC 3168 6.1.2) */
}

/* Cut a packet into pieces of seg_bytes payload.
 * @return 0, or -1: it is not what it says that it is */
int wire_packet_cut(struct wire_packet *packet, uint32_t link, int (*emit)(void *arg, struct wire_packet *piece),
                    void *arg)
{
    const uint32_t payload = packet->bytes - packet->header_bytes;
    uint32_t off, len;
    unsigned i = 0;

    for (off = 0; off < payload; off += len, i++) {
        struct wire_packet *piece;

        len = payload - off < packet->seg_bytes ? payload - off : packet->seg_bytes;
        piece = cut_piece(packet, off, len);
        if (!piece)
            return -1;
        cut_ip(piece, link, i);
        cut_transport(piece, packet, off, off + len == payload);
        if (emit(arg, piece) != 0)
            return -1;
    }
    return 0;
}
