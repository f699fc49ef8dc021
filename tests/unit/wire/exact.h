/* SPDX-License-Identifier: MIT */
/* Bytes in a piece of memory that ends exactly behind them: a sanitizer sees each step too far. */
#ifndef TN_TESTS_EXACT_H
#define TN_TESTS_EXACT_H

#include <stdlib.h>
#include <string.h>

#include <tenon/config.h>

TENON_INLINE tenon_u8 *exact_copy(const void *bytes, size_t n)
{
    tenon_u8 *const copy = (tenon_u8 *)malloc(n > 0 ? n : 1);

    if (copy == NULL)
        abort();
    if (n == 0) {    /* malloc(0) may give NULL: give the end of one byte */
        copy[0] = 0;
        return copy;
    }
    memcpy(copy, bytes, n);
    return copy;
}

#endif
