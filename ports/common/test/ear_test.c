/* SPDX-License-Identifier: MIT */
/* What a library has printed. */
#include "../ear.h"

#include <string.h>

#include "../../../tests/unit/unit.h"
#include "../hugepages.h"

UNIT_TEST(first_line_is_kept_until_it_listens_again)
{
    static struct ear ear;
    FILE *file = port_ear_open(&ear);

    if (!CHECK(file != NULL))
        return;
    CHECK_EQ_S(port_ear_line(&ear), "");
    fprintf(file, "LIB: cannot %d\nand more\n", 7);
    CHECK_EQ_S(port_ear_line(&ear), "LIB: cannot 7");
    CHECK_EQ_S(port_ear_line(&ear), "LIB: cannot 7");
    file = port_ear_open(&ear);
    CHECK_EQ_S(port_ear_line(&ear), "");
    fprintf(file, "other");
    CHECK_EQ_S(port_ear_line(&ear), "other");
    file = port_ear_open(&ear);
    fprintf(file, "No pages...\n"); /* what to do about it follows behind a semicolon */
    CHECK_EQ_S(port_ear_line(&ear), "No pages");
}

/* Also the second time: what is no longer than before the C library does not end. */
UNIT_TEST(long_words_are_cut)
{
    static struct ear ear;

    for (unsigned times = 0; times < 2; times++) {
        FILE *file = port_ear_open(&ear);

        for (unsigned i = 0; i < 1000; i++)
            fputc('x', file);
        CHECK(strnlen(port_ear_line(&ear), sizeof ear.said) < sizeof ear.said);
        CHECK_EQ_U((unsigned)ear.said[0], 'x');
    }
}

UNIT_TEST(huge_pages_are_as_many_as_hold_it)
{
    const size_t none = port_hugepages_wanted(0);

    CHECK(port_hugepages_wanted(1) == none + 1);
    CHECK(port_hugepages_wanted(1 << 20) > none + 100); /* a TB, in pages of up to 1 GB */
}

int main(void)
{
    UNIT_RUN(first_line_is_kept_until_it_listens_again);
    UNIT_RUN(long_words_are_cut);
    UNIT_RUN(huge_pages_are_as_many_as_hold_it);
    return unit_end();
}
