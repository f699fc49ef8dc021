/* SPDX-License-Identifier: MIT */
/* Frames in datagrams, many for one system call. An epoll descriptor joins the two sockets to one for poll().
 *
 * A Unix socket has room for 10 datagrams (net.unix.max_dgram_qlen), fewer than the fragments of one. So what
 * the kernel does not take at once is held in a queue such as a NIC has, with references on the buffers. */
#include "dgram.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <linux/sock_diag.h>

#include "../common/rxslots.h"
#include "dgram_socket.h"

enum {
    DGRAM_GATHER_MAX = 16,
    DGRAM_HELD_MAX = 256,
    DGRAM_POOL_DEFAULT = 64 << 20,
    DGRAM_MTU = 1500,
    DGRAM_UDP_BYTES = 65507, /* that IPv4 carries in one datagram of UDP */
    DGRAM_LINK_BYTES = 18 /* link header with a tag */
};

enum { SET_PEER, SET_VNET };

struct dgram_port {
    struct port port;
    struct dgram_socket socket;
    int waiting; /* for room to send */
    unsigned header_bytes; /* before each frame: 0 or VNET_BYTES */
    char peer[PORT_TEXT_MAX];
    struct tenon_frame held[DGRAM_HELD_MAX]; /* from held_at to held_end: those that wait for room */
    struct tenon_span held_spans[DGRAM_HELD_MAX][DGRAM_GATHER_MAX];
    unsigned held_at, held_end;
    struct rxslots rx;
};

static struct dgram_port *dgram_of(struct port *port)
{
    return TENON_CONTAINER(port, struct dgram_port, port);
}

static int is_udp(const struct dgram_port *port)
{
    return port->socket.own.any.sa_family != AF_UNIX;
}

/* ---- opening --------------------------------------------------------------------------------- */

static int read_mtu(struct dgram_port *port, unsigned mtu, char *error, size_t size)
{
    const unsigned most = is_udp(port) ? DGRAM_UDP_BYTES - DGRAM_LINK_BYTES - VNET_BYTES : 65535;

    mtu = mtu > 0 ? mtu : DGRAM_MTU;
    if (mtu < 576 || mtu > most)
        return port_explain(error, size, "mtu=%u is not possible: a datagram carries 576 to %u here", mtu, most);
    port->port.netif.mtu = (tenon_u16)mtu;
    return 0;
}

static int read_ends(struct dgram_port *port, const struct port_conf *conf, char *error, size_t size)
{
    struct dgram_socket *socket = &port->socket;

    if (conf->settings[SET_PEER] == NULL)
        return port_explain(error, size, "where is the other end? write dgram:%s,peer=NAME, and there the same the "
                                         "other way round",
                            conf->name);
    snprintf(port->peer, sizeof port->peer, "%s", conf->settings[SET_PEER]);
    if (dgram_read(&socket->own, conf->name, error, size) != 0 ||
        dgram_read(&socket->peer, port->peer, error, size) != 0)
        return -1;
    if (socket->own.any.sa_family != socket->peer.any.sa_family)
        return port_explain(error, size, "'%s' and peer=%s have to be both of IPv4, both of IPv6 or both paths",
                            port->port.name, port->peer);
    if (strcmp(port->port.name, port->peer) == 0)
        return port_explain(error, size, "peer=%s is this end itself: the other one needs another name", port->peer);
    return 0;
}

/* Two machines may well give their ends the same name, but not with the same peer. */
static void make_mac(struct dgram_port *port)
{
    static const tenon_u8 nobodys[6];
    char both[2 * PORT_TEXT_MAX];

    snprintf(both, sizeof both, "%s,%s", port->port.name, port->peer);
    port_derive_mac(port->port.netif.mac, both, nobodys);
}

static int port_dgram_open(struct port *base, const struct port_conf *conf, char *error, size_t size)
{
    struct dgram_port *port = dgram_of(base);
    struct tenon_netif_conf *netif = &base->netif;
    const int vnet = conf->values[SET_VNET] == 1;
    struct epoll_event event = { .events = EPOLLIN };

    port->socket.in = port->socket.out = -1;
    if (read_ends(port, conf, error, size) != 0 || read_mtu(port, conf->mtu, error, size) != 0)
        return -1;
    make_mac(port);
    port->header_bytes = vnet ? VNET_BYTES : 0;
    if (vnet && conf->offload)
        netif->caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO;
    netif->tso_bytes_max = is_udp(port) ? DGRAM_UDP_BYTES - VNET_BYTES : 65535;
    netif->gather_max = DGRAM_GATHER_MAX;
    if (dgram_open(&port->socket, base->name, error, size) != 0)
        return -1;
    port_rxslots_init(&port->rx, netif->mtu, conf->buffer_bytes_max);
    base->fd = epoll_create1(EPOLL_CLOEXEC);
    if (base->fd >= 0 && epoll_ctl(base->fd, EPOLL_CTL_ADD, port->socket.in, &event) == 0)
        return 0;
    return port_explain(error, size, "cannot wait for frames: %s", strerror(errno));
}

static void let_go(struct dgram_port *port, unsigned n)
{
    for (; n > 0; n--, port->held_at++)
        for (unsigned k = 0; k < port->held[port->held_at].nspans; k++)
            tenon_buf_put(port->held_spans[port->held_at][k].buf);
    if (port->held_at == port->held_end)
        port->held_at = port->held_end = 0;
}

static void port_dgram_close(struct port *port)
{
    struct dgram_port *dgram = dgram_of(port);

    let_go(dgram, dgram->held_end - dgram->held_at);
    dgram_close(&dgram->socket);
    if (port->fd >= 0)
        close(port->fd);
    port_rxslots_fini(&dgram->rx);
}

/* ---- what is asked about it ---------------------------------------------------------------------- */

static void dgram_stats(struct port *port, struct port_stats *stats)
{
    const struct dgram_port *dgram = dgram_of(port);
    uint32_t memory[SK_MEMINFO_VARS] = { 0 };
    socklen_t bytes = sizeof memory;

    port_rxslots_stats(&dgram->rx, stats);
    if (getsockopt(dgram->socket.in, SOL_SOCKET, SO_MEMINFO, memory, &bytes) == 0)
        stats->rx_missed = memory[SK_MEMINFO_DROPS];
}

static int dgram_advice(const struct port *port, char *text, size_t text_size)
{
    const struct dgram_port *dgram = (const void *)port;

    if (dgram_join(&dgram->socket) == 0)
        return 0;
    port_explain(text, text_size, "nobody is at %s yet (%s): the other end is started with peer=%s", dgram->peer,
                 strerror(errno), port->name);
    return 1;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Ask to be woken when there is room, or no longer. */
static void wait_for_room(struct dgram_port *port, int wait)
{
    struct epoll_event event = { .events = EPOLLOUT };

    if (port->waiting != wait)
        epoll_ctl(port->port.fd, wait ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, port->socket.out, &event);
    port->waiting = wait;
}

/* @return how many the kernel has taken; -1: errno says why it has not taken the first */
static int send_some(const struct dgram_port *port, const struct tenon_frame *frames, unsigned n)
{
    struct iovec iov[PORT_BURST][1 + DGRAM_GATHER_MAX];
    tenon_u8 headers[PORT_BURST][VNET_BYTES];
    struct mmsghdr messages[PORT_BURST];
    int sent;

    for (unsigned i = 0; i < n; i++) {
        port_vnet_write(headers[i], &frames[i]);
        iov[i][0] = (struct iovec){ headers[i], port->header_bytes };
        for (unsigned k = 0; k < frames[i].nspans; k++)
            iov[i][1 + k] = (struct iovec){ tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len };
        messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = iov[i], .msg_iovlen = 1 + (size_t)frames[i].nspans } };
    }
    do
        sent = sendmmsg(port->socket.out, messages, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent;
}

/* The first of these frames cannot be sent. Over UDP it is an earlier one that has met nobody, and only now is it told.
 * @return how many frames are done with; -1: none, there is no room now */
static int send_failed(struct dgram_port *port, unsigned n)
{
    switch (errno) {
    case EAGAIN:
    case ENOBUFS:
        return -1;
    case ECONNREFUSED:
    case ENOTCONN:
        if (is_udp(port) || dgram_join(&port->socket) != 0) {
            port->port.stats.tx_down += is_udp(port) ? 1 : n;
            return is_udp(port) ? 0 : (int)n;
        }
        return 0;
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTUNREACH:
        port->port.stats.tx_down++;
        return 1;
    default:
        port->port.stats.tx_errors++;
        return 1;
    }
}

/* @return how many frames are done with; fewer than n: there is no room now */
static unsigned send_all(struct dgram_port *port, const struct tenon_frame *frames, unsigned n)
{
    unsigned sent = 0;
    int done = 0;

    while (sent < n && done >= 0) {
        const unsigned some = n - sent < PORT_BURST ? n - sent : PORT_BURST;

        done = send_some(port, frames + sent, some);
        if (done > 0)
            port_sent(&port->port, frames + sent, (unsigned)done);
        else
            done = send_failed(port, some);
        sent += done > 0 ? (unsigned)done : 0;
    }
    return sent;
}

static void send_held(struct dgram_port *port)
{
    let_go(port, send_all(port, port->held + port->held_at, port->held_end - port->held_at));
    wait_for_room(port, port->held_end > 0);
}

/* @return how many there is a place for */
static unsigned hold(struct dgram_port *port, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    for (i = 0; i < n && port->held_end < DGRAM_HELD_MAX; i++, port->held_end++) {
        struct tenon_span *spans = port->held_spans[port->held_end];

        memcpy(spans, frames[i].spans, frames[i].nspans * sizeof *spans);
        port->held[port->held_end] = frames[i];
        port->held[port->held_end].spans = spans;
        for (unsigned k = 0; k < frames[i].nspans; k++)
            tenon_buf_ref(spans[k].buf);
    }
    wait_for_room(port, port->held_end > 0);
    return i;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct dgram_port *port = dgram_of(host);
    unsigned taken = 0;

    (void)netif;
    if (port->held_end > 0)
        send_held(port);
    if (port->held_end == 0)
        taken = send_all(port, frames, n);
    taken += hold(port, frames + taken, n - taken);
    port->port.stats.tx_busy += n - taken;
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* What was received into slot `from` goes into slot `to`, which is the same or one whose frame was lost. */
static void move_slot(struct rxslots *rx, unsigned to, unsigned from)
{
    struct tenon_buf *const first = rx->first[to], *const rest = rx->rest[to];

    rx->first[to] = rx->first[from];
    rx->rest[to] = rx->rest[from];
    rx->first[from] = first;
    rx->rest[from] = rest;
}

/* A datagram of so many bytes is in slot `i`, behind its header. @return 0; -1: it is lost */
static int finish_frame(struct dgram_port *port, unsigned i, const tenon_u8 header[VNET_BYTES], size_t bytes)
{
    const size_t most = port->rx.small.buf_bytes + (port->header_bytes > 0 ? RXSLOTS_LARGE : 0);

    if (bytes > port->header_bytes && bytes - port->header_bytes <= most)
        return port_rxslots_finish(&port->rx, i, bytes - port->header_bytes, header, &port->port.stats);
    port->port.stats.rx_bad++;
    return -1;
}

static unsigned receive_some(struct dgram_port *port)
{
    tenon_u8 headers[PORT_BURST][VNET_BYTES] = { { 0 } };
    struct mmsghdr messages[PORT_BURST];
    struct iovec iov[PORT_BURST][3];
    unsigned n = 0, places;
    int got;

    for (places = 0; places < PORT_BURST && port_rxslots_has(&port->rx, places); places++) {
        struct iovec *const pieces = iov[places];
        struct msghdr message = { .msg_iov = pieces };

        pieces[0] = (struct iovec){ headers[places], port->header_bytes };
        message.msg_iovlen = 1 + port_rxslots_iov(&port->rx, places, port->header_bytes > 0, pieces + 1);
        messages[places] = (struct mmsghdr){ .msg_hdr = message };
    }
    do
        got = recvmmsg(port->socket.in, messages, places, MSG_DONTWAIT | MSG_TRUNC, NULL);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == ECONNREFUSED)
        port->port.stats.tx_down++; /* a frame of ours has met nobody */
    else if (got < 0 && errno != EAGAIN)
        port->port.stats.rx_errors++;
    for (int i = 0; i < got; i++) {
        move_slot(&port->rx, n, (unsigned)i);
        if (finish_frame(port, n, headers[i], messages[i].msg_len) == 0)
            n++;
    }
    return n;
}

static int dgram_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct dgram_port *dgram = dgram_of(port);
    const unsigned n = receive_some(dgram);

    if (dgram->held_end > 0)
        send_held(dgram);
    if (n == 0) {
        port->stats.rx_empty++;
        return 0;
    }
    port_rxslots_input(&dgram->rx, port, n, stack, netif, now_us);
    return (int)n;
}

/* ---- the kind ---------------------------------------------------------------------------------- */

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    return port_bufpool_get_many(&dgram_of(host)->rx.small, bufs, n);
}

static const struct tenon_host dgram_host = {
    TENON_HOST_VERSION, port_mem_get, port_mem_put, host_buf_get, host_transmit, port_entropy,
};

static const struct port_setting dgram_settings[] = {
    { "peer", PORT_WORDS, "ADDRESS:PORT|PATH", "the other end" },
    { "vnet", PORT_CHOICE, "off|on",
      "a virtio-net header before each frame, so that it may be large and without a checksum; the peer "
      "has to say the same" },
    { NULL, 0, NULL, NULL }
};

const struct port_type dgram_port_type = {
    "dgram",
    "ADDRESS:PORT|PATH",
    "an Ethernet cable to another process, in datagrams: UDP or Unix sockets",
    dgram_settings,
    1,
    DGRAM_POOL_DEFAULT,
    sizeof(struct dgram_port),
    port_dgram_open,
    port_dgram_close,
    &dgram_host,
    dgram_receive,
    dgram_stats,
    dgram_advice,
};
