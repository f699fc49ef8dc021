/* SPDX-License-Identifier: MIT */
/** @file
 *  Names on a command line where an address may stand: asked of DNS servers (services/dns.h). */
#ifndef APPS_COMMON_NAMES_H
#define APPS_COMMON_NAMES_H

#include <tenon/types.h>

#include "services/dns.h"

struct app;
struct options;

enum { NAMES_ADDRESSES_MAX = 2 * TENON_DNS_ADDRESSES_MAX };

/** Whether it can be a name, and not an address that somebody got wrong. */
int names_is_name(const char *text);

/** What a user wrote where a host must stand.
 *  @return NULL: an address, or a name that somebody can be asked for; else what is wrong with it, as the end of a
 *          sentence that begins with it */
const char *names_check(const struct options *options, const char *host);

/** Open a resolver that asks the servers of --dns, or those that DHCP has told of. Say what went wrong.
 * @return 0 or -1 */
int names_open(struct tenon_dns *dns, const struct app *app, const struct tenon_dns_conf *conf);

/** The addresses of a host: one that is an address is its own. Those of a name are of both IP versions, and
 * waited for: the app's loop runs meanwhile.
 *  @param ips  room for NAMES_ADDRESSES_MAX; in the order in which they should be tried (RFC 6724 6)
 *  @return how many there are. 0: none, which was said; or the app was stopped meanwhile (app->done) */
unsigned names_find(struct app *app, const char *host, struct tenon_ip *ips);

#endif
