/* SPDX-License-Identifier: MIT */
/* An instance of Tenon as guest of a host. The rest of the wire knows frames only. */
#include "wire_internal.h"

static void stack_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct wire_host *host = guest;

    tenon_keep(host->stack, wire_host_keeps(host));
    tenon_input(host->stack, netif, frames, n, now_us);
}

static tenon_u32 stack_poll(void *guest, tenon_u32 now_us)
{
    const struct wire_host *host = guest;

    return tenon_poll(host->stack, now_us);
}

/* What comes in the place of an instance that has ended. */
static void no_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    (void)guest;
    (void)netif;
    (void)frames;
    (void)n;
    (void)now_us;
}

static tenon_u32 no_poll(void *guest, tenon_u32 now_us)
{
    (void)guest;
    (void)now_us;
    return 1800000000UL;
}

struct wire_host *wire_host_open(struct wire *wire, const struct wire_host_conf *conf,
                                 const struct tenon_conf *stack_conf)
{
    const struct wire_guest nothing = {no_input, no_poll, NULL};
    struct wire_host *host = wire_host_open_guest(wire, conf, &nothing);

    if (!host)
        return NULL;
    host->end = wire_host_fini;
    host->stack_bytes = tenon_mem_size(stack_conf);
    if (host->stack_bytes > 0)
        host->stack_mem = wire_mem_get(wire, host->stack_bytes);
    if (host->stack_mem)
        host->stack = tenon_init(host->stack_mem, stack_conf, wire_host_ops(), host);
    if (!host->stack) {
        wire_host_close(host);
        return NULL;
    }
    host->guest = (struct wire_guest){ stack_input, stack_poll, host };
    return host;
}

struct wire_end *wire_end_open(struct wire_host *host, const struct wire_end_conf *conf)
{
    const int netif = host->stack ? tenon_netif_add(host->stack, &conf->netif) : TENON_EINVAL;

    return netif > 0 ? wire_end_open_at(host, conf, (unsigned)netif) : NULL;
}

struct tenon *wire_host_stack(const struct wire_host *host)
{
    return host->stack;
}

void wire_host_fini(struct wire_host *host)
{
    if (host->stack)
        tenon_fini(host->stack);
    host->stack = NULL;
    host->guest = (struct wire_guest){ no_input, no_poll, NULL };
    wire_mem_put(host->wire, host->stack_mem, host->stack_bytes);
    host->stack_mem = NULL;
}
