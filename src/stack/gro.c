/* SPDX-License-Identifier: MIT */
/* Receiving as much as possible at once: segments of one connection that continue each other, in one burst of
 * frames, go up as one packet, as a port with LRO would give it. Payload is referenced, not copied, and
 * headers are read only. What is not certain to mean the same as its parts goes up alone.
 *
 * Two steps. First every frame of the burst is linked with the last one before it of the same connection, or,
 * if not all are known, that has the same ports, if there is one: a look at a word or two, since most frames
 * have nothing to do with each other and must not pay for those that do. Then each frame takes along those of
 * its links that do continue it. Frames of other connections may lie between them; those of the same
 * connection are all linked, and what does not continue the one before it ends the run, so that their order
 * stays. */
#include "base/bytes.h"
#include "core.h"
#include "stack/stack_internal.h"
#include "tcp/tcp_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum { GRO_SLOT_BITS = 4, GRO_SLOTS = 1 << GRO_SLOT_BITS };

/* With timestamps. */
enum { GRO_USUAL4_BYTES = TN_ETH_BYTES + TN_IP4_BYTES + TN_TCP_BYTES + 12,
       GRO_USUAL6_BYTES = TN_ETH_BYTES + TN_IP6_BYTES + TN_TCP_BYTES + 12 };

/* A run of frames. Where the headers of the first lie, as offsets; those of the others lie there too. */
struct gro_head {
    const tenon_u8 *bytes;
    tenon_u32 link;       /* bytes of the link header: the IP header begins there */
    tenon_u32 l4;         /* the TCP header begins there */
    tenon_u32 headers;    /* bytes of all headers */
    tenon_u32 ip_sum;     /* of what differs in IPv4 headers: length, identification, checksum */
    tenon_u32 l4_sum;     /* of the pseudo-header and of what does not differ in TCP headers; if anybody sums */
    tenon_u8 is_v4;
    tenon_u8 is_usual;    /* gro_same_usual4(), gro_same_usual6() know where everything lies */
};

/* One frame. */
struct gro_seg {
    const tenon_u8 *bytes;
    tenon_u32 frame;      /* bytes of the frame, padding included */
    tenon_u32 payload;
    const struct tenon_span *span;    /* which lies there: so many bytes in, in at most so many spans */
    tenon_u32 off;
    unsigned nspans;
};

TENON_INLINE tenon_u32 gro_differ4(const tenon_u8 *a, const tenon_u8 *b)
{
    return get32raw(a) ^ get32raw(b);
}

/* ---- which may belong together ------------------------------------------------------------------------------ */

/* Where the TCP header lies in a frame whose connection nobody knows: if it is TCP, and long enough to have one. */
static const tenon_u8 *gro_strange_l4(const struct tenon_frame *frame, tenon_u32 link)
{
    const struct tenon_span *span = frame->spans;
    const tenon_u8 *p;

    if (frame->nspans == 0 || span->len < link + TN_IP4_BYTES + TN_TCP_BYTES)
        return NULL;
    p = tenon_span_data(span) + link;
    if (p[0] >> 4 == 4)
        return p + TN_IP4_BYTES;
    return span->len < link + TN_IP6_BYTES + TN_TCP_BYTES ? NULL : p + TN_IP6_BYTES;
}

/* In the frames of a connection. */
TENON_INLINE tenon_u32 gro_known_l4(const struct tenon_tcp *conn, tenon_u32 link)
{
    return link + (conn->ends.is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES);
}

TENON_INLINE const tenon_u8 *gro_l4(const struct tenon_frame *frame, const struct tenon_tcp *conn, tenon_u32 link)
{
    if (TENON_LIKELY(conn != NULL))
        return tenon_span_data(frame->spans) + gro_known_l4(conn, link);
    return gro_strange_l4(frame, link);
}

/* Both ports, as connections have them; 0: it is not TCP, as far as can be seen. */
TENON_INLINE tenon_u32 gro_ports(const struct tenon_frame *frame, const struct tenon_tcp *conn, tenon_u32 link)
{
    const tenon_u8 *l4;

    if (TENON_LIKELY(conn != NULL))
        return conn->ends.node.word;
    l4 = gro_strange_l4(frame, link);
    return l4 == NULL ? 0 : (tenon_u32)get16be(l4 + 2) << 16 | get16be(l4);
}

/* Ports that follow each other come into different slots. */
TENON_INLINE unsigned gro_slot(tenon_u32 ports)
{
    return (unsigned)((ports * 0x9E3779B1UL & 0xFFFFFFFFUL) >> (32 - GRO_SLOT_BITS));
}

/* The same sequence number again, as in a row of acknowledgements, continues nothing. */
TENON_HOT int gro_may_continue(const struct tn_gro_plan *plan, const struct tenon_frame *frames, unsigned i,
                               unsigned before, tenon_u32 link)
{
    return get32raw(gro_l4(&frames[i], plan->conns[i], link) + 4) !=
           get32raw(gro_l4(&frames[before], plan->conns[before], link) + 4);
}

/* A slot remembers the frame that was seen last in it. @return how many links */
static unsigned gro_look_ports(struct tn_gro_plan *plan, const struct tenon_frame *frames, unsigned n, tenon_u32 link)
{
    tenon_u32 ports[GRO_SLOTS];
    tenon_u8 last[GRO_SLOTS];    /* the frame and 1; 0: none */
    unsigned links = 0, i;

    memset(last, 0, sizeof(last));
    memset(plan->next, 0, sizeof(plan->next));
    for (i = 0; i < n; i++) {
        const tenon_u32 both = gro_ports(&frames[i], plan->conns[i], link);
        const unsigned slot = gro_slot(both);

        if (both == 0)
            continue;
        if (last[slot] != 0 && ports[slot] == both && gro_may_continue(plan, frames, i, last[slot] - 1U, link)) {
            plan->next[last[slot] - 1] = (tenon_u8)i;
            links++;
        }
        last[slot] = (tenon_u8)(i + 1);
        ports[slot] = both;
    }
    return links;
}

enum { GRO_STRANGE = TN_GRO_FRAMES };    /* more than there can be links */

TENON_INLINE int gro_same_seq(const struct tenon_frame *a, const struct tenon_frame *b, tenon_u32 l4)
{
    return get32raw(tenon_span_data(a->spans) + l4 + 4) == get32raw(tenon_span_data(b->spans) + l4 + 4);
}

/* Where all connections are known, each remembers its frame. One of an earlier burst is no frame of its own before this
 * one: the first of them was written down before anybody could ask. @return how many links; GRO_STRANGE: there is a
 * frame whose connection nobody knows, and nothing is certain of any */
TENON_HOT unsigned gro_look_known(struct tn_gro_plan *plan, const struct tenon_frame *frames, unsigned n,
                                  tenon_u32 link)
{
    unsigned links = 0, i;

    memset(plan->next, 0, sizeof(plan->next));
    for (i = 0; i < n; i++) {
        struct tenon_tcp *conn = plan->conns[i];
        unsigned before;

        if (conn == NULL)
            return GRO_STRANGE;
        before = conn->ends.frame;
        conn->ends.frame = (tenon_u8)i;
        if (before < i && plan->conns[before] == conn &&
            !gro_same_seq(frames + i, frames + before, gro_known_l4(conn, link))) {
            plan->next[before] = (tenon_u8)i;
            links++;
        }
    }
    return links;
}

TENON_INTERNAL unsigned tn_gro_look(struct tn_gro_plan *plan, const struct tn_netif *netif,
                                    const struct tenon_frame *frames, unsigned n)
{
    unsigned links = GRO_STRANGE;

    if (netif->conf.flags & TENON_NETIF_NO_GRO)
        return 0;
    memset(plan->taken, 0, sizeof(plan->taken));
    if (!TENON_SMALL)
        links = gro_look_known(plan, frames, n, netif->link_bytes);
    return links == GRO_STRANGE ? gro_look_ports(plan, frames, n, netif->link_bytes) : links;
}

/* ---- which do ------------------------------------------------------------------------------------------------ */

/* In whatever order: what has the same sum in one has it in the other (RFC 1071 2 (B)). */
TENON_INLINE tenon_u32 gro_ip4_sum(const tenon_u8 *l3)
{
    return tn_csum_fold(get16raw(l3 + 2) + get16raw(l3 + 4) + get16raw(l3 + 10));
}

enum { GRO_CE4 = 3, GRO_CE6 = 0x30 };    /* RFC 3168 5, in the second byte of the IP header */

/* The IP header of the first frame: TCP; no options, no extension headers, no fragment; and no congestion met, of
 * which every segment is told one by one. @return 0: not so */
static int gro_begin_ip(struct gro_head *head, tenon_u32 len)
{
    const tenon_u8 *l3 = head->bytes + head->link;
    const unsigned type = head->is_v4 ? (unsigned)TN_ETHERTYPE_IP4 : (unsigned)TN_ETHERTYPE_IP6;

    head->ip_sum = head->l4_sum = 0;
    if (head->link > 0 && get16be(l3 - 2) != type)
        return 0;
    if (head->is_v4) {
        head->ip_sum = gro_ip4_sum(l3);
        return l3[0] == 0x45 && l3[9] == TN_PROTO_TCP && (get16be(l3 + 6) & ~(unsigned)TN_IP4_DF) == 0 &&
               (l3[1] & GRO_CE4) != GRO_CE4 && tn_ip4_csum_good(l3, TN_IP4_BYTES);
    }
    return len >= head->link + TN_IP6_BYTES + TN_TCP_BYTES && l3[0] >> 4 == 6 && l3[6] == TN_PROTO_TCP &&
           (l3[1] & GRO_CE6) != GRO_CE6;
}

/* A segment may be the first: all its headers are in one piece, and no flag but ACK and PSH is set. */
static int gro_begin(struct gro_head *head, const struct tenon_frame *frame, const struct tn_netif *netif)
{
    const tenon_u32 len = frame->spans->len;
    const tenon_u8 *tcp;

    head->bytes = tenon_span_data(frame->spans);
    head->link = netif->link_bytes;
    head->is_v4 = head->bytes[head->link] >> 4 == 4;
    head->l4 = head->link + (head->is_v4 ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES);
    if (frame->seg_kind != TENON_SEG_NONE || !gro_begin_ip(head, len))
        return 0;
    tcp = head->bytes + head->l4;
    head->headers = head->l4 + (tenon_u32)(tcp[12] >> 4) * 4;
    head->is_usual = !TENON_SMALL && head->link > 0 &&
                     head->headers == (head->is_v4 ? (tenon_u32)GRO_USUAL4_BYTES : (tenon_u32)GRO_USUAL6_BYTES);
    return tcp[12] >> 4 >= TN_TCP_BYTES / 4 && head->headers <= len && (tcp[13] & ~(unsigned)TN_TCP_PSH) == TN_TCP_ACK;
}

/* The same connection, and everything else that a segment says is the same but for PSH, which says nothing to a
 * receiver that hands over what it has: link, TOS, TTL, DF, flow label; acknowledgement, window, options. The
 * acknowledgement may not even go up: how often it came counts (RFC 5681 2). */
static const tenon_u8 gro_but_psh[4] = { 0xFF, 0xFF ^ TN_TCP_PSH, 0xFF, 0xFF };

TENON_INLINE int gro_same_tcp(const struct gro_head *head, const tenon_u8 *a, const tenon_u8 *b)
{
    const tenon_u32 header = head->headers - head->l4;
    tenon_u32 bits = gro_differ4(a, b) | gro_differ4(a + 8, b + 8), i;

    bits |= (gro_differ4(a + 12, b + 12) & get32raw(gro_but_psh)) | (get16raw(a + 18) ^ get16raw(b + 18));
    for (i = TN_TCP_BYTES; i < header; i += 4)
        bits |= gro_differ4(a + i, b + i);
    return bits == 0;
}

static int gro_same(const struct gro_head *head, const tenon_u8 *bytes)
{
    const tenon_u8 *a = head->bytes + head->link, *b = bytes + head->link;
    size_t bits = 0;

    if (head->link > 0)
        bits = differ8raw(a - TN_ETH_BYTES, b - TN_ETH_BYTES) | differ8raw(a - 8, b - 8);
    if (head->is_v4)
        bits |= (get16raw(a) ^ get16raw(b)) | gro_differ4(a + 6, b + 6) | differ8raw(a + 12, b + 12);
    else
        bits |= gro_differ4(a, b) | (get16raw(a + 6) ^ get16raw(b + 6)) | differ8raw(a + 8, b + 8) |
                differ8raw(a + 16, b + 16) | differ8raw(a + 24, b + 24) | differ8raw(a + 32, b + 32);
    return bits == 0 && gro_same_tcp(head, head->bytes + head->l4, bytes + head->l4);
}

/* The same, for headers as nearly everybody sends them: Ethernet, IP, TCP with timestamps. */
TENON_INLINE int gro_same_usual4(const tenon_u8 *a, const tenon_u8 *b)
{
    const size_t bits = differ8raw(a, b) | differ8raw(a + 8, b + 8) | gro_differ4(a + 20, b + 20) |
                        differ8raw(a + 26, b + 26) | gro_differ4(a + 34, b + 34) | gro_differ4(a + 42, b + 42) |
                        (gro_differ4(a + 46, b + 46) & get32raw(gro_but_psh)) | (get16raw(a + 52) ^ get16raw(b + 52)) |
                        differ8raw(a + 54, b + 54) | gro_differ4(a + 62, b + 62);

    return bits == 0;
}

TENON_INLINE int gro_same_usual6(const tenon_u8 *a, const tenon_u8 *b)
{
    const size_t bits = differ8raw(a, b) | differ8raw(a + 8, b + 8) | gro_differ4(a + 14, b + 14) |
                        differ8raw(a + 20, b + 20) | differ8raw(a + 28, b + 28) | differ8raw(a + 36, b + 36) |
                        differ8raw(a + 44, b + 44) | differ8raw(a + 50, b + 50) | gro_differ4(a + 62, b + 62) |
                        (gro_differ4(a + 66, b + 66) & get32raw(gro_but_psh)) | (get16raw(a + 72) ^ get16raw(b + 72)) |
                        differ8raw(a + 74, b + 74) | gro_differ4(a + 82, b + 82);

    return bits == 0;
}

TENON_INLINE int gro_continues_headers(const struct gro_head *head, const tenon_u8 *bytes)
{
    if (!head->is_usual)
        return gro_same(head, bytes);
    return head->is_v4 ? gro_same_usual4(head->bytes, bytes) : gro_same_usual6(head->bytes, bytes);
}

/* Its bytes, and where its payload begins; it has one span at least. */
TENON_INLINE void gro_spans(struct gro_seg *seg, const struct tenon_frame *frame, tenon_u32 headers)
{
    const struct tenon_span *span = frame->spans;
    const unsigned n = frame->nspans, own = n > 1 && span->len == headers;    /* the headers have a span of their own */
    unsigned i;

    seg->span = span + own;
    seg->off = own ? 0 : headers;
    seg->nspans = n - own;
    seg->frame = span->len + (n > 1 ? span[1].len : 0);
    for (i = 2; i < n; i++)
        seg->frame += span[i].len;
}

/* What the lengths say: 0 unless there is payload, and the frame is as long as it says. */
TENON_INLINE int gro_measure(const struct gro_head *head, struct gro_seg *seg, const struct tenon_frame *frame)
{
    const tenon_u8 *l3 = seg->bytes + head->link;
    tenon_u32 end = head->link + get16be(l3 + 2);

    if (!head->is_v4)
        end = head->link + TN_IP6_BYTES + get16be(l3 + 4);
    gro_spans(seg, frame, head->headers);
    seg->payload = end - head->headers;
    return end > head->headers && end <= seg->frame;
}

/* A frame of the run behind the first. An IPv4 header of which all but three words is known to be right is right when
 * their sum is what it was. */
TENON_INLINE int gro_continue(const struct gro_head *head, struct gro_seg *seg, const struct tenon_frame *frame,
                              tenon_u32 seq)
{
    if (frame->nspans == 0 || frame->seg_kind != TENON_SEG_NONE || frame->spans->len < head->headers)
        return 0;
    seg->bytes = tenon_span_data(frame->spans);
    if (get32be(seg->bytes + head->l4 + 4) != seq)
        return 0;
    if (!gro_continues_headers(head, seg->bytes))
        return 0;
    if (head->is_v4 && gro_ip4_sum(seg->bytes + head->link) != head->ip_sum)
        return 0;
    return gro_measure(head, seg, frame);
}

/* Of a TCP header: the words that differ within a run (sequence number, PSH), and the checksum. */
TENON_INLINE tenon_u32 gro_sum_own(const tenon_u8 *tcp)
{
    return (tenon_u32)get16be(tcp + 4) + get16be(tcp + 6) + get16be(tcp + 12) + get16be(tcp + 16);
}

/* What the headers of a run have in common, summed once. */
static void gro_sum_head(struct gro_head *head)
{
    const tenon_u8 *tcp = head->bytes + head->l4;
    const tenon_u32 addresses = head->is_v4 ? 8 : 32;    /* right before it, in both versions */
    struct tn_csum csum;

    tn_csum_init(&csum);
    tn_csum_add(&csum, tcp - addresses, addresses + head->headers - head->l4);
    head->l4_sum = tn_csum_join(tn_csum_join(csum.sum, TN_PROTO_TCP), 0xFFFFUL ^ tn_csum_fold(gro_sum_own(tcp)));
}

/* What is put together cannot be checked any more: its parts are. `payload` are the spans of this one. */
TENON_INLINE int gro_csum_good(const struct tenon *stack, const struct gro_head *head, const struct gro_seg *seg,
                               const struct tenon_span *payload)
{
    const tenon_u32 len = head->headers + seg->payload - head->l4;
    tenon_u32 sum = head->l4_sum + gro_sum_own(seg->bytes + head->l4) + len;

    sum += tn_csum_spans(stack->conf.checksum, payload, 0, seg->payload);
    return tn_csum_fold(sum) == 0xFFFFUL;
}

/* Append its payload. @return 0: it is too many spans, or more than IP can say in 16 bits */
TENON_INLINE int gro_append(struct tn_gather *to, const struct gro_seg *seg)
{
    const tenon_u32 bytes = to->bytes + seg->payload;
    const unsigned n = to->n;

    if (bytes > 65535UL)
        return 0;
    if (TENON_LIKELY(seg->off + seg->payload <= seg->span->len && n < to->max)) {
        to->spans[n].buf = seg->span->buf;
        to->spans[n].off = seg->span->off + seg->off;
        to->spans[n].len = seg->payload;
        to->n = n + 1;
        to->bytes = bytes;
        return 1;
    }
    tn_spans_slice(to, seg->span, seg->nspans, seg->off, seg->payload);
    if (to->bytes == bytes)
        return 1;
    to->n = n;
    to->bytes = bytes - seg->payload;
    return 0;
}

/* One more frame. @return 0: its sum is wrong, or it does not fit in; nothing has changed */
TENON_INLINE int gro_take(const struct tenon *stack, struct tn_gro *run, const struct gro_head *head,
                          const struct gro_seg *seg, const struct tenon_frame *frame)
{
    const unsigned n = run->to.n;

    if (!gro_append(&run->to, seg))
        return 0;
    if (TENON_UNLIKELY(frame->csum == TENON_CSUM_NONE) && !gro_csum_good(stack, head, seg, run->to.spans + n)) {
        run->to.n = n;
        run->to.bytes -= seg->payload;
        return 0;
    }
    run->seg_bytes = (tenon_u16)tn_max(run->seg_bytes, seg->payload);
    return 1;
}

/* The first frame, once there is a second: its headers in a span of their own. @return 0: there can be no run */
static int gro_start(const struct tenon *stack, struct tn_gro *run, struct gro_head *head, const struct gro_seg *first,
                     const struct tenon_frame *frame)
{
    tn_gather_init(&run->to, run->spans, TN_RX_SPANS_MAX + 1);
    run->seg_bytes = 0;
    run->seg_kind = (tenon_u8)(head->is_v4 ? TENON_SEG_TCP4 : TENON_SEG_TCP6);
    gro_sum_head(head);
    run->spans[0].buf = frame->spans->buf;
    run->spans[0].off = frame->spans->off;
    run->spans[0].len = run->to.bytes = head->headers;
    run->to.n = 1;
    return gro_take(stack, run, head, first, frame);
}

TENON_INTERNAL unsigned tn_gro_collect(const struct tenon *stack, struct tn_gro *run, struct tn_gro_plan *plan,
                                       const struct tenon_frame *frames, unsigned at)
{
    const struct tenon_frame *first = frames + at;
    struct gro_head head;
    struct gro_seg seg, next;
    unsigned n = 1;
    tenon_u32 seq;

    if (!gro_begin(&head, first, run->netif))
        return 1;
    seg.bytes = head.bytes;
    if (!gro_measure(&head, &seg, first))
        return 1;
    seq = get32be(head.bytes + head.l4 + 4) + seg.payload;
    while ((at = plan->next[at]) != 0 && gro_continue(&head, &next, frames + at, seq)) {
        if (n == 1 && !gro_start(stack, run, &head, &seg, first))
            return 1;
        if (!gro_take(stack, run, &head, &next, frames + at))
            break;
        plan->taken[at] = 1;
        seq += next.payload;
        n++;
    }
    run->merged = n == 1 ? 0 : run->to.bytes - head.headers - seg.payload;
    return n;
}
