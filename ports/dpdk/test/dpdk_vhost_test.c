/* SPDX-License-Identifier: MIT */
/* The dpdk port with offloads: net_vhost and net_virtio_user, joined by a socket, in one process. What one
 * leaves to its device the other is told: checksums that nobody has made, frames that nobody has cut. */
#include <limits.h>
#include <sys/stat.h>

#include "../../pcap/pcap.h"
#include "dpdk_world.h"

enum { TCP_LRO = 1 << 4 }; /* RTE_ETH_RX_OFFLOAD_TCP_LRO */

static char folder[] = "/tmp/tenon-dpdk-XXXXXX";

/* The host's end, which makes the socket, and the guest's, which connects to it. */
static int open_world(const char *host_args, const char *host, const char *guest_args, const char *guest)
{
    char name[200];

    snprintf(name, sizeof name, "{net_vhost0,iface=%s/sock%s}", folder, host_args);
    if (!open_side(&sides[1], open_port(name, host)))
        return 0;
    snprintf(name, sizeof name, "{net_virtio_user0,path=%s/sock%s}", folder, guest_args);
    if (open_side(&sides[0], open_port(name, guest)))
        return 1;
    close_side(&sides[1]);
    return 0;
}

static void close_world(void)
{
    char path[PATH_MAX];

    close_side(&sides[0]);
    close_side(&sides[1]);
    snprintf(path, sizeof path, "%s/sock", folder);
    CHECK(access(path, F_OK) != 0);
}

static unsigned long stat_of(const struct side *side, enum tenon_stat stat)
{
    return tenon_stat(side->stack, stat);
}

static unsigned long frame_bytes(const struct side *side)
{
    struct port_stats stats;

    port_stats(side->port, &stats);
    return (unsigned long)(stats.rx_bytes / (stats.rx_frames + 1));
}

UNIT_TEST(capabilities_follow_device_and_settings)
{
    static const struct {
        const char *args, *host, *guest;
        unsigned host_caps, guest_caps;
        int joins;
    } rows[] = {
        { ",tso=1", "", "", TENON_CAP_TX_CSUM, TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6, 1 },
        { ",tso=0", "", "", TENON_CAP_TX_CSUM, TENON_CAP_TX_CSUM, 0 },
        { ",tso=1", "tso=force", "", TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6,
          TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6, 1 },
        { ",tso=1", "tso=force,offload=off", "offload=off", 0, 0, 0 },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tenon_netif_conf host, guest;
        struct dpdk_port_info info;

        unit_row(rows[i].args);
        if (!open_world(rows[i].args, rows[i].host, "", rows[i].guest))
            return;
        port_netif_conf(sides[1].port, &host);
        port_netif_conf(sides[0].port, &guest);
        dpdk_port_info(sides[0].port, &info);
        CHECK_EQ_U(host.caps, rows[i].host_caps);
        CHECK_EQ_U(guest.caps, rows[i].guest_caps);
        CHECK(!rows[i].joins || (info.rx_offloads & TCP_LRO) != 0);
        close_world();
    }
}

/* A stream to the host is cut by nobody; what comes back is, unless the host is told to send it whole. */
UNIT_TEST(large_frames_pass_whole)
{
    struct dpdk_port_info info;

    for (int forced = 0; forced < 2; forced++) {
        for (int v6 = 0; v6 < 2; v6++) {
            unit_row(forced ? "both ways" : "one way");
            if (!open_world(",tso=1", forced ? "tso=force" : "", "", ""))
                return;
            start_echo(&sides[1], v6);
            transfer(v6, 0, 8000003);
            CHECK(frame_bytes(&sides[1]) > 4000); /* of 32768 at most; acknowledgements are among them */
            CHECK_EQ_U(stat_of(&sides[0], TENON_STAT_TX_SEGMENTED), 0);
            CHECK_EQ_U(stat_of(&sides[0], TENON_STAT_TX_CSUM_SOFT), 0);
            CHECK_EQ_U(stat_of(&sides[1], TENON_STAT_TX_CSUM_SOFT), 0);
            CHECK_EQ_U(stat_of(&sides[1], TENON_STAT_TCP_BAD_CSUM) + stat_of(&sides[0], TENON_STAT_TCP_BAD_CSUM), 0);
            CHECK(forced ? stat_of(&sides[1], TENON_STAT_TX_SEGMENTED) == 0
                         : stat_of(&sides[1], TENON_STAT_TX_SEGMENTED) > 100);
            CHECK(forced ? frame_bytes(&sides[0]) > 4000 : frame_bytes(&sides[0]) < 1514);
            dpdk_port_info(sides[0].port, &info);
            CHECK(info.tx_copied_bytes > 7900000); /* the program's memory, into DPDK's */
            dpdk_port_info(sides[1].port, &info);
            CHECK_EQ_U(info.tx_copied_bytes, 0); /* what it had received */
            close_world();
        }
    }
}

/* What was written is in DPDK's memory at once, and leaves from there. */
UNIT_TEST(written_bytes_are_not_copied_again)
{
    struct dpdk_port_info info;

    if (!open_world(",tso=1", "", "", ""))
        return;
    start_echo(&sides[1], 0);
    transfer(0, 1, 4000003);
    dpdk_port_info(sides[0].port, &info);
    CHECK_EQ_U(info.tx_copied_bytes, 0);
    close_world();
}

UNIT_TEST(echoes_are_exact)
{
    static const struct {
        const char *args, *host, *guest;
        uint32_t n;
    } rows[] = {
        { ",tso=1", "", "", 16000003 },
        { ",tso=1", "tso=force", "", 16000003 },
        { ",tso=0", "", "", 4000003 },
        { ",tso=0", "offload=off", "offload=off", 4000003 },
        { ",tso=1", "mtu=576", "mtu=576", 1000003 },
        { ",tso=1", "mtu=1280", "mtu=1280", 1000003 },
        { ",tso=1", "mtu=9000", "mtu=9000", 4000003 },
        { ",tso=1", "mtu=9000,offload=off", "mtu=9000,offload=off", 4000003 },
        { ",tso=1", "memory=4,wake=never", "memory=4,wake=never", 1000003 },
    };

    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unit_row(rows[i].host);
        if (!open_world(rows[i].args, rows[i].host, "", rows[i].guest))
            return;
        start_echo(&sides[1], 0);
        transfer(0, 0, rows[i].n);
        close_world();
    }
}

/* A guest that takes no checksums that are still to be made: the driver of the host makes them, wrong ones of
 * pieces of odd length, and in frames that it does not take either. */
UNIT_TEST(sums_are_right_where_the_driver_makes_them)
{
    static const uint32_t cuts[][3] = {
        { 301, 303, 500 }, { 300, 301, 2 }, { 1, 300, 300 }, { 299, 1, 1 }, { 200, 200, 201 }
    };
    enum { CUTS = sizeof cuts / sizeof cuts[0] };
    struct tenon_buf source = make_source(2000);

    if (!open_world(",tso=1", "", "", "offload=off"))
        return;
    open_sock(&sides[0]);
    open_sock(&sides[1]);
    for (unsigned i = 0; i < 2 * CUTS; i++) {
        const struct tenon_addr to = address_of(&sides[0], i >= CUTS);
        const uint32_t *cut = cuts[i % CUTS];
        const struct tenon_span spans[] = { { &source, 0, cut[0] }, { &source, cut[0], cut[1] },
                                            { &source, cut[0] + cut[1], cut[2] } };

        CHECK_EQ_I(tenon_udp_send(sides[1].sock, &to, spans, 3), TENON_OK);
        for (const tenon_u32 began = port_now_us(); sides[0].datagrams <= i && port_now_us() - began < SLOW_US;)
            settle(1); /* the first has to wait for the guest, and for its address */
    }
    CHECK_EQ_U(sides[0].datagrams, 2 * CUTS);
    CHECK_EQ_U(sides[0].wrong + stat_of(&sides[0], TENON_STAT_UDP_BAD_CSUM), 0);
    close_world();
    free(source.data);
}

/* ---- captures ------------------------------------------------------------------------------------------------ */

/* @return 1: the sum of this packet of TCP or UDP over IPv4 is right (RFC 1071), or there is none */
static int sum_is_right(const tenon_u8 *frame, uint32_t n)
{
    const tenon_u8 *ip = frame + 14, *l4 = ip + (ip[0] & 15) * 4;
    uint32_t bytes = n < 34 ? 0 : ((uint32_t)ip[2] << 8 | ip[3]) - (uint32_t)(l4 - ip), sum = ip[9] + bytes;

    if (bytes == 0 || frame[12] != 8 || frame[13] != 0 || (ip[9] != 6 && ip[9] != 17))
        return 1;
    for (unsigned i = 12; i < 20; i += 2)
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    for (uint32_t i = 0; i < bytes; i++)
        sum += i % 2 == 0 ? (uint32_t)l4[i] << 8 : l4[i];
    while (sum >> 16 != 0)
        sum = (sum & 0xFFFF) + (sum >> 16);
    return sum == 0xFFFF;
}

/* @return packets; *wrong: those whose sum is not right */
static unsigned read_capture(const char *path, unsigned *wrong)
{
    enum { PACKET = 6, HEAD = 28, BLOCK_MAX = 70000 };
    static uint32_t block[BLOCK_MAX / 4];
    FILE *file = fopen(path, "rb");
    unsigned packets = 0;

    *wrong = 0;
    while (file != NULL && fread(block, 8, 1, file) == 1 && block[1] <= sizeof block &&
           fread(block + 2, block[1] - 8, 1, file) == 1) {
        if (block[0] != PACKET)
            continue;
        packets++;
        *wrong += !sum_is_right((const tenon_u8 *)block + HEAD, block[5]);
    }
    if (file != NULL)
        fclose(file);
    return packets;
}

/* What was left to the other end, or is made by the driver in our memory, is in a capture as a wire would have it. */
UNIT_TEST(captures_show_right_sums)
{
    static const char *const guests[] = { "", "offload=off" };
    struct tenon_buf source = make_source(2000);
    const struct tenon_span spans[] = { { &source, 0, 301 }, { &source, 301, 303 }, { &source, 604, 501 } };
    char path[2][PATH_MAX];
    unsigned wrong;

    for (unsigned i = 0; i < 2; i++) {
        const struct tenon_addr to = address_of(&sides[0], 0);
        struct pcap_writer *writers[2];

        unit_row(guests[i]);
        if (!open_world(",tso=1", "", "", guests[i]))
            return;
        for (unsigned k = 0; k < 2; k++) {
            snprintf(path[k], sizeof path[k], "%s/%u.pcapng", folder, k);
            writers[k] = pcap_writer_open(path[k], error, sizeof error);
            port_attach(sides[k].port, writers[k]);
            open_sock(&sides[k]);
        }
        start_echo(&sides[1], 0);
        transfer(0, 0, 100003);
        CHECK_EQ_I(tenon_udp_send(sides[1].sock, &to, spans, 3), TENON_OK);
        settle(3);
        CHECK_EQ_U(sides[0].datagrams, 1);
        CHECK_EQ_U(sides[0].wrong, 0);
        close_world();
        for (unsigned k = 0; k < 2; k++) {
            CHECK_EQ_I(pcap_writer_close(writers[k], error, sizeof error), 0);
            CHECK(read_capture(path[k], &wrong) > 140);
            CHECK_EQ_U(wrong, 0);
            (void)unlink(path[k]);
        }
    }
    free(source.data);
}

/* With both ends in one process DPDK's memory does not grow (dpdk_memory_hold()), however many huge pages are
 * free. What is refused leaves nothing behind that ends the process later. */
UNIT_TEST(too_much_memory_is_refused)
{
    char name[200];

    snprintf(name, sizeof name, "{net_vhost0,iface=%s/sock}", folder);
    if (!open_side(&sides[1], open_port(name, "")))
        return;
    snprintf(name, sizeof name, "{net_virtio_user0,path=%s/sock}", folder);
    CHECK(open_port(name, "memory=1100") == NULL);
    CHECK(strstr(error, "no memory for 1 queue of 1100 MB") != NULL);
    if (!open_side(&sides[0], open_port(name, "")))
        return;
    start_echo(&sides[1], 0);
    transfer(0, 0, 100003);
    close_world();
}

/* Two queues at both ends, a port of each. The queue that one sends by is the one that the other receives by. */
UNIT_TEST(queues_have_ports_of_their_own)
{
    struct port *host[2], *guest[2];
    char name[200], args[40];
    struct tenon_netif_conf a, b;

    for (unsigned i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "{net_vhost0,iface=%s/sock,queues=2}", folder);
        snprintf(args, sizeof args, "queues=2,queue=%u,memory=16", i);
        host[i] = open_port(name, args);
        if (!CHECK(host[i] != NULL)) {
            printf("%s\n", error);
            return;
        }
    }
    CHECK(open_port(name, "queues=2,queue=1") == NULL);
    CHECK(open_port(name, "queues=3") == NULL);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "{net_virtio_user0,path=%s/sock,queues=2}", folder);
        snprintf(args, sizeof args, "queues=2,queue=%u,memory=16", i);
        guest[i] = open_port(name, args);
        if (!CHECK(guest[i] != NULL)) {
            printf("%s\n", error);
            return;
        }
    }
    port_netif_conf(guest[0], &a);
    port_netif_conf(guest[1], &b);
    CHECK_EQ_MEM(a.mac, b.mac, 6);
    for (unsigned i = 0; i < 2; i++) {
        unit_row(i == 0 ? "queue 0" : "queue 1");
        open_side(&sides[0], guest[i]);
        open_side(&sides[1], host[i]);
        start_echo(&sides[1], 0);
        transfer(0, 0, 1000003);
        close_side(&sides[0]);
        close_side(&sides[1]);
    }
}

UNIT_TEST(who_is_missing_is_said)
{
    char name[200], text[300] = "";
    struct port *port;

    snprintf(name, sizeof name, "{net_virtio_user0,path=%s/nobody}", folder);
    CHECK(open_port(name, "") == NULL);
    CHECK(strstr(error, "No such file or directory") != NULL);
    snprintf(name, sizeof name, "{net_vhost0,iface=%s/sock}", folder);
    port = open_port(name, "");
    if (!CHECK(port != NULL))
        return;
    CHECK_EQ_I(dpdk_port_type.advice(port, text, sizeof text), 1);
    CHECK(strstr(text, "nobody is at the other end yet") != NULL);
    port_close(port);
}

/* The guest goes and comes again; what is sent in between is lost, and counted. */
UNIT_TEST(guest_may_come_again)
{
    const struct tenon_addr to = address_of(&sides[0], 0);
    struct tenon_buf source = make_source(100);
    const struct tenon_span span = { &source, 0, 100 };
    struct port_stats stats;
    char name[200];

    if (!open_world(",tso=1", "", "", ""))
        return;
    start_echo(&sides[1], 0);
    open_sock(&sides[1]);
    transfer(0, 0, 100003);
    close_side(&sides[0]);
    usleep(50000); /* another thread of DPDK hears of it */
    for (int i = 0; i < 10; i++) {
        (void)tenon_udp_send(sides[1].sock, &to, &span, 1);
        turn(&sides[1]);
    }
    port_stats(sides[1].port, &stats);
    CHECK(stats.tx_down >= 10);
    snprintf(name, sizeof name, "{net_virtio_user0,path=%s/sock}", folder);
    if (!open_side(&sides[0], open_port(name, "")))
        return;
    transfer(0, 0, 100003);
    close_world();
    CHECK_EQ_U(source.refs, 1);
    free(source.data);
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    UNIT_RUN(capabilities_follow_device_and_settings);
    UNIT_RUN(large_frames_pass_whole);
    UNIT_RUN(written_bytes_are_not_copied_again);
    UNIT_RUN(echoes_are_exact);
    UNIT_RUN(sums_are_right_where_the_driver_makes_them);
    UNIT_RUN(captures_show_right_sums);
    UNIT_RUN(too_much_memory_is_refused);
    UNIT_RUN(queues_have_ports_of_their_own);
    UNIT_RUN(who_is_missing_is_said);
    UNIT_RUN(guest_may_come_again);
    CHECK(rmdir(folder) == 0); /* nothing is left in it */
    return unit_end();
}
