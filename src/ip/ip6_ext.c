/* SPDX-License-Identifier: MIT */
/* The way through a chain of IPv6 extension headers of which only the beginning may be there: in packets
 * that ICMP quotes, and in first fragments. Nothing is judged here, only bounded. */
#include "ip/ip_internal.h"
#include "wire/wire.h"

/* Bytes of the extension header of kind `next` at p, which may be more than there are; 0: it is none. */
static tenon_u32 ext_bytes(const tenon_u8 *p, tenon_u32 len, unsigned next)
{
    if (next == TN_PROTO_FRAGMENT)
        return TN_FRAG6_BYTES;
    if (next != TN_PROTO_HOPOPT && next != TN_PROTO_ROUTING && next != TN_PROTO_DSTOPTS)
        return 0;
    return len < 2 ? 8 : ((tenon_u32)p[1] + 1) * 8;
}

TENON_INTERNAL int tn_ip6_find_l4_from(struct tn_l4 *l4, const tenon_u8 *p, tenon_u32 len, unsigned next)
{
    struct tn_frag6 frag;
    tenon_u32 bytes;
    unsigned headers;

    l4->off = 0;
    l4->later = 0;
    for (headers = 0; headers <= TN_IP6_HEADERS_MAX; headers++) {
        bytes = ext_bytes(p, len, next);
        if (bytes > len)
            return -1;
        if (bytes == 0 || l4->later) {
            l4->proto = (tenon_u8)next;
            return 0;
        }
        if (next == TN_PROTO_FRAGMENT && tn_frag6_parse(&frag, p, len) == 0)
            l4->later = frag.off != 0;
        next = p[0];
        p += bytes;
        len -= bytes;
        l4->off += bytes;
    }
    return -1;
}

TENON_INTERNAL int tn_ip6_find_l4(struct tn_l4 *l4, const tenon_u8 *p, tenon_u32 len)
{
    if (len < TN_IP6_BYTES)
        return -1;
    if (tn_ip6_find_l4_from(l4, p + TN_IP6_BYTES, len - TN_IP6_BYTES, p[6]) != 0)
        return -1;
    l4->off += TN_IP6_BYTES;
    return 0;
}
