/* SPDX-License-Identifier: MIT */
/* A port over ports/wire, with a peer at the other end: another instance, whose application opens connections,
 * sends what everybody knows, and compares what comes back; and which echoes what others send. Wire and peer live in
 * the thread that asks the port for packets. */
#ifndef TENON_MODELS_TEST_WORLD_H
#define TENON_MODELS_TEST_WORLD_H

#include <stdatomic.h>

#include "ports/common/port.h"
#include "ports/wire/wire.h"

enum { WORLD_PORT = 7, WORLD_PEER_PORT = 9, PATTERN = 65536, WORLD_CONNS_MAX = 4096, DATAGRAM_MAX = 9000 };

/* What is sent: byte i of a connection that begins at `start` is world_pattern[(start + i) % PATTERN]. */
extern tenon_u8 world_pattern[PATTERN];

/* @return how many differ */
unsigned long world_compare(tenon_u32 start, tenon_u32 at, const tenon_u8 *bytes, tenon_u32 n);

/* A datagram of n bytes, 4 or more: where its pattern begins in the first two, then 0, then the pattern. */
void world_datagram(tenon_u8 *bytes, tenon_u32 n, tenon_u32 start);

/* One that was echoed. @return how many bytes differ from what was sent */
unsigned long world_datagram_wrong(const struct tenon_span *spans, unsigned n);

/* A connection of the peer's. */
struct peer_conn {
    struct world *world;
    struct tenon_tcp *tcp;
    tenon_u32 start, total, sent, received, abort_at;    /* abort_at: after so many bytes; 0: never */
    unsigned long wrong;
    int closed, why, finished;
};

struct world_conf {
    unsigned conns;           /* that the peer opens */
    tenon_u32 total_max;      /* each sends up to so many bytes */
    unsigned abort_percent;   /* of them are aborted by the peer */
    uint32_t loss_ppm, delay_us;
    uint64_t peer_lost;       /* bit i: the peer's i-th frame is lost */
    unsigned at_once;         /* connections; 0: all */
    unsigned long seed;
    unsigned tick_us;         /* the port has a descriptor, which is ready so often; 0: it has none */
    tenon_u32 rcv_buf;        /* and send buffer; 0: 65536 */
    unsigned datagrams;       /* that the peer sends, in bursts, some in fragments, to an echo */
};

struct world {
    struct port port;         /* first */
    struct world_conf conf;
    struct wire *wire;
    struct wire_host *host, *peer;
    struct wire_end *end;     /* the instance's */
    struct tenon *stack;      /* the one under test */
    struct peer_conn *conns;
    unsigned begun, ended, complete, aborting, echoed_ended;
    unsigned long wrong, bytes, random;
    struct tenon_udp *asker, *answerer;    /* the peer's: it sends to an echo; and it is one */
    unsigned datagrams, back, answered, unanswered;    /* sent, and echoed; of others, echoed and not */
    tenon_u32 burst_at;
    tenon_u32 last_us;
    atomic_int go;            /* somebody listens: the peer may begin */
    atomic_int gone;          /* the interface is, and the descriptor does not tell */
    int running, frames, leaks;
    tenon_u32 now_us;
};

void world_open(struct world *world, const struct world_conf *conf, tenon_u32 now_us);
void world_close(struct world *world);    /* after it, world->leaks is what was not given back */

/* The address of the peer's echo, for connections of the application under test. */
struct tenon_addr world_peer(void);

#endif
