/* SPDX-License-Identifier: MIT */
/* What lwIP wants to know of a compiler and a C library: nearly everything is as it assumes. */
#ifndef TENON_BENCH_SPEED_LWIP_CC_H
#define TENON_BENCH_SPEED_LWIP_CC_H

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#define LWIP_RAND() ((u32_t)rand())
#define lwip_htons(x) __builtin_bswap16(x)
#define lwip_htonl(x) __builtin_bswap32(x)

#endif
