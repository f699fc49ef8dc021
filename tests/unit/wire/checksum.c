/* SPDX-License-Identifier: MIT */
/* The Internet checksum against its definition. */
#include "unit.h"
#include "wire/exact.h"
#include "wire/checksum.h"

/* RFC 1071 1: 16-bit words, most significant byte first, the carry added back in at each step. */
static tenon_u16 plain_sum(const tenon_u8 *p, size_t n)
{
    tenon_u32 sum = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        sum += i % 2 == 0 ? (tenon_u32)p[i] << 8 : p[i];
        if (sum > 0xFFFF)
            sum -= 0xFFFF;
    }
    return (tenon_u16)sum;
}

static void fill(tenon_u8 *p, size_t n, unsigned long *seed)
{
    size_t i;

    for (i = 0; i < n; i++)
        p[i] = (tenon_u8)(unit_random(seed) >> 11 & 0xFF);
}

UNIT_TEST(sum_example_of_rfc1071)
{
    static const tenon_u8 bytes[] = { 0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7 };

    CHECK_EQ_U(tn_csum_sum(bytes, 8), 0xDDF2);
    CHECK_EQ_U(tn_csum_sum(bytes, 0), 0);
    CHECK_EQ_U(tn_csum_sum(bytes, 1), 0);
    CHECK_EQ_U(tn_csum_sum(bytes + 2, 1), 0xF200);    /* 9293-MUST-2: an odd byte is padded with 0 */
}

UNIT_TEST(sum_every_length_and_alignment)
{
    static tenon_u8 room[2600];
    unsigned long seed = 3;
    size_t n, at;

    fill(room, sizeof(room), &seed);
    for (n = 0; n <= 300; n++) {
        for (at = 0; at < 9; at++)
            CHECK_EQ_U(tn_csum_sum(room + at, n), plain_sum(room + at, n));
    }
    for (n = 1000; n <= 2500; n += 7)
        CHECK_EQ_U(tn_csum_sum(room + n % 5, n), plain_sum(room + n % 5, n));
}

UNIT_TEST(sum_extreme_bytes)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 5, 40, 1459, 1460, 65535, 65536, 127999, 128000, 128256, 128319,
        262144, 1000003 };
    static const tenon_u8 values[] = { 0, 1, 0x7F, 0x80, 0xFF };
    tenon_u8 *const room = (tenon_u8 *)malloc(1000003);
    unsigned i, k;

    if (room == NULL)
        abort();
    for (k = 0; k < TENON_ARRAY_LEN(values); k++) {
        memset(room, values[k], 1000003);
        for (i = 0; i < TENON_ARRAY_LEN(sizes); i++)
            CHECK_EQ_U(tn_csum_sum(room, sizes[i]), plain_sum(room, sizes[i]));
    }
    free(room);
}

UNIT_TEST(sum20_is_the_sum_of_20)
{
    tenon_u8 room[24];
    unsigned long seed = 5;
    unsigned round;

    for (round = 0; round < 1000; round++) {
        const unsigned at = round % 4;

        fill(room, sizeof(room), &seed);
        CHECK_EQ_U(tn_csum_sum20(room + at), plain_sum(room + at, 20));
    }
    memset(room, 0xFF, sizeof(room));
    CHECK_EQ_U(tn_csum_sum20(room), 0xFFFF);
    memset(room, 0, sizeof(room));
    CHECK_EQ_U(tn_csum_sum20(room), 0);
}

/* Sums of nothing but zeros are 0, all others are not: what is sent as "no checksum" never arises. */
UNIT_TEST(sum_is_zero_only_of_zeros)
{
    static tenon_u8 room[64];
    unsigned i;

    CHECK_EQ_U(tn_csum_sum(room, 64), 0);
    for (i = 0; i < 64; i += 2) {
        memset(room, 0, sizeof(room));
        room[i] = room[i + 1] = 0xFF;
        CHECK_EQ_U(tn_csum_sum(room, 64), 0xFFFF);
    }
}

UNIT_TEST(sum_does_not_read_too_far)
{
    static const tenon_u8 bytes[130] = { 1, 2, 3 };
    size_t n;

    for (n = 0; n <= sizeof(bytes); n++) {
        tenon_u8 *const copy = exact_copy(bytes, n);

        CHECK_EQ_U(tn_csum_sum(copy, n), plain_sum(bytes, n));
        free(copy);
    }
}

UNIT_TEST(add_split_at_every_byte)
{
    static tenon_u8 room[97];
    unsigned long seed = 8;
    size_t first, second;

    fill(room, sizeof(room), &seed);
    for (first = 0; first <= sizeof(room); first++) {
        for (second = first; second <= sizeof(room); second++) {
            struct tn_csum csum;

            tn_csum_init(&csum);
            tn_csum_add(&csum, room, first);
            tn_csum_add(&csum, room + first, second - first);
            tn_csum_add(&csum, room + second, sizeof(room) - second);
            CHECK_EQ_U(csum.sum, plain_sum(room, sizeof(room)));
            CHECK_EQ_U(csum.odd, 1);
        }
    }
}

UNIT_TEST(add_spans_any_part)
{
    static tenon_u8 room[400], joined[400];
    struct tenon_buf buf;
    struct tenon_span spans[5];
    static const tenon_u32 lens[5] = { 13, 0, 1, 100, 51 };
    tenon_u32 total = 0, off, len;
    unsigned long seed = 12;
    unsigned i;

    fill(room, sizeof(room), &seed);
    memset(&buf, 0, sizeof(buf));
    buf.data = room;
    buf.size = sizeof(room);
    for (i = 0; i < 5; i++) {
        spans[i].buf = &buf;
        spans[i].off = 7 + 60 * i;
        spans[i].len = lens[i];
        memcpy(joined + total, room + spans[i].off, lens[i]);
        total += lens[i];
    }
    for (off = 0; off <= total; off++) {
        for (len = 0; len <= total - off; len++) {
            struct tn_csum csum;

            tn_csum_init(&csum);
            tn_csum_add_spans(&csum, spans, off, len);
            CHECK_EQ_U(csum.sum, plain_sum(joined + off, len));
            CHECK_EQ_U(tn_csum_spans(NULL, spans, off, len), csum.sum);
        }
    }
}

/* Copied whole, nothing beside it is written, and the sum is the same. */
UNIT_TEST(copy_every_length_and_alignment)
{
    static tenon_u8 from[1100], to[1100];
    unsigned long seed = 17;
    size_t n, i;

    fill(from, sizeof(from), &seed);
    for (n = 0; n <= 1060; n += n < 300 ? 1 : 37) {
        const size_t a = n % 7, b = 8 + n % 5;

        memset(to, 0xA5, sizeof(to));
        CHECK_EQ_U(tn_csum_copy(to + b, from + a, n), plain_sum(from + a, n));
        CHECK(memcmp(to + b, from + a, n) == 0);
        for (i = 0; i < sizeof(to); i++)
            CHECK(to[i] == 0xA5 || (i >= b && i < b + n));
    }
}

static unsigned hook_calls;
static size_t hook_least, hook_bytes;

static tenon_u16 hook_sum(const tenon_u8 *bytes, size_t n)
{
    hook_calls++;
    hook_bytes += n;
    if (n < hook_least)
        hook_least = n;
    return plain_sum(bytes, n);
}

/* Whoever sums, the result is the same, at odd bytes too; what is short does not go to the hook. */
UNIT_TEST(hook_sums_what_is_long)
{
    static tenon_u8 room[3000], to[3000], joined[3000];
    static const tenon_u32 lens[6] = { 63, 64, 1, 1447, 0, 333 };
    struct tenon_span spans[6];
    struct tenon_buf buf;
    struct tn_csum csum;
    unsigned long seed = 23;
    tenon_u32 total = 0, at = 3;
    unsigned i;

    fill(room, sizeof(room), &seed);
    memset(&buf, 0, sizeof(buf));
    buf.data = room;
    buf.size = sizeof(room);
    for (i = 0; i < 6; i++) {
        spans[i].buf = &buf;
        spans[i].off = at;
        spans[i].len = lens[i];
        memcpy(joined + total, room + at, lens[i]);
        at += lens[i] + 5;
        total += lens[i];
    }
    hook_calls = 0;
    hook_bytes = 0;
    hook_least = sizeof(room);
    tn_csum_init_hook(&csum, hook_sum);
    tn_csum_copy_spans(&csum, to, spans, 0, total);
    CHECK_EQ_U(csum.sum, plain_sum(joined, total));
    CHECK(memcmp(to, joined, total) == 0);
    CHECK_EQ_U(hook_calls, 3);
    CHECK_EQ_U(hook_least, 64);
    CHECK_EQ_U(hook_bytes, 64 + 1447 + 333);
    tn_csum_init_hook(&csum, hook_sum);
    tn_csum_add_spans(&csum, spans, 1, total - 2);
    CHECK_EQ_U(csum.sum, plain_sum(joined + 1, total - 2));
    CHECK_EQ_U(hook_calls, 6);
    CHECK_EQ_U(tn_csum_spans(hook_sum, spans, 1, total - 2), plain_sum(joined + 1, total - 2));
    CHECK_EQ_U(hook_calls, 9);
}

UNIT_TEST(pseudo_header_both_versions)
{
    const struct tenon_ip v4a = tenon_ip4_bytes(192, 0, 2, 1), v4b = tenon_ip4_bytes(198, 51, 100, 255);
    const struct tenon_ip v6a = tenon_ip6(0x20010DB8UL, 0xFFFFFFFFUL, 0xFFFFFFFFUL, 1);
    const struct tenon_ip v6b = tenon_ip6(0xFE80FFFFUL, 0, 0xFFFFFFFFUL, 0xFFFFFFFFUL);
    /* RFC 9293 3.1: source, destination, 0, protocol, length */
    static const tenon_u8 head4[] = { 192, 0, 2, 1, 198, 51, 100, 255, 0, 6, 0x05, 0xDC };
    /* RFC 8200 8.1: source, destination, length (32 bits), 0, next header */
    static const tenon_u8 head6[] = {
        0x20, 0x01, 0x0D, 0xB8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1,
        0xFE, 0x80, 0xFF, 0xFF, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0x00, 0x01, 0x02, 0x03, 0, 0, 0, 17
    };

    CHECK_EQ_U(tn_csum_pseudo(&v4a, &v4b, 6, 1500), plain_sum(head4, sizeof(head4)));
    CHECK_EQ_U(tn_csum_pseudo(&v6a, &v6b, 17, 0x10203UL), plain_sum(head6, sizeof(head6)));
}

UNIT_TEST(update16_examples_of_rfc1624)
{
    /* RFC 1624 4: field DD2F, word 5555 becomes 3285: the result is 0000, not FFFF. */
    CHECK_EQ_U(tn_csum_update16(0xDD2F, 0x5555, 0x3285), 0x0000);
}

UNIT_TEST(update16_is_the_whole_sum_again)
{
    tenon_u8 room[40];
    unsigned long seed = 31;
    unsigned round;

    for (round = 0; round < 20000; round++) {
        const unsigned at = (unsigned)(unit_random(&seed) % 20) * 2;
        tenon_u16 field, before, after;

        fill(room, sizeof(room), &seed);
        field = (tenon_u16)(0xFFFF ^ plain_sum(room, sizeof(room)));
        before = (tenon_u16)(room[at] << 8 | room[at + 1]);
        fill(room + at, 2, &seed);
        if (round % 8 == 0)
            memset(room + at, round % 16 == 0 ? 0 : 0xFF, 2);
        after = (tenon_u16)(room[at] << 8 | room[at + 1]);
        CHECK_EQ_U(tn_csum_update16(field, before, after), 0xFFFF ^ plain_sum(room, sizeof(room)));
    }
}

UNIT_TEST(join_adds_with_carry)
{
    CHECK_EQ_U(tn_csum_join(0xFFFF, 0xFFFF), 0xFFFF);
    CHECK_EQ_U(tn_csum_join(0xFFFF, 1), 1);
    CHECK_EQ_U(tn_csum_join(0x8000, 0x8000), 1);
    CHECK_EQ_U(tn_csum_join(0, 0), 0);
}

int main(void)
{
    UNIT_RUN(sum_example_of_rfc1071);
    UNIT_RUN(sum_every_length_and_alignment);
    UNIT_RUN(sum_extreme_bytes);
    UNIT_RUN(sum20_is_the_sum_of_20);
    UNIT_RUN(sum_is_zero_only_of_zeros);
    UNIT_RUN(sum_does_not_read_too_far);
    UNIT_RUN(add_split_at_every_byte);
    UNIT_RUN(add_spans_any_part);
    UNIT_RUN(copy_every_length_and_alignment);
    UNIT_RUN(hook_sums_what_is_long);
    UNIT_RUN(pseudo_header_both_versions);
    UNIT_RUN(update16_examples_of_rfc1624);
    UNIT_RUN(update16_is_the_whole_sum_again);
    UNIT_RUN(join_adds_with_carry);
    return unit_end();
}
