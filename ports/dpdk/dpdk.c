/* SPDX-License-Identifier: MIT */
/* DPDK port: frames as chains of mbufs, in bursts. What is an mbuf here and a struct tenon_buf there is told in
 * dpdk_memory.c. */
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rte_errno.h>
#include <rte_ip.h>

#include "../pcap/pcap.h"
#include "dpdk_internal.h"

/* Some drivers give nothing to those who ask for less than BURST_MIN. */
enum { IP_AT = 14, CSUM_OF_UDP = 6, BURST_MIN = 8 };

static struct dpdk_port *dpdk_of(struct port *port)
{
    return TENON_CONTAINER(port, struct dpdk_port, port);
}

static tenon_u32 frame_bytes(const struct tenon_frame *frame)
{
    tenon_u32 bytes = 0;

    for (unsigned i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    return bytes;
}

static void capture(struct dpdk_port *port, const struct tenon_frame *frames, unsigned n, int outgoing)
{
    for (unsigned i = 0; i < n && port->pcap != NULL; i++)
        pcap_frame(port->pcap, port->pcap_interface, outgoing, &frames[i], port_wall_ns(), NULL);
}

/* ---- sending --------------------------------------------------------------------------------------------- */

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct dpdk_port *port = dpdk_of(host);
    const unsigned got = dpdk_memory_bufs(port->memory, bufs, n);

    port->stats.buf_failures += got < n;
    return got;
}

/* A frame that is being put together. */
struct chain {
    struct rte_mbuf *head, *tail;
    tenon_u32 copied;
    int tail_is_copy; /* there may be room behind its bytes */
};

static void chain_add(struct chain *chain, struct rte_mbuf *piece, int is_copy)
{
    chain->tail_is_copy = is_copy;
    if (chain->head == NULL) {
        chain->head = chain->tail = piece;
        return;
    }
    chain->head->nb_segs++;
    chain->head->pkt_len += piece->data_len;
    chain->tail->next = piece;
    chain->tail = piece;
}

/* @return 0; -1: no memory */
static int chain_copy(struct dpdk_port *port, struct chain *chain, const struct tenon_span *span)
{
    for (tenon_u32 here, at = 0; at < span->len; at += here) {
        const tenon_u32 room = chain->tail_is_copy ? rte_pktmbuf_tailroom(chain->tail) : 0;
        struct rte_mbuf *piece;

        here = RTE_MIN(span->len - at, room);
        if (here == 0) {
            piece = rte_pktmbuf_alloc(port->memory->tx);
            if (piece == NULL)
                return -1;
            chain_add(chain, piece, 1);
            continue;
        }
        memcpy(rte_pktmbuf_mtod_offset(chain->tail, tenon_u8 *, chain->tail->data_len),
               tenon_span_data(span) + at, here);
        chain->tail->data_len = (uint16_t)(chain->tail->data_len + here);
        chain->head->pkt_len += here;
        chain->copied += here;
    }
    return 0;
}

static int chain_span(struct dpdk_port *port, struct chain *chain, const struct tenon_span *span)
{
    struct rte_mbuf *piece = dpdk_mbuf_of(span->buf);

    if (piece == NULL && !port->info.refers)
        return chain_copy(port, chain, span);
    if (piece != NULL && chain->head == NULL && dpdk_is_header(span)) {
        piece->data_off = (uint16_t)RTE_PTR_DIFF(tenon_span_data(span), piece->buf_addr);
        piece->data_len = (uint16_t)span->len;
        piece->pkt_len = span->len;
        piece->ol_flags = 0;
    } else {
        piece = dpdk_refer(port->memory, span);
    }
    if (piece == NULL)
        return -1;
    chain_add(chain, piece, 0);
    return 0;
}

/* What the device shall do. For TSO the sum of the pseudo-header is to be without a length, and is made anew
 * each time that the frame is offered: drivers change it. */
static void ask_for_offloads(const struct dpdk_port *port, struct rte_mbuf *head, const struct tenon_frame *frame)
{
    tenon_u8 *ip = rte_pktmbuf_mtod_offset(head, tenon_u8 *, IP_AT);
    const int v4 = ip[0] >> 4 == 4;
    uint64_t flags = v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;
    rte_be16_t sum;

    head->l2_len = IP_AT;
    head->l3_len = (uint64_t)(frame->csum_start - IP_AT) & 0x1FF;
    flags |= frame->csum_offset == CSUM_OF_UDP ? RTE_MBUF_F_TX_UDP_CKSUM : RTE_MBUF_F_TX_TCP_CKSUM;
    if (frame->seg_kind != TENON_SEG_NONE) {
        flags |= RTE_MBUF_F_TX_TCP_SEG;
        if (v4 && (port->device->tx_on & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0) {
            flags |= RTE_MBUF_F_TX_IP_CKSUM;
            memset(ip + 10, 0, 2);
        }
        head->l4_len = (uint64_t)(frame->header_bytes - frame->csum_start) & 0xFF;
        head->tso_segsz = frame->seg_bytes;
        sum = v4 ? rte_ipv4_phdr_cksum((const void *)ip, flags) : rte_ipv6_phdr_cksum((const void *)ip, flags);
        memcpy(ip - IP_AT + frame->csum_start + frame->csum_offset, &sum, sizeof sum);
    }
    head->ol_flags |= flags;
}

/* It does not leave: the header stays Tenon's. */
static void free_chain(struct rte_mbuf *head, const struct tenon_frame *frame)
{
    if (head != NULL && head == dpdk_mbuf_of(frame->spans[0].buf)) {
        rte_pktmbuf_free(head->next);
        head->next = NULL;
        head->nb_segs = 1;
    } else {
        rte_pktmbuf_free(head);
    }
}

/* @return NULL: there is no memory now */
static struct rte_mbuf *make_chain(struct dpdk_port *port, const struct tenon_frame *frame)
{
    struct chain chain = { NULL, NULL, 0, 0 };

    for (unsigned i = 0; i < frame->nspans; i++) {
        if (frame->spans[i].len > 0 && chain_span(port, &chain, &frame->spans[i]) != 0) {
            free_chain(chain.head, frame);
            return NULL;
        }
    }
    if (chain.head == NULL)
        return NULL;
    chain.head->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
    if (frame->csum == TENON_CSUM_PARTIAL)
        ask_for_offloads(port, chain.head, frame);
    if (chain.copied > 0) {
        port->info.tx_copied_frames++;
        port->info.tx_copied_bytes += chain.copied;
    } else {
        port->info.tx_lying_frames++;
    }
    return chain.head;
}

static int is_down(const struct dpdk_port *port)
{
    struct rte_eth_link link = { 0 };

    return rte_eth_link_get_nowait(port->device->id, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN;
}

/* @param[out] full  1: it takes no more for now
 * @return how many of them the device has taken, or lost for good */
static unsigned give(struct dpdk_port *port, int *full, const struct tenon_frame *frames, unsigned n)
{
    struct rte_mbuf *mbufs[PORT_BURST];
    const uint16_t id = port->device->id;
    unsigned made, sent, ready;

    for (made = 0; made < n; made++) {
        mbufs[made] = make_chain(port, &frames[made]);
        if (mbufs[made] == NULL)
            break;
        port->headers[made] = mbufs[made] == dpdk_mbuf_of(frames[made].spans[0].buf);
    }
    ready = made;
    if (port->info.completes_sums)
        ready = rte_eth_tx_prepare(id, port->queue, mbufs, (uint16_t)made);
    sent = rte_eth_tx_burst(id, port->queue, mbufs, (uint16_t)ready);
    for (unsigned i = 0; i < sent; i++)
        if (port->headers[i])
            dpdk_hand_over(frames[i].spans[0].buf);
    for (unsigned i = sent; i < made; i++)
        free_chain(mbufs[i], &frames[i]);
    port->stats.tx_frames += sent;
    *full = sent < ready || made == 0;
    if (*full || ready == made)
        return sent;
    port->stats.tx_errors++; /* the driver does not like this one */
    return sent + 1;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct dpdk_port *port = dpdk_of(host);
    unsigned taken = 0, some;
    int full = 0;

    (void)netif;
    dpdk_memory_reap(port->memory);
    while (taken < n && !full) {
        some = give(port, &full, &frames[taken], RTE_MIN(n - taken, (unsigned)PORT_BURST));
        capture(port, &frames[taken], some, 1);
        for (; some > 0; some--)
            port->stats.tx_bytes += frame_bytes(&frames[taken++]);
    }
    if (taken < n && is_down(port)) {
        port->stats.tx_down += n - taken;
        return n;
    }
    port->stats.tx_busy += n - taken;
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------------------- */

static void hand_over(struct dpdk_port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    capture(port, port->rx_frames, port->nframes, 0);
    if (port->nframes > 0)
        port_input(&port->port, stack, netif, port->rx_frames, port->nframes, now_us);
    for (unsigned i = 0; i < port->nspans; i++)
        tenon_buf_put(port->rx_spans[i].buf);
    port->nframes = port->nspans = 0;
}

/* An mbuf of somebody else's pool, out of a ring, has no place for our description. */
static struct rte_mbuf *make_ours(struct dpdk_port *port, struct rte_mbuf *mbuf)
{
    struct rte_mbuf *copy;

    if (mbuf->pool == port->memory->rx ||
        (memcmp(mbuf->pool->name, "tenon", 5) == 0 && rte_pktmbuf_priv_size(mbuf->pool) >= sizeof(struct dpdk_private)))
        return mbuf;
    copy = rte_pktmbuf_copy(mbuf, port->memory->rx, 0, UINT32_MAX);
    rte_pktmbuf_free(mbuf);
    port->info.rx_copied_frames++;
    port->stats.rx_no_buffer += copy == NULL;
    return copy;
}

/* NONE: the field is not valid, but the bytes are. BAD: the core looks for itself, and counts it. */
static enum tenon_csum csum_of(const struct dpdk_port *port, uint64_t flags)
{
    flags &= RTE_MBUF_F_RX_L4_CKSUM_MASK;
    if (flags == RTE_MBUF_F_RX_L4_CKSUM_GOOD || flags == RTE_MBUF_F_RX_L4_CKSUM_NONE)
        return TENON_CSUM_GOOD;
    return port->trusts && flags == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN ? TENON_CSUM_GOOD : TENON_CSUM_NONE;
}

/* One frame, whose mbufs become buffers that have nothing to do with each other. */
static void take(struct dpdk_port *port, struct rte_mbuf *mbuf)
{
    struct tenon_frame *frame = &port->rx_frames[port->nframes++];
    const uint64_t flags = mbuf->ol_flags;

    *frame = (struct tenon_frame){ .spans = &port->rx_spans[port->nspans], .nspans = mbuf->nb_segs };
    frame->csum = (tenon_u8)csum_of(port, flags);
    if ((flags & RTE_MBUF_F_RX_LRO) != 0 && mbuf->tso_segsz > 0) {
        frame->seg_kind = rte_pktmbuf_mtod(mbuf, const tenon_u8 *)[12] == 0x86 ? TENON_SEG_TCP6 : TENON_SEG_TCP4;
        frame->seg_bytes = mbuf->tso_segsz;
    }
    if ((flags & RTE_MBUF_F_RX_RSS_HASH) != 0)
        frame->flow_hash = mbuf->hash.rss;
    port->stats.rx_frames++;
    port->stats.rx_bytes += mbuf->pkt_len;
    while (mbuf != NULL) {
        struct rte_mbuf *next = mbuf->next;

        port->rx_spans[port->nspans++] = (struct tenon_span){ dpdk_received(mbuf), mbuf->data_off, mbuf->data_len };
        mbuf->next = NULL;
        mbuf->nb_segs = 1;
        mbuf = next;
    }
}

/* Before we look: what comes after this wakes us. */
static void arm(const struct dpdk_port *port)
{
    struct rte_epoll_event events[DPDK_EVENTS];

    (void)rte_epoll_wait(port->epoll, events, DPDK_EVENTS, 0);
    (void)rte_eth_dev_rx_intr_enable(port->device->id, port->queue);
}

/* What had come before that does not wake us any more: as long as we have not seen the end of it we keep
 * ourselves awake. */
static void remember(struct dpdk_port *port, int more)
{
    eventfd_t value;

    if (port->epoll < 0 || more == port->busy)
        return;
    port->busy = more;
    (void)(more ? eventfd_write(port->more, 1) : eventfd_read(port->more, &value));
}

static int dpdk_receive(struct port *base, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct dpdk_port *port = dpdk_of(base);
    struct rte_mbuf *mbufs[PORT_BURST];
    unsigned n = 0, got;

    dpdk_memory_reap(port->memory);
    if (port->epoll >= 0 && !port->busy)
        arm(port);
    do { /* a driver that gives few may have more, and who is to sleep has to know */
        got = rte_eth_rx_burst(port->device->id, port->queue, mbufs + n, (uint16_t)(PORT_BURST - n));
        n += got;
    } while (port->epoll >= 0 && got > 0 && PORT_BURST - n >= BURST_MIN);
    remember(port, got > 0);
    port->stats.rx_empty += n == 0;
    for (unsigned i = 0; i < n; i++) {
        struct rte_mbuf *mbuf = make_ours(port, mbufs[i]);

        if (mbuf == NULL)
            continue;
        if (mbuf->nb_segs > DPDK_RX_SPANS || mbuf->pkt_len < IP_AT) {
            port->stats.rx_bad++;
            rte_pktmbuf_free(mbuf);
            continue;
        }
        if (port->nspans + mbuf->nb_segs > DPDK_RX_SPANS)
            hand_over(port, stack, netif, now_us);
        take(port, mbuf);
    }
    hand_over(port, stack, netif, now_us);
    return atomic_load_explicit(&port->device->gone, memory_order_relaxed) ? -1 : (int)n;
}

/* ---- the kind -------------------------------------------------------------------------------------------- */

static void dpdk_netif_conf(const struct port *base, struct tenon_netif_conf *out)
{
    const struct dpdk_port *port = (const void *)base;
    const struct rte_eth_desc_lim *limits = &port->device->info.tx_desc_lim;

    memset(out, 0, sizeof *out);
    memcpy(out->mac, port->device->mac, sizeof out->mac);
    out->mtu = (tenon_u16)port->device->mtu;
    out->gather_max = 1;
    if (port->info.gathers) {
        out->gather_max = DPDK_GATHER_MAX;
        if (limits->nb_mtu_seg_max > 0 && limits->nb_mtu_seg_max < DPDK_GATHER_MAX)
            out->gather_max = limits->nb_mtu_seg_max;
    }
    if (port->info.completes_sums)
        out->caps = TENON_CAP_TX_CSUM;
    if (port->info.cuts)
        out->caps |= TENON_CAP_TSO4 | TENON_CAP_TSO6;
    if (!port->info.refers && limits->nb_seg_max > 2 && limits->nb_seg_max < DPDK_GATHER_MAX)
        out->tso_bytes_max = RTE_MIN(65535u, (limits->nb_seg_max - 2u) * port->device->room);
}

static int dpdk_fd(const struct port *port)
{
    return ((const struct dpdk_port *)(const void *)port)->epoll;
}

static void dpdk_attach(struct port *base, struct pcap_writer *writer)
{
    struct dpdk_port *port = dpdk_of(base);
    const int number = writer != NULL ? pcap_interface(writer, port->device->name, 0, PCAP_ETHERNET) : -1;

    port->pcap = number >= 0 ? writer : NULL;
    port->pcap_interface = number >= 0 ? (unsigned)number : 0;
}

/* What the device has counted, it has for all of its queues: the first one tells it. */
static void dpdk_stats(const struct port *base, struct port_stats *stats)
{
    const struct dpdk_port *port = (const void *)base;
    struct rte_eth_stats devices;

    *stats = port->stats;
    stats->buf_bytes = port->memory->bytes;
    if (port->queue != 0 || rte_eth_stats_get(port->device->id, &devices) != 0)
        return;
    stats->rx_missed += devices.imissed;
    stats->rx_bad += devices.ierrors;
    stats->rx_no_buffer += devices.rx_nombuf;
    stats->tx_errors += devices.oerrors;
}

static int dpdk_advice(const struct port *base, char *text, size_t size)
{
    const struct dpdk_port *port = (const void *)base;
    const char *link = is_down(port) ? "nobody is at the other end yet" : "";
    const char *slow = dpdk_huge() ? "" : "memory is ordinary, because not enough huge pages are free: slower";

    if (link[0] == 0 && slow[0] == 0)
        return 0;
    snprintf(text, size, "%s (%s): %s%s%s", port->device->name, port->info.driver, link,
             link[0] != 0 && slow[0] != 0 ? "; " : "", slow);
    return 1;
}

void dpdk_port_info(const struct port *port, struct dpdk_port_info *info)
{
    *info = ((const struct dpdk_port *)(const void *)port)->info;
}

static const struct tenon_host dpdk_host = {
    TENON_HOST_VERSION, port_mem_get, port_mem_put, host_buf_get, host_transmit, port_entropy,
};

const struct port_type dpdk_port_type = {
    "dpdk",
    "DEVICE",
    "DPDK: any of its devices; virtual ones with their arguments: {net_tap0,iface=dt0}",
    dpdk_settings,
    DPDK_QUEUES_MAX,
    dpdk_open,
    dpdk_close,
    &dpdk_host,
    dpdk_netif_conf,
    dpdk_fd,
    dpdk_receive,
    dpdk_attach,
    dpdk_stats,
    dpdk_advice,
};
