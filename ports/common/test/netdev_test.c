/* SPDX-License-Identifier: MIT */
/* Answers of the kernel that a test has made up: no driver that says yes is needed. That it answers is tried in
 * ports/xdp/test/xdp_test.c. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include "../../../tests/unit/unit.h"
#include "../netdev.h"

struct answer {
    struct nlmsghdr header;
    struct genlmsghdr what;
    struct nlattr interface;
    uint32_t number;
    struct nlattr pieces;
    uint32_t most;
    struct nlattr features;
    uint32_t bits[2]; /* of 64, which need not lie well */
};

static struct answer answer_of(unsigned most, unsigned bits)
{
    const uint64_t features = bits;
    struct answer answer = { .header = { .nlmsg_len = sizeof answer, .nlmsg_type = 30 }, .what = { 1, 1, 0 },
                             .interface = { 8, 1 }, .number = 7, .pieces = { 8, 4 }, .most = most,
                             .features = { 12, 6 } };

    memcpy(answer.bits, &features, sizeof features);
    return answer;
}

static struct port_netdev driver_of(const struct answer *answer, size_t bytes)
{
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1); /* whoever reads further is found, with a sanitizer */
    struct port_netdev driver;

    memcpy(copy, answer, bytes);
    port_netdev_read(copy, bytes, &driver);
    free(copy);
    return driver;
}

UNIT_TEST(what_a_driver_says_of_itself_is_read)
{
    static const struct {
        unsigned most, bits, pieces;
        int sums;
    } rows[] = { { 8, 2, 8, 1 }, { 8, 1 | 4, 8, 0 }, { 1, 7, 1, 1 }, { 0, 0, 1, 0 }, { 17, 0, 17, 0 } };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct answer answer = answer_of(rows[i].most, rows[i].bits);
        const struct port_netdev driver = driver_of(&answer, sizeof answer);

        CHECK(driver.answers);
        CHECK_EQ_U(driver.pieces_max, rows[i].pieces);
        CHECK_EQ_I(driver.completes_sums, rows[i].sums);
    }
}

UNIT_TEST(an_answer_that_is_none_says_nothing)
{
    struct answer answer = answer_of(8, 2);
    struct port_netdev driver;

    for (size_t n = 0; n < sizeof answer; n++) {
        driver = driver_of(&answer, n);
        CHECK_EQ_I(driver.answers, n >= offsetof(struct answer, pieces));
        CHECK_EQ_U(driver.pieces_max, n >= offsetof(struct answer, features) ? 8 : 1);
        CHECK_EQ_I(driver.completes_sums, 0);
    }
    answer.pieces.nla_len = 3; /* less than its own header: no way past it */
    driver = driver_of(&answer, sizeof answer);
    CHECK(driver.answers && driver.pieces_max == 1 && !driver.completes_sums);
    answer.pieces.nla_len = 7; /* another size than it should have */
    driver = driver_of(&answer, sizeof answer);
    CHECK(driver.pieces_max == 1 && driver.completes_sums);
    answer.pieces.nla_len = 8;
    answer.pieces.nla_type |= NLA_F_NET_BYTEORDER; /* a flag beside the number of the attribute */
    driver = driver_of(&answer, sizeof answer);
    CHECK(driver.pieces_max == 8 && driver.completes_sums);
    answer.pieces.nla_len = 20; /* larger than it should be, and all that is left */
    driver = driver_of(&answer, sizeof answer);
    CHECK(driver.answers && driver.pieces_max == 1 && !driver.completes_sums);
    answer.pieces.nla_len = 8;
    answer.header.nlmsg_len = offsetof(struct answer, features); /* what lies behind it is not of it */
    driver = driver_of(&answer, sizeof answer);
    CHECK(driver.answers && driver.pieces_max == 8 && !driver.completes_sums);
    answer.header.nlmsg_len = sizeof answer;
    answer.header.nlmsg_type = NLMSG_ERROR;
    driver = driver_of(&answer, sizeof answer);
    CHECK(!driver.answers && driver.pieces_max == 1 && !driver.completes_sums);
}

int main(void)
{
    UNIT_RUN(what_a_driver_says_of_itself_is_read);
    UNIT_RUN(an_answer_that_is_none_says_nothing);
    return unit_end();
}
