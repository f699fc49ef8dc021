/* SPDX-License-Identifier: MIT */
/* Numbers on the circle, bits and bytes. */
#include "unit.h"
#include "base/bits.h"
#include "base/bytes.h"
#include "base/seq.h"

/* covers: 9293-HDR-6 9293-PIT-2 */
UNIT_TEST(seq_compare_table)
{
    static const struct {
        const char *name;
        tenon_u32 a, b;
        int lt;
    } rows[] = {
        { "equal", 5, 5, 0 },
        { "one_after_other", 5, 6, 1 },
        { "one_before_other", 6, 5, 0 },
        { "across_zero", 0xFFFFFFFFUL, 0, 1 },
        { "across_zero_back", 0, 0xFFFFFFFFUL, 0 },
        { "across_the_middle", 0x7FFFFFFFUL, 0x80000000UL, 1 },
        { "farthest_that_compares", 1, 0x80000000UL, 1 },
        { "farthest_that_compares_back", 0x80000000UL, 1, 0 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const tenon_u32 a = rows[i].a, b = rows[i].b;

        unit_row(rows[i].name);
        CHECK_EQ_I(tn_seq_lt(a, b), rows[i].lt);
        CHECK_EQ_I(tn_seq_ge(a, b), !rows[i].lt);
        CHECK_EQ_I(tn_seq_gt(b, a), rows[i].lt);
        CHECK_EQ_I(tn_seq_le(a, b), rows[i].lt || a == b);
        CHECK_EQ_U(tn_seq_max(a, b), rows[i].lt ? b : a);
        CHECK_EQ_U(tn_seq_min(a, b), rows[i].lt || a == b ? a : b);
    }
}

UNIT_TEST(seq_between_table)
{
    CHECK(tn_seq_between(10, 10, 20));
    CHECK(tn_seq_between(10, 20, 20));
    CHECK(!tn_seq_between(10, 9, 20));
    CHECK(!tn_seq_between(10, 21, 20));
    CHECK(tn_seq_between(0xFFFFFFF0UL, 0, 0x10));
    CHECK(tn_seq_between(0xFFFFFFF0UL, 0xFFFFFFF0UL, 0x10));
    CHECK(!tn_seq_between(0xFFFFFFF0UL, 0x11, 0x10));
    CHECK(!tn_seq_between(0xFFFFFFF0UL, 0xFFFFFFEFUL, 0x10));
    CHECK(tn_seq_between(7, 7, 7));
    CHECK(!tn_seq_between(7, 8, 7));
}

UNIT_TEST(bits_every_place)
{
    unsigned long seed = 1;
    unsigned i, k;

    for (i = 0; i < 32; i++) {
        const tenon_u32 bit = (tenon_u32)1 << i;

        CHECK_EQ_U(tn_bit_lowest(bit), i);
        CHECK_EQ_U(tn_bits_below(bit), bit | (bit - 1));
        CHECK_EQ_U(tn_bit_highest(tn_bits_below(bit)), i);
        CHECK_EQ_U(tn_bit_highest_of(bit), i);
        for (k = 0; k < 50; k++) {
            const tenon_u32 noise = (tenon_u32)unit_random(&seed);

            CHECK_EQ_U(tn_bit_lowest(bit | (noise & ~(bit - 1))), i);
            CHECK_EQ_U(tn_bit_highest(tn_bits_below(bit | (noise & (bit - 1)))), i);
            CHECK_EQ_U(tn_bit_highest_of(bit | (noise & (bit - 1))), i);
        }
    }
}

UNIT_TEST(bytes_are_big_endian_at_any_alignment)
{
    static const tenon_u8 wire[] = { 0x81, 0x82, 0x83, 0x84 };
    tenon_u8 room[12];
    unsigned at;

    for (at = 0; at < 8; at++) {
        memset(room, 0x55, sizeof(room));
        memcpy(room + at, wire, sizeof(wire));
        CHECK_EQ_U(get16be(room + at), 0x8182);
        CHECK_EQ_U(get32be(room + at), 0x81828384UL);
        memset(room, 0x55, sizeof(room));
        put32be(room + at, 0x81828384UL);
        CHECK_EQ_MEM(room + at, wire, 4);
        memset(room, 0x55, sizeof(room));
        put16be(room + at, 0x12348182UL);
        CHECK_EQ_MEM(room + at, wire, 2);
        CHECK_EQ_U(room[at + 2], 0x55);
    }
}

UNIT_TEST(bytes_ip6_round_trip)
{
    const struct tenon_ip ip = tenon_ip6(0x20010DB8UL, 0x00FF0102UL, 0x80000000UL, 0xFFFFFFFFUL);
    tenon_u8 room[17];
    struct tenon_ip back;

    put_ip6(room + 1, &ip);
    CHECK_EQ_U(room[1], 0x20);
    CHECK_EQ_U(room[8], 0x02);
    back = get_ip6(room + 1);
    CHECK(tenon_ip_equal(&ip, &back));
}

UNIT_TEST(error_text_each_differs)
{
    int a, b;

    for (a = TENON_OK; a >= TENON_EACCES; a--) {
        CHECK(strcmp(tenon_error_text(a), tenon_error_text(12345)) != 0);
        for (b = a - 1; b >= TENON_EACCES; b--)
            CHECK(strcmp(tenon_error_text(a), tenon_error_text(b)) != 0);
    }
    CHECK_EQ_S(tenon_error_text(TENON_EACCES - 1), tenon_error_text(1));
}

int main(void)
{
    UNIT_RUN(seq_compare_table);
    UNIT_RUN(seq_between_table);
    UNIT_RUN(bits_every_place);
    UNIT_RUN(bytes_are_big_endian_at_any_alignment);
    UNIT_RUN(bytes_ip6_round_trip);
    UNIT_RUN(error_text_each_differs);
    return unit_end();
}
