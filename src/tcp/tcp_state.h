/* SPDX-License-Identifier: MIT */
/* TCP: what the instance keeps, and what the other layers call. */
#ifndef TN_TCP_TCP_STATE_H
#define TN_TCP_TCP_STATE_H

#include <tenon/tcp.h>

#include "base/htab.h"
#include "base/wheel.h"

TENON_BEGIN_DECLS

struct tn_pkt;
struct tn_netif;
struct tn_path;
struct tn_err;
struct tn_tcp_opts;
struct tn_flight;
struct tn_time_wait;
struct tn_fastopen;
struct tn_tcp_made;

/* The straight way of tcp_fast.c reads the records of what was sent when. */
enum { TN_FAST = TENON_WITH_SPEED && TENON_WITH_RECOVERY };

enum { TN_TCP_RECENT = TN_FAST ? 64 : 1 };

/* The way of the connection that sent last (tcp_fast_out.c). It is good until something changes
 * (tn_link_changed()), and for this millisecond: what is known of neighbours grows old. Who says so takes the
 * path away. */
struct tn_tcp_way {
    const struct tn_path *path;                /* NULL: of none */
    const struct tn_netif *netif;
    const tenon_u8 *mac;                       /* the neighbour's; NULL: there is no link header */
    tenon_u32 changes;                         /* when it was found: link.changes */
    tenon_u16 mtu;                             /* of the interface, for this version of IP */
};

/* Where a connection was opened to last, and from the hashes of that where the search for its port began, and
 * the counter that it went on with; port 0: nowhere yet. */
struct tn_tcp_ports {
    struct tenon_ip local, remote;
    tenon_u16 port;
    tenon_u32 hash[2];
};

/* Pieces of memory of one size that nobody needs: kept for the next who does, as many as conf.tcp_resting_max. */
struct tn_spare {
    struct tn_spare_piece *first;
    tenon_u32 n;
};
struct tn_spare_piece {
    struct tn_spare_piece *next;
};

struct tn_tcp_state {
    struct tn_htab conns;                      /* connections and TIME-WAIT records by both ends */
    struct tenon_tcp **recent;                 /* connections heard of last: a shorter way than the table */
    tenon_u32 recent_mask;                     /* its slots, a power of two, less one: more than connections */
    struct tenon_tcp *recent_few[TN_TCP_RECENT];
    struct tenon_tcp **coming;                 /* the larger one that follows, while its slots are cleared; or NULL */
    tenon_u32 coming_clear;                    /* so many of them are */
    struct tenon_tcp_listener *listeners;
    struct tenon_tcp *ready_first;             /* connections that have something to send, or to be done with */
    struct tenon_tcp **ready_last;
    const struct tenon_tcp *serving;           /* what it has to send leaves when its handler is over (tcp_fast.c) */
    struct tenon_tcp *dead;                    /* closed: freed when no handler can hold them any more */
    struct tn_flight *rest_first, **rest_last; /* blocks of connections that do nothing, the longest first */
    struct tn_spare spare_flights, spare_conns, spare_waits;
    tenon_u32 nrest;                           /* at most conf.tcp_resting_max */
    struct tn_tcp_opts *defaults;              /* options of connections that set none */
    struct tn_tcp_opts *opts_last[2];          /* the copies that were made last; NULL: gone */
    struct tn_time_wait *tw_first, **tw_last;  /* oldest first */
    struct tenon_tcp *orphan_first, **orphan_last;    /* closed by the application, oldest first */
    tenon_u32 nconns, ntime_waits, norphans;
    tenon_u32 ooo_bytes;                       /* held out of order by all connections */
    tenon_u32 next_id;
    tenon_u16 *port_counters;                  /* RFC 6056 3.3.4: [conf.tcp_port_counters] */
    struct tn_tcp_ports ports;
    tenon_u32 rtx_least;                       /* the shortest deadline that tn_tcp_arm_alone() can set, in ticks */
    tenon_u32 steps, nsteps;                   /* random steps that these go on by: 3 bits each, so many are left */
    tenon_u32 rst_tokens, rst_tokens_ms;
    struct tn_tcp_way way;
    struct tn_tcp_made *made;                  /* NULL: there is no memory for it, or no short way */
    struct tn_fastopen *fastopen;              /* NULL until Fast Open is used */
    tenon_u32 transparent;                     /* listeners that take foreign addresses, and foreign connections */
};

/* pkt at the TCP header, which is contiguous if the segment is long enough to have one. */
TENON_INTERNAL void tn_tcp_input(struct tenon *stack, struct tn_pkt *pkt);
/* Whether packets to addresses that are not ours are to be handed to tn_tcp_input() (pkt->foreign = 1). */
TENON_INTERNAL int tn_tcp_wants_foreign(const struct tenon *stack);
TENON_INTERNAL void tn_tcp_error(struct tenon *stack, const struct tn_err *err);
/* Send what connections have become ready to send; after a burst of input, and in tenon_poll(). */
TENON_INTERNAL void tn_tcp_run(struct tenon *stack);
/* Free what closed. Only when no handler is active. */
TENON_INTERNAL void tn_tcp_reap(struct tenon *stack);
/* Whose segments these frames may be: a connection, or NULL. It may have ended when the frame is looked at. */
TENON_INTERNAL void tn_fast_look(struct tenon *stack, const struct tn_netif *netif, const struct tenon_frame *frames,
                                 struct tenon_tcp **conns, unsigned n);
/* The usual segment of a usual connection, which is known. @return 1: it was taken */
struct tn_fast_rx {
    const struct tenon_frame *frame;
    struct tenon_tcp *conn;                    /* of tn_fast_look() */
    tenon_u32 bytes;                           /* of the frame, ... */
    tenon_u32 merged;                          /* ... those of others that were put behind it: stack/gro.c */
    int is_last;                               /* 1: nothing more of the connection comes in this burst */
};
/* rx->conn: not NULL. @return 1: it was taken; 0: nothing has happened */
TENON_INTERNAL int tn_fast_input(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx);
/* The same for a SYN or SYN-ACK; rx->conn may be NULL, and there is a span. */
TENON_INTERNAL_HOT int tn_fast_syn_input(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx);
/* From the other end, at this address of ours, something has come through this interface, and nothing about routes and
 * addresses has changed since: it may. */
TENON_INTERNAL int tn_fast_is_heard(const struct tenon_tcp *conn, const struct tn_netif *netif);
/* The walking checker, over all connections; panics on a broken invariant. */
TENON_INTERNAL void tn_tcp_check_all(struct tenon *stack);
TENON_INTERNAL void tn_tcp_timer(struct tenon *stack, struct tn_timer *timer);
TENON_INTERNAL void tn_time_wait_timer(struct tenon *stack, struct tn_timer *timer);
/* @return TENON_OK or TENON_ENOMEM */
TENON_INTERNAL int tn_tcp_init(struct tenon *stack);
TENON_INTERNAL void tn_tcp_fini(struct tenon *stack);

TENON_END_DECLS

#endif
