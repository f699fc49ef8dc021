/* SPDX-License-Identifier: MIT */
/* The DHCP client of a program: says what it got. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

#include "app.h"
#include "dhcp.h"
#include "ports/common/port.h"
#include "services/dhcp.h"
#include "text.h"

struct dhcp_run {
    struct tenon_dhcp client;
    struct app *app;
};

static void say_lease(const struct tenon_dhcp_offer *lease)
{
    struct strbuf s = { NULL, 0, 0 };

    sb_printf(&s, "Address %s/%u by DHCP from %s", text_ip(&lease->ip).s, lease->prefix, text_ip(&lease->server).s);
    if (lease->nrouters > 0)
        sb_printf(&s, ", next hop %s", text_ip(&lease->routers[0]).s);
    if (lease->lease_s != 0xFFFFFFFFUL)
        sb_printf(&s, ", for %lu s", (unsigned long)lease->lease_s);
    log_say(LOG_NORMAL, "%s", s.s);
    sb_free(&s);
}

static void dhcp_changed(struct tenon_dhcp *client, void *arg)
{
    (void)arg;
    switch (client->source) {
    case TENON_DHCP_LEASE: say_lease(&client->lease); break;
    case TENON_DHCP_LINK_LOCAL:
        log_say(LOG_NORMAL, "No DHCP server has answered. Link-local address %s until one does",
                text_ip(&client->ll.ip).s);
        break;
    default: log_say(LOG_NORMAL, "The address that we had by DHCP is gone");
    }
}

struct dhcp_run *dhcp_begin(struct app *app)
{
    struct dhcp_run *run = must_alloc(sizeof *run);
    struct tenon_dhcp_conf conf;
    int r;

    memset(run, 0, sizeof *run);
    run->app = app;
    tenon_dhcp_conf_default(&conf, app->netif);
    conf.delay_ms = 0;    /* one program that somebody has just started need not be kept apart from others */
    conf.changed = dhcp_changed;
    conf.app = run;
    r = tenon_dhcp_start(&run->client, app->stack, &conf, port_now_us());
    if (r == TENON_OK)
        return run;
    log_error("--dhcp: %s", tenon_error_text(r));
    free(run);
    return NULL;
}

uint32_t dhcp_turn(struct dhcp_run *run)
{
    return run != NULL ? tenon_dhcp_poll(&run->client, port_now_us()) : UINT32_MAX;
}

int dhcp_is_there(const struct dhcp_run *run)
{
    return run->client.source != TENON_DHCP_NONE;
}

unsigned dhcp_name_servers(const struct dhcp_run *run, struct tenon_ip *servers, unsigned max)
{
    unsigned n = 0;

    while (run->client.source == TENON_DHCP_LEASE && n < run->client.lease.ndns && n < max) {
        servers[n] = run->client.lease.dns[n];
        n++;
    }
    return n;
}

void dhcp_end(struct dhcp_run *run)
{
    if (run == NULL)
        return;
    run->client.conf.changed = NULL;
    tenon_dhcp_stop(&run->client, port_now_us());
    free(run);
}
