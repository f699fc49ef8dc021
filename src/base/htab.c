/* SPDX-License-Identifier: MIT */
/* Linear hashing. With 2^n <= buckets <= 2^(n+1), bucket numbers below buckets - 2^n have been split and take
 * n + 1 bits of the hash, the others take n: mask is 2^(n+1) - 1, and a number that is not there yet falls
 * back to the one that it will be split from.
 *
 * The buckets live in segments, each as large as all before it together, so that growing never moves one. */
#include "base/htab.h"
#include "base/bits.h"

/* Which segment holds bucket i, and where the bucket is in it. */
TENON_INLINE struct tn_hnode **htab_bucket_at(const struct tn_htab *table, tenon_u32 i)
{
    const unsigned highest = tn_bit_highest_of(i | (TN_HTAB_BASE - 1)), segment = highest - 4;
                                                              /* of 31, the first segment's last: 4 */

    return table->segments[segment] + (segment == 0 ? i : i ^ (tenon_u32)1 << highest);
}

TENON_INLINE tenon_u32 htab_index(const struct tn_htab *table, tenon_u32 hash)
{
    const tenon_u32 i = hash & table->mask;

    return i < table->buckets ? i : i & table->mask >> 1;
}

TENON_INTERNAL void tn_htab_init(struct tn_htab *table, tn_htab_mem_get mem_get, tn_htab_mem_put mem_put, void *ctx)
{
    unsigned i;

    for (i = 0; i < TN_HTAB_BASE; i++)
        table->first[i] = NULL;
    table->buckets = TN_HTAB_BASE;
    table->count = 0;
    if (!TENON_WITH_MANY)
        return;    /* it never grows */
    for (i = 0; i < TN_HTAB_SEGMENTS; i++)
        table->segments[i] = NULL;
    table->segments[0] = table->first;
    table->mask = TN_HTAB_BASE - 1;
    table->mem_get = mem_get;
    table->mem_put = mem_put;
    table->ctx = ctx;
}

/* Bytes of a segment after the first; 0: more than a size_t can say. */
static size_t htab_segment_bytes(unsigned segment)
{
    const tenon_u32 n = (tenon_u32)TN_HTAB_BASE << (segment - 1);
    const size_t bytes = (size_t)n * sizeof(struct tn_hnode *);

    return bytes / sizeof(struct tn_hnode *) == n ? bytes : 0;
}

TENON_INTERNAL void tn_htab_fini(struct tn_htab *table)
{
    unsigned i;

    TENON_ASSERT(table->count == 0);
    for (i = 1; i < TN_HTAB_SEGMENTS; i++) {
        if (table->segments[i] != NULL)
            table->mem_put(table->ctx, table->segments[i], htab_segment_bytes(i));
        table->segments[i] = NULL;
    }
    table->buckets = TN_HTAB_BASE;
    table->mask = TN_HTAB_BASE - 1;
}

/* Make room for bucket number table->buckets. A fresh segment stays as it comes: each bucket is written
 * when it comes into use. */
static int htab_room_for_one(struct tn_htab *table)
{
    const unsigned segment = tn_bit_highest_of(table->buckets) - 4;
    size_t bytes;

    if (segment >= TN_HTAB_SEGMENTS)
        return 0;
    if (table->segments[segment] != NULL)
        return 1;
    bytes = htab_segment_bytes(segment);
    if (bytes == 0)
        return 0;
    table->segments[segment] = (struct tn_hnode **)table->mem_get(table->ctx, bytes);
    return table->segments[segment] != NULL;
}

/* One bucket more: the nodes that belong there are in one other bucket. */
static void htab_split(struct tn_htab *table)
{
    struct tn_hnode **from, **to;
    tenon_u32 fresh;

    if (!htab_room_for_one(table))
        return;
    fresh = table->buckets++;
    if (fresh > table->mask)
        table->mask = table->mask << 1 | 1;
    from = htab_bucket_at(table, fresh & table->mask >> 1);
    to = htab_bucket_at(table, fresh);
    while (*from != NULL) {
        struct tn_hnode *const node = *from;

        if ((node->hash & table->mask) != fresh) {
            from = &node->next;
            continue;
        }
        *from = node->next;
        *to = node;
        to = &node->next;
    }
    *to = NULL;
}

TENON_INTERNAL TENON_ONCE_IF_SMALL void tn_htab_insert(struct tn_htab *table, struct tn_hnode *node, tenon_u32 hash)
{
    struct tn_hnode **bucket;

    if (TENON_WITH_MANY && table->count >= table->buckets)
        htab_split(table);
    table->count++;
    bucket = TENON_WITH_MANY ? htab_bucket_at(table, htab_index(table, hash)) : table->first;
    node->hash = hash;
    node->next = *bucket;
    *bucket = node;
}

/* What points to it; NULL is there if nothing does. */
static struct tn_hnode **htab_link_of(struct tn_htab *table, const struct tn_hnode *node)
{
    struct tn_hnode **at = TENON_WITH_MANY ? htab_bucket_at(table, htab_index(table, node->hash)) : table->first;

    while (*at != NULL && *at != node)
        at = &(*at)->next;
    TENON_ASSERT(*at == node);
    return at;
}

TENON_INTERNAL void tn_htab_replace(struct tn_htab *table, struct tn_hnode *node, struct tn_hnode *by)
{
    by->next = node->next;
    by->hash = node->hash;
    *htab_link_of(table, node) = by;
    node->next = NULL;
}

TENON_INTERNAL void tn_htab_remove(struct tn_htab *table, struct tn_hnode *node)
{
    struct tn_hnode **at = htab_link_of(table, node);

    if (*at == NULL)
        return;
    *at = node->next;
    node->next = NULL;
    table->count--;
}

TENON_INTERNAL struct tn_hnode *tn_htab_chain(const struct tn_htab *table, tenon_u32 hash)
{
    return TENON_WITH_MANY ? *htab_bucket_at(table, htab_index(table, hash)) : table->first[0];
}

TENON_INTERNAL struct tn_hnode *tn_htab_bucket(const struct tn_htab *table, tenon_u32 i)
{
    TENON_ASSERT(i < table->buckets);
    return TENON_WITH_MANY ? *htab_bucket_at(table, i) : table->first[0];
}
