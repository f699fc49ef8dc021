/* SPDX-License-Identifier: MIT */
/* Reassembly of both IP versions (RFC 791 3.2, RFC 8200 4.5, RFC 5722): a fixed number of datagrams, each
 * a sorted list of pieces that keep the buffers in which they came. No work depends on how much is held:
 * a datagram is found by hash, its list is bounded, and whatever passes a limit costs the oldest.
 *
 *   struct tn_reass [conf.reass_datagrams_max]
 *     free: linked by `chain`;  in use: in a chain of its bucket, and in the list by age
 *     the array is its own hash table: `bucket` of entry i is the head of chain i,
 *     and `sources` of entry i counts the datagrams whose sender hashes to i
 *
 * A datagram whose pieces overlap is given up whole, and remembered until its time is over, so that the
 * pieces still to come do not make a new one. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum reass_state { REASS_FREE, REASS_OPEN, REASS_POISONED };

enum {
    REASS_HEAD_MAX = 128,      /* bytes of IP headers that can be rebuilt */
    REASS_JOINED = 128,        /* transport bytes put behind them, in one piece */
    REASS_SLACK = 4            /* a buffer more than this times as large as its piece is not kept for it */
};

struct reass_piece {
    struct reass_piece *next;
    tenon_u32 off, len;
    unsigned nspans;
    struct tenon_span spans[1];    /* [nspans] */
};

struct tn_reass {
    struct tn_timer timer;
    struct tenon_ip src, dst;
    tenon_u32 id;
    tenon_u32 hash;
    tenon_u32 charged;             /* packet memory held */
    tenon_u32 total;               /* bytes of the whole; 0: its end is not here yet */
    tenon_u32 got;                 /* bytes that are here */
    struct reass_piece *pieces, *last;
    tenon_u8 *head;                /* headers of the first fragment as it came; NULL: not here yet */
    tenon_u32 head_bytes;
    struct tenon_buf *fill;        /* into which small pieces of large buffers are copied */
    tenon_u32 filled;
    tenon_u32 nh_at;
    tenon_u16 npieces;
    tenon_u16 bucket, chain;       /* 1 + index; 0: end */
    tenon_u16 newer, older;        /* 1 + index */
    tenon_u16 source, sources;
    tenon_u8 state;
    tenon_u8 proto, next;
    tenon_u8 is_v4, foreign, netif, cast, dst_cast;
    tenon_u8 ttl, tos;
    tenon_u8 ecns;                 /* bit i: a fragment with ECN field i */
};

/* ---- the table ----------------------------------------------------------------------------------------- */

/* Of either version, as tn_pkt_is_v4(). */
static int reass_is_v4(const struct tn_reass *r)
{
    return !TENON_WITH_IPV6 || r->is_v4;
}

static struct tn_reass *reass_at(const struct tenon *stack, tenon_u16 link)
{
    return link == 0 ? NULL : &stack->ip.reass[link - 1];
}

static tenon_u16 reass_link(const struct tenon *stack, const struct tn_reass *r)
{
    return (tenon_u16)(r - stack->ip.reass + 1);
}

static tenon_u32 reass_hash(const struct tenon *stack, const struct tn_pkt *pkt, tenon_u32 id, unsigned proto)
{
    tenon_u32 words[2 * TENON_IP_WORDS + 2];
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++) {
        words[i] = pkt->src.w[i];
        words[TENON_IP_WORDS + i] = pkt->dst.w[i];
    }
    words[2 * TENON_IP_WORDS] = id;
    words[2 * TENON_IP_WORDS + 1] = proto;
    return tn_hash_words(&stack->table_key, words, 2 * TENON_IP_WORDS + 2);
}

/* IPv4 tells datagrams apart by protocol too (RFC 791 3.2), IPv6 does not (RFC 8200 4.5). */
static struct tn_reass *reass_find(const struct tenon *stack, const struct tn_pkt *pkt, const struct tn_frag *frag)
{
    const unsigned proto = tn_pkt_is_v4(pkt) ? frag->next : 0U;
    const tenon_u32 hash = reass_hash(stack, pkt, frag->id, proto);
    struct tn_reass *r = reass_at(stack, stack->ip.reass[hash % stack->conf.reass_datagrams_max].bucket);

    for (; r != NULL; r = reass_at(stack, r->chain)) {
        if (r->hash == hash && r->id == frag->id && r->proto == proto && tenon_ip_equal(&r->src, &pkt->src)
            && tenon_ip_equal(&r->dst, &pkt->dst) && (reass_is_v4(r) || r->netif == pkt->netif->index))
            return r;
    }
    return NULL;
}

static void reass_unchain(struct tenon *stack, const struct tn_reass *r)
{
    tenon_u16 *link = &stack->ip.reass[r->hash % stack->conf.reass_datagrams_max].bucket;

    while (*link != reass_link(stack, r))
        link = &reass_at(stack, *link)->chain;
    *link = r->chain;
}

static void reass_unage(struct tenon *stack, const struct tn_reass *r)
{
    if (r->older != 0)
        reass_at(stack, r->older)->newer = r->newer;
    else
        stack->ip.reass_oldest = r->newer;
    if (r->newer != 0)
        reass_at(stack, r->newer)->older = r->older;
    else
        stack->ip.reass_newest = r->older;
}

/* ---- giving back --------------------------------------------------------------------------------------- */

static size_t reass_piece_bytes(unsigned nspans)
{
    return sizeof(struct reass_piece) + (nspans - 1) * sizeof(struct tenon_span);
}

static void reass_pieces_put(struct tenon *stack, struct reass_piece *piece)
{
    struct reass_piece *next;

    for (; piece != NULL; piece = next) {
        next = piece->next;
        tn_spans_put(piece->spans, piece->nspans);
        tn_mem_put(stack, piece, reass_piece_bytes(piece->nspans));
    }
}

/* Let go of all that a datagram holds. */
static void reass_empty(struct tenon *stack, struct tn_reass *r)
{
    reass_pieces_put(stack, r->pieces);
    r->pieces = r->last = NULL;
    r->npieces = 0;
    if (r->head != NULL)
        tn_mem_put(stack, r->head, r->head_bytes);
    r->head = NULL;
    if (r->fill != NULL)
        tenon_buf_put(r->fill);
    r->fill = NULL;
    stack->ip.reass_bytes -= r->charged;
    r->charged = 0;
}

static void reass_free(struct tenon *stack, struct tn_reass *r)
{
    reass_empty(stack, r);
    tn_timer_stop(&stack->wheel, &r->timer);
    reass_unchain(stack, r);
    reass_unage(stack, r);
    stack->ip.reass[r->source].sources--;
    r->state = REASS_FREE;
    r->chain = stack->ip.reass_free;
    stack->ip.reass_free = reass_link(stack, r);
}

/* Give a datagram up, but remember it (RFC 5722 4: "and any further fragments"). */
static void reass_poison(struct tenon *stack, struct tn_reass *r)
{
    tn_count(stack, TENON_STAT_FRAG_BAD);
    reass_empty(stack, r);
    r->state = REASS_POISONED;
}

static void reass_evict(struct tenon *stack, struct tn_reass *r)
{
    tn_count(stack, TENON_STAT_FRAG_LIMIT);
    reass_free(stack, r);
}

/* ---- making a datagram --------------------------------------------------------------------------------- */

static tenon_u16 reass_source(const struct tenon *stack, const struct tn_pkt *pkt)
{
    return (tenon_u16)(tn_hash_words(&stack->table_key, pkt->src.w, TENON_IP_WORDS) % stack->conf.reass_datagrams_max);
}

/* No sender may have more than half of the datagrams: its oldest has to go. */
static void reass_share(struct tenon *stack, tenon_u16 source)
{
    struct tn_reass *r;

    if (stack->ip.reass[source].sources < (stack->conf.reass_datagrams_max + 1U) / 2)
        return;
    for (r = reass_at(stack, stack->ip.reass_oldest); r != NULL; r = reass_at(stack, r->newer)) {
        if (r->source == source) {
            reass_evict(stack, r);
            return;
        }
    }
}

static struct tn_reass *reass_take(struct tenon *stack)
{
    struct tn_reass *r;

    if (stack->ip.reass_free == 0)
        reass_evict(stack, reass_at(stack, stack->ip.reass_oldest));
    r = reass_at(stack, stack->ip.reass_free);
    stack->ip.reass_free = r->chain;
    return r;
}

static void reass_enter(struct tenon *stack, struct tn_reass *r)
{
    struct tn_reass *home = &stack->ip.reass[r->hash % stack->conf.reass_datagrams_max];

    r->chain = home->bucket;
    home->bucket = reass_link(stack, r);
    r->newer = 0;
    r->older = stack->ip.reass_newest;
    if (r->older != 0)
        reass_at(stack, r->older)->newer = reass_link(stack, r);
    else
        stack->ip.reass_oldest = reass_link(stack, r);
    stack->ip.reass_newest = reass_link(stack, r);
    stack->ip.reass[r->source].sources++;
}

static struct tn_reass *reass_new(struct tenon *stack, const struct tn_pkt *pkt, const struct tn_frag *frag)
{
    const tenon_u16 source = reass_source(stack, pkt);
    struct tn_reass *r;

    reass_share(stack, source);
    r = reass_take(stack);
    r->src = pkt->src;
    r->dst = pkt->dst;
    r->id = frag->id;
    r->proto = tn_pkt_is_v4(pkt) ? frag->next : 0;
    r->hash = reass_hash(stack, pkt, r->id, r->proto);
    r->source = source;
    r->state = REASS_OPEN;
    r->total = r->got = r->charged = r->filled = 0;
    r->pieces = r->last = NULL;
    r->npieces = 0;
    r->head = NULL;
    r->fill = NULL;
    r->is_v4 = pkt->is_v4;
    r->foreign = pkt->foreign;
    r->netif = pkt->netif->index;
    r->cast = pkt->cast;
    r->dst_cast = pkt->dst_cast;
    r->ecns = 0;
    reass_enter(stack, r);
    /* RFC 1122 3.3.2: a fixed time from the first piece on, not what its TTL says. */
    tn_timer_start(&stack->wheel, &r->timer, tn_tick_after_ms(stack, stack->conf.reass_timeout_ms));
    return r;
}

/* ---- memory of a piece --------------------------------------------------------------------------------- */

/* Make room for so many more bytes; the oldest pay. @return 1 if there is room */
static int reass_room(struct tenon *stack, const struct tn_reass *keep, tenon_u32 bytes)
{
    const tenon_u32 max = stack->conf.reass_bytes_max;
    struct tn_reass *r = reass_at(stack, stack->ip.reass_oldest), *newer;

    if (bytes > max)
        return 0;
    for (; stack->ip.reass_bytes > max - bytes && r != NULL; r = newer) {
        newer = reass_at(stack, r->newer);
        if (r != keep && r->state == REASS_OPEN)
            reass_evict(stack, r);
    }
    return stack->ip.reass_bytes <= max - bytes;
}

static int reass_charge(struct tenon *stack, struct tn_reass *r, tenon_u32 bytes)
{
    if (!reass_room(stack, r, bytes)) {
        tn_count(stack, TENON_STAT_FRAG_LIMIT);
        return 0;
    }
    stack->ip.reass_bytes += bytes;
    r->charged += bytes;
    return 1;
}

/* Whether r->fill has free bytes, after getting a new one if need be. */
static int reass_fill_ready(struct tenon *stack, struct tn_reass *r)
{
    struct tenon_buf *buf;

    if (r->fill != NULL && r->filled < r->fill->size)
        return 1;
    buf = tn_buf_get_to_keep(stack);
    if (buf == NULL)
        return 0;
    if (!reass_charge(stack, r, buf->size)) {
        tenon_buf_put(buf);
        return 0;
    }
    if (r->fill != NULL)
        tenon_buf_put(r->fill);
    r->fill = buf;
    r->filled = 0;
    return 1;
}

/* Copy the piece's bytes into buffers that the datagram fills up. @return spans made; 0: no memory */
static unsigned reass_copy(struct tenon *stack, struct tn_reass *r, struct tenon_span *spans, const struct tn_pkt *pkt)
{
    tenon_u32 done = 0, n;
    unsigned count = 0;

    while (done < pkt->len) {
        if (count == TN_RX_SPANS_MAX || !reass_fill_ready(stack, r)) {
            tn_spans_put(spans, count);
            return 0;
        }
        n = tn_min(pkt->len - done, r->fill->size - r->filled);
        tn_spans_copy(r->fill->data + r->filled, pkt->spans, pkt->off + done, n);
        spans[count].buf = r->fill;
        spans[count].off = r->filled;
        spans[count].len = n;
        tenon_buf_ref(r->fill);
        count++;
        r->filled += n;
        done += n;
    }
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, done);
    return count;
}

/* The packet's bytes as spans with references, charged to r. A small piece in a large buffer would hold far
 * more memory than it is worth: it is copied. @return spans; 0: no memory or no room */
static unsigned reass_keep(struct tenon *stack, struct tn_reass *r, struct tenon_span *spans, const struct tn_pkt *pkt)
{
    const unsigned n = tn_pkt_spans(pkt, spans, TN_RX_SPANS_MAX);
    tenon_u32 bytes = 0, held = 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        bytes += spans[i].len;
        held += tn_min(spans[i].buf->size, 0xFFFFFFUL);
    }
    if (bytes != pkt->len || held / REASS_SLACK > bytes)
        return reass_copy(stack, r, spans, pkt);
    if (!reass_charge(stack, r, held))
        return 0;
    tn_spans_ref(spans, n);
    return n;
}

static struct reass_piece *reass_piece_new(struct tenon *stack, struct tn_reass *r, const struct tn_pkt *pkt,
                                           tenon_u32 off)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    const unsigned n = reass_keep(stack, r, spans, pkt);
    struct reass_piece *piece;

    if (n == 0)
        return NULL;
    piece = (struct reass_piece *)tn_mem_get(stack, reass_piece_bytes(n));
    if (piece == NULL) {
        tn_spans_put(spans, n);    /* what was charged stays so until the datagram ends */
        return NULL;
    }
    piece->next = NULL;
    piece->off = off;
    piece->len = pkt->len;
    piece->nspans = n;
    memcpy(piece->spans, spans, n * sizeof(spans[0]));
    return piece;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* RFC 791 3.2; RFC 1858 and RFC 3128: no transport header may be split, or hidden behind the first one. */
static int reass_frag_good(const struct tn_pkt *pkt, const struct tn_frag *frag)
{
    if (pkt->len == 0 || (frag->more && (pkt->len & 7) != 0))
        return 0;
    if (!tn_pkt_is_v4(pkt))
        return 1;
    if (frag->off == 0 && pkt->len < tn_l4_bytes_min(frag->next))
        return 0;
    return frag->off != 8 || frag->next != TN_PROTO_TCP;
}

enum reass_fit { REASS_FITS, REASS_AGAIN, REASS_CLASH };

/* How a piece fits between those that are here; *after: the one that it follows, NULL: it is the first. */
static enum reass_fit reass_place(const struct tn_reass *r, tenon_u32 off, tenon_u32 len, struct reass_piece **after)
{
    struct reass_piece *prev = NULL, *p = r->pieces;

    if (r->last != NULL && r->last->off + r->last->len <= off) {
        *after = r->last;
        return REASS_FITS;
    }
    while (p != NULL && p->off + p->len <= off) {
        prev = p;
        p = p->next;
    }
    *after = prev;
    if (p == NULL || off + len <= p->off)
        return REASS_FITS;
    return p->off == off && p->len == len ? REASS_AGAIN : REASS_CLASH;
}

/* @return whether the piece agrees with what is known of the datagram's length */
static int reass_total_good(const struct tn_reass *r, const struct tn_frag *frag, tenon_u32 end)
{
    if (r->total != 0)
        return frag->more ? end < r->total : end == r->total;
    return frag->more || r->last == NULL || r->last->off + r->last->len <= end;
}

static void reass_insert(struct tn_reass *r, struct reass_piece *piece, struct reass_piece *after)
{
    if (after == NULL) {
        piece->next = r->pieces;
        r->pieces = piece;
    } else {
        piece->next = after->next;
        after->next = piece;
    }
    if (piece->next == NULL)
        r->last = piece;
    r->npieces++;
    r->got += piece->len;
}

/* The first fragment brings the headers that the whole will have: they are copied, so that a large buffer is
 * not held for their sake. */
static int reass_first(struct tenon *stack, struct tn_reass *r, const struct tn_pkt *pkt, const struct tn_frag *frag)
{
    const tenon_u32 bytes = pkt->l3_len - pkt->len;

    if (r->head != NULL)
        return TENON_OK;
    if (bytes > REASS_HEAD_MAX)
        return TENON_ELIMIT;
    r->head = (tenon_u8 *)tn_mem_get(stack, bytes);
    if (r->head == NULL)
        return TENON_ENOMEM;
    memcpy(r->head, pkt->l3, bytes);
    r->head_bytes = bytes;
    r->next = frag->next;
    r->nh_at = frag->nh_at;
    r->ttl = pkt->ttl;
    r->tos = pkt->tos;
    return TENON_OK;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* RFC 3168 5.3: a mark on any fragment is a mark on the whole; marked and not capable cannot be of one packet. */
static int reass_ecn(struct tn_reass *r)
{
    const unsigned not_ect = 1, ce = 8;

    if ((r->ecns & ce) == 0)
        return TENON_OK;
    if (r->ecns & not_ect)
        return TENON_EPROTO;
    r->tos |= 3;
    return TENON_OK;
}

/* All pieces one after the other as spans[0 .. n). @return n; 0: there are more than max */
static unsigned reass_flatten(const struct reass_piece *piece, struct tenon_span *spans, unsigned max)
{
    unsigned n = 0;

    for (; piece != NULL; piece = piece->next) {
        if (piece->nspans > max - n)
            return 0;
        memcpy(spans + n, piece->spans, piece->nspans * sizeof(spans[0]));
        n += piece->nspans;
    }
    return n;
}

/* Too many spans for a packet: copy all pieces into one, of few buffers. */
static int reass_compact(struct tenon *stack, struct tn_reass *r)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    struct reass_piece *from = r->pieces, *piece;
    tenon_u32 at = 0, n, i = 0;
    int count = tn_spans_write(stack, spans, TN_RX_SPANS_MAX - 1, NULL, r->total);

    if (count < 0)
        return TENON_ENOMEM;
    piece = (struct reass_piece *)tn_mem_get(stack, reass_piece_bytes((unsigned)count));
    if (piece == NULL) {
        tn_spans_put(spans, (unsigned)count);
        return TENON_ENOMEM;
    }
    memcpy(piece->spans, spans, (unsigned)count * sizeof(spans[0]));
    for (; from != NULL; from = from->next) {
        tenon_u32 done;

        for (done = 0; done < from->len; done += n) {
            n = tn_min(from->len - done, spans[i].len - at);
            tn_spans_copy(tenon_span_data(&spans[i]) + at, from->spans, done, n);
            at += n;
            if (at == spans[i].len) {
                at = 0;
                i++;
            }
        }
    }
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, r->total);
    reass_pieces_put(stack, r->pieces);
    piece->next = NULL;
    piece->off = 0;
    piece->len = r->total;
    piece->nspans = (unsigned)count;
    r->pieces = r->last = piece;
    return TENON_OK;
}

/* The headers as if nothing had been cut; IPv6 loses its fragment header. @return their size */
static tenon_u32 reass_header(tenon_u8 *p, const struct tn_reass *r)
{
    tenon_u32 bytes = r->head_bytes;

    if (!reass_is_v4(r))
        bytes -= TN_FRAG6_BYTES;
    memcpy(p, r->head, bytes);
    if (!reass_is_v4(r)) {
        p[r->nh_at] = r->next;
        put16be(p + 4, bytes - TN_IP6_BYTES + r->total);
        return bytes;
    }
    p[1] = r->tos;
    put16be(p + 2, bytes + r->total);
    put16be(p + 6, 0);
    put16be(p + 10, 0);
    put16be(p + 10, 0xFFFFUL ^ tn_csum_sum(p, bytes));
    return bytes;
}

/* Make pkt describe the whole: headers and the first transport bytes in a buffer of their own, the rest
 * where it lies. spans[1 .. n] are the pieces. */
static void reass_describe(struct tn_pkt *pkt, const struct tn_reass *r, struct tn_reass_done *done, unsigned n)
{
    struct tenon_buf *hdr = done->hdr;
    const tenon_u32 head = reass_header(hdr->data, r);
    const tenon_u32 joined = tn_min(r->total, REASS_JOINED);
    tenon_u32 left = joined, cut;
    unsigned first = 1;

    tn_spans_copy(hdr->data + head, done->spans + 1, 0, joined);
    while (left > 0) {
        cut = tn_min(left, done->spans[first].len);
        done->spans[first].off += cut;
        done->spans[first].len -= cut;
        left -= cut;
        if (done->spans[first].len == 0)
            first++;
    }
    first--;
    done->spans[first].buf = hdr;
    done->spans[first].off = 0;
    done->spans[first].len = head + joined;
    pkt->spans = done->spans + first;
    pkt->nspans = n + 1 - first;
    pkt->off = head;
    pkt->len = r->total;
    pkt->head = hdr->data + head;
    pkt->head_len = joined;
    pkt->l3 = hdr->data;
    pkt->l3_len = head + r->total;
}

static void reass_fill_pkt(struct tn_pkt *pkt, const struct tn_reass *r)
{
    pkt->proto = r->next;
    pkt->ttl = r->ttl;
    pkt->tos = r->tos;
    pkt->cast = r->cast;
    pkt->foreign = r->foreign;
    pkt->fragmented = 1;
    pkt->csum = TENON_CSUM_NONE;
    pkt->seg_kind = TENON_SEG_NONE;
    pkt->seg_bytes = 0;
}

/* The length field of the whole has 16 bits, and counts the headers of the first fragment; each fragment has been
 * judged by its own when it came. In IPv6 it does not count the first of them (RFC 8200 4.5). */
static int reass_length_good(const struct tn_reass *r)
{
    const tenon_u32 headers = reass_is_v4(r) ? r->head_bytes : r->head_bytes - TN_IP6_BYTES - TN_FRAG6_BYTES;

    return headers + r->total <= 65535UL;
}

/* All pieces are here. @return 1: pkt is the whole; r is free again in any case */
static int reass_complete(struct tenon *stack, struct tn_reass *r, struct tn_pkt *pkt, struct tn_reass_done *done)
{
    unsigned n;

    if (!reass_length_good(r) || reass_ecn(r) != TENON_OK) {
        reass_poison(stack, r);
        return 0;
    }
    n = reass_flatten(r->pieces, done->spans + 1, TN_RX_SPANS_MAX - 1);
    if (n == 0 && reass_compact(stack, r) == TENON_OK)
        n = reass_flatten(r->pieces, done->spans + 1, TN_RX_SPANS_MAX - 1);
    done->hdr = n == 0 ? NULL : tn_buf_get_to_keep(stack);
    if (done->hdr == NULL) {
        reass_evict(stack, r);
        return 0;
    }
    reass_describe(pkt, r, done, n);
    reass_fill_pkt(pkt, r);
    done->nh_at = r->nh_at;
    done->pieces = r->pieces;
    r->pieces = NULL;
    reass_free(stack, r);
    tn_count(stack, TENON_STAT_FRAG_OK);
    return 1;
}

TENON_INTERNAL void tn_reass_release(struct tenon *stack, struct tn_reass_done *done)
{
    if (!TENON_WITH_FRAGMENTS)
        return;
    reass_pieces_put(stack, done->pieces);
    tenon_buf_put(done->hdr);
}

/* ---- input --------------------------------------------------------------------------------------------- */

/* A good fragment of an open datagram. @return 1 when it was the last one missing */
static int reass_store(struct tenon *stack, struct tn_reass *r, const struct tn_pkt *pkt, const struct tn_frag *frag)
{
    const tenon_u32 end = frag->off + pkt->len;
    struct reass_piece *after, *piece;
    enum reass_fit fit;

    fit = reass_place(r, frag->off, pkt->len, &after);
    if (fit == REASS_CLASH || !reass_total_good(r, frag, end)) {
        reass_poison(stack, r);
        return 0;
    }
    if (fit == REASS_AGAIN) {
        tn_count(stack, TENON_STAT_FRAG_BAD);
        return 0;
    }
    if (r->npieces >= stack->conf.reass_pieces_max) {
        reass_evict(stack, r);
        return 0;
    }
    if (frag->off == 0 && reass_first(stack, r, pkt, frag) != TENON_OK) {
        reass_evict(stack, r);
        return 0;
    }
    piece = reass_piece_new(stack, r, pkt, frag->off);
    if (piece == NULL) {
        if (r->pieces == NULL)
            reass_free(stack, r);
        return 0;
    }
    reass_insert(r, piece, after);
    if (!frag->more)
        r->total = end;
    if (pkt->cast != TN_CAST_UNICAST)
        r->cast = pkt->cast;
    r->ecns = (tenon_u8)(r->ecns | 1U << (pkt->tos & 3));
    return r->total != 0 && r->got == r->total;
}

TENON_INTERNAL void tn_reass_give_way(struct tenon *stack)
{
    struct tn_reass *r = reass_at(stack, stack->ip.reass_oldest);

    while (r != NULL && r->state != REASS_OPEN)
        r = reass_at(stack, r->newer);
    if (r != NULL)
        reass_evict(stack, r);
}

TENON_INTERNAL int tn_reass_add(struct tenon *stack, struct tn_pkt *pkt, const struct tn_frag *frag,
                                struct tn_reass_done *done)
{
    const tenon_u32 headers = tn_pkt_is_v4(pkt) ? pkt->l3_len - pkt->len : 0;
    struct tn_reass *r = reass_find(stack, pkt, frag);

    if (stack->keeps != TENON_KEEP_ALL) {
        tn_count(stack, TENON_STAT_RX_NOT_KEPT);
        return 0;
    }
    if (!reass_frag_good(pkt, frag)) {
        tn_count(stack, TENON_STAT_FRAG_BAD);
        return 0;
    }
    if (headers + frag->off + pkt->len > 65535UL) {
        /* The "ping of death": nothing of it is believed any more. */
        if (r != NULL && r->state == REASS_OPEN)
            reass_poison(stack, r);
        else
            tn_count(stack, TENON_STAT_FRAG_BAD);
        return 0;
    }
    if (r == NULL)
        r = reass_new(stack, pkt, frag);
    if (r->state == REASS_POISONED) {
        tn_count(stack, TENON_STAT_FRAG_BAD);
        return 0;
    }
    return reass_store(stack, r, pkt, frag) && reass_complete(stack, r, pkt, done);
}

/* ---- time ---------------------------------------------------------------------------------------------- */

/* Tell the sender, if the first fragment is here to quote (RFC 1122 3.3.2, RFC 8200 4.5). */
static void reass_tell(struct tenon *stack, const struct tn_reass *r)
{
    const struct reass_piece *piece = r->pieces;
    struct tn_pkt pkt;

    if (r->head == NULL || piece == NULL || piece->off != 0)
        return;
    tn_pkt_clear(&pkt);
    pkt.netif = tn_netif_at(stack, r->netif);
    if (pkt.netif == NULL)
        return;
    pkt.spans = piece->spans;
    pkt.nspans = piece->nspans;
    pkt.len = piece->len;
    pkt.head = tenon_span_data(&piece->spans[0]);
    pkt.head_len = piece->spans[0].len;
    pkt.src = r->src;
    pkt.dst = r->dst;
    pkt.cast = r->cast;
    pkt.dst_cast = r->dst_cast;
    pkt.foreign = r->foreign;
    pkt.is_v4 = r->is_v4;
    pkt.proto = r->next;
    pkt.ttl = r->ttl;
    pkt.tos = r->tos;
    pkt.fragmented = 1;
    pkt.l3 = r->head;
    pkt.l3_len = r->head_bytes + piece->len;
    tn_icmp_error(stack, &pkt, reass_is_v4(r) ? TN_WHY4_REASSEMBLY : TN_WHY6_REASSEMBLY, 0);
}

TENON_INTERNAL void tn_reass_timer(struct tenon *stack, struct tn_timer *timer)
{
    struct tn_reass *r = TENON_CONTAINER(timer, struct tn_reass, timer);

    if (!TENON_WITH_FRAGMENTS)
        return;
    if (r->state == REASS_OPEN) {
        tn_count(stack, TENON_STAT_FRAG_TIMEOUT);
        reass_tell(stack, r);
    }
    reass_free(stack, r);
}

/* ---- begin and end ------------------------------------------------------------------------------------- */

TENON_INTERNAL tenon_u32 tn_reass_bytes(const struct tenon_conf *conf)
{
    if (!TENON_WITH_FRAGMENTS)
        return 0;
    return conf->reass_datagrams_max * (tenon_u32)sizeof(struct tn_reass);
}

TENON_INTERNAL void tn_reass_init(struct tenon *stack, tenon_u8 *mem)
{
    const tenon_u16 n = stack->conf.reass_datagrams_max;
    tenon_u16 i;

    if (!TENON_WITH_FRAGMENTS)
        return;
    memset(mem, 0, (size_t)n * sizeof(struct tn_reass));
    stack->ip.reass = (struct tn_reass *)(void *)mem;
    stack->ip.reass_free = 1;
    for (i = 0; i < n; i++) {
        stack->ip.reass[i].chain = (tenon_u16)(i + 1 < n ? i + 2 : 0);
        stack->ip.reass[i].timer.kind = TN_TIMER_REASS;
    }
}

TENON_INTERNAL void tn_reass_fini(struct tenon *stack)
{
    if (!TENON_WITH_FRAGMENTS)
        return;
    while (stack->ip.reass_oldest != 0)
        reass_free(stack, reass_at(stack, stack->ip.reass_oldest));
}
