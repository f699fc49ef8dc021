/* SPDX-License-Identifier: MIT */
/* The peer: how its segments are built, and what it checks of those that it hears. */
#include "peer.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "tcp/tcp_internal.h"
#include "wire/checksum.h"

#include <string.h>

/* SENT_AHEAD_MAX: no window is so large. */
enum { IP4_US = 0x0A000001, IP4_PEER = 0x0A000002, PAYLOAD_MAX = 65000, SENT_AHEAD_MAX = 300000 };

static int seq_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

static struct tenon_ip address(const struct peer *p, int peer)
{
    return p->v6 ? tenon_ip6(0xFD000000UL, 0, 0, peer ? 2 : 1) : tenon_ip4(peer ? IP4_PEER : IP4_US);
}

static size_t put_ip(const struct peer *p, uint8_t *to, size_t payload, unsigned proto)
{
    struct tn_ip4 ip4;
    struct tn_ip6 ip6;
    const struct tenon_ip from = address(p, 1), to_us = address(p, 0);

    if (p->v6) {
        memset(&ip6, 0, sizeof(ip6));
        ip6.payload = (tenon_u16)payload;
        ip6.next = (tenon_u8)proto;
        ip6.hop_limit = 64;
        ip6.tos = p->tos;
        return tn_ip6_build(to, &ip6, &from, &to_us);
    }
    memset(&ip4, 0, sizeof(ip4));
    ip4.src = IP4_PEER;
    ip4.dst = IP4_US;
    ip4.total = (tenon_u16)(TN_IP4_BYTES + payload);
    ip4.proto = (tenon_u8)proto;
    ip4.ttl = 64;
    ip4.tos = p->tos;
    return tn_ip4_build(to, &ip4);
}

/* An IP packet to the instance; its checksum is made right. */
void peer_packet(struct peer *p, const uint8_t *payload, size_t n, unsigned proto)
{
    static uint8_t packet[FUZZ_FRAME_MAX];
    size_t at;

    if (n > PAYLOAD_MAX)
        n = PAYLOAD_MAX;
    at = put_ip(p, packet, n, proto);
    memcpy(packet + at, payload, n);
    fuzz_repair(packet, at + n, 0);
    fuzz_world_input(&p->w, packet, at + n, 0, 0);
    app_check(p);
}

uint32_t peer_next(const struct peer *p)
{
    return p->isn + 1 + p->received + p->peer_finished;
}

uint32_t peer_honest_ack(const struct peer *p)
{
    return p->inst_isn + 1 + p->got + (p->fin_seen && p->got == p->most);
}

void peer_blank(const struct peer *p, struct segment *s, uint8_t flags)
{
    memset(s, 0, sizeof(*s));
    s->flags = flags;
    s->seq = peer_next(p);
    s->ack = peer_honest_ack(p);
    s->wnd = p->wnd;
}

/* The truth changes before the segment leaves: what is in it has been sent. */
static void note_sent(struct peer *p, const struct segment *s)
{
    const int fast = p->fastopen && (s->flags & TN_TCP_SYN) && s->seq == p->isn;    /* the request is in the SYN */
    const uint32_t off = s->seq - p->isn - 1 + (uint32_t)fast, end = off + s->len;
    const unsigned shift = p->has_ws && p->ws && !(s->flags & TN_TCP_SYN) ? p->shift : 0;
    const uint32_t claimed = s->ack - p->inst_isn - 1;

    if ((fast || !(s->flags & TN_TCP_SYN)) && (int32_t)(end - p->sent) > 0 && end - p->received < SENT_AHEAD_MAX)
        p->sent = end;
    if ((s->flags & TN_TCP_FIN) && end - p->received < SENT_AHEAD_MAX) {    /* nobody hears of one beyond */
        p->chaos |= p->fin_sent && p->fin_at != end;
        p->fin_sent = 1;
        p->fin_at = end;
    }
    if (p->fin_sent && p->sent > p->fin_at)
        p->chaos = 1;    /* bytes behind the end */
    if (!(s->flags & TN_TCP_ACK) || !p->syn_seen)
        return;
    if (claimed <= p->written + 1 && claimed > p->said)
        p->said = claimed;
    if (claimed > p->most + p->fin_seen && claimed > (p->unseen ? p->said : 0))
        return;    /* of what was never sent: not believed, and the window neither */
    if (claimed + ((uint32_t)s->wnd << shift) > p->edge)
        p->edge = claimed + ((uint32_t)s->wnd << shift);
    if (claimed <= p->most + p->fin_seen && claimed > p->claimed)
        p->claimed = claimed;
}

static unsigned put_options(const struct peer *p, uint8_t *to, const struct segment *s)
{
    struct tn_tcp_options options = s->options;
    unsigned n;

    if (p->ts && !s->no_timestamp && ((s->flags & TN_TCP_SYN) || p->has_ts)) {
        options.has_timestamp = 1;
        options.ts_val += (uint32_t)(p->w.now / 1000) + p->ts_ahead;
        options.ts_ecr += p->ts_recent;
    }
    n = tn_tcp_options_build(to, &options);
    if (n + s->nraw <= TN_TCP_OPTIONS_MAX) {
        memcpy(to + n, s->raw, s->nraw);
        for (n += s->nraw; n % 4 != 0; n++)
            to[n] = 0;
    }
    return n;
}

void peer_send(struct peer *p, struct segment *s)
{
    static uint8_t bytes[PAYLOAD_MAX + 100];
    struct tn_tcp tcp;
    unsigned header = TN_TCP_BYTES;

    memset(bytes, 0, TN_TCP_BYTES + TN_TCP_OPTIONS_MAX);
    header += put_options(p, bytes + TN_TCP_BYTES, s);
    if (s->len > PAYLOAD_MAX - header)
        s->len = PAYLOAD_MAX - header;
    memset(&tcp, 0, sizeof(tcp));
    tcp.ports = (tenon_u32)PEER_PORT << 16 | OUR_PORT;
    tcp.seq = s->seq;
    tcp.ack = s->ack;
    tcp.flags = s->flags;
    tcp.wnd = s->wnd;
    tcp.urgent = s->urgent;
    tcp.header_bytes = (tenon_u8)header;
    (void)tn_tcp_build(bytes, &tcp);
    bytes[12] |= s->reserved & 0x0F;
    peer_bytes(bytes + header, s->seq + (s->flags & TN_TCP_SYN ? 1U : 0U) - p->isn - 1, s->len);
    note_sent(p, s);
    fuzz_note("%12.6f peer > flags %02X seq %d len %u ack %d win %u%s", (double)p->w.now / 1e6, s->flags,
              (int)(s->seq - p->isn), s->len, (int)(s->ack - p->inst_isn), s->wnd, s->options.nsacks ? " sack" : "");
    peer_packet(p, bytes, header + s->len, TN_PROTO_TCP);
}

/* ---- the book of what has arrived ------------------------------------------------------------ */

/* The first byte from `i` on that has (or has not) arrived; p->most if there is none. By whole words: this is asked
 * for every segment, and the book is long. */
static uint32_t seen_next(const struct peer *p, uint32_t i, int arrived)
{
    const uint64_t flip = arrived ? 0 : UINT64_MAX;
    uint64_t word;

    for (; i < p->most; i = (i | 63) + 1) {
        word = (p->seen[i / 64] ^ flip) >> i % 64;
        if (word != 0) {
            i += (uint32_t)__builtin_ctzll(word);
            break;
        }
    }
    return i < p->most ? i : p->most;
}

static void seen_add(struct peer *p, uint32_t from, uint32_t n)
{
    while (n > 0) {
        const uint32_t some = n < 64 - from % 64 ? n : 64 - from % 64;

        p->seen[from / 64] |= (UINT64_MAX >> (64 - some)) << from % 64;
        from += some;
        n -= some;
    }
}

/* Blocks of what has arrived behind the first gap (RFC 2018 4). */
void peer_true_sacks(const struct peer *p, struct segment *s)
{
    uint32_t left = p->got, right;
    unsigned n;

    for (n = 0; n < 3 && p->has_sack && p->sack; n++) {
        left = seen_next(p, left, 1);
        right = seen_next(p, left, 0);
        if (right == left)
            break;
        s->options.sack_left[n] = p->inst_isn + 1 + left;
        s->options.sack_right[n] = p->inst_isn + 1 + right;
        left = right;
    }
    s->options.nsacks = (tenon_u8)n;
}

/* ---- hearing --------------------------------------------------------------------------------- */

struct heard {
    const uint8_t *l4;
    size_t n, payload;
    unsigned header, flags;
    uint32_t seq, ack, end, wnd;
    struct tn_tcp_options options;
};

static int find_tcp(const struct peer *p, struct heard *h, const uint8_t *bytes, size_t n)
{
    const size_t ip = p->v6 ? 40 : (bytes[0] & 15U) * 4U;

    if (bytes[0] >> 4 != (p->v6 ? 6 : 4) || n < ip + 20 || bytes[p->v6 ? 6 : 9] != TN_PROTO_TCP)
        return 0;
    if ((p->v6 ? fuzz_get16(bytes + 4) + 40 : fuzz_get16(bytes + 2)) != n)
        fuzz_fail("the length of the IP packet is not that of its frame");
    if (!p->v6 && (tn_csum_sum(bytes, ip) != 0xFFFF || (fuzz_get16(bytes + 6) & 0x3FFF) != 0))
        fuzz_fail("IPv4 header checksum, or a TCP segment in fragments");
    h->l4 = bytes + ip;
    h->n = n - ip;
    h->header = (h->l4[12] >> 4) * 4U;
    if (h->header < 20 || h->header > h->n)
        fuzz_fail("TCP header of %u bytes in %zu", h->header, h->n);
    h->flags = h->l4[13];
    h->seq = fuzz_get32(h->l4 + 4);
    h->ack = fuzz_get32(h->l4 + 8);
    h->payload = h->n - h->header;
    h->end = h->seq + (uint32_t)h->payload + ((h->flags & TN_TCP_SYN) != 0) + ((h->flags & TN_TCP_FIN) != 0);
    if (tn_tcp_options_parse(&h->options, h->l4, h->header) != 0)
        fuzz_fail("malformed options were sent");
    return 1;
}

static void check_checksum(const struct peer *p, const struct heard *h, const struct tenon_frame *frame)
{
    const struct tenon_ip us = address(p, 0), them = address(p, 1);
    const uint16_t pseudo = tn_csum_pseudo(&us, &them, TN_PROTO_TCP, (tenon_u32)h->n);

    if (frame->csum == TENON_CSUM_PARTIAL) {
        if (fuzz_get16(h->l4 + 16) % 0xFFFF != pseudo % 0xFFFF)
            fuzz_fail("the sum of the pseudo-header is wrong");
    } else if (tn_csum_join(pseudo, tn_csum_sum(h->l4, h->n)) != 0xFFFF) {
        fuzz_fail("a TCP checksum is wrong");
    }
}

static void hear_syn(struct peer *p, const struct heard *h)
{
    if (p->syn_seen && p->inst_isn != h->seq)
        return;    /* a second connection: the first is gone */
    p->syn_seen = 1;
    p->inst_isn = h->seq;
    p->has_ws = h->options.has_wscale;
    p->inst_shift = h->options.wscale;
    p->has_ts = h->options.has_timestamp;
    p->has_sack = h->options.has_sack_permitted;
    if (p->has_ws && p->inst_shift > 14)
        fuzz_fail("window scale %u", p->inst_shift);
    if (h->payload > 0)
        fuzz_fail("data on a SYN");
    /* What its own SYN has said of the window counts from here. */
    p->edge = p->wnd;
}

static void check_ack(const struct peer *p, const struct heard *h)
{
    const uint32_t most = p->isn + 1 + p->received + (p->peer_finished || p->closed || p->closing || p->chaos);
    unsigned i;

    if (!(h->flags & TN_TCP_ACK) || !p->connected || p->closing || p->closed)
        return;
    if (seq_after(h->ack, most))
        fuzz_fail("acknowledges %u bytes more than the application has got", h->ack - most);
    for (i = 0; i < h->options.nsacks; i++)
        if (!seq_after(h->options.sack_right[i], h->options.sack_left[i])
            || seq_after(h->options.sack_right[i], p->isn + 1 + p->sent + 1))
            fuzz_fail("SACK block %u..%u of %u sent", h->options.sack_left[i] - p->isn - 1,
                      h->options.sack_right[i] - p->isn - 1, p->sent);
}

static void check_size(const struct peer *p, const struct heard *h, const struct tenon_frame *frame)
{
    const uint32_t one = frame->seg_kind != TENON_SEG_NONE ? frame->seg_bytes : (uint32_t)h->payload;
    const uint32_t end = h->end - p->inst_isn - 1;
    uint32_t mss = p->mss > 0 ? p->mss : p->v6 ? 1220 : 536;

    if (mss < 88)
        mss = 88;    /* tenon_conf.tcp_mss_min */
    if (one > 0 && one + (h->header - 20) > mss)
        fuzz_fail("a segment of %u bytes and %u of options; the peer's MSS is %u", one, h->header - 20, mss);
    /* One byte, or a FIN, may probe a closed window. */
    if (end > p->edge + 1 && end < 0x80000000 && end > p->most + p->fin_seen)
        fuzz_fail("%u bytes beyond the window", end - p->edge);
}

static void hear_data(struct peer *p, const struct heard *h)
{
    const uint8_t *bytes = h->l4 + h->header;
    const uint32_t off = h->seq - p->inst_isn - 1;

    if (h->payload > 0 && (off > p->written || h->payload > p->written - off))
        fuzz_fail("bytes %u..%u sent, and %u written", off, off + (uint32_t)h->payload, p->written);
    app_compare(bytes, off, (uint32_t)h->payload);
    if ((h->flags & TN_TCP_FIN) && off + h->payload != p->written)
        fuzz_fail("FIN at %u, and %u are written", off + (uint32_t)h->payload, p->written);
    if (h->payload > 0 && off + h->payload > p->most)
        p->most = off + (uint32_t)h->payload;
    p->fin_seen |= (h->flags & TN_TCP_FIN) != 0;
    p->losses >>= 1;
    if (p->losses & 1)
        return;
    seen_add(p, off, (uint32_t)h->payload);
    p->got = seen_next(p, p->got, 0);
}

static void hear(void *arg, const struct tenon_frame *frame, const uint8_t *bytes, size_t n)
{
    struct peer *p = arg;
    struct heard h;

    if (!find_tcp(p, &h, bytes, n))
        return;
    check_checksum(p, &h, frame);
    p->heard++;
    fuzz_note("%12.6f      < flags %02X seq %d len %u ack %d win %u", (double)p->w.now / 1e6, h.flags,
              (int)(h.seq - p->inst_isn), (unsigned)h.payload, (int)(h.ack - p->isn), fuzz_get16(h.l4 + 14));
    if (h.flags & TN_TCP_RST) {
        p->reset_seen = 1;
        return;
    }
    if (h.flags & TN_TCP_SYN)
        hear_syn(p, &h);
    if (!p->syn_seen || (!p->conn && !p->opened))
        return;
    /* The last words of a connection, and those of TIME-WAIT, are spoken when the application is gone. */
    if (h.options.has_timestamp)
        p->ts_recent = h.options.ts_val;
    check_ack(p, &h);
    p->heard_ack = h.ack;
    p->heard_wnd = (uint32_t)fuzz_get16(h.l4 + 14)
                   << (p->has_ws && p->ws && !(h.flags & TN_TCP_SYN) ? p->inst_shift : 0);
    if (h.flags & TN_TCP_SYN)
        return;
    check_size(p, &h, frame);
    hear_data(p, &h);
}

/* ---- beginning ------------------------------------------------------------------------------- */

void peer_open(struct peer *p, const struct tenon_conf *conf)
{
    struct tenon_addr us, them;
    int error;

    p->w.sent = hear;
    p->w.arg = p;
    fuzz_world_open(&p->w, conf);
    memset(&us, 0, sizeof(us));
    memset(&them, 0, sizeof(them));
    us.ip = address(p, 0);
    us.port = OUR_PORT;
    them.ip = address(p, 1);
    them.port = PEER_PORT;
    if (tenon_addr_add(p->w.stack, p->w.netif, &us.ip, p->v6 ? 64 : 24) != TENON_OK)
        fuzz_fail("tenon_addr_add()");
    if (p->had_conn)
        error = tenon_tcp_connect(p->w.stack, &p->conn, &us, &them, &peer_events, p);
    else
        error = tenon_tcp_listen(p->w.stack, &p->listener, &us, &peer_events, p, 4);
    if (error != TENON_OK)
        fuzz_fail("no connection: %s", tenon_error_text(error));
    if (p->fastopen && p->listener && tenon_tcp_listener_set(p->listener, TENON_TCP_FASTOPEN, 1) != TENON_OK)
        fuzz_fail("no Fast Open");
    (void)fuzz_world_poll(&p->w);
}

static void syn_options(const struct peer *p, struct segment *s)
{
    s->options.has_mss = p->mss > 0;
    s->options.mss = p->mss;
    s->options.has_wscale = p->ws;
    s->options.wscale = p->shift;
    s->options.has_sack_permitted = p->sack;
    if (p->ecn)
        s->flags |= s->flags & TN_TCP_ACK ? TN_TCP_ECE : TN_TCP_ECE | TN_TCP_CWR;
}

/* Linked with --wrap=tn_tcp_fastopen_key: the model makes cookies itself. */
void __wrap_tn_tcp_fastopen_key(struct tn_key128 *key, const struct tenon *stack, tenon_u32 period);

void __wrap_tn_tcp_fastopen_key(struct tn_key128 *key, const struct tenon *stack, tenon_u32 period)
{
    (void)stack;
    memset(key, 0, sizeof(*key));
    key->k[0] = period;
}

static void put_request(const struct peer *p, struct segment *s)
{
    const struct tenon_ip client = address(p, 1);
    struct tn_key128 key;
    uint8_t bytes[16];
    tenon_u32 hash[2];

    memset(&key, 0, sizeof(key));
    put_ip6(bytes, &client);
    tn_siphash(hash, &key, bytes, sizeof(bytes));
    fuzz_put32(s->options.fastopen, hash[0]);
    fuzz_put32(s->options.fastopen + 4, hash[1]);
    s->options.has_fastopen = 1;
    s->options.fastopen_bytes = 8;
    s->len = p->request;
}

void peer_handshake(struct peer *p)
{
    struct segment s;

    peer_blank(p, &s, p->had_conn ? TN_TCP_SYN | TN_TCP_ACK : TN_TCP_SYN);
    s.seq = p->isn;
    syn_options(p, &s);
    if (p->fastopen && !p->had_conn)
        put_request(p, &s);
    p->connected = 1;
    peer_send(p, &s);
    if (p->hold && p->conn)
        (void)tenon_tcp_decide(p->conn, TENON_ACCEPT);
    (void)fuzz_world_poll(&p->w);
    if (p->silent)
        return;
    peer_blank(p, &s, TN_TCP_ACK);
    peer_send(p, &s);
    (void)fuzz_world_poll(&p->w);
}

/* ---- the end --------------------------------------------------------------------------------- */

enum { PEACE_ROUNDS = 2500, QUIET_S_MAX = 20 };

static void peace_application(struct peer *p)
{
    if (!p->conn)
        return;
    p->lazy = 0;
    (void)tenon_tcp_set(p->conn, TENON_TCP_RCV_BUF, 65535);
    (void)tenon_tcp_set(p->conn, TENON_TCP_SND_BUF, 65536);
    (void)tenon_tcp_set(p->conn, TENON_TCP_CORK, 0);
    app_consume(p, STREAM_MAX);
    /* Each such call is an ACK: without need it would keep both sides talking for ever. */
    if (p->conn && p->received != p->acked_by_hand) {
        p->acked_by_hand = p->received;
        tenon_tcp_ack(p->conn, STREAM_MAX);
    }
    if (p->conn && p->peer_finished)
        (void)tenon_tcp_ack_fin(p->conn);
    if (p->conn)
        (void)tenon_tcp_decide(p->conn, TENON_ACCEPT);
    if (p->conn && !p->finished)
        p->finished |= tenon_tcp_finish(p->conn) == TENON_OK;
}

/* One honest segment: the truth of what has arrived, and the next of what is still missing. */
static void peace_segment(struct peer *p)
{
    const uint32_t end = p->fin_sent ? p->fin_at : p->sent;
    const uint32_t at = p->heard_ack - p->isn - 1;
    struct segment s;

    peer_blank(p, &s, TN_TCP_ACK);
    /* What has been acknowledged is acknowledged, even if it was not true. */
    if (seq_after(p->inst_isn + 1 + p->claimed, s.ack))
        s.ack = p->inst_isn + 1 + p->claimed;
    peer_true_sacks(p, &s);
    if (at <= end) {
        s.seq = p->isn + 1 + at;
        s.len = end - at < p->heard_wnd ? end - at : p->heard_wnd;
        s.len = s.len > 1000 ? 1000 : s.len;
        if (at + s.len == end && p->heard_wnd > s.len)
            s.flags |= TN_TCP_FIN;
    }
    peer_send(p, &s);
}

/* Everybody is honest from now on, and nothing fails: the connection must come to its end. */
void peer_make_peace(struct peer *p)
{
    unsigned round, quiet = 0;
    unsigned long heard;

    p->w.mem_fail = p->w.buf_fail = p->w.busy = 0;
    p->losses = 0;
    p->handler_act = 0;
    p->wnd = 65535;
    p->tos = 0;
    fuzz_note("peace");
    for (round = 0; round < PEACE_ROUNDS && p->conn; round++) {
        peace_application(p);
        heard = p->heard;
        if (p->conn && p->syn_seen && (round == 0 || quiet == 0 || quiet % 8 == 7))
            peace_segment(p);
        fuzz_world_advance(&p->w, quiet > 0 ? quiet * UINT64_C(1000000) : 5000);
        quiet = p->heard != heard ? 0 : quiet + (quiet < QUIET_S_MAX);
    }
}
