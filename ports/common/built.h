/* SPDX-License-Identifier: MIT */
/** @file
 *  All kinds of port that there are in this build. The table is made by cmake/ports.cmake. */
#ifndef TENON_PORTS_COMMON_BUILT_H
#define TENON_PORTS_COMMON_BUILT_H

#include "port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** For port_read(); ended by NULL. */
extern const struct port_type *const ports_built[];

#ifdef __cplusplus
}
#endif

#endif
