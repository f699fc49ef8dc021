/* SPDX-License-Identifier: MIT */
/* Between lwIP and the board's driver, which wants a block for a received frame by tenon_sock_block() or
 * tenon_sock_block_for(), and hands it over by tenon_sock_input() when it is filled: here the block is a pbuf of lwIP's
 * pool. */
#ifndef TENON_BENCH_BOARDS_LWIP_DEVICE_H
#define TENON_BENCH_BOARDS_LWIP_DEVICE_H

#include "echo.h"

#include "lwip/netif.h"
#include "lwip/pbuf.h"

/* Of lwip_stack.c. */
extern struct netif echo_netif;
extern struct tenon_sock_device echo_device;

/* A frame to the device: a netif's linkoutput(). */
err_t echo_output(struct netif *unused, struct pbuf *p);

#endif
