/* SPDX-License-Identifier: MIT */
/* The way down to the port: segmentation in software, checksums, gathering, a port that takes nothing. */
#include "core.h"
#include "harness.h"
#include "wire/wire.h"

enum { PAYLOAD_MAX = 60000, LINK = 14 };

static tenon_u8 bytes[PAYLOAD_MAX];

/* A packet to be cut, as TCP or UDP over one of the versions hands it down. */
struct cut {
    const char *name;
    int v4, udp, link;            /* link: there is an Ethernet header */
    tenon_u32 caps;
    unsigned gather_max;
    unsigned payload, step;       /* step 0: it is not to be cut */
    unsigned span;                /* bytes of each span of payload; 0: one span for all */
    unsigned flags, options;      /* TCP: flags, bytes of options */
};

static struct hn hn;
static int hooked;                /* checksums are made by hook_sum() ... */
static size_t hook_bytes;         /* ... which has summed so much */

static tenon_u16 hook_sum(const tenon_u8 *p, size_t n)
{
    tenon_u32 sum = 0;

    hook_bytes += n;
    for (size_t i = 0; i < n; i++) {
        sum += i % 2 == 0 ? (tenon_u32)p[i] << 8 : p[i];
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return (tenon_u16)sum;
}

static void open_port(const struct cut *cut)
{
    struct tenon_netif_conf netif;
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    if (hooked)
        conf.checksum = hook_sum;
    hn_open(&hn, &conf);
    memset(&netif, 0, sizeof netif);
    hn_mac(netif.mac, 0, 1);
    netif.mtu = 1500;
    netif.caps = cut->caps | (cut->link ? 0U : (tenon_u32)TENON_CAP_NO_LINK);
    netif.gather_max = (tenon_u16)cut->gather_max;
    netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | TENON_NETIF_NO_IP6;
    HN_EQUAL(tenon_netif_add(hn.stack, &netif), 1);
    for (unsigned i = 0; i < PAYLOAD_MAX; i++)
        bytes[i] = (tenon_u8)(i * 31 + (i >> 8) * 7);
}

static unsigned l4_bytes(const struct cut *cut)
{
    return cut->udp ? 8 : 20 + cut->options;
}

static unsigned ip_bytes(const struct cut *cut)
{
    return cut->v4 ? 20 : 40;
}

static struct tenon_ip address(const struct cut *cut, unsigned n)
{
    return cut->v4 ? tenon_ip4_bytes(192, 0, 2, n) : tenon_ip6(0x20010DB8UL, 0, 0xFFFFFFFFUL, n);
}

/* The header of the whole packet, as the layers above leave it. */
static void build_header(const struct cut *cut, struct tn_out *out)
{
    const unsigned l4_len = l4_bytes(cut) + cut->payload;
    tenon_u8 *l4 = out->hdr->data + TN_HEADROOM, *ip = l4 - ip_bytes(cut);

    memset(l4, 0x5A, l4_bytes(cut));
    if (cut->udp)
        hn_put16(l4 + 4, l4_len & 0xFFFF);
    else {
        hn_put32(l4 + 4, 0xFFFFF000UL);    /* it wraps on the way */
        l4[12] = (tenon_u8)(l4_bytes(cut) << 2);
        l4[13] = (tenon_u8)cut->flags;
    }
    hn_put16(l4 + (cut->udp ? 6 : 16), hn_pseudo(&out->src, &out->dst, out->proto, l4_len) & 0xFFFF);
    if (cut->v4) {
        hn_ip_header(ip, &out->src, &out->dst, out->proto, 64, l4_len);
        hn_put16(ip + 4, 0xFFFE);
        hn_put16(ip + 6, 0x4000);
        hn_put16(ip + 10, 0);
        hn_put16(ip + 10, ~hn_sum(0, ip, 20) & 0xFFFF);
    } else {
        hn_ip_header(ip, &out->src, &out->dst, out->proto, 64, l4_len);
    }
    if (cut->link)
        memset(ip - LINK, 0xEE, LINK);
}

static int send_cut(const struct cut *cut)
{
    static struct tenon_span spans[40];
    struct tn_out out;
    unsigned n = 0;
    int error;

    HN_EQUAL(tn_out_new(hn.stack, &out), TENON_OK);
    out.src = address(cut, 1);
    out.dst = address(cut, 2);
    out.proto = cut->udp ? TN_PROTO_UDP : TN_PROTO_TCP;
    out.l4_bytes = (tenon_u16)l4_bytes(cut);
    out.csum_offset = cut->udp ? 6 : 16;
    if (cut->step != 0) {
        out.seg_kind = cut->udp ? TENON_SEG_UDP : cut->v4 ? TENON_SEG_TCP4 : TENON_SEG_TCP6;
        out.seg_bytes = (tenon_u16)cut->step;
    }
    out.netif = 1;
    build_header(cut, &out);
    out.off -= ip_bytes(cut) + (cut->link ? LINK : 0U);
    out.len = TN_HEADROOM + l4_bytes(cut) - out.off;
    for (unsigned at = 0; at < cut->payload; n++) {
        const unsigned left = cut->payload - at, len = cut->span != 0 && cut->span < left ? cut->span : left;

        HN_CHECK(n < TENON_ARRAY_LEN(spans));
        spans[n].buf = hn_buf(&hn, len + 5);
        spans[n].off = 5;
        spans[n].len = len;
        memcpy(spans[n].buf->data + 5, bytes + at, len);
        at += len;
    }
    out.spans = spans;
    out.nspans = n;
    out.payload = cut->payload;
    error = tn_tx(hn.stack, &out);
    while (n > 0)
        tenon_buf_put(spans[--n].buf);
    return error;
}

/* One piece against what the standards say of it. */
static void check_piece(const struct cut *cut, const struct hn_sent *sent, unsigned index, unsigned at)
{
    const int offload = (cut->caps & TENON_CAP_TX_CSUM) != 0;
    const unsigned left = cut->payload - at, len = cut->step == 0 || left < cut->step ? left : cut->step;
    const unsigned link = cut->link ? LINK : 0, l4_len = l4_bytes(cut) + len;
    const tenon_u8 *ip = sent->bytes + link, *l4 = ip + ip_bytes(cut);
    const struct tenon_ip src = address(cut, 1), dst = address(cut, 2);
    const tenon_u32 pseudo = hn_pseudo(&src, &dst, cut->udp ? 17 : 6, l4_len);
    unsigned flags = cut->flags;

    if (!HN_EQUAL(sent->len, link + ip_bytes(cut) + l4_len))
        return;
    HN_CHECK(memcmp(l4 + l4_bytes(cut), bytes + at, len) == 0);
    if (cut->v4) {
        HN_EQUAL(hn_get16(ip + 2), 20 + l4_len);
        HN_EQUAL(hn_get16(ip + 4), (0xFFFE + index) & 0xFFFF);
        HN_EQUAL(hn_sum(0, ip, 20), 0xFFFF);
    } else {
        HN_EQUAL(hn_get16(ip + 4), l4_len);
    }
    if (cut->udp) {
        HN_EQUAL(hn_get16(l4 + 4), l4_len);
    } else {
        if (index > 0)
            flags &= ~(unsigned)TN_TCP_CWR;
        if (len < left)
            flags &= ~(unsigned)(TN_TCP_FIN | TN_TCP_PSH);
        HN_EQUAL(hn_get32(l4 + 4), (tenon_u32)(0xFFFFF000UL + at));
        HN_EQUAL(l4[13], flags);
    }
    HN_EQUAL(sent->frame.csum, offload ? TENON_CSUM_PARTIAL : TENON_CSUM_NONE);
    HN_EQUAL(sent->frame.csum_start, offload ? link + ip_bytes(cut) : 0);
    HN_EQUAL(sent->frame.csum_offset, offload ? (cut->udp ? 6 : 16) : 0);
    HN_EQUAL(sent->frame.header_bytes, link + ip_bytes(cut) + l4_bytes(cut));
    HN_EQUAL(sent->frame.seg_kind, TENON_SEG_NONE);
    HN_EQUAL(sent->frame.seg_bytes, 0);
    HN_EQUAL(sent->frame.nspans <= (cut->gather_max != 0 ? cut->gather_max : 20), 1);
    if (TN_HEADROOM + l4_bytes(cut) + len > HN_BUF_BYTES)
        HN_CHECK(sent->frame.nspans > 1);
    if (offload)
        HN_EQUAL(hn_get16(l4 + (cut->udp ? 6 : 16)), pseudo);
    else
        HN_EQUAL(hn_sum(pseudo, l4, l4_len), 0xFFFF);
}

enum { ALL = TN_TCP_ACK | TN_TCP_PSH | TN_TCP_FIN | TN_TCP_CWR, OFFLOAD = TENON_CAP_TX_CSUM };

static const struct cut cuts[] = {
    { "one span", 1, 0, 1, OFFLOAD, 0, 20000, 1448, 0, ALL, 12 },
    { "a multiple", 1, 0, 1, OFFLOAD, 0, 1448 * 10, 1448, 0, ALL, 12 },
    { "one byte more", 1, 0, 1, OFFLOAD, 0, 1449, 1448, 0, ALL, 12 },
    { "one piece", 1, 0, 1, OFFLOAD, 0, 700, 1448, 0, ALL, 12 },
    { "IPv6", 0, 0, 1, OFFLOAD, 0, 20000, 1428, 0, ALL, 12 },
    { "no link header", 1, 0, 0, OFFLOAD, 0, 9000, 1460, 0, ALL, 0 },
    { "IPv6, no link header", 0, 0, 0, OFFLOAD, 0, 9000, 1440, 0, ALL, 0 },
    { "all options", 1, 0, 1, OFFLOAD, 0, 5000, 1420, 0, ALL, 40 },
    { "no flags", 1, 0, 1, OFFLOAD, 0, 5000, 1448, 0, TN_TCP_ACK, 12 },
    { "spans of a piece", 1, 0, 1, OFFLOAD, 0, 20000, 1448, 1448, ALL, 12 },
    { "smaller spans", 1, 0, 1, OFFLOAD, 0, 20000, 1448, 700, ALL, 12 },
    { "larger spans", 1, 0, 1, OFFLOAD, 0, 20000, 1448, 1449, ALL, 12 },
    { "summed", 1, 0, 1, 0, 0, 20000, 1448, 0, ALL, 12 },
    { "summed, odd spans", 1, 0, 1, 0, 0, 20000, 1447, 701, ALL, 12 },
    { "summed, IPv6", 0, 0, 1, 0, 0, 20000, 1428, 1001, ALL, 12 },
    { "copied", 1, 0, 1, OFFLOAD, 1, 20000, 1448, 0, ALL, 12 },
    { "copied and summed", 1, 0, 1, 0, 1, 20000, 1447, 703, ALL, 12 },
    { "two spans, too many", 1, 0, 1, OFFLOAD, 2, 20000, 1448, 700, ALL, 12 },
    { "two spans, too many, summed", 1, 0, 1, 0, 2, 20000, 1448, 700, ALL, 12 },
    { "copied into another buffer", 1, 0, 1, OFFLOAD, 2, 3960, 1980, 700, ALL, 12 },
    { "UDP", 1, 1, 1, OFFLOAD, 0, 20000, 1400, 0, 0, 0 },
    { "UDP, summed", 1, 1, 1, 0, 0, 20000, 1399, 999, 0, 0 },
    { "UDP over IPv6, copied, summed", 0, 1, 1, 0, 1, 20000, 1400, 999, 0, 0 }
};

static void segments(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(cuts); i++) {
        const struct cut *cut = &cuts[i];
        const unsigned pieces = (cut->payload + cut->step - 1) / cut->step;
        const struct hn_sent *sent;

        hn_row = cut->name;
        open_port(cut);
        HN_EQUAL(send_cut(cut), TENON_OK);
        tn_tx_flush(hn.stack);
        HN_EQUAL(hn_left(&hn), pieces);
        for (unsigned k = 0; (sent = hn_next(&hn)) != NULL; k++)
            check_piece(cut, sent, k, k * cut->step);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_SEGMENTED), 1);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_FRAMES), pieces);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_BYTES), cut->payload + pieces * (tenon_u32)((cut->link ? LINK : 0U) +
                                                                                        ip_bytes(cut) + l4_bytes(cut)));
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_CSUM_SOFT), cut->caps & TENON_CAP_TX_CSUM ? 0 : pieces);
        hn_close(&hn);
    }
}

static const struct cut wholes[] = {
    { "whole", 1, 0, 1, 0, 0, 700, 0, 0, ALL, 12 },
    { "whole, odd", 1, 0, 1, 0, 0, 701, 0, 0, ALL, 12 },
    { "whole, odd spans", 1, 0, 1, 0, 0, 1001, 0, 333, ALL, 12 },
    { "whole, IPv6", 0, 0, 1, 0, 0, 1001, 0, 0, ALL, 12 },
    { "whole, no payload", 1, 0, 1, 0, 0, 0, 0, 0, ALL, 12 },
    { "whole, by the port", 1, 0, 1, OFFLOAD, 0, 701, 0, 0, ALL, 12 },
    { "whole, copied", 1, 0, 1, 0, 1, 701, 0, 100, ALL, 12 },
    { "whole, UDP", 1, 1, 1, 0, 0, 701, 0, 0, 0, 0 },
    { "whole, UDP over IPv6, copied", 0, 1, 1, 0, 1, 701, 0, 99, 0, 0 }
};

static void whole_packets(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(wholes); i++) {
        const struct cut *cut = &wholes[i];
        const struct hn_sent *sent;

        hn_row = cut->name;
        open_port(cut);
        HN_EQUAL(send_cut(cut), TENON_OK);
        tn_tx_flush(hn.stack);
        if (HN_CHECK((sent = hn_next(&hn)) != NULL))
            check_piece(cut, sent, 0, 0);
        HN_EQUAL(hn_left(&hn), 0);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_CSUM_SOFT), cut->caps & TENON_CAP_TX_CSUM ? 0 : 1);
        hn_close(&hn);
    }
}

/* RFC 768: a sum of 0 is sent as all ones, of a datagram; of a segment it is 0. */
static void sum_of_zero(void)
{
    static const struct cut pairs[] = {
        { "UDP, whole", 1, 1, 1, 0, 0, 100, 0, 0, 0, 0 },
        { "UDP, copied", 1, 1, 1, 0, 1, 100, 0, 0, 0, 0 },
        { "UDP, cut", 1, 1, 1, 0, 0, 100, 1400, 0, 0, 0 },
        { "TCP, whole", 1, 0, 1, 0, 0, 100, 0, 0, ALL, 12 },
        { "TCP, cut", 1, 0, 1, 0, 0, 100, 1448, 0, ALL, 12 }
    };

    for (unsigned i = 0; i < TENON_ARRAY_LEN(pairs); i++) {
        const struct cut *cut = &pairs[i];
        const unsigned sum_at = LINK + 20 + (cut->udp ? 6 : 16);
        const struct hn_sent *sent;
        unsigned sum = 0;

        hn_row = cut->name;
        open_port(cut);
        bytes[0] = bytes[1] = 0;
        for (unsigned k = 0; k < 2; k++) {    /* the first tells what is missing to zero */
            HN_EQUAL(send_cut(cut), TENON_OK);
            tn_tx_flush(hn.stack);
            if (!HN_CHECK((sent = hn_next(&hn)) != NULL))
                break;
            sum = hn_get16(sent->bytes + sum_at);
            if (k == 0)
                hn_put16(bytes, sum);
        }
        HN_EQUAL(sum, cut->udp ? 0xFFFF : 0);
        hn_close(&hn);
    }
}

/* tenon_conf.checksum: all that is not short, and nothing where the port sums. */
static void segments_hook(void)
{
    hooked = 1;
    for (unsigned i = 0; i < TENON_ARRAY_LEN(cuts); i++) {
        const struct cut *cut = &cuts[i];
        const struct hn_sent *sent;

        hn_row = cut->name;
        hook_bytes = 0;
        open_port(cut);
        HN_EQUAL(send_cut(cut), TENON_OK);
        tn_tx_flush(hn.stack);
        for (unsigned k = 0; (sent = hn_next(&hn)) != NULL; k++)
            check_piece(cut, sent, k, k * cut->step);
        if (cut->caps & TENON_CAP_TX_CSUM)
            HN_EQUAL(hook_bytes, 0);
        else
            HN_CHECK(hook_bytes <= cut->payload && hook_bytes > cut->payload - cut->payload / 8);
        hn_close(&hn);
    }
    hooked = 0;
}

/* The port takes nothing: what is in the burst stays, the rest is lost, and an error means that all of it is. */
static void segments_port_full(void)
{
    const struct cut *cut = &cuts[0];
    const struct hn_sent *sent;

    open_port(cut);
    hn.tx_take = 0;
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(send_cut(cut), TENON_OK);
    HN_EQUAL(hn.stack->tx.n, 28);
    HN_EQUAL(send_cut(cut), TENON_OK);     /* 4 pieces of it */
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_FULL), 1);
    HN_EQUAL(send_cut(cut), TENON_EAGAIN);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_FULL), 2);
    hn.tx_take = 5;
    for (unsigned i = 0; i < 20; i++)
        tn_tx_flush(hn.stack);
    HN_EQUAL(hn_left(&hn), 32);
    for (unsigned k = 0; (sent = hn_next(&hn)) != NULL; k++)
        check_piece(cut, sent, k % 14, k % 14 * cut->step);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_FRAMES), 32);
    hn_close(&hn);
}

/* Whoever has missed that the link is down hears of it here. */
static void link_down(void)
{
    open_port(&cuts[0]);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    HN_EQUAL(send_cut(&cuts[0]), TENON_EUNREACH);
    tn_tx_flush(hn.stack);
    HN_EQUAL(hn_left(&hn), 0);
    hn_close(&hn);
}

static unsigned waiting_for_port(unsigned netif)
{
    const struct tn_burst *tx = &hn.stack->tx;
    unsigned i, n = 0;

    for (i = 0; i < tx->n; i++)
        n += tx->netifs[(tx->first + i) % tx->max] == netif;
    return n;
}

/* What the port would not take before the link went down belongs to a network that may be another one when it is up
 * again. What waits for other interfaces waits on, in order. */
static void link_down_while_port_full(void)
{
    const struct hn_sent *sent;
    struct tenon_netif_conf second;

    open_port(&cuts[0]);
    second = hn.stack->link.netifs[0].conf;
    second.mac[5] ^= 0x55;
    HN_EQUAL(tenon_netif_add(hn.stack, &second), 2);
    tn_tx_flush(hn.stack);
    (void)hn_left(&hn);
    hn.tx_take = 0;
    HN_EQUAL(send_cut(&cuts[0]), TENON_OK);
    for (unsigned i = 1; i < hn.stack->tx.n; i += 3)
        hn.stack->tx.netifs[i] = 2;
    tn_tx_flush(hn.stack);
    HN_EQUAL(waiting_for_port(1), 9);
    HN_EQUAL(waiting_for_port(2), 5);
    HN_EQUAL(tenon_poll(hn.stack, hn.now_us), 0);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    HN_EQUAL(waiting_for_port(1), 0);
    HN_EQUAL(waiting_for_port(2), 5);
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TX_DOWN), 9);
    HN_EQUAL(tenon_poll(hn.stack, hn.now_us), 0);
    hn.tx_take = 100;
    tn_tx_flush(hn.stack);
    HN_EQUAL(hn_left(&hn), 5);
    for (unsigned k = 1; (sent = hn_next(&hn)) != NULL; k += 3)
        check_piece(&cuts[0], sent, k, k * cuts[0].step);
    hn.tx_take = 0;
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 1), TENON_OK);
    HN_EQUAL(send_cut(&cuts[0]), TENON_OK);
    HN_EQUAL(tenon_poll(hn.stack, hn.now_us), 0);
    HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
    HN_CHECK(tenon_poll(hn.stack, hn.now_us) > 0);
    hn_close(&hn);
}

/* Each buffer fails once: nothing is lost but the packet, or the end of it. */
static void segments_no_buffer(void)
{
    for (unsigned i = 0; i < TENON_ARRAY_LEN(cuts); i++) {
        const unsigned pieces = (cuts[i].payload + cuts[i].step - 1) / cuts[i].step;

        hn_row = cuts[i].name;
        for (unsigned fail = 0; fail < 40; fail++) {
            unsigned sent;
            int error;

            open_port(&cuts[i]);
            while (hn.stack->nbufs > 0)
                tenon_buf_put(hn.stack->bufs[--hn.stack->nbufs]);
            hn.stack->bufs[hn.stack->nbufs++] = hn_buf(&hn, HN_BUF_BYTES);    /* for the whole packet */
            for (unsigned k = 0; k < fail && k < TN_BUF_CACHE - 1; k++)
                hn.stack->bufs[hn.stack->nbufs++] = hn_buf(&hn, HN_BUF_BYTES);
            hn.buf_fail = -1;
            error = send_cut(&cuts[i]);
            tn_tx_flush(hn.stack);
            sent = hn_left(&hn);
            HN_EQUAL(error, sent > 0 ? TENON_OK : TENON_ENOMEM);
            if (fail + 1 >= pieces && fail < TN_BUF_CACHE && cuts[i].gather_max != 2)
                HN_EQUAL(sent, pieces);    /* the last piece has the header of the whole */
            hn_close(&hn);
        }
    }
}

static const struct hn_test tests[] = {
    { "tx_segments", "", segments },
    { "tx_whole_packets", "9293-MUST-2 UDP-2", whole_packets },
    { "tx_sum_of_zero", "UDP-2", sum_of_zero },
    { "tx_segments_hook", "", segments_hook },
    { "tx_segments_port_full", "", segments_port_full },
    { "tx_link_down", "", link_down },
    { "tx_link_down_while_port_full", "", link_down_while_port_full },
    { "tx_segments_no_buffer", "", segments_no_buffer }
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
