/* SPDX-License-Identifier: MIT */
/* Addresses as text. */
#include <stdlib.h>

#include "unit.h"
#include <tenon/types.h>

struct text_row {
    const char *text;
    tenon_u32 w[4];
    int chars;              /* what parse returns */
    const char *written;    /* what format makes of it; NULL: the text itself */
};

UNIT_TEST(parse_and_format_table)
{
    static const struct text_row rows[] = {
        { "0.0.0.0", { 0, 0, 0xFFFF, 0 }, 7, NULL },
        { "192.0.2.1", { 0, 0, 0xFFFF, 0xC0000201UL }, 9, NULL },
        { "255.255.255.255", { 0, 0, 0xFFFF, 0xFFFFFFFFUL }, 15, NULL },
        { "10.20.30.40/24", { 0, 0, 0xFFFF, 0x0A141E28UL }, 11, "10.20.30.40" },
        { "10.20.30.40:80", { 0, 0, 0xFFFF, 0x0A141E28UL }, 11, "10.20.30.40" },
        { "::", { 0, 0, 0, 0 }, 2, NULL },
        { "::1", { 0, 0, 0, 1 }, 3, NULL },
        { "1::", { 0x00010000UL, 0, 0, 0 }, 3, NULL },
        { "fe80::1%eth0", { 0xFE800000UL, 0, 0, 1 }, 7, "fe80::1" },
        { "2001:db8::/32", { 0x20010DB8UL, 0, 0, 0 }, 10, "2001:db8::" },
        { "::ffff:192.0.2.1", { 0, 0, 0xFFFF, 0xC0000201UL }, 16, "192.0.2.1" },
        { "::FFFF:c000:201", { 0, 0, 0xFFFF, 0xC0000201UL }, 15, "192.0.2.1" },
        { "64:ff9b::192.0.2.33", { 0x0064FF9BUL, 0, 0, 0xC0000221UL }, 19, "64:ff9b::c000:221" },
        { "0:0:0:0:0:0:13.1.68.3", { 0, 0, 0, 0x0D014403UL }, 21, "::d01:4403" },
        /* RFC 4291 2.2 */
        { "ABCD:EF01:2345:6789:ABCD:EF01:2345:6789",
          { 0xABCDEF01UL, 0x23456789UL, 0xABCDEF01UL, 0x23456789UL }, 39, "abcd:ef01:2345:6789:abcd:ef01:2345:6789" },
        { "2001:DB8:0:0:8:800:200C:417A",
          { 0x20010DB8UL, 0, 0x00080800UL, 0x200C417AUL }, 28, "2001:db8::8:800:200c:417a" },
        { "FF01:0:0:0:0:0:0:101", { 0xFF010000UL, 0, 0, 0x101 }, 20, "ff01::101" },
        /* RFC 5952 2.1: leading zeros; 4.2.1: shortened as much as possible; 4.2.2: not one group alone;
         * 4.2.3: the longest, the first of two; 4.3: lower case */
        { "2001:0db8:aaaa:bbbb:cccc:dddd:eeee:0001",
          { 0x20010DB8UL, 0xAAAABBBBUL, 0xCCCCDDDDUL, 0xEEEE0001UL }, 39, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:1" },
        { "2001:db8:0:0:0:0:2:1", { 0x20010DB8UL, 0, 0, 0x00020001UL }, 20, "2001:db8::2:1" },
        { "2001:db8::1:1:1:1:1",
          { 0x20010DB8UL, 0x00000001UL, 0x00010001UL, 0x00010001UL }, 19, "2001:db8:0:1:1:1:1:1" },
        { "2001:0:0:1:0:0:0:1", { 0x20010000UL, 0x00000001UL, 0, 1 }, 18, "2001:0:0:1::1" },
        { "2001:db8:0:0:1:0:0:1", { 0x20010DB8UL, 0, 0x00010000UL, 1 }, 20, "2001:db8::1:0:0:1" },
        { "2001:db8:aAaA::", { 0x20010DB8UL, 0xAAAA0000UL, 0, 0 }, 15, "2001:db8:aaaa::" },
        { "1:2:3:4:5:6:7::", { 0x00010002UL, 0x00030004UL, 0x00050006UL, 0x00070000UL }, 15, "1:2:3:4:5:6:7:0" },
        { "::2:3:4:5:6:7:8", { 0x00000002UL, 0x00030004UL, 0x00050006UL, 0x00070008UL }, 15, "0:2:3:4:5:6:7:8" },
        { "0:0:3:4:5:6:0:0", { 0, 0x00030004UL, 0x00050006UL, 0 }, 15, "::3:4:5:6:0:0" },
        /* what is behind an address is the caller's to judge */
        { "::g:", { 0, 0, 0, 0 }, 2, "::" },
        { "1.2.3.4::x", { 0, 0, 0xFFFF, 0x01020304UL }, 7, "1.2.3.4" },
        { "1::]:80", { 0x00010000UL, 0, 0, 0 }, 3, "1::" }
    };
    unsigned i, k;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const char *const written = rows[i].written != NULL ? rows[i].written : rows[i].text;
        struct tenon_ip ip, again;
        char text[TENON_IP_TEXT_MAX];

        unit_row(rows[i].text);
        if (!CHECK_EQ_I(tenon_ip_parse(&ip, rows[i].text), rows[i].chars))
            continue;
        for (k = 0; k < 4; k++)
            CHECK_EQ_U(ip.w[k], rows[i].w[k]);
        CHECK_EQ_I(tenon_ip_format(text, &ip), (long)strlen(written));
        CHECK_EQ_S(text, written);
        CHECK_EQ_I(tenon_ip_parse(&again, text), (long)strlen(text));
        CHECK(tenon_ip_equal(&again, &ip));
    }
}

UNIT_TEST(parse_malformed_table)
{
    static const char *const rows[] = {
        "", " ", "x", ".", ":", ":::", ":1", "1", "1:", "1:2", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:", "1:2:3:4:5:6:7:8:",
        "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1::2:3:4:5:6:7:8", "1::2::3", "1:::2",
        "::1:", "12345::", "::12345", "g::", " ::1", "1.2.3", "1.2.3.", "1..3.4", "256.1.1.1", "1.2.3.256",
        "1.2.3.4567", "01.2.3.4", "1.2.3.04", "1.2.3.00", "0x1.2.3.4", "+1.2.3.4", "1.2.3.-4", ".1.2.3.4", "16909060",
        "::1.2.3", "::1.2.3.256", "::01.2.3.4", "1:2:3:4:5:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4",
        "1:2:3:4:5:6::1.2.3.4:", "::1.2.3.4:5", "::ffff:1234.1.1.1"
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct tenon_ip ip = tenon_ip6(1, 2, 3, 4);
        const int chars = tenon_ip_parse(&ip, rows[i]);

        unit_row(rows[i]);
        CHECK_EQ_I(chars, TENON_EINVAL);
        CHECK(ip.w[0] == 1 && ip.w[1] == 2 && ip.w[2] == 3 && ip.w[3] == 4);
    }
    unit_row(NULL);
    CHECK_EQ_I(tenon_ip_parse(NULL, "::"), TENON_EINVAL);
}

/* All of the shapes that zeros make: written, read back, the same; and written in one way only. */
UNIT_TEST(format_parse_round_trip)
{
    unsigned long seed = 19;
    unsigned round, i;

    for (round = 0; round < 20000; round++) {
        const unsigned zeros = (unsigned)(unit_random(&seed) & 0xFF);
        const unsigned shift = round % 3 == 0 ? 0 : (unsigned)(unit_random(&seed) % 16);
        struct tenon_ip ip, back;
        char text[TENON_IP_TEXT_MAX];
        int n;

        for (i = 0; i < 4; i++) {
            ip.w[i] = (tenon_u32)unit_random(&seed) >> shift;
            ip.w[i] &= zeros >> 2 * i & 1 ? 0x0000FFFFUL : 0xFFFFFFFFUL;
            ip.w[i] &= zeros >> (2 * i + 1) & 1 ? 0xFFFF0000UL : 0xFFFFFFFFUL;
        }
        if (round % 16 == 0) {
            ip.w[0] = ip.w[1] = 0;
            ip.w[2] = 0xFFFF;
        }
        n = tenon_ip_format(text, &ip);
        CHECK_EQ_I(n, (long)strlen(text));
        CHECK(n < TENON_IP_TEXT_MAX);
        CHECK(strstr(text, ":::") == NULL);
        CHECK_EQ_I(tenon_ip_parse(&back, text), n);
        CHECK(tenon_ip_equal(&back, &ip));
    }
}

/* Any characters of the alphabet, in memory that ends behind them. */
UNIT_TEST(parse_random_text_ends)
{
    static const char alphabet[] = "0123456789abcF::::....gG%/";
    unsigned long seed = 29;
    unsigned round, i;

    for (round = 0; round < 50000; round++) {
        const unsigned n = (unsigned)(unit_random(&seed) % 45);
        char *const text = (char *)malloc(n + 1);
        struct tenon_ip ip;
        int chars;

        if (text == NULL)
            abort();
        for (i = 0; i < n; i++)
            text[i] = alphabet[unit_random(&seed) % (sizeof(alphabet) - 1)];
        text[n] = '\0';
        chars = tenon_ip_parse(&ip, text);
        CHECK(chars == TENON_EINVAL || (chars >= 2 && (unsigned)chars <= n));
        free(text);
    }
}

int main(void)
{
    UNIT_RUN(parse_and_format_table);
    UNIT_RUN(parse_malformed_table);
    UNIT_RUN(format_parse_round_trip);
    UNIT_RUN(parse_random_text_ends);
    return unit_end();
}
