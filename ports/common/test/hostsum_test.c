/* SPDX-License-Identifier: MIT */
/* Sums made for this processor against the definition: each kind that runs here. */
#include "../../../tests/unit/unit.h"
#include "../hostsum.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SHORTEST = 64, LINE = 64, LARGE = 200000 };

static tenon_u8 room[LARGE + 2 * LINE] __attribute__((aligned(64)));
static unsigned kinds;

/* RFC 1071 1: 16-bit words, most significant byte first, the carry added back in; from a sum so far. */
static tenon_u32 plain_more(tenon_u32 sum, const tenon_u8 *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        sum += i % 2 == 0 ? (tenon_u32)p[i] << 8 : p[i];
        if (sum > 0xFFFF)
            sum -= 0xFFFF;
    }
    return sum;
}

static void fill(unsigned long seed)
{
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = (tenon_u8)(unit_random(&seed) >> 11 & 0xFF);
}

/* The next kind that this processor has, or NULL. */
static const struct hostsum_kind *next_kind(const struct hostsum_kind *kind)
{
    kind = kind == NULL ? hostsum_kinds : kind + 1;
    while (kind->name != NULL && !kind->runs())
        kind++;
    unit_row(kind->name);
    return kind->name == NULL ? NULL : kind;
}

UNIT_TEST(every_length_at_every_alignment)
{
    fill(1);
    for (const struct hostsum_kind *kind = NULL; (kind = next_kind(kind)) != NULL; kinds++) {
        for (size_t at = 0; at <= LINE; at++) {
            tenon_u32 sum = plain_more(0, room + at, 0, SHORTEST);

            for (size_t n = SHORTEST; n <= 2000; n++) {
                if (!CHECK_EQ_U(kind->sum(room + at, n), sum))
                    return;
                sum = plain_more(sum, room + at, n, n + 1);
            }
        }
    }
}

/* 65536 and its neighbours are where a sum of 32 bits may be full. */
UNIT_TEST(large)
{
    static const size_t sizes[] = { 4096, 8960, 65535, 65536, 65537, 65599, 65600, 65601, 65664, 131071, 131072, 131073,
        131135, 131137, 199999, LARGE };

    fill(2);
    for (const struct hostsum_kind *kind = NULL; (kind = next_kind(kind)) != NULL;)
        for (unsigned i = 0; i < TENON_ARRAY_LEN(sizes); i++)
            for (size_t at = 0; at < LINE; at += i % 2 ? 13 : 1)
                CHECK_EQ_U(kind->sum(room + at, sizes[i]), plain_more(0, room + at, 0, sizes[i]));
}

/* As many carries as there can be, in every word, in the lower and in the upper ones; and none. */
UNIT_TEST(extreme_bytes)
{
    static const tenon_u8 values[][4] = {
        { 0, 0, 0, 0 }, { 255, 255, 255, 255 }, { 255, 255, 0, 0 }, { 0, 0, 255, 255 }, { 255, 0, 255, 0 },
        { 0, 255, 0, 255 }, { 0, 0, 0, 128 }, { 128, 0, 0, 0 }, { 0, 1, 0, 0 }, { 255, 255, 255, 254 } };

    for (const struct hostsum_kind *kind = NULL; (kind = next_kind(kind)) != NULL;)
        for (unsigned v = 0; v < TENON_ARRAY_LEN(values); v++) {
            for (size_t i = 0; i < sizeof room; i++)
                room[i] = values[v][i % 4];
            for (size_t at = 0; at < 5; at++)
                for (size_t n = SHORTEST; n < LARGE; n += n < 300 ? 1 : n < 60000 ? 8191 : n < 66000 ? 61 : 33333)
                    CHECK_EQ_U(kind->sum(room + at, n), plain_more(0, room + at, 0, n));
        }
}

/* 0 is the sum of nothing but zeros, and of nothing else: RFC 768's "no checksum" never arises. */
UNIT_TEST(zero_only_of_zeros)
{
    for (const struct hostsum_kind *kind = NULL; (kind = next_kind(kind)) != NULL;) {
        memset(room, 0, sizeof room);
        CHECK_EQ_U(kind->sum(room, 1448), 0);
        for (size_t i = 0; i < 1448; i += 2) {
            room[i] = room[i + 1] = 255;
            CHECK_EQ_U(kind->sum(room, 1448), 0xFFFF);
            room[i] = room[i + 1] = 0;
        }
    }
}

/* What lies around counts for nothing, and need not be there: all that is before or behind is another's, or
 * no memory. */
UNIT_TEST(nothing_around_is_read)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    tenon_u8 *map = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tenon_u8 *first = map + page, *end = map + 2 * page;

    if (!CHECK(map != MAP_FAILED))
        return;
    fill(3);
    memcpy(first, room, page);
    CHECK(mprotect(map, page, PROT_NONE) == 0 && mprotect(end, page, PROT_NONE) == 0);
    for (const struct hostsum_kind *kind = NULL; (kind = next_kind(kind)) != NULL;)
        for (size_t n = SHORTEST; n < SHORTEST + 4 * LINE; n++) {
            CHECK_EQ_U(kind->sum(first, n), plain_more(0, first, 0, n));
            CHECK_EQ_U(kind->sum(end - n, n), plain_more(0, end - n, 0, n));
        }
    munmap(map, 3 * page);
    for (const struct hostsum_kind *kind = NULL; (kind = next_kind(kind)) != NULL;)
        for (size_t at = LINE; at < 2 * LINE; at++)
            for (size_t n = SHORTEST; n < SHORTEST + 4 * LINE; n += 3) {
                const tenon_u32 sum = plain_more(0, room + at, 0, n);

                room[at - 1] ^= 255;
                room[at + n] ^= 255;
                CHECK_EQ_U(kind->sum(room + at, n), sum);
            }
}

UNIT_TEST(best_is_the_first_that_runs)
{
    const struct hostsum_kind *first = next_kind(NULL);

    CHECK(hostsum_best() == (first == NULL ? NULL : first->sum));
}

int main(void)
{
    UNIT_RUN(every_length_at_every_alignment);
    UNIT_RUN(large);
    UNIT_RUN(extreme_bytes);
    UNIT_RUN(zero_only_of_zeros);
    UNIT_RUN(nothing_around_is_read);
    UNIT_RUN(best_is_the_first_that_runs);
    printf("%u kinds of sum run here\n", kinds);
    return unit_end();
}
