/* SPDX-License-Identifier: MIT */
/* SipHash-2-4 and HalfSipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012),
 * Chaskey-12 (Mouha and others, "Chaskey: An Efficient MAC Algorithm for 32-bit Microcontrollers", 2014;
 * ISO/IEC 29192-6), and a generator made of the first or, in a small build, of the last. 64-bit words are
 * pairs of 32-bit words here, low half first; but where a size_t has 64 bits, it is one. */
#include "base/hash.h"
#include "base/mem.h"

TENON_INLINE tenon_u32 hash_rotl(tenon_u32 x, unsigned by)
{
    return x << by | x >> (32 - by);
}

/* ---- HalfSipHash ----------------------------------------------------------------------------- */

struct hash_half {
    tenon_u32 v0, v1, v2, v3;
};

TENON_INLINE void hash_half_round(struct hash_half *s)
{
    s->v0 += s->v1;
    s->v1 = hash_rotl(s->v1, 5) ^ s->v0;
    s->v0 = hash_rotl(s->v0, 16);
    s->v2 += s->v3;
    s->v3 = hash_rotl(s->v3, 8) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = hash_rotl(s->v3, 7) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = hash_rotl(s->v1, 13) ^ s->v2;
    s->v2 = hash_rotl(s->v2, 16);
}

TENON_INLINE void hash_half_word(struct hash_half *s, tenon_u32 word)
{
    s->v3 ^= word;
    hash_half_round(s);
    s->v0 ^= word;
}

TENON_INLINE void hash_half_words(struct hash_half *s, const struct tn_key64 *key, const tenon_u32 *words, unsigned n)
{
    unsigned i;

    s->v0 = key->k[0];
    s->v1 = key->k[1];
    s->v2 = 0x6C796765UL ^ key->k[0];
    s->v3 = 0x74656462UL ^ key->k[1];
    for (i = 0; i < n; i++)
        hash_half_word(s, words[i]);
}

/* Of n words: their length in bytes modulo 256 is in the top byte of the last. */
TENON_INLINE tenon_u32 hash_half_end(struct hash_half *s, unsigned n)
{
    hash_half_word(s, (tenon_u32)(n & 0x3F) << 26);
    s->v2 ^= 0xFF;
    hash_half_round(s);
    hash_half_round(s);
    hash_half_round(s);
    return s->v1 ^ s->v3;
}

TENON_INTERNAL tenon_u32 tn_hash_words(const struct tn_key64 *key, const tenon_u32 *words, unsigned n)
{
    struct hash_half s;

    hash_half_words(&s, key, words, n);
    return hash_half_end(&s, n);
}

TENON_INTERNAL void tn_hash_begin(tenon_u32 state[4], const struct tn_key64 *key, const tenon_u32 *words, unsigned n)
{
    struct hash_half s;

    hash_half_words(&s, key, words, n);
    state[0] = s.v0;
    state[1] = s.v1;
    state[2] = s.v2;
    state[3] = s.v3;
}

TENON_INTERNAL tenon_u32 tn_hash_end(const tenon_u32 state[4], tenon_u32 word, unsigned n)
{
    struct hash_half s;

    s.v0 = state[0];
    s.v1 = state[1];
    s.v2 = state[2];
    s.v3 = state[3];
    hash_half_word(&s, word);
    return hash_half_end(&s, n + 1);
}

/* ---- SipHash --------------------------------------------------------------------------------- */

/* Four words, each of which is two numbers here, the low half first. */
struct hash_sip {
    tenon_u32 v[8];
};

/* a += b, then b = rotl(b, by) ^ a, for 0 < by < 32 */
static void hash_pair_mix(tenon_u32 *a, tenon_u32 *b, unsigned by)
{
    const tenon_u32 lo = b[0], hi = b[1];

    a[0] += lo;
    a[1] += hi + (a[0] < lo);
    b[0] = (lo << by | hi >> (32 - by)) ^ a[0];
    b[1] = (hi << by | lo >> (32 - by)) ^ a[1];
}

/* rotl(a, 32) */
TENON_INLINE void hash_pair_swap(tenon_u32 *a)
{
    const tenon_u32 lo = a[0];

    a[0] = a[1];
    a[1] = lo;
}

static void hash_sip_round(struct hash_sip *s)
{
    tenon_u32 *const v = s->v;

    hash_pair_mix(v, v + 2, 13);
    hash_pair_swap(v);
    hash_pair_mix(v + 4, v + 6, 16);
    hash_pair_mix(v, v + 6, 21);
    hash_pair_mix(v + 4, v + 2, 17);
    hash_pair_swap(v + 4);
}

static void hash_sip_start(struct hash_sip *s, const struct tn_key128 *key)
{
    static const tenon_u32 begin[] = { 0x70736575UL, 0x736F6D65UL, 0x6E646F6DUL, 0x646F7261UL,
                                       0x6E657261UL, 0x6C796765UL, 0x79746573UL, 0x74656462UL };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(begin); i++)
        s->v[i] = begin[i] ^ key->k[i % 4];
}

TENON_INLINE tenon_u32 hash_get32le(const tenon_u8 *p)
{
    tenon_u32 value;

    TENON_GET32LE(value, p);
    return value;
}

/* The word that comes last: what is left after all whole ones, and the length. */
TENON_INLINE void hash_last(tenon_u8 last[8], const tenon_u8 *bytes, unsigned n)
{
    memset(last, 0, 8);
    memcpy(last, bytes + (n & ~7U), n & 7);
    last[7] = (tenon_u8)(n & 0xFF);
}

TENON_ONCE_IF_SMALL static void hash_sip_word(struct hash_sip *s, tenon_u32 lo, tenon_u32 hi)
{
    s->v[6] ^= lo;
    s->v[7] ^= hi;
    hash_sip_round(s);
    hash_sip_round(s);
    s->v[0] ^= lo;
    s->v[1] ^= hi;
}

static void hash_sip_end(tenon_u32 out[2], struct hash_sip *s)
{
    unsigned i;

    s->v[4] ^= 0xFF;
    hash_sip_word(s, 0, 0);    /* which is two rounds */
    hash_sip_word(s, 0, 0);
    for (i = 0; i < 2; i++)
        out[i] = s->v[i] ^ s->v[2 + i] ^ s->v[4 + i] ^ s->v[6 + i];
}

TENON_INTERNAL void tn_siphash_pairs(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u8 *bytes, unsigned n)
{
    tenon_u8 last[8];
    struct hash_sip s;
    unsigned i;

    hash_sip_start(&s, key);
    hash_last(last, bytes, n);
    for (i = 0; i <= n; i += 8) {
        const tenon_u8 *p = n - i >= 8 ? bytes + i : last;

        hash_sip_word(&s, hash_get32le(p), hash_get32le(p + 4));
    }
    hash_sip_end(out, &s);
}

static void hash_sip_words(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words, unsigned n,
                           tenon_u32 last)
{
    struct hash_sip s;
    unsigned i;

    hash_sip_start(&s, key);
    for (i = 0; i + 1 < n; i += 2)
        hash_sip_word(&s, words[i], words[i + 1]);
    hash_sip_word(&s, words[i], last);
    hash_sip_end(out, &s);
}

/* The same where a size_t has 64 bits. On other machines nobody calls it; it compiles there too. */
enum { HASH_WIDE_BITS = sizeof(size_t) * CHAR_BIT };

struct hash_wide {
    size_t v0, v1, v2, v3;
};

TENON_INLINE size_t hash_wide_rotl(size_t x, unsigned by)
{
    return x << by % HASH_WIDE_BITS | x >> (HASH_WIDE_BITS - by % HASH_WIDE_BITS) % HASH_WIDE_BITS;
}

TENON_INLINE size_t hash_wide_of(tenon_u32 lo, tenon_u32 hi)
{
    return (size_t)hi << HASH_WIDE_BITS / 2 | lo;
}

TENON_INLINE void hash_wide_round(struct hash_wide *s)
{
    s->v0 += s->v1;
    s->v1 = hash_wide_rotl(s->v1, 13) ^ s->v0;
    s->v0 = hash_wide_rotl(s->v0, 32);
    s->v2 += s->v3;
    s->v3 = hash_wide_rotl(s->v3, 16) ^ s->v2;
    s->v0 += s->v3;
    s->v3 = hash_wide_rotl(s->v3, 21) ^ s->v0;
    s->v2 += s->v1;
    s->v1 = hash_wide_rotl(s->v1, 17) ^ s->v2;
    s->v2 = hash_wide_rotl(s->v2, 32);
}

TENON_INLINE void hash_wide_word(struct hash_wide *s, size_t word)
{
    s->v3 ^= word;
    hash_wide_round(s);
    hash_wide_round(s);
    s->v0 ^= word;
}

TENON_INLINE void hash_wide_start(struct hash_wide *s, const struct tn_key128 *key)
{
    const size_t k0 = hash_wide_of(key->k[0], key->k[1]), k1 = hash_wide_of(key->k[2], key->k[3]);

    s->v0 = k0 ^ hash_wide_of(0x70736575UL, 0x736F6D65UL);
    s->v1 = k1 ^ hash_wide_of(0x6E646F6DUL, 0x646F7261UL);
    s->v2 = k0 ^ hash_wide_of(0x6E657261UL, 0x6C796765UL);
    s->v3 = k1 ^ hash_wide_of(0x79746573UL, 0x74656462UL);
}

TENON_INLINE void hash_wide_end(tenon_u32 out[2], struct hash_wide *s)
{
    s->v2 ^= 0xFF;
    hash_wide_round(s);
    hash_wide_round(s);
    hash_wide_round(s);
    hash_wide_round(s);
    s->v0 ^= s->v1 ^ s->v2 ^ s->v3;
    out[0] = (tenon_u32)(s->v0 & 0xFFFFFFFFUL);
    out[1] = (tenon_u32)(s->v0 >> HASH_WIDE_BITS / 2 & 0xFFFFFFFFUL);
}

static void hash_wide_sip(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u8 *bytes, unsigned n)
{
    struct hash_wide s;
    tenon_u8 last[8];
    unsigned i;

    hash_wide_start(&s, key);
    for (i = 0; n - i >= 8; i += 8)
        hash_wide_word(&s, hash_wide_of(hash_get32le(bytes + i), hash_get32le(bytes + i + 4)));
    hash_last(last, bytes, n);
    hash_wide_word(&s, hash_wide_of(hash_get32le(last), hash_get32le(last + 4)));
    hash_wide_end(out, &s);
}

TENON_INLINE void hash_wide_sip_words(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words,
                                      unsigned n, tenon_u32 last)
{
    struct hash_wide s;
    unsigned i;

    hash_wide_start(&s, key);
    for (i = 0; i + 1 < n; i += 2)
        hash_wide_word(&s, hash_wide_of(words[i], words[i + 1]));
    hash_wide_word(&s, hash_wide_of(words[i], last));
    hash_wide_end(out, &s);
}

TENON_INTERNAL void tn_siphash(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u8 *bytes, unsigned n)
{
    if (HASH_WIDE_BITS == 64)
        hash_wide_sip(out, key, bytes, n);
    else
        tn_siphash_pairs(out, key, bytes, n);
}

/* An odd number of words, and what stands beside the last: a byte or none, and the length in the top byte. */
TENON_INLINE void hash_words(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words, unsigned n,
                             tenon_u32 last)
{
    if (HASH_WIDE_BITS == 64)
        hash_wide_sip_words(out, key, words, n, last);
    else
        hash_sip_words(out, key, words, n, last);
}

TENON_INTERNAL void tn_siphash_words(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words, unsigned n,
                                     unsigned last)
{
    TENON_ASSERT(n % 2 == 1);
    hash_words(out, key, words, n, (tenon_u32)(4 * n + 1) << 24 | last);
}

/* ---- Chaskey-12 ------------------------------------------------------------------------------ */

/* The permutation: twelve rounds, in which only additions and rotations of 32 bits are. */
TENON_ONCE static void hash_chaskey_mix(tenon_u32 v[4])
{
    tenon_u32 v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3];
    unsigned i;

    for (i = 0; i < 12; i++) {
        v0 += v1;
        v1 = hash_rotl(v1, 5) ^ v0;
        v2 += v3;
        v3 = hash_rotl(v3, 8) ^ v2;
        v0 = hash_rotl(v0, 16) + v3;
        v3 = hash_rotl(v3, 13) ^ v0;
        v2 += v1;
        v1 = hash_rotl(v1, 7) ^ v2;
        v2 = hash_rotl(v2, 16);
    }
    v[0] = v0;
    v[1] = v1;
    v[2] = v2;
    v[3] = v3;
}

/* To the last block goes a key of its own, which is needed again: the other one times x, modulo
 * x^128 + x^7 + x^2 + x + 1. */
static void hash_chaskey_close(tenon_u32 v[4], tenon_u32 last_key[4], const tenon_u32 key[4])
{
    tenon_u32 carry = key[3] >> 31 ? 0x87 : 0;
    unsigned i;

    for (i = 0; i < 4; i++) {
        last_key[i] = key[i] << 1 ^ carry;
        carry = key[i] >> 31;
        v[i] ^= last_key[i];
    }
}

TENON_INTERNAL void tn_chaskey(tenon_u32 out[2], const struct tn_key128 *key, const tenon_u32 *words, unsigned n)
{
    struct tn_key128 v = *key;
    tenon_u32 last_key[4];
    unsigned i;

    for (i = 0; i < n; i++) {
        if (i > 0 && i % 4 == 0)
            hash_chaskey_mix(v.k);
        v.k[i % 4] ^= words[i];
    }
    hash_chaskey_close(v.k, last_key, key->k);
    hash_chaskey_mix(v.k);
    out[0] = v.k[0] ^ last_key[0];
    out[1] = v.k[1] ^ last_key[1];
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* Of the four bytes of a counter. */
TENON_INTERNAL tenon_u32 tn_random(struct tn_rng *random)
{
    const tenon_u32 count = random->counter++;
    tenon_u32 out[2];

    if (TENON_WITH_MANY)
        hash_words(out, &random->key, &count, 1, 4UL << 24);
    else
        tn_chaskey(out, &random->key, &count, 1);
    return out[0];
}

/* The lowest 2^32 mod n numbers are drawn again: what is left divides by n. Two draws at most on average,
 * hardly ever more than one for a small n. Where there are not many, a difference of n in 2^32 does not show. */
TENON_INTERNAL tenon_u32 tn_random_below(struct tn_rng *random, tenon_u32 n)
{
    tenon_u32 excess, x;

    TENON_ASSERT(n > 0);
    excess = TENON_WITH_MANY ? (~n + 1) % n : 0;
    do {
        x = tn_random(random);
    } while (x < excess);
    return x % n;
}
