/* SPDX-License-Identifier: MIT */
/** @file
 *  Names on a command line where an address may stand: asked of DNS servers (services/dns.h). */
#ifndef APPS_COMMON_NAMES_H
#define APPS_COMMON_NAMES_H

#include <tenon/types.h>

#include "services/dns.h"

struct app;

enum { NAMES_ADDRESSES_MAX = 2 * TENON_DNS_ADDRESSES_MAX };

/** Whether it can be a name, and not an address that somebody got wrong. */
int names_is_name(const char *text);

/** What a user wrote where a host must stand.
 *  @return NULL: an address, or what can be a name; else what is wrong with it, as the end of a sentence that
 *  begins with it */
const char *names_check(const char *host);

/** Open a resolver that asks the servers of --dns, or those that DHCP and IPv6 routers have told of: a
 * router's are waited for some seconds if there is none, while the app's loop runs. Say what went wrong.
 * @return 0 or -1; the latter also when the app was stopped meanwhile (app->done) */
int names_open(struct tenon_dns *dns, struct app *app, const struct tenon_dns_conf *conf);

/** The addresses of a host: one that is an address is its own. Those of a name are of both IP versions, and
 * waited for: the app's loop runs meanwhile.
 *  @param ips  room for NAMES_ADDRESSES_MAX; in the order in which they should be tried (RFC 6724 6)
 *  @return how many there are. 0: none, which was said; or the app was stopped meanwhile (app->done) */
unsigned names_find(struct app *app, const char *host, struct tenon_ip *ips);

#endif
