/* SPDX-License-Identifier: MIT */
/* Pools of mbufs, and when they end. */
#include "dpdk_internal.h"

enum { CACHE = 256, MBUFS_MIN = 511 };

/* If devices use our addresses, an mbuf may lie across two pages. Where these are small, each had one of its own
 * otherwise: twice the memory, and the same line of every mbuf would have the same few places in the processor's
 * cache. */
struct rte_mempool *dpdk_pool_get(size_t bytes, tenon_u32 room)
{
    static unsigned count;
    struct rte_pktmbuf_pool_private sizes = { .mbuf_data_room_size = (uint16_t)(room + RTE_PKTMBUF_HEADROOM),
                                              .mbuf_priv_size = sizeof(struct dpdk_private) };
    const size_t each = sizeof(struct rte_mbuf) + sizes.mbuf_priv_size + sizes.mbuf_data_room_size;
    const unsigned n = RTE_MAX((unsigned)(bytes / (each + RTE_CACHE_LINE_SIZE)), (unsigned)MBUFS_MIN);
    char name[RTE_MEMPOOL_NAMESIZE];

    snprintf(name, sizeof name, DPDK_POOL "+%u", count++);
    return rte_mempool_create(name, n, (unsigned)each, CACHE, sizeof sizes,
                              rte_pktmbuf_pool_init, &sizes, rte_pktmbuf_init, NULL, SOCKET_ID_ANY,
                              rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0);
}

static int refuse(int socket, size_t limit, size_t bytes)
{
    (void)socket, (void)limit, (void)bytes;
    return -1;
}

/* From here on DPDK has to do with the memory that it has; what it has taken at the start does not go either. A
 * net_virtio_user tells its other end of each change, and waits for the answer with a lock which the thread that is to
 * answer needs, if it is in this process: both would wait for ever. */
void dpdk_memory_hold(void)
{
    for (unsigned i = 0; i < rte_socket_count(); i++)
        (void)rte_mem_alloc_validator_register(DPDK_POOL, refuse, rte_socket_id_by_idx(i), 0);
}

/* The name of one that has been given up says so, "tenon-7": it outlives its port if somebody still has a
 * piece of it, the other end of a ring. */
static void find_complete(struct rte_mempool *pool, void *found)
{
    if (strncmp(pool->name, DPDK_POOL "-", sizeof DPDK_POOL) == 0 && rte_mempool_full(pool))
        *(struct rte_mempool **)found = pool;
}

/* @param pool  NULL: only those that have waited for the last of their mbufs */
void dpdk_pool_put(struct rte_mempool *pool)
{
    if (pool != NULL)
        pool->name[sizeof DPDK_POOL - 1] = '-';
    do {
        pool = NULL;
        rte_mempool_walk(find_complete, &pool);
        rte_mempool_free(pool);
    } while (pool != NULL);
}
