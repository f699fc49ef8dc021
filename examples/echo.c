/* SPDX-License-Identifier: MIT */
/* The smallest complete program around the stack: a TCP echo at 10.9.0.2 and fd00:9::2, port 7. Usage: echo FD, where
 * FD is a descriptor of which one read() or write() is one frame; README.md beside this file says where to get one. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>
#include <time.h>
#include <unistd.h>
enum { PACKET_BYTES = 2048 };
/* What the stack asks of its host; `host` is the pointer given to tenon_init(): here, the descriptor. */
static void *mem_get(void *host, size_t n)
{
    (void)host;
    return malloc(n);
}
static void mem_put(void *host, void *mem, size_t n)
{
    (void)host, (void)n;
    free(mem);
}
static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    return getentropy(bytes, n);
}
static void packet_release(struct tenon_buf *buf)
{
    free(buf); /* its bytes lie behind it, see buf_get() */
}
static unsigned buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    unsigned i;
    (void)host;
    for (i = 0; i < n && (bufs[i] = malloc(sizeof **bufs + PACKET_BYTES)) != NULL; i++)
        *bufs[i] = (struct tenon_buf){ (tenon_u8 *)(bufs[i] + 1), PACKET_BYTES, 1, packet_release };
    return i;
}
static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    unsigned i = 0;
    (void)netif; /* gather_max is 1, so each frame is one span */
    while (i < n && write(*(int *)host, tenon_span_data(frames[i].spans), frames[i].spans->len) >= 0)
        i++;
    return i; /* fewer than n: the stack keeps the others and offers them again */
}
static const struct tenon_host host_ops = { TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy };

/* The application: the received spans themselves are sent; they count as consumed when they have arrived, so the
 * receive window bounds what waits in the send queue. That is larger: a window may be rounded up (RFC 7323 2.4). */
static void received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    int r = TENON_OK;
    (void)app;
    while (n-- > 0 && r == TENON_OK)
        r = tenon_tcp_send(conn, spans++);
    if (r != TENON_OK)
        tenon_tcp_abort(conn); /* no memory */
}
static void acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)app;
    tenon_tcp_consumed(conn, bytes);
}
static const struct tenon_tcp_events events = { NULL, NULL, received, acked, NULL, NULL, NULL, NULL };
static tenon_u32 now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (tenon_u32)t.tv_sec * 1000000U + (tenon_u32)(t.tv_nsec / 1000);
}
int main(int argc, char **argv)
{
    struct tenon_netif_conf nic = { .mac = { 2, [5] = 2 }, .mtu = 1500, .gather_max = 1, .flags = TENON_NETIF_NO_DAD };
    struct tenon_ip ip4 = tenon_ip4_bytes(10, 9, 0, 2), ip6 = tenon_ip6(0xfd000009U, 0, 0, 2);
    int fd = argc == 2 ? atoi(argv[1]) : -1, port = -1;
    struct tenon_addr at = { .port = 7 };
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf = { .tcp_rcv_buf = 1 << 20, .tcp_snd_buf = 2 << 20 }; /* and defaults */
    void *mem = malloc(tenon_mem_size(&conf));
    struct tenon *stack = tenon_init(mem, &conf, &host_ops, &fd);
    if (fd < 0 || stack == NULL || (port = tenon_netif_add(stack, &nic)) < 0 ||
        tenon_addr_add(stack, (unsigned)port, &ip4, 24) != 0 || tenon_addr_add(stack, (unsigned)port, &ip6, 64) != 0 ||
        tenon_tcp_listen(stack, &listener, &at, &events, NULL, 0) != TENON_OK)
        return fputs("usage: echo FD\n", stderr), 1;
    for (ssize_t n = 1; n != 0;) { /* until the other end hangs up */
        struct pollfd ready = { fd, POLLIN, 0 };
        struct tenon_span span = { NULL, 0, 0 };
        struct tenon_frame frame = { .spans = &span, .nspans = 1 };
        if (poll(&ready, 1, (int)(tenon_poll(stack, now_us()) / 1000) + 1) < 1 || buf_get(NULL, &span.buf, 1) == 0)
            continue;
        n = read(fd, span.buf->data, PACKET_BYTES);
        span.len = n > 0 ? (tenon_u32)n : 0;
        tenon_input(stack, (unsigned)port, &frame, n > 0, now_us());
        tenon_buf_put(span.buf);
    }
    tenon_fini(stack);
    free(mem);
}
