/* SPDX-License-Identifier: MIT */
/* Snapshots of a running program, as JSON, over a unix socket. Each core writes its part of one in its own thread: the
 * part is a mail that goes to the core and comes back. */
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
#include "cores.h"
#include "text.h"

enum {
    SNAPSHOT_READERS_MAX = 16,
    SNAPSHOT_CONNECTIONS_MAX = 500,    /* that are listed; all are counted */
    SNAPSHOT_IDLE_US = 2000000,        /* without a byte for so long: idle */
    SNAPSHOT_AGAIN_US = 500000         /* no descriptor for who has connected: look again then */
};

/* Who has connected. `text` is empty as long as parts are missing. */
struct reader {
    struct snapshot_server *server;
    int fd;
    struct strbuf text;
    size_t sent;
};

/* What a core has to say. */
struct part {
    struct model_mail mail;
    struct snapshot_server *server;
    unsigned core;
    struct app_totals totals;
    struct strbuf neighbours, list;    /* elements of arrays */
    unsigned connections, idles, listed;
    unsigned long time_waits;
    unsigned states[TENON_TCP_TIME_WAIT + 1];
};

struct snapshot_server {
    struct app *app;
    int fd;
    struct loop_timer again;
    struct reader readers[SNAPSHOT_READERS_MAX];
    struct part *parts;
    unsigned cores, missing;    /* parts that are on their way */
    char path[SNAPSHOT_PATH_MAX];
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

static void add_traffic(struct strbuf *sb, const struct app_totals *totals)
{
    sb_printf(sb, "\"rx_frames\":%llu,\"rx_bytes\":%llu,\"tx_frames\":%llu,\"tx_bytes\":%llu",
              (unsigned long long)totals->rx_frames, (unsigned long long)totals->rx_bytes,
              (unsigned long long)totals->tx_frames, (unsigned long long)totals->tx_bytes);
}

static void add_interface(struct strbuf *sb, const struct app *app, const struct app_totals *totals)
{
    struct tenon_netif_info info;

    if (tenon_netif_get(app->stack, app->netif, &info) != TENON_OK)
        return;
    sb_printf(sb, "{\"id\":%u,\"name\":", app->netif);
    sb_json(sb, app->options->port_name);
    sb_text(sb, ",\"mac\":");
    add_mac(sb, info.conf.mac);
    sb_printf(sb, ",\"mtu\":%u,\"up\":%s,\"offload\":", (unsigned)info.conf.mtu, info.up ? "true" : "false");
    add_caps(sb, info.conf.caps);
    sb_text(sb, ",");
    add_traffic(sb, totals);
    sb_text(sb, ",");
    add_addresses(sb, app->stack);
    sb_text(sb, "}");
}

static void add_counters(struct strbuf *sb, const struct app_totals *totals)
{
    const char *comma = "";
    unsigned i;

    sb_text(sb, "\"counters\":{");
    for (i = 0; i < TENON_STAT_COUNT; i++) {
        if (totals->counter[i] == 0)
            continue;
        sb_printf(sb, "%s\"%s\":%llu", comma, tenon_stat_name((enum tenon_stat)i),
                  (unsigned long long)totals->counter[i]);
        comma = ",";
    }
    sb_text(sb, "}");
}

static void add_neighbours(struct strbuf *sb, unsigned core, const struct tenon *stack)
{
    struct tenon_neighbour_info info;
    unsigned i;

    for (i = 0; tenon_neighbour_get(stack, i, &info) == TENON_OK; i++) {
        sb_printf(sb, "%s{\"core\":%u,\"ip\":\"%s\",\"mac\":", i > 0 ? "," : "", core, text_ip(&info.ip).s);
        add_mac(sb, info.mac);
        sb_printf(sb, ",\"state\":\"%s\"}", neighbour_states[info.state]);
    }
}

struct tcp_list {
    struct part *part;
    int idle;    /* which pass: 0 those that move, 1 the idle ones */
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
    const struct tcp_list *list = arg;
    struct part *part = list->part;
    const struct flow *flow = tenon_tcp_app(conn);
    enum tenon_tcp_state state = tenon_tcp_state(conn);
    struct tenon_tcp_info info;
    int idle = flow == NULL || flow_now_us - flow->last_us > SNAPSHOT_IDLE_US;

    if (!list->idle) {
        part->connections++;
        part->idles += idle ? 1 : 0;
        part->states[state <= TENON_TCP_TIME_WAIT ? state : 0]++;
    }
    if (idle != list->idle || part->listed == SNAPSHOT_CONNECTIONS_MAX / part->server->cores)
        return;
    tenon_tcp_status(conn, &info);
    sb_printf(&part->list,
              "%s{\"core\":%u,\"id\":%lu,\"state\":\"%s\",\"local\":\"%s\",\"remote\":\"%s\",\"idle\":%s,",
              part->listed > 0 ? "," : "", part->core, (unsigned long)info.id, tenon_tcp_state_name(state),
              text_endpoint(&info.local).s, text_endpoint(&info.remote).s, idle ? "true" : "false");
    sb_printf(&part->list, "\"rx_bytes\":%llu,\"tx_bytes\":%llu,",
              (unsigned long long)(flow != NULL ? flow->rx_bytes : 0),
              (unsigned long long)(flow != NULL ? flow->tx_bytes : 0));
    add_tcp_info(&part->list, &info);
    part->listed++;
}

/* In the thread of the core. */
static void write_part(struct part *part, struct app *app)
{
    struct tcp_list list = { part, 0 };

    app_count(app);
    flow_now_us = clock_us();
    part->totals = app->totals;
    add_neighbours(&part->neighbours, part->core, app->stack);
    tenon_tcp_each(app->stack, add_connection, &list);
    list.idle = 1;
    tenon_tcp_each(app->stack, add_connection, &list);
    part->time_waits = (unsigned long)tenon_tcp_time_waits(app->stack);
}

static void clear_parts(struct snapshot_server *server)
{
    for (unsigned i = 0; i < server->cores; i++) {
        sb_free(&server->parts[i].neighbours);
        sb_free(&server->parts[i].list);
        memset(&server->parts[i], 0, sizeof server->parts[i]);
        server->parts[i].server = server;
        server->parts[i].core = i;
    }
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void add_cores(struct strbuf *sb, const struct snapshot_server *server)
{
    sb_text(sb, "\"cores\":[");
    for (unsigned i = 0; i < server->cores; i++) {
        sb_printf(sb, "%s{\"connections\":%u,", i > 0 ? "," : "", server->parts[i].connections);
        add_traffic(sb, &server->parts[i].totals);
        sb_text(sb, "}");
    }
    sb_text(sb, "]");
}

/* An array of what all cores have written. */
static void add_array(struct strbuf *sb, const struct snapshot_server *server, const char *name, size_t member)
{
    const char *comma = "";

    sb_printf(sb, "\"%s\":[", name);
    for (unsigned i = 0; i < server->cores; i++) {
        const struct strbuf *text = (const void *)((const char *)&server->parts[i] + member);

        if (text->len == 0)
            continue;
        sb_text(sb, comma);
        sb_add(sb, text->s, text->len);
        comma = ",";
    }
    sb_text(sb, "]");
}

static void add_tcp(struct strbuf *sb, const struct snapshot_server *server)
{
    unsigned connections = 0, idles = 0, listed = 0, states[TENON_TCP_TIME_WAIT + 1] = { 0 };
    unsigned long time_waits = 0;
    const char *comma = "";

    for (unsigned i = 0; i < server->cores; i++) {
        const struct part *part = &server->parts[i];

        connections += part->connections;
        idles += part->idles;
        listed += part->listed;
        time_waits += part->time_waits;
        for (unsigned state = 0; state < TENON_ARRAY_LEN(states); state++)
            states[state] += part->states[state];
    }
    sb_text(sb, "\"tcp\":{");
    add_array(sb, server, "list", offsetof(struct part, list));
    sb_printf(sb, ",\"connections\":%u,\"idle\":%u,\"listed\":%u,\"time_wait\":%lu,\"states\":{", connections,
              idles, listed, time_waits);
    for (unsigned i = 0; i < TENON_ARRAY_LEN(states); i++) {
        if (states[i] == 0)
            continue;
        sb_printf(sb, "%s\"%s\":%u", comma, tenon_tcp_state_name((enum tenon_tcp_state)i), states[i]);
        comma = ",";
    }
    sb_text(sb, "}}");
}

/* All parts are there. */
static void write_whole(struct strbuf *sb, const struct snapshot_server *server)
{
    const struct app *app = server->app;
    struct app_totals totals = server->parts[0].totals;

    for (unsigned i = 1; i < server->cores; i++)
        app_totals_add(&totals, &server->parts[i].totals);
    sb_text(sb, "{\"version\":");
    sb_json(sb, TENON_VERSION);
    sb_printf(sb, ",\"pid\":%ld,\"command\":", (long)getpid());
    sb_json(sb, app->command);
    sb_printf(sb, ",\"uptime_us\":%llu,\"interfaces\":[", (unsigned long long)(flow_now_us - app->began_us));
    add_interface(sb, app, &totals);
    sb_text(sb, "],");
    add_cores(sb, server);
    sb_text(sb, ",");
    add_counters(sb, &totals);
    sb_text(sb, ",");
    add_array(sb, server, "neighbours", offsetof(struct part, neighbours));
    sb_text(sb, ",");
    add_tcp(sb, server);
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

/* Whoever waits gets what is there now. */
static void answer_readers(struct snapshot_server *server)
{
    for (struct reader *reader = server->readers; reader < server->readers + SNAPSHOT_READERS_MAX; reader++) {
        if (reader->server == NULL || reader->text.len > 0)
            continue;
        write_whole(&reader->text, server);
        loop_want(&server->app->loop, reader->fd, POLLOUT);
    }
    clear_parts(server);
}

/* Back in our thread. */
static void part_returned(struct model_mail *mail, void *owner)
{
    struct snapshot_server *server = TENON_CONTAINER(mail, struct part, mail)->server;

    server->missing--;
    if (owner != NULL && server->missing == 0)
        answer_readers(server);
}

/* In the thread of its core; or its thread has ended, and nobody will read it. */
static void part_arrived(struct model_mail *mail, void *owner)
{
    struct part *part = TENON_CONTAINER(mail, struct part, mail);

    if (owner == NULL)
        return;
    write_part(part, owner);
    mail->open = part_returned;
    model_mailbox_post(&part->server->app->core->all->core[0].box, mail);
}

static void ask_cores(struct snapshot_server *server)
{
    struct core *first = server->app->core;

    write_part(&server->parts[0], server->app);
    for (unsigned i = 1; i < server->cores; i++) {
        if (!first[i].entered)
            continue;
        server->missing++;
        server->parts[i].mail.open = part_arrived;
        model_mailbox_post(&first[i].box, &server->parts[i].mail);
    }
    if (server->missing == 0)
        answer_readers(server);
}

static void again_due(void *arg)
{
    struct snapshot_server *server = arg;

    loop_want(&server->app->loop, server->fd, POLLIN);
}

/* Who has connected stays in the queue, and so the socket readable, as long as the process has no descriptor left. */
static void accept_failed(struct snapshot_server *server)
{
    if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
        return;
    loop_want(&server->app->loop, server->fd, 0);
    loop_timer_set(&server->app->loop, &server->again, SNAPSHOT_AGAIN_US);
}

static void server_ready(void *arg, short revents)
{
    struct snapshot_server *server = arg;
    struct reader *reader = server->readers;
    int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    (void)revents;
    if (fd < 0) {
        accept_failed(server);
        return;
    }
    while (reader < server->readers + SNAPSHOT_READERS_MAX && reader->server != NULL)
        reader++;
    if (reader == server->readers + SNAPSHOT_READERS_MAX ||
        loop_add(&server->app->loop, fd, 0, reader_ready, reader) != 0) {
        close(fd);
        return;
    }
    loop_want(&server->app->loop, fd, 0);
    reader->server = server;
    reader->fd = fd;
    if (server->missing == 0)
        ask_cores(server);
}

void snapshot_folder(char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (runtime != NULL && runtime[0] == '/' && strlen(runtime) + sizeof "/tenon" <= size)
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
    char folder[SNAPSHOT_FOLDER_MAX];

    memset(server, 0, sizeof *server);
    server->app = app;
    server->again.due = again_due;
    server->again.arg = server;
    server->cores = cores_count(app->core);
    server->parts = must_alloc(server->cores * sizeof *server->parts);
    memset(server->parts, 0, server->cores * sizeof *server->parts);
    clear_parts(server);
    snapshot_folder(folder, sizeof folder);
    snprintf(server->path, sizeof server->path, "%s/%u.sock", folder, (unsigned)getpid());
    server->fd = make_folder(folder) == 0 ? listen_at(server->path) : -1;
    if (server->fd >= 0 && loop_add(&app->loop, server->fd, POLLIN, server_ready, server) == 0)
        return server;
    log_say(LOG_VERBOSE, "No socket for \"tenon top\" in %s: %s", folder, strerror(errno));
    if (server->fd >= 0)
        close(server->fd);
    free(server->parts);
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
    loop_timer_stop(&server->app->loop, &server->again);
    loop_remove(&server->app->loop, server->fd);
    close(server->fd);
    unlink(server->path);
    clear_parts(server);
    free(server->parts);
    free(server);
}
