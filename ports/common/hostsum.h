/* SPDX-License-Identifier: MIT */
/** @file
 *  Internet checksums (RFC 1071) made for the processor that runs the program: one binary, and each machine's own
 *  vectors.
 *
 *      tenon_conf_default(&conf);
 *      conf.checksum = hostsum_best(); */
#ifndef TENON_PORTS_COMMON_HOSTSUM_H
#define TENON_PORTS_COMMON_HOSTSUM_H

#include <tenon/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What tenon_conf.checksum asks for: `bytes` at any address, n of them, 64 and more. */
typedef tenon_u16 hostsum_function(const tenon_u8 *bytes, size_t n);

/** One way to sum. */
struct hostsum_kind {
    const char *name;
    int (*runs)(void);        /**< 1: this processor can */
    hostsum_function *sum;
};

/** All that this build has, the fastest first; ended by one without name. */
extern const struct hostsum_kind hostsum_kinds[];

/** @return the fastest that runs here; NULL: none is better than what Tenon does by itself, which is also what a NULL
 *          means in tenon_conf.checksum. The same each time; any thread */
hostsum_function *hostsum_best(void);

#ifdef __cplusplus
}
#endif

#endif
