/* SPDX-License-Identifier: MIT */
/* DPDK has failed to start, and the process wants another port. Each case is a process of its own, in
 * ordinary memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../tests/unit/unit.h"
#include "../dpdk.h"

#define ORDINARY ",eal=--no-huge --no-shconf --no-pci --no-telemetry -m 128 --iova-mode=va"
#define GOOD "dpdk:net_null0" ORDINARY
#define BOGUS "dpdk:net_bogus0" ORDINARY
#define UNKNOWN GOOD " --nonsense"
#define TOO_MUCH "dpdk:net_null0,eal=--no-huge --no-shconf --no-pci --no-telemetry -m 100000000" /* 95 TB */

/* @return what was said; "": it is open, and was closed again */
static const char *open_one(const char *written)
{
    static const struct port_type *const types[] = { &dpdk_port_type, NULL };
    static char error[600];
    struct port_choice choice;
    struct port *port = NULL;

    error[0] = 0;
    if (port_read(&choice, types, written, error, sizeof error) == 0)
        port = port_open(&dpdk_port_type, &choice.conf, error, sizeof error);
    if (port != NULL)
        port_close(port);
    return error;
}

/* Whether the first fails with its reason, and the next ones are told that one has. */
static int fails_for_good(const char *first, const char *reason)
{
    const char *said = open_one(first);
    int right = strstr(said, "DPDK cannot be started") != NULL && strstr(said, reason) != NULL;

    for (unsigned i = 0; i < 2; i++) {
        printf("%s\n", said);
        said = open_one(GOOD);
        right &= strstr(said, "begin the program anew") != NULL;
    }
    printf("%s\n", said);
    fflush(stdout);
    return right;
}

static int in_child(int (*what)(const char *, const char *), const char *first, const char *reason)
{
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        exit(what(first, reason) ? 0 : 1);
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

UNIT_TEST(a_start_that_has_failed_is_the_last)
{
    CHECK(in_child(fails_for_good, UNKNOWN, "Invalid 'command line' arguments"));
    CHECK(in_child(fails_for_good, TOO_MUCH, "memseg list"));
}

/* What fails is a device, and not DPDK. */
static int opens_after(const char *first, const char *reason)
{
    const int right = strstr(open_one(first), reason) != NULL;

    return right && open_one(GOOD)[0] == 0;
}

UNIT_TEST(a_device_that_there_is_not_does_no_harm)
{
    CHECK(in_child(opens_after, BOGUS, "has no device 'net_bogus0'"));
}

int main(void)
{
    UNIT_RUN(a_start_that_has_failed_is_the_last);
    UNIT_RUN(a_device_that_there_is_not_does_no_harm);
    return unit_end();
}
