/* SPDX-License-Identifier: MIT */
/* The UDP header (RFC 768). */
#include "wire/wire.h"
#include "base/bytes.h"

TENON_INTERNAL int tn_udp_parse(struct tn_udp *udp, const tenon_u8 *p, tenon_u32 head, tenon_u32 len)
{
    if (head < TN_UDP_BYTES)
        return -1;
    udp->sport = get16be(p);
    udp->dport = get16be(p + 2);
    udp->len = get16be(p + 4);
    udp->csum = get16be(p + 6);
    return udp->len < TN_UDP_BYTES || udp->len > len ? -1 : 0;
}

TENON_INTERNAL unsigned tn_udp_build(tenon_u8 *p, const struct tn_udp *udp)
{
    put16be(p, udp->sport);
    put16be(p + 2, udp->dport);
    put16be(p + 4, udp->len);
    put16be(p + 6, udp->csum);
    return TN_UDP_BYTES;
}
