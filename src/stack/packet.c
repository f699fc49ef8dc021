/* SPDX-License-Identifier: MIT */
/* Received packets: moving from layer to layer without moving a byte. */
#include "core.h"
#include "wire/checksum.h"
#include "wire/wire.h"

/* Find the byte at pkt->off: `head` and `head_len`. */
static void packet_locate(struct tn_pkt *pkt)
{
    const struct tenon_span *span = pkt->spans;
    tenon_u32 off = pkt->off;

    pkt->head_len = 0;
    if (pkt->len == 0)
        return;
    for (; off >= span->len; span++)
        off -= span->len;
    pkt->head = tenon_span_data(span) + off;
    pkt->head_len = tn_min(span->len - off, pkt->len);
}

TENON_INTERNAL void tn_pkt_pull(struct tn_pkt *pkt, tenon_u32 n)
{
    TENON_ASSERT(n <= pkt->len);
    pkt->off += n;
    pkt->len -= n;
    if (!TENON_WITH_SPLIT) {
        pkt->head += n;
        return;
    }
    if (n >= pkt->head_len) {
        packet_locate(pkt);
        return;
    }
    pkt->head += n;
    pkt->head_len -= n;
}

TENON_INTERNAL TENON_ONCE_IF_SMALL void tn_pkt_trim(struct tn_pkt *pkt, tenon_u32 len)
{
    if (len >= pkt->len)
        return;
    pkt->len = len;
    if (TENON_WITH_SPLIT)
        pkt->head_len = tn_min(pkt->head_len, len);
}

TENON_INTERNAL unsigned tn_pkt_spans(const struct tn_pkt *pkt, struct tenon_span *spans, unsigned max)
{
    struct tn_gather to;

    tn_gather_init(&to, spans, max);
    tn_spans_slice(&to, pkt->spans, pkt->nspans, pkt->off, pkt->len);
    return to.n;
}

TENON_INTERNAL int tn_pkt_pullup(struct tenon *stack, struct tn_pkt *pkt, tenon_u32 n)
{
    struct tenon_buf *buf;

    if (n <= tn_pkt_head_len(pkt))
        return TENON_OK;
    if (!TENON_WITH_SPLIT || n > pkt->len)
        return TENON_EINVAL;
    buf = tn_buf_get(stack);
    if (buf == NULL)
        return TENON_ENOMEM;
    TENON_ASSERT(pkt->ncopies < TN_PULLS_MAX);
    pkt->copies[pkt->ncopies++] = buf;
    if (!TN_PULLS_ONCE && n > buf->size)
        return TENON_ENOMEM;
    tn_spans_copy(buf->data, pkt->spans, pkt->off, n);
    pkt->head = buf->data;
    pkt->head_len = n;
    return TENON_OK;
}

TENON_INTERNAL void tn_pkt_unpull(struct tn_pkt *pkt)
{
    while (pkt->ncopies > 0)
        tenon_buf_put(pkt->copies[--pkt->ncopies]);
}

TENON_INTERNAL unsigned tn_pkt_byte(const struct tn_pkt *pkt, tenon_u32 at)
{
    tenon_u8 byte = 0;

    if (at < tn_pkt_head_len(pkt))
        return pkt->head[at];
    if (TENON_WITH_SPLIT && at < pkt->len)
        tn_spans_copy(&byte, pkt->spans, pkt->off + at, 1);
    return byte;
}

TENON_INTERNAL TENON_ONCE_IF_SMALL int tn_pkt_csum_good(const struct tenon *stack, const struct tn_pkt *pkt)
{
    struct tn_csum csum;

    if (pkt->csum != TENON_CSUM_NONE)
        return 1;
    tn_csum_init_hook(&csum, stack->conf.checksum);
    if (pkt->proto != TN_PROTO_ICMP)    /* RFC 792 */
        csum.sum = tn_csum_pseudo(&pkt->src, &pkt->dst, pkt->proto, pkt->len);
    if (TENON_WITH_SPLIT && (TENON_SMALL || !tn_pkt_is_whole(pkt)))
        tn_csum_add_spans(&csum, pkt->spans, pkt->off, pkt->len);
    else
        tn_csum_add(&csum, pkt->head, pkt->len);
    return csum.sum == 0xFFFFUL;
}
