/* SPDX-License-Identifier: MIT */
#ifndef TENON_BENCH_BOARDS_STDLIB_H
#define TENON_BENCH_BOARDS_STDLIB_H

int atoi(const char *text);

#endif
