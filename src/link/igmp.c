/* SPDX-License-Identifier: MIT */
/* IGMP of hosts: version 3 (RFC 3376), and versions 2 (RFC 2236) and 1 (RFC 1112) while a querier speaks
 * those. */
#include "base/bytes.h"
#include "link/link_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum {
    IGMP_QUERY = 0x11,
    IGMP_REPORT1 = 0x12,
    IGMP_REPORT2 = 0x16,
    IGMP_LEAVE2 = 0x17,
    IGMP_REPORT3 = 0x22
};
enum { IGMP_BYTES = 8, IGMP_QUERY3_BYTES = 12, IGMP_REPORT3_BYTES = 16 };
enum { IGMP_MAX_RESPONSE1_MS = 10000 };
enum { IGMP_COMPAT_S = 260 };    /* RFC 3376 8.12: robustness * query interval + a response interval */

static int igmp_version(const struct tenon *stack, const struct tn_netif *netif)
{
    if (netif->igmp_v1_until_s != 0 && !tn_link_is_over(stack, netif->igmp_v1_until_s))
        return 1;
    if (netif->igmp_v2_until_s != 0 && !tn_link_is_over(stack, netif->igmp_v2_until_s))
        return 2;
    return 3;
}

TENON_INTERNAL int tn_igmp_is_old(const struct tenon *stack, const struct tn_netif *netif)
{
    return igmp_version(stack, netif) < 3;
}

/* ---- output ---------------------------------------------------------------------------------- */

static unsigned igmp_build(tenon_u8 *p, int version, const struct tenon_ip *group, enum group_report what)
{
    memset(p, 0, IGMP_REPORT3_BYTES);
    if (version < 3) {
        p[0] = version == 1 ? IGMP_REPORT1 : what == GROUP_LEAVE ? IGMP_LEAVE2 : IGMP_REPORT2;
        put32be(p + 4, group->w[TENON_IP4_WORD]);
        return IGMP_BYTES;
    }
    p[0] = IGMP_REPORT3;
    p[7] = 1;    /* one record, without sources */
    p[8] = (tenon_u8)what;
    put32be(p + 12, group->w[TENON_IP4_WORD]);
    return IGMP_REPORT3_BYTES;
}

static tenon_u32 igmp_destination(int version, const struct tenon_ip *group, enum group_report what)
{
    if (version == 3)
        return 0xE0000016UL;
    return what == GROUP_LEAVE ? 0xE0000002UL : group->w[TENON_IP4_WORD];
}

TENON_INTERNAL void tn_igmp_report(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *group,
                                   enum group_report what)
{
    const int version = igmp_version(stack, netif);
    const struct tn_address *address;
    struct tn_out out;

    if ((version == 1 && what == GROUP_LEAVE) || tn_out_new(stack, &out) != TENON_OK)
        return;
    out.len = igmp_build(out.hdr->data + out.off, version, group, what);
    out.dst = tenon_ip4(igmp_destination(version, group, what));
    address = tn_source_select(stack, &out.dst, netif->index, &out.dst);
    out.src = address != NULL ? address->ip : tenon_ip4(0);    /* RFC 3376 4.2.13 */
    out.proto = TN_PROTO_IGMP;
    out.ttl = 1;
    out.tos = 0xC0;    /* RFC 3376 4: internetwork control */
    out.router_alert = 1;
    (void)tn_link_message(stack, netif, &out);
}

/* ---- input ----------------------------------------------------------------------------------- */

/* RFC 3376 4.1.1: tenths of a second; from 128 on a number with 4 bits of mantissa and 3 of exponent. */
static tenon_u32 igmp_max_response_ms(unsigned code)
{
    if (code < 128)
        return code * 100UL;
    return ((tenon_u32)((code & 0xF) | 0x10) << ((code >> 4 & 7) + 3)) * 100;
}

/* RFC 3376 7.1: the length tells the version. @return 0, or -1: bad */
static int igmp_query(struct tenon *stack, struct tn_netif *netif, const tenon_u8 *p, tenon_u32 len)
{
    const struct tenon_ip group = tenon_ip4(get32be(p + 4));
    tenon_u32 max_ms = igmp_max_response_ms(p[1]);

    if (get32be(p + 4) != 0 && !tn_ip_is_multicast(&group))
        return -1;
    if (len == IGMP_BYTES && p[1] == 0) {
        netif->igmp_v1_until_s = tn_link_deadline(stack, IGMP_COMPAT_S);
        max_ms = IGMP_MAX_RESPONSE1_MS;
    } else if (len == IGMP_BYTES) {
        if (get32be(p + 4) == 0)    /* RFC 3376 7.2.1: a general one */
            netif->igmp_v2_until_s = tn_link_deadline(stack, IGMP_COMPAT_S);
        max_ms = p[1] * 100UL;
    } else if (len < IGMP_QUERY3_BYTES || get16be(p + 10) > (len - IGMP_QUERY3_BYTES) / 4) {
        return -1;
    }
    /* A query about sources is answered with our whole state, which says that we want all of them. */
    tn_groups_queried(stack, netif, &group, max_ms);
    return 0;
}

static int igmp_dispatch(struct tenon *stack, struct tn_pkt *pkt, const tenon_u8 *p)
{
    const struct tenon_ip group = tenon_ip4(get32be(p + 4));

    switch (p[0]) {
    case IGMP_QUERY: return pkt->ttl == 1 ? igmp_query(stack, pkt->netif, p, pkt->len) : -1;
    case IGMP_REPORT1:
    case IGMP_REPORT2: tn_group_suppress(stack, pkt->netif, &group); return 0;
    default: return 0;
    }
}

TENON_INTERNAL void tn_igmp_input(struct tenon *stack, struct tn_pkt *pkt)
{
    tenon_u8 p[IGMP_QUERY3_BYTES];
    const tenon_u32 n = tn_min(pkt->len, sizeof(p));

    if (!TENON_WITH_IGMP)
        return;
    memset(p, 0, sizeof(p));
    tn_spans_copy(p, pkt->spans, pkt->off, n);
    if (n < IGMP_BYTES || igmp_dispatch(stack, pkt, p) != 0)
        tn_count(stack, TENON_STAT_IGMP_BAD);
}
