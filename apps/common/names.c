/* SPDX-License-Identifier: MIT */
/* Names on a command line, by way of DNS. */
#include <stdio.h>
#include <string.h>

#include <tenon/tenon.h>

#include "app.h"
#include "dhcp.h"
#include "names.h"
#include "ports/common/port.h"
#include "text.h"

/* Looks at answers some hundred times a second: a program that waits for a name does nothing else. */
enum { NAMES_TICK_US = 5000, NAMES_KINDS = 2, NAMES_ROOM = 2 + 65535 /* the longest answer over TCP */ };

struct names_search {
    struct app *app;
    struct tenon_dns dns;
    struct tenon_dns_query queries[NAMES_KINDS];
    struct loop_timer timer;
    tenon_u8 room[NAMES_ROOM];
    struct tenon_ip *ips;
    unsigned n, left;
    enum tenon_dns_status status;    /* of the question that failed, if one did */
};

int names_is_name(const char *text)
{
    static const char digits[] = "0123456789.", letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    const size_t n = strlen(text);
    size_t i;

    for (i = 0; i < n && (strchr(digits, text[i]) != NULL || strchr(letters, text[i]) != NULL); i++)
        ;
    return n > 0 && n <= TENON_DNS_NAME_MAX && i == n && strspn(text, digits) < n;
}

const char *names_check(const struct options *options, const char *host)
{
    struct tenon_ip ip;
    const char *wrong = text_read_ip(host, &ip);

    if (wrong == NULL || !names_is_name(host))
        return wrong;
    return options->ndns == 0 && !options->dhcp
               ? "needs a server that knows names: give --dns ADDRESS or --dhcp"
               : NULL;
}

int names_open(struct tenon_dns *dns, const struct app *app, const struct tenon_dns_conf *conf)
{
    struct tenon_ip told[TENON_DNS_SERVERS_MAX];
    const struct tenon_ip *servers = app->options->dns;
    unsigned n = app->options->ndns;
    const int r = tenon_dns_open(dns, app->stack, conf, port_now_us());

    if (r != TENON_OK) {
        log_error("names cannot be looked up: %s", tenon_error_text(r));
        return -1;
    }
    if (n == 0 && app->dhcp != NULL) {
        n = dhcp_name_servers(app->dhcp, told, TENON_DNS_SERVERS_MAX);
        servers = told;
    }
    tenon_dns_servers(dns, servers, n);
    return 0;
}

static void names_answered(void *arg, const char *name, const struct tenon_dns_answer *answer)
{
    struct names_search *search = arg;

    (void)name;
    for (unsigned i = 0; i < answer->n; i++)
        search->ips[search->n++] = answer->ips[i];
    if (answer->status != TENON_DNS_OK && answer->status != TENON_DNS_NO_DATA)
        search->status = answer->status;
    search->left--;
}

static void names_tick(void *arg)
{
    struct names_search *search = arg;

    (void)tenon_dns_poll(&search->dns, port_now_us());
    if (search->left == 0)
        app_stop(search->app, 0);
    else
        loop_timer_set(&search->app->loop, &search->timer, NAMES_TICK_US);
}

static int names_ask(struct names_search *search, const char *name)
{
    static const enum tenon_dns_type kinds[NAMES_KINDS] = { TENON_DNS_AAAA, TENON_DNS_A };

    for (search->left = 0; search->left < NAMES_KINDS; search->left++) {
        if (tenon_dns_ask(&search->dns, name, kinds[search->left], names_answered, search) != TENON_OK) {
            log_error("\"%s\" cannot be a name", name);
            return -1;
        }
    }
    return 0;
}

/* Until both answers are there, or the program is told to end. */
static void names_wait(struct names_search *search)
{
    search->app->done = 0;
    search->timer.due = names_tick;
    search->timer.arg = search;
    loop_timer_set(&search->app->loop, &search->timer, 0);
    (void)app_run(search->app);
    loop_timer_stop(&search->app->loop, &search->timer);
    if (search->left == 0)
        search->app->done = 0;
}

unsigned names_find(struct app *app, const char *host, struct tenon_ip *ips)
{
    struct names_search search;
    struct tenon_dns_conf conf;

    if (text_read_ip(host, ips) == NULL)
        return 1;
    memset(&search, 0, sizeof search);
    memset(&conf, 0, sizeof conf);
    search.app = app;
    search.ips = ips;
    conf.queries = search.queries;
    conf.nqueries = NAMES_KINDS;
    conf.tcp = &tenon_dns_tcp;
    conf.room = search.room;
    conf.room_bytes = sizeof search.room;
    if (names_open(&search.dns, app, &conf) != 0)
        return 0;
    if (names_ask(&search, host) == 0)
        names_wait(&search);
    tenon_dns_close(&search.dns);
    if (app->done)
        return 0;
    if (search.n == 0)
        log_error("%s: %s", host,
                  tenon_dns_status_text(search.status != TENON_DNS_OK ? search.status : TENON_DNS_NO_DATA));
    (void)tenon_addr_sort(app->stack, ips, search.n);
    return search.n;
}
