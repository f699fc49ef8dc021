/* SPDX-License-Identifier: MIT */
/* The same program over several stacks: an echo of TCP and UDP at port 7 for four clients, with two segments in flight
 * to each, with the board's own driver. What it takes of flash and RAM is what bench/boards/run compares. ECHO_BLOCKS
 * of ECHO_BLOCK_BYTES, in which frames are received, are the build's: a device with DMA keeps many. */
#ifndef TENON_BENCH_BOARDS_ECHO_H
#define TENON_BENCH_BOARDS_ECHO_H

#include "ports/boards/common/board.h"

enum {
    ECHO_PORT = 7,
    ECHO_CLIENTS = 4,
    ECHO_CONNS = 6,         /* those of two clients who have gone may still be there */
    ECHO_NEIGHBOURS = 4,    /* of each version of IP */
    ECHO_ADDRESSES6 = 3,
    ECHO_ROUTERS6 = 2,
    ECHO_SEGMENT = 1460,
    ECHO_WINDOW = 2 * ECHO_SEGMENT
};

/* Of the stack that is measured. The address is 10.0.2.15/24. @return 1: it listens */
int echo_start(void);

/* Everything that is due. @return microseconds until it wants to be called again */
tenon_u32 echo_turn(void);

/* Says the values that only it knows, as " name=value". */
void echo_facts(void);

/* Of main.c. */
void say_value(const char *name, tenon_u32 value);

#endif
