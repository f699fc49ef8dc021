/* SPDX-License-Identifier: MIT */
/* Any bytes through every parser of the wire. What must hold of the answers is checked here, what must not be
 * read is found by a sanitizer. */
#include "fuzz.h"

#include "base/bytes.h"
#include "wire/checksum.h"
#include "wire/wire.h"

#include <string.h>

static void must(int good, unsigned line)
{
    if (!good)
        fuzz_fail("%s:%u: this must hold", __FILE__, line);
}

static void fuzz_link(const tenon_u8 *p, tenon_u32 len)
{
    struct tn_eth eth;
    struct tn_arp arp, arp_again;
    tenon_u8 built[TN_ARP_BYTES];

    if (tn_eth_parse(&eth, p, len) == 0)
        must(eth.bytes >= TN_ETH_BYTES && eth.bytes <= len && eth.vlan <= 0xFFF && eth.ethertype >= 0x600, __LINE__);
    if (tn_arp_parse(&arp, p, len) != 0)
        return;
    must(tn_arp_build(built, &arp) == TN_ARP_BYTES && memcmp(built, p, TN_ARP_BYTES) == 0, __LINE__);
    must(tn_arp_parse(&arp_again, built, TN_ARP_BYTES) == 0, __LINE__);
}

static void fuzz_ip4(const tenon_u8 *p, tenon_u32 len)
{
    struct tn_ip4 ip, again;
    tenon_u8 built[TN_IP4_BYTES];
    int verdict;

    if (tn_ip4_parse(&ip, p, len, len) != 0)
        return;
    must(ip.header_bytes >= TN_IP4_BYTES && ip.header_bytes <= ip.total && ip.total <= len, __LINE__);
    (void)tn_ip4_csum_good(p, ip.header_bytes);
    verdict = tn_ip4_options_check(p, ip.header_bytes);
    must(verdict >= -1 && verdict <= 1, __LINE__);
    must(tn_ip4_build(built, &ip) == TN_IP4_BYTES && tn_ip4_csum_good(built, TN_IP4_BYTES), __LINE__);
    must(tn_ip4_parse(&again, built, TN_IP4_BYTES, ip.total) == 0, __LINE__);
    must(again.src == ip.src && again.dst == ip.dst && again.frag == ip.frag && again.total == ip.total, __LINE__);
}

static void fuzz_ip6(const tenon_u8 *p, tenon_u32 len)
{
    struct tn_ip6 ip;
    struct tn_frag6 frag;
    tenon_u8 built[TN_IP6_BYTES];
    enum tn_opt6_verdict verdict;
    tenon_u32 where = 0;

    if (tn_ip6_parse(&ip, p, len, len) == 0) {
        const struct tenon_ip src = get_ip6(p + 8), dst = get_ip6(p + 24);

        must(ip.payload <= len - TN_IP6_BYTES && ip.flow <= 0xFFFFFUL, __LINE__);
        must(tn_ip6_build(built, &ip, &src, &dst) == TN_IP6_BYTES && memcmp(built, p, TN_IP6_BYTES) == 0, __LINE__);
    }
    if (tn_frag6_parse(&frag, p, len) == 0)
        must(frag.off % 8 == 0 && frag.more <= 1, __LINE__);
    verdict = tn_opt6_check(p, len, &where);
    if (verdict == TN_OPT6_ERROR || verdict == TN_OPT6_ERROR_UNICAST)
        must(where >= 2 && where < len, __LINE__);
}

static void fuzz_icmp(const tenon_u8 *p, tenon_u32 len)
{
    struct tn_icmp icmp;
    tenon_u8 built[TN_ICMP_BYTES];
    tenon_u8 type;
    unsigned bytes;

    if (tn_icmp_parse(&icmp, p, len) != 0)
        return;
    must(tn_icmp_build(built, &icmp) == TN_ICMP_BYTES && memcmp(built, p, TN_ICMP_BYTES) == 0, __LINE__);
    while ((bytes = tn_nd_option(&type, p, len)) > 0) {
        must(bytes >= 8 && bytes <= len, __LINE__);
        p += bytes;
        len -= bytes;
    }
}

static void fuzz_tcp_options(const tenon_u8 *p, unsigned header_bytes)
{
    struct tn_tcp_options options, again;
    tenon_u8 built[TN_TCP_BYTES + TN_TCP_OPTIONS_MAX];
    unsigned bytes;

    (void)tn_tcp_options_parse(&options, p, header_bytes);
    must(options.nsacks <= TN_SACK_BLOCKS_MAX, __LINE__);
    memset(built, 0, sizeof(built));
    bytes = tn_tcp_options_build(built + TN_TCP_BYTES, &options);
    must(bytes <= TN_TCP_OPTIONS_MAX && bytes % 4 == 0, __LINE__);
    must(tn_tcp_options_parse(&again, built, TN_TCP_BYTES + bytes) == 0, __LINE__);
    must(again.nsacks <= options.nsacks, __LINE__);
    memcpy(again.sack_left, options.sack_left, sizeof(again.sack_left));    /* blocks without room are left out */
    memcpy(again.sack_right, options.sack_right, sizeof(again.sack_right));
    again.nsacks = options.nsacks;
    must(memcmp(&again, &options, sizeof(options)) == 0, __LINE__);
}

static void fuzz_transport(const tenon_u8 *p, tenon_u32 len)
{
    struct tn_udp udp;
    struct tn_tcp tcp, again;
    tenon_u8 built[TN_TCP_BYTES];

    if (tn_udp_parse(&udp, p, len, len) == 0)
        must(udp.len >= TN_UDP_BYTES && udp.len <= len, __LINE__);
    if (tn_tcp_parse(&tcp, p, len, len) != 0)
        return;
    must(tcp.header_bytes >= TN_TCP_BYTES && tcp.header_bytes <= len, __LINE__);
    fuzz_tcp_options(p, tcp.header_bytes);
    (void)tn_tcp_build(built, &tcp);
    must(tn_tcp_parse(&again, built, TN_TCP_BYTES, len) == (tcp.header_bytes > TN_TCP_BYTES ? -1 : 0), __LINE__);
}

/* The sum of the whole is that of two pieces. */
static void fuzz_checksum(const tenon_u8 *p, tenon_u32 len)
{
    const tenon_u16 sum = tn_csum_sum(p, len);
    struct tn_csum csum;
    tenon_u32 cut = len > 0 ? p[0] % (len + 1) : 0;

    tn_csum_init(&csum);
    tn_csum_add(&csum, p, cut);
    tn_csum_add(&csum, p + cut, len - cut);
    must(csum.sum == sum, __LINE__);
}

/* A text that is an address is written as an address that is the same. */
static void fuzz_text(const tenon_u8 *p, tenon_u32 len)
{
    char text[80], again[TENON_IP_TEXT_MAX];
    struct tenon_ip ip, same;
    int n;

    len = len < sizeof(text) - 1 ? len : (tenon_u32)sizeof(text) - 1;
    memcpy(text, p, len);
    text[len] = 0;
    n = tenon_ip_parse(&ip, text);
    if (n < 0)
        return;
    must(n <= (int)strlen(text), __LINE__);
    n = tenon_ip_format(again, &ip);
    must(n > 0 && n < TENON_IP_TEXT_MAX && (size_t)n == strlen(again), __LINE__);
    must(tenon_ip_parse(&same, again) == n && tenon_ip_equal(&ip, &same), __LINE__);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tenon_u32 len = (tenon_u32)(size < 70000 ? size : 70000);

    fuzz_link(data, len);
    fuzz_ip4(data, len);
    fuzz_ip6(data, len);
    fuzz_icmp(data, len);
    fuzz_transport(data, len);
    fuzz_checksum(data, len);
    fuzz_text(data, len);
    return 0;
}
