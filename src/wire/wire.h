/* SPDX-License-Identifier: MIT */
/* Codecs of the protocols: bytes to structs and back. No state, no instance, nothing of the core: they
 * read and write exactly the bytes that they are given, and never trust a length inside them.
 * Every parse function returns 0 and fills its struct, or -1: malformed (then the struct is undefined).
 * Every build function writes at `p`, where its size must be free, and returns that size. */
#ifndef TN_WIRE_WIRE_H
#define TN_WIRE_WIRE_H

#include <tenon/types.h>

TENON_BEGIN_DECLS

/* ---- Ethernet II, 802.1Q ------------------------------------------------------------------- */

enum {
    TN_ETH_BYTES = 14,
    TN_VLAN_BYTES = 4,
    TN_ETHERTYPE_IP4 = 0x0800,
    TN_ETHERTYPE_ARP = 0x0806,
    TN_ETHERTYPE_IP6 = 0x86DD,
    TN_ETHERTYPE_VLAN = 0x8100
};

struct tn_eth {
    const tenon_u8 *dst, *src;    /* into the frame */
    tenon_u16 ethertype;          /* behind a VLAN tag if there is one; an 802.3 length (< 0x600) with an
                                     RFC 1042 SNAP header gives the ethertype in that header */
    tenon_u16 vlan;               /* VLAN id, 0 without a tag (a priority tag has id 0 too) */
    unsigned bytes;               /* of all link headers */
};
TENON_INTERNAL int tn_eth_parse(struct tn_eth *eth, const tenon_u8 *p, tenon_u32 len);
TENON_INTERNAL unsigned tn_eth_build(tenon_u8 *p, const tenon_u8 dst[6], const tenon_u8 src[6], unsigned ethertype);

/* ---- ARP (RFC 826), Ethernet and IPv4 only -------------------------------------------------- */

enum { TN_ARP_BYTES = 28, TN_ARP_REQUEST = 1, TN_ARP_REPLY = 2 };

struct tn_arp {
    unsigned op;
    const tenon_u8 *sender_mac, *target_mac;    /* of parsed ones: in the message */
    tenon_u32 sender_ip, target_ip;
};
TENON_INTERNAL int tn_arp_parse(struct tn_arp *arp, const tenon_u8 *p, tenon_u32 len);
TENON_INTERNAL unsigned tn_arp_build(tenon_u8 *p, const struct tn_arp *arp);

/* ---- IPv4 (RFC 791) -------------------------------------------------------------------------- */

enum { TN_IP4_BYTES = 20, TN_IP4_DF = 0x4000, TN_IP4_MF = 0x2000 };

enum tn_proto {
    TN_PROTO_HOPOPT = 0,
    TN_PROTO_ICMP = 1,
    TN_PROTO_IGMP = 2,
    TN_PROTO_TCP = 6,
    TN_PROTO_UDP = 17,
    TN_PROTO_ROUTING = 43,
    TN_PROTO_FRAGMENT = 44,
    TN_PROTO_ICMP6 = 58,
    TN_PROTO_NONE = 59,
    TN_PROTO_DSTOPTS = 60
};

struct tn_ip4 {
    tenon_u32 src, dst;
    tenon_u16 total;          /* bytes of the packet */
    tenon_u16 id;
    tenon_u16 frag;           /* TN_IP4_DF, TN_IP4_MF, and the offset in units of 8 bytes */
    tenon_u8 header_bytes;    /* 20 .. 60 */
    tenon_u8 tos, ttl, proto;
};
/* `head` contiguous bytes at p, `len` bytes of packet in all (padding included). Checks version, IHL,
 * total length against len; not the checksum: tn_ip4_csum_good(). */
TENON_INTERNAL int tn_ip4_parse(struct tn_ip4 *ip, const tenon_u8 *p, tenon_u32 head, tenon_u32 len);
TENON_INTERNAL int tn_ip4_csum_good(const tenon_u8 *p, unsigned header_bytes);
/* Options: 0 nothing wrong, -1 malformed, 1 there is a source route. */
TENON_INTERNAL int tn_ip4_options_check(const tenon_u8 *p, unsigned header_bytes);
/* 20 bytes with its checksum; ip->header_bytes is not looked at. */
TENON_INTERNAL_HOT unsigned tn_ip4_build(tenon_u8 *p, const struct tn_ip4 *ip);

/* ---- IPv6 (RFC 8200) ------------------------------------------------------------------------- */

enum { TN_IP6_BYTES = 40, TN_FRAG6_BYTES = 8 };

/* What is in front of the addresses, which are read by read_ip6() from bytes 8 and 24 on. */
struct tn_ip6 {
    tenon_u32 flow;           /* 20 bits */
    tenon_u16 payload;        /* bytes after this header */
    tenon_u8 tos, hop_limit, next;
};
TENON_INTERNAL int tn_ip6_parse(struct tn_ip6 *ip, const tenon_u8 *p, tenon_u32 head, tenon_u32 len);
TENON_INTERNAL unsigned tn_ip6_build(tenon_u8 *p, const struct tn_ip6 *ip, const struct tenon_ip *src,
                                     const struct tenon_ip *dst);

struct tn_frag6 {
    tenon_u8 next;
    tenon_u16 off;            /* bytes, a multiple of 8 */
    tenon_u8 more;
    tenon_u32 id;
};
TENON_INTERNAL int tn_frag6_parse(struct tn_frag6 *frag, const tenon_u8 *p, tenon_u32 len);
TENON_INTERNAL unsigned tn_frag6_build(tenon_u8 *p, const struct tn_frag6 *frag);

/* The options of a hop-by-hop or destination options header at p (RFC 8200 4.2, limits of RFC 8504 5.3).
 * The header's own length has been checked to lie within len.
 * @return what to do: */
enum tn_opt6_verdict {
    TN_OPT6_OK,
    TN_OPT6_DISCARD,            /* silently: malformed, or action 01, or over a limit */
    TN_OPT6_ERROR,              /* discard, and Parameter Problem code 2 pointing at `where` (action 10) */
    TN_OPT6_ERROR_UNICAST       /* the same, but not if the destination was multicast (action 11) */
};
TENON_INTERNAL enum tn_opt6_verdict tn_opt6_check(const tenon_u8 *p, tenon_u32 len, tenon_u32 *where);

/* ---- ICMP (RFC 792, RFC 4443) ----------------------------------------------------------------- */

enum {
    TN_ICMP_BYTES = 8,
    TN_ICMP4_ECHO_REPLY = 0, TN_ICMP4_UNREACH = 3, TN_ICMP4_QUENCH = 4, TN_ICMP4_REDIRECT = 5,
    TN_ICMP4_ECHO = 8, TN_ICMP4_TIME = 11, TN_ICMP4_PARAM = 12,
    TN_ICMP6_UNREACH = 1, TN_ICMP6_TOO_BIG = 2, TN_ICMP6_TIME = 3, TN_ICMP6_PARAM = 4,
    TN_ICMP6_ECHO = 128, TN_ICMP6_ECHO_REPLY = 129,
    TN_ICMP6_MLD_QUERY = 130, TN_ICMP6_MLD_REPORT = 131, TN_ICMP6_MLD_DONE = 132,
    TN_ICMP6_RS = 133, TN_ICMP6_RA = 134, TN_ICMP6_NS = 135, TN_ICMP6_NA = 136, TN_ICMP6_REDIRECT = 137,
    TN_ICMP6_MLD2_REPORT = 143
};

struct tn_icmp {
    tenon_u8 type, code;
    tenon_u16 csum;
    tenon_u32 rest;           /* bytes 4..7: id and seq, MTU, pointer */
};
TENON_INTERNAL int tn_icmp_parse(struct tn_icmp *icmp, const tenon_u8 *p, tenon_u32 len);
TENON_INTERNAL unsigned tn_icmp_build(tenon_u8 *p, const struct tn_icmp *icmp);

/* One option of a neighbour discovery message (RFC 4861 4.6): p at the option, `len` bytes to the end of
 * the message. @return its length in bytes (8 and up, within len), or 0: malformed */
TENON_INTERNAL unsigned tn_nd_option(tenon_u8 *type, const tenon_u8 *p, tenon_u32 len);

/* ---- UDP (RFC 768) ---------------------------------------------------------------------------- */

enum { TN_UDP_BYTES = 8, TN_UDP_CSUM_AT = 6 };

struct tn_udp {
    tenon_u16 sport, dport, len, csum;
};
/* Checks 8 <= len field <= len. */
TENON_INTERNAL int tn_udp_parse(struct tn_udp *udp, const tenon_u8 *p, tenon_u32 head, tenon_u32 len);
TENON_INTERNAL unsigned tn_udp_build(tenon_u8 *p, const struct tn_udp *udp);

/* ---- TCP (RFC 9293 3.1) ------------------------------------------------------------------------ */

enum {
    TN_TCP_BYTES = 20,
    TN_TCP_OPTIONS_MAX = 40,
    TN_TCP_FIN = 0x01, TN_TCP_SYN = 0x02, TN_TCP_RST = 0x04, TN_TCP_PSH = 0x08,
    TN_TCP_ACK = 0x10, TN_TCP_URG = 0x20, TN_TCP_ECE = 0x40, TN_TCP_CWR = 0x80
};

struct tn_tcp {
    tenon_u32 ports;          /* of the source, in the upper half, and of the destination */
    tenon_u32 seq, ack;
    tenon_u16 wnd, urgent;
    tenon_u8 flags;
    tenon_u8 header_bytes;    /* 20 .. 60 */
};
/* `head` contiguous bytes, `len` bytes of segment. Checks the data offset: 20 <= header_bytes <= head, len. */
TENON_INTERNAL int tn_tcp_parse(struct tn_tcp *tcp, const tenon_u8 *p, tenon_u32 head, tenon_u32 len);
/* 20 bytes; header_bytes must be right (options follow); the checksum is to be made: 0. */
TENON_INTERNAL unsigned tn_tcp_build(tenon_u8 *p, const struct tn_tcp *tcp);

/* RFC 7323 appendix A: nothing but timestamps, as everybody sends them: NOP, NOP, kind 8, 10 bytes; the
 * values follow. */
#define TN_TCP_TIMESTAMP_ALONE 0x0101080AUL
#define TN_TCP_MSS_ALONE 0x02040000UL
enum { TN_TCP_MSS_BYTES = 4 };
enum { TN_TCP_TIMESTAMP_BYTES = 12 };

enum { TN_SACK_BLOCKS_MAX = 4, TN_FASTOPEN_COOKIE_MIN = 4, TN_FASTOPEN_COOKIE_MAX = 16 };

/* Which options there were, and what they said. */
struct tn_tcp_options {
    tenon_u8 has_mss, has_wscale, has_sack_permitted, has_timestamp;
    tenon_u8 nsacks;
    tenon_u8 wscale;
    tenon_u16 mss;
    tenon_u32 ts_val, ts_ecr;
    tenon_u32 sack_left[TN_SACK_BLOCKS_MAX], sack_right[TN_SACK_BLOCKS_MAX];
    tenon_u8 has_fastopen, fastopen_bytes;    /* 0 bytes: the request for a cookie (RFC 7413 4.1.1) */
    tenon_u8 fastopen[TN_FASTOPEN_COOKIE_MAX];
};
/* Options of a header of header_bytes at p (at the start of the TCP header). Unknown ones are skipped
 * (RFC 9293 MUST-6), a known one of wrong length is ignored, the first of a kind counts; SACK blocks
 * only when the length is 2 + 8n, a Fast Open cookie only when it has 0, 4, 6 .. 16 bytes.
 * @return 0, or -1: a length that cannot be: what was read before it stands (MUST-7) */
TENON_INTERNAL int tn_tcp_options_parse(struct tn_tcp_options *options, const tenon_u8 *p, unsigned header_bytes);
/* Writes options in the customary order (MSS, SACK permitted, timestamp, window scale, Fast Open, SACK), each with so
 * many NOPs before it that it ends on a multiple of 4. At most 40 bytes: SACK blocks that do not fit are
 * left out. p has room for 40. @return bytes, a multiple of 4 */
TENON_INTERNAL unsigned tn_tcp_options_build(tenon_u8 *p, const struct tn_tcp_options *options);
/* The same of a SYN with all that is usual: MSS, SACK permitted, timestamp and window scale. */
enum { TN_TCP_SYN_OPTIONS_BYTES = 20 };
TENON_INTERNAL void tn_tcp_syn_options_build(tenon_u8 *p, const struct tn_tcp_options *options);
/* The same back into `options`, which are cleared. @return 0: they are others, or in another order */
TENON_INTERNAL int tn_tcp_syn_options_parse(struct tn_tcp_options *options, const tenon_u8 *p);

TENON_END_DECLS

#endif
