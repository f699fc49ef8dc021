/* SPDX-License-Identifier: MIT */
/** @file
 *  Files of TCP events: a header of 16 bytes, then records of 112 bytes, all numbers little-endian.
 *  docs/guide/command-line.md has the layout. */
#ifndef APPS_COMMON_TRACEFILE_H
#define APPS_COMMON_TRACEFILE_H

#include <stdint.h>

#include <tenon/trace.h>

struct trace_writer;

/** @return NULL, with errno, when the file cannot be made */
struct trace_writer *trace_writer_open(const char *path);
void trace_writer_add(struct trace_writer *writer, const struct tenon_trace_event *event);

/** @return 0, or -1, with errno, when something could not be written */
int trace_writer_close(struct trace_writer *writer);

/** An event and when it happened: microseconds after the first, which do not wrap. */
struct trace_record {
    uint64_t time_us;
    struct tenon_trace_event event;
};

/** Read a whole file. Says what went wrong (log_error). A last record that is cut is left out.
 *  @param[out] n  number of records
 *  @return the records (free them), or NULL */
struct trace_record *trace_read(const char *path, size_t *n);

#endif
