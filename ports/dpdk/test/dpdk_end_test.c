/* SPDX-License-Identifier: MIT */
/* What the end of a process leaves of DPDK. A net_memif that listens leaves its socket with DPDK's thread for
 * interrupts, so memory has to be there until that thread is gone too: when a process ended between the two
 * it crashed. In ordinary memory, wherever the test runs: huge pages that lie in no file DPDK leaves to the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../tests/unit/unit.h"
#include "../dpdk.h"

#define ORDINARY "eal=--no-huge --no-shconf --no-pci --no-telemetry --iova-mode=va -m 256"

enum { THERE = 10, GONE, FAILED };

static struct tenon_buf *buf;

/* Registered before DPDK's own, so it comes after that. The kernel says whether there is something to read. */
static void look(void)
{
    int ends[2], there = -1;

    if (buf != NULL && pipe(ends) == 0)
        there = write(ends[1], buf, 1) == 1 ? THERE : errno == EFAULT ? GONE : FAILED;
    _exit(there);
}

/* A process that has opened this port, and ends. @return what its look() has seen */
static int end_with(const char *written)
{
    static const struct port_type *const types[] = { &dpdk_port_type, NULL };
    struct port_choice choice;
    char error[600] = "";
    struct port *port = NULL;
    int status = 0;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child > 0)
        return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    (void)atexit(look);
    if (port_read(&choice, types, written, error, sizeof error) == 0)
        port = port_open(&dpdk_port_type, &choice.conf, error, sizeof error);
    if (port == NULL)
        printf("%s\n", error);
    else if (dpdk_port_type.host->buf_get(port, &buf, 1) != 1)
        buf = NULL;
    exit(0);
}

UNIT_TEST(memory_goes_with_the_process_and_stays_where_a_memif_listens)
{
    char folder[] = "/tmp/tenon-dpdk-XXXXXX", written[300], path[100];

    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    snprintf(path, sizeof path, "%s/socket", folder);
    snprintf(written, sizeof written, "dpdk:{net_memif0,role=server,socket=%s,socket-abstract=no}," ORDINARY, path);
    CHECK_EQ_I(end_with("dpdk:net_null0," ORDINARY), GONE); /* look() can tell */
    CHECK_EQ_I(end_with(written), THERE);
    (void)unlink(path);
    CHECK(rmdir(folder) == 0);
}

int main(void)
{
    UNIT_RUN(memory_goes_with_the_process_and_stays_where_a_memif_listens);
    return unit_end();
}
