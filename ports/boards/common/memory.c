/* SPDX-License-Identifier: MIT */
/* What the core and the compiler want of a C library. */
#include <stddef.h>
#include <tenon/types.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* Of memory of any type; the other one lies anywhere, and is put together of bytes where the machine wants that. */
typedef tenon_u32 __attribute__((may_alias)) word;
typedef tenon_u32 __attribute__((may_alias, aligned(1))) odd_word;

/* By words, four in a round: whole ones where both lie alike, else such as may be read from anywhere. */
void *memcpy(void *to, const void *from, size_t n)
{
    tenon_u8 *t = to;
    const tenon_u8 *f = from;

    for (; n > 0 && ((size_t)t & 3) != 0; n--)
        *t++ = *f++;
    if (n >= 16 && ((size_t)f & 3) == 0) {
        size_t four = n / 16;

        for (n %= 16; four > 0; four--, t += 16, f += 16) {
            const word *const words = (const word *)(const void *)f;
            const tenon_u32 a = words[0], b = words[1], c = words[2], d = words[3];

            ((word *)(void *)t)[0] = a;
            ((word *)(void *)t)[1] = b;
            ((word *)(void *)t)[2] = c;
            ((word *)(void *)t)[3] = d;
        }
    }
    for (; n >= 16; n -= 16, t += 16, f += 16) {
        const odd_word *const words = (const odd_word *)(const void *)f;
        const tenon_u32 a = words[0], b = words[1], c = words[2], d = words[3];

        ((word *)(void *)t)[0] = a;
        ((word *)(void *)t)[1] = b;
        ((word *)(void *)t)[2] = c;
        ((word *)(void *)t)[3] = d;
    }
    for (; n >= 4; n -= 4, t += 4, f += 4)
        *(word *)(void *)t = *(const odd_word *)(const void *)f;
    for (; n > 0; n--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    tenon_u8 *t = to;
    const tenon_u8 *f = from;

    if ((size_t)t - (size_t)f >= n)
        return memcpy(to, from, n);
    while (n-- > 0)
        t[n] = f[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    tenon_u8 *t = to;
    const tenon_u32 all = (tenon_u8)value * 0x01010101U;

    for (; n > 0 && ((size_t)t & 3) != 0; n--)
        *t++ = (tenon_u8)value;
    for (; n >= 16; n -= 16, t += 16) {
        ((word *)(void *)t)[0] = all;
        ((word *)(void *)t)[1] = all;
        ((word *)(void *)t)[2] = all;
        ((word *)(void *)t)[3] = all;
    }
    for (; n >= 4; n -= 4, t += 4)
        *(word *)(void *)t = all;
    for (; n > 0; n--)
        *t++ = (tenon_u8)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const tenon_u8 *x = a, *y = b;

    while (n >= 4 && *(const odd_word *)(const void *)x == *(const odd_word *)(const void *)y)
        n -= 4, x += 4, y += 4;
    for (; n > 0; n--, x++, y++) {
        if (*x != *y)
            return *x < *y ? -1 : 1;
    }
    return 0;
}
