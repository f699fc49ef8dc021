/* SPDX-License-Identifier: MIT */
/* A TCP echo for four clients by the calls for small machines: all memory is one arena and four rings. At 10.9.0.2 and
 * fd00:9::2, port 7. Usage: sock_echo FD, a descriptor of which one read() or write() is one frame (README.md). */
#include "embedded/tenon_sock.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
enum { CLIENTS = 4,
       RING_BYTES = 4 * (1460 + TENON_SOCK_PACKET_BYTES) };
static tenon_u8 arena[72000], rings[CLIENTS][RING_BYTES];
static struct tenon_socks *socks;
static struct client {
    int sk;
    tenon_u8 *at; /* received bytes that are not sent yet ... */
    int left;     /* ... and how many */
} clients[CLIENTS];
static int hung_up;
/* The device: a descriptor. On a board these are the functions of its driver. */
static unsigned transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    struct iovec pieces[9]; /* headers, and a ring of 8 packets */
    unsigned i, k;
    for (i = 0; i < n; i++) {
        for (k = 0; k < frames[i].nspans; k++)
            pieces[k] = (struct iovec){ tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len };
        if (writev(*(int *)device, pieces, (int)k) < 0)
            break;
    }
    return i; /* fewer than n: the stack offers the others again */
}
static void receive(void *device, struct tenon_socks *to) /* a burst: the application hears of it before others come */
{
    struct pollfd ready = { *(int *)device, POLLIN, 0 };
    struct tenon_buf *block;
    for (int i = 0; i < TENON_SOCK_BURST && poll(&ready, 1, 0) == 1 && (block = tenon_sock_block(to)) != NULL; i++) {
        const ssize_t n = read(*(int *)device, block->data, block->size);
        hung_up = n == 0;
        tenon_sock_input(to, block, 0, n > 0 ? (unsigned)n : 0, TENON_CSUM_NONE);
    }
}
static int entropy(void *device, void *bytes, size_t n)
{
    return (void)device, getentropy(bytes, n);
}
/* The application: as much as the ring takes goes back; the rest stays where it was received. */
static void serve(struct client *client, void *ring)
{
    const struct tenon_addr any = { .port = 7 };
    tenon_u8 *to;
    int n;
    if (client->sk <= 0 && (client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0)) < 0)
        return;
    if (tenon_sock_ask_sbuf(socks, client->sk, &to) == TENON_ENOMEM) /* refused while the last client's is on its way */
        (void)tenon_sock_set_sbuf(socks, client->sk, ring, RING_BYTES);
    while (client->left > 0 || (client->left = tenon_sock_ask_rbuf(socks, client->sk, &client->at)) > 0) {
        if ((n = tenon_sock_ask_sbuf(socks, client->sk, &to)) == 0 || n == TENON_ENOMEM)
            return; /* until acknowledgements have made room */
        if (n < 0 && (client->left = n) < 0)
            break;
        n = n < client->left ? n : client->left;
        memcpy(to, client->at, (size_t)n); /* the application's own work: a program would write its answer here */
        if (tenon_sock_send(socks, client->sk, to, (unsigned)n, 0) != TENON_OK)
            return; /* no memory until something is acknowledged, which is an event */
        (void)tenon_sock_read_done(socks, client->sk, client->at, (unsigned)n);
        client->at += n, client->left -= n;
    }
    if (client->left < 0) { /* the client has finished, or is gone: wait for another */
        client->left = tenon_sock_delete(socks, client->sk, 0);
        client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    }
}
static void event(void *app, int sk, unsigned events)
{
    (void)app, (void)sk, (void)events;
    for (int i = 0; i < CLIENTS; i++)
        serve(&clients[i], rings[i]);
}
int main(int argc, char **argv)
{
    struct tenon_ip ip4 = tenon_ip4_bytes(10, 9, 0, 2), ip6 = tenon_ip6(0xfd000009U, 0, 0, 2);
    int fd = argc == 2 ? atoi(argv[1]) : -1;
    struct tenon_netif_conf nic = { .mac = { 2, [5] = 2 }, .mtu = 1500, .flags = TENON_NETIF_NO_DAD };
    struct tenon_sock_conf conf = { .socks = 2 * CLIENTS, .blocks = 16, .event = event,
        .device = { .netif = nic, .device = &fd, .transmit = transmit, .poll = receive, .entropy = entropy } };
    if (fd < 0 || tenon_sock_start(&socks, arena, sizeof arena, &conf) != TENON_OK ||
        tenon_addr_add(tenon_sock_stack(socks), 1, &ip4, 24) || tenon_addr_add(tenon_sock_stack(socks), 1, &ip6, 64))
        return fputs("usage: sock_echo FD\n", stderr), 1;
    for (event(NULL, 0, 0); !hung_up;) {
        struct pollfd ready = { fd, POLLIN, 0 };
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        const tenon_u32 us = tenon_sock_poll(socks, (tenon_u32)t.tv_sec * 1000000U + (tenon_u32)t.tv_nsec / 1000);
        (void)poll(&ready, 1, (int)(us / 1000) + 1);
    }
    tenon_sock_stop(socks);
}
