/* SPDX-License-Identifier: MIT */
/* Memory: received frames reach the application where the kernel has put them, and what lies there is sent
 * from there; chunks go back when their last owner lets go, and none is lost. Against sockets of the kernel
 * at the other end of a veth pair, in a network namespace of this program's own; where no such thing can be
 * had nothing is tested, and the program says so. */
#include "xdp_net.h"

#include <netinet/in.h>
#include <netinet/udp.h>

enum { BYTES = 4 << 20, PORT = 7, KEPT_MAX = 4096 };

static struct sockaddr_in kernels_address(unsigned net, unsigned host, unsigned port)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr.s_addr = htonl(0x0A4E0000 | net << 8 | host) };

    return address;
}

static int too_late(tenon_u32 since)
{
    return port_now_us() - since > 20 * 1000000U;
}

static tenon_u8 byte_at(size_t i)
{
    return (tenon_u8)(i * 2654435761U >> 24);
}

/* Whether a span lies in a UMEM, in memory of this port. */
static int is_homely(const struct port *port, const struct tenon_span *span)
{
    const struct xdp_port *xdp = (const void *)port;
    const struct xdp_chunk *chunk = TENON_CONTAINER(span->buf, struct xdp_chunk, buf);
    const tenon_u8 *data = tenon_span_data(span), *bytes = xdp->umem->bytes;

    return chunk >= xdp->chunks && chunk < xdp->chunks + xdp->nchunks && data >= bytes &&
           data + span->len <= bytes + (size_t)xdp->umem->chunk_bytes * xdp->umem->nchunks;
}

static unsigned count_free(const struct port *port)
{
    unsigned n = 0;

    for (const struct xdp_chunk *chunk = ((const struct xdp_port *)(const void *)port)->free; chunk != NULL; n++)
        chunk = chunk->next;
    return n;
}

/* All chunks are free, or with the kernel to be filled, or filled and not fetched. The instance has ended: it
 * keeps some. */
static void check_nothing_lost(struct port *port)
{
    const struct xdp_port *xdp = (const void *)port;
    const struct xdp_ring *fill = &xdp->ring[RING_FILL], *rx = &xdp->ring[RING_RX];
    const tenon_u32 lie_there = fill->ours - *fill->consumer, unread = *rx->producer - rx->ours;
    unsigned used = 0;

    for (unsigned i = 0; i < xdp->nchunks; i++)
        used += xdp->chunks[i].buf.refs > 0;
    CHECK_EQ_U(used, 0);
    CHECK_EQ_U(count_free(port) + xdp->rx_out, xdp->nchunks);
    CHECK_EQ_U(xdp->rx_out, lie_there + unread);
}

static void side_end(struct side *side)
{
    tenon_fini(side->stack);
    CHECK_EQ_U(xdp_port_type.host->transmit(side->port, 1, NULL, 0), 0); /* takes back what has been sent last */
    check_nothing_lost(side->port);
    port_close(side->port);
    free(side->mem);
}

/* ---- what is received goes back from where it lies -------------------------------------------------------- */

static struct {
    struct side side;
    unsigned strange, wrong, closed, largest;
    size_t received, acked;
    int echoes;
} app;

static void app_received(struct tenon_tcp *conn, void *arg, const struct tenon_span *spans, unsigned n)
{
    (void)arg;
    for (unsigned i = 0; i < n; i++) {
        app.strange += !is_homely(app.side.port, &spans[i]);
        for (tenon_u32 k = 0; k < spans[i].len; k++)
            app.wrong += tenon_span_data(&spans[i])[k] != byte_at(app.received + k);
        app.received += spans[i].len;
        if (app.echoes)
            CHECK_EQ_I(tenon_tcp_send(conn, &spans[i]), TENON_OK);
        else
            tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void app_acked(struct tenon_tcp *conn, void *arg, tenon_u32 bytes)
{
    (void)arg;
    app.acked += bytes;
    if (app.echoes)
        tenon_tcp_consumed(conn, bytes);
}

static void app_closed(struct tenon_tcp *conn, void *arg, int why)
{
    (void)conn;
    (void)arg;
    app.closed += why == TENON_OK;
}

static const struct tenon_tcp_events app_events = { .received = app_received, .acked = app_acked,
                                                    .closed = app_closed };

static int listen_and_connect(const struct tenon_tcp_events *events)
{
    const struct sockaddr_in to = kernels_address(0, 2, PORT);
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    memset(&at, 0, sizeof at);
    at.port = PORT;
    CHECK_EQ_I(tenon_tcp_listen(app.side.stack, &listener, &at, events, NULL, 0), TENON_OK);
    CHECK(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) != 0 && errno == EINPROGRESS);
    return fd;
}

/* The kernel's side sends all, receives as many, and compares. */
static void exchange(int fd, size_t to_send, size_t to_receive)
{
    static tenon_u8 out[65536], in[65536];
    const tenon_u32 began = port_now_us();
    size_t sent = 0, got = 0, wrong = 0;
    ssize_t n;

    while ((sent < to_send || got < to_receive) && !too_late(began)) {
        (void)side_run(&app.side);
        for (size_t i = 0; i < sizeof out; i++)
            out[i] = byte_at(sent + i);
        n = send(fd, out, to_send - sent < sizeof out ? to_send - sent : sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        while ((n = recv(fd, in, sizeof in, MSG_DONTWAIT)) > 0)
            for (ssize_t i = 0; i < n; i++)
                wrong += in[i] != byte_at(got++);
    }
    close(fd);
    while (app.closed == 0 && !too_late(began))
        (void)side_run(&app.side);
    CHECK_EQ_U(got, to_receive);
    CHECK_EQ_U(wrong, 0);
    CHECK_EQ_U(app.closed, 1);
}

struct row {
    const char *settings;
    unsigned mtu;
    int sums; /* the kernel's side makes checksums, and segments */
};

static void check_echo(const struct row *row)
{
    struct xdp_port_info info;
    struct port_stats stats;

    unit_row(row->settings);
    memset(&app, 0, sizeof app);
    app.echoes = 1;
    make_pair("y0", 0, row->mtu, 1);
    if (row->sums)
        CHECK(sh("ethtool -K y0k tx off >/dev/null"));
    if (!side_open(&app.side, "y0", 0, row->settings))
        return;
    exchange(listen_and_connect(&app_events), BYTES, BYTES);
    CHECK_EQ_U(app.received, BYTES);
    CHECK_EQ_U(app.wrong, 0);
    CHECK_EQ_U(app.strange, 0);
    CHECK_EQ_U(tenon_stat(app.side.stack, TENON_STAT_TCP_BAD_CSUM), 0);
    xdp_port_info(app.side.port, &info);
    CHECK_EQ_U(info.tx_copied_frames, 0);
    CHECK(info.tx_lying_frames > BYTES / row->mtu);
    port_stats(app.side.port, &stats);
    CHECK(stats.tx_bytes > BYTES && stats.rx_bytes > BYTES);
    CHECK_EQ_U(stats.tx_errors + stats.rx_bad + stats.rx_no_buffer + stats.rx_missed, 0);
    for (int i = 0; i < 3; i++)
        (void)side_run(&app.side);
    tenon_fini(app.side.stack);
    CHECK_EQ_U(xdp_port_type.host->transmit(app.side.port, 1, NULL, 0), 0); /* takes back what has been sent last */
    check_nothing_lost(app.side.port);
    port_close(app.side.port);
    free(app.side.mem);
    remove_pair("y0");
}

UNIT_TEST(echo_sends_from_where_it_was_received)
{
    static const struct row rows[] = {
        { "", 1500, 1 },
        { "offload=off", 1500, 1 },
        { "sums=trust", 1500, 0 },
        { "mode=generic", 1500, 1 },
        { "mode=generic,sums=trust", 1500, 0 }, /* several packets in one frame */
        { "mode=copy", 9000, 1 }, /* frames of several pieces, both ways */
        { "mode=generic,sums=trust", 9000, 0 },
        { "mtu=576", 9000, 1 },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_echo(&rows[i]);
}

/* ---- the program's own memory ------------------------------------------------------------------------------ */

static tenon_u8 payload[BYTES];
static unsigned released;

static void payload_release(struct tenon_buf *buf)
{
    (void)buf;
    released++;
}

static struct tenon_buf payload_buf = { payload, BYTES, 1, payload_release };

static void send_payload(struct tenon_tcp *conn, void *arg)
{
    const struct tenon_span span = { &payload_buf, 0, BYTES };

    (void)arg;
    CHECK_EQ_I(tenon_tcp_set(conn, TENON_TCP_SND_BUF, 2 * BYTES), TENON_OK);
    CHECK_EQ_I(tenon_tcp_send(conn, &span), TENON_OK);
    CHECK_EQ_I(tenon_tcp_finish(conn), TENON_OK);
}

static void check_foreign(unsigned mtu, const char *settings)
{
    static const struct tenon_tcp_events events = { .opened = send_payload, .acked = app_acked, .closed = app_closed };
    struct xdp_port_info info;

    unit_row(settings);
    memset(&app, 0, sizeof app);
    payload_buf.refs = 1;
    released = 0;
    for (size_t i = 0; i < BYTES; i++)
        payload[i] = byte_at(i);
    make_pair("f0", 0, mtu, 1);
    CHECK(sh("ethtool -K f0k tx off >/dev/null"));
    if (!side_open(&app.side, "f0", 0, settings))
        return;
    exchange(listen_and_connect(&events), 0, BYTES);
    CHECK_EQ_U(app.acked, BYTES);
    xdp_port_info(app.side.port, &info);
    CHECK(info.tx_copied_bytes > BYTES);
    tenon_buf_put(&payload_buf);
    CHECK_EQ_U(released, 1);
    side_end(&app.side);
    remove_pair("f0");
}

UNIT_TEST(memory_of_the_program_is_copied_and_counted)
{
    check_foreign(1500, "");
    check_foreign(9000, "");
    check_foreign(1500, "offload=off");
}

/* ---- single frames ------------------------------------------------------------------------------------------ */

/* A frame of UDP to 10.78.0.1, port 7; its checksum is the pseudo-header's sum. @return its length */
static tenon_u32 make_datagram(tenon_u8 *frame, const char *kernels_name, tenon_u32 text)
{
    const tenon_u32 udp = 8 + text, ip = 20 + udp;
    tenon_u32 sum = 0;
    FILE *f;
    unsigned m[6] = { 0 };
    char path[100];

    snprintf(path, sizeof path, "ip link show dev %s | sed -n 's/.*ether \\([^ ]*\\).*/\\1/p'", kernels_name);
    f = popen(path, "r");
    CHECK_EQ_I(fscanf(f, "%x:%x:%x:%x:%x:%x", &m[0], &m[1], &m[2], &m[3], &m[4], &m[5]), 6);
    pclose(f);
    memset(frame, 0, 42);
    for (int i = 0; i < 6; i++)
        frame[i] = (tenon_u8)m[i];
    memcpy(frame + 6, "\x02\0\0\0\0\x07\x08\0\x45\0", 10);
    frame[16] = (tenon_u8)(ip >> 8);
    frame[17] = (tenon_u8)ip;
    frame[22] = 64;
    frame[23] = 17;
    memcpy(frame + 26, "\x0A\x4E\0\x02\x0A\x4E\0\x01", 8);
    for (int i = 14; i < 34; i += 2)
        sum += (tenon_u32)frame[i] << 8 | frame[i + 1];
    sum = (sum & 0xFFFF) + (sum >> 16);
    frame[24] = (tenon_u8)(~sum >> 8);
    frame[25] = (tenon_u8)~sum;
    memcpy(frame + 34, "\x12\x34\0\x07", 4);
    frame[38] = (tenon_u8)(udp >> 8);
    frame[39] = (tenon_u8)udp;
    sum = 0x0A4E + 0x0002 + 0x0A4E + 0x0001 + 17 + udp;
    frame[40] = (tenon_u8)(sum >> 8);
    frame[41] = (tenon_u8)sum;
    for (tenon_u32 i = 0; i < text; i++)
        frame[42 + i] = byte_at(i);
    return 42 + text;
}

enum { PIECES = 3 };

/* One datagram in three pieces. @return what the kernel's socket gets of it */
static long send_pieces(const char *name, struct port *port, tenon_u32 text, enum tenon_csum csum, int foreign)
{
    static tenon_u8 bytes[10000], got[10000];
    const tenon_u32 len = make_datagram(bytes, name, text), each = (len - 42) / 2;
    struct tenon_buf own = { bytes, sizeof bytes, 1, payload_release }, *bufs[PIECES];
    struct tenon_span spans[PIECES] = { { &own, 0, 42 }, { &own, 42, each }, { &own, 42 + each, len - 42 - each } };
    struct tenon_frame frame = { .spans = spans, .nspans = PIECES, .csum_start = 34, .csum_offset = 6 };
    const struct sockaddr_in at = kernels_address(0, 1, 7);
    struct pollfd ready = { socket(AF_INET, SOCK_DGRAM, 0), POLLIN, 0 };
    long n;

    CHECK_EQ_I(bind(ready.fd, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
    CHECK_EQ_U(xdp_port_type.host->buf_get(port, bufs, PIECES), PIECES);
    for (int i = 0; i < PIECES && !foreign; i++) {
        memcpy(bufs[i]->data + 100, tenon_span_data(&spans[i]), spans[i].len);
        spans[i] = (struct tenon_span){ bufs[i], 100, spans[i].len };
    }
    frame.csum = (tenon_u8)csum;
    CHECK_EQ_U(xdp_port_type.host->transmit(port, 1, &frame, 1), 1);
    n = poll(&ready, 1, 300) == 1 ? recv(ready.fd, got, sizeof got, 0) : -1;
    if (n > 0)
        CHECK_EQ_MEM(got, bytes + 42, (size_t)n);
    CHECK_EQ_U(xdp_port_type.host->transmit(port, 1, NULL, 0), 0);
    for (int i = 0; i < PIECES; i++) {
        CHECK_EQ_U(bufs[i]->refs, 1); /* the ring has let go of it */
        tenon_buf_put(bufs[i]);
    }
    close(ready.fd);
    check_nothing_lost(port);
    return n;
}

UNIT_TEST(frames_go_out_in_pieces)
{
    struct xdp_port_info info;
    struct port *port;

    make_pair("g0", 0, 9000, 1);
    CHECK(sh("ip link set g0k arp off && ip link set g0 arp off"));
    port = open_with("g0", "");
    CHECK_EQ_I(send_pieces("g0k", port, 1000, TENON_CSUM_PARTIAL, 0), 1000);
    CHECK_EQ_I(send_pieces("g0k", port, 7000, TENON_CSUM_PARTIAL, 0), 7000);
    xdp_port_info(port, &info);
    CHECK_EQ_U(info.tx_lying_frames, 2);
    CHECK_EQ_U(info.tx_copied_frames, 0);
    CHECK_EQ_I(send_pieces("g0k", port, 1000, TENON_CSUM_PARTIAL, 1), 1000);
    CHECK_EQ_I(send_pieces("g0k", port, 8500, TENON_CSUM_PARTIAL, 1), 8500);
    xdp_port_info(port, &info);
    CHECK_EQ_U(info.tx_lying_frames, 2);
    CHECK_EQ_U(info.tx_copied_frames, 2);
    CHECK_EQ_U(info.tx_copied_bytes, 9500 + 84);
    CHECK_EQ_I(send_pieces("g0k", port, 1000, TENON_CSUM_NONE, 0), -1); /* nobody has completed the sum */
    port_close(port);
    remove_pair("g0");
}

/* ---- who keeps what he receives ------------------------------------------------------------------------------ */

static struct {
    struct tenon_span spans[KEPT_MAX];
    unsigned n, pieces_max;
    tenon_u32 bytes_max;
} kept;

static void keep(struct tenon_udp *sock, void *arg, const struct tenon_udp_info *info, const struct tenon_span *spans,
                 unsigned n)
{
    (void)sock;
    (void)arg;
    if (n > kept.pieces_max)
        kept.pieces_max = n;
    if (info->bytes > kept.bytes_max)
        kept.bytes_max = info->bytes;
    for (unsigned i = 0; i < n && kept.n < KEPT_MAX; i++) {
        tenon_buf_ref(spans[i].buf);
        kept.spans[kept.n++] = spans[i];
    }
}

static void let_go(void)
{
    while (kept.n > 0)
        tenon_buf_put(kept.spans[--kept.n].buf);
}

static void open_udp(struct side *side, const struct tenon_udp_events *events)
{
    struct tenon_udp *sock;
    struct tenon_addr at;

    memset(&at, 0, sizeof at);
    at.port = PORT;
    CHECK_EQ_I(tenon_udp_open(side->stack, &sock, events, NULL), TENON_OK);
    CHECK_EQ_I(tenon_udp_bind(sock, &at), TENON_OK);
}

/* Datagrams from the kernel. */
static void send_datagrams(struct side *side, int fd, unsigned n, size_t bytes)
{
    const struct sockaddr_in to = kernels_address(0, 2, PORT);

    for (unsigned i = 0; i < n; i++) {
        CHECK_EQ_I(sendto(fd, payload, bytes, 0, (const struct sockaddr *)(const void *)&to, sizeof to), (long)bytes);
        if (i % 32 == 0)
            (void)side_run(side);
    }
    for (int i = 0; i < 50; i++)
        (void)side_run(side);
}

UNIT_TEST(who_keeps_all_gets_no_more_and_starts_again_when_he_lets_go)
{
    static const struct tenon_udp_events events = { .received = keep };
    struct tenon_buf *bufs[32];
    struct port_stats stats;
    struct side side;
    unsigned most, n;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    make_pair("k0", 0, 1500, 1);
    CHECK(sh("ethtool -K k0k tx off >/dev/null"));
    if (!side_open(&side, "k0", 0, "memory=1"))
        return;
    memset(&kept, 0, sizeof kept);
    open_udp(&side, &events);
    send_datagrams(&side, fd, 1000, 100);
    most = ((const struct xdp_port *)(const void *)side.port)->rx_out_max;
    CHECK_EQ_U(most, 384); /* of 512 */
    CHECK_EQ_U(kept.n, most);
    port_stats(side.port, &stats);
    CHECK(stats.rx_no_buffer > 0);
    n = xdp_port_type.host->buf_get(side.port, bufs, 32); /* he can still speak */
    CHECK_EQ_U(n, 32);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    let_go();
    send_datagrams(&side, fd, 20, 100);
    CHECK_EQ_U(kept.n, 20);
    let_go();
    side_end(&side);
    close(fd);
    remove_pair("k0");
}

UNIT_TEST(who_sends_all_he_has_still_receives)
{
    static const char frame[60] = "\xFF\xFF\xFF\xFF\xFF\xFF\x02\0\0\0\0\x09\x88\xB5";
    struct tenon_buf *bufs[512];
    struct side side;
    unsigned n = 0, got;
    int fd;

    make_pair("l0", 0, 1500, 1);
    if (!side_open(&side, "l0", 0, "memory=1"))
        return;
    while ((got = xdp_port_type.host->buf_get(side.port, bufs + n, 32)) > 0)
        n += got;
    CHECK(n >= 100); /* of 128: the instance has some, and the others are with the kernel */
    CHECK_EQ_U(count_free(side.port), 0);
    fd = packet_socket("l0k");
    for (int i = 0; i < 600; i++) {
        CHECK_EQ_I(send(fd, frame, sizeof frame, 0), sizeof frame);
        if (i % 32 == 0)
            (void)side_run(&side);
    }
    for (int i = 0; i < 10; i++)
        (void)side_run(&side);
    CHECK_EQ_U(tenon_stat(side.stack, TENON_STAT_ETH_UNKNOWN), 600);
    while (n > 0)
        tenon_buf_put(bufs[--n]);
    close(fd);
    side_close(&side);
    remove_pair("l0");
}

/* What the kernel hands over in one piece: fragments would do as well, but these are one frame. */
UNIT_TEST(large_datagram_comes_in_several_spans)
{
    static const struct tenon_udp_events events = { .received = keep };
    struct side side;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    make_pair("j0", 0, 9000, 1);
    CHECK(sh("ethtool -K j0k tx off >/dev/null"));
    if (!side_open(&side, "j0", 0, ""))
        return;
    memset(&kept, 0, sizeof kept);
    for (size_t i = 0; i < 8900; i++)
        payload[i] = byte_at(i);
    open_udp(&side, &events);
    send_datagrams(&side, fd, 3, 8900);
    CHECK_EQ_U(kept.bytes_max, 8900);
    CHECK_EQ_U(kept.pieces_max, 3);
    CHECK_EQ_U(kept.n, 9);
    for (unsigned i = 0, at = 0; i < kept.n; i++) {
        CHECK(is_homely(side.port, &kept.spans[i]));
        CHECK_EQ_MEM(tenon_span_data(&kept.spans[i]), payload + at % 8900, kept.spans[i].len);
        at += kept.spans[i].len;
    }
    let_go();
    side_close(&side);
    close(fd);
    remove_pair("j0");
}

/* The kernel joins datagrams of one sendto() (UDP_SEGMENT), and says nowhere where each of them ends. */
UNIT_TEST(joined_datagrams_are_dropped_and_counted)
{
    static const struct tenon_udp_events events = { .received = keep };
    const int segment = 1000;
    struct port_stats stats;
    struct side side;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    make_pair("h0", 0, 1500, 1);
    if (!side_open(&side, "h0", 0, "mode=generic,sums=trust"))
        return;
    memset(&kept, 0, sizeof kept);
    open_udp(&side, &events);
    send_datagrams(&side, fd, 2, 1000);
    CHECK_EQ_U(kept.n, 2);
    CHECK_EQ_I(setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment), 0);
    send_datagrams(&side, fd, 2, 10000);
    CHECK_EQ_U(kept.bytes_max, 1000);
    port_stats(side.port, &stats);
    CHECK_EQ_U(stats.rx_bad, 2);
    CHECK(sh("ethtool -K h0k tx off >/dev/null")); /* what the advice says */
    send_datagrams(&side, fd, 2, 10000);
    CHECK_EQ_U(kept.n, 22);
    port_stats(side.port, &stats);
    CHECK_EQ_U(stats.rx_bad, 2);
    let_go();
    side_end(&side);
    close(fd);
    remove_pair("h0");
}

/* ---- one memory for two interfaces ---------------------------------------------------------------------------- */

static struct tenon_udp *onward;

static void pass_on(struct tenon_udp *sock, void *arg, const struct tenon_udp_info *info,
                    const struct tenon_span *spans, unsigned n)
{
    struct tenon_addr to;

    (void)sock;
    (void)arg;
    (void)info;
    memset(&to, 0, sizeof to);
    to.ip = tenon_ip4(0x0A4E0101);
    to.port = PORT;
    CHECK_EQ_I(tenon_udp_send(onward, &to, spans, n), TENON_OK);
}

/* From the kernel's socket in net 0 through both instances to its socket in net 1. */
static void check_relay(const char *settings, int shares)
{
    static const struct tenon_udp_events passing = { .received = pass_on }, silent = { .received = keep };
    const struct sockaddr_in at = kernels_address(1, 1, PORT);
    struct xdp_port_info info;
    struct side from, to;
    tenon_u8 got[2000];
    int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);

    unit_row(settings);
    make_pair("s0", 0, 1500, 1);
    make_pair("s1", 1, 1500, 1);
    CHECK_EQ_I(bind(out, (const struct sockaddr *)(const void *)&at, sizeof at), 0);
    if (!side_open(&from, "s0", 0, settings) || !side_open(&to, "s1", 1, settings))
        return;
    open_udp(&from, &passing);
    CHECK_EQ_I(tenon_udp_open(to.stack, &onward, &silent, NULL), TENON_OK);
    for (int i = 0; i < 10; i++) {
        payload[0] = (tenon_u8)i;
        send_datagrams(&from, in, 1, 1200);
        for (int k = 0; k < 5; k++)
            (void)side_run(&to);
        CHECK_EQ_I(receive_packet(out, got, sizeof got), 1200);
        CHECK_EQ_MEM(got, payload, 1200);
    }
    xdp_port_info(to.port, &info);
    CHECK_EQ_U(info.tx_copied_frames, shares ? 0 : 10);
    CHECK(info.tx_lying_frames >= (shares ? 10 : 0));
    side_end(&from); /* the first to come may go first */
    side_end(&to);
    close(in);
    close(out);
    remove_pair("s0");
    remove_pair("s1");
}

UNIT_TEST(shared_memory_is_passed_on_without_a_copy)
{
    check_relay("sums=trust,share=2", 1);
    check_relay("sums=trust", 0);
}

int main(void)
{
    if (!own_namespace())
        return 0;
    UNIT_RUN(echo_sends_from_where_it_was_received);
    UNIT_RUN(memory_of_the_program_is_copied_and_counted);
    UNIT_RUN(frames_go_out_in_pieces);
    UNIT_RUN(who_keeps_all_gets_no_more_and_starts_again_when_he_lets_go);
    UNIT_RUN(who_sends_all_he_has_still_receives);
    UNIT_RUN(large_datagram_comes_in_several_spans);
    UNIT_RUN(joined_datagrams_are_dropped_and_counted);
    UNIT_RUN(shared_memory_is_passed_on_without_a_copy);
    return unit_end();
}
