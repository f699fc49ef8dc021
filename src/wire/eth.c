/* SPDX-License-Identifier: MIT */
/* Ethernet II, a VLAN tag (802.1Q), and 802.3 with an RFC 1042 header (RFC 1122 2.3.3: SHOULD be received). */
#include "wire/wire.h"
#include "base/bytes.h"
#include "base/mem.h"

enum {
    ETH_TYPE_OFF = 12,         /* of the ethertype, or of the tag's */
    ETH_TYPE_MIN = 0x600,      /* below: the length of an 802.3 frame */
    ETH_SNAP_BYTES = 8,        /* LLC (3), organisation code (3), ethertype (2) */
    ETH_VLAN_ID_MASK = 0xFFF
};

/* RFC 1042: LLC AA-AA-03 and organisation code 0. Neither the length before it nor the FCS is looked at:
 * the network layer has its own length. */
static int eth_snap_parse(struct tn_eth *eth, const tenon_u8 *p, tenon_u32 len)
{
    static const tenon_u8 snap[6] = { 0xAA, 0xAA, 0x03, 0, 0, 0 };

    if (len - eth->bytes < ETH_SNAP_BYTES || memcmp(p + eth->bytes, snap, sizeof(snap)) != 0)
        return -1;
    eth->ethertype = get16be(p + eth->bytes + sizeof(snap));
    eth->bytes += ETH_SNAP_BYTES;
    return eth->ethertype < ETH_TYPE_MIN ? -1 : 0;
}

TENON_INTERNAL int tn_eth_parse(struct tn_eth *eth, const tenon_u8 *p, tenon_u32 len)
{
    if (len < TN_ETH_BYTES)
        return -1;
    eth->dst = p;
    eth->src = p + 6;
    eth->ethertype = get16be(p + ETH_TYPE_OFF);
    eth->vlan = 0;
    eth->bytes = TN_ETH_BYTES;
    if (!TENON_WITH_LINKS)
        return 0;    /* the length of an 802.3 frame is no type that anybody knows */
    if (eth->ethertype == TN_ETHERTYPE_VLAN) {
        if (len < TN_ETH_BYTES + TN_VLAN_BYTES)
            return -1;
        eth->vlan = get16be(p + TN_ETH_BYTES) & ETH_VLAN_ID_MASK;
        eth->ethertype = get16be(p + TN_ETH_BYTES + 2);
        eth->bytes += TN_VLAN_BYTES;
    }
    return eth->ethertype < ETH_TYPE_MIN ? eth_snap_parse(eth, p, len) : 0;
}

TENON_INTERNAL unsigned tn_eth_build(tenon_u8 *p, const tenon_u8 dst[6], const tenon_u8 src[6], unsigned ethertype)
{
    memcpy(p, dst, 6);
    memcpy(p + 6, src, 6);
    put16be(p + ETH_TYPE_OFF, ethertype);
    return TN_ETH_BYTES;
}
