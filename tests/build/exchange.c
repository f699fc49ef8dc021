/* SPDX-License-Identifier: MIT */
/* What a user of a package tries first: two instances in one program send each other a hundred kilobytes over
 * TCP and close. C89 that is also C++98, on nothing but <tenon/tenon.h>, so that it runs with the library as it was
 * installed or packed, and with the two files of tools/amalgamate.
 *
 *     exchange        says what was exchanged; the exit status is 0 if all of it was right */
#include <tenon/tenon.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAM_BYTES = 100000, QUEUE_FRAMES = 16, FRAME_BYTES = 2048, PORT = 7, ROUNDS_MAX = 100000 };

/* A machine with one instance. What it sends lies in its queue until the other has taken it. */
struct machine {
    struct tenon *stack;
    void *mem;
    tenon_u8 queue[QUEUE_FRAMES][FRAME_BYTES];
    tenon_u32 queued[QUEUE_FRAMES];    /* bytes of each */
    unsigned frames;
    long blocks, bufs;                 /* got and not given back */
    tenon_u32 sent, received;          /* bytes of the stream */
    int wrong, closed, why;
};

/* A packet buffer, its bytes, and whose it is. */
struct packet {
    struct tenon_buf buf;
    struct machine *machine;
    tenon_u8 bytes[FRAME_BYTES];
};

static tenon_u8 stream_byte(tenon_u32 at)
{
    return (tenon_u8)((at * 2654435761UL) >> 24 & 0xFF);
}

/* ---- the five functions of a host ---------------------------------------------------------------------- */

static void *mem_get(void *host, size_t bytes)
{
    ((struct machine *)host)->blocks++;
    return malloc(bytes);
}

static void mem_put(void *host, void *mem, size_t bytes)
{
    (void)bytes;
    ((struct machine *)host)->blocks--;
    free(mem);
}

static void packet_release(struct tenon_buf *buf)
{
    struct packet *packet = TENON_CONTAINER(buf, struct packet, buf);

    packet->machine->bufs--;
    free(packet);
}

static unsigned buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct machine *machine = (struct machine *)host;
    unsigned i;

    for (i = 0; i < n; i++) {
        struct packet *packet = (struct packet *)malloc(sizeof(*packet));

        if (packet == NULL)
            break;
        packet->machine = machine;
        packet->buf.data = packet->bytes;
        packet->buf.size = FRAME_BYTES;
        packet->buf.refs = 1;
        packet->buf.release = packet_release;
        machine->bufs++;
        bufs[i] = &packet->buf;
    }
    return i;
}

static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct machine *machine = (struct machine *)host;
    unsigned i, k;

    (void)netif;
    for (i = 0; i < n && machine->frames < QUEUE_FRAMES; i++) {
        tenon_u8 *to = machine->queue[machine->frames];
        tenon_u32 bytes = 0;

        for (k = 0; k < frames[i].nspans; k++) {
            memcpy(to + bytes, tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len);
            bytes += frames[i].spans[k].len;
        }
        machine->queued[machine->frames++] = bytes;
    }
    return i;
}

/* Numbers that anybody can guess: good for this program and for no other. */
static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    memset(bytes, 0x5A, n);
    return 0;
}

static const struct tenon_host host_ops = { TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy };

/* ---- the server sends back what it gets, in the buffers in which it came -------------------------------- */

static void server_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct machine *machine = (struct machine *)app;
    unsigned i;

    for (i = 0; i < n; i++) {
        machine->wrong += tenon_tcp_send(conn, &spans[i]) != TENON_OK;
        tenon_tcp_consumed(conn, spans[i].len);
        machine->received += spans[i].len;
    }
}

static void machine_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    ((struct machine *)app)->closed++;
    ((struct machine *)app)->why = why;
}

static const struct tenon_tcp_events server_events = { NULL, NULL, server_received, NULL, NULL, machine_closed,
                                                       NULL, NULL };

/* ---- the client sends the stream, and looks at each byte that returns ---------------------------------- */

static void client_send(struct tenon_tcp *conn, void *app)
{
    struct machine *machine = (struct machine *)app;
    tenon_i32 taken = 1;

    while (taken > 0 && machine->sent < STREAM_BYTES) {
        tenon_u8 bytes[1000];
        tenon_u32 i;

        for (i = 0; i < sizeof(bytes); i++)
            bytes[i] = stream_byte(machine->sent + i);
        taken = tenon_tcp_write(conn, bytes, (tenon_u32)sizeof(bytes));
        if (taken > 0)
            machine->sent += (tenon_u32)taken;
    }
    if (machine->sent >= STREAM_BYTES)
        (void)tenon_tcp_finish(conn);    /* harmless when it is said twice */
}

static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)bytes;
    client_send(conn, app);
}

static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct machine *machine = (struct machine *)app;
    tenon_u32 k;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (k = 0; k < spans[i].len; k++)
            machine->wrong += tenon_span_data(&spans[i])[k] != stream_byte(machine->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static const struct tenon_tcp_events client_events = { NULL, client_send, client_received, client_acked, NULL,
                                                       machine_closed, NULL, NULL };

/* ---- the cable ------------------------------------------------------------------------------------------ */

static int machine_open(struct machine *machine, unsigned number)
{
    struct tenon_conf conf;
    struct tenon_netif_conf netif;
    struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, number);

    memset(machine, 0, sizeof(*machine));
    tenon_conf_default(&conf);
    machine->mem = malloc(tenon_mem_size(&conf));
    machine->stack = machine->mem != NULL ? tenon_init(machine->mem, &conf, &host_ops, machine) : NULL;
    memset(&netif, 0, sizeof(netif));
    netif.mac[0] = 2;
    netif.mac[5] = (tenon_u8)number;
    netif.mtu = 1500;
    netif.flags = TENON_NETIF_NO_DAD;
    return machine->stack != NULL && tenon_netif_add(machine->stack, &netif) == 1
           && tenon_addr_add(machine->stack, 1, &ip, 24) == TENON_OK;
}

/* What one has sent, the other gets. */
static void deliver(struct machine *from, struct machine *to, tenon_u32 now_us)
{
    struct tenon_frame frame;
    struct tenon_span span;
    unsigned i;
    const unsigned frames = from->frames;

    for (i = 0; i < frames; i++) {
        if (buf_get(to, &span.buf, 1) == 0)
            continue;
        memcpy(span.buf->data, from->queue[i], from->queued[i]);
        span.off = 0;
        span.len = from->queued[i];
        memset(&frame, 0, sizeof(frame));
        frame.spans = &span;
        frame.nspans = 1;
        (void)tenon_input(to->stack, 1, &frame, 1, now_us);
        tenon_buf_put(span.buf);
    }
    from->frames = 0;
}

/* Milliseconds go by until both sides have closed. */
static void run(struct machine *a, struct machine *b)
{
    tenon_u32 now_us = 0;
    int i;

    for (i = 0; i < ROUNDS_MAX && !(a->closed && b->closed); i++) {
        (void)tenon_poll(a->stack, now_us);
        (void)tenon_poll(b->stack, now_us);
        deliver(a, b, now_us);
        deliver(b, a, now_us);
        now_us += 1000;
    }
}

static int machine_close(struct machine *machine)
{
    tenon_fini(machine->stack);
    free(machine->mem);
    return machine->blocks == 0 && machine->bufs == 0 && machine->closed == 1 && machine->why == TENON_OK
           && machine->wrong == 0 && machine->received == STREAM_BYTES;
}

int main(void)
{
    static struct machine client, server;
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn;
    struct tenon_addr at, to;
    int good;

    memset(&at, 0, sizeof(at));
    at.port = PORT;
    to = at;
    to.ip = tenon_ip4_bytes(10, 0, 0, 2);
    if (!machine_open(&client, 1) || !machine_open(&server, 2)
        || tenon_tcp_listen(server.stack, &listener, &at, &server_events, &server, 0) != TENON_OK
        || tenon_tcp_connect(client.stack, &conn, NULL, &to, &client_events, &client) != TENON_OK) {
        printf("exchange: could not begin\n");
        return 1;
    }
    run(&client, &server);
    good = machine_close(&client);
    good = machine_close(&server) && good;
    printf("Tenon %s: %lu bytes out, %lu back, %d wrong (%s): %s\n", TENON_VERSION, (unsigned long)server.received,
           (unsigned long)client.received, client.wrong + server.wrong, tenon_error_text(client.why),
           good ? "good" : "BAD");
    return !good;
}
