/* SPDX-License-Identifier: MIT */
/* A board without an operating system, as the programs in apps/ see it: a clock, sleep, a serial line, an Ethernet
 * device for tenon_sock_start(). Each board has a folder; common/ has what several of them need. One thread of control:
 * interrupts only note that there is something. */
#ifndef TENON_BOARD_H
#define TENON_BOARD_H

#include "embedded/tenon_sock.h"

struct board {
    const char *name;
    const char *cpu;
    const char *ethernet;
    tenon_u32 clock_hz;
    tenon_u32 flash_bytes;    /* 0: programs run from RAM */
    tenon_u32 ram_bytes;
};
extern const struct board board;

/* Modulo 2^32. */
struct board_counts {
    tenon_u32 asleep_ms;     /* in board_sleep() */
    tenon_u32 sleeps;
    tenon_u32 interrupts;    /* of the Ethernet device */
    tenon_u32 rx_dropped;    /* frames that the device could not hold, or that no block has room for */
    tenon_u32 tx_waits;      /* times the device was full */
    tenon_u32 moved_bytes; /* bytes that the driver moved itself, though the device has DMA: headers, for
                              their place */
};
extern struct board_counts board_counts;

/* Clocks, serial line, interrupts. The first call of a program. */
void board_start(void);

/* A clock of microseconds that wraps, and is so far ahead of the time that has passed. */
tenon_u32 board_now_us(void);
extern tenon_u32 board_ahead_us;

/* Stop the processor until an interrupt, or for so many microseconds; 0: at once back. An interrupt that came since
 * the last call counts. */
void board_sleep(tenon_u32 us);

/* The serial line: one character out, and one that has come in, or -1. */
void board_put(char c);
int board_key(void);

/* 0: `n` bytes that nobody can guess; else there is no source of them. */
int board_entropy(void *bytes, size_t n);

/* The program ends; QEMU with it. */
void board_exit(int status) __attribute__((noreturn));

/* Start the Ethernet device and say how it is used. Its Ethernet address is what the hardware says. */
void board_ethernet(struct tenon_sock_device *device);

/* Nothing comes or leaves any more, and the driver has given back all blocks. */
void board_ethernet_stop(void);

/* Whether the cable leads to a network: 1, or 0. It was not, since the last call, is 0 too: it may be another network.
 * 1 where nobody answers who could tell. */
int board_link(void);

/* For board_link(): a register of the PHY (IEEE 802.3 22.2.4); 0 or 0xFFFF, if it does not answer. */
unsigned board_phy(unsigned which);

/* After tenon_sock_poll(), which wants to be called again in so many microseconds: when the device wants it, though no
 * interrupt may come. */
tenon_u32 board_ethernet_wait(tenon_u32 us);

/* The first thing after a reset, when there is a stack: variables get their values, the unused stack a pattern. */
void board_ram_start(void);

/* The stack: its size, and how much of it was ever used. */
unsigned board_stack_bytes(void);
unsigned board_stack_used(void);

/* Bytes of RAM that have a fixed place: variables, arenas, the stack. */
unsigned board_static_bytes(void);

/* tenon_conf.checksum, faster than C can say it: n is 4 and more. */
tenon_u16 board_sum(const tenon_u8 *bytes, size_t n);

/* For the files of a board: an interrupt wants the program to look. */
void board_wake(void);

/* By the board's processor, for board_sum(): a sum of words of 32 bits with the carry of each, at an address that is a
 * multiple of 4. */
enum { BOARD_SUM_BLOCK = 32 };
tenon_u32 board_sum_blocks(tenon_u32 sum, const tenon_u8 *bytes, size_t blocks);

int board_main(void);

#endif
