/* SPDX-License-Identifier: MIT */
/* The kernel's sockets under the same workloads:
 *
 *     kernel echo|sink ADDRESS PORT     serve until killed: send back, over TCP and UDP, or throw away
 *     kernel ping|bulk|connect|datagrams ADDRESS PORT CONNECTIONS BYTES MS [IDLE]
 *     kernel load ADDRESS PORT CONNECTIONS BYTES MS PERCENT
 *                                       one line of JSON: units, nanoseconds, CPU of this process, latencies
 *
 * `connect` opens, asks a byte, is answered it and closes, so many at a time. IDLE connections more are open
 * and say nothing. `load` asks at a constant rate, PERCENT of what was answered when there was always a
 * request waiting, whether or not it is answered in time; it looks for answers without sleeping. One thread,
 * epoll. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

enum { EVENTS = 256, CHUNK = 1 << 20, CONNECTIONS_MAX = 20000, WARM_MS = 200, SAMPLES = 1 << 20 };
enum { SECOND_NS = 1000000000 };

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
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
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

static void join(int fd, uint32_t events)
{
    if (connect(fd, (const struct sockaddr *)&asking.at, sizeof asking.at) != 0)
        die("connect");
    watch(fd, events);
}

static void ping_begin(int fd)
{
    join(fd, EPOLLIN);
    request(fd);
}

/* @return whether all of the answer is there */
static int hear(int fd)
{
    const ssize_t n = read(fd, data, asking.bytes);

    if (n <= 0)
        die("the peer has gone");
    ends[fd].got += (unsigned)n;
    if (ends[fd].got < asking.bytes)
        return 0;
    answered(fd);
    return 1;
}

static uint64_t ping_one(int fd)
{
    if (!hear(fd))
        return 0;
    request(fd);
    return 1;
}

static void bulk_begin(int fd)
{
    join(fd, EPOLLOUT);
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

/* ---- asking at a rate -------------------------------------------------------------------------- */

static struct {
    int free[CONNECTIONS_MAX];    /* a ring: the one that has waited longest is next */
    unsigned first, nfree, connections;
} load;

static void set_free(int fd)
{
    load.free[(load.first + load.nfree++) % load.connections] = fd;
}

static int take_free(void)
{
    const int fd = load.free[load.first];

    load.first = (load.first + 1) % load.connections;
    load.nfree--;
    return fd;
}

/* What has been answered until now is free again. @return how many answers that were */
static uint64_t hear_all(int wait_ms)
{
    struct epoll_event events[EVENTS];
    const int n = epoll_wait(poll_fd, events, EVENTS, wait_ms);
    uint64_t units = 0;

    for (int i = 0; i < n; i++) {
        if (!hear(events[i].data.fd))
            continue;
        set_free(events[i].data.fd);
        units++;
    }
    return units;
}

/* A request has its time, `interval_ns` after the one before; what counts is the time from there to its answer. */
static uint64_t work_at(double interval_ns, uint64_t until_ns)
{
    const uint64_t from = clock_ns(CLOCK_MONOTONIC);
    uint64_t now = from, sent = 0, units = 0;

    while (now < until_ns) {
        while (load.nfree > 0 && (double)sent * interval_ns <= (double)(now - from)) {
            const int fd = take_free();

            request(fd);
            ends[fd].asked_ns = from + (uint64_t)((double)sent++ * interval_ns);
        }
        units += hear_all(0);
        now = clock_ns(CLOCK_MONOTONIC);
    }
    return units;
}

/* All that was asked is answered. */
static void finish(void)
{
    while (load.nfree < load.connections) {
        if (hear_all(1000) == 0)
            die("nothing happens");
    }
}

/* Nanoseconds per request when there is always one waiting. */
static double full_load(void)
{
    const uint64_t from = clock_ns(CLOCK_MONOTONIC), units = work_at(0, from + WARM_MS * 1000000ULL);
    const uint64_t took = clock_ns(CLOCK_MONOTONIC) - from;

    finish();
    if (units == 0)
        die("nothing happens");
    return (double)took / (double)units;
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
    printf(", \"p50_ns\": %llu, \"p99_ns\": %llu, \"p999_ns\": %llu",
           (unsigned long long)asking.latencies[asking.answered / 2],
           (unsigned long long)asking.latencies[(size_t)asking.answered * 99 / 100],
           (unsigned long long)asking.latencies[(size_t)asking.answered * 999 / 1000]);
}

/* Whoever counts the server's CPU time begins with this line. */
static void say_warm(void)
{
    asking.answered = 0;
    puts("warm");
    fflush(stdout);
}

static void print_result(uint64_t units, uint64_t since_ns, uint64_t cpu_ns)
{
    printf("{\"units\": %llu, \"wall\": %llu, \"cpu\": %llu", (unsigned long long)units,
           (unsigned long long)(clock_ns(CLOCK_MONOTONIC) - since_ns),
           (unsigned long long)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns));
    print_latencies();
}

/* Connections may be more files than a process is given to begin with. */
static void raise_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        die("getrlimit");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        die("setrlimit");
}

static unsigned number(const char *word, unsigned least, unsigned most)
{
    const int value = atoi(word);

    errno = EDOM;
    if (value < (int)least || value > (int)most)
        die(word);
    return (unsigned)value;
}

static void ask(const struct kind *kind, unsigned connections, uint64_t ms)
{
    uint64_t ns, cpu;

    for (unsigned i = 0; i < connections; i++)
        kind->begin(open_socket(kind->type));
    work(kind, clock_ns(CLOCK_MONOTONIC) + WARM_MS * 1000000ULL);
    say_warm();
    ns = clock_ns(CLOCK_MONOTONIC);
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    print_result(work(kind, ns + ms * 1000000), ns, cpu);
    puts("}");
}

static void ask_at_a_load(unsigned connections, uint64_t ms, unsigned percent)
{
    double full;
    uint64_t ns, cpu;

    load.connections = connections;
    for (unsigned i = 0; i < connections; i++) {
        const int fd = open_socket(SOCK_STREAM);

        join(fd, EPOLLIN);
        set_free(fd);
    }
    full_load();
    full = full_load();
    say_warm();
    ns = clock_ns(CLOCK_MONOTONIC);
    cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    print_result(work_at(full * 100 / percent, ns + ms * 1000000), ns, cpu);
    printf(", \"most_per_s\": %.0f, \"offered_per_s\": %.0f}\n", SECOND_NS / full, SECOND_NS / full * percent / 100);
}

static void stay_idle(unsigned connections)
{
    for (unsigned i = 0; i < connections; i++)
        join(open_socket(SOCK_STREAM), EPOLLIN);
}

static int usage(void)
{
    fputs("Usage: kernel echo|sink ADDRESS PORT\n"
          "       kernel ping|bulk|connect|datagrams ADDRESS PORT CONNECTIONS BYTES MS [IDLE]\n"
          "       kernel load ADDRESS PORT CONNECTIONS BYTES MS PERCENT\n",
          stderr);
    return 2;
}

static const struct kind *kind_of(const char *name)
{
    for (const struct kind *kind = kinds; kind < kinds + sizeof kinds / sizeof *kinds; kind++) {
        if (strcmp(name, kind->name) == 0)
            return kind;
    }
    return NULL;
}

static int client(int argc, char **argv)
{
    const int loads = argc == 8 && strcmp(argv[1], "load") == 0;
    const struct kind *const kind = argc == 7 || argc == 8 ? kind_of(argv[1]) : NULL;
    unsigned connections, ms;

    if (!loads && !kind)
        return usage();
    connections = number(argv[4], 1, CONNECTIONS_MAX);
    asking.bytes = number(argv[5], 1, CHUNK);
    ms = number(argv[6], 1, 3600000);
    if (loads) {
        ask_at_a_load(connections, ms, number(argv[7], 1, 1000));
        return 0;
    }
    stay_idle(argc == 8 ? number(argv[7], 0, CONNECTIONS_MAX - connections) : 0);
    ask(kind, connections, ms);
    return 0;
}

int main(int argc, char **argv)
{
    const int serves = argc == 4 && (strcmp(argv[1], "echo") == 0 || strcmp(argv[1], "sink") == 0);

    if (argc < 4)
        return usage();
    raise_limit();
    asking.at = address_of(argv[2], argv[3]);
    poll_fd = epoll_create1(0);
    if (!serves)
        return client(argc, argv);
    serve(&asking.at, strcmp(argv[1], "echo") == 0);
    return 0;
}
