/* SPDX-License-Identifier: MIT */
/* The echo with the seven calls: each client has a ring, into which the bytes are copied. */
#include "tenon_program.h"

enum {
    PACKET = ECHO_SEGMENT + TENON_SOCK_RECORD_BYTES,    /* no driver here takes frames of one piece */
    RING = 2 * PACKET
};

static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[ECHO_CLIENTS];
static tenon_u8 rings[ECHO_CLIENTS][RING], datagram_ring[PACKET];
static int datagrams;

/* @return TENON_OK: all that was there is on its way, or waits for room in the ring; else the client is done */
static int echo(struct client *client)
{
    tenon_u8 *to;
    int n;

    for (;;) {
        if (client->left <= 0)
            client->left = tenon_sock_ask_rbuf(socks, client->sk, &client->at);
        if (client->left <= 0)
            return client->left;
        n = tenon_sock_ask_sbuf(socks, client->sk, &to);
        if (n <= 0)
            return n;
        if (n > client->left)
            n = client->left;
        __builtin_memcpy(to, client->at, (size_t)n);
        if (tenon_sock_send(socks, client->sk, to, (unsigned)n, 0) != TENON_OK)
            return 0;
        (void)tenon_sock_read_done(socks, client->sk, client->at, (unsigned)n);
        client->at += n;
        client->left -= n;
    }
}

static int listen(struct client *client, tenon_u8 *ring)
{
    struct tenon_addr any;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    client->left = 0;
    client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    return client->sk > 0 && tenon_sock_set_sbuf(socks, client->sk, ring, RING) == TENON_OK;
}

/* A ring that is still used by the bytes for the client before is tried again with the next event. */
static void serve(struct client *client, tenon_u8 *ring)
{
    tenon_u8 *to;

    if (client->sk > 0 && tenon_sock_ask_sbuf(socks, client->sk, &to) == TENON_ENOMEM)
        (void)tenon_sock_set_sbuf(socks, client->sk, ring, RING);
    if (client->sk > 0 && echo(client) == TENON_OK)
        return;
    if (client->sk > 0)
        (void)tenon_sock_delete(socks, client->sk, 0);
    (void)listen(client, ring);
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
    struct tenon_addr any;
    unsigned i;

    for (i = 0; i < ECHO_CLIENTS; i++)
        if (!listen(&clients[i], rings[i]))
            return 0;
    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    datagrams = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    return datagrams > 0 &&
           tenon_sock_set_sbuf(socks, datagrams, datagram_ring, sizeof(datagram_ring)) == TENON_OK;
}
