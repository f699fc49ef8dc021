/* SPDX-License-Identifier: MIT */
#include "ports.h"

#include "ends.h"
#include "ports/common/built.h"

#include <stdio.h>
#include <string.h>

static struct port *open_ports[2];    /* the client's, the server's */
static struct speed_end ends[2];

static void end_netif_conf(void *self, struct tenon_netif_conf *out)
{
    port_netif_conf(self, out);
}

static void end_receive(void *self, struct tenon *stack, uint32_t now_us)
{
    (void)port_receive(self, stack, 1, now_us);
}

static uint64_t end_frames(void *self)
{
    struct port_stats stats;

    port_stats(self, &stats);
    return stats.tx_frames;
}

static int open_one(unsigned i, const char *written, char *error, size_t error_size)
{
    struct port_choice choice;

    if (port_read(&choice, ports_built, written, error, error_size) != 0)
        return -1;
    open_ports[i] = port_open(choice.type, &choice.conf, error, error_size);
    if (open_ports[i] == NULL)
        return -1;
    ends[i] = (struct speed_end){ choice.type->host, open_ports[i], end_netif_conf, end_receive, end_frames };
    return 0;
}

/* @return one without kind: there is none */
static const struct speed_cable *find_cable(const char *kind)
{
    const struct speed_cable *cable = speed_cables;

    while (cable->kind && strcmp(cable->kind, kind) != 0)
        cable++;
    return cable;
}

int speed_ports_check(const char *const written[2], char *error, size_t error_size)
{
    struct port_choice choice;
    unsigned i;

    if (!written[1] && !find_cable(written[0])->kind)
        return port_explain(error, error_size, "the kind \"%s\" makes no cable by itself in this build: write --port "
                                               "KIND:NAME twice, the server's end first",
                            written[0]);
    for (i = 0; written[1] && i < 2; i++)
        if (port_read(&choice, ports_built, written[i], error, error_size) != 0)
            return -1;
    return 0;
}

static int open_cable(const char *kind, char *error, size_t error_size)
{
    static unsigned made;
    const struct speed_cable *cable = find_cable(kind);
    char name[2][16], written[2][64];
    const char *const names[2] = { name[0], name[1] };
    unsigned i;

    for (i = 0; i < 2; i++) {
        snprintf(name[i], sizeof name[i], "bench%u", made++ % 1000);
        snprintf(written[i], sizeof written[i], "%s:%s%s", kind, cable->prefix, name[i]);
    }
    if (cable->make(names, 1, error, error_size) != 0)
        return -1;
    return open_one(1, written[1], error, error_size) || open_one(0, written[0], error, error_size) ? -1 : 0;
}

int speed_ports_open(const char *const written[2], char *error, size_t error_size)
{
    int status;

    if (written[1])
        status = open_one(1, written[0], error, error_size) || open_one(0, written[1], error, error_size);
    else
        status = open_cable(written[0], error, error_size);
    if (status != 0) {
        speed_ports_close();
        return -1;
    }
    speed_tenon_ends = ends;
    return 0;
}

void speed_ports_close(void)
{
    unsigned i;

    speed_tenon_ends = NULL;
    for (i = 0; i < 2; i++) {
        if (open_ports[i])
            port_close(open_ports[i]);
        open_ports[i] = NULL;
    }
}
