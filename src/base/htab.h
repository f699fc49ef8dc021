/* SPDX-License-Identifier: MIT */
/* A hash table of nodes that live in their owners' structs. It grows by linear hashing: each insertion
 * splits at most one bucket, so no call ever pays for the whole table (Litwin 1980). It never shrinks before
 * tn_htab_fini(): a walk over the buckets may remove nodes as it goes (but not insert: a split moves nodes
 * to a bucket that is still to come). A table does not move: it points to itself. */
#ifndef TN_BASE_HTAB_H
#define TN_BASE_HTAB_H

#include <tenon/config.h>

TENON_BEGIN_DECLS

struct tn_hnode {
    struct tn_hnode *next;
    tenon_u32 hash;
    tenon_u32 word;    /* the owner's, for a part of its key: where pointers have 64 bits it costs nothing */
};

/* segment 0: BASE buckets; segment i: BASE << (i-1). Where there are not many, it stays at one bucket. */
enum { TN_HTAB_SEGMENTS = TENON_WITH_MANY ? 20 : 1, TN_HTAB_BASE = TENON_WITH_MANY ? 32 : 1 };

typedef void *(*tn_htab_mem_get)(void *ctx, size_t bytes);
typedef void (*tn_htab_mem_put)(void *ctx, void *mem, size_t bytes);

struct tn_htab {
    struct tn_hnode **segments[TN_HTAB_SEGMENTS];    /* NULL until it is needed; where there are not many, not used */
    struct tn_hnode *first[TN_HTAB_BASE];            /* segment 0: a small table costs no allocation */
    tenon_u32 buckets;                               /* in use */
    tenon_u32 mask;                                  /* smallest 2^n - 1 that is not below buckets - 1 */
    tenon_u32 count;                                 /* nodes */
    tn_htab_mem_get mem_get;
    tn_htab_mem_put mem_put;
    void *ctx;
};

TENON_INTERNAL void tn_htab_init(struct tn_htab *table, tn_htab_mem_get mem_get, tn_htab_mem_put mem_put, void *ctx);
/* The table must be empty. */
TENON_INTERNAL void tn_htab_fini(struct tn_htab *table);
/* Cannot fail: without memory the chains get longer. The node's hash is set here. */
TENON_INTERNAL void tn_htab_insert(struct tn_htab *table, struct tn_hnode *node, tenon_u32 hash);
TENON_INTERNAL void tn_htab_remove(struct tn_htab *table, struct tn_hnode *node);
/* Another one with the same hash takes its place. */
TENON_INTERNAL void tn_htab_replace(struct tn_htab *table, struct tn_hnode *node, struct tn_hnode *by);
/* First node of the chain in which `hash` would be; the caller compares hash and key and follows next. */
TENON_INTERNAL struct tn_hnode *tn_htab_chain(const struct tn_htab *table, tenon_u32 hash);
/* A node of such a chain may be it; where there are not many, nobody makes hashes. */
TENON_INLINE int tn_hnode_has(const struct tn_hnode *node, tenon_u32 hash)
{
    return !TENON_WITH_MANY || node->hash == hash;
}
/* Chain of bucket i < table->buckets, for walks over everything. */
TENON_INTERNAL struct tn_hnode *tn_htab_bucket(const struct tn_htab *table, tenon_u32 i);

TENON_END_DECLS

#endif
