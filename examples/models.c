/* SPDX-License-Identifier: MIT */
/* One application in four core assignments: a service on port 7, of TCP and UDP, that sends back what comes
 * in capital letters.
 *
 *     models unified PORT ADDRESS/BITS    application and stack in one thread
 *     models split PORT ADDRESS/BITS      in two threads
 *     models merge PORT ADDRESS/BITS      in two threads on one processor
 *     models handed PORT ADDRESS/BITS     two of the first kind; what comes to one by TCP is turned into
 *                                         capitals by the other one's thread
 *
 * With a number behind it there are so many of them, one for each queue of the interface, and all have the
 * address.
 *
 * PORT is any that the program tenon takes (docs/guide/ports.md), such as tap:tap0, packet:eth0, xdp:eth0. An
 * interface with queues: ip tuntap add dev tap0 mode tap multi_queue. It sleeps when there is nothing to do,
 * and ends with Ctrl-C, or when the interface is gone. */
#include "models/model.h"
#include "models/spread.h"
#include "ports/common/built.h"

#include <ctype.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SERVERS_MAX = 16, PORT = 7, PIECE = 32, DATAGRAM_MAX = 1472 };
enum { LINK = 4096, HANDED_MAX = LINK / 2 };    /* the other half of a link is for answers to the other one */

struct server {
    struct port *port;
    struct tenon *stack;
    struct model *model;
    struct model_link *there;    /* to the other one; NULL: we do the work */
    unsigned handed;             /* pieces that have not come back */
    struct model_mailbox box;    /* what came to another queue, and is ours */
    pthread_t thread;
    int is_lost;                 /* its interface is gone */
};

static struct server servers[SERVERS_MAX];
static unsigned nservers = 1;
static enum model_kind kind;
static struct port_choice choice;
static struct model_spread *spread;    /* NULL: there is one queue */

static void fail(const char *what)
{
    fprintf(stderr, "models: %s\n", what);
    exit(1);
}

/* ---- the application: knows nothing of threads ------------------------------------------------------- */

static void make_capitals(unsigned char *bytes, unsigned n)
{
    while (n-- > 0)
        bytes[n] = (unsigned char)toupper(bytes[n]);
}

/* The client waits for its answer before it asks again; one that does not, and fills the queue, is reset.
 * @return 0; -1: it was, and the handle may be gone */
static int answer(struct model_tcp *tcp, const unsigned char *bytes, unsigned n)
{
    if (model_tcp_write(tcp, bytes, n) != (tenon_i32)n) {
        model_tcp_abort(tcp);
        return -1;
    }
    model_tcp_consumed(tcp, n);
    return 0;
}

struct work {
    struct model_link *back;
    struct model_tcp *tcp;    /* a name there, a connection here */
    unsigned n;
    unsigned char bytes[PIECE];
};

/* In our thread again. The connection may have ended meanwhile: the reference keeps its handle. */
static void work_done(struct model *here, const void *message)
{
    const struct work *work = message;

    (void)here;
    ((struct server *)model_tcp_app(work->tcp))->handed--;
    (void)answer(work->tcp, work->bytes, work->n);
    model_tcp_put(work->tcp);
}

/* In the other one's thread. */
static void do_work(struct model *there, const void *message)
{
    struct work work = *(const struct work *)message;

    (void)there;
    make_capitals(work.bytes, work.n);
    if (model_hand(work.back, work_done, &work, sizeof work) != TENON_OK)
        fail("a link is full");    /* which HANDED_MAX excludes */
}

/* @return as answer() */
static int hand(struct server *server, struct model_tcp *tcp, const unsigned char *bytes, unsigned n)
{
    struct work work = { .back = servers[server == servers].there, .tcp = tcp, .n = n };

    memcpy(work.bytes, bytes, n);
    if (server->handed == HANDED_MAX || model_hand(server->there, do_work, &work, sizeof work) != TENON_OK) {
        model_tcp_abort(tcp);
        return -1;
    }
    server->handed++;
    model_tcp_ref(tcp);
    return 0;
}

static void on_received(struct model_tcp *tcp, void *app, const struct tenon_span *spans, unsigned nspans)
{
    struct server *server = app;

    for (unsigned i = 0; i < nspans; i++)
        for (tenon_u32 at = 0; at < spans[i].len; at += PIECE) {
            const unsigned n = spans[i].len - at < PIECE ? spans[i].len - at : PIECE;
            unsigned char bytes[PIECE];

            memcpy(bytes, tenon_span_data(&spans[i]) + at, n);
            if (server->there == NULL)
                make_capitals(bytes, n);
            if ((server->there != NULL ? hand(server, tcp, bytes, n) : answer(tcp, bytes, n)) != 0)
                return;
        }
}

static const struct model_tcp_events events = { .received = on_received };

/* The answer comes from the address that was asked. It may be lost, as the question may; so is one that is
 * too large. */
static void on_datagram(struct model_udp *udp, void *app, const struct tenon_udp_info *info,
                        const struct tenon_span *spans, unsigned nspans)
{
    unsigned char bytes[DATAGRAM_MAX];
    tenon_u32 n = 0;

    (void)app;
    if (info->bytes > DATAGRAM_MAX)
        return;
    for (unsigned i = 0; i < nspans; i++) {
        memcpy(bytes + n, tenon_span_data(&spans[i]), spans[i].len);
        n += spans[i].len;
    }
    make_capitals(bytes, n);
    (void)model_udp_write_from(udp, &info->to.ip, &info->from, bytes, n);
}

static const struct model_udp_events datagrams = { .received = on_datagram };

/* ---- the assignment ----------------------------------------------------------------------------------- */

static void server_open(struct server *server, const struct tenon_ip *ip, unsigned bits)
{
    const struct tenon_addr at = { .port = PORT };
    struct port_conf port_conf = choice.conf;
    struct model_listener *listener;
    struct model_udp *udp;
    struct tenon_netif_conf netif;
    struct model_conf conf = { .kind = kind, .netif = 1, .spread = spread };
    struct tenon_conf tenon_conf;
    char error[600] = "";

    if (spread != NULL) {
        port_conf.queues = nservers;
        port_conf.queue = conf.member = (unsigned)(server - servers);
    }
    server->port = port_open(choice.type, &port_conf, error, sizeof error);
    if (server->port == NULL)
        fail(error);
    tenon_conf_default(&tenon_conf);
    server->stack = tenon_init(malloc(tenon_mem_size(&tenon_conf)), &tenon_conf, choice.type->host, server->port);
    port_netif_conf(server->port, &netif);
    netif.flags = TENON_NETIF_NO_IP6 | TENON_NETIF_NO_DAD;
    if (server->stack == NULL || tenon_netif_add(server->stack, &netif) != 1
        || tenon_addr_add(server->stack, 1, ip, bits) != TENON_OK)
        fail("not an address for this interface");
    conf.port = server->port;
    conf.stack = server->stack;
    server->model = model_open(&conf, error, sizeof error);
    if (server->model == NULL)
        fail(error);
    if (model_listen(server->model, &listener, &at, &events, server, 0) != TENON_OK
        || model_udp_open(server->model, &udp, &at, &datagrams, server) != TENON_OK)
        fail("cannot listen");
}

/* All of them end when one has lost its interface, as by Ctrl-C. */
static void *server_run(void *arg)
{
    struct server *server = arg;

    if (model_run(server->model) == 0)
        return NULL;
    fprintf(stderr, "models: the interface is gone\n");
    server->is_lost = 1;
    (void)kill(getpid(), SIGTERM);
    return NULL;
}

/* Every queue hears the whole address: what concerns another's instance goes there. The hash decides, so that it does
 * not matter how the interface chooses its queues. */
static void spread_open(void)
{
    struct model_mailbox *boxes[SERVERS_MAX];

    for (unsigned i = 0; i < nservers; i++) {
        boxes[i] = &servers[i].box;
        if (model_mailbox_open(boxes[i]) != 0)
            fail("no mailbox");
    }
    spread = model_spread_open(boxes, nservers, 1);
    if (spread == NULL)
        fail("out of memory");
}

static void spread_close(void)
{
    for (unsigned i = 0; i < nservers; i++)
        model_mailbox_close(&servers[i].box);
    model_spread_close(spread);
}

static void server_close(struct server *server)
{
    struct model_spread_stats spread_stats = { 0, 0, 0 };
    struct model_stats stats;

    model_stats(server->model, &stats);
    model_close(server->model);
    if (spread != NULL)
        model_spread_stats(spread, (unsigned)(server - servers), &spread_stats);
    printf("%lu events up, %lu commands down, %lu messages from the other one, slept %lu times, %lu frames handed on\n",
           stats.events, stats.commands, stats.handed, stats.app_slept + stats.stack_slept, spread_stats.handed);
    tenon_fini(server->stack);
    port_close(server->port);
    free(server->stack);
}

/* All threads of the program have them blocked. */
static void wait_for_signal(const sigset_t *signals)
{
    int number;

    (void)sigwait(signals, &number);
    for (unsigned i = 0; i < nservers; i++)
        model_stop(servers[i].model);
}

/* What stands on the command line. @return 1: the work is handed to the other one */
static int read_arguments(int argc, char **argv, struct tenon_ip *ip, unsigned *bits)
{
    static const char *const names[] = { "unified", "split", "merge", "handed" };
    char *slash = argc == 4 || argc == 5 ? strchr(argv[3], '/') : NULL;
    unsigned i = 0;
    char error[600];

    while (slash != NULL && i < 4 && strcmp(argv[1], names[i]) != 0)
        i++;
    if (slash == NULL || i == 4)
        fail("usage: models unified|split|merge|handed PORT ADDRESS/BITS [QUEUES]");
    *slash = 0;
    *bits = (unsigned)atoi(slash + 1);
    if (tenon_ip_parse(ip, argv[3]) < 0)
        fail("that is no address");
    if (port_read(&choice, ports_built, argv[2], error, sizeof error) != 0)
        fail(error);
    kind = i < 3 ? (enum model_kind)i : MODEL_UNIFIED;
    nservers = i == 3 ? 2 : 1;
    if (argc == 5)
        nservers = (unsigned)atoi(argv[4]);
    if (nservers < 1 || nservers > SERVERS_MAX || (i == 3 && nservers != 2))
        fail("one to 16 queues, and two for handed");
    return i == 3;
}

int main(int argc, char **argv)
{
    unsigned i, bits, lost = 0;
    struct tenon_ip ip;
    sigset_t signals;
    int handed;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
    handed = read_arguments(argc, argv, &ip, &bits);
    if (nservers > 1)
        spread_open();
    for (i = 0; i < nservers; i++)
        server_open(&servers[i], &ip, bits);
    for (i = 0; handed && i < nservers; i++)
        servers[i].there = model_link_open(servers[i].model, servers[!i].model, LINK);
    for (i = 0; i < nservers; i++)
        if (pthread_create(&servers[i].thread, NULL, server_run, &servers[i]) != 0)
            fail("no thread");
    wait_for_signal(&signals);
    for (i = 0; i < nservers; i++)
        pthread_join(servers[i].thread, NULL);
    for (i = 0; i < nservers; i++)
        if (servers[i].there != NULL)
            model_link_close(servers[i].there);
    for (i = 0; i < nservers; i++) {
        lost |= (unsigned)servers[i].is_lost;
        server_close(&servers[i]);
    }
    if (spread != NULL)
        spread_close();
    return (int)lost;
}
