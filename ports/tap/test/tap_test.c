/* SPDX-License-Identifier: MIT */
/* The TAP port against a real TAP interface, in a network namespace of this program's own. Where no such
 * thing can be had, only what needs none is tested, and the program says so. */
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
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>

#include "../../../tests/unit/unit.h"
#include "../tap.h"

static char error[300];

static struct port *open_port(const char *name, unsigned queues, int offload)
{
    struct port_conf conf = { .name = name, .queues = queues, .offload = offload };

    error[0] = 0;
    return port_open(&tap_port_type, &conf, error, sizeof error);
}

/* ---- the kernel's end ------------------------------------------------------------------------ */

static void set_interface(const char *name, int up, int mtu)
{
    struct ifreq request = { 0 };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_mtu = mtu;
    if (mtu > 0)
        CHECK_EQ_I(ioctl(fd, SIOCSIFMTU, &request), 0);
    CHECK_EQ_I(ioctl(fd, SIOCGIFFLAGS, &request), 0);
    request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    CHECK_EQ_I(ioctl(fd, SIOCSIFFLAGS, &request), 0);
    close(fd);
}

static void kernels_mac(const char *name, unsigned char mac[6])
{
    struct ifreq request = { 0 };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ_I(ioctl(fd, SIOCGIFHWADDR, &request), 0);
    memcpy(mac, request.ifr_hwaddr.sa_data, 6);
    close(fd);
}

/* A socket that sees and sends frames of a type that nobody else speaks. */
static int packet_socket(const char *name)
{
    struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(0x88B5) };
    int fd = socket(AF_PACKET, SOCK_RAW, htons(0x88B5));

    address.sll_ifindex = (int)if_nametoindex(name);
    CHECK_EQ_I(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* ---- a frame of three pieces ----------------------------------------------------------------- */

static void no_release(struct tenon_buf *buf)
{
    (void)buf;
}

static tenon_u8 frame_bytes[1000];
static struct tenon_buf frame_buf = { frame_bytes, sizeof frame_bytes, 1, no_release };
static struct tenon_span frame_spans[3] = { { &frame_buf, 0, 14 }, { &frame_buf, 14, 301 }, { &frame_buf, 315, 685 } };

static struct tenon_frame make_frame(void)
{
    struct tenon_frame frame = { .spans = frame_spans, .nspans = 3 };

    for (unsigned i = 0; i < sizeof frame_bytes; i++)
        frame_bytes[i] = (tenon_u8)(i * 13);
    memset(frame_bytes, 0xFF, 6);
    memcpy(frame_bytes + 6, "\x02\0\0\0\0\x07", 6);
    frame_bytes[12] = 0x88;
    frame_bytes[13] = 0xB5;
    return frame;
}

/* ---- tests ----------------------------------------------------------------------------------- */

UNIT_TEST(bad_names_are_explained)
{
    CHECK(open_port("", 0, 0) == NULL);
    CHECK(strstr(error, "1 to 15 characters") != NULL);
    CHECK(open_port("a-name-much-too-long", 0, 0) == NULL);
    CHECK(strstr(error, "1 to 15 characters") != NULL);
    CHECK(open_port("a/b", 0, 0) == NULL);
    CHECK(strstr(error, "'a/b'") != NULL);
    CHECK(open_port(NULL, 0, 0) == NULL);
}

UNIT_TEST(clock_goes_on)
{
    tenon_u32 before = port_now_us();

    usleep(2000);
    CHECK(port_now_us() - before >= 2000);
}

UNIT_TEST(other_interface_is_explained)
{
    CHECK(open_port("lo", 0, 1) == NULL);
    CHECK(strstr(error, "'lo' is there and is no TAP interface") != NULL);
    CHECK(strstr(error, "packet:lo") != NULL && strstr(error, "delete") == NULL);
}

UNIT_TEST(other_number_of_queues_is_explained)
{
    CHECK_EQ_I(system("ip tuntap add dev many0 mode tap multi_queue"), 0);
    CHECK(open_port("many0", 0, 1) == NULL);
    CHECK(strstr(error, "no TAP interface with one queue") != NULL);
    CHECK(strstr(error, "'ip link delete many0; ip tuntap add dev many0 mode tap'") != NULL);
    CHECK_EQ_I(system("ip link delete many0"), 0);
}

UNIT_TEST(busy_interface_is_explained)
{
    struct port *port = open_port("busy0", 0, 1);

    CHECK_EQ_S(error, "");
    CHECK(open_port("busy0", 0, 1) == NULL);
    CHECK(strstr(error, "in use") != NULL);
    port_close(port);
}

UNIT_TEST(what_it_can_follows_offload)
{
    struct tenon_netif_conf conf;
    struct port *port = open_port("caps0", 0, 1);

    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.mtu, 1500);
    CHECK_EQ_U(conf.caps & 7, TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6);
    CHECK_EQ_U(conf.gather_max, 64);
    port_close(port);
    port = open_port("caps0", 0, 0);
    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.caps, 0);
    port_close(port);
}

UNIT_TEST(mac_is_ours_and_the_same_for_all_queues)
{
    struct port *first = open_port("multi0", 2, 1), *second = open_port("multi0", 2, 1);
    struct tenon_netif_conf a, b;
    unsigned char kernels[6];

    if (!CHECK(first != NULL) || !CHECK(second != NULL))
        return;
    port_netif_conf(first, &a);
    port_netif_conf(second, &b);
    kernels_mac("multi0", kernels);
    CHECK_EQ_MEM(a.mac, b.mac, 6);
    CHECK(memcmp(a.mac, kernels, 6) != 0);
    CHECK_EQ_U(a.mac[0] & 3, 2);
    CHECK(open_port("multi0", 1, 1) == NULL);
    CHECK(strstr(error, "multi0") != NULL);
    port_close(first);
    port_close(second);
}

UNIT_TEST(mtu_is_the_interfaces)
{
    struct port *port = open_port("mtu0", 0, 0);
    struct port *second;
    struct port_conf jumbo = { .name = "mtu1", .mtu = 9000 };
    struct tenon_netif_conf conf;

    set_interface("mtu0", 0, 4000);
    second = port_open(&tap_port_type, &jumbo, error, sizeof error);
    port_netif_conf(second, &conf);
    CHECK_EQ_U(conf.mtu, 9000);
    port_close(second);
    port_close(port);
    jumbo.mtu = 100;
    CHECK(port_open(&tap_port_type, &jumbo, error, sizeof error) == NULL);
    CHECK(strstr(error, "MTU") != NULL);
}

UNIT_TEST(transmit_gathers_the_pieces)
{
    struct port *port = open_port("send0", 0, 0);
    struct tenon_frame frames[2] = { make_frame(), make_frame() };
    struct port_stats stats;
    unsigned char got[2000];
    int fd;

    set_interface("send0", 1, 0);
    fd = packet_socket("send0");
    CHECK_EQ_U(tap_port_type.host->transmit(port, 1, frames, 2), 2);
    CHECK_EQ_I(recv(fd, got, sizeof got, MSG_DONTWAIT), (long)sizeof frame_bytes);
    CHECK_EQ_MEM(got, frame_bytes, sizeof frame_bytes);
    CHECK_EQ_I(recv(fd, got, sizeof got, MSG_DONTWAIT), (long)sizeof frame_bytes);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_frames, 2);
    CHECK_EQ_U(stats.tx_bytes, 2 * sizeof frame_bytes);
    close(fd);
    port_close(port);
}

UNIT_TEST(transmit_with_the_interface_down_drops_and_counts)
{
    struct port *port = open_port("down0", 0, 1);
    struct tenon_frame frame = make_frame();
    struct port_stats stats;

    CHECK_EQ_U(tap_port_type.host->transmit(port, 1, &frame, 1), 1);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_frames, 0);
    CHECK_EQ_U(stats.tx_down, 1);
    port_close(port);
}

UNIT_TEST(nonsense_is_dropped_and_counted)
{
    struct port *port = open_port("bad0", 0, 1);
    struct tenon_frame frame = make_frame();
    struct port_stats stats;

    set_interface("bad0", 1, 0);
    frame.csum = TENON_CSUM_PARTIAL; /* beyond the frame's end: the kernel refuses it */
    frame.csum_start = 60000;
    CHECK_EQ_U(tap_port_type.host->transmit(port, 1, &frame, 1), 1);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_errors, 1);
    port_close(port);
}

/* Without a word about headers and offloads, as simple programs do. @return the header's bytes */
static int open_plain(const char *name, int *fd)
{
    struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
    int header = -1;

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    *fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    CHECK_EQ_I(ioctl(*fd, TUNSETIFF, &request), 0);
    CHECK_EQ_I(ioctl(*fd, TUNGETVNETHDRSZ, &header), 0);
    return header;
}

/* @return whether the kernel leaves checksums to who has the interface open */
static int leaves_sums(const char *name)
{
    struct ethtool_value sums = { .cmd = ETHTOOL_GTXCSUM };
    struct ifreq request = { .ifr_data = (void *)&sums };
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ_I(ioctl(fd, SIOCETHTOOL, &request), 0);
    close(fd);
    return sums.data != 0;
}

UNIT_TEST(interface_that_was_there_stays_as_it_was)
{
    struct port *port;
    int plain = -1;

    CHECK_EQ_I(system("ip tuntap add dev was0 mode tap"), 0);
    CHECK_EQ_I(open_plain("was0", &plain), 10);
    CHECK_EQ_I(close(plain), 0);
    port = open_port("was0", 0, 1);
    if (!CHECK(port != NULL))
        return;
    CHECK_EQ_I(leaves_sums("was0"), 1);
    port_close(port);
    CHECK_EQ_I(leaves_sums("was0"), 0);
    CHECK_EQ_I(open_plain("was0", &plain), 10);
    CHECK_EQ_I(close(plain), 0);
    CHECK_EQ_I(system("ip link delete was0"), 0);
}

static struct tenon *make_stack(struct port *port, void **mem, unsigned *netif)
{
    struct tenon_netif_conf conf;
    struct tenon_conf stack_conf;
    struct tenon *stack;

    tenon_conf_default(&stack_conf);
    *mem = malloc(tenon_mem_size(&stack_conf));
    stack = tenon_init(*mem, &stack_conf, tap_port_type.host, port);
    port_netif_conf(port, &conf);
    conf.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    *netif = (unsigned)tenon_netif_add(stack, &conf);
    return stack;
}

static void check_receive(int offload)
{
    struct port *port = open_port("recv0", 0, offload);
    struct port_stats stats;
    struct tenon *stack;
    unsigned netif;
    void *mem;
    int fd, n = 0;

    make_frame();
    set_interface("recv0", 1, 0);
    fd = packet_socket("recv0");
    stack = make_stack(port, &mem, &netif);
    CHECK_EQ_I(port_receive(port, stack, netif, port_now_us()) >= 0, 1);
    for (int i = 0; i < 40; i++)
        CHECK_EQ_I(send(fd, frame_bytes, sizeof frame_bytes, 0), (long)sizeof frame_bytes);
    n = port_receive(port, stack, netif, port_now_us());
    CHECK_EQ_I(n, 32);
    n += port_receive(port, stack, netif, port_now_us());
    CHECK(n >= 40);
    CHECK_EQ_I(port_receive(port, stack, netif, port_now_us()), 0);
    CHECK_EQ_U(tenon_stat(stack, TENON_STAT_ETH_UNKNOWN), 40);
    port_stats(port, &stats);
    CHECK(stats.rx_frames >= 40);
    CHECK(stats.rx_empty > 0);
    CHECK_EQ_U(stats.rx_no_buffer + stats.rx_bad + stats.rx_errors, 0);
    tenon_fini(stack);
    free(mem);
    close(fd);
    port_close(port);
}

UNIT_TEST(received_frames_reach_the_instance)
{
    unit_row("plain");
    check_receive(0);
    unit_row("offload");
    check_receive(1);
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
    UNIT_RUN(bad_names_are_explained);
    UNIT_RUN(clock_goes_on);
    if (!own_namespace()) {
        printf("no network namespace or no /dev/net/tun (%s): the rest is not tested\n", strerror(errno));
        return unit_end();
    }
    UNIT_RUN(other_interface_is_explained);
    UNIT_RUN(other_number_of_queues_is_explained);
    UNIT_RUN(busy_interface_is_explained);
    UNIT_RUN(what_it_can_follows_offload);
    UNIT_RUN(mac_is_ours_and_the_same_for_all_queues);
    UNIT_RUN(mtu_is_the_interfaces);
    UNIT_RUN(transmit_gathers_the_pieces);
    UNIT_RUN(transmit_with_the_interface_down_drops_and_counts);
    UNIT_RUN(nonsense_is_dropped_and_counted);
    UNIT_RUN(interface_that_was_there_stays_as_it_was);
    UNIT_RUN(received_frames_reach_the_instance);
    return unit_end();
}
