/* SPDX-License-Identifier: MIT */
/* SYN cookies (RFC 4987 3.6): a SYN is answered and forgotten. What has to be known later is in the numbers of
 * the answer, which the peer's ACK brings back:
 *
 *   sequence number   F(ends) + (count << 24) + ((G(ends, count, irs) + (index << 21)) & 0xFFFFFF)
 *                     F, G keyed hashes; count of 65.5 s; index of the peer's MSS in a table. The peer's number
 *                     is in G, and the index is at the top: added, as others do it, a number that is off by one
 *                     would pass with another index; so does an ACK that takes our first byte or our FIN with it
 *   timestamp         our clock, its low bits replaced:  5 ECN | 4 SACK | 3..0 window scale, 15: none
 *
 * A peer without timestamps gets neither window scale, nor SACK, nor ECN. The answer is not repeated if it is lost, the
 * peer's SYN will be. If the peer's ACK is lost, or finds no memory, its first data does the same; a peer that waits
 * for us to speak first then waits in vain (RFC 4987 3.6). */
#include "tcp/tcp_internal.h"

enum {
    COOKIE_COUNT_SHIFT = 16,    /* milliseconds to counts */
    COOKIE_COUNTS = 2,          /* how many are valid: the present one and the one before */
    COOKIE_MSS_COUNT = 8,
    COOKIE_MSS_SHIFT = 21,
    COOKIE_TS_MASK = 0x3F,
    COOKIE_TS_NO_WSCALE = 0x0F,
    COOKIE_TS_SACK = 0x10,
    COOKIE_TS_ECN = 0x20
};

/* RFC 4987 appendix A leaves more to wish for: an ACK that comes when no cookie was sent lately is none. */
#define COOKIE_EXPECTED_MS 120000UL

static tenon_u32 cookie_base(struct tenon *stack, const struct tn_cookie *cookie)
{
    static const tenon_u32 nothing[2] = {0, 0};

    return tn_tcp_cookie_hash(stack, cookie->local, cookie->remote, nothing);
}

/* Bit 31 keeps it apart from cookie_base(). */
static tenon_u32 cookie_mac(struct tenon *stack, const struct tn_cookie *cookie, tenon_u32 count)
{
    tenon_u32 more[2];

    more[0] = 0x80000000UL | (cookie->context & 0xFF) << 16 | (count & 0xFFFF);
    more[1] = cookie->irs;
    return tn_tcp_cookie_hash(stack, cookie->local, cookie->remote, more);
}

TENON_INTERNAL tenon_u32 tn_cookie_encode(struct tenon *stack, const struct tn_cookie *cookie, unsigned index)
{
    const tenon_u32 count = stack->now_ms >> COOKIE_COUNT_SHIFT, mss = (tenon_u32)index << COOKIE_MSS_SHIFT;

    return cookie_base(stack, cookie) + (count << 24) + ((cookie_mac(stack, cookie, count) + mss) & 0xFFFFFFUL);
}

TENON_INTERNAL int tn_cookie_decode(struct tenon *stack, const struct tn_cookie *cookie, tenon_u32 iss)
{
    const tenon_u32 count = stack->now_ms >> COOKIE_COUNT_SHIFT;
    const tenon_u32 rest = iss - cookie_base(stack, cookie);
    const tenon_u32 age = (count - (rest >> 24)) & 0xFF;
    tenon_u32 mss;

    if (age >= COOKIE_COUNTS)
        return -1;
    mss = (rest - cookie_mac(stack, cookie, count - age)) & 0xFFFFFFUL;
    return (mss & ((1UL << COOKIE_MSS_SHIFT) - 1)) == 0 ? (int)(mss >> COOKIE_MSS_SHIFT) : -1;
}

/* ---- the MSS ----------------------------------------------------------------------------------------- */

/* 0 becomes tcp_mss_min. The values are those of Ethernet, of tunnels over it, and of jumbo frames. */
static tenon_u16 cookie_mss(unsigned index)
{
    static const tenon_u16 table[COOKIE_MSS_COUNT] = {0, 536, 1220, 1360, 1400, 1440, 1460, 8940};

    return table[index];
}

/* The largest that the peer can take. */
static unsigned cookie_mss_index(const struct tn_seg *seg)
{
    const unsigned fallback = tn_pkt_is_v4(seg->pkt) ? 536 : 1220;    /* RFC 9293 MUST-15 */
    const unsigned mss = seg->options.has_mss ? seg->options.mss : fallback;
    unsigned i = COOKIE_MSS_COUNT - 1;

    while (cookie_mss(i) > mss)
        i--;
    return i;
}

/* ---- the other options -------------------------------------------------------------------------------- */

static tenon_u32 cookie_ts_clock(struct tenon *stack, const struct tn_cookie *cookie)
{
    return stack->now_ms + tn_tcp_ts_offset(stack, cookie->local, cookie->remote);
}

/* What goes into the low bits of the timestamp. */
static tenon_u32 cookie_ts_bits(const struct tn_tcp_options *agreed, int ecn)
{
    tenon_u32 bits = agreed->has_wscale ? tn_min(agreed->wscale, 14) : (tenon_u32)COOKIE_TS_NO_WSCALE;

    if (agreed->has_sack_permitted)
        bits |= COOKIE_TS_SACK;
    if (ecn)
        bits |= COOKIE_TS_ECN;
    return bits;
}

/* Never later than our clock, and never earlier than a cookie that was sent before: the peer may take it for
 * the newest it has seen (RFC 7323 5.3). */
static tenon_u32 cookie_ts_val(tenon_u32 clock, tenon_u32 bits)
{
    const tenon_u32 val = (clock & ~(tenon_u32)COOKIE_TS_MASK) | bits;

    return tn_seq_gt(val, clock) ? val - (COOKIE_TS_MASK + 1) : val;
}

/* Options of the SYN that both sides want. */
static void cookie_agree(const struct tenon_tcp_listener *listener, const struct tn_seg *seg,
                         struct tn_tcp_options *agreed)
{
    const tenon_u32 *wish = listener->opts->values;

    memset(agreed, 0, sizeof(*agreed));
    agreed->has_timestamp = (tenon_u8)(seg->options.has_timestamp && wish[TENON_TCP_TIMESTAMPS]);
    if (!agreed->has_timestamp)
        return;
    agreed->has_sack_permitted = (tenon_u8)(TENON_WITH_SACK && seg->options.has_sack_permitted && wish[TENON_TCP_SACK]);
    agreed->has_wscale = (tenon_u8)(seg->options.has_wscale && wish[TENON_TCP_WINDOW_SCALING]);
    agreed->wscale = seg->options.wscale;
}

/* What an ACK says of the SYN. @return 0: its timestamp is none that we have sent */
static int cookie_options(const struct tenon_tcp_listener *listener, const struct tn_cookie *cookie,
                          const struct tn_seg *seg, struct tn_seg *syn)
{
    struct tn_tcp_options *options = &syn->options;
    const tenon_u32 bits = seg->options.ts_ecr & COOKIE_TS_MASK;
    const unsigned wscale = (unsigned)(bits & COOKIE_TS_NO_WSCALE);
    const tenon_u32 age = cookie_ts_clock(listener->stack, cookie) - seg->options.ts_ecr;

    memset(options, 0, sizeof(*options));
    syn->flags = TN_TCP_SYN;
    if (!seg->options.has_timestamp || !listener->opts->values[TENON_TCP_TIMESTAMPS])
        return 1;
    if (age > (tenon_u32)COOKIE_COUNTS << COOKIE_COUNT_SHIFT)
        return 0;
    options->has_timestamp = 1;
    options->ts_val = seg->options.ts_val;
    options->has_sack_permitted = (bits & COOKIE_TS_SACK) != 0;
    options->has_wscale = wscale != COOKIE_TS_NO_WSCALE;
    options->wscale = (tenon_u8)wscale;
    if (bits & COOKIE_TS_ECN)
        syn->flags |= TN_TCP_ECE | TN_TCP_CWR;
    return 1;
}

/* ---- there and back ------------------------------------------------------------------------------------ */

static tenon_u8 cookie_own_wscale(const struct tenon_tcp_listener *listener)
{
    return tn_tcp_wscale_for(listener->opts->values[TENON_TCP_RCV_BUF]);
}

TENON_INTERNAL void tn_cookie_answer(struct tenon_tcp_listener *listener, const struct tn_seg *seg)
{
    struct tenon *stack = listener->stack;
    const tenon_u32 *wish = listener->opts->values;
    struct tenon_addr local, remote;
    struct tn_tcp_options options;
    struct tn_cookie cookie;
    struct tn_bare bare;
    int ecn;

    tn_tcp_ends_of(seg, &local, &remote);
    cookie.local = &local;
    cookie.remote = &remote;
    cookie.irs = seg->seq;
    cookie.context = cookie_own_wscale(listener);
    cookie_agree(listener, seg, &options);
    ecn = options.has_timestamp && tn_ecn_accepts(listener->opts, seg->flags);
    options.ts_val = cookie_ts_val(cookie_ts_clock(stack, &cookie), cookie_ts_bits(&options, ecn));
    options.ts_ecr = seg->options.ts_val;
    options.wscale = cookie_own_wscale(listener);
    options.has_mss = 1;
    options.mss = tn_tcp_mss_for(seg->pkt->netif, tn_pkt_is_v4(seg->pkt), wish[TENON_TCP_MSS_MAX]);
    memset(&bare, 0, sizeof(bare));
    bare.local = &local;
    bare.remote = &remote;
    bare.tcp.seq = tn_cookie_encode(stack, &cookie, cookie_mss_index(seg));
    bare.tcp.ack = seg->seq + 1;
    bare.tcp.wnd = (tenon_u16)tn_min(65535UL, wish[TENON_TCP_RCV_BUF]);
    bare.tcp.flags = (tenon_u8)(TN_TCP_SYN | TN_TCP_ACK | (ecn ? TN_TCP_ECE : 0));
    bare.ttl = (tenon_u8)wish[TENON_TCP_TTL];
    bare.tos = (tenon_u8)wish[TENON_TCP_TOS];
    bare.options = &options;
    listener->cookies = 1;
    listener->cookie_ms = stack->now_ms;
    tn_count(stack, TENON_STAT_TCP_COOKIE_SENT);
    tn_tcp_send_bare(stack, &bare);
}

/* Blind guesses have a chance only while cookies are under way. */
TENON_INTERNAL int tn_cookie_is_expected(struct tenon_tcp_listener *listener)
{
    if (listener->cookies && listener->stack->now_ms - listener->cookie_ms >= COOKIE_EXPECTED_MS)
        listener->cookies = 0;
    return listener->cookies;
}

TENON_INTERNAL int tn_cookie_check(struct tenon_tcp_listener *listener, const struct tn_seg *seg, struct tn_seg *syn)
{
    struct tenon *stack = listener->stack;
    struct tenon_addr local, remote;
    struct tn_cookie cookie;
    int index;

    if (!TENON_WITH_COOKIES)
        return 0;
    if (!tn_cookie_is_expected(listener))
        return 0;
    tn_tcp_ends_of(seg, &local, &remote);
    cookie.local = &local;
    cookie.remote = &remote;
    cookie.irs = seg->seq - 1;
    cookie.context = cookie_own_wscale(listener);
    index = tn_cookie_decode(stack, &cookie, seg->ack - 1);
    *syn = *seg;
    if (index < 0 || !cookie_options(listener, &cookie, seg, syn)) {
        tn_count(stack, TENON_STAT_TCP_COOKIE_BAD);
        return 0;
    }
    syn->seq = seg->seq - 1;
    syn->options.has_mss = 1;
    syn->options.mss = cookie_mss((unsigned)index);
    return 1;
}
