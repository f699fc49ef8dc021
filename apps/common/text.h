/* SPDX-License-Identifier: MIT */
/** @file
 *  Text in and out: reading numbers and addresses that people type, writing sizes, rates and times
 *  that people read, and a string that grows. */
#ifndef APPS_COMMON_TEXT_H
#define APPS_COMMON_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <tenon/types.h>

/* ---- reading: each returns NULL when all is well, else what is wrong with `text`, as the end of a
 *      sentence that begins with it ("is not a number") ---------------------------------------- */

/** A whole decimal number between min and max. */
const char *text_read_number(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/** Seconds with a fraction ("0.2") between min and max. */
const char *text_read_seconds(const char *text, double min, double max, double *out);

/** An address, with or without square brackets. */
const char *text_read_ip(const char *text, struct tenon_ip *out);

/** "10.9.0.2/24", "fd00::2/64". */
const char *text_read_prefix(const char *text, struct tenon_ip *out, unsigned *prefix);

/** "10.9.0.2", "10.9.0.2:80", "fd00::2", "[fd00::2]:80".
 *  @param port  what the port is when the text gives none; 0: it must give one */
const char *text_read_endpoint(const char *text, uint16_t port, struct tenon_addr *out);

/* ---- writing ------------------------------------------------------------------------------------ */

/** A short text, returned by value: printf("%s", text_bytes(n).s). */
struct text {
    char s[72];
};

struct text text_bytes(uint64_t bytes);                     /**< "12 B", "1.4 MiB" */
struct text text_rate(uint64_t bytes, double seconds);      /**< "7.1 Gb/s" */
struct text text_duration(double seconds);                  /**< "40 us", "1.25 s", "3 min 20 s", "2 h 5 min" */
struct text text_count(uint64_t n);                         /**< "12,345" */
struct text text_ip(const struct tenon_ip *ip);
struct text text_endpoint(const struct tenon_addr *addr);   /**< "10.9.0.2:80", "[fd00::2]:80" */

/* ---- a string that grows ------------------------------------------------------------------------ */

/** Zero it to begin. The program ends when there is no memory. */
struct strbuf {
    char *s;         /**< 0-terminated once something was added */
    size_t len, cap;
};

void sb_add(struct strbuf *sb, const char *text, size_t len);
void sb_text(struct strbuf *sb, const char *text);
void sb_printf(struct strbuf *sb, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sb_json(struct strbuf *sb, const char *text);          /**< as a JSON string, with its quotes */
void sb_html(struct strbuf *sb, const char *text);          /**< with &, <, >, quotes escaped */
void sb_url(struct strbuf *sb, const char *text);           /**< percent-encoded, "/" kept */
/** What controls a terminal becomes "?", but for ends of lines and tabs: for text of somebody else's. */
void sb_hide_controls(struct strbuf *sb);
void sb_free(struct strbuf *sb);

/** malloc() and realloc() that end the program when there is no memory; for start-up and reports. */
void *must_alloc(size_t bytes);
void *must_realloc(void *mem, size_t bytes);

#endif
