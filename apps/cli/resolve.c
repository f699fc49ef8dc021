/* SPDX-License-Identifier: MIT */
/* tenon resolve: the addresses of names, asked of DNS servers (services/dns.h). */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include <tenon/tenon.h>

#include "cli.h"
#include "common/app.h"
#include "common/names.h"
#include "common/text.h"
#include "ports/common/port.h"
#include "services/dns.h"

enum { RESOLVE_NAMES_MAX = 16, RESOLVE_KINDS = 2, RESOLVE_QUERIES = RESOLVE_KINDS * RESOLVE_NAMES_MAX };

struct resolve_options {
    struct options net;
    const char *names[RESOLVE_NAMES_MAX];
    unsigned nnames;
};

/* What is known of a name. */
struct resolve_answers {
    unsigned answers, addresses;
    enum tenon_dns_status status;    /* of the question that failed, if one did */
};

struct resolver {
    struct resolve_options options;
    struct resolve_answers answers[RESOLVE_NAMES_MAX];
    struct app app;
    struct tenon_dns dns;
    struct tenon_dns_query queries[RESOLVE_QUERIES];
    tenon_u8 room[2 + 65535];    /* the longest answer over TCP */
    struct loop_timer timer;
    unsigned left, found;
};

static struct resolver resolver;

/* ---- answers -------------------------------------------------------------------------------------- */

/* What is wrong is said once, when both answers are there: a name may well have no address of one kind. */
static void answered(void *arg, const char *name, const struct tenon_dns_answer *answer)
{
    struct resolve_answers *answers = arg;

    for (unsigned i = 0; i < answer->n; i++)
        printf("%s %s\n", name, text_ip(&answer->ips[i]).s);
    answers->addresses += answer->n;
    if (answer->status != TENON_DNS_OK && answer->status != TENON_DNS_NO_DATA)
        answers->status = answer->status;
    resolver.found += answer->n > 0;
    resolver.left--;
    if (++answers->answers < RESOLVE_KINDS)
        return;
    if (answers->status != TENON_DNS_OK)
        log_error("%s: %s", name, tenon_dns_status_text(answers->status));
    else if (answers->addresses == 0)
        log_error("%s: the name has no address", name);
}

/* ---- the loop ------------------------------------------------------------------------------------- */

/* Looks at answers some hundred times a second: a program that waits for a name does nothing else. */
enum { RESOLVE_TICK_US = 5000 };

static void tick(void *arg)
{
    (void)arg;
    (void)tenon_dns_poll(&resolver.dns, port_now_us());
    if (resolver.left == 0)
        app_stop(&resolver.app, resolver.found > 0 ? CLI_OK : CLI_FAILED);
    else
        loop_timer_set(&resolver.app.loop, &resolver.timer, RESOLVE_TICK_US);
}

static int ask_all(void)
{
    const struct resolve_options *options = &resolver.options;

    for (unsigned i = 0; i < options->nnames; i++) {
        for (unsigned k = 0; k < RESOLVE_KINDS; k++) {
            const int r = tenon_dns_ask(&resolver.dns, options->names[i], k == 0 ? TENON_DNS_A : TENON_DNS_AAAA,
                                        answered, &resolver.answers[i]);

            if (r != TENON_OK) {
                log_error("\"%s\" cannot be a name", options->names[i]);
                return -1;
            }
            resolver.left++;
        }
    }
    return 0;
}

static int start(void)
{
    struct tenon_dns_conf conf;

    memset(&conf, 0, sizeof conf);
    conf.queries = resolver.queries;
    conf.nqueries = RESOLVE_QUERIES;
    conf.tcp = &tenon_dns_tcp;
    conf.room = resolver.room;
    conf.room_bytes = sizeof resolver.room;
    if (names_open(&resolver.dns, &resolver.app, &conf) != 0)
        return -1;
    resolver.timer.due = tick;
    loop_timer_set(&resolver.app.loop, &resolver.timer, 0);
    return ask_all();
}

static void resolve_interrupted(void *arg, int signal_number)
{
    (void)arg;
    app_stop(&resolver.app, 128 + signal_number);
}

/* @return 0: all of them can be names, or addresses */
static int check_names(void)
{
    for (unsigned i = 0; i < resolver.options.nnames; i++) {
        if (names_check(resolver.options.names[i]) == NULL)
            continue;
        log_error("\"%s\" cannot be a name", resolver.options.names[i]);
        return -1;
    }
    return 0;
}

/* @return the status of the program */
static int run(void)
{
    if (resolver.app.done)
        return CLI_INTERRUPTED;    /* while we waited for an address of our own */
    resolver.app.interrupted = resolve_interrupted;
    if (start() == 0)
        return app_run(&resolver.app);
    return resolver.app.done ? resolver.app.code : CLI_FAILED;
}

/* ---- the subcommand ------------------------------------------------------------------------------- */

static const char resolve_doc[] =
    "Ask DNS servers for the IPv4 and IPv6 addresses of each NAME, and print them.\v"
    "The status is 0 when there was an address, 1 when there was none.\n\n"
    "Examples:\n"
    "  tenon resolve --dhcp example.com\n"
    "  tenon resolve --dns 10.9.0.1 www.example.com mail.example.com";

static error_t parse_resolve(int key, char *value, struct argp_state *state)
{
    struct resolve_options *options = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->net;
        return 0;
    case ARGP_KEY_ARG:
        if (options->nnames == RESOLVE_NAMES_MAX)
            argp_error(state, "at most %d names", RESOLVE_NAMES_MAX);
        options->names[options->nnames++] = value;
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a name is missing, such as www.example.com");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child resolve_children[] = { OPTIONS_CHILD, { NULL, 0, NULL, 0 } };
static const struct argp resolve_argp = { NULL, parse_resolve, "NAME...", resolve_doc, resolve_children,
                                          NULL, NULL };

int cmd_resolve(int argc, char **argv)
{
    int code = CLI_FAILED;

    options_default(&resolver.options.net);
    argp_parse(&resolve_argp, argc, argv, 0, NULL, &resolver.options);
    log_open(argv[0], resolver.options.net.level);
    if (check_names() != 0)
        return CLI_USAGE;
    if (app_open(&resolver.app, &resolver.options.net, "resolve", NULL) == 0)
        code = run();
    if (resolver.dns.stack != NULL)
        tenon_dns_close(&resolver.dns);
    return app_close(&resolver.app, code);
}
