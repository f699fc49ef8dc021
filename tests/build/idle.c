/* SPDX-License-Identifier: MIT */
/* What an idle connection costs: two instances, connected by a queue of frames in memory, open N
 * connections and fall silent; what each instance then holds more than before, divided by N, is the
 * price, whatever it consists of. Prints: bytes per connection of the listening and of the opening
 * side, and the size of an instance with the default configuration. Used by tools/footprint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

enum { CONNECTIONS = 2048, FRAME_MAX = 2048, QUEUE_MAX = 8192 };

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

static const struct tenon_tcp_events events = { NULL, opened, NULL, NULL, NULL, NULL, NULL, NULL };

static void side_start(struct side *side, struct side *peer, unsigned number)
{
    struct tenon_conf conf;
    struct tenon_netif_conf netif;
    struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, number);

    side->peer = peer;
    tenon_conf_default(&conf);
    side->stack = tenon_init(malloc(tenon_mem_size(&conf)), &conf, &ops, side);
    memset(&netif, 0, sizeof(netif));
    netif.mac[0] = 2;
    netif.mac[5] = (tenon_u8)number;
    netif.mtu = 1500;
    netif.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    if (side->stack == NULL || tenon_netif_add(side->stack, &netif) != 1
        || tenon_addr_add(side->stack, 1, &ip, 24) != TENON_OK) {
        fprintf(stderr, "idle: an instance cannot be made\n");
        exit(1);
    }
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

int main(void)
{
    static struct side server, client;
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    struct tenon_conf conf;
    size_t server_before, client_before;
    tenon_u32 now = 0;
    unsigned i;

    side_start(&server, &client, 1);
    side_start(&client, &server, 2);
    memset(&at, 0, sizeof(at));
    at.port = 7;
    if (tenon_tcp_listen(server.stack, &listener, &at, &events, &server, CONNECTIONS) != TENON_OK)
        return 1;
    server_before = server.held;
    client_before = client.held;

    at.ip = tenon_ip4_bytes(10, 0, 0, 1);
    for (i = 0; i < CONNECTIONS; i++) {
        struct tenon_tcp *conn;
        int error = tenon_tcp_connect(client.stack, &conn, NULL, &at, &events, &client);

        if (error != TENON_OK) {
            fprintf(stderr, "idle: connection %u: %s\n", i, tenon_error_text(error));
            return 1;
        }
        side_run(&client, now += 100);
        side_run(&server, now += 100);
    }
    for (i = 0; i < 10000; i++) { /* ten seconds of silence */
        side_run(&client, now += 500);
        side_run(&server, now += 500);
    }
    if (client.opened != CONNECTIONS || server.opened != CONNECTIONS) {
        fprintf(stderr, "idle: only %u and %u connections were opened\n", server.opened, client.opened);
        return 1;
    }
    tenon_conf_default(&conf);
    printf("listening_side %lu\n", (unsigned long)((server.held - server_before) / CONNECTIONS));
    printf("opening_side %lu\n", (unsigned long)((client.held - client_before) / CONNECTIONS));
    printf("instance %lu\n", (unsigned long)tenon_mem_size(&conf));
    return 0;
}
