/* SPDX-License-Identifier: MIT */
/* The network of a cell: every sender is an instance with a fast line of its own into a hub; the receiver's line
 * from the hub is the bottleneck that all share. There frames wait, are lost and overtake each other. The way back
 * has the other half of the delay and nothing else. */
#include "paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 5001, QUEUE_FRAMES_MIN = 8, MARK_FRAMES_MIN = 4, LINK_BYTES = 14, BUF_MAX = 0x3FFFC000 };

static void *net_get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void net_put(void *arg, void *mem, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(mem);
}

uint64_t paths_now(const struct paths_net *net)
{
    return wire_now(net->wire) - net->start_us;
}

double paths_allowed(const struct paths_net *net)
{
    const double share = net->frame_bytes ? (double)net->payload_bytes / net->frame_bytes : 1;

    return net->cell->rate_mbit * 125000 * share;
}

/* ---- the trace ----------------------------------------------------------------------------------- */

static struct paths_net *net_traced;    /* the trace knows the host alone */

static void net_trace(void *host, const struct tenon_trace_event *e)
{
    const struct paths_net *net = net_traced;

    if (host != (void *)net->flow[0].host)
        return;
    fprintf(net->trace, "%.6f %-10s seq %u len %u ack %u arg %u una %u nxt %u wnd %u cwnd %u ssthresh %u flight %u"
                        " srtt %u rto %u\n",
            (double)paths_now(net) / 1e6, tenon_trace_name(e->kind), (unsigned)(e->seq - net->flow[0].isn),
            (unsigned)e->len, (unsigned)e->ack, (unsigned)e->arg, (unsigned)(e->snd_una - net->flow[0].isn),
            (unsigned)(e->snd_nxt - net->flow[0].isn), (unsigned)e->snd_wnd, (unsigned)e->cwnd, (unsigned)e->ssthresh,
            (unsigned)e->in_flight, (unsigned)e->srtt_us, (unsigned)e->rto_us);
}

/* ---- the bottleneck ------------------------------------------------------------------------------- */

/* A frame comes to the bottleneck: whose it is, and whether it is to be lost on purpose. */
static void net_fate(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                     const struct tenon_frame *frame, struct wire_fate *fate)
{
    struct paths_net *net = arg;
    const uint8_t *bytes = tenon_span_data(&frame->spans[0]);
    unsigned sender;

    (void)end;
    (void)direction;
    (void)nth;
    if (frame->spans[0].len < LINK_BYTES + 40 || bytes[12] != 8 || bytes[13] != 0 || bytes[LINK_BYTES + 9] != 6)
        return;
    sender = (unsigned)bytes[LINK_BYTES + 15] - 2;    /* the last byte of the source address */
    if (sender < net->cell->flows)
        paths_flow_seen(&net->flow[sender], bytes + LINK_BYTES, fate);
}

static struct wire_line_conf net_bottleneck(struct paths_net *net)
{
    const struct paths_cell *cell = net->cell;
    const uint32_t frame = cell->mtu + LINK_BYTES;
    struct wire_line_conf line;

    memset(&line, 0, sizeof(line));
    line.rate = (uint64_t)(cell->rate_mbit * 125000);
    line.delay_us = net->one_way_us - 1;    /* the sender's line takes 1 */
    net->queue_bytes = (uint64_t)(cell->buffer * net->bdp_bytes);
    if (net->queue_bytes < QUEUE_FRAMES_MIN * frame)
        net->queue_bytes = QUEUE_FRAMES_MIN * frame;
    net->queue_bytes += frame;    /* the one that is being sent does not wait */
    line.queue_bytes = (uint32_t)(net->queue_bytes > UINT32_MAX ? UINT32_MAX : net->queue_bytes);
    if (cell->mark > 0)
        line.mark_bytes = (uint32_t)fmax(cell->mark * net->bdp_bytes, MARK_FRAMES_MIN * frame);
    line.loss_ppm = (uint32_t)(cell->loss * 10000 + 0.5);
    line.reorder_ppm = (uint32_t)(cell->reorder * 10000 + 0.5);
    line.reorder_us = net->one_way_us;
    line.fate = net_fate;
    line.fate_arg = net;
    return line;
}

static void net_sample(void *arg)
{
    struct paths_net *net = arg;
    struct paths_sample *sample = &net->samples[net->nsamples];
    unsigned i;

    if (net->nsamples == PATHS_SAMPLES)
        return;
    memset(sample, 0, sizeof(*sample));
    for (i = 0; i < net->cell->flows; i++)
        sample->received += net->flow[i].received;
    sample->wait_us = (uint32_t)(wire_line_wait_ns(net->bottleneck, WIRE_IN) / 1000);
    net->nsamples++;
    wire_at(net->wire, wire_now(net->wire) + net->sample_us, net_sample, net);
}

void paths_sample_every(struct paths_net *net, uint64_t us)
{
    net->sample_us = us ? us : 1;
    wire_at(net->wire, wire_now(net->wire) + net->sample_us, net_sample, net);
}

/* ---- hosts ----------------------------------------------------------------------------------------- */

/* What the largest window needs: what is in the path, what waits, and as much again for what is held behind a hole. */
static uint32_t net_window(const struct paths_net *net)
{
    const double bytes = 2 * (net->bdp_bytes + (double)net->queue_bytes) + 1048576;

    return bytes > BUF_MAX ? BUF_MAX : (uint32_t)bytes;
}

static struct wire_host *net_host(struct paths_net *net, unsigned number, struct wire_end_conf *end_conf,
                                  struct wire_end **end)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, number);
    struct wire_host_conf host_conf;
    struct wire_host *host;
    struct tenon_conf conf;

    memset(&host_conf, 0, sizeof(host_conf));
    host_conf.seed = number;
    host_conf.buf_bytes = TENON_BUF_BYTES_MIN;    /* for headers: the payload is ours */
    tenon_conf_default(&conf);
    conf.tcp_rcv_buf = conf.tcp_snd_buf = net_window(net);
    /* Nor shall what is held out of order: slow start may lose every second segment of a thousand. */
    conf.tcp_ooo_bytes_max = conf.tcp_ooo_total_max = 0x7FFFFFFF;
    conf.tcp_ooo_ranges_max = 0xFFFF;
    conf.trace = net->trace ? net_trace : NULL;
    end_conf->netif.mac[0] = 2;
    end_conf->netif.mac[5] = (tenon_u8)number;
    end_conf->netif.mtu = (tenon_u16)net->cell->mtu;
    end_conf->netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | TENON_NETIF_NO_IP6;
    end_conf->netif.caps = TENON_CAP_TX_CSUM | (net->cell->tso ? TENON_CAP_TSO4 : 0U);
    end_conf->cut = 1;
    end_conf->ring = 65536;
    host = wire_host_open(net->wire, &host_conf, &conf);
    *end = host ? wire_end_open(host, end_conf) : NULL;
    if (*end == NULL || tenon_addr_add(wire_host_stack(host), wire_end_netif(*end), &ip, 24) != TENON_OK)
        return NULL;
    return host;
}

/* Nobody asks who has which address: the first round trip is the connection's own. */
static void net_introduce(struct wire_end *end, unsigned number)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, number);
    const tenon_u8 mac[6] = { 2, 0, 0, 0, 0, (tenon_u8)number };

    tenon_neighbour_set(wire_host_stack(wire_end_host(end)), wire_end_netif(end), &ip, mac);
}

static int net_sink_open(struct paths_net *net)
{
    struct wire_end_conf conf;
    struct tenon_addr at;

    memset(&conf, 0, sizeof(conf));
    conf.in = net_bottleneck(net);
    conf.out.delay_us = net->one_way_us;
    net->sink = net_host(net, 1, &conf, &net->bottleneck);
    memset(&at, 0, sizeof(at));
    at.port = PORT;
    return net->sink
                   && tenon_tcp_listen(wire_host_stack(net->sink), &net->listener, &at, &paths_sink_events, net, 0)
                          == TENON_OK
               ? 0
               : -1;
}

static int net_sender_open(struct paths_net *net, unsigned i)
{
    struct paths_flow *flow = &net->flow[i];
    struct wire_end_conf conf;

    memset(&conf, 0, sizeof(conf));
    flow->net = net;
    flow->index = i;
    flow->cc = net->cell->cc[i % net->cell->nccs];
    flow->host = net_host(net, i + 2, &conf, &flow->end);
    if (!flow->host)
        return -1;
    net_introduce(flow->end, 1);
    net_introduce(net->bottleneck, i + 2);
    return 0;
}

int paths_net_open(struct paths_net *net, const struct paths_cell *cell)
{
    struct wire_conf wire_conf;
    unsigned i;

    memset(net, 0, sizeof(*net));
    memset(&wire_conf, 0, sizeof(wire_conf));
    wire_conf.memory = (struct wire_memory){ net_get, net_put, NULL };
    wire_conf.seed = cell->seed;
    net->start_us = wire_conf.start_us = 1000000;
    net->cell = cell;
    net->one_way_us = (uint32_t)(cell->rtt_ms * 500 + 0.5);
    if (net->one_way_us < 2)
        net->one_way_us = 2;
    net->bdp_bytes = cell->rate_mbit * 125 * cell->rtt_ms;
    net->round_us = cell->rtt_ms * 1000 + (cell->mtu + LINK_BYTES) * 8 / cell->rate_mbit;
    net->samples = calloc(PATHS_SAMPLES, sizeof(*net->samples));
    net->wire = wire_open(&wire_conf);
    net->trace = cell->trace ? fopen(cell->trace, "w") : NULL;
    net_traced = net;
    if (!net->samples || !net->wire || (cell->trace && !net->trace) || net_sink_open(net) != 0)
        return -1;
    for (i = 0; i < cell->flows; i++)
        if (net_sender_open(net, i) != 0)
            return -1;
    return 0;
}

void paths_net_close(struct paths_net *net)
{
    if (net->wire)
        wire_close(net->wire);
    if (net->trace)
        fclose(net->trace);
    free(net->samples);
}
