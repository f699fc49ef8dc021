/* SPDX-License-Identifier: MIT */
/* The hashes against published vectors and against straightforward implementations. */
#include <stdint.h>

#include "unit.h"
#include "base/hash.h"

/* ---- SipHash-2-4 ------------------------------------------------------------------------------ */

/* Of the paper's reference code: key 00 01 .. 0f, message 00 01 .. (n - 1), for n = 0, 1, ... */
static const uint64_t sip_vectors[16] = {
    0x726fdb47dd0e0e31ULL, 0x74f839c593dc67fdULL, 0x0d6c8009d9a94f5aULL, 0x85676696d7fb7e2dULL,
    0xcf2794e0277187b7ULL, 0x18765564cd99a68dULL, 0xcbc9466e58fee3ceULL, 0xab0200f58b01d137ULL,
    0x93f5f5799a932462ULL, 0x9e0082df0ba9e4b0ULL, 0x7a5dbbc594ddb9f3ULL, 0xf4b32f46226bada7ULL,
    0x751e8fbc860ee5fbULL, 0x14ea5627c0843d90ULL, 0xf723ca908e7af2eeULL, 0xa129ca6149be45e5ULL
};

static uint64_t rotl64(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void plain_sip_rounds(uint64_t v[4], unsigned rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotl64(v[1], 13) ^ v[0];
        v[3] = rotl64(v[3], 16) ^ v[2];
        v[0] = rotl64(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotl64(v[1], 17) ^ v[2];
        v[3] = rotl64(v[3], 21) ^ v[0];
        v[2] = rotl64(v[2], 32);
    }
}

static uint64_t plain_sip(uint64_t k0, uint64_t k1, const unsigned char *bytes, unsigned n)
{
    uint64_t v[4] = { 0x736f6d6570736575ULL, 0x646f72616e646f6dULL, 0x6c7967656e657261ULL, 0x7465646279746573ULL };
    uint64_t word = 0;
    unsigned i;

    v[0] ^= k0;
    v[1] ^= k1;
    v[2] ^= k0;
    v[3] ^= k1;
    for (i = 0; i <= n; i++) {
        word |= (uint64_t)(i < n ? bytes[i] : 0) << 8 * (i % 8);
        if (i == n)
            word |= (uint64_t)n << 56;
        if (i % 8 != 7 && i != n)
            continue;
        v[3] ^= word;
        plain_sip_rounds(v, 2);
        v[0] ^= word;
        word = 0;
    }
    v[2] ^= 0xff;
    plain_sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* In both ways: with words of 64 bits, where the machine has them, and with pairs. */
static uint64_t our_sip(uint64_t k0, uint64_t k1, const unsigned char *bytes, unsigned n)
{
    struct tn_key128 key;
    tenon_u32 out[2], pairs[2];

    key.k[0] = (tenon_u32)k0;
    key.k[1] = (tenon_u32)(k0 >> 32);
    key.k[2] = (tenon_u32)k1;
    key.k[3] = (tenon_u32)(k1 >> 32);
    tn_siphash(out, &key, bytes, n);
    tn_siphash_pairs(pairs, &key, bytes, n);
    CHECK_EQ_U(pairs[0], out[0]);
    CHECK_EQ_U(pairs[1], out[1]);
    return (uint64_t)out[1] << 32 | out[0];
}

/* covers: 6528-3 */
UNIT_TEST(siphash_published_vectors)
{
    unsigned char message[16];
    unsigned n;

    for (n = 0; n < 16; n++) {
        CHECK(our_sip(0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL, message, n) == sip_vectors[n]);
        CHECK(plain_sip(0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL, message, n) == sip_vectors[n]);
        message[n] = (unsigned char)n;
    }
}

/* Words are what stands in memory little endian. */
UNIT_TEST(siphash_of_words)
{
    struct tn_key128 key;
    tenon_u32 words[11], out[2], bytewise[2];
    unsigned char message[45];
    unsigned long seed = 7;
    unsigned n, i;

    for (i = 0; i < 4; i++)
        key.k[i] = (tenon_u32)unit_random(&seed);
    for (n = 1; n <= 11; n += 2) {
        for (i = 0; i < n; i++)
            words[i] = (tenon_u32)unit_random(&seed);
        for (i = 0; i < 4 * n; i++)
            message[i] = (unsigned char)(words[i / 4] >> i % 4 * 8 & 0xFF);
        message[4 * n] = (unsigned char)(0xA0 + n);
        tn_siphash(bytewise, &key, message, 4 * n + 1);
        tn_siphash_words(out, &key, words, n, 0xA0 + n);
        CHECK_EQ_U(out[0], bytewise[0]);
        CHECK_EQ_U(out[1], bytewise[1]);
    }
}

/* ---- Chaskey-12 ---- */

/* Of the first 16, 32 and 48 of the bytes 0, 1, 2, ...: its authors' vectors for whole blocks, their first halves. */
struct chaskey_vector {
    unsigned bytes;
    tenon_u32 out[2];
};

static const struct chaskey_vector chaskey_vectors[] = { { 16, { 0x5DD0E2A9, 0xFB5EAC8C } },
                                                         { 32, { 0x77962784, 0x07C647FA } },
                                                         { 48, { 0xF36E748B, 0x8F34677F } } };

/* Words of a message of rising bytes. */
static void rising_words(tenon_u32 *words, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        words[i] = 0x03020100U + 0x04040404U * i;
}

/* covers: 6528-3 */
UNIT_TEST(chaskey_published_vectors)
{
    static const struct tn_key128 key = { { 0x833D3433, 0x009F389F, 0x2398E64F, 0x417ACF39 } };
    tenon_u32 words[12], out[2];
    unsigned i;

    rising_words(words, 12);
    for (i = 0; i < sizeof(chaskey_vectors) / sizeof(chaskey_vectors[0]); i++) {
        tn_chaskey(out, &key, words, chaskey_vectors[i].bytes / 4);
        CHECK_EQ_U(out[0], chaskey_vectors[i].out[0]);
        CHECK_EQ_U(out[1], chaskey_vectors[i].out[1]);
    }
}

static uint32_t plain_turn(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* As the paper has it, round by round; the key of the last block by shifting 128 bits. */
static void plain_chaskey(uint32_t v[4], const uint32_t k[4], const uint32_t *words, unsigned blocks)
{
    const uint64_t low = (uint64_t)k[1] << 32 | k[0], high = (uint64_t)k[3] << 32 | k[2];
    const uint64_t low2 = low << 1 ^ (high >> 63) * 0x87, high2 = high << 1 | low >> 63;
    const uint32_t last[4] = { (uint32_t)low2, (uint32_t)(low2 >> 32), (uint32_t)high2, (uint32_t)(high2 >> 32) };
    unsigned b, i, round;

    for (i = 0; i < 4; i++)
        v[i] = k[i];
    for (b = 0; b < blocks; b++) {
        for (i = 0; i < 4; i++)
            v[i] ^= words[4 * b + i] ^ (b + 1 == blocks ? last[i] : 0);
        for (round = 0; round < 12; round++) {
            v[0] += v[1], v[1] = plain_turn(v[1], 5) ^ v[0], v[0] = plain_turn(v[0], 16);
            v[2] += v[3], v[3] = plain_turn(v[3], 8) ^ v[2];
            v[0] += v[3], v[3] = plain_turn(v[3], 13) ^ v[0];
            v[2] += v[1], v[1] = plain_turn(v[1], 7) ^ v[2], v[2] = plain_turn(v[2], 16);
        }
    }
    for (i = 0; i < 4; i++)
        v[i] ^= last[i];
}

/* Keys whose doubling carries and others; what is missing to whole blocks is 0. */
UNIT_TEST(chaskey_random_words)
{
    struct tn_key128 key;
    tenon_u32 words[12], out[2];
    uint32_t plain[4], k[4];
    unsigned long seed = 9;
    unsigned round, i;

    for (round = 0; round < 220; round++) {
        const unsigned n = round % 11 + 1;

        memset(words, 0, sizeof(words));
        for (i = 0; i < 4; i++)
            k[i] = key.k[i] = (tenon_u32)unit_random(&seed);
        for (i = 0; i < n; i++)
            words[i] = (tenon_u32)unit_random(&seed);
        tn_chaskey(out, &key, words, n);
        plain_chaskey(plain, k, words, (n + 3) / 4);
        CHECK_EQ_U(out[0], plain[0]);
        CHECK_EQ_U(out[1], plain[1]);
    }
}

UNIT_TEST(siphash_random_messages)
{
    unsigned char message[300];
    unsigned long seed = 42;
    unsigned round, i;

    for (round = 0; round < 600; round++) {
        const uint64_t k0 = unit_random(&seed) * 0x9E3779B97F4A7C15ULL;
        const uint64_t k1 = unit_random(&seed) * 0xC2B2AE3D27D4EB4FULL;
        const unsigned n = round % 300;

        for (i = 0; i < n; i++)
            message[i] = (unsigned char)(unit_random(&seed) >> 7);
        CHECK(our_sip(k0, k1, message, n) == plain_sip(k0, k1, message, n));
    }
}

/* ---- HalfSipHash ------------------------------------------------------------------------------ */

/* HalfSipHash-2-4 with 32 bits, of its reference code: key 00 .. 07, message 00 .. (n - 1). They prove the
 * plain implementation, which then proves the 1-3 one. */
static const tenon_u32 half_vectors[4] = { 0x5b9f35a9UL, 0xb85a4727UL, 0x03a662faUL, 0x04e7fe8aUL };

static tenon_u32 rotl32(tenon_u32 x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void plain_half_rounds(tenon_u32 v[4], unsigned rounds)
{
    while (rounds-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotl32(v[1], 5) ^ v[0];
        v[3] = rotl32(v[3], 8) ^ v[2];
        v[0] = rotl32(v[0], 16);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotl32(v[1], 13) ^ v[2];
        v[3] = rotl32(v[3], 7) ^ v[0];
        v[2] = rotl32(v[2], 16);
    }
}

static tenon_u32 plain_half(unsigned compress, unsigned finish, const struct tn_key64 *key,
                            const unsigned char *bytes, unsigned n)
{
    tenon_u32 v[4] = { 0, 0, 0x6c796765UL, 0x74656462UL };
    tenon_u32 word = 0;
    unsigned i;

    v[0] ^= key->k[0];
    v[1] ^= key->k[1];
    v[2] ^= key->k[0];
    v[3] ^= key->k[1];
    for (i = 0; i <= n; i++) {
        word |= (tenon_u32)(i < n ? bytes[i] : 0) << 8 * (i % 4);
        if (i == n)
            word |= (tenon_u32)n << 24;
        if (i % 4 != 3 && i != n)
            continue;
        v[3] ^= word;
        plain_half_rounds(v, compress);
        v[0] ^= word;
        word = 0;
    }
    v[2] ^= 0xff;
    plain_half_rounds(v, finish);
    return v[1] ^ v[3];
}

UNIT_TEST(plain_halfsiphash_published_vectors)
{
    static const struct tn_key64 key = { { 0x03020100UL, 0x07060504UL } };
    unsigned char message[4];
    unsigned n;

    for (n = 0; n < 4; n++) {
        CHECK_EQ_U(plain_half(2, 4, &key, message, n), half_vectors[n]);
        message[n] = (unsigned char)n;
    }
}

UNIT_TEST(halfsiphash_random_words)
{
    tenon_u32 words[80];
    unsigned char bytes[320];
    unsigned long seed = 7;
    unsigned n, i;

    for (n = 0; n < 80; n++) {
        struct tn_key64 key;

        key.k[0] = (tenon_u32)unit_random(&seed);
        key.k[1] = (tenon_u32)unit_random(&seed);
        for (i = 0; i < n; i++) {
            words[i] = (tenon_u32)unit_random(&seed);
            bytes[4 * i] = (unsigned char)(words[i] & 0xFF);
            bytes[4 * i + 1] = (unsigned char)(words[i] >> 8 & 0xFF);
            bytes[4 * i + 2] = (unsigned char)(words[i] >> 16 & 0xFF);
            bytes[4 * i + 3] = (unsigned char)(words[i] >> 24);
        }
        CHECK_EQ_U(tn_hash_words(&key, words, n), plain_half(1, 3, &key, bytes, 4 * n));
    }
}

/* The first words once, the last word often: the same as all of them at once. */
UNIT_TEST(halfsiphash_of_what_is_begun)
{
    tenon_u32 words[80], state[4];
    unsigned long seed = 9;
    struct tn_key64 key;
    unsigned n, i;

    key.k[0] = (tenon_u32)unit_random(&seed);
    key.k[1] = (tenon_u32)unit_random(&seed);
    for (i = 0; i < 80; i++)
        words[i] = (tenon_u32)unit_random(&seed);
    for (n = 0; n < 79; n++) {
        tn_hash_begin(state, &key, words, n);
        for (i = 0; i < 2; i++) {
            words[n] ^= i;
            CHECK_EQ_U(tn_hash_end(state, words[n], n), tn_hash_words(&key, words, n + 1));
        }
    }
}

/* 4-tuples as they come: one server, addresses and ports in sequence. The fill of 1024 buckets must look
 * random: chi-squared of 1023 degrees of freedom is 1023 +- 45, and beyond 6 sigma it is no accident. */
/* covers: RES-8 */
UNIT_TEST(halfsiphash_spreads_tuples)
{
    static unsigned fill[1024];
    unsigned key_round, i;

    for (key_round = 0; key_round < 8; key_round++) {
        struct tn_key64 key;
        double chi = 0;

        key.k[0] = 0x12345678UL * key_round;
        key.k[1] = ~key.k[0];
        memset(fill, 0, sizeof(fill));
        for (i = 0; i < 65536; i++) {
            tenon_u32 words[3];

            words[0] = 0x0A000001UL + i / 256;
            words[1] = 0x0A000001UL;
            words[2] = (tenon_u32)(40000 + i % 256) << 16 | 80;
            fill[tn_hash_words(&key, words, 3) & 1023]++;
        }
        for (i = 0; i < 1024; i++)
            chi += (fill[i] - 64.0) * (fill[i] - 64.0) / 64.0;
        CHECK(chi > 1023 - 6 * 45 && chi < 1023 + 6 * 45);
    }
}

/* ---- random numbers --------------------------------------------------------------------------- */

UNIT_TEST(random_depends_on_key_and_counter)
{
    struct tn_rng a, b;
    tenon_u32 first;

    memset(&a, 0, sizeof(a));
    b = a;
    first = tn_random(&a);
    CHECK_EQ_U(tn_random(&b), first);
    CHECK_EQ_U(a.counter, 1);
    CHECK(tn_random(&a) != first);
    b.counter = 0;
    b.key.k[3] = 1;
    CHECK(tn_random(&b) != first);
}

UNIT_TEST(random_below_is_below_and_even)
{
    static const tenon_u32 limits[] = { 1, 3, 6, 999, 65536UL, 0x80000000UL, 0x80000001UL, 0xC0000000UL, 0xFFFFFFFFUL };
    struct tn_rng state;
    unsigned i, k;

    memset(&state, 0, sizeof(state));
    state.key.k[1] = 99;
    for (i = 0; i < TENON_ARRAY_LEN(limits); i++) {
        const tenon_u32 third = limits[i] / 3;
        unsigned low = 0;

        for (k = 0; k < 4096; k++) {
            const tenon_u32 x = tn_random_below(&state, limits[i]);

            CHECK(x < limits[i]);
            low += x < third;
        }
        if (limits[i] > 1)    /* 1365 +- 30 */
            CHECK(low > 1365 - 6 * 30 && low < 1365 + 6 * 30);
    }
}

int main(void)
{
    UNIT_RUN(siphash_published_vectors);
    UNIT_RUN(siphash_of_words);
    UNIT_RUN(siphash_random_messages);
    UNIT_RUN(chaskey_published_vectors);
    UNIT_RUN(chaskey_random_words);
    UNIT_RUN(plain_halfsiphash_published_vectors);
    UNIT_RUN(halfsiphash_random_words);
    UNIT_RUN(halfsiphash_of_what_is_begun);
    UNIT_RUN(halfsiphash_spreads_tuples);
    UNIT_RUN(random_depends_on_key_and_counter);
    UNIT_RUN(random_below_is_below_and_even);
    return unit_end();
}
