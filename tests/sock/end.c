/* SPDX-License-Identifier: MIT */
/* The application of the small machine: it reads where the bytes lie, holds some of them, gives them back in any order,
 * writes into its rings, and now and then calls what nobody should call. Every result is looked at. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

enum { PORT = 80, HEAD = 6, MAGIC = 0x5D };

static const int create_results[] = { TENON_ELIMIT, TENON_ENOMEM, 0 };
static const int nameless_results[] = { TENON_ELIMIT, TENON_ENOMEM, TENON_ENOADDR, TENON_EUNREACH, 0 };
static const int send_results[] = { TENON_OK, TENON_ENOMEM, TENON_EAGAIN, 0 };

static tenon_u8 *guarded(uint32_t bytes)
{
    tenon_u8 *mem = malloc(bytes + 2 * GUARD);

    if (mem == NULL)
        abort();
    memset(mem, 0xA7, bytes + 2 * GUARD);
    return mem;
}

static tenon_u8 *ring_of(const struct end_point *e)
{
    return e->ring + GUARD;
}

static void ring_free(struct end_point *e)
{
    unsigned i;

    if (e->ring == NULL)
        return;
    for (i = 0; i < GUARD; i++)
        if (e->ring[i] != 0xA7 || e->ring[GUARD + e->ring_bytes + i] != 0xA7)
            history_fail(e->h, "bytes beside the ring of descriptor %d were written", e->sk);
    memset(e->ring, 0xDD, e->ring_bytes + 2 * GUARD);    /* nobody looks there any more */
    free(e->ring);
    e->ring = NULL;
}

static struct tenon_sock_info status_of(const struct end_point *e)
{
    struct tenon_sock_info info;
    const int result = tenon_sock_status(e->h->socks, e->sk, &info);

    if (result != TENON_OK)
        history_fail(e->h, "status of descriptor %d: %s", e->sk, tenon_error_text(result));
    return info;
}

/* ---- made and deleted ------------------------------------------------------------------------------ */

static int create(const struct end_point *e)
{
    struct history *h = e->h;
    const unsigned index = e->session != NULL ? e->session->index : 0;
    const struct tenon_addr at = history_addr(h, 0, e->kind == TCP_SERVER ? PORT : 5000 + index);
    const struct tenon_addr to = history_addr(h, 1, (e->kind == TCP_CLIENT ? 3000 : 6000) + index);
    const unsigned options = e->session != NULL && e->session->plan->no_timestamps ? TENON_SOCK_NO_TIMESTAMPS : 0;

    switch (e->kind) {
    case TCP_SERVER: return tenon_sock_create(h->socks, &at, NULL, TENON_SOCK_TCP, options);
    case TCP_CLIENT: return tenon_sock_create(h->socks, NULL, &to, TENON_SOCK_TCP, options);
    case UDP_SERVER: return tenon_sock_create(h->socks, &at, NULL, TENON_SOCK_UDP, 0);
    default: return tenon_sock_create(h->socks, NULL, &to, TENON_SOCK_UDP, 0);
    }
}

static int is_only_server(const struct end_point *e)
{
    unsigned i, n = 0;

    for (i = 0; i < TENON_ARRAY_LEN(e->h->end); i++)
        n += e->h->end[i].kind == TCP_SERVER && e->h->end[i].sk != 0;
    return e->kind == TCP_SERVER && n == 1;
}

static void try_create(struct end_point *e)
{
    struct history *h = e->h;
    int sk;

    if (e->sk != 0 || history_now(h) < e->retry_us)
        return;
    sk = create(e);
    h->calls++;
    if (sk <= 0) {
        check_result(h, "create", sk, h->nameless || h->unplugged || h->plan.told ? nameless_results : create_results);
        e->retry_us = history_now(h) + 20000 + history_chance(h, 100000);
        return;
    }
    e->sk = sk;
    if (is_only_server(e))
        h->port_at = history_now(h);
    e->opened = e->ring_given = e->finished = e->leaving = e->gone_seen = 0;
    e->busy = 0;
    if (e->ring == NULL)
        e->ring = guarded(e->ring_bytes);
    history_note(h, "descriptor %d is made", sk);
}

static void give_ring(struct end_point *e)
{
    const struct session *s = e->session;
    int result;

    if (e->ring_given || (s != NULL && history_now(e->h) < s->plan->at_us + s->plan->ring_late_us))
        return;
    result = tenon_sock_set_sbuf(e->h->socks, e->sk, ring_of(e), e->ring_bytes);
    if (result != TENON_OK)
        history_fail(e->h, "a ring of %u bytes: %s", e->ring_bytes, tenon_error_text(result));
    e->ring_given = 1;
}

/* The ring is the application's again. */
static void end_gone(struct end_point *e)
{
    struct session *s = e->session;

    history_note(e->h, "descriptor %d is gone", e->sk);
    ring_free(e);
    e->sk = 0;
    e->leaving = 0;
    e->session = NULL;
    if (s != NULL) {
        s->end = NULL;
        s->small_done = 1;
    }
    if (e->kind == TCP_SERVER)
        e->retry_us = history_now(e->h) + history_chance(e->h, 50000);
}

/* What was open is lost for both; who was not yet open tries again, and datagrams go on. */
void end_lost(struct history *h, struct end_point *e)
{
    struct session *s = e->session;
    const int leaving = e->leaving, open = leaving || (e->sk != 0 && status_of(e).state >= TENON_SOCK_OPEN);

    e->sk = 0;
    e->leaving = 0;
    e->busy = 0;
    e->retry_us = history_now(h) + history_chance(h, 50000);
    if (s == NULL)
        return;
    s->nheld = s->nbacks = 0;
    s->returned = NULL;
    if (e->kind >= UDP_SERVER ? !leaving : !open && !e->opened)
        return;
    history_note(h, "session %u is lost", s->index);
    s->strict = 0;
    s->small_done = 1;
    s->end = NULL;
    e->session = NULL;
}

void end_free_rings(struct history *h)
{
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(h->end); i++)
        ring_free(&h->end[i]);
}

static void end_delete(struct end_point *e, unsigned options)
{
    const struct tenon_sock_info info = status_of(e);
    const int result = tenon_sock_delete(e->h->socks, e->sk, options);
    tenon_u8 *p;

    history_note(e->h, "descriptor %d is deleted%s, %u packets in its ring", e->sk,
                 options ? " with a reset" : "", info.packets);
    if (result != TENON_OK)
        history_fail(e->h, "delete: %s", tenon_error_text(result));
    if (e->session != NULL)
        e->session->nheld = 0;
    if (tenon_sock_delete(e->h->socks, e->sk, 0) != TENON_EINVAL ||
        tenon_sock_ask_rbuf(e->h->socks, e->sk, &p) != TENON_EINVAL ||
        tenon_sock_send(e->h->socks, e->sk, ring_of(e), 1, 0) != TENON_EINVAL)
        history_fail(e->h, "a deleted descriptor takes calls");
    e->leaving = 1;
    if (info.packets == 0 || e->gone_seen)
        end_gone(e);
}

/* ---- misuse: nothing may change by it ---------------------------------------------------------------- */

/* What was given back some time ago, frames and calls in between: unless another piece is held there by now. */
static int misuse_returned(const struct end_point *e)
{
    const struct session *s = e->session;
    unsigned i;

    for (i = 0; i < s->nheld; i++)
        if (s->held[i].p == s->returned)
            return 1;
    return s->returned == NULL || tenon_sock_read_done(e->h->socks, e->sk, s->returned, 1) == TENON_EINVAL;
}

static int misuse_reading(struct end_point *e)
{
    const struct session *s = e->session;
    struct tenon_socks *socks = e->h->socks;
    const struct held *held = &s->held[0];
    static const tenon_u8 foreign[8];
    int good = tenon_sock_read_done(socks, e->sk, foreign, 1) == TENON_EINVAL && misuse_returned(e);

    good &= tenon_sock_read_done(socks, e->sk, NULL, 1) == TENON_EINVAL;
    if (s->nheld == 0)
        return good;
    good &= tenon_sock_read_done(socks, e->sk, held->p, 0) == TENON_EINVAL;
    good &= tenon_sock_read_done(socks, e->sk, held->p, held->n + 1) == TENON_EINVAL;
    good &= tenon_sock_read_done(socks, e->sk + 64, held->p, held->n) == TENON_EINVAL;
    return good;
}

static int misuse_sending(struct end_point *e)
{
    struct history *h = e->h;
    const struct tenon_addr to = history_addr(h, 1, 9);
    static const tenon_u8 foreign[8];
    tenon_u8 *p = NULL;
    const int room = tenon_sock_ask_sbuf(h->socks, e->sk, &p);
    int good = 1, result;

    if (room > 0) {
        good &= tenon_sock_send(h->socks, e->sk, p, (unsigned)room + 1, 0) == TENON_EMSGSIZE;
        good &= tenon_sock_send(h->socks, e->sk, p + 1, 1, 0) == TENON_EINVAL;
        good &= tenon_sock_send(h->socks, e->sk, p, 0, 0) == TENON_EINVAL;
        good &= tenon_sock_send(h->socks, -e->sk, p, 1, 0) == TENON_EINVAL;
        good &= tenon_sock_send(h->socks, e->sk, foreign, 1, 0) == TENON_EINVAL;
    }
    result = tenon_sock_set_sbuf(h->socks, e->sk, ring_of(e), TENON_SOCK_RECORD_BYTES);
    good &= result == TENON_EMSGSIZE;
    if (e->kind < UDP_SERVER || e->kind == UDP_CLIENT)
        good &= tenon_sock_to(h->socks, e->sk, &to) == TENON_EINVAL;
    if (status_of(e).packets > 0)
        good &= tenon_sock_set_sbuf(h->socks, e->sk, ring_of(e), e->ring_bytes) == TENON_EINUSE;
    return good;
}

static void misuse(struct end_point *e)
{
    const struct tenon_sock_info before = status_of(e);
    struct tenon_sock_info after;
    const int good = misuse_reading(e) & misuse_sending(e);

    after = status_of(e);
    e->h->errors++;
    if (!good)
        history_fail(e->h, "misuse of descriptor %d returns something else than its error", e->sk);
    if (before.state != after.state || before.unread != after.unread || before.packets != after.packets ||
        before.ring_used != after.ring_used || before.error != after.error)
        history_fail(e->h, "misuse of descriptor %d has changed it", e->sk);
}

/* ---- reading --------------------------------------------------------------------------------------- */

static void hold(struct session *s, tenon_u8 *p, unsigned n, uint64_t at)
{
    struct held *held = &s->held[s->nheld++];

    held->p = p;
    held->n = n;
    held->at = at;
}

static void note_back(struct session *s, unsigned n)
{
    struct back *last = s->nbacks > 0 ? &s->backs[s->nbacks - 1] : NULL;

    if (last != NULL && last->at + last->n == s->sent)
        last->n += n;
    else if (s->nbacks < BACKS_MAX)
        s->backs[s->nbacks++] = (struct back){ s->sent, n };
    else
        history_fail(s->h, "session %u: too many pieces are on their way back", s->index);
}

/* The next bytes of our own stream are written over what has come, and leave from there. @return 1: they do */
static int send_back(struct end_point *e, const struct held *held, unsigned n)
{
    static const int results[] = { TENON_OK, TENON_ENOMEM, TENON_EAGAIN, TENON_ECLOSED, 0 };
    struct session *s = e->session;
    struct history *h = e->h;
    const uint64_t left = s->plan->bytes[0] - s->sent;
    const unsigned options = n == left && s->plan->finish == FIN_WITH_LAST ? TENON_SOCK_FIN : 0;
    int result;

    if (!s->plan->backs || e->kind >= UDP_SERVER || e->finished || n > left || history_chance(h, 3) == 0)
        return 0;
    history_fill(held->p, s, 0, s->sent, n);
    result = tenon_sock_send_back(h->socks, e->sk, held->p, n, options);
    h->calls++;
    check_result(h, "send_back", result, results);
    if (result != TENON_OK) {
        history_fill(held->p, s, 1, held->at, n);
        return 0;
    }
    note_back(s, n);
    s->sent += n;
    h->sent_back += n;
    e->finished |= options != 0;
    return 1;
}

/* Give back one of those that are held, or its beginning. What lies there must be what lay there. */
static void give_back(struct end_point *e)
{
    struct session *s = e->session;
    struct history *h = e->h;
    const unsigned i = history_chance(h, s->nheld);
    struct held *held = &s->held[i];
    const unsigned head = e->kind >= UDP_SERVER && held->at % 65536 < HEAD ? HEAD - (unsigned)(held->at % 65536) : 0;
    const unsigned n = s->plan->parts ? 1 + history_chance(h, held->n) : held->n;
    tenon_u8 *p = held->p;

    if (held->n > head && !history_matches(p + head, s, 1, held->at + head, held->n - head))
        history_fail(h, "session %u: bytes that the application holds were changed", s->index);
    if (!send_back(e, held, n) && tenon_sock_read_done(h->socks, e->sk, p, n) != TENON_OK)
        history_fail(h, "session %u: a piece is not taken back", s->index);
    if (e->kind < UDP_SERVER)
        s->got += n;
    held->p += n;
    held->n -= n;
    held->at += n;
    if (held->n == 0)
        *held = s->held[--s->nheld];
    if (tenon_sock_read_done(h->socks, e->sk, p, n) != TENON_EINVAL)
        history_fail(h, "session %u: a piece is taken back twice", s->index);
    s->returned = p;
}

static void took_stream(struct end_point *e, tenon_u8 *p, unsigned n)
{
    struct session *s = e->session;

    if (s->handed + n > s->peer_sent)
        history_fail(e->h, "session %u: more arrives than was sent", s->index);
    if (!history_matches(p, s, 1, s->handed, n))
        history_fail(e->h, "session %u: bytes %llu to %llu are not what was sent", s->index,
                     (unsigned long long)s->handed, (unsigned long long)s->handed + n);
    hold(s, p, n, s->handed);
    s->handed += n;
    e->h->bytes += n;
}

/* A piece of a datagram: `busy` bytes of it have come before. @return 1: it is whole */
static int took_datagram(struct end_point *e, tenon_u8 *p, unsigned n)
{
    struct session *s = e->session;
    const struct tenon_sock_info info = status_of(e);
    unsigned skip = 0;

    if (e->busy == 0) {
        if (n < HEAD || p[0] != MAGIC || p[1] != s->index)
            history_fail(e->h, "session %u: a datagram begins with %02x %02x", s->index, p[0], p[1]);
        s->handed = (unsigned)(p[2] << 8 | p[3]) * UINT64_C(65536) +
                    (unsigned)(p[4] << 8 | p[5]) * (UINT64_C(1) << 40);
        skip = HEAD;
    }
    if (!history_matches(p + skip, s, 1, s->handed % (UINT64_C(1) << 40) + e->busy + skip, n - skip))
        history_fail(e->h, "session %u: a datagram has other bytes than were sent", s->index);
    hold(s, p, n, s->handed % (UINT64_C(1) << 40) + e->busy);
    e->busy += n;
    if (info.more)
        return 0;
    if (e->busy != s->handed >> 40)
        history_fail(e->h, "session %u: a datagram of %u bytes that had %u", s->index, e->busy,
                     (unsigned)(s->handed >> 40));
    e->busy = 0;
    s->got++;
    return 1;
}

static void send_datagram(struct end_point *e, unsigned number)
{
    static const int results[] = { TENON_OK, TENON_ENOMEM, TENON_EAGAIN, TENON_EUNREACH, 0 };
    static const int nameless[] = { TENON_OK, TENON_ENOMEM, TENON_EAGAIN, TENON_EUNREACH, TENON_ENOADDR, 0 };
    struct session *s = e->session;
    struct history *h = e->h;
    const int tentative = !(h->plan.conf.device.netif.flags & TENON_NETIF_NO_DAD);    /* when it comes back */
    tenon_u8 *p;
    int n, result;

    if (!e->ring_given)
        return;
    n = tenon_sock_ask_sbuf(h->socks, e->sk, &p);
    if (n < 0)
        check_result(h, "ask_sbuf", n, results);
    if (n < HEAD)
        return;
    if ((unsigned)n > s->plan->most + HEAD)
        n = (int)s->plan->most + HEAD;
    history_fill(p, s, 0, number * UINT64_C(65536), (uint32_t)n);
    p[0] = MAGIC;
    p[1] = (tenon_u8)s->index;
    p[2] = (tenon_u8)(number >> 8);
    p[3] = (tenon_u8)number;
    p[4] = (tenon_u8)(n >> 8);
    p[5] = (tenon_u8)n;
    result = tenon_sock_send(h->socks, e->sk, p, (unsigned)n, 0);
    check_result(h, "send", result, tentative || h->nameless ? nameless : results);
    s->sent += result == TENON_OK;
}

static int may_read(struct end_point *e)
{
    struct session *s = e->session;

    if (s->plan->pause_us > 0 && !s->paused && s->handed >= s->plan->pause_at) {
        s->paused = 1;
        s->paused_us = history_now(e->h) + s->plan->pause_us;
    }
    return history_now(e->h) >= s->paused_us;
}

/* Who answers out of what he has read gives that back when all of the answer is in the ring. Until then the
 * acknowledgements that make room in it have to come in, whoever has the blocks. */
static int may_give_back(struct end_point *e)
{
    struct session *s = e->session;

    return may_read(e) && !(s->plan->talks && e->kind < UDP_SERVER && s->sent < s->plan->bytes[0]);
}

/* Nothing more comes: why is said by the state. */
static void end_of_input(struct end_point *e, int result)
{
    struct session *s = e->session;
    const struct tenon_sock_info info = status_of(e);

    if (result == TENON_ECLOSED && (info.state == TENON_SOCK_ENDING || info.error == TENON_OK)) {
        if (s->strict && s->handed != s->plan->bytes[1])
            history_fail(e->h, "session %u: ends after %llu bytes", s->index, (unsigned long long)s->handed);
        s->peer_done = 1;
        return;
    }
    if (info.state != TENON_SOCK_CLOSED || info.error != result)
        history_fail(e->h, "session %u: ask_rbuf() says %s, status %s", s->index, tenon_error_text(result),
                     tenon_error_text(info.error));
    /* When all has arrived, its record of TIME-WAIT may have ended before our last FIN came again, and before the
     * application had read to the end. */
    if (s->strict && e->opened &&
        !(result == TENON_ERESET && e->finished && s->peer_closed && s->handed == s->plan->bytes[1]))
        history_fail(e->h, "session %u: ends with %s", s->index, tenon_error_text(result));
    s->failed = 1;
}

static void end_read(struct end_point *e)
{
    struct session *s = e->session;
    const int paused = !may_give_back(e);
    unsigned answers = 0, i;
    int n = 0;

    if (paused && !s->plan->greedy && !s->plan->talks)
        return;
    while (s->nheld < s->plan->hold) {
        tenon_u8 *p;

        n = tenon_sock_ask_rbuf(e->h->socks, e->sk, &p);
        e->h->calls++;
        if (n <= 0)
            break;
        if (e->kind < UDP_SERVER)
            took_stream(e, p, (unsigned)n);
        else
            answers += (unsigned)took_datagram(e, p, (unsigned)n);
    }
    for (i = 0; i < answers && e->kind == UDP_SERVER; i++)
        send_datagram(e, (unsigned)s->sent & 0xFFFF);
    if (s->nheld > 0 && !paused)
        give_back(e);
    while (s->nheld > 0 && !paused && history_chance(e->h, 3) > 0)
        give_back(e);
    if (n < 0)
        end_of_input(e, n);
}

/* ---- writing --------------------------------------------------------------------------------------- */

static void end_write(struct end_point *e)
{
    struct session *s = e->session;
    struct history *h = e->h;
    tenon_u8 *p;
    int n, result;

    while (s->sent < s->plan->bytes[0] && (n = tenon_sock_ask_sbuf(h->socks, e->sk, &p)) > 0) {
        const uint64_t left = s->plan->bytes[0] - s->sent;
        unsigned options = 0;

        if ((unsigned)n > s->plan->most)
            n = (int)s->plan->most;
        if ((unsigned)n >= left) {
            n = (int)left;
            options = s->plan->finish == FIN_WITH_LAST ? TENON_SOCK_FIN : 0;
        }
        history_fill(p, s, 0, s->sent, (uint32_t)n);
        result = tenon_sock_send(h->socks, e->sk, p, (unsigned)n, options);
        h->calls++;
        check_result(h, "send", result, send_results);
        if (result != TENON_OK)
            return;
        s->sent += (unsigned)n;
        e->finished |= options != 0;
    }
    if (s->sent < s->plan->bytes[0] || e->finished || s->plan->finish == FIN_BY_DELETE ||
        s->plan->finish >= DELETE_EARLY)
        return;
    result = tenon_sock_send(h->socks, e->sk, NULL, 0, TENON_SOCK_FIN);
    if (result != TENON_OK)
        history_fail(h, "session %u: FIN alone: %s", s->index, tenon_error_text(result));
    e->finished = 1;
}

/* ---- TCP ------------------------------------------------------------------------------------------- */

/* A server's descriptor has got a client: which one, its port says. With SYN cookies a late copy of a first segment may
 * look like the beginning of another connection (RFC 4987 3.6).
 * @return 1, or 0: it was such a copy */
static int meet(struct end_point *e)
{
    const struct tenon_sock_info info = status_of(e);
    struct session *s = &e->h->session[(info.remote.port - 20000) % 64];
    const unsigned attempt = (info.remote.port - 20000U) / 64;

    if (s->end != NULL || s->small_done || attempt != (s->attempts - 1) % 500) {
        if (e->h->plan.conf.stack.tcp_syncookies == 0)
            history_fail(e->h, "session %u is opened twice", s->index);
        history_note(e->h, "descriptor %d is a copy of session %u", e->sk, s->index);
        return 0;
    }
    s->end = e;
    e->session = s;
    history_note(e->h, "descriptor %d is session %u", e->sk, s->index);
    return 1;
}

static int is_over(struct end_point *e, const struct tenon_sock_info *info)
{
    const struct session *s = e->session;
    const int early = s->sent + s->handed >= s->plan->finish_at;

    if (s->plan->finish >= DELETE_EARLY && early && e->opened)
        return 1;
    if (s->failed || (!s->strict && s->peer_closed && history_now(e->h) > e->retry_us))
        return 1;
    if (!s->peer_done || s->nheld > 0 || s->sent < s->plan->bytes[0])
        return 0;
    return e->finished ? s->index % 2 == 0 || info->state == TENON_SOCK_CLOSED : s->plan->finish == FIN_BY_DELETE;
}

static void client_again(struct end_point *e)
{
    struct session *s = e->session;

    end_delete(e, 0);
    if (e->sk != 0)
        history_fail(e->h, "session %u: a connection that never opened has a packet in its ring", s->index);
    s->small_done = s->failed = 0;
    s->end = e;
    e->session = s;
    e->retry_us = history_now(e->h) + 200000;
}

static void run_tcp(struct end_point *e)
{
    struct tenon_sock_info info = status_of(e);
    struct session *s;

    if (info.state == TENON_SOCK_CLOSED && !e->opened && e->kind == TCP_CLIENT) {
        client_again(e);
        return;
    }
    if (info.state < TENON_SOCK_OPEN)
        return;
    if (e->session == NULL && !meet(e)) {
        end_delete(e, TENON_SOCK_ABORT);
        return;
    }
    if (!e->opened)
        e->h->opened++;
    e->opened = 1;
    s = e->session;
    if (s->plan->misuse && e->ring_given && info.state < TENON_SOCK_CLOSED && !e->finished &&
        history_chance(e->h, 8) == 0)
        misuse(e);
    if (e->ring_given && info.state != TENON_SOCK_CLOSED)
        end_write(e);
    end_read(e);
    if (!s->peer_closed)
        e->retry_us = history_now(e->h) + 20 * (uint64_t)SECOND;    /* a reset that was lost */
    info = status_of(e);
    if (is_over(e, &info))
        end_delete(e, s->plan->finish == ABORT || (!s->strict && s->peer_closed) ? TENON_SOCK_ABORT : 0);
}

/* ---- UDP ------------------------------------------------------------------------------------------- */

static void run_udp(struct end_point *e)
{
    struct session *s = e->session;

    e->opened = 1;
    if (s->plan->misuse && e->ring_given && history_chance(e->h, 8) == 0)
        misuse(e);
    end_read(e);
    if (e->kind == UDP_CLIENT && s->got < s->plan->bytes[1] && history_now(e->h) >= e->retry_us) {
        send_datagram(e, (unsigned)s->sent & 0xFFFF);
        e->retry_us = history_now(e->h) + history_pause(e->h);
    }
    if (s->peer_done && s->nheld == 0)
        end_delete(e, 0);
    else if (e->kind == UDP_CLIENT && s->got >= s->plan->bytes[1])
        s->peer_done = 1;
}

/* ---- all of them ------------------------------------------------------------------------------------ */

static int servers_needed(const struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++)
        if (h->session[i].plan->kind == TCP_SERVER && !h->session[i].small_done)
            return 1;
    return 0;
}

static void run_one(struct end_point *e)
{
    if (e->session == NULL && e->kind != TCP_SERVER)
        return;    /* it is over */
    if (e->sk == 0 && (e->session != NULL || servers_needed(e->h)))
        try_create(e);
    if (e->sk == 0 || e->leaving)
        return;
    give_ring(e);
    if (e->kind >= UDP_SERVER)
        run_udp(e);
    else
        run_tcp(e);
}

uint64_t end_run(struct history *h)
{
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(h->end); i++) {
        struct end_point *e = &h->end[i];

        if (e->h != NULL && (e->session == NULL || history_now(h) >= e->session->plan->at_us))
            run_one(e);
    }
    return 0;
}

/* GONE, above all: a program that asks in turns hears of everything else by asking. */
void end_event(void *app, int sk, unsigned events)
{
    struct history *h = app;
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(h->end); i++) {
        struct end_point *e = &h->end[i];

        if (e->h == NULL || e->sk != sk)
            continue;
        if (e->leaving && events == TENON_SOCK_GONE)
            end_gone(e);
        else if (e->leaving || (events & TENON_SOCK_GONE))
            history_fail(h, "descriptor %d: events %#x", sk, events);
        else if (h->plan.events)
            run_one(e);
        return;
    }
    history_fail(h, "events %#x of descriptor %d, which is not there", events, sk);
}

void end_start(struct history *h)
{
    unsigned i, n = 0, sizes = 0;

    for (i = 0; i < h->plan.nsessions; i++) {
        struct session *s = &h->session[i];
        struct end_point *e = &h->end[n];

        if (s->plan->kind == TCP_SERVER) {
            sizes = s->plan->ring_bytes;
            continue;
        }
        e->h = h;
        e->kind = s->plan->kind;
        e->session = s;
        e->ring_bytes = s->plan->ring_bytes;
        s->end = e;
        n++;
    }
    for (i = 0; i < h->plan.servers; i++) {
        h->end[n].h = h;
        h->end[n].kind = TCP_SERVER;
        h->end[n].ring_bytes = sizes;
        n++;
    }
}

void end_delete_all(struct history *h)
{
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(h->end); i++) {
        struct end_point *e = &h->end[i];

        if (e->h != NULL && e->sk != 0 && !e->leaving)
            end_delete(e, TENON_SOCK_ABORT);
    }
}
