/* SPDX-License-Identifier: MIT */
/* The hash table against an array that knows who is in. */
#include <stdlib.h>

#include "unit.h"
#include "base/htab.h"
#include "base/seq.h"

enum { NODES = 3000 };

struct memory {
    unsigned long seed;
    unsigned fail_per_mille;
    unsigned calls;
    size_t held;      /* bytes */
    size_t largest;
};

static void *memory_get(void *ctx, size_t bytes)
{
    struct memory *memory = (struct memory *)ctx;
    void *mem;

    memory->calls++;
    if (unit_random(&memory->seed) % 1000 < memory->fail_per_mille)
        return NULL;
    mem = malloc(bytes);
    if (mem == NULL)
        return NULL;
    memset(mem, 0xA5, bytes);    /* the table may not count on zeros */
    memory->held += bytes;
    if (bytes > memory->largest)
        memory->largest = bytes;
    return mem;
}

static void memory_put(void *ctx, void *mem, size_t bytes)
{
    struct memory *memory = (struct memory *)ctx;

    CHECK(bytes <= memory->held);
    memory->held -= bytes;
    free(mem);
}

static struct tn_hnode nodes[NODES];
static int is_in[NODES];

static int found(const struct tn_htab *table, const struct tn_hnode *wanted)
{
    const struct tn_hnode *node = tn_htab_chain(table, wanted->hash);

    while (node != NULL && node != wanted)
        node = node->next;
    return node == wanted;
}

/* Everybody who is in is found, and a walk meets everybody once. */
static void check_all(const struct tn_htab *table)
{
    tenon_u32 met = 0, count = 0, i;
    const struct tn_hnode *node;

    for (i = 0; i < NODES; i++) {
        count += is_in[i] != 0;
        if (is_in[i])
            CHECK(found(table, &nodes[i]));
    }
    CHECK_EQ_U(table->count, count);
    for (i = 0; i < table->buckets; i++) {
        for (node = tn_htab_bucket(table, i); node != NULL; node = node->next) {
            met++;
            CHECK(is_in[node - nodes]);
            CHECK(tn_htab_chain(table, node->hash) == tn_htab_bucket(table, i));
        }
    }
    CHECK_EQ_U(met, count);
}

/* hash_mask narrows the hashes down: with few bits there are many of the same. */
static void run_random(struct memory *memory, tenon_u32 hash_mask)
{
    struct tn_htab table;
    unsigned long seed = 0xC0FFEE;
    unsigned step, i;

    memset(is_in, 0, sizeof(is_in));
    tn_htab_init(&table, memory_get, memory_put, memory);
    for (step = 0; step < 60000; step++) {
        const tenon_u32 before = table.buckets;
        const unsigned want_full = step / 10000 % 2 == 0;    /* fill and empty it in turns */

        i = (unsigned)(unit_random(&seed) % NODES);
        if (is_in[i] && (!want_full || step % 4 == 0)) {
            tn_htab_remove(&table, &nodes[i]);
            is_in[i] = 0;
        } else if (!is_in[i] && (want_full || step % 4 == 0)) {
            tn_htab_insert(&table, &nodes[i], (tenon_u32)unit_random(&seed) & hash_mask);
            is_in[i] = 1;
        }
        if (is_in[i] && step % 8 == 0) {    /* another one in its place, and back */
            struct tn_hnode other = nodes[i];

            tn_htab_replace(&table, &nodes[i], &other);
            CHECK(nodes[i].next == NULL);
            tn_htab_replace(&table, &other, &nodes[i]);
        }
        CHECK(table.buckets - before <= 1);
        if (step % 5000 == 4999)
            check_all(&table);
    }
    for (i = 0; i < NODES; i++) {
        if (is_in[i])
            tn_htab_remove(&table, &nodes[i]);
        is_in[i] = 0;
    }
    check_all(&table);
    tn_htab_fini(&table);
    CHECK_EQ_U(memory->held, 0);
}

UNIT_TEST(random_operations_memory_at_hand)
{
    struct memory memory = { 1, 0, 0, 0, 0 };

    run_random(&memory, 0xFFFFFFFFUL);
    CHECK(memory.largest >= 512 * sizeof(void *));    /* it did grow */
}

UNIT_TEST(random_operations_memory_fails_often)
{
    struct memory memory = { 1, 900, 0, 0, 0 };

    run_random(&memory, 0xFFFFFFFFUL);
    CHECK(memory.calls > 10);
}

UNIT_TEST(random_operations_memory_fails_always)
{
    struct memory memory = { 1, 1000, 0, 0, 0 };

    run_random(&memory, 0xFFFFFFFFUL);
    CHECK(memory.calls > 0);
}

UNIT_TEST(random_operations_hashes_collide)
{
    struct memory memory = { 1, 0, 0, 0, 0 };

    run_random(&memory, 0x3F);
    run_random(&memory, 0);
}

UNIT_TEST(empty_table_costs_nothing)
{
    struct memory memory = { 1, 0, 0, 0, 0 };
    struct tn_htab table;
    unsigned i;

    tn_htab_init(&table, memory_get, memory_put, &memory);
    CHECK(tn_htab_chain(&table, 12345) == NULL);
    for (i = 0; i < TN_HTAB_BASE; i++)
        tn_htab_insert(&table, &nodes[i], i * 0x9E3779B9UL);
    CHECK_EQ_U(memory.calls, 0);
    for (i = 0; i < TN_HTAB_BASE; i++)
        tn_htab_remove(&table, &nodes[i]);
    tn_htab_fini(&table);
}

/* One node per bucket on average, the longest chain short: with good hashes a search meets few nodes. */
UNIT_TEST(chains_stay_short_as_it_grows)
{
    struct memory memory = { 1, 0, 0, 0, 0 };
    struct tn_htab table;
    unsigned long seed = 5;
    unsigned i, length, longest = 0;
    const struct tn_hnode *node;

    tn_htab_init(&table, memory_get, memory_put, &memory);
    for (i = 0; i < NODES; i++) {
        tn_htab_insert(&table, &nodes[i], (tenon_u32)unit_random(&seed));
        CHECK_EQ_U(table.buckets, i < TN_HTAB_BASE ? TN_HTAB_BASE : i + 1);
    }
    for (i = 0; i < table.buckets; i++) {
        length = 0;
        for (node = tn_htab_bucket(&table, i); node != NULL; node = node->next)
            length++;
        longest = (unsigned)tn_max(longest, length);
    }
    CHECK(longest <= 12);
    for (i = 0; i < table.buckets; i++) {    /* a walk that removes as it goes */
        while (tn_htab_bucket(&table, i) != NULL)
            tn_htab_remove(&table, tn_htab_bucket(&table, i));
    }
    CHECK_EQ_U(table.count, 0);
    tn_htab_fini(&table);
    CHECK_EQ_U(memory.held, 0);
}

int main(void)
{
    UNIT_RUN(random_operations_memory_at_hand);
    UNIT_RUN(random_operations_memory_fails_often);
    UNIT_RUN(random_operations_memory_fails_always);
    UNIT_RUN(random_operations_hashes_collide);
    UNIT_RUN(empty_table_costs_nothing);
    UNIT_RUN(chains_stay_short_as_it_grows);
    return unit_end();
}
