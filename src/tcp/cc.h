/* SPDX-License-Identifier: MIT */
/* Arithmetic that congestion controls share. */
#ifndef TN_TCP_CC_H
#define TN_TCP_CC_H

#include "core.h"

TENON_BEGIN_DECLS

/* No window is larger: RFC 7323 2.3. */
enum { TN_CC_CWND_MAX_SHIFT = 30 };

/* (factor * bytes + *carry) / divisor without a product of 64 bits. *carry gets the rest, so that increments of
 * less than a byte add up. factor and divisor at most 2^30, divisor not 0. */
TENON_INTERNAL tenon_u32 tn_cc_share(tenon_u32 *carry, tenon_u32 factor, tenon_u32 bytes, tenon_u32 divisor);

/* The upper 32 bits of a product of 64. */
TENON_INTERNAL tenon_u32 tn_cc_mul_high(tenon_u32 a, tenon_u32 b);

/* value * thousandths / 1000, rounded down; 0xFFFFFFFF where that is too large. 0 < thousandths < 2^22. */
TENON_INTERNAL tenon_u32 tn_cc_scale(tenon_u32 value, tenon_u32 thousandths);

/* What a rate carries in a time, in bytes, rounded down; 0xFFFFFFFF where that is too large. */
TENON_INTERNAL tenon_u32 tn_cc_volume(tenon_rate rate, tenon_u32 us);

/* The rate of so many bytes in a time, rounded down. 0 and more than 2^31 us are taken as 1 and 2^31. */
TENON_INTERNAL tenon_rate tn_cc_rate(tenon_u32 bytes, tenon_u32 us);

/* RFC 6928 2. */
TENON_INTERNAL tenon_u32 tn_cc_initial(tenon_u32 mss);

/* By how much an ACK opens the window in slow start: what it acknowledges, but no more than two segments, so that
 * splitting ACKs gains nothing and a stretched one makes no burst (RFC 3465 2.3); eight where pacing spreads them.
 * While what a timeout took for lost is repaired it is one. */
TENON_INTERNAL tenon_u32 tn_cc_slow_start(const struct tenon_cc_event *event);

/* HyStart++ (cc_hystart.c), which takes all words as long as ssthresh is TN_CC_NO_SSTHRESH. */
TENON_INTERNAL void tn_hystart_begin(struct tenon_cc *cc);
/* An ACK in that time. @return 1: the first slow start is over, ssthresh is set, and the words are free */
TENON_INTERNAL int tn_hystart_acked(struct tenon_cc *cc, const struct tenon_cc_event *event);

/* What a reduction starts from: the flight (RFC 5681 equation 4), because a window that was not used says
 * nothing. While a loss is repaired, the flight holds what has long arrived and can be more than the window,
 * which then counts. */
TENON_INTERNAL tenon_u32 tn_cc_flight(const struct tenon_cc *cc, const struct tenon_cc_event *event);

/* The window opens by so many bytes. */
TENON_INTERNAL void tn_cc_grow(struct tenon_cc *cc, tenon_u32 bytes);

TENON_END_DECLS

#endif
