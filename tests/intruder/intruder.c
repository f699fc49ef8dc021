/* SPDX-License-Identifier: MIT */
/* What an intruder sends. The frames are made without the core's own code, but for the numbers of connections. */
#include "intruder.h"

#include "core.h"
#include "tcp/tcp_internal.h"

#include <string.h>

enum {
    FIN = 1, SYN = 2, RST = 4, PSH = 8, ACK = 16, URG = 32,
    ICMP = 1, TCP = 6, UDP = 17, ROUTING = 43, FRAGMENT = 44, ICMP6 = 58, OPTIONS6 = 60, EXPERIMENT = 253,
    STRANGERS = 200,          /* so many names he has himself; none of them answers */
    PAYLOAD_MAX = 500,       /* a packet is one of 576 bytes at most */
    ON_ITS_WAY = 0x1000000    /* numbers move on by less until the frame is there */
};

/* A packet that is being made: from the link header on. */
struct packet {
    const struct intruder *who;
    uint8_t *ip, *l4;
    unsigned n;               /* bytes from l4 on */
    uint8_t v6, proto;
};

static uint32_t chance(const struct intruder *who, uint32_t below)
{
    return who->chance(who->arg, below);
}

static int one_in(const struct intruder *who, uint32_t n)
{
    return chance(who, n) == 0;
}

static uint32_t any32(const struct intruder *who)
{
    return chance(who, 65536) << 16 | chance(who, 65536);
}

static void put16(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)(x >> 8);
    p[1] = (uint8_t)x;
}

static void put32(uint8_t *p, uint32_t x)
{
    put16(p, x >> 16);
    put16(p + 2, x);
}

static void put_noise(const struct intruder *who, uint8_t *p, unsigned n)
{
    while (n-- > 0)
        *p++ = (uint8_t)chance(who, 256);
}

/* RFC 1071. */
static uint32_t add_words(uint32_t sum, const uint8_t *p, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        sum += (uint32_t)p[i] << (i % 2 ? 0 : 8);
    return sum;
}

static uint32_t fold(uint32_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return ~sum & 0xFFFF;
}

/* ---- IP ---------------------------------------------------------------------------------------------- */

/* One of his own names, on the victim's network or elsewhere. */
static struct tenon_ip stranger(const struct intruder *who)
{
    struct tenon_ip ip = who->friend_ip;

    ip.w[TENON_IP4_WORD] = (ip.w[TENON_IP4_WORD] & 0xFFFFFF00U) + 50 + chance(who, STRANGERS);
    if (one_in(who, 4))
        ip.w[tenon_ip_is_v4(&ip) ? TENON_IP4_WORD : 0] ^= 0x01000000U;
    return ip;
}

static void put_ip(uint8_t *p, const struct tenon_ip *ip)
{
    unsigned i;

    if (tenon_ip_is_v4(ip))
        put32(p, ip->w[TENON_IP4_WORD]);
    else
        for (i = 0; i < 4; i++)
            put32(p + 4 * i, tenon_ip_word(ip, i));
}

/* An IP header of `from`; what it carries is to be written at l4. */
static void packet_begin(struct packet *p, const struct intruder *who, uint8_t *frame, const struct tenon_ip *from,
                         unsigned proto)
{
    p->who = who;
    p->v6 = (uint8_t)!tenon_ip_is_v4(&who->ip);
    p->proto = (uint8_t)proto;
    p->ip = frame + who->link;
    p->l4 = p->ip + (p->v6 ? 40 : 20);
    p->n = 0;
    memset(frame, 0, who->link + 40U);
    if (who->link > 0) {
        memcpy(frame, who->mac, 6);
        memcpy(frame + 6, who->friend_mac, 6);
        put16(frame + 12, p->v6 ? 0x86DD : 0x0800);
    }
    if (p->v6) {
        p->ip[0] = 0x60;
        p->ip[6] = p->proto;
        p->ip[7] = 255;
        put_ip(p->ip + 8, from);
        put_ip(p->ip + 24, &who->ip);
        return;
    }
    p->ip[0] = 0x45;
    put16(p->ip + 4, chance(who, 65536));
    p->ip[8] = 64;
    p->ip[9] = p->proto;
    put_ip(p->ip + 12, from);
    put_ip(p->ip + 16, &who->ip);
}

/* The transport's checksum, at l4 + at; ICMP of IPv4 has no pseudo-header. */
static void packet_sum(const struct packet *p, unsigned at)
{
    uint32_t sum = 0;

    put16(p->l4 + at, 0);
    if (p->v6)
        sum = add_words(0, p->ip + 8, 32) + p->n + p->proto;
    else if (p->proto != ICMP)
        sum = add_words(0, p->ip + 12, 8) + p->n + p->proto;
    put16(p->l4 + at, fold(add_words(sum, p->l4, p->n)));
}

/* Lengths and the checksum of the header. @return bytes of the frame */
static unsigned packet_end(const struct packet *p)
{
    const unsigned all = (unsigned)(p->l4 - p->ip) + p->n;

    if (p->v6) {
        put16(p->ip + 4, all - 40);
    } else {
        put16(p->ip + 2, all);
        put16(p->ip + 10, 0);
        put16(p->ip + 10, fold(add_words(0, p->ip, 20)));
    }
    return p->who->link + all;
}

/* ---- TCP --------------------------------------------------------------------------------------------- */

/* What a segment says. */
struct segment {
    uint16_t from, to;
    uint32_t seq, ack, ts, echo;
    uint8_t flags, has_ts;
    unsigned len;
};

static unsigned segment_write(struct packet *p, const struct segment *s)
{
    const struct intruder *who = p->who;
    const unsigned header = s->has_ts ? 32 : 20;

    memset(p->l4, 0, header);
    put16(p->l4, s->from);
    put16(p->l4 + 2, s->to);
    put32(p->l4 + 4, s->seq);
    put32(p->l4 + 8, s->ack);
    p->l4[12] = (uint8_t)(header / 4 << 4);
    p->l4[13] = s->flags;
    put16(p->l4 + 14, chance(who, 65536));
    put16(p->l4 + 18, s->flags & URG ? chance(who, 65536) : 0);
    if (s->has_ts) {
        put32(p->l4 + 20, 0x0101080AU);
        put32(p->l4 + 24, s->ts);
        put32(p->l4 + 28, s->echo);
    }
    put_noise(who, p->l4 + header, s->len);
    p->n = header + s->len;
    packet_sum(p, 16);
    if (one_in(who, 40))
        p->l4[16] ^= 0x40;
    return packet_end(p);
}

/* Everything as the victim expects it next. */
static struct segment right_segment(const struct intruder *who, const struct tenon_tcp *conn)
{
    struct segment s;

    memset(&s, 0, sizeof(s));
    s.from = tn_tcp_remote_port(conn);
    s.to = tn_tcp_local_port(conn);
    s.seq = conn->rcv_nxt;
    s.ack = conn->snd_una;
    s.flags = ACK | (one_in(who, 2) ? PSH : 0);
    s.len = chance(who, 2) * (1 + chance(who, PAYLOAD_MAX));
    s.has_ts = (uint8_t)tn_tcp_has_timestamps(conn);
    s.ts = conn->ts_recent;
    s.echo = conn->ts_offset + conn->stack->now_ms;
    return s;
}

/* It lies where nothing is expected: neither ahead in the window nor behind as what is repeated. */
static uint32_t far_from(const struct intruder *who, uint32_t seq)
{
    return seq + 0x40000000U + any32(who) % 0x80000000U;
}

/* An acknowledgement of what was not sent, or was acknowledged before the oldest that could still come (RFC
 * 5961 5.2). */
static uint32_t wrong_ack(const struct intruder *who, const struct tenon_tcp *conn)
{
    if (one_in(who, 2))
        return conn->snd_nxt + ON_ITS_WAY + any32(who) % 0x40000000U;
    return conn->snd_una - conn->snd_wnd_max - ON_ITS_WAY - any32(who) % 0x30000000U;
}

enum blow {
    BLOW_RESET_NEAR,     /* within the window, where nothing has been sent yet */
    BLOW_RESET_FAR,
    BLOW_SYN,            /* whatever its number is. Whose connection has ended takes it for the beginning of another */
    BLOW_WRONG_ACK,
    BLOW_FAR,
    BLOW_NO_ACK,
    BLOW_OLD,            /* a timestamp of long ago: PAWS */
    BLOW_NO_TIMESTAMP,
    BLOWS
};

/* Any that would be harmless to who keeps the rules. unsent: from there on nothing was sent, nor probed. */
static enum blow blow_of(const struct intruder *who, const struct tenon_tcp *conn, uint32_t unsent)
{
    const enum blow blow = (enum blow)chance(who, BLOWS);

    if (blow >= BLOW_OLD && !tn_tcp_has_timestamps(conn))
        return BLOW_FAR;
    if (blow == BLOW_SYN && conn->state != TENON_TCP_ESTABLISHED)
        return BLOW_WRONG_ACK;
    if (blow == BLOW_RESET_NEAR && !(tn_seq_lt(conn->rcv_nxt, unsent) && tn_seq_lt(unsent, conn->rcv_adv)))
        return BLOW_RESET_FAR;
    return blow;
}

/* RFC 5961, RFC 7323 5: for a connection that is synchronized. */
static void segment_spoil(const struct intruder *who, const struct tenon_tcp *conn, const struct tenon_tcp *far,
                          struct segment *s)
{
    const uint32_t unsent = far != NULL ? far->snd_nxt + 2 : conn->rcv_adv;

    switch (blow_of(who, conn, unsent)) {
    case BLOW_RESET_NEAR:
        s->seq = unsent + any32(who) % (conn->rcv_adv - unsent);
        s->flags = (uint8_t)(RST | (one_in(who, 2) ? ACK : 0));
        s->len = 0;
        break;
    case BLOW_RESET_FAR:
        s->seq = far_from(who, s->seq);
        s->flags = (uint8_t)(RST | chance(who, 64));
        break;
    case BLOW_SYN:
        s->seq = one_in(who, 3) ? s->seq : any32(who);
        s->flags = (uint8_t)(SYN | (one_in(who, 3) ? ACK : 0));
        s->len = 0;
        break;
    case BLOW_WRONG_ACK:
        s->ack = wrong_ack(who, conn);
        s->flags |= (uint8_t)(one_in(who, 4) ? FIN : one_in(who, 8) ? URG : 0);
        break;
    case BLOW_FAR:
        s->seq = far_from(who, s->seq);
        s->flags = (uint8_t)(chance(who, 64) & (FIN | PSH | ACK | URG));
        break;
    case BLOW_NO_ACK: s->flags = (uint8_t)(chance(who, 64) & (FIN | PSH | URG)); break;
    case BLOW_OLD: s->ts -= 1000 + any32(who) % 0x70000000U; break;
    default: s->has_ts = 0; break;
    }
}

/* In SYN-SENT only who knows the number of the SYN is answered by more than a reset. */
static void segment_guess(const struct intruder *who, const struct tenon_tcp *conn, struct segment *s)
{
    s->seq = any32(who);
    s->ack = conn->snd_nxt + 1 + any32(who) % 0xFFF00000U;
    s->flags = (uint8_t)(ACK | (one_in(who, 2) ? RST : one_in(who, 2) ? SYN : 0));
    s->has_ts = 0;
}

static unsigned harm_by_segment(const struct intruder *who, const struct tenon_tcp *conn, const struct tenon_tcp *far,
                                uint8_t *frame)
{
    struct segment s = right_segment(who, conn);
    struct packet p;

    if (conn->state == TENON_TCP_SYN_SENT)
        segment_guess(who, conn, &s);
    else
        segment_spoil(who, conn, far, &s);
    packet_begin(&p, who, frame, &who->friend_ip, TCP);
    return segment_write(&p, &s);
}

/* Of a connection that will not be. */
static unsigned open_by_nobody(const struct intruder *who, uint8_t *frame)
{
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    struct segment s;
    struct packet p;

    memset(&s, 0, sizeof(s));
    s.from = (uint16_t)(INTRUDER_PORTS + chance(who, INTRUDER_PORTS_N));
    s.to = who->port != 0 && !one_in(who, 4) ? who->port : (uint16_t)(INTRUDER_PORTS + chance(who, INTRUDER_PORTS_N));
    s.seq = any32(who);
    s.ack = any32(who);
    s.flags = one_in(who, 4) ? (uint8_t)chance(who, 64) : SYN;
    s.has_ts = (uint8_t)chance(who, 2);
    s.ts = any32(who);
    s.len = one_in(who, 3) ? chance(who, PAYLOAD_MAX) : 0;
    packet_begin(&p, who, frame, &from, TCP);
    return segment_write(&p, &s);
}

/* ---- ICMP -------------------------------------------------------------------------------------------- */

/* Its first eight bytes; what follows is there. */
static unsigned icmp_write(struct packet *p, unsigned type, unsigned code, uint32_t rest)
{
    p->l4[0] = (uint8_t)type;
    p->l4[1] = (uint8_t)code;
    put32(p->l4 + 4, rest);
    packet_sum(p, 2);
    return packet_end(p);
}

/* An error: what he likes; an MTU from one that nobody has to one that everybody has. */
static unsigned error_write(struct packet *p)
{
    static const uint8_t types4[] = { 3, 3, 3, 4, 5, 11, 12 }, types6[] = { 1, 1, 2, 2, 3, 4, 137 };
    const struct intruder *who = p->who;
    const unsigned type = (p->v6 ? types6 : types4)[chance(who, TENON_ARRAY_LEN(types4))];

    return icmp_write(p, type, chance(who, p->v6 ? 8 : 16), chance(who, 1500));
}

/* Behind the ICMP header: a packet from the victim to the friend, with room for 8 bytes of its transport. @return where
 * these are */
static uint8_t *quote_begin(struct packet *p, unsigned proto)
{
    const struct intruder *who = p->who;
    uint8_t *ip = p->l4 + 8;

    memset(p->l4, 0, 8 + 40);
    if (p->v6) {
        ip[0] = 0x60;
        put16(ip + 4, 20 + chance(who, 1000));
        ip[6] = (uint8_t)proto;
        ip[7] = 60;
        put_ip(ip + 8, &who->ip);
        put_ip(ip + 24, &who->friend_ip);
        p->n = 8 + 40 + 20;
        return ip + 40;
    }
    ip[0] = 0x45;
    put16(ip + 2, 40 + chance(who, 1000));
    put16(ip + 6, 0x4000);
    ip[8] = 60;
    ip[9] = (uint8_t)proto;
    put_ip(ip + 12, &who->ip);
    put_ip(ip + 16, &who->friend_ip);
    put16(ip + 10, fold(add_words(0, ip, 20)));
    p->n = 8 + 20 + (one_in(who, 2) ? 8 : 20);
    return ip + 20;
}

/* RFC 5927: an error about what is not in flight, or, once the connection is open, one that says only that it did not
 * get there. */
static unsigned harm_by_error(const struct intruder *who, const struct tenon_tcp *conn, uint8_t *frame)
{
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    const int right = conn->state >= TENON_TCP_ESTABLISHED && conn->snd_nxt != conn->snd_una && one_in(who, 2);
    struct packet p;
    uint8_t *l4;

    packet_begin(&p, who, frame, &from, tenon_ip_is_v4(&who->ip) ? ICMP : ICMP6);
    l4 = quote_begin(&p, TCP);
    put_noise(who, l4, 20);
    put16(l4, tn_tcp_local_port(conn));
    put16(l4 + 2, tn_tcp_remote_port(conn));
    put32(l4 + 4, right ? conn->snd_una : far_from(who, conn->snd_nxt));
    if (right && p.v6)
        return icmp_write(&p, 1, chance(who, 7), 0);
    if (right)
        return icmp_write(&p, 3, chance(who, 4), 0);
    return error_write(&p);
}

static unsigned error_about_nothing(const struct intruder *who, uint8_t *frame)
{
    static const uint8_t protos[] = { ICMP, TCP, UDP, ICMP6, EXPERIMENT };
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    struct packet p;
    uint8_t *l4;

    packet_begin(&p, who, frame, &from, tenon_ip_is_v4(&who->ip) ? ICMP : ICMP6);
    l4 = quote_begin(&p, protos[chance(who, sizeof(protos))]);
    put_noise(who, l4, 20);
    put16(l4, INTRUDER_PORTS + chance(who, INTRUDER_PORTS_N));
    put16(l4 + 2, INTRUDER_PORTS + chance(who, INTRUDER_PORTS_N));
    return error_write(&p);
}

/* A question, or something that hosts do not answer. */
static unsigned message(const struct intruder *who, uint8_t *frame)
{
    static const uint8_t types4[] = { 8, 8, 0, 13, 15, 17, 10, 9, 40 },
                         types6[] = { 128, 128, 129, 130, 131, 132, 133, 143, 200 };
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    struct packet p;
    unsigned type;

    packet_begin(&p, who, frame, &from, tenon_ip_is_v4(&who->ip) ? ICMP : ICMP6);
    type = (p.v6 ? types6 : types4)[chance(who, TENON_ARRAY_LEN(types4))];
    p.n = 8 + (type == 0 || type == 129 ? 0 : chance(who, PAYLOAD_MAX));    /* no data that a test would look at */
    put_noise(who, p.l4 + 8, p.n - 8);
    return icmp_write(&p, type, 0, any32(who));
}

/* ---- datagrams, fragments, neighbours ------------------------------------------------------------------ */

static unsigned datagram_for_nobody(const struct intruder *who, uint8_t *frame)
{
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    struct packet p;

    packet_begin(&p, who, frame, &from, UDP);
    p.n = 8 + chance(who, PAYLOAD_MAX);
    put16(p.l4, chance(who, 65536));
    put16(p.l4 + 2, INTRUDER_PORTS + chance(who, INTRUDER_PORTS_N));
    put16(p.l4 + 4, one_in(who, 10) ? chance(who, 2000) : p.n);
    put_noise(who, p.l4 + 8, p.n - 8);
    packet_sum(&p, 6);
    return packet_end(&p);
}

/* Of a datagram that nobody understands, some of which are put together: few numbers, few places. */
static unsigned fragment(const struct intruder *who, uint8_t *frame)
{
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    const uint32_t at = 64 * chance(who, one_in(who, 4) ? 128 : 8), more = chance(who, 2), id = chance(who, 3);
    struct packet p;

    packet_begin(&p, who, frame, &from, EXPERIMENT);
    p.n = 8 + (one_in(who, 4) ? 64 * chance(who, 8) + chance(who, 8) : 512);
    put_noise(who, p.l4, p.n);
    if (p.v6) {
        p.ip[6] = FRAGMENT;
        p.l4[0] = EXPERIMENT;
        p.l4[1] = 0;
        put16(p.l4 + 2, at | more);
        put32(p.l4 + 4, id);
        return packet_end(&p);
    }
    put16(p.ip + 4, id);
    put16(p.ip + 6, at / 8 | more << 13);
    return packet_end(&p);
}

/* RFC 8200 4: options that are not known, chains of headers, routes. */
static unsigned strange_headers(const struct intruder *who, uint8_t *frame)
{
    static const uint8_t nexts[] = { 0, OPTIONS6, ROUTING, 59, EXPERIMENT, 135 };
    const struct tenon_ip from = one_in(who, 2) ? who->friend_ip : stranger(who);
    struct packet p;
    unsigned i;

    packet_begin(&p, who, frame, &from, nexts[chance(who, sizeof(nexts))]);
    p.n = 8 * (1 + chance(who, 12));
    put_noise(who, p.l4, p.n);
    for (i = 0; p.v6 && i < p.n; i += 8) {
        p.l4[i] = nexts[chance(who, sizeof(nexts))];
        p.l4[i + 1] = one_in(who, 8) ? (uint8_t)chance(who, 4) : 0;
    }
    if (!p.v6 && one_in(who, 2)) {    /* options of IPv4, good or bad: its header is longer by some of the noise */
        p.ip[0] = (uint8_t)(0x45 + 1 + chance(who, 10));
        p.ip[9] = EXPERIMENT;
    }
    return packet_end(&p);
}

/* ARP: strangers who ask for the victim, or tell of themselves (RFC 826). */
static unsigned arp(const struct intruder *who, uint8_t *frame)
{
    struct tenon_ip from = stranger(who);
    uint8_t *p = frame + 14;

    memset(frame, 0xFF, 6);
    if (one_in(who, 2))
        memcpy(frame, who->mac, 6);
    frame[6] = 2;
    put_noise(who, frame + 7, 5);
    put16(frame + 12, 0x0806);
    put32(p, 0x00010800U);
    put16(p + 4, 0x0604);
    put16(p + 6, 1 + chance(who, one_in(who, 8) ? 9 : 2));
    memcpy(p + 8, frame + 6, 6);
    put_ip(p + 14, &from);
    memset(p + 18, 0, 6);
    put_ip(p + 24, one_in(who, 4) ? &from : &who->ip);
    return 14 + 28;
}

/* Neighbour discovery: the same, and a router that nobody has asked for (RFC 4861). */
static unsigned discovery(const struct intruder *who, uint8_t *frame)
{
    static const uint8_t types[] = { 134, 135, 135, 135, 136, 136 };
    const struct tenon_ip from = stranger(who);
    const unsigned type = types[chance(who, sizeof(types))];
    struct packet p;

    packet_begin(&p, who, frame, &from, ICMP6);
    memset(p.l4, 0, 32);
    if (type != 134)
        put_ip(p.l4 + 8, type == 135 ? &who->ip : &from);
    p.l4[24] = (uint8_t)(1 + chance(who, 2));
    p.l4[25] = one_in(who, 10) ? (uint8_t)chance(who, 3) : 1;
    p.l4[26] = 2;
    put_noise(who, p.l4 + 27, 5);
    p.n = type == 134 ? 16 : 32;
    return icmp_write(&p, type, 0, type == 136 ? chance(who, 8) << 29 : type == 134 ? any32(who) : 0);
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static unsigned nuisance(const struct intruder *who, uint8_t *frame)
{
    switch (chance(who, 8)) {
    case 0: return error_about_nothing(who, frame);
    case 1: return message(who, frame);
    case 2: return datagram_for_nobody(who, frame);
    case 3: return fragment(who, frame);
    case 4: return strange_headers(who, frame);
    case 5:
        return tenon_ip_is_v4(&who->ip) ? who->link > 0 ? arp(who, frame) : message(who, frame)
                                        : discovery(who, frame);
    default: return open_by_nobody(who, frame);
    }
}

/* The end is missing, or bytes anywhere are something else. Not so where the result could be what somebody waits for:
 * checksums may be believed to be good, and a neighbour's word is. */
static unsigned garble(const struct intruder *who, uint8_t *frame, unsigned n)
{
    const uint8_t *ip = frame + who->link;
    const unsigned proto = ip[0] >> 4 == 6 ? ip[6] : ip[9];
    const int arp = who->link > 0 && frame[13] == 6;
    unsigned i;

    if (one_in(who, 2))
        return who->link + chance(who, n - who->link + 1);
    if (arp || proto == TCP || proto == UDP || proto == ICMP || proto == ICMP6)
        return n;
    for (i = chance(who, 6); i > 0; i--)
        frame[who->link + chance(who, n - who->link)] = (uint8_t)chance(who, 256);
    return n;
}

unsigned intruder_frame(const struct intruder *who, const struct tenon_tcp *conn, const struct tenon_tcp *far,
                        uint8_t *frame)
{
    unsigned n;

    if (conn != NULL)
        return one_in(who, 3) ? harm_by_error(who, conn, frame) : harm_by_segment(who, conn, far, frame);
    n = nuisance(who, frame);
    return one_in(who, 8) ? garble(who, frame, n) : n;
}
