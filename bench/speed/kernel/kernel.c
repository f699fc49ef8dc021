/* SPDX-License-Identifier: MIT */
/* The kernel's sockets under the same workloads:
 *
 *     kernel echo|sink ADDRESS PORT                        serve until killed: send back, or throw away
 *     kernel ping|bulk ADDRESS PORT CONNECTIONS BYTES MS   one line of JSON: units, nanoseconds, CPU of this process
 *
 * One thread, epoll. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

enum { EVENTS = 256, CHUNK = 1 << 20, CONNECTIONS_MAX = 20000, WARM_MS = 200 };

static unsigned char data[CHUNK];
static unsigned got[CONNECTIONS_MAX + 64];    /* by descriptor */

__attribute__((noreturn)) static void die(const char *what)
{
    fprintf(stderr, "kernel: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct sockaddr_in address_of(const char *host, const char *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

    if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
        die(host);
    return at;
}

static void watch(int poll_fd, int fd, uint32_t events)
{
    struct epoll_event event = { .events = events, .data = { .fd = fd } };
    const int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        die("epoll_ctl");
}

/* ---- serving ----------------------------------------------------------------------------------- */

static void serve_one(int fd, int echo)
{
    const ssize_t n = read(fd, data, sizeof data);

    if (n <= 0 && errno != EAGAIN)
        close(fd);
    if (n > 0 && echo && write(fd, data, (size_t)n) != n)
        die("the peer does not read");
}

static void serve(const struct sockaddr_in *at, int echo)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0), poll_fd = epoll_create1(0), one = 1;
    struct epoll_event events[EVENTS];

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)at, sizeof *at) != 0 || listen(fd, 4096) != 0)
        die("bind");
    watch(poll_fd, fd, EPOLLIN);
    puts("ready");
    fflush(stdout);
    for (;;) {
        const int n = epoll_wait(poll_fd, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.fd != fd) {
                serve_one(events[i].data.fd, echo);
                continue;
            }
            for (int client = accept(fd, NULL, NULL); client >= 0; client = accept(fd, NULL, NULL))
                watch(poll_fd, client, EPOLLIN);
        }
    }
}

/* ---- asking ------------------------------------------------------------------------------------ */

static uint64_t ping_one(int fd, unsigned bytes)
{
    const ssize_t n = read(fd, data, bytes);

    if (n <= 0)
        die("the peer has gone");
    got[fd] += (unsigned)n;
    if (got[fd] < bytes)
        return 0;
    got[fd] = 0;
    if (write(fd, data, bytes) != (ssize_t)bytes)
        die("write");
    return 1;
}

static uint64_t bulk_one(int fd, unsigned bytes)
{
    const ssize_t n = write(fd, data, bytes);

    if (n < 0 && errno != EAGAIN)
        die("write");
    return n > 0 ? (uint64_t)n : 0;
}

static uint64_t work(int poll_fd, int ping, unsigned bytes, uint64_t until_ns)
{
    struct epoll_event events[EVENTS];
    uint64_t units = 0;

    while (clock_ns(CLOCK_MONOTONIC) < until_ns) {
        const int n = epoll_wait(poll_fd, events, EVENTS, 1000);

        if (n == 0)
            die("nothing happens");
        for (int i = 0; i < n; i++)
            units += ping ? ping_one(events[i].data.fd, bytes) : bulk_one(events[i].data.fd, bytes);
    }
    return units;
}

static void ask(const struct sockaddr_in *at, int ping, char **words)
{
    const int connections = atoi(words[0]), poll_fd = epoll_create1(0);
    const unsigned bytes = (unsigned)atoi(words[1]);
    uint64_t units, ns, cpu;

    if (connections < 1 || connections > CONNECTIONS_MAX || bytes < 1 || bytes > CHUNK)
        die("the numbers");
    for (int i = 0; i < connections; i++) {
        const int fd = socket(AF_INET, SOCK_STREAM, 0);

        if (connect(fd, (const struct sockaddr *)at, sizeof *at) != 0)
            die("connect");
        watch(poll_fd, fd, ping ? EPOLLIN : EPOLLOUT);
        if (ping && write(fd, data, bytes) != (ssize_t)bytes)
            die("write");
    }
    work(poll_fd, ping, bytes, clock_ns(CLOCK_MONOTONIC) + WARM_MS * 1000000ULL);
    puts("warm");    /* whoever counts the server's CPU time begins now */
    fflush(stdout);
    ns = clock_ns(CLOCK_MONOTONIC);
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    units = work(poll_fd, ping, bytes, ns + (uint64_t)atoi(words[2]) * 1000000);
    printf("{\"units\": %llu, \"wall\": %llu, \"cpu\": %llu}\n", (unsigned long long)units,
           (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - ns),
           (unsigned long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu));
}

int main(int argc, char **argv)
{
    const int serves = argc == 4 && (strcmp(argv[1], "echo") == 0 || strcmp(argv[1], "sink") == 0);
    const int asks = argc == 7 && (strcmp(argv[1], "ping") == 0 || strcmp(argv[1], "bulk") == 0);
    struct sockaddr_in at;

    if (!serves && !asks) {
        fputs(
            "Usage: kernel echo|sink ADDRESS PORT\n       kernel ping|bulk ADDRESS PORT CONNECTIONS BYTES MS\n",
            stderr);
        return 2;
    }
    at = address_of(argv[2], argv[3]);
    if (serves)
        serve(&at, strcmp(argv[1], "echo") == 0);
    ask(&at, strcmp(argv[1], "ping") == 0, argv + 4);
    return 0;
}
