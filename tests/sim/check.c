/* SPDX-License-Identifier: MIT */
/* What must be true: at each step, from time to time, when all is quiet, and at the end. */
#include "sim.h"

#include "core.h"
#include "tcp/tcp_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HALF_OPEN_US 180000000U

enum { SOMETIMES = 64, POLLS_PER_MS_MAX = 400, POLLS_IDLE_MAX = 2000 };

/* ---- steps ----------------------------------------------------------------------------------- */

static void check_connection(struct tenon_tcp *conn, void *arg)
{
    struct sim *sim = arg;
    const char *broken = tenon_tcp_check(conn);

    if (broken)
        sim_fail(sim, "invariant", "tenon_tcp_check(): %s", broken);
}

/* The core's accounts and ours. */
void check_side(struct side *side)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(side->conn, &info);
    if (info.rcv_unconsumed != side->received - side->consumed)
        sim_fail(side->sim, "receive account", "session %u side %u: rcv_unconsumed is %u, received %" PRIu64
                 " and consumed %" PRIu64, side->session->index, side->which, info.rcv_unconsumed, side->received,
                 side->consumed);
    if (info.snd_queued < side->written - side->acked || info.snd_queued > side->written - side->acked + 1)
        sim_fail(side->sim, "send account", "session %u side %u: snd_queued is %u, written %" PRIu64
                 " and acknowledged %" PRIu64, side->session->index, side->which, info.snd_queued, side->written,
                 side->acked);
    if (info.snd_unsent > info.snd_queued)
        sim_fail(side->sim, "send account", "session %u side %u: %u unsent of %u queued", side->session->index,
                 side->which, info.snd_unsent, info.snd_queued);
    if (info.cwnd < info.mss && side->opened)
        sim_fail(side->sim, "cwnd", "session %u side %u: cwnd %u, mss %u", side->session->index, side->which,
                 info.cwnd, info.mss);
}

/* The second look into the core's inside: the number up to which the peer has acknowledged. */
uint32_t check_acknowledged(const struct tenon_tcp *conn)
{
    return conn->snd_una;
}

static void check_host(struct sim *sim, unsigned i)
{
    const struct sim_host *host = &sim->host[i];
    struct wire_host_stats stats;

    if (wire_host_stack(host->host))
        tenon_tcp_each(host->stack, check_connection, sim);
    wire_host_stats(host->host, &stats);
    if (stats.polls_idle > POLLS_IDLE_MAX)
        sim_fail(sim, "spins", "host %u: tenon_poll() has said 0 %" PRIu64 " times although the port is not full", i,
                 stats.polls_idle);
    if (stats.polls_per_ms_top > POLLS_PER_MS_MAX)
        sim_fail(sim, "spins", "host %u: %u polls by timer in one millisecond", i, stats.polls_per_ms_top);
}

/* What is found as soon as it happens. */
static void check_now(struct sim *sim, unsigned i)
{
    struct wire_end_stats frames;
    struct wire_host_stats stats;

    wire_host_stats(sim->host[i].host, &stats);
    if (stats.mem_wrong > 0)
        sim_fail(sim, "mem_put", "host %u: mem_put() with a wrong size or of foreign memory", i);
    wire_end_stats(sim->host[i].end, &frames);
    if (frames.malformed > 0 || frames.oversize > 0)
        sim_fail(sim, "bad frames", "host %u: %" PRIu64 " frames that the interface does not offer, %" PRIu64
                 " larger than its MTU", i, frames.malformed, frames.oversize);
}

/* A redirect by a router that is not asked any more: because of the one before. */
static int may_be_late(const struct sim *sim, enum tenon_stat bad)
{
    unsigned i;

    for (i = 0; i < sim->plan->nways; i++)
        if (sim->plan->way[i].conf.redirects > 0)
            return bad == TENON_STAT_ND_BAD;
    return 0;
}

/* Where no bit was inverted, and all mean well, nobody may find anything malformed. */
static void check_clean(struct sim *sim)
{
    static const enum tenon_stat bad[] = {
        TENON_STAT_ETH_SHORT,      TENON_STAT_ETH_UNKNOWN,    TENON_STAT_ARP_BAD,        TENON_STAT_IP4_BAD_HEADER,
        TENON_STAT_IP4_BAD_CSUM,   TENON_STAT_IP4_BAD_OPTION, TENON_STAT_IP6_BAD_HEADER, TENON_STAT_IP6_BAD_EXT,
        TENON_STAT_ICMP_BAD,       TENON_STAT_ND_BAD,         TENON_STAT_MLD_BAD,        TENON_STAT_IGMP_BAD,
        TENON_STAT_UDP_BAD_LENGTH, TENON_STAT_UDP_BAD_CSUM,   TENON_STAT_TCP_BAD_HEADER, TENON_STAT_TCP_BAD_CSUM,
        TENON_STAT_TCP_BAD_OPTION, TENON_STAT_ND_DUPLICATE,   TENON_STAT_ARP_CONFLICT,   TENON_STAT_IP4_MARTIAN,
    };
    struct wire_end_stats stats;
    unsigned i, k;

    if (sim->intruded)
        return;
    for (i = 0; i < sim->plan->nhosts; i++) {
        if (!wire_host_stack(sim->host[i].host))
            return;
        wire_end_stats(sim->host[i].end, &stats);
        if (stats.corrupted > 0)
            return;
    }
    for (i = 0; i < sim->plan->nhosts; i++)
        for (k = 0; k < sizeof(bad) / sizeof(bad[0]); k++)
            if (tenon_stat(sim->host[i].stack, bad[k]) > 0 && !may_be_late(sim, bad[k]))
                sim_fail(sim, "malformed", "host %u: %s is %u, and no frame was damaged", i, tenon_stat_name(bad[k]),
                         tenon_stat(sim->host[i].stack, bad[k]));
}

void check_step(struct sim *sim)
{
    struct side *side;
    unsigned i;

    for (i = 0; i < sim->plan->nhosts; i++)
        check_now(sim, i);
    check_clean(sim);
    if (sim->log->steps % SOMETIMES != 0)
        return;
    for (i = 0; i < sim->plan->nhosts; i++)
        check_host(sim, i);
    for (side = sim->sides; side; side = side->next)
        if (side->conn && side->opened)
            check_side(side);
}

/* ---- progress -------------------------------------------------------------------------------- */

static void describe(char *text, size_t size, const struct side *side)
{
    struct tenon_tcp_info info;

    if (!side) {
        snprintf(text, size, "none");
        return;
    }
    if (!side->conn) {
        snprintf(text, size, "%s", side->closed ? tenon_error_text(side->why) : "no connection");
        return;
    }
    tenon_tcp_status(side->conn, &info);
    snprintf(text, size, "%s written %" PRIu64 "/%u acked %" PRIu64 " received %" PRIu64 " wnd %u/%u cwnd %u rto %u",
             tenon_tcp_state_name(info.state), side->written, side->plan->bytes, side->acked, side->received,
             info.snd_wnd, info.rcv_wnd, info.cwnd, info.rto_us);
}

/* Strangers, whom nobody finds, take the places of those who are there. */
static int looks_for_too_many(const struct sim *sim, unsigned host)
{
    return !TENON_WITH_STATS || tenon_stat(sim->host[host].stack, TENON_STAT_NEIGH_FULL) > 0;
}

static void check_session(struct sim *sim, struct session *session)
{
    uint64_t last = sim->heal_at;
    char client[180], server[180];

    if (session->side[0] && session->side[1] && session->side[0]->closed && session->side[1]->closed) {
        session->done = 1;
        return;
    }
    if (session->progress_at > last)
        last = session->progress_at;
    if (session->busy_until > last)
        last = session->busy_until;
    if (sim->plan->host[session->plan->server].stack.tcp_syncookies)
        last += COOKIES_EXPECTED_US;    /* until then, who has lost his connection is not told */
    if (sim->intruded && session->side[1] == NULL && looks_for_too_many(sim, session->plan->server))
        last += HALF_OPEN_US;
    if (sim_now(sim) <= last + sim->bound_us)
        return;
    describe(client, sizeof(client), session->side[0]);
    describe(server, sizeof(server), session->side[1]);
    sim_fail(sim, "stall", "session %u: nothing for %.1f s; client: %s; server: %s", session->index,
             (double)(sim_now(sim) - last) / 1e6, client, server);
}

void check_progress(struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nsessions; i++) {
        struct session *session = &sim->session[i];

        if (session->started && session->strict && !session->done)
            check_session(sim, session);
    }
}

/* ---- counters -------------------------------------------------------------------------------- */

static void check_counters(struct sim *sim, unsigned i)
{
    const struct sim_host *host = &sim->host[i];
    struct tenon_netif_info info;
    struct wire_end_stats stats;

    wire_end_stats(host->end, &stats);
    tenon_netif_get(host->stack, wire_end_netif(host->end), &info);
    sim->log->frames += stats.tx_frames;
    if (!TENON_WITH_STATS)
        return;
    if (info.tx_frames != (tenon_u32)stats.tx_frames || info.tx_bytes != (tenon_u32)stats.tx_bytes
        || tenon_stat(host->stack, TENON_STAT_TX_FRAMES) != (tenon_u32)stats.tx_frames)
        sim_fail(sim, "counters", "host %u: tx_frames %u, the wire took %" PRIu64, i, info.tx_frames, stats.tx_frames);
    if (info.rx_frames != (tenon_u32)stats.rx_frames || info.rx_bytes != (tenon_u32)stats.rx_bytes)
        sim_fail(sim, "counters", "host %u: rx_frames %u, the wire gave %" PRIu64, i, info.rx_frames, stats.rx_frames);
    if (tenon_stat(host->stack, TENON_STAT_TCP_ESTABLISHED) > host->opened
        || tenon_stat(host->stack, TENON_STAT_TCP_ESTABLISHED) < host->opened - host->early)
        sim_fail(sim, "counters", "host %u: tcp_established %u, opened() called %" PRIu64 " times", i,
                 tenon_stat(host->stack, TENON_STAT_TCP_ESTABLISHED), host->opened);
}

/* ---- quiet: everything is closed and TIME-WAIT is over --------------------------------------- */

static void count_connection(struct tenon_tcp *conn, void *arg)
{
    (void)conn;
    ++*(unsigned *)arg;
}

enum { CACHED_BUFS_MAX = 32 };    /* that an instance may keep for its next packets */

static size_t table_bytes(const struct tn_htab *table)
{
    size_t bytes = 0;
    unsigned i;

    for (i = 1; i < TN_HTAB_SEGMENTS; i++)
        if (table->segments[i])
            bytes += ((size_t)TN_HTAB_BASE << (i - 1)) * sizeof(struct tn_hnode *);
    return bytes;
}

/* What an instance keeps on purpose when all is over: hash tables never shrink, the destination cache
 * (RFC 4861 5.1) remembers, and the next connection is made of what an old one has left. Nothing else may be
 * left; this is a look into the core's inside. */
size_t check_caches(const struct tenon *stack)
{
    return table_bytes(&stack->tcp.conns) + table_bytes(&stack->udp.bound) +
           table_bytes(&stack->udp.connected) + table_bytes(&stack->link.paths) +
           stack->link.paths.count * TN_PATH_BYTES +
           stack->tcp.spare_flights.n * TN_FLIGHT_BYTES +
           stack->tcp.spare_conns.n * TN_TCP_CONN_BYTES +
           stack->tcp.spare_waits.n * sizeof(struct tn_time_wait) +
           (stack->tcp.fastopen ? tn_fastopen_bytes(stack) : 0) + tn_fast_bytes(stack);
}

void check_quiet(struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nhosts; i++) {
        const struct sim_host *host = &sim->host[i];
        struct wire_host_stats stats;
        unsigned conns = 0;

        check_counters(sim, i);
        tenon_netif_link(host->stack, wire_end_netif(host->end), 0);    /* what is known of neighbours goes too */
        wire_host_stats(host->host, &stats);
        tenon_tcp_each(host->stack, count_connection, &conns);
        if (conns > 0 || tenon_tcp_time_waits(host->stack) > 0)
            sim_fail(sim, "left over", "host %u: %u connections and %u TIME-WAIT records at the end", i, conns,
                     tenon_tcp_time_waits(host->stack));
        stats.mem_bytes -= check_caches(host->stack);
        if (stats.mem_bytes != host->baseline.mem_bytes)
            sim_fail(sim, "leak", "host %u: %zu bytes besides the caches, %zu before the first connection", i,
                     stats.mem_bytes, host->baseline.mem_bytes);
        if (stats.rx_bufs > 0 || stats.bufs > CACHED_BUFS_MAX)
            sim_fail(sim, "leak", "host %u: %u buffers and %u of received frames at the end", i, stats.bufs,
                     stats.rx_bufs);
    }
    if (sim->app_bufs > 0)
        sim_fail(sim, "leak", "%" PRIu64 " buffers of the applications have not come back", sim->app_bufs);
    check_clean(sim);
}

/* ---- the end: no instance is left ------------------------------------------------------------ */

void check_ended(struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nhosts; i++) {
        struct wire_host_stats stats;

        wire_host_stats(sim->host[i].host, &stats);
        if (stats.mem_bytes > 0 || stats.mem_blocks > 0 || stats.mem_wrong > 0)
            sim_fail(sim, "leak", "host %u: %zu bytes in %u blocks after tenon_fini()", i, stats.mem_bytes,
                     stats.mem_blocks);
        if (stats.bufs > 0 || stats.rx_bufs > 0)
            sim_fail(sim, "leak", "host %u: %u buffers and %u of received frames after tenon_fini()", i, stats.bufs,
                     stats.rx_bufs);
    }
}
