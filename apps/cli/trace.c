/* SPDX-License-Identifier: MIT */
/* tenon trace: lists, prints and draws what --trace has written. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

#include "cli.h"
#include "common/log.h"
#include "common/options.h"
#include "common/text.h"
#include "plot.h"
#include "qlog.h"

enum { DIRECTION_CHOOSE = -1, DIRECTION_SENT = 0, DIRECTION_RECEIVED = 1 };

struct trace_options {
    const char *file, *output, *qlog;
    int list, json, has_conn;
    uint32_t conn;
    unsigned panels;
    double from_s, to_s;
    int direction;
};

/* ---- as text -------------------------------------------------------------------------------------- */

static void print_list(const struct plot_summary *all, size_t n)
{
    size_t i;

    printf("%6s %-23s %-23s %9s %9s %9s %8s %6s %6s\n", "conn", "local", "remote", "sent", "received", "time",
           "events", "again", "rtos");
    for (i = 0; i < n; i++)
        printf("%6lu %-23s %-23s %9s %9s %9s %8zu %6u %6u\n", (unsigned long)all[i].conn,
               text_endpoint(&all[i].local).s, text_endpoint(&all[i].remote).s,
               text_bytes(all[i].sent_bytes).s, text_bytes(all[i].received_bytes).s,
               text_duration((double)(all[i].last_us - all[i].first_us) / 1e6).s, all[i].events,
               all[i].retransmits, all[i].rtos);
}

/* What the number `arg` says, where it has a name. */
static void print_meaning(const struct tenon_trace_event *e)
{
    const char *name = tenon_trace_arg_name((enum tenon_trace_kind)e->kind, e->arg);

    if (name == NULL && e->kind == TENON_TRACE_DROPPED)
        name = tenon_stat_name((enum tenon_stat)e->arg);
    if (name != NULL)
        printf("\"arg_name\":\"%s\",", name);
}

static void print_json(const struct trace_record *record)
{
    const struct tenon_trace_event *e = &record->event;
    const char *kind = tenon_trace_name((enum tenon_trace_kind)e->kind);

    printf("{\"time_us\":%llu,\"conn\":%lu,\"event\":\"%s\",\"state\":\"%s\",\"local\":\"%s\",\"remote\":\"%s\",",
           (unsigned long long)record->time_us, (unsigned long)e->conn, kind != NULL ? kind : "?",
           tenon_tcp_state_name((enum tenon_tcp_state)e->state), text_endpoint(&e->local).s,
           text_endpoint(&e->remote).s);
    print_meaning(e);
    printf("\"flags\":%u,\"seq\":%lu,\"ack\":%lu,\"len\":%lu,\"arg\":%lu,", (unsigned)e->flags, (unsigned long)e->seq,
           (unsigned long)e->ack, (unsigned long)e->len, (unsigned long)e->arg);
    printf("\"snd_una\":%lu,\"snd_nxt\":%lu,\"snd_wnd\":%lu,\"rcv_nxt\":%lu,\"rcv_wnd\":%lu,",
           (unsigned long)e->snd_una, (unsigned long)e->snd_nxt, (unsigned long)e->snd_wnd,
           (unsigned long)e->rcv_nxt, (unsigned long)e->rcv_wnd);
    printf("\"cwnd\":%lu,\"ssthresh\":%lu,\"in_flight\":%lu,\"srtt_us\":%lu,\"rto_us\":%lu,\"mss\":%u}\n",
           (unsigned long)e->cwnd, (unsigned long)e->ssthresh, (unsigned long)e->in_flight, (unsigned long)e->srtt_us,
           (unsigned long)e->rto_us, (unsigned)e->mss);
}

/* ---- choosing and drawing ------------------------------------------------------------------------- */

/* The one asked for, or the one that moved the most. @return NULL: there is none */
static const struct plot_summary *choose(const struct plot_summary *all, size_t n, const struct trace_options *options)
{
    const struct plot_summary *best = NULL;
    size_t i;

    for (i = 0; i < n; i++) {
        if (options->has_conn ? all[i].conn == options->conn
                              : best == NULL || all[i].sent_bytes + all[i].received_bytes >
                                                    best->sent_bytes + best->received_bytes)
            best = &all[i];
    }
    if (best == NULL)
        log_error("%s: no connection %lu (\"tenon trace --list %s\" shows which there are)", options->file,
                  (unsigned long)options->conn, options->file);
    return best;
}

static int write_text(const char *path, const struct strbuf *text)
{
    const int to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "w");
    int failed;

    if (file == NULL) {
        log_error("%s: %s", path, strerror(errno));
        return CLI_FAILED;
    }
    failed = fwrite(text->s, 1, text->len, file) != text->len;
    if (to_stdout)
        failed |= fflush(file) != 0;
    else
        failed |= fclose(file) != 0;
    if (failed)
        log_error("%s: could not be written completely", path);
    return failed ? CLI_FAILED : CLI_OK;
}

static int draw(const struct trace_options *options, const struct trace_record *records, size_t n,
                const struct plot_summary *summary)
{
    struct strbuf picture = { NULL, 0, 0 };
    struct plot_request request;
    int code;

    request.conn = summary->conn;
    request.panels = options->panels;
    request.from_s = options->from_s;
    request.to_s = options->to_s;
    request.received = options->direction != DIRECTION_CHOOSE ? options->direction
                                                              : summary->received_bytes > summary->sent_bytes;
    plot_connection(&picture, records, n, summary, &request);
    code = write_text(options->output, &picture);
    if (code == CLI_OK && strcmp(options->output, "-") != 0)
        log_say(LOG_NORMAL, "%s: connection %lu, %s to %s", options->output, (unsigned long)summary->conn,
                text_endpoint(&summary->local).s, text_endpoint(&summary->remote).s);
    sb_free(&picture);
    return code;
}

/* All connections, or the one that was asked for. */
static int export(const struct trace_options *options, const struct trace_record *records, size_t n,
                  const struct plot_summary *all, size_t nall)
{
    struct strbuf text = { NULL, 0, 0 };
    int code;

    if (options->has_conn) {
        all = choose(all, nall, options);
        nall = 1;
    }
    if (all == NULL)
        return CLI_FAILED;
    qlog_write(&text, options->file, records, n, all, nall);
    code = write_text(options->qlog, &text);
    sb_free(&text);
    return code;
}

static int run(const struct trace_options *options, const struct trace_record *records, size_t n)
{
    size_t nsummaries, i;
    struct plot_summary *all = plot_summaries(records, n, &nsummaries);
    const struct plot_summary *summary;
    int code = CLI_OK;

    if (options->list) {
        print_list(all, nsummaries);
    } else if (options->json) {
        for (i = 0; i < n; i++) {
            if (!options->has_conn || records[i].event.conn == options->conn)
                print_json(&records[i]);
        }
    } else if (options->qlog != NULL) {
        code = export(options, records, n, all, nsummaries);
    } else {
        summary = choose(all, nsummaries, options);
        code = summary != NULL ? draw(options, records, n, summary) : CLI_FAILED;
    }
    free(all);
    return code;
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

enum { KEY_CONN = 0x200, KEY_LIST, KEY_JSON, KEY_QLOG, KEY_PANELS, KEY_FROM, KEY_TO, KEY_DIRECTION };

static const struct argp_option trace_option_list[] = {
    { "output", 'o', "FILE", 0, "Write the picture to FILE (SVG); default trace.svg, - is stdout", 0 },
    { "list", KEY_LIST, NULL, 0, "List the connections instead of drawing one", 0 },
    { "json", KEY_JSON, NULL, 0, "Print the events, one JSON object per line, instead of drawing", 0 },
    { "qlog", KEY_QLOG, "FILE", 0,
      "Write the events to FILE in the manner of qlog instead of drawing; - is stdout", 0 },
    { "conn", KEY_CONN, "NUMBER", 0, "Draw this connection; default: the one that moved the most bytes", 0 },
    { "direction", KEY_DIRECTION, "sent|received", 0, "Which way; default: the one that moved more bytes",
      0 },
    { "panels", KEY_PANELS, "LIST", 0,
      "Which of sequence, throughput, waits, cwnd, phases, rtt, joined by commas; default all but throughput",
      0 },
    { "from", KEY_FROM, "SECONDS", 0, "Draw from this time on", 0 },
    { "to", KEY_TO, "SECONDS", 0, "Draw up to this time", 0 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char trace_doc[] =
    "Draw a TCP connection from FILE, which another subcommand wrote with --trace.\v"
    "Above: sequence numbers over time; every segment is a stroke from its first to its last byte, between the "
    "line of what is acknowledged and the edge of the window. Segments sent again are red, selective "
    "acknowledgements violet, what is taken for lost grey. Below: what the connection waited for when it did not send; "
    "congestion window, ssthresh and bytes in flight, and its phases; round-trip times.\n\n"
    "Examples:\n"
    "  tenon trace http.trace -o http.svg\n"
    "  tenon trace --list http.trace\n"
    "  tenon trace http.trace --conn 7 --from 0.2 --to 0.3 -o detail.svg";

static unsigned read_panels(char *list, const struct argp_state *state)
{
    static const struct {
        const char *name;
        enum plot_panel panel;
    } names[] = { { "sequence", PLOT_SEQUENCE },
                  { "throughput", PLOT_THROUGHPUT },
                  { "waits", PLOT_WAITS },
                  { "cwnd", PLOT_CWND },
                  { "phases", PLOT_PHASES },
                  { "rtt", PLOT_RTT } };
    unsigned panels = 0, i;
    char *name;

    while ((name = strsep(&list, ",")) != NULL) {
        for (i = 0; i < TENON_ARRAY_LEN(names) && strcmp(name, names[i].name) != 0; i++)
            ;
        if (i == TENON_ARRAY_LEN(names))
            options_bad_value(state, "--panels", name, "is none of sequence, throughput, waits, cwnd, phases, rtt");
        else
            panels |= names[i].panel;
    }
    return panels;
}

static int read_direction(const char *value, const struct argp_state *state)
{
    if (strcmp(value, "sent") == 0)
        return DIRECTION_SENT;
    if (strcmp(value, "received") != 0)
        options_bad_value(state, "--direction", value, "is neither sent nor received");
    return DIRECTION_RECEIVED;
}

static double read_time(const char *option, const char *value, const struct argp_state *state)
{
    double seconds = 0;
    const char *wrong = text_read_seconds(value, 0, 1e9, &seconds);

    if (wrong != NULL)
        options_bad_value(state, option, value, wrong);
    return seconds;
}

/* A trace knows microseconds. Of much less than one, far from 0, an axis could not be divided. */
static error_t parse_end(const struct trace_options *options, const struct argp_state *state)
{
    if (options->to_s > 0 && options->to_s - options->from_s < 0.9e-6)
        argp_error(state, "--to must be later than --from");
    return 0;
}

static error_t parse_trace(int key, char *value, struct argp_state *state)
{
    struct trace_options *options = state->input;

    switch (key) {
    case 'o':
        options->output = value;
        return 0;
    case KEY_LIST:
        options->list = 1;
        return 0;
    case KEY_JSON:
        options->json = 1;
        return 0;
    case KEY_QLOG:
        options->qlog = value;
        return 0;
    case KEY_CONN:
        options->conn = (uint32_t)options_number(state, "--conn", value, 0, 0xFFFFFFFFUL);
        options->has_conn = 1;
        return 0;
    case KEY_DIRECTION:
        options->direction = read_direction(value, state);
        return 0;
    case KEY_PANELS:
        options->panels = read_panels(value, state);
        return 0;
    case KEY_FROM:
        options->from_s = read_time("--from", value, state);
        return 0;
    case KEY_TO:
        options->to_s = read_time("--to", value, state);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one file, please: \"%s\" is the second", value);
        options->file = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a file is missing (made by --trace FILE of another subcommand)");
        return 0;
    case ARGP_KEY_END:
        return parse_end(options, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp trace_argp = { trace_option_list, parse_trace, "FILE", trace_doc, NULL, NULL, NULL };

int cmd_trace(int argc, char **argv)
{
    struct trace_options options;
    struct trace_record *records;
    size_t n;
    int code;

    memset(&options, 0, sizeof options);
    options.output = "trace.svg";
    options.panels = PLOT_SEQUENCE | PLOT_WAITS | PLOT_CWND | PLOT_PHASES | PLOT_RTT;
    options.direction = DIRECTION_CHOOSE;
    argp_parse(&trace_argp, argc, argv, 0, NULL, &options);
    records = trace_read(options.file, &n);
    if (records == NULL)
        return CLI_FAILED;
    code = run(&options, records, n);
    free(records);
    return code;
}
