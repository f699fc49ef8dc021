/* SPDX-License-Identifier: MIT */
/* What must hold at every step, when all is quiet, and when the instance has ended. */
#include "history.h"

#include "core.h"
#include "tcp/tcp_internal.h"

#include <inttypes.h>

static void check_connection(struct tenon_tcp *conn, void *arg)
{
    const char *wrong = tenon_tcp_check(conn);

    if (wrong != NULL)
        history_fail(arg, "a connection of the small machine: %s", wrong);
}

static void check_pool(struct history *h, const struct sock_pool *pool, unsigned most, const char *what)
{
    const struct sock_unit *unit, *last = NULL;
    unsigned n = 0;

    for (unit = pool->free; unit != NULL && n <= most; last = unit, unit = unit->next, n++)
        if (unit->buf.refs != 0 || unit->pool != pool)
            history_fail(h, "a free buffer (%s) has %u references", what, (unsigned)unit->buf.refs);
    if (n != pool->nfree || n > most)
        history_fail(h, "%u free buffers (%s) in the list, %u by count, %u in all", n, what, pool->nfree, most);
    if (last != NULL && last != pool->last)
        history_fail(h, "the queue of free buffers (%s) does not end where it should", what);
}

/* The gaps lie in order, do not touch, and are what is not used. */
static void check_gaps(struct history *h)
{
    const struct sock_memory *memory = &h->socks->memory;
    const struct sock_gap *gap;
    size_t sum = 0;

    for (gap = memory->before.next; gap != NULL; gap = gap->next) {
        if (gap->next != NULL && (const tenon_u8 *)gap + gap->bytes >= (const tenon_u8 *)gap->next)
            history_fail(h, "gaps of the memory touch or overlap");
        sum += gap->bytes;
    }
    if (sum + memory->used != memory->bytes)
        history_fail(h, "%zu bytes of memory are free and %zu used, of %zu", sum, memory->used, memory->bytes);
}

static void check_guards(struct history *h)
{
    const tenon_u8 *before = h->arena - GUARD, *behind = h->arena + h->arena_bytes;
    unsigned i;

    for (i = 0; i < GUARD; i++)
        if (before[i] != 0xA7 || behind[i] != 0xA7)
            history_fail(h, "bytes beside the arena were written");
}

/* The window waits for what was sent back and is not acknowledged, whatever of the ring lies between. */
static void check_backs(struct history *h, struct session *s)
{
    const struct sock *sock = s->end != NULL ? tn_sock_find(h->socks, s->end->sk) : NULL;
    struct tenon_tcp_info info;
    uint64_t acked, back = 0;
    unsigned i, left = 0;

    if (sock == NULL || sock->conn == NULL)
        return;
    tenon_tcp_status(sock->conn, &info);
    acked = s->sent - info.snd_queued;
    for (i = 0; i < s->nbacks; i++) {
        const uint64_t end = s->backs[i].at + s->backs[i].n, at = s->backs[i].at > acked ? s->backs[i].at : acked;

        if (end <= acked)
            continue;
        s->backs[left++] = (struct back){ at, end - at };
        back += end - at;
    }
    s->nbacks = left;
    if (back != sock->back)
        history_fail(h,
                     "session %u: %" PRIu64
                     " bytes that were sent back are not acknowledged, the window waits for %u",
                     s->index, back, (unsigned)sock->back);
}

/* What the window is shut for: text that is not read, that was sent back, and whose blocks are promised to
 * others, a segment of them at least to each. */
static void check_window(struct history *h, const struct sock *sock)
{
    const int may_receive = sock->use == SOCK_USED && (sock->conn != NULL || sock->state == TENON_SOCK_LISTENING);
    const struct sock_piece *piece;
    tenon_u32 shut = sock->back + sock->withheld;
    struct tenon_tcp_info info;

    if (may_receive != (sock->promised > 0))
        history_fail(h, "descriptor %d is promised %u blocks", sock->number, sock->promised);
    if (sock->use != SOCK_USED || sock->conn == NULL)
        return;
    for (piece = sock->first; piece != NULL; piece = piece->next)
        shut += piece->len;
    tenon_tcp_status(sock->conn, &info);
    if (info.rcv_unconsumed != shut)
        history_fail(h, "descriptor %d: the window is shut for %u bytes, and waits for %u", sock->number,
                     (unsigned)info.rcv_unconsumed, (unsigned)shut);
    if (sock->withheld > 0 && (h->socks->promises == 0 || sock->withheld + h->socks->segment > h->socks->window))
        history_fail(h, "descriptor %d: %u bytes are withheld", sock->number, (unsigned)sock->withheld);
}

/* Whoever has sent to it: of destinations no more is remembered than there is memory for. */
static void check_paths(struct history *h)
{
    const struct tenon_sock_conf *conf = &h->plan.conf;
    const unsigned used = conf->socks + 2U + (conf->conns > 0 ? conf->conns : conf->socks + 2U);
    const unsigned remembered = conf->stack.paths_max > 0 ? (unsigned)conf->stack.paths_max : 8;

    if (TN_PATHS_KEPT && h->socks->stack->link.paths.count > (used > remembered ? used : remembered))
        history_fail(h, "%u paths are kept", (unsigned)h->socks->stack->link.paths.count);
}

void check_step(struct history *h)
{
    const struct tenon_sock_conf *conf = &h->plan.conf;
    unsigned i;

    check_pool(h, &h->socks->blocks, conf->blocks, "blocks");
    check_pool(h, &h->socks->headers, conf->headers, "headers");
    check_gaps(h);
    check_guards(h);
    check_paths(h);
    tenon_tcp_each(h->socks->stack, check_connection, h);
    for (i = 0; i < h->plan.nsessions; i++)
        check_backs(h, &h->session[i]);
    for (i = 0; i < h->socks->nsocks; i++)
        check_window(h, &h->socks->socks[i]);
}

/* The documented ones, ended by 0; TENON_OK is 0 too, and always allowed where it is the first. */
void check_result(struct history *h, const char *call, int result, const int *allowed)
{
    if (result == TENON_OK && allowed[0] == TENON_OK)
        return;
    for (allowed += allowed[0] == TENON_OK; *allowed != 0; allowed++)
        if (*allowed == result) {
            h->errors++;
            return;
        }
    history_fail(h, "%s returns %s, which does not belong here", call, tenon_error_text(result));
}

/* ---- the end ----------------------------------------------------------------------------------------- */

static size_t piece(size_t bytes)
{
    const size_t unit = sizeof(struct sock_gap) > SOCK_ALIGN ? sizeof(struct sock_gap) : SOCK_ALIGN;

    return (bytes + unit - 1) / unit * unit;
}

static size_t table_bytes(const struct tn_htab *table)
{
    size_t bytes = 0;
    unsigned i;

    for (i = 1; i < TN_HTAB_SEGMENTS; i++)
        if (table->segments[i] != NULL)
            bytes += piece(((size_t)TN_HTAB_BASE << (i - 1)) * sizeof(struct tn_hnode *));
    return bytes;
}

/* Memory in use besides what is kept on purpose: tables, paths, and what the next connection is made of. */
size_t check_memory(const struct history *h)
{
    const struct tenon *stack = h->socks->stack;
    const size_t fast = tn_fast_bytes(stack);
    size_t kept = table_bytes(&stack->tcp.conns) + table_bytes(&stack->udp.bound) + table_bytes(&stack->udp.connected) +
                  table_bytes(&stack->link.paths);

    if (stack->udp.recent != NULL)
        kept += piece((stack->udp.recent_mask + 1) * sizeof(stack->udp.recent[0]));
    kept += stack->link.paths.count * piece(TN_PATH_BYTES);
    kept += stack->tcp.spare_flights.n * piece(TN_FLIGHT_BYTES);
    kept += stack->tcp.spare_conns.n * piece(TN_TCP_CONN_BYTES);
    kept += stack->tcp.spare_waits.n * piece(sizeof(struct tn_time_wait));
    return h->socks->memory.used - kept - (fast > 0 ? piece(fast) : 0);
}

static void count_connection(struct tenon_tcp *conn, void *arg)
{
    (void)conn;
    ++*(unsigned *)arg;
}

void check_quiet(struct history *h)
{
    const struct tenon_sock_conf *conf = &h->plan.conf;
    const unsigned records = 2U * conf->blocks + (TENON_WITH_FRAGMENTS ? conf->headers : 0U);
    struct tenon_sock_counts counts;
    unsigned conns = 0, pieces = 0, i;
    const struct sock_piece *p;

    check_step(h);
    tenon_netif_link(h->socks->stack, 1, 0);    /* what is known of neighbours goes too */
    tenon_sock_count(h->socks, &counts);
    tenon_tcp_each(h->socks->stack, count_connection, &conns);
    if (conns > 0 || tenon_tcp_time_waits(h->socks->stack) > 0)
        history_fail(h, "%u connections and %u records of TIME-WAIT are left", conns,
                     (unsigned)tenon_tcp_time_waits(h->socks->stack));
    for (i = 0; i < h->socks->nsocks; i++)
        if (h->socks->socks[i].use != SOCK_FREE)
            history_fail(h, "the descriptor with index %u is not free", i);
    for (p = h->socks->free_pieces; p != NULL; p = p->next)
        pieces++;
    if (pieces != records)
        history_fail(h, "%u of %u records of pieces are free", pieces, records);
    if (counts.blocks_free + h->device.nempty != conf->blocks)
        history_fail(h, "%u blocks are free, and the device has %u, of %u", counts.blocks_free, h->device.nempty,
                     conf->blocks);
    if (counts.too_long > 0 && conf->device.netif.mru == 0)
        history_fail(h, "%u frames were longer than a block", counts.too_long);
    if (check_memory(h) != h->baseline)
        history_fail(h, "%zu bytes of memory are used besides the caches, %zu were before", check_memory(h),
                     h->baseline);
}

void check_stopped(struct history *h)
{
    const struct sock_memory *memory = &h->socks->memory;

    check_pool(h, &h->socks->blocks, h->plan.conf.blocks, "blocks");
    check_pool(h, &h->socks->headers, h->plan.conf.headers, "headers");
    check_gaps(h);
    check_guards(h);
    if (h->socks->blocks.nfree != h->plan.conf.blocks || h->socks->headers.nfree != h->plan.conf.headers)
        history_fail(h, "%u blocks and %u header buffers at the end", h->socks->blocks.nfree, h->socks->headers.nfree);
    if (memory->used != 0 || memory->before.next == NULL || memory->before.next->next != NULL ||
        memory->before.next->bytes != memory->bytes)
        history_fail(h, "memory is not one piece again: %zu bytes are used", memory->used);
}
