/* SPDX-License-Identifier: MIT */
/* Keyed hashes. HalfSipHash-1-3 spreads table keys so that nobody outside can aim at one bucket;
 * SipHash-2-4 makes what peers get to see and must not predict (ISN, ports, interface identifiers), in small builds
 * Chaskey-12. */
#ifndef TN_BASE_HASH_H
#define TN_BASE_HASH_H

#include <tenon/config.h>

TENON_BEGIN_DECLS

struct tn_key64 {
    tenon_u32 k[2];
};
struct tn_key128 {
    tenon_u32 k[4];    /* k[0] is the low half of the first 64-bit word, k[1] its high half, ... */
};

/* HalfSipHash-1-3, 32-bit result, of n words (each as if it stood in memory little endian). */
TENON_INTERNAL tenon_u32 tn_hash_words(const struct tn_key64 *key, const tenon_u32 *words, unsigned n);

/* The same in two steps, for words of which the first do not change: the state after n words; then the result with one
 * more. */
TENON_INTERNAL void tn_hash_begin(tenon_u32 state[4], const struct tn_key64 *key, const tenon_u32 *words, unsigned n);
TENON_INTERNAL tenon_u32 tn_hash_end(const tenon_u32 state[4], tenon_u32 word, unsigned n);

/* The same for tables, which have one bucket where there are not many. */
TENON_INLINE tenon_u32 tn_hash_place(const struct tn_key64 *key, const tenon_u32 *words, unsigned n)
{
    return TENON_WITH_MANY ? tn_hash_words(key, words, n) : 0;
}

/* SipHash-2-4 of n bytes. out[0]: low half, out[1]: high half. The second with 32-bit arithmetic only. */
TENON_INTERNAL void tn_siphash(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u8 *bytes, unsigned n);
TENON_INTERNAL void tn_siphash_pairs(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u8 *bytes, unsigned n);

/* The same of n words, each as if it stood in memory little endian, and a byte behind them; n is odd and less than
 * 12. */
TENON_INTERNAL void tn_siphash_words(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words, unsigned n,
                                     unsigned last);

/* Chaskey-12 of n words, and of as many zeros as make whole blocks of four: two words of the four. */
TENON_INTERNAL void tn_chaskey(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words, unsigned n);

/* Of n words, an odd number, and a byte that tells what they are for; there is room for one more word behind them.
 * Where there are not many it is Chaskey-12, which is shorter, and made for processors of 32 bits. */
TENON_INLINE void tn_secret_words(tenon_u32 out[2], const struct tn_key128 *key, tenon_u32 *words, unsigned n,
                                  unsigned use)
{
    if (TENON_WITH_MANY) {
        tn_siphash_words(out, key, words, n, use);
        return;
    }
    words[n] = (tenon_u32)n << 24 | use;
    tn_chaskey(out, key, words, n + 1);
}

/* A small generator for jitter, identifiers and random choices: SipHash (Chaskey-12) of a counter under a key
 * from the host's entropy, which is used for nothing else. What it gave does not tell what it will give. */
struct tn_rng {
    struct tn_key128 key;
    tenon_u32 counter;
};
TENON_INTERNAL tenon_u32 tn_random(struct tn_rng *random);
/* 0 .. n-1, without bias worth speaking of; n > 0 */
TENON_INTERNAL tenon_u32 tn_random_below(struct tn_rng *random, tenon_u32 n);

TENON_END_DECLS

#endif
