/* SPDX-License-Identifier: MIT */
/* The kernel's sockets under the same workloads:
 *
 *     kernel echo|sink ADDRESS PORT     serve until killed: send back, over TCP and UDP, or throw away
 *     kernel ping|bulk|connect|datagrams ADDRESS PORT CONNECTIONS BYTES MS
 *                                       one line of JSON: units, nanoseconds, CPU of this process, latencies
 *
 * `connect` opens, asks a byte, is answered it and closes, so many at a time. One thread, epoll. */
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

enum { EVENTS = 256, CHUNK = 1 << 20, CONNECTIONS_MAX = 20000, WARM_MS = 200, SAMPLES = 1 << 20 };

static unsigned char data[CHUNK];
static int poll_fd;

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

static void watch(int fd, uint32_t events)
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

    if (n == 0 || (n < 0 && errno != EAGAIN))
        close(fd);
    if (n > 0 && echo && write(fd, data, (size_t)n) != n)
        die("the peer does not read");
}

static void accept_all(int fd)
{
    int client;

    while ((client = accept(fd, NULL, NULL)) >= 0)
        watch(client, EPOLLIN);
}

static void answer_datagrams(int fd)
{
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    ssize_t n;

    while ((n = recvfrom(fd, data, sizeof data, 0, (struct sockaddr *)&from, &length)) >= 0)
        sendto(fd, data, (size_t)n, 0, (const struct sockaddr *)&from, length);
}

static int server_socket(const struct sockaddr_in *at, int type)
{
    const int fd = socket(AF_INET, type, 0), one = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (const struct sockaddr *)at, sizeof *at) != 0 || (type == SOCK_STREAM && listen(fd, 4096) != 0))
        die("bind");
    watch(fd, EPOLLIN);
    return fd;
}

static void serve(const struct sockaddr_in *at, int echo)
{
    const int listener = server_socket(at, SOCK_STREAM), datagrams = server_socket(at, SOCK_DGRAM);
    struct epoll_event events[EVENTS];

    puts("ready");
    fflush(stdout);
    for (;;) {
        const int n = epoll_wait(poll_fd, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == listener)
                accept_all(listener);
            else if (events[i].data.fd == datagrams)
                answer_datagrams(datagrams);
            else
                serve_one(events[i].data.fd, echo);
        }
    }
}

/* ---- asking ------------------------------------------------------------------------------------ */

/* What a connection waits for, by its descriptor. */
static struct {
    uint64_t asked_ns;
    unsigned got;
} ends[CONNECTIONS_MAX + 64];

static struct {
    struct sockaddr_in at;
    unsigned bytes;
    uint64_t latencies[SAMPLES];
    unsigned answered;    /* the first SAMPLES of them have a latency */
} asking;

struct kind {
    const char *name;
    int type;             /* of the socket */
    void (*begin)(int fd);
    uint64_t (*one)(int fd);    /* something happened; @return units that are done by it */
};

static void answered(int fd)
{
    if (asking.answered < SAMPLES)
        asking.latencies[asking.answered++] = clock_ns(CLOCK_MONOTONIC) - ends[fd].asked_ns;
}

static void request(int fd)
{
    ends[fd].got = 0;
    ends[fd].asked_ns = clock_ns(CLOCK_MONOTONIC);
    if (write(fd, data, asking.bytes) != (ssize_t)asking.bytes)
        die("write");
}

static void ping_begin(int fd)
{
    if (connect(fd, (const struct sockaddr *)&asking.at, sizeof asking.at) != 0)
        die("connect");
    watch(fd, EPOLLIN);
    request(fd);
}

static uint64_t ping_one(int fd)
{
    const ssize_t n = read(fd, data, asking.bytes);

    if (n <= 0)
        die("the peer has gone");
    ends[fd].got += (unsigned)n;
    if (ends[fd].got < asking.bytes)
        return 0;
    answered(fd);
    request(fd);
    return 1;
}

static void bulk_begin(int fd)
{
    if (connect(fd, (const struct sockaddr *)&asking.at, sizeof asking.at) != 0)
        die("connect");
    watch(fd, EPOLLOUT);
}

static uint64_t bulk_one(int fd)
{
    const ssize_t n = write(fd, data, asking.bytes);

    if (n < 0 && errno != EAGAIN)
        die("write");
    return n > 0 ? (uint64_t)n : 0;
}

/* The time of a connection is that from here until its answer. */
static void connect_begin(int fd)
{
    ends[fd].got = 0;
    ends[fd].asked_ns = clock_ns(CLOCK_MONOTONIC);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    if (connect(fd, (const struct sockaddr *)&asking.at, sizeof asking.at) != 0 && errno != EINPROGRESS)
        die("connect");
    watch(fd, EPOLLOUT);
}

static int open_socket(int type)
{
    const int fd = socket(AF_INET, type, 0);

    if (fd < 0 || (size_t)fd >= sizeof ends / sizeof *ends)
        die("socket");
    return fd;
}

static uint64_t connect_one(int fd)
{
    struct epoll_event event = { .events = EPOLLIN, .data = { .fd = fd } };

    if (!ends[fd].got) {
        if (write(fd, data, 1) != 1 || epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &event) != 0)
            die("connect");
        ends[fd].got = 1;
        return 0;
    }
    if (read(fd, data, 1) != 1)
        die("the peer has gone");
    answered(fd);
    close(fd);
    connect_begin(open_socket(SOCK_STREAM));
    return 1;
}

static const struct kind kinds[] = {
    { "ping", SOCK_STREAM, ping_begin, ping_one },
    { "bulk", SOCK_STREAM, bulk_begin, bulk_one },
    { "connect", SOCK_STREAM, connect_begin, connect_one },
    { "datagrams", SOCK_DGRAM, ping_begin, ping_one },
};

static uint64_t work(const struct kind *kind, uint64_t until_ns)
{
    struct epoll_event events[EVENTS];
    uint64_t units = 0;

    while (clock_ns(CLOCK_MONOTONIC) < until_ns) {
        const int n = epoll_wait(poll_fd, events, EVENTS, 1000);

        if (n == 0)
            die("nothing happens");
        for (int i = 0; i < n; i++)
            units += kind->one(events[i].data.fd);
    }
    return units;
}

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_latencies(void)
{
    if (asking.answered == 0)
        return;
    qsort(asking.latencies, asking.answered, sizeof *asking.latencies, compare);
    printf(", \"p50_ns\": %llu, \"p99_ns\": %llu", (unsigned long long)asking.latencies[asking.answered / 2],
           (unsigned long long)asking.latencies[(size_t)asking.answered * 99 / 100]);
}

static void ask(const struct kind *kind, char **words)
{
    const int connections = atoi(words[0]);
    uint64_t units, ns, cpu;

    asking.bytes = (unsigned)atoi(words[1]);
    if (connections < 1 || connections > CONNECTIONS_MAX || asking.bytes < 1 || asking.bytes > CHUNK)
        die("the numbers");
    for (int i = 0; i < connections; i++)
        kind->begin(open_socket(kind->type));
    work(kind, clock_ns(CLOCK_MONOTONIC) + WARM_MS * 1000000ULL);
    asking.answered = 0;
    puts("warm");    /* whoever counts the server's CPU time begins now */
    fflush(stdout);
    ns = clock_ns(CLOCK_MONOTONIC);
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    units = work(kind, ns + (uint64_t)atoi(words[2]) * 1000000);
    printf("{\"units\": %llu, \"wall\": %llu, \"cpu\": %llu", (unsigned long long)units,
           (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - ns),
           (unsigned long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu));
    print_latencies();
    puts("}");
}

static int usage(void)
{
    fputs("Usage: kernel echo|sink ADDRESS PORT\n"
          "       kernel ping|bulk|connect|datagrams ADDRESS PORT CONNECTIONS BYTES MS\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    const int serves = argc == 4 && (strcmp(argv[1], "echo") == 0 || strcmp(argv[1], "sink") == 0);
    const struct kind *kind = kinds, *const end = kinds + sizeof kinds / sizeof *kinds;

    while (argc == 7 && kind < end && strcmp(argv[1], kind->name) != 0)
        kind++;
    if (!serves && (argc != 7 || kind == end))
        return usage();
    asking.at = address_of(argv[2], argv[3]);
    poll_fd = epoll_create1(0);
    if (serves)
        serve(&asking.at, strcmp(argv[1], "echo") == 0);
    ask(kind, argv + 4);
    return 0;
}
