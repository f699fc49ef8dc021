/* SPDX-License-Identifier: MIT */
/* Groups: IGMP (RFC 3376, 2236, 1112) and MLD (RFC 3810, 2710). */
#include "link_test.h"

/* ---- messages -------------------------------------------------------------------------------- */

struct report {
    const struct hn_sent *sent;
    struct tenon_ip src, dst, group;
    unsigned type, record, ttl;    /* record: type of the record in a report of version 3 (MLD: 2) */
};

/* The next IGMP message that was sent: Router Alert, TTL 1, checksums. */
static int next_igmp(struct hn *hn, struct report *out)
{
    const struct hn_sent *sent;

    while ((sent = hn_next(hn)) != NULL) {
        const tenon_u8 *ip = sent->bytes + 14, *p = ip + 24;
        tenon_u8 mac[6];
        size_t len;

        if (hn_get16(sent->bytes + 12) != 0x0800 || ip[9] != 2)
            continue;
        HN_EQUAL(ip[0], 0x46);
        HN_EQUAL(hn_get32(ip + 20), 0x94040000);
        HN_EQUAL(hn_sum(0, ip, 24), 0xFFFF);
        len = hn_get16(ip + 2) - 24U;
        HN_EQUAL(hn_sum(0, p, len), 0xFFFF);
        out->sent = sent;
        out->ttl = ip[8];
        HN_EQUAL(out->ttl, 1);
        out->src = tenon_ip4(hn_get32(ip + 12));
        out->dst = tenon_ip4(hn_get32(ip + 16));
        hn_group_mac(mac, &out->dst);
        HN_CHECK(memcmp(sent->bytes, mac, 6) == 0);
        out->type = p[0];
        out->record = 0;
        out->group = tenon_ip4(hn_get32(p + 4));
        if (p[0] == 0x22) {
            HN_EQUAL(len, 16);
            HN_EQUAL(hn_get32(p + 4), 1);
            HN_EQUAL(hn_get16(p + 10), 0);
            out->record = p[8];
            out->group = tenon_ip4(hn_get32(p + 12));
        } else {
            HN_EQUAL(len, 8);
        }
        return 1;
    }
    return 0;
}

static int next_mld(struct hn *hn, struct report *out)
{
    struct lt_icmp6 m;

    while (lt_next_icmp6(hn, 0, &m)) {
        if (m.p[0] != 143 && m.p[0] != 131 && m.p[0] != 132)
            continue;
        HN_CHECK(m.router_alert);
        HN_EQUAL(m.hop_limit, 1);
        out->sent = m.sent;
        out->src = m.src;
        out->dst = m.dst;
        out->type = m.p[0];
        out->record = 0;
        if (m.p[0] == 143) {
            HN_EQUAL(m.len, 28);
            HN_EQUAL(hn_get32(m.p + 4), 1);
            HN_EQUAL(hn_get16(m.p + 10), 0);
            out->record = m.p[8];
            out->group = hn_get_ip(m.p + 12);
        } else {
            HN_EQUAL(m.len, 24);
            out->group = hn_get_ip(m.p + 8);
        }
        return 1;
    }
    return 0;
}

/* Give an IGMP message to the instance, from 10.0.0.9. */
static void igmp(struct hn *hn, const char *to, unsigned ttl, const tenon_u8 *bytes, size_t len)
{
    struct hn_packet packet;
    tenon_u8 p[64];

    memcpy(p, bytes, len);
    if (len >= 4) {
        hn_put16(p + 2, 0);
        hn_put16(p + 2, ~hn_sum(0, p, len) & 0xFFFF);
    }
    memset(&packet, 0, sizeof packet);
    hn_mac(packet.from, 1, 9);
    packet.src = hn_ip("10.0.0.9");
    packet.dst = hn_ip(to);
    packet.proto = 2;
    packet.ttl = ttl;
    packet.payload = p;
    packet.len = len;
    hn_packet(hn, 1, &packet);
}

/* code: maximum response; version 3: 12 bytes. */
static void igmp_query(struct hn *hn, int version, unsigned code, tenon_u32 group)
{
    tenon_u8 p[12];

    memset(p, 0, sizeof p);
    p[0] = 0x11;
    p[1] = (tenon_u8)code;
    hn_put32(p + 4, group);
    igmp(hn, "224.0.0.1", 1, p, version == 3 ? 12 : 8);
}

/* An MLD message with hop-by-hop header. alert: the option's first 16 bits, 0x0502 if it is to be one. */
static void mld(struct hn *hn, const char *from, const char *to, unsigned hop_limit, unsigned alert,
                const tenon_u8 *bytes, size_t len)
{
    const struct tenon_ip src = hn_ip(from), dst = hn_ip(to);
    tenon_u8 frame[160], mac[6], peer[6];
    tenon_u8 *p = frame + 14 + 48;

    hn_group_mac(mac, &dst);
    hn_eth(frame, mac, hn_mac(peer, 1, 9), 0x86DD);
    hn_ip_header(frame + 14, &src, &dst, 0, hop_limit, 8 + len);
    memset(frame + 54, 0, 8);
    frame[54] = 58;
    hn_put16(frame + 56, alert);
    frame[60] = 1;
    memcpy(p, bytes, len);
    hn_put16(p + 2, 0);
    hn_put16(p + 2, ~hn_sum(hn_pseudo(&src, &dst, 58, len), p, len) & 0xFFFF);
    hn_inject(hn, 1, frame, 14 + 48 + len);
}

static size_t mld_build(tenon_u8 p[32], unsigned type, int version, unsigned code, const char *group)
{
    const struct tenon_ip ip = hn_ip(group);

    memset(p, 0, 32);
    p[0] = (tenon_u8)type;
    hn_put16(p + 4, code);
    hn_put_ip(p + 8, &ip);
    return version == 2 ? 28 : 24;
}

static void mld_query(struct hn *hn, int version, unsigned code, const char *group)
{
    tenon_u8 p[32];

    mld(hn, "fe80::9", "ff02::1", 1, 0x0502, p, mld_build(p, 130, version, code, group));
}

/* ---- IGMP ------------------------------------------------------------------------------------ */

#define GROUP 0xE0000109U    /* 224.0.1.9 */

static void join_leave_version_3(void)
{
    const struct tenon_ip group = tenon_ip4(GROUP), all = hn_ip("224.0.0.22");
    struct report r;
    tenon_u32 start;
    struct hn hn;

    lt_open4(&hn, NULL);
    for (unsigned record = 4; record >= 3; record--) {    /* TO_EXCLUDE, TO_INCLUDE */
        start = hn.now_us;
        HN_EQUAL((record == 4 ? tenon_group_join : tenon_group_leave)(hn.stack, 1, &group), TENON_OK);
        hn_run_ms(&hn, 10000);
        HN_CHECK(next_igmp(&hn, &r));
        HN_EQUAL(r.sent->at_us, start);
        HN_EQUAL(r.src.w[3], 0x0A000001);
        for (unsigned i = 0; i < 2; i++) {
            HN_EQUAL(r.type, 0x22);
            HN_EQUAL(r.record, record);
            HN_CHECK(tenon_ip_equal(&r.dst, &all));
            HN_CHECK(tenon_ip_equal(&r.group, &group));
            if (i == 0)
                HN_CHECK(next_igmp(&hn, &r));
        }
        HN_CHECK(r.sent->at_us - start <= 1010000);
        HN_CHECK(!next_igmp(&hn, &r));
    }
    hn_close(&hn);
}

static void join_counted(void)
{
    const struct tenon_ip group = tenon_ip4(GROUP);
    const struct tn_netif *netif;
    struct report r;
    struct hn hn;

    lt_open4(&hn, NULL);
    netif = tn_netif_at(hn.stack, 1);
    for (unsigned i = 0; i < 3; i++)
        HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 5000);
    hn_forget(&hn);
    for (unsigned i = 0; i < 2; i++)
        HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 5000);
    HN_EQUAL(hn.nsent, 0);
    HN_EQUAL(tn_addr_classify(hn.stack, netif, &group), TN_DST_MULTICAST);
    HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
    HN_EQUAL(tn_addr_classify(hn.stack, netif, &group), TN_DST_OTHER);
    HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_ENOADDR);
    /* Joined again before it has been left for good. */
    hn_run(&hn, 0);
    hn_forget(&hn);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 5000);
    while (next_igmp(&hn, &r))
        HN_EQUAL(r.record, 4);
    HN_EQUAL(hn.nsent, 2);
    hn_close(&hn);
}

static void join_wrong(void)
{
    static const struct {
        const char *group;
        int join, leave;
    } rows[] = { { "10.0.0.1", TENON_EINVAL, TENON_EINVAL }, { "255.255.255.255", TENON_EINVAL, TENON_EINVAL },
                 { "2001:db8::1", TENON_EINVAL, TENON_EINVAL }, { "224.0.0.1", TENON_OK, TENON_OK },
                 { "239.1.2.3", TENON_OK, TENON_OK }, { "ff02::5", TENON_EINVAL, TENON_ENOADDR } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip group = hn_ip(rows[i].group);
        struct hn hn;

        hn_row = rows[i].group;
        lt_open4(&hn, NULL);    /* without IPv6 */
        HN_EQUAL(tenon_group_join(hn.stack, 1, &group), rows[i].join);
        HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), rows[i].leave);
        hn_close(&hn);
    }
}

static void join_too_many(void)
{
    struct tenon_conf conf;
    struct tenon_ip group;
    struct hn hn;

    tenon_conf_default(&conf);
    conf.groups_max = 4;
    lt_open4(&hn, &conf);
    for (tenon_u32 i = 0; i < 5; i++) {
        group = tenon_ip4(GROUP + i);
        HN_EQUAL(tenon_group_join(hn.stack, 1, &group), i < 4 ? TENON_OK : TENON_ELIMIT);
    }
    /* One that is only being left makes room. */
    group = tenon_ip4(GROUP);
    HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
    group = tenon_ip4(GROUP + 9);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 5000);
    hn_close(&hn);
}

/* 224.0.0.1 is never reported (RFC 1112 6.1). */
static void all_systems_query(void)
{
    const struct tenon_ip all = hn_ip("224.0.0.1");
    struct hn hn;

    lt_open4(&hn, NULL);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &all), TENON_OK);
    igmp_query(&hn, 3, 10, 0);
    igmp_query(&hn, 2, 10, all.w[3]);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(hn.nsent, 0);
    HN_EQUAL(tenon_group_leave(hn.stack, 1, &all), TENON_OK);
    hn_close(&hn);
}

/* Joined and reported: 224.0.1.9 and 224.0.1.10. */
static void open_joined(struct hn *hn)
{
    lt_open4(hn, NULL);
    for (tenon_u32 i = 0; i < 2; i++) {
        const struct tenon_ip group = tenon_ip4(GROUP + i);

        HN_EQUAL(tenon_group_join(hn->stack, 1, &group), TENON_OK);
    }
    hn_run_ms(hn, 30000);
    hn_forget(hn);
}

static void joined_query(void)
{
    static const struct {
        const char *name;
        int version;
        unsigned code;
        tenon_u32 group;
        unsigned reports, type;
        tenon_u32 max_ms;
    } rows[] = { { "v3_general", 3, 20, 0, 2, 0x22, 2000 },
                 { "v3_group", 3, 20, GROUP, 1, 0x22, 2000 },
                 { "v3_other_group", 3, 20, GROUP + 7, 0, 0, 2000 },
                 { "v3_exponent", 3, 0x90, 0, 2, 0x22, 25600 },       /* 0x10 << 4 tenths */
                 { "v2_general", 2, 50, 0, 2, 0x16, 5000 },
                 { "v2_group", 2, 10, GROUP, 1, 0x22, 1000 },
                 { "v1_general", 1, 0, 0, 2, 0x12, 10000 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct report r;
        tenon_u32 start;
        unsigned n = 0;
        struct hn hn;

        hn_row = rows[i].name;
        open_joined(&hn);
        start = hn.now_us;
        igmp_query(&hn, rows[i].version, rows[i].code, rows[i].group);
        hn_run_ms(&hn, 40000);
        while (next_igmp(&hn, &r)) {
            HN_EQUAL(r.type, rows[i].type);
            HN_EQUAL(r.dst.w[3], rows[i].type == 0x22 ? 0xE0000016 : r.group.w[3]);
            HN_EQUAL(r.record, rows[i].type == 0x22 ? 2 : 0);    /* MODE_IS_EXCLUDE */
            HN_CHECK(r.sent->at_us - start <= rows[i].max_ms * 1000 + 10000);
            n++;
        }
        HN_EQUAL(n, rows[i].reports);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_IGMP_BAD), 0);
        hn_close(&hn);
    }
}

/* The change that is to be reported once more is the answer, in time. */
static void joining_query(void)
{
    const struct tenon_ip group = tenon_ip4(GROUP);
    struct report r;
    tenon_u32 start;
    struct hn hn;

    lt_open4(&hn, NULL);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run(&hn, 0);
    HN_CHECK(next_igmp(&hn, &r));
    start = hn.now_us;
    igmp_query(&hn, 3, 1, 0);
    hn_run_ms(&hn, 20000);
    HN_CHECK(next_igmp(&hn, &r));
    HN_EQUAL(r.record, 4);
    HN_CHECK(r.sent->at_us - start <= 110000);
    HN_CHECK(!next_igmp(&hn, &r));
    hn_close(&hn);
}

/* RFC 3376 7.2.1: version 2 is spoken as long as its querier is there, and 260 seconds more. */
static void joined_old_querier(void)
{
    const struct tenon_ip group = tenon_ip4(GROUP + 5), routers = hn_ip("224.0.0.2");
    struct report r;
    struct hn hn;

    open_joined(&hn);
    igmp_query(&hn, 2, 1, 0);
    hn_run_ms(&hn, 1000);
    hn_forget(&hn);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 20000);
    for (unsigned i = 0; i < 2; i++) {
        HN_CHECK(next_igmp(&hn, &r));
        HN_EQUAL(r.type, 0x16);
        HN_CHECK(tenon_ip_equal(&r.dst, &group));
    }
    HN_CHECK(!next_igmp(&hn, &r));
    HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 20000);
    HN_CHECK(next_igmp(&hn, &r));
    HN_EQUAL(r.type, 0x17);
    HN_CHECK(tenon_ip_equal(&r.dst, &routers));
    HN_CHECK(!next_igmp(&hn, &r));
    hn_run_ms(&hn, 260000);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 1);
    HN_CHECK(next_igmp(&hn, &r));
    HN_EQUAL(r.type, 0x22);
    hn_close(&hn);
}

/* RFC 2236 3: who hears another member's report need not report; in version 3 everybody does. */
static void queried_other_reports(void)
{
    for (int version = 2; version <= 3; version++) {
        tenon_u8 p[8];
        struct report r;
        unsigned n = 0;
        struct hn hn;

        open_joined(&hn);
        igmp_query(&hn, version, 100, 0);
        memset(p, 0, sizeof p);
        p[0] = 0x16;
        hn_put32(p + 4, GROUP);
        igmp(&hn, "224.0.1.9", 1, p, sizeof p);
        hn_run_ms(&hn, 20000);
        while (next_igmp(&hn, &r))
            n++;
        HN_EQUAL(n, version == 2 ? 1 : 2);
        hn_close(&hn);
    }
}

/* RFC 2236 6: one's own report, sent on joining, need not be sent again after another member's; a message that one has
 * left has to be, as it is not what that member says. */
static void repeated_other_reports(void)
{
    const struct tenon_ip group = tenon_ip4(GROUP);
    tenon_u8 report[8] = {0x16, 0, 0, 0, 0, 0, 0, 0};
    struct report r;
    struct hn hn;

    hn_put32(report + 4, GROUP);
    for (int leaves = 0; leaves <= 1; leaves++) {
        lt_open4(&hn, NULL);
        if (!leaves)
            igmp_query(&hn, 2, 1, 0);
        HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
        hn_run_ms(&hn, leaves ? 20000 : 0);
        if (leaves)
            HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
        hn_run_ms(&hn, 0);
        HN_CHECK(next_igmp(&hn, &r));
        hn_forget(&hn);
        if (leaves)
            igmp_query(&hn, 2, 1, 0);
        igmp(&hn, "224.0.1.9", 1, report, sizeof(report));
        hn_run_ms(&hn, 20000);
        HN_EQUAL(next_igmp(&hn, &r), leaves);
        if (leaves)
            HN_EQUAL(r.type, 0x17);
        hn_close(&hn);
    }
}

static void joined_bad_message(void)
{
    static const struct {
        const char *name;
        tenon_u8 bytes[24];
        size_t len;
        unsigned ttl, bad;
    } rows[] = {
        { "good", { 0x11, 10, 0, 0, 0, 0, 0, 0 }, 8, 1, 0 },
        { "ttl_2", { 0x11, 10, 0, 0, 0, 0, 0, 0 }, 8, 2, 1 },
        { "short_7", { 0x11, 10, 0, 0, 0, 0, 0 }, 7, 1, 1 },
        { "short_4", { 0x11, 10, 0, 0 }, 4, 1, 1 },
        { "length_9", { 0x11, 10, 0, 0, 0, 0, 0, 0, 0 }, 9, 1, 1 },
        { "length_11", { 0x11, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 11, 1, 1 },
        { "group_unicast", { 0x11, 10, 0, 0, 10, 0, 0, 1 }, 8, 1, 1 },
        { "sources_1_of_0", { 0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 1 }, 12, 1, 1 },
        { "sources_65535", { 0x11, 10, 0, 0, 0xE0, 0, 1, 9, 2, 125, 0xFF, 0xFF, 1, 2, 3, 4 }, 16, 1, 1 },
        { "sources_1", { 0x11, 10, 0, 0, 0xE0, 0, 1, 9, 2, 125, 0, 1, 1, 2, 3, 4 }, 16, 1, 0 },
        { "type_unknown", { 0x99, 10, 0, 0, 0, 0, 0, 0 }, 8, 1, 0 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct hn hn;

        hn_row = rows[i].name;
        open_joined(&hn);
        igmp(&hn, "224.0.0.1", rows[i].ttl, rows[i].bytes, rows[i].len);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_IGMP_BAD), rows[i].bad);
        hn_run_ms(&hn, 20000);
        if (rows[i].bad)
            HN_EQUAL(hn.nsent, 0);
        hn_close(&hn);
    }
}

/* CVE-2019-12259: a query when there is nothing to answer with, neither groups nor addresses. */
static void nothing_query(void)
{
    const struct tenon_ip group = tenon_ip4(GROUP);
    struct report r;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_IP6);
    igmp_query(&hn, 3, 10, 0);
    igmp_query(&hn, 2, 0, 0);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(hn.nsent, 0);
    hn_run_ms(&hn, 300000);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run(&hn, 0);
    HN_CHECK(next_igmp(&hn, &r));
    HN_EQUAL(r.src.w[3], 0);
    hn_close(&hn);
}

/* ---- MLD ------------------------------------------------------------------------------------- */

static void mld_join_leave(void)
{
    const struct tenon_ip group = hn_ip("ff05::1:3"), all = hn_ip("ff02::16");
    struct tenon_ip ours;
    struct report r;
    tenon_u32 start;
    struct hn hn;

    lt_open6(&hn, NULL);
    ours = lt_link_local(&hn, 1);
    for (unsigned record = 4; record >= 3; record--) {
        start = hn.now_us;
        HN_EQUAL((record == 4 ? tenon_group_join : tenon_group_leave)(hn.stack, 1, &group), TENON_OK);
        hn_run_ms(&hn, 10000);
        for (unsigned i = 0; i < 2; i++) {
            HN_CHECK(next_mld(&hn, &r));
            HN_EQUAL(r.type, 143);
            HN_EQUAL(r.record, record);
            HN_CHECK(tenon_ip_equal(&r.src, &ours));
            HN_CHECK(tenon_ip_equal(&r.dst, &all));
            HN_CHECK(tenon_ip_equal(&r.group, &group));
        }
        HN_CHECK(r.sent->at_us - start <= 1010000);
        HN_CHECK(!next_mld(&hn, &r));
    }
    hn_close(&hn);
}

/* All nodes and scopes 0 and 1 are never reported (RFC 2710 5, RFC 3810 6). */
static void mld_unreported(void)
{
    static const char *const groups[] = { "ff02::1", "ff01::1", "ff01::5", "ff00::5" };
    struct hn hn;

    lt_open6(&hn, NULL);
    for (size_t i = 0; i < TENON_ARRAY_LEN(groups); i++) {
        const struct tenon_ip group = hn_ip(groups[i]);

        HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
        HN_EQUAL(tn_addr_classify(hn.stack, tn_netif_at(hn.stack, 1), &group), TN_DST_MULTICAST);
    }
    hn_run_ms(&hn, 10000);
    HN_EQUAL(hn.nsent, 0);
    for (size_t i = 0; i < TENON_ARRAY_LEN(groups); i++) {
        const struct tenon_ip group = hn_ip(groups[i]);

        HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
    }
    hn_run_ms(&hn, 10000);
    HN_EQUAL(hn.nsent, 0);
    hn_close(&hn);
}

static void mld_joined_query(void)
{
    static const struct {
        const char *name;
        int version;
        unsigned code;
        const char *group;
        unsigned reports, type;
        tenon_u32 max_ms;
    } rows[] = { { "v2_general", 2, 3000, "::", 3, 143, 3000 },          /* and two solicited-node groups */
                 { "v2_group", 2, 3000, "ff05::1:3", 1, 143, 3000 },
                 { "v2_other_group", 2, 3000, "ff05::1:4", 0, 0, 0 },
                 { "v2_exponent", 2, 0x8001, "::", 3, 143, 32776 },      /* 0x1001 << 3 */
                 { "v1_general", 1, 3000, "::", 3, 131, 3000 },
                 { "v1_group", 1, 0, "ff05::1:3", 1, 131, 0 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        const struct tenon_ip group = hn_ip("ff05::1:3");
        struct report r;
        tenon_u32 start;
        unsigned n = 0;
        struct hn hn;

        hn_row = rows[i].name;
        lt_open6(&hn, NULL);
        HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
        hn_run_ms(&hn, 10000);
        hn_forget(&hn);
        start = hn.now_us;
        mld_query(&hn, rows[i].version, rows[i].code, rows[i].group);
        hn_run_ms(&hn, 40000);
        while (next_mld(&hn, &r)) {
            HN_EQUAL(r.type, rows[i].type);
            HN_EQUAL(r.record, rows[i].type == 143 ? 2 : 0);
            HN_CHECK(r.type == 143 || tenon_ip_equal(&r.dst, &r.group));
            HN_CHECK(r.sent->at_us - start <= rows[i].max_ms * 1000 + 10000);
            n++;
        }
        HN_EQUAL(n, rows[i].reports);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_MLD_BAD), 0);
        hn_close(&hn);
    }
}

static void mld_old_querier(void)
{
    const struct tenon_ip group = hn_ip("ff05::1:3"), routers = hn_ip("ff02::2");
    tenon_u8 p[32];
    struct report r;
    struct hn hn;

    lt_open6(&hn, NULL);
    mld_query(&hn, 1, 10, "::");
    hn_run_ms(&hn, 1000);
    hn_forget(&hn);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 20000);
    HN_EQUAL(hn.nsent, 2);
    mld_query(&hn, 1, 5000, "ff05::1:3");
    mld(&hn, "fe80::9", "ff05::1:3", 1, 0x0502, p, mld_build(p, 131, 1, 0, "ff05::1:3"));
    hn_run_ms(&hn, 20000);
    HN_EQUAL(hn.nsent, 2);    /* the other member's report was enough */
    mld_query(&hn, 1, 5000, "ff05::1:3");
    mld(&hn, "::", "ff05::1:3", 1, 0x0502, p, mld_build(p, 131, 1, 0, "ff05::1:3"));
    hn_run_ms(&hn, 20000);
    HN_EQUAL(hn.nsent, 3);    /* from ::, no router has heard it */
    HN_EQUAL(hn_stat(&hn, TENON_STAT_MLD_BAD), 0);
    HN_EQUAL(tenon_group_leave(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 20000);
    hn.taken = 3;
    HN_CHECK(next_mld(&hn, &r));
    HN_EQUAL(r.type, 132);
    HN_CHECK(tenon_ip_equal(&r.dst, &routers));
    HN_CHECK(!next_mld(&hn, &r));
    hn_run_ms(&hn, 260000);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    hn_run_ms(&hn, 1);
    HN_CHECK(next_mld(&hn, &r));
    HN_EQUAL(r.type, 143);
    hn_close(&hn);
}

static void mld_bad_message(void)
{
    static const struct {
        const char *name, *src, *group;
        unsigned hop_limit, alert, nsources;
        size_t len;
        unsigned bad;
    } rows[] = {
        { "good", "fe80::9", "::", 1, 0x0502, 0, 28, 0 },
        { "hop_limit_2", "fe80::9", "::", 2, 0x0502, 0, 28, 1 },
        { "hop_limit_255", "fe80::9", "::", 255, 0x0502, 0, 28, 1 },
        { "no_router_alert", "fe80::9", "::", 1, 0x0102, 0, 28, 1 },
        { "source_global", "2001:db8::9", "::", 1, 0x0502, 0, 28, 1 },
        { "group_unicast", "fe80::9", "2001:db8::1", 1, 0x0502, 0, 28, 1 },
        { "group_ip4", "fe80::9", "::ffff:224.0.1.9", 1, 0x0502, 0, 28, 1 },
        { "short_23", "fe80::9", "::", 1, 0x0502, 0, 23, 1 },
        { "length_25", "fe80::9", "::", 1, 0x0502, 0, 25, 1 },
        { "length_27", "fe80::9", "::", 1, 0x0502, 0, 27, 1 },
        { "sources_1_of_0", "fe80::9", "::", 1, 0x0502, 1, 28, 1 },
        { "sources_65535", "fe80::9", "::", 1, 0x0502, 65535, 28, 1 }
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 p[32];
        struct hn hn;

        hn_row = rows[i].name;
        lt_open6(&hn, NULL);
        (void)mld_build(p, 130, 2, 1000, rows[i].group);
        hn_put16(p + 26, rows[i].nsources);
        mld(&hn, rows[i].src, "ff02::1", rows[i].hop_limit, rows[i].alert, p, rows[i].len);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_MLD_BAD), rows[i].bad);
        hn_run_ms(&hn, 5000);
        HN_EQUAL(hn.nsent > 0, !rows[i].bad);
        hn_close(&hn);
    }
}

/* The group of an address goes with the last address that needs it. */
static void solicited_node_shared(void)
{
    const struct tenon_ip a = hn_ip("2001:db8:1::77"), b = hn_ip("2001:db8:2::77"), group = lt_solicited(&a);
    const struct tn_netif *netif;
    struct hn hn;

    lt_open6(&hn, NULL);
    netif = tn_netif_at(hn.stack, 1);
    HN_EQUAL(tn_addr_classify(hn.stack, netif, &group), TN_DST_OTHER);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &a, 64), TENON_OK);
    HN_EQUAL(tenon_addr_add(hn.stack, 1, &b, 64), TENON_OK);
    HN_EQUAL(tenon_addr_remove(hn.stack, 1, &a), TENON_OK);
    HN_EQUAL(tn_addr_classify(hn.stack, netif, &group), TN_DST_MULTICAST);
    HN_EQUAL(tenon_addr_remove(hn.stack, 1, &b), TENON_OK);
    HN_EQUAL(tn_addr_classify(hn.stack, netif, &group), TN_DST_OTHER);
    hn_run_ms(&hn, 5000);
    hn_close(&hn);
}

/* RFC 3590 4: who joins before there is a link-local address reports from ::, which no router takes, and again when
 * there is one. Those of IPv4 have nothing to do with it. */
static void mld_joined_before_address(void)
{
    const struct tenon_ip group = hn_ip("ff05::1:3"), group4 = hn_ip("239.1.2.3");
    unsigned from_any = 0, from_ours = 0, n4 = 0;
    const struct hn_sent *sent;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_netif(&hn, TENON_NETIF_NO_RA);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group), TENON_OK);
    HN_EQUAL(tenon_group_join(hn.stack, 1, &group4), TENON_OK);
    hn_run_ms(&hn, 30000);
    while ((sent = lt_next_ip(&hn)) != NULL) {
        const tenon_u8 *p = sent->bytes + 14;
        struct tenon_ip src, record;

        n4 += p[0] >> 4 == 4;
        if (p[0] >> 4 == 4 || p[48] != 143)
            continue;
        src = hn_get_ip(p + 8);
        record = hn_get_ip(p + 48 + 12);
        from_any += tenon_ip_equal(&record, &group) && tenon_ip_is_any(&src);
        from_ours += tenon_ip_equal(&record, &group) && !tenon_ip_is_any(&src);
    }
    HN_CHECK(from_any > 0);
    HN_CHECK(from_ours >= 2);
    HN_EQUAL(n4, 2);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "join_leave_version_3", "IGMP-1 IGMP-2", join_leave_version_3 },
    { "join_counted", "IGMP-2", join_counted },
    { "join_wrong", "IGMP-3", join_wrong },
    { "join_too_many", "VUL-F-13", join_too_many },
    { "all_systems_query", "IGMP-3", all_systems_query },
    { "joined_query", "IGMP-1 IGMP-2", joined_query },
    { "joining_query", "IGMP-2", joining_query },
    { "joined_old_querier", "IGMP-1 IGMP-2", joined_old_querier },
    { "queried_other_reports", "IGMP-1", queried_other_reports },
    { "repeated_other_reports", "IGMP-1", repeated_other_reports },
    { "joined_bad_message", "IGMP-4 CVE-2019-12265 CVE-2007-0069 VUL-F-9", joined_bad_message },
    { "nothing_query", "IGMP-4 CVE-2019-12259", nothing_query },
    { "mld_join_leave", "MLD-1 MLD-2", mld_join_leave },
    { "mld_unreported", "MLD-1", mld_unreported },
    { "mld_joined_query", "MLD-1 MLD-2", mld_joined_query },
    { "mld_old_querier", "MLD-1 MLD-2", mld_old_querier },
    { "mld_bad_message", "MLD-3 CVE-2007-0069 VUL-F-9", mld_bad_message },
    { "solicited_node_shared", "SLAAC-2 MLD-4", solicited_node_shared },
    { "mld_joined_before_address", "MLD-1 MLD-2", mld_joined_before_address },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
