/* SPDX-License-Identifier: MIT */
/* Connections that do nothing: how many keep their block, what the others have forgotten, and that nobody notices. */
#include "harness.h"
#include "limits/pair.h"

#include "tcp/tcp_internal.h"

enum { CONNS = 6, RESTING = 2, MANY = 200 };

struct group {
    struct pair pair;
    struct tenon_tcp *conn[MANY];
    unsigned echoed, inits, inits_after_silence;
    tenon_u32 kept_word, kept_delivered;
};

static struct group *group;

/* ---- a congestion control that looks on ------------------------------------------------------------------- */

static void looks_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    group->inits++;
    for (unsigned i = 0; i < TENON_CC_WORDS + cc->ops->more_words; i++)
        HN_EQUAL(cc->words[i], 0);
    if (cc->cwnd != 0) {
        group->inits_after_silence++;
        HN_EQUAL(cc->cwnd, 12345);
        HN_EQUAL(cc->ssthresh, 54321);
    }
    cc->cwnd = 12345;
    cc->ssthresh = 54321;
    for (unsigned i = 0; i < TENON_CC_WORDS + cc->ops->more_words; i++)
        cc->words[i] = 1000 + i;
    (void)event;
}

static void looks_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    for (unsigned i = 0; i < TENON_CC_WORDS + cc->ops->more_words; i++)
        HN_EQUAL(cc->words[i], 1000 + i);
    group->kept_delivered = event->total_delivered;
}

static void looks_away(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;
    (void)event;
}

static const struct tenon_cc_ops usual = { "usual", looks_init, looks_acked, looks_away, looks_away, looks_away,
                                           looks_away, TENON_CC_OWN_RECOVERY, 0, NULL, NULL, NULL, NULL, NULL };
static const struct tenon_cc_ops larger = { "larger", looks_init, looks_acked, looks_away, looks_away, looks_away,
                                            looks_away, TENON_CC_OWN_RECOVERY, 5, NULL, NULL, NULL, NULL, NULL };

/* ---- some connections over a millisecond of wire ------------------------------------------------------------ */

static void group_echo(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        HN_EQUAL(tenon_tcp_send(conn, &spans[i]), TENON_OK);
        tenon_tcp_consumed(conn, spans[i].len);
    }
    (void)app;
}

static void group_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        ((struct group *)app)->echoed += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void group_open_many(struct group *g, const struct tenon_cc_ops *cc, unsigned n, unsigned resting)
{
    static const struct tenon_tcp_events echoes = { .received = group_echo };
    static const struct tenon_tcp_events events = { .received = group_received };
    const struct tenon_addr there = pair_addr(1, 0, 7);
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;

    memset(g, 0, sizeof *g);
    group = g;
    tenon_conf_default(&conf);
    conf.tcp_resting_max = resting;
    conf.tcp_cc = cc;
    HN_CHECK(pair_open(&g->pair, &conf));
    HN_EQUAL(tenon_tcp_listen(g->pair.stack[1], &listener, &there, &echoes, g, 0), TENON_OK);
    for (unsigned i = 0; i < n; i++) {
        HN_EQUAL(tenon_tcp_connect(g->pair.stack[0], &g->conn[i], NULL, &there, &events, g), TENON_OK);
        pair_run(&g->pair, 10000);
    }
}

static void group_open(struct group *g, const struct tenon_cc_ops *cc)
{
    group_open_many(g, cc, CONNS, RESTING);
}

/* So many bytes there and back. */
static void group_talk(struct group *g, unsigned i, unsigned bytes)
{
    static const tenon_u8 data[100000];
    const unsigned before = g->echoed;

    HN_EQUAL(tenon_tcp_write(g->conn[i], data, bytes), (tenon_i32)bytes);
    pair_run(&g->pair, 500000);
    HN_EQUAL(g->echoed - before, bytes);
}

static unsigned group_blocks(const struct group *g)
{
    unsigned n = 0;

    for (unsigned i = 0; i < CONNS; i++)
        n += g->conn[i]->flight != NULL;
    return n;
}

static uint64_t group_mem_calls(const struct group *g)
{
    struct wire_host_stats stats[2];

    wire_host_stats(g->pair.host[0], &stats[0]);
    wire_host_stats(g->pair.host[1], &stats[1]);
    return stats[0].mem_calls + stats[1].mem_calls;
}

/* ---- tests ------------------------------------------------------------------------------------------------ */

/* What docs/design/speed.md says of lines of 64 bytes, in the build that is made to be fast on machines of 64 bits: who
 * adds a field to the first ones pushes another one out of them. */
static void usual_segment_has_its_lines(void)
{
    static const struct {
        const char *name;
        size_t at, end, from, to;    /* where it lies, and where it may */
    } rows[] = {
#define IN(type, first, last, from, to) \
    { #first " to " #last, offsetof(struct type, first), \
      offsetof(struct type, last) + sizeof(((struct type *)0)->last), from, to }
        IN(tenon_tcp, state, snd_nxt, 0, 64),
        IN(tenon_tcp, stack, srtt8, 64, 128),
        IN(tenon_tcp, events, cc, 128, 192),
        IN(tenon_tcp, timer, begin_us, 192, 256),
        IN(tn_flight, rack_valid, few_pieces[0], 60, 256),
        IN(tn_flight, header, few[0], 320, 576),
        IN(tn_flight, total_delivered, mtu_claim, 576, 768),
#undef IN
    };

    if (!TN_FAST || !TENON_WITH_IPV6 || !TENON_WITH_STATS || !TENON_WITH_MANY || sizeof(void *) != 8)
        return;
    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++)
        if (rows[i].at < rows[i].from || rows[i].end > rows[i].to) {
            printf("%s: %u to %u\n", rows[i].name, (unsigned)rows[i].at, (unsigned)rows[i].end);
            HN_CHECK(0);
        }
    HN_EQUAL(offsetof(struct tenon_tcp, stack), 64);
    HN_EQUAL(offsetof(struct tenon_tcp, events), 128);
    HN_CHECK(sizeof(struct tenon_tcp) <= 264);
}

/* All take turns, and some rest: memory is neither taken nor given back. */
static void turns_take_no_memory(void)
{
    static struct group g;
    uint64_t calls;

    group_open(&g, NULL);
    for (unsigned i = 0; i < CONNS; i++)
        group_talk(&g, i, 100);
    HN_EQUAL(group_blocks(&g), RESTING);
    HN_CHECK(g.conn[CONNS - 1]->flight != NULL && g.conn[0]->flight == NULL);
    calls = group_mem_calls(&g);
    for (unsigned i = 0; i < 5 * CONNS; i++) {
        group_talk(&g, i % CONNS, 100);
        HN_EQUAL(group_blocks(&g), RESTING);
    }
    HN_EQUAL(group_mem_calls(&g), calls);
    HN_EQUAL(g.pair.stack[0]->tcp.nrest, RESTING);
    HN_CHECK(g.pair.stack[0]->tcp.spare_flights.n <= RESTING);
    HN_CHECK(pair_close(&g.pair));
}

/* A stream there and back whose queues and blocks have grown asks for nothing more, however much follows. (When it
 * pauses for long enough that all is acknowledged, what has grown is given back.) */
static void warm_stream_takes_no_memory(void)
{
    static struct group g;
    static const tenon_u8 data[20000];
    uint64_t calls = 0;

    group_open(&g, NULL);
    for (unsigned round = 0; round < 700; round++) {
        while (tenon_tcp_room(g.conn[0]) >= sizeof data)
            HN_EQUAL(tenon_tcp_write(g.conn[0], data, sizeof data), sizeof data);
        pair_run(&g.pair, 1000);
        if (round == 300) {
            calls = group_mem_calls(&g);
            g.echoed = 0;
        }
    }
    HN_EQUAL(group_mem_calls(&g), calls);
    HN_CHECK(g.echoed > 1000000);
    HN_CHECK(pair_close(&g.pair));
}

/* Many at the same time, each of whom may keep its block: the first time takes what all others use. */
static void warm_crowd_takes_no_memory(void)
{
    static struct group g;
    static const tenon_u8 data[3000];
    uint64_t calls = 0;

    group_open_many(&g, NULL, MANY, MANY);
    for (unsigned round = 0; round < 20; round++) {
        g.echoed = 0;
        for (unsigned i = 0; i < MANY; i++)
            HN_EQUAL(tenon_tcp_write(g.conn[i], data, sizeof data), sizeof data);
        pair_run(&g.pair, 500000);
        HN_EQUAL(g.echoed, MANY * sizeof data);
        if (round == 3)
            calls = group_mem_calls(&g);
    }
    HN_EQUAL(group_mem_calls(&g), calls);
    HN_CHECK(pair_close(&g.pair));
}

/* Those who work at the same time all have one, and afterwards most is given back. */
static void crowd_gives_back(void)
{
    static struct group g;
    static const tenon_u8 data[100];

    group_open(&g, NULL);
    for (unsigned i = 0; i < CONNS; i++)
        HN_EQUAL(tenon_tcp_write(g.conn[i], data, sizeof data), sizeof data);
    HN_EQUAL(group_blocks(&g), CONNS);
    pair_run(&g.pair, 500000);
    HN_EQUAL(g.echoed, CONNS * sizeof data);
    HN_EQUAL(group_blocks(&g), RESTING);
    HN_CHECK(g.pair.stack[0]->tcp.spare_flights.n <= RESTING);
    HN_CHECK(pair_close(&g.pair));
}

/* The window stays, the words begin anew, and init() is told so. */
static void words_begin_anew(void)
{
    static struct group g;

    group_open(&g, &usual);
    HN_EQUAL(g.inits, 2 * CONNS);
    HN_CHECK(g.conn[0]->cc.words == NULL);
    for (unsigned i = 0; i < CONNS; i++)
        group_talk(&g, i, 100);
    HN_CHECK(g.inits_after_silence >= 2 * (CONNS - RESTING));
    HN_EQUAL(g.conn[0]->cc.cwnd, 12345);
    HN_CHECK(pair_close(&g.pair));
}

/* A table with words of its own keeps them all, and its totals. */
static void more_words_stay(void)
{
    static struct group g;

    group_open(&g, &larger);
    for (unsigned round = 1; round <= 3; round++)
        for (unsigned i = 0; i < CONNS; i++) {
            group_talk(&g, i, 100);
            HN_EQUAL(g.kept_delivered, round * 100);
        }
    HN_EQUAL(g.inits, 2 * CONNS);
    HN_EQUAL(g.inits_after_silence, 0);
    HN_CHECK(pair_close(&g.pair));
}

/* What is reported goes on: nothing goes backwards, and all the waiting is still there. */
static void status_survives(void)
{
    const struct wire_line_conf lossy = { .delay_us = 1000, .loss_ppm = 200000 }, good = { .delay_us = 1000 };
    struct tenon_tcp_info before, after;
    static const tenon_u8 data[90000];
    static struct group g;
    tenon_u32 waited = 0;

    group_open(&g, NULL);
    wire_line_set(g.pair.end[0], WIRE_OUT, &lossy);
    HN_EQUAL(tenon_tcp_write(g.conn[0], data, sizeof data), sizeof data);
    pair_run(&g.pair, 60000000);
    HN_EQUAL(g.echoed, sizeof data);
    wire_line_set(g.pair.end[0], WIRE_OUT, &good);
    for (unsigned i = 1; i < CONNS; i++)
        group_talk(&g, i, 100);
    HN_CHECK(g.conn[0]->flight == NULL);
    tenon_tcp_status(g.conn[0], &before);
    HN_CHECK(before.retransmits > 0 && before.srtt_us > 0 && before.rto_us >= 200000 && before.cwnd > 0);
    HN_EQUAL(before.in_flight, 0);
    for (unsigned i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        waited += i == TENON_TCP_WAIT_DATA ? 0 : before.waited_ms[i];
    HN_CHECK(waited > 0);
    group_talk(&g, 0, 100);
    tenon_tcp_status(g.conn[0], &after);
    HN_CHECK(after.retransmits >= before.retransmits && after.rtos >= before.rtos);
    HN_CHECK(after.ssthresh == before.ssthresh &&
             after.waited_ms[TENON_TCP_WAIT_DATA] > before.waited_ms[TENON_TCP_WAIT_DATA]);
    for (unsigned i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        HN_CHECK(after.waited_ms[i] >= before.waited_ms[i]);
    HN_CHECK(pair_close(&g.pair));
}

/* Bytes that the application has not acknowledged, and what is out of order, keep the block. */
static void held_bytes_keep_the_block(void)
{
    static struct group g;

    group_open(&g, NULL);
    HN_EQUAL(tenon_tcp_set(g.conn[0], TENON_TCP_ACK_BY_HAND, 1), TENON_OK);
    group_talk(&g, 0, 100);
    for (unsigned i = 1; i < CONNS; i++)
        group_talk(&g, i, 100);
    HN_CHECK(g.conn[0]->flight != NULL);
    HN_EQUAL(tn_tcp_rcv_held(g.conn[0]), 100);
    tenon_tcp_ack(g.conn[0], 100);
    pair_run(&g.pair, 100000);
    for (unsigned i = 1; i < CONNS; i++)
        group_talk(&g, i, 100);
    HN_CHECK(g.conn[0]->flight == NULL);
    HN_CHECK(pair_close(&g.pair));
}

/* After an hour one is finished that has no block, and there is no memory for one at first: its FIN leaves a
 * little later, and nobody takes the silence before for a lack of answers. */
static void finish_after_silence(void)
{
    const struct wire_fail all = { .mem_nth = 1, .for_good = 1 }, none = { 0 };
    static struct group g;
    struct tenon *stack;

    group_open(&g, NULL);
    stack = g.pair.stack[0];
    pair_run(&g.pair, 3600000000U);
    HN_CHECK(g.conn[0]->flight == NULL);
    while (stack->tcp.spare_flights.n > 0)
        tn_mem_put(stack, tn_spare_get(stack, &stack->tcp.spare_flights, TN_FLIGHT_BYTES), TN_FLIGHT_BYTES);
    wire_host_fail(g.pair.host[0], &all);
    HN_EQUAL(tenon_tcp_finish(g.conn[0]), TENON_OK);
    pair_run(&g.pair, 100000);
    HN_CHECK(g.conn[0]->flight == NULL);
    wire_host_fail(g.pair.host[0], &none);
    pair_run(&g.pair, 1000000);
    HN_EQUAL(tenon_tcp_state(g.conn[0]), TENON_TCP_CLOSED);
    HN_EQUAL(tenon_stat(stack, TENON_STAT_TCP_TIMEOUT), 0);
    HN_EQUAL(tenon_stat(stack, TENON_STAT_TCP_TIME_WAIT), 1);
    HN_CHECK(pair_close(&g.pair));
}

/* Keep-alives after days are further away than ticks can tell: nothing is to be done before. */
static void keepalive_after_days(void)
{
    const tenon_u32 idle_s[] = { 200000, 300000, 600000, 1000000 };
    static struct group g;
    struct tenon *stack;

    group_open(&g, NULL);
    stack = g.pair.stack[0];
    pair_run(&g.pair, 10000000);
    for (unsigned i = 0; i < TENON_ARRAY_LEN(idle_s); i++) {
        HN_EQUAL(tenon_tcp_set(g.conn[0], TENON_TCP_KEEPALIVE_IDLE_S, idle_s[i]), TENON_OK);
        (void)tenon_poll(stack, stack->now_us);
        HN_CHECK(tenon_poll(stack, stack->now_us) > 60000000UL);
        HN_EQUAL(tenon_stat(stack, TENON_STAT_TCP_KEEPALIVE), 0);
    }
    HN_EQUAL(tenon_tcp_set(g.conn[0], TENON_TCP_KEEPALIVE_IDLE_S, 300000), TENON_OK);
    pair_run(&g.pair, 299980000000U);
    HN_EQUAL(tenon_stat(stack, TENON_STAT_TCP_KEEPALIVE), 0);
    pair_run(&g.pair, 30000000);
    HN_EQUAL(tenon_stat(stack, TENON_STAT_TCP_KEEPALIVE), 1);
    HN_CHECK(pair_close(&g.pair));
}

static struct tenon_tcp *talker;

static void talker_find(struct tenon_tcp *conn, void *arg)
{
    const struct tenon_tcp *client = (const struct tenon_tcp *)arg;

    if (tn_tcp_remote_port(conn) == tn_tcp_local_port(client))
        talker = conn;
}

/* What is to be acknowledged by hand is not taken while there is no memory to remember that. */
static void by_hand_without_memory(void)
{
    const struct wire_fail all = { .mem_nth = 1, .for_good = 1 }, none = { 0 };
    static const tenon_u8 data[100];
    static struct group g;
    struct tenon *stack;

    group_open(&g, NULL);
    stack = g.pair.stack[0];
    HN_EQUAL(tenon_tcp_set(g.conn[0], TENON_TCP_ACK_BY_HAND, 1), TENON_OK);
    for (unsigned i = 1; i < CONNS; i++)
        group_talk(&g, i, 100);
    HN_CHECK(g.conn[0]->flight == NULL);
    g.echoed = 0;
    while (stack->tcp.spare_flights.n > 0)
        tn_mem_put(stack, tn_spare_get(stack, &stack->tcp.spare_flights, TN_FLIGHT_BYTES), TN_FLIGHT_BYTES);
    tenon_tcp_each(g.pair.stack[1], talker_find, g.conn[0]);
    wire_host_fail(g.pair.host[0], &all);
    HN_EQUAL(tenon_tcp_write(talker, data, sizeof data), sizeof data);
    pair_run(&g.pair, 100000);
    HN_EQUAL(g.echoed, 0);
    wire_host_fail(g.pair.host[0], &none);
    pair_run(&g.pair, 2000000);
    HN_EQUAL(g.echoed, sizeof data);
    HN_EQUAL(tn_tcp_rcv_held(g.conn[0]), sizeof data);
    HN_CHECK(pair_close(&g.pair));
}

/* The same change is the same block, whoever makes it; another one is not. */
static void same_options_are_shared(void)
{
    static struct group g;

    group_open(&g, NULL);
    for (unsigned i = 0; i < 3; i++) {
        HN_EQUAL(tenon_tcp_set(g.conn[i], TENON_TCP_NODELAY, 1), TENON_OK);
        HN_EQUAL(tenon_tcp_set(g.conn[i], TENON_TCP_TTL, 9), TENON_OK);
    }
    HN_CHECK(g.conn[0]->opts == g.conn[1]->opts && g.conn[1]->opts == g.conn[2]->opts);
    HN_EQUAL(tenon_tcp_set(g.conn[1], TENON_TCP_TTL, 10), TENON_OK);
    HN_EQUAL(tenon_tcp_get(g.conn[0], TENON_TCP_TTL), 9);
    HN_EQUAL(tenon_tcp_get(g.conn[1], TENON_TCP_TTL), 10);
    HN_EQUAL(tenon_tcp_get(g.conn[2], TENON_TCP_TTL), 9);
    HN_EQUAL(tenon_tcp_get(g.conn[3], TENON_TCP_NODELAY), 0);
    HN_CHECK(pair_close(&g.pair));
}

static const struct hn_test tests[] = {
    { "usual_segment_has_its_lines", "", usual_segment_has_its_lines },
    { "turns_take_no_memory", "", turns_take_no_memory },
    { "warm_stream_takes_no_memory", "", warm_stream_takes_no_memory },
    { "warm_crowd_takes_no_memory", "", warm_crowd_takes_no_memory },
    { "crowd_gives_back", "", crowd_gives_back },
    { "words_begin_anew", "", words_begin_anew },
    { "more_words_stay", "", more_words_stay },
    { "status_survives", "", status_survives },
    { "held_bytes_keep_the_block", "", held_bytes_keep_the_block },
    { "finish_after_silence", "9293-MUST-37", finish_after_silence },
    { "by_hand_without_memory", "", by_hand_without_memory },
    { "keepalive_after_days", "9293-KA-1", keepalive_after_days },
    { "same_options_are_shared", "", same_options_are_shared },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
