/* SPDX-License-Identifier: MIT */
/* What the core and the compiler want of a C library. */
#include <stddef.h>
#include <tenon/types.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

/* By words where both lie alike. */
void *memcpy(void *to, const void *from, size_t n)
{
    tenon_u8 *t = to;
    const tenon_u8 *f = from;

    if ((((size_t)t ^ (size_t)f) & 3) == 0) {
        for (; n > 0 && ((size_t)t & 3) != 0; n--)
            *t++ = *f++;
        for (; n >= 4; n -= 4, t += 4, f += 4)
            __builtin_memcpy(__builtin_assume_aligned(t, 4), __builtin_assume_aligned(f, 4), 4);
    }
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
    const tenon_u32 word = (tenon_u8)value * 0x01010101U;

    for (; n > 0 && ((size_t)t & 3) != 0; n--)
        *t++ = (tenon_u8)value;
    for (; n >= 4; n -= 4, t += 4)
        __builtin_memcpy(__builtin_assume_aligned(t, 4), &word, 4);
    for (; n > 0; n--)
        *t++ = (tenon_u8)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const tenon_u8 *x = a, *y = b;

    for (; n > 0; n--, x++, y++) {
        if (*x != *y)
            return *x < *y ? -1 : 1;
    }
    return 0;
}
