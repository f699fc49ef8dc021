/* SPDX-License-Identifier: MIT */
/* tenon echo: what arrives goes back, in the very buffers in which it came (RFC 862). */
#include <argp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "common/app.h"
#include "common/cores.h"
#include "common/text.h"

struct echo_options {
    struct options net;
    struct cores_options cores;
    unsigned port;
};

/* What the servers of all cores have done. */
struct echo_done {
    atomic_ullong tcp_bytes, udp_bytes, datagrams, connections;
};

struct echo_server {
    struct flow flow;    /* of no connection; the stack hands the server to handlers as it does a client */
    const struct echo_options *options;
    struct app app;
    struct tenon_tcp_listener *listener;
    struct tenon_udp *socket;
    uint64_t tcp_bytes, udp_bytes, datagrams, connections;
};

/* A connection. What there is no room for waits in a ring of spans; it is not consumed until it has been
 * queued for sending, so the peer cannot make the ring longer than our receive window. */
struct echo_client {
    struct flow flow;
    struct echo_server *server;
    struct tenon_span *waiting;
    size_t head, count, cap;
    int peer_finished;
};

static void drop_first(struct echo_client *client, tenon_u32 bytes)
{
    struct tenon_span *span = &client->waiting[client->head];

    span->off += bytes;
    span->len -= bytes;
    if (span->len > 0)
        return;
    tenon_buf_put(span->buf);
    client->head = (client->head + 1) % client->cap;
    client->count--;
}

/* @return 0 or -1: out of memory */
static int keep(struct echo_client *client, const struct tenon_span *span)
{
    struct tenon_span *waiting;
    size_t i, cap;

    if (client->count == client->cap) {
        cap = client->cap > 0 ? client->cap * 2 : 16;
        waiting = malloc(cap * sizeof *waiting);
        if (waiting == NULL)
            return -1;
        for (i = 0; i < client->count; i++)
            waiting[i] = client->waiting[(client->head + i) % client->cap];
        free(client->waiting);
        client->waiting = waiting;
        client->head = 0;
        client->cap = cap;
    }
    tenon_buf_ref(span->buf);
    client->waiting[(client->head + client->count) % client->cap] = *span;
    client->count++;
    return 0;
}

static void send_waiting(struct tenon_tcp *conn, struct echo_client *client)
{
    struct tenon_span span;
    tenon_u32 room;

    while (client->count > 0) {
        span = client->waiting[client->head];
        room = tenon_tcp_room(conn);
        if (span.len > room)
            span.len = room;
        if (span.len == 0 || tenon_tcp_send(conn, &span) != TENON_OK)
            return;
        client->server->tcp_bytes += span.len;
        drop_first(client, span.len);
        tenon_tcp_consumed(conn, span.len);
    }
    if (client->peer_finished)
        tenon_tcp_finish(conn);
}

static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct echo_client *client = app;
    unsigned i;

    flow_received(&client->flow, spans_bytes(spans, n));
    for (i = 0; i < n; i++) {
        if (spans[i].len > 0 && keep(client, &spans[i]) != 0) {
            tenon_tcp_abort(conn);
            return;
        }
    }
    send_waiting(conn, client);
}

static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct echo_client *client = app;

    flow_acked(&client->flow, bytes);
    if (client->count > 0)
        send_waiting(conn, client);
}

static void client_finished(struct tenon_tcp *conn, void *app)
{
    struct echo_client *client = app;

    client->peer_finished = 1;
    send_waiting(conn, client);
}

static void client_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct echo_client *client = app;

    (void)conn;
    log_say(LOG_VERBOSE, "A connection ended after %s: %s", text_bytes(client->flow.rx_bytes).s,
            why == TENON_OK ? "both sides have finished" : tenon_error_text(why));
    while (client->count > 0)
        drop_first(client, client->waiting[client->head].len);
    free(client->waiting);
    free(client);
}

static const struct tenon_tcp_events client_events = { NULL, NULL, client_received, client_acked, client_finished,
                                                       client_closed, NULL, NULL };

static void listener_opened(struct tenon_tcp *conn, void *app)
{
    struct echo_server *server = app;
    struct echo_client *client = calloc(1, sizeof *client);
    struct tenon_tcp_info info;

    if (client == NULL) {
        tenon_tcp_abort(conn);
        return;
    }
    client->server = server;
    server->connections++;
    tenon_tcp_status(conn, &info);
    log_say(LOG_VERBOSE, "A connection from %s", text_endpoint(&info.remote).s);
    tenon_tcp_handler(conn, &client_events, client);
}

static const struct tenon_tcp_events listener_events = { NULL, listener_opened, NULL, NULL, NULL, NULL, NULL, NULL };

/* A broadcast or group cannot be the source of an answer. */
static int is_unicast(const struct app *app, const struct tenon_ip *ip)
{
    struct tenon_addr_info info;
    unsigned i;

    for (i = 0; tenon_addr_get(app->stack, i, &info) == TENON_OK; i++) {
        if (tenon_ip_equal(&info.ip, ip))
            return 1;
    }
    return 0;
}

static void udp_received(struct tenon_udp *socket, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    struct echo_server *server = app;
    int r;

    if (is_unicast(&server->app, &info->to.ip))
        r = tenon_udp_send_from(socket, &info->to.ip, &info->from, spans, n);
    else
        r = tenon_udp_send(socket, &info->from, spans, n);
    if (r != TENON_OK) {
        log_say(LOG_DEBUG, "A datagram to %s: %s", text_endpoint(&info->from).s, tenon_error_text(r));
        return;
    }
    server->datagrams++;
    server->udp_bytes += info->bytes;
}

static const struct tenon_udp_events udp_events = { udp_received, NULL };

/* ---- the subcommand ------------------------------------------------------------------------------- */

enum { KEY_LISTEN = 0x200 };

static const struct argp_option echo_option_list[] = {
    { "listen", KEY_LISTEN, "PORT", 0, "TCP and UDP port; default 7", 1 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char echo_doc[] =
    "Send back what arrives, over TCP and UDP, on all our addresses.\v"
    "Nothing is copied: the received buffers themselves are sent.\n\n"
    "Examples:\n"
    "  tenon echo\n"
    "  tenon echo --listen 7007 -v\n"
    "and on the kernel's side: nc 10.9.0.2 7, or: nc -u 10.9.0.2 7";

static error_t parse_echo(int key, char *value, struct argp_state *state)
{
    struct echo_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->net;
        state->child_inputs[1] = &options->cores;
        return 0;
    case KEY_LISTEN:
        options->port = (unsigned)options_number(state, "--listen", value, 1, 65535);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "\"%s\" is one argument too many: echo takes options only", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child echo_children[] = { OPTIONS_CHILD, CORES_CHILD, { NULL, 0, NULL, 0 } };
static const struct argp echo_argp = { echo_option_list, parse_echo, NULL, echo_doc, echo_children, NULL, NULL };

static int start(struct echo_server *server)
{
    struct tenon_addr at;
    int r;

    memset(&at, 0, sizeof at);
    at.port = (tenon_u16)server->options->port;
    r = tenon_tcp_listen(server->app.stack, &server->listener, &at, &listener_events, server, 1024);
    if (r == TENON_OK) {
        app_set_listener(&server->app, server->listener);
        tenon_tcp_listener_set(server->listener, TENON_TCP_NODELAY, 1);
    }
    if (r == TENON_OK)
        r = tenon_udp_open(server->app.stack, &server->socket, &udp_events, server);
    if (r == TENON_OK)
        r = tenon_udp_bind(server->socket, &at);
    if (r == TENON_OK)
        return 0;
    log_error("port %u: %s", server->options->port, tenon_error_text(r));
    return -1;
}

struct echo_job {
    struct echo_options options;
    struct echo_done done;
};

static void say_where(const struct echo_server *server)
{
    struct tenon_ip ip;

    for (unsigned i = 0; app_address(&server->app, i, &ip); i++)
        log_say(LOG_NORMAL, "Echo at %s, TCP and UDP port %u", text_ip(&ip).s, server->options->port);
}

/* In the thread of each core. */
static int run_echo(struct core *core, void *arg)
{
    struct echo_job *job = arg;
    struct echo_server *server = must_alloc(sizeof *server);
    int code = CLI_FAILED;

    memset(server, 0, sizeof *server);
    server->options = &job->options;
    if (app_open(&server->app, &job->options.net, "echo", core) == 0 && start(server) == 0) {
        if (core_number(core) == 0)
            say_where(server);
        code = app_run(&server->app);
    }
    code = app_close(&server->app, code);
    atomic_fetch_add(&job->done.tcp_bytes, server->tcp_bytes);
    atomic_fetch_add(&job->done.udp_bytes, server->udp_bytes);
    atomic_fetch_add(&job->done.datagrams, server->datagrams);
    atomic_fetch_add(&job->done.connections, server->connections);
    free(server);
    return code;
}

int cmd_echo(int argc, char **argv)
{
    static struct echo_job job = { .options = { .cores = { .count = 1 }, .port = 7 } };
    int code;

    options_default(&job.options.net);
    argp_parse(&echo_argp, argc, argv, 0, NULL, &job.options);
    log_open(argv[0], job.options.net.level);
    code = cores_run(&job.options.cores, run_echo, &job);
    if (code == CLI_OK)
        log_say(LOG_NORMAL, "%s on %s connections, %s in %s datagrams", text_bytes(job.done.tcp_bytes).s,
                text_count(job.done.connections).s, text_bytes(job.done.udp_bytes).s,
                text_count(job.done.datagrams).s);
    return code;
}
