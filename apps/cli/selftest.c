/* SPDX-License-Identifier: MIT */
/* tenon selftest: two instances in this process, joined by a network in memory that has a rate, a delay and
 * losses. Each sends the other a known sequence of bytes and compares what arrives. Nothing of the operating
 * system's network is used, so it works for everybody and anywhere. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "common/flow.h"
#include "common/log.h"
#include "common/options.h"
#include "common/text.h"
#include "common/tracefile.h"
#include "wire/wire.h"

enum {
    PATTERN_BYTES = 65521,           /* a prime: no packet size divides it */
    SELFTEST_PORT = 9000,
    SELFTEST_STEP_US = 50000,
    SELFTEST_LIMIT_US = 600000000    /* virtual time in which nothing arrives */
};

struct selftest_options {
    uint64_t bytes, seed;
    unsigned loss_ppm, delay_us, rate_mbit;
    const char *trace;
    int progress;
};

/* One side of the transfer. */
struct side {
    struct flow flow;                /* first, as in the other programs */
    const char *name;
    struct wire_host *host;
    struct wire_end *end;
    struct tenon_tcp *conn;
    uint64_t want, sent, received;
    int wrong, finished, closed, why;
};

static struct {
    struct selftest_options options;
    tenon_u8 pattern[2 * PATTERN_BYTES];    /* twice, so that a span may begin anywhere in it */
    struct tenon_buf buf;
    struct wire *wire;
    struct side sides[2];
    struct trace_writer *trace;
} self;

/* ---- a side --------------------------------------------------------------------------------------- */

static void pattern_release(struct tenon_buf *buf)
{
    buf->refs = 1;    /* it is static */
}

static void make_pattern(void)
{
    uint64_t x = 1;
    unsigned i;

    for (i = 0; i < PATTERN_BYTES; i++) {
        x = wire_mix(x + i);
        self.pattern[i] = self.pattern[i + PATTERN_BYTES] = (tenon_u8)x;
    }
    self.buf.data = self.pattern;
    self.buf.size = sizeof self.pattern;
    self.buf.refs = 1;
    self.buf.release = pattern_release;
}

static void side_send(struct side *side)
{
    struct tenon_span span;
    tenon_u32 room;

    while (side->sent < side->want) {
        room = tenon_tcp_room(side->conn);
        span.buf = &self.buf;
        span.off = (tenon_u32)(side->sent % PATTERN_BYTES);
        span.len = side->want - side->sent < PATTERN_BYTES ? (tenon_u32)(side->want - side->sent) : PATTERN_BYTES;
        if (span.len > room)
            span.len = room;
        if (span.len == 0 || tenon_tcp_send(side->conn, &span) != TENON_OK)
            return;
        side->sent += span.len;
    }
    if (!side->finished)
        tenon_tcp_finish(side->conn);
    side->finished = 1;
}

static void side_opened(struct tenon_tcp *conn, void *app)
{
    struct side *side = app;

    side->conn = conn;
    side_send(side);
}

static void side_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct side *side = app;
    uint32_t at, piece;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (at = 0; at < spans[i].len; at += piece) {
            piece = spans[i].len - at < PATTERN_BYTES ? spans[i].len - at : PATTERN_BYTES;
            if (memcmp(tenon_span_data(&spans[i]) + at, self.pattern + side->received % PATTERN_BYTES, piece) != 0)
                side->wrong = 1;
            side->received += piece;
        }
    }
    tenon_tcp_consumed(conn, spans_bytes(spans, n));
}

static void side_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn;
    (void)bytes;
    side_send(app);
}

static void side_peer_finished(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    (void)app;    /* we finish when we have sent everything */
}

static void side_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct side *side = app;

    (void)conn;
    side->conn = NULL;
    side->closed = 1;
    side->why = why;
}

static const struct tenon_tcp_events side_events = { NULL, side_opened, side_received, side_acked, side_peer_finished,
                                                     side_closed, NULL, NULL };

/* ---- the network ---------------------------------------------------------------------------------- */

static void *memory_get(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void memory_put(void *arg, void *mem, size_t bytes)
{
    (void)arg;
    (void)bytes;
    free(mem);
}

static void self_trace(void *host, const struct tenon_trace_event *event)
{
    if (self.trace != NULL && host == (void *)self.sides[0].host)
        trace_writer_add(self.trace, event);
}

static int open_side(struct side *side, unsigned number)
{
    struct wire_host_conf host;
    struct wire_end_conf end;
    struct tenon_conf conf;

    memset(&host, 0, sizeof host);
    memset(&end, 0, sizeof end);
    tenon_conf_default(&conf);
    conf.trace = self_trace;
    host.seed = self.options.seed * 2 + number;
    side->host = wire_host_open(self.wire, &host, &conf);
    if (side->host == NULL)
        return -1;
    memcpy(end.netif.mac, "\x02\x00\x00\x00\x00", 5);
    end.netif.mac[5] = (tenon_u8)(number + 1);
    end.netif.mtu = 1500;
    end.netif.caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6;
    end.netif.flags = TENON_NETIF_NO_DAD;
    end.cut = end.complete_checksums = 1;
    end.out.rate = (uint64_t)self.options.rate_mbit * 125000;
    end.out.delay_us = self.options.delay_us;
    end.out.loss_ppm = self.options.loss_ppm;
    end.out.queue_bytes = 1 << 20;
    side->end = wire_end_open(side->host, &end);
    return side->end != NULL ? 0 : -1;
}

static struct tenon_ip address_of(unsigned number, int v6)
{
    return v6 ? tenon_ip6(0xfd000009UL, 0, 0, number + 1) : tenon_ip4_bytes(10, 9, 0, number + 1);
}

static int begin(int v6)
{
    struct wire_conf conf;
    struct tenon_tcp_listener *listener;
    struct tenon_addr to;
    struct tenon_ip ip;
    unsigned i;

    memset(self.sides, 0, sizeof self.sides);
    memset(&conf, 0, sizeof conf);
    conf.memory.get = memory_get;
    conf.memory.put = memory_put;
    conf.seed = self.options.seed;
    self.wire = wire_open(&conf);
    for (i = 0; self.wire != NULL && i < 2; i++) {
        self.sides[i].name = i == 0 ? "client" : "server";
        self.sides[i].want = self.options.bytes;
        if (open_side(&self.sides[i], i) != 0)
            return -1;
        ip = address_of(i, v6);
        if (tenon_addr_add(wire_host_stack(self.sides[i].host), wire_end_netif(self.sides[i].end), &ip,
                           v6 ? 64 : 24) != TENON_OK)
            return -1;
    }
    if (self.wire == NULL)
        return -1;
    memset(&to, 0, sizeof to);
    to.port = SELFTEST_PORT;
    if (tenon_tcp_listen(wire_host_stack(self.sides[1].host), &listener, &to, &side_events, &self.sides[1], 0) !=
        TENON_OK)
        return -1;
    to.ip = address_of(1, v6);
    if (tenon_tcp_connect(wire_host_stack(self.sides[0].host), &self.sides[0].conn, NULL, &to, &side_events,
                          &self.sides[0]) != TENON_OK)
        return -1;
    wire_wake(self.sides[0].host);
    return 0;
}

static void end_all(void)
{
    unsigned i;

    for (i = 0; i < 2; i++) {
        if (self.sides[i].host != NULL)
            wire_host_fini(self.sides[i].host);
    }
    for (i = 0; i < 2; i++) {
        if (self.sides[i].host != NULL)
            wire_host_close(self.sides[i].host);
    }
    if (self.wire != NULL)
        wire_close(self.wire);
    self.wire = NULL;
}

/* ---- one transfer --------------------------------------------------------------------------------- */

static int judge(const struct side *side)
{
    if (side->closed && side->why == TENON_OK && side->received == side->want && !side->wrong)
        return 0;
    log_error("%s: %s of %s bytes received%s; %s", side->name, text_count(side->received).s, text_count(side->want).s,
              side->wrong ? ", not all of them right" : "",
              side->closed ? tenon_error_text(side->why) : "the connection did not end");
    return -1;
}

static void report(int v6, double virtual_s, double real_s)
{
    tenon_u32 again = 0, timeouts = 0;
    unsigned i;

    for (i = 0; i < 2; i++) {
        again += tenon_stat(wire_host_stack(self.sides[i].host), TENON_STAT_TCP_RETRANSMIT);
        timeouts += tenon_stat(wire_host_stack(self.sides[i].host), TENON_STAT_TCP_RTO);
    }
    printf("%s: %s each way, byte for byte right: %s each way in the network's time (%s), %s of work; "
           "%lu segments sent again, %lu timeouts\n",
           v6 ? "IPv6" : "IPv4", text_bytes(self.options.bytes).s, text_rate(self.options.bytes, virtual_s).s,
           text_duration(virtual_s).s, text_duration(real_s).s, (unsigned long)again, (unsigned long)timeouts);
}

static int transfer(int v6)
{
    struct progress progress;
    uint64_t began = clock_us(), received = 0, since = 0;
    int failed;

    if (begin(v6) != 0) {
        log_error("the network in memory cannot be made");
        end_all();
        return -1;
    }
    progress_begin(&progress, v6 ? "IPv6" : "IPv4", self.options.progress);
    progress.total = 2 * self.options.bytes;
    while (!(self.sides[0].closed && self.sides[1].closed) && wire_now(self.wire) - since < SELFTEST_LIMIT_US) {
        wire_run(self.wire, wire_now(self.wire) + SELFTEST_STEP_US);
        if (self.sides[0].received + self.sides[1].received != received)
            since = wire_now(self.wire);
        received = self.sides[0].received + self.sides[1].received;
        progress_show(&progress, received);
    }
    progress_end(&progress);
    failed = judge(&self.sides[0]) | judge(&self.sides[1]);
    if (failed == 0)
        report(v6, (double)wire_now(self.wire) / 1e6, (double)(clock_us() - began) / 1e6);
    end_all();
    return failed;
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

enum { KEY_MEGABYTES = 0x200, KEY_LOSS, KEY_DELAY, KEY_RATE, KEY_SEED, KEY_TRACE, KEY_PROGRESS };

static const struct argp_option selftest_option_list[] = {
    { "megabytes", KEY_MEGABYTES, "N", 0, "Send so much each way; default 64", 0 },
    { "rate", KEY_RATE, "MBIT", 0, "Rate of the network, megabits per second; default 1000", 0 },
    { "delay", KEY_DELAY, "US", 0, "Delay each way, microseconds; default 2000", 0 },
    { "loss", KEY_LOSS, "PPM", 0, "Frames lost, of a million; default 100", 0 },
    { "seed", KEY_SEED, "N", 0, "Which frames are lost is a function of this number; default 1", 0 },
    { "trace", KEY_TRACE, "FILE", 0, "Write the client's TCP events to FILE", 0 },
    { "progress", KEY_PROGRESS, NULL, 0, "Show progress also when stderr is no terminal", 0 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char selftest_doc[] =
    "Let two instances of the stack send data to each other over a network in memory, IPv4 and IPv6, and compare it.\v"
    "The network has a clock of its own: the same numbers give the same history. No privileges are needed.\n\n"
    "Examples:\n"
    "  tenon selftest\n"
    "  tenon selftest --loss 10000 --delay 20000 --trace lossy.trace && tenon trace lossy.trace";

static error_t parse_selftest(int key, char *value, struct argp_state *state)
{
    struct selftest_options *options = state->input;

    switch (key) {
    case KEY_MEGABYTES:
        options->bytes = options_number(state, "--megabytes", value, 1, 100000) << 20;
        return 0;
    case KEY_LOSS:
        options->loss_ppm = (unsigned)options_number(state, "--loss", value, 0, 500000);
        return 0;
    case KEY_DELAY:
        options->delay_us = (unsigned)options_number(state, "--delay", value, 0, 1000000);
        return 0;
    case KEY_RATE:
        options->rate_mbit = (unsigned)options_number(state, "--rate", value, 1, 1000000);
        return 0;
    case KEY_SEED:
        options->seed = options_number(state, "--seed", value, 0, UINT64_MAX);
        return 0;
    case KEY_TRACE:
        options->trace = value;
        return 0;
    case KEY_PROGRESS:
        options->progress = 1;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many: selftest takes options only", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp selftest_argp = { selftest_option_list, parse_selftest, NULL, selftest_doc, NULL, NULL, NULL };

int cmd_selftest(int argc, char **argv)
{
    int failed;

    self.options.bytes = 64 << 20;
    self.options.seed = 1;
    self.options.loss_ppm = 100;
    self.options.delay_us = 2000;
    self.options.rate_mbit = 1000;
    argp_parse(&selftest_argp, argc, argv, 0, NULL, &self.options);
    make_pattern();
    if (self.options.trace != NULL) {
        self.trace = trace_writer_open(self.options.trace);
        if (self.trace == NULL) {
            log_error("--trace: %s: %s", self.options.trace, strerror(errno));
            return CLI_FAILED;
        }
    }
    failed = transfer(0);
    if (trace_writer_close(self.trace) != 0) {
        log_error("--trace: %s: the trace is incomplete: %s", self.options.trace, strerror(errno));
        failed = 1;
    }
    self.trace = NULL;
    failed |= transfer(1);
    return failed ? CLI_FAILED : CLI_OK;
}
