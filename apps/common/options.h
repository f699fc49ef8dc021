/* SPDX-License-Identifier: MIT */
/** @file
 *  The options that every network subcommand understands, as an argp child parser. */
#ifndef APPS_COMMON_OPTIONS_H
#define APPS_COMMON_OPTIONS_H

#include <argp.h>

#include <tenon/tenon.h>

#include "log.h"
#include "ports/common/port.h"
#include "services/dns.h"

enum { OPTIONS_ADDRESSES_MAX = 8 };

/** What the common options say. */
struct options {
    const char *port_name;            /**< as it was written: "tap:tenon0" */
    struct port_choice port;          /**< of --port, --mtu and --no-offload */
    struct {
        struct tenon_ip ip;
        unsigned prefix;
    } addresses[OPTIONS_ADDRESSES_MAX];
    unsigned naddresses;
    int default_addresses;            /**< 1: they are ours; nobody has given any */
    struct tenon_ip gateways[2];      /**< IPv4, IPv6; any: none */
    struct tenon_ip dns[TENON_DNS_SERVERS_MAX];
    unsigned ndns;                    /**< 0: the servers that --dhcp and IPv6 routers have told of */
    int offload;                      /**< 0: --no-offload */
    int poll;                         /**< 1: never sleep */
    int dhcp;                         /**< 1: an address by DHCP */
    int dad;                          /**< 1: probe addresses for duplicates before using them */
    unsigned mtu;                     /**< of --mtu; 0: not given */
    const char *pcap, *trace;         /**< files; NULL: none */
    int stats;
    const struct tenon_cc_ops *cc;    /**< NULL: the core's default */
    int timestamps, sack;             /**< 0: neither offered nor accepted */
    unsigned ecn;                     /**< TENON_TCP_ECN */
    int fastopen;                     /**< 1: TENON_TCP_FASTOPEN */
    enum log_level level;
};

/** Fill in the defaults; call it from ARGP_KEY_INIT of the parser that has options_argp as a child. */
void options_default(struct options *options);

/** The child; its input is a struct options. */
extern const struct argp options_argp;

/** End a subcommand's help with this heading above the common options. */
#define OPTIONS_CHILD \
    { \
        &options_argp, 0, "Network:", 10 \
    }

/** Complain about an option's value and end the program with status 2.
 *  @param wrong  the end of a sentence that begins with the value, as text_read_...() return it */
void options_bad_value(const struct argp_state *state, const char *option, const char *value, const char *wrong);

/** Read the value of a numeric option, or end the program as above. */
uint64_t options_number(const struct argp_state *state, const char *option, const char *value, uint64_t min,
                        uint64_t max);

/** Read a value in seconds, or end the program as above. @return seconds between 0.001 and 1e6 */
double options_seconds(const struct argp_state *state, const char *option, const char *value);

#endif
