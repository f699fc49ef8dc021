/* SPDX-License-Identifier: MIT */
/* What a NIC does to a frame on its way to the wire, done to the capture's copy of the headers: the
 * transport checksum is completed, and a super-frame is cut into segments. */
#include <string.h>

#include "pcap_writer.h"

enum {
    ETHERTYPE_IP4 = 0x0800,
    ETHERTYPE_IP6 = 0x86DD,
    ETHERTYPE_VLAN = 0x8100,
    ETHERTYPE_SVLAN = 0x88A8,
    PROTO_TCP = 6,
    PROTO_UDP = 17,
    TCP_FIN_PSH = 0x09,
    TCP_CWR = 0x80
};

/* ---- where the headers are ------------------------------------------------------------------- */

/* @return the offset of the IP header, or 0xFFFF; *ip6 tells which */
static unsigned find_ip(const struct pcap_record *record, unsigned link_type, int *ip6)
{
    const unsigned char *head = record->head;
    unsigned at = 12, type;

    if (link_type == PCAP_RAW_IP) {
        *ip6 = record->head_bytes > 0 && head[0] >> 4 == 6;
        return 0;
    }
    if (record->head_bytes < 14)
        return 0xFFFF;
    type = pcap_get16be(head + at);
    while ((type == ETHERTYPE_VLAN || type == ETHERTYPE_SVLAN) && at + 6 <= record->head_bytes) {
        at += 4;
        type = pcap_get16be(head + at);
    }
    *ip6 = type == ETHERTYPE_IP6;
    return type == ETHERTYPE_IP4 || type == ETHERTYPE_IP6 ? at + 2 : 0xFFFF;
}

/* Skip the IPv6 header and the extension headers before the transport header (RFC 8200 4.1).
 * @return the protocol, or -1 */
static int skip_ip6(const struct pcap_record *record, unsigned *at)
{
    const unsigned char *head = record->head;
    unsigned next;

    if (*at + 40 > record->head_bytes)
        return -1;
    next = head[*at + 6];
    *at += 40;
    while (next == 0 || next == 43 || next == 60) {
        if (*at + 8 > record->head_bytes)
            return -1;
        next = head[*at];
        *at += (head[*at + 1] + 1u) * 8;
    }
    return (int)next;
}

static int skip_ip4(const struct pcap_record *record, unsigned *at)
{
    const unsigned char *ip = record->head + *at;

    if (*at + 20 > record->head_bytes || (ip[0] & 15) < 5 || (pcap_get16be(ip + 6) & 0x3FFF) != 0)
        return -1;
    *at += (ip[0] & 15u) * 4;
    return ip[9];
}

int pcap_parse(const struct pcap_record *record, unsigned link_type, struct pcap_layout *layout)
{
    unsigned at = find_ip(record, link_type, &layout->ip6);
    int proto;

    if (at == 0xFFFF)
        return -1;
    layout->l3 = at;
    proto = layout->ip6 ? skip_ip6(record, &at) : skip_ip4(record, &at);
    if ((proto != PROTO_TCP && proto != PROTO_UDP) || at + 8 > record->head_bytes)
        return -1;
    layout->l4 = at;
    layout->tcp = proto == PROTO_TCP;
    layout->payload = at + 8;
    if (layout->tcp) {
        if (at + 20 > record->head_bytes)
            return -1;
        layout->payload = at + (record->head[at + 12] >> 4) * 4u;
    }
    return layout->payload <= record->head_bytes ? 0 : -1;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The Internet checksum (RFC 1071) over pieces of any length: `odd` tells that the bytes so far were
 * odd in number, so that the next one is the lower half of its word. */
struct sum {
    uint64_t value;
    int odd;
};

static void sum_bytes(struct sum *sum, const unsigned char *p, size_t n)
{
    if (n > 0 && sum->odd) {
        sum->value += *p++;
        n--;
        sum->odd = 0;
    }
    for (; n > 1; n -= 2, p += 2)
        sum->value += pcap_get16be(p);
    if (n > 0) {
        sum->value += (uint64_t)p[0] << 8;
        sum->odd = 1;
    }
}

static unsigned sum_result(const struct sum *sum)
{
    uint64_t value = sum->value;

    while (value >> 16 != 0)
        value = (value & 0xFFFF) + (value >> 16);
    return (unsigned)(~value & 0xFFFF);
}

/* Bytes [from, from + n) of the frame. */
static void sum_frame(struct sum *sum, const struct tenon_frame *frame, uint32_t from, uint32_t n)
{
    for (unsigned i = 0; i < frame->nspans && n > 0; i++) {
        const struct tenon_span *span = &frame->spans[i];
        uint32_t take;

        if (from >= span->len) {
            from -= span->len;
            continue;
        }
        take = span->len - from < n ? span->len - from : n;
        sum_bytes(sum, tenon_span_data(span) + from, take);
        n -= take;
        from = 0;
    }
}

/* ---- a frame that is one packet -------------------------------------------------------------- */

static void complete_checksum(struct pcap_record *record)
{
    const struct tenon_frame *frame = record->frame;
    uint32_t at = (uint32_t)frame->csum_start + frame->csum_offset;
    struct sum sum = { 0, 0 };
    unsigned result;

    if (at + 2 > record->head_bytes || frame->csum_start >= record->bytes)
        return;
    sum_frame(&sum, frame, frame->csum_start, record->bytes - frame->csum_start);
    result = sum_result(&sum);
    if (result == 0 && frame->csum_offset == 6)
        result = 0xFFFF; /* UDP: 0 would say "no checksum" (RFC 768) */
    pcap_put16be(record->head + at, result);
}

/* ---- a frame that stands for many ------------------------------------------------------------ */

static void fix_ip(struct pcap_record *record, const struct pcap_layout *layout, unsigned index, uint32_t payload_bytes)
{
    unsigned char *ip = record->head + layout->l3;
    unsigned bytes = layout->payload - layout->l3 + payload_bytes;
    struct sum sum = { 0, 0 };

    if (layout->ip6) {
        pcap_put16be(ip + 4, bytes - 40);
        return;
    }
    pcap_put16be(ip + 2, bytes);
    pcap_put16be(ip + 4, (pcap_get16be(ip + 4) + (index > 0)) & 0xFFFF);
    pcap_put16be(ip + 10, 0);
    sum_bytes(&sum, ip, layout->l4 - layout->l3);
    pcap_put16be(ip + 10, sum_result(&sum));
}

static void fix_transport_sum(struct pcap_record *record, const struct pcap_layout *layout, uint32_t payload,
                              uint32_t payload_bytes)
{
    unsigned char *ip = record->head + layout->l3, *l4 = record->head + layout->l4;
    unsigned char *field = l4 + (layout->tcp ? 16 : 6);
    uint32_t bytes = layout->payload - layout->l4 + payload_bytes;
    struct sum sum = { bytes + (layout->tcp ? PROTO_TCP : PROTO_UDP), 0 };
    unsigned result;

    pcap_put16be(field, 0);
    sum_bytes(&sum, ip + (layout->ip6 ? 8 : 12), layout->ip6 ? 32 : 8);
    sum_bytes(&sum, l4, layout->payload - layout->l4);
    sum_frame(&sum, record->frame, payload, payload_bytes);
    result = sum_result(&sum);
    if (result == 0 && !layout->tcp)
        result = 0xFFFF;
    pcap_put16be(field, result);
}

/* FIN and PSH belong to the last segment, CWR to the first. */
static void fix_tcp(struct pcap_record *record, const struct pcap_layout *layout, unsigned flags, uint32_t seq)
{
    unsigned char *tcp = record->head + layout->l4;

    pcap_put32be(tcp + 4, seq);
    tcp[13] = (unsigned char)flags;
}

static void put_segments(struct pcap_writer *writer, struct pcap_record *record, const struct pcap_layout *layout)
{
    const struct tenon_frame *frame = record->frame;
    uint32_t at = layout->payload, seq = pcap_get32be(record->head + layout->l4 + 4);
    unsigned tcp_flags = layout->tcp ? record->head[layout->l4 + 13] : 0;

    for (unsigned index = 0; at < record->bytes; index++) {
        uint32_t left = record->bytes - at, n = left < frame->seg_bytes ? left : frame->seg_bytes;
        unsigned flags = tcp_flags;

        if (n < left)
            flags &= ~(unsigned)TCP_FIN_PSH;
        if (index > 0)
            flags &= ~(unsigned)TCP_CWR;
        fix_ip(record, layout, index, n);
        if (layout->tcp)
            fix_tcp(record, layout, flags, seq + (at - layout->payload));
        else
            pcap_put16be(record->head + layout->l4 + 4, 8 + n);
        fix_transport_sum(record, layout, at, n);
        pcap_put_packet(writer, record, layout->payload, at, n);
        record->comment = NULL;
        at += n;
    }
}

void pcap_put_frame(struct pcap_writer *writer, struct pcap_record *record)
{
    const struct tenon_frame *frame = record->frame;
    struct pcap_layout layout;

    if (frame->seg_kind != TENON_SEG_NONE && frame->seg_bytes > 0 &&
        pcap_parse(record, writer->link_type[record->interface], &layout) == 0 && layout.payload < record->bytes) {
        put_segments(writer, record, &layout);
        return;
    }
    /* GOOD with an offset: trusted without a sum, since it came from a neighbour in this machine that
     * left the sum to a NIC that there is none. */
    if (frame->csum == TENON_CSUM_PARTIAL || (frame->csum == TENON_CSUM_GOOD && frame->csum_start > 0))
        complete_checksum(record);
    pcap_put_packet(writer, record, record->head_bytes, record->head_bytes, record->bytes - record->head_bytes);
}
