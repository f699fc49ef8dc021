/* SPDX-License-Identifier: MIT */
/* An HTTP/1.1 server on port 80 with the state of the board: / for people (brings itself up to date each second),
 * /rows the table in it, /status.json for programs. Requests are read in the blocks in which they came; pages are
 * written into the send rings, piece by piece, as chunks (RFC 9112 7.1). Connections stay open for the next request. */
#include "../common/app.h"
#include "../common/page.h"

enum { LINE = 48, REQUEST_MAX = 8192, IDLE_S = 15, LINGER_S = 2, STUCK_S = 30 };
enum doing { READS, ANSWERS, LINGERS };

static struct client {
    int sk;
    tenon_u8 *at;            /* received bytes that are not read yet ... */
    unsigned left;           /* ... and how many */
    enum doing doing;
    tenon_u32 since_us;      /* of its last progress */
    char line[LINE];         /* the beginning of the line that is being read; full: it is longer */
    unsigned filled;
    unsigned request_bytes;
    unsigned lines;
    unsigned hosts;          /* fields of that name */
    unsigned status;
    unsigned row;
    enum page page;
    tenon_u8 old;            /* 1: HTTP/1.0: no chunks */
    tenon_u8 close;          /* 1: the last answer of this connection */
    tenon_u8 head;           /* 1: no content is wanted */
    tenon_u8 cr;             /* 1: the byte before was a CR */
    tenon_u8 has_ring;       /* 1: it has been answered before */
} clients[BOARD_CLIENTS];
static tenon_u8 rings[BOARD_RINGS][BOARD_RING];

/* ---- the request: RFC 9112 3 ------------------------------------------------------------------------ */

static int begins(const char *text, const char *with)
{
    for (; *with != '\0'; text++, with++) {
        const char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 32) : *text;

        if (c != *with)
            return 0;
    }
    return 1;
}

/* Methods are not the same in small letters: RFC 9110 9.1. */
static int is_method(const char *line, const char *method)
{
    for (; *method != '\0' && *line == *method; line++, method++)
        ;
    return *method == '\0' && *line == ' ';
}

static int is_other_method(const char *line)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"};
    unsigned i;

    for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (is_method(line, methods[i]))
            return 1;
    }
    return 0;
}

static int path_is(const char *path, const char *name)
{
    for (; *name != '\0' && *path == *name; path++, name++)
        ;
    return *name == '\0' && (*path == ' ' || *path == '?');
}

/* Who takes us for a proxy names us before the path (RFC 9112 3.2.2), which may be empty (RFC 9110 4.2.3). */
static const char *path_of(const char *target)
{
    if (!begins(target, "http://"))
        return target;
    for (target += 7; *target != '/' && *target != '?' && *target != ' ';)
        target++;
    return *target == '/' ? target : "/ ";
}

/* Whether "close" is in a list, as a whole word: RFC 9110 5.6.1. */
static int lists_close(const char *list)
{
    int word = 1;    /* one may begin here */

    for (; *list != '\0'; list++) {
        if (word && begins(list, "close") && (list[5] == '\0' || list[5] == ',' || list[5] == ' ' || list[5] == '\t'))
            return 1;
        word = *list == ',' || *list == ' ' || *list == '\t';
    }
    return 0;
}

/* The first that is wrong with a request is what the client is told. */
static void fail(struct client *client, unsigned status)
{
    if (client->status == 200 || client->status == 404)
        client->status = status;
    client->close = 1;
}

/* `path` is where the first space is. @return what its method and its length say: 200, or the error */
static unsigned method_status(const struct client *client, const char *path)
{
    const int cut = client->filled == LINE, answered = client->head || is_method(client->line, "GET");

    if (*path == '\0')
        return cut ? 501 : 400;
    if (!answered && !is_other_method(client->line))
        return 501;
    if (cut)
        return 414;
    return answered ? 200 : 405;
}

/* RFC 9112 3: behind the first space a target without any, and a version, of which the last digit may be a later one
 * (RFC 9110 2.5). @return the space between the two; NULL: it is another line */
static const char *target_end(const char *path)
{
    const char *end = path + 1;

    while (*end != ' ' && *end != '\t' && *end != '\0')
        end++;
    return begins(end, " http/1.") && end[8] >= '0' && end[8] <= '9' && end[9] == '\0' ? end : NULL;
}

static void read_request_line(struct client *client)
{
    const char *path = client->line, *end;
    unsigned status;

    client->head = (tenon_u8)is_method(client->line, "HEAD");
    while (*path != ' ' && *path != '\0')
        path++;
    status = method_status(client, path);
    if (status != 200)
        fail(client, status);
    if (client->status != 200)
        return;
    end = target_end(path);
    if (end == NULL) {
        fail(client, 400);
        return;
    }
    client->old = end[8] == '0';
    client->close = client->old;
    path = path_of(path + 1);
    if (path_is(path, "/"))
        client->page = PAGE_HTML;
    else if (path_is(path, "/rows"))
        client->page = PAGE_ROWS;
    else if (path_is(path, "/status.json"))
        client->page = PAGE_JSON;
    else
        client->status = 404;
}

/* Of a content that we have no use for. @return 200: there is none; else the error */
static unsigned length_status(const struct client *client, const char *value)
{
    const char *at = value;
    int some = 0;

    for (; *at >= '0' && *at <= '9'; at++)
        some |= *at != '0';
    if (at == value || client->filled == LINE)
        return 400;
    while (*at == ' ' || *at == '\t')
        at++;
    if (*at != '\0')
        return 400;
    return some ? 413 : 200;
}

/* No space in the name or before it (RFC 9112 5.1, 5.2). A name that is longer than the line here is none of ours. */
static void read_field(struct client *client)
{
    const char *value = client->line;
    unsigned status;

    while ((tenon_u8)*value > ' ' && *value != ':')
        value++;
    if (*value != ':') {
        if (*value != '\0' || client->filled < LINE)
            fail(client, 400);
        return;
    }
    do
        value++;
    while (*value == ' ' || *value == '\t');
    client->hosts += (unsigned)begins(client->line, "host:");
    if (begins(client->line, "connection:") && (lists_close(value) || client->filled == LINE))    /* the rest may */
        client->close = 1;
    if (begins(client->line, "transfer-encoding:"))
        fail(client, 411);
    status = begins(client->line, "content-length:") ? length_status(client, value) : 200;
    if (status != 200)
        fail(client, status);
}

/* The head of a request is complete: RFC 9112 3.2. */
static void read_end(struct client *client)
{
    if (client->hosts > 1 || (client->hosts == 0 && !client->old))
        fail(client, 400);
}

/* A line has ended. @return 1: with it the head of a request */
static int read_line(struct client *client)
{
    client->line[client->filled < LINE ? client->filled : LINE - 1] = '\0';
    if (client->filled == 0) {
        if (client->lines > 0)    /* empty lines before a request are no harm: RFC 9112 2.2 */
            read_end(client);
        return client->lines > 0;
    }
    if (client->lines == 0)
        read_request_line(client);
    else
        read_field(client);
    client->lines++;
    client->filled = 0;
    return 0;
}

/* What may stand nowhere: a CR without its LF (RFC 9112 2.2), a NUL (RFC 9110 5.5). */
static void look_at(struct client *client, char c)
{
    if ((client->cr && c != '\n') || c == '\0')
        fail(client, 400);
    client->cr = c == '\r';
}

/* @return how many bytes were read; `doing` is ANSWERS when a request is complete */
static unsigned read_bytes(struct client *client, const tenon_u8 *bytes, unsigned n)
{
    unsigned i = 0;

    while (i < n && client->doing == READS) {
        const char c = (char)bytes[i++];

        look_at(client, c);
        if (++client->request_bytes > REQUEST_MAX) {
            fail(client, 431);
            client->doing = ANSWERS;
        } else if (c == '\n') {
            client->doing = read_line(client) ? ANSWERS : READS;
        } else if (c != '\r' && client->filled < LINE) {
            client->line[client->filled++] = c;
        }
    }
    return i;
}

static void begin_request(struct client *client)
{
    client->doing = READS;
    client->filled = 0;
    client->lines = client->hosts = 0;
    client->request_bytes = 0;
    client->row = 0;
    client->status = 200;
    client->cr = 0;
}

/* ---- connections -------------------------------------------------------------------------------------- */

static void listen(struct client *client)
{
    struct tenon_addr any;

    __builtin_memset(&any, 0, sizeof(any));
    any.port = 80;
    client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    client->left = 0;
    client->since_us = board_now_us();
    client->old = client->close = client->has_ring = 0;
    begin_request(client);
}

static void leave(struct client *client, unsigned how)
{
    (void)tenon_sock_delete(socks, client->sk, how);
    listen(client);
}

static int is_waiting(const struct client *client)
{
    struct tenon_sock_info info;

    return tenon_sock_status(socks, client->sk, &info) == TENON_OK && info.state == TENON_SOCK_LISTENING;
}

/* It neither asks nor is answered. For its ring nobody goes who has none, or whose ring is not free at once: who has
 * just come would lose an answer, and nobody would get a ring. */
static int is_idle(const struct client *client, int for_ring)
{
    struct tenon_sock_info info;

    if (client->doing != READS || client->request_bytes != 0 || client->left != 0 ||
        tenon_sock_status(socks, client->sk, &info) != TENON_OK || info.state == TENON_SOCK_LISTENING)
        return 0;
    return !for_ring || (client->has_ring && info.packets == 0);
}

/* A client that keeps its connection, or its ring, without asking for anything makes room for others: the one that has
 * been silent longest, and for so long at least. @return 1: there was one */
static int send_idle_away(tenon_u32 silent_us, int for_ring)
{
    const tenon_u32 now_us = board_now_us();
    struct client *longest = NULL;
    unsigned i;

    for (i = 0; i < BOARD_CLIENTS; i++) {
        struct client *client = &clients[i];

        if (is_idle(client, for_ring) && now_us - client->since_us >= silent_us) {
            longest = client;
            silent_us = now_us - client->since_us;
        }
    }
    if (longest != NULL)
        leave(longest, 0);
    return longest != NULL;
}

/* ---- the answer -------------------------------------------------------------------------------------- */

static const char *reason(unsigned status)
{
    switch (status) {
    case 200: return "200 OK";
    case 400: return "400 Bad Request";
    case 404: return "404 Not Found";
    case 405: return "405 Method Not Allowed\r\nAllow: GET, HEAD";
    case 411: return "411 Length Required";
    case 413: return "413 Content Too Large";
    case 414: return "414 URI Too Long";
    case 501: return "501 Not Implemented";
    default: return "431 Request Header Fields Too Large";
    }
}

static void add_fields(struct text *text, const struct client *client)
{
    text_add(text, "HTTP/1.1 ");
    text_add(text, reason(client->status));
    text_add(text, "\r\nCache-Control: no-store\r\nContent-Type: ");
    text_add(text, client->page == PAGE_JSON && client->status == 200 ? "application/json" : "text/html");
    if (client->status != 200)
        text_add(text, "\r\nContent-Length: 0");
    else if (!client->old)
        text_add(text, "\r\nTransfer-Encoding: chunked");
    text_add(text, client->close ? "\r\nConnection: close\r\n\r\n" : "\r\n\r\n");
}

/* What the clients are doing, for the page. */
static int show_client(unsigned index, struct tenon_addr *peer, const char **doing)
{
    static const char *const words[] = {"asks", "is answered", "closes"};
    struct tenon_sock_info info;

    if (index >= BOARD_CLIENTS || clients[index].sk <= 0 ||
        tenon_sock_status(socks, clients[index].sk, &info) != TENON_OK || info.state == TENON_SOCK_LISTENING)
        return 0;
    *peer = info.remote;
    *doing = words[clients[index].doing];
    return 1;
}

/* As many rows as there is room for. @return 1: these were the last */
static int add_rows(struct text *text, struct client *client)
{
    for (;;) {
        char *before = text->at;
        const int more = page_row(text, client->page, client->row, show_client);

        if (text->cut) {
            text->at = before;
            text->cut = 0;
            return 0;
        }
        if (!more)
            return 1;
        client->row++;
    }
}

enum { CHUNK_HEAD = 5, CHUNK_TAIL = 2, LAST_CHUNK = 5, FIELDS_MAX = 160 };
enum { ROOM = FIELDS_MAX + CHUNK_HEAD + PAGE_ROW_MAX + CHUNK_TAIL + LAST_CHUNK };
enum { TIMESTAMP = 12 };    /* of a segment, beside its payload: RFC 7323 */

/* A chunk with the rows that fit. @return 1: the last */
static int add_chunk(struct text *text, struct client *client)
{
    struct text head;
    char *begin = text->at;
    const int chunked = !client->old;
    int last;

    if (chunked) {
        text->at += CHUNK_HEAD;
        text->end -= CHUNK_TAIL + LAST_CHUNK;
    }
    last = add_rows(text, client);
    if (chunked) {
        const unsigned bytes = (unsigned)(text->at - begin) - CHUNK_HEAD;

        text->end += CHUNK_TAIL + LAST_CHUNK;
        text_begin(&head, begin, CHUNK_HEAD);
        text_hex(&head, bytes, 3);
        text_add(&head, "\r\n");
        text_add(text, last ? "\r\n0\r\n\r\n" : "\r\n");
    }
    return last;
}

/* @return 1: this client has got a ring that nobody uses */
static int find_ring(struct client *client)
{
    unsigned i;

    for (i = 0; i < BOARD_RINGS; i++) {
        if (tenon_sock_set_sbuf(socks, client->sk, rings[i], BOARD_RING) == TENON_OK) {
            client->has_ring = 1;
            return 1;
        }
    }
    return 0;
}

/* Where the next packet is written; there are fewer rings than clients. @return bytes; 0: no room now */
static int find_room(struct client *client, tenon_u8 **to)
{
    int n = tenon_sock_ask_sbuf(socks, client->sk, to);

    if (n == TENON_ENOMEM)
        n = find_ring(client) || (send_idle_away(0, 1) && find_ring(client))
                ? tenon_sock_ask_sbuf(socks, client->sk, to)
                : 0;
    return n > 0 && n < ROOM ? 0 : n;
}

/* One packet of the answer. @return TENON_OK; TENON_EAGAIN: the ring or the memory is full; else an error of the
 * connection */
static int answer_packet(struct client *client)
{
    const unsigned row = client->row;
    struct text text;
    tenon_u8 *to;
    int n = find_room(client, &to), last = 1;

    if (n <= 0)
        return n == 0 ? TENON_EAGAIN : n;
    text_begin(&text, (char *)to, (unsigned)n);
    if (client->row == 0)
        add_fields(&text, client);
    if (client->status == 200 && !client->head)
        last = add_chunk(&text, client);
    n = tenon_sock_send(socks, client->sk, to, (unsigned)(text.at - (char *)to),
                        last && client->close ? TENON_SOCK_FIN : 0);
    if (n == TENON_ENOMEM) {    /* for a while: turn() has it tried again */
        client->row = row;
        return TENON_EAGAIN;
    }
    client->since_us = board_now_us();
    if (n != TENON_OK || !last)
        return n;
    if (client->close)
        client->doing = LINGERS;
    else
        begin_request(client);
    return TENON_OK;
}

/* ---- work ---------------------------------------------------------------------------------------------- */

/* Its patience counts from the first byte of a request, and from the last: who sends one at a time does not stay for
 * ever, nor who goes on sending when all has been said. @return how many bytes of these are done with */
static unsigned take(struct client *client, const tenon_u8 *bytes, unsigned n)
{
    const int is_first = client->request_bytes == 0;

    if (client->doing == LINGERS)
        return n;
    n = read_bytes(client, bytes, n);
    if (is_first || client->doing == ANSWERS)
        client->since_us = board_now_us();
    return n;
}

/* Read and answer as far as it goes. @return TENON_OK: until something comes; else the connection is done with */
static int work(struct client *client)
{
    int error;
    unsigned n;

    for (;;) {
        if (client->doing == ANSWERS) {
            error = answer_packet(client);
            if (error != TENON_OK)
                return error == TENON_EAGAIN ? TENON_OK : error;
            continue;
        }
        if (client->left == 0) {
            error = tenon_sock_ask_rbuf(socks, client->sk, &client->at);
            if (error <= 0)
                return error;
            client->left = (unsigned)error;
        }
        n = take(client, client->at, client->left);
        (void)tenon_sock_read_done(socks, client->sk, client->at, n);
        client->at += n;
        client->left -= n;
    }
}

static void event(void *self, int sk, unsigned events)
{
    unsigned i;

    (void)self, (void)sk, (void)events;
    for (i = 0; i < BOARD_CLIENTS; i++) {
        struct client *client = &clients[i];

        if (client->sk <= 0)
            listen(client);
        if (client->sk <= 0)
            continue;
        if (work(client) != TENON_OK)
            leave(client, 0);
    }
}

/* ---- time ---------------------------------------------------------------------------------------------- */

/* Seconds that a client may do nothing. */
static tenon_u32 patience(const struct client *client)
{
    if (client->doing == LINGERS)
        return LINGER_S;
    return client->doing == ANSWERS ? STUCK_S : IDLE_S;
}

static tenon_u32 turn(struct tenon_socks *unused, tenon_u32 now_us)
{
    static tenon_u32 last_us;
    int crowded = 1;
    unsigned i;

    (void)unused;
    if (now_us - last_us < 500000)
        return 500000;
    last_us = now_us;
    page_tick();
    for (i = 0; i < BOARD_CLIENTS; i++)
        crowded &= !is_waiting(&clients[i]);
    for (i = 0; i < BOARD_CLIENTS; i++) {
        struct client *client = &clients[i];

        if (is_waiting(client))
            client->since_us = now_us;
        else if (now_us - client->since_us > patience(client) * 1000000U)
            leave(client, client->doing == ANSWERS ? TENON_SOCK_ABORT : 0);
    }
    if (crowded)
        (void)send_idle_away(1000000, 0);
    event(NULL, 0, 0);    /* the ring of who has left may be free at once: no event tells those who wait for one */
    return 0;             /* what was asked for leaves with the next poll */
}

static void configure(struct tenon_sock_conf *conf)
{
    conf->stack.tcp_mss_min = ROOM + TIMESTAMP;
}

static int start(struct tenon_socks *unused)
{
    (void)unused;
    event(NULL, 0, 0);
    return clients[0].sk > 0 ? TENON_OK : clients[0].sk;
}

const struct app app = {"http", configure, start, event, turn, NULL};
