/* SPDX-License-Identifier: MIT */
/* End points: made, deleted, asked; and what the core tells them. */
#include "embedded/sock_internal.h"

/* ---- descriptors -------------------------------------------------------------------------------- */

TENON_INTERNAL struct sock *tn_sock_find(const struct tenon_socks *socks, int sk)
{
    const unsigned place = ((unsigned)sk - 1U) % SOCK_MAX;
    struct sock *sock = &socks->socks[place];

    if (place >= socks->nsocks || sock->use != SOCK_USED || sock->number != sk)
        return NULL;
    return sock;
}

/* The descriptor and its ring are free: all of it is 0 but its next number. */
TENON_INTERNAL void tn_sock_release(struct sock *sock)
{
    const tenon_u32 next = (tenon_u32)(sock->number - 1 + SOCK_MAX) % ((tenon_u32)SOCK_USES * SOCK_MAX) + 1U;

    memset(sock, 0, sizeof(*sock));
    sock->number = (int)next;
}

/* The first descriptor, after so many others, that has this port and waits for a client. NULL: that is free, which is
 * all 0 but for its number: it has no port, and the state that comes first. None in use has both. */
TENON_ONCE static struct sock *sock_waiting(const struct tenon_socks *socks, const struct sock_port *port,
                                            unsigned others)
{
    struct sock *sock = socks->socks;
    unsigned n;

    for (n = socks->nsocks; n > 0; n--, sock++)
        if (sock->port == port && sock->state == TENON_SOCK_LISTENING && others-- == 0)
            return sock;
    return NULL;
}

/* ---- events of TCP ------------------------------------------------------------------------------ */

TENON_INTERNAL void tn_sock_note(struct sock *sock, unsigned events)
{
    sock->events = (tenon_u8)(sock->events | events);
    sock->socks->news = 1;
}

static void sock_opened(struct tenon_tcp *conn, void *app)
{
    struct sock *sock = (struct sock *)app;

    (void)conn;
    sock->state = TENON_SOCK_OPEN;
    tn_sock_promise(sock);
    tn_sock_note(sock, TENON_SOCK_OPENED);
}

/* There are as many records as blocks can have pieces, and more. A connection whose peer sends so many small fragments
 * that those are at an end has to end itself: a stream with a hole is worse. */
static void sock_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    if (!tn_sock_receive((struct sock *)app, spans, n, 0))
        tenon_tcp_abort(conn);
}

/* The window opens by what was sent back: not before, or the peer would fill more blocks than the window lets in. */
static void sock_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct sock *sock = (struct sock *)app;

    (void)conn;
    if (sock->ring.own != NULL)
        bytes -= sock->ring.own(&sock->ring, bytes);
    if (bytes == 0)
        return;
    sock->back -= bytes;
    tn_sock_consumed(sock, bytes);
    tn_sock_note(sock, TENON_SOCK_WRITABLE);
}

static void sock_finished(struct tenon_tcp *conn, void *app)
{
    struct sock *sock = (struct sock *)app;

    (void)conn;
    sock->state = TENON_SOCK_ENDING;
    tn_sock_note(sock, TENON_SOCK_FINISHED);
}

static void sock_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct sock *sock = (struct sock *)app;

    (void)conn;
    sock->conn = NULL;
    sock->promised = 0;
    sock->state = TENON_SOCK_CLOSED;
    sock->error = (short)why;
    tn_sock_note(sock, TENON_SOCK_ENDED);
}

static void sock_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    struct sock *sock = (struct sock *)app;

    (void)conn;
    sock->error = (short)error;
    tn_sock_note(sock, TENON_SOCK_ERROR);
}

static const struct tenon_tcp_events sock_tcp_events = {
    NULL, sock_opened, sock_received, sock_acked, sock_finished, sock_closed, NULL, sock_soft_error};

static const struct tenon_addr sock_any = {{{0}}, 0, 0};

/* ---- sending, from a ring or out of a receive block ----------------------------------------------- */

TENON_INTERNAL int tn_sock_may_send(const struct sock *sock, unsigned options)
{
    if (sock == NULL || ((options & TENON_SOCK_FIN) && sock->udp != NULL))
        return TENON_EINVAL;
    return sock->finished || sock->state == TENON_SOCK_CLOSED ? TENON_ECLOSED : TENON_OK;
}

/* From the address that was asked, if that is one from which something can be sent: not a group or a broadcast
 * address, nor 0.0.0.0, which some send to in place of that (RFC 1122 3.3.6), and which is TENON_EINVAL. */
static int sock_send_datagram(struct sock *sock, const struct sock_peer *peer, const struct tenon_span *span)
{
    const struct tenon_addr *to = tn_sock_is_fixed(sock) ? NULL : &peer->addr;
    int error = TENON_ENOADDR;

    if (to != NULL && !tenon_ip_is_any(&peer->asked))
        error = tenon_udp_send_from(sock->udp, &peer->asked, to, span, 1);
    if (error == TENON_ENOADDR || (TENON_WITH_IPV6 && error == TENON_EINVAL))
        error = tenon_udp_send(sock->udp, to, span, 1);
    return error;
}

TENON_INTERNAL int tn_sock_send_span(struct sock *sock, const struct sock_peer *peer, const struct tenon_span *span)
{
    const int error = sock->udp != NULL ? sock_send_datagram(sock, peer, span) : tenon_tcp_send(sock->conn, span);

    if (error == TENON_OK)
        sock_count(&sock->socks->counts.sent_bytes, (tenon_u32)span->len);
    return error;
}

TENON_INTERNAL int tn_sock_finish(struct sock *sock)
{
    if (sock->conn == NULL)
        return TENON_EINVAL;
    sock->finished = 1;
    return tenon_tcp_finish(sock->conn);
}

/* ---- servers ------------------------------------------------------------------------------------ */

enum { SOCK_PROMISE = 16, SOCK_BROKEN = 1024 };    /* units of 65,536 us: about a second, and a minute */

/* Of its last promise. */
static unsigned sock_port_age(const struct sock_port *port)
{
    return ((unsigned)(port->socks->now_us >> 16) - port->promised_at) & 0xFFFFU;
}

/* Who finds all taken, or promised to others, gets no answer, and asks again. A promise is for a second: somebody who
 * never answers, or does not exist, keeps nobody out for longer. Where that has happened nothing is promised for a
 * minute, if there are cookies: in a flood they are sent when many are in their handshake, and keep nobody out. */
static enum tenon_verdict sock_port_incoming(struct tenon_tcp *conn, void *app)
{
    struct sock_port *port = (struct sock_port *)app;
    const unsigned age = sock_port_age(port), promised = age < SOCK_PROMISE ? port->promised : 0U;

    (void)conn;
    if (sock_waiting(port->socks, port, promised) == NULL)
        return TENON_IGNORE;
    if (TENON_WITH_COOKIES && port->socks->cookies && port->promised > promised && age < SOCK_BROKEN)
        return TENON_ACCEPT;
    port->promised = (tenon_u8)(promised + 1);
    port->promised_at = (tenon_u16)(port->socks->now_us >> 16);
    return TENON_ACCEPT;
}

/* A handshake may take longer than a promise, or be without: who finds all taken then is reset. */
static void sock_port_opened(struct tenon_tcp *conn, void *app)
{
    struct sock_port *port = (struct sock_port *)app;
    struct sock *sock = sock_waiting(port->socks, port, 0);

    if (port->promised > 0 && (!TENON_WITH_COOKIES || sock_port_age(port) < SOCK_PROMISE))
        port->promised--;
    if (sock == NULL) {
        tenon_tcp_abort(conn);
        return;
    }
    tenon_tcp_handler(conn, &sock_tcp_events, sock);
    sock->conn = conn;
    sock_opened(conn, sock);
}

static const struct tenon_tcp_events sock_port_events = {
    sock_port_incoming, sock_port_opened, NULL, NULL, NULL, NULL, NULL, NULL};

/* A deleted descriptor's connection finishes by itself. One that came to a port has been opened: the events of that are
 * none any more. */
static const struct tenon_tcp_events sock_no_events = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};

TENON_INTERNAL void tn_sock_forget_promises(struct tenon_socks *socks)
{
    struct sock_port *port = socks->ports;
    unsigned n;

    for (n = socks->nports; n > 0; n--, port++)
        port->promised = 0;
}

/* Ports that no descriptor has had since the last poll: one that is made again at once finds its listener. */
TENON_INTERNAL void tn_sock_close_ports(struct tenon_socks *socks)
{
    struct sock_port *port = socks->ports;
    unsigned n;

    for (n = socks->nports; n > 0; n--, port++) {
        if (port->listener == NULL || port->refs > 0)
            continue;
        tenon_tcp_listener_close(port->listener);
        port->listener = NULL;
    }
}

static int sock_same_addr(const struct tenon_addr *a, const struct tenon_addr *b)
{
    return a->port == b->port && a->netif == b->netif && tenon_ip_equal(&a->ip, &b->ip);
}

/* @return the port of that address, or a free one; NULL: there is none */
static struct sock_port *sock_port_find(struct tenon_socks *socks, const struct tenon_addr *at)
{
    struct sock_port *port = socks->ports, *free_one = NULL;
    unsigned n;

    for (n = socks->nports; n > 0; n--, port++) {
        if (port->listener == NULL)
            free_one = port;
        else if (at->port != 0 && sock_same_addr(&port->at, at))
            return port;
    }
    return free_one;
}

static int sock_listen(struct sock *sock, const struct tenon_addr *at, unsigned options)
{
    struct tenon_socks *socks = sock->socks;
    struct sock_port *port = sock_port_find(socks, at);
    int error;

    if (port == NULL) {
        tn_sock_close_ports(socks);
        port = sock_port_find(socks, at);
    }
    if (port == NULL)
        return TENON_ELIMIT;
    if (port->listener == NULL) {
        error = tenon_tcp_listen(socks->stack, &port->listener, at, &sock_port_events, port,
                                 2U * socks->nsocks);    /* one source may have half of it */
        if (error != TENON_OK)
            return error;
        port->socks = socks;
        port->promised = 0;
        tenon_tcp_listener_local(port->listener, &port->at);
        (void)tenon_tcp_listener_set(port->listener, TENON_TCP_NODELAY, 1);
        if (TENON_WITH_RECOVERY)
            (void)tenon_tcp_listener_set(port->listener, TENON_TCP_PACING, 0);
        if (TENON_WITH_SCALE && (options & TENON_SOCK_NO_TIMESTAMPS))
            (void)tenon_tcp_listener_set(port->listener, TENON_TCP_TIMESTAMPS, 0);
    }
    port->refs++;
    sock->port = port;
    sock->promised = 1;    /* a client may come any time */
    sock->state = TENON_SOCK_LISTENING;
    return TENON_OK;
}

/* ---- clients ------------------------------------------------------------------------------------ */

static int sock_connect(struct sock *sock, const struct tenon_addr *local, const struct tenon_addr *remote,
                        unsigned options)
{
    const int error = tenon_tcp_connect(sock->socks->stack, &sock->conn, local, remote, &sock_tcp_events, sock);

    if (error != TENON_OK) {
        sock->conn = NULL;
        return error;
    }
    (void)tenon_tcp_set(sock->conn, TENON_TCP_NODELAY, 1);
    if (TENON_WITH_RECOVERY)
        (void)tenon_tcp_set(sock->conn, TENON_TCP_PACING, 0);
    if (TENON_WITH_SCALE && (options & TENON_SOCK_NO_TIMESTAMPS))
        (void)tenon_tcp_set(sock->conn, TENON_TCP_TIMESTAMPS, 0);
    sock->promised = 1;
    sock->state = TENON_SOCK_OPENING;
    return TENON_OK;
}

/* ---- UDP ---------------------------------------------------------------------------------------- */

/* The first of a datagram's blocks; *held: how many are held with them. Some bytes of fragments lie in buffers for
 * headers. */
static struct sock_block *sock_first_block(struct tenon_socks *socks, const struct tenon_span *spans, unsigned n,
                                           unsigned *held)
{
    struct sock_block *first = NULL, *block;

    for (; n > 0; n--) {
        block = tn_sock_block_of(socks, spans[n - 1].buf);
        if (block == NULL)
            continue;
        first = block;
        ++*held;
    }
    return first;
}

/* A block for a datagram whose fragments have been copied: the one in which the last of them came, in which is nothing
 * any more that anybody needs; of several who hear the datagram the others get a free one, if one is left to send from.
 * In a burst it is not known which one that is, but two come back. Where none is free for want of it, this
 * datagram is lost and no later one. @return NULL: none */
static struct tenon_buf *sock_gather_block(struct tenon_socks *socks)
{
    struct tenon_buf *block = socks->looked;

    if (tn_sock_blocks_spare(socks) <= 0)
        return NULL;
    if (block != NULL && block->refs == 1) {
        tenon_buf_ref(block);
        return block;
    }
    block = block == NULL || tn_sock_has_block(socks) ? tn_sock_pool_get(&socks->blocks) : NULL;
    if (block == NULL)
        socks->singly = 1;
    return block;
}

/* All fragments of a datagram were small, and lie in buffers for headers: whose it is stands in a block, so it is put
 * into one. @return 1, with a reference in *whole, or 0: there is none, or it is too small */
static int sock_gather(struct tenon_socks *socks, struct tenon_span *whole, const struct tenon_span *spans, unsigned n)
{
    struct tenon_buf *block = sock_gather_block(socks);
    unsigned i;

    if (block == NULL)
        return 0;
    whole->buf = block;
    whole->off = whole->len = 0;
    for (i = 0; i < n && spans[i].len <= block->size - whole->len; i++) {
        memcpy(block->data + whole->len, tenon_span_data(&spans[i]), (size_t)spans[i].len);
        whole->len += spans[i].len;
    }
    sock_count(&socks->counts.copied_bytes, (tenon_u32)whole->len);
    if (i == n)
        return 1;
    tenon_buf_put(block);
    return 0;
}

/* Whose a datagram is: in each of its blocks, as pieces go back by themselves, and in any order. */
static void sock_write_down(struct tenon_socks *socks, const struct tenon_udp_info *info,
                            const struct tenon_span *spans, unsigned n)
{
    struct sock_block *block;
    unsigned i;

    for (i = 0; i < n; i++) {
        block = tn_sock_block_of(socks, spans[i].buf);
        if (TENON_WITH_FRAGMENTS && block == NULL)
            continue;
        block->peer.addr = info->from;
        block->peer.asked = info->to.ip;
    }
}

/* A datagram is kept with its sender, who is written down in its blocks. There are two records for each of these: if
 * two others who hear the datagram have them it is not. @return 1: it is */
static int sock_keep(struct sock *sock, const struct tenon_udp_info *info, const struct tenon_span *spans, unsigned n)
{
    struct tenon_socks *socks = sock->socks;
    struct tenon_span whole;
    unsigned held = sock->blocks;
    struct sock_block *block;
    int gathered, kept;

    if (!socks->keeps)
        return 0;
    block = sock_first_block(socks, spans, n, &held);
    gathered = TENON_WITH_FRAGMENTS && block == NULL && sock_gather(socks, &whole, spans, n);
    if (gathered) {
        block = tn_sock_block_of(socks, whole.buf);
        held++;
        spans = &whole;
        n = 1;
    }
    kept = block != NULL && block->pieces < 2 && held <= socks->datagrams_max &&
           tn_sock_receive(sock, spans, n, SOCK_PIECE_FIRST | SOCK_PIECE_HEAD);
    if (kept)
        sock_write_down(socks, info, spans, n);
    if (gathered)
        tn_sock_looked_at(whole.buf);
    return kept;
}

static void sock_udp_received(struct tenon_udp *udp, void *app, const struct tenon_udp_info *info,
                              const struct tenon_span *spans, unsigned n)
{
    struct sock *sock = (struct sock *)app;
    int kept;

    (void)udp;
    if (n == 0)
        return;    /* no byte that could lie anywhere */
    if (!TENON_WITH_FRAGMENTS)
        n = 1;
    kept = sock_keep(sock, info, spans, n);
    sock_count(&sock->socks->counts.datagrams_full, !kept);
}

static void sock_udp_error(struct tenon_udp *udp, void *app, const struct tenon_addr *to, int error)
{
    (void)to;
    sock_soft_error(NULL, app, error);
    (void)udp;
}

static const struct tenon_udp_events sock_udp_events = {
    sock_udp_received, TENON_WITH_ERRORS ? sock_udp_error : NULL};

static int sock_open_udp(struct sock *sock, const struct tenon_addr *local, const struct tenon_addr *remote,
                         unsigned options)
{
    int error = tenon_udp_open(sock->socks->stack, &sock->udp, &sock_udp_events, sock);

    if (error != TENON_OK)
        return error;
    error = tenon_udp_bind(sock->udp, local);
    if (TENON_WITH_CONNECT && error == TENON_OK && remote != NULL) {
        error = tenon_udp_connect(sock->udp, remote);
        sock->peer.addr = *remote;
        sock->fixed = 1;
    }
    if (error != TENON_OK) {
        tenon_udp_close(sock->udp);
        return error;
    }
    if (options & TENON_SOCK_BROADCAST)
        (void)tenon_udp_set(sock->udp, TENON_UDP_BROADCAST, 1);
    sock->state = TENON_SOCK_OPEN;
    return TENON_OK;
}

TENON_API int tenon_sock_to(struct tenon_socks *socks, int sk, const struct tenon_addr *to)
{
    struct sock *sock = tn_sock_find(socks, sk);

    if (sock == NULL || sock->udp == NULL || tn_sock_is_fixed(sock) || to->port == 0)
        return TENON_EINVAL;
    sock->peer.addr = *to;
    sock->peer.asked = tenon_ip_any();
    sock->ring.asked = 0;
    return TENON_OK;
}

/* ---- create, delete, ask ------------------------------------------------------------------------ */

TENON_API int tenon_sock_create(struct tenon_socks *socks, const struct tenon_addr *local,
                                const struct tenon_addr *remote, int protocol, unsigned options)
{
    struct sock *sock;
    int error;

    if (remote != NULL && remote->port == 0)
        remote = NULL;
    if ((protocol != TENON_SOCK_TCP && protocol != TENON_SOCK_UDP) || (!TENON_WITH_CONNECT && remote != NULL))
        return TENON_EINVAL;
    sock = sock_waiting(socks, NULL, 0);
    if (sock == NULL)
        return TENON_ELIMIT;
    sock->socks = socks;
    sock->use = SOCK_USED;
    sock->end = &sock->first;
    if (local == NULL)
        local = &sock_any;
    if (protocol == TENON_SOCK_UDP)
        error = sock_open_udp(sock, local, remote, options);
    else if (TENON_WITH_CONNECT && remote != NULL)
        error = sock_connect(sock, local, remote, options);
    else
        error = sock_listen(sock, local, options);
    if (error != TENON_OK) {
        tn_sock_release(sock);
        return error;
    }
    return sock->number;
}

TENON_API int tenon_sock_delete(struct tenon_socks *socks, int sk, unsigned options)
{
    struct sock *sock = tn_sock_find(socks, sk);
    int empty;

    if (sock == NULL)
        return TENON_EINVAL;
    empty = sock->ring.packets == 0;
    sock->use = SOCK_LEAVING;
    sock->events = 0;
    sock->promised = 0;
    if (sock->conn != NULL) {
        tenon_tcp_handler(sock->conn, TENON_WITH_CONNECT ? &sock_no_events : &sock_port_events, NULL);
        tenon_tcp_consumed(sock->conn, sock->back + sock->withheld);    /* read it was: no reason for a reset */
        if (options & TENON_SOCK_ABORT)
            tenon_tcp_abort(sock->conn);
        else
            tenon_tcp_close(sock->conn);
    }
    if (sock->udp != NULL)
        tenon_udp_close(sock->udp);
    if (sock->port != NULL)
        sock->port->refs--;
    tn_sock_forget_pieces(sock);
    if (empty)    /* else its ring is what is looked at until then */
        tn_sock_release(sock);    /* packets that a reset has thrown away just now leave with the event */
    return TENON_OK;
}

static tenon_u32 sock_ring_used(const struct sock_ring *ring)
{
    if (ring->packets == 0)
        return 0;
    if (ring->head > ring->tail)
        return (tenon_u32)(ring->head - ring->tail);
    return (tenon_u32)((ring->end - ring->tail) + (ring->head - ring->base));
}

TENON_API int tenon_sock_status(const struct tenon_socks *socks, int sk, struct tenon_sock_info *info)
{
    const struct sock *sock = tn_sock_find(socks, sk);
    const struct sock_piece *piece;
    struct tenon_tcp_info tcp;

    if (sock == NULL)
        return TENON_EINVAL;
    memset(info, 0, sizeof(*info));
    info->state = (enum tenon_sock_state)sock->state;
    info->error = sock->error;
    for (piece = sock->first; piece != NULL; piece = piece->next)
        info->unread += piece->len;
    info->ring_used = sock_ring_used(&sock->ring);
    info->packets = sock->ring.packets;
    info->segment = sock->segment;
    info->more = sock->more;
    info->remote = sock->peer.addr;
    if (sock->conn != NULL) {
        tenon_tcp_status(sock->conn, &tcp);
        info->local = tcp.local;
        info->remote = tcp.remote;
        info->segment = tcp.mss;
    } else if (sock->udp != NULL) {
        tenon_udp_local(sock->udp, &info->local);
    } else if (sock->port != NULL) {
        info->local = sock->port->at;
    }
    return TENON_OK;
}
