/* SPDX-License-Identifier: MIT */
/* What the programs in apps/ may use here: 32 MB of RAM. */
#ifndef TENON_BOARD_SIZES_H
#define TENON_BOARD_SIZES_H

enum {
    BOARD_CLIENTS = 16,          /* connections at a time */
    BOARD_SPARE = 8,             /* end points beside them, whose last bytes are on their way */
    BOARD_RINGS = 16,            /* of which so many send at a time */
    BOARD_RING = 9800,           /* bytes of a send ring: six full packets */
    BOARD_BLOCKS = 80,           /* receive blocks; 32 are the device's */
    BOARD_BLOCK_BYTES = 2048,    /* 2032 at a multiple of 16: more than any frame has */
    BOARD_BLOCK_MORE = 52,    /* what one needs besides the packet, wherever it begins */
    BOARD_WINDOW = 5840,         /* bytes of a connection that may wait to be read */
    BOARD_MEMORY = 0,            /* for connections and tables: what the limits can need */
    BOARD_ARENA = 352 * 1024
};

#endif
