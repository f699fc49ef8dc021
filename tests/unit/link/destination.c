/* SPDX-License-Identifier: MIT */
/* Which address of a host to try first: the examples of RFC 6724 10.2 (but for that of mobile IPv6), and addresses that
 * cannot be reached. */
#include "link/link_internal.h"
#include "link_test.h"

struct ours {
    const char *ip;
    unsigned prefix, deprecated;
};

static const struct {
    const char *name;
    struct ours has[4];
    unsigned reached;
    const char *order[4];    /* as they should be */
} rows[] = {
    { "matching_scope_6", { { "2001:db8:1::2", 64, 0 }, { "fe80::1", 64, 0 }, { "169.254.13.78", 16, 0 } }, 2,
      { "2001:db8:1::1", "198.51.100.121" } },
    { "matching_scope_4", { { "fe80::1", 64, 0 }, { "198.51.100.117", 24, 0 } }, 2,
      { "198.51.100.121", "2001:db8:1::1" } },
    { "precedence", { { "2001:db8:1::2", 64, 0 }, { "fe80::1", 64, 0 }, { "10.1.2.4", 24, 0 } }, 2,
      { "2001:db8:1::1", "10.1.2.3" } },
    { "smaller_scope", { { "2001:db8:1::2", 64, 0 }, { "fe80::2", 64, 0 } }, 2, { "fe80::1", "2001:db8:1::1" } },
    { "not_deprecated", { { "2001:db8:1::2", 64, 0 }, { "fe80::2", 64, 1 } }, 2, { "2001:db8:1::1", "fe80::1" } },
    { "longest_prefix", { { "2001:db8:1::2", 64, 0 }, { "2001:db8:3f44::2", 64, 0 }, { "fe80::2", 64, 0 } }, 2,
      { "2001:db8:1::1", "2001:db8:3ffe::1" } },
    { "matching_label", { { "2002:c633:6401::2", 64, 0 }, { "fe80::2", 64, 0 } }, 2,
      { "2002:c633:6401::1", "2001:db8:1::1" } },
    { "precedence_before_6to4", { { "2002:c633:6401::2", 64, 0 }, { "2001:db8:1::2", 64, 0 }, { "fe80::2", 64, 0 } }, 2,
      { "2001:db8:1::1", "2002:c633:6401::1" } },
    { "precedence_unique_local", { { "fd00:1::2", 64, 0 }, { "10.1.2.4", 24, 0 } }, 2, { "10.1.2.3", "fd00:1::1" } },
    { "only_ip4", { { "10.1.2.4", 24, 0 } }, 1, { "10.1.2.3", "2001:db8:1::1" } },
    { "only_ip6", { { "2001:db8:1::2", 64, 0 } }, 1, { "2001:db8:1::1", "10.1.2.3" } },
    { "longest_prefix_4", { { "10.1.2.4", 24, 0 } }, 3, { "10.1.2.3", "10.1.9.9", "192.0.2.1" } },
    { "four_of_them", { { "2001:db8:1::2", 64, 0 }, { "10.1.2.4", 24, 0 } }, 4,
      { "2001:db8:1::9", "2001:db8:8000::1", "10.1.2.3", "192.0.2.1" } }
};

static void begin(struct hn *hn, const struct ours *has, int with_routes)
{
    const struct tenon_ip any4 = hn_ip("0.0.0.0"), any6 = hn_ip("::");
    struct tenon_ip link_local;

    hn_open(hn, NULL);
    hn_netif(hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    link_local = lt_link_local(hn, 1);
    HN_EQUAL(tenon_addr_remove(hn->stack, 1, &link_local), TENON_OK);
    if (with_routes) {
        HN_EQUAL(tenon_route_add(hn->stack, 1, &any4, 0, NULL, 0), TENON_OK);
        HN_EQUAL(tenon_route_add(hn->stack, 1, &any6, 0, NULL, 0), TENON_OK);
    }
    for (unsigned i = 0; has != NULL && i < 4 && has[i].ip != NULL; i++) {
        const struct tenon_ip ip = hn_ip(has[i].ip);

        HN_EQUAL(tenon_addr_add(hn->stack, 1, &ip, has[i].prefix), TENON_OK);
        if (has[i].deprecated)
            tn_address_find(hn->stack, 1, &ip)->state = TENON_ADDR_DEPRECATED;
    }
}

/* All rotations of the addresses, there and back: none is right by chance. */
static void examples(void)
{
    for (size_t row = 0; row < TENON_ARRAY_LEN(rows); row++) {
        struct tenon_ip ips[4];
        unsigned n = 0;
        struct hn hn;

        hn_row = rows[row].name;
        begin(&hn, rows[row].has, 1);
        while (n < 4 && rows[row].order[n] != NULL)
            n++;
        for (unsigned turn = 0; turn < 2 * n; turn++) {
            for (unsigned i = 0; i < n; i++)
                ips[turn & 1 ? n - 1 - i : i] = hn_ip(rows[row].order[(i + turn / 2) % n]);
            HN_EQUAL(tenon_addr_sort(hn.stack, ips, n), rows[row].reached);
            for (unsigned i = 0; i < n; i++) {
                const struct tenon_ip want = hn_ip(rows[row].order[i]);

                HN_CHECK(tenon_ip_equal(&ips[i], &want));
            }
        }
        hn_close(&hn);
    }
}

/* Rule 10: a name server turns its addresses round so that not all go to the same. */
static void order_of_equals_stays(void)
{
    static const struct ours has[4] = { { "2001:db8:1::2", 64, 0 }, { "10.1.2.4", 24, 0 } };
    static const char *const given[] = { "2001:db8:7::3", "10.1.3.5", "2001:db8:7::1", "10.1.3.4", "2001:db8:7::2" };
    static const char *const sorted[] = { "2001:db8:7::3", "2001:db8:7::1", "2001:db8:7::2", "10.1.3.5", "10.1.3.4" };
    struct tenon_ip ips[5];
    struct hn hn;

    begin(&hn, has, 1);
    for (unsigned i = 0; i < 5; i++)
        ips[i] = hn_ip(given[i]);
    HN_EQUAL(tenon_addr_sort(hn.stack, ips, 5), 5);
    for (unsigned i = 0; i < 5; i++) {
        const struct tenon_ip want = hn_ip(sorted[i]);

        HN_CHECK(tenon_ip_equal(&ips[i], &want));
    }
    hn_close(&hn);
}

/* Rule 1: without a route, and with one but nothing to send from; and nothing to sort. */
static void nothing_reached(void)
{
    struct tenon_ip ips[2] = { hn_ip("10.1.2.3"), hn_ip("2001:db8::1") };
    struct hn hn;

    begin(&hn, NULL, 0);
    HN_EQUAL(tenon_addr_sort(hn.stack, ips, 2), 0);
    hn_close(&hn);
    begin(&hn, NULL, 1);
    HN_EQUAL(tenon_addr_sort(hn.stack, ips, 2), 0);
    HN_EQUAL(tenon_addr_sort(hn.stack, ips, 0), 0);
    hn_close(&hn);
}

/* RFC 6724 6, rule 8: the smaller scope, on a host as they are: no route says where link-local addresses are, or one
 * says where all addresses are. */
static void link_local_first(void)
{
    for (unsigned with_router = 0; with_router < 2; with_router++) {
        const struct tenon_ip ip = hn_ip("2001:db8:1::2"), near = hn_ip("fe80::1");
        struct tenon_ip ips[2] = { hn_ip("2001:db8:1::1"), near };
        struct lt_ra ra;
        struct hn hn;

        hn_row = with_router ? "with_router" : "without_router";
        hn_open(&hn, NULL);
        hn_netif(&hn, TENON_NETIF_NO_DAD);
        hn_run_ms(&hn, 20000);
        HN_EQUAL(tenon_addr_add(hn.stack, 1, &ip, 64), TENON_OK);
        lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
        if (with_router)
            lt_ra_send(&hn, 1, 9, &ra);
        HN_EQUAL(tenon_addr_sort(hn.stack, ips, 2), 2);
        HN_CHECK(tenon_ip_equal(&ips[0], &near));
        hn_close(&hn);
    }
    hn_row = "";
}

static const struct hn_test tests[] = {
    { "examples", "6724-2", examples },
    { "order_of_equals_stays", "6724-2", order_of_equals_stays },
    { "nothing_reached", "6724-2", nothing_reached },
    { "link_local_first", "6724-2", link_local_first },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
