/* SPDX-License-Identifier: MIT */
/** @file
 *  The event trace of TCP connections: one small record per event, cheap enough to stay compiled in. */
#ifndef TENON_TRACE_H
#define TENON_TRACE_H

#include <tenon/types.h>

TENON_BEGIN_DECLS

/** What has happened, and what the fields of struct tenon_trace_event say of it. */
enum tenon_trace_kind {
    TENON_TRACE_STATE, /**< the state has changed: state, and arg = the one before */
    TENON_TRACE_SENT, /**< a segment was sent: seq, len, ack, flags; arg = 1: retransmission */
    TENON_TRACE_RECEIVED, /**< a segment was accepted: seq, len, ack, flags */
    TENON_TRACE_ACKED, /**< [seq, ack), len bytes, was acknowledged, a FIN with it; arg = RTT sample, us */
    TENON_TRACE_SACKED, /**< a SACK block was accepted: seq, len */
    TENON_TRACE_RECOVERY, /**< something is being repaired: arg = enum tenon_trace_recovery */
    TENON_TRACE_RTO, /**< the retransmission timer went off: arg = the RTO, us */
    TENON_TRACE_PROBE, /**< a zero-window or keep-alive probe was sent */
    TENON_TRACE_DROPPED, /**< a segment was not accepted: seq, len; arg = enum tenon_stat */
    TENON_TRACE_WAIT, /**< from now on it waits for something else: arg = enum tenon_tcp_wait */
    TENON_TRACE_LOST, /**< taken for lost: of [seq, ack) so many bytes as len says; arg = enum
                         tenon_trace_rule */
    TENON_TRACE_TLP, /**< a tail loss probe: seq, len; arg = enum tenon_trace_tlp */
    TENON_TRACE_DSACK, /**< the peer says that [seq, ack), len bytes, came twice (RFC 2883) */
    TENON_TRACE_UNDO, /**< the last reduction was a mistake, and is taken back: arg = enum
                         tenon_trace_evidence */
    TENON_TRACE_ECN, /**< the peer has echoed congestion, and the window was reduced: arg = cwnd before */
    TENON_TRACE_IDLE, /**< sending begins again after an RTO of silence: arg = the silence, ms */
    TENON_TRACE_MTU, /**< the path MTU is another: arg = bytes */
    TENON_TRACE_PHASE, /**< the congestion control goes on otherwise: arg = enum tenon_trace_phase */
    TENON_TRACE_ALPHA, /**< DCTCP's share of marked bytes is another: arg = alpha, 65536 is all. It begins there */
    TENON_TRACE_CWV, /**< a window that was not used: len = the window before; arg = enum tenon_trace_cwv */
    TENON_TRACE_SEARCH, /**< search for the path MTU: seq, len; arg = enum tenon_trace_search */
    TENON_TRACE_FASTOPEN /**< Fast Open: len = data in the SYN; arg = enum tenon_trace_fastopen */
};

/** Why something is being repaired. Whatever it was, it has left when the next event of its kind says so. */
enum tenon_trace_recovery {
    TENON_TRACE_RECOVERY_LEFT,
    TENON_TRACE_RECOVERY_FAST,       /**< something was found to be lost: fast recovery */
    TENON_TRACE_RECOVERY_TIMEOUT,
    TENON_TRACE_RECOVERY_MTU         /**< what was sent is too large for the path */
};

/** By which rule something is taken for lost. */
enum tenon_trace_rule {
    TENON_TRACE_RULE_RACK,           /**< what left later has arrived (RFC 8985 6.2) */
    TENON_TRACE_RULE_REORDER,        /**< the same, when the reordering window was over */
    TENON_TRACE_RULE_DUPACKS,        /**< three duplicate ACKs, or a partial one (RFC 6582) */
    TENON_TRACE_RULE_TIMEOUT,        /**< RFC 6298, RFC 8985 6.3 */
    TENON_TRACE_RULE_MTU             /**< the path does not take it */
};

/** What a tail loss probe did (RFC 8985 7). */
enum tenon_trace_tlp {
    TENON_TRACE_TLP_NEW,             /**< new data was sent */
    TENON_TRACE_TLP_AGAIN,           /**< the last segment was sent again */
    TENON_TRACE_TLP_REPAIRED         /**< ... and was needed: it has repaired a loss */
};

/** What shows that nothing had been lost. */
enum tenon_trace_evidence {
    TENON_TRACE_EVIDENCE_TIMESTAMP,  /**< RFC 3522 */
    TENON_TRACE_EVIDENCE_DSACK,      /**< RFC 3708 */
    TENON_TRACE_EVIDENCE_FRTO        /**< RFC 5682 */
};

/** In which phase a congestion control is. */
enum tenon_trace_phase {
    TENON_TRACE_PHASE_NONE,
    TENON_TRACE_PHASE_SLOW_START,
    TENON_TRACE_PHASE_AVOIDANCE,
    TENON_TRACE_PHASE_RECOVERY,
    TENON_TRACE_PHASE_STARTUP,       /**< this and those below are BBR's (draft-ietf-ccwg-bbr 5.1) */
    TENON_TRACE_PHASE_DRAIN,
    TENON_TRACE_PHASE_PROBE_DOWN,
    TENON_TRACE_PHASE_PROBE_CRUISE,
    TENON_TRACE_PHASE_PROBE_REFILL,
    TENON_TRACE_PHASE_PROBE_UP,
    TENON_TRACE_PHASE_PROBE_RTT,
    TENON_TRACE_PHASE_CONSERVATIVE   /**< the delay rose in slow start (RFC 9406 4.2). SLOW_START again: it fell.
                                        AVOIDANCE: five rounds are over, if no event before it tells of congestion */
};

/** What becomes of a window that was not used (RFC 7661). */
enum tenon_trace_cwv {
    TENON_TRACE_CWV_KEPT,            /**< over an RTO of silence, because sending is paced */
    TENON_TRACE_CWV_AGED,            /**< five minutes without use, or several times that: less is kept (4.4.3) */
    TENON_TRACE_CWV_LIMITED          /**< something was lost: it is what was in use that counts (4.4.1) */
};

/** The search for the path MTU (RFC 4821). What it leads to is told by TENON_TRACE_MTU. */
enum tenon_trace_search {
    TENON_TRACE_SEARCH_SENT,         /**< a larger segment has left */
    TENON_TRACE_SEARCH_PASSED,       /**< it has arrived */
    TENON_TRACE_SEARCH_LOST,         /**< it alone was lost: too large */
    TENON_TRACE_SEARCH_UNDECIDED,    /**< others were lost too */
    TENON_TRACE_SEARCH_BLACK_HOLE    /**< nobody answers segments of that size, and nobody reports (7.7) */
};

/** Fast Open (RFC 7413). */
enum tenon_trace_fastopen {
    TENON_TRACE_FASTOPEN_ASKED,      /**< our SYN asks for a cookie */
    TENON_TRACE_FASTOPEN_SENT,       /**< our SYN carries data */
    TENON_TRACE_FASTOPEN_TAKEN,      /**< the peer has taken data of our SYN: len */
    TENON_TRACE_FASTOPEN_REFUSED,    /**< ... none of it */
    TENON_TRACE_FASTOPEN_FAILED,     /**< no answer, or no cookie: the peer is not asked again for a while */
    TENON_TRACE_FASTOPEN_DELIVERED,  /**< data of the peer's SYN was taken */
    TENON_TRACE_FASTOPEN_BAD_COOKIE, /**< ... or not: the cookie is not ours any more */
    TENON_TRACE_FASTOPEN_LIMIT       /**< ... or not: too many such connections wait */
};

/** One event. The fields after `arg` tell how the connection stands after the event. */
struct tenon_trace_event {
    tenon_u32 conn;            /**< number of the connection in its instance */
    tenon_u32 now_us;          /**< of the last tenon_input() or tenon_poll(); before the first it is 0 */
    tenon_u8 kind;             /**< enum tenon_trace_kind */
    tenon_u8 state;            /**< enum tenon_tcp_state */
    tenon_u8 flags;            /**< of the segment, as in its header */
    tenon_u32 seq, ack, len;   /**< of the segment; len counts SYN and FIN, as sequence numbers do */
    tenon_u32 arg;
    tenon_u32 snd_una, snd_nxt, snd_wnd;
    tenon_u32 rcv_nxt, rcv_wnd;
    tenon_u32 cwnd, ssthresh, in_flight;
    tenon_u32 srtt_us, rto_us;
    tenon_u16 mss;
    struct tenon_addr local, remote;
};

/** Name of a kind of event ("sent", ...); NULL for a number that is none. */
TENON_API const char *tenon_trace_name(enum tenon_trace_kind kind);

/** Name of what `arg` says in an event of this kind, for those kinds whose arg is one of the enums above ("rack",
 *  "repaired", "timestamp", ...), a state, or a thing to wait for; NULL for others, and for numbers that are none. */
TENON_API const char *tenon_trace_arg_name(enum tenon_trace_kind kind, tenon_u32 arg);

TENON_END_DECLS

#endif
