/* SPDX-License-Identifier: MIT */
/* The configuration: its defaults, and what cannot work. */
#include "core.h"
#include "stack/stack_internal.h"

TENON_API void tenon_conf_default(struct tenon_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    conf->netifs_max = 4;
    conf->addrs_max = 16;
    conf->routes_max = 32;
    conf->groups_max = 32;
    conf->tx_burst_max = 32;
    conf->tx_gather_max = 20;
    conf->neighbours_max = 256;
    conf->neighbour_queue_max = 16;
    conf->paths_max = 4096;
    conf->reass_bytes_max = 262144UL;
    conf->reass_datagrams_max = 64;
    conf->reass_pieces_max = 64;
    conf->reass_timeout_ms = 60000UL;
    conf->icmp_errors_per_s = 1000;
    conf->icmp_errors_burst = 50;
    conf->hop_limit = 64;
    conf->dad_transmits = 1;
    conf->udp_sockets_max = 4096;
    conf->tcp_conns_max = 1048576UL;
    conf->tcp_time_wait_max = 16384;
    conf->tcp_rcv_buf = 1048576UL;
    conf->tcp_snd_buf = 1048576UL;
    conf->tcp_ooo_bytes_max = 0;
    conf->tcp_ooo_ranges_max = 256;
    conf->tcp_mss_min = 88;
    conf->tcp_copy_max = 256;
    conf->tcp_rto_initial_us = 1000000UL;
    conf->tcp_rto_min_us = 200000UL;
    conf->tcp_rto_max_us = 60000000UL;
    conf->tcp_peer_delack_us = 40000UL;
    conf->tcp_delack_us = 40000UL;
    conf->tcp_msl_ms = 30000UL;
    conf->tcp_rsts_per_s = 1000;
    conf->tcp_syncookies = 1;
    conf->tcp_port_counters = 4096;
    conf->tcp_fastopen_pending_max = 32;
    conf->tcp_fastopen_cache_max = 32;
    conf->tcp_orphans_max = 4096;
    conf->tcp_orphan_ms = 120000UL;
    conf->tcp_ooo_total_max = 67108864UL;
    conf->tcp_resting_max = 1024;
    conf->tcp_cc = TENON_WITH_RECOVERY ? &tenon_cc_cubic : &tenon_cc_newreno;
}

static void conf_u16(tenon_u16 *field, tenon_u16 value)
{
    if (*field == 0)
        *field = value;
}

static void conf_u32(tenon_u32 *field, tenon_u32 value)
{
    if (*field == 0)
        *field = value;
}

/* Replace every 0 that means "default". */
static void conf_complete_limits(struct tenon_conf *conf, const struct tenon_conf *defaults)
{
    conf_u16(&conf->netifs_max, defaults->netifs_max);
    conf_u16(&conf->addrs_max, defaults->addrs_max);
    conf_u16(&conf->routes_max, defaults->routes_max);
    conf_u16(&conf->groups_max, defaults->groups_max);
    conf_u16(&conf->tx_burst_max, defaults->tx_burst_max);
    conf_u16(&conf->tx_gather_max, defaults->tx_gather_max);
    conf_u16(&conf->neighbours_max, defaults->neighbours_max);
    conf_u16(&conf->neighbour_queue_max, defaults->neighbour_queue_max);
    conf_u16(&conf->neighbour_asks_max, (tenon_u16)tn_max(8, tn_min(4UL * conf->neighbours_max, 16384)));
    conf_u32(&conf->paths_max, defaults->paths_max);
    conf_u32(&conf->reass_bytes_max, defaults->reass_bytes_max);
    conf_u16(&conf->reass_datagrams_max, defaults->reass_datagrams_max);
    conf_u16(&conf->reass_pieces_max, defaults->reass_pieces_max);
    conf_u32(&conf->reass_timeout_ms, defaults->reass_timeout_ms);
    conf_u16(&conf->icmp_errors_per_s, defaults->icmp_errors_per_s);
    conf_u16(&conf->icmp_errors_burst, defaults->icmp_errors_burst);
    conf_u32(&conf->udp_sockets_max, defaults->udp_sockets_max);
    if (conf->hop_limit == 0)
        conf->hop_limit = defaults->hop_limit;
    if (conf->dad_transmits == 0)
        conf->dad_transmits = defaults->dad_transmits;
}

static void conf_complete(struct tenon_conf *conf)
{
    struct tenon_conf defaults;

    tenon_conf_default(&defaults);
    conf_complete_limits(conf, &defaults);
    conf_u32(&conf->tcp_conns_max, defaults.tcp_conns_max);
    conf_u32(&conf->tcp_time_wait_max, defaults.tcp_time_wait_max);
    conf_u32(&conf->tcp_rcv_buf, defaults.tcp_rcv_buf);
    conf_u32(&conf->tcp_snd_buf, defaults.tcp_snd_buf);
    conf_u32(&conf->tcp_ooo_bytes_max, 2 * conf->tcp_rcv_buf);
    conf_u32(&conf->tcp_ooo_total_max, defaults.tcp_ooo_total_max);
    conf_u32(&conf->tcp_orphans_max, defaults.tcp_orphans_max);
    conf_u32(&conf->tcp_orphan_ms, defaults.tcp_orphan_ms);
    conf_u32(&conf->tcp_resting_max, defaults.tcp_resting_max);
    conf_u32(&conf->tcp_fastopen_pending_max, defaults.tcp_fastopen_pending_max);
    conf_u16(&conf->tcp_fastopen_cache_max, defaults.tcp_fastopen_cache_max);
    conf_u16(&conf->tcp_port_counters, defaults.tcp_port_counters);
    conf_u16(&conf->tcp_ooo_ranges_max, defaults.tcp_ooo_ranges_max);
    conf_u16(&conf->tcp_mss_min, defaults.tcp_mss_min);
    conf_u16(&conf->tcp_copy_max, defaults.tcp_copy_max);
    conf_u32(&conf->tcp_rto_initial_us, defaults.tcp_rto_initial_us);
    conf_u32(&conf->tcp_rto_min_us, defaults.tcp_rto_min_us);
    conf_u32(&conf->tcp_rto_max_us, defaults.tcp_rto_max_us);
    conf_u32(&conf->tcp_peer_delack_us, defaults.tcp_peer_delack_us);
    conf_u32(&conf->tcp_delack_us, defaults.tcp_delack_us);
    conf_u32(&conf->tcp_msl_ms, defaults.tcp_msl_ms);
    conf_u32(&conf->tcp_rsts_per_s, defaults.tcp_rsts_per_s);
    if (conf->tcp_cc == NULL)
        conf->tcp_cc = defaults.tcp_cc;
}

static const char *conf_check_tcp(const struct tenon_conf *conf)
{
    if (conf->tcp_rcv_buf < 512 || conf->tcp_rcv_buf > 0x3FFFC000UL)
        return "tcp_rcv_buf";    /* RFC 7323 2.3: the window is below 2^30 */
    if (conf->tcp_snd_buf < 512 || conf->tcp_snd_buf > 0x3FFFC000UL)
        return "tcp_snd_buf";
    if (conf->tcp_mss_min < 48 || conf->tcp_mss_min > 536)
        return "tcp_mss_min";
    if (conf->tcp_rto_initial_us < 1000 || conf->tcp_rto_initial_us > conf->tcp_rto_max_us)
        return "tcp_rto_initial_us";
    if (conf->tcp_rto_min_us < 1000 || conf->tcp_rto_min_us > conf->tcp_rto_max_us)
        return "tcp_rto_min_us";
    if (conf->tcp_rto_max_us > 1000000000UL)
        return "tcp_rto_max_us";
    if (conf->tcp_peer_delack_us > 500000UL)
        return "tcp_peer_delack_us";
    if (conf->tcp_delack_us >= 500000UL)
        return "tcp_delack_us";    /* RFC 9293 MUST-40 */
    if (conf->tcp_msl_ms > 600000UL)
        return "tcp_msl_ms";
    if (conf->tcp_syncookies > 2)
        return "tcp_syncookies";
    if (conf->tcp_fastopen_cache_max > 1024)
        return "tcp_fastopen_cache_max";
    if (conf->tcp_port_counters > 16384)
        return "tcp_port_counters";    /* 32 KB: a block that every machine can give */
    if (conf->tcp_orphan_ms > 0x3FFFFFFFUL)
        return "tcp_orphan_ms";
    if (conf->tcp_ooo_bytes_max > 0x7FFFFFFFUL)
        return "tcp_ooo_bytes_max";
    if (conf->tcp_ooo_total_max > 0x7FFFFFFFUL)
        return "tcp_ooo_total_max";
    return NULL;
}

static const char *conf_check_completed(const struct tenon_conf *conf)
{
    if (conf->netifs_max > 64)
        return "netifs_max";
    if (conf->addrs_max > 1024)
        return "addrs_max";
    if (conf->routes_max > 4096)
        return "routes_max";
    if (conf->groups_max > 1024)
        return "groups_max";
    if (conf->tx_burst_max > 1024)
        return "tx_burst_max";
    if (conf->tx_gather_max < 2 || conf->tx_gather_max > 33)
        return "tx_gather_max";
    if (conf->neighbour_queue_max > 64)
        return "neighbour_queue_max";
    if (conf->neighbour_asks_max < 8 || conf->neighbour_asks_max > 16384)
        return "neighbour_asks_max";
    if (conf->reass_pieces_max > 64)
        return "reass_pieces_max";
    if (conf->reass_timeout_ms > 600000UL)
        return "reass_timeout_ms";
    return conf_check_tcp(conf);
}

TENON_API const char *tenon_conf_check(const struct tenon_conf *conf)
{
    struct tenon_conf whole = *conf;

    conf_complete(&whole);
    return conf_check_completed(&whole);
}

TENON_INTERNAL void tn_conf_complete(struct tenon_conf *conf)
{
    conf_complete(conf);
}
