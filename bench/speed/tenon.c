/* SPDX-License-Identifier: MIT */
/* Tenon, driven through its public interface as a program on a poll-mode driver would: bursts in, bursts out, sending
 * without copies from one static buffer. tenon_poll() runs when it has asked for it, after calls from outside of
 * handlers, and after POLL_US at the latest, since what arrives may have set earlier timers. */
#include "ends.h"
#include "harness.h"
#include "wire.h"

#include "ports/common/hostsum.h"

#include <tenon/tenon.h>

#include <stdlib.h>
#include <string.h>

enum { POLL_US = 64, PORT = 7, IDLE_PORT = 5001, FIRST_PORT = 10000, PORTS = 50000, OPENING = 256, BACKLOG = 4096 };
enum { TURNS_MAX = 100000, HEADROOM = 512 };

struct side {
    struct tenon *stack;
    void *mem;
    struct speed_pool pool;
    struct speed_wire *in, *out;
    const struct speed_end *end;    /* NULL: the wire */
    uint32_t poll_at, polled;
    int woken, cuts;
    uint64_t memory;
    uint32_t random;
};

/* An end of a working connection. */
struct end {
    struct tenon_tcp *tcp;
    struct tenon_udp *udp;
    uint32_t got, off;
};

static struct world {
    struct speed_conf conf;
    struct speed_count *count;
    struct side client, server;
    struct speed_wire wires[2];
    struct tenon_buf *data;    /* what is sent, over and over; a port may hold it longer than we */
    uint32_t now, data_bytes, piece;
    struct end *clients, *servers;
    unsigned accepted, connecting;
    int app_is_over;
    struct tenon_addr to;
} w;

const struct speed_end *speed_tenon_ends;

/* ---- the host ------------------------------------------------------------------------------------- */

static void *host_mem_get(void *host, size_t bytes)
{
    ((struct side *)host)->memory += bytes;
    return malloc(bytes);
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    ((struct side *)host)->memory -= bytes;
    free(mem);
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct side *side = host;
    unsigned i;

    for (i = 0; i < n; i++) {
        struct speed_packet *packet = speed_packet_get(&side->pool);

        if (packet == NULL)
            break;
        bufs[i] = &packet->buf;
    }
    return i;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct side *side = host;

    (void)netif;
    if (side->cuts)
        return speed_wire_send_cut(side->out, &side->pool, frames, n);
    return speed_wire_send(side->out, frames, n);
}

/* The same numbers every time: a run can be repeated. */
static int host_entropy(void *host, void *bytes, size_t n)
{
    struct side *side = host;
    size_t i;

    for (i = 0; i < n; i++) {
        side->random = side->random * 1664525U + 1013904223U;
        ((uint8_t *)bytes)[i] = (uint8_t)(side->random >> 24);
    }
    return 0;
}

static const struct tenon_host host_ops = { TENON_HOST_VERSION, host_mem_get, host_mem_put, host_buf_get,
    host_transmit, host_entropy };

/* ---- the loop ------------------------------------------------------------------------------------- */

static void side_input(struct side *side)
{
    struct tenon_frame frames[SPEED_BATCH_MAX];
    struct speed_packet *packets[SPEED_BATCH_MAX];
    const unsigned n = speed_wire_take(side->in, frames, packets, w.conf.batch);

    if (n > 0) {
        tenon_input(side->stack, 1, frames, n, w.now);
        speed_wire_done(packets, n);
    }
}

static void side_turn(struct side *side)
{
    if (side->end != NULL)
        side->end->receive(side->end->self, side->stack, w.now);
    else
        side_input(side);
    if (!side->woken && (int32_t)(w.now - side->poll_at) < 0 && w.now - side->polled < POLL_US)
        return;
    side->woken = 0;
    side->polled = w.now;
    side->poll_at = w.now + tenon_poll(side->stack, w.now);
}

static void udp_burst(void);

static uint64_t side_frames(const struct side *side, const struct speed_wire *out)
{
    return side->end != NULL ? side->end->frames(side->end->self) : speed_wire_frames(out);
}

static void tenon_run(unsigned long turns)
{
    for (; turns > 0; turns--) {
        w.now++;
        if (w.conf.app == SPEED_UDP_BULK)
            udp_burst();
        side_turn(&w.client);
        side_turn(&w.server);
    }
    w.count->frames = side_frames(&w.client, &w.wires[0]) + side_frames(&w.server, &w.wires[1]);
    w.count->copied = (uint64_t)tenon_stat(w.client.stack, TENON_STAT_COPIED_BYTES)
                      + tenon_stat(w.server.stack, TENON_STAT_COPIED_BYTES);
}

/* ---- sending -------------------------------------------------------------------------------------- */

static struct tenon_span message_at(struct end *end)
{
    struct tenon_span span;

    if (end->off + w.piece > w.data_bytes)
        end->off = 0;
    span.buf = w.data;
    span.off = end->off;
    span.len = w.piece;
    end->off += w.piece;
    return span;
}

static int send_message(struct end *end)
{
    const struct tenon_span span = message_at(end);

    if (w.conf.write)
        return tenon_tcp_write(end->tcp, tenon_span_data(&span), span.len) == (tenon_i32)span.len ? 0 : -1;
    return tenon_tcp_send(end->tcp, &span);
}

static void send_or_fail(struct end *end)
{
    if (send_message(end) != 0)
        w.count->failed++;
}

static void fill(struct end *end)
{
    while (tenon_tcp_room(end->tcp) >= w.piece)
        if (send_message(end) != 0) {
            w.count->failed++;
            return;
        }
}

/* ---- handlers: client ----------------------------------------------------------------------------- */

static uint32_t bytes_of(const struct tenon_span *spans, unsigned n)
{
    uint32_t bytes = 0;
    unsigned i;

    for (i = 0; i < n; i++)
        bytes += spans[i].len;
    return bytes;
}

static void on_opened(struct tenon_tcp *tcp, void *app)
{
    (void)tcp;
    (void)app;
    w.count->opened++;
    w.connecting--;
}

static void on_closed(struct tenon_tcp *tcp, void *app, int why)
{
    (void)tcp;
    (void)app;
    (void)why;
    if (!w.app_is_over)
        w.count->failed++;
}

static void client_ping(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    struct end *end = app;
    const uint32_t bytes = bytes_of(spans, n);

    tenon_tcp_consumed(tcp, bytes);
    end->got += bytes;
    if (end->got < w.conf.message)
        return;
    end->got = 0;
    w.count->rounds++;
    if (w.conf.app == SPEED_LOAD)
        speed_answered((unsigned)(end - w.clients));
    else
        send_or_fail(end);
}

static void client_acked(struct tenon_tcp *tcp, void *app, tenon_u32 bytes)
{
    (void)tcp;
    (void)bytes;
    if (w.conf.app == SPEED_BULK)
        fill(app);
}

static const struct tenon_tcp_events ping_events = {
    .opened = on_opened, .received = client_ping, .closed = on_closed };
static const struct tenon_tcp_events bulk_events = {
    .opened = on_opened, .acked = client_acked, .closed = on_closed };
static const struct tenon_tcp_events idle_events = { .opened = on_opened, .closed = on_closed };

static void short_opened(struct tenon_tcp *tcp, void *app)
{
    struct end *end = app;

    end->tcp = tcp;
    w.count->opened++;
    send_or_fail(end);
}

static void short_received(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    tenon_tcp_consumed(tcp, bytes_of(spans, n));
    w.count->rounds++;
    tenon_tcp_close(tcp);
}

static void short_closed(struct tenon_tcp *tcp, void *app, int why)
{
    struct end *end = app;

    (void)tcp;
    end->tcp = NULL;
    w.count->closed++;
    if (why != TENON_OK && !w.app_is_over)
        w.count->failed++;
}

static const struct tenon_tcp_events short_events = {
    .opened = short_opened, .received = short_received, .closed = short_closed };

/* ---- handlers: server ----------------------------------------------------------------------------- */

static void server_received(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    struct end *end = app;
    const uint32_t bytes = bytes_of(spans, n);

    tenon_tcp_consumed(tcp, bytes);
    end->got += bytes;
    if (end->got < w.conf.message)
        return;
    end->got = 0;
    send_or_fail(end);
}

static void server_sink(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    const uint32_t bytes = bytes_of(spans, n);

    (void)app;
    w.count->bytes += bytes;
    tenon_tcp_consumed(tcp, bytes);
}

static void short_answer(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    const struct tenon_span byte = { w.data, 0, 1 };

    (void)app;
    tenon_tcp_consumed(tcp, bytes_of(spans, n));
    if (tenon_tcp_send(tcp, &byte) != TENON_OK)
        w.count->failed++;
}

static const struct tenon_tcp_events server_events = { .received = server_received };
static const struct tenon_tcp_events sink_events = { .received = server_sink };
static const struct tenon_tcp_events answer_events = { .received = short_answer };

static void server_opened(struct tenon_tcp *tcp, void *app)
{
    struct end *end;

    (void)app;
    if (w.accepted == w.conf.connections)
        return;
    end = &w.servers[w.accepted++];
    end->tcp = tcp;
    tenon_tcp_handler(tcp, w.conf.app == SPEED_BULK ? &sink_events : &server_events, end);
}

static const struct tenon_tcp_events accept_events = { .opened = server_opened };
static const struct tenon_tcp_events hold_events = { .finished = NULL };

/* ---- UDP ------------------------------------------------------------------------------------------ */

static void udp_send(struct end *end, const struct tenon_addr *to)
{
    const struct tenon_span span = message_at(end);

    if (tenon_udp_send(end->udp, to, &span, 1) != TENON_OK)
        w.count->failed++;
}

static void udp_at_server(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    (void)sock;
    (void)spans;
    (void)n;
    w.count->messages++;
    w.count->bytes += info->bytes;
    if (w.conf.app == SPEED_UDP_PING)
        udp_send(app, &info->from);
}

static void udp_at_client(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    (void)sock;
    (void)info;
    (void)spans;
    (void)n;
    w.count->rounds++;
    udp_send(app, NULL);
}

static const struct tenon_udp_events udp_server_events = { .received = udp_at_server };
static const struct tenon_udp_events udp_client_events = { .received = udp_at_client };

/* One datagram of each connection, as many as a burst holds. */
static void udp_burst(void)
{
    static unsigned next;
    unsigned i;

    for (i = 0; i < w.conf.batch; i++) {
        next = next + 1 < w.conf.connections ? next + 1 : 0;
        udp_send(&w.clients[next], NULL);
    }
    w.client.woken = 1;
}

static const char *open_udp(void)
{
    struct tenon_addr at = { .port = PORT };
    unsigned i;

    if (tenon_udp_open(w.server.stack, &w.servers[0].udp, &udp_server_events, &w.servers[0]) != TENON_OK
        || tenon_udp_bind(w.servers[0].udp, &at) != TENON_OK)
        return "no UDP socket";
    for (i = 0; i < w.conf.connections; i++) {
        struct end *end = &w.clients[i];

        at.port = (tenon_u16)(FIRST_PORT + i);
        if (i >= PORTS || tenon_udp_open(w.client.stack, &end->udp, &udp_client_events, end) != TENON_OK
            || tenon_udp_bind(end->udp, &at) != TENON_OK || tenon_udp_connect(end->udp, &w.to) != TENON_OK)
            return "no UDP socket";
    }
    return NULL;
}

/* ---- opening -------------------------------------------------------------------------------------- */

static int options(struct tenon_tcp *tcp, struct tenon_tcp_listener *listener)
{
    static const enum tenon_tcp_option names[] = { TENON_TCP_TIMESTAMPS, TENON_TCP_PACING };
    const unsigned values[] = { w.conf.timestamps, w.conf.pacing };
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (values[i] != 1
            && (tcp ? tenon_tcp_set(tcp, names[i], values[i]) : tenon_tcp_listener_set(listener, names[i], values[i])))
            return -1;
    }
    return 0;
}

static int listen_at(unsigned port, const struct tenon_tcp_events *events)
{
    const struct tenon_addr at = { .port = (tenon_u16)port };
    struct tenon_tcp_listener *listener;

    if (tenon_tcp_listen(w.server.stack, &listener, &at, events, &w.servers[0], BACKLOG) != TENON_OK)
        return -1;
    return options(NULL, listener);
}

static struct tenon_ip ip_of(unsigned side)
{
    return w.conf.ip6 ? tenon_ip6(0xFD000000, 0, 0, side) : tenon_ip4_bytes(10, 0, 0, side);
}

/* Connection i to a port, from a port of its own, so that a million of them find one. */
static int connect_one(unsigned i, unsigned port, const struct tenon_tcp_events *events, void *app)
{
    const struct tenon_addr from = { .ip = ip_of(1), .port = (tenon_u16)(FIRST_PORT + i % PORTS) };
    struct tenon_tcp *tcp;

    w.to.port = (tenon_u16)(port + i / PORTS);
    if (tenon_tcp_connect(w.client.stack, &tcp, &from, &w.to, events, app) != TENON_OK || options(tcp, NULL) != 0)
        return -1;
    if (app != NULL)
        ((struct end *)app)->tcp = tcp;
    w.connecting++;
    w.client.woken = 1;
    return 0;
}

/* Until all that were begun are open. */
static int settle(unsigned most)
{
    unsigned long turns = 0;

    while (w.connecting > most && turns++ < TURNS_MAX)
        tenon_run(1);
    return w.connecting > most ? -1 : 0;
}

static const char *open_tcp(void)
{
    const struct tenon_tcp_events *events = w.conf.app == SPEED_BULK ? &bulk_events : &ping_events;
    unsigned i;

    for (i = 0; i < (w.conf.idle + PORTS - 1) / PORTS; i++)
        if (listen_at(IDLE_PORT + i, &hold_events) != 0)
            return "cannot listen";
    for (i = 0; i < w.conf.connections / PORTS + 1; i++)
        if (listen_at(PORT + i, w.conf.app == SPEED_CONNECT ? &answer_events : &accept_events) != 0)
            return "cannot listen";
    w.count->memory = w.client.memory + w.server.memory;
    for (i = 0; i < w.conf.idle; i++)
        if (connect_one(i, IDLE_PORT, &idle_events, NULL) != 0 || settle(OPENING) != 0)
            return "cannot open so many idle connections";
    for (i = 0; i < w.conf.connections && w.conf.app != SPEED_CONNECT; i++)
        if (connect_one(i, PORT, events, &w.clients[i]) != 0 || settle(OPENING) != 0)
            return "cannot open so many connections";
    if (settle(0) != 0)
        return "connections do not open";
    tenon_run(1000);    /* the last acknowledgements */
    w.count->memory = w.client.memory + w.server.memory - w.count->memory;
    return w.count->failed ? "connections closed by themselves" : NULL;
}

/* A buffer holds the largest frame where the core cannot gather; otherwise headers and small payloads. */
static uint32_t buf_bytes(void)
{
    const uint32_t frame = w.conf.tso ? 65536 + HEADROOM : w.conf.mtu + HEADROOM;

    return w.conf.copy ? frame : w.conf.write ? (frame > 4096 ? 65536 + HEADROOM : 2048) : HEADROOM + w.conf.small;
}

static void netif_of(unsigned number, struct tenon_netif_conf *netif)
{
    memset(netif, 0, sizeof *netif);
    if (speed_tenon_ends != NULL) {
        speed_tenon_ends[number - 1].netif_conf(speed_tenon_ends[number - 1].self, netif);
    } else {
        netif->mac[0] = 2;
        netif->mac[5] = (tenon_u8)number;
        netif->mtu = (tenon_u16)w.conf.mtu;
        netif->caps = (w.conf.tx_csum ? TENON_CAP_TX_CSUM : 0U) | (w.conf.tso ? TENON_CAP_TSO4 | TENON_CAP_TSO6 : 0U);
        netif->gather_max = w.conf.copy ? 1 : 0;
    }
    netif->flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | (w.conf.ip6 ? 0U : TENON_NETIF_NO_IP6);
}

static int side_open(struct side *side, unsigned number, struct speed_wire *in, struct speed_wire *out)
{
    const struct tenon_ip ip = ip_of(number), other = ip_of(3 - number);
    struct tenon_netif_conf netif, others;
    struct tenon_conf conf;

    side->end = speed_tenon_ends != NULL ? &speed_tenon_ends[number - 1] : NULL;
    side->in = in;
    side->out = out;
    side->random = number;
    side->cuts = (w.conf.tso && !w.conf.lro) || (w.conf.tx_csum && !w.conf.rx_csum);
    side->pool.buf_bytes = buf_bytes();
    netif_of(number, &netif);
    netif_of(3 - number, &others);
    tenon_conf_default(&conf);
    conf.tcp_conns_max = w.conf.idle + w.conf.connections + 1000;
    conf.udp_sockets_max = w.conf.connections + 10;
    conf.tx_gather_max = SPEED_SPANS;
    conf.tcp_copy_max = conf.udp_copy_max = (tenon_u16)w.conf.small;
    conf.checksum = w.conf.own_sum ? NULL : hostsum_best();
    if (w.conf.bbr)
        conf.tcp_cc = &tenon_cc_bbr;
    if (w.conf.app == SPEED_BULK && w.conf.window)
        conf.tcp_snd_buf = w.conf.window;
    side->mem = malloc(tenon_mem_size(&conf));
    if (!side->mem)
        return -1;
    if (side->end != NULL)
        side->stack = tenon_init(side->mem, &conf, side->end->host, side->end->self);
    else
        side->stack = tenon_init(side->mem, &conf, &host_ops, side);
    if (!side->stack || tenon_netif_add(side->stack, &netif) != 1
        || tenon_addr_add(side->stack, 1, &ip, w.conf.ip6 ? 64 : 24) != TENON_OK)
        return -1;
    return tenon_neighbour_set(side->stack, 1, &other, others.mac) == TENON_OK ? 0 : -1;
}

static void data_release(struct tenon_buf *buf)
{
    free(buf->data);
    free(buf);
}

static struct tenon_buf *data_new(uint32_t bytes)
{
    struct tenon_buf *buf = calloc(1, sizeof *buf);

    if (!buf)
        return NULL;
    buf->data = malloc(bytes);
    buf->size = bytes;
    buf->refs = 1;
    buf->release = data_release;
    if (buf->data)
        return buf;
    free(buf);
    return NULL;
}

static const char *tenon_open(const struct speed_conf *conf, struct speed_count *count)
{
    memset(&w, 0, sizeof w);
    w.conf = *conf;
    w.count = count;
    w.now = 1000000;
    if (conf->tso && !conf->tx_csum)
        return "a port that cuts segments makes their checksums, too";
    w.piece = conf->message;    /* what is larger than the queue is sent piece by piece */
    if (conf->app == SPEED_BULK && conf->window && w.piece > conf->window / 2)
        w.piece = conf->window / 2;
    w.data_bytes = conf->data > conf->message ? conf->data : conf->message;
    w.data = data_new(w.data_bytes);
    w.clients = calloc(conf->connections + 1, sizeof *w.clients);
    w.servers = calloc(conf->connections + 1, sizeof *w.servers);
    if (!w.data || !w.clients || !w.servers)
        return "not enough memory";
    memset(w.data->data, 1, w.data_bytes);    /* every page is there ... */
    memset(w.data->data, 0, w.data_bytes);    /* ... and all sums are 0: see wire.c */
    w.wires[0].csum = w.wires[1].csum = conf->rx_csum ? TENON_CSUM_GOOD : TENON_CSUM_NONE;
    w.wires[0].whole = w.wires[1].whole = conf->lro != 0;
    if (side_open(&w.client, 1, &w.wires[1], &w.wires[0]) != 0
        || side_open(&w.server, 2, &w.wires[0], &w.wires[1]) != 0)
        return "Tenon does not begin: not enough memory, or it takes no such interface";
    w.to.ip = ip_of(2);
    w.to.port = PORT;
    return conf->app == SPEED_UDP_PING || conf->app == SPEED_UDP_BULK ? open_udp() : open_tcp();
}

static void tenon_begin(void)
{
    unsigned i;

    for (i = 0; i < w.conf.connections; i++) {
        if (w.conf.app == SPEED_UDP_PING) {
            udp_send(&w.clients[i], NULL);
            if (i % w.conf.batch == w.conf.batch - 1)    /* the burst is full */
                tenon_poll(w.client.stack, w.now);
        }
        if (w.conf.app == SPEED_PING)
            send_or_fail(&w.clients[i]);
        if (w.conf.app == SPEED_BULK)
            fill(&w.clients[i]);
    }
    w.client.woken = 1;
}

static void tenon_connect(unsigned long connections)
{
    unsigned long begun = 0, over;
    const uint64_t closed = w.count->closed;
    struct tenon_tcp *tcp;

    for (;;) {
        over = (unsigned long)(w.count->closed - closed);
        if (over == connections || w.count->failed)
            return;
        for (; begun < connections && begun - over < w.conf.connections; begun++) {
            if (tenon_tcp_connect(w.client.stack, &tcp, NULL, &w.to, &short_events, &w.clients[0]) != TENON_OK
                || options(tcp, NULL) != 0) {
                w.count->failed++;
                return;
            }
            w.client.woken = 1;
        }
        tenon_run(1);
    }
}

static void tenon_rest(void)
{
    unsigned i;

    tenon_run(100);
    for (i = 0; i < 130; i++) {
        w.now += 1000000;
        w.client.woken = w.server.woken = 1;
        tenon_run(1);
    }
}

static void tenon_request(unsigned connection)
{
    send_or_fail(&w.clients[connection]);
    w.client.woken = 1;
}

static void tenon_close(void)
{
    struct side *const sides[] = { &w.client, &w.server };
    unsigned i;

    w.app_is_over = 1;
    for (i = 0; i < 2; i++) {
        if (sides[i]->stack)
            tenon_fini(sides[i]->stack);
        free(sides[i]->mem);
    }
    for (i = 0; i < 2; i++)    /* each may have buffers of the other */
        speed_pool_end(&sides[i]->pool);
    if (w.data)
        tenon_buf_put(w.data);
    free(w.clients);
    free(w.servers);
    memset(&w, 0, sizeof w);
}

extern const struct speed_driver speed_tenon;
const struct speed_driver speed_tenon = { "tenon", tenon_open, tenon_begin, tenon_run, tenon_connect, tenon_rest,
    tenon_request, tenon_close, 1, NULL };
