/* SPDX-License-Identifier: MIT */
/* The echo with lwIP's raw interface. ECHO_COPY 1: what is sent is copied into lwIP's heap, as programs for
 * it do; 0: it leaves out of the pbufs in which it came, which stay until it has been acknowledged. */
#include "lwip_program.h"

#include "lwip/tcp.h"
#include "lwip/udp.h"

enum { CONNECTION_POLL = 2 };

static struct client {
    struct tcp_pcb *pcb;
    struct pbuf *received;    /* bytes that are not sent yet, behind those ... */
    u16_t lent;               /* ... that are, and lie here until they are acknowledged */
    u8_t finished;            /* the client has sent its last */
} clients[ECHO_CLIENTS];

/* ---- TCP -------------------------------------------------------------------------------------------- */

static void forget(struct client *client)
{
    if (client->received != NULL)
        pbuf_free(client->received);
    client->received = NULL;
    client->lent = 0;
    client->pcb = NULL;
    client->finished = 0;
}

/* Bytes that are not wanted any more are given back to the window. */
static void let_go(struct client *client, u16_t n)
{
    client->received = pbuf_free_header(client->received, n);
    tcp_recved(client->pcb, n);
}

static void echo(struct client *client)
{
    struct tcp_pcb *pcb = client->pcb;
    u16_t at = 0;

    for (;;) {
        struct pbuf *p = ECHO_COPY ? client->received : pbuf_skip(client->received, client->lent, &at);
        u16_t n = p != NULL ? (u16_t)(p->len - at) : 0;

        if (n > tcp_sndbuf(pcb))
            n = (u16_t)tcp_sndbuf(pcb);
        if (n == 0 || tcp_write(pcb, (u8_t *)p->payload + at, n, ECHO_COPY ? TCP_WRITE_FLAG_COPY : 0) != ERR_OK)
            break;
        if (ECHO_COPY)
            let_go(client, n);
        else
            client->lent = (u16_t)(client->lent + n);
    }
    (void)tcp_output(pcb);
    if (client->received == NULL && client->finished && tcp_close(pcb) == ERR_OK) {
        tcp_arg(pcb, NULL);
        tcp_recv(pcb, NULL);
        tcp_sent(pcb, NULL);
        tcp_err(pcb, NULL);
        tcp_poll(pcb, NULL, 0);
        forget(client);
    }
}

static err_t have_received(void *self, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct client *client = self;

    (void)pcb, (void)error;
    if (p == NULL)
        client->finished = 1;
    else if (client->received == NULL)
        client->received = p;
    else
        pbuf_cat(client->received, p);
    echo(client);
    return ERR_OK;
}

static err_t have_sent(void *self, struct tcp_pcb *pcb, u16_t n)
{
    struct client *client = self;

    (void)pcb;
    if (!ECHO_COPY) {
        client->lent = (u16_t)(client->lent - n);
        let_go(client, n);
    }
    echo(client);
    return ERR_OK;
}

static err_t time_has_passed(void *self, struct tcp_pcb *pcb)
{
    (void)pcb;
    echo(self);
    return ERR_OK;
}

static void has_ended(void *self, err_t error)
{
    (void)error;
    forget(self);
}

static err_t have_accepted(void *self, struct tcp_pcb *pcb, err_t error)
{
    unsigned i;

    (void)self, (void)error;
    for (i = 0; i < ECHO_CLIENTS && clients[i].pcb != NULL; i++)
        ;
    if (i == ECHO_CLIENTS || pcb == NULL)
        return ERR_MEM;
    clients[i].pcb = pcb;
    tcp_nagle_disable(pcb);
    tcp_arg(pcb, &clients[i]);
    tcp_recv(pcb, have_received);
    tcp_sent(pcb, have_sent);
    tcp_err(pcb, has_ended);
    tcp_poll(pcb, time_has_passed, CONNECTION_POLL);
    return ERR_OK;
}

/* ---- UDP -------------------------------------------------------------------------------------------- */

static void have_datagram(void *self, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    (void)self;
    (void)udp_sendto(pcb, p, from, port);
    pbuf_free(p);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

int program_open(void)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);
    struct udp_pcb *udp = udp_new_ip_type(IPADDR_TYPE_ANY);

    if (pcb == NULL || udp == NULL || tcp_bind(pcb, IP_ANY_TYPE, ECHO_PORT) != ERR_OK ||
        udp_bind(udp, IP_ANY_TYPE, ECHO_PORT) != ERR_OK)
        return 0;
    udp_recv(udp, have_datagram, NULL);
    pcb = tcp_listen(pcb);
    if (pcb == NULL)
        return 0;
    tcp_accept(pcb, have_accepted);
    return 1;
}
