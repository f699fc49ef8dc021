/* SPDX-License-Identifier: MIT */
/* IPv4 link-local addresses: which are tried, in which order, how fast (RFC 3927 2). */
#include "bench.h"
#include "services/linklocal.h"

static struct tenon_linklocal ll;
static unsigned taken, probes;    /* so many of the addresses that are probed have an owner */
static tenon_u32 probed[32];
static tenon_u32 probed_at[32];

static tenon_u32 poll_ll(tenon_u32 now_us)
{
    (void)now_us;
    return tenon_linklocal_poll(&ll) ? 0 : 1800000000;
}

/* The first probe of each address. */
static void heard(const struct hn_sent *sent)
{
    const tenon_u32 ip = hn_get32(sent->bytes + 38);
    tenon_u8 mac[6];

    if (hn_get16(sent->bytes + 12) != 0x0806 || hn_get32(sent->bytes + 28) != 0)
        return;
    if (probes < 32 && (probes == 0 || probed[probes - 1] != ip)) {
        probed_at[probes] = sv.hn.now_us;
        probed[probes++] = ip;
    }
    if (probes <= taken)
        hn_arp(&sv.hn, sv.netif, NULL, 2, hn_mac(mac, 1, 66), ip, sent->bytes + 6, 0);
}

static void open_taken(unsigned n)
{
    sv_open(0);
    sv.poll = poll_ll;
    sv.heard = heard;
    memset(&ll, 0, sizeof ll);
    taken = n;
    probes = 0;
    HN_EQUAL(tenon_linklocal_start(&ll, sv.hn.stack, sv.netif), TENON_OK);
    HN_EQUAL(tenon_linklocal_start(&ll, sv.hn.stack, sv.netif), TENON_EINVAL);
}

static void end(void)
{
    tenon_linklocal_stop(&ll);
    HN_EQUAL(sv_addresses(), 0);
    sv_close();
}

static void first_is_free(void)
{
    tenon_u32 ip;

    open_taken(0);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_PROBING);
    sv_run(10000);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_USED);
    HN_EQUAL(probes, 1);
    ip = ll.ip.w[3];
    HN_CHECK(ip >= 0xA9FE0100 && ip <= 0xA9FEFEFF);
    end();
    open_taken(0);    /* the same once more: RFC 3927 2.1 */
    HN_EQUAL(ll.ip.w[3], ip);
    end();
}

/* Another one after each conflict; after ten of them one a minute (RFC 3927 2.2.1). */
static void many_taken(void)
{
    open_taken(12);
    sv_run_s(400);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_USED);
    HN_EQUAL(ll.conflicts, 12);
    HN_EQUAL(probes, 13);
    for (unsigned i = 0; i < 13; i++) {
        HN_CHECK(probed[i] >= 0xA9FE0100 && probed[i] <= 0xA9FEFEFF);
        for (unsigned k = 0; k < i; k++)
            HN_CHECK(probed[i] != probed[k]);
    }
    HN_CHECK(probed_at[9] - probed_at[0] <= 10000000);
    HN_CHECK(probed_at[11] - probed_at[10] >= 59000000);
    HN_CHECK(probed_at[12] - probed_at[11] >= 59000000);
    end();
}

/* RFC 3927 2.5: defended once within ten seconds; then another address. */
static void used_conflict(void)
{
    tenon_u8 mac[6];
    tenon_u32 ip;

    open_taken(0);
    sv_run(20000);
    ip = ll.ip.w[3];
    hn_arp(&sv.hn, sv.netif, NULL, 1, hn_mac(mac, 1, 66), ip, NULL, ip);
    sv_run(10);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_USED);
    hn_arp(&sv.hn, sv.netif, NULL, 1, hn_mac(mac, 1, 66), ip, NULL, ip);
    sv_run(10);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_PROBING);
    HN_CHECK(ll.ip.w[3] != ip);
    sv_run(10000);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_USED);
    HN_EQUAL(sv_addresses(), 1);
    end();
}

static void start_wrong(void)
{
    struct tenon_netif_conf conf;

    sv_open(0);
    memset(&ll, 0, sizeof ll);
    memset(&conf, 0, sizeof conf);
    HN_EQUAL(tenon_linklocal_start(&ll, sv.hn.stack, 2), TENON_EINVAL);
    conf.mtu = 1500;
    conf.caps = TENON_CAP_NO_LINK;
    HN_EQUAL(tenon_netif_add(sv.hn.stack, &conf), 2);
    HN_EQUAL(tenon_linklocal_start(&ll, sv.hn.stack, 2), TENON_EINVAL);
    HN_EQUAL(tenon_linklocal_poll(&ll), 0);
    HN_EQUAL(tenon_linklocal_start(&ll, sv.hn.stack, 1), TENON_OK);
    HN_EQUAL(tenon_addr_remove(sv.hn.stack, 1, &ll.ip), TENON_OK);
    HN_EQUAL(tenon_linklocal_poll(&ll), 1);
    HN_EQUAL(ll.state, TENON_LINKLOCAL_OFF);
    sv_close();
}

static const struct hn_test tests[] = {
    { "first_is_free", "", first_is_free },
    { "many_taken", "", many_taken },
    { "used_conflict", "", used_conflict },
    { "start_wrong", "", start_wrong },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
