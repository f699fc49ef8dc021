/* SPDX-License-Identifier: MIT */
/* The Internet checksum (RFC 1071). The sum of 16-bit words with the carry added back in does not care in
 * which order the bytes of all words are, as long as it is the same for all (RFC 1071 2 (B)): words are
 * summed as the machine reads them, and the result is read back as two bytes.
 *
 * Words are read in pairs, as numbers of 32 bits. `all` is their sum modulo 2^32, `high` that of their upper
 * halves, which is exact; then the lower halves have the sum all - (high << 16), also exact, since that is
 * below 2^32. It takes one shift and two additions for four bytes, and nothing that vectors do not have.
 * Loops of a constant number of rounds are vectorised even by compilers that will not have two versions of
 * one; what is too short for them is summed without a loop, since most of what is summed are headers. */
#include "wire/checksum.h"
#include "base/bytes.h"
#include "base/mem.h"

enum { CSUM_BLOCK = TENON_SUM_BYTES, CSUM_FOURTH = 256, CSUM_HALF = 128, CSUM_LINE = 64, CSUM_HOOK_BYTES_MIN = 64 };

/* Blocks whose sum fits into 32 bits whatever they hold, with room for what follows them. */
static const size_t csum_blocks_max = 64000 / (CSUM_BLOCK / 2);

TENON_INLINE tenon_u32 csum_turn(tenon_u32 sum)
{
    return (sum & 0xFF) << 8 | sum >> 8;
}

/* The carry of a sum of pairs is one of the upper words, and comes back in at the lower ones. */
TENON_INLINE tenon_u32 csum_carry(tenon_u32 sum, tenon_u32 pair)
{
    sum += pair;
    return sum + (tenon_u32)(sum < pair);
}

/* Eight bytes more. */
TENON_INLINE tenon_u32 csum_eight(tenon_u32 sum, const tenon_u8 *p)
{
    return csum_carry(csum_carry(sum, get32raw(p)), get32raw(p + 4));
}

/* A sum of words as they were read becomes one of big-endian words. */
TENON_INLINE tenon_u16 csum_finish(tenon_u32 sum)
{
    const tenon_u16 folded = (tenon_u16)tn_csum_fold(sum);
    tenon_u8 bytes[2];

    TENON_COPY(bytes, &folded, sizeof(bytes));
    return (tenon_u16)((tenon_u32)bytes[0] << 8 | bytes[1]);
}

/* n: a constant. */
TENON_INLINE tenon_u32 csum_bytes(const tenon_u8 *p, unsigned n)
{
    tenon_u32 all = 0, high = 0;
    unsigned i;

    for (i = 0; i < n / 4; i++) {
        const tenon_u32 pair = get32raw(p + (size_t)i * 4);

        all += pair;
        high += pair >> 16;
    }
    return high + (all - (high << 16));
}

/* A block, and a copy of it: in the time of one of both. */
TENON_INLINE tenon_u32 csum_copy_block(tenon_u8 *to, const tenon_u8 *p)
{
    tenon_u32 all = 0, high = 0;
    unsigned i;

    for (i = 0; i < CSUM_BLOCK / 4; i++) {
        const tenon_u32 pair = get32raw(p + (size_t)i * 4);

        TENON_COPY(to + (size_t)i * 4, &pair, sizeof(pair));
        all += pair;
        high += pair >> 16;
    }
    return high + (all - (high << 16));
}

/* So few that two sums would cost more than they save. */
TENON_INLINE tenon_u32 csum_line(const tenon_u8 *p)
{
    tenon_u32 sum = 0;
    unsigned i;

    for (i = 0; i < CSUM_LINE / 2; i++)
        sum += get16raw(p + (size_t)i * 2);
    return sum;
}

static tenon_u32 csum_blocks(const tenon_u8 *p, size_t blocks)
{
    tenon_u32 sum = 0;

    for (; blocks > csum_blocks_max; blocks--, p += CSUM_BLOCK)
        sum = tn_csum_fold(sum + csum_bytes(p, CSUM_BLOCK));
    for (; blocks > 0; blocks--, p += CSUM_BLOCK)
        sum += csum_bytes(p, CSUM_BLOCK);
    return tn_csum_fold(sum);
}

/* The last n % 4 bytes, added to a sum that is less than 2^31. */
TENON_INLINE tenon_u32 csum_last(tenon_u32 sum, const tenon_u8 *p, size_t n)
{
    tenon_u8 last[2];

    if (n & 2) {
        sum += get16raw(p);
        p += 2;
    }
    if (n & 1) {
        last[0] = *p;
        last[1] = 0;    /* as if a 0 followed */
        sum += get16raw(last);
    }
    return sum;
}

/* The last n % CSUM_LINE bytes. */
TENON_INLINE tenon_u32 csum_rest(const tenon_u8 *p, size_t n)
{
    tenon_u32 sum = 0;

    if (n & 32) {
        sum = csum_carry(csum_eight(csum_eight(0, p), p + 8), csum_eight(csum_eight(0, p + 16), p + 24));
        p += 32;
    }
    if (n & 16) {
        sum = csum_eight(csum_eight(sum, p), p + 8);
        p += 16;
    }
    if (n & 8) {
        sum = csum_eight(sum, p);
        p += 8;
    }
    if (n & 4) {
        sum = csum_carry(sum, get32raw(p));
        p += 4;
    }
    return csum_last(tn_csum_fold(sum), p, n);
}

/* In little code: pair by pair, of 64 KB at most, as packets are. */
static tenon_u16 csum_slow(const tenon_u8 *bytes, size_t n)
{
    tenon_u32 all = 0, high = 0;
    size_t pairs = n / 4;

    for (; pairs > 0; pairs--, bytes += 4) {
        const tenon_u32 pair = get32raw(bytes);

        all += pair;
        high += pair >> 16;
    }
    return csum_finish(csum_last(high + (all - (high << 16)), bytes, n));
}

TENON_INTERNAL tenon_u16 tn_csum_sum(const tenon_u8 *bytes, size_t n)
{
    tenon_u32 sum = 0;

    if (!TENON_WITH_SPEED)
        return csum_slow(bytes, n);
    if (n >= CSUM_BLOCK) {
        const size_t blocks = n / CSUM_BLOCK;

        sum = csum_blocks(bytes, blocks);
        bytes += blocks * CSUM_BLOCK;
        n %= CSUM_BLOCK;
    }
    for (; CSUM_BLOCK > CSUM_FOURTH && n >= CSUM_FOURTH; n -= CSUM_FOURTH, bytes += CSUM_FOURTH)
        sum += csum_bytes(bytes, CSUM_FOURTH);
    if (n & CSUM_HALF) {
        sum += csum_bytes(bytes, CSUM_HALF);
        bytes += CSUM_HALF;
    }
    if (n & CSUM_LINE) {
        sum += csum_line(bytes);
        bytes += CSUM_LINE;
    }
    return csum_finish(sum + csum_rest(bytes, n));
}

TENON_INTERNAL tenon_u16 tn_csum_sum20(const tenon_u8 *p)
{
    if (!TENON_WITH_SPEED)
        return csum_slow(p, 20);
    return csum_finish(csum_carry(csum_eight(csum_eight(0, p), p + 8), get32raw(p + 16)));
}

/* Sums of 0 modulo 0xFFFF have halves whose sum is 0xFFFF, or which both are; no header is 0. */
TENON_INTERNAL int tn_csum_good20(const tenon_u8 *p)
{
    tenon_u32 sum;

    if (TENON_SMALL)
        return tn_csum_sum20(p) == 0xFFFFU;
    sum = csum_carry(csum_eight(csum_eight(0, p), p + 8), get32raw(p + 16));
    return (sum >> 16) + (sum & 0xFFFFUL) == 0xFFFFUL || sum == 0xFFFFFFFFUL;
}

TENON_INTERNAL tenon_u16 tn_csum_copy(tenon_u8 *to, const tenon_u8 *from, size_t n)
{
    tenon_u32 sum = 0;

    for (; TENON_WITH_SPEED && n >= CSUM_BLOCK; n -= CSUM_BLOCK, from += CSUM_BLOCK, to += CSUM_BLOCK)
        sum = tn_csum_fold(sum + csum_copy_block(to, from));
    memcpy(to, from, n);
    return tn_csum_join(csum_finish(sum), tn_csum_sum(from, n));
}

TENON_INLINE tenon_u32 csum_piece(tn_csum_hook *hook, const tenon_u8 *bytes, size_t n)
{
    return hook == NULL || n < CSUM_HOOK_BYTES_MIN ? tn_csum_sum(bytes, n) : hook(bytes, n);
}

/* The same, copied. */
static tenon_u32 csum_copy_piece(tn_csum_hook *hook, tenon_u8 *to, const tenon_u8 *bytes, size_t n)
{
    if (hook == NULL || n < CSUM_HOOK_BYTES_MIN)
        return tn_csum_copy(to, bytes, n);
    memcpy(to, bytes, n);
    return hook(bytes, n);
}

/* A piece that starts at an odd byte has its bytes in the other halves of the words: RFC 1071 2 (B). */
TENON_INLINE void csum_join_piece(struct tn_csum *csum, tenon_u32 sum, size_t n)
{
    if (TENON_WITH_PIECES && csum->odd)
        sum = csum_turn(sum);
    csum->sum = tn_csum_join(csum->sum, sum);
    if (TENON_WITH_PIECES)
        csum->odd ^= (unsigned)(n & 1);
}

TENON_INTERNAL void tn_csum_add(struct tn_csum *csum, const tenon_u8 *bytes, size_t n)
{
    csum_join_piece(csum, csum_piece(csum->hook, bytes, n), n);
}

TENON_INTERNAL void tn_csum_copy_spans(struct tn_csum *csum, tenon_u8 *to, const struct tenon_span *spans,
                                       tenon_u32 off, tenon_u32 len)
{
    for (; len > 0; spans++) {
        const tenon_u8 *from;
        tenon_u32 piece;

        if (off >= spans->len) {
            off -= spans->len;
            continue;
        }
        from = tenon_span_data(spans) + off;
        piece = spans->len - off < len ? spans->len - off : len;
        if (!TENON_SMALL && csum != NULL && to != NULL) {
            csum_join_piece(csum, csum_copy_piece(csum->hook, to, from, piece), piece);
        } else {
            if (csum != NULL)
                tn_csum_add(csum, from, piece);
            if (to != NULL)
                memcpy(to, from, piece);
        }
        if (to != NULL)
            to += piece;
        len -= piece;
        off = 0;
    }
}

TENON_INTERNAL void tn_csum_add_spans(struct tn_csum *csum, const struct tenon_span *spans, tenon_u32 off,
                                      tenon_u32 len)
{
    tn_csum_copy_spans(csum, NULL, spans, off, len);
}

TENON_INTERNAL tenon_u32 tn_csum_spans(tn_csum_hook *hook, const struct tenon_span *spans, tenon_u32 off, tenon_u32 len)
{
    struct tn_csum csum;

    if (TENON_LIKELY(off <= spans->len && len <= spans->len - off))    /* no more than a call */
        return csum_piece(hook, tenon_span_data(spans) + off, len);
    tn_csum_init_hook(&csum, hook);
    tn_csum_add_spans(&csum, spans, off, len);
    return csum.sum;
}

/* Both versions alike: the upper bytes of protocol and length are 0 where one has them and the other does not, and the
 * 0xFFFF in front of an IPv4 address is 0 in such a sum. */
TENON_INTERNAL tenon_u16 tn_csum_pseudo(const struct tenon_ip *src, const struct tenon_ip *dst, unsigned proto,
                                        tenon_u32 len)
{
    tenon_u32 sum = len + proto;
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++)
        sum = csum_carry(csum_carry(sum, src->w[i]), dst->w[i]);
    return (tenon_u16)tn_csum_fold(sum);
}

/* HC' = ~(~HC + ~m + m') (RFC 1624 eqn. 3). */
TENON_INTERNAL tenon_u16 tn_csum_update16(tenon_u16 field, tenon_u16 before, tenon_u16 after)
{
    const tenon_u32 sum = (tenon_u32)(0xFFFF ^ field) + (0xFFFF ^ before) + after;

    return (tenon_u16)(0xFFFF ^ tn_csum_fold(sum));
}
