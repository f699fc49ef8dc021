/* SPDX-License-Identifier: MIT */
/* IP output: headers, identification, flow labels, fragments. */
#include "core.h"
#include "ip_bench.h"

enum { BYTES_MAX = 65527, BYTES_MAX_V4 = 65507 };

static tenon_u8 bytes[BYTES_MAX], whole[70000];

static struct tenon_addr to(int v4)
{
    return ib_at(v4 ? ib.peer4 : ib.peer6, IB_PEER_PORT);
}

/* Send n bytes, in spans of at most `step` bytes (0: tenon_udp_write()). */
static int send_bytes(int v4, size_t n, size_t step)
{
    static struct tenon_span spans[10000];
    const struct tenon_addr dst = to(v4);
    unsigned count = 0;
    int error;

    if (step == 0)
        return tenon_udp_write(ib.sock, &dst, bytes, (tenon_u32)n);
    for (size_t at = 0; at < n; at += step, count++) {
        const size_t len = n - at < step ? n - at : step;

        spans[count].buf = hn_buf(&ib.hn, len + 3);
        spans[count].off = 3;
        spans[count].len = (tenon_u32)len;
        memcpy(spans[count].buf->data + 3, bytes + at, len);
    }
    error = tenon_udp_send(ib.sock, &dst, spans, count);
    for (unsigned i = 0; i < count; i++)
        tenon_buf_put(spans[i].buf);
    hn_run_ms(&ib.hn, 1);
    return error;
}

/* Put what was sent together again. @return the transport bytes; *pieces: how many packets there were */
static size_t collect(int v4, unsigned *pieces, tenon_u32 *id)
{
    size_t got = 0, end = 0, n;
    const tenon_u8 *p;

    *pieces = 0;
    *id = 0;
    while ((p = ib_sent(&n)) != NULL) {
        const int cut = v4 ? (hn_get16(p + 6) & 0x3FFF) != 0 : p[6] == 44;
        const size_t head = v4 ? 20 : cut ? 48 : 40;
        const size_t off = !cut ? 0 : v4 ? (hn_get16(p + 6) & 0x1FFFU) * 8 : hn_get16(p + 42) & 0xFFF8U;
        const int more = cut && (v4 ? hn_get16(p + 6) >> 13 & 1 : hn_get16(p + 42) & 1);
        const tenon_u32 own = v4 ? hn_get16(p + 4) : cut ? hn_get32(p + 44) : 0;

        HN_CHECK(n <= 1500);
        HN_CHECK(ib_sums_good(p, n));
        HN_CHECK(off + n - head <= sizeof whole);
        if (more)
            HN_EQUAL((n - head) % 8, 0);
        else
            end = off + n - head;
        if (!v4 && cut)
            HN_EQUAL(p[40], 17);
        if (*pieces > 0)
            HN_EQUAL(own, *id);
        *id = own;
        memcpy(whole + off, p + head, n - head);
        got += n - head;
        (*pieces)++;
    }
    HN_EQUAL(got, end);
    return got;
}

/* Datagrams of all interesting sizes, from copies, from one span, from many: what arrives is what was sent. */
static void fragments(void)
{
    static const size_t sizes[] = { 0, 1, 127, 128, 129, 1451, 1452, 1453, 1471, 1472, 1473, 1474, 1480, 2952, 2953,
        9000, 65487, BYTES_MAX_V4, BYTES_MAX };
    static const size_t steps[] = { 0, 65536, 1000, 333, 40, 7 };

    ib_fill(bytes, sizeof bytes, 77);
    for (int v4 = 0; v4 < 2; v4++) {
        for (size_t i = 0; i < TENON_ARRAY_LEN(sizes); i++) {
            for (size_t k = 0; k < TENON_ARRAY_LEN(steps); k++) {
                const size_t room = v4 ? 1480 : 1448, total = sizes[i] + 8, fits = v4 ? 1480 : 1460;
                const struct tenon_ip *src = v4 ? &ib.us4 : &ib.us6, *dst = v4 ? &ib.peer4 : &ib.peer6;
                unsigned pieces;
                tenon_u32 id;

                if (v4 && sizes[i] > BYTES_MAX_V4)
                    continue;
                ib_open();
                HN_EQUAL(send_bytes(v4, sizes[i], steps[k]), TENON_OK);
                hn_run_ms(&ib.hn, 1);
                HN_EQUAL(collect(v4, &pieces, &id), total);
                HN_EQUAL(pieces, total <= fits ? 1 : (total + room - 1) / room);
                HN_EQUAL(ib_stat(TENON_STAT_FRAG_SENT), pieces > 1 ? pieces : 0);
                HN_EQUAL(hn_get16(whole), IB_PORT);
                HN_EQUAL(hn_get16(whole + 2), IB_PEER_PORT);
                HN_EQUAL(hn_get16(whole + 4), total);
                HN_CHECK(memcmp(whole + 8, bytes, sizes[i]) == 0);
                HN_EQUAL(hn_sum(hn_pseudo(src, dst, 17, total), whole, total), 0xFFFF);
                ib_close();
            }
        }
    }
}

/* What a port that completes checksums is given: whole packets half summed, fragments summed. */
static void checksum_offload(void)
{
    for (int v4 = 0; v4 < 2; v4++) {
        const struct hn_sent *sent;
        unsigned pieces;
        tenon_u32 id;

        ib_open_conf(NULL, TENON_CAP_TX_CSUM);
        HN_EQUAL(send_bytes(v4, 1000, 1000), TENON_OK);
        sent = hn_next(&ib.hn);
        if (HN_CHECK(sent != NULL)) {
            const struct tenon_ip *src = v4 ? &ib.us4 : &ib.us6, *dst = v4 ? &ib.peer4 : &ib.peer6;

            HN_EQUAL(sent->frame.csum, TENON_CSUM_PARTIAL);
            HN_EQUAL(sent->frame.csum_start, 14 + (v4 ? 20 : 40));
            HN_EQUAL(sent->frame.csum_offset, 6);
            HN_EQUAL(hn_get16(sent->bytes + sent->frame.csum_start + 6), hn_pseudo(src, dst, 17, 1008));
        }
        HN_EQUAL(send_bytes(v4, 5000, 1000), TENON_OK);
        HN_EQUAL(collect(v4, &pieces, &id), 5008);
        HN_EQUAL(hn_sum(hn_pseudo(v4 ? &ib.us4 : &ib.us6, v4 ? &ib.peer4 : &ib.peer6, 17, 5008), whole, 5008), 0xFFFF);
        ib_close();
    }
}

/* RFC 6864: none where none is needed; else no repetition, and nothing shared by all destinations. */
static void ids4(void)
{
    static tenon_u8 seen[65536];
    tenon_u32 last = 0;
    unsigned steps = 0;
    const tenon_u8 *p;
    size_t n;

    ib_open();
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, 1), TENON_OK);
    HN_EQUAL(send_bytes(1, 10, 0), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    p = ib_sent(&n);
    HN_CHECK(p != NULL && hn_get16(p + 6) == 0x4000 && hn_get16(p + 4) == 0);
    HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_DONT_FRAGMENT, 0), TENON_OK);
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < 65536; i++) {
        HN_EQUAL(send_bytes(1, 10, 0), TENON_OK);
        if (i % 32 == 31)
            hn_run_ms(&ib.hn, 1);
        while ((p = ib_sent(&n)) != NULL) {
            if (seen[hn_get16(p + 4)]++)
                HN_CHECK(!"an id twice");
        }
        hn_forget(&ib.hn);
    }
    /* Destinations that do not share a bucket start somewhere else. */
    for (unsigned i = 0; i < 100; i++) {
        const struct tenon_ip peer = tenon_ip4(0xC0000280 + i % 64);
        const struct tenon_addr dst = ib_at(peer, 1);
        tenon_u8 mac[6];

        HN_EQUAL(tenon_neighbour_set(ib.hn.stack, ib.netif, &peer, hn_mac(mac, 1, i)), TENON_OK);
        HN_EQUAL(tenon_udp_write(ib.sock, &dst, "x", 1), TENON_OK);
        hn_run_ms(&ib.hn, 1);
        p = ib_sent(&n);
        if (p != NULL && ((hn_get16(p + 4) - last) & 0xFFFF) < 200)
            steps++;
        last = p != NULL ? hn_get16(p + 4) : 0;
    }
    HN_CHECK(steps < 5);
    ib_close();
}

static int compare_ids(const void *a, const void *b)
{
    const tenon_u32 x = *(const tenon_u32 *)a, y = *(const tenon_u32 *)b;

    return x < y ? -1 : x > y;
}

/* RFC 7739: no sequence, and rarely one twice. */
static void ids6(void)
{
    enum { IDS = 4000 };
    static tenon_u32 ids[IDS];
    unsigned near = 0, twice = 0, pieces;

    ib_open();
    for (unsigned i = 0; i < IDS; i++) {
        HN_EQUAL(send_bytes(0, 1500, 0), TENON_OK);
        hn_run_ms(&ib.hn, 1);
        (void)collect(0, &pieces, &ids[i]);
        HN_EQUAL(pieces, 2);
        if (i > 0 && ids[i] - ids[i - 1] + 1000 < 2000)
            near++;
        hn_forget(&ib.hn);
    }
    qsort(ids, IDS, sizeof ids[0], compare_ids);
    for (unsigned i = 1; i < IDS; i++)
        twice += ids[i] == ids[i - 1];
    HN_CHECK(near < 3);
    HN_CHECK(twice < 3);
    ib_close();
}

static tenon_u32 label_of(struct tenon_udp *sock, unsigned port)
{
    const struct tenon_addr dst = ib_at(ib.peer6, port);
    const tenon_u8 *p;
    size_t n;

    HN_EQUAL(tenon_udp_write(sock, &dst, "x", 1), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    p = ib_sent(&n);
    return p != NULL ? hn_get32(p) & 0xFFFFF : 0;
}

/* RFC 6437: the same for a flow, another one for another flow, never 0. */
static void flow_labels(void)
{
    tenon_u32 labels[50];
    unsigned same = 0;

    ib_open();
    for (unsigned i = 0; i < 50; i++) {
        labels[i] = label_of(ib.sock, 100 + i);
        HN_CHECK(labels[i] != 0);
        HN_EQUAL(label_of(ib.sock, 100 + i), labels[i]);
        for (unsigned k = 0; k < i; k++)
            same += labels[k] == labels[i];
    }
    HN_CHECK(same < 3);
    ib_close();
}

static void header_values(void)
{
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    conf.hop_limit = 77;
    for (int v4 = 0; v4 < 2; v4++) {
        const tenon_u8 *p;
        size_t n;

        ib_open_conf(&conf, 0);
        HN_EQUAL(send_bytes(v4, 10, 0), TENON_OK);
        HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_TTL, 9), TENON_OK);
        HN_EQUAL(tenon_udp_set(ib.sock, TENON_UDP_TOS, 0xB8), TENON_OK);
        HN_EQUAL(send_bytes(v4, 10, 0), TENON_OK);
        hn_run_ms(&ib.hn, 1);
        p = ib_sent(&n);
        if (HN_CHECK(p != NULL)) {
            HN_EQUAL(p[v4 ? 8 : 7], 77);
            HN_EQUAL(v4 ? p[1] : hn_get16(p) >> 4 & 0xFF, 0);
            if (v4)
                HN_EQUAL(hn_get16(p + 6), 0);
        }
        p = ib_sent(&n);
        if (HN_CHECK(p != NULL)) {
            HN_EQUAL(p[v4 ? 8 : 7], 9);
            HN_EQUAL(v4 ? p[1] : hn_get16(p) >> 4 & 0xFF, 0xB8);
        }
        ib_close();
    }
}

/* A datagram of many fragments goes out whole or not at all while the port is full. */
static void port_full(void)
{
    unsigned pieces;
    tenon_u32 id;

    ib_open();
    ib.hn.tx_take = 0;
    for (unsigned i = 0; i < 30; i++)
        HN_EQUAL(send_bytes(1, 100, 0), TENON_OK);
    HN_EQUAL(send_bytes(1, 9000, 0), TENON_EAGAIN);
    HN_EQUAL(send_bytes(1, 100, 0), TENON_OK);
    HN_EQUAL(send_bytes(1, 100, 0), TENON_OK);
    HN_EQUAL(send_bytes(1, 100, 0), TENON_EAGAIN);
    ib.hn.tx_take = 0xFFFF;
    HN_EQUAL(send_bytes(1, 9000, 0), TENON_OK);
    hn_run_ms(&ib.hn, 1);
    for (unsigned i = 0; i < 32; i++)
        (void)hn_next(&ib.hn);
    HN_EQUAL(collect(1, &pieces, &id), 9008);
    HN_EQUAL(pieces, 7);
    ib_close();
}

/* Every buffer that is asked for fails once: an error, no leak, and it goes on. */
static void no_memory(void)
{
    unsigned pieces;
    tenon_u32 id;

    for (long fail = 1; fail < 40; fail++) {
        const int v4 = (int)(fail & 1);
        int error;

        ib_open();
        while (ib.hn.stack->nbufs > 0)
            tenon_buf_put(ib.hn.stack->bufs[--ib.hn.stack->nbufs]);
        ib.hn.buf_fail = ib.hn.buf_gets + fail;
        error = send_bytes(v4, 9000, fail & 2 ? 500 : 0);
        HN_CHECK(error == TENON_OK || error == TENON_ENOMEM);
        ib.hn.buf_fail = 0;
        hn_run_ms(&ib.hn, 1);
        hn_forget(&ib.hn);
        HN_EQUAL(send_bytes(v4, 9000, 0), TENON_OK);
        hn_run_ms(&ib.hn, 1);
        HN_EQUAL(collect(v4, &pieces, &id), 9008);
        ib_close();
    }
}

static const struct hn_test tests[] = {
    { "ip_output_fragments", "IP4-21 IP4-34 IP6-14 UDP-2 UDP-9 UDP-12 6864-2", fragments },
    { "ip_output_checksum_offload", "UDP-2", checksum_offload },
    { "ip4_output_ids", "6864-1 6864-2 6864-4 CVE-2020-36516 VUL-F-11", ids4 },
    { "ip6_output_ids", "IP6-20 VUL-F-11", ids6 },
    { "ip6_output_flow_labels", "IP6-16", flow_labels },
    { "ip_output_header_values", "IP4-18 IP4-20 UDP-8", header_values },
    { "ip_output_port_full", "UDP-10", port_full },
    { "ip_output_no_memory", "VUL-F-13", no_memory },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
