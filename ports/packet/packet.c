/* SPDX-License-Identifier: MIT */
/* Linux packet sockets. Frames cross with a virtio-net header before them (common/vnet.h).
 *
 * Receive memory. A ring that is shared with the kernel is used in turn, block after block: who keeps a byte of one
 * keeps the kernel from going on, and an application may keep what it likes. So frames are copied out of the ring into
 * buffers of ours, and a block goes back as soon as its last frame has been copied.
 *
 * Descriptors. A link that goes down and comes up is nothing that has to be done about; that an interface has been
 * removed is told by rtnetlink only, if it was down before. A member of a fanout group has a second socket, for what
 * all of them have to know. An epoll descriptor joins them to one for poll(). */
#include "packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>

#include <tenon/flow.h>

#include "../common/interface.h"
#include "../common/rxslots.h"
#include "../common/steer.h"
#include "packet_filter.h"

enum {
    PACKET_GATHER_MAX = 64,
    PACKET_POOL_DEFAULT = 256 << 20,
    PACKET_SOCKET_BYTES = 8 << 20, /* on the way in either direction */
    PACKET_FULL_US = 10000, /* how long a frame waits for a queue that is full */
    PACKET_HEADER_BYTES = 10, /* of virtio-net without the count of merged buffers: every kernel has that */
    PACKET_SET_HEADER_BYTES = 24, /* PACKET_VNET_HDR_SZ: Linux 6.4 and its headers */
    FLOW_TABLE = 128, /* as most drivers have */
    RING_BLOCK = 256 << 10, /* three super-frames, or 160 frames of 1500 bytes */
    RING_BLOCKS = 64,
    RING_FRAME = 2048, /* in a ring of version 3 it says nothing, but has to divide a block */
    RING_RETIRE_MS = 1 /* a block that is not full is handed over after one or two of these */
};

enum { SET_RECEIVE, SET_MAC, SET_FANOUT };

enum found { NOTHING, TAKEN, LOST };

struct packet_port {
    struct port port;
    int fd, all, links; /* frames of ours; those for all members, or -1; news of links; port.fd joins them */
    int waiting, full; /* for room to send; the interface's own queue is full ... */
    tenon_u32 full_us; /* ... since then */
    int offload, own_mac;
    struct interface interface;
    tenon_u8 *ring; /* NULL: there is none */
    unsigned ring_at, ring_left; /* the block that is read, and how many frames of it are left */
    struct tpacket3_hdr *ring_next; /* the first of those */
    struct rxslots rx;
};

static struct packet_port *packet_of(struct port *port)
{
    return TENON_CONTAINER(port, struct packet_port, port);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* An option of packet sockets that is a number. */
static int set(int fd, int option, int value)
{
    return setsockopt(fd, SOL_PACKET, option, &value, sizeof value);
}

static int open_socket(char *error, size_t size)
{
    const int bytes = PACKET_SOCKET_BYTES;
    const int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0 && (errno == EPERM || errno == EACCES))
        return port_explain(error, size, "not permitted to use packet sockets: run as root, or give the program the "
                                         "right once as root: 'setcap cap_net_raw+ep PROGRAM'");
    if (fd < 0)
        return port_explain(error, size, "cannot make a packet socket: %s ('modprobe af_packet', perhaps)",
                            strerror(errno));
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

/* Give a socket the interface and the header before each frame; it receives nothing yet. A kernel in which the header's
 * length can be set knows UDP segmentation too, which is two versions older. */
static int bind_socket(struct packet_port *port, int fd, char *error, size_t size)
{
    const struct sockaddr_ll address = { .sll_family = AF_PACKET,
                                         .sll_protocol = htons(ETH_P_ALL),
                                         .sll_ifindex = port->interface.index };
    const int has_uso = set(fd, PACKET_SET_HEADER_BYTES, PACKET_HEADER_BYTES) == 0;

    if (port->offload)
        port->port.netif.caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | (has_uso ? TENON_CAP_USO : 0);
    if (set(fd, PACKET_IGNORE_OUTGOING, 1) != 0 || (!has_uso && set(fd, PACKET_VNET_HDR, 1) != 0))
        return port_explain(error, size, "the kernel is too old (Linux 4.20 or later is needed): %s", strerror(errno));
    if (packet_filter(fd, port->port.netif.mac, PACKET_NO_FRAMES) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        return port_explain(error, size, "cannot receive from interface '%s': %s", port->interface.name,
                            strerror(errno));
    return 0;
}

static int make_ring(struct packet_port *port, char *error, size_t size)
{
    const struct tpacket_req3 wanted = { RING_BLOCK, RING_BLOCKS, RING_FRAME, RING_BLOCKS * (RING_BLOCK / RING_FRAME),
                                         RING_RETIRE_MS, 0, 0 };
    void *ring = MAP_FAILED;

    if (set(port->fd, PACKET_VERSION, TPACKET_V3) == 0 &&
        setsockopt(port->fd, SOL_PACKET, PACKET_RX_RING, &wanted, sizeof wanted) == 0)
        ring = mmap(NULL, (size_t)RING_BLOCK * RING_BLOCKS, PROT_READ | PROT_WRITE, MAP_SHARED, port->fd, 0);
    if (ring == MAP_FAILED)
        return port_explain(error, size,
                            "cannot make a ring of %d MB for received frames: %s (receive=read needs none)",
                            RING_BLOCK / 1024 * RING_BLOCKS / 1024, strerror(errno));
    port->ring = ring;
    return 0;
}

/* Let the interface take frames to our address and to all groups. A NIC that knows only one address becomes
 * promiscuous: the kernel sees to that, and undoes all of it when the socket is closed. */
static int join_groups(const struct packet_port *port, char *error, size_t size)
{
    struct packet_mreq ours = { .mr_ifindex = port->interface.index, .mr_type = PACKET_MR_UNICAST, .mr_alen = 6 };

    memcpy(ours.mr_address, port->port.netif.mac, 6);
    if (setsockopt(port->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &ours, sizeof ours) == 0 &&
        port_interface_hear_groups(&port->interface, port->fd) == 0)
        return 0;
    return port_explain(error, size, "'%s' takes no second address (%s): mac=interface uses the one that it has",
                        port->interface.name, strerror(errno));
}

int packet_steer(struct port *port, const tenon_u8 *key, unsigned entries, unsigned queues)
{
    int status, fd = steer_program(key, entries, queues);

    if (fd < 0)
        return -1;
    status = set(packet_of(port)->fd, PACKET_FANOUT_DATA, fd);
    close(fd); /* the group has it now */
    return status;
}

/* The group's number is made of the interface's: all members find it, and those of another interface do not. */
static int join_fanout(struct packet_port *port, const struct port_conf *conf, char *error, size_t size)
{
    static const unsigned modes[] = { PACKET_FANOUT_HASH, PACKET_FANOUT_EBPF, PACKET_FANOUT_CPU, PACKET_FANOUT_QM,
                                      PACKET_FANOUT_LB };
    const unsigned mode = conf->values[SET_FANOUT];
    uint32_t args[2] = { 0, conf->queues }; /* struct fanout_args; the number is of Linux 5.11 */

    if (conf->queues < 2)
        return 0;
    args[0] = (((unsigned)port->interface.index * 40503u + 0x7E40u) & 0xFFFF) |
              (modes[mode] | PACKET_FANOUT_FLAG_DEFRAG) << 16;
    if (setsockopt(port->fd, SOL_PACKET, PACKET_FANOUT, args, sizeof args) != 0 &&
        (errno != EINVAL || setsockopt(port->fd, SOL_PACKET, PACKET_FANOUT, args, sizeof args[0]) != 0))
        return port_explain(error, size,
                            errno == ENOSPC ? "all queues of '%s' are in use, this would be number %u of %u"
                                            : "cannot share '%s' as queue %u of %u: all have to say the same "
                                              "queues= and fanout=, and the interface has to be up",
                            port->interface.name, conf->queue, conf->queues);
    if (modes[mode] == PACKET_FANOUT_EBPF &&
        packet_steer(&port->port, tenon_flow_key_microsoft, FLOW_TABLE, conf->queues) != 0)
        return port_explain(error, size, "fanout=flow: the kernel does not take our program: %s (it needs root)",
                            strerror(errno));
    return 0;
}

static int watch(struct packet_port *port, char *error, size_t size)
{
    const struct sockaddr_nl links = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK };
    int ok;

    port->links = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
    port->port.fd = epoll_create1(EPOLL_CLOEXEC);
    ok = port->links >= 0 && port->port.fd >= 0 && bind(port->links, (const void *)&links, sizeof links) == 0;
    for (int i = 0; i < 3; i++) {
        const int fd = i == 0 ? port->fd : i == 1 ? port->links : port->all;
        struct epoll_event event = { .events = EPOLLIN, .data = { .fd = fd } };

        ok = ok && (fd < 0 || epoll_ctl(port->port.fd, EPOLL_CTL_ADD, fd, &event) == 0);
    }
    return ok ? 0 : port_explain(error, size, "cannot wait for frames: %s", strerror(errno));
}

static int open_all(struct packet_port *port, const struct port_conf *conf, char *error, size_t size)
{
    const int shared = conf->queues > 1;

    if (port_interface_read(&port->interface, conf->name, conf->mtu, error, size) != 0)
        return -1;
    port->own_mac = conf->values[SET_MAC] == 0;
    memcpy(port->port.netif.mac, port->interface.mac, 6);
    if (port->own_mac)
        port_derive_mac(port->port.netif.mac, port->interface.name, port->interface.mac);
    if ((port->fd = open_socket(error, size)) < 0 || bind_socket(port, port->fd, error, size) != 0 ||
        (conf->values[SET_RECEIVE] == 1 && make_ring(port, error, size) != 0))
        return -1;
    if (shared && ((port->all = open_socket(error, size)) < 0 || bind_socket(port, port->all, error, size) != 0))
        return -1;
    if (join_groups(port, error, size) != 0 || join_fanout(port, conf, error, size) != 0 ||
        watch(port, error, size) != 0)
        return -1;
    if (packet_filter(port->fd, port->port.netif.mac,
                      shared ? PACKET_OF_FLOWS : PACKET_OF_FLOWS | PACKET_FOR_ALL) == 0 &&
        (!shared || packet_filter(port->all, port->port.netif.mac, PACKET_FOR_ALL) == 0))
        return 0;
    return port_explain(error, size, "cannot say which frames are ours: %s", strerror(errno));
}

static void packet_close(struct port *port)
{
    struct packet_port *packet = packet_of(port);
    const int fds[] = { packet->fd, packet->all, packet->links, port->fd };

    if (packet->ring != NULL)
        munmap(packet->ring, (size_t)RING_BLOCK * RING_BLOCKS);
    for (unsigned i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    port_rxslots_fini(&packet->rx);
}

static int packet_open(struct port *port, const struct port_conf *conf, char *error, size_t error_size)
{
    struct packet_port *packet = packet_of(port);

    packet->fd = packet->all = packet->links = -1;
    packet->offload = conf->offload;
    if (open_all(packet, conf, error, error_size) != 0)
        return -1;
    port->netif.mtu = (tenon_u16)packet->interface.mtu;
    port->netif.gather_max = PACKET_GATHER_MAX;
    port_rxslots_init(&packet->rx, packet->interface.mtu, conf->buffer_bytes_max);
    return 0;
}

/* ---- what is asked about it ---------------------------------------------------------------------- */

/* The kernel counts from the last question. */
static void packet_stats(struct port *port, struct port_stats *stats)
{
    const struct packet_port *packet = packet_of(port);
    const int fds[] = { packet->fd, packet->all };

    for (unsigned i = 0; i < 2; i++) {
        union tpacket_stats_u lost;
        socklen_t bytes = sizeof lost;

        if (fds[i] >= 0 && getsockopt(fds[i], SOL_PACKET, PACKET_STATISTICS, &lost, &bytes) == 0)
            port->stats.rx_missed += lost.stats1.tp_drops;
    }
    stats->rx_missed = port->stats.rx_missed;
    port_rxslots_stats(&packet->rx, stats);
}

static int packet_advice(const struct port *port, char *text, size_t text_size)
{
    const struct packet_port *packet = (const void *)port;

    return port_interface_advice(&packet->interface, packet->own_mac, text, text_size);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Ask to be woken when there is room, or no longer. */
static void wait_for_room(struct packet_port *port, int wait)
{
    struct epoll_event event = { .events = wait ? EPOLLIN | EPOLLOUT : EPOLLIN, .data = { .fd = port->fd } };

    if (port->waiting != wait)
        epoll_ctl(port->port.fd, EPOLL_CTL_MOD, port->fd, &event);
    port->waiting = wait;
}

/* The interface's own queue is full; but a rule before it (tc, nftables) that never lets a frame pass says so with the
 * same words, and what is behind that frame must not wait for ever.
 * @return 1: it is of no use to wait any longer */
static int is_full_for_long(struct packet_port *port)
{
    const tenon_u32 now_us = port_now_us();

    if (!port->full)
        port->full_us = now_us;
    port->full = 1;
    return now_us - port->full_us >= PACKET_FULL_US;
}

/* @return 0: taken, or lost for good; -1: the kernel has no room now */
static int send_frame(struct packet_port *port, const struct tenon_frame *frame)
{
    tenon_u8 header[VNET_BYTES];
    struct iovec iov[1 + PACKET_GATHER_MAX] = { { header, PACKET_HEADER_BYTES } };
    const struct msghdr message = { .msg_iov = iov, .msg_iovlen = 1 + (size_t)frame->nspans };
    ssize_t sent = -1;

    errno = EMSGSIZE;
    if (frame->nspans <= PACKET_GATHER_MAX) {
        port_vnet_write(header, frame);
        port_vnet_reorder(header);
        for (unsigned i = 0; i < frame->nspans; i++)
            iov[1 + i] = (struct iovec){ tenon_span_data(&frame->spans[i]), frame->spans[i].len };
        do
            sent = sendmsg(port->fd, &message, MSG_DONTWAIT);
        while (sent < 0 && errno == EINTR);
    }
    if (sent >= 0) {
        port->full = 0;
        port_sent(&port->port, frame, 1);
        return 0;
    }
    if (errno == EAGAIN || (errno == ENOBUFS && !is_full_for_long(port))) {
        port->port.stats.tx_busy++;
        wait_for_room(port, errno == EAGAIN); /* that the interface's own queue is full (ENOBUFS) nobody tells */
        return -1;
    }
    if (errno == ENETDOWN || errno == ENXIO)
        port->port.stats.tx_down++;
    else
        port->port.stats.tx_errors++;
    return 0;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct packet_port *port = packet_of(host);
    unsigned taken = 0;

    (void)netif;
    while (taken < n && send_frame(port, &frames[taken]) == 0)
        taken++;
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Frame `i` lies in its buffers, as far as it has any. */
static enum found finish_frame(struct packet_port *port, unsigned i, tenon_u8 header[VNET_BYTES], size_t bytes)
{
    port_vnet_reorder(header);
    if (port_rxslots_finish(&port->rx, i, bytes, header, &port->port.stats) != 0)
        return LOST;
    /* Without offload the NIC's word does not count. That of another kernel of this machine has to: it has not made
     * the sum (NEEDS_CSUM, 1), nor cut its segments. */
    if (!port->offload && (header[0] & 1) == 0)
        port->rx.frames[i].csum = TENON_CSUM_NONE;
    return TAKEN;
}

static enum found read_frame(struct packet_port *port, int fd, unsigned i)
{
    tenon_u8 header[VNET_BYTES] = { 0 };
    struct iovec iov[3] = { { header, PACKET_HEADER_BYTES } };
    struct msghdr message = { .msg_iov = iov, .msg_iovlen = 1 + port_rxslots_iov(&port->rx, i, 1, iov + 1) };
    ssize_t got;

    do
        got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);
    while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == ENETDOWN))
        return NOTHING;
    if (got < PACKET_HEADER_BYTES) {
        port->port.stats.rx_errors++;
        return LOST;
    }
    return finish_frame(port, i, header, (size_t)got - PACKET_HEADER_BYTES);
}

/* Copy the ring's next frame; the block of which it is the last goes back. */
static enum found copy_frame(struct packet_port *port, unsigned i)
{
    struct tpacket_block_desc *block = (void *)(port->ring + (size_t)port->ring_at * RING_BLOCK);
    struct tpacket_hdr_v1 *head = &block->hdr.bh1;
    const struct tpacket3_hdr *frame;
    tenon_u8 header[VNET_BYTES] = { 0 };
    const tenon_u8 *bytes;
    enum found found = LOST;
    size_t n;

    if (port->ring_left == 0) {
        if ((__atomic_load_n(&head->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
            return NOTHING;
        port->ring_left = head->num_pkts;
        port->ring_next = (void *)((tenon_u8 *)block + head->offset_to_first_pkt);
    }
    frame = port->ring_next;
    bytes = (const tenon_u8 *)frame + frame->tp_mac;
    n = frame->tp_snaplen == frame->tp_len ? frame->tp_len : SIZE_MAX; /* of which part is missing */
    if ((frame->tp_status & TP_STATUS_USER) != 0) { /* or the kernel has dropped it, and an older one lies there */
        memcpy(header, bytes - PACKET_HEADER_BYTES, PACKET_HEADER_BYTES);
        port_rxslots_copy(&port->rx, i, bytes, n);
        found = finish_frame(port, i, header, n);
    }
    port->ring_next = (void *)((tenon_u8 *)port->ring_next + frame->tp_next_offset);
    if (--port->ring_left == 0) {
        __atomic_store_n(&head->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        port->ring_at = (port->ring_at + 1) % RING_BLOCKS;
    }
    return found;
}

/* No frame, so perhaps something else has happened. A link that goes down leaves an error at its sockets, which is of
 * no use but has to be taken. @return 0; -1: the interface is gone */
static int look_around(struct packet_port *port)
{
    struct epoll_event events[3];
    struct sockaddr_ll address = { 0 };
    socklen_t bytes = sizeof address;
    const int n = epoll_wait(port->port.fd, events, 3, 0);
    tenon_u8 news[4096];

    port->port.stats.rx_empty++;
    for (int i = 0; i < n; i++) {
        int error, fd = events[i].data.fd;
        socklen_t size = sizeof error;

        if ((events[i].events & EPOLLERR) != 0)
            (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        if ((events[i].events & EPOLLOUT) != 0)
            wait_for_room(port, 0);
        while (fd == port->links && recv(fd, news, sizeof news, 0) > 0)
            ;
    }
    if (n <= 0 || getsockname(port->fd, (struct sockaddr *)&address, &bytes) != 0)
        return 0;
    return address.sll_ifindex == port->interface.index ? 0 : -1;
}

static int packet_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct packet_port *packet = packet_of(port);
    enum found found = TAKEN;
    unsigned n = 0;

    if (packet->all >= 0 && read_frame(packet, packet->all, 0) == TAKEN)
        n++;
    for (unsigned i = n; i < PORT_BURST && found != NOTHING && port_rxslots_has(&packet->rx, n); i++) {
        found = packet->ring != NULL ? copy_frame(packet, n) : read_frame(packet, packet->fd, n);
        if (found == TAKEN)
            n++;
    }
    if (n == 0)
        return look_around(packet);
    port_rxslots_input(&packet->rx, port, n, stack, netif, now_us);
    return (int)n;
}

/* ---- the kind ---------------------------------------------------------------------------------- */

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    return port_bufpool_get_many(&packet_of(host)->rx.small, bufs, n);
}

static const struct tenon_host packet_host = {
    TENON_HOST_VERSION, port_mem_get, port_mem_put, host_buf_get, host_transmit, port_entropy,
};

static const struct port_setting packet_settings[] = {
    { "receive", PORT_CHOICE, "read|ring", "each frame by a system call; or many from shared memory, up to 2 ms late" },
    { "mac", PORT_CHOICE, "own|interface",
      "our Ethernet address: one of our own; or the interface's, which its kernel uses too" },
    { "fanout", PORT_CHOICE, "hash|flow|cpu|queue|lb",
      "which queue gets a frame: by a hash; by the hash of NICs (root); by the processor that has it; by the NIC's "
      "queue; each in turn (not for TCP)" },
    { NULL, 0, NULL, NULL }
};

const struct port_type packet_port_type = {
    "packet",
    "INTERFACE",
    "an Ethernet interface of this machine, shared with its kernel",
    packet_settings,
    256,
    PACKET_POOL_DEFAULT,
    sizeof(struct packet_port),
    packet_open,
    packet_close,
    &packet_host,
    packet_receive,
    packet_stats,
    packet_advice,
};
