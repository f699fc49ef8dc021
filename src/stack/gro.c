/* SPDX-License-Identifier: MIT */
/* Receiving as much as possible at once: segments of one connection that continue each other, in one burst of
 * frames, go up as one packet, as a port with LRO would give it. Payload is referenced, not copied, and headers
 * are read only. What is not certain to mean the same as its parts goes up alone. */
#include "base/bytes.h"
#include "core.h"
#include "stack/stack_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

/* A run of frames. Where the headers of the first lie, as offsets; those of the others lie there too. */
struct gro_head {
    const tenon_u8 *bytes;
    tenon_u32 link;       /* bytes of the link header: the IP header begins there */
    tenon_u32 l4;         /* the TCP header begins there */
    tenon_u32 headers;    /* bytes of all headers */
    tenon_u16 ip_sum;     /* of what differs in IPv4 headers: length, identification, checksum */
    tenon_u8 is_v4;
};

/* One frame. */
struct gro_seg {
    const tenon_u8 *bytes;
    tenon_u32 frame;      /* bytes of the frame, padding included */
    tenon_u32 payload;
};

/* Four bytes, in whatever order: to compare only. */
TENON_INLINE tenon_u32 gro_word(const tenon_u8 *p)
{
    tenon_u32 word;

    TENON_COPY(&word, p, sizeof(word));
    return word;
}

/* 0: n bytes (a multiple of 4) are the same. */
TENON_INLINE tenon_u32 gro_differ(const tenon_u8 *a, const tenon_u8 *b, tenon_u32 n)
{
    tenon_u32 bits = 0, i;

    for (i = 0; i < n; i += 4)
        bits |= gro_word(a + i) ^ gro_word(b + i);
    return bits;
}

/* Most frames have nothing to do with the one before them, and must not pay for those that do: another connection,
 * or the same sequence number again, as in a row of acknowledgements. */
TENON_INTERNAL int tn_gro_may(const struct tn_netif *netif, const struct tenon_frame *frames)
{
    const tenon_u32 link = (netif->conf.caps & TENON_CAP_NO_LINK) ? 0 : (tenon_u32)TN_ETH_BYTES;
    const struct tenon_span *first = frames[0].spans, *second = frames[1].spans;
    const tenon_u32 len = tn_min(frames[0].nspans > 0 ? first->len : 0, frames[1].nspans > 0 ? second->len : 0);
    const tenon_u8 *a, *b;
    tenon_u32 l4;

    if (len < link + TN_IP4_BYTES + TN_TCP_BYTES || (netif->conf.flags & TENON_NETIF_NO_GRO))
        return 0;
    a = tenon_span_data(first);
    b = tenon_span_data(second);
    l4 = link + (a[link] >> 4 == 4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES);
    return len >= l4 + TN_TCP_BYTES && gro_word(a + l4) == gro_word(b + l4) &&
           gro_word(a + l4 + 4) != gro_word(b + l4 + 4);
}

/* Of a frame that has one span at least. */
TENON_INLINE tenon_u32 gro_frame_bytes(const struct tenon_frame *frame)
{
    tenon_u32 bytes = frame->spans->len;
    unsigned i;

    for (i = 1; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    return bytes;
}

TENON_INLINE tenon_u16 gro_ip4_sum(const tenon_u8 *l3)
{
    return tn_csum_join(tn_csum_join(get16be(l3 + 2), get16be(l3 + 4)), get16be(l3 + 10));
}

enum { GRO_CE4 = 3, GRO_CE6 = 0x30 };    /* RFC 3168 5, in the second byte of the IP header */

/* The IP header of the first frame: TCP; no options, no extension headers, no fragment; and no congestion met, of
 * which every segment is told one by one. @return 0: not so */
static int gro_begin_ip(struct gro_head *head, tenon_u32 len)
{
    const tenon_u8 *l3 = head->bytes + head->link;
    const unsigned type = head->is_v4 ? (unsigned)TN_ETHERTYPE_IP4 : (unsigned)TN_ETHERTYPE_IP6;

    head->ip_sum = 0;
    if (head->link > 0 && get16be(l3 - 2) != type)
        return 0;
    if (head->is_v4) {
        head->ip_sum = gro_ip4_sum(l3);
        return l3[0] == 0x45 && l3[9] == TN_PROTO_TCP && (get16be(l3 + 6) & ~(unsigned)TN_IP4_DF) == 0 &&
               (l3[1] & GRO_CE4) != GRO_CE4 && tn_ip4_csum_good(l3, TN_IP4_BYTES);
    }
    return len >= head->link + TN_IP6_BYTES + TN_TCP_BYTES && l3[0] >> 4 == 6 && l3[6] == TN_PROTO_TCP &&
           (l3[1] & GRO_CE6) != GRO_CE6;
}

/* A segment may be the first: all its headers are in one piece, and no flag but ACK and PSH is set. */
static int gro_begin(struct gro_head *head, const struct tenon_frame *frame, const struct tn_netif *netif)
{
    const tenon_u32 len = frame->spans->len;
    const tenon_u8 *tcp;

    head->bytes = tenon_span_data(frame->spans);
    head->link = (netif->conf.caps & TENON_CAP_NO_LINK) ? 0 : (tenon_u32)TN_ETH_BYTES;
    head->is_v4 = head->bytes[head->link] >> 4 == 4;
    head->l4 = head->link + (head->is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES);
    if (frame->seg_kind != TENON_SEG_NONE || !gro_begin_ip(head, len))
        return 0;
    tcp = head->bytes + head->l4;
    head->headers = head->l4 + (tenon_u32)(tcp[12] >> 4) * 4;
    return tcp[12] >> 4 >= TN_TCP_BYTES / 4 && head->headers <= len && (tcp[13] & ~(unsigned)TN_TCP_PSH) == TN_TCP_ACK;
}

/* The same connection, and everything else that a segment says is the same but for PSH, which says nothing to a
 * receiver that hands over what it has: link, TOS, TTL, DF, flow label; acknowledgement, window, options. The
 * acknowledgement may not even go up: how often it came counts (RFC 5681 2). */
TENON_INLINE int gro_same(const struct gro_head *head, const tenon_u8 *bytes)
{
    const tenon_u8 *a = head->bytes + head->link, *b = bytes + head->link;
    const tenon_u8 *tcp_a = head->bytes + head->l4, *tcp_b = bytes + head->l4;
    tenon_u32 bits = gro_differ(tcp_a, tcp_b, 4) | gro_differ(tcp_a + 8, tcp_b + 8, 4);

    bits |= ((tenon_u32)get16be(tcp_a + 12) ^ get16be(tcp_b + 12)) & ~(tenon_u32)TN_TCP_PSH;
    bits |= ((tenon_u32)get16be(tcp_a + 14) ^ get16be(tcp_b + 14)) |
            ((tenon_u32)get16be(tcp_a + 18) ^ get16be(tcp_b + 18));
    bits |= gro_differ(tcp_a + TN_TCP_BYTES, tcp_b + TN_TCP_BYTES, head->headers - head->l4 - TN_TCP_BYTES);
    if (head->link > 0)
        bits |= gro_differ(a - TN_ETH_BYTES, b - TN_ETH_BYTES, 12) | ((tenon_u32)get16be(a - 2) ^ get16be(b - 2));
    if (head->is_v4)
        bits |= ((tenon_u32)get16be(a) ^ get16be(b)) | gro_differ(a + 6, b + 6, 4) | gro_differ(a + 12, b + 12, 8);
    else
        bits |= gro_differ(a, b, 4) | ((tenon_u32)get16be(a + 6) ^ get16be(b + 6)) | gro_differ(a + 8, b + 8, 32);
    return bits == 0;
}

/* What the lengths say: 0 unless there is payload, and the frame is as long as it says. */
TENON_INLINE int gro_measure(const struct gro_head *head, struct gro_seg *seg, const struct tenon_frame *frame)
{
    const tenon_u8 *l3 = seg->bytes + head->link;
    tenon_u32 end = head->link + get16be(l3 + 2);

    if (!head->is_v4)
        end = head->link + TN_IP6_BYTES + get16be(l3 + 4);
    seg->frame = gro_frame_bytes(frame);
    seg->payload = end - head->headers;
    return end > head->headers && end <= seg->frame;
}

/* A frame of the run behind the first. An IPv4 header of which all but three words is known to be right is right when
 * their sum is what it was. */
TENON_INLINE int gro_continue(const struct gro_head *head, struct gro_seg *seg, const struct tenon_frame *frame,
                              tenon_u32 seq)
{
    if (frame->nspans == 0 || frame->seg_kind != TENON_SEG_NONE || frame->spans->len < head->headers)
        return 0;
    seg->bytes = tenon_span_data(frame->spans);
    if (get32be(seg->bytes + head->l4 + 4) != seq || !gro_same(head, seg->bytes))
        return 0;
    if (head->is_v4 && gro_ip4_sum(seg->bytes + head->link) != head->ip_sum)
        return 0;
    return gro_measure(head, seg, frame);
}

/* What is put together cannot be checked any more: its parts are. */
static int gro_csum_good(const struct tenon *stack, const struct gro_head *head, const struct gro_seg *seg,
                         const struct tenon_frame *frame)
{
    const tenon_u32 len = head->headers + seg->payload - head->l4;
    const tenon_u32 addresses = head->is_v4 ? 8 : 32;
    struct tn_csum csum;

    if (frame->csum != TENON_CSUM_NONE)
        return 1;
    tn_csum_init_hook(&csum, stack->conf.checksum);
    tn_csum_add(&csum, seg->bytes + head->l4 - addresses, addresses);    /* right before it, in both versions */
    csum.sum = tn_csum_join(csum.sum, tn_csum_join(len, TN_PROTO_TCP));
    tn_csum_add_spans(&csum, frame->spans, head->l4, len);
    return csum.sum == 0xFFFFUL;
}

/* Append the bytes [off, off + len) of a frame. @return 0: they are too many spans, or more than IP can say
 * in 16 bits */
static int gro_append(struct tn_gather *to, const struct tenon_frame *frame, tenon_u32 off, tenon_u32 len)
{
    const struct tenon_span *span = frame->spans;
    const tenon_u32 bytes = to->bytes;
    const unsigned n = to->n;

    if (bytes + len > 65535UL)
        return 0;
    if (off == span->len && frame->nspans > 1) {    /* the headers have a span of their own */
        span++;
        off = 0;
    }
    if (TENON_LIKELY(off + len <= span->len && n < to->max)) {
        to->spans[n].buf = span->buf;
        to->spans[n].off = span->off + off;
        to->spans[n].len = len;
        to->n = n + 1;
        to->bytes = bytes + len;
        return 1;
    }
    tn_spans_slice(to, span, frame->nspans - (unsigned)(span - frame->spans), off, len);
    if (to->bytes == bytes + len)
        return 1;
    to->n = n;
    to->bytes = bytes;
    return 0;
}

/* The first frame, once there is a second. @return 0: there can be no run */
static int gro_start(const struct tenon *stack, struct tn_gro *run, const struct gro_head *head,
                     const struct gro_seg *first, const struct tenon_frame *frame)
{
    if (!gro_csum_good(stack, head, first, frame))
        return 0;
    tn_gather_init(&run->to, run->spans, TN_RX_SPANS_MAX);
    if (!gro_append(&run->to, frame, 0, head->headers + first->payload))
        return 0;
    run->rx_bytes = first->frame;
    run->merged = 0;
    run->seg_kind = (tenon_u8)(head->is_v4 ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
    run->seg_bytes = (tenon_u16)first->payload;
    return 1;
}

TENON_INTERNAL unsigned tn_gro_collect(const struct tenon *stack, struct tn_gro *run, const struct tn_netif *netif,
                                       const struct tenon_frame *frames, unsigned n)
{
    struct gro_head head;
    struct gro_seg first, next;
    tenon_u32 seq;
    unsigned i;

    if (!gro_begin(&head, frames, netif))
        return 1;
    first.bytes = head.bytes;
    if (!gro_measure(&head, &first, frames))
        return 1;
    seq = get32be(head.bytes + head.l4 + 4) + first.payload;
    for (i = 1; i < n && gro_continue(&head, &next, &frames[i], seq); i++) {
        TENON_PREFETCH(tn_ahead(&frames[i], n - i));
        if (i == 1 && !gro_start(stack, run, &head, &first, frames))
            return 1;
        if (!gro_csum_good(stack, &head, &next, &frames[i]))
            break;
        if (!gro_append(&run->to, &frames[i], head.headers, next.payload))
            break;
        run->rx_bytes += next.frame;
        run->merged += next.payload;
        run->seg_bytes = (tenon_u16)tn_max(run->seg_bytes, next.payload);
        seq += next.payload;
    }
    return i;
}
