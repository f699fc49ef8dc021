/* SPDX-License-Identifier: MIT */
/* Instructions of sending and receiving on a board: a stack that is measured (the subject), a peer that makes it
 * work, and a cable in memory between them. Only the calls of the subject are counted; what a device would do by DMA,
 * the peer, and the writing of the bytes by the application are not. */
#ifndef TENON_BENCH_BOARDS_MEASURE_H
#define TENON_BENCH_BOARDS_MEASURE_H

#include "ports/boards/common/board.h"
#include "sizes.h"

/* ---- the count: count_*.c ----------------------------------------------------------------------- */

void count_start(void);

/* Ticks of a timer that is driven by instructions (QEMU's -icount), from one to the next. Interrupts wait between. */
void count_begin(void);
tenon_u32 count_end(void);

/* What stands between these is not counted, but for the few instructions of these two. */
void count_hold(void);
void count_resume(void);

/* Two instructions a round, and nothing else: what the count is checked against. */
void count_loop(unsigned rounds);

/* ---- the devices ---------------------------------------------------------------------------------- */

enum device {
    DEVICE_OFFLOAD,       /* DMA that gathers, makes and checks checksums: takes addresses and lengths */
    DEVICE_CONTIGUOUS,    /* the same for frames of one piece */
    DEVICE_CHECKSUMS,     /* DMA that gathers; checksums by the processor */
    DEVICE_SUMMED,        /* the same, by a function of the board: board_sum() */
    DEVICE_OWN,           /* the board's own, with its driver; what is sent goes over the cable too */
    DEVICE_DRIVER,        /* the board's own to receive: the peer's frames leave by it, and QEMU sends them back */
    DEVICES
};

/* ---- the subject ---------------------------------------------------------------------------------- */

struct subject {
    const char *name;
    unsigned ways;                    /* to send: rows of its own */
    const char *const *way_names;
    const char *const *devices;       /* names; NULL: it is not measured with that */
    int (*start)(enum device device, unsigned way);    /* listens at 10.0.0.1, port 7; 1: done */
    void (*stop)(void);
    int (*is_open)(void);
    void (*turn)(void);                           /* everything that is due */
    void (*carry)(void);                          /* the frames that the device has go over the cable */
    int (*room)(tenon_u8 **p);                    /* counted: where to write the next bytes */
    int (*send)(tenon_u8 *p, unsigned n);         /* counted: up to where the device has the frame; 1: done */
    void (*sent)(void);                           /* counted: the device has sent */
    void *(*place)(const tenon_u8 *frame, unsigned n);    /* a frame, by DMA or through the device */
    void (*arrive)(void *place, unsigned n);      /* counted: up to where the application is told */
    int (*read)(tenon_u8 **p);                    /* counted: what has come */
    void (*read_done)(tenon_u8 *p, unsigned n);   /* counted: it has been read */
    void (*facts)(void);                          /* says what it takes in memory */
};
extern const struct subject subject;

/* ---- the cable and the peer: peer.c --------------------------------------------------------------- */

extern tenon_u32 now_us;

struct piece {
    const tenon_u8 *data;
    unsigned n;
};

/* A frame of the subject; checksum 1: its transport checksum is the device's to make. */
void cable_to_peer(const struct piece *pieces, unsigned n, int checksum);

/* The next frame for the subject, in place until the next call; 0: none. */
unsigned cable_to_subject(const tenon_u8 **frame);

int peer_start(void);
void peer_stop(void);
void peer_turn(void);

/* The peer reads what has come. @return bytes so far; MEASURE_WRONG: not those that were expected */
tenon_u32 peer_got(void);
#define MEASURE_WRONG 0xFFFFFFFFUL

/* The peer sends n bytes. */
int peer_send(unsigned n);

/* The bytes of the stream: what stands at `at`. */
tenon_u8 stream_byte(tenon_u32 at);

#endif
