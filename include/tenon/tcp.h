/* SPDX-License-Identifier: MIT */
/** @file
 *  TCP (RFC 9293) by events, without copies.
 *
 *  An application hands out a table of handlers and gets a connection's events through it. A handler
 *  may call anything in Tenon's interface but tenon_input(), tenon_poll() and tenon_fini(): it may
 *  send, close or abort its own connection, open others, close its listener. */
#ifndef TENON_TCP_H
#define TENON_TCP_H

#include <tenon/stack.h>
#include <tenon/trace.h>

TENON_BEGIN_DECLS

/** A connection. Its life: from tenon_tcp_connect(), or the event incoming() or opened(), until the
 *  event closed() returns. The memory is the core's and never moves. */
struct tenon_tcp;

/** A listening port. From tenon_tcp_listen() until tenon_tcp_listener_close(). */
struct tenon_tcp_listener;

/** States of RFC 9293 3.3.2. */
enum tenon_tcp_state {
    TENON_TCP_CLOSED,
    TENON_TCP_LISTEN,
    TENON_TCP_SYN_SENT,
    TENON_TCP_SYN_RECEIVED,
    TENON_TCP_ESTABLISHED,
    TENON_TCP_FIN_WAIT_1,
    TENON_TCP_FIN_WAIT_2,
    TENON_TCP_CLOSE_WAIT,
    TENON_TCP_CLOSING,
    TENON_TCP_LAST_ACK,
    TENON_TCP_TIME_WAIT
};

/** What to do with a connection request. */
enum tenon_verdict {
    TENON_ACCEPT,
    TENON_REFUSE,    /**< answer with a reset */
    TENON_HOLD,      /**< answer nothing yet: tenon_tcp_decide() comes later */
    TENON_IGNORE     /**< answer nothing at all */
};

/** Handlers; any may be NULL. `app` is the pointer given with the table. */
struct tenon_tcp_events {
    /** A listener got a SYN; its options, addresses and MSS can be asked. NULL: accept. When the SYN was
     *  answered with a cookie (tcp_syncookies), this comes with the third segment of the handshake: then
     *  timestamps, SACK and window scaling are settled, TENON_REFUSE resets a connection that the peer
     *  takes for open, and with TENON_HOLD the peer's data waits unacknowledged; when the backlog is full of
     *  others that are held, closed() with TENON_EABORTED comes at once, and the peer's next data asks anew. */
    enum tenon_verdict (*incoming)(struct tenon_tcp *conn, void *app);

    /** The connection is ESTABLISHED. With TENON_TCP_FASTOPEN on a listener, this and received() may come earlier, in
     *  SYN-RECEIVED: the peer has shown that it has been here before, and data may be sent, but the handshake is not
     *  over, and closed() may follow because it never ends. */
    void (*opened)(struct tenon_tcp *conn, void *app);

    /** Data in order. The spans may be read during the call; who keeps one takes a reference on its
     *  buffer, for as long as it likes. The receive window stays smaller by these bytes until
     *  tenon_tcp_consumed() is told of them. NULL: data is consumed and thrown away. */
    void (*received)(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n);

    /** The peer has acknowledged `bytes` more of what was sent; there is room in the queue again, and
     *  the core has given up its references on them. */
    void (*acked)(struct tenon_tcp *conn, void *app, tenon_u32 bytes);

    /** The peer has finished sending (its FIN, in order). NULL: tenon_tcp_finish() is called. */
    void (*finished)(struct tenon_tcp *conn, void *app);

    /** The last event; `conn` is gone when it returns. `why`: TENON_OK when both sides finished,
     *  otherwise TENON_ERESET, TENON_EREFUSED, TENON_ETIMEOUT, TENON_EABORTED, TENON_EUNREACH.
     *  Not called for a request that incoming() refused or ignored. */
    void (*closed)(struct tenon_tcp *conn, void *app, int why);

    /** The urgent pointer has come or moved (RFC 9293 3.8.5): `ahead` bytes from the next one to be
     *  received to the end of urgent data. The data itself arrives in line (RFC 6093). */
    void (*urgent)(struct tenon_tcp *conn, void *app, tenon_u32 ahead);

    /** Something that may pass: an ICMP error (TENON_EUNREACH, TENON_EPROTO, ...), or R1
     *  retransmissions without an answer (TENON_ETIMEOUT); RFC 9293 3.9.1.8. */
    void (*soft_error)(struct tenon_tcp *conn, void *app, int error);
};

/* ---- opening --------------------------------------------------------------------------------- */

/** Listen on an address and port (RFC 9293 3.9.1.1, passive OPEN).
 *  @param at       any address: every address of both IP versions. Port 0: a free one
 *  @param events   for the listener's connections; kept: must outlive them
 *  @param app      for the first event of each; tenon_tcp_handler() changes it
 *  @param backlog  connections that are not established yet; 0: default 128. One source may have half of
 *                  them. When they are too many, SYN cookies take over (tcp_syncookies); without those the
 *                  oldest ends (closed() with TENON_EABORTED if incoming() was asked), but for held ones.
 *                  Where not these but tcp_conns_max are too few (and TENON_WITH_MANY is on), the oldest of
 *                  the listener ends that has most of them, once it has not answered for a second
 *  @return TENON_OK, TENON_EINVAL, TENON_EINUSE, TENON_ENOADDR, TENON_ENOMEM */
TENON_API int tenon_tcp_listen(struct tenon *stack, struct tenon_tcp_listener **out, const struct tenon_addr *at,
                               const struct tenon_tcp_events *events, void *app, unsigned backlog);

/** Listen no more. Connections that are not established yet are reset, the others stay. */
TENON_API void tenon_tcp_listener_close(struct tenon_tcp_listener *listener);

/** The address that a listener has got. */
TENON_API void tenon_tcp_listener_local(const struct tenon_tcp_listener *listener, struct tenon_addr *local);

/** Open a connection (RFC 9293 3.9.1.1, active OPEN). Its SYN leaves with the next tenon_poll(), or at
 *  the end of tenon_input(). Where tcp_conns_max are too few one that was closed, and whose peer has not been heard of
 *  for 100 seconds, ends, by closed() with TENON_ETIMEOUT.
 *  @param from    local address and port; NULL, or any and port 0: chosen (RFC 6724, RFC 6056 3.3.4)
 *  @param to      peer; netif set for a link-local address
 *  @param events  kept: must outlive the connection
 *  @return TENON_OK, TENON_EINVAL (an address that no connection can have), TENON_ENOADDR (`from` is not ours, or
 *          a link-local address, and the way leads to a router or over another link),
 *          TENON_EINUSE (that pair of addresses and ports exists, or no port is free), TENON_EUNREACH,
 *          TENON_ENOMEM, TENON_ELIMIT */
TENON_API int tenon_tcp_connect(struct tenon *stack, struct tenon_tcp **out, const struct tenon_addr *from,
                                const struct tenon_addr *to, const struct tenon_tcp_events *events, void *app);

/** As tenon_tcp_connect(), from a local address that need not be ours (RFC 9293 knows nothing of it;
 *  a transparent proxy needs it). `from` with address and port. The host must see to it that the
 *  answers reach this instance. */
TENON_API int tenon_tcp_connect_foreign(struct tenon *stack, struct tenon_tcp **out, const struct tenon_addr *from,
                                        const struct tenon_addr *to, const struct tenon_tcp_events *events,
                                        void *app);

/** End a TENON_HOLD. Accepting sends the SYN-ACK.
 *  @param verdict  TENON_ACCEPT, TENON_REFUSE or TENON_IGNORE; but for the first, `conn` is gone when
 *                  this returns, without closed()
 *  @return TENON_OK, or TENON_EINVAL: the connection is not held */
TENON_API int tenon_tcp_decide(struct tenon_tcp *conn, enum tenon_verdict verdict);

/** Exchange the handlers, e.g. for a connection that a listener brought.
 *  @param events  kept: must outlive the connection */
TENON_API void tenon_tcp_handler(struct tenon_tcp *conn, const struct tenon_tcp_events *events, void *app);

/** The pointer that belongs to its handlers, and the instance that it belongs to. */
TENON_API void *tenon_tcp_app(const struct tenon_tcp *conn);
TENON_API struct tenon *tenon_tcp_stack(const struct tenon_tcp *conn);

/* ---- sending --------------------------------------------------------------------------------- */

/** Queue a span for sending, without a copy (RFC 9293 3.9.1.2, SEND). Takes a reference on its buffer,
 *  given up when the peer has acknowledged the bytes; they must not change until then. (Spans of
 *  fewer than tenon_conf.tcp_copy_max bytes are copied instead where that is cheaper.) Nothing
 *  leaves before the next tenon_poll(), or the end of tenon_input().
 *  @return TENON_OK        all of it is queued
 *          TENON_EAGAIN    the queue is full: nothing was taken; acked() tells when there is room. For more than
 *                          TENON_TCP_SND_BUF at once there never is
 *          TENON_ECLOSED   tenon_tcp_finish() was called, or the connection is closed
 *          TENON_ENOMEM    nothing was taken
 *          TENON_EINVAL    the connection is held (TENON_HOLD) */
TENON_API int tenon_tcp_send(struct tenon_tcp *conn, const struct tenon_span *span);

/** Queue bytes for sending, copied into packet buffers of the host; small pieces are put together.
 *  @return how many bytes it took (0 to n), or TENON_ECLOSED, TENON_ENOMEM (nothing was taken),
 *          TENON_EINVAL; n at most 0x7FFFFFFF */
TENON_API tenon_i32 tenon_tcp_write(struct tenon_tcp *conn, const void *bytes, tenon_u32 n);

/** Bytes that can be queued now. */
TENON_API tenon_u32 tenon_tcp_room(const struct tenon_tcp *conn);

/** Mark what was queued last as urgent (RFC 9293 3.8.5; new programs should not, RFC 6093 5).
 *  @return TENON_OK, TENON_ECLOSED, TENON_EINVAL (held, or without TENON_WITH_URGENT) */
TENON_API int tenon_tcp_urgent(struct tenon_tcp *conn);

/** We have finished sending: a FIN follows what is queued (RFC 9293 3.9.1.4, CLOSE). Receiving goes
 *  on until the peer finishes too. Of a connection that we open, and for which nothing is queued, this is the end as
 *  long as the peer has not answered (RFC 9293 3.10.4): closed(), with TENON_OK, is called before this returns.
 *  @return TENON_OK, or TENON_ECLOSED if it was called before */
TENON_API int tenon_tcp_finish(struct tenon_tcp *conn);

/** Finish, and do not want to receive any more: data that comes now is answered with a reset
 *  (RFC 9293 3.6.1), as is what has come early and could be delivered now, and FIN-WAIT-2 ends after a
 *  minute, as does waiting for tenon_tcp_ack() and tenon_tcp_ack_fin(). The events but received() go on
 *  to closed(). When received data has not been consumed this resets at once, as the RFC says: it is tenon_tcp_abort().
 *
 *  What is left to be sent is the core's now: such connections are limited by tcp_orphans_max and
 *  tcp_orphan_ms. At the first the oldest is reset; its closed(), with TENON_ETIMEOUT, is called before
 *  this returns. */
TENON_API void tenon_tcp_close(struct tenon_tcp *conn);

/** End the connection at once, with a reset to the peer (RFC 9293 3.9.1.5, ABORT). closed() is called
 *  before this returns, with TENON_EABORTED. */
TENON_API void tenon_tcp_abort(struct tenon_tcp *conn);

/* ---- receiving ------------------------------------------------------------------------------- */

/** The application has done with `bytes` of what it received: the window opens again. */
TENON_API void tenon_tcp_consumed(struct tenon_tcp *conn, tenon_u32 bytes);

/** With TENON_TCP_ACK_BY_HAND: acknowledge `bytes` more of what was received. When both sides have
 *  finished and this was the last that was missing, closed() is called before this returns. */
TENON_API void tenon_tcp_ack(struct tenon_tcp *conn, tenon_u32 bytes);

/** With TENON_TCP_HOLD_FIN: acknowledge the peer's FIN, which finished() has reported. When that was the
 *  last that was missing, closed() is called before this returns.
 *  @return TENON_OK, or TENON_EINVAL: no FIN is held */
TENON_API int tenon_tcp_ack_fin(struct tenon_tcp *conn);

/* ---- options and knowledge ------------------------------------------------------------------- */

/** Options of a connection, or of a listener for the connections that it will bring. */
enum tenon_tcp_option {
    TENON_TCP_NODELAY,           /**< 1: without Nagle's algorithm (RFC 9293 3.7.4); default 0 */
    TENON_TCP_CORK,              /**< 1: only full segments leave, and what has waited for an RTO with nothing in flight
                                      (RFC 9293 3.8.6.2.1 rule 4: 200 ms at least, by default); default 0 */
    TENON_TCP_NO_DELAYED_ACK,    /**< 1: acknowledge every burst at once; default 0 */
    TENON_TCP_ACK_BY_HAND,       /**< 1: received data is acknowledged by tenon_tcp_ack() only; default 0. Set to 0
                                      again, all that is held is acknowledged, as if by tenon_tcp_ack() */
    TENON_TCP_HOLD_FIN,          /**< 1: the peer's FIN is acknowledged by tenon_tcp_ack_fin() only; default 0. Set to 0
                                      again, one that is held is acknowledged, as if by tenon_tcp_ack_fin() */
    TENON_TCP_TRANSPARENT,       /**< listener: 1: for addresses that are not ours too; default 0 */
    TENON_TCP_KEEPALIVE_IDLE_S,  /**< seconds without a segment until the first probe, up to 1000000; 0 (default): no
                                      keep-alive */
    TENON_TCP_KEEPALIVE_INTERVAL_S,  /**< seconds between probes, 1 to 10000; default 75 */
    TENON_TCP_KEEPALIVE_COUNT,   /**< unanswered probes that end the connection, 1 to 255; default 9 */
    TENON_TCP_R2_MS,             /**< milliseconds without an acknowledgement that end the connection (RFC 9293 3.8.3);
                                      0: never; default 800000, for a SYN 180000. A closed window that is answered for
                                      does not count. Where there are orphans (TENON_WITH_ORPHANS) what has never left,
                                      because there is no route, link, buffer or address of ours, waits for as long as
                                      that lasts; after tenon_tcp_close() it counts */
    TENON_TCP_RCV_BUF,           /**< bytes; the largest receive window; after the SYN at least two units of the scale
                                      that it said */
    TENON_TCP_SND_BUF,           /**< bytes that may be queued or in flight */
    TENON_TCP_MSS_MAX,           /**< largest segment that is sent and offered; 0: by MTU */
    TENON_TCP_TTL,               /**< TTL or hop limit; default: the instance's, over IPv6 that of a router if one
                                      says it */
    TENON_TCP_TOS,               /**< DSCP in the upper six bits, as in the header; the ECN bits are the core's */
    TENON_TCP_TIMESTAMPS,        /**< 0: do not offer or accept timestamps; before opening; default 1 */
    TENON_TCP_SACK,              /**< 0: do not offer or accept SACK; before opening; default 1 */
    TENON_TCP_WINDOW_SCALING,    /**< 0: do not offer or accept window scaling; before opening; default 1 */
    TENON_TCP_ECN,               /**< RFC 3168: 0: never; 1: ask for it; 2 (default): if the peer asks; before
                                      opening */
    TENON_TCP_PACING,            /**< 1 (default): what is sent is spread over the round trip; congestion controls
                                      that need it do it in any case */
    TENON_TCP_MSL_MS,            /**< half of its TIME-WAIT; default: the instance's */
    TENON_TCP_PERSIST_MS,        /**< milliseconds that a closed window of the peer may last until the connection is
                                      reset (RFC 6429 4), whatever the peer says meanwhile; 0 (default): for ever.
                                      After tenon_tcp_close() tcp_orphan_ms counts too */
    TENON_TCP_MTU_PROBING,       /**< RFC 4821, where routers do not say what fits: 0: never; 1 (default): when full
                                      segments seem to vanish; 2: always, beginning with 1024 bytes; before opening.
                                      What is found out holds for everything that is sent there. Without
                                      TENON_WITH_PROBES never */
    TENON_TCP_FASTOPEN,          /**< RFC 7413: 1: the SYN may carry data; before opening; default 0, because such data
                                      may be delivered twice: only for requests that do no harm when they are
                                      repeated. What is queued before the SYN leaves goes with it if the peer's
                                      cookie is known; if not, the SYN asks for one. Listener: take such data, unless
                                      it is acknowledged by hand */
    TENON_TCP_OPTION_COUNT
};

/** @return TENON_OK, TENON_EINVAL (no such option, a value that it cannot have, or too late for one that is to be set
 *          before opening), TENON_ENOMEM */
TENON_API int tenon_tcp_set(struct tenon_tcp *conn, enum tenon_tcp_option option, tenon_u32 value);
TENON_API int tenon_tcp_listener_set(struct tenon_tcp_listener *listener, enum tenon_tcp_option option,
                                     tenon_u32 value);

/** Value of an option; 0 for one that does not exist. */
TENON_API tenon_u32 tenon_tcp_get(const struct tenon_tcp *conn, enum tenon_tcp_option option);

/** Change the congestion control; at any time.
 *  @param cc  a table that outlives the connection; tenon_cc_find() knows those of the core
 *  @return TENON_OK, or TENON_ENOMEM: no memory for its words; the one before stays */
TENON_API int tenon_tcp_set_cc(struct tenon_tcp *conn, const struct tenon_cc_ops *cc);

/** Why a connection does not send more at the moment. It always waits for exactly one thing: sending takes no time. */
enum tenon_tcp_wait {
    TENON_TCP_WAIT_HANDSHAKE,    /**< it is not established yet, or held (TENON_HOLD) */
    TENON_TCP_WAIT_DATA,         /**< there is nothing to send: all that the application gave has left */
    TENON_TCP_WAIT_WINDOW,       /**< the peer's receive window is closed, or too small for a full segment
                                      (RFC 9293 3.8.6.2.1) */
    TENON_TCP_WAIT_CWND,         /**< the congestion window is used up; of data or of retransmissions */
    TENON_TCP_WAIT_PACING,       /**< the next packet has its time */
    TENON_TCP_WAIT_NAGLE,        /**< what is left is not a full segment: Nagle's algorithm, or TENON_TCP_CORK */
    TENON_TCP_WAIT_PORT,         /**< the port takes no more frames */
    TENON_TCP_WAIT_HOST,         /**< there is no route to the peer, or no memory */
    TENON_TCP_WAIT_COUNT
};

/** Name of it: "handshake", "data", "window", "cwnd", "pacing", "nagle", "port", "host"; "?" for a number that is
 *  none. */
TENON_API const char *tenon_tcp_wait_name(enum tenon_tcp_wait wait);

/** How a connection stands. Times in microseconds, sizes in bytes. */
struct tenon_tcp_info {
    enum tenon_tcp_state state;
    tenon_u32 id;                        /**< number of the connection in its instance */
    struct tenon_addr local, remote;
    const char *cc;                      /**< name of the congestion control */
    tenon_u32 srtt_us, rttvar_us, rto_us, min_rtt_us;
    tenon_u32 cwnd, ssthresh;            /**< ssthresh 0xFFFFFFFF: not set yet */
    tenon_u32 in_flight;                 /**< sent and not acknowledged, less what is SACKed or lost */
    tenon_u32 snd_queued;                /**< queued or in flight */
    tenon_u32 snd_unsent;                /**< queued and never sent */
    tenon_u32 snd_wnd, rcv_wnd;
    tenon_u32 rcv_unconsumed;            /**< received, and tenon_tcp_consumed() not told */
    tenon_u32 rcv_ooo;                   /**< held out of order */
    tenon_u32 retransmits, rtos;
    tenon_u32 since_rcv_ms;              /**< milliseconds, up to the last call of tenon_input() or tenon_poll(),
                                              since any acceptable segment came */
    tenon_u32 since_text_ms;             /**< ... since data came that could be delivered, or the connection began */
    tenon_u32 since_acked_ms;            /**< ... since the peer acknowledged something new, or data began to wait for
                                              that. With these a program ends those who are too slow for it */
    tenon_u16 mss;                       /**< payload bytes of a full segment */
    tenon_u8 snd_wscale, rcv_wscale;
    tenon_u8 timestamps, sack;           /**< 1: both sides use them */
    tenon_u8 in_recovery;                /**< 1: fast recovery */
    enum tenon_tcp_wait waits_for;       /**< why it does not send now */
    /** For how long it has waited for each in total, in milliseconds and the microseconds that are left over. Together
     *  they are the time from the beginning of the connection to the last call of tenon_input() or tenon_poll(),
     *  exactly. A total wraps after 49 days. */
    tenon_u32 waited_ms[TENON_TCP_WAIT_COUNT];
    tenon_u16 waited_us[TENON_TCP_WAIT_COUNT];    /**< 0 to 999 */
};
TENON_API void tenon_tcp_status(const struct tenon_tcp *conn, struct tenon_tcp_info *info);

/** Its state, which is part of tenon_tcp_status() too. */
TENON_API enum tenon_tcp_state tenon_tcp_state(const struct tenon_tcp *conn);

/** Payload bytes of a full segment, which are part of it too. */
TENON_API unsigned tenon_tcp_mss(const struct tenon_tcp *conn);

/** Name of a state as in RFC 9293 ("ESTABLISHED"); "?" for a number that is none. */
TENON_API const char *tenon_tcp_state_name(enum tenon_tcp_state state);

/** Call `each` for every connection (not for TIME-WAIT records). `each` must not open or close any. */
TENON_API void tenon_tcp_each(struct tenon *stack, void (*each)(struct tenon_tcp *conn, void *arg), void *arg);

/** Number of TIME-WAIT records. */
TENON_API tenon_u32 tenon_tcp_time_waits(const struct tenon *stack);

/** Walk all invariants of a connection (tests, fuzzing, the simulator). Only in a build with
 *  TENON_ASSERT_LEVEL 2; in others there is nothing to call, and this returns NULL.
 *  @return NULL when all hold, else the text of the first that does not (a static string) */
TENON_API const char *tenon_tcp_check(const struct tenon_tcp *conn);

/* ---- congestion control ---------------------------------------------------------------------- */

/** Words of private state that every congestion control has in each connection. */
enum { TENON_CC_WORDS = 8, TENON_CC_ALPHA_WORD = 1, TENON_CC_PHASE_WORD = 7 };

/** Rates are bytes per 65536 us: 32 bits then reach from 122 bit/s to 524 Gbit/s, and a rate times a time
 *  in microseconds, shifted down by 16, is a number of bytes. 0xFFFFFFFF: as fast as it goes. */
typedef tenon_u32 tenon_rate;

/** What a congestion control may see and set. Bytes and microseconds. */
struct tenon_cc {
    const struct tenon_cc_ops *ops;
    tenon_u32 *words;                      /**< private: TENON_CC_WORDS, and ops->more_words behind them; 0 before
                                                init(). The core's, as long as the table is this one. Without
                                                more_words they are lost when the connection has been idle and others
                                                need the memory more (tcp_resting_max): before it is called for
                                                anything else, init() is called again then, with words of 0 */
    tenon_u32 cwnd;                        /**< congestion window; never below one mss */
    tenon_u32 ssthresh;                    /**< 0xFFFFFFFF: not set yet */
    tenon_rate pacing; /**< set by a control with TENON_CC_PACES, by the core for others; 0: not set */
};

/** How fast data was delivered: draft-ietf-ccwg-bbr 4.1. Valid where `interval_us` is not 0. */
struct tenon_rate_sample {
    tenon_rate rate;
    tenon_u32 delivered;          /**< bytes delivered over the interval */
    tenon_u32 interval_us;        /**< 0: there is no sample */
    tenon_u32 prior_delivered;    /**< total_delivered when the newest packet that was acknowledged left */
    tenon_u32 tx_in_flight;       /**< bytes in the network just after it left */
    tenon_u32 lost;               /**< bytes marked lost since it left */
    tenon_u8 app_limited;         /**< 1: the application had nothing more to send when it left */
};

/** What happened, as far as it matters to a congestion control. */
struct tenon_cc_event {
    tenon_u16 mss;
    tenon_u8 limited;             /**< 1: the window was not used up (RFC 7661): do not grow */
    tenon_u8 app_limited;         /**< 1: the application has nothing more to send now */
    tenon_u8 repeated;            /**< rto(): 1 for the second and later expiry of the same segment */
    tenon_u8 sack;                /**< 1: the connection uses SACK */
    tenon_u8 paced;               /**< 1: what is sent is spread over the round trip */
    tenon_u8 in_recovery;         /**< 1: fast recovery; 2: after a timeout */
    tenon_u32 now_us;
    tenon_u32 acked;              /**< newly acknowledged bytes, cumulatively */
    tenon_u32 delivered;          /**< newly acknowledged or SACKed bytes */
    tenon_u32 lost;               /**< bytes marked lost by this event */
    tenon_u32 ce;                 /**< of `acked`, as many as the peer says met congestion (ECE) */
    tenon_u32 in_flight;          /**< FlightSize (RFC 5681 2) before this event */
    tenon_u32 pipe;               /**< bytes in the network now: neither SACKed nor lost */
    tenon_u32 srtt_us;            /**< 0: no sample yet */
    tenon_u32 min_rtt_us;         /**< 0xFFFFFFFF: no sample yet */
    tenon_u32 rtt_us;             /**< this event's sample; 0: none */
    tenon_u32 snd_una, snd_nxt;   /**< after the event: to count round trips */
    tenon_u32 total_delivered;    /**< modulo 2^32; over the whole connection with more_words, else since init() */
    tenon_u32 total_lost;
    struct tenon_rate_sample sample;
    tenon_u32 random;             /**< for those who need chance; no secret. With more_words, else 0 */
};

/** What a congestion control wants of the core. */
enum tenon_cc_flag {
    TENON_CC_PACES = 1,           /**< it sets `pacing` itself; its sending is always paced */
    TENON_CC_OWN_RECOVERY = 2,    /**< it sets `cwnd` in recovery too; others are run by PRR (RFC 9937) there.
                                       words[TENON_CC_PHASE_WORD] is its enum tenon_trace_phase, for the trace */
    TENON_CC_DCTCP = 4,           /**< ECN as RFC 8257 3: exact echo of CE, `ce` in events, ecn() not called.
                                       words[TENON_CC_ALPHA_WORD] is alpha, 65536 is all, for the trace */
    TENON_CC_HYSTART = 8          /**< words[TENON_CC_PHASE_WORD] is the enum tenon_trace_phase, for the trace, as long
                                       as `ssthresh` is not set */
};

/** A congestion control: a table of functions, chosen by name, per connection, at any time. It decides
 *  on cwnd and ssthresh; what is lost and what is sent is decided elsewhere. Those that may be NULL say so. */
struct tenon_cc_ops {
    const char *name;
    /** Before everything else; with a cwnd that is not 0 also after a change of table, and when `words` were lost: then
     *  the window is to be kept. */
    void (*init)(struct tenon_cc *cc, const struct tenon_cc_event *event);
    void (*acked)(struct tenon_cc *cc,
                  const struct tenon_cc_event *event); /**< new data acknowledged, outside of fast recovery; ACKs of the
                                                            same millisecond may come together while the window is
                                                            not used up */
    void (*lost)(struct tenon_cc *cc,
                 const struct tenon_cc_event *event); /**< fast recovery begins: sets ssthresh. Not where a mark of the
                                                           same window of data has had its answer (RFC 3168 6.1.2),
                                                           unless it has TENON_CC_OWN_RECOVERY or TENON_CC_DCTCP */
    void (*recovered)(struct tenon_cc *cc, const struct tenon_cc_event *event);    /**< fast recovery is over */
    void (*rto)(struct tenon_cc *cc, const struct tenon_cc_event *event);      /**< the retransmission timer went off */
    void (*idle)(struct tenon_cc *cc,
                 const struct tenon_cc_event *event); /**< sending begins again after an RTO of silence */
    unsigned flags;         /**< enum tenon_cc_flag */
    unsigned more_words;    /**< how many words it has besides TENON_CC_WORDS; not 0: they all last as long as the
                                 connection */

    /** Every ACK that delivers something or marks something lost, in all phases, after the others. May be NULL. */
    void (*delivered)(struct tenon_cc *cc, const struct tenon_cc_event *event);
    /** A stretch of `event->lost` bytes is lost; `event->sample` holds tx_in_flight and lost of its sending.
     * May be NULL. */
    void (*lost_bytes)(struct tenon_cc *cc, const struct tenon_cc_event *event);
    /** Data is about to leave and nothing was in flight. May be NULL. */
    void (*restart)(struct tenon_cc *cc, const struct tenon_cc_event *event);
    /** The peer echoes congestion (RFC 3168 6.1.2), once per window of data: sets cwnd and ssthresh. NULL: as
     *  lost() and recovered() together. */
    void (*ecn)(struct tenon_cc *cc, const struct tenon_cc_event *event);
    /** The last lost() or rto() was a mistake. The core has put `cwnd`, `ssthresh` and `words` back to what they
     *  were before, the first TENON_CC_WORDS of them; the table mends the others. May be NULL. */
    void (*undo)(struct tenon_cc *cc, const struct tenon_cc_event *event);
};

/** RFC 5681, RFC 6582, RFC 6928. */
TENON_API extern const struct tenon_cc_ops tenon_cc_newreno;

/** CUBIC (RFC 9438) with HyStart++ (RFC 9406) in its first slow start. */
TENON_API extern const struct tenon_cc_ops tenon_cc_cubic;

/** HighSpeed TCP (RFC 3649), with HyStart++ (RFC 9406) instead of limited slow start. */
TENON_API extern const struct tenon_cc_ops tenon_cc_highspeed;

/** BBR version 3 (draft-ietf-ccwg-bbr). Needs SACK to be at its best. */
TENON_API extern const struct tenon_cc_ops tenon_cc_bbr;

/** Data Center TCP (RFC 8257): for networks whose queues mark early, and only there. */
TENON_API extern const struct tenon_cc_ops tenon_cc_dctcp;

/** The core's congestion control of that name ("newreno", "cubic", "highspeed", "bbr", "dctcp"), or NULL. */
TENON_API const struct tenon_cc_ops *tenon_cc_find(const char *name);

TENON_END_DECLS

#endif
