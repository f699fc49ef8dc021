/* SPDX-License-Identifier: MIT */
/* Captures of made-up frames, read back by a small reader of this file's own and, where tshark is
 * installed, judged by tshark. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../tests/unit/unit.h"
#include "../../common/bufpool.h"
#include "../pcap.h"

enum {
    TCP = 6,
    UDP = 17,
    FRAME_MAX = 70000,
    PACKETS_MAX = 256,
    FIN = 1,
    PSH = 8,
    ACK = 16,
    CWR = 128
};

/* ---- making frames --------------------------------------------------------------------------- */

/* What a frame is made from, and where its parts came to lie. */
struct made {
    int ip6, proto, vlan, raw;
    unsigned options; /* bytes of TCP options: 0 or 12 (timestamps) */
    unsigned flags;
    unsigned payload_bytes;
    unsigned l3, l4, payload, bytes; /* offsets, filled in */
    tenon_u8 at[FRAME_MAX];
    struct tenon_buf bufs[3];
    struct tenon_span spans[3];
    struct tenon_frame frame;
};

static void no_release(struct tenon_buf *buf)
{
    (void)buf;
}

static unsigned put16(tenon_u8 *p, unsigned v)
{
    p[0] = (tenon_u8)(v >> 8);
    p[1] = (tenon_u8)v;
    return v;
}

static unsigned get16(const tenon_u8 *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get32(const tenon_u8 *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* One's complement sum, not complemented. */
static unsigned sum16(const tenon_u8 *p, size_t n, uint32_t start)
{
    uint64_t sum = start;

    for (size_t i = 0; i < n; i++)
        sum += i % 2 == 0 ? (uint64_t)p[i] << 8 : p[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return (unsigned)sum;
}

static unsigned pseudo_sum(const tenon_u8 *ip, int ip6, unsigned proto, size_t l4_bytes)
{
    return sum16(ip + (ip6 ? 8 : 12), ip6 ? 32 : 8, (uint32_t)(proto + l4_bytes));
}

static void make_ip(struct made *m, unsigned l4_bytes)
{
    static const tenon_u8 ip4[20] = { 0x45, 0, 0, 0, 0xFF, 0xFE, 0x40, 0, 64, 0, 0, 0, 10, 9, 0, 2, 10, 9, 0, 1 };
    static const tenon_u8 ip6[40] = { 0x60, 0, 0, 0, 0, 0, 0, 64, 0xFD, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0,
                                      0, 0, 0, 2, 0xFD, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    tenon_u8 *ip = m->at + m->l3;

    if (m->ip6) {
        memcpy(ip, ip6, 40);
        put16(ip + 4, l4_bytes);
        ip[6] = (tenon_u8)m->proto;
        return;
    }
    memcpy(ip, ip4, 20);
    put16(ip + 2, 20 + l4_bytes);
    ip[9] = (tenon_u8)m->proto;
    put16(ip + 10, ~sum16(ip, 20, 0) & 0xFFFF);
}

static void make_headers(struct made *m)
{
    static const tenon_u8 mac[12] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2 };
    static const tenon_u8 timestamps[12] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2 };
    unsigned l4_header = m->proto == TCP ? 20 + m->options : 8, l4_bytes = l4_header + m->payload_bytes;
    tenon_u8 *l4;

    memset(m->at, 0, sizeof m->at);
    memcpy(m->at, mac, 12);
    if (m->vlan) {
        put16(m->at + 12, 0x8100);
        put16(m->at + 14, 7);
    }
    m->l3 = m->raw ? 0 : m->vlan ? 18
                                 : 14;
    if (!m->raw)
        put16(m->at + m->l3 - 2, m->ip6 ? 0x86DD : 0x0800);
    m->l4 = m->l3 + (m->ip6 ? 40 : 20);
    m->payload = m->l4 + l4_header;
    m->bytes = m->payload + m->payload_bytes;
    make_ip(m, l4_bytes);
    l4 = m->at + m->l4;
    put16(l4, 49200);
    put16(l4 + 2, 49300);
    if (m->proto == TCP) {
        memcpy(l4 + 4, "\xFF\xFF\xF0\x00", 4); /* wraps in a large frame */
        l4[12] = (tenon_u8)((20 + m->options) << 2);
        l4[13] = (tenon_u8)m->flags;
        put16(l4 + 14, 1000);
        memcpy(l4 + 20, timestamps, m->options);
    } else {
        put16(l4 + 4, l4_bytes);
    }
    put16(l4 + (m->proto == TCP ? 16 : 6), pseudo_sum(m->at + m->l3, m->ip6, (unsigned)m->proto, l4_bytes));
}

/* Fill in m's frame: headers in the first span, the payload cut at an odd place, checksum partial. */
static void make_frame(struct made *m)
{
    unsigned cuts[4];

    make_headers(m);
    for (unsigned i = m->payload; i < m->bytes; i++)
        m->at[i] = (tenon_u8)(i * 7 + (i >> 8));
    cuts[0] = 0;
    cuts[1] = m->payload;
    cuts[2] = m->payload + (m->payload_bytes > 3 ? 3 : 0);
    cuts[3] = m->bytes;
    for (int i = 0; i < 3; i++) {
        m->bufs[i] = (struct tenon_buf){ m->at + cuts[i], cuts[i + 1] - cuts[i], 1, no_release };
        m->spans[i] = (struct tenon_span){ &m->bufs[i], 0, cuts[i + 1] - cuts[i] };
    }
    m->frame = (struct tenon_frame){ .spans = m->spans, .nspans = 3, .csum = TENON_CSUM_PARTIAL };
    m->frame.csum_start = (tenon_u16)m->l4;
    m->frame.csum_offset = m->proto == TCP ? 16 : 6;
    m->frame.header_bytes = (tenon_u16)m->payload;
}

static void make_super(struct made *m, unsigned seg_bytes)
{
    make_frame(m);
    m->frame.seg_bytes = (tenon_u16)seg_bytes;
    m->frame.seg_kind = m->proto == UDP ? TENON_SEG_UDP : m->ip6 ? TENON_SEG_TCP6
                                                                 : TENON_SEG_TCP4;
}

/* ---- reading captures back ------------------------------------------------------------------- */

struct packet {
    uint32_t interface, kept, length, flags;
    uint64_t ns;
    const tenon_u8 *data;
    char comment[300];
};

struct capture {
    tenon_u8 *file;
    size_t bytes;
    unsigned interfaces, packets;
    struct packet packet[PACKETS_MAX];
};

static uint32_t native32(const tenon_u8 *p)
{
    uint32_t v;

    memcpy(&v, p, 4);
    return v;
}

static uint16_t native16(const tenon_u8 *p)
{
    uint16_t v;

    memcpy(&v, p, 2);
    return v;
}

static void read_packet(struct capture *c, const tenon_u8 *block, uint32_t bytes)
{
    struct packet *p = &c->packet[c->packets++];
    const tenon_u8 *at, *end = block + bytes - 4;

    memset(p, 0, sizeof *p);
    p->interface = native32(block + 8);
    p->ns = (uint64_t)native32(block + 12) << 32 | native32(block + 16);
    p->kept = native32(block + 20);
    p->length = native32(block + 24);
    p->data = block + 28;
    for (at = p->data + (p->kept + 3) / 4 * 4; at + 4 <= end && native16(at) != 0;) {
        unsigned code = native16(at), n = native16(at + 2);

        if (code == 1)
            snprintf(p->comment, sizeof p->comment, "%.*s", (int)n, (const char *)at + 4);
        if (code == 2)
            p->flags = native32(at + 4);
        at += 4 + (n + 3) / 4 * 4;
    }
}

static struct capture *capture_read(const char *path)
{
    struct capture *c = calloc(1, sizeof *c);
    FILE *f = fopen(path, "rb");
    size_t at = 0;

    if (c == NULL || f == NULL)
        abort();
    c->file = malloc(1 << 20);
    c->bytes = fread(c->file, 1, 1 << 20, f);
    fclose(f);
    while (at + 12 <= c->bytes && c->packets < PACKETS_MAX) {
        uint32_t type = native32(c->file + at), bytes = native32(c->file + at + 4);

        if (!CHECK(bytes >= 12 && bytes % 4 == 0 && at + bytes <= c->bytes))
            break;
        CHECK_EQ_U(native32(c->file + at + bytes - 4), bytes);
        if (type == 1)
            c->interfaces++;
        if (type == 6)
            read_packet(c, c->file + at, bytes);
        at += bytes;
    }
    CHECK_EQ_U(at, c->bytes);
    return c;
}

static void capture_free(struct capture *c)
{
    free(c->file);
    free(c);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static char path[64];

static struct pcap_writer *begin(void)
{
    char error[200] = "";
    struct pcap_writer *w = pcap_writer_open(path, error, sizeof error);

    CHECK_EQ_S(error, "");
    if (w == NULL)
        abort();
    return w;
}

static struct capture *end(struct pcap_writer *w)
{
    CHECK_EQ_I(pcap_writer_close(w, NULL, 0), 0);
    return capture_read(path);
}

/* What tshark prints for our capture under these arguments, in a static buffer; NULL: no tshark. */
static const char *tshark(const char *arguments)
{
    static char text[65536];
    char command[1024];
    size_t n = 0;
    FILE *f;

    if (system("command -v tshark >/dev/null 2>&1") != 0)
        return NULL;
    snprintf(command, sizeof command, "tshark -n -r %s -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE "
                                      "-o udp.check_checksum:TRUE %s 2>/dev/null",
             path, arguments);
    f = popen(command, "r");
    if (f != NULL) {
        n = fread(text, 1, sizeof text - 1, f);
        CHECK_EQ_I(pclose(f), 0);
    }
    text[n] = 0;
    return text;
}

/* Nothing wrong in tshark's eyes, and it reads as many packets as we wrote. */
static void judge(unsigned packets)
{
    const char *text = tshark("-d tcp.port==49200,data -d udp.port==49200,data -T fields -e _ws.malformed "
                              "-e ip.checksum.status -e tcp.checksum.status -e udp.checksum.status");
    unsigned lines = 0, sums = 0;

    if (text == NULL)
        return;
    CHECK(strstr(text, "alformed") == NULL);
    for (; *text != 0; text++) {
        lines += *text == '\n';
        sums += *text == '1';
        CHECK(*text != '0');
    }
    CHECK_EQ_U(lines, packets);
    CHECK(sums >= packets);
}

/* Lengths and checksums of a captured TCP or UDP packet whose headers lie as in `m`. */
static void check_sums(const struct made *m, const struct packet *p)
{
    const tenon_u8 *ip = p->data + m->l3;
    unsigned l4_bytes = p->length - m->l4;

    CHECK_EQ_U(p->kept, p->length);
    if (m->ip6) {
        CHECK_EQ_U(get16(ip + 4), l4_bytes);
    } else {
        CHECK_EQ_U(get16(ip + 2), 20 + l4_bytes);
        CHECK_EQ_U(sum16(ip, 20, 0), 0xFFFF);
    }
    CHECK_EQ_U(sum16(p->data + m->l4, l4_bytes, pseudo_sum(ip, m->ip6, (unsigned)m->proto, l4_bytes)), 0xFFFF);
}

UNIT_TEST(partial_checksum_is_completed)
{
    static struct made made;
    static const struct {
        const char *name;
        int ip6, proto, vlan, raw;
        unsigned payload_bytes;
    } rows[] = {
        { "tcp4", 0, TCP, 0, 0, 1001 },
        { "tcp4_no_payload", 0, TCP, 0, 0, 0 },
        { "tcp6", 1, TCP, 0, 0, 1440 },
        { "udp4_odd", 0, UDP, 0, 0, 7 },
        { "udp6", 1, UDP, 0, 0, 600 },
        { "tcp4_vlan", 0, TCP, 1, 0, 100 },
        { "tcp6_vlan", 1, TCP, 1, 0, 101 },
        { "tcp4_raw", 0, TCP, 0, 1, 333 },
        { "udp6_raw", 1, UDP, 0, 1, 334 },
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct pcap_writer *w = begin();
        struct capture *c;
        tenon_u8 before[FRAME_MAX];

        unit_row(rows[i].name);
        made = (struct made){ .ip6 = rows[i].ip6, .proto = rows[i].proto, .vlan = rows[i].vlan };
        made.raw = rows[i].raw;
        made.payload_bytes = rows[i].payload_bytes;
        made.flags = ACK;
        make_frame(&made);
        memcpy(before, made.at, sizeof before);
        CHECK_EQ_I(pcap_interface(w, "t0", 0, made.raw ? PCAP_RAW_IP : PCAP_ETHERNET), 0);
        pcap_frame(w, 0, 1, &made.frame, 1700000000123456789u, NULL);
        made.frame.csum = TENON_CSUM_GOOD; /* received from a neighbour in this machine */
        pcap_frame(w, 0, 0, &made.frame, 1700000000123456790u, NULL);
        CHECK_EQ_MEM(made.at, before, sizeof before);
        c = end(w);
        if (CHECK_EQ_U(c->packets, 2)) {
            check_sums(&made, &c->packet[0]);
            check_sums(&made, &c->packet[1]);
            CHECK_EQ_U(c->packet[0].flags, 2);
            CHECK_EQ_U(c->packet[1].flags, 1);
            CHECK_EQ_U(c->packet[0].ns, 1700000000123456789u);
            CHECK_EQ_MEM(c->packet[0].data + made.payload, made.at + made.payload, made.payload_bytes);
        }
        judge(2);
        capture_free(c);
    }
}

UNIT_TEST(udp_sum_of_zero_is_written_as_ones)
{
    static struct made made = { .proto = UDP, .payload_bytes = 2 };
    struct pcap_writer *w = begin();
    struct capture *c;
    unsigned sum;

    make_frame(&made);
    put16(made.at + made.payload, 0);
    sum = sum16(made.at + made.l4, 10, 0);
    put16(made.at + made.payload, 0xFFFF - sum);
    pcap_interface(w, "t0", 0, PCAP_ETHERNET);
    pcap_frame(w, 0, 1, &made.frame, 1, NULL);
    c = end(w);
    if (CHECK_EQ_U(c->packets, 1))
        CHECK_EQ_U(get16(c->packet[0].data + made.l4 + 6), 0xFFFF);
    judge(1);
    capture_free(c);
}

/* Everything that was one frame must come back as the segments of it. */
static void check_cut(const struct made *m, const struct capture *c)
{
    unsigned seg = m->frame.seg_bytes, n = (m->payload_bytes + seg - 1) / seg;

    if (!CHECK_EQ_U(c->packets, n))
        return;
    for (unsigned i = 0; i < n; i++) {
        const tenon_u8 *l4 = c->packet[i].data + m->l4, *original = m->at + m->l4;
        unsigned bytes = i + 1 < n ? seg : m->payload_bytes - i * seg;
        unsigned flags = m->flags;

        check_sums(m, &c->packet[i]);
        CHECK_EQ_U(c->packet[i].length, m->payload + bytes);
        CHECK_EQ_MEM(c->packet[i].data + m->payload, m->at + m->payload + i * seg, bytes);
        if (!m->ip6)
            CHECK_EQ_U(get16(c->packet[i].data + m->l3 + 4), (0xFFFE + i) & 0xFFFF);
        if (m->proto == UDP) {
            CHECK_EQ_U(get16(l4 + 4), 8 + bytes);
            continue;
        }
        if (i + 1 < n)
            flags &= ~(unsigned)(FIN | PSH);
        if (i > 0)
            flags &= ~(unsigned)CWR;
        CHECK_EQ_U(get32(l4 + 4), (uint32_t)(get32(original + 4) + i * seg));
        CHECK_EQ_U(l4[13], flags);
        CHECK_EQ_MEM(l4 + 20, original + 20, m->options);
    }
}

UNIT_TEST(super_frame_is_cut)
{
    static struct made made;
    static const struct {
        const char *name;
        int ip6, proto, vlan;
        unsigned payload_bytes, seg_bytes;
    } rows[] = {
        { "tso4", 0, TCP, 0, 14480 + 17, 1448 },
        { "tso4_even", 0, TCP, 0, 4 * 1448, 1448 },
        { "tso4_odd_segment", 0, TCP, 0, 10000, 777 },
        { "tso4_one_segment", 0, TCP, 0, 900, 1448 },
        { "tso4_full", 0, TCP, 0, 64000, 1448 },
        { "tso4_vlan", 0, TCP, 1, 5000, 1444 },
        { "tso6", 1, TCP, 0, 30000, 1428 },
        { "uso4", 0, UDP, 0, 9001, 1000 },
        { "uso6", 1, UDP, 0, 9001, 1001 },
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct pcap_writer *w = begin();
        struct capture *c;

        unit_row(rows[i].name);
        made = (struct made){ .ip6 = rows[i].ip6, .proto = rows[i].proto, .vlan = rows[i].vlan, .options = 12 };
        made.payload_bytes = rows[i].payload_bytes;
        made.flags = ACK | PSH | FIN | CWR;
        make_super(&made, rows[i].seg_bytes);
        pcap_interface(w, "t0", 0, PCAP_ETHERNET);
        pcap_frame(w, 0, 1, &made.frame, 5, "once");
        c = end(w);
        check_cut(&made, c);
        CHECK_EQ_S(c->packet[0].comment, "once");
        CHECK_EQ_S(c->packets > 1 ? c->packet[1].comment : "", "");
        judge(c->packets);
        capture_free(c);
    }
}

UNIT_TEST(what_cannot_be_cut_is_written_as_it_is)
{
    static struct made made = { .proto = TCP, .flags = ACK, .payload_bytes = 3000 };
    struct pcap_writer *w = begin();
    struct capture *c;

    pcap_interface(w, "t0", 0, PCAP_ETHERNET);
    make_super(&made, 1448);
    made.at[made.l4 + 12] = 0xF0; /* a header longer than a frame of 40 bytes */
    made.spans[0].len = 40;
    made.frame.nspans = 1;
    pcap_frame(w, 0, 1, &made.frame, 1, NULL);
    made.spans[0].len = 9; /* not even an Ethernet header */
    pcap_frame(w, 0, 1, &made.frame, 2, NULL);
    made.spans[0].len = 0;
    pcap_frame(w, 0, 1, &made.frame, 3, NULL);
    pcap_frame(w, 1, 1, &made.frame, 3, NULL); /* no such interface: not written */
    c = end(w);
    if (CHECK_EQ_U(c->packets, 3)) {
        CHECK_EQ_U(c->packet[0].length, 40);
        CHECK_EQ_U(c->packet[1].length, 9);
        CHECK_EQ_U(c->packet[2].length, 0);
    }
    capture_free(c);
}

UNIT_TEST(snaplen_keeps_the_beginning)
{
    static struct made made = { .proto = TCP, .flags = ACK, .payload_bytes = 1000 };
    struct pcap_writer *w = begin();
    struct capture *c;

    CHECK_EQ_I(pcap_interface(w, "whole", 0, PCAP_ETHERNET), 0);
    CHECK_EQ_I(pcap_interface(w, "cut", 96, PCAP_ETHERNET), 1);
    make_frame(&made);
    pcap_frame(w, 0, 1, &made.frame, 1, NULL);
    pcap_frame(w, 1, 1, &made.frame, 1, NULL);
    c = end(w);
    CHECK_EQ_U(c->interfaces, 2);
    if (CHECK_EQ_U(c->packets, 2)) {
        CHECK_EQ_U(c->packet[0].kept, 1054);
        CHECK_EQ_U(c->packet[1].kept, 96);
        CHECK_EQ_U(c->packet[1].length, 1054);
        CHECK_EQ_U(c->packet[1].interface, 1);
    }
    judge(2);
    capture_free(c);
}

UNIT_TEST(more_than_the_buffer_is_written_in_order)
{
    static struct made made = { .proto = TCP, .flags = ACK, .payload_bytes = 60000 };
    struct pcap_writer *w = begin();
    struct capture *c;

    pcap_interface(w, "t0", 0, PCAP_ETHERNET);
    make_frame(&made);
    for (unsigned i = 0; i < 15; i++)
        pcap_frame(w, 0, 1, &made.frame, i, NULL);
    c = end(w);
    CHECK_EQ_U(c->packets, 15);
    for (unsigned i = 0; i < c->packets; i++) {
        CHECK_EQ_U(c->packet[i].ns, i);
        check_sums(&made, &c->packet[i]);
    }
    capture_free(c);
}

UNIT_TEST(notes_go_to_their_frames)
{
    static struct made made = { .proto = TCP, .flags = ACK, .payload_bytes = 10 };
    struct pcap_writer *w = begin();
    const tenon_u32 right = 0xFFFFF000u, wrong = 5;
    struct capture *c;
    const char *text;

    pcap_interface(w, "t0", 0, PCAP_ETHERNET);
    make_frame(&made);
    pcap_note(w, 49200, 49300, &right, "this segment");
    pcap_note(w, 49200, 49300, &wrong, "another segment");
    pcap_note(w, 49200, 49300, NULL, "this connection");
    pcap_note(w, 49200, 49301, NULL, "another connection");
    pcap_frame(w, 0, 1, &made.frame, 1, "mine");
    pcap_frame(w, 0, 1, &made.frame, 2, NULL);
    pcap_note(w, 49300, 49200, &right, "sent by us");
    pcap_note(w, 49300, 49200, NULL, "received");
    pcap_frame(w, 0, 0, &made.frame, 3, NULL);
    for (unsigned i = 0; i < 200; i++) /* more than it remembers: the oldest are forgotten */
        pcap_note(w, 49200, (tenon_u16)(i < 100 ? 49300 : 1), NULL, "flood");
    pcap_frame(w, 0, 1, &made.frame, 4, NULL);
    c = end(w);
    if (CHECK_EQ_U(c->packets, 4)) {
        CHECK_EQ_S(c->packet[0].comment, "mine\nthis segment\nthis connection");
        CHECK_EQ_S(c->packet[1].comment, "");
        CHECK_EQ_S(c->packet[2].comment, "received");
        CHECK_EQ_S(c->packet[3].comment, "");
    }
    text = tshark("-Y 'frame.number == 3' -T fields -e frame.comment");
    if (text != NULL)
        CHECK_EQ_S(text, "received\n");
    capture_free(c);
}

/* ---- the capture around a port --------------------------------------------------------------- */

/* A port that takes at most `room` frames. */
struct narrow {
    struct bufpool pool;
    unsigned room;
    unsigned offered;
};

static void *narrow_mem_get(void *host, size_t bytes)
{
    (void)host;
    return malloc(bytes);
}

static void narrow_mem_put(void *host, void *mem, size_t bytes)
{
    (void)host;
    (void)bytes;
    free(mem);
}

static unsigned narrow_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct narrow *narrow = host;

    return port_bufpool_get_many(&narrow->pool, bufs, n);
}

static unsigned narrow_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct narrow *narrow = host;
    unsigned take = n < narrow->room ? n : narrow->room;

    (void)netif;
    (void)frames;
    narrow->offered += n;
    narrow->room -= take;
    return take;
}

static int narrow_entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    memset(bytes, 7, n);
    return 0;
}

static uint64_t fixed_time(void *clock)
{
    return *(uint64_t *)clock;
}

static const struct tenon_host narrow_ops = {
    TENON_HOST_VERSION, narrow_mem_get, narrow_mem_put, narrow_buf_get, narrow_transmit, narrow_entropy
};

UNIT_TEST(host_captures_what_the_port_took)
{
    static struct made made = { .proto = TCP, .flags = ACK, .payload_bytes = 10 };
    struct narrow narrow = { .room = 2 };
    struct pcap_writer *w = begin();
    uint64_t time = 77;
    struct pcap_host host;
    struct tenon_frame frames[3];
    struct capture *c;

    pcap_host_init(&host, &narrow_ops, &narrow, w, fixed_time, &time);
    CHECK_EQ_I(pcap_host_netif(&host, 1, "one", PCAP_ETHERNET), 0);
    CHECK_EQ_I(pcap_host_netif(&host, 99, "none", PCAP_ETHERNET), -1);
    make_frame(&made);
    frames[0] = frames[1] = frames[2] = made.frame;
    CHECK_EQ_U(pcap_host_ops()->transmit(&host, 1, frames, 3), 2);
    CHECK_EQ_U(pcap_host_ops()->transmit(&host, 2, frames, 3), 0);
    c = end(w);
    CHECK_EQ_U(narrow.offered, 6);
    if (CHECK_EQ_U(c->packets, 2)) {
        CHECK_EQ_U(c->packet[0].flags, 2);
        CHECK_EQ_U(c->packet[1].ns, 77);
        check_sums(&made, &c->packet[1]);
    }
    capture_free(c);
}

/* An ARP request for 10.9.0.2, and the instance's answer to it. */
static void ask_for_address(struct pcap_host *host, struct tenon *stack, unsigned netif)
{
    static tenon_u8 request[42] = { 255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1,
                                    2, 0, 0, 0, 0, 1, 10, 9, 0, 1, 0, 0, 0, 0, 0, 0, 10, 9, 0, 2 };
    struct tenon_buf buf = { request, sizeof request, 1, no_release };
    struct tenon_span span = { &buf, 0, sizeof request };
    struct tenon_frame frame = { .spans = &span, .nspans = 1 };

    CHECK_EQ_I(pcap_host_input(host, stack, netif, &frame, 1, 1000), TENON_OK);
    tenon_poll(stack, 1000);
}

UNIT_TEST(host_captures_both_ways)
{
    struct narrow narrow = { .room = 1000 };
    struct pcap_writer *w = begin();
    struct tenon_netif_conf conf = { .mac = { 2, 0, 0, 0, 0, 2 }, .mtu = 1500 };
    struct tenon_ip ip = tenon_ip4_bytes(10, 9, 0, 2);
    struct tenon_conf stack_conf;
    struct pcap_host host;
    struct tenon *stack;
    struct capture *c;
    unsigned requests = 0, replies = 0;
    int netif;
    void *mem;

    port_bufpool_init(&narrow.pool, 2048, 1 << 20);
    pcap_host_init(&host, &narrow_ops, &narrow, w, NULL, NULL);
    tenon_conf_default(&stack_conf);
    mem = malloc(tenon_mem_size(&stack_conf));
    stack = tenon_init(mem, &stack_conf, pcap_host_ops(), &host);
    conf.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    netif = tenon_netif_add(stack, &conf);
    pcap_host_netif(&host, (unsigned)netif, "t0", PCAP_ETHERNET);
    CHECK_EQ_I(tenon_addr_add(stack, (unsigned)netif, &ip, 24), TENON_OK);
    ask_for_address(&host, stack, (unsigned)netif);
    tenon_fini(stack);
    free(mem);
    CHECK_EQ_U(narrow.pool.in_use, 0);
    port_bufpool_fini(&narrow.pool);
    c = end(w);
    for (unsigned i = 0; i < c->packets; i++) {
        const tenon_u8 *arp = c->packet[i].data;

        requests += c->packet[i].flags == 1 && arp[21] == 1;
        replies += c->packet[i].flags == 2 && arp[21] == 2 && memcmp(arp + 22, conf.mac, 6) == 0;
    }
    CHECK_EQ_U(requests, 1);
    CHECK_EQ_U(replies, 1);
    capture_free(c);
}

UNIT_TEST(errors_are_told)
{
    static struct made made = { .proto = TCP, .flags = ACK, .payload_bytes = 60000 };
    char error[200] = "";
    struct pcap_writer *w;

    CHECK(pcap_writer_open("/nowhere/at/all", error, sizeof error) == NULL);
    CHECK(strstr(error, "/nowhere/at/all") != NULL);
    error[0] = 0;
    if (access("/dev/full", W_OK) != 0)
        return;
    w = pcap_writer_open("/dev/full", error, sizeof error);
    if (!CHECK(w != NULL))
        return;
    pcap_interface(w, "t0", 0, PCAP_ETHERNET);
    make_frame(&made);
    for (unsigned i = 0; i < 20; i++)
        pcap_frame(w, 0, 1, &made.frame, i, NULL);
    CHECK_EQ_I(pcap_writer_close(w, error, sizeof error), -1);
    CHECK(strstr(error, "incomplete") != NULL);
}

int main(void)
{
    snprintf(path, sizeof path, "/tmp/tenon-pcap-test-%ld.pcapng", (long)getpid());
    UNIT_RUN(partial_checksum_is_completed);
    UNIT_RUN(udp_sum_of_zero_is_written_as_ones);
    UNIT_RUN(super_frame_is_cut);
    UNIT_RUN(what_cannot_be_cut_is_written_as_it_is);
    UNIT_RUN(snaplen_keeps_the_beginning);
    UNIT_RUN(more_than_the_buffer_is_written_in_order);
    UNIT_RUN(notes_go_to_their_frames);
    UNIT_RUN(host_captures_what_the_port_took);
    UNIT_RUN(host_captures_both_ways);
    UNIT_RUN(errors_are_told);
    unlink(path);
    if (system("command -v tshark >/dev/null 2>&1") != 0)
        printf("tshark is not installed: the captures were not judged by it\n");
    return unit_end();
}
