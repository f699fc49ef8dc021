/* SPDX-License-Identifier: MIT */
/* The wire as a port: what a frame looks like when it arrives at the other end. What an end sends whole or cut, summed
 * or not, depends on what both ends can do. */
#include <stdlib.h>

#include "../../../tests/unit/unit.h"
#include "../wire.h"
#include "ports/common/port.h"

enum { ETH = 14, SEG = 1000, PAYLOAD = 5300, PIECES = 6, FRAME_MAX = 2 * PAYLOAD, GOT_MAX = 16, TCP_SEQ = 65280 };

enum { FIN = 1, PSH = 8, ACK = 16, CWR = 128 };

static char error[400];

/* ---- the two ends ------------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    const char *ends[2];
} combinations[] = {
    { "offload both", { "wire:x", "wire:x" } },
    { "offload first", { "wire:x,offload=on", "wire:x,offload=off" } },
    { "offload second", { "wire:x,offload=off", "wire:x,offload=on" } },
    { "offload nowhere", { "wire:x,offload=off", "wire:x,offload=off" } },
};

struct cable {
    struct port *ends[2];
    int offload[2];
    tenon_u32 now_us;
};

static struct port *open_end(const char *described)
{
    static const struct port_type *const types[] = { &wire_port_type, NULL };
    struct port_choice choice;

    error[0] = 0;
    if (port_read(&choice, types, described, error, sizeof error) != 0)
        return NULL;
    return port_open(choice.type, &choice.conf, error, sizeof error);
}

struct arrived {
    tenon_u8 bytes[FRAME_MAX];
    tenon_u32 n;
    struct tenon_frame frame;
};

static struct arrived got[GOT_MAX];
static unsigned ngot;

static void take(void *arg, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    (void)arg, (void)now_us;
    for (unsigned i = 0; i < n && ngot < GOT_MAX; i++, ngot++) {
        struct arrived *to = &got[ngot];

        to->frame = frames[i];
        to->n = 0;
        for (unsigned k = 0; k < frames[i].nspans; k++) {
            memcpy(to->bytes + to->n, tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len);
            to->n += frames[i].spans[k].len;
        }
    }
}

/* Its instance is not there: what arrives is looked at before that. */
static void receive(struct cable *cable, unsigned end)
{
    static char instance;

    ngot = 0;
    cable->ends[end]->input = take;
    cable->now_us += 1000;
    port_receive(cable->ends[end], (struct tenon *)(void *)&instance, 1, cable->now_us);
}

static int cable_open(struct cable *cable, unsigned combination)
{
    unit_row(combinations[combination].name);
    for (unsigned i = 0; i < 2; i++) {
        struct tenon_netif_conf conf;

        cable->ends[i] = open_end(combinations[combination].ends[i]);
        if (!CHECK(cable->ends[i] != NULL))
            return -1;
        port_netif_conf(cable->ends[i], &conf);
        cable->offload[i] = strstr(combinations[combination].ends[i], "off") == NULL ||
                            strstr(combinations[combination].ends[i], "=on") != NULL;
        CHECK_EQ_U(conf.caps, cable->offload[i]
                                  ? TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO
                                  : 0);
        CHECK_EQ_U(conf.mtu, 1500);
    }
    cable->now_us = port_now_us();
    receive(cable, 0);
    receive(cable, 1);
    return 0;
}

static void cable_close(const struct cable *cable)
{
    for (unsigned i = 0; i < 2; i++)
        port_close(cable->ends[i]);
}

/* ---- a packet ------------------------------------------------------------------------------------------ */

/* The sum of RFC 1071 of n bytes, begun with `sum`. */
static unsigned long sum_of(const tenon_u8 *p, unsigned n, unsigned long sum)
{
    for (unsigned i = 0; i < n; i++)
        sum += i % 2 ? p[i] : (unsigned long)p[i] << 8;
    while (sum > 0xFFFF)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return sum;
}

static void put16(tenon_u8 *p, unsigned long v)
{
    p[0] = (tenon_u8)(v >> 8);
    p[1] = (tenon_u8)v;
}

static unsigned get16(const tenon_u8 *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

struct kind {
    const char *name;
    int v6, udp;
    enum tenon_seg seg;
};

static const struct kind kinds[] = {
    { "TCP over IPv4", 0, 0, TENON_SEG_TCP4 },
    { "TCP over IPv6", 1, 0, TENON_SEG_TCP6 },
    { "UDP over IPv4", 0, 1, TENON_SEG_UDP },
    { "UDP over IPv6", 1, 1, TENON_SEG_UDP },
};

static unsigned ip_bytes(const struct kind *kind)
{
    return kind->v6 ? 40 : 20;
}

static unsigned l4_bytes(const struct kind *kind)
{
    return kind->udp ? 8 : 20;
}

static unsigned header_bytes(const struct kind *kind)
{
    return ETH + ip_bytes(kind) + l4_bytes(kind);
}

static unsigned long pseudo_of(const struct kind *kind, const tenon_u8 *ip, unsigned bytes)
{
    return sum_of(ip + (kind->v6 ? 8 : 12), kind->v6 ? 32 : 8, bytes + (kind->udp ? 17U : 6U));
}

/* A frame for the end with this number, with the sum of the pseudo-header where the checksum will be. */
static void build(tenon_u8 *p, const struct kind *kind, unsigned to, unsigned payload)
{
    tenon_u8 *ip = p + ETH, *l4 = ip + ip_bytes(kind);
    const unsigned bytes = l4_bytes(kind) + payload;

    memset(p, 0, header_bytes(kind));
    memcpy(p, "\2wire", 5);
    p[5] = (tenon_u8)to;
    put16(p + 12, kind->v6 ? 0x86DD : 0x0800);
    ip[0] = kind->v6 ? 0x60 : 0x45;
    put16(ip + (kind->v6 ? 4 : 2), kind->v6 ? bytes : 20 + bytes);
    ip[kind->v6 ? 6 : 9] = kind->udp ? 17 : 6;
    ip[kind->v6 ? 23 : 15] = 1;    /* the last byte of its source, and of its destination */
    ip[kind->v6 ? 39 : 19] = 2;
    if (!kind->v6)
        put16(ip + 10, ~sum_of(ip, 20, 0));
    put16(l4, 5000);
    put16(l4 + 2, 7);
    if (kind->udp) {
        put16(l4 + 4, bytes);
    } else {
        put16(l4 + 6, TCP_SEQ);
        l4[12] = 5 << 4;
        l4[13] = CWR | ACK | PSH | FIN;
    }
    put16(l4 + (kind->udp ? 6 : 16), pseudo_of(kind, ip, bytes));
    for (unsigned i = 0; i < payload; i++)
        l4[l4_bytes(kind) + i] = (tenon_u8)(i * 7 + i / 251);
}

enum asked { ASKED_NOTHING, ASKED_CHECKSUM, ASKED_CUTTING };

/* Send one from end `from`, as its instance would. */
static void send_from(const struct cable *cable, unsigned from, const struct kind *kind, unsigned payload,
                      enum asked asked)
{
    struct port *port = cable->ends[from];
    const struct tenon_host *host = port->type->host;
    const unsigned header = header_bytes(kind), csum_start = header - l4_bytes(kind);
    const unsigned csum_offset = kind->udp ? 6 : 16;
    struct tenon_frame frame = { 0 };
    struct tenon_span spans[2];
    static tenon_u8 bytes[FRAME_MAX];
    static struct tenon_buf buf = { bytes, FRAME_MAX, 1, NULL };    /* what travels may refer to it */

    build(bytes, kind, !from, payload);
    spans[0] = (struct tenon_span){ &buf, 0, header };
    spans[1] = (struct tenon_span){ &buf, header, payload };
    frame.spans = spans;
    frame.nspans = 2;
    frame.header_bytes = (tenon_u16)header;
    if (asked == ASKED_NOTHING) {
        const unsigned long sum = ~sum_of(bytes + csum_start, header + payload - csum_start, 0) & 0xFFFF;

        put16(bytes + csum_start + csum_offset, sum != 0 ? sum : 0xFFFF);
    } else {
        frame.csum = TENON_CSUM_PARTIAL;
        frame.csum_start = (tenon_u16)csum_start;
        frame.csum_offset = (tenon_u16)csum_offset;
    }
    if (asked == ASKED_CUTTING) {
        frame.seg_kind = (tenon_u8)kind->seg;
        frame.seg_bytes = SEG;
    }
    CHECK_EQ_U(buf.refs, 1);
    CHECK_EQ_U(host->transmit(port, 1, &frame, 1), 1);
}

/* ---- what it must look like ------------------------------------------------------------------------------ */

/* One packet with bytes [off, off + len) of the payload, and nothing left to do for whoever gets it. */
static void check_packet(const struct kind *kind, const struct arrived *in, unsigned off, unsigned len, int last)
{
    const tenon_u8 *ip = in->bytes + ETH, *l4 = ip + ip_bytes(kind);
    const unsigned bytes = l4_bytes(kind) + len;
    unsigned wrong = 0;

    CHECK_EQ_U(in->n, ETH + ip_bytes(kind) + bytes);
    CHECK_EQ_U(in->frame.seg_kind, TENON_SEG_NONE);
    CHECK_EQ_U(get16(ip + (kind->v6 ? 4 : 2)), kind->v6 ? bytes : 20 + bytes);
    if (!kind->v6)
        CHECK_EQ_U(sum_of(ip, 20, 0), 0xFFFF);
    CHECK_EQ_U(sum_of(l4, bytes, pseudo_of(kind, ip, bytes)), 0xFFFF);
    if (kind->udp) {
        CHECK_EQ_U(get16(l4 + 4), bytes);
    } else {
        CHECK_EQ_U((unsigned long)get16(l4 + 4) << 16 | get16(l4 + 6), TCP_SEQ + off);
        CHECK_EQ_U(l4[13], (off == 0 ? CWR : 0) | ACK | (last ? PSH | FIN : 0));
    }
    for (unsigned i = 0; i < len; i++)
        wrong += l4[l4_bytes(kind) + i] != (tenon_u8)((off + i) * 7 + (off + i) / 251);
    CHECK_EQ_U(wrong, 0);
}

/* The whole as it was sent: an end with offload gets what its NIC would have put together. */
static void check_whole(const struct kind *kind, const struct arrived *in, unsigned payload, unsigned seg_kind)
{
    CHECK_EQ_U(in->n, header_bytes(kind) + payload);
    CHECK_EQ_U(in->frame.csum, TENON_CSUM_GOOD);
    CHECK_EQ_U(in->frame.seg_kind, seg_kind);
    if (seg_kind != TENON_SEG_NONE)
        CHECK_EQ_U(in->frame.seg_bytes, SEG);
}

static void check_row(char *row, size_t size, unsigned combination, const struct kind *kind, unsigned from)
{
    snprintf(row, size, "%s, %s, from end %u", combinations[combination].name, kind->name, from);
    unit_row(row);
}

/* Every combination, kind and direction. */
static void for_all(void (*check)(struct cable *cable, const struct kind *kind, unsigned from))
{
    for (unsigned c = 0; c < sizeof combinations / sizeof combinations[0]; c++) {
        struct cable cable;

        if (cable_open(&cable, c) != 0)
            return;
        for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            for (unsigned from = 0; from < 2; from++) {
                char row[100];

                check_row(row, sizeof row, c, &kinds[k], from);
                check(&cable, &kinds[k], from);
            }
        unit_row(NULL);
        cable_close(&cable);
    }
}

static void super_frame(struct cable *cable, const struct kind *kind, unsigned from)
{
    const unsigned to = !from;

    send_from(cable, from, kind, PAYLOAD, ASKED_CUTTING);
    receive(cable, to);
    if (!cable->offload[from]) {
        CHECK_EQ_U(ngot, 0);    /* nobody may ask this end for it */
    } else if (cable->offload[to]) {
        if (CHECK_EQ_U(ngot, 1))
            check_whole(kind, &got[0], PAYLOAD, kind->seg);
    } else if (CHECK_EQ_U(ngot, PIECES)) {
        for (unsigned i = 0; i < PIECES; i++) {
            const int last = i + 1 == PIECES;

            CHECK_EQ_U(got[i].frame.csum, TENON_CSUM_NONE);
            check_packet(kind, &got[i], i * SEG, last ? PAYLOAD - i * SEG : SEG, last);
        }
    }
}

static void half_summed(struct cable *cable, const struct kind *kind, unsigned from)
{
    const unsigned to = !from;

    send_from(cable, from, kind, 700, ASKED_CHECKSUM);
    receive(cable, to);
    if (!cable->offload[from]) {
        CHECK_EQ_U(ngot, 0);
    } else if (CHECK_EQ_U(ngot, 1)) {
        if (cable->offload[to]) {
            check_whole(kind, &got[0], 700, TENON_SEG_NONE);
        } else {
            CHECK_EQ_U(got[0].frame.csum, TENON_CSUM_NONE);
            check_packet(kind, &got[0], 0, 700, 1);
        }
    }
}

static void finished(struct cable *cable, const struct kind *kind, unsigned from)
{
    send_from(cable, from, kind, 1400, ASKED_NOTHING);
    receive(cable, !from);
    if (CHECK_EQ_U(ngot, 1)) {
        CHECK_EQ_U(got[0].frame.csum, cable->offload[!from] ? TENON_CSUM_GOOD : TENON_CSUM_NONE);
        check_packet(kind, &got[0], 0, 1400, 1);
    }
}

UNIT_TEST(frame_for_segmentation_arrives_as_the_other_end_can_take_it)
{
    for_all(super_frame);
}

UNIT_TEST(checksum_is_completed_for_an_end_that_looks_at_it)
{
    for_all(half_summed);
}

UNIT_TEST(finished_packet_arrives_as_it_is)
{
    for_all(finished);
}

/* The other end goes, and comes again with offload where it had none, or without. */
UNIT_TEST(end_that_comes_back_is_sent_what_it_can_take_now)
{
    for (unsigned c = 0; c < 2; c++) {
        struct cable cable;

        if (cable_open(&cable, c) != 0)
            return;
        port_close(cable.ends[1]);
        cable.ends[1] = open_end(combinations[!c].ends[1]);
        cable.offload[1] = !cable.offload[1];
        receive(&cable, 1);
        for (unsigned k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            super_frame(&cable, &kinds[k], 0);
            half_summed(&cable, &kinds[k], 0);
            finished(&cable, &kinds[k], 1);
        }
        cable_close(&cable);
    }
}

/* What an end without offload is asked to do all the same is not lost without a trace. */
UNIT_TEST(what_an_end_cannot_do_is_counted)
{
    struct port_stats stats;
    struct cable cable;

    if (cable_open(&cable, 3) != 0)
        return;
    send_from(&cable, 0, &kinds[0], PAYLOAD, ASKED_CUTTING);
    send_from(&cable, 0, &kinds[0], 100, ASKED_CHECKSUM);
    send_from(&cable, 0, &kinds[0], 100, ASKED_NOTHING);
    receive(&cable, 1);
    CHECK_EQ_U(ngot, 1);
    port_stats(cable.ends[0], &stats);
    CHECK_EQ_U(stats.tx_frames, 3);
    CHECK_EQ_U(stats.tx_errors, 2);
    port_stats(cable.ends[1], &stats);
    CHECK_EQ_U(stats.rx_frames, 1);
    cable_close(&cable);
}

/* There is no other end yet; or there is one, and nobody has looked at it. */
UNIT_TEST(what_nobody_hears_is_counted)
{
    struct cable cable = { .now_us = port_now_us() };
    struct port_stats stats;

    cable.ends[0] = open_end("wire:x");
    if (!CHECK(cable.ends[0] != NULL))
        return;
    send_from(&cable, 0, &kinds[0], 100, ASKED_NOTHING);
    port_stats(cable.ends[0], &stats);
    CHECK_EQ_U(stats.tx_down, 1);
    CHECK_EQ_U(stats.tx_frames, 0);
    cable.ends[1] = open_end("wire:x");
    send_from(&cable, 0, &kinds[0], 100, ASKED_NOTHING);
    receive(&cable, 0);
    port_stats(cable.ends[0], &stats);
    CHECK_EQ_U(stats.tx_down, 1);
    CHECK_EQ_U(stats.tx_frames, 1);
    port_stats(cable.ends[1], &stats);
    CHECK_EQ_U(stats.rx_missed, 1);
    CHECK_EQ_U(stats.rx_frames + stats.rx_bytes, 0);
    cable_close(&cable);
}

UNIT_TEST(names_and_ends)
{
    struct port *first = open_end("wire:a"), *second, *other;
    char text[300] = "";

    if (!CHECK(first != NULL))
        return;
    CHECK_EQ_I(first->type->advice(first, text, sizeof text), 1);
    CHECK(strstr(text, "the other end") != NULL);
    other = open_end("wire:b");
    second = open_end("wire:a");
    CHECK(other != NULL && second != NULL);
    CHECK_EQ_I(first->type->advice(first, text, sizeof text), 0);
    CHECK(open_end("wire:a") == NULL);
    CHECK(strstr(error, "both ends of the wire 'a' are in use") != NULL);
    CHECK(open_end("wire:a_name_of_more_than_thirty_one_letters") == NULL);
    CHECK(strstr(error, "at most 31 letters") != NULL);
    /* Whoever comes back takes the place that has become free. */
    port_close(second);
    CHECK_EQ_I(first->type->advice(first, text, sizeof text), 1);
    second = open_end("wire:a");
    CHECK(second != NULL);
    port_close(first);
    port_close(second);
    port_close(other);
    first = open_end("wire:a");
    CHECK(first != NULL);
    port_close(first);
}

int main(void)
{
    UNIT_RUN(frame_for_segmentation_arrives_as_the_other_end_can_take_it);
    UNIT_RUN(checksum_is_completed_for_an_end_that_looks_at_it);
    UNIT_RUN(finished_packet_arrives_as_it_is);
    UNIT_RUN(end_that_comes_back_is_sent_what_it_can_take_now);
    UNIT_RUN(what_an_end_cannot_do_is_counted);
    UNIT_RUN(what_nobody_hears_is_counted);
    UNIT_RUN(names_and_ends);
    return unit_end();
}
