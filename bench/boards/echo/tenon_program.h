/* SPDX-License-Identifier: MIT */
/* Between the instance with the calls for small machines (tenon_calls.c) and the program on it: tenon.c,
 * tenon_back.c. */
#ifndef TENON_BENCH_BOARDS_TENON_PROGRAM_H
#define TENON_BENCH_BOARDS_TENON_PROGRAM_H

#include "echo.h"

extern struct tenon_socks *socks;

/* @return 1: everything is open */
int program_open(void);

/* As tenon_sock_conf.event. */
void program_event(void *self, int sk, unsigned events);

/* Bytes that it sends from: of its rings. */
extern const unsigned program_sending;

#endif
