/* SPDX-License-Identifier: MIT */
/* The driver for lwIP: two copies of it, chosen by the MTU. */
#include "lwip.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, LINE = 64, OPENING = 128, TURNS_MAX = 100000, FRAME_ROOM = 128, REST_STEPS = 540, STEP_US = 250000 };

extern const struct lwip_side lwip_client_1500, lwip_server_1500, lwip_client_9000, lwip_server_9000,
    lwip_client_65000, lwip_server_65000;

struct lwip_world lw;
static const struct lwip_side *client, *server;

struct lwip_packet *lwip_packet_more(void)
{
    const size_t size = (sizeof(struct lwip_packet) + lw.packet_bytes + LINE - 1) / LINE * LINE;
    uint8_t *mem = aligned_alloc(LINE, size * CHUNK);
    struct lwip_packet *packet;
    unsigned i;

    if (mem == NULL)
        return NULL;
    for (i = 0; i < CHUNK; i++) {
        packet = (struct lwip_packet *)(void *)(mem + i * size);
        packet->next = lw.free;
        lw.free = packet;
    }
    packet = lw.free;
    lw.free = packet->next;
    return packet;
}

static void driver_run(unsigned long turns)
{
    for (; turns > 0; turns--) {
        lw.now_us++;
        client->turn();
        server->turn();
    }
    lw.count->frames = lw.wires[0].passed + lw.wires[0].head + lw.wires[1].passed + lw.wires[1].head;
}

static int settle(unsigned most)
{
    unsigned turns = 0;

    while (lw.connecting > most && turns++ < TURNS_MAX)
        driver_run(1);
    return lw.connecting > most ? -1 : 0;
}

static const char *connect_all(unsigned n, unsigned port)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        const char *why = client->connect(i, port);

        if (why)
            return why;
        if (settle(OPENING) != 0)
            return "connections do not open";
    }
    return settle(0) == 0 ? NULL : "connections do not open";
}

static const char *choose(const struct speed_conf *conf)
{
    const unsigned mtu = conf->tso && conf->lro ? 65000 : conf->mtu;

    if (conf->ip6)
        return "lwIP was built for IPv4 only";
    if (conf->connections > 20000 || conf->idle > 20000)
        return "lwIP walks through all connections for each that opens: it would take too long";
    if ((conf->tso || conf->lro) && conf->tso != conf->lro)
        return "lwIP has no TSO";
    client = mtu == 1500 ? &lwip_client_1500 : mtu == 9000 ? &lwip_client_9000 : &lwip_client_65000;
    server = mtu == 1500 ? &lwip_server_1500 : mtu == 9000 ? &lwip_server_9000 : &lwip_server_65000;
    return mtu == 1500 || mtu == 9000 || mtu == 65000 ? NULL : "lwIP was not built for this MTU";
}

static const char *driver_open(const struct speed_conf *conf, struct speed_count *count)
{
    const char *why = choose(conf);

    if (why)
        return why;
    memset(&lw, 0, sizeof lw);
    lw.conf = *conf;
    lw.count = count;
    lw.now_us = 1000000;
    lw.window = conf->window ? conf->window : 65536;
    lw.packet_bytes = conf->copy ? client->mss + FRAME_ROOM : LWIP_HEAD + FRAME_ROOM;
    lw.data_bytes = conf->data > conf->message ? conf->data : conf->message;
    lw.data = malloc(lw.data_bytes);
    lw.clients = calloc(conf->connections + 1, sizeof *lw.clients);
    lw.servers = calloc(conf->connections + 1, sizeof *lw.servers);
    if (!lw.data || !lw.clients || !lw.servers)
        return "not enough memory";
    memset(lw.data, 1, lw.data_bytes);
    why = client->open(0);
    if (!why)
        why = server->open(1);
    if (why || conf->app == SPEED_UDP_PING || conf->app == SPEED_UDP_BULK || conf->app == SPEED_CONNECT)
        return why;
    why = connect_all(conf->idle, LWIP_IDLE_PORT);
    if (!why)
        why = connect_all(conf->connections, LWIP_PORT);
    driver_run(1000);
    lw.count->memory = (uint64_t)2 * lw.count->opened * client->conn_bytes();
    return why;
}

static void driver_begin(void)
{
    client->begin();
}

static void driver_connect(unsigned long connections)
{
    unsigned long begun = 0, over;
    const uint64_t closed = lw.count->closed;

    for (;;) {
        over = (unsigned long)(lw.count->closed - closed);
        if (over == connections || lw.count->failed)
            break;
        for (; begun < connections && begun - over < lw.conf.connections; begun++) {
            if (client->connect_short() != NULL) {
                lw.count->failed++;
                return;
            }
        }
        driver_run(1);
    }
    driver_run(4);    /* the last FINs */
}

/* lwIP has to be called for each of its ticks: a missed one is not made up for. */
static void driver_rest(void)
{
    unsigned i;

    for (i = 0; i < REST_STEPS; i++) {
        lw.now_us += STEP_US;
        driver_run(1);
    }
}

static void driver_request(unsigned connection)
{
    client->request(connection);
}

static void driver_close(void)
{
}

static const struct speed_driver speed_lwip = { "lwip", driver_open, driver_begin, driver_run, driver_connect,
    driver_rest, driver_request, driver_close, 0, NULL };

int main(int argc, char **argv)
{
    static const struct speed_driver *const drivers[] = { &speed_lwip, NULL };

    return speed_main(argc, argv, drivers);
}
