/* SPDX-License-Identifier: MIT */
/* A TAP interface takes frames in pieces and brings them in pieces: between an application on Tenon and a socket of the
 * kernel no byte is copied but by the kernel itself. In a network namespace of this program's own; where no such thing
 * can be had nothing is tested, and the program says so. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include "../../../tests/unit/unit.h"
#include "../tap.h"

enum { BYTES = 1448 * 2000, PORT = 80, SECONDS = 30, SPANS_MAX = 8192 };
enum { SMALL_POOL = 2 << 20 };

/* ---- the witness: whatever memcpy() takes out of the payload -------------------------------------- */

static tenon_u8 payload[BYTES];
static unsigned long copied;

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    const tenon_u8 *p = from;
    volatile tenon_u8 *q = to;

    if (p + n > payload && p < payload + BYTES)
        copied += n;
    while (n-- > 0)
        *q++ = *p++;
    return to;
}

/* Apart, and of any length, as the core's calls are. */
static __attribute__((noinline)) void copy_bytes(tenon_u8 *to, size_t n)
{
    memcpy(to, payload, n);
}

/* 0: the compiler, which is to be small, writes an instruction where others call, and there is no witness. */
static int calls_are_seen(void)
{
    const unsigned long before = copied;
    tenon_u8 bytes[64];
    int seen;

    copy_bytes(bytes, sizeof bytes);
    seen = copied != before;
    copied = before;
    return seen;
}

/* ---- an instance on a TAP interface --------------------------------------------------------------- */

struct side {
    struct port *port;
    struct tenon *stack;
    void *mem;
    unsigned netif;
    struct tenon_buf buf;
    unsigned released, closed;
    tenon_u32 acked, received;
    unsigned wrong;
    struct tenon_span kept[SPANS_MAX];
    unsigned nkept, keeps;
};

static struct side side;

static void released(struct tenon_buf *buf)
{
    (void)buf;
    side.released++;
}

static tenon_u8 byte_at(size_t i)
{
    return (tenon_u8)(i * 2654435761U >> 24);
}

static void kernel_address(const char *name)
{
    struct sockaddr_in *address;
    struct ifreq request = { 0 };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    address = (struct sockaddr_in *)(void *)&request.ifr_addr;
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(0x0A4D0001);    /* 10.77.0.1 */
    CHECK_EQ_I(ioctl(fd, SIOCSIFADDR, &request), 0);
    address->sin_addr.s_addr = htonl(0xFFFFFF00);
    CHECK_EQ_I(ioctl(fd, SIOCSIFNETMASK, &request), 0);
    CHECK_EQ_I(ioctl(fd, SIOCGIFFLAGS, &request), 0);
    request.ifr_flags |= IFF_UP;
    CHECK_EQ_I(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

static int side_open(const char *name, int offload, size_t pool)
{
    const struct port_conf conf = { .name = name, .offload = offload, .buffer_bytes_max = pool };
    const struct tenon_ip ip = tenon_ip4(0x0A4D0002);
    struct tenon_netif_conf netif;
    struct tenon_conf stack_conf;
    char error[300] = "";

    memset(&side, 0, sizeof side);
    side.port = port_open(&tap_port_type, &conf, error, sizeof error);
    if (!CHECK(side.port != NULL))
        return 0;
    tenon_conf_default(&stack_conf);
    stack_conf.tcp_snd_buf = 2 * BYTES;
    stack_conf.tcp_copy_max = 1;    /* small segments too, which leave when the kernel's window is short for long */
    side.mem = malloc(tenon_mem_size(&stack_conf));
    side.stack = tenon_init(side.mem, &stack_conf, tap_port_type.host, side.port);
    port_netif_conf(side.port, &netif);
    netif.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    side.netif = (unsigned)tenon_netif_add(side.stack, &netif);
    CHECK_EQ_I(tenon_addr_add(side.stack, side.netif, &ip, 24), TENON_OK);
    kernel_address(name);
    for (size_t i = 0; i < BYTES; i++)
        payload[i] = byte_at(i);
    side.buf = (struct tenon_buf){ payload, BYTES, 1, released };
    copied = 0;
    return 1;
}

static void side_close(void)
{
    tenon_fini(side.stack);
    port_close(side.port);
    free(side.mem);
}

/* Frames, time, and a moment's sleep when there is nothing to do. */
static void side_run(void)
{
    struct pollfd ready = { port_fd(side.port), POLLIN, 0 };

    (void)tenon_poll(side.stack, port_now_us());
    (void)poll(&ready, 1, 1);
    while (port_receive(side.port, side.stack, side.netif, port_now_us()) == 32)
        ;
    (void)tenon_poll(side.stack, port_now_us());
}

static int too_late(tenon_u32 since)
{
    return port_now_us() - since > SECONDS * 1000000U;
}

/* ---- the application ------------------------------------------------------------------------------ */

static void accepted_to_send(struct tenon_tcp *conn, void *app)
{
    const struct tenon_span span = { &side.buf, 0, BYTES };

    (void)app;
    CHECK_EQ_I(tenon_tcp_set(conn, TENON_TCP_CORK, 1), TENON_OK);    /* full segments only, and the last */
    CHECK_EQ_I(tenon_tcp_send(conn, &span), TENON_OK);
    CHECK_EQ_I(tenon_tcp_finish(conn), TENON_OK);
    tenon_buf_put(&side.buf);
}

static void acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn;
    (void)app;
    side.acked += bytes;
}

static void received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++) {
        for (tenon_u32 k = 0; k < spans[i].len; k++)
            side.wrong += tenon_span_data(&spans[i])[k] != byte_at(side.received + k);
        side.received += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
        if (!side.keeps || side.nkept == SPANS_MAX)
            continue;
        tenon_buf_ref(spans[i].buf);
        side.kept[side.nkept++] = spans[i];
    }
}

static void closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    (void)app;
    side.closed += why == TENON_OK;
}

static const struct tenon_tcp_events sending = { .opened = accepted_to_send, .acked = acked, .closed = closed };
static const struct tenon_tcp_events receiving = { .received = received, .closed = closed };

static void listen_with(const struct tenon_tcp_events *events)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;

    memset(&at, 0, sizeof at);
    at.port = PORT;
    CHECK_EQ_I(tenon_tcp_listen(side.stack, &listener, &at, events, NULL, 0), TENON_OK);
}

/* A socket of the kernel that connects to the instance, without waiting. */
static int kernel_socket(void)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT),
                                    .sin_addr.s_addr = htonl(0x0A4D0002) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    CHECK(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to) != 0 && errno == EINPROGRESS);
    return fd;
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static void check_sending(int offload)
{
    static tenon_u8 bytes[65536];
    const tenon_u32 began = port_now_us();
    size_t got = 0, wrong = 0;
    struct port_stats stats;
    ssize_t n = 1;
    int fd;

    if (!side_open("zero0", offload, 0))
        return;
    listen_with(&sending);
    fd = kernel_socket();
    while (n != 0 && !too_late(began)) {
        side_run();
        while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
            for (ssize_t i = 0; i < n; i++)
                wrong += bytes[i] != byte_at(got++);
    }
    close(fd);
    while ((side.closed == 0 || side.acked < BYTES) && !too_late(began))
        side_run();
    port_stats(side.port, &stats);
    CHECK_EQ_U(got, BYTES);
    CHECK_EQ_U(wrong, 0);
    CHECK_EQ_U(side.acked, BYTES);
    CHECK_EQ_U(side.released, 1);
    CHECK(copied <= tenon_stat(side.stack, TENON_STAT_TCP_PROBE));    /* a byte each, behind the header */
    CHECK(tenon_stat(side.stack, TENON_STAT_COPIED_BYTES) <= tenon_stat(side.stack, TENON_STAT_TCP_PROBE));
    CHECK(stats.tx_bytes > BYTES);
    if (offload)
        CHECK(stats.tx_frames < BYTES / 1448);    /* large ones among them */
    else
        CHECK(stats.tx_frames >= BYTES / 1448);
    side_close();
}

UNIT_TEST(sent_bytes_go_to_the_kernel_from_where_they_lie)
{
    unit_row("the kernel cuts");
    check_sending(1);
    unit_row("we cut");
    check_sending(0);
}

/* The kernel sends all of it. */
static void receive_all(int fd, tenon_u32 began)
{
    size_t sent = 0;

    while (side.received < BYTES && !too_late(began)) {
        const ssize_t n = send(fd, payload + sent, BYTES - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            sent += (size_t)n;
        if (sent == BYTES)
            shutdown(fd, SHUT_WR);
        side_run();
    }
}

static void check_kept(void)
{
    tenon_u32 at = 0;
    size_t wrong = 0;

    for (unsigned i = 0; i < side.nkept; i++) {
        const struct tenon_span *span = &side.kept[i];

        for (tenon_u32 k = 0; k < span->len; k++)
            wrong += tenon_span_data(span)[k] != byte_at(at++);
    }
    CHECK_EQ_U(at, BYTES);
    CHECK_EQ_U(wrong, 0);
}

static void give_back(void)
{
    for (unsigned i = 0; i < side.nkept; i++)
        tenon_buf_put(side.kept[i].buf);
    side.nkept = 0;
}

static void check_receiving(int offload)
{
    const tenon_u32 began = port_now_us();
    int fd;

    if (!side_open("zero0", offload, 0))
        return;
    listen_with(&receiving);
    side.keeps = 1;
    fd = kernel_socket();
    receive_all(fd, began);
    while (side.closed == 0 && !too_late(began))
        side_run();
    close(fd);
    CHECK_EQ_U(side.received, BYTES);
    CHECK_EQ_U(side.wrong, 0);
    CHECK(side.nkept > 0 && side.nkept < SPANS_MAX);
    CHECK_EQ_U(tenon_stat(side.stack, TENON_STAT_COPIED_BYTES), 0);
    side.keeps = 0;
    side.received = 0;
    fd = kernel_socket();    /* the same again, into other buffers */
    receive_all(fd, began);
    close(fd);
    CHECK_EQ_U(side.received, BYTES);
    check_kept();
    give_back();
    side_close();
}

UNIT_TEST(received_spans_stay_until_they_are_given_back)
{
    unit_row("large frames");
    check_receiving(1);
    unit_row("segments");
    check_receiving(0);
}

/* Who keeps all buffers stops neither the port nor the stack: text is dropped and counted, time goes on, and when the
 * buffers have come back the transfer does too. */
UNIT_TEST(kept_buffers_empty_the_pool_and_fill_it_again)
{
    const tenon_u32 began = port_now_us();
    size_t sent = 0;
    int fd;

    if (!side_open("zero0", 0, SMALL_POOL))
        return;
    listen_with(&receiving);
    side.keeps = 1;
    fd = kernel_socket();
    do {
        const ssize_t n = send(fd, payload + sent, BYTES - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        side_run();
    } while (tenon_stat(side.stack, TENON_STAT_RX_NOT_KEPT) == 0 && !too_late(began));
    CHECK(tenon_stat(side.stack, TENON_STAT_RX_NOT_KEPT) > 0);
    CHECK(side.received > SMALL_POOL / 4 && side.received < BYTES);
    side.keeps = 0;
    give_back();
    while (side.received < BYTES && !too_late(began)) {
        const ssize_t n = send(fd, payload + sent, BYTES - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        side_run();
    }
    CHECK_EQ_U(side.received, BYTES);
    CHECK_EQ_U(side.wrong, 0);
    close(fd);
    side_close();
}

/* The witness sees what tenon_tcp_write() copies. */
UNIT_TEST(a_copy_is_seen)
{
    struct tenon_addr to;
    struct tenon_tcp *conn;

    if (!side_open("zero0", 1, 0))
        return;
    memset(&to, 0, sizeof to);
    to.ip = tenon_ip4(0x0A4D0001);
    to.port = 9;
    CHECK_EQ_I(tenon_tcp_connect(side.stack, &conn, NULL, &to, &receiving, NULL), TENON_OK);
    CHECK_EQ_I(tenon_tcp_write(conn, payload + 100, 5000), 5000);
    CHECK_EQ_U(copied, calls_are_seen() ? 5000 : 0);
    side_close();
}

/* @return whether we have a namespace in which TAP interfaces can be made */
static int own_namespace(void)
{
    int fd;

    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return 0;
    fd = open("/dev/net/tun", O_RDWR);
    if (fd < 0)
        return 0;
    close(fd);
    return 1;
}

int main(void)
{
    CHECK(BYTES % 1448 == 0);
    if (!own_namespace()) {
        printf("no network namespace or no /dev/net/tun (%s): nothing is tested\n", strerror(errno));
        return unit_end();
    }
    UNIT_RUN(a_copy_is_seen);
    UNIT_RUN(sent_bytes_go_to_the_kernel_from_where_they_lie);
    UNIT_RUN(received_spans_stay_until_they_are_given_back);
    UNIT_RUN(kept_buffers_empty_the_pool_and_fill_it_again);
    return unit_end();
}
