/* SPDX-License-Identifier: MIT */
/* One script: one instance, one imagined clock that goes from event to event. */
#include "script.h"
#include "tcp/tcp_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { SETTLE_US = -30 * 1000000 };

static struct world *running;    /* for tenon_panic() */

void world_trace(struct world *w, const char *format, ...)
{
    char line[1200], when[40];
    va_list args;
    size_t n;

    if (w->ended)
        return;
    format_time(when, sizeof(when), w->now);
    n = (size_t)snprintf(line, sizeof(line), "  %12s  ", when);
    va_start(args, format);
    vsnprintf(line + n, sizeof(line) - n - 2, format, args);
    va_end(args);
    n = strlen(line);
    line[n++] = '\n';
    line[n] = '\0';
    if (w->trace_len + n + 1 > w->trace_size) {
        w->trace_size = (w->trace_len + n + 1) * 2;
        w->trace = realloc(w->trace, w->trace_size);
        if (w->trace == NULL)
            abort();
    }
    memcpy(w->trace + w->trace_len, line, n + 1);
    w->trace_len += n;
}

void world_fail(struct world *w, const char *format, ...)
{
    va_list args;

    if (w->failed)
        return;
    w->failed = true;
    va_start(args, format);
    vsnprintf(w->failure, sizeof(w->failure), format, args);
    va_end(args);
}

void world_check(struct world *w)
{
    if (w->failed)
        longjmp(w->out, 1);
}

void tenon_panic(const char *file, unsigned line)
{
    struct world *w = running;

    if (w == NULL)
        abort();
    world_fail(w, "an invariant of the core is broken: %s:%u", file, line);
    w->panicked = true;
    longjmp(w->out, 1);
}

/* ---- time ---------------------------------------------------------------------------------------- */

uint32_t world_clock(const struct world *w)
{
    return w->script->clock + (uint32_t)w->now;
}

static void check_conn(struct tenon_tcp *tcp, void *arg)
{
    const char *wrong = tenon_tcp_check(tcp);

    if (wrong != NULL)
        world_fail(arg, "tenon_tcp_check(): %s", wrong);
}

void world_poll(struct world *w)
{
    tenon_u32 wait = tenon_poll(w->stack, world_clock(w));

    if (wait > 30U * 60 * 1000000)
        world_fail(w, "tenon_poll() wants to wait %u us, longer than 30 minutes", wait);
    w->polls_at_once = wait == 0 ? w->polls_at_once + 1 : 0;
    if (w->polls_at_once > 1000 && !w->busy)
        world_fail(w, "tenon_poll() said 1000 times in a row that it wants to be called at once");
    if (wait == 0 && w->busy)
        wait = 1000;
    w->deadline = w->now + wait;
    tenon_tcp_each(w->stack, check_conn, w);
    world_check(w);
}

/* The next poll at or before `until`. @return false: there is none, and it is `until` now */
static bool step(struct world *w, int64_t until)
{
    if (w->deadline > until) {
        w->now = until > w->now ? until : w->now;
        return false;
    }
    w->now = w->deadline > w->now ? w->deadline : w->now;
    world_poll(w);
    return true;
}

static void advance(struct world *w, int64_t until)
{
    while (step(w, until))
        continue;
}

static bool packet_waits(const struct world *w)
{
    return w->next_sent < w->nsent;
}

static _Noreturn void surprise(struct world *w)
{
    const struct taken *t = w->sent[w->next_sent];
    char text[1024], when[40];

    format_packet(text, sizeof(text), &t->packet, conn_of_packet(w, &t->packet, true), w->af, true);
    format_time(when, sizeof(when), t->time);
    world_fail(w, "a packet was sent at %s that the script does not expect:\n    got       > %s", when, text);
    longjmp(w->out, 1);
}

static int64_t time_of(const struct world *w, const struct stmt *st)
{
    return st->when == WHEN_AT ? st->time : w->reference + st->time;
}

/* Go to the time of a statement that acts; nothing may be sent on the way that was not expected. */
static void go_to(struct world *w, const struct stmt *st)
{
    int64_t t = time_of(w, st);

    if (t + w->script->tolerance < w->now)
        world_fail(w, "the time has passed already");
    if (packet_waits(w))
        surprise(w);
    while (step(w, t))
        if (packet_waits(w))
            surprise(w);
    world_check(w);
    w->reference = w->now;
}

/* ---- packets ------------------------------------------------------------------------------------- */

static void remember_injected(struct world *w, const uint8_t *bytes, size_t n)
{
    struct taken *t = arena_get(&w->script->arena, sizeof(*t));
    const struct packet *p = w->at->packet;

    t->bytes = memcpy(arena_get(&w->script->arena, n + 1), bytes, n);
    t->nbytes = n;
    t->ip_at = (w->script->netif.caps & TENON_CAP_NO_LINK) != 0 ? 0 : p->vlan != NONE ? 18 : 14;
    w->injected = realloc(w->injected, (w->ninjected + 1) * sizeof(struct taken *));
    if (w->injected == NULL)
        abort();
    w->injected[w->ninjected++] = t;
}

static const char *line_text(const struct world *w, const struct stmt *st)
{
    const char *text = st->text != NULL ? st->text : w->script->lines[st->line];

    return text != NULL ? text : "";
}

/* One burst: this statement and those that follow with "&". @return the last of them */
static const struct stmt *inject(struct world *w, const struct stmt *st)
{
    struct tenon_span *spans = arena_get(&w->script->arena, 4096 * sizeof(*spans));
    struct tenon_frame *frames = arena_get(&w->script->arena, 4096 * sizeof(*frames));
    uint8_t *bytes = malloc(FRAME_MAX);
    unsigned n = 0;

    if (bytes == NULL)
        abort();
    go_to(w, st);
    for (;; st = st->next) {
        w->at = st;
        world_trace(w, "%s", line_text(w, st));
        for (int64_t piece = 0; piece < st->packet->pieces && n < 4096; piece++, n++) {
            size_t len = build_frame(w, st->conn, st->packet, piece, bytes);

            remember_injected(w, bytes, len);
            spans[n].buf = host_buf(w, len);
            memcpy(spans[n].buf->data, bytes, len);
            spans[n].len = (tenon_u32)len;
            frames[n].spans = &spans[n];
            frames[n].nspans = 1;
        }
        if (st->next == NULL || st->next->when != WHEN_BURST)
            break;
    }
    free(bytes);
    if (tenon_input(w->stack, w->netif, frames, n, world_clock(w)) != TENON_OK)
        world_fail(w, "tenon_input() failed");
    for (unsigned i = 0; i < n; i++)
        tenon_buf_put(spans[i].buf);
    tenon_tcp_each(w->stack, check_conn, w);
    world_check(w);
    world_poll(w);
    return st;
}

static void expect_fail(struct world *w, const struct stmt *st, const char *why, const struct taken *got)
{
    char text[1024] = "nothing", when[40];

    if (got != NULL) {
        format_packet(text, sizeof(text), &got->packet, got->packet.kind == PKT_TCP ? st->conn : NULL, w->af, true);
        format_time(when, sizeof(when), got->time);
    } else
        format_time(when, sizeof(when), w->now);
    world_fail(w, "%s\n    expected  %s\n    got       > %s  (at %s)", why, line_text(w, st), text, when);
    longjmp(w->out, 1);
}

static void expect_one(struct world *w, const struct stmt *st, int64_t piece, int64_t t)
{
    int64_t tolerance = w->script->tolerance,
            until = st->when == WHEN_ANY ? w->now + 100 * 86400LL * 1000000 : t + tolerance;
    const struct taken *got;
    char why[512];

    while (!packet_waits(w) && step(w, until))
        continue;
    if (!packet_waits(w))
        expect_fail(w, st, "the expected packet was not sent in time", NULL);
    got = w->sent[w->next_sent];
    if (!match_packet(w, st, piece, got, why, sizeof(why)))
        expect_fail(w, st, why, got);
    if (st->when != WHEN_ANY && (got->time < t - tolerance || got->time > t + tolerance)) {
        snprintf(why, sizeof(why), "the packet was sent %s (%+.6f s)", got->time < t ? "too early" : "too late",
                 (double)(got->time - t) / 1e6);
        expect_fail(w, st, why, got);
    }
    w->next_sent++;
    w->reference = got->time;
}

static void expect(struct world *w, const struct stmt *st)
{
    int64_t t = time_of(w, st);

    for (int64_t piece = 0; piece < st->packet->pieces; piece++)
        expect_one(w, st, piece, t);
}

static void nothing(struct world *w, const struct stmt *st)
{
    int64_t until;

    go_to(w, st);
    until = w->now + st->arg[0];
    while (step(w, until))
        if (packet_waits(w))
            surprise(w);
    w->reference = w->now;
    world_trace(w, "%s", line_text(w, st));
}

/* What is sent until then is not looked at. */
static void anything(struct world *w, const struct stmt *st)
{
    advance(w, time_of(w, st) + st->arg[0]);
    w->next_sent = w->nsent;
    w->reference = w->now;
}

/* ---- events -------------------------------------------------------------------------------------- */

static bool may_be_skipped(enum event_kind kind)
{
    return kind == EV_INCOMING || kind == EV_OPENED || kind == EV_ECHO || kind == EV_UDP;
}

static struct event *find_event(struct world *w, const struct stmt *st)
{
    for (size_t i = 0; i < w->nevents; i++) {
        struct event *e = &w->events[i];

        if (e->used || e->conn != st->conn)
            continue;
        if ((int)e->kind == st->verb)
            return e;
        if (!may_be_skipped(e->kind))
            return e;
    }
    return NULL;
}

static const char *error_name(int64_t error)
{
    return error <= 0 && error >= -15 ? error_names[-error] : "?";
}

static void match_event(struct world *w, const struct stmt *st, const struct event *e)
{
    bool error = e->kind == EV_CLOSED || e->kind == EV_SOFT_ERROR || e->kind == EV_UDP_ERROR;

    if ((int)e->kind != st->verb)
        world_fail(w, "the next event is \"%s %s\"", event_names[e->kind], error ? error_name(e->arg) : "");
    else if (error && e->arg != st->arg[0])
        world_fail(w, "the event is \"%s %s\", not %s", event_names[e->kind], error_name(e->arg),
                   error_name(st->arg[0]));
    else if (!error && e->kind != EV_OPENED && e->kind != EV_INCOMING && e->kind != EV_FINISHED && e->arg != st->arg[0])
        world_fail(w, "the event's argument is %lld, not %lld", (long long)e->arg, (long long)st->arg[0]);
    else if ((e->kind == EV_ECHO || e->kind == EV_ECHO_ERROR) && e->arg2 != st->arg[1])
        world_fail(w, "the event's second argument is %lld, not %lld", (long long)e->arg2, (long long)st->arg[1]);
}

static void expect_bytes(struct world *w, const struct stmt *st, int64_t until)
{
    uint32_t *count = st->verb == EV_RECEIVED ? &st->conn->received : &st->conn->acked;

    advance(w, until);
    if (*count != st->arg[0])
        world_fail(w, "%u bytes have been %s since the script asked last, not %lld", *count, event_names[st->verb],
                   (long long)st->arg[0]);
    *count = 0;
    w->reference = w->now;
}

static void expect_event(struct world *w, const struct stmt *st)
{
    int64_t t = time_of(w, st), tolerance = w->script->tolerance;
    int64_t until = st->when == WHEN_ANY ? w->now + 100 * 86400LL * 1000000 : t + tolerance;
    struct event *e;

    if (st->verb == EV_RECEIVED || st->verb == EV_ACKED) {
        expect_bytes(w, st, st->when == WHEN_ANY ? w->now : t);
        return;
    }
    while ((e = find_event(w, st)) == NULL && step(w, until))
        continue;
    if (e == NULL) {
        world_fail(w, "the event did not come in time");
        return;
    }
    match_event(w, st, e);
    if (st->when != WHEN_ANY && (e->time < t - tolerance || e->time > t + tolerance))
        world_fail(w, "the event came %+.6f s from its time", (double)(e->time - t) / 1e6);
    e->used = true;
    w->reference = e->time > w->reference ? e->time : w->reference;
}

static void unexpected_event(struct world *w)
{
    for (size_t i = 0; i < w->nevents; i++) {
        const struct event *e = &w->events[i];

        if (!e->used && !may_be_skipped(e->kind))
            world_fail(w, "the script does not expect the event \"%s %s\" of %.6f s", event_names[e->kind],
                       e->kind == EV_FINISHED || e->kind == EV_URGENT ? "" : error_name(e->arg), (double)e->time / 1e6);
    }
}

/* ---- looking ------------------------------------------------------------------------------------- */

static void compare(struct world *w, const struct stmt *st, const char *what, int64_t got)
{
    int64_t v = st->arg[0];
    bool good = st->compare == CMP_EQ ? got == v : st->compare == CMP_NE ? got != v : st->compare == CMP_LT ? got < v :
                st->compare == CMP_LE ? got <= v : st->compare == CMP_GT ? got > v : got >= v;

    if (!good)
        world_fail(w, "%s is %lld, which is not %s %lld", what, (long long)got, compare_names[st->compare],
                   (long long)v);
}

unsigned world_unchecked;

static void look(struct world *w, const struct stmt *st)
{
    struct tenon_tcp_info info;
    const char *name = "CLOSED";

    advance(w, time_of(w, st));
    w->reference = w->now > w->reference ? w->now : w->reference;
    if (st->kind == ST_STAT && !TENON_WITH_STATS) {
        world_unchecked++;
    } else if (st->kind == ST_STAT) {
        compare(w, st, tenon_stat_name((enum tenon_stat)st->verb),
                (int64_t)(tenon_stat(w->stack, (enum tenon_stat)st->verb) - w->stats[st->verb]));
    } else if (st->kind == ST_TIME_WAITS) {
        compare(w, st, "the number of TIME-WAIT records", tenon_tcp_time_waits(w->stack));
    } else if (st->kind == ST_ISS_AFTER) {
        if ((int32_t)(st->conn->iss - st->other->iss - (uint32_t)st->arg[0]) <= 0)
            world_fail(w, "the initial sequence number is not after that of @%s", st->other->tag);
    } else if (st->kind == ST_STATE) {
        if (st->conn->tcp != NULL)
            name = tenon_tcp_state_name(tenon_tcp_state(st->conn->tcp));
        if (strcmp(name, state_names[st->verb]) != 0)
            world_fail(w, "the state is %s, not %s", name, state_names[st->verb]);
    } else if (st->kind == ST_NO_EVENT) {
        for (size_t i = 0; i < w->nevents; i++)
            if (!w->events[i].used && w->events[i].conn == st->conn && (int)w->events[i].kind == st->verb)
                world_fail(w, "there was an event \"%s\"", event_names[st->verb]);
    } else if (st->conn->tcp == NULL) {
        world_fail(w, "the connection is gone");
    } else {
        tenon_tcp_status(st->conn->tcp, &info);
        compare(w, st, info_fields[st->verb].name, field_get(&info_fields[st->verb], &info));
    }
}

/* ---- what the host and the script do ------------------------------------------------------------- */

static void act(struct world *w, const struct stmt *st)
{
    go_to(w, st);
    world_trace(w, "%s", line_text(w, st));
    if (st->kind == ST_LISTEN)
        app_listen(w, st);
    else if (st->kind == ST_CALL)
        app_call(w, st);
    else if (st->kind == ST_LINK)
        tenon_netif_link(w->stack, w->netif, st->verb);
    else if (st->kind == ST_MTU) {
        if (tenon_netif_mtu(w->stack, w->netif, (tenon_u16)st->arg[0]) != TENON_OK)
            world_fail(w, "tenon_netif_mtu() failed");
    } else if (st->kind == ST_NEIGHBOUR) {
        if (tenon_neighbour_set(w->stack, w->netif, &st->ip, mac_peer) != TENON_OK)
            world_fail(w, "tenon_neighbour_set() failed");
    } else if (st->verb == 0)
        w->mem_fail = st->arg[0];
    else if (st->verb == 1)
        w->buf_fail = st->arg[0];
    else if (st->verb < 4)
        w->busy = st->verb == 2;
    else
        tenon_keep(w->stack, st->verb == 4 ? TENON_KEEP_NOTHING : st->verb == 5 ? TENON_KEEP_ALL : TENON_KEEP_FIRST);
    world_check(w);
    world_poll(w);
}

/* A statement that stands for others: its own line, another packet. */
static struct stmt *sub(struct world *w, const struct stmt *st, enum stmt_kind kind, int flags)
{
    struct stmt *s = arena_get(&w->script->arena, sizeof(*s));

    *s = *st;
    s->next = NULL;
    s->kind = kind;
    s->when = WHEN_AFTER;
    s->time = 0;
    s->packet = arena_get(&w->script->arena, sizeof(struct packet));
    packet_clear(s->packet, PKT_TCP);
    s->packet->flags = flags;
    s->packet->has_seq = s->packet->has_len = true;
    memset(s->arg, 0, sizeof(s->arg));
    return s;
}

static void open_passive(struct world *w, const struct stmt *st)
{
    struct stmt *listen = sub(w, st, ST_LISTEN, 0), *syn = sub(w, st, ST_INJECT, TCP_S);
    struct stmt *syn_ack = sub(w, st, ST_EXPECT, TCP_S | TCP_A), *ack = sub(w, st, ST_INJECT, TCP_A);

    listen->text = "  listen";
    syn->text = "  < S 0:0(0)";
    syn_ack->text = "  > S. 0:0(0) ack 1";
    ack->text = "  < . 1:1(0) ack 1";
    listen->arg[0] = st->conn->local_port;
    if (w->listener == NULL)
        act(w, listen);
    *syn->packet = *st->packet;
    syn->packet->flags = TCP_S;
    syn->packet->has_seq = syn->packet->has_len = true;
    inject(w, syn);
    syn_ack->packet->ack = 1;
    expect(w, syn_ack);
    ack->packet->seq = ack->packet->end = ack->packet->ack = 1;
    ack->packet->win = st->packet->win;
    ack->time = st->arg[0];
    inject(w, ack);
}

static void open_active(struct world *w, const struct stmt *st)
{
    struct stmt *call = sub(w, st, ST_CALL, 0), *syn = sub(w, st, ST_EXPECT, TCP_S);
    struct stmt *syn_ack = sub(w, st, ST_INJECT, TCP_S | TCP_A), *ack = sub(w, st, ST_EXPECT, TCP_A);

    call->text = "  call connect 80";
    syn->text = "  > S 0:0(0)";
    syn_ack->text = "  < S. 0:0(0) ack 1";
    ack->text = "  > . 1:1(0) ack 1";
    call->verb = CALL_CONNECT;
    call->arg[0] = 80;
    act(w, call);
    expect(w, syn);
    *syn_ack->packet = *st->packet;
    syn_ack->packet->flags = TCP_S | TCP_A;
    syn_ack->packet->has_seq = syn_ack->packet->has_len = true;
    syn_ack->packet->ack = 1;
    syn_ack->time = st->arg[0];
    inject(w, syn_ack);
    ack->packet->seq = ack->packet->end = ack->packet->ack = 1;
    expect(w, ack);
}

static const struct stmt *run_statement(struct world *w, const struct stmt *st)
{
    w->at = st;
    switch (st->kind) {
    case ST_INJECT:
        return inject(w, st);
    case ST_EXPECT:
        expect(w, st);
        break;
    case ST_NOTHING:
        nothing(w, st);
        break;
    case ST_ANYTHING:
        anything(w, st);
        break;
    case ST_EVENT:
        expect_event(w, st);
        break;
    case ST_OPEN:
        go_to(w, st);
        world_trace(w, "%s", line_text(w, st));
        if (st->verb)
            open_active(w, st);
        else
            open_passive(w, st);
        break;
    case ST_LISTEN:
    case ST_CALL:
    case ST_HOST:
    case ST_LINK:
    case ST_MTU:
    case ST_NEIGHBOUR:
        act(w, st);
        break;
    default:
        look(w, st);
    }
    return st;
}

/* ---- the beginning and the end of an instance ---------------------------------------------------- */

static void need(struct world *w, int result, const char *what)
{
    if (result < 0)
        world_fail(w, "%s failed: %s", what, tenon_error_text(result));
    world_check(w);
}

/* What a new interface says by itself (announcements, group reports) is over before a script's time 0,
 * unless the script is about that. */
static void settle(struct world *w)
{
    const tenon_u16 quiet = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;

    world_poll(w);
    if ((w->script->netif.flags & quiet) == quiet)
        advance(w, 0);
    w->now = w->reference = 0;
    w->nsent = w->next_sent = 0;
    w->trace_len = 0;
    world_poll(w);
}

static void begin(struct world *w)
{
    struct script *s = w->script;
    size_t bytes = tenon_mem_size(&s->conf);
    int netif;

    if (bytes == 0)
        world_fail(w, "the configuration cannot work: %s", tenon_conf_check(&s->conf));
    world_check(w);
    w->mem = malloc(bytes);
    if (w->mem == NULL)
        abort();
    memset(w->mem, 0xCC, bytes);
    w->stack = tenon_init(w->mem, &s->conf, &script_host, w);
    if (w->stack == NULL)
        world_fail(w, "tenon_init() failed");
    if (!s->pacing)
        w->stack->tcp.defaults->values[TENON_TCP_PACING] = 0;    /* scripts count on what leaves at once */
    world_check(w);
    world_poll(w);
    netif = tenon_netif_add(w->stack, &s->netif);
    need(w, netif, "tenon_netif_add()");
    w->netif = (unsigned)netif;
    need(w, tenon_addr_add(w->stack, w->netif, &s->me, w->af == 4 ? 24 : 64), "tenon_addr_add()");
    if (!s->no_neighbour && (s->netif.caps & TENON_CAP_NO_LINK) == 0)
        need(w, tenon_neighbour_set(w->stack, w->netif, &s->peer, mac_peer), "tenon_neighbour_set()");
    for (int i = 0; i < s->nextras; i++) {
        if (s->extra[i].is_route)
            need(w, tenon_route_add(w->stack, w->netif, &s->extra[i].ip, s->extra[i].prefix,
                                    s->extra[i].has_gateway ? &s->extra[i].gateway : NULL, 0), "tenon_route_add()");
        else
            need(w, tenon_addr_add(w->stack, w->netif, &s->extra[i].ip, s->extra[i].prefix), "tenon_addr_add()");
    }
    settle(w);
    for (int i = 0; i < TENON_STAT_COUNT; i++)
        w->stats[i] = tenon_stat(w->stack, (enum tenon_stat)i);
}

static void finish(struct world *w)
{
    if (packet_waits(w))
        surprise(w);
    unexpected_event(w);
    world_check(w);
}

static void end(struct world *w)
{
    w->ended = true;
    if (w->stack != NULL && !w->panicked) {
        app_end(w);
        tenon_fini(w->stack);
        if (w->mem_count != 0 || w->mem_bytes != 0)
            world_fail(w, "after tenon_fini() %zu pieces of memory (%zu bytes) are missing", w->mem_count,
                       w->mem_bytes);
        if (w->bufs_out != 0)
            world_fail(w, "after tenon_fini() %zu buffers are missing", w->bufs_out);
    }
    w->stack = NULL;
}

static void report(struct world *w)
{
    if (w->failed)
        printf("%s:%d: (IPv%d, %s) %s\n    the trace so far:\n%s\n", w->script->file,
               w->at != NULL ? w->at->line : 0, w->af, w->caps_name, w->failure,
               w->trace != NULL ? w->trace : "");
    else if (w->verbose)
        printf("%s (IPv%d, %s)\n%s\n", w->script->file, w->af, w->caps_name, w->trace != NULL ? w->trace : "");
}

bool run_script(struct script *s, const char *caps_name, bool verbose)
{
    struct world *w = calloc(1, sizeof(*w));
    bool passed;

    if (w == NULL)
        abort();
    running = w;
    w->script = s;
    w->af = s->af;
    w->caps_name = caps_name;
    w->verbose = verbose;
    w->seed = 20000101;
    if ((s->netif.flags & (TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA)) == (TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA))
        w->now = SETTLE_US;
    s->watch[PKT_TCP] = s->watch[PKT_UDP] = s->watch[PKT_ICMP] = s->watch[PKT_FRAG] = s->watch[PKT_OTHER] = true;
    for (int i = 0; i < s->nconns; i++)
        s->conns[i].world = w;
    if (setjmp(w->out) == 0) {
        begin(w);
        for (const struct stmt *st = s->first; st != NULL; st = st->next) {
            st = run_statement(w, st);
            world_check(w);
        }
        finish(w);
    }
    if (setjmp(w->out) == 0)
        end(w);
    report(w);
    passed = !w->failed;
    running = NULL;
    if (!w->panicked)
        free(w->mem);
    free(w->sent);
    free(w->injected);
    free(w->events);
    free(w->trace);
    free(w);
    return passed;
}
