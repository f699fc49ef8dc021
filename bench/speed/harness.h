/* SPDX-License-Identifier: MIT */
/* The speed of a stack by itself: two instances in one thread, on a wire in memory, with a clock that moves on by
 * one microsecond per turn of the loop. A driver knows a stack, a workload knows what to measure, and the harness
 * measures: see docs/guide/bench.md. */
#ifndef TENON_BENCH_SPEED_HARNESS_H
#define TENON_BENCH_SPEED_HARNESS_H

#include <stddef.h>
#include <stdint.h>

enum { SPEED_BATCH_MAX = 1024, SPEED_CORES_MAX = 256, SPEED_LOAD_CONNECTIONS_MAX = 65536 };

/* What the two applications do. */
enum speed_app {
    SPEED_PING,       /* the client sends `message` bytes, the server as many back */
    SPEED_BULK,       /* the client sends for ever, the server throws away */
    SPEED_CONNECT,    /* connect, one byte there, one byte back, close; `connections` at a time */
    SPEED_IDLE,       /* nothing: connections are open */
    SPEED_LOAD,       /* as SPEED_PING, but each request is asked for: driver->request() */
    SPEED_UDP_PING,
    SPEED_UDP_BULK
};

/* What is asked of a driver; 0 or 1 where nothing else is said. */
struct speed_conf {
    enum speed_app app;
    unsigned connections;     /* that work */
    unsigned idle;            /* that do not */
    unsigned message;         /* bytes */
    unsigned mtu;
    unsigned window;          /* bulk: bytes that the sender keeps queued; 0: the best for this stack */
    unsigned batch;           /* frames per turn and side */
    unsigned tx_csum, rx_csum;     /* 1: the port has it; 0: in software */
    unsigned tso, lro;        /* the sender's port cuts segments; the receiver's port takes large ones */
    unsigned copy;            /* 1: the port cannot gather, or the stack is made to copy */
    unsigned write;           /* 1: sent through the stack's copying function */
    unsigned timestamps;
    unsigned pacing;
    unsigned data;            /* bulk: bytes of the memory that is sent from, over and over */
    unsigned small;           /* Tenon: up to so many bytes are copied instead of referred to; 0: its default */
    unsigned own_sum;         /* Tenon, the floor: 1: checksums by portable C; 0: by hostsum_best() */
    unsigned ip6;             /* 1: over IPv6 */
    unsigned bbr;             /* Tenon: 1: BBR instead of CUBIC */
};

/* What has been done since open(). */
struct speed_count {
    uint64_t rounds;          /* answers that the clients have got */
    uint64_t bytes;           /* payload that receivers have got */
    uint64_t messages;        /* datagrams that receivers have got */
    uint64_t opened;          /* connections established, at the client */
    uint64_t closed;          /* connections of the client that are over */
    uint64_t failed;          /* what should never happen */
    uint64_t frames;          /* on the wire, both ways; 0: the driver does not tell */
    uint64_t copied;          /* payload bytes that both stacks have copied; likewise */
    uint64_t memory;          /* bytes that both stacks hold, where the driver can tell */
};

/* A stack. One world at a time. */
struct speed_driver {
    const char *name;
    /* Both instances, the wire, the listeners, and all connections: idle and working ones, established.
     * @return NULL, or what it cannot do */
    const char *(*open)(const struct speed_conf *conf, struct speed_count *count);
    /* The first requests of all connections; what follows is driven by what arrives. */
    void (*begin)(void);
    /* Turns of the loop: both sides take what has arrived, once. */
    void (*run)(unsigned long turns);
    /* SPEED_CONNECT: so many connections, one after the other; all of them over. */
    void (*connect)(unsigned long connections);
    /* SPEED_CONNECT: let the clock jump until TIME-WAIT is over. Not measured. */
    void (*rest)(void);
    /* SPEED_LOAD: a request on this connection; speed_answered() is called when its answer is there. */
    void (*request)(unsigned connection);
    void (*close)(void);
    int tells_copies;    /* count->copied is true */
    const struct speed_driver *ip6;    /* who takes IPv6, or NULL: this one */
};

/* ---- what a workload uses ------------------------------------------------------------------------- */

struct speed_run {
    const struct speed_driver *driver;
    struct speed_conf conf;
    struct speed_count count;
    const struct speed_workload *workload;
    const char *what;         /* the settings, as they were given */
    unsigned segments;        /* measured pieces */
    unsigned segment_ms;
    unsigned long segment_turns;
    unsigned turns;           /* if not 0: one segment of exactly so many turns, for counting instructions */
    unsigned cores;           /* `cores`: how many */
    unsigned loads, rate;     /* `load`: percent of the highest load, or requests per second */
    int quiet;                /* print no line: the caller looks at the result */
    double ns;                /* result: of the best segment, for each unit */
    double efficiency;        /* `cores`: of that many processors; 0: not known */
    const char *unit;
    const char *missing;      /* why there is none */
};

struct speed_workload {
    const char *name;
    enum speed_app app;
    int (*measure)(struct speed_run *run);
    const char *text;
    int opens;                /* the connections by itself */
};

extern const struct speed_workload speed_workloads[];    /* a NULL name ends them */

struct speed_segment {
    uint64_t ns, cycles, units, frames, copied;
};

uint64_t speed_cpu_ns(void);     /* CPU time of this thread */
uint64_t speed_cycles(void);     /* of the time stamp counter; 0 where there is none */
uint64_t speed_resident(void);   /* bytes of memory of this process */

/* Run segments of the chosen length after some warming up, with `unit` telling what counts, and print the line. */
int speed_measure(struct speed_run *run, const uint64_t *unit, const char *unit_name);
/* The same in parts: find out how many turns a segment has, which warms up too; and measure one. */
void speed_segment_turns(struct speed_run *run, const uint64_t *unit);
struct speed_segment speed_segment_measure(const struct speed_run *run, const uint64_t *unit);
/* The line: its beginning, what the workload has to say, its end. */
void speed_line_begin(const struct speed_run *run);
void speed_line_segments(struct speed_run *run, const struct speed_segment *segments, unsigned n, const char *unit);
/* Cycles for each unit in the segment that had the fewest; nothing where nobody counts them. */
void speed_line_cycles(const struct speed_run *run, const struct speed_segment *segments, unsigned n);
void speed_line_number(const struct speed_run *run, const char *name, double value);
void speed_line_end(const struct speed_run *run);
int speed_open(struct speed_run *run);    /* @return 0, or 1 with a line printed that says why not */

/* A clock for latencies: begin (@return ticks in a nanosecond), then read. Pauses of the process are not in it. */
double speed_ticks_begin(void);
uint64_t speed_ticks(void);
/* For the line: some percentiles of n > 0 samples, in ticks, which are sorted; and the result, their median. */
void speed_line_percentiles(struct speed_run *run, uint64_t *samples, size_t n, const char *unit);

extern void (*speed_answered)(unsigned connection);

/* ---- workloads ------------------------------------------------------------------------------------ */

int speed_pingpong(struct speed_run *run);
int speed_bulk(struct speed_run *run);
int speed_connect(struct speed_run *run);
int speed_connect_time(struct speed_run *run);
int speed_idle(struct speed_run *run);
int speed_udp_ping(struct speed_run *run);
int speed_udp_bulk(struct speed_run *run);
int speed_load(struct speed_run *run);
int speed_cores(struct speed_run *run);

/* Set a run up: the workload of that name, and words KEY=VALUE. @return NULL, or what is wrong with them,
 * in words */
const char *speed_prepare(struct speed_run *run, const char *workload, int n, char *const *words);
/* @return 0, 1: something failed, or 3: it cannot be measured, run->missing says why */
int speed_do(struct speed_run *run);
/* The program: WORKLOAD STACK KEY=VALUE... for one of these stacks; NULL ends the list. */
int speed_main(int argc, char **argv, const struct speed_driver *const *drivers);

#endif
