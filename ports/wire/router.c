/* SPDX-License-Identifier: MIT */
/* A line on which not every packet fits (struct wire_line_conf, mtu), and the router before it: what may be
 * cut is cut (RFC 791 3.2), of everything else the sender is told (RFC 1191 4, RFC 4443 3.2). The router has
 * no address of its own: it answers from that to which the packet was sent. */
#include "wire_internal.h"

#include <string.h>

enum {
    IP4_HEADER = 20,
    IP6_HEADER = 40,
    ICMP_HEADER = 8,
    IP4_DONT_FRAGMENT = 0x4000,
    IP4_MORE_FRAGMENTS = 0x2000,
    IP4_OFFSET = 0x1FFF,
    ICMP4_ANSWER_MAX = 576,    /* RFC 1812 4.3.2.3 */
    ICMP6_ANSWER_MAX = 1280,   /* RFC 4443 2.4 (c) */
    HEAD_MAX = 64,             /* what is in front of IP */
    ICMP6_NO_ERROR = 128,      /* and types above (RFC 4443 2.1) */
    PROTO_ICMP = 1,
    PROTO_ICMP6 = 58
};

/* ---- what has come ---------------------------------------------------------------------------------- */

/* Bytes of the IP packet, by its own header; 0: that is no IP, or not all of it is there. */
static uint32_t ip_bytes(const struct wire_packet *packet, uint32_t link)
{
    const uint8_t *ip = packet->head + link;
    uint32_t header, bytes;
    unsigned type;

    if (link > HEAD_MAX || packet->head_bytes < link + IP4_HEADER)
        return 0;
    type = ip[0] >> 4 == 4 ? 0x0800 : 0x86DD;
    header = type == 0x0800 ? (ip[0] & 0x0FU) * 4 : IP6_HEADER;
    if ((link > 0 && wire_be16(ip - 2) != type) || header < IP4_HEADER || link + header > packet->head_bytes)
        return 0;
    bytes = type == 0x0800 ? wire_be16(ip + 2) : wire_be16(ip + 4) + IP6_HEADER;
    return bytes > header && link + bytes <= packet->bytes ? bytes : 0;
}

/* Bytes of the longest packet that this is, or is cut into; 0: of none. */
static uint32_t longest(const struct wire_packet *packet, uint32_t link)
{
    const uint32_t bytes = ip_bytes(packet, link), piece = (uint32_t)packet->header_bytes + packet->seg_bytes;

    return bytes > 0 && packet->seg_kind != TENON_SEG_NONE && piece < link + bytes ? piece - link : bytes;
}

/* ---- cutting ---------------------------------------------------------------------------------------- */

/* Payload bytes [off, off + len) of a packet. */
static struct wire_packet *fragment(const struct wire_packet *whole, const uint8_t *bytes, uint32_t link, uint32_t off,
                                    uint32_t len)
{
    const uint8_t *ip = bytes + link;
    const uint32_t header = (ip[0] & 0x0FU) * 4, all = wire_be16(ip + 2) - header;
    const uint32_t where = wire_be16(ip + 6);
    struct wire_packet *piece = wire_packet_room(whole->wire, link + header + len);
    uint8_t *to;

    if (!piece)
        return NULL;
    memcpy(piece->head, bytes, link + header);
    memcpy(piece->head + link + header, ip + header + off, len);
    to = piece->head + link;
    wire_put_be16(to + 2, header + len);
    wire_put_be16(to + 6, (where & IP4_OFFSET) + off / 8 +
                              ((where & IP4_MORE_FRAGMENTS) || off + len < all ? (uint32_t)IP4_MORE_FRAGMENTS : 0));
    wire_put_be16(to + 10, 0);
    wire_put_be16(to + 10, ~wire_sum(to, header) & 0xFFFF);
    piece->from = whole->from;
    return piece;
}

static void route_fragments(struct wire_end *end, enum wire_direction direction, const struct wire_packet *packet,
                            const uint8_t *bytes, uint32_t link)
{
    const uint32_t header = (bytes[link] & 0x0FU) * 4, all = wire_be16(bytes + link + 2) - header;
    const uint32_t most = (end->line[direction].conf.mtu - header) / 8 * 8;
    uint32_t off, len;

    for (off = 0; off < all; off += len) {
        struct wire_packet *piece;

        len = all - off < most ? all - off : most;
        piece = fragment(packet, bytes, link, off, len);
        if (!piece) {
            end->stats.no_memory_lost++;
            return;
        }
        end->stats.fragments++;
        wire_line_put(end, direction, piece);
    }
}

/* ---- telling ---------------------------------------------------------------------------------------- */

/* Nobody is told of an error message, of a fragment but the first, of what was sent to many (RFC 1122 3.2.2), or if
 * it is nobody who has sent. */
static int may_tell4(const uint8_t *ip)
{
    return ip[9] != PROTO_ICMP && (wire_be16(ip + 6) & IP4_OFFSET) == 0 && ip[16] < 224 && ip[12] != 0 &&
           ip[12] < 224;
}

static int may_tell6(const uint8_t *ip)
{
    static const uint8_t none[16];

    return (ip[6] != PROTO_ICMP6 || ip[IP6_HEADER] >= ICMP6_NO_ERROR) && memcmp(ip + 8, none, 16) != 0 &&
           ip[8] != 0xFF && ip[24] != 0xFF; /* which is no address to answer from */
}

/* Destination unreachable, fragmentation needed and DF set, with the MTU of the next hop (RFC 1191 4).
 * @return bytes from the IP header on */
static uint32_t answer4(uint8_t *to, const uint8_t *ip, uint32_t bytes, uint32_t mtu, uint64_t id)
{
    uint8_t *icmp = to + IP4_HEADER;

    memset(to, 0, IP4_HEADER + ICMP_HEADER);
    to[0] = 0x45;
    wire_put_be16(to + 2, IP4_HEADER + ICMP_HEADER + bytes);
    wire_put_be16(to + 4, id & 0xFFFF);    /* they may be cut themselves */
    to[8] = 64;
    to[9] = PROTO_ICMP;
    memcpy(to + 12, ip + 16, 4);
    memcpy(to + 16, ip + 12, 4);
    wire_put_be16(to + 10, ~wire_sum(to, IP4_HEADER) & 0xFFFF);
    icmp[0] = 3;
    icmp[1] = 4;
    wire_put_be16(icmp + 6, mtu);
    memcpy(icmp + ICMP_HEADER, ip, bytes);
    wire_put_be16(icmp + 2, ~wire_sum(icmp, ICMP_HEADER + bytes) & 0xFFFF);
    return IP4_HEADER + ICMP_HEADER + bytes;
}

/* Packet too big (RFC 4443 3.2). @return bytes from the IP header on */
static uint32_t answer6(uint8_t *to, const uint8_t *ip, uint32_t bytes, uint32_t mtu)
{
    uint8_t *icmp = to + IP6_HEADER;
    uint64_t sum;

    memset(to, 0, IP6_HEADER + ICMP_HEADER);
    to[0] = 0x60;
    wire_put_be16(to + 4, ICMP_HEADER + bytes);
    to[6] = PROTO_ICMP6;
    to[7] = 64;
    memcpy(to + 8, ip + 24, 16);
    memcpy(to + 24, ip + 8, 16);
    icmp[0] = 2;
    wire_put_be16(icmp + 6, mtu);
    memcpy(icmp + ICMP_HEADER, ip, bytes);
    sum = (uint64_t)wire_sum(to + 8, 32) + wire_sum(icmp, ICMP_HEADER + bytes) + ICMP_HEADER + bytes + PROTO_ICMP6;
    wire_put_be16(icmp + 2, ~wire_fold(sum) & 0xFFFF);
    return IP6_HEADER + ICMP_HEADER + bytes;
}

/* How much of the packet is quoted: as much as may be; over IPv4 for every other packet no more than 8 bytes behind the
 * header, as old routers do (RFC 792). */
static uint32_t quoted(const struct wire_end *end, const uint8_t *ip, uint32_t bytes)
{
    uint32_t most = ICMP6_ANSWER_MAX - IP6_HEADER - ICMP_HEADER;

    if (ip[0] >> 4 == 4)
        most = end->stats.too_long % 2 == 0 ? (ip[0] & 0x0FU) * 4 + 8 : ICMP4_ANSWER_MAX - IP4_HEADER - ICMP_HEADER;
    return bytes < most ? bytes : most;
}

static void route_tell(struct wire_end *end, enum wire_direction direction, const struct wire_packet *packet,
                       const uint8_t *bytes, uint32_t link)
{
    const uint32_t mtu = end->line[direction].conf.mtu;
    const uint8_t *ip = bytes + link;
    const int v4 = ip[0] >> 4 == 4;
    uint8_t answer[HEAD_MAX + ICMP6_ANSWER_MAX];
    struct wire_packet *told;
    uint32_t n;

    if (!packet->from || !(v4 ? may_tell4(ip) : may_tell6(ip)))
        return;
    memcpy(answer, bytes, link);
    if (link > 0) {
        memcpy(answer, bytes + 6, 6);
        memcpy(answer + 6, bytes, 6);
    }
    n = quoted(end, ip, ip_bytes(packet, link));
    n = link + (v4 ? answer4(answer + link, ip, n, mtu, packet->wire->told++) : answer6(answer + link, ip, n, mtu));
    told = wire_packet_bytes(packet->wire, answer, n);
    if (!told) {
        end->stats.no_memory_lost++;
        return;
    }
    told->from = packet->from;
    wire_line_put(packet->from, WIRE_IN, told);
}

/* ---- the router ------------------------------------------------------------------------------------- */

/* Where a piece of a frame for segmentation goes on. */
struct onward {
    struct wire_end *end;
    enum wire_direction direction;
};

/* The sum of the pseudo-header, where an interface has made the whole one. */
static void route_begin_sum(struct wire_packet *piece)
{
    const uint8_t *ip = piece->head + wire_packet_link(piece);
    const int v4 = ip[0] >> 4 == 4;
    const uint64_t ends = wire_sum(ip + (v4 ? 12 : 8), v4 ? 8 : 32);

    wire_put_be16(piece->head + piece->csum_start + piece->csum_offset,
                  wire_fold(ends + ip[v4 ? 9 : 6] + piece->bytes - piece->csum_start));
}

static int route_piece(void *arg, struct wire_packet *piece)
{
    const struct onward *onward = arg;

    route_begin_sum(piece);
    wire_line_put(onward->end, onward->direction, piece);
    return 0;
}

/* One packet that does not fit. */
static void route_long(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet, uint32_t link)
{
    const struct wire_line_conf *conf = &end->line[direction].conf;
    uint8_t *bytes = wire_mem_get(packet->wire, packet->bytes);
    const uint8_t *ip;

    if (!bytes) {
        end->stats.no_memory_lost++;
        return;
    }
    wire_packet_complete(packet);
    wire_packet_copy(packet, 0, bytes, packet->bytes);
    ip = bytes + link;
    if (ip[0] >> 4 == 4 && !(wire_be16(ip + 6) & IP4_DONT_FRAGMENT)) {
        route_fragments(end, direction, packet, bytes, link);
    } else {
        end->stats.too_long++;
        wire_tap_packet(end, WIRE_LOST, packet);
        if (!conf->mtu_silent)
            route_tell(end, direction, packet, bytes, link);
    }
    wire_mem_put(packet->wire, bytes, packet->bytes);
}

/* A router finds damage in the header, and says nothing; nor may the checksum be made good by cutting. */
static void route_damaged(struct wire_end *end, struct wire_packet *packet)
{
    end->stats.too_long++;
    wire_tap_packet(end, WIRE_LOST, packet);
}

/* Whether the packet is too long for the line; if so, all has been done with it, and the caller's reference is kept. */
int wire_route(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet)
{
    const uint32_t mtu = end->line[direction].conf.mtu, link = wire_packet_link(packet);
    struct onward onward = { end, direction };

    if (mtu == 0 || longest(packet, link) <= mtu)
        return 0;
    if (packet->damaged)
        route_damaged(end, packet);
    else if (packet->seg_kind == TENON_SEG_NONE)
        route_long(end, direction, packet, link);
    else if (wire_packet_cut(packet, link, route_piece, &onward) != 0)
        end->stats.no_memory_lost++;
    return 1;
}
