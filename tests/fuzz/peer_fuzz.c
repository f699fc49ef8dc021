/* SPDX-License-Identifier: MIT */
/* An established connection. An input is a small program: 8 bytes say how the connection is made, then each byte is
 * an operation with its arguments: what the peer sends - in order, early, late, overlapping, with any
 * acknowledgement, SACK blocks true and false -, time, calls of the application, memory that fails. At the end both
 * sides are honest, and the connection must come to its end, unless the program has made that impossible (chaos). */
#include "peer.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers near the truth ------------------------------------------------------------------ */

static uint32_t pick_seq(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);

    switch (how % 8) {
    case 0:
    case 1: return peer_next(p);
    case 2: return p->isn + 1 + p->sent;
    case 3: return peer_next(p) + fuzz_u8(&p->in) * 16U;
    case 4: return peer_next(p) + (how >> 3) * 100U;
    case 5: return peer_next(p) - (how >> 3) - 1U;
    case 6: return p->heard_ack + p->heard_wnd + (how >> 3) - 16U;
    default: return peer_next(p) + fuzz_log(&p->in) * (how & 8 ? 1U : UINT32_MAX);
    }
}

static uint32_t pick_ack(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    const uint32_t una = p->inst_isn + 1 + p->claimed;

    switch (how % 8) {
    case 0:
    case 1: return peer_honest_ack(p);
    case 2: return una;
    case 3: return una + (how >> 3) * 64U;
    case 4: return p->inst_isn + 1 + p->most + (how >> 3) - 16U;
    case 5: return una - (how >> 3) - 1U;
    case 6: return una + fuzz_u16(&p->in);
    default: return una + fuzz_log(&p->in) * (how & 8 ? 1U : UINT32_MAX);
    }
}

/* ---- the peer -------------------------------------------------------------------------------- */

static void op_data(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    struct segment s;

    peer_blank(p, &s, TN_TCP_ACK | (how & 1 ? TN_TCP_PSH : 0));
    s.seq = how & 2 ? pick_seq(p) : peer_next(p);
    if (how & 4)
        s.ack = pick_ack(p);
    s.len = how & 8 ? fuzz_u8(&p->in) : (how >> 4) * 100U + 1U;
    if (how & 16 && how & 8)
        s.len *= 16;
    if (how & 32)
        peer_true_sacks(p, &s);
    peer_send(p, &s);
}

/* So many segments, each after the other. */
static void op_data_train(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    unsigned n = (how & 31U) + 1U;
    struct segment s;

    while (n-- > 0 && p->conn) {
        peer_blank(p, &s, TN_TCP_ACK);
        s.seq = how & 32 ? p->isn + 1 + p->sent + (how & 64 ? 200U : 0U) : peer_next(p);
        s.len = how & 128 ? 1U : 500U;
        peer_send(p, &s);
    }
}

static void op_ack(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    unsigned n = (how & 7U) + 1U;
    struct segment s;
    const uint32_t ack = how & 8 ? pick_ack(p) : peer_honest_ack(p);

    while (n-- > 0) {
        peer_blank(p, &s, TN_TCP_ACK | (how & 16 ? TN_TCP_ECE : 0) | (how & 32 ? TN_TCP_CWR : 0));
        s.ack = ack;
        if (how & 64)
            peer_true_sacks(p, &s);
        peer_send(p, &s);
    }
}

/* SACK blocks: true, near the truth, of what was never sent, below the acknowledgement (D-SACK), empty. */
static void op_sack(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    const uint32_t una = p->inst_isn + 1 + p->claimed, unit = how & 8 ? 1U : how & 16 ? 100U : 1000U;
    unsigned i;
    struct segment s;

    peer_blank(p, &s, TN_TCP_ACK);
    s.ack = how & 32 ? pick_ack(p) : una;
    s.options.nsacks = (tenon_u8)((how & 3U) + 1U);
    for (i = 0; i < s.options.nsacks; i++) {
        const uint8_t left = fuzz_u8(&p->in), len = fuzz_u8(&p->in);

        s.options.sack_left[i] = una + left * unit;
        if (how & 4 && i == 0)
            s.options.sack_left[i] = una - left * unit;    /* RFC 2883 4 */
        s.options.sack_right[i] = s.options.sack_left[i] + (len & 0x7FU) * unit * (len & 0x80 ? UINT32_MAX : 1U);
    }
    peer_send(p, &s);
    if (how & 64)
        peer_send(p, &s);
}

static void op_window(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    struct segment s;

    p->wnd = how & 1 ? 0 : how & 2 ? fuzz_u16(&p->in) : (uint16_t)(how * 8U);
    if (how & 4)
        return;
    peer_blank(p, &s, TN_TCP_ACK);
    if (how & 8)
        s.seq = pick_seq(p);
    peer_send(p, &s);
}

static void op_timestamps(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    struct segment s;

    if (how & 1)
        p->ts_ahead += fuzz_u8(&p->in) * 1000U;
    peer_blank(p, &s, TN_TCP_ACK);
    s.len = how & 2 ? 10 : 0;
    s.no_timestamp = (how & 4) != 0;
    if (how & 8)
        s.options.ts_val = (uint32_t)0 - fuzz_log(&p->in) - 1U;
    if (how & 16)
        s.options.ts_ecr = fuzz_log(&p->in) * (how & 32 ? 1U : UINT32_MAX);
    peer_send(p, &s);
}

static void op_options(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    struct segment s;

    peer_blank(p, &s, TN_TCP_ACK);
    s.len = how & 1 ? 20 : 0;
    s.reserved = how >> 4;
    for (s.nraw = 0; s.nraw < ((how >> 1) & 7U) * 2U + 2U; s.nraw++)
        s.raw[s.nraw] = fuzz_u8(&p->in);
    peer_send(p, &s);
}

static void op_flags(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    struct segment s;

    peer_blank(p, &s, fuzz_u8(&p->in));
    if (how & 1)
        s.seq = pick_seq(p);
    if (how & 2)
        s.ack = pick_ack(p);
    if (how & 4)
        s.urgent = fuzz_u16(&p->in);
    s.len = how & 8 ? how >> 4 : 0;
    if ((s.flags & (TN_TCP_SYN | TN_TCP_FIN)) == (TN_TCP_SYN | TN_TCP_FIN) || (s.flags & TN_TCP_RST)
        || ((s.flags & TN_TCP_SYN) && s.len > 0))
        p->chaos = 1;
    peer_send(p, &s);
}

/* The next number that the peer has not sent: its honest FIN; or a FIN anywhere. */
static void op_fin(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    struct segment s;

    peer_blank(p, &s, TN_TCP_ACK | TN_TCP_FIN);
    if (how & 1) {
        s.seq = pick_seq(p);
        p->chaos = 1;
    } else {
        s.seq = p->isn + 1 + (p->fin_sent ? p->fin_at : p->sent);
    }
    peer_send(p, &s);
}

/* An ICMP error that quotes a segment of the instance. */
static void op_icmp(struct peer *p)
{
    static const uint8_t kinds4[][2] = { { 3, 4 }, { 3, 4 },  { 3, 1 },  { 3, 3 },
                                         { 4, 0 }, { 11, 0 }, { 12, 0 }, { 3, 2 } };
    static const uint8_t kinds6[][2] = { { 2, 0 }, { 2, 0 }, { 1, 0 }, { 1, 4 },
                                         { 3, 0 }, { 4, 1 }, { 1, 1 }, { 1, 3 } };
    const uint8_t how = fuzz_u8(&p->in);
    const uint8_t *kind = p->v6 ? kinds6[how & 7] : kinds4[how & 7];
    uint8_t bytes[8 + 40 + 20];
    size_t at = 8;

    memset(bytes, 0, sizeof(bytes));
    bytes[0] = kind[0];
    bytes[1] = kind[1];
    fuzz_put16(bytes + 6, fuzz_u16(&p->in) % 2048);    /* MTU */
    if (p->v6) {
        bytes[at] = 0x60;
        fuzz_put16(bytes + at + 4, 1000);
        bytes[at + 6] = TN_PROTO_TCP;
        bytes[at + 7] = 64;
        bytes[at + 8] = bytes[at + 24] = 0xFD;
        bytes[at + 23] = 1;
        bytes[at + 39] = 2;
        at += 40;
    } else {
        bytes[at] = 0x45;
        fuzz_put16(bytes + at + 2, 1000);
        bytes[at + 8] = 64;
        bytes[at + 9] = TN_PROTO_TCP;
        fuzz_put32(bytes + at + 12, 0x0A000001);
        fuzz_put32(bytes + at + 16, 0x0A000002);
        at += 20;
    }
    fuzz_put16(bytes + at, OUR_PORT);
    fuzz_put16(bytes + at + 2, PEER_PORT);
    fuzz_put32(bytes + at + 4, how & 8 ? pick_ack(p) : p->inst_isn + 1 + p->claimed);
    peer_packet(p, bytes, how & 16 ? at + 8 : at + 20, p->v6 ? TN_PROTO_ICMP6 : TN_PROTO_ICMP);
}

/* A whole TCP header as the fuzzer likes it, but for the ports and the sum. */
static void op_raw(struct peer *p)
{
    uint8_t bytes[60 + 32];
    const unsigned n = fuzz_u8(&p->in) % (sizeof(bytes) - 20) + 20;
    unsigned i;

    for (i = 0; i < n; i++)
        bytes[i] = fuzz_u8(&p->in);
    fuzz_put16(bytes, PEER_PORT);
    fuzz_put16(bytes + 2, OUR_PORT);
    if (bytes[13] & 1)
        fuzz_put32(bytes + 4, peer_next(p));
    if (bytes[12] & 1)
        fuzz_put32(bytes + 8, peer_honest_ack(p));
    /* Its data would not be what the model says: without it, in the window or not. */
    bytes[12] = (uint8_t)((bytes[12] & 0x0F) | (n / 4 < 15 ? n / 4 : 15) << 4);
    bytes[13] &= (uint8_t)~TN_TCP_FIN;
    p->chaos = 1;
    p->edge = 0x7FFFFFFF;    /* and what it says of the window is not known */
    p->claimed = p->most + p->fin_seen;
    p->said = p->written + 1;
    peer_packet(p, bytes, n - (n > 60 ? n - 60 : n % 4), TN_PROTO_TCP);
}

/* The next frames of the instance with a 1 in this mask are lost. */
static void op_lose(struct peer *p)
{
    p->losses = (uint32_t)fuzz_u16(&p->in) << 1;
    p->unseen = 1;
}

/* An honest exchange: both sides do what they should, for some round trips. */
static void op_honest(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);
    unsigned n = (how & 15U) + 1U;
    struct segment s;

    while (n-- > 0 && p->conn) {
        peer_blank(p, &s, TN_TCP_ACK);
        peer_true_sacks(p, &s);
        s.len = how & 16 ? 300 : 0;
        if (p->fin_sent)
            s.len = 0;
        peer_send(p, &s);
        fuzz_world_advance(&p->w, how & 32 ? 100000 : how & 64 ? 2000 : 100);
    }
}

static void op_ecn(struct peer *p)
{
    p->tos = (uint8_t)(p->tos ^ (fuzz_u8(&p->in) & 3));
}

/* ---- the application and the host ------------------------------------------------------------- */

static void op_time(struct peer *p)
{
    const uint64_t us = fuzz_log(&p->in);

    fuzz_world_advance(&p->w, us > 100000000 ? us * 16 : us);
}

static void op_poll(struct peer *p)
{
    (void)fuzz_world_poll(&p->w);
}

static void op_write(struct peer *p)
{
    app_write(p, fuzz_log(&p->in) % 40000);
}

static void op_send(struct peer *p)
{
    app_send(p, fuzz_log(&p->in) % 70000);
}

static void op_consume(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);

    p->lazy = how & 1;
    app_consume(p, how & 2 ? how * 16U : UINT32_MAX);
    if (p->conn && how & 4)
        tenon_tcp_ack(p->conn, how * 4U);
    if (p->conn && how & 8)
        (void)tenon_tcp_ack_fin(p->conn);
}

static void op_act(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);

    if (how & 16)
        p->handler_act = how & 15;
    else
        app_act(p, how & 15);
}

static void op_set(struct peer *p)
{
    const uint8_t option = fuzz_u8(&p->in);
    uint32_t value = option & 0x40 ? fuzz_log(&p->in) : option >> 7;

    if (!p->conn)
        return;
    if (option % 32 == TENON_TCP_RCV_BUF)
        value %= 250000;    /* what the model counts with */
    (void)tenon_tcp_set(p->conn, (enum tenon_tcp_option)(option % 32), value);
}

static const struct tenon_cc_ops *pick_cc(unsigned which)
{
    static const char *const names[] = { "newreno", "cubic", "highspeed", "bbr", "dctcp" };

    return tenon_cc_find(names[which % 5]);
}

static void op_cc(struct peer *p)
{
    const struct tenon_cc_ops *cc = pick_cc(fuzz_u8(&p->in));

    if (cc && p->conn)
        (void)tenon_tcp_set_cc(p->conn, cc);
}

static void op_fail(struct peer *p)
{
    const uint8_t how = fuzz_u8(&p->in);

    p->unseen = 1;
    if (how & 1)
        p->w.mem_fail = how >> 3;
    if (how & 2)
        p->w.buf_fail = how >> 3;
    if (how & 4)
        p->w.busy = how >> 3;
}

/* ---- the program ----------------------------------------------------------------------------- */

static void (*const ops[])(struct peer *p) = {
    op_data, op_data, op_data_train, op_ack, op_ack, op_sack, op_sack, op_window, op_timestamps, op_options, op_flags,
    op_fin, op_icmp, op_raw, op_lose, op_honest, op_ecn, op_time, op_time, op_poll, op_write, op_send, op_consume,
    op_act, op_set, op_cc, op_fail, op_honest, op_write, op_lose, op_poll, op_data,
};

static const char *const op_names[] = {
    "data",       "data",    "data_train", "ack",    "ack",   "sack", "sack",    "window",
    "timestamps", "options", "flags",      "fin",    "icmp",  "raw",  "lose",    "honest",
    "ecn",        "time",    "time",       "poll",   "write", "send", "consume", "act",
    "set",        "cc",      "fail",       "honest", "write", "lose", "poll",    "data",
};

enum { OPS_MAX = 400, FRAMES_MAX = 60000 };

static uint32_t isn_wanted;

/* Linked with --wrap=tn_tcp_isn: the instance's numbers begin where the input says. */
struct tenon;
tenon_u32 tn_tcp_ts_offset(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote);
tenon_u32 __wrap_tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote,
                            tenon_u32 *ts_offset);

tenon_u32 __wrap_tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote,
                            tenon_u32 *ts_offset)
{
    *ts_offset = tn_tcp_ts_offset(stack, local, remote);
    return isn_wanted;
}

static void draw_conf(struct peer *p, struct tenon_conf *conf)
{
    static const tenon_u32 buffers[] = { 600, 2000, 8000, 20000, 65535, 65536, 200000, 250000 };
    const uint8_t sizes = fuzz_u8(&p->in), limits = fuzz_u8(&p->in);

    tenon_conf_default(conf);
    conf->paths_max = 8;
    conf->neighbours_max = 8;
    conf->tcp_conns_max = 8;
    conf->udp_sockets_max = 8;
    conf->tcp_time_wait_max = limits & 1 ? 1 : 8;
    conf->tcp_rcv_buf = buffers[sizes & 7];
    conf->tcp_snd_buf = buffers[sizes >> 3 & 7];
    conf->tcp_ooo_bytes_max = 0;
    conf->tcp_ooo_ranges_max = (tenon_u16)(limits & 2 ? 3 : 32);
    conf->tx_burst_max = (tenon_u16)(limits & 4 ? 2 : 32);
    conf->tx_gather_max = (tenon_u16)(limits & 8 ? 2 : 20);
    conf->tcp_delack_us = limits & 16 ? 1000 : 40000;
    conf->tcp_rto_min_us = limits & 32 ? 5000 : 200000;
    conf->tcp_cc = pick_cc(limits >> 6);
}

static void draw_world(struct peer *p, uint8_t how)
{
    static const tenon_u16 mtus[] = { 1500, 1280, 576, 9000 };
    const uint8_t netif = fuzz_u8(&p->in);

    p->v6 = how & 1;
    p->had_conn = (how & 2) != 0;
    p->hold = (how & 16) != 0;
    p->lazy = (how & 32) != 0;
    p->isn = how & 64 ? 0xFFFFF000U : 0x10000000U;
    isn_wanted = how & 64 ? 0xFFFFFC00U : 0x7FFFF000U;
    p->w.now = how & 128 ? 0xFFF00000U : 1000000U;
    p->w.netif_conf.caps = TENON_CAP_NO_LINK | (how & 8 ? TENON_CAP_TX_CSUM : 0);
    if (how & 4)
        p->w.netif_conf.caps |= TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6;
    p->w.netif_conf.mtu = mtus[netif & 3];
    if (p->v6 && p->w.netif_conf.mtu < 1280)
        p->w.netif_conf.mtu = 1280;
    p->w.netif_conf.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    p->w.netif_conf.gather_max = (tenon_u16)(netif & 4 ? netif >> 4 : 0);
    if (!p->v6)
        p->w.netif_conf.flags |= TENON_NETIF_NO_IP6;
}

static void draw_peer(struct peer *p)
{
    static const uint16_t sizes[] = { 1460, 0, 1, 88, 536, 1220, 8960, 65535 };
    const uint8_t options = fuzz_u8(&p->in), more = fuzz_u8(&p->in);

    p->ws = options & 1;
    p->ts = options >> 1 & 1;
    p->sack = options >> 2 & 1;
    p->ecn = options >> 3 & 1;
    p->shift = options >> 4;
    p->mss = sizes[more & 7];
    p->wnd = more & 8 ? fuzz_u16(&p->in) : 65535;
    p->fastopen = more >> 4 & 1;
    p->silent = p->fastopen && more & 32;
    p->request = p->fastopen ? fuzz_u8(&p->in) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct peer *p = calloc(1, sizeof(*p));
    struct tenon_conf conf;
    unsigned n;

    if (!p)
        abort();
    p->in.p = data;
    p->in.left = size;
    draw_world(p, fuzz_u8(&p->in));
    draw_conf(p, &conf);
    draw_peer(p);
    peer_open(p, &conf);
    peer_handshake(p);
    for (n = 0; n < OPS_MAX && p->in.left > 0 && p->w.frames < FRAMES_MAX; n++) {
        const unsigned op = fuzz_u8(&p->in) % TENON_ARRAY_LEN(ops);

        fuzz_note("%12.6f operation %u: %s", (double)p->w.now / 1e6, op, op_names[op]);
        ops[op](p);
        app_check(p);
    }
    peer_make_peace(p);
    fuzz_world_note_counters(&p->w);
    if (p->conn && !p->chaos)
        fuzz_fail("the connection does not come to its end: %s; written %u, acknowledged %u; received %u of %u",
                  tenon_tcp_state_name(tenon_tcp_state(p->conn)), p->written, p->acked, p->received, p->sent);
    if (p->conn)
        tenon_tcp_abort(p->conn);
    fuzz_world_close(&p->w, 0);
    free(p);
    return 0;
}
