/* SPDX-License-Identifier: MIT */
/* Two instances on a wire, for tests of limits. */
#ifndef TENON_TESTS_LIMITS_PAIR_H
#define TENON_TESTS_LIMITS_PAIR_H

#include "ports/wire/wire.h"

#include <tenon/tenon.h>

#include <stdlib.h>
#include <string.h>

struct pair {
    struct wire *wire;
    struct wire_host *host[2];
    struct wire_end *end[2];
    struct tenon *stack[2];
    size_t mem_out;
};

static void *pair_get(void *arg, size_t bytes)
{
    void *mem = malloc(bytes);

    if (mem)
        ((struct pair *)arg)->mem_out += bytes;
    return mem;
}

static void pair_put(void *arg, void *mem, size_t bytes)
{
    ((struct pair *)arg)->mem_out -= bytes;
    free(mem);
}

static struct tenon_ip pair_ip(unsigned i, int v6)
{
    return v6 ? tenon_ip6(0xFD000000UL, 0, 0, i + 1) : tenon_ip4(0x0A000001U + i);
}

static struct tenon_addr pair_addr(unsigned i, int v6, unsigned port)
{
    struct tenon_addr addr;

    memset(&addr, 0, sizeof(addr));
    addr.ip = pair_ip(i, v6);
    addr.port = (tenon_u16)port;
    return addr;
}

static int pair_open(struct pair *pair, const struct tenon_conf *conf)
{
    struct wire_conf wire_conf = {.memory = {pair_get, pair_put, pair}, .seed = 1, .start_us = 1000000};
    struct wire_host_conf host_conf = {.seed = 1, .poison = 1};
    unsigned i, v6;

    memset(pair, 0, sizeof(*pair));
    pair->wire = wire_open(&wire_conf);
    for (i = 0; i < 2; i++) {
        struct wire_end_conf end_conf;
        struct tenon_ip ip;

        memset(&end_conf, 0, sizeof(end_conf));
        end_conf.netif.mac[0] = 2;
        end_conf.netif.mac[5] = (tenon_u8)(i + 1);
        end_conf.netif.mtu = 1500;
        end_conf.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
        end_conf.out.delay_us = 1000;
        pair->host[i] = wire_host_open(pair->wire, &host_conf, conf);
        if (!pair->host[i])
            return 0;
        pair->stack[i] = wire_host_stack(pair->host[i]);
        pair->end[i] = wire_end_open(pair->host[i], &end_conf);
        if (!pair->end[i])
            return 0;
        for (v6 = 0; v6 < 2; v6++) {
            ip = pair_ip(i, (int)v6);
            if (tenon_addr_add(pair->stack[i], 1, &ip, v6 ? 64 : 24) != TENON_OK)
                return 0;
        }
    }
    return 1;
}

static void pair_run(struct pair *pair, uint64_t us)
{
    wire_wake(pair->host[0]);
    wire_wake(pair->host[1]);
    wire_run(pair->wire, wire_now(pair->wire) + us);
}

/* @return 1: everything has come back */
static int pair_close(struct pair *pair)
{
    struct wire_host_stats stats;
    unsigned i;
    int good = 1;

    for (i = 0; i < 2; i++)
        wire_host_fini(pair->host[i]);
    wire_run(pair->wire, wire_now(pair->wire) + 10000000);
    for (i = 0; i < 2; i++) {
        wire_host_stats(pair->host[i], &stats);
        good = good && stats.mem_bytes == 0 && stats.mem_blocks == 0 && stats.bufs == 0 && stats.rx_bufs == 0
               && stats.mem_wrong == 0;
    }
    wire_close(pair->wire);
    return good && pair->mem_out == 0;
}

#endif
