/* SPDX-License-Identifier: MIT */
/* The records of what is in flight (tcp_flight.c) against a model so simple that it cannot be wrong: an array with one
 * entry per byte of sequence space. And what an acknowledgement costs on a large window. */
#include "harness.h"

#include "tcp/tcp_internal.h"

static tenon_u32 chance_state = 1;

/* Numbers that look random, the same in every run. */
static tenon_u32 chance(tenon_u32 below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 17;
    chance_state ^= chance_state << 5;
    return (tenon_u32)((unsigned long long)chance_state * below >> 32);
}

enum { MAP = 1 << 16, FLIGHT = 3000 };

/* One byte that was sent and is not acknowledged. */
struct byte {
    tenon_u32 sent_us;     /* for the first time */
    tenon_u32 again_us;    /* for the last time: again */
    tenon_u8 sacked;
    tenon_u8 again;        /* in flight again */
    tenon_u8 ever;         /* was sent again at any time */
};

struct model {
    struct hn hn;
    struct tenon_tcp conn;
    struct byte bytes[MAP];    /* by sequence number modulo MAP */
    int no_memory;             /* memory may fail: then times may be later than they were */
};

/* It asks for rates, and has no words besides the block's. */
static void measures_nothing(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;
    (void)event;
}

static const struct tenon_cc_ops measures = {
    .name = "measures", .init = measures_nothing, .delivered = measures_nothing
};

static struct byte *byte_at(struct model *m, tenon_u32 seq)
{
    return &m->bytes[seq % MAP];
}

static void model_open(struct model *m, tenon_u32 seq)
{
    struct tenon_tcp *conn = &m->conn;

    memset(m, 0, sizeof *m);
    hn_open(&m->hn, NULL);
    conn->stack = m->hn.stack;
    conn->mss = 100;
    conn->cc.ops = &measures;
    conn->snd_una = conn->snd_nxt = conn->snd_end = seq;
    conn->recovery = TN_RECOVERY_FAST;    /* the lost edge may be anywhere */
    conn->min_rtt_us = 1;
    HN_CHECK(tn_flight_get(conn) != NULL);
}

static void model_close(struct model *m)
{
    tn_sack_clear(&m->conn);
    tn_flight_free(&m->conn);
    hn_close(&m->hn);
}

/* ---- what must hold at any time ---------------------------------------------------------------------- */

static void check_pipe(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;
    tenon_u32 pipe = 0, again = 0;

    for (tenon_u32 s = conn->snd_una; s != conn->snd_nxt; s++) {
        const struct byte *b = byte_at(m, s);

        pipe += tn_seq_ge(s, conn->flight->lost_edge) && !b->sacked;
        again += b->again;
        /* Nothing that is lost may be forgotten: it is in flight again, or its turn is still to come. */
        if (tn_seq_lt(s, conn->flight->rtx_nxt) && !b->sacked && !b->again &&
            !HN_CHECK(tn_seq_ge(s, conn->flight->lost_edge)))
            return;
    }
    HN_EQUAL(conn->flight->again_bytes, again);
    HN_EQUAL(tn_tcp_in_flight(conn), pipe + again);
}

static void check_all(struct model *m)
{
    const char *wrong = tn_flight_check(&m->conn);

    if (!HN_CHECK(wrong == NULL))
        fprintf(stderr, "%s\n", wrong);
    wrong = tn_sack_check(&m->conn);
    if (!HN_CHECK(wrong == NULL))
        fprintf(stderr, "%s\n", wrong);
    check_pipe(m);
}

/* ---- sending -------------------------------------------------------------------------------------------- */

static void step_send(struct model *m, tenon_u32 n)
{
    struct tenon_tcp *conn = &m->conn;

    if (n == 0)
        return;
    conn->stack->now_us += chance(3);
    m->hn.mem_fail = m->no_memory && chance(4) == 0 ? -1 : 0;
    tn_flight_sent(conn, conn->snd_nxt + n);
    m->hn.mem_fail = 0;
    for (; n > 0; n--) {
        struct byte *b = byte_at(m, conn->snd_nxt++);

        memset(b, 0, sizeof *b);
        b->sent_us = conn->stack->now_us;
    }
}

static void step_lose(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 before = conn->flight->lost_edge, to = before + chance(conn->snd_nxt - before + 1);
    tenon_u32 lost = 0;

    for (tenon_u32 s = before; s != to; s++)
        lost += !byte_at(m, s)->sacked;
    HN_EQUAL(tn_flight_move_edge(conn, to), lost);
}

/* The gap that tcp_output.c would fill next, by the model. @return 0: there is none */
static int model_gap(struct model *m, tenon_u32 *from, tenon_u32 *end)
{
    tenon_u32 s = m->conn.flight->rtx_nxt;

    while (tn_seq_lt(s, m->conn.flight->lost_edge) && (byte_at(m, s)->sacked || byte_at(m, s)->again))
        s++;
    *from = s;
    while (tn_seq_lt(s, m->conn.flight->lost_edge) && !byte_at(m, s)->sacked && !byte_at(m, s)->again)
        s++;
    *end = s;
    return *from != *end;
}

static void step_send_again(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;
    tenon_u32 from, end, at = conn->flight->rtx_nxt, got_from, got_end, n;
    const int any = model_gap(m, &from, &end);

    for (;;) {
        got_from = tn_sack_gap(conn, at, &got_end);
        if (tn_seq_ge(got_from, conn->flight->lost_edge))
            break;
        got_end = tn_seq_min(got_end, conn->flight->lost_edge);
        at = tn_flight_again_skip(conn, got_from, &got_end);
        if (at == got_from)
            break;
    }
    HN_EQUAL(tn_seq_lt(got_from, conn->flight->lost_edge), any);
    m->hn.mem_fail = m->no_memory && chance(3) == 0 ? -1 : 0;
    if (any && HN_EQUAL(got_from, from) && HN_EQUAL(got_end, end) && tn_flight_has_room(conn)) {
        n = 1 + chance(end - from);
        conn->stack->now_us += chance(3);
        tn_flight_sent_again(conn, from, from + n);
        conn->flight->rtx_nxt = from + n;
        conn->flight->again_high = tn_seq_max(conn->flight->again_high, conn->flight->rtx_nxt);
        for (tenon_u32 s = from; s != from + n; s++) {
            byte_at(m, s)->again = byte_at(m, s)->ever = 1;
            byte_at(m, s)->again_us = conn->stack->now_us;
        }
    }
    m->hn.mem_fail = 0;
}

/* A repetition is lost as well. */
static void step_lose_again(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;
    struct tn_flight *flight = conn->flight;
    tenon_u32 seq, end;
    unsigned i;

    if (flight->again_n == 0)
        return;
    i = chance(flight->again_n);
    seq = flight->again[i].seq;
    end = flight->again[i].sent.end;
    HN_EQUAL(tn_flight_again_lost(conn, i), end - seq);
    for (; seq != end; seq++)
        byte_at(m, seq)->again = 0;
}

/* ---- arrival -------------------------------------------------------------------------------------------------- */

/* What the model says of the bytes of [from, to) that arrive now. */
struct arrival {
    tenon_u32 bytes, newest_us, original_us;
    int newest_once;       /* one of the newest was never sent again */
    int has_original;
};

static void model_arrive(struct model *m, struct arrival *a, tenon_u32 from, tenon_u32 to)
{
    for (tenon_u32 s = from; s != to; s++) {
        struct byte *b = byte_at(m, s);
        const tenon_u32 us = b->again ? b->again_us : b->sent_us;

        if (b->sacked)
            continue;
        if (a->bytes++ == 0 || tn_seq_gt(us, a->newest_us)) {
            a->newest_us = us;
            a->newest_once = 0;
        }
        if (us == a->newest_us && !b->ever)
            a->newest_once = 1;
        if (!b->ever && (!a->has_original || tn_seq_gt(b->sent_us, a->original_us))) {
            a->original_us = b->sent_us;
            a->has_original = 1;
        }
        b->sacked = 1;
        b->again = 0;
    }
}

static void check_arrival(struct model *m, const struct tn_ack *ack, const struct arrival *a)
{
    HN_EQUAL(ack->delivered, a->bytes);
    HN_EQUAL(ack->has_newest, a->bytes > 0);
    if (a->bytes == 0)
        return;
    /* Without memory records are joined, and count as sent later. */
    if (m->no_memory)
        HN_CHECK(tn_seq_ge(ack->newest.sent_us, a->newest_us));
    else
        HN_EQUAL(ack->newest.sent_us, a->newest_us);
    HN_CHECK(tn_seq_le(ack->newest.sent_us, m->conn.stack->now_us));
    /* Karn: what was sent twice is never taken for what was sent once. */
    if (!ack->newest_again && !m->no_memory)
        HN_CHECK(a->newest_once);
    if (ack->has_original && HN_CHECK(a->has_original) && !m->no_memory)
        HN_EQUAL(ack->original_us, a->original_us);
    if (ack->reordered)
        HN_CHECK(a->has_original);
}

static void ack_begin(struct model *m, struct tn_ack *ack, struct tn_seg *seg)
{
    memset(seg, 0, sizeof *seg);
    memset(ack, 0, sizeof *ack);
    ack->seg = seg;
    ack->una = m->conn.snd_una;
    ack->fack = tn_sack_highest(&m->conn);
    m->conn.stack->now_us += chance(3);
}

/* A piece that there was no room to remember counts as lost: the model must say the same. */
static void model_forget(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;

    for (tenon_u32 s = conn->snd_una; s != conn->snd_nxt; s++) {
        tenon_u32 end = s + 1;

        if (byte_at(m, s)->again && tn_flight_again_skip(conn, s, &end) == s)
            byte_at(m, s)->again = 0;
    }
}

static void step_sack(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 flight = conn->snd_nxt - conn->snd_una;
    tenon_u32 left, right;
    struct arrival a;
    struct tn_ack ack;
    struct tn_seg seg;

    if (flight == 0)
        return;
    left = conn->snd_una + chance(flight);
    right = tn_seq_min(left + 1 + chance(chance(4) == 0 ? flight : 200), conn->snd_nxt);
    memset(&a, 0, sizeof a);
    ack_begin(m, &ack, &seg);
    tn_sack_add(conn, &ack, left, right);
    model_arrive(m, &a, left, right);
    check_arrival(m, &ack, &a);
    model_forget(m);
}

static void step_ack(struct model *m, tenon_u32 n)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 to = conn->snd_una + tn_min(n, conn->snd_nxt - conn->snd_una);
    tenon_u32 from = conn->snd_una, end;
    struct arrival a;
    struct tn_ack ack;
    struct tn_seg seg;

    memset(&a, 0, sizeof a);
    ack_begin(m, &ack, &seg);
    while (tn_seq_lt(from, to)) {
        from = tn_sack_gap(conn, from, &end);
        if (tn_seq_ge(from, to))
            break;
        tn_flight_delivered(conn, &ack, from, tn_seq_min(end, to));
        from = end;
    }
    model_arrive(m, &a, conn->snd_una, to);
    if (a.bytes > 0)
        check_arrival(m, &ack, &a);
    conn->snd_una = to;
    tn_sack_advance(conn);
    conn->flight->lost_edge = tn_seq_max(conn->flight->lost_edge, to);
    conn->flight->rtx_nxt = tn_seq_max(conn->flight->rtx_nxt, to);
    tn_flight_advance(conn);
    model_forget(m);
}

/* Everything is well again. */
static void step_recover(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;

    tn_flight_reset_edge(conn);
    tn_flight_again_clear(conn);
    for (tenon_u32 s = conn->snd_una; s != conn->snd_nxt; s++)
        byte_at(m, s)->again = 0;
}

static void flight_step(struct model *m)
{
    struct tenon_tcp *conn = &m->conn;
    const tenon_u32 room = FLIGHT - tn_min(FLIGHT, conn->snd_nxt - conn->snd_una);

    switch (chance(16)) {
    case 0:
    case 1:
    case 2:
    case 3: step_send(m, tn_min(room, 1 + chance(300))); break;
    case 4: step_lose(m); break;
    case 5:
    case 6:
    case 7:
    case 8: step_send_again(m); break;
    case 9: step_lose_again(m); break;
    case 10: step_ack(m, chance(chance(10) == 0 ? FLIGHT : 200)); break;
    case 11:
        if (chance(20) == 0)
            step_recover(m);
        break;
    default: step_sack(m); break;
    }
}

static void flight_random_with(int no_memory)
{
    static struct model m;
    static const tenon_u32 starts[] = { 0, 0x7FFFFC00U, 0xFFFFFC00U };

    for (size_t k = 0; k < TENON_ARRAY_LEN(starts); k++) {
        model_open(&m, starts[k]);
        m.no_memory = no_memory;
        chance_state = (tenon_u32)k * 2654435761U | 1;
        for (unsigned step = 0; step < 20000 && hn_failures < 10; step++) {
            flight_step(&m);
            check_all(&m);
        }
        model_close(&m);
    }
}

static void flight_random(void)
{
    flight_random_with(0);
}

static void flight_random_no_memory(void)
{
    flight_random_with(1);
}

/* One repetition of many segments, of which every second arrives: more pieces than there is room for. What is not
 * remembered is sent once more, and not forgotten. */
static void flight_repetition_in_pieces(void)
{
    static struct model m;
    struct tn_ack ack;
    struct tn_seg seg;

    model_open(&m, 1);
    step_send(&m, 3000);
    HN_EQUAL(tn_flight_move_edge(&m.conn, 3001), 3000);
    HN_CHECK(tn_flight_has_room(&m.conn));
    tn_flight_sent_again(&m.conn, 1, 3001);
    m.conn.flight->rtx_nxt = m.conn.flight->again_high = 3001;
    for (tenon_u32 s = 1; s != 3001; s++)
        byte_at(&m, s)->again = byte_at(&m, s)->ever = 1;
    for (tenon_u32 left = 101; left < 3001; left += 200) {
        ack_begin(&m, &ack, &seg);
        tn_sack_add(&m.conn, &ack, left, left + 100);
        for (tenon_u32 s = left; s != left + 100; s++) {
            byte_at(&m, s)->sacked = 1;
            byte_at(&m, s)->again = 0;
        }
        model_forget(&m);
        check_all(&m);
    }
    model_close(&m);
}

/* Evidence that we were too quick widens the reordering window once per round trip. A round of long ago is over, also
 * when so much was sent since that its end seems to lie ahead. */
static void flight_widens_once_per_round(void)
{
    static const tenon_u32 since[] = {0, 1000, 0x7FFFFFFFUL, 0x80000001UL, 0xC0000000UL};
    static struct model m;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(since); i++) {
        model_open(&m, 1);
        step_send(&m, 3000);
        tn_rack_widen(&m.conn);
        HN_EQUAL(m.conn.flight->reo_mult, 2);
        tn_rack_widen(&m.conn);
        HN_EQUAL(m.conn.flight->reo_mult, 2);    /* the same round */
        step_ack(&m, 3000);
        m.conn.snd_una += since[i];
        m.conn.snd_nxt = m.conn.snd_end = m.conn.snd_una;
        tn_flight_begin(&m.conn, m.conn.snd_una);
        step_send(&m, 3000);
        tn_rack_widen(&m.conn);
        HN_EQUAL(m.conn.flight->reo_mult, 3);
        model_close(&m);
    }
}

/* ---- many retransmissions ------------------------------------------------------------------------------------ */

/* Send again what is lost, a segment of each gap, as far as there is room. @return how many */
static unsigned repeat_gaps(struct tenon_tcp *conn)
{
    tenon_u32 from, end;
    unsigned n = 0;

    for (from = conn->flight->rtx_nxt;; from = conn->flight->rtx_nxt = end) {
        from = tn_sack_gap(conn, from, &end);
        if (tn_seq_ge(from, conn->flight->lost_edge))
            return n;
        conn->flight->rtx_nxt = from;
        if (tn_flight_again_skip(conn, from, &end) != from)
            continue;
        if (!tn_flight_has_room(conn))
            return n;
        conn->stack->now_us++;
        tn_flight_sent_again(conn, from, end);
        n++;
    }
}

static void sack_one(struct tenon_tcp *conn, tenon_u32 left, tenon_u32 right)
{
    struct tn_seg seg;
    struct tn_ack ack;

    memset(&seg, 0, sizeof seg);
    memset(&ack, 0, sizeof ack);
    ack.seg = &seg;
    ack.una = conn->snd_una;
    tn_sack_add(conn, &ack, left, right);
    HN_EQUAL(ack.sacked, right - left);
}

/* So many segments of 100 bytes leave at once, and of every two the second arrives. */
static void send_and_lose_half(struct tenon_tcp *conn, tenon_u32 gaps)
{
    const tenon_u32 start = conn->snd_nxt;

    tn_flight_sent(conn, start + gaps * 200);
    conn->snd_nxt += gaps * 200;
    for (tenon_u32 i = 0; i < gaps; i++)
        sack_one(conn, start + i * 200 + 100, start + i * 200 + 200);
}

/* Half of a large window is lost. All of that may be sent again at once while it is in order of time; one
 * that gets lost again is not, and waits until few enough are left that all can be asked with each ACK. */
static void many_sent_again(void)
{
    enum { GAPS = 5000 };
    static struct model m;
    const tenon_u32 start = 0xFFFFFF00U;
    struct tenon_tcp *conn = &m.conn;
    tenon_u32 i;

    model_open(&m, start);
    send_and_lose_half(conn, GAPS);
    HN_EQUAL(tn_flight_move_edge(conn, conn->snd_nxt), GAPS * 100);
    HN_EQUAL(repeat_gaps(conn), GAPS);
    HN_EQUAL(conn->flight->again_bytes, GAPS * 100);
    HN_EQUAL(tn_flight_again_lost(conn, 1), 100);
    HN_EQUAL(repeat_gaps(conn), 0);
    for (i = 0; conn->flight->again_n >= TN_AGAIN_MAX && i < GAPS; i++)
        if (i != 1)
            sack_one(conn, start + i * 200, start + i * 200 + 100);
    HN_EQUAL(conn->flight->again_n, TN_AGAIN_MAX - 1);
    HN_EQUAL(repeat_gaps(conn), 1);
    HN_EQUAL(conn->flight->again[0].seq, start + 200);
    HN_EQUAL(conn->flight->again[0].sent.sent_us, conn->stack->now_us);
    HN_CHECK(tn_flight_check(conn) == NULL);
    HN_EQUAL(repeat_gaps(conn), 0);
    sack_one(conn, start + 200, start + 300);
    for (; i < GAPS; i++)
        sack_one(conn, start + i * 200, start + i * 200 + 100);
    HN_EQUAL(conn->flight->again_bytes, 0);
    HN_EQUAL(conn->flight->again_mixed, 0);
    HN_CHECK(tn_flight_check(conn) == NULL);
    model_close(&m);
}

/* Where one was lost again, and sent once more, there are never so many. */
static void some_sent_again_twice(void)
{
    enum { GAPS = 5000, FIRST = 500 };
    static struct model m;
    const tenon_u32 start = 0xFFFFFF00U;
    struct tenon_tcp *conn = &m.conn;

    model_open(&m, start);
    send_and_lose_half(conn, GAPS);
    HN_EQUAL(tn_flight_move_edge(conn, start + FIRST * 200), FIRST * 100);
    HN_EQUAL(repeat_gaps(conn), FIRST);
    HN_EQUAL(tn_flight_again_lost(conn, 1), 100);
    HN_EQUAL(repeat_gaps(conn), 1);
    HN_EQUAL(tn_flight_move_edge(conn, conn->snd_nxt), (GAPS - FIRST) * 100);
    HN_EQUAL(repeat_gaps(conn), TN_AGAIN_MAX - FIRST);
    HN_EQUAL(conn->flight->again_n, TN_AGAIN_MAX);
    HN_CHECK(tn_flight_check(conn) == NULL);
    model_close(&m);
}

static const struct hn_test tests[] = {
    { "flight_random", "RACK-1 RTO-6 6675-3 PRR-3", flight_random },
    { "flight_random_no_memory", "RACK-1 6675-3", flight_random_no_memory },
    { "flight_repetition_in_pieces", "RACK-PIT", flight_repetition_in_pieces },
    { "flight_widens_once_per_round", "RACK-6", flight_widens_once_per_round },
    { "many_sent_again", "RACK-INT", many_sent_again },
    { "some_sent_again_twice", "RACK-INT", some_sent_again_twice },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
