/* SPDX-License-Identifier: MIT */
/* The IPv4 header (RFC 791 3.1). Offsets in bytes:
 *   0 version, header length   1 type of service   2 total length   4 identification
 *   6 flags, fragment offset   8 time to live      9 protocol      10 checksum
 *  12 source                  16 destination      20 options */
#include "wire/wire.h"
#include "base/bytes.h"
#include "wire/checksum.h"

enum {
    IP4_VERSION = 0x40,
    IP4_OPT_END = 0,
    IP4_OPT_NOP = 1,
    IP4_OPT_LSRR = 131,
    IP4_OPT_SSRR = 137
};

TENON_INTERNAL int tn_ip4_parse(struct tn_ip4 *ip, const tenon_u8 *p, tenon_u32 head, tenon_u32 len)
{
    if (head < TN_IP4_BYTES || (p[0] & 0xF0) != IP4_VERSION)
        return -1;
    ip->header_bytes = (tenon_u8)((p[0] & 0x0F) * 4);
    ip->total = get16be(p + 2);
    if (ip->header_bytes < TN_IP4_BYTES || ip->header_bytes > head)
        return -1;
    if (ip->total < ip->header_bytes || ip->total > len)
        return -1;
    ip->tos = p[1];
    ip->id = get16be(p + 4);
    ip->frag = get16be(p + 6);
    ip->ttl = p[8];
    ip->proto = p[9];
    ip->src = get32be(p + 12);
    ip->dst = get32be(p + 16);
    return 0;
}

TENON_INTERNAL int tn_ip4_csum_good(const tenon_u8 *p, unsigned header_bytes)
{
    if (!TENON_SMALL && TENON_LIKELY(header_bytes == TN_IP4_BYTES))
        return tn_csum_good20(p);
    return tn_csum_sum(p, header_bytes) == 0xFFFF;
}

/* RFC 791 3.1: one byte alone (end, no operation), or kind, length (of all of it), data. What follows an end
 * is padding. Source routes are told apart so that the caller can drop them (RFC 7126 4.3, 4.4). */
TENON_INTERNAL int tn_ip4_options_check(const tenon_u8 *p, unsigned header_bytes)
{
    unsigned at = TN_IP4_BYTES;
    int verdict = 0;

    while (at < header_bytes && p[at] != IP4_OPT_END) {
        if (p[at] == IP4_OPT_NOP) {
            at++;
            continue;
        }
        if (header_bytes - at < 2 || p[at + 1] < 2 || p[at + 1] > header_bytes - at)
            return -1;
        if (p[at] == IP4_OPT_LSRR || p[at] == IP4_OPT_SSRR)
            verdict = 1;
        at += p[at + 1];
    }
    return verdict;
}

TENON_INTERNAL_HOT unsigned tn_ip4_build(tenon_u8 *p, const struct tn_ip4 *ip)
{
    p[0] = IP4_VERSION | TN_IP4_BYTES / 4;
    p[1] = ip->tos;
    put16be(p + 2, ip->total);
    put16be(p + 4, ip->id);
    put16be(p + 6, ip->frag);
    p[8] = ip->ttl;
    p[9] = ip->proto;
    put16be(p + 10, 0);
    put32be(p + 12, ip->src);
    put32be(p + 16, ip->dst);
    put16be(p + 10, 0xFFFF ^ (tenon_u32)tn_csum_sum20(p));
    return TN_IP4_BYTES;
}
