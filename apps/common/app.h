/* SPDX-License-Identifier: MIT */
/** @file
 *  A program around one instance of the stack and one port: set up from the common options,
 *  run by one event loop, ended by a signal or by itself. */
#ifndef APPS_COMMON_APP_H
#define APPS_COMMON_APP_H

#include <tenon/tenon.h>

#include "flow.h"
#include "log.h"
#include "loop.h"
#include "options.h"
#include "ports/common/port.h"
#include "services/rdnss.h"

struct core;
struct dhcp_run;
struct port;
struct pcap_writer;
struct trace_writer;
struct snapshot_server;

/** Counters of the instance are 32 bits wide; here they are accumulated. */
struct app_totals {
    uint64_t counter[TENON_STAT_COUNT];
    uint64_t rx_frames, rx_bytes, tx_frames, tx_bytes;    /**< of the interface */
    struct port_stats port;
};

/** Add those of another core. */
void app_totals_add(struct app_totals *totals, const struct app_totals *more);

struct app {
    const struct options *options;
    const char *command;                /**< "serve" */
    struct core *core;                  /**< cores.h; NULL: a program without threads */
    struct loop loop;
    struct port *port;
    struct pcap_writer *pcap;
    struct trace_writer *trace;
    struct snapshot_server *snapshots;
    void *mem;
    struct tenon *stack;
    unsigned netif;
    struct dhcp_run *dhcp;              /**< NULL: without --dhcp */
    struct tenon_rdnss rdnss;           /**< servers for names that routers tell of */
    struct app_totals totals;
    struct loop_timer count_timer;
    uint64_t began_us;
    int done, code;
    unsigned silent;                    /**< times in a row that the port had nothing */
    unsigned turns;                     /**< of the loop, with --poll */
    /** Called for SIGINT, SIGTERM and SIGHUP; NULL: the program ends with status 0. */
    void (*interrupted)(void *arg, int signal);
    void *arg;
};

/** Set everything up. Says what went wrong.
 *  @param core  of which this is the app: it has a queue of the port, files of its own, and no signals but
 *               for the first; NULL: it is alone
 *  @return 0 or -1 */
int app_open(struct app *app, const struct options *options, const char *command, struct core *core);

/** Run until app_stop(). @return the status given to it */
int app_run(struct app *app);

/** Run until something is there, or app_stop(), at most for so long. @return what `there` says at the end */
int app_wait(struct app *app, int (*there)(const struct app *app), uint64_t limit_us);
void app_stop(struct app *app, int code);

/** End what is left (connections are reset, the peers hear of it), print the counters if that was
 *  asked for, free everything. After a failed app_open() too.
 *  @param code  what the program would end with
 *  @return that; 1 in place of 0 if what --pcap or --trace has asked for is not complete */
int app_close(struct app *app, int code);

/** Give a connection that is not open yet, or a listener, what the options say of TCP. */
void app_set_conn(const struct app *app, struct tenon_tcp *conn);
void app_set_listener(const struct app *app, struct tenon_tcp_listener *listener);

/** Bring app->totals up to date. */
void app_count(struct app *app);

/** Make `addr` complete: a link-local address gets our interface as its scope. */
void app_scope(const struct app *app, struct tenon_addr *addr);

/** The index-th of the addresses that we were given, by options or by DHCP. @return 0: there are not so many */
int app_address(const struct app *app, unsigned index, struct tenon_ip *ip);

#endif
