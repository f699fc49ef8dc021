/* SPDX-License-Identifier: MIT */
#include "app.h"

#include "ports/common/sharedbuf.h"

#include <stdlib.h>
#include <string.h>

/* One that was opened to us: what could not be sent yet is kept. */
struct echo {
    struct app *app;
    struct model_tcp *tcp;
    struct tenon_span *kept;
    unsigned first, n, cap;
    int finished, left;
    struct echo *next, *prev;
};

/* One that we have opened. */
struct client {
    struct app *app;
    tenon_u32 start, total, sent, received;
    unsigned long wrong;
    int left;
};

static unsigned long next_random(struct app *app)
{
    app->random = (app->random * 1103515245UL + 12345UL) & 0x7FFFFFFFUL;
    return app->random >> 8;
}

/* In the middle. */
static void leave(struct app *app, struct model_tcp *tcp)
{
    if (next_random(app) % 2)
        model_tcp_abort(tcp);
    else
        model_tcp_close(tcp);
}

static void ended(struct app *app)
{
    app->closed++;
    if (app->closed == app->done_at)
        model_stop(app->model);
}

/* ---- the echo ---------------------------------------------------------------------------------------- */

static void keep(struct echo *echo, const struct tenon_span *span)
{
    if (echo->n == echo->cap) {
        echo->cap = echo->cap > 0 ? 2 * echo->cap : 8;
        echo->kept = realloc(echo->kept, echo->cap * sizeof *echo->kept);
        if (echo->kept == NULL)
            abort();
    }
    model_buf_ref(echo->app->model, span->buf);
    echo->kept[echo->n++] = *span;
}

/* By reference, or as a copy. @return bytes that were taken */
static tenon_u32 say(struct echo *echo, const struct tenon_span *span)
{
    tenon_i32 taken = 0;
    int error;

    if (next_random(echo->app) % 2)
        taken = model_tcp_write(echo->tcp, tenon_span_data(span), span->len);
    else {
        error = model_tcp_send(echo->tcp, span);
        taken = error == TENON_OK ? (tenon_i32)span->len : error == TENON_EAGAIN ? 0
                                                                                 : (tenon_i32)error;
    }
    if (taken == 0)
        echo->app->again++;
    if (taken < 0 && taken != TENON_ECLOSED)
        echo->app->wrong++;
    if (taken <= 0)
        return 0;
    echo->app->echoed += (unsigned long)taken;
    model_tcp_consumed(echo->tcp, (tenon_u32)taken);
    return (tenon_u32)taken;
}

static void echo_pump(struct echo *echo)
{
    while (echo->first < echo->n) {
        struct tenon_span *span = &echo->kept[echo->first];
        const tenon_u32 taken = say(echo, span);

        span->off += taken;
        span->len -= taken;
        if (span->len > 0)
            return;
        model_buf_put(echo->app->model, span->buf);
        echo->first++;
    }
    echo->first = echo->n = 0;
    if (echo->finished == 1 && model_tcp_finish(echo->tcp) == TENON_OK)
        echo->finished = 2;
}

static const struct model_tcp_events echo_events;

static void echo_opened(struct model_tcp *tcp, void *arg)
{
    struct app *app = arg;
    struct echo *echo = calloc(1, sizeof *echo);

    if (echo == NULL)
        abort();
    echo->app = app;
    echo->tcp = tcp;
    echo->next = app->echoes;
    if (app->echoes != NULL)
        app->echoes->prev = echo;
    app->echoes = echo;
    app->opened++;
    model_tcp_handler(tcp, &echo_events, echo);
}

static void echo_received(struct model_tcp *tcp, void *arg, const struct tenon_span *spans, unsigned n)
{
    struct echo *echo = arg;
    struct app *app = echo->app;

    app->wrong += echo->left != 0;
    for (unsigned i = 0; i < n; i++) {
        struct tenon_span span = spans[i];
        tenon_u32 taken = 0;

        if (echo->n == 0 && !app->conf.slow)
            taken = say(echo, &span);
        span.off += taken;
        span.len -= taken;
        if (span.len > 0)
            keep(echo, &span);
    }
    if (next_random(app) % 1000 >= app->conf.leave_permille)
        return;
    app->left++;
    echo->left = 1;
    leave(app, tcp);    /* closed() may come within */
}

static void echo_acked(struct model_tcp *tcp, void *arg, tenon_u32 bytes)
{
    (void)tcp;
    (void)bytes;
    echo_pump(arg);
}

static void echo_finished(struct model_tcp *tcp, void *arg)
{
    struct echo *echo = arg;

    (void)tcp;
    echo->finished = 1;
    echo_pump(echo);
}

static void echo_closed(struct model_tcp *tcp, void *arg, int why)
{
    struct echo *echo = arg;
    struct app *app = echo->app;

    (void)why;
    app->wrong += tcp != echo->tcp;
    while (echo->first < echo->n)
        model_buf_put(app->model, echo->kept[echo->first++].buf);
    if (echo->prev != NULL)
        echo->prev->next = echo->next;
    else
        app->echoes = echo->next;
    if (echo->next != NULL)
        echo->next->prev = echo->prev;
    free(echo->kept);
    free(echo);
    ended(app);
}

static const struct model_tcp_events echo_events = { .received = echo_received, .acked = echo_acked,
    .finished = echo_finished, .closed = echo_closed };
static const struct model_tcp_events echo_listener_events = { .opened = echo_opened };

/* ---- the client -------------------------------------------------------------------------------------- */

/* Pieces of all sizes, copied or by reference to the pattern. */
static void client_pump(struct model_tcp *tcp, struct client *client)
{
    struct app *app = client->app;

    while (client->sent < client->total) {
        struct tenon_span span = { app->pattern, (client->start + client->sent) % PATTERN, 0 };
        const unsigned kind = (unsigned)(next_random(app) % 3);
        tenon_i32 taken;

        span.len = (tenon_u32)(next_random(app) % (kind == 0 ? 100U : 3000U)) + 1;
        if (span.len > client->total - client->sent)
            span.len = client->total - client->sent;
        if (span.len > PATTERN - span.off)
            span.len = PATTERN - span.off;
        if (kind < 2)
            taken = model_tcp_write(tcp, tenon_span_data(&span), span.len);
        else
            taken = model_tcp_send(tcp, &span) == TENON_OK ? (tenon_i32)span.len : 0;
        if (taken <= 0) {
            app->again++;
            return;
        }
        client->sent += (tenon_u32)taken;
    }
    (void)model_tcp_finish(tcp);
}

static void client_opened(struct model_tcp *tcp, void *arg)
{
    client_pump(tcp, arg);
}

static void client_acked(struct model_tcp *tcp, void *arg, tenon_u32 bytes)
{
    (void)bytes;
    client_pump(tcp, arg);
}

static void client_received(struct model_tcp *tcp, void *arg, const struct tenon_span *spans, unsigned n)
{
    struct client *client = arg;
    struct app *app = client->app;

    for (unsigned i = 0; i < n; i++) {
        client->wrong += world_compare(client->start, client->received, tenon_span_data(&spans[i]), spans[i].len);
        client->received += spans[i].len;
        model_tcp_consumed(tcp, spans[i].len);
    }
    app->wrong += client->left != 0;
    if (next_random(app) % 1000 >= app->conf.leave_permille)
        return;
    app->clients_left++;
    client->left = 1;
    leave(app, tcp);    /* closed() may come within */
}

static void client_closed(struct model_tcp *tcp, void *arg, int why)
{
    struct client *client = arg;
    struct app *app = client->app;

    (void)tcp;
    app->clients_closed++;
    app->wrong += client->wrong;
    app->clients_good += why == TENON_OK && client->received == client->total;
    ended(app);
    free(client);
}

static const struct model_tcp_events client_events = { .opened = client_opened, .received = client_received,
    .acked = client_acked, .closed = client_closed };

static int client_begin(struct app *app)
{
    struct client *client = calloc(1, sizeof *client);
    const struct tenon_addr to = world_peer();
    struct model_tcp *tcp;

    if (client == NULL)
        abort();
    client->app = app;
    client->start = (tenon_u32)next_random(app);
    client->total = (tenon_u32)(next_random(app) % app->conf.total_max) + 1;
    if (model_tcp_connect(app->model, &tcp, NULL, &to, &client_events, client) != TENON_OK) {
        free(client);
        return -1;
    }
    if (next_random(app) % 4 == 0)
        client_pump(tcp, client);    /* before it is open */
    app->begun++;
    return 0;
}

/* ---- datagrams --------------------------------------------------------------------------------------- */

/* One to be echoed later, whose spans we have references on. */
struct kept {
    struct kept *next;
    struct tenon_udp_info info;
    unsigned n;
    struct tenon_span spans[];
};

static void count_echo(struct app *app, int error)
{
    if (error == TENON_OK)
        app->echoes_sent++;
    else
        app->not_echoed++;
    app->wrong += error != TENON_OK && error != TENON_EAGAIN;
}

static void keep_datagram(struct app *app, const struct tenon_udp_info *info, const struct tenon_span *spans,
                          unsigned n)
{
    struct kept *kept = malloc(sizeof *kept + n * sizeof *spans);

    if (kept == NULL)
        abort();
    kept->next = NULL;
    kept->info = *info;
    kept->n = n;
    for (unsigned i = 0; i < n; i++) {
        model_buf_ref(app->model, spans[i].buf);
        kept->spans[i] = spans[i];
    }
    *app->last_kept = kept;
    app->last_kept = &kept->next;
}

static void forget_kept(struct app *app)
{
    struct kept *kept = app->kept;

    for (unsigned i = 0; i < kept->n; i++)
        model_buf_put(app->model, kept->spans[i].buf);
    app->kept = kept->next;
    if (app->kept == NULL)
        app->last_kept = &app->kept;
    free(kept);
}

static void echo_kept(struct app *app)
{
    while (app->kept != NULL) {
        const struct kept *kept = app->kept;

        count_echo(app, model_udp_send(app->answerer, &kept->info.from, kept->spans, kept->n));
        forget_kept(app);
    }
}

static int copy_datagram(struct model_udp *udp, const struct tenon_udp_info *info, const struct tenon_span *spans,
                         unsigned n)
{
    tenon_u8 bytes[DATAGRAM_MAX];
    tenon_u32 at = 0;

    for (unsigned i = 0; i < n; i++) {
        memcpy(bytes + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    return model_udp_write_from(udp, &info->to.ip, &info->from, bytes, at);
}

/* By reference, as a copy, or later. */
static void answerer_received(struct model_udp *udp, void *arg, const struct tenon_udp_info *info,
                              const struct tenon_span *spans, unsigned n)
{
    struct app *app = arg;
    const unsigned long how = next_random(app) % 3;

    app->wrong += udp != app->answerer || world_datagram_wrong(spans, n) != 0;
    if (app->conf.slow || how == 0)
        keep_datagram(app, info, spans, n);
    else if (how == 1)
        count_echo(app, copy_datagram(udp, info, spans, n));
    else
        count_echo(app, model_udp_send_from(udp, &info->to.ip, &info->from, spans, n));
}

static void asker_open(struct app *app);

static void asker_received(struct model_udp *udp, void *arg, const struct tenon_udp_info *info,
                           const struct tenon_span *spans, unsigned n)
{
    struct app *app = arg;

    app->wrong += udp != app->asker || info->from.port != WORLD_PEER_PORT || world_datagram_wrong(spans, n) != 0;
    app->answers++;
    if (next_random(app) % 16 != 0)
        return;
    model_udp_close(udp);    /* and what is under way is nobody's */
    asker_open(app);
}

static const struct model_udp_events answerer_events = { .received = answerer_received };
static const struct model_udp_events asker_events = { .received = asker_received };

static void asker_open(struct app *app)
{
    const struct tenon_addr to = world_peer();

    if (model_udp_open(app->model, &app->asker, NULL, &asker_events, app) != TENON_OK
        || model_udp_connect(app->asker, &to) != TENON_OK)
        abort();
}

/* @return 0: the ring is full, in the next turn again */
static int ask(struct app *app)
{
    const tenon_u32 half = (tenon_u32)(next_random(app) % 2000) + 4,
                    whole = half + (tenon_u32)(next_random(app) % 2000);
    struct tenon_buf *buf = model_buf_new(whole);
    const struct tenon_span spans[2] = { { buf, 0, half }, { buf, half, whole - half } };
    int error;

    if (buf == NULL)
        abort();
    world_datagram(buf->data, whole, (tenon_u32)next_random(app) % PATTERN);
    error = model_udp_send(app->asker, NULL, spans, 2);
    model_buf_put(app->model, buf);
    app->wrong += error != TENON_OK && error != TENON_EAGAIN;
    app->asked += error == TENON_OK;
    return error == TENON_OK;
}

static void start_datagrams(struct app *app)
{
    const struct tenon_addr at = { .port = WORLD_PORT };

    app->last_kept = &app->kept;
    if (app->conf.datagrams == 0)
        return;
    if (model_udp_open(app->model, &app->answerer, &at, &answerer_events, app) != TENON_OK)
        abort();
    asker_open(app);
}

/* The asker is left for model_close(). */
void app_leave(struct app *app)
{
    if (app->answerer != NULL)
        model_udp_close(app->answerer);
    while (app->kept != NULL)
        forget_kept(app);
    app->answerer = NULL;
    app->conf.datagrams = 0;
}

/* ---- the application --------------------------------------------------------------------------------- */

tenon_u32 app_turn_hook(void *arg, tenon_u32 now_us)
{
    struct app *app = arg;
    struct echo *echo, *next;

    (void)now_us;
    while (app->begun < app->conf.clients && app->begun - app->clients_closed < 64 && client_begin(app) == 0)
        ;
    echo_kept(app);
    for (unsigned long n = next_random(app) % 4; n > 0 && app->asked < app->conf.datagrams && ask(app); n--)
        ;
    for (echo = app->conf.slow ? app->echoes : NULL; echo != NULL; echo = next) {
        next = echo->next;
        echo_pump(echo);
    }
    return 1000;
}

static void pattern_release(void *arg, tenon_u8 *bytes)
{
    (void)arg;
    (void)bytes;
}

void app_open(struct app *app, const struct app_conf *conf)
{
    struct sharedbuf *shared = sharedbuf_new(world_pattern, PATTERN, pattern_release, NULL);

    memset(app, 0, sizeof *app);
    app->conf = *conf;
    app->random = conf->seed * 104729 + 3;
    app->pattern = shared != NULL ? sharedbuf_view(shared) : NULL;
    if (app->pattern == NULL)
        abort();
    sharedbuf_put(shared);
}

void app_start(struct app *app, struct model *model, struct world *world)
{
    const struct tenon_addr at = { .port = WORLD_PORT };

    app->model = model;
    if (model_listen(model, &app->listener, &at, &echo_listener_events, app, 1024) != TENON_OK)
        abort();
    start_datagrams(app);
    atomic_store(&world->go, 1);
}

void app_end(struct app *app)
{
    tenon_buf_put(app->pattern);    /* after model_close(): it is ours alone */
}
