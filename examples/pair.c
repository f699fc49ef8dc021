/* SPDX-License-Identifier: MIT */
/* Two instances of Tenon in one process, on a wire in memory: one serves an echo, the other sends it a
 * megabyte and compares what comes back. The line between them has 20 ms of delay, 2 MB/s, and loses one
 * frame in a hundred; the clock is the wire's own, so the run takes no time and is the same every time.
 *
 *     pair        prints how it went */
#include "ports/wire/wire.h"

#include <tenon/tenon.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1000000, PORT = 7 };

/* ---- the server: what comes goes back, in the buffers in which it came ------------------------- */

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    unsigned i;

    (void)app;
    for (i = 0; i < n; i++) {
        tenon_tcp_send(conn, &spans[i]);    /* fits: the client has less than a send buffer holds */
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

/* finished and closed are left out: without a handler the connection is closed when its peer is done */
static const struct tenon_tcp_events echo_events = { .received = echo_received };

/* ---- the client -------------------------------------------------------------------------------- */

struct client {
    uint32_t sent, received;
    int wrong, closed, why;
};

static uint8_t byte_at(uint32_t i)
{
    return (uint8_t)(i * 2654435761U >> 24);
}

static void client_send(struct tenon_tcp *conn, struct client *client)
{
    uint8_t bytes[1000];
    uint32_t i, n;
    tenon_i32 taken = 0;

    do {
        client->sent += (uint32_t)taken;
        n = BYTES - client->sent < sizeof(bytes) ? BYTES - client->sent : sizeof(bytes);
        for (i = 0; i < n; i++)
            bytes[i] = byte_at(client->sent + i);
        taken = n > 0 ? tenon_tcp_write(conn, bytes, n) : 0;
    } while (taken > 0);
    if (n == 0)
        tenon_tcp_finish(conn);    /* harmless when it is said twice */
}

static void client_opened(struct tenon_tcp *conn, void *app)
{
    client_send(conn, app);
}

static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)bytes;
    client_send(conn, app);    /* there is room again */
}

static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct client *client = app;
    uint32_t k;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (k = 0; k < spans[i].len; k++)
            client->wrong += tenon_span_data(&spans[i])[k] != byte_at(client->received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void client_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct client *client = app;

    (void)conn;
    client->closed = 1;
    client->why = why;
}

static const struct tenon_tcp_events client_events = {
    .opened = client_opened, .acked = client_acked, .received = client_received, .closed = client_closed};

/* ---- the world --------------------------------------------------------------------------------- */

static void *get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void put(void *arg, void *mem, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(mem);
}

/* A host with one interface and the address 10.0.0.number. */
static struct wire_host *host_open(struct wire *wire, unsigned number)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, number);
    struct wire_host_conf host_conf = { .seed = number };
    struct wire_end_conf end_conf = {
        .netif = {.mac = {2, 0, 0, 0, 0, (tenon_u8)number}, .mtu = 1500, .flags = TENON_NETIF_NO_DAD},
        .out = {.rate = 2000000, .delay_us = 20000, .loss_ppm = 10000}};
    struct tenon_conf conf;
    struct wire_host *host;

    tenon_conf_default(&conf);
    host = wire_host_open(wire, &host_conf, &conf);
    if (!host || !wire_end_open(host, &end_conf) || tenon_addr_add(wire_host_stack(host), 1, &ip, 24) != TENON_OK)
        exit(1);
    return host;
}

int main(void)
{
    const struct wire_conf wire_conf = {.memory = {get, put, NULL}, .seed = 1};
    struct wire *wire = wire_open(&wire_conf);
    struct wire_host *server = host_open(wire, 1), *client_host = host_open(wire, 2);
    const struct tenon_addr any = { .port = PORT }, to = { .ip = tenon_ip4_bytes(10, 0, 0, 1), .port = PORT };
    struct client client = { 0 };
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *conn;
    int good;

    if (tenon_tcp_listen(wire_host_stack(server), &listener, &any, &echo_events, NULL, 0) != TENON_OK
        || tenon_tcp_connect(wire_host_stack(client_host), &conn, NULL, &to, &client_events, &client) != TENON_OK)
        return 1;
    wire_wake(client_host);    /* we have called it from outside of a handler */
    while (!client.closed && wire_now(wire) < 600000000 && wire_step(wire, 600000000))
        ;
    good = client.closed && client.why == TENON_OK && client.received == BYTES && !client.wrong;
    printf("%u bytes out, %u back, %d wrong, after %.3f s (%s): %s\n", client.sent, client.received, client.wrong,
           (double)wire_now(wire) / 1e6, tenon_error_text(client.why), good ? "good" : "BAD");
    wire_close(wire);
    return !good;
}
