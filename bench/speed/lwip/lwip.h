/* SPDX-License-Identifier: MIT */
/* What the two copies of lwIP and the driver share. Each copy is one object file of which nothing but a struct
 * lwip_side is to be seen, so that they do not meet. */
#ifndef TENON_BENCH_SPEED_LWIP_H
#define TENON_BENCH_SPEED_LWIP_H

#include "../harness.h"

enum { LWIP_RING = 131072, LWIP_PARTS = 40, LWIP_HEAD = 128, LWIP_PBUF_BYTES = 64 };

/* A packet on the wire. lwIP swaps the bytes of headers in place and keeps them until they are acknowledged, so they
 * are copied; payload is referred to. */
struct lwip_packet {
    struct lwip_packet *next;
    uint32_t live;                                        /* pbufs of it that the receiver holds */
    uint16_t head_bytes, nparts;
    struct lwip_part {
        const void *at;
        uint16_t bytes;
    } parts[LWIP_PARTS];
    struct lwip_piece {
        long long pbuf[LWIP_PBUF_BYTES / sizeof(long long)];     /* a struct pbuf_custom */
        struct lwip_packet *packet;
    } pieces[LWIP_PARTS + 1];
    uint8_t bytes[];
};

struct lwip_wire {
    struct lwip_packet *ring[LWIP_RING];
    uint32_t head, tail;
    uint64_t passed;    /* frames that were read before head and tail began anew */
};

struct lwip_end {
    void *pcb;
    uint32_t got, off, queued;
};

struct lwip_world {
    struct speed_conf conf;
    struct speed_count *count;
    struct lwip_wire wires[2];         /* [0]: to the server */
    struct lwip_packet *free;
    struct lwip_end *clients, *servers;
    uint8_t *data;
    uint64_t now_us;
    uint32_t data_bytes, packet_bytes, window;
    unsigned accepted, connecting;
};

extern struct lwip_world lw;

struct lwip_packet *lwip_packet_more(void);

/* One copy of lwIP. */
struct lwip_side {
    unsigned mss;
    const char *(*open)(int server);
    const char *(*connect)(unsigned i, unsigned port);    /* client: the i-th working or idle connection */
    void (*begin)(void);
    void (*turn)(void);
    const char *(*connect_short)(void);
    void (*request)(unsigned connection);
    unsigned (*conn_bytes)(void);
};

enum { LWIP_PORT = 7, LWIP_IDLE_PORT = 5001, LWIP_FIRST_PORT = 10000 };

#endif
