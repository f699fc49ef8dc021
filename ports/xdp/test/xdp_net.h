/* SPDX-License-Identifier: MIT */
/* For the tests of this folder: a network namespace, veth pairs in it, an instance at one end of each. */
#ifndef TENON_PORTS_XDP_TEST_NET_H
#define TENON_PORTS_XDP_TEST_NET_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>

#include "../../../tests/unit/unit.h"
#include "../xdp_internal.h"

static char error[600];

/* A command of the system. @return 1: it went well */
__attribute__((format(printf, 1, 2))) static int sh(const char *format, ...)
{
    char command[400];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    return system(command) == 0;
}

/* "x0" is ours, "x0k" the kernel's, with the address 10.78.`net`.1. */
static void make_pair(const char *name, unsigned net, unsigned mtu, unsigned queues)
{
    CHECK(sh("ip link add %s mtu %u numrxqueues %u numtxqueues %u type veth peer name %sk mtu %u numrxqueues %u "
             "numtxqueues %u",
             name, mtu, queues, queues, name, mtu, queues, queues));
    CHECK(sh("ip address add 10.78.%u.1/24 dev %sk", net, name));
    CHECK(sh("ip link set %s up && ip link set %sk up", name, name));
}

static void remove_pair(const char *name)
{
    CHECK(sh("ip link del %s", name));
}

/* Settings as they are written down: "mode=generic". */
static struct port *open_with(const char *name, const char *settings)
{
    static const struct port_type *const types[] = { &xdp_port_type, NULL };
    struct port_choice choice;
    char written[200];

    error[0] = 0;
    snprintf(written, sizeof written, "xdp:%s%s%s", name, settings[0] != 0 ? "," : "", settings);
    if (port_read(&choice, types, written, error, sizeof error) != 0)
        return NULL;
    return port_open(&xdp_port_type, &choice.conf, error, sizeof error);
}

/* A socket at the kernel's end that sees and sends frames of a type that nobody else speaks. */
UNIT_INLINE int packet_socket(const char *name)
{
    struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_protocol = htons(0x88B5) };
    int fd = socket(AF_PACKET, SOCK_RAW, htons(0x88B5));

    address.sll_ifindex = (int)if_nametoindex(name);
    CHECK_EQ_I(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Wait for a frame. @return its length; -1: none */
UNIT_INLINE long receive_packet(int fd, void *bytes, size_t room)
{
    struct pollfd ready = { fd, POLLIN, 0 };

    return poll(&ready, 1, 1000) == 1 ? recv(fd, bytes, room, MSG_DONTWAIT | MSG_TRUNC) : -1;
}

struct side {
    struct port *port;
    struct tenon *stack;
    void *mem;
    unsigned netif;
};

/* An instance with the address 10.78.`net`.2. */
static int side_open(struct side *side, const char *name, unsigned net, const char *settings)
{
    const struct tenon_ip ip = tenon_ip4(0x0A4E0002 | net << 8);
    struct tenon_netif_conf netif;
    struct tenon_conf conf;

    memset(side, 0, sizeof *side);
    side->port = open_with(name, settings);
    CHECK_EQ_S(error, "");
    if (side->port == NULL)
        return 0;
    tenon_conf_default(&conf);
    side->mem = malloc(tenon_mem_size(&conf));
    side->stack = tenon_init(side->mem, &conf, xdp_port_type.host, side->port);
    port_netif_conf(side->port, &netif);
    netif.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    side->netif = (unsigned)tenon_netif_add(side->stack, &netif);
    CHECK_EQ_I(tenon_addr_add(side->stack, side->netif, &ip, 24), TENON_OK);
    return 1;
}

static void side_close(struct side *side)
{
    tenon_fini(side->stack);
    port_close(side->port);
    free(side->mem);
}

/* Frames, time, and at most a moment's sleep when there is nothing to do. @return frames, or -1 */
static int side_run(struct side *side)
{
    struct pollfd ready = { port_fd(side->port), POLLIN, 0 };
    int n;

    (void)tenon_poll(side->stack, port_now_us());
    (void)poll(&ready, 1, 1);
    n = port_receive(side->port, side->stack, side->netif, port_now_us());
    (void)tenon_poll(side->stack, port_now_us());
    return n;
}

/* @return whether we have a namespace in which AF_XDP can be had; it says why not */
static int own_namespace(void)
{
    struct port *port;
    int fd;

    if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0) {
        printf("not root, or no network namespace of our own: the rest is not tested\n");
        return 0;
    }
    fd = socket(AF_XDP, SOCK_RAW, 0);
    if (fd < 0 || !sh("ip link set lo up && ip link add probe0 type veth peer name probe1 2>/dev/null")) {
        printf("no AF_XDP or no veth here (%s): the rest is not tested\n", strerror(errno));
        return 0;
    }
    close(fd);
    CHECK(sh("sysctl -eqw net.ipv6.conf.default.disable_ipv6=1")); /* the kernel would speak by itself */
    port = open_with("probe0", "");
    if (port == NULL) {
        printf("%s: the rest is not tested\n", error);
        return 0;
    }
    port_close(port);
    return 1;
}

#endif
