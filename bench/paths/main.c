/* SPDX-License-Identifier: MIT */
/* One cell of the map of behaviour: reads what is asked from its arguments, NAME=VALUE, and prints what was asked and
 * measured as one line of JSON.
 *
 *     tenon-paths kind=bulk cc=cubic rtt=50 rate=10 loss=1 buffer=1
 *     tenon-paths --controls         the congestion controls that the core has, one a line
 *
 * Exit status 0; 1: data came damaged or not at all; 2: the arguments are wrong. */
#include "paths.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of these the core knows those that tenon_cc_find() finds. */
static const char *const controls[] = { "newreno", "cubic", "highspeed", "bbr", "dctcp" };

static const struct {
    const char *name;
    int (*run)(struct paths_net *net);
} kinds[] = {{ "bulk", paths_bulk }, { "burst", paths_bulk }, { "short", paths_short }, { "tail", paths_tail }};

struct argument {
    const char *name;
    double least, most;
    double *number;
    unsigned *whole;
};

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "tenon-paths: %s: %s\n", what, value);
    return -1;
}

static int set_number(const struct argument *argument, const char *value)
{
    char *end;
    const double number = strtod(value, &end);

    if (*value == 0 || *end != 0 || !(number >= argument->least && number <= argument->most))
        return complain(argument->name, value);
    if (argument->number)
        *argument->number = number;
    else
        *argument->whole = (unsigned)number;
    return 0;
}

static int set_cc(struct paths_cell *cell, const char *names)
{
    char copy[200], *name, *rest = copy;

    if (strlen(names) >= sizeof(copy))
        return complain("cc", names);
    strcpy(copy, names);
    cell->nccs = 0;
    while ((name = strsep(&rest, ",")) != NULL) {
        if (cell->nccs == PATHS_CCS_MAX || (cell->cc[cell->nccs++] = tenon_cc_find(name)) == NULL)
            return complain("there is no such congestion control", name);
    }
    return 0;
}

static int set(struct paths_cell *cell, const char *name, const char *value)
{
    const struct argument arguments[] = {
        { "rtt", 0.01, 10000, &cell->rtt_ms, NULL },
        { "rate", 0.01, 100000, &cell->rate_mbit, NULL },
        { "loss", 0, 100, &cell->loss, NULL },
        { "reorder", 0, 100, &cell->reorder, NULL },
        { "buffer", 0, 1000, &cell->buffer, NULL },
        { "mark", 0, 1000, &cell->mark, NULL },
        { "seconds", 0, 100000, &cell->seconds, NULL },
        { "flows", 1, PATHS_FLOWS_MAX, NULL, &cell->flows },
        { "mtu", 576, 9000, NULL, &cell->mtu },
        { "tso", 0, 1, NULL, &cell->tso },
        { "n", 1, 100000, NULL, &cell->n },
        { "drop", 0, 100000, NULL, &cell->drop },
        { "size", 1, 1e9, NULL, &cell->size },
        { "seed", 0, 4e9, NULL, &cell->seed },
    };
    size_t i;

    for (i = 0; i < TENON_ARRAY_LEN(arguments); i++)
        if (strcmp(arguments[i].name, name) == 0)
            return set_number(&arguments[i], value);
    if (strcmp(name, "cc") == 0)
        return set_cc(cell, value);
    if (strcmp(name, "kind") == 0)
        cell->kind = value;
    else if (strcmp(name, "trace") == 0)
        cell->trace = value;
    else
        return complain("there is no such setting", name);
    return 0;
}

static void print_usage(void)
{
    puts(
        "usage: tenon-paths [NAME=VALUE...]\n"
        "       tenon-paths --controls\n\n"
        "One cell of the map of behaviour, in virtual time, as a line of JSON; or the congestion controls there are.\n"
        "bench/paths/run asks for whole grids of cells. See docs/guide/paths.md.\n\n"
        "  kind                bulk, short, tail, burst\n"
        "  rtt, rate, buffer   of the bottleneck: ms, Mbit/s, bandwidth-delay products\n"
        "  loss, reorder       in per cent\n"
        "  mark                where the queue begins to mark congestion, in bandwidth-delay products; 0: nowhere\n"
        "  cc                  congestion control, or several with commas between them\n"
        "  flows, n, size      how many flows, transfers, and bytes of each\n"
        "  drop                how many segments are lost\n"
        "  mtu, tso, seed      of the hosts, and of all chance\n"
        "  seconds             of virtual time; 0: as many as show it\n"
        "  trace               a file for the trace of the first flow");
}

static int read_arguments(struct paths_cell *cell, int argc, char **argv)
{
    char name[20];
    int i;

    for (i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        const size_t length = equals ? (size_t)(equals - argv[i]) : 0;

        if (length == 0 || length >= sizeof(name))
            return complain("write NAME=VALUE", argv[i]);
        memcpy(name, argv[i], length);
        name[length] = 0;
        if (set(cell, name, equals + 1) != 0)
            return -1;
    }
    return 0;
}

static void print_cell(const struct paths_cell *cell)
{
    unsigned i;

    printf("{\"kind\": \"%s\", \"cc\": \"", cell->kind);
    for (i = 0; i < cell->nccs; i++)
        printf("%s%s", i ? "," : "", cell->cc[i]->name);
    printf("\", \"rtt\": %g, \"rate\": %g, \"loss\": %g, \"reorder\": %g, \"buffer\": %g", cell->rtt_ms,
           cell->rate_mbit, cell->loss, cell->reorder, cell->buffer);
    printf(", \"mark\": %g, \"flows\": %u", cell->mark, cell->flows);
    printf(", \"mtu\": %u, \"tso\": %u, \"n\": %u, \"drop\": %u, \"size\": %u, \"seed\": %u", cell->mtu, cell->tso,
           cell->n, cell->drop, cell->size, cell->seed);
}

/* What the instances say of themselves. */
static void print_counters(const struct paths_net *net)
{
    static const struct {
        const char *name;
        enum tenon_stat stat;
    } rows[] = {
        { "undone", TENON_STAT_TCP_UNDO },
        { "dsacks", TENON_STAT_TCP_DSACK },
        { "probes", TENON_STAT_TCP_TLP },
    };
    size_t k;
    unsigned i;

    for (k = 0; k < TENON_ARRAY_LEN(rows); k++) {
        unsigned long sum = 0;

        for (i = 0; i < net->cell->flows; i++)
            sum += tenon_stat(wire_host_stack(net->flow[i].host), rows[k].stat);
        printf(", \"%s\": %lu", rows[k].name, sum);
    }
    printf(", \"ooo_drops\": %lu", (unsigned long)tenon_stat(wire_host_stack(net->sink), TENON_STAT_TCP_OOO_DROP));
}

static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static int run(const struct paths_cell *cell)
{
    struct paths_net *net = calloc(1, sizeof(*net));
    const double began = cpu_seconds();
    size_t i;
    int bad;

    for (i = 0; i < TENON_ARRAY_LEN(kinds) && strcmp(kinds[i].name, cell->kind) != 0; i++)
        ;
    if (i == TENON_ARRAY_LEN(kinds)) {
        complain("there is no such kind of cell", cell->kind);
        free(net);
        return 2;
    }
    if (!net || paths_net_open(net, cell) != 0) {
        complain("cannot make the network", cell->trace ? cell->trace : "no memory");
        return 1;
    }
    print_cell(cell);
    bad = kinds[i].run(net);
    print_counters(net);
    printf(", \"bad\": %d, \"cpu_s\": %.3f}\n", bad, cpu_seconds() - began);
    paths_net_close(net);
    free(net);
    return bad;
}

static void print_controls(void)
{
    size_t i;

    for (i = 0; i < TENON_ARRAY_LEN(controls); i++)
        if (tenon_cc_find(controls[i]) != NULL)
            puts(controls[i]);
}

int main(int argc, char **argv)
{
    struct paths_cell cell = { .kind = "bulk", .rtt_ms = 50, .rate_mbit = 10, .buffer = 1, .cc = {&tenon_cc_cubic},
                               .nccs = 1, .flows = 1, .mtu = 1500, .n = 1, .size = 100000, .seed = 1 };

    if (argc == 2 && strcmp(argv[1], "--controls") == 0) {
        print_controls();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        print_usage();
        return 0;
    }
    return read_arguments(&cell, argc, argv) == 0 ? run(&cell) : 2;
}
