/* SPDX-License-Identifier: MIT */
/* A plan: everything that is decided before a history begins, drawn from one seed. Plain data: the
 * shrinker takes things away from it and runs what is left. */
#ifndef TENON_SIM_PLAN_H
#define TENON_SIM_PLAN_H

#include "ports/wire/wire.h"
#include "tests/router/router.h"

#include <tenon/tenon.h>

enum {
    PLAN_HOSTS_MAX = 5,
    PLAN_EVENTS_MAX = 24,
    PLAN_SESSIONS_MAX = 400,
    PLAN_DGRAMS_MAX = 64,
    PLAN_PORTS = 3,            /* that each host listens on */
    PLAN_WAYS_MAX = 2,         /* routers */
    PLAN_FATES_MAX = 20000     /* single faults that a shrunk history can do without */
};

/* Groups of decisions that the shrinker takes away as a whole. */
enum plan_class {
    CLASS_LOSS,
    CLASS_DUPLICATE,
    CLASS_CORRUPT,
    CLASS_REORDER,
    CLASS_JITTER,
    CLASS_RATE,          /* rates, queues, delays */
    CLASS_REFUSE,        /* a port that takes fewer frames than offered */
    CLASS_BLACKOUT,
    CLASS_JUMP,          /* clock jumps and pauses of a host */
    CLASS_MEMORY,        /* failing mem_get() and buf_get() */
    CLASS_POOL,          /* few and small packet buffers */
    CLASS_OFFLOAD,       /* checksums and segmentation by the port */
    CLASS_PIECES,        /* split, copied, padded, coalesced frames */
    CLASS_WINDOWS,       /* small buffers of connections, small limits */
    CLASS_OPTIONS,       /* TCP options and knobs of connections */
    CLASS_BY_HAND,       /* acknowledgement by hand, held FINs */
    CLASS_HOLD,          /* requests held, refused, ignored */
    CLASS_READERS,       /* readers that pause or are slow */
    CLASS_WRITERS,       /* writers that pause, small chunks, zero copy */
    CLASS_ABORT,         /* aborts and closes; instances that end in the middle */
    CLASS_LISTENER,      /* listeners that close for a time */
    CLASS_DGRAMS,        /* datagrams and pings */
    CLASS_WRAP,          /* clocks and sequence numbers near their wrap */
    CLASS_MTU,           /* small and large MTUs, MSS limits */
    CLASS_DAD,           /* duplicate address detection */
    CLASS_V6,            /* IPv6: everything goes over IPv4 */
    CLASS_FASTOPEN,      /* data in SYNs */
    CLASS_COOKIES,       /* SYN cookies */
    CLASS_NARROW,        /* lines on which not every packet fits */
    CLASS_OUTAGE,        /* interfaces whose link goes down, addresses that are taken away */
    CLASS_INTRUDER,      /* somebody else on the line, who means harm */
    CLASS_ROUTERS,       /* two networks, and routers between them */
    CLASS_COUNT
};

/* Bytes that decide instead of chance, as long as there are any (fuzzing). */
struct plan_bytes {
    const uint8_t *p;
    size_t left;
};

static inline uint8_t plan_byte(struct plan_bytes *given)
{
    if (given->left == 0)
        return 0;
    given->left--;
    return *given->p++;
}

enum plan_event_kind {
    EVENT_BLACKOUT,
    EVENT_JUMP,
    EVENT_PAUSE,
    EVENT_MEMORY,
    EVENT_BUFFERS,
    EVENT_LISTENER,
    EVENT_LINK,       /* it is down */
    EVENT_ADDRESS,    /* the host has it not */
    EVENT_INTRUDER    /* somebody sends to it what he likes (tests/intruder/) */
};

struct plan_event {
    uint64_t at_us, lasts_us;
    enum plan_event_kind kind;
    unsigned host;
    unsigned direction;    /* of a blackout; 1: the address of IPv6, where there are both */
    unsigned port;         /* of a listener */
    uint32_t ppm;          /* of memory and buffers */
    uint32_t gap_us;       /* of an intruder, between his frames */
};

enum plan_finish {
    FINISH_AFTER_SEND,    /* when everything is written */
    FINISH_AFTER_PEER,    /* ... and the peer has finished */
    FINISH_CLOSE,         /* tenon_tcp_close() when everything is written */
    FINISH_ABORT          /* tenon_tcp_abort() after so many bytes */
};

/* One side of a session. */
struct plan_side {
    uint32_t bytes;          /* to send */
    uint32_t chunk_max;
    uint32_t gap_us;         /* between chunks; 0: as fast as it goes */
    uint32_t finish_at;      /* FINISH_ABORT: bytes sent and received */
    uint32_t pause_at, pause_us;    /* the reader stops there for so long */
    uint32_t nap_at, nap_us;        /* the writer: behind so many bytes, and before the FIN if these are all */
    uint32_t consume_us;     /* received bytes are consumed so much later; 0: at once */
    uint32_t ack_us, hold_fin_us;
    uint32_t rcv_buf, snd_buf;      /* 0: the instance's */
    uint32_t mss_max;
    uint32_t keepalive_s;
    uint32_t msl_ms;
    uint8_t zero_copy, by_hand, hold_fin, pieces, urgent;
    uint8_t nodelay, cork, no_delack, no_timestamps, no_sack, no_scaling;
    uint8_t fastopen;
    uint8_t finish;          /* enum plan_finish */
};

enum plan_kind {
    SESSION_NORMAL,
    SESSION_ECHO,            /* the server sends back the spans that it receives */
    SESSION_BOTH_OPEN,       /* simultaneous open */
    SESSION_CLOSED_PORT,     /* nobody listens there */
    SESSION_NOBODY           /* nobody has that address */
};

struct plan_session {
    uint64_t at_us;
    unsigned client, server, port;
    uint32_t hold_us;
    struct plan_side side[2];
    uint8_t kind, v6, ephemeral;
    uint8_t verdict, then;    /* enum tenon_verdict: at once, and after hold_us */
    uint8_t off;              /* taken away */
};

struct plan_dgram {
    uint64_t at_us;
    unsigned from, to;
    uint32_t bytes;
    uint8_t v6, ping, off;
};

/* A line that takes only shorter packets than its interface sends, from a time on. */
struct plan_narrow {
    uint64_t at_us;
    uint16_t mtu;            /* 0: it takes all */
    uint8_t silent;          /* until the network is well nobody is told */
};

struct plan_host {
    struct wire_host_conf wire;
    struct tenon_conf stack;
    struct wire_end_conf end;
    unsigned backlog;        /* of its listeners; 0: the usual one */
    uint8_t fastopen;        /* its listeners take data of SYNs */
    struct plan_narrow narrow[2];    /* by enum wire_direction */
};

/* A router between the networks of the hosts with even and with odd numbers. */
struct plan_way {
    struct router_conf conf;
    uint64_t dark_at_us, dark_us;
    uint64_t replaced_at_us;    /* 0: it is not */
    uint8_t for_good;           /* when it goes dark, it stays so */
};

struct plan {
    uint64_t seed, start_us;
    uint64_t heal_us;        /* all faults are over, counted from the start */
    uint64_t open_us;        /* addresses can be used */
    uint64_t abrupt_us;      /* 0, or when all instances end in the middle of everything */
    unsigned nhosts, nevents, nsessions, ndgrams;
    unsigned nways;          /* 0: there is one network */
    int flood, v4, v6;
    uint8_t near_wrap;       /* initial sequence numbers just below 2^32 */
    uint8_t watch;           /* frames are checked as they are sent */
    struct plan_host host[PLAN_HOSTS_MAX];
    struct plan_way way[PLAN_WAYS_MAX];
    struct plan_event event[PLAN_EVENTS_MAX];
    uint8_t event_off[PLAN_EVENTS_MAX];
    struct plan_session session[PLAN_SESSIONS_MAX];
    struct plan_dgram dgram[PLAN_DGRAMS_MAX];
    struct plan_bytes *given;    /* while it is drawn */
};

/* What is taken away from a plan. A file of lines says it too: plan_mods_read(). */
struct plan_mods {
    uint8_t class_off[CLASS_COUNT];
    uint8_t event_off[PLAN_EVENTS_MAX];
    uint8_t session_off[PLAN_SESSIONS_MAX];
    uint8_t dgram_off[PLAN_DGRAMS_MAX];
    uint32_t bytes_max;                  /* per side of a session; 0: as drawn */
    int fates_only;                      /* 1: of the single faults, only these strike */
    unsigned nfates;
    uint64_t fate[PLAN_FATES_MAX];       /* sorted; sim.c knows what a number says */
};

const char *plan_class_name(unsigned class);
void plan_draw(struct plan *plan, uint64_t seed);
void plan_draw_given(struct plan *plan, uint64_t seed, struct plan_bytes *given);
void plan_apply(struct plan *plan, const struct plan_mods *mods);
void plan_print(const struct plan *plan);
int plan_mods_write(const struct plan_mods *mods, uint64_t seed, const char *path);
int plan_mods_read(struct plan_mods *mods, uint64_t *seed, const char *path);

#endif
