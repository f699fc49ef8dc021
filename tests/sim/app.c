/* SPDX-License-Identifier: MIT */
/* The applications: they send bytes that follow from where they stand in the stream, look at every byte that
 * arrives, and do what the plan says - pausing, finishing, aborting, keeping what they have got. */
#include "sim.h"

#include "tests/intruder/intruder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the bytes ------------------------------------------------------------------------------- */

/* The stream is made of blocks; each block is a piece of one random table, from a place that its number
 * and the stream's key tell. */
enum { BLOCK = 8192, REQUEST_MAX = 1400 };

static const uint8_t *block_of(uint64_t key, uint64_t block)
{
    static uint8_t table[2 * BLOCK];
    unsigned i;

    if (table[0] == 0) {
        for (i = 0; i < sizeof(table); i++)
            table[i] = (uint8_t)wire_mix(i + 99);
        table[0] = 0x5A;
    }
    return table + wire_mix(key ^ wire_mix(block)) % BLOCK;
}

void app_fill(uint8_t *to, uint64_t key, uint64_t off, uint32_t n)
{
    while (n > 0) {
        const uint32_t at = (uint32_t)(off % BLOCK), take = n < BLOCK - at ? n : BLOCK - at;

        memcpy(to, block_of(key, off / BLOCK) + at, take);
        to += take;
        off += take;
        n -= take;
    }
}

int app_matches(const uint8_t *bytes, uint64_t key, uint64_t off, uint32_t n)
{
    while (n > 0) {
        const uint32_t at = (uint32_t)(off % BLOCK), take = n < BLOCK - at ? n : BLOCK - at;

        if (memcmp(bytes, block_of(key, off / BLOCK) + at, take) != 0)
            return 0;
        bytes += take;
        off += take;
        n -= take;
    }
    return 1;
}

/* The stream that a side writes. An echo writes what its peer has written. */
static uint64_t stream_key(const struct side *side)
{
    const unsigned which = side->session->plan->kind == SESSION_ECHO ? 0 : side->which;

    return sim_hash(side->sim, side->session->index, which);
}

static struct side *peer_of(const struct side *side)
{
    return side->session->side[!side->which];
}

static const struct plan_host *server_of(const struct side *side)
{
    return &side->sim->plan->host[side->session->plan->server];
}

static const char *side_name(const struct side *side)
{
    static char text[4][40];
    static unsigned next;

    next = (next + 1) % 4;
    snprintf(text[next], sizeof(text[next]), "session %u %s", side->session->index, side->which ? "server" : "client");
    return text[next];
}

/* ---- buffers of the application -------------------------------------------------------------- */

struct app_buf {
    struct tenon_buf buf;
    struct sim *sim;
};

static void app_buf_release(struct tenon_buf *buf)
{
    struct app_buf *own = TENON_CONTAINER(buf, struct app_buf, buf);

    own->sim->app_bufs--;
    memset(buf->data, 0xDD, buf->size);
    free(own);
}

struct tenon_buf *app_buf_new(struct sim *sim, uint32_t bytes)
{
    struct app_buf *own = malloc(sizeof(*own) + bytes);

    if (!own)
        abort();
    own->sim = sim;
    own->buf.data = (tenon_u8 *)(own + 1);
    own->buf.size = bytes;
    own->buf.refs = 1;
    own->buf.release = app_buf_release;
    sim->app_bufs++;
    return &own->buf;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void side_tick(void *arg);

static void side_progress(struct side *side)
{
    side->session->progress_at = sim_now(side->sim);
}

/* Nobody is to wonder about silence until then. */
static void session_is_busy(struct session *session, uint64_t until)
{
    if (until > session->busy_until)
        session->busy_until = until;
}

/* Look after this side again, later. */
static void side_later(struct side *side, uint64_t us)
{
    const uint64_t at = wire_now(side->sim->wire) + us, since = at - side->sim->start;

    if (side->ticks[0] == at || side->ticks[1] == at)
        return;
    side->ticks[1] = side->ticks[0];
    side->ticks[0] = at;
    session_is_busy(side->session, since);
    if (wire_at(side->sim->wire, at, side_tick, side) != 0)
        abort();
}

/* The same when there was no memory: one try after the other, however often others ask in between. */
static void side_retry(struct side *side)
{
    const uint64_t now = wire_now(side->sim->wire);

    if (side->retry_at > now)
        return;
    side->retry_at = now + 5000;
    side_later(side, 5000);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int side_naps(struct side *side)
{
    const uint64_t now = wire_now(side->sim->wire);

    if (side->plan->nap_us > 0 && !side->napped && side->written >= side->plan->nap_at) {
        side->napped = 1;
        side->naps_until = now + side->plan->nap_us;
        side_later(side, side->plan->nap_us);
        sim_note(side->sim, "%s: writer naps for %u us", side_name(side), side->plan->nap_us);
    }
    return side->naps_until > now;
}

static void side_finish(struct side *side)
{
    const int error = tenon_tcp_finish(side->conn);

    if (error != TENON_OK)
        sim_fail(side->sim, "finish refused", "%s: tenon_tcp_finish() says %s", side_name(side),
                 tenon_error_text(error));
    side->sent_fin = 1;
    sim_note(side->sim, "%s: finish after %" PRIu64 " bytes", side_name(side), side->written);
}

static void side_try_finish(struct side *side)
{
    if (!side->conn || side->sent_fin || side->written < side->plan->bytes || side_naps(side))
        return;
    if (side->plan->urgent && side->written > 0)
        tenon_tcp_urgent(side->conn);
    switch (side->plan->finish) {
    case FINISH_AFTER_PEER:
        if (side->peer_finished)
            side_finish(side);
        break;
    case FINISH_CLOSE:
        sim_note(side->sim, "%s: close", side_name(side));
        side->sent_fin = 1;
        tenon_tcp_close(side->conn);
        break;
    default: side_finish(side); break;
    }
}

static int side_try_abort(struct side *side)
{
    if (side->plan->finish != FINISH_ABORT || !side->conn || !side->opened
        || side->written + side->received < side->plan->finish_at)
        return 0;
    sim_note(side->sim, "%s: abort", side_name(side));
    tenon_tcp_abort(side->conn);
    if (!side->closed)
        sim_fail(side->sim, "abort without closed()", "%s: tenon_tcp_abort() has not called closed()",
                 side_name(side));
    return 1;
}

/* @return bytes queued; 0: not now; < 0: an error */
static tenon_i32 write_zero_copy(struct side *side, uint32_t n)
{
    const uint32_t off = (uint32_t)(wire_mix(side->written) % 32);
    struct tenon_buf *buf = app_buf_new(side->sim, off + n);
    const struct tenon_span span = {buf, off, n};
    int error;

    app_fill(buf->data + off, stream_key(side), side->written, n);
    error = tenon_tcp_send(side->conn, &span);
    if (side->sim->options.bug == BUG_KEEP_BUFFER && !side->sim->bug_done && side->written > 0)
        side->sim->bug_done = 1;
    else
        tenon_buf_put(buf);
    if (error == TENON_OK)
        return (tenon_i32)n;
    return error == TENON_EAGAIN ? 0 : error;
}

static tenon_i32 write_copy(struct side *side, uint32_t n)
{
    uint8_t bytes[20000];

    if (n > sizeof(bytes))
        n = sizeof(bytes);
    app_fill(bytes, stream_key(side), side->written, n);
    return tenon_tcp_write(side->conn, bytes, n);
}

static uint32_t chunk_size(const struct side *side)
{
    const uint64_t left = side->plan->bytes - side->written;
    uint64_t n = 1 + sim_hash(side->sim, side->session->index + 1000, side->written) % side->plan->chunk_max;

    return (uint32_t)(n < left ? n : left);
}

/* A write did not go through. Only an empty pool or an exhausted heap may be the reason. */
static void write_failed(struct side *side, tenon_i32 result)
{
    if (result == TENON_ENOMEM || result == TENON_EAGAIN) {
        side_retry(side);
        return;
    }
    sim_fail(side->sim, "write refused", "%s: writing at %" PRIu64 " says %s", side_name(side), side->written,
             tenon_error_text((int)result));
}

static void side_write(struct side *side)
{
    while (side->conn && side->written < side->plan->bytes) {
        const tenon_u32 room = tenon_tcp_room(side->conn);
        uint32_t n = chunk_size(side);
        tenon_i32 result;

        if (room == 0 || side_naps(side))
            return;
        if (side->plan->zero_copy && n > room)
            n = room;    /* a span is taken whole or not at all */
        result = side->plan->zero_copy ? write_zero_copy(side, n) : write_copy(side, n);
        if (result < 0) {
            write_failed(side, result);
            return;
        }
        if ((uint32_t)result > n)
            sim_fail(side->sim, "wrote too much", "%s: %d of %u bytes taken", side_name(side), (int)result, n);
        side->written += (uint32_t)result;
        if (result == 0)
            return;
        if (side->plan->gap_us > 0) {
            side_later(side, side->plan->gap_us);
            return;
        }
    }
}

/* What goes with the SYN: a segment, as what waits for a connection that never comes takes buffers from the others. */
static void side_write_request(struct side *side)
{
    const uint32_t chunk = side->plan->bytes > 0 ? chunk_size(side) : 0, n = chunk < REQUEST_MAX ? chunk : REQUEST_MAX;
    tenon_i32 result = 0;

    if (n > 0)
        result = side->plan->zero_copy ? write_zero_copy(side, n) : write_copy(side, n);
    if (result < 0 && result != TENON_ENOMEM && result != TENON_EAGAIN)
        write_failed(side, result);
    if (result > 0)
        side->written += (uint32_t)result;
}

/* ---- an echo: spans go back as they came ----------------------------------------------------- */

static void keep_span(struct side *side, const struct tenon_span *span)
{
    struct kept *kept = malloc(sizeof(*kept));

    if (!kept)
        abort();
    tenon_buf_ref(span->buf);
    kept->span = *span;
    kept->next = NULL;
    *side->kept_last = kept;
    side->kept_last = &kept->next;
}

static void drop_kept(struct side *side)
{
    struct kept *kept = side->kept;

    side->kept = kept->next;
    if (!side->kept)
        side->kept_last = &side->kept;
    tenon_buf_put(kept->span.buf);
    free(kept);
}

static void side_consume(struct side *side, uint64_t bytes)
{
    side->consumed += bytes;
    if (side->sim->options.bug == BUG_NO_CONSUME && side->session->index % 3 == 0)
        return;
    tenon_tcp_consumed(side->conn, (tenon_u32)bytes);
}

static void side_echo(struct side *side)
{
    while (side->kept && side->conn && !side->sent_fin) {
        struct tenon_span span = side->kept->span;
        const tenon_u32 room = tenon_tcp_room(side->conn);
        int error;

        if (room == 0)
            return;
        if (span.len > room)
            span.len = room;
        error = tenon_tcp_send(side->conn, &span);
        if (error == TENON_EAGAIN)
            return;
        if (error != TENON_OK) {
            write_failed(side, error);
            return;
        }
        side->written += span.len;
        side_consume(side, span.len);
        side->kept->span.off += span.len;
        side->kept->span.len -= span.len;
        if (side->kept->span.len == 0)
            drop_kept(side);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static int side_is_paused(const struct side *side)
{
    return side->paused_until > wire_now(side->sim->wire);
}

/* Consume what is due: all of it, or a piece and the rest a little later. */
static void side_read(struct side *side)
{
    const uint64_t open = side->received - side->consumed;
    uint64_t n = open;

    if (!side->conn || open == 0 || side_is_paused(side) || side->session->plan->kind == SESSION_ECHO)
        return;
    if (side->plan->consume_us > 0 && wire_now(side->sim->wire) < side->consume_due)
        return;
    if (side->plan->pieces)
        n = 1 + sim_hash(side->sim, side->session->index + 2000, side->consumed) % (open / 2 + 1);
    side_consume(side, n);
    while (side->kept && side->kept->span.len <= n) {
        n -= side->kept->span.len;
        drop_kept(side);
    }
    if (side->kept) {
        side->kept->span.off += (tenon_u32)n;
        side->kept->span.len -= (tenon_u32)n;
    }
    if (side->consumed < side->received) {
        side->consume_due = wire_now(side->sim->wire) + side->plan->consume_us / 4 + 500;
        side_later(side, side->plan->consume_us / 4 + 500);
    }
}

static void side_ack(struct side *side)
{
    const uint64_t open = side->received - side->hand_acked;
    uint64_t n = open;

    if (!side->plan->by_hand || !side->conn || open == 0 || wire_now(side->sim->wire) < side->ack_due)
        return;
    if (side->plan->pieces && open > 1 && side->hand_acked % 3 == 0)
        n = open / 2;
    tenon_tcp_ack(side->conn, (tenon_u32)n);
    side->hand_acked += n;
    if (n < open) {
        side->ack_due = wire_now(side->sim->wire) + side->plan->ack_us + 100;
        side_later(side, side->plan->ack_us + 100);
    }
}

/* A server of Fast Open or of SYN cookies may take a late copy of a first segment for the beginning of
 * another connection (RFC 7413 2.1, RFC 4987 3.6). */
static int may_open_again(const struct side *side)
{
    return side->which == 1 && (server_of(side)->fastopen || server_of(side)->stack.tcp_syncookies);
}

/* Bytes that the peer has written; the most, where it has opened again. */
static uint64_t peer_written(const struct side *side)
{
    const struct side *peer = peer_of(side), *other;
    uint64_t most = peer->written;

    for (other = side->sim->sides; other && may_open_again(peer); other = other->next)
        if (other->session == side->session && other->which == peer->which && other->written > most)
            most = other->written;
    return most;
}

static int peer_has_finished(const struct side *side)
{
    const struct side *peer = peer_of(side), *other;

    if (!peer || !may_open_again(peer))
        return peer && peer->sent_fin && side->received == peer->written;
    for (other = side->sim->sides; other; other = other->next)
        if (other->session == side->session && other->which == peer->which && other->sent_fin
            && other->written == side->received)
            return 1;
    return 0;
}

static void check_bytes(struct side *side, const struct tenon_span *spans, unsigned n)
{
    const struct side *peer = peer_of(side);
    unsigned i;

    if (!peer)
        sim_fail(side->sim, "data from nobody", "%s: received data, and no peer has written any", side_name(side));
    for (i = 0; i < n; i++) {
        if (spans[i].len == 0 || spans[i].off + spans[i].len > spans[i].buf->size)
            sim_fail(side->sim, "bad span", "%s: span of %u bytes at %u of %u", side_name(side), spans[i].len,
                     spans[i].off, spans[i].buf->size);
        if (side->received + spans[i].len > peer->written && side->received + spans[i].len > peer_written(side))
            sim_fail(side->sim, "more than was sent", "%s: has received %" PRIu64 " bytes, peer has written %" PRIu64,
                     side_name(side), side->received + spans[i].len, peer->written);
        if (!app_matches(tenon_span_data(&spans[i]), stream_key(peer), side->received, spans[i].len))
            sim_fail(side->sim, "wrong bytes", "%s: bytes %" PRIu64 " to %" PRIu64 " are not what was sent",
                     side_name(side), side->received, side->received + spans[i].len);
        side->received += spans[i].len;
        side->sim->log->bytes += spans[i].len;
        if (side->sim->options.bug == BUG_SKIP_BYTE && !side->sim->bug_done && side->received > 1000) {
            side->sim->bug_done = 1;
            side->received--;
        }
    }
}

static void side_received(struct side *side, const struct tenon_span *spans, unsigned n)
{
    const struct plan_side *plan = side->plan;
    const int keep = side->session->plan->kind == SESSION_ECHO ? side->which == 1 : plan->consume_us > 0;
    const uint64_t now = wire_now(side->sim->wire);
    unsigned i;

    check_bytes(side, spans, n);
    for (i = 0; i < n && keep; i++)
        keep_span(side, &spans[i]);
    if (plan->pause_us > 0 && !side->paused_once && side->received >= plan->pause_at) {
        side->paused_once = 1;
        side->paused_until = now + plan->pause_us;
        side_later(side, plan->pause_us);
        sim_note(side->sim, "%s: reader pauses for %u us", side_name(side), plan->pause_us);
    }
    if (plan->consume_us > 0 && side->consume_due <= now) {
        side->consume_due = now + plan->consume_us;
        side_later(side, plan->consume_us);
    }
    if (plan->by_hand && side->ack_due <= now) {
        side->ack_due = now + plan->ack_us;
        side_later(side, plan->ack_us);
    }
}

/* ---- everything that may be due -------------------------------------------------------------- */

static void side_work(struct side *side)
{
    const int echo = side->session->plan->kind == SESSION_ECHO;

    if (!side->conn || !side->opened)
        return;
    if (side_try_abort(side))
        return;
    side_ack(side);
    side_read(side);
    if (echo && side->which == 0 && side->received > side->consumed)    /* its client takes all at once */
        side_consume(side, side->received - side->consumed);
    if (echo && side->which == 1)
        side_echo(side);
    else
        side_write(side);
    if (!side_try_abort(side))
        side_try_finish(side);
}

static void side_tick(void *arg)
{
    struct side *side = arg;
    struct sim *sim = side->sim;

    if (!side->conn || sim->cleaning)
        return;
    if (side->peer_finished && side->plan->hold_fin && !side->fin_acked
        && wire_now(sim->wire) >= side->fin_due) {
        const int error = tenon_tcp_ack_fin(side->conn);

        if (error != TENON_OK)
            sim_fail(sim, "held FIN", "%s: tenon_tcp_ack_fin() says %s", side_name(side), tenon_error_text(error));
        side->fin_acked = 1;
    }
    if (side->conn)
        side_work(side);
    wire_wake(sim->host[side->host].host);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct side *event_side(struct tenon_tcp *conn, void *app, const char *event)
{
    struct side *side = app;
    struct tenon_tcp_info info;

    if (side->closed || side->conn != conn)
        sim_fail(side->sim, "event after the end", "%s: %s() after closed()", side_name(side), event);
    if (side->early) {
        tenon_tcp_status(conn, &info);
        side->early = info.state == TENON_TCP_SYN_RECEIVED || info.state == TENON_TCP_CLOSED;
    }
    side_progress(side);
    return side;
}

/* A late copy of a SYN reaches a server whose connection is over. Its client, in TIME-WAIT, answers the
 * SYN-ACK with the number that it has acknowledged last (RFC 9293 3.10.7.4). As a rule that is none of the
 * new connection, and ends it; but initial numbers follow a clock, and may just have come to where the old
 * connection has ended. */
static int is_taken_for_answer(const struct side *side, const struct side *before)
{
    return side->which == 1 && before->closed && before->why == TENON_OK &&
           check_acknowledged(side->conn) == before->last_acked;
}

/* Which of a session's connections at this end is its own: the one that is there. What a copy of an old
 * segment opens is another one, unless the handshake of the first never came to its end. */
static void take_place(struct side *side)
{
    struct side *before = side->session->side[side->which];

    if (!before || before == side || !before->opened || (before->closed && before->early)) {
        side->session->side[side->which] = side;
        return;
    }
    if (!is_taken_for_answer(side, before) && (!before->closed || !may_open_again(side)))
        sim_fail(side->sim, "two connections", "%s: a second connection with the same addresses has opened",
                 side_name(side));
    side->again = 1;
}

static void on_opened(struct tenon_tcp *conn, void *app)
{
    struct side *side = event_side(conn, app, "opened");
    struct tenon_tcp_info info;

    if (side->opened)
        sim_fail(side->sim, "opened twice", "%s", side_name(side));
    take_place(side);
    tenon_tcp_status(conn, &info);
    side->early = info.state == TENON_TCP_SYN_RECEIVED;
    side->opened = 1;
    side->sim->log->opened++;
    side->sim->host[side->host].opened++;
    sim_note(side->sim, "%s: opened%s%s", side_name(side), side->early ? " by a SYN" : "", side->again ? " again" : "");
    side_work(side);
}

static void on_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct side *side = event_side(conn, app, "received");

    if (!side->opened || side->peer_finished)
        sim_fail(side->sim, "data out of time", "%s: received() %s", side_name(side),
                 side->opened ? "after finished()" : "before opened()");
    side_received(side, spans, n);
    side_work(side);
}

static void on_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct side *side = event_side(conn, app, "acked");

    side->acked += bytes;
    if (side->acked > side->written)
        sim_fail(side->sim, "too much acknowledged", "%s: %" PRIu64 " of %" PRIu64 " bytes", side_name(side),
                 side->acked, side->written);
    side_work(side);
}

static void on_finished(struct tenon_tcp *conn, void *app)
{
    struct side *side = event_side(conn, app, "finished");
    const struct side *peer = peer_of(side);

    if (side->peer_finished)
        sim_fail(side->sim, "finished twice", "%s", side_name(side));
    if (!peer_has_finished(side))
        sim_fail(side->sim, "false end", "%s: finished() after %" PRIu64 " bytes; peer has written %" PRIu64
                 " and has %sfinished", side_name(side), side->received, peer ? peer->written : 0,
                 peer && peer->sent_fin ? "" : "not ");
    side->peer_finished = 1;
    sim_note(side->sim, "%s: peer has finished", side_name(side));
    if (side->plan->hold_fin) {
        side->fin_due = wire_now(side->sim->wire) + side->plan->hold_fin_us;
        side_later(side, side->plan->hold_fin_us);
    }
    side_work(side);
}

static int side_is_complete(const struct side *side)
{
    return side->sent_fin && side->peer_finished && side->acked == side->written;
}

/* In a flood that no cookies answer, the oldest half-open connection gives way (RFC 4987 3.4), and may be one that only
 * takes its time; or whose answers wait for a place among the neighbours that are looked for. */
static int has_given_way(const struct side *side)
{
    const struct sim *sim = side->sim;
    const struct tenon *server = sim->host[side->session->plan->server].stack;

    return sim->intruded && side->which == 0 && side->acked == 0 && side->received == 0 &&
           (!TENON_WITH_STATS || tenon_stat(server, TENON_STAT_TCP_BACKLOG_RECYCLED) > 0 ||
            tenon_stat(server, TENON_STAT_NEIGH_FULL) > 0);
}

/* A strict session ends well. A reset instead of the very last acknowledgement is no harm: the peer's
 * TIME-WAIT may have been evicted or too short. */
static void check_end(const struct side *side, int why)
{
    const struct session *session = side->session;
    const struct side *peer = peer_of(side);

    if (why == TENON_OK && side->plan->finish < FINISH_CLOSE && !side_is_complete(side))
        sim_fail(side->sim, "incomplete", "%s: closed(TENON_OK) with %" PRIu64 " of %" PRIu64
                 " bytes acknowledged, finished %u, peer finished %u", side_name(side), side->acked, side->written,
                 side->sent_fin, side->peer_finished);
    if (!session->strict || side->sim->cleaning || !side->opened || why == TENON_OK || side_is_complete(side))
        return;
    if (why == TENON_ERESET && side->sent_fin && side->peer_finished)
        return;
    if (side->again || side->early)
        return;    /* the peer does not know of this one; or the handshake has failed, and its SYN comes again */
    if (why == TENON_ERESET && !peer && server_of(side)->stack.tcp_syncookies) {    /* its cookie is back too late */
        if (side->napped && side->plan->nap_us > COOKIES_EXPECTED_US)
            side->session->strict = 0;    /* and the server has never heard of it */
        return;
    }
    if (why == TENON_ERESET && has_given_way(side)) {
        side->session->strict = 0;    /* the server may never have heard of it */
        return;
    }
    sim_fail(side->sim, "lost connection", "%s: closed(%s); written %" PRIu64 " acked %" PRIu64 " received %" PRIu64
             ", finished %u, peer finished %u", side_name(side), tenon_error_text(why), side->written, side->acked,
             side->received, side->sent_fin, side->peer_finished);
}

static void on_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct side *side = event_side(conn, app, "closed");

    sim_note(side->sim, "%s: closed, %s", side_name(side), tenon_error_text(why));
    check_end(side, why);
    side->closed = 1;
    side->why = why;
    side->last_acked = check_acknowledged(conn);
    side->conn = NULL;
    while (side->kept)
        drop_kept(side);
    if (side->opened)
        side->sim->host[side->host].closed++;
    side->sim->host[side->host].early += side->early;
    if (side->which == 0 && !side->opened && side->session->strict && !side->sim->cleaning) {
        /* The attempt to connect has failed, as it may; there is another. */
        if (why == TENON_OK || why == TENON_EABORTED)
            sim_fail(side->sim, "failed to open", "%s: closed(%s) before opened()", side_name(side),
                     tenon_error_text(why));
        sim_fail(side->sim, "no connection", "%s: could not connect, %s", side_name(side), tenon_error_text(why));
    }
}

static void on_urgent(struct tenon_tcp *conn, void *app, tenon_u32 ahead)
{
    struct side *side = event_side(conn, app, "urgent");

    if (ahead > 0x10000 + (4U << 20))    /* 16 bits ahead of a segment that is ahead itself */
        sim_fail(side->sim, "urgent", "%s: urgent pointer %u ahead", side_name(side), ahead);
}

static void on_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    struct side *side = event_side(conn, app, "soft_error");

    sim_note(side->sim, "%s: soft error, %s", side_name(side), tenon_error_text(error));
}

static enum tenon_verdict on_incoming(struct tenon_tcp *conn, void *app);

static const struct tenon_tcp_events side_events = {
    NULL, on_opened, on_received, on_acked, on_finished, on_closed, on_urgent, on_soft_error,
};

static const struct tenon_tcp_events port_events = {
    on_incoming, on_opened, on_received, on_acked, on_finished, on_closed, on_urgent, on_soft_error,
};

/* ---- opening --------------------------------------------------------------------------------- */

static struct side *side_new(struct session *session, struct sim *sim, unsigned which)
{
    struct side *side = calloc(1, sizeof(*side));

    if (!side)
        abort();
    side->sim = sim;
    side->session = session;
    side->plan = &session->plan->side[which];
    side->which = which;
    side->host = which ? session->plan->server : session->plan->client;
    side->kept_last = &side->kept;
    side->next = sim->sides;
    sim->sides = side;
    return side;
}

static void set_option(struct side *side, enum tenon_tcp_option option, uint32_t value)
{
    const int error = tenon_tcp_set(side->conn, option, value);
    const int in_syn = option == TENON_TCP_TIMESTAMPS || option == TENON_TCP_SACK || option == TENON_TCP_WINDOW_SCALING;

    if (error == TENON_EINVAL && in_syn && side->which == 1 && server_of(side)->stack.tcp_syncookies)
        return;    /* the cookie has agreed on it */
    if (error != TENON_OK && error != TENON_ENOMEM)
        sim_fail(side->sim, "option refused", "%s: option %d = %u says %s", side_name(side), (int)option, value,
                 tenon_error_text(error));
}

/* Only who opens decides; a server's listener has decided before. */
static int may_fastopen(const struct side *side)
{
    return side->plan->fastopen && (side->which == 0 || side->session->plan->kind == SESSION_BOTH_OPEN);
}

static void set_options(struct side *side)
{
    const struct plan_side *plan = side->plan;
    const struct {
        enum tenon_tcp_option option;
        int set;
        uint32_t value;
    } options[] = {
        {TENON_TCP_NODELAY, plan->nodelay, 1},
        {TENON_TCP_CORK, plan->cork, 1},
        {TENON_TCP_NO_DELAYED_ACK, plan->no_delack, 1},
        {TENON_TCP_ACK_BY_HAND, plan->by_hand, 1},
        {TENON_TCP_HOLD_FIN, plan->hold_fin, 1},
        {TENON_TCP_TIMESTAMPS, plan->no_timestamps, 0},
        {TENON_TCP_SACK, plan->no_sack, 0},
        {TENON_TCP_WINDOW_SCALING, plan->no_scaling, 0},
        {TENON_TCP_RCV_BUF, plan->rcv_buf > 0, plan->rcv_buf},
        {TENON_TCP_SND_BUF, plan->snd_buf > 0, plan->snd_buf},
        {TENON_TCP_MSS_MAX, plan->mss_max > 0, plan->mss_max},
        {TENON_TCP_KEEPALIVE_IDLE_S, plan->keepalive_s > 0, plan->keepalive_s},
        {TENON_TCP_MSL_MS, plan->msl_ms > 0, plan->msl_ms},
        {TENON_TCP_FASTOPEN, may_fastopen(side), 1},
    };
    unsigned i;

    for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (options[i].set)
            set_option(side, options[i].option, options[i].value);
    /* Without memory for its options a connection has none: then what needs them is not done either. */
    if (plan->by_hand && !tenon_tcp_get(side->conn, TENON_TCP_ACK_BY_HAND))
        side->session->strict = 0;
    if (plan->hold_fin && !tenon_tcp_get(side->conn, TENON_TCP_HOLD_FIN))
        side->fin_acked = 1;
}

/* The session that a request belongs to: the latest that was started with these addresses and ports. */
static struct session *session_of(struct tenon_tcp *conn, const struct sim_port *port)
{
    struct sim *sim = port->sim;
    struct session *found = NULL;
    struct tenon_tcp_info info;
    unsigned client, i;

    tenon_tcp_status(conn, &info);
    client = (info.remote.ip.w[TENON_IP4_WORD] & 0xFF) - 1;
    for (i = 0; i < sim->plan->nsessions; i++) {
        struct session *session = &sim->session[i];
        const struct plan_session *plan = session->plan;

        if (session->client_port == info.remote.port && plan->client == client && plan->server == port->host
            && plan->port == port->index && plan->kind != SESSION_NOBODY
            && plan->kind != SESSION_CLOSED_PORT && plan->v6 == !tenon_ip_is_v4(&info.remote.ip)
            && (!found || session->order > found->order))
            found = session;
    }
    if (!found)
        sim_fail(sim, "connection from nobody", "host %u: a request from host %u port %u", port->host, client,
                 info.remote.port);
    return found;
}

/* The time of a held request has come. */
static void decide(void *arg)
{
    struct side *side = arg;
    const enum tenon_verdict verdict = (enum tenon_verdict)side->session->plan->then;
    int error;

    if (!side->conn || side->decided || side->sim->cleaning)
        return;
    side->decided = 1;
    sim_note(side->sim, "%s: decides %d", side_name(side), (int)verdict);
    if (verdict == TENON_HOLD)
        return;    /* never decided */
    if (verdict == TENON_ACCEPT)
        side->held = 0;
    error = tenon_tcp_decide(side->conn, verdict);
    if (error != TENON_OK)
        sim_fail(side->sim, "decide", "%s: tenon_tcp_decide() says %s", side_name(side), tenon_error_text(error));
    if (verdict != TENON_ACCEPT)
        side->conn = NULL;    /* gone, without closed() */
    wire_wake(side->sim->host[side->host].host);
}

/* A request by an intruder: he does not hear what it is answered with. */
static void on_ghost_opened(struct tenon_tcp *conn, void *app)
{
    const struct sim_port *port = app;

    (void)conn;
    sim_fail(port->sim, "ghost", "host %u: a connection has opened that nobody has asked for", port->host);
}

static void on_ghost_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn, (void)app, (void)why;
}

static const struct tenon_tcp_events ghost_events = { .opened = on_ghost_opened, .closed = on_ghost_closed };

static int is_ghost(const struct sim *sim, const struct tenon_tcp *conn)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(conn, &info);
    return sim->intruded && info.remote.port >= INTRUDER_PORTS && info.remote.port < INTRUDER_PORTS + INTRUDER_PORTS_N;
}

static enum tenon_verdict on_incoming(struct tenon_tcp *conn, void *app)
{
    struct sim_port *port = app;
    struct session *session;
    struct side *side;
    enum tenon_verdict verdict;

    if (is_ghost(port->sim, conn)) {
        tenon_tcp_handler(conn, &ghost_events, port);
        return TENON_ACCEPT;
    }
    session = session_of(conn, port);
    verdict = (enum tenon_verdict)session->plan->verdict;
    session->progress_at = sim_now(port->sim);
    if (verdict == TENON_REFUSE || verdict == TENON_IGNORE)
        return verdict;
    side = side_new(session, port->sim, 1);
    side->host = port->host;
    side->conn = conn;
    tenon_tcp_handler(conn, &side_events, side);
    set_options(side);
    sim_note(port->sim, "%s: incoming%s", side_name(side), verdict == TENON_HOLD ? ", held" : "");
    if (verdict == TENON_HOLD) {
        side->held = 1;
        if (wire_at(port->sim->wire, wire_now(port->sim->wire) + session->plan->hold_us, decide, side) != 0)
            abort();
        session_is_busy(session, sim_now(port->sim) + session->plan->hold_us);
    }
    return verdict;
}

void app_listen(struct sim *sim, unsigned host, unsigned index)
{
    struct sim_port *port = &sim->host[host].port[index];
    struct tenon_addr at;
    int error;

    if (port->listener || sim->cleaning)
        return;
    memset(&at, 0, sizeof(at));
    at.port = (tenon_u16)(80 + index);
    port->sim = sim;
    port->host = host;
    port->index = index;
    error = tenon_tcp_listen(sim->host[host].stack, &port->listener, &at, &port_events, port,
                             sim->plan->host[host].backlog);
    if (error == TENON_OK && sim->plan->host[host].fastopen)
        (void)tenon_tcp_listener_set(port->listener, TENON_TCP_FASTOPEN, 1);    /* not if there is no memory */
    if (error == TENON_OK)
        return;
    port->listener = NULL;
    if (error != TENON_ENOMEM && (error != TENON_ENOADDR || !sim_is_nameless(sim, host)))
        sim_fail(sim, "listen", "host %u port %u: tenon_tcp_listen() says %s", host, at.port, tenon_error_text(error));
}

static void session_retry(void *arg)
{
    struct side *side = arg;

    if (!side->sim->cleaning)
        app_session_start(side->sim, side->session->index);
}

static int connect_side(struct side *side, const struct tenon_addr *from, const struct tenon_addr *to)
{
    struct sim *sim = side->sim;
    const int error = tenon_tcp_connect(sim->host[side->host].stack, &side->conn, from, to, &side_events, side);

    wire_wake(sim->host[side->host].host);
    if (error != TENON_OK) {
        side->conn = NULL;
        sim_note(sim, "%s: connect says %s", side_name(side), tenon_error_text(error));
        if (error != TENON_ENOMEM && error != TENON_ELIMIT && error != TENON_EUNREACH
            && (error != TENON_ENOADDR || !sim_is_nameless(sim, side->host)))
            sim_fail(sim, "connect refused", "%s: tenon_tcp_connect() says %s", side_name(side),
                     tenon_error_text(error));
        return error;
    }
    sim_note(sim, "%s: connects", side_name(side));
    set_options(side);
    if (may_fastopen(side))
        side_write_request(side);
    return TENON_OK;
}

static void session_addresses(const struct session *session, struct tenon_addr *from, struct tenon_addr *to)
{
    const struct plan_session *plan = session->plan;
    const struct sim *sim = session->side[0] ? session->side[0]->sim : NULL;
    unsigned server = plan->server;

    if (!sim)
        return;
    if (plan->kind == SESSION_NOBODY)
        server = 200;
    sim_address(sim, from, plan->client, plan->v6, plan->ephemeral && plan->kind != SESSION_BOTH_OPEN
                                                       ? 0U : 200U + session->index);
    sim_address(sim, to, server, plan->v6,
                plan->kind == SESSION_CLOSED_PORT ? 9U
                : plan->kind == SESSION_BOTH_OPEN ? 600U + session->index
                                                  : 80U + plan->port);
}

/* Both connect to each other at the same moment (RFC 9293 3.5, figure 8). */
static void start_both_open(struct session *session, struct sim *sim, const struct tenon_addr *from,
                            const struct tenon_addr *to)
{
    struct side *server = side_new(session, sim, 1);

    session->side[1] = server;
    connect_side(server, to, from);
}

void app_session_start(struct sim *sim, unsigned index)
{
    struct session *session = &sim->session[index];
    const struct plan_session *plan = session->plan;
    struct side *side = side_new(session, sim, 0);
    struct tenon_addr from, to;
    struct tenon_tcp_info info;

    memset(&from, 0, sizeof(from));
    memset(&to, 0, sizeof(to));
    session->started = 1;
    session->side[0] = side;
    session->progress_at = sim_now(sim);
    session_addresses(session, &from, &to);
    if (plan->ephemeral && plan->kind != SESSION_BOTH_OPEN && !sim_is_nameless(sim, plan->client))
        from.ip = tenon_ip_any();    /* else it might become a link-local one, which has no host's number */

    if (connect_side(side, &from, &to) != TENON_OK) {
        session_is_busy(session, sim_now(sim) + 500000);
        if (wire_at(sim->wire, wire_now(sim->wire) + 500000, session_retry, side) != 0)
            abort();
        return;
    }
    tenon_tcp_status(side->conn, &info);
    session->client_port = info.local.port;
    session->order = sim->next_order++;
    if (plan->kind == SESSION_BOTH_OPEN)
        start_both_open(session, sim, &from, &to);
}

/* Sessions that must end well whatever the network does: both sides finish in order, and nobody stands in
 * the way. */
int app_is_strict(const struct sim *sim, const struct plan_session *plan)
{
    unsigned i;

    if (plan->kind != SESSION_NORMAL && plan->kind != SESSION_ECHO)
        return 0;
    if (plan->verdict != TENON_ACCEPT && (plan->verdict != TENON_HOLD || plan->then != TENON_ACCEPT))
        return 0;
    if (plan->side[0].finish >= FINISH_CLOSE || plan->side[1].finish >= FINISH_CLOSE)
        return 0;
    if (sim->plan->host[plan->server].stack.tcp_conns_max < 1000
        || sim->plan->host[plan->client].stack.tcp_conns_max < 1000)
        return 0;
    if (sim->plan->host[plan->server].backlog > 0)
        return 0;    /* half-open ones are given up early */
    if (sim->plan->host[plan->server].stack.tcp_syncookies && plan->side[0].bytes == 0
        && plan->side[0].finish == FINISH_AFTER_PEER)
        return 0;    /* if its ACK is lost, nothing brings the cookie: RFC 4987 3.6 */
    for (i = 0; i < sim->plan->nevents; i++) {
        const struct plan_event *event = &sim->plan->event[i];

        if (event->kind == EVENT_LISTENER && !sim->plan->event_off[i] && event->host == plan->server
            && event->port == plan->port)
            return 0;
    }
    return 1;
}

/* ---- the end --------------------------------------------------------------------------------- */

void app_cleanup(struct sim *sim)
{
    struct side *side;
    unsigned i, k;

    sim->cleaning = 1;
    for (side = sim->sides; side; side = side->next) {
        if (!side->conn)
            continue;
        if (side->held) {
            if (tenon_tcp_decide(side->conn, TENON_REFUSE) != TENON_OK)
                sim_fail(sim, "decide", "%s: a held request cannot be refused", side_name(side));
            side->conn = NULL;
            continue;
        }
        tenon_tcp_abort(side->conn);
        if (side->conn)
            sim_fail(sim, "abort without closed()", "%s: at the end", side_name(side));
    }
    for (i = 0; i < sim->plan->nhosts; i++) {
        for (k = 0; k < PLAN_PORTS; k++) {
            if (sim->host[i].port[k].listener)
                tenon_tcp_listener_close(sim->host[i].port[k].listener);
            sim->host[i].port[k].listener = NULL;
        }
        wire_wake(sim->host[i].host);
    }
}
