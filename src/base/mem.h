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

#endif
