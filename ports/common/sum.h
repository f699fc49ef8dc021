/* SPDX-License-Identifier: MIT */
/** @file
 *  Checksums that Tenon leaves to the device (TENON_CSUM_PARTIAL), for a port whose device cannot always make them. */
#ifndef TENON_PORTS_COMMON_SUM_H
#define TENON_PORTS_COMMON_SUM_H

#include <tenon/host.h>

/** @return the two bytes of the field, in the first piece of the frame; of a frame that leaves no sum to the device its
 *          first two, so that they may be kept and put back without a question */
tenon_u8 *port_sum_at(const struct tenon_frame *frame);

/** Make the sum of a frame with TENON_CSUM_PARTIAL, which is no large one, from its pieces (RFC 1071; RFC 768: 0 is
 *  written as 0xFFFF).
 *  @param header  where it goes: the frame's first bytes, or a copy of them */
void port_sum_write(const struct tenon_frame *frame, tenon_u8 *header);

#endif
