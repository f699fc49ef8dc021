/* SPDX-License-Identifier: MIT */
/* Linux TAP port. Frames cross with a virtio-net header before them (common/vnet.h).
 * Reads scatter into a small and a large buffer (common/rxslots.h): nothing is copied. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>

#include "../common/interface.h"
#include "../common/rxslots.h"

enum {
    TAP_GATHER_MAX = 64,
    TAP_POOL_DEFAULT = 256 << 20,
    TAP_WAIT_MS = 500,
    TAP_USO = 0x60 /* TUN_F_USO4 | TUN_F_USO6: Linux 6.2 and its headers */
};

struct tap_port {
    struct port port;
    int alone; /* it is the interface's only queue */
    struct rxslots rx;
    tenon_u8 scratch[RXSLOTS_LARGE]; /* where frames go that nobody has room for */
};

/* ---- opening --------------------------------------------------------------------------------- */

static int open_device(const struct port_conf *conf, char *error, size_t size)
{
    int fd;

    if (conf->name[0] == 0 || strlen(conf->name) >= IFNAMSIZ || strpbrk(conf->name, "/: \t\n") != NULL)
        return port_explain(
            error, size,
            "'%s' is no name of a TAP interface: those have 1 to %d characters, no slash, colon or space",
            conf->name, IFNAMSIZ - 1);
    fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
        port_explain(error, size, "there is no TAP driver (/dev/net/tun): load it with 'modprobe tun', or give the "
                                  "container the device /dev/net/tun");
    else if (errno == EACCES || errno == EPERM)
        port_explain(error, size, "not permitted to open /dev/net/tun: run as root, or once as root "
                                  "'chmod 666 /dev/net/tun' (the interface itself stays protected)");
    else
        port_explain(error, size, "cannot open /dev/net/tun: %s", strerror(errno));
    return -1;
}

/* Nobody shall be told to delete his network card. */
static void explain_kind(const struct port_conf *conf, const char *queues, char *error, size_t size)
{
    char driver[32];

    (void)port_interface_queues(conf->name, driver, sizeof driver);
    if (strcmp(driver, "tun") == 0)
        port_explain(error, size, "'%s' is no TAP interface with %s: take another name, or make it anew with "
                                  "'ip link delete %s; ip tuntap add dev %s mode tap%s'",
                     conf->name, queues[0] != 0 ? "several queues" : "one queue", conf->name, conf->name, queues);
    else
        port_explain(error, size, "'%s' is there and is no TAP interface: take another name, or packet:%s",
                     conf->name, conf->name);
}

static void explain_setiff(const struct port_conf *conf, char *error, size_t size)
{
    const char *queues = conf->queues > 1 ? " multi_queue" : "";

    switch (errno) {
    case EPERM:
    case EACCES:
        port_explain(error, size,
                     "not permitted to use TAP interface '%s': run as root, or make it yours once as root: "
                     "'ip tuntap add dev %s mode tap%s user %ld'",
                     conf->name, conf->name, queues, (long)getuid());
        break;
    case EBUSY:
        port_explain(error, size, "'%s' is in use by another program: end that, or take another name", conf->name);
        break;
    case E2BIG:
        port_explain(error, size, "TAP interface '%s' has no queue left for queue %u", conf->name, conf->queue);
        break;
    case EINVAL:
        explain_kind(conf, queues, error, size);
        break;
    default:
        port_explain(error, size, "cannot use TAP interface '%s': %s", conf->name, strerror(errno));
    }
}

/* Attach to the interface and agree on the header before each frame. */
static int attach(int fd, const struct port_conf *conf, char *error, size_t size)
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
        port_explain(error, size, "TAP interface '%s': the kernel is too old (Linux 4.0 or later is needed): %s",
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
    const char *name = port->port.name;
    struct ifreq request = { 0 };
    tenon_u8 kernels[6];
    int ok, control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (control < 0)
        return port_explain(error, size, "cannot make a socket: %s", strerror(errno));
    memcpy(request.ifr_name, name, IFNAMSIZ);
    ok = ioctl(control, SIOCGIFMTU, &request) == 0;
    if (ok && mtu == 0)
        mtu = (unsigned)request.ifr_mtu;
    ok = ok && ioctl(control, SIOCGIFHWADDR, &request) == 0;
    memcpy(kernels, request.ifr_hwaddr.sa_data, 6);
    if (ok)
        wait_running(control, name);
    close(control);
    if (!ok)
        return port_explain(error, size, "cannot ask interface '%s' for its MTU and address: %s", name,
                            strerror(errno));
    if (mtu < 576 || mtu > 65535)
        return port_explain(error, size, "an MTU of %u bytes is not possible: it is 576 to 65535", mtu);
    port->port.netif.mtu = (tenon_u16)mtu;
    port_derive_mac(port->port.netif.mac, name, kernels);
    return 0;
}

static struct tap_port *tap_of(struct port *port)
{
    return TENON_CONTAINER(port, struct tap_port, port);
}

/* An interface that stays keeps what it was told. The next program may be one that has never heard of headers and
 * offloads: it gets what a new interface has. */
static void restore(int fd)
{
    int header_bytes = sizeof(struct virtio_net_hdr), little_endian = 0;

    ioctl(fd, TUNSETOFFLOAD, 0UL);
    ioctl(fd, TUNSETVNETHDRSZ, &header_bytes);
    ioctl(fd, TUNSETVNETLE, &little_endian);
}

static void tap_close(struct port *port)
{
    if (port->fd >= 0 && tap_of(port)->alone)
        restore(port->fd);
    if (port->fd >= 0)
        close(port->fd);
    port_rxslots_fini(&tap_of(port)->rx);
}

static int tap_open(struct port *port, const struct port_conf *conf, char *error, size_t error_size)
{
    tap_of(port)->alone = conf->queues == 1;
    port->fd = open_device(conf, error, error_size);
    if (port->fd < 0 || attach(port->fd, conf, error, error_size) != 0 ||
        read_interface(tap_of(port), conf->mtu, error, error_size) != 0)
        return -1;
    port->netif.caps = set_offload(port->fd, conf->offload);
    port->netif.gather_max = TAP_GATHER_MAX;
    port_rxslots_init(&tap_of(port)->rx, port->netif.mtu, conf->buffer_bytes_max);
    return 0;
}

static void tap_stats(struct port *port, struct port_stats *stats)
{
    port_rxslots_stats(&tap_of(port)->rx, stats);
}

static int tap_advice(const struct port *port, char *text, size_t text_size)
{
    const char *name = port->name;
    struct ifreq request = { 0 };
    int is_down, control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (control < 0)
        return 0;
    memcpy(request.ifr_name, name, IFNAMSIZ);
    is_down = ioctl(control, SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_UP) == 0;
    close(control);
    if (is_down)
        port_explain(
            text, text_size,
            "%s is down, so nothing will arrive. On the kernel's side run:\n"
            "  ip link set %s up && ip address add 10.9.0.1/24 dev %s && ip address add fd00:9::1/64 dev %s nodad",
            name, name, name, name);
    return is_down;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* @return 0: taken, or lost for good; -1: the kernel has no room now */
static int send_frame(struct tap_port *port, const struct tenon_frame *frame)
{
    struct iovec iov[1 + TAP_GATHER_MAX];
    tenon_u8 header[VNET_BYTES];
    ssize_t written;

    if (frame->nspans > TAP_GATHER_MAX) {
        port->port.stats.tx_errors++;
        return 0;
    }
    port_vnet_write(header, frame);
    iov[0].iov_base = header;
    iov[0].iov_len = VNET_BYTES;
    for (unsigned i = 0; i < frame->nspans; i++) {
        iov[1 + i].iov_base = tenon_span_data(&frame->spans[i]);
        iov[1 + i].iov_len = frame->spans[i].len;
    }
    do
        written = writev(port->port.fd, iov, 1 + (int)frame->nspans);
    while (written < 0 && errno == EINTR);
    if (written >= 0) {
        port_sent(&port->port, frame, 1);
        return 0;
    }
    if (errno == EAGAIN) {
        port->port.stats.tx_busy++;
        return -1;
    }
    if (errno == EIO)
        port->port.stats.tx_down++;
    else
        port->port.stats.tx_errors++;
    return 0;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct tap_port *port = tap_of(host);
    unsigned taken = 0;

    (void)netif;
    while (taken < n && send_frame(port, &frames[taken]) == 0)
        taken++;
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Read one frame into slot `i`.
 * @return 1: there is one; 0: nothing left to read; -1: the interface is gone; -2: one was lost */
static int read_frame(struct tap_port *port, unsigned i)
{
    tenon_u8 header[VNET_BYTES];
    struct iovec iov[3] = { { header, VNET_BYTES },
                            { port->scratch, sizeof port->scratch },
                            { port->scratch, sizeof port->scratch } };
    ssize_t got;

    (void)port_rxslots_iov(&port->rx, i, port->port.netif.caps != 0, iov + 1);
    do
        got = readv(port->port.fd, iov, 3);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) {
        port->port.stats.rx_empty++;
        return 0;
    }
    if (got < VNET_BYTES) {
        port->port.stats.rx_errors++;
        return -1;
    }
    return port_rxslots_finish(&port->rx, i, (size_t)got - VNET_BYTES, header, &port->port.stats) == 0 ? 1 : -2;
}

static int tap_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct tap_port *tap = tap_of(port);
    unsigned n = 0;
    int result = 1;

    for (unsigned i = 0; i < PORT_BURST && result != 0 && result != -1 && port_rxslots_has(&tap->rx, n); i++) {
        result = read_frame(tap, n);
        if (result == 1)
            n++;
    }
    if (n == 0)
        return result == -1 ? -1 : 0;
    port_rxslots_input(&tap->rx, port, n, stack, netif, now_us);
    return (int)n;
}

/* ---- the kind ---------------------------------------------------------------------------------- */

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    return port_bufpool_get_many(&tap_of(host)->rx.small, bufs, n);
}

static const struct tenon_host tap_host = {
    TENON_HOST_VERSION, port_mem_get, port_mem_put, host_buf_get, host_transmit, port_entropy,
};

static const struct port_setting tap_settings[] = { { NULL, 0, NULL, NULL } };

const struct port_type tap_port_type = {
    "tap",
    "INTERFACE",
    "a TAP interface, whose other end is the kernel of this machine",
    tap_settings,
    256,
    TAP_POOL_DEFAULT,
    sizeof(struct tap_port),
    tap_open,
    tap_close,
    &tap_host,
    tap_receive,
    tap_stats,
    tap_advice,
};
