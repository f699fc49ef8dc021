/* SPDX-License-Identifier: MIT */
#include "cable.h"

#include <stdio.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ring.h>

#include "../dpdk.h"

enum { SLOTS = 1024, QUEUES_MAX = 16, MEMORY = 64 << 20 };

int dpdk_cable(const char *const names[2], unsigned queues, char *error, size_t error_size)
{
    struct rte_ring *ring[2][QUEUES_MAX];
    char name[RTE_RING_NAMESIZE];

    if (queues == 0 || queues > QUEUES_MAX)
        return port_explain(error, error_size, "a cable has 1 to %u queues", QUEUES_MAX);
    if (dpdk_start("", NULL, MEMORY, error, error_size) != 0)
        return -1;
    for (unsigned i = 0; i < 2 * queues; i++) {
        struct rte_ring **made = &ring[i / queues][i % queues];

        snprintf(name, sizeof name, "%.16s.%u", names[i / queues], i % queues);
        *made = rte_ring_create(name, SLOTS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
        if (*made == NULL)
            return port_explain(error, error_size, "'%s': %s", name, rte_strerror(rte_errno));
    }
    for (unsigned i = 0; i < 2; i++)
        if (rte_eth_from_rings(names[i], ring[i], queues, ring[!i], queues, 0) < 0)
            return port_explain(error, error_size, "'%s': %s", names[i], rte_strerror(rte_errno));
    return 0;
}
