/* SPDX-License-Identifier: MIT */
/* DPDK port: frames as chains of mbufs, in bursts. Mbuf and struct tenon_buf are one object.
 *
 *      | struct rte_mbuf | struct dpdk_private | headroom | bytes of a frame ... |
 *          DPDK's part       tx: for headers, rx: for what has been received
 *
 * All references that Tenon counts in a tenon_buf are one reference of the mbuf. DPDK counts atomically, so
 * that another thread may give back what this one has sent.
 *
 * An mbuf describes one piece of bytes only. A header becomes the device's with its mbuf. For all else (payload
 * that waits for its acknowledgement, what was received and is passed on) another mbuf refers to the bytes. What has
 * to be copied goes behind the header's bytes first, into the same mbuf. */
#include <rte_epoll.h>
#include <rte_net.h>

#include "../common/sum.h"
#include "dpdk_internal.h"

enum { IP_AT = 14, CSUM_OF_UDP = 6, CSUM_OF_TCP = 16, EVENTS = 4, ASK_US = 500000 };

/* ---- buffers ------------------------------------------------------------------------------------------------ */

/* Both buffers of an mbuf lie in the cache line behind it. */
static struct rte_mbuf *mbuf_of(const struct tenon_buf *buf)
{
    return (struct rte_mbuf *)((uintptr_t)buf & ~(uintptr_t)(RTE_CACHE_LINE_SIZE - 1)) - 1;
}

/* If nobody else refers to it, and it describes bytes of its own, it may go back to its pool as it is,
 * without a look at the second half of the mbuf, which costs a cache miss: it has no next one, see take(). */
static __rte_always_inline void buf_release(struct tenon_buf *buf)
{
    struct rte_mbuf *mbuf = mbuf_of(buf);

    if (rte_mbuf_refcnt_read(mbuf) == 1 && RTE_MBUF_DIRECT(mbuf))
        rte_mbuf_raw_free(mbuf);
    else
        rte_pktmbuf_free_seg(mbuf);
}

/* The same for one that was received and kept. */
static void kept_release(struct tenon_buf *buf)
{
    const struct dpdk_private *priv = rte_mbuf_to_priv(mbuf_of(buf));

    --*priv->kept;
    buf_release(buf);
}

static int is_ours(const struct tenon_buf *buf)
{
    return buf->release == buf_release || buf->release == kept_release;
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    const unsigned most = RTE_MIN(n, (unsigned)PORT_BURST);
    struct dpdk_port *port = host;
    void *mbufs[PORT_BURST];
    unsigned got = most;

    while (got > 0 && rte_mempool_get_bulk(port->tx, mbufs, got) != 0)
        got /= 2;
    for (unsigned i = 0; i < got; i++) {
        struct dpdk_private *priv = rte_mbuf_to_priv(mbufs[i]);

        priv->tx = (struct tenon_buf){ priv->bytes + RTE_PKTMBUF_HEADROOM, port->device->room, 1, buf_release };
        bufs[i] = &priv->tx;
    }
    port->port.stats.buf_failures += got < most;
    return got;
}

/* ---- sending --------------------------------------------------------------------------------------------- */

/* The first mbuf of a frame. If its first piece is from buf_get(), nobody else has it, and the device has not
 * got it either, then the mbuf of that, with its bytes: the device's from now on, which has one reference
 * more, so that nothing happens when the caller of transmit() gives up the last of Tenon's. (Not what was
 * received: its other end might write down there what it receives. And not what will be captured: drivers, and who
 * receives from a ring, write into it.) Otherwise one without bytes. @return NULL: there is no memory now */
static struct rte_mbuf *begin(const struct dpdk_port *port, const struct tenon_span *span)
{
    struct tenon_buf *buf = span->buf;
    struct rte_mbuf *mbuf = mbuf_of(buf);

    if (!is_ours(buf) || buf != rte_mbuf_to_priv(mbuf) || buf->refs != 1 || rte_mbuf_refcnt_read(mbuf) != 1 ||
        port->port.capture != NULL)
        return rte_pktmbuf_alloc(port->tx);
    buf->refs++;
    mbuf->data_off = (uint16_t)(RTE_PKTMBUF_HEADROOM + span->off);
    mbuf->data_len = (uint16_t)span->len;
    return mbuf;
}

/* A frame that does not leave: its header stays Tenon's. */
static void take_back(struct tenon_buf *first, struct rte_mbuf *head)
{
    const int lent = mbuf_of(first) == head;

    rte_pktmbuf_free(lent ? head->next : head);
    if (!lent)
        return;
    first->refs--;
    head->next = NULL;
    head->nb_segs = 1;
}

/* Let a fresh mbuf refer to these bytes, ours or (DPDK_COPIES) the program's: the caller of transmit() has a
 * reference of those until it returns, and that is long enough. */
static void refer(struct dpdk_port *port, struct rte_mbuf *mbuf, const struct tenon_span *span)
{
    tenon_u8 *bytes = tenon_span_data(span);

    if (is_ours(span->buf)) {
        rte_pktmbuf_attach(mbuf, mbuf_of(span->buf));
    } else {
        (void)rte_mbuf_ext_refcnt_update(&port->lent, 1);
        rte_pktmbuf_attach_extbuf(mbuf, bytes, (rte_iova_t)(uintptr_t)bytes, (uint16_t)span->len, &port->lent);
    }
    mbuf->data_off = (uint16_t)RTE_PTR_DIFF(bytes, mbuf->buf_addr);
    mbuf->data_len = (uint16_t)span->len;
}

/* What the device cannot have as it lies, and headers that will be captured, are copied behind the bytes of the last
 * mbuf, if they are its own. @return 0; -1: there is no memory now */
static int chain_add(struct dpdk_port *port, struct rte_mbuf *head, struct rte_mbuf **end,
                     const struct tenon_span *span)
{
    const int ours = is_ours(span->buf), shown = port->port.capture != NULL && head->data_len == 0;
    const int lies_well = !shown && (ours || (port->device->traits & DPDK_COPIES) != 0);

    for (tenon_u32 here, at = 0; at < span->len; at += here) {
        struct rte_mbuf *last = *end;

        if (last->data_len > 0 && (lies_well || !RTE_MBUF_DIRECT(last) || rte_pktmbuf_tailroom(last) == 0)) {
            port->odd |= last->data_len;
            last->next = rte_pktmbuf_alloc(port->tx);
            if (last->next == NULL)
                return -1;
            last = *end = last->next;
            head->nb_segs++;
        }
        if (lies_well) {
            refer(port, last, span);
            return 0;
        }
        here = RTE_MIN(span->len - at, (tenon_u32)rte_pktmbuf_tailroom(last));
        memcpy(rte_pktmbuf_mtod_offset(last, tenon_u8 *, last->data_len), tenon_span_data(span) + at, here);
        last->data_len = (uint16_t)(last->data_len + here);
        port->info.tx_copied_bytes += ours ? 0 : here;
    }
    return 0;
}

/* What the device shall do. For TSO the sum of the pseudo-header is to be without a length, and is made anew
 * each time that the frame is offered: drivers change it. */
static void ask_for_offloads(const struct dpdk_port *port, struct rte_mbuf *head, const struct tenon_frame *frame)
{
    const int v4 = rte_pktmbuf_mtod(head, const tenon_u8 *)[IP_AT] >> 4 == 4;
    uint64_t flags = v4 ? RTE_MBUF_F_TX_IPV4 : RTE_MBUF_F_TX_IPV6;

    head->l2_len = IP_AT;
    head->l3_len = (uint64_t)(frame->csum_start - IP_AT) & 0x1FF;
    flags |= frame->csum_offset == CSUM_OF_UDP ? RTE_MBUF_F_TX_UDP_CKSUM : RTE_MBUF_F_TX_TCP_CKSUM;
    if (frame->seg_kind != TENON_SEG_NONE) {
        flags |= RTE_MBUF_F_TX_TCP_SEG;
        if (v4 && (port->device->conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM) != 0)
            flags |= RTE_MBUF_F_TX_IP_CKSUM;
        head->l4_len = (uint64_t)(frame->header_bytes - frame->csum_start) & 0xFF;
        head->tso_segsz = frame->seg_bytes;
        (void)rte_net_intel_cksum_flags_prepare(head, flags);
    }
    head->ol_flags |= flags;
}

/* A net_vhost makes sums by itself if the driver at its other end takes none that are still to be made, and so makes
 * wrong ones of frames with a piece of odd length (rte_raw_cksum_mbuf(), DPDK 22.11). These are made here.
 * @param sum  gets the frame's sum as it is; see give(). @return NULL: there is no memory now */
static struct rte_mbuf *make_chain(struct dpdk_port *port, const struct tenon_frame *frame, uint16_t *sum)
{
    struct rte_mbuf *head = begin(port, &frame->spans[0]), *last = head;
    tenon_u32 bytes;

    if (head == NULL)
        return NULL;
    memcpy(sum, port_sum_at(frame), sizeof *sum);
    port->odd = 0;
    bytes = head->data_len;
    for (unsigned i = bytes > 0; i < frame->nspans; i++) {
        bytes += frame->spans[i].len;
        if (chain_add(port, head, &last, &frame->spans[i]) == 0)
            continue;
        take_back(frame->spans[0].buf, head);
        return NULL;
    }
    head->pkt_len = bytes;
    head->ol_flags &= RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL; /* not what was asked for in an earlier life */
    if (port->odd % 2 != 0 && (port->device->traits & DPDK_HOST) != 0 && frame->csum == TENON_CSUM_PARTIAL &&
        frame->seg_kind == TENON_SEG_NONE)
        port_sum_write(frame, rte_pktmbuf_mtod(head, tenon_u8 *));
    else if (frame->csum == TENON_CSUM_PARTIAL)
        ask_for_offloads(port, head, frame);
    return head;
}

/* Drivers make sums in frames that they do not take then. These are offered again, and have to be as they were.
 * @return how many of them the device has taken, or lost for good */
static inline unsigned give(struct dpdk_port *port, const struct tenon_frame *frames, unsigned n)
{
    struct rte_mbuf *mbufs[PORT_BURST];
    unsigned made = 0, ready, sent;
    uint16_t sums[PORT_BURST];

    while (made < n && (mbufs[made] = make_chain(port, &frames[made], &sums[made])) != NULL)
        made++;
    ready = port->port.netif.caps == 0 ? made :
            rte_eth_tx_prepare(port->info.device, port->info.queue, mbufs, (uint16_t)made);
    sent = rte_eth_tx_burst(port->info.device, port->info.queue, mbufs, (uint16_t)ready);
    for (unsigned i = sent; i < made; i++) {
        memcpy(port_sum_at(&frames[i]), &sums[i], sizeof sums[i]);
        take_back(frames[i].spans[0].buf, mbufs[i]);
    }
    port_sent(&port->port, frames, sent);
    if (sent < ready || ready == made)
        return sent;
    port->port.stats.tx_errors++; /* the driver does not like this one */
    return sent + 1;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct dpdk_port *port = host;
    unsigned taken = 0, some = 1;

    (void)netif;
    for (; taken < n && some > 0; taken += some)
        some = give(port, &frames[taken], n - taken < PORT_BURST ? n - taken : PORT_BURST);
    if (taken < n && dpdk_is_down(port->device)) {
        port->port.stats.tx_down += n - taken;
        return n;
    }
    port->port.stats.tx_busy += n - taken;
    return taken;
}

/* ---- receiving ------------------------------------------------------------------------------------------- */

/* An mbuf of somebody else's pool, out of a ring, has no place for our description. One of very many pieces has none in
 * a burst. @return NULL: it is lost */
static struct rte_mbuf *make_ours(struct dpdk_port *port, struct rte_mbuf *mbuf)
{
    struct rte_mbuf *copy;

    if (mbuf->nb_segs > DPDK_PIECES_MAX || mbuf->pkt_len < IP_AT || mbuf->pkt_len > DPDK_FRAME_MAX) {
        port->port.stats.rx_bad++;
        rte_pktmbuf_free(mbuf);
        return NULL;
    }
    if (memcmp(mbuf->pool->name, DPDK_POOL, sizeof DPDK_POOL - 1) == 0) {
        if (mbuf->pool != port->rx) /* its sender has others to send with */
            port->kept_max = RTE_MIN(port->kept_max, mbuf->pool->size / 2);
        return mbuf;
    }
    copy = rte_pktmbuf_copy(mbuf, port->rx, 0, UINT32_MAX);
    rte_pktmbuf_free(mbuf);
    port->info.rx_copied_frames++;
    port->port.stats.rx_no_buffer += copy == NULL;
    return copy;
}

/* Nobody has made the sum of this frame, and nobody will: a capture does, which has to know where. */
static void show_sum(struct tenon_frame *frame, const struct rte_mbuf *mbuf)
{
    const uint32_t layers = RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK;
    struct rte_net_hdr_lens lens = { 0 };
    const uint32_t l4 = rte_net_get_ptype(mbuf, &lens, layers) & RTE_PTYPE_L4_MASK;

    if (l4 != RTE_PTYPE_L4_TCP && l4 != RTE_PTYPE_L4_UDP)
        return;
    frame->csum_start = (tenon_u16)(lens.l2_len + lens.l3_len);
    frame->csum_offset = l4 == RTE_PTYPE_L4_TCP ? CSUM_OF_TCP : CSUM_OF_UDP;
}

/* One frame, whose mbufs become buffers that have nothing to do with each other. Its sums: NONE, the field is not
 * valid, but the bytes are. BAD, the core looks for itself, and counts it. @return the next span */
static inline struct tenon_span *take(const struct dpdk_port *port, struct tenon_frame *frame, struct tenon_span *span,
                                      struct rte_mbuf *mbuf)
{
    const uint64_t flags = mbuf->ol_flags, sums = flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
    const int good = sums == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN ? port->trusts : sums != RTE_MBUF_F_RX_L4_CKSUM_BAD;
    struct rte_mbuf *next;

    *frame = (struct tenon_frame){ .spans = span, .nspans = mbuf->nb_segs,
                                   .csum = good ? TENON_CSUM_GOOD : TENON_CSUM_NONE };
    if ((flags & RTE_MBUF_F_RX_LRO) != 0 && mbuf->tso_segsz > 0) {
        frame->seg_kind = rte_pktmbuf_mtod(mbuf, const tenon_u8 *)[12] == 0x86 ? TENON_SEG_TCP6 : TENON_SEG_TCP4;
        frame->seg_bytes = mbuf->tso_segsz;
    }
    if ((flags & RTE_MBUF_F_RX_RSS_HASH) != 0)
        frame->flow_hash = mbuf->hash.rss;
    if (port->port.capture != NULL && sums == RTE_MBUF_F_RX_L4_CKSUM_NONE)
        show_sum(frame, mbuf);
    for (unsigned left = frame->nspans; left > 0; left--, mbuf = next) {
        struct dpdk_private *priv = rte_mbuf_to_priv(mbuf);

        priv->rx = (struct tenon_buf){ mbuf->buf_addr, mbuf->buf_len, 1, buf_release };
        *span++ = (struct tenon_span){ &priv->rx, mbuf->data_off, mbuf->data_len };
        mbuf->nb_segs = 1;
        if (left == 1) /* it has no next one: do not look, that costs a cache miss */
            break;
        next = mbuf->next;
        mbuf->next = NULL;
    }
    return span;
}

/* Nobody keeps it, as most, or somebody does: then it is counted until he gives it back. */
static void give_up(struct dpdk_port *port, struct tenon_buf *buf)
{
    if (buf->refs == 1) {
        buf_release(buf);
        return;
    }
    ((struct dpdk_private *)rte_mbuf_to_priv(mbuf_of(buf)))->kept = &port->kept;
    buf->release = kept_release;
    port->kept++;
    tenon_buf_put(buf);
}

/* @return how many frames there were */
static __rte_noinline int look(struct dpdk_port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct tenon_frame *frame = port->rx_frames;
    struct tenon_span *span = port->rx_spans;
    struct rte_mbuf *mbufs[PORT_BURST], *mbuf;
    const unsigned n = rte_eth_rx_burst(port->info.device, port->info.queue, mbufs, PORT_BURST);
    unsigned kept;

    for (unsigned i = 0; i < n; i++)
        if ((mbuf = make_ours(port, mbufs[i])) != NULL)
            span = take(port, frame++, span, mbuf);
    if (span == port->rx_spans)
        return (int)n;
    kept = port->kept + (unsigned)(span - port->rx_spans);
    port->port.keeps = port_keeps(port->kept_max - RTE_MIN(kept, port->kept_max), port->kept_max / 4, 1);
    port_input(&port->port, stack, netif, port->rx_frames, (unsigned)(frame - port->rx_frames), now_us);
    for (const struct tenon_span *at = port->rx_spans; at < span; at++)
        give_up(port, at->buf);
    return (int)n;
}

/* Who looks in vain will sleep next. What comes from now on makes the descriptor readable, until the next time; and it
 * must not happen that a frame, which came before that, waits and wakes nobody. */
static int dpdk_receive(struct port *base, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct dpdk_port *port = (struct dpdk_port *)base;
    struct rte_epoll_event events[EVENTS];
    int n = look(port, stack, netif, now_us), more;

    if (n == 0 && base->fd >= 0) {
        (void)rte_epoll_wait(base->fd, events, EVENTS, 0);
        (void)rte_eth_dev_rx_intr_enable(port->info.device, port->info.queue);
        for (more = 1; more > 0 && n < PORT_BURST; n += more)
            more = look(port, stack, netif, now_us);
        n = RTE_MIN(n, (int)PORT_BURST);
    }
    base->stats.rx_empty += n == 0;
    if (n > 0 || now_us - port->asked_us < ASK_US)
        return n;
    port->asked_us = now_us;
    return dpdk_is_gone(port->device) ? -1 : 0;
}

/* ---- the kind -------------------------------------------------------------------------------------------- */

/* What the device has counted, it has for all of its queues: the first one tells it. */
static void dpdk_stats(struct port *base, struct port_stats *stats)
{
    const struct dpdk_port *port = (const struct dpdk_port *)base;
    struct rte_eth_stats device;

    stats->buf_bytes = port->device->bytes;
    if (port->info.queue != 0 || rte_eth_stats_get(port->info.device, &device) != 0)
        return;
    stats->rx_missed += device.imissed;
    stats->rx_bad += device.ierrors;
    stats->rx_no_buffer += device.rx_nombuf;
    stats->tx_errors += device.oerrors;
}

static int dpdk_advice(const struct port *base, char *text, size_t size)
{
    const struct dpdk_device *device = ((const struct dpdk_port *)(const void *)base)->device;
    const int down = dpdk_is_down(device), slow = !rte_eal_has_hugepages();

    snprintf(text, size, "%s (%s):%s%s%s%.0zu%s", base->name, device->info.driver_name,
             down ? " nobody is at the other end yet" : "", down && slow ? ";" : "",
             slow ? " memory is ordinary, slower: few huge pages free (root: sysctl vm.nr_hugepages=" : "",
             slow ? dpdk_pages : 0, slow ? ")" : "");
    return down || slow;
}

void dpdk_port_info(const struct port *port, struct dpdk_port_info *info)
{
    *info = ((const struct dpdk_port *)(const void *)port)->info;
}

static const struct tenon_host dpdk_host = { TENON_HOST_VERSION, port_mem_get,  port_mem_put,
                                             host_buf_get,       host_transmit, port_entropy };

const struct port_type dpdk_port_type = {
    "dpdk", "DEVICE", "DPDK: any of its devices; virtual ones with their arguments: {net_tap0,iface=dt0}",
    dpdk_settings, DPDK_QUEUES_MAX, DPDK_MEMORY, sizeof(struct dpdk_port), dpdk_open, dpdk_close,
    &dpdk_host, dpdk_receive, dpdk_stats, dpdk_advice };
