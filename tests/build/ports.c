/* SPDX-License-Identifier: MIT */
/* What a user of a package tries first with its ports and the core assignment: two machines in one program,
 * joined by the port that needs no privilege. One has its stack in a thread of its own and sends back what
 * comes, the other asks.
 *
 *     ports           says what came back; the exit status is 0 if it was what had been sent */
#include <tenon/models/model.h>
#include <tenon/ports/common/built.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ECHO_PORT = 7 };

static const char said[] = "through the port and back";

struct machine {
    struct port *port;
    struct tenon *stack;
    struct model *model;
};

static struct machine server, client;
static char heard[sizeof said];
static size_t nheard;

static void fail(const char *what)
{
    fprintf(stderr, "ports: %s\n", what);
    exit(1);
}

static void send_back(struct model_tcp *tcp, void *app, const struct tenon_span *spans, unsigned nspans)
{
    (void)app;
    for (unsigned i = 0; i < nspans; i++) {
        if (model_tcp_write(tcp, tenon_span_data(&spans[i]), spans[i].len) != (tenon_i32)spans[i].len)
            fail("what came cannot be sent back");
        model_tcp_consumed(tcp, spans[i].len);
    }
}

static void ask(struct model_tcp *tcp, void *app)
{
    (void)app;
    if (model_tcp_write(tcp, said, sizeof said) != sizeof said)
        fail("nothing was sent");
}

static void hear(struct model_tcp *tcp, void *app, const struct tenon_span *spans, unsigned nspans)
{
    (void)app;
    for (unsigned i = 0; i < nspans; i++) {
        if (spans[i].len > sizeof heard - nheard)
            fail("more came back than was sent");
        memcpy(heard + nheard, tenon_span_data(&spans[i]), spans[i].len);
        nheard += spans[i].len;
        model_tcp_consumed(tcp, spans[i].len);
    }
    if (nheard == sizeof heard) {
        model_tcp_close(tcp);
        model_stop(client.model);
    }
}

static void machine_open(struct machine *machine, enum model_kind kind, const char *written, tenon_u32 address)
{
    struct model_conf conf = { .kind = kind, .netif = 1 };
    struct tenon_netif_conf netif;
    struct tenon_conf stack_conf;
    struct port_choice choice;
    char error[PORT_TEXT_MAX];
    const struct tenon_ip ip = tenon_ip4(address);

    if (port_read(&choice, ports_built, written, error, sizeof error) != 0)
        fail(error);
    machine->port = port_open(choice.type, &choice.conf, error, sizeof error);
    if (machine->port == NULL)
        fail(error);
    tenon_conf_default(&stack_conf);
    machine->stack = tenon_init(malloc(tenon_mem_size(&stack_conf)), &stack_conf, choice.type->host, machine->port);
    port_netif_conf(machine->port, &netif);
    netif.flags |= TENON_NETIF_NO_DAD;
    if (machine->stack == NULL || tenon_netif_add(machine->stack, &netif) != 1
        || tenon_addr_add(machine->stack, 1, &ip, 24) != TENON_OK)
        fail("no instance");
    conf.port = machine->port;
    conf.stack = machine->stack;
    machine->model = model_open(&conf, error, sizeof error);
    if (machine->model == NULL)
        fail(error);
}

static void machine_close(struct machine *machine)
{
    model_close(machine->model);
    tenon_fini(machine->stack);
    free(machine->stack);
    port_close(machine->port);
}

static void *serve(void *arg)
{
    (void)arg;
    (void)model_run(server.model);
    return NULL;
}

int main(void)
{
    static const struct model_tcp_events serving = { .received = send_back };
    static const struct model_tcp_events asking = { .opened = ask, .received = hear };
    const struct tenon_addr at = { .port = ECHO_PORT };
    const struct tenon_addr there = { .ip = tenon_ip4(0x0A090001UL), .port = ECHO_PORT };
    char folder[] = "/tmp/tenon-ports-XXXXXX", ends[2][100];
    struct model_listener *listener;
    struct model_tcp *tcp;
    pthread_t thread;

    if (mkdtemp(folder) == NULL)
        fail("no folder");
    for (int i = 0; i < 2; i++)
        snprintf(ends[i], sizeof ends[i], "dgram:%s/%d,peer=%s/%d", folder, i, folder, !i);
    machine_open(&server, MODEL_SPLIT, ends[0], 0x0A090001UL);
    machine_open(&client, MODEL_UNIFIED, ends[1], 0x0A090002UL);
    if (model_listen(server.model, &listener, &at, &serving, NULL, 0) != TENON_OK
        || model_tcp_connect(client.model, &tcp, NULL, &there, &asking, NULL) != TENON_OK
        || pthread_create(&thread, NULL, serve, NULL) != 0)
        fail("it did not start");
    (void)model_run(client.model);
    model_stop(server.model);
    (void)pthread_join(thread, NULL);
    machine_close(&client);
    machine_close(&server);
    (void)rmdir(folder);
    printf("%zu bytes %s\n", nheard, heard);
    return nheard == sizeof said && memcmp(heard, said, sizeof said) == 0 ? 0 : 1;
}
