/* SPDX-License-Identifier: MIT */
/** @file
 *  A trace in the manner of qlog. */
#ifndef APPS_CLI_QLOG_H
#define APPS_CLI_QLOG_H

#include "plot.h"

/** One JSON object in the shape of a file of draft-ietf-quic-qlog-main-schema-07 (qlog_version 0.3, format JSON): a
 *  trace for each connection; the events of TCP are ours, in the namespace "tcp". */
void qlog_write(struct strbuf *out, const char *title, const struct trace_record *records, size_t nrecords,
                const struct plot_summary *conns, size_t nconns);

#endif
