/* SPDX-License-Identifier: MIT */
/* The other end of the cable: Tenon, with its own arena. */
#include "measure.h"

enum { FRAME_BYTES = 1536, FRAMES = 3, RING_BYTES = 3400, ARENA_BYTES = 18400 };
enum { ETH = 14, IP_PROTOCOL = 9, IP_SOURCE = 12, TCP = 6, TCP_SUM = 16, TYPE_IP4 = 0x0800 };

tenon_u32 now_us = 1000000;

static tenon_u8 arena[ARENA_BYTES], ring[RING_BYTES];
static struct tenon_socks *peer;
static int sk;
static tenon_u32 got, sent;
static int wrong;
static struct {
    tenon_u8 bytes[FRAMES][FRAME_BYTES];
    unsigned n[FRAMES];
    unsigned first, used;
} cable;

tenon_u8 stream_byte(tenon_u32 at)
{
    return (tenon_u8)(at * 7 + (at >> 8));
}

/* ---- to the peer ------------------------------------------------------------------------------------ */

static tenon_u32 sum_of(const tenon_u8 *bytes, unsigned n)
{
    tenon_u32 sum = 0;

    for (; n > 1; n -= 2, bytes += 2)
        sum += (tenon_u32)bytes[0] << 8 | bytes[1];
    return n > 0 ? sum + ((tenon_u32)bytes[0] << 8) : sum;
}

/* What the device would do: RFC 9293 3.1. */
static void make_checksum(tenon_u8 *frame)
{
    tenon_u8 *ip = frame + ETH, *tcp = ip + (ip[0] & 15) * 4;
    const unsigned n = ((unsigned)ip[2] << 8 | ip[3]) - (unsigned)(tcp - ip);
    tenon_u32 sum;

    if (frame[12] != TYPE_IP4 >> 8 || frame[13] != (TYPE_IP4 & 0xFF) || ip[IP_PROTOCOL] != TCP)
        return;
    tcp[TCP_SUM] = tcp[TCP_SUM + 1] = 0;
    sum = sum_of(ip + IP_SOURCE, 8) + TCP + n + sum_of(tcp, n);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = ~((sum & 0xFFFF) + (sum >> 16));
    tcp[TCP_SUM] = (tenon_u8)(sum >> 8);
    tcp[TCP_SUM + 1] = (tenon_u8)sum;
}

/* The peer verifies all checksums. */
void cable_to_peer(const struct piece *pieces, unsigned n, int checksum)
{
    struct tenon_buf *block = tenon_sock_block(peer);
    tenon_u8 *frame;
    unsigned i, at = 0;

    if (block == NULL)
        return;
    frame = block->data + 2;
    for (i = 0; i < n; at += pieces[i].n, i++) {
        if (at + pieces[i].n > block->size - 2)
            break;
        __builtin_memcpy(frame + at, pieces[i].data, pieces[i].n);
    }
    if (checksum)
        make_checksum(frame);
    tenon_sock_input(peer, block, 2, at, TENON_CSUM_NONE);
}

/* ---- from the peer ---------------------------------------------------------------------------------- */

static unsigned transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i, j;

    (void)device;
    for (i = 0; i < n && cable.used < FRAMES; i++, cable.used++) {
        const unsigned at = (cable.first + cable.used) % FRAMES;

        cable.n[at] = 0;
        for (j = 0; j < frames[i].nspans; j++) {
            const struct tenon_span *span = &frames[i].spans[j];

            __builtin_memcpy(cable.bytes[at] + cable.n[at], tenon_span_data(span), span->len);
            cable.n[at] += span->len;
        }
    }
    return i;
}

unsigned cable_to_subject(const tenon_u8 **frame)
{
    const unsigned at = cable.first;

    if (cable.used == 0)
        return 0;
    *frame = cable.bytes[at];
    cable.first = (at + 1) % FRAMES;
    cable.used--;
    return cable.n[at];
}

/* ---- the peer ----------------------------------------------------------------------------------------- */

/* The same in each run, so that the counts are. */
static int entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    __builtin_memset(bytes, 0x5A, n);
    return 0;
}

int peer_start(void)
{
    static const tenon_u8 mac[6] = {2, 0, 0, 0, 0, 2};
    const struct tenon_ip us = tenon_ip4_bytes(10, 0, 0, 2);
    struct tenon_sock_conf conf;
    struct tenon_addr to;

    __builtin_memset(&conf, 0, sizeof(conf));
    conf.socks = conf.conns = 1;
    conf.blocks = conf.headers = 4;
    conf.block_bytes = 1528;
    conf.packets = 8;
    conf.window = 3000;    /* two segments of 1460 bytes */
    conf.stack.paths_max = 2;
    conf.stack.neighbours_max = conf.stack.routes_max = conf.stack.addrs_max = 2;
    conf.stack.groups_max = conf.stack.tx_burst_max = 4;
    conf.stack.tcp_time_wait_max = 1;
    __builtin_memcpy(conf.device.netif.mac, mac, 6);
    conf.device.netif.mtu = 1500;
    conf.device.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6;
    conf.device.transmit = transmit;
    conf.device.entropy = entropy;
    got = sent = 0;
    wrong = 0;
    cable.used = 0;
    if (tenon_sock_start(&peer, arena, sizeof(arena), &conf) != TENON_OK)
        return 0;
    __builtin_memset(&to, 0, sizeof(to));
    to.ip = tenon_ip4_bytes(10, 0, 0, 1);
    to.port = 7;
    if (tenon_addr_add(tenon_sock_stack(peer), 1, &us, 24) != TENON_OK)
        return 0;
    sk = tenon_sock_create(peer, NULL, &to, TENON_SOCK_TCP, TENON_SOCK_NO_TIMESTAMPS);    /* 1460 bytes in a segment */
    return sk > 0 && tenon_sock_set_sbuf(peer, sk, ring, sizeof(ring)) == TENON_OK;
}

void peer_stop(void)
{
    tenon_sock_stop(peer);
}

void peer_turn(void)
{
    (void)tenon_sock_poll(peer, now_us);
}

tenon_u32 peer_got(void)
{
    tenon_u8 *p;
    int n, i;

    while ((n = tenon_sock_ask_rbuf(peer, sk, &p)) > 0) {
        for (i = 0; i < n; i++)
            wrong |= p[i] != stream_byte(got + (tenon_u32)i);
        got += (tenon_u32)n;
        (void)tenon_sock_read_done(peer, sk, p, (unsigned)n);
    }
    return wrong ? MEASURE_WRONG : got;
}

int peer_send(unsigned n)
{
    tenon_u8 *p;
    unsigned i;

    if (tenon_sock_ask_sbuf(peer, sk, &p) < (int)n)
        return 0;
    for (i = 0; i < n; i++)
        p[i] = stream_byte(sent + i);
    sent += n;
    return tenon_sock_send(peer, sk, p, n, 0) == TENON_OK;
}
