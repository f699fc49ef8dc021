/* SPDX-License-Identifier: MIT */
/* IPv4, IPv6 and ICMP: input, output, fragmentation, reassembly, errors. */
#ifndef TN_IP_IP_H
#define TN_IP_IP_H

#include <tenon/icmp.h>
#include <tenon/stack.h>

#include "base/hash.h"
#include "base/wheel.h"

TENON_BEGIN_DECLS

struct tn_pkt;
struct tn_out;
struct tn_path;
struct tn_reass;

/* An ICMP error (or a local failure that means the same), parsed and ready for the transport. */
enum tn_err_kind {
    TN_ERR_NET, TN_ERR_HOST, TN_ERR_PROTOCOL, TN_ERR_PORT, TN_ERR_ADMIN,    /* unreachable */
    TN_ERR_TOO_BIG,                                                           /* see mtu */
    TN_ERR_TIME,                                                              /* TTL or reassembly exceeded */
    TN_ERR_PARAM
};

struct tn_err {
    enum tn_err_kind kind;
    int error;                        /* enum tenon_error for the application */
    tenon_u8 hard;                    /* RFC 9293 3.9.2.2: protocol and port unreachable, v6 admin/port */
    tenon_u8 proto;                   /* of the quoted packet */
    struct tenon_addr local, remote;  /* of the quoted packet: local is ours. Ports: of TCP and UDP */
    struct tenon_ip from;             /* who reports; any: this instance itself */
    tenon_u32 mtu;                    /* TOO_BIG */
    const tenon_u8 *l4;               /* quoted transport header ... */
    tenon_u32 l4_len;                 /* ... and how much of it there is, at least 8 */
};

TENON_INLINE int tn_err_is_too_big(const struct tn_err *err)
{
    return !TENON_WITH_ERRORS || err->kind == TN_ERR_TOO_BIG;    /* without, no others are heard */
}

/* pkt at the IP header. */
TENON_INTERNAL void tn_ip4_input(struct tenon *stack, struct tn_pkt *pkt);
TENON_INTERNAL void tn_ip6_input(struct tenon *stack, struct tn_pkt *pkt);
/* pkt at the link header, and all of it but where it lies still 0. What is as most packets are goes straight up.
 * conn: from tn_fast_look(), whose it is if its IP header has no options, or no extension headers behind it.
 * @return 1: it went; 0: it has to be looked at layer by layer */
TENON_INTERNAL int tn_ip_usual(struct tenon *stack, struct tn_pkt *pkt, struct tenon_tcp *conn);

/* Send a transport packet: pseudo-header sum, IP header, fragmentation when it must be and may be, then
 * tn_link_output(), to where the path leads. out: src, proto, ttl, tos, df and the transport part filled in; ttl 0:
 * default. With seg_kind the packet may be larger than the path MTU: its pieces are what counts. Takes out->hdr.
 * @return TENON_OK, TENON_EUNREACH, TENON_EMSGSIZE (too large with df), TENON_EAGAIN, TENON_ENOMEM */
TENON_INTERNAL int tn_ip_output(struct tenon *stack, struct tn_path *path, struct tn_out *out);

/* The flow label of a packet of ours: constant for a flow (RFC 6437 3). ports: of TCP and UDP, ours first; else 0. */
TENON_INTERNAL tenon_u32 tn_ip6_flow(const struct tenon *stack, const struct tenon_ip *src, const struct tenon_ip *dst,
                                     unsigned proto, tenon_u32 ports);
/* The same in two steps, for who knows the ends before their ports. */
TENON_INTERNAL void tn_ip6_flow_begin(tenon_u32 state[4], const struct tenon *stack, const struct tenon_ip *src,
                                      const struct tenon_ip *dst, unsigned proto);
TENON_INTERNAL tenon_u32 tn_ip6_flow_end(const tenon_u32 state[4], tenon_u32 ports);

/* What an error of ours says: its type and its code (RFC 792, RFC 4443 3, RFC 7112 5). */
enum tn_icmp_why {
    TN_WHY4_PROTOCOL = 0x0302, TN_WHY4_PORT = 0x0303, TN_WHY4_REASSEMBLY = 0x0B01,
    TN_WHY6_PORT = 0x0104, TN_WHY6_REASSEMBLY = 0x0301,
    TN_WHY6_FIELD = 0x0400, TN_WHY6_NEXT = 0x0401, TN_WHY6_OPTION = 0x0402, TN_WHY6_CHAIN = 0x0403
};
/* Send an ICMP error about a received packet, if the rules and the rate allow (RFC 1122 3.2.2, RFC 4443
 * 2.4). IPv6: pkt->proto is the kind of the present layer. where: from pkt->l3 on, for parameter problems; else 0. */
TENON_INTERNAL void tn_icmp_error(struct tenon *stack, const struct tn_pkt *pkt, enum tn_icmp_why why, tenon_u32 where);
/* A packet of ours that could not be sent after all (its neighbour does not answer): tell its socket.
 * l3: the packet from its IP header on, `len` contiguous bytes of it. */
TENON_INTERNAL void tn_icmp_local_error(struct tenon *stack, const tenon_u8 *l3, tenon_u32 len, enum tn_err_kind kind,
                                        unsigned netif);

TENON_INTERNAL void tn_reass_timer(struct tenon *stack, struct tn_timer *timer);
/* Something whole could not be kept, because buffers are short: the oldest datagram that waits for the rest of itself
 * gives way to the next. */
TENON_INTERNAL void tn_reass_give_way(struct tenon *stack);

TENON_INTERNAL tenon_u32 tn_ip_bytes(const struct tenon_conf *conf);
TENON_INTERNAL void tn_ip_init(struct tenon *stack, tenon_u8 *mem);
TENON_INTERNAL void tn_ip_fini(struct tenon *stack);

/* Buckets of fragment ids and of ICMP destinations, chosen by a keyed hash of the address. */
enum { TN_IP_BUCKETS = TENON_WITH_MANY ? 64 : 1 };

/* 1: there is a hash for what is counted by destination, and for flow labels that are made in two steps. 0: flow labels
 * are all that is hashed here, as all is that others are not to guess. */
enum { TN_IP_HASHES = TENON_WITH_MANY || TENON_WITH_SPEED };

/* What an address is to an interface, remembered: most packets are of few addresses. */
enum { TN_IP_KNOWN = TENON_WITH_SPEED ? 16 : 2 };

struct tn_ip_known {
    struct tenon_ip ip;
    tenon_u32 gen;                       /* of the addresses and routes that it was found with */
    tenon_u8 netif;                      /* 0: nothing is known here */
    tenon_u8 what;                       /* enum tn_dst */
};

/* A token bucket, in thousandths of tokens. */
struct tn_bucket {
    tenon_u32 tokens;
    tenon_u32 ms;                        /* when it was filled last */
};

struct tn_ip {
    struct tn_reass *reass;              /* [conf.reass_datagrams_max] */
    tenon_u32 reass_bytes;               /* packet memory held */
    tenon_u16 reass_free;                /* 1 + index of the first unused entry; 0: none */
    tenon_u16 reass_oldest, reass_newest;
    tenon_u16 nechoes;
    struct tn_key64 key;                 /* of what is hashed here and seen outside: flow labels, ids */
    tenon_u16 ids[TN_IP_BUCKETS];        /* IPv4 identification: counters (RFC 7739 5.3) */
    struct tn_bucket errors;             /* ICMP errors */
    struct tn_bucket replies;            /* echo replies */
    tenon_u16 errors_to[TN_IP_BUCKETS];  /* ICMP errors sent in this second, by destination */
    tenon_u32 errors_to_ms;              /* when that second began */
    struct tenon_echo *echoes;
    struct tn_ip_known known[TN_IP_KNOWN];
};

TENON_END_DECLS

#endif
