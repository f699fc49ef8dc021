/* SPDX-License-Identifier: MIT */
/* A flood of broken frames: packets of every protocol with wrong lengths, cut short, with bytes thrown in,
 * their checksums made right again more often than not, so that they get past the first look. The instance
 * must go on: no crash, no endless loop, nothing held for ever, and an honest peer is served as before.
 * Seeded: the same frames every time. Covers VUL-F-1..9, VUL-F-13..15 of the input classes. */
#include "../harness.h"

enum { GARBAGE_FRAMES = 300000, FRAME_MAX = 1600, SEEDS_MAX = 24 };

struct seed_frame {
    tenon_u8 bytes[256];
    size_t len;
};

struct garbage {
    struct hn hn;
    unsigned netif;
    struct tenon_udp *udp;
    struct tenon_tcp_listener *listener;
    struct seed_frame seeds[SEEDS_MAX];
    unsigned nseeds;
    tenon_u32 state;
    unsigned long received;
};

static tenon_u32 rnd(struct garbage *g)
{
    g->state ^= g->state << 13;
    g->state ^= g->state >> 17;
    g->state ^= g->state << 5;
    return g->state;
}

static tenon_u32 below(struct garbage *g, tenon_u32 n)
{
    return rnd(g) % n;
}

/* ---- the application: echoes ---------------------------------------------------------------------- */

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct garbage *g = app;

    for (unsigned i = 0; i < n; i++) {
        g->received += spans[i].len;
        (void)tenon_tcp_send(conn, &spans[i]);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static const struct tenon_tcp_events echo_events = { .received = echo_received };

static void udp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    (void)app;
    (void)tenon_udp_send(sock, &info->from, spans, n);
}

static const struct tenon_udp_events udp_events = { udp_received, NULL };

/* ---- honest packets, from which the others are made ------------------------------------------------ */

static void keep(struct garbage *g, const struct hn_packet *packet)
{
    struct seed_frame *seed = &g->seeds[g->nseeds++];

    seed->len = hn_build(seed->bytes, g->netif, packet);
}

static void keep_both(struct garbage *g, unsigned proto, unsigned proto6, unsigned sum_at, const void *l4, size_t len)
{
    struct hn_packet packet = { .src = hn_ip("192.0.2.9"), .dst = hn_ip("192.0.2.1"), .proto = proto, .ttl = 255 };

    hn_mac(packet.from, 1, 9);
    packet.payload = l4;
    packet.len = len;
    packet.sum_at = sum_at;
    keep(g, &packet);
    packet.src = hn_ip("fe80::9");
    packet.dst = hn_ip("2001:db8::1");
    packet.proto = proto6;
    keep(g, &packet);
}

static size_t tcp_at(tenon_u8 *p, unsigned flags, const void *options, size_t options_len, size_t data)
{
    memset(p, 0, 20 + options_len + data);
    hn_put16(p, 40000);
    hn_put16(p + 2, 80);
    hn_put32(p + 4, 1000);
    hn_put32(p + 8, 2000);
    p[12] = (tenon_u8)((20 + options_len) / 4 << 4);
    p[13] = (tenon_u8)flags;
    hn_put16(p + 14, 65535);
    if (options_len > 0)
        memcpy(p + 20, options, options_len);
    return 20 + options_len + data;
}

static void make_seeds(struct garbage *g)
{
    static const tenon_u8 syn_options[20] = { 2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7 };
    static const tenon_u8 sack_options[12] = { 1, 1, 5, 10, 0, 0, 8, 0, 0, 0, 9, 0 };
    static const tenon_u8 igmp_query[12] = { 0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0 };
    static const tenon_u8 options6[16] = { 17, 0, 1, 4, 0, 0, 0, 0, 0x13, 0x88, 0, 7, 0, 8, 0, 0 };
    static const tenon_u8 fragment6[24] = { 17, 0, 0, 1, 0, 0, 0, 5, 0x13, 0x88, 0, 7, 0, 16, 0, 0 };
    tenon_u8 p[128];
    size_t len;

    memset(p, 0, sizeof p);
    p[0] = 8;
    keep_both(g, 1, 1, 2, p, 40);    /* echo; nonsense over IPv6 */
    p[0] = 128;
    keep_both(g, 58, 58, 2, p, 40);
    memset(p, 0, sizeof p);
    hn_put16(p, 5000);
    hn_put16(p + 2, 7);
    hn_put16(p + 4, 40);
    keep_both(g, 17, 17, 6, p, 40);
    len = tcp_at(p, 2, syn_options, sizeof syn_options, 0);
    keep_both(g, 6, 6, 16, p, len);
    len = tcp_at(p, 0x18, sack_options, sizeof sack_options, 30);
    keep_both(g, 6, 6, 16, p, len);
    len = tcp_at(p, 0x31, NULL, 0, 10);
    keep_both(g, 6, 6, 16, p, len);
    memset(p, 0, sizeof p);
    p[0] = 3, p[1] = 4;    /* fragmentation needed, quoting a packet of ours */
    p[8] = 0x45, p[11] = 40, p[17] = 6;
    keep_both(g, 1, 58, 2, p, 60);
    memset(p, 0, sizeof p);
    p[0] = 135;
    hn_put32(p + 8, 0x20010DB8U);
    p[23] = 1, p[24] = 1, p[25] = 1, p[26] = 2;
    keep_both(g, 58, 58, 2, p, 32);    /* neighbour solicitation */
    p[0] = 134, p[16] = 3, p[17] = 4, p[18] = 64, p[19] = 0xC0;
    keep_both(g, 58, 58, 2, p, 48);    /* router advertisement with a prefix */
    keep_both(g, 2, 0, 2, igmp_query, sizeof igmp_query);
    keep_both(g, 60, 60, 0, options6, sizeof options6);
    keep_both(g, 44, 44, 0, fragment6, sizeof fragment6);
}

/* ---- breaking them ---------------------------------------------------------------------------------- */

static void break_once(struct garbage *g, tenon_u8 *p, size_t *len)
{
    static const unsigned edges[] = { 0, 1, 2, 7, 8, 19, 20, 21, 39, 40, 41, 60, 0x7FFF, 0x8000, 0xFFFE, 0xFFFF };
    const size_t at = 12 + below(g, (tenon_u32)*len - 12);

    switch (below(g, 7)) {
    case 0: p[at] = (tenon_u8)rnd(g); break;
    case 1: p[at] ^= (tenon_u8)(1U << below(g, 8)); break;
    case 2: p[at] = (tenon_u8)edges[below(g, sizeof edges / sizeof edges[0])]; break;
    case 3:
        if (at + 1 < *len)
            hn_put16(p + at, edges[below(g, sizeof edges / sizeof edges[0])]);
        break;
    case 4: *len = 14 + below(g, (tenon_u32)*len - 13); break;
    case 5:
        for (size_t n = below(g, 200); n > 0 && *len < FRAME_MAX; n--)
            p[(*len)++] = (tenon_u8)rnd(g);
        break;
    default: hn_put16(p + at - at % 2, (unsigned)(*len - 14 + below(g, 3) - 1)); break;    /* a length, nearly right */
    }
}

/* Make the IPv4 header right again, where there is one: total length now and then, checksum always. */
static void mend_ip4(struct garbage *g, tenon_u8 *p, size_t len)
{
    const size_t header = (size_t)(p[14] & 15) * 4;

    if (hn_get16(p + 12) != 0x0800 || header < 20 || 14 + header > len)
        return;
    if (below(g, 2))
        hn_put16(p + 16, (unsigned)(len - 14));
    hn_put16(p + 24, 0);
    hn_put16(p + 24, ~hn_sum(0, p + 14, header) & 0xFFFF);
}

static void give(struct garbage *g, const tenon_u8 *p, size_t len)
{
    struct tenon_buf *first = hn_buf(&g->hn, len), *second = NULL;
    struct tenon_span spans[2];
    struct tenon_frame frame;
    const size_t cut = below(g, 8) == 0 && len > 1 ? 1 + below(g, (tenon_u32)len - 1) : len;

    memset(&frame, 0, sizeof frame);
    memcpy(first->data, p, len);
    spans[0].buf = first;
    spans[0].off = 0;
    spans[0].len = (tenon_u32)cut;
    frame.spans = spans;
    frame.nspans = 1;
    if (cut < len) {
        second = hn_buf(&g->hn, len - cut);
        memcpy(second->data, p + cut, len - cut);
        spans[1].buf = second;
        spans[1].off = 0;
        spans[1].len = (tenon_u32)(len - cut);
        frame.nspans = 2;
    }
    frame.csum = (tenon_u8)(below(g, 4) != 0 ? TENON_CSUM_GOOD : TENON_CSUM_NONE);
    HN_EQUAL(tenon_input(g->hn.stack, g->netif, &frame, 1, g->hn.now_us), TENON_OK);
    tenon_buf_put(first);
    if (second != NULL)
        tenon_buf_put(second);
}

static void flood(struct garbage *g, unsigned frames)
{
    static tenon_u8 p[FRAME_MAX];

    for (unsigned i = 0; i < frames; i++) {
        const struct seed_frame *seed = &g->seeds[below(g, g->nseeds)];
        size_t len = seed->len;

        memcpy(p, seed->bytes, len);
        for (unsigned n = 1 + below(g, 4); n > 0 && len > 15; n--)
            break_once(g, p, &len);
        if (below(g, 4) != 0 && len >= 34)
            mend_ip4(g, p, len);
        give(g, p, len);
        if (i % 64 == 0) {
            hn_run(&g->hn, below(g, 20000));
            hn_forget(&g->hn);
        }
    }
}

/* ---- an honest peer ------------------------------------------------------------------------------------ */

static const struct hn_sent *next_of(struct hn *hn, unsigned proto)
{
    const struct hn_sent *sent;

    while ((sent = hn_next(hn)) != NULL)
        if (sent->len >= 54 && hn_get16(sent->bytes + 12) == 0x0800 && sent->bytes[23] == proto)
            return sent;
    return NULL;
}

static void honest(struct garbage *g, const void *l4, size_t len, unsigned proto, unsigned sum_at)
{
    struct hn_packet packet = { .src = hn_ip("192.0.2.77"), .dst = hn_ip("192.0.2.1"), .proto = proto, .ttl = 64 };

    hn_mac(packet.from, 1, 77);
    packet.payload = l4;
    packet.len = len;
    packet.sum_at = sum_at;
    hn_packet(&g->hn, g->netif, &packet);
    hn_run(&g->hn, 1000);
}

static void honest_peer_is_served(struct garbage *g, unsigned port)
{
    const struct hn_sent *sent;
    tenon_u8 p[64];
    tenon_u32 iss;

    hn_forget(&g->hn);
    memset(p, 0, sizeof p);
    p[0] = 8;
    hn_put16(p + 2, ~hn_sum(0, p, 40) & 0xFFFF);
    honest(g, p, 40, 1, 0);
    sent = next_of(&g->hn, 1);
    HN_CHECK(sent != NULL && sent->bytes[34] == 0);
    (void)tcp_at(p, 2, NULL, 0, 0);
    hn_put16(p, port);
    honest(g, p, 20, 6, 16);
    sent = next_of(&g->hn, 6);
    if (!HN_CHECK(sent != NULL && (sent->bytes[47] & 0x12) == 0x12))
        return;
    iss = hn_get32(sent->bytes + 38);
    (void)tcp_at(p, 0x18, NULL, 0, 5);
    hn_put16(p, port);
    hn_put32(p + 4, 1001);
    hn_put32(p + 8, iss + 1);
    g->received = 0;
    honest(g, p, 25, 6, 16);
    HN_EQUAL(g->received, 5);
    sent = next_of(&g->hn, 6);
    HN_CHECK(sent != NULL && hn_get32(sent->bytes + 42) == 1006);
}

/* ---- the tests ------------------------------------------------------------------------------------------- */

static void garbage_open(struct garbage *g, tenon_u32 seed)
{
    struct tenon_addr at;
    struct tenon_conf conf;
    struct tenon_ip ip;
    tenon_u8 mac[6];

    memset(g, 0, sizeof *g);
    g->state = seed;
    tenon_conf_default(&conf);
    conf.neighbours_max = 32;
    conf.tcp_conns_max = 64;
    hn_open(&g->hn, &conf);
    g->netif = hn_netif(&g->hn, TENON_NETIF_NO_DAD);
    ip = hn_ip("192.0.2.1");
    HN_EQUAL(tenon_addr_add(g->hn.stack, g->netif, &ip, 24), TENON_OK);
    ip = hn_ip("2001:db8::1");
    HN_EQUAL(tenon_addr_add(g->hn.stack, g->netif, &ip, 64), TENON_OK);
    ip = hn_ip("192.0.2.77");
    HN_EQUAL(tenon_neighbour_set(g->hn.stack, g->netif, &ip, hn_mac(mac, 1, 77)), TENON_OK);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(g->hn.stack, &g->listener, &at, &echo_events, g, 16), TENON_OK);
    at.port = 7;
    HN_EQUAL(tenon_udp_open(g->hn.stack, &g->udp, &udp_events, g), TENON_OK);
    HN_EQUAL(tenon_udp_bind(g->udp, &at), TENON_OK);
    make_seeds(g);
    hn_run(&g->hn, 1000);
}

static void flood_of_broken_frames(void)
{
    static struct garbage g;
    tenon_u32 before;

    garbage_open(&g, 2463534242U);
    honest_peer_is_served(&g, 50001);
    before = hn_stat(&g.hn, TENON_STAT_RX_FRAMES);
    flood(&g, GARBAGE_FRAMES);
    HN_EQUAL(hn_stat(&g.hn, TENON_STAT_RX_FRAMES) - before, GARBAGE_FRAMES);
    hn_run_ms(&g.hn, 400000);    /* half-open connections and fragments time out */
    honest_peer_is_served(&g, 50002);
    hn_close(&g.hn);
}

/* Every seed must have reached its protocol, or the flood is of something else. */
static void broken_frames_reach_every_layer(void)
{
    static const enum tenon_stat stats[] = {
        TENON_STAT_ETH_UNKNOWN,     TENON_STAT_IP4_BAD_HEADER, TENON_STAT_IP4_BAD_CSUM,    TENON_STAT_IP6_BAD_HEADER,
        TENON_STAT_IP6_BAD_EXT,     TENON_STAT_FRAG_BAD,       TENON_STAT_ICMP_BAD,        TENON_STAT_ND_BAD,
        TENON_STAT_UDP_BAD_LENGTH,  TENON_STAT_UDP_BAD_CSUM,   TENON_STAT_TCP_BAD_HEADER,  TENON_STAT_TCP_BAD_CSUM,
        TENON_STAT_TCP_BAD_OPTION,  TENON_STAT_IP_NOT_OURS,    TENON_STAT_IP_PROTO_UNKNOWN, TENON_STAT_UDP_RCVD,
        TENON_STAT_TCP_SYN_RCVD,    TENON_STAT_ICMP_ECHO_ANSWERED,
    };
    static struct garbage g;

    garbage_open(&g, 88675123U);
    flood(&g, GARBAGE_FRAMES / 4);
    for (size_t i = 0; i < sizeof stats / sizeof stats[0]; i++) {
        hn_row = tenon_stat_name(stats[i]);
        HN_CHECK(hn_stat(&g.hn, stats[i]) > 0);
    }
    hn_row = "";
    hn_close(&g.hn);
}

int main(int argc, char **argv)
{
    static const struct hn_test tests[] = {
        { "flood_of_broken_frames", "VUL-F-1 VUL-F-2 VUL-F-3 VUL-F-4 VUL-F-6 VUL-F-7 VUL-F-8 VUL-F-9 VUL-F-13",
          flood_of_broken_frames },
        { "broken_frames_reach_every_layer", "VUL-F-1 VUL-F-14", broken_frames_reach_every_layer },
    };

    return hn_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
