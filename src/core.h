/* SPDX-License-Identifier: MIT */
/* The instance: what the layers share, each layer's own state side by side, and the two structs in which
 * packets travel: tn_pkt upwards, tn_out downwards. */
#ifndef TN_CORE_H
#define TN_CORE_H

#include <tenon/tenon.h>

#include "base/hash.h"
#include "base/htab.h"
#include "base/mem.h"
#include "base/seq.h"
#include "base/wheel.h"
#include "ip/ip.h"
#include "link/link.h"
#include "tcp/tcp_state.h"
#include "udp/udp_state.h"

TENON_BEGIN_DECLS

/* Whose a timer is: tn_timer.kind. */
enum tn_timer_kind {
    TN_TIMER_TCP,          /* tcp/tcp_timer.c */
    TN_TIMER_TIME_WAIT,    /* tcp/tcp_timewait.c */
    TN_TIMER_NEIGHBOUR,    /* link/neighbour.c: one neighbour */
    TN_TIMER_REASS,        /* ip/reass.c: one datagram */
    TN_TIMER_LIFETIMES,    /* link/link.c: this and those below are in a struct tn_alarm */
    TN_TIMER_SOLICIT,      /* link/router.c */
    TN_TIMER_ADDRESS,      /* link/dad.c */
    TN_TIMER_GROUP         /* link/group.c */
};

/* How a frame was addressed on the link (RFC 1122 2.4). */
enum tn_cast { TN_CAST_UNICAST, TN_CAST_MULTICAST, TN_CAST_BROADCAST };

/* 1: headers that a frame is cut in are brought together before any of them is read. 0: each layer does so with its
 * own, since fragments and extension headers leave no limit to where they are: those of the link, of IP, of the
 * transport, and a message about the link. */
enum { TN_PULLS_ONCE = TENON_WITH_IPV6 ? 0 : !TENON_WITH_FRAGMENTS, TN_PULLS_MAX = TN_PULLS_ONCE ? 1 : 4 };

/* A received packet on its way up. Each layer pulls its header off the front (tn_pkt_pull) and hands the
 * same struct on. Nothing in it outlives the call of tenon_input(). */
struct tn_pkt {
    struct tenon_ip src;
    tenon_u8 cast;                     /* enum tn_cast, of the link */
    tenon_u8 csum;                     /* enum tenon_csum, of the transport checksum; what is not NONE is good */
    tenon_u8 seg_kind;
    /* filled in by IP, as src, dst and l3 */
    tenon_u8 proto, ttl, tos, is_v4;
    tenon_u8 dst_cast;                 /* enum tn_cast, of the IP destination */
    tenon_u8 foreign;                  /* 1: unicast to an address that is not ours (transparent listeners) */
    tenon_u8 fragmented;               /* 1: it was put together from fragments */

    tenon_u16 seg_bytes;
    unsigned nspans;
    const struct tenon_span *spans;    /* all bytes of the frame */
    tenon_u8 *head;                    /* the byte at `off` ... */
    tenon_u32 head_len;                /* ... and how many follow it contiguously, at most len: tn_pkt_head_len() */
    tenon_u32 off;                     /* where the present layer begins, from the first byte of spans[0] */
    tenon_u32 len;                     /* bytes of the present layer to the end; padding is cut off by trimming it */
    tenon_u32 flow_hash;
    struct tn_netif *netif;
    tenon_u32 merged;                  /* bytes at the end that the IP header does not count: stack/gro.c */
    tenon_u32 l3_len;                  /* bytes of the IP packet from l3 on, in all spans */
    tenon_u8 *l3;                      /* its IP header; contiguous up to the transport header */
    struct tenon_tcp *conn;            /* whose it is, and has been heard of from there; NULL: to be found out */
    unsigned ncopies;
    /* From here on nothing is cleared: tn_pkt_clear(). */
    struct tenon_buf *copies[TN_PULLS_MAX];    /* what was cut, in one piece: tn_pkt_pullup() */
    struct tenon_ip dst;
};

TENON_INLINE void tn_pkt_clear(struct tn_pkt *pkt)
{
    tn_clear(pkt, offsetof(struct tn_pkt, copies));
}

/* 0: it came to several, which only Ethernet has. */
TENON_INLINE int tn_pkt_is_unicast(const struct tn_pkt *pkt)
{
    return !TENON_WITH_ETHERNET || pkt->cast == TN_CAST_UNICAST;
}

TENON_INLINE int tn_pkt_is_v4(const struct tn_pkt *pkt)
{
    return !TENON_WITH_IPV6 || pkt->is_v4;
}

/* To an address that is not ours, for a transparent listener. */
TENON_INLINE int tn_pkt_is_foreign(const struct tn_pkt *pkt)
{
    return TENON_WITH_ROUTES && pkt->foreign;
}

/* A packet on its way down. The transport puts its header (and payload that is cheaper to copy) into a
 * header buffer with TN_HEADROOM free bytes in front; each layer prepends its own by moving `off` down.
 * The reference on `hdr` passes to the function that gets the struct; spans are borrowed: who keeps them
 * takes references. */
struct tn_out {
    struct tenon_buf *hdr;
    tenon_u8 csum_done;                /* 1: the field of the checksum holds the final one already */
    tenon_u8 seg_kind;                 /* enum tenon_seg: payload (all of it) is to be cut into seg_bytes */
    tenon_u8 proto, ttl, tos;
    tenon_u8 df;                       /* 1: may not be fragmented */
    tenon_u8 probe;                    /* 1: to find out whether it passes: larger than the path MTU */
    tenon_u8 router_alert;             /* 1: IGMP and MLD (RFC 2113, RFC 2711) */
    tenon_u8 netif;                    /* filled in by the link layer */
    tenon_u16 l4_bytes;                /* size of the transport header (segmentation repeats it) */
    tenon_u16 csum_offset;             /* of the checksum in the transport header; 0: none is to be made */
    tenon_u16 seg_bytes;
    tenon_u32 off, len;                /* what is built so far: hdr->data + off, len bytes */
    tenon_u32 l4_off;                  /* offset of the transport header in hdr->data */
    const struct tenon_span *spans;    /* payload that is not in hdr */
    unsigned nspans;
    tenon_u32 payload;                 /* bytes in spans */
    struct tenon_ip src;
    struct tenon_ip dst;               /* of a message of the link layer, or what tx.c cuts: else in the path */
};

/* Its checksum is still to be made. */
TENON_INLINE int tn_out_needs_csum(const struct tn_out *out)
{
    return out->csum_offset != 0 && !out->csum_done;
}

/* What is not in out->hdr: spans, and bytes in them. */
TENON_INLINE unsigned tn_out_nspans(const struct tn_out *out)
{
    return TENON_WITH_PIECES ? out->nspans : 0;
}
TENON_INLINE tenon_u32 tn_out_payload(const struct tn_out *out)
{
    return TENON_WITH_PIECES ? out->payload : 0;
}

/* Link header + the largest network header that we build (IPv6 + hop-by-hop or fragment header). */
enum { TN_HEADROOM = 72 };
/* Up to here payload of UDP and ICMP goes behind its header: a copy is cheaper than a span, and there is room in every
 * buffer. */
enum { TN_JOINED_ROOM = (int)TENON_BUF_BYTES_MIN - (int)TN_HEADROOM - 8 };
enum { TN_JOINED_MAX = (int)TN_JOINED_ROOM < 128 ? (int)TN_JOINED_ROOM : 128 };

/* ---- the burst of frames that waits for the port: stack/tx.c ------------------------------------ */

struct tn_burst {
    struct tenon_frame *frames;        /* [max] */
    tenon_u8 *netifs;                  /* [max]: interface of each */
    struct tenon_span *spans;          /* [max * gather]: frame i uses spans[i * gather ...] */
    tenon_u16 max, gather, n;
    tenon_u16 first;                   /* where they begin, without TENON_WITH_SPEED: else at 0 */
    tenon_u8 blocked;                  /* 1: the port took less than it was offered at its last call */
    tenon_u16 asks;                    /* so many wait up to the last that asks who has an address; 0: it has left */
};

/* TN_BUF_RESERVE of the cached buffers are kept for headers: without any, nothing that is queued could ever
 * leave, and nothing that holds buffers would give them back. What an application queues leaves some more, in which
 * fragments are put together: its peer may be waiting for that what it sends is read. */
enum {
    TN_BUF_CACHE = TENON_WITH_SPEED ? 32 : 4,
    TN_BUF_RESERVE = TENON_WITH_SPEED ? 8 : 2,
    TN_BUF_JOINS = TENON_WITH_SPEED && TENON_WITH_FRAGMENTS ? 4 : 0
};

/* What most functions ask for comes first: within 128 bytes ARM's instructions are short, and ColdFire's at the
 * pointer itself. */
struct tenon {
    tenon_u32 now_ms;                  /* milliseconds since tenon_init(), modulo 2^32 */
    struct tn_burst tx;
    tenon_u8 started;                  /* the first call has told us the time */
    tenon_u8 depth;                    /* inside tenon_input() or tenon_poll() */
    tenon_u8 keeps;                    /* enum tenon_kept: of what comes */
    unsigned nbufs;                    /* how many there are of bufs */
    const struct tenon_host *ops;
    void *host;

    tenon_u32 now_us;                  /* of the current call */
    tenon_u32 now_tick;                /* the wheel's clock as it should stand; it stands there while timers fire */
    tenon_u32 tick_us, ms_us;          /* now_us up to which the wheel and now_ms have counted */

    struct tn_link link;

    struct tenon_conf conf;
    struct tn_wheel wheel;

    /* Keys that begin as random bytes, without anything between them: stack_seed(). */
    struct tn_key64 table_key;         /* hash tables */
    struct tn_key128 secret;           /* ISN, ports, interface identifiers, fragment ids */
    struct tn_rng random;

    struct tenon_buf *bufs[TN_BUF_CACHE];

    struct tn_ip ip;
    struct tn_udp_state udp;
    struct tn_tcp_state tcp;

    tenon_u32 stats[TENON_WITH_STATS ? TENON_STAT_COUNT : 1];
};

TENON_INLINE void tn_count(struct tenon *stack, enum tenon_stat stat)
{
    if (TENON_WITH_STATS)
        stack->stats[stat]++;
}

TENON_INLINE void tn_count_n(struct tenon *stack, enum tenon_stat stat, tenon_u32 n)
{
    if (TENON_WITH_STATS)
        stack->stats[stat] += n;
}

/* ---- time --------------------------------------------------------------------------------------- */

TENON_INLINE tenon_u32 tn_ticks_of_us(tenon_u32 us)
{
    return ((us + 127) >> TN_TICK_SHIFT) + 1;
}

/* Tick in which a timer has to be started to fire after this long, or a little later. */
TENON_INLINE tenon_u32 tn_tick_after_us(const struct tenon *stack, tenon_u32 us)
{
    return stack->now_tick + tn_ticks_of_us(us);
}

TENON_INLINE tenon_u32 tn_tick_after_ms(const struct tenon *stack, tenon_u32 ms)
{
    return stack->now_tick + (ms >> 4) * 125 + (((ms & 15) * 125) >> 4) + 2;
}

/* ---- memory: stack/memory.c ---------------------------------------------------------------------- */

/* NULL and a count when there is none. */
TENON_INTERNAL void *tn_mem_get(struct tenon *stack, size_t bytes);
/* The same, all 0. */
TENON_INTERNAL void *tn_mem_get_clear(struct tenon *stack, size_t bytes);
TENON_INTERNAL void tn_mem_put(struct tenon *stack, void *mem, size_t bytes);
/* A packet buffer of the host, or NULL and a count. */
TENON_INTERNAL struct tenon_buf *tn_buf_get(struct tenon *stack);
/* The same for who may not want it: it is taken by stack->nbufs--. NULL is not counted. */
TENON_INTERNAL_HOT struct tenon_buf *tn_buf_next(struct tenon *stack);
/* A packet buffer for data that will stay in a queue: leaves the reserve alone. */
TENON_INTERNAL struct tenon_buf *tn_buf_get_to_keep(struct tenon *stack);
/* The same for what an application sends. */
TENON_INTERNAL struct tenon_buf *tn_buf_get_to_send(struct tenon *stack);
/* Whether tn_buf_get_to_keep() would give n of them; n: up to TN_BUF_CACHE - TN_BUF_RESERVE. */
TENON_INTERNAL int tn_buf_may_keep(struct tenon *stack, unsigned n);
/* Prepare `out` with a fresh header buffer: off = l4_off = TN_HEADROOM, everything else 0.
 * @return TENON_OK or TENON_ENOMEM */
TENON_INTERNAL int tn_out_new(struct tenon *stack, struct tn_out *out);
/* Put every span's buffer, or take a reference on each. */
TENON_INTERNAL void tn_spans_put(const struct tenon_span *spans, unsigned n);
TENON_INTERNAL void tn_spans_ref(const struct tenon_span *spans, unsigned n);
/* Copy `len` bytes, from byte `off` of a chain of spans on, to `to`; there is a span. */
TENON_INTERNAL void tn_spans_copy(tenon_u8 *to, const struct tenon_span *spans, tenon_u32 off, tenon_u32 len);
/* Spans being collected: room for `max`, `n` of them there, `bytes` long together. */
struct tn_gather {
    struct tenon_span *spans;
    unsigned max, n;
    tenon_u32 bytes;
};
TENON_INLINE void tn_gather_init(struct tn_gather *to, struct tenon_span *spans, unsigned max)
{
    to->spans = spans;
    to->max = max;
    to->n = 0;
    to->bytes = 0;
}
/* Collect the part [off, off + len) of a chain of spans, as far as there is room. No references. */
TENON_INTERNAL void tn_spans_slice(struct tn_gather *to, const struct tenon_span *spans, unsigned nspans, tenon_u32 off,
                                   tenon_u32 len);

/* ---- tn_pkt: stack/packet.c ----------------------------------------------------------------------- */

/* Whether all that is left of a packet lies at pkt->head. */
TENON_INLINE int tn_pkt_is_whole(const struct tn_pkt *pkt)
{
    return !TENON_WITH_SPLIT || pkt->head_len == pkt->len;
}
/* Bytes at pkt->head: what is whole has not more to be known of. */
TENON_INLINE tenon_u32 tn_pkt_head_len(const struct tn_pkt *pkt)
{
    return TENON_WITH_SPLIT ? pkt->head_len : pkt->len;
}
/* Go on to the next layer: `n` bytes (at most len) are left behind. */
TENON_INTERNAL void tn_pkt_pull(struct tn_pkt *pkt, tenon_u32 n);
/* Cut bytes off the end: at most `len` remain in the present layer. */
TENON_INTERNAL void tn_pkt_trim(struct tn_pkt *pkt, tenon_u32 len);
/* How many spans a packet may have: such arrays are on the stack. Where neither fragments nor segments are
 * put together it is one frame, which a port or the host's buffers have cut. */
enum {
    TN_FRAME_SPANS = 16,
    TN_TX_SPANS_MAX = !TENON_WITH_PIECES ? 1 : TENON_WITH_FRAGMENTS ? 64 : TN_FRAME_SPANS,
    TN_RX_SPANS_MAX = !TENON_WITH_SPLIT ? 1 : TENON_WITH_FRAGMENTS || TENON_WITH_SPEED ? 64 : TN_FRAME_SPANS
};
/* Payload as spans, at most max of them (see TN_RX_SPANS_MAX). @return how many */
TENON_INTERNAL unsigned tn_pkt_spans(const struct tn_pkt *pkt, struct tenon_span *spans, unsigned max);
/* Of an ICMP message: an error with the headers that it quotes; of IPv4 the longest, and eight bytes (RFC 792). With
 * the longest ones in front of it, it fits into TENON_BUF_BYTES_MIN (stack.c). */
enum { TN_ICMP_PULL_BYTES = TENON_WITH_IPV6 ? 128 : 8 + 60 + 8 };
/* See to it that at least n contiguous bytes (n <= len) are at head. When they are not, head is a copy of them until
 * they are left behind; tn_pkt_unpull() gives all copies back when `pkt` is done. What lies in spans stays as it is.
 * @return TENON_OK, TENON_EINVAL (the packet is shorter than n), TENON_ENOMEM */
TENON_INTERNAL int tn_pkt_pullup(struct tenon *stack, struct tn_pkt *pkt, tenon_u32 n);
TENON_INTERNAL void tn_pkt_unpull(struct tn_pkt *pkt);
/* The byte at `at` of the present layer, wherever it lies; 0 behind the end. To learn how much is to be pulled
 * up: no more than headers, since payload in such a copy holds a buffer as long as the application keeps it. */
TENON_INTERNAL unsigned tn_pkt_byte(const struct tn_pkt *pkt, tenon_u32 at);
/* Sum of the present layer, verified against the pseudo-header of pkt: 1 if the transport checksum is
 * right, or the port says so. */
TENON_INTERNAL int tn_pkt_csum_good(const struct tenon *stack, const struct tn_pkt *pkt);

/* ---- transmit: stack/tx.c ------------------------------------------------------------------------- */

/* Frames that can still be queued before the port has to take some. */
TENON_INTERNAL unsigned tn_tx_room(const struct tenon *stack);
/* Queue a finished frame (link header included). Checksums and segmentation that the interface does not
 * do are done here. Takes the reference on out->hdr in every case.
 * @return TENON_OK, TENON_EAGAIN (burst full: dropped and counted), TENON_ENOMEM */
TENON_INTERNAL int tn_tx(struct tenon *stack, struct tn_out *out);
/* The same of a frame that is one piece and has all its headers but for the checksum of TCP or UDP, whose field holds
 * the folded sum of the pseudo-header. The interface is up, and there is room (tn_tx_room()). */
struct tn_short {
    tenon_u32 off, len;                /* where it lies in the buffer */
    tenon_u32 l4, headers;             /* where the transport header begins, and ends, from there */
    tenon_u32 csum_offset;             /* of the checksum in the transport header; 0: there is none to be made */
};
TENON_INTERNAL_HOT void tn_tx_short(struct tenon *stack, const struct tn_netif *netif, struct tenon_buf *buf,
                                    const struct tn_short *lay);
/* The same of a segment of TCP that is like others, but for its bytes and how much payload it has. What they have in
 * common has been put together before; who makes the checksum, if the port does not, does so by himself. */
struct tn_like {
    struct tenon_frame frame;
    tenon_u8 off, netif;               /* where it begins in its buffer, and its interface */
};
TENON_INTERNAL_HOT void tn_tx_like(struct tenon *stack, const struct tn_like *like, struct tenon_buf *buf,
                                   tenon_u32 payload);
/* The same of a frame with payload behind its headers: an even number of bytes of transport header at the end
 * of `head`, and spans that are not more than the port gathers, the headers' included (tn_tx_gather_max()).
 */
struct tn_long {
    struct tn_short head;
    const struct tenon_span *spans;    /* borrowed; or where tn_tx_payload() says, but without references */
    unsigned nspans;
    tenon_u32 payload;                 /* bytes in spans */
};
TENON_INTERNAL void tn_tx_long(struct tenon *stack, const struct tn_netif *netif, struct tenon_buf *buf,
                               const struct tn_long *lay);
/* Where the payload of the next frame of the burst goes: there is room for a frame. */
TENON_INLINE struct tenon_span *tn_tx_payload(const struct tenon *stack)
{
    return stack->tx.spans + (size_t)stack->tx.n * stack->tx.gather + 1;
}
/* How many spans a frame on this interface may have, the header's included. */
TENON_INTERNAL unsigned tn_tx_gather_max(const struct tenon *stack, const struct tn_netif *netif);
/* Offer the burst to the port. */
TENON_INTERNAL void tn_tx_flush(struct tenon *stack);
/* The link of an interface is down: what waits for its port is not sent any more. */
TENON_INTERNAL void tn_tx_forget(struct tenon *stack, const struct tn_netif *netif);
/* Give back what waits. */
TENON_INTERNAL void tn_tx_fini(struct tenon *stack);
/* Largest payload of one segmented frame on this interface, for a header of header_bytes with the link's. */
TENON_INTERNAL tenon_u32 tn_tx_segment_bytes_max(const struct tn_netif *netif, unsigned header_bytes);

/* ---- what the layers call of each other that is not in their headers: see link.h, ip.h ... --------- */

TENON_END_DECLS

#endif
