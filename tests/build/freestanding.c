/* SPDX-License-Identifier: MIT */
/* The core on a machine that has nothing: no C library, no start-up code, no operating system's headers.
 * Linked with -nostdlib, this shows that the library needs the four memory functions below and
 * nothing else; run, it shows that it works so: an ARP request comes in, the reply goes out.
 * The exit status is 0 when the reply was right. */
#include <tenon/tenon.h>

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void _start(void);

/* volatile: or a compiler recognises the loop and calls memcpy() for it. */
void *memcpy(void *to, const void *from, size_t n)
{
    volatile unsigned char *t = (volatile unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;

    while (n-- > 0)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    volatile unsigned char *t = (volatile unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;

    if (t <= f)
        return memcpy(to, from, n);
    while (n-- > 0)
        t[n] = f[n];
    return to;
}

void *memset(void *to, int value, size_t n)
{
    volatile unsigned char *t = (volatile unsigned char *)to;

    while (n-- > 0)
        *t++ = (unsigned char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const volatile unsigned char *x = (const volatile unsigned char *)a;
    const volatile unsigned char *y = (const volatile unsigned char *)b;

    for (; n > 0; n--, x++, y++) {
        if (*x != *y)
            return *x < *y ? -1 : 1;
    }
    return 0;
}

enum { BUFS = 16, BUF_BYTES = 2048, ARENA_BYTES = 2 * 1024 * 1024 };

static union {
    unsigned char bytes[ARENA_BYTES];
    void *pointer_aligned;
    long double number_aligned;
} arena;
static size_t arena_used;
static struct tenon_buf bufs[BUFS];
static unsigned char buf_bytes[BUFS][BUF_BYTES];
static int replies;

static void *mem_get(void *host, size_t bytes)
{
    void *mem = arena.bytes + arena_used;

    (void)host;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > ARENA_BYTES - arena_used)
        return NULL;
    arena_used += bytes;
    return mem;
}

static void mem_put(void *host, void *mem, size_t bytes)
{
    (void)host;
    (void)mem;
    (void)bytes;
}

static void release(struct tenon_buf *buf)
{
    (void)buf;
}

static unsigned buf_get(void *host, struct tenon_buf **out, unsigned n)
{
    unsigned got = 0;
    int i;

    (void)host;
    for (i = 0; i < BUFS && got < n; i++) {
        if (bufs[i].refs > 0)
            continue;
        bufs[i].data = buf_bytes[i];
        bufs[i].size = BUF_BYTES;
        bufs[i].refs = 1;
        bufs[i].release = release;
        out[got++] = &bufs[i];
    }
    return got;
}

static const unsigned char our_mac[6] = { 2, 0, 0, 0, 0, 1 };
static const unsigned char request[42] = {
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0, 0, 2, 0x08, 0x06, /* Ethernet: broadcast, ARP */
    0, 1, 0x08, 0, 6, 4, 0, 1,                                        /* who-has */
    2, 0, 0, 0, 0, 2, 10, 0, 0, 2,                                    /* 10.0.0.2 asks */
    0, 0, 0, 0, 0, 0, 10, 0, 0, 1                                     /* for 10.0.0.1 */
};

static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    (void)host;
    (void)netif;
    for (i = 0; i < n; i++) {
        const unsigned char *p = tenon_span_data(&frames[i].spans[0]);

        if (frames[i].spans[0].len >= 42 && p[12] == 0x08 && p[13] == 0x06 && p[21] == 2
            && memcmp(p + 22, our_mac, 6) == 0 && memcmp(p + 28, request + 38, 4) == 0
            && memcmp(p + 32, request + 22, 10) == 0)
            replies++;
    }
    return n;
}

/* Fixed numbers: fit for this test and for nothing else. */
static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    memset(bytes, 0x5A, n);
    return 0;
}

static const struct tenon_host host_ops = { TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy };

static int run(void)
{
    static unsigned char frame_bytes[64];
    struct tenon_conf conf;
    struct tenon_netif_conf netif_conf;
    struct tenon_frame frame;
    struct tenon_span span;
    struct tenon_buf buf;
    struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 1);
    struct tenon *stack;
    int netif;

    tenon_conf_default(&conf);
    stack = tenon_init(mem_get(NULL, tenon_mem_size(&conf)), &conf, &host_ops, NULL);
    if (stack == NULL)
        return 1;
    memset(&netif_conf, 0, sizeof(netif_conf));
    memcpy(netif_conf.mac, our_mac, 6);
    netif_conf.mtu = 1500;
    netif_conf.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    netif = tenon_netif_add(stack, &netif_conf);
    if (netif < 1 || tenon_addr_add(stack, (unsigned)netif, &ip, 24) != TENON_OK)
        return 2;

    memcpy(frame_bytes, request, sizeof(request));
    buf.data = frame_bytes;
    buf.size = sizeof(frame_bytes);
    buf.refs = 1;
    buf.release = release;
    span.buf = &buf;
    span.off = 0;
    span.len = sizeof(request);
    memset(&frame, 0, sizeof(frame));
    frame.spans = &span;
    frame.nspans = 1;
    if (tenon_input(stack, (unsigned)netif, &frame, 1, 1000) != TENON_OK)
        return 3;
    (void)tenon_poll(stack, 2000);
    tenon_fini(stack);
    return replies == 1 ? 0 : 4;
}

/* The one thing that needs the machine: to stop with a status. */
static void leave(int status)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(60L), "D"((long)status) : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = 93;
    register long x0 __asm__("x0") = status;
    __asm__ volatile("svc 0" : : "r"(x8), "r"(x0) : "memory");
#elif defined(__arm__)
    register long r7 __asm__("r7") = 1;
    register long r0 __asm__("r0") = status;
    __asm__ volatile("svc 0" : : "r"(r7), "r"(r0) : "memory");
#endif
    for (;;)
        ;
}

/* The kernel enters with a stack aligned differently from that of a called function. */
#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
void
_start(void)
{
    leave(run());
}
