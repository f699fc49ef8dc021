/* SPDX-License-Identifier: MIT */
/* Packet memory: one piece that the kernel knows (the UMEM), cut into chunks, with a struct tenon_buf for each in an
 * array beside it. From an address in the UMEM to its buffer, and back, is arithmetic.
 *
 * Who gets how many. A chunk that is given up goes to the fill ring first, so that receiving goes on, and only then to
 * the list from which headers come. But who keeps what it has received must not make us mute: of a port's chunks no
 * more than rx_out_max are in the fill ring and with receivers together, the others are for sending always. And what
 * the fill ring has, sending never gets. When it has few, because so much is kept, no more of it may be: in those the
 * acknowledgements come that let the others go (docs/decisions/0009-the-last-buffer-is-nobodys.md).
 *
 * Several ports of one process may share a UMEM, each with a part of it for its own: then one can send what another has
 * received without a copy. */
#include "xdp_internal.h"

#include <stdlib.h>
#include <sys/mman.h>

static struct xdp_umem *joinable; /* the last that was made for several, while its first port is open */

/* It goes back to the kernel now and not at the next receive(): when the kernel has none, nothing is received. */
static void chunk_release(struct tenon_buf *buf)
{
    struct xdp_chunk *chunk = TENON_CONTAINER(buf, struct xdp_chunk, buf);
    struct xdp_port *port = chunk->home;

    if (port == NULL)
        return;
    port->rx_out -= chunk->received != 0;
    port->kept -= chunk->received != 0;
    chunk->received = 0;
    chunk->next = port->free;
    port->free = chunk;
    xdp_refill(port);
}

/* Chunks to the kernel, as many as it may have. */
void xdp_refill(struct xdp_port *port)
{
    struct xdp_ring *fill = &port->ring[RING_FILL];
    uint64_t *entries = fill->entries;
    struct xdp_chunk *chunk;

    while ((chunk = port->free) != NULL && port->rx_out < port->rx_out_max && xdp_ring_room(fill, 1) > 0) {
        port->free = chunk->next;
        port->rx_out++;
        chunk->received = 1;
        entries[fill->ours++ & fill->mask] = xdp_address(port->umem, chunk->buf.data) - XDP_TX_ROOM;
        xdp_ring_publish(fill, fill->producer);
    }
}

/* Make one for `ports` ports, of `nchunks` each; or one of this process that was made for as many.
 * @return NULL: no memory */
struct xdp_umem *xdp_umem_get(unsigned ports, unsigned chunk_bytes, unsigned nchunks)
{
    struct xdp_umem *umem = joinable;
    const size_t n = (size_t)nchunks * ports;
    tenon_u8 *bytes;

    if (ports > 1 && umem != NULL && umem->ports_max == ports && umem->ports_joined < ports && umem->nchunks == n &&
        umem->chunk_bytes == chunk_bytes) {
        umem->ports++;
        return umem;
    }
    bytes = mmap(NULL, n * chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    umem = bytes != MAP_FAILED ? calloc(1, sizeof *umem + n * sizeof *umem->chunks) : NULL;
    if (umem == NULL) {
        munmap(bytes, n * chunk_bytes); /* if there is something */
        return NULL;
    }
    *umem = (struct xdp_umem){ .bytes = bytes, .chunks = (struct xdp_chunk *)(umem + 1), .nchunks = (unsigned)n,
                               .chunk_bytes = chunk_bytes, .ports_max = ports, .ports = 1, .fd = -1 };
    for (size_t i = 0; i < n; i++)
        umem->chunks[i].buf = (struct tenon_buf){ bytes + i * chunk_bytes + XDP_TX_ROOM,
                                                  chunk_bytes - XDP_TX_ROOM, 0, chunk_release };
    return umem;
}

/* The next part of it is this port's, whose socket is there. */
void xdp_umem_join(struct xdp_port *port)
{
    struct xdp_umem *umem = port->umem;

    if (umem->fd < 0) {
        umem->fd = port->port.fd;
        umem->info = port->info;
        joinable = umem;
    }
    port->info = umem->info;
    port->nchunks = umem->nchunks / umem->ports_max;
    port->chunks = umem->chunks + (size_t)umem->ports_joined++ * port->nchunks;
    port->rx_out_max = port->nchunks - port->nchunks / 4;
    port->few = (port->rx_out_max < port->ring[RING_FILL].mask ? port->rx_out_max : port->ring[RING_FILL].mask) / 4;
    port->last = port->few / 2 < XDP_LAST ? port->few / 2 : XDP_LAST;
    for (unsigned i = port->nchunks; i-- > 0;) {
        port->chunks[i].home = port;
        port->chunks[i].next = port->free;
        port->free = &port->chunks[i];
    }
    xdp_refill(port);
}

void xdp_umem_put(struct xdp_port *port)
{
    struct xdp_umem *umem = port->umem;

    if (umem == NULL)
        return;
    if (umem == joinable && umem->fd == port->port.fd)
        joinable = NULL;
    for (unsigned i = 0; i < port->nchunks; i++)
        port->chunks[i].home = NULL;
    if (--umem->ports > 0)
        return;
    munmap(umem->bytes, (size_t)umem->nchunks * umem->chunk_bytes);
    free(umem);
}
