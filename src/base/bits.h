/* SPDX-License-Identifier: MIT */
/* The place of a bit in a word, without a branch and mostly without help from the compiler: a de Bruijn sequence
 * holds every 5-bit pattern once, so that shifting it by the place moves a different one to the top. */
#ifndef TN_BASE_BITS_H
#define TN_BASE_BITS_H

#include <tenon/config.h>

/* Number of the lowest bit that is set in x; x is not 0. */
TENON_INLINE unsigned tn_bit_lowest(tenon_u32 x)
{
    static const tenon_u8 place[32] = {
        0,  1,  28, 2,  29, 14, 24, 3, 30, 22, 20, 15, 25, 17, 4,  8,
        31, 27, 13, 23, 21, 19, 16, 7, 26, 12, 18, 6,  11, 5,  10, 9
    };
    const tenon_u32 lowest = x & (~x + 1);

    return place[(tenon_u32)(lowest * 0x077CB531UL) >> 27];
}

/* All bits from the highest that is set in x downwards. */
TENON_INLINE tenon_u32 tn_bits_below(tenon_u32 x)
{
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return x;
}

/* Number of the highest bit of a word of the kind that tn_bits_below() makes; ones is not 0. */
TENON_INLINE unsigned tn_bit_highest(tenon_u32 ones)
{
    static const tenon_u8 place[32] = {
        0, 9,  1,  10, 13, 21, 2,  29, 11, 14, 16, 18, 22, 25, 3, 30,
        8, 12, 20, 28, 15, 17, 24, 7,  19, 27, 23, 6,  26, 5,  4, 31
    };

    return place[(tenon_u32)(ones * 0x07C4ACDDUL) >> 27];
}

/* The same of any word but 0. */
TENON_INLINE unsigned tn_bit_highest_of(tenon_u32 x)
{
    return TENON_FINDS_BITS ? TENON_HIGHEST_BIT(x) : tn_bit_highest(tn_bits_below(x));
}

#endif
