/* SPDX-License-Identifier: MIT */
/* Inside of models/: what the two threads have, and what lies in the rings.
 *
 * Every field belongs to one side. What the sides share is in the rings, but for a few atomics. A connection's memory
 * is the application's as long as it may use the handle: its last command says that it never will again, and the
 * stack, which has then worked on all the commands before, frees it. */
#ifndef TENON_MODELS_INTERNAL_H
#define TENON_MODELS_INTERNAL_H

#include "bell.h"
#include "model.h"
#include "ring.h"
#include "spread.h"

#include <pthread.h>

enum {
    SPANS_PER_EVENT = 3,
    BUFS_PER_COMMAND = 6,
    BYTES_PER_COMMAND = 48,
    SPANS_PER_SLOT = 4,
    WRITE_MAX = BYTES_PER_COMMAND + 15 * MODEL_SLOT_BYTES,
    DATAGRAM_WRITE_MAX = 24 * MODEL_SLOT_BYTES,    /* more than a frame of Ethernet takes */
    PUTS_MAX = 96,                /* given back and not yet told */
    LINKS_MAX = 64,
    COMMANDS_PER_TURN = 1024,
    POLL_US = 64,                 /* what arrives may set earlier timers: tenon_poll() at least so often */
    WAIT_US_MAX = 60000000
};

/* ---- what goes down ---------------------------------------------------------------------------------- */

enum command_kind {
    COMMAND_STATE,      /* nothing but what the head says */
    COMMAND_SEND,       /* .span */
    COMMAND_GIVE,       /* .span; the reference on its buffer goes with it */
    COMMAND_WRITE,      /* .bytes, and in slots that follow: n of them */
    COMMAND_CONNECT,    /* .ends */
    COMMAND_SET,        /* .option */
    COMMAND_PUT,        /* .bufs, n of them */
    COMMAND_REF,        /* .bufs[0] */
    COMMAND_CALL,       /* .call */
    COMMAND_UDP_SEND,   /* .ends, and n spans in a slot that follows; flags are enum udp_flag */
    COMMAND_UDP_WRITE,  /* .ends, and n bytes in slots that follow; flags as well */
    COMMAND_UDP_CLOSE,
    COMMAND_END         /* the stack's thread ends */
};

/* To be done behind what the command is about; in this order. */
enum command_flag { FLAG_FINISH = 1, FLAG_CLOSE = 2, FLAG_ABORT = 4, FLAG_FREE = 8 };

/* Of a datagram: these of .ends are given; the references on the spans' buffers go with it. */
enum udp_flag { UDP_FROM = 1, UDP_TO = 2, UDP_GIVE = 4 };

struct command {
    union {
        struct model_tcp *tcp;
        struct model_udp *udp;
    };
    uint8_t kind;
    uint8_t flags;
    uint16_t n;
    tenon_u32 consumed;
    union {
        struct tenon_span span;
        tenon_u8 bytes[BYTES_PER_COMMAND];
        struct tenon_buf *bufs[BUFS_PER_COMMAND];
        struct {
            struct tenon_addr from, to;
        } ends;
        struct {
            tenon_u32 name, value;
        } option;
        struct {
            void (*fn)(struct tenon *stack, void *arg);
            void *arg;
            atomic_int *done;
        } call;
    };
};

/* ---- what comes up ----------------------------------------------------------------------------------- */

enum event_kind {
    EVENT_OPENED,
    EVENT_RECEIVED,
    EVENT_ACKED,
    EVENT_FINISHED,
    EVENT_CLOSED,
    EVENT_UDP,          /* from here on about sockets. .spans, and a struct tenon_udp_info in the slot that follows */
    EVENT_UDP_ERROR,    /* .failed */
    EVENT_UDP_GONE      /* the last one */
};

struct event {
    union {
        struct model_tcp *tcp;
        struct model_udp *udp;
    };
    uint8_t kind;
    uint8_t n;           /* spans */
    tenon_u32 acked;     /* with any of them */
    union {
        struct tenon_span spans[SPANS_PER_EVENT];
        int why;
        tenon_u32 snd_buf;
        struct {
            struct tenon_addr to;
            int error;
        } failed;
    };
};

_Static_assert(sizeof(struct command) <= MODEL_SLOT_BYTES, "a command fits into a slot");
_Static_assert(sizeof(struct event) <= MODEL_SLOT_BYTES, "an event fits into a slot");
_Static_assert(sizeof(struct tenon_udp_info) <= MODEL_SLOT_BYTES, "what is known of a datagram fits into a slot");
_Static_assert(SPANS_PER_SLOT * sizeof(struct tenon_span) <= MODEL_SLOT_BYTES, "spans fit into a slot");

/* ---- connections ------------------------------------------------------------------------------------- */

enum untold { UNTOLD_OPENED = 1, UNTOLD_FINISHED = 2, UNTOLD_CLOSED = 4 };

/* Spans with references, the first `first` of which are done with. */
struct spans {
    struct tenon_span *at;
    unsigned first, n, cap;
};

struct model_tcp {
    struct model *model;

    /* the application's */
    const struct model_tcp_events *events;
    void *app;
    tenon_u32 snd_buf, queued;    /* how the send queue stands, as far as has been told */
    tenon_u32 consumed;           /* to be told */
    unsigned refs;
    uint8_t flags;                /* enum command_flag: to be told */
    uint8_t finishing, leaving, closed;    /* finish() was called; close() or abort(); closed() has returned */
    uint8_t dirty, wants;         /* in these lists */
    struct model_tcp *next_dirty, *next_wants;

    /* the stack's */
    alignas(MODEL_SLOT_BYTES) struct tenon_tcp *core;    /* NULL: it has ended */
    struct model_tcp *next, *prev;
    tenon_u32 acked;              /* to be told */
    uint8_t untold;               /* enum untold: waits for room in the ring */
    uint8_t acks, pends, defers;  /* in these lists */
    uint8_t held;                 /* enum command_flag: behind what is deferred */
    int why;                      /* of closed(); besides, why the stack has aborted it */
    struct spans in;              /* received, and there was no room in the ring */
    struct spans out;             /* to be sent, and the core did not take it */
    struct model_tcp *next_acks, *next_pends, *next_defers;
};

struct model_listener {
    struct model *model;
    struct tenon_tcp_listener *core;
    const struct model_tcp_events *events;
    void *app;
    struct tenon_addr local;
    struct model_listener *next;
};

/* A UDP socket. Its memory is the application's until EVENT_UDP_GONE, which the stack tells when it has worked on the
 * last command, COMMAND_UDP_CLOSE: nothing about the socket is under way then. */
struct model_udp {
    struct model *model;

    /* the application's */
    const struct model_udp_events *events;
    void *app;
    struct tenon_addr local;
    uint8_t leaving;              /* close() was called */
    struct model_udp *next, *prev;

    /* the stack's */
    alignas(MODEL_SLOT_BYTES) struct tenon_udp *core;
    struct model_udp *next_gone;
};

/* A list with an end to add at. */
struct tcp_list {
    struct model_tcp *first, **last;
};

/* ---- the two sides ----------------------------------------------------------------------------------- */

struct model_link {
    struct model *from, *to;
    struct model_ring ring;
};

struct app_side {
    struct model_tcp *dirty;
    struct tcp_list wants;
    struct command *open;         /* the last command: not published yet, and more can be said with it */
    struct tenon_buf *puts[PUTS_MAX];
    unsigned nputs;
    struct model_link *in[LINKS_MAX], *out[LINKS_MAX];
    unsigned nin, nout;
    tenon_u32 turn_at, turn_wait;
    struct model_stats stats;
};

struct stack_side {
    struct model_tcp *all;
    struct model_tcp *acks, *defers;
    struct tcp_list pends;
    struct model_udp *gones;      /* sockets that have ended, of which the application has not been told */
    tenon_u32 poll_at, polled_at;
    unsigned silent;              /* looks in a row that brought no packets, up to a limit */
    int woken;                    /* tenon_poll() has something to do */
    int full;                     /* the port was full: wait for it to become writable */
    int ended;
    unsigned long connections;
    struct model_stats stats;
};

/* What the application's thread sleeps on, besides its bell. */
struct rest {
    int fd;                       /* -1: nothing */
    short events;                 /* of poll() */
    tenon_u32 wait_us;
};

/* For a loop of the application's own. */
struct outer {
    int fd;                       /* what it waits for; -1: there is no such loop */
    int own;                      /* 1: fd is an epoll of our own, with the bell and the port in it */
    short events;                 /* what the port is in there with */
    int resting;                  /* the bell was prepared, and not cancelled */
    int unread;                   /* somebody has rung, and the count is not yet read */
};

struct model {
    struct model_conf conf;
    int direct;                   /* MODEL_UNIFIED */
    int alone;                    /* there is no other thread: who waits for the stack does its work */
    int ending;                   /* model_close() has begun */
    struct model_listener *listeners;
    struct model_udp *udps;       /* the application's; those that are not closed */
    pthread_t thread;
    atomic_int stop, gone;        /* the port is gone */
    alignas(MODEL_SLOT_BYTES) struct app_side app;
    alignas(MODEL_SLOT_BYTES) struct stack_side stack;
    struct model_mailbox *box;    /* of the spread; NULL: there is none */
    struct model_bell app_bell, stack_bell;
    struct outer outer;
    struct model_ring commands, events;
};

static inline int model_is_due(tenon_u32 now, tenon_u32 at)
{
    return (tenon_i32)(now - at) >= 0;
}

static inline void model_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* model.c */
int model_prepare(struct model *model,
                  struct rest *rest); /* @return 0: there is something to do; 1: app_bell is
                                         prepared, and who calls may sleep on that and on rest */
void model_pin_stack(const struct model *model);    /* the calling thread is the stack's */

/* app.c: what comes up, and the writing of what goes down */
int model_app_turn(struct model *model);
int model_app_blocked(const struct model *model);    /* something waits for room in the ring */
void model_app_send(struct model *model, int gave_back);    /* publish commands, and ring if somebody sleeps */
struct command *model_app_command(struct model *model, uint32_t slots);    /* the next one; NULL: the ring is full */
struct command *model_app_must(struct model *model);    /* the same, and wait for room */
void model_app_wait(struct model *model);            /* for the stack, a little */
void model_app_say(struct model_tcp *tcp, tenon_u32 consumed, unsigned flags);
void model_app_say_all(struct model *model);         /* what has waited for the end of the turn; waits for room */
void model_app_closed(struct model_tcp *tcp, int why);
void model_app_wants(struct model_tcp *tcp);
int model_app_extras(struct model *model, tenon_u32 now);    /* messages of others, and conf.turn */

/* tcp.c */
struct model_tcp *model_tcp_new(struct model *model, const struct model_tcp_events *events, void *app);

/* A connection that somebody has opened to us; its events go to `events` from now on.
 * @return NULL: there is no memory, and it is reset */
struct model_tcp *model_tcp_accept(struct model_listener *listener, struct tenon_tcp *core,
                                   const struct tenon_tcp_events *events);

/* udp.c: sockets, on both sides */
uint32_t model_udp_event(struct model *model,
                         const struct event *event); /* hand it over. @return slots that it took */
void model_udp_command(struct model *model, const struct command *command);
void model_udp_flush(struct model *model);           /* tell of those that have ended, as far as there is room */

/* stack.c: the stack's side of two threads */
extern const struct tenon_tcp_events model_stack_events, model_stack_listener_events;
int model_stack_turn(struct model *model);
int model_stack_commands(struct model *model);
int model_stack_flush(struct model *model);          /* what is to be told goes into the ring, and is published */

/* loop.c: what a stack does in any thread */
int model_loop_poll(struct model *model, tenon_u32 now);
int model_loop_receive(struct model *model, tenon_u32 now);
tenon_u32 model_loop_wait_us(const struct model *model, tenon_u32 now);    /* how long it may sleep, at most */
void model_loop_poll_out(struct model *model);       /* at the end: what was said last leaves, if the port takes it */
void model_loop_link(struct model_tcp *tcp);         /* a new connection */
void model_loop_free(struct model_tcp *tcp);
void model_loop_abort_all(struct tenon *stack, void *model);
void *model_loop_stack_thread(void *model);

/* outer.c: a loop of the application's own */
int model_outer_open(struct model *model);
void model_outer_close(struct model *model);

/* direct.c: MODEL_UNIFIED */
extern const struct tenon_tcp_events model_direct_events, model_direct_listener_events;
int model_direct_turn(struct model *model);

/* link.c */
int model_link_inbox(struct model *model);
void model_link_publish(struct model *model);
int model_link_waiting(const struct model *model);

#endif
