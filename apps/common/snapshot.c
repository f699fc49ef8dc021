/* SPDX-License-Identifier: MIT */
/* Snapshots of a running program, as JSON, over a unix socket. */
#include "snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app.h"
#include "text.h"

enum {
    SNAPSHOT_READERS_MAX = 16,
    SNAPSHOT_CONNECTIONS_MAX = 500,    /* that are listed; all are counted */
    SNAPSHOT_IDLE_US = 2000000         /* without a byte for so long: idle */
};

struct reader {
    struct snapshot_server *server;
    int fd;
    struct strbuf text;
    size_t sent;
};

struct snapshot_server {
    struct app *app;
    int fd;
    struct reader readers[SNAPSHOT_READERS_MAX];
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* ---- the text ------------------------------------------------------------------------------------- */

static const char *const addr_states[] = { "tentative", "preferred", "deprecated", "duplicate" };
static const char *const neighbour_states[] = { "incomplete", "reachable", "stale", "delay", "probe", "permanent" };

static void add_mac(struct strbuf *sb, const tenon_u8 *mac)
{
    sb_printf(sb, "\"%02x:%02x:%02x:%02x:%02x:%02x\"", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void add_caps(struct strbuf *sb, tenon_u32 caps)
{
    static const struct {
        tenon_u32 cap;
        const char *name;
    } names[] = { { TENON_CAP_TX_CSUM, "csum" }, { TENON_CAP_TSO4, "tso4" }, { TENON_CAP_TSO6, "tso6" },
                  { TENON_CAP_USO, "uso" } };
    const char *comma = "";
    unsigned i;

    sb_text(sb, "[");
    for (i = 0; i < TENON_ARRAY_LEN(names); i++) {
        if ((caps & names[i].cap) == 0)
            continue;
        sb_printf(sb, "%s\"%s\"", comma, names[i].name);
        comma = ",";
    }
    sb_text(sb, "]");
}

static void add_addresses(struct strbuf *sb, const struct tenon *stack)
{
    struct tenon_addr_info info;
    unsigned i;

    sb_text(sb, "\"addresses\":[");
    for (i = 0; tenon_addr_get(stack, i, &info) == TENON_OK; i++)
        sb_printf(sb, "%s{\"ip\":\"%s\",\"prefix\":%u,\"state\":\"%s\"}", i > 0 ? "," : "", text_ip(&info.ip).s,
                  info.prefix, addr_states[info.state]);
    sb_text(sb, "]");
}

static void add_interface(struct strbuf *sb, const struct app *app)
{
    struct tenon_netif_info info;
    const struct app_totals *totals = &app->totals;

    if (tenon_netif_get(app->stack, app->netif, &info) != TENON_OK)
        return;
    sb_printf(sb, "{\"id\":%u,\"name\":\"%s\",\"mac\":", app->netif, app->options->port_name);
    add_mac(sb, info.conf.mac);
    sb_printf(sb, ",\"mtu\":%u,\"up\":%s,\"offload\":", (unsigned)info.conf.mtu, info.up ? "true" : "false");
    add_caps(sb, info.conf.caps);
    sb_printf(sb, ",\"rx_frames\":%llu,\"rx_bytes\":%llu,\"tx_frames\":%llu,\"tx_bytes\":%llu,",
              (unsigned long long)totals->rx_frames, (unsigned long long)totals->rx_bytes,
              (unsigned long long)totals->tx_frames, (unsigned long long)totals->tx_bytes);
    add_addresses(sb, app->stack);
    sb_text(sb, "}");
}

static void add_counters(struct strbuf *sb, const struct app *app)
{
    const char *comma = "";
    unsigned i;

    sb_text(sb, "\"counters\":{");
    for (i = 0; i < TENON_STAT_COUNT; i++) {
        if (app->totals.counter[i] == 0)
            continue;
        sb_printf(sb, "%s\"%s\":%llu", comma, tenon_stat_name((enum tenon_stat)i),
                  (unsigned long long)app->totals.counter[i]);
        comma = ",";
    }
    sb_text(sb, "}");
}

static void add_neighbours(struct strbuf *sb, const struct tenon *stack)
{
    struct tenon_neighbour_info info;
    unsigned i;

    sb_text(sb, "\"neighbours\":[");
    for (i = 0; tenon_neighbour_get(stack, i, &info) == TENON_OK; i++) {
        sb_printf(sb, "%s{\"ip\":\"%s\",\"mac\":", i > 0 ? "," : "", text_ip(&info.ip).s);
        add_mac(sb, info.mac);
        sb_printf(sb, ",\"state\":\"%s\"}", neighbour_states[info.state]);
    }
    sb_text(sb, "]");
}

struct tcp_list {
    struct strbuf *sb;
    int idle;                               /* which pass: 0 those that move, 1 the idle ones */
    unsigned listed, connections, idles;
    unsigned states[TENON_TCP_TIME_WAIT + 1];
};

/* Why it does not send, and for how long in total: microseconds by name, together the life of the connection. */
static void add_waits(struct strbuf *sb, const struct tenon_tcp_info *info)
{
    unsigned i;

    sb_printf(sb, "\"waits_for\":\"%s\",\"waited_us\":{", tenon_tcp_wait_name(info->waits_for));
    for (i = 0; i < TENON_TCP_WAIT_COUNT; i++)
        sb_printf(sb, "%s\"%s\":%llu", i > 0 ? "," : "", tenon_tcp_wait_name((enum tenon_tcp_wait)i),
                  (unsigned long long)info->waited_ms[i] * 1000 + info->waited_us[i]);
    sb_text(sb, "},");
}

static void add_tcp_info(struct strbuf *sb, const struct tenon_tcp_info *info)
{
    sb_printf(sb, "\"srtt_us\":%lu,\"min_rtt_us\":%lu,\"rto_us\":%lu,\"cwnd\":%lu,", (unsigned long)info->srtt_us,
              (unsigned long)info->min_rtt_us, (unsigned long)info->rto_us, (unsigned long)info->cwnd);
    if (info->ssthresh == 0xFFFFFFFFUL)
        sb_text(sb, "\"ssthresh\":null,");
    else
        sb_printf(sb, "\"ssthresh\":%lu,", (unsigned long)info->ssthresh);
    sb_printf(sb, "\"in_flight\":%lu,\"snd_queued\":%lu,\"snd_unsent\":%lu,\"snd_wnd\":%lu,\"rcv_wnd\":%lu,",
              (unsigned long)info->in_flight, (unsigned long)info->snd_queued, (unsigned long)info->snd_unsent,
              (unsigned long)info->snd_wnd, (unsigned long)info->rcv_wnd);
    sb_printf(sb, "\"rcv_unconsumed\":%lu,\"rcv_ooo\":%lu,\"retransmits\":%lu,\"rtos\":%lu,\"mss\":%u,",
              (unsigned long)info->rcv_unconsumed, (unsigned long)info->rcv_ooo, (unsigned long)info->retransmits,
              (unsigned long)info->rtos, (unsigned)info->mss);
    add_waits(sb, info);
    sb_printf(sb, "\"timestamps\":%s,\"sack\":%s,\"in_recovery\":%s,\"cc\":\"%s\"}",
              info->timestamps ? "true" : "false", info->sack ? "true" : "false",
              info->in_recovery ? "true" : "false", info->cc != NULL ? info->cc : "");
}

static void add_connection(struct tenon_tcp *conn, void *arg)
{
    struct tcp_list *list = arg;
    const struct flow *flow = tenon_tcp_app(conn);
    enum tenon_tcp_state state = tenon_tcp_state(conn);
    struct tenon_tcp_info info;
    int idle = flow == NULL || flow_now_us - flow->last_us > SNAPSHOT_IDLE_US;

    if (!list->idle) {
        list->connections++;
        list->idles += idle ? 1 : 0;
        list->states[state <= TENON_TCP_TIME_WAIT ? state : 0]++;
    }
    if (idle != list->idle || list->listed == SNAPSHOT_CONNECTIONS_MAX)
        return;
    tenon_tcp_status(conn, &info);
    sb_printf(list->sb, "%s{\"id\":%lu,\"state\":\"%s\",\"local\":\"%s\",\"remote\":\"%s\",\"idle\":%s,",
              list->listed > 0 ? "," : "", (unsigned long)info.id, tenon_tcp_state_name(state),
              text_endpoint(&info.local).s, text_endpoint(&info.remote).s, idle ? "true" : "false");
    sb_printf(list->sb, "\"rx_bytes\":%llu,\"tx_bytes\":%llu,", (unsigned long long)(flow != NULL ? flow->rx_bytes : 0),
              (unsigned long long)(flow != NULL ? flow->tx_bytes : 0));
    add_tcp_info(list->sb, &info);
    list->listed++;
}

static void add_tcp(struct strbuf *sb, const struct app *app)
{
    struct tcp_list list = { sb, 0, 0, 0, 0, { 0 } };
    const char *comma = "";
    unsigned i;

    sb_text(sb, "\"tcp\":{\"list\":[");
    tenon_tcp_each(app->stack, add_connection, &list);
    list.idle = 1;
    tenon_tcp_each(app->stack, add_connection, &list);
    sb_printf(sb, "],\"connections\":%u,\"idle\":%u,\"listed\":%u,\"time_wait\":%lu,\"states\":{", list.connections,
              list.idles, list.listed, (unsigned long)tenon_tcp_time_waits(app->stack));
    for (i = 0; i < TENON_ARRAY_LEN(list.states); i++) {
        if (list.states[i] == 0)
            continue;
        sb_printf(sb, "%s\"%s\":%u", comma, tenon_tcp_state_name((enum tenon_tcp_state)i), list.states[i]);
        comma = ",";
    }
    sb_text(sb, "}}");
}

static void make_snapshot(struct strbuf *sb, struct app *app)
{
    app_count(app);
    flow_now_us = clock_us();
    sb_text(sb, "{\"version\":");
    sb_json(sb, TENON_VERSION);
    sb_printf(sb, ",\"pid\":%ld,\"command\":", (long)getpid());
    sb_json(sb, app->command);
    sb_printf(sb, ",\"uptime_us\":%llu,\"interfaces\":[", (unsigned long long)(flow_now_us - app->began_us));
    add_interface(sb, app);
    sb_text(sb, "],");
    add_counters(sb, app);
    sb_text(sb, ",");
    add_neighbours(sb, app->stack);
    sb_text(sb, ",");
    add_tcp(sb, app);
    sb_text(sb, "}\n");
}

/* ---- the socket ----------------------------------------------------------------------------------- */

static void reader_end(struct reader *reader)
{
    loop_remove(&reader->server->app->loop, reader->fd);
    close(reader->fd);
    sb_free(&reader->text);
    memset(reader, 0, sizeof *reader);
}

static void reader_ready(void *arg, short revents)
{
    struct reader *reader = arg;
    ssize_t n;

    (void)revents;
    n = send(reader->fd, reader->text.s + reader->sent, reader->text.len - reader->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        reader->sent += (size_t)n;
    if (n <= 0 || reader->sent == reader->text.len)
        reader_end(reader);
}

static void server_ready(void *arg, short revents)
{
    struct snapshot_server *server = arg;
    struct reader *reader = server->readers;
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)revents;
    if (fd < 0)
        return;
    while (reader < server->readers + SNAPSHOT_READERS_MAX && reader->server != NULL)
        reader++;
    if (reader == server->readers + SNAPSHOT_READERS_MAX ||
        loop_add(&server->app->loop, fd, POLLOUT, reader_ready, reader) != 0) {
        close(fd);
        return;
    }
    reader->server = server;
    reader->fd = fd;
    make_snapshot(&reader->text, server->app);
}

void snapshot_folder(char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (runtime != NULL && runtime[0] == '/')
        snprintf(path, size, "%s/tenon", runtime);
    else
        snprintf(path, size, "/tmp/tenon-%lu", (unsigned long)getuid());
}

/* The folder must be ours alone: in /tmp anybody could have made it. */
static int make_folder(const char *path)
{
    struct stat st;

    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != getuid())
        return -1;
    return 0;
}

static int listen_at(const char *path)
{
    struct sockaddr_un at;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    memset(&at, 0, sizeof at);
    at.sun_family = AF_UNIX;
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    unlink(path);
    if (fd >= 0 && (bind(fd, (const struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 16) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

struct snapshot_server *snapshot_open(struct app *app)
{
    struct snapshot_server *server = must_alloc(sizeof *server);
    char folder[sizeof server->path - 32];

    memset(server, 0, sizeof *server);
    server->app = app;
    snapshot_folder(folder, sizeof folder);
    snprintf(server->path, sizeof server->path, "%s/%ld.sock", folder, (long)getpid());
    server->fd = make_folder(folder) == 0 ? listen_at(server->path) : -1;
    if (server->fd >= 0 && loop_add(&app->loop, server->fd, POLLIN, server_ready, server) == 0)
        return server;
    log_say(LOG_VERBOSE, "No socket for \"tenon top\" in %s: %s", folder, strerror(errno));
    if (server->fd >= 0)
        close(server->fd);
    free(server);
    return NULL;
}

void snapshot_close(struct snapshot_server *server)
{
    unsigned i;

    for (i = 0; i < SNAPSHOT_READERS_MAX; i++) {
        if (server->readers[i].server != NULL)
            reader_end(&server->readers[i]);
    }
    loop_remove(&server->app->loop, server->fd);
    close(server->fd);
    unlink(server->path);
    free(server);
}
