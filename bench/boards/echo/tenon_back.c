/* SPDX-License-Identifier: MIT */
/* The echo with the calls for small machines, and no ring: what has come goes back out of the block in which
 * it came. */
#include "tenon_program.h"

const unsigned program_sending = 0;
static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[ECHO_CLIENTS];
static int datagrams;

/* @return TENON_OK: all that was there is on its way, or waits for acknowledgements; else the client is done */
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
            return TENON_OK;
        if (error != TENON_OK)
            return error;
        client->left = 0;
    }
}

static int listen(struct client *client)
{
    struct tenon_addr any;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    client->left = 0;
    client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    return client->sk > 0;
}

/* Who finds no descriptor free is tried again with the next event. */
static void serve(struct client *client)
{
    if (client->sk > 0 && echo(client) == TENON_OK)
        return;
    if (client->sk > 0)
        (void)tenon_sock_delete(socks, client->sk, 0);
    (void)listen(client);
}

static void echo_datagrams(void)
{
    tenon_u8 *p;
    int n;

    while ((n = tenon_sock_ask_rbuf(socks, datagrams, &p)) > 0) {
        if (tenon_sock_send_back(socks, datagrams, p, (unsigned)n, 0) != TENON_OK)
            (void)tenon_sock_read_done(socks, datagrams, p, (unsigned)n);
    }
}

void program_event(void *self, int sk, unsigned events)
{
    unsigned i;

    (void)self, (void)sk, (void)events;
    for (i = 0; i < ECHO_CLIENTS; i++)
        serve(&clients[i]);
    echo_datagrams();
}

int program_open(void)
{
    struct tenon_addr any;
    unsigned i;

    for (i = 0; i < ECHO_CLIENTS; i++)
        if (!listen(&clients[i]))
            return 0;
    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    datagrams = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    return datagrams > 0;
}
