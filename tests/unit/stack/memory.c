/* SPDX-License-Identifier: MIT */
/* What tenon_mem_bytes() says is what is asked for. */
#include "harness.h"
#include "limits/pair.h"

static void both_close(struct tenon_tcp *conn, void *app)
{
    (void)app;
    tenon_tcp_close(conn);
}

static const struct tenon_tcp_events events = { .finished = both_close };

struct heap {
    struct pair pair;
    uint64_t before;
};

/* Bytes more than when this was asked last. */
static uint64_t heap_more(struct heap *heap)
{
    const uint64_t before = heap->before;
    struct wire_host_stats stats;

    wire_host_stats(heap->pair.host[0], &stats);
    heap->before = stats.mem_bytes;
    return heap->before - before;
}

static void heap_open(struct heap *heap)
{
    const struct tenon_addr there = pair_addr(1, 0, 7);
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    memset(heap, 0, sizeof *heap);
    tenon_conf_default(&conf);
    HN_CHECK(pair_open(&heap->pair, &conf));
    HN_EQUAL(tenon_tcp_listen(heap->pair.stack[1], &listener, &there, &events, NULL, 0), TENON_OK);
    (void)heap_more(heap);
}

static struct tenon_tcp *heap_connect(struct heap *heap, const struct tenon_addr *to)
{
    struct tenon_tcp *conn;

    HN_EQUAL(tenon_tcp_connect(heap->pair.stack[0], &conn, NULL, to, &events, NULL), TENON_OK);
    return conn;
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

static void ends_ask_for_it(void)
{
    const struct tenon_addr here = pair_addr(0, 0, 7);
    struct tenon_tcp_listener *listener;
    struct tenon_udp *sock;
    struct heap heap;

    heap_open(&heap);
    HN_EQUAL(tenon_udp_open(heap.pair.stack[0], &sock, NULL, NULL), TENON_OK);
    HN_EQUAL(heap_more(&heap), tenon_mem_bytes(TENON_MEM_UDP));
    HN_EQUAL(tenon_tcp_listen(heap.pair.stack[0], &listener, &here, &events, NULL, 0), TENON_OK);
    HN_EQUAL(heap_more(&heap), tenon_mem_bytes(TENON_MEM_LISTENER));
    HN_CHECK(pair_close(&heap.pair));
}

/* A path for each destination; a block, which another will use, and a record for who has said goodbye first. */
static void connections_ask_for_it(void)
{
    const size_t works = tenon_mem_bytes(TENON_MEM_CONN) + tenon_mem_bytes(TENON_MEM_BLOCK);
    const struct tenon_addr there = pair_addr(1, 0, 7), nowhere = pair_addr(8, 0, 7);
    struct tenon_tcp *conn;
    struct heap heap;

    heap_open(&heap);
    conn = heap_connect(&heap, &there);
    HN_EQUAL(heap_more(&heap), works + tenon_mem_bytes(TENON_MEM_PATH));
    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_KEEPALIVE_IDLE_S, 600), TENON_OK);
    HN_EQUAL(heap_more(&heap), tenon_mem_bytes(TENON_MEM_OPTIONS));
    conn = heap_connect(&heap, &there);
    HN_EQUAL(heap_more(&heap), works);
    (void)heap_connect(&heap, &nowhere);
    HN_EQUAL(heap_more(&heap), works + tenon_mem_bytes(TENON_MEM_PATH));
    pair_run(&heap.pair, 100000);
    (void)heap_more(&heap);    /* and a packet that waits for its neighbour */
    tenon_tcp_close(conn);
    pair_run(&heap.pair, 100000);
    HN_EQUAL(heap_more(&heap), tenon_mem_bytes(TENON_MEM_TIME_WAIT));
    HN_CHECK(pair_close(&heap.pair));
}

static void other_kinds_are_none(void)
{
    HN_EQUAL(tenon_mem_bytes((enum tenon_mem_kind)(TENON_MEM_PATH + 1)), 0);
    HN_EQUAL(tenon_mem_bytes((enum tenon_mem_kind)-1), 0);
}

static const struct hn_test tests[] = {
    { "ends_ask_for_it", "", ends_ask_for_it },
    { "connections_ask_for_it", "", connections_ask_for_it },
    { "other_kinds_are_none", "", other_kinds_are_none },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
