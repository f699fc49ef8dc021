/* SPDX-License-Identifier: MIT */
/* The echo with the seven calls: each client has a ring, into which the bytes are copied. */
#include "tenon_program.h"

enum {
    PACKET = ECHO_SEGMENT + TENON_SOCK_RECORD_BYTES,    /* no driver here takes frames of one piece */
    RING = ECHO_HEAP / ECHO_CLIENTS * PACKET
};

static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[ECHO_CLIENTS];
static tenon_u8 rings[ECHO_CLIENTS][RING], datagram_ring[PACKET];
static int datagrams;

/* As tenon_sock_ask_sbuf(); a ring that is still used by the bytes for the client before has no room. */
static int ask_room(struct client *client, tenon_u8 *ring, tenon_u8 **to)
{
    const int n = tenon_sock_ask_sbuf(socks, client->sk, to);

    if (n != TENON_ENOMEM)
        return n;
    if (tenon_sock_set_sbuf(socks, client->sk, ring, RING) != TENON_OK)
        return 0;
    return tenon_sock_ask_sbuf(socks, client->sk, to);
}

/* @return TENON_OK: all that was there is on its way, or waits for room in the ring; else the client is done */
static int echo(struct client *client, tenon_u8 *ring)
{
    tenon_u8 *to;
    int n;

    for (;;) {
        if (client->left == 0)
            client->left = tenon_sock_ask_rbuf(socks, client->sk, &client->at);
        if (client->left <= 0)
            return client->left;
        n = ask_room(client, ring, &to);
        if (n <= 0)
            return n;
        if (n > client->left)
            n = client->left;
        __builtin_memcpy(to, client->at, (size_t)n);
        if (tenon_sock_send(socks, client->sk, to, (unsigned)n, 0) != TENON_OK)
            return TENON_OK;
        (void)tenon_sock_read_done(socks, client->sk, client->at, (unsigned)n);
        client->at += n;
        client->left -= n;
    }
}

static int open_end(int protocol)
{
    static const struct tenon_addr any = { .port = ECHO_PORT };

    return tenon_sock_create(socks, &any, NULL, protocol, 0);
}

/* Who has no descriptor, or finds none free, is done: each event is another try. */
static void serve(struct client *client, tenon_u8 *ring)
{
    if (echo(client, ring) == TENON_OK)
        return;
    (void)tenon_sock_delete(socks, client->sk, 0);
    client->left = 0;
    client->sk = open_end(TENON_SOCK_TCP);
}

static void echo_datagrams(void)
{
    tenon_u8 *from, *to;
    int n, room;

    while ((n = tenon_sock_ask_rbuf(socks, datagrams, &from)) > 0) {
        room = tenon_sock_ask_sbuf(socks, datagrams, &to);
        if (room >= n) {
            __builtin_memcpy(to, from, (size_t)n);
            (void)tenon_sock_send(socks, datagrams, to, (unsigned)n, 0);
        }
        (void)tenon_sock_read_done(socks, datagrams, from, (unsigned)n);
    }
}

const unsigned program_sending = sizeof(rings) + sizeof(datagram_ring);

void program_event(void *self, int sk, unsigned events)
{
    unsigned i;

    (void)self, (void)sk, (void)events;
    for (i = 0; i < ECHO_CLIENTS; i++)
        serve(&clients[i], rings[i]);
    echo_datagrams();
}

int program_open(void)
{
    datagrams = open_end(TENON_SOCK_UDP);
    program_event(NULL, 0, 0);
    return clients[ECHO_CLIENTS - 1].sk > 0 &&
           tenon_sock_set_sbuf(socks, datagrams, datagram_ring, sizeof(datagram_ring)) == TENON_OK;
}
