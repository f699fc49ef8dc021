/* SPDX-License-Identifier: MIT */
/* One cell of the map of behaviour: a network of some senders, one shared bottleneck and one receiver, in virtual
 * time. What happens depends on the cell's settings and its seed, and on nothing else. */
#ifndef TENON_BENCH_PATHS_H
#define TENON_BENCH_PATHS_H

#include "ports/wire/wire.h"

#include <tenon/tenon.h>

#include <stdio.h>

enum { PATHS_FLOWS_MAX = 64, PATHS_CCS_MAX = 8, PATHS_SAMPLES = 8192, PATHS_PATTERN = 65521, PATHS_SPAN = 65536 };

/* What is asked. */
struct paths_cell {
    const char *kind;           /* "bulk", "short", "burst", "tail" */
    double rtt_ms;              /* of an empty path, without the time of the frames themselves */
    double rate_mbit;           /* of the bottleneck, counted over whole Ethernet frames, without the check sequence */
    double loss, reorder;       /* percent of the frames */
    double buffer;              /* of the bottleneck, in bandwidth-delay products */
    double mark;                /* a queue longer than this many bandwidth-delay products marks CE; 0: none */
    double seconds;             /* of virtual time; 0: chosen by the path */
    const struct tenon_cc_ops *cc[PATHS_CCS_MAX];    /* flow i has number i modulo nccs */
    unsigned nccs;
    unsigned flows;
    unsigned mtu;
    unsigned tso;               /* 1: the senders' NIC cuts super-segments */
    unsigned n;                 /* short: how many transfers, one after the other; tail: likewise */
    unsigned drop;              /* burst, tail: frames that are lost in a row */
    unsigned size;              /* short, tail: bytes of a transfer */
    unsigned seed;
    const char *trace;          /* file for the events of the first sender; NULL: none */
};

struct paths_net;

/* One sender, and what became of its data. */
struct paths_flow {
    struct paths_net *net;
    unsigned index;
    struct wire_host *host;
    struct wire_end *end;
    const struct tenon_cc_ops *cc;
    struct tenon_tcp *conn;         /* the sender's side; NULL: none */
    struct tenon_tcp *sink;         /* the receiver's */
    uint64_t bytes;                 /* to be sent; 0: endless */
    uint64_t queued, received;      /* received: in order, by the application */
    uint64_t half_arrived;          /* what had arrived at half of the time, in order or not */
    uint64_t began_us, ended_us;    /* of the transfer; ended_us 0: it goes on */
    uint64_t acked_us;              /* when the last acknowledgement of new data came */
    uint32_t rtos;
    int closed;                     /* the connection ended by itself: why */
    unsigned wrong;                 /* pieces of data that were not what was sent */

    /* Seen at the bottleneck. */
    uint32_t isn, seen_end;         /* sequence numbers: of the SYN, and of the end of what was seen */
    uint64_t frames, again;         /* with data; of these sent before */

    /* Losses on purpose. */
    unsigned drop_left;             /* burst: so many frames of data are to be lost now */
    unsigned drop_tail;             /* tail: so many segments at the end of a transfer are lost the first time ... */
    uint32_t drop_from;             /* ... that is, from this offset on */
    unsigned dropped;
    uint64_t drop_end;              /* offset of the end of what was lost so */
    uint64_t drop_first_us, drop_last_us;      /* when they came to the bottleneck */
    uint64_t again_us;                         /* when the first retransmission did, and ... */
    uint64_t acked_before_us;                  /* ... the last acknowledgement before it */
    uint64_t repaired_us;                      /* when the receiver had all of them */
};

struct paths_sample {
    uint64_t received;      /* of all flows together */
    uint32_t wait_us;       /* in the bottleneck's queue, for a frame that comes now */
};

struct paths_net {
    const struct paths_cell *cell;
    struct wire *wire;
    struct wire_host *sink;
    struct wire_end *bottleneck;    /* the sink's: its line `in` */
    struct tenon_tcp_listener *listener;
    struct paths_flow flow[PATHS_FLOWS_MAX];
    uint64_t start_us;
    uint32_t one_way_us;
    double round_us;                /* RTT of a full frame in an empty path */
    double bdp_bytes;
    uint32_t frame_bytes, payload_bytes;    /* of the largest frame with data */
    uint64_t queue_bytes;
    struct paths_sample *samples;
    unsigned nsamples;
    uint64_t sample_us;             /* between two samples; 0: none are taken */
    FILE *trace;
};

/* net.c */
int paths_net_open(struct paths_net *net, const struct paths_cell *cell);
void paths_net_close(struct paths_net *net);
uint64_t paths_now(const struct paths_net *net);    /* since the start */
void paths_sample_every(struct paths_net *net, uint64_t us);
double paths_allowed(const struct paths_net *net);    /* payload bytes per second that the bottleneck lets through */

/* flow.c */
extern const struct tenon_tcp_events paths_sink_events;
void paths_flow_start(struct paths_flow *flow);
void paths_flow_stop(struct paths_flow *flow);
uint64_t paths_flow_arrived(const struct paths_flow *flow);    /* bytes at the receiver, each once */
void paths_flow_seen(struct paths_flow *flow, const uint8_t *ip, struct wire_fate *fate);

/* bulk.c, short.c: run a cell and print its measures, each with a comma before it.
 * @return 0, or 1: data came damaged, or never */
int paths_bulk(struct paths_net *net);
int paths_short(struct paths_net *net);
int paths_tail(struct paths_net *net);

#endif
