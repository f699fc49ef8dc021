/* SPDX-License-Identifier: MIT */
/* tenon listen and tenon connect: a connection (or a UDP socket) joined to stdin and stdout.
 *
 * Back-pressure goes through both ways: stdin is not read while the connection's queue is full, and what
 * stdout has not taken is not consumed, so the peer's window closes. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "common/app.h"
#include "common/names.h"
#include "common/sink.h"
#include "common/text.h"

enum {
    PIPE_READ_BYTES = 65536,
    PIPE_COPY_BELOW = 16384,         /* smaller pieces are copied: they shall not hold a whole buffer each */
    PIPE_UDP_WAITING_MAX = 4 << 20,  /* datagrams that stdout has not taken: beyond that they are dropped */
    PIPE_TICK_US = 200000,
    PIPE_RETRY_US = 1000
};

struct pipe_options {
    struct options net;
    int listen;
    const char *host;
    unsigned port;
    int udp, progress;
    double timeout_s, wait_s;    /* until connected; of silence after the end of stdin */
};

/* What stdin gave, with its bytes behind it. */
struct input {
    struct tenon_buf buf;
    struct input *next;
    tenon_u8 bytes[PIPE_READ_BYTES];
};

struct pipe_end {
    struct flow flow;    /* first: the stack's pointer to the application */
    struct pipe_options options;
    struct app app;
    struct tenon_addr at;    /* the peer, or where we listen */
    struct tenon_tcp *conn;
    struct tenon_tcp_listener *listener;
    struct tenon_udp *socket;
    struct sink sink;
    struct progress progress;
    struct loop_timer tick, retry;
    struct tenon_span pending;    /* read from stdin and not handed to the stack yet */
    int reading, stdin_ended, connected, closed, why;
    uint64_t began_us, lost;
};

/* ---- buffers for stdin ---------------------------------------------------------------------------- */

static struct input *input_pool;

static void input_release(struct tenon_buf *buf)
{
    struct input *input = TENON_CONTAINER(buf, struct input, buf);

    input->next = input_pool;
    input_pool = input;
}

static struct input *input_get(void)
{
    struct input *input = input_pool;

    if (input != NULL)
        input_pool = input->next;
    else
        input = must_alloc(sizeof *input);
    input->buf.data = input->bytes;
    input->buf.size = PIPE_READ_BYTES;
    input->buf.refs = 1;
    input->buf.release = input_release;
    return input;
}

static void input_free_all(void)
{
    while (input_pool != NULL) {
        struct input *next = input_pool->next;

        free(input_pool);
        input_pool = next;
    }
}

/* ---- stdin to the network ------------------------------------------------------------------------- */

static void read_on(struct pipe_end *end, int on)
{
    if (end->reading == on || end->stdin_ended)
        return;
    end->reading = on;
    loop_want(&end->app.loop, STDIN_FILENO, on ? POLLIN : 0);
}

static void drop_pending(struct pipe_end *end)
{
    if (end->pending.buf != NULL)
        tenon_buf_put(end->pending.buf);
    memset(&end->pending, 0, sizeof end->pending);
}

/* @return bytes that the connection took */
static tenon_u32 send_tcp(struct pipe_end *end)
{
    struct tenon_span span = end->pending;
    tenon_u32 room = tenon_tcp_room(end->conn);
    tenon_i32 n;

    if (span.len > room)
        span.len = room;
    if (span.len == 0)
        return 0;
    if (span.len < PIPE_COPY_BELOW) {
        n = tenon_tcp_write(end->conn, tenon_span_data(&span), span.len);
        return n > 0 ? (tenon_u32)n : 0;
    }
    return tenon_tcp_send(end->conn, &span) == TENON_OK ? span.len : 0;
}

static tenon_u32 send_udp(struct pipe_end *end)
{
    int r = tenon_udp_write(end->socket, NULL, tenon_span_data(&end->pending), end->pending.len);

    if (r == TENON_EAGAIN || r == TENON_ENOMEM) {
        loop_timer_set(&end->app.loop, &end->retry, PIPE_RETRY_US);
        return 0;
    }
    if (r != TENON_OK)
        log_error("a datagram of %lu bytes: %s", (unsigned long)end->pending.len, tenon_error_text(r));
    else
        flow_acked(&end->flow, end->pending.len);
    return end->pending.len;
}

/* Hand over what is pending; go on reading when all of it is gone. */
static void send_pending(struct pipe_end *end)
{
    tenon_u32 n;

    while (end->pending.len > 0) {
        if (!end->options.udp && end->conn == NULL)
            break;
        n = end->options.udp ? send_udp(end) : send_tcp(end);
        end->pending.off += n;
        end->pending.len -= n;
        if (n == 0)
            break;
    }
    if (end->pending.len > 0) {
        read_on(end, 0);
        return;
    }
    drop_pending(end);
    if (end->stdin_ended && end->conn != NULL)
        tenon_tcp_finish(end->conn);
    read_on(end, 1);
}

static void end_stdin(struct pipe_end *end)
{
    read_on(end, 0);
    if (!end->stdin_ended)
        loop_remove(&end->app.loop, STDIN_FILENO);
    end->stdin_ended = 1;
    end->flow.last_us = clock_us();
    send_pending(end);
}

/* The peer shall not take it for the end: a reset tells him. */
static void fail_stdin(struct pipe_end *end, int error)
{
    log_error("stdin: %s", strerror(error));
    if (end->conn != NULL)
        tenon_tcp_abort(end->conn);
    else
        app_stop(&end->app, CLI_FAILED);
}

static void stdin_ready(void *arg, short revents)
{
    struct pipe_end *end = arg;
    struct input *input = input_get();
    size_t most = PIPE_READ_BYTES;
    ssize_t n;

    (void)revents;
    if (end->options.udp && end->app.port != NULL) {
        struct tenon_netif_info info;

        /* One datagram that is not fragmented: IPv6 and UDP headers are the larger ones. */
        if (tenon_netif_get(end->app.stack, end->app.netif, &info) == TENON_OK)
            most = (size_t)info.conf.mtu - 48;
    }
    n = read(STDIN_FILENO, input->bytes, most);
    if (n <= 0) {
        tenon_buf_put(&input->buf);
        if (n == 0 || errno == EBADF)    /* closed before we began, which is an end */
            end_stdin(end);
        else if (errno != EAGAIN && errno != EINTR)
            fail_stdin(end, errno);
        return;
    }
    end->pending.buf = &input->buf;
    end->pending.off = 0;
    end->pending.len = (tenon_u32)n;
    send_pending(end);
}

static void retry_due(void *arg)
{
    send_pending(arg);
}

/* ---- the network to stdout ------------------------------------------------------------------------ */

static void stop_if_done(struct pipe_end *end)
{
    if (end->closed && sink_empty(&end->sink))
        app_stop(&end->app, end->why == TENON_OK && end->sink.error == 0 ? CLI_OK : CLI_FAILED);
}

static void stdout_took(void *arg, uint32_t bytes)
{
    struct pipe_end *end = arg;

    if (end->conn != NULL)
        tenon_tcp_consumed(end->conn, bytes);
    stop_if_done(end);
}

static void start_stdin(struct pipe_end *end)
{
    end->connected = 1;
    loop_add(&end->app.loop, STDIN_FILENO, POLLIN, stdin_ready, end);
    end->reading = 1;
}

static void pipe_opened(struct tenon_tcp *conn, void *app)
{
    struct pipe_end *end = app;
    struct tenon_tcp_info info;

    if (end->conn != NULL && end->conn != conn) {
        tenon_tcp_abort(conn);
        return;
    }
    end->conn = conn;
    tenon_tcp_set(conn, TENON_TCP_NODELAY, 1);
    tenon_tcp_status(conn, &info);
    log_say(LOG_VERBOSE, "Connected to %s", text_endpoint(&info.remote).s);
    if (end->listener != NULL)
        tenon_tcp_listener_close(end->listener);
    end->listener = NULL;
    end->began_us = end->flow.last_us = clock_us();
    start_stdin(end);
}

static void pipe_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct pipe_end *end = app;

    flow_received(&end->flow, spans_bytes(spans, n));
    sink_push(&end->sink, spans, n);
    if (end->sink.error != 0)
        tenon_tcp_abort(conn);
}

static void pipe_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct pipe_end *end = app;

    (void)conn;
    flow_acked(&end->flow, bytes);
    if (end->pending.len > 0)
        send_pending(end);
}

/* At a terminal nobody wants to type on to a peer that has hung up; a file or pipe is sent to its end. */
static void pipe_finished(struct tenon_tcp *conn, void *app)
{
    struct pipe_end *end = app;

    log_say(LOG_VERBOSE, "The peer has finished sending");
    if (!end->stdin_ended && isatty(STDIN_FILENO))
        end_stdin(end);
    (void)conn;
}

static void say_end(const struct pipe_end *end, const char *why)
{
    if (end->connected)
        log_error("the connection ended: %s", why);
    else
        log_error("no connection to %s: %s", text_endpoint(&end->at).s, why);
}

static void pipe_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct pipe_end *end = app;

    if (end->conn != NULL && end->conn != conn)
        return;
    end->conn = NULL;
    end->closed = 1;
    end->why = why;
    progress_end(&end->progress);
    if (why != TENON_OK && why != TENON_EABORTED && !end->app.done && end->sink.error == 0)
        say_end(end, tenon_error_text(why));
    read_on(end, 0);
    stop_if_done(end);
}

/* As long as there is no connection, "cannot be reached" is an answer; later it may pass. */
static void pipe_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    const struct pipe_end *end = app;

    if (end->connected || error == TENON_ETIMEOUT || tenon_tcp_state(conn) != TENON_TCP_SYN_SENT)
        return;
    say_end(end, tenon_error_text(error));
    tenon_tcp_abort(conn);
}

static const struct tenon_tcp_events pipe_events = { NULL, pipe_opened, pipe_received, pipe_acked, pipe_finished,
                                                     pipe_closed, NULL, pipe_soft_error };

static void pipe_datagram(struct tenon_udp *socket, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    struct pipe_end *end = app;
    size_t i;
    uint32_t waiting = 0;

    if (!end->connected) {
        if (tenon_udp_connect(socket, &info->from) != TENON_OK)
            return;
        log_say(LOG_VERBOSE, "The first datagram is from %s: the others must be, too", text_endpoint(&info->from).s);
        start_stdin(end);
    }
    flow_received(&end->flow, info->bytes);
    for (i = 0; i < end->sink.count; i++)
        waiting += end->sink.queue[(end->sink.head + i) % end->sink.cap].len;
    if (waiting > PIPE_UDP_WAITING_MAX) {
        end->lost++;
        return;
    }
    sink_push(&end->sink, spans, n);
    if (end->sink.error != 0)
        app_stop(&end->app, CLI_FAILED);
}

static void pipe_icmp(struct tenon_udp *socket, void *app, const struct tenon_addr *to, int error)
{
    struct pipe_end *end = app;

    (void)socket;
    log_error("%s: %s", text_endpoint(to).s, tenon_error_text(error));
    if (end->options.listen)
        return;
    app_stop(&end->app, CLI_FAILED);
}

static const struct tenon_udp_events udp_events = { pipe_datagram, pipe_icmp };

/* ---- time ----------------------------------------------------------------------------------------- */

static int silent_for(const struct pipe_end *end, uint64_t since_us, double seconds)
{
    uint64_t now = clock_us();

    (void)end;
    return now > since_us && (double)(now - since_us) / 1e6 > seconds;
}

static void tick_due(void *arg)
{
    struct pipe_end *end = arg;
    const struct pipe_options *options = &end->options;

    progress_show(&end->progress, end->flow.rx_bytes + end->flow.tx_bytes);
    if (!options->listen && !options->udp && !end->connected && silent_for(end, end->began_us, options->timeout_s)) {
        log_error("no connection to %s in %s; is the address right, and the interface up?", text_endpoint(&end->at).s,
                  text_duration(options->timeout_s).s);
        app_stop(&end->app, CLI_FAILED);
    }
    if (options->udp && options->wait_s > 0 && end->stdin_ended && end->pending.len == 0 && sink_empty(&end->sink) &&
        silent_for(end, end->flow.last_us, options->wait_s))
        app_stop(&end->app, CLI_OK);
    loop_timer_set(&end->app.loop, &end->tick, PIPE_TICK_US);
}

static void pipe_interrupted(void *arg, int signal_number)
{
    struct pipe_end *end = arg;

    app_stop(&end->app, 128 + signal_number);
}

/* ---- the subcommands ------------------------------------------------------------------------------ */

enum { KEY_TIMEOUT = 0x200, KEY_PROGRESS };

static const struct argp_option connect_option_list[] = {
    { "udp", 'u', NULL, 0, "UDP: each read of stdin is a datagram", 1 },
    { "timeout", KEY_TIMEOUT, "SECONDS", 0, "Give up connecting after so long; default 10", 1 },
    { "wait", 'w', "SECONDS", 0, "UDP: after the end of stdin, end when nothing came for so long; default 1", 1 },
    { "progress", KEY_PROGRESS, NULL, 0, "Show progress also when stderr is no terminal", 1 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const struct argp_option listen_option_list[] = {
    { "udp", 'u', NULL, 0, "UDP: the first datagram decides who the peer is", 1 },
    { "wait", 'w', "SECONDS", 0, "UDP: after the end of stdin, end when nothing came for so long; default: never", 1 },
    { "progress", KEY_PROGRESS, NULL, 0, "Show progress also when stderr is no terminal", 1 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char connect_doc[] =
    "Open a connection to HOST and PORT and join it to stdin and stdout.\v"
    "HOST is an address, or a name, whose addresses are tried one after the other. "
    "The end of stdin finishes our side only; the program ends when the peer has finished too. The status is 0 "
    "when both sides finished in peace.\n\n"
    "Examples:\n"
    "  tenon connect 10.9.0.1 9000 < file\n"
    "  echo hello | tenon connect -u fd00:9::1 7\n"
    "  tenon connect -v --dhcp mail.example.com 25";

static const char listen_doc[] =
    "Wait for one connection to PORT and join it to stdin and stdout.\v"
    "The end of stdin finishes our side only; the program ends when the peer has finished too. The status is 0 "
    "when both sides finished in peace.\n\n"
    "Examples:\n"
    "  tenon listen 9000 > file\n"
    "  tenon listen --progress 9000 < file\n"
    "  tenon listen -u 9000";

static void read_port(const struct argp_state *state, struct pipe_options *options, const char *value)
{
    options->port = (unsigned)options_number(state, "PORT", value, 1, 65535);
}

static error_t parse_argument(struct pipe_options *options, char *value, const struct argp_state *state)
{
    if (options->listen && state->arg_num == 0)
        read_port(state, options, value);
    else if (!options->listen && state->arg_num == 0)
        options->host = value;
    else if (!options->listen && state->arg_num == 1)
        read_port(state, options, value);
    else
        argp_error(state, "\"%s\" is one argument too many", value);
    return 0;
}

static error_t parse_pipe(int key, char *value, struct argp_state *state)
{
    struct pipe_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->net;
        return 0;
    case 'u':
        options->udp = 1;
        return 0;
    case 'w':
        options->wait_s = options_seconds(state, "--wait", value);
        return 0;
    case KEY_TIMEOUT:
        options->timeout_s = options_seconds(state, "--timeout", value);
        return 0;
    case KEY_PROGRESS:
        options->progress = 1;
        return 0;
    case ARGP_KEY_ARG:
        return parse_argument(options, value, state);
    case ARGP_KEY_END:
        if (options->port == 0)
            argp_error(state, options->listen || options->host != NULL
                                  ? "the PORT is missing, such as 9000"
                                  : "HOST and PORT are missing, such as 10.9.0.1 9000");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child pipe_children[] = { OPTIONS_CHILD, { NULL, 0, NULL, 0 } };
static const struct argp connect_argp = { connect_option_list, parse_pipe, "HOST PORT", connect_doc,
                                          pipe_children, NULL, NULL };
static const struct argp listen_argp = { listen_option_list, parse_pipe, "PORT", listen_doc, pipe_children, NULL,
                                         NULL };

static int open_tcp(struct pipe_end *end)
{
    int r;

    if (end->options.listen) {
        r = tenon_tcp_listen(end->app.stack, &end->listener, &end->at, &pipe_events, end, 1);
        if (r == TENON_OK)
            app_set_listener(&end->app, end->listener);
        return r;
    }
    r = tenon_tcp_connect(end->app.stack, &end->conn, NULL, &end->at, &pipe_events, end);
    if (r == TENON_OK)
        app_set_conn(&end->app, end->conn);
    return r;
}

static int open_udp(struct pipe_end *end)
{
    int r = end->socket != NULL ? TENON_OK : tenon_udp_open(end->app.stack, &end->socket, &udp_events, end);

    if (r != TENON_OK)
        return r;
    if (end->options.listen)
        return tenon_udp_bind(end->socket, &end->at);
    r = tenon_udp_connect(end->socket, &end->at);
    if (r == TENON_OK)
        start_stdin(end);
    return r;
}

static void prepare(struct pipe_end *end)
{
    sink_open(&end->sink, &end->app.loop, STDOUT_FILENO, stdout_took, end);
    end->app.interrupted = pipe_interrupted;
    end->app.arg = end;
    end->tick.due = tick_due;
    end->retry.due = retry_due;
    end->tick.arg = end->retry.arg = end;
    progress_begin(&end->progress, "transferred", end->options.progress);
    end->progress.wanted = end->options.progress;
}

/* One address: the status of the program, unless there is another to try. */
static int join(struct pipe_end *end)
{
    int r;

    end->app.done = end->closed = 0;
    end->began_us = clock_us();
    app_scope(&end->app, &end->at);
    r = end->options.udp ? open_udp(end) : open_tcp(end);
    if (r != TENON_OK) {
        log_error("%s %s: %s", end->options.listen ? "listening at" : "no connection to", text_endpoint(&end->at).s,
                  tenon_error_text(r));
        return CLI_FAILED;
    }
    if (end->options.listen)
        log_say(LOG_VERBOSE, "Listening at port %u", end->options.port);
    loop_timer_set(&end->app.loop, &end->tick, PIPE_TICK_US);
    r = app_run(&end->app);
    if (end->conn != NULL && !end->connected)
        tenon_tcp_abort(end->conn);    /* took too long */
    return r;
}

/* One address of the host after the other, until there is a connection. */
static int join_any(struct pipe_end *end)
{
    struct tenon_ip ips[NAMES_ADDRESSES_MAX];
    const unsigned n = names_find(&end->app, end->options.host, ips);
    int code = end->app.done ? end->app.code : CLI_FAILED;
    unsigned i;

    for (i = 0; i < n && code == CLI_FAILED && !end->connected; i++) {
        end->at.ip = ips[i];
        end->at.netif = 0;
        code = join(end);
    }
    return code;
}

static void report(const struct pipe_end *end)
{
    double seconds = (double)(clock_us() - end->began_us) / 1e6;

    if (end->sink.error != 0 && end->sink.error != EPIPE)
        log_error("stdout: %s", strerror(end->sink.error));
    if (end->lost > 0)
        log_error("%s datagrams were lost because stdout was too slow", text_count(end->lost).s);
    log_say(end->options.progress ? LOG_NORMAL : LOG_VERBOSE, "received %s (%s), sent %s (%s) in %s",
            text_bytes(end->flow.rx_bytes).s, text_rate(end->flow.rx_bytes, seconds).s,
            text_bytes(end->flow.tx_bytes).s, text_rate(end->flow.tx_bytes, seconds).s, text_duration(seconds).s);
}

static int run_pipe(struct pipe_end *end)
{
    const char *wrong = end->options.listen ? NULL : names_check(end->options.host);
    int code = CLI_FAILED;

    if (wrong != NULL) {
        log_error("\"%s\" %s", end->options.host, wrong);
        return CLI_USAGE;
    }
    end->at.port = (tenon_u16)end->options.port;
    if (app_open(&end->app, &end->options.net, end->options.listen ? "listen" : "connect", NULL) == 0) {
        prepare(end);
        if (end->app.done)
            code = CLI_INTERRUPTED;    /* while we waited for an address of our own */
        else
            code = end->options.listen ? join(end) : join_any(end);
        progress_end(&end->progress);
        report(end);
    }
    progress_end(&end->progress);
    drop_pending(end);
    sink_close(&end->sink);
    if (end->socket != NULL)
        tenon_udp_close(end->socket);
    code = app_close(&end->app, code);
    input_free_all();
    return code;
}

int cmd_connect(int argc, char **argv)
{
    static struct pipe_end end;

    end.options.timeout_s = 10;
    end.options.wait_s = 1;
    options_default(&end.options.net);
    argp_parse(&connect_argp, argc, argv, 0, NULL, &end.options);
    log_open(argv[0], end.options.net.level);
    return run_pipe(&end);
}

int cmd_listen(int argc, char **argv)
{
    static struct pipe_end end;

    end.options.listen = 1;
    options_default(&end.options.net);
    argp_parse(&listen_argp, argc, argv, 0, NULL, &end.options);
    log_open(argv[0], end.options.net.level);
    return run_pipe(&end);
}
