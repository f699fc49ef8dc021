/* SPDX-License-Identifier: MIT */
/* Opening and closing: what is told when it cannot be, and that nothing is left behind. Of frames only
 * whether they pass. In a network namespace of this program's own; where no such thing can be had only what
 * needs none is tested, and the program says so. */
#include "xdp_net.h"

#include <linux/capability.h>
#include <sys/resource.h>

static int has_program(const char *name)
{
    return sh("ip link show dev %s | grep -q prog/xdp", name);
}

static int says(const char *words)
{
    if (strstr(error, words) != NULL)
        return 1;
    printf("it says: %s\n", error);
    return 0;
}

/* ---- what is wrong ------------------------------------------------------------------------------------- */

UNIT_TEST(bad_names_and_settings_are_explained)
{
    CHECK(open_with("a-name-much-too-long", "") == NULL);
    CHECK(says("1 to 15 characters"));
    CHECK(open_with("none0", "") == NULL);
    CHECK(says("cannot use interface 'none0'"));
    CHECK(open_with("lo", "") == NULL);
    CHECK(says("'lo' is the loopback interface"));
    CHECK(open_with("lo", "mode=fast") == NULL);
    CHECK(says("mode=fast is none of auto|zerocopy|copy|generic"));
    CHECK(open_with("lo", "mode=cop") == NULL);
    CHECK(says("mode=cop is none of"));
    CHECK(open_with("lo", "sums=maybe") == NULL);
    CHECK(says("sums=maybe is none of check|trust"));
    CHECK(open_with("lo", "memory=0") == NULL);
    CHECK(says("memory=0 is not a number from 1"));
    CHECK(open_with("lo", "share=2x") == NULL);
    CHECK(says("share=2x is not a number from 1 to"));
}

UNIT_TEST(missing_queue_is_explained)
{
    make_pair("q0", 0, 1500, 2);
    CHECK(open_with("q0", "queues=3,queue=2") == NULL);
    CHECK(says("'q0' has 2 queues, counted from 0, and not 3"));
    CHECK(sh("ethtool -L q0 rx 1"));
    CHECK(open_with("q0", "queues=3") == NULL);
    CHECK(says("'q0' has 1 queue, counted from 0, and not 3"));
    CHECK(open_with("q0", "queues=3") == NULL);
    CHECK(says("and not 3"));
    CHECK(!has_program("q0"));
    remove_pair("q0");
}

UNIT_TEST(impossible_mtu_is_explained)
{
    make_pair("m0", 0, 1500, 1);
    CHECK(open_with("m0", "mtu=9000") == NULL);
    CHECK(says("'m0' carries packets of 1500 bytes and not of 9000"));
    remove_pair("m0");
}

UNIT_TEST(mode_that_the_driver_lacks_is_explained)
{
    make_pair("z0", 0, 1500, 1);
    CHECK(open_with("z0", "mode=zerocopy") == NULL);
    CHECK(says("z0, queue 0: its driver has no zero-copy"));
    CHECK(!has_program("z0"));
    remove_pair("z0");
    CHECK(sh("ip link add b0 type bridge")); /* its driver has nothing of XDP */
    CHECK(open_with("b0", "mode=copy") == NULL);
    CHECK(says("b0, queue 0: its driver takes no XDP program"));
    CHECK(sh("ip link del b0"));
}

UNIT_TEST(probing_takes_what_there_is)
{
    struct xdp_port_info info;
    struct port *port;

    make_pair("p0", 0, 1500, 1);
    CHECK(sh("ip link add b0 type bridge"));
    port = open_with("p0", "");
    xdp_port_info(port, &info);
    CHECK_EQ_U(info.mode, XDP_MODE_COPY);
    port_close(port);
    port = open_with("b0", "");
    CHECK_EQ_S(error, "");
    xdp_port_info(port, &info);
    CHECK_EQ_U(info.mode, XDP_MODE_GENERIC);
    port_close(port);
    CHECK(sh("ip link del b0"));
    remove_pair("p0");
}

UNIT_TEST(busy_queue_and_other_mode_are_explained)
{
    struct port *port, *second;

    make_pair("u0", 0, 1500, 2);
    port = open_with("u0", "queues=2");
    CHECK_EQ_S(error, "");
    CHECK(open_with("u0", "queues=2") == NULL);
    CHECK(says("u0, queue 0: another AF_XDP socket has this queue"));
    CHECK(open_with("u0", "queues=2,queue=1,mode=generic") == NULL);
    CHECK(says("has another mode"));
    second = open_with("u0", "queues=2,queue=1");
    CHECK_EQ_S(error, "");
    port_close(port);
    CHECK(has_program("u0")); /* until the last one goes */
    port_close(second);
    CHECK(!has_program("u0"));
    remove_pair("u0");
}

UNIT_TEST(memory_is_shared_in_one_mode_only)
{
    struct port *port, *second, *third;

    make_pair("i0", 0, 1500, 1);
    make_pair("i1", 1, 1500, 1);
    port = open_with("i0", "share=2,mode=copy");
    CHECK_EQ_S(error, "");
    CHECK(open_with("i1", "share=2,mode=generic") == NULL);
    CHECK(says("has another mode"));
    CHECK(!has_program("i1"));
    second = open_with("i1", "share=2");
    CHECK_EQ_S(error, "");
    CHECK(((struct xdp_port *)(void *)port)->umem == ((struct xdp_port *)(void *)second)->umem);
    port_close(second);
    third = open_with("i1", "share=2"); /* there are two parts, and each is used once */
    CHECK_EQ_S(error, "");
    CHECK(((struct xdp_port *)(void *)port)->umem != ((struct xdp_port *)(void *)third)->umem);
    port_close(port);
    port_close(third);
    remove_pair("i0");
    remove_pair("i1");
}

UNIT_TEST(program_of_another_process_is_explained_and_goes_with_it)
{
    int pipes[2];
    char byte = 0;
    pid_t child;

    make_pair("o0", 0, 1500, 1);
    CHECK_EQ_I(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        byte = open_with("o0", "") != NULL;
        if (write(pipes[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    CHECK_EQ_I(read(pipes[0], &byte, 1), 1);
    CHECK_EQ_I(byte, 1);
    CHECK(has_program("o0"));
    CHECK(open_with("o0", "") == NULL);
    CHECK(says("o0, queue 0: it has an XDP program already"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
    for (int i = 0; i < 200 && has_program("o0"); i++)
        usleep(10000);
    CHECK(!has_program("o0"));
    remove_pair("o0");
}

/* In a child, what it says there. @param without  a capability; -1: all, by another user */
static void open_without(int without, const char *name, char *said)
{
    int pipes[2];
    pid_t child;

    CHECK_EQ_I(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct data[2];
        const struct rlimit little = { 65536, 65536 };

        setrlimit(RLIMIT_MEMLOCK, &little);
        if (without < 0 && setuid(65534) != 0)
            _exit(1);
        if (without >= 0) {
            syscall(SYS_capget, &head, data);
            data[without / 32].effective &= ~(1u << without % 32);
            syscall(SYS_capset, &head, data);
        }
        (void)open_with(name, "");
        _exit(write(pipes[1], error, sizeof error) != sizeof error);
    }
    CHECK_EQ_I(read(pipes[0], said, sizeof error), sizeof error);
    waitpid(child, NULL, 0);
    close(pipes[0]);
    close(pipes[1]);
}

UNIT_TEST(missing_privilege_is_explained)
{
    static char said[sizeof error];

    make_pair("n0", 0, 1500, 1);
    open_without(-1, "n0", said);
    memcpy(error, said, sizeof error);
    CHECK(says("n0, queue 0: not permitted: run as root"));
    open_without(CAP_NET_RAW, "n0", said);
    memcpy(error, said, sizeof error);
    CHECK(says("cap_net_raw"));
    CHECK(!has_program("n0"));
    open_without(CAP_IPC_LOCK, "n0", said);
    memcpy(error, said, sizeof error);
    CHECK(says("more memory that is not swapped out than is allowed (RLIMIT_MEMLOCK)"));
    CHECK(!has_program("n0"));
    remove_pair("n0");
}

/* One more descriptor than there are: for the map, and not for the program. */
UNIT_TEST(missing_descriptors_are_explained)
{
    struct rlimit limit, few;
    const int next = dup(0);

    make_pair("f0", 0, 1500, 1);
    close(next);
    CHECK_EQ_I(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = (rlim_t)next + 1;
    CHECK_EQ_I(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK(open_with("f0", "") == NULL);
    CHECK_EQ_I(setrlimit(RLIMIT_NOFILE, &limit), 0);
    CHECK(says("f0, queue 0: this process has as many files open as it may"));
    CHECK(!has_program("f0"));
    remove_pair("f0");
}

/* ---- what the driver says ------------------------------------------------------------------------------- */

/* A veth has no zero-copy, and says nothing of it. */
UNIT_TEST(the_kernel_is_asked)
{
    struct port_netdev driver;

    make_pair("d0", 0, 1500, 1);
    port_netdev_ask(if_nametoindex("d0"), &driver);
    CHECK(driver.answers);
    CHECK_EQ_U(driver.pieces_max, 1);
    CHECK_EQ_I(driver.completes_sums, 0);
    port_netdev_ask(if_nametoindex("d0") + 1000, &driver);
    CHECK(!driver.answers);
    remove_pair("d0");
}

/* ---- what is told --------------------------------------------------------------------------------------- */

UNIT_TEST(what_it_can_follows_offload)
{
    struct tenon_netif_conf conf;
    struct port *port;

    make_pair("c0", 0, 1500, 1);
    port = open_with("c0", "");
    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.mtu, 1500);
    CHECK_EQ_U(conf.gather_max, 16);
    CHECK_EQ_U(conf.caps, TENON_CAP_TX_CSUM);
    port_close(port);
    port = open_with("c0", "offload=off");
    port_netif_conf(port, &conf);
    CHECK_EQ_U(conf.caps, 0);
    port_close(port);
    remove_pair("c0");
}

UNIT_TEST(traps_are_told)
{
    struct port *port;

    make_pair("t0", 0, 1500, 4);
    CHECK(sh("ip link set t0 down"));
    port = open_with("t0", "queues=2,queue=1");
    CHECK_EQ_I(xdp_port_type.advice(port, error, sizeof error), 1);
    CHECK(says("t0, queue 1: copy:"));
    CHECK(says("t0 is down"));
    CHECK(says("4 queues and 2 served"));
    CHECK(says("ethtool -K PEER tx off"));
    port_close(port);
    CHECK(sh("ip link set t0 up"));
    port = open_with("t0", "queues=4,queue=1,mode=generic,sums=trust");
    CHECK_EQ_I(xdp_port_type.advice(port, error, sizeof error), 1);
    CHECK(says("t0, queue 1: generic:"));
    CHECK(says("gro off"));
    CHECK(strstr(error, "is down") == NULL && strstr(error, "served") == NULL && strstr(error, "PEER") == NULL);
    port_close(port);
    remove_pair("t0");
}

/* ---- links go down, and away ---------------------------------------------------------------------------- */

static tenon_u8 frame_bytes[1000];

static void no_release(struct tenon_buf *buf)
{
    (void)buf;
}

static void send_one(struct port *port)
{
    static struct tenon_buf buf = { frame_bytes, sizeof frame_bytes, 1, no_release };
    const struct tenon_span span = { &buf, 0, sizeof frame_bytes };
    const struct tenon_frame frame = { .spans = &span, .nspans = 1 };

    memset(frame_bytes, 0xFF, 12);
    frame_bytes[6] = 2;
    frame_bytes[12] = 0x88;
    frame_bytes[13] = 0xB5;
    CHECK_EQ_U(xdp_port_type.host->transmit(port, 1, &frame, 1), 1);
}

/* A veth has no filter; a NIC has one, and what comes to groups must pass it. */
UNIT_TEST(groups_pass_the_filter_of_the_interface)
{
    struct port *port;

    make_pair("g0", 0, 1500, 1);
    CHECK(sh("ip -d link show g0 | grep -q 'allmulti 0'"));
    port = open_with("g0", "");
    CHECK(port != NULL);
    CHECK(sh("ip -d link show g0 | grep -q 'allmulti 1'"));
    port_close(port);
    CHECK(sh("ip -d link show g0 | grep -q 'allmulti 0'"));
    remove_pair("g0");
}

UNIT_TEST(frames_pass_again_when_the_link_has_been_down)
{
    struct pollfd ready = { -1, POLLIN, 0 };
    struct port_stats stats;
    struct port *port;
    char got[2000];
    int fd;

    make_pair("d0", 0, 1500, 1);
    port = open_with("d0", "");
    fd = packet_socket("d0k");
    send_one(port);
    CHECK_EQ_I(receive_packet(fd, got, sizeof got), sizeof frame_bytes);
    CHECK(sh("ip link set d0 down"));
    for (int i = 0; i < 3000; i++) /* more than the ring has */
        send_one(port);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_down, 2999); /* the first one has found it out, and waits in the ring */
    CHECK(sh("ip link set d0 up"));
    send_one(port);
    CHECK_EQ_I(receive_packet(fd, got, sizeof got), sizeof frame_bytes);
    CHECK_EQ_I(receive_packet(fd, got, sizeof got), sizeof frame_bytes);
    CHECK(sh("ip link set d0 down"));
    send_one(port);
    CHECK(sh("ip link set d0 up"));
    ready.fd = port_fd(port);
    CHECK(poll(&ready, 1, 0) >= 0); /* empties the ring, and we do not hear of it */
    CHECK_EQ_I(receive_packet(fd, got, sizeof got), sizeof frame_bytes);
    send_one(port);
    CHECK_EQ_I(receive_packet(fd, got, sizeof got), sizeof frame_bytes);
    port_stats(port, &stats);
    CHECK_EQ_U(stats.tx_down, 2999);
    close(fd);
    port_close(port);
    remove_pair("d0");
}

UNIT_TEST(interface_that_goes_is_noticed)
{
    struct side side;
    int n = 0;

    make_pair("e0", 0, 1500, 1);
    if (!side_open(&side, "e0", 0, ""))
        return;
    for (int i = 0; i < 1000; i++) /* a second and more */
        n |= side_run(&side);
    CHECK(n >= 0);
    remove_pair("e0");
    for (int i = 0; i < 1000 && n >= 0; i++)
        n = side_run(&side);
    CHECK_EQ_I(n, -1);
    side_close(&side);
}

static void check_receive(const char *settings)
{
    struct port_stats stats;
    struct side side;
    int fd;

    unit_row(settings);
    make_pair("r0", 0, 1500, 1);
    if (!side_open(&side, "r0", 0, settings))
        return;
    fd = packet_socket("r0k");
    memset(frame_bytes, 0xFF, 12);
    frame_bytes[12] = 0x88;
    frame_bytes[13] = 0xB5;
    for (int i = 0; i < 40; i++)
        CHECK_EQ_I(send(fd, frame_bytes, sizeof frame_bytes, 0), sizeof frame_bytes);
    for (int i = 0; i < 50; i++)
        (void)side_run(&side);
    CHECK_EQ_U(tenon_stat(side.stack, TENON_STAT_ETH_UNKNOWN), 40);
    port_stats(side.port, &stats);
    CHECK(stats.rx_frames >= 40);
    CHECK(stats.rx_bytes >= 40 * sizeof frame_bytes);
    CHECK(stats.rx_empty > 0);
    CHECK_EQ_U(stats.rx_no_buffer + stats.rx_bad + stats.rx_errors + stats.rx_missed, 0);
    close(fd);
    side_close(&side);
    CHECK(!has_program("r0"));
    remove_pair("r0");
}

UNIT_TEST(received_frames_reach_the_instance)
{
    check_receive("");
    check_receive("mode=copy,offload=off");
    check_receive("mode=generic");
    check_receive("memory=1");
}

int main(void)
{
    UNIT_RUN(bad_names_and_settings_are_explained);
    if (!own_namespace())
        return unit_end();
    UNIT_RUN(missing_queue_is_explained);
    UNIT_RUN(impossible_mtu_is_explained);
    UNIT_RUN(mode_that_the_driver_lacks_is_explained);
    UNIT_RUN(probing_takes_what_there_is);
    UNIT_RUN(busy_queue_and_other_mode_are_explained);
    UNIT_RUN(memory_is_shared_in_one_mode_only);
    UNIT_RUN(program_of_another_process_is_explained_and_goes_with_it);
    UNIT_RUN(missing_privilege_is_explained);
    UNIT_RUN(missing_descriptors_are_explained);
    UNIT_RUN(the_kernel_is_asked);
    UNIT_RUN(what_it_can_follows_offload);
    UNIT_RUN(traps_are_told);
    UNIT_RUN(groups_pass_the_filter_of_the_interface);
    UNIT_RUN(frames_pass_again_when_the_link_has_been_down);
    UNIT_RUN(interface_that_goes_is_noticed);
    UNIT_RUN(received_frames_reach_the_instance);
    return unit_end();
}
