/* SPDX-License-Identifier: MIT */
/* Between what all echoes with lwIP have, lwip_stack.c, and the program over one of its three interfaces: lwip.c,
 * lwip_netconn.c, lwip_sockets.c. */
#ifndef TENON_BENCH_BOARDS_LWIP_PROGRAM_H
#define TENON_BENCH_BOARDS_LWIP_PROGRAM_H

#include "lwip_device.h"

#include "lwip/timeouts.h"
#if LWIP_SOCKET
#include "lwip/priv/sockets_priv.h"
#endif
#if LWIP_NETCONN
#include "lwip/api.h"
#endif

/* Besides lwIP's own: the most that a datagram holds, for what the sockets copy out; what a connection has. */
enum {
    PROGRAM_DATAGRAM = 1472,
#if LWIP_SOCKET
    PROGRAM_BUFFER = PROGRAM_DATAGRAM,
    PROGRAM_CONN = sizeof(struct netconn) + sizeof(struct sys_ring) + sizeof(struct lwip_sock)
#elif LWIP_NETCONN
    PROGRAM_BUFFER = 0,
    PROGRAM_CONN = sizeof(struct netconn) + sizeof(struct sys_ring)
#else
    PROGRAM_BUFFER = 0,
    PROGRAM_CONN = 0
#endif
};

/* @return 1: it listens */
int program_open(void);

/* All that is there for the program is served; not called where lwIP calls the program back. */
void program_turn(void);

/* What has been received, and timers: this loop is lwIP's thread where it wants one. */
static inline void stack_turn(void)
{
    echo_device.poll(NULL, NULL);
    sys_check_timeouts();
}

/* @return microseconds until the next of its timers */
static inline tenon_u32 stack_wait(void)
{
    const u32_t wait_ms = sys_timeouts_sleeptime();

    return wait_ms < 1000 ? wait_ms * 1000 : 1000000;
}

#endif
