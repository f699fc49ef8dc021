/* SPDX-License-Identifier: MIT */
/* The congestion controls by name, and what they share. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

/* Where a size_t has 64 bits, products and quotients are computed with it; elsewhere by hand, and exactly so, too. */
enum { CC_WORD_BITS = sizeof(size_t) * CHAR_BIT };

/* The upper 32 bits of a product of 64, by halves of 16 bits. Each sum is (2^16 - 1)^2 + 2^16 - 1 < 2^32 at most. */
static tenon_u32 cc_mul_high_by_halves(tenon_u32 a, tenon_u32 b)
{
    const tenon_u32 a_low = a & 0xFFFFUL, a_high = a >> 16;
    const tenon_u32 b_low = b & 0xFFFFUL, b_high = b >> 16;
    const tenon_u32 middle = a_high * b_low + (a_low * b_low >> 16);
    const tenon_u32 other = a_low * b_high + (middle & 0xFFFFUL);

    return a_high * b_high + (middle >> 16) + (other >> 16);
}

TENON_INTERNAL tenon_u32 tn_cc_mul_high(tenon_u32 a, tenon_u32 b)
{
    if (CC_WORD_BITS == 64)
        return (tenon_u32)((size_t)a * b >> CC_WORD_BITS / 2);
    return cc_mul_high_by_halves(a, b);
}

TENON_INTERNAL tenon_u32 tn_cc_scale(tenon_u32 value, tenon_u32 thousandths)
{
    const tenon_u32 whole = value / 1000, rest = value % 1000 * thousandths / 1000;

    if (whole > (0xFFFFFFFFUL - rest) / thousandths)
        return 0xFFFFFFFFUL;
    return whole * thousandths + rest;
}

TENON_INTERNAL tenon_u32 tn_cc_volume(tenon_rate rate, tenon_u32 us)
{
    const tenon_u32 high = tn_cc_mul_high(rate, us);

    return high >> 16 ? 0xFFFFFFFFUL : high << 16 | (tenon_u32)(rate * us) >> 16;
}

/* Long division: 16 bits more than bytes / us has. us: up to 2^31 - 1 */
static tenon_rate cc_rate_by_bits(tenon_u32 bytes, tenon_u32 us)
{
    tenon_u32 rate = bytes / us, rest = bytes % us;
    int bit;

    if (rate >> 16)
        return 0xFFFFFFFFUL;
    for (bit = 0; bit < 16; bit++) {
        rate *= 2;
        rest *= 2;
        if (rest >= us) {
            rest -= us;
            rate++;
        }
    }
    return rate;
}

TENON_INTERNAL tenon_rate tn_cc_rate(tenon_u32 bytes, tenon_u32 us)
{
    us = tn_max(tn_min(us, 0x7FFFFFFFUL), 1);
    if (CC_WORD_BITS == 64) {
        const size_t quotient = ((size_t)bytes << CC_WORD_BITS / 4) / us;

        return quotient >> CC_WORD_BITS / 2 ? 0xFFFFFFFFUL : (tenon_rate)quotient;
    }
    return cc_rate_by_bits(bytes, us);
}

/* factor * bytes / divisor, from the highest bit of `bytes` down: before each round rest < divisor, so that
 * 2 * rest + factor < 3 * 2^30 fits. As many rounds as `bytes` has bits: a dozen for an ACK. */
static tenon_u32 cc_share_by_bits(tenon_u32 *rest, tenon_u32 factor, tenon_u32 bytes, tenon_u32 divisor)
{
    tenon_u32 bit = 0x80000000UL;
    const tenon_u32 quotient = factor / divisor, fraction = factor % divisor;
    tenon_u32 total = 0;

    *rest = 0;
    while (bit != 0 && !(bytes & bit))
        bit >>= 1;
    for (; bit != 0; bit >>= 1) {
        total *= 2;
        *rest *= 2;
        if (bytes & bit) {
            total += quotient;
            *rest += fraction;
        }
        for (; *rest >= divisor; *rest -= divisor)
            total++;
    }
    return total;
}

/* Multiplication and division in one go. */
TENON_INTERNAL tenon_u32 tn_cc_share(tenon_u32 *carry, tenon_u32 factor, tenon_u32 bytes, tenon_u32 divisor)
{
    tenon_u32 rest, total;

    if (CC_WORD_BITS == 64) {
        const size_t product = (size_t)factor * bytes;

        total = (tenon_u32)(product / divisor & 0xFFFFFFFFUL);
        rest = (tenon_u32)(product % divisor);
    } else {
        total = cc_share_by_bits(&rest, factor, bytes, divisor);
    }
    rest += *carry % divisor;
    if (rest >= divisor) {
        rest -= divisor;
        total++;
    }
    *carry = rest;
    return total;
}

enum { CC_ACK_SEGMENTS = 2, CC_ACK_SEGMENTS_PACED = 8 };

TENON_INTERNAL tenon_u32 tn_cc_slow_start(const struct tenon_cc_event *event)
{
    tenon_u32 segments = TENON_WITH_RECOVERY && event->paced ? CC_ACK_SEGMENTS_PACED : CC_ACK_SEGMENTS;

    if (event->in_recovery == TN_RECOVERY_RTO)
        segments = 1;    /* most of it may have arrived long before, and left no room for more by that */
    return tn_min(event->acked, segments * event->mss);
}

TENON_INTERNAL tenon_u32 tn_cc_flight(const struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    return tn_min(event->in_flight, cc->cwnd);
}

TENON_INTERNAL tenon_u32 tn_cc_initial(tenon_u32 mss)
{
    return tn_min(10 * mss, tn_max(2 * mss, 14600));
}

TENON_INTERNAL void tn_cc_grow(struct tenon_cc *cc, tenon_u32 bytes)
{
    const tenon_u32 most = 1UL << TN_CC_CWND_MAX_SHIFT;

    cc->cwnd = bytes < most ? tn_min(cc->cwnd + bytes, most) : most;
}

/* ---- words -------------------------------------------------------------------------------------------- */

/* Of a table that has more: all of them in one piece, which lasts, and behind them the totals that the block has, and
 * where its random numbers are. */
enum { CC_TOTAL_DELIVERED, CC_TOTAL_LOST, CC_CHANCE, CC_TOTALS };

static tenon_u32 *cc_totals(const struct tenon_tcp *conn)
{
    return conn->cc.words + TENON_CC_WORDS + tn_cc_ops(conn)->more_words;
}

static size_t cc_bytes(const struct tenon_cc_ops *ops)
{
    return ((size_t)TENON_CC_WORDS + ops->more_words + CC_TOTALS) * sizeof(tenon_u32);
}

/* One for each event, of which hardly any asks for it: whoever could guess it would know nothing, so it may cost little
 * (G. Marsaglia's xorshift, of all numbers but 0). */
TENON_INTERNAL tenon_u32 tn_cc_chance(const struct tenon_tcp *conn)
{
    tenon_u32 x = cc_totals(conn)[CC_CHANCE];

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    cc_totals(conn)[CC_CHANCE] = x;
    return x;
}

TENON_INTERNAL void tn_tcp_cc_enter(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;
    struct tenon_cc_event event;

    if (tn_cc_ops(conn)->more_words > 0) {
        flight->total_delivered = cc_totals(conn)[CC_TOTAL_DELIVERED];
        flight->total_lost = cc_totals(conn)[CC_TOTAL_LOST];
        return;
    }
    if (!TENON_WITH_FLIGHT)
        return;    /* nobody asks a congestion control */
    conn->cc.words = flight->words;
    if (!TENON_WITH_MANY || conn->state < TENON_TCP_ESTABLISHED)
        return;
    tn_tcp_cc_event(conn, &event);
    event.repeated = 0;
    tn_cc_ops(conn)->init(&conn->cc, &event);
}

/* 0: a connection has its block for life, and nothing of its congestion control is looked at afterwards. */
enum { CC_OUTLIVES_BLOCK = TENON_WITH_RECOVERY || TENON_WITH_MANY };

TENON_INTERNAL void tn_tcp_cc_leave(struct tenon_tcp *conn)
{
    if (!CC_OUTLIVES_BLOCK)
        return;
    if (tn_cc_ops(conn)->more_words == 0) {
        conn->cc.words = NULL;
        return;
    }
    cc_totals(conn)[CC_TOTAL_DELIVERED] = conn->flight->total_delivered;
    cc_totals(conn)[CC_TOTAL_LOST] = conn->flight->total_lost;
}

TENON_INTERNAL void tn_tcp_cc_free(struct tenon_tcp *conn)
{
    if (tn_cc_ops(conn)->more_words > 0)
        tn_mem_put(conn->stack, conn->cc.words, cc_bytes(conn->cc.ops));
    if (!TENON_WITH_RECOVERY)
        return;
    conn->cc.ops = &tenon_cc_newreno;
    conn->cc.words = NULL;
}

TENON_INTERNAL int tn_tcp_cc_change(struct tenon_tcp *conn, const struct tenon_cc_ops *ops)
{
    struct tn_flight *flight = TENON_WITH_RECOVERY ? tn_flight_get(conn) : NULL;
    tenon_u32 *words;

    if (!TENON_WITH_RECOVERY)
        return ops == NULL || ops == &tenon_cc_newreno ? TENON_OK : TENON_EINVAL;
    if (flight == NULL)
        return TENON_ENOMEM;
    words = ops->more_words > 0 ? (tenon_u32 *)tn_mem_get(conn->stack, cc_bytes(ops)) : flight->words;
    if (words == NULL)
        return TENON_ENOMEM;
    tn_tcp_cc_free(conn);
    memset(words, 0, ops->more_words > 0 ? cc_bytes(ops) : sizeof(flight->words));
    conn->cc.ops = ops;
    conn->cc.words = words;
    if (ops->more_words > 0)
        cc_totals(conn)[CC_CHANCE] = tn_random(&conn->stack->random) | 1;
    if (tn_rate_is_wanted(conn))
        tn_rate_begin(conn);
    conn->cc.pacing = 0;
    tn_pace_forget(flight);
    flight->told_ms = conn->stack->now_ms - 1;
    flight->header.tcp_bytes = 0;    /* fast_prepare_frame() */
    return TENON_OK;
}

static int cc_same_name(const char *a, const char *b)
{
    while (*a == *b && *a != 0) {
        a++;
        b++;
    }
    return *a == *b;
}

TENON_API const struct tenon_cc_ops *tenon_cc_find(const char *name)
{
    static const struct tenon_cc_ops *const known[] = { &tenon_cc_newreno, &tenon_cc_cubic,
                                                        &tenon_cc_highspeed, &tenon_cc_bbr, &tenon_cc_dctcp };
    size_t i;

    for (i = 0; i < TENON_ARRAY_LEN(known); i++)
        if (cc_same_name(known[i]->name, name))
            return known[i];
    return NULL;
}
