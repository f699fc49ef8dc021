/* SPDX-License-Identifier: MIT */
/* A flow: an application that sends bytes of a known pattern without copying them, one that takes them and compares,
 * and what the bottleneck sees of it. */
#include "paths.h"

#include <string.h>

enum { PORT = 5001 };

/* ---- sending ---------------------------------------------------------------------------------------- */

/* The byte at offset i of a transfer is that at i modulo PATHS_PATTERN here; from any such place on there is a whole
 * span. The number is a prime: a shift by any number of segments is seen. */
static uint8_t pattern[PATHS_PATTERN + PATHS_SPAN];

static void pattern_release(struct tenon_buf *buf)
{
    (void)buf;    /* never: we hold a reference ourselves */
}

static struct tenon_buf *pattern_buf(void)
{
    static struct tenon_buf buf = { pattern, sizeof(pattern), 0, pattern_release };
    unsigned i;

    if (buf.refs > 0)
        return &buf;
    for (i = 0; i < sizeof(pattern); i++)
        pattern[i] = (uint8_t)wire_mix(i % PATHS_PATTERN);
    buf.refs = 1;
    return &buf;
}

static void flow_send(struct paths_flow *flow)
{
    while (flow->conn && (flow->bytes == 0 || flow->queued < flow->bytes)) {
        const uint64_t left = flow->bytes ? flow->bytes - flow->queued : UINT64_MAX;
        const uint32_t want = left < PATHS_SPAN ? (uint32_t)left : PATHS_SPAN;
        struct tenon_span span = { pattern_buf(), (uint32_t)(flow->queued % PATHS_PATTERN), want };

        if (tenon_tcp_room(flow->conn) < want || tenon_tcp_send(flow->conn, &span) != TENON_OK)
            return;    /* acked() tells when there is room */
        flow->queued += want;
    }
}

static void flow_opened(struct tenon_tcp *conn, void *app)
{
    struct tenon_tcp_info info;
    struct paths_flow *flow = app;

    tenon_tcp_status(conn, &info);
    if (flow->drop_tail > 0)
        flow->drop_from =
            (uint32_t)(flow->bytes - ((flow->bytes - 1) % info.mss + 1) - (flow->drop_tail - 1) * info.mss);
    flow_send(flow);
}

static void flow_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct paths_flow *flow = app;

    (void)conn;
    (void)bytes;
    flow->acked_us = paths_now(flow->net);
    flow_send(flow);
}

static void flow_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct paths_flow *flow = app;
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    flow->rtos += info.rtos;
    flow->conn = NULL;
    flow->closed = why;
}

static const struct tenon_tcp_events source_events = {
    .opened = flow_opened, .acked = flow_acked, .closed = flow_closed};

/* Open a connection from the flow's host; data follows by itself. */
void paths_flow_start(struct paths_flow *flow)
{
    struct tenon_addr to;

    memset(&to, 0, sizeof(to));
    to.ip = tenon_ip4_bytes(10, 0, 0, 1);
    to.port = PORT;
    flow->queued = flow->received = 0;
    flow->ended_us = 0;
    flow->began_us = paths_now(flow->net);
    if (tenon_tcp_connect(wire_host_stack(flow->host), &flow->conn, NULL, &to, &source_events, flow) != TENON_OK)
        return;
    tenon_tcp_set_cc(flow->conn, flow->cc);
    tenon_tcp_set(flow->conn, TENON_TCP_NODELAY, 1);    /* the last piece of a transfer is none of Nagle's business */
    wire_wake(flow->host);
}

void paths_flow_stop(struct paths_flow *flow)
{
    if (flow->conn)
        tenon_tcp_abort(flow->conn);
    wire_wake(flow->host);
}

/* ---- receiving -------------------------------------------------------------------------------------- */

static void flow_repaired(struct paths_flow *flow)
{
    if (flow->dropped > 0 && flow->drop_left == 0 && flow->repaired_us == 0 && flow->received >= flow->drop_end)
        flow->repaired_us = paths_now(flow->net);
}

static void sink_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct paths_flow *flow = app;
    unsigned i;

    for (i = 0; i < n; i++) {
        const uint8_t *right = pattern + flow->received % PATHS_PATTERN;

        /* Untouched, it is still the sender's memory. */
        if (tenon_span_data(&spans[i]) != right && memcmp(tenon_span_data(&spans[i]), right, spans[i].len) != 0)
            flow->wrong++;
        flow->received += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
    flow_repaired(flow);
    if (flow->bytes > 0 && flow->received >= flow->bytes && flow->ended_us == 0)
        flow->ended_us = paths_now(flow->net);
}

static void sink_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct paths_flow *flow = app;

    (void)why;
    if (flow->sink == conn)
        flow->sink = NULL;
}

static const struct tenon_tcp_events sink_flow_events = { .received = sink_received, .closed = sink_closed };

/* The listener's application is the network; from here on it is the flow. */
static void sink_opened(struct tenon_tcp *conn, void *app)
{
    struct paths_net *net = app;
    struct paths_flow *flow;
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    flow = &net->flow[(info.remote.ip.w[TENON_IP4_WORD] & 0xFF) - 2];
    flow->sink = conn;
    tenon_tcp_handler(conn, &sink_flow_events, flow);
}

/* What waits behind a hole has come through the bottleneck as well: without it, whether a measurement ends a moment
 * before or after a repair would make a difference of a whole window. */
uint64_t paths_flow_arrived(const struct paths_flow *flow)
{
    struct tenon_tcp_info info;

    if (!flow->sink)
        return flow->received;
    tenon_tcp_status(flow->sink, &info);
    return flow->received + info.rcv_ooo;
}

const struct tenon_tcp_events paths_sink_events = { .opened = sink_opened };

/* ---- at the bottleneck ------------------------------------------------------------------------------ */

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void flow_drop(struct paths_flow *flow, uint32_t end, struct wire_fate *fate)
{
    const uint64_t now = paths_now(flow->net);

    fate->drop = 1;
    if (flow->dropped++ == 0)
        flow->drop_first_us = now;
    flow->drop_last_us = now;
    flow->drop_end = (uint32_t)(end - flow->isn - 1);
}

/* A TCP segment of this flow, from its IP header on. */
void paths_flow_seen(struct paths_flow *flow, const uint8_t *ip, struct wire_fate *fate)
{
    const uint8_t *tcp = ip + (ip[0] & 0x0FU) * 4;
    const uint32_t total = (uint32_t)ip[2] << 8 | ip[3], seq = get32(tcp + 4);
    const uint32_t len = total - (uint32_t)(tcp - ip) - (tcp[12] >> 4) * 4U, end = seq + len;
    struct paths_net *net = flow->net;

    if (tcp[13] & 2) {
        flow->isn = seq;
        flow->seen_end = seq + 1;
    }
    if (len == 0)
        return;
    flow->frames++;
    if (len > net->payload_bytes) {
        net->payload_bytes = len;
        net->frame_bytes = total + 14;
    }
    if ((int32_t)(end - flow->seen_end) <= 0) {
        flow->again++;
        if (flow->dropped > 0 && flow->again_us == 0) {
            flow->again_us = paths_now(net);
            flow->acked_before_us = flow->acked_us;
        }
        return;
    }
    flow->seen_end = end;
    if (flow->drop_left > 0) {
        flow->drop_left--;
        flow_drop(flow, end, fate);
    } else if (flow->drop_tail > 0 && end - flow->isn - 1 > flow->drop_from) {
        flow_drop(flow, end, fate);
    }
}
