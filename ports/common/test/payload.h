/* SPDX-License-Identifier: MIT */
/* Bytes that do not repeat, however many: whatever arrives at another place than its own, of its stream or of another
 * one, is found. Words of 8 bytes are a one-to-one function (the end of splitmix64) of the stream's number and of their
 * own, so no two are alike. */
#ifndef TENON_PORTS_COMMON_TEST_PAYLOAD_H
#define TENON_PORTS_COMMON_TEST_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t payload_word(uint64_t stream, uint64_t number)
{
    uint64_t x = stream << 40 | number;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
    x = (x ^ x >> 27) * 0x94D049BB133111EBU;
    return x ^ x >> 31;
}

/* The `n` bytes of a stream (1 to 2^24) from number `from` on. */
static inline void payload_fill(uint8_t *to, uint64_t stream, uint64_t from, size_t n)
{
    while (n > 0) {
        const uint64_t word = payload_word(stream, from / 8);
        size_t skipped = from % 8, here = 8 - skipped < n ? 8 - skipped : n;

        if (here == 8) {
            memcpy(to, &word, 8);
        } else {
            uint8_t bytes[8];

            memcpy(bytes, &word, 8);
            for (size_t i = 0; i < here; i++)
                to[i] = bytes[skipped + i];
        }
        to += here;
        from += here;
        n -= here;
    }
}

/* @return whether these are they */
static inline int payload_is(const uint8_t *bytes, uint64_t stream, uint64_t from, size_t n)
{
    uint8_t right[2048];

    for (size_t here; n > 0; n -= here) {
        here = n < sizeof right ? n : sizeof right;
        payload_fill(right, stream, from, here);
        if (memcmp(bytes, right, here) != 0)
            return 0;
        bytes += here;
        from += here;
    }
    return 1;
}

#endif
