/* SPDX-License-Identifier: MIT */
/* A program for a board: what it adds to common/main.c. */
#ifndef TENON_BOARD_APP_H
#define TENON_BOARD_APP_H

#include "board.h"
#include "services/dhcp.h"
#include "sizes.h"

struct app {
    const char *name;
    void (*configure)(struct tenon_sock_conf *conf);    /* what it wants to be otherwise; NULL: nothing */
    /* End points are made. @return TENON_OK or an error */
    int (*start)(struct tenon_socks *socks);
    /* As tenon_sock_conf.event; NULL: none. */
    void (*event)(void *self, int sk, unsigned events);
    /* Something to do in turns. @return microseconds until the next time; NULL: nothing */
    tenon_u32 (*turn)(struct tenon_socks *socks, tenon_u32 now_us);
    /* A character from the serial line. @return 1: it is the program's, 0: it has another meaning; NULL: none is */
    int (*key)(int key);
};
extern const struct app app;

/* Of common/main.c. */
extern struct tenon_socks *socks;
/* 1: there is an address of IPv4, whoever it is from. */
int board_has_address(void);
/* What a DHCP server has told; NULL: there is none. */
const struct tenon_dhcp_offer *board_lease(void);
/* An answer to each frame of a burst, which the core reserves; one to hear in; and what comes in small fragments. */
enum { BOARD_SOCKS = BOARD_CLIENTS + BOARD_SPARE, BOARD_HEADERS = TENON_SOCK_BURST + 1 + 4 };

#endif
