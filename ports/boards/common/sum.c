/* SPDX-License-Identifier: MIT */
/* The Internet checksum (RFC 1071) with the processor's carry, for which C has no word. */
#include "board.h"

/* At a multiple of 2. */
static tenon_u32 word_at(const tenon_u8 *bytes)
{
    tenon_u16 word;

    __builtin_memcpy(&word, __builtin_assume_aligned(bytes, 2), sizeof(word));
    return word;
}

static tenon_u32 two_bytes(tenon_u8 first, tenon_u8 second)
{
    const tenon_u8 bytes[2] __attribute__((aligned(2))) = { first, second };

    return word_at(bytes);
}

/* Two words, at a multiple of 4. */
static tenon_u32 two_words_at(const tenon_u8 *bytes)
{
    tenon_u32 words;

    __builtin_memcpy(&words, __builtin_assume_aligned(bytes, 4), sizeof(words));
    return (words >> 16) + (words & 0xFFFF);
}

static tenon_u32 fold(tenon_u32 sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

/* Words are summed as the machine reads them: the order of their bytes is made right at the end (RFC 1071 2 (B)).
 * The first byte, where its address is odd, is the second of a word; so are all that follow in the wrong halves. */
tenon_u16 board_sum(const tenon_u8 *bytes, size_t n)
{
    const unsigned odd = (size_t)bytes & 1;
    tenon_u32 sum = 0;
    tenon_u8 ends[2];
    tenon_u16 word;

    if (odd) {
        sum = two_bytes(0, *bytes++);
        n--;
    }
    if ((size_t)bytes & 2) {
        sum += word_at(bytes);
        bytes += 2;
        n -= 2;
    }
    sum = fold(board_sum_blocks(sum, bytes, n / BOARD_SUM_BLOCK));
    bytes += n / BOARD_SUM_BLOCK * BOARD_SUM_BLOCK;
    for (n %= BOARD_SUM_BLOCK; n >= 4; n -= 4, bytes += 4)
        sum += two_words_at(bytes);
    if (n & 2)
        sum += word_at(bytes);
    if (n & 1)
        sum += two_bytes(bytes[n - 1], 0);
    word = (tenon_u16)fold(sum);
    __builtin_memcpy(ends, &word, sizeof(ends));
    return (tenon_u16)(ends[odd] << 8 | ends[1 - odd]);
}
