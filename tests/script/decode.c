/* SPDX-License-Identifier: MIT */
/* Sent frames into descriptions. Every length and checksum is verified by code that shares nothing with
 * the core; what is not as it must be is an error, whatever the script says. */
#include "script.h"

#include <string.h>

static bool mac_is(const uint8_t *p, const uint8_t *mac)
{
    return memcmp(p, mac, 6) == 0;
}

static const char *decode_option(const uint8_t *p, size_t left, struct opt *o)
{
    memset(o, 0, sizeof(*o));
    o->kind = p[0];
    if (p[0] <= OPT_NOP)
        return NULL;
    if (left < 2 || p[1] < 2 || p[1] > left)
        return "a TCP option reaches past the header";
    switch (p[0]) {
    case OPT_MSS:
        o->a = left >= 4 ? (int64_t)be16(p + 2) : 0;
        return p[1] == 4 ? NULL : "the MSS option has a wrong length";
    case OPT_WSCALE:
        o->a = left >= 3 ? p[2] : 0;
        return p[1] == 3 ? NULL : "the window scale option has a wrong length";
    case OPT_SACKOK:
        return p[1] == 2 ? NULL : "the SACK-permitted option has a wrong length";
    case OPT_TS:
        if (p[1] != 10)
            return "the timestamps option has a wrong length";
        o->a = be32(p + 2);
        o->b = be32(p + 6);
        return NULL;
    case OPT_SACK:
        if (p[1] < 10 || p[1] > 34 || p[1] % 8 != 2)
            return "the SACK option has a wrong length";
        for (o->nblocks = 0; o->nblocks < (p[1] - 2) / 8; o->nblocks++) {
            o->left[o->nblocks] = be32(p + 2 + 8 * o->nblocks);
            o->right[o->nblocks] = be32(p + 6 + 8 * o->nblocks);
        }
        return NULL;
    case OPT_FASTOPEN:
        if (p[1] % 2 != 0 || p[1] > 18 || p[1] == 4)
            return "the Fast Open option has a wrong length";
        o->nraw = p[1] - 2;
        memcpy(o->raw, p + 2, (size_t)o->nraw);
        return NULL;
    default:
        o->kind = OPT_RAW;
        o->nraw = p[1];
        memcpy(o->raw, p, p[1] < sizeof(o->raw) ? p[1] : sizeof(o->raw));
        return NULL;
    }
}

static const char *decode_options(const uint8_t *p, size_t n, struct packet *out)
{
    size_t at = 0;

    out->has_opts = true;
    while (at < n) {
        struct opt *o = &out->opts[out->nopts];
        const char *wrong = decode_option(p + at, n - at, o);

        if (wrong != NULL)
            return wrong;
        out->nopts++;
        if (o->kind == OPT_EOL) {
            for (at++; at < n; at++)
                if (p[at] != 0)
                    return "bytes after the end of the TCP options are not zero (RFC 9293 MUST-69)";
            return NULL;
        }
        at += p[at] == OPT_NOP ? 1 : p[at + 1];
    }
    return NULL;
}

static const char *decode_tcp(const uint8_t *p, size_t n, struct packet *out)
{
    size_t header;

    out->kind = PKT_TCP;
    if (n < 20)
        return "the TCP header is cut off";
    header = (size_t)(p[12] >> 4) * 4;
    if (header < 20 || header > n)
        return "the TCP data offset is wrong";
    if (sum_finish(sum_bytes(sum_pseudo(&out->src, &out->dst, 6, n), p, n)) != 0)
        return "the TCP checksum is wrong";
    if ((p[12] & 15) != 0)
        return "reserved bits of the TCP header are not zero";
    out->sport = be16(p);
    out->dport = be16(p + 2);
    out->flags = p[13];
    out->seq = be32(p + 4);
    out->len = (int64_t)(n - header);
    out->has_seq = out->has_len = true;
    out->ack = be32(p + 8);
    out->win = be16(p + 14);
    out->urg = be16(p + 18);
    out->bytes = p + header;
    out->nbytes = n - header;
    return decode_options(p + 20, header - 20, out);
}

static const char *decode_udp(const uint8_t *p, size_t n, struct packet *out, bool four)
{
    out->kind = PKT_UDP;
    if (n < 8 || be16(p + 4) != n)
        return "the UDP length is wrong";
    if (be16(p + 6) == 0 && !four)
        return "UDP over IPv6 without a checksum";
    if (be16(p + 6) != 0 && sum_finish(sum_bytes(sum_pseudo(&out->src, &out->dst, 17, n), p, n)) != 0)
        return "the UDP checksum is wrong";
    out->zero_sum = be16(p + 6) == 0;
    out->sport = be16(p);
    out->dport = be16(p + 2);
    out->udp_len = (int64_t)n;
    out->len = (int64_t)n - 8;
    out->has_len = true;
    out->bytes = p + 8;
    out->nbytes = n - 8;
    return NULL;
}

static struct tenon_ip get_ip(const uint8_t *p)
{
    return tenon_ip6(be32(p), be32(p + 4), be32(p + 8), be32(p + 12));
}

static const char *decode_nd(const uint8_t *p, size_t n, struct packet *out)
{
    size_t at = out->type >= 135 ? 24 : out->type == 134 ? 16 : 8;

    out->kind = PKT_ND;
    if (n < at)
        return "a neighbour discovery message is too short";
    if (out->ttl != 255)
        return "a neighbour discovery message without hop limit 255";
    if (out->type >= 135) {
        out->target = get_ip(p + 8);
        out->has_target = true;
    }
    if (out->type == 136)
        out->nd_flags = p[4] >> 5;
    while (at < n) {
        if (n - at < 8 || p[at + 1] == 0 || (size_t)p[at + 1] * 8 > n - at)
            return "a neighbour discovery option reaches past the message";
        if (p[at] == 1 || p[at] == 2) {
            memcpy(out->lladdr, p + at + 2, 6);
            out->has_lladdr = true;
        }
        at += (size_t)p[at + 1] * 8;
    }
    return NULL;
}

static const char *decode_icmp(const uint8_t *p, size_t n, struct packet *out, bool four)
{
    uint32_t sum = four ? 0 : sum_pseudo(&out->src, &out->dst, 58, n);
    bool echo;

    out->kind = PKT_ICMP;
    if (n < 8)
        return "the ICMP header is cut off";
    if (sum_finish(sum_bytes(sum, p, n)) != 0)
        return "the ICMP checksum is wrong";
    out->type = p[0];
    out->code = p[1];
    if (!four && p[0] >= 133 && p[0] <= 136)
        return decode_nd(p, n, out);
    if (!four && (p[0] == 143 || (p[0] >= 130 && p[0] <= 132))) {
        out->kind = PKT_MLD;
        return NULL;
    }
    echo = four ? p[0] == 8 || p[0] == 0 : p[0] == 128 || p[0] == 129;
    out->icmp_id = echo ? (int64_t)be16(p + 4) : NONE;
    out->icmp_seq = echo ? (int64_t)be16(p + 6) : NONE;
    out->mtu = four ? be16(p + 6) : be32(p + 4);
    out->ptr = four ? p[4] : be32(p + 4);
    out->len = (int64_t)n - 8;
    out->has_len = true;
    out->bytes = p + 8;
    out->nbytes = n - 8;
    return NULL;
}

static const char *decode_transport(const uint8_t *p, size_t n, int proto, struct packet *out, bool four)
{
    out->ip_proto = proto;
    if (proto == 6)
        return decode_tcp(p, n, out);
    if (proto == 17)
        return decode_udp(p, n, out, four);
    if (proto == (four ? 1 : 58))
        return decode_icmp(p, n, out, four);
    out->kind = proto == 2 && four ? PKT_IGMP : PKT_OTHER;
    if (n > 0)
        out->type = p[0];
    return NULL;
}

static const char *decode_fragment(const uint8_t *p, size_t n, size_t off, bool more, struct packet *out)
{
    out->kind = PKT_FRAG;
    out->frag_off = (int64_t)off;
    out->frag_len = (int64_t)n;
    out->frag_more = more;
    out->bytes = p;
    out->nbytes = n;
    if (more && n % 8 != 0)
        return "a fragment that is not the last one has a length that is no multiple of 8";
    return NULL;
}

static const char *decode_ip4(const uint8_t *p, size_t n, struct packet *out)
{
    size_t header, off;
    bool more;

    if (n < 20 || p[0] >> 4 != 4)
        return "no IPv4 header";
    header = (size_t)(p[0] & 15) * 4;
    if (header < 20 || header > n || be16(p + 2) != n)
        return "an IPv4 length is wrong";
    if (sum_finish(sum_bytes(0, p, header)) != 0)
        return "the IPv4 header checksum is wrong";
    out->tos = p[1];
    out->ip_id = be16(p + 4);
    out->df = (p[6] & 0x40) != 0;
    out->ttl = p[8];
    out->src = tenon_ip4(be32(p + 12));
    out->dst = tenon_ip4(be32(p + 16));
    out->has_src = out->has_dst = true;
    if (p[8] == 0)
        return "TTL 0";
    off = (size_t)(be16(p + 6) & 0x1fff) * 8;
    more = (p[6] & 0x20) != 0;
    if ((p[6] & 0x80) != 0 || (out->df == 1 && (off > 0 || more)))
        return "the fragmentation flags contradict each other";
    out->ip_proto = p[9];
    if (off > 0 || more)
        return decode_fragment(p + header, n - header, off, more, out);
    return decode_transport(p + header, n - header, p[9], out, true);
}

static const char *decode_ip6(const uint8_t *p, size_t n, struct packet *out)
{
    size_t at = 40;
    int next;

    if (n < 40 || p[0] >> 4 != 6)
        return "no IPv6 header";
    if (be16(p + 4) != n - 40)
        return "the IPv6 payload length is wrong";
    out->tos = (int64_t)(be16(p) >> 4 & 0xff);
    out->ttl = p[7];
    out->src = get_ip(p + 8);
    out->dst = get_ip(p + 24);
    out->has_src = out->has_dst = true;
    if (p[7] == 0)
        return "hop limit 0";
    for (next = p[6]; next == 0 || next == 60 || next == 43; at += ((size_t)p[at + 1] + 1) * 8) {
        if (n - at < 8 || ((size_t)p[at + 1] + 1) * 8 > n - at)
            return "an extension header reaches past the packet";
        next = p[at];
    }
    out->ip_proto = next;
    if (next == 44) {
        if (n - at < 8)
            return "the fragment header is cut off";
        out->ip_proto = p[at];
        return decode_fragment(p + at + 8, n - at - 8, be16(p + at + 2) & 0xfff8, (p[at + 3] & 1) != 0, out);
    }
    return decode_transport(p + at, n - at, next, out, false);
}

static const char *decode_arp(const uint8_t *p, size_t n, struct packet *out)
{
    out->kind = PKT_ARP;
    if (n < 28 || be16(p) != 1 || be16(p + 2) != 0x0800 || p[4] != 6 || p[5] != 4)
        return "a malformed ARP packet";
    out->arp_op = be16(p + 6);
    memcpy(out->lladdr, p + 8, 6);
    out->has_lladdr = true;
    out->arp_sender = tenon_ip4(be32(p + 14));
    out->target = tenon_ip4(be32(p + 24));
    out->has_arp_sender = out->has_target = true;
    if (!mac_is(p + 8, out->eth_src))
        return "the ARP sender is not the sender of the frame";
    return NULL;
}

const char *decode_frame(const struct world *w, struct taken *taken)
{
    const uint8_t *p = taken->bytes;
    size_t n = taken->nbytes;
    struct packet *out = &taken->packet;
    uint32_t type;

    packet_clear(out, PKT_OTHER);
    if ((w->script->netif.caps & TENON_CAP_NO_LINK) != 0)
        return n > 0 && p[0] >> 4 == 6 ? decode_ip6(p, n, out) : decode_ip4(p, n, out);
    if (n < 14)
        return "the frame is shorter than an Ethernet header";
    memcpy(out->eth_dst, p, 6);
    memcpy(out->eth_src, p + 6, 6);
    out->has_eth_src = out->has_eth_dst = true;
    if (!mac_is(p + 6, mac_me))
        return "the frame's sender is not our Ethernet address";
    type = be16(p + 12);
    taken->ip_at = 14;
    if (type == 0x0800)
        return decode_ip4(p + 14, n - 14, out);
    if (type == 0x86dd)
        return decode_ip6(p + 14, n - 14, out);
    if (type == 0x0806)
        return decode_arp(p + 14, n - 14, out);
    return "an unknown ethertype";
}
