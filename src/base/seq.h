/* SPDX-License-Identifier: MIT */
/* Sequence numbers and other counters that wrap: compared modulo 2^32 (RFC 9293 3.4), here only. */
#ifndef TN_BASE_SEQ_H
#define TN_BASE_SEQ_H

#include <tenon/config.h>

/* a before b. The difference of two numbers is below 2^31, or they cannot be compared. */
TENON_INLINE int tn_seq_lt(tenon_u32 a, tenon_u32 b)
{
    return ((a - b) & 0x80000000UL) != 0;
}

TENON_INLINE int tn_seq_le(tenon_u32 a, tenon_u32 b)
{
    return !tn_seq_lt(b, a);
}

TENON_INLINE int tn_seq_gt(tenon_u32 a, tenon_u32 b)
{
    return tn_seq_lt(b, a);
}

TENON_INLINE int tn_seq_ge(tenon_u32 a, tenon_u32 b)
{
    return !tn_seq_lt(a, b);
}

/* low <= x <= high, on the circle. */
TENON_INLINE int tn_seq_between(tenon_u32 low, tenon_u32 x, tenon_u32 high)
{
    return x - low <= high - low;
}

TENON_INLINE tenon_u32 tn_seq_max(tenon_u32 a, tenon_u32 b)
{
    return tn_seq_lt(a, b) ? b : a;
}

TENON_INLINE tenon_u32 tn_seq_min(tenon_u32 a, tenon_u32 b)
{
    return tn_seq_lt(a, b) ? a : b;
}

TENON_INLINE tenon_u32 tn_min(tenon_u32 a, tenon_u32 b)
{
    return a < b ? a : b;
}

TENON_INLINE tenon_u32 tn_max(tenon_u32 a, tenon_u32 b)
{
    return a > b ? a : b;
}

#endif
