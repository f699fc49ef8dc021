/* SPDX-License-Identifier: MIT */
/* The calls for small machines, and whatever a network and an application may do to them. An input is a list of
 * records: a byte that says what, and its arguments: frames as they are or with their sums made right, answers to what
 * was sent last, calls with good and with bad arguments, blocks and memory that others have, a device that is slow,
 * time. What the application knows is kept beside it: pieces that it holds, rings, descriptors that are going. */
#include "embedded/sock_internal.h"
#include "fuzz.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum {
    SOCKS = 5,
    BLOCKS = 6,
    HEADERS = 6,
    RINGS = 4,
    RING_BYTES = 4000,
    HELD_MAX = 40,
    SLOTS = 4,
    SPANS_MAX = 40,
    LAST = 4,
    FRAME_MAX = 1514,
    RECORDS_MAX = 400,
    GUARD = 32
};

struct held {
    int sk;
    tenon_u8 *p;
    unsigned n, sum;
};

/* A frame that the device has: references, and what its bytes were. */
struct slot {
    struct tenon_frame frame;
    struct tenon_span spans[SPANS_MAX];
    unsigned sum;
};

struct world {
    struct fuzz_bytes in;
    struct tenon_socks *socks;
    struct tenon_sock_conf conf;
    tenon_u8 *arena;
    size_t arena_bytes;
    uint64_t now;
    int sk[SOCKS + 2];                 /* 0: none */
    int going[SOCKS + 2];              /* deleted, and GONE has not come */
    int ring_of[SOCKS + 2];            /* which ring; -1: none */
    tenon_u8 *ring[RINGS];
    struct held held[HELD_MAX];
    unsigned nheld;
    struct slot slot[SLOTS];
    unsigned nslots, slots;
    struct tenon_buf *taken[BLOCKS + HEADERS];
    unsigned ntaken;
    void *memory;
    size_t memory_bytes;
    uint8_t last[LAST][FRAME_MAX];
    size_t last_n[LAST];
    unsigned nsent;
};

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 }, peer_mac[6] = { 2, 0, 0, 0, 0, 2 };

static unsigned sum_of(const uint8_t *bytes, size_t n)
{
    unsigned sum = (unsigned)n;

    while (n-- > 0)
        sum = (sum ^ *bytes++) * 16777619U;
    return sum;
}

/* ---- the device --------------------------------------------------------------------------------- */

static size_t flat(const struct tenon_frame *frame, uint8_t *to)
{
    size_t n = 0;
    unsigned i;

    for (i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        if (span->buf->refs == 0 || span->off > span->buf->size || span->len > span->buf->size - span->off)
            fuzz_fail("a sent frame lies outside of its buffer");
        if (n + span->len > FRAME_MAX)
            fuzz_fail("a sent frame is larger than the MTU");
        memcpy(to + n, tenon_span_data(span), span->len);
        n += span->len;
    }
    return n;
}

static unsigned device_transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    struct world *w = device;
    unsigned i, k;

    for (i = 0; i < n; i++) {
        struct slot *slot = &w->slot[w->nslots];
        uint8_t *bytes = w->last[w->nsent % LAST];

        if (w->nslots == w->slots && w->slots > 0)
            return i;
        if (frames[i].nspans > ((w->conf.device.flags & TENON_SOCK_CONTIGUOUS) ? 1 : SPANS_MAX))
            fuzz_fail("a frame of %u pieces", frames[i].nspans);
        w->last_n[w->nsent % LAST] = flat(&frames[i], bytes);
        w->nsent++;
        if (w->slots == 0)
            continue;    /* a device without DMA */
        slot->frame = frames[i];
        memcpy(slot->spans, frames[i].spans, frames[i].nspans * sizeof(slot->spans[0]));
        slot->frame.spans = slot->spans;
        slot->sum = sum_of(bytes, w->last_n[(w->nsent - 1) % LAST]);
        for (k = 0; k < frames[i].nspans; k++)
            tenon_buf_ref(slot->spans[k].buf);
        w->nslots++;
    }
    return i;
}

/* The first frame is on the line. */
static void device_sent(struct world *w)
{
    struct slot *slot = &w->slot[0];
    uint8_t bytes[FRAME_MAX];
    const size_t n = flat(&slot->frame, bytes);
    unsigned k;

    if (sum_of(bytes, n) != slot->sum)
        fuzz_fail("a frame was changed while the device had it");
    for (k = 0; k < slot->frame.nspans; k++)
        tenon_buf_put(slot->spans[k].buf);
    w->nslots--;
    memmove(&w->slot[0], &w->slot[1], w->nslots * sizeof(w->slot[0]));
    for (k = 0; k < w->nslots; k++)
        w->slot[k].frame.spans = w->slot[k].spans;
}

static int device_entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    memset(bytes, 0x5A, n);
    return 0;
}

static void on_event(void *app, int sk, unsigned events)
{
    struct world *w = app;
    unsigned i;

    fuzz_note("event %#x of %d", events, sk);
    if (!(events & TENON_SOCK_GONE))
        return;
    for (i = 0; i < SOCKS + 2; i++)
        if (w->going[i] == sk) {
            w->going[i] = 0;
            w->ring_of[i] = -1;
            return;
        }
    fuzz_fail("descriptor %d is gone, and was not deleted", sk);
}

/* ---- what must hold ------------------------------------------------------------------------------- */

static void check_pool(const struct sock_pool *pool, unsigned most)
{
    const struct sock_unit *unit;
    unsigned n = 0;

    for (unit = pool->free; unit != NULL && n <= most; unit = unit->next)
        n++;
    if (n != pool->nfree || n > most)
        fuzz_fail("a pool has %u free buffers by list, %u by count, of %u", n, pool->nfree, most);
}

static void check_connection(struct tenon_tcp *conn, void *arg)
{
    const char *wrong = tenon_tcp_check(conn);

    (void)arg;
    if (wrong != NULL)
        fuzz_fail("a connection: %s", wrong);
}

static void check_guard(const tenon_u8 *guard)
{
    unsigned i;

    for (i = 0; i < GUARD; i++)
        if (guard[i] != 0xA7)
            fuzz_fail("memory beside the arena or a ring was written");
}

static void check_world(struct world *w)
{
    const struct sock_gap *gap;
    size_t sum = 0;
    unsigned i;

    check_pool(&w->socks->blocks, BLOCKS);
    check_pool(&w->socks->headers, HEADERS);
    for (gap = w->socks->memory.before.next; gap != NULL; gap = gap->next)
        sum += gap->bytes;
    if (sum + w->socks->memory.used != w->socks->memory.bytes)
        fuzz_fail("free and used memory are not all there is");
    for (i = 0; i < w->nheld; i++)
        if (sum_of(w->held[i].p, w->held[i].n) != w->held[i].sum)
            fuzz_fail("bytes that the application holds have changed");
    for (i = 0; i < RINGS; i++) {
        check_guard(w->ring[i]);
        check_guard(w->ring[i] + GUARD + RING_BYTES);
    }
    check_guard(w->arena - GUARD);
    check_guard(w->arena + w->arena_bytes);
    tenon_tcp_each(tenon_sock_stack(w->socks), check_connection, NULL);
}

static void expect(const char *call, int result, int ok, const char *allowed)
{
    static const int errors[] = { ['i'] = TENON_EINVAL,   ['m'] = TENON_ENOMEM,   ['a'] = TENON_EAGAIN,
                                  ['c'] = TENON_ECLOSED,  ['u'] = TENON_EINUSE,   ['n'] = TENON_ENOADDR,
                                  ['r'] = TENON_EUNREACH, ['s'] = TENON_EMSGSIZE, ['l'] = TENON_ELIMIT,
                                  ['x'] = TENON_EACCES };

    if (ok)
        return;
    for (; *allowed != '\0'; allowed++)
        if (errors[(unsigned char)*allowed] == result)
            return;
    fuzz_fail("%s returns %d (%s)", call, result, tenon_error_text(result));
}

/* ---- frames --------------------------------------------------------------------------------------- */

static void receive(struct world *w, const uint8_t *bytes, size_t n, int good)
{
    const int is_known = (w->socks->device.flags & TENON_SOCK_LENGTHS) != 0;
    struct tenon_buf *block = is_known ? tenon_sock_block_for(w->socks, (unsigned)n + 2) : tenon_sock_block(w->socks);

    if (block == NULL)
        return;
    if (n > block->size - 2)
        n = block->size - 2;
    memcpy(block->data + 2, bytes, n);
    tenon_sock_input(w->socks, block, 2, (unsigned)n, good ? TENON_CSUM_GOOD : TENON_CSUM_NONE);
}

static void begin_frame(uint8_t *frame, unsigned type)
{
    memcpy(frame, our_mac, 6);
    memcpy(frame + 6, peer_mac, 6);
    fuzz_put16(frame + 12, type);
}

static size_t take(struct world *w, uint8_t *to, size_t n)
{
    size_t i;

    for (i = 0; i < n && w->in.left > 0; i++)
        to[i] = fuzz_u8(&w->in);
    return i;
}

/* As it is in the input; how & 1: its sums are made right. */
static void frame_raw(struct world *w, unsigned how)
{
    uint8_t frame[FRAME_MAX];
    size_t n = 14;

    begin_frame(frame, how & 2 ? TN_ETHERTYPE_IP6 : TN_ETHERTYPE_IP4);
    n += take(w, frame + 14, fuzz_u8(&w->in));
    if (how & 1)
        fuzz_repair(frame + 14, n - 14, 1);
    receive(w, frame, n, 0);
}

static size_t ip_header(uint8_t *ip, int v6, unsigned proto, size_t n)
{
    memset(ip, 0, TN_IP6_BYTES);
    if (v6) {
        ip[0] = 0x60;
        fuzz_put16(ip + 4, (unsigned)n);
        ip[6] = (uint8_t)proto;
        ip[7] = 64;
        ip[8] = ip[24] = 0xFD;
        ip[23] = 2;
        ip[39] = 1;
        return TN_IP6_BYTES;
    }
    ip[0] = 0x45;
    fuzz_put16(ip + 2, (unsigned)n + TN_IP4_BYTES);
    ip[8] = 64;
    ip[9] = (uint8_t)proto;
    fuzz_put32(ip + 12, 0x0A000002UL);
    fuzz_put32(ip + 16, 0x0A000001UL);
    return TN_IP4_BYTES;
}

/* A SYN, or a datagram, to one of the ports. */
static void frame_new(struct world *w, unsigned how)
{
    uint8_t frame[FRAME_MAX], l4[64 + 1300];
    const unsigned arg = fuzz_u8(&w->in);
    size_t n, at;

    memset(l4, (int)arg, sizeof(l4));
    fuzz_put16(l4, 40000 + (arg & 15));
    fuzz_put16(l4 + 2, 80 + (arg >> 4 & 1));
    if (how & 1) {
        n = 8 + (how & 4 ? 1200 : arg);
        fuzz_put16(l4 + 4, (unsigned)n);
    } else {
        n = 24;
        fuzz_put32(l4 + 4, 1000 * arg);
        fuzz_put32(l4 + 8, 0);
        fuzz_put16(l4 + 12, 0x6002);
        fuzz_put16(l4 + 14, 2000);
        fuzz_put32(l4 + 20, 0x02040000UL + (how & 4 ? 100 : 1460));
    }
    begin_frame(frame, how & 2 ? TN_ETHERTYPE_IP6 : TN_ETHERTYPE_IP4);
    at = 14 + ip_header(frame + 14, how & 2, how & 1 ? TN_PROTO_UDP : TN_PROTO_TCP, n);
    memcpy(frame + at, l4, n);
    if (how & 8 && !(how & 2))
        fuzz_put16(frame + 14 + 6, how & 4 ? 0x2000 : 0x0001);    /* a fragment */
    fuzz_repair(frame + 14, at + n - 14, 0);
    receive(w, frame, at + n, 0);
}

/* Where the TCP header of a sent frame begins; 0: it has none. */
static size_t tcp_at(const uint8_t *frame, size_t n)
{
    if (n >= 14 + 40 && fuzz_get16(frame + 12) == TN_ETHERTYPE_IP4 && frame[23] == TN_PROTO_TCP)
        return 34;
    if (n >= 14 + 60 && fuzz_get16(frame + 12) == TN_ETHERTYPE_IP6 && frame[20] == TN_PROTO_TCP)
        return 54;
    return 0;
}

/* An answer to a segment that was sent: what it acknowledges, where its data lies, and its flags are the input's. */
static void frame_answer(struct world *w, unsigned how)
{
    const size_t which = (w->nsent + LAST - 1 - (how & 3)) % LAST, sent = w->last_n[which];
    const uint8_t *last = w->last[which];
    const size_t at = tcp_at(last, sent);
    const unsigned flags = fuzz_u8(&w->in), data = fuzz_u8(&w->in), shift = how & 4 ? fuzz_u8(&w->in) : 0;
    uint8_t frame[FRAME_MAX];
    uint32_t seq, ack;
    size_t n = data * (how & 8 ? 5 : 1);

    if (at == 0)
        return;
    seq = fuzz_get32(last + at + 8);
    ack = fuzz_get32(last + at + 4) + (uint32_t)(sent - at - (size_t)(last[at + 12] >> 4) * 4);
    ack += (last[at + 13] & 1U) + (last[at + 13] >> 1 & 1U);
    if (!(last[at + 13] & TN_TCP_ACK))
        seq = 7000;
    begin_frame(frame, fuzz_get16(last + 12));
    (void)ip_header(frame + 14, at == 54, TN_PROTO_TCP, 20 + n);
    memset(frame + at, 0, 20);
    memcpy(frame + at, last + at + 2, 2);
    memcpy(frame + at + 2, last + at, 2);
    fuzz_put32(frame + at + 4, seq + (shift & 15) * 50 - (shift & 16 ? 100 : 0));
    fuzz_put32(frame + at + 8, shift & 64 ? ack - 100 : ack);
    fuzz_put16(frame + at + 12, 0x5000 | (flags & 0x3F) | (flags & 0x40 ? 0 : 0x10));
    fuzz_put16(frame + at + 14, flags & 0x80 ? 0 : 5000);
    memset(frame + at + 20, (int)data, n);
    fuzz_repair(frame + 14, at + 20 + n - 14, 0);
    receive(w, frame, at + 20 + n, how & 16);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static unsigned pick(const struct world *w, unsigned arg)
{
    (void)w;
    return arg % (SOCKS + 2);
}

static void call_create(struct world *w, unsigned arg)
{
    struct tenon_addr local, remote;
    unsigned i, k;
    int sk;

    memset(&local, 0, sizeof(local));
    memset(&remote, 0, sizeof(remote));
    local.port = (tenon_u16)(80 + (arg & 1));
    if (arg & 2)
        local.ip = arg & 4 ? tenon_ip4_bytes(10, 0, 0, 1) : tenon_ip6(0xFD000000UL, 0, 0, 1);
    remote.ip = arg & 4 ? tenon_ip4_bytes(10, 0, 0, 2) : tenon_ip6(0xFD000000UL, 0, 0, 2);
    remote.port = arg & 8 ? 80 : 0;
    for (i = 0; i < SOCKS + 2 && (w->sk[i] != 0 || w->going[i] != 0); i++)
        ;
    if (i == SOCKS + 2)
        fuzz_fail("there are more descriptors than the limit");
    sk = tenon_sock_create(w->socks, arg & 64 ? NULL : &local, arg & 16 ? &remote : NULL,
                           arg & 32 ? TENON_SOCK_UDP : TENON_SOCK_TCP, arg & 128 ? TENON_SOCK_NO_TIMESTAMPS : 0);
    expect("create", sk, sk > 0, "ilunrm");
    if (sk <= 0)
        return;
    for (k = 0; k < SOCKS + 2; k++)
        if (w->sk[k] == sk || w->going[k] == sk)
            fuzz_fail("descriptor %d is made, and exists", sk);
    w->sk[i] = sk;
    w->ring_of[i] = -1;
    fuzz_note("descriptor %d", sk);
}

static void forget_held(struct world *w, int sk)
{
    unsigned i, n = 0;

    for (i = 0; i < w->nheld; i++)
        if (w->held[i].sk != sk)
            w->held[n++] = w->held[i];
    w->nheld = n;
}

static void call_delete(struct world *w, unsigned i, unsigned options)
{
    struct tenon_sock_info info;
    const int sk = w->sk[i], known = tenon_sock_status(w->socks, sk, &info) == TENON_OK;
    const int result = tenon_sock_delete(w->socks, sk, options);

    if ((sk != 0) != (result == TENON_OK) || known != (sk != 0))
        fuzz_fail("delete(%d) returns %d", sk, result);
    if (sk == 0)
        return;
    forget_held(w, sk);
    w->sk[i] = 0;
    if (info.packets > 0)
        w->going[i] = sk;
    else
        w->ring_of[i] = -1;
}

static void call_ask_rbuf(struct world *w, unsigned i)
{
    const int sk = w->sk[i];
    struct tenon_sock_info info;
    tenon_u8 *p;
    unsigned k;
    int n;

    if (w->nheld == HELD_MAX)
        return;
    n = tenon_sock_ask_rbuf(w->socks, sk, &p);
    if (sk == 0 ? n != TENON_EINVAL : n == TENON_EINVAL)
        fuzz_fail("ask_rbuf(%d) returns %d", sk, n);
    if (n < 0 && sk != 0) {
        (void)tenon_sock_status(w->socks, sk, &info);
        if (n != info.error && n != TENON_ECLOSED)
            fuzz_fail("ask_rbuf() returns %d, the status %d", n, info.error);
    }
    if (n <= 0)
        return;
    if (p < w->arena || p + n > w->arena + w->arena_bytes)
        fuzz_fail("received bytes lie outside of the arena");
    for (k = 0; k < w->nheld; k++)
        if (p < w->held[k].p + w->held[k].n && w->held[k].p < p + n)
            fuzz_fail("received bytes are handed out twice");
    w->held[w->nheld++] = (struct held){ sk, p, (unsigned)n, sum_of(p, (size_t)n) };
}

static void cut_held(struct world *w, struct held *held, unsigned n)
{
    held->p += n;
    held->n -= n;
    held->sum = sum_of(held->p, held->n);
    if (held->n == 0)
        *held = w->held[--w->nheld];
}

static void call_read_done(struct world *w, unsigned arg, unsigned wrong)
{
    struct held *held = w->nheld > 0 ? &w->held[arg % w->nheld] : NULL;
    static const tenon_u8 foreign[4];
    unsigned n;

    if (tenon_sock_read_done(w->socks, w->sk[pick(w, arg)], foreign, 1) != TENON_EINVAL)
        fuzz_fail("foreign memory is taken as a piece");
    if (held == NULL)
        return;
    if ((wrong & 1 && tenon_sock_read_done(w->socks, held->sk, held->p, held->n + 1) != TENON_EINVAL) ||
        (wrong & 2 && tenon_sock_read_done(w->socks, held->sk, held->p, 0) != TENON_EINVAL) ||
        (wrong & 4 && tenon_sock_read_done(w->socks, held->sk + 1, held->p, held->n) != TENON_EINVAL))
        fuzz_fail("a wrong read_done() is taken");
    n = wrong & 8 ? 1 + arg % held->n : held->n;
    if (tenon_sock_read_done(w->socks, held->sk, held->p, n) != TENON_OK)
        fuzz_fail("a good read_done() is refused");
    if (tenon_sock_read_done(w->socks, held->sk, held->p, n) != TENON_EINVAL)
        fuzz_fail("a piece is taken back twice");
    cut_held(w, held, n);
}

/* An answer over the bytes that have come: it leaves, or all stays as it was. */
static void call_send_back(struct world *w, unsigned arg, unsigned how)
{
    struct held *held = w->nheld > 0 ? &w->held[arg % w->nheld] : NULL;
    const unsigned options = how & 4 ? TENON_SOCK_FIN : 0;
    static const tenon_u8 foreign[4];
    const tenon_u8 *p;
    unsigned n;
    int result = tenon_sock_send_back(w->socks, w->sk[pick(w, arg)], foreign, 1, 0);

    expect("send_back of foreign memory", result, 0, "ic");
    if (held == NULL)
        return;
    result = tenon_sock_send_back(w->socks, held->sk, held->p, how & 1 ? held->n + 1 : 0, 0);
    expect("a wrong send_back", result, 0, "ic");
    n = how & 8 ? 1 + arg % held->n : held->n;
    p = held->p;
    memset(held->p, (int)how, n);
    held->sum = sum_of(held->p, held->n);
    result = tenon_sock_send_back(w->socks, held->sk, p, n, options);
    expect("send_back", result, result == TENON_OK, options != 0 ? "imacrsx" : "macrsx");
    if (result != TENON_OK)
        return;
    if (tenon_sock_read_done(w->socks, held->sk, p, n) != TENON_EINVAL)
        fuzz_fail("what was sent back is taken back");
    cut_held(w, held, n);
}

static void call_set_sbuf(struct world *w, unsigned i, unsigned arg)
{
    const unsigned which = arg % RINGS;
    const uint32_t off = arg & 16 ? 3 : 0, bytes = arg & 4 ? RING_BYTES - 8 : arg & 8 ? 300 : 1000;
    struct tenon_sock_info info;
    const int known = tenon_sock_status(w->socks, w->sk[i], &info) == TENON_OK;
    int result, others = 0;
    unsigned k;

    for (k = 0; k < SOCKS + 2; k++)
        others |= k != i && w->ring_of[k] == (int)which;
    result = tenon_sock_set_sbuf(w->socks, w->sk[i], w->ring[which] + GUARD + off, bytes);
    if (!known ? result != TENON_EINVAL : result == TENON_EINVAL)
        fuzz_fail("set_sbuf(%d) returns %d", w->sk[i], result);
    expect("set_sbuf", result, result == TENON_OK, "isu");
    if (result == TENON_OK && (others || info.packets > 0))
        fuzz_fail("a ring that is in use is taken");
    if (known && !others && info.packets == 0 && result != TENON_OK)
        fuzz_fail("a free ring is refused with %d", result);
    if (result == TENON_OK)
        w->ring_of[i] = (int)which;
}

static void call_send(struct world *w, unsigned i, unsigned how)
{
    const int sk = w->sk[i];
    tenon_u8 *p = NULL;
    const int room = tenon_sock_ask_sbuf(w->socks, sk, &p);
    unsigned n = fuzz_log(&w->in);
    int result;

    expect("ask_sbuf", room, room >= 0, "imrc");
    if (sk == 0 && room != TENON_EINVAL)
        fuzz_fail("ask_sbuf() of no descriptor returns %d", room);
    if (room <= 0) {
        result = tenon_sock_send(w->socks, sk, w->ring[0] + GUARD + 200, 1, 0);
        expect("send without room", result, 0, "imacr");
        if ((how & 1) == 0)
            return;
    }
    if (room > 0 && (p < w->ring[w->ring_of[i]] + GUARD || p + room > w->ring[w->ring_of[i]] + GUARD + RING_BYTES))
        fuzz_fail("room in a ring lies outside of it");
    if (room > 0)
        n = n % (unsigned)room + 1;
    if (room > 0 && how & 2 && tenon_sock_send(w->socks, sk, p, (unsigned)room + 1, 0) != TENON_EMSGSIZE)
        fuzz_fail("more than there is room for is sent");
    if (room > 0 && how & 4 && tenon_sock_send(w->socks, sk, p + 1, 1, 0) != TENON_EINVAL)
        fuzz_fail("another place than was given is sent from");
    if (room > 0)
        memset(p, (int)how, (size_t)n);
    result = how & 8 ? tenon_sock_send(w->socks, sk, NULL, 0, TENON_SOCK_FIN)
                     : tenon_sock_send(w->socks, sk, p, room > 0 ? n : 1, how & 16 ? TENON_SOCK_FIN : 0);
    expect("send", result, result == TENON_OK, "imacrsx");
}

static void call_to(struct world *w, unsigned i, unsigned arg)
{
    struct tenon_addr to;
    int result;

    memset(&to, 0, sizeof(to));
    to.ip = arg & 1 ? tenon_ip4_bytes(10, 0, 0, (unsigned char)(arg & 2 ? 255 : 2)) : tenon_ip6(0xFD000000UL, 0, 0, 2);
    to.port = (tenon_u16)(arg & 4 ? 0 : 9);
    result = tenon_sock_to(w->socks, w->sk[i], &to);
    expect("to", result, result == TENON_OK, "i");
    if (result == TENON_OK && (w->sk[i] == 0 || to.port == 0))
        fuzz_fail("to(%d) is taken", w->sk[i]);
}

/* ---- want ----------------------------------------------------------------------------------------- */

static void give_all(struct world *w)
{
    while (w->ntaken > 0)
        tenon_buf_put(w->taken[--w->ntaken]);
    if (w->memory != NULL)
        tn_sock_memory_put(w->socks, w->memory, w->memory_bytes);
    w->memory = NULL;
}

static void take_some(struct world *w, unsigned arg)
{
    struct tenon_buf *buf;
    unsigned n = arg & 7;

    give_all(w);
    while (n-- > 0 && w->ntaken < BLOCKS && arg & 8 && (buf = tenon_sock_block(w->socks)) != NULL)
        w->taken[w->ntaken++] = buf;
    if (arg & 16)
        w->ntaken += tn_sock_headers_get(w->socks, w->taken + w->ntaken, arg & 7 ? (arg & 7) - 1 : 0);
    if (!(arg & 32))
        return;
    w->memory_bytes = w->socks->memory.bytes / 8 * ((arg >> 6) + 4);
    w->memory = tn_sock_memory_get(w->socks, w->memory_bytes);
}

/* ---- time ----------------------------------------------------------------------------------------- */

static uint32_t poll_once(struct world *w)
{
    return tenon_sock_poll(w->socks, (tenon_u32)w->now);
}

static void advance(struct world *w, uint64_t us)
{
    const uint64_t until = w->now + us;
    unsigned polls = 0;

    while (w->now < until && polls++ < 60) {
        uint64_t wait = poll_once(w);

        if (wait == 0)
            wait = 1000;    /* the device is full, perhaps for long */
        w->now = until - w->now < wait ? until : w->now + wait;
    }
    w->now = until;
    (void)poll_once(w);
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static tenon_u8 *guarded(size_t bytes)
{
    tenon_u8 *mem = malloc(bytes + 2 * GUARD);

    if (mem == NULL)
        abort();
    memset(mem, 0xA7, bytes + 2 * GUARD);
    return mem;
}

static void open_world(struct world *w)
{
    const struct tenon_ip ip4 = tenon_ip4_bytes(10, 0, 0, 1), ip6 = tenon_ip6(0xFD000000UL, 0, 0, 1);
    const struct tenon_ip to4 = tenon_ip4_bytes(10, 0, 0, 2), to6 = tenon_ip6(0xFD000000UL, 0, 0, 2);
    const unsigned how = fuzz_u8(&w->in);
    struct tenon_sock_conf *conf = &w->conf;
    unsigned i;

    memcpy(conf->device.netif.mac, our_mac, 6);
    conf->device.netif.mtu = 1500;
    conf->device.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    conf->device.flags = how & 1 ? TENON_SOCK_CONTIGUOUS : how & 2 ? TENON_SOCK_NO_DMA : 0;
    if ((how & 0x43) == 0x42)    /* no DMA, and a bit that says nothing else then */
        conf->device.flags |= TENON_SOCK_LENGTHS;
    conf->device.device = w;
    conf->device.transmit = device_transmit;
    conf->device.entropy = device_entropy;
    conf->event = on_event;
    conf->app = w;
    conf->socks = SOCKS;
    conf->blocks = BLOCKS;
    conf->headers = HEADERS;
    conf->packets = (tenon_u16)(how & 4 ? 2 : 0);
    conf->conns = (tenon_u16)(how & 8 ? 2 : 0);
    conf->stack.tcp_syncookies = (tenon_u8)(how >> 4 & 1);
    w->slots = how & 2 ? 0 : 1 + (how >> 6);
    w->now = how & 32 ? 0xFFF00000U : 1000000U;
    w->arena_bytes = tenon_sock_arena_bytes(conf);
    w->arena = guarded(w->arena_bytes) + GUARD;
    for (i = 0; i < RINGS; i++)
        w->ring[i] = guarded(RING_BYTES);
    for (i = 0; i < SOCKS + 2; i++)
        w->ring_of[i] = -1;
    if (tenon_sock_start(&w->socks, w->arena, w->arena_bytes, conf) != TENON_OK)
        fuzz_fail("no instance");
    if (tenon_addr_add(tenon_sock_stack(w->socks), 1, &ip4, 24) != TENON_OK ||
        tenon_addr_add(tenon_sock_stack(w->socks), 1, &ip6, 64) != TENON_OK ||
        tenon_neighbour_set(tenon_sock_stack(w->socks), 1, &to4, peer_mac) != TENON_OK ||
        tenon_neighbour_set(tenon_sock_stack(w->socks), 1, &to6, peer_mac) != TENON_OK)
        fuzz_fail("no addresses");
    (void)poll_once(w);
}

static void close_world(struct world *w)
{
    unsigned i;

    give_all(w);
    while (w->nslots > 0)
        device_sent(w);
    for (i = 0; i < SOCKS + 2; i++)
        if (w->sk[i] != 0)
            call_delete(w, i, i & 1 ? TENON_SOCK_ABORT : 0);
    check_world(w);
    tenon_sock_stop(w->socks);
    while (w->nslots > 0)
        device_sent(w);
    if (w->socks->blocks.nfree != BLOCKS || w->socks->headers.nfree != HEADERS)
        fuzz_fail("%u blocks and %u header buffers at the end", w->socks->blocks.nfree, w->socks->headers.nfree);
    if (w->socks->memory.used != 0 || w->socks->memory.before.next->bytes != w->socks->memory.bytes)
        fuzz_fail("%zu bytes of memory are used at the end", w->socks->memory.used);
    free(w->arena - GUARD);
    for (i = 0; i < RINGS; i++)
        free(w->ring[i]);
}

static void one_record(struct world *w)
{
    const unsigned kind = fuzz_u8(&w->in), how = fuzz_u8(&w->in), i = pick(w, kind >> 4);

    fuzz_note("record %u of %u, %#x", kind & 15, i, how);
    switch (kind & 15) {
    case 0: frame_raw(w, how); break;
    case 1: frame_new(w, how); break;
    case 2:
    case 3: frame_answer(w, how); break;
    case 4: call_create(w, how); break;
    case 5: call_delete(w, i, how & 1 ? TENON_SOCK_ABORT : 0); break;
    case 6: call_ask_rbuf(w, i); break;
    case 7:
        if (how & 128)
            call_send_back(w, how, kind >> 4);
        else
            call_read_done(w, how, kind >> 4);
        break;
    case 8: call_set_sbuf(w, i, how); break;
    case 9:
    case 10: call_send(w, i, how); break;
    case 11: call_to(w, i, how); break;
    case 12: take_some(w, how); break;
    case 13:
        if (w->nslots > 0)
            device_sent(w);
        break;
    case 14: advance(w, (uint64_t)(8U | (how & 7U)) << (how >> 3) % 26 >> 3); break;
    default: (void)poll_once(w); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world *w = calloc(1, sizeof(*w));
    unsigned records = 0;

    if (w == NULL)
        abort();
    w->in.p = data;
    w->in.left = size;
    open_world(w);
    while (w->in.left > 0 && records++ < RECORDS_MAX) {
        one_record(w);
        check_world(w);
    }
    close_world(w);
    free(w);
    return 0;
}
