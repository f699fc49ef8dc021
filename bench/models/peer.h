/* SPDX-License-Identifier: MIT */
/* A port with clients behind it that cost next to nothing: they know TCP just as far as a ping-pong needs, and answer
 * within transmit() and receive(), in the stack's thread. What is measured is the other side of the port. */
#ifndef TENON_BENCH_MODELS_PEER_H
#define TENON_BENCH_MODELS_PEER_H

#include "bench/speed/wire.h"
#include "ports/common/port.h"

#include <stdatomic.h>

enum { PEER_CONNS_MAX = 4096, PEER_SAMPLES = 1 << 23, PEER_SLICES = 50, PEER_PORT = 7, PEER_MESSAGE_MAX = 512 };

struct peer_conn {
    uint32_t seq, ack;       /* what we send next, what we expect next */
    uint16_t port;
    uint16_t left;           /* bytes of the answer that have not come */
    uint8_t open;
    uint64_t due;            /* when the request was to be sent */
    uint64_t pauses;         /* that there had been by then */
};

struct peer_conf {
    unsigned conns, message;
    double rate;             /* requests per second; 0: the next request as soon as there is the answer */
    uint64_t warm_ns, measure_ns;
    atomic_int *go;          /* somebody listens */
    atomic_uint *done;       /* counts those that have measured; they go on */
};

struct peer {
    struct port port;        /* first */
    struct peer_conf conf;
    struct speed_pool pool;
    struct peer_conn conns[PEER_CONNS_MAX];
    unsigned ready[PEER_CONNS_MAX], first_ready, nready;    /* a ring: have no request under way */
    unsigned begun, open, burst;
    struct tenon_frame frames[PORT_BURST];
    struct speed_packet *packets[PORT_BURST];
    uint64_t now, paused, last, progress, pauses, begin, from, until, sent, answered, wrong;
    int over;
    uint32_t *samples;       /* ns, of those answered between `from` and `until` */
    uint64_t nsamples, ends[PEER_SLICES];    /* and how many there were at the end of each slice of the time */
    tenon_u32 random;
};

void peer_open(struct peer *peer, const struct peer_conf *conf);
void peer_close(struct peer *peer);

/* An instance on the port, with its address and the peer's. @return NULL: no memory */
struct tenon *peer_stack(struct peer *peer);

uint64_t peer_clock_ns(void);

#endif
