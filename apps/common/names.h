/* SPDX-License-Identifier: MIT */
/** @file
 *  Names on a command line where an address may stand: asked of DNS servers (services/dns.h). */
#ifndef APPS_COMMON_NAMES_H
#define APPS_COMMON_NAMES_H

#include <tenon/types.h>

#include "services/dns.h"

struct app;
struct argp_state;

enum { NAMES_ADDRESSES_MAX = 2 * TENON_DNS_ADDRESSES_MAX };

/** Whom to ask. */
struct names_servers {
    struct tenon_ip ips[TENON_DNS_SERVERS_MAX];
    unsigned n;    /**< 0: those that --dhcp has told of */
};

/** The value of an option with a server's address; ends the program if it is none.
 *  @param option  its name, "--dns" */
void names_add_server(struct names_servers *servers, const char *option, const char *value,
                      const struct argp_state *state);

/** Whether it can be a name, and not an address that somebody got wrong. */
int names_is_name(const char *text);

/** Open a resolver that asks these servers. Say what went wrong. @return 0 or -1 */
int names_open(struct tenon_dns *dns, struct app *app, const struct names_servers *servers,
               const struct tenon_dns_conf *conf);

/** The addresses of a name, of both IP versions. Waits for them: the app's loop runs meanwhile.
 *  @param ips  room for NAMES_ADDRESSES_MAX; in the order in which they should be tried (RFC 6724 6)
 *  @return how many there are. 0: none, which was said; or the app was stopped meanwhile (app->done) */
unsigned names_find(struct app *app, const struct names_servers *servers, const char *name, struct tenon_ip *ips);

#endif
