/* SPDX-License-Identifier: MIT */
/* lwIP on a TAP interface, as a sender:
 *
 *     lwip TAP ADDRESS PEER PORT
 *
 * connects from ADDRESS/24 to PEER and sends the bytes that kernel.c expects until the peer hangs up. The
 * raw interface, one thread, its timers driven by poll(); the bytes are not copied into lwIP. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <net/if.h>

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

enum { PERIOD = 251, CHUNK = 22 * TCP_MSS, FRAME_MAX = 1514, BURST = 64, QUEUE_ROOM = 64 };

struct sender {
    int fd, done, failed;
    struct netif netif;
    struct tcp_pcb *pcb;
    size_t at; /* in the pattern */
};

static unsigned char pattern[CHUNK + PERIOD];

u32_t sys_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u32_t)((unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000);
}

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "lwip: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---- the interface --------------------------------------------------------------------------- */

static int open_tap(const char *name)
{
    struct ifreq request = { 0 };
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        die("/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(fd, TUNSETIFF, &request) != 0)
        die(name);
    return fd;
}

static err_t tap_output(struct netif *netif, struct pbuf *frame)
{
    const struct sender *sender = netif->state;
    static unsigned char data[FRAME_MAX];

    if (frame->tot_len > sizeof data)
        return ERR_BUF;
    pbuf_copy_partial(frame, data, frame->tot_len, 0);
    return write(sender->fd, data, frame->tot_len) == frame->tot_len ? ERR_OK : ERR_IF;
}

static err_t tap_begin(struct netif *netif)
{
    static const unsigned char mac[ETH_HWADDR_LEN] = { 0x02, 0, 0, 0, 0, 0x10 };

    memcpy(netif->hwaddr, mac, sizeof mac);
    netif->hwaddr_len = ETH_HWADDR_LEN;
    netif->mtu = 1500;
    netif->output = etharp_output;
    netif->linkoutput = tap_output;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

static void tap_input(struct sender *sender)
{
    static unsigned char data[FRAME_MAX];

    for (int i = 0; i < BURST; i++) {
        ssize_t n = read(sender->fd, data, sizeof data);
        struct pbuf *frame;

        if (n <= 0)
            return;
        frame = pbuf_alloc(PBUF_RAW, (u16_t)n, PBUF_RAM);
        if (frame == NULL)
            return;
        pbuf_take(frame, data, (u16_t)n);
        if (sender->netif.input(frame, &sender->netif) != ERR_OK)
            pbuf_free(frame);
    }
}

/* ---- the connection -------------------------------------------------------------------------- */

static void feed(struct sender *sender)
{
    while (tcp_sndbuf(sender->pcb) >= CHUNK && tcp_sndqueuelen(sender->pcb) + QUEUE_ROOM < TCP_SND_QUEUELEN) {
        if (tcp_write(sender->pcb, pattern + sender->at, CHUNK, 0) != ERR_OK)
            break;
        sender->at = (sender->at + CHUNK) % PERIOD;
    }
    tcp_output(sender->pcb);
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t bytes)
{
    (void)pcb;
    (void)bytes;
    feed(arg);
    return ERR_OK;
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t error)
{
    (void)error;
    tcp_nagle_disable(pcb);
    feed(arg);
    return ERR_OK;
}

/* The peer resets the connection when it has measured enough. */
static void on_error(void *arg, err_t error)
{
    struct sender *sender = arg;

    sender->done = 1;
    sender->failed = error != ERR_RST;
    if (sender->failed)
        fprintf(stderr, "lwip: the connection ended: error %d\n", error);
}

static void connect_to(struct sender *sender, const ip4_addr_t *peer, u16_t port)
{
    sender->pcb = tcp_new();
    if (sender->pcb == NULL)
        die("tcp_new");
    tcp_arg(sender->pcb, sender);
    tcp_sent(sender->pcb, on_sent);
    tcp_err(sender->pcb, on_error);
    if (tcp_connect(sender->pcb, peer, port, on_connected) != ERR_OK)
        die("tcp_connect");
}

int main(int argc, char **argv)
{
    static struct sender sender;
    ip4_addr_t own, peer, mask;

    if (argc != 5 || !ip4addr_aton(argv[2], &own) || !ip4addr_aton(argv[3], &peer)) {
        fputs("Usage: lwip TAP ADDRESS PEER PORT\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i % PERIOD);
    srand((unsigned)time(NULL) ^ (unsigned)getpid() << 8);
    sender.fd = open_tap(argv[1]);
    lwip_init();
    IP4_ADDR(&mask, 255, 255, 255, 0);
    netif_add(&sender.netif, &own, &mask, IP4_ADDR_ANY4, &sender, tap_begin, ethernet_input);
    netif_set_default(&sender.netif);
    netif_set_up(&sender.netif);
    connect_to(&sender, &peer, (u16_t)atoi(argv[4]));
    while (!sender.done) {
        struct pollfd poll_fd = { sender.fd, POLLIN, 0 };
        u32_t ms = sys_timeouts_sleeptime();

        poll(&poll_fd, 1, ms > 1000 ? 1000 : (int)ms);
        tap_input(&sender);
        sys_check_timeouts();
    }
    return sender.failed;
}
