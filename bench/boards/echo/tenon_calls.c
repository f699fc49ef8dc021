/* SPDX-License-Identifier: MIT */
/* The echo with the calls for small machines: the instance that its programs have, tenon.c and tenon_back.c. */
#include "tenon_program.h"

enum {
    MEMORY4 = 3840,
    MEMORY46 = 4240,
    ARENA_BYTES = ECHO_BLOCKS * ECHO_BLOCK_BYTES + 28000    /* the spare is told, and left out of what is compared */
};

struct tenon_socks *socks;
static tenon_u8 arena[ARENA_BYTES];
static size_t arena_bytes, block_bytes;

/* Room for what lwIP has room for beside it, and no more than is used: six connections at work, and a reserve for what
 * arrives early. A descriptor more would not serve a client sooner, as its ring is that of one who is leaving. */
static void as_little(struct tenon_sock_conf *conf)
{
    conf->socks = ECHO_CLIENTS + 1;
    conf->memory = TENON_WITH_IPV6 ? MEMORY46 : MEMORY4;
    conf->headers = 4;
    conf->stack.tx_burst_max = 2;
    conf->stack.tx_gather_max = 3;
    conf->stack.neighbours_max = TENON_WITH_IPV6 ? 2 * ECHO_NEIGHBOURS : ECHO_NEIGHBOURS;
    conf->stack.neighbour_queue_max = 1;
    if (TENON_WITH_IPV6) {
        conf->stack.addrs_max = 1 + ECHO_ADDRESSES6;
        conf->stack.routes_max = 2 + 2 * ECHO_ROUTERS6;
        conf->stack.groups_max = 1 + ECHO_ADDRESSES6;
    }
}

int echo_start(void)
{
    const struct tenon_ip us = tenon_ip4_bytes(10, 0, 2, 15);
    struct tenon_sock_conf conf;

    __builtin_memset(&conf, 0, sizeof(conf));
    if (!ECHO_LIKE)
        conf.socks = ECHO_CLIENTS + 2 + 1;    /* two whose last bytes are on their way; UDP */
    conf.ports = 1;
    conf.conns = ECHO_CONNS;
    conf.stack.udp_sockets_max = 1;
    conf.blocks = ECHO_BLOCKS;
    conf.block_bytes = ECHO_BLOCK_BYTES;
    conf.window = ECHO_WINDOW;
    conf.event = program_event;
    if (ECHO_LIKE)
        as_little(&conf);
    board_ethernet(&conf.device);
    conf.device.netif.flags = TENON_NETIF_NO_DAD;
    conf.blocks = ECHO_BLOCKS + 1;
    block_bytes = tenon_sock_arena_bytes(&conf);
    conf.blocks = ECHO_BLOCKS;
    arena_bytes = tenon_sock_arena_bytes(&conf);
    block_bytes -= arena_bytes;
    if (tenon_sock_start(&socks, arena, sizeof(arena), &conf) != TENON_OK)
        return 0;
    return tenon_addr_add(tenon_sock_stack(socks), 1, &us, 24) == TENON_OK && program_open();
}

tenon_u32 echo_turn(void)
{
    return tenon_sock_poll(socks, board_now_us());
}

void echo_facts(void)
{
    struct tenon_sock_counts counts;

    tenon_sock_count(socks, &counts);
    say_value("spare", (tenon_u32)(sizeof(arena) - arena_bytes));
    say_value("receiving", (tenon_u32)(ECHO_BLOCKS * block_bytes));
    say_value("sending", program_sending);
    say_value("memory", (tenon_u32)counts.memory_used);
    say_value("memory_top", (tenon_u32)counts.memory_top);
    say_value("memory_bytes", (tenon_u32)counts.memory_bytes);
}
