/* SPDX-License-Identifier: MIT */
/* A TCP echo, port 7. */
#include "../common/app.h"

static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[BOARD_RINGS];
static tenon_u8 rings[BOARD_RINGS][BOARD_RING];

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
        if (n == 0 || n == TENON_ENOMEM)
            return TENON_OK;
        if (n < 0)
            return n;
        if (n > client->left)
            n = client->left;
        __builtin_memcpy(to, client->at, (size_t)n);    /* the application's own work */
        (void)tenon_sock_send(socks, client->sk, to, (unsigned)n, 0);
        (void)tenon_sock_read_done(socks, client->sk, client->at, (unsigned)n);
        client->at += n;
        client->left -= n;
    }
}

static void serve(struct client *client, tenon_u8 *ring)
{
    struct tenon_addr any;
    tenon_u8 *to;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = 7;
    if (client->sk <= 0)
        client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    if (client->sk <= 0)
        return;
    if (tenon_sock_ask_sbuf(socks, client->sk, &to) == TENON_ENOMEM)
        (void)tenon_sock_set_sbuf(socks, client->sk, ring, BOARD_RING);
    if (echo(client) == TENON_OK)
        return;
    (void)tenon_sock_delete(socks, client->sk, 0);
    client->left = 0;
    client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
}

static void event(void *self, int sk, unsigned events)
{
    unsigned i;

    (void)self, (void)sk, (void)events;
    for (i = 0; i < BOARD_RINGS; i++)
        serve(&clients[i], rings[i]);
}

static int start(struct tenon_socks *unused)
{
    (void)unused;
    event(NULL, 0, 0);
    return clients[0].sk > 0 ? TENON_OK : clients[0].sk;
}

const struct app app = {"echo", NULL, start, event, NULL, NULL};
