/* SPDX-License-Identifier: MIT */
/* Segments that belong to no connection, or carry no data and need no state: resets above all. */
#include "tcp/tcp_internal.h"

TENON_INTERNAL void tn_tcp_ends_of(const struct tn_seg *seg, struct tenon_addr *local, struct tenon_addr *remote)
{
    const unsigned netif = TENON_WITH_NETIFS ? seg->pkt->netif->index : 0U;    /* where there is one, nobody asks */

    local->ip = seg->pkt->dst;
    local->port = seg->dport;
    local->netif = (tenon_u16)netif;
    remote->ip = seg->pkt->src;
    remote->port = seg->sport;
    remote->netif = (tenon_u16)(TENON_WITH_NETIFS && tn_ip_is_link_local(&seg->pkt->src) ? netif : 0);
}

TENON_ONCE TENON_INTERNAL void tn_tcp_seal(struct tn_out *out, const struct tn_tcp *tcp, const struct tenon_ip *src)
{
    tn_tcp_build(out->hdr->data + out->off, tcp);
    out->len = out->l4_bytes = tcp->header_bytes;
    out->csum_offset = 16;
    out->src = *src;
    out->proto = TN_PROTO_TCP;
    out->df = TENON_WITH_PATH_MTU;    /* or routers cut what is too large */
}

/* Only SYN cookies and records of TIME-WAIT send some. */
enum { BARE_HAS_OPTIONS = TENON_WITH_COOKIES || TENON_WITH_WAITS };

TENON_INTERNAL void tn_tcp_send_bare(struct tenon *stack, struct tn_bare *bare)
{
    struct tn_path *path;
    struct tn_out out;
    unsigned options = 0;

    if (tn_path_get(stack, &path, &bare->remote->ip, bare->remote->netif) != TENON_OK)
        return;
    if (tn_out_new(stack, &out) != TENON_OK) {
        tn_path_put(stack, path);
        return;
    }
    if (BARE_HAS_OPTIONS && bare->options != NULL)
        options = tn_tcp_options_build(out.hdr->data + out.off + TN_TCP_BYTES, bare->options);
    bare->tcp.ports = (tenon_u32)bare->local->port << 16 | bare->remote->port;
    bare->tcp.header_bytes = (tenon_u8)(TN_TCP_BYTES + options);
    tn_tcp_seal(&out, &bare->tcp, &bare->local->ip);
    out.ttl = bare->ttl;
    out.tos = bare->tos;
    tn_ip_output(stack, path, &out);
    tn_path_put(stack, path);
    tn_count(stack, TENON_STAT_TCP_SENT);
}

/* A token bucket of one second (9293-RST-5): a flood of strays costs their answering no more than that. */
static int reset_is_allowed(struct tenon *stack)
{
    struct tn_tcp_state *tcp = &stack->tcp;
    const tenon_u32 rate = stack->conf.tcp_rsts_per_s;
    const tenon_u32 passed = stack->now_ms - tcp->rst_tokens_ms;

    if (passed >= 1000) {
        tcp->rst_tokens = rate;
        tcp->rst_tokens_ms = stack->now_ms;
    }
    if (tcp->rst_tokens == 0) {
        tn_count(stack, TENON_STAT_TCP_RST_LIMITED);
        return 0;
    }
    tcp->rst_tokens--;
    return 1;
}

TENON_INTERNAL void tn_tcp_reset_reply(struct tenon *stack, const struct tn_seg *seg)
{
    struct tenon_addr local, remote;
    struct tn_bare bare;

    if ((seg->flags & TN_TCP_RST) || !reset_is_allowed(stack))
        return;
    tn_tcp_ends_of(seg, &local, &remote);
    memset(&bare, 0, sizeof(bare));
    bare.local = &local;
    bare.remote = &remote;
    if (seg->flags & TN_TCP_ACK) {
        bare.tcp.seq = seg->ack;
        bare.tcp.flags = TN_TCP_RST;
    } else {
        bare.tcp.ack = seg->seq + seg->len;
        bare.tcp.flags = TN_TCP_RST | TN_TCP_ACK;
    }
    tn_count(stack, TENON_STAT_TCP_RST_SENT);
    tn_tcp_send_bare(stack, &bare);
}
