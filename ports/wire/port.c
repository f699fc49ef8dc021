/* SPDX-License-Identifier: MIT */
/* The wire as a port that a program is told of: `wire:NAME`. Who opens the same name gets the other end of
 * the same cable; both ends belong to one thread. The wire's clock follows the real one: whoever receives
 * lets it run up to now, and what arrives then goes to either end's instance.
 *
 * What an end does with its host's frames depends on both ends, so they are made when the second is opened.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/port.h"
#include "wire.h"

enum { NAME_MAX_BYTES = 32, NETIF = 1, MTU_DEFAULT = 1500, QUEUE_FRAMES = 1024 };

enum { SETTING_DELAY, SETTING_LOSS };

static const struct port_setting wire_settings[] = {
    { "delay", PORT_NUMBER, "US", "microseconds on the way from this end" },
    { "loss", PORT_NUMBER, "PPM", "frames lost on the way from this end" },
    { NULL, 0, NULL, NULL }
};

struct wire_port;

struct cable {
    struct cable *next;
    char name[NAME_MAX_BYTES];
    struct wire *wire;
    tenon_u32 last_us;
    struct wire_port *ends[2];
};

struct wire_port {
    struct port port; /* first */
    struct cable *cable;
    unsigned number;
    struct wire_host *host;
    struct wire_end *end; /* NULL: the other one is not there */
    struct wire_end_conf conf;
    struct tenon *stack; /* that of the last receive(), with the interface's number */
    unsigned netif;
    unsigned received; /* frames since the last receive() */
    uint64_t unheard; /* frames before the first receive() */
};

static struct cable *cables;

static struct wire_port *wire_port_of(struct port *port)
{
    return TENON_CONTAINER(port, struct wire_port, port);
}

/* ---- the surroundings of the instance ------------------------------------------------------------- */

static void *host_mem_get(void *host, size_t bytes)
{
    return wire_host_ops()->mem_get(wire_port_of(host)->host, bytes);
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    wire_host_ops()->mem_put(wire_port_of(host)->host, mem, bytes);
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    return wire_host_ops()->buf_get(wire_port_of(host)->host, bufs, n);
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct wire_port *port = wire_port_of(host);
    unsigned taken;

    (void)netif;
    if (port->end == NULL) {
        port->port.stats.tx_down += n;
        return n;
    }
    taken = wire_host_ops()->transmit(port->host, NETIF, frames, n);
    port_sent(&port->port, frames, taken);
    return taken;
}

static const struct tenon_host wire_port_host = {
    TENON_HOST_VERSION, host_mem_get, host_mem_put, host_buf_get, host_transmit, port_entropy,
};

static void guest_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct wire_port *port = guest;

    (void)netif, (void)now_us;
    if (port->stack == NULL) {
        port->unheard += n;
        return;
    }
    port->received += n;
    port_input(&port->port, port->stack, port->netif, frames, n, port_now_us());
}

/* Its instance is polled by the program. */
static tenon_u32 guest_poll(void *guest, tenon_u32 now_us)
{
    (void)guest, (void)now_us;
    return 1800000000UL;
}

/* ---- cables ------------------------------------------------------------------------------------------ */

static void *get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void put(void *arg, void *mem, size_t bytes)
{
    (void)arg, (void)bytes;
    free(mem);
}

static struct cable *cable_find(const char *name)
{
    struct cable *cable = cables;

    while (cable != NULL && strcmp(cable->name, name) != 0)
        cable = cable->next;
    return cable;
}

static struct cable *cable_new(const char *name)
{
    const struct wire_conf conf = { .memory = { get, put, NULL }, .seed = port_wall_ns() };
    struct cable *cable = calloc(1, sizeof *cable);

    if (cable == NULL)
        return NULL;
    cable->wire = wire_open(&conf);
    if (cable->wire == NULL) {
        free(cable);
        return NULL;
    }
    strcpy(cable->name, name);
    cable->last_us = port_now_us();
    cable->next = cables;
    cables = cable;
    return cable;
}

static void cable_put(struct cable *cable)
{
    struct cable **at = &cables;

    if (cable->ends[0] != NULL || cable->ends[1] != NULL)
        return;
    while (*at != cable)
        at = &(*at)->next;
    *at = cable->next;
    wire_close(cable->wire);
    free(cable);
}

/* Segmentation that one end leaves to the other's NIC happens on the way, if that is without offload. One that was
 * there already may have had another end before. */
static int cable_join(struct cable *cable)
{
    for (unsigned i = 0; i < 2; i++) {
        struct wire_port *port = cable->ends[i], *other = cable->ends[!i];

        if (port == NULL || other == NULL)
            continue;
        if (port->end == NULL)
            port->end = wire_end_open_at(port->host, &port->conf, NETIF);
        if (port->end == NULL)
            return -1;
        wire_end_work(port->end, other->conf.netif.caps == 0, other->conf.netif.caps == 0);
    }
    return 0;
}

/* ---- opening and closing ------------------------------------------------------------------------------ */

static void wire_port_close(struct port *base)
{
    struct wire_port *port = wire_port_of(base);
    struct cable *cable = port->cable;

    if (port->host != NULL)
        wire_host_close(port->host);
    if (cable == NULL)
        return;
    cable->ends[port->number] = NULL;
    cable_put(cable);
}

static int set_up(struct wire_port *port, const struct port_conf *conf, char *error, size_t size)
{
    static const tenon_u8 mac[6] = { 2, 'w', 'i', 'r', 'e', 0 };
    const struct wire_host_conf host = { .seed = port_wall_ns() + port->number };
    const struct wire_guest guest = { guest_input, guest_poll, port };

    memcpy(port->conf.netif.mac, mac, 6);
    port->conf.netif.mac[5] = (tenon_u8)port->number;
    port->conf.netif.mtu = (tenon_u16)(conf->mtu > 0 ? conf->mtu : MTU_DEFAULT);
    if (conf->offload)
        port->conf.netif.caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO;
    port->conf.trust = conf->offload != 0;
    port->conf.out = (struct wire_line_conf){ .delay_us = conf->values[SETTING_DELAY],
                                              .loss_ppm = conf->values[SETTING_LOSS],
                                              .queue_frames = QUEUE_FRAMES, .queue_refuses = 1 };
    port->port.netif = port->conf.netif;
    port->host = wire_host_open_guest(port->cable->wire, &host, &guest);
    if (port->host == NULL || cable_join(port->cable) != 0)
        return port_explain(error, size, "out of memory");
    return 0;
}

static int wire_port_open(struct port *base, const struct port_conf *conf, char *error, size_t error_size)
{
    struct cable *cable = cable_find(conf->name);
    struct wire_port *port = wire_port_of(base);

    if (strlen(conf->name) >= NAME_MAX_BYTES)
        return port_explain(error, error_size, "a name of a wire has at most %d letters", NAME_MAX_BYTES - 1);
    if (cable != NULL && cable->ends[0] != NULL && cable->ends[1] != NULL)
        return port_explain(error, error_size, "both ends of the wire '%s' are in use: take another name",
                            conf->name);
    cable = cable != NULL ? cable : cable_new(conf->name);
    if (cable == NULL)
        return port_explain(error, error_size, "out of memory");
    port->cable = cable;
    port->number = cable->ends[0] != NULL;
    cable->ends[port->number] = port;
    return set_up(port, conf, error, error_size);
}

/* ---- the kind -------------------------------------------------------------------------------------------- */

static int wire_port_receive(struct port *base, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct wire_port *port = wire_port_of(base);
    struct cable *cable = port->cable;
    unsigned received;

    port->stack = stack;
    port->netif = netif;
    wire_run(cable->wire, wire_now(cable->wire) + (tenon_u32)(now_us - cable->last_us));
    cable->last_us = now_us;
    received = port->received;
    port->received = 0;
    return received < PORT_BURST ? (int)received : PORT_BURST - 1; /* whatever there was, it is done */
}

static void wire_port_stats(struct port *base, struct port_stats *stats)
{
    const struct wire_port *port = wire_port_of(base);
    struct wire_end_stats end = { 0 };

    if (port->end != NULL)
        wire_end_stats(port->end, &end);
    stats->rx_missed = end.ring_lost + port->unheard;
    stats->tx_busy = end.refused;
    stats->tx_down += end.nobody_lost;
    stats->tx_errors = end.lost + end.queue_lost + end.oversize + end.malformed;
}

static int wire_port_advice(const struct port *base, char *text, size_t text_size)
{
    const struct wire_port *port = (const void *)base;

    if (port->cable->ends[!port->number] != NULL)
        return 0;
    port_explain(text, text_size, "wire '%s': nobody in this process has the other end open", port->cable->name);
    return 1;
}

const struct port_type wire_port_type = {
    "wire",
    "NAME",
    "a cable in memory, to another instance in the same thread",
    wire_settings,
    1,
    0,
    sizeof(struct wire_port),
    wire_port_open,
    wire_port_close,
    &wire_port_host,
    wire_port_receive,
    wire_port_stats,
    wire_port_advice,
};
