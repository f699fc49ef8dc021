/* SPDX-License-Identifier: MIT */
/** @file
 *  Pictures of one TCP connection, made from its events. */
#ifndef APPS_CLI_PLOT_H
#define APPS_CLI_PLOT_H

#include "common/text.h"
#include "common/tracefile.h"

enum plot_panel {
    PLOT_SEQUENCE = 1,
    PLOT_THROUGHPUT = 2,
    PLOT_CWND = 4,
    PLOT_RTT = 8,
    PLOT_WAITS = 16,
    PLOT_PHASES = 32
};

/** What a trace says of one connection as a whole. */
struct plot_summary {
    uint32_t conn;
    struct tenon_addr local, remote;
    size_t events;
    uint64_t first_us, last_us;
    uint64_t busy_us;                       /**< when data or its acknowledgement moved last */
    uint64_t sent_bytes, received_bytes;    /**< payload acknowledged by the peer; received in order */
    unsigned retransmits, rtos, recoveries, dropped;
    unsigned losses, undone, probes, marked, waits, alphas, validations, searches, fastopens;
    uint32_t rtt_min_us, rtt_max_us;        /**< of the samples; 0: there was none */
    uint32_t last_snd_una, last_rcv_nxt;    /**< for adding up */
    int sending, receiving;
};

/** Sum up all connections of a trace, in the order of their numbers' first appearance.
 *  @param[out] n  how many
 *  @return the summaries (free them) */
struct plot_summary *plot_summaries(const struct trace_record *records, size_t nrecords, size_t *n);

struct plot_request {
    uint32_t conn;
    unsigned panels;              /**< enum plot_panel, or-ed */
    double from_s, to_s;          /**< times since the connection's first event; to_s 0: to its end */
    int received;                 /**< 1: the direction towards us. 0: away from us */
};

/** Draw. */
void plot_connection(struct strbuf *out, const struct trace_record *records, size_t n,
                     const struct plot_summary *summary, const struct plot_request *request);

#endif
