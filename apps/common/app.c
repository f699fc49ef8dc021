/* SPDX-License-Identifier: MIT */
/* One instance, one port, one loop. */
#include "app.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cores.h"
#include "dhcp.h"
#include "pcap/pcap.h"
#include "ports/common/hostsum.h"
#include "ports/common/port.h"
#include "snapshot.h"
#include "text.h"
#include "tracefile.h"

enum { APP_COUNT_EVERY_US = 1000000, APP_BURSTS_MAX = 8, APP_DAD_LIMIT_US = 15000000, APP_DHCP_LIMIT_US = 60000000,
       APP_SILENT_MIN = 200, APP_SILENT_MAX = 1500, APP_PAUSE_US = 4    /* for each silent look */,
       APP_POLL_TURNS = 32    /* of which one looks at all else */,
       APP_NEIGHBOUR_QUEUE = 64    /* all fragments of the first packet to a neighbour that is not known yet */ };

/* What each counter counts, for --stats. */
#define COUNTER_TEXT(id, name, text) text,
static const char *const counter_texts[TENON_STAT_COUNT] = { TENON_STATS(COUNTER_TEXT) };
#undef COUNTER_TEXT

_Thread_local uint64_t flow_now_us;

/* ---- the host of the instance: the port, with us in front, so that the trace finds us --------- */

static void *host_mem_get(void *host, size_t bytes)
{
    struct app *app = host;

    return app->port->type->host->mem_get(app->port, bytes);
}

static void host_mem_put(void *host, void *mem, size_t bytes)
{
    struct app *app = host;

    app->port->type->host->mem_put(app->port, mem, bytes);
}

static unsigned host_buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    struct app *app = host;

    return app->port->type->host->buf_get(app->port, bufs, n);
}

static unsigned host_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct app *app = host;

    return app->port->type->host->transmit(app->port, netif, frames, n);
}

static int host_entropy(void *host, void *bytes, size_t n)
{
    struct app *app = host;

    return app->port->type->host->entropy(app->port, bytes, n);
}

static const struct tenon_host app_host = { TENON_HOST_VERSION, host_mem_get, host_mem_put,
                                            host_buf_get, host_transmit, host_entropy };

static void host_trace(void *host, const struct tenon_trace_event *event)
{
    struct app *app = host;

    if (app->trace != NULL)
        trace_writer_add(app->trace, event);
    if (app->pcap != NULL)
        pcap_trace(app->pcap, event);
}

/* ---- counters ------------------------------------------------------------------------------------- */

static void accumulate(uint64_t *total, tenon_u32 now)
{
    *total += (tenon_u32)(now - (tenon_u32)*total);
}

void app_count(struct app *app)
{
    struct tenon_netif_info info;
    unsigned i;

    if (app->stack == NULL)
        return;
    for (i = 0; i < TENON_STAT_COUNT; i++)
        accumulate(&app->totals.counter[i], tenon_stat(app->stack, (enum tenon_stat)i));
    if (tenon_netif_get(app->stack, app->netif, &info) != TENON_OK)
        return;
    accumulate(&app->totals.rx_frames, info.rx_frames);
    accumulate(&app->totals.rx_bytes, info.rx_bytes);
    accumulate(&app->totals.tx_frames, info.tx_frames);
    accumulate(&app->totals.tx_bytes, info.tx_bytes);
    port_stats(app->port, &app->totals.port);
}

void app_totals_add(struct app_totals *totals, const struct app_totals *more)
{
    struct port_stats *port = &totals->port;

    for (unsigned i = 0; i < TENON_STAT_COUNT; i++)
        totals->counter[i] += more->counter[i];
    totals->rx_frames += more->rx_frames;
    totals->rx_bytes += more->rx_bytes;
    totals->tx_frames += more->tx_frames;
    totals->tx_bytes += more->tx_bytes;
    port->rx_frames += more->port.rx_frames;
    port->rx_bytes += more->port.rx_bytes;
    port->rx_empty += more->port.rx_empty;
    port->rx_no_buffer += more->port.rx_no_buffer;
    port->rx_missed += more->port.rx_missed;
    port->rx_bad += more->port.rx_bad;
    port->rx_errors += more->port.rx_errors;
    port->tx_frames += more->port.tx_frames;
    port->tx_bytes += more->port.tx_bytes;
    port->tx_busy += more->port.tx_busy;
    port->tx_down += more->port.tx_down;
    port->tx_errors += more->port.tx_errors;
    port->buf_failures += more->port.buf_failures;
    port->buf_bytes += more->port.buf_bytes;
}

static void port_ready(void *arg, short revents);

/* Not every port's interface tells poll() when it goes. */
static void count_due(void *arg)
{
    struct app *app = arg;

    app_count(app);
    port_ready(app, 0);
    loop_timer_set(&app->loop, &app->count_timer, APP_COUNT_EVERY_US);
}

static void print_port_stats(const struct app *app)
{
    const struct port_stats stats = app->totals.port;

    fprintf(stderr, "Port %s\n", app->options->port_name);
    fprintf(stderr, "  received %s frames, %s; sent %s frames, %s\n", text_count(stats.rx_frames).s,
            text_bytes(stats.rx_bytes).s, text_count(stats.tx_frames).s, text_bytes(stats.tx_bytes).s);
    if (stats.rx_no_buffer + stats.rx_missed + stats.rx_bad + stats.rx_errors + stats.tx_down + stats.tx_errors > 0)
        fprintf(stderr,
                "  lost: %s without buffer, %s not fetched in time, %s bad, %s read errors, %s interface down, "
                "%s write errors\n",
                text_count(stats.rx_no_buffer).s, text_count(stats.rx_missed).s, text_count(stats.rx_bad).s,
                text_count(stats.rx_errors).s, text_count(stats.tx_down).s, text_count(stats.tx_errors).s);
}

static void print_stats(const struct app *app)
{
    unsigned i;

    fprintf(stderr, "Counters that are not 0\n");
    for (i = 0; i < TENON_STAT_COUNT; i++) {
        if (app->totals.counter[i] > 0)
            fprintf(stderr, "  %-24s %18s  %s\n", tenon_stat_name((enum tenon_stat)i),
                    text_count(app->totals.counter[i]).s, counter_texts[i]);
    }
    print_port_stats(app);
}

/* ---- setting up ----------------------------------------------------------------------------------- */

static void app_signalled(void *arg, int signal)
{
    struct app *app = arg;

    if (app->interrupted != NULL)
        app->interrupted(app->arg, signal);
    else
        app_stop(app, 0);
}

static void port_ready(void *arg, short revents)
{
    struct app *app = arg;
    int n = PORT_BURST, bursts;

    (void)revents;
    flow_now_us = clock_us();
    for (bursts = 0; bursts < APP_BURSTS_MAX && n >= PORT_BURST; bursts++)
        n = port_receive(app->port, app->stack, app->netif, port_now_us());
    app->silent = n != 0 || bursts > 1 ? 0 : app->silent + (app->silent < APP_SILENT_MAX);
    if (n >= 0)
        return;
    log_error("the interface of %s is gone", app->options->port_name);
    app_stop(app, 1);
}

/* Each core has files of its own: FILE, FILE.1, FILE.2. */
static const char *own_name(const struct app *app, struct strbuf *to, const char *name)
{
    sb_text(to, name);
    if (core_number(app->core) > 0)
        sb_printf(to, ".%u", core_number(app->core));
    return to->s;
}

static int open_trace(struct app *app)
{
    struct strbuf name = { NULL, 0, 0 };

    if (app->options->trace == NULL)
        return 0;
    app->trace = trace_writer_open(own_name(app, &name, app->options->trace));
    if (app->trace == NULL)
        log_error("--trace: %s: %s", name.s, strerror(errno));
    sb_free(&name);
    return app->trace != NULL ? 0 : -1;
}

static int open_pcap(struct app *app)
{
    struct strbuf name = { NULL, 0, 0 };
    char error[256] = "";

    if (app->options->pcap == NULL)
        return 0;
    app->pcap = pcap_writer_open(own_name(app, &name, app->options->pcap), error, sizeof error);
    if (app->pcap == NULL)
        log_error("--pcap: %s", error);
    sb_free(&name);
    return app->pcap != NULL ? 0 : -1;
}

static int open_port(struct app *app)
{
    const struct port_choice *choice = &app->options->port;
    struct port_conf conf = choice->conf;
    char words[1024] = "";

    if (cores_count(app->core) > 1 && app->options->dhcp) {
        log_error("--dhcp: several cores share an address; give them one with --address");
        return -1;
    }
    if (cores_count(app->core) > 1 && conf.queues > 1) {
        log_error("%s: --cores chooses the queues", app->options->port_name);
        return -1;
    }
    if (cores_count(app->core) > choice->type->queues_max) {
        log_error("%s: a port of this kind has %u queue%s, too few for %u cores", app->options->port_name,
                  choice->type->queues_max, choice->type->queues_max == 1 ? "" : "s", cores_count(app->core));
        return -1;
    }
    if (cores_count(app->core) > 1) {
        conf.queues = cores_count(app->core);
        conf.queue = core_number(app->core);
    }
    app->port = port_open(choice->type, &conf, words, sizeof words);
    if (app->port == NULL) {
        log_error("%s", words);
        return -1;
    }
    if (core_number(app->core) == 0 && app->port->type->advice != NULL &&
        app->port->type->advice(app->port, words, sizeof words))
        log_say(LOG_NORMAL, "%s", words);
    if (app->pcap != NULL)
        port_attach(app->port, app->pcap);
    return 0;
}

static int open_stack(struct app *app)
{
    struct tenon_netif_conf netif;
    struct port_stats memory;
    struct tenon_conf conf;
    int n;

    tenon_conf_default(&conf);
    port_stats(app->port, &memory);
    if (memory.buf_bytes > 0) /* it does not grow: what waits for something lost must leave room for that */
        conf.tcp_ooo_total_max = (tenon_u32)(memory.buf_bytes / 2 < 64 << 20 ? memory.buf_bytes / 2 : 64 << 20);
    conf.tcp_cc = app->options->cc;
    conf.checksum = hostsum_best();
    conf.neighbour_queue_max = APP_NEIGHBOUR_QUEUE;
    if (app->trace != NULL || app->pcap != NULL)
        conf.trace = host_trace;
    app->mem = must_alloc(tenon_mem_size(&conf));
    app->stack = tenon_init(app->mem, &conf, &app_host, app);
    if (app->stack == NULL) {
        log_error("the stack cannot be started (no entropy?)");
        return -1;
    }
    memset(&netif, 0, sizeof netif);
    port_netif_conf(app->port, &netif);
    if (!app->options->dad || core_number(app->core) > 0)
        netif.flags |= TENON_NETIF_NO_DAD;
    if (netif.mtu < 1280)
        netif.flags |= TENON_NETIF_NO_IP6;
    n = tenon_netif_add(app->stack, &netif);
    if (n < 0) {
        log_error("the interface cannot be used: %s", tenon_error_text(n));
        return -1;
    }
    app->netif = (unsigned)n;
    (void)tenon_poll(app->stack, port_now_us()); /* it knows what time it is: what is opened next is traced by that */
    (void)tenon_rdnss_start(&app->rdnss, app->stack, NULL, NULL, port_now_us());
    return 0;
}

/* IPv6 has no place where a packet of 1280 bytes has none (RFC 8200 5). */
static int has_place(const struct app *app, const struct tenon_ip *ip)
{
    struct tenon_netif_info info;

    return tenon_ip_is_v4(ip) || tenon_netif_get(app->stack, app->netif, &info) != TENON_OK ||
           (info.conf.flags & TENON_NETIF_NO_IP6) == 0;
}

static int add_addresses(struct app *app)
{
    const struct options *options = app->options;
    const struct tenon_ip any4 = tenon_ip4(0), any6 = tenon_ip_any();
    unsigned i;
    int r;

    for (i = 0; i < options->naddresses; i++) {
        if (!has_place(app, &options->addresses[i].ip)) {
            if (options->default_addresses)
                continue;
            log_error("--address %s/%u: IPv6 needs an MTU of 1280 bytes", text_ip(&options->addresses[i].ip).s,
                      options->addresses[i].prefix);
            return -1;
        }
        r = tenon_addr_add(app->stack, app->netif, &options->addresses[i].ip, options->addresses[i].prefix);
        if (r != TENON_OK) {
            log_error("--address %s/%u: %s", text_ip(&options->addresses[i].ip).s, options->addresses[i].prefix,
                      tenon_error_text(r));
            return -1;
        }
    }
    for (i = 0; i < 2; i++) {
        if (tenon_ip_is_any(&options->gateways[i]))
            continue;
        r = tenon_route_add(app->stack, app->netif, i == 0 ? &any4 : &any6, 0, &options->gateways[i], 0);
        if (r != TENON_OK) {
            log_error("--gateway %s: %s", text_ip(&options->gateways[i]).s, tenon_error_text(r));
            return -1;
        }
    }
    return 0;
}

/* ---- running -------------------------------------------------------------------------------------- */

/* A port that has nothing for poll() to wait for is looked at in each turn; after many looks in vain there are pauses
 * between them, longer and longer ones, which an idle program spends asleep. With --poll there are none. */
static uint64_t look(struct app *app, uint64_t limit_us)
{
    uint64_t pause_us;

    if (port_fd(app->port) >= 0 && !app->options->poll)
        return limit_us;
    port_ready(app, 0);
    pause_us = app->silent < APP_SILENT_MIN || app->options->poll ? 0 : (uint64_t)app->silent * APP_PAUSE_US;
    return limit_us < pause_us ? limit_us : pause_us;
}

static tenon_u32 services_turn(struct app *app)
{
    const tenon_u32 dhcp_us = dhcp_turn(app->dhcp), rdnss_us = tenon_rdnss_poll(&app->rdnss, port_now_us());

    return dhcp_us < rdnss_us ? dhcp_us : rdnss_us;
}

static void app_step(struct app *app, uint64_t limit_us)
{
    const int fd = port_fd(app->port);
    tenon_u32 wait, service_us;

    limit_us = look(app, limit_us);
    wait = tenon_poll(app->stack, port_now_us());
    service_us = services_turn(app);
    if (app->options->poll && ++app->turns % APP_POLL_TURNS != 0)
        return; /* what is not the port's waits for some microseconds */
    if (fd >= 0) /* 0: the port takes nothing for now */
        loop_want(&app->loop, fd, wait == 0 ? POLLIN | POLLOUT : POLLIN);
    if (wait == 0)
        wait = 1000;
    if (service_us < wait)
        wait = service_us;
    loop_wait(&app->loop, wait < limit_us ? wait : limit_us);
    flow_now_us = clock_us();
}

int app_wait(struct app *app, int (*there)(const struct app *app), uint64_t limit_us)
{
    const uint64_t began = clock_us();

    while (!app->done && !there(app) && clock_us() - began < limit_us)
        app_step(app, 100000);
    return there(app);
}

static int are_probed(const struct app *app)
{
    struct tenon_addr_info info;
    unsigned i;

    for (i = 0; tenon_addr_get(app->stack, i, &info) == TENON_OK; i++) {
        if (info.state == TENON_ADDR_TENTATIVE)
            return 0;
    }
    return 1;
}

static void wait_for_addresses(struct app *app)
{
    if (!app->options->dad)
        return;
    log_say(LOG_NORMAL, "Probing our addresses for duplicates ...");
    (void)app_wait(app, are_probed, APP_DAD_LIMIT_US);
}

static int has_dhcp(const struct app *app)
{
    return dhcp_is_there(app->dhcp);
}

static int wait_for_dhcp(struct app *app)
{
    if (!app->options->dhcp)
        return 0;
    app->dhcp = dhcp_begin(app);
    if (app->dhcp == NULL)
        return -1;
    log_say(LOG_NORMAL, "Asking for an address by DHCP ...");
    if (app_wait(app, has_dhcp, APP_DHCP_LIMIT_US) || app->done)
        return 0;
    log_error("--dhcp: nobody has given us an address");
    return -1;
}

static void warn_of_duplicates(const struct app *app)
{
    struct tenon_addr_info info;
    unsigned i;

    for (i = 0; tenon_addr_get(app->stack, i, &info) == TENON_OK; i++) {
        if (info.state == TENON_ADDR_DUPLICATE)
            log_error("somebody else on the link has the address %s: it is not used", text_ip(&info.ip).s);
    }
}

int app_open(struct app *app, const struct options *options, const char *command, struct core *core)
{
    memset(app, 0, sizeof *app);
    app->options = options;
    app->command = command;
    app->core = core;
    app->began_us = flow_now_us = clock_us();
    if (open_trace(app) != 0 || open_pcap(app) != 0)    /* a pipe waits for its reader: that a signal still ends */
        return -1;
    if (loop_open(&app->loop, core_number(core) == 0 ? app_signalled : NULL, app) != 0) {
        log_error("signals: %s", strerror(errno));
        return -1;
    }
    if (open_port(app) != 0 || open_stack(app) != 0 || add_addresses(app) != 0)
        return -1;
    if (port_fd(app->port) >= 0 && loop_add(&app->loop, port_fd(app->port), POLLIN, port_ready, app) != 0)
        return -1;
    if (core_enter(core, app) != 0)
        return -1;
    app->count_timer.due = count_due;
    app->count_timer.arg = app;
    loop_timer_set(&app->loop, &app->count_timer, APP_COUNT_EVERY_US);
    if (core_number(core) > 0)
        return 0;
    app->snapshots = snapshot_open(app);
    wait_for_addresses(app);
    warn_of_duplicates(app);
    return wait_for_dhcp(app);
}

int app_run(struct app *app)
{
    core_started(app->core);
    while (!app->done)
        app_step(app, APP_COUNT_EVERY_US);
    return app->code;
}

void app_stop(struct app *app, int code)
{
    if (!app->done)
        app->code = code;
    app->done = 1;
}

void app_set_conn(const struct app *app, struct tenon_tcp *conn)
{
    tenon_tcp_set(conn, TENON_TCP_TIMESTAMPS, (tenon_u32)app->options->timestamps);
    tenon_tcp_set(conn, TENON_TCP_SACK, (tenon_u32)app->options->sack);
    tenon_tcp_set(conn, TENON_TCP_ECN, (tenon_u32)app->options->ecn);
    tenon_tcp_set(conn, TENON_TCP_FASTOPEN, (tenon_u32)app->options->fastopen);
}

void app_set_listener(const struct app *app, struct tenon_tcp_listener *listener)
{
    tenon_tcp_listener_set(listener, TENON_TCP_TIMESTAMPS, (tenon_u32)app->options->timestamps);
    tenon_tcp_listener_set(listener, TENON_TCP_SACK, (tenon_u32)app->options->sack);
    tenon_tcp_listener_set(listener, TENON_TCP_ECN, (tenon_u32)app->options->ecn);
    tenon_tcp_listener_set(listener, TENON_TCP_FASTOPEN, (tenon_u32)app->options->fastopen);
}

/* ---- ending --------------------------------------------------------------------------------------- */

struct connections {
    struct tenon_tcp **all;
    size_t n, cap;
};

static void collect(struct tenon_tcp *conn, void *arg)
{
    struct connections *left = arg;

    if (left->n == left->cap) {
        left->cap = left->cap > 0 ? left->cap * 2 : 64;
        left->all = must_realloc(left->all, left->cap * sizeof *left->all);
    }
    left->all[left->n++] = conn;
}

static void abort_all(struct app *app)
{
    struct connections left = { NULL, 0, 0 };
    size_t i;

    tenon_tcp_each(app->stack, collect, &left);
    if (left.n > 0)
        log_say(LOG_VERBOSE, "%zu connection%s reset", left.n, left.n == 1 ? "" : "s");
    for (i = 0; i < left.n; i++)
        tenon_tcp_abort(left.all[i]);
    free(left.all);
    for (i = 0; i < 100 && tenon_poll(app->stack, port_now_us()) == 0; i++)
        usleep(1000);
}

/* @return -1: one of them is not complete */
static int close_files(struct app *app)
{
    struct strbuf trace = { NULL, 0, 0 }, pcap = { NULL, 0, 0 };
    char error[256] = "";
    int failed = 0;

    if (trace_writer_close(app->trace) != 0) {
        log_error("--trace: %s: the trace is incomplete: %s", own_name(app, &trace, app->options->trace),
                  strerror(errno));
        failed = -1;
    }
    if (pcap_writer_close(app->pcap, error, sizeof error) != 0) {
        log_error("--pcap: %s: %s", own_name(app, &pcap, app->options->pcap), error);
        failed = -1;
    }
    sb_free(&trace);
    sb_free(&pcap);
    return failed;
}

int app_close(struct app *app, int code)
{
    dhcp_end(app->dhcp);
    app->dhcp = NULL;
    tenon_rdnss_stop(&app->rdnss);
    if (app->stack != NULL) {
        abort_all(app);
        app_count(app);
    }
    core_leave(app->core, app);
    if (app->snapshots != NULL)
        snapshot_close(app->snapshots);
    if (app->stack != NULL) {
        if (app->options->stats && core_number(app->core) == 0)
            print_stats(app);
        tenon_fini(app->stack);
    }
    app->stack = NULL;
    if (app->port != NULL) {
        port_attach(app->port, NULL);
        port_close(app->port);
    }
    if (close_files(app) != 0 && code == 0)
        code = 1;
    free(app->mem);
    loop_close(&app->loop);
    memset(app, 0, sizeof *app);
    return code;
}

void app_scope(const struct app *app, struct tenon_addr *addr)
{
    const tenon_u32 *w = addr->ip.w;

    if (!TENON_WITH_IPV6)
        return;
    if ((w[0] & 0xFFC00000UL) == 0xFE800000UL || (w[0] & 0xFF0F0000UL) == 0xFF020000UL)
        addr->netif = (tenon_u16)app->netif;
}

int app_address(const struct app *app, unsigned index, struct tenon_ip *ip)
{
    struct tenon_addr_info info;
    unsigned i;

    for (i = 0; tenon_addr_get(app->stack, i, &info) == TENON_OK; i++) {
        if (info.automatic || info.state == TENON_ADDR_DUPLICATE || index-- > 0)
            continue;
        *ip = info.ip;
        return 1;
    }
    return 0;
}
