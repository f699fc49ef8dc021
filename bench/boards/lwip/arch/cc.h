/* SPDX-License-Identifier: MIT */
/* What lwIP wants to know of a compiler, without a C library. */
#ifndef TENON_BENCH_BOARDS_CC_H
#define TENON_BENCH_BOARDS_CC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LWIP_NO_INTTYPES_H 1
#define LWIP_NO_UNISTD_H 1
#define LWIP_NO_CTYPE_H 1
#define X8_F "02x"
#define U16_F "u"
#define S16_F "d"
#define X16_F "x"
#define U32_F "u"
#define S32_F "d"
#define X32_F "x"
#define SZT_F "u"
#define SSIZE_MAX 0x7FFFFFFF
typedef int ssize_t;

uint32_t lwip_random(void);
#define LWIP_RAND() lwip_random()
#define LWIP_PLATFORM_DIAG(x)
#define LWIP_PLATFORM_ASSERT(x)
#define BYTE_ORDER __BYTE_ORDER__
#define LITTLE_ENDIAN __ORDER_LITTLE_ENDIAN__
#define BIG_ENDIAN __ORDER_BIG_ENDIAN__
#define lwip_htons(x) ((uint16_t)(BYTE_ORDER == BIG_ENDIAN ? (x) : __builtin_bswap16(x)))
#define lwip_htonl(x) ((uint32_t)(BYTE_ORDER == BIG_ENDIAN ? (x) : __builtin_bswap32(x)))

#endif
