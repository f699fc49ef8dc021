/* SPDX-License-Identifier: MIT */
/* Receiving as much as possible at once: segments of one connection that continue each other, in one burst of
 * frames, go up as one packet, as a port with LRO would give it. Payload is referenced, not copied, and headers
 * are read only. What is not certain to mean the same as its parts goes up alone. */
#include "base/bytes.h"
#include "core.h"
#include "stack/stack_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

/* Where the headers of a frame lie, and what of the frame is payload. */
struct gro_seg {
    const tenon_u8 *head;
    const tenon_u8 *l3, *l4;
    tenon_u32 frame;      /* bytes of the frame, padding included */
    tenon_u32 headers;    /* bytes of all headers */
    tenon_u32 payload;
    tenon_u32 is_v4;
};

/* Four bytes, in whatever order: to compare only. */
TENON_INLINE tenon_u32 gro_word(const tenon_u8 *p)
{
    tenon_u32 word;

    TENON_COPY(&word, p, sizeof(word));
    return word;
}

/* 0: n bytes (a multiple of 4) are the same. */
TENON_INLINE tenon_u32 gro_differ(const tenon_u8 *a, const tenon_u8 *b, unsigned n)
{
    tenon_u32 bits = 0;
    unsigned i;

    for (i = 0; i < n; i += 4)
        bits |= gro_word(a + i) ^ gro_word(b + i);
    return bits;
}

static tenon_u32 gro_link_bytes(const struct tn_netif *netif)
{
    return (netif->conf.caps & TENON_CAP_NO_LINK) ? 0 : TN_ETH_BYTES;
}

/* Most frames have nothing to do with the one before them, and must not pay for those that do: another connection,
 * or the same sequence number again, as in a row of acknowledgements. */
TENON_INTERNAL int tn_gro_may(const struct tn_netif *netif, const struct tenon_frame *frames)
{
    const tenon_u32 link = gro_link_bytes(netif);
    const tenon_u8 *a, *b;
    tenon_u32 l4;

    if ((netif->conf.flags & TENON_NETIF_NO_GRO) || frames[0].nspans == 0 || frames[1].nspans == 0)
        return 0;
    if (frames[0].spans->len < link + TN_IP4_BYTES + TN_TCP_BYTES)
        return 0;
    a = tenon_span_data(frames[0].spans);
    l4 = link + (a[link] >> 4 == 4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES);
    if (frames[0].spans->len < l4 + TN_TCP_BYTES || frames[1].spans->len < l4 + TN_TCP_BYTES)
        return 0;
    b = tenon_span_data(frames[1].spans);
    return gro_word(a + l4) == gro_word(b + l4) && gro_word(a + l4 + 4) != gro_word(b + l4 + 4);
}

static tenon_u32 gro_frame_bytes(const struct tenon_frame *frame)
{
    tenon_u32 bytes = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    return bytes;
}

enum { GRO_CE4 = 3, GRO_CE6 = 0x30 };    /* RFC 3168 5, in the second byte of the IP header */

/* The network header: no options, no extension headers, no fragments, and no congestion met, of which every segment
 * is told one by one. @return bytes of the IP packet; 0: not so */
static tenon_u32 gro_packet_bytes(struct gro_seg *seg, tenon_u32 link)
{
    const tenon_u8 *l3 = seg->l3;

    if (l3[0] == 0x45) {
        seg->is_v4 = 1;
        seg->l4 = l3 + TN_IP4_BYTES;
        if (link > 0 && get16be(l3 - 2) != TN_ETHERTYPE_IP4)
            return 0;
        if (l3[9] != TN_PROTO_TCP || (get16be(l3 + 6) & ~(unsigned)TN_IP4_DF) != 0 || (l3[1] & GRO_CE4) == GRO_CE4)
            return 0;
        if (!tn_ip4_csum_good(l3, TN_IP4_BYTES))
            return 0;
        return get16be(l3 + 2);
    }
    seg->is_v4 = 0;
    seg->l4 = l3 + TN_IP6_BYTES;
    if (l3[0] >> 4 != 6 || l3[6] != TN_PROTO_TCP || (l3[1] & GRO_CE6) == GRO_CE6)
        return 0;
    if (link > 0 && get16be(l3 - 2) != TN_ETHERTYPE_IP6)
        return 0;
    return TN_IP6_BYTES + (tenon_u32)get16be(l3 + 4);
}

/* @return 1: a segment with payload and nothing special about it, all headers in one piece */
static int gro_parse(struct gro_seg *seg, const struct tenon_frame *frame, tenon_u32 link)
{
    const struct tenon_span *first = frame->spans;
    tenon_u32 packet;

    if (frame->seg_kind != TENON_SEG_NONE || first->len < link + TN_IP4_BYTES + TN_TCP_BYTES)
        return 0;
    seg->head = tenon_span_data(first);
    seg->l3 = seg->head + link;
    if (seg->l3[0] >> 4 != 4 && first->len < link + TN_IP6_BYTES + TN_TCP_BYTES)
        return 0;
    packet = gro_packet_bytes(seg, link);
    if (packet == 0)
        return 0;
    seg->frame = gro_frame_bytes(frame);
    seg->headers = (tenon_u32)(seg->l4 - seg->head) + (tenon_u32)(seg->l4[12] >> 4) * 4;
    if (seg->l4[12] >> 4 < TN_TCP_BYTES / 4 || seg->headers > first->len)
        return 0;
    if ((seg->l4[13] & ~(unsigned)TN_TCP_PSH) != TN_TCP_ACK || link + packet > seg->frame ||
        link + packet <= seg->headers)
        return 0;
    seg->payload = link + packet - seg->headers;
    return 1;
}

/* The same connection, and everything else that a segment says is the same but for PSH, which says nothing to a
 * receiver that hands over what it has: link, TOS, TTL, DF, flow label; acknowledgement, window, options. The
 * acknowledgement may not even go up: how often it came counts (RFC 5681 2). */
static int gro_same(const struct gro_seg *a, const struct gro_seg *b, tenon_u32 link)
{
    const tenon_u32 l4 = (tenon_u32)(a->l4 - a->head);
    tenon_u32 bits;

    if (a->headers != b->headers || a->is_v4 != b->is_v4)
        return 0;
    bits = gro_differ(a->l4, b->l4, 4) | gro_differ(a->l4 + 8, b->l4 + 8, 4);
    bits |= (tenon_u32)(a->l4[12] ^ b->l4[12]) | (tenon_u32)(get16be(a->l4 + 14) ^ get16be(b->l4 + 14));
    bits |= (tenon_u32)(get16be(a->l4 + 18) ^ get16be(b->l4 + 18));
    bits |= gro_differ(a->l4 + TN_TCP_BYTES, b->l4 + TN_TCP_BYTES,
                       (unsigned)(a->headers - l4 - TN_TCP_BYTES));
    if (link > 0)
        bits |= gro_differ(a->head, b->head, 12);
    if (a->is_v4)
        return (bits | (tenon_u32)(a->l3[1] ^ b->l3[1]) | gro_differ(a->l3 + 6, b->l3 + 6, 4) |
                gro_differ(a->l3 + 12, b->l3 + 12, 8)) == 0;
    return (bits | gro_differ(a->l3, b->l3, 4) | (tenon_u32)(get16be(a->l3 + 6) ^ get16be(b->l3 + 6)) |
            gro_differ(a->l3 + 8, b->l3 + 8, 32)) == 0;
}

/* What is put together cannot be checked any more: its parts are. */
static int gro_csum_good(const struct gro_seg *seg, const struct tenon_frame *frame)
{
    const tenon_u32 l4 = (tenon_u32)(seg->l4 - seg->head);
    const tenon_u32 len = seg->headers + seg->payload - l4;
    const tenon_u32 addresses = seg->is_v4 ? 8 : 32;
    struct tn_csum csum;

    if (frame->csum != TENON_CSUM_NONE)
        return 1;
    tn_csum_init(&csum);
    tn_csum_add(&csum, seg->l4 - addresses, addresses);    /* they stand right before it, in both versions */
    csum.sum = tn_csum_join(csum.sum, tn_csum_join(len, TN_PROTO_TCP));
    tn_csum_add_spans(&csum, frame->spans, l4, len);
    return csum.sum == 0xFFFFUL;
}

/* Append payload. @return 0: too many spans, or more than the 16-bit length of IP can say */
static int gro_append(struct tn_gro *run, const struct gro_seg *seg, const struct tenon_frame *frame, tenon_u32 link)
{
    const unsigned n = run->to.n;
    const tenon_u32 bytes = run->to.bytes;

    if (bytes + seg->payload - link > 65535UL)
        return 0;
    tn_spans_slice(&run->to, frame->spans, frame->nspans, seg->headers, seg->payload);
    if (run->to.bytes == bytes + seg->payload)
        return 1;
    run->to.n = n;
    run->to.bytes = bytes;
    return 0;
}

TENON_INTERNAL unsigned tn_gro_collect(struct tn_gro *run, const struct tn_netif *netif,
                                       const struct tenon_frame *frames, unsigned n)
{
    const tenon_u32 link = gro_link_bytes(netif);
    struct gro_seg first, next;
    tenon_u32 seq, one;
    unsigned i;

    if (!gro_parse(&first, &frames[0], link))
        return 1;
    seq = get32be(first.l4 + 4) + first.payload;
    one = first.payload;
    for (i = 1; i < n && frames[i].nspans > 0; i++) {
        if (!gro_parse(&next, &frames[i], link) || get32be(next.l4 + 4) != seq || !gro_same(&first, &next, link))
            break;
        if (i == 1) {
            if (!gro_csum_good(&first, &frames[0]))
                break;
            tn_gather_init(&run->to, run->spans, TN_RX_SPANS_MAX);
            tn_spans_slice(&run->to, frames->spans, frames->nspans, 0, first.headers + first.payload);
            if (run->to.bytes != first.headers + first.payload)
                break;
            run->rx_bytes = first.frame;
        }
        if (!gro_csum_good(&next, &frames[i]) || !gro_append(run, &next, &frames[i], link))
            break;
        run->rx_bytes += next.frame;
        seq += next.payload;
        one = tn_max(one, next.payload);
    }
    run->merged = run->to.bytes - first.headers - first.payload;
    run->seg_kind = (tenon_u8)(first.is_v4 ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
    run->seg_bytes = (tenon_u16)one;
    return i;
}
