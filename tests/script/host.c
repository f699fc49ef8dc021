/* SPDX-License-Identifier: MIT */
/* The host of a script's instance: memory that is counted, buffers of their own piece of memory each (so
 * that tools see a byte too far), and a network card that cuts and sums as its capabilities say. */
#include "script.h"

#include <stdlib.h>
#include <string.h>

struct host_buf_one {
    struct tenon_buf buf;
    struct world *w;
};

static void host_buf_release(struct tenon_buf *buf)
{
    struct host_buf_one *one = TENON_CONTAINER(buf, struct host_buf_one, buf);

    one->w->bufs_out--;
    free(buf->data);
    free(one);
}

struct tenon_buf *host_buf(struct world *w, size_t bytes)
{
    struct host_buf_one *one = calloc(1, sizeof(*one));

    if (one == NULL || (one->buf.data = malloc(bytes > 0 ? bytes : 1)) == NULL)
        abort();
    memset(one->buf.data, 0xEE, bytes);
    one->buf.size = (tenon_u32)bytes;
    one->buf.refs = 1;
    one->buf.release = host_buf_release;
    one->w = w;
    w->bufs_out++;
    return &one->buf;
}

static void *host_mem_get(void *host, size_t bytes)
{
    struct world *w = host;
    void *mem;

    if (w->mem_fail > 0) {
        w->mem_fail--;
        return NULL;
    }
    mem = malloc(bytes);
    if (mem == NULL)
        abort();
    memset(mem, 0xDD, bytes);
    w->mem_bytes += bytes;
    w->mem_count++;
    return mem;
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    struct world *w = host;

    if (mem == NULL || w->mem_count == 0 || bytes > w->mem_bytes)
        world_fail(w, "mem_put() of memory that was not got, or with another size");
    w->mem_bytes -= bytes;
    w->mem_count--;
    free(mem);
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct world *w = host;
    unsigned i;

    for (i = 0; i < n; i++) {
        if (w->buf_fail > 0) {
            w->buf_fail--;
            break;
        }
        bufs[i] = host_buf(w, 2048);
    }
    return i;
}

static int host_entropy(void *host, void *bytes, size_t n)
{
    struct world *w = host;
    uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++) {
        w->seed = w->seed * 1103515245U + 12345U;
        p[i] = (uint8_t)(w->seed >> 16);
    }
    return 0;
}

/* ---- transmit --------------------------------------------------------------------------------------------------- */

/* Fragments of one datagram, in order, make it visible once more as a whole (`whole`: larger than the MTU). */
static void take_fragment(struct world *w, struct taken *t);

static void take(struct world *w, const uint8_t *bytes, size_t n, bool whole)
{
    struct taken *t = arena_get(&w->script->arena, sizeof(*t));
    const char *wrong;
    struct conn *c;
    char text[1024];

    t->bytes = memcpy(arena_get(&w->script->arena, n + 1), bytes, n);
    t->nbytes = n;
    t->time = w->now;
    wrong = decode_frame(w, t);
    if (wrong != NULL) {
        world_fail(w, "a malformed packet was sent: %s", wrong);
        return;
    }
    if (!whole && t->packet.kind != PKT_ARP && n - t->ip_at > w->script->netif.mtu)
        world_fail(w, "a packet of %zu bytes was sent through an MTU of %u", n - t->ip_at, w->script->netif.mtu);
    if (!w->script->watch[t->packet.kind])
        return;
    c = conn_of_packet(w, &t->packet, true);
    if (c != NULL && c->tcp != NULL)
        learn_numbers(c, &t->packet);
    format_packet(text, sizeof(text), &t->packet, c, w->af, true);
    world_trace(w, "> %s", text);
    w->sent = realloc(w->sent, (w->nsent + 1) * sizeof(struct taken *));
    if (w->sent == NULL)
        abort();
    w->sent[w->nsent++] = t;
    if (t->packet.kind == PKT_FRAG)
        take_fragment(w, t);
}

static void take_whole(struct world *w, const struct taken *last)
{
    size_t header = w->af == 4 ? 20 : 40, at = last->ip_at;
    uint8_t *whole = malloc(at + header + w->reass_bytes);

    if (whole == NULL)
        abort();
    memcpy(whole, last->bytes, at + header);
    memcpy(whole + at + header, w->reass, w->reass_bytes);
    if (w->af == 4) {
        set_be16(whole + at + 2, (uint32_t)(header + w->reass_bytes));
        set_be16(whole + at + 6, 0);
        set_be16(whole + at + 10, 0);
        set_be16(whole + at + 10, sum_finish(sum_bytes(0, whole + at, header)));
    } else {
        set_be16(whole + at + 4, (uint32_t)w->reass_bytes);
        whole[at + 6] = (uint8_t)last->packet.ip_proto;
    }
    take(w, whole, at + header + w->reass_bytes, true);
    free(whole);
}

static void take_fragment(struct world *w, struct taken *t)
{
    size_t off = (size_t)t->packet.frag_off;

    if (off == 0)
        w->reass_bytes = 0;
    if (off != w->reass_bytes || off + t->packet.nbytes > 65535) {
        world_fail(w, "a fragment does not continue the one before");
        return;
    }
    if (w->reass == NULL)
        w->reass = arena_get(&w->script->arena, 65536);
    memcpy(w->reass + off, t->packet.bytes, t->packet.nbytes);
    w->reass_bytes = off + t->packet.nbytes;
    if (t->packet.frag_more == 0)
        take_whole(w, t);
}

static size_t flatten(struct world *w, const struct tenon_frame *f, uint8_t *out)
{
    size_t n = 0;

    for (unsigned i = 0; i < f->nspans; i++) {
        const struct tenon_span *s = &f->spans[i];

        if (s->buf->refs == 0 || s->off > s->buf->size || s->len > s->buf->size - s->off || n + s->len > FRAME_MAX) {
            world_fail(w, "span %u of a sent frame lies outside of its buffer", i);
            return 0;
        }
        memcpy(out + n, tenon_span_data(s), s->len);
        n += s->len;
    }
    return n;
}

/* What a network card does with TENON_CSUM_PARTIAL. */
static void complete_sum(struct world *w, const struct tenon_frame *f, uint8_t *bytes, size_t n)
{
    size_t at = (size_t)f->csum_start + f->csum_offset;
    uint16_t sum;

    if (f->csum_start >= n || at + 2 > n) {
        world_fail(w, "csum_start or csum_offset lies outside of the frame");
        return;
    }
    sum = sum_finish(sum_bytes(0, bytes + f->csum_start, n - f->csum_start));
    set_be16(bytes + at, sum == 0 ? 0xffff : sum);
}

static void resum(uint8_t *l4, size_t n, const struct packet *p, int proto)
{
    size_t at = proto == 6 ? 16 : 6;
    uint16_t sum;

    set_be16(l4 + at, 0);
    sum = sum_finish(sum_bytes(sum_pseudo(&p->src, &p->dst, proto, n), l4, n));
    set_be16(l4 + at, sum == 0 ? 0xffff : sum);
}

static void fix_piece(struct world *w, uint8_t *piece, size_t n, const struct taken *whole, size_t index)
{
    const struct packet *p = &whole->packet;
    size_t ip = whole->ip_at, l4;

    if (w->af == 4) {
        l4 = ip + 20;
        set_be16(piece + ip + 2, (uint32_t)(n - ip));
        set_be16(piece + ip + 4, be16(piece + ip + 4) + (uint32_t)index);
        set_be16(piece + ip + 10, 0);
        set_be16(piece + ip + 10, sum_finish(sum_bytes(0, piece + ip, 20)));
    } else {
        l4 = ip + 40;
        set_be16(piece + ip + 4, (uint32_t)(n - l4));
    }
    if (p->kind == PKT_UDP)
        set_be16(piece + l4 + 4, (uint32_t)(n - l4));
    resum(piece + l4, n - l4, p, p->kind == PKT_UDP ? 17 : 6);
}

/* What a network card does with a large frame. */
static void cut_frame(struct world *w, const struct tenon_frame *f, uint8_t *bytes, size_t n)
{
    struct taken whole = { 0 };
    uint8_t *piece = malloc(FRAME_MAX);
    size_t header = f->header_bytes, tcp;
    const char *wrong;

    whole.bytes = bytes;
    whole.nbytes = n;
    wrong = decode_frame(w, &whole);
    if (piece == NULL)
        abort();
    if (wrong != NULL || f->seg_bytes == 0 || header >= n || f->spans[0].len < header)
        world_fail(w, "a frame to be cut is wrong: %s", wrong != NULL ? wrong : "seg_bytes or header_bytes");
    for (size_t at = header, index = 0; !w->failed && at < n; at += f->seg_bytes, index++) {
        size_t len = n - at < f->seg_bytes ? n - at : f->seg_bytes;
        bool last = at + len == n;

        memcpy(piece, bytes, header);
        memcpy(piece + header, bytes + at, len);
        if (whole.packet.kind == PKT_TCP) {
            tcp = whole.ip_at + (w->af == 4 ? 20U : 40U);
            set_be32(piece + tcp + 4, be32(piece + tcp + 4) + (uint32_t)(at - header));
            if (!last)
                piece[tcp + 13] &= (uint8_t)~(TCP_F | TCP_P);
            if (index > 0)
                piece[tcp + 13] &= (uint8_t)~TCP_W;
        }
        fix_piece(w, piece, header + len, &whole, index);
        take(w, piece, header + len, false);
    }
    free(piece);
}

static void check_frame(struct world *w, const struct tenon_frame *f, size_t n)
{
    const struct tenon_netif_conf *c = &w->script->netif;
    uint32_t need = f->seg_kind == TENON_SEG_TCP4 ? TENON_CAP_TSO4 : f->seg_kind == TENON_SEG_TCP6 ? TENON_CAP_TSO6 :
                    f->seg_kind == TENON_SEG_UDP ? TENON_CAP_USO : 0;

    if ((c->caps & need) != need)
        world_fail(w, "a frame to be cut was given to a port that cannot");
    if (f->csum == TENON_CSUM_PARTIAL && (c->caps & TENON_CAP_TX_CSUM) == 0)
        world_fail(w, "a partial checksum was given to a port that cannot complete it");
    if (f->seg_kind != TENON_SEG_NONE && f->csum != TENON_CSUM_PARTIAL)
        world_fail(w, "a frame to be cut has no partial checksum");
    if (c->gather_max != 0 && f->nspans > c->gather_max)
        world_fail(w, "a frame of %u spans was given to a port that gathers %u", f->nspans, c->gather_max);
    if (f->seg_kind != TENON_SEG_NONE && n > (c->tso_bytes_max != 0 ? c->tso_bytes_max : 65535))
        world_fail(w, "a frame of %zu bytes was given to a port that cuts at most %u", n,
                   c->tso_bytes_max != 0 ? c->tso_bytes_max : 65535);
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct world *w = host;
    uint8_t *bytes;

    if (w->busy)
        return 0;
    if (netif != w->netif && w->netif != 0)
        world_fail(w, "transmit() for an unknown interface");
    bytes = malloc(FRAME_MAX);
    if (bytes == NULL)
        abort();
    for (unsigned i = 0; i < n && !w->failed; i++) {
        size_t bytes_n = flatten(w, &frames[i], bytes);

        check_frame(w, &frames[i], bytes_n);
        if (frames[i].csum == TENON_CSUM_PARTIAL)
            complete_sum(w, &frames[i], bytes, bytes_n);
        if (frames[i].seg_kind != TENON_SEG_NONE)
            cut_frame(w, &frames[i], bytes, bytes_n);
        else
            take(w, bytes, bytes_n, false);
    }
    free(bytes);
    return n;
}

const struct tenon_host script_host = {
    TENON_HOST_VERSION, host_mem_get, host_mem_put, host_buf_get, host_transmit, host_entropy,
};
