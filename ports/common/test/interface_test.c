/* SPDX-License-Identifier: MIT */
/* Whether an interface is still there. */
#include <net/if.h>
#include <sys/resource.h>

#include "../../../tests/unit/unit.h"
#include "../interface.h"

UNIT_TEST(an_interface_is_there_or_is_not)
{
    CHECK(port_interface_exists(if_nametoindex("lo")));
    CHECK(!port_interface_exists(0));
    CHECK(!port_interface_exists(0x7FFFFFFF));
}

/* As long as it cannot be asked, it is there: a port that thought otherwise would end its program. */
UNIT_TEST(without_a_descriptor_to_ask_by_it_is_there)
{
    const unsigned lo = if_nametoindex("lo");
    struct rlimit limit, none;

    CHECK_EQ_I(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    CHECK_EQ_I(setrlimit(RLIMIT_NOFILE, &none), 0);
    CHECK(port_interface_exists(lo));
    CHECK(!port_interface_exists(0));
    CHECK_EQ_I(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int main(void)
{
    UNIT_RUN(an_interface_is_there_or_is_not);
    UNIT_RUN(without_a_descriptor_to_ask_by_it_is_there);
    return unit_end();
}
