/* SPDX-License-Identifier: MIT */
/* How large our packets may be: which reports of routers are believed (RFC 5927 7.2), what to do where routers do not
 * report (RFC 4821): a black hole is noticed by its timeouts, and larger segments are tried with data of the stream.
 * The path remembers what was found out (link/path.c). Sizes here are payload, mtu_overhead() less than the packet. */
#include "tcp/tcp_internal.h"

enum {
    MTU_BASE_BYTES = 1024,       /* RFC 4821 7.1: passes nearly everywhere */
    MTU_TIMEOUTS = 2,            /* of the same segment, until it is too large */
    MTU_BEHIND = 3               /* segments behind a probe, so that its loss is noticed (RFC 4821 7.4) */
};

/* TENON_TCP_MTU_PROBING; between them: when a black hole is suspected. */
enum { MTU_PROBING_OFF = 0, MTU_PROBING_ALWAYS = 2 };

static tenon_u32 mtu_options(const struct tenon_tcp *conn)
{
    return (conn->flags & TN_TCP_F_TIMESTAMPS) ? 12 : 0;
}

static tenon_u32 mtu_overhead(const struct tenon_tcp *conn)
{
    return (tenon_u32)(tn_tcp_is_v4(conn) ? 20 : 40) + TN_TCP_BYTES + mtu_options(conn);
}

/* ---- reports (RFC 5927 7.2) --------------------------------------------------------------------- */

TENON_INTERNAL void tn_mtu_sent(struct tenon_tcp *conn, tenon_u32 bytes)
{
    if (!TENON_WITH_PATH_MTU)
        return;
    conn->flight->mtu_sent = (tenon_u16)tn_max(conn->flight->mtu_sent, bytes);
}

TENON_INTERNAL void tn_mtu_arrived(struct tenon_tcp *conn, tenon_u32 bytes)
{
    if (!TENON_WITH_PATH_MTU)
        return;
    conn->mtu_acked = (tenon_u16)tn_max(conn->mtu_acked, bytes);
}

/* nsegrto >= MAXSEGRTO (1): the segment at the head was sent again by the timer, and nothing has come of it. */
static int mtu_head_has_timed_out(const struct tenon_tcp *conn)
{
    return conn->recovery == TN_RECOVERY_RTO && conn->flight->rto_una == conn->snd_una;
}

/* @return 0: it tells nothing new */
static int mtu_take(struct tenon_tcp *conn, tenon_u32 mtu)
{
    const tenon_u32 overhead = mtu_overhead(conn);
    const int lowered = tn_path_lower_mtu(conn->stack, conn->path, mtu);
    const tenon_u32 now = tn_path_mtu(conn->stack, conn->path);
    struct tn_flight *flight = conn->flight;

    /* Another connection may have lowered it already: what we have sent is too large all the same. Or it is not, where
     * a link takes less than we go down to: from now on routers may cut it. */
    if (!lowered && now >= flight->mtu_sent + overhead)
        return 0;
    tn_count(conn->stack, TENON_STAT_PMTU_LOWERED);
    flight->mtu_claim = 0;
    flight->mtu_sent = 0;
    conn->mtu_acked = (tenon_u16)tn_min(conn->mtu_acked, now - overhead);
    tn_tcp_update_mss(conn);
    return 1;
}

/* Of a packet that was an attempt a router may know how much is too much; the attempt fails by itself. */
static int mtu_is_about_probe(const struct tenon_tcp *conn, const struct tn_mtu_news *report)
{
    const struct tn_flight *flight = conn->flight;

    return tn_seq_le(flight->probe_seq, report->seq) && tn_seq_lt(report->seq, flight->probe_end) &&
           report->mtu >= tn_path_mtu(conn->stack, conn->path);
}

/* No router drops what it says it can take. What is smaller than packets that have arrived is a forgery, or the path
 * has changed: a timeout of the segment that the report quotes will tell, an acknowledgement disproves it. */
TENON_INTERNAL void tn_mtu_report(struct tenon_tcp *conn, const struct tn_mtu_news *report)
{
    const tenon_u32 overhead = mtu_overhead(conn), mtu = report->mtu;

    if (!TENON_WITH_PATH_MTU)
        return;
    if (conn->state <= TENON_TCP_SYN_RECEIVED || conn->flight == NULL)
        return;
    if (mtu >= conn->flight->mtu_sent + overhead) {
        tn_count(conn->stack, TENON_STAT_PMTU_IGNORED);
    } else if (TENON_WITH_PROBES && mtu_is_about_probe(conn, report)) {
        tn_path_probe_limit(conn->stack, conn->path, mtu);
    } else if (mtu < conn->mtu_acked + overhead && !mtu_head_has_timed_out(conn)) {
        tn_count(conn->stack, TENON_STAT_PMTU_DOUBTED);
        if (report->seq == conn->snd_una)
            conn->flight->mtu_claim = (tenon_u16)mtu;
    } else if (mtu_take(conn, mtu)) {
        tn_tcp_recovery_on_mtu(conn);
        tn_tcp_make_ready(conn);
    } else {
        tn_count(conn->stack, TENON_STAT_PMTU_IGNORED);
    }
}

/* ---- black holes (RFC 4821 7.7) ------------------------------------------------------------------- */

/* Full segments, and not one answer. At first down to what passes nearly everywhere, then to the least, where routers
 * of IPv4 may cut. */
static void mtu_suspect(struct tenon_tcp *conn)
{
    const tenon_u32 head = tn_min(conn->mss, conn->snd_nxt - conn->snd_una);
    tenon_u32 mtu = MTU_BASE_BYTES + mtu_overhead(conn);

    if (!TENON_WITH_PROBES || tn_tcp_opt(conn, TENON_TCP_MTU_PROBING) == MTU_PROBING_OFF || conn->snd_wnd == 0)
        return;
    if (!mtu_head_has_timed_out(conn) || conn->backoff % MTU_TIMEOUTS != 0)
        return;
    if (head <= MTU_BASE_BYTES) {
        if (head < conn->mss || (conn->path->search == TN_PATH_SEARCH_NONE && conn->backoff < 2 * MTU_TIMEOUTS))
            return;    /* who never was above it gets as many attempts as who had to come down */
        mtu = 0;
    }
    if (!tn_path_suspect(conn->stack, conn->path, mtu))
        return;
    tn_count(conn->stack, TENON_STAT_TCP_BLACK_HOLE);
    tn_trace_stretch(conn, TENON_TRACE_SEARCH, conn->snd_una, head, TENON_TRACE_SEARCH_BLACK_HOLE);
    tn_tcp_update_mss(conn);
}

TENON_INTERNAL void tn_mtu_timeout(struct tenon_tcp *conn)
{
    if (!TENON_WITH_PATH_MTU)
        return;
    if (conn->flight->mtu_claim == 0 || !mtu_take(conn, conn->flight->mtu_claim))
        mtu_suspect(conn);
}

TENON_INTERNAL void tn_mtu_open(struct tenon_tcp *conn)
{
    const struct tn_path *path = conn->path;

    if (!TENON_WITH_PROBES)
        return;
    if (tn_tcp_opt(conn, TENON_TCP_MTU_PROBING) == MTU_PROBING_ALWAYS && path->mtu == 0)
        (void)tn_path_suspect(conn->stack, conn->path, MTU_BASE_BYTES + mtu_overhead(conn));
}

/* ---- probes (RFC 4821 7.2 to 7.6) ------------------------------------------------------------------ */

/* Without SACK nobody could tell the loss of a probe from that of others. */
static int mtu_may_probe(const struct tenon_tcp *conn)
{
    if (conn->path->search != TN_PATH_SEARCH_ON || !tn_tcp_hears_sack(conn) ||
        tn_tcp_opt(conn, TENON_TCP_MTU_PROBING) == MTU_PROBING_OFF)
        return 0;
    if (conn->recovery != TN_RECOVERY_NONE || tn_flight_sack(conn->flight) != NULL ||
        conn->flight->probe_seq != conn->flight->probe_end)
        return 0;
    /* What goes along with it would make it larger still, or is said once only. */
    return !tn_ooo_has_news(conn) && !(conn->flags & TN_TCP_F_URGENT_SND);
}

TENON_INTERNAL tenon_u32 tn_mtu_probe_bytes(struct tenon_tcp *conn)
{
    const tenon_u32 limit = tn_tcp_opt(conn, TENON_TCP_MSS_MAX);
    tenon_u32 mtu, most = conn->peer_mss;

    if (!TENON_WITH_PROBES)
        return 0;
    if (TENON_LIKELY(!mtu_may_probe(conn)))
        return 0;
    mtu = tn_path_probe_bytes(conn->stack, conn->path);
    if (mtu == 0)
        return 0;
    if (limit != 0)
        most = tn_min(most, limit);
    most = tn_min(most - mtu_options(conn), mtu - mtu_overhead(conn));
    return most > conn->mss ? most : 0;
}

TENON_INTERNAL tenon_u32 tn_mtu_probe_needs(const struct tenon_tcp *conn, tenon_u32 bytes)
{
    return bytes + MTU_BEHIND * (tenon_u32)conn->mss;
}

TENON_INTERNAL void tn_mtu_probe_sent(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 end)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_PROBES)
        return;
    if (TENON_WITH_RECOVERY)
        tn_flight_at(flight, flight->last - 1)->size = (tenon_u16)(end - from);
    flight->probe_seq = from;
    flight->probe_end = end;
    tn_count(conn->stack, TENON_STAT_TCP_MTU_PROBE);
    tn_trace_stretch(conn, TENON_TRACE_SEARCH, from, end - from, TENON_TRACE_SEARCH_SENT);
}

TENON_INTERNAL void tn_mtu_probe_judge(struct tenon_tcp *conn, int passed)
{
    struct tn_flight *flight = conn->flight;
    const tenon_u32 bytes = flight->probe_end - flight->probe_seq;

    tn_trace_stretch(conn, TENON_TRACE_SEARCH, flight->probe_seq, bytes,
                     passed ? TENON_TRACE_SEARCH_PASSED : TENON_TRACE_SEARCH_LOST);
    flight->probe_seq = flight->probe_end;
    tn_count(conn->stack, passed ? TENON_STAT_TCP_MTU_PROBE_PASSED : TENON_STAT_TCP_MTU_PROBE_LOST);
    tn_path_probed(conn->stack, conn->path, bytes + mtu_overhead(conn), passed);
}

/* With other losses a probe says nothing. */
TENON_INTERNAL void tn_mtu_probe_forget(struct tenon_tcp *conn)
{
    struct tn_flight *flight = conn->flight;

    if (!TENON_WITH_PROBES)
        return;
    if (flight->probe_seq == flight->probe_end)
        return;
    tn_trace_stretch(conn, TENON_TRACE_SEARCH, flight->probe_seq, flight->probe_end - flight->probe_seq,
                     TENON_TRACE_SEARCH_UNDECIDED);
    flight->probe_seq = flight->probe_end;
}

TENON_INTERNAL void tn_mtu_acked(struct tenon_tcp *conn, const struct tn_ack *ack)
{
    struct tn_flight *flight = conn->flight;
    tenon_u32 bytes;

    if (!TENON_WITH_PATH_MTU)
        return;
    if (ack->acked > 0)
        flight->mtu_claim = 0;
    if (!TENON_WITH_PROBES)
        return;
    bytes = flight->probe_end - flight->probe_seq;
    if (TENON_LIKELY(bytes == 0))
        return;
    if (tn_seq_ge(conn->snd_una, flight->probe_end) ||
        tn_sack_bytes_between(conn, flight->probe_seq, flight->probe_end) == bytes)
        tn_mtu_probe_judge(conn, 1);
}

TENON_INTERNAL int tn_mtu_probe_is_lone(const struct tenon_tcp *conn)
{
    const struct tn_flight *flight = conn->flight;
    const tenon_u32 bytes = TENON_WITH_PROBES ? flight->probe_end - flight->probe_seq : 0;

    if (!TENON_WITH_PROBES)
        return 0;
    return bytes > 0 && conn->recovery == TN_RECOVERY_NONE && conn->snd_una == flight->probe_seq &&
           flight->lost_edge - conn->snd_una ==
               bytes + tn_sack_bytes_between(conn, flight->probe_end, flight->lost_edge) &&
           tn_sack_bytes_between(conn, flight->probe_seq, flight->probe_end) == 0;
}
