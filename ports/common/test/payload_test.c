/* SPDX-License-Identifier: MIT */
/* What the tests of ports send: the same wherever one begins, and nothing else is taken for it. */
#include "../../../tests/unit/unit.h"
#include "payload.h"

enum { BYTES = 5000 };

static uint8_t whole[BYTES], part[BYTES];

UNIT_TEST(a_part_is_a_part_of_the_whole)
{
    payload_fill(whole, 3, 1000003, BYTES);
    for (size_t from = 0; from < 20; from++)
        for (size_t n = 0; n < 40; n++) {
            payload_fill(part, 3, 1000003 + from, n);
            CHECK_EQ_I(memcmp(part, whole + from, n), 0);
        }
    CHECK(payload_is(whole + 5, 3, 1000008, BYTES - 5));
}

UNIT_TEST(another_byte_place_or_stream_is_found)
{
    payload_fill(whole, 1, 77, BYTES);
    for (size_t at = 0; at < BYTES; at += 7) {
        whole[at] ^= (uint8_t)(1 << at % 8);
        CHECK(!payload_is(whole, 1, 77, BYTES));
        whole[at] ^= (uint8_t)(1 << at % 8);
    }
    CHECK(payload_is(whole, 1, 77, BYTES));
    CHECK(!payload_is(whole, 2, 77, 8));
    for (uint64_t off = 1; off < (1 << 20); off += off < 100 ? 1 : 997)
        CHECK(!payload_is(whole, 1, 77 + off, 8));
}

/* Of 2 GB of each of two streams, some thousand words. */
UNIT_TEST(nothing_repeats)
{
    enum { WORDS = 4096 };
    static uint64_t words[2 * WORDS];
    unsigned alike = 0;

    for (unsigned i = 0; i < 2 * WORDS; i++)
        words[i] = payload_word(1 + i / WORDS, (uint64_t)(i % WORDS) << 16 | i % WORDS);
    for (unsigned i = 0; i < 2 * WORDS; i++)
        for (unsigned k = 0; k < i; k++)
            alike += words[i] == words[k];
    CHECK_EQ_U(alike, 0);
}

int main(void)
{
    UNIT_RUN(a_part_is_a_part_of_the_whole);
    UNIT_RUN(another_byte_place_or_stream_is_found);
    UNIT_RUN(nothing_repeats);
    return unit_end();
}
