/* SPDX-License-Identifier: MIT */
/* A frame that leaves a guest of the wire. */
#ifndef TENON_TEST_EMIT_H
#define TENON_TEST_EMIT_H

#include "ports/wire/wire.h"

enum { EMIT_BYTES_MAX = 1600 };

/* The bytes of a frame, one after the other. @return how many */
uint32_t emit_copy(const struct tenon_frame *frame, tenon_u8 *to);

/* Put n bytes on the wire, which takes a copy; of `like` is what else is said of them (NULL: nothing is). */
void emit_frame(struct wire_host *host, unsigned netif, const struct tenon_frame *like, const tenon_u8 *bytes,
                uint32_t n);

#endif
