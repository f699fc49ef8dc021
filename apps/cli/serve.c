/* SPDX-License-Identifier: MIT */
/* tenon serve: files over HTTP/1.1.
 *
 * A client is one connection. It reads a request into `in`, answers it, and only then looks at the next
 * one; what a peer sends ahead waits in `in`, and because the stack is told of consumed bytes only when
 * they leave `in`, its window bounds what can wait. The answer is a head (a small buffer) and a body (spans
 * of a mapped file), handed to the stack as its queue has room: when it opens, and when the peer has
 * acknowledged something.
 *
 * Every client stands in one of five queues, by what it is waiting for; each queue has one time limit, so
 * its first client is always the next to run out of time. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli.h"
#include "common/app.h"
#include "common/cores.h"
#include "common/text.h"
#include "http_file.h"
#include "http_request.h"

enum { REQUEST_BYTES_MAX = 16384, PATH_BYTES_MAX = 4096, SERVE_TICK_US = 500000, LINGER_BYTES_MAX = 1 << 20 };

/* What a client waits for. */
enum phase {
    PHASE_IDLE,      /* a request */
    PHASE_HEAD,      /* the rest of a request */
    PHASE_SEND,      /* acknowledgements of what is sent */
    PHASE_DRAIN,     /* those of the last that is sent; nothing is answered from here on */
    PHASE_LINGER,    /* the peer's end of the connection */
    PHASE_COUNT
};

struct client;

struct queue {
    struct client *first, *last;
    uint64_t limit_us;
};

struct serve_options {
    struct options net;
    struct cores_options cores;
    const char *directory;
    unsigned port;
    double idle_s;
};

struct server {
    struct flow flow;    /* of no connection; the stack hands the server to handlers as it does a client */
    const struct serve_options *options;
    struct app app;
    struct tenon_tcp_listener *listener;
    struct queue queues[PHASE_COUNT];
    struct loop_timer tick;
    int root;
    uint64_t requests, bytes;
    unsigned clients;
};

struct client {
    struct flow flow;
    struct server *server;
    struct tenon_tcp *conn;
    struct client *next, *previous;
    enum phase phase;
    uint64_t since_us;
    char *in;
    size_t in_len, in_cap;
    struct tenon_buf *head;    /* what is left of the answer: head, file [at, end) */
    tenon_u32 head_at;
    struct http_file *file;
    uint64_t at, end;
    int last;                  /* the connection ends after this answer */
    int peer_finished;
    uint32_t thrown_away;
};

/* ---- the queues ------------------------------------------------------------------------------ */

static void leave_queue(struct client *client)
{
    struct queue *queue = &client->server->queues[client->phase];

    if (client->previous != NULL)
        client->previous->next = client->next;
    else
        queue->first = client->next;
    if (client->next != NULL)
        client->next->previous = client->previous;
    else
        queue->last = client->previous;
}

static void join_queue(struct client *client, enum phase phase)
{
    struct queue *queue = &client->server->queues[phase];

    client->phase = phase;
    client->since_us = flow_now_us;
    client->next = NULL;
    client->previous = queue->last;
    if (queue->last != NULL)
        queue->last->next = client;
    else
        queue->first = client;
    queue->last = client;
}

/* Into a queue, at its end: the time begins anew. */
static void wait_for(struct client *client, enum phase phase)
{
    leave_queue(client);
    join_queue(client, phase);
}

/* ---- answers -------------------------------------------------------------------------------------- */

static void free_head(struct tenon_buf *buf)
{
    free(buf);
}

/* The text becomes the head of the answer: a buffer with its bytes behind it. @return 0 or -1 */
static int set_head(struct client *client, const struct strbuf *text)
{
    struct tenon_buf *buf = malloc(sizeof *buf + text->len);

    if (buf == NULL)
        return -1;
    buf->data = (tenon_u8 *)(buf + 1);
    memcpy(buf->data, text->s, text->len);
    buf->size = (tenon_u32)text->len;
    buf->refs = 1;
    buf->release = free_head;
    client->head = buf;
    client->head_at = 0;
    return 0;
}

/* That a connection stays, a client of HTTP/1.0 has to be told (RFC 9112 C.2.2). */
static void begin_head(struct strbuf *head, const struct client *client, const struct http_request *request, int status)
{
    char date[HTTP_DATE_MAX];

    http_date_write(date, time(NULL));
    sb_printf(head, "HTTP/1.1 %d %s\r\nServer: tenon/" TENON_VERSION "\r\nDate: %s\r\n", status,
              http_status_text(status), date);
    if (client->last)
        sb_text(head, "Connection: close\r\n");
    else if (request->minor == 0)
        sb_text(head, "Connection: keep-alive\r\n");
}

static void log_request(const struct client *client, const struct http_request *request, int status, uint64_t bytes)
{
    static const char *const methods[] = { "GET", "HEAD", "other" };
    struct strbuf target = { NULL, 0, 0 };
    struct tenon_tcp_info info;

    client->server->requests++;
    if (log_level() < LOG_VERBOSE)
        return;
    tenon_tcp_status(client->conn, &info);
    sb_json(&target, request->target != NULL ? request->target : "");    /* no bytes that control a terminal */
    log_say(LOG_VERBOSE, "%s  %s %s  %d  %s", text_endpoint(&info.remote).s,
            request->target != NULL ? methods[request->method] : "?", target.s, status, text_bytes(bytes).s);
    sb_free(&target);
}

/* An answer that is a page of our own: errors, redirections, listings. @return 0 or -1 */
static int answer_page(struct client *client, const struct http_request *request, int status, const char *more,
                       const struct strbuf *page)
{
    struct strbuf head = { NULL, 0, 0 };
    int r;

    begin_head(&head, client, request, status);
    sb_printf(&head, "%sContent-Type: text/html; charset=utf-8\r\nContent-Length: %zu\r\n\r\n", more, page->len);
    if (request->method != HTTP_HEAD && page->len > 0)
        sb_add(&head, page->s, page->len);
    log_request(client, request, status, page->len);
    r = set_head(client, &head);
    sb_free(&head);
    return r;
}

static int answer_status(struct client *client, const struct http_request *request, int status, const char *more)
{
    struct strbuf page = { NULL, 0, 0 };
    int r;

    sb_printf(&page, "<!doctype html>\n<html><head><title>%d %s</title></head><body><h1>%d %s</h1></body></html>\n",
              status, http_status_text(status), status, http_status_text(status));
    r = answer_page(client, request, status, more, &page);
    sb_free(&page);
    return r;
}

struct validators {
    char etag[64];
    char modified[HTTP_DATE_MAX];
    time_t mtime;
};

/* A file of the future was modified now, as far as anybody is told (RFC 9110 8.8.2.1). */
static void make_validators(struct validators *validators, const struct stat *st)
{
    const time_t now = time(NULL), mtime = st->st_mtim.tv_sec;

    snprintf(validators->etag, sizeof validators->etag, "\"%llx-%llx%08lx\"", (unsigned long long)st->st_size,
             (unsigned long long)st->st_mtim.tv_sec, (unsigned long)st->st_mtim.tv_nsec);
    http_date_write(validators->modified, mtime < now ? mtime : now);
    validators->mtime = mtime;
}

/* Whether a field has our tag; `weak`: be it as W/"tag" (RFC 9110 8.8.3.2). */
static int has_tag(const char *field, const char *tag, int weak)
{
    const char *at = strstr(field, tag);

    while (at != NULL && !weak && at > field && at[-1] == '/')
        at = strstr(at + 1, tag);
    return at != NULL || strcmp(field, "*") == 0;
}

/* @return 1: the file has changed after that date; 0: it has not; -1: it is no date, and so no condition (RFC 9110
 * 13.1.3, 13.1.4) */
static int changed_after(const struct validators *validators, const char *field)
{
    const time_t when = http_date_read(field);

    return when == (time_t)-1 ? -1 : validators->mtime > when;
}

/* In the order of RFC 9110 13.2.2. @return 412, 304, or 200: there is nothing against it */
static int precondition(const struct http_request *request, const struct validators *validators)
{
    if (request->if_match != NULL) {
        if (!has_tag(request->if_match, validators->etag, 0))
            return 412;
    } else if (request->if_unmodified_since != NULL) {
        if (changed_after(validators, request->if_unmodified_since) == 1)
            return 412;
    }
    if (request->if_none_match != NULL)
        return has_tag(request->if_none_match, validators->etag, 1) ? 304 : 200;
    if (request->if_modified_since != NULL)
        return changed_after(validators, request->if_modified_since) == 0 ? 304 : 200;
    return 200;
}

/* Of GET only (RFC 9110 14.2); and a part only of what the client has already, else the whole (13.1.5). */
static enum http_range wanted_range(struct client *client, const struct http_request *request,
                                    const struct validators *validators)
{
    client->at = 0;
    client->end = http_file_size(client->file);
    if (request->method != HTTP_GET)
        return HTTP_RANGE_NONE;
    if (request->if_range != NULL && strcmp(request->if_range, validators->etag) != 0 &&
        strcmp(request->if_range, validators->modified) != 0)
        return HTTP_RANGE_NONE;
    return http_range_read(request->range, http_file_size(client->file), &client->at, &client->end);
}

static void drop_file(struct client *client)
{
    if (client->file != NULL)
        http_file_put(client->file);
    client->file = NULL;
}

static int answer_file(struct client *client, const struct http_request *request, const char *path,
                       const struct stat *st)
{
    struct strbuf head = { NULL, 0, 0 };
    struct validators validators;
    enum http_range range = HTTP_RANGE_NONE;
    char more[80];
    int status, r;

    make_validators(&validators, st);
    status = precondition(request, &validators);
    if (status == 412) {
        drop_file(client);
        return answer_status(client, request, 412, "");
    }
    if (status == 200)    /* else the range does not matter (RFC 9110 14.2) */
        range = wanted_range(client, request, &validators);
    if (range == HTTP_RANGE_UNSATISFIABLE) {
        snprintf(more, sizeof more, "Content-Range: bytes */%llu\r\n",
                 (unsigned long long)http_file_size(client->file));
        drop_file(client);
        return answer_status(client, request, 416, more);
    }
    if (range == HTTP_RANGE_PART)
        status = 206;
    if (range == HTTP_RANGE_NONE) {
        client->at = 0;
        client->end = http_file_size(client->file);
    }
    begin_head(&head, client, request, status);
    sb_printf(&head, "Last-Modified: %s\r\nETag: %s\r\n", validators.modified, validators.etag);
    if (status == 206)
        sb_printf(&head, "Content-Range: bytes %llu-%llu/%llu\r\n", (unsigned long long)client->at,
                  (unsigned long long)client->end - 1, (unsigned long long)http_file_size(client->file));
    if (status != 304)
        sb_printf(&head, "Accept-Ranges: bytes\r\nContent-Type: %s\r\nContent-Length: %llu\r\n",
                  http_content_type(path), (unsigned long long)(client->end - client->at));
    sb_text(&head, "\r\n");
    if (status == 304 || request->method == HTTP_HEAD)
        client->at = client->end;
    log_request(client, request, status, client->end - client->at);
    r = set_head(client, &head);
    sb_free(&head);
    return r;
}

static int answer_listing(struct client *client, const struct http_request *request, int fd, const char *path)
{
    struct strbuf page = { NULL, 0, 0 };
    int r;

    if (http_listing(&page, client->server->root, fd, path) != 0)
        return answer_status(client, request, 500, "");
    r = answer_page(client, request, 200, "", &page);
    sb_free(&page);
    return r;
}

static int answer_moved(struct client *client, const struct http_request *request, const char *path)
{
    struct strbuf more = { NULL, 0, 0 };
    int r;

    sb_text(&more, "Location: /");
    sb_url(&more, path);
    sb_text(&more, "/\r\n");
    r = answer_status(client, request, 301, more.s);
    sb_free(&more);
    return r;
}

static int status_of_errno(void)
{
    switch (errno) {
    case ENOENT:
    case ENOTDIR:
    case ELOOP:
    case EXDEV:
        return 404;
    case EACCES:
    case EPERM:
        return 403;
    case ENAMETOOLONG:
        return 414;
    default:
        return 500;
    }
}

static int answer_get(struct client *client, const struct http_request *request)
{
    char path[PATH_BYTES_MAX];
    struct stat st;
    int status = http_path_read(request->target, path, sizeof path - sizeof "index.html"), fd, index;
    size_t n;

    if (status != 0)
        return answer_status(client, request, status, "");
    n = strlen(path);
    fd = http_open_beneath(client->server->root, path, &st);
    if (fd >= 0 && S_ISDIR(st.st_mode)) {
        if (n > 0 && path[n - 1] != '/') {
            close(fd);
            return answer_moved(client, request, path);
        }
        strcpy(path + n, "index.html");
        index = http_open_beneath(client->server->root, path, &st);
        if (index < 0) {
            path[n] = '\0';
            return answer_listing(client, request, fd, path);
        }
        close(fd);
        fd = index;
    }
    if (fd < 0)
        return answer_status(client, request, status_of_errno(), "");
    if (!S_ISREG(st.st_mode)) {
        close(fd);
        return answer_status(client, request, 403, "");
    }
    client->file = http_file_open(fd, &st);
    if (client->file == NULL)
        return answer_status(client, request, 500, "");
    return answer_file(client, request, path, &st);
}

/* ---- one request after the other ------------------------------------------------------------------ */

static void take_from_in(struct client *client, size_t bytes)
{
    if (client->in == NULL)
        return;
    client->in_len -= bytes;
    memmove(client->in, client->in + bytes, client->in_len);
    tenon_tcp_consumed(client->conn, (tenon_u32)bytes);
    if (client->in_len == 0) {
        free(client->in);
        client->in = NULL;
        client->in_cap = 0;
    }
}

/* Answer the request at the beginning of `in`, if it is complete.
 * @return 1: there is an answer to send; 0: not yet; -1: out of memory */
static int next_request(struct client *client)
{
    size_t bytes = http_head_bytes(client->in, client->in_len);
    struct http_request request;
    int status, r;

    if (bytes == 0 && client->in_len < REQUEST_BYTES_MAX)
        return 0;
    memset(&request, 0, sizeof request);
    status = bytes > 0 ? http_request_read(&request, client->in, bytes) : 431;
    if (bytes == 0)
        bytes = client->in_len;
    client->last = status != 0 || !request.keep_alive || request.has_body;
    if (status != 0)
        r = answer_status(client, &request, status, status == 405 ? "Allow: GET, HEAD\r\n" : "");
    else
        r = answer_get(client, &request);
    take_from_in(client, bytes);
    return r == 0 ? 1 : -1;
}

static int send_part(struct client *client, const struct tenon_span *from, tenon_u32 *sent)
{
    struct tenon_span span = *from;
    tenon_u32 room = tenon_tcp_room(client->conn);

    if (span.len > room)
        span.len = room;
    *sent = 0;
    if (span.len == 0 || tenon_tcp_send(client->conn, &span) != TENON_OK)
        return 0;
    *sent = span.len;
    return 1;
}

/* Queue as much of the answer as there is room for. @return 1: all of it is queued */
static int send_answer(struct client *client)
{
    struct tenon_span span;
    tenon_u32 sent;

    while (client->head != NULL) {
        span.buf = client->head;
        span.off = client->head_at;
        span.len = client->head->size - client->head_at;
        if (!send_part(client, &span, &sent))
            return 0;
        client->head_at += sent;
        if (client->head_at == client->head->size) {
            tenon_buf_put(client->head);
            client->head = NULL;
        }
    }
    while (client->at < client->end) {
        span = http_file_span(client->file, client->at, client->end);
        if (!send_part(client, &span, &sent))
            return 0;
        client->at += sent;
        client->server->bytes += sent;
    }
    drop_file(client);
    return 1;
}

/* As long as acknowledgements come, the peer has not got all yet, and is not to be hurried. */
static void drain(struct client *client)
{
    struct tenon_tcp_info info;

    tenon_tcp_status(client->conn, &info);
    wait_for(client, info.snd_queued > 0 ? PHASE_DRAIN : PHASE_LINGER);
}

static void linger(struct client *client)
{
    drain(client);
    if (client->in_len > 0)
        take_from_in(client, client->in_len);
    tenon_tcp_finish(client->conn);
}

/* Bring the client forward as far as it goes. May end with the client gone. */
static void advance(struct client *client)
{
    int r;

    while (client->phase < PHASE_DRAIN) {
        if (client->file != NULL && !http_file_intact(client->file)) {
            log_say(LOG_NORMAL, "A file became shorter while it was sent: the connection is reset");
            tenon_tcp_abort(client->conn);
            return;
        }
        if (!send_answer(client)) {
            wait_for(client, PHASE_SEND);
            return;
        }
        if (client->last) {
            linger(client);
            return;
        }
        r = next_request(client);
        if (r < 0) {
            tenon_tcp_abort(client->conn);
            return;
        }
        if (r == 0 && client->peer_finished) {
            linger(client);
            return;
        }
        if (r == 0) {
            if (client->phase != PHASE_HEAD || client->in_len == 0)
                wait_for(client, client->in_len > 0 ? PHASE_HEAD : PHASE_IDLE);
            return;
        }
    }
}

/* ---- events of the stack -------------------------------------------------------------------------- */

static void client_opened(struct tenon_tcp *conn, void *app);
static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n);
static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes);
static void client_finished(struct tenon_tcp *conn, void *app);
static void client_closed(struct tenon_tcp *conn, void *app, int why);

static const struct tenon_tcp_events listener_events = { NULL, client_opened, NULL, NULL, NULL, NULL, NULL, NULL };
static const struct tenon_tcp_events client_events = { NULL, NULL, client_received, client_acked, client_finished,
                                                       client_closed, NULL, NULL };

static void client_opened(struct tenon_tcp *conn, void *app)
{
    struct server *server = app;
    struct client *client = calloc(1, sizeof *client);

    if (client == NULL) {
        tenon_tcp_abort(conn);
        return;
    }
    client->server = server;
    client->conn = conn;
    client->flow.last_us = flow_now_us;
    server->clients++;
    join_queue(client, PHASE_IDLE);
    tenon_tcp_handler(conn, &client_events, client);
}

/* @return 0, or -1: no memory, or more than the window allowed */
static int add_to_in(struct client *client, const struct tenon_span *spans, unsigned n)
{
    size_t want = client->in_len + spans_bytes(spans, n), cap;
    unsigned i;
    char *in;

    if (want > client->in_cap) {
        cap = want < 2048 ? 2048 : want * 2 > 2 * REQUEST_BYTES_MAX ? want
                                                                    : want * 2;
        in = want <= 4 * REQUEST_BYTES_MAX ? realloc(client->in, cap) : NULL;
        if (in == NULL)
            return -1;
        client->in = in;
        client->in_cap = cap;
    }
    for (i = 0; i < n; i++) {
        memcpy(client->in + client->in_len, tenon_span_data(&spans[i]), spans[i].len);
        client->in_len += spans[i].len;
    }
    return 0;
}

static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct client *client = app;

    flow_received(&client->flow, spans_bytes(spans, n));
    if (client->phase >= PHASE_DRAIN) {
        client->thrown_away += spans_bytes(spans, n);
        tenon_tcp_consumed(conn, spans_bytes(spans, n));
        if (client->thrown_away > LINGER_BYTES_MAX)
            tenon_tcp_abort(conn);
        return;
    }
    if (add_to_in(client, spans, n) != 0) {
        tenon_tcp_abort(conn);
        return;
    }
    if (client->phase != PHASE_SEND)
        advance(client);
}

static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    struct client *client = app;

    (void)conn;
    flow_acked(&client->flow, bytes);
    if (client->phase == PHASE_SEND)
        advance(client);
    else if (client->phase == PHASE_DRAIN)
        drain(client);
}

static void client_finished(struct tenon_tcp *conn, void *app)
{
    struct client *client = app;

    (void)conn;
    client->peer_finished = 1;
    if (client->phase == PHASE_IDLE || client->phase == PHASE_HEAD)
        advance(client);
}

static void client_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct client *client = app;

    (void)conn;
    if (why != TENON_OK && why != TENON_EABORTED)
        log_say(LOG_VERBOSE, "A connection ended: %s", tenon_error_text(why));
    leave_queue(client);
    client->server->clients--;
    drop_file(client);
    if (client->head != NULL)
        tenon_buf_put(client->head);
    free(client->in);
    free(client);
}

/* ---- time ----------------------------------------------------------------------------------------- */

static void out_of_time(struct client *client)
{
    struct http_request none;

    if (client->phase == PHASE_IDLE) {
        client->last = 1;
        linger(client);
    } else if (client->phase == PHASE_HEAD) {
        memset(&none, 0, sizeof none);
        client->last = 1;
        take_from_in(client, client->in_len);
        if (answer_status(client, &none, 408, "") == 0)
            advance(client);
        else
            tenon_tcp_abort(client->conn);
    } else {
        tenon_tcp_abort(client->conn);
    }
}

static void tick_due(void *arg)
{
    struct server *server = arg;
    unsigned i;

    for (i = 0; i < PHASE_COUNT; i++) {
        struct queue *queue = &server->queues[i];

        while (queue->first != NULL && flow_now_us > queue->first->since_us &&
               flow_now_us - queue->first->since_us > queue->limit_us)
            out_of_time(queue->first);
    }
    loop_timer_set(&server->app.loop, &server->tick, SERVE_TICK_US);
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

enum { KEY_LISTEN = 0x200, KEY_IDLE };

static const struct argp_option serve_option_list[] = {
    { "listen", KEY_LISTEN, "PORT", 0, "TCP port; default 80", 1 },
    { "idle", KEY_IDLE, "SECONDS", 0, "Close connections that ask nothing for so long; default 60", 1 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char serve_doc[] =
    "Serve the files of DIR (default: this directory) over HTTP/1.1, on all our addresses.\v"
    "Connections stay open for further requests, single ranges of bytes are served (206, 416), directories show "
    "their index.html or a listing. Names that begin with a dot, and links that lead out of DIR, are not served. "
    "File data is sent from the page cache without a copy.\n\n"
    "Examples:\n"
    "  tenon serve /srv/www\n"
    "  tenon serve --listen 8080 --address 10.0.0.7/24 .\n"
    "  tenon serve --stats --pcap http.pcapng --trace http.trace .\n\n"
    "Ctrl-C ends it.";

static error_t parse_serve(int key, char *value, struct argp_state *state)
{
    struct serve_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->net;
        state->child_inputs[1] = &options->cores;
        return 0;
    case KEY_LISTEN:
        options->port = (unsigned)options_number(state, "--listen", value, 1, 65535);
        return 0;
    case KEY_IDLE:
        options->idle_s = options_seconds(state, "--idle", value);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one directory, please: \"%s\" is the second", value);
        options->directory = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child serve_children[] = { OPTIONS_CHILD, CORES_CHILD, { NULL, 0, NULL, 0 } };
static const struct argp serve_argp = { serve_option_list, parse_serve, "[DIR]", serve_doc, serve_children, NULL,
                                        NULL };

/* What all cores have. */
struct serve_job {
    struct serve_options options;
    int root;
    atomic_ullong requests, bytes;    /* that their servers have answered and sent */
};

static int open_root(struct serve_job *job)
{
    job->root = open(job->options.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (job->root >= 0)
        return 0;
    log_error("%s: %s", job->options.directory,
              errno == ENOTDIR ? "is not a directory" : errno == ENOENT ? "does not exist"
                                                                        : strerror(errno));
    return -1;
}

static int open_listener(struct server *server)
{
    struct tenon_addr at;
    int r;

    memset(&at, 0, sizeof at);
    at.port = (tenon_u16)server->options->port;
    r = tenon_tcp_listen(server->app.stack, &server->listener, &at, &listener_events, server, 1024);
    if (r != TENON_OK) {
        log_error("port %u: %s", server->options->port, tenon_error_text(r));
        return -1;
    }
    app_set_listener(&server->app, server->listener);
    tenon_tcp_listener_set(server->listener, TENON_TCP_NODELAY, 1);
    tenon_tcp_listener_set(server->listener, TENON_TCP_RCV_BUF, REQUEST_BYTES_MAX);
    return 0;
}

static void say_where(const struct server *server)
{
    struct tenon_addr at;
    unsigned i;

    memset(&at, 0, sizeof at);
    for (i = 0; app_address(&server->app, i, &at.ip); i++) {
        at.port = (tenon_u16)server->options->port;
        log_say(LOG_NORMAL, "Serving %s at http://%s/", server->options->directory, text_endpoint(&at).s);
    }
    log_say(LOG_NORMAL, "Ctrl-C ends it; \"tenon top %ld\" watches it.", (long)getpid());
}

static void begin_queues(struct server *server)
{
    server->queues[PHASE_IDLE].limit_us = (uint64_t)(server->options->idle_s * 1e6);
    server->queues[PHASE_HEAD].limit_us = 10000000;
    server->queues[PHASE_SEND].limit_us = 60000000;
    server->queues[PHASE_DRAIN].limit_us = 60000000;
    server->queues[PHASE_LINGER].limit_us = 5000000;
    server->tick.due = tick_due;
    server->tick.arg = server;
    loop_timer_set(&server->app.loop, &server->tick, SERVE_TICK_US);
}

/* Every file that is being sent takes a descriptor. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* In the thread of each core. */
static int run_serve(struct core *core, void *arg)
{
    struct serve_job *job = arg;
    struct server *server = must_alloc(sizeof *server);
    int code = CLI_FAILED;

    memset(server, 0, sizeof *server);
    server->options = &job->options;
    server->root = job->root;
    if (app_open(&server->app, &job->options.net, "serve", core) == 0 && open_listener(server) == 0) {
        begin_queues(server);
        if (core_number(core) == 0)
            say_where(server);
        code = app_run(&server->app);
    }
    code = app_close(&server->app, code);
    atomic_fetch_add(&job->requests, server->requests);
    atomic_fetch_add(&job->bytes, server->bytes);
    free(server);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    static struct serve_job job = { .options = { .cores = { .count = 1 }, .directory = ".", .port = 80,
                                                 .idle_s = 60 } };
    int code;

    options_default(&job.options.net);
    argp_parse(&serve_argp, argc, argv, 0, NULL, &job.options);
    log_open(argv[0], job.options.net.level);
    if (open_root(&job) != 0)
        return CLI_FAILED;
    raise_descriptor_limit();
    http_files_begin();
    code = cores_run(&job.options.cores, run_serve, &job);
    if (code == CLI_OK)
        log_say(LOG_NORMAL, "%s requests, %s of files sent", text_count(job.requests).s, text_bytes(job.bytes).s);
    close(job.root);
    return code;
}
