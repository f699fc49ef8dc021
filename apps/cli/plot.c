/* SPDX-License-Identifier: MIT */
/* The pictures of "tenon trace". Sequence numbers are drawn relative to the first of the connection and do
 * not wrap: each is taken as near to the last snd_una (or rcv_nxt) as it can be (RFC 9293 3.4). */
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tcp.h>

#include "common/svg.h"

enum { PLOT_WIDTH = 1060, PLOT_LEFT = 84, PLOT_RIGHT = 20, PLOT_BINS = 120 };

static const char colour_data[] = "#4269d0", colour_again[] = "#e02020", colour_ack[] = "#2ca02c",
                  colour_sack[] = "#9467bd", colour_window[] = "#ff9f1c", colour_other[] = "#17a2a2",
                  colour_faint[] = "#9a9a9a", colour_undo[] = "#e377c2", colour_probe[] = "#8c564b",
                  colour_ecn[] = "#bcbd22", colour_search[] = "#ff6fb5", colour_open[] = "#005f73";

/* ---- summing up ----------------------------------------------------------------------------------- */

static struct plot_summary *find_summary(struct plot_summary **all, size_t *n, size_t *cap,
                                         const struct trace_record *record)
{
    size_t i;

    for (i = *n; i-- > 0;) {
        if ((*all)[i].conn == record->event.conn)
            return &(*all)[i];
    }
    if (*n == *cap) {
        *cap = *cap > 0 ? *cap * 2 : 64;
        *all = must_realloc(*all, *cap * sizeof **all);
    }
    memset(&(*all)[*n], 0, sizeof **all);
    (*all)[*n].conn = record->event.conn;
    (*all)[*n].first_us = record->time_us;
    return &(*all)[(*n)++];
}

static void add_bytes(struct plot_summary *summary, const struct tenon_trace_event *event)
{
    int32_t more;

    if (event->kind == TENON_TRACE_SENT || event->kind == TENON_TRACE_ACKED) {
        more = (int32_t)(event->snd_una - summary->last_snd_una);
        if (summary->sending && more > 0)
            summary->sent_bytes += (uint32_t)more;
        if (!summary->sending || more > 0)
            summary->last_snd_una = event->snd_una;
        summary->sending = 1;
    }
    if (event->kind == TENON_TRACE_RECEIVED && (summary->receiving || event->rcv_nxt != 0)) {
        more = (int32_t)(event->rcv_nxt - summary->last_rcv_nxt);
        if (summary->receiving && more > 0)
            summary->received_bytes += (uint32_t)more;
        if (!summary->receiving || more > 0)
            summary->last_rcv_nxt = event->rcv_nxt;
        summary->receiving = 1;
    }
}

static void add_event(struct plot_summary *summary, const struct trace_record *record)
{
    const struct tenon_trace_event *event = &record->event;

    summary->events++;
    summary->last_us = record->time_us;
    /* An acknowledged FIN is no data. */
    if (event->kind <= TENON_TRACE_SACKED && event->len > (event->kind == TENON_TRACE_ACKED ? 1U : 0U))
        summary->busy_us = record->time_us;
    if (event->local.port != 0)
        summary->local = event->local;
    if (event->remote.port != 0)
        summary->remote = event->remote;
    add_bytes(summary, event);
    summary->retransmits += event->kind == TENON_TRACE_SENT && event->arg != 0;
    summary->rtos += event->kind == TENON_TRACE_RTO;
    summary->recoveries += event->kind == TENON_TRACE_RECOVERY && event->arg != 0;
    summary->losses += event->kind == TENON_TRACE_LOST;
    summary->undone += event->kind == TENON_TRACE_UNDO;
    summary->probes += event->kind == TENON_TRACE_TLP;
    summary->marked += event->kind == TENON_TRACE_ECN;
    summary->waits += event->kind == TENON_TRACE_WAIT;
    summary->alphas += event->kind == TENON_TRACE_ALPHA;
    summary->validations += event->kind == TENON_TRACE_CWV;
    summary->searches += event->kind == TENON_TRACE_SEARCH;
    summary->fastopens += event->kind == TENON_TRACE_FASTOPEN;
    summary->dropped += event->kind == TENON_TRACE_DROPPED;
    if (event->kind == TENON_TRACE_ACKED && event->arg != 0) {
        if (summary->rtt_min_us == 0 || event->arg < summary->rtt_min_us)
            summary->rtt_min_us = event->arg;
        if (event->arg > summary->rtt_max_us)
            summary->rtt_max_us = event->arg;
    }
}

struct plot_summary *plot_summaries(const struct trace_record *records, size_t nrecords, size_t *n)
{
    struct plot_summary *all = NULL;
    size_t i, cap = 0;

    *n = 0;
    for (i = 0; i < nrecords; i++)
        add_event(find_summary(&all, n, &cap, &records[i]), &records[i]);
    return all;
}

/* ---- walking the events of one connection --------------------------------------------------------- */

struct walk {
    const struct trace_record *records;
    size_t n, at;
    const struct plot_summary *summary;
    const struct plot_request *request;
    int begun;
    int64_t edge;          /* snd_una, or rcv_nxt: relative, without wrapping */
    uint32_t edge_seq;     /* the same as in the event */
    double time_s;
    const struct tenon_trace_event *event;
};

static void walk_begin(struct walk *walk, const struct trace_record *records, size_t n,
                       const struct plot_summary *summary, const struct plot_request *request)
{
    memset(walk, 0, sizeof *walk);
    walk->records = records;
    walk->n = n;
    walk->summary = summary;
    walk->request = request;
}

/* Sequence numbers mean nothing before the first segment of the direction. */
static int has_begun(const struct walk *walk, const struct tenon_trace_event *event)
{
    if (walk->begun)
        return 1;
    return walk->request->received ? event->kind == TENON_TRACE_RECEIVED && event->rcv_nxt != 0
                                   : event->kind == TENON_TRACE_SENT || event->kind == TENON_TRACE_FASTOPEN;
}

static int walk_next(struct walk *walk)
{
    for (; walk->at < walk->n; walk->at++) {
        const struct trace_record *record = &walk->records[walk->at];
        uint32_t edge = walk->request->received ? record->event.rcv_nxt : record->event.snd_una;

        if (record->event.conn != walk->summary->conn || !has_begun(walk, &record->event))
            continue;
        if (walk->begun)
            walk->edge += (int32_t)(edge - walk->edge_seq);
        walk->begun = 1;
        walk->edge_seq = edge;
        walk->event = &record->event;
        walk->time_s = (double)(record->time_us - walk->summary->first_us) / 1e6;
        walk->at++;
        return 1;
    }
    return 0;
}

static double relative(const struct walk *walk, uint32_t seq)
{
    return (double)(walk->edge + (int32_t)(seq - walk->edge_seq));
}

static int in_view(const struct walk *walk, const struct svg_panel *panel)
{
    return walk->time_s >= panel->x.min && walk->time_s <= panel->x.max;
}

/* ---- time-sequence -------------------------------------------------------------------------------- */

static enum tenon_trace_kind data_kind(const struct plot_request *request)
{
    return request->received ? TENON_TRACE_RECEIVED : TENON_TRACE_SENT;
}

static void sequence_range(struct svg_panel *panel, struct walk walk)
{
    double low = 0, high = 0, end, begin;
    int seen = 0;

    while (walk_next(&walk)) {
        if (!in_view(&walk, panel))
            continue;
        end = (double)walk.edge;
        begin = end;
        if (walk.event->kind == data_kind(walk.request)) {
            begin = relative(&walk, walk.event->seq);
            end = begin + walk.event->len;
        }
        if (!seen || begin < low)
            low = begin;
        if (!seen || end > high)
            high = end;
        seen = 1;
    }
    panel->y.min = low > 0 ? low : 0;
    panel->y.max = high + (high - low) * 0.06 + 1;
}

static void draw_edges(struct svg_panel *panel, struct walk begin)
{
    struct walk walk = begin;

    svg_series(panel, colour_window, 1.2);
    while (walk_next(&walk))
        svg_step_to(panel, walk.time_s,
                    (double)walk.edge + (walk.request->received ? walk.event->rcv_wnd : walk.event->snd_wnd));
    svg_series(panel, colour_ack, 1.4);
    for (walk = begin; walk_next(&walk);)
        svg_step_to(panel, walk.time_s, (double)walk.edge);
}

static int wanted_segment(const struct walk *walk, int again)
{
    if (walk->event->len == 0)
        return 0;
    if (walk->request->received)
        return walk->event->kind == (again ? TENON_TRACE_DROPPED : TENON_TRACE_RECEIVED);
    return walk->event->kind == TENON_TRACE_SENT && (walk->event->arg != 0) == again;
}

static void draw_segments(struct svg_panel *panel, struct walk walk, int again)
{
    double seq;

    svg_series(panel, again ? colour_again : colour_data, again ? 3 : 1.6);
    while (walk_next(&walk)) {
        if (!wanted_segment(&walk, again) || !in_view(&walk, panel))
            continue;
        seq = relative(&walk, walk.event->seq);
        svg_segment(panel, walk.time_s, seq, walk.time_s, seq + walk.event->len);
    }
}

static void draw_sacks(struct svg_panel *panel, struct walk walk)
{
    double seq;

    svg_series(panel, colour_sack, 2.4);
    while (walk_next(&walk)) {
        if (walk.request->received || walk.event->kind != TENON_TRACE_SACKED || !in_view(&walk, panel))
            continue;
        seq = relative(&walk, walk.event->seq);
        svg_segment(panel, walk.time_s, seq, walk.time_s, seq + walk.event->len);
    }
}

/* What is taken for lost, beside its segment: thin, so that what is sent again at once can be seen on it. */
static void draw_losses(struct svg_panel *panel, struct walk walk)
{
    double seq;

    svg_series(panel, colour_faint, 5);
    while (walk_next(&walk)) {
        if (walk.request->received || walk.event->kind != TENON_TRACE_LOST || !in_view(&walk, panel))
            continue;
        seq = relative(&walk, walk.event->seq);
        svg_segment(panel, walk.time_s, seq, walk.time_s, relative(&walk, walk.event->ack));
    }
}

static void draw_decisions(struct svg_panel *panel, struct walk walk, enum tenon_trace_kind kind, const char *colour)
{
    svg_series(panel, colour, 7);
    while (walk_next(&walk)) {
        if (walk.event->kind == kind && !walk.request->received && in_view(&walk, panel))
            svg_dot(panel, walk.time_s, (double)walk.edge);
    }
}

static void draw_timeouts(struct svg_panel *panel, struct walk walk)
{
    svg_series(panel, "#000000", 6);
    while (walk_next(&walk)) {
        if (walk.event->kind == TENON_TRACE_RTO && !walk.request->received)
            svg_dot(panel, walk.time_s, (double)walk.edge);
    }
}

static void sequence_panel(struct svg_panel *panel, struct strbuf *out, const struct walk *walk)
{
    const struct plot_summary *summary = walk->summary;
    struct svg_key keys[12] = { { "window", colour_window, SVG_LINE } };
    unsigned n = 1;

    panel->title = walk->request->received ? "Received" : "Sent";
    sequence_range(panel, *walk);
    svg_panel_begin(panel, out);
    draw_edges(panel, *walk);
    draw_losses(panel, *walk);
    draw_sacks(panel, *walk);
    draw_segments(panel, *walk, 0);
    draw_segments(panel, *walk, 1);
    draw_timeouts(panel, *walk);
    draw_decisions(panel, *walk, TENON_TRACE_UNDO, colour_undo);
    draw_decisions(panel, *walk, TENON_TRACE_TLP, colour_probe);
    draw_decisions(panel, *walk, TENON_TRACE_ECN, colour_ecn);
    draw_decisions(panel, *walk, TENON_TRACE_SEARCH, colour_search);
    draw_decisions(panel, *walk, TENON_TRACE_FASTOPEN, colour_open);
    keys[n++] = (struct svg_key){ "acknowledged", colour_ack, SVG_LINE };
    keys[n++] = (struct svg_key){ "segment", colour_data, SVG_LINE };
    if (!walk->request->received) {
        keys[n++] = (struct svg_key){ "SACK", colour_sack, SVG_LINE };
        keys[n++] = (struct svg_key){ "sent again", colour_again, SVG_LINE };
        if (summary->losses > 0)
            keys[n++] = (struct svg_key){ "lost", colour_faint, SVG_LINE };
        if (summary->rtos > 0)
            keys[n++] = (struct svg_key){ "timeout", "#000000", SVG_DOT };
        if (summary->undone > 0)
            keys[n++] = (struct svg_key){ "undone", colour_undo, SVG_DOT };
        if (summary->probes > 0)
            keys[n++] = (struct svg_key){ "tail probe", colour_probe, SVG_DOT };
        if (summary->marked > 0)
            keys[n++] = (struct svg_key){ "ECN", colour_ecn, SVG_DOT };
        if (summary->searches > 0)
            keys[n++] = (struct svg_key){ "MTU search", colour_search, SVG_DOT };
        if (summary->fastopens > 0)
            keys[n++] = (struct svg_key){ "Fast Open", colour_open, SVG_DOT };
    } else if (summary->dropped > 0) {
        keys[n++] = (struct svg_key){ "not accepted", colour_again, SVG_LINE };
    }
    svg_legend(panel, keys, n);
    svg_panel_end(panel);
}

/* ---- throughput ----------------------------------------------------------------------------------- */

static void throughput_panel(struct svg_panel *panel, struct strbuf *out, const struct walk *begin)
{
    struct walk walk = *begin;
    double bins[PLOT_BINS] = { 0 }, width = (panel->x.max - panel->x.min) / PLOT_BINS, at, most = 0;
    int64_t last = 0;
    unsigned i;

    while (walk_next(&walk)) {
        at = (walk.time_s - panel->x.min) / width;
        if (walk.edge > last && at >= 0 && at <= PLOT_BINS)
            bins[at < PLOT_BINS ? (unsigned)at : PLOT_BINS - 1] += (double)(walk.edge - last) * 8 / width;
        last = walk.edge;
    }
    for (i = 0; i < PLOT_BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    panel->title = walk.request->received ? "Throughput, received" : "Throughput, acknowledged";
    panel->y.max = most * 1.08 + 1;
    panel->y.unit = SVG_BITS_PER_SECOND;
    svg_panel_begin(panel, out);
    svg_series(panel, colour_data, 1.6);
    svg_move(panel, panel->x.min, 0);
    for (i = 0; i < PLOT_BINS; i++) {
        svg_line_to(panel, panel->x.min + width * i, bins[i]);
        svg_line_to(panel, panel->x.min + width * (i + 1), bins[i]);
    }
    svg_panel_end(panel);
}

/* ---- why nothing is sent --------------------------------------------------------------------------- */

/* What holds from one event of a kind to the next: a row for each of its values, a stroke as long as it held. */
struct rows {
    enum tenon_trace_kind kind;
    unsigned first, end;           /* values: [first, end) */
    unsigned before;               /* what held before the first event */
    const char *const *colours;    /* by value */
};

static void draw_row(struct svg_panel *panel, struct walk walk, const struct rows *rows, unsigned value)
{
    const double row = rows->end - (double)value - 0.5;
    double since = 0;
    int holds = value == rows->before;

    svg_series(panel, rows->colours[value], 5);
    while (walk_next(&walk)) {
        if (walk.event->kind != rows->kind)
            continue;
        if (holds)
            svg_segment(panel, since, row, walk.time_s, row);
        holds = walk.event->arg == value;
        since = walk.time_s;
    }
    if (holds)
        svg_segment(panel, since, row, panel->x.max, row);
}

static void draw_rows(struct svg_panel *panel, struct strbuf *out, const struct walk *walk, const struct rows *rows)
{
    const unsigned n = rows->end - rows->first;
    unsigned i;

    panel->y.max = n;
    panel->y.unit = SVG_NONE;
    for (i = 0; i < n; i++)
        svg_label(out, panel->left - 6, panel->top + ((double)i + 0.5) * panel->height / n + 4, 11, "end",
                  tenon_trace_arg_name(rows->kind, rows->first + i));
    svg_panel_begin(panel, out);
    for (i = rows->first; i < rows->end; i++)
        draw_row(panel, *walk, rows, i);
    svg_panel_end(panel);
}

static void waits_panel(struct svg_panel *panel, struct strbuf *out, const struct walk *walk)
{
    static const char *const colours[TENON_TCP_WAIT_COUNT] = { "#9a9a9a", "#c8c8c8", "#ff9f1c", "#4269d0",
                                                               "#17a2a2", "#9467bd", "#8c564b", "#e02020" };
    static const struct rows rows = { TENON_TRACE_WAIT, 0, TENON_TCP_WAIT_COUNT, TENON_TCP_WAIT_HANDSHAKE, colours };

    panel->title = "Waits for";
    draw_rows(panel, out, walk, &rows);
}

static void phases_panel(struct svg_panel *panel, struct strbuf *out, const struct walk *walk)
{
    static const char *const colours[TENON_TRACE_PHASE_CONSERVATIVE + 1] = {
        "#c8c8c8", "#2ca02c", "#4269d0", "#e02020", "#2ca02c", "#ff9f1c",
        "#ff9f1c", "#4269d0", "#17a2a2", "#2ca02c", "#9467bd", "#8c564b"
    };
    static const struct rows rows = { TENON_TRACE_PHASE, TENON_TRACE_PHASE_SLOW_START,
                                      TENON_TRACE_PHASE_CONSERVATIVE + 1, TENON_TRACE_PHASE_NONE, colours };

    panel->title = "Phases of the congestion control";
    draw_rows(panel, out, walk, &rows);
}

/* ---- windows -------------------------------------------------------------------------------------- */

enum quantity { QUANTITY_CWND, QUANTITY_SSTHRESH, QUANTITY_IN_FLIGHT, QUANTITY_RCV_WND };

static double quantity_of(const struct tenon_trace_event *event, enum quantity quantity)
{
    switch (quantity) {
    case QUANTITY_CWND:
        return event->cwnd;
    case QUANTITY_SSTHRESH:
        return event->ssthresh == 0xFFFFFFFFUL ? -1 : (double)event->ssthresh;
    case QUANTITY_IN_FLIGHT:
        return event->in_flight;
    default:
        return event->rcv_wnd;
    }
}

static double quantity_max(struct walk walk, const struct svg_panel *panel, enum quantity quantity)
{
    double most = 0, value;

    while (walk_next(&walk)) {
        value = quantity_of(walk.event, quantity);
        if (in_view(&walk, panel) && value > most)
            most = value;
    }
    return most;
}

static void draw_quantity(struct svg_panel *panel, struct walk walk, enum quantity quantity, const char *colour)
{
    double value;

    svg_series(panel, colour, quantity == QUANTITY_IN_FLIGHT ? 0.5 : 1.6);    /* it goes up and down much */
    while (walk_next(&walk)) {
        value = quantity_of(walk.event, quantity);
        if (value >= 0)
            svg_step_to(panel, walk.time_s, value);
    }
}

/* A share, of which all is the top of the panel. */
static void draw_alpha(struct svg_panel *panel, struct walk walk)
{
    svg_series(panel, colour_ecn, 1.6);
    while (walk_next(&walk)) {
        if (walk.event->kind == TENON_TRACE_ALPHA)
            svg_step_to(panel, walk.time_s, walk.event->arg / 65536.0 * panel->y.max);
    }
}

/* Where the window was kept, aged, or limited. */
static void draw_validations(struct svg_panel *panel, struct walk walk)
{
    svg_series(panel, colour_undo, 7);
    while (walk_next(&walk)) {
        if (walk.event->kind == TENON_TRACE_CWV && in_view(&walk, panel))
            svg_dot(panel, walk.time_s, walk.event->cwnd);
    }
}

static void cwnd_panel(struct svg_panel *panel, struct strbuf *out, const struct walk *walk)
{
    struct svg_key keys[5] = { { "in flight", colour_other, SVG_LINE },
                               { "ssthresh", colour_faint, SVG_LINE },
                               { "cwnd", colour_data, SVG_LINE } };
    double most, flight;
    unsigned n = 3;

    panel->title = walk->request->received ? "Receive window" : "Congestion window";
    if (walk->request->received) {
        panel->y.max = quantity_max(*walk, panel, QUANTITY_RCV_WND) * 1.08 + 1;
        svg_panel_begin(panel, out);
        draw_quantity(panel, *walk, QUANTITY_RCV_WND, colour_window);
        svg_panel_end(panel);
        return;
    }
    most = quantity_max(*walk, panel, QUANTITY_CWND);
    flight = quantity_max(*walk, panel, QUANTITY_IN_FLIGHT);
    panel->y.max = (most > flight ? most : flight) * 1.08 + 1;
    svg_panel_begin(panel, out);
    draw_quantity(panel, *walk, QUANTITY_IN_FLIGHT, colour_other);
    draw_quantity(panel, *walk, QUANTITY_SSTHRESH, colour_faint);
    draw_quantity(panel, *walk, QUANTITY_CWND, colour_data);
    draw_alpha(panel, *walk);
    draw_validations(panel, *walk);
    if (walk->summary->alphas > 0)
        keys[n++] = (struct svg_key){ "DCTCP's alpha (top: 1)", colour_ecn, SVG_LINE };
    if (walk->summary->validations > 0)
        keys[n++] = (struct svg_key){ "window not used", colour_undo, SVG_DOT };
    svg_legend(panel, keys, n);
    svg_panel_end(panel);
}

/* ---- round-trip time ------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return *x > *y ? 1 : *x < *y ? -1 : 0;
}

/* How high the axis must be, in microseconds: a few samples far above all others shall not flatten the rest. */
static double rtt_high(const struct svg_panel *panel, struct walk walk, double *most)
{
    uint32_t *samples = must_alloc((walk.summary->events + 1) * sizeof *samples);
    double usual;
    size_t n = 0, most_of_them;

    while (walk_next(&walk)) {
        if (walk.event->kind == TENON_TRACE_ACKED && in_view(&walk, panel) && walk.event->arg > 0)
            samples[n++] = walk.event->arg;
    }
    samples[n] = 0;
    qsort(samples, n, sizeof *samples, by_value);
    *most = n > 0 ? samples[n - 1] : 0;
    most_of_them = n * 98 / 100;
    usual = samples[most_of_them] * 2.0;
    free(samples);
    return n > 50 && usual < *most ? usual : *most;
}

static void rtt_panel(struct svg_panel *panel, struct strbuf *out, const struct walk *begin)
{
    static const struct svg_key keys[] = { { "smoothed", "#4269d0", SVG_LINE }, { "sample", "#9a9a9a", SVG_DOT } };
    struct walk walk;
    char title[96];
    double most, high = rtt_high(panel, *begin, &most);

    snprintf(title, sizeof title, "Round-trip time (highest sample: %.40s)", text_duration(most / 1e6).s);
    panel->title = most > high ? title : "Round-trip time";
    panel->y.unit = SVG_SECONDS;
    panel->y.max = high > 0 ? high * 1.08e-6 : 1e-3;
    svg_panel_begin(panel, out);
    svg_series(panel, colour_faint, 3);
    for (walk = *begin; walk_next(&walk);) {
        if (walk.event->kind == TENON_TRACE_ACKED && walk.event->arg > 0)
            svg_dot(panel, walk.time_s, walk.event->arg / 1e6);
    }
    svg_series(panel, colour_data, 1.6);
    for (walk = *begin; walk_next(&walk);) {
        if (walk.event->srtt_us > 0)
            svg_step_to(panel, walk.time_s, walk.event->srtt_us / 1e6);
    }
    svg_legend(panel, keys, 2);
    svg_panel_end(panel);
}

/* ---- the picture ---------------------------------------------------------------------------------- */

struct panel_kind {
    enum plot_panel bit;
    double height;
    void (*draw)(struct svg_panel *panel, struct strbuf *out, const struct walk *walk);
};

static const struct panel_kind panel_kinds[] = { { PLOT_SEQUENCE, 380, sequence_panel },
                                                 { PLOT_THROUGHPUT, 150, throughput_panel },
                                                 { PLOT_WAITS, 112, waits_panel },
                                                 { PLOT_CWND, 190, cwnd_panel },
                                                 { PLOT_PHASES, 154, phases_panel },
                                                 { PLOT_RTT, 150, rtt_panel } };

static void write_heading(struct strbuf *out, const struct plot_summary *summary)
{
    struct strbuf text = { NULL, 0, 0 };
    double seconds = (double)(summary->last_us - summary->first_us) / 1e6;

    sb_printf(&text, "%s", text_endpoint(&summary->local).s);
    sb_printf(&text, " \xe2\x80\x94 %s", text_endpoint(&summary->remote).s);
    svg_label(out, PLOT_LEFT, 24, 16, "start", text.s);
    text.len = 0;
    sb_printf(&text, "connection %lu: sent %s, received %s in %s; %u sent again, %u timeouts",
              (unsigned long)summary->conn, text_bytes(summary->sent_bytes).s, text_bytes(summary->received_bytes).s,
              text_duration(seconds).s, summary->retransmits, summary->rtos);
    svg_label(out, PLOT_LEFT, 44, 12, "start", text.s);
    sb_free(&text);
}

void plot_connection(struct strbuf *out, const struct trace_record *records, size_t n,
                     const struct plot_summary *summary, const struct plot_request *request)
{
    uint64_t busy_us = summary->busy_us > summary->first_us ? summary->busy_us : summary->last_us;
    double height = 60, end = (double)(busy_us - summary->first_us) / 1e6;
    struct svg_panel panel;
    struct walk walk;
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(panel_kinds); i++)
        height += (request->panels & panel_kinds[i].bit) != 0 ? panel_kinds[i].height + 64 : 0;
    svg_begin(out, PLOT_WIDTH, height, "TCP connection");
    write_heading(out, summary);
    walk_begin(&walk, records, n, summary, request);
    height = 80;
    for (i = 0; i < TENON_ARRAY_LEN(panel_kinds); i++) {
        if ((request->panels & panel_kinds[i].bit) == 0)
            continue;
        memset(&panel, 0, sizeof panel);
        panel.left = PLOT_LEFT;
        panel.top = height;
        panel.width = PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT;
        panel.height = panel_kinds[i].height;
        panel.x.min = request->from_s;
        panel.x.max = request->to_s > 0 ? request->to_s : end * 1.02;
        panel.x.unit = SVG_SECONDS;
        panel.x.label = "time";
        panel.y.unit = SVG_BYTES;
        panel_kinds[i].draw(&panel, out, &walk);
        height += panel_kinds[i].height + 64;
    }
    svg_end(out);
}
