/* SPDX-License-Identifier: MIT */
/* The echo with lwIP's netconns, which do not block: bytes are read where they have been received. */
#include "lwip_program.h"

#include "lwip/tcp.h"

static struct netconn *listener, *datagrams;
static struct client {
    struct netconn *conn;
    struct pbuf *received;    /* bytes that are not sent yet */
} clients[ECHO_CLIENTS];

/* What goes into the send buffer is given back to the window. @return ERR_OK: all that was there is on its way;
 * ERR_WOULDBLOCK: it waits for room in the send buffer, or for more; else the client is done */
static err_t echo(struct client *client)
{
    err_t error = ERR_OK;
    size_t n;

    while (error == ERR_OK) {
        if (client->received == NULL)
            error = netconn_recv_tcp_pbuf_flags(client->conn, &client->received, NETCONN_NOAUTORCVD);
        if (error != ERR_OK)
            break;
        error = netconn_write_partly(client->conn, client->received->payload, client->received->len, NETCONN_COPY, &n);
        if (error == ERR_OK) {
            client->received = pbuf_free_header(client->received, (u16_t)n);
            (void)netconn_tcp_recvd(client->conn, n);
        }
    }
    return error;
}

static void serve(struct client *client)
{
    if (client->conn == NULL || echo(client) == ERR_WOULDBLOCK)
        return;
    if (client->received != NULL)
        pbuf_free(client->received);
    client->received = NULL;
    (void)netconn_delete(client->conn);
    client->conn = NULL;
}

/* As many as there is room for wait in the mailbox. */
static void accept(struct client *client)
{
    if (client->conn != NULL || netconn_accept(listener, &client->conn) != ERR_OK)
        return;
    netconn_set_nonblocking(client->conn, 1);
    tcp_nagle_disable(client->conn->pcb.tcp);
}

/* A datagram goes back as it is, out of its block. */
static void echo_datagrams(void)
{
    struct netbuf *datagram;

    while (netconn_recv_udp_raw_netbuf(datagrams, &datagram) == ERR_OK) {
        (void)netconn_send(datagrams, datagram);
        netbuf_delete(datagram);
    }
}

void program_turn(void)
{
    unsigned i;

    for (i = 0; i < ECHO_CLIENTS; i++) {
        serve(&clients[i]);
        accept(&clients[i]);
        serve(&clients[i]);
    }
    echo_datagrams();
}

int program_open(void)
{
    listener = netconn_new(NETCONN_TCP);
    datagrams = netconn_new(NETCONN_UDP);
    if (listener == NULL || datagrams == NULL || netconn_bind(listener, IP_ANY_TYPE, ECHO_PORT) != ERR_OK ||
        netconn_bind(datagrams, IP_ANY_TYPE, ECHO_PORT) != ERR_OK || netconn_listen(listener) != ERR_OK)
        return 0;
    netconn_set_nonblocking(listener, 1);
    netconn_set_nonblocking(datagrams, 1);
    return 1;
}
