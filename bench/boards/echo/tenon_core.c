/* SPDX-License-Identifier: MIT */
/* The echo with the core's own interface, as lwip.c is the one with lwIP's: what has been received goes back out of the
 * block in which it came, and the window opens again when the client has acknowledged it. So there are no rings. */
#include "echo.h"

enum {
    PIECES = 8,                    /* so many a connection takes to send, in a build without QUEUE ... */
    WAITS = ECHO_BLOCKS > PIECES,  /* ... and what there are more of waits: 1 */
    HEADERS = 4,
    HEADER_BYTES = TENON_BUF_BYTES_MIN,
    INSTANCE = TENON_WITH_IPV6 ? 3072 : 1536,    /* the spare is told, and left out of what is compared */
    MEMORY = TENON_WITH_IPV6 ? 4240 : 3840       /* for six connections at work, as in tenon_calls.c */
};

/* ---- memory ------------------------------------------------------------------------------------------- */

struct place {
    struct tenon_buf buf;
    struct place *next;        /* while it is free, or waits */
    struct tenon_tcp *conn;    /* that waits for room to send what came here ... */
    size_t off, len;           /* ... and where that lies */
};

struct pool {
    struct place *free;
    unsigned nfree;
};

/* Few sizes: what the core gives back waits for who wants just as much. */
struct piece {
    struct piece *next;
    size_t bytes;
};

static struct echo {
    struct tenon *stack;
    tenon_u32 now_us;
    size_t instance_bytes;
    struct pool blocks, headers;
    unsigned with_device;    /* blocks that it fills */
    int last;                /* what comes now is in the last place */
    struct place *waiting;   /* in the order in which it came */
    struct piece *pieces;
    size_t memory_top, memory_used;
    struct tenon_sock_device device;
    struct place places[ECHO_BLOCKS + HEADERS];
} echo;
static tenon_u8 buffers[ECHO_BLOCKS * ECHO_BLOCK_BYTES + HEADERS * HEADER_BYTES] __attribute__((aligned(16)));
static tenon_u8 memory[MEMORY] __attribute__((aligned(8))), instance[INSTANCE] __attribute__((aligned(16)));

static struct tenon_buf *pool_get(struct pool *pool)
{
    struct place *place = pool->free;

    if (place == NULL)
        return NULL;
    pool->free = place->next;
    pool->nfree--;
    place->buf.refs = 1;
    return &place->buf;
}

static void pool_put(struct tenon_buf *buf)
{
    struct pool *pool = buf->size == HEADER_BYTES ? &echo.headers : &echo.blocks;
    struct place *place = (struct place *)(void *)buf;    /* its first member */

    place->next = pool->free;
    pool->free = place;
    pool->nfree++;
}

/* Blocks, and behind them headers. */
static void fill_pools(void)
{
    struct place *place = echo.places;
    tenon_u8 *bytes = buffers;

    for (; bytes < buffers + sizeof(buffers); bytes += place->buf.size, place++) {
        place->buf.data = bytes;
        place->buf.size = place < echo.places + ECHO_BLOCKS ? ECHO_BLOCK_BYTES : HEADER_BYTES;
        place->buf.release = pool_put;
        pool_put(&place->buf);
    }
}

static size_t piece_bytes(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static void *mem_get(void *host, size_t bytes)
{
    const size_t all = piece_bytes(bytes);
    struct piece **at = &echo.pieces, *piece;

    (void)host;
    while (*at != NULL && (*at)->bytes != all)
        at = &(*at)->next;
    piece = *at;
    if (piece == NULL && all > sizeof(memory) - echo.memory_top)
        return NULL;
    echo.memory_used += all;
    if (piece != NULL) {
        *at = piece->next;
        return piece;
    }
    echo.memory_top += all;
    return memory + echo.memory_top - all;
}

static void mem_put(void *host, void *mem, size_t bytes)
{
    struct piece *piece = mem;

    (void)host;
    piece->bytes = piece_bytes(bytes);
    piece->next = echo.pieces;
    echo.pieces = piece;
    echo.memory_used -= piece->bytes;
}

/* ---- between the core and the driver -------------------------------------------------------------------- */

/* A driver that knows how long a frame is hears a short one in a buffer for headers when all blocks are in use. */
static unsigned headers_lent(void)
{
    return (echo.device.flags & TENON_SOCK_LENGTHS) != 0;
}

struct tenon_buf *tenon_sock_block(struct tenon_socks *unused)
{
    struct tenon_buf *buf = pool_get(&echo.blocks);

    (void)unused;
    echo.with_device += buf != NULL;
    return buf;
}

struct tenon_buf *tenon_sock_block_for(struct tenon_socks *unused, unsigned bytes)
{
    struct tenon_buf *buf = tenon_sock_block(unused);

    return buf == NULL && bytes <= HEADER_BYTES ? pool_get(&echo.headers) : buf;
}

/* Of what comes in the last place nothing is kept: clients who have not read say in it that they have room now. */
void tenon_sock_input(struct tenon_socks *unused, struct tenon_buf *buf, unsigned off, unsigned n, enum tenon_csum csum)
{
    const unsigned is_block = buf->size != HEADER_BYTES;
    struct tenon_span span;
    struct tenon_frame frame;

    (void)unused;
    __builtin_memset(&frame, 0, sizeof(frame));
    span.buf = buf;
    span.off = off;
    span.len = n;
    frame.spans = &span;
    frame.nspans = 1;
    frame.csum = (tenon_u8)csum;
    echo.last = !is_block || echo.blocks.nfree + echo.with_device + headers_lent() == 1;
    tenon_keep(echo.stack, echo.last ? TENON_KEEP_NOTHING : TENON_KEEP_ALL);
    if (off + n > buf->size)
        board_counts.rx_dropped++;    /* longer than its place: of it there is only the beginning, or nothing */
    else
        (void)tenon_input(echo.stack, 1, &frame, 1, echo.now_us);
    echo.with_device -= is_block;
    tenon_buf_put(buf);
}

static unsigned buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    unsigned i;

    (void)host;
    for (i = 0; i < n && echo.headers.nfree > headers_lent(); i++)
        bufs[i] = pool_get(&echo.headers);
    return i;
}

static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    (void)host, (void)netif;
    return echo.device.transmit(NULL, frames, n);
}

static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    return board_entropy(bytes, n);
}

static const struct tenon_host ops = {TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy};

/* ---- the program ------------------------------------------------------------------------------------------ */

static void wait_for_room(struct tenon_tcp *conn, const struct tenon_span *span)
{
    struct place *place = (struct place *)(void *)span->buf, **at = &echo.waiting;

    while (*at != NULL)
        at = &(*at)->next;
    place->next = NULL;
    place->conn = conn;
    place->off = span->off;
    place->len = span->len;
    tenon_buf_ref(span->buf);
    *at = place;
}

/* @return 1: nothing of this connection waits any more */
static int send_waiting(struct tenon_tcp *conn)
{
    struct place **at = &echo.waiting, *place;
    struct tenon_span span;

    while ((place = *at) != NULL) {
        span.buf = &place->buf;
        span.off = place->off;
        span.len = place->len;
        if (place->conn != conn) {
            at = &place->next;
            continue;
        }
        if (tenon_tcp_send(conn, &span) != TENON_OK)
            return 0;
        *at = place->next;
        tenon_buf_put(&place->buf);
    }
    return 1;
}

/* There is room for as many bytes as the window lets in, and for as many pieces if there are no more blocks. */
static void have_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (; n > 0; n--, spans++) {
        if (WAITS) {
            wait_for_room(conn, spans);
        } else if (tenon_tcp_send(conn, spans) != TENON_OK) {
            tenon_tcp_abort(conn);
            return;
        }
    }
    if (WAITS)
        (void)send_waiting(conn);
}

/* app: not NULL if the client has sent his last. */
static void have_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    tenon_tcp_consumed(conn, bytes);
    if (WAITS && send_waiting(conn) && app != NULL)
        (void)tenon_tcp_finish(conn);
}

static void have_datagram(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    (void)app;
    if (!echo.last)
        (void)tenon_udp_send_from(sock, &info->to.ip, &info->from, spans, n);
}

static void have_finished(struct tenon_tcp *conn, void *app);
static void have_closed(struct tenon_tcp *conn, void *app, int why);

/* Who has sent his last gets the rest, and our last: so it is where nothing is said of it. */
static const struct tenon_tcp_events tcp_events = {
    NULL, NULL, have_received, have_acked, WAITS ? have_finished : NULL, WAITS ? have_closed : NULL, NULL, NULL};
static const struct tenon_udp_events udp_events = {have_datagram, NULL};

static void have_finished(struct tenon_tcp *conn, void *app)
{
    (void)app;
    if (send_waiting(conn))
        (void)tenon_tcp_finish(conn);
    else
        tenon_tcp_handler(conn, &tcp_events, &echo);
}

static void have_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct place **at = &echo.waiting, *place;

    (void)app, (void)why;
    while ((place = *at) != NULL) {
        if (place->conn != conn) {
            at = &place->next;
            continue;
        }
        *at = place->next;
        tenon_buf_put(&place->buf);
    }
}

static int open_all(void)
{
    struct tenon_tcp_listener *listener;
    struct tenon_udp *datagrams;
    struct tenon_addr any;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = ECHO_PORT;
    return tenon_tcp_listen(echo.stack, &listener, &any, &tcp_events, NULL, ECHO_CLIENTS) == TENON_OK &&
           tenon_tcp_listener_set(listener, TENON_TCP_NODELAY, 1) == TENON_OK &&
           tenon_udp_open(echo.stack, &datagrams, &udp_events, NULL) == TENON_OK &&
           tenon_udp_bind(datagrams, &any) == TENON_OK;
}

/* As tenon_calls.c limits it. What is 0 has its default. */
static void limit(struct tenon_conf *conf)
{
    __builtin_memset(conf, 0, sizeof(*conf));
    if (TENON_WITH_IPV6) {
        conf->netifs_max = 1;
        conf->addrs_max = 1 + ECHO_ADDRESSES6;
        conf->routes_max = 2 + 2 * ECHO_ROUTERS6;
        conf->groups_max = 1 + ECHO_ADDRESSES6;
    }
    conf->tx_burst_max = 2;
    conf->tx_gather_max = 3;
    conf->neighbours_max = TENON_WITH_IPV6 ? 2 * ECHO_NEIGHBOURS : ECHO_NEIGHBOURS;
    conf->neighbour_asks_max = 8;
    conf->neighbour_queue_max = 1;
    conf->udp_sockets_max = 1;
    conf->tcp_conns_max = ECHO_CONNS;
    conf->tcp_rcv_buf = ECHO_WINDOW;
    conf->tcp_snd_buf = ECHO_WINDOW;
    conf->tcp_ooo_bytes_max = ECHO_BLOCKS / 4 * (ECHO_BLOCK_BYTES + 64);
    conf->tcp_ooo_total_max = ECHO_BLOCKS / 4 * (ECHO_BLOCK_BYTES + 64);
    conf->tcp_ooo_ranges_max = 3;
}

int echo_start(void)
{
    const struct tenon_ip us = tenon_ip4_bytes(10, 0, 2, 15);
    struct tenon_conf conf;

    limit(&conf);
    fill_pools();
    board_ethernet(&echo.device);
    echo.device.netif.flags = TENON_NETIF_NO_DAD;
    echo.instance_bytes = tenon_mem_size(&conf);
    if (echo.instance_bytes > sizeof(instance))
        return 0;
    echo.stack = tenon_init(instance, &conf, &ops, NULL);
    return echo.stack != NULL && tenon_netif_add(echo.stack, &echo.device.netif) == 1 &&
           tenon_addr_add(echo.stack, 1, &us, 24) == TENON_OK && open_all();
}

tenon_u32 echo_turn(void)
{
    echo.now_us = board_now_us();
    echo.device.poll(NULL, NULL);
    return tenon_poll(echo.stack, echo.now_us);
}

void echo_facts(void)
{
    say_value("spare", (tenon_u32)(sizeof(instance) - echo.instance_bytes));
    say_value("receiving", ECHO_BLOCKS * (sizeof(struct place) + ECHO_BLOCK_BYTES));
    say_value("sending", 0);
    say_value("memory", (tenon_u32)echo.memory_used);
    say_value("memory_top", (tenon_u32)echo.memory_top);
    say_value("memory_bytes", sizeof(memory));
}
