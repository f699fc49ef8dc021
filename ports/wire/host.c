/* SPDX-License-Identifier: MIT */
/* A host: memory and packet buffers with accounts, limits and failures on demand; calls its guest when
 * it wants to be called. */
#include "wire_internal.h"

#include <stdalign.h>
#include <string.h>

enum { POISON_NEW = 0xA5, POISON_OLD = 0xDB };
enum { BLOCK_MAGIC = 0x5EC0DE };

/* Before every piece of memory of an instance: to prove that it comes back as it went. */
struct mem_block {
    size_t bytes;
    uint32_t magic;
};

enum { BLOCK_HEAD = (sizeof(struct mem_block) + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1) };

/* A packet buffer of the pool. The bytes follow. */
struct pool_buf {
    struct tenon_buf buf;
    struct wire_host *host;
};

/* A buffer of a received frame: bytes of its own, or those of a packet on the wire. */
struct rx_buf {
    struct tenon_buf buf;
    struct wire_host *host;
    struct wire_packet *packet;
    size_t block;
};

/* ---- life ------------------------------------------------------------------------------------ */

struct wire_host *wire_host_new(struct wire *wire, const struct wire_host_conf *conf)
{
    struct wire_host *host = wire_mem_get(wire, sizeof(*host)), **last;

    if (!host)
        return NULL;
    memset(host, 0, sizeof(*host));
    host->wire = wire;
    host->conf = *conf;
    if (host->conf.buf_bytes == 0)
        host->conf.buf_bytes = 2048;
    host->seed = wire_mix(conf->seed ^ wire_mix(wire->conf.seed + ++wire->hosts_opened));
    host->entropy = host->seed;
    host->offset = conf->clock_us - wire->conf.start_us;
    host->poll_at = wire->now;
    for (last = &wire->hosts; *last; last = &(*last)->next)
        ;
    *last = host;
    return host;
}

struct wire_host *wire_host_open_guest(struct wire *wire, const struct wire_host_conf *conf,
                                       const struct wire_guest *guest)
{
    struct wire_host *host = wire_host_new(wire, conf);

    if (host)
        host->guest = *guest;
    return host;
}

static void host_free(struct wire_host *host)
{
    wire_mem_put(host->wire, host, sizeof(*host));
}

/* A buffer has come home to a host that was closed before. */
static void host_settle(struct wire_host *host)
{
    if (host->gone && host->stats.bufs == 0 && host->stats.rx_bufs == 0)
        host_free(host);
}

void wire_host_close(struct wire_host *host)
{
    struct wire *wire = host->wire;
    struct wire_host **link;

    if (host->end)
        host->end(host);
    wire_forget(wire, host);
    while (host->ends)
        wire_end_close(host->ends);
    for (link = &wire->hosts; *link; link = &(*link)->next) {
        if (*link == host) {
            *link = host->next;
            break;
        }
    }
    host->gone = 1;
    host_settle(host);
}

uint64_t wire_host_now(const struct wire_host *host)
{
    return host->wire->now + host->offset;
}

void wire_host_jump(struct wire_host *host, uint64_t us)
{
    host->offset += us;
    wire_wake(host);
}

void wire_host_pause(struct wire_host *host, uint64_t us)
{
    host->paused_until = host->wire->now + us;
}

void wire_wake(struct wire_host *host)
{
    host->woken = 1;
}

void wire_host_fail(struct wire_host *host, const struct wire_fail *fail)
{
    host->conf.fail = *fail;
}

void wire_host_stats(const struct wire_host *host, struct wire_host_stats *stats)
{
    *stats = host->stats;
}

struct wire_end *wire_host_end(struct wire_host *host, unsigned netif)
{
    struct wire_end *end = host->ends;

    while (end && end->netif != netif)
        end = end->next;
    return end;
}

/* ---- calling the guest ----------------------------------------------------------------------- */

uint64_t wire_host_next(const struct wire_host *host)
{
    uint64_t next = host->woken ? host->wire->now : host->poll_at;
    const struct wire_end *end;

    for (end = host->ends; end; end = end->next)
        if (end->deliver_at < next)
            next = end->deliver_at;
    return next < host->paused_until ? host->paused_until : next;
}

/* Polls by timer alone are counted per millisecond: one that spins is found by the number. */
static void host_count_poll(struct wire_host *host)
{
    const uint64_t ms = host->wire->now / 1000;

    if (ms != host->polls_ms)
        host->polls_in_ms = 0;
    host->polls_ms = ms;
    if (++host->polls_in_ms > host->stats.polls_per_ms_top)
        host->stats.polls_per_ms_top = host->polls_in_ms;
}

static void host_poll(struct wire_host *host)
{
    const uint64_t now = host->wire->now;
    tenon_u32 later;

    host->woken = 0;
    host->stats.polls++;
    later = host->guest.poll(host->guest.guest, (tenon_u32)wire_host_now(host));
    host->poll_at = now + later;
    if (later == 0 && host->blocked_until <= now) {
        host->stats.polls_idle++;
        host->poll_at = now + 1;
    }
    if (host->blocked_until > now && (later == 0 || host->poll_at > host->blocked_until))
        host->poll_at = host->blocked_until;
}

void wire_host_run(struct wire_host *host)
{
    const uint64_t now = host->wire->now;
    struct wire_end *end;
    int called = host->woken;

    if (host->paused_until > now || wire_host_next(host) > now)
        return;
    for (end = host->ends; end; end = end->next) {
        if (end->deliver_at > now)
            continue;
        wire_end_deliver(end);
        called = 1;
    }
    if (!called && host->blocked_until < now)
        host_count_poll(host);
    host_poll(host);
}

/* ---- struct tenon_host ----------------------------------------------------------------------- */

static int host_fails(struct wire_host *host, enum wire_alloc kind)
{
    struct wire_fail *fail = &host->conf.fail;
    uint64_t *count = kind == WIRE_MEM ? &fail->mem_nth : &fail->buf_nth;
    const uint64_t nth = kind == WIRE_MEM ? host->stats.mem_calls++ : host->stats.buf_calls++;
    const uint32_t ppm = kind == WIRE_MEM ? fail->mem_ppm : fail->buf_ppm;
    int fails = wire_chance(host->seed, nth, 32 + (uint32_t)kind, ppm);

    if (*count == 1)
        fails = 1;
    if (*count > 1 || (*count == 1 && !fail->for_good))
        --*count;
    if (fail->decide)
        fails = fail->decide(fail->arg, host, kind, nth, fails);
    return fails;
}

enum tenon_kept wire_host_keeps(struct wire_host *host)
{
    const struct wire_fail *fail = &host->conf.fail;
    const int fails = fail->decide ? fail->decide(fail->arg, host, WIRE_KEEP, host->stats.inputs, 0) : 0;

    return fails == 0 ? TENON_KEEP_ALL : fails == 2 ? TENON_KEEP_FIRST : TENON_KEEP_NOTHING;
}

static void *host_mem_get(void *arg, size_t bytes)
{
    struct wire_host *host = arg;
    struct mem_block *block = NULL;
    const int full = host->conf.mem_bytes_max && host->stats.mem_bytes + bytes > host->conf.mem_bytes_max;

    if (!host_fails(host, WIRE_MEM) && !full)
        block = wire_mem_get(host->wire, BLOCK_HEAD + bytes);
    if (!block) {
        host->stats.mem_refused++;
        return NULL;
    }
    block->bytes = bytes;
    block->magic = BLOCK_MAGIC;
    if (host->conf.poison)
        memset((uint8_t *)block + BLOCK_HEAD, POISON_NEW, bytes);
    host->stats.mem_bytes += bytes;
    host->stats.mem_blocks++;
    if (host->stats.mem_bytes > host->stats.mem_bytes_top)
        host->stats.mem_bytes_top = host->stats.mem_bytes;
    return (uint8_t *)block + BLOCK_HEAD;
}

static void host_mem_put(void *arg, void *mem, size_t bytes)
{
    struct wire_host *host = arg;
    struct mem_block *block;

    if (!mem) {
        host->stats.mem_wrong++;
        return;
    }
    block = (struct mem_block *)(void *)((uint8_t *)mem - BLOCK_HEAD);
    if (block->magic != BLOCK_MAGIC || block->bytes != bytes) {
        host->stats.mem_wrong++;
        return;
    }
    host->stats.mem_bytes -= bytes;
    host->stats.mem_blocks--;
    if (host->conf.poison)
        memset(mem, POISON_OLD, bytes);
    block->magic = 0;
    wire_mem_put(host->wire, block, BLOCK_HEAD + bytes);
}

static void pool_release(struct tenon_buf *buf)
{
    struct pool_buf *pool = TENON_CONTAINER(buf, struct pool_buf, buf);
    struct wire_host *host = pool->host;

    host->stats.bufs--;
    if (host->conf.poison)
        memset(buf->data, POISON_OLD, host->conf.buf_bytes);
    wire_mem_put(host->wire, pool, sizeof(*pool) + host->conf.buf_bytes);
    host_settle(host);
}

static unsigned host_buf_get(void *arg, struct tenon_buf **bufs, unsigned n)
{
    struct wire_host *host = arg;
    struct pool_buf *pool;
    unsigned i;

    for (i = 0; i < n; i++) {
        const int full = host->conf.bufs_max && host->stats.bufs >= host->conf.bufs_max;

        pool = NULL;
        if (!host_fails(host, WIRE_BUF) && !full)
            pool = wire_mem_get(host->wire, sizeof(*pool) + host->conf.buf_bytes);
        if (!pool) {
            host->stats.buf_refused++;
            break;
        }
        pool->host = host;
        pool->buf.data = (tenon_u8 *)(pool + 1);
        pool->buf.size = host->conf.buf_bytes;
        pool->buf.refs = 1;
        pool->buf.release = pool_release;
        if (host->conf.poison)
            memset(pool->buf.data, POISON_NEW, host->conf.buf_bytes);
        if (++host->stats.bufs > host->stats.bufs_top)
            host->stats.bufs_top = host->stats.bufs;
        bufs[i] = &pool->buf;
    }
    return i;
}

static unsigned host_transmit(void *arg, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct wire_end *end = wire_host_end(arg, netif);

    return end ? wire_end_transmit(end, frames, n) : n;
}

/* From the seed: whoever knows it knows all keys of the instance. That is what a test wants. */
static int host_entropy(void *arg, void *bytes, size_t n)
{
    struct wire_host *host = arg;
    uint8_t *to = bytes;
    size_t i;

    for (i = 0; i < n; i++) {
        if (i % 8 == 0)
            host->entropy = wire_mix(host->entropy);
        to[i] = (uint8_t)(host->entropy >> i % 8 * 8);
    }
    return 0;
}

const struct tenon_host *wire_host_ops(void)
{
    static const struct tenon_host ops = {
        .version = TENON_HOST_VERSION,
        .mem_get = host_mem_get,
        .mem_put = host_mem_put,
        .buf_get = host_buf_get,
        .transmit = host_transmit,
        .entropy = host_entropy,
    };

    return &ops;
}

/* ---- buffers of received frames -------------------------------------------------------------- */

static void rx_release(struct tenon_buf *buf)
{
    struct rx_buf *rx = TENON_CONTAINER(buf, struct rx_buf, buf);
    struct wire_host *host = rx->host;

    if (rx->packet)
        wire_packet_put(rx->packet);
    else if (host->conf.poison)
        memset(buf->data, POISON_OLD, buf->size);
    host->stats.rx_bufs--;
    wire_mem_put(host->wire, rx, rx->block);
    host_settle(host);
}

/* A buffer with `bytes` bytes of its own, or (bytes 0) for bytes of a packet. */
struct tenon_buf *wire_rx_buf(struct wire_host *host, struct wire_packet *packet, uint32_t bytes)
{
    const size_t block = sizeof(struct rx_buf) + bytes;
    struct rx_buf *rx = wire_mem_get(host->wire, block);

    if (!rx)
        return NULL;
    rx->buf.data = (tenon_u8 *)(rx + 1);
    rx->buf.size = bytes;
    rx->buf.refs = 1;
    rx->buf.release = rx_release;
    rx->host = host;
    rx->packet = packet;
    rx->block = block;
    if (packet)
        packet->refs++;
    host->stats.rx_bufs++;
    return &rx->buf;
}
