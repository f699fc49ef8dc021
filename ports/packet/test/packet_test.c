/* SPDX-License-Identifier: MIT */
/* The packet port on an interface whose other end is in this program's hand: a TAP interface in a network namespace of
 * its own. Where no such thing can be had, only what needs none is tested, and the program says so. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <net/if.h>

#include <tenon/flow.h>

#include "../../../tests/unit/unit.h"
#include "../packet.h"

enum { VNET = 10, KEPT_MAX = 4096, PORT = 7 };

static char error[600];

/* ---- the other end of the cable -------------------------------------------------------------------- */

/* @return the end of a new interface, with a virtio-net header before each frame */
static int make_interface(const char *name)
{
    struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    char path[64];
    int ip6;

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ_I(ioctl(fd, TUNSETIFF, &request), 0);
    CHECK_EQ_I(ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6), 0);
    snprintf(path, sizeof path, "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
    ip6 = open(path, O_WRONLY);    /* or the kernel would say a few words too */
    if (ip6 >= 0 && write(ip6, "1", 1) == 1)
        close(ip6);
    return fd;
}

static void set_up(const char *name, int up)
{
    struct ifreq request = { 0 };
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ_I(ioctl(fd, SIOCGIFFLAGS, &request), 0);
    request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    CHECK_EQ_I(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

static void kernels_mac(const char *name, tenon_u8 mac[6])
{
    struct ifreq request = { 0 };
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ_I(ioctl(fd, SIOCGIFHWADDR, &request), 0);
    memcpy(mac, request.ifr_hwaddr.sa_data, 6);
    close(fd);
}

static int open_cable(const char *name)
{
    const int fd = make_interface(name);

    set_up(name, 1);
    return fd;
}

/* What the kernel sees arriving at the interface. */
static void put_frame(int cable, const tenon_u8 *frame, size_t n)
{
    static tenon_u8 bytes[VNET + 70000];

    memset(bytes, 0, VNET);
    memcpy(bytes + VNET, frame, n);
    CHECK_EQ_I(write(cable, bytes, VNET + n), (long)(VNET + n));
}

/* @return bytes of a frame that we have sent; 0: there is none */
static size_t get_frame(int cable, tenon_u8 *frame, size_t room)
{
    static tenon_u8 bytes[VNET + 70000];
    const ssize_t n = read(cable, bytes, sizeof bytes);

    if (n <= VNET || (size_t)n - VNET > room)
        return 0;
    memcpy(frame, bytes + VNET, (size_t)n - VNET);
    return (size_t)n - VNET;
}

/* ---- frames ---------------------------------------------------------------------------------------- */

static tenon_u16 sum(const tenon_u8 *bytes, size_t n)
{
    unsigned long total = 0;

    for (size_t i = 0; i + 1 < n; i += 2)
        total += (unsigned)bytes[i] << 8 | bytes[i + 1];
    while (total > 0xFFFF)
        total = (total >> 16) + (total & 0xFFFF);
    return (tenon_u16)~total;
}

/* A datagram without a checksum from 10.77.0.1 to 10.77.0.2. @return bytes of the frame */
static size_t make_udp(tenon_u8 *frame, const tenon_u8 mac[6], unsigned from_port, size_t payload)
{
    const tenon_u8 head[] = { 0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2 };
    const size_t ip = sizeof head + 8 + payload;
    tenon_u16 check;

    memcpy(frame, mac, 6);
    memcpy(frame + 6, "\x02\0\0\0\0\x01\x08\0", 8);
    memcpy(frame + 14, head, sizeof head);
    frame[16] = (tenon_u8)(ip >> 8);
    frame[17] = (tenon_u8)ip;
    check = sum(frame + 14, sizeof head);
    frame[24] = (tenon_u8)(check >> 8);
    frame[25] = (tenon_u8)check;
    memset(frame + 34, 0, 8);
    frame[34] = (tenon_u8)(from_port >> 8);
    frame[35] = (tenon_u8)from_port;
    frame[37] = PORT;
    frame[38] = (tenon_u8)((8 + payload) >> 8);
    frame[39] = (tenon_u8)(8 + payload);
    for (size_t i = 0; i < payload; i++)
        frame[42 + i] = (tenon_u8)(from_port + i);
    return 14 + ip;
}

static size_t make_arp(tenon_u8 *frame)
{
    memset(frame, 0xFF, 6);
    memcpy(frame + 6, "\x02\0\0\0\0\x01\x08\x06\0\x01\x08\0\x06\x04\0\x01\x02\0\0\0\0\x01\x0A\x4D\0\x01", 26);
    memcpy(frame + 32, "\0\0\0\0\0\0\x0A\x4D\0\x02", 10);
    return 42;
}

/* ---- an instance that keeps what it gets ----------------------------------------------------------- */

struct side {
    struct port *port;
    struct tenon *stack;
    struct tenon_udp *sock;
    void *mem;
    unsigned netif, datagrams, wrong, nkept;
    size_t bytes;
    int keeps;
    struct tenon_span kept[KEPT_MAX];
};

static struct side sides[3];

static void got_datagram(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    struct side *side = app;
    size_t at = 0;

    (void)sock;
    side->datagrams++;
    for (unsigned i = 0; i < n; i++) {
        for (tenon_u32 k = 0; k < spans[i].len; k++, at++)
            side->wrong += tenon_span_data(&spans[i])[k] != (tenon_u8)(info->from.port + at);
        if (!side->keeps || side->nkept == KEPT_MAX)
            continue;
        tenon_buf_ref(spans[i].buf);
        side->kept[side->nkept++] = spans[i];
    }
    side->bytes += at;
}

static const struct tenon_udp_events udp_events = { got_datagram, NULL };

static struct port *open_port(const char *written)
{
    static const struct port_type *const types[] = { &packet_port_type, NULL };
    struct port_choice choice;

    error[0] = 0;
    if (port_read(&choice, types, written, error, sizeof error) != 0)
        return NULL;
    return port_open(&packet_port_type, &choice.conf, error, sizeof error);
}

/* @return whether there is an instance with a socket */
static int open_side(struct side *side, struct port *port)
{
    const struct tenon_ip ip = tenon_ip4(0x0A4D0002);
    const struct tenon_addr at = { .port = PORT };
    struct tenon_netif_conf netif;
    struct tenon_conf conf;

    memset(side, 0, sizeof *side);
    if (!CHECK(port != NULL)) {
        printf("%s\n", error);
        return 0;
    }
    side->port = port;
    tenon_conf_default(&conf);
    side->mem = malloc(tenon_mem_size(&conf));
    side->stack = tenon_init(side->mem, &conf, packet_port_type.host, port);
    port_netif_conf(port, &netif);
    netif.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    side->netif = (unsigned)tenon_netif_add(side->stack, &netif);
    CHECK_EQ_I(tenon_addr_add(side->stack, side->netif, &ip, 24), TENON_OK);
    CHECK_EQ_I(tenon_udp_open(side->stack, &side->sock, &udp_events, side), TENON_OK);
    CHECK_EQ_I(tenon_udp_bind(side->sock, &at), TENON_OK);
    return 1;
}

static void give_up_kept(struct side *side)
{
    while (side->nkept > 0)
        tenon_buf_put(side->kept[--side->nkept].buf);
}

static void close_side(struct side *side)
{
    give_up_kept(side);
    tenon_fini(side->stack);
    port_close(side->port);
    free(side->mem);
}

/* Until nothing has come for so many milliseconds. @return 0; -1: the interface is gone */
static int run_side(struct side *side, int quiet_ms)
{
    struct pollfd ready = { port_fd(side->port), POLLIN, 0 };
    int result = 0;

    while (result >= 0 && poll(&ready, 1, quiet_ms) > 0) {
        result = port_receive(side->port, side->stack, side->netif, port_now_us());
        (void)tenon_poll(side->stack, port_now_us());
    }
    return result < 0 ? -1 : 0;
}

static void macs(struct side *side, tenon_u8 mac[6])
{
    struct tenon_netif_conf conf;

    port_netif_conf(side->port, &conf);
    memcpy(mac, conf.mac, 6);
}

/* ---- opening --------------------------------------------------------------------------------------- */

UNIT_TEST(what_is_wrong_is_explained)
{
    static const struct {
        const char *written, *explained;
    } rows[] = {
        { "packet:a-name-much-too-long", "1 to 15 characters" },
        { "packet:opens0:1", "'opens0:1' is no name" },
        { "packet:none0", "'none0': No such device" },
        { "packet:lo", "loopback" },
        { "packet:opens0,mtu=9000", "'ip link set opens0 mtu 9000'" },
        { "packet:opens0,mac=mine", "mac=mine is none of own|interface" },
        { "packet:opens0,receive=rin", "receive=rin is none of read|ring" },
        { "packet:opens0,receive=ringring", "none of" },
        { "packet:opens0,queues=2,fanout=all", "fanout=all is none of hash|flow|cpu|queue|lb" },
    };
    const int cable = open_cable("opens0");

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unit_row(rows[i].written);
        CHECK(open_port(rows[i].written) == NULL);
        if (!CHECK(strstr(error, rows[i].explained) != NULL))
            printf("%s\n", error);
    }
    close(cable);
}

UNIT_TEST(not_permitted_is_explained)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    const int cable = open_cable("denied0");
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        if (syscall(SYS_capset, &head, none) != 0 || open_port("packet:denied0") != NULL)
            _exit(1);
        _exit(strstr(error, "run as root") != NULL ? 0 : 2);
    }
    CHECK_EQ_I(waitpid(child, &status, 0), child);
    CHECK_EQ_I(status, 0);
    close(cable);
}

UNIT_TEST(what_it_can_follows_offload)
{
    const int cable = open_cable("caps0");
    struct port *port = open_port("packet:caps0");
    struct tenon_netif_conf conf;

    if (!CHECK(port != NULL))
        return;
    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.mtu, 1500);
    CHECK_EQ_U(conf.caps & 7, TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6);
    CHECK_EQ_U(conf.gather_max, 64);
    port_close(port);
    port = open_port("packet:caps0,offload=off,mtu=576");
    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.mtu, 576);
    CHECK_EQ_U(conf.caps, 0);
    port_close(port);
    close(cable);
}

UNIT_TEST(address_is_ours_or_the_interfaces)
{
    const int cable = open_cable("mac0");
    struct port *own = open_port("packet:mac0,queues=2,queue=0");
    struct port *second = open_port("packet:mac0,queues=2,queue=1");
    struct port *theirs = open_port("packet:mac0,mac=interface");
    struct tenon_netif_conf a, b, c;
    tenon_u8 kernels[6];

    if (!CHECK(own != NULL) || !CHECK(second != NULL) || !CHECK(theirs != NULL))
        return;
    port_netif_conf(own, &a);
    port_netif_conf(second, &b);
    port_netif_conf(theirs, &c);
    kernels_mac("mac0", kernels);
    CHECK_EQ_MEM(a.mac, b.mac, 6);
    CHECK(memcmp(a.mac, kernels, 6) != 0);
    CHECK_EQ_U(a.mac[0] & 3, 2);
    CHECK_EQ_MEM(c.mac, kernels, 6);
    port_close(own);
    port_close(second);
    port_close(theirs);
    close(cable);
}

/* An interface may have other names besides its own. */
UNIT_TEST(other_name_is_the_same_interface)
{
    const int cable = open_cable("name0");
    struct tenon_netif_conf a, b;
    struct port *port, *other;
    char text[300] = "";

    if (system("ip link property add dev name0 altname other-name && ip address add 10.77.0.9/24 dev name0") != 0) {
        close(cable);
        return;
    }
    port = open_port("packet:name0");
    other = open_port("packet:other-name");
    if (!CHECK(port != NULL) || !CHECK(other != NULL))
        return;
    port_netif_conf(port, &a);
    port_netif_conf(other, &b);
    CHECK_EQ_MEM(a.mac, b.mac, 6);
    for (int i = 0; i < 500 && strstr(text, "10.77") == NULL; i++, usleep(1000))
        (void)packet_port_type.advice(other, text, sizeof text);
    CHECK(strstr(text, "10.77.0.9 at name0 ") != NULL);
    port_close(port);
    port_close(other);
    close(cable);
}

UNIT_TEST(advice_names_what_is_wrong)
{
    const int cable = make_interface("adv0"), fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct port *port = open_port("packet:adv0");
    struct ifreq request = { .ifr_name = "adv0" };
    struct sockaddr_in *address = (struct sockaddr_in *)(void *)&request.ifr_addr;
    char text[300] = "";

    if (!CHECK(port != NULL))
        return;
    CHECK_EQ_I(packet_port_type.advice(port, text, sizeof text), 1);
    CHECK(strstr(text, "adv0 is down") != NULL);
    set_up("adv0", 1);
    for (int i = 0; i < 500 && packet_port_type.advice(port, text, sizeof text) != 0; i++)
        usleep(1000);    /* the kernel needs a moment to notice the cable */
    CHECK_EQ_I(packet_port_type.advice(port, text, sizeof text), 0);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(0x0A4D0009);
    snprintf(request.ifr_name, sizeof request.ifr_name, "adv0:1");    /* an address with a label */
    CHECK_EQ_I(ioctl(fd, SIOCSIFADDR, &request), 0);
    CHECK_EQ_I(packet_port_type.advice(port, text, sizeof text), 1);
    CHECK(strstr(text, "10.77.0.9 at adv0 ") != NULL);
    port_close(port);
    close(fd);
    close(cable);
}

/* ---- sending --------------------------------------------------------------------------------------- */

static void no_release(struct tenon_buf *buf)
{
    (void)buf;
}

UNIT_TEST(transmit_gathers_the_pieces)
{
    static tenon_u8 bytes[1000], got[2000];
    struct tenon_buf buf = { bytes, sizeof bytes, 1, no_release };
    const struct tenon_span spans[] = { { &buf, 0, 14 }, { &buf, 14, 301 }, { &buf, 315, 685 } };
    const struct tenon_frame frames[2] = { { .spans = spans, .nspans = 3 }, { .spans = spans, .nspans = 3 } };
    const int cable = open_cable("send0");
    struct port *port = open_port("packet:send0");
    struct port_stats stats;

    if (!CHECK(port != NULL))
        return;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (tenon_u8)(i * 13);
    CHECK_EQ_U(packet_port_type.host->transmit(port, 1, frames, 2), 2);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_U(get_frame(cable, got, sizeof got), sizeof bytes);
        CHECK_EQ_MEM(got, bytes, sizeof bytes);
    }
    CHECK_EQ_U(get_frame(cable, got, sizeof got), 0);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_frames, 2);
    CHECK_EQ_U(stats.tx_bytes, 2 * sizeof bytes);
    port_close(port);
    close(cable);
}

UNIT_TEST(transmit_that_cannot_be_is_counted)
{
    static tenon_u8 bytes[4000];
    struct tenon_buf buf = { bytes, sizeof bytes, 1, no_release };
    const struct tenon_span spans[] = { { &buf, 0, 1000 }, { &buf, 0, 4000 } };
    const struct tenon_frame good = { .spans = spans, .nspans = 1 }, large = { .spans = spans + 1, .nspans = 1 };
    const int cable = open_cable("cannot0");
    struct port *port = open_port("packet:cannot0");
    struct port_stats stats;

    if (!CHECK(port != NULL))
        return;
    CHECK_EQ_U(packet_port_type.host->transmit(port, 1, &large, 1), 1);
    set_up("cannot0", 0);
    CHECK_EQ_U(packet_port_type.host->transmit(port, 1, &good, 1), 1);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_frames, 0);
    CHECK_EQ_U(stats.tx_errors, 1);
    CHECK_EQ_U(stats.tx_down, 1);
    port_close(port);
    close(cable);
}

/* The queue before an interface: one that hardly lets anything out, and that holds so many bytes. Without a number, the
 * kernel's own; whatever the slow one held is thrown away then. @return 0; -1: there is no tc, or no such queue */
static int set_queue(const char *name, unsigned long bytes)
{
    char command[160];

    snprintf(command, sizeof command, "tc qdisc replace dev %s root pfifo 2>/dev/null", name);
    if (bytes > 0)
        snprintf(command, sizeof command,
                 "tc qdisc replace dev %s root tbf rate 8kbit burst 2000 limit %lu 2>/dev/null", name, bytes);
    return system(command) == 0 ? 0 : -1;
}

/* Whether poll() returns within so many milliseconds for a program that wants nothing but to be told by fd(). */
static int is_woken(const struct port *port, int ms)
{
    struct pollfd ready = { port_fd(port), POLLIN, 0 };

    return poll(&ready, 1, ms) == 1;
}

/* A port before a queue of so many bytes, and frames sent until one is not taken. @return NULL: it could not be made */
static struct port *open_blocked(const char *name, unsigned long bytes, int *cable)
{
    static tenon_u8 frame[1000];
    static struct tenon_buf buf = { frame, sizeof frame, 1, no_release };
    const struct tenon_span span = { &buf, 0, sizeof frame };
    const struct tenon_frame one = { .spans = &span, .nspans = 1 };
    char written[40];
    struct port *port;
    unsigned sent = 0;

    *cable = open_cable(name);
    snprintf(written, sizeof written, "packet:%s", name);
    port = set_queue(name, bytes) == 0 ? open_port(written) : NULL;
    while (port != NULL && sent < 1000000 && packet_port_type.host->transmit(port, 1, &one, 1) == 1)
        sent++;
    if (port == NULL)
        printf("no tc, or no queue of its kind tbf: a full queue is not tested\n");
    else
        CHECK(sent > 0 && sent < 1000000);
    return port;
}

/* The socket is full: fd() tells when it is worth trying again, and only then. */
UNIT_TEST(full_socket_wakes_when_there_is_room)
{
    int cable;
    struct port *port = open_blocked("full0", 100000000, &cable);
    struct port_stats stats;

    if (port == NULL) {
        close(cable);
        return;
    }
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_busy, 1);
    CHECK(!is_woken(port, 20));
    CHECK_EQ_I(set_queue("full0", 0), 0);
    CHECK(is_woken(port, 5000));
    CHECK_EQ_I(port_receive(port, NULL, 1, port_now_us()), 0);
    CHECK(!is_woken(port, 20));    /* told once: who has nothing to send sleeps on */
    port_close(port);
    close(cable);
}

/* The interface's own queue is full, and its socket is not: nothing will tell, and nothing may pretend to. */
UNIT_TEST(full_interface_does_not_wake)
{
    int cable;
    struct port *port = open_blocked("full1", 20000, &cable);
    struct port_stats stats;

    if (port == NULL) {
        close(cable);
        return;
    }
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_busy, 1);
    CHECK(!is_woken(port, 20));
    port_close(port);
    close(cable);
}

/* A frame that a rule before the interface never lets pass is refused with the words of a full queue. It must not stop
 * those behind it. Here it is larger than all that the queue ever lets out at a time. */
UNIT_TEST(frame_that_never_passes_does_not_stop_others)
{
    static tenon_u8 bytes[1000];
    struct tenon_buf buf = { bytes, sizeof bytes, 1, no_release };
    const struct tenon_span spans[] = { { &buf, 0, 1000 }, { &buf, 0, 60 } };
    const struct tenon_frame frames[] = { { .spans = spans, .nspans = 1 }, { .spans = spans + 1, .nspans = 1 } };
    const int cable = open_cable("never0");
    struct port *port = open_port("packet:never0");
    struct port_stats stats;
    unsigned taken = 0;

    if (!CHECK(port != NULL))
        return;
    if (system("tc qdisc replace dev never0 root tbf rate 8mbit burst 600 limit 20000 2>/dev/null") != 0) {
        port_close(port);
        close(cable);
        return;
    }
    CHECK_EQ_U(packet_port_type.host->transmit(port, 1, frames, 2), 0);    /* a full queue has room again soon */
    for (unsigned i = 0; i < 1000 && taken == 0; i++) {
        usleep(1000);
        taken = packet_port_type.host->transmit(port, 1, frames, 2);
    }
    CHECK_EQ_U(taken, 2);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_errors, 1);
    CHECK_EQ_U(stats.tx_frames, 1);
    CHECK(stats.tx_busy > 0);
    CHECK_EQ_U(packet_port_type.host->transmit(port, 1, frames, 2), 0);    /* one has passed since: as at first */
    port_close(port);
    close(cable);
}

/* ---- receiving ------------------------------------------------------------------------------------- */

static void check_receive(const char *name, const char *written)
{
    const int cable = open_cable(name);
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 frame[1600], mac[6];

    unit_row(written);
    if (!open_side(side, open_port(written)))
        return;
    macs(side, mac);
    CHECK_EQ_I(port_receive(side->port, side->stack, side->netif, port_now_us()), 0);
    for (unsigned i = 0; i < 100; i++)
        put_frame(cable, frame, make_udp(frame, mac, 1000 + i, i * 13));
    CHECK_EQ_I(run_side(side, 50), 0);
    CHECK_EQ_U(side->datagrams, 100);
    CHECK_EQ_U(side->bytes, 13 * 99 * 100 / 2);
    CHECK_EQ_U(side->wrong, 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_frames, 100);
    CHECK(stats.rx_empty > 0);
    CHECK_EQ_U(stats.rx_no_buffer + stats.rx_bad + stats.rx_errors + stats.rx_missed, 0);
    close_side(side);
    close(cable);
}

UNIT_TEST(received_frames_reach_the_instance)
{
    check_receive("recv0", "packet:recv0");
    check_receive("recv1", "packet:recv1,offload=off");
    check_receive("recv2", "packet:recv2,receive=ring");
    check_receive("recv3", "packet:recv3,receive=ring,mac=interface,offload=off");
    check_receive("recv4", "packet:recv4,mac=interface");
}

/* One of 30000 bytes that the sender has left to be cut and summed. */
static void check_super_frame(const char *name, const char *written)
{
    static tenon_u8 bytes[VNET + 30100];
    const int cable = open_cable(name);
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 *frame = bytes + VNET;

    unit_row(written);
    if (!open_side(side, open_port(written)))
        return;
    macs(side, frame);
    memcpy(frame + 6, "\x02\0\0\0\0\x01\x08\0\x45\0\x75\x30\0\0\x40\0\x40\x06\0\0\x0A\x4D\0\x01\x0A\x4D\0\x02", 28);
    frame[24] = (tenon_u8)(sum(frame + 14, 20) >> 8);
    frame[25] = (tenon_u8)sum(frame + 14, 20);
    frame[46] = 0x50;    /* a TCP header of 20 bytes, no flags: reset by an instance that has no connection */
    bytes[0] = 1;
    bytes[1] = 1;
    bytes[2] = 54;
    memcpy(bytes + 4, &(uint16_t){ 1400 }, 2);
    bytes[6] = 34;
    bytes[8] = 16;
    CHECK_EQ_I(write(cable, bytes, VNET + 30014), VNET + 30014);
    CHECK_EQ_I(run_side(side, 50), 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_frames, 1);
    CHECK_EQ_U(stats.rx_bytes, 30014);
    CHECK_EQ_U(tenon_stat(side->stack, TENON_STAT_TCP_NO_CONNECTION), 1);
    close_side(side);
    close(cable);
}

UNIT_TEST(super_frames_arrive_whole)
{
    check_super_frame("super0", "packet:super0");
    check_super_frame("super1", "packet:super1,receive=ring");
    check_super_frame("super2", "packet:super2,offload=off");
}

static void put_udp(int cable, const tenon_u8 mac[6], unsigned port)
{
    tenon_u8 frame[200];

    put_frame(cable, frame, make_udp(frame, mac, port, 10));
}

UNIT_TEST(only_what_is_for_us_arrives)
{
    static const tenon_u8 other[6] = { 2, 9, 9, 9, 9, 9 }, all[6] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    const int cable = open_cable("filter0");
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 frame[200], mac[6], near[6];
    size_t n;

    if (!open_side(side, open_port("packet:filter0")))
        return;
    macs(side, mac);
    memcpy(near, mac, 6);
    near[5] ^= 1;
    put_udp(cable, other, 1);
    put_udp(cable, near, 1);
    near[5] ^= 1;
    near[0] ^= 4;
    put_udp(cable, near, 1);
    n = make_udp(frame, mac, 1, 10);
    memmove(frame + 16, frame + 12, n - 12);
    memcpy(frame + 12, "\x81\0\0\x07", 4);    /* VLAN 7 */
    put_frame(cable, frame, n + 4);
    CHECK_EQ_I(run_side(side, 20), 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_frames, 0);
    memcpy(frame + 12, "\x81\0\xE0\0", 4);    /* a priority */
    put_frame(cable, frame, n + 4);
    put_udp(cable, mac, 1);
    put_udp(cable, all, 1);
    CHECK_EQ_I(run_side(side, 20), 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_frames, 3);
    close_side(side);
    close(cable);
}

/* Nor does what the kernel of this machine sends there: to those who hear it is the same. */
static void check_others(const char *written)
{
    static const tenon_u8 all[6] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    const int cable = open_cable("others0");
    struct port *other = open_port("packet:others0");
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 bytes[200];
    struct tenon_buf buf = { bytes, sizeof bytes, 1, no_release };
    const struct tenon_span span = { &buf, 0, (tenon_u32)make_udp(bytes, all, 1, 10) };
    const struct tenon_frame frame = { .spans = &span, .nspans = 1 };

    unit_row(written);
    if (!CHECK(other != NULL) || !open_side(side, open_port(written)))
        return;
    CHECK_EQ_U(packet_port_type.host->transmit(other, 1, &frame, 1), 1);
    CHECK_EQ_I(run_side(side, 20), 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_frames, 0);
    CHECK_EQ_U(get_frame(cable, bytes, sizeof bytes), span.len);
    close_side(side);
    port_close(other);
    close(cable);
}

UNIT_TEST(what_others_send_does_not_arrive)
{
    check_others("packet:others0");
    check_others("packet:others0,queues=2");
    check_others("packet:others0,queues=2,receive=ring");
}

/* The first datagram is kept while three times as many blocks as the ring has are filled. */
UNIT_TEST(who_keeps_a_byte_does_not_stop_the_ring)
{
    enum { BLOCKS = 64, BLOCK_BYTES = 256 << 10, FRAME_BYTES = 1400 };
    enum { COUNT = 3 * BLOCKS * (BLOCK_BYTES / FRAME_BYTES) };
    const int cable = open_cable("keep0");
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 frame[1600], mac[6];

    if (!open_side(side, open_port("packet:keep0,receive=ring")))
        return;
    macs(side, mac);
    side->keeps = 1;
    put_frame(cable, frame, make_udp(frame, mac, 500, FRAME_BYTES - 42));
    CHECK_EQ_I(run_side(side, 20), 0);
    side->keeps = 0;
    for (unsigned i = 1; i < COUNT; i++) {
        put_frame(cable, frame, make_udp(frame, mac, 500 + i, FRAME_BYTES - 42));
        if (i % 1000 == 0)
            CHECK_EQ_I(run_side(side, 5), 0);
    }
    CHECK_EQ_I(run_side(side, 20), 0);
    CHECK_EQ_U(side->datagrams, COUNT);
    CHECK_EQ_U(side->wrong, 0);
    CHECK_EQ_U(side->nkept, 1);
    for (unsigned i = 0; i < side->kept[0].len; i++)
        side->wrong += tenon_span_data(&side->kept[0])[i] != (tenon_u8)(500 + i);
    CHECK_EQ_U(side->wrong, 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_missed + stats.rx_no_buffer, 0);
    close_side(side);
    close(cable);
}

/* A datagram that its sender has left to be cut into fragments (UFO), which no virtio-net header can say any more: the
 * kernel drops it, and leaves the place in the ring as it was. */
static void put_unsayable(int cable, const tenon_u8 mac[6])
{
    static tenon_u8 bytes[VNET + 4000];
    const size_t n = make_udp(bytes + VNET, mac, 900, 3000);

    bytes[0] = 1;
    bytes[1] = 3;
    bytes[2] = 42;
    memcpy(bytes + 4, &(uint16_t){ 1400 }, 2);
    bytes[6] = 34;
    bytes[8] = 6;
    CHECK_EQ_I(write(cable, bytes, VNET + n), (long)(VNET + n));
}

/* Each block of the ring has had a frame before. */
static void check_dropped(const char *name, const char *written)
{
    enum { BLOCKS = 64 };
    const int cable = open_cable(name);
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 mac[6];

    unit_row(written);
    if (!open_side(side, open_port(written)))
        return;
    macs(side, mac);
    for (unsigned i = 0; i < BLOCKS + 2; i++) {
        put_udp(cable, mac, 700 + i);
        CHECK_EQ_I(run_side(side, 4), 0);
    }
    CHECK_EQ_U(side->datagrams, BLOCKS + 2);
    for (unsigned i = 0; i < 2; i++) {
        put_unsayable(cable, mac);
        CHECK_EQ_I(run_side(side, 4), 0);
    }
    CHECK_EQ_U(side->datagrams, BLOCKS + 2);
    put_udp(cable, mac, 900);
    CHECK_EQ_I(run_side(side, 4), 0);
    CHECK_EQ_U(side->datagrams, BLOCKS + 3);
    CHECK_EQ_U(side->wrong, 0);
    port_stats(side->port, &stats);
    CHECK_EQ_U(stats.rx_frames, BLOCKS + 3);
    CHECK_EQ_U(stats.rx_missed + stats.rx_bad + stats.rx_errors, 2);
    close_side(side);
    close(cable);
}

UNIT_TEST(what_the_kernel_drops_is_not_received_twice)
{
    check_dropped("drop0", "packet:drop0");
    check_dropped("drop1", "packet:drop1,receive=ring");
}

static void check_exhausted(const char *name, const char *written)
{
    static const struct port_type *const types[] = { &packet_port_type, NULL };
    const int cable = open_cable(name);
    struct side *side = &sides[0];
    struct port_choice choice;
    struct port_stats stats;
    tenon_u8 mac[6];

    unit_row(written);
    CHECK_EQ_I(port_read(&choice, types, written, error, sizeof error), 0);
    choice.conf.buffer_bytes_max = 1;    /* a chunk, that is */
    if (!open_side(side, port_open(&packet_port_type, &choice.conf, error, sizeof error)))
        return;
    macs(side, mac);
    side->keeps = 1;
    for (unsigned i = 0; i < 300; i++)
        put_udp(cable, mac, 1 + i);
    CHECK_EQ_I(run_side(side, 20), 0);
    port_stats(side->port, &stats);
    CHECK(side->datagrams > 50 && side->datagrams < 200);
    CHECK_EQ_U(stats.rx_no_buffer, 300 - side->datagrams);
    give_up_kept(side);
    side->datagrams = 0;
    for (unsigned i = 0; i < 20; i++)
        put_udp(cable, mac, 1 + i);
    CHECK_EQ_I(run_side(side, 20), 0);
    CHECK_EQ_U(side->datagrams, 20);
    CHECK_EQ_U(side->wrong, 0);
    close_side(side);
    close(cable);
}

UNIT_TEST(without_buffers_frames_are_lost_and_counted)
{
    check_exhausted("pool0", "packet:pool0");
    check_exhausted("pool1", "packet:pool1,receive=ring");
}

static void check_missed(const char *name, const char *written)
{
    static tenon_u8 frame[60000];
    const int cable = open_cable(name);
    struct side *side = &sides[0];
    struct port_stats stats;
    tenon_u8 mac[6];
    size_t n;

    unit_row(written);
    if (!open_side(side, open_port(written)))
        return;
    macs(side, mac);
    n = make_udp(frame, mac, 77, 50000);
    for (unsigned i = 0; i < 1000; i++)
        put_frame(cable, frame, n);
    CHECK_EQ_I(run_side(side, 20), 0);
    port_stats(side->port, &stats);
    CHECK(stats.rx_missed > 0);
    CHECK(side->datagrams > 0);
    CHECK_EQ_U(stats.rx_missed + side->datagrams, 1000);
    port_stats(side->port, &stats);    /* asked again it says the same */
    CHECK_EQ_U(stats.rx_missed + side->datagrams, 1000);
    CHECK_EQ_U(side->wrong, 0);
    close_side(side);
    close(cable);
}

UNIT_TEST(what_nobody_fetches_is_missed_and_counted)
{
    check_missed("miss0", "packet:miss0");
    check_missed("miss1", "packet:miss1,receive=ring");
}

static void check_link(const char *name, const char *written)
{
    const int cable = open_cable(name);
    struct side *side = &sides[0];
    tenon_u8 mac[6];

    unit_row(written);
    if (!open_side(side, open_port(written)))
        return;
    macs(side, mac);
    put_udp(cable, mac, 1);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ_I(run_side(side, 20), 0);
        set_up(name, 0);
        CHECK_EQ_I(run_side(side, 20), 0);
        set_up(name, 1);
        put_udp(cable, mac, 1);
    }
    CHECK_EQ_I(run_side(side, 20), 0);
    CHECK_EQ_U(side->datagrams, 3);
    set_up(name, 0);
    CHECK_EQ_I(run_side(side, 20), 0);
    close(cable);    /* which removes the interface: it was down, so no socket of it is told */
    CHECK_EQ_I(run_side(side, 200), -1);
    close_side(side);
}

UNIT_TEST(link_goes_down_and_up_and_away)
{
    check_link("link0", "packet:link0");
    check_link("link1", "packet:link1,receive=ring");
}

UNIT_TEST(interface_that_goes_while_it_is_up)
{
    const int cable = open_cable("gone0");
    struct side *side = &sides[0];

    if (!open_side(side, open_port("packet:gone0")))
        return;
    close(cable);
    CHECK_EQ_I(run_side(side, 200), -1);
    close_side(side);
}

/* ---- several queues -------------------------------------------------------------------------------- */

static void check_spread(unsigned queues, const char *settings)
{
    enum { FLOWS = 90 };
    const int cable = open_cable("spread0");
    unsigned first[3], announced[3], total = 0;
    struct port_stats stats;
    tenon_u8 frame[100], mac[6];
    char written[80];

    unit_row(settings);
    for (unsigned i = 0; i < queues; i++) {
        snprintf(written, sizeof written, "packet:spread0,queues=%u,queue=%u%s", queues, i, settings);
        if (!open_side(&sides[i], open_port(written)))
            return;
    }
    CHECK(open_port(written) == NULL);
    CHECK(strstr(error, "in use") != NULL);
    macs(&sides[0], mac);
    for (int again = 0; again < 2; again++) {
        for (unsigned i = 0; i < FLOWS; i++)
            put_udp(cable, mac, 2000 + i);
        for (unsigned i = 0; i < queues; i++) {
            CHECK_EQ_I(run_side(&sides[i], 20), 0);
            if (again == 0)
                first[i] = sides[i].datagrams;
            CHECK_EQ_U(sides[i].datagrams,
                       first[i] * (unsigned)(again + 1)); /* each flow comes to the same as before */
            CHECK(sides[i].datagrams > FLOWS / queues / 4);
            total += again == 0 ? sides[i].datagrams : 0;
        }
    }
    CHECK_EQ_U(total, FLOWS);
    for (unsigned i = 0; i < queues; i++) {
        port_stats(sides[i].port, &stats);
        announced[i] = (unsigned)stats.tx_frames;
    }
    put_frame(cable, frame, make_arp(frame));
    for (unsigned i = 0; i < queues; i++) {
        CHECK_EQ_I(run_side(&sides[i], 20), 0);
        port_stats(sides[i].port, &stats);
        CHECK_EQ_U(stats.tx_frames, announced[i] + 1);
        close_side(&sides[i]);
    }
    close(cable);
}

UNIT_TEST(flows_are_spread_and_arp_comes_to_all)
{
    check_spread(2, "");
    check_spread(3, ",receive=ring");
}

/* The other ways to choose a member: what each gets of 40 datagrams. */
static void check_fanout(const char *fanout, unsigned first, unsigned second)
{
    const int cable = open_cable("other0");
    char written[80];
    tenon_u8 mac[6];

    unit_row(fanout);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(written, sizeof written, "packet:other0,queues=2,queue=%u,fanout=%s", i, fanout);
        if (!open_side(&sides[i], open_port(written)))
            return;
    }
    macs(&sides[0], mac);
    for (unsigned i = 0; i < 40; i++)
        put_udp(cable, mac, 2000 + i);
    for (unsigned i = 0; i < 2; i++)
        CHECK_EQ_I(run_side(&sides[i], 20), 0);
    if (first + second > 0) {
        CHECK_EQ_U(sides[0].datagrams, first);
        CHECK_EQ_U(sides[1].datagrams, second);
    }
    CHECK_EQ_U(sides[0].datagrams + sides[1].datagrams, 40);
    close_side(&sides[0]);
    close_side(&sides[1]);
    close(cable);
}

UNIT_TEST(there_are_other_ways_to_share)
{
    check_fanout("lb", 20, 20);
    check_fanout("queue", 0,
                 40); /* what came to queue 0, the only one of TAP, is for member 1: the kernel counts so */
    check_fanout("cpu", 0, 0);
}

/* TCP from so many ports goes where the hash says. */
static void check_steered(int cable, const tenon_u8 mac[6], const tenon_u8 *key, unsigned queues)
{
    const struct tenon_addr local = { .ip = tenon_ip4(0x0A4D0002), .port = PORT };
    struct tenon_addr remote = { .ip = tenon_ip4(0x0A4D0001) };
    unsigned expected[3] = { 0, 0, 0 };
    struct tenon_flow flow;
    struct port_stats before, after;
    tenon_u16 table[128];
    tenon_u8 frame[100];

    tenon_flow_spread(table, 128, queues);
    CHECK_EQ_I(tenon_flow_init(&flow, key, table, 128, 0), TENON_OK);
    for (unsigned i = 0; i < 90; i++) {
        const size_t n = make_udp(frame, mac, 3000 + i, 20);

        frame[23] = 6;
        put_frame(cable, frame, n);
        remote.port = (tenon_u16)(3000 + i);
        expected[tenon_flow_queue(&flow, &local, &remote)]++;
    }
    for (unsigned i = 0; i < queues; i++) {
        port_stats(sides[i].port, &before);
        CHECK_EQ_I(run_side(&sides[i], 20), 0);
        port_stats(sides[i].port, &after);
        CHECK_EQ_U(after.rx_frames - before.rx_frames, expected[i]);
        CHECK(expected[i] > 10);
    }
}

UNIT_TEST(flows_are_steered_as_nics_do)
{
    const int cable = open_cable("steer0");
    tenon_u8 mac[6];
    char written[80];

    for (unsigned i = 0; i < 3; i++) {
        struct port *port;

        snprintf(written, sizeof written, "packet:steer0,queues=3,queue=%u,fanout=flow", i);
        port = open_port(written);
        if (port == NULL && i == 0 && strstr(error, "it needs root") != NULL) {
            printf("steering is not tested: %s\n", error);
            close(cable);
            return;
        }
        if (!open_side(&sides[i], port))
            return;
    }
    macs(&sides[0], mac);
    check_steered(cable, mac, tenon_flow_key_microsoft, 3);
    CHECK_EQ_I(packet_steer(sides[1].port, tenon_flow_key_symmetric, 128, 3), 0);
    check_steered(cable, mac, tenon_flow_key_symmetric, 3);
    CHECK_EQ_I(packet_steer(sides[1].port, tenon_flow_key_symmetric, 100, 3), -1);
    CHECK_EQ_I(errno, EINVAL);
    for (unsigned i = 0; i < 3; i++)
        close_side(&sides[i]);
    close(cable);
}

/* ---- the program ----------------------------------------------------------------------------------- */

/* @return whether we have a namespace in which interfaces can be made */
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
    if (!own_namespace()) {
        printf("no network namespace or no /dev/net/tun (%s): only names are tested\n", strerror(errno));
        CHECK(open_port("packet:a-name-much-too-long") == NULL);
        return unit_end();
    }
    UNIT_RUN(what_is_wrong_is_explained);
    UNIT_RUN(not_permitted_is_explained);
    UNIT_RUN(what_it_can_follows_offload);
    UNIT_RUN(address_is_ours_or_the_interfaces);
    UNIT_RUN(other_name_is_the_same_interface);
    UNIT_RUN(advice_names_what_is_wrong);
    UNIT_RUN(transmit_gathers_the_pieces);
    UNIT_RUN(transmit_that_cannot_be_is_counted);
    UNIT_RUN(full_socket_wakes_when_there_is_room);
    UNIT_RUN(full_interface_does_not_wake);
    UNIT_RUN(frame_that_never_passes_does_not_stop_others);
    UNIT_RUN(received_frames_reach_the_instance);
    UNIT_RUN(super_frames_arrive_whole);
    UNIT_RUN(only_what_is_for_us_arrives);
    UNIT_RUN(what_others_send_does_not_arrive);
    UNIT_RUN(who_keeps_a_byte_does_not_stop_the_ring);
    UNIT_RUN(what_the_kernel_drops_is_not_received_twice);
    UNIT_RUN(without_buffers_frames_are_lost_and_counted);
    UNIT_RUN(what_nobody_fetches_is_missed_and_counted);
    UNIT_RUN(link_goes_down_and_up_and_away);
    UNIT_RUN(interface_that_goes_while_it_is_up);
    UNIT_RUN(flows_are_spread_and_arp_comes_to_all);
    UNIT_RUN(there_are_other_ways_to_share);
    UNIT_RUN(flows_are_steered_as_nics_do);
    return unit_end();
}
