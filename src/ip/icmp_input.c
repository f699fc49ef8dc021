/* SPDX-License-Identifier: MIT */
/* ICMP received, of both versions: requests are answered, errors brought to whom they concern. An error says
 * about itself what packet of ours it is about; nothing of that is believed before it fits (RFC 5927 4). */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum {
    QUOTE_L4_BYTES = 8,       /* of the quoted transport header that every error brings (RFC 792) */
    ICMP4_TOO_BIG_CODE = 4,   /* of "unreachable": it would have to be cut, and may not be (RFC 1191 4) */
    PMTU4_MIN = 68,           /* RFC 791 3.2 */
    PMTU6_MIN = 1280,         /* RFC 8201 4 */
    ICMP6_ERRORS_END = 128    /* types below are errors (RFC 4443 2.1) */
};

/* ---- what an error says -------------------------------------------------------------------------------- */

/* A build may hear no other errors than that a packet was too large. */
static int meaning_is_heard(int too_big)
{
    return TENON_WITH_ERRORS || (TENON_WITH_PATH_MTU && too_big);
}

/* What it is to the application, in the order of the kinds. Hard ones: RFC 9293 3.9.2.2. */
static TENON_ONCE_IF_SMALL void meaning_set(struct tn_err *err, enum tn_err_kind kind)
{
    static const tenon_u8 errors[] = { -TENON_EUNREACH, -TENON_EUNREACH, -TENON_EREFUSED, -TENON_EREFUSED,
                                       -TENON_EACCES, -TENON_EMSGSIZE, -TENON_EUNREACH, -TENON_EPROTO };

    err->kind = kind;
    err->hard = kind == TN_ERR_PROTOCOL || kind == TN_ERR_PORT;
    err->error = -(int)errors[kind];
}

/* RFC 1122 3.2.2.1, RFC 1812 5.2.7.1: by code; of others the network is taken to be out of reach. */
static enum tn_err_kind unreach4(unsigned code)
{
    static const tenon_u8 kinds[] = { TN_ERR_NET, TN_ERR_HOST, TN_ERR_PROTOCOL, TN_ERR_PORT, TN_ERR_TOO_BIG,
                                      TN_ERR_HOST, TN_ERR_NET, TN_ERR_HOST, TN_ERR_HOST, TN_ERR_ADMIN, TN_ERR_ADMIN,
                                      TN_ERR_NET, TN_ERR_HOST, TN_ERR_ADMIN, TN_ERR_ADMIN, TN_ERR_ADMIN };

    return code < sizeof(kinds) ? (enum tn_err_kind)kinds[code] : TN_ERR_NET;
}

static void meaning4(struct tn_err *err, const struct tn_icmp *icmp)
{
    if (!TENON_WITH_ERRORS)
        meaning_set(err, TN_ERR_TOO_BIG);
    else if (icmp->type == TN_ICMP4_UNREACH)
        meaning_set(err, unreach4(icmp->code));
    else
        meaning_set(err, icmp->type == TN_ICMP4_TIME ? TN_ERR_TIME : TN_ERR_PARAM);
    err->mtu = icmp->rest & 0xFFFFUL;    /* if it is too big */
}

/* RFC 4443 3.1 */
static void unreach6(struct tn_err *err, unsigned code)
{
    switch (code) {
    case 1: case 5: case 6:
        meaning_set(err, TN_ERR_ADMIN);
        err->hard = 1;
        return;
    case 3:
        meaning_set(err, TN_ERR_HOST);
        return;
    case 4:
        meaning_set(err, TN_ERR_PORT);
        return;
    default:
        meaning_set(err, TN_ERR_NET);
        return;
    }
}

/* RFC 4443 2.4 (a): an error of a kind that nobody knows is for the upper layer all the same. */
static void meaning6(struct tn_err *err, const struct tn_icmp *icmp)
{
    if (!TENON_WITH_ERRORS || icmp->type == TN_ICMP6_TOO_BIG) {
        meaning_set(err, TN_ERR_TOO_BIG);
        err->mtu = icmp->rest;
        return;
    }
    switch (icmp->type) {
    case TN_ICMP6_UNREACH:
        unreach6(err, icmp->code);
        return;
    case TN_ICMP6_TIME:
        meaning_set(err, TN_ERR_TIME);
        return;
    case TN_ICMP6_PARAM:
        if (icmp->code == 1)
            meaning_set(err, TN_ERR_PROTOCOL);
        else
            meaning_set(err, TN_ERR_PARAM);
        return;
    default:
        meaning_set(err, TN_ERR_PARAM);
        return;
    }
}

/* ---- the packet that it is about ----------------------------------------------------------------------- */

/* p: a packet of ours from its IP header on, of which len bytes are there. Neither a length in it nor its
 * checksum is trusted: routers change both. Of a fragment but the first nobody knows whose it is.
 * @return 0, or -1: it is none, or too short */
static int quote_parse4(struct tn_err *err, const tenon_u8 *p, tenon_u32 len)
{
    tenon_u32 header;

    if (len < TN_IP4_BYTES || p[0] >> 4 != 4)
        return -1;
    header = (p[0] & 0x0FU) * 4U;
    if (header < TN_IP4_BYTES || header > len || len - header < QUOTE_L4_BYTES)
        return -1;
    err->proto = get16be(p + 6) & 0x1FFF ? (tenon_u8)TN_PROTO_FRAGMENT : p[9];
    err->local.ip = tenon_ip4(get32be(p + 12));
    err->remote.ip = tenon_ip4(get32be(p + 16));
    err->l4 = p + header;
    err->l4_len = len - header;
    return 0;
}

static int quote_parse6(struct tn_err *err, const tenon_u8 *p, tenon_u32 len)
{
    struct tn_l4 l4;

    if (len < TN_IP6_BYTES || p[0] >> 4 != 6 || tn_ip6_find_l4(&l4, p, len) != 0 || len - l4.off < QUOTE_L4_BYTES)
        return -1;
    err->proto = l4.later ? (tenon_u8)TN_PROTO_FRAGMENT : l4.proto;
    read_ip6(&err->local.ip, p + 8);
    read_ip6(&err->remote.ip, p + 24);
    err->l4 = p + l4.off;
    err->l4_len = len - l4.off;
    return 0;
}

/* RFC 1191 7: the next smaller of the sizes that links have, for routers that do not tell theirs. */
static tenon_u32 pmtu_plateau(tenon_u32 total)
{
    static const tenon_u16 plateaus[] = { 32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296 };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(plateaus); i++) {
        if (plateaus[i] < total)
            return plateaus[i];
    }
    return PMTU4_MIN;
}

/* ---- to whom it goes ----------------------------------------------------------------------------------- */

static void icmp_dispatch(struct tenon *stack, struct tn_err *err, unsigned netif)
{
    err->local.port = get16be(err->l4);
    err->remote.port = get16be(err->l4 + 2);
    err->local.netif = err->remote.netif = (tenon_u16)netif;
    switch (err->proto) {
    case TN_PROTO_TCP:
        tn_tcp_error(stack, err);
        return;
    case TN_PROTO_UDP:
        tn_udp_error(stack, err);
        return;
    case TN_PROTO_ICMP:
    case TN_PROTO_ICMP6:
        tn_echo_error(stack, err);
        return;
    default:
        tn_count(stack, TENON_STAT_ICMP_ERROR_STRAY);
        return;
    }
}

/* The packet that an error or a redirect is about: one of ours, to whose source that was sent. What is foreign is
 * TCP's, or nobody's. @return 0, or -1: there is none, which is counted */
static int icmp_quote(struct tenon *stack, struct tn_err *err, const struct tn_pkt *pkt)
{
    const tenon_u8 *quote = pkt->head + TN_ICMP_BYTES;
    const tenon_u32 len = tn_pkt_head_len(pkt) - TN_ICMP_BYTES;

    if ((tn_pkt_is_v4(pkt) ? quote_parse4(err, quote, len) : quote_parse6(err, quote, len)) != 0) {
        tn_count(stack, TENON_STAT_ICMP_BAD);
        return -1;
    }
    if (pkt->dst_cast != TN_CAST_UNICAST || tenon_ip_is_any(&pkt->src) || !tenon_ip_equal(&err->local.ip, &pkt->dst) ||
        (tn_pkt_is_foreign(pkt) && err->proto != TN_PROTO_TCP)) {
        tn_count(stack, TENON_STAT_ICMP_ERROR_STRAY);
        return -1;
    }
    return 0;
}

static void icmp_error_input(struct tenon *stack, const struct tn_pkt *pkt, const struct tn_icmp *icmp)
{
    const int is_v4 = tn_pkt_is_v4(pkt);
    struct tn_err err;

    memset(&err, 0, sizeof(err));
    if (is_v4)
        meaning4(&err, icmp);
    else
        meaning6(&err, icmp);
    if (icmp_quote(stack, &err, pkt) != 0)
        return;
    if (TENON_WITH_PATH_MTU && tn_err_is_too_big(&err) && is_v4 && err.mtu == 0)
        err.mtu = pmtu_plateau(get16be(pkt->head + TN_ICMP_BYTES + 2));
    if (tn_err_is_too_big(&err) && (!TENON_WITH_PATH_MTU || err.mtu < (is_v4 ? PMTU4_MIN : PMTU6_MIN))) {
        tn_count(stack, TENON_STAT_PMTU_IGNORED);
        return;
    }
    err.from = pkt->src;
    icmp_dispatch(stack, &err, pkt->netif->index);
}

/* RFC 8201 4, RFC 8899 4.6.1, in the manner of RFC 5927 7.2: no router reports that a packet is too large if nothing
 * larger than what it lets pass was sent that way, or could be cut. Who forges one has to find a socket that sends
 * such packets, and gets no smaller MTU than the least all the same. */
TENON_INTERNAL int tn_pmtu_report(struct tenon *stack, const struct tn_err *err)
{
    struct tn_path *path = NULL;
    int believed;

    if (TENON_WITH_PATH_MTU)
        path = tn_path_known(stack, &err->remote.ip, tn_ip_scope(&err->remote.ip, err->remote.netif));
    if (TENON_WITH_PATH_MTU && TENON_WITH_NETIFS && path == NULL)
        path = tn_path_known(stack, &err->remote.ip, 0);
    believed = path != NULL && err->mtu < path->sent;
    if (believed && tn_path_lower_mtu(stack, path, err->mtu))
        tn_count(stack, TENON_STAT_PMTU_LOWERED);
    else
        tn_count(stack, TENON_STAT_PMTU_IGNORED);
    return believed;
}

TENON_INTERNAL void tn_icmp_local_error(struct tenon *stack, const tenon_u8 *l3, tenon_u32 len, enum tn_err_kind kind,
                                        unsigned netif)
{
    struct tn_err err;
    int error;

    if (!TENON_WITH_ERRORS)
        return;
    memset(&err, 0, sizeof(err));
    meaning_set(&err, kind);
    if (len == 0)
        return;
    if (!TENON_WITH_IPV6 || l3[0] >> 4 == 4)
        error = quote_parse4(&err, l3, len);
    else
        error = quote_parse6(&err, l3, len);
    if (error != 0)
        return;
    if (err.proto == TN_PROTO_TCP || err.proto == TN_PROTO_UDP || err.proto == TN_PROTO_ICMP ||
        err.proto == TN_PROTO_ICMP6)
        icmp_dispatch(stack, &err, netif);
}

/* ---- ICMPv4 -------------------------------------------------------------------------------------------- */

/* RFC 1122 3.2.2.2: what makes a redirect believable, as far as it shows here. */
static void icmp4_redirect(struct tenon *stack, const struct tn_pkt *pkt, const struct tn_icmp *icmp)
{
    const struct tenon_ip gateway = tenon_ip4(icmp->rest);
    struct tn_err err;

    if (icmp->code > 3)
        tn_count(stack, TENON_STAT_ICMP_BAD);
    else if (icmp_quote(stack, &err, pkt) == 0)
        tn_link_redirect4(stack, pkt->netif, &pkt->src, &err.remote.ip, &gateway);
}

static int icmp4_is_error(unsigned type)
{
    return type == TN_ICMP4_UNREACH || type == TN_ICMP4_TIME || type == TN_ICMP4_PARAM;
}

/* The rest is ignored by design: source quench (RFC 6633), timestamps, masks and other questions about
 * ourselves (RFC 6918), and types that nobody has defined (RFC 1122 3.2.2). */
static void icmp4_message(struct tenon *stack, struct tn_pkt *pkt, const struct tn_icmp *icmp)
{
    const unsigned type = icmp->type;

    if (icmp4_is_error(type) && meaning_is_heard(type == TN_ICMP4_UNREACH && icmp->code == ICMP4_TOO_BIG_CODE))
        icmp_error_input(stack, pkt, icmp);
    else if (tn_pkt_is_foreign(pkt))
        tn_count(stack, TENON_STAT_ICMP_IGNORED);
    else if (type == TN_ICMP4_ECHO && pkt->dst_cast == TN_CAST_UNICAST)
        tn_echo_request(stack, pkt, icmp);    /* RFC 1122 3.2.2.6: a broadcast one may be discarded, and is (smurf) */
    else if (TENON_WITH_PING && type == TN_ICMP4_ECHO_REPLY)
        tn_echo_reply(stack, pkt);
    else if (TENON_WITH_ROUTES && type == TN_ICMP4_REDIRECT)
        icmp4_redirect(stack, pkt, icmp);
    else
        tn_count(stack, TENON_STAT_ICMP_IGNORED);
}

/* ---- ICMPv6 -------------------------------------------------------------------------------------------- */

static int icmp6_is_discovery(unsigned type)
{
    return type >= TN_ICMP6_RS && type <= TN_ICMP6_REDIRECT;
}

static int icmp6_is_mld(unsigned type)
{
    return (type >= TN_ICMP6_MLD_QUERY && type <= TN_ICMP6_MLD_DONE) || type == TN_ICMP6_MLD2_REPORT;
}

/* Neighbour discovery and MLD read their options in one piece. */
static void icmp6_link(struct tenon *stack, struct tn_pkt *pkt, unsigned type)
{
    if (tn_pkt_pullup(stack, pkt, pkt->len) != TENON_OK)
        return;
    if (icmp6_is_discovery(type))
        tn_nd_input(stack, pkt);
    else
        tn_mld_input(stack, pkt);
}

/* A host that we may answer: not one that is still looking for its address. */
static int icmp6_source_good(const struct tenon *stack, const struct tn_pkt *pkt)
{
    return tn_ip_is_host(&pkt->src) && tn_addr_classify(stack, pkt->netif, &pkt->src) == TN_DST_OTHER;
}

/* RFC 6980 5: discovery in fragments passes by filters, so it is not listened to. */
static void icmp6_message(struct tenon *stack, struct tn_pkt *pkt, const struct tn_icmp *icmp)
{
    const unsigned type = icmp->type;

    if (type < ICMP6_ERRORS_END && meaning_is_heard(type == TN_ICMP6_TOO_BIG))
        icmp_error_input(stack, pkt, icmp);
    else if (tn_pkt_is_foreign(pkt))
        tn_count(stack, TENON_STAT_ICMP_IGNORED);
    else if (type == TN_ICMP6_ECHO && icmp6_source_good(stack, pkt))
        tn_echo_request(stack, pkt, icmp);
    else if (TENON_WITH_PING && type == TN_ICMP6_ECHO_REPLY)
        tn_echo_reply(stack, pkt);
    else if (icmp6_is_mld(type) || (icmp6_is_discovery(type) && !pkt->fragmented))
        icmp6_link(stack, pkt, type);
    else
        tn_count(stack, TENON_STAT_ICMP_IGNORED);
}

/* ---- both ---------------------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_icmp_input(struct tenon *stack, struct tn_pkt *pkt)
{
    struct tn_icmp icmp;

    if (tn_icmp_parse(&icmp, pkt->head, tn_pkt_head_len(pkt)) != 0 || !tn_pkt_csum_good(stack, pkt))
        tn_count(stack, TENON_STAT_ICMP_BAD);
    else if (tn_pkt_is_v4(pkt))
        icmp4_message(stack, pkt, &icmp);
    else
        icmp6_message(stack, pkt, &icmp);
}
