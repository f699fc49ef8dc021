/* SPDX-License-Identifier: MIT */
/* The application of the other machine, on the core's own interface. */
#include "history.h"

#include <stdlib.h>
#include <string.h>

enum { PORT = 80, HEAD = 6, MAGIC = 0x5D, SMALL = 300 };

static int is_now(const struct session *s)
{
    return history_now(s->h) >= s->plan->at_us;
}

/* ---- TCP: events ------------------------------------------------------------------------------------ */

static void on_opened(struct tenon_tcp *conn, void *app)
{
    struct session *s = app;

    /* After a flood: a late copy and its cookie (RFC 4987 3.6). */
    if (s->peer_closed && s->h->plan.nintrusions > 0) {
        tenon_tcp_abort(conn);
        return;
    }
    if (s->peer_closed || (s->conn != NULL && s->conn != conn))
        history_fail(s->h, "session %u is opened twice at the other machine", s->index);
    s->conn = conn;
    s->peer_opened = 1;
    s->opened_at = history_now(s->h);
    if (s->plan->peer_nodelay)
        (void)tenon_tcp_set(conn, TENON_TCP_NODELAY, 1);
}

static void on_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct session *s = app;
    unsigned i;

    if (conn != s->conn)
        history_fail(s->h, "session %u: data of a connection that is not open", s->index);
    for (i = 0; i < n; i++) {
        if (s->peer_got + spans[i].len > s->sent)
            history_fail(s->h, "session %u: the other machine gets more than was sent", s->index);
        if (!history_matches(tenon_span_data(&spans[i]), s, 0, s->peer_got, spans[i].len))
            history_fail(s->h, "session %u: bytes %llu and on arrive at the other machine as something else", s->index,
                         (unsigned long long)s->peer_got);
        s->peer_got += spans[i].len;
        s->h->bytes += spans[i].len;
    }
}

static void on_finished(struct tenon_tcp *conn, void *app)
{
    struct session *s = app;

    (void)conn;
    s->peer_finished = 1;
    if (s->strict && s->peer_got != s->plan->bytes[0])
        history_fail(s->h, "session %u: ends at the other machine after %llu bytes", s->index,
                     (unsigned long long)s->peer_got);
}

/* Nobody listened for a moment when the acknowledgement of a SYN cookie came, which was answered by a reset. Somebody
 * did again when the data behind it came, and the cookie was still good (RFC 4987 3.6). */
static int is_late_reset(const struct session *s, int why)
{
    return why == TENON_ERESET && s->plan->kind == TCP_SERVER && s->end != NULL &&
           s->h->plan.conf.stack.tcp_syncookies != 0 && s->opened_at < s->h->port_at;
}

static void on_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct session *s = app;
    const int met = s->end != NULL || s->small_done;

    if (conn != s->conn)
        return;    /* it was never open */
    history_note(s->h, "session %u: the other machine's connection ends: %s", s->index, tenon_error_text(why));
    s->conn = NULL;
    if (s->plan->kind == TCP_SERVER && !met) {    /* nobody had room for it */
        s->peer_sent = s->peer_consumed = 0;
        s->peer_opened = s->peer_finish_sent = 0;
        s->connect_at = history_now(s->h) + 300000;
        return;
    }
    if (is_late_reset(s, why))
        s->strict = 0;
    /* When all has arrived, the record of TIME-WAIT over there may have ended, or given way to others, before our last
     * FIN was acknowledged. Who reads late has it all the same: check_bytes(). */
    if (s->strict && why != TENON_OK && !(why == TENON_ERESET && s->peer_finished && s->peer_finish_sent))
        history_fail(s->h, "session %u: ends at the other machine with %s", s->index, tenon_error_text(why));
    s->peer_closed = 1;
}

static const struct tenon_tcp_events events = { .opened = on_opened, .received = on_received,
                                                .finished = on_finished, .closed = on_closed };

/* ---- TCP: what it does ------------------------------------------------------------------------------- */

/* What it does not know, or only as far: of a connection that it opens, or of a listener. */
static void lack(const struct session *s, struct tenon_tcp *conn, struct tenon_tcp_listener *listener)
{
    static const struct {
        enum tenon_tcp_option option;
        tenon_u32 value;
    } lacks[] = {
        { TENON_TCP_TIMESTAMPS, 0 },
        { TENON_TCP_SACK, 0 },
        { TENON_TCP_WINDOW_SCALING, 0 },
        { TENON_TCP_NO_DELAYED_ACK, 1 }
    };
    const uint16_t mss = s->plan->peer_mss;
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(lacks); i++) {
        if (!(s->plan->peer_without >> i & 1))
            continue;
        if (conn != NULL)
            (void)tenon_tcp_set(conn, lacks[i].option, lacks[i].value);    /* without memory it has them */
        else
            (void)tenon_tcp_listener_set(listener, lacks[i].option, lacks[i].value);
    }
    if (mss > 0 && conn != NULL)
        (void)tenon_tcp_set(conn, TENON_TCP_MSS_MAX, mss);
    else if (mss > 0)
        (void)tenon_tcp_listener_set(listener, TENON_TCP_MSS_MAX, mss);
}

static void peer_connect(struct session *s)
{
    const struct tenon_addr from = history_addr(s->h, 1, 20000 + s->index + 64 * (s->attempts % 500));
    const struct tenon_addr to = history_addr(s->h, 0, PORT);

    s->attempts++;
    if (tenon_tcp_connect(s->h->peer, &s->conn, &from, &to, &events, s) != TENON_OK) {
        s->conn = NULL;
        s->connect_at = history_now(s->h) + 50000;
        return;
    }
    lack(s, s->conn, NULL);
}

static void peer_write(struct session *s)
{
    tenon_u8 bytes[9000];
    unsigned rounds = s->plan->peer_chunk < 100 ? 2 : 40;

    while (s->peer_sent < s->plan->bytes[1] && rounds-- > 0) {
        const uint64_t left = s->plan->bytes[1] - s->peer_sent;
        const uint32_t n = left < s->plan->peer_chunk ? (uint32_t)left : s->plan->peer_chunk;
        tenon_i32 taken;

        history_fill(bytes, s, 1, s->peer_sent, n);
        taken = tenon_tcp_write(s->conn, bytes, n);
        if (taken <= 0)
            return;
        s->peer_sent += (uint32_t)taken;
    }
}

static void peer_tcp(struct session *s)
{
    const uint64_t now = history_now(s->h);

    if (s->conn == NULL && !s->peer_closed && s->plan->kind == TCP_SERVER && now >= s->connect_at)
        peer_connect(s);
    if (s->conn == NULL || !s->peer_opened)
        return;
    if (s->plan->peer_aborts && s->peer_got + s->peer_sent >= s->plan->finish_at && (s->end != NULL || s->small_done)) {
        tenon_tcp_abort(s->conn);
        return;
    }
    if (s->peer_got > s->peer_consumed && now >= s->consume_at) {
        tenon_tcp_consumed(s->conn, (tenon_u32)(s->peer_got - s->peer_consumed));
        s->peer_consumed = s->peer_got;
        s->consume_at = now + s->plan->peer_consume_us;
    }
    peer_write(s);
    if (s->peer_sent == s->plan->bytes[1] && !s->peer_finish_sent &&
        (s->peer_finished || !s->plan->peer_waits || s->plan->finish == FIN_BY_DELETE)) {
        s->peer_finish_sent = 1;
        if (tenon_tcp_finish(s->conn) != TENON_OK)
            history_fail(s->h, "session %u: the other machine cannot finish", s->index);
    }
    if (!s->small_done || s->strict)
        s->connect_at = now + 20 * (uint64_t)SECOND;
    else if (now > s->connect_at)
        tenon_tcp_abort(s->conn);    /* the small machine's reset was lost */
}

/* ---- UDP -------------------------------------------------------------------------------------------- */

static void peer_send_datagram(struct session *s, const struct tenon_addr *to)
{
    tenon_u8 bytes[4000];
    const unsigned number = (unsigned)s->peer_sent & 0xFFFF;
    uint32_t n = s->plan->most + HEAD;

    if (s->h->healed && n > SMALL)
        n = SMALL;
    history_fill(bytes, s, 1, number * UINT64_C(65536), n);
    bytes[0] = MAGIC;
    bytes[1] = (tenon_u8)s->index;
    bytes[2] = (tenon_u8)(number >> 8);
    bytes[3] = (tenon_u8)number;
    bytes[4] = (tenon_u8)(n >> 8);
    bytes[5] = (tenon_u8)n;
    (void)tenon_udp_write(s->udp, to, bytes, n);
    s->peer_sent++;
}

static void on_datagram(struct tenon_udp *udp, void *app, const struct tenon_udp_info *info,
                        const struct tenon_span *spans, unsigned n)
{
    struct session *s = app;
    tenon_u8 bytes[4000];
    uint32_t at = 0;
    unsigned i;

    (void)udp;
    for (i = 0; i < n && at + spans[i].len <= sizeof(bytes); i++) {
        memcpy(bytes + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    if (at != info->bytes || at < HEAD || bytes[0] != MAGIC || bytes[1] != s->index ||
        (unsigned)(bytes[4] << 8 | bytes[5]) != at ||
        !history_matches(bytes + HEAD, s, 0, (unsigned)(bytes[2] << 8 | bytes[3]) * UINT64_C(65536) + HEAD, at - HEAD))
        history_fail(s->h, "session %u: the other machine gets a datagram that nobody has sent", s->index);
    s->peer_got++;
    if (s->plan->kind == UDP_CLIENT)
        peer_send_datagram(s, &info->from);
}

static void on_udp_error(struct tenon_udp *udp, void *app, const struct tenon_addr *to, int error)
{
    (void)udp, (void)app, (void)to, (void)error;
}

static const struct tenon_udp_events udp_events = { on_datagram, on_udp_error };

static void peer_udp(struct session *s)
{
    const struct tenon_addr to = history_addr(s->h, 0, 5000 + s->index);
    const uint64_t now = history_now(s->h);

    if (s->plan->kind == UDP_CLIENT) {
        s->peer_closed = s->small_done;
        return;
    }
    if (s->peer_got >= s->plan->bytes[0])
        s->peer_done = s->peer_closed = 1;
    if (s->peer_done || now < s->connect_at)
        return;
    peer_send_datagram(s, &to);
    s->connect_at = now + history_pause(s->h);
}

/* ---- all of them ------------------------------------------------------------------------------------ */

void peer_start(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        struct session *s = &h->session[i];
        const struct tenon_addr tcp = history_addr(h, 1, 3000 + i), udp = history_addr(h, 1, 6000 + i);

        if (s->plan->kind == TCP_CLIENT && tenon_tcp_listen(h->peer, &s->listener, &tcp, &events, s, 0) != TENON_OK)
            abort();
        if (s->plan->kind == TCP_CLIENT)
            lack(s, NULL, s->listener);
        if (s->plan->kind < UDP_SERVER)
            continue;
        if (tenon_udp_open(h->peer, &s->udp, &udp_events, s) != TENON_OK || tenon_udp_bind(s->udp, &udp) != TENON_OK)
            abort();
    }
}

void peer_run(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        struct session *s = &h->session[i];

        if (!is_now(s))
            continue;
        if (s->plan->kind < UDP_SERVER)
            peer_tcp(s);
        else
            peer_udp(s);
    }
}

/* Who had just connected, and whom its application does not know, tries again as if it had not. What was to be sent
 * after its descriptor was deleted is lost. */
void peer_restart(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        struct session *s = &h->session[i];

        if (s->small_done && !s->peer_closed)
            s->strict = 0;
        if (s->plan->kind == TCP_SERVER && s->conn != NULL && s->end == NULL && !s->small_done)
            tenon_tcp_abort(s->conn);
    }
}

void peer_stop(struct history *h)
{
    unsigned i;

    for (i = 0; i < h->plan.nsessions; i++) {
        struct session *s = &h->session[i];

        s->peer_closed = 1;
        s->strict = 0;
        if (s->conn != NULL)
            tenon_tcp_abort(s->conn);
        if (s->listener != NULL)
            tenon_tcp_listener_close(s->listener);
        if (s->udp != NULL)
            tenon_udp_close(s->udp);
        s->conn = NULL;
        s->listener = NULL;
        s->udp = NULL;
    }
}
