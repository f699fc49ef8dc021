/* SPDX-License-Identifier: MIT */
/* Fragmentation of what we send (RFC 791 3.2, RFC 8200 4.5), and bytes that have to be copied into packet
 * buffers. The payload of the pieces is where it was: only headers are made anew. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum { FRAGMENT_HEAD_MAX = TN_IP6_BYTES + 8 };

/* What is being cut, and how. */
struct fragment_job {
    const struct tn_out *whole;
    struct tenon_buf *hdr;                 /* of the whole: a reference of our own */
    tenon_u8 head[FRAGMENT_HEAD_MAX];      /* its IP header */
    tenon_u32 head_bytes;
    tenon_u32 inline_bytes;                /* behind it in the header buffer */
    tenon_u32 total;                       /* bytes to be cut */
    tenon_u32 room;                        /* per piece */
    tenon_u32 id;                          /* v6 */
    int is_v4;
};

TENON_INTERNAL int tn_spans_write(struct tenon *stack, struct tenon_span *to, unsigned max, const tenon_u8 *bytes,
                                  tenon_u32 n)
{
    tenon_u32 done = 0;
    unsigned count = 0;

    while (done < n) {
        struct tenon_buf *buf = count < max ? tn_buf_get(stack) : NULL;

        if (buf == NULL) {
            tn_spans_put(to, count);
            return -1;
        }
        to[count].buf = buf;
        to[count].off = 0;
        to[count].len = tn_min(buf->size, n - done);
        if (bytes != NULL)
            memcpy(buf->data, bytes + done, to[count].len);
        done += to[count].len;
        count++;
    }
    return (int)count;
}

TENON_INTERNAL int tn_spans_gather(struct tenon *stack, struct tenon_span *to, const struct tenon_span *spans,
                                   tenon_u32 off, tenon_u32 n)
{
    const int count = tn_spans_write(stack, to, TN_RX_SPANS_MAX, NULL, n);
    int i;

    for (i = 0; i < count; i++) {
        tn_spans_copy(tenon_span_data(&to[i]), spans, off, to[i].len);
        off += to[i].len;
    }
    if (count > 0)
        tn_count_n(stack, TENON_STAT_COPIED_BYTES, n);
    return count;
}

/* The IP header of the piece [off, off + len) in front of what is in `piece`. */
static void fragment_header(const struct fragment_job *job, struct tn_out *piece, tenon_u32 off, tenon_u32 len)
{
    const tenon_u32 bytes = job->head_bytes + (job->is_v4 ? 0 : TN_FRAG6_BYTES);
    const int more = off + len < job->total;
    struct tn_frag6 frag;
    tenon_u8 *p;

    TENON_ASSERT(piece->off >= bytes);
    piece->off -= bytes;
    piece->len += bytes;
    p = piece->hdr->data + piece->off;
    memcpy(p, job->head, job->head_bytes);
    if (job->is_v4) {
        put16be(p + 2, bytes + len);
        put16be(p + 6, (more ? TN_IP4_MF : 0) | off / 8);
        put16be(p + 10, 0);
        put16be(p + 10, 0xFFFFUL ^ tn_csum_sum(p, bytes));
        return;
    }
    put16be(p + 4, bytes - TN_IP6_BYTES + len);
    /* The last header of the part that is not cut names the fragment header, and that what it named. */
    frag.next = job->whole->proto;
    frag.off = (tenon_u16)off;
    frag.more = (tenon_u8)more;
    frag.id = job->id;
    p[job->head_bytes > TN_IP6_BYTES ? TN_IP6_BYTES : 6] = TN_PROTO_FRAGMENT;
    tn_frag6_build(p + job->head_bytes, &frag);
}

/* Payload bytes [off, off + len) of the whole's spans, sent with `piece`. */
static int fragment_send(struct tenon *stack, struct tn_path *path, const struct fragment_job *job,
                         struct tn_out *piece, tenon_u32 off)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    const tenon_u32 len = piece->payload;
    struct tn_gather to;
    int error, count = 0;

    tn_gather_init(&to, spans, TN_RX_SPANS_MAX);
    tn_spans_slice(&to, job->whole->spans, job->whole->nspans, off, len);
    piece->spans = spans;
    piece->nspans = to.n;
    if (to.bytes != len) {
        count = tn_spans_gather(stack, spans, job->whole->spans, off, len);
        if (count < 0) {
            tenon_buf_put(piece->hdr);
            return TENON_ENOMEM;
        }
        piece->nspans = (unsigned)count;
    }
    error = tn_link_output(stack, path, piece);
    if (error == TENON_OK)
        tn_count(stack, TENON_STAT_FRAG_SENT);
    tn_spans_put(spans, (unsigned)count);
    return error;
}

/* One piece: the bytes that were in the header buffer are copied, unless it is the first piece, which keeps
 * that buffer. */
static int fragment_piece(struct tenon *stack, struct tn_path *path, const struct fragment_job *job, tenon_u32 off)
{
    const tenon_u32 len = tn_min(job->room, job->total - off);
    const struct tn_out *whole = job->whole;
    tenon_u32 joined = off < job->inline_bytes ? tn_min(job->inline_bytes - off, len) : 0;
    struct tn_out piece;
    int error;

    if (off == 0) {
        piece = *whole;
        tenon_buf_ref(job->hdr);
        piece.off = whole->l4_off;
    } else {
        error = tn_out_new(stack, &piece);
        if (error != TENON_OK)
            return error;
        if (joined > piece.hdr->size - piece.off) {
            tenon_buf_put(piece.hdr);
            return TENON_ENOMEM;
        }
        memcpy(piece.hdr->data + piece.off, job->hdr->data + whole->l4_off + off, joined);
        piece.src = whole->src;
        piece.dst = whole->dst;
        piece.proto = whole->proto;
        piece.tos = whole->tos;
        piece.ttl = whole->ttl;
        piece.netif = whole->netif;
    }
    piece.csum_offset = 0;
    piece.len = joined;
    piece.payload = len - joined;
    fragment_header(job, &piece, off, len);
    return fragment_send(stack, path, job, &piece, off + joined - job->inline_bytes);
}

/* Whether the burst takes all pieces, or as many as it ever can: a datagram that loses one is lost whole. */
static int fragment_tx_ready(struct tenon *stack, const struct fragment_job *job)
{
    const tenon_u32 pieces = (job->total + job->room - 1) / job->room;
    const unsigned need = (unsigned)tn_min(pieces, stack->tx.max);

    if (tn_tx_room(stack) < need)
        tn_tx_flush(stack);
    return tn_tx_room(stack) >= need;
}

TENON_INTERNAL int tn_ip_fragment(struct tenon *stack, struct tn_path *path, struct tn_out *out, tenon_u32 mtu)
{
    struct fragment_job job;
    tenon_u32 off, headers;
    int error = TENON_OK;

    job.whole = out;
    job.hdr = out->hdr;
    job.is_v4 = tenon_ip_is_v4(&path->dst);
    job.head_bytes = out->l4_off - out->off;
    job.inline_bytes = out->off + out->len - out->l4_off;
    job.total = job.inline_bytes + out->payload;
    if (tn_out_needs_csum(out))
        tn_out_csum_complete(stack, out, out->hdr->data + out->l4_off, job.inline_bytes);
    job.id = job.is_v4 ? 0 : tn_random(&stack->random);
    headers = job.head_bytes + (job.is_v4 ? 0 : TN_FRAG6_BYTES);
    TENON_ASSERT(job.head_bytes <= FRAGMENT_HEAD_MAX && mtu >= headers + 8);
    job.room = (mtu - headers) / 8 * 8;
    memcpy(job.head, out->hdr->data + out->off, job.head_bytes);
    if (!fragment_tx_ready(stack, &job)) {
        tn_count(stack, TENON_STAT_TX_FULL);
        error = TENON_EAGAIN;
    }
    for (off = 0; off < job.total && error == TENON_OK; off += job.room)
        error = fragment_piece(stack, path, &job, off);
    tenon_buf_put(job.hdr);
    return error;
}
