/* SPDX-License-Identifier: MIT */
/** @file
 *  The option --dhcp: the address of a program's interface comes from a server (services/dhcp.h). */
#ifndef APPS_COMMON_DHCP_H
#define APPS_COMMON_DHCP_H

#include <stdint.h>

struct app;
struct dhcp_run;

/** Begin to ask; NULL: it cannot be, and what is wrong was said. */
struct dhcp_run *dhcp_begin(struct app *app);

/** After each tenon_poll(). NULL is allowed. @return microseconds until it wants to be called again */
uint32_t dhcp_turn(struct dhcp_run *run);

/** Whether the interface has an address by now, be it that of the fallback. */
int dhcp_is_there(const struct dhcp_run *run);

/** The servers for names that the DHCP server told of, IPv4. @return how many, at most `max` */
unsigned dhcp_name_servers(const struct dhcp_run *run, struct tenon_ip *servers, unsigned max);

/** Give the address back. NULL is allowed. */
void dhcp_end(struct dhcp_run *run);

#endif
