/* SPDX-License-Identifier: MIT */
/* Arithmetic that congestion controls share. */
#ifndef TN_TCP_CC_H
#define TN_TCP_CC_H

#include "core.h"

/* No window is larger: RFC 7323 2.3. */
enum { TN_CC_CWND_MAX_SHIFT = 30 };

/* (factor * bytes + *carry) / divisor without a product of 64 bits. *carry gets the rest, so that increments of
 * less than a byte add up. factor and divisor at most 2^30, divisor not 0. */
TENON_INTERNAL tenon_u32 tn_cc_share(tenon_u32 *carry, tenon_u32 factor, tenon_u32 bytes, tenon_u32 divisor);

/* The window opens by so many bytes. */
TENON_INTERNAL void tn_cc_grow(struct tenon_cc *cc, tenon_u32 bytes);

#endif
