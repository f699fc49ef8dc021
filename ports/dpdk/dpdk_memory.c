/* SPDX-License-Identifier: MIT */
/* Packet memory: mbuf and struct tenon_buf are one object.
 *
 *      | struct rte_mbuf | struct dpdk_private | headroom | bytes of a frame ... |
 *          DPDK's part       tx: for headers, rx: for what has been received
 *
 * All references that Tenon counts in a tenon_buf are one reference of the mbuf. DPDK counts atomically, so
 * that another thread may give back what this one has sent.
 *
 * An mbuf describes one piece of bytes only. A header becomes the device's with its mbuf. For all else
 * (payload that waits for its acknowledgement, what was received and is passed on) there are shells, which
 * refer to the bytes. Those of the program's own memory are held, each by a struct dpdk_hold, until DPDK
 * calls hold_release(): possibly in another thread, so it only puts the hold on a list. */
#include <stdio.h>
#include <stdlib.h>

#include <rte_errno.h>

#include "dpdk_internal.h"

enum { CACHE = 256, SHELLS = 4095, BUFS_MIN = 511 };

static struct dpdk_memory *waiting; /* for the last of their mbufs to come back */

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/* Most are wanted again soon, by this very thread: a few stay out of the pool. */
void dpdk_tx_release(struct tenon_buf *buf)
{
    struct dpdk_memory *memory = TENON_CONTAINER(buf, struct dpdk_private, tx)->home;
    struct rte_mbuf *mbuf = dpdk_mbuf_of(buf);

    if (memory->nready < DPDK_READY && rte_mbuf_refcnt_read(mbuf) == 1)
        memory->ready[memory->nready++] = mbuf;
    else
        rte_pktmbuf_free_seg(mbuf);
}

/* The mbuf has become the device's. */
void dpdk_handed_release(struct tenon_buf *buf)
{
    (void)buf;
}

void dpdk_rx_release(struct tenon_buf *buf)
{
    rte_pktmbuf_free_seg(dpdk_mbuf_of(buf));
}

static int refill(struct dpdk_memory *memory)
{
    unsigned n = DPDK_READY / 2;

    while (n > 0 && rte_mempool_get_bulk(memory->tx, (void **)memory->ready, n) != 0)
        n /= 2;
    memory->nready = n;
    return n > 0;
}

unsigned dpdk_memory_bufs(struct dpdk_memory *memory, struct tenon_buf **bufs, unsigned n)
{
    unsigned got;

    for (got = 0; got < n && (memory->nready > 0 || refill(memory)); got++) {
        struct rte_mbuf *mbuf = memory->ready[--memory->nready];
        struct dpdk_private *priv = rte_mbuf_to_priv(mbuf);

        priv->tx = (struct tenon_buf){ RTE_PTR_ADD(mbuf->buf_addr, RTE_PKTMBUF_HEADROOM),
                                       (tenon_u32)mbuf->buf_len - RTE_PKTMBUF_HEADROOM, 1, dpdk_tx_release };
        priv->home = memory;
        bufs[got] = &priv->tx;
    }
    return got;
}

/* ---- bytes that lie elsewhere ------------------------------------------------------------------------------- */

static void hold_release(void *bytes, void *arg)
{
    struct dpdk_hold *hold = arg;
    _Atomic(struct dpdk_hold *) *returned = &hold->home->returned;

    (void)bytes;
    hold->next = atomic_load_explicit(returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(returned, &hold->next, hold, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

void dpdk_memory_reap(struct dpdk_memory *memory)
{
    struct dpdk_hold *hold;

    if (atomic_load_explicit(&memory->returned, memory_order_relaxed) == NULL)
        return;
    hold = atomic_exchange_explicit(&memory->returned, NULL, memory_order_acquire);
    while (hold != NULL) {
        struct dpdk_hold *next = hold->next;
        struct tenon_buf *buf = hold->buf;

        hold->buf = NULL;
        hold->next = memory->free;
        memory->free = hold;
        hold = next;
        if (buf != NULL)
            tenon_buf_put(buf);
    }
}

/* A shell for these bytes. @return NULL: there is none left */
struct rte_mbuf *dpdk_refer(struct dpdk_memory *memory, const struct tenon_span *span)
{
    struct rte_mbuf *own = dpdk_mbuf_of(span->buf), *shell;
    struct dpdk_hold *hold = memory->free;

    if (own == NULL && hold == NULL)
        return NULL;
    shell = rte_pktmbuf_alloc(memory->shells);
    if (shell == NULL)
        return NULL;
    if (own != NULL) {
        rte_pktmbuf_attach(shell, own);
        shell->data_off = (uint16_t)RTE_PTR_DIFF(tenon_span_data(span), shell->buf_addr);
    } else {
        memory->free = hold->next;
        hold->buf = span->buf;
        tenon_buf_ref(span->buf);
        rte_mbuf_ext_refcnt_set(&hold->shared, 1);
        rte_pktmbuf_attach_extbuf(shell, tenon_span_data(span), (rte_iova_t)(uintptr_t)tenon_span_data(span),
                                  (uint16_t)span->len, &hold->shared);
        shell->data_off = 0;
    }
    shell->data_len = (uint16_t)span->len;
    shell->pkt_len = span->len;
    return shell;
}

/* ---- pools -------------------------------------------------------------------------------------------------- */

static struct rte_mempool *make_pool(unsigned n, tenon_u32 room)
{
    static unsigned count;
    char name[RTE_MEMPOOL_NAMESIZE];

    snprintf(name, sizeof name, "tenon%u", count++);
    return rte_pktmbuf_pool_create(name, n, CACHE, RTE_ALIGN_CEIL(sizeof(struct dpdk_private), RTE_MBUF_PRIV_ALIGN),
                                   (uint16_t)(room > 0 ? room + RTE_PKTMBUF_HEADROOM : 0), SOCKET_ID_ANY);
}

static int is_back(const struct rte_mempool *pool)
{
    return pool == NULL || rte_mempool_full(pool);
}

static void free_pools(struct dpdk_memory *memory)
{
    rte_mempool_free(memory->rx);
    rte_mempool_free(memory->tx);
    rte_mempool_free(memory->shells);
    free(memory->holds);
    free(memory);
}

static void sweep(void)
{
    struct dpdk_memory **at = &waiting;

    while (*at != NULL) {
        struct dpdk_memory *memory = *at;

        if (!is_back(memory->rx) || !is_back(memory->tx) || !is_back(memory->shells)) {
            at = &memory->next;
            continue;
        }
        *at = memory->next;
        free_pools(memory);
    }
}

void dpdk_memory_end(struct dpdk_memory *memory)
{
    dpdk_memory_reap(memory);
    for (unsigned i = 0; i < memory->nholds; i++) {
        struct tenon_buf *buf = memory->holds[i].buf;

        memory->holds[i].buf = NULL;
        if (buf != NULL)
            tenon_buf_put(buf);
    }
}

void dpdk_memory_put(struct dpdk_memory *memory)
{
    if (memory == NULL)
        return;
    rte_mempool_put_bulk(memory->tx, (void *const *)memory->ready, memory->nready);
    memory->nready = 0;
    memory->next = waiting;
    waiting = memory;
    sweep();
}

struct dpdk_memory *dpdk_memory_get(tenon_u32 room, size_t bytes)
{
    const size_t each = sizeof(struct rte_mbuf) + sizeof(struct dpdk_private) + RTE_PKTMBUF_HEADROOM + room + 64;
    const unsigned n = RTE_MAX((unsigned)(bytes / each), 2u * BUFS_MIN);
    struct dpdk_memory *memory = calloc(1, sizeof *memory);

    if (memory == NULL)
        return NULL;
    sweep();
    memory->rx = make_pool(n - n / 4, room);
    memory->tx = memory->rx != NULL ? make_pool(RTE_MAX(n / 4, (unsigned)BUFS_MIN), room) : NULL;
    memory->shells = memory->tx != NULL ? make_pool(SHELLS, 0) : NULL;
    memory->holds = memory->shells != NULL ? calloc(SHELLS, sizeof *memory->holds) : NULL;
    if (memory->holds == NULL) {
        free_pools(memory);
        return NULL;
    }
    memory->bytes = n * each;
    memory->nholds = SHELLS;
    for (unsigned i = 0; i < SHELLS; i++) {
        struct dpdk_hold *hold = &memory->holds[i];

        hold->home = memory;
        hold->shared.free_cb = hold_release;
        hold->shared.fcb_opaque = hold;
        hold->next = memory->free;
        memory->free = hold;
    }
    return memory;
}
