/* SPDX-License-Identifier: MIT */
/* Several instances of Tenon with the same address: one for each queue of a port, in a thread of its own. They
 * share nothing. Each echoes what comes to its queue, or opens connections to an echo server and sends all of
 * them the same bytes, which lie in memory once.
 *
 * The kernel chooses the queue by the hash that NICs have (as root), and each instance opens connections from
 * ports for which the answers come to it (tenon/flow.h). A virtual machine's or container's end (the last of the ports
 * below) gets answers at the queue by which it has asked.
 *
 *     queues PORT ADDRESS/BITS QUEUES                         an echo server on port 7, until it is interrupted
 *     queues PORT ADDRESS/BITS QUEUES PEER PORT COUNT BYTES   COUNT connections from each instance
 *
 * At the end it prints a line for each instance. PORT is one of
 *     tap:tap0                   made by: ip tuntap add dev tap0 mode tap multi_queue
 *     packet:eth0,fanout=flow
 *     dpdk:{net_virtio_user0,path=SOCKET,queues=QUEUES} */
#include "ports/common/built.h"
#include "ports/common/sharedbuf.h"
#include "ports/tap/tap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <net/if.h>

enum { QUEUES_MAX = 64, PORT = 7, WAIT_MS = 50, TABLE = 128, NOT_PERMITTED = 77 };

/* What is the same for all; only read once the threads run. */
static struct {
    struct port_choice port;
    struct tenon_ip ip;
    unsigned bits, queues;
    struct tenon_addr peer;       /* port 0: serve */
    unsigned count;
    tenon_u32 bytes;
    tenon_u8 *text;
    tenon_u8 kernels_mac[6];
    struct tenon_ip kernel;
    tenon_u16 table[TABLE];       /* of queues, as the kernel has it */
} job;

static atomic_int stop;

struct instance {
    unsigned number;
    struct port *port;
    struct tenon_flow flow;
    struct tenon *stack;
    unsigned netif;
    struct tenon_buf *view;       /* of the text */
    unsigned connections, ended, wrong;
    unsigned long received;
};

/* One that we have opened. */
struct ours {
    struct instance *instance;
    tenon_u32 received;
};

static void fail(const char *what)
{
    fprintf(stderr, "queues: %s\n", what);
    exit(1);
}

/* ---- the server: what comes goes back, from the buffers in which it came --------------------------- */

static void echo_opened(struct tenon_tcp *conn, void *app)
{
    (void)conn;
    ((struct instance *)app)->connections++;
}

static void echo_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct instance *instance = app;

    for (unsigned i = 0; i < n; i++) {
        if (tenon_tcp_send(conn, &spans[i]) != TENON_OK) {
            tenon_tcp_abort(conn);
            return;
        }
        instance->received += spans[i].len;
    }
}

static void echo_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)app;
    tenon_tcp_consumed(conn, bytes);
}

static void echo_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct instance *instance = app;

    (void)conn;
    instance->ended++;
    instance->wrong += why != TENON_OK && why != TENON_EABORTED;
}

static const struct tenon_tcp_events echo_events = { .opened = echo_opened, .received = echo_received,
    .acked = echo_acked, .closed = echo_closed };

/* ---- the client ------------------------------------------------------------------------------------ */

static void our_opened(struct tenon_tcp *conn, void *app)
{
    struct instance *instance = ((struct ours *)app)->instance;
    const struct tenon_span span = { instance->view, 0, job.bytes };

    instance->connections++;
    (void)tenon_tcp_set(conn, TENON_TCP_SND_BUF, job.bytes);    /* all of it at once: it takes no memory */
    if (tenon_tcp_send(conn, &span) != TENON_OK || tenon_tcp_finish(conn) != TENON_OK)
        instance->wrong++;
}

static void our_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct ours *ours = app;

    for (unsigned i = 0; i < n; i++) {
        if (ours->received + spans[i].len > job.bytes ||
            memcmp(job.text + ours->received, tenon_span_data(&spans[i]), spans[i].len) != 0)
            ours->instance->wrong++;
        ours->received += spans[i].len;
        ours->instance->received += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void our_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct ours *ours = app;

    (void)conn;
    ours->instance->ended++;
    ours->instance->wrong += why != TENON_OK || ours->received != job.bytes;
    free(ours);
}

static const struct tenon_tcp_events our_events = { .opened = our_opened, .received = our_received,
    .closed = our_closed };

static void open_connections(struct instance *instance)
{
    for (unsigned i = 0; i < job.count; i++) {
        struct ours *ours = calloc(1, sizeof *ours);
        struct tenon_tcp *conn;

        if (ours == NULL)
            fail("no memory");
        ours->instance = instance;
        if (tenon_tcp_connect(instance->stack, &conn, NULL, &job.peer, &our_events, ours) != TENON_OK)
            fail("cannot connect");
    }
}

/* ---- an instance ----------------------------------------------------------------------------------- */

static void instance_open(struct instance *instance)
{
    const struct port_type *type = job.port.type;
    struct port_conf port = job.port.conf;
    struct tenon_netif_conf netif;
    struct tenon_conf conf;
    char error[300] = "";
    int number;

    port.queues = job.queues;
    port.queue = instance->number;
    instance->port = port_open(type, &port, error, sizeof error);
    if (instance->port == NULL)
        fail(error);
    tenon_conf_default(&conf);
    if (tenon_flow_init(&instance->flow, tenon_flow_key_microsoft, job.table, TABLE, instance->number) != TENON_OK)
        fail("no such queue");
    conf.tcp_ports = &instance->flow.filter;
    instance->stack = tenon_init(malloc(tenon_mem_size(&conf)), &conf, type->host, instance->port);
    if (instance->stack == NULL)
        fail("no instance");
    port_netif_conf(instance->port, &netif);    /* the same Ethernet address for all queues */
    netif.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    number = tenon_netif_add(instance->stack, &netif);
    if (number < 0 || tenon_addr_add(instance->stack, (unsigned)number, &job.ip, job.bits) != TENON_OK)
        fail("not an address for this interface");
    if (type == &tap_port_type &&
        tenon_neighbour_set(instance->stack, (unsigned)number, &job.kernel, job.kernels_mac) != TENON_OK)
        fail("no neighbour");
    instance->netif = (unsigned)number;
}

static void *instance_run(void *arg)
{
    struct instance *instance = arg;
    struct tenon_tcp_listener *listener;
    struct tenon_addr at = { .port = PORT };

    if (job.peer.port != 0)
        open_connections(instance);
    else if (tenon_tcp_listen(instance->stack, &listener, &at, &echo_events, instance, 1024) != TENON_OK)
        fail("cannot listen");
    while (!stop && (job.peer.port == 0 || instance->ended < job.count)) {
        const tenon_u32 wait_ms = tenon_poll(instance->stack, port_now_us()) / 1000 + 1;
        struct pollfd ready = { port_fd(instance->port), POLLIN, 0 };

        (void)poll(&ready, 1, ready.fd < 0 ? 0 : (int)(wait_ms < WAIT_MS ? wait_ms : WAIT_MS));
        while (port_receive(instance->port, instance->stack, instance->netif, port_now_us()) == 32)
            ;
    }
    (void)tenon_poll(instance->stack, port_now_us());
    return NULL;
}

static int instance_end(struct instance *instance)
{
    printf("queue %u: %u connections, %u ended, %lu bytes, %u wrong, %lu segments of no connection\n",
           instance->number, instance->connections, instance->ended, instance->received, instance->wrong,
           (unsigned long)tenon_stat(instance->stack, TENON_STAT_TCP_NO_CONNECTION));
    tenon_fini(instance->stack);
    if (instance->view != NULL)
        tenon_buf_put(instance->view);
    port_close(instance->port);
    return instance->wrong != 0;
}

/* The kernel's end of a TAP cable: its Ethernet address and its IPv4 address. It is the only neighbour, and we know it:
 * nobody has to ask by ARP, and gets the answer at the wrong queue. */
static void ask_interface(void)
{
    struct ifreq request;
    tenon_u8 ip[4];
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    memset(&request, 0, sizeof request);
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", job.port.conf.name);
    if (ioctl(fd, SIOCGIFHWADDR, &request) != 0)
        fail("there is no such interface");
    memcpy(job.kernels_mac, request.ifr_hwaddr.sa_data, 6);
    if (ioctl(fd, SIOCGIFADDR, &request) != 0)
        fail("the interface has no IPv4 address");
    memcpy(ip, request.ifr_addr.sa_data + 2, 4);
    job.kernel = tenon_ip4_bytes(ip[0], ip[1], ip[2], ip[3]);
    close(fd);
}

/* ---- the program ----------------------------------------------------------------------------------- */

static void interrupted(int number)
{
    (void)number;
    stop = 1;
}

static void text_release(void *arg, tenon_u8 *bytes)
{
    (void)arg;
    free(bytes);
}

static void read_job(int argc, char **argv)
{
    char *slash = argc > 2 ? strchr(argv[2], '/') : NULL;
    char error[600];

    if ((argc != 4 && argc != 8) || slash == NULL)
        fail("usage: queues KIND:INTERFACE ADDRESS/BITS QUEUES [PEER PORT COUNT BYTES]");
    if (port_read(&job.port, ports_built, argv[1], error, sizeof error) != 0)
        fail(error);
    *slash = 0;
    job.bits = (unsigned)atoi(slash + 1);
    job.queues = (unsigned)atoi(argv[3]);
    if (tenon_ip_parse(&job.ip, argv[2]) < 0 || job.queues < 2 || job.queues > QUEUES_MAX)
        fail("that is no address, or no number of queues");
    if (argc == 4)
        return;
    job.peer.port = (tenon_u16)atoi(argv[5]);
    job.count = (unsigned)atoi(argv[6]);
    job.bytes = (tenon_u32)atoi(argv[7]);
    if (tenon_ip_parse(&job.peer.ip, argv[4]) < 0 || job.peer.port == 0)
        fail("that is no peer");
}

static struct sharedbuf *make_text(void)
{
    struct sharedbuf *shared;

    job.text = malloc(job.bytes + 1);
    shared = job.text != NULL ? sharedbuf_new(job.text, job.bytes, text_release, NULL) : NULL;
    if (shared == NULL)
        fail("no memory");
    for (tenon_u32 i = 0; i < job.bytes; i++)
        job.text[i] = (tenon_u8)(i * 2654435761U >> 24);
    return shared;
}

int main(int argc, char **argv)
{
    static struct instance instances[QUEUES_MAX];
    pthread_t threads[QUEUES_MAX];
    struct sharedbuf *shared;
    int bad = 0;

    read_job(argc, argv);
    if (job.port.type == &tap_port_type)
        ask_interface();
    shared = make_text();
    tenon_flow_spread(job.table, TABLE, job.queues);
    for (unsigned i = 0; i < job.queues; i++) {
        instances[i].number = i;
        instances[i].view = sharedbuf_view(shared);
        instance_open(&instances[i]);
    }
    if (job.port.type == &tap_port_type &&
        tap_steer(instances[0].port, tenon_flow_key_microsoft, TABLE, job.queues) != 0) {
        fprintf(stderr, "queues: the kernel does not let us choose queues: %s\n", strerror(errno));
        if (job.peer.port != 0)
            return NOT_PERMITTED;
    }
    signal(SIGINT, interrupted);
    signal(SIGTERM, interrupted);
    for (unsigned i = 0; i < job.queues; i++)
        if (pthread_create(&threads[i], NULL, instance_run, &instances[i]) != 0)
            fail("no thread");
    for (unsigned i = 0; i < job.queues; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < job.queues; i++)
        bad |= instance_end(&instances[i]);
    sharedbuf_put(shared);
    return bad;
}
