/* SPDX-License-Identifier: MIT */
/* tenon get: HTTP requests one after the other, the answers into a file or to stdout. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli.h"
#include "common/app.h"
#include "common/names.h"
#include "common/sink.h"
#include "common/text.h"
#include "http_reply.h"

enum { GET_TICK_US = 200000, GET_LINGER_US = 2000000 };

struct get_options {
    struct options net;
    char **urls;
    int nurls;
    const char *output, *range;
    int head, progress;
    double timeout_s;
};

struct getter {
    struct flow flow;    /* first: the stack's pointer to the application */
    struct get_options options;
    struct app app;
    struct tenon_addr to;
    char host[TENON_DNS_NAME_MAX + 8];    /* as it stands in the URL, with the port */
    char name[TENON_DNS_NAME_MAX + 1];    /* empty: `to` is known */
    char *path;
    struct tenon_tcp *conn;
    struct http_reply reply;
    struct sink sink;
    struct progress progress;
    struct loop_timer tick;
    int fd;
    int ended;           /* nothing more will come */
    int unreachable;     /* why we gave up while connecting: an enum tenon_error */
    uint64_t began_us, connected_us;
};

/* ---- the URL -------------------------------------------------------------------------------------- */

/* An address or a name, and a port perhaps. @return as read_url() */
static const char *read_host(struct getter *getter)
{
    const size_t n = strcspn(getter->host, ":");
    uint64_t port = 80;

    getter->name[0] = '\0';
    if (text_read_endpoint(getter->host, 80, &getter->to) == NULL)
        return NULL;
    if (n >= sizeof getter->name)
        return "has a name that is too long";
    memcpy(getter->name, getter->host, n);
    getter->name[n] = '\0';
    if (!names_is_name(getter->name) ||
        (getter->host[n] == ':' && text_read_number(getter->host + n + 1, 1, 65535, &port) != NULL))
        return "needs an address or a name after http:// (write http://10.9.0.1:8080/)";
    getter->to.port = (tenon_u16)port;
    return names_check(getter->name);
}

/* @return NULL, or what is wrong, as the end of a sentence that begins with the URL */
static const char *read_url(struct getter *getter, const char *url)
{
    const char *path, *wrong;
    size_t n;

    if (strncasecmp(url, "https://", 8) == 0)
        return "is https: TLS is not part of this program";
    if (strncasecmp(url, "http://", 7) != 0)
        return "does not begin with http:// (write http://10.9.0.1/ or http://[fd00:9::1]:8080/file)";
    url += 7;
    n = strcspn(url, "/?#");
    if (n == 0 || n >= sizeof getter->host)
        return "has no address after http://";
    memcpy(getter->host, url, n);
    getter->host[n] = '\0';
    path = url + n;
    wrong = read_host(getter);
    if (wrong != NULL)
        return wrong;
    n = strcspn(path, "#");
    free(getter->path);
    getter->path = must_alloc(n + 2);
    snprintf(getter->path, n + 2, "%s%.*s", path[0] == '/' ? "" : "/", (int)n, path);
    return strpbrk(getter->path, " \r\n\t") != NULL ? "has a space in its path (write %20)" : NULL;
}

/* ---- the connection ------------------------------------------------------------------------------- */

/* The end, once stdout or the file has got everything. */
static void end_if_drained(struct getter *getter)
{
    if (!getter->ended || !sink_empty(&getter->sink))
        return;
    app_stop(&getter->app, getter->reply.state == REPLY_DONE && getter->sink.error == 0 ? CLI_OK : CLI_FAILED);
}

static void getter_took(void *arg, uint32_t bytes)
{
    struct getter *getter = arg;

    if (getter->conn != NULL)
        tenon_tcp_consumed(getter->conn, bytes);
    end_if_drained(getter);
}

static void getter_body(void *arg, const struct tenon_span *span)
{
    struct getter *getter = arg;

    sink_push(&getter->sink, span, 1);
}

static void getter_opened(struct tenon_tcp *conn, void *app)
{
    struct getter *getter = app;

    (void)conn;
    getter->connected_us = clock_us();
    log_say(LOG_VERBOSE, "Connected to %s in %s", text_endpoint(&getter->to).s,
            text_duration((double)(getter->connected_us - getter->began_us) / 1e6).s);
}

/* The request waits for the handshake, or goes with the SYN (--fastopen): to read something twice does no harm. */
static int send_request(const struct getter *getter)
{
    struct strbuf request = { NULL, 0, 0 };
    const struct text to = text_endpoint(&getter->to);
    int sent;

    sb_printf(&request, "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: tenon/" TENON_VERSION "\r\nConnection: close\r\n",
              getter->options.head ? "HEAD" : "GET", getter->path, getter->name[0] != '\0' ? getter->host : to.s);
    if (getter->options.range != NULL)
        sb_printf(&request, "Range: bytes=%s\r\n", getter->options.range);
    sb_text(&request, "\r\n");
    sent = tenon_tcp_write(getter->conn, request.s, (tenon_u32)request.len) == (tenon_i32)request.len;
    sb_free(&request);
    if (!sent)
        log_error("the request could not be sent");
    return sent ? 0 : -1;
}

static void getter_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct getter *getter = app;
    uint32_t other;

    flow_received(&getter->flow, spans_bytes(spans, n));
    other = http_reply_feed(&getter->reply, spans, n);
    getter->progress.total = getter->reply.has_length ? getter->reply.length : 0;
    progress_show(&getter->progress, getter->reply.body_bytes);
    tenon_tcp_consumed(conn, other);
    if (getter->reply.state == REPLY_BAD) {
        log_error("the answer cannot be understood: %s", getter->reply.wrong);
        tenon_tcp_abort(conn);
    } else if (getter->sink.error != 0) {
        tenon_tcp_abort(conn);
    } else if (getter->reply.state == REPLY_DONE) {
        tenon_tcp_finish(conn);
    }
}

static void getter_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct getter *getter = app;

    (void)conn;
    flow_acked(&getter->flow, bytes);
}

static void getter_finished(struct tenon_tcp *conn, void *app)
{
    struct getter *getter = app;

    http_reply_end(&getter->reply);
    tenon_tcp_finish(conn);
}

static void getter_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct getter *getter = app;
    const char *reason = why == TENON_OK ? "the server has hung up"
                                         : tenon_error_text(getter->unreachable != 0 ? getter->unreachable : why);

    (void)conn;
    getter->conn = NULL;
    getter->ended = 1;
    progress_end(&getter->progress);
    if (getter->app.done || getter->reply.state == REPLY_BAD || getter->sink.error != 0)
        ;
    else if (getter->connected_us == 0)
        log_error("no connection to %s: %s", text_endpoint(&getter->to).s, reason);
    else if (getter->reply.state == REPLY_HEAD)
        log_error("the connection ended without an answer: %s", reason);
    else if (getter->reply.state != REPLY_DONE && getter->reply.has_length)
        log_error("the connection ended after %s of %s bytes: %s", text_count(getter->reply.body_bytes).s,
                  text_count(getter->reply.length).s, reason);
    else if (getter->reply.state != REPLY_DONE)
        log_error("the connection ended in the middle of the answer: %s", reason);
    end_if_drained(getter);
}

/* While connecting, a router's or our own "cannot be reached" ends the attempt (RFC 5461 allows it): who waits
 * for a page wants to know. Later it may pass. */
static void getter_soft_error(struct tenon_tcp *conn, void *app, int error)
{
    struct getter *getter = app;

    if (getter->connected_us != 0 || error == TENON_ETIMEOUT)
        return;
    getter->unreachable = error;
    tenon_tcp_abort(conn);
}

static const struct tenon_tcp_events getter_events = { NULL, getter_opened, getter_received, getter_acked,
                                                       getter_finished, getter_closed, NULL, getter_soft_error };

static void getter_tick(void *arg)
{
    struct getter *getter = arg;
    uint64_t last = getter->flow.last_us > getter->began_us ? getter->flow.last_us : getter->began_us, now = clock_us();

    progress_show(&getter->progress, getter->reply.body_bytes);
    if (getter->reply.state == REPLY_DONE && now > last && now - last > GET_LINGER_US) {
        getter->ended = 1;    /* we have all of it; a server that does not hang up need not be waited for */
        end_if_drained(getter);
    }
    if (now > last && (double)(now - last) / 1e6 > getter->options.timeout_s && sink_empty(&getter->sink)) {
        log_error(getter->connected_us == 0 ? "no answer from %s in %s; is the address right, and the interface up?"
                                            : "nothing came from %s for %s",
                  text_endpoint(&getter->to).s, text_duration(getter->options.timeout_s).s);
        app_stop(&getter->app, CLI_FAILED);
        return;
    }
    loop_timer_set(&getter->app.loop, &getter->tick, GET_TICK_US);
}

static void getter_interrupted(void *arg, int signal_number)
{
    struct getter *getter = arg;

    app_stop(&getter->app, 128 + signal_number);
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

enum { KEY_TIMEOUT = 0x200, KEY_PROGRESS };

static const struct argp_option get_option_list[] = {
    { "output", 'o', "FILE", 0, "Write the body to FILE; default: stdout", 1 },
    { "range", 'r', "FIRST-LAST", 0,
      "Ask for these bytes only, such as 0-99, 100- or -100 (the last hundred)", 1 },
    { "head", 'I', NULL, 0, "Ask for the head only, and print it", 1 },
    { "timeout", KEY_TIMEOUT, "SECONDS", 0, "Give up when nothing happens for so long; default 30", 1 },
    { "progress", KEY_PROGRESS, NULL, 0, "Show progress also when stderr is no terminal", 1 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char get_doc[] =
    "Fetch each URL over HTTP/1.1: http://HOST[:PORT]/PATH.\v"
    "HOST is an address, or a name, whose addresses are tried one after the other. "
    "The body goes to stdout or to a file; size, time and rate are said on stderr. The status is 0 for an answer "
    "2xx, 1 for any other answer or when there is none. Several URLs are fetched one after the other, each over a "
    "connection of its own, until one fails; their bodies follow each other.\n\n"
    "Examples:\n"
    "  tenon get http://10.9.0.1:8000/ \n"
    "  tenon get -o big.iso http://[fd00:9::1]:8000/big.iso\n"
    "  tenon get -r 0-1023 --stats http://10.9.0.1/big.iso | xxd\n"
    "  tenon get --dhcp http://www.example.com/";

/* RFC 9110 14.1.1; of a last byte before the first nobody knows what is wanted. */
static int is_range(const char *text)
{
    static const char digits[] = "0123456789";
    const size_t first = strspn(text, digits), last = text[first] == '-' ? strspn(text + first + 1, digits) : 0;

    if (text[first] != '-' || text[first + 1 + last] != '\0')
        return 0;
    if (first == 0 || last == 0)
        return first + last > 0;
    return strtoull(text, NULL, 10) <= strtoull(text + first + 1, NULL, 10);
}

static error_t parse_get(int key, char *value, struct argp_state *state)
{
    struct get_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->net;
        return 0;
    case 'o':
        options->output = strcmp(value, "-") == 0 ? NULL : value;
        return 0;
    case 'r':
        if (!is_range(value))
            options_bad_value(state, "--range", value, "is not FIRST-LAST, FIRST- or -COUNT");
        options->range = value;
        return 0;
    case 'I':
        options->head = 1;
        return 0;
    case KEY_TIMEOUT:
        options->timeout_s = options_seconds(state, "--timeout", value);
        return 0;
    case KEY_PROGRESS:
        options->progress = 1;
        return 0;
    case ARGP_KEY_ARGS:
        options->urls = state->argv + state->next;
        options->nurls = state->argc - state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a URL is missing, such as http://10.9.0.1:8000/");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child get_children[] = { OPTIONS_CHILD, { NULL, 0, NULL, 0 } };
static const struct argp get_argp = { get_option_list, parse_get, "URL...", get_doc, get_children, NULL, NULL };

static int open_output(struct getter *getter)
{
    getter->fd = STDOUT_FILENO;
    if (getter->options.output == NULL)
        return 0;
    getter->fd = open(getter->options.output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (getter->fd >= 0)
        return 0;
    log_error("%s: %s", getter->options.output, strerror(errno));
    return -1;
}

static int start(struct getter *getter)
{
    int r;

    http_reply_free(&getter->reply);
    memset(&getter->reply, 0, sizeof getter->reply);
    getter->ended = getter->unreachable = 0;
    getter->connected_us = 0;
    getter->reply.head_only = getter->options.head;
    getter->reply.body = getter_body;
    getter->reply.arg = getter;
    getter->began_us = clock_us();
    app_scope(&getter->app, &getter->to);
    progress_begin(&getter->progress, "received", getter->options.progress);
    r = tenon_tcp_connect(getter->app.stack, &getter->conn, NULL, &getter->to, &getter_events, getter);
    if (r != TENON_OK) {
        log_error("no connection to %s: %s", text_endpoint(&getter->to).s, tenon_error_text(r));
        return -1;
    }
    app_set_conn(&getter->app, getter->conn);
    if (send_request(getter) != 0) {
        app_stop(&getter->app, CLI_FAILED);
        return -1;
    }
    getter->tick.due = getter_tick;
    getter->tick.arg = getter;
    loop_timer_set(&getter->app.loop, &getter->tick, GET_TICK_US);
    return 0;
}

/* The status line, without bytes that control a terminal. */
static void say_refusal(const char *head)
{
    struct strbuf line = { NULL, 0, 0 }, shown = { NULL, 0, 0 };

    sb_add(&line, head, strcspn(head, "\n"));
    sb_json(&shown, line.s);
    log_error("the server says: %s", shown.s);
    sb_free(&line);
    sb_free(&shown);
}

/* All lines, for people and for programs. */
static void print_head(const char *head)
{
    struct strbuf shown = { NULL, 0, 0 };

    sb_text(&shown, head);
    sb_hide_controls(&shown);
    fputs(shown.s, stdout);
    sb_free(&shown);
}

static int report(const struct getter *getter, int code)
{
    double seconds = (double)(clock_us() - getter->began_us) / 1e6;
    const char *status = getter->reply.head.s;

    if (getter->sink.error != 0 && getter->sink.error != EPIPE)
        log_error("%s: %s", getter->options.output != NULL ? getter->options.output : "stdout",
                  strerror(getter->sink.error));
    if (code != CLI_OK)
        return code;
    if (getter->options.head)
        print_head(status);
    if (getter->reply.status / 100 != 2) {
        say_refusal(status);
        return CLI_FAILED;
    }
    if (getter->options.range != NULL && getter->reply.status != 206 && !getter->options.head)
        log_say(LOG_NORMAL, "The server does not know ranges: this is the whole");
    if (!getter->options.head)
        log_say(LOG_NORMAL, "%s bytes (%s) in %s: %s", text_count(getter->reply.body_bytes).s,
                text_bytes(getter->reply.body_bytes).s, text_duration(seconds).s,
                text_rate(getter->reply.body_bytes, seconds).s);
    return CLI_OK;
}

/* @return 0: the URLs can be read */
static int check_urls(struct getter *getter)
{
    int i;

    for (i = 0; i < getter->options.nurls; i++) {
        const char *wrong = read_url(getter, getter->options.urls[i]);

        if (wrong == NULL)
            continue;
        log_error("\"%s\" %s", getter->options.urls[i], wrong);
        return -1;
    }
    return 0;
}

static int fetch(struct getter *getter)
{
    int code;

    getter->app.done = 0;
    code = start(getter) == 0 ? report(getter, app_run(&getter->app)) : CLI_FAILED;
    loop_timer_stop(&getter->app.loop, &getter->tick);
    if (getter->conn != NULL)
        tenon_tcp_abort(getter->conn);
    return code;
}

/* One address after the other, until there is a connection. */
static int fetch_by_name(struct getter *getter)
{
    struct tenon_ip ips[NAMES_ADDRESSES_MAX];
    const unsigned n = names_find(&getter->app, getter->name, ips);
    int code = getter->app.done ? getter->app.code : CLI_FAILED;
    unsigned i;

    getter->connected_us = 0;
    for (i = 0; i < n && code == CLI_FAILED && getter->connected_us == 0; i++) {
        getter->to.ip = ips[i];
        getter->to.netif = 0;
        code = fetch(getter);
    }
    return code;
}

static int fetch_all(struct getter *getter)
{
    int i, code = CLI_OK;

    if (getter->app.done)
        return CLI_INTERRUPTED;    /* while we waited for an address of our own */
    getter->app.interrupted = getter_interrupted;
    getter->app.arg = getter;
    sink_open(&getter->sink, &getter->app.loop, getter->fd, getter_took, getter);
    for (i = 0; i < getter->options.nurls && code == CLI_OK; i++) {
        (void)read_url(getter, getter->options.urls[i]);
        code = getter->name[0] != '\0' ? fetch_by_name(getter) : fetch(getter);
    }
    return code;
}

int cmd_get(int argc, char **argv)
{
    static struct getter getter;
    int code = CLI_FAILED;

    getter.options.timeout_s = 30;
    options_default(&getter.options.net);
    argp_parse(&get_argp, argc, argv, 0, NULL, &getter.options);
    log_open(argv[0], getter.options.net.level);
    if (check_urls(&getter) != 0)
        return CLI_USAGE;
    if (open_output(&getter) != 0)
        return CLI_FAILED;
    if (app_open(&getter.app, &getter.options.net, "get", NULL) == 0)
        code = fetch_all(&getter);
    progress_end(&getter.progress);
    sink_close(&getter.sink);
    code = app_close(&getter.app, code);
    if (getter.options.output != NULL && close(getter.fd) != 0) {
        log_error("%s: %s", getter.options.output, strerror(errno));
        code = CLI_FAILED;
    }
    http_reply_free(&getter.reply);
    free(getter.path);
    return code;
}
