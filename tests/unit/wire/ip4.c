/* SPDX-License-Identifier: MIT */
/* The IPv4 header and its options. */
#include "unit.h"
#include "wire/exact.h"
#include "wire/checksum.h"
#include "wire/wire.h"

/* A header of real life, with its checksum B1E6. */
static const tenon_u8 header[20] = {
    0x45, 0x00, 0x00, 0x3C, 0x1C, 0x46, 0x40, 0x00, 0x40, 0x06, 0xB1, 0xE6,
    0xAC, 0x10, 0x0A, 0x63, 0xAC, 0x10, 0x0A, 0x0C
};

UNIT_TEST(parse_fields)
{
    struct tn_ip4 ip;

    CHECK_EQ_I(tn_ip4_parse(&ip, header, 20, 60), 0);
    CHECK_EQ_U(ip.src, 0xAC100A63UL);
    CHECK_EQ_U(ip.dst, 0xAC100A0CUL);
    CHECK_EQ_U(ip.total, 60);
    CHECK_EQ_U(ip.id, 0x1C46);
    CHECK_EQ_U(ip.frag, TN_IP4_DF);
    CHECK_EQ_U(ip.header_bytes, 20);
    CHECK_EQ_U(ip.tos, 0);
    CHECK_EQ_U(ip.ttl, 64);
    CHECK_EQ_U(ip.proto, TN_PROTO_TCP);
}

UNIT_TEST(parse_table)
{
    static const struct {
        const char *name;
        tenon_u8 first;      /* byte 0 */
        unsigned total;      /* field */
        tenon_u32 head, len;
        int result;
    } rows[] = {
        { "IP4-4 packet_exact", 0x45, 60, 60, 60, 0 },
        { "IP4-4 link_padding_behind", 0x45, 21, 60, 60, 0 },
        { "IP4-4 total_beyond_packet", 0x45, 61, 60, 60, -1 },
        { "IP4-4 total_65535", 0x45, 65535, 60, 60, -1 },
        { "IP4-4 total_is_header_only", 0x45, 20, 60, 60, 0 },
        { "IP4-3 total_below_header", 0x45, 19, 60, 60, -1 },
        { "IP4-3 total_0", 0x45, 0, 60, 60, -1 },
        { "IP4-3 ihl_0", 0x40, 60, 60, 60, -1 },
        { "IP4-3 ihl_4", 0x44, 60, 60, 60, -1 },
        { "IP4-3 ihl_6", 0x46, 60, 60, 60, 0 },
        { "IP4-3 ihl_15", 0x4F, 60, 60, 60, 0 },
        { "IP4-3 ihl_15_total_59", 0x4F, 59, 60, 60, -1 },
        { "IP4-3 ihl_15_head_59", 0x4F, 60, 59, 60, -1 },
        { "IP4-3 ihl_6_head_20", 0x46, 60, 20, 60, -1 },
        { "IP4-3 head_19", 0x45, 60, 19, 60, -1 },
        { "IP4-3 len_19", 0x45, 19, 60, 19, -1 },
        { "IP4-4 payload_in_other_spans", 0x45, 1500, 20, 1500, 0 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 whole[60];
        tenon_u8 *p;
        struct tn_ip4 ip;

        unit_row(rows[i].name);
        memset(whole, 0, sizeof(whole));
        memcpy(whole, header, 20);
        whole[0] = rows[i].first;
        whole[2] = (tenon_u8)(rows[i].total >> 8);
        whole[3] = (tenon_u8)(rows[i].total & 0xFF);
        p = exact_copy(whole, rows[i].head);
        CHECK_EQ_I(tn_ip4_parse(&ip, p, rows[i].head, rows[i].len), rows[i].result);
        if (rows[i].result == 0) {
            CHECK_EQ_U(ip.total, rows[i].total);
            CHECK_EQ_U(ip.header_bytes, (rows[i].first & 15) * 4);
        }
        free(p);
    }
}

UNIT_TEST(parse_every_version)
{
    unsigned version;

    for (version = 0; version < 16; version++) {
        tenon_u8 p[60];
        struct tn_ip4 ip;

        unit_row("IP4-1 version_is_4_alone");
        memset(p, 0, sizeof(p));
        memcpy(p, header, 20);
        p[0] = (tenon_u8)(version << 4 | 5);
        CHECK_EQ_I(tn_ip4_parse(&ip, p, 60, 60), version == 4 ? 0 : -1);
    }
}

UNIT_TEST(parse_every_ihl_and_length)
{
    unsigned ihl, n;

    for (ihl = 0; ihl < 16; ihl++) {
        for (n = 0; n <= 64; n++) {
            tenon_u8 whole[64];
            tenon_u8 *p;
            struct tn_ip4 ip;

            unit_row("IP4-3 ihl_times_length");
            memset(whole, 0, sizeof(whole));
            memcpy(whole, header, 20);
            whole[0] = (tenon_u8)(0x40 | ihl);
            whole[3] = (tenon_u8)n;
            p = exact_copy(whole, n);
            CHECK_EQ_I(tn_ip4_parse(&ip, p, n, n), ihl >= 5 && n >= ihl * 4 ? 0 : -1);
            free(p);
        }
    }
}

UNIT_TEST(csum_every_bit_flip_is_found)
{
    tenon_u8 p[20];
    unsigned bit;

    unit_row("IP4-2");
    CHECK(tn_ip4_csum_good(header, 20));
    for (bit = 0; bit < 160; bit++) {
        memcpy(p, header, 20);
        p[bit / 8] = (tenon_u8)(p[bit / 8] ^ 1 << bit % 8);
        CHECK(!tn_ip4_csum_good(p, 20));
    }
    memset(p, 0, sizeof(p));
    CHECK(!tn_ip4_csum_good(p, 20));
}

UNIT_TEST(build_gives_the_header)
{
    tenon_u8 p[21];
    struct tn_ip4 ip;

    CHECK_EQ_I(tn_ip4_parse(&ip, header, 20, 60), 0);
    p[20] = 0xEE;
    CHECK_EQ_U(tn_ip4_build(p, &ip), TN_IP4_BYTES);
    CHECK_EQ_MEM(p, header, 20);
    CHECK_EQ_U(p[20], 0xEE);
}

UNIT_TEST(build_parse_round_trip)
{
    unsigned long seed = 4;
    unsigned round;

    for (round = 0; round < 5000; round++) {
        struct tn_ip4 ip, back;
        tenon_u8 p[20];

        memset(&ip, 0, sizeof(ip));
        memset(&back, 0, sizeof(back));
        ip.src = (tenon_u32)unit_random(&seed);
        ip.dst = (tenon_u32)unit_random(&seed);
        ip.total = (tenon_u16)(20 + unit_random(&seed) % 65516);
        ip.id = (tenon_u16)(unit_random(&seed) & 0xFFFF);
        ip.frag = (tenon_u16)(unit_random(&seed) & 0xFFFF);
        ip.header_bytes = 20;
        ip.tos = (tenon_u8)(unit_random(&seed) & 0xFF);
        ip.ttl = (tenon_u8)(unit_random(&seed) & 0xFF);
        ip.proto = (tenon_u8)(unit_random(&seed) & 0xFF);
        tn_ip4_build(p, &ip);
        CHECK(tn_ip4_csum_good(p, 20));
        CHECK_EQ_I(tn_ip4_parse(&back, p, 20, 65535), 0);
        CHECK_EQ_MEM(&back, &ip, sizeof(ip));
    }
}

UNIT_TEST(options_table)
{
    static const struct {
        const char *name;
        tenon_u8 options[12];
        unsigned bytes;      /* of options */
        int result;
    } rows[] = {
        { "IP4-19 none", { 0 }, 0, 0 },
        { "IP4-19 end", { 0, 0, 0, 0 }, 4, 0 },
        { "IP4-19 nops_to_the_last_byte", { 1, 1, 1, 1 }, 4, 0 },
        { "IP4-19 rubbish_behind_end", { 0, 131, 1, 0xFF }, 4, 0 },
        { "IP4-19 router_alert", { 148, 4, 0, 0 }, 4, 0 },
        { "IP4-19 record_route", { 7, 7, 4, 0, 0, 0, 0, 0 }, 8, 0 },
        { "IP4-19 unknown_kind", { 77, 4, 9, 9 }, 4, 0 },
        { "IP4-19 length_missing_at_the_end", { 1, 1, 1, 148 }, 4, -1 },
        { "IP4-19 length_0", { 148, 0, 0, 0 }, 4, -1 },
        { "IP4-19 length_1", { 148, 1, 0, 0 }, 4, -1 },
        { "IP4-19 length_2_is_the_least", { 148, 2, 0, 0 }, 4, 0 },
        { "IP4-19 length_one_too_many", { 148, 5, 0, 0 }, 4, -1 },
        { "IP4-19 length_255", { 148, 255, 0, 0 }, 4, -1 },
        { "IP4-19 loose_source_route", { 131, 7, 4, 1, 2, 3, 4, 0 }, 8, 1 },
        { "IP4-19 strict_source_route", { 1, 137, 3, 4 }, 4, 1 },
        { "IP4-19 source_route_then_malformed", { 131, 3, 4, 148, 9, 0, 0, 0 }, 8, -1 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 whole[32];
        tenon_u8 *p;

        unit_row(rows[i].name);
        memcpy(whole, header, 20);
        memcpy(whole + 20, rows[i].options, 12);
        p = exact_copy(whole, 20 + rows[i].bytes);
        CHECK_EQ_I(tn_ip4_options_check(p, 20 + rows[i].bytes), rows[i].result);
        free(p);
    }
}

UNIT_TEST(options_random_bytes_end)
{
    unsigned long seed = 17;
    unsigned round, i;

    for (round = 0; round < 20000; round++) {
        const unsigned bytes = (unsigned)(unit_random(&seed) % 11) * 4;
        tenon_u8 whole[60];
        tenon_u8 *p;
        int result;

        for (i = 0; i < 60; i++)
            whole[i] = (tenon_u8)(unit_random(&seed) >> 3 & (round % 2 == 0 ? 0xFF : 0x8F));
        p = exact_copy(whole, 20 + bytes);
        result = tn_ip4_options_check(p, 20 + bytes);
        CHECK(result >= -1 && result <= 1);
        free(p);
    }
}

int main(void)
{
    UNIT_RUN(parse_fields);
    UNIT_RUN(parse_table);
    UNIT_RUN(parse_every_version);
    UNIT_RUN(parse_every_ihl_and_length);
    UNIT_RUN(csum_every_bit_flip_is_found);
    UNIT_RUN(build_gives_the_header);
    UNIT_RUN(build_parse_round_trip);
    UNIT_RUN(options_table);
    UNIT_RUN(options_random_bytes_end);
    return unit_end();
}
