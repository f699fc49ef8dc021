/* SPDX-License-Identifier: MIT */
/* The port with datagrams, whose other end is a socket in this program's hand: what QEMU would send and see. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "../../../tests/unit/unit.h"
#include "../dgram.h"

enum { FRAME = 60, MANY = 400, VNET = 12 };

static char error[600], folder[64] = "/tmp/tenon-dgram-XXXXXX", own[128], theirs[128], written[400];

/* ---- the port, and what it gives --------------------------------------------------------------------- */

static struct port *open_port(const char *described)
{
    static const struct port_type *const types[] = { &dgram_port_type, NULL };
    struct port_choice choice;

    error[0] = 0;
    if (port_read(&choice, types, described, error, sizeof error) != 0)
        return NULL;
    return port_open(&dgram_port_type, &choice.conf, error, sizeof error);
}

static struct port *open_path(const char *settings)
{
    snprintf(written, sizeof written, "dgram:%s,peer=%s%s", own, theirs, settings);
    return open_port(written);
}

static tenon_u8 got[MANY][FRAME];
static struct tenon_frame got_frames[MANY];
static unsigned ngot;

static void take(void *arg, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    (void)arg, (void)now_us;
    for (unsigned i = 0; i < n && ngot < MANY; i++, ngot++) {
        got_frames[ngot] = frames[i];
        memcpy(got[ngot], tenon_span_data(&frames[i].spans[0]), FRAME);
    }
}

static void receive(struct port *port)
{
    ngot = 0;
    port->input = take;
    while (port_receive(port, NULL, 0, port_now_us()) > 0)
        ;
}

static tenon_u8 bytes[FRAME];
static struct tenon_buf buf = { bytes, FRAME, 1, NULL };

/* @return whether the port has taken it: a frame of two pieces, whose last byte is `mark` */
static unsigned transmit(struct port *port, unsigned mark)
{
    const struct tenon_span spans[] = { { &buf, 0, 42 }, { &buf, 42, FRAME - 42 } };
    const struct tenon_frame frame = { .spans = spans, .nspans = 2 };

    bytes[FRAME - 1] = (tenon_u8)mark;
    return port->type->host->transmit(port, 0, &frame, 1);
}

static struct port_stats stats_of(struct port *port)
{
    struct port_stats stats;

    port_stats(port, &stats);
    return stats;
}

/* ---- the other end ------------------------------------------------------------------------------------ */

static struct sockaddr_un path_address(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    CHECK(strlen(path) < sizeof address.sun_path);
    if (strlen(path) < sizeof address.sun_path)
        strcpy(address.sun_path, path);
    return address;
}

static int bind_path(const char *path, int type)
{
    const struct sockaddr_un address = path_address(path);
    const int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

    CHECK_EQ_I(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void close_path(int fd, const char *path)
{
    close(fd);
    unlink(path);
}

static void put(int fd, const void *frame, size_t n)
{
    const struct sockaddr_un address = path_address(own);

    CHECK_EQ_I(sendto(fd, frame, n, 0, (const struct sockaddr *)&address, sizeof address), (long)n);
}

/* ---- opening ------------------------------------------------------------------------------------------ */

UNIT_TEST(what_is_wrong_is_explained)
{
    static const struct {
        const char *written, *said;
    } rows[] = {
        { "dgram:127.0.0.1:5001", "where is the other end? write dgram:127.0.0.1:5001,peer=NAME" },
        { "dgram:localhost:5001,peer=127.0.0.1:5002", "neither an address with a port" },
        { "dgram:127.0.0.1,peer=127.0.0.1:5002", "'127.0.0.1' is neither" },
        { "dgram:127.0.0.1:0,peer=127.0.0.1:5002", "neither" },
        { "dgram:127.0.0.1:65536,peer=127.0.0.1:5002", "neither" },
        { "dgram:127.0.0.1:5001,peer=127.0.0.1:50x", "'127.0.0.1:50x' is neither" },
        { "dgram:::1:5001,peer=[::1]:5002", "such as 127.0.0.1:5001 or [::1]:5001" },
        { "dgram:[]:5001,peer=[::1]:5002", "neither" },
        { "dgram:[127.0.0.1]:5001,peer=127.0.0.1:5002", "neither" },
        { "dgram:127.0.0.1:5001,peer=[::1]:5002", "both of IPv4, both of IPv6 or both paths" },
        { "dgram:127.0.0.1:5001,peer=/tmp/b.sock", "both paths" },
        { "dgram:127.0.0.1:5001,peer=127.0.0.1:5001", "is this end itself" },
        { "dgram:127.0.0.1:5001,peer=127.0.0.1:5002,vnet=maybe", "vnet=maybe is none of off|on" },
        { "dgram:127.0.0.1:5001,peer=127.0.0.1:5002,mtu=65535", "a datagram carries 576 to 65477 here" },
        { "dgram:203.0.113.9:5001,peer=203.0.113.10:5002", "address of this machine" },
        { "dgram:/nowhere/at/all,peer=/tmp/b", "make its folder first" },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unit_row(rows[i].written);
        CHECK(open_port(rows[i].written) == NULL);
        if (!CHECK(strstr(error, rows[i].said) != NULL))
            printf("%s\n", error);
        CHECK(strchr(error, '\n') == NULL);
    }
}

UNIT_TEST(name_too_long_is_explained)
{
    struct port *port;

    snprintf(written, sizeof written, "dgram:%s/%0*d,peer=%s", folder, 107 - (int)strlen(folder) - 1, 0, theirs);
    port = open_port(written);
    if (CHECK(port != NULL))
        port_close(port);
    snprintf(written, sizeof written, "dgram:%s/%0*d,peer=%s", folder, 108 - (int)strlen(folder) - 1, 0, theirs);
    CHECK(open_port(written) == NULL);
    CHECK(strstr(error, "has 108 characters, and the name of a socket at most 107") != NULL);
}

UNIT_TEST(address_in_use_is_explained)
{
    struct port *first = open_port("dgram:127.0.0.1:47001,peer=127.0.0.1:47002");

    CHECK(first != NULL);
    CHECK(open_port("dgram:127.0.0.1:47001,peer=127.0.0.1:47003") == NULL);
    CHECK(strstr(error, "another program has this port: take another one") != NULL);
    port_close(first);
}

UNIT_TEST(no_descriptors_left_is_explained_and_nothing_stays_open)
{
    const int next = dup(0);
    struct rlimit limit, few;

    close(next);
    CHECK_EQ_I(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    for (int more = 0; more < 3; more++) {    /* two sockets and an epoll descriptor are needed */
        few.rlim_cur = (rlim_t)(next + more);
        CHECK_EQ_I(setrlimit(RLIMIT_NOFILE, &few), 0);
        CHECK(open_port("dgram:127.0.0.1:47001,peer=127.0.0.1:47002") == NULL);
        if (!CHECK(strstr(error, "Too many open files") != NULL))
            printf("%s\n", error);
        CHECK(open_path("") == NULL);
        CHECK(strstr(error, "Too many open files") != NULL);
        CHECK(access(own, F_OK) != 0);
    }
    CHECK_EQ_I(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK_EQ_I(dup(0), next);
    close(next);
}

UNIT_TEST(file_of_a_socket_goes_with_the_port)
{
    struct port *port = open_path("");

    if (!CHECK(port != NULL))
        return;
    CHECK_EQ_I(access(own, F_OK), 0);
    CHECK(open_path("") == NULL);    /* and the first goes on */
    CHECK(strstr(error, "another program is there") != NULL);
    CHECK_EQ_I(access(own, F_OK), 0);
    port_close(port);
    CHECK(access(own, F_OK) != 0);
}

UNIT_TEST(file_that_was_left_behind_is_replaced)
{
    struct port *port;

    close(bind_path(own, SOCK_DGRAM));
    port = open_path("");
    if (!CHECK(port != NULL))
        return;
    unlink(own);
    close(bind_path(own, SOCK_DGRAM));    /* somebody else's now: it stays */
    port_close(port);
    CHECK_EQ_I(access(own, F_OK), 0);
    unlink(own);
}

UNIT_TEST(file_that_is_no_socket_stays)
{
    const int fd = open(own, O_CREAT | O_WRONLY, 0600);

    CHECK(open_path("") == NULL);
    CHECK(strstr(error, "a file and no socket") != NULL);
    CHECK_EQ_I(access(own, F_OK), 0);
    close_path(fd, own);
}

UNIT_TEST(socket_of_another_type_stays)
{
    const int fd = bind_path(own, SOCK_STREAM);

    CHECK(open_path("") == NULL);
    CHECK_EQ_I(access(own, F_OK), 0);
    close_path(fd, own);
}

UNIT_TEST(both_ends_have_addresses_of_their_own)
{
    static const char *const names[] = { "dgram:127.0.0.1:47001,peer=127.0.0.1:47002",
                                         "dgram:127.0.0.1:47002,peer=127.0.0.1:47001",
                                         "dgram:127.0.0.1:47001,peer=127.0.0.1:47003",
                                         "dgram:127.0.0.1:47001,peer=127.0.0.1:47002" };
    struct tenon_netif_conf conf[4];

    for (unsigned i = 0; i < 4; i++) {
        struct port *port = open_port(names[i]);

        if (!CHECK(port != NULL))
            return;
        port_netif_conf(port, &conf[i]);
        port_close(port);
        CHECK_EQ_U(conf[i].mac[0] & 3, 2);
        CHECK_EQ_U(conf[i].mtu, 1500);
        CHECK_EQ_U(conf[i].caps, 0);
    }
    CHECK(memcmp(conf[0].mac, conf[1].mac, 6) != 0);
    CHECK(memcmp(conf[0].mac, conf[2].mac, 6) != 0);
    CHECK(memcmp(conf[0].mac, conf[3].mac, 6) == 0);
}

UNIT_TEST(vnet_says_what_it_can)
{
    struct tenon_netif_conf conf;
    struct port *port = open_path(",vnet=on");

    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.caps, TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO);
    port_close(port);
    port = open_path(",vnet=on,offload=off");
    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.caps, 0);
    port_close(port);
}

/* ---- frames ------------------------------------------------------------------------------------------- */

UNIT_TEST(frame_is_a_datagram_as_it_is)
{
    const int fd = bind_path(theirs, SOCK_DGRAM);
    struct port *port = open_path("");
    tenon_u8 seen[100];

    CHECK_EQ_U(transmit(port, 7), 1);
    CHECK_EQ_I(recv(fd, seen, sizeof seen, 0), FRAME);
    CHECK(memcmp(seen, bytes, FRAME) == 0);
    put(fd, bytes, FRAME);
    receive(port);
    CHECK_EQ_U(ngot, 1);
    CHECK(memcmp(got[0], bytes, FRAME) == 0);
    CHECK_EQ_U(got_frames[0].csum, TENON_CSUM_NONE);
    CHECK_EQ_U(stats_of(port).tx_bytes, FRAME);
    CHECK_EQ_U(stats_of(port).rx_bytes, FRAME);
    port_close(port);
    close_path(fd, theirs);
}

UNIT_TEST(vnet_has_a_header_before_each_frame)
{
    const int fd = bind_path(theirs, SOCK_DGRAM);
    struct port *port = open_path(",vnet=on");
    tenon_u8 seen[VNET + 100] = { 0 };

    CHECK_EQ_U(transmit(port, 7), 1);
    CHECK_EQ_I(recv(fd, seen, sizeof seen, 0), VNET + FRAME);
    CHECK(memcmp(seen + VNET, bytes, FRAME) == 0);
    seen[0] = 1;    /* NEEDS_CSUM: of the bytes from 34 on, at 34 + 6 */
    seen[6] = 34;
    seen[8] = 6;
    put(fd, seen, VNET + FRAME);
    put(fd, seen, VNET);    /* no frame */
    receive(port);
    CHECK_EQ_U(ngot, 1);
    CHECK(memcmp(got[0], bytes, FRAME) == 0);
    CHECK_EQ_U(got_frames[0].csum, TENON_CSUM_GOOD);    /* nobody can have spoilt it on the way */
    CHECK_EQ_U(stats_of(port).rx_bad, 1);
    port_close(port);
    close_path(fd, theirs);
}

UNIT_TEST(what_is_no_frame_is_lost_and_the_others_are_not)
{
    static tenon_u8 large[3000];
    const int fd = bind_path(theirs, SOCK_DGRAM);
    struct port *port = open_path("");

    for (unsigned i = 0; i < 6; i++) {
        bytes[FRAME - 1] = (tenon_u8)i;
        put(fd, i % 2 ? large : bytes, i == 3 ? 0 : i % 2 ? sizeof large : FRAME);
    }
    receive(port);
    CHECK_EQ_U(ngot, 3);
    for (unsigned i = 0; i < 3; i++)
        CHECK_EQ_U(got[i][FRAME - 1], 2 * i);
    CHECK_EQ_U(stats_of(port).rx_bad, 3);
    CHECK_EQ_U(stats_of(port).rx_frames, 3);
    port_close(port);
    close_path(fd, theirs);
}

UNIT_TEST(what_has_no_room_is_held_and_then_refused)
{
    const int fd = bind_path(theirs, SOCK_DGRAM);
    struct port *port = open_path("");
    struct pollfd ready = { port_fd(port), POLLIN, 0 };
    tenon_u8 seen[100];
    unsigned taken = 0, n = 0;

    while (taken < 5000 && transmit(port, 3) == 1)
        taken++;
    CHECK(taken > 256 && taken < 5000);
    CHECK_EQ_U(stats_of(port).tx_busy, 1);
    CHECK(buf.refs > 1);
    CHECK_EQ_I(poll(&ready, 1, 0), 0);
    while (recv(fd, seen, sizeof seen, 0) == FRAME) {
        n++;
        receive(port);    /* which sends, when there is room */
    }
    CHECK_EQ_U(n, taken);
    CHECK_EQ_U(buf.refs, 1);
    while (buf.refs == 1 && transmit(port, 3) == 1)
        ;
    CHECK_EQ_I(recv(fd, seen, sizeof seen, 0), FRAME);
    CHECK_EQ_I(poll(&ready, 1, 1000), 1);    /* there is room again */
    port_close(port);
    CHECK_EQ_U(buf.refs, 1);
    close_path(fd, theirs);
}

/* ---- the other end comes and goes --------------------------------------------------------------------- */

UNIT_TEST(other_end_comes_goes_and_comes_again)
{
    struct port *port = open_path("");
    char text[600] = "";
    tenon_u8 seen[100];

    CHECK_EQ_U(transmit(port, 1), 1);
    CHECK_EQ_U(stats_of(port).tx_down, 1);
    CHECK_EQ_I(port->type->advice(port, text, sizeof text), 1);
    CHECK(strstr(text, "nobody is at") != NULL && strstr(text, own) != NULL);
    for (unsigned i = 1; i <= 3; i++) {
        const int fd = bind_path(theirs, SOCK_DGRAM);

        CHECK_EQ_U(transmit(port, i), 1);
        CHECK_EQ_I(recv(fd, seen, sizeof seen, 0), FRAME);
        CHECK_EQ_U(seen[FRAME - 1], i);
        CHECK_EQ_I(port->type->advice(port, text, sizeof text), 0);
        put(fd, bytes, FRAME);
        receive(port);
        CHECK_EQ_U(ngot, 1);
        close_path(fd, theirs);
        CHECK_EQ_U(transmit(port, i), 1);
        CHECK_EQ_U(stats_of(port).tx_down, 1 + i);
    }
    port_close(port);
}

/* One that came after a peer that is dead may send at once, although we have said nothing since. */
UNIT_TEST(other_end_that_is_new_is_heard_at_once)
{
    int fd = bind_path(theirs, SOCK_DGRAM);
    struct port *port = open_path("");

    CHECK_EQ_U(transmit(port, 1), 1);
    close_path(fd, theirs);
    fd = bind_path(theirs, SOCK_DGRAM);
    put(fd, bytes, FRAME);
    receive(port);
    CHECK_EQ_U(ngot, 1);
    port_close(port);
    close_path(fd, theirs);
}

UNIT_TEST(over_udp_only_the_peer_is_heard)
{
    static const struct {
        const char *written;
        int family;
    } rows[] = { { "dgram:127.0.0.1:47001,peer=127.0.0.1:47002", AF_INET },
                 { "dgram:[::1]:47001,peer=[::1]:47002", AF_INET6 } };

    for (unsigned i = 0; i < 2; i++) {
        const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
        const struct sockaddr_in four = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
        const struct sockaddr *any = i ? (const struct sockaddr *)&six : (const struct sockaddr *)&four;
        struct sockaddr_in6 to = { 0 };
        const socklen_t size = i ? sizeof six : sizeof four;
        struct port *port = open_port(rows[i].written);
        int peer, other;
        tenon_u8 seen[100];

        unit_row(rows[i].written);
        if (port == NULL && i == 1) {
            printf("no IPv6 on the loopback: %s\n", error);
            break;
        }
        memcpy(&to, any, size);
        to.sin6_port = htons(47002);    /* at the same place in both families */
        CHECK_EQ_U(transmit(port, 1), 1);
        receive(port);
        CHECK_EQ_U(stats_of(port).tx_down, 1);    /* nobody is there */
        peer = socket(rows[i].family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        other = socket(rows[i].family, SOCK_DGRAM, 0);
        CHECK_EQ_I(bind(peer, (const struct sockaddr *)&to, size), 0);
        CHECK_EQ_U(transmit(port, 2), 1);
        CHECK_EQ_I(recv(peer, seen, sizeof seen, 0), FRAME);
        CHECK_EQ_U(seen[FRAME - 1], 2);
        to.sin6_port = htons(47001);
        CHECK_EQ_I(sendto(peer, "for you, and of the length of a frame or so", 43, 0, (const void *)&to, size), 43);
        (void)sendto(other, "not for you", 11, 0, (const void *)&to, size);
        receive(port);
        CHECK_EQ_U(ngot, 1);
        CHECK(memcmp(got[0], "for you", 7) == 0);
        close(peer);
        close(other);
        port_close(port);
    }
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(own, sizeof own, "%s/a", folder);
    snprintf(theirs, sizeof theirs, "%s/b", folder);
    UNIT_RUN(what_is_wrong_is_explained);
    UNIT_RUN(name_too_long_is_explained);
    UNIT_RUN(address_in_use_is_explained);
    UNIT_RUN(no_descriptors_left_is_explained_and_nothing_stays_open);
    UNIT_RUN(file_of_a_socket_goes_with_the_port);
    UNIT_RUN(file_that_was_left_behind_is_replaced);
    UNIT_RUN(file_that_is_no_socket_stays);
    UNIT_RUN(socket_of_another_type_stays);
    UNIT_RUN(both_ends_have_addresses_of_their_own);
    UNIT_RUN(vnet_says_what_it_can);
    UNIT_RUN(frame_is_a_datagram_as_it_is);
    UNIT_RUN(vnet_has_a_header_before_each_frame);
    UNIT_RUN(what_is_no_frame_is_lost_and_the_others_are_not);
    UNIT_RUN(what_has_no_room_is_held_and_then_refused);
    UNIT_RUN(other_end_comes_goes_and_comes_again);
    UNIT_RUN(other_end_that_is_new_is_heard_at_once);
    UNIT_RUN(over_udp_only_the_peer_is_heard);
    rmdir(folder);
    return unit_end();
}
