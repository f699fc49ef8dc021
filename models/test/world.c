/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { MTU = 1500 };

tenon_u8 world_pattern[PATTERN];

unsigned long world_compare(tenon_u32 start, tenon_u32 at, const tenon_u8 *bytes, tenon_u32 n)
{
    unsigned long wrong = 0;

    for (tenon_u32 i = 0; i < n; i++)
        wrong += bytes[i] != world_pattern[(start + at + i) % PATTERN];
    return wrong;
}

void world_datagram(tenon_u8 *bytes, tenon_u32 n, tenon_u32 start)
{
    bytes[0] = (tenon_u8)(start >> 8);
    bytes[1] = (tenon_u8)start;
    bytes[2] = bytes[3] = 0;
    for (tenon_u32 i = 4; i < n; i++)
        bytes[i] = world_pattern[(start + i) % PATTERN];
}

unsigned long world_datagram_wrong(const struct tenon_span *spans, unsigned n)
{
    const tenon_u8 *first = n > 0 && spans[0].len >= 4 ? tenon_span_data(&spans[0]) : NULL;
    unsigned long wrong = first == NULL || first[2] != 0 || first[3] != 0;
    tenon_u32 at = 4;

    for (unsigned i = 0; i < n && wrong == 0; i++) {
        const tenon_u32 skip = i == 0 ? 4 : 0;

        wrong += world_compare((tenon_u32)first[0] << 8 | first[1], at, tenon_span_data(&spans[i]) + skip,
                               spans[i].len - skip);
        at += spans[i].len - skip;
    }
    return wrong;
}

struct tenon_addr world_peer(void)
{
    const struct tenon_addr addr = { .ip = tenon_ip4_bytes(10, 0, 0, 2), .port = WORLD_PEER_PORT };

    return addr;
}

static unsigned long next_random(struct world *world)
{
    world->random = (world->random * 1103515245UL + 12345UL) & 0x7FFFFFFFUL;
    return world->random >> 8;
}

/* ---- the peer's clients ------------------------------------------------------------------------------ */

static void peer_begin(struct world *world);

static void peer_send(struct peer_conn *conn)
{
    while (conn->sent < conn->total) {
        const tenon_u32 at = (conn->start + conn->sent) % PATTERN;
        tenon_u32 n = (tenon_u32)(next_random(conn->world) % 4000) + 1;
        tenon_i32 taken;

        if (n > conn->total - conn->sent)
            n = conn->total - conn->sent;
        if (n > PATTERN - at)
            n = PATTERN - at;
        taken = tenon_tcp_write(conn->tcp, world_pattern + at, n);
        if (taken <= 0)
            return;
        conn->sent += (tenon_u32)taken;
    }
    if (!conn->finished)
        (void)tenon_tcp_finish(conn->tcp);
    conn->finished = 1;
}

static void peer_opened(struct tenon_tcp *tcp, void *app)
{
    (void)tcp;
    peer_send(app);
}

static void peer_acked(struct tenon_tcp *tcp, void *app, tenon_u32 bytes)
{
    (void)tcp;
    (void)bytes;
    peer_send(app);
}

static void peer_received(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    struct peer_conn *conn = app;

    for (unsigned i = 0; i < n; i++) {
        conn->wrong += world_compare(conn->start, conn->received, tenon_span_data(&spans[i]), spans[i].len);
        conn->received += spans[i].len;
        conn->world->bytes += spans[i].len;
        tenon_tcp_consumed(tcp, spans[i].len);
    }
    if (conn->abort_at > 0 && conn->received >= conn->abort_at)
        tenon_tcp_abort(tcp);
}

static void peer_closed(struct tenon_tcp *tcp, void *app, int why)
{
    struct peer_conn *conn = app;
    struct world *world = conn->world;

    (void)tcp;
    conn->tcp = NULL;
    conn->closed = 1;
    conn->why = why;
    world->ended++;
    world->wrong += conn->wrong;
    world->complete += why == TENON_OK && conn->received == conn->total;
    world->wrong += why == TENON_OK && conn->received > conn->total;
    peer_begin(world);
}

static const struct tenon_tcp_events peer_events = { .opened = peer_opened, .received = peer_received,
    .acked = peer_acked, .closed = peer_closed };

static void peer_begin(struct world *world)
{
    const struct tenon_addr to = { .ip = tenon_ip4_bytes(10, 0, 0, 1), .port = WORLD_PORT };
    const unsigned most = world->conf.at_once > 0 ? world->conf.at_once : world->conf.conns;

    while (world->running && world->begun < world->conf.conns && world->begun - world->ended < most) {
        struct peer_conn *conn = &world->conns[world->begun];

        conn->world = world;
        conn->start = (tenon_u32)next_random(world);
        conn->total = (tenon_u32)(next_random(world) % world->conf.total_max) + 1;
        if (next_random(world) % 100 < world->conf.abort_percent)
            conn->abort_at = (tenon_u32)(next_random(world) % conn->total) + 1;
        world->aborting += conn->abort_at > 0;
        if (tenon_tcp_connect(wire_host_stack(world->peer), &conn->tcp, NULL, &to, &peer_events, conn) != TENON_OK)
            return;
        world->begun++;
    }
    wire_wake(world->peer);
}

/* ---- the peer's echo --------------------------------------------------------------------------------- */

static void echo_received(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++)
        if (tenon_tcp_send(tcp, &spans[i]) != TENON_OK) {
            tenon_tcp_abort(tcp);
            return;
        }
}

static void echo_acked(struct tenon_tcp *tcp, void *app, tenon_u32 bytes)
{
    (void)app;
    tenon_tcp_consumed(tcp, bytes);
}

static void echo_closed(struct tenon_tcp *tcp, void *app, int why)
{
    (void)tcp;
    (void)why;
    ((struct world *)app)->echoed_ended++;
}

static const struct tenon_tcp_events echo_events = { .received = echo_received, .acked = echo_acked,
    .closed = echo_closed };

/* ---- the peer's datagrams ---------------------------------------------------------------------------- */

static void asker_received(struct tenon_udp *udp, void *app, const struct tenon_udp_info *info,
                           const struct tenon_span *spans, unsigned n)
{
    struct world *world = app;

    (void)udp;
    world->back++;
    world->wrong += info->from.port != WORLD_PORT || world_datagram_wrong(spans, n) != 0;
}

static void answerer_received(struct tenon_udp *udp, void *app, const struct tenon_udp_info *info,
                              const struct tenon_span *spans, unsigned n)
{
    struct world *world = app;

    if (tenon_udp_send(udp, &info->from, spans, n) == TENON_OK)
        world->answered++;
    else
        world->unanswered++;
}

static const struct tenon_udp_events asker_events = { .received = asker_received };
static const struct tenon_udp_events answerer_events = { .received = answerer_received };

static void open_datagrams(struct world *world)
{
    struct tenon *stack = wire_host_stack(world->peer);
    const struct tenon_addr at = { .port = WORLD_PEER_PORT };

    if (tenon_udp_open(stack, &world->asker, &asker_events, world) != TENON_OK
        || tenon_udp_open(stack, &world->answerer, &answerer_events, world) != TENON_OK
        || tenon_udp_bind(world->answerer, &at) != TENON_OK)
        abort();
}

/* Now and then as many as make a small ring full. What the burst has no room for comes with the next one. */
static void peer_ask(struct world *world, tenon_u32 now_us)
{
    const struct tenon_addr to = { .ip = tenon_ip4_bytes(10, 0, 0, 1), .port = WORLD_PORT };
    tenon_u8 bytes[DATAGRAM_MAX];

    if (world->datagrams == world->conf.datagrams || (tenon_i32)(now_us - world->burst_at) < 0)
        return;
    for (unsigned long n = next_random(world) % 40; n > 0 && world->datagrams < world->conf.datagrams; n--) {
        const unsigned long most = next_random(world) % 8 == 0 ? DATAGRAM_MAX - 4 : 1400;
        const tenon_u32 len = (tenon_u32)(next_random(world) % most) + 4;

        world_datagram(bytes, len, (tenon_u32)next_random(world) % PATTERN);
        if (tenon_udp_write(world->asker, &to, bytes, len) != TENON_OK)
            break;
        world->datagrams++;
    }
    world->burst_at = now_us + (tenon_u32)(next_random(world) % 500);
    wire_wake(world->peer);
}

/* ---- the port ---------------------------------------------------------------------------------------- */

static void guest_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct world *world = guest;

    (void)now_us;
    world->frames += (int)n;
    if (world->stack != NULL)
        (void)tenon_input(world->stack, netif, frames, n, world->now_us);
}

static tenon_u32 guest_poll(void *guest, tenon_u32 now_us)
{
    (void)guest;
    (void)now_us;
    return 1800000000UL;
}

static int world_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct world *world = (struct world *)port;
    uint64_t ticks;

    (void)netif;
    if (atomic_load(&world->gone))
        return -1;
    if (world->port.fd >= 0)
        (void)!read(world->port.fd, &ticks, sizeof ticks);
    if (!world->running && atomic_load(&world->go)) {
        world->running = 1;
        peer_begin(world);
    }
    world->stack = stack;
    world->now_us = now_us;
    world->frames = 0;
    if (world->ended > 0)    /* both know where the other is */
        peer_ask(world, now_us);
    wire_run(world->wire, wire_now(world->wire) + (tenon_u32)(now_us - world->last_us));
    world->last_us = now_us;
    return world->frames;
}

static const struct port_type world_type = { .kind = "world", .receive = world_receive };

/* ---- the world --------------------------------------------------------------------------------------- */

static void *get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void put(void *arg, void *mem, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(mem);
}

static const struct tenon_netif_conf netif_conf = { .mac = { 2, 0, 0, 0, 0, 1 }, .mtu = MTU,
    .caps = TENON_CAP_TX_CSUM, .flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6 };

static void stack_conf(const struct world *world, struct tenon_conf *conf)
{
    tenon_conf_default(conf);
    conf->tcp_rcv_buf = conf->tcp_snd_buf = world->conf.rcv_buf > 0 ? world->conf.rcv_buf : 65536;
    conf->tcp_msl_ms = 10;
}

static void open_peer(struct world *world, const struct wire_end_conf *end)
{
    const struct wire_host_conf host_conf = { .seed = world->conf.seed + 2, .poison = 1 };
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 2);
    const struct tenon_addr any = { .port = WORLD_PEER_PORT };
    struct tenon_tcp_listener *listener;
    struct wire_end_conf end_conf = *end;
    struct tenon_conf conf;

    stack_conf(world, &conf);
    end_conf.netif.mac[5] = 2;
    end_conf.out.drop_mask = world->conf.peer_lost;
    world->peer = wire_host_open(world->wire, &host_conf, &conf);
    if (world->peer == NULL || wire_end_open(world->peer, &end_conf) == NULL
        || tenon_addr_add(wire_host_stack(world->peer), 1, &ip, 24) != TENON_OK
        || tenon_tcp_listen(wire_host_stack(world->peer), &listener, &any, &echo_events, world, 1024) != TENON_OK)
        abort();
    open_datagrams(world);
}

static int open_ticks(unsigned us)
{
    const struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };
    const struct itimerspec ticks = { time, time };
    int fd = us > 0 ? timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC) : -1;

    if (fd >= 0)
        (void)timerfd_settime(fd, 0, &ticks, NULL);
    return fd;
}

void world_open(struct world *world, const struct world_conf *conf, tenon_u32 now_us)
{
    const struct wire_conf wire_conf = { .memory = { get, put, NULL }, .seed = conf->seed };
    const struct wire_host_conf host_conf = { .seed = conf->seed + 1, .poison = 1 };
    const struct wire_guest guest = { guest_input, guest_poll, world };
    const struct wire_end_conf end = { .netif = netif_conf, .trust = 1,
        .out = { .delay_us = conf->delay_us, .loss_ppm = conf->loss_ppm } };
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 1);
    struct tenon_conf tenon_conf;

    memset(world, 0, sizeof *world);
    for (tenon_u32 i = 0; i < PATTERN && world_pattern[1] == 0; i++)    /* once: others may be at work with it */
        world_pattern[i] = (tenon_u8)(i * 2654435761U >> 24);
    world->port.type = &world_type;
    world->last_us = now_us;
    world->conf = *conf;
    world->port.fd = open_ticks(conf->tick_us);
    world->random = conf->seed * 7919 + 1;
    world->conns = calloc(conf->conns + 1, sizeof *world->conns);
    world->wire = wire_open(&wire_conf);
    world->host = wire_host_open_guest(world->wire, &host_conf, &guest);
    stack_conf(world, &tenon_conf);
    world->stack = tenon_init(malloc(tenon_mem_size(&tenon_conf)), &tenon_conf, wire_host_ops(), world->host);
    world->end = wire_end_open_at(world->host, &end, 1);
    world->burst_at = now_us;
    if (world->conns == NULL || world->stack == NULL || world->end == NULL
        || tenon_netif_add(world->stack, &end.netif) != 1 || tenon_addr_add(world->stack, 1, &ip, 24) != TENON_OK)
        abort();
    (void)tenon_poll(world->stack, now_us);
    open_peer(world, &end);
}

void world_close(struct world *world)
{
    struct wire_host_stats stats;
    struct tenon *stack = world->stack;

    world->running = 0;
    wire_run(world->wire, wire_now(world->wire) + 1000000);    /* what the instance said last arrives */
    world->stack = NULL;
    tenon_fini(stack);
    free(stack);
    wire_host_fini(world->peer);
    wire_run(world->wire, wire_now(world->wire) + 10000000);
    wire_host_stats(world->host, &stats);
    world->leaks = (int)(stats.mem_blocks + stats.bufs + stats.rx_bufs + stats.mem_wrong);
    wire_host_close(world->host);
    wire_host_close(world->peer);
    wire_close(world->wire);
    if (world->port.fd >= 0)
        close(world->port.fd);
    free(world->conns);
}
