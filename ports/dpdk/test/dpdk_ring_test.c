/* SPDX-License-Identifier: MIT */
/* The dpdk port on pairs of net_ring, which pass mbufs on by their address: what is an mbuf, whose it is, and when. */
#include <pthread.h>

#include "../cable/cable.h"
#include "dpdk_world.h"

#define RING "net_ring_"

static int pair(const char *a, const char *b, unsigned queues)
{
    const char *const names[2] = { a, b };

    error[0] = 0;
    if (CHECK_EQ_I(dpdk_cable(names, queues, error, sizeof error), 0))
        return 1;
    printf("%s\n", error);
    return 0;
}

static int open_world(const char *a, const char *b, const char *settings)
{
    return open_side(&sides[0], open_port(a, settings)) && open_side(&sides[1], open_port(b, settings));
}

static void close_world(void)
{
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* ---- opening ------------------------------------------------------------------------------------- */

UNIT_TEST(what_is_wrong_is_explained)
{
    static const struct {
        const char *name, *settings, *explained;
    } rows[] = {
        { "net_nothing0", "", "no device 'net_nothing0'" },
        { "0000:fe:1f.7", "", "no device '0000:fe:1f.7'" },
        { "0000:fe:1f.7", "", "dpdk-devbind.py --status" },
        { "eth0", "", "take packet:NAME or xdp:NAME" },
        { "{net_memif0,role=client,socket=tenon-nobody,socket-abstract=yes}", "", "the end with role=server first" },
        { RING "wrong0", "queues=2", "has 1 queue, and not 2" },
        { RING "wrong0", "sums=maybe", "none of check|trust" },
        { RING "wrong0", "tso=on", "none of auto|force" },
        { RING "wrong0", "wake=x", "none of auto|never" },
        { RING "wrong0", "memory=0", "memory=0 is not a number" },
        { RING "wrong0", "eal=-n 4", "eal= is for the first port" },
        { RING "wrong0", "memory=4000", "no memory for 1 queue of 4000 MB" },
        { RING "wrong0", "memory=4000", "sysctl vm.nr_hugepages=" },
    };
    struct port *port;

    if (!pair("wrong0", "wrong1", 1))
        return;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unit_row(rows[i].name);
        CHECK(open_port(rows[i].name, rows[i].settings) == NULL);
        if (!CHECK(strstr(error, rows[i].explained) != NULL))
            printf("%s: %s\n", rows[i].settings, error);
        CHECK(strchr(error, '\n') == NULL && strstr(error, "not permitted") == NULL);
    }
    unit_row("second port");
    port = open_port(RING "wrong0", "");
    CHECK(port != NULL);
    CHECK(open_port(RING "wrong0", "") == NULL);
    CHECK(strstr(error, "has a port already") != NULL);
    CHECK(open_port(RING "wrong0", "mtu=9000") == NULL);
    CHECK(strstr(error, "same queues, mtu and offload") != NULL);
    if (port != NULL)
        port_close(port);
    port = open_port(RING "wrong0", ""); /* it can be opened again */
    CHECK(port != NULL);
    if (port != NULL)
        port_close(port);
}

UNIT_TEST(conf_says_what_the_device_can)
{
    struct tenon_netif_conf conf, other;
    struct dpdk_port_info info;
    struct port *port, *peer;

    if (!pair("conf0", "conf1", 1))
        return;
    port = open_port(RING "conf0", "mtu=9000");
    peer = open_port(RING "conf1", "");
    if (!CHECK(port != NULL) || !CHECK(peer != NULL))
        return;
    port_netif_conf(port, &conf);
    port_netif_conf(peer, &other);
    CHECK_EQ_U(conf.mtu, 9000);
    CHECK_EQ_U(other.mtu, 1500);
    CHECK_EQ_U(conf.caps, 0);
    CHECK(conf.gather_max > 16);
    CHECK_EQ_U(conf.mac[0] & 3, 2);
    CHECK(memcmp(conf.mac, other.mac, 6) != 0);
    CHECK_EQ_I(port_fd(port), -1);
    dpdk_port_info(port, &info);
    CHECK_EQ_S(info.driver, "net_ring");
    CHECK_EQ_U(info.queue, 0);
    port_close(port);
    port_close(peer);
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* Whatever is read of a net_null, there is more. */
UNIT_TEST(device_that_always_has_frames_is_closed)
{
    struct port *port = open_port("net_null0", "");

    if (!CHECK(port != NULL))
        return;
    (void)alarm(20); /* which ends us */
    port_close(port);
    (void)alarm(0);
}

/* What drivers call when a device has been pulled out. */
struct rte_eth_dev;
struct rte_eth_dev *rte_eth_dev_allocated(const char *name);
int rte_eth_dev_callback_process(struct rte_eth_dev *dev, int event, void *more);

UNIT_TEST(device_that_goes_is_noticed)
{
    enum { REMOVED = 6 }; /* RTE_ETH_EVENT_INTR_RMV */
    const struct tenon_addr to = address_of(&sides[1], 0);
    struct tenon_buf source = make_source(100);
    const struct tenon_span span = { &source, 0, 100 };

    if (!pair("gone0", "gone1", 1) || !open_world(RING "gone0", RING "gone1", ""))
        return;
    open_sock(&sides[0]);
    (void)tenon_udp_send(sides[0].sock, &to, &span, 1);
    settle(4);
    CHECK_EQ_I(port_receive(sides[0].port, sides[0].stack, sides[0].netif, port_now_us()), 0);
    (void)rte_eth_dev_callback_process(rte_eth_dev_allocated(RING "gone0"), REMOVED, NULL);
    usleep(600000); /* it looks for that twice a second */
    CHECK_EQ_I(port_receive(sides[0].port, sides[0].stack, sides[0].netif, port_now_us()), -1);
    CHECK_EQ_I(port_receive(sides[1].port, sides[1].stack, sides[1].netif, port_now_us()), 0);
    close_world();
    free(source.data);
    if (!open_side(&sides[0], open_port(RING "gone0", ""))) /* a new life */
        return;
    CHECK_EQ_I(port_receive(sides[0].port, sides[0].stack, sides[0].netif, port_now_us()), 0);
    close_side(&sides[0]);
}

/* ---- buffers ------------------------------------------------------------------------------------- */

static unsigned take_all(struct port *port, struct tenon_buf **bufs, unsigned most)
{
    unsigned n = 0, got = 1;

    for (; n < most && got > 0; n += got)
        got = dpdk_port_type.host->buf_get(port, &bufs[n], most - n);
    return n;
}

UNIT_TEST(buffers_end_and_come_back)
{
    enum { MOST = 100000 };
    static struct tenon_buf *bufs[MOST];
    struct port_stats stats;
    struct port *port;
    unsigned n, again;

    if (!pair("bufs0", "bufs1", 1))
        return;
    port = open_port(RING "bufs0", "memory=2");
    if (!CHECK(port != NULL))
        return;
    n = take_all(port, bufs, MOST);
    CHECK(n > 100 && n < MOST);
    CHECK_EQ_U(take_all(port, &bufs[n], 1), 0);
    port_stats(port, &stats);
    CHECK(stats.buf_failures >= 2);
    for (unsigned i = 0; i < n; i++) {
        CHECK(bufs[i]->size >= 1500 + 64 && bufs[i]->refs == 1);
        memset(bufs[i]->data, (int)i, bufs[i]->size);
    }
    for (unsigned i = 0; i < n; i++)
        tenon_buf_put(bufs[i]);
    again = take_all(port, bufs, MOST);
    CHECK_EQ_U(again, n);
    while (again > 0)
        tenon_buf_put(bufs[--again]);
    port_close(port);
}

/* A pool remembers what a thread has given back for this thread, as long as DPDK knows it. */
static void *close_the_first(void *arg)
{
    enum { MOST = 100000 };
    static struct tenon_buf *bufs[MOST];
    struct port *first = open_port(RING "first0", "memory=2"), *second = open_port(RING "first1", "memory=2");
    unsigned before, after;

    (void)arg;
    if (!CHECK(first != NULL) || !CHECK(second != NULL))
        return NULL;
    for (unsigned i = before = take_all(second, bufs, MOST); i > 0; i--)
        tenon_buf_put(bufs[i - 1]);
    port_close(first);
    after = take_all(second, bufs, MOST);
    CHECK_EQ_U(after, before);
    while (after > 0)
        tenon_buf_put(bufs[--after]);
    port_close(second);
    return NULL;
}

UNIT_TEST(a_thread_is_known_until_its_last_port_is_closed)
{
    pthread_t thread;

    if (!pair("first0", "first1", 1) || !CHECK_EQ_I(pthread_create(&thread, NULL, close_the_first, NULL), 0))
        return;
    CHECK_EQ_I(pthread_join(thread, NULL), 0);
}

/* ---- nothing is copied --------------------------------------------------------------------------- */

UNIT_TEST(what_was_received_is_passed_on_where_it_lies)
{
    const struct tenon_addr to = address_of(&sides[1], 0);
    struct tenon_buf source = make_source(1000);
    const struct tenon_span span = { &source, 0, 1000 };
    struct dpdk_port_info info;

    if (!pair("lie0", "lie1", 1) || !open_world(RING "lie0", RING "lie1", ""))
        return;
    open_sock(&sides[0]);
    open_sock(&sides[1]);
    sides[1].keeps = sides[1].echoes = 1;
    CHECK_EQ_I(tenon_udp_send(sides[0].sock, &to, &span, 1), TENON_OK);
    settle(10);
    CHECK_EQ_U(source.refs, 1); /* its bytes are not DPDK's: they were copied */
    CHECK_EQ_U(sides[1].datagrams, 1);
    CHECK_EQ_U(sides[0].datagrams, 1); /* the echo, out of the buffers that it came in */
    CHECK(sides[0].last == sides[1].last);
    CHECK_EQ_U(sides[0].wrong + sides[1].wrong, 0);
    dpdk_port_info(sides[0].port, &info);
    CHECK_EQ_U(info.tx_copied_bytes, 1000);
    dpdk_port_info(sides[1].port, &info);
    CHECK_EQ_U(info.tx_copied_bytes, 0);
    CHECK_EQ_U(info.rx_copied_frames, 0);
    close_world();
    free(source.data);
}

/* A datagram of 158 bytes to all, without a checksum. */
static void write_datagram(struct tenon_buf *buf)
{
    memset(buf->data, 0xFF, 6);
    memcpy(
        buf->data + 6,
        "\x02\0\0\0\0\x09\x08\0\x45\0\0\xBA\0\0\0\0\x40\x11\0\0\x0A\x4D\0\x01\x0A\x4D\0\xFF\0\7\0\7\0\xA6\0\0",
        36);
    for (unsigned i = 0; i < 158; i++)
        buf->data[42 + i] = byte_at(i);
    for (unsigned i = 0, sum = 0; i < 20; i += 2) {
        sum += (unsigned)buf->data[14 + i] << 8 | buf->data[15 + i];
        sum = (sum & 0xFFFF) + (sum >> 16);
        if (i == 18) {
            buf->data[24] = (tenon_u8)(~sum >> 8);
            buf->data[25] = (tenon_u8)~sum;
        }
    }
}

UNIT_TEST(header_is_the_mbuf_and_not_a_copy)
{
    struct tenon_buf *buf;
    struct tenon_span span = { NULL, 0, 200 };
    const struct tenon_frame frame = { .spans = &span, .nspans = 1 };
    const tenon_u8 *payload;

    if (!pair("head0", "head1", 1) || !open_world(RING "head0", RING "head1", "sums=trust"))
        return;
    open_sock(&sides[1]);
    CHECK_EQ_U(take_all(sides[0].port, &buf, 1), 1);
    span.buf = buf;
    write_datagram(buf);
    payload = buf->data + 42;
    CHECK_EQ_U(dpdk_port_type.host->transmit(sides[0].port, sides[0].netif, &frame, 1), 1);
    tenon_buf_put(buf); /* as the core does it */
    turn(&sides[1]);
    CHECK_EQ_U(sides[1].datagrams, 1);
    CHECK(sides[1].last == payload);
    CHECK_EQ_U(sides[1].wrong, 0);
    close_world();
}

/* What has to be copied goes behind the header's bytes: one mbuf, and not two. */
UNIT_TEST(copy_lies_behind_its_header)
{
    struct tenon_buf source = make_source(158), *buf;
    struct tenon_span spans[2] = { { NULL, 0, 42 }, { &source, 0, 158 } };
    const struct tenon_frame frame = { .spans = spans, .nspans = 2 };
    struct dpdk_port_info info;
    const tenon_u8 *end;

    if (!pair("behind0", "behind1", 1) || !open_world(RING "behind0", RING "behind1", "sums=trust"))
        return;
    open_sock(&sides[1]);
    CHECK_EQ_U(take_all(sides[0].port, &buf, 1), 1);
    spans[0].buf = buf;
    write_datagram(buf);
    memset(buf->data + 42, 0, 158);
    end = buf->data + 42;
    CHECK_EQ_U(dpdk_port_type.host->transmit(sides[0].port, sides[0].netif, &frame, 1), 1);
    CHECK_EQ_U(source.refs, 1);
    tenon_buf_put(buf);
    turn(&sides[1]);
    CHECK_EQ_U(sides[1].datagrams, 1);
    CHECK(sides[1].last == end);
    CHECK_EQ_U(sides[1].wrong, 0);
    dpdk_port_info(sides[0].port, &info);
    CHECK_EQ_U(info.tx_copied_bytes, 158);
    close_world();
    free(source.data);
}

/* For TSO the field holds the sum of addresses and protocol, without a length, however often a frame is offered. */
UNIT_TEST(sum_for_segmentation_has_no_length)
{
    struct tenon_buf *buf;
    struct tenon_span span = { NULL, 0, 74 };
    struct tenon_frame frame = { .spans = &span, .nspans = 1, .seg_bytes = 1000, .csum_offset = 16 };
    struct port *port;

    if (!pair("sum0", "sum1", 1))
        return;
    port = open_port(RING "sum0", "");
    if (!CHECK(port != NULL))
        return;
    frame.csum = TENON_CSUM_PARTIAL;
    for (int v6 = 0; v6 < 2; v6++) {
        unit_row(v6 ? "IPv6" : "IPv4");
        CHECK_EQ_U(take_all(port, &buf, 1), 1);
        span.buf = buf;
        frame.csum_start = v6 ? 54 : 34;
        frame.header_bytes = v6 ? 74 : 54;
        frame.seg_kind = v6 ? TENON_SEG_TCP6 : TENON_SEG_TCP4;
        memset(buf->data, 0, 74);
        memcpy(buf->data + 14, v6 ? "\x60\0\0\0\x75\x30\x06\x40" : "\x45\0\x75\x30\0\0\0\0\x40\x06\0\0", v6 ? 8 : 12);
        buf->data[v6 ? 22 : 26] = 0x12; /* addresses 12..34 and 56..78, as sums */
        buf->data[v6 ? 37 : 29] = 0x34;
        buf->data[v6 ? 38 : 30] = 0x56;
        buf->data[v6 ? 53 : 33] = 0x78;
        buf->data[frame.csum_start + 16] = 0xAB;
        tenon_buf_ref(buf); /* we want to look at it */
        for (int times = 0; times < 2; times++)
            CHECK_EQ_U(dpdk_port_type.host->transmit(port, 1, &frame, 1), 1);
        CHECK_EQ_U((unsigned)buf->data[frame.csum_start + 16] << 8 | buf->data[frame.csum_start + 17],
                   0x1200 + 0x34 + 0x5600 + 0x78 + 6);
        tenon_buf_put(buf);
        tenon_buf_put(buf);
    }
    port_close(port);
}

/* ---- what does not fit --------------------------------------------------------------------------- */

UNIT_TEST(full_ring_refuses_and_forgets_nothing)
{
    static struct tenon_frame frames[3000];
    struct tenon_buf source = make_source(60);
    const struct tenon_span span = { &source, 0, 60 };
    struct port *port, *peer;
    struct port_stats stats;
    unsigned taken, more;

    if (!pair("full0", "full1", 1))
        return;
    port = open_port(RING "full0", "");
    peer = open_port(RING "full1", "");
    if (!CHECK(port != NULL) || !CHECK(peer != NULL))
        return;
    for (unsigned i = 0; i < 3000; i++)
        frames[i] = (struct tenon_frame){ .spans = &span, .nspans = 1 };
    taken = dpdk_port_type.host->transmit(port, 1, frames, 3000);
    CHECK(taken > 500 && taken < 3000);
    CHECK_EQ_U(dpdk_port_type.host->transmit(port, 1, frames, 10), 0);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_frames, taken);
    CHECK_EQ_U(stats.tx_busy, 3000 - taken + 10);
    CHECK_EQ_U(stats.tx_bytes, taken * 60UL);
    port_close(peer); /* throws away what waited for it */
    more = dpdk_port_type.host->transmit(port, 1, frames, 100);
    CHECK_EQ_U(more, 100);
    CHECK_EQ_U(source.refs, 1);
    port_close(port); /* the ring still has them */
    CHECK_EQ_U(released, 0);
    free(source.data);
}

/* The header's mbuf is linked to those of the payload anew each time. */
UNIT_TEST(refused_frame_is_whole_when_it_leaves)
{
    struct tenon_buf *head, *tail;
    struct tenon_span spans[3] = { { NULL, 0, 100 }, { NULL, 100, 60 }, { NULL, 160, 40 } };
    const struct tenon_frame frame = { .spans = spans, .nspans = 3 };
    struct tenon_buf other = make_source(60);
    const struct tenon_span fill = { &other, 0, 60 };
    const struct tenon_frame filler = { .spans = &fill, .nspans = 1 };
    struct port_stats stats;

    if (!pair("again0", "again1", 1) || !open_world(RING "again0", RING "again1", "sums=trust"))
        return;
    open_sock(&sides[1]);
    CHECK_EQ_U(take_all(sides[0].port, &head, 1), 1);
    CHECK_EQ_U(take_all(sides[0].port, &tail, 1), 1);
    write_datagram(head);
    memcpy(tail->data, head->data, 200);
    spans[0].buf = head;
    spans[1].buf = spans[2].buf = tail;
    while (dpdk_port_type.host->transmit(sides[0].port, sides[0].netif, &filler, 1) == 1)
        ;
    for (unsigned i = 0; i < 100; i++)
        CHECK_EQ_U(dpdk_port_type.host->transmit(sides[0].port, sides[0].netif, &frame, 1), 0);
    settle(100);
    CHECK_EQ_U(sides[1].datagrams, 0);
    CHECK_EQ_U(dpdk_port_type.host->transmit(sides[0].port, sides[0].netif, &frame, 1), 1);
    tenon_buf_put(head);
    settle(4);
    CHECK_EQ_U(sides[1].datagrams, 1);
    CHECK_EQ_U(sides[1].wrong, 0);
    port_stats(sides[1].port, &stats);
    CHECK_EQ_U(stats.rx_bad, 0);
    CHECK_EQ_U(tail->refs, 1);
    tenon_buf_put(tail);
    close_world();
    CHECK_EQ_U(other.refs, 1);
    free(other.data);
}

UNIT_TEST(who_keeps_all_does_not_make_us_mute)
{
    const struct tenon_addr to = address_of(&sides[1], 0), back = address_of(&sides[0], 0);
    struct tenon_buf source = make_source(500);
    const struct tenon_span span = { &source, 0, 500 };

    if (!pair("keep0", "keep1", 1) || !open_world(RING "keep0", RING "keep1", "memory=2"))
        return;
    open_sock(&sides[0]);
    open_sock(&sides[1]);
    sides[1].keeps = 1;
    for (unsigned i = 0; i < 6000; i++) {
        (void)tenon_udp_send(sides[0].sock, &to, &span, 1);
        settle(1);
    }
    CHECK(sides[1].datagrams > 300);
    CHECK_EQ_I(tenon_udp_send(sides[1].sock, &back, &span, 1), TENON_OK);
    settle(4);
    CHECK_EQ_U(sides[0].datagrams, 1);
    give_up_kept(&sides[1]);
    settle(4);
    sides[1].datagrams = 0;
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ_I(tenon_udp_send(sides[0].sock, &to, &span, 1), TENON_OK);
        settle(1);
    }
    CHECK_EQ_U(sides[1].datagrams, 100);
    CHECK_EQ_U(sides[1].wrong, 0);
    close_world();
    CHECK_EQ_U(source.refs, 1);
    free(source.data);
}

/* ---- who keeps what he has got until he is answered -------------------------------------------------------- */

enum { KEEPERS = 8, ANSWER = 200000 };

static struct tenon_tcp *keepers[KEEPERS];
static unsigned nkeepers;
static uint32_t answers_acked;

static void keeper_opened(struct tenon_tcp *conn, void *app)
{
    (void)app;
    keepers[nkeepers++] = conn;
}

static void keeper_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)conn, (void)app;
    for (unsigned i = 0; i < n && sides[1].nkept < KEPT_MAX; i++) {
        tenon_buf_ref(spans[i].buf);
        sides[1].kept[sides[1].nkept++] = spans[i];
    }
}

static void keeper_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn, (void)app;
    answers_acked += bytes;
}

static void talker_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++)
        tenon_tcp_consumed(conn, spans[i].len);
}

static const struct tenon_tcp_events keeper_events = { .opened = keeper_opened, .received = keeper_received,
                                                       .acked = keeper_acked };
static const struct tenon_tcp_events talker_events = { .received = talker_received };

/* Clients send more than there are mbufs for, and nobody gives any back. Then they are answered, and have to be heard:
 * an answer is longer than what leaves before the first acknowledgement. */
UNIT_TEST(who_keeps_all_hears_the_acknowledgements)
{
    const struct tenon_addr to = address_of(&sides[1], 0), at = { .port = ECHO };
    struct tenon_buf source = make_source(ANSWER);
    const struct tenon_span answer = { &source, 0, ANSWER };
    const tenon_u32 began = port_now_us();
    struct tenon_tcp_listener *listener;
    struct tenon_tcp *talkers[KEEPERS];
    unsigned before;

    if (!pair("last0", "last1", 1) || !open_world(RING "last0", RING "last1", "memory=2"))
        return;
    CHECK_EQ_I(tenon_tcp_listen(sides[1].stack, &listener, &at, &keeper_events, NULL, KEEPERS), TENON_OK);
    for (unsigned i = 0; i < KEEPERS; i++)
        CHECK_EQ_I(tenon_tcp_connect(sides[0].stack, &talkers[i], NULL, &to, &talker_events, NULL), TENON_OK);
    for (unsigned i = 0; i < 100 && nkeepers < KEEPERS; i++)
        settle(10);
    CHECK_EQ_U(nkeepers, KEEPERS);
    do {
        before = sides[1].nkept;
        for (unsigned i = 0; i < KEEPERS; i++)
            (void)tenon_tcp_write(talkers[i], source.data, 20000);
        settle(100);
    } while (sides[1].nkept > before);
    CHECK(before > 100);
    for (unsigned i = 0; i < KEEPERS; i++)
        CHECK_EQ_I(tenon_tcp_send(keepers[i], &answer), TENON_OK);
    while (answers_acked < KEEPERS * ANSWER && port_now_us() - began < SLOW_US)
        settle(10);
    CHECK_EQ_U(answers_acked, KEEPERS * ANSWER);
    CHECK(tenon_stat(sides[1].stack, TENON_STAT_RX_NOT_KEPT) > 0);
    close_world();
    free(source.data);
}

/* ---- transfers ----------------------------------------------------------------------------------- */

UNIT_TEST(echoes_are_exact)
{
    static const struct {
        const char *settings;
        int v6, by_write;
        uint32_t n;
    } rows[] = {
        { "", 0, 0, 16000003 },
        { "", 1, 0, 4000003 },
        { "", 0, 1, 4000003 },
        { "sums=trust", 1, 1, 4000003 },
        { "offload=off", 0, 0, 1000003 },
        { "mtu=576", 0, 0, 1000003 },
        { "mtu=1280", 1, 1, 1000003 },
        { "mtu=9000", 0, 0, 4000003 },
        { "mtu=65535", 1, 0, 4000003 },
        { "memory=2", 0, 0, 1000003 },
    };

    if (!pair("echo0", "echo1", 1))
        return;
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unit_row(rows[i].settings);
        if (!open_world(RING "echo0", RING "echo1", rows[i].settings))
            return;
        start_echo(&sides[1], rows[i].v6);
        transfer(rows[i].v6, rows[i].by_write, rows[i].n);
        close_world();
    }
}

UNIT_TEST(queues_do_not_mix)
{
    char settings[40];

    if (!pair("many0", "many1", 4))
        return;
    for (unsigned i = 0; i < 4; i++) {
        unit_row("all four");
        snprintf(settings, sizeof settings, "queues=4,queue=%u", 3 - i);
        if (!open_world(RING "many0", RING "many1", settings))
            return;
        start_echo(&sides[1], 0);
        transfer(0, 0, 500003);
        close_world();
    }
}

/* ---- two threads --------------------------------------------------------------------------------- */

static int ready, over;

static void *serve(void *arg)
{
    struct side *side = arg;

    if (open_side(side, open_port(RING "two1", ""))) {
        start_echo(side, 0);
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
        while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
            turn(side);
        close_side(side);
    }
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* Buffers of one are given up in the other's thread, for as long as it takes. */
UNIT_TEST(two_threads_share_a_cable)
{
    struct tenon_buf source = make_source(32000003);
    tenon_u32 began;
    pthread_t thread;

    if (!pair("two0", "two1", 1) || !CHECK_EQ_I(pthread_create(&thread, NULL, serve, &sides[1]), 0))
        return;
    while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        usleep(1000);
    if (open_side(&sides[0], open_port(RING "two0", "")) && start_client(&sides[0], &sides[1], 0, &source)) {
        began = port_now_us();
        while (!sides[0].closed && port_now_us() - began < SLOW_US)
            turn(&sides[0]);
        CHECK_EQ_U(sides[0].received, source.size);
        CHECK_EQ_U(sides[0].wrong, 0);
        CHECK_EQ_I(sides[0].why, TENON_OK);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    CHECK_EQ_I(pthread_join(thread, NULL), 0);
    close_side(&sides[0]);
    CHECK_EQ_U(source.refs, 1);
    free(source.data);
}

int main(void)
{
    UNIT_RUN(what_is_wrong_is_explained);
    UNIT_RUN(conf_says_what_the_device_can);
    UNIT_RUN(device_that_always_has_frames_is_closed);
    UNIT_RUN(device_that_goes_is_noticed);
    UNIT_RUN(buffers_end_and_come_back);
    UNIT_RUN(a_thread_is_known_until_its_last_port_is_closed);
    UNIT_RUN(what_was_received_is_passed_on_where_it_lies);
    UNIT_RUN(header_is_the_mbuf_and_not_a_copy);
    UNIT_RUN(copy_lies_behind_its_header);
    UNIT_RUN(sum_for_segmentation_has_no_length);
    UNIT_RUN(full_ring_refuses_and_forgets_nothing);
    UNIT_RUN(refused_frame_is_whole_when_it_leaves);
    UNIT_RUN(who_keeps_all_does_not_make_us_mute);
    UNIT_RUN(who_keeps_all_hears_the_acknowledgements);
    UNIT_RUN(echoes_are_exact);
    UNIT_RUN(queues_do_not_mix);
    UNIT_RUN(two_threads_share_a_cable);
    return unit_end();
}
