/* SPDX-License-Identifier: MIT */
/* The echo with the calls for small machines. */
#include "echo.h"

enum {
    PACKET = ECHO_SEGMENT + TENON_SOCK_RECORD_BYTES,    /* no driver here takes frames of one piece */
    RING = 2 * PACKET,
    ECHO_MEMORY4 = 3840,
    ECHO_MEMORY46 = 6240,
    ARENA_BYTES = ECHO_BLOCKS * ECHO_BLOCK_BYTES + 28000    /* the spare is told, and left out of what is compared */
};

static struct client {
    int sk;
    tenon_u8 *at;    /* received bytes that are not sent yet ... */
    int left;        /* ... and how many */
} clients[ECHO_CLIENTS];
static tenon_u8 rings[ECHO_CLIENTS][RING], datagram_ring[PACKET], arena[ARENA_BYTES];
static struct tenon_socks *socks;
static size_t arena_bytes, block_bytes;
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
        if (n <= 0)
            return n;
        if (n > client->left)
            n = client->left;
        __builtin_memcpy(to, client->at, (size_t)n);
        if (tenon_sock_send(socks, client->sk, to, (unsigned)n, 0) != TENON_OK)
            return 0;
        (void)tenon_sock_read_done(socks, client->sk, client->at, (unsigned)n);
        client->at += n;
        client->left -= n;
    }
}

static int listen(struct client *client, tenon_u8 *ring)
{
    struct tenon_addr any;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    client->left = 0;
    client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    return client->sk > 0 && tenon_sock_set_sbuf(socks, client->sk, ring, RING) == TENON_OK;
}

/* A ring that is still used by the bytes for the client before is tried again with the next event. */
static void serve(struct client *client, tenon_u8 *ring)
{
    tenon_u8 *to;

    if (client->sk > 0 && tenon_sock_ask_sbuf(socks, client->sk, &to) == TENON_ENOMEM)
        (void)tenon_sock_set_sbuf(socks, client->sk, ring, RING);
    if (client->sk > 0 && echo(client) == TENON_OK)
        return;
    if (client->sk > 0)
        (void)tenon_sock_delete(socks, client->sk, 0);
    (void)listen(client, ring);
}

static void echo_datagrams(void)
{
    tenon_u8 *from, *to;
    int n, room;

    while ((n = tenon_sock_ask_rbuf(socks, datagrams, &from)) > 0) {
        room = tenon_sock_ask_sbuf(socks, datagrams, &to);
        if (room >= n) {
            __builtin_memcpy(to, from, (size_t)n);
            (void)tenon_sock_send(socks, datagrams, to, (unsigned)n, 0);
        }
        (void)tenon_sock_read_done(socks, datagrams, from, (unsigned)n);
    }
}

static void event(void *self, int sk, unsigned events)
{
    unsigned i;

    (void)self, (void)sk, (void)events;
    for (i = 0; i < ECHO_CLIENTS; i++)
        serve(&clients[i], rings[i]);
    echo_datagrams();
}

static int open_all(void)
{
    struct tenon_addr any;
    unsigned i;

    for (i = 0; i < ECHO_CLIENTS; i++)
        if (!listen(&clients[i], rings[i]))
            return 0;
    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    datagrams = tenon_sock_create(socks, &any, NULL, TENON_SOCK_UDP, 0);
    return datagrams > 0 &&
           tenon_sock_set_sbuf(socks, datagrams, datagram_ring, sizeof(datagram_ring)) == TENON_OK;
}

/* Room for what lwIP has room for beside it, and no more than is used: six connections at work, and a reserve for what
 * arrives early. A descriptor more would not serve a client sooner, as its ring is that of one who is leaving. */
static void as_little(struct tenon_sock_conf *conf)
{
    conf->socks = ECHO_CLIENTS + 1;
    conf->memory = TENON_WITH_IPV6 ? ECHO_MEMORY46 : ECHO_MEMORY4;
    conf->headers = 4;
    conf->stack.tx_burst_max = 2;
    conf->stack.tx_gather_max = 3;
    conf->stack.neighbours_max = TENON_WITH_IPV6 ? 2 * ECHO_NEIGHBOURS : ECHO_NEIGHBOURS;
    conf->stack.neighbour_queue_max = 1;
    conf->stack.addrs_max = TENON_WITH_IPV6 ? 1 + ECHO_ADDRESSES6 : 1;
    conf->stack.routes_max = TENON_WITH_IPV6 ? 2 + 2 * ECHO_ROUTERS6 : 1;
    conf->stack.groups_max = 1 + ECHO_ADDRESSES6;
}

int echo_start(void)
{
    const struct tenon_ip us = tenon_ip4_bytes(10, 0, 2, 15);
    struct tenon_sock_conf conf;

    __builtin_memset(&conf, 0, sizeof(conf));
    conf.socks = ECHO_CLIENTS + 2 + 1;    /* two whose last bytes are on their way; UDP */
    conf.ports = 1;
    conf.conns = ECHO_CONNS;
    conf.stack.udp_sockets_max = 1;
    conf.blocks = ECHO_BLOCKS;
    conf.block_bytes = ECHO_BLOCK_BYTES;
    conf.window = ECHO_WINDOW;
    conf.event = event;
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
    return tenon_addr_add(tenon_sock_stack(socks), 1, &us, 24) == TENON_OK && open_all();
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
    say_value("sending", sizeof(rings) + sizeof(datagram_ring));
    say_value("headers_low", counts.headers_low);
    say_value("blocks_low", counts.blocks_low);
    say_value("no_block", counts.no_block);
    say_value("ring_full", counts.ring_full);
    say_value("arena", (tenon_u32)arena_bytes);
    say_value("memory", (tenon_u32)counts.memory_used);
    say_value("memory_top", (tenon_u32)counts.memory_top);
    say_value("memory_bytes", (tenon_u32)counts.memory_bytes);
}
