/* SPDX-License-Identifier: MIT */
/* The host of the fuzz targets, and the repair of checksums. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_fail(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "fuzz: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    fflush(NULL);
    abort();
}

int fuzz_verbose;

void fuzz_note(const char *format, ...)
{
    va_list args;

    if (!fuzz_verbose)
        return;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

/* ---- the functions of the host --------------------------------------------------------------- */

/* Before every piece of memory stands its size. */
union mem_head {
    size_t bytes;
    max_align_t align;
};

static void *host_mem_get(void *host, size_t bytes)
{
    struct fuzz_world *w = host;
    union mem_head *head;

    if (w->mem_fail > 0) {
        w->mem_fail--;
        return NULL;
    }
    head = malloc(sizeof(*head) + bytes);
    if (!head)
        abort();
    head->bytes = bytes;
    memset(head + 1, 0xDD, bytes);
    w->mem_count++;
    w->mem_bytes += bytes;
    if (w->mem_bytes > w->mem_most)
        w->mem_most = w->mem_bytes;
    return head + 1;
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    struct fuzz_world *w = host;
    union mem_head *head = (union mem_head *)mem - 1;

    if (head->bytes != bytes)
        fuzz_fail("mem_put() of %zu bytes that were %zu", bytes, head->bytes);
    w->mem_count--;
    w->mem_bytes -= bytes;
    free(head);
}

struct one_buf {
    struct tenon_buf buf;
    struct fuzz_world *w;
};

static void buf_release(struct tenon_buf *buf)
{
    struct one_buf *one = TENON_CONTAINER(buf, struct one_buf, buf);

    one->w->bufs_out--;
    free(buf->data);
    free(one);
}

struct tenon_buf *fuzz_buf(struct fuzz_world *w, size_t bytes)
{
    struct one_buf *one = malloc(sizeof(*one));

    if (!one || !(one->buf.data = malloc(bytes > 0 ? bytes : 1)))
        abort();
    one->buf.size = (tenon_u32)bytes;
    one->buf.refs = 1;
    one->buf.release = buf_release;
    one->w = w;
    w->bufs_out++;
    if (w->bufs_out > w->bufs_most)
        w->bufs_most = w->bufs_out;
    return &one->buf;
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct fuzz_world *w = host;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (w->buf_fail > 0) {
            w->buf_fail--;
            break;
        }
        bufs[i] = fuzz_buf(w, (size_t)w->netif_conf.mtu + 64);
    }
    return i;
}

static size_t flatten(const struct tenon_frame *frame, uint8_t *to)
{
    size_t n = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        if (span->buf->refs == 0 || span->off > span->buf->size || span->len > span->buf->size - span->off)
            fuzz_fail("a sent frame lies outside of its buffer");
        if (n + span->len > FUZZ_FRAME_MAX)
            fuzz_fail("a sent frame has more than %u bytes", (unsigned)FUZZ_FRAME_MAX);
        memcpy(to + n, tenon_span_data(span), span->len);
        n += span->len;
    }
    return n;
}

static void check_frame(const struct fuzz_world *w, const struct tenon_frame *frame, size_t n)
{
    const struct tenon_netif_conf *conf = &w->netif_conf;
    const size_t link = conf->caps & TENON_CAP_NO_LINK ? 0 : 14;

    if (n < link + 20)
        fuzz_fail("a sent frame has %zu bytes", n);
    if (frame->csum == TENON_CSUM_PARTIAL && !(conf->caps & TENON_CAP_TX_CSUM))
        fuzz_fail("a partial checksum for an interface that cannot complete it");
    if (frame->csum == TENON_CSUM_PARTIAL && (size_t)frame->csum_start + frame->csum_offset + 2 > n)
        fuzz_fail("a partial checksum outside of its frame");
    if (frame->seg_kind == TENON_SEG_NONE && n > link + conf->mtu)
        fuzz_fail("a sent frame of %zu bytes, and the MTU is %u", n, conf->mtu);
    if (frame->seg_kind != TENON_SEG_NONE && (frame->csum != TENON_CSUM_PARTIAL || frame->seg_bytes == 0))
        fuzz_fail("a frame to be cut without a partial checksum or a size");
    if (frame->seg_kind == TENON_SEG_TCP4 && !(conf->caps & TENON_CAP_TSO4))
        fuzz_fail("TSO for an interface that cannot do it");
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    static uint8_t bytes[FUZZ_FRAME_MAX];
    struct fuzz_world *w = host;
    unsigned i;

    (void)netif;
    if (w->busy > 0) {
        w->busy--;
        return 0;
    }
    for (i = 0; i < n; i++) {
        const size_t len = flatten(&frames[i], bytes);

        check_frame(w, &frames[i], len);
        w->frames++;
        w->sent(w->arg, &frames[i], bytes, len);
    }
    return n;
}

static int host_entropy(void *host, void *bytes, size_t n)
{
    struct fuzz_world *w = host;
    uint8_t *p = bytes;
    size_t i;

    for (i = 0; i < n; i++) {
        w->entropy = w->entropy * 1664525U + 1013904223U;
        p[i] = (uint8_t)(w->entropy >> 24);
    }
    return 0;
}

static const struct tenon_host host_functions = {
    TENON_HOST_VERSION, host_mem_get, host_mem_put, host_buf_get, host_transmit, host_entropy,
};

/* ---- the instance ---------------------------------------------------------------------------- */

void fuzz_world_open(struct fuzz_world *w, const struct tenon_conf *conf)
{
    const size_t bytes = tenon_mem_size(conf);
    int netif;

    if (bytes == 0)
        fuzz_fail("the configuration is bad: %s", tenon_conf_check(conf));
    w->mem = malloc(bytes);
    if (!w->mem)
        abort();
    memset(w->mem, 0xCC, bytes);
    w->stack = tenon_init(w->mem, conf, &host_functions, w);
    if (!w->stack)
        fuzz_fail("no instance");
    (void)tenon_poll(w->stack, (tenon_u32)w->now);
    netif = tenon_netif_add(w->stack, &w->netif_conf);
    if (netif <= 0)
        fuzz_fail("no interface: %s", tenon_error_text(netif));
    w->netif = (unsigned)netif;
}

void fuzz_world_close(struct fuzz_world *w, unsigned kept)
{
    tenon_fini(w->stack);
    free(w->mem);
    if (w->mem_count != 0)
        fuzz_fail("leak: %u pieces of memory, %zu bytes", w->mem_count, w->mem_bytes);
    if (w->bufs_out != kept)
        fuzz_fail("leak: %u packet buffers are out, %u are the target's", w->bufs_out, kept);
}

void fuzz_world_note_counters(const struct fuzz_world *w)
{
    unsigned i;

    for (i = 0; i < TENON_STAT_COUNT; i++)
        if (tenon_stat(w->stack, (enum tenon_stat)i) > 0)
            fuzz_note("%s %u", tenon_stat_name((enum tenon_stat)i), tenon_stat(w->stack, (enum tenon_stat)i));
}

static void check_one(struct tenon_tcp *conn, void *arg)
{
    const char *broken = tenon_tcp_check(conn);

    (void)arg;
    if (broken)
        fuzz_fail("tenon_tcp_check(): %s", broken);
}

void fuzz_world_check(struct fuzz_world *w)
{
    tenon_tcp_each(w->stack, check_one, NULL);
}

void fuzz_world_input(struct fuzz_world *w, const uint8_t *bytes, size_t n, size_t cut, unsigned seg_bytes)
{
    struct tenon_span spans[2];
    struct tenon_frame frame;
    unsigned i;

    memset(&frame, 0, sizeof(frame));
    cut = cut < n ? cut : 0;
    frame.nspans = cut > 0 ? 2 : 1;
    for (i = 0; i < frame.nspans; i++) {
        const size_t from = i == 0 ? 0 : cut, len = frame.nspans == 1 ? n : i == 0 ? cut : n - cut;

        spans[i].buf = fuzz_buf(w, len);
        spans[i].off = 0;
        spans[i].len = (tenon_u32)len;
        memcpy(spans[i].buf->data, bytes + from, len);
    }
    frame.spans = spans;
    if (seg_bytes > 0) {
        frame.csum = TENON_CSUM_GOOD;
        frame.seg_kind = TENON_SEG_TCP4;
        frame.seg_bytes = (tenon_u16)seg_bytes;
    }
    if (tenon_input(w->stack, w->netif, &frame, 1, (tenon_u32)w->now) != TENON_OK)
        fuzz_fail("tenon_input() does not know its interface");
    for (i = 0; i < frame.nspans; i++)
        tenon_buf_put(spans[i].buf);
    fuzz_world_check(w);
}

enum { FRAMES_PER_CALL_MAX = 20000 };

uint32_t fuzz_world_poll(struct fuzz_world *w)
{
    const unsigned busy = w->busy;
    const unsigned long frames = w->frames;
    const uint32_t wait = tenon_poll(w->stack, (tenon_u32)w->now);

    if (wait == 0 && busy == w->busy)
        fuzz_fail("tenon_poll() says that the port is full, and it is not");
    if (wait > UINT32_C(1800000000))
        fuzz_fail("tenon_poll() wants to sleep for %u us", wait);
    if (w->frames - frames > FRAMES_PER_CALL_MAX)
        fuzz_fail("%lu frames in one poll", w->frames - frames);
    fuzz_world_check(w);
    return wait;
}

enum { POLLS_MAX = 300, POLLS_PER_MS_MAX = 400 };

void fuzz_world_advance(struct fuzz_world *w, uint64_t us)
{
    const uint64_t until = w->now + us, leap = UINT64_C(1500000000);
    uint64_t ms = w->now / 1000;
    unsigned polls = 0, in_ms = 0;

    for (;;) {
        uint64_t wait = fuzz_world_poll(w);

        if (w->now >= until)
            return;
        if (wait == 0)
            wait = 50;
        if (++polls > POLLS_MAX)
            wait = leap;
        in_ms = w->now / 1000 == ms ? in_ms + 1 : 0;
        ms = w->now / 1000;
        if (in_ms > POLLS_PER_MS_MAX)
            fuzz_fail("tenon_poll() has wanted to be called %u times in a millisecond", in_ms);
        w->now += wait < until - w->now ? wait : until - w->now;
    }
}

/* ---- repair ---------------------------------------------------------------------------------- */

static uint32_t sum_of(const uint8_t *p, size_t n, uint32_t sum)
{
    for (; n >= 2; n -= 2, p += 2)
        sum += fuzz_get16(p);
    if (n > 0)
        sum += (uint32_t)*p << 8;
    while (sum > 0xFFFF)
        sum = (sum >> 16) + (sum & 0xFFFF);
    return sum;
}

static void repair_transport(uint8_t *l4, size_t n, unsigned proto, uint32_t pseudo)
{
    const size_t at = proto == 6 ? 16 : proto == 17 ? 6 : 2;
    uint32_t sum;

    if ((proto != 1 && proto != 2 && proto != 6 && proto != 17 && proto != 58) || n < at + 2)
        return;
    if (proto == 17 && fuzz_get16(l4 + 6) == 0)
        return;    /* without a checksum (RFC 768) */
    fuzz_put16(l4 + at, 0);
    sum = sum_of(l4, n, proto == 1 || proto == 2 ? 0 : sum_of(NULL, 0, pseudo + proto + (uint32_t)n));
    sum = ~sum & 0xFFFF;
    fuzz_put16(l4 + at, sum == 0 && proto == 17 ? 0xFFFF : sum);
}

static void repair_ip4(uint8_t *ip, size_t n, int lengths)
{
    const size_t header = (ip[0] & 15U) * 4U;
    size_t total;

    if (n < 20 || header < 20 || header > n)
        return;
    if (lengths)
        fuzz_put16(ip + 2, (unsigned)(n < 65535 ? n : 65535));
    fuzz_put16(ip + 10, 0);
    fuzz_put16(ip + 10, ~sum_of(ip, header, 0) & 0xFFFF);
    total = fuzz_get16(ip + 2);
    if (total < header || total > n || (fuzz_get16(ip + 6) & 0x3FFF) != 0)
        return;
    if (lengths && ip[9] == 17 && total >= header + 8)
        fuzz_put16(ip + header + 4, (unsigned)(total - header));
    repair_transport(ip + header, total - header, ip[9], sum_of(ip + 12, 8, 0));
}

static void repair_ip6(uint8_t *ip, size_t n, int lengths)
{
    size_t at = 40, end;
    unsigned next;

    if (n < 40)
        return;
    if (lengths)
        fuzz_put16(ip + 4, (unsigned)(n - 40 < 65535 ? n - 40 : 65535));
    end = 40 + fuzz_get16(ip + 4);
    if (end > n)
        return;
    for (next = ip[6]; (next == 0 || next == 43 || next == 60) && at + 8 <= end;) {
        next = ip[at];
        at += 8U * (ip[at + 1] + 1U);
    }
    if (at >= end)
        return;
    if (lengths && next == 17 && end >= at + 8)
        fuzz_put16(ip + at + 4, (unsigned)(end - at));
    repair_transport(ip + at, end - at, next, sum_of(ip + 8, 32, 0));
}

void fuzz_repair(uint8_t *ip, size_t n, int lengths)
{
    if (n > 0 && ip[0] >> 4 == 4)
        repair_ip4(ip, n, lengths);
    if (n > 0 && ip[0] >> 4 == 6)
        repair_ip6(ip, n, lengths);
}
