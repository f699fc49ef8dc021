/* SPDX-License-Identifier: MIT */
/* What the programs in apps/ may use here: 4 MB of RAM. */
#ifndef TENON_BOARD_SIZES_H
#define TENON_BOARD_SIZES_H

enum {
    BOARD_CLIENTS = 16,     /* connections at a time */
    BOARD_SPARE = 8,        /* end points beside them, whose last bytes are on their way */
    BOARD_RINGS = 16,       /* of which so many send at a time */
    BOARD_RING = 9800,      /* bytes of a send ring: six full packets */
    BOARD_BLOCKS = 64,      /* receive blocks ... */
    BOARD_BLOCK_BYTES = 1528,    /* ... of a frame with a VLAN tag, its checksum and two bytes in front */
    BOARD_BLOCK_MORE = 28,    /* ... and what one has besides the packet */
    BOARD_WINDOW = 5840,    /* bytes of a connection that may wait to be read */
    BOARD_MEMORY = 0,       /* for connections and tables: what the limits can need */
    BOARD_ARENA = 256 * 1024
};

#endif
