/* SPDX-License-Identifier: MIT */
/* The Internet checksum (RFC 1071): fast in portable C, in pieces, at any alignment. */
#ifndef TN_WIRE_CHECKSUM_H
#define TN_WIRE_CHECKSUM_H

#include <tenon/buf.h>

TENON_BEGIN_DECLS

/* A function that does what tn_csum_sum() does: tenon_conf.checksum. */
typedef tenon_u16 tn_csum_hook(const tenon_u8 *bytes, size_t n);

/* A running sum: the one's complement sum so far, folded to 16 bits (0..0xFFFF), as if the bytes were
 * big-endian 16-bit words; `odd` bytes so far decide how the next piece is added. */
struct tn_csum {
    tenon_u32 sum;
    unsigned odd;
    tn_csum_hook *hook;    /* sums what is not short; NULL: we do */
};

TENON_INLINE void tn_csum_init_hook(struct tn_csum *csum, tn_csum_hook *hook)
{
    csum->sum = 0;
    csum->odd = 0;
    csum->hook = hook;
}

TENON_INLINE void tn_csum_init(struct tn_csum *csum)
{
    tn_csum_init_hook(csum, NULL);
}
TENON_INTERNAL void tn_csum_add(struct tn_csum *csum, const tenon_u8 *bytes, size_t n);
/* `len` bytes of a chain of spans, from byte `off` of the first on. */
TENON_INTERNAL void tn_csum_add_spans(struct tn_csum *csum, const struct tenon_span *spans, tenon_u32 off,
                                      tenon_u32 len);
/* Their sum, folded; there is a span. Nearly always they are one piece, and then nothing goes through memory. */
TENON_INTERNAL tenon_u32 tn_csum_spans(tn_csum_hook *hook, const struct tenon_span *spans, tenon_u32 off,
                                       tenon_u32 len);
/* The same, and a copy of them at `to`, which lies elsewhere; csum or to may be NULL: then that is not wanted. */
TENON_INTERNAL void tn_csum_copy_spans(struct tn_csum *csum, tenon_u8 *to, const struct tenon_span *spans,
                                       tenon_u32 off, tenon_u32 len);
/* One's complement sum of n bytes, folded to 16 bits (not complemented). */
TENON_INTERNAL tenon_u16 tn_csum_sum(const tenon_u8 *bytes, size_t n);
/* The same, and a copy of them at `to`, which lies elsewhere. */
TENON_INTERNAL tenon_u16 tn_csum_copy(tenon_u8 *to, const tenon_u8 *from, size_t n);
/* The same of 20 bytes: an IPv4 header without options. */
TENON_INTERNAL tenon_u16 tn_csum_sum20(const tenon_u8 *bytes);
/* Whether that is right. */
TENON_INTERNAL int tn_csum_good20(const tenon_u8 *bytes);
/* Sum of the pseudo-header (RFC 9293 3.1, RFC 8200 8.1), folded, not complemented. */
TENON_INTERNAL tenon_u16 tn_csum_pseudo(const struct tenon_ip *src, const struct tenon_ip *dst, unsigned proto,
                                        tenon_u32 len);
/* The checksum field after one 16-bit word under it changed (RFC 1624 eqn. 3). */
TENON_INTERNAL tenon_u16 tn_csum_update16(tenon_u16 field, tenon_u16 before, tenon_u16 after);

/* Fold to 16 bits. */
TENON_INLINE tenon_u32 tn_csum_fold(tenon_u32 sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

/* Two IPv4 addresses, as words, not folded. */
TENON_INLINE tenon_u32 tn_csum_ends4(tenon_u32 src, tenon_u32 dst)
{
    return (src >> 16) + (src & 0xFFFF) + (dst >> 16) + (dst & 0xFFFF);
}

/* One's complement addition of two folded sums. */
TENON_INLINE tenon_u16 tn_csum_join(tenon_u32 a, tenon_u32 b)
{
    const tenon_u32 sum = a + b;

    return (tenon_u16)((sum & 0xFFFFUL) + (sum >> 16));
}

TENON_END_DECLS

#endif
