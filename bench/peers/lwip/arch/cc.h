/* SPDX-License-Identifier: MIT */
/* What lwIP wants to know of a compiler and a C library: nearly everything is as it assumes. */
#ifndef BENCH_PEERS_LWIP_CC_H
#define BENCH_PEERS_LWIP_CC_H

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#define LWIP_RAND() ((u32_t)rand())

#endif
