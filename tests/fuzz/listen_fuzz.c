/* SPDX-License-Identifier: MIT */
/* A listening instance, and whatever a network may do to it. An input is a list of records: a byte that says what
 * kind, and its arguments: frames as they are, frames with their sums made right, packets of each protocol from a
 * few bytes, answers to what the instance has sent last (so that connections come about), time, calls of the
 * application, memory that fails. */
#include "fuzz.h"

#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum { CONNS_MAX = 16, RECORDS_MAX = 300, PAYLOAD_MAX = 3000, FRAMES_MAX = 50000, MEMORY_MAX = 16 << 20, LAST = 4 };

struct last_frame {
    uint8_t bytes[2048];
    size_t n;
};

struct listen {
    struct fuzz_world w;
    struct fuzz_bytes in;
    struct tenon_tcp_listener *listener[2];
    struct tenon_udp *udp[2];
    struct tenon_echo *echo;
    struct tenon_tcp *conn[CONNS_MAX];    /* held requests and open connections */
    struct tenon_span kept;               /* a span of what was received; buf NULL: none */
    struct last_frame last[LAST];
    unsigned nsent;
    uint8_t frame[FUZZ_FRAME_MAX];
    uint8_t verdict;
    struct tn_tcp_options fastopen;       /* the last cookie of Fast Open that the instance gave to the peer */
};

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 }, peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

/* ---- the application -------------------------------------------------------------------------- */

static void remember(struct listen *l, struct tenon_tcp *conn)
{
    unsigned i;

    for (i = 0; i < CONNS_MAX; i++) {
        if (!l->conn[i]) {
            l->conn[i] = conn;
            return;
        }
    }
}

static void forget(struct listen *l, const struct tenon_tcp *conn)
{
    unsigned i;

    for (i = 0; i < CONNS_MAX; i++)
        if (l->conn[i] == conn)
            l->conn[i] = NULL;
}

static enum tenon_verdict on_incoming(struct tenon_tcp *conn, void *app)
{
    struct listen *l = app;
    const enum tenon_verdict verdict = (enum tenon_verdict)(l->verdict & 3);

    if (verdict == TENON_ACCEPT || verdict == TENON_HOLD)
        remember(l, conn);
    return verdict;
}

static void let_go(struct listen *l)
{
    if (l->kept.buf)
        tenon_buf_put(l->kept.buf);
    l->kept.buf = NULL;
}

static void keep(struct listen *l, const struct tenon_span *span)
{
    let_go(l);
    l->kept = *span;
    tenon_buf_ref(span->buf);
}

/* An echo. */
static void on_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct listen *l = app;
    unsigned i;

    for (i = 0; i < n; i++) {
        keep(l, &spans[i]);
        (void)tenon_tcp_send(conn, &spans[i]);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void on_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)why;
    forget(app, conn);
}

static const struct tenon_tcp_events tcp_events = {
    .incoming = on_incoming, .received = on_received, .closed = on_closed,
};

static void on_datagram(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                        const struct tenon_span *spans, unsigned n)
{
    struct listen *l = app;
    uint32_t bytes = 0;
    unsigned i;

    for (i = 0; i < n; i++)
        bytes += spans[i].len;
    if (bytes != info->bytes)
        fuzz_fail("a datagram of %u bytes with spans of %u", info->bytes, bytes);
    if (n > 0)
        keep(l, &spans[0]);
    (void)tenon_udp_send_from(sock, &info->to.ip, &info->from, spans, n);
}

static void on_udp_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)app;
    (void)to;
    (void)error;
    (void)tenon_udp_connect(sock, NULL);
}

static const struct tenon_udp_events udp_events = { on_datagram, on_udp_error };

static void on_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    uint32_t bytes = 0;
    unsigned i;

    (void)echo;
    (void)app;
    for (i = 0; i < n; i++)
        bytes += spans[i].len;
    if (bytes != info->bytes)
        fuzz_fail("an echo of %u bytes with spans of %u", info->bytes, bytes);
}

static const struct tenon_echo_events echo_events = { on_reply, NULL };

/* ---- the world ------------------------------------------------------------------------------- */

static void learn_cookie(struct listen *l, const uint8_t *bytes, size_t n)
{
    const uint8_t *tcp = bytes + TN_ETH_BYTES + TN_IP4_BYTES;
    struct tn_tcp_options options;

    if (n < TN_ETH_BYTES + TN_IP4_BYTES + TN_TCP_BYTES || fuzz_get16(bytes + 12) != TN_ETHERTYPE_IP4
        || bytes[TN_ETH_BYTES + 9] != TN_PROTO_TCP || tcp[13] != (TN_TCP_SYN | TN_TCP_ACK))
        return;
    if (tn_tcp_options_parse(&options, tcp, (tcp[12] >> 4) * 4U) == 0 && options.has_fastopen)
        l->fastopen = options;
}

static void sent(void *arg, const struct tenon_frame *frame, const uint8_t *bytes, size_t n)
{
    struct listen *l = arg;
    struct last_frame *last = &l->last[l->nsent % LAST];

    (void)frame;
    if (memcmp(bytes + 6, our_mac, 6) != 0)
        fuzz_fail("a frame with another's Ethernet address");
    last->n = n < sizeof(last->bytes) ? n : sizeof(last->bytes);
    memcpy(last->bytes, bytes, last->n);
    l->nsent++;
    learn_cookie(l, bytes, n);
}

static void open_sockets(struct listen *l)
{
    struct tenon_addr at;
    struct tenon_ip group = tenon_ip4_bytes(224, 0, 1, 9), group6 = tenon_ip6(0xFF050000UL, 0, 0, 9);

    memset(&at, 0, sizeof(at));
    at.port = 80;
    (void)tenon_tcp_listen(l->w.stack, &l->listener[0], &at, &tcp_events, l, 3);
    at.port = 81;
    (void)tenon_tcp_listen(l->w.stack, &l->listener[1], &at, &tcp_events, l, 0);
    at.port = 7;
    if (tenon_udp_open(l->w.stack, &l->udp[0], &udp_events, l) == TENON_OK)
        (void)tenon_udp_bind(l->udp[0], &at);
    if (tenon_udp_open(l->w.stack, &l->udp[1], &udp_events, l) == TENON_OK)
        (void)tenon_udp_set(l->udp[1], TENON_UDP_BROADCAST, 1);
    (void)tenon_echo_open(l->w.stack, &l->echo, &echo_events, l);
    (void)tenon_group_join(l->w.stack, l->w.netif, &group);
    (void)tenon_group_join(l->w.stack, l->w.netif, &group6);
}

static void open_world(struct listen *l)
{
    const struct tenon_ip ip4 = tenon_ip4_bytes(10, 0, 0, 1), ip6 = tenon_ip6(0xFD000000UL, 0, 0, 1);
    const struct tenon_ip any4 = tenon_ip4(0), gateway = tenon_ip4_bytes(10, 0, 0, 9);
    const uint8_t how = fuzz_u8(&l->in);
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.neighbours_max = how & 1 ? 2 : 8;
    conf.paths_max = how & 1 ? 2 : 16;
    conf.neighbour_queue_max = 2;
    conf.reass_bytes_max = 100000;
    conf.reass_datagrams_max = 4;
    conf.reass_pieces_max = (tenon_u16)(how & 2 ? 4 : 64);
    conf.udp_sockets_max = 8;
    conf.tcp_conns_max = 12;
    conf.tcp_time_wait_max = 4;
    conf.tcp_rcv_buf = conf.tcp_snd_buf = 20000;
    conf.tcp_ooo_ranges_max = 4;
    l->w.now = how & 4 ? 0xFFF00000U : 1000000U;
    memcpy(l->w.netif_conf.mac, our_mac, 6);
    l->w.netif_conf.mtu = 1500;
    l->w.netif_conf.caps = how & 8 ? TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 : 0;
    l->w.netif_conf.gather_max = (tenon_u16)(how & 16 ? 1 : 0);
    l->w.netif_conf.flags = (tenon_u16)(how & 32 ? 0 : TENON_NETIF_NO_DAD);
    l->verdict = (uint8_t)(how & 64 ? TENON_HOLD : TENON_ACCEPT);
    l->w.sent = sent;
    l->w.arg = l;
    fuzz_world_open(&l->w, &conf);
    if (tenon_addr_add(l->w.stack, l->w.netif, &ip4, 24) != TENON_OK
        || tenon_addr_add(l->w.stack, l->w.netif, &ip6, 64) != TENON_OK
        || tenon_route_add(l->w.stack, l->w.netif, &any4, 0, &gateway, 0) != TENON_OK)
        fuzz_fail("no addresses");
    open_sockets(l);
    (void)fuzz_world_poll(&l->w);
    if (how & 128)
        fuzz_world_advance(&l->w, 10000000);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static size_t take(struct listen *l, uint8_t *to, size_t n)
{
    size_t i;

    if (n > l->in.left)
        n = l->in.left;
    for (i = 0; i < n; i++)
        to[i] = fuzz_u8(&l->in);
    return n;
}

static size_t put_link(uint8_t *to, unsigned ethertype, int multicast)
{
    memcpy(to, our_mac, 6);
    if (multicast)
        memcpy(to, "\x33\x33\x00\x00\x00\x01", 6);
    if (multicast && ethertype != TN_ETHERTYPE_IP6)
        memset(to, 0xFF, 6);
    memcpy(to + 6, peer_mac, 6);
    fuzz_put16(to + 12, ethertype);
    return TN_ETH_BYTES;
}

static void receive(struct listen *l, size_t n, uint8_t how)
{
    const size_t cut = how & 1 ? fuzz_u8(&l->in) : 0;

    fuzz_world_input(&l->w, l->frame, n, cut, 0);
}

/* A whole frame; with its sums made right or not. */
static void record_frame(struct listen *l)
{
    const uint8_t how = fuzz_u8(&l->in);
    const size_t wanted = how & 2 ? fuzz_u16(&l->in) % PAYLOAD_MAX : fuzz_u8(&l->in);
    const size_t n = take(l, l->frame, wanted);

    if (how & 4 && n > 6)
        memcpy(l->frame, our_mac, 6);
    if (how & 8 && n > TN_ETH_BYTES)
        fuzz_repair(l->frame + TN_ETH_BYTES, n - TN_ETH_BYTES, how & 16);
    receive(l, n, how);
}

static void record_ip4(struct listen *l)
{
    static const uint8_t protos[] = { TN_PROTO_TCP, TN_PROTO_UDP, TN_PROTO_ICMP, TN_PROTO_IGMP };
    static const uint32_t dsts[] = { 0x0A000001, 0x0A000001, 0xE0000109, 0xE0000001,
                                     0x0A0000FF, 0xFFFFFFFF, 0x0A000003, 0x7F000001 };
    const uint8_t how = fuzz_u8(&l->in), where = fuzz_u8(&l->in);
    size_t n = put_link(l->frame, TN_ETHERTYPE_IP4, (where & 7) >= 2 && (where & 7) < 6), options;
    uint8_t *ip = l->frame + n;
    struct tn_ip4 header;

    memset(&header, 0, sizeof(header));
    header.src = 0x0A000002U + (where >> 3 & 7U);
    header.dst = dsts[where & 7];
    header.proto = how & 2 ? fuzz_u8(&l->in) : protos[how >> 2 & 3];
    header.ttl = where & 64 ? 1 : 64;
    header.tos = where & 128 ? fuzz_u8(&l->in) : 0;
    if (how & 16) {    /* a fragment */
        header.id = fuzz_u8(&l->in);
        header.frag = fuzz_u16(&l->in);
        header.frag &= (tenon_u16)(how & 32 ? 0x203F : 0xFFFF);
    }
    n += tn_ip4_build(ip, &header);
    options = how & 64 ? take(l, l->frame + n, (fuzz_u8(&l->in) & 7U) * 4U + 4U) & ~(size_t)3 : 0;
    ip[0] = (uint8_t)(0x45 + options / 4);
    n += options;
    n += take(l, l->frame + n, how & 128 ? fuzz_u16(&l->in) % PAYLOAD_MAX : fuzz_u8(&l->in));
    fuzz_repair(ip, n - TN_ETH_BYTES, 1);
    receive(l, n, how);
}

static struct tenon_ip pick_ip6(uint8_t which)
{
    switch (which & 7) {
    case 2: return tenon_ip6(0xFF020000UL, 0, 0, 1);
    case 3: return tenon_ip6(0xFF020000UL, 0, 1, 0xFF000001UL);
    case 4: return tenon_ip6(0xFE800000UL, 0, 0, 2);
    case 5: return tenon_ip6(0xFF050000UL, 0, 0, 9);
    case 6: return tenon_ip6(0, 0, 0, which >> 3);
    case 7: return tenon_ip6(0xFD000000UL, 0, 0, 2U + (which >> 3));
    default: return tenon_ip6(0xFD000000UL, 0, 0, 1);
    }
}

static void record_ip6(struct listen *l)
{
    static const uint8_t protos[] = { TN_PROTO_TCP,    TN_PROTO_UDP,     TN_PROTO_ICMP6,    TN_PROTO_FRAGMENT,
                                      TN_PROTO_HOPOPT, TN_PROTO_DSTOPTS, TN_PROTO_ROUTING, TN_PROTO_ICMP6 };
    const uint8_t how = fuzz_u8(&l->in), dst = fuzz_u8(&l->in), src = fuzz_u8(&l->in);
    size_t n = put_link(l->frame, TN_ETHERTYPE_IP6, (dst & 7) == 2 || (dst & 7) == 3 || (dst & 7) == 5);
    uint8_t *ip = l->frame + n;
    const struct tenon_ip from = pick_ip6(src), to = pick_ip6(dst);
    struct tn_ip6 header;

    memset(&header, 0, sizeof(header));
    header.next = how & 2 ? fuzz_u8(&l->in) : protos[how >> 2 & 7];
    header.hop_limit = how & 32 ? 64 : 255;
    n += tn_ip6_build(ip, &header, &from, &to);
    n += take(l, l->frame + n, how & 64 ? fuzz_u16(&l->in) % PAYLOAD_MAX : fuzz_u8(&l->in));
    fuzz_repair(ip, n - TN_ETH_BYTES, 1);
    receive(l, n, how);
}

static void record_arp(struct listen *l)
{
    const uint8_t how = fuzz_u8(&l->in);
    static const uint8_t nobody[6] = { 0 };
    uint8_t mac[6];
    struct tn_arp arp;
    size_t n = put_link(l->frame, TN_ETHERTYPE_ARP, how & 1);

    memset(&arp, 0, sizeof(arp));
    arp.op = how & 2 ? TN_ARP_REPLY : TN_ARP_REQUEST;
    memcpy(mac, peer_mac, 6);
    mac[5] = (tenon_u8)(how >> 2 & 3);
    arp.sender_mac = mac;
    arp.target_mac = nobody;
    arp.sender_ip = how & 16 ? fuzz_u32(&l->in) : 0x0A000000U + (how >> 5);
    arp.target_ip = how & 32 ? 0x0A000001U : 0x0A000002U;
    n += tn_arp_build(l->frame + n, &arp);
    receive(l, n, 0);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void swap(uint8_t *a, uint8_t *b, size_t n)
{
    while (n-- > 0) {
        const uint8_t byte = *a;

        *a++ = *b;
        *b++ = byte;
    }
}

/* A TCP header turned round: the next segment of the other side. */
static size_t turn_tcp(struct listen *l, uint8_t *tcp, size_t n)
{
    const uint8_t flags = fuzz_u8(&l->in), near = fuzz_u8(&l->in);
    const uint32_t seq = fuzz_get32(tcp + 4), ack = fuzz_get32(tcp + 8);
    const size_t header = (tcp[12] >> 4) * 4U;
    const uint32_t end = seq + (uint32_t)(n - header) + (tcp[13] & TN_TCP_SYN ? 1U : 0U) + (tcp[13] & TN_TCP_FIN);

    swap(tcp, tcp + 2, 2);
    fuzz_put32(tcp + 4, ack + (near & 1 ? (near >> 4) - 8U : 0U));
    fuzz_put32(tcp + 8, end + (near & 2 ? (near >> 4) - 8U : 0U));
    if (tcp[13] & TN_TCP_SYN && !(tcp[13] & TN_TCP_ACK))
        fuzz_put32(tcp + 4, 1000);    /* the answer to an active open */
    tcp[12] = 0x50;
    fuzz_put16(tcp + 14, near & 4 ? near : 0xFFFF);
    if ((near & 0x83) == 0x80 && flags == (TN_TCP_SYN | TN_TCP_ACK)) {    /* with a cookie of Fast Open */
        memcpy(tcp + 20, "\x22\x06\x01\x02\x03\x04\x01\x01", 8);
        tcp[12] = 0x70;
        if (near & 0x40)
            fuzz_put32(tcp + 8, seq + 1);    /* it takes no data */
    }
    tcp[13] = flags;
    return (tcp[12] >> 4) * 4U + take(l, tcp + (tcp[12] >> 4) * 4, near & 8 ? fuzz_u8(&l->in) : 0);
}

static size_t turn_transport(struct listen *l, uint8_t *l4, size_t n, unsigned proto)
{
    if (proto == TN_PROTO_TCP && n >= 20 && (l4[12] >> 4) * 4U <= n)
        return turn_tcp(l, l4, n);
    if (proto == TN_PROTO_UDP && n >= 8)
        swap(l4, l4 + 2, 2);
    if (proto == TN_PROTO_ICMP && n >= 8 && l4[0] == 8)
        l4[0] = 0;
    if (proto == TN_PROTO_ICMP6 && n >= 8 && l4[0] == 128)
        l4[0] = 129;
    /* A solicitation is answered by an advertisement of the same address. */
    if (proto == TN_PROTO_ICMP6 && n >= 32 && l4[0] == 135) {
        l4[0] = 136;
        l4[4] = fuzz_u8(&l->in);
        l4[24] = 2;
        memcpy(l4 + 26, peer_mac, 6);
    }
    return n;
}

/* What the instance has sent is quoted in an ICMP error. */
static size_t turn_error(struct listen *l, uint8_t *ip, size_t n, int v6)
{
    uint8_t quoted[128];
    const size_t header = v6 ? 40 : 20, len = n < sizeof(quoted) ? n : sizeof(quoted);

    memcpy(quoted, ip, len);
    swap(ip + (v6 ? 8 : 12), ip + (v6 ? 24 : 16), v6 ? 16 : 4);
    ip[v6 ? 6 : 9] = (uint8_t)(v6 ? TN_PROTO_ICMP6 : TN_PROTO_ICMP);
    ip[v6 ? 7 : 8] = 64;
    if (!v6)
        ip[0] = 0x45;
    memset(ip + header, 0, 8);
    ip[header] = fuzz_u8(&l->in) & 15;
    ip[header + 1] = fuzz_u8(&l->in) & 7;
    fuzz_put16(ip + header + 6, fuzz_u16(&l->in));
    memcpy(ip + header + 8, quoted, len);
    return header + 8 + len;
}

static void record_answer(struct listen *l)
{
    const uint8_t how = fuzz_u8(&l->in);
    const struct last_frame *last = &l->last[(l->nsent - 1U - (how >> 6)) % LAST];
    uint8_t *ip = l->frame + TN_ETH_BYTES;
    size_t n, header;
    int v6;

    if (last->n < 42)
        return;
    memcpy(l->frame, last->bytes, last->n);
    memcpy(l->frame + 6, peer_mac, 6);
    memcpy(l->frame, our_mac, 6);
    n = last->n - TN_ETH_BYTES;
    if (fuzz_get16(l->frame + 12) == TN_ETHERTYPE_ARP) {
        fuzz_put16(ip + 6, TN_ARP_REPLY);
        swap(ip + 8, ip + 18, 10);
        memcpy(ip + 8, peer_mac, 6);
        receive(l, TN_ETH_BYTES + 28, 0);
        return;
    }
    v6 = fuzz_get16(l->frame + 12) == TN_ETHERTYPE_IP6;
    header = v6 ? 40 : (ip[0] & 15U) * 4U;
    if (n < header || (how & 2)) {
        n = turn_error(l, ip, n, v6);
    } else {
        swap(ip + (v6 ? 8 : 12), ip + (v6 ? 24 : 16), v6 ? 16 : 4);
        n = header + turn_transport(l, ip + header, n - header, ip[v6 ? 6 : 9]);
    }
    fuzz_repair(ip, n, 1);
    receive(l, TN_ETH_BYTES + n, how);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void record_time(struct listen *l)
{
    const uint64_t us = fuzz_log(&l->in);

    fuzz_world_advance(&l->w, us > 100000000 ? us * 16 : us);
}

static void record_connection(struct listen *l)
{
    static const uint8_t bytes[1024];
    const uint8_t how = fuzz_u8(&l->in);
    struct tenon_tcp *conn = l->conn[how % CONNS_MAX];

    if (!conn)
        return;
    switch (how / CONNS_MAX % 8) {
    case 0:
        if (tenon_tcp_decide(conn, TENON_REFUSE) == TENON_OK)
            forget(l, conn);
        break;
    case 1: (void)tenon_tcp_decide(conn, TENON_ACCEPT); break;
    case 2: (void)tenon_tcp_finish(conn); break;
    case 3: tenon_tcp_close(conn); break;
    case 4: tenon_tcp_abort(conn); break;
    case 5: (void)tenon_tcp_write(conn, bytes, sizeof(bytes)); break;
    case 6:
        if (l->kept.buf)
            (void)tenon_tcp_send(conn, &l->kept);
        break;
    default: (void)tenon_tcp_set(conn, (enum tenon_tcp_option)(fuzz_u8(&l->in) % 32), fuzz_log(&l->in)); break;
    }
}

/* A SYN of a peer that knows Fast Open: with the last cookie, or a spoilt one, or a request for one; and with data. */
static void fast_syn(struct listen *l, uint8_t how)
{
    size_t n = put_link(l->frame, TN_ETHERTYPE_IP4, 0);
    uint8_t *ip = l->frame + n, *l4 = ip + TN_IP4_BYTES;
    struct tn_tcp_options options;
    struct tn_ip4 header;
    struct tn_tcp tcp;

    memset(&header, 0, sizeof(header));
    header.src = 0x0A000002U;
    header.dst = 0x0A000001U;
    header.proto = TN_PROTO_TCP;
    header.ttl = 64;
    n += tn_ip4_build(ip, &header);
    memset(&options, 0, sizeof(options));
    options.has_fastopen = 1;
    if (how & 2) {
        options.fastopen_bytes = l->fastopen.fastopen_bytes;
        memcpy(options.fastopen, l->fastopen.fastopen, sizeof(options.fastopen));
        options.fastopen[0] ^= (tenon_u8)(how & 1);
    }
    memset(&tcp, 0, sizeof(tcp));
    tcp.ports = (tenon_u32)(40000 + (how >> 5)) << 16 | (80U + (how >> 4 & 1));
    tcp.seq = 1000;
    tcp.flags = TN_TCP_SYN;
    tcp.wnd = 0xFFFF;
    tcp.header_bytes = (tenon_u8)(TN_TCP_BYTES + tn_tcp_options_build(l4 + TN_TCP_BYTES, &options));
    (void)tn_tcp_build(l4, &tcp);
    n += tcp.header_bytes;
    n += take(l, l->frame + n, fuzz_u8(&l->in));
    fuzz_repair(ip, n - TN_ETH_BYTES, 1);
    receive(l, n, 0);
}

static void record_open(struct listen *l)
{
    static const uint8_t request[100] = "request";
    const uint8_t how = fuzz_u8(&l->in);
    struct tenon_addr to;
    struct tenon_tcp *conn;

    if (how & 8) {
        fast_syn(l, how);
        return;
    }
    memset(&to, 0, sizeof(to));
    to.ip = how & 1 ? tenon_ip6(0xFD000000UL, 0, 0, 2) : tenon_ip4(how & 2 ? 0x01020304U : 0x0A000002U);
    to.port = how >> 4;
    if (tenon_tcp_connect(l->w.stack, &conn, NULL, &to, &tcp_events, l) != TENON_OK)
        return;
    remember(l, conn);
    if (how & 4 && tenon_tcp_set(conn, TENON_TCP_FASTOPEN, 1) == TENON_OK)
        (void)tenon_tcp_write(conn, request, sizeof(request));
}

static void record_datagram(struct listen *l)
{
    static const uint8_t bytes[4000];
    const uint8_t how = fuzz_u8(&l->in);
    struct tenon_udp *sock = l->udp[how >> 7];
    struct tenon_addr to;

    memset(&to, 0, sizeof(to));
    to.ip = how & 1 ? tenon_ip6(0xFD000000UL, 0, 0, 2) : tenon_ip4(0x0A000002U + (how >> 5 & 3U));
    to.port = 9;
    if (how & 2 && l->echo)
        (void)tenon_echo_send(l->echo, &to, how, bytes, how & 4 ? 4000 : 40);
    else if (how & 8 && sock)
        (void)tenon_udp_connect(sock, &to);
    else if (sock)
        (void)tenon_udp_write(sock, &to, bytes, how & 4 ? 4000 : 40);
}

static void record_host(struct listen *l)
{
    static const struct tenon_ip group = { { 0, 0, 0xFFFF, 0xE0000109 } };
    const uint8_t how = fuzz_u8(&l->in);

    if (how & 1)
        l->w.mem_fail = how >> 4;
    if (how & 2)
        l->w.buf_fail = how >> 4;
    if (how & 4)
        l->w.busy = how >> 4;
    if (!(how & 8))
        return;
    switch (how >> 4) {
    case 0:
    case 1: (void)tenon_netif_link(l->w.stack, l->w.netif, how >> 4); break;
    case 2: (void)tenon_netif_mtu(l->w.stack, l->w.netif, 1280); break;
    case 3: (void)tenon_group_leave(l->w.stack, l->w.netif, &group); break;
    case 4: (void)tenon_group_join(l->w.stack, l->w.netif, &group); break;
    case 5: l->verdict = fuzz_u8(&l->in); break;
    case 6: let_go(l); break;
    case 7: (void)tenon_tcp_listener_set(l->listener[0], TENON_TCP_FASTOPEN, 1); break;
    case 8: (void)tenon_tcp_listener_set(l->listener[1], TENON_TCP_FASTOPEN, 1); break;
    default: (void)fuzz_world_poll(&l->w); break;
    }
}

/* ---- the input ------------------------------------------------------------------------------- */

static void (*const records[])(struct listen *l) = {
    record_frame,    record_ip4,    record_ip4,    record_ip6,  record_ip6,        record_arp,
    record_answer,   record_answer, record_time,   record_time, record_connection, record_open,
    record_datagram, record_host,   record_answer, record_ip4,
};

static void close_world(struct listen *l)
{
    let_go(l);
    l->w.mem_fail = l->w.buf_fail = l->w.busy = 0;
    fuzz_world_note_counters(&l->w);
    if (l->w.mem_most > MEMORY_MAX)
        fuzz_fail("%zu bytes of memory at most", l->w.mem_most);
    fuzz_world_close(&l->w, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct listen *l = calloc(1, sizeof(*l));
    unsigned n;

    if (!l)
        abort();
    l->in.p = data;
    l->in.left = size;
    open_world(l);
    for (n = 0; n < RECORDS_MAX && l->in.left > 0 && l->w.frames < FRAMES_MAX; n++) {
        const unsigned record = fuzz_u8(&l->in) % TENON_ARRAY_LEN(records);

        fuzz_note("%12.6f record %u", (double)l->w.now / 1e6, record);
        records[record](l);
    }
    close_world(l);
    free(l);
    return 0;
}
