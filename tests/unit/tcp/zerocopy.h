/* SPDX-License-Identifier: MIT */
/* For tests that show that payload is not copied. Three witnesses, which do not know of each other:
 *
 * - The program's memcpy() and memmove() are the ones below, for the core and the ports too: they count bytes that
 *   come out of the payload, `zc_copied`. Compilers that are to be small (-Os) may write an instruction where others
 *   call: zc_calls_are_seen() says whether this witness can see anything in a build.
 * - While the stacks run, nobody may read the payload's pages. Who does, by whatever instructions, is let through
 *   and counted, `zc_touched`.
 * - On the wire between the instances a receiver is given the sender's bytes where they lie. So a byte that has
 *   arrived has the address of the byte that was sent, after one hop or two, and its place in the stream follows
 *   from its address: that is how tests compare, without looking.
 *
 * Besides them the core says itself what it has copied: TENON_STAT_COPIED_BYTES. */
#ifndef TENON_TESTS_ZEROCOPY_H
#define TENON_TESTS_ZEROCOPY_H

#include "harness.h"

#include "ports/wire/wire.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- payload and its witnesses ----------------------------------------------------------------- */

static tenon_u8 *zc_bytes;             /* the payload, whole pages */
static size_t zc_size;
static atomic_ulong zc_copied;         /* bytes that memcpy() and memmove() took out of it */
static atomic_ulong zc_touched;        /* pages that were read although nobody may */

static inline void zc_look(const void *from, size_t n)
{
    const uintptr_t at = (uintptr_t)from, begin = (uintptr_t)zc_bytes, end = begin + zc_size;
    const uintptr_t low = at > begin ? at : begin, high = at + n < end ? at + n : end;

    if (low < high)
        zc_copied += high - low;
}

/* Byte by byte, and volatile: or the compiler would make a call of memcpy() of it. */
void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    const tenon_u8 *p = from;
    volatile tenon_u8 *q = to;

    zc_look(from, n);
    while (n-- > 0)
        *q++ = *p++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    const tenon_u8 *p = from;
    volatile tenon_u8 *q = to;

    if ((uintptr_t)to <= (uintptr_t)from)
        return memcpy(to, from, n);
    zc_look(from, n);
    while (n-- > 0)
        q[n] = p[n];
    return to;
}

/* Apart, and of any length, as the core's calls are. */
static __attribute__((noinline)) void zc_copy(tenon_u8 *to, const tenon_u8 *from, size_t n)
{
    memcpy(to, from, n);
}

/* 1: copies are made by the functions above. Asked when the payload may be read; counts nothing. */
static inline int zc_calls_are_seen(void)
{
    const unsigned long before = zc_copied;
    tenon_u8 bytes[64];
    int seen;

    zc_copy(bytes, zc_bytes, sizeof bytes);
    seen = zc_copied != before;
    zc_copied = before;
    return seen;
}

static void zc_fault(int number, siginfo_t *info, void *context)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)info->si_addr & ~(page - 1);

    (void)context;
    if (at - (uintptr_t)zc_bytes >= zc_size) {
        signal(number, SIG_DFL);    /* not ours: the program ends with it when it happens again */
        return;
    }
    zc_touched++;
    mprotect(zc_bytes + (at - (uintptr_t)zc_bytes), page, PROT_READ | PROT_WRITE);
}

/* What stands at a place of the payload. */
static inline tenon_u8 zc_byte(size_t i)
{
    return (tenon_u8)(i * 2654435761U >> 24);
}

static inline void zc_open(size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = zc_fault;
    action.sa_flags = SA_SIGINFO;
    zc_size = (n + page) / page * page;    /* one byte more at least */
    zc_bytes = mmap(NULL, zc_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zc_bytes == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) != 0)
        abort();
    for (size_t i = 0; i < zc_size; i++)
        zc_bytes[i] = zc_byte(i);
    zc_copied = zc_touched = 0;
}

/* From here on nobody reads it unnoticed. */
static inline void zc_guard(void)
{
    if (mprotect(zc_bytes, zc_size, PROT_NONE) != 0)
        abort();
}

/* Give it back. Nobody has written into it. */
static inline void zc_close(void)
{
    size_t wrong = 0;

    if (mprotect(zc_bytes, zc_size, PROT_READ) != 0)
        abort();
    for (size_t i = 0; i < zc_size; i++)
        wrong += zc_bytes[i] != zc_byte(i);
    HN_EQUAL(wrong, 0);
    munmap(zc_bytes, zc_size);
    zc_bytes = NULL;
    zc_size = 0;
}

/* ---- a buffer of the application ----------------------------------------------------------------- */

struct zc_buf {
    struct tenon_buf buf;
    unsigned released;
};

static inline void zc_buf_release(struct tenon_buf *buf)
{
    TENON_CONTAINER(buf, struct zc_buf, buf)->released++;
}

/* It describes payload [off, off + n). */
static inline void zc_buf_make(struct zc_buf *own, size_t off, size_t n)
{
    memset(own, 0, sizeof *own);
    own->buf.data = zc_bytes + off;
    own->buf.size = (tenon_u32)n;
    own->buf.refs = 1;
    own->buf.release = zc_buf_release;
}

/* ---- instances on wires -------------------------------------------------------------------------- */

enum { ZC_HOSTS = 3, ZC_PORT = 80 };

struct zc_net {
    struct wire *wire;
    struct wire_host *host[ZC_HOSTS];
    struct tenon *stack[ZC_HOSTS];
    unsigned hosts;
    long mem_out;
};

/* A cable between two hosts: both ends alike. */
struct zc_cable {
    unsigned hub;
    int v6;
    tenon_u16 mtu;
    tenon_u32 caps;
    unsigned cut;              /* 1: large frames are cut as a NIC does it */
    uint32_t delay_us, loss_ppm;
    tenon_u16 gather_max;
    uint8_t copy;              /* 1: received into buffers of the receiver, as by DMA */
};

static inline void *zc_mem_get(void *arg, size_t bytes)
{
    void *mem = malloc(bytes);

    if (mem != NULL)
        ((struct zc_net *)arg)->mem_out += (long)bytes;
    return mem;
}

static inline void zc_mem_put(void *arg, void *mem, size_t bytes)
{
    ((struct zc_net *)arg)->mem_out -= (long)bytes;
    free(mem);
}

/* `tap` sees all frames; its argument is the net. */
static inline void zc_net_open_tap(struct zc_net *net, unsigned hosts, const struct tenon_conf *conf,
                                   void (*tap)(void *arg, struct wire_end *end, enum wire_place place,
                                               const struct tenon_frame *frame))
{
    const struct wire_conf wire_conf = { .memory = { zc_mem_get, zc_mem_put, net }, .seed = 5, .start_us = 1000000,
                                         .tap = tap, .tap_arg = net };

    memset(net, 0, sizeof *net);
    net->hosts = hosts;
    net->wire = wire_open(&wire_conf);
    for (unsigned i = 0; i < hosts; i++) {
        const struct wire_host_conf host_conf = { .seed = i + 1, .poison = 1 };

        net->host[i] = wire_host_open(net->wire, &host_conf, conf);
        if (net->host[i] == NULL)
            abort();
        net->stack[i] = wire_host_stack(net->host[i]);
    }
}

static inline void zc_net_open(struct zc_net *net, unsigned hosts, const struct tenon_conf *conf)
{
    zc_net_open_tap(net, hosts, conf, NULL);
}

static inline struct tenon_addr zc_addr(const struct zc_cable *cable, unsigned host, unsigned port)
{
    struct tenon_addr addr;

    memset(&addr, 0, sizeof addr);
    addr.ip = cable->v6 ? tenon_ip6(0xFD000000U + cable->hub, 0, 0, host + 1)
                        : tenon_ip4_bytes(10, 0, cable->hub, host + 1);
    addr.port = (tenon_u16)port;
    return addr;
}

static inline void zc_plug(struct zc_net *net, const struct zc_cable *cable, unsigned host, unsigned other)
{
    const tenon_u8 mac[6] = { 2, 0, 0, 0, (tenon_u8)cable->hub, (tenon_u8)other };
    const struct tenon_addr own = zc_addr(cable, host, 0), its = zc_addr(cable, other, 0);
    struct wire_end_conf conf;
    struct wire_end *end;

    memset(&conf, 0, sizeof conf);
    memcpy(conf.netif.mac, mac, sizeof mac);
    conf.netif.mac[5] = (tenon_u8)host;
    conf.netif.mtu = cable->mtu;
    conf.netif.caps = cable->caps;
    conf.netif.gather_max = cable->gather_max;
    conf.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    conf.hub = cable->hub;
    conf.cut = (uint8_t)cable->cut;
    conf.copy = cable->copy;
    conf.ring = 65536;
    conf.out.delay_us = cable->delay_us;
    conf.in.loss_ppm = cable->loss_ppm;
    end = wire_end_open(net->host[host], &conf);
    if (end == NULL)
        abort();
    HN_EQUAL(tenon_addr_add(net->stack[host], wire_end_netif(end), &own.ip, cable->v6 ? 64 : 24), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(net->stack[host], wire_end_netif(end), &its.ip, mac), TENON_OK);
}

static inline void zc_cable_between(struct zc_net *net, const struct zc_cable *cable, unsigned a, unsigned b)
{
    zc_plug(net, cable, a, b);
    zc_plug(net, cable, b, a);
}

/* Until `*missing` is 0, at most so long. */
static inline void zc_net_run(struct zc_net *net, const unsigned *missing, uint64_t us)
{
    const uint64_t end = wire_now(net->wire) + us;

    while (*missing > 0 && wire_now(net->wire) < end && wire_step(net->wire, end))
        ;
    wire_run(net->wire, wire_now(net->wire) + 100000);
}

/* The sum of a counter over all hosts. */
static inline unsigned long zc_stat(const struct zc_net *net, enum tenon_stat stat)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < net->hosts; i++)
        sum += tenon_stat(net->stack[i], stat);
    return sum;
}

static inline void zc_net_fini(struct zc_net *net)
{
    for (unsigned i = 0; i < net->hosts; i++)
        wire_host_fini(net->host[i]);
    wire_run(net->wire, wire_now(net->wire) + 10000000);
}

/* After zc_net_fini(), and when the application has given everything back. */
static inline void zc_net_close(struct zc_net *net)
{
    struct wire_host_stats stats;

    for (unsigned i = 0; i < net->hosts; i++) {
        wire_host_stats(net->host[i], &stats);
        HN_EQUAL(stats.bufs, 0);
        HN_EQUAL(stats.rx_bufs, 0);
        HN_EQUAL(stats.mem_bytes, 0);
        wire_host_close(net->host[i]);
    }
    wire_close(net->wire);
    HN_EQUAL(net->mem_out, 0);
}

#endif
