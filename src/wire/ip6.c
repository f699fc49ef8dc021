/* SPDX-License-Identifier: MIT */
/* IPv6 (RFC 8200): the header, the fragment header, and the options of the two headers that have some. */
#include "wire/wire.h"
#include "base/bytes.h"

enum {
    IP6_OPT_PAD1 = 0,
    IP6_OPT_PADN = 1,
    IP6_OPT_ACTION_SHIFT = 6,    /* RFC 8200 4.2: what to do with an option one does not know */
    IP6_OPTS_MAX = 8,            /* RFC 8504 5.3: options that are no padding */
    IP6_PAD_MAX = 7              /* RFC 8504 5.3: bytes of padding in a row; RFC 8200 4.2 never needs more */
};

TENON_INTERNAL int tn_ip6_parse(struct tn_ip6 *ip, const tenon_u8 *p, tenon_u32 head, tenon_u32 len)
{
    tenon_u32 first;

    if (head < TN_IP6_BYTES || len < TN_IP6_BYTES)
        return -1;
    first = get32be(p);
    if (first >> 28 != 6)
        return -1;
    ip->payload = get16be(p + 4);
    ip->next = p[6];
    if (ip->payload > len - TN_IP6_BYTES)
        return -1;
    /* A length of 0 in front of a hop-by-hop header would be a jumbogram (RFC 2675), which is not spoken. */
    if (ip->payload == 0 && ip->next == TN_PROTO_HOPOPT)
        return -1;
    ip->tos = (tenon_u8)(first >> 20 & 0xFF);
    ip->flow = first & 0xFFFFFUL;
    ip->hop_limit = p[7];
    return 0;
}

TENON_INTERNAL unsigned tn_ip6_build(tenon_u8 *p, const struct tn_ip6 *ip, const struct tenon_ip *src,
                                     const struct tenon_ip *dst)
{
    put32be(p, 6UL << 28 | (tenon_u32)ip->tos << 20 | (ip->flow & 0xFFFFFUL));
    put16be(p + 4, ip->payload);
    p[6] = ip->next;
    p[7] = ip->hop_limit;
    put_ip6(p + 8, src);
    put_ip6(p + 24, dst);
    return TN_IP6_BYTES;
}

/* RFC 8200 4.5; its reserved fields are ignored on receipt and sent as 0. The offset is in units of 8 bytes in
 * the upper 13 bits of 16: its bytes are what the field shows with the lower 3 bits cleared. */
TENON_INTERNAL int tn_frag6_parse(struct tn_frag6 *frag, const tenon_u8 *p, tenon_u32 len)
{
    if (len < TN_FRAG6_BYTES)
        return -1;
    frag->next = p[0];
    frag->off = get16be(p + 2) & 0xFFF8;
    frag->more = p[3] & 1;
    frag->id = get32be(p + 4);
    return 0;
}

TENON_INTERNAL unsigned tn_frag6_build(tenon_u8 *p, const struct tn_frag6 *frag)
{
    p[0] = frag->next;
    p[1] = 0;
    put16be(p + 2, (frag->off & 0xFFF8UL) | (frag->more != 0));
    put32be(p + 4, frag->id);
    return TN_FRAG6_BYTES;
}

/* What an option of a kind that is not padding asks for: none is known here, so its kind says what to do. */
static enum tn_opt6_verdict ip6_opt_verdict(unsigned kind)
{
    switch (kind >> IP6_OPT_ACTION_SHIFT) {
    case 0:
        return TN_OPT6_OK;
    case 1:
        return TN_OPT6_DISCARD;
    case 2:
        return TN_OPT6_ERROR;
    default:
        return TN_OPT6_ERROR_UNICAST;
    }
}

/* Bytes of the option at `at`, 0 if it does not lie within end. */
static tenon_u32 ip6_opt_bytes(const tenon_u8 *p, tenon_u32 at, tenon_u32 end)
{
    if (p[at] == IP6_OPT_PAD1)
        return 1;
    if (end - at < 2 || p[at + 1] > end - at - 2)
        return 0;
    return (tenon_u32)p[at + 1] + 2;
}

TENON_INTERNAL enum tn_opt6_verdict tn_opt6_check(const tenon_u8 *p, tenon_u32 len, tenon_u32 *where)
{
    tenon_u32 end, at, bytes;
    tenon_u32 padding = 0;    /* bytes in a row */
    unsigned options = 0;

    if (len < 8)
        return TN_OPT6_DISCARD;
    end = ((tenon_u32)p[1] + 1) * 8;
    if (end > len)
        return TN_OPT6_DISCARD;
    for (at = 2; at < end; at += bytes) {
        enum tn_opt6_verdict verdict;

        bytes = ip6_opt_bytes(p, at, end);
        if (bytes == 0)
            return TN_OPT6_DISCARD;
        if (p[at] == IP6_OPT_PAD1 || p[at] == IP6_OPT_PADN) {
            padding += bytes;
            if (padding > IP6_PAD_MAX)
                return TN_OPT6_DISCARD;
            continue;
        }
        padding = 0;
        if (++options > IP6_OPTS_MAX)
            return TN_OPT6_DISCARD;
        verdict = ip6_opt_verdict(p[at]);
        *where = at;
        if (verdict != TN_OPT6_OK)
            return verdict;
    }
    return TN_OPT6_OK;
}
