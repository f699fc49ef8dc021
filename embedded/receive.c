/* SPDX-License-Identifier: MIT */
/* Received bytes: read in the blocks in which they came, given back in any order. */
#include "embedded/sock_internal.h"

/* ---- windows ------------------------------------------------------------------------------------ */

/* A window promises blocks: those that nobody else has been promised, and one in any case. So who does not read when
 * they are short has one, and keeps nobody else from being heard. @return by how much it is less than it could be */
static unsigned window_less(const struct sock *sock)
{
    const struct tenon_socks *socks = sock->socks;
    unsigned left = socks->promises, n;
    tenon_u32 most;

    if (left == 0)
        return 0;
    for (n = 0; n < socks->nsocks; n++)
        if (&socks->socks[n] != sock)
            left -= left < socks->socks[n].promised ? left : socks->socks[n].promised;
    most = (tenon_u32)(left > 0 ? left : 1) * socks->segment;
    return most < socks->window ? socks->window - (unsigned)most : 0;
}

TENON_INTERNAL void tn_sock_promise(struct sock *sock)
{
    const struct tenon_socks *socks = sock->socks;
    unsigned left = socks->window - sock->withheld;

    if (socks->promises == 0)
        return;
    for (sock->promised = 1; left > socks->segment; sock->promised++)
        left -= socks->segment;
}

TENON_INTERNAL void tn_sock_consumed(struct sock *sock, tenon_u32 bytes)
{
    const unsigned less = window_less(sock);

    bytes += sock->withheld;
    sock->withheld = (tenon_u16)(bytes < less ? bytes : less);
    bytes -= sock->withheld;
    tn_sock_promise(sock);
    if (bytes > 0)
        tenon_tcp_consumed(sock->conn, bytes);
}

/* ---- pieces ------------------------------------------------------------------------------------- */

/* A piece in this buffer more, or less: the end point holds so many in blocks, and the block has so many. */
static void receive_count(struct sock *sock, struct tenon_buf *buf, int by)
{
    struct sock_block *block = tn_sock_block_of(sock->socks, buf);

    if (TENON_WITH_FRAGMENTS && block == NULL)
        return;
    sock->blocks = (tenon_u16)(sock->blocks + by);
    block->pieces = (tenon_u16)(block->pieces + by);
}

/* Take a piece out of the list, and give up its block. */
static void receive_remove(struct sock *sock, struct sock_piece *piece)
{
    struct tenon_socks *socks = sock->socks;
    struct sock_piece **at = &sock->first;

    while (*at != piece)
        at = &(*at)->next;
    *at = piece->next;
    if (piece->next == NULL)
        sock->end = at;
    else if (TENON_WITH_FRAGMENTS)
        piece->next->flags = (tenon_u16)(piece->next->flags | (piece->flags & SOCK_PIECE_HEAD));
    receive_count(sock, piece->buf, -1);
    tenon_buf_put(piece->buf);
    piece->next = socks->free_pieces;
    socks->free_pieces = piece;
}

/* A new piece at the end, with a reference of its own to the buffer. @return 0: there are no more records */
static int receive_append(struct sock *sock, const struct tenon_span *span, unsigned flags)
{
    struct tenon_socks *socks = sock->socks;
    struct sock_piece *piece = socks->free_pieces;

    if (piece == NULL)
        return 0;
    socks->free_pieces = piece->next;
    piece->next = NULL;
    piece->buf = span->buf;
    piece->data = tenon_span_data(span);
    piece->len = (tenon_u16)span->len;
    piece->flags = (tenon_u16)flags;
    tenon_buf_ref(piece->buf);
    receive_count(sock, piece->buf, 1);
    *sock->end = piece;
    sock->end = &piece->next;
    return 1;
}

/* Blocks are short, and a peer that sends small segments could hold all of them: bytes that fit behind those of the
 * last piece are copied there. Nobody else may refer to that block, and nothing else of it be in use. A block has two
 * pieces at most, as there are twice as many records as blocks.
 * @return 1: they are a part of that piece; 0: they are to be one of their own, where the span is now */
static int receive_join(struct sock *sock, struct tenon_span *span)
{
    struct tenon_socks *socks = sock->socks;
    struct sock_piece *last = TENON_CONTAINER(sock->end, struct sock_piece, next);    /* if there is one */
    struct sock_block *block;
    tenon_u8 *end;
    int is_out;

    if (socks->blocks.nfree > socks->blocks.n / 4U || sock->first == NULL)
        return 0;
    block = tn_sock_block_of(socks, last->buf);
    is_out = last->flags & SOCK_PIECE_OUT;
    if ((TENON_WITH_FRAGMENTS && block == NULL) || last->buf->refs != block->pieces || (is_out && block->pieces >= 2))
        return 0;
    end = last->data + last->len;
    if ((size_t)(last->buf->data + last->buf->size - end) < span->len)
        return 0;
    memcpy(end, tenon_span_data(span), (size_t)span->len);
    sock_count(&socks->counts.copied_bytes, span->len);
    if (!is_out)
        last->len = (tenon_u16)(last->len + span->len);
    span->buf = last->buf;
    span->off = (tenon_u32)(end - last->buf->data);
    return !is_out;
}

/* What the core has copied of fragments lies in buffers for headers. There are as many records for it as there are of
 * those, so that those for blocks are never at an end. */
static int receive_has_records(struct tenon_socks *socks, const struct tenon_span *spans, unsigned n)
{
    const struct sock_piece *piece;
    unsigned copies = 0, i;

    if (n == 1 && tn_sock_block_of(socks, spans->buf) != NULL)
        return 1;    /* what came in one frame */
    for (i = 0; i < n; i++)
        copies += tn_sock_block_of(socks, spans[i].buf) == NULL;
    for (i = 0; copies > 0 && i < socks->nsocks; i++)
        for (piece = socks->socks[i].first; piece != NULL; piece = piece->next)
            copies += tn_sock_block_of(socks, piece->buf) == NULL;
    return copies <= socks->headers.n;
}

/* @return 0: no record was left, and nothing is there */
TENON_INTERNAL int tn_sock_receive(struct sock *sock, const struct tenon_span *spans, unsigned n, unsigned flags)
{
    const int is_datagram = flags != 0;
    struct tenon_span span;

    if (!SOCK_SPANS)
        n = 1;
    if (TENON_WITH_FRAGMENTS && !receive_has_records(sock->socks, spans, n))
        return 0;
    for (; n > 0; n--) {
        span = *spans++;
        if (!is_datagram && receive_join(sock, &span))
            continue;
        if (is_datagram && n > 1)
            flags |= SOCK_PIECE_MORE;
        if (!receive_append(sock, &span, flags))
            return 0;
        flags = 0;
    }
    tn_sock_note(sock, TENON_SOCK_RECEIVED);
    return 1;
}

TENON_INTERNAL void tn_sock_forget_pieces(struct sock *sock)
{
    while (sock->first != NULL)
        receive_remove(sock, sock->first);
}

/* A block in which is written down whose datagram this piece is of: its own; or, of what the core has copied, another
 * of the same datagram. NULL: all of these have been returned. */
static const struct sock_block *receive_sender(const struct sock *sock, const struct sock_piece *piece)
{
    const struct sock_block *block = tn_sock_block_of(sock->socks, piece->buf), *own;
    const struct sock_piece *at;
    int passed = 0;

    if (!TENON_WITH_FRAGMENTS || block != NULL)
        return block;
    for (at = sock->first; at != NULL && !(passed && (at->flags & SOCK_PIECE_HEAD)); at = at->next) {
        own = tn_sock_block_of(sock->socks, at->buf);
        if (own != NULL || (at->flags & SOCK_PIECE_HEAD))
            block = own;
        passed |= at == piece;
    }
    return block;
}

/* A datagram of somebody is handed out: that is whom the application answers. How much fits depends on where it goes,
 * and what was written was for another. */
TENON_ONCE static void receive_meet(struct sock *sock, const struct sock_piece *piece)
{
    const struct sock_block *block;

    if (TENON_WITH_FRAGMENTS)
        sock->more = (tenon_u8)((piece->flags & SOCK_PIECE_MORE) != 0);
    if (!(piece->flags & SOCK_PIECE_FIRST) || tn_sock_is_fixed(sock))
        return;
    block = receive_sender(sock, piece);
    if (block == NULL)
        return;
    if (!tenon_ip_equal(&sock->peer.addr.ip, &block->peer.addr.ip) || sock->peer.addr.port != block->peer.addr.port)
        sock->ring.asked = 0;
    sock->peer = block->peer;
}

TENON_API int tenon_sock_ask_rbuf(struct tenon_socks *socks, int sk, tenon_u8 **p)
{
    struct sock *sock = tn_sock_find(socks, sk);
    struct sock_piece *piece;

    if (sock == NULL || p == NULL)
        return TENON_EINVAL;
    for (piece = sock->first; piece != NULL && (piece->flags & SOCK_PIECE_OUT); piece = piece->next)
        ;
    if (piece == NULL && sock->state == TENON_SOCK_CLOSED && sock->error != TENON_OK)
        return sock->error;
    if (piece == NULL)
        return sock->state >= TENON_SOCK_ENDING ? TENON_ECLOSED : 0;
    piece->flags |= SOCK_PIECE_OUT;
    receive_meet(sock, piece);
    sock_count(&socks->counts.received_bytes, piece->len);
    *p = piece->data;
    return (int)piece->len;
}

/* The piece that begins at p, is handed out, and has n bytes; or NULL. */
static struct sock_piece *receive_find(const struct sock *sock, const tenon_u8 *p, unsigned n)
{
    struct sock_piece *piece = sock->first;

    while (piece != NULL && piece->data != p)
        piece = piece->next;
    if (piece == NULL || !(piece->flags & SOCK_PIECE_OUT) || n == 0 || n > piece->len)
        return NULL;
    return piece;
}

/* Its first n bytes are not the application's any more. */
TENON_ONCE static void receive_cut(struct sock *sock, struct sock_piece *piece, unsigned n)
{
    piece->data += n;
    piece->len = (tenon_u16)(piece->len - n);
    if (piece->len == 0)
        receive_remove(sock, piece);
}

TENON_API int tenon_sock_read_done(struct tenon_socks *socks, int sk, const tenon_u8 *p, unsigned n)
{
    struct sock *sock = tn_sock_find(socks, sk);
    struct sock_piece *piece = sock != NULL ? receive_find(sock, p, n) : NULL;

    if (piece == NULL)
        return TENON_EINVAL;
    receive_cut(sock, piece, n);
    if (sock->conn != NULL)
        tn_sock_consumed(sock, n);
    return TENON_OK;
}

/* The core has a reference of the block for as long as it needs the bytes; the application's ends here. */
TENON_API int tenon_sock_send_back(struct tenon_socks *socks, int sk, const tenon_u8 *p, unsigned n, unsigned options)
{
    struct sock *sock = tn_sock_find(socks, sk);
    const int fin = (options & TENON_SOCK_FIN) != 0;
    int error = tn_sock_may_send(sock, options);
    const struct sock_block *block;
    const struct sock_peer *peer = NULL;
    struct sock_piece *piece;
    struct tenon_span span;

    if (error != TENON_OK)
        return error;
    piece = receive_find(sock, p, n);
    if (piece == NULL)
        return TENON_EINVAL;
    if (sock->udp != NULL && !tn_sock_is_fixed(sock)) {
        block = receive_sender(sock, piece);
        if (block == NULL || block->peer.addr.port == 0)
            return TENON_EUNREACH;
        peer = &block->peer;
    }
    span.buf = piece->buf;
    span.off = (tenon_u32)(p - piece->buf->data);
    span.len = n;
    error = tn_sock_send_span(sock, peer, &span);
    if (error != TENON_OK)
        return error;
    receive_cut(sock, piece, n);
    sock->back += n;
    return fin ? tn_sock_finish(sock) : TENON_OK;
}
