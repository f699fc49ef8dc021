/* SPDX-License-Identifier: MIT */
/* The last step down: frames wait here, in a burst, for the port. What the port cannot do is done here in
 * software: transport checksums, segmentation, gathering. */
#include "base/bytes.h"
#include "core.h"
#include "wire/checksum.h"
#include "wire/wire.h"

TENON_INTERNAL unsigned tn_tx_room(const struct tenon *stack)
{
    return (unsigned)(stack->tx.max - stack->tx.n);
}

/* Give up the references of the first n frames and move the others to the front. */
static void tx_retire(struct tn_burst *tx, unsigned n)
{
    unsigned i, j;

    for (i = 0; i < n; i++)
        tn_spans_put(tx->frames[i].spans, tx->frames[i].nspans);
    for (i = n; i < tx->n; i++) {
        struct tenon_span *to = tx->spans + (size_t)(i - n) * tx->gather;

        for (j = 0; j < tx->frames[i].nspans; j++)
            to[j] = tx->frames[i].spans[j];
        tx->frames[i - n] = tx->frames[i];
        tx->frames[i - n].spans = to;
        tx->netifs[i - n] = tx->netifs[i];
    }
    tx->n = (tenon_u16)(tx->n - n);
}

static void tx_account(struct tenon *stack, struct tn_netif *netif, const struct tenon_frame *frame)
{
    tenon_u32 bytes = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    tn_count(stack, TENON_STAT_TX_FRAMES);
    tn_count_n(stack, TENON_STAT_TX_BYTES, bytes);
    netif->tx_frames++;
    netif->tx_bytes += bytes;
}

TENON_INTERNAL void tn_tx_flush(struct tenon *stack)
{
    struct tn_burst *tx = &stack->tx;
    unsigned done = 0, i;

    tx->blocked = 0;
    while (done < tx->n) {
        struct tn_netif *netif = tn_netif_at(stack, tx->netifs[done]);
        unsigned same = 1, taken;

        while (done + same < tx->n && tx->netifs[done + same] == tx->netifs[done])
            same++;
        taken = stack->ops->transmit(stack->host, tx->netifs[done], tx->frames + done, same);
        TENON_ASSERT(taken <= same);
        for (i = 0; i < taken; i++)
            tx_account(stack, netif, &tx->frames[done + i]);
        done += taken;
        if (taken < same) {
            tn_count(stack, TENON_STAT_TX_BUSY);
            tx->blocked = 1;
            break;
        }
    }
    tx_retire(tx, done);
}

/* A free frame of the burst, or NULL when the port has taken nothing for too long. */
static struct tenon_frame *tx_slot(struct tenon *stack)
{
    struct tn_burst *tx = &stack->tx;

    if (tx->n == tx->max)
        tn_tx_flush(stack);
    if (tx->n == tx->max) {
        tn_count(stack, TENON_STAT_TX_FULL);
        return NULL;
    }
    return &tx->frames[tx->n];
}

static int tx_drop(struct tn_out *out, int error)
{
    tenon_buf_put(out->hdr);
    return error;
}

/* Put a frame into the burst as it is; the number of its spans fits. */
static int tx_enqueue(struct tenon *stack, struct tn_out *out)
{
    struct tn_burst *tx = &stack->tx;
    struct tenon_frame *frame = tx_slot(stack);
    struct tenon_span *spans;
    unsigned i;

    if (frame == NULL)
        return tx_drop(out, TENON_EAGAIN);
    TENON_ASSERT(out->nspans + 1 <= tx->gather);
    spans = tx->spans + (size_t)tx->n * tx->gather;
    spans[0].buf = out->hdr;
    spans[0].off = out->off;
    spans[0].len = out->len;
    for (i = 0; i < out->nspans; i++)
        spans[i + 1] = out->spans[i];
    tn_spans_ref(out->spans, out->nspans);
    frame->spans = spans;
    frame->nspans = (tenon_u16)(out->nspans + 1);
    frame->seg_kind = out->seg_kind;
    frame->seg_bytes = out->seg_bytes;
    frame->header_bytes = (tenon_u16)(out->l4_off + out->l4_bytes - out->off);
    frame->csum = TENON_CSUM_NONE;
    frame->csum_start = 0;
    frame->csum_offset = 0;
    if (out->csum && !out->csum_done) {
        frame->csum = TENON_CSUM_PARTIAL;
        frame->csum_start = (tenon_u16)(out->l4_off - out->off);
        frame->csum_offset = out->csum_offset;
    }
    frame->flow_hash = 0;
    tx->netifs[tx->n] = out->netif;
    tx->n++;
    return TENON_OK;
}

/* Complete the transport checksum: the field holds the folded sum of the pseudo-header. */
static void tx_checksum(struct tenon *stack, struct tn_out *out)
{
    tenon_u8 *l4 = out->hdr->data + out->l4_off;
    const tenon_u32 in_header = out->off + out->len - out->l4_off;
    struct tn_csum csum;
    tenon_u16 sum;

    if (!out->csum || out->csum_done)
        return;
    tn_csum_init(&csum);
    tn_csum_add(&csum, l4, in_header);
    if (out->payload > 0)
        tn_csum_add_spans(&csum, out->spans, 0, out->payload);
    sum = (tenon_u16)(~csum.sum & 0xFFFFUL);
    if (sum == 0 && out->proto == TN_PROTO_UDP)
        sum = 0xFFFF;    /* RFC 768: zero would mean that there is none */
    put16be(l4 + out->csum_offset, sum);
    out->csum_done = 1;
    tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
}

/* The port cannot gather so many spans: copy the payload behind the header where it fits, otherwise into
 * as many buffers as it may gather. `spans` has room for `max`. */
static int tx_linearise(struct tenon *stack, struct tn_out *out, struct tenon_span *spans, unsigned max)
{
    const tenon_u32 total = out->payload;
    tenon_u32 off = 0;
    unsigned n = 0;

    tn_count(stack, TENON_STAT_TX_LINEARISED);
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, total);
    if (out->hdr->size - out->off - out->len >= total) {
        tn_spans_copy(out->hdr->data + out->off + out->len, out->spans, 0, total);
        out->len += total;
        out->nspans = 0;
        out->payload = 0;
        return TENON_OK;
    }
    while (off < total && n < max) {
        struct tenon_buf *buf = tn_buf_get(stack);

        if (buf == NULL)
            break;
        spans[n].buf = buf;
        spans[n].off = 0;
        spans[n].len = tn_min(buf->size, total - off);
        tn_spans_copy(buf->data, out->spans, off, spans[n].len);
        off += spans[n].len;
        n++;
    }
    out->spans = spans;
    out->nspans = n;
    return off == total ? TENON_OK : TENON_ENOMEM;
}

/* How many spans a frame on this interface may have, the header's included. */
static unsigned tx_gather_limit(const struct tenon *stack, const struct tn_netif *netif)
{
    if (netif->conf.gather_max == 0)
        return stack->tx.gather;
    return (unsigned)tn_min(netif->conf.gather_max, stack->tx.gather);
}

enum { TX_SPANS_MAX = 32 };

/* One packet that needs no segmentation any more. */
static int tx_packet(struct tenon *stack, const struct tn_netif *netif, struct tn_out *out)
{
    struct tenon_span copies[TX_SPANS_MAX];
    const unsigned limit = tx_gather_limit(stack, netif);
    int error;

    if (!(netif->conf.caps & TENON_CAP_TX_CSUM))
        tx_checksum(stack, out);
    if (out->nspans + 1 <= limit)
        return tx_enqueue(stack, out);
    error = tx_linearise(stack, out, copies, (unsigned)tn_min(limit - 1, TX_SPANS_MAX));
    if (error == TENON_OK)
        error = tx_enqueue(stack, out);
    else
        tenon_buf_put(out->hdr);
    tn_spans_put(copies, out->nspans);
    return error;
}

static int tx_can_segment(const struct tn_netif *netif, unsigned seg_kind)
{
    switch (seg_kind) {
    case TENON_SEG_TCP4: return (netif->conf.caps & TENON_CAP_TSO4) != 0;
    case TENON_SEG_TCP6: return (netif->conf.caps & TENON_CAP_TSO6) != 0;
    case TENON_SEG_UDP: return (netif->conf.caps & TENON_CAP_USO) != 0;
    default: return 1;
    }
}

/* Write the lengths, the identification and the pseudo-header sum of one piece: `bytes` of payload, the
 * index-th of its frame. */
static void tx_piece_headers(struct tn_out *piece, const struct tn_out *whole, tenon_u32 bytes, unsigned index)
{
    const int is_v4 = tenon_ip_is_v4(&whole->src);
    const tenon_u32 l4_len = whole->l4_bytes + bytes;
    tenon_u8 *l4 = piece->hdr->data + piece->l4_off;
    struct tenon_ip dst = whole->dst;

    if (is_v4) {
        tenon_u8 *ip = l4 - TN_IP4_BYTES;
        const tenon_u16 id = get16be(ip + 4);

        put16be(ip + 2, TN_IP4_BYTES + l4_len);
        put16be(ip + 4, (tenon_u32)id + index);
        put16be(ip + 10, 0);
        put16be(ip + 10, (tenon_u32)(tenon_u16)~tn_csum_sum(ip, TN_IP4_BYTES));
    } else {
        put16be(l4 - TN_IP6_BYTES + 4, l4_len);
    }
    if (whole->proto == TN_PROTO_UDP)
        put16be(l4 + 4, l4_len);
    put16be(l4 + piece->csum_offset, tn_csum_pseudo(&whole->src, &dst, whole->proto, l4_len));
}

/* RFC 9293 3.7: each piece continues the sequence; FIN and PSH belong to the last, CWR to the first. */
static void tx_piece_tcp(const struct tn_out *piece, tenon_u32 offset, int first, int last)
{
    tenon_u8 *l4 = piece->hdr->data + piece->l4_off;

    put32be(l4 + 4, get32be(l4 + 4) + offset);
    if (!first)
        l4[13] = (tenon_u8)(l4[13] & ~TN_TCP_CWR);
    if (!last)
        l4[13] = (tenon_u8)(l4[13] & ~(TN_TCP_FIN | TN_TCP_PSH));
}

/* Cut payload [offset, offset + bytes) of `whole` out as a packet of its own. */
static int tx_piece(struct tenon *stack, const struct tn_netif *netif, const struct tn_out *whole, tenon_u32 offset,
                    tenon_u32 bytes)
{
    const int last = offset + bytes == whole->payload;
    struct tenon_span spans[TX_SPANS_MAX];
    struct tenon_buf *buf = tn_buf_get(stack);
    struct tn_out piece = *whole;
    struct tn_gather to;

    if (buf == NULL)
        return TENON_ENOMEM;
    memcpy(buf->data + whole->off, whole->hdr->data + whole->off, whole->len);
    piece.hdr = buf;
    piece.seg_kind = TENON_SEG_NONE;
    piece.seg_bytes = 0;
    tn_gather_init(&to, spans, TX_SPANS_MAX);
    tn_spans_slice(&to, whole->spans, whole->nspans, offset, bytes);
    TENON_ASSERT(to.bytes == bytes);
    piece.spans = spans;
    piece.nspans = to.n;
    piece.payload = bytes;
    tx_piece_headers(&piece, whole, bytes, (unsigned)(offset / whole->seg_bytes));
    if (whole->proto == TN_PROTO_TCP)
        tx_piece_tcp(&piece, offset, offset == 0, last);
    return tx_packet(stack, netif, &piece);
}

/* Segmentation in software: headers are copied, payload is referenced. When the burst fills up, or memory
 * ends, in the middle, the rest is lost, as in a full queue; an error says that nothing was sent. */
static int tx_segment(struct tenon *stack, const struct tn_netif *netif, struct tn_out *out)
{
    tenon_u32 offset;
    int error = TENON_OK;

    tn_count(stack, TENON_STAT_TX_SEGMENTED);
    for (offset = 0; offset < out->payload && error == TENON_OK; offset += out->seg_bytes)
        error = tx_piece(stack, netif, out, offset, tn_min(out->seg_bytes, out->payload - offset));
    return tx_drop(out, offset > out->seg_bytes ? TENON_OK : error);
}

TENON_INTERNAL int tn_tx(struct tenon *stack, struct tn_out *out)
{
    const struct tn_netif *netif = tn_netif_at(stack, out->netif);

    TENON_ASSERT(netif != NULL);
    if (!netif->up)
        return tx_drop(out, TENON_EUNREACH);
    if (tx_can_segment(netif, out->seg_kind))
        return tx_packet(stack, netif, out);
    return tx_segment(stack, netif, out);
}

/* What the port takes in one frame, and the 16-bit length of IP. */
TENON_INTERNAL tenon_u32 tn_tx_segment_bytes_max(const struct tn_netif *netif, unsigned header_bytes)
{
    tenon_u32 max = netif->conf.tso_bytes_max;

    if (max == 0 || max > 65535UL)
        max = 65535UL;
    return max - header_bytes;
}
