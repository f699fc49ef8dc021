/* SPDX-License-Identifier: MIT */
/* A history: a plan that runs. */
#ifndef TENON_SIM_SIM_H
#define TENON_SIM_SIM_H

#include "plan.h"

#include <setjmp.h>

/* Bugs that are put in on purpose, to see that they are found. */
enum sim_bug {
    BUG_NONE,
    BUG_SKIP_BYTE,        /* a reader believes that it got one byte fewer */
    BUG_BAD_PAYLOAD,      /* the wire damages payload and says that the checksum is good */
    BUG_KEEP_BUFFER,      /* an application forgets to give back a buffer */
    BUG_DEAF,             /* a host is not polled any more */
    BUG_NO_CONSUME,       /* a reader forgets to say that it has consumed */
    BUG_COUNT
};

enum { SIM_TEXT_MAX = 400, SIM_KIND_MAX = 64 };

/* What a run leaves behind, in memory that outlives its process. */
struct sim_log {
    uint64_t seed;
    int failed;
    char kind[SIM_KIND_MAX];        /* which check */
    char text[SIM_TEXT_MAX];
    uint64_t at_us;                 /* since the start */
    uint64_t frames, bytes, opened, virtual_us, steps;
    unsigned nfates;
    uint64_t fates[PLAN_FATES_MAX];    /* single faults that have struck */
};

struct sim_options {
    int verbose;
    enum sim_bug bug;
    const char *pcap;     /* NULL: none */
    struct plan_bytes *given;    /* fates of frames and requests, before chance; NULL: none */
    int dies;             /* a failure stops the program (fuzzing) */
};

struct sim;
struct session;

/* A piece that the application keeps: to consume or to send on later. */
struct kept {
    struct tenon_span span;
    struct kept *next;
};

/* A SYN cookie may come back within that time. */
#define COOKIES_EXPECTED_US 120000000U

/* One side of a session, or a connection request that did not become one. */
struct side {
    struct sim *sim;
    struct session *session;
    const struct plan_side *plan;
    unsigned which;                /* 0: client, 1: server */
    unsigned host;
    struct tenon_tcp *conn;        /* NULL: none yet, or none any more */
    struct side *next;             /* all of them */
    uint64_t written, acked;       /* bytes queued, and acknowledged by the peer */
    uint64_t received, consumed, hand_acked;
    uint64_t paused_until, naps_until, retry_at, ack_due, consume_due, fin_due;
    struct kept *kept, **kept_last;
    uint64_t ticks[2];             /* timers that are set, the latest */
    uint32_t last_acked;           /* sequence number that the peer has acknowledged at the end */
    int why;
    uint8_t held, opened, peer_finished, sent_fin, fin_acked, closed, paused_once, napped, decided;
    uint8_t early;                 /* opened by the data of a SYN; the handshake is not known to have ended */
    uint8_t again;                 /* opened by a copy of what had opened another one before */
};

struct session {
    const struct plan_session *plan;
    unsigned index;
    struct side *side[2];          /* opened or opening; NULL: not yet */
    uint64_t progress_at, busy_until;
    uint64_t retry_at;
    uint8_t started, strict, done;
    unsigned order;                /* of starting */
    uint16_t client_port;
};

struct sim_port {
    struct sim *sim;
    unsigned host, index;
    struct tenon_tcp_listener *listener;
};

struct sim_host {
    struct sim *sim;
    unsigned index;
    struct wire_host *host;
    struct wire_end *end;
    struct tenon *stack;
    struct sim_port port[PLAN_PORTS];
    struct tenon_udp *udp;
    struct tenon_echo *echo;
    struct wire_host_stats baseline;
    uint64_t opened, closed, echo_replies, dgrams_rcvd;
    uint64_t early;                /* opened by a SYN, and perhaps ended in SYN-RECEIVED */
    uint64_t faults_mem_until, faults_buf_until;
    uint32_t mem_ppm, buf_ppm;
    unsigned unplugged, nameless[2];   /* outages of its link, of its addresses by version of IP */
    uint64_t unplugged_frames;         /* sent when its link went down */
    struct wire_blackout blackout[2][PLAN_EVENTS_MAX];
    unsigned nblackouts[2];
};

struct sim_way {
    struct sim *sim;
    const struct plan_way *plan;
    struct router *router;
};

/* An intruder, and how many numbers were drawn for him: to take others away changes nothing here. */
struct intrusion {
    struct sim *sim;
    unsigned event;
    uint64_t chance;
};

struct sim {
    const struct plan *plan;
    const struct plan_mods *mods;
    struct sim_options options;
    struct sim_log *log;
    jmp_buf failed;
    struct wire *wire;
    uint64_t start, heal_at;
    uint64_t bound_us;                  /* how long no progress is no stall */
    struct sim_host host[PLAN_HOSTS_MAX];
    struct sim_way way[PLAN_WAYS_MAX];
    struct session session[PLAN_SESSIONS_MAX];
    struct side *sides;
    unsigned next_order;
    uint64_t app_bufs;                  /* buffers of the applications that are out */
    uint64_t steps, steps_left;
    size_t mem_out;
    uint8_t bug_done;
    struct intrusion intrusion[PLAN_EVENTS_MAX];
    uint8_t intruded;                   /* there has been one */
    uint8_t cleaning;                   /* the end has begun: what is left is aborted */
    void *pcap;
};

/* sim.c */
int sim_run(const struct plan *plan, const struct plan_mods *mods, const struct sim_options *options,
            struct sim_log *log);
void sim_fail(struct sim *sim, const char *kind, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));
void sim_note(struct sim *sim, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sim_compare_fates(const void *a, const void *b);
void sim_print_fate(uint64_t key);
uint64_t sim_now(const struct sim *sim);    /* since the start */
int sim_is_nameless(const struct sim *sim, unsigned host);    /* it cannot use all of its addresses */
void sim_address(const struct sim *sim, struct tenon_addr *addr, unsigned host, int v6, unsigned port);
uint64_t sim_hash(const struct sim *sim, uint64_t a, uint64_t b);

/* ways.c */
void ways_open(struct sim *sim);
void ways_tell(struct sim *sim, unsigned host);    /* its routes */
void ways_close(struct sim *sim);

/* intrusion.c */
void intrusion_begin(struct sim *sim, unsigned event);

/* app.c */
void app_session_start(struct sim *sim, unsigned index);
void app_listen(struct sim *sim, unsigned host, unsigned port);
void app_cleanup(struct sim *sim);
int app_is_strict(const struct sim *sim, const struct plan_session *plan);
struct tenon_buf *app_buf_new(struct sim *sim, uint32_t bytes);
void app_fill(uint8_t *to, uint64_t key, uint64_t off, uint32_t n);
int app_matches(const uint8_t *bytes, uint64_t key, uint64_t off, uint32_t n);

/* dgram.c */
void dgram_open(struct sim *sim, unsigned host);
void dgram_close(struct sim *sim, unsigned host);
void dgram_send(struct sim *sim, const struct plan_dgram *dgram);
void dgram_final(struct sim *sim);

/* check.c */
void check_step(struct sim *sim);
void check_progress(struct sim *sim);
void check_quiet(struct sim *sim);
void check_ended(struct sim *sim);
size_t check_caches(const struct tenon *stack);
void check_side(struct side *side);
uint32_t check_acknowledged(const struct tenon_tcp *conn);

/* frames.c */
enum { SIM_LINK_BYTES = TENON_WITH_ETHERNET ? 14 : 0 };
void frames_tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame);
unsigned frames_flatten(const struct tenon_frame *frame, uint8_t *to, unsigned max);
unsigned frames_type(const uint8_t *bytes, unsigned n);
int frames_decode(char *text, size_t size, const uint8_t *bytes, unsigned n);

/* watch.c */
void watch_begin(const struct plan *plan);
const char *watch_frame(unsigned host, int sent, int lossless, const uint8_t *bytes, unsigned n,
                        const struct tenon_frame *frame);

/* shrink.c */
int shrink(uint64_t seed, const struct sim_options *options, struct plan_mods *mods, struct sim_log *log);
unsigned shrink_sessions_left(uint64_t seed, const struct plan_mods *mods);

/* main.c: run a plan in a process of its own. @return 0: passed, 1: failed (see log) */
int isolated_run(const struct plan *plan, const struct plan_mods *mods, const struct sim_options *options,
                 struct sim_log *log);

#endif
