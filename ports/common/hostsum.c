/* SPDX-License-Identifier: MIT */
/* Sums by the vectors of x86-64. As in the core (src/wire/checksum.c), words are read in pairs: `all` is the
 * sum of the pairs modulo 2^32, `high` that of their upper words, and all - (high << 16) is that of the lower
 * ones. What is done by hand is what compilers do not do: each line of memory is read once, into a register
 * that both sums take it from; vectors become a number once, at the end; and what does not fill a vector is
 * masked, not gone through. */
#include "hostsum.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdint.h>

/* As many bytes as can be summed without a carry out of 32 bits, whatever they are: 32768 words, and a few more. */
enum { PIECE = 65536 };

static inline tenon_u32 fold(tenon_u32 sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

/* From words as they are read to words in network order, or back (RFC 1071 2 (B)). */
static inline tenon_u32 turn(tenon_u32 folded)
{
    return (folded & 0xFF) << 8 | folded >> 8;
}

#define LANES4 static inline __attribute__((always_inline, target("avx2")))

LANES4 tenon_u32 lanes4(__m128i lanes)
{
    lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4E));
    return (tenon_u32)_mm_cvtsi128_si32(_mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0xB1)));
}

LANES4 tenon_u32 lanes8(__m256i lanes)
{
    return lanes4(_mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1)));
}

/* ---- AVX-512 ---------------------------------------------------------------------------------------- */

#define AVX512 __attribute__((target("avx2,avx512f,avx512bw,bmi2")))
#define AVX512_INLINE static inline __attribute__((always_inline, target("avx2,avx512f,avx512bw,bmi2")))

struct sums512 {
    __m512i all, high;
};

/* A line is in a register from here on: compilers would read it twice, as an operand of each use. */
AVX512_INLINE __m512i line512(const tenon_u8 *p)
{
    __m512i line = _mm512_load_si512((const void *)p);

    __asm__("" : "+v"(line));
    return line;
}

AVX512_INLINE void add512(struct sums512 *sums, __m512i pairs)
{
    sums->all = _mm512_add_epi32(sums->all, pairs);
    sums->high = _mm512_add_epi32(sums->high, _mm512_srli_epi32(pairs, 16));
}

AVX512_INLINE tenon_u32 number512(const struct sums512 *sums)
{
    const __m512i low = _mm512_sub_epi32(sums->all, _mm512_slli_epi32(sums->high, 16));
    const __m512i both = _mm512_add_epi32(low, sums->high);

    return fold(lanes8(_mm256_add_epi32(_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64(both, 1))));
}

/* From the line on in which the bytes begin: all reads are of whole lines, and of the first and the last line only the
 * bytes that count (others are not touched, be they there or not). n: 1 to PIECE. @return words in network order */
AVX512_INLINE tenon_u32 piece512(const tenon_u8 *bytes, size_t n)
{
    const unsigned before = (unsigned)((uintptr_t)bytes & 63);
    const tenon_u8 *p = (const tenon_u8 *)((uintptr_t)bytes - before);
    const __mmask64 begin = ~(__mmask64)0 << before;
    struct sums512 even, odd;
    size_t left = before + n;
    tenon_u32 sum;

    even.all = odd.all = even.high = odd.high = _mm512_setzero_si512();
    if (left <= 64) {
        add512(&even, _mm512_maskz_loadu_epi8(begin & ~(__mmask64)0 >> (64 - left), p));
        sum = number512(&even);
        return before & 1 ? sum : turn(sum);
    }
    add512(&even, _mm512_maskz_loadu_epi8(begin, p));
    p += 64;
    for (left -= 64; left >= 256; left -= 256, p += 256) {
        const __m512i a = line512(p), b = line512(p + 64), c = line512(p + 128), d = line512(p + 192);

        add512(&even, a);
        add512(&odd, b);
        add512(&even, c);
        add512(&odd, d);
    }
    if (left & 128) {
        add512(&even, line512(p));
        add512(&odd, line512(p + 64));
        p += 128;
    }
    if (left & 64) {
        add512(&even, line512(p));
        p += 64;
    }
    add512(&odd, _mm512_maskz_loadu_epi8(~(~(__mmask64)0 << (left & 63)), p));
    even.all = _mm512_add_epi32(even.all, odd.all);
    even.high = _mm512_add_epi32(even.high, odd.high);
    sum = number512(&even);
    return before & 1 ? sum : turn(sum);
}

AVX512 __attribute__((noinline)) static tenon_u16 large512(const tenon_u8 *bytes, size_t n)
{
    tenon_u32 sum = 0;

    for (; n > PIECE; n -= PIECE, bytes += PIECE)
        sum = fold(sum + piece512(bytes, PIECE));
    return (tenon_u16)fold(sum + piece512(bytes, n));
}

AVX512 static tenon_u16 sum_avx512(const tenon_u8 *bytes, size_t n)
{
    return n <= PIECE ? (tenon_u16)piece512(bytes, n) : large512(bytes, n);
}

/* Processors before those with VBMI2 (Ice Lake, Zen 4) slow down, or need several steps, for vectors of this width. */
static int runs_avx512(void)
{
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2") &&
           __builtin_cpu_supports("bmi2");
}

/* ---- AVX2 ------------------------------------------------------------------------------------------- */

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))

struct sums256 {
    __m256i all, high;
};

AVX2_INLINE __m256i read256(const tenon_u8 *p)
{
    __m256i pairs = _mm256_loadu_si256((const __m256i *)(const void *)p);

    __asm__("" : "+x"(pairs));
    return pairs;
}

AVX2_INLINE void add256(struct sums256 *sums, __m256i pairs)
{
    sums->all = _mm256_add_epi32(sums->all, pairs);
    sums->high = _mm256_add_epi32(sums->high, _mm256_srli_epi32(pairs, 16));
}

/* The last `rest` bytes of those that end at `end`, an even number, below 32; 32 are there. */
AVX2_INLINE __m256i last256(const tenon_u8 *end, size_t rest)
{
    static const tenon_u8 mask[64] = { [32] = 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255,
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255 };

    return _mm256_and_si256(read256(end - 32), _mm256_loadu_si256((const __m256i *)(const void *)(mask + rest)));
}

/* n: 32 to PIECE, or a few more. @return words in network order */
AVX2_INLINE tenon_u32 piece256(const tenon_u8 *p, size_t n)
{
    const tenon_u32 last = n & 1 ? (tenon_u32)p[n - 1] << 8 : 0;
    struct sums256 even, odd;
    tenon_u32 sum;

    even.all = odd.all = even.high = odd.high = _mm256_setzero_si256();
    for (; n >= 128; n -= 128, p += 128) {
        const __m256i a = read256(p), b = read256(p + 32), c = read256(p + 64), d = read256(p + 96);

        add256(&even, a);
        add256(&odd, b);
        add256(&even, c);
        add256(&odd, d);
    }
    if (n & 64) {
        add256(&even, read256(p));
        add256(&odd, read256(p + 32));
        p += 64;
    }
    if (n & 32) {
        add256(&even, read256(p));
        p += 32;
    }
    n &= 30;
    add256(&odd, last256(p + n, n));
    even.all = _mm256_add_epi32(even.all, odd.all);
    even.high = _mm256_add_epi32(even.high, odd.high);
    sum = lanes8(_mm256_add_epi32(_mm256_sub_epi32(even.all, _mm256_slli_epi32(even.high, 16)), even.high));
    return fold(turn(fold(sum)) + last);
}

AVX2 __attribute__((noinline)) static tenon_u16 large256(const tenon_u8 *bytes, size_t n)
{
    tenon_u32 sum = 0;

    for (; n >= PIECE + 32; n -= PIECE, bytes += PIECE)    /* the last has as many as it needs, too */
        sum = fold(sum + piece256(bytes, PIECE));
    return (tenon_u16)fold(sum + piece256(bytes, n));
}

AVX2 static tenon_u16 sum_avx2(const tenon_u8 *bytes, size_t n)
{
    return n <= PIECE ? (tenon_u16)piece256(bytes, n) : large256(bytes, n);
}

static int runs_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

/* ---- which ------------------------------------------------------------------------------------------ */

const struct hostsum_kind hostsum_kinds[] = {
    { "AVX-512", runs_avx512, sum_avx512 }, { "AVX2", runs_avx2, sum_avx2 }, { NULL, NULL, NULL } };

#else

const struct hostsum_kind hostsum_kinds[] = { { NULL, NULL, NULL } };

#endif

hostsum_function *hostsum_best(void)
{
    const struct hostsum_kind *kind = hostsum_kinds;

    while (kind->name != NULL && !kind->runs())
        kind++;
    return kind->sum;
}
