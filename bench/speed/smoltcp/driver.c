/* SPDX-License-Identifier: MIT */
/* The driver for smoltcp: the functions are in lib.rs. */
#include "harness.h"

const char *smoltcp_open(const struct speed_conf *conf, struct speed_count *count);
void smoltcp_begin(void);
void smoltcp_run(unsigned long turns);
void smoltcp_connect(unsigned long connections);
void smoltcp_rest(void);
void smoltcp_request(unsigned connection);
void smoltcp_close(void);
void smoltcp_answered(unsigned connection);

/* What lib.rs calls. */
void smoltcp_answered(unsigned connection)
{
    speed_answered(connection);
}

void smoltcp_close(void)
{
}

static const char *driver_open(const struct speed_conf *conf, struct speed_count *count)
{
    return conf->ip6 ? "smoltcp was built for IPv4 only" : smoltcp_open(conf, count);
}

static const struct speed_driver speed_smoltcp = { "smoltcp", driver_open, smoltcp_begin, smoltcp_run,
    smoltcp_connect, smoltcp_rest, smoltcp_request, smoltcp_close, 0, NULL };

int main(int argc, char **argv)
{
    static const struct speed_driver *const drivers[] = { &speed_smoltcp, NULL };

    return speed_main(argc, argv, drivers);
}
