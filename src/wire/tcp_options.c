/* SPDX-License-Identifier: MIT */
/* TCP options: MSS (RFC 9293 3.7.1), window scale and timestamps (RFC 7323), SACK (RFC 2018),
 * Fast Open (RFC 7413). */
#include "wire/wire.h"
#include "base/bytes.h"
#include "base/mem.h"

enum {
    TCP_OPT_END = 0,
    TCP_OPT_NOP = 1,
    TCP_OPT_MSS = 2,
    TCP_OPT_WSCALE = 3,
    TCP_OPT_SACK_PERMITTED = 4,
    TCP_OPT_SACK = 5,
    TCP_OPT_TIMESTAMP = 8,
    TCP_OPT_FASTOPEN = 34,

    TCP_OPT_MSS_BYTES = 4,
    TCP_OPT_WSCALE_BYTES = 3,
    TCP_OPT_SACK_PERMITTED_BYTES = 2,
    TCP_OPT_TIMESTAMP_BYTES = 10,
    TCP_OPT_SACK_BLOCK_BYTES = 8
};

/* NOPs, kinds and lengths, where they stand next to each other. */
#define TCP_OPT_MSS_HEAD 0x0204UL
#define TCP_OPT_SACK_PERMITTED_ALONE 0x01010402UL
#define TCP_OPT_SACK_AND_TIMESTAMP 0x0402080AUL
#define TCP_OPT_WSCALE_HEAD 0x010303UL
#define TCP_OPT_SACK_HEAD 0x01010500UL    /* the length follows */

/* The data of a SACK option. */
static void tcp_opt_sack_parse(struct tn_tcp_options *options, const tenon_u8 *p, unsigned bytes)
{
    unsigned i;

    if (options->nsacks > 0 || bytes < TCP_OPT_SACK_BLOCK_BYTES || bytes % TCP_OPT_SACK_BLOCK_BYTES != 0)
        return;
    options->nsacks = (tenon_u8)(bytes / TCP_OPT_SACK_BLOCK_BYTES);
    for (i = 0; i < options->nsacks; i++) {
        options->sack_left[i] = get32be(p + i * TCP_OPT_SACK_BLOCK_BYTES);
        options->sack_right[i] = get32be(p + i * TCP_OPT_SACK_BLOCK_BYTES + 4);
    }
}

/* RFC 7413 4.1.1: a cookie of 4 to 16 bytes, an even number of them, or none. */
static void tcp_opt_fastopen_parse(struct tn_tcp_options *options, const tenon_u8 *p, unsigned bytes)
{
    if (options->has_fastopen || bytes % 2 != 0 || bytes > TN_FASTOPEN_COOKIE_MAX ||
        (bytes > 0 && bytes < TN_FASTOPEN_COOKIE_MIN))
        return;
    options->has_fastopen = 1;
    options->fastopen_bytes = (tenon_u8)bytes;
    memcpy(options->fastopen, p, bytes);
}

/* One option with its length at p; the first of a kind counts. */
TENON_ONCE_IF_SMALL static void tcp_opt_parse(struct tn_tcp_options *options, const tenon_u8 *p)
{
    const unsigned kind = p[0], bytes = p[1];

    if (kind == TCP_OPT_MSS && bytes == TCP_OPT_MSS_BYTES && !options->has_mss) {
        options->has_mss = 1;
        options->mss = get16be(p + 2);
    } else if (TENON_WITH_SCALE && kind == TCP_OPT_WSCALE && bytes == TCP_OPT_WSCALE_BYTES && !options->has_wscale) {
        options->has_wscale = 1;
        options->wscale = p[2];
    } else if (TENON_WITH_SACK && kind == TCP_OPT_SACK_PERMITTED && bytes == TCP_OPT_SACK_PERMITTED_BYTES) {
        options->has_sack_permitted = 1;
    } else if (TENON_WITH_SCALE && kind == TCP_OPT_TIMESTAMP && bytes == TCP_OPT_TIMESTAMP_BYTES &&
               !options->has_timestamp) {
        options->has_timestamp = 1;
        options->ts_val = get32be(p + 2);
        options->ts_ecr = get32be(p + 6);
    } else if (TENON_WITH_SACK && TENON_WITH_SCOREBOARD && kind == TCP_OPT_SACK) {
        tcp_opt_sack_parse(options, p + 2, bytes - 2);
    } else if (TENON_WITH_COOKIES && kind == TCP_OPT_FASTOPEN) {
        tcp_opt_fastopen_parse(options, p + 2, bytes - 2);
    }
}

TENON_INTERNAL int tn_tcp_syn_options_parse(struct tn_tcp_options *options, const tenon_u8 *p)
{
    const tenon_u32 mss = get32be(p), wscale = get32be(p + 16);

    if (mss >> 16 != TCP_OPT_MSS_HEAD || get32be(p + 4) != TCP_OPT_SACK_AND_TIMESTAMP ||
        wscale >> 8 != TCP_OPT_WSCALE_HEAD)
        return 0;
    options->has_mss = options->has_sack_permitted = options->has_timestamp = options->has_wscale = 1;
    options->mss = (tenon_u16)(mss & 0xFFFFUL);
    options->ts_val = get32be(p + 8);
    options->ts_ecr = get32be(p + 12);
    options->wscale = (tenon_u8)(wscale & 0xFF);
    return 1;
}

TENON_INTERNAL int tn_tcp_options_parse(struct tn_tcp_options *options, const tenon_u8 *p, unsigned header_bytes)
{
    unsigned at = TN_TCP_BYTES;

    tn_clear(options, sizeof(*options));
    TENON_ASSERT(header_bytes <= TN_TCP_BYTES + TN_TCP_OPTIONS_MAX);
    if (!TENON_SMALL && header_bytes == TN_TCP_BYTES + TN_TCP_TIMESTAMP_BYTES &&
        get32be(p + at) == TN_TCP_TIMESTAMP_ALONE) {
        options->has_timestamp = 1;
        options->ts_val = get32be(p + at + 4);
        options->ts_ecr = get32be(p + at + 8);
        return 0;
    }
    if (!TENON_SMALL && header_bytes == TN_TCP_BYTES + TN_TCP_SYN_OPTIONS_BYTES &&
        tn_tcp_syn_options_parse(options, p + at))
        return 0;
    while (at < header_bytes && p[at] != TCP_OPT_END) {
        if (p[at] == TCP_OPT_NOP) {
            at++;
            continue;
        }
        if (header_bytes - at < 2 || p[at + 1] < 2 || p[at + 1] > header_bytes - at)
            return -1;
        tcp_opt_parse(options, p + at);
        at += p[at + 1];
    }
    return 0;
}

/* SACK permitted and timestamp, which share 12 bytes where both are there. */
static tenon_u8 *tcp_opt_build_common(tenon_u8 *p, const struct tn_tcp_options *options)
{
    const int has_sack = TENON_WITH_SACK && options->has_sack_permitted;
    const int has_timestamp = TENON_WITH_SCALE && options->has_timestamp;

    if (has_timestamp) {
        put32be(p, has_sack ? TCP_OPT_SACK_AND_TIMESTAMP : TN_TCP_TIMESTAMP_ALONE);
        put32be(p + 4, options->ts_val);
        put32be(p + 8, options->ts_ecr);
        p += TN_TCP_TIMESTAMP_BYTES;
    } else if (has_sack) {
        put32be(p, TCP_OPT_SACK_PERMITTED_ALONE);
        p += 4;
    }
    return p;
}

static tenon_u8 *tcp_opt_build_fastopen(tenon_u8 *p, const struct tn_tcp_options *options)
{
    const unsigned bytes = options->fastopen_bytes + 2U;

    if (bytes % 4 != 0) {
        put16be(p, TCP_OPT_NOP << 8 | TCP_OPT_NOP);
        p += 2;
    }
    p[0] = TCP_OPT_FASTOPEN;
    p[1] = (tenon_u8)bytes;
    memcpy(p + 2, options->fastopen, options->fastopen_bytes);
    return p + bytes;
}

static tenon_u8 *tcp_opt_build_sack(tenon_u8 *p, const struct tn_tcp_options *options, unsigned room)
{
    unsigned n = options->nsacks, i;

    TENON_ASSERT(n <= TN_SACK_BLOCKS_MAX);
    if (!TENON_WITH_SACK || room < 4)
        return p;
    if (n > (room - 4) / TCP_OPT_SACK_BLOCK_BYTES)
        n = (room - 4) / TCP_OPT_SACK_BLOCK_BYTES;
    if (n == 0)
        return p;
    put32be(p, TCP_OPT_SACK_HEAD | (n * TCP_OPT_SACK_BLOCK_BYTES + 2));
    for (p += 4, i = 0; i < n; i++, p += TCP_OPT_SACK_BLOCK_BYTES) {
        put32be(p, options->sack_left[i]);
        put32be(p + 4, options->sack_right[i]);
    }
    return p;
}

TENON_INTERNAL unsigned tn_tcp_options_build(tenon_u8 *p, const struct tn_tcp_options *options)
{
    tenon_u8 *const start = p;

    if (options->has_mss) {
        put32be(p, TCP_OPT_MSS_HEAD << 16 | options->mss);
        p += 4;
    }
    p = tcp_opt_build_common(p, options);
    if (TENON_WITH_SCALE && options->has_wscale) {
        put32be(p, TCP_OPT_WSCALE_HEAD << 8 | options->wscale);
        p += 4;
    }
    if (TENON_WITH_COOKIES && options->has_fastopen)
        p = tcp_opt_build_fastopen(p, options);
    p = tcp_opt_build_sack(p, options, TN_TCP_OPTIONS_MAX - (unsigned)(p - start));
    return (unsigned)(p - start);
}

TENON_INTERNAL void tn_tcp_syn_options_build(tenon_u8 *p, const struct tn_tcp_options *options)
{
    put32be(p, TCP_OPT_MSS_HEAD << 16 | options->mss);
    put32be(p + 4, TCP_OPT_SACK_AND_TIMESTAMP);
    put32be(p + 8, options->ts_val);
    put32be(p + 12, options->ts_ecr);
    put32be(p + 16, TCP_OPT_WSCALE_HEAD << 8 | options->wscale);
}
