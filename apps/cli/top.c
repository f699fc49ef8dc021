/* SPDX-License-Identifier: MIT */
/* tenon top: what a running tenon is doing. It reads snapshots from the program's unix socket and shows
 * the differences between two of them. */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "cli.h"
#include "common/json.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/options.h"
#include "common/snapshot.h"
#include "common/text.h"

enum { TOP_READ_LIMIT_MS = 3000, TOP_ONCE_US = 500000, TOP_ROWS_ONCE = 60 };

struct top_options {
    const char *which;
    int once, json;
    double delay_s;
};

struct top {
    struct top_options options;
    char path[SNAPSHOT_PATH_MAX];
    struct json *before, *now;
    double seconds;    /* between the two */
    struct loop loop;
    struct loop_timer tick;
    struct termios saved;
    int terminal, done, code;
};

/* ---- finding the program -------------------------------------------------------------------------- */

static int connect_to(const char *path)
{
    struct sockaddr_un at;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset(&at, 0, sizeof at);
    at.sun_family = AF_UNIX;
    snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) != 0) {
        const int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static int alive(const char *path)
{
    int fd = connect_to(path);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int is_socket_name(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);

    return n > 5 && strcmp(entry->d_name + n - 5, ".sock") == 0;
}

static void say_pid(const char *path)
{
    const char *name = strrchr(path, '/') + 1;

    fprintf(stderr, "  %.*s\n", (int)strcspn(name, "."), name);
}

/* The only running program; else say which there are. @return 0 or -1 */
static int find_only(struct top *top)
{
    char folder[SNAPSHOT_FOLDER_MAX], path[SNAPSHOT_PATH_MAX];
    struct dirent **entries;
    int n, i, found = 0;

    snapshot_folder(folder, sizeof folder);
    n = scandir(folder, &entries, is_socket_name, alphasort);
    for (i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%.15s", folder, entries[i]->d_name);
        if (alive(path)) {
            if (++found == 2) {
                log_error("several programs are running; say which: tenon top PID");
                say_pid(top->path);
            }
            if (found >= 2)
                say_pid(path);
            memcpy(top->path, path, sizeof path);
        }
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    if (found == 0)
        log_error("no running tenon in %s (start one: tenon serve . &; as another user, or with another "
                  "XDG_RUNTIME_DIR, name its socket)",
                  folder);
    return found == 1 ? 0 : -1;
}

static int find_program(struct top *top)
{
    const char *which = top->options.which;
    char folder[SNAPSHOT_FOLDER_MAX];
    uint64_t pid;

    if (which == NULL)
        return find_only(top);
    if (text_read_number(which, 1, 1u << 30, &pid) == NULL) {
        snapshot_folder(folder, sizeof folder);
        snprintf(top->path, sizeof top->path, "%s/%u.sock", folder, (unsigned)pid);
    } else if (strlen(which) < sizeof top->path) {
        strcpy(top->path, which);
    } else {
        errno = ENAMETOOLONG;
    }
    if (top->path[0] != '\0' && alive(top->path))
        return 0;
    log_error("%s: %s", top->path[0] != '\0' ? top->path : which,
              errno == ENOENT ? "there is no such socket; does the program run, and as this user?" : strerror(errno));
    return -1;
}

/* ---- snapshots ------------------------------------------------------------------------------------ */

/* @return the text (free it), or NULL */
static char *read_snapshot(const char *path)
{
    struct strbuf text = { NULL, 0, 0 };
    struct pollfd waiting;
    char piece[16384];
    ssize_t n = -1;
    int fd = connect_to(path);

    if (fd < 0)
        return NULL;
    waiting.fd = fd;
    waiting.events = POLLIN;
    while (poll(&waiting, 1, TOP_READ_LIMIT_MS) == 1) {
        n = read(fd, piece, sizeof piece);
        if (n <= 0)
            break;
        sb_add(&text, piece, (size_t)n);
        n = -1;
    }
    close(fd);
    if (n == 0 && text.len > 0)
        return text.s;
    sb_free(&text);
    return NULL;
}

/* @return 0, or -1: the program has ended */
static int next_snapshot(struct top *top)
{
    char *text = read_snapshot(top->path);
    struct json *now = text != NULL ? json_read(text) : NULL;

    free(text);
    if (now == NULL)
        return -1;
    json_free(top->before);
    top->before = top->now;
    top->now = now;
    top->seconds = (json_number(now, "uptime_us") - json_number(top->before, "uptime_us")) / 1e6;
    return 0;
}

/* ---- one picture ---------------------------------------------------------------------------------- */

static double per_second(const struct top *top, const struct json *now, const struct json *before, const char *name)
{
    if (before == NULL || top->seconds <= 0)
        return 0;
    return (json_number(now, name) - json_number(before, name)) / top->seconds;
}

static struct text bit_rate(double bytes_per_second)
{
    return text_rate(bytes_per_second > 0 ? (uint64_t)(bytes_per_second * 1000) : 0, 1000);
}

static void add_list(struct strbuf *out, const struct json *array)
{
    const struct json *part;

    for (part = array != NULL ? array->first : NULL; part != NULL; part = part->next)
        sb_printf(out, " %s", part->string != NULL ? part->string : "");
}

static void show_interface(const struct top *top, struct strbuf *out, const struct json *now, const struct json *before)
{
    const struct json *up = json_get(now, "up"), *addresses = json_get(now, "addresses"), *part;

    sb_printf(out, "%s  %s  mtu %.0f  %s  offload", json_string(now, "name"),
              up != NULL && up->kind == JSON_TRUE ? "up" : "down", json_number(now, "mtu"), json_string(now, "mac"));
    if (json_get(now, "offload") == NULL || json_get(now, "offload")->first == NULL)
        sb_text(out, " none");
    add_list(out, json_get(now, "offload"));
    sb_text(out, "\n ");
    for (part = addresses != NULL ? addresses->first : NULL; part != NULL; part = part->next)
        sb_printf(out, " %s/%.0f%s%s", json_string(part, "ip"), json_number(part, "prefix"),
                  strcmp(json_string(part, "state"), "preferred") == 0 ? "" : " ",
                  strcmp(json_string(part, "state"), "preferred") == 0 ? "" : json_string(part, "state"));
    sb_printf(out, "\n  in  %12s  %9s frames/s  total %s in %s frames\n",
              bit_rate(per_second(top, now, before, "rx_bytes")).s,
              text_count((uint64_t)per_second(top, now, before, "rx_frames")).s,
              text_bytes((uint64_t)json_number(now, "rx_bytes")).s,
              text_count((uint64_t)json_number(now, "rx_frames")).s);
    sb_printf(out, "  out %12s  %9s frames/s  total %s in %s frames\n",
              bit_rate(per_second(top, now, before, "tx_bytes")).s,
              text_count((uint64_t)per_second(top, now, before, "tx_frames")).s,
              text_bytes((uint64_t)json_number(now, "tx_bytes")).s,
              text_count((uint64_t)json_number(now, "tx_frames")).s);
}

static const struct json *part_at(const struct json *array, unsigned index)
{
    const struct json *part = array != NULL ? array->first : NULL;

    while (part != NULL && index-- > 0)
        part = part->next;
    return part;
}

/* How work is spread, if there is more than one. */
static void show_cores(const struct top *top, struct strbuf *out)
{
    const struct json *cores = json_get(top->now, "cores"), *before = json_get(top->before, "cores"), *core;
    unsigned i = 0;

    if (part_at(cores, 1) == NULL)
        return;
    for (core = cores->first; core != NULL; core = core->next, i++)
        sb_printf(out, "  core %-3u in %12s  out %12s  %.0f connection%s\n", i,
                  bit_rate(per_second(top, core, part_at(before, i), "rx_bytes")).s,
                  bit_rate(per_second(top, core, part_at(before, i), "tx_bytes")).s,
                  json_number(core, "connections"), json_number(core, "connections") == 1 ? "" : "s");
}

struct row {
    const struct json *conn;
    double in, out;
    const char *waits_for;    /* most of the time between the two, and which part of it */
    double part;
};

static int by_rate(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    double d = (y->in + y->out) - (x->in + x->out);

    return d > 0 ? 1 : d < 0 ? -1
                             : 0;
}

static const struct json *same_connection(const struct json *list, const struct json *conn)
{
    const struct json *part;

    for (part = list != NULL ? list->first : NULL; part != NULL; part = part->next) {
        if (json_number(part, "id") == json_number(conn, "id") &&
            json_number(part, "core") == json_number(conn, "core"))
            return part;
    }
    return NULL;
}

/* The first member of an object; NULL also when it is none: elements of an array have no names. */
static const struct json *members(const struct json *json)
{
    return json != NULL && json->kind == JSON_OBJECT ? json->first : NULL;
}

/* What it has waited for most since the picture before; without one, in its life. */
static void find_wait(struct row *row, const struct json *before)
{
    const struct json *waited = json_get(row->conn, "waited_us"), *old = json_get(before, "waited_us"), *part;
    double all = 0, most = 0, us;

    row->waits_for = json_string(row->conn, "waits_for");
    for (part = members(waited); part != NULL; part = part->next) {
        us = part->number - json_number(old, part->name);
        all += us;
        if (us > most) {
            most = us;
            row->waits_for = part->name;
        }
    }
    row->part = all > 0 ? most / all : 0;
}

/* Those that are not idle, the fastest first. @return the rows (free them) */
static struct row *make_rows(const struct top *top, size_t *n)
{
    const struct json *list = json_get(json_get(top->now, "tcp"), "list"), *part, *idle, *before;
    const struct json *old = json_get(json_get(top->before, "tcp"), "list");
    struct row *rows = NULL;

    *n = 0;
    for (part = list != NULL ? list->first : NULL; part != NULL; part = part->next) {
        idle = json_get(part, "idle");
        if (idle != NULL && idle->kind == JSON_TRUE)
            continue;
        before = same_connection(old, part);
        rows = must_realloc(rows, (*n + 1) * sizeof *rows);
        rows[*n].conn = part;
        rows[*n].in = per_second(top, part, before, "rx_bytes");
        rows[*n].out = per_second(top, part, before, "tx_bytes");
        find_wait(&rows[*n], before);
        ++*n;
    }
    if (*n > 0)
        qsort(rows, *n, sizeof *rows, by_rate);
    return rows;
}

static void show_row(struct strbuf *out, const struct row *row)
{
    const struct json *conn = row->conn;
    double srtt = json_number(conn, "srtt_us");

    sb_printf(out, "  %-28.28s %-12.12s %10s %10s %9s %9s %9s %9s %5.0f  %s %.0f%%\n",
              json_string(conn, "remote"), json_string(conn, "state"), bit_rate(row->in).s,
              bit_rate(row->out).s, srtt > 0 ? text_duration(srtt / 1e6).s : "-",
              text_bytes((uint64_t)json_number(conn, "cwnd")).s,
              text_bytes((uint64_t)json_number(conn, "in_flight")).s,
              text_bytes((uint64_t)json_number(conn, "snd_queued")).s, json_number(conn, "retransmits"),
              row->waits_for, row->part * 100);
}

static void show_tcp(const struct top *top, struct strbuf *out, size_t most)
{
    const struct json *tcp = json_get(top->now, "tcp"), *states = json_get(tcp, "states"), *state;
    size_t n, i;
    struct row *rows = make_rows(top, &n);

    sb_printf(out, "\nTCP  %.0f connection%s", json_number(tcp, "connections"),
              json_number(tcp, "connections") == 1 ? "" : "s");
    for (state = members(states); state != NULL; state = state->next)
        sb_printf(out, "%s%.0f %s", state == states->first ? ": " : ", ", state->number, state->name);
    sb_printf(out, "; %.0f idle; %.0f in TIME-WAIT\n", json_number(tcp, "idle"), json_number(tcp, "time_wait"));
    if (n > 0)
        sb_printf(out, "  %-28s %-12s %10s %10s %9s %9s %9s %9s %5s  %s\n", "peer", "state", "in", "out", "rtt", "cwnd",
                  "in flight", "queued", "again", "waits for");
    for (i = 0; i < n && i < most; i++)
        show_row(out, &rows[i]);
    if (n > most)
        sb_printf(out, "  and %zu more that are not idle\n", n - most);
    free(rows);
}

static void show_counters(const struct top *top, struct strbuf *out, size_t most)
{
    const struct json *counters = json_get(top->now, "counters"), *part;
    double rate;

    sb_text(out, "\nCounters that are not 0                    total          per second\n");
    for (part = members(counters); part != NULL; part = part->next) {
        if (strncmp(part->name, "rx_", 3) == 0 || strcmp(part->name, "tx_bytes") == 0 ||
            strcmp(part->name, "tx_frames") == 0)
            continue;    /* shown with the interface */
        if (most-- == 0)
            return;
        rate = per_second(top, counters, json_get(top->before, "counters"), part->name);
        sb_printf(out, "  %-24s %20s %19s\n", part->name, text_count((uint64_t)part->number).s,
                  rate >= 0.5 ? text_count((uint64_t)(rate + 0.5)).s : "");
    }
}

static void make_picture(const struct top *top, struct strbuf *out, size_t rows)
{
    const struct json *interfaces = json_get(top->now, "interfaces"), *part;
    unsigned i = 0;

    sb_printf(out, "tenon %s  pid %.0f  up %s  version %s\n\n", json_string(top->now, "command"),
              json_number(top->now, "pid"), text_duration(json_number(top->now, "uptime_us") / 1e6).s,
              json_string(top->now, "version"));
    for (part = interfaces != NULL ? interfaces->first : NULL; part != NULL; part = part->next)
        show_interface(top, out, part, part_at(json_get(top->before, "interfaces"), i++));
    show_cores(top, out);
    show_tcp(top, out, rows > 22 ? rows - 22 : 4);
    show_counters(top, out, rows > 20 ? rows - 16 : 8);
    sb_hide_controls(out);    /* whose socket it is may be another user */
}

/* ---- the terminal --------------------------------------------------------------------------------- */

static void terminal_begin(struct top *top)
{
    struct termios raw;

    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &top->saved) != 0)
        return;
    raw = top->saved;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    top->terminal = 1;
    fputs("\033[?1049h\033[?25l", stdout);
}

static void terminal_end(struct top *top)
{
    if (!top->terminal)
        return;
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSANOW, &top->saved);
    top->terminal = 0;
}

/* From the top left corner, each line cleared to its end and cut at the terminal's width. */
static void draw(struct top *top)
{
    struct strbuf out = { NULL, 0, 0 };
    struct winsize size = { 24, 80, 0, 0 };
    unsigned row = 0;
    char *line, *rest;

    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    if (size.ws_row < 5 || size.ws_col < 20) {
        size.ws_row = 24;
        size.ws_col = 80;
    }
    make_picture(top, &out, size.ws_row);
    fputs("\033[H", stdout);
    rest = out.s;
    while ((line = strsep(&rest, "\n")) != NULL && row + 2 < size.ws_row) {
        printf("%s%.*s\033[K%s\n", row == 0 ? "\033[1m" : "", (int)size.ws_col - 1, line, row == 0 ? "\033[0m" : "");
        row++;
    }
    printf("\033[J\033[%u;1H\033[7m q: end \033[0m", (unsigned)size.ws_row);
    fflush(stdout);
    sb_free(&out);
}

static void top_stop(struct top *top, int code)
{
    top->done = 1;
    top->code = code;
}

static void tick_due(void *arg)
{
    struct top *top = arg;

    if (next_snapshot(top) != 0) {
        terminal_end(top);
        log_say(LOG_NORMAL, "The program has ended.");
        top_stop(top, CLI_OK);
        return;
    }
    draw(top);
    loop_timer_set(&top->loop, &top->tick, (uint64_t)(top->options.delay_s * 1e6));
}

static void key_ready(void *arg, short revents)
{
    struct top *top = arg;
    char key = 'q';

    (void)revents;
    if (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q' || key == 27)
        top_stop(top, CLI_OK);
}

static void top_signalled(void *arg, int signal_number)
{
    (void)signal_number;
    top_stop(arg, CLI_OK);
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

enum { KEY_ONCE = 0x200, KEY_JSON };

static const struct argp_option top_option_list[] = {
    { "once", KEY_ONCE, NULL, 0, "Print one picture and end", 0 },
    { "json", KEY_JSON, NULL, 0, "Print one snapshot as JSON and end", 0 },
    { "delay", 'd', "SECONDS", 0, "Time between pictures; default 1", 0 },
    { NULL, 0, NULL, 0, NULL, 0 }
};

static const char top_doc[] =
    "Watch a running tenon: its interface, its connections, its counters.\v"
    "Without an argument it watches the only one that runs. The key q ends it. Connections that have moved no byte "
    "for two seconds are idle: they are counted, not listed.\n\n"
    "\"waits for\" is why a connection sent no more: what it waited for longest since the last picture, and for which "
    "part of that time. handshake; data: the application's; window: the peer's; cwnd; pacing; nagle, also the option "
    "CORK; port: it takes no more; host: no route or no memory.\n\n"
    "Examples:\n"
    "  tenon top\n"
    "  tenon top --once 4711\n"
    "  tenon top --json | jq .counters";

static error_t parse_top(int key, char *value, struct argp_state *state)
{
    struct top_options *options = state->input;

    switch (key) {
    case KEY_ONCE:
        options->once = 1;
        return 0;
    case KEY_JSON:
        options->json = 1;
        return 0;
    case 'd':
        options->delay_s = options_seconds(state, "--delay", value);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one program, please: \"%s\" is the second", value);
        options->which = value;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp top_argp = { top_option_list, parse_top, "[PID|SOCKET]", top_doc, NULL, NULL, NULL };

static int print_json(const struct top *top)
{
    struct strbuf text = { read_snapshot(top->path), 0, 0 };

    if (text.s == NULL) {
        log_error("%s: no answer", top->path);
        return CLI_FAILED;
    }
    text.len = strlen(text.s);
    sb_hide_controls(&text);
    fputs(text.s, stdout);
    sb_free(&text);
    return CLI_OK;
}

static int print_once(struct top *top)
{
    struct strbuf out = { NULL, 0, 0 };

    if (next_snapshot(top) != 0 || usleep(TOP_ONCE_US) != 0 || next_snapshot(top) != 0) {
        log_error("%s: no answer", top->path);
        return CLI_FAILED;
    }
    make_picture(top, &out, TOP_ROWS_ONCE);
    fputs(out.s, stdout);
    sb_free(&out);
    return CLI_OK;
}

static int watch(struct top *top)
{
    if (next_snapshot(top) != 0) {
        log_error("%s: no answer", top->path);
        return CLI_FAILED;
    }
    if (loop_open(&top->loop, top_signalled, top) != 0)
        return CLI_FAILED;
    loop_add(&top->loop, STDIN_FILENO, POLLIN, key_ready, top);
    top->tick.due = tick_due;
    top->tick.arg = top;
    terminal_begin(top);
    draw(top);
    loop_timer_set(&top->loop, &top->tick, TOP_ONCE_US);
    while (!top->done)
        loop_wait(&top->loop, 1000000);
    terminal_end(top);
    loop_close(&top->loop);
    return top->code;
}

int cmd_top(int argc, char **argv)
{
    static struct top top;
    int code;

    top.options.delay_s = 1;
    argp_parse(&top_argp, argc, argv, 0, NULL, &top.options);
    if (!top.options.once && !top.options.json && !isatty(STDOUT_FILENO)) {
        log_error("stdout is no terminal; use --once or --json");
        return CLI_USAGE;
    }
    if (find_program(&top) != 0)
        return CLI_FAILED;
    code = top.options.json ? print_json(&top) : top.options.once ? print_once(&top)
                                                                  : watch(&top);
    json_free(top.before);
    json_free(top.now);
    return code;
}
