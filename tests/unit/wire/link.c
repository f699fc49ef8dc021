/* SPDX-License-Identifier: MIT */
/* Ethernet, 802.1Q, ARP. */
#include "unit.h"
#include "wire/exact.h"
#include "wire/wire.h"

#define MACS 0x02, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0, 2

UNIT_TEST(eth_table)
{
    static const struct {
        const char *name;
        tenon_u8 bytes[30];
        unsigned len;
        int result;
        unsigned ethertype, vlan, head;
    } rows[] = {
        { "IP4-30 ethernet_ip4", { MACS, 0x08, 0x00, 0x45 }, 15, 0, 0x0800, 0, 14 },
        { "IP4-30 ethernet_no_payload", { MACS, 0x86, 0xDD }, 14, 0, 0x86DD, 0, 14 },
        { "one_byte_short", { MACS, 0x86 }, 13, -1, 0, 0, 0 },
        { "empty", { 0 }, 0, -1, 0, 0, 0 },
        { "vlan_tag", { MACS, 0x81, 0x00, 0xEF, 0xFE, 0x08, 0x06 }, 18, 0, 0x0806, 0xFFE, 18 },
        { "vlan_priority_tag", { MACS, 0x81, 0x00, 0xE0, 0x00, 0x08, 0x00 }, 18, 0, 0x0800, 0, 18 },
        { "vlan_tag_cut", { MACS, 0x81, 0x00, 0x00, 0x05, 0x08 }, 17, -1, 0, 0, 0 },
        { "vlan_tag_missing", { MACS, 0x81, 0x00 }, 14, -1, 0, 0, 0 },
        { "vlan_in_vlan", { MACS, 0x81, 0x00, 0x00, 0x05, 0x81, 0x00, 0, 6, 8, 0 }, 22, 0, 0x8100, 5, 18 },
        { "IP4-30 snap_ip4", { MACS, 0x00, 0x24, 0xAA, 0xAA, 3, 0, 0, 0, 0x08, 0x00 }, 22, 0, 0x0800, 0, 22 },
        { "IP4-30 snap_in_vlan", { MACS, 0x81, 0, 0, 7, 0, 9, 0xAA, 0xAA, 3, 0, 0, 0, 8, 6 }, 26, 0, 0x0806, 7, 26 },
        { "snap_cut", { MACS, 0x00, 0x24, 0xAA, 0xAA, 3, 0, 0, 0, 0x08 }, 21, -1, 0, 0, 0 },
        { "snap_other_organisation", { MACS, 0, 36, 0xAA, 0xAA, 3, 0, 0, 0x0C, 8, 0 }, 22, -1, 0, 0, 0 },
        { "snap_type_is_a_length", { MACS, 0, 36, 0xAA, 0xAA, 3, 0, 0, 0, 5, 0xFF }, 22, -1, 0, 0, 0 },
        { "spanning_tree_llc", { MACS, 0, 38, 0x42, 0x42, 3, 0, 0, 0, 0, 0 }, 22, -1, 0, 0, 0 },
        { "largest_length", { MACS, 0x05, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0 }, 22, -1, 0, 0, 0 },
        { "smallest_ethertype", { MACS, 0x06, 0x00 }, 14, 0, 0x0600, 0, 14 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 *const p = exact_copy(rows[i].bytes, rows[i].len);
        struct tn_eth eth;

        unit_row(rows[i].name);
        if (CHECK_EQ_I(tn_eth_parse(&eth, p, rows[i].len), rows[i].result) && rows[i].result == 0) {
            CHECK_EQ_U(eth.ethertype, rows[i].ethertype);
            CHECK_EQ_U(eth.vlan, rows[i].vlan);
            CHECK_EQ_U(eth.bytes, rows[i].head);
            CHECK(eth.dst == p && eth.src == p + 6);
        }
        free(p);
    }
}

UNIT_TEST(eth_round_trip)
{
    static const tenon_u8 dst[6] = { 1, 2, 3, 4, 5, 6 }, src[6] = { 7, 8, 9, 10, 11, 12 };
    tenon_u8 p[15];
    struct tn_eth eth;

    p[14] = 0xEE;
    CHECK_EQ_U(tn_eth_build(p, dst, src, TN_ETHERTYPE_IP6), TN_ETH_BYTES);
    CHECK_EQ_U(p[14], 0xEE);
    CHECK_EQ_I(tn_eth_parse(&eth, p, 14), 0);
    CHECK_EQ_MEM(eth.dst, dst, 6);
    CHECK_EQ_MEM(eth.src, src, 6);
    CHECK_EQ_U(eth.ethertype, TN_ETHERTYPE_IP6);
}

static const tenon_u8 arp_request[28] = {
    0, 1, 0x08, 0x00, 6, 4, 0, 1, 0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 99
};

UNIT_TEST(arp_request_fields)
{
    struct tn_arp arp;
    tenon_u8 built[29];

    CHECK_EQ_I(tn_arp_parse(&arp, arp_request, 28), 0);
    CHECK_EQ_U(arp.op, TN_ARP_REQUEST);
    CHECK_EQ_U(arp.sender_ip, 0xC0000201UL);
    CHECK_EQ_U(arp.target_ip, 0xC0000263UL);
    CHECK_EQ_MEM(arp.sender_mac, arp_request + 8, 6);
    CHECK_EQ_MEM(arp.target_mac, arp_request + 18, 6);
    built[28] = 0xEE;
    CHECK_EQ_U(tn_arp_build(built, &arp), TN_ARP_BYTES);
    CHECK_EQ_MEM(built, arp_request, 28);
    CHECK_EQ_U(built[28], 0xEE);
}

/* One byte of a good request changed. */
UNIT_TEST(arp_table)
{
    static const struct {
        const char *name;
        unsigned at;
        tenon_u8 value;
        int result;
    } rows[] = {
        { "ARP-1 hardware_type_high", 0, 1, -1 },
        { "ARP-1 hardware_type_ieee802", 1, 6, -1 },
        { "ARP-1 protocol_ip6", 3, 0xDD, -1 },
        { "ARP-1 protocol_high", 2, 0x86, -1 },
        { "ARP-1 hardware_length_0", 4, 0, -1 },
        { "ARP-1 hardware_length_8", 4, 8, -1 },
        { "ARP-1 hardware_length_255", 4, 255, -1 },
        { "ARP-1 protocol_length_0", 5, 0, -1 },
        { "ARP-1 protocol_length_16", 5, 16, -1 },
        { "ARP-2 reply", 7, 2, 0 },
        { "ARP-2 unknown_operation_is_for_the_caller", 7, 25, 0 }
    };
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        tenon_u8 *const p = exact_copy(arp_request, 28);
        struct tn_arp arp;

        unit_row(rows[i].name);
        p[rows[i].at] = rows[i].value;
        CHECK_EQ_I(tn_arp_parse(&arp, p, 28), rows[i].result);
        free(p);
    }
}

UNIT_TEST(arp_every_length)
{
    struct tn_arp arp;
    tenon_u8 padded[60];
    unsigned n;

    memset(padded, 0, sizeof(padded));
    memcpy(padded, arp_request, 28);
    for (n = 0; n <= 60; n++) {
        tenon_u8 *const p = exact_copy(padded, n);

        CHECK_EQ_I(tn_arp_parse(&arp, p, n), n < 28 ? -1 : 0);
        free(p);
    }
}

int main(void)
{
    UNIT_RUN(eth_table);
    UNIT_RUN(eth_round_trip);
    UNIT_RUN(arp_request_fields);
    UNIT_RUN(arp_table);
    UNIT_RUN(arp_every_length);
    return unit_end();
}
