/* SPDX-License-Identifier: MIT */
/* Opening: what the user wants, and the ways in which it can be had, tried one after the other. */
#define _FILE_OFFSET_BITS 64 /* the rings have large ones */

#include "xdp_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    RING_ENTRIES = 2048,
    CHUNK_SMALL = 2048,
    CHUNKS_MIN = 256,
    BUSY_TRIES = 100 /* of 5 ms: the kernel takes a moment until a closed socket has let go of its queue */
};

enum setting { SETTING_MODE, SETTING_SUMS, SETTING_SHARE };

const struct port_setting xdp_settings[] = {
    { "mode", PORT_CHOICE, "auto|zerocopy|copy|generic",
      "how frames reach our memory; auto: the first of the others that works" },
    { "sums", PORT_CHOICE, "check|trust",
      "trust: do not look at the checksums of received frames; for a veth pair" },
    { "share", PORT_NUMBER, "N",
      "one packet memory for this port and N-1 others of this process with the same setting" },
    { NULL, 0, NULL, NULL },
};

/* ---- one attempt --------------------------------------------------------------------------------------- */

static int register_memory(struct xdp_port *port, int with_metadata)
{
    const struct xdp_umem *umem = port->umem;
    struct xsk_umem_reg reg = { .addr = (uintptr_t)umem->bytes, .chunk_size = umem->chunk_bytes };

    reg.len = (uint64_t)umem->nchunks * umem->chunk_bytes;
    port->info.completes_sums = with_metadata;
    if (with_metadata) {
        reg.flags = XSK_UMEM_TX_METADATA_LEN;
        reg.tx_metadata_len = sizeof(struct xsk_tx_words);
    }
    if (setsockopt(port->port.fd, SOL_XDP, XDP_UMEM_REG, &reg, sizeof reg) == 0)
        return 0;
    return with_metadata && errno == EINVAL ? register_memory(port, 0) : -1;
}

static int map_ring(int fd, struct xdp_ring *ring, const struct xdp_ring_offset *at, size_t entry, uint64_t page)
{
    const size_t bytes = (size_t)at->desc + RING_ENTRIES * entry;
    tenon_u8 *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)page);

    if (map == MAP_FAILED)
        return -1;
    *ring = (struct xdp_ring){ (void *)(map + at->producer), (void *)(map + at->consumer), (void *)(map + at->flags),
                               map + at->desc, map, bytes, RING_ENTRIES - 1, 0, 0 };
    return 0;
}

static int make_rings(struct xdp_port *port)
{
    static const int kinds[RINGS] = { XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING };
    struct xdp_mmap_offsets at;
    socklen_t bytes = sizeof at;
    const int entries = RING_ENTRIES;

    for (unsigned i = 0; i < RINGS; i++)
        if (setsockopt(port->port.fd, SOL_XDP, kinds[i], &entries, sizeof entries) != 0)
            return -1;
    if (getsockopt(port->port.fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) != 0 ||
        map_ring(port->port.fd, &port->ring[RING_FILL], &at.fr, sizeof(uint64_t), XDP_UMEM_PGOFF_FILL_RING) !=
            0 ||
        map_ring(port->port.fd, &port->ring[RING_DONE], &at.cr, sizeof(uint64_t),
                 XDP_UMEM_PGOFF_COMPLETION_RING) != 0 ||
        map_ring(port->port.fd, &port->ring[RING_RX], &at.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING) !=
            0)
        return -1;
    return map_ring(port->port.fd, &port->ring[RING_TX], &at.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
}

static int bind_queue(const struct xdp_port *port, unsigned flags)
{
    const struct timespec moment = { 0, 5000000 };
    struct sockaddr_xdp address = { AF_XDP, (__u16)flags, (__u32)port->interface.index, port->queue, 0 };

    if (port->umem->fd >= 0) { /* the other flags follow from the first socket */
        address.sxdp_flags = XDP_SHARED_UMEM;
        address.sxdp_shared_umem_fd = (__u32)port->umem->fd;
    }
    for (int i = 0; bind(port->port.fd, (const struct sockaddr *)(const void *)&address, sizeof address) != 0; i++) {
        if (errno != EBUSY || i == BUSY_TRIES)
            return -1;
        nanosleep(&moment, NULL);
    }
    return 0;
}

/* What holds for this port, of what its memory has been made for. */
static void settle(struct xdp_port *port)
{
    const int copies = port->info.mode != XDP_MODE_ZEROCOPY;

    port->info.completes_sums &= copies || port->can.completes_sums;
    port->pieces_max = port->info.gathers ? XDP_GATHER_MAX : 1;
    if (!copies && port->can.pieces_max < port->pieces_max)
        port->pieces_max = port->can.pieces_max;
}

/* All that an instance needs, with a socket of its own for each attempt: one whose bind() has failed is of no use.
 * @return 0; -1: errno says why, and *step where */
static int attempt(struct xdp_port *port, int wants_sums, enum xdp_step *step)
{
    const enum xdp_mode mode = port->info.mode;
    const unsigned bind_flags = (mode == XDP_MODE_ZEROCOPY ? XDP_ZEROCOPY : XDP_COPY) | XDP_USE_NEED_WAKEUP;
    const int room = RING_ENTRIES * XDP_CHUNK_MAX;

    *step = XDP_STEP_ATTACH;
    if (port->umem->fd >= 0 && port->umem->info.mode != mode)
        return errno = EXDEV, -1;
    if (port->program == NULL || mode == XDP_MODE_GENERIC) {
        xdp_program_put(port->program);
        port->program = xdp_program_get(&port->interface,
                                        mode == XDP_MODE_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
    }
    if (port->program == NULL)
        return -1;
    *step = XDP_STEP_SOCKET;
    port->port.fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (port->port.fd < 0)
        return -1;
    (void)setsockopt(port->port.fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    *step = XDP_STEP_MEMORY;
    if (port->umem->fd < 0 &&
        register_memory(port, wants_sums && (mode != XDP_MODE_ZEROCOPY || port->can.completes_sums)) != 0)
        return -1;
    if (make_rings(port) != 0)
        return -1;
    *step = XDP_STEP_BIND;
    if (bind_queue(port, port->info.gathers ? bind_flags | XSK_USE_SG : bind_flags) != 0)
        return -1;
    *step = XDP_STEP_STEER;
    xdp_umem_join(port);
    settle(port);
    return xdp_program_steer(port->program, port->queue, port->port.fd);
}

static void close_socket(struct xdp_port *port)
{
    for (unsigned i = 0; i < RINGS; i++) {
        if (port->ring[i].map != NULL)
            munmap(port->ring[i].map, port->ring[i].map_bytes);
        port->ring[i].map = NULL;
    }
    close(port->port.fd);
    port->port.fd = -1;
}

/* As long as nobody asks for groups, a NIC drops what is sent to them: neighbour solicitations. */
static int hear_groups(struct xdp_port *port, char *error, size_t size)
{
    port->groups = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (port->groups >= 0 && port_interface_hear_groups(&port->interface, port->groups) == 0)
        return 0;
    return port_explain(error, size, "'%s' lets no groups pass: %s", port->interface.name, strerror(errno));
}

/* Each mode, with frames in several pieces and, if they fit into one, without.
 * @param wanted  XDP_MODES: any mode */
static int find_way(struct xdp_port *port, unsigned wanted, int wants_sums, char *error, size_t size)
{
    const int fits = port->interface.mtu + XDP_LINK_BYTES + XDP_HEADROOM <= XDP_CHUNK_MAX;
    enum xdp_step step = XDP_STEP_ATTACH;
    int why = 0;

    for (unsigned i = 0; i < 2 * XDP_MODES && step != XDP_STEP_STEER; i++) {
        if ((wanted != XDP_MODES && wanted != i / 2) || (i % 2 == 1 && (!fits || step == XDP_STEP_ATTACH)))
            continue;
        port->info.mode = (enum xdp_mode)(i / 2);
        port->info.gathers = i % 2 == 0;
        if (port->info.gathers && port->info.mode == XDP_MODE_ZEROCOPY && port->can.pieces_max == 1) {
            step = XDP_STEP_BIND; /* where a kernel says so */
            why = EOPNOTSUPP;
            continue;
        }
        if (attempt(port, wants_sums, &step) == 0)
            return hear_groups(port, error, size);
        why = errno;
        if (why == EPERM || why == EBUSY || why == EEXIST || (step != XDP_STEP_ATTACH && step != XDP_STEP_BIND))
            break; /* there is no point in another way */
        close_socket(port);
    }
    return port_explain(error, size, "%s, queue %u: %s: %s", port->interface.name, port->queue,
                        xdp_reason(step, port->info.mode, why), strerror(why));
}

/* ---- what is wanted ------------------------------------------------------------------------------------ */

static int read_queue(struct xdp_port *port, const struct port_conf *conf, char *error, size_t size)
{
    const unsigned needed = conf->queues > conf->queue ? conf->queues : conf->queue + 1;

    port->queue = conf->queue;
    port->queues_wanted = conf->queues > 1 ? conf->queues : 1;
    port->queues = port_interface_queues(conf->name, port->driver, sizeof port->driver);
    if (port->queues == 0 || needed <= port->queues)
        return 0;
    return port_explain(error, size, "'%s' has %u queue%s, counted from 0, and not %u ('ethtool -l %s')", conf->name,
                        port->queues, port->queues == 1 ? "" : "s", needed, conf->name);
}

int xdp_open(struct port *base, const struct port_conf *conf, char *error, size_t size)
{
    const unsigned share = conf->values[SETTING_SHARE] > 0 ? conf->values[SETTING_SHARE] : 1;
    const unsigned mode = conf->values[SETTING_MODE] > 0 ? conf->values[SETTING_MODE] - 1 : XDP_MODES; /* 0: "auto" */
    struct xdp_port *port = TENON_CONTAINER(base, struct xdp_port, port);
    unsigned chunk = CHUNK_SMALL;
    size_t chunks, most;

    port->groups = -1;
    if (port_interface_read(&port->interface, conf->name, conf->mtu, error, size) != 0 ||
        read_queue(port, conf, error, size) != 0)
        return -1;
    port_netdev_ask((unsigned)port->interface.index, &port->can);
    port->trusts = conf->values[SETTING_SUMS] == 1;
    port->hints = conf->settings[SETTING_SUMS] == NULL;
    if (port->interface.mtu + XDP_LINK_BYTES + XDP_HEADROOM > chunk)
        chunk = XDP_CHUNK_MAX;
    chunks = conf->buffer_bytes_max / chunk;
    port->umem = xdp_umem_get(share, chunk, chunks > CHUNKS_MIN ? (unsigned)chunks : CHUNKS_MIN);
    if (port->umem == NULL)
        return port_explain(error, size, "out of memory");
    if (find_way(port, mode, conf->offload, error, size) != 0)
        return -1;
    most = (port->pieces_max - 1) * (XDP_CHUNK_MAX - XDP_TX_ROOM); /* behind the headers */
    memcpy(base->netif.mac, port->interface.mac, sizeof base->netif.mac);
    base->netif.mtu = (tenon_u16)(port->pieces_max == 1 || port->interface.mtu < most ? port->interface.mtu : most);
    base->netif.caps = port->info.completes_sums ? TENON_CAP_TX_CSUM : 0;
    base->netif.gather_max = (tenon_u16)port->pieces_max;
    return 0;
}

void xdp_close(struct port *base)
{
    struct xdp_port *port = TENON_CONTAINER(base, struct xdp_port, port);

    xdp_umem_put(port);
    close_socket(port);
    close(port->groups);
    xdp_program_put(port->program);
}
