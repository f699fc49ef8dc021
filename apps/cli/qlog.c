/* SPDX-License-Identifier: MIT */
/* A trace in the manner of qlog (draft-ietf-quic-qlog-main-schema-07). There is no schema of events for TCP:
 * ours are the kinds of include/tenon/trace.h in the namespace "tcp". How the connection stands is told in
 * events recovery:metrics_updated, as those of QUIC are, so that tools find the windows and the times; only
 * what has changed. */
#include "qlog.h"

#include <stdio.h>
#include <string.h>

#include <tenon/tenon.h>

struct qlog {
    struct strbuf *out;
    const struct plot_summary *conn;
    const char *comma;
    struct tenon_trace_event last;    /* whose metrics were written last */
    int begun;
};

static void event_begin(struct qlog *qlog, uint64_t time_us, const char *name)
{
    const uint64_t us = time_us - qlog->conn->first_us;

    sb_printf(qlog->out, "%s\n{\"time\":%llu.%03u,\"name\":\"%s\",\"data\":{", qlog->comma,
              (unsigned long long)(us / 1000), (unsigned)(us % 1000), name);
    qlog->comma = ",";
}

static void member(struct strbuf *out, const char **comma, const char *name, uint64_t value)
{
    sb_printf(out, "%s\"%s\":%llu", *comma, name, (unsigned long long)value);
    *comma = ",";
}

static void text_member(struct strbuf *out, const char **comma, const char *name, const char *value)
{
    sb_printf(out, "%s\"%s\":", *comma, name);
    sb_json(out, value != NULL ? value : "?");
    *comma = ",";
}

/* ---- what happened ---------------------------------------------------------------------------------------- */

static int is_segment(const struct tenon_trace_event *e)
{
    return e->kind == TENON_TRACE_SENT || e->kind == TENON_TRACE_RECEIVED || e->kind == TENON_TRACE_DROPPED;
}

static int has_stretch(const struct tenon_trace_event *e)
{
    return e->kind == TENON_TRACE_ACKED || e->kind == TENON_TRACE_SACKED || e->kind == TENON_TRACE_LOST ||
           e->kind == TENON_TRACE_TLP || e->kind == TENON_TRACE_DSACK || e->kind == TENON_TRACE_SEARCH;
}

static const char *arg_member(const struct tenon_trace_event *e)
{
    switch ((enum tenon_trace_kind)e->kind) {
    case TENON_TRACE_ACKED: return "rtt_us";
    case TENON_TRACE_RTO: return "rto_us";
    case TENON_TRACE_IDLE: return "silence_ms";
    case TENON_TRACE_MTU: return "mtu";
    case TENON_TRACE_ECN: return "cwnd_before";
    case TENON_TRACE_ALPHA: return "alpha_65536";
    default: return NULL;
    }
}

static const char *name_member(const struct tenon_trace_event *e)
{
    switch ((enum tenon_trace_kind)e->kind) {
    case TENON_TRACE_STATE: return "old";
    case TENON_TRACE_LOST: return "trigger";
    case TENON_TRACE_UNDO: return "evidence";
    case TENON_TRACE_WAIT: return "waits_for";
    default: return "what";
    }
}

static void add_event(struct qlog *qlog, const struct trace_record *record)
{
    const struct tenon_trace_event *e = &record->event;
    const enum tenon_trace_kind kind = (enum tenon_trace_kind)e->kind;
    const char *name = tenon_trace_name(kind), *meaning = tenon_trace_arg_name(kind, e->arg), *comma = "";
    struct strbuf *out = qlog->out;
    char full[48];

    snprintf(full, sizeof full, "tcp:%s", name != NULL ? name : "unknown");
    event_begin(qlog, record->time_us, full);
    if (kind == TENON_TRACE_STATE)
        text_member(out, &comma, "new", tenon_tcp_state_name((enum tenon_tcp_state)e->state));
    if (meaning != NULL)
        text_member(out, &comma, name_member(e), meaning);
    if (kind == TENON_TRACE_DROPPED)
        text_member(out, &comma, "trigger", tenon_stat_name((enum tenon_stat)e->arg));
    if (is_segment(e) || has_stretch(e)) {
        member(out, &comma, "seq", e->seq);
        member(out, &comma, "len", e->len);
    }
    if (is_segment(e)) {
        member(out, &comma, "ack", e->ack);
        member(out, &comma, "flags", e->flags);
    }
    if (kind == TENON_TRACE_LOST || kind == TENON_TRACE_DSACK)
        member(out, &comma, "end", e->ack);
    if (kind == TENON_TRACE_SENT)
        sb_printf(out, ",\"again\":%s", e->arg != 0 ? "true" : "false");
    if (kind == TENON_TRACE_CWV)
        member(out, &comma, "cwnd_before", e->len);
    if (kind == TENON_TRACE_FASTOPEN)
        member(out, &comma, "len", e->len);
    if (arg_member(e) != NULL)
        member(out, &comma, arg_member(e), e->arg);
    sb_text(out, "}}");
}

/* ---- how it stands ---------------------------------------------------------------------------------------- */

static int metrics_differ(const struct tenon_trace_event *a, const struct tenon_trace_event *b)
{
    return a->cwnd != b->cwnd || a->ssthresh != b->ssthresh || a->in_flight != b->in_flight ||
           a->srtt_us != b->srtt_us || a->rto_us != b->rto_us;
}

/* Milliseconds, as the draft has them. */
static void time_member(struct strbuf *out, const char **comma, const char *name, uint32_t us)
{
    sb_printf(out, "%s\"%s\":%u.%03u", *comma, name, (unsigned)(us / 1000), (unsigned)(us % 1000));
    *comma = ",";
}

static void add_metrics(struct qlog *qlog, const struct trace_record *record)
{
    const struct tenon_trace_event *now = &record->event, *old = &qlog->last;
    const char *comma = "";
    struct strbuf *out = qlog->out;

    if (qlog->begun && !metrics_differ(now, old))
        return;
    event_begin(qlog, record->time_us, "recovery:metrics_updated");
    if (!qlog->begun || now->cwnd != old->cwnd)
        member(out, &comma, "congestion_window", now->cwnd);
    if ((!qlog->begun || now->ssthresh != old->ssthresh) && now->ssthresh != 0xFFFFFFFFUL)
        member(out, &comma, "ssthresh", now->ssthresh);
    if (!qlog->begun || now->in_flight != old->in_flight)
        member(out, &comma, "bytes_in_flight", now->in_flight);
    if (!qlog->begun || now->srtt_us != old->srtt_us)
        time_member(out, &comma, "smoothed_rtt", now->srtt_us);
    if (!qlog->begun || now->rto_us != old->rto_us)
        time_member(out, &comma, "tcp_rto", now->rto_us);
    sb_text(out, "}}");
    qlog->last = *now;
    qlog->begun = 1;
}

/* ---- the file --------------------------------------------------------------------------------------------- */

/* Who has sent the first SYN is the client. */
static const char *vantage_point(const struct trace_record *records, size_t n, uint32_t conn)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (records[i].event.conn != conn)
            continue;
        if (records[i].event.state == TENON_TCP_SYN_SENT)
            return "client";
        if (records[i].event.state == TENON_TCP_SYN_RECEIVED)
            return "server";
    }
    return "unknown";
}

static void add_trace(struct strbuf *out, const struct trace_record *records, size_t n, const struct plot_summary *conn)
{
    struct qlog qlog;
    size_t i;

    memset(&qlog, 0, sizeof qlog);
    qlog.out = out;
    qlog.conn = conn;
    qlog.comma = "";
    sb_printf(out, "{\"title\":\"connection %lu: %s", (unsigned long)conn->conn, text_endpoint(&conn->local).s);
    sb_printf(out, " to %s\",\"vantage_point\":{\"name\":\"tenon\",\"type\":\"%s\"},", text_endpoint(&conn->remote).s,
              vantage_point(records, n, conn->conn));
    sb_printf(out, "\"common_fields\":{\"time_format\":\"relative\",\"reference_time\":0,\"group_id\":\"%lu\",",
              (unsigned long)conn->conn);
    sb_text(out, "\"protocol_type\":[\"TCP\"]},\"events\":[");
    for (i = 0; i < n; i++) {
        if (records[i].event.conn != conn->conn)
            continue;
        add_event(&qlog, &records[i]);
        add_metrics(&qlog, &records[i]);
    }
    sb_text(out, "]}");
}

void qlog_write(struct strbuf *out, const char *title, const struct trace_record *records, size_t nrecords,
                const struct plot_summary *conns, size_t nconns)
{
    size_t i;

    sb_text(out, "{\"qlog_version\":\"0.3\",\"qlog_format\":\"JSON\",\"title\":");
    sb_json(out, title);
    sb_text(out, ",\"description\":\"Written by tenon " TENON_VERSION "\",\"traces\":[");
    for (i = 0; i < nconns; i++) {
        if (i > 0)
            sb_text(out, ",\n");
        add_trace(out, records, nrecords, &conns[i]);
    }
    sb_text(out, "]}\n");
}
