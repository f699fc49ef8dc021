/* SPDX-License-Identifier: MIT */
/* An interface with several queues: one port, one instance and one thread for each, all with the same
 * addresses. The kernel at the other end of the veth pair spreads its connections. */
#include "xdp_net.h"

#include <pthread.h>
#include <stdatomic.h>

#include <netinet/in.h>

enum { QUEUES = 3, CONNECTIONS = 60, BYTES = 20000, PORT = 7 };

static atomic_int stop;

struct queue {
    struct side side;
    pthread_t thread;
    unsigned connections;
};

static void echo_opened(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    ((struct queue *)app)->connections++;
}

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    (void)app;
    for (unsigned i = 0; i < n; i++)
        (void)tenon_tcp_send(conn, &spans[i]);
}

static void echo_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)app;
    tenon_tcp_consumed(conn, bytes);
}

static const struct tenon_tcp_events echo = { .opened = echo_opened, .received = echo_received, .acked = echo_acked };

static void *run(void *arg)
{
    struct queue *queue = arg;

    while (!atomic_load(&stop))
        (void)side_run(&queue->side);
    return NULL;
}

/* ARP comes to one queue: the others have to be told. */
static void set_neighbour(struct queue *queue)
{
    const struct tenon_ip kernel = tenon_ip4(0x0A4E0001);
    struct ifreq request = { .ifr_name = "v0k" };
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    CHECK_EQ_I(ioctl(fd, SIOCGIFHWADDR, &request), 0);
    close(fd);
    CHECK_EQ_I(tenon_neighbour_set(queue->side.stack, queue->side.netif, &kernel,
                                   (const tenon_u8 *)request.ifr_hwaddr.sa_data),
               TENON_OK);
}

static void queue_start(struct queue *queue, unsigned number)
{
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    char settings[60];

    snprintf(settings, sizeof settings, "queues=%d,queue=%u", QUEUES, number);
    if (!side_open(&queue->side, "v0", 0, settings))
        exit(1);
    set_neighbour(queue);
    memset(&at, 0, sizeof at);
    at.port = PORT;
    CHECK_EQ_I(tenon_tcp_listen(queue->side.stack, &listener, &at, &echo, queue, 0), TENON_OK);
    CHECK_EQ_I(pthread_create(&queue->thread, NULL, run, queue), 0);
}

/* One connection of the kernel's. @return how many bytes have come back right */
static size_t converse(unsigned number)
{
    const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT),
                                    .sin_addr.s_addr = htonl(0x0A4E0002) };
    const struct timeval limit = { 10, 0 };
    static unsigned char out[BYTES], in[BYTES];
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t got = 0;
    ssize_t n = 1;

    for (size_t i = 0; i < BYTES; i++)
        out[i] = (unsigned char)(i * 7 + number);
    CHECK_EQ_I(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    CHECK_EQ_I(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof to), 0);
    CHECK_EQ_I(send(fd, out, BYTES, MSG_NOSIGNAL), BYTES);
    while (got < BYTES && n > 0) {
        n = recv(fd, in + got, BYTES - got, 0);
        got += n > 0 ? (size_t)n : 0;
    }
    CHECK_EQ_MEM(in, out, BYTES);
    close(fd);
    return got;
}

UNIT_TEST(connections_are_spread_over_queues_and_threads)
{
    static struct queue queues[QUEUES];
    unsigned connections = 0;

    make_pair("v0", 0, 1500, QUEUES);
    CHECK(sh("ethtool -K v0k tx off >/dev/null"));
    for (unsigned i = 0; i < QUEUES; i++)
        queue_start(&queues[i], i);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        CHECK_EQ_U(converse(i), BYTES);
    atomic_store(&stop, 1);
    for (unsigned i = 0; i < QUEUES; i++) {
        CHECK_EQ_I(pthread_join(queues[i].thread, NULL), 0);
        connections += queues[i].connections;
        CHECK(queues[i].connections > CONNECTIONS / QUEUES / 5);
        CHECK_EQ_U(tenon_stat(queues[i].side.stack, TENON_STAT_TCP_NO_CONNECTION), 0);
        side_close(&queues[i].side);
    }
    CHECK_EQ_U(connections, CONNECTIONS);
    remove_pair("v0");
}

int main(void)
{
    if (!own_namespace())
        return 0;
    UNIT_RUN(connections_are_spread_over_queues_and_threads);
    return unit_end();
}
