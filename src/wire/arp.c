/* SPDX-License-Identifier: MIT */
/* ARP for IPv4 over Ethernet (RFC 826). Offsets in bytes:
 *   0 hardware type  2 protocol type  4 hardware length  5 protocol length  6 operation
 *   8 sender MAC    14 sender IP     18 target MAC      24 target IP */
#include "wire/wire.h"
#include "base/bytes.h"
#include "base/mem.h"

/* Ethernet, IPv4, and how long their addresses are. */
static const tenon_u8 arp_kind[6] = { 0, 1, 8, 0, 6, 4 };

/* Any operation is let through: RFC 826 merges the sender before it looks at it. */
TENON_INTERNAL int tn_arp_parse(struct tn_arp *arp, const tenon_u8 *p, tenon_u32 len)
{
    if (len < TN_ARP_BYTES || memcmp(p, arp_kind, sizeof(arp_kind)) != 0)
        return -1;
    arp->op = get16be(p + 6);
    arp->sender_mac = p + 8;
    arp->sender_ip = get32be(p + 14);
    arp->target_mac = p + 18;
    arp->target_ip = get32be(p + 24);
    return 0;
}

TENON_INTERNAL unsigned tn_arp_build(tenon_u8 *p, const struct tn_arp *arp)
{
    memcpy(p, arp_kind, sizeof(arp_kind));
    put16be(p + 6, arp->op);
    memcpy(p + 8, arp->sender_mac, 6);
    put32be(p + 14, arp->sender_ip);
    memcpy(p + 18, arp->target_mac, 6);
    put32be(p + 24, arp->target_ip);
    return TN_ARP_BYTES;
}
