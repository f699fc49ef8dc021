/* SPDX-License-Identifier: MIT */
/* The echo with lwIP's raw interface. */
#include "lwip_device.h"

#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/nd6.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"

enum { CONNECTION_POLL = 2 };

struct netif echo_netif;
struct tenon_sock_device echo_device;
static struct client {
    struct tcp_pcb *pcb;
    struct pbuf *received;    /* bytes that are not sent yet */
    u8_t finished;            /* the client has sent its last */
} clients[ECHO_CLIENTS];

u32_t sys_now(void)
{
    static u32_t now_ms, last_us;
    const u32_t now_us = board_now_us(), passed_ms = (now_us - last_us) / 1000;

    last_us += passed_ms * 1000;
    now_ms += passed_ms;
    return now_ms;
}

u32_t lwip_random(void)
{
    u32_t value = 0;

    (void)board_entropy(&value, sizeof(value));
    return value;
}

/* ---- the interface ----------------------------------------------------------------------------------- */

static err_t netif_start(struct netif *it)
{
    it->linkoutput = echo_output;
    it->output = etharp_output;
#if LWIP_IPV6
    it->output_ip6 = ethip6_output;
#endif
    it->mtu = 1500;
    it->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    it->hwaddr_len = sizeof(echo_device.netif.mac);
    memcpy(it->hwaddr, echo_device.netif.mac, sizeof(echo_device.netif.mac));
    return ERR_OK;
}

/* ---- TCP -------------------------------------------------------------------------------------------- */

static void forget(struct client *client)
{
    if (client->received != NULL)
        pbuf_free(client->received);
    client->received = NULL;
    client->pcb = NULL;
    client->finished = 0;
}

/* What goes into the send buffer is given back to the window. */
static void echo(struct client *client)
{
    struct tcp_pcb *pcb = client->pcb;

    while (client->received != NULL) {
        struct pbuf *p = client->received;
        u16_t n = p->len;

        if (n > tcp_sndbuf(pcb))
            n = (u16_t)tcp_sndbuf(pcb);
        if (n == 0 || tcp_write(pcb, p->payload, n, TCP_WRITE_FLAG_COPY) != ERR_OK)
            break;
        client->received = pbuf_free_header(p, n);
        tcp_recved(pcb, n);
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
    (void)pcb, (void)n;
    echo(self);
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

static int open_all(void)
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

int echo_start(void)
{
    ip4_addr_t us, mask, none;

    IP4_ADDR(&us, 10, 0, 2, 15);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&none, 0, 0, 0, 0);
    board_ethernet(&echo_device);
    lwip_init();
    if (netif_add(&echo_netif, &us, &mask, &none, NULL, netif_start, ethernet_input) == NULL)
        return 0;
#if LWIP_IPV6
    netif_create_ip6_linklocal_address(&echo_netif, 1);
    echo_netif.ip6_autoconfig_enabled = 1;
#endif
    netif_set_default(&echo_netif);
    netif_set_up(&echo_netif);
    return open_all();
}

tenon_u32 echo_turn(void)
{
    u32_t wait_ms;

    echo_device.poll(NULL, NULL);
    sys_check_timeouts();
    wait_ms = sys_timeouts_sleeptime();
    return wait_ms < 1000 ? wait_ms * 1000 : 1000000;
}

void echo_facts(void)
{
    say_value("spare", 0);
    say_value("receiving", PBUF_POOL_SIZE * (LWIP_MEM_ALIGN_SIZE(sizeof(struct pbuf)) + PBUF_POOL_BUFSIZE));
    say_value("sending", MEM_SIZE);
    say_value("pcb", sizeof(struct tcp_pcb));
    say_value("segment", sizeof(struct tcp_seg));
    say_value("pbuf", sizeof(struct pbuf));
}
