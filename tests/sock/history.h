/* SPDX-License-Identifier: MIT */
/* tenon-sock-sim: histories of one small machine (embedded/tenon_sock.h, one arena, small limits, a device with DMA)
 * and one that runs the core as it is, over a wire with faults. Everything follows from a seed. */
#ifndef TENON_SOCK_HISTORY_H
#define TENON_SOCK_HISTORY_H

#include "embedded/sock_internal.h"
#include "ports/wire/wire.h"
#include "tests/router/router.h"

#include <tenon/tenon.h>

enum {
    SESSIONS_MAX = 10,
    SHORTAGES_MAX = 6,
    BLACKOUTS_MAX = 3,
    OUTAGES_MAX = 4,
    STALLS_MAX = 3,
    INTRUSIONS_MAX = 2,
    RESTARTS_MAX = 2,
    ROUTERS_MAX = 2,
    SLOTS_MAX = 16,       /* of the device's ring for sending */
    WAITING_MAX = 16,     /* ... and for receiving */
    HELD_MAX = 64,        /* pieces that an application holds at a time */
    BACKS_MAX = 16,       /* packets of a ring lie between them, and that are 9 at most */
    SPANS_MAX = 40,
    GUARD = 64,           /* bytes around memory that nobody may touch */
    SECOND = 1000000
};

/* ---- what is decided before it begins: plan.c ----------------------------------------------------- */

enum session_kind { TCP_SERVER, TCP_CLIENT, UDP_SERVER, UDP_CLIENT, KINDS };    /* what the small machine is */

enum finish {
    FIN_WITH_LAST,     /* the small machine: TENON_SOCK_FIN with the last bytes ... */
    FIN_ALONE,         /* ... or by itself */
    FIN_BY_DELETE,     /* ... or the descriptor is deleted when all has been sent and read */
    FINISHES_IN_ORDER,
    DELETE_EARLY = FINISHES_IN_ORDER,    /* with unread data, perhaps */
    ABORT,
    FINISHES
};

/* What the other machine does not know, or do. */
enum peer_lacks { LACKS_TIMESTAMPS = 1, LACKS_SACK = 2, LACKS_SCALING = 4, LACKS_DELAY = 8, LACKS_ALL = 15 };

struct session_plan {
    uint64_t at_us;
    enum session_kind kind;
    uint32_t bytes[2];             /* the small machine sends, the other sends; of UDP: datagrams */
    uint32_t most;                 /* bytes of a packet, of a datagram */
    uint32_t ring_bytes, ring_late_us;
    unsigned hold;                 /* pieces that are held at a time, and given back in any order */
    uint32_t pause_at, pause_us;   /* the small machine does not read ... */
    uint32_t peer_consume_us, peer_chunk;
    enum finish finish;
    uint32_t finish_at;            /* bytes in both directions, for the last two */
    uint8_t greedy;                /* ... or it reads on, and gives nothing back */
    uint8_t talks;                 /* it gives nothing back before it has sent all of its own */
    uint8_t backs;                 /* it sends out of what it has read, now and then */
    uint8_t parts, misuse, no_timestamps, peer_waits, peer_aborts, peer_nodelay;
    uint8_t peer_without;          /* options that the other does not know, by enum peer_lacks */
    uint16_t peer_mss;             /* 0: by MTU */
};

struct shortage {
    uint64_t from_us, to_us;
    unsigned blocks, headers;      /* the small machine: so many are somebody else's for that time ... */
    uint32_t memory;               /* ... and this part of its memory, in 1/256 */
    uint32_t peer_ppm;             /* requests of the other machine that are refused */
};

/* A line of the small machine that takes only shorter packets, from a time on. */
struct narrow {
    uint64_t at_us;
    uint16_t mtu;                  /* 0: it takes all */
    uint8_t silent;                /* until the network is well nobody is told */
};

/* The small machine has no link for a time, or has lost its address, as when a lease ends and another begins. */
struct outage {
    uint64_t from_us, to_us;
    uint8_t address;               /* 0: the link */
};

/* For a time something stands still: the program, as while it erases flash; or the clock, which then jumps, as after
 * deep sleep; or what the device has to send. */
enum stall_kind { STALL_PROGRAM, STALL_CLOCK, STALL_DEVICE, STALL_KINDS };

struct stall {
    uint64_t at_us;
    uint32_t us;
    enum stall_kind kind;
};

/* For a time somebody else is on the line (tests/intruder/). */
struct intrusion {
    uint64_t from_us, to_us;
    unsigned each;                 /* frames at each tick ... */
    uint8_t of_peer;               /* ... for the other machine, not for the small one */
};

/* The small machine begins anew. */
struct restart {
    uint64_t at_us;
    uint8_t power; /* 1: it was off, and its memory holds anything; 0: its program has ended the instance */
};

/* One between the two machines. */
struct way {
    struct router_conf conf;
    uint64_t dark_from_us, dark_to_us;
    uint64_t replaced_us;          /* 0: it is not */
    uint8_t for_good;              /* when it goes dark, it stays so */
};

struct plan {
    uint64_t seed, heal_us;
    struct tenon_sock_conf conf;
    struct tenon_conf peer;
    struct wire_line_conf out, in;     /* of the small machine */
    struct narrow narrow[2];           /* ... by enum wire_direction */
    struct wire_blackout blackout[BLACKOUTS_MAX];
    struct shortage shortage[SHORTAGES_MAX];
    struct outage outage[OUTAGES_MAX];
    struct stall stall[STALLS_MAX];
    struct intrusion intrusion[INTRUSIONS_MAX];
    struct restart restart[RESTARTS_MAX];
    struct way way[ROUTERS_MAX];
    struct session_plan session[SESSIONS_MAX];
    unsigned nblackouts, nshortages, noutages, nstalls, nintrusions, nrestarts, nways, nsessions, servers;
    unsigned slots, tx_us;         /* of the device: how many frames it holds, and for how long */
    unsigned rx_blocks;            /* blocks that it holds filled with nothing; 0: it takes one when a frame comes */
    unsigned arena_shift;
    uint64_t clock_us;
    uint8_t v6, csum, trust, later, events;
    uint8_t told;                  /* the machines hear of routers by advertisements */
    uint8_t one_link;              /* their two networks are on one link */
};

void plan_draw(struct plan *plan, uint64_t seed);
void plan_print(const struct plan *plan);

/* ---- a history ------------------------------------------------------------------------------------ */

struct history;
struct session;

struct held {
    tenon_u8 *p;
    unsigned n;
    uint64_t at;     /* in the stream */
};

/* Bytes of the stream that left out of the blocks in which others had come. */
struct back {
    uint64_t at, n;
};

/* A descriptor, and what its application knows of it. */
struct end_point {
    struct history *h;
    struct session *session;       /* NULL: a server without a client */
    enum session_kind kind;
    int sk;                        /* 0: none */
    tenon_u8 *ring;                /* with GUARD bytes on both sides */
    uint32_t ring_bytes;
    uint64_t retry_us;
    uint32_t busy;                 /* bytes of a datagram that was begun */
    uint8_t opened, ring_given, finished, leaving, gone_seen;
};

struct session {
    struct history *h;
    const struct session_plan *plan;
    unsigned index;
    struct end_point *end;         /* NULL: not yet, or not any more */
    uint64_t sent, got;            /* by the small machine: bytes, or datagrams */
    struct held held[HELD_MAX];
    unsigned nheld;
    struct back backs[BACKS_MAX];  /* those that are not acknowledged */
    unsigned nbacks;
    tenon_u8 *returned;            /* where the piece began that was given back last; NULL: none was */
    uint64_t handed;               /* bytes that ask_rbuf() has given */
    uint64_t paused_us;
    uint8_t started, strict, done, finish_sent, paused, peer_done, small_done, failed;

    struct tenon_tcp *conn;        /* of the other machine */
    struct tenon_udp *udp;
    struct tenon_tcp_listener *listener;
    uint64_t peer_sent, peer_got, peer_consumed, consume_at, connect_at, opened_at;
    unsigned attempts;
    uint8_t peer_opened, peer_finish_sent, peer_finished, peer_closed, echoes;
};

/* A frame that the device has, as hardware does: it reads the bytes where they lie, later. */
struct slot {
    struct tenon_frame frame;
    struct tenon_span spans[SPANS_MAX];
    uint32_t sum;                  /* of the bytes when it was taken */
    uint8_t busy;
};

struct device {
    struct slot slot[SLOTS_MAX];
    unsigned first, count;         /* in use */
    uint64_t stuck_until;
    int sending, full;
    struct tenon_buf *empty[WAITING_MAX];      /* blocks that wait for frames */
    unsigned nempty;
    struct {
        struct tenon_buf *block;
        unsigned off, n;
        enum tenon_csum csum;
    } waiting[WAITING_MAX];                    /* frames that wait for the stack */
    unsigned nwaiting;
    uint64_t dropped;
};

struct history {
    struct plan plan;
    int verbose;
    struct wire *wire;
    struct wire_host *small_host, *peer_host;
    struct wire_end *small_end, *peer_end;
    struct router *router[ROUTERS_MAX];
    struct tenon_socks *socks;
    struct tenon *peer;
    tenon_u8 *arena;
    size_t arena_bytes, baseline;
    struct device device;
    struct end_point end[2 * SESSIONS_MAX];
    uint64_t port_at;              /* when a server's descriptor was made, and there was no other */
    struct session session[SESSIONS_MAX];
    uint64_t chance;               /* how many numbers have been drawn */
    uint64_t start, bytes, sent_back, frames, opened, calls, errors, polls_at_once;
    unsigned out_blocks;           /* blocks that a shortage has taken ... */
    struct tenon_buf *taken_blocks[256], *taken_headers[256];
    unsigned nblocks, nheaders;
    void *taken_memory;
    size_t taken_bytes;
    uint64_t peer_ppm_until;
    uint32_t peer_ppm;
    unsigned restarted;            /* so many times */
    unsigned replaced;             /* routers, by bits */
    int unplugged, nameless;       /* an outage of the link, of the address */
    int healed, ending;
};

/* world.c */
void history_run(struct history *h);
void history_small_start(struct history *h);                    /* an instance in the arena, with its address */
void history_shortage_ends(struct history *h);
void history_fail(struct history *h, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void history_note(const struct history *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t history_now(const struct history *h);                  /* since the start */
uint32_t history_chance(struct history *h, uint32_t below);     /* 0 to below - 1 */
uint64_t history_pause(struct history *h);                      /* us */
struct tenon_addr history_addr(const struct history *h, unsigned machine, unsigned port);

/* What a stream or a datagram consists of. */
void history_fill(tenon_u8 *to, const struct session *s, unsigned from, uint64_t at, uint32_t n);
int history_matches(const tenon_u8 *bytes, const struct session *s, unsigned from, uint64_t at, uint32_t n);

/* device.c */
unsigned device_transmit(void *device, const struct tenon_frame *frames, unsigned n);
void device_poll(void *device, struct tenon_socks *socks);
int device_entropy(void *device, void *bytes, size_t n);
void device_receive(struct history *h, const struct tenon_frame *frames, unsigned n);
void device_refill(struct history *h);
void device_stop(struct history *h);
int device_is_idle(const struct history *h);
/* It says when it has sent something: then it takes frames again, or the next can be put together in a block. */
int device_is_awaited(const struct history *h);

/* restart.c */
void restarts(struct history *h);

/* end.c: the application of the small machine */
uint64_t end_run(struct history *h);    /* @return microseconds until it wants to be called */
void end_event(void *app, int sk, unsigned events);
void end_start(struct history *h);
void end_delete_all(struct history *h);
void end_lost(struct history *h, struct end_point *e);    /* its descriptor goes with all others */
void end_free_rings(struct history *h);    /* ... and is gone */

/* ways.c */
void ways_open(struct history *h);
void ways_add(struct history *h, unsigned machine);    /* who does not hear of the routers is told of them */
void ways(struct history *h);
void ways_close(struct history *h);

/* intrusion.c */
void intrusions(struct history *h);

/* peer.c: the application of the other */
void peer_start(struct history *h);
void peer_run(struct history *h);
void peer_restart(struct history *h);    /* the small machine has begun anew */
void peer_stop(struct history *h);

/* check.c */
void check_step(struct history *h);
void check_quiet(struct history *h);
void check_stopped(struct history *h);
size_t check_memory(const struct history *h);
void check_result(struct history *h, const char *call, int result, const int *allowed);

#endif
