/* SPDX-License-Identifier: MIT */
/* Somebody who answers in the servers' name. He knows to which port, but not what only those know who hear the
 * questions: identifiers and numbers that are random, and of a transfer the port that the server has taken for it. */
#include "history.h"

#include "wire/checksum.h"

#include <stdlib.h>
#include <string.h>

enum { ETH = 14, IP = 20, UDP = 8, AT = ETH + IP + UDP, FRAME_MAX = 700, PROTO_UDP = 17 };
enum { PORT_NAMES = 53, PORT_DHCP = 67, PORT_CLIENT = 68, PORT_TIME = 123 };

struct forged {
    tenon_u8 bytes[FRAME_MAX];
    unsigned n;    /* of them, in the datagram */
};

static void put16(tenon_u8 *p, unsigned v)
{
    p[0] = (tenon_u8)(v >> 8);
    p[1] = (tenon_u8)v;
}

static void put32(tenon_u8 *p, tenon_u32 v)
{
    put16(p, (unsigned)(v >> 16));
    put16(p + 2, (unsigned)v & 0xFFFF);
}

static void noise(struct history *h, tenon_u8 *p, unsigned n)
{
    while (n-- > 0)
        p[n] = (tenon_u8)history_chance(h, 256);
}

/* Its datagram goes to a machine, as if a server had sent it; without a checksum, which RFC 768 leaves to him. */
static void send(struct machine *m, struct forged *f, const struct tenon_ip *to, unsigned from_port, unsigned to_port)
{
    const struct tenon_ip from = server_ip(m->h, 0);
    tenon_u8 *ip = f->bytes + ETH, *udp = ip + IP;

    memcpy(f->bytes, wire_end_conf(m->end)->netif.mac, 6);
    memcpy(f->bytes + 6, wire_end_conf(m->h->server[0].end)->netif.mac, 6);
    put16(f->bytes + 12, 0x0800);
    memset(ip, 0, IP + UDP);
    ip[0] = 0x45;
    put16(ip + 2, IP + UDP + f->n);
    ip[8] = 64;
    ip[9] = PROTO_UDP;
    put32(ip + 12, from.w[TENON_IP4_WORD]);
    put32(ip + 16, to->w[TENON_IP4_WORD]);
    put16(ip + 10, ~(unsigned)tn_csum_sum(ip, IP) & 0xFFFF);
    put16(udp, from_port);
    put16(udp + 2, to_port);
    put16(udp + 4, UDP + f->n);
    if (wire_inject(m->end, f->bytes, AT + f->n, 1) != 0)
        abort();
}

static unsigned port_of(const struct tenon_udp *sock)
{
    struct tenon_addr at;

    tenon_udp_local(sock, &at);
    return at.port;
}

/* An address for a name that is asked for, with any identifier but the right one. */
static void forge_name(struct machine *m, struct forged *f)
{
    static const tenon_u8 address[] = { 0xC0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4, 6, 6, 6, 6 };
    const struct tenon_dns_query *q = &m->queries[history_chance(m->h, QUERIES)];
    const char *dot = strchr(q->name, '.');
    tenon_u8 *p = f->bytes + AT;
    unsigned label;

    if (q->sock == NULL || dot == NULL)
        return;
    label = (unsigned)(dot - q->name);
    put16(p, q->id ^ (1U + history_chance(m->h, 0xFFFF)));
    put16(p + 2, 0x8180);
    put32(p + 4, 0x00010001);
    put32(p + 8, 0);
    p[12] = (tenon_u8)label;
    memcpy(p + 13, q->name, label);
    memcpy(p + 13 + label, "\4test", 6);
    put16(p + 19 + label, TENON_DNS_A);
    put16(p + 21 + label, 1);
    memcpy(p + 23 + label, address, sizeof(address));
    f->n = 23 + label + (unsigned)sizeof(address);
    send(m, f, &m->ip, PORT_NAMES, port_of(q->sock));
}

/* A time that is wrong by a quarter of an hour. */
static void forge_time(struct machine *m, struct forged *f)
{
    const uint64_t second = truth_time_us(m->h) / SECOND + UINT64_C(2208988800) + 900;
    tenon_u8 *p = f->bytes + AT;

    if (m->sntp.sock == NULL)
        return;
    f->n = 48;
    noise(m->h, p, f->n);
    p[0] = 0x24;
    p[1] = 2;
    put32(p + 32, (tenon_u32)second);
    memcpy(p + 40, p + 32, 8);
    send(m, f, &m->ip, PORT_TIME, port_of(m->sntp.sock));
}

/* The next block, or an error, but from another port than the server's for this transfer (RFC 1350 4). Before the
 * server's first block any port may be that. */
static void forge_file(struct machine *m, struct forged *f)
{
    const unsigned port = 1024 + history_chance(m->h, 60000);

    if (m->tftp.sock == NULL || !m->tftp.any || m->tftp.peer.port == port)
        return;
    f->n = 4 + (history_chance(m->h, 2) ? m->tftp.block_bytes % 600U : 20U);
    noise(m->h, f->bytes + AT, f->n);
    put16(f->bytes + AT, history_chance(m->h, 4) ? 3 : 5);
    put16(f->bytes + AT + 2, m->tftp.block + 1U);
    send(m, f, &m->ip, port, port_of(m->tftp.sock));
}

/* An address, or that the one in use is none. */
static void forge_lease(struct machine *m, struct forged *f)
{
    static const tenon_u8 types[] = { 2, 5, 6 };
    const struct tenon_ip all = tenon_ip4(0xFFFFFFFFUL);
    const tenon_u8 options[] = {
        53, 1,  types[history_chance(m->h, 3)], 54, 4, 6, 6, 6, 6, 51, 4, 0, 0, 14, 16, 1, 4, 255, 255, 0,
        0,  255
    };
    tenon_u8 *p = f->bytes + AT;

    memset(p, 0, 300);
    put32(p, 0x02010600);
    put32(p + 4, m->dhcp.xid ^ (1U + history_chance(m->h, 0x7FFFFFFF)));
    put32(p + 16, 0x06060607);
    memcpy(p + 28, m->plan->conf.device.netif.mac, 6);
    put32(p + 236, 0x63825363);
    memcpy(p + 240, options, sizeof(options));
    f->n = 300;
    send(m, f, &all, PORT_DHCP, PORT_CLIENT);
}

/* A router, and a server for names. */
static void forge_router(struct machine *m, struct forged *f)
{
    if (!m->h->plan.ip6)
        return;
    f->n = advert_forge(m->h, f->bytes);
    if (wire_inject(m->end, f->bytes, f->n, 1) != 0)
        abort();
}

void forge(struct machine *m)
{
    static void (*const kinds[])(struct machine * m, struct forged * f) = { forge_name, forge_time,
                                                                            forge_file, forge_lease,
                                                                            forge_router };
    struct forged f;

    memset(&f, 0, sizeof(f));
    kinds[history_chance(m->h, TENON_ARRAY_LEN(kinds))](m, &f);
    m->h->forged += f.n > 0;
}
