/* SPDX-License-Identifier: MIT */
/* The TCP header and its options. */
#include "unit.h"
#include "wire/exact.h"
#include "wire/wire.h"

static const tenon_u8 header[20] = {
    0x12, 0x34, 0x00, 0x50, 0x89, 0xAB, 0xCD, 0xEF, 0x01, 0x23, 0x45, 0x67,
    0x50, 0x12, 0xFA, 0xF0, 0xBE, 0xEF, 0x00, 0x09
};

/* ---- header ------------------------------------------------------------------------------------ */

UNIT_TEST(parse_fields)
{
    struct tn_tcp tcp;

    CHECK_EQ_I(tn_tcp_parse(&tcp, header, 20, 20), 0);
    CHECK_EQ_U(tcp.ports, 0x12340050UL);
    CHECK_EQ_U(tcp.seq, 0x89ABCDEFUL);
    CHECK_EQ_U(tcp.ack, 0x01234567UL);
    CHECK_EQ_U(tcp.header_bytes, 20);
    CHECK_EQ_U(tcp.flags, TN_TCP_SYN | TN_TCP_ACK);
    CHECK_EQ_U(tcp.wnd, 0xFAF0);
    CHECK_EQ_U(tcp.urgent, 9);
}

UNIT_TEST(parse_every_data_offset_and_length)
{
    unsigned words, n;

    for (words = 0; words < 16; words++) {
        for (n = 0; n <= 64; n++) {
            tenon_u8 whole[64];
            tenon_u8 *p;
            struct tn_tcp tcp;
            const int good = n >= 20 && words >= 5 && words * 4 <= n;

            unit_row("9293-HDR-1, 9293-HDR-2");
            memset(whole, 0, sizeof(whole));
            memcpy(whole, header, 20);
            whole[12] = (tenon_u8)(words << 4);
            p = exact_copy(whole, n);
            CHECK_EQ_I(tn_tcp_parse(&tcp, p, n, n), good ? 0 : -1);
            CHECK_EQ_I(tn_tcp_parse(&tcp, p, n, n + 100), good ? 0 : -1);
            if (n >= 20 && words * 4 > 20 && words * 4 <= n)
                CHECK_EQ_I(tn_tcp_parse(&tcp, p, n, words * 4 - 1), -1);
            free(p);
        }
    }
}

UNIT_TEST(parse_reserved_bits_are_ignored)
{
    tenon_u8 p[20];
    struct tn_tcp tcp;

    unit_row("9293-HDR-3");
    memcpy(p, header, 20);
    p[12] = 0x5F;
    CHECK_EQ_I(tn_tcp_parse(&tcp, p, 20, 20), 0);
    CHECK_EQ_U(tcp.header_bytes, 20);
    CHECK_EQ_U(tcp.flags, TN_TCP_SYN | TN_TCP_ACK);
}

UNIT_TEST(build_parse_round_trip)
{
    unsigned long seed = 13;
    unsigned round;

    for (round = 0; round < 5000; round++) {
        struct tn_tcp tcp, back;
        tenon_u8 p[60];

        memset(&tcp, 0, sizeof(tcp));
        memset(&back, 0, sizeof(back));
        memset(p, 0xEE, sizeof(p));
        tcp.ports = (tenon_u32)unit_random(&seed);
        tcp.seq = (tenon_u32)unit_random(&seed);
        tcp.ack = (tenon_u32)unit_random(&seed);
        tcp.wnd = (tenon_u16)(unit_random(&seed) & 0xFFFF);
        tcp.urgent = (tenon_u16)(unit_random(&seed) & 0xFFFF);
        tcp.flags = (tenon_u8)(unit_random(&seed) & 0xFF);
        tcp.header_bytes = (tenon_u8)(20 + unit_random(&seed) % 11 * 4);
        CHECK_EQ_U(tn_tcp_build(p, &tcp), TN_TCP_BYTES);
        CHECK_EQ_U(p[20], 0xEE);
        unit_row("9293-HDR-3 reserved_bits_are_sent_0");
        CHECK_EQ_U(p[12] & 0x0F, 0);
        CHECK_EQ_I(tn_tcp_parse(&back, p, 60, 60), 0);
        CHECK_EQ_MEM(&back, &tcp, sizeof(tcp));
    }
}

/* ---- options: reading -------------------------------------------------------------------------- */

/* What a row expects: which options (WITH_ flags), and their values. */
enum { WITH_MSS = 1, WITH_WSCALE = 2, WITH_PERMITTED = 4, WITH_TIMESTAMP = 8 };

struct options_row {
    const char *name;
    tenon_u8 bytes[40];
    unsigned n;
    int result;
    unsigned with;
    unsigned mss, wscale;
    unsigned nsacks;
};

/* Timestamps are always 11223344, 55667788; the first SACK block starts at 0A0B0C0D. */
#define TS 8, 10, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88
#define BLOCK 0x0A, 0x0B, 0x0C, 0x0D, 0x0A, 0x0B, 0x0C, 0x0E

static const struct options_row options_rows[] = {
    { "9293-MUST-4 none", { 0 }, 0, 0, 0, 0, 0, 0 },
    { "9293-MUST-4 end", { 0, 0, 0, 0 }, 4, 0, 0, 0, 0, 0 },
    { "9293-MUST-4 nop", { 1, 1, 1, 1 }, 4, 0, 0, 0, 0, 0 },
    { "9293-MUST-4 mss", { 2, 4, 0x05, 0xB4 }, 4, 0, WITH_MSS, 1460, 0, 0 },
    { "9293-MUST-4 nop_mss_end", { 1, 2, 4, 0x05, 0xB4, 0, 0, 0 }, 8, 0, WITH_MSS, 1460, 0, 0 },
    { "9293-MUST-64 mss_at_odd_offset", { 1, 1, 1, 2, 4, 0xFF, 0xFF, 0 }, 8, 0, WITH_MSS, 65535, 0, 0 },
    { "9293-MUST-64 timestamp_at_odd_offset", { 1, TS, 0 }, 12, 0, WITH_TIMESTAMP, 0, 0, 0 },
    { "9293-MUST-64 sack_at_odd_offset", { 1, 5, 10, BLOCK, 0 }, 12, 0, 0, 0, 0, 1 },
    { "9293-MUST-69 nothing_is_read_behind_end", { 0, 2, 4, 5, 0xB4, 0, 0, 0 }, 8, 0, 0, 0, 0, 0 },
    { "9293-MUST-6 unknown_253_skipped", { 253, 4, 9, 9, 2, 4, 0, 88 }, 8, 0, WITH_MSS, 88, 0, 0 },
    { "9293-MUST-6 unknown_77_skipped", { 77, 2, 77, 2, 2, 4, 0, 88 }, 8, 0, WITH_MSS, 88, 0, 0 },
    { "9293-HDR-7 others_known_to_date",
      { 19, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 28, 4, 0, 0, 2, 4, 1, 2 }, 28, 0, WITH_MSS, 258, 0, 0 },
    { "9293-MUST-7 length_0", { 2, 4, 1, 0, 77, 0, 3, 3 }, 8, -1, WITH_MSS, 256, 0, 0 },
    { "9293-MUST-7 length_1", { 2, 4, 1, 0, 77, 1, 3, 3 }, 8, -1, WITH_MSS, 256, 0, 0 },
    { "9293-MUST-7 length_beyond_header", { 3, 3, 7, 77, 6, 0, 0, 0 }, 8, -1, WITH_WSCALE, 0, 7, 0 },
    { "9293-MUST-7 length_255", { 77, 255, 0, 0 }, 4, -1, 0, 0, 0, 0 },
    { "9293-MUST-7 mss_beyond_header", { 1, 2, 4, 5 }, 4, -1, 0, 0, 0, 0 },
    { "9293-MUST-7 length_missing", { 1, 1, 1, 2 }, 4, -1, 0, 0, 0, 0 },
    { "9293-HDR-7 mss_of_length_3", { 2, 3, 5, 1 }, 4, 0, 0, 0, 0, 0 },
    { "9293-HDR-7 mss_of_length_5", { 2, 5, 5, 5, 5, 3, 3, 9 }, 8, 0, WITH_WSCALE, 0, 9, 0 },
    { "9293-HDR-7 wscale_of_length_4", { 3, 4, 7, 7 }, 4, 0, 0, 0, 0, 0 },
    { "9293-HDR-7 permitted_of_length_3", { 4, 3, 0, 1 }, 4, 0, 0, 0, 0, 0 },
    { "9293-HDR-7 timestamp_of_length_8", { 8, 8, 1, 2, 3, 4, 5, 6 }, 8, 0, 0, 0, 0, 0 },
    { "9293-HDR-8 first_mss_counts", { 2, 4, 5, 0xB4, 2, 4, 0, 1 }, 8, 0, WITH_MSS, 1460, 0, 0 },
    { "9293-HDR-8 first_wscale_counts", { 3, 3, 2, 3, 3, 9, 1, 1 }, 8, 0, WITH_WSCALE, 0, 2, 0 },
    { "9293-HDR-8 mss_0_is_for_the_caller", { 2, 4, 0, 0 }, 4, 0, WITH_MSS, 0, 0, 0 },
    { "7323-WS-1 wscale", { 1, 3, 3, 14 }, 4, 0, WITH_WSCALE, 0, 14, 0 },
    { "7323-WS-5 wscale_255_as_it_is", { 1, 3, 3, 255 }, 4, 0, WITH_WSCALE, 0, 255, 0 },
    { "7323-TS-1 timestamp", { 1, 1, TS }, 12, 0, WITH_TIMESTAMP, 0, 0, 0 },
    { "SACK-1 permitted", { 1, 1, 4, 2 }, 4, 0, WITH_PERMITTED, 0, 0, 0 },
    { "syn_of_a_common_kernel", { 2, 4, 0x05, 0xB4, 4, 2, TS, 1, 3, 3, 7 }, 20, 0,
      WITH_MSS | WITH_PERMITTED | WITH_TIMESTAMP | WITH_WSCALE, 1460, 7, 0 },
    { "SACK-3 three_blocks_with_timestamp",
      { 1, 1, TS, 1, 1, 5, 26, BLOCK, BLOCK, BLOCK }, 40, 0, WITH_TIMESTAMP, 0, 0, 3 },
    { "SACK-3 four_blocks", { 1, 1, 5, 34, BLOCK, BLOCK, BLOCK, BLOCK }, 36, 0, 0, 0, 0, 4 },
    { "SACK-8 length_2", { 5, 2, 1, 1 }, 4, 0, 0, 0, 0, 0 },
    { "SACK-8 length_9", { 5, 9, 1, 2, 3, 4, 5, 6, 7, 1, 1, 1 }, 12, 0, 0, 0, 0, 0 },
    { "SACK-8 length_11", { 5, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1 }, 12, 0, 0, 0, 0, 0 },
    { "SACK-8 length_38", { 5, 38, 0 }, 40, 0, 0, 0, 0, 0 },
    { "SACK-8 length_42_beyond_header", { 5, 42, BLOCK, BLOCK, BLOCK, BLOCK }, 40, -1, 0, 0, 0, 0 },
    { "SACK-8 second_option_does_not_count", { 1, 1, 5, 10, BLOCK, 5, 18, BLOCK, BLOCK, 1, 1 }, 32, 0, 0, 0, 0, 1 }
};

UNIT_TEST(options_parse_table)
{
    unsigned i, k;

    for (i = 0; i < TENON_ARRAY_LEN(options_rows); i++) {
        const struct options_row *const row = &options_rows[i];
        struct tn_tcp_options options;
        tenon_u8 whole[60];
        tenon_u8 *p;

        unit_row(row->name);
        memcpy(whole, header, 20);
        memcpy(whole + 20, row->bytes, 40);
        p = exact_copy(whole, 20 + row->n);
        memset(&options, 0xEE, sizeof(options));
        CHECK_EQ_I(tn_tcp_options_parse(&options, p, 20 + row->n), row->result);
        CHECK_EQ_U(options.has_mss, (row->with & WITH_MSS) != 0);
        CHECK_EQ_U(options.has_wscale, (row->with & WITH_WSCALE) != 0);
        CHECK_EQ_U(options.has_sack_permitted, (row->with & WITH_PERMITTED) != 0);
        CHECK_EQ_U(options.has_timestamp, (row->with & WITH_TIMESTAMP) != 0);
        CHECK_EQ_U(options.mss, row->mss);
        CHECK_EQ_U(options.wscale, row->wscale);
        CHECK_EQ_U(options.ts_val, row->with & WITH_TIMESTAMP ? 0x11223344UL : 0);
        CHECK_EQ_U(options.ts_ecr, row->with & WITH_TIMESTAMP ? 0x55667788UL : 0);
        CHECK_EQ_U(options.nsacks, row->nsacks);
        for (k = 0; k < row->nsacks; k++) {
            CHECK_EQ_U(options.sack_left[k], 0x0A0B0C0DUL);
            CHECK_EQ_U(options.sack_right[k], 0x0A0B0C0EUL);
        }
        free(p);
    }
}

/* 9293-MUST-5: which segment it is does not matter to the codec. 9293-MUST-7: any bytes come to an end. */
UNIT_TEST(options_random_bytes_end)
{
    unsigned long seed = 99;
    unsigned round, i;

    for (round = 0; round < 30000; round++) {
        const unsigned n = (unsigned)(unit_random(&seed) % 11) * 4;
        struct tn_tcp_options options;
        tenon_u8 whole[60];
        tenon_u8 *p;
        int result;

        for (i = 0; i < 60; i++)
            whole[i] = (tenon_u8)(unit_random(&seed) >> 3 & (round % 2 == 0 ? 0xFF : 0x0B));
        p = exact_copy(whole, 20 + n);
        result = tn_tcp_options_parse(&options, p, 20 + n);
        CHECK(result == 0 || result == -1);
        CHECK(options.nsacks <= TN_SACK_BLOCKS_MAX);
        free(p);
    }
}

/* ---- options: writing -------------------------------------------------------------------------- */

/* Walks what was built by the grammar alone: 9293-MUST-68, 9293-MUST-69. */
static void check_grammar(const tenon_u8 *p, unsigned n)
{
    unsigned at = 0;

    CHECK(n <= 40 && n % 4 == 0);
    while (at < n && p[at] != 0) {
        if (p[at] == 1) {
            at++;
            continue;
        }
        if (!CHECK(n - at >= 2 && p[at + 1] >= 2 && p[at + 1] <= n - at))
            return;
        at += p[at + 1];
    }
    for (; at < n; at++)
        CHECK_EQ_U(p[at], 0);
}

static void random_options(struct tn_tcp_options *options, unsigned long *seed)
{
    const unsigned with = (unsigned)(unit_random(seed) % 16);
    unsigned i;

    memset(options, 0, sizeof(*options));
    options->has_mss = (with & WITH_MSS) != 0;
    options->has_wscale = (with & WITH_WSCALE) != 0;
    options->has_sack_permitted = (with & WITH_PERMITTED) != 0;
    options->has_timestamp = (with & WITH_TIMESTAMP) != 0;
    if (options->has_mss)
        options->mss = (tenon_u16)(unit_random(seed) & 0xFFFF);
    if (options->has_wscale)
        options->wscale = (tenon_u8)(unit_random(seed) % 15);
    if (options->has_timestamp) {
        options->ts_val = (tenon_u32)unit_random(seed);
        options->ts_ecr = (tenon_u32)unit_random(seed);
    }
    options->nsacks = (tenon_u8)(unit_random(seed) % 5);
    for (i = 0; i < options->nsacks; i++) {
        options->sack_left[i] = (tenon_u32)unit_random(seed);
        options->sack_right[i] = (tenon_u32)unit_random(seed);
    }
}

/* SACK blocks that fit beside the others. */
static unsigned blocks_that_fit(const struct tn_tcp_options *options)
{
    unsigned others = 0;

    others += options->has_mss ? 4 : 0;
    others += options->has_wscale ? 4 : 0;
    others += options->has_timestamp ? 12 : 0;
    others += options->has_sack_permitted && !options->has_timestamp ? 4 : 0;
    return (40 - others - 4) / 8 < options->nsacks ? (40 - others - 4) / 8 : options->nsacks;
}

UNIT_TEST(options_build_parse_round_trip)
{
    unsigned long seed = 23;
    unsigned round, i;

    for (round = 0; round < 20000; round++) {
        struct tn_tcp_options options, back;
        tenon_u8 p[61];
        unsigned n;

        random_options(&options, &seed);
        memset(p, 0xEE, sizeof(p));
        n = tn_tcp_options_build(p + 20, &options);
        unit_row("9293-MUST-68, 9293-MUST-69");
        check_grammar(p + 20, n);
        for (i = 20 + n; i < sizeof(p); i++)
            CHECK_EQ_U(p[i], 0xEE);
        unit_row(NULL);
        CHECK_EQ_I(tn_tcp_options_parse(&back, p, 20 + n), 0);
        options.nsacks = (tenon_u8)blocks_that_fit(&options);
        for (i = options.nsacks; i < TN_SACK_BLOCKS_MAX; i++)
            options.sack_left[i] = options.sack_right[i] = 0;
        CHECK_EQ_MEM(&back, &options, sizeof(options));
    }
}

UNIT_TEST(options_build_table)
{
    static const tenon_u8 syn[20] = { 2, 4, 0x05, 0xB4, 4, 2, TS, 1, 3, 3, 7 };
    static const tenon_u8 data[12] = { 1, 1, TS };
    static const tenon_u8 sacked[24] = { 1, 1, TS, 1, 1, 5, 10, BLOCK };
    struct tn_tcp_options options;
    tenon_u8 p[40];
    unsigned i;

    memset(&options, 0, sizeof(options));
    CHECK_EQ_U(tn_tcp_options_build(p, &options), 0);
    options.has_timestamp = 1;
    options.ts_val = 0x11223344UL;
    options.ts_ecr = 0x55667788UL;
    unit_row("7323-PIT timestamp_is_aligned");
    CHECK_EQ_U(tn_tcp_options_build(p, &options), 12);
    CHECK_EQ_MEM(p, data, 12);
    unit_row("7323-PIT sack_is_aligned");
    options.nsacks = 1;
    options.sack_left[0] = 0x0A0B0C0DUL;
    options.sack_right[0] = 0x0A0B0C0EUL;
    CHECK_EQ_U(tn_tcp_options_build(p, &options), 24);
    CHECK_EQ_MEM(p, sacked, 24);
    unit_row("SACK-3 three_blocks_beside_a_timestamp");
    for (i = 1; i < 4; i++) {
        options.sack_left[i] = i;
        options.sack_right[i] = i + 1;
    }
    options.nsacks = 4;
    CHECK_EQ_U(tn_tcp_options_build(p, &options), 40);
    CHECK_EQ_U(p[15], 26);
    unit_row("SACK-3 four_blocks_alone");
    options.has_timestamp = 0;
    CHECK_EQ_U(tn_tcp_options_build(p, &options), 36);
    CHECK_EQ_U(p[3], 34);
    unit_row("syn_with_all");
    options.nsacks = 0;
    options.has_timestamp = options.has_mss = options.has_wscale = options.has_sack_permitted = 1;
    options.mss = 1460;
    options.wscale = 7;
    CHECK_EQ_U(tn_tcp_options_build(p, &options), 20);
    CHECK_EQ_MEM(p, syn, 20);
}

int main(void)
{
    UNIT_RUN(parse_fields);
    UNIT_RUN(parse_every_data_offset_and_length);
    UNIT_RUN(parse_reserved_bits_are_ignored);
    UNIT_RUN(build_parse_round_trip);
    UNIT_RUN(options_parse_table);
    UNIT_RUN(options_random_bytes_end);
    UNIT_RUN(options_build_parse_round_trip);
    UNIT_RUN(options_build_table);
    return unit_end();
}
