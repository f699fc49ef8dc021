/* SPDX-License-Identifier: MIT */
/* The Internet checksum (RFC 1071). The sum of 16-bit words with the carry added back in does not care in
 * which order the bytes of all words are, as long as it is the same for all, and the result is turned at the
 * end. So words are summed as a little-endian machine would read them, 32 bits at a time: the compiler makes
 * one load of the four bytes on the machines that have such a load. */
#include "wire/checksum.h"
#include "base/mem.h"

enum { CSUM_RUN_WORDS = 32 };

/* Words of 32 bits that are summed before the sum is folded: 32 bits hold twice so many numbers of 16. */
static const size_t csum_words_max = 16000;

/* Fold to 16 bits. */
TENON_INLINE tenon_u32 csum_fold(tenon_u32 sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

TENON_INLINE tenon_u32 csum_turn(tenon_u32 sum)
{
    return (sum & 0xFF) << 8 | sum >> 8;
}

TENON_INLINE tenon_u32 csum_word(const tenon_u8 *p)
{
    return p[0] | (tenon_u32)p[1] << 8 | (tenon_u32)p[2] << 16 | (tenon_u32)p[3] << 24;
}

/* Sum of n words of 32 bits as words of 16. The halves are summed apart, so that no carry is lost. */
TENON_INLINE tenon_u32 csum_run(const tenon_u8 *p, size_t n)
{
    tenon_u32 low = 0, high = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        const tenon_u32 word = csum_word(p + i * 4);

        low += word & 0xFFFF;
        high += word >> 16;
    }
    return low + high;
}

/* The same for any n up to csum_words_max, folded. A loop of known length is vectorised even by compilers
 * that will not have two versions of one. */
static tenon_u32 csum_words(const tenon_u8 *p, size_t n)
{
    tenon_u32 sum = 0;

    for (; n >= CSUM_RUN_WORDS; n -= CSUM_RUN_WORDS) {
        sum += csum_run(p, CSUM_RUN_WORDS);
        p += CSUM_RUN_WORDS * 4;
    }
    return csum_fold(sum + csum_run(p, n));
}

TENON_INTERNAL tenon_u16 tn_csum_sum(const tenon_u8 *bytes, size_t n)
{
    tenon_u32 sum = 0;

    while (n >= 4) {
        const size_t words = n / 4 < csum_words_max ? n / 4 : csum_words_max;

        sum = csum_fold(sum + csum_words(bytes, words));
        bytes += words * 4;
        n -= words * 4;
    }
    if (n >= 2) {
        sum += bytes[0] | (tenon_u32)bytes[1] << 8;
        bytes += 2;
    }
    if (n % 2 != 0)
        sum += bytes[0];    /* as if a 0 followed */
    return (tenon_u16)csum_turn(csum_fold(sum));
}

/* A piece that starts at an odd byte has its bytes in the other halves of the words: RFC 1071 2 (B). */
TENON_INTERNAL void tn_csum_add(struct tn_csum *csum, const tenon_u8 *bytes, size_t n)
{
    tenon_u32 sum = tn_csum_sum(bytes, n);

    if (csum->odd)
        sum = csum_turn(sum);
    csum->sum = tn_csum_join(csum->sum, sum);
    csum->odd ^= (unsigned)(n & 1);
}

TENON_INTERNAL void tn_csum_add_spans(struct tn_csum *csum, const struct tenon_span *spans, tenon_u32 off,
                                      tenon_u32 len)
{
    for (; len > 0; spans++) {
        tenon_u32 piece;

        if (off >= spans->len) {
            off -= spans->len;
            continue;
        }
        piece = spans->len - off < len ? spans->len - off : len;
        tn_csum_add(csum, tenon_span_data(spans) + off, piece);
        len -= piece;
        off = 0;
    }
}

/* IPv4 addresses count as their 32 bits, IPv6 ones as their 128: nothing else differs, since the upper bytes
 * of protocol and length are 0 where one version has them and the other does not. */
TENON_INTERNAL tenon_u16 tn_csum_pseudo(const struct tenon_ip *src, const struct tenon_ip *dst, unsigned proto,
                                        tenon_u32 len)
{
    tenon_u32 sum = proto;
    unsigned i = tenon_ip_is_v4(dst) ? 3 : 0;

    for (; i < 4; i++)
        sum += (src->w[i] >> 16) + (src->w[i] & 0xFFFF) + (dst->w[i] >> 16) + (dst->w[i] & 0xFFFF);
    sum += (len >> 16) + (len & 0xFFFF);
    return (tenon_u16)csum_fold(sum);
}

/* HC' = ~(~HC + ~m + m') (RFC 1624 eqn. 3). */
TENON_INTERNAL tenon_u16 tn_csum_update16(tenon_u16 field, tenon_u16 before, tenon_u16 after)
{
    const tenon_u32 sum = (tenon_u32)(0xFFFF ^ field) + (0xFFFF ^ before) + after;

    return (tenon_u16)(0xFFFF ^ csum_fold(sum));
}
