/* SPDX-License-Identifier: MIT */
/* Between the files of src/stack. */
#ifndef TN_STACK_STACK_INTERNAL_H
#define TN_STACK_STACK_INTERNAL_H

#include "core.h"

TENON_BEGIN_DECLS

/* Replace every 0 that means "default". */
TENON_INTERNAL void tn_conf_complete(struct tenon_conf *conf);

/* ---- several frames as one packet: gro.c ------------------------------------------------------------ */

enum { TN_GRO_FRAMES = 64 };    /* so many are looked at together */

/* Which frames may continue which. */
struct tn_gro_plan {
    tenon_u8 next[TN_GRO_FRAMES];              /* the next frame that may; 0: none */
    tenon_u8 taken[TN_GRO_FRAMES];             /* 1: it is part of a run */
    struct tenon_tcp *conns[TN_GRO_FRAMES];    /* of tn_fast_look() */
};

struct tn_gro {
    const struct tn_netif *netif;     /* filled in by the caller: where the frames have come in */
    struct tn_gather to;              /* the headers of the first frame, and the payload of all */
    tenon_u32 merged;                 /* bytes of the others' payload */
    tenon_u16 seg_bytes;              /* the largest payload of one */
    tenon_u8 seg_kind;
    struct tenon_span spans[TN_RX_SPANS_MAX + 1];
};

/* A quick look at n frames, TN_GRO_FRAMES at most, whose plan->conns are there. @return 0: each stands alone, and the
 * plan may not be made */
TENON_INTERNAL unsigned tn_gro_look(struct tn_gro_plan *plan, const struct tn_netif *netif,
                                    const struct tenon_frame *frames, unsigned n);
/* Put frame `at` and those that continue it together. @return how many; 1: `run` is not filled in */
TENON_INTERNAL unsigned tn_gro_collect(const struct tenon *stack, struct tn_gro *run, struct tn_gro_plan *plan,
                                       const struct tenon_frame *frames, unsigned at);

TENON_END_DECLS

#endif
