/* SPDX-License-Identifier: MIT */
/* A TCP client on a serial line: IP packets in SLIP (RFC 1055), no Ethernet, no ARP, no router. What stands in standard
 * input goes to the peer, what it sends comes out of standard output.
 *
 *     serial FD OWN PEER PORT      e.g. serial 3 192.168.7.2 192.168.7.1 7  3<>/dev/ttyS1
 *
 * It asks so little of the stack that it runs on the smallest build ("tiny" in docs/guide/small.md) as on the whole. */
#include <tenon/tenon.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MTU = 1006, BUFFER_BYTES = MTU + 64 };
enum { END = 0xC0, ESC = 0xDB, ESC_END = 0xDC, ESC_ESC = 0xDD };

struct line {
    int fd;
    struct tenon_buf *packet;    /* what has come of the next one; NULL: nothing */
    unsigned bytes;
    int escaped, spoilt;
};

struct session {
    struct tenon_tcp *conn;
    int opened, ended, why;
};

/* ---- the five functions ----------------------------------------------------------------------------- */

static void *mem_get(void *host, size_t bytes)
{
    (void)host;
    return malloc(bytes);
}

static void mem_put(void *host, void *mem, size_t bytes)
{
    (void)host;
    (void)bytes;
    free(mem);
}

static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    return getentropy(bytes, n);
}

static void packet_end(struct tenon_buf *buf)
{
    free(buf);
}

static unsigned buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    unsigned i;

    (void)host;
    for (i = 0; i < n && (bufs[i] = malloc(sizeof(**bufs) + BUFFER_BYTES)) != NULL; i++) {
        const struct tenon_buf fresh = { (tenon_u8 *)(bufs[i] + 1), BUFFER_BYTES, 1, packet_end };

        *bufs[i] = fresh;
    }
    return i;
}

static tenon_u8 *put_byte(tenon_u8 *at, tenon_u8 byte)
{
    if (byte == END || byte == ESC) {
        *at++ = ESC;
        byte = byte == END ? ESC_END : ESC_ESC;
    }
    *at++ = byte;
    return at;
}

/* An END before the packet too: it ends what noise has left on the line. */
static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    const struct line *line = host;
    tenon_u8 bytes[2 * BUFFER_BYTES + 2];
    unsigned i;

    (void)netif;
    for (i = 0; i < n; i++) {
        const struct tenon_span *span = frames[i].spans;    /* gather_max is 1: the only one */
        tenon_u8 *at = bytes, *from;
        tenon_u32 k;

        *at++ = END;
        for (k = 0; k < span->len; k++)
            at = put_byte(at, tenon_span_data(span)[k]);
        *at++ = END;
        for (from = bytes; from < at;) {
            const ssize_t done = write(line->fd, from, (size_t)(at - from));

            if (done < 0)
                return n;    /* the line is gone: so are the packets, as on any line */
            from += done;
        }
    }
    return n;
}

static const struct tenon_host host_ops = { TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy };

/* ---- what comes in ------------------------------------------------------------------------------------ */

static tenon_u32 now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (tenon_u32)now.tv_sec * 1000000U + (tenon_u32)(now.tv_nsec / 1000);
}

static void packet_is_whole(struct line *line, struct tenon *stack)
{
    struct tenon_span span = { NULL, 0, 0 };
    struct tenon_frame frame;

    span.buf = line->packet;
    span.len = line->bytes;
    memset(&frame, 0, sizeof(frame));
    frame.spans = &span;
    frame.nspans = 1;
    if (span.len > 0 && !line->spoilt)
        (void)tenon_input(stack, 1, &frame, 1, now_us());
    if (line->packet != NULL)
        tenon_buf_put(line->packet);
    line->packet = NULL;
    line->bytes = 0;
    line->spoilt = 0;
}

static void byte_comes(struct line *line, struct tenon *stack, tenon_u8 byte)
{
    if (byte == END) {
        line->escaped = 0;
        packet_is_whole(line, stack);
        return;
    }
    if (byte == ESC) {
        line->escaped = 1;
        return;
    }
    if (line->escaped && byte != ESC_END && byte != ESC_ESC)
        line->spoilt = 1;
    if (line->escaped)
        byte = byte == ESC_END ? END : ESC;
    line->escaped = 0;
    if (line->packet == NULL && buf_get(NULL, &line->packet, 1) == 0)
        line->packet = NULL;
    if (line->packet == NULL || line->bytes == BUFFER_BYTES)
        line->spoilt = 1;    /* no memory, or no end: nothing of it is taken */
    else
        line->packet->data[line->bytes++] = byte;
}

/* ---- the application ------------------------------------------------------------------------------------- */

static void opened(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    ((struct session *)app)->opened = 1;
}

/* What was taken is in the output when it is consumed: nothing waits for more, and no loss goes unsaid. */
static void received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    unsigned i;

    (void)app;
    for (i = 0; i < n; i++) {
        if (fwrite(tenon_span_data(&spans[i]), 1, spans[i].len, stdout) != spans[i].len || fflush(stdout) != 0) {
            fprintf(stderr, "serial: standard output takes no more\n");
            tenon_tcp_abort(conn);
            return;
        }
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void closed(struct tenon_tcp *conn, void *app, int why)
{
    struct session *session = app;

    (void)conn;
    session->ended = 1;
    session->why = why;
}

/* The peer has said its last word; we go on until standard input ends. */
static void finished(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    (void)app;
}

static const struct tenon_tcp_events events = { .opened = opened, .received = received, .finished = finished,
                                                .closed = closed };

/* @return 0: standard input has ended */
static int send_some(struct tenon_tcp *conn)
{
    char bytes[512];
    const tenon_u32 room = tenon_tcp_room(conn);
    const ssize_t n = read(STDIN_FILENO, bytes, room < sizeof(bytes) ? room : sizeof(bytes));

    if (n > 0 && tenon_tcp_write(conn, bytes, (tenon_u32)n) == (tenon_i32)n)
        return 1;
    if (n != 0) {    /* an end would tell the peer that this was all */
        fprintf(stderr, "serial: %s\n", n > 0 ? "no memory for what is to be sent" : "standard input cannot be read");
        tenon_tcp_abort(conn);
        return 0;
    }
    (void)tenon_tcp_finish(conn);
    return 0;
}

/* Until the connection has ended. */
static void run(struct tenon *stack, struct line *line, struct session *session)
{
    int more = 1;

    while (!session->ended) {
        const int ms = (int)(tenon_poll(stack, now_us()) / 1000) + 1;
        const int wants = more && session->opened && !session->ended && tenon_tcp_room(session->conn) > 0;
        struct pollfd ready[2] = { { line->fd, POLLIN, 0 }, { wants ? STDIN_FILENO : -1, POLLIN, 0 } };
        tenon_u8 bytes[256];
        ssize_t n = 0, i;

        if (session->ended || poll(ready, 2, ms) < 1)
            continue;
        if (ready[0].revents != 0)
            n = read(line->fd, bytes, sizeof(bytes));
        if (ready[0].revents != 0 && n < 1) {
            fprintf(stderr, "serial: the line is gone\n");
            return;
        }
        for (i = 0; i < n; i++)
            byte_comes(line, stack, bytes[i]);
        if (!session->ended && ready[1].revents != 0)
            more = send_some(session->conn);
    }
}

/* @return -1: it is no number from 0 to 65535 */
static int number(const char *text)
{
    char *end;
    const long n = strtol(text, &end, 10);

    return *text != '\0' && *end == '\0' && n >= 0 && n <= 65535 ? (int)n : -1;
}

static int is_address(struct tenon_ip *ip, const char *text)
{
    return tenon_ip_parse(ip, text) == (int)strlen(text);
}

static int usage(const char *what)
{
    fprintf(stderr, "serial: %s\nusage: serial FD OWN PEER PORT\n", what);
    return 2;
}

int main(int argc, char **argv)
{
    struct tenon_netif_conf netif = { .mtu = MTU, .caps = TENON_CAP_NO_LINK, .gather_max = 1 };
    struct line line = { .fd = -1 };
    struct session session = { 0 };
    struct termios raw;
    struct tenon_addr peer = { 0 };
    struct tenon_conf conf;
    struct tenon_ip own;
    struct tenon *stack;
    void *mem;
    int error;

    if (argc != 5)
        return usage("there are four arguments");
    line.fd = number(argv[1]);
    if (fcntl(line.fd, F_GETFL) < 0)
        return usage("FD is no descriptor that is open");
    if (!is_address(&own, argv[2]) || !is_address(&peer.ip, argv[3]))
        return usage("OWN and PEER are addresses, as 192.168.7.2 is");
    if (number(argv[4]) < 1)
        return usage("PORT is a number from 1 to 65535");
    peer.port = (tenon_u16)number(argv[4]);
    if (tcgetattr(line.fd, &raw) == 0) {    /* a terminal: every byte as it is */
        cfmakeraw(&raw);
        (void)tcsetattr(line.fd, TCSANOW, &raw);
    }
    tenon_conf_default(&conf);
    conf.tcp_conns_max = 2;
    mem = malloc(tenon_mem_size(&conf));
    stack = mem == NULL ? NULL : tenon_init(mem, &conf, &host_ops, &line);
    if (stack == NULL) {
        fprintf(stderr, "serial: no memory, or no random numbers\n");
        return 1;
    }
    (void)tenon_poll(stack, now_us());
    if (tenon_netif_add(stack, &netif) != 1 || tenon_addr_add(stack, 1, &own, 24) != TENON_OK)
        return usage("OWN cannot be ours");
    error = tenon_tcp_connect(stack, &session.conn, NULL, &peer, &events, &session);
    if (error != TENON_OK) {
        fprintf(stderr, "serial: no connection to %s: %s\n", argv[3], tenon_error_text(error));
        return 1;
    }
    run(stack, &line, &session);
    if (session.ended && session.why != TENON_OK)
        fprintf(stderr, "serial: the connection has ended: %s\n", tenon_error_text(session.why));
    tenon_fini(stack);
    if (line.packet != NULL)
        tenon_buf_put(line.packet);
    free(mem);
    return session.ended && session.why == TENON_OK ? 0 : 1;
}
