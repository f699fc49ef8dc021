/* SPDX-License-Identifier: MIT */
/* Pools of mbufs, and when they end. */
#include <stdio.h>
#include <stdlib.h>

#include "dpdk_internal.h"

enum { CACHE = 256, MBUFS_MIN = 511 };

static struct dpdk_memories waiting; /* for the last of their mbufs to come back */

/* What does not change any more. */
static void init_mbuf(struct rte_mempool *pool, void *memory, void *object, unsigned number)
{
    struct rte_mbuf *mbuf = object;
    struct dpdk_private *priv = rte_mbuf_to_priv(mbuf);

    (void)pool;
    (void)number;
    priv->tx.data = RTE_PTR_ADD(mbuf->buf_addr, RTE_PKTMBUF_HEADROOM);
    priv->tx.size = (tenon_u32)mbuf->buf_len - RTE_PKTMBUF_HEADROOM;
    priv->home = memory;
}

static struct rte_mempool *make_pool(struct dpdk_memory *memory, unsigned n, tenon_u32 room)
{
    static unsigned count;
    char name[RTE_MEMPOOL_NAMESIZE];
    struct rte_mempool *pool;

    snprintf(name, sizeof name, DPDK_POOL "%u", count++);
    pool = rte_pktmbuf_pool_create(name, RTE_MAX(n, (unsigned)MBUFS_MIN), CACHE, sizeof(struct dpdk_private),
                                   (uint16_t)(room + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
    if (pool != NULL)
        (void)rte_mempool_obj_iter(pool, init_mbuf, memory);
    return pool;
}

static void end(struct dpdk_memory *memory)
{
    rte_mempool_free(memory->rx);
    rte_mempool_free(memory->tx);
    free(memory);
}

static void sweep(void)
{
    struct dpdk_memory *memory, *next;

    for (memory = LIST_FIRST(&waiting); memory != NULL; memory = next) {
        next = LIST_NEXT(memory, next);
        if (!rte_mempool_full(memory->rx) || !rte_mempool_full(memory->tx))
            continue;
        LIST_REMOVE(memory, next);
        end(memory);
    }
}

void dpdk_memory_put(struct dpdk_memory *memory)
{
    if (memory == NULL)
        return;
    if (memory->nready > 0)
        rte_mempool_put_bulk(memory->tx, memory->ready, memory->nready);
    LIST_INSERT_HEAD(&waiting, memory, next);
    sweep();
}

struct dpdk_memory *dpdk_memory_get(tenon_u32 room, size_t bytes)
{
    const size_t each = sizeof(struct rte_mbuf) + sizeof(struct dpdk_private) + RTE_PKTMBUF_HEADROOM + room + 64;
    const unsigned n = (unsigned)(bytes / each);
    struct dpdk_memory *memory = calloc(1, sizeof *memory);

    sweep();
    if (memory == NULL)
        return NULL;
    memory->bytes = n * each;
    memory->rx = make_pool(memory, n - n / 4, room);
    memory->tx = make_pool(memory, n / 4, room);
    if (memory->rx != NULL && memory->tx != NULL)
        return memory;
    end(memory);
    return NULL;
}
