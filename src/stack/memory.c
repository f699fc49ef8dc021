/* SPDX-License-Identifier: MIT */
/* Memory and packet buffers of the host, and chains of spans. */
#include "core.h"
#include "tcp/tcp_internal.h"
#include "udp/udp_internal.h"
#include "wire/checksum.h"

TENON_API size_t tenon_mem_bytes(enum tenon_mem_kind kind)
{
    static const tenon_u16 bytes[] = { TN_TCP_CONN_BYTES,
                                       TENON_WITH_MANY ? TN_FLIGHT_BYTES : 0,
                                       sizeof(struct tn_tcp_opts),
                                       TENON_WITH_WAITS ? sizeof(struct tn_time_wait) : 0,
                                       sizeof(struct tenon_tcp_listener),
                                       sizeof(struct tenon_udp),
                                       TN_PATH_BYTES };

    return (unsigned)kind < TENON_ARRAY_LEN(bytes) ? bytes[kind] : 0;
}

TENON_INTERNAL void *tn_mem_get(struct tenon *stack, size_t bytes)
{
    void *mem = stack->ops->mem_get(stack->host, bytes);

    if (mem == NULL)
        tn_count(stack, TENON_STAT_NO_MEMORY);
    return mem;
}

TENON_INTERNAL void *tn_mem_get_clear(struct tenon *stack, size_t bytes)
{
    void *mem = tn_mem_get(stack, bytes);

    return mem != NULL ? memset(mem, 0, bytes) : NULL;
}

TENON_INTERNAL void tn_mem_put(struct tenon *stack, void *mem, size_t bytes)
{
    stack->ops->mem_put(stack->host, mem, bytes);
}

/* Buffers are fetched in batches: asking costs a call through a pointer, and most hosts answer cheaper
 * for many than for one. Some stay in reserve; where there are no more than those, as many come as make `want`.
 * @return 0: none came */
static int memory_fetch(struct tenon *stack, unsigned reserve, unsigned want)
{
    stack->nbufs += stack->ops->buf_get(stack->host, stack->bufs + stack->nbufs, want - stack->nbufs);
    TENON_ASSERT(stack->nbufs <= want);
    return stack->nbufs > reserve;
}

TENON_ONCE_IF_SMALL static struct tenon_buf *memory_buf(struct tenon *stack, unsigned reserve, unsigned want)
{
    if (stack->nbufs > reserve || memory_fetch(stack, reserve, want))
        return stack->bufs[--stack->nbufs];
    tn_count(stack, TENON_STAT_NO_BUFFER);
    return NULL;
}

TENON_INTERNAL_HOT struct tenon_buf *tn_buf_next(struct tenon *stack)
{
    return stack->nbufs > 0 || memory_fetch(stack, 0, TN_BUF_CACHE / 2) ? stack->bufs[stack->nbufs - 1] : NULL;
}

TENON_INTERNAL struct tenon_buf *tn_buf_get(struct tenon *stack)
{
    return memory_buf(stack, 0, TN_BUF_CACHE / 2);
}

TENON_INTERNAL struct tenon_buf *tn_buf_get_to_keep(struct tenon *stack)
{
    return memory_buf(stack, TN_BUF_RESERVE, TN_BUF_CACHE);
}

TENON_INTERNAL struct tenon_buf *tn_buf_get_to_send(struct tenon *stack)
{
    return memory_buf(stack, TN_BUF_RESERVE + TN_BUF_JOINS, TN_BUF_CACHE);
}

TENON_INTERNAL int tn_buf_may_keep(struct tenon *stack, unsigned n)
{
    return stack->nbufs >= TN_BUF_RESERVE + n || memory_fetch(stack, TN_BUF_RESERVE + n - 1, TN_BUF_CACHE);
}

TENON_INTERNAL int tn_out_new(struct tenon *stack, struct tn_out *out)
{
    memset(out, 0, sizeof(*out));
    out->hdr = tn_buf_get(stack);
    if (out->hdr == NULL)
        return TENON_ENOMEM;
    out->off = TN_HEADROOM;
    out->l4_off = TN_HEADROOM;
    return TENON_OK;
}

TENON_INTERNAL void tn_spans_put(const struct tenon_span *spans, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        tenon_buf_put(spans[i].buf);
}

TENON_INTERNAL void tn_spans_ref(const struct tenon_span *spans, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        tenon_buf_ref(spans[i].buf);
}

TENON_INTERNAL void tn_spans_copy(tenon_u8 *to, const struct tenon_span *spans, tenon_u32 off, tenon_u32 len)
{
    if (!TENON_SMALL && TENON_LIKELY(off <= spans->len && len <= spans->len - off))    /* no more than a call */
        memcpy(to, tenon_span_data(spans) + off, len);
    else
        tn_csum_copy_spans(NULL, to, spans, off, len);
}

TENON_INTERNAL void tn_spans_slice(struct tn_gather *to, const struct tenon_span *spans, unsigned nspans, tenon_u32 off,
                                   tenon_u32 len)
{
    if (!TENON_WITH_SPLIT) {    /* of the only span of a packet */
        to->spans->buf = spans->buf;
        to->spans->off = spans->off + off;
        to->spans->len = to->bytes = len;
        to->n = len > 0;
        return;
    }
    for (; nspans > 0 && len > 0 && to->n < to->max; spans++, nspans--) {
        struct tenon_span *piece = &to->spans[to->n];

        if (off >= spans->len) {
            off -= spans->len;
            continue;
        }
        piece->buf = spans->buf;
        piece->off = spans->off + off;
        piece->len = tn_min(spans->len - off, len);
        len -= piece->len;
        to->bytes += piece->len;
        to->n++;
        off = 0;
    }
}
