/* SPDX-License-Identifier: MIT */
/* The three structures that a peer's packets shape, each against a model so simple that it cannot be wrong: an
 * array with one entry per byte of sequence space. The SACK scoreboard and the send queue are called directly,
 * the out-of-order queue through real segments in random order. All begin close to the wrap of the sequence
 * numbers. */
#include "harness.h"

#include "tcp/tcp_internal.h"

/* Numbers that look random, the same in every run. */
static tenon_u32 chance_state = 1;

static tenon_u32 chance(tenon_u32 below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 17;
    chance_state ^= chance_state << 5;
    return (tenon_u32)((unsigned long long)chance_state * below >> 32);
}

static void chance_seed(tenon_u32 seed)
{
    chance_state = seed * 2654435761U | 1;
}

/* It asks for rates, and has no words besides the block's. */
static void measures_nothing(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;
    (void)event;
}

static const struct tenon_cc_ops measures = {
    .name = "measures", .init = measures_nothing, .delivered = measures_nothing
};

/* A connection with nothing in it but what the structure under test looks at. */
static void bare(struct tenon_tcp *conn, struct hn *hn, tenon_u32 seq)
{
    memset(conn, 0, sizeof *conn);
    conn->stack = hn->stack;
    conn->mss = 100;
    conn->cc.ops = &measures;
    conn->snd_una = conn->snd_nxt = conn->snd_end = seq;
    HN_CHECK(tn_flight_get(conn) != NULL);
    conn->flight->iss = seq - 1;
    conn->recovery = TN_RECOVERY_FAST;    /* the lost edge may be anywhere */
}

/* So many bytes more have left. */
static void bare_send(struct tenon_tcp *conn, tenon_u32 n)
{
    if (n == 0)
        return;
    conn->stack->now_us++;
    tn_flight_sent(conn, conn->snd_nxt + n);
    conn->snd_nxt += n;
}

/* ---- the SACK scoreboard ----------------------------------------------------------------------- */

enum { MAP = 1 << 16, FLIGHT = 2000, RANGES_MAX = 2048 };

struct sack_model {
    struct hn hn;
    struct tenon_tcp conn;
    tenon_u8 sacked[MAP];    /* by sequence number modulo MAP */
};

static tenon_u8 *sack_bit(struct sack_model *m, tenon_u32 seq)
{
    return &m->sacked[seq % MAP];
}

static tenon_u32 sack_count(struct sack_model *m, tenon_u32 from, tenon_u32 to)
{
    tenon_u32 n = 0;

    for (; tn_seq_lt(from, to); from++)
        n += *sack_bit(m, from);
    return n;
}

static unsigned sack_runs(struct sack_model *m)
{
    unsigned runs = 0;
    int in = 0;

    for (tenon_u32 s = m->conn.snd_una; s != m->conn.snd_nxt; s++) {
        runs += !in && *sack_bit(m, s);
        in = *sack_bit(m, s);
    }
    return runs;
}

static void sack_check_gap(struct sack_model *m, tenon_u32 from)
{
    tenon_u32 end = 0, want_end, got;

    got = tn_sack_gap(&m->conn, from, &end);
    while (from != m->conn.snd_nxt && *sack_bit(m, from))
        from++;
    for (want_end = from; want_end != m->conn.snd_nxt && !*sack_bit(m, want_end);)
        want_end++;
    HN_EQUAL(got, from);
    HN_EQUAL(end, want_end);
}

static void sack_check_all(struct sack_model *m)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 flight = conn->snd_nxt - conn->snd_una;
    const tenon_u32 from = conn->snd_una + chance(flight + 1), to = conn->snd_una + chance(flight + 1);
    const tenon_u32 all = sack_count(m, conn->snd_una, conn->snd_nxt);
    tenon_u32 highest = conn->snd_nxt;
    const char *wrong = tn_sack_check(conn);

    if (!HN_CHECK(wrong == NULL))
        fprintf(stderr, "%s\n", wrong);
    HN_EQUAL(conn->flight->sack != NULL ? conn->flight->sack->bytes : 0, all);
    HN_EQUAL(conn->flight->sack != NULL ? conn->flight->sack->n : 0, sack_runs(m));
    HN_EQUAL(tn_sack_bytes_between(conn, from, to), sack_count(m, from, to));
    while (highest != conn->snd_una && !*sack_bit(m, highest - 1))
        highest--;
    HN_EQUAL(tn_sack_highest(conn), highest);
    sack_check_gap(m, from);
    HN_CHECK(tn_flight_check(conn) == NULL);
    /* RFC 6675 4, SetPipe(), without anything sent again. */
    HN_EQUAL(tn_tcp_in_flight(conn),
             conn->snd_nxt - conn->flight->lost_edge - sack_count(m, conn->flight->lost_edge, conn->snd_nxt));
}

/* Whether [left, right) touches or overlaps what is there: then it needs no range more. */
static int sack_touches(struct sack_model *m, tenon_u32 left, tenon_u32 right)
{
    if (sack_count(m, left, right) > 0)
        return 1;
    return (left != m->conn.snd_una && *sack_bit(m, left - 1)) || (right != m->conn.snd_nxt && *sack_bit(m, right));
}

static void sack_step_add(struct sack_model *m, int no_memory)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 flight = conn->snd_nxt - conn->snd_una;
    const tenon_u32 most = chance(8) == 0 ? flight : 4;
    struct tn_seg seg;
    struct tn_ack ack;
    tenon_u32 left, right, fresh;
    int may_be_refused;

    if (flight == 0)
        return;
    left = conn->snd_una + chance(flight);
    right = left + 1 + chance(most);
    right = tn_seq_min(right, conn->snd_nxt);
    fresh = right - left - sack_count(m, left, right);
    may_be_refused = (no_memory || sack_runs(m) == RANGES_MAX) && !sack_touches(m, left, right);
    m->hn.mem_fail = no_memory ? -1 : 0;
    memset(&seg, 0, sizeof seg);
    memset(&ack, 0, sizeof ack);
    ack.seg = &seg;
    tn_sack_add(conn, &ack, left, right);
    m->hn.mem_fail = 0;
    if (ack.sacked == 0 && may_be_refused)
        return;
    HN_EQUAL(ack.sacked, fresh);
    HN_EQUAL(ack.delivered, fresh);
    for (; left != right; left++)
        *sack_bit(m, left) = 1;
}

static void sack_step_ack(struct sack_model *m, tenon_u32 n)
{
    struct tenon_tcp *conn = &m->conn;

    n = tn_min(n, conn->snd_nxt - conn->snd_una);
    for (; n > 0; n--)
        *sack_bit(m, conn->snd_una++) = 0;
    tn_sack_advance(conn);
    conn->flight->lost_edge = tn_seq_max(conn->flight->lost_edge, conn->snd_una);
    tn_flight_advance(conn);
}

/* Something more is lost: what is not SACKed of it. */
static void sack_step_lose(struct sack_model *m)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 before = conn->flight->lost_edge, to = before + chance(conn->snd_nxt - before + 1);

    HN_EQUAL(tn_flight_move_edge(conn, to), to - before - sack_count(m, before, to));
}

static void scoreboard_random(void)
{
    static struct sack_model m;
    static const tenon_u32 starts[] = { 0, 0x7FFFFC00U, 0xFFFFFC00U };

    for (size_t k = 0; k < TENON_ARRAY_LEN(starts); k++) {
        memset(&m, 0, sizeof m);
        hn_open(&m.hn, NULL);
        bare(&m.conn, &m.hn, starts[k]);
        chance_seed((tenon_u32)k + 7);
        for (unsigned step = 0; step < 3000 && hn_failures < 20; step++) {
            bare_send(&m.conn, chance(FLIGHT + 1 - (m.conn.snd_nxt - m.conn.snd_una)));
            if (chance(50) == 0)
                sack_step_lose(&m);
            else if (chance(20) == 0)
                sack_step_ack(&m, chance(chance(10) == 0 ? FLIGHT : 60));
            else
                sack_step_add(&m, chance(10) == 0);
            sack_check_all(&m);
        }
        tn_sack_clear(&m.conn);
        tn_flight_free(&m.conn);
        hn_close(&m.hn);
    }
}

static tenon_u32 add_one(struct sack_model *m, tenon_u32 left, tenon_u32 right)
{
    struct tn_seg seg;
    struct tn_ack ack;

    memset(&seg, 0, sizeof seg);
    memset(&ack, 0, sizeof ack);
    ack.seg = &seg;
    tn_sack_add(&m->conn, &ack, left, right);
    return ack.sacked;
}

/* More single bytes than ranges: what touches those that fit still fits, and the rest is as if never SACKed. */
static void scoreboard_full(void)
{
    static struct sack_model m;
    const tenon_u32 start = 0xFFFFFF00U, n = RANGES_MAX + 100, flight = 3 * n + 200;

    memset(&m, 0, sizeof m);
    hn_open(&m.hn, NULL);
    bare(&m.conn, &m.hn, start);
    bare_send(&m.conn, flight);
    for (tenon_u32 i = 0; i < n; i++) {
        const tenon_u32 left = start + 1 + 3 * i;

        HN_EQUAL(add_one(&m, left, left + 1), i < RANGES_MAX);
        *sack_bit(&m, left) = i < RANGES_MAX;
    }
    sack_check_all(&m);
    HN_EQUAL(add_one(&m, start + 2, start + 3), 1);    /* beside the first */
    *sack_bit(&m, start + 2) = 1;
    HN_EQUAL(add_one(&m, start + 3, start + 4), 1);    /* between the first two: room for one more */
    *sack_bit(&m, start + 3) = 1;
    sack_check_all(&m);
    HN_EQUAL(add_one(&m, start + 3 * n - 2, start + 3 * n - 1), 1);
    *sack_bit(&m, start + 3 * n - 2) = 1;
    sack_check_all(&m);
    HN_EQUAL(add_one(&m, start, m.conn.snd_nxt), flight - RANGES_MAX - 3);
    HN_EQUAL(m.conn.flight->sack->n, 1);
    m.conn.snd_una = m.conn.flight->lost_edge = m.conn.snd_nxt;
    tn_sack_advance(&m.conn);
    tn_flight_advance(&m.conn);
    HN_CHECK(m.conn.flight->sack == NULL);
    tn_flight_free(&m.conn);
    hn_close(&m.hn);
}

/* SACK every second of `n` segments from `left` on. */
static void add_every_second(struct sack_model *m, tenon_u32 left, unsigned n)
{
    for (; n > 0; n--, left += 2U * m->conn.mss)
        HN_EQUAL(add_one(m, left, left + m->conn.mss), m->conn.mss);
}

/* A large window whose every second segment is lost: all of it is remembered; places that are acknowledged are used
 * again. */
static void scoreboard_large(void)
{
    static struct sack_model m;
    const tenon_u32 start = 0xFFFFFF00U;
    struct tenon_tcp *conn = &m.conn;
    unsigned places;

    memset(&m, 0, sizeof m);
    hn_open(&m.hn, NULL);
    bare(conn, &m.hn, start);
    bare_send(conn, 10000 * 100);
    add_every_second(&m, start + 100, 5000);
    HN_EQUAL(conn->flight->sack->n, 5000);
    HN_EQUAL(conn->flight->sack->bytes, 500000);
    places = conn->flight->sack->cap;
    for (tenon_u32 i = 1; i <= 4500; i++) {
        conn->snd_una = start + i * 200;
        tn_sack_advance(conn);
        conn->flight->lost_edge = tn_seq_max(conn->flight->lost_edge, conn->snd_una);
        tn_flight_advance(conn);
        HN_EQUAL(conn->flight->sack->n, 5000 - i);
    }
    HN_CHECK(tn_sack_check(conn) == NULL);
    bare_send(conn, 20000 * 100);    /* there could be more places now */
    add_every_second(&m, start + 10000 * 100 + 100, 4500);
    HN_EQUAL(conn->flight->sack->n, 5000);
    HN_EQUAL(conn->flight->sack->cap + conn->flight->sack->gone, places);
    HN_CHECK(tn_sack_check(conn) == NULL);
    HN_EQUAL(tn_sack_highest(conn), start + 10000 * 100 + 4500 * 200);
    HN_EQUAL(add_one(&m, conn->snd_una, conn->snd_nxt), 2100000 - 500000);
    HN_EQUAL(conn->flight->sack->n, 1);
    tn_sack_clear(conn);
    tn_flight_free(conn);
    hn_close(&m.hn);
}

/* ---- the send queue ---------------------------------------------------------------------------- */

enum { QUEUE_MAP = 1 << 20, QUEUE_BYTES = 1 << 19 };

struct queue_model {
    struct hn hn;
    struct tenon_tcp conn;
    tenon_u8 bytes[QUEUE_MAP];    /* by sequence number modulo QUEUE_MAP */
    unsigned joined;              /* small spans that were copied */
};

static void queue_check(struct queue_model *m)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 queued = conn->snd_end - conn->snd_una;
    const tenon_u32 seq = conn->snd_una + (queued > 0 ? chance(queued) : 0);
    const tenon_u32 len = queued > 0 ? 1 + chance(conn->snd_end - seq) : 0;
    struct tenon_span spans[8];
    struct tn_gather to;
    const char *wrong = tn_sendq_check(conn);
    tenon_u32 at = seq;

    if (!HN_CHECK(wrong == NULL))
        fprintf(stderr, "%s\n", wrong);
    tn_gather_init(&to, spans, 1 + chance(8));
    tn_sendq_slice(conn, &to, seq, len);
    HN_CHECK(to.n <= to.max && (to.bytes == len || (to.bytes < len && to.n == to.max)));
    for (unsigned i = 0; i < to.n; i++) {
        HN_CHECK(spans[i].len > 0 && spans[i].off + spans[i].len <= spans[i].buf->size);
        for (tenon_u32 k = 0; k < spans[i].len; k++, at++)
            if (tenon_span_data(&spans[i])[k] != m->bytes[at % QUEUE_MAP]) {
                HN_EQUAL(tenon_span_data(&spans[i])[k], m->bytes[at % QUEUE_MAP]);
                return;
            }
    }
    HN_EQUAL(at - seq, to.bytes);
}

static void queue_step_push(struct queue_model *m, int no_memory)
{
    const tenon_u32 size = 1 + chance(chance(2) ? 3000 : 300), off = chance(size), before = m->conn.snd_end;
    const tenon_u32 copied = hn_stat(&m->hn, TENON_STAT_COPIED_BYTES);
    const int waits = m->conn.snd_end != m->conn.snd_nxt;    /* something that it may join */
    struct tenon_span span;
    int error, joins;

    span.buf = hn_buf(&m->hn, size);
    span.off = off;
    span.len = size - off;
    for (tenon_u32 i = 0; i < size; i++)
        span.buf->data[i] = (tenon_u8)chance(256);
    m->hn.mem_fail = no_memory ? -1 : 0;
    m->hn.buf_fail = chance(10) == 0 ? -1 : 0;
    error = tn_sendq_push(&m->conn, &span);
    joins = hn_stat(&m->hn, TENON_STAT_COPIED_BYTES) != copied;
    m->hn.mem_fail = m->hn.buf_fail = 0;
    if (error == TENON_OK) {
        HN_EQUAL(m->conn.snd_end - before, span.len);
        HN_EQUAL(span.buf->refs, joins ? 1 : 2);
        HN_EQUAL(hn_stat(&m->hn, TENON_STAT_COPIED_BYTES) - copied, joins ? span.len : 0);
        HN_CHECK(!joins || (waits && span.len < m->hn.stack->conf.tcp_copy_max));
        m->joined += (unsigned)joins;
        for (tenon_u32 i = 0; i < span.len; i++)
            m->bytes[(before + i) % QUEUE_MAP] = tenon_span_data(&span)[i];
    } else {
        HN_CHECK(no_memory && error == TENON_ENOMEM);
        HN_EQUAL(m->conn.snd_end, before);
        HN_EQUAL(span.buf->refs, 1);
    }
    tenon_buf_put(span.buf);
}

static void queue_step_write(struct queue_model *m, int no_memory, int no_buffer)
{
    tenon_u8 bytes[5000];
    const tenon_u32 n = 1 + chance(chance(3) == 0 ? sizeof bytes : 100), before = m->conn.snd_end;
    const tenon_u32 copied = hn_stat(&m->hn, TENON_STAT_COPIED_BYTES);
    tenon_u32 done;

    for (tenon_u32 i = 0; i < n; i++)
        bytes[i] = (tenon_u8)chance(256);
    m->hn.mem_fail = no_memory ? -1 : 0;
    m->hn.buf_fail = no_buffer ? -1 : 0;
    done = tn_sendq_write(&m->conn, bytes, n);
    m->hn.mem_fail = m->hn.buf_fail = 0;
    HN_CHECK(done == n || (done < n && (no_memory || no_buffer)));
    HN_EQUAL(m->conn.snd_end - before, done);
    HN_EQUAL(hn_stat(&m->hn, TENON_STAT_COPIED_BYTES) - copied, done);
    for (tenon_u32 i = 0; i < done; i++)
        m->bytes[(before + i) % QUEUE_MAP] = bytes[i];
}

static void queue_step_pop(struct queue_model *m)
{
    const tenon_u32 queued = m->conn.snd_end - m->conn.snd_una;

    m->conn.snd_una += chance(6) == 0 ? queued : chance(queued + 1);
    m->conn.snd_nxt = tn_seq_max(m->conn.snd_nxt, m->conn.snd_una);
    m->conn.flight->iss = m->conn.snd_una - 1;
    tn_sendq_pop(&m->conn, m->conn.snd_una);
    if (m->conn.snd_una == m->conn.snd_end)
        HN_EQUAL(m->conn.flight->sendq.count, 0);
}

static void sendq_random(void)
{
    static struct queue_model m;

    memset(&m, 0, sizeof m);
    hn_open(&m.hn, NULL);
    bare(&m.conn, &m.hn, 0U - 1000000U);
    chance_seed(11);
    for (unsigned step = 0; step < 20000 && hn_failures < 20; step++) {
        const unsigned what = chance(16);

        if (what < 6 && m.conn.snd_end - m.conn.snd_una < QUEUE_BYTES - 5000)
            queue_step_push(&m, chance(10) == 0);
        else if (what < 14 && m.conn.snd_end - m.conn.snd_una < QUEUE_BYTES - 5000)
            queue_step_write(&m, chance(10) == 0, chance(10) == 0);
        else if (what == 15 || chance(8) == 0)
            queue_step_pop(&m);
        queue_check(&m);
    }
    HN_CHECK(m.conn.snd_end < 0x80000000U);    /* the numbers have wrapped */
    HN_CHECK(m.joined > 500);
    tn_flight_free(&m.conn);
    hn_close(&m.hn);
}

/* The ring grows to its end, refuses, and works again when something has left it; then it is given back. */
static void sendq_full(void)
{
    enum { PIECES = 16384 };
    struct hn hn;
    struct tenon_tcp conn;
    struct tenon_span span;
    struct tenon_conf conf;
    unsigned n = 0;

    tenon_conf_default(&conf);
    conf.tcp_copy_max = 1;
    hn_open(&hn, &conf);
    bare(&conn, &hn, 0U - 20000U);
    span.buf = hn_buf(&hn, 2);
    span.off = 0;
    span.len = 2;
    while (n < 2 * PIECES && tn_sendq_push(&conn, &span) == TENON_OK)
        n++;
    HN_EQUAL(n, PIECES);
    HN_EQUAL(tn_sendq_push(&conn, &span), TENON_EAGAIN);
    HN_EQUAL(span.buf->refs, 1 + PIECES);
    HN_CHECK(tn_sendq_check(&conn) == NULL);
    conn.snd_una += 20000;
    conn.flight->iss += 20000;
    tn_sendq_pop(&conn, conn.snd_una);
    HN_EQUAL(span.buf->refs, 1 + PIECES - 10000);
    for (n = 0; n < 10000; n++)
        HN_EQUAL(tn_sendq_push(&conn, &span), TENON_OK);
    HN_EQUAL(tn_sendq_push(&conn, &span), TENON_EAGAIN);
    HN_CHECK(tn_sendq_check(&conn) == NULL);
    conn.snd_una = conn.snd_end;
    conn.flight->iss = conn.snd_una - 1;
    tn_sendq_pop(&conn, conn.snd_una);
    HN_EQUAL(span.buf->refs, 1);
    HN_CHECK(conn.flight->sendq.ring == conn.flight->few_pieces);
    tn_flight_free(&conn);
    tenon_buf_put(span.buf);
    hn_close(&hn);
}

/* What tenon_tcp_write() adds goes into its own buffers only: never behind a span of the application. */
static void sendq_write_after_push(void)
{
    struct hn hn;
    struct tenon_tcp conn;
    struct tenon_span span;
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.tcp_copy_max = 4;
    hn_open(&hn, &conf);
    bare(&conn, &hn, 100);
    HN_EQUAL(tn_sendq_write(&conn, (const tenon_u8 *)"ab", 2), 2);
    HN_EQUAL(tn_sendq_write(&conn, (const tenon_u8 *)"cd", 2), 2);
    HN_EQUAL(conn.flight->sendq.count, 1);    /* put together */
    span.buf = hn_buf(&hn, 100);
    span.off = 10;
    span.len = 5;
    memset(span.buf->data, 'x', 100);
    HN_EQUAL(tn_sendq_push(&conn, &span), TENON_OK);
    HN_EQUAL(tn_sendq_write(&conn, (const tenon_u8 *)"ef", 2), 2);
    HN_EQUAL(conn.flight->sendq.count, 3);
    for (unsigned i = 0; i < 100; i++)
        HN_EQUAL(span.buf->data[i], 'x');
    tenon_buf_put(span.buf);
    tn_flight_free(&conn);
    hn_close(&hn);
}

/* tenon_conf.tcp_copy_max: small spans that wait for each other become one piece; what would leave alone, is larger, or
 * finds no buffer is referred to. */
static void sendq_small_spans_join(void)
{
    struct hn hn;
    struct tenon_tcp conn;
    struct tenon_span span;
    struct tenon_conf conf;
    const struct tn_sendq_piece *piece;

    tenon_conf_default(&conf);
    conf.tcp_copy_max = 65;
    hn_open(&hn, &conf);
    bare(&conn, &hn, 100);
    conn.snd_nxt = conn.snd_end;
    span.buf = hn_buf(&hn, 100);
    for (unsigned i = 0; i < 100; i++)
        span.buf->data[i] = (tenon_u8)i;
    span.off = 30;
    span.len = 64;
    HN_EQUAL(tn_sendq_push(&conn, &span), TENON_OK);    /* alone */
    HN_EQUAL(span.buf->refs, 2);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_COPIED_BYTES), 0);
    for (unsigned i = 0; i < 40; i++)
        HN_EQUAL(tn_sendq_push(&conn, &span), TENON_OK);
    HN_EQUAL(span.buf->refs, 2);
    HN_EQUAL(conn.flight->sendq.count, 3);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_COPIED_BYTES), 40 * 64);
    piece = &conn.flight->sendq.ring[1];
    HN_EQUAL(piece->len, HN_BUF_BYTES / 64 * 64);
    for (unsigned i = 0; i < piece->len; i++)
        HN_EQUAL(piece->buf->data[piece->off + i], 30 + i % 64);
    span.len = 65;
    HN_EQUAL(tn_sendq_push(&conn, &span), TENON_OK);
    HN_EQUAL(span.buf->refs, 3);
    span.len = 10;
    while (hn.stack->nbufs > 0)
        tenon_buf_put(hn.stack->bufs[--hn.stack->nbufs]);
    hn.buf_fail = -1;
    HN_EQUAL(tn_sendq_push(&conn, &span), TENON_OK);
    hn.buf_fail = 0;
    HN_EQUAL(span.buf->refs, 4);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_COPIED_BYTES), 40 * 64);
    HN_CHECK(tn_sendq_check(&conn) == NULL);
    tenon_buf_put(span.buf);
    tn_flight_free(&conn);
    hn_close(&hn);
}

/* ---- the out-of-order queue, through segments -------------------------------------------------- */

enum { STREAM = 30000, IRS_BACK = 9000, OPT_SACK = 4 };

static const tenon_u8 peer_mac[6] = { 2, 0, 0, 0, 1, 1 };

struct ooo_model {
    struct hn hn;
    unsigned netif;
    tenon_u32 irs, iss;              /* the peer's, and ours */
    tenon_u8 sent[STREAM];           /* what the stream holds */
    tenon_u8 got[STREAM];            /* 1: has arrived, and must be kept */
    tenon_u32 delivered;             /* to the application */
    unsigned wrong, fins;
    struct tenon_tcp *conn;
};

static void ooo_opened(struct tenon_tcp *conn, void *app)
{
    ((struct ooo_model *)app)->conn = conn;
}

static void ooo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct ooo_model *m = app;

    for (unsigned i = 0; i < n; i++) {
        for (tenon_u32 k = 0; k < spans[i].len; k++, m->delivered++)
            m->wrong += m->delivered >= STREAM || tenon_span_data(&spans[i])[k] != m->sent[m->delivered];
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void ooo_finished(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    ((struct ooo_model *)app)->fins++;
}

static const struct tenon_tcp_events ooo_events = { .opened = ooo_opened, .received = ooo_received,
                                                    .finished = ooo_finished };

/* A segment from the peer, cut into two spans somewhere. */
static void ooo_segment(struct ooo_model *m, unsigned flags, tenon_u32 seq, const tenon_u8 *data, tenon_u32 len)
{
    static const tenon_u8 syn_options[8] = { 2, 4, 5, 0xB4, 1, 1, 4, 2 };    /* MSS 1460, SACK permitted */
    const unsigned options = flags & TN_TCP_SYN ? 8 : 0;
    tenon_u8 tcp[20 + 8 + 1500], frame[54 + sizeof tcp];
    struct hn_packet packet;
    size_t n;

    memset(tcp, 0, 20);
    hn_put16(tcp, 4000);
    hn_put16(tcp + 2, 80);
    hn_put32(tcp + 4, seq);
    hn_put32(tcp + 8, flags & TN_TCP_ACK ? m->iss + 1 : 0);
    tcp[12] = (tenon_u8)((20 + options) << 2);
    tcp[13] = (tenon_u8)flags;
    hn_put16(tcp + 14, 65535);
    memcpy(tcp + 20, syn_options, options);
    if (len > 0)
        memcpy(tcp + 20 + options, data, len);
    memset(&packet, 0, sizeof packet);
    memcpy(packet.from, peer_mac, 6);
    packet.src = hn_ip("10.0.0.2");
    packet.dst = hn_ip("10.0.0.1");
    packet.proto = 6;
    packet.ttl = 64;
    packet.sum_at = 16;
    packet.payload = tcp;
    packet.len = 20 + options + len;
    n = hn_build(frame, m->netif, &packet);
    hn_inject_cut(&m->hn, m->netif, frame, n, len > 1 ? n - 1 - chance(len - 1) : 0);
}

static void ooo_open(struct ooo_model *m, const struct tenon_conf *conf, tenon_u32 irs)
{
    const struct tenon_ip us = hn_ip("10.0.0.1"), them = hn_ip("10.0.0.2");
    const struct tenon_addr at = { us, 80, 0 };
    struct tenon_tcp_listener *listener;
    const struct hn_sent *sent;

    memset(m, 0, sizeof *m);
    hn_open(&m->hn, conf);
    m->netif = hn_netif(&m->hn, TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_addr_add(m->hn.stack, m->netif, &us, 24), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(m->hn.stack, m->netif, &them, peer_mac), TENON_OK);
    HN_EQUAL(tenon_tcp_listen(m->hn.stack, &listener, &at, &ooo_events, m, 0), TENON_OK);
    hn_run_ms(&m->hn, 10);
    hn_forget(&m->hn);
    for (tenon_u32 i = 0; i < STREAM; i++)
        m->sent[i] = (tenon_u8)chance(256);
    m->irs = irs;
    ooo_segment(m, TN_TCP_SYN, irs, NULL, 0);
    sent = hn_next(&m->hn);
    if (!HN_CHECK(sent != NULL && sent->len >= 54))
        return;
    m->iss = hn_get32(sent->bytes + 38);
    ooo_segment(m, TN_TCP_ACK, irs + 1, NULL, 0);
    HN_CHECK(m->conn != NULL);
}

static tenon_u32 ooo_front(const struct ooo_model *m)
{
    tenon_u32 n = 0;

    while (n < STREAM && m->got[n])
        n++;
    return n;
}

/* A SACK block must be a whole run of what has arrived. */
static void ooo_check_block(const struct ooo_model *m, tenon_u32 left, tenon_u32 right)
{
    const tenon_u32 a = left - (m->irs + 1), b = right - (m->irs + 1);
    unsigned missing = 0;

    if (!HN_CHECK(a > 0 && a < b && b <= STREAM))
        return;
    for (tenon_u32 i = a; i < b; i++)
        missing += !m->got[i];
    HN_EQUAL(missing, 0);
    HN_CHECK(!m->got[a - 1]);
    HN_CHECK(b == STREAM || !m->got[b]);
}

/* RFC 2883 4: the first block may tell what has arrived twice: below the acknowledgement, or within the second. */
static int ooo_is_dsack(const struct ooo_model *m, const tenon_u8 *block, unsigned blocks)
{
    const tenon_u32 left = hn_get32(block), right = hn_get32(block + 4);

    if (right - (m->irs + 1) <= ooo_front(m))
        return 1;
    return blocks > 1 && tn_seq_ge(left, hn_get32(block + 8)) && tn_seq_le(right, hn_get32(block + 12));
}

/* The last segment that was sent: what it acknowledges, and its SACK blocks; the first of them holds `newest`
 * (an offset in the stream, or -1 when that is acknowledged already). */
static void ooo_check_ack(struct ooo_model *m, long newest)
{
    const struct hn_sent *sent = NULL, *next;
    const tenon_u8 *tcp, *p, *end;
    unsigned blocks = 0, twice = 0;

    while ((next = hn_next(&m->hn)) != NULL)
        sent = next;
    if (!HN_CHECK(sent != NULL))
        return;
    tcp = sent->bytes + 34;
    HN_EQUAL(hn_get32(tcp + 8) - (m->irs + 1), ooo_front(m));
    end = tcp + (tcp[12] >> 4) * 4;
    for (p = tcp + 20; p < end && *p != 0; p += *p == 1 ? 1 : p[1]) {
        if (*p != 5)
            continue;
        blocks = (p[1] - 2U) / 8;
        twice = (unsigned)ooo_is_dsack(m, p + 2, blocks);
        for (unsigned i = twice; i < blocks; i++)
            ooo_check_block(m, hn_get32(p + 2 + 8 * i), hn_get32(p + 6 + 8 * i));
        if (newest >= 0 && HN_CHECK(twice < blocks))
            HN_CHECK(hn_get32(p + 2 + 8 * twice) - (m->irs + 1) <= (tenon_u32)newest &&
                     (tenon_u32)newest < hn_get32(p + 6 + 8 * twice) - (m->irs + 1));
    }
    HN_CHECK(newest < 0 || blocks > twice);
    hn_forget(&m->hn);
}

static unsigned ooo_runs(const struct ooo_model *m)
{
    unsigned runs = 0;

    for (tenon_u32 i = ooo_front(m); i < STREAM; i++)
        runs += m->got[i] && !m->got[i - 1];
    return runs;
}

static void ooo_step(struct ooo_model *m, unsigned runs_max)
{
    const tenon_u32 front = ooo_front(m);
    const tenon_u32 reach = tn_min(STREAM - front, 8000);
    const tenon_u32 back = tn_min(front, 300);
    tenon_u32 a = chance(6) == 0 ? front : front - back + chance(back + reach);
    tenon_u32 len = 1 + chance(chance(2) ? 1400 : 40);
    const tenon_u32 dropped = hn_stat(&m->hn, TENON_STAT_TCP_OOO_DROP);
    int early;

    a = tn_min(a, STREAM - 1);
    len = tn_min(len, STREAM - a);
    early = a > front;
    ooo_segment(m, TN_TCP_ACK, m->irs + 1 + a, m->sent + a, len);
    if (hn_stat(&m->hn, TENON_STAT_TCP_OOO_DROP) == dropped)
        memset(m->got + a, 1, len);
    else
        HN_CHECK(early && ooo_runs(m) == runs_max);    /* only a run too many is dropped here */
    HN_EQUAL(m->delivered, ooo_front(m));
    HN_EQUAL(m->wrong, 0);
    HN_CHECK(tenon_tcp_check(m->conn) == NULL);
    if (hn_stat(&m->hn, TENON_STAT_TCP_OOO_DROP) == dropped && early)
        ooo_check_ack(m, (long)a);
    else if (early || a + len <= front)
        ooo_check_ack(m, -1);
}

static void established_segments_random_order(void)
{
    static struct ooo_model m;
    static const tenon_u16 runs[] = { 32, 4 };
    struct tenon_conf conf;
    unsigned drops = 0;

    for (unsigned k = 0; k < 8; k++) {
        tenon_conf_default(&conf);
        conf.tcp_ooo_ranges_max = runs[k & 1];
        chance_seed(k + 100);
        ooo_open(&m, &conf, 0U - IRS_BACK);
        for (unsigned step = 0; step < 100000 && m.delivered < STREAM && hn_failures < 20; step++)
            ooo_step(&m, runs[k & 1]);
        HN_EQUAL(m.delivered, STREAM);
        HN_EQUAL(hn_stat(&m.hn, TENON_STAT_TCP_OUT_OF_WINDOW), 0);
        drops += hn_stat(&m.hn, TENON_STAT_TCP_OOO_DROP);
        HN_CHECK(hn_stat(&m.hn, TENON_STAT_TCP_OOO) > 20);
        HN_EQUAL(hn_stat(&m.hn, TENON_STAT_COPIED_BYTES), 0);
        HN_CHECK(tn_ooo_of(m.conn) == NULL);
        ooo_segment(&m, TN_TCP_ACK | TN_TCP_FIN, m.irs + 1 + STREAM, NULL, 0);
        HN_EQUAL(m.fins, 1);
        hn_close(&m.hn);
    }
    HN_CHECK(drops > 0);    /* the limit was reached, and everything came through all the same */
}

/* The packet memory that waits is bounded by its buffers' sizes, not by the bytes used of them. */
static void established_ooo_bytes_limit(void)
{
    static struct ooo_model m;
    struct tenon_conf conf;
    unsigned held = 0;

    tenon_conf_default(&conf);
    conf.tcp_rcv_buf = 20000;
    conf.tcp_ooo_bytes_max = 20000;
    chance_seed(5);
    ooo_open(&m, &conf, 77);
    for (tenon_u32 i = 1; i < 30; i++) {
        const tenon_u32 at = 600 * i;
        const tenon_u32 dropped = hn_stat(&m.hn, TENON_STAT_TCP_OOO_DROP);

        ooo_segment(&m, TN_TCP_ACK, m.irs + 1 + at, m.sent + at, 500);
        if (hn_stat(&m.hn, TENON_STAT_TCP_OOO_DROP) == dropped)
            held++;
        HN_CHECK(tn_ooo_of(m.conn) == NULL || m.conn->flight->ooo->bytes <= 20000);
    }
    HN_CHECK(held > 0);
    ooo_segment(&m, TN_TCP_ACK, m.irs + 1, m.sent, 600);
    HN_EQUAL(m.delivered, 1100);
    HN_EQUAL(m.wrong, 0);
    hn_close(&m.hn);
}

/* ---- overlaps with other bytes ----------------------------------------------------------------- */

/* Two segments that overlap and disagree, held out of order; then the hole is filled. Whatever the policy does,
 * a byte that was delivered never changes, and of held bytes those that came first stay. */
static void established_overlap_first_wins(void)
{
    static const struct {
        const char *row;
        tenon_u32 a, a_len, b, b_len;
        tenon_u32 more;    /* bytes of what fills the hole that reach into what is held */
    } rows[] = {
        { "same place", 100, 50, 100, 50, 0 },
        { "second reaches behind", 100, 50, 120, 60, 0 },
        { "second begins before", 100, 50, 80, 40, 0 },
        { "second covers the first", 100, 50, 80, 100, 0 },
        { "second inside the first", 100, 50, 110, 20, 0 },
        { "what fills the hole reaches into it", 100, 50, 100, 50, 20 },
    };
    static struct ooo_model m;
    tenon_u8 first[100], second[100], fill[200];

    memset(first, 'A', sizeof first);
    memset(second, 'B', sizeof second);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const tenon_u32 end = tn_max(rows[i].a + rows[i].a_len, rows[i].b + rows[i].b_len);
        const tenon_u32 start = tn_min(rows[i].a, rows[i].b);

        hn_row = rows[i].row;
        ooo_open(&m, NULL, 5);
        memset(m.sent, 'x', start);
        memset(m.sent + rows[i].b, 'B', rows[i].b_len);
        memset(m.sent + rows[i].a, 'A', rows[i].a_len);
        ooo_segment(&m, TN_TCP_ACK, m.irs + 1 + rows[i].a, first, rows[i].a_len);
        ooo_segment(&m, TN_TCP_ACK, m.irs + 1 + rows[i].b, second, rows[i].b_len);
        HN_EQUAL(m.delivered, 0);
        memset(fill, 'C', sizeof fill);
        memcpy(fill, m.sent, start);
        ooo_segment(&m, TN_TCP_ACK, m.irs + 1, fill, start + rows[i].more);
        HN_EQUAL(m.delivered, end);
        HN_EQUAL(m.wrong, 0);
        hn_close(&m.hn);
    }
}

static const struct hn_test tests[] = {
    { "scoreboard_random", "6675-1 6675-2 SACK-9", scoreboard_random },
    { "scoreboard_large", "SACK-9", scoreboard_large },
    { "scoreboard_full", "SACK-9", scoreboard_full },
    { "sendq_random", "SACK-5 RLY-1", sendq_random },
    { "sendq_full", "RLY-8", sendq_full },
    { "sendq_write_after_push", "RLY-11", sendq_write_after_push },
    { "sendq_small_spans_join", "", sendq_small_spans_join },
    { "established_segments_random_order", "SACK-2 SACK-4 9293-SEQ-5", established_segments_random_order },
    { "established_ooo_bytes_limit", "IP4-14 SACK-9", established_ooo_bytes_limit },
    { "established_overlap_first_wins", "SEC-8", established_overlap_first_wins },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
