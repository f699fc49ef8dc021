/* SPDX-License-Identifier: MIT */
/* The virtio-net header, read and written byte by byte: its order is agreed on as little-endian, and "native"
 * order, the default of Linux, is that of the kernel, which is not that of the program when a big-endian
 * program runs under an emulator. */
#include "vnet.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

enum {
    VNET_NEEDS_CSUM = 1,
    VNET_DATA_VALID = 2,
    VNET_GSO_NONE = 0,
    VNET_GSO_TCP4 = 1,
    VNET_GSO_TCP6 = 4,
    VNET_GSO_UDP = 5, /* USO: each segment is a datagram */
    VNET_GSO_ECN = 0x80 /* CWR belongs to the first segment only */
};

static tenon_u16 get16le(const tenon_u8 *p)
{
    return (tenon_u16)(p[0] | p[1] << 8);
}

static void put16le(tenon_u8 *p, unsigned value)
{
    p[0] = (tenon_u8)value;
    p[1] = (tenon_u8)(value >> 8);
}

static tenon_u8 gso_type(const struct tenon_frame *frame)
{
    const struct tenon_span *head = &frame->spans[0];
    unsigned flags_at = frame->csum_start + 13u;
    tenon_u8 type;

    if (frame->seg_kind == TENON_SEG_UDP)
        return VNET_GSO_UDP;
    type = frame->seg_kind == TENON_SEG_TCP4 ? VNET_GSO_TCP4 : VNET_GSO_TCP6;
    if (flags_at < head->len && (tenon_span_data(head)[flags_at] & 0x80) != 0)
        type |= VNET_GSO_ECN;
    return type;
}

void port_vnet_write(tenon_u8 header[VNET_BYTES], const struct tenon_frame *frame)
{
    memset(header, 0, VNET_BYTES);
    if (frame->csum == TENON_CSUM_PARTIAL) {
        header[0] = VNET_NEEDS_CSUM;
        put16le(header + 6, frame->csum_start);
        put16le(header + 8, frame->csum_offset);
    }
    if (frame->seg_kind != TENON_SEG_NONE) {
        header[1] = gso_type(frame);
        put16le(header + 2, frame->header_bytes);
        put16le(header + 4, frame->seg_bytes);
    }
}

int port_vnet_read(const tenon_u8 header[VNET_BYTES], struct tenon_frame *frame)
{
    frame->csum = TENON_CSUM_NONE;
    frame->seg_kind = TENON_SEG_NONE;
    if (header[0] & VNET_NEEDS_CSUM) {
        /* Made by this machine's own kernel and never on a wire: nothing can have changed it. The
         * offsets stay in the frame for the sake of a capture, which completes the sum. */
        frame->csum = TENON_CSUM_GOOD;
        frame->csum_start = get16le(header + 6);
        frame->csum_offset = get16le(header + 8);
    } else if (header[0] & VNET_DATA_VALID) {
        frame->csum = TENON_CSUM_GOOD;
    }
    switch (header[1] & ~VNET_GSO_ECN) {
    case VNET_GSO_NONE:
        return 0;
    case VNET_GSO_TCP4:
        frame->seg_kind = TENON_SEG_TCP4;
        break;
    case VNET_GSO_TCP6:
        frame->seg_kind = TENON_SEG_TCP6;
        break;
    case VNET_GSO_UDP:
        frame->seg_kind = TENON_SEG_UDP;
        break;
    default:
        return -1;
    }
    frame->seg_bytes = get16le(header + 4);
    return frame->seg_bytes > 0 ? 0 : -1;
}

void port_vnet_reorder(tenon_u8 header[VNET_BYTES])
{
    for (unsigned at = 2; at < VNET_BYTES; at += 2) {
        uint16_t value;

        memcpy(&value, header + at, 2);
        value = htole16(value);
        memcpy(header + at, &value, 2);
    }
}
