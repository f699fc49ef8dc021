/* SPDX-License-Identifier: MIT */
/* What a user of a package tries first with the calls for small machines and the services: a datagram that leaves from
 * the ring in which it was written, and the first message of the DHCP client. C89 that is also C++98.
 *
 *     parts           says what has left; the exit status is 0 if it was that */
#include <tenon/embedded/tenon_sock.h>
#include <tenon/services/dhcp.h>

#include <stdio.h>
#include <string.h>

enum { ARENA_BYTES = 64000, RING_BYTES = 2000, ROUNDS = 3000, ROUND_US = 1000 };
enum { DATA_AT = 14 + 20 + 8, DATA_BYTES = 1000, DHCP_TYPE_AT = DATA_AT + 242 };

static tenon_u8 arena[ARENA_BYTES], ring[RING_BYTES];
static unsigned datagrams, discovers;

static void look_at(const struct tenon_frame *frame)
{
    const struct tenon_span *last = &frame->spans[frame->nspans - 1];
    tenon_u8 bytes[1600];
    unsigned i, n = 0;

    for (i = 0; i < frame->nspans; n += frame->spans[i++].len)
        memcpy(bytes + n, tenon_span_data(&frame->spans[i]), frame->spans[i].len);
    if (n < DATA_AT || bytes[12] != 8 || bytes[13] != 0 || bytes[23] != 17)
        return;
    if (bytes[37] == 9 && n == DATA_AT + DATA_BYTES && bytes[n - 1] == 77 &&
        tenon_span_data(last) > ring && tenon_span_data(last) < ring + sizeof(ring))
        datagrams++;
    if (bytes[37] == 67 && n > DHCP_TYPE_AT && bytes[DHCP_TYPE_AT] == 1)
        discovers++;
}

static unsigned transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i;

    (void)device;
    for (i = 0; i < n; i++)
        look_at(&frames[i]);
    return n;
}

static int entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    memset(bytes, 7, n);
    return 0;
}

static int send_datagram(struct tenon_socks *socks)
{
    struct tenon_addr to;
    tenon_u8 *p;
    int sk;

    to.ip = tenon_ip4(0x0A0000FFUL);
    to.port = 9;
    to.netif = 0;
    sk = tenon_sock_create(socks, NULL, &to, TENON_SOCK_UDP, TENON_SOCK_BROADCAST);
    if (sk <= 0 || tenon_sock_set_sbuf(socks, sk, ring, sizeof(ring)) != TENON_OK ||
        tenon_sock_ask_sbuf(socks, sk, &p) < DATA_BYTES)
        return 1;
    memset(p, 77, DATA_BYTES);
    return tenon_sock_send(socks, sk, p, DATA_BYTES, 0) != TENON_OK;
}

int main(void)
{
    static struct tenon_dhcp dhcp;
    struct tenon_sock_conf conf;
    struct tenon_dhcp_conf dhcp_conf;
    struct tenon_socks *socks;
    struct tenon_ip ip = tenon_ip4(0x0A000001UL);
    tenon_u32 now_us;

    memset(&conf, 0, sizeof(conf));
    conf.device.netif.mtu = 1500;
    conf.device.netif.mac[0] = 2;
    conf.device.netif.flags = TENON_NETIF_NO_DAD;
    conf.device.transmit = transmit;
    conf.device.entropy = entropy;
    tenon_dhcp_conf_default(&dhcp_conf, 1);
    if (tenon_sock_start(&socks, arena, sizeof(arena), &conf) != TENON_OK ||
        tenon_addr_add(tenon_sock_stack(socks), 1, &ip, 24) != TENON_OK || send_datagram(socks) != 0 ||
        tenon_dhcp_start(&dhcp, tenon_sock_stack(socks), &dhcp_conf, 0) != TENON_OK) {
        puts("it did not start");
        return 1;
    }
    for (now_us = 0; now_us < (tenon_u32)ROUNDS * ROUND_US; now_us += ROUND_US) {
        (void)tenon_sock_poll(socks, now_us);
        (void)tenon_dhcp_poll(&dhcp, now_us);
    }
    printf("%u datagram out of the ring, %u DHCPDISCOVER\n", datagrams, discovers);
    tenon_dhcp_stop(&dhcp, now_us);
    tenon_sock_stop(socks);
    return datagrams == 1 && discovers == 1 ? 0 : 1;
}
