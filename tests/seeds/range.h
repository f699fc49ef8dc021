/* SPDX-License-Identifier: MIT */
/* Numbers on the command lines of the simulators. */
#ifndef TENON_TEST_RANGE_H
#define TENON_TEST_RANGE_H

#include <stdint.h>

/* @return where the number ends, or NULL: it is none from 1 that 64 bits hold */
const char *range_number(const char *text, uint64_t *n);

/* A..B, with 1 <= A <= B. @return 1, or 0: it is none */
int range_read(const char *text, uint64_t *first, uint64_t *last);

#endif
