/* SPDX-License-Identifier: MIT */
/* ICMP echo: requests of others answered (RFC 1122 3.2.2.6, RFC 4443 4.2), and our own. */
#include "base/bytes.h"
#include "ip/ip_internal.h"
#include "wire/checksum.h"
#include "wire/wire.h"

enum {
    ECHO_OBJECTS_MAX = 256,
    ECHO_FITS = TENON_WITH_PIECES && !(TENON_WITH_FRAGMENTS || TENON_WITH_SPEED),    /* there are spans for all of it */
    ECHO_CLASS_MASK = 0xFC    /* DSCP without ECN */
};

struct tenon_echo {
    struct tenon *stack;
    struct tenon_echo *next;
    const struct tenon_echo_events *events;
    void *app;
    tenon_u16 id;
};

/* ---- answering ----------------------------------------------------------------------------------------- */

/* The reply's checksum from the request's: only the type and the code have changed, and swapped addresses
 * have the same sum (RFC 1624). Not if the request came with a half made checksum, or to a group. */
static void echo_reply_csum(struct tn_out *out, const struct tn_pkt *pkt, const struct tn_icmp *request)
{
    tenon_u8 *p = out->hdr->data + out->off;
    const unsigned before = (unsigned)request->type << 8 | request->code;

    if (TENON_SMALL || pkt->csum != TENON_CSUM_NONE || pkt->dst_cast != TN_CAST_UNICAST)
        return;
    put16be(p + 2, tn_csum_update16(request->csum, (tenon_u16)before, get16be(p)));
    out->csum_done = 1;
}

static int echo_answer(struct tenon *stack, struct tn_pkt *pkt, const struct tn_icmp *request)
{
    struct tn_icmp reply = *request;
    struct tn_answer answer;
    tenon_u32 quoted;
    int error;

    reply.type = tn_pkt_is_v4(pkt) ? TN_ICMP4_ECHO_REPLY : TN_ICMP6_ECHO_REPLY;
    reply.code = 0;
    error = tn_answer_begin(stack, &answer, pkt, &reply);
    if (error != TENON_OK)
        return error;
    /* The payload goes back as it lies, by reference. */
    tn_pkt_pull(pkt, TN_ICMP_BYTES);
    quoted = tn_answer_quote(&answer, pkt, pkt->len);
    echo_reply_csum(&answer.out, pkt, request);
    answer.out.tos = pkt->tos & ECHO_CLASS_MASK;
    return tn_answer_send(stack, &answer, ECHO_FITS || quoted == pkt->len);
}

TENON_INTERNAL void tn_echo_request(struct tenon *stack, struct tn_pkt *pkt, const struct tn_icmp *request)
{
    if (TENON_WITH_ICMP && !tn_bucket_take(stack, &stack->ip.replies, TN_TOKEN_REPLY, TN_TOKEN_REPLY))
        tn_count(stack, TENON_STAT_ICMP_ERROR_LIMITED);
    else if (echo_answer(stack, pkt, request) == TENON_OK)
        tn_count(stack, TENON_STAT_ICMP_ECHO_ANSWERED);
}

/* ---- our own requests ---------------------------------------------------------------------------------- */

static struct tenon_echo *echo_find(const struct tenon *stack, unsigned id)
{
    struct tenon_echo *echo = stack->ip.echoes;

    while (echo != NULL && echo->id != id)
        echo = echo->next;
    return echo;
}

TENON_INTERNAL void tn_echo_reply(struct tenon *stack, struct tn_pkt *pkt)
{
    struct tenon_span spans[TN_RX_SPANS_MAX];
    struct tenon_echo_info info;
    struct tenon_echo *echo;
    struct tn_icmp reply;
    unsigned n;

    if (!TENON_WITH_PING || tn_icmp_parse(&reply, pkt->head, tn_pkt_head_len(pkt)) != 0)
        return;
    echo = echo_find(stack, (unsigned)(reply.rest >> 16));
    if (echo == NULL || reply.code != 0 || pkt->dst_cast != TN_CAST_UNICAST) {
        tn_count(stack, TENON_STAT_ICMP_IGNORED);
        return;
    }
    tn_pkt_pull(pkt, TN_ICMP_BYTES);
    info.from = pkt->src;
    info.seq = (tenon_u16)(reply.rest & 0xFFFFUL);
    info.ttl = pkt->ttl;
    info.bytes = pkt->len;
    n = tn_pkt_spans(pkt, spans, TN_RX_SPANS_MAX);
    echo->events->reply(echo, echo->app, &info, spans, n);
}

TENON_INTERNAL void tn_echo_error(struct tenon *stack, const struct tn_err *err)
{
    const unsigned type = tenon_ip_is_v4(&err->remote.ip) ? TN_ICMP4_ECHO : TN_ICMP6_ECHO;
    struct tenon_echo *echo = NULL;
    struct tn_icmp request;

    if (TENON_WITH_PING && tn_icmp_parse(&request, err->l4, err->l4_len) == 0 && request.type == type)
        echo = echo_find(stack, (unsigned)(request.rest >> 16));
    if (echo == NULL) {
        tn_count(stack, TENON_STAT_ICMP_ERROR_STRAY);
        return;
    }
    if (tn_err_is_too_big(err) && !tn_pmtu_report(stack, err))
        return;
    tn_count(stack, TENON_STAT_ICMP_ERROR_RCVD);
    if (echo->events->error != NULL)
        echo->events->error(echo, echo->app, &err->from, (tenon_u16)(request.rest & 0xFFFFUL), err->error);
}

TENON_API int tenon_echo_open(struct tenon *stack, struct tenon_echo **out, const struct tenon_echo_events *events,
                              void *app)
{
    struct tenon_echo *echo;

    if (!TENON_WITH_PING)
        return TENON_EINVAL;
    if (stack->ip.nechoes >= ECHO_OBJECTS_MAX)
        return TENON_ELIMIT;
    echo = (struct tenon_echo *)tn_mem_get(stack, sizeof(*echo));
    if (echo == NULL)
        return TENON_ENOMEM;
    echo->stack = stack;
    echo->events = events;
    echo->app = app;
    do
        echo->id = (tenon_u16)(tn_random(&stack->random) & 0xFFFFUL);
    while (echo_find(stack, echo->id) != NULL);
    echo->next = stack->ip.echoes;
    stack->ip.echoes = echo;
    stack->ip.nechoes++;
    *out = echo;
    return TENON_OK;
}

TENON_API void tenon_echo_close(struct tenon_echo *echo)
{
    struct tenon *stack = echo->stack;
    struct tenon_echo **link = &stack->ip.echoes;

    while (*link != echo)
        link = &(*link)->next;
    *link = echo->next;
    stack->ip.nechoes--;
    tn_mem_put(stack, echo, sizeof(*echo));
}

TENON_INTERNAL void tn_echo_fini(struct tenon *stack)
{
    while (TENON_WITH_PING && stack->ip.echoes != NULL)
        tenon_echo_close(stack->ip.echoes);
}

/* A request with n bytes: few go behind the header, many into buffers of their own. */
static int echo_send_on(struct tenon *stack, struct tn_path *path, const struct tn_icmp *request,
                        const tenon_u8 *bytes, tenon_u32 n)
{
    struct tenon_span spans[TN_TX_SPANS_MAX];
    const tenon_u32 joined = !TENON_WITH_PIECES || n <= TN_JOINED_MAX ? n : 0;
    struct tn_out out;
    int error, count = 0;

    if (n > joined)
        count = tn_spans_write(stack, spans, TN_TX_SPANS_MAX, bytes, n);
    if (count < 0)
        return TENON_ENOMEM;
    error = tn_out_new(stack, &out);
    if (!TENON_WITH_PIECES && error == TENON_OK && n > out.hdr->size - out.off - TN_ICMP_BYTES) {
        tenon_buf_put(out.hdr);
        return TENON_EMSGSIZE;
    }
    if (error == TENON_OK) {
        out.len = tn_icmp_build(out.hdr->data + out.off, request);
        if (joined > 0)
            memcpy(out.hdr->data + out.off + out.len, bytes, joined);
        out.len += joined;
        out.spans = spans;
        out.nspans = (unsigned)count;
        out.payload = n - joined;
        out.l4_bytes = TN_ICMP_BYTES;
        out.csum_offset = 2;
        out.src = path->src;
        out.proto = tenon_ip_is_v4(&path->dst) ? (tenon_u8)TN_PROTO_ICMP : (tenon_u8)TN_PROTO_ICMP6;
        error = tn_ip_output(stack, path, &out);
    }
    tn_count_n(stack, TENON_STAT_COPIED_BYTES, n);
    tn_spans_put(spans, (unsigned)count);
    return error;
}

TENON_API int tenon_echo_send(struct tenon_echo *echo, const struct tenon_addr *to, tenon_u16 seq, const void *bytes,
                              tenon_u32 n)
{
    const int is_v4 = tenon_ip_is_v4(&to->ip);
    struct tenon *stack = echo->stack;
    struct tn_icmp request;
    struct tn_path *path;
    int error;

    if (tenon_ip_is_any(&to->ip) || (bytes == NULL && n > 0))
        return TENON_EINVAL;
    if (n > 65535UL - TN_ICMP_BYTES - (is_v4 ? (tenon_u32)TN_IP4_BYTES : 0))
        return TENON_EMSGSIZE;
    error = tn_ip_path(stack, &path, &to->ip, tn_ip_scope(&to->ip, to->netif));
    if (error != TENON_OK)
        return error;
    request.type = is_v4 ? TN_ICMP4_ECHO : TN_ICMP6_ECHO;
    request.code = 0;
    request.csum = 0;
    request.rest = (tenon_u32)echo->id << 16 | seq;
    error = echo_send_on(stack, path, &request, (const tenon_u8 *)bytes, n);
    tn_path_put(stack, path);
    return error;
}
