/* SPDX-License-Identifier: MIT */
/* Cells of endless flows: how full the bottleneck is, who gets how much of it, what it costs, and how long a burst of
 * losses is felt. */
#include "paths.h"

#include <math.h>

/* Long enough to see more than the start: 60 round trips with a queue half full, 5000 frames, and a second, of which a
 * timeout is a part; up to 400 round trips or 10 seconds, for windows that grow slowly and losses that are rare, where
 * that is not more than 200000 frames. */
static uint64_t bulk_time_us(const struct paths_net *net)
{
    const double frame_us = (net->cell->mtu + 14) * 8 / net->cell->rate_mbit;
    const double round = net->round_us * fmax(1, (1 + net->cell->buffer) / 2);
    double us = fmax(60 * round, fmax(5000 * frame_us, 1e6));

    us = fmax(us, fmin(fmax(400 * net->round_us, 10e6), 200000 * frame_us));
    if (net->cell->flows > 1)
        us *= 2;    /* they have to find their shares */
    if (net->cell->seconds > 0)
        us = net->cell->seconds * 1e6;
    return (uint64_t)us;
}

static void bulk_begin(void *arg)
{
    paths_flow_start(arg);
}

static void bulk_half(void *arg)
{
    struct paths_net *net = arg;
    unsigned i;

    for (i = 0; i < net->cell->flows; i++)
        net->flow[i].half_arrived = paths_flow_arrived(&net->flow[i]);
    net->flow[0].drop_left = net->cell->drop;
}

/* Bytes that arrived in the second half. */
static uint64_t bulk_late(const struct paths_flow *flow)
{
    return paths_flow_arrived(flow) - flow->half_arrived;
}

static double bulk_jain(const struct paths_net *net)
{
    double sum = 0, squares = 0;
    unsigned i;

    for (i = 0; i < net->cell->flows; i++) {
        const double bytes = (double)bulk_late(&net->flow[i]);

        sum += bytes;
        squares += bytes * bytes;
    }
    return squares > 0 ? sum * sum / (net->cell->flows * squares) : 0;
}

static void bulk_print_flows(const struct paths_net *net, double half_s)
{
    unsigned i;

    if (net->cell->flows < 2)
        return;
    printf(", \"jain\": %.4f, \"shares\": [", bulk_jain(net));
    for (i = 0; i < net->cell->flows; i++)
        printf("%s%.4f", i ? ", " : "", (double)bulk_late(&net->flow[i]) / half_s / paths_allowed(net));
    printf("]");
}

static void bulk_print_queue(const struct paths_net *net)
{
    double wait = 0;
    unsigned i, n = 0;

    for (i = net->nsamples / 2; i < net->nsamples; i++, n++)
        wait += net->samples[i].wait_us;
    printf(", \"queue_ms\": %.4f", n ? wait / n / 1000 : 0);
}

/* When as much arrives again in a round trip as the path lets through, nearly. */
static double bulk_full_again_us(const struct paths_net *net, uint64_t from_us)
{
    const unsigned span = (unsigned)(net->round_us / (double)net->sample_us) + 1;
    const double enough = 0.95 * paths_allowed(net) * span * (double)net->sample_us / 1e6;
    unsigned i;

    for (i = (unsigned)(from_us / net->sample_us); i + span < net->nsamples; i++)
        if ((double)(net->samples[i + span].received - net->samples[i].received) >= enough)
            return (double)(i + span) * (double)net->sample_us;
    return -1;
}

static void bulk_print_burst(const struct paths_net *net)
{
    const struct paths_flow *flow = &net->flow[0];
    const double lost = (double)flow->drop_first_us, last = (double)flow->drop_last_us;
    const double again = flow->again_us ? (double)flow->again_us - lost : -1;
    const double full = flow->repaired_us ? bulk_full_again_us(net, flow->repaired_us) : -1;

    if (net->cell->drop == 0)
        return;
    printf(", \"dropped\": %u, \"noticed_rtt\": %.3f", flow->dropped, again >= 0 ? again / net->round_us : -1);
    printf(", \"repair_rtt\": %.3f",
           flow->repaired_us ? ((double)flow->repaired_us - net->one_way_us - last) / net->round_us : -1);
    printf(", \"full_rtt\": %.3f", full >= 0 ? (full - net->one_way_us - lost) / net->round_us : -1);
}

static void bulk_print(const struct paths_net *net, uint64_t time_us)
{
    const double seconds = (double)time_us / 1e6;
    uint64_t arrived = 0, late = 0, frames = 0, again = 0, rtos = 0;
    struct wire_end_stats line;
    unsigned i;

    for (i = 0; i < net->cell->flows; i++) {
        arrived += paths_flow_arrived(&net->flow[i]);
        late += bulk_late(&net->flow[i]);
        frames += net->flow[i].frames;
        again += net->flow[i].again;
        rtos += net->flow[i].rtos;
    }
    wire_end_stats(net->bottleneck, &line);
    printf(", \"seconds\": %.6g, \"rounds\": %.1f, \"goodput_mbit\": %.6g, \"share\": %.4f, \"share_late\": %.4f",
           seconds, (double)time_us / net->round_us, (double)arrived * 8e-6 / seconds,
           (double)arrived / seconds / paths_allowed(net), (double)late / (seconds / 2) / paths_allowed(net));
    printf(", \"frames\": %llu, \"again_pct\": %.4f, \"rtos\": %llu", (unsigned long long)frames,
           frames ? 100.0 * (double)again / (double)frames : 0, (unsigned long long)rtos);
    printf(", \"lost\": %llu, \"overflowed\": %llu, \"reordered\": %llu, \"marked\": %llu",
           (unsigned long long)line.lost, (unsigned long long)line.queue_lost, (unsigned long long)line.reordered,
           (unsigned long long)line.marked);
    bulk_print_queue(net);
    bulk_print_flows(net, seconds / 2);
    bulk_print_burst(net);
}

int paths_bulk(struct paths_net *net)
{
    const uint64_t time_us = bulk_time_us(net), begin = wire_now(net->wire);
    unsigned i;
    int bad = 0;

    for (i = 0; i < net->cell->flows; i++) {
        const uint64_t later = i * 37 * (uint64_t)net->round_us / 20;    /* in the others' way: nearly two rounds */

        wire_at(net->wire, begin + later, bulk_begin, &net->flow[i]);
    }
    paths_sample_every(net, time_us / PATHS_SAMPLES);
    wire_at(net->wire, begin + time_us / 2, bulk_half, net);
    wire_run(net->wire, begin + time_us);
    for (i = 0; i < net->cell->flows; i++) {
        bad |= net->flow[i].wrong > 0 || net->flow[i].conn == NULL;
        paths_flow_stop(&net->flow[i]);
    }
    bulk_print(net, time_us);
    return bad;
}
