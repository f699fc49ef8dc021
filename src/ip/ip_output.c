/* SPDX-License-Identifier: MIT */
/* Output of both IP versions: a transport packet gets its pseudo-header sum and its IP header. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum { ROUTER_ALERT4_BYTES = 4, ROUTER_ALERT6_BYTES = 8 };
/* Who may ask that routers do not cut a packet. */
enum { OUTPUT_STAYS_WHOLE = TENON_WITH_PATH_MTU || TENON_WITH_UDP || TENON_WITH_IPV6 };
/* No packet is longer than the link takes, unless it is cut. */
enum { OUTPUT_IS_CUT = TENON_WITH_FRAGMENTS || TENON_WITH_SPEED };

/* Bytes of the option, or header, that has routers look at it. */
TENON_INLINE unsigned output_alert4(const struct tn_out *out)
{
    return TENON_WITH_IGMP && out->router_alert ? (unsigned)ROUTER_ALERT4_BYTES : 0U;
}

TENON_INLINE unsigned output_alert6(const struct tn_out *out)
{
    return out->router_alert ? (unsigned)ROUTER_ALERT6_BYTES : 0U;
}

/* Somebody makes several packets of it. */
TENON_INLINE int output_is_cut(const struct tn_out *out)
{
    return TENON_WITH_SPEED && out->seg_kind != TENON_SEG_NONE;
}

/* Transport bytes that a packet can have behind its options: its length field has 16 bits, and in IPv6 it does
 * not count the header itself (RFC 8200 3). */
static tenon_u32 output_bytes_max(const struct tn_out *out)
{
    if (tenon_ip_is_v4(&out->src))
        return 65535UL - TN_IP4_BYTES - output_alert4(out);
    return 65535UL - output_alert6(out);
}

TENON_INTERNAL int tn_ip_path(struct tenon *stack, struct tn_path **path, const struct tenon_ip *dst, unsigned scope)
{
    const int error = tn_path_get(stack, path, dst, scope);

    if (error == TENON_EUNREACH)
        tn_count(stack, TENON_STAT_NO_ROUTE);
    return error;
}

static int output_drop(struct tn_out *out, int error)
{
    tenon_buf_put(out->hdr);
    return error;
}

TENON_INTERNAL void tn_out_csum_complete(const struct tenon *stack, struct tn_out *out, tenon_u8 *l4, tenon_u32 len)
{
    struct tn_csum csum;
    tenon_u32 field;

    tn_csum_init_hook(&csum, stack->conf.checksum);
    tn_csum_add(&csum, l4, len);
    if (tn_out_payload(out) > 0)
        tn_csum_add_spans(&csum, out->spans, 0, out->payload);
    field = 0xFFFFUL ^ csum.sum;
    /* RFC 768: 0 would mean that there is no checksum. */
    if (TENON_WITH_UDP && field == 0 && out->proto == TN_PROTO_UDP)
        field = 0xFFFFUL;
    put16be(l4 + out->csum_offset, field);
    out->csum_done = 1;
}

TENON_INLINE int output_has_ports(const struct tn_out *out)
{
    return out->proto != TN_PROTO_ICMP && !(TENON_WITH_IPV6 && out->proto == TN_PROTO_ICMP6) &&
           !(TENON_WITH_IGMP && out->proto == TN_PROTO_IGMP);
}

/* 1: routers may not cut it. */
TENON_INLINE int output_stays_whole(const struct tn_out *out)
{
    return OUTPUT_STAYS_WHOLE && out->df;
}

/* Those that complete checksums do so for TCP and UDP only. What other interfaces are given is summed last, by
 * stack/tx.c, which may have to copy it; a build that is to be small does that here. */
static int output_completes_csum(struct tenon *stack, const struct tn_netif *netif, const struct tn_out *out)
{
    if (!output_has_ports(out))
        return 1;
    if (!TENON_SMALL || output_is_cut(out) || (netif->conf.caps & TENON_CAP_TX_CSUM))
        return 0;
    tn_count(stack, TENON_STAT_TX_CSUM_SOFT);
    return 1;
}

/* The checksum field gets the sum of the pseudo-header, as interfaces that complete checksums want it. ICMPv4 and IGMP
 * have no pseudo-header. */
static void output_csum(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *dst,
                        struct tn_out *out)
{
    tenon_u8 *const l4 = out->hdr->data + out->l4_off;
    tenon_u16 pseudo = 0;

    if (out->proto != TN_PROTO_ICMP && !(TENON_WITH_IGMP && out->proto == TN_PROTO_IGMP))
        pseudo = tn_csum_pseudo(&out->src, dst, out->proto, out->len + tn_out_payload(out));
    put16be(l4 + out->csum_offset, pseudo);
    if (output_completes_csum(stack, netif, out))
        tn_out_csum_complete(stack, out, l4, out->len);
}

/* From a counter that only destinations of the same bucket share (RFC 7739 5.3): the first of n. */
static tenon_u16 output_next_id4(struct tenon *stack, tenon_u32 hash, unsigned n)
{
    tenon_u16 *next = &stack->ip.ids[hash >> 26];
    const tenon_u32 id = hash + *next;

    *next = (tenon_u16)(*next + n);
    return (tenon_u16)(id & 0xFFFFUL);
}

static tenon_u32 output_hash_id4(const struct tenon *stack, tenon_u32 src, tenon_u32 dst, unsigned proto)
{
    tenon_u32 words[3];

    words[0] = src;
    words[1] = dst;
    words[2] = proto;
    return tn_hash_words(&stack->ip.key, words, 3);
}

/* Each path has its own counter (RFC 7739 5.1): the first of n. */
static tenon_u16 output_path_id4(struct tn_path *path, unsigned n)
{
    const tenon_u32 id = path->udp_known[0];

    path->udp_known[0] += n;
    return (tenon_u16)(id & 0xFFFFUL);
}

TENON_INTERNAL tenon_u16 tn_ip4_udp_id(struct tenon *stack, struct tn_path *path, tenon_u32 src)
{
    if (!TENON_WITH_MANY)
        return output_path_id4(path, 1);
    if (TENON_UNLIKELY(path->udp_src != src)) {
        path->udp_src = src;
        path->udp_known[0] = output_hash_id4(stack, src, path->dst.w[TENON_IP4_WORD], TN_PROTO_UDP);
    }
    return output_next_id4(stack, path->udp_known[0], 1);
}

/* A frame for segmentation takes a number for each packet that becomes of it: they are counted up from the first. */
TENON_INLINE unsigned output_packets(const struct tn_out *out)
{
    return output_is_cut(out) ? (unsigned)((out->payload + out->seg_bytes - 1U) / out->seg_bytes) : 1U;
}

static tenon_u16 output_id4(struct tenon *stack, struct tn_path *path, const struct tn_out *out)
{
    if (!TENON_WITH_MANY)
        return output_path_id4(path, output_packets(out));
    if (!TENON_SMALL && out->proto == TN_PROTO_UDP)
        return tn_ip4_udp_id(stack, path, out->src.w[TENON_IP4_WORD]);
    return output_next_id4(
        stack, output_hash_id4(stack, out->src.w[TENON_IP4_WORD], path->dst.w[TENON_IP4_WORD], out->proto),
        output_packets(out));
}

static void output_ip4(struct tenon *stack, struct tn_path *path, struct tn_out *out)
{
    const unsigned options = output_alert4(out);
    const tenon_u32 header = TN_IP4_BYTES + options;
    struct tn_ip4 ip;
    tenon_u8 *p;

    ip.src = out->src.w[TENON_IP4_WORD];
    ip.dst = path->dst.w[TENON_IP4_WORD];
    ip.total = (tenon_u16)(header + out->len + tn_out_payload(out));
    /* RFC 6864 4.1: what cannot be fragmented needs no identification, and 0 tells nobody anything. */
    ip.id = 0;
    ip.frag = TN_IP4_DF;
    if (!output_stays_whole(out)) {
        ip.id = output_id4(stack, path, out);
        ip.frag = 0;
    }
    ip.header_bytes = (tenon_u8)header;
    ip.tos = out->tos;
    ip.ttl = out->ttl != 0 ? out->ttl : stack->conf.hop_limit;
    ip.proto = out->proto;
    TENON_ASSERT(out->off >= header);
    out->off -= header;
    out->len += header;
    p = out->hdr->data + out->off;
    tn_ip4_build(p, &ip);
    if (options == 0)
        return;
    /* RFC 2113 2.1 */
    p[0] = (tenon_u8)(0x40 | header / 4);
    put32be(p + TN_IP4_BYTES, 0x94040000UL);
    put16be(p + 10, 0);
    put16be(p + 10, 0xFFFFUL ^ tn_csum_sum(p, header));
}

/* What a flow label is a hash of, but for the ports; and what tells it from other hashes under the same key. */
enum { OUTPUT_FLOW_WORDS = 9, OUTPUT_FLOW_USE = 'F' };

static void output_flow_words(tenon_u32 *words, const struct tenon_ip *src, const struct tenon_ip *dst, unsigned proto)
{
    unsigned i;

    for (i = 0; i < 4; i++) {
        words[i] = src->w[i];
        words[4 + i] = dst->w[i];
    }
    words[8] = proto;
}

TENON_INLINE tenon_u32 output_flow_label(tenon_u32 hash)
{
    return (hash & 0xFFFFFUL) != 0 ? hash & 0xFFFFFUL : 1;
}

/* Not to be guessed from another one. */
TENON_INTERNAL tenon_u32 tn_ip6_flow(const struct tenon *stack, const struct tenon_ip *src, const struct tenon_ip *dst,
                                     unsigned proto, tenon_u32 ports)
{
    tenon_u32 words[OUTPUT_FLOW_WORDS + 2], secret[2];

    output_flow_words(words, src, dst, proto);
    words[OUTPUT_FLOW_WORDS] = ports;
    if (TN_IP_HASHES)
        return output_flow_label(tn_hash_words(&stack->ip.key, words, OUTPUT_FLOW_WORDS + 1));
    words[OUTPUT_FLOW_WORDS + 1] = OUTPUT_FLOW_USE;
    tn_chaskey(secret, &stack->secret, words, OUTPUT_FLOW_WORDS + 2);
    return output_flow_label(secret[0]);
}

TENON_INTERNAL void tn_ip6_flow_begin(tenon_u32 state[4], const struct tenon *stack, const struct tenon_ip *src,
                                      const struct tenon_ip *dst, unsigned proto)
{
    tenon_u32 words[OUTPUT_FLOW_WORDS];

    output_flow_words(words, src, dst, proto);
    tn_hash_begin(state, &stack->ip.key, words, OUTPUT_FLOW_WORDS);
}

TENON_INTERNAL tenon_u32 tn_ip6_flow_end(const tenon_u32 state[4], tenon_u32 ports)
{
    return output_flow_label(tn_hash_end(state, ports, OUTPUT_FLOW_WORDS));
}

TENON_INTERNAL tenon_u32 tn_ip6_udp_flow(const struct tenon *stack, struct tn_path *path, const struct tenon_ip *src,
                                         tenon_u32 ports)
{
    tenon_u32 words[OUTPUT_FLOW_WORDS];

    TENON_ASSERT(path->gen == stack->link.gen);
    if (!TENON_WITH_IPV6 || TENON_SMALL || !tenon_ip_equal(src, &path->src))
        return tn_ip6_flow(stack, src, &path->dst, TN_PROTO_UDP, ports);
    if (TENON_UNLIKELY(path->udp_src != path->gen)) {
        path->udp_src = path->gen;
        output_flow_words(words, src, &path->dst, TN_PROTO_UDP);    /* calling nobody spares registers */
        tn_hash_begin(path->udp_known, &stack->ip.key, words, OUTPUT_FLOW_WORDS);
    }
    return output_flow_label(tn_hash_end(path->udp_known, ports, OUTPUT_FLOW_WORDS));
}

static tenon_u32 output_flow(const struct tenon *stack, const struct tenon_ip *dst, const struct tn_out *out)
{
    const tenon_u32 ports = output_has_ports(out) ? get32be(out->hdr->data + out->l4_off) : 0;

    return tn_ip6_flow(stack, &out->src, dst, out->proto, ports);
}

static void output_ip6(const struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *dst,
                       struct tn_out *out)
{
    const unsigned options = output_alert6(out);
    struct tn_ip6 ip;
    tenon_u8 *p;

    ip.flow = output_flow(stack, dst, out);
    ip.payload = (tenon_u16)(options + out->len + tn_out_payload(out));
    ip.tos = out->tos;
    ip.next = options != 0 ? (tenon_u8)TN_PROTO_HOPOPT : out->proto;
    ip.hop_limit = out->ttl;
    if (ip.hop_limit == 0)
        ip.hop_limit = netif->hop_limit != 0 ? netif->hop_limit : stack->conf.hop_limit;
    TENON_ASSERT(out->off >= TN_IP6_BYTES + options);
    out->off -= TN_IP6_BYTES + options;
    out->len += TN_IP6_BYTES + options;
    p = out->hdr->data + out->off;
    tn_ip6_build(p, &ip, &out->src, dst);
    if (options != 0) {
        put32be(p + TN_IP6_BYTES, (tenon_u32)out->proto << 24 | 0x0502);    /* RFC 2711 2.1 ... */
        put32be(p + TN_IP6_BYTES + 4, 0x0100);                              /* ... and PadN */
    }
}

/* Bytes of the largest piece that goes over the wire. */
static tenon_u32 output_piece(const struct tn_out *out)
{
    if (output_is_cut(out))
        return out->len + tn_min(out->payload, out->seg_bytes);
    return out->len + tn_out_payload(out);
}

/* So that reports of a smaller path MTU can be compared with what was sent: tn_pmtu_report(). TCP compares them with
 * its segments. What routers may cut is none of their reports' business. */
static void output_note_bytes(struct tn_path *path, const struct tn_out *out, int is_v4, tenon_u32 bytes)
{
    const int may_be_cut = is_v4 && !output_stays_whole(out);

    if (TENON_WITH_PATH_MTU && out->proto != TN_PROTO_TCP && bytes > path->sent && !may_be_cut)
        path->sent = (tenon_u16)bytes;
}

/* Where a link takes less than we go down to, routers have to cut what TCP sends (RFC 1191 3). */
static void output_yield(const struct tn_path *path, struct tn_out *out)
{
    if (TENON_WITH_PATH_MTU && path->mtu == TN_PATH_MTU_MIN4 && out->proto == TN_PROTO_TCP && !out->probe)
        out->df = 0;
}

/* A packet in one piece, and a neighbour that is known: nothing has to be found out on its way.
 * @return 1: it has left */
static int output_straight(struct tenon *stack, struct tn_path *path, struct tn_out *out)
{
    const struct tn_netif *netif;
    const tenon_u8 *mac;
    struct tn_short lay;

    if (!TENON_WITH_SPEED || out->nspans != 0 || tn_tx_room(stack) == 0)
        return 0;
    netif = tn_link_ready(stack, path, &mac);
    if (netif == NULL)
        return 0;
    if (mac != NULL) {
        out->off -= TN_ETH_BYTES;
        out->len += TN_ETH_BYTES;
        (void)tn_eth_build(out->hdr->data + out->off, mac, netif->conf.mac,
                           tenon_ip_is_v4(&path->dst) ? TN_ETHERTYPE_IP4 : TN_ETHERTYPE_IP6);
    }
    lay.off = out->off;
    lay.len = out->len;
    lay.l4 = out->l4_off - out->off;
    lay.headers = lay.l4 + out->l4_bytes;
    lay.csum_offset = tn_out_needs_csum(out) ? out->csum_offset : 0U;
    tn_tx_short(stack, netif, out->hdr, &lay);
    return 1;
}

/* That there is a way to somebody does not mean that this address is ours still: connections outlive theirs. Proxies
 * speak for others. */
static int output_may_be_from(const struct tenon *stack, const struct tn_path *path, const struct tenon_ip *src)
{
    return tn_path_is_from(stack, path, src) || (TENON_WITH_ROUTES && tn_tcp_wants_foreign(stack));
}

TENON_INTERNAL int tn_ip_output(struct tenon *stack, struct tn_path *path, struct tn_out *out)
{
    const int is_v4 = tenon_ip_is_v4(&path->dst);
    const struct tn_netif *netif;
    tenon_u32 mtu;

    TENON_ASSERT(out->off == out->l4_off);
    if (output_is_cut(out))
        out->dst = path->dst;
    if (tn_path_check(stack, path) != TENON_OK || !output_may_be_from(stack, path, &out->src)) {
        tn_count(stack, TENON_STAT_NO_ROUTE);
        return output_drop(out, TENON_EUNREACH);
    }
    netif = tn_netif_of(&stack->link, path->netif);
    if (OUTPUT_IS_CUT && out->len + tn_out_payload(out) > output_bytes_max(out))
        return output_drop(out, TENON_EMSGSIZE);
    output_yield(path, out);
    if (tn_out_needs_csum(out))
        output_csum(stack, netif, &path->dst, out);
    if (is_v4)
        output_ip4(stack, path, out);
    else
        output_ip6(stack, netif, &path->dst, out);
    mtu = tn_path_mtu(stack, path);
    if (TENON_LIKELY(output_piece(out) <= mtu || (TENON_WITH_PROBES && out->probe))) {
        output_note_bytes(path, out, is_v4, output_piece(out));
        return output_straight(stack, path, out) ? TENON_OK : tn_link_output(stack, path, out);
    }
    if (!TENON_WITH_FRAGMENTS || output_stays_whole(out) || out->proto == TN_PROTO_TCP)
        return output_drop(out, TENON_EMSGSIZE);    /* TCP makes shorter ones */
    output_note_bytes(path, out, is_v4, mtu);
    return tn_ip_fragment(stack, path, out, mtu);
}
