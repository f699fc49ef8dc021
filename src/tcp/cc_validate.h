/* SPDX-License-Identifier: MIT */
/* Congestion window validation (RFC 7661): a window that is not used is neither grown nor trusted for ever.
 * It serves every congestion control that keeps a window over silence; one that measures the path itself does
 * not need it.
 *
 * pipeACK is the most that was acknowledged within one round trip, over the last three round trips or the
 * last second. Where it is less than half of the window, the window is not validated: it stays as it is, for
 * five minutes, and a loss is answered from pipeACK. */
#ifndef TN_TCP_CC_VALIDATE_H
#define TN_TCP_CC_VALIDATE_H

#include <tenon/tcp.h>

TENON_BEGIN_DECLS

enum { TN_CWV_SLOTS = 4 };

struct tn_cwv {
    tenon_u32 acked[TN_CWV_SLOTS]; /* the most of a round trip, by thirds of the sampling period; [0] is the
                                      newest */
    tenon_u32 slot_ms;                /* when [0] began */
    tenon_u32 round_us, round_acked;  /* the present round trip */
    tenon_u32 round_cwnd;             /* the window when it began */
    tenon_u32 idle_ms;                /* since when the window is not validated */
    tenon_u32 loss_flight;            /* of a loss in that phase, as long as it is repaired; 0: none is */
    tenon_u8 known;                   /* 0: pipeACK is undefined, and the window validated */
    tenon_u8 is_idle;                 /* idle_ms counts */
};

/* One instant. Milliseconds are for long times: they wrap after 49 days. */
struct tn_cwv_now {
    tenon_u32 us, ms;
    tenon_u32 srtt_us;
};

/* At the begin of a connection, after a timeout, and after a change of the congestion control: nothing is known. */
TENON_INTERNAL void tn_cwv_init(struct tn_cwv *cwv);

/* `bytes` were acknowledged, outside of recovery (4.2); before the window grows.
 * @return 1: a third of the sampling period is over, and tn_cwv_age() should be asked */
TENON_INTERNAL int tn_cwv_acked(struct tn_cwv *cwv, tenon_u32 bytes, tenon_u32 cwnd, const struct tn_cwv_now *now);

/* Whether the window may grow (4.3); to be asked after tn_cwv_acked(). */
TENON_INTERNAL int tn_cwv_is_validated(struct tn_cwv *cwv, tenon_u32 cwnd, const struct tn_cwv_now *now);

/* After five minutes without validation, of silence or of little use, the window shrinks, and after five more again
 * (4.4.3).
 * @param initial  the initial window, below which it does not go
 * @return 1: cc->cwnd and cc->ssthresh have changed */
TENON_INTERNAL int tn_cwv_age(struct tn_cwv *cwv, struct tenon_cc *cc, tenon_u32 initial, const struct tn_cwv_now *now);

/* Before lost() or ecn() of the congestion control is called, with so many bytes in flight (4.4.1).
 * @return the window during recovery is at most this; 0xFFFFFFFF: it was validated, nothing to be heeded */
TENON_INTERNAL tenon_u32 tn_cwv_lost(struct tn_cwv *cwv, tenon_u32 cwnd, tenon_u32 in_flight,
                                     const struct tn_cwv_now *now);

/* Recovery is over; `resent` bytes were sent again in it. Begins anew: pipeACK is undefined.
 * @return the window is at most this, but one segment at least; 0xFFFFFFFF as above */
TENON_INTERNAL tenon_u32 tn_cwv_recovered(struct tn_cwv *cwv, tenon_u32 resent);

TENON_END_DECLS

#endif
