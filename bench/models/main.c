/* SPDX-License-Identifier: MIT */
/* tenon-models: a ping-pong server in one core assignment, and what its clients see.
 *
 *     tenon-models MODEL [KEY=VALUE...]
 *
 *     MODEL      core      the core's own interface, in one thread for each processor: what the others are measured by
 *                unified   models/model.h, in one thread for each processor
 *                split     two threads, on two processors
 *                merge     two threads on each processor
 *                handed    as unified, but a part of the requests is answered by another processor's thread
 *     cores=N    processors, from the first that we may have; split: 2 (default 2)
 *     rate=N     requests per second of all clients together; 0: as many as go (default)
 *     conns=N    connections per processor (default 32)
 *     message=N  bytes of a request and of an answer (default 1)
 *     work=N     nanoseconds that the application thinks about a request (default 0)
 *     handed=N   percent (default 50)
 *     ms=N       how long is measured (default 300)
 *
 * It prints a line of JSON. docs/guide/models.md says what is measured. */
#include "peer.h"

#include "models/model.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORES_MAX = 16, CONNS = 32, MS = 300, WARM_MS = 100, POLL_US = 64 };

enum what { CORE, UNIFIED, SPLIT, MERGE, HANDED, WHATS };

static const char *const names[WHATS] = { "core", "unified", "split", "merge", "handed" };

static struct {
    enum what what;
    unsigned cores, rate, conns, message, work, handed, ms;
    unsigned servers;        /* instances */
    int cpus[CORES_MAX];
    atomic_int go;
    atomic_uint done, failed;
} job = { .cores = 2, .conns = CONNS, .message = 1, .handed = 50, .ms = MS };

struct server {
    unsigned number;
    struct peer peer;
    struct tenon *stack;
    struct model *model;
    struct model_link *to[CORES_MAX];
    unsigned long requests;
    pthread_t thread;
};

static struct server servers[CORES_MAX];

static void fail(const char *what)
{
    fprintf(stderr, "tenon-models: %s\n", what);
    exit(2);
}

/* ---- the application ------------------------------------------------------------------------------------- */

static void think(void)
{
    uint64_t until;

    if (job.work == 0)
        return;
    until = peer_clock_ns() + job.work;
    while (peer_clock_ns() < until)
        ;
}

static unsigned bytes_of(const struct tenon_span *spans, unsigned n)
{
    unsigned bytes = 0;

    for (unsigned i = 0; i < n; i++)
        bytes += spans[i].len;
    return bytes;
}

/* Requests come in one segment: nothing has to be remembered. */
static void core_received(struct tenon_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    tenon_tcp_consumed(tcp, bytes_of(spans, n));
    think();
    if (tenon_tcp_write(tcp, tenon_span_data(spans), spans[0].len) != (tenon_i32)spans[0].len)
        job.failed++;
}

static const struct tenon_tcp_events core_events = { .received = core_received };

struct request {
    struct model_link *back;
    struct model_tcp *tcp;
    unsigned n;
    unsigned char bytes[MODEL_MESSAGE_MAX - 24];
};

static void answer(struct model_tcp *tcp, const void *bytes, unsigned n)
{
    think();
    if (model_tcp_write(tcp, bytes, n) != (tenon_i32)n)
        job.failed++;
}

static void request_back(struct model *to, const void *message)
{
    const struct request *request = message;

    (void)to;
    if (model_tcp_write(request->tcp, request->bytes, request->n) != (tenon_i32)request->n
        && request->n <= model_tcp_room(request->tcp))
        job.failed++;
    model_tcp_put(request->tcp);
}

static void request_there(struct model *to, const void *message)
{
    const struct request *request = message;

    (void)to;
    think();
    if (model_hand(request->back, request_back, request, sizeof *request) != TENON_OK)
        job.failed++;
}

static int hand_on(struct server *server, struct model_tcp *tcp, const struct tenon_span *span)
{
    struct server *other = &servers[(server->number + 1) % job.servers];
    struct request request = { .back = other->to[server->number], .tcp = tcp, .n = span->len };

    memcpy(request.bytes, tenon_span_data(span), span->len);
    if (model_hand(server->to[other->number], request_there, &request, sizeof request) != TENON_OK)
        return -1;
    model_tcp_ref(tcp);
    return 0;
}

static void on_received(struct model_tcp *tcp, void *app, const struct tenon_span *spans, unsigned n)
{
    struct server *server = app;

    model_tcp_consumed(tcp, bytes_of(spans, n));
    if (job.what == HANDED && server->requests++ % 100 < job.handed && hand_on(server, tcp, spans) == 0)
        return;
    answer(tcp, tenon_span_data(spans), spans[0].len);
}

static const struct model_tcp_events on_events = { .received = on_received };

static tenon_u32 on_turn(void *app, tenon_u32 now_us)
{
    struct server *server = app;

    (void)now_us;
    if (atomic_load_explicit(&job.done, memory_order_relaxed) == job.servers)
        model_stop(server->model);
    return 1000;
}

/* ---- servers ---------------------------------------------------------------------------------------------- */

static void run_core(struct server *server)
{
    const struct tenon_addr at = { .port = PEER_PORT };
    struct tenon_tcp_listener *listener;
    tenon_u32 now, polled = port_now_us(), poll_at = polled;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((unsigned)job.cpus[server->number], &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    if (tenon_tcp_listen(server->stack, &listener, &at, &core_events, server, 1024) != TENON_OK)
        fail("cannot listen");
    job.go = 1;
    while (atomic_load_explicit(&job.done, memory_order_relaxed) < job.servers) {
        now = port_now_us();
        if ((tenon_i32)(now - poll_at) >= 0 || now - polled >= POLL_US) {
            polled = now;
            poll_at = now + tenon_poll(server->stack, now);
        }
        (void)port_receive(&server->peer.port, server->stack, 1, now);
    }
}

static void *run_server(void *arg)
{
    struct server *server = arg;

    if (job.what == CORE)
        run_core(server);
    else if (model_run(server->model) != 0)
        job.failed++;
    return NULL;
}

static void open_model(struct server *server)
{
    static const enum model_kind kinds[WHATS] = { MODEL_UNIFIED, MODEL_UNIFIED, MODEL_SPLIT, MODEL_MERGE,
                                                  MODEL_UNIFIED };
    const struct tenon_addr at = { .port = PEER_PORT };
    struct model_conf conf = { .kind = kinds[job.what], .port = &server->peer.port, .stack = server->stack, .netif = 1,
        .poll = 1, .pin = 1, .app_cpu = job.cpus[server->number], .stack_cpu = job.cpus[1], .turn = on_turn,
        .app = server };
    struct model_listener *listener;
    char error[300] = "";

    server->model = model_open(&conf, error, sizeof error);
    if (server->model == NULL)
        fail(error);
    if (model_listen(server->model, &listener, &at, &on_events, server, 1024) != TENON_OK)
        fail("cannot listen");
}

static void open_server(struct server *server)
{
    const struct peer_conf conf = { .conns = job.conns * (job.what == SPLIT ? 2 : 1), .message = job.message,
        .rate = (double)job.rate / job.servers, .warm_ns = WARM_MS * 1000000ULL, .measure_ns = job.ms * 1000000ULL,
        .go = &job.go, .done = &job.done };

    peer_open(&server->peer, &conf);
    server->stack = peer_stack(&server->peer);
    if (server->stack == NULL)
        fail("no memory");
    if (job.what != CORE)
        open_model(server);
}

static void open_links(void)
{
    for (unsigned i = 0; i < job.servers; i++)
        for (unsigned j = 0; j < job.servers; j++)
            servers[i].to[j] = i != j ? model_link_open(servers[i].model, servers[j].model, 8192) : NULL;
}

static void close_servers(void)
{
    for (unsigned i = 0; i < job.servers * job.servers; i++)
        if (servers[i / job.servers].to[i % job.servers] != NULL)
            model_link_close(servers[i / job.servers].to[i % job.servers]);
    for (unsigned i = 0; i < job.servers; i++) {
        if (servers[i].model != NULL)
            model_close(servers[i].model);
        tenon_fini(servers[i].stack);
        free(servers[i].stack);
    }
}

/* ---- the line ---------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

static const double shares[] = { 0.5, 0.9, 0.99 };

enum { SHARES = 3 };

struct slice {
    double us[SHARES];
    double per_s;
};

/* What all servers' clients saw in one slice of the time. @return how many answers */
static uint64_t slice_of(unsigned k, uint32_t *samples, struct slice *slice)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < job.servers; i++) {
        const struct peer *peer = &servers[i].peer;
        const uint64_t from = k > 0 ? peer->ends[k - 1] : 0;

        if (peer->ends[k] <= from)
            continue;
        memcpy(samples + n, peer->samples + from, (peer->ends[k] - from) * sizeof *samples);
        n += peer->ends[k] - from;
    }
    qsort(samples, n, sizeof *samples, compare);
    for (unsigned i = 0; i < SHARES && n > 0; i++)
        slice->us[i] = samples[(uint64_t)(shares[i] * (double)n)] / 1e3;
    slice->per_s = (double)n * 1000 * PEER_SLICES / job.ms;
    return n;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double median(const struct slice *slices, unsigned n, unsigned share)
{
    double values[PEER_SLICES];

    for (unsigned i = 0; i < n; i++)
        values[i] = share < SHARES ? slices[i].us[share] : slices[i].per_s;
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

/* Of each number the median over the slices, because other programs disturb some of them. */
static int tell(void)
{
    uint64_t samples = 0, answered = 0, pauses = 0, wrong = job.failed;
    struct slice slices[PEER_SLICES];
    unsigned n = 0;
    uint32_t *mem;

    for (unsigned i = 0; i < job.servers; i++) {
        const struct peer *peer = &servers[i].peer;

        for (unsigned k = 1; k < PEER_SLICES; k++)
            if (peer->ends[k] == 0)
                servers[i].peer.ends[k] = peer->ends[k - 1];
        samples += peer->nsamples;
        answered += peer->answered;
        pauses += peer->pauses;
        wrong += peer->wrong;
    }
    mem = malloc((samples + 1) * sizeof *mem);
    if (mem == NULL || samples == 0)
        fail("nothing was answered");
    for (unsigned k = 0; k < PEER_SLICES; k++)
        n += slice_of(k, mem, &slices[n]) > 0;
    printf("{\"model\": \"%s\", \"cores\": %u, \"conns\": %u, \"message\": %u, \"work_ns\": %u, \"offered_per_s\": %u, "
           "\"answered_per_s\": %.0f, \"median_per_s\": %.0f",
           names[job.what], job.cores, job.conns * job.cores, job.message, job.work, job.rate,
           (double)answered * 1000 / job.ms, median(slices, n, SHARES));
    for (unsigned i = 0; i < SHARES; i++)
        printf(", \"p%g_us\": %.2f", shares[i] * 100, median(slices, n, i));
    printf(", \"pauses\": %llu, \"wrong\": %llu}\n", (unsigned long long)pauses, (unsigned long long)wrong);
    free(mem);
    return wrong != 0;
}

/* ---- the program -------------------------------------------------------------------------------------------- */

/* What may stand behind the name of a setting. */
struct setting {
    const char *name;
    unsigned *at;
    unsigned least, most;
};

static void set(const struct setting *setting, const char *value)
{
    char *end;
    const unsigned long number = strtoul(value, &end, 10);

    if (*value < '0' || *value > '9' || *end != 0 || number < setting->least || number > setting->most) {
        fprintf(stderr, "tenon-models: %s is a number from %u to %u, not \"%s\"\n", setting->name, setting->least,
                setting->most, value);
        exit(2);
    }
    *setting->at = (unsigned)number;
}

static void read_job(int argc, char **argv)
{
    const unsigned most = 1000000000;
    const struct setting settings[] = { { "cores", &job.cores, 1, CORES_MAX },
                                        { "rate", &job.rate, 0, most },
                                        { "conns", &job.conns, 1, PEER_CONNS_MAX / 2 },
                                        { "message", &job.message, 1, sizeof((struct request *)NULL)->bytes },
                                        { "work", &job.work, 0, most },
                                        { "handed", &job.handed, 0, 100 },
                                        { "ms", &job.ms, 1, most } };
    unsigned n = sizeof settings / sizeof *settings;

    while (job.what < WHATS && (argc < 2 || strcmp(argv[1], names[job.what]) != 0))
        job.what++;
    if (job.what == WHATS)
        fail("usage: tenon-models core|unified|split|merge|handed [KEY=VALUE...]");
    for (int i = 2; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        unsigned k = 0;

        while (value != NULL && k < n
               && (strlen(settings[k].name) != (size_t)(value - argv[i])
                   || memcmp(settings[k].name, argv[i], (size_t)(value - argv[i])) != 0))
            k++;
        if (value == NULL || k == n)
            fail("settings are cores, rate, conns, message, work, handed, ms");
        set(&settings[k], value + 1);
    }
    if ((job.what == SPLIT && job.cores != 2) || (job.what == HANDED && job.cores < 2))
        fail("that takes two processors");
    job.servers = job.what == SPLIT ? 1 : job.cores;
}

static void find_cpus(void)
{
    cpu_set_t allowed;
    unsigned n = 0;

    CPU_ZERO(&allowed);
    (void)sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE && n < job.cores; cpu++)
        if (CPU_ISSET((unsigned)cpu, &allowed))
            job.cpus[n++] = cpu;
    if (n < job.cores)
        fail("there are not so many processors");
}

int main(int argc, char **argv)
{
    int result;

    read_job(argc, argv);
    find_cpus();
    for (unsigned i = 0; i < job.servers; i++) {
        servers[i].number = i;
        open_server(&servers[i]);
    }
    if (job.what == HANDED)
        open_links();
    job.go = job.what != CORE;    /* that listens in its thread */
    for (unsigned i = 0; i < job.servers; i++)
        if (pthread_create(&servers[i].thread, NULL, run_server, &servers[i]) != 0)
            fail("no thread");
    for (unsigned i = 0; i < job.servers; i++)
        pthread_join(servers[i].thread, NULL);
    close_servers();
    result = tell();
    for (unsigned i = 0; i < job.servers; i++)
        peer_close(&servers[i].peer);
    return result;
}
