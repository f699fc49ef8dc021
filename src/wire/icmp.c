/* SPDX-License-Identifier: MIT */
/* The common head of ICMP messages (RFC 792, RFC 4443 2.1) and the options of neighbour discovery. */
#include "wire/wire.h"
#include "base/bytes.h"

TENON_INTERNAL int tn_icmp_parse(struct tn_icmp *icmp, const tenon_u8 *p, tenon_u32 len)
{
    if (len < TN_ICMP_BYTES)
        return -1;
    icmp->type = p[0];
    icmp->code = p[1];
    icmp->csum = get16be(p + 2);
    icmp->rest = get32be(p + 4);
    return 0;
}

TENON_INTERNAL unsigned tn_icmp_build(tenon_u8 *p, const struct tn_icmp *icmp)
{
    p[0] = icmp->type;
    p[1] = icmp->code;
    put16be(p + 2, icmp->csum);
    put32be(p + 4, icmp->rest);
    return TN_ICMP_BYTES;
}

/* RFC 4861 4.6: type, length in units of 8 bytes. A length of 0 would never end. */
TENON_INTERNAL unsigned tn_nd_option(tenon_u8 *type, const tenon_u8 *p, tenon_u32 len)
{
    unsigned bytes;

    *type = 0;
    if (len < 8)
        return 0;
    *type = p[0];
    bytes = p[1] * 8U;
    return bytes <= len ? bytes : 0;
}
