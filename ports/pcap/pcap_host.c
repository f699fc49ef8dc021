/* SPDX-License-Identifier: MIT */
/* A capture around any port: a host table that passes every call on to the port's own and writes down
 * the frames that it took. */
#include <string.h>
#include <time.h>

#include "pcap.h"

static uint64_t wall_ns(void *clock)
{
    struct timespec t;

    (void)clock;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void pcap_host_init(struct pcap_host *self, const struct tenon_host *ops, void *host, struct pcap_writer *writer,
                    uint64_t (*now_ns)(void *clock), void *clock)
{
    memset(self, 0, sizeof *self);
    self->ops = ops;
    self->host = host;
    self->writer = writer;
    self->now_ns = now_ns != NULL ? now_ns : wall_ns;
    self->clock = clock;
    for (unsigned i = 0; i < PCAP_HOST_NETIFS; i++)
        self->interface[i] = -1;
}

int pcap_host_netif(struct pcap_host *self, unsigned netif, const char *name, unsigned link_type)
{
    if (netif >= PCAP_HOST_NETIFS || self->writer == NULL)
        return -1;
    self->interface[netif] = pcap_interface(self->writer, name, 0, link_type);
    return self->interface[netif] >= 0 ? 0 : -1;
}

static void capture(struct pcap_host *self, unsigned netif, int outgoing, const struct tenon_frame *frames, unsigned n)
{
    uint64_t ns;

    if (self->writer == NULL || netif >= PCAP_HOST_NETIFS || self->interface[netif] < 0)
        return;
    ns = self->now_ns(self->clock);
    for (unsigned i = 0; i < n; i++)
        pcap_frame(self->writer, (unsigned)self->interface[netif], outgoing, &frames[i], ns, NULL);
}

static void *host_mem_get(void *host, size_t bytes)
{
    struct pcap_host *self = host;

    return self->ops->mem_get(self->host, bytes);
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    struct pcap_host *self = host;

    self->ops->mem_put(self->host, mem, bytes);
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct pcap_host *self = host;

    return self->ops->buf_get(self->host, bufs, n);
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct pcap_host *self = host;
    unsigned taken = self->ops->transmit(self->host, netif, frames, n);

    capture(self, netif, 1, frames, taken);
    return taken;
}

static int host_entropy(void *host, void *bytes, size_t n)
{
    struct pcap_host *self = host;

    return self->ops->entropy(self->host, bytes, n);
}

const struct tenon_host *pcap_host_ops(void)
{
    static const struct tenon_host ops = {
        TENON_HOST_VERSION,
        host_mem_get,
        host_mem_put,
        host_buf_get,
        host_transmit,
        host_entropy,
    };

    return &ops;
}

int pcap_host_input(struct pcap_host *self, struct tenon *stack, unsigned netif, const struct tenon_frame *frames,
                    unsigned n, tenon_u32 now_us)
{
    capture(self, netif, 0, frames, n); /* before: the core may write into the headers */
    return tenon_input(stack, netif, frames, n, now_us);
}
