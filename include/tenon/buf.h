/* SPDX-License-Identifier: MIT */
/** @file
 *  Packet memory: buffers, spans of them, and frames on their way to or from a NIC.
 *
 *  One rule of ownership: passing a span or a frame passes no reference unless the function says so.
 *  Whoever keeps a span after the call in which it got it takes a reference on its buffer. */
#ifndef TENON_BUF_H
#define TENON_BUF_H

#include <tenon/types.h>

TENON_BEGIN_DECLS

/** A piece of packet memory. The host makes it, often inside its own packet, and Tenon counts its
 *  owners. One instance, one thread: the count is not atomic. Several buffers, in several instances,
 *  may describe the same bytes as long as nobody writes them. */
struct tenon_buf {
    tenon_u8 *data;                              /**< first byte */
    tenon_u32 size;                              /**< bytes at data */
    tenon_u32 refs;                              /**< owners; the maker starts it at 1 */
    void (*release)(struct tenon_buf *buf);      /**< refs has become 0: take it back */
};

/** Some bytes of a buffer. */
struct tenon_span {
    struct tenon_buf *buf;
    tenon_u32 off;    /**< bytes from buf->data */
    tenon_u32 len;    /**< bytes */
};

/** Take a reference: the buffer stays until it is given up by tenon_buf_put(). */
TENON_INLINE void tenon_buf_ref(struct tenon_buf *buf)
{
    TENON_ASSERT(buf->refs > 0);
    buf->refs++;
}

/** Give up one reference; the last one releases the buffer. */
TENON_INLINE void tenon_buf_put(struct tenon_buf *buf)
{
    TENON_ASSERT(buf->refs > 0);
    if (--buf->refs == 0)
        buf->release(buf);
}

/** The first byte of a span. */
TENON_INLINE tenon_u8 *tenon_span_data(const struct tenon_span *span)
{
    return span->buf->data + span->off;
}

/** What is known of the transport checksum of a frame. */
enum tenon_csum {
    TENON_CSUM_NONE,       /**< rx: not verified, the core sums. tx: complete or not needed */
    TENON_CSUM_GOOD,       /**< rx: verified by the port, or trusted because it never left the machine */
    TENON_CSUM_PARTIAL     /**< the field holds the pseudo-header sum; see csum_start and csum_offset */
};

/** A frame larger than the MTU: how it is (tx) or was (rx: LRO) cut into packets. */
enum tenon_seg {
    TENON_SEG_NONE,
    TENON_SEG_TCP4,        /**< TSO / LRO over IPv4 */
    TENON_SEG_TCP6,        /**< TSO / LRO over IPv6 */
    TENON_SEG_UDP          /**< UDP segmentation: each piece is a datagram of its own */
};

/** One frame on its way to or from a NIC: where the bytes are, and what a virtio-net header can say
 *  of them. Offsets count from the first byte of the first span. The first span of a sent frame
 *  holds all headers; a received frame may be cut anywhere, into 64 spans at most (16 in builds without FRAGMENTS and
 *  SPEED, 1 without SPLIT: what has more is dropped and counted, TENON_STAT_RX_PIECES). */
struct tenon_frame {
    const struct tenon_span *spans;
    tenon_u16 nspans;
    tenon_u16 seg_bytes;       /**< payload bytes per segment; only with seg_kind */
    tenon_u16 csum_start;      /**< PARTIAL: sum from here to the end of the frame ... */
    tenon_u16 csum_offset;     /**< ... and store the complement at csum_start + csum_offset */
    tenon_u8 csum;             /**< enum tenon_csum */
    tenon_u8 seg_kind;         /**< enum tenon_seg */
    tenon_u16 header_bytes;    /**< tx: link + network + transport header; rx: 0 if not known */
    tenon_u32 flow_hash;       /**< a hash of the flow made by the port or for it; 0: not known */
};

TENON_END_DECLS

#endif
