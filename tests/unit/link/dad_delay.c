/* SPDX-License-Identifier: MIT */
/* The first probe for an address waits a random time of up to a second (RFC 4862 5.4.2), so that hosts which are
 * switched on together do not all speak at once; and an address is used only after its probes have left. */
#include "harness.h"

enum { INSTANCES = 40, SECOND_US = 1000000, ETH = 14, IP6 = 40, NS = 135 };

/* Whether a frame is a neighbour solicitation from ::. */
static int is_probe(const struct hn_sent *sent)
{
    static const tenon_u8 unspecified[16];

    return sent->len >= ETH + IP6 + 24 && sent->bytes[12] == 0x86 && sent->bytes[13] == 0xDD &&
           sent->bytes[ETH + 6] == 58 && sent->bytes[ETH + IP6] == NS &&
           memcmp(sent->bytes + ETH + 8, unspecified, 16) == 0;
}

/* Microseconds from the start of an interface to its first probe. */
static tenon_u32 first_probe_us(tenon_u32 seed)
{
    struct hn hn;
    tenon_u32 began, at = 0;

    hn_open_seed(&hn, NULL, seed);
    began = hn.now_us;
    hn_netif(&hn, TENON_NETIF_NO_RA);
    hn_run(&hn, 3 * SECOND_US);
    for (unsigned i = hn.nsent; i > 0; i--)
        if (is_probe(&hn.sent[i - 1]))
            at = hn.sent[i - 1].at_us;
    HN_CHECK(at != 0);
    hn_close(&hn);
    return at - began;
}

static void started_probe_is_delayed(void)
{
    unsigned early = 0, late = 0;

    for (tenon_u32 seed = 1; seed <= INSTANCES; seed++) {
        const tenon_u32 us = first_probe_us(seed);

        HN_CHECK(us <= SECOND_US + 2000);
        early += us < SECOND_US / 2;
        late += us >= SECOND_US / 2;
    }
    /* Of forty coins fewer than six on one side: once in 700,000 times, and the seeds are the same every time. */
    HN_CHECK(early >= 6 && late >= 6);
}

/* What nobody was asked about is not found to be unique (RFC 4862 5.4, RFC 5227 2.1): without
 * memory for a probe an address waits. */
static void tentative_no_buffers(void)
{
    static const struct {
        const char *name;
        unsigned flags;
        tenon_u32 took_us;
        unsigned frames;    /* probes; and the first announcement, or two reports of the group */
    } rows[] = { { "ipv6", TENON_NETIF_NO_RA, 3 * SECOND_US, 3 },
                 { "ipv4", TENON_NETIF_NO_IP6, 7 * SECOND_US, 4 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip ip = hn_ip("10.0.0.1");
        struct tenon_addr_info info;
        struct hn hn;

        hn_row = rows[i].name;
        hn_open(&hn, NULL);
        hn.buf_fail = -1;
        hn_netif(&hn, rows[i].flags);
        if (rows[i].flags & TENON_NETIF_NO_IP6)
            HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        hn_run(&hn, 30 * SECOND_US);
        HN_EQUAL(tenon_addr_get(hn.stack, 0, &info), TENON_OK);
        HN_EQUAL(info.state, TENON_ADDR_TENTATIVE);
        hn.buf_fail = 0;
        hn_run(&hn, rows[i].took_us);
        HN_EQUAL(tenon_addr_get(hn.stack, 0, &info), TENON_OK);
        HN_EQUAL(info.state, TENON_ADDR_PREFERRED);
        HN_EQUAL(hn.nsent, rows[i].frames);
        hn_close(&hn);
    }
}

/* Probes, and the bytes that tell them: of IPv4 a sender 0.0.0.0. */
static int is_arp_probe(const struct hn_sent *sent)
{
    return sent->len >= ETH + 28 && sent->bytes[12] == 0x08 && sent->bytes[13] == 0x06 &&
           hn_get32(sent->bytes + ETH + 14) == 0;
}

/* RFC 4862 5.4.2, RFC 5227 2.1.1: nor when the link comes up while the program has slept for a minute, and tells the
 * instance so before it tells it what time it is: all hosts of a switch that gets its power back hear of that. */
static void link_up_probe_is_delayed(void)
{
    const struct tenon_ip ip = hn_ip("10.0.0.1");
    unsigned at_once[2] = { 0, 0 };

    for (unsigned seed = 1; seed <= 20; seed++) {
        const struct hn_sent *sent;
        struct hn hn;
        tenon_u32 up;

        hn_open_seed(&hn, NULL, seed);
        hn_netif(&hn, TENON_NETIF_NO_RA);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
        hn_run(&hn, 20 * SECOND_US);
        HN_EQUAL(tenon_netif_link(hn.stack, 1, 0), TENON_OK);
        hn_run(&hn, 10 * SECOND_US);
        HN_CHECK(tenon_poll(hn.stack, hn.now_us) > 60 * SECOND_US);
        up = hn.now_us += 60 * SECOND_US;
        hn_forget(&hn);
        HN_EQUAL(tenon_netif_link(hn.stack, 1, 1), TENON_OK);
        hn_run(&hn, 5 * SECOND_US);
        while ((sent = hn_next(&hn)) != NULL && sent->at_us == up) {
            at_once[0] += (unsigned)is_arp_probe(sent);
            at_once[1] += (unsigned)is_probe(sent);
        }
        hn_close(&hn);
    }
    HN_CHECK(at_once[0] < 5);
    HN_CHECK(at_once[1] < 5);
}

/* RFC 4862 5.4, RFC 5227 2.1: the port takes nothing for ten seconds, and who was not asked cannot have answered. */
static void tentative_port_takes_nothing(void)
{
    const struct tenon_ip ip = hn_ip("10.0.0.1");
    struct tenon_addr_info info;
    struct hn hn;

    hn_open(&hn, NULL);
    hn.tx_take = 0;
    hn_netif(&hn, TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    hn_run(&hn, 10 * SECOND_US);
    HN_EQUAL(hn.nsent, 0);
    for (unsigned i = 0; i < 2; i++) {
        HN_EQUAL(tenon_addr_get(hn.stack, i, &info), TENON_OK);
        HN_EQUAL(info.state, TENON_ADDR_TENTATIVE);
    }
    hn.tx_take = 0xFFFF;
    hn_run(&hn, 10 * SECOND_US);
    for (unsigned i = 0; i < 2; i++) {
        HN_EQUAL(tenon_addr_get(hn.stack, i, &info), TENON_OK);
        HN_EQUAL(info.state, TENON_ADDR_PREFERRED);
    }
    hn_close(&hn);
}

/* A port that is always full takes what it is given all the same, one frame after the other, the probes among them: an
 * address that is added while more is sent than the link takes is found to be unique. */
static void tentative_port_is_busy(void)
{
    const struct tenon_ip first = hn_ip("10.0.0.1"), ip = hn_ip("10.0.0.2");
    struct tenon_addr_info info;
    struct tenon_udp *sock;
    struct tenon_addr to;
    tenon_u8 mac[6];
    struct hn hn;

    memset(&to, 0, sizeof to);
    to.ip = hn_ip("10.0.0.9");
    to.port = 9;
    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &first, 24), TENON_OK);
    hn_run(&hn, 10 * SECOND_US);
    HN_EQUAL(tenon_neighbour_set(hn.stack, 1, &to.ip, hn_mac(mac, 1, 9)), TENON_OK);
    HN_EQUAL(tenon_udp_open(hn.stack, &sock, NULL, NULL), TENON_OK);
    hn.tx_take = 1;
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 24), TENON_OK);
    for (unsigned ms = 0; ms < 15000; ms++) {
        for (unsigned i = 0; i < 3; i++)
            (void)tenon_udp_write(sock, &to, "more than goes", 14);
        (void)tenon_poll(hn.stack, hn.now_us);
        hn.now_us += 1000;
    }
    for (unsigned i = 0; i < 3; i++) {
        HN_EQUAL(tenon_addr_get(hn.stack, i, &info), TENON_OK);
        HN_EQUAL(info.state, TENON_ADDR_PREFERRED);
    }
    tenon_udp_close(sock);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "started_probe_is_delayed", "SLAAC-2", started_probe_is_delayed },
    { "tentative_no_buffers", "SLAAC-2 ARP-13 VUL-F-13", tentative_no_buffers },
    { "link_up_probe_is_delayed", "SLAAC-2 ARP-9", link_up_probe_is_delayed },
    { "tentative_port_takes_nothing", "SLAAC-2 ARP-13 VUL-F-13", tentative_port_takes_nothing },
    { "tentative_port_is_busy", "SLAAC-2 ARP-13", tentative_port_is_busy },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
