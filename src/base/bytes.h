/* SPDX-License-Identifier: MIT */
/* Numbers in packets, at any alignment. Compilers turn each into one load, and a swap. */
#ifndef TN_BASE_BYTES_H
#define TN_BASE_BYTES_H

#include <tenon/types.h>

TENON_INLINE tenon_u16 get16be(const tenon_u8 *p)
{
    return (tenon_u16)((tenon_u32)p[0] << 8 | p[1]);
}

TENON_INLINE tenon_u32 get32be(const tenon_u8 *p)
{
    tenon_u32 value;

    TENON_GET32BE(value, p);
    return value;
}

TENON_INLINE void put16be(tenon_u8 *p, tenon_u32 v)
{
    TENON_PUT16BE(p, v);
}

TENON_INLINE void put32be(tenon_u8 *p, tenon_u32 v)
{
    TENON_PUT32BE(p, v);
}

/* Bytes as they lie there, in whatever order: for what is only compared, and for sums, which have all their bits in any
 * order (RFC 1071 2 (B)). */
TENON_INLINE tenon_u32 get16raw(const tenon_u8 *p)
{
    tenon_u16 half;

    TENON_COPY(&half, p, sizeof(half));
    return half;
}

TENON_INLINE tenon_u32 get32raw(const tenon_u8 *p)
{
    tenon_u32 word;

    TENON_COPY(&word, p, sizeof(word));
    return word;
}

/* 0: eight bytes are the same. In as few steps as the machine's words allow. */
TENON_INLINE size_t differ8raw(const tenon_u8 *a, const tenon_u8 *b)
{
    enum { WORDS = 8 / sizeof(size_t) };
    size_t x[WORDS], y[WORDS], bits = 0;
    unsigned i;

    TENON_COPY(x, a, sizeof(x));
    TENON_COPY(y, b, sizeof(y));
    for (i = 0; i < WORDS; i++)
        bits |= x[i] ^ y[i];
    return bits;
}

/* An address as it stands in an IPv6 header. */
TENON_INLINE struct tenon_ip get_ip6(const tenon_u8 *p)
{
    return tenon_ip6(get32be(p), get32be(p + 4), get32be(p + 8), get32be(p + 12));
}

/* The same, to where it stays: a value that is returned may be copied once more. */
TENON_INLINE void read_ip6(struct tenon_ip *ip, const tenon_u8 *p)
{
    *ip = tenon_ip6(get32be(p), get32be(p + 4), get32be(p + 8), get32be(p + 12));
}

TENON_INLINE void put_ip6(tenon_u8 *p, const struct tenon_ip *ip)
{
    put32be(p, ip->w[0]);
    put32be(p + 4, tenon_ip_word(ip, 1));
    put32be(p + 8, tenon_ip_word(ip, 2));
    put32be(p + 12, ip->w[TENON_IP4_WORD]);
}

#endif
