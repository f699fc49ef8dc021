/* SPDX-License-Identifier: MIT */
/* Frames of one burst that go up as one packet, and those that must not. */
#include "core.h"
#include "harness.h"
#include "tcp/segment.h"
#include "wire/wire.h"

enum { PORT = 80, PEER_PORT = 4000, FRAMES_MAX = 80, BYTES = 100, OPTIONS = 12, ISS = 0x7FFFFF80 };

static struct hn hn;
static int v6;
static tenon_u32 our_seq;
static tenon_u32 received;         /* bytes ... */
static unsigned calls, spans_max;  /* ... in so many calls, of at most so many spans */
static unsigned wrong, answers;    /* ... which are answered each with so many bytes */
static const struct tenon_conf *conf;    /* of the instance; NULL: the default one */
static unsigned more;              /* bytes of options more than nearly everybody sends: 0, or 4 */

static tenon_u8 byte_at(tenon_u32 at)
{
    return (tenon_u8)(at * 2654435761U >> 23);
}

static void take(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    calls++;
    spans_max = n > spans_max ? n : spans_max;
    for (unsigned i = 0; i < n; i++) {
        for (tenon_u32 k = 0; k < spans[i].len; k++)
            wrong += tenon_span_data(&spans[i])[k] != byte_at(received++);
        tenon_tcp_consumed(conn, spans[i].len);
    }
    if (answers > 0)
        (void)tenon_tcp_write(conn, "ten bytes.", answers);
}

static struct tenon_ip us(void)
{
    return v6 ? hn_ip("2001:db8::1") : hn_ip("10.0.0.1");
}

static struct tenon_ip peer(void)
{
    return v6 ? hn_ip("2001:db8::2") : hn_ip("10.0.0.2");
}

/* A segment as the peer sends it, of n bytes from `at` on, in a frame at p. @return its length */
static size_t build(tenon_u8 *p, tenon_u32 at, unsigned flags, size_t n)
{
    static const tenon_u8 timestamp[OPTIONS + 4] = { 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1 };
    const size_t header = 20 + OPTIONS + more;
    tenon_u8 bytes[2048];
    struct hn_packet packet;

    memset(&packet, 0, sizeof packet);
    memset(bytes, 0, 20);
    hn_put16(bytes, PEER_PORT);
    hn_put16(bytes + 2, PORT);
    hn_put32(bytes + 4, ISS + 1 + at - (flags & SEG_SYN ? 1U : 0U));
    hn_put32(bytes + 8, our_seq);
    bytes[12] = (tenon_u8)(header << 2);
    bytes[13] = (tenon_u8)flags;
    hn_put16(bytes + 14, 0x4000);
    memcpy(bytes + 20, timestamp, OPTIONS + more);
    for (size_t i = 0; i < n; i++)
        bytes[header + i] = byte_at((tenon_u32)(at + i));
    hn_mac(packet.from, 1, 2);
    packet.src = peer();
    packet.dst = us();
    packet.proto = 6;
    packet.ttl = 64;
    packet.sum_at = 16;
    packet.payload = bytes;
    packet.len = header + n;
    return hn_build(p, 1, &packet);
}

static void open_conn(unsigned flags)
{
    static const struct tenon_tcp_events events = { .received = take };
    struct tenon_tcp_listener *listener;
    struct tenon_ip ip;
    struct tenon_addr at;
    tenon_u8 frame[256], mac[6];
    struct seg seg;

    memset(&at, 0, sizeof at);
    at.port = PORT;
    received = calls = spans_max = wrong = 0;
    our_seq = 0;
    hn_open(&hn, conf);
    HN_EQUAL(hn_netif(&hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | flags), 1);
    ip = us();
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    ip = peer();
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &ip, hn_mac(mac, 1, 2)), TENON_OK);
    HN_EQUAL(tenon_tcp_listen(hn.stack, &listener, &at, &events, NULL, 10), TENON_OK);
    hn_run_ms(&hn, 3000);
    hn_forget(&hn);
    hn_inject(&hn, 1, frame, build(frame, 0, SEG_SYN, 0));
    hn_run_ms(&hn, 1);
    if (HN_CHECK(seg_next(&hn, &seg)))
        our_seq = seg.seq + 1;
    hn_inject(&hn, 1, frame, build(frame, 0, SEG_ACK, 0));
    hn_run_ms(&hn, 1);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_ESTABLISHED), 1);
    hn_forget(&hn);
}

/* A burst on its way into the instance. */
struct burst {
    struct tenon_frame frames[FRAMES_MAX];
    struct tenon_span spans[FRAMES_MAX][2];
    unsigned n;
};

static void burst_add(struct burst *burst, const tenon_u8 *bytes, size_t len, size_t cut)
{
    struct tenon_frame *frame = &burst->frames[burst->n];
    struct tenon_span *spans = burst->spans[burst->n++];
    const size_t first = cut > 0 && cut < len ? cut : len;

    memset(frame, 0, sizeof *frame);
    frame->spans = spans;
    frame->nspans = (tenon_u16)(first < len ? 2 : 1);
    for (unsigned i = 0; i < frame->nspans; i++) {
        spans[i].len = (tenon_u32)(i == 0 ? first : len - first);
        spans[i].buf = hn_buf(&hn, spans[i].len);
        spans[i].off = 0;
        memcpy(spans[i].buf->data, bytes + (i == 0 ? 0 : first), spans[i].len);
    }
}

static void burst_give(struct burst *burst)
{
    HN_EQUAL(tenon_input(hn.stack, 1, burst->frames, burst->n, hn.now_us), TENON_OK);
    for (unsigned i = 0; i < burst->n; i++)
        for (unsigned k = 0; k < burst->frames[i].nspans; k++)
            tenon_buf_put(burst->spans[i][k].buf);
    burst->n = 0;
}

/* The sums of a frame after it was changed. */
static void repair(tenon_u8 *p, int transport)
{
    tenon_u8 *ip = p + 14, *l4 = ip + (v6 ? 40 : 20);
    const size_t n = (v6 ? hn_get16(ip + 4) : hn_get16(ip + 2) - 20U);
    const struct tenon_ip src = peer(), dst = us();

    if (!v6) {
        hn_put16(ip + 10, 0);
        hn_put16(ip + 10, ~hn_sum(0, ip, 20) & 0xFFFF);
    }
    if (!transport)
        return;
    hn_put16(l4 + 16, 0);
    hn_put16(l4 + 16, ~hn_sum(hn_pseudo(&src, &dst, 6, n), l4, n) & 0xFFFF);
}

enum where { NOWHERE, LINK, IP, TCP, PAYLOAD };

/* Four segments; something about the third is different. */
struct row {
    const char *name;
    int v4, v6;              /* tested with */
    enum where where;        /* a byte of its header ... */
    unsigned at, value;      /* ... is xor-ed with the value; or so much payload it has, by the length in IP */
    int repair;              /* 1: its sums are made right again; 2: the transport's is left wrong */
    unsigned merged;         /* how many frames are merged into the one before ... */
    tenon_u32 bytes;         /* ... and bytes delivered in the end */
};

static const struct row rows[] = {
    { "nothing", 1, 1, NOWHERE, 0, 0, 0, 3, 400 },
    { "identification", 1, 0, IP, 4, 0x77, 1, 3, 400 },
    { "PSH", 1, 1, TCP, 13, SEG_PSH, 1, 3, 400 },
    { "link source", 1, 1, LINK, 11, 1, 0, 1, 400 },
    { "TOS", 1, 0, IP, 1, 4, 1, 1, 400 },
    { "CE", 1, 0, IP, 1, 3, 1, 1, 400 },
    { "traffic class", 0, 1, IP, 1, 0x40, 1, 1, 400 },
    { "flow label", 0, 1, IP, 3, 1, 1, 1, 400 },
    { "TTL", 1, 0, IP, 8, 1, 1, 1, 400 },
    { "hop limit", 0, 1, IP, 7, 1, 1, 1, 400 },
    { "DF", 1, 0, IP, 6, 0x40, 1, 1, 400 },
    { "reserved flag of IP", 1, 0, IP, 6, 0x80, 1, 1, 400 },
    { "a fragment", 1, 0, IP, 6, 0x20, 1, 1, 200 },
    { "IP checksum", 1, 0, IP, 10, 1, 0, 1, 200 },
    { "source address", 1, 0, IP, 15, 1, 1, 1, 200 },
    { "source address, first word", 0, 1, IP, 11, 1, 1, 1, 200 },
    { "source address, second word", 0, 1, IP, 15, 1, 1, 1, 200 },
    { "source address, third word", 0, 1, IP, 19, 1, 1, 1, 200 },
    { "source address, last word", 0, 1, IP, 22, 1, 1, 1, 200 },
    { "destination, first word", 0, 1, IP, 27, 1, 1, 1, 200 },
    { "destination, second word", 0, 1, IP, 31, 1, 1, 1, 200 },
    { "destination, third word", 0, 1, IP, 35, 1, 1, 1, 200 },
    { "destination, last word", 0, 1, IP, 38, 1, 1, 1, 200 },
    { "source port", 1, 1, TCP, 1, 1, 1, 1, 200 },
    { "sequence number", 1, 1, TCP, 6, 1, 1, 1, 200 },
    { "older acknowledgement", 1, 1, TCP, 8, 0, 1, 1, 400 },
    { "reserved bit", 1, 1, TCP, 12, 1, 1, 1, 400 },
    { "window", 1, 1, TCP, 15, 1, 1, 1, 400 },
    { "TCP checksum", 1, 1, TCP, 17, 1, 2, 1, 200 },
    { "payload broken", 1, 1, TCP, 20 + OPTIONS + 3, 1, 2, 1, 200 },
    { "urgent pointer", 1, 1, TCP, 19, 1, 1, 1, 400 },
    { "URG", 1, 1, TCP, 13, SEG_URG, 1, 1, 400 },
    { "ECE", 1, 1, TCP, 13, 0x40, 1, 1, 400 },
    { "CWR", 1, 1, TCP, 13, 0x80, 1, 1, 400 },
    { "FIN", 1, 1, TCP, 13, SEG_FIN, 1, 1, 300 },
    { "no ACK", 1, 1, TCP, 13, SEG_ACK, 1, 1, 200 },
    { "timestamp", 1, 1, TCP, 27, 2, 1, 1, 400 },
    { "timestamp that is echoed", 1, 1, TCP, 31, 2, 1, 1, 400 },
    { "longer header", 1, 1, TCP, 12, 0x90, 1, 1, 200 },
    { "no payload", 1, 0, PAYLOAD, 0, 0, 1, 1, 200 },
    { "half the payload", 1, 0, PAYLOAD, 0, 50, 1, 2, 250 }
};

static void run_row(const struct row *row, size_t padding, size_t cut, int offload)
{
    struct burst burst = { .n = 0 };
    tenon_u8 frame[512];

    open_conn(0);
    for (unsigned i = 0; i < 4; i++) {
        tenon_u8 *const headers[] = { frame, frame, frame + 14, frame + 14 + (v6 ? 40 : 20) };
        size_t len = build(frame, i * BYTES, SEG_ACK, BYTES);

        memset(frame + len, 0xDD, padding);
        if (i == 2 && row->where != NOWHERE) {
            if (row->where == PAYLOAD)
                hn_put16(headers[IP] + 2, 20 + 20 + OPTIONS + more + row->value);
            else if (row->value == 0)
                hn_put32(headers[TCP] + 8, our_seq - 1);
            else
                headers[row->where][row->at] ^= (tenon_u8)row->value;
            if (row->repair != 0)
                repair(frame, row->repair == 1);
        }
        burst_add(&burst, frame, len + padding, cut);
        if (offload)
            burst.frames[burst.n - 1].csum = TENON_CSUM_GOOD;
    }
    burst_give(&burst);
    hn_run_ms(&hn, 1000);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), row->merged);
    HN_EQUAL(received, row->bytes);
    HN_EQUAL(wrong, 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_FRAMES), 6);
    hn_close(&hn);
}

static void run_row_in_pieces(const struct row *row)
{
    const size_t headers = 14 + (v6 ? 40U : 20U) + 20 + OPTIONS + more;

    run_row(row, 0, 0, 0);
    run_row(row, 6, 0, 0);              /* with padding */
    run_row(row, 0, headers, 0);        /* header and payload in spans of their own */
    run_row(row, 0, headers + 10, 0);
    if (row->repair != 2)
        run_row(row, 0, 0, 1);          /* the port has verified the sums */
}

/* Headers of the usual length are compared by another function than all others. */
static void one_differs(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i].name;
        for (v6 = 0; v6 < 2; v6++) {
            if (v6 ? !rows[i].v6 : !rows[i].v4)
                continue;
            for (more = 0; more <= 4; more += 4)
                run_row_in_pieces(&rows[i]);
        }
    }
    more = 0;
}

/* Four segments that have the same oddity: nothing is different, and nothing is put together. */
static void all_are_odd(void)
{
    static const struct row table[] = {
        { "a fragment", 1, 0, IP, 6, 0x20, 1, 0, 0 },
        { "a later fragment", 1, 0, IP, 7, 1, 1, 0, 0 },
        { "IP checksum", 1, 0, IP, 10, 1, 0, 0, 0 },
        { "another protocol", 1, 0, IP, 9, 6 ^ 17, 1, 0, 0 },
        { "an extension header", 0, 1, IP, 6, 6 ^ 43, 1, 0, 0 },
        { "IP options", 1, 0, IP, 0, 0x45 ^ 0x46, 1, 0, 0 },
        { "TCP checksum", 1, 1, TCP, 17, 1, 2, 0, 0 },
        { "URG", 1, 1, TCP, 13, SEG_URG, 1, 0, 400 },
        { "ECE", 1, 1, TCP, 13, 0x40, 1, 0, 400 },
        { "FIN", 1, 1, TCP, 13, SEG_FIN, 1, 0, 100 },
        { "SYN", 1, 1, TCP, 13, SEG_SYN, 1, 0, 0 },
        { "no ACK", 1, 1, TCP, 13, SEG_ACK, 1, 0, 0 },
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(table); i++) {
        hn_row = table[i].name;
        for (v6 = 0; v6 < 2; v6++) {
            struct burst burst = { .n = 0 };
            tenon_u8 frame[512];

            if (v6 ? !table[i].v6 : !table[i].v4)
                continue;
            open_conn(0);
            for (unsigned k = 0; k < 4; k++) {
                tenon_u8 *const headers[] = { frame, frame, frame + 14, frame + 14 + (v6 ? 40 : 20) };
                const size_t len = build(frame, k * BYTES, SEG_ACK, BYTES);

                headers[table[i].where][table[i].at] ^= (tenon_u8)table[i].value;
                if (table[i].repair != 0)
                    repair(frame, table[i].repair == 1);
                burst_add(&burst, frame, len, 0);
            }
            burst_give(&burst);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 0);
            HN_EQUAL(received, table[i].bytes);
            HN_EQUAL(wrong, 0);
            hn_close(&hn);
        }
    }
    hn_row = "";
}

/* One of four frames came whole from the port, or with headers that are cut in two: it stays alone. */
static void one_stays_alone(void)
{
    static const struct {
        unsigned which, merged;
    } table[] = { { 0, 2 }, { 1, 1 }, { 2, 1 }, { 3, 2 } };

    for (unsigned i = 0; i < 2 * TENON_ARRAY_LEN(table); i++) {
        struct burst burst = { .n = 0 };
        const unsigned which = table[i / 2].which;
        tenon_u8 frame[512];

        v6 = 0;
        open_conn(0);
        for (unsigned k = 0; k < 4; k++) {
            const size_t len = build(frame, k * BYTES, SEG_ACK, BYTES);

            burst_add(&burst, frame, len, k == which && i % 2 == 0 ? 60 : 0);
            if (k == which && i % 2 == 1) {
                burst.frames[k].seg_kind = TENON_SEG_TCP4;
                burst.frames[k].seg_bytes = 50;
            }
        }
        burst_give(&burst);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), table[i / 2].merged);
        HN_EQUAL(received, 400);
        HN_EQUAL(wrong, 0);
        hn_close(&hn);
    }
}

/* The first of four is broken, and the others are whole. Or the third is for others, from others, by numbers that have
 * the same sum: its checksums are right, and those of the run would be. */
static void sums_are_not_all(void)
{
    for (unsigned third = 0; third < 2; third++) {
        struct burst burst = { .n = 0 };
        tenon_u8 frame[512];

        v6 = 0;
        open_conn(0);
        for (unsigned k = 0; k < 4; k++) {
            const size_t len = build(frame, k * BYTES, SEG_ACK, BYTES);

            if (!third && k == 0)
                frame[len - 1] ^= 1;
            if (third && k == 2) {
                frame[14 + 15]++;    /* 10.0.0.3 */
                frame[14 + 19]--;    /* to 10.0.0.0 */
            }
            burst_add(&burst, frame, len, 0);
        }
        burst_give(&burst);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), third ? 1 : 2);
        HN_EQUAL(received, third ? 200 : 0);
        HN_EQUAL(wrong, 0);
        hn_close(&hn);
    }
}

/* n segments of `bytes` each in one burst. */
static void many(struct burst *burst, unsigned n, size_t bytes, tenon_u32 at)
{
    tenon_u8 frame[2048];

    for (unsigned i = 0; i < n; i++) {
        const size_t len = build(frame, at + i * (tenon_u32)bytes, SEG_ACK, bytes);

        burst_add(burst, frame, len, 0);
    }
}

/* What is answered to a burst leaves as one segment, whether the frames went up as one or each alone. With something
 * else after them that does not continue them, too: it is not the last that decides. */
static void answered_together(void)
{
    static struct burst burst;
    tenon_u8 frame[2048];

    v6 = 0;
    answers = 10;
    for (unsigned how = 0; how < 3; how++) {
        const unsigned pieces = how == 0 ? 1 : how == 1 ? 4 : 2;
        const struct hn_sent *sent;

        open_conn(how == 1 ? TENON_NETIF_NO_GRO : 0);
        many(&burst, 4, 100, 0);
        if (how == 2) {
            const size_t len = build(frame, 400, SEG_ACK | SEG_PSH, 100);

            frame[14 + 1] ^= 4;    /* another TOS */
            repair(frame, 1);
            burst_add(&burst, frame, len, 0);
        }
        burst_give(&burst);
        HN_EQUAL(calls, pieces);
        HN_EQUAL(hn_left(&hn), 1);
        sent = hn_next(&hn);
        if (HN_CHECK(sent != NULL))
            HN_EQUAL(hn_get16(sent->bytes + 14 + 2), 20 + 20 + OPTIONS + 10 * pieces);
        hn_close(&hn);
    }
    answers = 0;
}

/* Spans, and bytes of one IP packet. */
static void limits(void)
{
    static const struct {
        unsigned n;
        size_t bytes;
        unsigned merged, calls;
    } table[] = {
        { 64, 10, 63, 1 }, { 65, 10, 63, 2 }, { 70, 10, 68, 2 },
        { 46, 1423, 45, 1 }, { 46, 1424, 44, 2 }
    };
    static struct burst burst;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(table); i++) {
        v6 = 0;
        open_conn(0);
        many(&burst, table[i].n, table[i].bytes, 0);
        burst_give(&burst);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), table[i].merged);
        HN_EQUAL(calls, table[i].calls);
        HN_CHECK(spans_max <= TN_RX_SPANS_MAX);
        HN_EQUAL(received, table[i].n * table[i].bytes);
        HN_EQUAL(wrong, 0);
        hn_close(&hn);
    }
}

/* Sizes may differ. What counts for the delayed acknowledgement is the largest: two full segments are answered at
 * once, however they came, and two small ones are not. */
static void acknowledged_as_segments(void)
{
    static struct burst burst;

    for (v6 = 0; v6 < 2; v6++) {
        open_conn(0);
        many(&burst, 1, 1400, 0);
        burst_give(&burst);
        HN_EQUAL(hn_left(&hn), 0);
        many(&burst, 1, 1400, 1400);
        burst_give(&burst);
        HN_EQUAL(hn_left(&hn), 1);
        hn_forget(&hn);
        many(&burst, 2, 1400, 2800);
        burst_give(&burst);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 1);
        HN_EQUAL(hn_left(&hn), 1);
        hn_forget(&hn);
        many(&burst, 2, 300, 5600);
        burst_give(&burst);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 2);
        HN_EQUAL(hn_left(&hn), 0);
        HN_EQUAL(wrong, 0);
        hn_close(&hn);

        open_conn(0);
        many(&burst, 1, 300, 0);
        many(&burst, 1, 1400, 300);
        burst_give(&burst);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 1);
        HN_EQUAL(hn_left(&hn), 0);
        hn_close(&hn);
    }
}

/* A burst of frames: A is our connection, other capitals are from other ports, `a` acknowledges and has no payload,
 * `!` is a segment of ours that nobody expects. */
static void mixed(struct burst *burst, const char *order)
{
    tenon_u32 at[26] = { 0 };
    tenon_u8 frame[512];

    for (; *order != 0; order++) {
        const unsigned flow = *order >= 'A' && *order <= 'Z' ? (unsigned)(*order - 'A') : 0;
        const size_t n = *order == 'a' ? 0 : BYTES;
        const size_t len = build(frame, *order == '!' ? 5000 : at[flow], SEG_ACK, n);

        hn_put16(frame + 14 + (v6 ? 40 : 20), PEER_PORT + flow);
        repair(frame, 1);
        burst_add(burst, frame, len, 0);
        if (*order != '!')
            at[flow] += (tenon_u32)n;
    }
}

/* Frames of several connections in turns: each of them is put together, and keeps its order. */
static void interleaved(void)
{
    static const struct {
        const char *order;
        unsigned merged, calls;
        tenon_u32 bytes;
    } table[] = {
        { "ABABABAB", 6, 1, 400 }, { "ABCDABCD", 4, 1, 200 }, { "BAAB", 2, 1, 200 }, { "AAABBBAAA", 7, 1, 600 },
        { "ABaBA", 1, 2, 200 },                    /* what stands between two of them ends the run */
        { "AB!BA", 1, 2, 200 }, { "A!BABA!A", 2, 3, 400 },
        { "ABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABABAB", 66, 2, 3500 }    /* 64 at a time */
    };
    static struct burst burst;

    for (v6 = 0; v6 < 2; v6++) {
        for (unsigned i = 0; i < TENON_ARRAY_LEN(table); i++) {
            hn_row = table[i].order;
            open_conn(0);
            mixed(&burst, table[i].order);
            burst_give(&burst);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), table[i].merged);
            HN_EQUAL(calls, table[i].calls);
            HN_EQUAL(received, table[i].bytes);
            HN_EQUAL(wrong, 0);
            hn_close(&hn);
        }
    }
}

/* More connections than are kept apart: some are not put together, and nothing else happens to them. */
static void interleaved_many(void)
{
    static struct burst burst;

    for (v6 = 0; v6 < 2; v6++) {
        open_conn(0);
        mixed(&burst, "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZAAAA");
        burst_give(&burst);
        HN_CHECK(hn_stat(&hn, TENON_STAT_RX_MERGED) >= 4);
        HN_CHECK(hn_stat(&hn, TENON_STAT_RX_MERGED) <= 30);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_FRAMES), 2 + 56);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_OOO), 0);
        HN_EQUAL(received, 600);
        HN_EQUAL(wrong, 0);
        hn_close(&hn);
    }
}

/* A segment of another connection of the same host. */
static size_t build_other(tenon_u8 *p, tenon_u32 acks, tenon_u32 at, unsigned flags, size_t n)
{
    const tenon_u32 ours = our_seq;
    size_t len;

    our_seq = acks;
    len = build(p, at, flags, n);
    our_seq = ours;
    hn_put16(p + 14 + (v6 ? 40 : 20), PEER_PORT + 1);
    repair(p, 1);
    return len;
}

/* @return what it has to acknowledge */
static tenon_u32 open_other(void)
{
    tenon_u32 acks = 0;
    tenon_u8 frame[256];
    struct seg seg;

    hn_inject(&hn, 1, frame, build_other(frame, 0, 0, SEG_SYN, 0));
    hn_run_ms(&hn, 1);
    if (HN_CHECK(seg_next(&hn, &seg)))
        acks = seg.seq + 1;
    hn_inject(&hn, 1, frame, build_other(frame, acks, 0, SEG_ACK, 0));
    hn_run_ms(&hn, 1);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_ESTABLISHED), 2);
    hn_forget(&hn);
    return acks;
}

/* Bursts of two connections that are known both, and remember where they were in the burst before. `a` is an
 * acknowledgement of the first, as in mixed(). */
static void known_only(void)
{
    static const struct {
        const char *order;
        unsigned merged, calls;
    } table[] = { { "A", 0, 1 },  { "AABB", 2, 2 }, { "ABABABAB", 6, 2 }, { "BBA", 1, 2 },
                  { "BA", 0, 2 }, { "BAAB", 2, 2 }, { "AAAAB", 3, 2 },    { "ABaBA", 1, 3 } };
    static struct burst burst;
    tenon_u8 frame[512];

    for (v6 = 0; v6 < 2; v6++) {
        tenon_u32 at[2] = { 0, 0 }, acks, merged = 0, bytes = 0;

        open_conn(0);
        acks = open_other();
        for (unsigned i = 0; i < TENON_ARRAY_LEN(table); i++) {
            hn_row = table[i].order;
            calls = 0;
            for (const char *p = hn_row; *p != 0; p++) {
                const size_t n = *p == 'a' ? 0 : BYTES;
                const int is_other = *p == 'B';

                burst_add(&burst, frame,
                          is_other ? build_other(frame, acks, at[1], SEG_ACK, n) : build(frame, at[0], SEG_ACK, n), 0);
                at[is_other] += (tenon_u32)n;
                bytes += (tenon_u32)n;
            }
            merged += table[i].merged;
            burst_give(&burst);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), merged);
            HN_EQUAL(calls, table[i].calls);
            HN_EQUAL(received, bytes);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_OOO), 0);
        }
        hn_close(&hn);
    }
}

static size_t hook_bytes;

static tenon_u16 hook_sum(const tenon_u8 *p, size_t n)
{
    hook_bytes += n;
    return (tenon_u16)hn_sum(0, p, n);
}

/* tenon_conf.checksum is asked for what arrives, alone (by either way) and in a run; and what it says counts. */
static void summed_by_a_hook(void)
{
    static struct burst burst;
    struct tenon_conf with;

    tenon_conf_default(&with);
    with.checksum = hook_sum;
    conf = &with;
    for (v6 = 0; v6 < 2; v6++) {
        const size_t addresses = v6 ? 32 : 8;   /* the short way sums them along with what follows */

        open_conn(0);
        hook_bytes = 0;
        many(&burst, 1, 1000, 0);
        burst_give(&burst);
        HN_EQUAL(hook_bytes, 1000 + 20 + OPTIONS + addresses);
        many(&burst, 3, 1000, 1000);
        burst_give(&burst);
        HN_EQUAL(hook_bytes, 4 * 1000 + 20 + OPTIONS + addresses);    /* headers of a run are summed once, by us */
        HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 2);
        many(&burst, 1, 1000, 4000);
        burst.spans[0][0].buf->data[700] ^= 1;
        burst_give(&burst);
        HN_EQUAL(received, 4000);
        HN_EQUAL(wrong, 0);
        hn_close(&hn);
    }
    conf = NULL;
}

static void not_wanted(void)
{
    static struct burst burst;

    v6 = 0;
    open_conn(TENON_NETIF_NO_GRO);
    many(&burst, 10, 100, 0);
    burst_give(&burst);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 0);
    HN_EQUAL(calls, 10);
    HN_EQUAL(received, 1000);
    hn_close(&hn);

    /* What the port has put together is left alone, and nothing is added to it. */
    open_conn(0);
    many(&burst, 3, 100, 0);
    for (unsigned i = 0; i < 3; i++) {
        burst.frames[i].seg_kind = TENON_SEG_TCP4;
        burst.frames[i].seg_bytes = 50;
    }
    burst_give(&burst);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 0);
    HN_EQUAL(received, 300);
    hn_close(&hn);

    /* Frames that are hardly there. */
    open_conn(0);
    many(&burst, 4, 100, 0);
    burst.frames[1].nspans = 0;
    burst_give(&burst);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 1);
    HN_EQUAL(received, 100);
    for (unsigned i = 0; i < 1; i++)
        tenon_buf_put(burst.spans[1][i].buf);
    hn_close(&hn);
}

/* RFC 3168 6.1.3: congestion is told segment by segment; the others are put together, whatever their codepoint. */
static void congestion(void)
{
    static const struct {
        unsigned ecn, merged;
    } table[] = { { 0, 3 }, { 1, 3 }, { 2, 3 }, { 3, 0 } };
    struct burst burst = { .n = 0 };
    tenon_u8 frame[256];

    for (v6 = 0; v6 < 2; v6++) {
        for (unsigned i = 0; i < TENON_ARRAY_LEN(table); i++) {
            open_conn(0);
            for (unsigned k = 0; k < 4; k++) {
                const size_t len = build(frame, k * BYTES, SEG_ACK, BYTES);

                frame[15] = (tenon_u8)(table[i].ecn << (v6 ? 4 : 0));
                repair(frame, 1);
                burst_add(&burst, frame, len, 0);
            }
            burst_give(&burst);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), table[i].merged);
            HN_EQUAL(received, 4 * BYTES);
            hn_close(&hn);
        }
    }
}

/* A frame of n pieces: its headers, and a byte or two in each of the others. */
static void give_pieces(unsigned n, size_t payload)
{
    struct tenon_span spans[BYTES];
    struct tenon_frame frame;
    tenon_u8 bytes[512];
    const size_t len = build(bytes, received, SEG_ACK, payload), headers = len - payload;
    size_t at = 0;

    memset(&frame, 0, sizeof frame);
    frame.spans = spans;
    frame.nspans = (tenon_u16)n;
    for (unsigned i = 0; i < n; i++) {
        const size_t end = i + 1 == n ? len : headers + i;

        spans[i].len = (tenon_u32)(end - at);
        spans[i].off = 0;
        spans[i].buf = hn_buf(&hn, spans[i].len);
        memcpy(spans[i].buf->data, bytes + at, spans[i].len);
        at = end;
    }
    HN_EQUAL(tenon_input(hn.stack, 1, &frame, 1, hn.now_us), TENON_OK);
    for (unsigned i = 0; i < n; i++)
        tenon_buf_put(spans[i].buf);
}

/* What has more pieces than anybody can be given is dropped, and nothing of it is acknowledged: the peer
 * sends it again. */
static void in_too_many_pieces(void)
{
    struct seg seg;

    for (v6 = 0; v6 < 2; v6++) {
        for (unsigned data = 0; data < 2; data++) {    /* the segment in order, and one behind a hole */
            open_conn(0);
            give_pieces(TN_RX_SPANS_MAX, BYTES);
            HN_EQUAL(received, BYTES);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_PIECES), 0);
            hn_forget(&hn);
            received += data;
            give_pieces(TN_RX_SPANS_MAX + 1, BYTES);
            hn_run_ms(&hn, 1000);
            HN_EQUAL(received, BYTES + data);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_PIECES), 1);
            while (seg_next(&hn, &seg))
                HN_EQUAL(seg.ack, (tenon_u32)(ISS + 1 + BYTES));
            HN_EQUAL(wrong, 0);
            hn_close(&hn);
        }
    }
}

static void link_is_down(void)
{
    static struct burst burst;

    v6 = 0;
    open_conn(0);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    many(&burst, 4, 100, 0);
    burst_give(&burst);
    HN_EQUAL(received, 0);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_FRAMES), 6);
    hn_close(&hn);
}

/* A frame that ends anywhere, behind one that does not. */
static void cut_short(void)
{
    struct burst burst = { .n = 0 };
    tenon_u8 frame[256];

    for (v6 = 0; v6 < 2; v6++) {
        const size_t whole = build(frame, 0, SEG_ACK, BYTES);

        for (size_t n = 1; n < whole; n++) {
            open_conn(0);
            for (unsigned i = 0; i < 3; i++) {
                (void)build(frame, i * BYTES, SEG_ACK, BYTES);
                burst_add(&burst, frame, i == 1 ? n : whole, 0);
            }
            burst_give(&burst);
            HN_EQUAL(received, BYTES);
            HN_EQUAL(hn_stat(&hn, TENON_STAT_RX_MERGED), 0);
            for (unsigned i = 0; i < 2; i++) {
                (void)build(frame, (1 + i) * BYTES, SEG_ACK, BYTES);
                burst_add(&burst, frame, i == 0 ? n : whole, 0);
            }
            burst_give(&burst);
            HN_EQUAL(received, BYTES);
            hn_close(&hn);
        }
    }
}

static const struct hn_test tests[] = {
    { "gro_one_differs", "", one_differs },
    { "gro_all_are_odd", "", all_are_odd },
    { "gro_one_stays_alone", "", one_stays_alone },
    { "gro_sums_are_not_all", "", sums_are_not_all },
    { "gro_limits", "", limits },
    { "gro_acknowledged_as_segments", "", acknowledged_as_segments },
    { "gro_interleaved", "", interleaved },
    { "gro_interleaved_many", "", interleaved_many },
    { "gro_known_only", "", known_only },
    { "gro_summed_by_a_hook", "", summed_by_a_hook },
    { "gro_not_wanted", "", not_wanted },
    { "gro_answered_together", "", answered_together },
    { "gro_congestion", "", congestion },
    { "gro_in_too_many_pieces", "", in_too_many_pieces },
    { "gro_link_is_down", "", link_is_down },
    { "gro_cut_short", "", cut_short }
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
