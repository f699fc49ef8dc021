/* SPDX-License-Identifier: MIT */
/* Writing and reading files of TCP events. */
#include "tracefile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "text.h"

enum { TRACE_HEADER_BYTES = 16, TRACE_RECORD_BYTES = 112, TRACE_VERSION = 1, TRACE_BUFFER_BYTES = 1 << 20 };

static const char trace_magic[8] = { 'T', 'E', 'N', 'O', 'N', 'T', 'R', 'C' };

struct trace_writer {
    FILE *file;
    uint64_t time_us;
    tenon_u32 last_us;
    int begun;
    int error;    /* the first; 0: all that was written is in the file, or in its buffer */
};

static uint8_t *put_le(uint8_t *at, uint64_t value, unsigned bytes)
{
    while (bytes-- > 0) {
        *at++ = (uint8_t)value;
        value >>= 8;
    }
    return at;
}

static const uint8_t *get_le(const uint8_t *at, uint64_t *value, unsigned bytes)
{
    unsigned i;

    *value = 0;
    for (i = 0; i < bytes; i++)
        *value |= (uint64_t)at[i] << (8 * i);
    return at + bytes;
}

/* As 16 bytes. A build without IPv6 has the last four only: the others are those of an IPv4 address, or of none. */
enum { IP_SKIP = 16 - 4 * TENON_IP_WORDS };

static uint8_t *put_ip(uint8_t *at, const struct tenon_ip *ip)
{
    unsigned i;

    memset(at, 0, IP_SKIP);
    if (IP_SKIP > 0 && !tenon_ip_is_any(ip))
        at[10] = at[11] = 0xFF;
    at += IP_SKIP;
    for (i = 0; i < 4 * TENON_IP_WORDS; i++)
        *at++ = (uint8_t)(ip->w[i / 4] >> (24 - i % 4 * 8));
    return at;
}

static const uint8_t *get_ip(const uint8_t *at, struct tenon_ip *ip)
{
    unsigned i;

    memset(ip, 0, sizeof *ip);
    at += IP_SKIP;
    for (i = 0; i < 4 * TENON_IP_WORDS; i++)
        ip->w[i / 4] |= (tenon_u32)*at++ << (24 - i % 4 * 8);
    return at;
}

static void write_bytes(struct trace_writer *writer, const uint8_t *bytes, size_t n)
{
    if (writer->error == 0 && fwrite(bytes, 1, n, writer->file) != n)
        writer->error = errno;
}

struct trace_writer *trace_writer_open(const char *path)
{
    uint8_t header[TRACE_HEADER_BYTES], *at = header + sizeof trace_magic;
    struct trace_writer *writer = must_alloc(sizeof *writer);

    memset(writer, 0, sizeof *writer);
    writer->file = fopen(path, "wb");
    if (writer->file == NULL) {
        free(writer);
        return NULL;
    }
    setvbuf(writer->file, NULL, _IOFBF, TRACE_BUFFER_BYTES);
    memcpy(header, trace_magic, sizeof trace_magic);
    at = put_le(at, TRACE_VERSION, 2);
    at = put_le(at, TRACE_RECORD_BYTES, 2);
    put_le(at, 0, 4);
    write_bytes(writer, header, sizeof header);
    return writer;
}

/* The order of the numbers in a record, once for writing and once (below) for reading. */
static tenon_u32 *number_of(struct tenon_trace_event *event, unsigned i)
{
    tenon_u32 *const numbers[] = { &event->seq, &event->ack, &event->len, &event->arg,
                                   &event->snd_una, &event->snd_nxt, &event->snd_wnd, &event->rcv_nxt,
                                   &event->rcv_wnd, &event->cwnd, &event->ssthresh, &event->in_flight,
                                   &event->srtt_us, &event->rto_us };

    return i < sizeof numbers / sizeof numbers[0] ? numbers[i] : NULL;
}

void trace_writer_add(struct trace_writer *writer, const struct tenon_trace_event *event)
{
    uint8_t record[TRACE_RECORD_BYTES], *at = record;
    struct tenon_trace_event copy = *event;
    unsigned i;

    if (!writer->begun)
        writer->last_us = event->now_us;
    writer->begun = 1;
    writer->time_us += (tenon_u32)(event->now_us - writer->last_us);
    writer->last_us = event->now_us;
    at = put_le(at, writer->time_us, 8);
    at = put_le(at, event->conn, 4);
    at = put_le(at, event->kind, 1);
    at = put_le(at, event->state, 1);
    at = put_le(at, event->flags, 1);
    at = put_le(at, 0, 1);
    for (i = 0; number_of(&copy, i) != NULL; i++)
        at = put_le(at, *number_of(&copy, i), 4);
    at = put_le(at, event->mss, 2);
    at = put_le(at, event->local.port, 2);
    at = put_le(at, event->remote.port, 2);
    at = put_le(at, event->local.netif, 2);
    at = put_ip(at, &event->local.ip);
    put_ip(at, &event->remote.ip);
    write_bytes(writer, record, sizeof record);
}

int trace_writer_close(struct trace_writer *writer)
{
    int error;

    if (writer == NULL)
        return 0;
    error = writer->error;
    if (fclose(writer->file) != 0 && error == 0)
        error = errno;
    free(writer);
    errno = error;
    return error != 0 ? -1 : 0;
}

static const uint8_t *get_small(const uint8_t *at, unsigned bytes, tenon_u16 *out)
{
    uint64_t value;

    at = get_le(at, &value, bytes);
    *out = (tenon_u16)value;
    return at;
}

static void read_record(struct trace_record *record, const uint8_t *at)
{
    struct tenon_trace_event *event = &record->event;
    tenon_u16 small;
    uint64_t value;
    unsigned i;

    memset(record, 0, sizeof *record);
    at = get_le(at, &record->time_us, 8);
    event->now_us = (tenon_u32)record->time_us;
    at = get_le(at, &value, 4);
    event->conn = (tenon_u32)value;
    at = get_small(at, 1, &small);
    event->kind = (tenon_u8)small;
    at = get_small(at, 1, &small);
    event->state = (tenon_u8)small;
    at = get_small(at, 1, &small);
    event->flags = (tenon_u8)small;
    at++;
    for (i = 0; number_of(event, i) != NULL; i++) {
        at = get_le(at, &value, 4);
        *number_of(event, i) = (tenon_u32)value;
    }
    at = get_small(at, 2, &event->mss);
    at = get_small(at, 2, &event->local.port);
    at = get_small(at, 2, &event->remote.port);
    at = get_small(at, 2, &event->local.netif);
    event->remote.netif = event->local.netif;
    at = get_ip(at, &event->local.ip);
    get_ip(at, &event->remote.ip);
}

static int read_header(FILE *file, const char *path, unsigned *record_bytes)
{
    uint8_t header[TRACE_HEADER_BYTES];
    uint64_t version, bytes;

    if (fread(header, 1, sizeof header, file) != sizeof header ||
        memcmp(header, trace_magic, sizeof trace_magic) != 0) {
        log_error("%s: is not a trace of tenon (made with --trace FILE)", path);
        return -1;
    }
    get_le(get_le(header + sizeof trace_magic, &version, 2), &bytes, 2);
    if (version != TRACE_VERSION || bytes < TRACE_RECORD_BYTES) {
        log_error("%s: is a trace of version %u; this program reads version %d", path, (unsigned)version,
                  TRACE_VERSION);
        return -1;
    }
    *record_bytes = (unsigned)bytes;
    return 0;
}

struct trace_record *trace_read(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    struct trace_record *records = NULL;
    unsigned bytes;
    size_t cap = 0;
    uint8_t *raw;

    *n = 0;
    if (file == NULL) {
        log_error("%s: %s", path, strerror(errno));
        return NULL;
    }
    if (read_header(file, path, &bytes) != 0) {
        fclose(file);
        return NULL;
    }
    raw = must_alloc(bytes);
    while (fread(raw, 1, bytes, file) == bytes) {
        if (*n == cap) {
            cap = cap > 0 ? cap * 2 : 4096;
            records = must_realloc(records, cap * sizeof *records);
        }
        read_record(&records[(*n)++], raw);
    }
    free(raw);
    fclose(file);
    if (*n == 0)
        log_error("%s: holds no event", path);
    return records;
}
