/* SPDX-License-Identifier: MIT */
/** @file
 *  A port without a device: the one that docs/porting.md begins with. */
#ifndef TENON_PORTS_NULL_NULL_H
#define TENON_PORTS_NULL_NULL_H

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `null:NAME`: a mirror. Every packet comes back, from whom it was sent to; the name means nothing. */
extern const struct port_type null_port_type;

#ifdef __cplusplus
}
#endif

#endif
