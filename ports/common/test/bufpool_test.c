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
    for (n = 0; n < MANY && (bufs[n] = port_bufpool_get(&pool)) != NULL;)
        n++;
    CHECK_EQ_U(n, max);
    CHECK_EQ_U(pool.failures, 1);
    CHECK_EQ_U(port_bufpool_get_many(&pool, bufs + n, 1), 0);
    CHECK(pool.failures > 1);
    tenon_buf_put(bufs[7]);
    CHECK(port_bufpool_get(&pool) == bufs[7]);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    CHECK_EQ_U(pool.in_use, 0);
    CHECK_EQ_U(pool.bufs, max);
    port_bufpool_fini(&pool);
}

/* Three quarters, whatever was done with them before. */
UNIT_TEST(those_who_send_leave_a_quarter)
{
    static struct tenon_buf *bufs[MANY];
    struct bufpool pool;
    unsigned n, max, more;

    port_bufpool_init(&pool, 2048, 1u << 20);
    max = pool.bufs_max;
    for (int round = 0; round < 2; round++) {
        n = port_bufpool_get_many(&pool, bufs, MANY);
        CHECK_EQ_U(n, max - max / 4);
        CHECK_EQ_U(port_bufpool_get_many(&pool, bufs + n, 1), 0);
        for (more = 0; n + more < MANY && (bufs[n + more] = port_bufpool_get(&pool)) != NULL;)
            more++;
        CHECK_EQ_U(n + more, max);
        tenon_buf_put(bufs[--n]);
        CHECK_EQ_U(port_bufpool_get_many(&pool, bufs + n, 2), 1);
        for (n = 0; n < max; n++)
            tenon_buf_put(bufs[n]);
        CHECK_EQ_U(pool.in_use, 0);
        CHECK_EQ_U(pool.sending, 0);
    }
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
    UNIT_RUN(those_who_send_leave_a_quarter);
    UNIT_RUN(last_owner_gives_it_back);
    return unit_end();
}
