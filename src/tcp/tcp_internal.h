/* SPDX-License-Identifier: MIT */
/* TCP from the inside. Sequence space as the two halves of a connection see it:
 *
 *   sending      snd_una            rtx_nxt      lost_edge        snd_nxt               snd_end
 *                   |== sent again ====|-- lost ----|====== in flight =====|-- queued, unsent --|FIN?
 *
 *   receiving    rcv_nxt - rcv_held      rcv_nxt                      rcv_adv
 *                   |== delivered, not acked |-- may arrive (out of order) --|
 *
 * snd_nxt is never pulled back: what has been sent is in flight, or SACKed, or lost (below lost_edge and not SACKed);
 * what is lost is sent again from rtx_nxt upwards, and is then in flight again until it arrives or is lost once more
 * (then rtx_nxt goes back to it). */
#ifndef TN_TCP_TCP_INTERNAL_H
#define TN_TCP_TCP_INTERNAL_H

#include "core.h"
#include "tcp/tcp_flight.h"
#include "wire/wire.h"

TENON_BEGIN_DECLS

/* tenon_cc.ssthresh: nothing was lost yet, slow start has no end (RFC 5681 3.1). */
#define TN_CC_NO_SSTHRESH 0xFFFFFFFFUL

/* What identifies a connection, or a record of TIME-WAIT. Both ports are in node.word, the local one first; the other
 * address is the path's, or in the record of TIME-WAIT. */
struct tn_tcp_ends {
    struct tn_hnode node;
    tenon_u8 local_netif;
    tenon_u8 frame;              /* of a connection: its last one in this burst (tn_gro_look()) */
    tenon_u8 is_time_wait;
    tenon_u8 is_v4;
    tenon_u32 id;                /* of a connection */
    struct tenon_ip local;
};

/* Options that are seldom changed: shared until somebody changes one (tcp_options.c). */
struct tn_tcp_opts {
    tenon_u32 refs;
    tenon_u32 values[TENON_TCP_OPTION_COUNT];
};

/* ---- a connection --------------------------------------------------------------------------------- */

enum tn_recovery {
    TN_RECOVERY_NONE,            /* this one and the next two are tenon_cc_event.in_recovery, too */
    TN_RECOVERY_FAST,            /* RFC 6582, RFC 6675 */
    TN_RECOVERY_RTO,             /* after a timeout: everything is taken for lost */
    TN_RECOVERY_MTU              /* the path MTU fell: resend, no congestion */
};

/* Those that come and go together lie next to each other: machines whose constants have eight bits take them
 * at once. */
enum tn_tcp_flag {
    TN_TCP_F_ACTIVE = 1UL << 0,          /* SYN-RECEIVED came from an active open */
    TN_TCP_F_HELD = 1UL << 1,            /* waits for tenon_tcp_decide() */
    TN_TCP_F_ACK_NOW = 1UL << 2,
    TN_TCP_F_ACK_ARMED = 1UL << 3,
    TN_TCP_F_FIN_QUEUED = 1UL << 4,      /* we have finished: FIN is at snd_end */
    TN_TCP_F_FIN_RCVD = 1UL << 5,        /* rcv_nxt is behind the peer's FIN */
    TN_TCP_F_FIN_HELD = 1UL << 6,        /* ... and it is not acknowledged yet */
    TN_TCP_F_NO_READER = 1UL << 7,       /* tenon_tcp_close(): data is answered with a reset */
    TN_TCP_F_TIMESTAMPS = 1UL << 8,      /* negotiated, or offered in SYN-SENT */
    TN_TCP_F_SACK = 1UL << 9,
    TN_TCP_F_WSCALE = 1UL << 10,
    TN_TCP_F_RTT_TIMING = 1UL << 11,     /* a segment is being timed: rtt_seq, rtt_start_us */
    TN_TCP_F_PERSIST = 1UL << 12,        /* the retransmission timer probes a closed window */
    TN_TCP_F_RTX_ARMED = 1UL << 13,
    TN_TCP_F_PROBED = 1UL << 14,         /* the octet at snd_nxt went out in a probe: it may be acknowledged */
    TN_TCP_F_GIVE_COOKIE = TN_TCP_F_PROBED,    /* SYN-RECEIVED: our SYN-ACK brings a Fast Open cookie */
    TN_TCP_F_FORCE_RTX = 1UL << 15,      /* the next retransmission does not ask the congestion window */
    TN_TCP_F_SYN_QUEUED = 1UL << 16,     /* a SYN or SYN-ACK is to be sent */
    TN_TCP_F_SWS_OVERRIDE = 1UL << 17,   /* send a small segment once (RFC 9293 3.8.6.2.1 rule 4) */
    TN_TCP_F_R1_TOLD = 1UL << 18,
    TN_TCP_F_PACING = 1UL << 19,         /* pace_us is valid */
    TN_TCP_F_CWND_LIMITED = 1UL << 20,   /* the window has been used up since the last ACK */
    TN_TCP_F_URGENT_SND = 1UL << 21,     /* snd_up is valid */
    TN_TCP_F_URGENT_RCV = 1UL << 22,     /* rcv_up is valid */
    TN_TCP_F_KEEPALIVE = 1UL << 23,      /* idle_when is the next keep-alive */
    TN_TCP_F_FOREIGN = 1UL << 24,        /* the local address is not ours */
    TN_TCP_F_READY = 1UL << 25,          /* in the ready list */
    TN_TCP_F_IDLE_ARMED = 1UL << 26,
    TN_TCP_F_PASSIVE_COUNTED = 1UL << 27, /* counted in its listener's half_open */
    TN_TCP_F_PACE_ARMED = 1UL << 28,
    TN_TCP_F_ORPHAN = 1UL << 29,         /* closed by the application, and in the queue of those */
    TN_TCP_F_STALLED = 1UL << 30         /* the window was closed when the timer looked last: stalled_ms */
};

/* The last of them, which an int of 32 bits cannot hold (RFC 7413). SYN-SENT: our SYN has asked for a cookie,
 * or brought one; SYN-RECEIVED of a passive open: the SYN's data has been delivered. */
#define TN_TCP_F_FASTOPEN 0x80000000UL

/* What the deadline rtx_when is for; TN_TCP_F_PERSIST goes before it. */
enum tn_rtx_timer {
    TN_RTX_RTO,
    TN_RTX_TLP,                  /* a tail loss probe (RFC 8985 7) */
    TN_RTX_REORDER,              /* the end of the reordering window (RFC 8985 6.2) */
    TN_RTX_LATER                 /* RTO or TLP of a segment that left alone at the tick rtx_when: nobody has asked which
                                    yet, nor when (tn_tcp_timer_know()) */
};

/* Explicit congestion notification (RFC 3168, RFC 8257). */
enum tn_ecn_flag {
    TN_ECN_ON = 1,               /* agreed on in the handshake */
    TN_ECN_ECHO = 2,             /* CE has come: ECE in every ACK until the peer's CWR (DCTCP: the last one had CE) */
    TN_ECN_CWR = 4,              /* we have reduced: CWR in the next new data */
    TN_ECN_ASKED = 8,            /* our SYN has asked for it */
    TN_ECN_MUTE = 16             /* one of the SYNs did not: echo, but send nothing that may be marked (6.1.1) */
};

/* In the lower two bits of TOS and traffic class (RFC 3168 5). */
enum { TN_ECT_0 = 2, TN_ECN_CE = 3 };

/* What the peer, or somebody in its name, has made us do and is not to make us do again. */
struct tn_told {
    tenon_u32 rcv_up;                /* TN_TCP_F_URGENT_RCV */
    tenon_u32 challenge_ms;          /* tn_tcp_challenge_ack() */
};

/* What a connection has been through, where there is something to tell: it waited for more than data, retransmitted,
 * got urgent data, was attacked. Made then, and kept for life (tcp_why.c). */
struct tn_past {
    tenon_u32 why_ms[TENON_TCP_WAIT_COUNT];
    tenon_u16 why_us[TENON_TCP_WAIT_COUNT];
    tenon_u32 retransmits, rtos;
    struct tn_told told;
};

/* The same in short: it began, there was a handshake, and since then it has waited for nothing but data. */
union tn_life {
    struct {
        tenon_u32 begin_ms, handshake_us;
    } brief;
    struct tn_past *past;            /* begin_us is TN_LIFE_HAS_PAST */
    struct tn_told told;             /* without TENON_WITH_STATS nothing else is asked for */
};

enum { TN_LIFE_HAS_PAST = 0xFFFF };

/* RFC 5961 7: ten challenge ACKs, and one more for each tenth of this time. */
enum { TN_CHALLENGE_MS = 5000 };

/* A connection. What it needs only while it works is in its block (tcp_flight.h); here is what it is, in the order in
 * which segments ask for it. Sizes are those of 64-bit machines with lines of 64 bytes: two for every segment, the
 * third for those that bring or take data, the others for timers and for what is asked for by somebody else. Each
 * byte more costs a megabyte per million of connections: tools/footprint. The flags are at the pointer itself, since
 * other fields cost two bytes more wherever they are named in code for ColdFire; single bytes are next, since ARM's
 * short instructions reach no further than 32 of them. */
struct tenon_tcp {
    tenon_u32 flags;                 /* enum tn_tcp_flag; written often: not in one word with state */
    tenon_u16 mss;                   /* payload of a full segment that we send, options subtracted */
    tenon_u16 rcv_mss;               /* largest payload received in one packet */
    tenon_u8 state;                  /* enum tenon_tcp_state */
    tenon_u8 recovery;               /* enum tn_recovery */
    tenon_u8 snd_wscale, rcv_wscale;
    tenon_u8 ecn;                    /* enum tn_ecn_flag */
    tenon_u8 why;                    /* enum tenon_tcp_wait */
    tenon_u8 backoff;                /* expiries of the timer without progress */
    tenon_u8 keepalives;             /* unanswered */
    struct tn_tcp_ends ends;
    tenon_u32 snd_una, snd_nxt;

    /* 64 */
    struct tenon *stack;
    struct tn_path *path;            /* there is one as long as the connection is in the table */
    struct tn_flight *flight;        /* NULL: it has nothing to do */
    tenon_u32 snd_end;
    tenon_u32 snd_wnd, snd_wl1;
    tenon_u32 rcv_nxt, rcv_adv;
    tenon_u32 rcv_acked;             /* the ACK that was sent last */
    tenon_u32 rcv_unconsumed;
    tenon_u32 ts_recent, ts_offset;
    tenon_u32 srtt8;                 /* 8 * SRTT, us (RFC 6298); 0: no sample */

    /* 128 */
    const struct tenon_tcp_events *events;
    void *app;
    struct tn_tcp_opts *opts;
    struct tenon_tcp *next;          /* ready list or list of the dead */
    struct tenon_cc cc;              /* cc.words are in the block, or behind it (tn_tcp_cc_change()) */

    /* 192 */
    struct tn_timer timer;           /* runs for the earliest of all deadlines */
    tenon_u32 last_rcv_ms;           /* last segment from the peer: keep-alive, age of ts_recent */
    tenon_u32 last_text_ms;          /* last text in order from the peer */
    tenon_u32 progress_ms;           /* last forward progress: R2 counts from here */
    tenon_u32 ack_when, idle_when;   /* ticks */
    tenon_u32 snd_wnd_max;
    tenon_u32 rttvar4;               /* 4 * RTTVAR, us (RFC 6298) */
    tenon_u32 min_rtt_us;
    tenon_u16 path_mtu;              /* for which mss was computed */
    tenon_u16 mtu_acked;             /* payload of the largest segment acknowledged (RFC 5927 7.2); 0: none */
    tenon_u16 peer_mss;              /* from its MSS option, or the default */
    tenon_u16 begin_us;              /* of life.brief.begin_ms, or TN_LIFE_HAS_PAST */

    /* 256 */
    union tn_life life;
};

/* Without TENON_WITH_MANY its block comes and goes with it, and lies behind it. */
struct tn_tcp_whole {
    struct tenon_tcp conn;
    struct tn_flight flight;
};
enum {
    TN_TCP_CONN_BYTES =
        TENON_WITH_MANY ? sizeof(struct tenon_tcp) : offsetof(struct tn_tcp_whole, flight) + TN_FLIGHT_BYTES
};

/* These are the ends of a record of TIME-WAIT. */
TENON_INLINE int tn_tcp_is_record(const struct tn_tcp_ends *ends)
{
    return TENON_WITH_WAITS && ends->is_time_wait;
}
/* The connection itself is in TIME-WAIT, and its application has heard the last of it. */
TENON_INLINE int tn_tcp_waits(const struct tenon_tcp *conn)
{
    return !TENON_WITH_WAITS && conn->state == TENON_TCP_TIME_WAIT;
}
/* Without TENON_WITH_MANY it has its block for life. */
TENON_INLINE int tn_tcp_has_block(const struct tenon_tcp *conn)
{
    return !TENON_WITH_MANY || conn->flight != NULL;
}
/* @return 0: it has none, and there is no memory for one */
TENON_INLINE int tn_tcp_needs_block(struct tenon_tcp *conn)
{
    return !TENON_WITH_MANY || tn_flight_get(conn) != NULL;
}
/* Whose ends these are: not those of a record of TIME-WAIT. */
TENON_INLINE struct tenon_tcp *tn_tcp_of(struct tn_tcp_ends *ends)
{
    return TENON_CONTAINER(ends, struct tenon_tcp, ends);
}
/* Its local address is somebody else's. */
TENON_INLINE int tn_tcp_is_foreign(const struct tenon_tcp *conn)
{
    return TENON_WITH_ROUTES && (conn->flags & TN_TCP_F_FOREIGN) != 0;
}
/* The other end: its address is that of the path. */
TENON_INLINE const struct tenon_ip *tn_tcp_remote_ip(const struct tenon_tcp *conn)
{
    return &conn->path->dst;
}
/* The interface of its local address. */
TENON_INLINE unsigned tn_tcp_local_netif(const struct tenon_tcp *conn)
{
    return TENON_WITH_NETIFS ? conn->ends.local_netif : 1U;
}
TENON_INLINE tenon_u16 tn_tcp_local_port(const struct tenon_tcp *conn)
{
    return (tenon_u16)(conn->ends.node.word >> 16);
}
TENON_INLINE tenon_u16 tn_tcp_remote_port(const struct tenon_tcp *conn)
{
    return (tenon_u16)(conn->ends.node.word & 0xFFFFUL);
}

/* Sources share the backlog by a hash: RES-1. */
enum { TN_LISTEN_SHARES = TENON_WITH_COOKIES ? 32 : 1 };

struct tenon_tcp_listener {
    struct tenon_tcp_listener *next;
    struct tenon *stack;
    struct tenon_addr local;
    const struct tenon_tcp_events *events;
    void *app;
    struct tn_tcp_opts *opts;
    tenon_u32 backlog, half_open;
    struct tenon_tcp *half_first, **half_last;    /* the oldest first */
    tenon_u32 shares[TN_LISTEN_SHARES];           /* half-open ones by a hash of their source */
    struct tenon_ip source;                       /* that came last, ... */
    tenon_u8 source_share;                        /* ... and its share */
    tenon_u32 cookie_ms;                          /* when a cookie was sent last, if cookies is set */
    tenon_u8 cookies;
    tenon_u32 fast_pending;      /* Fast Open: half-open ones whose SYN's data was delivered */
    tenon_u32 fast_resets[2];    /* ... and such that were reset: in this minute, and in the one before */
    tenon_u32 fast_minute_ms;    /* when this minute began */
};

/* RFC 9293 3.3.2 TIME-WAIT, without the rest of a connection. */
struct tn_time_wait {
    struct tn_tcp_ends ends;
    struct tenon_addr remote;
    struct tn_timer timer;
    struct tn_time_wait *next, **prev;
    tenon_u32 snd_nxt, rcv_nxt;
    tenon_u32 ts_recent, ts_offset;
    tenon_u32 wait_ms;
    tenon_u16 window;                /* field of the last ACK */
    tenon_u8 timestamps, sack;       /* 1: agreed on */
};

/* Both ends of a segment, tn_tcp_hash() of them, and what a SYN between them is answered with (tcp_listen.c). */
struct tn_seg_ends {
    struct tenon_addr local, remote;
    tenon_u32 hash;
    tenon_u32 iss, ts_offset;
    unsigned share;              /* listen_share() */
};

/* A segment being processed. */
struct tn_seg {
    tenon_u32 seq, ack;              /* first, as the flags of struct tenon_tcp */
    struct tn_pkt *pkt;              /* at the payload */
    tenon_u32 len;                   /* payload bytes + SYN + FIN */
    tenon_u32 wnd;                   /* as in the header, not scaled */
    tenon_u16 sport, dport, urgent;
    tenon_u8 flags;
    tenon_u8 reused; /* TENON_WITH_WAITS: a SYN that ended a TIME-WAIT: our ISN must be behind iss_min */
    tenon_u32 iss_min;
    struct tn_tcp_options options;
};

/* ---- tcp_conn.c: life and death -------------------------------------------------------------------- */

/* A connection in CLOSED, in no table. Takes references on opts.
 * @return NULL: no memory, or over the limit (counted) */
TENON_INTERNAL struct tenon_tcp *tn_tcp_new(struct tenon *stack, struct tn_tcp_opts *opts);
/* Give it its ends, and a path from one to the other. A local address that is any becomes the path's, its interface
 * 0 the path's. @return TENON_OK or an error of tn_path_get() */
TENON_INTERNAL int tn_tcp_attach(struct tenon_tcp *conn, const struct tenon_addr *local,
                                 const struct tenon_addr *remote);
/* Its ends, as others speak of them. */
TENON_INTERNAL void tn_tcp_local(const struct tenon_tcp *conn, struct tenon_addr *local);
TENON_INTERNAL void tn_tcp_remote(const struct tenon_tcp *conn, struct tenon_addr *remote);
TENON_INTERNAL void tn_tcp_set_state(struct tenon_tcp *conn, enum tenon_tcp_state state);
/* The end: everything is given up, closed(why) is called, the struct goes to the dead. */
enum { TN_TCP_QUIETLY = 1 };    /* in place of why: nobody is told */
TENON_INTERNAL void tn_tcp_end(struct tenon_tcp *conn, int why);
/* Whether the application has heard of it: of a request it has not when it does not want to be asked. */
TENON_INTERNAL int tn_tcp_app_knows(const struct tenon_tcp *conn);
/* Tell it of something that does not end the connection. */
TENON_INTERNAL void tn_tcp_soft_error(struct tenon_tcp *conn, int error);
/* Bytes that were delivered and, by the application's wish, are not acknowledged. */
TENON_INLINE tenon_u32 tn_tcp_rcv_held(const struct tenon_tcp *conn)
{
    return TENON_WITH_HOLD && tn_tcp_has_block(conn) ? conn->flight->rcv_held : 0;
}
/* The peer's FIN, likewise. */
TENON_INLINE int tn_tcp_fin_held(const struct tenon_tcp *conn)
{
    return TENON_WITH_HOLD && (conn->flags & TN_TCP_F_FIN_HELD) != 0;
}
/* Nothing is answered before the application has decided. */
TENON_INLINE int tn_tcp_is_held(const struct tenon_tcp *conn)
{
    return TENON_WITH_HOLD && TENON_WITH_LISTEN && (conn->flags & TN_TCP_F_HELD) != 0;
}
/* What the peer sent has not been acknowledged, by the application's wish: the connection may not end yet. */
TENON_INLINE int tn_tcp_holds(const struct tenon_tcp *conn)
{
    return tn_tcp_fin_held(conn) || tn_tcp_rcv_held(conn) > 0;
}
/* Memory of one kind; without SPEED it is all 0. @return NULL: there is none (counted) */
TENON_INTERNAL void *tn_spare_get(struct tenon *stack, struct tn_spare *spare, size_t bytes);
TENON_INTERNAL void tn_spare_put(struct tenon *stack, struct tn_spare *spare, void *mem, size_t bytes);
/* Both FINs are through: leave a TIME-WAIT record behind and end; or stay, without an application. */
TENON_INTERNAL void tn_tcp_enter_time_wait(struct tenon_tcp *conn);
TENON_INTERNAL struct tn_tcp_ends *tn_tcp_find(struct tenon *stack, const struct tenon_addr *local,
                                               const struct tenon_addr *remote);
/* The same for who knows tn_tcp_hash(). */
TENON_INTERNAL struct tn_tcp_ends *tn_tcp_find_hash(struct tenon *stack, const struct tenon_addr *local,
                                                    const struct tenon_addr *remote, tenon_u32 hash);
TENON_INTERNAL tenon_u32 tn_tcp_hash(const struct tenon *stack, const struct tenon_addr *local,
                                     const struct tenon_addr *remote);
TENON_INTERNAL_HOT void tn_tcp_make_ready(struct tenon_tcp *conn);
/* Everything that follows from the MSS option, the path MTU and our options. */
TENON_INTERNAL void tn_tcp_update_mss(struct tenon_tcp *conn);
/* The MSS option to send (RFC 9293 3.7.1). */
TENON_INTERNAL tenon_u16 tn_tcp_offered_mss(const struct tenon_tcp *conn);
/* The same before there is a connection; limit: TENON_TCP_MSS_MAX. */
TENON_INTERNAL tenon_u16 tn_tcp_mss_for(const struct tn_netif *netif, int is_v4, tenon_u32 limit);
/* What was negotiated or offered, from our options. */
TENON_INTERNAL void tn_tcp_offer(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_established(struct tenon_tcp *conn);
/* The congestion control begins, and data may be sent. */
TENON_INTERNAL void tn_tcp_begin_sending(struct tenon_tcp *conn);
TENON_INTERNAL tenon_u8 tn_tcp_wscale_for(tenon_u32 rcv_buf);

/* ---- tcp_opts.c ------------------------------------------------------------------------------------ */

TENON_INTERNAL struct tn_tcp_opts *tn_tcp_opts_new(struct tenon *stack);    /* the defaults; NULL: no memory */
TENON_INTERNAL void tn_tcp_opts_put(struct tenon *stack, struct tn_tcp_opts *opts);
TENON_INLINE int tn_tcp_has_sack(const struct tenon_tcp *conn)
{
    return TENON_WITH_SACK && (conn->flags & TN_TCP_F_SACK) != 0;
}
/* The same, and what the peer says by it is remembered: without that we only tell. */
TENON_INLINE int tn_tcp_hears_sack(const struct tenon_tcp *conn)
{
    return TENON_WITH_SCOREBOARD && tn_tcp_has_sack(conn);
}
TENON_INLINE int tn_tcp_has_timestamps(const struct tenon_tcp *conn)
{
    return TENON_WITH_SCALE && (conn->flags & TN_TCP_F_TIMESTAMPS) != 0;
}
/* How far the windows of both sides are shifted (RFC 7323 2). */
TENON_INLINE unsigned tn_tcp_snd_wscale(const struct tenon_tcp *conn)
{
    return TENON_WITH_SCALE ? conn->snd_wscale : 0U;
}
TENON_INLINE unsigned tn_tcp_rcv_wscale(const struct tenon_tcp *conn)
{
    return TENON_WITH_SCALE ? conn->rcv_wscale : 0U;
}
TENON_INLINE int tn_tcp_is_v4(const struct tenon_tcp *conn)
{
    return !TENON_WITH_IPV6 || conn->ends.is_v4;
}
/* Its congestion control; without TENON_WITH_RECOVERY there is one only. */
TENON_INLINE const struct tenon_cc_ops *tn_cc_ops(const struct tenon_tcp *conn)
{
    return TENON_WITH_RECOVERY ? conn->cc.ops : &tenon_cc_newreno;
}
/* enum tn_ecn: what was agreed on, and what is to be told. */
TENON_INLINE unsigned tn_tcp_ecn(const struct tenon_tcp *conn)
{
    return TENON_WITH_RECOVERY ? conn->ecn : 0U;
}
/* After a timeout that may have been spurious, F-RTO sends new data. */
TENON_INLINE int tn_tcp_tries_new(const struct tenon_tcp *conn)
{
    return TENON_WITH_RECOVERY && conn->flight->frto == TN_FRTO_NEW;
}
TENON_INLINE tenon_u32 tn_tcp_opt(const struct tenon_tcp *conn, enum tenon_tcp_option option)
{
    return conn->opts->values[option];
}
/* Received data is acknowledged by the application. */
TENON_INLINE int tn_tcp_is_by_hand(const struct tenon_tcp *conn)
{
    return TENON_WITH_HOLD && tn_tcp_opt(conn, TENON_TCP_ACK_BY_HAND) != 0;
}
TENON_INLINE int tn_tcp_is_urgent(const struct tenon_tcp *conn)
{
    return TENON_WITH_URGENT && (conn->flags & TN_TCP_F_URGENT_SND) != 0;
}
TENON_INLINE int tn_tcp_is_calling(const struct tenon_tcp *conn)
{
    return TENON_WITH_CONNECT && conn->state == TENON_TCP_SYN_SENT;
}
/* In SYN-RECEIVED: in answer to a SYN, or because two have crossed. */
TENON_INLINE int tn_tcp_is_answering(const struct tenon_tcp *conn)
{
    return (TENON_WITH_LISTEN || TENON_WITH_CROSSING) && conn->state == TENON_TCP_SYN_RECEIVED;
}
/* The same, and two have crossed. */
TENON_INLINE int tn_tcp_has_crossed(const struct tenon_tcp *conn)
{
    return TENON_WITH_CROSSING && (conn->flags & TN_TCP_F_ACTIVE) != 0;
}
/* TTL or hop limit: of a router (RFC 4861 6.3.4), or the instance's, unless one was chosen. */
TENON_INTERNAL tenon_u32 tn_tcp_ttl(const struct tenon_tcp *conn);

/* ---- tcp_secret.c: what nobody may predict --------------------------------------------------------------- */

/* What SYN and SYN-ACK begin with: the sequence number, and what is added to the clock of timestamps. */
TENON_INTERNAL tenon_u32 tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local,
                                    const struct tenon_addr *remote, tenon_u32 *ts_offset);
/* The latter alone. */
TENON_INTERNAL tenon_u32 tn_tcp_ts_offset(struct tenon *stack, const struct tenon_addr *local,
                                          const struct tenon_addr *remote);
/* What SYN cookies are made of. */
TENON_INTERNAL tenon_u32 tn_tcp_cookie_hash(struct tenon *stack, const struct tenon_addr *local,
                                            const struct tenon_addr *remote, const tenon_u32 more[2]);
/* The key of Fast Open cookies, a new one for each period. */
TENON_INTERNAL void tn_tcp_fastopen_key(struct tn_key128 *key, const struct tenon *stack, tenon_u32 period);
/* Give `local` a free port towards `remote`, and say tn_tcp_hash() of both ends with it. @return 0: none is free */
TENON_INTERNAL int tn_tcp_choose_port(struct tenon *stack, struct tenon_addr *local, const struct tenon_addr *remote,
                                      tenon_u32 *hash);

/* ---- tcp_listen.c -------------------------------------------------------------------------------------- */

TENON_INTERNAL struct tenon_tcp_listener *tn_tcp_find_listener(struct tenon *stack, const struct tenon_addr *local,
                                                               int foreign);
TENON_INTERNAL void tn_tcp_input_listen(struct tenon_tcp_listener *listener, struct tn_seg *seg,
                                        struct tn_seg_ends *ends);
/* A passive connection is established, or gone: its listener has room again. */
TENON_INTERNAL void tn_tcp_leave_backlog(struct tenon_tcp *conn);
/* Whether a SYN-ACK has been repeated often enough: less often when the backlog fills (RFC 4987 3.3). */
TENON_INTERNAL int tn_tcp_half_open_is_over(const struct tenon_tcp *conn);
/* In SYN-RECEIVED, an ACK of another number than ours: of a cookie that was sent before there was room for the
 * connection? Then that number is taken. @return 1: it was */
TENON_INTERNAL int tn_tcp_take_cookie(struct tenon_tcp *conn, const struct tn_seg *seg);

/* ---- tcp_cookie.c: SYN cookies (RFC 4987 3.6) ------------------------------------------------------------ */

struct tn_cookie {
    const struct tenon_addr *local, *remote;
    tenon_u32 irs;               /* the peer's number */
    tenon_u32 context;           /* anything that must be the same when it comes back */
};
TENON_INTERNAL tenon_u32 tn_cookie_encode(struct tenon *stack, const struct tn_cookie *cookie, unsigned index);
/* @return the index, or -1: no cookie of ours, or too old */
TENON_INTERNAL int tn_cookie_decode(struct tenon *stack, const struct tn_cookie *cookie, tenon_u32 iss);
/* Answer a SYN and forget it. */
TENON_INTERNAL void tn_cookie_answer(struct tenon_tcp_listener *listener, const struct tn_seg *seg);
/* Whether the segment brings a cookie back. @return 1, and the SYN as it must have been, as far as it matters */
TENON_INTERNAL int tn_cookie_check(struct tenon_tcp_listener *listener, const struct tn_seg *seg, struct tn_seg *syn);

/* Whether cookies are under way. */
TENON_INTERNAL int tn_cookie_is_expected(struct tenon_tcp_listener *listener);

/* ---- tcp_fastopen.c: TCP Fast Open (RFC 7413) ------------------------------------------------------------- */

/* The client. Our first SYN leaves: how much data it may carry (0 as long as no cookie is known). Sets mss for it. */
TENON_INTERNAL tenon_u32 tn_fastopen_begin(struct tenon_tcp *conn);
/* A SYN-ACK that answers our SYN has come: what is to be remembered. */
TENON_INTERNAL void tn_fastopen_answered(struct tenon_tcp *conn, const struct tn_seg *seg);
/* The SYN is to be repeated: this time without data and option (4.2.2). */
TENON_INTERNAL void tn_fastopen_unanswered(struct tenon_tcp *conn);

/* The server. A SYN was accepted: its cookie is looked at, and its data delivered if that is good. */
TENON_INTERNAL void tn_fastopen_accept(struct tenon_tcp *conn, const struct tn_seg *seg);
/* A half-open connection is one no more; its peer has reset it. */
TENON_INTERNAL void tn_fastopen_leave(const struct tenon_tcp *conn);
TENON_INTERNAL void tn_fastopen_reset(const struct tenon_tcp *conn);
/* The cookies of a client: under this period's key, and under the one before. @return whether it is one */
TENON_INTERNAL int tn_fastopen_cookie_is_good(struct tenon *stack, const struct tenon_ip *client,
                                              const struct tn_tcp_options *options);
/* Data of the SYN was delivered, and the handshake is not over. */
TENON_INLINE int tn_fastopen_is_early(const struct tenon_tcp *conn)
{
    return TENON_WITH_COOKIES && tn_tcp_is_answering(conn) &&
           (conn->flags & (TN_TCP_F_FASTOPEN | TN_TCP_F_ACTIVE)) == TN_TCP_F_FASTOPEN;
}

/* Both. What our SYN or SYN-ACK says. */
TENON_INTERNAL void tn_fastopen_options(struct tenon_tcp *conn, struct tn_tcp_options *options);
TENON_INTERNAL size_t tn_fastopen_bytes(const struct tenon *stack);    /* that an instance keeps once it needs them */
TENON_INTERNAL void tn_fastopen_fini(struct tenon *stack);

/* ---- tcp_input.c, tcp_ack.c, tcp_text.c ------------------------------------------------------------------ */

TENON_INTERNAL void tn_tcp_read_syn_options(struct tenon_tcp *conn, const struct tn_seg *seg);
/* A segment, whose options have been read: to its connection, or a listener. */
TENON_INTERNAL void tn_tcp_demux(struct tenon *stack, struct tn_seg *seg);
/* A segment of a connection that is in SYN-RECEIVED, or a later state. */
TENON_INTERNAL void tn_tcp_input_synchronized(struct tenon_tcp *conn, struct tn_seg *seg);
/* Its sequence number and its acknowledgement are those of the peer. Who has guessed only the first could set TS.Recent
 * so far ahead that nothing of the peer's would be taken any more (CVE-2005-0356, RFC 5961 5). */
TENON_INTERNAL void tn_tcp_heard(struct tenon_tcp *conn, const struct tn_seg *seg);
/* Fifth step of SEGMENT ARRIVES. @return 1: go on; 0: the segment, or the connection, is done with */
TENON_INTERNAL int tn_tcp_ack_input(struct tenon_tcp *conn, struct tn_seg *seg);
/* So many sequence numbers have been acknowledged: the application hears of it, and what our FIN has waited for comes.
 * @return 0: the connection is gone */
TENON_INTERNAL int tn_tcp_ack_over(struct tenon_tcp *conn, tenon_u32 acked);
/* The handshake is complete, and with it so many bytes of data are acknowledged. */
TENON_INTERNAL void tn_tcp_handshake_over(struct tenon_tcp *conn, tenon_u32 data_acked);
/* A sample of nothing would say that there is none. */
TENON_INLINE tenon_u32 tn_tcp_rtt_of(tenon_u32 us)
{
    return us + (tenon_u32)(us == 0);
}
TENON_INTERNAL_HOT void tn_tcp_rtt_sample(struct tenon_tcp *conn, tenon_u32 rtt_us);
/* The RTO that follows from the samples, before it is backed off. */
TENON_INTERNAL tenon_u32 tn_tcp_rto_us(const struct tenon_tcp *conn);
/* The shortest round trip that was seen, for five minutes (RFC 8985 6.2 step 1). It is no less than 1. */
TENON_INTERNAL void tn_tcp_take_min_rtt(struct tenon_tcp *conn, tenon_u32 rtt_us);
TENON_INTERNAL void tn_tcp_window_update(struct tenon_tcp *conn, const struct tn_seg *seg);
/* Seventh and eighth: text and FIN, already trimmed to begin at or behind rcv_nxt and to end in the window. */
TENON_INTERNAL void tn_tcp_text_input(struct tenon_tcp *conn, struct tn_seg *seg);
/* Hand text, which is the next in order, to the application; if it reads no more, reset the connection (9293-HC-4).
 * @return 0: the connection is gone */
TENON_INTERNAL_HOT int tn_tcp_deliver(struct tenon_tcp *conn, const struct tenon_span *spans, unsigned n,
                                      tenon_u32 bytes);
/* Text has come, in segments of so many bytes. */
TENON_INLINE void tn_tcp_note_size(struct tenon_tcp *conn, tenon_u32 one)
{
    if (one > conn->rcv_mss)
        conn->rcv_mss = (tenon_u16)(TENON_WITH_SPEED ? tn_min(one, 65535UL) : one);
}
/* That, and now or later it is acknowledged. */
TENON_INTERNAL_HOT void tn_tcp_acknowledge(struct tenon_tcp *conn, tenon_u32 one);
TENON_INTERNAL void tn_tcp_nobody_reads(struct tenon_tcp *conn);
/* The peer's FIN is the next in order. */
TENON_INTERNAL void tn_tcp_take_fin(struct tenon_tcp *conn);
TENON_INTERNAL void tn_ooo_free(struct tenon_tcp *conn);
/* Text of a segment from `from` up to `end`, which it has, where it lies. @return spans, TN_RX_SPANS_MAX at most */
TENON_INTERNAL unsigned tn_text_spans(const struct tn_seg *seg, struct tenon_span *spans, tenon_u32 from,
                                      tenon_u32 end);
/* [left, right) has arrived once more: the next ACK says so (RFC 2883). */
TENON_INTERNAL void tn_tcp_note_dup(struct tenon_tcp *conn, tenon_u32 left, tenon_u32 right);
/* What is out of order, or NULL. */
TENON_INLINE struct tn_ooo *tn_ooo_of(const struct tenon_tcp *conn)
{
    return TENON_WITH_SACK && tn_tcp_has_block(conn) ? conn->flight->ooo : NULL;
}
/* Something is, or something has arrived twice: the next ACK tells it. */
TENON_INLINE int tn_ooo_has_news(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;

    return TENON_WITH_SACK && tn_tcp_has_block(conn) &&
           (flight->ooo != NULL || (TENON_WITH_RECOVERY && flight->dup_left != flight->dup_right));
}
/* SACK blocks to report in the ACK of rcv_acked: what arrived twice, then the newest first. */
TENON_INTERNAL unsigned tn_ooo_sack_blocks(struct tenon_tcp *conn, struct tn_tcp_options *options);
/* Sequence numbers held. */
TENON_INTERNAL tenon_u32 tn_ooo_bytes(const struct tenon_tcp *conn);
TENON_INTERNAL const char *tn_ooo_check(const struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_challenge_ack(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_ack_now(struct tenon_tcp *conn);

/* ---- tcp_early.c: flight->ooo where TENON_WITH_RUNS is 0 ----------------------------------------------------- */

/* @return 0: no memory for all of it, or the limit */
TENON_INTERNAL int tn_early_add(struct tenon_tcp *conn, const struct tn_seg *seg);
/* @return 0: the connection is gone */
TENON_INTERNAL int tn_early_deliver(struct tenon_tcp *conn);
TENON_INTERNAL void tn_early_free(struct tenon_tcp *conn);
/* Behind the n blocks that are there. @return how many there are then */
TENON_INTERNAL unsigned tn_early_sack_blocks(const struct tn_ooo *ooo, struct tn_tcp_options *options, unsigned n);
TENON_INTERNAL tenon_u32 tn_early_bytes(const struct tn_ooo *ooo);
TENON_INTERNAL const char *tn_early_check(const struct tenon_tcp *conn);

/* ---- tcp_sack.c: the scoreboard ---------------------------------------------------------------------------- */

/* What is SACKed, or NULL. */
TENON_INLINE struct tn_sack *tn_flight_sack(const struct tn_flight *flight)
{
    return TENON_WITH_SACK && TENON_WITH_SCOREBOARD ? flight->sack : NULL;
}
TENON_INLINE struct tn_sack *tn_sack_of(const struct tenon_tcp *conn)
{
    return tn_tcp_has_block(conn) ? tn_flight_sack(conn->flight) : NULL;
}
/* Take note of [left, right), which lies within [snd_una, snd_nxt]; what is new of it is told to the ACK. */
TENON_INTERNAL void tn_sack_add(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 left, tenon_u32 right);
/* Everything below snd_una is forgotten. */
TENON_INTERNAL void tn_sack_advance(struct tenon_tcp *conn);
TENON_INTERNAL void tn_sack_clear(struct tenon_tcp *conn);
/* SACKed bytes in [from, to). */
TENON_INTERNAL tenon_u32 tn_sack_bytes_between(const struct tenon_tcp *conn, tenon_u32 from, tenon_u32 to);
/* The first gap at or after `from`: its beginning, and in *end where the next SACKed range begins (snd_nxt
 * if there is none). */
TENON_INTERNAL tenon_u32 tn_sack_gap(const struct tenon_tcp *conn, tenon_u32 from, tenon_u32 *end);
TENON_INTERNAL tenon_u32 tn_sack_highest(const struct tenon_tcp *conn);    /* snd_una: nothing is SACKed */
TENON_INTERNAL const char *tn_sack_check(const struct tenon_tcp *conn);

/* ---- tcp_sendq.c -------------------------------------------------------------------------------------------- */

/* What waits ends in a buffer of ours. Then: few bytes behind it (1 to TN_SENDQ_FEW_BYTES), if there is room
 * for them; a span only where it would be copied anyway. @return 0: it is not this simple, and nothing has
 * changed */
TENON_INTERNAL_HOT int tn_sendq_is_open(const struct tenon_tcp *conn);
TENON_INTERNAL_HOT int tn_sendq_add(struct tenon_tcp *conn, const tenon_u8 *bytes, tenon_u32 n);
TENON_INTERNAL_HOT int tn_sendq_join(struct tenon_tcp *conn, const struct tenon_span *span);
TENON_INTERNAL int tn_sendq_push(struct tenon_tcp *conn, const struct tenon_span *span);
TENON_INTERNAL tenon_u32 tn_sendq_write(struct tenon_tcp *conn, const tenon_u8 *bytes, tenon_u32 n);
/* The first piece of an empty queue, of a connection whose block is in use. */
TENON_INTERNAL_HOT void tn_sendq_first(struct tenon_tcp *conn, const struct tenon_span *span);
/* Copy [seq, seq + len), which is queued, to `bytes`; counted. */
TENON_INTERNAL_HOT void tn_sendq_copy(const struct tenon_tcp *conn, tenon_u8 *bytes, tenon_u32 seq, tenon_u32 len);
/* The same of all that is queued, `len` bytes. */
TENON_INTERNAL_HOT void tn_sendq_copy_all(const struct tenon_tcp *conn, tenon_u8 *bytes, tenon_u32 len);
/* Everything before `seq` has been acknowledged. */
TENON_INTERNAL_HOT void tn_sendq_pop(struct tenon_tcp *conn, tenon_u32 seq);
/* Collect [seq, seq + len), as far as there is room. No references. */
TENON_INTERNAL void tn_sendq_slice(const struct tenon_tcp *conn, struct tn_gather *to, tenon_u32 seq, tenon_u32 len);
TENON_INTERNAL void tn_sendq_free(struct tenon_tcp *conn);
TENON_INTERNAL const char *tn_sendq_check(const struct tenon_tcp *conn);

/* ---- tcp_output.c --------------------------------------------------------------------------------------------- */

/* Send what may be sent now. @return 1: everything; 0: the burst is full, come again */
TENON_INTERNAL int tn_tcp_output(struct tenon_tcp *conn);
/* Bytes in the network, as far as is known (RFC 6675 "pipe"). */
TENON_INTERNAL tenon_u32 tn_tcp_in_flight(const struct tenon_tcp *conn);
/* Data, or a FIN, that was never sent; data that the peer's window takes. */
TENON_INTERNAL int tn_tcp_has_new_data(const struct tenon_tcp *conn);
TENON_INTERNAL int tn_tcp_may_send_new(const struct tenon_tcp *conn);
/* A tail loss probe: a new segment, or the last one again (RFC 8985 7.3). @return 1: it was sent */
TENON_INTERNAL int tn_tcp_send_tlp(struct tenon_tcp *conn);
/* One octet, or FIN, beyond the window (RFC 9293 3.8.6.1). */
TENON_INTERNAL void tn_tcp_send_probe(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_send_keepalive(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_send_ack(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_send_reset(struct tenon_tcp *conn);
/* Window that we can offer: the field for an ACK of this number, which moves rcv_adv; in a SYN it is not scaled. */
TENON_INTERNAL tenon_u16 tn_tcp_window_scaled(struct tenon_tcp *conn, tenon_u32 ack, unsigned scale);
TENON_INTERNAL_HOT tenon_u16 tn_tcp_window_field(struct tenon_tcp *conn, tenon_u32 ack);
/* Spans of payload that a frame may have, and its bytes, through this interface. */
TENON_INTERNAL unsigned tn_tcp_gather_max(const struct tenon_tcp *conn, const struct tn_netif *netif);
TENON_INTERNAL tenon_u32 tn_tcp_frame_limit(const struct tenon_tcp *conn, const struct tn_netif *netif);
/* Window that we can offer, as a right edge. */
TENON_INTERNAL_HOT tenon_u32 tn_tcp_rcv_edge(const struct tenon_tcp *conn);
TENON_INLINE tenon_u32 tn_tcp_ts_now(const struct tenon_tcp *conn)
{
    return conn->stack->now_ms + conn->ts_offset;
}
/* The same as it was at an earlier instant: tcp_rack.c. */
TENON_INTERNAL tenon_u32 tn_tcp_ts_at(const struct tenon_tcp *conn, tenon_u32 us);
/* Whether our FIN has been sent, and acknowledged: nothing else lies behind snd_end. */
TENON_INLINE int tn_tcp_fin_sent(const struct tenon_tcp *conn)
{
    return conn->snd_nxt == conn->snd_end + 1;
}
TENON_INLINE int tn_tcp_fin_acked(const struct tenon_tcp *conn)
{
    return conn->snd_una == conn->snd_end + 1;
}

/* ---- tcp_fast.c, tcp_fast_look.c, tcp_fast_out.c: the usual case ---------------------------------------------- */

/* The acknowledgement of a segment, at or behind snd_una, which the window has been taken from.
 * @return 0: it is not this simple, and nothing has changed */
TENON_INTERNAL int tn_fast_ack(struct tenon_tcp *conn, const struct tn_seg *seg);
/* Send all that waits. @return 1: that was all; 0: ask tn_tcp_output() for what is left */
TENON_INTERNAL int tn_fast_output(struct tenon_tcp *conn);
/* A segment at snd_nxt without data: ACK, or FIN and ACK. @return 1: it has left; 0: it has to be built otherwise */
TENON_INTERNAL int tn_fast_control(struct tenon_tcp *conn, unsigned flags);
/* The same for SYN, or SYN and ACK, without data. */
TENON_INTERNAL int tn_fast_syn(struct tenon_tcp *conn, unsigned flags);
/* The table of those that were heard of last, and the headers of the last SYN; there is one connection more; it
 * leaves. */
TENON_INTERNAL void tn_fast_init(struct tenon *stack);
TENON_INTERNAL void tn_fast_fini(struct tenon *stack);
TENON_INTERNAL void tn_fast_grow(struct tenon *stack);
TENON_INTERNAL size_t tn_fast_bytes(const struct tenon *stack);    /* that it has taken for itself */
TENON_INTERNAL void tn_fast_forget(struct tenon_tcp *conn);
/* It has been heard of: the next segment finds it without that table, if nobody else takes the place. */
TENON_INTERNAL void tn_fast_remember(struct tenon_tcp *conn);
/* Something is about to happen that is not usual, perhaps. */
TENON_INLINE void tn_fast_end(struct tenon_tcp *conn)
{
    if (TN_FAST && conn->flight != NULL)
        conn->flight->usual = 0;
}

/* Its state changes, or what its application may still say: what it has sent is not concerned. */
enum { TN_FAST_PLAIN = 1 };
TENON_INLINE void tn_fast_change(struct tenon_tcp *conn)
{
    if (TN_FAST && conn->flight != NULL)
        conn->flight->usual &= TN_FAST_PLAIN;
}
TENON_INTERNAL const char *tn_fast_check(const struct tenon_tcp *conn);

/* ---- tcp_reset.c: answers without a connection ------------------------------------------------------------------ */

/* RFC 9293 3.10.7.1: the reset that a segment of no connection gets. */
TENON_INTERNAL void tn_tcp_reset_reply(struct tenon *stack, const struct tn_seg *seg);
/* Both ends, as the answer to a segment has them. */
TENON_INTERNAL void tn_tcp_ends_of(const struct tn_seg *seg, struct tenon_addr *local, struct tenon_addr *remote);
/* The header of a segment without payload into `out`, which has just been made; behind it are its options already. Of
 * the ends, the ports are in `tcp`. */
TENON_INTERNAL void tn_tcp_seal(struct tn_out *out, const struct tn_tcp *tcp, const struct tenon_ip *src);
/* A bare segment between two ends, of whose header numbers, window and flags are there, and all else 0; options may be
 * NULL, ttl 0: the instance's. */
struct tn_bare {
    const struct tenon_addr *local, *remote;
    struct tn_tcp tcp;
    tenon_u8 ttl, tos;
    const struct tn_tcp_options *options;
};
TENON_INTERNAL void tn_tcp_send_bare(struct tenon *stack, struct tn_bare *bare);

/* ---- tcp_timer.c --------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_arm_rtx(struct tenon_tcp *conn);          /* (re)start with the present RTO */
/* Something is in flight: RTO, tail loss probe or reordering window, whichever is next (RFC 8985 8). */
TENON_INTERNAL void tn_tcp_choose_timer(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_stretch_rto(struct tenon_tcp *conn);    /* to RTO, as it is now, since the last progress */
/* Both, if all is as usual; restart: the RTO begins now. */
TENON_INTERNAL_HOT void tn_tcp_arm_usual(struct tenon_tcp *conn, int restart);
/* The same when one segment has left, and nothing else is in flight. */
TENON_INTERNAL_HOT void tn_tcp_arm_alone(struct tenon_tcp *conn);
/* Find out what TN_RTX_LATER stands for. */
TENON_INTERNAL void tn_tcp_timer_find(struct tenon_tcp *conn);
TENON_INLINE void tn_tcp_timer_know(struct tenon_tcp *conn)
{
    if (TN_FAST && !TENON_SMALL && conn->flight != NULL && conn->flight->rtx_timer == TN_RTX_LATER)
        tn_tcp_timer_find(conn);
}
TENON_INTERNAL void tn_tcp_arm_pace(struct tenon_tcp *conn, tenon_u32 us);
TENON_INTERNAL void tn_tcp_disarm_rtx(struct tenon_tcp *conn);
TENON_INTERNAL_HOT void tn_tcp_arm_delack(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_disarm_delack(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_arm_idle_ms(struct tenon_tcp *conn, tenon_u32 ms);
/* In FIN-WAIT-2, or where nothing is missing but the application's acknowledgement, if it has closed: that
 * does not last (9293-HC-3). */
TENON_INTERNAL void tn_tcp_arm_fin_wait(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_disarm_idle(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_arm_keepalive(struct tenon_tcp *conn);    /* nothing else waits for that timer */

/* ---- tcp_recovery.c ------------------------------------------------------------------------------ */

/* What an ACK means for loss and congestion; the sequence numbers have been moved. */
TENON_INTERNAL void tn_tcp_recovery_on_ack(struct tenon_tcp *conn, struct tn_ack *ack);
/* The congestion control hears what was acknowledged. */
TENON_INTERNAL void tn_tcp_tell_acked(struct tenon_tcp *conn, const struct tn_ack *ack);
/* The same with a rate sample, of a connection that repairs nothing; the ACK has a newest. */
TENON_INTERNAL void tn_tcp_tell_rate(struct tenon_tcp *conn, const struct tn_ack *ack);
TENON_INTERNAL void tn_tcp_recovery_on_reorder_timer(struct tenon_tcp *conn);
/* After silence: whether the window is kept (RFC 7661), aged as need be; else it restarts (RFC 5681 4.1). */
TENON_INTERNAL int tn_tcp_keeps_window(struct tenon_tcp *conn);
/* The head of the queue is SACKed and not acknowledged. */
TENON_INTERNAL int tn_tcp_peer_reneged(const struct tenon_tcp *conn);
/* A stretch of so many bytes, that left at `sent`, is lost. */
TENON_INTERNAL void tn_tcp_lost(struct tenon_tcp *conn, const struct tn_sent *sent, tenon_u32 bytes);
TENON_INTERNAL void tn_tcp_recovery_on_rto(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_recovery_on_mtu(struct tenon_tcp *conn);
/* Another table, with its memory; init() is the caller's. @return TENON_OK or TENON_ENOMEM */
TENON_INTERNAL int tn_tcp_cc_change(struct tenon_tcp *conn, const struct tenon_cc_ops *ops);
TENON_INTERNAL void tn_tcp_cc_free(struct tenon_tcp *conn);
/* The connection has got a block, and loses it. */
TENON_INTERNAL void tn_tcp_cc_enter(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_cc_leave(struct tenon_tcp *conn);
TENON_INTERNAL void tn_tcp_cc_event_all(struct tenon_tcp *conn, struct tenon_cc_event *event);
/* What the congestion control is told of the connection, and nothing has happened. Without TENON_WITH_RECOVERY that is
 * NewReno: it asks for nothing else but what has happened, which the caller says. */
TENON_INLINE void tn_tcp_cc_event(struct tenon_tcp *conn, struct tenon_cc_event *event)
{
    if (TENON_WITH_RECOVERY) {
        tn_tcp_cc_event_all(conn, event);
        return;
    }
    event->mss = conn->mss;
    event->in_flight = conn->snd_nxt - conn->snd_una;
}
/* What an event has for those who need chance; the congestion control has words besides the block's. */
TENON_INTERNAL tenon_u32 tn_cc_chance(const struct tenon_tcp *conn);

/* Whether the congestion control asks for rate samples: nothing is measured for those that do not. */
TENON_INLINE int tn_rate_is_wanted(const struct tenon_tcp *conn)
{
    return TENON_WITH_RECOVERY && (tn_cc_ops(conn)->delivered != NULL || tn_cc_ops(conn)->lost_bytes != NULL);
}
/* ... on the short way (tcp_fast.c); builds for size leave those that do to the general way. */
TENON_INLINE int tn_rate_is_fast(const struct tenon_tcp *conn)
{
    return !TENON_SMALL && tn_rate_is_wanted(conn);
}
/* It has heard of all ACKs; of the next ones of this millisecond it may hear later (tcp_fast.c), unless it
 * asks for rates. */
TENON_INLINE void tn_cc_told(struct tenon_tcp *conn)
{
    conn->flight->told_ms = conn->stack->now_ms - (tenon_u32)tn_rate_is_fast(conn);
}
/* Whether it wants to hear that something leaves now: nothing is in flight. The first packet after silence, with which
 * rates begin anew; between what lets it go and its leaving. */
TENON_INLINE int tn_tcp_restarts(const struct tenon_tcp *conn)
{
    return conn->snd_una == conn->snd_nxt && tn_cc_ops(conn)->restart != NULL;
}
TENON_INTERNAL void tn_tcp_restart(struct tenon_tcp *conn);    /* tcp_output.c */
/* It finds all that it needs in a block that has just been made. */
TENON_INLINE int tn_cc_is_simple(const struct tenon_cc_ops *ops)
{
    return !TENON_SMALL && ops->more_words == 0 && ops->delivered == NULL && ops->lost_bytes == NULL;
}

/* ---- tcp_mtu.c: path MTU (RFC 5927, RFC 4821) ----------------------------------------------------- */

struct tn_mtu_news {
    tenon_u32 mtu, seq;          /* what the router says, about what segment */
};
/* About something in flight: too large. RFC 1191 6.4, RFC 8201 5.4: it is sent again, smaller, at once. */
TENON_INTERNAL void tn_mtu_report(struct tenon_tcp *conn, const struct tn_mtu_news *report);
/* A segment with so much payload has left, or has arrived. */
TENON_INTERNAL void tn_mtu_sent(struct tenon_tcp *conn, tenon_u32 bytes);
TENON_INTERNAL void tn_mtu_arrived(struct tenon_tcp *conn, tenon_u32 bytes);
/* Before the timeout is answered: was it because of the size? */
TENON_INTERNAL void tn_mtu_timeout(struct tenon_tcp *conn);
/* Before the first segment: begin small, if that is wished. */
TENON_INTERNAL void tn_mtu_open(struct tenon_tcp *conn);
/* Payload of a probe that should be the next segment; 0: none. */
TENON_INTERNAL tenon_u32 tn_mtu_probe_bytes(struct tenon_tcp *conn);
/* That, and what must follow it. */
TENON_INTERNAL tenon_u32 tn_mtu_probe_needs(const struct tenon_tcp *conn, tenon_u32 bytes);
TENON_INTERNAL void tn_mtu_probe_sent(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 end);
TENON_INTERNAL void tn_mtu_probe_judge(struct tenon_tcp *conn, int passed);
TENON_INTERNAL void tn_mtu_probe_forget(struct tenon_tcp *conn);    /* something else was lost too */
/* An ACK has moved the marks, and nothing was looked for that is lost. */
TENON_INTERNAL void tn_mtu_acked(struct tenon_tcp *conn, const struct tn_ack *ack);
/* What is marked lost is a probe and nothing else: that is no congestion (RFC 4821 7.6.2). */
TENON_INTERNAL int tn_mtu_probe_is_lone(const struct tenon_tcp *conn);

/* ---- tcp_ecn.c ------------------------------------------------------------------------------------- */

/* Our SYN or SYN-ACK leaves, the peer's has come: the flags that go with it, and what is agreed on. */
TENON_INTERNAL unsigned tn_ecn_syn_flags(struct tenon_tcp *conn, unsigned flags);
TENON_INTERNAL void tn_ecn_take_syn(struct tenon_tcp *conn, const struct tn_seg *seg);
/* A SYN with these flags asks for what the listener or connection with these options accepts. */
TENON_INTERNAL int tn_ecn_accepts(const struct tn_tcp_opts *opts, unsigned flags);
/* An acceptable segment: what the network and the peer have marked. */
TENON_INTERNAL void tn_ecn_received(struct tenon_tcp *conn, const struct tn_seg *seg);
TENON_INTERNAL void tn_ecn_look(struct tenon_tcp *conn, struct tn_ack *ack);
TENON_INTERNAL void tn_ecn_acked(struct tenon_tcp *conn, const struct tn_ack *ack);
/* What goes with a segment of these flags that is no SYN. */
TENON_INTERNAL unsigned tn_ecn_flags(const struct tenon_tcp *conn, unsigned flags);

/* ---- tcp_why.c: why nothing more is sent ------------------------------------------------------------- */

TENON_INTERNAL void tn_why_begin(struct tenon_tcp *conn);    /* of its life */
/* The record of what it has been through; made if there is none. @return NULL: no memory */
TENON_INTERNAL struct tn_past *tn_past_get(struct tenon_tcp *conn);
TENON_INTERNAL void tn_past_free(struct tenon_tcp *conn);
TENON_INLINE struct tn_past *tn_past_of(const struct tenon_tcp *conn)
{
    return TENON_WITH_STATS && conn->begin_us == TN_LIFE_HAS_PAST ? conn->life.past : NULL;
}
/* @return NULL: no memory */
TENON_INLINE struct tn_told *tn_told_get(struct tenon_tcp *conn)
{
    struct tn_past *past;

    if (!TENON_WITH_STATS)
        return &conn->life.told;
    past = tn_past_get(conn);
    return past != NULL ? &past->told : NULL;
}
/* Nothing was told so far. */
TENON_INLINE void tn_told_begin(struct tn_told *told, tenon_u32 now_ms)
{
    told->challenge_ms = now_ms - TN_CHALLENGE_MS;
}
/* Something was sent again, or the timer went off. */
TENON_INTERNAL void tn_past_retransmit(struct tenon_tcp *conn);
TENON_INTERNAL void tn_past_rto(struct tenon_tcp *conn);
TENON_INTERNAL void tn_why_change(struct tenon_tcp *conn, enum tenon_tcp_wait wait);
/* All of these @return 0, as "nothing is sent". */
TENON_INLINE int tn_why(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    if (TENON_WITH_STATS && conn->why != (tenon_u8)wait)
        tn_why_change(conn, wait);
    return 0;
}
/* Nothing new is to be sent. */
TENON_INTERNAL int tn_why_nothing_new(struct tenon_tcp *conn);
/* New data, or a FIN, does not go into what both windows have left, or is not a full segment. */
TENON_INTERNAL int tn_why_nothing_fits(struct tenon_tcp *conn, tenon_u32 unsent, tenon_u32 window,
                                       tenon_u32 cwnd_room);
/* That is the reason if there is something to be sent at all. */
TENON_INTERNAL int tn_why_if_any(struct tenon_tcp *conn, enum tenon_tcp_wait wait);
TENON_INTERNAL void tn_why_status(const struct tenon_tcp *conn, struct tenon_tcp_info *info);
TENON_INTERNAL const char *tn_why_check(const struct tenon_tcp *conn);

/* ---- tcp_trace.c --------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_tcp_trace_event(struct tenon_tcp *conn, enum tenon_trace_kind kind, const struct tn_seg *seg,
                                       tenon_u32 arg);
TENON_INLINE void tn_tcp_trace(struct tenon_tcp *conn, enum tenon_trace_kind kind, const struct tn_seg *seg,
                               tenon_u32 arg)
{
    if (TENON_WITH_STATS && TENON_UNLIKELY(conn->stack->conf.trace != NULL))
        tn_tcp_trace_event(conn, kind, seg, arg);
}

/* The same of a stretch of sequence numbers, of which `bytes` are meant. */
TENON_INTERNAL void tn_trace_stretch_event(struct tenon_tcp *conn, enum tenon_trace_kind kind,
                                           const tenon_u32 stretch[2], tenon_u32 bytes, tenon_u32 arg);
TENON_INLINE void tn_trace_stretch(struct tenon_tcp *conn, enum tenon_trace_kind kind, tenon_u32 from, tenon_u32 bytes,
                                   tenon_u32 arg)
{
    tenon_u32 stretch[2];

    if (!TENON_WITH_STATS || TENON_LIKELY(conn->stack->conf.trace == NULL))
        return;
    stretch[0] = from;
    stretch[1] = from + bytes;
    tn_trace_stretch_event(conn, kind, stretch, bytes, arg);
}
/* [from, lost_edge) has become lost, but for what is SACKed. */
TENON_INLINE void tn_trace_lost(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 bytes, enum tenon_trace_rule rule)
{
    tenon_u32 stretch[2];

    if (!TENON_WITH_STATS || TENON_LIKELY(conn->stack->conf.trace == NULL) || bytes == 0)
        return;
    stretch[0] = from;
    stretch[1] = conn->flight->lost_edge;
    tn_trace_stretch_event(conn, TENON_TRACE_LOST, stretch, bytes, (tenon_u32)rule);
}
/* DCTCP's alpha, if it is another than before. */
TENON_INLINE void tn_trace_alpha(struct tenon_tcp *conn, tenon_u32 before)
{
    const tenon_u32 alpha = conn->cc.words[TENON_CC_ALPHA_WORD];

    if ((tn_cc_ops(conn)->flags & TENON_CC_DCTCP) && alpha != before)
        tn_tcp_trace(conn, TENON_TRACE_ALPHA, NULL, alpha);
}
/* What the congestion control is about, if that is another than before. */
TENON_INTERNAL void tn_trace_phase_event(struct tenon_tcp *conn);
TENON_INLINE void tn_trace_phase(struct tenon_tcp *conn)
{
    if (TENON_WITH_STATS && TENON_UNLIKELY(conn->stack->conf.trace != NULL))
        tn_trace_phase_event(conn);
}

/* ---- tcp_orphan.c: those that hold memory and do not move ------------------------------------------ */

/* The application has closed it (TN_TCP_F_NO_READER): one more orphan. The oldest may have to end. */
TENON_INTERNAL void tn_tcp_orphan_enter(struct tenon_tcp *conn);
/* There are too many connections: one that the application has closed, and whose peer was not heard of for 100 seconds,
 * ends, and its application hears of it. @return 0: there is none */
TENON_INTERNAL int tn_tcp_evict_orphan(struct tenon *stack);
TENON_INTERNAL void tn_tcp_orphan_leave(struct tenon_tcp *conn);
/* The retransmission timer went off: has the window been closed for longer than anybody wants to wait?
 * @return 1: yes, and the connection is gone */
TENON_INTERNAL int tn_tcp_stalled(struct tenon_tcp *conn);

/* ---- tcp_timewait.c ------------------------------------------------------------------------------ */

/* @return 1: handled; 0: the record is gone and the segment, a new SYN, goes to a listener */
TENON_INTERNAL int tn_time_wait_input(struct tenon *stack, struct tn_time_wait *tw, struct tn_seg *seg);
TENON_INTERNAL void tn_time_wait_end(struct tenon *stack, struct tn_time_wait *tw);
/* Where the connection itself waits: its time begins anew; the one that has waited longest makes room.
 * @return 0: nobody waits */
TENON_INTERNAL void tn_tcp_wait_anew(struct tenon_tcp *conn);
TENON_INTERNAL int tn_tcp_evict_waiting(struct tenon *stack);

TENON_END_DECLS

#endif
