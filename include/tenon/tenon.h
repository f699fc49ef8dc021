/* SPDX-License-Identifier: MIT */
/** @file
 *  Everything of Tenon's interface. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <tenon/buf.h>
#include <tenon/config.h>
#include <tenon/flow.h>
#include <tenon/host.h>
#include <tenon/icmp.h>
#include <tenon/stack.h>
#include <tenon/stats.h>
#include <tenon/tcp.h>
#include <tenon/trace.h>
#include <tenon/types.h>
#include <tenon/udp.h>

/** Version of this release. */
#define TENON_VERSION "0.1.0"

#endif
