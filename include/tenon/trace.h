/* SPDX-License-Identifier: MIT */
/** @file
 *  The event trace of TCP connections: one small record per event, cheap enough to stay compiled in. */
#ifndef TENON_TRACE_H
#define TENON_TRACE_H

#include <tenon/types.h>

TENON_BEGIN_DECLS

enum tenon_trace_kind {
    TENON_TRACE_STATE,         /**< the state has changed: state, and arg = the one before */
    TENON_TRACE_SENT,          /**< a segment was sent: seq, len, ack, flags; arg = 1: retransmission */
    TENON_TRACE_RECEIVED,      /**< a segment was accepted: seq, len, ack, flags */
    TENON_TRACE_ACKED,         /**< new data was acknowledged: seq = snd_una, len = how much; arg = RTT sample, us */
    TENON_TRACE_SACKED,        /**< a SACK block was accepted: seq, len */
    TENON_TRACE_RECOVERY,      /**< fast recovery: arg = 1 entered, 0 left */
    TENON_TRACE_RTO,           /**< the retransmission timer went off: arg = the RTO, us */
    TENON_TRACE_PROBE,         /**< a zero-window or keep-alive probe was sent */
    TENON_TRACE_DROPPED,       /**< a segment was not accepted: seq, len; arg = enum tenon_stat */
    TENON_TRACE_WAIT           /**< from now on it waits for something else: arg = enum tenon_tcp_wait */
};

/** One event. The fields after `arg` tell how the connection stands after the event. */
struct tenon_trace_event {
    tenon_u32 conn;            /**< number of the connection in its instance */
    tenon_u32 now_us;
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

TENON_END_DECLS

#endif
