/* SPDX-License-Identifier: MIT */
/* tap_steer(): every frame comes to the queue that tenon/flow.h says. In a network namespace of this
 * program's own; where no such thing can be had, or the kernel does not let us, nothing is tested, and the
 * program says so. */
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
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>

#include <tenon/flow.h>

#include "../../../tests/unit/unit.h"
#include "../tap.h"

enum { QUEUES = 4, ENTRIES = 128, FRAMES = 300, VNET = 12, ETH = 14, WAIT_MS = 1000 };

static struct port *port[QUEUES];
static int sender;
static tenon_u16 table[ENTRIES];
static unsigned long seed = 1;

static void interface_up(const char *name)
{
    struct ifreq request = { 0 };

    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    CHECK_EQ_I(ioctl(sender, SIOCGIFFLAGS, &request), 0);
    request.ifr_flags |= IFF_UP;
    CHECK_EQ_I(ioctl(sender, SIOCSIFFLAGS, &request), 0);
}

static int open_queues(const char *name)
{
    const struct port_conf conf = { .name = name, .queues = QUEUES };
    struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
    char error[300] = "";

    for (unsigned i = 0; i < QUEUES; i++) {
        port[i] = port_open(&tap_port_type, &conf, error, sizeof error);
        if (!CHECK(port[i] != NULL))
            return 0;
    }
    sender = socket(AF_PACKET, SOCK_RAW, 0);    /* sends, and hears nothing */
    address.sll_ifindex = (int)if_nametoindex(name);
    address.sll_protocol = 0;
    CHECK_EQ_I(bind(sender, (struct sockaddr *)(void *)&address, sizeof address), 0);
    interface_up(name);
    return 1;
}

static void close_queues(void)
{
    for (unsigned i = 0; i < QUEUES; i++)
        port_close(port[i]);
    close(sender);
}

static void put16(tenon_u8 *p, unsigned value)
{
    p[0] = (tenon_u8)(value >> 8);
    p[1] = (tenon_u8)value;
}

static void put_words(tenon_u8 *p, const tenon_u32 *words, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        put16(p + 4 * i, words[i] >> 16);
        put16(p + 4 * i + 2, words[i] & 0xFFFF);
    }
}

/* A frame from one end to the other, of a protocol that nobody need understand further. @return its length */
static unsigned make_frame(tenon_u8 *p, const struct tenon_addr *from, const struct tenon_addr *to, unsigned protocol)
{
    const int v4 = tenon_ip_is_v4(&to->ip);
    tenon_u8 *ip = p + ETH, *ports = ip + (v4 ? 20 : 40);

    memset(p, 0, ETH + 80);
    memcpy(p, "\x02\0\0\0\0\x77", 6);
    memcpy(p + 6, "\x02\0\0\0\0\x78", 6);
    put16(p + 12, v4 ? 0x0800 : 0x86DD);
    ip[0] = v4 ? 0x45 : 0x60;
    put16(ip + (v4 ? 2 : 4), v4 ? 40 : 20);
    ip[v4 ? 9 : 6] = (tenon_u8)protocol;
    put_words(ip + (v4 ? 12 : 8), from->ip.w + (v4 ? 3 : 0), v4 ? 1 : 4);
    put_words(ip + (v4 ? 16 : 24), to->ip.w + (v4 ? 3 : 0), v4 ? 1 : 4);
    put16(ports, from->port);
    put16(ports + 2, to->port);
    return (unsigned)(ports + 20 - p);
}

static struct tenon_addr any_addr(int v4)
{
    struct tenon_addr addr;

    memset(&addr, 0, sizeof addr);
    addr.ip = tenon_ip4((tenon_u32)unit_random(&seed));
    if (!v4)
        for (unsigned i = 0; i < 4; i++)
            addr.ip.w[i] = (tenon_u32)unit_random(&seed);
    addr.port = (tenon_u16)unit_random(&seed);
    return addr;
}

/* Sends a frame. @return the queue at which it has come out; -1: at none, or at several */
static int queue_of(const tenon_u8 *frame, unsigned n)
{
    tenon_u8 got[2000];
    int queue = -1, found = 0;

    CHECK_EQ_I(send(sender, frame, n, 0), (long)n);
    for (int ms = 0; ms < WAIT_MS && found == 0; ms++) {    /* a busy kernel may let it wait for its own frames */
        for (int i = 0; i < QUEUES; i++) {
            ssize_t bytes;

            while ((bytes = read(port_fd(port[i]), got, sizeof got)) > 0) {
                if ((size_t)bytes != VNET + n || memcmp(got + VNET, frame, n) != 0)
                    continue;    /* something of the kernel's own */
                queue = i;
                found++;
            }
        }
        if (found == 0)
            (void)poll(NULL, 0, 1);
    }
    return found == 1 ? queue : -1;
}

static void check_key(const tenon_u8 *key, unsigned queues)
{
    unsigned used[QUEUES] = { 0 };
    struct tenon_flow flow;
    tenon_u8 frame[200];

    tenon_flow_spread(table, ENTRIES, queues);
    CHECK_EQ_I(tenon_flow_init(&flow, key, table, ENTRIES, 0), TENON_OK);
    CHECK_EQ_I(tap_steer(port[0], key, ENTRIES, queues), 0);
    for (unsigned i = 0; i < FRAMES; i++) {
        const struct tenon_addr from = any_addr(i % 2), to = any_addr(i % 2);
        const unsigned want = tenon_flow_queue(&flow, &to, &from);

        CHECK_EQ_I(queue_of(frame, make_frame(frame, &from, &to, 6)), (long)want);
        used[want]++;
    }
    for (unsigned i = 0; i < queues; i++)
        CHECK(used[i] > FRAMES / queues / 3);
}

UNIT_TEST(tcp_comes_to_the_queue_of_its_hash)
{
    if (!open_queues("steer0"))
        return;
    unit_row("Microsoft's key");
    check_key(tenon_flow_key_microsoft, QUEUES);
    unit_row("symmetric key");
    check_key(tenon_flow_key_symmetric, QUEUES);
    unit_row("three queues");
    check_key(tenon_flow_key_microsoft, 3);
    close_queues();
}

UNIT_TEST(all_else_comes_to_the_first_queue)
{
    static const char *const names[] = { "UDP", "UDP, IPv6", "IPv4 options", "first fragment", "last fragment", "ARP" };
    tenon_u8 frame[200];

    if (!open_queues("steer0"))
        return;
    CHECK_EQ_I(tap_steer(port[0], tenon_flow_key_microsoft, ENTRIES, QUEUES), 0);
    for (unsigned i = 0; i < 20 * TENON_ARRAY_LEN(names); i++) {
        const unsigned kind = i / 20;
        const struct tenon_addr from = any_addr(kind != 1), to = any_addr(kind != 1);
        const unsigned n = make_frame(frame, &from, &to, kind < 2 ? 17 : 6);

        unit_row(names[kind]);
        if (kind == 2)
            frame[ETH] = 0x46;
        if (kind == 3)
            frame[ETH + 6] = 0x20;
        if (kind == 4)
            frame[ETH + 7] = 100;
        if (kind == 5)
            put16(frame + 12, 0x0806);
        CHECK_EQ_I(queue_of(frame, n), 0);
    }
    close_queues();
}

UNIT_TEST(what_cannot_be)
{
    if (!open_queues("steer0"))
        return;
    CHECK_EQ_I(tap_steer(port[0], tenon_flow_key_microsoft, 100, QUEUES), -1);
    CHECK_EQ_I(errno, EINVAL);
    CHECK_EQ_I(tap_steer(port[0], tenon_flow_key_microsoft, ENTRIES, 0), -1);
    CHECK_EQ_I(errno, EINVAL);
    close_queues();
}

/* @return whether we have a namespace in which the kernel lets us choose */
static int own_namespace(void)
{
    const struct port_conf conf = { .name = "steer1", .queues = 2 };
    struct port *probe;
    int good;

    if (unshare(CLONE_NEWNET) != 0)
        return 0;
    probe = port_open(&tap_port_type, &conf, NULL, 0);
    if (probe == NULL)
        return 0;
    good = tap_steer(probe, tenon_flow_key_microsoft, ENTRIES, 2) == 0 || (errno != EPERM && errno != ENOSYS);
    port_close(probe);
    return good;
}

int main(void)
{
    CHECK(ENTRIES % QUEUES == 0);
    if (!own_namespace()) {
        printf("no network namespace, no /dev/net/tun, or no eBPF (%s): nothing is tested\n", strerror(errno));
        return unit_end();
    }
    UNIT_RUN(tcp_comes_to_the_queue_of_its_hash);
    UNIT_RUN(all_else_comes_to_the_first_queue);
    UNIT_RUN(what_cannot_be);
    return unit_end();
}
