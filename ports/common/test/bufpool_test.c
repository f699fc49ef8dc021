/* SPDX-License-Identifier: MIT */
/* The bounded pool of packet buffers. */
#include "../../../tests/unit/unit.h"
#include "../bufpool.h"

enum { MANY = 4096 };

UNIT_TEST(get_gives_distinct_buffers)
{
    static struct tenon_buf *bufs[MANY];
    struct bufpool pool;
    unsigned n;

    port_bufpool_init(&pool, 2048, 4u << 20);
    CHECK_EQ_U(pool.bufs, 0);
    n = port_bufpool_get_many(&pool, bufs, 300);
    CHECK_EQ_U(n, 300);
    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ_U(bufs[i]->refs, 1);
        CHECK_EQ_U(bufs[i]->size, 2048);
        memset(bufs[i]->data, (int)i, bufs[i]->size);
    }
    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ_U(bufs[i]->data[0], i & 0xFF);
        CHECK_EQ_U(bufs[i]->data[2047], i & 0xFF);
        tenon_buf_put(bufs[i]);
    }
    CHECK_EQ_U(pool.in_use, 0);
    CHECK_EQ_U(pool.in_use_peak, 300);
    CHECK_EQ_U(pool.failures, 0);
    port_bufpool_fini(&pool);
}

UNIT_TEST(limit_is_hard_and_counted)
{
    static struct tenon_buf *bufs[MANY];
    struct bufpool pool;
    unsigned n, max;

    port_bufpool_init(&pool, 2048, 1u << 20);
    max = pool.bufs_max;
    CHECK(max > 400 && max <= 512);
    n = port_bufpool_get_many(&pool, bufs, MANY);
    CHECK_EQ_U(n, max);
    CHECK_EQ_U(pool.failures, 1);
    CHECK(port_bufpool_get(&pool) == NULL);
    CHECK_EQ_U(pool.failures, 2);
    tenon_buf_put(bufs[7]);
    CHECK(port_bufpool_get(&pool) == bufs[7]);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    CHECK_EQ_U(pool.in_use, 0);
    CHECK_EQ_U(pool.bufs, max);
    port_bufpool_fini(&pool);
}

UNIT_TEST(last_owner_gives_it_back)
{
    struct bufpool pool;
    struct tenon_buf *buf;

    port_bufpool_init(&pool, 65536, 1);
    CHECK(pool.bufs_max >= 1);
    buf = port_bufpool_get(&pool);
    tenon_buf_ref(buf);
    tenon_buf_put(buf);
    CHECK_EQ_U(pool.in_use, 1);
    tenon_buf_put(buf);
    CHECK_EQ_U(pool.in_use, 0);
    CHECK(port_bufpool_get(&pool) == buf);
    tenon_buf_put(buf);
    port_bufpool_fini(&pool);
}

int main(void)
{
    UNIT_RUN(get_gives_distinct_buffers);
    UNIT_RUN(limit_is_hard_and_counted);
    UNIT_RUN(last_owner_gives_it_back);
    return unit_end();
}
