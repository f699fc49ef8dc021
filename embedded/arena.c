/* SPDX-License-Identifier: MIT */
/* The arena: how it is divided at the start, and the three kinds of memory in it: receive blocks, header buffers, and
 * memory for the core. */
#include "embedded/sock_internal.h"

/* ---- buffers ------------------------------------------------------------------------------------ */

TENON_INTERNAL struct tenon_buf *tn_sock_pool_get(struct sock_pool *pool)
{
    struct sock_unit *unit = pool->free;

    if (unit == NULL)
        return NULL;
    pool->free = unit->next;
    pool->nfree--;
    if (TENON_WITH_STATS && pool->nfree < pool->low)
        pool->low = pool->nfree;
    unit->buf.refs = 1;
    unit->next = NULL;
    return &unit->buf;
}

/* While a buffer is out nothing follows it in the list: that it is kept is said there, by itself, and once. */
TENON_INTERNAL void tn_sock_looked_at(struct tenon_buf *buf)
{
    struct sock_unit *unit = TENON_CONTAINER(buf, struct sock_unit, buf);

    if (buf->refs > 1 && !(TENON_WITH_FRAGMENTS && unit->next == unit)) {
        unit->next = unit;
        unit->pool->kept++;
    }
    tenon_buf_put(buf);
}

/* The release() of every buffer of a pool. It comes into use again after all others: who gives back a second time what
 * he has read finds nobody there for as long as can be. */
TENON_INTERNAL void tn_sock_pool_put(struct tenon_buf *buf)
{
    struct sock_unit *unit = TENON_CONTAINER(buf, struct sock_unit, buf);
    struct sock_pool *pool = unit->pool;

    if (unit->next == unit)
        pool->kept--;
    unit->next = NULL;
    if (pool->free == NULL)
        pool->free = unit;
    else
        pool->last->next = unit;
    pool->last = unit;
    pool->nfree++;
}

TENON_INTERNAL struct sock_block *tn_sock_look_for_block(struct tenon_socks *socks, struct tenon_buf *buf)
{
    struct sock_unit *own = TENON_CONTAINER(buf, struct sock_unit, buf);

    if (buf->release != tn_sock_pool_put || own->pool != &socks->blocks)
        return NULL;
    return TENON_CONTAINER(own, struct sock_block, unit);
}

TENON_INTERNAL unsigned tn_sock_headers_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct tenon_socks *socks = (struct tenon_socks *)host;
    unsigned i;

    for (i = 0; i < n && socks->headers.nfree > tn_sock_headers_lent(socks->device.flags); i++)
        bufs[i] = tn_sock_pool_get(&socks->headers);
    return i;
}

/* ---- memory for the core ------------------------------------------------------------------------ */

/* All pieces are multiples of what a gap needs at least, so that no rest is too small to be one. */
enum { ARENA_UNIT = (int)sizeof(struct sock_gap) > (int)SOCK_ALIGN ? (int)sizeof(struct sock_gap) : (int)SOCK_ALIGN };

static size_t arena_piece(size_t bytes)
{
    return (bytes + ARENA_UNIT - 1) / ARENA_UNIT * ARENA_UNIT;
}

/* The first gap that is large enough: few pieces are out, of few sizes. */
TENON_INTERNAL void *tn_sock_memory_get(void *host, size_t bytes)
{
    struct sock_memory *memory = &((struct tenon_socks *)host)->memory;
    const size_t piece = arena_piece(bytes);
    struct sock_gap *before = &memory->before, *gap, *rest;

    for (gap = before->next; gap != NULL && gap->bytes < piece; gap = gap->next)
        before = gap;
    if (gap == NULL || piece < bytes)
        return NULL;
    before->next = gap->next;
    if (gap->bytes > piece) {
        rest = (struct sock_gap *)(void *)((tenon_u8 *)gap + piece);
        rest->next = gap->next;
        rest->bytes = gap->bytes - piece;
        before->next = rest;
    }
    memory->used += piece;
    if (memory->used > memory->top)
        memory->top = memory->used;
    return gap;
}

/* Two gaps that touch become one. */
static void arena_join(struct sock_gap *gap)
{
    if (gap->next == NULL || (tenon_u8 *)gap + gap->bytes != (tenon_u8 *)gap->next)
        return;
    gap->bytes += gap->next->bytes;
    gap->next = gap->next->next;
}

TENON_INTERNAL void tn_sock_memory_put(void *host, void *mem, size_t bytes)
{
    struct sock_memory *memory = &((struct tenon_socks *)host)->memory;
    struct sock_gap *gap = (struct sock_gap *)mem, *before = &memory->before;

    while (before->next != NULL && before->next < gap)
        before = before->next;
    gap->next = before->next;
    gap->bytes = arena_piece(bytes);
    before->next = gap;
    memory->used -= gap->bytes;
    arena_join(gap);
    arena_join(before);
}

/* ---- limits ------------------------------------------------------------------------------------- */

/* Limits of 16 bits that are the same on all small machines. */
struct arena_limit {
    tenon_u8 at;    /* in struct tenon_sock_conf */
    tenon_u8 usual;
};
enum { ARENA_STACK = offsetof(struct tenon_sock_conf, stack) };
static const struct arena_limit arena_limits[] = {
    {offsetof(struct tenon_sock_conf, socks), 4},
    {offsetof(struct tenon_sock_conf, blocks), 8},
    {offsetof(struct tenon_sock_conf, packets), 8},
    {ARENA_STACK + offsetof(struct tenon_conf, tx_burst_max), 8},
    {ARENA_STACK + offsetof(struct tenon_conf, neighbours_max), 8},
    {ARENA_STACK + offsetof(struct tenon_conf, neighbour_queue_max), 2},
    {ARENA_STACK + offsetof(struct tenon_conf, tcp_ooo_ranges_max), 3},
    {ARENA_STACK + offsetof(struct tenon_conf, icmp_errors_per_s), 10},
    {ARENA_STACK + offsetof(struct tenon_conf, icmp_errors_burst), 4}
};

static void arena_u16(tenon_u16 *field, unsigned value)
{
    if (*field == 0)
        *field = (tenon_u16)value;
}

static void arena_u32(tenon_u32 *field, tenon_u32 value)
{
    if (*field == 0)
        *field = value;
}

/* A packet that a router has cut comes in two fragments at least: so many blocks, if there are others, and buffers for
 * headers for what is small. */
static tenon_u32 arena_reass_bytes(const struct tenon_sock_conf *conf, tenon_u32 quarter)
{
    const int has_two = conf->blocks > tn_sock_blocks_least(conf->device.flags) + 1U;

    return (has_two && quarter < 2 ? 2 : quarter) * ((tenon_u32)conf->block_bytes + 64U) + 4U * SOCK_HEADER_BYTES;
}

/* 1: the core remembers destinations that nobody uses any more (TN_PATHS_KEPT of link/link.h). */
enum { ARENA_REMEMBERS = TENON_WITH_MANY || TENON_WITH_PATH_MTU || TENON_WITH_ROUTES || TENON_WITH_IPV6 };

/* Limits that many builds have no use for. */
static void arena_complete_more(struct tenon_sock_conf *conf, tenon_u32 quarter)
{
    struct tenon_conf *stack = &conf->stack;

    if (TENON_WITH_HOMES) {
        arena_u16(&stack->netifs_max, 1);
        arena_u16(&stack->addrs_max, 4);
        arena_u16(&stack->routes_max, 6);
    }
    if (TENON_WITH_MULTICAST)
        arena_u16(&stack->groups_max, 8);
    if (TENON_WITH_FRAGMENTS) {
        arena_u32(&stack->reass_bytes_max, arena_reass_bytes(conf, quarter));
        arena_u16(&stack->reass_datagrams_max, 2);
        arena_u16(&stack->reass_pieces_max, 4);
    }
    if (TENON_WITH_MANY) {
        arena_u16(&stack->neighbour_asks_max, 8);
        arena_u32(&stack->tcp_resting_max, 1);
        arena_u16(&stack->tcp_port_counters, 16);
    }
    if (ARENA_REMEMBERS)
        arena_u32(&stack->paths_max, TENON_WITH_MANY ? 8 : conf->conns + 1U);
    if (TENON_WITH_COOKIES) {
        arena_u32(&stack->tcp_fastopen_pending_max, 1);
        arena_u16(&stack->tcp_fastopen_cache_max, 1);
    }
}

/* The core's limits for a small machine; what the program has set stays. */
static void arena_complete_stack(struct tenon_sock_conf *conf)
{
    /* Of three one, of two none: one fills the hole, and one is nobody's. */
    const tenon_u32 quarter = (conf->blocks + 1U) / 4U;
    const tenon_u32 held = quarter > 0 ? quarter * ((tenon_u32)conf->block_bytes + 64U) : 1;
    struct tenon_conf *stack = &conf->stack;

    arena_u16(&stack->tx_gather_max, conf->packets + 1U);    /* all that a ring can hold, and headers */
    arena_u32(&stack->udp_sockets_max, conf->socks);
    arena_u32(&stack->tcp_conns_max, conf->conns);
    arena_u32(&stack->tcp_rcv_buf, conf->window);
    arena_u32(&stack->tcp_snd_buf, 0x10000UL);
    arena_u32(&stack->tcp_ooo_bytes_max, held);
    arena_u32(&stack->tcp_ooo_total_max, held);
    arena_u32(&stack->tcp_rsts_per_s, 10);
    if (TENON_WITH_WAITS)
        arena_u32(&stack->tcp_time_wait_max, 4);
    if (TENON_WITH_QUEUE || TENON_WITH_SPEED)
        arena_u16(&stack->tcp_copy_max, 1);
    if (TENON_WITH_ORPHANS)
        arena_u32(&stack->tcp_orphans_max, conf->conns);
    if (TENON_WITH_RECOVERY && stack->tcp_cc == NULL)
        stack->tcp_cc = &tenon_cc_newreno;
    arena_complete_more(conf, quarter);
}

/* ---- the parts of the arena: sums have 32 bits where a size_t has 16 ------------------------------ */

/* What would be more than that stays there. */
#define ARENA_TOO_MUCH_UL 0x80000000UL

/* Bytes that an arena can have. */
static tenon_u32 arena_most(void)
{
    return sizeof(size_t) > 2 ? ARENA_TOO_MUCH_UL - 1 : 0xFFFFUL;
}

/* `bytes`, and n things more. */
static tenon_u32 arena_add(tenon_u32 bytes, tenon_u32 n, size_t each)
{
    if (TENON_WITH_CHECKS && each != 0 && n > (ARENA_TOO_MUCH_UL - bytes) / each)
        return ARENA_TOO_MUCH_UL;
    return bytes + n * (tenon_u32)each;
}

static tenon_u32 arena_add_kind(tenon_u32 bytes, tenon_u32 n, enum tenon_mem_kind kind)
{
    return arena_add(bytes, n, arena_piece(tenon_mem_bytes(kind)));
}

/* What descriptors need at once, whatever they are used for. A listening port has a listener and options of its own;
 * each of the others is a socket of UDP, or a connection that we open, whose options are its own. Sockets of UDP beyond
 * the descriptors are the program's own: its services have them. Where there are MANY, options that are alike are
 * shared; where there are not, a socket with a fixed peer has a path of its own. */
static tenon_u32 arena_add_ends(tenon_u32 bytes, const struct tenon_sock_conf *conf)
{
    const unsigned ports = TENON_WITH_LISTEN ? conf->ports : 0, rest = conf->socks - ports;
    const tenon_u32 most = TENON_WITH_UDP ? conf->stack.udp_sockets_max : 0, udp = most < rest ? most : rest;
    const tenon_u32 others = most > conf->socks ? most - conf->socks : 0;
    tenon_u32 options = TENON_WITH_MANY ? 1 + 3 : 1 + conf->socks - udp;    /* 1: of all that have said nothing else */

    bytes = arena_add_kind(bytes, ports, TENON_MEM_LISTENER);
    bytes = arena_add_kind(bytes, udp + others, TENON_MEM_UDP);
    if (TENON_WITH_CONNECT && !TENON_WITH_MANY)
        bytes = arena_add_kind(bytes, udp + others, TENON_MEM_PATH);
    if (!TENON_WITH_MANY && conf->stack.tcp_conns_max > conf->socks)    /* deleted, and not done yet */
        options += conf->stack.tcp_conns_max - conf->socks;
    return arena_add_kind(bytes, options, TENON_MEM_OPTIONS);
}

/* One to each connection, and one for who is answered without; or what is remembered of destinations, if more. */
static tenon_u32 arena_paths(const struct tenon_conf *stack)
{
    const tenon_u32 used = arena_add(stack->tcp_conns_max, 1, 1);

    return ARENA_REMEMBERS && stack->paths_max > used ? stack->paths_max : used;
}

/* Of connections, end points and tables that grow: what they cannot be without, in full; and what they can be without
 * for a while (records of what was lost or came out of order, queues of neighbours, pieces of fragments) for half of
 * the connections. tests/unit/embedded and tests/sock show that it is enough. */
static tenon_u32 arena_memory_bytes(const struct tenon_sock_conf *conf)
{
    const struct tenon_conf *stack = &conf->stack;
    const unsigned pointer = sizeof(void *);
    const unsigned queued = conf->packets > 8 ? conf->packets : 0;    /* eight have their place in the block */
    const unsigned more = TENON_WITH_RECOVERY ? 400 + 32 * pointer + 64 * queued : 160 + 24 * pointer + 32 * queued;
    tenon_u32 bytes = TENON_WITH_MANY        ? 256 + 96 * pointer
                      : TENON_WITH_FRAGMENTS ? 128 + 32 * pointer
                                             : 64 + 16 * pointer;

    bytes = arena_add_kind(bytes, stack->tcp_conns_max, TENON_MEM_CONN);
    if (TENON_WITH_MANY)
        bytes = arena_add_kind(bytes, stack->tcp_conns_max, TENON_MEM_BLOCK);
    bytes = arena_add(bytes, stack->tcp_conns_max / 2 + 1, more);
    bytes = arena_add_kind(bytes, arena_paths(stack), TENON_MEM_PATH);
    if (TENON_WITH_WAITS)
        bytes = arena_add_kind(bytes, stack->tcp_time_wait_max, TENON_MEM_TIME_WAIT);
    return arena_add_ends(bytes, conf);
}

/* What struct sock has to be aligned to, and with it struct sock_port, which has nothing else in it. */
struct arena_aligned {
    tenon_u8 byte;
    struct sock sock;
};

/* The first part is struct tenon_socks: without STATS nobody counts, and the counters, which come last, are not there.
 * A buffer for headers has a record, too. */
enum {
    ARENA_SOCK_ALIGN = offsetof(struct arena_aligned, sock),
    ARENA_SOCKS = TENON_WITH_STATS ? sizeof(struct tenon_socks) : offsetof(struct tenon_socks, counts),
    ARENA_SOCKS_BYTES = (ARENA_SOCKS + ARENA_SOCK_ALIGN - 1) / ARENA_SOCK_ALIGN * ARENA_SOCK_ALIGN,
    ARENA_UNIT_BYTES = ((int)sizeof(struct sock_unit) + SOCK_ALIGN - 1) / SOCK_ALIGN * SOCK_ALIGN,
    ARENA_HEADER_BYTES = ARENA_UNIT_BYTES + SOCK_HEADER_BYTES
};

/* Offsets of the others. */
struct arena_layout {
    tenon_u32 ports, pieces, stack, blocks, headers, memory, total;
    size_t block;    /* bytes of one, with its record */
};

static tenon_u32 arena_behind(tenon_u32 at, tenon_u32 n, size_t each)
{
    return tn_sock_align(arena_add(at, n, each));
}

/* Records of what is read: a block has two pieces at most, and a buffer for headers may hold one of fragments. */
static tenon_u32 arena_pieces(const struct tenon_sock_conf *conf)
{
    return 2 * (tenon_u32)conf->blocks + (TENON_WITH_FRAGMENTS ? conf->headers : 0U);
}

static void arena_lay_out(struct arena_layout *layout, const struct tenon_sock_conf *conf)
{
    const size_t stack = tenon_mem_size(&conf->stack);    /* 0: more than a size_t can say */
    tenon_u32 memory = ARENA_TOO_MUCH_UL;

    if (conf->memory == 0)
        memory = arena_memory_bytes(conf);
    else if (!TENON_WITH_CHECKS || conf->memory <= arena_most())
        memory = (tenon_u32)conf->memory;
    memory = (memory + ARENA_UNIT - 1) / ARENA_UNIT * ARENA_UNIT;
    layout->block = (size_t)tn_sock_align(sizeof(struct sock_block)) + (size_t)tn_sock_align(conf->block_bytes);
    layout->ports = arena_add(ARENA_SOCKS_BYTES, conf->socks, sizeof(struct sock));
    layout->pieces = arena_behind(layout->ports, conf->ports, sizeof(struct sock_port));
    layout->stack = arena_behind(layout->pieces, arena_pieces(conf), sizeof(struct sock_piece));
    layout->stack = (layout->stack + 15) / 16 * 16;
    layout->blocks = TENON_WITH_CHECKS && stack == 0 ? ARENA_TOO_MUCH_UL : arena_behind(layout->stack, 1, stack);
    layout->headers = arena_behind(layout->blocks, conf->blocks, layout->block);
    layout->memory = arena_behind(layout->headers, conf->headers, ARENA_HEADER_BYTES);
    layout->total = arena_add(layout->memory, memory, 1);
}

/* Whose part is the first that the arena, with its alignment, has no address for. @return NULL: nobody's */
static const char *arena_check_parts(const struct arena_layout *layout)
{
    const tenon_u32 most = arena_most() - 15;

    if (!TENON_WITH_CHECKS)
        return NULL;
    if (layout->stack > most || (layout->headers > most && layout->blocks <= most))
        return "blocks";
    if (layout->blocks > most)
        return "stack";
    if (layout->memory > most)
        return "headers";
    return layout->total > most ? "memory" : NULL;
}

/* ---- what a program asks for, with all that it has left open ---------------------------------------- */

/* The largest packet that a block has to hold. For a device that takes frames of one piece, blocks have to hold what is
 * sent, too. */
static unsigned arena_packet(const struct tenon_sock_conf *conf)
{
    const struct tenon_netif_conf *netif = &conf->device.netif;
    const int all = (conf->device.flags & TENON_SOCK_CONTIGUOUS) || netif->mru == 0 || netif->mru > netif->mtu;

    return all ? netif->mtu : netif->mru;
}

static void arena_complete(struct tenon_sock_conf *conf)
{
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(arena_limits); i++)
        arena_u16((tenon_u16 *)(void *)((tenon_u8 *)conf + arena_limits[i].at), arena_limits[i].usual);
    arena_u16(&conf->ports, conf->socks);
    arena_u16(&conf->conns, conf->socks + 2U);
    arena_u16(&conf->block_bytes, arena_packet(conf) + 18U);
    /* An answer to each, and what the core reserves for that. */
    arena_u16(&conf->headers,
              TENON_SOCK_BURST * (TENON_WITH_SPEED ? 2U : 1U) + tn_sock_headers_lent(conf->device.flags));
    /* Of IPv4, with timestamps; one, if no more can be kept. */
    arena_u16(&conf->window, (conf->blocks > tn_sock_blocks_least(conf->device.flags) ? 2U : 1U) *
                                 (arena_packet(conf) - 52U));
    arena_u16(&conf->datagrams, conf->blocks / 4U > 0 ? conf->blocks / 4U : 1);
    arena_complete_stack(conf);
}

/* In front of a packet of the MTU: Ethernet's header, and a tag of 802.1Q. */
enum { ARENA_LINK_BYTES = !TENON_WITH_ETHERNET ? 0 : TENON_WITH_LINKS ? 18 : 14 };

static const char *arena_short_block(const struct tenon_sock_conf *conf)
{
    const int is_mtu = arena_packet(conf) == conf->device.netif.mtu;

    if (!TENON_WITH_ETHERNET)
        return is_mtu ? "block_bytes: mtu" : "block_bytes: mru";
    if (is_mtu)
        return TENON_WITH_LINKS ? "block_bytes: mtu + 18" : "block_bytes: mtu + 14";
    return TENON_WITH_LINKS ? "block_bytes: mru + 18" : "block_bytes: mru + 14";
}

/* What each host has to take: RFC 1122 3.3.2, RFC 8200 5. */
static int arena_takes_too_little(const struct tenon_netif_conf *netif)
{
    return netif->mru != 0 &&
           netif->mru < (TENON_WITH_IPV6 && !(netif->flags & TENON_NETIF_NO_IP6) ? 1280 : 576);
}

static const char *arena_check(const struct tenon_sock_conf *conf)
{
    if (!TENON_WITH_CHECKS)
        return NULL;
    if (conf->socks > SOCK_MAX)
        return "socks";
    if (conf->ports > conf->socks)
        return "ports";
    if (conf->blocks < tn_sock_blocks_least(conf->device.flags) || conf->blocks > 4096)
        return "blocks";
    if (conf->block_bytes < arena_packet(conf) + (unsigned)ARENA_LINK_BYTES)
        return arena_short_block(conf);
    if (conf->block_bytes > 32000)
        return "block_bytes";
    if (conf->headers < 3 + tn_sock_headers_lent(conf->device.flags) || conf->headers > 4096)
        return "headers";
    if (conf->packets > 32)
        return "packets";
    if (conf->window < 512)
        return "window";
    return tenon_conf_check(&conf->stack);
}

/* @return NULL, with the two as they will be, or the name of the first bad field */
static const char *arena_plan(const struct tenon_sock_conf *conf, struct tenon_sock_conf *whole,
                              struct arena_layout *layout)
{
    const char *bad;

    if (!TENON_WITH_PIECES)    /* all payload would be copied into header buffers, in crumbs */
        return "TENON_WITH_PIECES";
    if (TENON_WITH_CHECKS && (conf->device.transmit == NULL || conf->device.entropy == NULL))
        return "device";
    if (TENON_WITH_CHECKS && (conf->device.netif.mtu < 576 || conf->device.netif.mtu > 9000))
        return "device.netif.mtu";
    if (!TENON_WITH_LINEAR && (conf->device.flags & TENON_SOCK_CONTIGUOUS))
        return "device.flags";
    if (TENON_WITH_CHECKS && arena_takes_too_little(&conf->device.netif))
        return "device.netif.mru";
    *whole = *conf;
    arena_complete(whole);
    bad = arena_check(whole);
    if (bad != NULL)
        return bad;
    arena_lay_out(layout, whole);
    return arena_check_parts(layout);
}

TENON_API const char *tenon_sock_conf_check(const struct tenon_sock_conf *conf)
{
    struct tenon_sock_conf whole;
    struct arena_layout layout;

    return arena_plan(conf, &whole, &layout);
}

TENON_API size_t tenon_sock_arena_bytes(const struct tenon_sock_conf *conf)
{
    struct tenon_sock_conf whole;
    struct arena_layout layout;

    return arena_plan(conf, &whole, &layout) == NULL ? (size_t)layout.total + 15 : 0;
}

/* ---- filling it ------------------------------------------------------------------------------------- */

TENON_ONCE static void arena_fill_pool(struct sock_pool *pool, tenon_u8 *at, unsigned n, size_t step, size_t record)
{
    for (; n > 0; n--) {
        struct sock_unit *unit = (struct sock_unit *)(void *)at;

        unit->buf.data = at + record;
        unit->buf.size = (tenon_u32)(step - record);
        unit->buf.release = tn_sock_pool_put;
        unit->pool = pool;
        tn_sock_pool_put(&unit->buf);
        at += step;
    }
    pool->n = pool->nfree;
    if (TENON_WITH_STATS)
        pool->low = pool->nfree;
}

static void arena_fill(struct tenon_socks *socks, const struct arena_layout *layout, const struct tenon_sock_conf *conf)
{
    tenon_u8 *base = (tenon_u8 *)socks;
    struct sock_piece *pieces = (struct sock_piece *)(void *)(base + layout->pieces);
    tenon_u32 i;

    socks->socks = (struct sock *)(void *)(base + ARENA_SOCKS_BYTES);
    socks->ports = (struct sock_port *)(void *)(base + layout->ports);
    for (i = 0; i < conf->socks; i++)
        socks->socks[i].number = (int)i + 1;
    for (i = 0; i < arena_pieces(conf); i++) {
        pieces[i].next = socks->free_pieces;
        socks->free_pieces = &pieces[i];
    }
    arena_fill_pool(&socks->blocks, base + layout->blocks, conf->blocks, layout->block,
                    (size_t)tn_sock_align(sizeof(struct sock_block)));
    arena_fill_pool(&socks->headers, base + layout->headers, conf->headers, ARENA_HEADER_BYTES,
                    ARENA_UNIT_BYTES);
    socks->memory.before.next = (struct sock_gap *)(void *)(base + layout->memory);
    socks->memory.before.next->bytes = socks->memory.bytes = (size_t)(layout->total - layout->memory);
    socks->arena_bytes = (size_t)layout->total;
}

/* What windows may promise, if they are of two segments and more, and there are not blocks for those of all
 * descriptors. A block is for half of two, or a full segment: peers send that (RFC 9293 3.8.6.2.1), and windows open by
 * that (3.8.6.2.2), of which blocks for short packets would hold less. */
static void arena_share(struct tenon_socks *socks, const struct tenon_sock_conf *conf)
{
    const unsigned full = conf->device.netif.mtu - 40U, options = 32;
    const unsigned spare = (unsigned)tn_sock_blocks_spare(socks);
    const tenon_u32 window = conf->stack.tcp_rcv_buf, least = 2U * (full - options);

    if (arena_packet(conf) < conf->device.netif.mtu || window < least || window > 65535UL)
        return;
    socks->window = (tenon_u16)window;
    socks->segment = (tenon_u16)(window / 2 < full ? window / 2 : full);
    if ((tenon_u32)(spare / conf->socks) * socks->segment < window)
        socks->promises = (tenon_u16)spare;
}

static void arena_take_conf(struct tenon_socks *socks, const struct tenon_sock_conf *conf)
{
    socks->device.flags = conf->device.flags;
    socks->device.device = conf->device.device;
    socks->device.transmit = conf->device.transmit;
    socks->device.poll = conf->device.poll;
    socks->device.entropy = conf->device.entropy;
    socks->event = conf->event;
    socks->app = conf->app;
    socks->nsocks = (tenon_u8)conf->socks;    /* SOCK_MAX at most */
    socks->nports = (tenon_u8)conf->ports;
    if (TENON_WITH_COOKIES)
        socks->cookies = conf->stack.tcp_syncookies != 0;
    socks->packets_max = conf->packets;
    if (TENON_WITH_LINEAR)
        socks->front = (tenon_u8)tn_sock_ring_front(conf->device.flags);
    socks->datagrams_max = conf->datagrams;
    socks->blocks.kept = (tenon_u16)(tn_sock_blocks_least(conf->device.flags) - 1U);
    arena_share(socks, conf);
}

/* ---- start and stop ----------------------------------------------------------------------------- */

static int arena_entropy(void *host, void *bytes, size_t n)
{
    struct tenon_socks *socks = (struct tenon_socks *)host;

    return socks->device.entropy(socks->device.device, bytes, n);
}

static const struct tenon_host arena_ops = {TENON_HOST_VERSION,  tn_sock_memory_get, tn_sock_memory_put,
                                            tn_sock_headers_get, tn_sock_transmit,   arena_entropy};

TENON_API int tenon_sock_start(struct tenon_socks **out, void *arena, size_t bytes, const struct tenon_sock_conf *conf)
{
    tenon_u8 *base = (tenon_u8 *)arena;
    struct tenon_sock_conf whole;
    struct arena_layout layout;
    struct tenon_socks *socks;

    if (arena_plan(conf, &whole, &layout) != NULL || arena == NULL)
        return TENON_EINVAL;
    if (bytes < layout.total + 15)
        return TENON_ENOMEM;
    base += (16 - (size_t)base % 16) % 16;
    memset(base, 0, (size_t)layout.total);
    socks = (struct tenon_socks *)(void *)base;
    arena_fill(socks, &layout, &whole);
    arena_take_conf(socks, &whole);
    socks->stack = tenon_init(base + layout.stack, &whole.stack, &arena_ops, socks);
    whole.device.netif.gather_max = 0;
    if (TENON_WITH_LINEAR && (whole.device.flags & TENON_SOCK_CONTIGUOUS))    /* a block holds one packet */
        whole.device.netif.caps &= ~(tenon_u32)(TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO);
    if (socks->stack == NULL || tenon_netif_add(socks->stack, &whole.device.netif) != 1)
        return TENON_EINVAL;
    *out = socks;
    return TENON_OK;
}

/* A device that has ended. */
static unsigned arena_transmits_nothing(void *device, const struct tenon_frame *frames, unsigned n)
{
    (void)device;
    (void)frames;
    (void)n;
    return 0;
}

TENON_API void tenon_sock_stop(struct tenon_socks *socks)
{
    struct sock *sock = socks->socks;
    unsigned n;

    socks->device.transmit = arena_transmits_nothing;
    for (n = socks->nsocks; n > 0; n--, sock++)
        if (sock->use == SOCK_USED)
            (void)tenon_sock_delete(socks, sock->number, TENON_SOCK_ABORT);
    tn_sock_close_ports(socks);
    tenon_fini(socks->stack);
    while (socks->nrx > 0)
        tenon_buf_put(socks->rx_spans[--socks->nrx].buf);
}

TENON_API struct tenon *tenon_sock_stack(const struct tenon_socks *socks)
{
    return socks->stack;
}

TENON_API void tenon_sock_count(const struct tenon_socks *socks, struct tenon_sock_counts *counts)
{
    if (TENON_WITH_STATS)
        memcpy(counts, &socks->counts, sizeof(*counts));
    else
        memset(counts, 0, sizeof(*counts));
    counts->blocks_free = socks->blocks.nfree;
    counts->blocks_low = TENON_WITH_STATS ? socks->blocks.low : socks->blocks.nfree;
    counts->headers_free = socks->headers.nfree;
    counts->headers_low = TENON_WITH_STATS ? socks->headers.low : socks->headers.nfree;
    counts->memory_used = socks->memory.used;
    counts->memory_top = socks->memory.top;
    counts->memory_bytes = socks->memory.bytes;
}
