/* SPDX-License-Identifier: MIT */
/* An instance: its beginning, its end, and the two calls that run it. */
#include "base/bytes.h"
#include "core.h"
#include "stack/stack_internal.h"
#include "wire/wire.h"

/* Every array of the instance's block begins at a multiple of this, which suits every type in it. */
enum { STACK_ALIGN = 16 };
/* Of one interface nobody asks which it is. */
enum { STACK_HAS_NETIFS = TENON_WITH_NETIFS || TENON_WITH_SPEED };

static tenon_u32 stack_part(tenon_u32 n, size_t each)
{
    return (n * (tenon_u32)each + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN;
}

/* Where the parts of the block lie, as offsets from the aligned beginning: 32 bits also where a size_t has 16. */
struct stack_layout {
    tenon_u32 frames, netifs, spans, link, ip, total;
};

/* whole: conf, with its default where that is 0. */
static void stack_lay_out(struct stack_layout *layout, struct tenon_conf *whole, const struct tenon_conf *conf)
{
    tenon_u32 burst, gather;

    *whole = *conf;
    tn_conf_complete(whole);
    burst = whole->tx_burst_max;
    gather = TENON_WITH_PIECES ? whole->tx_gather_max : 1;
    layout->frames = stack_part(1, sizeof(struct tenon));
    layout->netifs = layout->frames + stack_part(burst, sizeof(struct tenon_frame));
    layout->spans = layout->netifs + stack_part(STACK_HAS_NETIFS ? burst : 0, 1);
    layout->link = layout->spans + stack_part(burst * gather, sizeof(struct tenon_span));
    layout->ip = layout->link + stack_part(tn_link_bytes(whole), 1);
    layout->total = layout->ip + stack_part(tn_ip_bytes(whole), 1);
}

TENON_API size_t tenon_mem_size(const struct tenon_conf *conf)
{
    struct stack_layout layout;
    struct tenon_conf whole;

    if (tenon_conf_check(conf) != NULL)
        return 0;
    stack_lay_out(&layout, &whole, conf);
    return (size_t)layout.total == layout.total ? (size_t)layout.total : 0;
}

/* All keys at once, so that a host is asked only once: they lie one behind the other. */
static int stack_seed(struct tenon *stack)
{
    tenon_u8 *at = (tenon_u8 *)stack + offsetof(struct tenon, table_key);
    const tenon_u8 *const end = (tenon_u8 *)&stack->random.counter;

    if (stack->ops->entropy(stack->host, at, (size_t)(end - at)) != 0)
        return TENON_EINVAL;
    for (; at < end; at += 4)
        *(tenon_u32 *)(void *)at = get32be(at);
    return TENON_OK;
}

TENON_API struct tenon *tenon_init(void *mem, const struct tenon_conf *conf, const struct tenon_host *ops, void *host)
{
    tenon_u8 *base = (tenon_u8 *)mem;
    struct tenon *stack = (struct tenon *)(void *)base;
    struct stack_layout layout;

    if (tenon_conf_check(conf) != NULL || ops->version != TENON_HOST_VERSION)
        return NULL;
    memset(stack, 0, sizeof(*stack));
    stack_lay_out(&layout, &stack->conf, conf);
    stack->ops = ops;
    stack->host = host;
    memset(base + layout.frames, 0, (size_t)(layout.total - layout.frames));
    if (stack_seed(stack) != TENON_OK)
        return NULL;
    stack->tx.frames = (struct tenon_frame *)(void *)(base + layout.frames);
    if (STACK_HAS_NETIFS)
        stack->tx.netifs = base + layout.netifs;
    stack->tx.spans = (struct tenon_span *)(void *)(base + layout.spans);
    stack->tx.max = stack->conf.tx_burst_max;
    stack->tx.gather = TENON_WITH_PIECES ? stack->conf.tx_gather_max : 1;
    if (TENON_WITH_MANY)    /* else it is a list, and empty: all is 0 */
        tn_wheel_init(&stack->wheel);
    tn_link_init(stack, base + layout.link);
    tn_ip_init(stack, base + layout.ip);
    tn_udp_init(stack);
    if (tn_tcp_init(stack) != TENON_OK)
        return NULL;
    return stack;
}

TENON_API void tenon_fini(struct tenon *stack)
{
    TENON_ASSERT(stack->depth == 0);
    tn_tcp_fini(stack);
    tn_udp_fini(stack);
    tn_ip_fini(stack);
    tn_link_fini(stack);
    tn_tx_fini(stack);
    while (stack->nbufs > 0)
        tenon_buf_put(stack->bufs[--stack->nbufs]);
}

TENON_API tenon_u32 tenon_random(struct tenon *stack)
{
    return tn_random(&stack->random);
}

TENON_API void tenon_keep(struct tenon *stack, enum tenon_kept keep)
{
    stack->keeps = (tenon_u8)keep;
}

TENON_API void *tenon_host_of(const struct tenon *stack)
{
    return stack->host;
}

/* ---- time ---------------------------------------------------------------------------------------- */

static void stack_count_ms(struct tenon *stack)
{
    const tenon_u32 ms = (stack->now_us - stack->ms_us) / 1000;

    stack->now_ms += ms;
    stack->ms_us += ms * 1000;
    if (TN_FAST && ms > 0)
        stack->tcp.way.path = NULL;
}

/* The first call tells us where the clock stands; from then on only differences count. */
static void stack_set_time(struct tenon *stack, tenon_u32 now_us)
{
    if (!stack->started) {
        stack->started = 1;
        stack->tick_us = now_us;
        stack->ms_us = now_us;
    }
    stack->now_us = now_us;
    if (TENON_SMALL || now_us - stack->ms_us >= 1000)    /* many calls are of the same one */
        stack_count_ms(stack);
    stack->now_tick = stack->wheel.now + ((now_us - stack->tick_us) >> TN_TICK_SHIFT);
}

static void stack_fire(void *ctx, struct tn_timer *timer)
{
    struct tenon *stack = (struct tenon *)ctx;

    if (timer->kind == TN_TIMER_TCP)
        tn_tcp_timer(stack, timer);
    else if (TENON_WITH_WAITS && timer->kind == TN_TIMER_TIME_WAIT)
        tn_time_wait_timer(stack, timer);
    else if (TENON_WITH_ETHERNET && timer->kind == TN_TIMER_NEIGHBOUR)
        tn_neighbour_timer(stack, timer);
    else if (TENON_WITH_FRAGMENTS && timer->kind == TN_TIMER_REASS)
        tn_reass_timer(stack, timer);
    else if (TN_LINK_HAS_TIMERS)
        tn_link_timer(stack, timer);
}

/* While nothing is due the wheel stands still, but not so long that microseconds go round. */
enum { STACK_WHEEL_LAG = 16384 };

static void stack_run_timers(struct tenon *stack)
{
    const tenon_u32 ticks = stack->now_tick - stack->wheel.now;

    if (TENON_WITH_MANY && ticks < STACK_WHEEL_LAG && ticks < tn_wheel_next(&stack->wheel))
        return;
    stack->tick_us += ticks << TN_TICK_SHIFT;
    tn_wheel_advance(&stack->wheel, stack->now_tick, stack_fire, stack);
}

/* ---- input ----------------------------------------------------------------------------------------- */

static int stack_is_broadcast(const tenon_u8 *mac)
{
    return get32raw(mac) == 0xFFFFFFFFUL && get16raw(mac + 4) == 0xFFFF;
}

/* RFC 1122 2.4: tells whether the frame was for us alone. 0: it was for somebody else. */
static int stack_link_cast(struct tn_pkt *pkt, const tenon_u8 *dst)
{
    if (stack_is_broadcast(dst))
        pkt->cast = TN_CAST_BROADCAST;
    else if (dst[0] & 1)
        pkt->cast = TN_CAST_MULTICAST;
    else if (memcmp(dst, pkt->netif->conf.mac, 6) == 0)
        pkt->cast = TN_CAST_UNICAST;
    else
        return 0;
    return 1;
}

static void stack_input_ip(struct tenon *stack, struct tn_pkt *pkt, unsigned ethertype)
{
    switch (ethertype) {
    case TN_ETHERTYPE_IP4: tn_ip4_input(stack, pkt); return;
    case TN_ETHERTYPE_IP6:
        if (TENON_WITH_IPV6) {
            tn_ip6_input(stack, pkt);
            return;
        }
        break;
    case TN_ETHERTYPE_ARP:
        if (TENON_WITH_ETHERNET) {
            tn_arp_input(stack, pkt);
            return;
        }
        break;
    default: break;
    }
    tn_count(stack, TENON_STAT_ETH_UNKNOWN);
}

/* A bare IP packet: its first four bits tell the version. */
static void stack_input_bare(struct tenon *stack, struct tn_pkt *pkt)
{
    if (tn_pkt_head_len(pkt) == 0) {
        tn_count(stack, TENON_STAT_ETH_SHORT);
        return;
    }
    stack_input_ip(stack, pkt, pkt->head[0] >> 4 == 6 ? TN_ETHERTYPE_IP6 : TN_ETHERTYPE_IP4);
}

/* The link header lies in one piece. */
static void stack_input_link(struct tenon *stack, struct tn_pkt *pkt)
{
    struct tn_eth eth;

    if (tn_eth_parse(&eth, pkt->head, tn_pkt_head_len(pkt)) != 0) {
        tn_count(stack, TENON_STAT_ETH_SHORT);
        return;
    }
    if (eth.vlan != 0) {
        tn_count(stack, TENON_STAT_ETH_VLAN);
        return;
    }
    if (!stack_link_cast(pkt, eth.dst)) {
        tn_count(stack, TENON_STAT_ETH_NOT_OURS);
        return;
    }
    tn_pkt_pull(pkt, eth.bytes);
    stack_input_ip(stack, pkt, eth.ethertype);
}

/* Ethernet, 802.1Q, and RFC 1042 encapsulation: no link header is longer. Behind it are the longest of IPv4, and TCP or
 * an error of ICMP. */
enum {
    STACK_LINK_BYTES_MAX = 26,
    STACK_PULL_BYTES = TN_PULLS_ONCE ? STACK_LINK_BYTES_MAX + 60 + TN_ICMP_PULL_BYTES : STACK_LINK_BYTES_MAX
};

static void stack_input_layers(struct tenon *stack, struct tn_pkt *pkt)
{
    TENON_ASSERT((int)STACK_PULL_BYTES <= (int)TENON_BUF_BYTES_MIN);
    if (tn_pkt_pullup(stack, pkt, tn_min(pkt->len, STACK_PULL_BYTES)) != TENON_OK)
        return;    /* no buffer: counted there */
    if (tn_netif_is_bare(pkt->netif))
        stack_input_bare(stack, pkt);
    else
        stack_input_link(stack, pkt);
}

static void stack_account(struct tenon *stack, struct tn_netif *netif, unsigned frames, tenon_u32 bytes)
{
    if (!TENON_WITH_STATS)
        return;
    tn_count_n(stack, TENON_STAT_RX_FRAMES, frames);
    tn_count_n(stack, TENON_STAT_RX_BYTES, bytes);
    netif->rx_frames += frames;
    netif->rx_bytes += bytes;
}

/* All bytes of the packet, from its link header on. conn: whose it may be. */
static void stack_input_packet(struct tenon *stack, struct tn_pkt *pkt, const struct tenon_frame *frame,
                               struct tenon_tcp *conn)
{
    const struct tenon_span *spans = frame->spans;

    pkt->spans = spans;
    pkt->nspans = frame->nspans;
    pkt->head = tenon_span_data(spans);
    if (TENON_WITH_SPLIT)
        pkt->head_len = spans->len;
    if (!TENON_WITH_SPEED || !tn_ip_usual(stack, pkt, conn))
        stack_input_layers(stack, pkt);
    tn_pkt_unpull(pkt);
}

static void stack_input_general(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    const struct tenon_frame *frame = rx->frame;
    struct tn_pkt pkt;

    if (tn_fast_syn_input(stack, netif, rx))
        return;
    tn_pkt_clear(&pkt);
    pkt.len = rx->bytes;
    pkt.netif = netif;
    /* PARTIAL is a packet that never left the machine: nothing can have broken it. */
    pkt.csum = frame->csum;
    if (TENON_WITH_SPEED) {
        pkt.seg_kind = frame->seg_kind;
        pkt.seg_bytes = frame->seg_bytes;
        pkt.merged = rx->merged;
        pkt.flow_hash = frame->flow_hash;
    }
    stack_input_packet(stack, &pkt, frame, rx->conn);
}

static tenon_u32 stack_spans_bytes(const struct tenon_frame *frame)
{
    tenon_u32 bytes = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    return bytes;
}

TENON_HOT tenon_u32 stack_frame_bytes(const struct tenon_frame *frame)
{
    if (TENON_LIKELY(!TENON_WITH_SPLIT || (!TENON_SMALL && frame->nspans == 1)))
        return frame->spans->len;
    if (!TENON_SMALL && frame->nspans == 2)
        return frame->spans->len + frame->spans[1].len;
    return stack_spans_bytes(frame);
}

TENON_HOT void stack_input_either(struct tenon *stack, struct tn_netif *netif, const struct tn_fast_rx *rx)
{
    if (rx->conn == NULL || !tn_fast_input(stack, netif, rx))
        stack_input_general(stack, netif, rx);
}

/* conn: whose it may be; is_last: nothing more comes for that in this burst. */
TENON_HOT void stack_input_frame(struct tenon *stack, struct tn_netif *netif, const struct tenon_frame *frame,
                                 struct tenon_tcp *conn, int is_last)
{
    struct tn_fast_rx rx;

    if (!netif->up)
        return;
    if (TENON_UNLIKELY(frame->nspans - 1U >= TN_RX_SPANS_MAX)) {
        if (frame->nspans > 0)
            tn_count(stack, TENON_STAT_RX_PIECES);
        return;
    }
    rx.bytes = stack_frame_bytes(frame);
    rx.frame = frame;
    rx.conn = conn;
    rx.merged = 0;
    rx.is_last = is_last;
    stack_input_either(stack, netif, &rx);
}

/* Frame `at` of a burst, and those that go up together with it. */
TENON_APART void stack_input_together(struct tenon *stack, struct tn_netif *netif, struct tn_gro_plan *plan,
                                      const struct tenon_frame *frames, unsigned at)
{
    struct tenon_frame whole;
    struct tn_fast_rx rx;
    struct tn_gro run;
    unsigned n;

    run.netif = netif;
    n = tn_gro_collect(stack, &run, plan, frames, at);
    if (n == 1) {
        stack_input_frame(stack, netif, frames + at, plan->conns[at], plan->next[at] == 0);
        return;
    }
    tn_count_n(stack, TENON_STAT_RX_MERGED, n - 1);
    whole = frames[at];
    whole.spans = run.spans;
    whole.nspans = (tenon_u16)run.to.n;
    whole.csum = TENON_CSUM_GOOD;
    whole.seg_kind = run.seg_kind;
    whole.seg_bytes = run.seg_bytes;
    rx.frame = &whole;
    rx.conn = plan->conns[at];
    rx.bytes = run.to.bytes;
    rx.merged = run.merged;
    rx.is_last = 0;
    stack_input_either(stack, netif, &rx);
}

/* At most TN_GRO_FRAMES. A port has written them with DMA, or another core has: they are in no cache near, and are sent
 * for together. Then their connections are looked up: while one is searched for, the memory of those that were found
 * is on its way. */
static void stack_input_some(struct tenon *stack, struct tn_netif *netif, const struct tenon_frame *frames, unsigned n)
{
    struct tn_gro_plan plan;
    tenon_u32 bytes = 0;
    int looked;
    unsigned i;

    for (i = 0; i < n; i++) {
        TENON_PREFETCH(frames[i].nspans > 0 ? tenon_span_data(frames[i].spans) : NULL);
        bytes += stack_frame_bytes(&frames[i]);
    }
    stack_account(stack, netif, n, bytes);
    tn_fast_look(stack, netif, frames, plan.conns, n);
    looked = n == 1 || !(netif->conf.flags & TENON_NETIF_NO_GRO);
    if (n == 1 || !netif->up || tn_gro_look(&plan, netif, frames, n) == 0) {
        for (i = 0; i < n; i++)
            stack_input_frame(stack, netif, frames + i, plan.conns[i], looked);
        return;
    }
    for (i = 0; i < n; i++) {
        if (plan.taken[i])
            continue;
        if (plan.next[i] != 0 && netif->up)
            stack_input_together(stack, netif, &plan, frames, i);
        else
            stack_input_frame(stack, netif, frames + i, plan.conns[i], 1);
    }
}

/* Nothing to go up with, and nobody to wait for. */
static void stack_input_one(struct tenon *stack, struct tn_netif *netif, const struct tenon_frame *frame)
{
    struct tenon_tcp *conn = NULL;

    stack_account(stack, netif, 1, stack_frame_bytes(frame));
    if (TENON_WITH_SPEED)
        tn_fast_look(stack, netif, frame, &conn, 1);
    stack_input_frame(stack, netif, frame, conn, 1);
}

static void stack_input_burst(struct tenon *stack, struct tn_netif *netif, const struct tenon_frame *frames, unsigned n)
{
    for (; n > 0 && (!TENON_WITH_SPEED || n == 1); frames++, n--)
        stack_input_one(stack, netif, frames);
    while (n > 0) {
        const unsigned some = (unsigned)tn_min(n, TN_GRO_FRAMES);

        stack_input_some(stack, netif, frames, some);
        frames += some;
        n -= some;
    }
}

static void stack_settle(struct tenon *stack)
{
    tn_tcp_run(stack);
    if (stack->tx.n > 0)
        tn_tx_flush(stack);
    stack->depth = 0;
    tn_tcp_reap(stack);
    if (TENON_CHECK_INVARIANTS)
        tn_tcp_check_all(stack);
}

TENON_API int tenon_input(struct tenon *stack, unsigned netif, const struct tenon_frame *frames, unsigned n,
                          tenon_u32 now_us)
{
    struct tn_netif *in = tn_netif_at(stack, netif);

    if (in == NULL)
        return TENON_EINVAL;
    TENON_ASSERT(stack->depth == 0);
    stack->depth = 1;
    stack_set_time(stack, now_us);
    stack_input_burst(stack, in, frames, n);
    stack_settle(stack);
    return TENON_OK;
}

/* ---- poll ------------------------------------------------------------------------------------------- */

enum { STACK_POLL_MAX_MIN = 30 };

TENON_API tenon_u32 tenon_poll(struct tenon *stack, tenon_u32 now_us)
{
    const tenon_u32 longest = STACK_POLL_MAX_MIN * 60000000UL;
    tenon_u32 ticks, since;

    TENON_ASSERT(stack->depth == 0);
    stack->depth = 1;
    stack_set_time(stack, now_us);
    if (stack->tx.n > 0)
        tn_tx_flush(stack);
    stack_run_timers(stack);
    stack_settle(stack);
    if (stack->tx.blocked || stack->tcp.ready_first != NULL)
        return 0;
    ticks = tn_wheel_next(&stack->wheel);
    /* The wheel's tick began tick_us ago: that much of the time is over already. */
    since = now_us - stack->tick_us;
    if (ticks > (longest + since) >> TN_TICK_SHIFT)
        return longest;
    return ticks << TN_TICK_SHIFT > since ? (ticks << TN_TICK_SHIFT) - since : 1;
}
