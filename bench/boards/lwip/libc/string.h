/* SPDX-License-Identifier: MIT */
/* What lwIP uses of it. */
#ifndef TENON_BENCH_BOARDS_STRING_H
#define TENON_BENCH_BOARDS_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *text);
int strncmp(const char *a, const char *b, size_t n);
int strcmp(const char *a, const char *b);

#endif
