/* SPDX-License-Identifier: MIT */
/* Ends of a cable that is not the wire in memory, for the driver of Tenon. */
#ifndef TENON_BENCH_SPEED_ENDS_H
#define TENON_BENCH_SPEED_ENDS_H

#include <tenon/tenon.h>

#include <stdint.h>

struct speed_end {
    const struct tenon_host *host;
    void *self;    /* for the host, and for these */
    void (*netif_conf)(void *self, struct tenon_netif_conf *out);
    void (*receive)(void *self, struct tenon *stack, uint32_t now_us);
    uint64_t (*frames)(void *self);    /* that were sent */
};

/* Two: the client's and the server's; NULL: the wire. */
extern const struct speed_end *speed_tenon_ends;

#endif
