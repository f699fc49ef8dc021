/* SPDX-License-Identifier: MIT */
/* The sender's scoreboard (RFC 2018, RFC 6675): which ranges above snd_una the peer has. It exists only
 * while there are any, and is bounded: what does not fit is treated as not SACKed, which is safe. */
#include "tcp/tcp_internal.h"

enum { SACK_CAP_MIN = 8, SACK_CAP_MAX = 2048 };
#define SACK_CAP_MOST 32768UL    /* where a size may have more than 16 bits */
enum { SACK_IS_HEARD = TENON_WITH_SACK && TENON_WITH_SCOREBOARD };

static size_t sack_bytes(unsigned places)
{
    return sizeof(struct tn_sack) + (size_t)(places - 1) * sizeof(struct tn_sack_range);
}

static unsigned sack_places(const struct tn_sack *sack)
{
    return (unsigned)sack->cap + sack->gone;
}

/* As many ranges as full segments that are lost can leave between them, and never fewer than a window of small ones
 * may: a peer who makes ranges up gets no more for a small window. */
static unsigned sack_places_max(const struct tenon_tcp *conn)
{
    const tenon_u32 segments = (conn->snd_nxt - conn->snd_una) / conn->mss;

    if (sizeof(size_t) == 2 || segments < SACK_CAP_MAX)
        return SACK_CAP_MAX;
    return (unsigned)tn_min(segments, SACK_CAP_MOST);
}

/* The places of what is acknowledged are used again. */
static int sack_move_down(struct tn_sack *sack)
{
    if (sack->gone == 0)
        return 0;
    memmove(sack->places, sack->ranges, sack->n * sizeof(sack->ranges[0]));
    sack->ranges = sack->places;
    sack->cap = (tenon_u16)sack_places(sack);
    sack->gone = 0;
    return 1;
}

static int sack_grow(struct tenon_tcp *conn, unsigned places)
{
    struct tn_sack *old = conn->flight->sack;
    struct tn_sack *sack = (struct tn_sack *)tn_mem_get(conn->stack, sack_bytes(places));

    if (sack == NULL)
        return 0;
    sack->n = sack->gone = 0;
    sack->bytes = sack->below = 0;
    if (old != NULL) {
        *sack = *old;
        sack->gone = 0;
        memcpy(sack->places, old->ranges, old->n * sizeof(old->ranges[0]));
        tn_mem_put(conn->stack, old, sack_bytes(sack_places(old)));
    }
    sack->ranges = sack->places;
    sack->cap = (tenon_u16)places;
    conn->flight->sack = sack;
    return 1;
}

/* Room for one range more. What is left is not moved down for a few places, as that would cost each ACK as
 * much as there are ranges. @return 0 when there is none */
static int sack_make_room(struct tenon_tcp *conn)
{
    struct tn_sack *sack = conn->flight->sack;
    unsigned places;

    if (sack == NULL)
        return sack_grow(conn, SACK_CAP_MIN);
    if (sack->n < sack->cap)
        return 1;
    if (!TENON_WITH_MANY)
        return 0;
    if (sack->gone >= sack->cap)
        return sack_move_down(sack);
    places = 2U * sack_places(sack);
    if (places <= sack_places_max(conn) && sack_grow(conn, places))
        return 1;
    return sack_move_down(conn->flight->sack);
}

TENON_INTERNAL void tn_sack_clear(struct tenon_tcp *conn)
{
    if (tn_flight_sack(conn->flight) != NULL)
        tn_mem_put(conn->stack, conn->flight->sack, sack_bytes(sack_places(conn->flight->sack)));
    conn->flight->sack = NULL;
}

/* First range that ends at or after `seq`. */
static unsigned sack_find(const struct tn_sack *sack, tenon_u32 seq)
{
    unsigned low = 0, high = sack->n;

    while (low < high) {
        const unsigned middle = low + (high - low) / 2;

        if (tn_seq_lt(sack->ranges[middle].right, seq))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sack_delete(struct tn_sack *sack, unsigned at, unsigned n)
{
    memmove(&sack->ranges[at], &sack->ranges[at + n], (sack->n - at - n) * sizeof(sack->ranges[0]));
    sack->n = (tenon_u16)(sack->n - n);
}

/* The first `n` are acknowledged. */
static void sack_pop(struct tn_sack *sack, unsigned n)
{
    if (!TENON_WITH_MANY) {
        sack_delete(sack, 0, n);
        return;
    }
    sack->ranges += n;
    sack->gone = (tenon_u16)(sack->gone + n);
    sack->n = (tenon_u16)(sack->n - n);
    sack->cap = (tenon_u16)(sack->cap - n);
}

/* How much of [left, right) lies below lost_edge. The sums are kept for those who ask often. */
static tenon_u32 sack_part_below(const struct tenon_tcp *conn, tenon_u32 left, tenon_u32 right)
{
    const tenon_u32 end = tn_seq_min(right, conn->flight->lost_edge);

    return tn_seq_lt(left, end) ? end - left : 0;
}

/* [left, right) was a gap until now. */
static void sack_fill(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 left, tenon_u32 right)
{
    if (left == right)
        return;
    if (TENON_WITH_RECOVERY) {
        conn->flight->sack->bytes += right - left;
        conn->flight->sack->below += sack_part_below(conn, left, right);
    }
    ack->sacked += right - left;
    tn_flight_delivered(conn, ack, left, right);
}

/* The ranges that it touches become one; only the gaps between them are news. */
TENON_INTERNAL void tn_sack_add(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 left, tenon_u32 right)
{
    struct tn_sack *sack;
    tenon_u32 edge = left;
    unsigned at, last;

    if (!SACK_IS_HEARD)
        return;
    if (!sack_make_room(conn) && conn->flight->sack == NULL)
        return;
    sack = conn->flight->sack;
    at = sack_find(sack, left);
    if (sack->n == sack->cap && (at == sack->n || tn_seq_gt(sack->ranges[at].left, right)))
        return;    /* no room for a range of its own */
    for (last = at; last < sack->n && tn_seq_le(sack->ranges[last].left, right); last++) {
        sack_fill(conn, ack, edge, tn_seq_max(edge, sack->ranges[last].left));
        edge = sack->ranges[last].right;
    }
    sack_fill(conn, ack, edge, tn_seq_max(edge, right));
    if (last == at) {
        memmove(&sack->ranges[at + 1], &sack->ranges[at], (size_t)(sack->n - at) * sizeof(sack->ranges[0]));
        sack->n++;
    } else {
        left = tn_seq_min(left, sack->ranges[at].left);
        right = tn_seq_max(right, edge);
        sack_delete(sack, at + 1, last - at - 1);
    }
    sack->ranges[at].left = left;
    sack->ranges[at].right = right;
}

static void sack_forget(struct tenon_tcp *conn, tenon_u32 left, tenon_u32 right)
{
    if (!TENON_WITH_RECOVERY)
        return;
    conn->flight->sack->bytes -= right - left;
    conn->flight->sack->below -= sack_part_below(conn, left, right);
}

TENON_INTERNAL void tn_sack_advance(struct tenon_tcp *conn)
{
    struct tn_sack *sack = tn_sack_of(conn);
    unsigned gone = 0;

    if (sack == NULL)
        return;
    for (; gone < sack->n && tn_seq_le(sack->ranges[gone].right, conn->snd_una); gone++)
        sack_forget(conn, sack->ranges[gone].left, sack->ranges[gone].right);
    sack_pop(sack, gone);
    if (sack->n == 0) {
        tn_sack_clear(conn);
        return;
    }
    if (tn_seq_lt(sack->ranges[0].left, conn->snd_una)) {
        sack_forget(conn, sack->ranges[0].left, conn->snd_una);
        sack->ranges[0].left = conn->snd_una;
    }
}

TENON_INTERNAL tenon_u32 tn_sack_bytes_between(const struct tenon_tcp *conn, tenon_u32 from, tenon_u32 to)
{
    const struct tn_sack *sack = tn_sack_of(conn);
    tenon_u32 bytes = 0;
    unsigned i;

    if (sack == NULL || tn_seq_ge(from, to))
        return 0;
    for (i = sack_find(sack, from); i < sack->n && tn_seq_lt(sack->ranges[i].left, to); i++) {
        const tenon_u32 left = tn_seq_max(sack->ranges[i].left, from);
        const tenon_u32 right = tn_seq_min(sack->ranges[i].right, to);

        if (tn_seq_lt(left, right))
            bytes += right - left;
    }
    return bytes;
}

TENON_INTERNAL tenon_u32 tn_sack_gap(const struct tenon_tcp *conn, tenon_u32 from, tenon_u32 *end)
{
    const struct tn_sack *sack = tn_sack_of(conn);
    unsigned i;

    *end = conn->snd_nxt;
    if (sack == NULL)
        return from;
    for (i = sack_find(sack, from); i < sack->n; i++) {
        if (tn_seq_lt(from, sack->ranges[i].left)) {
            *end = sack->ranges[i].left;
            return from;
        }
        from = tn_seq_max(from, sack->ranges[i].right);
    }
    return from;
}

TENON_INTERNAL tenon_u32 tn_sack_highest(const struct tenon_tcp *conn)
{
    const struct tn_sack *sack = tn_sack_of(conn);

    return sack == NULL ? conn->snd_una : sack->ranges[sack->n - 1].right;
}

TENON_INTERNAL const char *tn_sack_check(const struct tenon_tcp *conn)
{
    const struct tn_sack *sack = tn_sack_of(conn);
    tenon_u32 edge = conn->snd_una, bytes = 0;
    unsigned i;

    if (sack == NULL)
        return NULL;
    if (sack->n == 0)
        return "an empty scoreboard exists";
    for (i = 0; i < sack->n; i++) {
        if (tn_seq_lt(sack->ranges[i].left, edge) || tn_seq_ge(sack->ranges[i].left, sack->ranges[i].right))
            return "the scoreboard is out of order";
        edge = sack->ranges[i].right;
        bytes += sack->ranges[i].right - sack->ranges[i].left;
    }
    if (tn_seq_gt(edge, conn->snd_nxt))
        return "the scoreboard names what was never sent";
    if (!TENON_WITH_RECOVERY)
        return NULL;
    if (bytes != sack->bytes)
        return "the scoreboard's sum is wrong";
    if (tn_sack_bytes_between(conn, conn->snd_una, conn->flight->lost_edge) != sack->below)
        return "the scoreboard's sum of what lies below the lost edge is wrong";
    return NULL;
}
