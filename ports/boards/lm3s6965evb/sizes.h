/* SPDX-License-Identifier: MIT */
/* What the programs in apps/ may use here: 64 KB of RAM in all. */
#ifndef TENON_BOARD_SIZES_H
#define TENON_BOARD_SIZES_H

enum {
    BOARD_CLIENTS = 8,      /* connections at a time */
    BOARD_SPARE = 3,        /* end points beside them, whose last bytes are on their way */
    BOARD_RINGS = 5,        /* of which so many send at a time */
    BOARD_RING = 2400,      /* bytes of a send ring: a full packet and a smaller one */
    BOARD_BLOCKS = 8,       /* receive blocks ... */
    BOARD_BLOCK_BYTES = 1528,    /* ... of a frame with a VLAN tag, its checksum and two bytes in front */
    BOARD_BLOCK_MORE = 28,    /* ... and what one has besides the packet */
    BOARD_WINDOW = 1460,    /* bytes of a connection that may wait to be read */
    BOARD_MEMORY = 9216,    /* for connections and tables */
    BOARD_ARENA = 35192
};

#endif
