/* SPDX-License-Identifier: MIT */
/* Sums of frames in pieces of any length, odd ones too, beside the sum of the same bytes in one piece. */
#include <string.h>

#include "../../../tests/unit/unit.h"
#include "../sum.h"

enum { LINK = 14, IP = 20, UDP_SUM = 6, BYTES = 200 };

static tenon_u8 bytes[BYTES];

static void fill(unsigned seed)
{
    for (unsigned i = 0; i < BYTES; i++) {
        seed = seed * 1103515245 + 12345;
        bytes[i] = (tenon_u8)(seed >> 16);
    }
}

/* Each byte for itself, as RFC 1071 has it. */
static unsigned sum_of_all(unsigned from, unsigned to)
{
    unsigned sum = 0;

    for (unsigned i = from; i < to; i++)
        sum += (i - from) % 2 == 0 ? bytes[i] * 256U : bytes[i];
    while (sum > 0xFFFF)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
}

static struct tenon_frame frame_of(struct tenon_buf *buf, struct tenon_span *spans, const unsigned *cuts, unsigned n)
{
    unsigned at = 0;

    *buf = (struct tenon_buf){ bytes, BYTES, 1, NULL };
    for (unsigned i = 0; i < n; at += cuts[i++])
        spans[i] = (struct tenon_span){ buf, at, cuts[i] };
    return (struct tenon_frame){ .spans = spans, .nspans = (tenon_u16)n, .csum = TENON_CSUM_PARTIAL,
                                 .csum_start = LINK + IP, .csum_offset = UDP_SUM };
}

static unsigned field(void)
{
    return bytes[LINK + IP + UDP_SUM] * 256U + bytes[LINK + IP + UDP_SUM + 1];
}

UNIT_TEST(pieces_of_any_length_have_the_sum_of_the_whole)
{
    static const unsigned cuts[][4] = {
        { 42, 50, 50, 58 }, { 43, 51, 49, 57 }, { 42, 1, 1, 156 }, { 200 }, { 57, 1, 142 }, { 42, 157, 1 }
    };

    for (unsigned i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        struct tenon_span spans[4];
        struct tenon_frame frame;
        struct tenon_buf buf;
        unsigned n = 0, whole;

        while (n < 4 && cuts[i][n] > 0)
            n++;
        fill(i + 1);
        whole = sum_of_all(LINK + IP, BYTES);
        frame = frame_of(&buf, spans, cuts[i], n);
        port_sum_write(&frame, bytes);
        CHECK_EQ_U(field(), ~whole & 0xFFFF);
    }
}

/* RFC 1071: what is carried is added, and what that carries once more. 0xFFFF + 0xFFFF + 1 is 0x1FFFF. */
UNIT_TEST(what_is_carried_carries_again)
{
    static const unsigned whole[] = { BYTES };
    struct tenon_span spans[1];
    struct tenon_frame frame;
    struct tenon_buf buf;

    memset(bytes, 0, sizeof bytes);
    memset(bytes + BYTES - 6, 0xFF, 4);
    bytes[BYTES - 1] = 1;
    CHECK_EQ_U(sum_of_all(LINK + IP, BYTES), 1);
    frame = frame_of(&buf, spans, whole, 1);
    port_sum_write(&frame, bytes);
    CHECK_EQ_U(field(), 0xFFFE);
}

/* RFC 768: 0 says that there is none. */
UNIT_TEST(a_sum_of_0_is_written_as_0xffff)
{
    static const unsigned whole[] = { BYTES };
    struct tenon_span spans[1];
    struct tenon_frame frame;
    struct tenon_buf buf;

    memset(bytes, 0, sizeof bytes);
    bytes[BYTES - 2] = bytes[BYTES - 1] = 0xFF;
    frame = frame_of(&buf, spans, whole, 1);
    port_sum_write(&frame, bytes);
    CHECK_EQ_U(field(), 0xFFFF);
}

UNIT_TEST(the_field_of_a_frame_that_leaves_no_sum_is_its_beginning)
{
    static const unsigned whole[] = { BYTES };
    struct tenon_span spans[1];
    struct tenon_buf buf;
    struct tenon_frame frame = frame_of(&buf, spans, whole, 1);

    CHECK(port_sum_at(&frame) == bytes + LINK + IP + UDP_SUM);
    frame.csum = TENON_CSUM_NONE;
    CHECK(port_sum_at(&frame) == bytes);
}

int main(void)
{
    UNIT_RUN(pieces_of_any_length_have_the_sum_of_the_whole);
    UNIT_RUN(what_is_carried_carries_again);
    UNIT_RUN(a_sum_of_0_is_written_as_0xffff);
    UNIT_RUN(the_field_of_a_frame_that_leaves_no_sum_is_its_beginning);
    return unit_end();
}
