/* SPDX-License-Identifier: MIT */
/* Writing pcapng (draft-ietf-opsawg-pcapng): a Section Header Block, an Interface Description Block per
 * interface, an Enhanced Packet Block per packet. All numbers are in the byte order of the machine;
 * the magic number in the first block tells the reader which that is. */
#include "pcap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pcap_writer.h"

enum {
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 6,
    OPTION_END = 0,
    OPTION_COMMENT = 1,
    OPTION_IF_NAME = 2,
    OPTION_SHB_USERAPPL = 4,
    OPTION_EPB_FLAGS = 2,
    OPTION_IF_TSRESOL = 9,
    FLAG_INBOUND = 1,
    FLAG_OUTBOUND = 2,
    FLUSH_NS = 250000000
};

static const uint32_t block_section = 0x0A0D0D0A, byte_order_magic = 0x1A2B3C4D;

static void fail(struct pcap_writer *writer, const char *what, int error)
{
    if (writer->error != 0)
        return;
    writer->error = error;
    snprintf(writer->failed, sizeof writer->failed, "%s", what);
}

void pcap_flush(struct pcap_writer *writer)
{
    size_t done = 0;

    while (writer->error == 0 && done < writer->used) {
        ssize_t n = write(writer->fd, writer->buffer + done, writer->used - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            fail(writer, "write", errno);
    }
    writer->used = 0;
}

/* ---- the pieces of a block ------------------------------------------------------------------- */

static void put_bytes(struct pcap_writer *writer, const void *bytes, size_t n)
{
    if (n > 0)
        memcpy(writer->buffer + writer->used, bytes, n);
    writer->used += n;
}

static void put_u32(struct pcap_writer *writer, uint32_t value)
{
    put_bytes(writer, &value, sizeof value);
}

static void put_u16(struct pcap_writer *writer, unsigned value)
{
    uint16_t v = (uint16_t)value;

    put_bytes(writer, &v, sizeof v);
}

static void pad(struct pcap_writer *writer)
{
    while (writer->used % 4 != 0)
        writer->buffer[writer->used++] = 0;
}

static void put_option(struct pcap_writer *writer, unsigned code, const void *bytes, size_t n)
{
    put_u16(writer, code);
    put_u16(writer, (unsigned)n);
    put_bytes(writer, bytes, n);
    pad(writer);
}

/* Blocks start at multiples of 4 in the buffer, which has room for the largest: see pcap_frame(). */
static size_t begin_block(struct pcap_writer *writer, uint32_t type)
{
    size_t start = writer->used;

    put_u32(writer, type);
    put_u32(writer, 0);
    return start;
}

static void end_block(struct pcap_writer *writer, size_t start)
{
    uint32_t bytes = (uint32_t)(writer->used - start + 4);

    put_u32(writer, bytes);
    memcpy(writer->buffer + start + 4, &bytes, sizeof bytes);
}

static void put_section(struct pcap_writer *writer)
{
    size_t start = begin_block(writer, block_section);

    put_u32(writer, byte_order_magic);
    put_u16(writer, 1);
    put_u16(writer, 0);
    put_u32(writer, 0xFFFFFFFF);
    put_u32(writer, 0xFFFFFFFF);
    put_option(writer, OPTION_SHB_USERAPPL, "Tenon " TENON_VERSION, sizeof "Tenon " TENON_VERSION - 1);
    put_option(writer, OPTION_END, NULL, 0);
    end_block(writer, start);
}

/* ---- the writer ------------------------------------------------------------------------------ */

struct pcap_writer *pcap_writer_open(const char *path, char *error, size_t error_size)
{
    struct pcap_writer *writer = malloc(sizeof *writer);

    if (writer == NULL) {
        snprintf(error, error_size, "out of memory");
        return NULL;
    }
    memset(writer, 0, offsetof(struct pcap_writer, buffer));
    if (strcmp(path, "-") == 0)
        writer->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    else
        writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0) {
        snprintf(error, error_size, "cannot write the capture to '%s': %s", path, strerror(errno));
        free(writer);
        return NULL;
    }
    put_section(writer);
    return writer;
}

int pcap_writer_close(struct pcap_writer *writer, char *error, size_t error_size)
{
    int failed;

    if (writer == NULL)
        return 0;
    pcap_flush(writer);
    if (close(writer->fd) != 0)
        fail(writer, "close", errno);
    failed = writer->error != 0;
    if (failed && error != NULL)
        snprintf(error, error_size, "the capture is incomplete: %s: %s", writer->failed, strerror(writer->error));
    free(writer);
    return failed ? -1 : 0;
}

/* Room for one more block of `bytes`. */
static void reserve(struct pcap_writer *writer, size_t bytes)
{
    if (writer->used + bytes > sizeof writer->buffer)
        pcap_flush(writer);
}

int pcap_interface(struct pcap_writer *writer, const char *name, unsigned snaplen, unsigned link_type)
{
    const unsigned char nanoseconds = 9;
    size_t length = strnlen(name, 64), start;

    if (writer->interfaces == PCAP_INTERFACES_MAX)
        return -1;
    reserve(writer, 256);
    start = begin_block(writer, BLOCK_INTERFACE);
    put_u16(writer, link_type);
    put_u16(writer, 0);
    put_u32(writer, snaplen);
    put_option(writer, OPTION_IF_NAME, name, length);
    put_option(writer, OPTION_IF_TSRESOL, &nanoseconds, 1);
    put_option(writer, OPTION_END, NULL, 0);
    end_block(writer, start);
    writer->snaplen[writer->interfaces] = snaplen > 0 ? snaplen : UINT32_MAX;
    writer->link_type[writer->interfaces] = link_type;
    return (int)writer->interfaces++;
}

/* ---- packets --------------------------------------------------------------------------------- */

/* Copy bytes [from, from + n) of a frame into the block. */
static void put_frame_bytes(struct pcap_writer *writer, const struct tenon_frame *frame, uint32_t from, uint32_t n)
{
    for (unsigned i = 0; i < frame->nspans && n > 0; i++) {
        const struct tenon_span *span = &frame->spans[i];
        uint32_t take;

        if (from >= span->len) {
            from -= span->len;
            continue;
        }
        take = span->len - from < n ? span->len - from : n;
        put_bytes(writer, tenon_span_data(span) + from, take);
        n -= take;
        from = 0;
    }
}

void pcap_put_packet(struct pcap_writer *writer, const struct pcap_record *record, unsigned head_bytes,
                     uint32_t payload, uint32_t payload_bytes)
{
    uint32_t flags = record->outgoing ? FLAG_OUTBOUND : FLAG_INBOUND;
    uint32_t length = head_bytes + payload_bytes, keep = length;
    size_t start;

    if (keep > writer->snaplen[record->interface])
        keep = writer->snaplen[record->interface];
    if (keep > PCAP_BUFFER_BYTES / 2)
        keep = PCAP_BUFFER_BYTES / 2;
    reserve(writer, keep + PCAP_COMMENT_MAX + 128u);
    start = begin_block(writer, BLOCK_PACKET);
    put_u32(writer, record->interface);
    put_u32(writer, (uint32_t)(record->ns >> 32));
    put_u32(writer, (uint32_t)record->ns);
    put_u32(writer, keep);
    put_u32(writer, length);
    put_bytes(writer, record->head, keep < head_bytes ? keep : head_bytes);
    if (keep > head_bytes)
        put_frame_bytes(writer, record->frame, payload, keep - head_bytes);
    pad(writer);
    if (record->comment != NULL)
        put_option(writer, OPTION_COMMENT, record->comment, strnlen(record->comment, PCAP_COMMENT_MAX));
    put_option(writer, OPTION_EPB_FLAGS, &flags, sizeof flags);
    put_option(writer, OPTION_END, NULL, 0);
    end_block(writer, start);
}

/* Copy the beginning of the frame to where it may be changed. */
static void copy_head(struct pcap_record *record)
{
    const struct tenon_frame *frame = record->frame;

    for (unsigned i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];
        uint32_t room = PCAP_HEADERS_MAX - record->head_bytes;
        uint32_t take = span->len < room ? span->len : room;

        memcpy(record->head + record->head_bytes, tenon_span_data(span), take);
        record->head_bytes += take;
        record->bytes += span->len;
    }
}

void pcap_frame(struct pcap_writer *writer, unsigned interface, int outgoing, const struct tenon_frame *frame,
                uint64_t ns, const char *comment)
{
    struct pcap_record record;

    if (interface >= writer->interfaces || writer->error != 0)
        return;
    record.interface = interface;
    record.outgoing = outgoing;
    record.ns = ns;
    record.comment = comment;
    record.frame = frame;
    record.bytes = 0;
    record.head_bytes = 0;
    copy_head(&record);
    if (writer->notes > 0)
        record.comment = pcap_collect_notes(writer, &record);
    pcap_put_frame(writer, &record);
    if (ns - writer->flushed_ns >= FLUSH_NS) {
        pcap_flush(writer);
        writer->flushed_ns = ns;
    }
}
