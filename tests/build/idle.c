/* SPDX-License-Identifier: MIT */
/* What an idle connection costs: two instances, connected by a queue of frames in memory, open N connections,
 * send some bytes over each of them in both directions, and fall silent until every timer has run out; then N
 * more. What each instance then holds more than after the first N, divided by N, is the price, whatever it
 * consists of: what is there once does not count, what is kept for the first thousand either, and the share
 * of the hash table does. Measured with a few segments per connection that leave at once (TENON_TCP_NODELAY),
 * over IPv4 and IPv6, where the larger number counts; and with many that have to wait for windows and for
 * Nagle's algorithm, because how long they did is kept (struct tn_past). Prints bytes per connection of the
 * listening and of the opening side, and the size of an instance with the default configuration. Used by
 * tools/footprint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

enum { CONNECTIONS = 16384, FRAME_MAX = 2048, QUEUE_MAX = 1024 };
enum { FEW_BYTES = 4000, MANY_BYTES = 60000 };    /* 3 segments; more than the initial window */

struct packet {
    struct tenon_buf buf;
    unsigned char bytes[FRAME_MAX];
    tenon_u32 len;
};

struct side {
    struct tenon *stack;
    struct side *peer;
    struct packet *queue[QUEUE_MAX]; /* frames on their way to this side */
    unsigned nqueue;
    size_t held; /* bytes from mem_get() that are not given back */
    unsigned opened;
    size_t received;
    int echoes;
};

static void packet_release(struct tenon_buf *buf)
{
    free((char *)buf - offsetof(struct packet, buf));
}

static struct packet *packet_new(void)
{
    struct packet *packet = calloc(1, sizeof(*packet));

    if (packet == NULL)
        abort();
    packet->buf.data = packet->bytes;
    packet->buf.size = FRAME_MAX;
    packet->buf.refs = 1;
    packet->buf.release = packet_release;
    return packet;
}

static void *mem_get(void *host, size_t bytes)
{
    ((struct side *)host)->held += bytes;
    return malloc(bytes);
}

static void mem_put(void *host, void *mem, size_t bytes)
{
    ((struct side *)host)->held -= bytes;
    free(mem);
}

static unsigned buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    unsigned i;

    (void)host;
    for (i = 0; i < n; i++)
        bufs[i] = &packet_new()->buf;
    return n;
}

static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct side *to = ((struct side *)host)->peer;
    unsigned i, s;

    (void)netif;
    for (i = 0; i < n && to->nqueue < QUEUE_MAX; i++) {
        struct packet *packet = packet_new();

        for (s = 0; s < frames[i].nspans; s++) {
            const struct tenon_span *span = &frames[i].spans[s];

            memcpy(packet->bytes + packet->len, tenon_span_data(span), span->len);
            packet->len += span->len;
        }
        to->queue[to->nqueue++] = packet;
    }
    return i;
}

static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    memset(bytes, 0x3C, n);
    return 0;
}

static const struct tenon_host ops = { TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy };

static void opened(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    ((struct side *)app)->opened++;
}

static void received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct side *side = app;
    unsigned i;

    for (i = 0; i < n; i++) {
        side->received += spans[i].len;
        if (side->echoes && tenon_tcp_send(conn, &spans[i]) != TENON_OK)
            abort();
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static const struct tenon_tcp_events events = { NULL, opened, received, NULL, NULL, NULL, NULL, NULL };

static struct tenon_ip address(int version, unsigned number)
{
    return version == 4 ? tenon_ip4_bytes(10, 0, 0, number) : tenon_ip6(0x20010DB8UL, 0, 0, number);
}

static void side_start(struct side *side, struct side *peer, int version, unsigned number)
{
    struct tenon_conf conf;
    struct tenon_netif_conf netif;
    struct tenon_ip ip = address(version, number);

    memset(side, 0, sizeof(*side));
    side->peer = peer;
    tenon_conf_default(&conf);
    side->stack = tenon_init(malloc(tenon_mem_size(&conf)), &conf, &ops, side);
    memset(&netif, 0, sizeof(netif));
    netif.mac[0] = 2;
    netif.mac[5] = (tenon_u8)number;
    netif.mtu = 1500;
    netif.flags = TENON_NETIF_NO_DAD;
    if (side->stack == NULL || tenon_netif_add(side->stack, &netif) != 1
        || tenon_addr_add(side->stack, 1, &ip, version == 4 ? 24 : 64) != TENON_OK) {
        fprintf(stderr, "idle: an instance cannot be made\n");
        exit(1);
    }
}

static void side_stop(struct side *side)
{
    tenon_fini(side->stack);
    if (side->held != 0) {
        fprintf(stderr, "idle: %lu bytes were not given back\n", (unsigned long)side->held);
        exit(1);
    }
    free(side->stack);
}

static void side_run(struct side *side, tenon_u32 now_us)
{
    unsigned n = side->nqueue, i;
    struct packet *packets[QUEUE_MAX];

    memcpy(packets, side->queue, n * sizeof(packets[0]));
    side->nqueue = 0;
    for (i = 0; i < n; i++) {
        struct tenon_span span = { &packets[i]->buf, 0, packets[i]->len };
        struct tenon_frame frame;

        memset(&frame, 0, sizeof(frame));
        frame.spans = &span;
        frame.nspans = 1;
        (void)tenon_input(side->stack, 1, &frame, 1, now_us);
        tenon_buf_put(&packets[i]->buf);
    }
    (void)tenon_poll(side->stack, now_us);
}

/* ---- measuring ----------------------------------------------------------------------------------------- */

static struct side server, client;
static tenon_u32 now;

static void run(tenon_u32 us)
{
    side_run(&client, now += us);
    side_run(&server, now += us);
}

/* One connection more, and so many bytes there and back. */
static void open_one(int version, unsigned bytes)
{
    static const tenon_u8 data[MANY_BYTES];
    const size_t before = client.received;
    struct tenon_tcp *conn;
    struct tenon_addr at;
    unsigned rounds = 0;
    int error;

    memset(&at, 0, sizeof(at));
    at.ip = address(version, 1);
    at.port = 7;
    error = tenon_tcp_connect(client.stack, &conn, NULL, &at, &events, &client);
    if (error == TENON_OK && bytes == FEW_BYTES)
        error = tenon_tcp_set(conn, TENON_TCP_NODELAY, 1);
    if (error != TENON_OK || tenon_tcp_write(conn, data, bytes) != (tenon_i32)bytes) {
        fprintf(stderr, "idle: connection %u: %s\n", client.opened, tenon_error_text(error));
        exit(1);
    }
    while (client.received - before < bytes && rounds++ < 10000)
        run(50);
    if (client.received - before != bytes) {
        fprintf(stderr, "idle: %lu bytes of %u came back\n", (unsigned long)(client.received - before), bytes);
        exit(1);
    }
}

static void open_all(int version, unsigned bytes)
{
    unsigned i;

    for (i = 0; i < CONNECTIONS; i++)
        open_one(version, bytes);
    for (i = 0; i < 20000; i++) /* 200 seconds of silence */
        run(5000);
}

struct price {
    size_t listening, opening;
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void measure(struct price *price, int version, unsigned bytes)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    size_t server_before, client_before;

    side_start(&server, &client, version, 1);
    side_start(&client, &server, version, 2);
    server.echoes = 1;
    memset(&at, 0, sizeof(at));
    at.port = 7;
    if (tenon_tcp_listen(server.stack, &listener, &at, &events, &server, 0) != TENON_OK
        || tenon_tcp_listener_set(listener, TENON_TCP_NODELAY, bytes == FEW_BYTES) != TENON_OK)
        exit(1);
    run(1000000);
    open_all(version, bytes);
    server_before = server.held;
    client_before = client.held;
    open_all(version, bytes);
    if (client.opened != 2 * CONNECTIONS || server.opened != 2 * CONNECTIONS) {
        fprintf(stderr, "idle: only %u and %u connections were opened\n", server.opened, client.opened);
        exit(1);
    }
    price->listening = larger(price->listening, (server.held - server_before) / CONNECTIONS);
    price->opening = larger(price->opening, (client.held - client_before) / CONNECTIONS);
    side_stop(&client);
    side_stop(&server);
}

int main(void)
{
    struct price few, many;
    struct tenon_conf conf;

    memset(&few, 0, sizeof(few));
    memset(&many, 0, sizeof(many));
    measure(&few, 4, FEW_BYTES);
    measure(&few, 6, FEW_BYTES);
    measure(&many, 4, MANY_BYTES);
    tenon_conf_default(&conf);
    printf("listening_side %lu\n", (unsigned long)few.listening);
    printf("opening_side %lu\n", (unsigned long)few.opening);
    printf("after_waiting %lu\n", (unsigned long)larger(many.listening, many.opening));
    printf("instance %lu\n", (unsigned long)tenon_mem_size(&conf));
    return 0;
}
