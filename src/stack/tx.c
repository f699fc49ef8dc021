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

/* The port took n frames: count them, and give up the references on what they are made of. */
static void tx_took(struct tenon *stack, struct tn_netif *netif, const struct tenon_frame *frames, unsigned n)
{
    tenon_u32 bytes = 0;
    unsigned i, j;

    if (TENON_WATCHES_ADDRESSES && stack->tx.asks > 0)
        stack->tx.asks = (tenon_u16)(stack->tx.asks - tn_min(stack->tx.asks, n));
    for (i = 0; i < n; i++) {
        const struct tenon_span *spans = frames[i].spans;

        if (!TENON_WITH_PIECES || (!TENON_SMALL && frames[i].nspans == 1)) {
            bytes += spans->len;
            tenon_buf_put(spans->buf);
            continue;
        }
        for (j = 0; j < frames[i].nspans; j++) {
            bytes += spans[j].len;
            tenon_buf_put(spans[j].buf);
        }
    }
    if (!TENON_WITH_STATS)
        return;
    tn_count_n(stack, TENON_STAT_TX_FRAMES, n);
    tn_count_n(stack, TENON_STAT_TX_BYTES, bytes);
    netif->tx_frames += n;
    netif->tx_bytes += bytes;
}

static struct tenon_span *tx_spans_at(const struct tn_burst *tx, unsigned slot)
{
    return tx->spans + (size_t)slot * (TENON_WITH_PIECES ? tx->gather : 1U);
}

static void tx_move(struct tn_burst *tx, unsigned from, unsigned to)
{
    struct tenon_span *spans = tx_spans_at(tx, to);
    unsigned i;

    for (i = 0; i < tx->frames[from].nspans; i++)
        spans[i] = tx->frames[from].spans[i];
    tx->frames[to] = tx->frames[from];
    tx->frames[to].spans = spans;
    tx->netifs[to] = tx->netifs[from];
}

/* The first n frames are gone: move the others to the front. */
static void tx_move_up(struct tn_burst *tx, unsigned n)
{
    unsigned i;

    for (i = n; i < tx->n; i++)
        tx_move(tx, i, i - n);
    tx->n = (tenon_u16)(tx->n - n);
}

/* The slot at this distance from the first frame. Frames that leave one by one have a ring of slots. */
static unsigned tx_slot_at(const struct tn_burst *tx, unsigned ahead)
{
    unsigned at;

    if (TENON_WITH_SPEED)
        return ahead;
    at = tx->first + ahead;
    return at < tx->max ? at : at - tx->max;
}

static void tx_flush_singly(struct tenon *stack)
{
    struct tn_burst *tx = &stack->tx;

    while (tx->n > 0) {
        const unsigned first = tx->first, netif = TENON_WITH_NETIFS ? tx->netifs[first] : 1U;

        if (stack->ops->transmit(stack->host, netif, tx->frames + first, 1) == 0) {
            tn_count(stack, TENON_STAT_TX_BUSY);
            tx->blocked = 1;
            return;
        }
        tx_took(stack, tn_netif_of(&stack->link, netif), tx->frames + first, 1);
        tx->first = (tenon_u16)tx_slot_at(tx, 1);
        tx->n--;
    }
}

TENON_INTERNAL void tn_tx_flush(struct tenon *stack)
{
    struct tn_burst *tx = &stack->tx;
    unsigned done = 0;

    tx->blocked = 0;
    if (!TENON_WITH_SPEED) {
        tx_flush_singly(stack);
        return;
    }
    while (done < tx->n) {
        struct tn_netif *netif = tn_netif_at(stack, tx->netifs[done]);
        unsigned same = 1, taken;

        while (done + same < tx->n && tx->netifs[done + same] == tx->netifs[done])
            same++;
        taken = stack->ops->transmit(stack->host, tx->netifs[done], tx->frames + done, same);
        TENON_ASSERT(taken <= same);
        tx_took(stack, netif, tx->frames + done, taken);
        done += taken;
        if (taken < same) {
            tn_count(stack, TENON_STAT_TX_BUSY);
            tx->blocked = 1;
            break;
        }
    }
    if (TENON_LIKELY(done == tx->n))
        tx->n = 0;
    else
        tx_move_up(tx, done);
}

TENON_INTERNAL void tn_tx_fini(struct tenon *stack)
{
    struct tn_burst *tx = &stack->tx;

    while (tx->n > 0) {
        const struct tenon_frame *last = &tx->frames[tx_slot_at(tx, --tx->n)];

        tn_spans_put(last->spans, last->nspans);
    }
}

TENON_INTERNAL void tn_tx_forget(struct tenon *stack, const struct tn_netif *netif)
{
    struct tn_burst *tx = &stack->tx;
    unsigned i, left = 0;

    for (i = 0; i < tx->n; i++) {
        const unsigned at = tx_slot_at(tx, i);

        if (!TENON_WITH_NETIFS || tx->netifs[at] == netif->index)
            tn_spans_put(tx->frames[at].spans, tx->frames[at].nspans);
        else
            tx_move(tx, at, tx_slot_at(tx, left++));
    }
    tn_count_n(stack, TENON_STAT_TX_DOWN, tx->n - left);
    tx->n = (tenon_u16)left;
    if (TENON_WATCHES_ADDRESSES)
        tx->asks = (tenon_u16)tn_min(tx->asks, left);
    if (left == 0)
        tx->blocked = 0;    /* tenon_poll() flushes what there is only */
}

/* The spans of the next free frame of the burst, or NULL when the port has taken nothing for too long. */
static struct tenon_span *tx_slot(struct tenon *stack)
{
    struct tn_burst *tx = &stack->tx;

    if (tx->n == tx->max)
        tn_tx_flush(stack);
    if (tx->n == tx->max) {
        tn_count(stack, TENON_STAT_TX_FULL);
        return NULL;
    }
    return tx_spans_at(tx, tx_slot_at(tx, tx->n));
}

static int tx_drop(struct tn_out *out, int error)
{
    tenon_buf_put(out->hdr);
    return error;
}

/* What the port is told of a packet, but for its spans. */
static void tx_describe(struct tenon_frame *frame, const struct tn_out *out)
{
    if (TENON_WITH_SPEED) {
        frame->seg_kind = out->seg_kind;
        frame->seg_bytes = out->seg_bytes;
        frame->flow_hash = 0;
    }
    frame->header_bytes = (tenon_u16)(out->l4_off + out->l4_bytes - out->off);
    frame->csum = TENON_CSUM_NONE;
    frame->csum_start = 0;
    frame->csum_offset = 0;
    if (tn_out_needs_csum(out)) {
        frame->csum = TENON_CSUM_PARTIAL;
        frame->csum_start = (tenon_u16)(out->l4_off - out->off);
        frame->csum_offset = out->csum_offset;
    }
}

/* The frame of tx_slot() is described: spans[1] and those that follow are there, with their references. */
TENON_ONCE_IF_SMALL static void tx_commit(struct tn_burst *tx, const struct tn_out *out,
                                          struct tenon_span *spans, unsigned nspans)
{
    const unsigned at = tx_slot_at(tx, tx->n);
    struct tenon_frame *frame = &tx->frames[at];

    spans[0].buf = out->hdr;
    spans[0].off = out->off;
    spans[0].len = out->len;
    frame->spans = spans;
    frame->nspans = (tenon_u16)(nspans + 1);
    if (TENON_WITH_NETIFS || TENON_WITH_SPEED)
        tx->netifs[at] = out->netif;
    tx->n++;
}

/* Put a frame into the burst as it is; the number of its spans fits. */
static int tx_enqueue(struct tenon *stack, struct tn_out *out)
{
    struct tenon_span *spans = tx_slot(stack);
    unsigned i;

    if (spans == NULL)
        return tx_drop(out, TENON_EAGAIN);
    TENON_ASSERT(!TENON_WITH_PIECES || out->nspans + 1 <= stack->tx.gather);
    for (i = 0; i < tn_out_nspans(out); i++) {
        spans[i + 1] = out->spans[i];
        tenon_buf_ref(out->spans[i].buf);
    }
    tx_describe(&stack->tx.frames[tx_slot_at(&stack->tx, stack->tx.n)], out);
    tx_commit(&stack->tx, out, spans, tn_out_nspans(out));
    return TENON_OK;
}

/* The sum of what is in the header's buffer: the transport header, of which the field holds the folded sum of the
 * pseudo-header, and what payload is behind it. */
static void tx_csum_begin(const struct tenon *stack, const struct tn_out *out, struct tn_csum *csum)
{
    tn_csum_init_hook(csum, stack->conf.checksum);
    tn_csum_add(csum, out->hdr->data + out->l4_off, out->off + out->len - out->l4_off);
}

static void tx_csum_end(struct tenon *stack, const struct tn_out *out, tenon_u32 folded)
{
    tenon_u16 sum = (tenon_u16)(~folded & 0xFFFFUL);

    if (sum == 0 && out->proto == TN_PROTO_UDP)
        sum = 0xFFFF;    /* RFC 768: zero would mean that there is none */
    put16be(out->hdr->data + out->l4_off + out->csum_offset, sum);
    tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
}

/* Payload to where it can be sent from, and into a sum on its way; csum NULL: nobody wants that. */
static void tx_copy(struct tn_csum *csum, tenon_u8 *to, const struct tn_out *out, tenon_u32 off, tenon_u32 len)
{
    if (!TENON_SMALL && csum != NULL)
        tn_csum_copy_spans(csum, to, out->spans, off, len);
    else
        tn_spans_copy(to, out->spans, off, len);
}

/* The port cannot gather so many spans: copy the payload behind the header where it fits, otherwise into
 * as many buffers as it may gather. `spans` has room for `max`. */
static int tx_linearise(struct tenon *stack, struct tn_out *out, struct tenon_span *spans, unsigned max,
                        struct tn_csum *csum)
{
    const tenon_u32 total = out->payload;
    tenon_u32 off = 0;
    unsigned n = 0;

    tn_count(stack, TENON_STAT_TX_LINEARISED);
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, total);
    if (out->hdr->size - out->off - out->len >= total) {
        tx_copy(csum, out->hdr->data + out->off + out->len, out, 0, total);
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
        tx_copy(csum, buf->data, out, off, spans[n].len);
        off += spans[n].len;
        n++;
    }
    out->spans = spans;
    out->nspans = n;
    return off == total ? TENON_OK : TENON_ENOMEM;
}

TENON_INTERNAL unsigned tn_tx_gather_max(const struct tenon *stack, const struct tn_netif *netif)
{
    if (!TENON_WITH_PIECES)
        return 1;
    if (!TENON_WITH_LINEAR || netif->conf.gather_max == 0)
        return stack->tx.gather;
    return (unsigned)tn_min(netif->conf.gather_max, stack->tx.gather);
}

enum { TX_SPANS_MAX = 32, TX_SHORT = 256 };

/* Without short ways all that comes here has come through IP. */
enum { TX_SUMS = !TENON_SMALL || TENON_WITH_SPEED };

/* One packet that needs no segmentation any more. What is copied is summed on the way; in a build that is to be small
 * before, if IP has not done so (ip_output.c). */
static int tx_packet(struct tenon *stack, const struct tn_netif *netif, struct tn_out *out)
{
    struct tenon_span copies[TX_SPANS_MAX];
    const unsigned limit = tn_tx_gather_max(stack, netif);
    const int sums = TX_SUMS && !(netif->conf.caps & TENON_CAP_TX_CSUM) && tn_out_needs_csum(out);
    const int fits = tn_out_nspans(out) + 1 <= limit;
    struct tn_csum csum;
    int error;

    if (!TENON_WITH_LINEAR && !fits)
        return tx_drop(out, TENON_EMSGSIZE);
    if (sums) {
        tx_csum_begin(stack, out, &csum);
        out->csum_done = 1;
        if ((TENON_SMALL || fits) && tn_out_payload(out) > 0)
            tn_csum_add_spans(&csum, out->spans, 0, out->payload);
        if (TENON_SMALL || fits)
            tx_csum_end(stack, out, csum.sum);
    }
    if (fits)
        return tx_enqueue(stack, out);
    error = tx_linearise(stack, out, copies, (unsigned)tn_min(limit - 1, TX_SPANS_MAX), sums ? &csum : NULL);
    if (!TENON_SMALL && error == TENON_OK && sums)
        tx_csum_end(stack, out, csum.sum);
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

/* ---- segmentation in software -------------------------------------------------------------------------- */

/* RFC 9293 3.7: each piece continues the sequence; FIN and PSH belong to the last, CWR (RFC 3168 6.1.2) to
 * the first. */
enum { TX_CUT_LAST = TN_TCP_FIN | TN_TCP_PSH };

/* A packet that is being cut. Its header is the pattern of the pieces' headers, and becomes the last one's; a
 * cursor goes through its payload once. What differs between the pieces is added to sums that are made once
 * (RFC 1624). */
struct tx_cut {
    struct tn_out *out;               /* the packet; then one piece after the other */
    struct tenon_buf *pattern;
    const struct tenon_span *span;    /* payload that is left begins there ... */
    tenon_u32 at;                     /* ... so many bytes in */
    tenon_u32 left;                   /* bytes of it */
    tenon_u32 seq;
    tenon_u32 id;                     /* IPv4: identification of the next piece */
    tenon_u16 ip_sum;                 /* IPv4: the sum of the header without identification and checksum */
    tenon_u16 ip_len;                 /* ... with this length, which the pattern has */
    tenon_u16 pseudo;                 /* the sum of the pseudo-header without the length */
    tenon_u16 l4_sum;                 /* that and the transport header, without what differs; if we sum */
    tenon_u8 is_v4, is_tcp, tcp_flags;
    tenon_u8 limit;                   /* spans that a piece may have */
    struct tenon_frame frame;         /* a piece as it is described to the port */
};

static void tx_cut_begin(struct tx_cut *cut, struct tn_out *out)
{
    tenon_u8 *l4 = out->hdr->data + out->l4_off;
    const tenon_u8 *ip = l4 - TN_IP4_BYTES;

    cut->out = out;
    cut->pattern = out->hdr;
    cut->span = out->spans;
    cut->at = 0;
    cut->left = out->payload;
    cut->is_tcp = out->proto == TN_PROTO_TCP;
    cut->seq = cut->tcp_flags = 0;
    if (cut->is_tcp) {
        cut->seq = get32be(l4 + 4);
        cut->tcp_flags = l4[13];
        l4[13] = (tenon_u8)(l4[13] & ~TX_CUT_LAST);
    }
    cut->is_v4 = (tenon_u8)tenon_ip_is_v4(&out->src);
    cut->pseudo = tn_csum_pseudo(&out->src, &out->dst, out->proto, 0);
    cut->id = 0;
    if (cut->is_v4) {
        cut->id = get16be(ip + 4);
        cut->ip_len = get16be(ip + 2);
        cut->ip_sum = tn_csum_join(0xFFFFUL ^ get16be(ip + 10), 0xFFFFUL ^ cut->id);
    }
    out->seg_kind = TENON_SEG_NONE;
    out->seg_bytes = 0;
}

/* Of a TCP header: the words that differ between the pieces, sequence number and flags. */
TENON_INLINE tenon_u32 tx_cut_own(const tenon_u8 *l4)
{
    return (tenon_u32)get16be(l4 + 4) + get16be(l4 + 6) + get16be(l4 + 12);
}

/* The pattern for pieces of this length. */
static void tx_cut_length(struct tx_cut *cut, tenon_u32 bytes)
{
    const struct tn_out *out = cut->out;
    const tenon_u32 l4_len = out->l4_bytes + bytes;
    tenon_u8 *l4 = cut->pattern->data + out->l4_off;

    if (cut->is_v4) {
        const tenon_u16 len = (tenon_u16)(TN_IP4_BYTES + l4_len);

        cut->ip_sum = tn_csum_join(tn_csum_join(cut->ip_sum, 0xFFFFUL ^ cut->ip_len), len);
        cut->ip_len = len;
        put16be(l4 - TN_IP4_BYTES + 2, len);
    } else {
        put16be(l4 - TN_IP6_BYTES + 4, l4_len);
    }
    if (out->proto == TN_PROTO_UDP)
        put16be(l4 + 4, l4_len);
    put16be(l4 + out->csum_offset, tn_csum_join(cut->pseudo, l4_len));
    if (!out->csum_done)
        return;
    cut->l4_sum = tn_csum_sum(l4, out->l4_bytes);
    if (cut->is_tcp)
        cut->l4_sum = tn_csum_join(cut->l4_sum, 0xFFFFUL ^ tn_csum_fold(tx_cut_own(l4)));
}

/* What differs in every piece's header. */
static void tx_cut_number(struct tx_cut *cut, tenon_u8 *l4)
{
    if (cut->is_v4) {
        put16be(l4 - TN_IP4_BYTES + 4, cut->id);
        put16be(l4 - TN_IP4_BYTES + 10, 0xFFFFUL ^ tn_csum_join(cut->ip_sum, cut->id));
        cut->id = (cut->id + 1) & 0xFFFFUL;
    }
    if (cut->is_tcp)
        put32be(l4 + 4, cut->seq);
}

/* Ethernet, IPv6 and TCP with timestamps are 86 bytes. */
enum { TX_HEADER_BYTES = 88 };

/* The header of a piece; NULL: no buffer. */
static struct tenon_buf *tx_cut_header(struct tenon *stack, struct tx_cut *cut, int is_last)
{
    const struct tn_out *out = cut->out;
    struct tenon_buf *pattern = cut->pattern;
    tenon_u8 *flags = pattern->data + out->l4_off + 13;
    struct tenon_buf *buf;

    if (is_last) {
        cut->pattern = NULL;
        if (cut->is_tcp)
            *flags = (tenon_u8)(*flags | (cut->tcp_flags & TX_CUT_LAST));
        return pattern;
    }
    buf = tn_buf_get(stack);
    if (buf == NULL)
        return NULL;
    if (TENON_LIKELY(out->len <= TX_HEADER_BYTES))    /* a few loads and stores: both buffers are larger */
        TENON_COPY(buf->data + out->off, pattern->data + out->off, TX_HEADER_BYTES);
    else
        memcpy(buf->data + out->off, pattern->data + out->off, out->len);
    if (cut->tcp_flags & TN_TCP_CWR) {
        cut->tcp_flags = (tenon_u8)(cut->tcp_flags & ~TN_TCP_CWR);
        *flags = (tenon_u8)(*flags & ~TN_TCP_CWR);
    }
    return buf;
}

/* Payload of a piece that does not lie in one span: at most `max` of them, and the cursor goes on. @return how many;
 * 0: they are more, and nothing has changed */
static unsigned tx_cut_spans(struct tx_cut *cut, struct tenon_span *to, unsigned max, tenon_u32 bytes)
{
    const struct tenon_span *span = cut->span;
    tenon_u32 at = cut->at;
    unsigned n = 0;

    while (bytes > 0) {
        const tenon_u32 take = tn_min(span->len - at, bytes);

        if (take > 0) {
            if (n == max)
                return 0;
            to[n].buf = span->buf;
            to[n].off = span->off + at;
            to[n].len = take;
            n++;
            bytes -= take;
            at += take;
        }
        if (at == span->len) {
            span++;
            at = 0;
        }
    }
    cut->span = span;
    cut->at = at;
    return n;
}

static unsigned tx_cut_payload(struct tx_cut *cut, struct tenon_span *to, tenon_u32 bytes)
{
    unsigned n, i;

    if (TENON_LIKELY(cut->span->len - cut->at >= bytes && cut->limit > 0)) {
        to->buf = cut->span->buf;
        to->off = cut->span->off + cut->at;
        to->len = bytes;
        tenon_buf_ref(to->buf);
        cut->at += bytes;
        return 1;
    }
    n = tx_cut_spans(cut, to, cut->limit, bytes);
    for (i = 0; i < n; i++)
        tenon_buf_ref(to[i].buf);
    return n;
}

/* A piece of too many spans goes the way of a whole packet. */
static int tx_cut_linearise(struct tenon *stack, const struct tn_netif *netif, struct tx_cut *cut, tenon_u32 bytes)
{
    struct tn_out *out = cut->out;
    const tenon_u32 len = out->len;
    struct tenon_span spans[TX_SPANS_MAX];
    int error;

    out->spans = spans;
    out->nspans = tx_cut_spans(cut, spans, TX_SPANS_MAX, bytes);
    out->payload = bytes;
    out->csum_done = 0;
    TENON_ASSERT(out->nspans > 0);
    error = tx_packet(stack, netif, out);
    out->len = len;
    return error;
}

/* The checksum of a piece: its header's part is known but for the words that differ. */
static void tx_cut_checksum(struct tenon *stack, const struct tx_cut *cut, const struct tenon_span *spans,
                            tenon_u32 bytes)
{
    const struct tn_out *out = cut->out;
    tenon_u32 sum = cut->l4_sum + tn_csum_spans(stack->conf.checksum, spans, 0, bytes);

    if (cut->is_tcp)
        sum += tx_cut_own(out->hdr->data + out->l4_off);
    tx_csum_end(stack, out, tn_csum_fold(sum));
}

static int tx_cut_piece(struct tenon *stack, const struct tn_netif *netif, struct tx_cut *cut, tenon_u32 bytes)
{
    struct tn_out *out = cut->out;
    struct tenon_span *spans = tx_slot(stack);
    unsigned n;

    if (spans == NULL)
        return TENON_EAGAIN;
    out->hdr = tx_cut_header(stack, cut, bytes == cut->left);
    if (out->hdr == NULL)
        return TENON_ENOMEM;
    tx_cut_number(cut, out->hdr->data + out->l4_off);
    n = tx_cut_payload(cut, spans + 1, bytes);
    if (TENON_UNLIKELY(n == 0))
        return tx_cut_linearise(stack, netif, cut, bytes);
    if (out->csum_done)
        tx_cut_checksum(stack, cut, spans + 1, bytes);
    stack->tx.frames[stack->tx.n] = cut->frame;
    tx_commit(&stack->tx, out, spans, n);
    return TENON_OK;
}

/* Headers are copied, payload is referenced. When the burst fills up, or memory ends, in the middle, the rest is
 * lost, as in a full queue; an error says that nothing was sent. */
static int tx_segment(struct tenon *stack, const struct tn_netif *netif, struct tn_out *out)
{
    const tenon_u32 whole = out->payload, step = out->seg_bytes;
    int error = TENON_OK;
    struct tx_cut cut;

    tn_count(stack, TENON_STAT_TX_SEGMENTED);
    tx_cut_begin(&cut, out);
    out->csum_done = !(netif->conf.caps & TENON_CAP_TX_CSUM);    /* by each piece, before it is handed over */
    tx_cut_length(&cut, step);
    tx_describe(&cut.frame, out);
    cut.limit = (tenon_u8)tn_min(tn_tx_gather_max(stack, netif) - 1, 255);
    while (cut.left > 0) {
        const tenon_u32 bytes = tn_min(step, cut.left);

        if (bytes < step)
            tx_cut_length(&cut, bytes);
        error = tx_cut_piece(stack, netif, &cut, bytes);
        if (error != TENON_OK)
            break;
        cut.left -= bytes;
        cut.seq += bytes;
    }
    if (cut.pattern != NULL)
        tenon_buf_put(cut.pattern);
    return cut.left < whole ? TENON_OK : error;
}

TENON_INTERNAL int tn_tx(struct tenon *stack, struct tn_out *out)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, out->netif);

    if (TENON_WITH_LINKS && !netif->up)    /* else it comes from who has asked: tn_link_output(), ARP, ND */
        return tx_drop(out, TENON_EUNREACH);
    if (!TENON_WITH_SPEED || tx_can_segment(netif, out->seg_kind))
        return tx_packet(stack, netif, out);
    return tx_segment(stack, netif, out);
}

/* The checksum of a frame whose bytes from the transport header on have this sum. */
TENON_HOT void tx_sum_short(struct tenon *stack, tenon_u8 *l4, const struct tn_short *lay, tenon_u32 folded)
{
    tenon_u32 sum = 0xFFFFUL ^ folded;

    if (sum == 0 && lay->csum_offset == TN_UDP_CSUM_AT)
        sum = 0xFFFFUL;    /* RFC 768: zero would mean that there is none */
    put16be(l4 + lay->csum_offset, sum);
    tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
}

/* The next free frame of the burst, with its headers in the first span; the others are there. partial: the port makes
 * the checksum. */
TENON_HOT void tx_put_short(struct tn_burst *tx, struct tenon_buf *buf, const struct tn_short *lay, unsigned nspans,
                            int partial)
{
    struct tenon_frame *frame = &tx->frames[tx->n];
    struct tenon_span *span = tx->spans + (size_t)tx->n * tx->gather;

    span->buf = buf;
    span->off = lay->off;
    span->len = lay->len;
    frame->spans = span;
    frame->nspans = (tenon_u16)nspans;
    frame->seg_bytes = 0;
    frame->csum_start = (tenon_u16)(partial ? lay->l4 : 0);
    frame->csum_offset = (tenon_u16)(partial ? lay->csum_offset : 0);
    frame->csum = (tenon_u8)(partial ? TENON_CSUM_PARTIAL : TENON_CSUM_NONE);
    frame->seg_kind = TENON_SEG_NONE;
    frame->header_bytes = (tenon_u16)lay->headers;
    frame->flow_hash = 0;
}

/* Who makes the checksum of a frame, if it has one. */
TENON_INLINE int tx_port_sums(const struct tn_netif *netif)
{
    return (netif->conf.caps & TENON_CAP_TX_CSUM) != 0;
}

/* Of what is short, the host's function is not worth a call. */
TENON_HOT tenon_u32 tx_sum_whole(const struct tenon *stack, const tenon_u8 *l4, tenon_u32 n)
{
    struct tn_csum csum;

    if (TENON_LIKELY(n < TX_SHORT || stack->conf.checksum == NULL))
        return tn_csum_sum(l4, n);
    tn_csum_init_hook(&csum, stack->conf.checksum);
    tn_csum_add(&csum, l4, n);
    return csum.sum;
}

TENON_INTERNAL_HOT void tn_tx_short(struct tenon *stack, const struct tn_netif *netif, struct tenon_buf *buf,
                                    const struct tn_short *lay)
{
    struct tn_burst *tx = &stack->tx;
    const unsigned n = tx->n;
    int partial = lay->csum_offset != 0;

    TENON_ASSERT(n < tx->max);
    if (partial && !tx_port_sums(netif)) {
        tenon_u8 *l4 = buf->data + lay->off + lay->l4;

        tx_sum_short(stack, l4, lay, tx_sum_whole(stack, l4, lay->len - lay->l4));
        partial = 0;
    }
    tx_put_short(tx, buf, lay, 1, partial);
    tx->netifs[n] = netif->index;
    tx->n = (tenon_u16)(n + 1);
}

TENON_INTERNAL_HOT void tn_tx_like(struct tenon *stack, const struct tn_like *like, struct tenon_buf *buf,
                                   tenon_u32 payload)
{
    struct tn_burst *tx = &stack->tx;
    const unsigned n = tx->n;
    struct tenon_frame *frame = tx->frames + n;
    struct tenon_span *span = tx->spans + (size_t)n * tx->gather;

    TENON_ASSERT(n < tx->max);
    span->buf = buf;
    span->off = like->off;
    span->len = like->frame.header_bytes + payload;
    *frame = like->frame;
    frame->spans = span;
    tx->netifs[n] = like->netif;
    tx->n = (tenon_u16)(n + 1);
}

TENON_INTERNAL void tn_tx_long(struct tenon *stack, const struct tn_netif *netif, struct tenon_buf *buf,
                               const struct tn_long *lay)
{
    struct tn_burst *tx = &stack->tx;
    const unsigned n = tx->n;
    struct tenon_span *spans = tn_tx_payload(stack);
    int partial = lay->head.csum_offset != 0;
    unsigned i;

    TENON_ASSERT(n < tx->max && lay->nspans < tx->gather);    /* what the port gathers its callers have asked */
    for (i = 0; i < lay->nspans; i++) {
        if (lay->spans != spans)
            spans[i] = lay->spans[i];
        tenon_buf_ref(spans[i].buf);
    }
    if (partial && !tx_port_sums(netif)) {
        tenon_u8 *l4 = buf->data + lay->head.off + lay->head.l4;
        const tenon_u32 header = tn_csum_sum(l4, lay->head.len - lay->head.l4);

        tx_sum_short(stack, l4, &lay->head,
                     tn_csum_join(header, tn_csum_spans(stack->conf.checksum, lay->spans, 0, lay->payload)));
        partial = 0;
    }
    tx_put_short(tx, buf, &lay->head, lay->nspans + 1, partial);
    tx->netifs[n] = netif->index;
    tx->n = (tenon_u16)(n + 1);
}

/* What the port takes in one frame, and the 16-bit length of IP. */
TENON_INTERNAL tenon_u32 tn_tx_segment_bytes_max(const struct tn_netif *netif, unsigned header_bytes)
{
    tenon_u32 max = netif->conf.tso_bytes_max;

    if (max == 0 || max > 65535UL)
        max = 65535UL;
    return max - tn_min(max, header_bytes);
}
