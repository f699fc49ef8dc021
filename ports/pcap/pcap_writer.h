/* SPDX-License-Identifier: MIT */
/* The inside of a capture writer, shared by the files of this folder. */
#ifndef TENON_PORTS_PCAP_PCAP_WRITER_H
#define TENON_PORTS_PCAP_PCAP_WRITER_H

#include "pcap.h"

enum {
    PCAP_INTERFACES_MAX = 64,
    PCAP_BUFFER_BYTES = 512 * 1024,
    PCAP_NOTES_MAX = 64,
    PCAP_NOTE_TEXT_MAX = 160,
    PCAP_COMMENT_MAX = 1024,
    PCAP_HEADERS_MAX = 512 /* what is looked at of a frame: link, network and transport header */
};

/* A text that waits for its frame. */
struct pcap_note {
    int used;
    int has_seq;
    tenon_u16 local_port, remote_port;
    tenon_u32 seq;
    char text[PCAP_NOTE_TEXT_MAX];
};

struct pcap_writer {
    int fd;
    int error; /* errno of the first failure; nothing is written after it */
    char failed[16]; /* what failed */
    unsigned interfaces;
    uint32_t snaplen[PCAP_INTERFACES_MAX];
    unsigned link_type[PCAP_INTERFACES_MAX];
    uint64_t flushed_ns;
    unsigned notes; /* used ones */
    unsigned note_next; /* the oldest slot: overwritten first */
    struct pcap_note note[PCAP_NOTES_MAX];
    char comment[PCAP_COMMENT_MAX];
    size_t used;
    unsigned char buffer[PCAP_BUFFER_BYTES];
};

/* Where things are in a frame. */
struct pcap_layout {
    unsigned l3; /* offset of the IP header */
    unsigned l4; /* offset of the TCP or UDP header */
    unsigned payload; /* offset of what follows it */
    int ip6, tcp;
};

/* The frame that is being written. */
struct pcap_record {
    unsigned interface;
    int outgoing;
    uint64_t ns;
    const char *comment;
    const struct tenon_frame *frame;
    uint32_t bytes; /* of the whole frame */
    unsigned head_bytes; /* how many of them are in head */
    unsigned char head[PCAP_HEADERS_MAX];
};

/* One packet: `head_bytes` of rewritten headers, then `payload_bytes` of the frame from `payload`. */
void pcap_put_packet(struct pcap_writer *writer, const struct pcap_record *record, unsigned head_bytes,
                     uint32_t payload, uint32_t payload_bytes);

/* pcap_cut.c: write the frame with its checksum completed, or as the segments it stands for. */
void pcap_put_frame(struct pcap_writer *writer, struct pcap_record *record);

/* @return 0, or -1: not TCP or UDP over IP, or its headers are not all there */
int pcap_parse(const struct pcap_record *record, unsigned link_type, struct pcap_layout *layout);

/* pcap_trace.c: put the texts that wait for this frame into writer->comment, after `comment`.
 * @return what to write beside it, or NULL */
const char *pcap_collect_notes(struct pcap_writer *writer, const struct pcap_record *record);

static inline unsigned pcap_get16be(const unsigned char *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static inline uint32_t pcap_get32be(const unsigned char *p)
{
    return (uint32_t)pcap_get16be(p) << 16 | pcap_get16be(p + 2);
}

static inline void pcap_put16be(unsigned char *p, unsigned value)
{
    p[0] = (unsigned char)(value >> 8);
    p[1] = (unsigned char)value;
}

static inline void pcap_put32be(unsigned char *p, uint32_t value)
{
    pcap_put16be(p, value >> 16);
    pcap_put16be(p + 2, value & 0xFFFF);
}

#endif
