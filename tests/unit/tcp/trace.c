/* SPDX-License-Identifier: MIT */
/* What the trace tells of a transfer agrees with what was counted and with what the connection knows, decision by
 * decision: nothing is missing, nothing is told twice. */
#include "harness.h"
#include "tcp/tcp_internal.h"
#include "tcp/transfer.h"

enum { KINDS = TENON_TRACE_FASTOPEN + 1, ARGS = 16, BYTES = 400000 };

/* What the sender's events say. */
static struct {
    struct tenon *stack;
    struct tenon_tcp *conn;
    uint64_t n[KINDS], args[KINDS][ARGS], total[KINDS];
    uint64_t lost_mtu;
    uint64_t waited[TENON_TCP_WAIT_COUNT];
    tenon_u32 waits_since_us;
    unsigned waits_for, wrong, in_timeout;
    tenon_u32 alpha, acked_to;
} seen;

/* The events of these kinds, of both ends, one after the other: "kind what; ", "kind what length; ". */
static struct {
    uint64_t kinds;    /* bit i: kind i */
    tenon_u32 syn_seq, syn_len, early_seq;    /* of the last request that was sent, and of its data */
    unsigned n;
    char text[2000];
} story;

static void tell(const struct tenon_trace_event *event)
{
    const enum tenon_trace_kind kind = (enum tenon_trace_kind)event->kind;
    const char *what = tenon_trace_arg_name(kind, event->arg);

    if (!(story.kinds >> kind & 1) || story.n + 64 > sizeof story.text)
        return;
    story.n += (unsigned)sprintf(story.text + story.n, "%s%s%s", tenon_trace_name(kind), what != NULL ? " " : "",
                                 what != NULL ? what : "");
    if (kind == TENON_TRACE_FASTOPEN && event->len > 0)
        story.n += (unsigned)sprintf(story.text + story.n, " %u", (unsigned)event->len);
    story.n += (unsigned)sprintf(story.text + story.n, "; ");
}

static void story_begin(uint64_t kinds)
{
    memset(&story, 0, sizeof story);
    story.kinds = kinds;
}

static void story_is(const char *text)
{
    const int same = strcmp(story.text, text) == 0;

    if (!same)
        fprintf(stderr, "told: %s\nwant: %s\n", story.text, text);
    HN_CHECK(same);
    story_begin(story.kinds);
}

/* What is acknowledged follows on what was acknowledged before, from the SYN on. */
static void look_at_acked(const struct tenon_trace_event *event)
{
    const tenon_u32 from = seen.n[TENON_TRACE_ACKED] == 1 ? event->seq : seen.acked_to;

    seen.wrong += event->seq != from || event->ack - event->seq != event->len || event->ack != event->snd_una;
    seen.acked_to = event->ack;
}

static void look(void *host, const struct tenon_trace_event *event)
{
    (void)host;
    tell(event);
    if (event->kind == TENON_TRACE_SENT && event->flags == 2)    /* SYN */ {
        story.syn_seq = event->seq;
        story.syn_len = event->len;
    }
    if (event->kind == TENON_TRACE_FASTOPEN && event->arg == TENON_TRACE_FASTOPEN_SENT)
        story.early_seq = event->seq;
    if (event->conn != 0 || event->local.ip.w[3] != pair_ip(0, 0).w[3] || event->kind >= KINDS)
        return;
    seen.n[event->kind]++;
    seen.args[event->kind][event->arg < ARGS ? event->arg : ARGS - 1]++;
    seen.total[event->kind] += event->len;
    if (event->kind == TENON_TRACE_ACKED)
        look_at_acked(event);
    if (event->kind == TENON_TRACE_LOST && event->arg == TENON_TRACE_RULE_MTU)
        seen.lost_mtu += event->len;
    if (event->kind == TENON_TRACE_LOST && (event->len == 0 || event->ack - event->seq < event->len))
        seen.wrong++;
    if (event->kind == TENON_TRACE_RTO || event->kind == TENON_TRACE_RECOVERY)
        seen.in_timeout = event->kind == TENON_TRACE_RTO;
    if (event->kind == TENON_TRACE_LOST && seen.in_timeout != (event->arg == TENON_TRACE_RULE_TIMEOUT))
        seen.wrong++;
    if (event->kind == TENON_TRACE_ALPHA) {
        seen.wrong += event->arg == seen.alpha;
        seen.alpha = event->arg;
    }
    if (event->kind == TENON_TRACE_CWV)
        seen.wrong += event->arg == TENON_TRACE_CWV_KEPT ? event->cwnd != event->len : event->cwnd >= event->len;
    if (event->kind != TENON_TRACE_WAIT)
        return;
    seen.waited[seen.waits_for] += event->now_us - seen.waits_since_us;
    seen.waits_since_us = event->now_us;
    seen.wrong += seen.waits_for == event->arg;    /* a change that is none */
    seen.waits_for = event->arg;
}

/* ---- one transfer ------------------------------------------------------------------------------------------- */

struct case_of {
    const char *name;
    const struct tenon_cc_ops *cc;
    struct wire_line_conf out;
    unsigned no_sack, no_timestamps, ecn, small_mtu, pauses;
    uint32_t limit;    /* larger IP packets vanish; 0: none do */
    uint32_t bytes;    /* 0: BYTES and more. Otherwise every seed loses other frames */
};

static void too_large(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                      const struct tenon_frame *frame, struct wire_fate *fate)
{
    const uint8_t *ip = tenon_span_data(&frame->spans[0]) + 14;

    (void)end;
    (void)direction;
    (void)nth;
    fate->drop |= ip[0] >> 4 == 4 && ((uint32_t)ip[2] << 8 | ip[3]) > *(const uint32_t *)arg;
}

static void begin(struct transfer *t, const struct case_of *c, uint64_t seed)
{
    static const struct tenon_tcp_events sends = { .opened = transfer_send,
                                                   .acked = transfer_acked,
                                                   .closed = transfer_closed };
    static const struct tenon_tcp_events takes = { .received = transfer_received };
    const struct tenon_addr here = pair_addr(1, 0, 7);
    struct wire_line_conf out = c->out, back = { .delay_us = c->out.delay_us };
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    if (c->bytes != 0)
        out.drop_mask = seed << 2;    /* behind the handshake */
    if (c->limit != 0) {
        static uint32_t limit;

        limit = c->limit;
        out.fate = too_large;
        out.fate_arg = &limit;
    }
    memset(t, 0, sizeof *t);
    memset(&seen, 0, sizeof seen);
    tenon_conf_default(&conf);
    conf.tcp_cc = c->cc;
    conf.trace = look;
    HN_CHECK(pair_open(&t->pair, &conf));
    pair_run(&t->pair, 1000 + seed * 7919 % 100000);
    wire_line_set(t->pair.end[0], WIRE_OUT, &out);
    wire_line_set(t->pair.end[1], WIRE_OUT, &back);
    t->bytes = c->bytes != 0 ? c->bytes : BYTES + 5001 * (uint32_t)seed;
    HN_EQUAL(tenon_tcp_listen(t->pair.stack[1], &listener, &here, &takes, t, 0), TENON_OK);
    tenon_tcp_listener_set(listener, TENON_TCP_SACK, !c->no_sack);
    tenon_tcp_listener_set(listener, TENON_TCP_TIMESTAMPS, !c->no_timestamps);
    pair_run(&t->pair, 0);
    seen.stack = t->pair.stack[0];
    seen.waits_since_us = seen.stack->now_us;
    seen.alpha = 65536;
    HN_EQUAL(tenon_tcp_connect(seen.stack, &seen.conn, NULL, &here, &sends, t), TENON_OK);
    if (c->ecn)
        tenon_tcp_set(seen.conn, TENON_TCP_ECN, 1);
    tenon_tcp_set(seen.conn, TENON_TCP_MTU_PROBING, c->limit != 0);
}

static void agrees(enum tenon_trace_kind kind, tenon_u32 arg, enum tenon_stat stat)
{
    HN_EQUAL(seen.args[kind][arg], tenon_stat(seen.stack, stat));
}

/* Every probe of the path MTU comes to an end of one kind. */
static void check_probes_end(void)
{
    const uint64_t *n = seen.args[TENON_TRACE_SEARCH];
    const struct tn_flight *flight = seen.conn->flight;
    const int one_is_out = flight != NULL && flight->probe_seq != flight->probe_end;

    HN_EQUAL(n[TENON_TRACE_SEARCH_SENT], n[TENON_TRACE_SEARCH_PASSED] + n[TENON_TRACE_SEARCH_LOST] +
                                             n[TENON_TRACE_SEARCH_UNDECIDED] + (unsigned)one_is_out);
}

static void check(void)
{
    struct tenon_tcp_info info;

    HN_EQUAL(seen.wrong, 0);
    if (seen.n[TENON_TRACE_ACKED] > 0)
        HN_EQUAL(seen.acked_to, seen.conn->snd_una);
    HN_EQUAL(seen.total[TENON_TRACE_LOST] - seen.lost_mtu, seen.conn->flight->total_lost);
    HN_EQUAL(seen.n[TENON_TRACE_DSACK], tenon_stat(seen.stack, TENON_STAT_TCP_DSACK));
    HN_EQUAL(seen.n[TENON_TRACE_UNDO], tenon_stat(seen.stack, TENON_STAT_TCP_UNDO));
    HN_EQUAL(seen.n[TENON_TRACE_ECN], tenon_stat(seen.stack, TENON_STAT_TCP_ECE_REDUCED));
    agrees(TENON_TRACE_SENT, 1, TENON_STAT_TCP_RETRANSMIT);
    agrees(TENON_TRACE_RECOVERY, TENON_TRACE_RECOVERY_FAST, TENON_STAT_TCP_FAST_RETRANSMIT);
    agrees(TENON_TRACE_RECOVERY, TENON_TRACE_RECOVERY_TIMEOUT, TENON_STAT_TCP_RTO);
    agrees(TENON_TRACE_TLP, TENON_TRACE_TLP_REPAIRED, TENON_STAT_TCP_TLP_REPAIRED);
    agrees(TENON_TRACE_SEARCH, TENON_TRACE_SEARCH_SENT, TENON_STAT_TCP_MTU_PROBE);
    agrees(TENON_TRACE_SEARCH, TENON_TRACE_SEARCH_PASSED, TENON_STAT_TCP_MTU_PROBE_PASSED);
    agrees(TENON_TRACE_SEARCH, TENON_TRACE_SEARCH_LOST, TENON_STAT_TCP_MTU_PROBE_LOST);
    agrees(TENON_TRACE_SEARCH, TENON_TRACE_SEARCH_BLACK_HOLE, TENON_STAT_TCP_BLACK_HOLE);
    check_probes_end();
    if (seen.conn->cc.ops == &tenon_cc_dctcp && seen.conn->state >= TENON_TCP_ESTABLISHED)
        HN_EQUAL(seen.alpha, seen.conn->cc.words[TENON_CC_ALPHA_WORD]);
    HN_EQUAL(seen.args[TENON_TRACE_TLP][TENON_TRACE_TLP_NEW] + seen.args[TENON_TRACE_TLP][TENON_TRACE_TLP_AGAIN],
             tenon_stat(seen.stack, TENON_STAT_TCP_TLP));
    tenon_tcp_status(seen.conn, &info);
    HN_EQUAL(seen.waits_for, info.waits_for);
    for (unsigned i = 0; i < TENON_TCP_WAIT_COUNT; i++) {
        const uint64_t running = i == seen.waits_for ? seen.stack->now_us - seen.waits_since_us : 0;

        HN_EQUAL(seen.waited[i] + running, (uint64_t)info.waited_ms[i] * 1000 + info.waited_us[i]);
    }
}

/* The path loses its memory of what it takes: an ICMP error comes. */
static void lower_mtu(struct transfer *t)
{
    tn_path_lower_mtu(t->pair.stack[0], seen.conn->path, 900);
    tn_tcp_update_mss(seen.conn);
    tn_tcp_recovery_on_mtu(seen.conn);
    tn_tcp_make_ready(seen.conn);
}

static void run(const struct case_of *c, uint64_t seed, uint64_t all[KINDS][ARGS])
{
    static char row[48];
    struct transfer t;
    int lowered = 0;

    snprintf(row, sizeof row, "%s, seed %u", c->name, (unsigned)seed);
    hn_row = row;
    begin(&t, c, seed);
    for (int i = 0; i < 6000 && !t.closed; i++) {
        pair_run(&t.pair, 10000);
        if (c->pauses && i % 40 == 20)
            wire_host_pause(t.pair.host[1], 400000);
        if (c->small_mtu && !lowered && t.received > BYTES / 8 && !t.closed) {
            lower_mtu(&t);
            lowered = 1;
        }
        if (!t.closed)
            check();
    }
    HN_CHECK(t.closed && t.why == TENON_OK && t.wrong == 0);
    for (unsigned i = 0; i < KINDS; i++)
        for (unsigned j = 0; j < ARGS; j++)
            all[i][j] += seen.args[i][j];
    HN_CHECK(pair_close(&t.pair));
    hn_row = "";
}

#define PATH .rate = 1250000, .delay_us = 15000, .queue_bytes = 60000

static const struct case_of cases[] = {
    { .name = "loss", .cc = &tenon_cc_cubic, .out = { PATH, .loss_ppm = 30000 } },
    { .name = "heavy loss", .cc = &tenon_cc_newreno, .out = { PATH, .loss_ppm = 150000 } },
    { .name = "loss without SACK", .cc = &tenon_cc_newreno, .out = { PATH, .loss_ppm = 30000 }, .no_sack = 1 },
    { .name = "lost tails", .cc = &tenon_cc_cubic, .out = { PATH }, .bytes = 4000 },
    { .name = "reordering", .cc = &tenon_cc_cubic, .out = { PATH, .reorder_ppm = 50000, .reorder_us = 60000 } },
    { .name = "reordering without timestamps",
      .cc = &tenon_cc_cubic,
      .out = { PATH, .reorder_ppm = 50000, .reorder_us = 60000 },
      .no_timestamps = 1 },
    { .name = "marks", .cc = &tenon_cc_cubic, .out = { PATH, .mark_bytes = 10000 }, .ecn = 1 },
    { .name = "marks for DCTCP", .cc = &tenon_cc_dctcp, .out = { PATH, .mark_bytes = 10000 }, .ecn = 1 },
    { .name = "marks and reordering for DCTCP",
      .cc = &tenon_cc_dctcp,
      .out = { PATH, .mark_bytes = 10000, .reorder_ppm = 20000, .reorder_us = 60000 },
      .ecn = 1 },
    { .name = "black hole", .cc = &tenon_cc_cubic, .out = { PATH }, .limit = 1400 },
    { .name = "black hole and loss", .cc = &tenon_cc_cubic, .out = { PATH, .loss_ppm = 60000 }, .limit = 1300 },
    { .name = "bbr", .cc = &tenon_cc_bbr, .out = { PATH, .loss_ppm = 20000 } },
    { .name = "bbr, all of its phases",
      .cc = &tenon_cc_bbr,
      .out = { .rate = 40000, .delay_us = 15000, .queue_bytes = 20000 } },
    { .name = "smaller MTU", .cc = &tenon_cc_cubic, .out = { PATH }, .small_mtu = 1 },
    { .name = "a peer that stops", .cc = &tenon_cc_cubic, .out = { PATH }, .pauses = 1 },
    { .name = "a peer that stops, without timestamps",
      .cc = &tenon_cc_newreno,
      .out = { PATH },
      .pauses = 1,
      .no_timestamps = 1 },
};

static void want(uint64_t all[KINDS][ARGS], enum tenon_trace_kind kind, unsigned args)
{
    for (unsigned i = 0; i < args; i++) {
        const char *name = tenon_trace_arg_name(kind, i);

        HN_CHECK(name != NULL);
        hn_row = name != NULL ? name : "?";
        HN_CHECK(all[kind][i] > 0);
    }
    hn_row = "";
    HN_CHECK(tenon_trace_arg_name(kind, args) == NULL);
}

static void every_decision_is_told_once(void)
{
    static uint64_t all[KINDS][ARGS];

    for (unsigned i = 0; i < TENON_ARRAY_LEN(cases); i++)
        for (uint64_t seed = 1; seed <= (cases[i].bytes != 0 ? 40 : 8); seed++)
            run(&cases[i], seed, all);
    want(all, TENON_TRACE_LOST, TENON_TRACE_RULE_MTU + 1);
    all[TENON_TRACE_TLP][TENON_TRACE_TLP_REPAIRED] = 1;    /* a test of its own */
    want(all, TENON_TRACE_TLP, TENON_TRACE_TLP_REPAIRED + 1);
    want(all, TENON_TRACE_UNDO, TENON_TRACE_EVIDENCE_FRTO + 1);
    want(all, TENON_TRACE_RECOVERY, TENON_TRACE_RECOVERY_MTU + 1);
    all[TENON_TRACE_PHASE][TENON_TRACE_PHASE_NONE] = 1;    /* that is before the first */
    want(all, TENON_TRACE_PHASE, TENON_TRACE_PHASE_CONSERVATIVE + 1);
    want(all, TENON_TRACE_SEARCH, TENON_TRACE_SEARCH_BLACK_HOLE + 1);
    HN_CHECK(all[TENON_TRACE_ALPHA][ARGS - 1] > 0);
    HN_CHECK(all[TENON_TRACE_ECN][ARGS - 1] > 0);
    HN_CHECK(all[TENON_TRACE_MTU][ARGS - 1] > 0);
}

/* A connection over a clean path whose application is the test. */
static void begin_by_hand(struct transfer *t)
{
    static const struct tenon_tcp_events silent;
    const struct case_of clean = { .name = "clean", .cc = &tenon_cc_cubic, .out = { .delay_us = 1000 } };

    begin(t, &clean, 1);
    tenon_tcp_handler(seen.conn, &silent, t);
    pair_run(&t->pair, 100000);
}

static void write_ten(struct transfer *t)
{
    static const tenon_u8 bytes[10];

    pair_run(&t->pair, 0);
    HN_EQUAL(tenon_tcp_write(seen.conn, bytes, sizeof bytes), sizeof bytes);
    pair_run(&t->pair, 0);
}

/* RFC 5681 4.1: told with the length of the silence. */
static void silence_is_told(void)
{
    struct transfer t;

    begin_by_hand(&t);
    write_ten(&t);
    pair_run(&t.pair, 100000);
    HN_EQUAL(seen.n[TENON_TRACE_IDLE], 0);
    pair_run(&t.pair, 5000000);
    write_ten(&t);
    HN_EQUAL(seen.n[TENON_TRACE_IDLE], 1);
    check();
    tenon_tcp_abort(seen.conn);
    HN_CHECK(pair_close(&t.pair));
}

/* RFC 8985 7.4: known when something newer is acknowledged, and nobody says that the probe came twice. */
static void repair_by_probe_is_told(void)
{
    const struct wire_line_conf broken = { .delay_us = 1000, .loss_ppm = 1000000 }, whole = { .delay_us = 1000 };
    struct transfer t;

    begin_by_hand(&t);
    write_ten(&t);
    pair_run(&t.pair, 300000);
    wire_line_set(t.pair.end[0], WIRE_OUT, &broken);
    write_ten(&t);
    wire_line_set(t.pair.end[0], WIRE_OUT, &whole);
    for (int i = 0; i < 1000 && seen.n[TENON_TRACE_TLP] == 0; i++)
        pair_run(&t.pair, 500);
    HN_EQUAL(seen.args[TENON_TRACE_TLP][TENON_TRACE_TLP_AGAIN], 1);
    tenon_tcp_set(seen.conn, TENON_TCP_NODELAY, 1);
    write_ten(&t);
    pair_run(&t.pair, 300000);
    HN_EQUAL(seen.args[TENON_TRACE_TLP][TENON_TRACE_TLP_REPAIRED], 1);
    HN_EQUAL(seen.args[TENON_TRACE_RECOVERY][TENON_TRACE_RECOVERY_TIMEOUT], 0);
    check();
    tenon_tcp_abort(seen.conn);
    HN_CHECK(pair_close(&t.pair));
}

/* The next frame. */
static void lose_one(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                     const struct tenon_frame *frame, struct wire_fate *fate)
{
    unsigned *left = arg;

    (void)end;
    (void)direction;
    (void)nth;
    (void)frame;
    fate->drop |= *left > 0;
    *left -= *left > 0;
}

/* RFC 9406 4.2: the delay rises, and slow start is left for good; it rises and falls; or something is lost. */
static void end_of_slow_start_is_told(void)
{
    static const struct case_of deep = { .name = "deep queue",
                                         .cc = &tenon_cc_cubic,
                                         .out = { .rate = 1250000, .delay_us = 20000 },
                                         .bytes = 20000000 },
                                wide = { .name = "wide",
                                         .cc = &tenon_cc_cubic,
                                         .out = { .delay_us = 20000 },
                                         .bytes = 200000000 };
    unsigned left = 1;
    const struct wire_line_conf slower = { .delay_us = 60000 },
                                lossy = { .delay_us = 20000, .fate = lose_one, .fate_arg = &left };
    struct transfer t;

    story_begin(1U << TENON_TRACE_PHASE | 1U << TENON_TRACE_RECOVERY);
    begin(&t, &deep, 0);
    pair_run(&t.pair, 5000000);
    story_is("phase slow_start; phase conservative; phase avoidance; ");
    HN_CHECK(pair_close(&t.pair));

    begin(&t, &wide, 0);
    story_begin(story.kinds);
    pair_run(&t.pair, 150000);
    wire_line_set(t.pair.end[0], WIRE_OUT, &slower);
    pair_run(&t.pair, 150000);
    wire_line_set(t.pair.end[0], WIRE_OUT, &wide.out);
    pair_run(&t.pair, 150000);
    story_is("phase slow_start; phase conservative; phase slow_start; ");
    wire_line_set(t.pair.end[0], WIRE_OUT, &lossy);
    pair_run(&t.pair, 150000);
    story_is("recovery fast; phase recovery; recovery left; phase avoidance; ");
    HN_CHECK(pair_close(&t.pair));
}

static void write_many(struct transfer *t, unsigned bytes)
{
    static const tenon_u8 zeros[200000];

    HN_EQUAL(tenon_tcp_write(seen.conn, zeros, bytes), bytes);
    pair_run(&t->pair, 0);
}

/* RFC 7661 4.4: kept over silence, for five minutes whole; where something is lost, what was in use counts. */
static void unused_window_is_told(void)
{
    const struct wire_line_conf broken = { .delay_us = 1000, .loss_ppm = 1000000 }, whole = { .delay_us = 1000 };
    struct transfer t;
    unsigned mss;

    begin_by_hand(&t);
    tenon_tcp_set(seen.conn, TENON_TCP_SND_BUF, 400000);
    write_many(&t, 200000);
    pair_run(&t.pair, 1000000);
    story_begin(1U << TENON_TRACE_CWV | 1U << TENON_TRACE_IDLE | 1U << TENON_TRACE_RECOVERY);
    pair_run(&t.pair, 5000000);
    write_ten(&t);
    story_is("idle; cwv kept; ");
    pair_run(&t.pair, 400000000);
    write_ten(&t);
    story_is("idle; cwv aged; ");
    pair_run(&t.pair, 100000);
    mss = seen.conn->mss;
    wire_line_set(t.pair.end[0], WIRE_OUT, &broken);
    write_many(&t, mss);
    wire_line_set(t.pair.end[0], WIRE_OUT, &whole);
    write_many(&t, 5 * mss);
    pair_run(&t.pair, 100000);
    story_is("cwv limited; recovery fast; recovery left; cwv limited; ");
    HN_EQUAL(seen.wrong, 0);
    tenon_tcp_abort(seen.conn);
    HN_CHECK(pair_close(&t.pair));
}

/* RFC 7661 4.4.3 counts five minutes of little use, not of silence; draft-ietf-ccwg-bbr 5.4 leaves the window. */
static void window_of_little_use(void)
{
    static const struct tenon_cc_ops *const controls[] = { &tenon_cc_cubic, &tenon_cc_newreno, &tenon_cc_bbr };

    for (unsigned i = 0; i < 2 * TENON_ARRAY_LEN(controls); i++) {
        const int ages = controls[i / 2] != &tenon_cc_bbr, silent = i % 2;
        tenon_u32 cwnd, initial;
        struct transfer t;

        hn_row = controls[i / 2]->name;
        begin_by_hand(&t);
        tenon_tcp_set_cc(seen.conn, controls[i / 2]);
        tenon_tcp_set(seen.conn, TENON_TCP_SND_BUF, 400000);
        initial = seen.conn->cc.cwnd;
        write_many(&t, 200000);
        pair_run(&t.pair, 1000000);
        write_ten(&t);
        cwnd = seen.conn->cc.cwnd;
        HN_CHECK(cwnd > 4 * initial);
        for (unsigned j = 0; j < 6200; j++) {
            if (!silent)
                write_ten(&t);
            pair_run(&t.pair, 100000);
            if (ages && !silent && j == 2900)
                HN_EQUAL(seen.conn->cc.cwnd, cwnd);
        }
        write_ten(&t);
        if (ages)
            HN_EQUAL(seen.conn->cc.cwnd, tn_max(cwnd / 2 / 2, initial));
        HN_CHECK(ages || seen.conn->cc.cwnd >= cwnd);
        HN_EQUAL(seen.args[TENON_TRACE_CWV][TENON_TRACE_CWV_AGED], !ages ? 0 : silent ? 1 : 2);
        HN_EQUAL(seen.wrong, 0);
        tenon_tcp_abort(seen.conn);
        HN_CHECK(pair_close(&t.pair));
    }
    hn_row = "";
}

/* A black hole of packets above 1400 bytes: down to 1024 bytes of payload, then 1500 is tried, 1288, 1394, 1447, 1420,
 * 1407 and 1400. The first two events: each end learns the MTU of its link. */
static void search_is_told(void)
{
    static const struct case_of hole = {
        .name = "hole", .cc = &tenon_cc_cubic, .out = { .rate = 1250000, .delay_us = 10000 }, .limit = 1400
    };
    struct transfer t;

    story_begin(1U << TENON_TRACE_SEARCH | 1U << TENON_TRACE_MTU);
    begin(&t, &hole, 1);
    for (int i = 0; i < 3000 && !t.closed; i++)
        pair_run(&t.pair, 10000);
    story_is("mtu; mtu; search black_hole; mtu; "
             "search sent; search lost; "
             "search sent; search passed; mtu; search sent; search passed; mtu; "
             "search sent; search lost; search sent; search lost; search sent; search lost; "
             "search sent; search passed; mtu; ");
    HN_CHECK(pair_close(&t.pair));
}

/* ---- Fast Open ---------------------------------------------------------------------------------------------- */

static struct tenon_tcp *open_fast(struct pair *pair)
{
    static const struct tenon_tcp_events silent;
    static const tenon_u8 bytes[10];
    const struct tenon_addr there = pair_addr(1, 0, 7);
    struct tenon_tcp *conn;

    HN_EQUAL(tenon_tcp_connect(pair->stack[0], &conn, NULL, &there, &silent, NULL), TENON_OK);
    HN_EQUAL(tenon_tcp_set(conn, TENON_TCP_FASTOPEN, 1), TENON_OK);
    HN_EQUAL(tenon_tcp_write(conn, bytes, sizeof bytes), sizeof bytes);
    pair_run(pair, 100000);
    return conn;
}

static void fastopen_is_told(void)
{
    static const struct tenon_tcp_events silent;
    const struct wire_line_conf broken = { .delay_us = 1000, .loss_ppm = 1000000 }, whole = { .delay_us = 1000 };
    const struct tenon_addr here = pair_addr(1, 0, 7);
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *first;
    struct tenon_conf conf;
    struct pair pair;

    tenon_conf_default(&conf);
    conf.trace = look;
    conf.tcp_fastopen_pending_max = 1;
    HN_CHECK(pair_open(&pair, &conf));
    pair_run(&pair, 1000);
    HN_EQUAL(tenon_tcp_listen(pair.stack[1], &listener, &here, &silent, NULL, 0), TENON_OK);
    tenon_tcp_listener_set(listener, TENON_TCP_FASTOPEN, 1);
    story_begin(1U << TENON_TRACE_FASTOPEN);
    tenon_tcp_abort(open_fast(&pair));
    HN_EQUAL(story.syn_len, 1);
    story_is("fastopen asked; ");
    tenon_tcp_abort(open_fast(&pair));
    HN_EQUAL(story.syn_len, 1 + 10);
    HN_EQUAL(story.syn_seq + 1, story.early_seq);
    story_is("fastopen sent 10; fastopen delivered 10; fastopen taken 10; ");
    pair_run(&pair, 90000000000U);    /* the key has changed twice */
    tenon_tcp_abort(open_fast(&pair));
    story_is("fastopen sent 10; fastopen bad_cookie 10; fastopen refused 10; ");
    wire_line_set(pair.end[1], WIRE_OUT, &broken);
    first = open_fast(&pair);
    story_is("fastopen sent 10; fastopen delivered 10; ");
    tenon_tcp_abort(open_fast(&pair));
    story_is("fastopen sent 10; fastopen limit 10; ");
    pair_run(&pair, 2000000);
    story_is("fastopen failed; ");
    wire_line_set(pair.end[1], WIRE_OUT, &whole);
    tenon_tcp_abort(first);
    HN_CHECK(pair_close(&pair));
}

static const struct hn_test tests[] = {
    { "every_decision_is_told_once", "", every_decision_is_told_once },
    { "silence_is_told", "", silence_is_told },
    { "repair_by_probe_is_told", "", repair_by_probe_is_told },
    { "end_of_slow_start_is_told", "", end_of_slow_start_is_told },
    { "unused_window_is_told", "CWV-2 CWV-3 CWV-4", unused_window_is_told },
    { "window_of_little_use", "CWV-4 BBR-21", window_of_little_use },
    { "search_is_told", "", search_is_told },
    { "fastopen_is_told", "", fastopen_is_told },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
