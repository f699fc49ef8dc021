/* SPDX-License-Identifier: MIT */
/* ICMP errors that we send (RFC 1122 3.2.2, RFC 4443 2.4): to whom, about what, how often. */
#include "ip/ip_internal.h"
#include "wire/wire.h"

enum {
    ERROR4_BYTES = 576 - TN_IP4_BYTES - TN_ICMP_BYTES,     /* quoted at most (RFC 1812 4.3.2.3) */
    ERROR6_BYTES = 1280 - TN_IP6_BYTES - TN_ICMP_BYTES     /* RFC 4443 2.4 (c) */
};

TENON_INTERNAL TENON_ONCE_IF_SMALL int tn_bucket_take(const struct tenon *stack, struct tn_bucket *bucket,
                                                      tenon_u32 token, tenon_u32 cost)
{
    /* So many errors in a second are as many thousandths of one in a millisecond. */
    const tenon_u32 per_ms = (tenon_u32)stack->conf.icmp_errors_per_s * TN_REPLIES_PER_ERROR;
    const tenon_u32 max = (tenon_u32)(stack->conf.icmp_errors_burst * TN_TOKEN_ERROR) + token / 2;
    const tenon_u32 elapsed = stack->now_ms - bucket->ms;

    if (elapsed > (max - bucket->tokens) / per_ms)
        bucket->tokens = max;
    else
        bucket->tokens += elapsed * per_ms;
    bucket->ms = stack->now_ms;
    /* The highest price has to be there: in a flood whatever is cheaper would be paid, and twice as much leave. */
    if (bucket->tokens < token + token / 2)
        return 0;
    bucket->tokens -= cost;
    return 1;
}

/* What came to a group may be answered: nothing of IPv4. */
enum { ANSWER_IS_TO_MANY = TENON_WITH_IPV6 };

/* ---- an answer to a packet ------------------------------------------------------------------------------ */

TENON_INTERNAL int tn_answer_begin(struct tenon *stack, struct tn_answer *answer, const struct tn_pkt *pkt,
                                   const struct tn_icmp *icmp)
{
    struct tn_out *out = &answer->out;
    int error = tn_ip_path(stack, &answer->path, &pkt->src, tn_ip_scope(&pkt->src, pkt->netif->index));

    if (error != TENON_OK)
        return error;
    error = tn_out_new(stack, out);
    if (error != TENON_OK) {
        tn_path_put(stack, answer->path);
        return error;
    }
    out->len = tn_icmp_build(out->hdr->data + out->off, icmp);
    out->l4_bytes = TN_ICMP_BYTES;
    out->csum_offset = 2;
    /* RFC 1122 3.2.2, RFC 4443 2.2: from the address that the packet was sent to. */
    out->src = !ANSWER_IS_TO_MANY || pkt->dst_cast == TN_CAST_UNICAST ? pkt->dst : answer->path->src;
    out->proto = tn_pkt_is_v4(pkt) ? (tenon_u8)TN_PROTO_ICMP : (tenon_u8)TN_PROTO_ICMP6;
    return TENON_OK;
}

/* The same behind the ICMP header, where there are no pieces. */
static tenon_u32 answer_copy(struct tn_out *out, const struct tn_pkt *pkt, tenon_u32 n)
{
    const tenon_u32 at = out->off + out->len;

    n = tn_min(n, out->hdr->size - at);
    memcpy(out->hdr->data + at, pkt->head, n);
    out->len += n;
    return n;
}

TENON_INTERNAL TENON_ONCE_IF_SMALL tenon_u32 tn_answer_quote(struct tn_answer *answer,
                                                             const struct tn_pkt *pkt, tenon_u32 n)
{
    struct tn_gather to;

    if (!TENON_WITH_PIECES)
        return answer_copy(&answer->out, pkt, n);
    tn_gather_init(&to, answer->spans, TN_RX_SPANS_MAX);
    tn_spans_slice(&to, pkt->spans, pkt->nspans, pkt->off, n);
    answer->out.spans = answer->spans;
    answer->out.nspans = to.n;
    answer->out.payload = to.bytes;
    return to.bytes;
}

TENON_INTERNAL int tn_answer_send(struct tenon *stack, struct tn_answer *answer, int whole)
{
    int error = TENON_ELIMIT;

    if (whole)
        error = tn_ip_output(stack, answer->path, &answer->out);
    else
        tenon_buf_put(answer->out.hdr);
    tn_path_put(stack, answer->path);
    return error;
}

/* ---- errors --------------------------------------------------------------------------------------------- */

/* How many errors this destination got in this second. */
static tenon_u16 *error_count_to(struct tenon *stack, const struct tenon_ip *to)
{
    if (stack->now_ms - stack->ip.errors_to_ms >= 1000) {
        memset(stack->ip.errors_to, 0, sizeof(stack->ip.errors_to));
        stack->ip.errors_to_ms = stack->now_ms;
    }
    return &stack->ip.errors_to[tn_hash_place(&stack->ip.key, to->w, TENON_IP_WORDS) % TN_IP_BUCKETS];
}

/* One destination gets in any second at most the burst and half of what a second allows: it cannot use up
 * what others need. What one error costs is left to chance, one token on average: who counts our answers
 * must not learn from them how many others got (SAD DNS, CVE-2020-25705). */
static int error_rate_good(struct tenon *stack, const struct tenon_ip *to)
{
    const tenon_u32 per_s = stack->conf.icmp_errors_per_s, burst = stack->conf.icmp_errors_burst;
    const tenon_u32 cost = (tenon_u32)(TN_TOKEN_ERROR / 2) + tn_random_below(&stack->random, TN_TOKEN_ERROR + 1);
    tenon_u16 *count = TENON_WITH_MANY ? error_count_to(stack, to) : NULL;

    if ((count == NULL || (*count < 0xFFFFU && *count < per_s / 2 + burst)) &&
        tn_bucket_take(stack, &stack->ip.errors, TN_TOKEN_ERROR, cost)) {
        if (count != NULL)
            (*count)++;
        return 1;
    }
    tn_count(stack, TENON_STAT_ICMP_ERROR_LIMITED);
    return 0;
}

/* Whether a packet is an ICMP message that no error may answer: an error itself, or a redirect. What cannot
 * be seen is taken to be none. */
static int error_about_error4(const struct tn_pkt *pkt)
{
    const unsigned type = tn_pkt_head_len(pkt) > 0 ? pkt->head[0] : 0U;

    if (pkt->proto != TN_PROTO_ICMP)
        return 0;
    return type != TN_ICMP4_ECHO_REPLY && type != TN_ICMP4_ECHO && (type < 13 || type > 18);
}

/* The present layer may be any header of the chain: from there on to the transport's. */
static int error_about_error6(const struct tn_pkt *pkt)
{
    const tenon_u32 len = tn_pkt_head_len(pkt);
    struct tn_l4 l4;
    unsigned type;

    if (tn_ip6_find_l4_from(&l4, pkt->head, len, pkt->proto) != 0 || l4.later || l4.proto != TN_PROTO_ICMP6 ||
        l4.off >= len)
        return 0;
    type = pkt->head[l4.off];
    return type < 128 || type == TN_ICMP6_REDIRECT;
}

/* RFC 1122 3.2.2, RFC 4443 2.4 (e); `many`: the one error that may answer a multicast packet. Nothing comes so far
 * whose source is neither a host's nor any; but what it is may have changed since a fragment came. */
static int error_allowed(const struct tenon *stack, const struct tn_pkt *pkt, int many)
{
    if (tn_pkt_is_foreign(pkt) || tenon_ip_is_any(&pkt->src) ||
        (TENON_WITH_FRAGMENTS && tn_addr_is_broadcast(stack, &pkt->src)))
        return 0;
    if (!many && (!tn_pkt_is_unicast(pkt) || pkt->dst_cast != TN_CAST_UNICAST))
        return 0;
    return tn_pkt_is_v4(pkt) ? !error_about_error4(pkt) : !error_about_error6(pkt);
}

/* Put the packet's own bytes behind the ICMP header, as many as may be: its headers are copied, the rest
 * goes out from where it lies. */
static void error_quote(struct tn_answer *answer, const struct tn_pkt *pkt)
{
    struct tn_out *out = &answer->out;
    const tenon_u32 max = tn_pkt_is_v4(pkt) ? ERROR4_BYTES : ERROR6_BYTES;
    const tenon_u32 headers = pkt->l3_len - pkt->len;
    const tenon_u32 room = out->hdr->size - out->off - out->len;
    const tenon_u32 joined = tn_min(tn_min(headers, max), room);

    memcpy(out->hdr->data + out->off + out->len, pkt->l3, joined);
    out->len += joined;
    if (joined == headers)
        (void)tn_answer_quote(answer, pkt, tn_min(pkt->len, max - joined));
}

TENON_INTERNAL void tn_icmp_error(struct tenon *stack, const struct tn_pkt *pkt, enum tn_icmp_why why, tenon_u32 where)
{
    struct tn_answer answer;
    struct tn_icmp icmp;

    if (!TENON_WITH_ICMP || !error_allowed(stack, pkt, why == TN_WHY6_OPTION) || !error_rate_good(stack, &pkt->src))
        return;
    icmp.type = (tenon_u8)(why >> 8);
    icmp.code = (tenon_u8)(why & 0xFF);
    icmp.csum = 0;
    icmp.rest = where;
    if (tn_answer_begin(stack, &answer, pkt, &icmp) != TENON_OK)
        return;
    error_quote(&answer, pkt);
    if (tn_answer_send(stack, &answer, 1) == TENON_OK)
        tn_count(stack, TENON_STAT_ICMP_ERROR_SENT);
}
