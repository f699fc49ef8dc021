/* SPDX-License-Identifier: MIT */
/* Why a connection does not send: every reason shows when it holds and only then, and all of them together are the
 * life of the connection to the microsecond, whatever happens. */
#include "harness.h"
#include "limits/pair.h"

enum { RTT_US = 2000, BIG = 1000000 };

struct side {
    struct pair pair;
    struct tenon_tcp *conn, *peer;
    struct tenon_tcp_listener *listener;
    uint64_t born, peer_born;
    int opened, closed, keep;    /* keep: nothing is consumed */
    uint64_t closed_sum, closed_at;
};

static uint64_t waited(struct tenon_tcp *conn, enum tenon_tcp_wait wait)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    return (uint64_t)info.waited_ms[wait] * 1000 + info.waited_us[wait];
}

static enum tenon_tcp_wait now_for(struct tenon_tcp *conn)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    return info.waits_for;
}

static uint64_t sum_of(struct tenon_tcp *conn)
{
    uint64_t sum = 0;

    for (int i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        sum += waited(conn, (enum tenon_tcp_wait)i);
    return sum;
}

/* ---- a connection over a millisecond of wire ------------------------------------------------------------- */

static void on_opened(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    ((struct side *)app)->opened = 1;
}

static void on_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct side *side = app;

    (void)why;
    side->closed = 1;
    side->closed_sum = sum_of(conn);
    side->closed_at = wire_now(side->pair.wire);
}

static enum tenon_verdict on_incoming(struct tenon_tcp *conn, void *app)
{
    struct side *side = app;

    side->peer = conn;
    side->peer_born = wire_now(side->pair.wire);
    return TENON_ACCEPT;
}

static void on_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    const struct side *side = app;

    for (unsigned i = 0; i < n && !side->keep; i++)
        tenon_tcp_consumed(conn, spans[i].len);
}

static void on_peer_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    (void)why;
    ((struct side *)app)->peer = NULL;
}

static void line(struct side *side, const struct wire_line_conf *conf)
{
    wire_line_set(side->pair.end[0], WIRE_OUT, conf);
}

static void settle(struct side *side, uint64_t us)
{
    pair_run(&side->pair, us);
}

static void begin(struct side *side, const struct tenon_conf *conf)
{
    static const struct tenon_tcp_events events = { .opened = on_opened, .closed = on_closed };
    static const struct tenon_tcp_events accepts = { .incoming = on_incoming,
                                                     .received = on_received,
                                                     .closed = on_peer_closed };
    const struct tenon_addr there = pair_addr(1, 0, 7);
    struct tenon_conf usual;

    memset(side, 0, sizeof *side);
    tenon_conf_default(&usual);
    usual.tcp_snd_buf = BIG;
    HN_CHECK(pair_open(&side->pair, conf != NULL ? conf : &usual));
    settle(side, 777);    /* no round number */
    settle(side, 0);      /* its clock is that of its last call */
    HN_EQUAL(tenon_tcp_listen(side->pair.stack[1], &side->listener, &there, &accepts, side, 0), TENON_OK);
    HN_EQUAL(tenon_tcp_connect(side->pair.stack[0], &side->conn, NULL, &there, &events, side), TENON_OK);
    side->born = wire_now(side->pair.wire);
}

static void end(struct side *side)
{
    HN_CHECK(pair_close(&side->pair));
}

/* Until it is open. */
static void open_up(struct side *side, const struct tenon_conf *conf)
{
    begin(side, conf);
    while (!side->opened)
        settle(side, 1);
}

static tenon_u32 write_some(struct side *side, tenon_u32 n)
{
    static tenon_u8 bytes[BIG];
    const tenon_i32 taken = tenon_tcp_write(side->conn, bytes, n);

    return taken > 0 ? (tenon_u32)taken : 0;
}

static void exact(struct side *side)
{
    wire_wake(side->pair.host[0]);
    settle(side, 0);
    HN_EQUAL(sum_of(side->conn), wire_now(side->pair.wire) - side->born);
}

/* ---- one by one --------------------------------------------------------------------------------------------- */

static void connecting_waits_for_handshake(void)
{
    struct side side;

    begin(&side, NULL);
    settle(&side, RTT_US / 2);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_HANDSHAKE);
    while (!side.opened)
        settle(&side, 1);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_DATA);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_HANDSHAKE), wire_now(side.pair.wire) - side.born);
    HN_CHECK(waited(side.conn, TENON_TCP_WAIT_HANDSHAKE) >= RTT_US);
    exact(&side);
    end(&side);
}

/* Longer than 2^32 us: neither clock may wrap into the totals. */
static void idle_waits_for_data(void)
{
    const uint64_t hours = 3 * 3600000000ULL;
    struct side side;
    uint64_t before;

    open_up(&side, NULL);
    before = waited(side.conn, TENON_TCP_WAIT_DATA);
    for (int i = 0; i < 12; i++) {
        settle(&side, hours / 12);
        exact(&side);
    }
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_DATA), before + hours);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_DATA);
    end(&side);
}

static void silent_reader_waits_for_window(void)
{
    struct tenon_conf conf;
    struct side side;
    uint64_t before, handshake;

    tenon_conf_default(&conf);
    conf.tcp_snd_buf = BIG;
    conf.tcp_rcv_buf = 65535;
    open_up(&side, &conf);
    side.keep = 1;
    handshake = waited(side.conn, TENON_TCP_WAIT_HANDSHAKE);
    HN_EQUAL(write_some(&side, BIG), BIG);
    settle(&side, 3000000);
    exact(&side);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_WINDOW);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_NAGLE), 0);    /* a window that is too small is no Nagle */
    before = waited(side.conn, TENON_TCP_WAIT_WINDOW);
    settle(&side, 7000000);    /* probes in between change nothing */
    exact(&side);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_WINDOW), before + 7000000);
    side.keep = 0;
    tenon_tcp_consumed(side.peer, 65535);
    settle(&side, 20000000);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_DATA);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_HANDSHAKE), handshake);
    exact(&side);
    end(&side);
}

/* 100 ms there and back, and far more to send than the first window takes. */
static void long_path_waits_for_cwnd_or_pacing(tenon_u32 pacing, enum tenon_tcp_wait want)
{
    const struct wire_line_conf slow = { .delay_us = 100000 };
    struct tenon_conf conf;
    struct side side;

    tenon_conf_default(&conf);
    conf.tcp_snd_buf = conf.tcp_rcv_buf = BIG;
    open_up(&side, &conf);
    line(&side, &slow);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_PACING, pacing), TENON_OK);
    HN_EQUAL(write_some(&side, BIG), BIG);
    settle(&side, 50000);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_CWND);    /* the first window has left at once */
    settle(&side, 450000);
    HN_CHECK(waited(side.conn, want) > 50000);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_PACING) > 0, pacing);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_WINDOW), 0);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_NAGLE), 0);
    exact(&side);
    end(&side);
}

static void unpaced_waits_for_cwnd(void)
{
    long_path_waits_for_cwnd_or_pacing(0, TENON_TCP_WAIT_CWND);
}

static void paced_waits_for_pacing(void)
{
    long_path_waits_for_cwnd_or_pacing(1, TENON_TCP_WAIT_PACING);
}

/* The second small piece waits for the acknowledgement of the first: a round trip and the delay of it. */
static void second_piece_waits_for_nagle(void)
{
    struct side side;
    uint64_t waits;

    open_up(&side, NULL);
    settle(&side, 10000);
    write_some(&side, 10);
    settle(&side, 0);
    write_some(&side, 10);
    settle(&side, RTT_US / 2);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_NAGLE);
    settle(&side, 1000000);
    waits = waited(side.conn, TENON_TCP_WAIT_NAGLE);
    HN_CHECK(waits >= RTT_US && waits <= RTT_US + 210000);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_DATA);
    exact(&side);
    end(&side);
}

static void nodelay_waits_for_nothing(void)
{
    struct side side;

    open_up(&side, NULL);
    tenon_tcp_set(side.conn, TENON_TCP_NODELAY, 1);
    write_some(&side, 10);
    settle(&side, 0);
    write_some(&side, 10);
    settle(&side, 1000000);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_NAGLE), 0);
    exact(&side);
    end(&side);
}

/* Nobody but the application ends it: the time is that of the cork. */
static void cork_waits_for_nagle(void)
{
    struct side side;
    uint64_t before;

    open_up(&side, NULL);
    tenon_tcp_set(side.conn, TENON_TCP_CORK, 1);
    write_some(&side, 10);
    settle(&side, 0);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_NAGLE);
    before = waited(side.conn, TENON_TCP_WAIT_DATA);
    settle(&side, 12345);
    tenon_tcp_set(side.conn, TENON_TCP_CORK, 0);
    settle(&side, 0);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_NAGLE), 12345);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_DATA), before);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_DATA);
    end(&side);
}

/* 12 kbyte/s, and a port that refuses what its queue does not take. */
static void slow_port_waits_for_port(void)
{
    const struct wire_line_conf narrow = { .rate = 12000, .delay_us = 1000, .queue_bytes = 3100, .queue_refuses = 1 };
    struct tenon_conf conf;
    struct side side;

    tenon_conf_default(&conf);
    conf.tcp_snd_buf = BIG;
    conf.tx_burst_max = 8;
    open_up(&side, &conf);
    tenon_tcp_set(side.conn, TENON_TCP_PACING, 0);
    line(&side, &narrow);
    HN_EQUAL(write_some(&side, 300000), 300000);
    settle(&side, 5000000);
    HN_CHECK(waited(side.conn, TENON_TCP_WAIT_PORT) > 100000);
    exact(&side);
    end(&side);
}

static void lost_route_waits_for_host(void)
{
    const struct tenon_ip ip = pair_ip(0, 0);
    struct side side;
    uint64_t host;

    open_up(&side, NULL);
    HN_EQUAL(tenon_addr_remove(side.pair.stack[0], 1, &ip), TENON_OK);
    write_some(&side, 10);
    settle(&side, 0);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_HOST);
    host = waited(side.conn, TENON_TCP_WAIT_HOST);
    settle(&side, 5000000);
    exact(&side);
    HN_EQUAL(waited(side.conn, TENON_TCP_WAIT_HOST), host + 5000000);
    end(&side);
}

/* One connection more. */
static void open_other(struct side *side)
{
    static const struct tenon_tcp_events events = { 0 };
    const struct tenon_addr there = pair_addr(1, 0, 7);
    struct tenon_tcp *other;

    HN_EQUAL(tenon_tcp_connect(side->pair.stack[0], &other, NULL, &there, &events, side), TENON_OK);
}

/* The second connection takes the place of the first among those that rest, the third works with what the first had:
 * there is nothing for a FIN to be remembered in. */
static void no_memory_waits_for_host(void)
{
    const struct wire_fail all = { .mem_nth = 1, .for_good = 1 };
    const struct wire_fail none = { 0 };
    struct tenon_conf conf;
    struct side side;
    uint64_t waits;

    tenon_conf_default(&conf);
    conf.tcp_resting_max = 1;
    open_up(&side, &conf);
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_CORK, 1), TENON_OK);
    write_some(&side, 10);
    settle(&side, 1000);    /* totals are kept from now on */
    HN_EQUAL(tenon_tcp_set(side.conn, TENON_TCP_CORK, 0), TENON_OK);
    settle(&side, 100000);
    open_other(&side);
    settle(&side, 10000);
    open_other(&side);
    wire_host_fail(side.pair.host[0], &all);
    HN_EQUAL(tenon_tcp_finish(side.conn), TENON_OK);
    settle(&side, 0);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_HOST);
    settle(&side, 100000);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_HOST);
    wire_host_fail(side.pair.host[0], &none);
    for (unsigned i = 0; i < 20000 && now_for(side.conn) == TENON_TCP_WAIT_HOST; i++)
        settle(&side, 100);
    HN_EQUAL(now_for(side.conn), TENON_TCP_WAIT_DATA);
    waits = waited(side.conn, TENON_TCP_WAIT_HOST);
    HN_CHECK(waits >= 100000 && waits < 2000000);
    exact(&side);
    end(&side);
}

static void names_are_told(void)
{
    for (int i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        HN_CHECK(strcmp(tenon_tcp_wait_name((enum tenon_tcp_wait)i), "?") != 0);
    HN_CHECK(strcmp(tenon_tcp_wait_name(TENON_TCP_WAIT_COUNT), "?") == 0);
    HN_CHECK(strcmp(tenon_tcp_wait_name(TENON_TCP_WAIT_CWND), "cwnd") == 0);
}

/* ---- all together -------------------------------------------------------------------------------------------- */

struct chance {
    uint64_t state;
};

static uint32_t roll(struct chance *chance, uint32_t below)
{
    chance->state = chance->state * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(chance->state >> 33) % below;
}

static void vary_line(struct side *side, struct chance *chance)
{
    const struct wire_line_conf conf = { .rate = roll(chance, 2) ? 0 : 20000 + roll(chance, 2000000),
                                         .delay_us = 1 + roll(chance, 60000),
                                         .jitter_us = roll(chance, 2) ? roll(chance, 3000) : 0,
                                         .queue_bytes = 3100 + roll(chance, 40000),
                                         .queue_refuses = (uint8_t)roll(chance, 2),
                                         .refuse_ppm = roll(chance, 4) ? 0 : 50000,
                                         .loss_ppm = roll(chance, 3) ? 0 : roll(chance, 200000),
                                         .reorder_ppm = roll(chance, 3) ? 0 : 50000 };

    line(side, &conf);
}

/* One thing that an application or the world does. */
static void disturb(struct side *side, struct chance *chance)
{
    const struct wire_fail some = { .mem_ppm = 30000, .buf_ppm = 100000 }, none = { 0 };

    switch (roll(chance, 8)) {
    case 0: vary_line(side, chance); break;
    case 1: tenon_tcp_set(side->conn, TENON_TCP_NODELAY, roll(chance, 2)); break;
    case 2: tenon_tcp_set(side->conn, TENON_TCP_CORK, roll(chance, 2)); break;
    case 3: tenon_tcp_set(side->conn, TENON_TCP_PACING, roll(chance, 2)); break;
    case 4: wire_host_fail(side->pair.host[0], roll(chance, 4) == 0 ? &some : &none); break;
    case 5: side->keep = roll(chance, 2) != 0; break;
    default: write_some(side, roll(chance, 2) ? 1 + roll(chance, 100) : roll(chance, 60000)); break;
    }
}

static void check_all(struct side *side, uint64_t last[TENON_TCP_WAIT_COUNT], int seen[TENON_TCP_WAIT_COUNT])
{
    const enum tenon_tcp_wait now = now_for(side->conn);
    struct tenon_tcp_info info;

    exact(side);
    tenon_tcp_status(side->conn, &info);
    for (int i = 0; i < TENON_TCP_WAIT_COUNT; i++) {
        const uint64_t total = waited(side->conn, (enum tenon_tcp_wait)i);

        HN_CHECK(total >= last[i] && info.waited_us[i] < 1000);
        seen[i] |= total > 0;
        last[i] = total;
    }
    HN_CHECK(now < TENON_TCP_WAIT_COUNT);
    if (tenon_tcp_check(side->conn) != NULL)
        HN_CHECK(0);
}

static void life(uint64_t seed, int seen[TENON_TCP_WAIT_COUNT])
{
    uint64_t last[TENON_TCP_WAIT_COUNT] = { 0 };
    struct chance chance = { seed * 2654435761U + 1 };
    const struct wire_fail none = { 0 };
    const struct wire_line_conf clean = { .delay_us = 1000 };
    struct tenon_conf conf;
    struct side side;

    tenon_conf_default(&conf);
    conf.tcp_snd_buf = 200000;
    conf.tx_burst_max = 8;
    begin(&side, &conf);
    for (int step = 0; step < 300 && !side.closed; step++) {
        if (side.opened)
            disturb(&side, &chance);
        settle(&side, roll(&chance, 3) ? roll(&chance, 5000) : roll(&chance, 400000));
        if (!side.closed)
            check_all(&side, last, seen);
    }
    wire_host_fail(side.pair.host[0], &none);
    line(&side, &clean);
    if (!side.closed)
        tenon_tcp_abort(side.conn);
    /* An abort does not know that time has passed since the last poll. */
    HN_CHECK(side.closed && side.closed_sum <= side.closed_at - side.born);
    HN_CHECK(side.closed_sum + 1 > last[0]);
    end(&side);
}

static void whatever_happens_the_sum_is_the_life(void)
{
    int seen[TENON_TCP_WAIT_COUNT] = { 0 };
    static char row[32];

    for (unsigned seed = 1; seed <= 120; seed++) {
        snprintf(row, sizeof row, "seed %u", seed);
        hn_row = row;
        life(seed, seen);
    }
    hn_row = "";
    for (int i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        HN_CHECK(seen[i]);    /* or the histories are too tame */
}

static const struct hn_test tests[] = {
    { "connecting_waits_for_handshake", "", connecting_waits_for_handshake },
    { "idle_waits_for_data", "", idle_waits_for_data },
    { "silent_reader_waits_for_window", "", silent_reader_waits_for_window },
    { "unpaced_waits_for_cwnd", "", unpaced_waits_for_cwnd },
    { "paced_waits_for_pacing", "", paced_waits_for_pacing },
    { "second_piece_waits_for_nagle", "", second_piece_waits_for_nagle },
    { "nodelay_waits_for_nothing", "", nodelay_waits_for_nothing },
    { "cork_waits_for_nagle", "", cork_waits_for_nagle },
    { "slow_port_waits_for_port", "", slow_port_waits_for_port },
    { "lost_route_waits_for_host", "", lost_route_waits_for_host },
    { "no_memory_waits_for_host", "", no_memory_waits_for_host },
    { "names_are_told", "", names_are_told },
    { "whatever_happens_the_sum_is_the_life", "", whatever_happens_the_sum_is_the_life },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
