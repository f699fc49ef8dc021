/* SPDX-License-Identifier: MIT */
/* What a device of DPDK costs: two instances in one thread, as in bench/speed, on its wire in memory or on
 * ports of the kind dpdk.
 *
 *     tenon-dpdk ping-pong     a round trip on the wire, and on a pair of net_ring
 *     tenon-dpdk offloads      a stream on net_vhost and net_virtio_user without one offload or another, by
 *     size of message
 *
 * Time is CPU time of the thread. All ways of a table are open at the same time and measured in turns; what
 * is printed is the median of ROUNDS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/speed/wire.h"
#include "ports/common/hostsum.h"
#include "ports/dpdk/cable/cable.h"
#include "ports/dpdk/dpdk.h"

enum {
    ROUNDS = 9,
    SEGMENT_MS = 40,
    ECHO = 7,
    WINDOW = 1 << 20,
    DATA = 1 << 20,
    PIECES_MAX = 1024,
    WORLDS_MAX = 8,
    MESSAGE = 64
};

struct world;

/* An instance, at a port or at the wire. */
struct side {
    struct tenon *stack;
    struct port *port;
    struct speed_pool pool;
    struct speed_wire *in, *out;
    uint32_t poll_at, polled;
    struct world *world;
};

struct world {
    const char *name;
    struct side client, server;
    struct speed_wire wires[2];
    struct tenon_buf data; /* memory of the program's own, of which messages are written */
    struct tenon_span pieces[PIECES_MAX]; /* DPDK's memory, of which they are sent without a copy */
    unsigned npieces, piece; /* how many; the next one */
    uint32_t now, message, at; /* the next byte of `data`, or of that piece */
    uint64_t rounds, bytes;
    unsigned opened;
    int is_bulk;
};

static char error[600];

__attribute__((noreturn)) static void fail(const char *why)
{
    fprintf(stderr, "tenon-dpdk: %s\n", why);
    exit(1);
}

/* ---- the host of an instance on the wire --------------------------------------------------------------------- */

static unsigned wire_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct side *side = host;

    for (unsigned i = 0; i < n; i++) {
        struct speed_packet *packet = speed_packet_get(&side->pool);

        if (packet == NULL)
            return i;
        bufs[i] = &packet->buf;
    }
    return n;
}

static unsigned wire_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    (void)netif;
    return speed_wire_send(((struct side *)host)->out, frames, n);
}

static const struct tenon_host wire_host = { TENON_HOST_VERSION, port_mem_get, port_mem_put, wire_buf_get,
                                             wire_transmit, port_entropy };

static void receive(struct side *side, uint32_t now)
{
    struct tenon_frame frames[PORT_BURST];
    struct speed_packet *packets[PORT_BURST];
    unsigned n;

    if (side->port != NULL) {
        (void)port_receive(side->port, side->stack, 1, now);
        return;
    }
    n = speed_wire_take(side->in, frames, packets, PORT_BURST);
    if (n == 0)
        return;
    tenon_input(side->stack, 1, frames, n, now);
    speed_wire_done(packets, n);
}

static void side_turn(struct side *side)
{
    const uint32_t now = side->world->now;

    receive(side, now);
    if ((int32_t)(now - side->poll_at) < 0 && now - side->polled < 64)
        return;
    side->polled = now;
    side->poll_at = now + tenon_poll(side->stack, now);
}

static void turn(struct world *world)
{
    world->now++;
    side_turn(&world->client);
    side_turn(&world->server);
}

/* ---- applications ------------------------------------------------------------------------------------------------ */

static void write_message(struct world *world, struct tenon_tcp *conn)
{
    if (world->at + world->message > world->data.size)
        world->at = 0;
    if (tenon_tcp_write(conn, world->data.data + world->at, world->message) != (tenon_i32)world->message)
        fail("cannot send");
    world->at += world->message;
}

/* As many pieces as it needs. */
static void refer_message(struct world *world, struct tenon_tcp *conn)
{
    for (uint32_t left = world->message; left > 0;) {
        struct tenon_span span = world->pieces[world->piece];

        span.off = world->at;
        span.len = span.len - span.off < left ? span.len - span.off : left;
        left -= span.len;
        world->at += span.len;
        if (world->at == span.buf->size) {
            world->at = 0;
            world->piece = (world->piece + 1) % world->npieces;
        }
        if (tenon_tcp_send(conn, &span) != TENON_OK)
            fail("cannot send");
    }
}

static void send_message(struct world *world, struct tenon_tcp *conn)
{
    (world->npieces > 0 ? refer_message : write_message)(world, conn);
}

static void fill(struct world *world, struct tenon_tcp *conn)
{
    while (tenon_tcp_room(conn) >= world->message)
        send_message(world, conn);
}

static uint32_t take(struct tenon_tcp *conn, const struct tenon_span *spans, unsigned n)
{
    uint32_t bytes = 0;

    for (unsigned i = 0; i < n; i++)
        bytes += spans[i].len;
    tenon_tcp_consumed(conn, bytes);
    return bytes;
}

static void on_opened(struct tenon_tcp *conn, void *app)
{
    struct world *world = app;

    world->opened++;
    if (world->is_bulk)
        fill(world, conn);
    else
        send_message(world, conn);
}

static void on_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct world *world = app;

    (void)bytes;
    if (world->is_bulk)
        fill(world, conn);
}

/* Messages are small: each comes whole. */
static void on_ping(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct world *world = app;

    world->rounds += tenon_tcp_stack(conn) == world->client.stack;
    if (take(conn, spans, n) != world->message)
        fail("a message has come in pieces");
    send_message(world, conn);
}

static void on_sink(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    ((struct world *)app)->bytes += take(conn, spans, n);
}

static const struct tenon_tcp_events ping_events = { .opened = on_opened, .acked = on_acked, .received = on_ping };
static const struct tenon_tcp_events echo_events = { .received = on_ping };
static const struct tenon_tcp_events sink_events = { .received = on_sink };

/* ---- opening ------------------------------------------------------------------------------------- */

static struct port *open_port(const char *written)
{
    static const struct port_type *const types[] = { &dpdk_port_type, NULL };
    struct port_choice choice;
    struct port *port = NULL;

    if (port_read(&choice, types, written, error, sizeof error) == 0)
        port = port_open(choice.type, &choice.conf, error, sizeof error);
    if (port == NULL)
        fail(error);
    return port;
}

/* @param written  its port; NULL: the wire */
static void side_open(struct side *side, struct world *world, unsigned number, const char *written)
{
    const struct tenon_ip ip = tenon_ip4(0x0A000000UL + number);
    struct tenon_netif_conf netif = { .mac = { 2, 0, 0, 0, 0, (tenon_u8)number }, .mtu = 1500 };
    struct tenon_conf conf;
    void *host = side;

    side->world = world;
    side->in = &world->wires[number - 1];
    side->out = &world->wires[2 - number];
    side->pool.buf_bytes = 2048;
    tenon_conf_default(&conf);
    conf.tcp_snd_buf = WINDOW;
    conf.checksum = hostsum_best();
    if (written != NULL) {
        host = side->port = open_port(written);
        port_netif_conf(side->port, &netif);
    } else {
        conf.tx_gather_max = SPEED_SPANS;
    }
    netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | TENON_NETIF_NO_IP6;
    side->stack = tenon_init(malloc(tenon_mem_size(&conf)), &conf,
                             written != NULL ? dpdk_port_type.host : &wire_host, host);
    if (side->stack == NULL || tenon_netif_add(side->stack, &netif) != 1 ||
        tenon_addr_add(side->stack, 1, &ip, 24) != TENON_OK)
        fail("tenon_init() failed");
}

static struct world *world_open(const char *name, const char *client, const char *server, unsigned conns, int is_bulk,
                                uint32_t data)
{
    const struct tenon_addr echo = { .port = ECHO }, to = { .ip = tenon_ip4(0x0A000002), .port = ECHO };
    struct world *world = calloc(1, sizeof *world);
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn;

    if (world == NULL)
        fail("out of memory");
    world->name = name;
    world->now = 1000000;
    world->message = MESSAGE;
    world->is_bulk = is_bulk;
    world->data = (struct tenon_buf){ malloc(data), data, 1, NULL };
    memset(world->data.data, 1, data); /* every page is there */
    side_open(&world->server, world, 2, server);
    side_open(&world->client, world, 1, client);
    if (tenon_tcp_listen(world->server.stack, &listener, &echo, is_bulk ? &sink_events : &echo_events, world,
                         100) != TENON_OK)
        fail("cannot listen");
    for (unsigned i = 0; i < conns; i++)
        if (tenon_tcp_connect(world->client.stack, &conn, NULL, &to, &ping_events, world) != TENON_OK)
            fail("cannot connect");
    for (unsigned long i = 0; i < 3000000 && world->opened < conns; i++)
        turn(world);
    if (world->opened < conns)
        fail("connections do not open");
    return world;
}

/* ---- measuring ----------------------------------------------------------------------------------- */

static double cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* @return ns for each round trip or byte */
static double segment(struct world *world)
{
    const uint64_t *units = world->is_bulk ? &world->bytes : &world->rounds;
    const double began = cpu_ns();
    const uint64_t before = *units;
    double now;

    do {
        for (int i = 0; i < 50; i++)
            turn(world);
        now = cpu_ns();
    } while (now - began < SEGMENT_MS * 1e6);
    return *units > before ? (now - began) / (double)(*units - before) : -1;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(struct world *const *worlds, unsigned n, double *medians)
{
    double ns[WORLDS_MAX][ROUNDS];

    for (unsigned i = 0; i < n; i++)
        (void)segment(worlds[i]);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < n; i++)
            ns[i][round] = segment(worlds[i]);
    for (unsigned i = 0; i < n; i++) {
        qsort(ns[i], ROUNDS, sizeof ns[i][0], ascending);
        medians[i] = ns[i][ROUNDS / 2];
    }
}

static void ping_pong(void)
{
    static const char *const names[2] = { "ping0", "ping1" };
    static const char *const ring[2] = { "dpdk:net_ring_ping0", "dpdk:net_ring_ping1" };
    static const unsigned conns[] = { 1, 8, 32 };
    const unsigned n = sizeof conns / sizeof conns[0];
    char first[2][100];

    printf("ping-pong, 64 bytes, checksums in software; ns for each round trip\n");
    printf("%12s %10s %10s %10s\n", "connections", "wire", "net_ring", "more");
    for (unsigned i = 0; i < n; i++) {
        struct world *worlds[2];
        double ns[2];

        char pair[2][16];
        const char *pairs[2] = { pair[0], pair[1] };

        for (unsigned k = 0; k < 2; k++) {
            snprintf(pair[k], sizeof pair[k], "%s.%u", names[k], conns[i]);
            snprintf(first[k], sizeof first[k], "%s.%u", ring[k], conns[i]);
        }
        if (dpdk_cable(pairs, 1, error, sizeof error) != 0)
            fail(error);
        worlds[0] = world_open("wire", NULL, NULL, conns[i], 0, 4096);
        worlds[1] = world_open("net_ring", first[0], first[1], conns[i], 0, 4096);
        measure(worlds, 2, ns);
        printf("%12u %10.1f %10.1f %9.1f%%\n", conns[i], ns[0], ns[1], (ns[1] / ns[0] - 1) * 100);
    }
}

/* Without which. In virtio they depend on each other: who sends large frames leaves their sums to
 * the receiver, who must take both; a receiver that cannot know sums has a sender that makes them, and cuts.
 */
static const struct {
    const char *text, *host_args, *host, *guest;
    int refers;
    uint32_t data;
} rows[] = {
    { "all on", ",tso=1", "", "", 1, DATA },
    { "no scatter-gather: copied, of 1 MB", ",tso=1", "", "", 0, DATA },
    { "no scatter-gather: copied, of 128 MB", ",tso=1", "", "", 0, 128 << 20 },
    { "no TSO, and so no LRO", "", "", "", 1, DATA },
    { "no TSO, no checksum at the sender", "", ",offload=off,sums=trust", ",offload=off", 1, DATA },
    { "no TSO, no checksum at both", "", ",offload=off", ",offload=off", 1, DATA },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Buffers of the port for DATA bytes. */
static void get_pieces(struct world *world)
{
    struct port *port = world->client.port;
    struct tenon_buf *buf;

    world->at = 0;
    for (uint32_t bytes = 0; bytes < DATA && world->npieces < PIECES_MAX; bytes += buf->size) {
        if (port->type->host->buf_get(port, &buf, 1) != 1)
            fail("too little packet memory");
        memset(buf->data, 1, buf->size);
        world->pieces[world->npieces++] = (struct tenon_span){ buf, 0, buf->size };
    }
}

static void close_pair(struct world *world, const char *socket)
{
    while (world->npieces > 0)
        tenon_buf_put(world->pieces[--world->npieces].buf);
    tenon_fini(world->client.stack);
    tenon_fini(world->server.stack);
    port_close(world->client.port);
    port_close(world->server.port);
    (void)unlink(socket);
}

static void print_offloads(const uint32_t *messages, unsigned n, double ns[][ROWS])
{
    printf("A stream from net_virtio_user to net_vhost, MTU 1500, both ends in one thread; Gbit/s\n");
    printf("%-38s", "bytes of a message");
    for (unsigned m = 0; m < n; m++)
        printf(" %7u", messages[m]);
    for (unsigned i = 0; i < ROWS; i++) {
        printf("\n%-38s", rows[i].text);
        for (unsigned m = 0; m < n; m++)
            printf(" %7.2f", 8 / ns[m][i]);
    }
    printf("\n");
}

static void offloads(void)
{
    static const uint32_t messages[] = { 64, 256, 1024, 4096, 16384, 65536 };
    enum { SIZES = sizeof messages / sizeof messages[0] };
    struct world *worlds[ROWS];
    double ns[SIZES][ROWS];
    char host[160], guest[160], folder[] = "/tmp/tenon-dpdk-XXXXXX", path[64];

    if (mkdtemp(folder) == NULL)
        fail("no folder in /tmp");
    if (dpdk_start("", NULL, 2 * ROWS * dpdk_port_type.memory, error, sizeof error) != 0)
        fail(error); /* all of it at the start: it does not grow with both ends in one process */
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(host, sizeof host, "dpdk:{net_vhost%u,iface=%s/%u%s}%s", i, folder, i, rows[i].host_args,
                 rows[i].host);
        snprintf(guest, sizeof guest, "dpdk:{net_virtio_user%u,path=%s/%u,queue_size=1024},wake=never%s", i, folder, i,
                 rows[i].guest);
        worlds[i] = world_open(rows[i].text, guest, host, 1, 1, rows[i].data);
        if (rows[i].refers)
            get_pieces(worlds[i]);
    }
    for (unsigned m = 0; m < SIZES; m++) {
        for (unsigned i = 0; i < ROWS; i++)
            worlds[i]->message = messages[m];
        measure(worlds, ROWS, ns[m]);
    }
    print_offloads(messages, SIZES, ns);
    for (unsigned i = 0; i < ROWS; i++) {
        snprintf(path, sizeof path, "%s/%u", folder, i);
        close_pair(worlds[i], path);
    }
    (void)rmdir(folder);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "ping-pong") == 0)
        ping_pong();
    else if (argc == 2 && strcmp(argv[1], "offloads") == 0)
        offloads();
    else
        fail("usage: tenon-dpdk ping-pong|offloads");
    return 0;
}
