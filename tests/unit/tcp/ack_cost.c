/* SPDX-License-Identifier: MIT */
/* What an acknowledgement costs must not depend on how much is in flight: the same 100,000 ACKs on a window
 * of 1,000 segments and on one of 100,000, as they come after a loss, and as an attacker would shape them
 * (CVE-2019-11477, CVE-2019-11478). Times are compared with each other, so that a slow machine changes
 * nothing; the bound leaves room for what caches do, and a walk over the window would miss it a hundredfold.
 */
#include "harness.h"

#include <time.h>

#include "tcp/tcp_internal.h"

enum { MSS = 1000, FEW = 1000, MANY = 100000, ACKS = 100000, RATIO_MAX = 20 };

struct bench {
    struct hn hn;
    struct tenon_tcp conn;
};

static void bench_open(struct bench *b, unsigned segments)
{
    struct tenon_tcp *conn = &b->conn;

    memset(b, 0, sizeof *b);
    hn_open(&b->hn, NULL);
    conn->stack = b->hn.stack;
    conn->mss = MSS;
    conn->state = TENON_TCP_ESTABLISHED;
    conn->flags = TN_TCP_F_SACK;
    conn->cc.ops = &tenon_cc_newreno;
    conn->cc.cwnd = segments * MSS;
    conn->cc.ssthresh = 0xFFFFFFFFU;
    conn->opts = tn_tcp_opts_new(conn->stack);
    conn->snd_una = conn->snd_nxt = conn->snd_end = 0xFFFFFF01U;
    conn->min_rtt_us = 100000;
    conn->srtt8 = 8 * 100000;
    HN_CHECK(conn->opts != NULL && tn_flight_get(conn) != NULL);
    for (; segments > 0; segments--) {
        conn->stack->now_us++;    /* each a record of its own */
        tn_flight_sent(conn, conn->snd_nxt + MSS);
        conn->snd_nxt += MSS;
    }
    conn->snd_end = conn->snd_nxt;
    conn->stack->now_us += 100000;
}

static void bench_close(struct bench *b)
{
    HN_CHECK(tn_sack_check(&b->conn) == NULL);
    HN_CHECK(tn_flight_check(&b->conn) == NULL);
    tn_sack_clear(&b->conn);
    tn_flight_free(&b->conn);
    tn_tcp_opts_put(b->conn.stack, b->conn.opts);
    hn_close(&b->hn);
}

/* One ACK that acknowledges nothing: blocks of `len` bytes at the given offsets from snd_una; dsack: and something
 * came twice. */
static void bench_ack(struct bench *b, const tenon_u32 *offsets, unsigned n, tenon_u32 len, int dsack)
{
    struct tenon_tcp *conn = &b->conn;
    struct tn_seg seg;
    struct tn_ack ack;

    memset(&seg, 0, sizeof seg);
    memset(&ack, 0, sizeof ack);
    seg.ack = conn->snd_una;
    seg.options.nsacks = (tenon_u8)n;
    ack.seg = &seg;
    ack.una = conn->snd_una;
    ack.flight = conn->snd_nxt - conn->snd_una;
    ack.fack = tn_sack_highest(conn);
    for (unsigned i = 0; i < n; i++)
        tn_sack_add(conn, &ack, conn->snd_una + offsets[i],
                    tn_seq_min(conn->snd_una + offsets[i] + len, conn->snd_nxt));
    if (dsack) {
        ack.has_dsack = 1;
        ack.dsack_left = conn->snd_una - MSS;
        ack.dsack_right = conn->snd_una;
    }
    ack.is_dup = ack.sacked > 0;
    conn->flight->total_delivered += ack.delivered;
    tn_tcp_recovery_on_ack(conn, &ack);
    HN_CHECK(tn_tcp_in_flight(conn) <= conn->snd_nxt - conn->snd_una + conn->flight->again_bytes);
}

/* ---- patterns: ACK number i on a window of so many segments -------------------------------------------------- */

/* The first segment is lost, one after the other arrives behind it. */
static void ack_behind_a_hole(struct bench *b, unsigned i, unsigned segments)
{
    const tenon_u32 first = MSS;

    bench_ack(b, &first, 1, (i % (segments - 1) + 1) * MSS, 0);
}

/* Four bytes somewhere: as many ranges as possible. */
static void ack_scatter(struct bench *b, unsigned i, unsigned segments)
{
    tenon_u32 offsets[4];

    for (unsigned k = 0; k < 4; k++)
        offsets[k] = 1 + (i * 4 + k) * 2654435761U % (segments * MSS - 2);
    bench_ack(b, offsets, 4, 1, 0);
}

/* From the top down, a byte in every second segment: each block is a range of its own below all others. */
static void ack_downwards(struct bench *b, unsigned i, unsigned segments)
{
    const tenon_u32 offset = (segments - 1 - i % (segments - 2)) / 2 * 2 * MSS + 1;

    bench_ack(b, &offset, 1, 1, 0);
}

/* Nothing new, but a D-SACK each time. */
static void ack_dsack(struct bench *b, unsigned i, unsigned segments)
{
    (void)i;
    (void)segments;
    bench_ack(b, NULL, 0, 0, 1);
}

/* Everything but the last segment is SACKed, the first included, and never acknowledged. */
static void ack_dsack_all_sacked(struct bench *b, unsigned i, unsigned segments)
{
    const tenon_u32 first = 0;

    bench_ack(b, &first, i == 0, (segments - 1) * MSS, 1);
}

/* Every second segment is SACKed, all others have been sent again, one after the other, and arrive. */
static void ack_repairs(struct bench *b, unsigned i, unsigned segments)
{
    struct tenon_tcp *conn = &b->conn;
    const tenon_u32 offset = 2 * MSS * (i - 1);
    struct tn_seg seg;
    struct tn_ack ack;

    if (i > 0) {
        bench_ack(b, &offset, offset < segments * MSS, MSS, 0);
        return;
    }
    memset(&seg, 0, sizeof seg);
    memset(&ack, 0, sizeof ack);
    ack.seg = &seg;
    for (unsigned k = 1; k < segments; k += 2)
        tn_sack_add(conn, &ack, conn->snd_una + k * MSS, conn->snd_una + (k + 1) * MSS);
    conn->recovery = TN_RECOVERY_FAST;
    tn_flight_move_edge(conn, conn->snd_nxt);
    for (unsigned k = 0; k < segments && tn_flight_has_room(conn); k += 2) {
        conn->stack->now_us++;
        conn->flight->rtx_nxt = conn->snd_una + (k + 1) * MSS;
        tn_flight_sent_again(conn, conn->snd_una + k * MSS, conn->flight->rtx_nxt);
    }
    HN_CHECK(conn->flight->again_n > segments / 8);
}

static const struct {
    const char *name;
    void (*ack)(struct bench *b, unsigned i, unsigned segments);
} patterns[] = {
    { "behind a hole", ack_behind_a_hole },
    { "scatter", ack_scatter },
    { "downwards", ack_downwards },
    { "d-sack", ack_dsack },
    { "d-sack, all sacked", ack_dsack_all_sacked },
    { "repairs", ack_repairs },
};

/* Nanoseconds per ACK. A pattern that wears a window out gets a new one; making it is not counted. */
static double cost(size_t pattern, unsigned segments)
{
    static struct bench b;
    double ns = 0;

    for (unsigned done = 0; done < ACKS;) {
        const unsigned n = tn_min(segments, ACKS - done);
        clock_t from;

        bench_open(&b, segments);
        from = clock();
        for (unsigned i = 0; i < n; i++)
            patterns[pattern].ack(&b, i, segments);
        ns += (double)(clock() - from) * 1e9 / CLOCKS_PER_SEC;
        bench_close(&b);
        done += n;
    }
    return ns / ACKS;
}

static void cost_does_not_follow_the_window(void)
{
    for (size_t i = 0; i < TENON_ARRAY_LEN(patterns); i++) {
        const double few = cost(i, FEW), many = cost(i, MANY);

        hn_row = patterns[i].name;
        printf("     %s: %.0f ns with %d segments, %.0f ns with %d\n", hn_row, few, FEW, many, MANY);
        HN_CHECK(many < RATIO_MAX * (few + 50));
    }
}

static const struct hn_test tests[] = {
    { "cost_does_not_follow_the_window", "SACK-9 RACK-INT", cost_does_not_follow_the_window },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
