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
        if (client->left == 0)
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

static int open_end(int protocol)
{
    static const struct tenon_addr any = { .port = ECHO_PORT };

    return tenon_sock_create(socks, &any, NULL, protocol, 0);
}

/* Who has no descriptor, or finds none free, is done: each event is another try. */
static void serve(struct client *client)
{
    if (echo(client) == TENON_OK)
        return;
    (void)tenon_sock_delete(socks, client->sk, 0);
    client->left = 0;
    client->sk = open_end(TENON_SOCK_TCP);
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
    datagrams = open_end(TENON_SOCK_UDP);
    program_event(NULL, 0, 0);
    return datagrams > 0 && clients[ECHO_CLIENTS - 1].sk > 0;
}
