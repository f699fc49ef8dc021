/* SPDX-License-Identifier: MIT */
#include "emit.h"

#include <stdlib.h>
#include <string.h>

#include <tenon/buf.h>

struct own_buf {
    struct tenon_buf buf;
    tenon_u8 bytes[EMIT_BYTES_MAX];
};

static void own_release(struct tenon_buf *buf)
{
    free(TENON_CONTAINER(buf, struct own_buf, buf));
}

uint32_t emit_copy(const struct tenon_frame *frame, tenon_u8 *to)
{
    uint32_t n = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++) {
        memcpy(to + n, tenon_span_data(&frame->spans[i]), frame->spans[i].len);
        n += frame->spans[i].len;
    }
    return n;
}

void emit_frame(struct wire_host *host, unsigned netif, const struct tenon_frame *like, const tenon_u8 *bytes,
                uint32_t n)
{
    struct own_buf *own = malloc(sizeof(*own));
    struct tenon_frame frame;
    struct tenon_span span;

    if (own == NULL || n > EMIT_BYTES_MAX)
        abort();
    memset(own, 0, sizeof(*own));
    own->buf.data = own->bytes;
    own->buf.size = EMIT_BYTES_MAX;
    own->buf.refs = 1;
    own->buf.release = own_release;
    memcpy(own->bytes, bytes, n);
    if (like != NULL)
        frame = *like;
    else
        memset(&frame, 0, sizeof(frame));
    span.buf = &own->buf;
    span.off = 0;
    span.len = n;
    frame.spans = &span;
    frame.nspans = 1;
    (void)wire_host_ops()->transmit(host, netif, &frame, 1);
    tenon_buf_put(&own->buf);
}
