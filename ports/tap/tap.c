/* SPDX-License-Identifier: MIT */
/* Linux TAP port.
 *
 * Frames cross with a virtio-net header of 12 bytes (virtio 1.2, 5.1.6) before them, whose fields say
 * of a frame exactly what struct tenon_frame does. It is asked for in little-endian order and read
 * and written byte by byte: "native" order, the default, is that of the kernel, which is not that
 * of the program when a big-endian program runs under an emulator.
 *
 * Receive memory. With offload the kernel hands over up to 64 KB in one frame, but most frames are
 * small, and a buffer may be kept for long: an application that holds a segment of one byte must not
 * pin 64 KB. So each read scatters: the first bytes go into a small buffer, what does not fit there
 * into a large one. A frame of ordinary size occupies a small buffer, a super-frame both, and nothing
 * is copied. Headers lie in the first span always. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <net/if.h>

#include "../common/bufpool.h"
#include "../pcap/pcap.h"

enum {
    TAP_BURST = 32,
    TAP_GATHER_MAX = 64,
    TAP_SMALL_MIN = 2048,
    TAP_HEADROOM = 128, /* link header with tags, and what tenon_tcp_write() wants beside the MTU */
    TAP_LARGE = 65536,
    TAP_POOL_DEFAULT = 256 << 20,
    TAP_WAIT_MS = 500,
    TAP_USO = 0x60 /* TUN_F_USO4 | TUN_F_USO6: Linux 6.2 and its headers */
};

/* The virtio-net header. */
enum {
    VNET_BYTES = 12,
    VNET_NEEDS_CSUM = 1,
    VNET_DATA_VALID = 2,
    VNET_GSO_NONE = 0,
    VNET_GSO_TCP4 = 1,
    VNET_GSO_TCP6 = 4,
    VNET_GSO_UDP = 5, /* USO: each segment is a datagram */
    VNET_GSO_ECN = 0x80 /* CWR belongs to the first segment only */
};

struct tap_port {
    int fd;
    unsigned mtu;
    tenon_u32 caps;
    tenon_u8 mac[6];
    char name[IFNAMSIZ];
    struct pcap_writer *pcap;
    unsigned pcap_interface;
    struct bufpool small, large;
    struct tap_stats stats;
    struct tenon_buf *rx_small[TAP_BURST], *rx_large[TAP_BURST]; /* NULL: to be filled before reading */
    struct tenon_span rx_spans[TAP_BURST][2];
    struct tenon_frame rx_frames[TAP_BURST];
    tenon_u8 scratch[TAP_LARGE]; /* where frames go that nobody has room for */
};

tenon_u32 tap_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (tenon_u32)((uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000);
}

static uint64_t wall_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static tenon_u16 get16le(const tenon_u8 *p)
{
    return (tenon_u16)(p[0] | p[1] << 8);
}

static void put16le(tenon_u8 *p, unsigned value)
{
    p[0] = (tenon_u8)value;
    p[1] = (tenon_u8)(value >> 8);
}

/* ---- opening --------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void explain(char *error, size_t size, const char *format, ...)
{
    va_list args;

    if (error == NULL || size == 0)
        return;
    va_start(args, format);
    vsnprintf(error, size, format, args);
    va_end(args);
}

static int open_device(const struct tap_conf *conf, char *error, size_t size)
{
    int fd;

    if (conf->name == NULL || conf->name[0] == 0 || strlen(conf->name) >= IFNAMSIZ) {
        explain(error, size, "a TAP interface has a name of 1 to %d characters", IFNAMSIZ - 1);
        return -1;
    }
    fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
        explain(error, size, "there is no TAP driver (/dev/net/tun): load it with 'modprobe tun', or give the "
                             "container the device /dev/net/tun");
    else if (errno == EACCES || errno == EPERM)
        explain(error, size, "not permitted to open /dev/net/tun: run as root, or once as root "
                             "'chmod 666 /dev/net/tun' (the interface itself stays protected)");
    else
        explain(error, size, "cannot open /dev/net/tun: %s", strerror(errno));
    return -1;
}

static void explain_setiff(const struct tap_conf *conf, char *error, size_t size)
{
    const char *queues = conf->queues > 1 ? " multi_queue" : "";

    switch (errno) {
    case EPERM:
    case EACCES:
        explain(error, size, "not permitted to use TAP interface '%s': run as root, or make it yours once as root: "
                             "'ip tuntap add dev %s mode tap%s user %ld'",
                conf->name, conf->name, queues, (long)getuid());
        break;
    case EBUSY:
        explain(error, size, "TAP interface '%s' is in use by another program: end that, or take another name",
                conf->name);
        break;
    case E2BIG:
        explain(error, size, "TAP interface '%s' has no queue left for queue %d", conf->name, conf->queue);
        break;
    case EINVAL:
        explain(error, size, "'%s' exists but is no TAP interface%s: take another name, or remove it with "
                             "'ip link delete %s'",
                conf->name, conf->queues > 1 ? " with several queues" : " with one queue", conf->name);
        break;
    default:
        explain(error, size, "cannot use TAP interface '%s': %s", conf->name, strerror(errno));
    }
}

/* Attach to the interface and agree on the header before each frame. */
static int attach(int fd, const struct tap_conf *conf, char *error, size_t size)
{
    struct ifreq request = { 0 };
    int header_bytes = VNET_BYTES, little_endian = 1;

    memcpy(request.ifr_name, conf->name, strlen(conf->name) + 1);
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    if (conf->queues > 1)
        request.ifr_flags |= IFF_MULTI_QUEUE;
    if (ioctl(fd, TUNSETIFF, &request) != 0) {
        explain_setiff(conf, error, size);
        return -1;
    }
    if (ioctl(fd, TUNSETVNETHDRSZ, &header_bytes) != 0 || ioctl(fd, TUNSETVNETLE, &little_endian) != 0) {
        explain(error, size, "TAP interface '%s': the kernel is too old (Linux 4.0 or later is needed): %s",
                conf->name, strerror(errno));
        return -1;
    }
    return 0;
}

/* What the kernel may leave to us. @return our capabilities in turn */
static tenon_u32 set_offload(int fd, int wanted)
{
    unsigned long tcp = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
    tenon_u32 caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6;

    if (!wanted) {
        ioctl(fd, TUNSETOFFLOAD, 0UL);
        return 0;
    }
    if (ioctl(fd, TUNSETOFFLOAD, tcp | TAP_USO) == 0)
        return caps | TENON_CAP_USO;
    if (ioctl(fd, TUNSETOFFLOAD, tcp) == 0)
        return caps;
    ioctl(fd, TUNSETOFFLOAD, 0UL);
    return 0;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_bytes(const void *bytes, size_t n, uint64_t hash)
{
    const tenon_u8 *p = bytes;

    while (n-- > 0)
        hash = (hash ^ *p++) * 0x100000001B3u;
    return hash;
}

/* Our own address on the cable: locally administered, unicast, not the kernel's. */
static void derive_mac(struct tap_port *port, const tenon_u8 *kernels)
{
    uint64_t hash = hash_bytes("tenon", 5, 0xCBF29CE484222325u);

    hash = hash_bytes(port->name, strlen(port->name), hash);
    hash = hash_bytes(kernels, 6, hash);
    for (int i = 0; i < 6; i++)
        port->mac[i] = (tenon_u8)(hash >> (8 * i));
    port->mac[0] = (tenon_u8)((port->mac[0] & 0xFC) | 0x02);
    if (memcmp(port->mac, kernels, 6) == 0)
        port->mac[5] ^= 1;
}

/* An interface that is up needs a moment after it has got its cable: until the kernel has noticed,
 * it receives what we send and throws its own answers away. */
static void wait_running(int control, const char *name)
{
    const struct timespec moment = { 0, 1000000 };
    struct ifreq request = { 0 };

    memcpy(request.ifr_name, name, IFNAMSIZ);
    for (int i = 0; i < TAP_WAIT_MS; i++) {
        if (ioctl(control, SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP) == 0)
            return;
        nanosleep(&moment, NULL);
        if ((request.ifr_flags & IFF_RUNNING) != 0)
            return;
    }
}

/* Learn MTU and address of the interface. */
static int read_interface(struct tap_port *port, unsigned mtu, char *error, size_t size)
{
    struct ifreq request = { 0 };
    tenon_u8 kernels[6];
    int ok, control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (control < 0) {
        explain(error, size, "cannot make a socket: %s", strerror(errno));
        return -1;
    }
    memcpy(request.ifr_name, port->name, sizeof port->name);
    ok = ioctl(control, SIOCGIFMTU, &request) == 0;
    if (ok && mtu == 0)
        mtu = (unsigned)request.ifr_mtu;
    ok = ok && ioctl(control, SIOCGIFHWADDR, &request) == 0;
    memcpy(kernels, request.ifr_hwaddr.sa_data, 6);
    if (ok)
        wait_running(control, port->name);
    close(control);
    if (!ok) {
        explain(error, size, "cannot ask interface '%s' for its MTU and address: %s", port->name, strerror(errno));
        return -1;
    }
    if (mtu < 576 || mtu > 65535) {
        explain(error, size, "an MTU of %u bytes is not possible: it is 576 to 65535", mtu);
        return -1;
    }
    port->mtu = mtu;
    derive_mac(port, kernels);
    return 0;
}

struct tap_port *tap_open(const struct tap_conf *conf, char *error, size_t error_size)
{
    size_t bytes_max = conf->buffer_bytes_max > 0 ? conf->buffer_bytes_max : TAP_POOL_DEFAULT;
    struct tap_port *port;
    unsigned small;
    int fd = open_device(conf, error, error_size);

    if (fd < 0)
        return NULL;
    port = calloc(1, sizeof *port);
    if (port == NULL) {
        explain(error, error_size, "out of memory");
        close(fd);
        return NULL;
    }
    port->fd = fd;
    if (attach(fd, conf, error, error_size) != 0) {
        tap_close(port);
        return NULL;
    }
    memcpy(port->name, conf->name, strlen(conf->name) + 1);
    if (read_interface(port, conf->mtu, error, error_size) != 0) {
        tap_close(port);
        return NULL;
    }
    port->caps = set_offload(fd, conf->offload);
    small = port->mtu + TAP_HEADROOM;
    bufpool_init(&port->small, small < TAP_SMALL_MIN ? TAP_SMALL_MIN : small, bytes_max);
    bufpool_init(&port->large, TAP_LARGE, bytes_max);
    return port;
}

void tap_close(struct tap_port *port)
{
    if (port == NULL)
        return;
    close(port->fd);
    bufpool_fini(&port->small);
    bufpool_fini(&port->large);
    free(port);
}

void tap_netif_conf(const struct tap_port *port, struct tenon_netif_conf *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->mac, port->mac, sizeof out->mac);
    out->mtu = (tenon_u16)port->mtu;
    out->caps = port->caps;
    out->gather_max = TAP_GATHER_MAX;
}

int tap_fd(const struct tap_port *port)
{
    return port->fd;
}

void tap_attach(struct tap_port *port, struct pcap_writer *writer)
{
    int number = -1;

    if (writer != NULL)
        number = pcap_interface(writer, port->name, 0, PCAP_ETHERNET);
    port->pcap = number >= 0 ? writer : NULL;
    port->pcap_interface = number >= 0 ? (unsigned)number : 0;
}

void tap_stats(const struct tap_port *port, struct tap_stats *stats)
{
    *stats = port->stats;
    stats->buf_failures = port->small.failures + port->large.failures;
    stats->buf_bytes = (uint64_t)port->small.bufs * port->small.buf_bytes;
    stats->buf_bytes += (uint64_t)port->large.bufs * port->large.buf_bytes;
}

/* ---- sending --------------------------------------------------------------------------------- */

static tenon_u8 gso_type(const struct tenon_frame *frame)
{
    const struct tenon_span *head = &frame->spans[0];
    unsigned flags_at = frame->csum_start + 13u;
    tenon_u8 type;

    if (frame->seg_kind == TENON_SEG_UDP)
        return VNET_GSO_UDP;
    type = frame->seg_kind == TENON_SEG_TCP4 ? VNET_GSO_TCP4 : VNET_GSO_TCP6;
    if (flags_at < head->len && (tenon_span_data(head)[flags_at] & 0x80) != 0)
        type |= VNET_GSO_ECN;
    return type;
}

static void vnet_write(tenon_u8 header[VNET_BYTES], const struct tenon_frame *frame)
{
    memset(header, 0, VNET_BYTES);
    if (frame->csum == TENON_CSUM_PARTIAL) {
        header[0] = VNET_NEEDS_CSUM;
        put16le(header + 6, frame->csum_start);
        put16le(header + 8, frame->csum_offset);
    }
    if (frame->seg_kind != TENON_SEG_NONE) {
        header[1] = gso_type(frame);
        put16le(header + 2, frame->header_bytes);
        put16le(header + 4, frame->seg_bytes);
    }
}

/* @return 0: taken, or lost for good; -1: the kernel has no room now */
static int send_frame(struct tap_port *port, const struct tenon_frame *frame)
{
    struct iovec iov[1 + TAP_GATHER_MAX];
    tenon_u8 header[VNET_BYTES];
    ssize_t written;

    if (frame->nspans > TAP_GATHER_MAX) {
        port->stats.tx_errors++;
        return 0;
    }
    vnet_write(header, frame);
    iov[0].iov_base = header;
    iov[0].iov_len = VNET_BYTES;
    for (unsigned i = 0; i < frame->nspans; i++) {
        iov[1 + i].iov_base = tenon_span_data(&frame->spans[i]);
        iov[1 + i].iov_len = frame->spans[i].len;
    }
    do
        written = writev(port->fd, iov, 1 + (int)frame->nspans);
    while (written < 0 && errno == EINTR);
    if (written >= 0) {
        port->stats.tx_frames++;
        port->stats.tx_bytes += (uint64_t)written - VNET_BYTES;
        return 0;
    }
    if (errno == EAGAIN) {
        port->stats.tx_busy++;
        return -1;
    }
    if (errno == EIO)
        port->stats.tx_down++;
    else
        port->stats.tx_errors++;
    return 0;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct tap_port *port = host;
    unsigned taken = 0;

    (void)netif;
    while (taken < n && send_frame(port, &frames[taken]) == 0)
        taken++;
    if (port->pcap != NULL && taken > 0) {
        uint64_t ns = wall_ns();

        for (unsigned i = 0; i < taken; i++)
            pcap_frame(port->pcap, port->pcap_interface, 1, &frames[i], ns, NULL);
    }
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* @return 0, or -1: the header makes no sense */
static int vnet_read(const tenon_u8 header[VNET_BYTES], struct tenon_frame *frame)
{
    frame->csum = TENON_CSUM_NONE;
    frame->seg_kind = TENON_SEG_NONE;
    if (header[0] & VNET_NEEDS_CSUM) {
        /* Made by this machine's own kernel and never on a wire: nothing can have changed it. The
         * offsets stay in the frame for the sake of a capture, which completes the sum. */
        frame->csum = TENON_CSUM_GOOD;
        frame->csum_start = get16le(header + 6);
        frame->csum_offset = get16le(header + 8);
    } else if (header[0] & VNET_DATA_VALID) {
        frame->csum = TENON_CSUM_GOOD;
    }
    switch (header[1] & ~VNET_GSO_ECN) {
    case VNET_GSO_NONE:
        return 0;
    case VNET_GSO_TCP4:
        frame->seg_kind = TENON_SEG_TCP4;
        break;
    case VNET_GSO_TCP6:
        frame->seg_kind = TENON_SEG_TCP6;
        break;
    case VNET_GSO_UDP:
        frame->seg_kind = TENON_SEG_UDP;
        break;
    default:
        return -1;
    }
    frame->seg_bytes = get16le(header + 4);
    return frame->seg_bytes > 0 ? 0 : -1;
}

/* See to it that slot `i` has buffers; a pool that is exhausted leaves NULL. */
static void fill_slot(struct tap_port *port, unsigned i)
{
    if (port->rx_small[i] == NULL)
        port->rx_small[i] = bufpool_get(&port->small);
    if (port->rx_large[i] == NULL && port->caps != 0)
        port->rx_large[i] = bufpool_get(&port->large);
}

/* Read one frame into slot `i`.
 * @return 1: there is one; 0: nothing left to read; -1: the interface is gone; -2: one was lost */
static int read_frame(struct tap_port *port, unsigned i)
{
    tenon_u8 header[VNET_BYTES];
    struct tenon_buf *small, *large;
    struct tenon_frame *frame = &port->rx_frames[i];
    struct tenon_span *spans = port->rx_spans[i];
    struct iovec iov[3] = { { header, VNET_BYTES }, { NULL, 0 }, { port->scratch, sizeof port->scratch } };
    ssize_t got;

    fill_slot(port, i);
    small = port->rx_small[i];
    large = port->rx_large[i];
    if (small != NULL)
        iov[1] = (struct iovec){ small->data, small->size };
    if (large != NULL)
        iov[2] = (struct iovec){ large->data, large->size };
    do
        got = readv(port->fd, iov, 3);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) {
        port->stats.rx_empty++;
        return 0;
    }
    if (got < VNET_BYTES) {
        port->stats.rx_errors++;
        return -1;
    }
    got -= VNET_BYTES;
    if (small == NULL || (large == NULL && (size_t)got > small->size)) {
        port->stats.rx_no_buffer++;
        return -2;
    }
    *frame = (struct tenon_frame){ .spans = spans, .nspans = 1 };
    spans[0] = (struct tenon_span){ small, 0, (tenon_u32)got };
    if ((size_t)got > small->size) {
        spans[0].len = small->size;
        spans[1] = (struct tenon_span){ large, 0, (tenon_u32)got - small->size };
        frame->nspans = 2;
    }
    if (vnet_read(header, frame) != 0) {
        port->stats.rx_bad++;
        return -2;
    }
    port->stats.rx_frames++;
    port->stats.rx_bytes += (uint64_t)got;
    return 1;
}

/* Whoever keeps a buffer of a slot keeps it; the others serve again. */
static void recycle(struct tenon_buf **slot)
{
    if (*slot == NULL || (*slot)->refs == 1)
        return;
    tenon_buf_put(*slot);
    *slot = NULL;
}

int tap_receive(struct tap_port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    unsigned n = 0;
    int result = 1;

    for (unsigned reads = 0; reads < TAP_BURST && result != 0 && result != -1; reads++) {
        result = read_frame(port, n);
        if (result == 1)
            n++;
    }
    if (n == 0)
        return result == -1 ? -1 : 0;
    if (port->pcap != NULL) {
        uint64_t ns = wall_ns();

        for (unsigned i = 0; i < n; i++)
            pcap_frame(port->pcap, port->pcap_interface, 0, &port->rx_frames[i], ns, NULL);
    }
    tenon_input(stack, netif, port->rx_frames, n, now_us);
    for (unsigned i = 0; i < n; i++) {
        recycle(&port->rx_small[i]);
        recycle(&port->rx_large[i]);
    }
    return (int)n;
}

/* ---- the rest of the host interface ---------------------------------------------------------- */

static void *host_mem_get(void *host, size_t bytes)
{
    (void)host;
    return malloc(bytes);
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    (void)host;
    (void)bytes;
    free(mem);
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct tap_port *port = host;

    return bufpool_get_many(&port->small, bufs, n);
}

static int host_entropy(void *host, void *bytes, size_t n)
{
    tenon_u8 *at = bytes;

    (void)host;
    while (n > 0) {
        ssize_t got = getrandom(at, n, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        at += got;
        n -= (size_t)got;
    }
    return 0;
}

const struct tenon_host *tap_host_ops(void)
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
