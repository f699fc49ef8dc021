/* SPDX-License-Identifier: MIT */
/** @file
 *  What the program says beside its output: on stderr, by level, under its name; and the line that
 *  shows how far a transfer is. */
#ifndef APPS_COMMON_LOG_H
#define APPS_COMMON_LOG_H

#include <stdint.h>

enum log_level {
    LOG_QUIET,      /**< errors only (-q) */
    LOG_NORMAL,
    LOG_VERBOSE,    /**< every connection (-v) */
    LOG_DEBUG       /**< everything (-v -v) */
};

/** @param program  "tenon serve"; kept */
void log_open(const char *program, enum log_level level);
enum log_level log_level(void);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_say(enum log_level at, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Microseconds of a clock that only goes forward. */
uint64_t clock_us(void);

/** A line on stderr that is rewritten in place: how much, how fast, how long still. */
struct progress {
    const char *what;         /**< "received" */
    uint64_t total;           /**< bytes; 0: not known */
    uint64_t began_us, shown_us;
    int shown;                /**< a line stands there */
    int wanted;
};

/** @param force  1: also when stderr is no terminal (one line per second instead of one that changes) */
void progress_begin(struct progress *progress, const char *what, int force);

/** Call as often as you like; it draws at most five times a second. */
void progress_show(struct progress *progress, uint64_t bytes);

/** Take the line away. */
void progress_end(struct progress *progress);

#endif
