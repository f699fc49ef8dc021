/* SPDX-License-Identifier: MIT */
/* A relay made of the public interface alone. Three instances: a client, a server, and between them one that
 * listens transparently, opens a connection to the server from the client's address, and answers the client's
 * SYN when the server has answered its own. Spans go from one connection to the other as they are; data and FIN
 * are acknowledged on one side when the other side has acknowledged them.
 *
 *     client 10.0.1.2 ---hub 1--- 10.0.1.1 relay 10.0.2.1 ---hub 2--- 10.0.2.2:80 server
 *
 * A tap on the relay's two lines watches the frames: no acknowledgement may run ahead of the other side's, and
 * payload must leave in the buffers in which it came. */
#include "harness.h"

#include "ports/wire/wire.h"

enum { PORT = 80, SMALL = 128, CLIENT = 0, RELAY = 1, SERVER = 2, PIECES_MAX = 200000 };

/* ---- a row ------------------------------------------------------------------------------------- */

enum abort_by { NOBODY, THE_CLIENT, THE_SERVER };

struct row {
    const char *name;
    uint32_t up, down;          /* bytes of client and server */
    uint32_t chunk;             /* bytes per write; 0: as many as fit */
    uint32_t loss_ppm;          /* on each of the relay's four lines */
    uint32_t delay_us;          /* between relay and server, one way */
    uint32_t rcv_buf;           /* 0: default */
    unsigned split;             /* the relay's frames arrive in up to so many pieces */
    unsigned half_close;        /* 1: the server begins when the client has finished */
    enum abort_by abort_by;     /* who resets ... */
    uint32_t abort_at;          /* ... after it has received so many bytes */
};

/* ---- the ends ---------------------------------------------------------------------------------- */

struct world;

struct end {
    struct world *world;
    struct tenon_tcp *conn;
    uint32_t to_send, sent, received;
    unsigned wrong, opened, finished, closed;
    unsigned started;           /* may send */
    enum abort_by me;
    int why;
};

/* One side of the relay. */
struct half {
    struct world *world;
    struct half *other;
    struct tenon_tcp *conn;
    unsigned opened, fin, fin_acked, closed, refused;
    int why;
    uint32_t received, acked;
};

/* A span as it was received, and where in the stream it stands. */
struct piece {
    struct tenon_buf *buf;
    uint32_t off, len, at;
};

/* One direction, as the tap sees it. */
struct flow {
    struct piece *pieces;
    unsigned npieces;
    uint32_t total;
    uint32_t in_isn, out_isn;          /* of the receiving and of the sending connection */
    int in_known, out_known, acked_known;
    uint32_t acked;                    /* the receiver has acknowledged so much of what we sent (SYN and FIN counted) */
    uint32_t acked_back;               /* we have acknowledged so much of what the sender sent */
    unsigned ahead;                    /* acknowledgements that ran ahead */
    unsigned strangers;                /* payload that is not where it was received */
    uint32_t copied_small, copied_large;
    uint32_t cut_headers;              /* of frames that came with their headers in pieces: put together, IP and TCP */
};

struct world {
    const struct row *row;
    struct wire *wire;
    struct wire_host *host[3];
    struct wire_end *line[2];          /* the relay's: to the client, to the server */
    struct tenon *stack[3];
    struct end client, server;
    struct half half[2];               /* towards the client, towards the server */
    struct flow flow[2];               /* up: client to server; down */
    unsigned syn_ack_early, resets_seen;
    int client_fin_wait_2;             /* when it has got the answer (half_close) */
    size_t mem_out;
};

static uint8_t byte_at(const struct end *from, uint32_t i)
{
    return (uint8_t)((i + (from->me == THE_SERVER ? 77777 : 0)) * 2654435761U >> 24);
}

static void end_send(struct end *end)
{
    const uint32_t chunk = end->world->row->chunk;
    uint8_t bytes[4000];
    tenon_i32 taken = 1;

    if (end->conn == NULL || !end->started)
        return;
    while (taken > 0 && end->sent < end->to_send) {
        uint32_t n = end->to_send - end->sent;

        n = n < sizeof bytes ? n : sizeof bytes;
        n = chunk != 0 && chunk < n ? chunk : n;
        for (uint32_t i = 0; i < n; i++)
            bytes[i] = byte_at(end, end->sent + i);
        taken = tenon_tcp_write(end->conn, bytes, n);
        end->sent += taken > 0 ? (uint32_t)taken : 0;
        if (chunk != 0 && chunk <= SMALL && end->sent % (50 * chunk) == 0)
            break;    /* small writes go on with the acknowledgements */
    }
    if (end->sent == end->to_send)
        (void)tenon_tcp_finish(end->conn);
}

static void end_opened(struct tenon_tcp *conn, void *app)
{
    struct end *end = app;

    end->conn = conn;
    end->opened++;
    if (end->world->row->chunk != 0)
        (void)tenon_tcp_set(conn, TENON_TCP_NODELAY, 1);
    end_send(end);
}

static void end_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn;
    (void)bytes;
    end_send(app);
}

static void end_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct end *end = app;
    struct world *world = end->world;
    const struct end *from = end == &world->client ? &world->server : &world->client;

    for (unsigned i = 0; i < n; i++) {
        for (uint32_t k = 0; k < spans[i].len; k++)
            end->wrong += tenon_span_data(&spans[i])[k] != byte_at(from, end->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
    if (end == &world->client && end->received == world->row->down)
        world->client_fin_wait_2 = tenon_tcp_state(conn) == TENON_TCP_FIN_WAIT_2;
    if (world->row->abort_by == end->me && end->received >= world->row->abort_at)
        tenon_tcp_abort(conn);
}

static void end_finished(struct tenon_tcp *conn, void *app)
{
    struct end *end = app;

    (void)conn;
    end->finished++;
    if (!end->started) {
        end->started = 1;
        end_send(end);
    }
}

static void end_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct end *end = app;

    (void)conn;
    end->conn = NULL;
    end->closed++;
    end->why = why;
}

static const struct tenon_tcp_events end_events = { .opened = end_opened, .acked = end_acked,
    .received = end_received, .finished = end_finished, .closed = end_closed };

/* ---- the relay --------------------------------------------------------------------------------- */

static void half_opened(struct tenon_tcp *conn, void *app)
{
    struct half *half = app;

    (void)conn;
    half->opened++;
    if (half == &half->world->half[1])
        HN_EQUAL(tenon_tcp_decide(half->other->conn, TENON_ACCEPT), TENON_OK);
}

static void half_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct half *half = app;
    struct flow *flow = &half->world->flow[half == &half->world->half[0] ? 0 : 1];

    (void)conn;
    for (unsigned i = 0; i < n; i++) {
        half->received += spans[i].len;
        if (flow->npieces < PIECES_MAX)
            flow->pieces[flow->npieces++] = (struct piece){ spans[i].buf, spans[i].off, spans[i].len, flow->total };
        flow->total += spans[i].len;
        if (half->other->conn == NULL)
            continue;
        if (tenon_tcp_send(half->other->conn, &spans[i]) != TENON_OK)
            half->refused++;
    }
}

static void half_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct half *half = app;

    (void)conn;
    half->acked += bytes;
    if (half->other->conn == NULL)
        return;
    tenon_tcp_ack(half->other->conn, bytes);
    tenon_tcp_consumed(half->other->conn, bytes);
}

static void half_finished(struct tenon_tcp *conn, void *app)
{
    struct half *half = app;

    (void)conn;
    half->fin = 1;
    if (half->other->conn != NULL)
        (void)tenon_tcp_finish(half->other->conn);
}

/* An end without both FINs is passed on as what it is; never as an orderly one. */
static void half_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct half *half = app;
    struct half *other = half->other;

    (void)conn;
    half->conn = NULL;
    half->closed++;
    half->why = why;
    if (why == TENON_OK || other->conn == NULL)
        return;
    if (!other->opened && other == &half->world->half[0] && tenon_tcp_decide(other->conn, TENON_REFUSE) == TENON_OK)
        other->conn = NULL;
    else
        tenon_tcp_abort(other->conn);
}

static const struct tenon_tcp_events half_events;

static enum tenon_verdict half_incoming(struct tenon_tcp *conn, void *app)
{
    struct world *world = app;
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    world->half[0].conn = conn;
    tenon_tcp_handler(conn, &half_events, &world->half[0]);
    HN_CHECK(tenon_ip_equal(&info.local.ip, &(struct tenon_ip){ { 0, 0, 0xFFFF, 0x0A000202U } }));
    if (tenon_tcp_connect_foreign(world->stack[RELAY], &world->half[1].conn, &info.remote, &info.local, &half_events,
                                  &world->half[1]) != TENON_OK)
        return TENON_REFUSE;
    HN_EQUAL(tenon_tcp_set(world->half[1].conn, TENON_TCP_ACK_BY_HAND, 1), TENON_OK);
    HN_EQUAL(tenon_tcp_set(world->half[1].conn, TENON_TCP_HOLD_FIN, 1), TENON_OK);
    return TENON_HOLD;
}

static const struct tenon_tcp_events half_events = { .incoming = half_incoming, .opened = half_opened,
    .received = half_received, .acked = half_acked, .finished = half_finished, .closed = half_closed };

/* Whether the peer of this half has acknowledged our FIN. No event tells it: it is asked. */
static int half_fin_is_acked(const struct half *half)
{
    struct tenon_tcp_info info;

    if (half->conn == NULL)
        return half->closed && half->why == TENON_OK;
    tenon_tcp_status(half->conn, &info);
    if (info.state != TENON_TCP_FIN_WAIT_2 && info.state != TENON_TCP_CLOSING && info.state != TENON_TCP_LAST_ACK)
        return 0;
    return info.in_flight == 0;
}

static void half_look(struct half *half)
{
    if (!half->fin || half->fin_acked || half->conn == NULL || !half_fin_is_acked(half->other))
        return;
    half->fin_acked = 1;
    HN_EQUAL(tenon_tcp_ack_fin(half->conn), TENON_OK);
    wire_wake(half->world->host[RELAY]);
}

/* ---- the tap ----------------------------------------------------------------------------------- */

struct tcp_view {
    uint32_t seq, ack, payload, flags, header;    /* header: bytes of the frame before the payload */
};

static int view(struct tcp_view *v, const struct tenon_frame *frame)
{
    uint8_t p[54];
    uint32_t n = 0;

    for (unsigned i = 0; i < frame->nspans; i++)
        for (uint32_t k = 0; k < frame->spans[i].len; k++, n++)
            if (n < sizeof p)
                p[n] = tenon_span_data(&frame->spans[i])[k];
    if (n < sizeof p || hn_get16(p + 12) != 0x0800 || p[23] != 6)
        return 0;
    v->seq = hn_get32(p + 38);
    v->ack = hn_get32(p + 42);
    v->flags = p[47];
    v->header = 34U + (p[46] >> 4) * 4U;
    v->payload = hn_get16(p + 16) + 14U - v->header;
    return n >= v->header + v->payload;
}

/* Payload of a sent segment: where it was received, or copied because it is small. */
static void tap_payload(struct flow *flow, const struct tcp_view *v, const struct tenon_frame *frame)
{
    uint32_t at = v->seq - (flow->out_isn + 1), low = 0, high = flow->npieces;

    if (v->payload == 0)
        return;
    if (frame->nspans == 1) {    /* behind the header, in the header's buffer */
        if (v->payload <= SMALL)
            flow->copied_small += v->payload;
        else
            flow->copied_large += v->payload;
        return;
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (flow->pieces[middle].at <= at)
            low = middle;
        else
            high = middle;
    }
    for (unsigned i = 1; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        while (low + 1 < flow->npieces && flow->pieces[low + 1].at <= at)
            low++;
        if (flow->npieces == 0 || span->buf != flow->pieces[low].buf ||
            span->off - flow->pieces[low].off != at - flow->pieces[low].at)
            flow->strangers++;
        at += span->len;
    }
}

/* The relay sends on a line; `out` flows that way, the acknowledgement is for `in`. */
static void tap_sent(struct world *world, struct flow *out, struct flow *in, const struct tenon_frame *frame)
{
    struct tcp_view v;

    if (!view(&v, frame))
        return;
    if (v.flags & 4)
        world->resets_seen++;    /* we have sent one */
    if (v.flags & 2) {
        out->out_isn = v.seq;
        out->out_known = 1;
    }
    if (!(v.flags & 16) || (v.flags & 4))
        return;
    if (v.flags & 2)
        world->syn_ack_early += !in->acked_known;    /* only the client gets a SYN-ACK from us */
    if (in->in_known) {
        const uint32_t acked = v.ack - in->in_isn;

        /* On the server's side the handshake's ACK cannot wait: its SYN goes through us first. */
        in->ahead += acked > 1 && acked > in->acked;
        in->acked_back = acked > in->acked_back ? acked : in->acked_back;
    }
    tap_payload(out, &v, frame);
}

/* The relay receives on a line; `in` comes from there, the acknowledgement is for `out`. */
static void tap_received(struct flow *in, struct flow *out, const struct tenon_frame *frame)
{
    struct tcp_view v;
    uint32_t acked;

    if (!view(&v, frame))
        return;
    if (frame->spans[0].len < v.header)
        in->cut_headers += 2 * v.header;
    if (v.flags & 2) {
        in->in_isn = v.seq;
        in->in_known = 1;
    }
    if (!(v.flags & 16) || (v.flags & 4) || !out->out_known)
        return;
    acked = v.ack - out->out_isn;
    out->acked = acked > out->acked ? acked : out->acked;
    out->acked_known = 1;
}

static void tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    struct world *world = arg;
    const int to_server = end == world->line[1];

    if (end != world->line[0] && !to_server)
        return;
    if (place == WIRE_SENT)
        tap_sent(world, &world->flow[to_server ? 0 : 1], &world->flow[to_server ? 1 : 0], frame);
    if (place == WIRE_RECEIVED)
        tap_received(&world->flow[to_server ? 1 : 0], &world->flow[to_server ? 0 : 1], frame);
}

/* ---- the world --------------------------------------------------------------------------------- */

static void *get(void *arg, size_t bytes)
{
    void *mem = malloc(bytes);

    if (mem != NULL)
        ((struct world *)arg)->mem_out += bytes;
    return mem;
}

static void put(void *arg, void *mem, size_t bytes)
{
    ((struct world *)arg)->mem_out -= bytes;
    free(mem);
}

/* Interface of a host: 10.0.HUB.NUMBER. */
static struct wire_end *plug(struct world *world, unsigned host, unsigned hub, unsigned number)
{
    const struct row *row = world->row;
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, hub, number);
    struct wire_end_conf conf;
    struct wire_end *end;

    memset(&conf, 0, sizeof conf);
    conf.netif.mac[0] = 2;
    conf.netif.mac[4] = (tenon_u8)hub;
    conf.netif.mac[5] = (tenon_u8)number;
    conf.netif.mtu = 1500;
    conf.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6;
    conf.hub = hub;
    conf.out.delay_us = hub == 2 ? row->delay_us : 1000;
    conf.split = (uint8_t)row->split;
    if (host == RELAY)
        conf.out.loss_ppm = conf.in.loss_ppm = row->loss_ppm;
    else
        conf.split = 0;
    end = wire_end_open(world->host[host], &conf);
    if (end == NULL || tenon_addr_add(world->stack[host], wire_end_netif(end), &ip, 24) != TENON_OK)
        abort();
    return end;
}

static void world_open(struct world *world, const struct row *row)
{
    const struct wire_conf wire_conf = { .memory = { get, put, world }, .seed = 3, .start_us = 1000000, .tap = tap,
                                         .tap_arg = world };
    const struct tenon_ip nets[2] = { tenon_ip4_bytes(10, 0, 1, 0), tenon_ip4_bytes(10, 0, 2, 0) };
    const struct tenon_ip gateways[2] = { tenon_ip4_bytes(10, 0, 1, 1), tenon_ip4_bytes(10, 0, 2, 1) };
    struct tenon_conf conf;

    memset(world, 0, sizeof *world);
    world->row = row;
    tenon_conf_default(&conf);
    conf.tcp_copy_max = 1;    /* small pieces are referred to as well: not a byte is to be touched */
    if (row->rcv_buf != 0)
        conf.tcp_rcv_buf = conf.tcp_snd_buf = row->rcv_buf;
    for (unsigned i = 0; i < 2; i++) {
        world->flow[i].pieces = calloc(PIECES_MAX, sizeof *world->flow[i].pieces);
        world->half[i].world = world;
        world->half[i].other = &world->half[1 - i];
    }
    world->wire = wire_open(&wire_conf);
    for (unsigned i = 0; i < 3; i++) {
        const struct wire_host_conf host_conf = { .seed = i + 1, .poison = 1 };

        world->host[i] = wire_host_open(world->wire, &host_conf, &conf);
        if (world->host[i] == NULL)
            abort();
        world->stack[i] = wire_host_stack(world->host[i]);
    }
    (void)plug(world, CLIENT, 1, 2);
    world->line[0] = plug(world, RELAY, 1, 1);
    world->line[1] = plug(world, RELAY, 2, 1);
    (void)plug(world, SERVER, 2, 2);
    HN_EQUAL(tenon_route_add(world->stack[CLIENT], 1, &nets[1], 24, &gateways[0], 0), TENON_OK);
    HN_EQUAL(tenon_route_add(world->stack[SERVER], 1, &nets[0], 24, &gateways[1], 0), TENON_OK);
    world->client = (struct end){ .world = world, .to_send = row->up, .me = THE_CLIENT, .started = 1 };
    world->server = (struct end){ .world = world, .to_send = row->down, .me = THE_SERVER,
                                  .started = !row->half_close };
}

static void world_relay_listens(struct world *world)
{
    const struct tenon_addr at = { tenon_ip_any(), PORT, 0 };
    struct tenon_tcp_listener *listener;

    HN_EQUAL(tenon_tcp_listen(world->stack[RELAY], &listener, &at, &half_events, world, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_TRANSPARENT, 1), TENON_OK);
    HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_ACK_BY_HAND, 1), TENON_OK);
    HN_EQUAL(tenon_tcp_listener_set(listener, TENON_TCP_HOLD_FIN, 1), TENON_OK);
}

static void world_server_listens(struct world *world)
{
    const struct tenon_addr at = { tenon_ip_any(), PORT, 0 };
    struct tenon_tcp_listener *listener;

    HN_EQUAL(tenon_tcp_listen(world->stack[SERVER], &listener, &at, &end_events, &world->server, 0), TENON_OK);
}

static void world_connect(struct world *world)
{
    const struct tenon_addr to = { tenon_ip4_bytes(10, 0, 2, 2), PORT, 0 };

    HN_EQUAL(tenon_tcp_connect(world->stack[CLIENT], &world->client.conn, NULL, &to, &end_events, &world->client),
             TENON_OK);
    wire_wake(world->host[CLIENT]);
}

/* Until everybody has closed, and TIME-WAIT is over. */
static void world_run(struct world *world, uint64_t us)
{
    const uint64_t end = wire_now(world->wire) + us;

    while (wire_now(world->wire) < end && wire_step(world->wire, end)) {
        half_look(&world->half[0]);
        half_look(&world->half[1]);
        if (world->client.closed && world->half[0].closed && world->half[1].closed &&
            (world->server.closed || !world->server.opened))
            break;
    }
    wire_run(world->wire, wire_now(world->wire) + 100000000);
}

/* Nothing is left with the relay: no buffer of a received frame, and after the end no memory anywhere. */
static void world_close(struct world *world)
{
    struct wire_host_stats stats;

    wire_host_stats(world->host[RELAY], &stats);
    HN_EQUAL(stats.rx_bufs, 0);
    for (unsigned i = 0; i < 3; i++)
        wire_host_fini(world->host[i]);
    wire_run(world->wire, wire_now(world->wire) + 10000000);
    for (unsigned i = 0; i < 3; i++) {
        wire_host_stats(world->host[i], &stats);
        HN_EQUAL(stats.mem_bytes, 0);
        HN_EQUAL(stats.bufs, 0);
        HN_EQUAL(stats.rx_bufs, 0);
        HN_EQUAL(stats.mem_wrong, 0);
        wire_host_close(world->host[i]);
    }
    wire_close(world->wire);
    HN_EQUAL(world->mem_out, 0);
    free(world->flow[0].pieces);
    free(world->flow[1].pieces);
}

/* ---- what must hold in every run --------------------------------------------------------------- */

static void check_watched(struct world *world)
{
    const uint32_t copied = tenon_stat(world->stack[RELAY], TENON_STAT_COPIED_BYTES);
    uint32_t small = 0, cut = 0;

    for (unsigned i = 0; i < 2; i++) {
        HN_EQUAL(world->flow[i].ahead, 0);
        HN_EQUAL(world->flow[i].strangers, 0);
        HN_EQUAL(world->flow[i].copied_large, 0);
        HN_CHECK(world->flow[i].npieces < PIECES_MAX);
        small += world->flow[i].copied_small;
        cut += world->flow[i].cut_headers;
    }
    if (world->row->split == 0)
        HN_EQUAL(cut, 0);
    HN_CHECK(copied >= small && copied - small <= cut);
    HN_EQUAL(world->syn_ack_early, 0);
    HN_EQUAL(world->half[0].refused, 0);
    HN_EQUAL(world->half[1].refused, 0);
    HN_EQUAL(world->client.wrong, 0);
    HN_EQUAL(world->server.wrong, 0);
    HN_EQUAL(tenon_stat(world->stack[RELAY], TENON_STAT_TCP_ACTIVE_OPEN), 1);
    HN_EQUAL(tenon_stat(world->stack[RELAY], TENON_STAT_TCP_SYN_RCVD), 1);
}

static void check_whole(struct world *world)
{
    const struct row *row = world->row;

    HN_EQUAL(world->client.opened, 1);
    HN_EQUAL(world->server.opened, 1);
    HN_EQUAL(world->client.received, row->down);
    HN_EQUAL(world->server.received, row->up);
    HN_EQUAL(world->client.finished, 1);
    HN_EQUAL(world->server.finished, 1);
    HN_EQUAL(world->client.closed, 1);
    HN_EQUAL(world->server.closed, 1);
    HN_EQUAL(world->client.why, TENON_OK);
    HN_EQUAL(world->server.why, TENON_OK);
    for (unsigned i = 0; i < 2; i++) {
        HN_EQUAL(world->half[i].closed, 1);
        HN_EQUAL(world->half[i].why, TENON_OK);
        /* SYN, all bytes and FIN were acknowledged, end to end */
        HN_EQUAL(world->flow[i].acked, (i == 0 ? row->up : row->down) + 2);
        HN_EQUAL(world->flow[i].acked_back, (i == 0 ? row->up : row->down) + 2);
    }
    HN_EQUAL(world->half[1].acked, row->up);
    HN_EQUAL(world->half[0].acked, row->down);
    HN_EQUAL(world->resets_seen, 0);
    if (row->half_close && row->down > 0)
        HN_CHECK(world->client_fin_wait_2);
}

static void relay_run(const struct row *row)
{
    static struct world world;

    hn_row = row->name;
    world_open(&world, row);
    world_relay_listens(&world);
    world_server_listens(&world);
    world_connect(&world);
    world_run(&world, 600000000);
    check_watched(&world);
    check_whole(&world);
    world_close(&world);
}

static void relay_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        relay_run(&rows[i]);
}

/* ---- tests ------------------------------------------------------------------------------------- */

static void established_bytes_both_ways(void)
{
    static const struct row rows[] = {
        { .name = "one byte up", .up = 1, .delay_us = 5000 },
        { .name = "one byte down", .down = 1, .delay_us = 5000 },
        { .name = "both", .up = 300000, .down = 200000, .delay_us = 5000 },
        { .name = "some loss", .up = 300000, .down = 300000, .loss_ppm = 10000, .delay_us = 5000 },
        { .name = "much loss", .up = 100000, .down = 60000, .loss_ppm = 50000, .delay_us = 5000 },
        { .name = "frames in pieces", .up = 100000, .down = 100000, .loss_ppm = 10000, .delay_us = 5000, .split = 3 },
        { .name = "small windows", .up = 200000, .down = 100000, .loss_ppm = 5000, .delay_us = 5000, .rcv_buf = 8000 },
        { .name = "small writes", .up = 20000, .down = 10000, .delay_us = 5000, .chunk = 100 },
        { .name = "small writes, loss", .up = 20000, .down = 10000, .loss_ppm = 20000, .delay_us = 5000, .chunk = 100 },
        { .name = "writes of 700", .up = 70000, .down = 70000, .loss_ppm = 10000, .delay_us = 5000, .chunk = 700 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

/* Full segments only, and no loss: not one byte is copied. */
static void established_large_segments(void)
{
    static const struct row row = { .name = "full segments", .up = 1448 * 200, .down = 1448 * 150, .delay_us = 5000 };
    static struct world world;

    world_open(&world, &row);
    world_relay_listens(&world);
    world_server_listens(&world);
    world_connect(&world);
    world_run(&world, 600000000);
    HN_EQUAL(tenon_stat(world.stack[RELAY], TENON_STAT_COPIED_BYTES), 0);
    HN_CHECK(world.flow[0].npieces >= 200 && world.flow[1].npieces >= 150);
    check_watched(&world);
    check_whole(&world);
    world_close(&world);
}

static void close_wait_half_close(void)
{
    static const struct row rows[] = {
        { .name = "answer after the question", .up = 50000, .down = 300000, .delay_us = 5000, .half_close = 1 },
        { .name = "with loss", .up = 50000, .down = 100000, .delay_us = 5000, .half_close = 1, .loss_ppm = 20000 },
        { .name = "nothing but FINs", .delay_us = 5000, .half_close = 1 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

/* Both finish before they know of each other: the relay's two connections get their FINs at the same time. */
static void established_both_finish_at_once(void)
{
    static const struct row rows[] = {
        { .name = "without data", .delay_us = 1000 },
        { .name = "after data", .up = 5000, .down = 5000, .delay_us = 1000 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

/* The server is so far away that the client repeats its SYN: still one connection, and no early answer. */
static void syn_received_held_repeated_syn(void)
{
    static const struct row rows[] = {
        { .name = "far server", .up = 3000, .down = 3000, .delay_us = 700000 },
    };

    relay_rows(rows, TENON_ARRAY_LEN(rows));
}

/* The server does not want: the client hears just that. */
static void syn_received_held_refused(void)
{
    static const struct row row = { .name = "", .up = 100, .delay_us = 5000 };
    static struct world world;

    world_open(&world, &row);
    world_relay_listens(&world);
    world_connect(&world);
    wire_run(world.wire, wire_now(world.wire) + 10000000);
    HN_EQUAL(world.client.closed, 1);
    HN_EQUAL(world.client.why, TENON_EREFUSED);
    HN_EQUAL(world.client.opened, 0);
    HN_EQUAL(world.half[1].why, TENON_EREFUSED);
    HN_EQUAL(world.half[0].closed, 0);    /* held and refused: without closed() */
    HN_EQUAL(world.syn_ack_early, 0);
    world_close(&world);
}

static void established_reset_passed_on(void)
{
    static const struct row rows[] = {
        { .name = "by the client", .up = 100000, .down = 100000, .delay_us = 5000, .abort_by = THE_CLIENT,
          .abort_at = 30000 },
        { .name = "by the server", .up = 100000, .down = 100000, .delay_us = 5000, .abort_by = THE_SERVER,
          .abort_at = 30000 },
        { .name = "by the client, at its first byte", .up = 100000, .down = 100000, .delay_us = 5000,
          .abort_by = THE_CLIENT, .abort_at = 1 },
        { .name = "by the server in pieces", .up = 100000, .down = 0, .delay_us = 5000, .abort_by = THE_SERVER,
          .abort_at = 50000, .split = 4 },
    };
    static struct world world;

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const int client = rows[i].abort_by == THE_CLIENT;

        hn_row = rows[i].name;
        world_open(&world, &rows[i]);
        world_relay_listens(&world);
        world_server_listens(&world);
        world_connect(&world);
        world_run(&world, 60000000);
        check_watched(&world);
        HN_EQUAL(client ? world.client.why : world.server.why, TENON_EABORTED);
        HN_EQUAL(client ? world.server.why : world.client.why, TENON_ERESET);
        HN_EQUAL(world.half[client ? 0 : 1].why, TENON_ERESET);
        HN_EQUAL(world.half[client ? 1 : 0].why, TENON_EABORTED);
        world_close(&world);
    }
}

static const struct hn_test tests[] = {
    { "established_bytes_both_ways", "RLY-1 RLY-8 TP-1 TP-2 EEC-3 PEP-1", established_bytes_both_ways },
    { "established_large_segments", "RLY-11", established_large_segments },
    { "close_wait_half_close", "RLY-2 RLY-3 EEC-2", close_wait_half_close },
    { "established_both_finish_at_once", "RLY-3 EEC-2", established_both_finish_at_once },
    { "syn_received_held_repeated_syn", "SYN-2 SYN-7", syn_received_held_repeated_syn },
    { "syn_received_held_refused", "SYN-2", syn_received_held_refused },
    { "established_reset_passed_on", "RLY-4 RLY-5", established_reset_passed_on },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
