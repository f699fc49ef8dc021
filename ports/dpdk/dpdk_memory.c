/* SPDX-License-Identifier: MIT */
/* Pools of mbufs, and when they end. */
#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>

#include "dpdk_internal.h"

enum { CACHE = 256, MBUFS_MIN = 511 };

static struct dpdk_memory *waiting; /* for the last of their mbufs to come back */

static void init_mbuf(struct rte_mempool *pool, void *arg, void *object, unsigned number)
{
    struct rte_mbuf *mbuf = object;
    struct dpdk_private *priv = RTE_PTR_ADD(object, sizeof *mbuf);

    rte_pktmbuf_init(pool, arg, object, number);
    priv->tx.data = RTE_PTR_ADD(mbuf->buf_addr, RTE_PKTMBUF_HEADROOM); /* does not change any more */
    priv->tx.size = (tenon_u32)mbuf->buf_len - RTE_PKTMBUF_HEADROOM;
}

/* If devices use our addresses, an mbuf may lie across two pages. Where these are small, each had one of its own
 * otherwise: twice the memory, and the same line of every mbuf would have the same few places in the processor's
 * cache. */
static struct rte_mempool *make_pool(unsigned n, tenon_u32 room)
{
    static unsigned count;
    struct rte_pktmbuf_pool_private sizes = { .mbuf_data_room_size = (uint16_t)(room + RTE_PKTMBUF_HEADROOM),
                                              .mbuf_priv_size = sizeof(struct dpdk_private) };
    const size_t each = sizeof(struct rte_mbuf) + sizes.mbuf_priv_size + sizes.mbuf_data_room_size;
    char name[RTE_MEMPOOL_NAMESIZE];

    snprintf(name, sizeof name, DPDK_POOL "%u", count++);
    return rte_mempool_create(name, RTE_MAX(n, (unsigned)MBUFS_MIN), (unsigned)each, CACHE, sizeof sizes,
                              rte_pktmbuf_pool_init, &sizes, init_mbuf, NULL, SOCKET_ID_ANY,
                              rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0);
}

static int is_complete(const struct rte_mempool *pool)
{
    return pool == NULL || rte_mempool_full(pool);
}

void dpdk_memory_put(struct dpdk_memory *memory)
{
    struct dpdk_memory **at = &waiting;

    if (memory != NULL) {
        memory->next = waiting;
        waiting = memory;
    }
    while ((memory = *at) != NULL) {
        if (!is_complete(memory->rx) || !is_complete(memory->tx)) {
            at = &memory->next;
            continue;
        }
        *at = memory->next;
        rte_mempool_free(memory->rx);
        rte_mempool_free(memory->tx);
        free(memory);
    }
}

struct dpdk_memory *dpdk_memory_get(tenon_u32 room, size_t bytes)
{
    const size_t each = sizeof(struct rte_mbuf) + sizeof(struct dpdk_private) + RTE_PKTMBUF_HEADROOM + room + 64;
    const unsigned n = (unsigned)(bytes / each);
    struct dpdk_memory *memory = calloc(1, sizeof *memory);

    dpdk_memory_put(NULL);
    if (memory == NULL)
        return NULL;
    memory->bytes = n * each;
    memory->rx = make_pool(n - n / 4, room);
    memory->tx = make_pool(n / 4, room);
    if (memory->rx != NULL && memory->tx != NULL)
        return memory;
    dpdk_memory_put(memory);
    return NULL;
}
