/* SPDX-License-Identifier: MIT */
/* A TFTP client that hears what the input says. The first byte says with which options, then there are records until
 * the input ends:
 *
 *   0     n          the next block, of so many bytes (255: a whole one)
 *   1     d n        another block: the last one, those before and after it
 *   2     n words    an agreement to options: so many bytes
 *   3     code       an error
 *   4     n bytes    a datagram of just these bytes
 *   5     t          time passes
 *   6     who        from now on another port, or another host, speaks; or the server's own again
 *   7     how        stopped, started anew, a refused buffer, the link goes down or up, ICMP
 *
 * What holds all the time: each byte that the application is given is the next one of the file, unless somebody has
 * sent other bytes as the server; the end is told once, and with it how; no poll spins. */
#include "fuzz.h"

#include <string.h>

#include "services/tftp.h"

enum { SERVER_PORT = 3000, BLOCKS_MAX = 1400 };

struct session {
    struct fuzz_world w;
    struct tenon_tftp tftp;
    struct tenon_tftp_conf conf;
    unsigned port;                /* the client's, as far as something was heard of it */
    unsigned from, from_port;     /* who speaks: 0: the server */
    int bent;                     /* 1: somebody has sent other bytes as the server */
    int running;                  /* 1: started, and the end was not told */
    unsigned ends;
    uint32_t got;
};

static void must(int good, unsigned line)
{
    if (!good)
        fuzz_fail("%s:%u: this must hold", __FILE__, line);
}

static uint8_t file_byte(uint32_t i)
{
    return (uint8_t)(i * 7 + (i >> 9));
}

static int data(struct tenon_tftp *tftp, void *app, const tenon_u8 *bytes, tenon_u32 n)
{
    struct session *s = app;

    must(s->running && n > 0 && tftp->got == s->got, __LINE__);
    for (tenon_u32 i = 0; i < n && !s->bent; i++)
        must(bytes[i] == file_byte(s->got + i), __LINE__);
    s->got += n;
    return 0;
}

static void done(struct tenon_tftp *tftp, void *app, enum tenon_tftp_status status)
{
    struct session *s = app;

    must(s->running && tftp->got == s->got && tenon_tftp_status_text(status) != NULL, __LINE__);
    must(status != TENON_TFTP_OK || !tftp->size_known || tftp->size == tftp->got, __LINE__);
    s->running = 0;
    s->ends++;
}

/* ARP requests are answered; of datagrams the port is remembered, and they are what a client may send. */
static void sent(void *arg, const struct tenon_frame *frame, const uint8_t *bytes, size_t n)
{
    struct session *s = arg;

    (void)frame;
    if (n < 42 || fuzz_get16(bytes + 12) != 0x0800 || bytes[23] != 17)
        return;
    must(n >= 42 + 4, __LINE__);
    s->port = fuzz_get16(bytes + 34);
    must(fuzz_get16(bytes + 42) == 1 || fuzz_get16(bytes + 42) == 4 || fuzz_get16(bytes + 42) == 5, __LINE__);
}

static void datagram(struct session *s, const uint8_t *bytes, size_t n)
{
    uint8_t frame[14 + 28 + 4 + BLOCKS_MAX] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45 };

    frame[22] = 64;
    frame[23] = 17;
    fuzz_put32(frame + 26, 0x0A000002 + s->from);
    fuzz_put32(frame + 30, 0x0A000001);
    fuzz_put16(frame + 34, SERVER_PORT + s->from_port);
    fuzz_put16(frame + 36, s->port);
    fuzz_put16(frame + 38, (unsigned)(8 + n));
    memcpy(frame + 42, bytes, n);
    fuzz_repair(frame + 14, 28 + n, 1);
    fuzz_world_input(&s->w, frame, 42 + n, s->w.now % 64, 0);
}

/* As the file has it, if it is the next one. */
static void block(struct session *s, unsigned number, unsigned length)
{
    const unsigned most = s->tftp.block_bytes < BLOCKS_MAX ? s->tftp.block_bytes : BLOCKS_MAX;
    const unsigned n = length == 255 ? most : length % (most + 1);
    uint8_t bytes[4 + BLOCKS_MAX];

    fuzz_put16(bytes, 3);
    fuzz_put16(bytes + 2, number & 0xFFFF);
    for (unsigned i = 0; i < n; i++)
        bytes[4 + i] = file_byte(s->got + i);
    datagram(s, bytes, 4 + n);
}

static void any_bytes(struct session *s, struct fuzz_bytes *in, int opcode)
{
    uint8_t bytes[256];
    size_t n = fuzz_u8(in), i = 0;

    if (opcode != 0) {
        fuzz_put16(bytes, (unsigned)opcode);
        i = 2;
    }
    for (n = n > sizeof bytes - 2 ? sizeof bytes - 2 : n; n > 0 && in->left > 0; n--)
        bytes[i++] = fuzz_u8(in);
    s->bent |= opcode == 0;
    datagram(s, bytes, i);
}

static void advance(struct session *s, uint64_t us)
{
    const uint64_t end = s->w.now + us;
    unsigned steps = 0;

    for (;;) {
        uint32_t wait = fuzz_world_poll(&s->w);
        const uint32_t service = tenon_tftp_poll(&s->tftp, (tenon_u32)s->w.now);

        wait = service < wait ? service : wait;
        must(s->tftp.got == s->got && s->ends <= 1, __LINE__);
        if (s->w.now >= end || ++steps > 3000)
            return;
        must(wait > 0 || steps < 3000, __LINE__);
        s->w.now += wait < end - s->w.now ? wait : end - s->w.now;
    }
}

static void start(struct session *s)
{
    const int good = tenon_tftp_start(&s->tftp, s->w.stack, &s->conf, (tenon_u32)s->w.now) == TENON_OK;

    must(good == !s->running, __LINE__);
    if (!good)
        return;
    s->running = 1;
    s->ends = 0;
    s->got = 0;
    s->bent = 0;
}

/* "Port unreachable" about the request, as far as it must be repeated. */
static void unreachable(struct session *s)
{
    uint8_t frame[14 + 20 + 8 + 28] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45 };

    frame[22] = 64;
    frame[23] = 1;
    fuzz_put32(frame + 26, 0x0A000002);
    fuzz_put32(frame + 30, 0x0A000001);
    frame[34] = frame[35] = 3;
    memcpy(frame + 42, "\x45\0\0\x40\0\0\0\0\x40\x11\0\0\12\0\0\1\12\0\0\2", 20);
    fuzz_put16(frame + 62, s->port);
    fuzz_put16(frame + 64, 69);
    fuzz_repair(frame + 14, sizeof frame - 14, 1);
    fuzz_world_input(&s->w, frame, sizeof frame, 0, 0);
}

static void something(struct session *s, unsigned how)
{
    switch (how % 6) {
    case 0: (void)tenon_netif_link(s->w.stack, s->w.netif, 0); break;
    case 1: (void)tenon_netif_link(s->w.stack, s->w.netif, 1); break;
    case 2: s->w.buf_fail = how / 6; break;
    case 3: unreachable(s); break;
    case 4: start(s); break;
    default:
        tenon_tftp_stop(&s->tftp);
        s->running = 0;
        break;
    }
}

static void one(struct session *s, struct fuzz_bytes *in)
{
    static const int16_t near[] = { 0, -1, 2, 100, -100, 32767 };
    const unsigned op = fuzz_u8(in) % 8;
    unsigned how;

    switch (op) {
    case 0: block(s, s->tftp.block + 1U, fuzz_u8(in)); break;
    case 1:
        how = fuzz_u8(in);
        block(s, (unsigned)(s->tftp.block + near[how % 6]), fuzz_u8(in));
        break;
    case 2: any_bytes(s, in, 6); break;
    case 3: datagram(s, (const uint8_t[5]){ 0, 5, 0, fuzz_u8(in) }, 5); break;
    case 4: any_bytes(s, in, 0); break;
    case 5: advance(s, (uint64_t)fuzz_log(in) * 1000); break;
    case 6:
        how = fuzz_u8(in);
        s->from = how % 4 == 2;
        s->from_port = how % 4 == 1;
        break;
    default: something(s, fuzz_u8(in)); break;
    }
    advance(s, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t size)
{
    static const tenon_u16 sizes[] = { 0, 512, 8, 1400, 65464, 600, 9, 0 };
    static struct session s;
    struct fuzz_bytes in = { data_, size };
    const struct tenon_ip us = tenon_ip4(0x0A000001), server = tenon_ip4(0x0A000002);
    const unsigned how = fuzz_u8(&in);
    struct tenon_conf conf;

    memset(&s, 0, sizeof s);
    s.w.now = 5000000;
    s.w.netif_conf.mtu = 1500;
    s.w.sent = sent;
    s.w.arg = &s;
    memcpy(s.w.netif_conf.mac, "\2\0\0\0\0\1", 6);
    s.w.netif_conf.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    tenon_conf_default(&conf);
    fuzz_world_open(&s.w, &conf);
    must(tenon_addr_add(s.w.stack, s.w.netif, &us, 24) == TENON_OK, __LINE__);
    must(tenon_neighbour_set(s.w.stack, s.w.netif, &server, (const tenon_u8 *)"\2\0\0\0\0\2") == TENON_OK, __LINE__);
    s.conf.server.ip = server;
    s.conf.name = "image";
    s.conf.block_bytes = sizes[how & 7];
    s.conf.plain = how >> 3 & 1;
    s.conf.server_s = how >> 4 & 1;
    s.conf.data = data;
    s.conf.done = done;
    s.conf.app = &s;
    start(&s);
    advance(&s, 0);
    while (in.left > 0)
        one(&s, &in);
    tenon_tftp_stop(&s.tftp);
    (void)fuzz_world_poll(&s.w);
    fuzz_world_close(&s.w, 0);
    return 0;
}
