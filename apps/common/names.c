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
enum { NAMES_TICK_US = 5000, NAMES_KINDS = 2, NAMES_LABEL_MAX = 63,
       NAMES_ROOM = 2 + 65535 /* the longest answer over TCP */ };

/* For a router's word: the first solicitation leaves within a second, the next one four later (RFC 4861 10),
 * and the answer takes half a second (6.2.6). */
enum { NAMES_ROUTER_US = 6000000 };

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

/* As services/dns.c takes them: labels of 1 to 63 characters that neither begin nor end with "-", and perhaps a dot at
 * the end (RFC 1035 2.3). */
int names_is_name(const char *text)
{
    static const char digits[] = "0123456789.",
                      usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    const char *at = text;
    size_t n;

    do {
        n = strspn(at, usual);
        if (n == 0 || n > NAMES_LABEL_MAX || at[0] == '-' || at[n - 1] == '-')
            return 0;
        at += n;
    } while (*at == '.' && *++at != '\0');
    return *at == '\0' && at - text <= TENON_DNS_NAME_MAX && text[strspn(text, digits)] != '\0';
}

const char *names_check(const char *host)
{
    struct tenon_ip ip;

    return names_is_name(host) ? NULL : text_read_ip(host, &ip);
}

/* ---- whom to ask ------------------------------------------------------------------------------------ */

/* Those of --dns and no others, else those of DHCP and of routers. @return how many */
static unsigned names_servers(const struct app *app, struct tenon_addr *servers)
{
    const struct options *options = app->options;
    struct tenon_ip told[TENON_DNS_SERVERS_MAX];
    unsigned n = 0;

    if (options->ndns == 0) {
        if (app->dhcp != NULL)
            n = dhcp_name_servers(app->dhcp, told, TENON_DNS_SERVERS_MAX);
        return tenon_rdnss_servers(&app->rdnss, servers, told, n);
    }
    memset(servers, 0, TENON_DNS_SERVERS_MAX * sizeof *servers);
    for (; n < options->ndns && n < TENON_DNS_SERVERS_MAX; n++) {
        servers[n].ip = options->dns[n];
        app_scope(app, &servers[n]);
    }
    return n;
}

static int names_has_server(const struct app *app)
{
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];

    return names_servers(app, servers) > 0;
}

int names_open(struct tenon_dns *dns, struct app *app, const struct tenon_dns_conf *conf)
{
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];
    int r;

    if (!names_has_server(app)) {
        log_say(LOG_NORMAL, "Waiting for a router to say who knows names ...");
        (void)app_wait(app, names_has_server, NAMES_ROUTER_US);
    }
    if (app->done)
        return -1;
    if (!names_has_server(app)) {
        log_error("no router has told of a server that knows names%s: give --dns ADDRESS",
                  app->options->dhcp ? ", nor has DHCP" : " (nor was --dhcp given)");
        return -1;
    }
    r = tenon_dns_open(dns, app->stack, conf, port_now_us());
    if (r != TENON_OK) {
        log_error("names cannot be looked up: %s", tenon_error_text(r));
        return -1;
    }
    tenon_dns_servers(dns, servers, names_servers(app, servers));
    return 0;
}

/* ---- asking ----------------------------------------------------------------------------------------- */

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
    app->done = 0;    /* of what was fetched before */
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
