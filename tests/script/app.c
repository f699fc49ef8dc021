/* SPDX-License-Identifier: MIT */
/* The application of a script: its handlers note events, its calls are the script's. */
#include "script.h"

#include <stdlib.h>
#include <string.h>

static struct event *note(struct conn *c, enum event_kind kind, int64_t arg)
{
    struct world *w = c->world;
    struct event *e;
    char text[128];

    w->events = realloc(w->events, (w->nevents + 1) * sizeof(*w->events));
    if (w->events == NULL)
        abort();
    e = &w->events[w->nevents++];
    memset(e, 0, sizeof(*e));
    e->time = w->now;
    e->kind = kind;
    e->conn = c;
    e->arg = arg;
    snprintf(text, sizeof(text), "%s%s%s", c->tag[0] != '\0' ? "@" : "", c->tag, c->tag[0] != '\0' ? " " : "");
    if (kind == EV_CLOSED || kind == EV_SOFT_ERROR || kind == EV_UDP_ERROR)
        world_trace(w, "%sevent %s %s", text, event_names[kind], arg <= 0 && arg >= -15 ? error_names[-arg] : "?");
    else
        world_trace(w, "%sevent %s %lld", text, event_names[kind], (long long)arg);
    return e;
}

/* ---- TCP events ------------------------------------------------------------------------------------------------ */

/* The script's connection for a new one of the core: that with its ports, unused if there is one, named
 * rather than the nameless. */
static struct conn *conn_for(struct world *w, const struct tenon_tcp *tcp)
{
    struct tenon_tcp_info info;
    struct conn *found = NULL;

    tenon_tcp_status(tcp, &info);
    for (int i = 1; i <= w->script->nconns; i++) {
        struct conn *c = &w->script->conns[i % w->script->nconns];

        if (c->tcp != NULL || c->remote_port != info.remote.port || c->local_port != info.local.port)
            continue;
        if (found == NULL || found->had_tcp)
            found = c;
    }
    return found;
}

static const struct tenon_tcp_events app_events;

static enum tenon_verdict app_incoming(struct tenon_tcp *tcp, void *app)
{
    struct world *w = app;
    struct conn *c = conn_for(w, tcp);

    if (c == NULL) {
        world_fail(w, "a connection came whose ports the script does not name");
        return TENON_IGNORE;
    }
    note(c, EV_INCOMING, 0);
    c->had_tcp = true;
    if (w->verdict == TENON_ACCEPT || w->verdict == TENON_HOLD) {
        c->tcp = tcp;
        tenon_tcp_handler(tcp, &app_events, c);
    }
    return w->verdict;
}

static void app_opened(struct tenon_tcp *tcp, void *app)
{
    (void)tcp;
    note(app, EV_OPENED, 0);
}

static tenon_i32 write_text(struct conn *c, size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    tenon_i32 got;

    if (bytes == NULL)
        abort();
    for (size_t i = 0; i < n; i++)
        bytes[i] = pattern_ours(c->tx_off + (uint32_t)i);
    got = tenon_tcp_write(c->tcp, bytes, (tenon_u32)n);
    free(bytes);
    if (got > 0)
        c->tx_off += (uint32_t)got;
    return got;
}

/* To the end of the script. */
static void keep_text(struct world *w, struct tenon_buf *buf)
{
    if (w->nkept == KEPT_MAX) {
        world_fail(w, "the application keeps more than %d buffers", KEPT_MAX);
        return;
    }
    tenon_buf_ref(buf);
    w->kept[w->nkept++] = buf;
}

static void app_received(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    struct conn *c = app;
    uint32_t bytes = 0;

    for (unsigned i = 0; i < n; i++) {
        const tenon_u8 *p = tenon_span_data(&spans[i]);

        for (uint32_t j = 0; j < spans[i].len; j++)
            if (p[j] != pattern_peers(c->rx_off + bytes + j))
                world_fail(c->world, "byte %u of the stream was delivered as %02x, but the peer sent %02x",
                           c->rx_off + bytes + j, p[j], pattern_peers(c->rx_off + bytes + j));
        bytes += spans[i].len;
        if (c->world->script->keep_text)
            keep_text(c->world, spans[i].buf);
    }
    c->rx_off += bytes;
    c->received += bytes;
    note(c, EV_RECEIVED, bytes)->used = true;
    if (bytes == 0)
        world_fail(c->world, "received() was called without data");
    if (c->tcp == NULL)
        world_fail(c->world, "received() was called after closed()");
    if (c->world->script->abort_received != 0 && c->rx_off >= c->world->script->abort_received)
        tenon_tcp_abort(tcp);
    else if (!c->world->script->manual_consume)
        tenon_tcp_consumed(tcp, bytes);
    if (c->world->script->answers && write_text(c, bytes) != (tenon_i32)bytes)
        world_fail(c->world, "an answer of %u bytes was not taken", bytes);
}

static void app_acked(struct tenon_tcp *tcp, void *app, tenon_u32 bytes)
{
    struct conn *c = app;

    (void)tcp;
    c->acked += bytes;
    note(c, EV_ACKED, bytes)->used = true;
}

static void app_finished(struct tenon_tcp *tcp, void *app)
{
    (void)tcp;
    note(app, EV_FINISHED, 0);
}

static void app_closed(struct tenon_tcp *tcp, void *app, int why)
{
    struct conn *c = app;

    if (c->tcp != tcp && c->tcp != NULL)
        world_fail(c->world, "closed() for another connection");
    note(c, EV_CLOSED, why);
    c->tcp = NULL;
}

static void app_urgent(struct tenon_tcp *tcp, void *app, tenon_u32 ahead)
{
    (void)tcp;
    note(app, EV_URGENT, ahead);
}

static void app_soft_error(struct tenon_tcp *tcp, void *app, int error)
{
    (void)tcp;
    note(app, EV_SOFT_ERROR, error);
}

static const struct tenon_tcp_events app_events = {
    app_incoming, app_opened, app_received, app_acked, app_finished, app_closed, app_urgent, app_soft_error,
};

/* ---- UDP and echo events ---------------------------------------------------------------------------------------- */

/* Byte `at` of the datagram that the script has just injected. */
static uint8_t injected_byte(const struct packet *p, uint32_t at)
{
    if (p->style == PAYLOAD_TEXT || p->style == PAYLOAD_HEX)
        return at < p->nbytes ? p->bytes[at] : 0;
    return p->style == PAYLOAD_FILL ? (uint8_t)p->fill : pattern_peers(at);
}

static void app_udp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                             const struct tenon_span *spans, unsigned n)
{
    struct conn *c = app;
    const struct stmt *st = c->world->at;
    uint32_t bytes = 0;

    (void)sock;
    for (unsigned i = 0; i < n; i++) {
        const tenon_u8 *p = tenon_span_data(&spans[i]);

        for (uint32_t j = 0; j < spans[i].len; j++, bytes++)
            if (st->kind == ST_INJECT && st->packet->kind == PKT_UDP && p[j] != injected_byte(st->packet, bytes))
                world_fail(c->world, "byte %u of the datagram was delivered as %02x", bytes, p[j]);
    }
    if (bytes != info->bytes)
        world_fail(c->world, "a datagram's spans have %u bytes, its info says %u", bytes, info->bytes);
    note(c, EV_UDP, bytes)->arg2 = info->from.port;
}

static void app_udp_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock;
    (void)to;
    note(app, EV_UDP_ERROR, error);
}

static const struct tenon_udp_events app_udp_events = { app_udp_received, app_udp_error };

static void app_echo_reply(struct tenon_echo *echo, void *app, const struct tenon_echo_info *info,
                           const struct tenon_span *spans, unsigned n)
{
    struct conn *c = app;
    uint32_t at = 0;

    (void)echo;
    for (unsigned i = 0; i < n; i++) {
        const tenon_u8 *p = tenon_span_data(&spans[i]);

        for (uint32_t j = 0; j < spans[i].len; j++, at++)
            if (p[j] != pattern_peers(at))
                world_fail(c->world, "byte %u of the reply was delivered as %02x, but the peer sent %02x", at, p[j],
                           pattern_peers(at));
    }
    if (at != info->bytes)
        world_fail(c->world, "a reply's spans have %u bytes, its info says %u", at, info->bytes);
    note(c, EV_ECHO, info->seq)->arg2 = info->bytes;
}

static void app_echo_error(struct tenon_echo *echo, void *app, const struct tenon_ip *from, tenon_u16 seq, int error)
{
    (void)echo;
    (void)from;
    note(app, EV_ECHO_ERROR, seq)->arg2 = error;
}

static const struct tenon_echo_events app_echo_events = { app_echo_reply, app_echo_error };

/* ---- calls --------------------------------------------------------------------------------------- */

struct conn *conn_of_packet(struct world *w, const struct packet *p, bool sent)
{
    struct conn *found = NULL;

    for (int i = 1; i <= w->script->nconns && p->kind == PKT_TCP; i++) {
        struct conn *c = &w->script->conns[i % w->script->nconns];

        if (c->local_port == (sent ? p->sport : p->dport) && c->remote_port == (sent ? p->dport : p->sport) &&
            (found == NULL || c->tcp != NULL))
            found = c;
    }
    return found;
}

static void expect_result(struct world *w, const struct stmt *st, int64_t got, int64_t normal)
{
    int64_t wanted = st->has_result ? st->result : normal;
    char a[32], b[32];

    if (got == wanted)
        return;
    snprintf(a, sizeof(a), "%lld", (long long)wanted);
    snprintf(b, sizeof(b), "%lld", (long long)got);
    world_fail(w, "the call returned %s, not %s", got <= 0 && got >= -15 ? error_names[-got] : b,
               wanted <= 0 && wanted >= -15 ? error_names[-wanted] : a);
}

void app_listen(struct world *w, const struct stmt *st)
{
    struct tenon_tcp_listener *listener = NULL;
    struct tenon_addr at;
    int error;

    memset(&at, 0, sizeof(at));
    at.port = (tenon_u16)st->arg[0];
    if (st->has_ip)
        at.ip = st->ip;
    error = tenon_tcp_listen(w->stack, &listener, &at, &app_events, w, (unsigned)st->arg[1]);
    w->verdict = (enum tenon_verdict)st->arg[2];
    if (error == TENON_OK)
        w->listener = listener;
    expect_result(w, st, error, TENON_OK);
}

/* Fast Open: bytes that are there before the SYN leaves. */
static void connect_fast(struct world *w, struct conn *c, int64_t n)
{
    if (tenon_tcp_set(c->tcp, TENON_TCP_FASTOPEN, 1) != TENON_OK)
        world_fail(w, "Fast Open cannot be set");
    for (; n > 0; n--) {
        uint8_t byte = pattern_ours(c->tx_off);

        if (tenon_tcp_write(c->tcp, &byte, 1) != 1)
            world_fail(w, "tenon_tcp_write() before the SYN takes not everything");
        c->tx_off++;
    }
}

static void call_connect(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;
    struct tenon_addr from, to;
    struct tenon_tcp_info info;
    int error;

    memset(&from, 0, sizeof(from));
    memset(&to, 0, sizeof(to));
    to.ip = st->has_ip ? st->ip : w->script->peer;
    to.port = (tenon_u16)st->arg[0];
    from.port = (tenon_u16)st->arg[1];
    c->remote_port = to.port;
    c->tcp = NULL;
    if (st->verb == CALL_CONNECT_FOREIGN) {
        from.ip = w->af == 4 ? tenon_ip4_bytes(198, 51, 100, 1) : tenon_ip6(0x20010db8, 0xf, 0, 1);
        error = tenon_tcp_connect_foreign(w->stack, &c->tcp, &from, &to, &app_events, c);
    } else
        error = tenon_tcp_connect(w->stack, &c->tcp, from.port != 0 ? &from : NULL, &to, &app_events, c);
    expect_result(w, st, error, TENON_OK);
    if (error != TENON_OK) {
        c->tcp = NULL;
        return;
    }
    c->had_tcp = true;
    tenon_tcp_status(c->tcp, &info);
    c->local_port = info.local.port;
    if (info.state != TENON_TCP_SYN_SENT)
        world_fail(w, "after tenon_tcp_connect() the state is %s", tenon_tcp_state_name(info.state));
    if (st->arg[2] > 0)
        connect_fast(w, c, st->arg[2] - 1);
}

static void call_write(struct world *w, const struct stmt *st)
{
    expect_result(w, st, write_text(st->conn, (size_t)st->arg[0]), st->arg[0]);
}

static void call_send(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;
    struct tenon_buf *buf = host_buf(w, (size_t)st->arg[0]);
    struct tenon_span span = { buf, 0, (tenon_u32)st->arg[0] };
    int error;

    for (uint32_t i = 0; i < span.len; i++)
        buf->data[i] = pattern_ours(c->tx_off + i);
    error = tenon_tcp_send(c->tcp, &span);
    if (error == TENON_OK)
        c->tx_off += span.len;
    tenon_buf_put(buf);
    expect_result(w, st, error, TENON_OK);
}

static void call_decide(struct world *w, const struct stmt *st)
{
    enum tenon_verdict verdict = (enum tenon_verdict)st->arg[0];
    int error = tenon_tcp_decide(st->conn->tcp, verdict);

    if (error == TENON_OK && verdict != TENON_ACCEPT)
        st->conn->tcp = NULL;
    expect_result(w, st, error, TENON_OK);
}

static void call_udp_open(struct world *w, const struct stmt *st, bool bind)
{
    struct conn *c = st->conn;
    struct tenon_addr at;
    int error = TENON_OK;

    memset(&at, 0, sizeof(at));
    if (c->udp == NULL)
        error = tenon_udp_open(w->stack, &c->udp, &app_udp_events, c);
    if (error == TENON_OK && bind) {
        at.port = (tenon_u16)st->arg[0];
        if (st->has_ip)
            at.ip = st->ip;
        error = tenon_udp_bind(c->udp, &at);
        tenon_udp_local(c->udp, &at);
        c->local_port = at.port;
    }
    expect_result(w, st, error, TENON_OK);
}

static void call_udp_connect(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;
    struct tenon_addr to;
    int error;

    memset(&to, 0, sizeof(to));
    to.ip = st->has_ip ? st->ip : w->script->peer;
    to.port = (tenon_u16)st->arg[0];
    error = tenon_udp_connect(c->udp, &to);
    expect_result(w, st, error, TENON_OK);
    tenon_udp_local(c->udp, &to);
    c->local_port = to.port;
}

static void call_udp_write(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;
    struct tenon_addr to;
    size_t n = (size_t)st->arg[0];
    uint8_t *bytes = malloc(n + 1);
    int error;

    if (bytes == NULL)
        abort();
    memset(&to, 0, sizeof(to));
    to.ip = st->has_ip ? st->ip : w->script->peer;
    to.port = (tenon_u16)st->arg[1];
    for (size_t i = 0; i < n; i++)
        bytes[i] = pattern_ours((uint32_t)i);
    error = tenon_udp_write(c->udp, st->arg[1] == 0 ? NULL : &to, bytes, (tenon_u32)n);
    free(bytes);
    tenon_udp_local(c->udp, &to);
    c->local_port = to.port;
    expect_result(w, st, error, TENON_OK);
}

static void call_echo_send(struct world *w, const struct stmt *st)
{
    struct tenon_addr to;
    size_t n = (size_t)st->arg[1];
    uint8_t *bytes = malloc(n + 1);
    int error;

    if (bytes == NULL)
        abort();
    memset(&to, 0, sizeof(to));
    to.ip = w->script->peer;
    for (size_t i = 0; i < n; i++)
        bytes[i] = pattern_ours((uint32_t)i);
    error = tenon_echo_send(st->conn->echo, &to, (tenon_u16)st->arg[0], bytes, (tenon_u32)n);
    free(bytes);
    expect_result(w, st, error, TENON_OK);
}

static bool call_other(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;

    switch (st->verb) {
    case CALL_LISTENER_CLOSE:
        tenon_tcp_listener_close(w->listener);
        w->listener = NULL;
        return true;
    case CALL_LISTENER_SET:
        expect_result(
            w, st,
            tenon_tcp_listener_set(w->listener, (enum tenon_tcp_option)st->arg[0], (tenon_u32)st->arg[1]), 0);
        return true;
    case CALL_UDP_OPEN:
    case CALL_UDP_BIND:
        call_udp_open(w, st, st->verb == CALL_UDP_BIND);
        return true;
    case CALL_ECHO_OPEN:
        expect_result(w, st, tenon_echo_open(w->stack, &c->echo, &app_echo_events, c), TENON_OK);
        return true;
    case CALL_JOIN:
        expect_result(w, st, tenon_group_join(w->stack, w->netif, &st->ip), TENON_OK);
        return true;
    case CALL_LEAVE:
        expect_result(w, st, tenon_group_leave(w->stack, w->netif, &st->ip), TENON_OK);
        return true;
    default:
        return false;
    }
}

static bool call_sockets(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;
    bool udp = st->verb >= CALL_UDP_CONNECT && st->verb <= CALL_UDP_CLOSE;
    bool echo = st->verb == CALL_ECHO_SEND || st->verb == CALL_ECHO_CLOSE;

    if ((udp && c->udp == NULL) || (echo && c->echo == NULL)) {
        world_fail(w, "the script has not opened that yet");
        return true;
    }
    if (st->verb == CALL_UDP_CONNECT)
        call_udp_connect(w, st);
    else if (st->verb == CALL_UDP_WRITE)
        call_udp_write(w, st);
    else if (st->verb == CALL_UDP_SET)
        expect_result(w, st, tenon_udp_set(c->udp, (enum tenon_udp_option)st->arg[0], (tenon_u32)st->arg[1]), TENON_OK);
    else if (st->verb == CALL_UDP_CLOSE) {
        tenon_udp_close(c->udp);
        c->udp = NULL;
    } else if (st->verb == CALL_ECHO_SEND)
        call_echo_send(w, st);
    else if (st->verb == CALL_ECHO_CLOSE) {
        tenon_echo_close(c->echo);
        c->echo = NULL;
    } else
        return false;
    return true;
}

static void call_tcp(struct world *w, const struct stmt *st)
{
    struct conn *c = st->conn;

    switch (st->verb) {
    case CALL_WRITE:
        call_write(w, st);
        break;
    case CALL_SEND:
        call_send(w, st);
        break;
    case CALL_FINISH:
        expect_result(w, st, tenon_tcp_finish(c->tcp), TENON_OK);
        break;
    case CALL_CLOSE:
        tenon_tcp_close(c->tcp);
        break;
    case CALL_ABORT:
        tenon_tcp_abort(c->tcp);
        break;
    case CALL_CONSUMED:
        tenon_tcp_consumed(c->tcp, (tenon_u32)st->arg[0]);
        break;
    case CALL_ACK:
        tenon_tcp_ack(c->tcp, (tenon_u32)st->arg[0]);
        break;
    case CALL_ACK_FIN:
        expect_result(w, st, tenon_tcp_ack_fin(c->tcp), TENON_OK);
        break;
    case CALL_DECIDE:
        call_decide(w, st);
        break;
    case CALL_SET:
        expect_result(w, st, tenon_tcp_set(c->tcp, (enum tenon_tcp_option)st->arg[0], (tenon_u32)st->arg[1]), TENON_OK);
        break;
    case CALL_URGENT:
        expect_result(w, st, tenon_tcp_urgent(c->tcp), TENON_OK);
        break;
    default:
        if (tenon_cc_find(st->name) == NULL)
            world_fail(w, "there is no congestion control \"%s\"", st->name);
        else
            expect_result(w, st, tenon_tcp_set_cc(c->tcp, tenon_cc_find(st->name)), TENON_OK);
    }
}

void app_call(struct world *w, const struct stmt *st)
{
    if (st->verb == CALL_CONNECT || st->verb == CALL_CONNECT_FOREIGN)
        call_connect(w, st);
    else if (call_other(w, st) || call_sockets(w, st))
        return;
    else if (st->conn->tcp == NULL)
        world_fail(w, "the connection is gone (or has not come yet)");
    else
        call_tcp(w, st);
}

void app_end(struct world *w)
{
    while (w->nkept > 0)
        tenon_buf_put(w->kept[--w->nkept]);
    for (int i = 0; i < w->script->nconns; i++) {
        struct conn *c = &w->script->conns[i];

        if (c->udp != NULL)
            tenon_udp_close(c->udp);
        if (c->echo != NULL)
            tenon_echo_close(c->echo);
        c->udp = NULL;
        c->echo = NULL;
    }
}
