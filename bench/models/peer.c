/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ETH = 14, IP4 = 20, TCP = 20, HEAD = ETH + IP4 + TCP, FIRST_PORT = 10000, BUF_BYTES = 2048, OPENING = 64 };
enum { FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16 };

/* Another program had the processor: nobody was there to be asked, or to answer, for longer than any turn takes. That
 * time does not count, and what was under way is not among the samples. */
enum { PAUSE_NS = 300000 };

uint64_t peer_clock_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void leave_out(struct peer *peer, uint64_t since)
{
    peer->paused += peer->last - since;
    peer->pauses++;
    peer->progress = peer->last;
}

static void look_at_clock(struct peer *peer)
{
    const uint64_t before = peer->last;

    peer->last = peer_clock_ns();
    if (peer->last - before > PAUSE_NS)
        leave_out(peer, peer->nready < peer->open ? peer->progress : before);
    if (peer->nready == peer->open)
        peer->progress = peer->last;    /* nothing is under way */
    peer->now = peer->last - peer->paused;
}

/* An answer is there. */
static void look_at_progress(struct peer *peer)
{
    if (peer->last - peer->progress > PAUSE_NS)
        leave_out(peer, peer->progress);
    peer->progress = peer->last;
    peer->now = peer->last - peer->paused;
}

/* ---- frames ------------------------------------------------------------------------------------------- */

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xFFFF);
}

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void put_headers(uint8_t *at, const struct peer_conn *conn, unsigned flags, unsigned bytes)
{
    static const uint8_t head[ETH + IP4] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
        0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1 };
    uint32_t sum = 0;

    memcpy(at, head, sizeof head);
    put16(at + ETH + 2, IP4 + TCP + bytes);
    for (unsigned i = 0; i < IP4; i += 2)
        sum += get16(at + ETH + i);
    sum = (sum >> 16) + (sum & 0xFFFF);
    put16(at + ETH + 10, ~sum & 0xFFFF);
    at += ETH + IP4;
    put16(at, conn->port);
    put16(at + 2, PEER_PORT);
    put32(at + 4, conn->seq);
    put32(at + 8, conn->ack);
    put16(at + 12, (TCP / 4) << 12 | flags);
    put16(at + 14, 65535);
    put32(at + 16, 0);    /* the port says that the checksum is good */
}

/* Into the burst, which has room. */
static void send_segment(struct peer *peer, struct peer_conn *conn, unsigned flags, unsigned bytes)
{
    struct speed_packet *packet = speed_packet_get(&peer->pool);
    struct tenon_frame *frame = &peer->frames[peer->burst];

    if (packet == NULL)
        abort();
    put_headers(packet->bytes, conn, flags, bytes);
    memset(packet->bytes + HEAD, 'x', bytes);
    packet->spans[0].buf = &packet->buf;
    packet->spans[0].off = 0;
    packet->spans[0].len = HEAD + bytes;
    memset(frame, 0, sizeof *frame);
    frame->spans = packet->spans;
    frame->nspans = 1;
    frame->csum = TENON_CSUM_GOOD;
    peer->packets[peer->burst++] = packet;
    conn->seq += bytes + ((flags & SYN) != 0);
}

/* ---- requests ------------------------------------------------------------------------------------------ */

static void set_ready(struct peer *peer, const struct peer_conn *conn)
{
    peer->ready[(peer->first_ready + peer->nready++) % PEER_CONNS_MAX] = (unsigned)(conn - peer->conns);
}

/* When the next request is due. */
static uint64_t next_due(const struct peer *peer)
{
    return peer->conf.rate > 0 ? peer->begin + (uint64_t)((double)peer->sent * 1e9 / peer->conf.rate) : peer->now;
}

static void offer(struct peer *peer)
{
    while (peer->nready > 0 && peer->burst < PORT_BURST) {
        struct peer_conn *conn = &peer->conns[peer->ready[peer->first_ready]];
        const uint64_t due = next_due(peer);

        if (due > peer->now)
            return;
        peer->first_ready = (peer->first_ready + 1) % PEER_CONNS_MAX;
        peer->nready--;
        peer->sent++;
        conn->due = due;
        conn->pauses = peer->pauses;
        conn->left = (uint16_t)peer->conf.message;
        send_segment(peer, conn, PSH | ACK, peer->conf.message);
    }
}

/* Few at a time, so that no backlog overflows. */
static void open_some(struct peer *peer)
{
    while (peer->begun < peer->conf.conns && peer->begun - peer->open < OPENING && peer->burst < PORT_BURST) {
        struct peer_conn *conn = &peer->conns[peer->begun++];

        conn->port = (uint16_t)(FIRST_PORT + (conn - peer->conns));
        conn->seq = peer->random = peer->random * 1664525U + 1013904223U;
        send_segment(peer, conn, SYN, 0);
    }
    if (peer->begin == 0 && peer->open == peer->conf.conns) {
        peer->begin = peer->now;
        peer->from = peer->now + peer->conf.warm_ns;
        peer->until = peer->from + peer->conf.measure_ns;
    }
}

static void answered(struct peer *peer, struct peer_conn *conn)
{
    look_at_progress(peer);
    if (peer->now >= peer->from && peer->now < peer->until) {
        peer->answered++;
        if (peer->nsamples < PEER_SAMPLES && conn->pauses == peer->pauses)
            peer->samples[peer->nsamples++] = (uint32_t)(peer->now - conn->due);
        peer->ends[(peer->now - peer->from) * PEER_SLICES / peer->conf.measure_ns] = peer->nsamples;
    }
    set_ready(peer, conn);
}

static void take_segment(struct peer *peer, const struct tenon_frame *frame)
{
    const uint8_t *head = tenon_span_data(&frame->spans[0]), *tcp = head + ETH + IP4;
    const unsigned n = get16(tcp + 2) - FIRST_PORT, flags = tcp[13];
    const unsigned bytes = get16(head + ETH + 2) - IP4 - (tcp[12] >> 4) * 4U;
    struct peer_conn *conn = &peer->conns[n < PEER_CONNS_MAX ? n : 0];

    if (get16(head + 12) != 0x0800)
        return;    /* the instance announces its address */
    if (head[ETH + 9] != 6 || n >= peer->begun || (flags & (RST | FIN)) != 0) {
        peer->wrong += peer->over == 0;
        return;
    }
    if ((flags & SYN) && !conn->open) {
        conn->open = 1;
        conn->ack = get32(tcp + 4) + 1;
        peer->open++;
        set_ready(peer, conn);    /* the first request is the acknowledgement too */
        return;
    }
    if (bytes == 0 || get32(tcp + 4) != conn->ack)
        return;    /* an acknowledgement, or a repetition */
    conn->ack += bytes;
    peer->wrong += bytes > conn->left;
    conn->left = (uint16_t)(conn->left - bytes);
    if (conn->left == 0)
        answered(peer, conn);
}

/* ---- the port ------------------------------------------------------------------------------------------- */

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct peer *peer = host;
    unsigned i;

    for (i = 0; i < n; i++) {
        struct speed_packet *packet = speed_packet_get(&peer->pool);

        if (packet == NULL)
            break;
        bufs[i] = &packet->buf;
    }
    return i;
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct peer *peer = host;

    (void)netif;
    look_at_clock(peer);
    for (unsigned i = 0; i < n; i++)
        take_segment(peer, &frames[i]);
    return n;
}

static const struct tenon_host peer_host = { TENON_HOST_VERSION, port_mem_get, port_mem_put, host_buf_get,
    host_transmit, port_entropy };

static int peer_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct peer *peer = (struct peer *)port;
    unsigned n;

    look_at_clock(peer);
    if (peer->begin == 0 && atomic_load_explicit(peer->conf.go, memory_order_relaxed))
        open_some(peer);
    if (peer->begin != 0)
        offer(peer);
    if (peer->until != 0 && !peer->over && peer->now >= peer->until) {
        peer->over = 1;
        atomic_fetch_add(peer->conf.done, 1);
    }
    n = peer->burst;
    if (n == 0)
        return 0;
    peer->burst = 0;
    (void)tenon_input(stack, netif, peer->frames, n, now_us);
    for (unsigned i = 0; i < n; i++)
        tenon_buf_put(&peer->packets[i]->buf);
    return (int)n;
}

static const struct port_type peer_type = { .kind = "peer", .host = &peer_host, .receive = peer_receive };

void peer_open(struct peer *peer, const struct peer_conf *conf)
{
    memset(peer, 0, sizeof *peer);
    peer->port.type = &peer_type;
    peer->port.fd = -1;
    peer->conf = *conf;
    peer->pool.buf_bytes = BUF_BYTES;
    peer->random = 12345;
    peer->samples = calloc(PEER_SAMPLES, sizeof *peer->samples);
    if (peer->samples == NULL)
        abort();
    memset(peer->samples, 1, PEER_SAMPLES * sizeof *peer->samples);    /* its pages are there */
    peer->last = peer->progress = peer_clock_ns();
}

void peer_close(struct peer *peer)
{
    speed_pool_end(&peer->pool);
    free(peer->samples);
}

struct tenon *peer_stack(struct peer *peer)
{
    static const struct tenon_netif_conf netif = { .mac = { 2, 0, 0, 0, 0, 1 }, .mtu = 1500, .caps = TENON_CAP_TX_CSUM,
        .flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD };
    const struct tenon_ip ours = tenon_ip4_bytes(10, 0, 0, 1), theirs = tenon_ip4_bytes(10, 0, 0, 2);
    const tenon_u8 mac[6] = { 2, 0, 0, 0, 0, 2 };
    struct tenon_conf conf;
    struct tenon *stack;

    tenon_conf_default(&conf);
    stack = tenon_init(malloc(tenon_mem_size(&conf)), &conf, &peer_host, peer);
    if (stack == NULL || tenon_netif_add(stack, &netif) != 1 || tenon_addr_add(stack, 1, &ours, 24) != TENON_OK
        || tenon_neighbour_set(stack, 1, &theirs, mac) != TENON_OK)
        return NULL;
    return stack;
}
