/* SPDX-License-Identifier: MIT */
/* What the files of src/ip share with each other and with src/udp, and nobody else needs. */
#ifndef TN_IP_INTERNAL_H
#define TN_IP_INTERNAL_H

#include "core.h"

TENON_BEGIN_DECLS

/* ---- input --------------------------------------------------------------------------------------------- */

/* Extension headers that are walked at most, received or quoted (RFC 8504 5.3). */
enum { TN_IP6_HEADERS_MAX = 8 };

/* Bytes from a packet's first byte on that are brought together when a frame is cut inside its headers.
 * Every packet buffer has room for them. */
enum { TN_IP_PULL_BYTES = TENON_BUF_BYTES_MIN };

/* Give a packet to its transport: pkt at the transport header, pkt->proto set. */
TENON_INTERNAL void tn_ip_deliver(struct tenon *stack, struct tn_pkt *pkt);

/* tn_addr_classify(), which looks through all addresses, only for what is not known yet. */
TENON_INTERNAL enum tn_dst tn_ip_classify(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip);

/* Whether a packet to one of us may come from this address: a host's, and not ours. */
TENON_INTERNAL int tn_ip4_is_other_host(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *src);
TENON_INTERNAL int tn_ip6_is_other_host(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *src);

/* From such a host to an address of ours. */
TENON_INTERNAL int tn_ip4_is_for_us(struct tenon *stack, const struct tn_pkt *pkt);
TENON_INTERNAL int tn_ip6_is_for_us(struct tenon *stack, const struct tn_pkt *pkt);

TENON_INTERNAL void tn_icmp_input(struct tenon *stack, struct tn_pkt *pkt);

/* Where the transport header is in a packet of which only the first bytes may be there. */
struct tn_l4 {
    tenon_u32 off;          /* from the IP header; at most the bytes that there are */
    tenon_u8 proto;
    tenon_u8 later;         /* 1: a fragment other than the first: there is no transport header */
};
/* len contiguous bytes at p, from the IPv6 header on. @return 0, or -1: the chain does not end within len */
TENON_INTERNAL int tn_ip6_find_l4(struct tn_l4 *l4, const tenon_u8 *p, tenon_u32 len);
/* The same from an extension header on: `next` tells what stands at p. */
TENON_INTERNAL int tn_ip6_find_l4_from(struct tn_l4 *l4, const tenon_u8 *p, tenon_u32 len, unsigned next);
/* Smallest header of a transport that we know; 0 for others. */
TENON_INTERNAL unsigned tn_l4_bytes_min(unsigned proto);

/* ---- reassembly: reass.c ------------------------------------------------------------------------------- */

/* A fragment; pkt is at its data, pkt->l3 .. there its headers. */
struct tn_frag {
    tenon_u32 id;
    tenon_u32 off;          /* bytes */
    tenon_u32 nh_at;        /* v6: where in the headers stands that a fragment header follows */
    tenon_u8 more;
    tenon_u8 next;          /* protocol of the data; v6: of the first fragment counts */
};

struct reass_piece;
struct tn_icmp;

/* A complete datagram: what its packet is made of, until tn_reass_release(). */
struct tn_reass_done {
    struct tenon_buf *hdr;
    struct reass_piece *pieces;
    tenon_u32 nh_at;
    struct tenon_span spans[TN_RX_SPANS_MAX + 1];
};

/* Keep a fragment.
 * @return 1: the datagram is complete; pkt is it, at its first byte after the IP header (v6: after the
 *         part that was not fragmented), its header rebuilt as if it had come whole. 0: it is not, or the
 *         fragment was dropped */
TENON_INTERNAL int tn_reass_add(struct tenon *stack, struct tn_pkt *pkt, const struct tn_frag *frag,
                                struct tn_reass_done *done);
TENON_INTERNAL void tn_reass_release(struct tenon *stack, struct tn_reass_done *done);
TENON_INTERNAL tenon_u32 tn_reass_bytes(const struct tenon_conf *conf);
TENON_INTERNAL void tn_reass_init(struct tenon *stack, tenon_u8 *mem);
TENON_INTERNAL void tn_reass_fini(struct tenon *stack);

/* ---- output -------------------------------------------------------------------------------------------- */

/* Make the transport checksum over all of `out`; its field holds the pseudo-header sum. l4: its transport header, and
 * len bytes in that buffer. */
TENON_INTERNAL void tn_out_csum_complete(const struct tenon *stack, struct tn_out *out, tenon_u8 *l4, tenon_u32 len);
/* Send a packet, IP header built and larger than mtu, in pieces. Takes out->hdr. */
TENON_INTERNAL int tn_ip_fragment(struct tenon *stack, struct tn_path *path, struct tn_out *out, tenon_u32 mtu);
/* Copy n bytes into fresh packet buffers. @return spans used, each with a reference; -1: no buffers, or
 *         more than max of them would be needed */
TENON_INTERNAL int tn_spans_write(struct tenon *stack, struct tenon_span *to, unsigned max, const tenon_u8 *bytes,
                                  tenon_u32 n);
/* The same with bytes [off, off + n) of a chain of spans, into TN_RX_SPANS_MAX spans at most. */
TENON_INTERNAL int tn_spans_gather(struct tenon *stack, struct tenon_span *to, const struct tenon_span *spans,
                                   tenon_u32 off, tenon_u32 n);
/* The identification of a datagram of UDP over IPv4 that may be fragmented: of the next along this path. */
TENON_INTERNAL tenon_u16 tn_ip4_udp_id(struct tenon *stack, struct tn_path *path, tenon_u32 src);
/* The flow label of a datagram of UDP over IPv6 along this path, which leads there now: as tn_ip6_flow() has it. */
TENON_INTERNAL tenon_u32 tn_ip6_udp_flow(const struct tenon *stack, struct tn_path *path, const struct tenon_ip *src,
                                         tenon_u32 ports);
/* tn_path_get(), counting a packet that has no route. */
TENON_INTERNAL int tn_ip_path(struct tenon *stack, struct tn_path **path, const struct tenon_ip *dst, unsigned scope);
/* The interface as far as it matters to where an address is: to link-local ones, groups and 255.255.255.255. */
TENON_INTERNAL unsigned tn_ip_scope(const struct tenon_ip *ip, unsigned netif);

/* ---- ICMP ---------------------------------------------------------------------------------------------- */

/* Echo replies may be so many times as frequent as errors: see docs/design/ip.md. So a bucket has a thousand for each
 * reply, and so many thousands for an error. */
enum { TN_REPLIES_PER_ERROR = 64, TN_TOKEN_REPLY = 1000 };
#define TN_TOKEN_ERROR 64000UL
/* Take what a message costs, which is a token on average, and up to half of one more. @return 1 if it was there */
TENON_INTERNAL int tn_bucket_take(const struct tenon *stack, struct tn_bucket *bucket, tenon_u32 token, tenon_u32 cost);
/* An ICMP message that answers a packet: where it goes, and what it quotes of it. */
struct tn_answer {
    struct tn_path *path;
    struct tn_out out;
    struct tenon_span spans[TN_RX_SPANS_MAX];
};
/* To whom the packet came from; nothing behind the ICMP header yet. @return TENON_OK, or there is no answer */
TENON_INTERNAL int tn_answer_begin(struct tenon *stack, struct tn_answer *answer, const struct tn_pkt *pkt,
                                   const struct tn_icmp *icmp);
/* n bytes of the present layer follow, or as many as there are spans for. @return how many */
TENON_INTERNAL tenon_u32 tn_answer_quote(struct tn_answer *answer, const struct tn_pkt *pkt, tenon_u32 n);
/* whole: 0: it is not to be sent after all. @return as tn_ip_output() */
TENON_INTERNAL int tn_answer_send(struct tenon *stack, struct tn_answer *answer, int whole);

/* pkt at the ICMP header of a request, verified: that header. */
TENON_INTERNAL void tn_echo_request(struct tenon *stack, struct tn_pkt *pkt, const struct tn_icmp *request);
TENON_INTERNAL void tn_echo_reply(struct tenon *stack, struct tn_pkt *pkt);
TENON_INTERNAL void tn_echo_error(struct tenon *stack, const struct tn_err *err);
TENON_INTERNAL void tn_echo_fini(struct tenon *stack);

/* A "too big" about a packet that a socket of ours may have sent: lower the path MTU if it is plausible.
 * @return 1: it is, though it may be known already; 0: not to be believed */
TENON_INTERNAL int tn_pmtu_report(struct tenon *stack, const struct tn_err *err);

TENON_END_DECLS

#endif
