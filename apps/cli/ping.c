/* SPDX-License-Identifier: MIT */
/* tenon ping: echo requests, and what comes back. */
#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "common/app.h"
#include "common/names.h"
#include "common/text.h"

enum { PING_WINDOW = 4096, PING_BYTES_MAX = 65507 };    /* requests whose time we remember; largest payload */

struct ping_options {
    struct options net;
    const char *host;
    unsigned count, bytes;
    double interval_s, wait_s;
};

struct pinger {
    struct ping_options options;
    struct app app;
    struct tenon_addr to;
    struct tenon_echo *echo;
    struct loop_timer next, last;
    uint64_t sent_us[PING_WINDOW];    /* by seq; 0: answered */
    uint64_t began_us;
    uint64_t sent, received, duplicates, errors, wrong;
    double min, max, sum, sum_squares;
    tenon_u8 payload[PING_BYTES_MAX];
};

/* ---- replies -------------------------------------------------------------------------------------- */

static int payload_right(const struct pinger *pinger, const struct tenon_span *spans, unsigned n)
{
    uint32_t at = 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (at + spans[i].len > pinger->options.bytes ||
            memcmp(tenon_span_data(&spans[i]), pinger->payload + at, spans[i].len) != 0)
            return 0;
        at += spans[i].len;
    }
    return at == pinger->options.bytes;
}

static void add_time(struct pinger *pinger, double ms)
{
    if (pinger->received == 0 || ms < pinger->min)
        pinger->min = ms;
    if (ms > pinger->max)
        pinger->max = ms;
    pinger->sum += ms;
    pinger->sum_squares += ms * ms;
    pinger->received++;
}

static void stop_when_complete(struct pinger *pinger)
{
    if (pinger->options.count > 0 && pinger->sent == pinger->options.count &&
        pinger->received + pinger->errors >= pinger->sent)
        app_stop(&pinger->app, pinger->received > 0 ? CLI_OK : CLI_FAILED);
}

/* Nobody would know of the others if this one could not be told. */
static void flush(struct pinger *pinger)
{
    if (fflush(stdout) != 0)
        app_stop(&pinger->app, CLI_FAILED);
}

static void ping_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                       const struct tenon_span *spans, unsigned n)
{
    struct pinger *pinger = app;
    uint64_t *sent_us = &pinger->sent_us[info->seq % PING_WINDOW];
    double ms = *sent_us != 0 ? (double)(clock_us() - *sent_us) / 1000 : 0;
    const char *note = "";

    (void)echo;
    if (!payload_right(pinger, spans, n)) {
        pinger->wrong++;
        note = "  (wrong bytes)";
    } else if (*sent_us == 0) {
        pinger->duplicates++;
        note = "  (duplicate)";
    } else {
        add_time(pinger, ms);
        *sent_us = 0;
    }
    if (log_level() > LOG_QUIET) {
        printf("%lu bytes from %s: seq=%u ttl=%u time=%.3f ms%s\n", (unsigned long)info->bytes, text_ip(&info->from).s,
               (unsigned)info->seq, (unsigned)info->ttl, ms, note);
        flush(pinger);
    }
    stop_when_complete(pinger);
}

static void ping_error(struct tenon_echo *echo, void *app, const struct tenon_ip *from, tenon_u16 seq, int error)
{
    struct pinger *pinger = app;

    (void)echo;
    pinger->errors++;
    if (log_level() > LOG_QUIET) {
        printf("from %s: seq=%u %s\n", text_ip(from).s, (unsigned)seq, tenon_error_text(error));
        flush(pinger);
    }
    stop_when_complete(pinger);
}

static const struct tenon_echo_events ping_events = { ping_reply, ping_error };

/* ---- requests ------------------------------------------------------------------------------------- */

static void next_due(void *arg)
{
    struct pinger *pinger = arg;
    tenon_u16 seq = (tenon_u16)(pinger->sent + 1);
    int r = tenon_echo_send(pinger->echo, &pinger->to, seq, pinger->payload, pinger->options.bytes);

    if (r == TENON_OK) {
        pinger->sent_us[seq % PING_WINDOW] = clock_us();
    } else {
        pinger->errors++;
        log_error("seq=%u: %s", (unsigned)seq, tenon_error_text(r));
    }
    pinger->sent++;
    if (pinger->options.count > 0 && pinger->sent == pinger->options.count) {
        loop_timer_set(&pinger->app.loop, &pinger->last, (uint64_t)(pinger->options.wait_s * 1e6));
        stop_when_complete(pinger);
        return;
    }
    loop_timer_set(&pinger->app.loop, &pinger->next, (uint64_t)(pinger->options.interval_s * 1e6));
}

static void last_due(void *arg)
{
    struct pinger *pinger = arg;

    app_stop(&pinger->app, pinger->received > 0 ? CLI_OK : CLI_FAILED);
}

static void ping_interrupted(void *arg, int signal_number)
{
    (void)signal_number;
    last_due(arg);
}

static void print_result(const struct pinger *pinger)
{
    double n = (double)pinger->received, mean, deviation;

    printf("\n--- %s ping statistics ---\n", text_ip(&pinger->to.ip).s);
    printf("%llu packets transmitted, %llu received", (unsigned long long)pinger->sent,
           (unsigned long long)pinger->received);
    if (pinger->duplicates > 0)
        printf(", %llu duplicates", (unsigned long long)pinger->duplicates);
    if (pinger->errors > 0)
        printf(", %llu errors", (unsigned long long)pinger->errors);
    if (pinger->wrong > 0)
        printf(", %llu with wrong bytes", (unsigned long long)pinger->wrong);
    printf(", %.4g%% packet loss, time %.0f ms\n",
           pinger->sent > 0 ? 100 * (double)(pinger->sent - pinger->received) / (double)pinger->sent : 0,
           (double)(clock_us() - pinger->began_us) / 1000);
    if (pinger->received == 0)
        return;
    mean = pinger->sum / n;
    deviation = sqrt(fmax(0, pinger->sum_squares / n - mean * mean));
    printf("rtt min/avg/max/mdev = %.3f/%.3f/%.3f/%.3f ms\n", pinger->min, mean, pinger->max, deviation);
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

static const struct argp_option ping_option_list[] = {
    { "count", 'c', "N", 0, "Send N requests; default: until Ctrl-C", 1 },
    { "size", 's', "BYTES", 0, "Payload of each; default 56", 1 },
    { "interval", 'i', "SECONDS", 0, "Time between requests; default 1", 1 },
    { "wait", 'W', "SECONDS", 0, "Wait so long for the last replies; default 2", 1 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char ping_doc[] =
    "Send ICMP echo requests to HOST, an IPv4 or IPv6 address or a name, and print the replies.\v"
    "Large payloads are sent in fragments. The bytes that come back are compared. The status is 0 when there was "
    "a reply, 1 when there was none.\n\n"
    "Examples:\n"
    "  tenon ping 10.9.0.1\n"
    "  tenon ping -c 3 fd00:9::1\n"
    "  tenon ping -c 5 -i 0.2 -s 9000 10.9.0.1\n"
    "  tenon ping --dhcp www.example.com";

static error_t parse_ping(int key, char *value, struct argp_state *state)
{
    struct ping_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->net;
        return 0;
    case 'c':
        options->count = (unsigned)options_number(state, "--count", value, 1, 1000000000);
        return 0;
    case 's':
        options->bytes = (unsigned)options_number(state, "--size", value, 0, PING_BYTES_MAX);
        return 0;
    case 'i':
        options->interval_s = options_seconds(state, "--interval", value);
        return 0;
    case 'W':
        options->wait_s = options_seconds(state, "--wait", value);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one host, please: \"%s\" is the second", value);
        options->host = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "an address or a name is missing, such as 10.9.0.1 or fd00:9::1");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child ping_children[] = { OPTIONS_CHILD, { NULL, 0, NULL, 0 } };
static const struct argp ping_argp = { ping_option_list, parse_ping, "HOST", ping_doc, ping_children, NULL, NULL };

static int start(struct pinger *pinger)
{
    struct tenon_ip ips[NAMES_ADDRESSES_MAX];
    unsigned i;
    int r;

    if (pinger->app.done || names_find(&pinger->app, pinger->options.host, ips) == 0)
        return -1;
    pinger->to.ip = ips[0];
    r = tenon_echo_open(pinger->app.stack, &pinger->echo, &ping_events, pinger);
    if (r != TENON_OK) {
        log_error("%s", tenon_error_text(r));
        return -1;
    }
    for (i = 0; i < pinger->options.bytes; i++)
        pinger->payload[i] = (tenon_u8)(i + i / 256);
    app_scope(&pinger->app, &pinger->to);
    pinger->app.interrupted = ping_interrupted;
    pinger->app.arg = pinger;
    pinger->next.due = next_due;
    pinger->last.due = last_due;
    pinger->next.arg = pinger->last.arg = pinger;
    pinger->began_us = clock_us();
    printf("PING %s: %u bytes of data\n", text_ip(&pinger->to.ip).s, pinger->options.bytes);
    fflush(stdout);
    next_due(pinger);
    return 0;
}

int cmd_ping(int argc, char **argv)
{
    static struct pinger pinger;
    const char *wrong;
    int code = CLI_FAILED;

    pinger.options.bytes = 56;
    pinger.options.interval_s = 1;
    pinger.options.wait_s = 2;
    options_default(&pinger.options.net);
    argp_parse(&ping_argp, argc, argv, 0, NULL, &pinger.options);
    log_open(argv[0], pinger.options.net.level);
    wrong = names_check(pinger.options.host);
    if (wrong != NULL) {
        log_error("\"%s\" %s", pinger.options.host, wrong);
        return CLI_USAGE;
    }
    if (app_open(&pinger.app, &pinger.options.net, "ping", NULL) == 0 && start(&pinger) == 0) {
        code = app_run(&pinger.app);
        print_result(&pinger);
        tenon_echo_close(pinger.echo);
    } else if (pinger.app.done) {
        code = CLI_INTERRUPTED;    /* while we waited for an address, of our own or of the host */
    }
    return app_close(&pinger.app, code);
}
