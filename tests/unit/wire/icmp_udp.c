/* SPDX-License-Identifier: MIT */
/* ICMP's head, options of neighbour discovery, UDP's header. */
#include "unit.h"
#include "wire/exact.h"
#include "wire/wire.h"

UNIT_TEST(icmp_every_length_and_round_trip)
{
    static const tenon_u8 echo[8] = { 128, 3, 0xAB, 0xCD, 0x12, 0x34, 0x56, 0x78 };
    struct tn_icmp icmp;
    tenon_u8 built[9];
    unsigned n;

    for (n = 0; n <= 8; n++) {
        tenon_u8 *const p = exact_copy(echo, n);

        unit_row("ICMP4-1 least_length_is_8");
        CHECK_EQ_I(tn_icmp_parse(&icmp, p, n), n < 8 ? -1 : 0);
        free(p);
    }
    CHECK_EQ_U(icmp.type, TN_ICMP6_ECHO);
    CHECK_EQ_U(icmp.code, 3);
    CHECK_EQ_U(icmp.csum, 0xABCD);
    CHECK_EQ_U(icmp.rest, 0x12345678UL);
    built[8] = 0xEE;
    CHECK_EQ_U(tn_icmp_build(built, &icmp), TN_ICMP_BYTES);
    CHECK_EQ_MEM(built, echo, 8);
    CHECK_EQ_U(built[8], 0xEE);
}

UNIT_TEST(nd_option_table)
{
    static const struct {
        const char *name;
        tenon_u8 type, units;
        unsigned len, bytes;
    } rows[] = {
        { "ND-2 link_layer_address", 1, 1, 8, 8 },
        { "ND-2 prefix", 3, 4, 32, 32 },
        { "ND-2 more_options_behind", 3, 4, 40, 32 },
        { "ND-2 unknown_kind_is_measured", 250, 2, 16, 16 },
        { "ND-2 length_0", 1, 0, 8, 0 },
        { "ND-2 length_0_of_many", 1, 0, 40, 0 },
        { "ND-2 one_unit_too_many", 1, 2, 8, 0 },
        { "ND-2 one_byte_too_few", 3, 4, 31, 0 },
        { "ND-2 length_255", 3, 255, 40, 0 },
        { "ND-2 message_ends_within_7", 1, 1, 7, 0 },
        { "ND-2 message_ends_within_1", 1, 1, 1, 0 },
        { "ND-2 message_has_ended", 1, 1, 0, 0 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 whole[40];
        tenon_u8 *p;
        tenon_u8 type = 0;

        unit_row(rows[i].name);
        memset(whole, 0, sizeof(whole));
        whole[0] = rows[i].type;
        whole[1] = rows[i].units;
        p = exact_copy(whole, rows[i].len);
        CHECK_EQ_U(tn_nd_option(&type, p, rows[i].len), rows[i].bytes);
        if (rows[i].bytes > 0)
            CHECK_EQ_U(type, rows[i].type);
        free(p);
    }
}

/* A walk over any bytes comes to an end within them. */
UNIT_TEST(nd_option_walk_ends)
{
    unsigned long seed = 6;
    unsigned round, i;

    for (round = 0; round < 20000; round++) {
        const tenon_u32 len = (tenon_u32)(unit_random(&seed) % 100);
        tenon_u8 whole[100];
        tenon_u32 at = 0;
        tenon_u8 *p;
        tenon_u8 type;
        unsigned bytes, steps = 0;

        for (i = 0; i < 100; i++)
            whole[i] = (tenon_u8)(unit_random(&seed) >> 5 & 3);
        p = exact_copy(whole, len);
        while ((bytes = tn_nd_option(&type, p + at, len - at)) > 0) {
            CHECK(bytes >= 8 && bytes <= len - at);
            at += bytes;
            steps++;
        }
        CHECK(steps <= 12);
        free(p);
    }
}

UNIT_TEST(udp_table)
{
    static const struct {
        const char *name;
        unsigned field;
        tenon_u32 head, len;
        int result;
    } rows[] = {
        { "UDP-1 no_payload", 8, 8, 8, 0 },
        { "UDP-1 exact", 12, 12, 12, 0 },
        { "UDP-1 padding_behind", 9, 12, 12, 0 },
        { "UDP-1 length_7", 7, 12, 12, -1 },
        { "UDP-1 length_0", 0, 12, 12, -1 },
        { "UDP-1 one_too_many", 13, 12, 12, -1 },
        { "UDP-1 length_65535", 65535, 12, 12, -1 },
        { "UDP-1 length_65535_is_there", 65535, 8, 65535UL, 0 },
        { "UDP-1 payload_in_other_spans", 1480, 8, 1480, 0 },
        { "UDP-1 header_cut", 8, 7, 8, -1 },
        { "UDP-1 packet_cut", 8, 8, 7, -1 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 whole[12] = { 0x12, 0x34, 0xFE, 0xDC, 0, 0, 0xBE, 0xEF, 1, 2, 3, 4 };
        tenon_u8 *p;
        struct tn_udp udp;
        tenon_u8 built[9];

        unit_row(rows[i].name);
        whole[4] = (tenon_u8)(rows[i].field >> 8);
        whole[5] = (tenon_u8)(rows[i].field & 0xFF);
        p = exact_copy(whole, rows[i].head);
        CHECK_EQ_I(tn_udp_parse(&udp, p, rows[i].head, rows[i].len), rows[i].result);
        if (rows[i].result == 0) {
            CHECK_EQ_U(udp.sport, 0x1234);
            CHECK_EQ_U(udp.dport, 0xFEDC);
            CHECK_EQ_U(udp.len, rows[i].field);
            CHECK_EQ_U(udp.csum, 0xBEEF);
            built[8] = 0xEE;
            CHECK_EQ_U(tn_udp_build(built, &udp), TN_UDP_BYTES);
            CHECK_EQ_MEM(built, p, 8);
            CHECK_EQ_U(built[8], 0xEE);
        }
        free(p);
    }
}

UNIT_TEST(udp_every_length)
{
    static const tenon_u8 whole[8] = { 0, 1, 0, 2, 0, 8, 0, 0 };
    struct tn_udp udp;
    unsigned n;

    for (n = 0; n <= 8; n++) {
        tenon_u8 *const p = exact_copy(whole, n);

        CHECK_EQ_I(tn_udp_parse(&udp, p, n, 8), n < 8 ? -1 : 0);
        free(p);
    }
}

int main(void)
{
    UNIT_RUN(icmp_every_length_and_round_trip);
    UNIT_RUN(nd_option_table);
    UNIT_RUN(nd_option_walk_ends);
    UNIT_RUN(udp_table);
    UNIT_RUN(udp_every_length);
    return unit_end();
}
