/* SPDX-License-Identifier: MIT */
/* The four functions that a freestanding compiler may call anyway, and that the core calls too. */
#ifndef TN_BASE_MEM_H
#define TN_BASE_MEM_H

#include <tenon/config.h>

TENON_BEGIN_DECLS

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);

TENON_END_DECLS

enum { TN_CLEAR_STEP = 64 };

/* memset() to 0 of a known number of bytes. Of one call compilers like to make an instruction that repeats a store, and
 * to begin that takes longer than all of these stores. */
TENON_HOT void tn_clear(void *to, size_t n)
{
    tenon_u8 *p = (tenon_u8 *)to;

    for (; !TENON_SMALL && n > 2 * TN_CLEAR_STEP; n -= 2 * TN_CLEAR_STEP, p += 2 * TN_CLEAR_STEP) {
        memset(p, 0, TN_CLEAR_STEP);
        memset(p + TN_CLEAR_STEP, 0, TN_CLEAR_STEP);
    }
    if (!TENON_SMALL && n > TN_CLEAR_STEP) {
        memset(p, 0, TN_CLEAR_STEP);
        n -= TN_CLEAR_STEP;
        p += TN_CLEAR_STEP;
    }
    memset(p, 0, n);
}

#endif
