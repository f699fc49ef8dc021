/* SPDX-License-Identifier: MIT */
/* The IPv6 header, the fragment header, options. */
#include "unit.h"
#include "wire/exact.h"
#include "wire/wire.h"

static const tenon_u8 header[40] = {
    0x6A, 0xB1, 0x23, 0x45, 0x00, 0x08, 0x11, 0x40,
    0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01,
    0xFF, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFB
};

UNIT_TEST(parse_fields)
{
    struct tn_ip6 ip;

    CHECK_EQ_I(tn_ip6_parse(&ip, header, 40, 48), 0);
    CHECK_EQ_U(ip.tos, 0xAB);
    CHECK_EQ_U(ip.flow, 0x12345UL);
    CHECK_EQ_U(ip.payload, 8);
    CHECK_EQ_U(ip.next, TN_PROTO_UDP);
    CHECK_EQ_U(ip.hop_limit, 64);
}

UNIT_TEST(parse_table)
{
    static const struct {
        const char *name;
        tenon_u8 first;
        unsigned payload;
        tenon_u8 next;
        tenon_u32 head, len;
        int result;
    } rows[] = {
        { "IP6-1 packet_exact", 0x60, 8, 17, 40, 48, 0 },
        { "IP6-1 link_padding_behind", 0x60, 8, 17, 40, 60, 0 },
        { "IP6-1 payload_one_too_many", 0x60, 9, 17, 40, 48, -1 },
        { "IP6-1 payload_65535", 0x60, 65535, 17, 40, 48, -1 },
        { "IP6-1 payload_65535_is_there", 0x60, 65535, 17, 40, 65575UL, 0 },
        { "IP6-1 payload_0_nothing_next", 0x60, 0, 59, 40, 40, 0 },
        { "IP6-1 payload_0_jumbogram", 0x60, 0, 0, 40, 48, -1 },
        { "IP6-1 version_4", 0x40, 8, 17, 40, 48, -1 },
        { "IP6-1 version_5", 0x50, 8, 17, 40, 48, -1 },
        { "IP6-1 version_7", 0x70, 8, 17, 40, 48, -1 },
        { "IP6-1 version_14", 0xE0, 8, 17, 40, 48, -1 },
        { "IP6-1 head_39", 0x60, 0, 59, 39, 48, -1 },
        { "IP6-1 len_39", 0x60, 0, 59, 40, 39, -1 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 whole[40];
        tenon_u8 *p;
        struct tn_ip6 ip;

        unit_row(rows[i].name);
        memcpy(whole, header, 40);
        whole[0] = rows[i].first;
        whole[4] = (tenon_u8)(rows[i].payload >> 8);
        whole[5] = (tenon_u8)(rows[i].payload & 0xFF);
        whole[6] = rows[i].next;
        p = exact_copy(whole, rows[i].head);
        CHECK_EQ_I(tn_ip6_parse(&ip, p, rows[i].head, rows[i].len), rows[i].result);
        free(p);
    }
}

UNIT_TEST(parse_every_length)
{
    struct tn_ip6 ip;
    unsigned n;

    for (n = 0; n <= 40; n++) {
        tenon_u8 *const p = exact_copy(header, n);

        CHECK_EQ_I(tn_ip6_parse(&ip, p, n, n + 8), n < 40 ? -1 : 0);
        free(p);
    }
}

UNIT_TEST(build_gives_the_header)
{
    const struct tenon_ip src = tenon_ip6(0x20010DB8UL, 0, 0, 1), dst = tenon_ip6(0xFF020000UL, 0, 0, 0xFB);
    struct tn_ip6 ip;
    tenon_u8 p[41];

    CHECK_EQ_I(tn_ip6_parse(&ip, header, 40, 48), 0);
    p[40] = 0xEE;
    CHECK_EQ_U(tn_ip6_build(p, &ip, &src, &dst), TN_IP6_BYTES);
    CHECK_EQ_MEM(p, header, 40);
    CHECK_EQ_U(p[40], 0xEE);
    ip.flow = 0xFFF12345UL;    /* more than 20 bits must not spill into the class */
    tn_ip6_build(p, &ip, &src, &dst);
    CHECK_EQ_MEM(p, header, 40);
}

UNIT_TEST(fragment_table)
{
    static const struct {
        const char *name;
        tenon_u8 bytes[8];
        unsigned next, off, more;
        tenon_u32 id;
    } rows[] = {
        { "IP6-9 first", { 6, 0, 0, 1, 1, 2, 3, 4 }, 6, 0, 1, 0x01020304UL },
        { "IP6-9 middle", { 17, 0, 0x05, 0xA9, 0, 0, 0, 1 }, 17, 0x5A8, 1, 1 },
        { "IP6-9 last", { 17, 0, 0xFF, 0xF8, 0xFF, 0xFF, 0xFF, 0xFF }, 17, 0xFFF8, 0, 0xFFFFFFFFUL },
        { "IP6-13 atomic", { 58, 0, 0, 0, 0, 0, 0, 0 }, 58, 0, 0, 0 },
        { "IP6-9 reserved_bits_are_ignored", { 17, 0xFF, 0x00, 0x0F, 0, 0, 0, 9 }, 17, 8, 1, 9 },
        { "IP6-9 reserved_bits_alone", { 17, 0xFF, 0x00, 0x06, 0, 0, 0, 9 }, 17, 0, 0, 9 }
    };
    unsigned i, n;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tn_frag6 frag;
        tenon_u8 built[9];

        unit_row(rows[i].name);
        for (n = 0; n <= 8; n++) {
            tenon_u8 *const p = exact_copy(rows[i].bytes, n);

            CHECK_EQ_I(tn_frag6_parse(&frag, p, n), n < 8 ? -1 : 0);
            free(p);
        }
        CHECK_EQ_U(frag.next, rows[i].next);
        CHECK_EQ_U(frag.off, rows[i].off);
        CHECK_EQ_U(frag.more, rows[i].more);
        CHECK_EQ_U(frag.id, rows[i].id);
        built[8] = 0xEE;
        CHECK_EQ_U(tn_frag6_build(built, &frag), TN_FRAG6_BYTES);
        CHECK_EQ_U(built[1], 0);
        CHECK_EQ_U(built[2], rows[i].bytes[2]);
        CHECK_EQ_U(built[3], rows[i].bytes[3] & 0xF9);
        CHECK_EQ_MEM(built + 4, rows[i].bytes + 4, 4);
        CHECK_EQ_U(built[8], 0xEE);
    }
}

UNIT_TEST(options_table)
{
    static const struct {
        const char *name;
        tenon_u8 bytes[40];    /* next header, length, options */
        unsigned len;
        enum tn_opt6_verdict verdict;
        tenon_u32 where;
    } rows[] = {
        { "IP6-7 padn_4", { 6, 0, 1, 4, 0, 0, 0, 0 }, 8, TN_OPT6_OK, 0 },
        { "IP6-7 pad1_six_times", { 6, 0, 0, 0, 0, 0, 0, 0 }, 8, TN_OPT6_OK, 0 },
        { "IP6-7 padn_0", { 6, 0, 1, 0, 1, 2, 0, 0 }, 8, TN_OPT6_OK, 0 },
        { "IP6-7 padn_past_the_end", { 6, 0, 1, 5, 0, 0, 0, 0 }, 8, TN_OPT6_DISCARD, 0 },
        { "IP6-7 option_past_the_end", { 6, 0, 5, 255, 0, 0, 0, 0 }, 8, TN_OPT6_DISCARD, 0 },
        { "IP6-7 length_byte_past_the_end", { 6, 0, 1, 3, 0, 0, 0, 5 }, 8, TN_OPT6_DISCARD, 0 },
        { "IP6-6 action_00_is_skipped", { 6, 0, 0x1E, 4, 0, 0, 0, 0 }, 8, TN_OPT6_OK, 0 },
        { "IP6-6 action_00_may_change", { 6, 0, 0x3E, 4, 0, 0, 0, 0 }, 8, TN_OPT6_OK, 0 },
        { "IP6-6 action_01_discards", { 6, 0, 0x40, 4, 0, 0, 0, 0 }, 8, TN_OPT6_DISCARD, 0 },
        { "IP6-6 action_10_is_an_error", { 6, 0, 0x80, 4, 0, 0, 0, 0 }, 8, TN_OPT6_ERROR, 2 },
        { "IP6-6 action_11_is_one_for_unicast", { 6, 0, 1, 0, 0xC2, 2, 0, 0 }, 8, TN_OPT6_ERROR_UNICAST, 4 },
        { "IP6-6 router_alert_then_pad", { 6, 0, 5, 2, 0, 0, 1, 0 }, 8, TN_OPT6_OK, 0 },
        { "IP6-6 behind_a_known_one", { 6, 1, 5, 2, 0, 0, 1, 0, 0, 0, 0x81, 4, 0, 0, 0, 0 }, 16, TN_OPT6_ERROR, 10 },
        { "IP6-19 padding_of_7", { 6, 1, 1, 5, 0, 0, 0, 0, 0, 5, 5, 0, 0, 0, 0, 0 }, 16, TN_OPT6_OK, 0 },
        { "IP6-19 padn_of_8", { 6, 1, 1, 6, 0, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0 }, 16, TN_OPT6_DISCARD, 0 },
        { "IP6-19 pad1_of_8", { 6, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0 }, 16, TN_OPT6_DISCARD, 0 },
        { "IP6-19 pad1_and_padn_of_8", { 6, 1, 0, 1, 5, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0 }, 16, TN_OPT6_DISCARD, 0 },
        { "IP6-19 padding_twice_7",
          { 6, 2, 1, 5, 0, 0, 0, 0, 0, 5, 0, 1, 5, 0, 0, 0, 0, 0, 5, 4, 0, 0, 0, 0 }, 24, TN_OPT6_OK, 0 },
        { "IP6-19 options_8",
          { 6, 2, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 1, 4, 0, 0, 0, 0 }, 24, TN_OPT6_OK, 0 },
        { "IP6-19 options_9",
          { 6, 2, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 5, 0, 1, 2, 0, 0 }, 24, TN_OPT6_DISCARD, 0 },
        { "IP6-7 header_longer_than_packet", { 6, 1, 1, 4, 0, 0, 0, 0 }, 8, TN_OPT6_DISCARD, 0 },
        { "IP6-7 header_cut", { 6, 0, 1, 4, 0, 0, 0 }, 7, TN_OPT6_DISCARD, 0 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 *const p = exact_copy(rows[i].bytes, rows[i].len);
        tenon_u32 where = 0;

        unit_row(rows[i].name);
        CHECK_EQ_U(tn_opt6_check(p, rows[i].len, &where), rows[i].verdict);
        if (rows[i].verdict == TN_OPT6_ERROR || rows[i].verdict == TN_OPT6_ERROR_UNICAST)
            CHECK_EQ_U(where, rows[i].where);
        free(p);
    }
}

/* Any bytes: an answer, within the bytes. */
UNIT_TEST(options_random_bytes_end)
{
    unsigned long seed = 71;
    unsigned round, i;

    for (round = 0; round < 30000; round++) {
        const unsigned len = (unsigned)(unit_random(&seed) % 80);
        tenon_u8 whole[80];
        tenon_u8 *p;
        tenon_u32 where = 0;
        enum tn_opt6_verdict verdict;

        for (i = 0; i < 80; i++)
            whole[i] = (tenon_u8)(unit_random(&seed) >> 3 & (round % 2 == 0 ? 0xFF : 0xC3));
        whole[1] = (tenon_u8)(unit_random(&seed) % 12);
        p = exact_copy(whole, len);
        verdict = tn_opt6_check(p, len, &where);
        CHECK(verdict <= TN_OPT6_ERROR_UNICAST);
        if (verdict == TN_OPT6_ERROR || verdict == TN_OPT6_ERROR_UNICAST)
            CHECK(where >= 2 && where < len && (p[where] & 0x80) != 0);
        free(p);
    }
}

int main(void)
{
    UNIT_RUN(parse_fields);
    UNIT_RUN(parse_table);
    UNIT_RUN(parse_every_length);
    UNIT_RUN(build_gives_the_header);
    UNIT_RUN(fragment_table);
    UNIT_RUN(options_table);
    UNIT_RUN(options_random_bytes_end);
    return unit_end();
}
