/* SPDX-License-Identifier: MIT */
/* An echo on port 7, by TCP and UDP (RFC 862). */
#include "../common/app.h"

enum { PORT = 7, AGAIN_US = 10000 };

static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[BOARD_RINGS];
static tenon_u8 rings[BOARD_RINGS][BOARD_RING], datagram_ring[BOARD_RING];
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
        if (n == 0 || n == TENON_ENOMEM)
            return TENON_OK;
        if (n < 0)
            return n;
        if (n > client->left)
            n = client->left;
        __builtin_memcpy(to, client->at, (size_t)n);    /* the application's own work */
        if (tenon_sock_send(socks, client->sk, to, (unsigned)n, 0) != TENON_OK)
            return TENON_OK;    /* no memory, for a while: turn() tries again */
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
    any.port = PORT;
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

/* Each goes back to its sender: together, if it came in fragments and lies in several pieces. What has no room is lost,
 * as datagrams may be; and two echoes would answer each other for ever. */
static void echo_datagrams(void)
{
    struct tenon_sock_info info;
    tenon_u8 *from, *to;
    int n, room = 0, all = 0;

    while ((n = tenon_sock_ask_rbuf(socks, datagrams, &from)) > 0) {
        if (all == 0)
            room = tenon_sock_ask_sbuf(socks, datagrams, &to);
        if (all + n <= room)
            __builtin_memcpy(to + all, from, (size_t)n);
        all += n;
        (void)tenon_sock_read_done(socks, datagrams, from, (unsigned)n);
        (void)tenon_sock_status(socks, datagrams, &info);
        if (info.more)
            continue;
        if (all <= room && info.remote.port != PORT)
            (void)tenon_sock_send(socks, datagrams, to, (unsigned)all, 0);
        all = 0;
    }
}

static void event(void *self, int sk, unsigned events)
{
    unsigned i;

    (void)self, (void)sk, (void)events;
    for (i = 0; i < BOARD_RINGS; i++)
        serve(&clients[i], rings[i]);
    echo_datagrams();
}

/* What could not be sent for want of memory: no event tells that there is some again. */
static tenon_u32 turn(struct tenon_socks *unused, tenon_u32 now_us)
{
    tenon_u32 wait = 1000000;
    unsigned i;

    (void)unused, (void)now_us;
    for (i = 0; i < BOARD_RINGS; i++) {
        if (clients[i].left <= 0)
            continue;
        serve(&clients[i], rings[i]);
        wait = AGAIN_US;
    }
    return wait;
}

static int start(struct tenon_socks *unused)
{
    struct tenon_addr any;

    (void)unused;
    __builtin_memset(&any, 0, sizeof(any));
    any.port = PORT;
    datagrams = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    if (datagrams <= 0)
        return datagrams;
    event(NULL, 0, 0);
    return clients[0].sk > 0 ? tenon_sock_set_sbuf(socks, datagrams, datagram_ring, BOARD_RING) : clients[0].sk;
}

const struct app app = {"echo", NULL, start, event, turn, NULL};
