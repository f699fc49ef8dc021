/* SPDX-License-Identifier: MIT */
#ifndef TENON_BENCH_BOARDS_STDIO_H
#define TENON_BENCH_BOARDS_STDIO_H
#endif
