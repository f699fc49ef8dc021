/* SPDX-License-Identifier: MIT */
/* How fast the Internet checksum is: a table of sizes and functions, in GB/s and against memcpy(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ports/common/hostsum.h"
#include "wire/checksum.h"

enum { ROUNDS = 5 };

static tenon_u8 from[70000], to[70000];
static volatile unsigned sink;    /* what is computed is used */
static hostsum_function *best;

static void work_memcpy(size_t n)
{
    memcpy(to, from, n);
    sink = to[n / 2];
}

static void work_sum(size_t n)
{
    sink = tn_csum_sum(from, n);
}

static void work_sum_odd(size_t n)
{
    sink = tn_csum_sum(from + 1, n);
}

/* What hostsum_best() has chosen; below 64 bytes, or if that is nothing, the core's own. */
static void work_hostsum(size_t n)
{
    sink = best == NULL || n < 64 ? tn_csum_sum(from, n) : best(from, n);
}

static void work_hostsum_odd(size_t n)
{
    sink = best == NULL || n < 64 ? tn_csum_sum(from + 1, n) : best(from + 1, n);
}

static void work_sum_then_memcpy(size_t n)
{
    sink = tn_csum_sum(from, n);
    memcpy(to, from, n);
    sink = to[n / 2];
}

static void work_copy(size_t n)
{
    sink = tn_csum_copy(to, from, n);
}

static void work_copy_odd(size_t n)
{
    sink = tn_csum_copy(to + 3, from + 1, n);
}

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Nanoseconds of one call: the best of some rounds of about 5 ms each. */
static double measure(void (*work)(size_t n), size_t n)
{
    const long calls = 1 + (long)(40000000 / (n + 200));
    double best = 1e9;
    int round;

    for (round = 0; round < ROUNDS; round++) {
        const double start = now_s();
        double took;
        long i;

        for (i = 0; i < calls; i++)
            work(n);
        took = (now_s() - start) / (double)calls;
        if (took < best)
            best = took;
    }
    return best * 1e9;
}

int main(void)
{
    static const size_t sizes[] = { 20, 64, 256, 536, 1448, 1460, 4096, 8960, 65535 };
    static const struct {
        const char *name;
        void (*work)(size_t n);
    } rows[] = {
        { "memcpy", work_memcpy },
        { "sum", work_sum },
        { "sum, odd address", work_sum_odd },
        { "hostsum", work_hostsum },
        { "hostsum, odd", work_hostsum_odd },
        { "sum, then memcpy", work_sum_then_memcpy },
        { "both at once", work_copy },
        { "... odd addresses", work_copy_odd }
    };
    size_t i, k;

    best = hostsum_best();
    for (i = 0; i < sizeof(from); i++)
        from[i] = (tenon_u8)(rand() & 0xFF);
    printf("%-18s", "GB/s (ns)");
    for (i = 0; i < TENON_ARRAY_LEN(sizes); i++)
        printf(" %7lu bytes", (unsigned long)sizes[i]);
    printf("\n");
    for (k = 0; k < TENON_ARRAY_LEN(rows); k++) {
        printf("%-18s", rows[k].name);
        for (i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            const double ns = measure(rows[k].work, sizes[i]);

            printf(" %6.1f (%4.0f)", (double)sizes[i] / ns, ns);
        }
        printf("\n");
    }
    return 0;
}
