/* SPDX-License-Identifier: MIT */
/* lwIP for the echo, whichever of its interfaces the program uses: clock, randomness, the network interface, turns. */
#include "lwip_program.h"

#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/nd6.h"
#include "lwip/priv/tcp_priv.h"
#include "netif/ethernet.h"

struct netif echo_netif;
struct tenon_sock_device echo_device;

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

/* ---- all of it -------------------------------------------------------------------------------------- */

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
    return program_open();
}

tenon_u32 echo_turn(void)
{
    stack_turn();
    if (LWIP_NETCONN)
        program_turn();
    return stack_wait();
}

void echo_facts(void)
{
    say_value("spare", 0);
    say_value("receiving", PBUF_POOL_SIZE * (LWIP_MEM_ALIGN_SIZE(sizeof(struct pbuf)) + PBUF_POOL_BUFSIZE));
    say_value("sending", MEM_SIZE + PROGRAM_BUFFER);
    say_value("pcb", sizeof(struct tcp_pcb) + PROGRAM_CONN);
    say_value("segment", sizeof(struct tcp_seg));
    say_value("pbuf", sizeof(struct pbuf));
}
