/* SPDX-License-Identifier: MIT */
/* ARP (RFC 826, RFC 1122 2.3.2) and address conflict detection (RFC 5227). */
#include "link_test.h"

enum { REQUEST = 1, REPLY = 2 };
#define US 0x0A000001U      /* 10.0.0.1 */
#define PEER 0x0A000002U    /* 10.0.0.2 */

/* ---- input ----------------------------------------------------------------------------------- */

static void request_for_us(void)
{
    tenon_u8 ours[6], peer[6];
    struct lt_arp arp;
    struct hn hn;

    lt_open4(&hn, NULL);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), PEER, NULL, US);
    if (HN_CHECK(lt_next_arp(&hn, &arp))) {
        HN_EQUAL(arp.op, REPLY);
        HN_CHECK(memcmp(arp.to, peer, 6) == 0);
        HN_CHECK(memcmp(arp.sender_mac, hn_mac(ours, 0, 1), 6) == 0);
        HN_CHECK(memcmp(arp.target_mac, peer, 6) == 0);
        HN_EQUAL(arp.sender, US);
        HN_EQUAL(arp.target, PEER);
    }
    HN_EQUAL(hn_left(&hn), 0);
    HN_EQUAL(lt_neighbour_text(&hn, 1, "10.0.0.2"), TENON_NEIGHBOUR_STALE);
    hn_close(&hn);
}

/* Messages that must change nothing and are answered with nothing. */
static void idle_bad_message(void)
{
    static const struct {
        const char *name;
        unsigned at, value;       /* a 16-bit field of the message that is made wrong */
        size_t len;               /* bytes of the frame */
        tenon_u32 bad;            /* whether it is counted */
    } rows[] = {
        { "hardware_type_6", 0, 6, 60, 1 },
        { "protocol_type_ipx", 2, 0x8137, 60, 1 },
        { "hardware_length_8", 4, 0x0804, 60, 1 },
        { "hardware_length_0", 4, 0x0004, 60, 1 },
        { "protocol_length_16", 4, 0x0610, 60, 1 },
        { "protocol_length_0", 4, 0x0600, 60, 1 },
        { "short_27", 6, REQUEST, 14 + 27, 1 },
        { "short_8", 6, REQUEST, 14 + 8, 1 },
        { "short_0", 6, REQUEST, 14, 1 },
        { "sender_mac_group", 8, 0x0300, 60, 1 },
        { "sender_ip_group", 14, 0xE000, 60, 1 },
        { "sender_ip_loopback", 14, 0x7F00, 60, 1 },
        { "sender_ip_class_e", 14, 0xF000, 60, 1 },
        { "sender_ip_network_0", 14, 0x0001, 60, 1 },
        { "operation_reverse_request", 6, 3, 60, 0 },
        { "operation_0", 6, 0, 60, 0 },
        { "target_other", 26, 9, 60, 0 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 p[60], peer[6], ours[6];
        tenon_u8 *exact;
        struct hn hn;

        hn_row = rows[i].name;
        lt_open4(&hn, NULL);
        memset(p, 0, sizeof p);
        hn_eth(p, hn_mac(ours, 0, 1), hn_mac(peer, 1, 2), 0x0806);
        hn_put16(p + 14, 1);
        hn_put16(p + 16, 0x0800);
        hn_put16(p + 18, 0x0604);
        hn_put16(p + 20, REQUEST);
        memcpy(p + 22, peer, 6);
        hn_put32(p + 28, PEER);
        hn_put32(p + 38, US);
        hn_put16(p + 14 + rows[i].at, rows[i].value);
        exact = malloc(rows[i].len);
        memcpy(exact, p, rows[i].len);
        hn_inject(&hn, 1, exact, rows[i].len);
        free(exact);
        HN_EQUAL(hn.nsent, 0);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ARP_BAD), rows[i].bad);
        HN_EQUAL(lt_neighbours(&hn), 0);
        hn_close(&hn);
    }
}

static void idle_broadcast_sender(void)
{
    tenon_u8 peer[6];
    struct hn hn;

    lt_open4(&hn, NULL);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), 0x0A0000FF, NULL, US);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), 0x0A000000, NULL, US);
    hn_arp(&hn, 1, NULL, REPLY, hn_mac(peer, 1, 2), 0, NULL, US);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ARP_BAD), 3);
    HN_EQUAL(hn.nsent, 0);
    HN_EQUAL(lt_neighbours(&hn), 0);
    hn_close(&hn);
}

/* Every way in which a frame can be cut in two. */
static void request_in_two_spans(void)
{
    for (size_t cut = 14; cut < 60; cut++) {
        tenon_u8 p[60], peer[6], ours[6];
        struct lt_arp arp;
        struct hn hn;

        lt_open4(&hn, NULL);
        memset(p, 0, sizeof p);
        hn_eth(p, hn_mac(ours, 0, 1), hn_mac(peer, 1, 2), 0x0806);
        hn_put16(p + 14, 1);
        hn_put16(p + 16, 0x0800);
        hn_put16(p + 18, 0x0604);
        hn_put16(p + 20, REQUEST);
        memcpy(p + 22, peer, 6);
        hn_put32(p + 28, PEER);
        hn_put32(p + 38, US);
        hn_inject_cut(&hn, 1, p, sizeof p, cut);
        HN_CHECK(lt_next_arp(&hn, &arp));
        hn_close(&hn);
    }
}

static void idle_unsolicited_reply(void)
{
    tenon_u8 ours[6], peer[6];
    struct hn hn;

    lt_open4(&hn, NULL);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
    HN_EQUAL(lt_neighbours(&hn), 0);
    HN_EQUAL(hn.nsent, 0);
    hn_close(&hn);
}

/* RFC 826: a known sender is updated whoever the target is; a reply to nobody's question does not make
 * the entry more certain. */
static void known_gratuitous(void)
{
    const struct tenon_ip ip = tenon_ip4(PEER);
    tenon_u8 peer[6], moved[6], got[6];
    struct hn hn;

    lt_open4(&hn, NULL);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), PEER, NULL, US);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(moved, 1, 3), PEER, NULL, PEER);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, got), TENON_NEIGHBOUR_STALE);
    HN_CHECK(memcmp(got, moved, 6) == 0);
    hn_close(&hn);
}

static void idle_own_frame_comes_back(void)
{
    tenon_u8 ours[6];
    struct hn hn;

    lt_open4(&hn, NULL);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(ours, 0, 1), US, NULL, US);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(ours, 0, 1), PEER, NULL, US);
    HN_EQUAL(hn.nsent, 0);
    HN_EQUAL(lt_neighbours(&hn), 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ARP_CONFLICT), 0);
    hn_close(&hn);
}

/* ---- resolution ------------------------------------------------------------------------------ */

static void incomplete_reply(void)
{
    const struct tenon_ip ip = tenon_ip4(PEER);
    struct tenon_udp *sock;
    tenon_u8 ours[6], peer[6];
    struct lt_arp arp;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.2", 0), TENON_OK);
    HN_EQUAL(hn.nsent, 1);
    HN_CHECK(lt_next_arp(&hn, &arp));
    HN_CHECK(lt_is_broadcast(arp.to));
    HN_EQUAL(arp.op, REQUEST);
    HN_EQUAL(arp.sender, US);
    HN_EQUAL(arp.target, PEER);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_INCOMPLETE);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    HN_EQUAL(lt_count_udp(&hn), 1);
    HN_CHECK(memcmp(hn.sent[1].bytes, peer, 6) == 0);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Three requests, a second apart, however much is sent; then the sender hears of it, and for a second nothing
 * is asked. */
static void incomplete_silence(void)
{
    struct tenon_conf conf;
    struct tenon_udp *sock;
    struct lt_arp arp;
    tenon_u32 last = 0;
    unsigned n = 0;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.neighbour_queue_max = 4;
    lt_open4(&hn, &conf);
    sock = lt_udp_open(&hn);
    for (unsigned i = 0; i < 29; i++) {
        HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.2", 0), TENON_OK);
        hn_run_ms(&hn, 100);
    }
    while (lt_next_arp(&hn, &arp)) {
        HN_EQUAL(arp.target, PEER);
        HN_CHECK(n == 0 || arp.at_us - last >= 1000000);
        last = arp.at_us;
        n++;
    }
    HN_EQUAL(n, 3);
    HN_EQUAL(lt_udp_events_seen.errors, 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_QUEUE_DROP), 29 - 4);
    hn_run_ms(&hn, 200);
    HN_EQUAL(lt_udp_events_seen.errors, 4);
    HN_EQUAL(lt_udp_events_seen.error, TENON_EUNREACH);
    HN_EQUAL(lt_udp_events_seen.to.ip.w[3], PEER);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_FAILED), 1);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_QUEUE_DROP), 29);
    HN_EQUAL(lt_count_udp(&hn), 0);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.2", 0), TENON_EUNREACH);
    HN_EQUAL(hn_left(&hn), 0);
    hn_run_ms(&hn, 1100);
    HN_EQUAL(lt_neighbours(&hn), 0);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.2", 0), TENON_OK);
    HN_CHECK(lt_next_arp(&hn, &arp));
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* The oldest of the waiting packets make room for the newest, and these leave in order. */
static void incomplete_queue_order(void)
{
    struct tenon_udp *sock;
    tenon_u8 ours[6], peer[6];
    const struct hn_sent *sent;
    struct tenon_conf conf;
    struct tenon_addr to;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.neighbour_queue_max = 4;
    lt_open4(&hn, &conf);
    sock = lt_udp_open(&hn);
    to.ip = hn_ip("10.0.0.2");
    to.port = 9;
    to.netif = 0;
    for (tenon_u8 i = 0; i < 6; i++)
        HN_EQUAL(tenon_udp_write(sock, &to, &i, 1), TENON_OK);
    hn_run(&hn, 0);
    hn_forget(&hn);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
    for (tenon_u8 i = 2; i < 6; i++) {
        sent = lt_next_ip(&hn);
        if (HN_CHECK(sent != NULL))
            HN_EQUAL(sent->bytes[42], i);
    }
    HN_EQUAL(hn_left(&hn), 0);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* Payload that was handed over without a copy waits by reference, and is given back when it has gone, or when
 * nobody answers. */
static void incomplete_spans(void)
{
    for (unsigned answered = 0; answered <= 1; answered++) {
        tenon_u8 ours[6], peer[6];
        struct tenon_span spans[2];
        struct tenon_udp *sock;
        struct tenon_addr to;
        struct hn hn;

        lt_open4(&hn, NULL);
        sock = lt_udp_open(&hn);
        to.ip = tenon_ip4(PEER);
        to.port = 9;
        to.netif = 0;
        for (unsigned i = 0; i < 2; i++) {
            spans[i].buf = hn_buf(&hn, 600);
            spans[i].off = 1;
            spans[i].len = 598;
            memset(spans[i].buf->data, 'a' + (int)i, 600);
        }
        HN_EQUAL(tenon_udp_send(sock, &to, spans, 2), TENON_OK);
        for (unsigned i = 0; i < 2; i++) {
            HN_EQUAL(spans[i].buf->refs, 2);
            tenon_buf_put(spans[i].buf);
        }
        hn_run(&hn, 0);
        if (answered) {
            hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
            if (HN_EQUAL(lt_count_udp(&hn), 1))
                HN_EQUAL(hn_get32(hn.sent[hn.nsent - 1].bytes + 42 + 596), 0x61616262);
        } else {
            hn_run_ms(&hn, 5000);
            HN_EQUAL(lt_udp_events_seen.errors, 1);
        }
        tenon_udp_close(sock);
        hn_close(&hn);
    }
}

/* An application that sends again as soon as it hears of the failure. */
static unsigned stubborn_tries;

static void stubborn_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)app, (void)error;
    stubborn_tries++;
    HN_EQUAL(tenon_udp_write(sock, to, "again", 5), TENON_EUNREACH);
}

static void incomplete_silence_sender_tries_again(void)
{
    static const struct tenon_udp_events events = { lt_udp_received, stubborn_error };
    struct tenon_udp *sock;
    struct hn hn;

    lt_open4(&hn, NULL);
    stubborn_tries = 0;
    HN_EQUAL(tenon_udp_open(hn.stack, &sock, &events, NULL), TENON_OK);
    for (unsigned i = 0; i < 3; i++)
        HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.2", 0), TENON_OK);
    hn_run_ms(&hn, 10000);
    HN_EQUAL(stubborn_tries, 3);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* What waits has all buffers: the first of it gives way to the request for which it waits. */
static void incomplete_has_all_buffers(void)
{
    const struct tenon_addr peer = { tenon_ip4(PEER), 7, 0 };
    struct tenon_udp *sock;
    struct lt_arp arp;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    HN_EQUAL(tenon_udp_write(sock, &peer, "first", 5), TENON_OK);
    HN_EQUAL(tenon_udp_write(sock, &peer, "next", 4), TENON_OK);
    while (hn.stack->nbufs > 0)
        tenon_buf_put(hn.stack->bufs[--hn.stack->nbufs]);
    hn_forget(&hn);
    hn.buf_fail = hn.buf_gets + 1;    /* when the first has come back there is one */
    (void)tenon_poll(hn.stack, hn.now_us);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_QUEUE_DROP), 1);
    HN_CHECK(lt_next_arp(&hn, &arp));
    HN_EQUAL(arp.op, REQUEST);
    HN_EQUAL(arp.target, PEER);
    HN_EQUAL(arp.sender, US);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* No memory for the queue, or no buffer for the request: an error, no leak, and it works later. */
static void incomplete_no_memory(void)
{
    for (long fail = 1; fail < 12; fail++) {
        tenon_u8 ours[6], peer[6];
        struct tenon_udp *sock;
        struct hn hn;

        lt_open4(&hn, NULL);
        sock = lt_udp_open(&hn);
        hn.mem_fail = hn.mem_gets + fail;
        hn.buf_fail = hn.buf_gets + fail;
        (void)lt_udp_send(&hn, sock, "10.0.0.2", 0);
        (void)lt_udp_send(&hn, sock, "10.0.0.2", 0);
        hn.mem_fail = hn.buf_fail = 0;
        hn_run_ms(&hn, 1500);
        hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
        hn_forget(&hn);
        hn_run_ms(&hn, 5000);
        (void)lt_udp_send(&hn, sock, "10.0.0.2", 0);
        hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
        HN_CHECK(lt_count_udp(&hn) >= 1);
        tenon_udp_close(sock);
        hn_close(&hn);
    }
}

/* Nobody is turned away: one who is missed less has to go. */
static void table_is_full(void)
{
    struct tenon_conf conf;
    struct tenon_udp *sock;
    tenon_u8 mac[6], ours[6];
    struct hn hn;

    tenon_conf_default(&conf);
    conf.neighbours_max = 4;
    lt_open4(&hn, &conf);
    sock = lt_udp_open(&hn);
    for (unsigned i = 0; i < 4; i++)    /* they ask for us */
        hn_arp(&hn, 1, NULL, REQUEST, hn_mac(mac, 1, i + 2), PEER + i, NULL, US);
    HN_EQUAL(lt_neighbours(&hn), 4);
    hn_forget(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.9", 0), TENON_OK);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(mac, 1, 9), 0x0A000009, ours, US);
    HN_EQUAL(lt_count_udp(&hn), 1);
    HN_EQUAL(lt_neighbours(&hn), 4);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_NEIGH_FULL), 1);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* RFC 1122 2.3.2.1: asked again by unicast when in doubt, and forgotten when that is not answered. */
static void reachable_time_passes(void)
{
    const struct tenon_ip ip = tenon_ip4(PEER);
    struct tenon_udp *sock;
    tenon_u8 ours[6], peer[6];
    struct lt_arp arp;
    unsigned n = 0;
    struct hn hn;

    lt_open4(&hn, NULL);
    sock = lt_udp_open(&hn);
    (void)lt_udp_send(&hn, sock, "10.0.0.2", 0);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
    hn_run_ms(&hn, 14000);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    hn_run_ms(&hn, 32000);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_STALE);
    hn_forget(&hn);
    (void)lt_udp_send(&hn, sock, "10.0.0.2", 0);
    HN_EQUAL(hn.nsent, 1);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_DELAY);
    hn_run_ms(&hn, 4900);
    HN_EQUAL(hn.nsent, 1);
    hn_run_ms(&hn, 200);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_PROBE);
    HN_CHECK(lt_next_arp(&hn, &arp));
    HN_CHECK(memcmp(arp.to, peer, 6) == 0);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, hn_mac(peer, 1, 2), PEER, ours, US);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    hn_run_ms(&hn, 50000);
    hn_forget(&hn);
    (void)lt_udp_send(&hn, sock, "10.0.0.2", 0);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), -1);
    while (lt_next_arp(&hn, &arp))
        n++;
    HN_EQUAL(n, 3);
    HN_EQUAL(lt_udp_events_seen.errors, 0);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* What has a link-local sender goes to everybody, replies too; RFC 3927 2.5. A peer's are an answer all the same. */
static void link_local_to_all(void)
{
    const tenon_u32 us = 0xA9FE0101, them = 0xA9FE0102;
    const struct tenon_ip ours = tenon_ip4(us), ip = tenon_ip4(them);
    struct tenon_udp *sock;
    struct lt_arp arp;
    tenon_u8 peer[6];
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ours, 16), TENON_OK);
    hn_run_ms(&hn, 3000);
    hn_forget(&hn);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), them, NULL, us);
    if (HN_CHECK(lt_next_arp(&hn, &arp))) {
        HN_EQUAL(arp.op, REPLY);
        HN_CHECK(lt_is_broadcast(arp.to));
    }
    sock = lt_udp_open(&hn);
    (void)lt_udp_send(&hn, sock, "169.254.1.2", 0);
    hn_forget(&hn);
    hn_run_ms(&hn, 5100);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_PROBE);
    if (HN_CHECK(lt_next_arp(&hn, &arp))) {
        HN_EQUAL(arp.op, REQUEST);
        HN_CHECK(lt_is_broadcast(arp.to));
    }
    hn_arp(&hn, 1, NULL, REPLY, peer, them, NULL, us);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* ---- conflict detection ---------------------------------------------------------------------- */

/* RFC 5227 1.1: PROBE_WAIT, PROBE_NUM, PROBE_MIN, PROBE_MAX, ANNOUNCE_WAIT, ANNOUNCE_NUM, ANNOUNCE_INTERVAL, and
 * no packet from the address before it is ours. */
static void added_nobody_answers(void)
{
    for (tenon_u32 seed = 1; seed < 20; seed++) {
        const struct tenon_ip ip = tenon_ip4(US);
        struct lt_arp arp[6];
        struct tenon_udp *sock;
        tenon_u32 start;
        unsigned n = 0;
        struct hn hn;

        hn_open_seed(&hn, NULL, seed);
        hn_netif(&hn, TENON_NETIF_NO_IP6);
        start = hn.now_us;
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        sock = lt_udp_open(&hn);
        for (unsigned ms = 0; ms < 12000; ms += 100) {
            const int state = lt_address(&hn, 1, &ip);

            if (state == TENON_ADDR_TENTATIVE)
                HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.2", 0), TENON_EUNREACH);
            hn_run_ms(&hn, 100);
        }
        HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_PREFERRED);
        while (n < 6 && lt_next_arp(&hn, &arp[n])) {
            HN_CHECK(lt_is_broadcast(arp[n].to));
            HN_EQUAL(arp[n].op, REQUEST);
            HN_EQUAL(arp[n].sender, n < 3 ? 0 : US);
            HN_EQUAL(arp[n].target, US);
            n++;
        }
        if (HN_EQUAL(n, 5)) {
            HN_CHECK(arp[0].at_us - start <= 1010000);
            for (unsigned i = 1; i < 3; i++)
                HN_CHECK(arp[i].at_us - arp[i - 1].at_us >= 1000000 && arp[i].at_us - arp[i - 1].at_us <= 2010000);
            HN_CHECK(arp[3].at_us - arp[2].at_us >= 2000000 && arp[3].at_us - arp[2].at_us <= 2010000);
            HN_CHECK(arp[4].at_us - arp[3].at_us >= 2000000 && arp[4].at_us - arp[3].at_us <= 2010000);
        }
        HN_EQUAL(lt_next_ip(&hn) == NULL, 1);
        tenon_udp_close(sock);
        hn_close(&hn);
    }
}

/* With TENON_NETIF_NO_DAD: at once, and announced once. */
static void added_without_probing(void)
{
    const struct tenon_ip ip = tenon_ip4(US);
    struct lt_arp arp;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_PREFERRED);
    hn_run_ms(&hn, 10000);
    HN_CHECK(lt_next_arp(&hn, &arp));
    HN_EQUAL(arp.sender, US);
    HN_EQUAL(arp.target, US);
    HN_CHECK(!lt_next_arp(&hn, &arp));
    hn_close(&hn);
}

/* Somebody has it, or wants it too: it is not used. */
static void tentative_conflict(void)
{
    static const struct {
        const char *name;
        unsigned op;
        tenon_u32 sender, target;
        int want;
    } rows[] = {
        { "reply", REPLY, US, 0, TENON_ADDR_DUPLICATE },
        { "announcement", REQUEST, US, US, TENON_ADDR_DUPLICATE },
        { "request_for_another", REQUEST, US, PEER, TENON_ADDR_DUPLICATE },
        { "probe", REQUEST, 0, US, TENON_ADDR_DUPLICATE },
        { "probe_for_another", REQUEST, 0, PEER, TENON_ADDR_PREFERRED },
        { "request_of_another", REQUEST, PEER, US, TENON_ADDR_PREFERRED }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip ip = tenon_ip4(US);
        tenon_u8 peer[6];
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        hn_netif(&hn, TENON_NETIF_NO_IP6);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        hn_run_ms(&hn, 2000);
        hn_forget(&hn);
        hn_arp(&hn, 1, NULL, rows[i].op, hn_mac(peer, 1, 2), rows[i].sender, NULL, rows[i].target);
        HN_EQUAL(hn.nsent, 0);
        hn_run_ms(&hn, 20000);
        HN_EQUAL(lt_address(&hn, 1, &ip), rows[i].want);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_ARP_CONFLICT), rows[i].want == TENON_ADDR_DUPLICATE);
        hn_forget(&hn);
        hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 3), 0x0A000003, NULL, US);
        HN_EQUAL(hn.nsent, rows[i].want == TENON_ADDR_PREFERRED);
        hn_close(&hn);
    }
}

/* The one who has it is a neighbour like any other. */
static void duplicate_owner_resolved(void)
{
    const struct tenon_ip ip = tenon_ip4(US), other = tenon_ip4(PEER);
    struct tenon_udp *sock;
    tenon_u8 ours[6], owner[6];
    struct lt_arp arp;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &other, 24), TENON_OK);
    hn_arp(&hn, 1, NULL, REPLY, hn_mac(owner, 1, 2), US, NULL, 0);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_DUPLICATE);
    hn_forget(&hn);
    sock = lt_udp_open(&hn);
    HN_EQUAL(lt_udp_send(&hn, sock, "10.0.0.1", 0), TENON_OK);
    HN_CHECK(lt_next_arp(&hn, &arp));
    HN_EQUAL(arp.sender, PEER);
    hn_arp(&hn, 1, hn_mac(ours, 0, 1), REPLY, owner, US, ours, PEER);
    HN_EQUAL(lt_neighbour(&hn, 1, &ip, NULL), TENON_NEIGHBOUR_REACHABLE);
    HN_EQUAL(lt_count_udp(&hn), 1);
    tenon_udp_close(sock);
    hn_close(&hn);
}

/* MAX_CONFLICTS, RATE_LIMIT_INTERVAL */
static void conflicts_ten(void)
{
    struct lt_arp arp;
    tenon_u8 peer[6];
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6);
    for (tenon_u32 i = 0; i < 10; i++) {
        const struct tenon_ip ip = tenon_ip4(US + i);

        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        hn_run_ms(&hn, 1100);
        hn_arp(&hn, 1, NULL, REPLY, hn_mac(peer, 1, 2), US + i, NULL, 0);
        HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_DUPLICATE);
    }
    hn_forget(&hn);
    {
        const struct tenon_ip ip = tenon_ip4(US + 20);
        const tenon_u32 start = hn.now_us;

        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        hn_run_ms(&hn, 100000);
        HN_CHECK(lt_next_arp(&hn, &arp));
        HN_CHECK(arp.at_us - start > 58000000 && arp.at_us - start < 62000000);
        HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_PREFERRED);
    }
    hn_close(&hn);
}

/* RFC 5227 2.4 (b): defended once in ten seconds, then given up. */
static void preferred_conflict(void)
{
    const struct tenon_ip ip = tenon_ip4(US);
    struct lt_arp arp;
    tenon_u8 peer[6];
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    hn_run_ms(&hn, 20000);
    for (unsigned i = 0; i < 2; i++) {
        hn_forget(&hn);
        hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
        HN_CHECK(lt_next_arp(&hn, &arp));
        HN_EQUAL(arp.sender, US);
        HN_EQUAL(arp.target, US);
        HN_CHECK(!lt_next_arp(&hn, &arp));
        HN_EQUAL(lt_neighbours(&hn), 0);
        hn_run_ms(&hn, 11000);
    }
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
    hn_run_ms(&hn, 1000);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
    HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_DUPLICATE);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_ARP_CONFLICT), 4);
    hn_close(&hn);
}

/* RFC 5227 2.4 (c): an address that is used without question is kept, and defended no more often. */
static void preferred_conflict_no_dad(void)
{
    struct lt_arp arp;
    tenon_u8 peer[6];
    unsigned n = 0;
    struct hn hn;

    lt_open4(&hn, NULL);
    for (unsigned i = 0; i < 300; i++) {
        hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
        hn_run_ms(&hn, i < 290 ? 100 : 9000);
    }
    while (lt_next_arp(&hn, &arp))
        n++;
    HN_EQUAL(n, 1);
    hn_run_ms(&hn, 2000);
    hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
    HN_CHECK(lt_next_arp(&hn, &arp));
    HN_EQUAL(lt_address_text(&hn, 1, "10.0.0.1"), TENON_ADDR_PREFERRED);
    hn_close(&hn);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void add_impossible(void)
{
    static const struct {
        const char *ip;
        unsigned prefix;
        int want;
    } rows[] = {
        { "10.0.0.1", 33, TENON_EINVAL },     { "10.0.0.0", 24, TENON_EINVAL },    { "10.0.0.255", 24, TENON_EINVAL },
        { "10.0.0.0", 31, TENON_OK },         { "10.0.0.255", 32, TENON_OK },      { "0.0.0.0", 24, TENON_EINVAL },
        { "127.0.0.1", 8, TENON_EINVAL },     { "224.0.0.1", 4, TENON_EINVAL },    { "240.0.0.1", 8, TENON_EINVAL },
        { "255.255.255.255", 0, TENON_EINVAL }, { "10.0.0.1", 0, TENON_OK },       { "::", 0, TENON_EINVAL },
        { "::1", 128, TENON_EINVAL },         { "ff02::5", 64, TENON_EINVAL },     { "2001:db8::5", 129, TENON_EINVAL },
        { "2001:db8::5", 128, TENON_OK },     { "2001:db8::5", 0, TENON_OK }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip ip = hn_ip(rows[i].ip);
        struct hn hn;

        hn_row = rows[i].ip;
        hn_open(&hn, NULL);
        hn_netif(&hn, TENON_NETIF_NO_DAD);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, rows[i].prefix), rows[i].want);
        if (rows[i].want == TENON_OK) {
            HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, rows[i].prefix), TENON_EINUSE);
            HN_EQUAL(tenon_addr_remove(hn.stack, 1, &ip), TENON_OK);
        }
        HN_EQUAL(tenon_addr_remove(hn.stack, 1, &ip), TENON_ENOADDR);
        hn_close(&hn);
    }
}

/* Removed while it is probed: nothing comes after. */
static void tentative_removed(void)
{
    const struct tenon_ip ip = tenon_ip4(US);
    struct tenon_route_info route;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &route), TENON_OK);
    HN_EQUAL(tenon_addr_remove(hn.stack, 1, &ip), TENON_OK);
    HN_EQUAL(tenon_route_get(hn.stack, 0, &route), TENON_EINVAL);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(hn.nsent, 0);
    hn_close(&hn);
}

/* IP4-5, IP4-26, IP4-28: what a destination address is to us. */
static void classify_table(void)
{
    static const struct {
        const char *ip;
        unsigned netif;
        enum tn_dst want;
    } rows[] = {
        { "10.0.0.1", 1, TN_DST_OURS },              { "10.0.0.1", 2, TN_DST_OURS },
        { "10.1.0.1", 1, TN_DST_OURS },              { "10.0.0.2", 1, TN_DST_OTHER },
        { "10.0.0.255", 1, TN_DST_BROADCAST },       { "10.0.0.0", 1, TN_DST_BROADCAST },
        { "10.0.0.255", 2, TN_DST_OTHER },           { "255.255.255.255", 1, TN_DST_BROADCAST },
        { "0.0.0.0", 1, TN_DST_BROADCAST },          { "224.0.0.1", 1, TN_DST_MULTICAST },
        { "224.0.0.5", 1, TN_DST_OTHER },            { "224.0.0.9", 1, TN_DST_MULTICAST },
        { "224.0.0.9", 2, TN_DST_OTHER },            { "127.0.0.1", 1, TN_DST_OTHER },
        { "ff02::1", 1, TN_DST_MULTICAST },          { "ff01::1", 1, TN_DST_MULTICAST },
        { "ff02::2", 1, TN_DST_OTHER },              { "ff02::1:ff00:1", 1, TN_DST_MULTICAST },
        { "ff02::1:ff00:1", 2, TN_DST_OTHER },       { "2001:db8::1", 1, TN_DST_OURS },
        { "2001:db8::1", 2, TN_DST_OURS },           { "fe80::aa", 1, TN_DST_OURS },
        { "fe80::aa", 2, TN_DST_OTHER },             { "2001:db8::2", 1, TN_DST_OTHER },
        { "10.2.0.1", 1, TN_DST_TENTATIVE },         { "10.2.0.255", 3, TN_DST_OTHER },
        { "::", 1, TN_DST_OTHER }
    };
    static const struct {
        unsigned netif, prefix;
        const char *ip;
    } ours[] = { { 1, 24, "10.0.0.1" },    { 2, 16, "10.1.0.1" }, { 1, 64, "2001:db8::1" },
                 { 1, 64, "fe80::aa" },    { 3, 24, "10.2.0.1" } };
    const struct tenon_ip group = hn_ip("224.0.0.9");
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    hn_netif(&hn, TENON_NETIF_NO_DAD);
    hn_netif(&hn, 0);
    for (size_t i = 0; i < TENON_ARRAY_LEN(ours); i++) {
        const struct tenon_ip ip = hn_ip(ours[i].ip);

        HN_EQUAL(tenon_addr_add(hn.stack, ours[i].netif, &ip, ours[i].prefix), TENON_OK);
    }
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip ip = hn_ip(rows[i].ip);

        hn_row = rows[i].ip;
        HN_EQUAL(tn_addr_classify(hn.stack, tn_netif_at(hn.stack, rows[i].netif), &ip), rows[i].want);
    }
    hn_row = "";
    hn_close(&hn);
}

/* RFC 5227 2.4 b: nine seconds and a bit after the last conflict are within the ten, wherever whole seconds begin. */
static void preferred_conflict_again(void)
{
    const struct tenon_ip ip = tenon_ip4(US);
    tenon_u8 peer[6];

    for (unsigned ms = 0; ms < 1000; ms += 100) {
        struct hn hn;

        hn_open(&hn, NULL);
        hn_netif(&hn, TENON_NETIF_NO_IP6);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        hn_run_ms(&hn, 20000 + ms);
        hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
        HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_PREFERRED);
        hn_run_ms(&hn, 9100);
        hn_arp(&hn, 1, NULL, REQUEST, hn_mac(peer, 1, 2), US, NULL, US);
        HN_EQUAL(lt_address(&hn, 1, &ip), TENON_ADDR_DUPLICATE);
        hn_close(&hn);
    }
}

static const struct hn_test tests[] = {
    { "request_for_us", "ARP-2", request_for_us },
    { "idle_bad_message", "ARP-1 ARP-2 ARP-7 CVE-2018-16600 CVE-2020-11914", idle_bad_message },
    { "idle_broadcast_sender", "ARP-7", idle_broadcast_sender },
    { "request_in_two_spans", "ARP-2", request_in_two_spans },
    { "idle_unsolicited_reply", "ARP-3", idle_unsolicited_reply },
    { "known_gratuitous", "ARP-2 ARP-3", known_gratuitous },
    { "idle_own_frame_comes_back", "ARP-7", idle_own_frame_comes_back },
    { "incomplete_reply", "ARP-2 ARP-6 ARP-16", incomplete_reply },
    { "incomplete_silence", "ARP-5 ARP-6 ARP-8 ARP-15 ARP-16", incomplete_silence },
    { "incomplete_queue_order", "ARP-6", incomplete_queue_order },
    { "incomplete_spans", "ARP-6 ND-8", incomplete_spans },
    { "incomplete_silence_sender_tries_again", "ARP-15", incomplete_silence_sender_tries_again },
    { "incomplete_has_all_buffers", "ARP-6", incomplete_has_all_buffers },
    { "incomplete_no_memory", "ARP-6 VUL-F-13", incomplete_no_memory },
    { "table_is_full", "ND-19", table_is_full },
    { "reachable_time_passes", "ARP-4", reachable_time_passes },
    { "link_local_to_all", "3927-2", link_local_to_all },
    { "added_nobody_answers", "ARP-9 ARP-11 ARP-13", added_nobody_answers },
    { "added_without_probing", "ARP-11", added_without_probing },
    { "tentative_conflict", "ARP-10", tentative_conflict },
    { "duplicate_owner_resolved", "ARP-10", duplicate_owner_resolved },
    { "conflicts_ten", "ARP-10", conflicts_ten },
    { "preferred_conflict", "ARP-12", preferred_conflict },
    { "preferred_conflict_no_dad", "ARP-12", preferred_conflict_no_dad },
    { "add_impossible", "IP4-6 IP6-2", add_impossible },
    { "tentative_removed", "ARP-13", tentative_removed },
    { "classify_table", "IP4-5 IP4-26 IP4-28 IP6-2", classify_table },
    { "preferred_conflict_again", "ARP-12", preferred_conflict_again },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
