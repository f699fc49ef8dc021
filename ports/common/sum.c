/* SPDX-License-Identifier: MIT */
#include "sum.h"

tenon_u8 *port_sum_at(const struct tenon_frame *frame)
{
    const tenon_u32 at = frame->csum == TENON_CSUM_PARTIAL ? (tenon_u32)frame->csum_start + frame->csum_offset : 0;

    return tenon_span_data(&frame->spans[0]) + at;
}

void port_sum_write(const struct tenon_frame *frame, tenon_u8 *header)
{
    tenon_u32 sum = 0, place = 0, at = frame->csum_start;
    tenon_u8 *field = header + frame->csum_start + frame->csum_offset;

    for (unsigned i = 0; i < frame->nspans; i++, at = 0) {
        const tenon_u8 *bytes = tenon_span_data(&frame->spans[i]);

        for (; at < frame->spans[i].len; at++, place++)
            sum += place % 2 == 0 ? (tenon_u32)bytes[at] << 8 : bytes[at];
    }
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    sum = sum == 0xFFFF ? sum : ~sum;
    field[0] = (tenon_u8)(sum >> 8);
    field[1] = (tenon_u8)sum;
}
