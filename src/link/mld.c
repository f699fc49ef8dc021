/* SPDX-License-Identifier: MIT */
/* MLD of listeners: version 2 (RFC 3810), and version 1 (RFC 2710) while a querier speaks that. */
#include "base/bytes.h"
#include "link/link_internal.h"
#include "wire/wire.h"

enum { MLD_BYTES = 24, MLD_QUERY2_BYTES = 28, MLD_REPORT2_BYTES = 28 };
enum { MLD_COMPAT_S = 260 };    /* RFC 3810 9.12 */

TENON_INTERNAL int tn_mld_is_old(const struct tenon *stack, const struct tn_netif *netif)
{
    return netif->mld_v1_until_s != 0 && !tn_link_is_over(stack, netif->mld_v1_until_s);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* From the link-local address, or from :: as long as there is none (RFC 3590 4). */
TENON_INTERNAL void tn_mld_report(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *group,
                                  enum group_report what, int old)
{
    const struct tn_address *address = tn_address_link_local(stack, netif->index);
    unsigned type = TN_ICMP6_MLD2_REPORT;
    struct tn_out out;
    tenon_u8 *p;

    if (old)
        type = what == GROUP_LEAVE ? TN_ICMP6_MLD_DONE : TN_ICMP6_MLD_REPORT;
    p = tn_link_icmp6(stack, &out, type, group);
    if (p == NULL)
        return;
    if (!old) {
        p[7] = 1;    /* one record, without sources */
        put32be(p + 8, (tenon_u32)what << 24);
        put_ip6(p + 12, group);
        out.len = MLD_REPORT2_BYTES;
    }
    out.ttl = 1;
    out.router_alert = 1;
    if (address != NULL)
        out.src = address->ip;
    out.dst = *group;
    if (type != TN_ICMP6_MLD_REPORT)
        out.dst = tenon_ip6(0xFF020000UL, 0, 0, old ? 2 : 0x16);
    (void)tn_link_message(stack, netif, &out);
}

/* ---- input ----------------------------------------------------------------------------------- */

/* RFC 3810 5.1.3: milliseconds; from 32768 on with 12 bits of mantissa and 3 of exponent. */
static tenon_u32 mld_max_response_ms(tenon_u32 code)
{
    if (code < 32768UL)
        return code;
    return ((code & 0xFFF) | 0x1000) << ((code >> 12 & 7) + 3);
}

/* RFC 3810 6.2, RFC 2710 3: a message without Router Alert in its hop-by-hop header is not for us. The header
 * has been checked by IP: its options end within it. */
static int mld_has_router_alert(const struct tn_pkt *pkt)
{
    const tenon_u8 *p = pkt->l3 + TN_IP6_BYTES;
    unsigned at = 2, end;

    if (pkt->l3[6] != TN_PROTO_HOPOPT)
        return 0;
    end = (p[1] + 1U) * 8U;
    while (at + 4 <= end) {
        if (p[at] == 5)
            return p[at + 1] == 2 && get16be(p + at + 2) == 0;
        at += p[at] == 0 ? 1U : p[at + 1] + 2U;
    }
    return 0;
}

static int mld_is_bad(const struct tn_pkt *pkt)
{
    return pkt->ttl != 1 || !mld_has_router_alert(pkt) || pkt->len < MLD_BYTES || !tn_ip_is_link_local(&pkt->src);
}

/* RFC 3810 8.1: the length tells the version. @return 0, or -1: bad */
static int mld_query(struct tenon *stack, const struct tn_pkt *pkt, const struct tenon_ip *group)
{
    const tenon_u8 *p = pkt->head;
    tenon_u32 max_ms = get16be(p + 4);

    if ((!tenon_ip_is_any(group) && !tn_ip_is_multicast(group)) || tenon_ip_is_v4(group))
        return -1;
    if (pkt->len == MLD_BYTES) {
        pkt->netif->mld_v1_until_s = tn_link_deadline(stack, MLD_COMPAT_S);
    } else {
        if (pkt->len < MLD_QUERY2_BYTES || get16be(p + 26) > (pkt->len - MLD_QUERY2_BYTES) / 16)
            return -1;
        max_ms = mld_max_response_ms(max_ms);
    }
    tn_groups_queried(stack, pkt->netif, group, max_ms);
    return 0;
}

TENON_INTERNAL void tn_mld_input(struct tenon *stack, struct tn_pkt *pkt)
{
    const unsigned type = pkt->head[0];
    struct tenon_ip group;

    if (!pkt->netif->ip6 || (type != TN_ICMP6_MLD_QUERY && type != TN_ICMP6_MLD_REPORT))
        return;    /* for routers */
    if (tenon_ip_is_any(&pkt->src))
        return;    /* for switches: no router listens to that, so it spares nobody a report (RFC 3590 4) */
    if (mld_is_bad(pkt)) {
        tn_count(stack, TENON_STAT_MLD_BAD);
        return;
    }
    read_ip6(&group, pkt->head + 8);
    if (type == TN_ICMP6_MLD_REPORT)
        tn_group_suppress(stack, pkt->netif, &group);
    else if (mld_query(stack, pkt, &group) != 0)
        tn_count(stack, TENON_STAT_MLD_BAD);
}
