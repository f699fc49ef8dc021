/* SPDX-License-Identifier: MIT */
/* The kernel's part in the comparison of senders.
 *
 *     kernel receive PORT SECONDS    accept one connection, read, and hang up after SECONDS
 *     kernel send ADDRESS PORT CC    connect with this congestion control, send until the peer hangs up
 *     kernel pattern                 the same bytes to stdout
 *
 * All senders send the same bytes: number i of the stream is i modulo 251. The receiver looks at every one
 * of them. It says "ready" when it listens, and at the end one line of JSON: the bytes and how many there
 * were after each tenth of a second, counted from the connection. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

enum {
    PERIOD = 251,
    CHUNK = 64 * 1024,
    STEP_MS = 100,
    STEPS_MAX = 6000,
    ACCEPT_MS = 30000
};

static unsigned char pattern[CHUNK + PERIOD];

struct reading {
    int fd;
    uint64_t bytes, end_ns, begin_ns;
    int wrong; /* a byte was not what it should be */
    unsigned steps;
    uint64_t after[STEPS_MAX];
};

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "kernel: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void make_pattern(void)
{
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(i % PERIOD);
}

static double number(const char *text, double most)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != 0 || !(value > 0) || value > most) {
        fprintf(stderr, "kernel: '%s' is not a number above 0 and up to %g\n", text, most);
        exit(2);
    }
    return value;
}

/* ---- receive --------------------------------------------------------------------------------- */

static int wait_for(int fd, uint64_t until_ns)
{
    struct pollfd poll_fd = { fd, POLLIN, 0 };
    uint64_t now = now_ns();
    struct timespec wait;

    if (now >= until_ns)
        return 0;
    wait.tv_sec = (time_t)((until_ns - now) / 1000000000);
    wait.tv_nsec = (long)((until_ns - now) % 1000000000);
    return ppoll(&poll_fd, 1, &wait, NULL) > 0;
}

static int accept_one(unsigned port)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0), conn, one = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0)
        die("socket");
    if (bind(fd, (struct sockaddr *)&here, sizeof here) != 0 || listen(fd, 1) != 0)
        die("listen");
    puts("ready");
    fflush(stdout);
    if (!wait_for(fd, now_ns() + (uint64_t)ACCEPT_MS * 1000000)) {
        fprintf(stderr, "kernel: nobody has connected in %d s\n", ACCEPT_MS / 1000);
        exit(1);
    }
    conn = accept(fd, NULL, NULL);
    if (conn < 0)
        die("accept");
    close(fd);
    return conn;
}

/* Fill in the steps that have ended before `now`. */
static void note_steps(struct reading *reading, uint64_t now)
{
    while (reading->steps < STEPS_MAX &&
           now - reading->begin_ns >= (uint64_t)(reading->steps + 1) * STEP_MS * 1000000)
        reading->after[reading->steps++] = reading->bytes;
}

/* @return 0: the sender has ended the connection */
static int read_some(struct reading *reading)
{
    static unsigned char data[CHUNK];
    ssize_t n = recv(reading->fd, data, sizeof data, MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return 0;
    note_steps(reading, now_ns());
    if (memcmp(data, pattern + reading->bytes % PERIOD, (size_t)n) != 0)
        reading->wrong = 1;
    reading->bytes += (uint64_t)n;
    return 1;
}

static void print_reading(const struct reading *reading, int ended, double seconds)
{
    printf("{\"bytes\": %llu, \"seconds\": %.6f, \"wrong\": %s, \"ended_by\": \"%s\", \"steps\": [",
           (unsigned long long)reading->bytes, seconds, reading->wrong ? "true" : "false", ended ? "sender" : "time");
    for (unsigned i = 0; i < reading->steps; i++)
        printf("%s%llu", i > 0 ? ", " : "", (unsigned long long)reading->after[i]);
    puts("]}");
}

static int receive(unsigned port, double seconds)
{
    static struct reading reading;
    struct linger hard = { 1, 0 };
    int ended = 0;
    uint64_t now;

    reading.fd = accept_one(port);
    reading.begin_ns = now_ns();
    reading.end_ns = reading.begin_ns + (uint64_t)(seconds * 1e9);
    while (!ended && (now = now_ns()) < reading.end_ns) {
        note_steps(&reading, now);
        if (wait_for(reading.fd, reading.end_ns))
            ended = !read_some(&reading);
    }
    now = now_ns();
    note_steps(&reading, now < reading.end_ns ? now : reading.end_ns);
    setsockopt(reading.fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard); /* a reset: the sender stops at once */
    close(reading.fd);
    print_reading(&reading, ended, (double)(now - reading.begin_ns) / 1e9);
    return 0;
}

/* ---- send ------------------------------------------------------------------------------------ */

static int connect_to(const char *address, unsigned port, const char *cc)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0)
        die("socket");
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) {
        fprintf(stderr, "kernel: '%s' is not an IPv4 address\n", address);
        exit(2);
    }
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, (socklen_t)strlen(cc)) != 0)
        die(cc);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        die("connect");
    return fd;
}

/* Until the other side hangs up, which is how every run ends. */
static int send_pattern(int fd)
{
    size_t at = 0;

    for (;;) {
        ssize_t n = write(fd, pattern + at, CHUNK);

        if (n > 0)
            at = (at + (size_t)n) % PERIOD;
        else if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 0;
        else if (n < 0 && errno != EINTR)
            die("write");
    }
}

int main(int argc, char **argv)
{
    make_pattern();
    signal(SIGPIPE, SIG_IGN);
    if (argc == 4 && strcmp(argv[1], "receive") == 0)
        return receive((unsigned)number(argv[2], 65535), number(argv[3], (double)STEPS_MAX * STEP_MS / 1000));
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        return send_pattern(connect_to(argv[2], (unsigned)number(argv[3], 65535), argv[4]));
    if (argc == 2 && strcmp(argv[1], "pattern") == 0)
        return send_pattern(STDOUT_FILENO);
    fputs("Usage: kernel receive PORT SECONDS | kernel send ADDRESS PORT CC | kernel pattern\n", stderr);
    return 2;
}
