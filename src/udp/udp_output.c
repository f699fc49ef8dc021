/* SPDX-License-Identifier: MIT */
/* UDP output: a header in a buffer of ours, the payload where the application has it. */
#include "ip/ip_internal.h"
#include "udp/udp_internal.h"
#include "wire/wire.h"

/* Of IP and UDP. */
static tenon_u32 udp_header_bytes(const struct tenon_ip *to)
{
    return TN_UDP_BYTES + (tenon_ip_is_v4(to) ? (tenon_u32)TN_IP4_BYTES : (tenon_u32)TN_IP6_BYTES);
}

/* Largest payload: what the length field of UDP can say (RFC 768), and in IPv4 that of IP, which counts the IP
 * header; that of IPv6 does not (RFC 8200 3). */
static tenon_u32 udp_bytes_max(const struct tenon_ip *to)
{
    return 65535UL - TN_UDP_BYTES - (tenon_ip_is_v4(to) ? (tenon_u32)TN_IP4_BYTES : 0);
}

/* @return TENON_OK, or TENON_EMSGSIZE: too large for any datagram to that address */
static int udp_measure(struct tn_udp_message *message)
{
    const tenon_u32 max = udp_bytes_max(&message->to->ip);
    unsigned i;

    message->len = 0;
    for (i = 0; i < message->nspans; i++) {
        if (message->spans[i].len > max - message->len)
            return TENON_EMSGSIZE;
        message->len += message->spans[i].len;
    }
    return TENON_OK;
}

/* A group or a broadcast address can be listened to, but nobody speaks from it (RFC 1122 3.2.1.3). */
static int udp_speaks_for_itself(const struct tenon_udp *sock)
{
    return !tenon_ip_is_any(&sock->local.ip) && !tn_ip_is_multicast(&sock->local.ip) &&
           !tn_addr_is_broadcast(sock->stack, &sock->local.ip);
}

/* Whose address a datagram carries as its source: not one that was ours when the socket got it, and is no more. What is
 * not said by the caller is remembered for the short way, if it may speak along all paths.
 * @return TENON_OK, TENON_EINVAL (the other version of IP), TENON_ENOADDR */
static int udp_source(struct tenon_udp *sock, const struct tn_udp_message *message, const struct tn_path *path,
                      const struct tenon_ip **src)
{
    *src = message->from;
    if (*src == NULL && udp_speaks_for_itself(sock))
        *src = &sock->local.ip;
    if (*src != NULL && tenon_ip_is_v4(*src) != tenon_ip_is_v4(&path->dst))
        return TENON_EINVAL;
    if (*src != NULL && !tn_path_is_from(sock->stack, path, *src))
        return TENON_ENOADDR;
    if (!TENON_SMALL && message->from == NULL && (*src == NULL || !tn_ip_is_link_local(*src))) {
        sock->source_gen = sock->stack->link.gen;
        sock->source = *src;
    }
    if (*src == NULL)
        *src = &path->src;
    return TENON_OK;
}

TENON_INTERNAL_HOT void tn_udp_copy(struct tenon *stack, tenon_u8 *to, const struct tn_udp_message *message)
{
    if (message->len == 0)
        return;
    if (message->bytes != NULL)
        memcpy(to, message->bytes, message->len);
    else
        tn_spans_copy(to, message->spans, 0, message->len);
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, message->len);
}

static void udp_payload(struct tenon *stack, struct tn_out *out, const struct tn_udp_message *message)
{
    const tenon_u32 room = out->hdr->size - out->off - out->len;

    if (TENON_WITH_PIECES && (!tn_udp_is_joined(stack, message) || message->len > room)) {
        out->spans = message->spans;
        out->nspans = message->nspans;
        out->payload = message->len;
        return;
    }
    tn_udp_copy(stack, out->hdr->data + out->off + out->len, message);
    out->len += message->len;
}

/* Send along a path. The socket is not looked at any more once the packet is on its way: that may end in a
 * handler that closes it. */
static int udp_send_on(struct tenon_udp *sock, const struct tn_udp_message *message, struct tn_path *path)
{
    struct tenon *stack = sock->stack;
    struct tn_udp header;
    const struct tenon_ip *src;
    struct tn_out out;
    int error = udp_source(sock, message, path, &src);

    if (error != TENON_OK)
        return error;
    error = tn_out_new(stack, &out);
    if (error != TENON_OK)
        return error;
    header.sport = sock->local.port;
    header.dport = message->to->port;
    header.len = (tenon_u16)(TN_UDP_BYTES + message->len);
    header.csum = 0;
    out.len = tn_udp_build(out.hdr->data + out.off, &header);
    if (!TENON_WITH_PIECES && message->len > out.hdr->size - out.off - out.len) {
        tenon_buf_put(out.hdr);
        return TENON_EMSGSIZE;
    }
    udp_payload(stack, &out, message);
    out.l4_bytes = TN_UDP_BYTES;
    if (!sock->no_checksum || !tenon_ip_is_v4(&path->dst))
        out.csum_offset = TN_UDP_CSUM_AT;
    out.src = *src;
    out.proto = TN_PROTO_UDP;
    out.ttl = TENON_WITH_MULTICAST && path->cast == TN_CAST_MULTICAST ? sock->multicast_ttl : sock->ttl;
    out.tos = sock->tos;
    out.df = sock->dont_fragment;
    error = tn_ip_output(stack, path, &out);
    if (error == TENON_OK)
        tn_count(stack, TENON_STAT_UDP_SENT);
    return error;
}

TENON_INTERNAL unsigned tn_udp_scope(const struct tenon_udp *sock, const struct tenon_addr *own,
                                     const struct tenon_addr *to)
{
    unsigned scope = tn_ip_scope(&to->ip, to->netif);

    if (TENON_WITH_MULTICAST && scope == 0 && tn_ip_is_multicast(&to->ip))
        scope = sock->multicast_netif;
    if (TENON_WITH_NETIFS && scope == 0 && tn_ip_is_on_link_only(&to->ip) && tn_ip_is_link_local(&own->ip))
        scope = own->netif;
    return scope;
}

/* The path to the peer of a connected socket, as it is now, or to an address; referenced. */
static int udp_path(struct tenon_udp *sock, const struct tenon_addr *to, struct tn_path **path)
{
    if (TENON_WITH_CONNECT && to == &sock->remote) {
        *path = sock->path;
        if (tn_path_check(sock->stack, sock->path) != TENON_OK) {
            tn_count(sock->stack, TENON_STAT_NO_ROUTE);
            return TENON_EUNREACH;
        }
        sock->path->refs++;
        return TENON_OK;
    }
    return tn_ip_path(sock->stack, path, &to->ip, tn_udp_scope(sock, &sock->local, to));
}

/* A host without an address calls out on the link that it names (RFC 1122 3.2.1.3 a): there is no way to be looked for.
 * The path is for this packet alone. */
static int udp_send_nameless(struct tenon_udp *sock, struct tn_udp_message *message)
{
    const struct tn_netif *netif = tn_netif_at(sock->stack, message->to->netif);
    struct tn_path path;

    if (!tenon_ip_is_v4(&message->to->ip) || message->to->ip.w[TENON_IP4_WORD] != 0xFFFFFFFFUL)
        return TENON_EINVAL;
    if (netif == NULL)
        return TENON_EUNREACH;
    if (!sock->broadcast)
        return TENON_EACCES;
    memset(&path, 0, sizeof(path));
    path.dst = path.next_hop = message->to->ip;
    path.src = *message->from;
    path.gen = sock->stack->link.gen;
    path.netif = netif->index;
    path.cast = TN_CAST_BROADCAST;
    if (!TENON_WITH_MANY)
        path.udp_known[0] = tn_random(&sock->stack->random);
    message->from = NULL;
    return udp_send_on(sock, message, &path);
}

static int udp_send(struct tenon_udp *sock, struct tn_udp_message *message)
{
    struct tenon *stack = sock->stack;
    struct tn_path *path;
    int error;

    if (!TENON_SMALL) {
        error = tn_udp_fast_send(sock, message);
        if (TENON_LIKELY(error <= 0))
            return error;
    }
    if (sock->where == TN_UDP_UNBOUND && tn_udp_autobind(sock) != TENON_OK)
        return TENON_EAGAIN;
    if (message->from != NULL && message->from->w[TENON_IP4_WORD] == 0 && tenon_ip_is_v4(message->from))
        return udp_send_nameless(sock, message);
    error = udp_path(sock, message->to, &path);
    if (error != TENON_OK)
        return error;
    if (path->cast == TN_CAST_BROADCAST && !sock->broadcast)
        error = TENON_EACCES;
    else
        error = udp_send_on(sock, message, path);
    tn_path_put(stack, path);
    return error;
}

/* @return the address that is meant, or NULL: there is none, or nothing can be sent there */
static const struct tenon_addr *udp_target(const struct tenon_udp *sock, const struct tenon_addr *to)
{
    if (to == NULL)
        return tn_udp_is_connected(sock) ? &sock->remote : NULL;
    return to->port == 0 || tenon_ip_is_any(&to->ip) ? NULL : to;
}

TENON_API int tenon_udp_payload_max(struct tenon_udp *sock, const struct tenon_addr *to, tenon_u32 *bytes)
{
    const struct tenon_addr *target = udp_target(sock, to);
    struct tenon *stack = sock->stack;
    struct tn_path *path;
    int error;

    if (target == NULL)
        return TENON_EINVAL;
    error = udp_path(sock, target, &path);
    if (error != TENON_OK)
        return error;
    *bytes = tn_path_mtu(stack, path) - udp_header_bytes(&target->ip);
    tn_path_put(stack, path);
    return TENON_OK;
}

TENON_APART int udp_is_filled(const struct tn_udp_message *message)
{
    unsigned i;

    for (i = 0; i < message->nspans; i++)
        if (message->spans[i].len == 0)
            return 0;
    return 1;
}

/* Without spans that are empty: they need not have a buffer, and no device is to be told of them. */
TENON_APART int udp_send_filled(struct tenon_udp *sock, struct tn_udp_message *message)
{
    struct tenon_span spans[TN_TX_SPANS_MAX];
    struct tn_gather filled;

    tn_gather_init(&filled, spans, TN_TX_SPANS_MAX);
    tn_spans_slice(&filled, message->spans, message->nspans, 0, message->len);
    if (filled.bytes != message->len)
        return TENON_ENOMEM;
    message->spans = spans;
    message->nspans = filled.n;
    return udp_send(sock, message);
}

TENON_API int tenon_udp_send_from(struct tenon_udp *sock, const struct tenon_ip *from, const struct tenon_addr *to,
                                  const struct tenon_span *spans, unsigned n)
{
    struct tn_udp_message message;
    int error;

    message.to = udp_target(sock, to);
    if (message.to == NULL)
        return TENON_EINVAL;
    message.from = from;
    message.spans = spans;
    message.nspans = n;
    message.bytes = NULL;
    error = udp_measure(&message);
    if (error != TENON_OK)
        return error;
    if (TENON_WITH_SPEED && n > 1 && !udp_is_filled(&message))    /* one that is empty is copied: nothing */
        return udp_send_filled(sock, &message);
    return udp_send(sock, &message);
}

TENON_API int tenon_udp_send(struct tenon_udp *sock, const struct tenon_addr *to, const struct tenon_span *spans,
                             unsigned n)
{
    return tenon_udp_send_from(sock, NULL, to, spans, n);
}

/* Many bytes: into buffers of their own first. */
static int udp_write_spans(struct tenon_udp *sock, struct tn_udp_message *message, const tenon_u8 *bytes)
{
    struct tenon_span spans[TN_TX_SPANS_MAX];
    struct tenon *stack = sock->stack;
    const int count = tn_spans_write(stack, spans, TN_TX_SPANS_MAX, bytes, message->len);
    int error;

    if (count < 0)
        return TENON_ENOMEM;
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, message->len);
    message->spans = spans;
    message->nspans = (unsigned)count;
    message->bytes = NULL;
    error = udp_send(sock, message);
    tn_spans_put(spans, (unsigned)count);
    return error;
}

TENON_API int tenon_udp_write_from(struct tenon_udp *sock, const struct tenon_ip *from, const struct tenon_addr *to,
                                   const void *bytes, tenon_u32 n)
{
    struct tn_udp_message message;

    message.to = udp_target(sock, to);
    if (message.to == NULL || (bytes == NULL && n > 0))
        return TENON_EINVAL;
    if (n > udp_bytes_max(&message.to->ip))
        return TENON_EMSGSIZE;
    message.from = from;
    message.spans = NULL;
    message.nspans = 0;
    message.bytes = (const tenon_u8 *)bytes;
    message.len = n;
    if (TENON_WITH_PIECES && n > TN_JOINED_MAX)
        return udp_write_spans(sock, &message, message.bytes);
    return udp_send(sock, &message);
}

TENON_API int tenon_udp_write(struct tenon_udp *sock, const struct tenon_addr *to, const void *bytes, tenon_u32 n)
{
    return tenon_udp_write_from(sock, NULL, to, bytes, n);
}
