/* SPDX-License-Identifier: MIT */
/* An echo on port 7, by TCP and UDP (RFC 862). */
#include "../common/app.h"

enum { PORT = 7, AGAIN_US = 10000 };

static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[BOARD_CLIENTS];
static tenon_u8 datagram_ring[BOARD_RING];
static int datagrams;

/* Out of the blocks in which the bytes came. @return TENON_OK: all that was there is on its way, or waits for room;
 * else the client is done */
static int echo(struct client *client)
{
    int error;

    for (;;) {
        if (client->left <= 0)
            client->left = tenon_sock_ask_rbuf(socks, client->sk, &client->at);
        if (client->left <= 0)
            return client->left;
        error = tenon_sock_send_back(socks, client->sk, client->at, (unsigned)client->left, 0);
        if (error == TENON_EAGAIN || error == TENON_ENOMEM)
            return TENON_OK;    /* for a while: turn() tries again */
        if (error != TENON_OK)
            return error;
        client->left = 0;
    }
}

static void serve(struct client *client)
{
    struct tenon_addr any;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = PORT;
    if (client->sk <= 0)
        client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    if (client->sk <= 0 || echo(client) == TENON_OK)
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
    for (i = 0; i < BOARD_CLIENTS; i++)
        serve(&clients[i]);
    echo_datagrams();
}

/* What could not be sent for want of memory: no event tells that there is some again. */
static tenon_u32 turn(struct tenon_socks *unused, tenon_u32 now_us)
{
    tenon_u32 wait = 1000000;
    unsigned i;

    (void)unused, (void)now_us;
    for (i = 0; i < BOARD_CLIENTS; i++) {
        if (clients[i].left <= 0)
            continue;
        serve(&clients[i]);
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
