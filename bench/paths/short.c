/* SPDX-License-Identifier: MIT */
/* Cells of transfers that end: one connection after the other, each from its SYN to the last byte at the receiver;
 * for the cells of tail losses the end of each is lost once. */
#include "paths.h"

#include <stdlib.h>

enum { LONGEST_S = 300 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* Between two transfers: long enough for the last frames of one to be gone, and never the same phase. */
static void short_pause(struct paths_net *net, unsigned i)
{
    const uint64_t round = (uint64_t)net->round_us;

    wire_run(net->wire, wire_now(net->wire) + 4 * round + wire_mix(net->cell->seed + i) % (round + 1));
}

/* One transfer. @return 0, or 1: it did not end well */
static int short_one(struct paths_net *net)
{
    struct paths_flow *flow = &net->flow[0];
    const uint64_t limit = wire_now(net->wire) + LONGEST_S * 1000000ULL;

    paths_flow_start(flow);
    while (flow->ended_us == 0 && flow->conn && wire_step(net->wire, limit))
        ;
    return flow->ended_us == 0 || flow->wrong > 0;
}

static void short_reset(struct paths_flow *flow)
{
    flow->bytes = flow->net->cell->size;
    flow->dropped = 0;
    flow->drop_end = flow->drop_first_us = flow->drop_last_us = 0;
    flow->again_us = flow->repaired_us = flow->acked_us = flow->acked_before_us = 0;
}

int paths_short(struct paths_net *net)
{
    struct paths_flow *flow = &net->flow[0];
    const unsigned n = net->cell->n;
    double *ms = calloc(n, sizeof(*ms)), sum = 0;
    unsigned i, unfinished = 0;

    if (!ms)
        return 1;
    for (i = 0; i < n; i++) {
        short_reset(flow);
        unfinished += (unsigned)short_one(net);
        ms[i] = (double)((flow->ended_us ? flow->ended_us : paths_now(net)) - flow->began_us) / 1000;
        sum += ms[i];
        paths_flow_stop(flow);
        short_pause(net, i);
    }
    qsort(ms, n, sizeof(*ms), by_value);
    printf(", \"mean_ms\": %.4f, \"median_ms\": %.4f, \"p95_ms\": %.4f, \"max_ms\": %.4f", sum / n, ms[n / 2],
           ms[n * 95 / 100], ms[n - 1]);
    printf(", \"best_ms\": %.4f, \"unfinished\": %u, \"rtos\": %u", 1.5 * net->cell->rtt_ms
               + (double)net->cell->size / paths_allowed(net) * 1000, unfinished, (unsigned)flow->rtos);
    printf(", \"frames\": %llu, \"again_pct\": %.4f", (unsigned long long)flow->frames,
           flow->frames ? 100.0 * (double)flow->again / (double)flow->frames : 0);
    free(ms);
    return unfinished > 0;
}

/* What the loss of the end of one transfer has cost. Times at the bottleneck; the last acknowledgement before the
 * repair is when a sender sets its timer for a probe. */
struct short_tail {
    double noticed_ms, probe_ms, extra_ms;
    unsigned dropped;
};

static void tail_worst(struct short_tail *worst, const struct paths_flow *flow)
{
    const double last = (double)flow->drop_last_us;
    const double since = flow->acked_before_us > flow->drop_last_us ? (double)flow->acked_before_us : last;
    const double noticed = ((double)flow->again_us - last) / 1000, probe = ((double)flow->again_us - since) / 1000;
    const double extra = ((double)flow->ended_us - last - flow->net->one_way_us) / 1000;

    worst->noticed_ms = noticed > worst->noticed_ms ? noticed : worst->noticed_ms;
    worst->probe_ms = probe > worst->probe_ms ? probe : worst->probe_ms;
    worst->extra_ms = extra > worst->extra_ms ? extra : worst->extra_ms;
    worst->dropped += flow->dropped;
}

int paths_tail(struct paths_net *net)
{
    struct paths_flow *flow = &net->flow[0];
    struct short_tail worst = { 0, 0, 0, 0 };
    unsigned i, unfinished = 0;

    flow->drop_tail = net->cell->drop;
    for (i = 0; i < net->cell->n; i++) {
        short_reset(flow);
        unfinished += (unsigned)short_one(net);
        tail_worst(&worst, flow);
        paths_flow_stop(flow);
        short_pause(net, i);
    }
    printf(", \"dropped\": %u, \"noticed_ms\": %.4f, \"probe_ms\": %.4f, \"extra_ms\": %.4f", worst.dropped,
           worst.noticed_ms, worst.probe_ms, worst.extra_ms);
    printf(", \"unfinished\": %u, \"rtos\": %u", unfinished, (unsigned)flow->rtos);
    return unfinished > 0 || worst.dropped != net->cell->n * net->cell->drop;
}
