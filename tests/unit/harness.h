/* SPDX-License-Identifier: MIT */
/* A bench for unit tests: one instance, virtual time, a port that keeps what is sent, memory that is
 * counted and can be made to fail. Packets are built and summed here without the core's own codecs, so
 * that a mistake in those cannot hide.
 *
 * A test program is a table:
 *
 *     static void syn_rcvd_rst(void) { struct hn hn; hn_open(&hn, NULL); ... HN_CHECK(...); hn_close(&hn); }
 *     static const struct hn_test tests[] = { { "syn_rcvd_rst", "9293-RST-2", syn_rcvd_rst } };
 *     int main(int argc, char **argv) { return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv); }
 *
 * Run without arguments it runs all rows; with an argument those whose name contains it. */
#ifndef TENON_TEST_HARNESS_H
#define TENON_TEST_HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

/* A broken invariant ends the test at once. */
__attribute__((weak)) void tenon_panic(const char *file, unsigned line)
{
    fprintf(stderr, "%s:%u: an invariant is broken\n", file, line);
    abort();
}

/* ---- checks ---------------------------------------------------------------------------------- */

static unsigned hn_failures;
static const char *hn_row = "";     /* a table inside a test may name its row here */

static inline int hn_check(int ok, const char *what, const char *file, int line)
{
    if (!ok) {
        hn_failures++;
        fprintf(stderr, "%s:%d: %s%s%s\n", file, line, hn_row, hn_row[0] ? ": " : "", what);
    }
    return ok;
}

static inline int hn_equal(long long got, long long want, const char *what, const char *file, int line)
{
    if (got == want)
        return 1;
    hn_failures++;
    fprintf(stderr, "%s:%d: %s%s%s is %lld (0x%llx), not %lld (0x%llx)\n", file, line, hn_row,
            hn_row[0] ? ": " : "", what, got, (unsigned long long)got, want, (unsigned long long)want);
    return 0;
}

#define HN_CHECK(what) hn_check((what) ? 1 : 0, #what, __FILE__, __LINE__)
#define HN_EQUAL(got, want) hn_equal((long long)(got), (long long)(want), #got, __FILE__, __LINE__)

struct hn_test {
    const char *name;    /* state_stimulus */
    const char *ids;     /* requirements that it covers */
    void (*run)(void);
};

static inline int hn_main(const struct hn_test *tests, size_t n, int argc, char **argv)
{
    unsigned failed = 0, ran = 0;

    for (size_t i = 0; i < n; i++) {
        if (argc > 1 && strstr(tests[i].name, argv[1]) == NULL)
            continue;
        hn_failures = 0;
        hn_row = "";
        tests[i].run();
        ran++;
        if (hn_failures != 0)
            failed++;
        printf("%-4s %s [%s]\n", hn_failures ? "FAIL" : "ok", tests[i].name, tests[i].ids);
    }
    printf("%u passed, %u failed\n", ran - failed, failed);
    return failed != 0 || ran == 0;
}

/* ---- the bench --------------------------------------------------------------------------------- */

enum { HN_BUF_BYTES = 2048 };

/* A frame that the instance has sent. */
struct hn_sent {
    unsigned netif;
    tenon_u32 at_us;
    tenon_u32 len;
    tenon_u8 *bytes;              /* all spans in a row */
    struct tenon_frame frame;     /* what was said of it; its spans are gone */
};

struct hn {
    struct tenon *stack;
    void *mem;
    struct tenon_conf conf;
    struct tenon_host ops;
    tenon_u32 now_us;
    struct hn_sent *sent;         /* all since hn_open() or hn_forget() */
    unsigned nsent, room, taken;  /* taken: how many of them hn_next() has given out */
    unsigned tx_take;             /* frames that the port takes per call; default: all */
    long mems, bufs;              /* pieces of memory and buffers that are out */
    long bytes;                   /* of memory */
    long mem_gets, buf_gets;      /* calls so far */
    long mem_fail, buf_fail;      /* number of the call that fails, from 1; 0: none; -1: all */
    tenon_u32 seed;
    tenon_u32 buf_bytes;          /* of a buffer; default: HN_BUF_BYTES */
};

struct hn_buf {
    struct tenon_buf buf;
    struct hn *hn;
    tenon_u8 data[];
};

static inline void hn_buf_release(struct tenon_buf *buf)
{
    struct hn_buf *own = (struct hn_buf *)(void *)buf;

    own->hn->bufs--;
    free(own);
}

/* A buffer as a port makes it; refs is 1. Exactly `size` bytes, so that a sanitizer sees one too many. */
static inline struct tenon_buf *hn_buf(struct hn *hn, size_t size)
{
    struct hn_buf *own = malloc(sizeof *own + size);

    if (own == NULL)
        abort();
    memset(own, 0, sizeof *own);
    own->buf.data = own->data;
    own->buf.size = (tenon_u32)size;
    own->buf.refs = 1;
    own->buf.release = hn_buf_release;
    own->hn = hn;
    hn->bufs++;
    return &own->buf;
}

static inline void *hn_mem_get(void *host, size_t bytes)
{
    struct hn *hn = host;
    void *mem;

    hn->mem_gets++;
    if (hn->mem_fail < 0 || hn->mem_fail == hn->mem_gets)
        return NULL;
    mem = malloc(bytes);
    if (mem != NULL) {
        memset(mem, 0xA5, bytes);
        hn->mems++;
        hn->bytes += (long)bytes;
    }
    return mem;
}

static inline void hn_mem_put(void *host, void *mem, size_t bytes)
{
    struct hn *hn = host;

    hn->mems--;
    hn->bytes -= (long)bytes;
    memset(mem, 0x5A, bytes);
    free(mem);
}

static inline unsigned hn_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct hn *hn = host;
    unsigned i;

    for (i = 0; i < n; i++) {
        hn->buf_gets++;
        if (hn->buf_fail < 0 || hn->buf_fail == hn->buf_gets)
            return i;
        bufs[i] = hn_buf(hn, hn->buf_bytes != 0 ? hn->buf_bytes : HN_BUF_BYTES);
    }
    return n;
}

static inline void hn_capture(struct hn *hn, unsigned netif, const struct tenon_frame *frame)
{
    struct hn_sent *sent;
    tenon_u32 len = 0;

    if (hn->nsent == hn->room) {
        hn->room = hn->room ? 2 * hn->room : 64;
        hn->sent = realloc(hn->sent, hn->room * sizeof *hn->sent);
        if (hn->sent == NULL)
            abort();
    }
    for (unsigned i = 0; i < frame->nspans; i++)
        len += frame->spans[i].len;
    sent = &hn->sent[hn->nsent++];
    sent->netif = netif;
    sent->at_us = hn->now_us;
    sent->len = len;
    sent->frame = *frame;
    sent->frame.spans = NULL;
    sent->bytes = malloc(len ? len : 1);
    if (sent->bytes == NULL)
        abort();
    for (unsigned i = 0, at = 0; i < frame->nspans; at += frame->spans[i++].len)
        memcpy(sent->bytes + at, tenon_span_data(&frame->spans[i]), frame->spans[i].len);
}

static inline unsigned hn_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct hn *hn = host;

    if (n > hn->tx_take)
        n = hn->tx_take;
    for (unsigned i = 0; i < n; i++)
        hn_capture(hn, netif, &frames[i]);
    return n;
}

/* Not random at all: the same in every run; hn.seed chooses another sequence. */
static inline int hn_entropy(void *host, void *bytes, size_t n)
{
    struct hn *hn = host;
    tenon_u8 *p = bytes;
    tenon_u32 x = hn->seed * 2654435761U + 12345U;

    while (n-- > 0) {
        x = x * 1664525U + 1013904223U;
        *p++ = (tenon_u8)(x >> 24);
    }
    return 0;
}

/* Make the instance. conf: NULL for the defaults. */
static inline void hn_open_seed(struct hn *hn, const struct tenon_conf *conf, tenon_u32 seed)
{
    memset(hn, 0, sizeof *hn);
    if (conf != NULL)
        hn->conf = *conf;
    else
        tenon_conf_default(&hn->conf);
    if (hn->conf.tcp_cc == &tenon_cc_cubic)
        hn->conf.tcp_cc = &tenon_cc_newreno;    /* what it does can be counted on fingers */
    hn->seed = seed;
    hn->now_us = 1000000;
    hn->tx_take = 0xFFFF;
    hn->ops.version = TENON_HOST_VERSION;
    hn->ops.mem_get = hn_mem_get;
    hn->ops.mem_put = hn_mem_put;
    hn->ops.buf_get = hn_buf_get;
    hn->ops.transmit = hn_transmit;
    hn->ops.entropy = hn_entropy;
    hn->mem = malloc(tenon_mem_size(&hn->conf));
    if (hn->mem == NULL)
        abort();
    hn->stack = tenon_init(hn->mem, &hn->conf, &hn->ops, hn);
    if (hn->stack == NULL)
        abort();
    (void)tenon_poll(hn->stack, hn->now_us);
}

static inline void hn_open(struct hn *hn, const struct tenon_conf *conf)
{
    hn_open_seed(hn, conf, 1);
}

/* Forget what was sent so far. */
static inline void hn_forget(struct hn *hn)
{
    for (unsigned i = 0; i < hn->nsent; i++)
        free(hn->sent[i].bytes);
    hn->nsent = hn->taken = 0;
}

/* End it; nothing may be left over. */
static inline void hn_close(struct hn *hn)
{
    tenon_fini(hn->stack);
    HN_EQUAL(hn->mems, 0);
    HN_EQUAL(hn->bytes, 0);
    HN_EQUAL(hn->bufs, 0);
    hn_forget(hn);
    free(hn->sent);
    free(hn->mem);
    memset(hn, 0, sizeof *hn);
}

static inline tenon_u32 hn_stat(const struct hn *hn, enum tenon_stat stat)
{
    return tenon_stat(hn->stack, stat);
}

/* Our own Ethernet address on an interface: 02:00:00:00:00:NN; others are called 02:00:00:00:01:NN. */
static inline const tenon_u8 *hn_mac(tenon_u8 mac[6], unsigned who, unsigned nn)
{
    memset(mac, 0, 6);
    mac[0] = 2;
    mac[4] = (tenon_u8)who;
    mac[5] = (tenon_u8)nn;
    return mac;
}

/* Add an Ethernet interface, MTU 1500, without any offload; flags: enum tenon_netif_flag. */
static inline unsigned hn_netif(struct hn *hn, unsigned flags)
{
    struct tenon_netif_conf conf;
    struct tenon_netif_info info;
    unsigned nn = 1;
    int netif;

    while (tenon_netif_get(hn->stack, nn, &info) == TENON_OK)
        nn++;
    memset(&conf, 0, sizeof conf);
    hn_mac(conf.mac, 0, nn);
    conf.mtu = 1500;
    conf.flags = (tenon_u16)flags;
    netif = tenon_netif_add(hn->stack, &conf);
    HN_CHECK(netif > 0);
    return (unsigned)netif;
}

/* Let time pass, with every poll that the instance asks for. */
static inline void hn_run(struct hn *hn, tenon_u32 us)
{
    const tenon_u32 end = hn->now_us + us;
    unsigned idle = 0;

    for (;;) {
        tenon_u32 wait = tenon_poll(hn->stack, hn->now_us);
        const tenon_u32 left = end - hn->now_us;

        if (left == 0)
            return;
        if (wait == 0 && ++idle > 3) {
            wait = 1000;
            idle = 0;
        }
        hn->now_us += wait < left ? wait : left;
    }
}

static inline void hn_run_ms(struct hn *hn, tenon_u32 ms)
{
    for (; ms > 1000000; ms -= 1000000)
        hn_run(hn, 1000000000U);
    hn_run(hn, ms * 1000);
}

/* Give a frame to the instance, in two spans if 0 < cut < len. */
static inline void hn_inject_cut(struct hn *hn, unsigned netif, const void *bytes, size_t len, size_t cut)
{
    struct tenon_span spans[2];
    struct tenon_frame frame;
    const size_t first = cut > 0 && cut < len ? cut : len;

    memset(&frame, 0, sizeof frame);
    frame.spans = spans;
    frame.nspans = 1;
    spans[0].buf = hn_buf(hn, first);
    spans[0].off = 0;
    spans[0].len = (tenon_u32)first;
    memcpy(spans[0].buf->data, bytes, first);
    if (first < len) {
        frame.nspans = 2;
        spans[1].buf = hn_buf(hn, len - first);
        spans[1].off = 0;
        spans[1].len = (tenon_u32)(len - first);
        memcpy(spans[1].buf->data, (const tenon_u8 *)bytes + first, len - first);
    }
    HN_EQUAL(tenon_input(hn->stack, netif, &frame, 1, hn->now_us), TENON_OK);
    for (unsigned i = 0; i < frame.nspans; i++)
        tenon_buf_put(spans[i].buf);
}

static inline void hn_inject(struct hn *hn, unsigned netif, const void *bytes, size_t len)
{
    hn_inject_cut(hn, netif, bytes, len, 0);
}

/* The next frame that was sent, in order; NULL when there is no more. Valid until hn_forget(). */
static inline const struct hn_sent *hn_next(struct hn *hn)
{
    return hn->taken < hn->nsent ? &hn->sent[hn->taken++] : NULL;
}

static inline unsigned hn_left(const struct hn *hn)
{
    return hn->nsent - hn->taken;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static inline unsigned hn_get16(const tenon_u8 *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static inline tenon_u32 hn_get32(const tenon_u8 *p)
{
    return (tenon_u32)hn_get16(p) << 16 | hn_get16(p + 2);
}

static inline void hn_put16(tenon_u8 *p, unsigned v)
{
    p[0] = (tenon_u8)(v >> 8);
    p[1] = (tenon_u8)v;
}

static inline void hn_put32(tenon_u8 *p, tenon_u32 v)
{
    hn_put16(p, v >> 16);
    hn_put16(p + 2, v & 0xFFFF);
}

static inline void hn_put_ip(tenon_u8 *p, const struct tenon_ip *ip)
{
    for (int i = 0; i < 4; i++)
        hn_put32(p + 4 * i, ip->w[i]);
}

static inline struct tenon_ip hn_get_ip(const tenon_u8 *p)
{
    return tenon_ip6(hn_get32(p), hn_get32(p + 4), hn_get32(p + 8), hn_get32(p + 12));
}

/* An address from text; stops the program at a typing mistake. */
static inline struct tenon_ip hn_ip(const char *text)
{
    struct tenon_ip ip;

    if (tenon_ip_parse(&ip, text) != (int)strlen(text)) {
        fprintf(stderr, "no address: %s\n", text);
        abort();
    }
    return ip;
}

/* Internet checksum, the slow and obvious way: `sum` is what came before. */
static inline tenon_u32 hn_sum(tenon_u32 sum, const tenon_u8 *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum += i & 1 ? p[i] : (tenon_u32)p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
}

static inline tenon_u32 hn_pseudo(const struct tenon_ip *src, const struct tenon_ip *dst, unsigned proto, size_t len)
{
    tenon_u8 p[40];

    if (tenon_ip_is_v4(dst)) {
        hn_put32(p, src->w[3]);
        hn_put32(p + 4, dst->w[3]);
        hn_put16(p + 8, proto);
        hn_put16(p + 10, (unsigned)len);
        return hn_sum(0, p, 12);
    }
    hn_put_ip(p, src);
    hn_put_ip(p + 16, dst);
    hn_put32(p + 32, (tenon_u32)len);
    hn_put32(p + 36, proto);
    return hn_sum(0, p, 40);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static inline size_t hn_eth(tenon_u8 *p, const tenon_u8 dst[6], const tenon_u8 src[6], unsigned type)
{
    memcpy(p, dst, 6);
    memcpy(p + 6, src, 6);
    hn_put16(p + 12, type);
    return 14;
}

/* An IP header (v4 or v6, as dst tells) in front of n bytes that stand already at p + hn_ip_bytes(). */
static inline size_t hn_ip_bytes(const struct tenon_ip *dst)
{
    return tenon_ip_is_v4(dst) ? 20 : 40;
}

static inline size_t hn_ip_header(tenon_u8 *p, const struct tenon_ip *src, const struct tenon_ip *dst,
                                  unsigned proto, unsigned ttl, size_t n)
{
    if (tenon_ip_is_v4(dst)) {
        memset(p, 0, 20);
        p[0] = 0x45;
        hn_put16(p + 2, (unsigned)(20 + n));
        p[8] = (tenon_u8)ttl;
        p[9] = (tenon_u8)proto;
        hn_put32(p + 12, src->w[3]);
        hn_put32(p + 16, dst->w[3]);
        hn_put16(p + 10, ~hn_sum(0, p, 20) & 0xFFFF);
        return 20;
    }
    hn_put32(p, 0x60000000U);
    hn_put16(p + 4, (unsigned)n);
    p[6] = (tenon_u8)proto;
    p[7] = (tenon_u8)ttl;
    hn_put_ip(p + 8, src);
    hn_put_ip(p + 24, dst);
    return 40;
}

/* Ethernet address of a group, as it is put on the wire (RFC 1112 6.4, RFC 2464 7). */
static inline void hn_group_mac(tenon_u8 mac[6], const struct tenon_ip *group)
{
    if (tenon_ip_is_v4(group)) {
        hn_put32(mac, 0x01005E00U);
        hn_put32(mac + 2, 0x5E000000U | (group->w[3] & 0x7FFFFFU));
        mac[0] = 1, mac[1] = 0;
        return;
    }
    hn_put16(mac, 0x3333);
    hn_put32(mac + 2, group->w[3]);
}

/* What a packet is made of; hn_packet() sums and wraps it and gives it to the instance. */
struct hn_packet {
    const tenon_u8 *to;          /* Ethernet destination; NULL: our own, or the group's, or broadcast */
    tenon_u8 from[6];            /* Ethernet source */
    struct tenon_ip src, dst;
    unsigned proto, ttl;
    unsigned sum_at;             /* where in the payload the checksum belongs (with a pseudo-header); 0: nowhere */
    const tenon_u8 *payload;
    size_t len;
};

/* Build the frame at p (room for 54 + len). @return its length */
static inline size_t hn_build(tenon_u8 *p, unsigned netif, const struct hn_packet *packet)
{
    static const tenon_u8 all[6] = { 255, 255, 255, 255, 255, 255 };
    const int v4 = tenon_ip_is_v4(&packet->dst);
    const size_t ip = hn_ip_bytes(&packet->dst);
    tenon_u8 mac[6];
    tenon_u8 *l4 = p + 14 + ip;

    hn_mac(mac, 0, netif);
    if (v4 ? packet->dst.w[3] >> 28 == 14 : packet->dst.w[0] >> 24 == 0xFF)
        hn_group_mac(mac, &packet->dst);
    if (v4 && packet->dst.w[3] == 0xFFFFFFFFU)
        memcpy(mac, all, 6);
    hn_eth(p, packet->to ? packet->to : mac, packet->from, v4 ? 0x0800 : 0x86DD);
    memcpy(l4, packet->payload, packet->len);
    if (packet->sum_at != 0) {
        tenon_u32 sum;

        hn_put16(l4 + packet->sum_at, 0);
        sum = hn_sum(hn_pseudo(&packet->src, &packet->dst, packet->proto, packet->len), l4, packet->len);
        hn_put16(l4 + packet->sum_at, ~sum & 0xFFFF);
    }
    hn_ip_header(p + 14, &packet->src, &packet->dst, packet->proto, packet->ttl, packet->len);
    return 14 + ip + packet->len;
}

static inline void hn_packet(struct hn *hn, unsigned netif, const struct hn_packet *packet)
{
    tenon_u8 *p = malloc(54 + packet->len);

    if (p == NULL)
        abort();
    hn_inject(hn, netif, p, hn_build(p, netif, packet));
    free(p);
}

/* An ARP frame; to: NULL for broadcast. Addresses in host byte order. */
static inline void hn_arp(struct hn *hn, unsigned netif, const tenon_u8 *to, unsigned op, const tenon_u8 sender_mac[6],
                          tenon_u32 sender_ip, const tenon_u8 target_mac[6], tenon_u32 target_ip)
{
    static const tenon_u8 all[6] = { 255, 255, 255, 255, 255, 255 };
    tenon_u8 p[60];

    memset(p, 0, sizeof p);
    hn_eth(p, to ? to : all, sender_mac, 0x0806);
    hn_put16(p + 14, 1);
    hn_put16(p + 16, 0x0800);
    p[18] = 6, p[19] = 4;
    hn_put16(p + 20, op);
    memcpy(p + 22, sender_mac, 6);
    hn_put32(p + 28, sender_ip);
    if (target_mac != NULL)
        memcpy(p + 32, target_mac, 6);
    hn_put32(p + 38, target_ip);
    hn_inject(hn, netif, p, sizeof p);
}

#endif
